"""States and read-outs of every layer against plain passes, and both tests of small real and random models."""

import copy
import dataclasses

import numpy as np
import pytest
import torch

from counted_steps import CountedSteps
from genlaws.core.errors import InputError
from genlaws.models.language import TransformersModel
from genlaws.probes.domains import DOMAINS, domain_of
from genlaws.probes.layers.states import layer_names, layer_states, place_spans, randomized, tokens_of
from genlaws.probes.layers.tests import layer_tests
from genlaws.probes.templates import TEMPLATES, prompt_of, template_of
from genlaws.probes.trials import TRIAL_KINDS, draw_trials

transformers = pytest.importorskip("transformers", reason="needs the package transformers")
pytest.importorskip("tokenizers", reason="needs the package tokenizers")

EXACT = 2e-5  # of a state's largest number in float32, between ways of batching the same sums
SHAPE = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "max_position_embeddings": 400}
TURNS = "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


@pytest.fixture(scope="module")
def stories(stories):
    network, tokenizer = copy.deepcopy(stories)
    tokenizer.chat_template = TURNS
    return TransformersModel(network, tokenizer, "stories260K", batch_size=4)


def network_of(kind, **more):
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=512, initializer_range=0.3, bos_token_id=1, eos_token_id=2, **{**SHAPE, **more}
    )
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def model_of(stories, kind):
    """Return a random model of another family that reads the words of stories260K; the last is stories260K itself."""
    if kind == "stories":
        return stories
    more = {"n_positions": 400} if kind == "GPT2" else {"intermediate_size": 32}
    return dataclasses.replace(stories, network=network_of(kind, **more), source=kind)


def plain_states(model, tokens):
    """Return the states of one text in every layer by blocks called one after another, without padding."""
    selected = []
    blocks = next(one for name, one in model.network.named_modules() if isinstance(one, torch.nn.ModuleList))
    hooks = [blocks[0].register_forward_pre_hook(lambda _, given: selected.append(given[0]))]
    hooks += [
        block.register_forward_hook(
            lambda *reported: selected.append(reported[2][0] if isinstance(reported[2], tuple) else reported[2])
        )
        for block in blocks
    ]
    with torch.inference_mode():
        logits = model.network(input_ids=torch.tensor([tokens])).logits[0]
    for hook in hooks:
        hook.remove()
    return [one[0].numpy() for one in selected], logits


@pytest.mark.parametrize("kind", ["Llama", "GPT2", "GPTNeoX", "stories"])
@pytest.mark.parametrize(("template", "pooling"), [("list", "last"), ("sentences", "mean"), ("chat", "last")])
def test_states_and_the_last_read_out_equal_those_of_a_plain_pass(stories, kind, template, pooling):
    model, domain = model_of(stories, kind), domain_of("dates")  # dates differ in length, so that there is padding
    words = template_of(domain, template)
    trials = draw_trials(domain, "similarity", 3, 5, seed=3)
    found = layer_states(model, trials, domain, words, pooling=pooling)
    assert found.names == layer_names(len(found.items))
    for place, trial in enumerate(trials):
        prompt = prompt_of(trial, domain, words)
        tokens = model.prompt_tokens(prompt)
        spans = place_spans(trial, domain, words).inside(model.prompt_text(prompt))
        read = model.tokenizer(spans.text, add_special_tokens=not prompt.chat, return_offsets_mapping=True)
        states, logits = plain_states(model, tokens)
        assert len(states) == len(found.names)
        for layer, state in enumerate(states):
            for item, span in enumerate(spans.spans):
                here = tokens_of(span, read["offset_mapping"])
                wanted = state[here[-1]] if pooling == "last" else state[here].mean(axis=0)
                got = found.probes[layer, place] if item == 3 else found.items[layer, place, item]
                assert got == pytest.approx(wanted, abs=EXACT * float(np.abs(state).max()))
        requested = model.continuations(prompt)
        first = [ending[0] for ending in requested.endings]
        if len(set(first)) < 3:
            assert np.isnan(found.options[:, place]).all()
        else:
            own = logits[len(requested.shared) - 1, first].double().softmax(-1).numpy()
            assert found.options[-1, place] == pytest.approx(own, abs=1e-4)
            assert found.options[:, place].sum(axis=1) == pytest.approx(np.ones(len(states)))


