r"""How fast does the rule error fall with the number of samples?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from genlaws.numerics.arguments import Array, positive, real, whole_number
from genlaws.numerics.errors import InputError
from genlaws.numerics.intervals import CONFIDENCE, Estimate, from_replicates
from genlaws.numerics.seeds import generator_of
from genlaws.rules_facts.problem import read_sample_ratio

FINEST = 1e-3  # relative error below which no point is trusted: a power law is not that exact


@dataclass(frozen=True)
class DecayFit:
    r"""The power law :math:`\varepsilon_{gen} = C\alpha^{-\gamma}` that fits best.

    Attributes
    ----------
    exponent, prefactor : Estimate
        γ and C with 95 % intervals; there are none where the errors came without theirs.
    sample_ratio, rule_error, relative_error : array, shape (ratios,)
        What was fitted, by increasing sample ratio: means over runs, and their standard errors relative to them.
    local_exponent : array, shape (ratios - 1,)
        From each ratio to the next.
    misfit : float
        χ² per degree of freedom: well above 1, the errors do not lie on a power law within their scatter. NaN without
        standard errors or with two ratios.
    """

    exponent: Estimate
    prefactor: Estimate
    sample_ratio: Array
    rule_error: Array
    relative_error: Array
    local_exponent: Array
    misfit: float

    def __str__(self) -> str:
        low, high = self.sample_ratio[[0, -1]]
        return f"exponent {self.exponent} for sample ratios from {low:g} to {high:g}"


def fit_decay(
    sample_ratio: ArrayLike,
    rule_error: ArrayLike,
    *,
    standard_error: ArrayLike | None = None,
    replicates: int = 2000,
    seed: int | np.random.Generator = 0,
) -> DecayFit:
    r"""Fit a power law to errors at several sample ratios.

    Weighted least squares on :math:`\log\varepsilon_{gen} = \log C - \gamma\log\alpha`, each ratio with the inverse
    square of its relative standard error.

    Parameters
    ----------
    sample_ratio : array_like, positive, shape (ratios,)
        At least two, all different.
    rule_error : array_like, shape (ratios,) or (ratios, runs)
        One number, or those of independent runs; NaN marks a run that is missing. The mean must be positive.
    standard_error : array_like, positive, shape (ratios,), optional
        Of each error, where there is one number. Left out, all ratios count the same and there is no interval.
    replicates : int, at least 20
        Of the bootstrap over runs, ratio by ratio; the interval is that of its percentiles.
    seed : int or Generator
        Of the bootstrap.

    Notes
    -----
    A slope over a finite range is not the exponent of the limit: over the same ratios, fit the curves of
    :func:`~genlaws.rules_facts.solve` and :func:`~genlaws.rules_facts.bayes_optimal` too, and compare with those.
    """
    alpha, errors = _read(sample_ratio, rule_error)
    rounds = whole_number("replicates", replicates, at_least=20)
    rng = generator_of(seed)
    runs = np.isfinite(errors).sum(axis=1)
    mean = np.nanmean(errors, axis=1)
    if errors.shape[1] > 1:
        if standard_error is not None:
            raise InputError("standard_error must be left out where rule_error holds several runs; got both.")
        scatter = np.nanstd(errors, axis=1, ddof=1) / np.sqrt(runs)
    else:
        scatter = np.zeros_like(mean) if standard_error is None else _errors_of(standard_error, alpha.size)
    order = np.argsort(alpha)
    alpha, errors, mean, scatter = alpha[order], errors[order], mean[order], scatter[order]
    relative = scatter / mean
    weights = 1.0 / np.maximum(relative, FINEST) ** 2
    gamma, log_c = (float(one) for one in _line(alpha, np.log(mean), weights))
    if errors.shape[1] > 1:
        slopes, heights = _line(alpha, _resampled(errors, rounds, rng), weights)
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
        rule_error=mean,
        relative_error=relative,
        local_exponent=-np.diff(np.log(mean)) / np.diff(np.log(alpha)),
        misfit=float((weights * left**2).sum() / freedom) if freedom else np.nan,
    )


def _read(sample_ratio: ArrayLike, rule_error: ArrayLike) -> tuple[Array, Array]:
    """Return the ratios and a table of errors, one row for each, NaN where a run is missing."""
    alpha = read_sample_ratio(sample_ratio)
    if alpha.ndim != 1 or alpha.size < 2 or np.unique(alpha).size < alpha.size:
        raise InputError(f"sample_ratio must hold at least two numbers, all different; got {alpha.tolist()}.")
    errors = _numbers(rule_error)
    if errors.ndim not in {1, 2} or len(errors) != alpha.size:
        raise InputError(
            f"rule_error must have {alpha.size} rows, one for each sample_ratio; got shape {errors.shape}."
        )
    table = errors.reshape(alpha.size, -1)
    counts = np.isfinite(table).sum(axis=1)
    least = 1 if table.shape[1] == 1 else 2
    if np.isinf(table).any() or counts.min(initial=least) < least:
        raise InputError(
            f"rule_error must be finite, with {least} or more runs at each sample_ratio; got {errors.shape}."
        )
    positive("rule_error", np.nanmean(table, axis=1), "A power law has no zero; test on more inputs.")
    return alpha, table


def _numbers(rule_error: ArrayLike) -> Array:
    """Return real numbers as an array, NaN among them."""
    try:
        given = np.asarray(rule_error)
    except ValueError:
        return real("rule_error", rule_error)  # says what is wrong with it
    if given.dtype.kind != "f":
        return real("rule_error", given)
    return given.astype(np.float64)


def _errors_of(standard_error: ArrayLike, count: int) -> Array:
    scatter = positive("standard_error", standard_error)
    if scatter.shape != (count,):
        raise InputError(f"standard_error must hold {count} numbers, one for each sample_ratio; got {scatter.shape}.")
    return scatter


def _line(alpha: Array, log_error: Array, weights: Array) -> tuple[Array, Array]:
    """Return minus the slope and the height at α = 1 of the lines through rows of logarithms of errors."""
    x, share = np.log(alpha), weights / weights.sum()
    middle = (share * x).sum()
    slope = (log_error * share * (x - middle)).sum(axis=-1) / (share * (x - middle) ** 2).sum()
    return -slope, (log_error * share).sum(axis=-1) - slope * middle


def _resampled(errors: Array, replicates: int, rng: np.random.Generator) -> Array:
    """Return logarithms of means over runs drawn again with replacement, (replicates, ratios)."""
    means = []
    for row in errors:
        runs = row[np.isfinite(row)]
        means.append(runs[rng.integers(0, runs.size, (replicates, runs.size))].mean(axis=1))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.stack(means, axis=1)))


def _normal_intervals(
    alpha: Array, gamma: float, log_c: float, weights: Array, *, known: bool
) -> tuple[Estimate, Estimate]:
    """Return the estimates with the intervals that follow from standard errors, or without if there were none."""
    if not known:
        return Estimate(gamma), Estimate(float(np.exp(log_c)))
    x = np.log(alpha)
    middle = (weights * x).sum() / weights.sum()
    spread = (weights * (x - middle) ** 2).sum()
    z = float(ndtri(0.5 * (1.0 + CONFIDENCE)))
    half = z / np.sqrt(spread)
    tall = z * np.sqrt(1.0 / weights.sum() + middle**2 / spread)
    return (
        Estimate(gamma, gamma - half, gamma + half),
        Estimate(float(np.exp(log_c)), float(np.exp(log_c - tall)), float(np.exp(log_c + tall))),
    )
