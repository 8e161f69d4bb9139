"""What stands in the way of reading a mutual information: constant, nearly discrete or lumped states."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import digamma

from genlaws.numerics.arguments import Array, Mask
from genlaws.residual_stream.information_estimators import varies
from genlaws.residual_stream.information_ranks import COPY, copula_shortfall, least_information

MOST_EQUAL = 0.5  # share of texts that may repeat a value before a variable counts as nearly discrete
SHORTFALL_TO_REPORT = 0.1  # nats by which ranks may underestimate a strong dependence without a word
LUMPED = 0.5  # nats between a Gaussian's entropy and the variable's from which one bandwidth does not fit it
EFFECTS = {  # of a nearly discrete variable on each estimate
    "copula": "the copula gives a lower bound",
    "neighbours": "equal values are separated by noise of 1e-10",
    "binned": "equal values share a bin",
    "kernel": "KDE overestimates",
}


def nearly_discrete(values: Array) -> Mask:
    """Return which rows of (variables, texts) have so few values that more than half of the texts repeat one."""
    ordered = np.sort(values, axis=-1)
    distinct = 1 + np.count_nonzero(np.diff(ordered, axis=-1), axis=-1)
    return np.asarray(distinct < (1.0 - MOST_EQUAL) * values.shape[-1])


def linear_functions(x: Array, y: Array) -> Mask:
    """Return in which rows of (units, texts) one variable is a linear function of the other, up to rounding."""
    a, b = (np.asarray(rows, dtype=np.float64) - rows.mean(axis=-1, keepdims=True, dtype=np.float64) for rows in (x, y))
    squares = (a**2).sum(axis=-1) * (b**2).sum(axis=-1)
    return np.asarray((squares > 0) & (squares - (a * b).sum(axis=-1) ** 2 < COPY * squares))


def entropy_deficit(values: Array) -> Array:
    r"""Return how far the entropy of each row lies below that of a Gaussian with its variance, in nats.

    .. math:: J = \tfrac12\ln 2\pi e s^2 - \frac1{N-m}\sum_i \ln\Big[\frac{N+1}{m}(x_{(i+m)}-x_{(i)})\Big]
        - \ln m + \psi(m)

    Symbols: :math:`x_{(i)}` are the sorted values, :math:`s` their standard deviation, :math:`m` about
    :math:`\sqrt N / 2`. Near 0 for a bell, 0.18 for a uniform variable, 2.3 for two lumps forty widths apart, infinite
    for repeated values.
    """
    count = values.shape[-1]
    m = max(1, round(0.5 * count**0.5))
    ordered = np.sort(values.astype(np.float64), axis=-1)
    with np.errstate(divide="ignore"):
        logs = np.log((count + 1) / m * (ordered[:, m:] - ordered[:, :-m])).mean(axis=-1)
        gaussian = 0.5 * np.log(2.0 * np.pi * math.e * values.var(axis=-1, dtype=np.float64))
    bias = np.log(m) - digamma(m)
    return np.asarray(gaussian - logs - bias)


def reason_of(estimator: str, names: tuple[str, str], states: tuple[Array, Array], values: Array) -> str:
    """Return in words what stands in the way of one transition, or nothing.

    Parameters
    ----------
    estimator : str
    names : tuple of str
        Of the two sites.
    states : tuple of two arrays of shape (units, texts)
    values : array of shape (units,)
        The estimates.
    """
    parts = []
    for name, rows in zip(names, states, strict=True):
        moving = varies(rows)
        if not moving.all():
            parts.append(f"undefined for {_share(~moving)}: the state at {name} is the same in all texts")
        discrete = nearly_discrete(rows) & moving
        if discrete.any():
            parts.append(f"nearly discrete at {name} in {_share(discrete)}: {EFFECTS[estimator]}")
        if estimator == "kernel" and (moving & ~discrete).any():
            lumped = np.zeros_like(moving)
            lumped[moving & ~discrete] = entropy_deficit(rows[moving & ~discrete]) > LUMPED
            if lumped.any():
                parts.append(f"lumps or far outliers at {name} in {_share(lumped)}: one bandwidth does not fit")
    parts += _too_strong(estimator, names, states, values)
    return "; ".join(parts)


def _too_strong(estimator: str, names: tuple[str, str], states: tuple[Array, Array], values: Array) -> Iterator[str]:
    """Yield what is to be said of a dependence that is stronger than this number of texts can show."""
    count = states[0].shape[-1]
    infinite = np.isinf(values)
    copies = infinite & (linear_functions(*states) | (estimator == "kernel"))
    same_order = infinite & ~copies
    if copies.any():
        yield f"infinite for {_share(copies)}: {names[1]} is a linear function of {names[0]}"
    if same_order.any():
        continuous = not (same_order & (nearly_discrete(states[0]) | nearly_discrete(states[1]))).any()
        least = f", so the information is about {least_information(count):.1f} nats or more" if continuous else ""
        yield (
            f"no finite value for {_share(same_order)}, left out of the mean: all {count} texts have the same or the "
            f"opposite order at {names[0]} and {names[1]}{least}"
        )
    finite = np.isfinite(values)
    if estimator == "copula" and finite.any():
        low = float(copula_shortfall(values[finite], count).mean())
        if low > SHORTFALL_TO_REPORT:
            yield f"about {low:.1f} nats too low: ranks of {count} texts cannot resolve a dependence this strong"


def _share(chosen: Mask) -> str:
    """Say how many of the units are chosen."""
    return "all units" if chosen.all() else f"{np.count_nonzero(chosen)} of {chosen.size} units"
