"""How much of the variance of states a reconstruction of them keeps, with intervals over texts."""

from __future__ import annotations

import numpy as np
from scipy import special

from genlaws.numerics.arguments import Array, Whole
from genlaws.numerics.intervals import Estimate
from genlaws.residual_stream.curves import REPLICATES, TAIL, Curve, named


def explained_shares(
    states: Array, missed: Array, texts: Whole, rounding: Array, *, name: str, labels: tuple[str, ...]
) -> tuple[Curve, Estimate]:
    r"""Return the explained share of the variance at every site, and of all sites together.

    .. math:: 1 - \frac{\sum_b \lVert x_b - f(x_b)\rVert^2}{\sum_b \lVert x_b - \bar x\rVert^2}

    Symbols: :math:`x_b` is the state of row :math:`b`, :math:`f` the reconstruction, :math:`\bar x` the mean over the
    rows, at one site or over all sites.

    Parameters
    ----------
    states, missed : arrays (rows, sites, units)
        What was to be reconstructed, and by how much it was missed.
    texts : array of int (rows,)
        Number of the text of each row; intervals rest on texts.
    rounding : array (sites,)
        Distance below which states of a site do not differ.
    name : str
        Of the curve.
    labels : tuple of str
        Names of the sites.
    """
    lost, varied = _sums_by_text(states, missed, texts)
    n = lost.shape[0]
    constant = varied.sum(axis=0)[:-1] <= len(states) * rounding**2
    varied[:, :-1][:, constant] = np.nan
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), REPLICATES)
    value = 1.0 - lost.sum(axis=0) / varied.sum(axis=0)
    low, high = np.full_like(value, np.nan), np.full_like(value, np.nan)
    if n > 1:
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = 1.0 - (weights @ lost) / (weights @ varied)
        level = float(special.ndtr(np.sqrt(n / (n - 1.0)) * special.stdtrit(n - 1, TAIL)))
        known = ~np.isnan(value)
        low[known], high[known] = np.quantile(drawn[:, known], [level, 1.0 - level], axis=0)
    empty = [label for label, gone in zip(labels, constant, strict=True) if gone]
    message = (
        f"The states of the test texts do not vary at {named(empty)}, so there is no value there." if empty else ""
    )
    curve = Curve(name, labels, value[:-1], low[:-1], high[:-1], n, message)
    return curve, Estimate(float(value[-1]), float(low[-1]), float(high[-1]), n)


def _sums_by_text(states: Array, missed: Array, texts: Whole) -> tuple[Array, Array]:
    """Return what was missed and what varied, as squares summed over the rows of a text, (texts, sites and all)."""
    numbers, members = np.unique(texts, return_inverse=True)
    lost, varied = (np.zeros((numbers.size, states.shape[1] + 1)) for _ in range(2))
    np.add.at(lost[:, :-1], members, (missed**2).sum(axis=2))
    np.add.at(varied[:, :-1], members, ((states - states.mean(axis=0)) ** 2).sum(axis=2))
    np.add.at(varied[:, -1], members, ((states - states.mean(axis=(0, 1))) ** 2).sum(axis=(1, 2)))
    lost[:, -1] = lost[:, :-1].sum(axis=1)
    return lost, varied
