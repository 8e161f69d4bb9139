"""Trials of the vision probe: where things are, which answer is right and how often, and what a reply may look like."""

import json
from collections import Counter

import numpy as np
import pytest

from choice_cases import ends
from genlaws.core.errors import InputError
from genlaws.models.interface import Reply
from genlaws.probes.outcomes import parse_answer, recorded
from genlaws.probes.templates import VISION_TEMPLATES, VisionTemplate, vision_template_of
from genlaws.probes.trials import TRIAL_KINDS
from genlaws.probes.vision.scenes import (
    DEFAULT_MARGINS,
    LETTERS,
    MARK_HALF,
    MAX_PICTURE_ITEMS,
    MIN_GAP,
    NUMBERS,
    PICTURE_SIDE,
    SHAPE_NAMES,
    SHAPE_RADIUS,
    SQUARE_SIDE,
    TASK_OPTIONS,
    TASKS,
    draw_vision_resolution_trials,
    draw_vision_trials,
    option_counts,
)
from genlaws.semanticity.choices.fit import fit_choices
from genlaws.semanticity.choices.trials import Trials

HALF = {"shapes": SHAPE_RADIUS, "numbers": SQUARE_SIDE / 2}
COUNTS = [(task, count) for task in TASKS for count in (2, 3, MAX_PICTURE_ITEMS[task])]


def by_hand(task, place, probe):
    if task == "colors":
        return min(abs(place[0] - probe[0] + turn) for turn in (-360, 0, 360))
    return ((place[0] - probe[0]) ** 2 + (place[1] - probe[1]) ** 2) ** 0.5


def check_nothing_touches(trial):
    half, mark = HALF[trial.task], MARK_HALF[trial.task]
    for at, place in enumerate(trial.places):
        assert all(half + MIN_GAP <= one <= PICTURE_SIDE - half - MIN_GAP for one in place)
        for other in trial.places[at + 1 :]:
            assert max(abs(a - b) for a, b in zip(place, other, strict=True)) >= 2 * half + MIN_GAP
        if trial.kind != "identification":
            assert max(abs(a - b) for a, b in zip(place, trial.probe, strict=True)) >= half + mark + MIN_GAP
    assert all(mark + MIN_GAP <= one <= PICTURE_SIDE - mark - MIN_GAP for one in trial.probe)


@pytest.mark.parametrize("kind", TRIAL_KINDS)
@pytest.mark.parametrize(("task", "count"), COUNTS)
def test_the_right_answer_is_the_nearest_and_nothing_touches(task, count, kind):
    trials = draw_vision_trials(task, kind, count, 60, 3)
    assert len(trials) == 60
    for trial in trials:
        assert (trial.task, trial.kind) == (task, kind)
        assert trial.items == trial.options
        assert len(set(trial.options)) == len(trial.places) == count
        distances = [by_hand(task, place, trial.probe) for place in trial.places]
        assert trial.distances == pytest.approx(distances, abs=1e-9)
        first, second, *_ = sorted(distances)
        assert distances[trial.right] == first
        assert trial.margin == pytest.approx(second - first, abs=1e-9)
        if kind == "identification":
            assert trial.probe == trial.places[trial.right]
        else:
            assert second - first >= DEFAULT_MARGINS[task] - 1e-9
        if task == "colors":
            steps = [by_hand(task, a, b) for at, a in enumerate(trial.places) for b in trial.places[at + 1 :]]
            assert min(steps) >= 5
        else:
            check_nothing_touches(trial)


@pytest.mark.parametrize("kind", TRIAL_KINDS)
@pytest.mark.parametrize(("task", "count"), COUNTS)
@pytest.mark.parametrize("trial_count", [1, 25])
def test_each_answer_is_right_equally_often(task, count, kind, trial_count):
    trials = draw_vision_trials(task, kind, count, trial_count, 5)
    counts = option_counts(trials)
    assert sum(counts.values()) == trial_count
    assert max(counts.values()) - min(counts.values()) <= 1
    if trial_count == 25:
        assert list(counts) == list(TASK_OPTIONS[task] if task == "shapes" else TASK_OPTIONS[task][:count])
    assert counts == {option: sum(t.options[t.right] == option for t in trials) for option in counts}


def test_shapes_change_corners_and_any_answer_may_come_first():
    trials = draw_vision_trials("shapes", "similarity", 4, 800, 1)
    corners = Counter(
        (name, x > PICTURE_SIDE / 2, y > PICTURE_SIDE / 2)
        for t in trials
        for name, (x, y) in zip(t.options, t.places, strict=True)
    )
    assert len(corners) == 16
    # Binomial, 800 trials with 1/4: standard deviation 12.2; five of them.
    assert all(abs(count - 200) < 61 for count in corners.values())
    assert all(abs(count - 200) < 61 for count in Counter(t.options[0] for t in trials).values())
    assert all(abs(count - 200) < 61 for count in Counter(t.right for t in trials).values())


