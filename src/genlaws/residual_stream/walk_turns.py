r"""How far the portrait of a Gaussian path turns, exactly.

The paper's count adds the angles from each tangent of the curve (activation, gradient) to the next. For a Gaussian path
two successive tangents :math:`u, v` are four jointly Gaussian numbers, and the mean angle from one to the other is an
integral over two angles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, real
from genlaws.numerics.errors import InputError

DIRECTIONS, INSIDE = 32, 12  # points of the two integrals; more change a count of turns by less than 1e-5


def expected_bends(step_covariance: ArrayLike) -> Array:
    r"""Return the mean angle, anticlockwise positive, by which the tangent of a unit's portrait turns at each site.

    Take a line through the origin in a direction :math:`m`, with normal :math:`n`. The shorter way from :math:`u` to
    :math:`v` crosses it with a probability that is the angle between them over :math:`\pi`, on average over the
    directions; it does so anticlockwise where the crossing lies on the side of :math:`m` and :math:`n\cdot v` is
    positive. With :math:`a = n\cdot u` and :math:`b = n\cdot v` the crossing lies along :math:`b\,u - a\,v`, whose part
    along :math:`m` is Gaussian with mean :math:`\mu` and variance :math:`\sigma^2` given :math:`a < 0 < b`. The length
    of :math:`(a, b)` can be integrated out, and what is left is

    .. math:: \langle\Delta\theta\rangle = \frac1\pi \int_0^\pi d\theta_m \int_{\pi/2}^{\pi/2 + \beta} d\omega\,
        \frac{\mu}{\sqrt{\mu^2 + \sigma^2}}, \qquad a = \sigma_a\cos\omega,\; b = \sigma_b\cos(\omega - \beta),\;
        \cos\beta = \operatorname{corr}(a, b)

    Parameters
    ----------
    step_covariance : array (steps, steps)
        Of one unit's steps from site to site; at least two.

    Returns
    -------
    array (steps - 1,)
        One for each site but the first and the last. Their sum over 2π is the mean of
        :func:`genlaws.residual_stream.portraits.tangent_turns`.
    """
    steps = real("step_covariance", step_covariance)
    if steps.ndim != 2 or steps.shape[0] != steps.shape[1] or steps.shape[0] < 2:
        raise InputError(f"step_covariance must be a square array of at least two steps; got {steps.shape}.")
    if not (np.diagonal(steps) > 0).all():
        raise InputError("step_covariance must have positive variances: a portrait without movement has no tangent.")
    angle = (np.arange(DIRECTIONS) + 0.5) * np.pi / DIRECTIONS
    along = np.stack([np.cos(angle), np.sin(angle)])
    across = np.stack([-np.sin(angle), np.cos(angle)])
    inside = _rotated(_tangent_moments(steps), along, across)
    return np.asarray(_signed_crossings(*inside).mean(axis=1))


def _tangent_moments(steps: Array) -> tuple[Array, Array, Array]:
    r"""Return :math:`\langle uu^\top\rangle, \langle uv^\top\rangle, \langle vv^\top\rangle`, each (bends, 2, 2).

    A tangent is (the step, the change of the gradient): gradients are half the sum of the steps on both sides, at the
    ends the one step there is.
    """
    count = steps.shape[0]
    gradients = np.zeros((count + 1, count))
    inner = np.arange(1, count)
    gradients[inner, inner - 1] = gradients[inner, inner] = 0.5
    gradients[0, 0] = gradients[-1, -1] = 1.0
    change = np.diff(gradients, axis=0)
    both = np.stack([np.eye(count), change])  # (x or y, tangent, step)
    moments = np.einsum("xik,kl,yjl->ijxy", both, steps, both, optimize=True)
    here = np.arange(count)
    own = moments[here, here]
    return own[:-1], moments[here[:-1], here[1:]], own[1:]


def _rotated(moments: tuple[Array, Array, Array], along: Array, across: Array) -> tuple[Array, ...]:
    """Return moments of (a, b), of the parts along the line with (a, b), and of these parts; (bends, directions)."""
    uu, uv, vv = moments

    def form(matrix: Array, left: Array, right: Array) -> Array:
        """Return the quadratic form in every direction."""
        return np.asarray(np.einsum("xd,bxy,yd->bd", left, matrix, right, optimize=True))

    own = (form(uu, across, across), form(uv, across, across), form(vv, across, across))
    mixed = (form(uu, along, across), form(uv, along, across), form(uv.mT, along, across), form(vv, along, across))
    rest = (form(uu, along, along), form(uv, along, along), form(vv, along, along))
    return (*own, *mixed, *rest)


def _signed_crossings(  # noqa: PLR0917 - ten moments of two vectors
    aa: Array, ab: Array, bb: Array, ua: Array, ub: Array, va: Array, vb: Array, uu: Array, uv: Array, vv: Array
) -> Array:
    r"""Return the inner integral, (bends, directions); u and v are the parts along the line."""
    determinant = aa * bb - ab**2
    beta = np.arctan2(np.sqrt(np.maximum(determinant, 0.0)), ab)
    to_u = (ua * bb - ub * ab) / determinant, (ub * aa - ua * ab) / determinant  # regression of u on (a, b)
    to_v = (va * bb - vb * ab) / determinant, (vb * aa - va * ab) / determinant
    left = (
        uu - to_u[0] * ua - to_u[1] * ub,
        uv - to_u[0] * va - to_u[1] * vb,
        vv - to_v[0] * va - to_v[1] * vb,
    )
    points, weights = np.polynomial.legendre.leggauss(INSIDE)
    total = np.zeros_like(aa)
    for point, weight in zip(points.tolist(), weights.tolist(), strict=True):
        turned = 0.5 * beta * (1.0 + point)
        a, b = -np.sqrt(aa) * np.sin(turned), np.sqrt(bb) * np.sin(beta - turned)
        mean = b * (to_u[0] * a + to_u[1] * b) - a * (to_v[0] * a + to_v[1] * b)
        variance = b**2 * left[0] - 2.0 * a * b * left[1] + a**2 * left[2]
        total += weight * mean / np.sqrt(mean**2 + np.maximum(variance, 0.0))
    return np.asarray(0.5 * beta * total)
