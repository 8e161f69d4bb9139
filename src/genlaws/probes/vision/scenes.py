"""Trials of a vision probe: what a picture shows, which question it comes with, and how far each answer is off.

Three tasks: four black shapes and a red X (which is closest?), colored squares and a target (whose hue is closest?),
numbered squares and a red X (which is closest?). A trial holds all that its picture shows; another module draws it.

A scene is an array of places with one row per item and the place of the probe: the center in pixels from the upper left
corner (x, y), or a hue in degrees alone. Places are random, items do not touch, and one item is nearest to the probe.

OKLCH describes a color by its lightness, its chroma and its hue, an angle; equal steps look about equally large. All
hues share one lightness and one chroma, so they differ in the hue alone.

An eye without the cones for green (deuteranopia, simulated) sees the circle folded into a line from yellow to blue: for
seven hues in ten there is another, 60 degrees away or more, that looks closer than 5 degrees do to other eyes. Without
those for red the fold is the same, but opposite sides differ in lightness. A red X turns dark yellow and still stands
out from black and white. None of this matters to a camera or a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import (
    Array,
    Mask,
    Whole,
    broadcast,
    non_negative,
    one_of,
    real,
    scalar,
    whole_number,
    within,
)
from genlaws.core.errors import InputError
from genlaws.core.seeds import generator_of
from genlaws.probes.trials import MAX_ITEM_DRAWS, TRIAL_KINDS, anchor_pairs

# The lightness at which the chroma that every hue can have on a screen is largest, .1275; .125 is just below it.
LIGHTNESS, CHROMA = 0.75, 0.125
FULL_CIRCLE_DEGREES = 360.0
CHROMA_HALVINGS = 50  # of the chroma where the screen cannot show it; far below one step of 255

# Published with OKLab: coordinates to roots of cone responses, cone responses to linear sRGB, and back.
_CONE_ROOTS_OF_LAB = np.array(
    [[1.0, 0.3963377774, 0.2158037573], [1.0, -0.1055613458, -0.0638541728], [1.0, -0.0894841775, -1.2914855480]]
)
_RGB_OF_CONES = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)
_CONES_OF_RGB = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB_OF_CONE_ROOTS = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
GAMUT_TOLERANCE = 1e-6  # the published matrices have ten digits; pure red comes out at 1 + 3e-8
PICTURE_SIDE = 900  # of a picture, pixels
CORNER_OFFSET = 300.0  # of the shapes from the middle of the picture, along each edge
MAX_JITTER = 40.0  # most by which a shape is off its corner
SHAPE_RADIUS = 60.0  # of the circle around a shape
SQUARE_SIDE = 120.0  # of a numbered square
MARK_HALF = {"shapes": 22.0, "numbers": 16.0}  # half the width of the X
MIN_GAP = 10.0  # least free space between two things in a picture
MIN_HUE_STEP = 5.0  # between two squares of a picture, degrees

Scene = tuple[Array, Array]
SHAPE_NAMES = ("circle", "square", "triangle", "star")
# Letters that are neither words (a, I) nor left over from a contraction (I'm, I'd, it's, don't), nor the mark (X).
LETTERS = tuple("BCFGHJKLNPQR")
NUMBERS = tuple(str(number) for number in range(1, 13))
TASK_OPTIONS = {"shapes": SHAPE_NAMES, "colors": LETTERS, "numbers": NUMBERS}
TASKS = tuple(TASK_OPTIONS)
MAX_PICTURE_ITEMS = {task: len(names) for task, names in TASK_OPTIONS.items()}  # items in a picture
# By how much the nearest is nearer than the second by default. Squares whose centers differ by more than 24.9 pixels in
# distance come in the same order by their edges; a hue is drawn to 0.7 degrees.
DEFAULT_MARGINS = {"shapes": 20.0, "colors": 5.0, "numbers": 25.0}


def srgb_of_oklch(lightness: ArrayLike, chroma: ArrayLike, hue: ArrayLike) -> Array:
    """Return sRGB values in [0, 1] of colors given in OKLCH.

    A color outside what sRGB can show has the same lightness and hue with the largest chroma that can be shown.

    Parameters
    ----------
    lightness : array in [0, 1]
    chroma : array, zero or positive
    hue : array
        Degrees.

    Returns
    -------
    array of the common shape with a last axis of red, green and blue
    """
    light, strong, angle = broadcast(
        lightness=within("lightness", lightness, 0.0, 1.0),
        chroma=non_negative("chroma", chroma),
        hue=real("hue", hue),
    )
    low, high = np.zeros_like(strong), strong.copy()
    for _ in range(CHROMA_HALVINGS):
        middle = 0.5 * (low + high)
        shown = _can_be_shown(_linear(light, middle, angle))
        low, high = np.where(shown, middle, low), np.where(shown, high, middle)
    possible = np.where(_can_be_shown(_linear(light, strong, angle)), strong, low)
    return _curve(np.clip(_linear(light, possible, angle), 0.0, 1.0))


def oklch_of_srgb(color: ArrayLike) -> Array:
    """Return lightness, chroma and hue in [0, 360) degrees of sRGB values, an array in [0, 1] of shape (..., 3)."""
    shown = within("color", color, 0.0, 1.0)
    linear = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
    lab = np.cbrt(linear @ _CONES_OF_RGB.T) @ _LAB_OF_CONE_ROOTS.T
    a, b = lab[..., 1], lab[..., 2]
    return np.stack([lab[..., 0], np.hypot(a, b), np.degrees(np.arctan2(b, a)) % FULL_CIRCLE_DEGREES], axis=-1)


def color_of_hue(hue: ArrayLike) -> Whole:
    """Return red, green and blue, 0 to 255, of a hue in degrees at the lightness and chroma all hues share.

    Rounding to whole numbers shifts the hue by at most 0.7 degrees.
    """
    return np.rint(255.0 * srgb_of_oklch(LIGHTNESS, CHROMA, hue)).astype(np.int64)


def hue_distance(first: ArrayLike, second: ArrayLike) -> Array:
    """Return the angle between hues, 0 to 180 degrees."""
    one, other = broadcast(first=real("first", first), second=real("second", second))
    away = np.abs(one - other) % FULL_CIRCLE_DEGREES
    return np.minimum(away, FULL_CIRCLE_DEGREES - away)


def _linear(lightness: Array, chroma: Array, hue: Array) -> Array:
    angle = np.radians(hue)
    lab = np.stack([lightness, chroma * np.cos(angle), chroma * np.sin(angle)], axis=-1)
    return np.asarray((lab @ _CONE_ROOTS_OF_LAB.T) ** 3 @ _RGB_OF_CONES.T)


def _can_be_shown(linear: Array) -> Mask:
    return np.asarray(((linear >= -GAMUT_TOLERANCE) & (linear <= 1.0 + GAMUT_TOLERANCE)).all(axis=-1))


def _curve(linear: Array) -> Array:
    """Return sRGB values of linear ones; this is how screens store light."""
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055)


def distances_of(task: str, places: Array, probe: Array) -> Array:
    """Return the distance of each item to the probe: pixels from center to center, or degrees of hue."""
    if task == "colors":
        return hue_distance(places[:, 0], probe[0])
    return np.asarray(np.hypot(*(places - probe).T))


def draw_scene(task: str, kind: str, item_count: int, margin: float, generator: np.random.Generator) -> Scene:
    """Return a random scene in which the nearest item is nearer than the second by the margin.

    Shapes stand near different corners, squares at random places where they do not touch, hues anywhere on the circle
    but 5 degrees apart. An X is anywhere in the picture where it touches nothing, a target has any hue; in an
    identification the X lies on an item, the target has its hue.
    """
    for _ in range(MAX_ITEM_DRAWS):
        places = _DRAW_PLACES[task](item_count, generator)
        probe = places[generator.integers(item_count)] if kind == "identification" else _probe(task, generator)
        apart = task != "colors" or _least_step(places[:, 0]) >= MIN_HUE_STEP
        if apart and _fits(task, kind, places, probe) and _margin(task, places, probe) >= margin:
            return places, probe
    raise InputError(
        f"margin must be small enough for {item_count} {task}; got {margin:g}. Use fewer items or a smaller one."
    )


def draw_anchored_scene(task: str, half: float, shift: float, generator: np.random.Generator) -> Scene:
    """Return a scene with items at c - D and c + D, in this order, and the probe at c + δ; shapes have two more items.

    In a picture the probe is moved along the line of points equally far from both, by a random amount
    for which it touches nothing and no other shape is nearer than these two.
    """
    for _ in range(MAX_ITEM_DRAWS):
        if task == "colors":
            center = generator.uniform(0.0, FULL_CIRCLE_DEGREES, 1)
            places, probe = (
                np.array([center - half, center + half]) % FULL_CIRCLE_DEGREES,
                (center + shift) % FULL_CIRCLE_DEGREES,
            )
        else:
            places, probe = _anchored_picture(task, half, shift, generator)
        away = distances_of(task, places, probe)
        nearer, further = away[[1, 0] if shift > 0 else [0, 1]]
        if nearer < further <= away[2:].min(initial=np.inf) and _fits(task, "resolution", places, probe):
            return places, probe
    raise InputError(
        f"half_separations and shifts must leave room for {task} that do not touch; got {half:g} and {shift:g}."
    )


def _anchored_picture(task: str, half: float, shift: float, generator: np.random.Generator) -> Scene:
    angle = generator.integers(4) * np.pi / 2 if task == "shapes" else generator.uniform(0.0, 2 * np.pi)
    along = np.round([np.cos(angle), np.sin(angle)], 12)  # a right angle gives whole pixels
    across = np.array([-along[1], along[0]])
    middle = np.full(2, PICTURE_SIDE / 2)
    center = middle - half * across if task == "shapes" else generator.uniform(0.0, PICTURE_SIDE, 2)
    places = np.array([center - half * along, center + half * along])
    if task == "shapes":
        places = np.vstack([places, 2 * middle - places])
    return places, center + shift * along + generator.uniform(-PICTURE_SIDE / 2, PICTURE_SIDE / 2) * across


def _draw_shapes(count: int, generator: np.random.Generator) -> Array:
    offsets = (-CORNER_OFFSET, CORNER_OFFSET)
    corners = np.array([[x, y] for x in offsets for y in offsets]) + PICTURE_SIDE / 2
    chosen: Array = generator.permutation(corners)[:count]
    return chosen + generator.uniform(-MAX_JITTER, MAX_JITTER, chosen.shape)


def _draw_hues(count: int, generator: np.random.Generator) -> Array:
    return generator.uniform(0.0, FULL_CIRCLE_DEGREES, (count, 1))


def _draw_squares(count: int, generator: np.random.Generator) -> Array:
    """Put squares down one after the other, each where it touches none before it; start again if there is no room."""
    edge = SQUARE_SIDE / 2 + MIN_GAP
    while True:
        places = np.empty((0, 2))
        for _ in range(MAX_ITEM_DRAWS):
            place = generator.uniform(edge, PICTURE_SIDE - edge, 2)
            if (np.abs(places - place).max(axis=1) >= SQUARE_SIDE + MIN_GAP).all():
                places = np.vstack([places, place])
            if len(places) == count:
                return places


_DRAW_PLACES: dict[str, Callable[[int, np.random.Generator], Array]] = {
    "shapes": _draw_shapes,
    "colors": _draw_hues,
    "numbers": _draw_squares,
}


def _probe(task: str, generator: np.random.Generator) -> Array:
    if task == "colors":
        return generator.uniform(0.0, FULL_CIRCLE_DEGREES, 1)
    edge = MARK_HALF[task] + MIN_GAP
    return generator.uniform(edge, PICTURE_SIDE - edge, 2)


def _least_step(hues: Array) -> float:
    ordered = np.sort(hues)
    return float(np.diff(ordered, append=ordered[0] + FULL_CIRCLE_DEGREES).min())


def _margin(task: str, places: Array, probe: Array) -> float:
    first, second, *_ = np.sort(distances_of(task, places, probe))
    return float(second - first)


def _fits(task: str, kind: str, places: Array, probe: Array) -> bool:
    """Return whether all is in the picture and nothing touches, but for an X that is to lie on an item."""
    if task == "colors":
        return True
    half, mark = SHAPE_RADIUS if task == "shapes" else SQUARE_SIDE / 2, MARK_HALF[task]
    inside = _in_picture(places, half + MIN_GAP) and _in_picture(probe, mark + MIN_GAP)
    free = kind == "identification" or (np.abs(places - probe).max(axis=1) >= half + mark + MIN_GAP).all()
    between = np.abs(places[:, None] - places).max(axis=2)[np.triu_indices(len(places), 1)]
    return bool(inside and free and (between >= 2 * half + MIN_GAP).all())


def _in_picture(places: Array, edge: float) -> bool:
    return bool((places >= edge).all() and (places <= PICTURE_SIDE - edge).all())


@dataclass(frozen=True)
class VisionTrial:
    """One picture and the question about it.

    Attributes
    ----------
    kind : {"similarity", "identification", "resolution"}
    task : {"shapes", "colors", "numbers"}
    options : tuple of str
        The answers. Colored squares are drawn in this order, row by row.
    places : tuple of tuples of float
        Of each option: its center in pixels from the upper left corner (x, y), or its hue in degrees, alone.
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
        """The options, under the name they have in a trial in text."""
        return self.options

    @property
    def distances(self) -> tuple[float, ...]:
        """Of the options to the probe: pixels from center to center, or degrees on the circle of hues."""
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
    """Return random trials in which each answer is right equally often, up to a difference of one.

    Shapes stand near different corners, squares at random places where they do not touch, hues anywhere on the circle
    but 5 degrees apart. An X is anywhere in the picture where it touches nothing, a target has any hue; in an
    identification the X lies on an item, the target has its hue.

    Parameters
    ----------
    task : {"shapes", "colors", "numbers"}
    kind : {"similarity", "identification"}
    item_count : int from 2 to 4 for shapes, to 12 for colors and numbers
    trial_count : int
    seed : int or Generator
    margin : float, optional
        By how much the nearest is nearer than the second in a similarity trial; if not given, 20 pixels for shapes,
        25 for numbers, 5 degrees for colors.

    Notes
    -----
    Because things must not touch and the nearest must win by a margin, the places are not quite independent of each
    other and of the probe.
    """
    one_of("task", task, TASKS)
    one_of("kind", kind, TRIAL_KINDS)
    most, hint = MAX_PICTURE_ITEMS[task], f"The task is {task}."
    count = whole_number("item_count", item_count, at_least=2, at_most=most, hint=hint)
    number = whole_number("trial_count", trial_count, at_least=1)
    least = DEFAULT_MARGINS[task] if margin is None else float(scalar("margin", non_negative("margin", margin)))
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
    lie in any direction from each other, and two shapes are neighbors on a square of half side D around the middle of
    the picture (300 puts them near its corners), whose other two corners are further off. The X is also moved along
    the line of equal distances by a random amount, so that it touches nothing; its distance from that line is δ,
    either way. A shift of 0 is a tie and is left out.

    Parameters
    ----------
    task : {"shapes", "colors", "numbers"}
    half_separations, shifts : arrays
        D > 0 and δ, in pixels or degrees.
    trial_count : int
        For each pair of them.
    seed : int or Generator
    """
    one_of("task", task, TASKS)
    pairs = anchor_pairs(half_separations, shifts)
    number = whole_number("trial_count", trial_count, at_least=1)
    generator = generator_of(seed)
    scenes = [draw_anchored_scene(task, half, shift, generator) for half, shift in pairs for _ in range(number)]
    return _named(task, "resolution", scenes, generator)


def option_counts(trials: Sequence[VisionTrial]) -> dict[str, int]:
    """Return how often each answer is right, including those that never are."""
    counts = Counter(trial.options[trial.right] for trial in trials)
    shown = {option for trial in trials for option in trial.options}
    return {option: counts[option] for names in TASK_OPTIONS.values() for option in names if option in shown}


def _named(task: str, kind: str, scenes: Sequence[Scene], generator: np.random.Generator) -> list[VisionTrial]:
    """Return the trials of scenes, with names of items such that each name is right equally often up to one."""
    names = TASK_OPTIONS[task] if task == "shapes" else TASK_OPTIONS[task][: len(scenes[0][0])]
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
