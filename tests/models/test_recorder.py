"""Captured states against transformers' own hidden states and against the MLPs run by hand, for every family."""

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="needs the package transformers")

import transformers as hf

from genlaws.core.errors import InputError
from genlaws.models.recorder import Recorder, captured
from genlaws.models.stream import Site
from small_families import FAMILIES, SHARED_KEYS, SIZES

ROUNDING = 2e-5  # of states of about 10 in float32, between ways of computing the same sums
FLOAT32_ERROR = 4 * np.finfo(np.float32).eps
TOKENS = torch.arange(3, 21).reshape(2, 9)


@pytest.fixture(scope="module")
def models():
    return {name: family.build() for name, family in FAMILIES.items()}


def hook_count(model):
    """Count the recorder's own hooks; transformers leaves some of its own for its hidden states."""
    hooks = [
        hook for part in model.modules() for hook in (*part._forward_hooks.values(), *part._forward_pre_hooks.values())
    ]
    return sum(isinstance(getattr(getattr(hook, "func", hook), "__self__", None), Recorder) for hook in hooks)


def run(model, tokens=TOKENS, *, positions="all", sites=None, layers=None, **given):
    with captured(model, positions=positions, sites=sites, layers=layers) as recorder, torch.inference_mode():
        found = model(input_ids=tokens, output_hidden_states=True, **given)
    return recorder, found.hidden_states


@pytest.mark.parametrize("name", FAMILIES)
def test_states_equal_an_independent_route(models, name):
    model, family = models[name], FAMILIES[name]
    before = [weights.clone() for weights in model.parameters()]
    recorder, hidden = run(model)
    states = torch.from_numpy(recorder.take()).unflatten(0, TOKENS.shape)
    assert recorder.architecture.kind == family.kind
    assert recorder.identity_error <= FLOAT32_ERROR
    body = model.base_model
    blocks = body.get_submodule(family.blocks)
    following = [*hidden[1 : len(blocks)], states[:, :, -1]]
    with torch.inference_mode():
        last = body.get_submodule(family.final_norm)(states[:, :, -1]) if family.final_norm else states[:, :, -1]
        torch.testing.assert_close(last, hidden[-1], atol=ROUNDING, rtol=0)
        for place, site in enumerate(recorder.sites[:-1]):
            if site.place == "mlp":
                by_hand = family.following(blocks[site.layer], states[:, :, place])
                torch.testing.assert_close(by_hand, following[site.layer], atol=ROUNDING, rtol=0)
            else:
                assert torch.equal(states[:, :, place], hidden[site.layer])
    halves = ("block",) if family.kind == "parallel" else ("attention", "mlp")
    assert recorder.sites == (*(Site(layer, half) for layer in range(3) for half in halves), Site(3, "end"))
    assert hook_count(model) == 0
    assert not model.training
    assert all(torch.equal(one, two) for one, two in zip(before, model.parameters(), strict=True))


def test_parallel_and_post_norm_blocks_say_what_they_are(models):
    reported = {name: run(models[name])[0].architecture for name in ("llama", "neox", "bert")}
    assert reported["llama"].messages == ()
    assert reported["llama"].identity == "next = this + write"
    assert "no point before the MLP" in reported["neox"].messages[0]
    assert reported["bert"].identity == "next = LayerNorm(this + write)"
    assert "next = LayerNorm(this + write)" in reported["bert"].messages[0]


def padded(rows, left):
    width = max(map(len, rows))
    fill = [[7] * (width - len(row)) for row in rows]
    ids = [[*one, *row] if left else [*row, *one] for row, one in zip(rows, fill, strict=True)]
    mask = [
        [0] * len(one) + [1] * len(row) if left else [1] * len(row) + [0] * len(one)
        for row, one in zip(rows, fill, strict=True)
    ]
    return torch.tensor(ids), torch.tensor(mask)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("name", ["llama", "gemma3", "gpt2", "neox", "bert"])
def test_padding_changes_no_state_and_no_position(models, name, left):
    rows = [[3, 4, 5, 6, 8], [9, 10, 11], [12, 13, 14, 15]]
    chosen = [[0, -1], [1], [-2, 3]]
    ids, mask = padded(rows, left)
    places = (mask.cumsum(1) - 1).clamp(min=0)
    recorder, _ = run(models[name], ids, positions=chosen, attention_mask=mask, position_ids=places)
    assert recorder.text_numbers().tolist() == [0, 0, 1, 2, 2]
    together = recorder.take()
    alone = [
        run(models[name], torch.tensor([row]), positions=one)[0].take() for row, one in zip(rows, chosen, strict=True)
    ]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=ROUNDING)


def test_positions_pick_rows_of_all_tokens(models):
    rows = [[3, 4, 5, 6, 8], [9, 10, 11]]
    ids, mask = padded(rows, left=True)
    everything = run(models["llama"], ids, attention_mask=mask)[0].take()
    assert len(everything) == 8
    for positions, expected in (("last", [4, 7]), (0, [0, 5]), ([0, -1], [0, 4, 5, 7]), ([[], [1]], [6])):
        picked = run(models["llama"], ids, attention_mask=mask, positions=positions)[0].take()
        assert np.array_equal(picked, everything[expected])


def test_chosen_sites_and_layers_are_those_of_a_whole_capture(models):
    whole, _ = run(models["llama"])
    states = whole.take()
    for sites, layers, expected in (
        (["attention", "end"], None, [0, 2, 4, 6]),
        (["1.mlp", Site(2, "attention")], None, [3, 4]),
        (None, [0, 3], [0, 1, 6]),
        ("mlp", [2], [5]),
    ):
        part, _ = run(models["llama"], sites=sites, layers=layers)
        assert part.sites == tuple(whole.sites[place] for place in expected)
        assert np.array_equal(part.take(), states[:, expected])
        assert part.identity_error == whole.identity_error  # checked at every site all the same


