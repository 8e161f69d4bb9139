"""The profile of similarity against distance: its sums, the shape it is recognized as, and its intervals."""

import numpy as np
import pytest

from genlaws.semanticity import similarity
from genlaws.semanticity.measurement import profile as module
from genlaws.semanticity.measurement.profile import ProfileSums, fit_profile, pool_sums, profile_sums, relabeled_fits
from genlaws.semanticity.theory.similarity import SHAPES

ROUNDING = 1e-12
# Distances inside a bin are taken as evenly spread; a bin holds 1/512 of the pairs.
BINNED = 2e-3
# Of 200 intervals that hold with probability 0.95, between 180 and 198 do so in all but two of a thousand experiments.
COVERED = (0.90, 0.99)
PLANTED = 0.1


def on_circle(rng, n):
    x = rng.random(n)
    apart = np.abs(np.subtract.outer(x, x))
    return np.minimum(apart, 1 - apart)


def even_circle(n):
    x = np.arange(n) / n
    apart = np.abs(np.subtract.outer(x, x))
    return np.minimum(apart, 1 - apart)


def draw(rng, n, noise=0.3):
    """Return an exponential profile whose resolution differs from stimulus to stimulus, and the distances."""
    d = on_circle(rng, n)
    own = noise * rng.uniform(-1, 1, n)
    return np.exp(-d / (PLANTED * (1 + own[:, None] + own))) + 0.05, d


def fit(g, d, seed=0, replicates=0):
    return fit_profile(profile_sums(g, d), np.random.default_rng(seed), replicates)


# --- sums -------------------------------------------------------------------------------------------------------------


def test_sums_are_over_ordered_pairs_relative_to_the_copy():
    rng = np.random.default_rng(0)
    d = even_circle(12)
    g = rng.random((12, 12))
    g[5, 5] = 0
    found = profile_sums(g, d).profile()
    for k, distance in enumerate(np.unique(np.round(d[0][1:], 9))):
        there = [g[i, j] / g[i, i] for i in range(12) for j in range(12) if i != 5 and abs(d[i, j] - distance) < 1e-6]
        assert found.distance[k] == pytest.approx(distance)
        assert found.pair_count[k] == len(there)
        assert found.similarity[k] == pytest.approx(np.mean(there), rel=ROUNDING)
        assert found.spread[k] == pytest.approx(np.std(there), abs=1e-7)
    assert len(found.distance) == 6


def test_what_a_stimulus_adds_is_what_is_missing_without_it():
    g, d = draw(np.random.default_rng(1), 40)
    sums = profile_sums(g, d)
    for k in (0, 17):
        rest = np.delete(np.arange(40), k)
        without = profile_sums(g[np.ix_(rest, rest)], d[np.ix_(rest, rest)], sums.bins)
        np.testing.assert_allclose(sums.count - sums.unit_count[k], without.count)
        np.testing.assert_allclose(sums.distance - sums.unit_distance[k], without.distance, atol=1e-9)
        np.testing.assert_allclose(sums.similarity - sums.unit_similarity[k], without.similarity, atol=1e-9)


def test_shown_bins_hold_all_pairs_in_order():
    g, d = draw(np.random.default_rng(2), 120)
    sums = profile_sums(g, d)
    assert sums.count.size == module.FINE_BINS
    shown = sums.profile()
    assert len(shown.distance) == module.DISPLAY_BINS
    assert shown.pair_count.sum() == 120 * 119
    assert (np.diff(shown.distance) > 0).all()
    assert (shown.lower <= shown.distance).all()
    assert (shown.distance <= shown.upper).all()
    assert shown.similarity @ shown.pair_count == pytest.approx(((g - np.diag(np.diag(g))) / 1.05).sum())


def test_batches_add_up():
    rng = np.random.default_rng(3)
    parts = [draw(rng, 40) for _ in range(5)]
    first = profile_sums(*parts[0])
    sums = [first, *(profile_sums(g, d, first.bins) for g, d in parts[1:])]
    together = pool_sums(sums)
    np.testing.assert_allclose(together.similarity, sum(part.similarity for part in sums))
    np.testing.assert_allclose(together.unit_count.sum(axis=0), together.count)
    assert together.unit_similarity.shape == (5, first.count.size)
    assert fit_profile(together, rng, 0).resolution.value == pytest.approx(PLANTED, rel=0.1)


