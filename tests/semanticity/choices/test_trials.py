"""Recorded choices from lists and from CSV tables: both forms agree, and a bad cell is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity.choices.trials import Trials, read_trials

WIDE = """distance_1,distance_2,distance_3,option_1,option_2,option_3,chosen
3,10,20,star,circle,square,star
5,1,,circle,star,,2
7,8,9,square,star,circle,unparsed
2,4,,star,square,,
"""
LONG = """trial,distance,option,chosen
a,3,star,1
a,10,circle,0
a,20,square,0
b,5,circle,0
b,1,star,1
c,7,square,
c,8,star,
c,9,circle,unparsed
d,2,star,0
d,4,square,0
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "trials.csv"
    file.write_text(text, encoding="utf-8")
    return file


def same(first: Trials, second: Trials) -> bool:
    arrays = ("distances", "present", "chosen", "options", "places", "scores")
    return first.option_names == second.option_names and all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in arrays
    )


@pytest.fixture
def expected() -> Trials:
    return Trials.from_lists(
        [[3, 10, 20], [5, 1], [7, 8, 9], [2, 4]],
        [0, 1, None, None],
        options=[["star", "circle", "square"], ["circle", "star"], ["square", "star", "circle"], ["star", "square"]],
    )


@pytest.mark.parametrize("text", [WIDE, LONG, "\ufeff" + WIDE, WIDE.replace("\n", "\r\n"), WIDE.replace(",", " , ")])
def test_wide_and_long_tables_say_the_same(tmp_path, text, expected):
    trials = read_trials(written(tmp_path, text))
    assert same(trials, expected)
    assert trials.unused_columns == ()
    assert trials.trial_count == 4
    assert trials.unparsed_count == 2
    assert trials.parsed.tolist() == [True, True, False, False]
    assert trials.option_names == ("circle", "square", "star")


def test_places_in_the_list_are_read(tmp_path):
    text = "trial,distance,chosen,place\n1,3,0,2\n1,4,1,1\n2,5,1,1\n2,6,0,3\n2,7,0,2\n"
    trials = read_trials(written(tmp_path, text))
    assert trials.places.tolist() == [[2, 1, 0], [1, 3, 2]]
    without = read_trials(written(tmp_path, text.replace("place", "shown")))
    assert without.places.tolist() == [[1, 2, 0], [1, 2, 3]]
    assert without.unused_columns == ("shown",)


def test_distances_come_from_probe_and_item(tmp_path):
    wide = written(tmp_path, "probe,item_1,item_2,chosen\n350,10,340,1\n5,355,20,2\n-10,370,100,1\n")
    assert read_trials(wide).distances.tolist() == [[340, 10], [350, 15], [380, 110]]
    turned = read_trials(wide, metric="circle", period=360)
    assert turned.distances.tolist() == [[20, 10], [10, 15], [20, 110]]
    long = written(tmp_path, "trial,probe,position,chosen\n1,350,10,1\n1,350,340,0\n")
    assert read_trials(long, metric="circle", period=360).distances.tolist() == [[20, 10]]
    both = written(tmp_path, "trial,distance,probe,item,chosen\n1,4,350,10,1\n1,5,350,340,0\n")
    trials = read_trials(both)
    assert trials.distances.tolist() == [[4, 5]]
    assert trials.unused_columns == ("probe", "item")


