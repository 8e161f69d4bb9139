r"""Limits of the errors: many samples, strong regularization, and the power law of the decay with samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, positive, real
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_replicates, from_standard_error
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.seeds import generator_of
from genlaws.rules_facts.kernels.kernel import Kernel
from genlaws.rules_facts.parameters import SAMPLE_RATIO, Replicates, Seed, StandardErrors
from genlaws.rules_facts.theory.bayes import channel_integral
from genlaws.rules_facts.theory.losses import get_loss
from genlaws.rules_facts.theory.point_solver import solve_points
from genlaws.rules_facts.theory.problem import in_shape, read_problem, read_task
from genlaws.rules_facts.theory.square_loss import rule_signal

MIN_RELATIVE_ERROR = 1e-3  # smaller standard errors count as this: a power law is not more exact


class Errors(NamedTuple):
    """Generalization and memorization error of a limit."""

    generalization_error: Array | float
    memorization_error: Array | float


def large_sample_error(*, sample_ratio: ArrayLike, fact_fraction: ArrayLike) -> Array | float:
    r"""Leading generalization error of ridge regression at many samples.

    .. math:: \varepsilon_{gen} \simeq \frac{1}{\pi\sqrt\alpha}\sqrt{\frac{1-\rho^2}{\rho^2}},
              \qquad \rho = (1-\varepsilon)\sqrt{2/\pi},

    whatever the kernel and the regularization. Relative corrections are of order 1/α. Infinite at ε = 1, where
    nothing is learned and the expansion does not hold.

    Parameters
    ----------
    sample_ratio : array_like > 0
    fact_fraction : array_like in [0, 1]

    References
    ----------
    :cite:t:`farne2026`, Eq. 42.
    """
    alpha, epsilon = read_task(sample_ratio, fact_fraction)
    rho = rule_signal(epsilon)
    with np.errstate(divide="ignore"):
        error = np.sqrt(1.0 - rho**2) / (np.pi * rho * np.sqrt(alpha))
    return in_shape(error, alpha.shape)


def large_sample_bayes_error(*, sample_ratio: ArrayLike, fact_fraction: ArrayLike) -> Array | float:
    r"""Leading Bayes-optimal generalization error at many samples.

    .. math:: \varepsilon_{gen} \simeq \frac{(2\pi)^{3/2}}{4\pi\,\delta^2\,I(1)}\,\frac1\alpha ,

    with I the integral of :func:`~genlaws.rules_facts.bayes_optimal`; 0.4417/α at ε = 0.

    Parameters
    ----------
    sample_ratio : array_like > 0
    fact_fraction : array_like in [0, 1]

    References
    ----------
    :cite:t:`farne2026`, Eq. 201.
    """
    alpha, epsilon = read_task(sample_ratio, fact_fraction)
    integral = channel_integral(np.full(epsilon.size, np.inf), np.ravel(epsilon)).reshape(epsilon.shape)
    with np.errstate(divide="ignore"):
        error = (2.0 * np.pi) ** 1.5 / (4.0 * np.pi * (1.0 - epsilon) ** 2 * integral * alpha)
    return in_shape(error, alpha.shape)


def infinite_regularization(
    *,
    sample_ratio: ArrayLike,
    fact_fraction: ArrayLike,
    kernel: Kernel | str | None = None,
    width_ratio: ArrayLike | None = None,
) -> Errors:
    r"""Errors in the limit λ → ∞, the same for every loss.

    For a kernel

    .. math:: \varepsilon_{gen} = \frac1\pi\arccos\frac{\rho\sqrt\alpha}{\sqrt{1+\rho^2\alpha}}, \qquad
              \varepsilon_{mem} = \tfrac12\,\mathrm{erfc}\frac{1+\mu_*^2/\mu_1^2}{\sqrt{2(\alpha+\rho^2\alpha^2)}} .

    Every sample then pulls with the same force and the learner is Hebb's rule.

    Parameters
    ----------
    sample_ratio, fact_fraction, kernel, width_ratio
        As for :func:`~genlaws.rules_facts.solve`.

    References
    ----------
    :cite:t:`farne2026`, Appendix C.2; the finite-width form is not in the paper.
    """
    problem = read_problem(sample_ratio, fact_fraction, kernel, width_ratio, np.inf)
    points = solve_points(get_loss("square"), problem.task, problem.learner())
    return Errors(
        in_shape(points.generalization_error, problem.shape), in_shape(points.memorization_error, problem.shape)
    )


@dataclass(frozen=True, eq=False, repr=False)
class DecayFit(Result):
    r"""The power law :math:`\varepsilon_{gen} = C\alpha^{-\gamma}` that fits best.

    Attributes
    ----------
    exponent, prefactor : Estimate
        γ and C with 95 % intervals, which are missing where the errors had no standard errors.
    sample_ratio, generalization_error, relative_error : array, shape (ratios,)
        The fitted points by increasing sample ratio: means over runs, and their relative standard errors.
    local_exponent : array, shape (ratios - 1,)
        From each ratio to the next.
    misfit : float
        χ² per degree of freedom. Well above 1, the errors do not follow a power law within their scatter. NaN without
        standard errors or with two ratios.
    """

    exponent: Estimate
    prefactor: Estimate
    sample_ratio: Array
    generalization_error: Array
    relative_error: Array
    local_exponent: Array
    misfit: float

    def summary(self) -> Summary:
        """Return the exponent and how well a power law fits."""
        low, high = self.sample_ratio[[0, -1]]
        rows = [
            Row("exponent", str(self.exponent), f"for sample ratios from {low:g} to {high:g}"),
            Row("prefactor", str(self.prefactor)),
        ]
        if np.isfinite(self.misfit):
            rows.append(Row("misfit", f"{self.misfit:.3g}", "χ² per degree of freedom; about 1 where a power law fits"))
        return Summary(rows)

    def to_frame(self) -> DataFrame:
        """Return one row for each sample ratio."""
        names = ("sample_ratio", "generalization_error", "relative_error")
        columns = {name: getattr(self, name) for name in names}
        return frame_of(columns | {"local_exponent": np.append(self.local_exponent, np.nan)})


@question
def fit_decay(
    sample_ratio: ArrayLike,
    generalization_error: ArrayLike,
    *,
    standard_error: StandardErrors = None,
    replicates: Replicates = 2000,
    seed: Seed = 0,
) -> DecayFit:
    r"""Fit a power law to errors at several sample ratios.

    Weighted least squares on :math:`\log\varepsilon_{gen} = \log C - \gamma\log\alpha`, each ratio with the inverse
    square of its relative standard error.

    Parameters
    ----------
    sample_ratio : array_like, positive, shape (ratios,)
        At least two, all different.
    generalization_error : array_like, shape (ratios,) or (ratios, runs)
        One number, or one for each independent run; NaN marks a missing run. The mean must be positive.
    standard_error : array_like, positive, shape (ratios,), optional
        Of each error, if there is one number per ratio. If left out, all ratios have equal weight and there is no
        interval.
    replicates : int, at least 20
        Resamples of the runs in the bootstrap, ratio by ratio; their percentiles give the interval.
    seed : int or Generator
        Seed of the bootstrap.

    Notes
    -----
    A slope over a finite range is not the exponent of the limit. Compare it with fits to the curves of
    :func:`~genlaws.rules_facts.solve` and :func:`~genlaws.rules_facts.bayes_optimal` over the same ratios.
    """
    alpha, errors = _read_errors(sample_ratio, generalization_error)
    rng = generator_of(seed)
    runs = np.isfinite(errors).sum(axis=1)
    mean = np.nanmean(errors, axis=1)
    if errors.shape[1] > 1:
        if standard_error is not None:
            raise InputError("standard_error must be left out where generalization_error holds several runs; got both.")
        scatter = np.nanstd(errors, axis=1, ddof=1) / np.sqrt(runs)
    else:
        scatter = np.zeros_like(mean) if standard_error is None else _read_standard_error(standard_error, alpha.size)
    order = np.argsort(alpha)
    alpha, errors, mean, scatter = alpha[order], errors[order], mean[order], scatter[order]
    relative = scatter / mean
    weights = 1.0 / np.maximum(relative, MIN_RELATIVE_ERROR) ** 2
    gamma, log_c = (float(one) for one in _fit_lines(alpha, np.log(mean), weights))
    if errors.shape[1] > 1:
        slopes, heights = _fit_lines(alpha, _resample_log_means(errors, replicates, rng), weights)
        count = int(runs.min())
        exponent = from_replicates(gamma, slopes, count)
        prefactor = from_replicates(float(np.exp(log_c)), np.exp(heights), count)
    else:
        exponent, prefactor = _normal_intervals(alpha, gamma, log_c, weights, known=standard_error is not None)
    left = np.log(mean) - (log_c - gamma * np.log(alpha))
    freedom = alpha.size - 2 if scatter.any() else 0
    return DecayFit(
        exponent=exponent,
        prefactor=prefactor,
        sample_ratio=alpha,
        generalization_error=mean,
        relative_error=relative,
        local_exponent=-np.diff(np.log(mean)) / np.diff(np.log(alpha)),
        misfit=float((weights * left**2).sum() / freedom) if freedom else np.nan,
    )


def _read_errors(sample_ratio: ArrayLike, generalization_error: ArrayLike) -> tuple[Array, Array]:
    """Return the ratios and a table of errors, one row for each, NaN where a run is missing."""
    alpha = SAMPLE_RATIO.checked("sample_ratio", sample_ratio)
    if alpha.ndim != 1 or alpha.size < 2 or np.unique(alpha).size < alpha.size:
        raise InputError(f"sample_ratio must hold at least two numbers, all different; got {alpha.tolist()}.")
    errors = _read_numbers(generalization_error)
    if errors.ndim not in {1, 2} or len(errors) != alpha.size:
        raise InputError(
            f"generalization_error must have {alpha.size} rows, one for each sample_ratio; got shape {errors.shape}."
        )
    table = errors.reshape(alpha.size, -1)
    counts = np.isfinite(table).sum(axis=1)
    least = 1 if table.shape[1] == 1 else 2
    if np.isinf(table).any() or counts.min(initial=least) < least:
        raise InputError(
            f"generalization_error must be finite, with {least} or more runs at each sample_ratio; got {errors.shape}."
        )
    positive("generalization_error", np.nanmean(table, axis=1), "A power law is never zero; test on more inputs.")
    return alpha, table


def _read_numbers(generalization_error: ArrayLike) -> Array:
    """Return real numbers as an array, NaN among them."""
    try:
        given = np.asarray(generalization_error)
    except ValueError:
        return real("generalization_error", generalization_error)  # raises the error message
    if given.dtype.kind != "f":
        return real("generalization_error", given)
    return given.astype(np.float64)


def _read_standard_error(standard_error: ArrayLike, count: int) -> Array:
    scatter = positive("standard_error", standard_error)
    if scatter.shape != (count,):
        raise InputError(f"standard_error must hold {count} numbers, one for each sample_ratio; got {scatter.shape}.")
    return scatter


def _fit_lines(alpha: Array, log_error: Array, weights: Array) -> tuple[Array, Array]:
    """Return minus the slope and the height at α = 1 of the lines through rows of logarithms of errors."""
    x, share = np.log(alpha), weights / weights.sum()
    middle = (share * x).sum()
    slope = (log_error * share * (x - middle)).sum(axis=-1) / (share * (x - middle) ** 2).sum()
    return -slope, (log_error * share).sum(axis=-1) - slope * middle


def _resample_log_means(errors: Array, replicates: int, rng: np.random.Generator) -> Array:
    """Return logarithms of means over runs resampled with replacement, (replicates, ratios)."""
    means = []
    for row in errors:
        runs = row[np.isfinite(row)]
        means.append(runs[rng.integers(0, runs.size, (replicates, runs.size))].mean(axis=1))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.stack(means, axis=1)))


def _normal_intervals(
    alpha: Array, gamma: float, log_c: float, weights: Array, *, known: bool
) -> tuple[Estimate, Estimate]:
    """Return the estimates with intervals from the standard errors, or without if there are none."""
    if not known:
        return Estimate(gamma), Estimate(math.exp(log_c))
    x = np.log(alpha)
    middle = (weights * x).sum() / weights.sum()
    spread = (weights * (x - middle) ** 2).sum()
    slope = from_standard_error(gamma, float(1.0 / np.sqrt(spread)), 0, math.inf)
    height = from_standard_error(log_c, float(np.sqrt(1.0 / weights.sum() + middle**2 / spread)), 0, math.inf)
    return slope, Estimate(math.exp(log_c), math.exp(height.low), math.exp(height.high))
