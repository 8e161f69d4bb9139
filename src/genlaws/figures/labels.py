"""Write the name of a curve next to it, where it covers nothing.

Every place along the curve and every side of it is scored on the finished layout. The best place has a box that meets
no other curve, label or edge, and is nearer to its own curve than to any other.
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

from genlaws.render.style import SMALL_TYPE, text_color

Pixels = NDArray[np.float64]

SAMPLE_SPACING = 2.0  # pixels between the sampled points of a curve
ANCHOR_SPACING = 10.0  # pixels between places that are tried
LABEL_CLEARANCE = 1.5  # points of padding around a label
LABEL_GAPS = (2.5, 5.0, 8.0, 12.0)  # points between a curve and its label
COVERED_COST, OUTSIDE_COST, CLASH_COST = 200.0, 1000.0, 1000.0  # for covering a curve, an edge or another label
AMBIGUOUS_COST = 60.0  # for a place where another curve runs along this one
BEYOND_GUIDE_COST = 20.0  # for being closer to a guide than to the curve
MAX_GUIDE_WIDTH = 0.9  # points; a thinner line is a guide that no label could belong to
MIN_CURVE_SEPARATION = 4.0  # points between two curves that a reader can distinguish
# Around the curve, in half sizes of the label: the sides, the corners and the places between them.
LABEL_OFFSETS = [
    (x, y) for x in (-1.0, -0.5, 0.0, 0.5, 1.0) for y in (-1.0, -0.5, 0.0, 0.5, 1.0) if max(abs(x), abs(y)) == 1.0
]


class _Scene(NamedTuple):
    """Everything a label must not cover, in pixels; `scale` is pixels per point."""

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
    curves = {line: _points_inside(_pixels(line), frame) for line in axes.get_lines()}
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
            rivals=_concatenate([curves[other] for other in others if _is_curve(other)]),
            everything=_concatenate([curves[other] for other in others]),
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
    return not _is_marker(line) and line.get_linewidth() > MAX_GUIDE_WIDTH


def _pixels(line: Line2D) -> Pixels:
    """Return the points of a line in pixels, close together; a marker alone becomes a small ring."""
    corners = line.get_transform().transform(np.asarray(line.get_xydata(), dtype=np.float64))
    corners = corners[np.isfinite(corners).all(axis=1)]
    if _is_marker(line):
        ring = np.array([(0.0, 0.0), *LABEL_OFFSETS]) * line.get_markersize()
        return np.asarray((corners[:, None, :] + ring).reshape(-1, 2))
    corners = np.clip(corners, -1e5, 1e5)
    if len(corners) < 2:
        return np.asarray(corners)
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    at = np.linspace(0.0, length[-1], int(np.clip(length[-1] / SAMPLE_SPACING, 2, 4000)))
    return np.stack([np.interp(at, length, corners[:, 0]), np.interp(at, length, corners[:, 1])], axis=1)


def _points_inside(points: Pixels, frame: Pixels) -> Pixels:
    return np.asarray(points[((points >= frame[0] - 1.0) & (points <= frame[1] + 1.0)).all(axis=1)])


def _concatenate(curves: Sequence[Pixels]) -> Pixels:
    return np.concatenate([np.empty((0, 2)), *curves])


def _candidates(scene: _Scene, half: Pixels) -> tuple[Pixels, Pixels]:
    """Return points of the curve, and for each the center of a label next to it."""
    anchors = scene.own[:: int(ANCHOR_SPACING / SAMPLE_SPACING)]
    steps = [np.array(place) * (half + gap * scene.scale) for gap in LABEL_GAPS for place in LABEL_OFFSETS]
    return np.tile(anchors, (len(steps), 1)), np.concatenate([anchors + step for step in steps])


def _cost(anchor: Pixels, center: Pixels, half: Pixels, scene: _Scene) -> Pixels:
    air = half + LABEL_CLEARANCE * scene.scale
    low, high = center - air, center + air
    to_own, to_rival, to_any = (_distance(center, part, air) for part in (scene.own, scene.rivals, scene.everything))
    cost = to_own + OUTSIDE_COST * ((low < scene.frame[0]) | (high > scene.frame[1])).any(axis=1)
    for box in scene.boxes:
        cost = cost + CLASH_COST * ((low < box[1]) & (high > box[0])).all(axis=1)
    cost = cost + COVERED_COST * (to_own == 0.0) + COVERED_COST * (to_any == 0.0)
    # A label nearer to another line than to its own would be read as that line's.
    cost = cost + AMBIGUOUS_COST * (to_rival <= 1.5 * to_own) + BEYOND_GUIDE_COST * (to_any < to_own)
    cost = cost + AMBIGUOUS_COST * (_distance(anchor, scene.rivals) < MIN_CURVE_SEPARATION * scene.scale)
    return np.asarray(cost + 2.0 * np.maximum(0.0, 2.0 * half[1] - to_rival))


def _distance(center: Pixels, points: Pixels, half: Pixels | float = 0.0) -> Pixels:
    """Return the distance from each box of half size `half` to the nearest point."""
    if not len(points):
        return np.full(len(center), np.inf)
    beyond = np.maximum(np.abs(center[:, None] - points) - half, 0.0)
    return np.asarray(np.hypot(beyond[..., 0], beyond[..., 1]).min(axis=1))
