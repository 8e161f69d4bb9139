r"""The learner side of the state equations: the response of a learner of given width and kernel to the channel.

In units where :math:`\mu_1 = 1` a learner is three numbers: the ridge :math:`\ell = \lambda/\mu_1^2`, the
non-linear share :math:`R = \mu_*^2/\mu_1^2` and the inverse width :math:`\gamma = 1/\kappa` (zero for a kernel).
Given the stiffness :math:`\hat V` of the channel they fix

.. math:: V = D + R\,G, \qquad m = D\,\hat m, \qquad \tau^2 = A\,\hat m^2 + B\,\hat q .

With :math:`Z = \ell + \gamma R \hat V` and
:math:`S^2 = (\hat V(1-\sqrt\gamma)^2 + Z)(\hat V(1+\sqrt\gamma)^2 + Z)`, Marchenko and Pastur's law gives

.. math::
    D &= \frac{2}{\hat V(1+\gamma) + Z + S}, \qquad G = \frac{2}{\hat V(\gamma-1) + Z + S}, \\
    A &= \gamma \frac{D}{S}\Bigl[\frac{D^2}{G^2} + R\Bigr], \qquad
    B = \frac1S\Bigl[D\,\frac{\hat V(1-\gamma)^2 + 2Z(1+\gamma)}{S+Z} + 2\gamma R D + \gamma R^2\frac{G^2}{D}\Bigr].

At :math:`\gamma = 0` these are the kernel equations :math:`D = 1/(\ell+\hat V)`, :math:`G = 1/\ell`,
:math:`A = 0`, :math:`B = D^2`.

References
----------
:cite:t:`farne2026`, Eq. 24 (kernel) and Eq. 88 (finite width).

Notes
-----
The paper writes :math:`q_s, q_w, V_s, V_w` with differences that cancel at large width. The forms above are
the same functions with the differences carried out analytically; all terms are positive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from genlaws.core.arguments import Array, Mask, Whole

# A complex step takes no difference, so it may be as small as the arithmetic allows.
COMPLEX_STEP = 1e-30


class Learner(NamedTuple):
    """Ridge ℓ = λ/μ1², non-linear share R = μ*²/μ1² and inverse width γ = 1/κ, as arrays of one length."""

    ridge: Array
    nonlinear_share: Array
    inverse_width: Array

    @property
    def weight(self) -> Array:
        r"""The weight :math:`1 + \gamma(1 + R)` of the stiffness in the rigidity; one for a kernel."""
        return 1.0 + self.inverse_width * (1.0 + self.nonlinear_share)

    def take(self, index: Mask | Whole) -> Learner:
        """Return the learners at `index`."""
        return Learner(self.ridge[index], self.nonlinear_share[index], self.inverse_width[index])


class LearnerSide(NamedTuple):
    r"""The coefficients V, D, A and B of a learner at stiffness :math:`\hat V`."""

    response: Array
    rule_gain: Array
    rule_noise: Array
    noise_gain: Array


def learner_side(learner: Learner, rigidity: Array) -> LearnerSide:
    r"""Return V, D, A and B at the rigidity :math:`K = \ell + \hat V\,[1 + \gamma(1 + R)]`."""
    if not learner.inverse_width.any():
        return _kernel_side(learner, rigidity)
    return _feature_side(learner, stiffness(learner, rigidity))


def learner_side_slope(learner: Learner, rigidity: Array) -> LearnerSide:
    r"""Return the derivatives of V, D, A and B with respect to :math:`\log K`."""
    if not learner.inverse_width.any():
        D = 1.0 / rigidity
        return LearnerSide(-D, -D, np.zeros_like(D), -2.0 * D * D)
    step = COMPLEX_STEP * rigidity / learner.weight
    shifted = _feature_side(learner, stiffness(learner, rigidity) + 1j * step)
    return LearnerSide(*(np.imag(part) / COMPLEX_STEP for part in shifted))


def inverse_nonlinear_gain(learner: Learner, rigidity: Array) -> Array:
    r"""Return 1/G at the rigidity K. Since :math:`1/D = \hat V + 1/G`, it is the ridge itself for a kernel."""
    if not learner.inverse_width.any():
        return learner.ridge
    return _spectrum(learner, stiffness(learner, rigidity))[3]


def stiffness(learner: Learner, rigidity: Array) -> Array:
    r"""Return :math:`\hat V = (K - \ell)/c`."""
    return np.maximum(rigidity - learner.ridge, 0.0) / learner.weight


def _kernel_side(learner: Learner, rigidity: Array) -> LearnerSide:
    D = 1.0 / rigidity
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond_rule = np.where(learner.nonlinear_share > 0.0, learner.nonlinear_share / learner.ridge, 0.0)
    return LearnerSide(D + beyond_rule, D, np.zeros_like(D), D * D)


def _feature_side(learner: Learner, V_hat: Array) -> LearnerSide:
    R = learner.nonlinear_share
    gamma, Z, S, inverse_G = _spectrum(learner, V_hat)
    D = 2.0 / (V_hat * (1.0 + gamma) + Z + S)
    R_G = R / np.where(R > 0.0, inverse_G, 1.0)
    A = gamma * D / S * ((D * inverse_G) ** 2 + R)
    B = D * (V_hat * (1.0 - gamma) ** 2 + 2.0 * Z * (1.0 + gamma)) / (S + Z)
    B = (B + 2.0 * gamma * R * D + gamma * R_G**2 / D) / S
    return LearnerSide(D + R_G, D, A, B)


def _spectrum(learner: Learner, V_hat: Array) -> tuple[Array, Array, Array, Array]:
    r"""Return γ, Z, S and 1/G, the last in whichever of its two equal forms adds terms of one sign.

    They are conjugates: :math:`[S + Z - \hat V(1-\gamma)]\,[S - Z + \hat V(1-\gamma)] = 4 Z \hat V`.
    """
    ell, R, gamma = learner
    Z = ell + gamma * R * V_hat
    # A width beyond its rank does not change a linear model without ridge.
    gamma = np.where((Z == 0.0) & (gamma <= 1.0), 0.0, gamma)
    S = np.sqrt((V_hat * (1.0 - np.sqrt(gamma)) ** 2 + Z) * (V_hat * (1.0 + np.sqrt(gamma)) ** 2 + Z))
    offset = V_hat * (gamma - 1.0) + Z
    direct = np.real(offset) >= 0.0
    inverse_G = np.where(direct, 0.5 * (offset + S), 2.0 * Z * V_hat / np.where(direct, 1.0, S - offset))
    return gamma, Z, S, inverse_G
