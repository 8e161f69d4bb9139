"""Both tests on a finite set: against enumeration of every trial, and errors against repeated draws."""

import itertools
import operator

import numpy as np
import pytest
from scipy import special

from genlaws.core.estimate import from_standard_error
from genlaws.semanticity import circle, segment, similarity
from genlaws.semanticity.measurement import tests as module
from genlaws.semanticity.measurement.tests import MeasuredSet, item_curve, two_items
from genlaws.semanticity.theory.exact import probabilities

# The sum of exponentials is good to rounding; so are sums over a few hundred trials.
ENUMERATED = 1e-13
# Standard errors allowed to a mean over draws.
SIGMAS = 5.0
# Of 200 intervals that hold with probability 0.95, between 180 and 198 do so in all but two of a thousand experiments.
COVERED = (0.90, 0.99)


def set_of(g, d, ties="split", tolerance=0.0):
    return MeasuredSet(np.asarray(g, dtype=float), np.asarray(d, dtype=float), ties, tolerance)


def values(estimates):
    return [one.value for one in estimates]


def errors(estimates):
    """Return standard errors: half the intervals in units of Student's t."""
    return [(one.high - one.low) / 2 / special.stdtrit(one.count - 1, 0.975) for one in estimates]


def curve(stimuli, items, **options):
    others = stimuli.others()
    return item_curve(stimuli, others, two_items(others, stimuli.ties), items, np.random.default_rng(0), **options)


# --- every trial ------------------------------------------------------------------------------------------------------


def luce(g):
    total = sum(g)
    return [value / total for value in g] if total > 0 else [1 / len(g)] * len(g)


def enumerated(g, d, n, ties):
    """Return both tests with n items, over every probe and every set of different items."""
    size = len(g)
    by_probe, named = [], []
    for p in range(size):
        others = [k for k in range(size) if k != p]
        seen = []
        for items in itertools.combinations(others, n):
            chosen = luce([g[p][k] for k in items])
            nearest = min(d[p][k] for k in items)
            right = [c for c, k in zip(chosen, items, strict=True) if d[p][k] == nearest]
            if len(right) == 1 or ties == "split":
                seen.append(sum(right) / len(right))
        if seen:
            by_probe.append(np.mean(seen))
        named += [luce([g[p][k] for k in (p, *rest)])[0] for rest in itertools.combinations(others, n - 1)]
    return (np.mean(by_probe) if by_probe else np.nan), np.mean(named)


def awkward_set(seed):
    """Return nine stimuli with ties of two and three, zeros, one that is not like its copy, and no symmetry."""
    rng = np.random.default_rng(seed)
    g = rng.random((9, 9)) * 10.0 ** rng.integers(-6, 2, (9, 9))
    g[rng.random((9, 9)) < 0.25] = 0
    g[4, 4] = 0
    g[7] = 0
    d = rng.integers(1, 6, (9, 9)).astype(float)
    d = np.triu(d, 1)
    return g, d + d.T


@pytest.mark.parametrize("ties", ["split", "drop"])
@pytest.mark.parametrize("seed", range(4))
def test_every_trial_of_nine_stimuli(seed, ties):
    g, d = awkward_set(seed)
    measured = curve(set_of(g, d, ties), (2, 3, 5, 8))
    for place, n in enumerate((2, 3, 5, 8)):
        s, i = enumerated(g, d, n, ties)
        assert measured.generalization[place].value == pytest.approx(s, abs=ENUMERATED, nan_ok=True)
        assert measured.identification[place].value == pytest.approx(i, abs=ENUMERATED)


def test_ties_are_counted():
    g, d = awkward_set(0)
    tied = [d[p][i] == d[p][j] for p in range(9) for i, j in itertools.permutations([k for k in range(9) if k != p], 2)]
    others = set_of(g, d).others()
    assert 0.1 < np.mean(tied) < 0.5
    assert two_items(others, "split").tied_fraction == pytest.approx(np.mean(tied), abs=ENUMERATED)


