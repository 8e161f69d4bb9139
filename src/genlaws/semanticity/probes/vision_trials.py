"""Trials of a vision probe: what a picture shows, what is asked about it, and how far each answer is from the mark.

Three tasks: four black shapes and a red X (which is closest?), coloured squares and a target (whose hue is closest?),
numbered squares and a red X (which is closest?). All that a picture shows is in its trial; drawing it is another step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import non_negative, one_of, positive, real, scalar, whole_number
from genlaws.numerics.errors import InputError
from genlaws.numerics.seeds import generator_of
from genlaws.semanticity.probes.trials import KINDS
from genlaws.semanticity.probes.vision_scenes import Scene, distances_of, draw_anchored_scene, draw_scene

SHAPES = ("circle", "square", "triangle", "star")
# Letters that are neither words (a, I) nor left over from a contraction (I'm, I'd, it's, don't), nor the mark (X).
LETTERS = tuple("BCFGHJKLNPQR")
NUMBERS = tuple(str(number) for number in range(1, 13))
OPTIONS = {"shapes": SHAPES, "colours": LETTERS, "numbers": NUMBERS}
TASKS = tuple(OPTIONS)
MOST_PICTURED = {task: len(names) for task, names in OPTIONS.items()}  # items in a picture
# By how much the nearest beats the second, if nothing else is asked for. Squares whose centres differ by more than 24.9
# pixels in distance come in the same order by their edges; a hue is drawn to 0.7 degrees.
MARGINS = {"shapes": 20.0, "colours": 5.0, "numbers": 25.0}


@dataclass(frozen=True)
class VisionTrial:
    """One picture and what is asked about it.

    Attributes
    ----------
    kind : {"similarity", "identification", "resolution"}
    task : {"shapes", "colours", "numbers"}
    options : tuple of str
        The answers. Coloured squares are drawn in this order, row by row.
    places : tuple of tuples of float
        Of each option: its centre in pixels from the upper left corner (x, y), or its hue in degrees, alone.
    probe : tuple of float
        The same of the X or the target.
    right : int
        Which option is right: the nearest, or the one that is exactly there.
    """

    kind: str
    task: str
    options: tuple[str, ...]
    places: tuple[tuple[float, ...], ...]
    probe: tuple[float, ...]
    right: int

    @property
    def items(self) -> tuple[str, ...]:
        """The options, under the name they have in a trial in words."""
        return self.options

    @property
    def distances(self) -> tuple[float, ...]:
        """Of the options to the probe: pixels from centre to centre, or degrees on the circle of hues."""
        return tuple(distances_of(self.task, np.array(self.places), np.array(self.probe)).tolist())

    @property
    def margin(self) -> float:
        """By how much the nearest option is nearer than the second."""
        first, second, *_ = sorted(self.distances)
        return second - first


def draw_vision_trials(
    task: str,
    kind: str,
    item_count: int,
    trial_count: int,
    seed: int | np.random.Generator = 0,
    *,
    margin: float | None = None,
) -> list[VisionTrial]:
    """Return random trials in which each answer is right equally often, up to one.

    Shapes stand near different corners, squares at random places where they do not touch, hues anywhere on the circle
    but 5 degrees apart. An X is anywhere in the picture where it touches nothing, a target has any hue; in an
    identification the X lies on an item, the target has its hue.

    Parameters
    ----------
    task : {"shapes", "colours", "numbers"}
    kind : {"similarity", "identification"}
    item_count : int from 2 to 4 for shapes, to 12 for colours and numbers
    trial_count : int
    seed : int or Generator
    margin : float, optional
        By how much the nearest is nearer than the second in a similarity trial; if not given, 20 pixels for shapes,
        25 for numbers, 5 degrees for colours.

    Notes
    -----
    Because things must not touch and the nearest must win by a margin, the places are not quite independent of each
    other and of the probe.
    """
    one_of("task", task, TASKS)
    one_of("kind", kind, KINDS)
    count = whole_number("item_count", item_count, at_least=2, at_most=MOST_PICTURED[task], hint=f"The task is {task}.")
    number = whole_number("trial_count", trial_count, at_least=1)
    least = MARGINS[task] if margin is None else float(scalar("margin", non_negative("margin", margin)))
    wanted = 0.0 if kind == "identification" else least
    generator = generator_of(seed)
    scenes = [draw_scene(task, kind, count, wanted, generator) for _ in range(number)]
    return _named(task, kind, scenes, generator)


def draw_vision_resolution_trials(
    task: str,
    half_separations: ArrayLike,
    shifts: ArrayLike,
    trial_count: int,
    seed: int | np.random.Generator = 0,
) -> list[VisionTrial]:
    """Return trials with the probe at a given distance from where two items are equally near.

    Two items are at c ± D, the probe is at c + δ. On the circle of hues that is all. In a picture two numbered squares
    lie in any direction from each other, and two shapes are neighbours on a square of half side D around the middle of
    the picture (300 puts them near its corners), whose other two corners are further off. The X is also moved along
    the line of equal distances by a random amount, so that it touches nothing; its distance from that line is δ,
    either way. A shift of 0 is a tie and is left out.

    Parameters
    ----------
    task : {"shapes", "colours", "numbers"}
    half_separations, shifts : arrays
        D > 0 and δ, in pixels or degrees.
    trial_count : int
        For each pair of them.
    seed : int or Generator
    """
    one_of("task", task, TASKS)
    halves = np.atleast_1d(positive("half_separations", half_separations)).ravel().tolist()
    away = np.atleast_1d(real("shifts", shifts)).ravel().tolist()
    number = whole_number("trial_count", trial_count, at_least=1)
    pairs = [(half, shift) for half in halves for shift in away if shift != 0]
    if not pairs:
        raise InputError("shifts must hold a number other than 0; a probe in the middle has no nearest item.")
    generator = generator_of(seed)
    scenes = [draw_anchored_scene(task, half, shift, generator) for half, shift in pairs for _ in range(number)]
    return _named(task, "resolution", scenes, generator)


def option_counts(trials: Sequence[VisionTrial]) -> dict[str, int]:
    """Return how often each answer is right, those that never are included."""
    counts = Counter(trial.options[trial.right] for trial in trials)
    shown = {option for trial in trials for option in trial.options}
    return {option: counts[option] for names in OPTIONS.values() for option in names if option in shown}


def _named(task: str, kind: str, scenes: Sequence[Scene], generator: np.random.Generator) -> list[VisionTrial]:
    """Give the items names, such that each name is right equally often up to one."""
    names = OPTIONS[task] if task == "shapes" else OPTIONS[task][: len(scenes[0][0])]
    rounds = [generator.permutation(len(names)) for _ in range(-(-len(scenes) // len(names)))]
    right_names = generator.permutation(np.concatenate(rounds)[: len(scenes)])
    trials = []
    for (places, probe), right_name in zip(scenes, right_names, strict=True):
        nearest = int(np.argmin(distances_of(task, places, probe)))
        others = generator.permutation(np.delete(np.arange(len(names)), right_name))[: len(places) - 1]
        given = np.insert(others, nearest, right_name)
        # Letters and numbers come in their own order, shapes in any.
        order = generator.permutation(len(given)) if task == "shapes" else np.argsort(given)
        options = tuple(names[given[one]] for one in order)
        shown = tuple(tuple(places[one].tolist()) for one in order)
        right = int(np.flatnonzero(order == nearest)[0])
        trials.append(VisionTrial(kind, task, options, shown, tuple(probe.tolist()), right))
    return trials
