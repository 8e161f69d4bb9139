"""The change of both tests from one site to the next: exact values, paired errors, and Holm's procedure."""

import numpy as np
import pytest
from scipy import stats

from genlaws.core.estimate import jackknife_error
from genlaws.models.stream import Site
from genlaws.probes.stream.changes import both_tests, holm, total_changes, write_changes
from genlaws.semanticity.measurement.measure import measure
from genlaws.semanticity.measurement.tests import MeasuredSet

ROUNDING = 1e-12
SITES = (Site(0, "attention"), Site(0, "mlp"), Site(1, "end"))
DRAWS, DRAWN = 300, 24  # sets, and stimuli of each


def set_of(rng, count=12, ties="split", whole=False):
    """Return stimuli on a line with similarities that fall with distance, and noise."""
    places = rng.integers(0, 8, count).astype(float) if whole else rng.uniform(0, 1, count)
    distance = np.abs(places[:, None] - places)
    noise = rng.uniform(0.1, 1, (count, count))
    similarity = np.exp(-3 * distance / distance.max()) * (noise + noise.T)
    return MeasuredSet(similarity, distance, ties, 1e-12)


@pytest.mark.parametrize("ties", ["split", "drop"])
@pytest.mark.parametrize("whole", [False, True])
def test_values_without_each_stimulus_are_those_of_the_set_without_it(ties, whole):
    given = set_of(np.random.default_rng(3), ties=ties, whole=whole)
    found = both_tests(given)
    for left in range(12):
        others = np.delete(np.arange(12), left)
        assert found.without[:, left] == pytest.approx(both_tests(given.part(others)).values, abs=ROUNDING)


def test_values_and_errors_are_those_of_the_measurement():
    given = set_of(np.random.default_rng(4), count=30)
    found = both_tests(given)
    reported = measure(given.similarity, distances=given.distance, similarity="precomputed", items=(2,), fronts=False)
    both = (reported.generalization, reported.identification)
    for value, left, estimate in zip(found.values, found.without, both, strict=True):
        assert value == pytest.approx(estimate.value, abs=ROUNDING)
        half = stats.t.ppf(0.975, 29) * jackknife_error(left)
        assert value - half == pytest.approx(estimate.low, abs=ROUNDING)


def test_changes_add_up_and_are_narrower_than_unpaired_ones():
    rng = np.random.default_rng(5)
    first = set_of(rng, count=30)
    slightly = MeasuredSet(first.similarity**1.1, first.distance, "split", 1e-12)
    tests = [both_tests(one) for one in (first, slightly, first)]
    one, back = write_changes(SITES, tests, (0, 1))
    attention, mlp = total_changes(SITES, tests, (0, 1))
    for test in ("generalization", "identification"):
        change = getattr(one, test)
        assert change.estimate.value == pytest.approx(-getattr(back, test).estimate.value, abs=ROUNDING)
        assert getattr(attention, test).estimate == change.estimate
        assert getattr(mlp, test).estimate == getattr(back, test).estimate
        assert change.estimate.low <= change.estimate.value <= change.estimate.high
    row = tests[0].without[1]
    unpaired = np.hypot(jackknife_error(row), jackknife_error(tests[1].without[1]))
    assert one.identification.estimate.high - one.identification.estimate.value < unpaired
    assert one.identification.direction == "up"  # a steeper similarity names more surely
    assert back.identification.direction == "down"


def test_no_change_is_found_too_often_where_there_is_none():
    """Two sites with noise of the same kind on the same places: at 5 % a change stands in about that share of draws."""
    rng, wrong = np.random.default_rng(6), np.zeros(2)
    for _ in range(DRAWS):
        places = rng.uniform(0, 1, DRAWN)
        distance = np.abs(places[:, None] - places)
        tests = []
        for _ in range(2):
            state = np.column_stack([places, rng.normal(0, 0.3, (DRAWN, 2))])
            apart = ((state[:, None] - state) ** 2).sum(axis=2)
            tests.append(both_tests(MeasuredSet(np.exp(-apart), distance, "split", 1e-12)))
        (change,) = write_changes(SITES[:2], tests, (0,))
        wrong += [change.generalization.p_value < 0.05, change.identification.p_value < 0.05]
    most = stats.binom.ppf(0.999, DRAWS, 0.05)
    assert (wrong <= most).all()
    assert (wrong > 0).all()


def test_holm_agrees_with_its_definition():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, np.nan, 0.4]) == pytest.approx([0.8, np.nan, 0.8], nan_ok=True)
    assert holm([]).shape == (0,)