def test_margin_can_be_chosen():
    for task, margin in (("shapes", 150.0), ("colors", 15.0), ("numbers", 60.0)):
        assert min(t.margin for t in draw_vision_trials(task, "similarity", 4, 50, 1, margin=margin)) >= margin
    assert min(t.margin for t in draw_vision_trials("numbers", "similarity", 12, 200, 1, margin=0.0)) < 2.0


def test_the_seed_decides():
    for task in TASKS:
        first, again, other = (draw_vision_trials(task, "similarity", 3, 5, seed) for seed in (1, 1, 2))
        assert first == again
        assert first != other
    assert draw_vision_trials("shapes", "similarity", 3, 5, np.random.default_rng(1)) == draw_vision_trials(
        "shapes", "similarity", 3, 5, 1
    )


@pytest.mark.parametrize(
    ("task", "halves", "shifts"),
    [("shapes", [300, 200], [-240, -4, 1, 90]), ("colors", [6, 40], [-100, -1, 2, 35]), ("numbers", 150, [-200, 3])],
)
def test_the_probe_is_at_the_chosen_distance_from_the_boundary(task, halves, shifts):
    trials = draw_vision_resolution_trials(task, halves, [*shifts, 0.0], 12, 2)
    pairs = [(half, shift) for half in np.atleast_1d(halves) for shift in shifts for _ in range(12)]
    assert len(trials) == len(pairs)
    counts = option_counts(trials)
    assert max(counts.values()) - min(counts.values()) <= 1
    for trial, (half, shift) in zip(trials, pairs, strict=True):
        assert trial.kind == "resolution"
        near, second, *_ = np.argsort(trial.distances)
        assert near == trial.right
        first_place, second_place = np.array(trial.places[near]), np.array(trial.places[second])
        if task == "colors":
            assert by_hand(task, first_place, second_place) == pytest.approx(2 * half)
            away = [by_hand(task, [end], [shift]) for end in (half, -half)]
            assert trial.distances[near] == pytest.approx(min(away))
            continue
        along = first_place - second_place
        assert np.linalg.norm(along) == pytest.approx(2 * half)
        from_middle = np.array(trial.probe) - (first_place + second_place) / 2
        assert from_middle @ along / np.linalg.norm(along) == pytest.approx(abs(shift))
        check_nothing_touches(trial)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: draw_vision_trials("words", "similarity", 2, 1), "task must be one of shapes, colors, numbers"),
        (lambda: draw_vision_trials("shapes", "resolution", 2, 1), "kind must be one of similarity, identification"),
        (
            lambda: draw_vision_trials("shapes", "similarity", 5, 1),
            "item_count .* at most 4; got 5. The task is shapes",
        ),
        (lambda: draw_vision_trials("colors", "similarity", 13, 1), "item_count .* at most 12; got 13"),
        (lambda: draw_vision_trials("numbers", "similarity", 1, 1), "item_count .* at least 2"),
        (lambda: draw_vision_trials("numbers", "similarity", 2, 0), "trial_count .* at least 1"),
        (lambda: draw_vision_trials("numbers", "similarity", 2, 1, -1), "seed must be a whole number"),
        (lambda: draw_vision_trials("numbers", "similarity", 2, 1, margin=-1.0), "margin must be zero or positive"),
        (
            lambda: draw_vision_trials("colors", "similarity", 12, 1, margin=170.0),
            "margin must be small enough for 12",
        ),
        (lambda: draw_vision_resolution_trials("shapes", 300, 0, 1), "shifts must hold a number other than 0"),
        (lambda: draw_vision_resolution_trials("shapes", 50, 5, 1), "leave room for shapes .* got 50 and 5"),
        (lambda: draw_vision_resolution_trials("numbers", 600, 5, 1), "leave room for numbers .* got 600 and 5"),
        (lambda: draw_vision_resolution_trials("colors", -5, 5, 1), "half_separations must be positive"),
        (lambda: vision_template_of("words"), "task must be one of"),
        (lambda: vision_template_of("shapes", "none"), "template must be one of chat, options, or a JSON file"),
        (lambda: VisionTemplate("mine", "Which of {items}?", "Which?"), "similarity of the template mine must be"),
        (lambda: VisionTemplate("mine", "Which?", "Which {?"), "identification of the template mine must be"),
        (lambda: VisionTemplate("mine", "", "Which?"), "similarity of the template mine must be"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "reply", "named"),
    [
        (SHAPE_NAMES, "Star", "star"),
        (SHAPE_NAMES, "The **triangle** is closest to the X.", "triangle"),
        (SHAPE_NAMES, "The black circle.", "circle"),
        (SHAPE_NAMES, "The X is on the square, not on the star.", None),
        (SHAPE_NAMES, "The triangular shape", None),
        (NUMBERS, "10", "10"),
        (NUMBERS, "1.", "1"),
        (NUMBERS, "The X is closest to square 12.", "12"),
        (NUMBERS, "Square #1", "1"),
        (NUMBERS, "It is in the 1st row: 11", "11"),
        (NUMBERS, "Of the 12 squares, number 3", None),
        (NUMBERS, "13", None),
        (LETTERS, "B", "B"),
        (LETTERS, "b.", "B"),
        (LETTERS, "The answer is a square: (K)", "K"),
        (LETTERS, "I'd say it's R, but I'm not sure and can't tell.", "R"),
        (LETTERS, "A square that I think is closest is Q, a shade of green.", "Q"),
        (LETTERS, "Square J's hue is closest.", "J"),
        (LETTERS, "They'll both do: we've H.", "H"),
        (LETTERS, "B or C", None),
        (LETTERS, "The blue one", None),
    ],
)
def test_replies_are_read_as_a_person_would(options, reply, named):
    place = parse_answer(reply, options)
    assert (None if place is None else options[place]) == named


