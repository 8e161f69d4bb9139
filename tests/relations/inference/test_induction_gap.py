"""The induction gap: areas and crossings that can be worked out by hand, intervals that tell what is known."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize

from genlaws.core.errors import InputError
from genlaws.relations.inference.bound_curve import crossing, induction_gap

SHARES = np.array([0.1, 0.2, 0.4, 0.8])
# Sums of a few numbers near one, in another order.
ROUNDING = 1e-12
# Of 200 intervals at 95 %, 20 rows each: the share that holds the truth, less four standard errors of it and less
# 3 points that a percentile bootstrap of 20 values lacks.
LEAST_COVERAGE = 0.95 - 4 * math.sqrt(0.95 * 0.05 / 200) - 0.03


def repeated(curve, rows=3):
    return np.tile(np.asarray(curve, dtype=float), (rows, 1))


def brute_force(shares, curve, target):
    """Return the first place on a fine grid at which the nearest increasing curve is at the target."""
    rising = optimize.isotonic_regression(curve).x
    fine = np.linspace(shares[0], shares[-1], 200_001)
    above = np.interp(fine, shares, rising) >= target
    return fine[np.argmax(above)] if above.any() else math.inf


def test_area_and_shift_of_straight_lines():
    # The bound is 0.5 + p/2 and the network 0.1 less: area 0.1 · 0.7, and a fifth of the table later everywhere.
    bound = 0.5 + SHARES / 2
    gap = induction_gap(SHARES, accuracies=repeated(bound - 0.1), bound=repeated(bound, 5), target_accuracy=0.65)
    assert gap.area.value == pytest.approx(0.1 * 0.7, abs=ROUNDING)
    assert gap.bound_fraction.value == pytest.approx(0.3, abs=ROUNDING)
    assert gap.network_fraction.value == pytest.approx(0.5, abs=ROUNDING)
    assert gap.shift.value == pytest.approx(0.2, abs=ROUNDING)
    assert gap.ratio.value == pytest.approx(5 / 3, abs=ROUNDING)
    assert (gap.target_accuracy, gap.network_count, gap.area.count, gap.bound_fraction.count) == (0.65, 3, 3, 5)
    # Networks that are all alike leave nothing open.
    for part in (gap.area, gap.shift, gap.ratio):
        assert part.low == pytest.approx(part.value, abs=ROUNDING)
        assert part.high == pytest.approx(part.value, abs=ROUNDING)


def test_the_bound_itself_has_no_gap():
    bound = repeated([0.6, 0.8, 0.95, 1.0])
    gap = induction_gap(SHARES, accuracies=bound, bound=bound)
    assert (gap.area.value, gap.shift.value, gap.ratio.value) == (0.0, 0.0, 1.0)


def test_a_target_out_of_reach_is_infinitely_far():
    gap = induction_gap(
        SHARES, accuracies=repeated([0.5, 0.6, 0.7, 0.8]), bound=repeated([0.6, 0.8, 0.95, 1.0]), target_accuracy=0.9
    )
    for part in (gap.network_fraction, gap.shift, gap.ratio):
        assert (part.value, part.low, part.high) == (math.inf, math.inf, math.inf)
    assert math.isfinite(gap.area.value)


def test_no_shift_where_the_bound_does_not_reach_the_target_either():
    low = repeated([0.5, 0.55, 0.6, 0.65])
    gap = induction_gap(SHARES, accuracies=low - 0.1, bound=low, target_accuracy=0.9)
    assert gap.bound_fraction.value == math.inf
    for part in (gap.shift, gap.ratio):
        assert all(math.isnan(one) for one in (part.value, part.low, part.high))


def test_an_interval_is_open_where_some_networks_do_not_get_there():
    # Half the networks end at 1, half at 0.82: their mean ends at 0.91, those of other draws below 0.9.
    runs = np.concatenate([repeated([0.5, 0.6, 0.7, 1.0], 4), repeated([0.5, 0.6, 0.7, 0.82], 4)])
    gap = induction_gap(SHARES, accuracies=runs, bound=repeated([0.6, 0.8, 0.95, 1.0]), target_accuracy=0.9)
    assert 0.4 < gap.network_fraction.value < 0.8
    assert gap.network_fraction.low <= gap.network_fraction.value
    assert gap.network_fraction.high == math.inf
    assert gap.shift.high == math.inf


@pytest.mark.parametrize(
    ("curve", "target", "place"),
    [
        ([0.5, 0.7, 0.9, 1.0], 0.8, 0.3),
        ([0.5, 0.7, 0.9, 1.0], 0.7, 0.2),
        ([0.5, 0.7, 0.9, 1.0], 1.0, 0.8),
        ([0.5, 0.7, 0.9, 1.0], 0.4, 0.1),
        ([0.9, 0.9, 0.9, 0.9], 0.9, 0.1),
        ([0.5, 0.6, 0.7, 0.8], 0.81, math.inf),
        # 0.8 and 0.6 become 0.7 twice: the first crossing of 0.75 is noise, the curve gets there later.
        ([0.5, 0.8, 0.6, 0.8], 0.75, 0.6),
        # A peak in the beginning is leveled down: 0.8, 0.5, 0.5 become 0.6 three times.
        ([0.8, 0.5, 0.5, 1.0], 0.8, 0.6),
    ],
)
def test_crossings_worked_out_by_hand(curve, target, place):
    assert crossing(SHARES, curve, target) == pytest.approx(place, abs=ROUNDING)


def test_crossings_and_areas_agree_with_brute_force():
    rng = np.random.default_rng(3)
    shares = np.sort(rng.uniform(0.01, 0.9, 9))
    for _ in range(20):
        runs = np.clip(np.sort(rng.random((6, 9)), axis=1) + 0.2 * rng.normal(size=(6, 9)), 0.0, 1.0)
        best = np.sort(rng.random((4, 9)), axis=1)
        gap = induction_gap(shares, accuracies=runs, bound=best, target_accuracy=0.6, replicates=1)
        for found, curve in ((gap.network_fraction, runs.mean(axis=0)), (gap.bound_fraction, best.mean(axis=0))):
            assert found.value == pytest.approx(brute_force(shares, curve, 0.6), abs=1e-5)
        fine = np.union1d(np.linspace(shares[0], shares[-1], 1001), shares)
        lag = np.interp(fine, shares, best.mean(axis=0) - runs.mean(axis=0))
        area = ((lag[1:] + lag[:-1]) / 2 * np.diff(fine)).sum()
        assert gap.area.value == pytest.approx(area, abs=ROUNDING)


def test_more_networks_make_a_narrower_interval():
    def width(rows):
        noise = np.random.default_rng(0).uniform(-0.08, 0.08, (rows, 4))
        gap = induction_gap(
            SHARES, accuracies=np.array([0.5, 0.6, 0.8, 0.9]) + noise, bound=repeated([0.6, 0.8, 0.95, 1.0])
        )
        return np.array([gap.area.high - gap.area.low, gap.bound_fraction.high - gap.bound_fraction.low])

    few, many = width(10), width(160)
    # As the square root of the number, up to what a bootstrap of ten leaves to chance.
    assert 2.5 < few[0] / many[0] < 6.0
    assert few[1] == many[1] == pytest.approx(0.0, abs=ROUNDING)


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    network, bound = np.array([0.6, 0.7, 0.92, 0.98]), np.array([0.7, 0.93, 0.97, 1.0])
    area = float(integrate.trapezoid(bound - network, SHARES))
    shift = crossing(SHARES, network, 0.9) - crossing(SHARES, bound, 0.9)
    rng, held = np.random.default_rng(1), np.zeros(2)
    for seed in range(200):
        runs = network + rng.uniform(-0.02, 0.02, (20, 4))
        best = np.clip(bound + rng.uniform(-0.02, 0.02, (20, 4)) * [1, 1, 1, 0], 0.0, 1.0)
        gap = induction_gap(SHARES, accuracies=runs, bound=best, replicates=200, seed=seed)
        held += [gap.area.low <= area <= gap.area.high, gap.shift.low <= shift <= gap.shift.high]
    assert (held / 200 > LEAST_COVERAGE).all()


def test_a_seed_fixes_the_interval():
    noise = np.random.default_rng(0).uniform(-0.08, 0.08, (8, 4))
    accuracies, bound = np.array([0.5, 0.6, 0.8, 0.9]) + noise, repeated([0.6, 0.8, 0.95, 1.0])
    first, again, other = (induction_gap(SHARES, accuracies=accuracies, bound=bound, seed=seed) for seed in (4, 4, 5))
    assert first.to_dict() == again.to_dict()
    assert first.area != other.area


GOOD = {"train_fractions": SHARES, "accuracies": repeated([0.5] * 4), "bound": repeated([0.9] * 4)}


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"train_fractions": [0.2, 0.1, 0.4, 0.8]}, "train_fractions must be at least two increasing numbers; got"),
        ({"train_fractions": [0.2]}, "train_fractions must be at least two increasing numbers"),
        ({"train_fractions": [0.1, 0.2, 0.4, 1.8]}, r"train_fractions must lie in \[0, 1\]; got 1.8"),
        ({"accuracies": repeated([0.5] * 3)}, "accuracies must have a row for each run and a column for each of 4"),
        ({"accuracies": [0.5] * 4}, "accuracies must have a row for each run"),
        ({"accuracies": np.empty((0, 4))}, "accuracies must have a row for each run"),
        ({"accuracies": repeated([0.5, 0.5, 0.5, math.nan])}, "accuracies must not contain NaN"),
        ({"bound": repeated([0.5, 0.5, 0.5, 1.2])}, r"bound must lie in \[0, 1\]; got 1.2"),
        ({"target_accuracy": 90}, r"target_accuracy must lie in \(0, 1\]; got 90"),
        ({"target_accuracy": [0.9, 0.95]}, "target_accuracy must be a single number"),
        ({"replicates": 0}, "replicates must be a whole number, at least 1"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_what_cannot_be_compared_is_refused(changed, complaint):
    with pytest.raises(InputError, match=complaint):
        induction_gap(**GOOD | changed)


def test_a_crossing_needs_a_point_for_each_share():
    with pytest.raises(InputError, match="accuracy must have a row for each run and a column for each of 4"):
        crossing(SHARES, [0.5, 0.6], 0.9)
    with pytest.raises(InputError, match=r"target must lie in \[0, 1\]"):
        crossing(SHARES, [0.5, 0.6, 0.7, 0.8], 75)
