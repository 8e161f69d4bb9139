"""Mutual information of a stream: every unit and transition, intervals over texts, shuffles, and what is named."""

import math
from dataclasses import replace

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.models.stream import Stream
from genlaws.residual_stream.measures.estimators import ESTIMATORS, kernel_information
from genlaws.residual_stream.measures.information import entropy_deficit, mutual_information, nearly_discrete

TEXTS, UNITS = 200, 6
CORRELATIONS = (0.9, 0.5)


def gaussian_states(texts=TEXTS, units=UNITS, seed=0):
    """Three sites; a unit keeps the correlations above with the site before."""
    generator = np.random.default_rng(seed)
    states = [generator.standard_normal((texts, units))]
    for r in CORRELATIONS:
        states.append(r * states[-1] + math.sqrt(1 - r**2) * generator.standard_normal((texts, units)))
    return np.stack(states, axis=1)


@pytest.fixture(scope="module")
def measured():
    stream = Stream.from_states(gaussian_states())
    return {name: mutual_information(stream, estimator=name, seed=1) for name in ESTIMATORS}


def test_shapes_and_values(measured):
    states = gaussian_states()
    found = measured["kernel"]
    assert found.values.shape == found.errors.shape == (2, UNITS)
    assert found.baseline_values.shape == (4, 2, UNITS)
    assert found.message == ""
    for t in range(2):
        np.testing.assert_allclose(found.values[t], kernel_information(states[:, t], states[:, t + 1]), atol=1e-10)
        assert found.means[t].value == pytest.approx(found.values[t].mean())
        assert found.means[t].low < found.means[t].value < found.means[t].high


@pytest.mark.parametrize("name", ESTIMATORS)
def test_shuffled_texts_have_only_the_bias(measured, name):
    bias = 0.05 if name == "kernel" else 0.0  # kernel densities contain the text itself
    for baseline, mean in zip(measured[name].baselines, measured[name].means, strict=True):
        assert abs(baseline.value - bias) < 0.03
        assert baseline.low < baseline.value < baseline.high
        assert mean.low > baseline.high


@pytest.mark.parametrize("name", ESTIMATORS)
def test_intervals_over_texts_match_the_scatter_of_new_texts(name):
    """The mean over two units that share half of their variance, in 80 new draws of 200 texts."""
    generator = np.random.default_rng(4)
    x, noise = generator.standard_normal((2, TEXTS, 80, 2)) + generator.standard_normal((2, TEXTS, 80, 1))
    y = x + 0.75 * noise
    found = [
        mutual_information(
            Stream.from_states(np.stack((x[:, i], y[:, i]), axis=1)), estimator=name, baseline="none", seed=i
        )
        for i in range(80)
    ]
    scatter = np.std([one.means[0].value for one in found], ddof=1)
    half = np.mean([one.means[0].high - one.means[0].low for one in found]) / 2 / 1.96
    # The scatter itself is known within 8 %; distances to neighbors scatter by themselves, which adds up to a quarter.
    assert 0.7 < half / scatter < 1.25


def test_errors_of_units(measured):
    # Asymptotically r / sqrt(N) for Gaussians.
    expected = np.array(CORRELATIONS)[:, None] / math.sqrt(TEXTS)
    np.testing.assert_allclose(measured["copula"].errors / expected, 1.0, atol=0.35)


def test_a_constant_first_state_is_named():
    states = gaussian_states()
    states[:, 0] = states[0, 0]
    for name in ESTIMATORS:
        found = mutual_information(Stream.from_states(states), estimator=name, shuffles=2)
        assert np.isnan(found.values[0]).all()
        assert np.isnan(found.means[0].value)
        assert np.isnan(found.baselines[0].value)
        assert np.isfinite(found.values[1]).all()
        assert found.reasons[0] == "undefined for all units: the state at 0.attention is the same in all texts"
        assert found.reasons[1] == ""
        assert found.message.startswith("transition 0: undefined for all units")


