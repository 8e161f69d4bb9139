"""The arguments of :func:`genlaws.rules_facts.solve` as checked flat arrays, and the result it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlaws.core.arguments import Array, Elementwise, broadcast, scalar
from genlaws.core.result import Result, Row, Summary
from genlaws.rules_facts.kernels.kernel import Kernel, read_kernel
from genlaws.rules_facts.parameters import FACT_FRACTION, REGULARIZATION, SAMPLE_RATIO, WIDTH_RATIO
from genlaws.rules_facts.theory.random_features import Learner
from genlaws.rules_facts.theory.state_equations import Task

if TYPE_CHECKING:
    pass

# Relative size of a linear part that no longer changes the memorization error, which depends on its square.
SMALL_LINEAR_PART = 1e-6


@dataclass(frozen=True)
class Problem:
    """Flat arrays of one length, and the shape they came from."""

    shape: tuple[int, ...]
    task: Task
    mu_1: Array
    mu_star: Array
    inverse_width: Array
    regularization: Array

    def learner(self) -> Learner:
        """Return the learner in units where μ1 = 1."""
        # Random features without a linear part have finite rank and forget: take the limit of a small linear part.
        mu_1 = np.where((self.mu_1 == 0.0) & (self.inverse_width > 0.0), SMALL_LINEAR_PART * self.mu_star, self.mu_1)
        with np.errstate(all="ignore"):
            ridge = np.where(mu_1 > 0.0, self.regularization / mu_1**2, np.inf)
            share = np.where(mu_1 > 0.0, (self.mu_star / mu_1) ** 2, np.inf)
        return Learner(ridge, share, self.inverse_width)


def read_problem(
    sample_ratio: ArrayLike,
    fact_fraction: ArrayLike,
    kernel: Kernel | str | None,
    width_ratio: ArrayLike | None,
    regularization: ArrayLike = 0.0,
) -> Problem:
    """Return the checked problem; wrong input raises InputError."""
    alpha = SAMPLE_RATIO.checked("sample_ratio", sample_ratio)
    epsilon = FACT_FRACTION.checked("fact_fraction", fact_fraction)
    kernel = read_kernel(kernel)
    mu_1, mu_star = np.asarray(kernel.mu_1, dtype=np.float64), np.asarray(kernel.mu_star, dtype=np.float64)
    gamma = read_inverse_width(width_ratio)
    lam = REGULARIZATION.checked("regularization", regularization)
    parts = broadcast(
        sample_ratio=alpha, fact_fraction=epsilon, kernel=mu_1, mu_star=mu_star, width_ratio=gamma, regularization=lam
    )
    alpha, epsilon, mu_1, mu_star, gamma, lam = (np.ravel(part) for part in parts)
    return Problem(parts[0].shape, Task(alpha, 1.0 - epsilon), mu_1, mu_star, gamma, lam)


def read_fact_fraction(fact_fraction: ArrayLike) -> float:
    """Return a single fact fraction, in [0, 1]."""
    return float(scalar("fact_fraction", FACT_FRACTION.checked("fact_fraction", fact_fraction)))


def read_task(sample_ratio: ArrayLike, fact_fraction: ArrayLike) -> tuple[Array, Array]:
    """Return sample ratio and fact fraction as arrays of one shape."""
    epsilon = FACT_FRACTION.checked("fact_fraction", fact_fraction)
    alpha, epsilon = broadcast(sample_ratio=SAMPLE_RATIO.checked("sample_ratio", sample_ratio), fact_fraction=epsilon)
    return alpha, epsilon


def read_inverse_width(width_ratio: ArrayLike | None) -> Array:
    """Return γ = 1/κ, zero where no width is given."""
    if width_ratio is None:
        return np.zeros(())
    width: Array = WIDTH_RATIO.checked("width_ratio", width_ratio)
    return 1.0 / width


def in_shape(flat: NDArray[Any], shape: tuple[int, ...]) -> Array | float:
    """Return a flat array in its shape, and a Python value where the shape is that of a scalar."""
    return flat.reshape(shape) if shape else flat.item()


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Result):
    r"""Generalization and memorization of a learner, element by element.

    Every attribute is a scalar when all arguments were scalars, and an array of their common shape otherwise.

    Attributes
    ----------
    generalization_error : float or array
        Error against the rule on fresh inputs, in [0, 1/2].
    memorization_error : float or array
        Error on the facts of the training set against the labels they were given, in [0, 1/2].
    teacher_overlap : float or array
        m, how much of the learner's output follows the rule.
    self_overlap : float or array
        q, the variance of the learner's output on a fresh input.
    response : float or array
        V, how much a training label moves the output at its own point; infinite where all labels are fitted at
        regularization 0.
    regularization : float or array
        The λ used; the optimal one for ``"optimal"``.
    converged : bool or array
        Whether the residual is small enough to trust the numbers.
    residual : float or array
        Relative change of the unknowns under one more undamped application of the state equations.
    iterations : int or array
        Evaluations of the state equations; 0 for a closed form.
    message : str or array
        How the point was solved.
    """

    generalization_error: Elementwise
    memorization_error: Elementwise
    teacher_overlap: Elementwise
    self_overlap: Elementwise
    response: Elementwise
    regularization: Elementwise
    converged: Elementwise
    residual: Elementwise
    iterations: Elementwise
    message: Elementwise

    @property
    def shape(self) -> tuple[int, ...]:
        """Common shape of the attributes."""
        return np.shape(self.generalization_error)

    def summary(self) -> Summary:
        """Return both errors and the order parameters, or a table where there are several points."""
        if self.shape:
            failed = np.size(self.converged) - np.count_nonzero(self.converged)
            return Summary(
                table=self.table("loss", "iterations", "message"),
                warnings=[f"{failed} of {np.size(self.converged)} points did not converge."] if failed else [],
            )
        numbers = {
            "generalization error": f"{self.generalization_error:.6f}",
            "memorization error": f"{self.memorization_error:.6f}",
            "regularization": f"{self.regularization:.6g}",
            "teacher overlap m": f"{self.teacher_overlap:.6g}",
            "self overlap q": f"{self.self_overlap:.6g}",
            "response V": f"{self.response:.6g}",
        }
        return Summary(
            rows=[Row(name, value) for name, value in numbers.items()],
            sentences=[
                f"On new inputs the learner breaks the rule {self.generalization_error:.1%} of the time; "
                f"it gets {self.memorization_error:.1%} of the training facts wrong.",
                f"{self.message.capitalize()}; residual {self.residual:.1e}.",
            ],
        )
