"""What :func:`genlaws.rules_facts.solve` returns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Solution:
    r"""What a learner generalises and what it remembers, element by element.

    Every attribute is a scalar when all arguments were scalars, and an array of their common shape otherwise.

    Attributes
    ----------
    generalisation_error : float or array
        Error against the rule on fresh inputs, in [0, 1/2].
    memorisation_error : float or array
        Error on the facts of the training set against the labels they were given, in [0, 1/2].
    teacher_overlap : float or array
        m, how much of the learner's output follows the rule.
    self_overlap : float or array
        q, the variance of the learner's output on a fresh input.
    response : float or array
        V, how much a training label moves the output at its own point; infinite where all labels are fitted at
        regularisation 0.
    regularisation : float or array
        The λ used (the optimal one, where that was asked for).
    converged : bool or array
        Whether the residual is small enough to trust the numbers.
    residual : float or array
        Relative change of the unknowns under one more undamped application of the state equations.
    iterations : int or array
        Evaluations of the state equations; 0 for a closed form.
    message : str or array
        What happened, in a sentence.
    """

    generalisation_error: Any
    memorisation_error: Any
    teacher_overlap: Any
    self_overlap: Any
    response: Any
    regularisation: Any
    converged: Any
    residual: Any
    iterations: Any
    message: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Common shape of the attributes."""
        return np.shape(self.generalisation_error)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per element, in C order, with the attributes as columns."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame({f.name: np.ravel(np.asarray(getattr(self, f.name))) for f in fields(self)})

    def __str__(self) -> str:
        if self.shape:
            trouble = int(np.size(self.converged) - np.count_nonzero(self.converged))
            return f"{np.size(self.converged)} solutions of shape {self.shape}, {trouble} not converged"
        return (
            f"generalisation error {self.generalisation_error:.6g}, memorisation error {self.memorisation_error:.6g} "
            f"at regularisation {self.regularisation:.6g} ({self.message})"
        )
