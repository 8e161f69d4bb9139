"""The arguments of :func:`genlaws.rules_facts.solve` as checked flat arrays, and the result it returns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlaws.core.arguments import Array, broadcast, fraction, non_negative, positive, scalar, within
from genlaws.core.errors import InputError
from genlaws.rules_facts.kernels.kernel import Kernel
from genlaws.rules_facts.theory.random_features import Learner
from genlaws.rules_facts.theory.state_equations import Task

if TYPE_CHECKING:
    import pandas as pd

SHARE_HINT = "It is the share of random labels, not a percentage."
RATIO_HINT = "It is the number of training samples divided by the input dimension."
WIDTH_HINT = "It is the number of random features divided by the input dimension; leave it out for a kernel."
RIDGE_HINT = "Use 0 for the limit of perfect fitting and 'optimal' for the best generalization."

# Squares and cubes of the ratios must stay within double precision.
MAX_RATIO = 1e12
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
    alpha = read_sample_ratio(sample_ratio)
    epsilon = fraction("fact_fraction", fact_fraction, SHARE_HINT)
    kernel = read_kernel(kernel)
    mu_1, mu_star = np.asarray(kernel.mu_1, dtype=np.float64), np.asarray(kernel.mu_star, dtype=np.float64)
    gamma = read_inverse_width(width_ratio)
    lam = non_negative("regularization", regularization, infinite=True, hint=RIDGE_HINT)
    parts = broadcast(
        sample_ratio=alpha, fact_fraction=epsilon, kernel=mu_1, mu_star=mu_star, width_ratio=gamma, regularization=lam
    )
    alpha, epsilon, mu_1, mu_star, gamma, lam = (np.ravel(part) for part in parts)
    return Problem(parts[0].shape, Task(alpha, 1.0 - epsilon), mu_1, mu_star, gamma, lam)


def read_sample_ratio(sample_ratio: ArrayLike) -> Array:
    """Return the sample ratio, positive and within the range of the arithmetic."""
    positive("sample_ratio", sample_ratio, RATIO_HINT)
    return within("sample_ratio", sample_ratio, 1.0 / MAX_RATIO, MAX_RATIO, hint=RATIO_HINT)


def read_fact_fraction(fact_fraction: ArrayLike) -> float:
    """Return a single fact fraction, in [0, 1]."""
    return float(scalar("fact_fraction", fraction("fact_fraction", fact_fraction, SHARE_HINT)))


def read_task(sample_ratio: ArrayLike, fact_fraction: ArrayLike) -> tuple[Array, Array]:
    """Return sample ratio and fact fraction as arrays of one shape."""
    epsilon = fraction("fact_fraction", fact_fraction, SHARE_HINT)
    alpha, epsilon = broadcast(sample_ratio=read_sample_ratio(sample_ratio), fact_fraction=epsilon)
    return alpha, epsilon


def read_inverse_width(width_ratio: ArrayLike | None) -> Array:
    """Return γ = 1/κ, zero where no width is given."""
    if width_ratio is None:
        return np.zeros(())
    positive("width_ratio", width_ratio, WIDTH_HINT)
    return 1.0 / within("width_ratio", width_ratio, 1.0 / MAX_RATIO, MAX_RATIO, hint=WIDTH_HINT)


def read_kernel(kernel: Kernel | str | None) -> Kernel:
    """Return a kernel from a Kernel, a name such as ``"relu"`` or ``"gaussian:0.5"``, or None for the linear model."""
    if kernel is None:
        return Kernel.linear()
    if isinstance(kernel, str):
        return Kernel.from_name(kernel)
    if not isinstance(kernel, Kernel):
        raise InputError(
            f"kernel must be a rules_facts.Kernel, a name such as 'relu' or 'gaussian:0.5', or None; got {kernel!r}."
        )
    return kernel


def in_shape(flat: NDArray[Any], shape: tuple[int, ...]) -> Array | float:
    """Return a flat array in its shape, and a Python value where the shape is that of a scalar."""
    return flat.reshape(shape) if shape else flat.item()


@dataclass(frozen=True)
class Solution:
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

    generalization_error: Any
    memorization_error: Any
    teacher_overlap: Any
    self_overlap: Any
    response: Any
    regularization: Any
    converged: Any
    residual: Any
    iterations: Any
    message: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Common shape of the attributes."""
        return np.shape(self.generalization_error)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per element, in C order, with the attributes as columns."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame({f.name: np.ravel(np.asarray(getattr(self, f.name))) for f in fields(self)})

    def __str__(self) -> str:
        if self.shape:
            trouble = int(np.size(self.converged) - np.count_nonzero(self.converged))
            return f"{np.size(self.converged)} solutions of shape {self.shape}, {trouble} not converged"
        return (
            f"generalization error {self.generalization_error:.6g}, memorization error {self.memorization_error:.6g} "
            f"at regularization {self.regularization:.6g} ({self.message})"
        )
