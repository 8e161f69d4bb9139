"""A representation and the truth: similarities between embeddings, and true distances between stimuli."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist, pdist

from genlaws.core.arguments import Array, Whole, one_of, positive, scalar
from genlaws.core.errors import InputError
from genlaws.semanticity.measurement.metrics import (
    METRICS,
    check_positions,
    circle_length,
    distances_between,
)
from genlaws.semanticity.theory.spaces import check_distances
from genlaws.semanticity.theory.ties import COMPUTED_TOLERANCE, STORED_ULPS, tie_tolerance, unit_in_last_place

Compare = Callable[[Array, Array], Array]
SIMILARITIES = ("cosine", "relu-dot", "dot", "gaussian", "threshold", "precomputed")
BANDWIDTH_ROWS = 1000  # rows from which the default bandwidth is taken
# By how many units in the last place a product of two embeddings may be off: of the numbers as they are stored, in
# which a network worked or to which they were cut, and of those the product is computed in.
STORED_PRODUCT, COMPUTED_PRODUCT = 2.0, 16.0
MAX_BINARY_EXPONENT = 400  # powers of two; squares of such numbers are far from the range's ends, sums of them too


@dataclass(frozen=True)
class Stimuli:
    """Rows of a representation with the true place of each.

    Attributes
    ----------
    count : int
    representation : array of embeddings, one row each, or the matrix of similarities
    compare : callable or None
        From two arrays of embeddings to their similarities; none if the matrix was given.
    truth : array of positions, or the matrix of distances
    between : callable or None
        From two arrays of positions to their distances; none if the matrix was given.
    grain : float
        By how much rounding of the given truth may separate equal distances: of a matrix in units of its largest
        distance, else in those of the distance.
    mean : array or None
        Subtracted from every embedding before they are compared.
    """

    count: int
    representation: NDArray[Any]
    compare: Compare | None
    truth: NDArray[Any]
    between: Compare | None
    grain: float
    mean: Array | None = None

    def similarities(self, chosen: Whole | None = None) -> Array:
        """Return the similarities between the chosen stimuli, or all of them."""
        if self.compare is None:
            return _check_similarities(_square(self.representation, chosen))
        z = self.rows(chosen)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            g = to_array(self.compare(z, z), "What the similarity gives")
        if g.shape != (len(z), len(z)) or g.dtype.kind not in "iuf":
            raise InputError(
                f"The similarity must give a square matrix of numbers, here of shape {(len(z), len(z))}; "
                f"got shape {g.shape} of type {g.dtype}."
            )
        return _check_similarities(np.asarray(g, dtype=np.float64))

    def rows(self, chosen: Whole | None = None) -> Array:
        """Return the embeddings of the chosen stimuli, or all of them, as they are compared."""
        z = np.asarray(self.representation[slice(None) if chosen is None else chosen], dtype=np.float64)
        z = z.reshape(len(z), -1)
        if not np.isfinite(z).all():
            raise InputError("embeddings must be finite; there are NaN or infinite numbers among them.")
        return z if self.mean is None else z - self.mean

    def distances(self, chosen: Whole | None = None) -> Array:
        """Return the true distances between the chosen stimuli, or all of them."""
        if self.between is None:
            return check_distances(_square(self.truth, chosen))
        places = self.truth if chosen is None else self.truth[chosen]
        apart = np.asarray(self.between(places, places))
        if not np.isfinite(apart).all():
            raise InputError("positions must not be so large that their distances overflow.")
        return apart

    def tie_tolerance(self, distance: Array) -> float:
        """Return by how much two of these true distances may differ that are equal but for rounding."""
        largest = float(distance.max())
        if self.between is None:
            return max(tie_tolerance(distance), self.grain * largest)
        return max(COMPUTED_TOLERANCE * largest, self.grain)


def pair_up(
    representation: Any,
    similarity: str | Compare,
    *,
    distances: ArrayLike | None,
    positions: ArrayLike | None,
    metric: str | None,
    period: float | None = None,
    bandwidth: float | None = None,
    center: bool = False,
) -> Stimuli:
    """Check a representation and its truth against each other and return both."""
    rows = to_array(representation, "embeddings")
    if rows.ndim < 2 or len(rows) < 3 or not rows.size or rows.dtype.kind not in "iuf":
        raise InputError(
            "embeddings must be a table of numbers, at least three rows, one for each stimulus; "
            f"got shape {rows.shape} of type {rows.dtype}."
        )
    name = "a function" if callable(similarity) else one_of("similarity", similarity, SIMILARITIES)
    if bandwidth is not None and name != "gaussian":
        raise InputError(f"bandwidth belongs to the gaussian similarity alone; got it with {name}.")
    if name == "precomputed" and rows.shape != (len(rows), len(rows)):
        raise InputError(f"A matrix of similarities must be square; got shape {rows.shape}.")
    compare = None if name == "precomputed" else comparison(similarity, rows, bandwidth)
    truth, between, grain = _truth(distances, positions, metric, period)
    if len(truth) != len(rows):
        raise InputError(
            f"There must be one true place for each stimulus; got {len(rows)} stimuli and {len(truth)} places."
        )
    if center and compare is None:
        raise InputError("center belongs to embeddings; a matrix of similarities has no mean to subtract.")
    mean = rows.reshape(len(rows), -1).mean(axis=0, dtype=np.float64) if center else None
    return Stimuli(len(rows), rows, compare, truth, between, grain, mean)


def comparison(similarity: str | Compare, rows: Any, bandwidth: float | None = None) -> Compare:
    r"""Return the function from embeddings to similarities.

    Parameters
    ----------
    similarity : str or callable
        ``cosine`` (negative ones count as none), ``relu-dot`` (:math:`\max(0, z_i\cdot z_j)`), ``dot`` (refused if one
        is negative), ``gaussian`` (:math:`e^{-|z_i-z_j|^2/2h^2}`), or a function of two arrays of embeddings. For
        ``threshold`` the distances are returned; what lies within the threshold is similar.
    rows : array
        Embeddings from which the default bandwidth, their median distance, is taken.
    bandwidth : float > 0 or None
        h of the Gaussian.
    """
    if callable(similarity):
        return similarity
    name = one_of("similarity", similarity, SIMILARITIES[:-1], "A matrix of similarities needs no function.")
    noise = STORED_PRODUCT * _spacing(rows) + COMPUTED_PRODUCT * float(np.finfo(np.float64).eps)
    if name == "gaussian":
        return _gaussian(_median_distance(rows) if bandwidth is None else bandwidth)
    products: dict[str, Compare] = {
        "cosine": lambda one, other: _above(_unit(one) @ _unit(other).T, noise),
        "relu-dot": lambda one, other: _above(*_products(one, other, noise)),
        "dot": lambda one, other: _off_zero(*_products(one, other, noise)),
        "threshold": cdist,
    }
    return products[name]


def embed(module: Any, inputs: Any) -> NDArray[Any]:
    """Return what a module or function gives for the inputs, one row each, without changing the module.

    A torch module is run once, without gradients, in evaluation mode, and put back into the mode it was in.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(module, torch.nn.Module):
        return _one_array(module(inputs))
    modes = [(part, part.training) for part in module.modules()]
    try:
        module.eval()
        with torch.no_grad():
            output = module(**inputs) if isinstance(inputs, Mapping) else module(inputs)
    finally:
        for part, training in modes:
            part.training = training
    return _one_array(output)


