"""Laws by which right answers may depend on the number of items, fitted by maximum likelihood."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from genlaws.numerics.arguments import Array
from genlaws.numerics.intervals import CONFIDENCE, Estimate
from genlaws.semanticity.many_items import identification_of_many, item_numbers

INVERSE, POWER, CONSTANT, ITEMS, PREDICTED = "c/n", "power", "constant", "n items", "similarity"
DEVIANCE = float(stats.chi2.ppf(CONFIDENCE, 1))
STEEPEST = 20.0  # exponents beyond are as good as infinite
LEAST_BALL = 1e-6  # masses below are as good as zero


@dataclass(frozen=True)
class Law:
    """One law fitted to the right answers.

    Attributes
    ----------
    name : {"c/n", "power", "constant", "n items", "similarity"}
    parameters : dict of str to Estimate
        With 95 % profile-likelihood intervals; an end that the answers leave open is infinite.
    probabilities : array
        Of a right answer, for each number of items that was used.
    log_likelihood, aic : float
    deviance : float
        Twice the log-likelihood that is missing to a law that goes through all points.
    degrees : int
        Numbers of items minus parameters.
    p_value : float
        Of so large a deviance if the law holds; NaN without degrees of freedom.
    """

    name: str
    parameters: dict[str, Estimate]
    probabilities: Array
    log_likelihood: float
    aic: float
    deviance: float
    degrees: int
    p_value: float

    def predict(self, item_counts: ArrayLike) -> Array:
        """Return the probability of a right answer among so many items; NaN for a law without parameters."""
        n = item_numbers("item_counts", item_counts)
        values = {name: one.value for name, one in self.parameters.items()}
        if self.name == INVERSE:
            return np.minimum(values["c"] / n, 1.0)
        if self.name == POWER:
            return np.minimum(values["a"] * n ** -values["gamma"], 1.0)
        if self.name == CONSTANT:
            return np.full(n.shape, values["p"])
        return identification_of_many(values["b"], n) if self.name == ITEMS else np.full(n.shape, np.nan)


class Counts:
    """Right answers among trials, and the likelihood of probabilities for them."""

    def __init__(self, n: Array, k: Array, total: Array) -> None:
        self.n, self.k, self.total = n, k, total
        self.highest = self.log_likelihood(k / total)

    def log_likelihood(self, p: Array) -> float:
        """Return the binomial log-likelihood without its constant; minus infinity for an impossible answer."""
        return float((special.xlogy(self.k, p) + special.xlog1py(self.total - self.k, -p)).sum())

    def best_scale(self, weights: Array) -> float:
        r"""Return the a for which :math:`p = a w` is likeliest, none of them above 1."""
        most = 1.0 / float(weights.max())
        misses = self.total - self.k

        def slope(scale: float) -> float:
            """Return the derivative of the log-likelihood by log a, which falls."""
            p = np.minimum(scale * weights, 1.0)
            return float(self.k.sum() - (misses * np.divide(p, 1.0 - p, out=np.zeros_like(p), where=p < 1.0)).sum())

        top = most * (1.0 - 1e-12)
        if self.k.sum() == 0:
            return 0.0
        return most if slope(top) >= 0 else float(optimize.brentq(slope, 0.0, top, xtol=1e-14, rtol=1e-12))

    def law(self, name: str, parameters: dict[str, Estimate], p: Array) -> Law:
        """Return a law with its likelihood and how well it fits."""
        value, count = self.log_likelihood(p), len(parameters)
        deviance, degrees = max(2.0 * (self.highest - value), 0.0), self.n.size - count
        p_value = float(stats.chi2.sf(deviance, degrees)) if degrees > 0 else math.nan
        return Law(name, parameters, p, value, 2.0 * count - 2.0 * value, deviance, degrees, p_value)

    def estimate(self, best: float, profile: Callable[[float], float], low: float, high: float) -> Estimate:
        """Return the profile-likelihood interval of a parameter between two limits."""
        top = profile(best)

        def beyond(value: float) -> float:
            """Return how far the deviance exceeds its 95 % point."""
            return min(2.0 * (top - profile(value)), 1e9) - DEVIANCE

        ends = [
            limit if best == limit or beyond(limit) <= 0 else float(optimize.brentq(beyond, best, limit, xtol=1e-10))
            for limit in (low, high)
        ]
        return Estimate(best, ends[0], ends[1], round(float(self.total.sum())))


def _scaled(name: str, parameter: str, used: Counts, weights: Array) -> Law:
    best = used.best_scale(weights)
    limit = 1.0 / float(weights.max())
    value = used.estimate(best, lambda scale: used.log_likelihood(np.minimum(scale * weights, 1.0)), 0.0, limit)
    return used.law(name, {parameter: value}, np.minimum(best * weights, 1.0))


def inverse_law(used: Counts) -> Law:
    """Fit c/n."""
    return _scaled(INVERSE, "c", used, 1.0 / used.n)


def constant_law(used: Counts) -> Law:
    """Fit the same probability for every number of items."""
    return _scaled(CONSTANT, "p", used, np.ones_like(used.n))


def items_law(used: Counts) -> Law:
    """Fit the mass of the ball of the law of n items."""

    def profile(logarithm: float) -> float:
        """Return the log-likelihood at a logarithm of the mass."""
        return used.log_likelihood(identification_of_many(min(math.exp(logarithm), 1.0), used.n))

    low = math.log(LEAST_BALL)
    grid = np.linspace(low, 0.0, 60)
    near = int(np.argmax([profile(at) for at in grid]))
    bracket = (float(grid[max(near - 1, 0)]), float(grid[min(near + 1, grid.size - 1)]))
    found = float(optimize.minimize_scalar(lambda at: -profile(at), bounds=bracket, options={"xatol": 1e-9}).x)
    best = max((found, *bracket), key=profile)
    ends = used.estimate(best, profile, low, 0.0)
    least = 0.0 if ends.low == low else math.exp(ends.low)
    mass = Estimate(math.exp(best), least, math.exp(ends.high), ends.count)
    return used.law(ITEMS, {"b": mass}, identification_of_many(min(mass.value, 1.0), used.n))


def power_law(used: Counts) -> Law:
    """Fit a power law; its likelihood is concave in the logarithm of a and the exponent together."""
    middle = float(np.exp(np.log(used.n).mean()))

    def curve(gamma: float) -> Array:
        """Return the likeliest probabilities for an exponent."""
        weights: Array = (used.n / middle) ** -gamma
        return np.minimum(used.best_scale(weights) * weights, 1.0)

    def profile(gamma: float) -> float:
        """Return the largest log-likelihood for an exponent."""
        return used.log_likelihood(curve(gamma))

    limits = (-STEEPEST, STEEPEST)
    gamma = float(optimize.minimize_scalar(lambda at: -profile(at), bounds=limits, options={"xatol": 1e-9}).x)
    found = used.estimate(gamma, profile, *limits)
    ends = (-math.inf if found.low == limits[0] else found.low, math.inf if found.high == limits[1] else found.high)
    p = curve(gamma)
    factor = Estimate(float(p[0] * used.n[0] ** gamma), count=found.count)
    return used.law(POWER, {"a": factor, "gamma": Estimate(gamma, *ends, found.count)}, p)
