r"""Kernels of wide networks of any depth: the NNGP and the NTK, composed layer by layer.

Inputs lie on the sphere: :math:`x \cdot x / d = 1` and :math:`x \cdot x' / d = t`. In every layer, the first and the
last included, a weight has variance :math:`\sigma_w^2` (``weight_variance``) over the fan-in and a bias has
:math:`\sigma_b^2` (``bias_variance``). With :math:`(u, v)` Gaussian of covariance :math:`K^l`, the pre-activations have

.. math:: K^0 = \sigma_w^2 t + \sigma_b^2, \qquad K^{l+1} = \sigma_w^2\, E[\sigma(u)\sigma(v)] + \sigma_b^2,

and the NNGP kernel of ``depth`` hidden layers is the last of these. The NTK is

.. math:: \Theta^0 = K^0, \qquad \Theta^{l+1} = K^{l+1} + \sigma_w^2\, E[\sigma'(u)\sigma'(v)]\, \Theta^l.

The derivative of :math:`E[f(u)f(v)]` with respect to the covariance is :math:`E[f'(u)f'(v)]`. So :math:`k(0)`,
:math:`k'(0)` and :math:`k(1)` pass from layer to layer by the chain rule, without numerical differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, non_negative, one_of, positive, real, scalar, whole_number
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.rules_facts.kernels.families import check_correlation

Scalars = Callable[[Array], Array]
DualMap = Callable[[float, Array], Array]

# Two resolutions of the numerical averages must agree to this, relative to the mean square of what is averaged.
AVERAGE_TOLERANCE = 1e-11
# Reach in standard deviations and width of the panels, refined together so that a heavy tail is noticed.
QUADRATURE_LEVELS = ((10.0, 1.0), (11.0, 1 / 2), (12.0, 1 / 4), (13.0, 1 / 8))
GAUSS_NODES = 12
# An average below this, relative to the same mean square, is the square of a rounding error.
AVERAGE_NOISE = 1e-28
# k(1) − k(0) − k'(0) within this of zero, relative to k(1), is rounding.
MU_STAR_ROUNDING = 1e-14
MAX_KERNEL_DEPTH = 10_000  # hidden layers, computed in turn


@dataclass(frozen=True)
class DualMaps:
    """Averages of an activation over two Gaussian variables of one variance and a given covariance.

    ``value`` is E[σ(u)σ(v)], ``slope`` E[σ'(u)σ'(v)] and ``curvature`` E[σ''(u)σ''(v)], each a function of
    (variance, covariance). ``tangent_problem`` is the reason why there is no NTK; it is empty when there is one.
    """

    value: DualMap
    slope: DualMap
    curvature: DualMap
    tangent_problem: str = ""


@dataclass(frozen=True)
class NetworkKernel:
    """Kernel of a wide network.

    Attributes
    ----------
    name : str
    mu_1_squared, mu_star_squared : float
        k'(0) and k(1) − k(0) − k'(0).
    function : callable
        k(t) for an array of correlations in [-1, 1].
    """

    name: str
    mu_1_squared: float
    mu_star_squared: float
    function: Callable[[ArrayLike], Array] = field(repr=False)


def network_kernel(
    depth: int,
    activation: str | Callable[..., object] = "relu",
    kind: str = "nngp",
    *,
    weight_variance: float | None = None,
    bias_variance: float = 0.0,
    derivative: Callable[..., object] | None = None,
    kinks: Sequence[float] = (0.0,),
) -> NetworkKernel:
    """Kernel of an infinitely wide fully connected network with inputs on the sphere.

    Parameters
    ----------
    depth : int, at least 1
        Number of hidden layers.
    activation : {'relu', 'erf', 'sign'} or callable
        The names use closed forms; ``sign`` has no NTK. A callable is averaged numerically.
    kind : {'nngp', 'ntk'}
        The network with only its last layer trained, or with all layers trained.
    weight_variance : float, positive
        By default 2 for ``relu``, which preserves the variance from layer to layer, and 1 for other activations.
    bias_variance : float, not negative
    derivative : callable
        Derivative of a callable activation; the NTK needs it.
    kinks : sequence of float
        Where a callable activation or its derivative is not smooth.

    Notes
    -----
    ``mu_star_squared`` is a difference of numbers of size k(1), with their rounding error of about 1e-16 k(1). In an
    almost linear network few of its digits remain; below 1e-14 k(1) none do, and it is zero.
    """
    depth = whole_number("depth", depth, at_least=1, at_most=MAX_KERNEL_DEPTH)
    kind = one_of("kind", kind, ("nngp", "ntk"))
    if weight_variance is None:
        weight_variance = 2.0 if activation == "relu" else 1.0
    weight = float(scalar("weight_variance", positive("weight_variance", weight_variance)))
    bias = float(scalar("bias_variance", non_negative("bias_variance", bias_variance)))
    maps, label = _dual_maps(activation, derivative, kinks)
    if kind == "ntk" and maps.tangent_problem:
        raise InputError(maps.tangent_problem)
    network = _Network(maps, depth, weight, bias, tangent=kind == "ntk")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        at_zero, slope, at_one = network.propagate()
    if not (np.isfinite([at_zero, slope, at_one]).all() and at_one > 0):
        raise InputError(f"weight_variance must keep the signals of {depth} layers finite and above 0; got {weight:g}.")
    rest = at_one - at_zero - slope
    mu_star_squared = rest if rest > MU_STAR_ROUNDING * at_one else 0.0
    return NetworkKernel(f"{kind}-{label}:{depth}", slope, mu_star_squared, network.compose)


def vectorized(name: str, function: object) -> Scalars:
    """Return `function` as a function of arrays: itself if it takes them, else called number by number."""
    if not callable(function):
        raise InputError(f"{name} must be a function of one real number; got {function!r}.")
    call: Callable[..., object] = function
    probe = np.array([[0.5, 0.25], [-0.25, -0.5], [0.75, 0.1]])
    try:
        with np.errstate(all="ignore"):
            takes_arrays = np.asarray(call(probe)).shape == probe.shape
    except (TypeError, ValueError):
        takes_arrays = False

    def on_arrays(z: Array) -> Array:
        """Return the activation's values; raise an error if they are not finite numbers."""
        with np.errstate(all="ignore"):
            values = np.asarray(call(z) if takes_arrays else _call_one_by_one(name, call, z))
        if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise InputError(f"{name} must return finite real numbers wherever it is needed.")
        return values.astype(np.float64)

    return on_arrays


