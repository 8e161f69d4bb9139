"""Solve a sweep of the rules-and-facts theory and lay it out as a long table."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from genlaws.rules_facts import Kernel, solve

LOSSES = ("square", "hinge")
WEAKEST, STRONGEST = 1e-7, 1e4  # beyond these a path is indistinguishable from its ends on paper


def errors_table(
    loss: str,
    *,
    sample_ratio: ArrayLike,
    fact_fraction: ArrayLike,
    regularisation: ArrayLike | str,
    kernel: Kernel | str | None = None,
    **columns: ArrayLike,
) -> pd.DataFrame:
    """Solve over broadcast arguments; one row per point.

    Further `columns` are broadcast along; one named ``width_ratio`` is also the width that is solved for. A point that
    could not be solved has NaN errors and ``converged`` false.
    """
    solution = solve(
        loss,
        sample_ratio=sample_ratio,
        fact_fraction=fact_fraction,
        kernel=kernel,
        regularisation=regularisation,
        width_ratio=columns.get("width_ratio"),
    )
    axes = {"sample_ratio": sample_ratio, "fact_fraction": fact_fraction, **columns}
    frame = {"loss": np.full(int(np.prod(solution.shape)), loss)}
    frame |= {name: np.ravel(np.broadcast_to(np.asarray(value), solution.shape)) for name, value in axes.items()}
    for name in ("regularisation", "generalisation_error", "memorisation_error", "converged"):
        frame[name] = np.ravel(getattr(solution, name))
    return pd.DataFrame(frame)


def regularisation_path(points: int) -> NDArray[np.float64]:
    """Return λ from exactly zero through `points` values, evenly spaced in log λ, to infinity."""
    return np.concatenate([[0.0], np.geomspace(WEAKEST, STRONGEST, points), [np.inf]])
