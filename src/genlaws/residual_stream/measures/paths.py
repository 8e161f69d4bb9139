"""Means of the units, and norms, speeds and angles of the paths along the layers, with intervals.

Every function takes a `Stream`, or what its reducer returned where the states of all texts do not fit in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from genlaws.core.arguments import Array, Whole
from genlaws.core.estimate import Estimate
from genlaws.core.frames import DataFrame, frame_of, stack_frames
from genlaws.core.result import Result, question
from genlaws.models.stream import Site, Stream
from genlaws.residual_stream.measures.correlations import UnitSums, unit_sums_of, unit_table
from genlaws.residual_stream.measures.curves import ONE_TEXT, SiteCurve, curve_of, jackknife_interval
from genlaws.residual_stream.measures.reducers import StreamReducer, refuse_texts
from genlaws.residual_stream.parameters import (
    Seed,
    TextNumbers,
)


@dataclass(frozen=True)
class PathScalars:
    r"""Lengths and angles of every path; NaN where a length that is divided by is zero.

    Steps are :math:`s_l = h_{l+1} - h_l`. Angles are in radians.

    Attributes
    ----------
    norm : array (rows, sites)
        :math:`\lVert h_l\rVert`.
    cosine : array (rows, sites - 1)
        Of the angle between a state and the next.
    speed : array (rows, sites - 1)
        :math:`\lVert s_l\rVert`.
    relative_speed : array (rows, sites - 1)
        :math:`\lVert s_l\rVert / \lVert h_l\rVert`.
    angular_speed : array (rows, sites - 1)
        Angle between a state and the next.
    write_cosine : array (rows, sites - 1)
        Of the angle between a step and the state it starts from; its square is the share of the step along the state.
    curvature : array (rows, sites - 2)
        Angle between a step and the next: 0 on a straight line, a right angle on a random walk in many dimensions.
    straightness : array (rows, 1)
        Distance from the first state to the last, divided by the length of the path.
    texts : array of int (rows,)
        Number of the text of each row.
    sites : tuple of Site
    """

    norm: Array
    cosine: Array
    speed: Array
    relative_speed: Array
    angular_speed: Array
    write_cosine: Array
    curvature: Array
    straightness: Array
    texts: Whole
    sites: tuple[Site, ...]


SCALAR_FIELDS = tuple(field.name for field in fields(PathScalars))[:-2]


def angle_between(first: Array, second: Array) -> Array:
    r"""Return the angle between vectors along the last axis, in radians; NaN where one is zero.

    .. math:: \theta = 2\arctan\frac{\lVert \hat u - \hat v\rVert}{\lVert \hat u + \hat v\rVert}

    Full precision also near 0 and π, where the arc cosine loses half of the digits (Kahan).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        u, v = (given / _length(given)[..., None] for given in (first, second))
    return np.asarray(2.0 * np.arctan2(_length(u - v), _length(u + v)))


def path_scalars(states: Array) -> dict[str, Array]:
    """Return lengths and angles of paths, given in double precision as (rows, sites, units), by their names."""
    here, there = states[:, :-1], states[:, 1:]
    steps = np.diff(states, axis=1)
    norm, speed = _length(states), _length(steps)
    whole = _length(states[:, -1:] - states[:, 0:1])
    return {
        "norm": norm,
        "cosine": _ratio(_dot(here, there), norm[:, :-1] * norm[:, 1:]),
        "speed": speed,
        "relative_speed": _ratio(speed, norm[:, :-1]),
        "angular_speed": angle_between(here, there),
        "write_cosine": _ratio(_dot(here, steps), norm[:, :-1] * speed),
        "curvature": angle_between(steps[:, :-1], steps[:, 1:]),
        "straightness": _ratio(whole, speed.sum(axis=1, keepdims=True)),
    }


def _dot(first: Array, second: Array) -> Array:
    return np.asarray(np.einsum("...u,...u->...", first, second))


def _length(vectors: Array) -> Array:
    return np.sqrt(_dot(vectors, vectors))


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


class PathReducer(StreamReducer):
    """Collects `PathScalars`: some numbers per text and site, nothing per unit."""

    def _begin(self) -> None:
        self._parts: list[dict[str, Array]] = []
        self._texts: list[Whole] = []

    def _absorb(self, states: Array, texts: Whole) -> None:
        self._parts.append(path_scalars(states))
        self._texts.append(texts)

    def _join(self, other: PathReducer) -> None:
        self._parts += other._parts
        self._texts += [texts + self.text_count for texts in other._texts]

    def result(self) -> PathScalars:
        """Return the lengths and angles so far; the reducer can take more."""
        self._need_texts()
        joined = {name: np.concatenate([part[name] for part in self._parts]) for name in SCALAR_FIELDS}
        return PathScalars(**joined, texts=np.concatenate(self._texts), sites=self.sites)


