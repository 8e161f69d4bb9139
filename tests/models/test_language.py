"""Scores and replies of small random language models, against one full pass for each option."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch

from genlaws.core.errors import InputError
from genlaws.models.interface import Prompt
from genlaws.models.language import TransformersModel
from genlaws.models.passes import score_continuations, split_continuations
from genlaws.probes.asking import ask_and_report
from genlaws.probes.store import ReplyStore

transformers = pytest.importorskip("transformers", reason="needs the package transformers")
tokenizers = pytest.importorskip("tokenizers", reason="needs the package tokenizers")

EXACT = 1e-4  # of log-probabilities in float32, between ways of batching the same sums
COARSE = 0.2  # of log-probabilities of a few tokens in bfloat16, which keeps 8 bits
LETTERS = "abcdefgh \n:"
MERGES = [("a", "b"), (":", " "), (" ", "c")]
TURNS = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
SHAPE = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 200,
    "initializer_range": 0.5,  # far from uniform, so that a wrong mask or position shows
}


def made_up_tokenizer(chat=True):
    """Return a tokenizer of single letters and three merges, one of them across the end of a prompt."""
    words = ["<s>", "</s>", "<unk>", "<user>", "<system>", "<assistant>", *LETTERS, *("".join(pair) for pair in MERGES)]
    inside = tokenizers.Tokenizer(
        tokenizers.models.BPE({word: place for place, word in enumerate(words)}, MERGES, unk_token="<unk>")
    )
    inside.decoder = tokenizers.decoders.Fuse()
    inside.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inside,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        additional_special_tokens=["<user>", "<system>", "<assistant>"],
    )
    tokenizer.chat_template = TURNS if chat else None
    return tokenizer


def made_up_network(kind="Llama", seed=0, **changes):
    torch.manual_seed(seed)
    config = getattr(transformers, f"{kind}Config")(**{**SHAPE, **changes}, eos_token_id=1, bos_token_id=0)
    return transformers.AutoModelForCausalLM.from_config(config).eval()


@pytest.fixture(scope="module")
def network():
    return made_up_network()


@pytest.fixture(scope="module")
def model(network):
    return TransformersModel(network, made_up_tokenizer(), "made-up", batch_size=3, max_new_tokens=6)


def separate_passes(network, requested):
    """Score every ending with a full pass of its own."""
    found = []
    for ending in requested.endings:
        tokens = torch.tensor([[*requested.shared, *ending]])
        with torch.inference_mode():
            reported = network(input_ids=tokens).logits[0].double().log_softmax(-1)
        places = range(len(requested.shared) - 1, tokens.shape[1] - 1)
        found.append(sum(float(reported[place, tokens[0, place + 1]]) for place in places))
    return np.array(found)


PROMPTS = [
    Prompt("abc: d\nef:", ("a", "bad", "heed")),
    Prompt("a:", ("h", "g"), answer_prefix=""),
    Prompt("deaf: face\nbad: egg\ncab:", ("face", "egg", "c", "cafe", "beef")),
    Prompt("ea", ("bed", "cab", "a"), answer_prefix=""),
    Prompt("Who is b?", ("a", "dad"), chat=True, answer_prefix=""),
    Prompt("b d", ("a", "hee"), system="be ab", chat=True),
    Prompt("abc: d\nef: a\nbbbbbbbbbbbbbbbbbbbbbbb:", tuple("abdefgh")),
]


def test_scores_equal_one_full_pass_for_each_option(model, network):
    for prompt, reply in zip(PROMPTS, model.score(PROMPTS), strict=True):
        naive = separate_passes(network, model.continuations(prompt))
        assert reply.log_probabilities == pytest.approx(naive, abs=EXACT)
        assert np.exp(reply.log_probabilities).sum() <= 1 + EXACT


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("Mistral", {"sliding_window": 8}),
        ("Gemma2", {"sliding_window": 8, "head_dim": 8, "final_logit_softcapping": 5.0}),
        ("Bloom", {"n_head": 4}),
        ("GPT2", {}),
    ],
)
def test_other_architectures_give_the_scores_of_full_passes(kind, changes):
    # Windows, capped scores, positions that are no argument of the network, and positions that are not relative.
    network = made_up_network(kind, **changes)
    model = TransformersModel(network, made_up_tokenizer(), kind, batch_size=4)
    for prompt, reply in zip(PROMPTS, model.score(PROMPTS), strict=True):
        naive = separate_passes(network, model.continuations(prompt))
        assert reply.log_probabilities == pytest.approx(naive, abs=EXACT)


STATE_SPACE = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 8, "mamba_chunk_size": 8}
HYBRIDS = {
    "Jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 2, "mamba_d_state": 8}
    | {"use_mamba_kernels": False},
    "Mamba": {"state_size": 8},
    "FalconH1": {**STATE_SPACE, "mamba_d_ssm": 64, "head_dim": 8},
    "RecurrentGemma": {"lru_width": 32, "attention_window_size": 8, "head_dim": 8, "num_hidden_layers": 3},
    "Zamba2": {"mamba_d_state": 8, "n_mamba_heads": 8, "mamba_headdim": 8, "chunk_size": 8, "num_mem_blocks": 1}
    | {"layers_block_type": ["mamba", "hybrid"], "use_mamba_kernels": False},
    "Lfm2": {"layer_types": ["conv", "full_attention"]},
}


@pytest.mark.parametrize("kind", HYBRIDS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_hybrids_and_state_space_models_are_read_again_for_each_option(kind):
    # Their states cannot be chosen by row, or are not handed on, or a masked beginning changes them.
    network = made_up_network(kind, **HYBRIDS[kind])
    model = TransformersModel(network, made_up_tokenizer(), kind, batch_size=3, max_new_tokens=3)
    assert not model.reads_text_once
    for prompt, reply in zip(PROMPTS, model.score(PROMPTS), strict=True):
        assert reply.log_probabilities == pytest.approx(
            separate_passes(network, model.continuations(prompt)), abs=EXACT
        )
    assert [one.text for one in model.reply(PROMPTS)] == [written_alone(model, prompt) for prompt in PROMPTS]


def test_kept_readings_that_would_be_wrong_are_found_out(monkeypatch):
    assert TransformersModel(made_up_network(), made_up_tokenizer(), "made-up").reads_text_once
    # A cache that takes no notice of which rows are chosen refuses nothing.
    monkeypatch.setattr(transformers.DynamicCache, "batch_select_indices", _repeated_first_row)
    model = TransformersModel(made_up_network(), made_up_tokenizer(), "made-up")
    assert not model.reads_text_once
    for prompt, reply in zip(PROMPTS, model.score(PROMPTS), strict=True):
        naive = separate_passes(model.network, model.continuations(prompt))
        assert reply.log_probabilities == pytest.approx(naive, abs=EXACT)


def _repeated_first_row(cache, index):
    for layer in cache.layers:
        layer.keys, layer.values = layer.keys[index * 0], layer.values[index * 0]


def test_scores_do_not_depend_on_what_is_asked_beside(model):
    together = model.score(PROMPTS)
    for size in (1, 2, 16):
        other = TransformersModel(model.network, model.tokenizer, "made-up", batch_size=size)
        backwards = other.score(PROMPTS[::-1])[::-1]
        for one, two in zip(together, backwards, strict=True):
            assert one.log_probabilities == pytest.approx(two.log_probabilities, abs=EXACT)
    assert model.score([]) == []


def test_no_pass_has_more_rows_than_the_batch(model, monkeypatch):
    rows = []
    forward = type(model.network).forward

    def counted(self, input_ids, **options):
        rows.append(len(input_ids))
        return forward(self, input_ids=input_ids, **options)

    counted.__signature__ = inspect.signature(forward)
    monkeypatch.setattr(type(model.network), "forward", counted)
    model.score(PROMPTS)
    model.reply(PROMPTS)
    assert max(rows) == 3


def test_a_merge_across_the_boundary_is_scored_from_the_last_common_token(model):
    # "ea" + "bed" is e, ab, e, d: the prompt's last letter is in a token with the answer's first.
    merged = model.continuations(PROMPTS[3])
    words = model.tokenizer.convert_ids_to_tokens
    assert words(list(merged.shared)) == ["<s>", "e"]
    assert [words(list(ending)) for ending in merged.endings] == [["ab", "e", "d"], ["a", "c", "ab"], ["a", "a"]]
    selected = model.continuations(Prompt("ea", ("cab", "a"), answer_prefix=""))
    assert words(list(selected.shared)) == ["<s>", "e", "a"]


def test_split_keeps_one_beginning_for_all_endings():
    found = split_continuations([5, 6, 7], [[5, 6, 7, 8], [5, 6, 9], [5, 6, 7]])
    assert found.shared == (5, 6)
    assert found.endings == ((7, 8), (9,), (7,))


def test_a_chat_is_read_in_the_form_of_the_model(model):
    assert model.prompt_text(PROMPTS[5]) == "<system>be ab<user>b d<assistant>"
    assert model.prompt_text(PROMPTS[0]) == PROMPTS[0].text
    tokens = model.prompt_tokens(PROMPTS[4])
    assert model.tokenizer.convert_ids_to_tokens(tokens)[0] == "<user>"  # no beginning is put before a chat's own


def test_an_end_that_the_tokenizer_adds_is_left_out(network):
    tokenizer = made_up_tokenizer()
    both = tokenizers.processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)])
    plain = TransformersModel(network, made_up_tokenizer(), "made-up").continuations(PROMPTS[0])
    tokenizer.backend_tokenizer.post_processor = both
    assert tokenizer.encode("a")[-1] == 1
    assert TransformersModel(network, tokenizer, "made-up").continuations(PROMPTS[0]) == plain


def written_alone(model, prompt):
    """Write on without a cache or padding, the likeliest token each time."""
    tokens, new = model.prompt_tokens(prompt), []
    while len(new) < model.max_new_tokens:
        with torch.inference_mode():
            token = int(model.network(input_ids=torch.tensor([[*tokens, *new]])).logits[0, -1].argmax())
        if token == 1:
            break
        new.append(token)
        if not prompt.chat and "\n" in model.tokenizer.decode(new):
            break
    text = model.tokenizer.decode(new, skip_special_tokens=True)
    return text if prompt.chat else text.partition("\n")[0]


@pytest.mark.parametrize("seed", range(4))
def test_replies_are_the_likeliest_tokens_each_time(seed):
    model = TransformersModel(made_up_network(seed=seed, vocab_size=20), made_up_tokenizer(), "x", 3, 8)
    texts = [one.text for one in model.reply(PROMPTS)]
    assert texts == [written_alone(model, prompt) for prompt in PROMPTS]
    assert any(texts)
    assert not any("\n" in text for text, prompt in zip(texts, PROMPTS, strict=True) if not prompt.chat)


def test_the_first_word_of_a_reply_is_the_option_with_the_highest_score():
    model = TransformersModel(made_up_network(vocab_size=20), made_up_tokenizer(), "x", max_new_tokens=1)
    words = model.tokenizer.convert_ids_to_tokens(list(range(20)))
    # Every token as an option: the greedy reply is the best of them.
    letters = [word for word in words if word is not None and len(word) == 1 and word not in "\n b"]
    prompts = [Prompt(text, tuple(letters), answer_prefix="") for text in ("ef:", "dd", "heed", "gag:e")]
    agreed = 0
    for prompt, scored, said in zip(prompts, model.score(prompts), model.reply(prompts), strict=True):
        if said.text in letters:
            agreed += 1
            assert prompt.options[int(np.argmax(scored.log_probabilities))] == said.text
    assert agreed


def test_draws_follow_the_seed_and_not_the_batch(network):
    def drawn(seed, size, prompts, temperature=1.0):
        model = TransformersModel(network, made_up_tokenizer(), "x", size, 8, temperature, seed)
        return [one.text for one in model.reply(prompts)]

    assert drawn(3, 1, PROMPTS) == drawn(3, 4, PROMPTS[::-1])[::-1]
    assert drawn(3, 4, PROMPTS) != drawn(4, 4, PROMPTS)
    assert drawn(5, 4, PROMPTS, 1e-6) == drawn(5, 4, PROMPTS, 0.0)


def test_draws_have_the_probabilities_of_the_model():
    # Tokens that are all about as likely, so that a count of 300 says something about each.
    network = made_up_network(vocab_size=20, initializer_range=0.05)
    trials, letters = 300, ("d", "e", "f")
    options = {"max_new_tokens": 1, "temperature": 1.0}
    first = TransformersModel(network, made_up_tokenizer(), "x", **options)
    reported = np.exp(first.score([Prompt("ef:", letters, answer_prefix="")])[0].log_probabilities)
    drawn = [
        TransformersModel(network, first.tokenizer, "x", seed=seed, **options).reply([Prompt("ef:", letters)])[0].text
        for seed in range(trials)
    ]
    for letter, probability in zip(letters, reported, strict=True):
        assert 0.02 < probability < 0.2
        spread = np.sqrt(trials * probability * (1 - probability))
        assert abs(drawn.count(letter) - trials * probability) < 4 * spread  # one in 16,000 by chance


def test_prompts_of_the_same_length_draw_by_themselves():
    network = made_up_network(vocab_size=20, initializer_range=0.05)  # about uniform: the draw decides
    model = TransformersModel(network, made_up_tokenizer(), "x", max_new_tokens=1, temperature=1.0)
    said = model.reply([Prompt(f"{one}{two}:", ("a",)) for one in "defg" for two in "defg"])
    assert len({reply.text for reply in said}) >= 6  # 11 of 20 expected from 16 draws; one or two from a common draw


def test_lower_precision_is_close(model):
    coarse = TransformersModel(made_up_network().to(torch.bfloat16), made_up_tokenizer(), "made-up")
    for one, two in zip(model.score(PROMPTS), coarse.score(PROMPTS), strict=True):
        assert two.log_probabilities == pytest.approx(one.log_probabilities, rel=0.05, abs=COARSE)
    assert "bfloat16" in coarse.name


def test_values_that_are_no_numbers_are_an_error_of_the_reply():
    network = made_up_network()
    network.lm_head.weight.data[:] = float("nan")
    broken = TransformersModel(network, made_up_tokenizer(), "made-up")
    for reply in (*broken.score(PROMPTS[:2]), *broken.reply(PROMPTS[:2])):
        assert reply.text is None
        assert reply.log_probabilities is None
        assert "not numbers" in reply.error


@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [
        (Prompt("a", ("b",), images=(b"",)), "made-up was loaded as a language model, which has no vision support"),
        (Prompt("a", ()), "options must be at least one word"),
        (Prompt("a", ("b", "")), "options must be at least one word"),
        (Prompt("a", ("b",), chat=True), "has no chat template; use a template that is plain text"),
    ],
)
def test_prompts_a_model_cannot_take_are_refused(network, prompt, sentence):
    bare = TransformersModel(network, made_up_tokenizer(chat=False), "made-up")
    with pytest.raises(InputError, match=sentence):
        bare.score([prompt])


def test_a_prompt_that_is_too_long_is_an_error_of_its_reply_alone(model, tmp_path):
    long = Prompt("ab" * 300, ("b", "c"))
    given = [PROMPTS[0], long, *PROMPTS[1:3], replace(long, text="ab" * 195)]
    scores, said = model.score(given), model.reply(given)
    assert scores[1].error == "made-up reads at most 200 tokens; a prompt with its answer has 303."
    assert said[1].error == "made-up reads at most 200 tokens; a prompt with its answer has 307."
    assert scores[1].log_probabilities is said[1].text is None
    assert not scores[4].error  # 198 tokens with the answer, but 202 with six words to come
    assert "has 202" in said[4].error
    for place in (0, 2, 3):
        alone = model.score([given[place]])[0].log_probabilities
        assert scores[place].log_probabilities == pytest.approx(alone, abs=EXACT)
        assert said[place] == model.reply([given[place]])[0]
    for mode in ("probability", "text"):
        with ReplyStore(tmp_path / mode) as store:
            replies, report = ask_and_report(model, given[:4], mode, store=store, batch_size=2)
            assert [bool(one.error) for one in replies] == [False, True, False, False]
            assert (report.answered, report.failed, len(store)) == (3, 1, 3)
    assert model.score([long])[0].error == scores[1].error


def test_a_template_that_refuses_is_quoted(network):
    tokenizer = made_up_tokenizer()
    tokenizer.chat_template = "{{ raise_exception('System role not supported') }}"
    model = TransformersModel(network, tokenizer, "made-up")
    with pytest.raises(InputError, match="refused the prompt: System role not supported."):
        model.reply([Prompt("a", ("b",), chat=True)])


def test_an_empty_beginning_or_batch_is_refused(network):
    with pytest.raises(InputError, match="must have at least one token"):
        split_continuations([], [[1], [2]])
    with pytest.raises(InputError, match="batch_size must be"):
        score_continuations(network, [split_continuations([1], [[1, 2]])], 0)
