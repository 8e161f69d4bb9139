r"""Two representations and a bias that learns: the full gradient flow, without assuming an optimal bias.

On a line, with the errors :math:`e_i = a x_i + b - y`,

.. math:: \dot a = -\eta_A(e_1x_1 + e_2x_2), \qquad \dot b = -\eta_b(e_1+e_2), \qquad \dot x_i = -\eta_x\, a\, e_i .

While the bias is away from its best value the center of the two moves and drags the decoder along, so whether they
merge depends on the target :math:`y`. The laws of :mod:`~genlaws.relations.repons.probability` are the limit of a fast
bias, :math:`\eta_b\to\infty`; for a bias as slow as the decoder they are bounds in neither direction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import integrate

from genlaws.core.arguments import Array, non_negative, positive, real, scalar
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.relations.repons.matrix import checked_rates

RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-12, 1e-14


class TwoReponPath(NamedTuple):
    r"""Two repons on a line, their decoder and its bias, over time; each array has shape (times,).

    Attributes
    ----------
    time, decoder_gain, bias, half_separation, center : array
    invariant : array
        :math:`a^2/\eta_A - (x_1^2+x_2^2)/\eta_x`, which the flow conserves: how far it drifts is the error.
    reduced_invariant : array
        :math:`a^2/(2\eta_A) - c^2/\eta_x`, conserved only while the bias is at its best value; its sign at the end
        decides.
    """

    time: Array
    decoder_gain: Array
    bias: Array
    half_separation: Array
    center: Array
    invariant: Array
    reduced_invariant: Array


def two_repon_path(
    decoder_gain: float,
    positions: tuple[float, float],
    time: ArrayLike,
    *,
    encoder_rate: float,
    decoder_rate: float,
    target: float = 0.0,
    bias: float = 0.0,
    bias_rate: float | None = None,
) -> TwoReponPath:
    r"""Integrate the full flow from one start, to twelve digits.

    Parameters
    ----------
    decoder_gain : float
        :math:`a` at time zero.
    positions : two floats
        :math:`x_1` and :math:`x_2` at time zero.
    time : array_like >= 0, rising, one axis
    encoder_rate, decoder_rate : float > 0
    target, bias : float
        :math:`y`, and :math:`b` at time zero.
    bias_rate : float > 0, optional
        :math:`\eta_b`; by default that of the decoder.

    Notes
    -----
    The paper's equation for the bias lacks the factor 2 of the two errors, and the flow does not
    preserve its choice of a center at zero: the center moves as long as the bias is not at its best value.

    References
    ----------
    :cite:p:`baek2024`, Appendix C.
    """
    eta_x, eta_a = checked_rates(encoder_rate, decoder_rate)
    eta_b = eta_a if bias_rate is None else float(scalar("bias_rate", positive("bias_rate", bias_rate)))
    t = np.atleast_1d(non_negative("time", time))
    if t.ndim != 1 or not t.size or (np.diff(t) < 0).any():
        raise InputError("time must be a rising list of numbers.")
    start = real("start", np.array([decoder_gain, bias, *positions], dtype=float))
    y = float(scalar("target", real("target", target)))
    if start.shape != (4,) or not np.isfinite(start).all() or not np.isfinite(y):
        raise InputError("decoder_gain, bias, target and the two positions must be finite numbers.")

    def velocity(_: float, state: Array) -> Array:
        a, b, x1, x2 = state
        e1, e2 = a * x1 + b - y, a * x2 + b - y
        return np.array([-eta_a * (e1 * x1 + e2 * x2), -eta_b * (e1 + e2), -eta_x * a * e1, -eta_x * a * e2])

    found = integrate.solve_ivp(
        velocity,
        (0.0, max(float(t[-1]), np.finfo(float).tiny)),
        start,
        method="LSODA",
        t_eval=t,
        rtol=RELATIVE_TOLERANCE,
        atol=ABSOLUTE_TOLERANCE * max(1.0, float(np.abs(start).max())),
    )
    if not found.success:
        raise ConvergenceError(f"The flow could not be followed to time {t[-1]:g}: {found.message}", found)
    a, b, x1, x2 = found.y
    c = 0.5 * (x1 - x2)
    conserved = a**2 / eta_a - (x1**2 + x2**2) / eta_x
    return TwoReponPath(t, a, b, c, 0.5 * (x1 + x2), conserved, a**2 / (2.0 * eta_a) - c**2 / eta_x)
