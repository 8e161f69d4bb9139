"""The 1/n law: its constant comes back, its intervals cover it, and other laws are distinguished from it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from genlaws.core.errors import InputError
from genlaws.probes import Reply, collapse_of, domain_of, draw_trials, fit_collapse, recorded
from genlaws.probes.collapse import choices_worth
from genlaws.semanticity import identification_of_many

COUNTS = np.array([8, 16, 32, 64, 98])
TRIALS = np.full(5, 200)
DEVIANCE = stats.chi2.ppf(0.95, 1)
UNLIKELY = 2.5e-4


def answers(p: np.ndarray, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).binomial(200, p)


def log_likelihood(k: np.ndarray, p: np.ndarray) -> float:
    return float(stats.binom.logpmf(k, 200, p).sum())


def test_the_constant_is_the_likeliest_and_its_interval_has_the_right_deviance():
    k = answers(3.0 / COUNTS, 1)
    found = fit_collapse(COUNTS, k, TRIALS, from_items=8)
    best = optimize.minimize_scalar(
        lambda c: -log_likelihood(k, c / COUNTS), bounds=(0.1, 7.9), options={"xatol": 1e-9}
    )
    assert found.constant.value == pytest.approx(best.x, rel=1e-6)
    for end in (found.constant.low, found.constant.high):
        assert 2 * (-best.fun - log_likelihood(k, end / COUNTS)) == pytest.approx(DEVIANCE, abs=1e-5)


def test_the_power_law_is_the_likeliest_and_its_interval_has_the_right_deviance():
    k = answers(2.0 * COUNTS**-0.7, 2)
    found = fit_collapse(COUNTS, k, TRIALS, from_items=8)

    def loss(point: np.ndarray) -> float:
        """Minus the log-likelihood at the logarithm of a and the exponent."""
        p = np.exp(point[0]) * COUNTS ** -point[1]
        return -log_likelihood(k, p) if p.max() < 1 else np.inf

    best = optimize.minimize(loss, [0.5, 0.6], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11})
    law = found.laws["power"]
    assert [math.log(law.parameters["a"].value), found.exponent.value] == pytest.approx(best.x, abs=1e-5)
    for end in (found.exponent.low, found.exponent.high):
        held = optimize.minimize_scalar(
            lambda a, end=end: loss(np.array([a, end])),
            bounds=(-3, math.log(8.0) * end - 1e-9),
            options={"xatol": 1e-10},
        )
        assert 2 * (held.fun - best.fun) == pytest.approx(DEVIANCE, abs=1e-4)
    assert law.predict(COUNTS) == pytest.approx(law.probabilities)


def covered(planted: float, fits: int) -> np.ndarray:
    """How many intervals of the constant and of the exponent hold the planted values."""
    hits = np.zeros(2, dtype=int)
    for seed in range(fits):
        found = fit_collapse(COUNTS, answers(planted / COUNTS, 100 + seed), TRIALS, from_items=8)
        hits += [one.low <= true <= one.high for one, true in ((found.constant, planted), (found.exponent, 1.0))]
    return hits


@pytest.mark.parametrize("planted", [1.0, 2.5, 6.0])
def test_intervals_cover(planted):
    hits = covered(planted, 60)
    low, high = stats.binom.ppf([UNLIKELY, 1 - UNLIKELY], 60, 0.95)
    assert (low <= hits).all(), hits
    assert (hits <= high).all(), hits


@pytest.mark.long
@pytest.mark.parametrize("planted", [1.0, 2.5, 6.0])
def test_intervals_cover_long(planted):
    share = covered(planted, 1000) / 1000
    assert (share >= 0.93).all(), share
    assert (share <= 0.97).all(), share


@pytest.mark.parametrize("planted", [2.0, 5.0])
def test_intervals_of_the_law_of_n_items_cover_its_constant(planted):
    fits, hits = 60, 0
    n = np.array([2, 4, 8, 16, 32])
    p = identification_of_many(1.0 / planted, n)
    for seed in range(fits):
        limit = fit_collapse(n, answers(p, 900 + seed), TRIALS, from_items=2).limit
        hits += limit.low <= planted <= limit.high
    low, high = stats.binom.ppf([UNLIKELY, 1 - UNLIKELY], fits, 0.95)
    assert low <= hits <= high


@pytest.mark.parametrize(
    ("law", "p"),
    [
        ("c/n", 3.0 / COUNTS),
        ("constant", np.full(5, 0.3)),
        ("power", 1.5 * COUNTS**-0.5),
        ("n items", identification_of_many(0.05, COUNTS)),
    ],
)
def test_the_planted_law_wins_and_only_it_fits(law, p):
    n, total = COUNTS, np.full(5, 20000)
    found = fit_collapse(n, np.round(p * total), total, from_items=8)
    assert found.best == law
    for name, other in found.laws.items():
        contains = name == law or (name == "power" and law in ("c/n", "constant"))
        assert (other.p_value > 0.5) == contains, name
    tests = {test.restricted: test for test in found.tests}
    assert tests["c/n"].degrees == tests["constant"].degrees == 1
    assert (tests["c/n"].p_value > 0.05) == (law == "c/n")
    assert (tests["constant"].p_value > 0.05) == (law == "constant")
    assert (found.exponent.low <= 1.0 <= found.exponent.high) == (law == "c/n")
    assert ("does not contain 1" in found.message) == (law != "c/n")


def test_where_the_law_begins():
    n = np.array([2, 4, 8, 16, 32, 64])
    total = np.full(6, 2000)
    found = fit_collapse(n, np.round(2000 * identification_of_many(0.25, n)), total)
    assert found.from_items == 16  # at least three times c = 4, and from 8 the law is 10 % off
    assert found.constant.value == pytest.approx(4.0, rel=0.02)
    early = fit_collapse(n, np.round(2000 * identification_of_many(0.02, n)), total)
    assert early.from_items == 16  # three numbers are left
    assert "too few for the limit" in early.message
    assert early.limit.low < 50.0 < early.limit.high
    assert early.constant.high < 50.0


def test_guessing_is_a_constant_of_one():
    found = fit_collapse(COUNTS, answers(1.0 / COUNTS, 4), TRIALS)
    assert "c = 1 is guessing, and lies in the interval" in found.message
    assert "guessing" not in fit_collapse(COUNTS, answers(4.0 / COUNTS, 4), TRIALS).message


@pytest.mark.parametrize(("right", "best"), [(0, "c/n"), (200, "constant")])
def test_all_wrong_and_all_right(right, best):
    found = fit_collapse(COUNTS, np.full(5, right), TRIALS)
    assert found.best == best
    for law in found.laws.values():
        assert law.probabilities.min() >= 0
        assert law.probabilities.max() <= 1
        assert np.isfinite(law.aic)
    if right == 0:
        assert found.constant.value == found.constant.low == 0
        assert 0 < found.constant.high < 1
        assert math.isnan(found.exponent.value)
        assert "worse than guessing" in found.message


@pytest.mark.parametrize("p", [0.9, 0.5, 0.01])
def test_no_law_exceeds_one(p):
    for n in ([2, 50, 100], [10, 11, 12], [2, 3, 4]):
        found = fit_collapse(n, [200, round(200 * p), round(200 * p)], [200] * 3, from_items=2)
        assert all(law.probabilities.max() <= 1 for law in found.laws.values())
        assert all(law.predict([1, 2, 1000]).max() <= 1 for law in found.laws.values())


def test_one_number_of_items_shows_no_law():
    found = fit_collapse([4], [3], [10])
    assert found.constant.value == pytest.approx(1.2)
    assert math.isnan(found.exponent.value)
    assert "three numbers of items are needed" in found.message
    assert found.tests == ()


def test_a_prediction_is_a_law_without_parameters():
    k = answers(3.0 / COUNTS, 6)
    found = fit_collapse(COUNTS, k, TRIALS, predicted=3.0 / COUNTS, from_items=8)
    law = found.laws["similarity"]
    assert law.degrees == 5
    assert law.aic == pytest.approx(-2 * law.log_likelihood)
    assert law.deviance >= found.laws["c/n"].deviance
    assert "similarity" in found.to_frame()["law"].tolist()
    assert "similarity" not in fit_collapse(COUNTS, k, TRIALS, predicted=np.full(5, np.nan)).laws


def test_order_does_not_matter():
    k = answers(3.0 / COUNTS, 7)
    turned = fit_collapse(COUNTS[::-1], k[::-1], TRIALS, predicted=(3.0 / COUNTS)[::-1])
    assert turned.constant == fit_collapse(COUNTS, k, TRIALS, predicted=3.0 / COUNTS).constant
    assert turned.laws["similarity"].deviance == pytest.approx(
        fit_collapse(COUNTS, k, TRIALS, predicted=3.0 / COUNTS).laws["similarity"].deviance
    )


def test_nothing_answered():
    trials = draw_trials(domain_of("years"), "identification", 4, 5)
    lost = collapse_of(recorded(trials, [Reply(error="refused")] * 5, "text"))
    assert str(lost) == "No identification trial got a reply."
    assert math.isnan(lost.constant.value)
    assert lost.best == ""
    assert lost.to_frame().empty
    mute = collapse_of(recorded(trials, [Reply(text="?")] * 5, "text"))
    assert mute.constant.value == 0.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([2, 4], [1], [5, 5]), "lists of the same length"),
        (([], [], []), "lists of the same length"),
        (([2, 2], [1, 1], [5, 5]), "different numbers"),
        (([1, 2], [1, 1], [5, 5]), "whole numbers, at least 2"),
        (([2, 4], [6, 1], [5, 5]), "successes must be at most trial_counts; got 6 of 5"),
        (([2, 4], [-1, 1], [5, 5]), "successes must be zero or positive"),
        (([2, 4], [0, 0], [0, 5]), "trial_counts must be positive"),
    ],
)
def test_bad_counts(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        fit_collapse(*arguments)


def test_bad_predictions_and_starts():
    with pytest.raises(InputError, match="one probability for each of the 5"):
        fit_collapse(COUNTS, TRIALS, TRIALS, predicted=[0.5])
    with pytest.raises(InputError, match=r"predicted must lie in \[0, 1\]"):
        fit_collapse(COUNTS, TRIALS, TRIALS, predicted=[0.5, 0.5, 0.5, 0.5, 1.5])
    with pytest.raises(InputError, match="from_items must be at most"):
        fit_collapse(COUNTS, TRIALS, TRIALS, from_items=99)


def graded_trials(exponent: float, seed: int, trials: int = 200) -> list[np.ndarray]:
    """Return probabilities that scatter about a power of the number of items, one array for each number."""
    rng = np.random.default_rng(seed)
    means = 3.0 * 8.0 ** (exponent - 1.0) * COUNTS**-exponent
    return [rng.beta(4.0 * (1 - mean), 4.0 * (1 - mean) * (1 - mean) / mean, trials) for mean in means]


def fitted(groups: list[np.ndarray]):
    worth = [choices_worth(group) for group in groups]
    sums = [group.mean() * many for group, many in zip(groups, worth, strict=True)]
    return fit_collapse(COUNTS, sums, worth, from_items=8)


def test_probabilities_are_worth_the_choices_whose_share_varies_as_their_mean():
    share = np.random.default_rng(1).random(4000) < 0.3
    assert choices_worth(share.astype(float)) == pytest.approx(4000, rel=1e-12)
    graded = np.random.default_rng(2).beta(6.0, 14.0, 4000)
    assert choices_worth(graded) / 4000 == pytest.approx(21.0, rel=0.05)  # a + b + 1 of the beta distribution
    assert choices_worth(np.full(50, 0.3)) == 100.0 * 50
    assert choices_worth(np.zeros(50)) == 100.0 * 50
    assert choices_worth(np.array([0.1, 0.9])) == 2.0  # too few to know the spread


def test_graded_answers_have_intervals_that_hold_what_they_promise():
    fits = 200
    found = [fitted(graded_trials(1.0, seed)) for seed in range(fits)]
    low, high = stats.binom.ppf([UNLIKELY, 1 - UNLIKELY], fits, 0.95)
    assert low <= sum(one.constant.low <= 3.0 <= one.constant.high for one in found) <= high
    assert low <= sum(one.exponent.low <= 1.0 <= one.exponent.high for one in found) <= high


def test_graded_answers_show_a_faster_fall_that_counted_ones_may_hide():
    groups = graded_trials(1.2, 5)
    seen = fitted(groups)
    assert seen.exponent.low > 1.0
    assert "does not contain 1" in seen.message
    counted = fit_collapse(COUNTS, [group.sum() for group in groups], [group.size for group in groups], from_items=8)
    assert counted.exponent.high - counted.exponent.low > 1.8 * (seen.exponent.high - seen.exponent.low)
