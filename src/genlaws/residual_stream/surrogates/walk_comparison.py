"""Comparison of a measured stream with the random walk that makes steps of the same sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole, whole_number
from genlaws.core.frames import DataFrame, stack_frames
from genlaws.models.stream import Stream
from genlaws.residual_stream.dynamics.portraits import FULL_CIRCLE_RADIANS, portraits
from genlaws.residual_stream.measures.correlations import TEXT_GROUPS, unit_correlations
from genlaws.residual_stream.measures.curves import ONE_TEXT, SiteCurve, curve_of, jackknife_interval
from genlaws.residual_stream.measures.paths import PathScalars, path_scalars_of
from genlaws.residual_stream.measures.reducers import text_numbers
from genlaws.residual_stream.measures.samples import mean_path
from genlaws.residual_stream.surrogates.kinds import basis_rotation
from genlaws.residual_stream.surrogates.walks import MAX_SHARE_COMPONENTS, Walk

NORMAL = 1.959964  # half the width of a 95 % interval, in standard errors


@dataclass(frozen=True)
class WalkComparison:
    """Measures of a stream, and of the walk with steps of the same sizes.

    Attributes
    ----------
    walk : Walk
        Without persistence.
    units, text_count : int
    persistence : float
        Mean cosine of the angle between a step and the next, over texts and sites.
    correlation, cosine : SiteCurve
        At steps: r over texts, mean over units; cosine between a state and the next, mean over texts.
    correlation_random_axes : SiteCurve
        The same r in random axes. Random axes are alike, as the walk's units are, so this is the curve to compare with
        the walk. A few units of large variance make r lower in the units' own axes without any difference in the steps.
    size, step_size : SiteCurve
        At sites and at steps: root mean square of a unit, over texts and units.
    shares : SiteCurve
        Of the mean path's variance along its first 1, 2, ... components; intervals over texts.
    rotations : SiteCurve
        Clockwise rotations of a unit's portrait up to a site, mean over units; intervals take units as independent, as
        those of a walk are.
    """

    walk: Walk
    units: int
    text_count: int
    persistence: float
    correlation: SiteCurve
    correlation_random_axes: SiteCurve
    cosine: SiteCurve
    size: SiteCurve
    step_size: SiteCurve
    shares: SiteCurve
    rotations: SiteCurve

    @property
    def curves(self) -> tuple[tuple[SiteCurve, Array], ...]:
        """Each measured curve with that of the walk."""
        walk = self.walk
        return (
            (self.correlation, walk.correlation),
            (self.correlation_random_axes, walk.correlation),
            (self.cosine, walk.cosine),
            (self.size, walk.size),
            (self.step_size, walk.step_size),
            (self.shares, walk.path_shares(self.units)[: self.shares.value.size]),
            (self.rotations, walk.rotations),
        )

    def to_frame(self) -> DataFrame:
        """Return one row per measure and place, with the walk's value."""
        return stack_frames([one.to_frame().assign(walk=walk) for one, walk in self.curves])


def compare_with_walk(stream: Stream, *, texts: ArrayLike | None = None, seed: int = 0) -> WalkComparison:
    """Compare a stream with the random walk that has steps of the same sizes.

    Parameters
    ----------
    stream : Stream
        At least three sites, and a step at each.
    texts : whole numbers (rows,), optional
        Number of the text of each row; without it every row is a text of its own.
    seed : int
        Of the bootstrap and of the random axes.
    """
    numbers = text_numbers(texts, stream.text_count)
    scalars = path_scalars_of(stream, numbers)
    sites = tuple(site.name for site in stream.sites)
    per_unit = 1.0 / np.sqrt(stream.unit_count)
    turned = basis_rotation(stream, np.random.default_rng([whole_number("seed", seed), *b"axes"]))
    return WalkComparison(
        walk=walk_like(stream),
        units=stream.unit_count,
        text_count=int(np.unique(numbers).size),
        persistence=float(np.nanmean(np.cos(scalars.curvature))),
        correlation=unit_correlations(stream, texts=numbers).mean,
        correlation_random_axes=replace(unit_correlations(turned, texts=numbers).mean, name="correlation_random_axes"),
        cosine=curve_of("cosine", sites[:-1], scalars.cosine, scalars.texts, seed=seed),
        size=_root_mean_square("size", sites, per_unit * scalars.norm, scalars, seed),
        step_size=_root_mean_square("step_size", sites[:-1], per_unit * scalars.speed, scalars, seed),
        shares=path_share_curve(stream, numbers),
        rotations=rotation_curve(stream),
    )


