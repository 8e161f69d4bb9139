"""Accuracy against distance: every reply is in one range, and a planted fall is seen where it is."""

import math
from itertools import pairwise

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.core.estimate import bootstrap_mean, wilson_interval
from genlaws.probes import (
    ProbeTrial,
    Reply,
    distance_curve,
    draw_vision_resolution_trials,
    draw_vision_trials,
    recorded,
)

SIGHT = 150.0  # pixels beyond which the answerer guesses


def short_sighted(trials, seed=0):
    """Answer rightly within a distance, with any option beyond it."""
    rng = np.random.default_rng(seed)
    return [
        Reply(trial.options[trial.right if trial.distances[trial.right] < SIGHT else rng.integers(len(trial.options))])
        for trial in trials
    ]


def test_a_model_that_sees_so_far_falls_to_chance_there():
    trials = [t for n in (2, 4) for t in draw_vision_trials("numbers", "similarity", n, 600, n)]
    found = distance_curve(recorded(trials, short_sighted(trials), "text"), bins=10)
    assert found.item_counts == (2, 4)
    assert found.failed == 0
    for count in (2, 4):
        points = found.of(count)
        assert len(points) == 10
        assert {point.accuracy.count for point in points} == {60}
        assert all(one.farthest < two.nearest for one, two in pairwise(points))
        for point in points:
            assert point.nearest <= point.distance <= point.farthest
            assert point.chance == 1 / count
            assert math.isnan(point.probability.value)
            if point.farthest < SIGHT:
                assert point.accuracy.value == 1
            elif point.nearest > SIGHT:
                # 60 guesses: 4.5 standard deviations, one in 150,000 by chance
                assert abs(point.accuracy.value - 1 / count) < 4.5 * math.sqrt((count - 1) / count**2 / 60)
        assert points[0].farthest < SIGHT < points[-1].nearest


def test_the_numbers_are_those_of_the_trials_in_each_range():
    rng = np.random.default_rng(1)
    trials = draw_vision_trials("colors", "similarity", 3, 41, 5)
    logs = rng.normal(size=(41, 3))
    replies = [Reply(log_probabilities=row) for row in logs]
    replies[7], replies[9] = Reply(error="lost"), Reply(log_probabilities=np.full(3, -np.inf))
    given = recorded(trials, replies, "probability")
    found = distance_curve(given, bins=4)
    assert found.failed == 1
    selected = [row for row in range(41) if row != 7]
    order = sorted(selected, key=lambda row: trials[row].distances[trials[row].right])
    for point, start in zip(found.points, range(0, 40, 10), strict=True):
        rows = order[start : start + 10]
        away = [trials[row].distances[trials[row].right] for row in rows]
        assert (point.nearest, point.farthest) == (away[0], away[-1])
        assert point.distance == pytest.approx(np.mean(away))
        hits = sum(row != 9 and int(np.argmax(logs[row])) == trials[row].right for row in rows)
        assert point.accuracy == wilson_interval(hits, 10)  # the unparsed is wrong
        assert point.probability == bootstrap_mean(given.probability[rows])
    table = found.to_frame()
    assert table["answered"].tolist() == [10] * 4
    assert table["accuracy"].tolist() == [point.accuracy.value for point in found.points]
    assert table["probability_high"].tolist() == [point.probability.high for point in found.points]
    assert table["chance"].tolist() == [1 / 3] * 4


def test_equal_distances_share_a_range_and_kinds_can_be_chosen():
    def at(distance, kind="similarity"):
        return ProbeTrial(kind, ("a", "b"), (0.0, 100.0), distance, 0)

    trials = [*(at(5.0) for _ in range(7)), at(1.0), at(9.0), at(20.0, "resolution"), at(0.0, "identification")]
    given = recorded(trials, [Reply("a")] * 11, "text")
    found = distance_curve(given, bins=5)
    assert [(p.nearest, p.farthest, p.accuracy.count) for p in found.points] == [(1, 1, 1), (5, 5, 7), (9, 20, 2)]
    assert [p.accuracy.count for p in distance_curve(given, kinds=("similarity",), bins=1).points] == [9]
    (point,) = distance_curve(given, kinds=("resolution",)).points
    assert (point.nearest, point.accuracy.count) == (20, 1)
    assert len(distance_curve(given, bins=100).points) == 4


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"bins": 0}, "bins must be a whole number, at least 1"),
        ({"kinds": ("identification",)}, "kinds must be one of similarity, resolution"),
        ({"kinds": "similarity"}, "kinds must be a sequence"),
        ({"kinds": ()}, "kinds must be a sequence"),
        ({"kinds": ("resolution",)}, "No trial of resolution got a reply"),
    ],
)
def test_bad_input_is_refused(options, sentence):
    trials = draw_vision_trials("shapes", "similarity", 4, 3, 1)
    with pytest.raises(InputError, match=sentence):
        distance_curve(recorded(trials, short_sighted(trials), "text"), **options)


def test_distances_of_two_units_are_not_put_on_one_axis():
    trials = [
        *draw_vision_trials("colors", "similarity", 4, 3, 1),
        *draw_vision_resolution_trials("shapes", 300, 20, 2),
    ]
    with pytest.raises(InputError, match="trials of one task, whose distances have one unit; got colors, shapes"):
        distance_curve(recorded(trials, short_sighted(trials), "text"))
    failed = recorded(trials, [Reply(error="lost")] * 5, "text")
    with pytest.raises(InputError, match="No trial of similarity or resolution got a reply"):
        distance_curve(failed)
