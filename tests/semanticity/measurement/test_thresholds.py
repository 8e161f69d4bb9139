"""All thresholds at once: against each of them alone, Theorem 1, and the choice of one."""

import numpy as np
import pytest

from genlaws.semanticity import finite_generalization
from genlaws.semanticity.measurement.measure import measure
from genlaws.semanticity.measurement.pairs import threshold_curve
from genlaws.semanticity.measurement.tests import MeasuredSet, two_items

# Cumulative sums of a few thousand numbers.
ROUNDING = 1e-12
QUICK = {"intervals": False, "fronts": False}


def twelve(ties_in_truth=True, seed=0):
    """Return embeddings on a grid, whose distances repeat, and places with or without equal distances."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 4, (12, 2)).astype(float)
    x = rng.integers(0, 6, 12).astype(float) if ties_in_truth else rng.random(12)
    return z, x


def lengths(rows):
    return np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=-1))


@pytest.mark.parametrize("ties", ["split", "drop"])
@pytest.mark.parametrize("ties_in_truth", [True, False])
def test_the_curve_is_every_threshold_alone(ties_in_truth, ties):
    z, x = twelve(ties_in_truth)
    apart, truth = lengths(z), np.abs(np.subtract.outer(x, x))
    others = MeasuredSet(np.ones((12, 12)), truth, ties, 0.0).others()
    curve = threshold_curve(others, apart, ties)
    np.testing.assert_allclose(curve.threshold, np.unique(apart))
    for place, threshold in enumerate(curve.threshold):
        alike = (apart <= threshold).astype(float)
        alone = two_items(MeasuredSet(alike, truth, ties, 0.0).others(), ties)
        assert curve.generalization[place] == pytest.approx(alone.generalization, abs=ROUNDING)
        assert curve.identification[place] == pytest.approx(alone.identification, abs=ROUNDING)
        share = (alike.sum(axis=1) - 1) / 11
        assert curve.ball_mass[place] == pytest.approx(share.mean(), abs=ROUNDING)
        assert curve.ball_mass_variance[place] == pytest.approx(share.var(), abs=ROUNDING)


def test_without_doubles_the_curve_starts_with_nothing_inside():
    _, x = twelve(ties_in_truth=False)
    truth = np.abs(np.subtract.outer(x, x))
    curve = threshold_curve(MeasuredSet(truth, truth, "split", 0.0).others(), truth, "split")
    first = [curve.threshold[0], curve.generalization[0], curve.identification[0], curve.ball_mass[0]]
    assert first == [0, 0.5, 1, 0]
    last = [curve.generalization[-1], curve.identification[-1], curve.ball_mass[-1]]
    assert last == pytest.approx([0.5, 0.5, 1], abs=ROUNDING)


def test_embeddings_at_their_true_distance_follow_theorem_one():
    n = 40
    x = np.random.default_rng(1).random(n)
    truth = np.abs(np.subtract.outer(x, x))
    curve = threshold_curve(MeasuredSet(truth, truth, "split", 0.0).others(), truth, "split")
    inside = (truth[None] <= curve.threshold[:, None, None]).sum(axis=2) - 1
    expected = 0.5 + (inside / (n - 1) * (1 - inside / (n - 1))).mean(axis=1) * (n - 1) / (n - 2)
    np.testing.assert_allclose(curve.generalization, expected, atol=ROUNDING)
    np.testing.assert_allclose(curve.generalization, finite_generalization(inside, n, 2).mean(axis=1), atol=ROUNDING)
    b, variance = curve.ball_mass, curve.ball_mass_variance
    theorem = 0.5 + (b - b**2 - variance) * (n - 1) / (n - 2)
    np.testing.assert_allclose(curve.generalization, theorem, atol=ROUNDING)
    np.testing.assert_allclose(curve.identification, 1 - b / 2, atol=ROUNDING)


@pytest.mark.parametrize("threshold", [None, 0.0, 1.0, 1.2, 50.0])
def test_a_threshold_is_a_step_function(threshold):
    z, x = twelve()
    options = {"positions": x, "metric": "euclidean", "items": (2, 4), **QUICK}
    found = measure(z, similarity="threshold", threshold=threshold, **options)
    curve = found.threshold_curve
    used = curve.threshold[curve.best] if threshold is None else threshold
    stepped = measure(z, similarity=lambda one, _: (lengths(one) <= used).astype(float), **options)
    np.testing.assert_allclose(found.to_frame().generalization, stepped.to_frame().generalization, atol=ROUNDING)
    np.testing.assert_allclose(found.to_frame().identification, stepped.to_frame().identification, atol=ROUNDING)
    assert found.generalization.value == pytest.approx(curve.generalization[curve.at(used)], abs=ROUNDING)
    assert stepped.threshold_curve is None
    if threshold is None:
        assert found.generalization.value == pytest.approx(curve.generalization.max(), abs=ROUNDING)


def test_a_curve_is_looked_up_and_tabulated():
    z, x = twelve()
    curve = measure(z, similarity="threshold", positions=x, metric="euclidean", items=(2,), **QUICK).threshold_curve
    for place, threshold in enumerate(curve.threshold):
        assert curve.at(threshold) == curve.at(threshold + 1e-9) == place
    assert curve.at(-1.0) == 0
    assert len(curve.to_frame()) == len(curve.threshold)