def test_scores_are_normalized_and_stand_in_for_a_choice(tmp_path):
    wide = written(tmp_path, "distance_1,distance_2,score_1,score_2,chosen\n1,2,.6,.2,\n1,2,,,2\n1,2,,,\n")
    trials = read_trials(wide)
    assert trials.scores == pytest.approx(np.array([[0.75, 0.25], [0, 0], [0, 0]]))
    assert trials.answers == pytest.approx(np.array([[0.75, 0.25], [0, 1], [0, 0]]))
    assert trials.unparsed_count == 1
    long = written(tmp_path, "trial,distance,score\n1,1,0.2\n1,2,0.2\n")
    assert read_trials(long).answers.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            WIDE.replace("5,1,,", "5,x,,"),
            "Line 3, column distance_2: must be a finite number, zero or positive; got 'x'",
        ),
        (WIDE.replace("5,1,,", "5,-1,,"), "Line 3, column distance_2: .* got '-1'"),
        (WIDE.replace("5,1,,", "5,inf,,"), "Line 3, column distance_2: .* got 'inf'"),
        (WIDE.replace("5,1,,", "5,,1,"), "Line 3, column distance_2: must be filled"),
        (WIDE.replace("5,1,,", "5,,,"), "Line 3, column distance_2: must be filled"),
        (WIDE.replace(",star,,2", ",star,,3"), "Line 3, column chosen: must be a number from 1 to 2 .* got '3'"),
        (WIDE.replace(",star,,2", ",star,,0"), "Line 3, column chosen: .* got '0'"),
        (WIDE.replace(",star,,2", ",star,,dot"), "Line 3, column chosen: .* got 'dot'"),
        (WIDE.replace(",star,,2", ",circle,,circle"), "Line 3, column chosen: .* got 'circle'"),
        (WIDE.replace(",star,,2", ",,,2"), "Line 3, column option_2: must name the option"),
        (WIDE.replace(",star,,2", ",star,dot,2"), "Line 3, column option_3: must be empty"),
        (WIDE + "1,2,3,a,b,c,1,9\n", "Line 6: must have at most 7 cells, .* got 8, .* '9'"),
        (WIDE + '1,2,"3,a', "line 6 is not a row"),
        (
            WIDE.replace("star,circle,square,star", "1,2,3,2").replace("3,10,20,1,2", "3,10,20,2,1"),
            "Line 2, column chosen",
        ),
        (LONG.replace("a,10,", "a,ten,"), "Line 3, column distance: .* got 'ten'"),
        (LONG.replace("circle,0\na", "circle,yes\na"), "Line 3, column chosen: must be 1 .* got 'yes'"),
        (
            LONG.replace("circle,0\na", "circle,1\na"),
            "Line 3, column chosen: the trial has a chosen option already, in line 2",
        ),
        (LONG.replace("a,10,", ",10,"), "Line 3, column trial: must name the trial"),
        (LONG.replace("a,10,", "z,10,"), "Line 4, column trial: the rows of a trial must stand together, .* in line 2"),
        (LONG + "e,3,star,1\n", "Line 12, column trial: a trial needs at least two rows"),
        (LONG.replace("b,1,star", "b,1,"), "Line 6, column option: must name the option"),
        ("trial,distance,chosen,place\n1,2,1,1\n1,3,0,1\n", "Line 3, column place: .* each once"),
        ("trial,distance,chosen,place\n1,2,1,1\n1,3,0,4\n", "Line 3, column place: .* got '4'"),
        ("trial,distance,score\n1,2,0\n1,3,0\n", "Line 3, column score: the scores of a trial must not all be zero"),
        ("trial,distance,score\n1,2,1\n1,3,\n", "Line 3, column score: must be a finite number; got ''"),
        ("trial,distance,score\n1,2,1\n1,3,-1\n", "Line 3, column score: .* must be probabilities: .* got 1, -1, "),
        (
            "distance_1,distance_2,score_1,score_2\n1,2,9,3.5\n",
            "Line 2, column score_2: .* with the sum 12.5. .* softmax",
        ),
        ("distance_1,distance_2,chosen\n", "must contain at least one trial"),
        ("", "trials must hold names of columns"),
        ("distance_1,distance_1,chosen\n1,2,1\n", "Line 1: .* got distance_1"),
        ("distance_1,distance_2\n1,2\n", "needs a column chosen, or scores"),
        ("item_1,item_2,chosen\n1,2,1\n", "needs a column probe"),
        ("year_1,year_2,chosen\n1,2,1\n", "must be long .* or wide .* got the columns year_1"),
        ("trial,distance,distance_1,chosen\n1,2,3,1\n", "and not both"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_trials(written(tmp_path, text))


def test_a_file_that_is_not_text_is_refused(tmp_path):
    file = tmp_path / "trials.csv"
    file.write_bytes(WIDE.encode() + b"\xff\xfe1,2\n")
    with pytest.raises(InputError, match="must be text in UTF-8"):
        read_trials(file)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"metric": "taxicab"}, "metric must be one of absolute, circle"),
        ({"metric": "circle"}, "'circle' needs one"),
        ({"period": 360.0}, "period belongs to the metric 'circle'"),
        ({"metric": "circle", "period": -1.0}, "period must be positive"),
        ({"metric": "circle", "period": 360.0}, "gives distances already"),
    ],
)
def test_wrong_metrics_are_refused(tmp_path, options, sentence):
    with pytest.raises(InputError, match=sentence):
        read_trials(written(tmp_path, WIDE), **options)