def test_no_letter_is_a_word_or_what_a_contraction_leaves():
    words = "A reply. I think it's a big one; I'm sure, I'd bet; they're here, we've seen, they'll go, don't, let's, o'"
    assert all(parse_answer(words, [letter, "nothing of that"]) is None for letter in LETTERS)
    assert parse_answer(words, ["A", "nothing of that"]) == 0  # what would happen with the first letters


@pytest.mark.parametrize("task", TASKS)
def test_questions_name_no_answer_alone(task):
    """A model that repeats the question is not read as an answer."""
    for name, template in VISION_TEMPLATES[task].items():
        for question in (template.similarity, template.identification):
            for count in range(2, MAX_PICTURE_ITEMS[task] + 1):
                shown = TASK_OPTIONS[task][:count]
                words = question.format(count=count, options=", ".join(shown))
                assert parse_answer(words, shown) is None
                assert (", ".join(shown) in words) == (name == "options")


def test_a_template_comes_from_a_file(tmp_path):
    file = tmp_path / "deutsch.json"
    file.write_text(json.dumps({"similarity": "Welche Form ist am nächsten? {options}", "identification": "Wo?"}))
    template = vision_template_of("shapes", file)
    assert (template.name, template.identification, template.system) == ("deutsch", "Wo?", "")
    assert vision_template_of("shapes", template) is template
    for text, complaint in (
        ("{", "must be JSON"),
        ("[]", "must hold similarity"),
        ('{"similarity": "?"}', "must hold"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=f"deutsch.json {complaint}"):
            vision_template_of("shapes", file)
    file.write_text('{"similarity": "?", "identification": 3}')
    with pytest.raises(InputError, match="identification of a template must be text; got 3"):
        vision_template_of("shapes", file)


LIKING = {"circle": 0.0, "square": 0.3, "star": -0.5, "triangle": 1.1}


def test_a_planted_liking_and_resolution_come_back():
    """An answerer who likes triangles and sees 150 pixels far, read through its words, one in 50 of them no answer."""
    rng = np.random.default_rng(8)
    trials = draw_vision_trials("shapes", "similarity", 4, 1500, 8)
    chosen = []
    for trial in trials:
        weights = np.exp([LIKING[o] - d / 150.0 for o, d in zip(trial.options, trial.distances, strict=True)])
        name = trial.options[rng.choice(4, p=weights / weights.sum())]
        reply = "I cannot tell." if rng.random() < 0.02 else f"The {name} is closest to the X."
        chosen.append(parse_answer(reply, trial.options))
    recorded = Trials.from_lists(
        [trial.distances for trial in trials], chosen, options=[trial.options for trial in trials]
    )
    said = Counter(trial.options[choice] for trial, choice in zip(trials, chosen, strict=True) if choice is not None)
    assert said["triangle"] > 1.3 * option_counts(trials)["triangle"]
    fit = fit_choices(recorded, shape="exponential", background=0.0, lapse=0.0, intervals="all")
    assert fit.converged
    assert 15 <= fit.unparsed_count <= 50
    low, high = ends(fit, "resolution")
    assert low < 150.0 < high
    assert high / low < 1.25
    for name in ("square", "star", "triangle"):
        low, high = ends(fit, f"offset[{name}]")
        assert low < LIKING[name] < high
    blind = fit_choices(recorded, shape="exponential", background=0.0, lapse=0.0, offsets=None)
    assert blind.resolution.value > 150.0
    assert blind.log_likelihood < fit.log_likelihood - 50


def test_trials_in_pictures_are_counted_like_trials_in_words():
    trials = draw_vision_trials("colors", "similarity", 3, 4, 1)
    right = [trial.options[trial.right] for trial in trials]
    wrong = [trial.options[trial.right - 1] for trial in trials]
    replies = [Reply(right[0]), Reply(f"I'd say a square, {right[1]}."), Reply(wrong[2]), Reply("B or C")]
    requested = recorded(trials, replies, "text")
    assert requested.chosen.tolist() == [trials[0].right, trials[1].right, trials[2].options.index(wrong[2]), -1]
    assert requested.unparsed.tolist() == [False, False, False, True]
