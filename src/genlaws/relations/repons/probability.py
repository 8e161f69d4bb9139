r"""Probability that two representations drawn at random merge: gradient flow in any dimension, and sign updates.

The decoder's entries are normal with width :math:`s_a`, the half separation :math:`r = (x_1-x_2)/2` of the repons with
width :math:`s_c`. The paper draws :math:`r`; if instead each repon is drawn with width :math:`s_x`, then
:math:`s_c = s_x/\sqrt2`. The argument ``encoder_scale_of`` selects one of the two. The bias is always
at its best value; with a bias that learns at a finite rate the probability also depends on the target
(:func:`~genlaws.relations.simulate_repons`), so none of these is a bound on a real network.

Whether a whole class collapses depends on the largest root of one Wishart matrix against another, whose distribution is
computed exactly. The joint density of the roots is a product of weights and of all their differences, so an ordered
integral over it is a Pfaffian of double integrals (de Bruijn's formula). With :math:`x = \sin^2\varphi` every integrand
is entire, and Gauss-Legendre quadrature converges faster than any power.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike
from scipy import special

from genlaws.core.arguments import MAX_COUNT, Array, broadcast, one_of, positive, whole_number, within
from genlaws.core.errors import InputError
from genlaws.relations.repons.pair import decoder_pull

MAX_ROOTS = 60
MAX_NODES = 1200
MAX_CLASS_SIZE = 10_000
SCALES = ("half-separation", "repon")


def largest_root_probability(odds: float, size: int, first: int, second: int) -> float:
    r"""Return the probability that the largest eigenvalue of :math:`W_1W_2^{-1}` is at most `odds`.

    Parameters
    ----------
    odds : float > 0
    size : int >= 1
        Order of the matrices, :math:`p`.
    first, second : int >= size
        Degrees of freedom of the standard Wishart matrices :math:`W_1` and :math:`W_2`.
    """
    if size > MAX_ROOTS:
        raise InputError(f"The smaller of dimension and class_size - 1 must be at most {MAX_ROOTS}; got {size}.")
    count = 48 + 6 * size + int(np.ceil(8.0 * np.sqrt(first + second - 2 * size)))
    if count > MAX_NODES:
        raise InputError(
            f"dimension, outputs and class_size are too large for the exact law, {MAX_NODES} nodes; got {count}."
        )
    top = np.arctan(np.sqrt(odds))
    nodes, weights, kernel = _quadrature(count)
    angle = 0.5 * top * (nodes + 1.0)
    half = np.sqrt(0.5 * top * weights)
    log_weight = np.log(2.0) + (first - size) * np.log(np.sin(angle)) + (second - size) * np.log(np.cos(angle))
    peak = float(log_weight.max())
    # The roots are measured in units of their largest value, so that no power of them underflows.
    unit = np.sin(top)
    basis, log_norms = _orthogonal((np.sin(angle) / unit) ** 2, half * np.exp(log_weight - peak), size)
    log_pfaffian = _log_pfaffian(basis, half, 0.5 * top * kernel)
    log_value = _log_constant(size, first, second) + size * peak + log_norms + log_pfaffian
    log_value += size * (size - 1) * np.log(unit)
    return float(min(1.0, np.exp(log_value)))


@lru_cache(maxsize=32)
def _quadrature(count: int) -> tuple[Array, Array, Array]:
    """Return nodes and weights on [-1, 1], and the antisymmetric form of the sign of y - x on the weighted nodes."""
    nodes, weights = legendre.leggauss(count)
    values = legendre.legvander(nodes, count)
    steps = np.empty((count, count))
    steps[:, 0] = nodes + 1.0
    steps[:, 1:] = values[:, 2:] - values[:, : count - 1]
    # Row q holds the integrals of the Lagrange polynomials from -1 to node q.
    running = 0.5 * steps @ (values[:, :count] * weights[:, None]).T
    root = np.sqrt(weights)
    scaled = root[:, None] * running / root
    return nodes, weights, scaled.T - scaled


def _orthogonal(x: Array, weight: Array, size: int) -> tuple[Array, float]:
    """Return orthonormal columns, polynomials in `x` times `weight`, and the log of the product of their norms."""
    columns = np.empty((x.size, size))
    log_product, log_norm = 0.0, 0.0
    column = weight
    for degree in range(size):
        for _ in range(2):  # twice is enough
            column = column - columns[:, :degree] @ (columns[:, :degree].T @ column)
        length = float(np.linalg.norm(column))
        log_norm += np.log(length)
        log_product += log_norm
        columns[:, degree] = column / length
        column = x * columns[:, degree]
    return columns, log_product


def _log_pfaffian(basis: Array, half: Array, kernel: Array) -> float:
    """Return the log of the Pfaffian of the form on the basis, bordered with plain integrals if its size is odd."""
    form = basis.T @ kernel @ basis
    if basis.shape[1] % 2:
        border = basis.T @ half
        form = np.block([[form, border[:, None]], [-border[None, :], np.zeros((1, 1))]])
    return 0.5 * float(np.linalg.slogdet(form)[1])


def _log_constant(size: int, first: int, second: int) -> float:
    """Return the log of the constant of the joint density of the ordered roots."""
    log_gamma = [special.multigammaln(0.5 * n, size) for n in (first + second, size, first, second)]
    return float(0.5 * size**2 * np.log(np.pi) + log_gamma[0] - log_gamma[1] - log_gamma[2] - log_gamma[3])


def collision_probability(
    encoder_rate: ArrayLike,
    decoder_rate: ArrayLike,
    encoder_scale: ArrayLike = 1.0,
    decoder_scale: ArrayLike = 1.0,
    *,
    encoder_scale_of: str = "half-separation",
    dimension: int = 1,
    outputs: int = 1,
    cluster: ArrayLike = 1,
) -> Array:
    r"""Probability that two repons of one class merge under gradient flow.

    .. math::
        p = I_{\rho/(1+\rho)}\!\left(\tfrac d2, \tfrac{k-d+1}2\right), \qquad
        \rho = \frac{s_a^2}{s_c^2}\,\frac{\eta_x}{\kappa\,\eta_A}

    which is the distribution function of :math:`F_{d,\,k-d+1}` at :math:`\rho\,(k-d+1)/d`. One dimension and one output
    give :math:`p = \tfrac2\pi\arctan\sqrt\rho`. With fewer outputs than dimensions a generic pair never merges.

    Symbols: :math:`d` is ``dimension``, :math:`k` is ``outputs``, :math:`I` the regularized incomplete beta function,
    :math:`\kappa = 4/(1+1/N)` for one repon against ``cluster`` = :math:`N` coincident ones, 2 for a pair.

    Parameters
    ----------
    encoder_rate, decoder_rate : array_like > 0
        :math:`\eta_x` and :math:`\eta_A`; only their ratio matters.
    encoder_scale, decoder_scale : array_like > 0
        :math:`s_c` (or :math:`s_x`) and :math:`s_a`.
    encoder_scale_of : {"half-separation", "repon"}
        Whether ``encoder_scale`` is the width of half the separation, as in the paper, or of each repon.
    dimension, outputs : int >= 1
    cluster : array_like >= 1, may be infinite

    Notes
    -----
    The paper prints the region of integration of Eq. 12 as two separate conditions; it is
    :math:`|c/a| < \sqrt{\eta_x/(2\eta_A)}`. Its result is right, but it is exact for its model, not an upper bound.

    References
    ----------
    :cite:p:`baek2024`, Eq. 12 (pair) and Eq. 13 (cluster), one dimension; the law for any dimension is ours.
    """
    d = whole_number("dimension", dimension, at_least=1, at_most=MAX_COUNT)
    k = whole_number("outputs", outputs, at_least=1, at_most=MAX_COUNT)
    eta_x, eta_a, s_x, s_a = rates_and_scales(encoder_rate, decoder_rate, encoder_scale, decoder_scale)
    _, kappa = broadcast(rates=eta_x, cluster=decoder_pull(cluster))
    with np.errstate(over="ignore", under="ignore"):
        root = (s_a / _half_separation(s_x, encoder_scale_of)) * np.sqrt(eta_x / eta_a / kappa)
        odds = root**2
    if k < d:
        return np.zeros_like(odds)
    if d == k == 1:
        return np.asarray(2.0 / np.pi * np.arctan(root))
    return beta_law(0.5 * d, 0.5 * (k - d + 1), odds)


def collision_rate_ratio(
    probability: ArrayLike,
    encoder_scale: ArrayLike = 1.0,
    decoder_scale: ArrayLike = 1.0,
    *,
    encoder_scale_of: str = "half-separation",
    dimension: int = 1,
    outputs: int = 1,
    cluster: ArrayLike = 1,
) -> Array:
    r"""Return the ratio of encoder to decoder rate at which two repons merge with a given probability.

    It is the inverse of :func:`collision_probability`, :math:`\eta_x/\eta_A = \kappa\rho\,s_c^2/s_a^2`.

    Parameters
    ----------
    probability : array_like in (0, 1)
    encoder_scale, decoder_scale, encoder_scale_of, dimension, cluster
        As in :func:`collision_probability`.
    outputs : int >= dimension
    """
    p = within("probability", probability, 0.0, 1.0, open_low=True, open_high=True)
    d = whole_number("dimension", dimension, at_least=1, at_most=MAX_COUNT)
    k = whole_number(
        "outputs",
        outputs,
        at_least=d,
        at_most=MAX_COUNT,
        hint="With fewer outputs than dimensions no pair merges.",
    )
    p, s_x, s_a, pull = broadcast(
        probability=p,
        encoder_scale=positive("encoder_scale", encoder_scale),
        decoder_scale=positive("decoder_scale", decoder_scale),
        cluster=decoder_pull(cluster),
    )
    a, b = 0.5 * d, 0.5 * (k - d + 1)
    # The smaller of the two shares is accurate at either end.
    low, high = special.betaincinv(a, b, p), special.betaincinv(b, a, 1.0 - p)
    with np.errstate(divide="ignore", over="ignore"):
        odds = np.where(low < 0.5, low / (1.0 - low), (1.0 - high) / high)
    ratio = odds * pull * (_half_separation(s_x, encoder_scale_of) / s_a) ** 2
    return np.asarray(ratio)


def sign_collision_probability(
    encoder_rate: ArrayLike,
    decoder_rate: ArrayLike,
    encoder_scale: ArrayLike = 1.0,
    decoder_scale: ArrayLike = 1.0,
    *,
    encoder_scale_of: str = "half-separation",
    outputs: int = 1,
    class_size: int = 2,
) -> Array:
    r"""Probability that the repons of a class on a line merge under sign updates, as of Adam with small steps.

    Every number moves at its full rate until it vanishes, so the class merges if half its range, which shrinks at
    :math:`\eta_x`, vanishes before the largest of the decoder's gains, which shrink at :math:`\eta_A`:

    .. math:: p = P\!\left(\frac{\max_i x_i - \min_i x_i}{2\,\eta_x} < \frac{\max_j |a_j|}{\eta_A}\right)

    For a pair and one output, :math:`p = \tfrac2\pi\arctan\!\left(\frac{s_a}{s_c}\frac{\eta_x}{\eta_A}\right)`: linear
    in the ratio of the rates where gradient flow has its square root. Coincident repons change nothing.

    Parameters
    ----------
    encoder_rate, decoder_rate, encoder_scale, decoder_scale : array_like > 0
    encoder_scale_of : {"half-separation", "repon"}
        As in :func:`collision_probability`; half the separation is that of any two of the class.
    outputs : int >= 1
    class_size : int >= 1
        Repons in the class.

    Notes
    -----
    One dimension only: in more, the sign of a gradient depends on the axes, and there is no law. The bias is at its
    best value throughout.

    References
    ----------
    Ours; the flow it replaces is Eq. 10 of :cite:p:`baek2024`.
    """
    k = whole_number("outputs", outputs, at_least=1, at_most=MAX_CLASS_SIZE)
    m = whole_number("class_size", class_size, at_least=1, at_most=MAX_CLASS_SIZE)
    eta_x, eta_a, s_x, s_a = rates_and_scales(encoder_rate, decoder_rate, encoder_scale, decoder_scale)
    with np.errstate(over="ignore", under="ignore"):
        slope = (s_a / _half_separation(s_x, encoder_scale_of)) * (eta_x / eta_a)
    if m == 1:
        return np.ones_like(slope)
    if m == 2 and k == 1:
        return np.asarray(2.0 / np.pi * np.arctan(slope))
    found = [_range_before_gain(float(one), m, k) for one in slope.ravel()]
    return np.array(found).reshape(slope.shape)


def beta_law(first: float, second: float, odds: Array) -> Array:
    r"""Return :math:`I_{\rho/(1+\rho)}(a, b)`, accurate at both ends."""
    with np.errstate(over="ignore", divide="ignore"):
        share, rest = 1.0 / (1.0 + 1.0 / odds), 1.0 / (1.0 + odds)
    return np.where(share < 0.5, special.betainc(first, second, share), special.betaincc(second, first, rest))


def _range_before_gain(slope: float, class_size: int, outputs: int) -> float:
    r"""Integrate the distribution of the range of normals against the density of the largest of several gains.

    :math:`p = \int dG(a)\, R_m(\sqrt2\, a\, \text{slope})` with :math:`G(a) = \mathrm{erf}(a/\sqrt2)^k`; the
    trapezoidal rule in :math:`\ln a` and in :math:`z` converges exponentially.
    """
    step = 0.05
    log_gain = np.arange(np.log(1e-17), np.log(12.0), step)
    gain = np.exp(log_gain)
    density = outputs * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * gain**2)
    density = density * special.erf(gain / np.sqrt(2.0)) ** (outputs - 1) * gain
    z = np.linspace(-9.0, 9.0, 721)
    bell = class_size / np.sqrt(2.0 * np.pi) * np.exp(-0.5 * z**2)
    with np.errstate(over="ignore"):
        width = np.sqrt(2.0) * slope * gain
    between = special.ndtr(z + width[:, None]) - special.ndtr(z)
    inside = (bell * between ** (class_size - 1)).sum(axis=1) * (z[1] - z[0])
    return float(min(1.0, (density * inside).sum() * step))


def rates_and_scales(
    encoder_rate: ArrayLike, decoder_rate: ArrayLike, encoder_scale: ArrayLike, decoder_scale: ArrayLike
) -> tuple[Array, ...]:
    """Return the checked arguments, broadcast against each other."""
    return broadcast(
        encoder_rate=positive("encoder_rate", encoder_rate),
        decoder_rate=positive("decoder_rate", decoder_rate),
        encoder_scale=positive("encoder_scale", encoder_scale),
        decoder_scale=positive("decoder_scale", decoder_scale),
    )


def _half_separation(scale: Array, scale_of: str) -> Array:
    return scale if one_of("encoder_scale_of", scale_of, SCALES) == "half-separation" else scale / np.sqrt(2.0)
