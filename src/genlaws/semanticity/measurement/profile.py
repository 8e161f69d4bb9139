r"""How similarity falls with distance: the profile, the shape that fits it best, its resolution and background."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, Mask, Whole
from genlaws.core.estimate import Estimate, from_replicates
from genlaws.core.frames import DataFrame, frame_of
from genlaws.semanticity.theory.similarity import SHAPES, Shape, Similarity
from genlaws.semanticity.theory.ties import GRID_STEP, round_distances

FINE_BINS, DISPLAY_BINS = 512, 64  # a shape is fitted to the fine ones
MIN_BINS, PAIRS_PER_BIN = 128, 4  # of a small set
# Resolutions tried, evenly in their logarithm: first all of them, then closer and closer to the best.
GRID_SIZES = (96, 32, 32, 32, 32)
REPLICATE_GRID_SIZES = (96, 32, 32, 160)  # replicates share a grid, which can close in on their range alone
FINEST_FACTOR, COARSEST_FACTOR = 0.25, 4.0  # of them, in units of the finest bin and of the largest distance
STIMULUS_BOOTSTRAP_REPLICATES = 400
MIN_OWN_SIMILARITY = 1e-100  # of the largest in the row; a stimulus less similar to its own copy has no profile
FLAT_PROFILE_TOLERANCE = 1e-12  # relative spread of a profile that is rounding
SHAPE_PARAMETERS = 3  # amplitude, background and resolution fit as many distances, whatever the similarities are
RELABELINGS = 99  # none of them may fit as well; of sets without any relation one in a hundred then has a resolution
MAX_RELABELED = 400  # stimuli; of a larger set this many are taken at random
GAIN_TOLERANCE, GAIN_FLOOR = 1e-9, 1e-14  # rounding of the gain of a fit, relative; and of the square of the mean


@dataclass(frozen=True)
class Profile:
    """Similarity against distance, in units of the similarity with a copy.

    Attributes
    ----------
    distance, lower, upper : arrays
        Mean distance and ends of each bin; the ends coincide where there are few different distances.
    similarity, spread : arrays
        Mean and standard deviation over the pairs of each bin.
    pair_count : array
    """

    distance: Array
    lower: Array
    upper: Array
    similarity: Array
    spread: Array
    pair_count: Array

    def to_frame(self) -> DataFrame:
        """Return one row per bin."""
        return frame_of(vars(self))


@dataclass(frozen=True)
class ProfileFit:
    r"""The shape that fits a profile best, as :math:`A\,[s(d/\varepsilon) + \Delta]`.

    Attributes
    ----------
    shape : str
    resolution, background : Estimate
        With percentile intervals of the bootstrap over stimuli; NaN where `why_none` states why there is none.
    amplitude : float
        A, in units of the similarity with a copy. Below 1/(1 + background) a copy stands out from its neighbors.
    explained : float
        Share of the variance between bins that the fit explains; NaN where there is no resolution.
    candidates : dict
        Explained share by shape.
    why_none : str
        Why there is no resolution; empty if there is one.
    """

    shape: str
    resolution: Estimate
    background: Estimate
    amplitude: float
    explained: float
    candidates: dict[str, float]
    why_none: str = ""

    def similarity(self) -> Similarity:
        """Return the fitted similarity, in units of its own value at no distance without background."""
        return Similarity(SHAPES[self.shape], self.resolution.value, self.background.value)


@dataclass(frozen=True)
class Bins:
    """Ends of the bins, equal where a bin holds one distance, and the cuts that assign a distance to its bin."""

    lower: Array
    upper: Array
    cuts: Array


@dataclass(frozen=True)
class ProfileSums:
    """Sums over pairs by bin, in total and by the stimuli (or batches of them) that the pairs belong to.

    Attributes
    ----------
    bins : Bins
    count, distance, similarity, square : arrays of shape (bins,)
        Number of pairs, and their summed distance, similarity and squared similarity.
    unit_count, unit_distance, unit_similarity : arrays of shape (units, bins)
        Change of the sums with the weight of a unit. A pair changes with either of its two stimuli.
    """

    bins: Bins
    count: Array
    distance: Array
    similarity: Array
    square: Array
    unit_count: Array
    unit_distance: Array
    unit_similarity: Array

    def profile(self, most: int = DISPLAY_BINS) -> Profile:
        """Return means and spreads of the bins that hold any pair, with neighbors joined to at most `most` bins."""
        there = np.flatnonzero(self.count > 0)
        if not there.size:
            return Profile(*np.empty((6, 0)))
        first = np.arange(0, there.size, -(-there.size // most))
        count, distance, similarity, square = (
            np.add.reduceat(values[there], first)
            for values in (self.count, self.distance, self.similarity, self.square)
        )
        last = np.append(first[1:], there.size) - 1
        mean = similarity / count
        spread = np.sqrt(np.maximum(square / count - mean**2, 0.0))
        return Profile(
            distance / count, self.bins.lower[there[first]], self.bins.upper[there[last]], mean, spread, count
        )


def profile_sums(
    similarity: Array, distance: Array, bins: Bins | None = None, *, by_stimulus: bool = True
) -> ProfileSums:
    """Sum relative similarities by distance.

    Parameters
    ----------
    similarity, distance : arrays of shape (N, N)
        Rows of stimuli that are not similar to their own copy do not count.
    bins : Bins or None
        Made from the distances if not given.
    by_stimulus : bool
        Otherwise there are no units; a batch is one itself.
    """
    n = len(similarity)
    own, known = np.diagonal(similarity), _known(similarity)
    counted = known[:, None] & ~np.eye(n, dtype=bool)
    relative = np.where(known[:, None], similarity, 0.0) / np.where(known, own, 1.0)[:, None]
    bins = _make_bins(distance[counted]) if bins is None else bins
    size = bins.lower.size
    cell = np.where(counted, np.searchsorted(bins.cuts, distance, side="right"), size)

    def total(values: Array | None) -> Array:
        weights = None if values is None else values.ravel()
        return np.bincount(cell.ravel(), weights, size + 1)[:size].astype(np.float64)

    units = (
        tuple(_by_stimulus(values, cell, size) for values in (None, distance, relative))
        if by_stimulus
        else tuple(np.empty((3, 0, size)))
    )
    return ProfileSums(bins, total(None), total(distance), total(relative), total(relative**2), *units)


def pool_sums(parts: list[ProfileSums]) -> ProfileSums:
    """Add up sums over batches of stimuli with the same bins; the batches become the units."""
    names = ("count", "distance", "similarity", "square")
    totals = {name: np.sum([getattr(part, name) for part in parts], axis=0) for name in names}
    units = {f"unit_{name}": np.stack([getattr(part, name) for part in parts]) for name in names[:3]}
    return ProfileSums(parts[0].bins, **totals, **units)


def relabeled_fits(similarity: Array, distance: Array, bins: Bins) -> int:
    """Return how many of 99 random relabelings of the stimuli make similarity fall with distance as much.

    A relabeling gives each stimulus the distances of another. The best shape at its best resolution is fitted to each,
    and the pairs' squared deviations from it are compared. Stimuli that are not similar to their own copy are left out.
    """
    rng = np.random.default_rng(0)  # of its own: whatever else is drawn stays the same
    known = np.flatnonzero(_known(similarity))
    some = known if known.size <= MAX_RELABELED else rng.choice(known, MAX_RELABELED, replace=False)
    g, d = similarity[np.ix_(some, some)], distance[np.ix_(some, some)]
    if not d.any():
        return RELABELINGS
    sums = profile_sums(g, d, bins, by_stimulus=False)
    profile, size = sums.profile(FINE_BINS), sums.count.size
    cell = np.searchsorted(bins.cuts, d, side="right").astype(np.int16)
    np.fill_diagonal(cell, size)
    relative = (g / np.diagonal(g)[:, None]).ravel()
    orders = [np.arange(len(g)), *(rng.permutation(len(g)) for _ in range(RELABELINGS))]
    totals = np.stack([np.bincount(cell[np.ix_(one, one)].ravel(), relative, size + 1)[:size] for one in orders])
    rows, tried = totals[:, sums.count > 0].astype(np.float64), np.geomspace(*_ends(profile), GRID_SIZES[0])
    designs = [_bin_means(profile, shape, tried) for shape in SHAPES.values()]
    loss = np.min([_least_squares(one, profile.pair_count, rows)[2].min(axis=1) for one in designs], axis=0)
    constant = (rows.sum(axis=1) / profile.pair_count.sum()) ** 2
    gain = -loss - constant
    return int((gain[1:] >= (1.0 - GAIN_TOLERANCE) * gain[0] - GAIN_FLOOR * constant[0]).sum())


def fit_profile(
    sums: ProfileSums,
    rng: np.random.Generator,
    replicates: int = STIMULUS_BOOTSTRAP_REPLICATES,
    *,
    as_good: int = 0,
    tolerance: float = 0,
) -> ProfileFit:
    """Fit each shape to the pairs by least squares, keep the best, and bootstrap over stimuli (or batches of them).

    A replicate gives stimulus i the weight :math:`w_i`; a pair then counts :math:`w_i w_j`, taken to first order in the
    deviations from 1: the deviation of the pairs of i from the fit is added :math:`w_i - 1` times. A replicate costs
    no new pass over the pairs. With no replicates there is no interval. There is no resolution if some
    relabelings of the stimuli are `as_good` (see :func:`relabeled_fits`), or if too few distances differ by more than
    the `tolerance`.
    """
    n = len(sums.unit_count)
    profile = sums.profile(FINE_BINS)
    why_none = _why_none(profile, as_good, tolerance)
    if why_none:
        return _no_fit(n, why_none)
    there = sums.count > 0
    total = sums.similarity[None, there]
    fits = {name: _fit_shape(profile, shape, total, GRID_SIZES) for name, shape in SHAPES.items()}
    explained = {name: _explained(profile, SHAPES[name], fit) for name, fit in fits.items()}
    best = max(explained, key=lambda name: explained[name])
    fit = fits[best]
    if not np.isfinite(fit.resolution[0]):
        return _no_fit(n, "similarity does not fall with distance")
    again = np.empty((2, 0))
    if replicates:
        weights = rng.multinomial(n, np.full(n, 1.0 / n), size=replicates) - 1.0
        residuals = _unit_residuals(sums, profile, SHAPES[best], fit)[:, there]
        other = _fit_shape(profile, SHAPES[best], total + weights @ residuals, REPLICATE_GRID_SIZES)
        again = np.stack([other.resolution, other.background])
    return ProfileFit(
        best,
        from_replicates(float(fit.resolution[0]), again[0], n),
        from_replicates(float(fit.background[0]), again[1], n),
        float(fit.amplitude[0]),
        explained[best],
        explained,
    )


def _no_fit(count: int, why: str) -> ProfileFit:
    nothing = Estimate(np.nan, count=count)
    return ProfileFit("", nothing, nothing, np.nan, np.nan, dict.fromkeys(SHAPES, np.nan), why)


def _why_none(profile: Profile, as_good: int, tolerance: float) -> str:
    """Return why a profile has no resolution; nothing if it has one."""
    if not profile.pair_count.size:
        return "no stimulus is similar to its own copy"
    if _spread(profile) <= (FLAT_PROFILE_TOLERANCE * profile.similarity.max()) ** 2:
        return "similarity is the same at every distance"
    different = 1 + int((np.diff(profile.distance) > tolerance).sum())
    if different <= SHAPE_PARAMETERS:
        return f"there are only {different} different distances, and a shape has {SHAPE_PARAMETERS} parameters"
    if as_good:
        return f"{as_good} of {RELABELINGS} random relabelings of the stimuli fit as well"
    return ""


@dataclass(frozen=True)
class _ShapeFits:
    """One shape fitted to several profiles; NaN where a profile does not fall with distance."""

    resolution: Array
    background: Array
    amplitude: Array
    slope: Array
    floor: Array


def _fit_shape(profile: Profile, shape: Shape, similarity: Array, grids: tuple[int, ...]) -> _ShapeFits:
    """Fit a shape to each row of similarities summed over the pairs of a bin."""
    low, high = _ends(profile)
    for size in grids:
        tried = np.geomspace(low, high, size)
        slope, floor, loss = _least_squares(_bin_means(profile, shape, tried), profile.pair_count, similarity)
        best = np.argmin(loss, axis=1)
        low, high = tried[max(best.min() - 1, 0)], tried[min(best.max() + 1, size - 1)]
    row = np.arange(len(similarity))
    a, c = slope[row, best], floor[row, best]
    falls = a > 0
    a, c = np.where(falls, a, np.nan), np.where(falls, c, np.nan)
    amplitude = a + c if shape.name == "constant" else a
    return _ShapeFits(np.where(falls, tried[best], np.nan), c / amplitude, amplitude, a, c)


def _least_squares(designs: Array, count: Array, similarity: Array) -> tuple[Array, Array, Array]:
    """Fit slope times design plus floor, neither negative; arrays of shape (rows, designs).

    The loss leaves out the sum of squares of the similarities, which is the same for every design.
    """
    weight, rows = count / count.sum(), similarity / count.sum()
    mean_x, mean_y = designs @ weight, rows.sum(axis=1, keepdims=True)
    xx, xy = designs**2 @ weight, rows @ designs.T
    variance = xx - mean_x**2
    slope = np.where(variance > 1e-14 * xx, (xy - mean_x * mean_y) / np.where(variance > 0, variance, 1.0), 0.0)
    slope = np.maximum(slope, 0.0)
    floor = mean_y - slope * mean_x
    below = floor < 0
    slope = np.where(below, xy / np.where(xx > 0, xx, 1.0), slope)
    floor = np.where(below, 0.0, floor)
    loss = slope * (slope * xx - 2.0 * xy + 2.0 * floor * mean_x) + floor * (floor - 2.0 * mean_y)
    return slope, floor, loss


def _unit_residuals(sums: ProfileSums, profile: Profile, shape: Shape, fit: _ShapeFits) -> Array:
    """Return by how much the pairs of each unit exceed a fit in each bin, with the slope of the fit inside the bin."""
    low, high = _around_mean(profile)
    width = np.where(high > low, high - low, 1.0)
    resolution = fit.resolution[:1]
    steepness, fitted, distance = np.zeros((3, sums.count.size))
    there = sums.count > 0
    steepness[there] = fit.slope * (shape.profile(high / resolution) - shape.profile(low / resolution)) / width
    fitted[there] = fit.slope * _bin_means(profile, shape, resolution)[0] + fit.floor
    distance[there] = profile.distance
    off_center = sums.unit_distance - distance * sums.unit_count
    return sums.unit_similarity - fitted * sums.unit_count - steepness * off_center


def _explained(profile: Profile, shape: Shape, fit: _ShapeFits) -> float:
    """Return the share of the variance between bins that a fit explains, nothing if the profile does not fall."""
    if not np.isfinite(fit.resolution[0]):
        return 0.0
    fitted = fit.slope[0] * _bin_means(profile, shape, fit.resolution[:1])[0] + fit.floor[0]
    left = np.average((profile.similarity - fitted) ** 2, weights=profile.pair_count)
    return float(1.0 - left / _spread(profile))


def _spread(profile: Profile) -> float:
    """Return the variance of the similarity between bins."""
    if not profile.pair_count.size:
        return 0.0
    mean = np.average(profile.similarity, weights=profile.pair_count)
    return float(np.average((profile.similarity - mean) ** 2, weights=profile.pair_count))


def _ends(profile: Profile) -> tuple[float, float]:
    """Return the finest and the coarsest resolution worth trying."""
    reach = float(profile.upper.max())
    width = profile.upper - profile.lower
    finest = float(width[width > 0].min()) if (width > 0).any() else float(profile.distance[profile.distance > 0].min())
    return FINEST_FACTOR * min(finest, reach), COARSEST_FACTOR * reach


def _bin_means(profile: Profile, shape: Shape, resolutions: Array) -> Array:
    """Return the mean of a shape over each bin, as if distances were evenly spread around theirs; one row each."""
    scale = resolutions[:, None]
    low, high = _around_mean(profile)
    if shape.area is None or not (high > low).any():
        return shape.profile(profile.distance / scale)
    width = np.where(high > low, high - low, 1.0)
    mean = (shape.area(high / scale) - shape.area(low / scale)) * (scale / width)
    return mean if (high > low).all() else np.where(high > low, mean, shape.profile(low / scale))


def _around_mean(profile: Profile) -> tuple[Array, Array]:
    half = 0.5 * (profile.upper - profile.lower)
    return np.maximum(profile.distance - half, 0.0), profile.distance + half


def _make_bins(values: Array) -> Bins:
    """Give each different distance its bin if there are few, else cut the distances into bins of equal count."""
    if not values.size:
        return Bins(*np.empty((3, 0)))
    sample = values[:: max(1, values.size // 200_000)]
    different = np.unique(round_distances(sample, GRID_STEP * float(values.max())))
    if different.size <= FINE_BINS:
        return Bins(different, different, 0.5 * (different[1:] + different[:-1]))
    count = min(FINE_BINS, max(MIN_BINS, values.size // (2 * PAIRS_PER_BIN)))
    edges = np.unique(np.quantile(sample, np.linspace(0.0, 1.0, count + 1)))
    edges[0], edges[-1] = values.min(), values.max()
    return Bins(edges[:-1], edges[1:], edges[1:-1])


def _known(similarity: Array) -> Mask:
    """Return which stimuli are similar to their own copy; the others have no profile."""
    return np.asarray(np.diagonal(similarity) > MIN_OWN_SIMILARITY * similarity.max(axis=1))


def _by_stimulus(values: Array | None, cell: Whole, size: int) -> Array:
    """Sum values (or count) by the stimulus a pair is part of and by bin; the last cell is left out."""
    n = len(cell)
    weights = None if values is None else values.ravel()
    summed = np.zeros(n * (size + 1))
    for unit in (np.arange(n)[:, None], np.arange(n)[None, :]):
        summed += np.bincount((unit * (size + 1) + cell).ravel(), weights, n * (size + 1))
    return summed.reshape(n, size + 1)[:, :size]