def _call_one_by_one(name: str, call: Callable[..., object], z: Array) -> Array:
    try:
        values = [call(float(point)) for point in z.flat]
        return np.array(values, dtype=np.float64).reshape(z.shape)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InputError(f"{name} must be a function of one real number; calling it raised: {error}.") from error


@dataclass(frozen=True)
class _Network:
    """The recursion of the module's docstring, with its settings."""

    maps: DualMaps
    depth: int
    weight: float
    bias: float
    tangent: bool

    def compose(self, correlation: ArrayLike) -> Array:
        """Evaluate k(t)."""
        maps, weight, bias = self.maps, self.weight, self.bias
        diagonal = weight + bias
        covariance = theta = weight * check_correlation(correlation) + bias
        for _ in range(self.depth):
            gain = weight * maps.slope(diagonal, covariance) if self.tangent else np.zeros_like(covariance)
            covariance = weight * maps.value(diagonal, covariance) + bias
            diagonal = weight * float(maps.value(diagonal, np.asarray(diagonal))) + bias
            theta = covariance + gain * theta
        return theta if self.tangent else covariance

    def propagate(self) -> tuple[float, float, float]:
        """Carry k(0), k'(0) and k(1) through the layers; `theta` holds the three of the NTK."""
        maps, weight, bias = self.maps, self.weight, self.bias
        value, slope, diagonal = bias, weight, weight + bias
        theta = (value, slope, diagonal)
        for _ in range(self.depth):
            gain = weight * float(maps.slope(diagonal, np.asarray(value)))
            if self.tangent:
                gain_slope = weight * float(maps.curvature(diagonal, np.asarray(value))) * slope
                gain_diagonal = weight * float(maps.slope(diagonal, np.asarray(diagonal)))
                theta = (gain * theta[0], gain * theta[1] + gain_slope * theta[0], gain_diagonal * theta[2])
            value = weight * float(maps.value(diagonal, np.asarray(value))) + bias
            diagonal = weight * float(maps.value(diagonal, np.asarray(diagonal))) + bias
            slope *= gain
            theta = (value + theta[0], slope + theta[1], diagonal + theta[2])
        return theta if self.tangent else (value, slope, diagonal)


