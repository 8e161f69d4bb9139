"""Where things are in a picture: random places that do not touch, and a probe with one nearest item.

A scene is an array of places with one row per item and the place of the probe: the centre in pixels from the upper left
corner (x, y), or a hue in degrees alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError
from genlaws.semanticity.probes.trials import MOST_DRAWS
from genlaws.semanticity.probes.vision_colours import FULL_CIRCLE, hue_distance

SIDE = 900  # of a picture, pixels
CORNER = 300.0  # of the shapes from the middle of the picture, along each edge
JITTER = 40.0  # most by which a shape is off its corner
SHAPE_RADIUS = 60.0  # of the circle around a shape
SQUARE_SIDE = 120.0  # of a numbered square
MARK_HALF = {"shapes": 22.0, "numbers": 16.0}  # half the width of the X
GAP = 10.0  # least free space between two things in a picture
LEAST_HUE_STEP = 5.0  # between two squares of a picture, degrees

Scene = tuple[Array, Array]


def distances_of(task: str, places: Array, probe: Array) -> Array:
    """Return the distance of each item to the probe: pixels from centre to centre, or degrees of hue."""
    if task == "colours":
        return hue_distance(places[:, 0], probe[0])
    away: Array = np.hypot(*(places - probe).T)
    return away


def draw_scene(task: str, kind: str, item_count: int, margin: float, generator: np.random.Generator) -> Scene:
    """Return a random scene in which the nearest item is nearer than the second by the margin.

    Shapes stand near different corners, squares at random places where they do not touch, hues anywhere on the circle
    but 5 degrees apart. An X is anywhere in the picture where it touches nothing, a target has any hue; in an
    identification the X lies on an item, the target has its hue.
    """
    for _ in range(MOST_DRAWS):
        places = _DRAWN[task](item_count, generator)
        probe = places[generator.integers(item_count)] if kind == "identification" else _probe(task, generator)
        apart = task != "colours" or _least_step(places[:, 0]) >= LEAST_HUE_STEP
        if apart and _fits(task, kind, places, probe) and _margin(task, places, probe) >= margin:
            return places, probe
    raise InputError(
        f"margin must be small enough for {item_count} {task}; got {margin:g}. Use fewer items or a smaller one."
    )


def draw_anchored_scene(task: str, half: float, shift: float, generator: np.random.Generator) -> Scene:
    """Return a scene with items at c - D and c + D, in this order, and the probe at c + δ; shapes have two more items.

    In a picture the probe is moved along the line of points as far from the one as from the other, by a random amount
    for which it touches nothing and no other shape is nearer than these two.
    """
    for _ in range(MOST_DRAWS):
        if task == "colours":
            centre = generator.uniform(0.0, FULL_CIRCLE, 1)
            places, probe = np.array([centre - half, centre + half]) % FULL_CIRCLE, (centre + shift) % FULL_CIRCLE
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
    middle = np.full(2, SIDE / 2)
    centre = middle - half * across if task == "shapes" else generator.uniform(0.0, SIDE, 2)
    places = np.array([centre - half * along, centre + half * along])
    if task == "shapes":
        places = np.vstack([places, 2 * middle - places])
    return places, centre + shift * along + generator.uniform(-SIDE / 2, SIDE / 2) * across


def _draw_shapes(count: int, generator: np.random.Generator) -> Array:
    corners = np.array([[x, y] for x in (-CORNER, CORNER) for y in (-CORNER, CORNER)]) + SIDE / 2
    chosen: Array = generator.permutation(corners)[:count]
    return chosen + generator.uniform(-JITTER, JITTER, chosen.shape)


def _draw_hues(count: int, generator: np.random.Generator) -> Array:
    return generator.uniform(0.0, FULL_CIRCLE, (count, 1))


def _draw_squares(count: int, generator: np.random.Generator) -> Array:
    """Put squares down one after the other, each where it touches none before it; start anew if there is no room."""
    edge = SQUARE_SIDE / 2 + GAP
    while True:
        places = np.empty((0, 2))
        for _ in range(MOST_DRAWS):
            place = generator.uniform(edge, SIDE - edge, 2)
            if (np.abs(places - place).max(axis=1) >= SQUARE_SIDE + GAP).all():
                places = np.vstack([places, place])
            if len(places) == count:
                return places


_DRAWN: dict[str, Callable[[int, np.random.Generator], Array]] = {
    "shapes": _draw_shapes,
    "colours": _draw_hues,
    "numbers": _draw_squares,
}


def _probe(task: str, generator: np.random.Generator) -> Array:
    if task == "colours":
        return generator.uniform(0.0, FULL_CIRCLE, 1)
    edge = MARK_HALF[task] + GAP
    return generator.uniform(edge, SIDE - edge, 2)


def _least_step(hues: Array) -> float:
    ordered = np.sort(hues)
    return float(np.diff(ordered, append=ordered[0] + FULL_CIRCLE).min())


def _margin(task: str, places: Array, probe: Array) -> float:
    first, second, *_ = np.sort(distances_of(task, places, probe))
    return float(second - first)


def _fits(task: str, kind: str, places: Array, probe: Array) -> bool:
    """Say whether all is in the picture and nothing touches, but for an X that is to lie on an item."""
    if task == "colours":
        return True
    half, mark = SHAPE_RADIUS if task == "shapes" else SQUARE_SIDE / 2, MARK_HALF[task]
    inside = _in_picture(places, half + GAP) and _in_picture(probe, mark + GAP)
    free = kind == "identification" or (np.abs(places - probe).max(axis=1) >= half + mark + GAP).all()
    between = np.abs(places[:, None] - places).max(axis=2)[np.triu_indices(len(places), 1)]
    return bool(inside and free and (between >= 2 * half + GAP).all())


def _in_picture(places: Array, edge: float) -> bool:
    return bool((places >= edge).all() and (places <= SIDE - edge).all())
