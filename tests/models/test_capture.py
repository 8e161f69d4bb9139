"""Texts through a model: into reducers, memory and files; and what is said about texts that give nothing to compare."""

import numpy as np
import pytest
import torch

from counted_steps import CountedSteps

pytest.importorskip("transformers", reason="needs the package transformers")

from genlaws.core.errors import InputError
from genlaws.models.capture import capture_texts, stream_texts
from genlaws.models.recorder import captured
from genlaws.models.stream import TokenSample
from genlaws.models.texts import tokenize
from genlaws.models.untrained import random_weights
from genlaws.residual_stream.measures.paths import PathReducer, path_measures
from small_families import FAMILIES
from small_tokenizer import small_tokenizer

ROUNDING = 2e-5  # of states of about 10 in float32, between ways of batching the same sums
TEXTS = ["w3 w4 w5", "w6 w7 w8 w9 w10 w11", "w12 w13", "w14 w15 w16 w17", "w18 w19 w20 w21 w22"]


class Batches:
    """A reducer that keeps everything, for the tests alone."""

    def __init__(self):
        self.states, self.texts = [], np.array([], dtype=int)

    def update(self, stream, texts):
        self.states.append(stream.states)
        self.sites = stream.sites
        self.texts = np.concatenate([self.texts, texts])


@pytest.fixture(scope="module")
def llama():
    return FAMILIES["llama"].build()


@pytest.fixture(scope="module")
def tokenizer():
    return small_tokenizer("[B] $A")


def one_by_one(model, tokenizer, texts, position):
    """Read each text in a pass of its own, with no padding."""
    rows = []
    for ids in tokenize(tokenizer, texts).ids:
        with captured(model, positions=position) as recorder, torch.inference_mode():
            model(torch.from_numpy(ids)[None])
        rows.append(recorder.take())
    return np.concatenate(rows)


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2", "neox", "gptj", "modernbert", "bert", "distilbert"])
@pytest.mark.parametrize("position", ["last", [0, -1]])
def test_batches_by_length_change_nothing(tokenizer, name, position):
    model = FAMILIES[name].build()
    expected = one_by_one(model, tokenizer, TEXTS, position)
    found = capture_texts(model, tokenizer, TEXTS, batch_size=2, position=position)
    np.testing.assert_allclose(found.stream.states, expected, atol=ROUNDING)
    assert found.stream.states.dtype == np.float32
    assert found.sites == found.stream.sites
    assert found.identity_error < 1e-6


def test_reducers_get_every_row_once(llama, tokenizer):
    selected = capture_texts(llama, tokenizer, TEXTS, batch_size=2, position="all")
    first, second, steps = Batches(), Batches(), CountedSteps()
    how = {"batch_size": 2, "position": "all", "running": steps.running}
    read = stream_texts(llama, tokenizer, TEXTS, [first, second], **how)
    assert steps.reported == [[2, 2, 1]]
    steps.check_complete()
    assert [len(one) for one in first.states] == [11, 7, 2]
    assert all(np.array_equal(one, two) for one, two in zip(first.states, second.states, strict=True))
    order = np.lexsort((read.positions, read.text_numbers))
    assert np.array_equal(np.concatenate(first.states)[order], selected.stream.states)
    assert np.array_equal(read.text_numbers[order], selected.text_numbers)
    assert selected.token_ids.tolist() == list(range(3, 23))
    assert selected.positions.tolist() == [1, 2, 3, 1, 2, 3, 4, 5, 6, 1, 2, 1, 2, 3, 4, 1, 2, 3, 4, 5]
    frame = selected.to_frame()
    assert frame.columns.tolist() == ["text", "position", "token"]
    assert len(frame) == 20
    assert np.array_equal(first.texts, read.text_numbers)
    part = Batches()
    stream_texts(llama, tokenizer, TEXTS, part, sites=["attention", "end"])
    assert [site.name for site in part.sites] == ["0.attention", "1.attention", "2.attention", "end"]