def test_rounding_is_not_variation():
    states = gaussian_states().astype(np.float32)
    states[:, 0, 2] = np.where(np.arange(TEXTS) % 2, np.float32(1e3), np.nextafter(np.float32(1e3), np.float32(0)))
    found = mutual_information(Stream.from_states(states), estimator="copula")
    assert np.ptp(states[:, 0, 2]) > 0
    assert np.isnan(found.values[0]).tolist() == [unit == 2 for unit in range(UNITS)]
    assert "1 of 6 units" in found.reasons[0]
    assert found.means[0].value == pytest.approx(np.nanmean(found.values[0]))


def test_nearly_discrete_and_lumped_states_are_named():
    generator = np.random.default_rng(5)
    tokens = generator.choice([-1.0, 1.0], (TEXTS, 1))
    first = np.repeat(tokens, UNITS, axis=1)
    second = first + 0.05 * generator.standard_normal(first.shape)
    stream = Stream.from_states(np.stack((first, second, second + generator.standard_normal(first.shape)), axis=1))
    kernel = mutual_information(stream, estimator="kernel", shuffles=1)
    assert "nearly discrete at 0.attention in all units: KDE overestimates" in kernel.reasons[0]
    assert "lumps or far outliers at 0.mlp in all units" in kernel.reasons[1]
    assert kernel.means[0].value > math.log(2.0) + 0.5
    near = mutual_information(stream, estimator="neighbors", shuffles=1)
    assert near.reasons[0].endswith("equal values are separated by noise of 1e-10")
    assert near.reasons[1] == ""
    assert near.means[0].value == pytest.approx(math.log(2.0), abs=0.03)


@pytest.mark.parametrize("name", ["copula", "kernel"])
def test_a_copied_state_is_infinite_and_named(name):
    states = gaussian_states().astype(np.float32)
    states[:, 1, 0] = 1.0 - 2.0 * states[:, 0, 0]
    found = mutual_information(Stream.from_states(states), estimator=name, shuffles=1)
    assert found.values[0, 0] == np.inf
    assert found.reasons[0] == "infinite for 1 of 6 units: 0.mlp is a linear function of 0.attention"
    assert found.means[0].value == pytest.approx(found.values[0, 1:].mean())
    assert np.isnan(found.errors[0, 0])


def few_texts(correlation, texts=20, units=400, seed=0):
    generator = np.random.default_rng(seed)
    x, noise = generator.standard_normal((2, texts, units))
    return Stream.from_states(np.stack((x, correlation * x + math.sqrt(1 - correlation**2) * noise), axis=1))


def test_the_same_order_of_few_texts_is_no_function():
    found = mutual_information(few_texts(0.9999), estimator="copula", baseline="none")
    count = np.isinf(found.values[0]).sum()
    assert 100 < count < 250
    assert (
        f"no finite value for {count} of 400 units, left out of the mean: all 20 texts have the same or the opposite "
        "order at 0.attention and 0.mlp, so the information is about 3.0 nats or more" in found.reasons[0]
    )
    assert "function" not in found.reasons[0]
    assert found.to_frame()["units"].item() == 400 - count


def test_transitions_with_the_same_reason_are_named_together(measured):
    found = replace(measured["copula"], reasons=("too few", "none", "too few"))
    assert found.message == "transitions 0, 2: too few. transition 1: none."


def test_no_least_information_is_named_for_nearly_discrete_states():
    lumps = np.repeat(np.random.default_rng(0).choice([-1.0, 1.0], (20, 1)), 6, axis=1)
    found = mutual_information(
        Stream.from_states(np.stack((lumps, np.exp(3 * lumps) + lumps), axis=1)), estimator="copula"
    )
    assert np.isinf(found.values).all()
    assert "is a linear function" in found.reasons[0]  # two values lie on a line
    generator = np.random.default_rng(1)
    three = generator.integers(0, 3, (20, 6)).astype(float)
    found = mutual_information(Stream.from_states(np.stack((three, three**3), axis=1)), estimator="copula")
    assert "all 20 texts have the same or the opposite order at 0.attention and 0.mlp" in found.reasons[0]
    assert "nats" not in found.reasons[0]