@pytest.mark.parametrize("ties", ["split", "drop"])
def test_the_jackknife_leaves_out_each_stimulus(ties):
    g, d = awkward_set(2)
    found = two_items(set_of(g, d, ties).others(), ties)
    without = np.array([enumerated(*(np.delete(np.delete(m, k, 0), k, 1) for m in (g, d)), 2, ties) for k in range(9)])
    errors = np.sqrt(8 / 9 * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    assert found.generalization_error == pytest.approx(errors[0], abs=ENUMERATED)
    assert found.identification_error == pytest.approx(errors[1], abs=ENUMERATED)


@pytest.mark.parametrize("ties", ["split", "drop"])
def test_without_errors_the_values_are_the_same(ties):
    others = set_of(*awkward_set(3), ties).others()
    full, quick = two_items(others, ties), two_items(others, ties, errors=False)
    for name in ("generalization", "identification", "tied_fraction"):
        assert getattr(full, name) == pytest.approx(getattr(quick, name), abs=ENUMERATED)
    assert np.isnan([quick.generalization_error, quick.identification_error]).all()


def test_three_stimuli_have_no_jackknife_of_generalization():
    g, d = awkward_set(1)
    found = two_items(set_of(g[:3, :3], d[:3, :3]).others(), "split")
    assert np.isnan(found.generalization_error)
    assert np.isfinite(found.identification_error)


def test_only_tied_items_leave_nothing_to_judge():
    g, _ = awkward_set(0)
    everywhere = 1.0 - np.eye(9)
    split, drop = (curve(set_of(g, everywhere, ties), (2, 3)) for ties in ("split", "drop"))
    assert values(split.generalization) == pytest.approx([1 / 2, 1 / 3], abs=ENUMERATED)
    assert np.isnan(values(drop.generalization)).all()
    assert np.isnan(errors(drop.generalization)).all()
    np.testing.assert_array_equal(values(split.identification), values(drop.identification))


# --- many items -------------------------------------------------------------------------------------------------------


def on_line(rng, n, ring=False):
    x = rng.random(n)
    apart = np.abs(np.subtract.outer(x, x))
    return np.minimum(apart, 1 - apart) if ring else apart


def test_the_collapse_constant_is_the_limit():
    planted = similarity("exponential", 0.1, background=0.05)
    d = on_line(np.random.default_rng(0), 200, ring=True)
    found = curve(set_of(planted(d), d), (2, 20, 40, 60), errors=False)
    assert found.collapse_constant == pytest.approx(probabilities(circle(), planted).collapse_constant, rel=0.05)
    # n p_I tends to the constant as 1/n; at 60 of 200 items the line through the last points is near it.
    assert found.fitted_constant == pytest.approx(found.collapse_constant, rel=0.02)
    assert abs(60 * found.identification[-1].value - found.collapse_constant) > 0.03 * found.collapse_constant


def test_one_count_of_items_has_no_fitted_constant():
    g, d = awkward_set(0)
    assert np.isnan(curve(set_of(g, d), (3,)).fitted_constant)


def test_a_costly_curve_uses_a_part_of_the_probes(monkeypatch):
    planted = similarity("exponential", 0.1, background=0.05)
    # In the order of their places the first probes would be no fair part.
    x = np.sort(np.random.default_rng(1).random(150))
    d = np.abs(np.subtract.outer(x, x))
    whole = curve(set_of(planted(d), d), (2, 3, 10), errors=False)
    assert whole.probe_count == 150
    monkeypatch.setattr(module, "OPERATION_BUDGET", 2e6)
    part = curve(set_of(planted(d), d), (2, 3, 10))
    assert 8 <= part.probe_count < 150
    # Two items never need a part; more are near the whole, within the spread over probes.
    assert part.generalization[0].value == whole.generalization[0].value
    assert all(map(operator.ne, values(part.generalization)[1:], values(whole.generalization)[1:]))
    np.testing.assert_allclose(values(part.identification), values(whole.identification), atol=0.02)
    # Subsamples would cost too much as well.
    assert np.isnan(errors(part.generalization)[1:]).all()
    assert np.isfinite(errors(part.generalization)[0])


def test_faint_similarities_do_not_stop_the_count_of_costs():
    g = np.full((12, 12), 5e-324)
    np.fill_diagonal(g, 1e300)
    d = on_line(np.random.default_rng(0), 12)
    found = curve(set_of(g, d), (2, 3))
    np.testing.assert_allclose(values(found.identification), 1, atol=ENUMERATED)


# --- errors against repeated draws ------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["segment", "circle"])
def draws(request):
    """Return the theory and 200 sets of 60 random points, each with its two items."""
    planted = similarity("exponential", 0.1, background=0.05)
    theory = probabilities(segment() if request.param == "segment" else circle(), planted)
    rng = np.random.default_rng(0)
    sets = []
    for _ in range(200):
        d = on_line(rng, 60, ring=request.param == "circle")
        sets.append(two_items(set_of(planted(d), d).others(), "split"))
    return request.param, theory, sets


@pytest.mark.parametrize("test", ["generalization", "identification"])
def test_random_sets_are_unbiased_and_intervals_cover(draws, test):
    space, theory, sets = draws
    expected = getattr(theory, test)
    found = np.array([getattr(one, test) for one in sets])
    assert abs(found.mean() - expected) < SIGMAS * found.std() / np.sqrt(len(found))
    intervals = [from_standard_error(getattr(one, test), getattr(one, f"{test}_error"), 60) for one in sets]
    covered = np.mean([interval.low <= expected <= interval.high for interval in intervals])
    assert covered >= COVERED[0]
    # All points of a circle are alike, so only pairs make sets differ, and the jackknife is too careful there.
    assert covered <= (COVERED[1] if space == "segment" else 1)


def test_errors_of_many_items_are_those_of_repeated_draws():
    planted = similarity("exponential", 0.1, background=0.05)
    rng = np.random.default_rng(3)
    curves = []
    for draw in range(40):
        d = on_line(rng, 200)
        stimuli = set_of(planted(d), d)
        others = stimuli.others()
        pair = two_items(others, "split")
        curves.append(item_curve(stimuli, others, pair, (2, 3, 5), rng, errors=draw < 8))
    for name in ("generalization", "identification"):
        spread = np.std([values(getattr(one, name)) for one in curves], axis=0, ddof=1)
        predicted = np.mean([errors(getattr(one, name)) for one in curves[:8]], axis=0)
        # Forty draws give the spread to 11 %, and eight times forty subsamples the error to 4 %.
        np.testing.assert_allclose(predicted, spread, rtol=0.3)