def test_intervals_rest_on_texts_and_not_on_their_tokens(llama, tokenizer):
    reducer = PathReducer()
    stream_texts(llama, tokenizer, TEXTS, reducer, batch_size=2, position="all", layers=[1, 2])
    selected = capture_texts(llama, tokenizer, TEXTS, batch_size=2, position="all", layers=[1, 2])
    streamed, whole = reducer.result(), path_measures(selected.stream, texts=selected.text_numbers)
    assert streamed.sites == selected.sites
    found = path_measures(streamed)
    assert found.speed.count == 5
    np.testing.assert_allclose(found.speed.value, whole.speed.value)
    np.testing.assert_allclose(found.speed.low, whole.speed.low)
    assert (found.speed.high > path_measures(selected.stream).speed.high).any()


def test_a_file_holds_the_same_states(llama, tokenizer, tmp_path):
    file = tmp_path / "states.npy"
    selected = capture_texts(llama, tokenizer, TEXTS, batch_size=2, position="all")
    filed = capture_texts(llama, tokenizer, TEXTS, batch_size=2, position="all", to=file)
    assert np.array_equal(filed.stream.states, selected.stream.states)
    assert np.array_equal(np.load(file), selected.stream.states)
    assert isinstance(filed.stream.states, np.memmap)
    for wrong, complaint in (
        (file, "does not exist yet"),
        ("states.npz", "ends in .npy"),
        (tmp_path / "no" / "s.npy", "folder"),
    ):
        with pytest.raises(InputError, match=complaint):
            capture_texts(llama, tokenizer, TEXTS, to=wrong)


def test_a_capture_that_fails_leaves_no_file(tokenizer, tmp_path):
    model = FAMILIES["llama"].build()
    with torch.no_grad():
        model.model.embed_tokens.weight[12] = float("inf")  # in the shortest text, which is read last
    with pytest.raises(InputError, match=r"from the site 0\.attention on \(a batch with the texts 2\)"):
        capture_texts(model, tokenizer, TEXTS, batch_size=1, position="all", to=tmp_path / "states.npy")
    assert not list(tmp_path.iterdir())


def test_closing_marks_are_read_by_the_model_but_are_not_the_last_token():
    model, both = FAMILIES["bert"].build(), small_tokenizer("[B] $A [E]")
    found = capture_texts(model, both, TEXTS)
    assert found.token_ids.tolist() == [5, 11, 13, 17, 22]
    np.testing.assert_allclose(found.stream.states, one_by_one(model, both, TEXTS, -2), atol=ROUNDING)
    assert found.identity == "next = LayerNorm(this + write)"
    assert "post-norm" in found.messages[0]


def test_equal_last_tokens_are_named(llama, tokenizer):
    lines = [f"{text} \n" for text in TEXTS]
    found = capture_texts(llama, tokenizer, lines)
    assert np.ptp(found.stream.states[:, 0], axis=0).max() == 0
    assert "All 5 texts end with the same token '\\n'" in found.messages[0]
    assert "strip=True" in found.messages[0]
    assert capture_texts(llama, tokenizer, lines, strip=True).messages == ()
    sampled = capture_texts(llama, tokenizer, lines, position=TokenSample(2, seed=1))
    assert sampled.messages == ()
    assert np.bincount(sampled.text_numbers).tolist() == [2] * 5
    assert "4 of 5 texts end with the same token" in capture_texts(llama, tokenizer, [*lines[1:], "w3"]).messages[0]


def test_one_text_long_texts_and_left_out_sites_are_named(llama, tokenizer):
    one = capture_texts(llama, tokenizer, ["w3 w4"])
    assert "one text only" in one.messages[0]
    long = capture_texts(llama, tokenizer, [*TEXTS, "w5 " * 100])
    assert long.messages == ("1 of 6 texts had more than 64 tokens and were cut at the end.",)
    assert long.positions.max() == 63
    with pytest.raises(InputError, match="Text 5 has 101 tokens and at most 64"):
        capture_texts(llama, tokenizer, [*TEXTS, "w5 " * 100], too_long="refuse")
    too_many = tokenize(tokenizer, ["w5 " * 100])
    with pytest.raises(InputError, match="reads at most 64 tokens; a text has 101"):
        capture_texts(llama, tokenizer, too_many)
    part = capture_texts(llama, tokenizer, TEXTS, sites=["attention"])
    assert "left out" in part.messages[0]
    assert capture_texts(llama, tokenizer, TEXTS, layers=[1]).messages == ()
    with pytest.raises(InputError, match="at least two sites"):
        capture_texts(llama, tokenizer, TEXTS, sites=["end"])


