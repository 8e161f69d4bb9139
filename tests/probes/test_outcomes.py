"""From replies to rates: what is right, unparsed or failed is counted once, and only there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from genlaws.core.errors import InputError
from genlaws.core.estimate import wilson_interval
from genlaws.probes import ProbeTrial, Reply, domain_of, draw_trials, rates_of, recorded
from genlaws.semanticity import fit_choices

NAMES = ("C++", "Zoë", "北京", "a.b*")


def trial(kind: str = "similarity", right: int = 1, count: int = 4) -> ProbeTrial:
    places = tuple(float(10 * i) for i in range(count))
    return ProbeTrial(kind, NAMES[:count], places, places[right] + 1.0, right)


def words(*texts: str) -> list[Reply]:
    return [Reply(text=text) for text in texts]


def test_words_are_read_and_counted():
    texts = ["Zoë.", "zoe\u0308", "C++", "C++ or Zoë", "no idea", ""]
    replies = [*words(*texts), Reply(error="timed out"), Reply(error="timed out")]
    given = recorded([trial()] * 8, replies, "text")
    assert given.chosen.tolist() == [1, 1, 0, -1, -1, -1, -1, -1]
    assert given.unparsed.tolist() == [False] * 3 + [True] * 3 + [False] * 2
    assert given.failed.tolist() == [False] * 6 + [True] * 2
    assert given.correct.sum() == 2
    assert np.isnan(given.probability).all()
    found = rates_of(given)
    (rates,) = found.rates
    assert (rates.sent, rates.failed, rates.chance) == (8, 2, 0.25)
    assert rates.accuracy == wilson_interval(2, 6)  # unparsed replies are errors
    assert rates.accuracy_if_parsed == wilson_interval(2, 3)
    assert rates.unparsed == found.unparsed == wilson_interval(3, 6)  # and a rate of their own
    assert rates.first == wilson_interval(1, 3)
    assert rates.last == wilson_interval(0, 3)
    assert math.isnan(rates.probability.value)
    assert rates.best == rates.accuracy
    assert found.errors == {"timed out": 2}
    assert "2 of 8" in str(found)


@given(hnp.arrays(np.float64, 4, elements=st.floats(-60, 0)), st.floats(-500, 500))
def test_probabilities_are_those_of_the_options_alone(logs, moved):
    one, other = (recorded([trial()], [Reply(log_probabilities=logs + by)], "probability") for by in (0.0, moved))
    exact = math.exp(logs[1]) / math.fsum(np.exp(logs))
    assert one.probability[0] == pytest.approx(exact, rel=1e-12)
    assert other.probability[0] == pytest.approx(exact, rel=1e-9)  # what all options share says nothing
    assert one.chosen[0] == logs.argmax()
    assert one.scores[0].sum() == pytest.approx(1.0)


def test_scores_that_cannot_be_read_are_errors():
    rows = [[0.0, math.log(3.0), -np.inf, -np.inf], [-np.inf] * 4, [0.0, math.nan, 0.0, 0.0], [np.inf, 0, 0, 0]]
    replies = [*(Reply(log_probabilities=np.array(row)) for row in rows), Reply(error="no memory")]
    given = recorded([trial()] * 5, replies, "probability")
    assert given.probability[:4] == pytest.approx([0.75, 0.0, 0.0, 0.0])
    assert math.isnan(given.probability[4])
    assert given.unparsed.tolist() == [False, True, True, True, False]
    (rates,) = rates_of(given).rates
    assert rates.probability.value == pytest.approx(0.75 / 4)
    assert rates.best == rates.probability
    assert rates.accuracy == wilson_interval(1, 4)


def test_every_kind_and_number_of_items_has_its_rates():
    trials = [trial(kind, 1, count) for kind in ("similarity", "identification") for count in (2, 4) for _ in range(3)]
    found = rates_of(recorded(trials, words(*["Zoë"] * 12), "text"))
    assert [(one.kind, one.item_count, one.sent) for one in found.rates] == [
        *(("identification", 2, 3), ("identification", 4, 3)),
        *(("similarity", 2, 3), ("similarity", 4, 3)),
    ]
    assert [one.item_count for one in found.of("similarity")] == [2, 4]
    table = found.to_frame()
    assert table["accuracy"].tolist() == [1.0] * 4
    assert table["chance"].tolist() == [0.5, 0.25, 0.5, 0.25]
    assert {"unparsed_low", "probability_high", "accuracy_if_parsed"} <= set(table)


@pytest.mark.parametrize("mode", ["text", "probability"])
def test_nothing_but_failures(mode):
    given = recorded([trial()] * 3, [Reply(error="refused")] * 3, mode)
    found = rates_of(given)
    assert found.failed == found.rates[0].failed == 3
    for rate in (found.unparsed, found.rates[0].accuracy, found.rates[0].probability):
        assert math.isnan(rate.value)
    assert "3 of 3" in str(found)
    with pytest.raises(InputError, match="No trial of similarity or resolution got a reply"):
        given.to_trials()


def test_no_trials_at_all():
    found = rates_of(recorded([], [], "text"))
    assert found.rates == ()
    assert found.to_frame().empty


def test_trials_for_a_fit():
    trials = [trial(), trial("identification"), trial(right=2), trial("resolution", 0, 2), trial()]
    replies = [*words("Zoë", "Zoë", "mumble", "C++"), Reply(error="lost")]
    given = recorded(trials, replies, "text")
    selected = given.to_trials()
    assert selected.chosen.tolist() == [1, -1, 0]  # the identification and the failed trial are left out
    assert selected.unparsed_count == 1
    assert selected.distances[0].tolist() == [11.0, 1.0, 9.0, 19.0]
    assert selected.option_names == ()
    assert selected.places[0].tolist() == [1, 2, 3, 4]
    named = given.to_trials(("identification",), named=True)
    assert named.option_names == tuple(sorted(NAMES))
    assert named.trial_count == 1


def test_scores_are_handed_on_to_a_fit():
    domain = domain_of("years")
    trials = draw_trials(domain, "similarity", 3, 60, seed=1)
    rows = [-np.array(one.distances) / 50.0 for one in trials]
    selected = recorded(trials, [Reply(log_probabilities=row) for row in rows], "probability").to_trials()
    assert selected.scores.sum(axis=1) == pytest.approx(1.0)
    fit = fit_choices(selected, shape="exponential", background=0.0, lapse=0.0)
    assert fit.resolution.value == pytest.approx(50.0, rel=1e-6)


@pytest.mark.parametrize(
    ("replies", "mode", "sentence"),
    [
        (words("Zoë", "Zoë"), "text", "one for each trial; got 2 for 1"),
        (words("Zoë"), "probability", "trial 1 must hold one log-probability for each of its 4 options"),
        ([Reply(log_probabilities=np.zeros(3))], "probability", "each of its 4 options"),
        ([Reply(log_probabilities=np.zeros(4))], "text", "trial 1 holds no text"),
        (words("Zoë"), "sound", "mode must be one of probability, text"),
    ],
)
def test_replies_that_do_not_fit(replies, mode, sentence):
    with pytest.raises(InputError, match=sentence):
        recorded([trial()], replies, mode)