def test_states_do_not_depend_on_the_batch(stories):
    domain = domain_of("dates")
    words, trials = template_of(domain, "list"), draw_trials(domain, "identification", 2, 9, seed=4)
    steps = CountedSteps()
    one, many = (
        layer_states(dataclasses.replace(stories, batch_size=size), trials, domain, words, running=steps.running)
        for size in (1, 6)
    )
    assert steps.reported == [[1] * 9, [6, 3]]
    assert one.items == pytest.approx(many.items, abs=1e-4)
    assert one.probes == pytest.approx(many.probes, abs=1e-4)
    assert one.options == pytest.approx(many.options, abs=1e-4, nan_ok=True)


def test_embeddings_are_those_of_the_last_token_of_each_place(stories):
    domain = domain_of("letters")
    trials = draw_trials(domain, "identification", 3, 4, seed=5)
    found = layer_states(stories, trials, domain, template_of(domain, "list"))
    # The letter of the probe is the same token as that of its copy.
    for place, trial in enumerate(trials):
        assert found.probes[0, place] == pytest.approx(found.items[0, place, trial.right], abs=1e-7)
        assert list(found.right) == [one.right for one in trials]


def test_stories_in_every_layer(stories):
    steps = CountedSteps()
    how = {"template": "list", "trial_count": 60, "seed": 1, "replicates": 100}
    found = layer_tests(stories, domain="years", **how, running=steps.running)
    again = layer_tests(stories, domain=domain_of("years"), **how)
    assert str(found) == str(again)
    assert steps.totals == [120]
    steps.check_complete()
    assert [one.name for one in found.layers] == ["embeddings", *(f"after block {block}" for block in range(1, 6))]
    for one, control in zip(found.layers, found.control, strict=True):
        assert one.best_generalization.low <= one.best_generalization.value <= one.best_generalization.high
        assert (one.generalization_low <= one.generalization + 1e-12).all()
        assert (one.generalization <= one.generalization_high + 1e-12).all()
        for name in ("best_generalization", "best_identification", "nearest_generalization", "nearest_identification"):
            reported = getattr(control, name)
            assert abs(reported.value - 0.5) < 4 * 0.5 / np.sqrt(60)
    # The last digit of a copy is the same token; only another year that ends alike ties with it.
    assert found.layers[0].nearest_identification.value > 0.9
    frame, curves = found.to_frame(), found.curves_frame()
    assert len(frame) == 6
    assert len(curves) == 6 * 41
    assert (
        not frame[["best_generalization", "nearest_identification_low", "control_best_generalization"]]
        .isna()
        .any(axis=None)
    )
    assert curves.loc[curves.ball_mass == 0.0, "homogeneous_identification"].eq(1.0).all()
    assert "after block 5" in str(found)
    assert "chance 0.5" in str(found)


def test_options_that_begin_alike_are_counted_and_left_out(stories):
    # stories260K has 512 pieces: most names begin with a blank and one letter.
    found = layer_tests(stories, domain="numbers", template="list", item_count=12, trial_count=4, replicates=20)
    assert found.single == 0.0
    assert found.unread == (4, 4)
    assert all(np.isnan(one.read_generalization.value) for one in found.layers)
    assert "left out because two options begin alike: 4 and 4 trials" in " ".join(str(found).split())


def test_random_weights_leave_the_model_as_it_was(stories):
    before = {name: one.clone() for name, one in stories.network.state_dict().items()}
    state = torch.random.get_rng_state()
    one, same, other = randomized(stories, 1), randomized(stories, 1), randomized(stories, 2)
    assert torch.equal(torch.random.get_rng_state(), state)
    weight = "model.layers.0.self_attn.q_proj.weight"
    assert all(torch.equal(now, before[name]) for name, now in stories.network.state_dict().items())
    assert torch.equal(one.network.state_dict()[weight], same.network.state_dict()[weight])
    assert not torch.equal(one.network.state_dict()[weight], other.network.state_dict()[weight])
    assert not torch.equal(one.network.state_dict()[weight], before[weight])
    assert one.source == "stories260K, random weights 1"
    assert not one.network.training
    assert layer_tests(one, domain="letters", trial_count=4, replicates=20).layers[-1].layer == 5