def walk_like(stream: Stream) -> Walk:
    """Return the random walk with the sizes that the steps and the first state of a stream have.

    The part that texts share is the mean over texts, the rest is their own; with one text all is shared.
    """

    def sizes(states: Array) -> tuple[Array, Array]:
        """Return root mean squares of the deviations from the mean over texts, and of that mean."""
        shared = states.mean(axis=0, dtype=np.float64)
        own = np.sqrt(((states - shared) ** 2).mean(axis=(0, 2)))
        return own, np.sqrt((shared**2).mean(axis=1))

    own, shared = sizes(stream.steps())
    own_start, shared_start = sizes(stream.states[:, :1])
    return Walk(own, shared, float(own_start[0]), float(shared_start[0]))


def path_share_curve(stream: Stream, texts: Whole) -> SiteCurve:
    """Return the share of the mean path along its first components, with jackknife intervals over groups of texts."""
    names, members = np.unique(texts, return_inverse=True)
    group = members % min(TEXT_GROUPS, names.size)
    sums = np.stack([stream.states[group == one].sum(axis=0, dtype=np.float64) for one in np.unique(group)])
    counts = np.bincount(group).astype(np.float64)
    whole = path_shares_of(sums.sum(axis=0) / counts.sum())
    labels = tuple(str(k + 1) for k in range(whole.size))
    missing = np.full(whole.size, np.nan)
    if counts.size == 1:
        return SiteCurve.from_arrays("shares", labels, (whole, missing, missing), 1, ONE_TEXT)
    rest = (counts.sum() - counts)[:, None, None]
    left_out = np.stack([path_shares_of(path) for path in (sums.sum(axis=0) - sums) / rest])
    return SiteCurve.from_arrays("shares", labels, (whole, *jackknife_interval(whole, left_out)), int(names.size))


def path_shares_of(path: Array) -> Array:
    """Return the share of the variance of a path (sites, units) along its first 1, 2, ... components, at most ten."""
    centered = path - path.mean(axis=0)
    variances = np.maximum(np.linalg.eigvalsh(centered @ centered.T)[::-1], 0.0)
    first = min(MAX_SHARE_COMPONENTS, *(np.array(path.shape) - np.array([1, 0])))
    return np.asarray(np.cumsum(variances[:first]) / variances.sum())


def rotation_curve(stream: Stream) -> SiteCurve:
    """Return clockwise rotations of the mean path's units up to every site but the ends, with their mean's interval."""
    path = mean_path(stream)
    drawn = portraits(path)
    angle = np.arctan2(np.diff(drawn.gradient, axis=0), np.diff(drawn.activation, axis=0))
    change = np.diff(angle, axis=0)
    change -= FULL_CIRCLE_RADIANS * np.ceil(change / FULL_CIRCLE_RADIANS - 0.5)
    rotations = -np.cumsum(change, axis=0) / FULL_CIRCLE_RADIANS
    half = NORMAL * rotations.std(axis=1, ddof=1) / np.sqrt(rotations.shape[1])
    mean = rotations.mean(axis=1)
    labels = tuple(site.name for site in stream.sites[1:-1])
    return SiteCurve.from_arrays("rotations", labels, (mean, mean - half, mean + half), rotations.shape[1])


def _root_mean_square(name: str, labels: tuple[str, ...], lengths: Array, scalars: PathScalars, seed: int) -> SiteCurve:
    squares = curve_of(name, labels, lengths**2, scalars.texts, seed=seed)
    ends = (np.sqrt(np.maximum(one, 0.0)) for one in (squares.value, squares.low, squares.high))
    return SiteCurve.from_arrays(name, labels, ends, squares.count, squares.message)