# --- shapes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("background", [0.0, 0.05])
def test_a_planted_shape_is_recognized(name, background):
    d = on_circle(np.random.default_rng(0), 150)
    planted = similarity(name, PLANTED, background=background)
    found = fit(planted(d), d)
    assert found.shape == name
    assert found.resolution.value == pytest.approx(PLANTED, rel=BINNED)
    assert found.background.value == pytest.approx(background, abs=BINNED)
    assert found.explained > 1 - 1e-3
    assert max(found.candidates, key=found.candidates.get) == name
    # The amplitude is in units of the similarity with a copy, which has the background too unless it is constant.
    copy = 1 if name == "constant" else 1 + background
    assert found.amplitude == pytest.approx(1 / copy, rel=BINNED)
    if name != "constant":  # near its end, a little error moves pairs from one side to the other
        np.testing.assert_allclose(found.amplitude * found.similarity()(d), planted(d) / copy, atol=0.01)


def test_few_distances_are_fitted_without_bins():
    d = even_circle(60)
    found = fit(similarity("gaussian", PLANTED, background=0.02)(d), d)
    assert found.resolution.value == pytest.approx(PLANTED, rel=1e-5)
    assert found.background.value == pytest.approx(0.02, rel=1e-4)
    assert found.explained == pytest.approx(1, abs=1e-9)


def test_a_straight_profile_is_met_in_every_bin():
    # The mean of a straight line over a bin is its value at the mean distance, wherever in the bin the pairs are.
    d = on_circle(np.random.default_rng(0), 60)
    assert fit(1 - d / 0.8, d).explained == pytest.approx(1, abs=1e-9)


def test_a_constant_profile_ends_at_the_last_distance_inside():
    d = even_circle(60)
    found = fit(similarity("constant", 7.6 / 60)(d), d)
    assert found.resolution.value == pytest.approx(7 / 60, rel=1e-5)
    assert found.resolution.value > 7 / 60


@pytest.mark.parametrize("g", [np.full((20, 20), 0.3), np.zeros((20, 20)), np.eye(20)])
def test_a_profile_that_does_not_fall_has_no_resolution(g):
    d = on_circle(np.random.default_rng(0), 20)
    found = fit(g, d, replicates=50)
    assert np.isnan([found.resolution.value, found.background.value, found.resolution.low, found.explained]).all()
    assert found.why_none
    assert set(found.candidates) == set(SHAPES)


def test_a_rising_profile_has_no_resolution():
    d = on_circle(np.random.default_rng(0), 40)
    found = fit(d + np.eye(40), d, replicates=50)
    assert np.isnan([found.resolution.value, found.explained]).all()
    assert found.why_none == "similarity does not fall with distance"
    assert relabeled_fits(d + np.eye(40), d, profile_sums(d + np.eye(40), d).bins) == module.RELABELINGS