def _correlation(variance: float, covariance: Array) -> Array:
    """Covariance over variance, clipped to [-1, 1] against rounding."""
    return np.clip(covariance / variance, -1.0, 1.0)


def _relu_value(variance: float, covariance: Array) -> Array:
    rho = _correlation(variance, covariance)
    return variance * (np.sqrt((1.0 - rho) * (1.0 + rho)) + rho * np.arccos(-rho)) / (2.0 * np.pi)


def _sine_slope(variance: float, covariance: Array) -> Array:
    """Derivative of asin(covariance/variance) with respect to the covariance."""
    rho = _correlation(variance, covariance)
    return 1.0 / (variance * np.sqrt((1.0 - rho) * (1.0 + rho)))


def _erf_root(variance: float, covariance: Array) -> Array:
    return np.sqrt((1.0 + 2.0 * variance - 2.0 * covariance) * (1.0 + 2.0 * variance + 2.0 * covariance))


def _no_curvature(variance: float, covariance: Array) -> Array:
    raise InputError("kind must be nngp for this activation.")


CLOSED_FORMS: dict[str, DualMaps] = {
    "relu": DualMaps(
        value=_relu_value,
        slope=lambda q, c: np.arccos(-_correlation(q, c)) / (2.0 * np.pi),
        curvature=lambda q, c: _sine_slope(q, c) / (2.0 * np.pi),
    ),
    "erf": DualMaps(
        value=lambda q, c: 2.0 / np.pi * np.arcsin(2.0 * c / (1.0 + 2.0 * q)),
        slope=lambda q, c: 4.0 / np.pi / _erf_root(q, c),
        curvature=lambda q, c: 16.0 / np.pi * c / _erf_root(q, c) ** 3,
    ),
    "sign": DualMaps(
        value=lambda q, c: 2.0 / np.pi * np.arcsin(_correlation(q, c)),
        slope=lambda q, c: 2.0 / np.pi * _sine_slope(q, c),
        curvature=_no_curvature,
        tangent_problem="kind must be nngp for the sign activation: its derivative is a spike, so its NTK is infinite.",
    ),
}
NETWORK_FAMILIES = ("nngp-relu", "ntk-relu", "nngp-erf", "ntk-erf", "nngp-sign")


def _dual_maps(activation: object, derivative: object, kinks: Sequence[float]) -> tuple[DualMaps, str]:
    if isinstance(activation, str) or not callable(activation):
        name = one_of("activation", activation, CLOSED_FORMS, "A function of one real number is allowed too.")
        if derivative is not None:
            raise InputError(f"derivative must be left out for the activation {name}, which has a closed form.")
        return CLOSED_FORMS[name], name
    edges = real("kinks", kinks).ravel()
    average = _NumericalAverages(vectorized("activation", activation), edges)
    label = str(getattr(activation, "__name__", ""))
    label = label if label.isidentifier() else "custom"
    if derivative is None:
        problem = "derivative must be given for the NTK of an activation that is a function; the NNGP needs none."
        return DualMaps(average.product, average.derivative_product, _no_curvature, problem), label
    slope = _NumericalAverages(vectorized("derivative", derivative), edges)
    return DualMaps(average.product, slope.product, slope.derivative_product), label


