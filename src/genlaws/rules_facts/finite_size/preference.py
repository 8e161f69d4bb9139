r"""The kernel parameter that redraws of a task prefer, without regularization and at the best regularization.

The errors of R redraws, G parameters and L regularizations give two curves over the parameter: at the smallest
regularization, and at the best. The best regularization of a parameter is chosen on the other redraws and used on the
one at hand, so that the second curve is not biased low as the minimum of L numbers is. The preferred parameter is the
vertex of a parabola in the logarithm of the parameter, fitted around the lowest point of the mean curve. Redraws are
resampled with both curves together: the interval of the ratio of the two preferred parameters is that of a paired
difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, positive
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_replicates, mean_estimate
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.parameters import Parameter
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.seeds import generator_of
from genlaws.rules_facts.parameters import Replicates, Seed

TriedParameters = Annotated[ArrayLike, Parameter("Kernel parameters tried, ascending.", check=positive, listed=True)]
ErrorTable = Annotated[ArrayLike, Parameter("Errors of each redraw, parameter and regularization.")]
# Points on either side of the lowest one that the parabola is fitted to.
PARABOLA_NEIGHBORS = 2
# A smaller curvature of the parabola, relative to the height of the curve over its points, is rounding.
MIN_CURVATURE_SHARE = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Preference(Result):
    """Preferred kernel parameters of several redraws.

    Attributes
    ----------
    parameter : array, (G,)
    error_at_zero, error_at_best : array, (R, G)
        At the smallest regularization, and at the one that is best on the other redraws.
    preferred_at_zero, preferred_at_best : Estimate
        The preferred parameters.
    log_ratio : Estimate
        Natural logarithm of the first over the second. With an interval above zero, a learner without
        regularization prefers a larger parameter.
    price : Estimate
        How much worse the parameter of `preferred_at_best` (the nearest one tried) does without regularization than
        that of `preferred_at_zero`, redraw by redraw.
    at_edge : bool
        Whether a preferred parameter lies at the end of those tried; a wider range is then needed.
    """

    parameter: Array
    error_at_zero: Array
    error_at_best: Array
    preferred_at_zero: Estimate
    preferred_at_best: Estimate
    log_ratio: Estimate
    price: Estimate
    at_edge: bool

    def summary(self) -> Summary:
        """Return both preferred parameters and what the difference costs."""
        names = ("preferred_at_zero", "preferred_at_best", "log_ratio", "price")
        edge = "A preferred parameter lies at the end of those tried; try a wider range."
        rows = [Row(name.replace("_", " "), str(getattr(self, name))) for name in names]
        return Summary(rows, warnings=[edge] if self.at_edge else [])

    def to_frame(self) -> DataFrame:
        """Return one row for each parameter, with both errors averaged over redraws."""
        means = {name: getattr(self, name).mean(axis=0) for name in ("error_at_zero", "error_at_best")}
        return frame_of({"parameter": self.parameter} | means)


@question
def preferred_parameters(
    parameters: TriedParameters, errors: ErrorTable, *, replicates: Replicates = 2000, seed: Seed = 0
) -> Preference:
    """Compare the parameter that is best without regularization with the one that is best with it.

    Parameters
    ----------
    parameters : array_like, (G,), positive and ascending
        At least three.
    errors : array_like, (R, G, L)
        Of at least two redraws; regularizations ascending.
    replicates : int
        Resamples of the redraws in the bootstrap.
    seed : int or Generator
    """
    grid = positive("parameters", parameters)
    table = np.asarray(errors, dtype=np.float64)
    if grid.ndim != 1 or len(grid) < 3 or not (np.diff(grid) > 0.0).all():
        raise InputError("parameters must be three or more ascending numbers.")
    if table.ndim != 3 or table.shape[1] != len(grid) or len(table) < 2 or not np.isfinite(table).all():
        raise InputError(
            f"errors must be finite, of shape (redraws, {len(grid)}, regularizations) with two redraws or more; "
            f"got shape {table.shape}."
        )
    count, log_grid = len(table), np.log(grid)
    at_zero, at_best = table[:, :, 0], _errors_at_best(table)
    picks = generator_of(seed).integers(0, count, (replicates, count))
    zero, best = (_vertices(log_grid, curve[picks].mean(axis=1)) for curve in (at_zero, at_best))
    center_zero, center_best = (float(_vertices(log_grid, curve.mean(axis=0)[None])[0]) for curve in (at_zero, at_best))
    near_zero, near_best = (int(np.argmin(np.abs(log_grid - center))) for center in (center_zero, center_best))
    lowest = [int(np.argmin(curve.mean(axis=0))) for curve in (at_zero, at_best)]
    difference = at_zero[:, near_best] - at_zero[:, near_zero]
    return Preference(
        parameter=grid,
        error_at_zero=at_zero,
        error_at_best=at_best,
        preferred_at_zero=from_replicates(float(np.exp(center_zero)), np.exp(zero), count),
        preferred_at_best=from_replicates(float(np.exp(center_best)), np.exp(best), count),
        log_ratio=from_replicates(center_zero - center_best, zero - best, count),
        price=mean_estimate(difference),
        at_edge=bool(min(lowest) == 0 or max(lowest) == len(grid) - 1),
    )


def _errors_at_best(table: Array) -> Array:
    """Return the error of each redraw at the regularization that is best on average over the other redraws."""
    others = (table.sum(axis=0) - table) / (len(table) - 1)
    chosen = others.argmin(axis=2)[:, :, None]
    return np.asarray(np.take_along_axis(table, chosen, axis=2)[:, :, 0])


def _vertices(log_grid: Array, curves: Array) -> Array:
    """Return the vertex of the parabola through the points around the lowest one of each curve.

    It stays among those points; where they do not curve upward it is the lowest point itself.
    """
    lowest = curves.argmin(axis=1)
    out = np.empty(len(curves))
    for place in np.unique(lowest):
        rows = np.flatnonzero(lowest == place)
        near = slice(max(place - PARABOLA_NEIGHBORS, 0), min(place + PARABOLA_NEIGHBORS + 1, len(log_grid)))
        x = log_grid[near] - log_grid[place]
        square, slope, _ = np.polyfit(x, curves[rows, near].T, 2)
        curved = square * (x[-1] - x[0]) ** 2 > MIN_CURVATURE_SHARE * np.abs(curves[rows, near]).max(axis=1)
        vertex = np.divide(-slope, 2.0 * square, out=np.zeros_like(slope), where=curved)
        out[rows] = log_grid[place] + np.clip(vertex, x[0], x[-1])
    return out