@pytest.mark.parametrize("name", list(DOMAINS))
def test_the_tokens_of_places_are_found_in_every_template(stories, name):
    domain, tokenizer = domain_of(name), stories.tokenizer
    for words in TEMPLATES[name].values():
        for kind in TRIAL_KINDS:
            trial = draw_trials(domain, kind, 3, 1, seed=2)[0]
            prompt = prompt_of(trial, domain, words)
            found = place_spans(trial, domain, words).inside(stories.prompt_text(prompt))
            read = tokenizer(found.text, add_special_tokens=not prompt.chat, return_offsets_mapping=True)
            for span, place in zip(found.spans, (*trial.places, trial.probe), strict=True):
                tokens = [read["input_ids"][token] for token in tokens_of(span, read["offset_mapping"])]
                assert tokenizer.decode(tokens).strip() == domain.write(place)


class SlowTokenizer:
    """A tokenizer that does not give the positions of its tokens."""

    is_fast = False


def test_what_cannot_be_read_is_refused(stories):
    quick = {"trial_count": 4, "replicates": 20}
    with pytest.raises(InputError, match="tokenizer of stories260K must be a fast one"):
        layer_tests(dataclasses.replace(stories, tokenizer=SlowTokenizer()), domain="years", **quick)
    opt = network_of("OPT", ffn_dim=32, word_embed_proj_dim=24)
    with pytest.raises(InputError, match="OPT must have its final norm at model.norm, transformer.ln_f"):
        layer_tests(dataclasses.replace(stories, network=opt, source="OPT"), domain="years", **quick)
    capped = network_of("Gemma2", intermediate_size=32, head_dim=8, num_key_value_heads=2, final_logit_softcapping=0.5)
    with pytest.raises(InputError, match="not its final norm and unembedding alone"):
        layer_tests(dataclasses.replace(stories, network=capped, source="Gemma"), domain="years", **quick)
    short = network_of("Llama", intermediate_size=32, max_position_embeddings=8)
    with pytest.raises(InputError, match="short reads at most 8 tokens; a prompt has"):
        layer_tests(dataclasses.replace(stories, network=short, source="short"), domain="years", **quick)
    broken = network_of("Llama", intermediate_size=32)
    with torch.no_grad():
        broken.model.layers[1].mlp.down_proj.weight.fill_(torch.nan)
    with pytest.raises(InputError, match="values that are not numbers"):
        layer_tests(dataclasses.replace(stories, network=broken, source="broken"), domain="years", **quick)
    with pytest.raises(InputError, match="must be made from its configuration"):
        randomized(dataclasses.replace(stories, network=torch.nn.ParameterList([torch.ones(2)])))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"pooling": "first"}, "pooling must be one of last, mean; got 'first'"),
        ({"similarity": "dot"}, "similarity must be one of cosine, euclidean"),
        ({"center": "yes"}, "center must be True or False; got 'yes'"),
        ({"trial_count": 3}, "trial_count must be a whole number, at least 4; got 3"),
        ({"replicates": 1}, "replicates must be a whole number, at least 20; got 1"),
        ({"item_count": 1}, "item_count must be a whole number, at least 2"),
        ({"domain": "colors"}, "domain must be one of"),
        ({"template": "poem"}, "template must be one of"),
        ({"model": "smollm"}, "model must be a TransformersModel; got 'smollm'"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_read(given, sentence):
    unread = TransformersModel(None, None, "none")
    with pytest.raises(InputError, match=sentence):
        layer_tests(**{"model": unread, "domain": "years", **given})


def test_trials_with_different_numbers_of_items_are_refused(stories):
    domain = domain_of("years")
    trials = [*draw_trials(domain, "similarity", 2, 1), *draw_trials(domain, "similarity", 3, 1)]
    with pytest.raises(InputError, match="all with the same number of items"):
        layer_states(stories, trials, domain, template_of(domain))


def test_smollm_holds_years_apart_and_brings_them_together(smollm2_folder):
    model = TransformersModel.load(smollm2_folder)
    found = layer_tests(model, domain="years", template="list", trial_count=32, replicates=50)
    assert len(found.layers) == 31
    middle = found.layers[17]
    assert middle.nearest_identification.low > 0.8
    assert middle.nearest_generalization.value > 0.6  # about .75 in 200 trials
    assert found.layers[1].nearest_generalization.value < middle.nearest_generalization.value
    assert abs(found.control[17].nearest_generalization.value - 0.5) < 0.25
    # The last read-out is the model's own answer by first tokens, and it identifies above chance.
    assert found.layers[-1].read_identification.value > 0.55
    chat = layer_tests(model, domain="years", template="chat", trial_count=4, replicates=20)
    assert len(chat.layers) == 31