@dataclass(frozen=True)
class _NumericalAverages:
    r"""E[f(u)f(v)] and E[f'(u)f'(v)] of a callable.

    The pair is :math:`u = s(\sqrt r w + \sqrt{1-r} z_1)`, :math:`v = s(\pm\sqrt r w + \sqrt{1-r} z_2)`, with the sign
    of the covariance. So the average is that of :math:`g(w)g(\pm w)`, with :math:`g` the average of f over one variable
    alone. By Stein's identity the average of f' needs no derivative: :math:`E[z f] / (s \sqrt{1-r})`.
    """

    function: Scalars
    kinks: Array

    def product(self, variance: float, covariance: Array) -> Array:
        return self._each(variance, covariance, stein=False)

    def derivative_product(self, variance: float, covariance: Array) -> Array:
        return self._each(variance, covariance, stein=True)

    def _each(self, variance: float, covariance: Array, stein: bool) -> Array:
        rho = _correlation(variance, covariance)
        return np.array([self._refined(variance, float(value), stein) for value in rho.flat]).reshape(rho.shape)

    def _refined(self, variance: float, rho: float, stein: bool) -> float:
        coarse = np.inf
        for reach, panel in QUADRATURE_LEVELS:
            even = np.linspace(-reach, reach, round(2 * reach / panel) + 1)
            fine, scale = self._average(variance, rho, even, stein)
            if abs(fine - coarse) <= AVERAGE_TOLERANCE * scale:
                return fine if abs(fine) > AVERAGE_NOISE * scale else 0.0
            coarse = fine
        raise ConvergenceError(
            "The Gaussian average of the activation did not settle. Name in kinks every point where the activation or "
            "its derivative is not smooth; if it grows fast or is steep, lower weight_variance.",
            coarse,
        )

    def _average(self, variance: float, rho: float, even: Array, stein: bool) -> tuple[float, float]:
        """Return the average and the mean square against which its error counts."""
        common, own, scale = np.sqrt(abs(rho)), np.sqrt(1.0 - abs(rho)), np.sqrt(variance)
        kinks = self.kinks / scale
        w, outer = gaussian_rule(_outer_edges(kinks, common, own, even))
        center = common * w[:, None]
        if own > 0:
            breaks = np.clip((kinks - center) / own, even[0], even[-1])
            edges = np.concatenate([np.broadcast_to(even, (w.size, even.size)), breaks], axis=1)
            z, inner = gaussian_rule(np.sort(edges, axis=1))
        else:
            z, inner = np.zeros_like(center), np.ones_like(center)
        values = self.function(scale * (center + own * z))
        if stein:
            values = values * z / (scale * own)
        smooth = np.sum(inner * values, axis=1)
        mirrored = smooth if rho >= 0 else smooth[::-1]
        return float(outer @ (smooth * mirrored)), float(outer @ np.sum(inner * values**2, axis=1))


def _outer_edges(kinks: Array, common: float, own: float, even: Array) -> Array:
    """Panels for w, symmetric, and graded toward each kink, which the average has smoothed over own/common."""
    edges = [even]
    if common > 0:
        distance = (own / common) * 2.0 ** np.arange(60) if own > 0 else np.zeros(1)
        near = kinks[:, None] / common + np.concatenate([-distance, [0.0], distance])
        edges += [near.ravel(), -near.ravel()]
    together: Array = np.concatenate(edges)
    return np.unique(together[np.abs(together) <= even[-1]])


def gaussian_rule(edges: Array) -> tuple[Array, Array]:
    """Return the Gauss nodes of all panels between edges along the last axis, and weights with the normal density."""
    x, weight = np.polynomial.legendre.leggauss(GAUSS_NODES)
    half, middle = np.diff(edges)[..., None] / 2.0, (edges[..., 1:] + edges[..., :-1])[..., None] / 2.0
    nodes = (middle + half * x).reshape(*edges.shape[:-1], -1)
    density = np.exp(-0.5 * nodes**2) / np.sqrt(2.0 * np.pi)
    return nodes, (half * weight).reshape(nodes.shape) * density