def test_wrong_reducers_and_sizes_are_refused(llama, tokenizer):
    with pytest.raises(InputError, match="update"):
        stream_texts(llama, tokenizer, TEXTS, [Batches(), 3])
    with pytest.raises(InputError, match="batch_size must be a whole number, at least 1"):
        stream_texts(llama, tokenizer, TEXTS, Batches(), batch_size=0)
    with pytest.raises(InputError, match="texts must not be empty; text 1"):
        stream_texts(llama, tokenizer, ["w3", ""], Batches())
    with pytest.raises(InputError, match="at least one token"):
        stream_texts(llama, tokenizer, TEXTS, Batches(), position=[[]] * 5)


def test_random_weights_leave_the_model_and_the_generator_alone(tokenizer):
    model = FAMILIES["llama"].build().to(torch.bfloat16)
    before = {name: weights.clone() for name, weights in model.named_parameters()}
    torch.manual_seed(5)
    drawn = torch.rand(1)
    torch.manual_seed(5)
    copies = [random_weights(model, seed) for seed in (0, 0, 1)]
    assert torch.equal(torch.rand(1), drawn)
    assert all(torch.equal(before[name], weights) for name, weights in model.named_parameters())
    first, same, other = (copy.model.layers[1].mlp.up_proj.weight for copy in copies)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    assert not torch.equal(first, model.model.layers[1].mlp.up_proj.weight)
    assert first.dtype == torch.bfloat16
    assert not copies[0].training
    assert capture_texts(copies[0], tokenizer, TEXTS).identity_error < 2**-7
    with pytest.raises(InputError, match="built again from its config"):
        random_weights(torch.nn.Linear(2, 2), 0)


def test_stories_on_wikitext(stories, wikitext):
    network, tokenizer = stories
    raw = capture_texts(network, tokenizer, wikitext)
    assert raw.stream.states.shape == (40, 11, 64)
    assert raw.identity_error < 4 * np.finfo(np.float32).eps
    assert any("All 40 texts end with the same token" in one for one in raw.messages)
    stripped = capture_texts(network, tokenizer, wikitext, strip=True)
    assert any("texts end with the same token '.'" in one for one in stripped.messages)
    assert np.ptp(stripped.stream.states[:, 0], axis=0).max() > 0
    with torch.inference_mode():
        ids = torch.tensor([tokenizer.encode(wikitext[7].rstrip())])
        hidden = network(ids, output_hidden_states=True).hidden_states
    for layer in range(5):
        np.testing.assert_allclose(stripped.stream.states[7, 2 * layer], hidden[layer][0, -1], atol=1e-4)


def test_shuffled_stories_tell_other_states_of_the_same_tokens(stories, wikitext):
    network, tokenizer = stories
    tokens = tokenize(tokenizer, wikitext[:8], strip=True)
    ordered = capture_texts(network, tokenizer, tokens, position="all")
    shuffled = capture_texts(network, tokenizer, tokens.shuffled(0), position="all")
    for text in range(8):
        rows = ordered.text_numbers == text
        assert sorted(ordered.token_ids[rows]) == sorted(shuffled.token_ids[rows])
        # The embeddings are the same set of vectors; what is made of them is not.
        first, last = (np.sort(one.stream.states[rows][:, 0].sum(1)) for one in (ordered, shuffled))
        np.testing.assert_allclose(first, last, atol=1e-5)
        first, last = (np.sort(one.stream.states[rows][:, -1].sum(1)) for one in (ordered, shuffled))
        assert np.abs(first - last).max() > 0.1