def path_scalars_of(source: Stream | PathScalars, texts: TextNumbers = None) -> PathScalars:
    """Return the lengths and angles of a stream; the result of a reducer is returned unchanged."""
    if isinstance(source, PathScalars):
        refuse_texts(texts)
        return source
    return PathReducer().update(source, texts).result()


@dataclass(frozen=True, eq=False, repr=False)
class UnitMeans(Result):
    """Mean activation of every unit at every site.

    Attributes
    ----------
    mean, low, high : array (sites, units)
        Over the texts, with 95 % intervals.
    order : array of int (units,)
        Units by their mean at the last site, the lowest first.
    sites : tuple of Site
    count : int
        Number of texts.
    message : str
    """

    mean: Array
    low: Array
    high: Array
    order: Whole
    sites: tuple[Site, ...]
    count: int
    message: str

    @property
    def ordered(self) -> Array:
        """Means with the units in that order, (sites, units)."""
        return self.mean[:, self.order]

    def to_frame(self) -> DataFrame:
        """Return one row per site and unit; `rank` is the place of the unit in the order."""
        table = unit_table(self.sites, {"mean": self.mean, "low": self.low, "high": self.high})
        table["rank"] = np.tile(np.argsort(self.order), len(self.sites))
        return frame_of(table)


@question
def unit_means(source: Stream | UnitSums, *, texts: TextNumbers = None) -> UnitMeans:
    r"""Return :math:`\bar h_l^u = \frac1B\sum_b h_{l,b}^u` and the order of the units by the last of them.

    Parameters
    ----------
    source : Stream or UnitSums
    texts : whole numbers (rows,), optional
        Number of the text of each row of a Stream; without it every row is a text of its own.
    """
    sums = unit_sums_of(source, texts)
    mean, rows = sums.mean, sums.counts.sum()
    rest = (rows - sums.counts)[:, None, None]
    left_out = (rows * mean - sums.counts[:, None, None] * sums.means) / np.where(rest > 0, rest, np.nan)
    low, high = jackknife_interval(mean, left_out)
    order = np.argsort(mean[-1], kind="stable")
    message = ONE_TEXT if sums.text_count == 1 else ""
    return UnitMeans(mean, low, high, order, sums.sites, sums.text_count, message)


@dataclass(frozen=True, eq=False, repr=False)
class PathMeasures(Result):
    """How the stream moves, averaged over the texts.

    Attributes
    ----------
    norm, cosine, speed, relative_speed, angular_speed, curvature : SiteCurve
        As in :class:`~genlaws.residual_stream.measures.paths.PathScalars`.
    straightness : Estimate
    message : str
    """

    norm: SiteCurve
    cosine: SiteCurve
    speed: SiteCurve
    relative_speed: SiteCurve
    angular_speed: SiteCurve
    curvature: SiteCurve
    straightness: Estimate
    message: str

    @property
    def curves(self) -> tuple[SiteCurve, ...]:
        """All curves."""
        return self.norm, self.cosine, self.speed, self.relative_speed, self.angular_speed, self.curvature

    def to_frame(self) -> DataFrame:
        """Return one row per measure and site; a step has the name of the site it starts from."""
        return stack_frames([curve.to_frame() for curve in self.curves])


@question
def path_measures(source: Stream | PathScalars, *, texts: TextNumbers = None, seed: Seed = 0) -> PathMeasures:
    """Return norms, cosines, speeds and angles along the layers, with bootstrap intervals over the texts.

    Parameters
    ----------
    source : Stream or PathScalars
    texts : whole numbers (rows,), optional
        As for `unit_means`.
    seed : int
    """
    scalars = path_scalars_of(source, texts)
    names = tuple(site.name for site in scalars.sites)
    labels = {"norm": names, "curvature": names[1:-1]}
    measures = ("norm", "cosine", "speed", "relative_speed", "angular_speed", "curvature")
    curves: dict[str, Any] = {
        name: curve_of(name, labels.get(name, names[:-1]), getattr(scalars, name), scalars.texts, seed=seed)
        for name in measures
    }
    straightness = curve_of("straightness", ("path",), scalars.straightness, scalars.texts, seed=seed)
    message = " ".join(dict.fromkeys(curve.message for curve in (*curves.values(), straightness) if curve.message))
    return PathMeasures(**curves, straightness=straightness[0], message=message)
