"""The trials of a plan depend on its seed alone."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.probes.domains import DOMAINS
from genlaws.probes.plan import PICTURE_TASKS, plan_probe
from genlaws.probes.templates import TEMPLATES, VISION_TEMPLATES


@pytest.mark.parametrize("task", [*DOMAINS, *PICTURE_TASKS])
def test_every_task_has_trials_of_each_kind_and_number_and_a_prompt_for_each(task):
    plan = plan_probe(task, trial_count=4)
    requested = {(trial.kind, len(trial.items)) for trial in plan.trials}
    for kind in ("similarity", "identification"):
        assert {(kind, count) for count in plan.item_counts} <= requested
    assert any(kind == "resolution" for kind, _ in requested) == (task != "latitudes")  # cities stay where they are
    shown = plan.prompts([0, len(plan.trials) - 1])
    assert [prompt.options for prompt in shown] == [plan.trials[0].items, plan.trials[-1].items]
    assert plan.pictures == bool(shown[0].images) == (task in PICTURE_TASKS)


@pytest.mark.parametrize("task", ["years", "colors"])
def test_trials_do_not_change_when_more_is_asked_or_in_other_words(task):
    few = plan_probe(task, [4], 6, anchors=False, seed=3)
    templates = TEMPLATES[task] if task in TEMPLATES else VISION_TEMPLATES[task]
    for template in templates:
        more = plan_probe(task, [4, 6, 8], 6, template=template, seed=3)
        assert set(few.trials) <= set(more.trials)
    assert set(few.trials).isdisjoint(plan_probe(task, [4], 6, anchors=False, seed=4).trials)


def test_more_trials_in_words_begin_with_the_same():
    assert plan_probe("years", [2], 9, anchors=False, kinds=["similarity"]).trials[:4] == (
        plan_probe("years", [2], 4, anchors=False, kinds=["similarity"]).trials
    )


def test_the_two_anchors_of_years_are_those_of_the_paper():
    plan = plan_probe("years", [2], 14)
    halves = {(max(trial.places) - min(trial.places)) / 2 for trial in plan.trials if trial.kind == "resolution"}
    assert halves == {2.0, 5.0, 20.0, 50.0, 100.0, 200.0}
    own = plan_probe("years", [2], 4, half_separations=[7], shifts=[-3, 0, 3])
    shifts = [trial.probe - np.mean(trial.places) for trial in own.trials if trial.kind == "resolution"]
    assert sorted(shifts) == [-3.0, -3.0, 3.0, 3.0]  # four trials over two shifts; 0 is a tie


def test_a_table_is_asked_without_anchors(tmp_path):
    file = tmp_path / "masses.csv"
    file.write_text("planet,mass\nMercury,0.055\nVenus,0.815\nEarth,1\nMars,0.107\nJupiter,318\n", encoding="utf-8")
    plan = plan_probe(f"table:{file}", trial_count=5)
    assert plan.item_counts == (2, 4)
    assert plan.unit == "mass"
    assert {trial.kind for trial in plan.trials} == {"similarity", "identification"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"task": "shape"}, "task must be one of years"),
        ({"task": 3}, "task must be one of years"),
        ({"task": "years", "item_counts": []}, "item_counts must name at least one"),
        ({"task": "years", "item_counts": [1]}, "item_counts"),
        ({"task": "shapes", "item_counts": [5]}, "item_count must"),
        ({"task": "years", "trial_count": 0}, "trial_count"),
        ({"task": "years", "template": "options"}, "template must be one of chat, sentences, list, deutsch"),
        ({"task": "shapes", "template": "list"}, "template must be one of chat, options"),
        ({"task": "shapes", "template": TEMPLATES["years"]["list"]}, "one for pictures otherwise"),
        ({"task": "years", "template": VISION_TEMPLATES["shapes"]["chat"]}, "one for text if the task is in text"),
        ({"task": "latitudes", "shifts": [1]}, "belong to the two-anchor test"),
        ({"task": "years", "kinds": ["resolution"]}, "kinds must be one of"),
        ({"task": "years", "half_separations": [500]}, "must lead from a place of years to others"),
    ],
)
def test_an_impossible_plan_is_an_error_of_one_sentence(arguments, words):
    with pytest.raises(InputError, match=words):
        plan_probe(**arguments)