def pure_noise(n, seed):
    """Return similarities and distances of stimuli that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    z, x = rng.standard_normal((n, 16)), rng.random(n)
    return np.exp(-0.05 * ((z[:, None] - z) ** 2).sum(axis=2)), np.abs(np.subtract.outer(x, x))


@pytest.mark.parametrize(("n", "sets"), [(12, 80), (30, 40), (100, 40)])
def test_pure_noise_has_no_resolution(n, sets):
    given = [pure_noise(n, seed) for seed in range(sets)]
    falls = [np.isfinite(fit(g, d, replicates=0).resolution.value) for g, d in given[:10]]
    relabeled = [relabeled_fits(g, d, profile_sums(g, d, by_stimulus=False).bins) for g, d in given]
    assert sum(falls) >= 8
    # One in a hundred is allowed.
    assert relabeled.count(0) <= 0.03 * sets
    # The number of relabelings that fit as well is as often large as small.
    assert 0.35 < np.mean(relabeled) / module.RELABELINGS < 0.65


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("n", [12, 30])
def test_no_relabeling_fits_a_planted_shape_as_well(name, n):
    rng = np.random.default_rng(n)
    d = on_circle(rng, n)
    g = similarity(name, PLANTED, background=0.05)(d) * np.exp(0.3 * rng.standard_normal((n, n)))
    assert relabeled_fits(g, d, profile_sums(g, d).bins) == 0


def test_a_large_set_is_relabeled_in_part_and_stimuli_unlike_their_copy_are_left_out(monkeypatch):
    g, d = draw(np.random.default_rng(0), 60)
    bins = profile_sums(g, d).bins
    monkeypatch.setattr(module, "MAX_RELABELED", 30)
    assert relabeled_fits(g, d, bins) == 0
    g[:50] = 0.0
    assert relabeled_fits(g, d, bins) < 5
    assert relabeled_fits(np.zeros_like(g), d, bins) == module.RELABELINGS


@pytest.mark.parametrize("levels", [2, 3, 4])
def test_as_many_distances_as_parameters_explain_nothing(levels):
    rng = np.random.default_rng(0)
    d = rng.integers(1, levels + 1, (40, 40)).astype(float)
    d = np.triu(d, 1) + np.triu(d, 1).T
    g = 1.0 / (1.0 + d)
    noisy = d + np.triu(1e-7 * rng.random((40, 40)), 1)
    for distance, tolerance in ((d, 0.0), (np.maximum(noisy, noisy.T), 1e-6)):
        sums = profile_sums(g, distance)
        found = fit_profile(sums, rng, 0, tolerance=tolerance)
        assert np.isnan(found.explained) == np.isnan(found.resolution.value) == (levels < 4)
        assert (f"only {levels} different distances" in found.why_none) == (levels < 4)


def test_no_stimulus_like_its_copy_gives_an_empty_profile():
    d = on_circle(np.random.default_rng(0), 20)
    g = 1 - np.eye(20)
    shown = profile_sums(g, d).profile()
    assert shown.distance.size == shown.pair_count.size == 0
    # A copy that is like nothing at all compared with the others is no unit to measure in.
    np.fill_diagonal(g, 1e-200)
    assert profile_sums(g, d).profile().distance.size == 0


# --- intervals --------------------------------------------------------------------------------------------------------


def test_a_profile_without_noise_has_a_narrow_interval():
    d = on_circle(np.random.default_rng(0), 60)
    found = fit(similarity("exponential", PLANTED, background=0.05)(d), d, replicates=200).resolution
    assert found.high - found.low < BINNED * PLANTED


def test_the_interval_of_the_resolution_covers():
    truth = fit(*draw(np.random.default_rng(9), 1000)).resolution.value
    rng = np.random.default_rng(1)
    found = [fit_profile(profile_sums(*draw(rng, 60)), rng).resolution for _ in range(200)]
    assert COVERED[0] <= np.mean([one.low <= truth <= one.high for one in found]) <= COVERED[1]
    spread = np.std([one.value for one in found])
    width = np.mean([one.high - one.low for one in found])
    assert width == pytest.approx(2 * 1.96 * spread, rel=0.15)


def test_noise_of_the_height_alone_gives_a_careful_interval():
    # Such noise moves the resolution through pairs of stimuli only; the bootstrap counts a pair with either of its two.
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(60):
        d = on_circle(rng, 60)
        own = 0.3 * rng.uniform(-1, 1, 60)
        g = (np.exp(-d / PLANTED) + 0.05) * (1 + own[:, None] + own)
        np.fill_diagonal(g, 1.05)
        found = fit_profile(profile_sums(g, d), rng).resolution
        covered += found.low <= PLANTED <= found.high
    assert covered >= 0.95 * 60


@pytest.mark.parametrize("seed", [0, 2])
def test_first_order_weights_are_as_good_as_drawing_stimuli_again(seed):
    rng = np.random.default_rng(seed)
    n, replicates = 60, 150
    g, d = draw(rng, n)
    quick = fit(g, d, seed, 1000)
    drawn = [fit_profile(sums_of_different(g, d, rng.integers(0, n, n)), rng, 0) for _ in range(replicates)]
    # The resolution of another shape is another quantity; the quick way keeps the shape.
    selected = [one.resolution.value for one in drawn if one.shape == quick.shape]
    assert len(selected) > 0.8 * replicates
    low, high = np.quantile(selected, [0.025, 0.975])
    # 150 replicates give a width to some 10 %.
    assert quick.resolution.high - quick.resolution.low == pytest.approx(high - low, rel=0.25)


def sums_of_different(g, d, again):
    """Return the sums of a drawn set, without the pairs of a stimulus with its own double."""
    square = np.ix_(again, again)
    g, d, different = g[square], d[square], again[:, None] != again
    bins = profile_sums(g, d).bins
    size = bins.lower.size
    cell = np.searchsorted(bins.cuts, d[different], side="right")
    relative = (g / np.diagonal(g)[:, None])[different]
    totals = [np.bincount(cell, w, size).astype(float) for w in (None, d[different], relative, relative**2)]
    return ProfileSums(bins, *totals, *np.zeros((3, len(g), size)))
