"""Drawing trials: one nearest item, true distances, and no place in the list better than another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from genlaws.core.errors import InputError
from genlaws.probes import DOMAINS, Domain, domain_of, draw_resolution_trials, draw_trials

YEARS = domain_of("years")
UNLIKELY = 1e-4  # a correct draw falls below this p-value once in ten thousand


def small(count: int, people: int = 12) -> Domain:
    names = tuple(f"{chr(97 + i)}{chr(97 + i)}" for i in range(people))
    return Domain("small", "", np.arange(float(count)), lambda value: str(round(value)), names, {})


@settings(max_examples=150)
@given(st.sampled_from(sorted(DOMAINS)), st.integers(2, 12), st.integers(0, 2**32), st.booleans())
def test_a_trial_is_what_it_says(name, count, seed, similar):
    domain, kind = domain_of(name), "similarity" if similar else "identification"
    (trial,) = draw_trials(domain, kind, count, 1, seed=seed)
    away = np.array(trial.distances)
    assert len(set(trial.items)) == len(set(trial.places)) == count
    assert set(trial.items) <= set(domain.carriers)
    assert trial.probe in domain.places or trial.probe in domain.own_places.values()
    assert away == pytest.approx(np.abs(np.array(trial.places) - trial.probe))
    assert trial.right == away.argmin()
    assert np.sum(away < away.min() + 1e-6) == 1  # no tie
    assert (away.min() == 0) == (kind == "identification")
    if domain.own_places:
        assert all(domain.own_places[item] == place for item, place in zip(trial.items, trial.places, strict=True))
    else:
        assert set(trial.places) <= set(domain.places)
    assert len({domain.write(place) for place in (*trial.places, trial.probe)}) == count + (kind == "similarity")


@pytest.mark.parametrize("kind", ["similarity", "identification"])
@pytest.mark.parametrize("name", ["years", "latitudes"])
def test_no_place_in_the_list_is_right_more_often(kind, name):
    trials = draw_trials(domain_of(name), kind, 4, 4000, seed=1)
    counts = np.bincount([trial.right for trial in trials], minlength=4)
    assert stats.chisquare(counts).pvalue > UNLIKELY
    # The order in the list tells nothing about the order of the places: all 24 orders are as frequent.
    orders = [tuple(np.argsort(trial.places).tolist()) for trial in trials]
    frequency = [orders.count(order) for order in set(orders)]
    assert len(frequency) == 24
    assert stats.chisquare(frequency).pvalue > UNLIKELY


def test_places_and_probes_are_uniform():
    trials = draw_trials(small(9), "identification", 3, 6000, seed=2)
    places = np.bincount(np.array([trial.places for trial in trials]).astype(int).ravel(), minlength=9)
    # Nine places without replacement scatter less than a multinomial: the statistic shrinks by 6/9.
    assert stats.chi2.sf(((places - 2000) ** 2 / 2000).sum() / (6 / 9) * (8 / 9), 8) > UNLIKELY
    probes = np.bincount([round(trial.probe) for trial in trials], minlength=9)
    assert stats.chisquare(probes).pvalue > UNLIKELY


def test_trials_repeat_with_their_seed_and_only_with_it():
    one, same, other = (draw_trials(YEARS, "similarity", 5, 20, seed=seed) for seed in (3, 3, 4))
    assert one == same
    assert one != other


def test_a_hundred_items_and_no_more():
    (trial,) = draw_trials(YEARS, "similarity", 100, 1)
    assert len(set(trial.items)) == 100
    for count in (1, 101, 2.5):
        with pytest.raises(InputError, match="item_count must be a whole number"):
            draw_trials(YEARS, "similarity", count, 1)  # type: ignore[arg-type]


def test_a_domain_that_is_too_small_says_so():
    assert len(draw_trials(small(5), "identification", 5, 3)) == 3
    for kind, count, most in (("similarity", 5, 4), ("identification", 6, 5)):
        with pytest.raises(InputError, match=f"item_count must be at most {most} for {kind} in small; got {count}"):
            draw_trials(small(5), kind, count, 3)
    with pytest.raises(InputError, match="at most 3"):
        draw_trials(small(50, people=3), "similarity", 4, 3)
    crowded = Domain("crowded", "", np.array([0.0, 1.0, 2.0]), str, ("aa", "bb"), {"aa": 0.0, "bb": 2.0})
    with pytest.raises(InputError, match="too few places"):  # the one free place is a tie
        draw_trials(crowded, "similarity", 2, 3)


@pytest.mark.parametrize(("kind", "number"), [("resolution", 1), ("similarity", 0)])
def test_bad_arguments(kind, number):
    with pytest.raises(InputError):
        draw_trials(YEARS, kind, 3, number)


def test_the_two_anchors_are_where_they_should_be():
    trials = draw_resolution_trials(YEARS, [5, 100], [-150, -5, 0, 5], 300, seed=4)
    assert len(trials) == 2 * 3 * 300
    for trial in trials:
        low, high = sorted(trial.places)
        assert high - low in (10, 200)
        assert trial.probe - 0.5 * (low + high) in (-150, -5, 5)
        assert {low, high, trial.probe} <= set(YEARS.places)
        assert trial.right == np.argmin(trial.distances)
        assert (trial.places[trial.right] == high) == (trial.probe > 0.5 * (low + high))
    first = sum(trial.places[0] < trial.places[1] for trial in trials)
    assert stats.binomtest(first, len(trials)).pvalue > UNLIKELY


@pytest.mark.parametrize(
    ("half", "shift", "sentence"),
    [
        (0.0, 5.0, "half_separations must be positive"),
        (450.0, 5.0, "must lead from a place of years to others"),
        (2.5, 5.0, "must lead from a place of years to others"),  # between two years
        (2.0, 0.5, "must lead from a place of years to others"),
        (2.0, float("nan"), "shifts must not contain NaN"),
        (2.0, 0.0, "shifts must hold a number other than 0"),
    ],
)
def test_anchors_without_room(half, shift, sentence):
    with pytest.raises(InputError, match=sentence):
        draw_resolution_trials(YEARS, half, shift, 1)


def test_anchors_need_items_without_places_of_their_own():
    with pytest.raises(InputError, match="latitudes have places of their own"):
        draw_resolution_trials(domain_of("latitudes"), 5, 1, 1)