@pytest.mark.parametrize(
    ("correlation", "said"), [(0.5, ""), (0.99, "about 0.3 nats too low: ranks of 20 texts cannot")]
)
def test_a_dependence_too_strong_for_the_texts_is_said_to_be_underestimated(correlation, said):
    found = mutual_information(few_texts(correlation), estimator="copula", baseline="none")
    assert found.reasons[0].startswith(said)
    assert bool(found.reasons[0]) == bool(said)
    assert found.message == (f"transition 0: {found.reasons[0]}." if said else "")
    assert (
        "too low" not in mutual_information(few_texts(correlation), estimator="neighbors", baseline="none").reasons[0]
    )


def test_the_entropy_deficit_of_known_densities():
    generator = np.random.default_rng(6)
    uniform = 0.5 * math.log(2 * math.pi * math.e / 12)
    two_lumps = 0.5 * math.log(1.0025) - math.log(2.0) - math.log(0.05)
    lumps = generator.choice([-1.0, 1.0], (20, 1000)) + 0.05 * generator.standard_normal((20, 1000))
    for rows, exact in (
        (generator.standard_normal((20, 1000)), 0.0),
        (generator.random((20, 1000)), uniform),
        (lumps, two_lumps),
    ):
        assert entropy_deficit(rows).mean() == pytest.approx(exact, abs=0.06)  # spacings at the ends are cut
    assert nearly_discrete(np.array([np.arange(40) // 2.5, np.arange(40)])).tolist() == [True, False]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_threads_and_units_do_not_change_the_numbers(measured, name):
    stream = Stream.from_states(gaussian_states())
    some = mutual_information(stream, estimator=name, units=[4, 1], seed=1, jobs=2)
    assert some.units.tolist() == [4, 1]
    np.testing.assert_array_equal(some.values, measured[name].values[:, [4, 1]])
    np.testing.assert_array_equal(some.baseline_values, measured[name].baseline_values[:, :, [4, 1]])


def test_the_table(measured):
    frame = measured["neighbors"].to_frame()
    assert frame["from"].tolist() == ["0.attention", "0.mlp"]
    assert frame["to"].tolist() == ["0.mlp", "1.attention"]
    assert frame["write"].tolist() == ["attention", "mlp"]
    assert frame["units"].tolist() == [UNITS, UNITS]
    np.testing.assert_allclose(frame["above_baseline"], frame["information"] - frame["baseline"])


def test_without_a_baseline():
    found = mutual_information(Stream.from_states(gaussian_states()), estimator="copula", baseline="none")
    assert found.baseline_values.shape == (0, 2, UNITS)
    assert np.isnan(found.to_frame()["baseline"]).all()


def test_one_or_few_texts_are_refused():
    for count, words in ((1, "1 text"), (9, "9 texts")):
        with pytest.raises(InputError, match=f"needs at least 10 texts; got {words}"):
            mutual_information(Stream.from_states(gaussian_states(texts=count)))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"estimator": "kde"}, "estimator must be one of copula, neighbors, binned, kernel; got 'kde'"),
        ({"baseline": "tokens"}, "baseline must be one of shuffle, none"),
        ({"shuffles": 0}, "shuffles must be a whole number, at least 1; got 0"),
        ({"jobs": 0}, "jobs must be a whole number, at least 1; got 0"),
        ({"units": []}, "units must be a list of whole numbers, at least one"),
        ({"units": [0.5]}, "units must be a list of whole numbers"),
        ({"units": [0, 6]}, "units must lie between 0 and 5; got 0 to 6"),
    ],
)
def test_wrong_arguments_are_refused(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        mutual_information(Stream.from_states(gaussian_states()), **wrong)