def test_columns_that_only_resemble_ours_are_left_alone(tmp_path):
    text = "distance_1,distance_2,chosen,distance_to_center,option,model\n1,2,1,far,x,small\n"
    trials = read_trials(written(tmp_path, text))
    assert trials.unused_columns == ("distance_to_center", "option", "model")
    assert trials.option_names == ()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"distances": []}, "at least one trial"),
        ({"distances": [[1.0]]}, "trial 1 must be a list of two or more numbers"),
        ({"distances": [[1.0, -2.0]]}, "distances of trial 1 must be zero or positive"),
        (
            {"distances": [[1.0, 2.0]], "chosen": [2]},
            "chosen of trial 1 must be a whole number, at least -1 and at most 1",
        ),
        ({"distances": [[1.0, 2.0]], "chosen": [0, 1]}, "chosen must have one entry per trial"),
        ({"distances": [[1.0, 2.0]], "options": [["a"]]}, "options must have one entry per distance"),
        ({"distances": [[1.0, 2.0]], "places": [[1, 1]]}, "places of trial 1 must be 1 to 2, each once"),
        ({"distances": [[1.0, 2.0]], "scores": [[0.0, 0.0]]}, "scores of trial 1 must not all be zero"),
        ({"distances": [[1.0, 2.0]], "scores": [[1.0, -1.0]]}, "scores of trial 1 must be probabilities"),
        ({"distances": [[1.0, 2.0]], "scores": [[1.0]]}, "scores must have one entry per distance"),
        ({"distances": [[1.0, 2.0]], "scores": [None, None]}, "scores must have one entry per distance"),
    ],
)
def test_wrong_lists_are_refused(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        Trials.from_lists(**arguments)


PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.05, 0.05, 0.9]])
LOGITS = np.log(PROBABILITIES)


@pytest.mark.parametrize(
    "scores",
    [
        LOGITS,  # log-probabilities, all below 0
        LOGITS + 3.0,  # logits of both signs
        LOGITS + 20.0,  # logits that are all positive
        LOGITS - LOGITS.min(),  # logits from 0 on
        100 * PROBABILITIES,
        np.array([[14, 4, 2], [1, 1, 18]]),  # how often each option was chosen
        np.array([[0.9, 0.6, 0.3], [0.2, 0.2, 0.95]]),  # cosines
        np.array([[0.0, -np.inf, -np.inf], [0.0, -np.inf, -np.inf]]),
    ],
    ids=["log-probabilities", "logits", "positive logits", "logits from 0", "percentages", "counts", "cosines", "sure"],
)
def test_scores_that_are_no_probabilities_are_refused_with_what_to_do(scores):
    with pytest.raises(
        InputError, match=r"scores of trial 1 must be probabilities.* softmax .* by 100.* one trial per"
    ):
        Trials.from_lists(np.ones((2, 3)), scores=scores.tolist())


@pytest.mark.parametrize("share", [1.0, 0.97, 1e-6])
def test_probabilities_may_leave_something_to_other_answers(share):
    assert Trials.from_lists(np.ones((2, 3)), scores=(share * PROBABILITIES).tolist()).scores == pytest.approx(
        PROBABILITIES
    )


def test_probabilities_rounded_to_two_decimals_are_probabilities():
    rounded = [0.34, 0.34, 0.33]  # of 0.336, 0.336 and 0.328, with a sum of 1.01
    assert Trials.from_lists([[1, 2, 3]], scores=[rounded]).scores.sum() == pytest.approx(1.0)


def test_some_of_the_trials_can_be_taken(expected):
    part = expected.take([1, 0])
    assert part.distances.tolist() == [[5, 1, 0], [3, 10, 20]]
    assert part.option_counts.tolist() == [2, 3]
    assert part.option_names == expected.option_names
    assert same(expected.take(expected.parsed), expected.take([0, 1]))