def test_passes_add_up_until_they_are_taken(models):
    model = models["gpt2"]
    with captured(model, positions="last") as recorder, torch.inference_mode():
        model(TOKENS)
        model(TOKENS[:1, :4])
        assert recorder.text_numbers().tolist() == [0, 1, 2]
        assert recorder.take_tensor().shape == (3, 7, 32)
        with pytest.raises(InputError, match="no pass of the model was seen"):
            recorder.take()


@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 2**-8), (torch.float16, 2**-10), (torch.float64, 1e-15)])
def test_other_precisions_keep_the_identity(dtype, most):
    for name in ("llama", "neox", "bert"):
        model = FAMILIES[name].build().to(dtype)
        recorder, hidden = run(model)
        assert recorder.identity_error <= most
        tensor = recorder.take_tensor()
        assert tensor.dtype == dtype
        assert torch.equal(tensor[:, 0].unflatten(0, TOKENS.shape), hidden[0])


def test_a_gradient_can_be_taken_while_states_are_read(models):
    model = models["llama"]
    with captured(model) as recorder:
        model(TOKENS).logits.sum().backward()
    assert model.model.embed_tokens.weight.grad is not None
    assert not recorder.take_tensor().requires_grad
    model.zero_grad(set_to_none=True)


def test_hooks_are_removed_after_an_error(models):
    model = models["llama"]
    with captured(model):
        assert hook_count(model) == 1 + 3 * 4 + 1  # the model, two readers and two writers a block, the end
    with pytest.raises(IndexError), captured(model):
        model(torch.tensor([[3, 4000]]))
    assert hook_count(model) == 0
    with captured(model, positions="last") as recorder, torch.inference_mode():
        with pytest.raises(InputError, match="call the model that was given"):
            model.model.layers[0](torch.zeros(1, 2, 32))
        with pytest.raises(InputError, match="no pass of the model was seen"):
            recorder.take()
    assert hook_count(model) == 0


@pytest.mark.parametrize(
    ("weight", "site"), [("embed_tokens", "0.attention"), ("layers.1.mlp.down_proj", "2.attention")]
)
def test_states_that_are_not_finite_are_named(weight, site):
    model = FAMILIES["llama"].build()
    with torch.no_grad():
        model.model.get_submodule(weight).weight.fill_(float("nan"))
    with pytest.raises(InputError, match=f"not finite numbers from the site {site} on"):
        run(model)


def test_the_last_state_may_be_the_first_that_is_not_finite():
    model = FAMILIES["bert"].build()
    with torch.no_grad():
        model.bert.encoder.layer[2].output.dense.bias[3] = float("inf")
    with pytest.raises(InputError, match="not finite numbers from the site end on"):
        run(model)


def test_a_factor_on_what_is_added_is_refused():
    config = hf.GraniteConfig(**SIZES, **SHARED_KEYS, residual_multiplier=0.22)
    for dtype in (torch.float32, torch.bfloat16):
        with pytest.raises(
            InputError, match=r"identity next = this \+ write fails after the site \d\.\w+: relative error 0"
        ):
            run(hf.GraniteForCausalLM(config).eval().to(dtype))


def test_unknown_architectures_are_refused_with_what_is_missing():
    opt = hf.OPTConfig(
        **{"vocab_size": 60, "hidden_size": 32, "ffn_dim": 48, "num_hidden_layers": 2, "num_attention_heads": 4},
        **{"word_embed_proj_dim": 32, "max_position_embeddings": 64},
    )
    bart = hf.BartConfig(
        **{"vocab_size": 60, "d_model": 32, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "encoder_layers": 2},
        **{"decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4},
    )
    for model, complaint in (
        (hf.OPTForCausalLM(opt), r"Block 0 \(OPTDecoderLayer\) is of an unknown kind: it has no MLP"),
        (hf.BartModel(bart), "2 lists of blocks .encoder.layers and decoder.layers"),
        (torch.nn.Linear(2, 2), "Linear has an unknown architecture: it has no list of blocks"),
        ("gpt2", "must be a torch module"),
    ):
        with pytest.raises(InputError, match=complaint), captured(model):
            pass


def test_a_model_with_active_dropout_is_refused(models):
    for name in ("bert", "gpt2"):
        model = models[name].train()
        try:
            with pytest.raises(InputError, match="training with dropout"), captured(model):
                pass
            assert model.training
        finally:
            model.eval()
    llama = models["llama"].train()  # drops nothing
    try:
        assert run(llama)[0].take().shape == (18, 7, 32)
        assert llama.training
    finally:
        llama.eval()


def test_what_cannot_be_read_is_refused(models):
    model = models["llama"]
    for given, complaint in (
        ({"positions": 9}, "got 9 for text 0, which has 9 tokens"),
        ({"positions": [[0]]}, "for each of the 2 texts"),
        ({"positions": [[], []]}, "at least one token"),
        ({"positions": "first"}, "position must be one of last, all, sample"),
        ({"sites": ["3.mlp"]}, "sites must be among attention, mlp, end"),
        ({"layers": [4]}, "layers must lie between 0 and 3; got 4"),
        ({"sites": ["end"], "layers": [0]}, "leave none"),
        ({"attention_mask": torch.ones(2, 8, dtype=torch.long)}, "must have the shape of the tokens"),
        ({"attention_mask": torch.tensor([[1, 0, 1] * 3] * 2)}, "one unbroken run"),
    ):
        with pytest.raises(InputError, match=complaint):
            run(model, **given)
    assert hook_count(model) == 0
