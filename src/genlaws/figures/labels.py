"""Write the name of a curve beside it, where it covers nothing.

Places along the curve, and sides on which to stand, are tried one by one on the finished layout. The one is
taken whose box meets no other curve, label or edge, and which is nearest to its own curve rather than to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from numpy.typing import NDArray

from genlaws.figures.style import SMALL_TYPE, text_color

Pixels = NDArray[np.float64]

SPACING = 2.0  # pixels between neighboring points of a curve as the search sees it
ANCHOR_SPACING = 10.0  # pixels between places that are tried
CLEARANCE = 1.5  # points of air around a label
GAPS = (2.5, 5.0, 8.0, 12.0)  # points between a curve and its label
COVERED, OUTSIDE, CLASH = 200.0, 1000.0, 1000.0  # what it costs to cover a curve, an edge or another label
AMBIGUOUS = 60.0  # what it costs to stand by a curve where another runs along it
BEYOND_GUIDE = 20.0  # what it costs to stand closer to a guide than to the curve
GUIDE_WIDTH = 0.9  # points; a thinner line is a guide that no label could belong to
APART = 4.0  # points between two curves from which on they are seen as two
# Around the curve, in half sizes of the label: the sides, the corners and the places between them.
PLACES = [
    (x, y) for x in (-1.0, -0.5, 0.0, 0.5, 1.0) for y in (-1.0, -0.5, 0.0, 0.5, 1.0) if max(abs(x), abs(y)) == 1.0
]


class _Scene(NamedTuple):
    """What a label must keep clear of, in pixels; `scale` is pixels per point."""

    frame: Pixels
    boxes: list[Pixels]
    own: Pixels
    rivals: Pixels
    everything: Pixels
    scale: float


def direct_labels(axes: Axes, lines: Sequence[Line2D], labels: Sequence[str], size: float = SMALL_TYPE) -> None:
    """Label each line in its own color, darkened where it is too pale to read.

    Call this last: limits, legends and the other panels must be final.
    """
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    window = axes.get_window_extent()
    frame = np.array([[window.x0, window.y0], [window.x1, window.y1]])
    curves = {line: _inside(_pixels(line), frame) for line in axes.get_lines()}
    boxes = [np.array(text.get_window_extent().get_points()) for text in axes.texts]
    for line, label in zip(lines, labels, strict=True):
        text = axes.annotate(label, (0, 0), (0, 0), xycoords="data", textcoords="offset points", annotation_clip=False)
        text.set(ha="center", va="center", fontsize=size, color=text_color(line.get_color()), in_layout=False)
        half = _half_size(text)
        others = [other for other in curves if other is not line]
        scene = _Scene(
            frame,
            boxes,
            curves[line],
            rivals=_joined([curves[other] for other in others if _is_curve(other)]),
            everything=_joined([curves[other] for other in others]),
            scale=figure.dpi / 72.0,
        )
        anchor, center = _candidates(scene, half)
        best = int(np.argmin(_cost(anchor, center, half, scene)))
        text.xy = tuple(axes.transData.inverted().transform(anchor[best]))
        text.set_position(tuple((center[best] - anchor[best]) / scene.scale))
        boxes.append(np.stack([center[best] - half, center[best] + half]))


def _half_size(text: Annotation) -> Pixels:
    box = text.get_window_extent()
    return np.array([box.width, box.height]) / 2.0


def _is_marker(line: Line2D) -> bool:
    return line.get_linestyle() in ("None", "none", " ", "")


def _is_curve(line: Line2D) -> bool:
    return not _is_marker(line) and line.get_linewidth() > GUIDE_WIDTH


def _pixels(line: Line2D) -> Pixels:
    """Return the points of a line in pixels, close together; a marker alone becomes a small ring."""
    corners = line.get_transform().transform(np.asarray(line.get_xydata(), dtype=np.float64))
    corners = corners[np.isfinite(corners).all(axis=1)]
    if _is_marker(line):
        ring = np.array([(0.0, 0.0), *PLACES]) * line.get_markersize()
        return np.asarray((corners[:, None, :] + ring).reshape(-1, 2))
    corners = np.clip(corners, -1e5, 1e5)
    if len(corners) < 2:
        return np.asarray(corners)
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    at = np.linspace(0.0, length[-1], int(np.clip(length[-1] / SPACING, 2, 4000)))
    return np.stack([np.interp(at, length, corners[:, 0]), np.interp(at, length, corners[:, 1])], axis=1)


def _inside(points: Pixels, frame: Pixels) -> Pixels:
    return np.asarray(points[((points >= frame[0] - 1.0) & (points <= frame[1] + 1.0)).all(axis=1)])


def _joined(curves: Sequence[Pixels]) -> Pixels:
    return np.concatenate([np.empty((0, 2)), *curves])


def _candidates(scene: _Scene, half: Pixels) -> tuple[Pixels, Pixels]:
    """Return points of the curve, and for each the middle of a label that stands beside it."""
    anchors = scene.own[:: int(ANCHOR_SPACING / SPACING)]
    steps = [np.array(place) * (half + gap * scene.scale) for gap in GAPS for place in PLACES]
    return np.tile(anchors, (len(steps), 1)), np.concatenate([anchors + step for step in steps])


def _cost(anchor: Pixels, center: Pixels, half: Pixels, scene: _Scene) -> Pixels:
    air = half + CLEARANCE * scene.scale
    low, high = center - air, center + air
    to_own, to_rival, to_any = (_distance(center, part, air) for part in (scene.own, scene.rivals, scene.everything))
    cost = to_own + OUTSIDE * ((low < scene.frame[0]) | (high > scene.frame[1])).any(axis=1)
    for box in scene.boxes:
        cost = cost + CLASH * ((low < box[1]) & (high > box[0])).all(axis=1)
    cost = cost + COVERED * (to_own == 0.0) + COVERED * (to_any == 0.0)
    # A label nearer to another line than to its own would be read as that line's.
    cost = cost + AMBIGUOUS * (to_rival <= 1.5 * to_own) + BEYOND_GUIDE * (to_any < to_own)
    cost = cost + AMBIGUOUS * (_distance(anchor, scene.rivals) < APART * scene.scale)
    return np.asarray(cost + 2.0 * np.maximum(0.0, 2.0 * half[1] - to_rival))


def _distance(center: Pixels, points: Pixels, half: Pixels | float = 0.0) -> Pixels:
    """Return the distance from each box of half size `half` to the nearest point."""
    if not len(points):
        return np.full(len(center), np.inf)
    beyond = np.maximum(np.abs(center[:, None] - points) - half, 0.0)
    return np.asarray(np.hypot(beyond[..., 0], beyond[..., 1]).min(axis=1))