def to_array(values: Any, name: str) -> NDArray[Any]:
    """Return numbers of numpy, torch or anything else that becomes an array; one on disk stays there."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "detach"):
        tensor = values.detach().cpu()
        try:
            values = tensor.numpy()
        except TypeError:  # numpy has no such type
            values = tensor.float().numpy()
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a table of numbers; got {type(values).__name__} of uneven rows.") from None


def _one_array(output: Any) -> NDArray[Any]:
    several = isinstance(output, tuple | Mapping)
    array = np.empty(0, dtype=object) if several else to_array(output, "What the module returns")
    if array.dtype.kind not in "iuf":
        raise InputError(
            f"The module must return one tensor or array, a row for each input; got {type(output).__name__}. "
            "Wrap it in a function that picks the embedding."
        )
    return array


def _truth(
    distances: ArrayLike | None, positions: ArrayLike | None, metric: str | None, period: float | None
) -> tuple[NDArray[Any], Compare | None, float]:
    """Return places or distances, the function from the one to the other if there is one, and their grain."""
    if (distances is None) == (positions is None):
        raise InputError("Give the truth once: either distances, or positions with a metric.")
    if period is not None and metric != "circle":
        other = "distances" if metric is None else f"the metric {metric!r}"
        raise InputError(f"period belongs to positions on a circle; with {other} it must be left out.")
    if positions is None:
        if metric not in {None, "precomputed"}:
            raise InputError(f"metric belongs to positions; with distances it must be left out; got {metric!r}.")
        matrix = to_array(distances, "distances")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "iuf":
            raise InputError(
                f"distances must be a square matrix of numbers; got shape {matrix.shape} of type {matrix.dtype}."
            )
        return matrix, None, STORED_ULPS * _spacing(matrix)
    name = one_of("metric", metric, METRICS, "It defines how positions become distances.")
    if name == "precomputed":
        return _truth(positions, None, None, period)
    given = to_array(positions, "positions")
    places = check_positions(given, name)
    reach = {"tree": 0.0, "cosine": 1.0}.get(name, float(np.abs(places).max(initial=0.0)))
    length = circle_length(places, period) if name == "circle" else 1.0
    return places, distances_between(name, period=length), STORED_ULPS * reach * unit_in_last_place(given)


def _spacing(array: NDArray[Any]) -> float:
    """Return the relative spacing of the numbers an array can hold; whole ones are exact."""
    return float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else 0.0


def _square(matrix: NDArray[Any], chosen: Whole | None) -> Array:
    """Return rows and columns of a matrix, reading no others."""
    return np.asarray(matrix if chosen is None else matrix[np.ix_(chosen, chosen)], dtype=np.float64)


def _check_similarities(g: Array) -> Array:
    if not np.isfinite(g).all():
        raise InputError("Similarities must be finite; there are NaN or infinite numbers among them.")
    if g.min() < 0:
        raise InputError(
            f"Similarities must not be negative; the smallest is {g.min():.4g}. "
            "Use relu-dot or cosine, which count negative ones as none, or a Gaussian."
        )
    return g


def _unit(rows: Array) -> Array:
    largest = np.abs(rows).max(axis=1)
    if not largest.all():
        raise InputError("An embedding of length zero has no cosine; leave it out or use another similarity.")
    scaled: Array = rows / largest[:, None]
    scaled /= _length(scaled)[:, None]
    return scaled


def _length(rows: Array) -> Array:
    return np.asarray(np.linalg.norm(rows, axis=1))


def _products(one: Array, other: Array, noise: float) -> tuple[Array, Array]:
    """Return inner products and what rounding may have added to them, in a unit in which very large ones are finite."""
    a, b = (rows * 2.0 ** -_exponent(rows) for rows in (one, other))
    return a @ b.T, noise * np.outer(_length(a), _length(b))


def _exponent(rows: Array) -> int:
    """Return the power of two to take out of numbers whose squares would overflow or vanish."""
    exponent = int(np.frexp(np.abs(rows).max())[1])
    return exponent if abs(exponent) > MAX_BINARY_EXPONENT else 0


def _above(products: Array, noise: float | Array) -> Array:
    """Return products, with 0 for those that rounding could have made positive: they give no reason for a choice."""
    return np.where(products > noise, products, 0.0)


def _off_zero(products: Array, noise: Array) -> Array:
    """Return products, with 0 for those that rounding could have moved from 0."""
    return np.where(np.abs(products) > noise, products, 0.0)


def _gaussian(bandwidth: float) -> Compare:
    h = float(scalar("bandwidth", positive("bandwidth", bandwidth)))
    return lambda one, other: np.exp(-0.5 * (cdist(one, other) / h) ** 2)


def _median_distance(rows: NDArray[Any]) -> float:
    some = np.asarray(rows[:: max(1, len(rows) // BANDWIDTH_ROWS)], dtype=np.float64)
    median = float(np.median(pdist(some.reshape(len(some), -1))))
    if not 0 < median < np.inf:
        raise InputError(f"The median distance of the embeddings is {median:g}; give a bandwidth.")
    return median
