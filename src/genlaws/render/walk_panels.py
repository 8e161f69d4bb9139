"""The four pictures in which a residual stream stands beside a random walk; lines and points are the caller's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from genlaws.core.panel import Curve, Panel

SITE = "site l (a step stands between two)"
QUARTERS = 4  # the axis of shares begins at one of them
ROUNDING = 1e-12


def neighbors_panel(curves: Iterable[Curve], *, before: str = "", caption: str = "", x_label: str = SITE) -> Panel:
    """Return the picture of correlations and cosines of neighboring sites, drawn as what they lack of 1.

    Parameters
    ----------
    curves : iterable of Curve
        Of correlations or cosines.
    before : str
        Stands before the name of the panel, such as ``own-``.
    caption : str, optional
        In place of the usual one.
    x_label : str
    """
    return Panel(
        name=f"{before}neighbors",
        title="How much a site differs from the next",
        x_label=x_label,
        y_label="1 − correlation r, 1 − cosine",
        curves=tuple(map(_lacking, curves)),
        y_log=True,
        caption=caption
        or "Lines: a random walk with these steps. r is of a unit over texts; the cosine is between a state and the "
        "next. Both come near to 1 wherever steps are small beside what has gathered, in any walk. A walk's units are "
        "alike: in a model compare r in random axes, because a few large units lower r in the model's own.",
    )


def _lacking(curve: Curve) -> Curve:
    """Return a curve as its distance from 1; what is no further than rounding leaves a gap."""

    def rest(values: Sequence[float] | None) -> list[float] | None:
        """Return what values lack of 1."""
        return None if values is None else [1.0 - one if 1.0 - one > ROUNDING else math.nan for one in values]

    low, high = rest(curve.high), rest(curve.low)
    return replace(curve, y=rest(curve.y) or [], low=low, high=high)


def sizes_panel(curves: Iterable[Curve], *, before: str = "", caption: str = "") -> Panel:
    """Return the picture of the sizes of states and steps; arguments as in `neighbors_panel`."""
    return Panel(
        name=f"{before}sizes",
        title="Sizes of states and steps",
        x_label=SITE,
        y_label="root mean square of a unit",
        curves=tuple(curves),
        y_log=True,
        caption=caption
        or "Steps of a walk add up as squares. States longer than that have steps that go on in one direction, "
        "shorter ones have steps that take back what was written, or a norm that holds them.",
    )


def shares_panel(curves: Iterable[Curve], *, before: str = "", caption: str = "") -> Panel:
    """Return the picture of the path's variance along its first components; arguments as in `neighbors_panel`."""
    drawn = tuple(curves)
    least = min((value for one in drawn for value in one.y if math.isfinite(value)), default=0.0)
    return Panel(
        name=f"{before}shares",
        title="How flat the mean path is",
        x_label="number of principal components k",
        y_label="share of the mean path's variance",
        curves=drawn,
        x_range=(0.7, 10.3),
        y_range=(max(0.0, math.floor(QUARTERS * least - 0.3) / QUARTERS), 1.02),
        caption=caption
        or "A random walk in hundreds of dimensions has about three quarters of its path in a plane, because its "
        "components are cosines of depth. Only what exceeds the band, in which 95 % of walks lie, is low-dimensional.",
    )


def turns_panel(curves: Iterable[Curve], *, before: str = "", caption: str = "", x_label: str = SITE) -> Panel:
    """Return the picture of turns up to a site; arguments as in `neighbors_panel`."""
    return Panel(
        name=f"{before}turns",
        title="How often a unit's portrait turns",
        x_label=x_label,
        y_label="clockwise turns R",
        curves=tuple(curves),
        caption=caption
        or "Mean over units of the count that was read as orbits, up to a site. In the plane of activation and "
        "gradient every walk turns clockwise, about once in six sites.",
    )
