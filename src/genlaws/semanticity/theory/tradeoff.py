r"""Two items at once: how much generalization a resolution gives and how much identification it costs.

Generalization :math:`p_S` is the probability of choosing the item nearest to a new probe; identification :math:`p_I`
that of choosing the item the probe was copied from. Both follow Luce's rule: an item is chosen in proportion to its
similarity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from genlaws.core.arguments import Array, broadcast, fraction, non_negative, positive
from genlaws.core.errors import InputError

LN2 = float(np.log(2.0))
VARIANCE_TOLERANCE = 1e-12  # a variance may exceed its bound by this much
BLOCK_SIZE = 1 << 20  # pairs of a point and a piece of a curve that are held together


def generalization_probability(
    ball_mass: ArrayLike, ball_mass_variance: ArrayLike = 0.0, background: ArrayLike = 0.0
) -> Array:
    r"""Probability of choosing the nearer of two items, constant similarity.

    .. math:: p_S = \tfrac12 + \frac{1-\Delta}{1+\Delta}
        \left(\langle b\rangle - \langle b\rangle^2 - \mathrm{Var}\,b\right)

    Symbols: :math:`\langle b\rangle` is ``ball_mass``, the share of the space within one resolution of a probe,
    averaged over probes; :math:`\mathrm{Var}\,b` its variance over probes, zero in a homogeneous space; :math:`\Delta`
    the ``background``. Exact for every space, also one with equal distances, if a tie is split.

    Parameters
    ----------
    ball_mass : array_like in [0, 1]
    ball_mass_variance : array_like in [0, ball_mass (1 - ball_mass)]
    background : array_like in [0, 1]

    References
    ----------
    :cite:p:`nurisso2026`, Theorems 1 and 2.
    """
    b, variance, delta = broadcast(
        ball_mass=fraction("ball_mass", ball_mass, "It is a share of the space, not a radius."),
        ball_mass_variance=non_negative("ball_mass_variance", ball_mass_variance),
        background=fraction("background", background),
    )
    impossible = variance > b * (1.0 - b) + VARIANCE_TOLERANCE
    if impossible.any():
        raise InputError(
            "ball_mass_variance must be at most ball_mass (1 - ball_mass), as for any share; "
            f"got {variance[impossible].flat[0]:g}. It is a variance, not a standard deviation."
        )
    return 0.5 + (1.0 - delta) / (1.0 + delta) * (b - b**2 - variance)


def identification_probability(ball_mass: ArrayLike, background: ArrayLike = 0.0) -> Array:
    r"""Probability of naming which of two items the probe was copied from, constant similarity.

    .. math:: p_I = \frac{2 - (1-\Delta)\langle b\rangle}{2(1+\Delta)}

    Symbols: :math:`\langle b\rangle` is ``ball_mass``, :math:`\Delta` the ``background``.

    Parameters
    ----------
    ball_mass, background : array_like in [0, 1]

    References
    ----------
    :cite:p:`nurisso2026`, Theorems 1 and 2.
    """
    b, delta = broadcast(
        ball_mass=fraction("ball_mass", ball_mass, "It is a share of the space, not a radius."),
        background=fraction("background", background),
    )
    return (2.0 - (1.0 - delta) * b) / (2.0 * (1.0 + delta))


def homogeneous_front(identification: ArrayLike) -> Array:
    r"""Generalization that goes with an identification, for two items and the constant similarity.

    .. math:: p_S = \tfrac12 + 2(1-p_I)(2p_I-1)

    It needs a homogeneous space and no background, and has its peak 3/4 at :math:`p_I = 3/4`. The front belongs to this
    similarity and to Luce's rule; it is not a bound on every system: on the circle the linear similarity lies above it
    as long as :math:`p_I > 0.72448`.

    Parameters
    ----------
    identification : array_like in [1/2, 1]

    References
    ----------
    :cite:p:`nurisso2026`, after Theorem 1.
    """
    p = fraction("identification", identification)
    if (p < 0.5).any():
        raise InputError(f"identification of two items must lie in [0.5, 1]; got {p.min():g}.")
    return 0.5 + 2.0 * (1.0 - p) * (2.0 * p - 1.0)


def linear_on_circle(ball_mass: ArrayLike) -> tuple[Array, Array]:
    r"""Both probabilities for the linear similarity on the circle, two items.

    .. math:: p_S = \tfrac12 + b - \left(\tfrac32 - \ln2\right)b^2, \qquad p_I = 1 - (1-\ln 2)\,b

    Symbols: :math:`b = 2\varepsilon` for a circle of length 1, ``ball_mass``; the similarity is
    :math:`\max(0, 1-d/\varepsilon)`. The peak is 0.80985 at :math:`b = 0.61969`.

    Parameters
    ----------
    ball_mass : array_like in [0, 1]

    Returns
    -------
    generalization, identification : arrays

    References
    ----------
    :cite:p:`nurisso2026`, Proposition 1.
    """
    b = fraction("ball_mass", ball_mass)
    return 0.5 + b - (1.5 - LN2) * b**2, 1.0 - (1.0 - LN2) * b


def exponential_on_circle(resolution: ArrayLike) -> tuple[Array, Array]:
    r"""Both probabilities for the exponential similarity on the circle of length 1, two items, no background.

    .. math:: p_I = \frac{\ln(1+e^a) - \ln 2}{a}, \qquad
        p_S = -\frac{2\ln 2}{a} - \frac{2}{a^2}\left(\mathrm{Li}_2(-e^a) + \frac{\pi^2}{12}\right), \qquad
        a = \frac1{2\varepsilon}

    Both tend to 1 as the resolution gets finer: without a background there is nothing to trade.

    Parameters
    ----------
    resolution : array_like > 0
        :math:`\varepsilon`.

    Returns
    -------
    generalization, identification : arrays

    Notes
    -----
    For :math:`a < 0.1` both are series in :math:`a`; for larger :math:`a` the inversion formula of the dilogarithm
    removes the growing exponential: :math:`\mathrm{Li}_2(-e^a) = -\pi^2/6 - a^2/2 - \mathrm{Li}_2(-e^{-a})`.
    """
    epsilon = positive("resolution", resolution)
    with np.errstate(over="ignore"):
        a = 0.5 / epsilon
    series = a < 0.1
    small, large = np.where(series, a, 0.0), np.where(series, 1.0, a)
    decay = np.exp(-large)
    identification = 1.0 - (LN2 - np.log1p(decay)) / large
    # scipy's spence(z) is Li2(1 - z).
    dilogarithm = special.spence(1.0 + decay)
    generalization = 1.0 - (2.0 * LN2 - (np.pi**2 / 6.0 + 2.0 * dilogarithm) / large) / large
    square = small**2
    series_identification = 0.5 + small * (1 / 8 - square * (1 / 192 - square * (1 / 2880 - square * 17 / 645120)))
    series_generalization = 0.5 + small * (1 / 12 - square * (1 / 480 - square * (1 / 10080 - square * 17 / 2903040)))
    return (
        np.where(series, series_generalization, generalization),
        np.where(series, series_identification, identification),
    )


@dataclass(frozen=True)
class PlaneCurve:
    """A curve in the plane of generalization and identification, by its points."""

    generalization: Array
    identification: Array

    def generalization_at(self, identification: ArrayLike) -> Array:
        """Return the generalization at an identification, interpolated; beyond an end, that of the end."""
        order = np.argsort(self.identification, kind="stable")
        at = np.asarray(identification, dtype=np.float64)
        return np.asarray(np.interp(at, self.identification[order], self.generalization[order]))

    def distance(self, generalization: ArrayLike, identification: ArrayLike) -> Array:
        """Return the distance of points from the curve; positive above it, negative below.

        Above means more generalization than the curve has at the same identification.
        """
        points = np.stack(np.broadcast_arrays(generalization, identification), axis=-1).astype(np.float64)
        flat, step = points.reshape(-1, 2), max(1, BLOCK_SIZE // len(self.generalization))
        pieces = [self._to_pieces(flat[start : start + step]).min(axis=1) for start in range(0, len(flat), step)]
        apart = np.concatenate([np.empty(0), *pieces]).reshape(points.shape[:-1])
        return np.where(points[..., 0] >= self.generalization_at(points[..., 1]), apart, -apart)

    def nearest_piece(self, generalization: float, identification: float) -> int:
        """Return the index of the piece, between a point of the curve and the next, nearest to a point of the plane."""
        return int(np.argmin(self._to_pieces(np.array([[generalization, identification]]))))

    def _to_pieces(self, points: Array) -> Array:
        """Return the distance of each point, (points, 2), from each piece of the curve, (points, pieces)."""
        x, y = self.generalization, self.identification
        step_x, step_y = np.diff(x), np.diff(y)
        from_x, from_y = points[:, :1] - x[:-1], points[:, 1:] - y[:-1]
        length = np.maximum(step_x**2 + step_y**2, 1e-300)
        along = np.clip((from_x * step_x + from_y * step_y) / length, 0.0, 1.0)
        return np.hypot(from_x - along * step_x, from_y - along * step_y)
