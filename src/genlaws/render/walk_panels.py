"""The four panels that compare a residual stream with a random walk; the caller supplies the curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from genlaws.core.panel import Curve, Panel

SITE_LABEL = "site l (a step lies between two sites)"
TICKS_PER_UNIT = 4  # the axis of shares starts at a multiple of 1/TICKS_PER_UNIT
MIN_DISTANCE_FROM_ONE = 1e-12  # smaller distances are rounding


def neighbors_panel(
    curves: Iterable[Curve], *, before: str = "", caption: str = "", x_label: str = SITE_LABEL
) -> Panel:
    """Return the panel of correlations and cosines of neighboring sites, drawn as their distances from 1.

    Parameters
    ----------
    curves : iterable of Curve
        Of correlations or cosines.
    before : str
        Prefix of the panel's name, such as ``own-``.
    caption : str, optional
        Replaces the default.
    x_label : str
    """
    return Panel(
        name=f"{before}neighbors",
        title="How much a site differs from the next",
        x_label=x_label,
        y_label="1 − correlation r, 1 − cosine",
        curves=tuple(map(_distance_from_one, curves)),
        y_log=True,
        caption=caption
        or "Lines: a random walk with these steps. r is of a unit over texts; the cosine is between a state and the "
        "next. In any walk both approach 1 where steps are small compared with the state. The units of a walk are "
        "alike: in a model, compare r in random axes, because a few large units lower r in the model's own axes.",
    )


def _distance_from_one(curve: Curve) -> Curve:
    """Return a curve as its distance from 1; distances at rounding level leave a gap."""

    def distances(values: Sequence[float] | None) -> list[float] | None:
        """Return the distances of values from 1."""
        return (
            None if values is None else [1.0 - one if 1.0 - one > MIN_DISTANCE_FROM_ONE else math.nan for one in values]
        )

    low, high = distances(curve.high), distances(curve.low)
    return replace(curve, y=distances(curve.y) or [], low=low, high=high)


def sizes_panel(curves: Iterable[Curve], *, before: str = "", caption: str = "") -> Panel:
    """Return the panel of the sizes of states and steps; arguments as in `neighbors_panel`."""
    return Panel(
        name=f"{before}sizes",
        title="Sizes of states and steps",
        x_label=SITE_LABEL,
        y_label="root mean square of a unit",
        curves=tuple(curves),
        y_log=True,
        caption=caption
        or "The squared steps of a walk add up. Longer states have steps that continue in one direction; shorter "
        "states have steps that cancel earlier ones, or a normalization that bounds them.",
    )


def shares_panel(curves: Iterable[Curve], *, before: str = "", caption: str = "") -> Panel:
    """Return the panel of the path's variance along its first components; arguments as in `neighbors_panel`."""
    drawn = tuple(curves)
    least = min((value for one in drawn for value in one.y if math.isfinite(value)), default=0.0)
    return Panel(
        name=f"{before}shares",
        title="How flat the mean path is",
        x_label="number of principal components k",
        y_label="share of the mean path's variance",
        curves=drawn,
        x_range=(0.7, 10.3),
        y_range=(max(0.0, math.floor(TICKS_PER_UNIT * least - 0.3) / TICKS_PER_UNIT), 1.02),
        caption=caption
        or "A random walk in hundreds of dimensions has about three quarters of its path in a plane, because its "
        "components are cosines of depth. Only a share above the band, which holds 95 % of walks, is low-dimensional.",
    )


def rotations_panel(
    curves: Iterable[Curve], *, before: str = "", caption: str = "", x_label: str = SITE_LABEL
) -> Panel:
    """Return the panel of rotations up to a site; arguments as in `neighbors_panel`."""
    return Panel(
        name=f"{before}rotations",
        title="How often a unit rotates",
        x_label=x_label,
        y_label="clockwise rotations R",
        curves=tuple(curves),
        caption=caption
        or "Mean number of rotations of a unit up to a site, which was read as orbits. In the plane of activation and "
        "gradient every walk rotates clockwise, about once in six sites.",
    )
