r"""A kernel as its two numbers :math:`\mu_1` and :math:`\mu_\star`, and the ways to obtain them.

For a dot-product kernel :math:`K(x, x') = k(x \cdot x' / d)`, and for a wide layer of an activation :math:`\sigma` with
:math:`z \sim N(0, 1)`,

.. math::

    \mu_1^2 = k'(0) = E[z\sigma(z)]^2, \qquad
    \mu_\star^2 = k(1) - k(0) - k'(0) = E[\sigma(z)^2] - E[\sigma(z)]^2 - E[z\sigma(z)]^2.

:math:`\mu_1` carries the linear part, which learns the rule; :math:`\mu_\star` the rest, which memorizes facts. The
kernel angle is :math:`\theta = \arctan(\mu_1/\mu_\star)`: π/2 for the linear model, 0 for a pure memorizer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, broadcast, non_negative, one_of, real, within
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.rules_facts.kernels.deep import NETWORK_FAMILIES, gaussian_rule, network_kernel, vectorized
from genlaws.rules_facts.kernels.families import FAMILIES, Family

# Two resolutions of a panel must agree to this, relative to the root mean square of the activation.
PANEL_TOLERANCE = 1e-14
# A panel halved this often is as narrow as the spacing of numbers near one.
MAX_HALVINGS = 50
MAX_PANELS = 20_000
# The average runs over |z| < 14; the stretch from 14 to 18 must add nothing, or the activation grows too fast.
AVERAGE_REACH, TAIL_REACH = 14, 18
TAIL_TOLERANCE = 1e-12
# μ* below this share of the root mean square of σ is rounding: the activation is linear.
LINEAR_TOLERANCE = 1e-12
# Half-widths of the interval on which k is interpolated, and the two numbers of points that must agree.
HALF_WIDTHS = (0.5, 0.25, 0.125, 0.0625, 0.03125)
INTERPOLATION_DEGREES = (24, 32)
COEFFICIENT_NOISE = 1e-15
SLOPE_TOLERANCE = 1e-12
ABSOLUTE_SLOPE_TOLERANCE = 1e-10
# A difference of values of k that is smaller than this, relative to k(0) and k(1), is rounding.
SQUARE_NOISE = 1e-13


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Kernel:
    """A kernel, or an array of kernels, by the two numbers that the theory uses.

    Parameters
    ----------
    mu_1, mu_star : array_like, zero or positive
        They broadcast together; not both zero in the same place.
    name : str
        For display only.

    Attributes
    ----------
    mu_1, mu_star : float, or array when either was an array
        Arrays are read-only.
    name : str
    """

    mu_1: float | Array
    mu_star: float | Array
    name: str

    def __init__(self, mu_1: ArrayLike, mu_star: ArrayLike, name: str = "") -> None:
        first = non_negative("mu_1", mu_1)
        rest = non_negative("mu_star", mu_star)
        first, rest = broadcast(mu_1=first, mu_star=rest)
        if ((first == 0) & (rest == 0)).any():
            raise InputError("mu_1 and mu_star must not both be zero; a kernel that is constant learns nothing.")
        if not isinstance(name, str):
            raise InputError(f"name must be text; got {name!r}.")
        object.__setattr__(self, "mu_1", _read_only(first))
        object.__setattr__(self, "mu_star", _read_only(rest))
        object.__setattr__(self, "name", name)

    @property
    def kernel_angle(self) -> float | Array:
        """Kernel angle θ = arctan(μ1/μ*), from 0 (pure memorizer) to π/2 (linear)."""
        return _read_only(np.arctan2(self.mu_1, self.mu_star))

    def call_parts(self) -> dict[str, Any]:
        """Return what a call records of a kernel."""
        return {"name": self.name, "kernel_angle": self.kernel_angle, "mu_1": self.mu_1, "mu_star": self.mu_star}

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of kernels; empty for a single one."""
        return np.shape(self.mu_1)

    def broadcast_to(self, shape: int | Sequence[int]) -> Kernel:
        """Return the same kernels repeated to `shape`."""
        wanted = (shape,) if isinstance(shape, int) else tuple(shape)
        try:
            return Kernel(np.broadcast_to(self.mu_1, wanted), np.broadcast_to(self.mu_star, wanted), self.name)
        except ValueError:
            raise InputError(f"shape must be one that {self.shape} broadcasts to; got {wanted}.") from None

    def __getitem__(self, key: Any) -> Kernel:
        if not self.shape:
            raise TypeError("This is a single kernel; it has no items.")
        return Kernel(np.asarray(self.mu_1)[key], np.asarray(self.mu_star)[key], self.name)

    def __repr__(self) -> str:
        name = f", name={self.name!r}" if self.name else ""
        if not self.shape:
            return f"Kernel(mu_1={self.mu_1:.6g}, mu_star={self.mu_star:.6g}, angle={self.kernel_angle:.6g}{name})"
        angle = np.asarray(self.kernel_angle)
        extent = f", angle from {angle.min():.6g} to {angle.max():.6g}" if angle.size else ""
        return f"Kernel(shape={self.shape}{extent}{name})"

    @classmethod
    def linear(cls) -> Kernel:
        """Return the kernel of the linear model, μ1 = 1 and μ* = 0."""
        return cls(1.0, 0.0, "linear")

    @classmethod
    def from_angle(cls, angle: ArrayLike) -> Kernel:
        """Return the kernel of a given angle in (0, π/2], with μ1² + μ*² = 1; π/2 gives exactly μ* = 0."""
        hint = "It is in radians; pi/2 is the linear kernel."
        angle = within("angle", angle, 0.0, np.pi / 2, open_low=True, hint=hint)
        return cls(np.sin(angle), np.where(angle == np.pi / 2, 0.0, np.cos(angle)))

    @classmethod
    def from_activation(cls, activation: Callable[..., object], kinks: Sequence[float] = (), name: str = "") -> Kernel:
        """Return the kernel of an infinitely wide layer of an activation.

        Parameters
        ----------
        activation : callable
            A function of one real number, which need not take arrays.
        kinks : sequence of float
            Points where it is not smooth. Zero is always included; others are found, but faster when named.
        name : str

        Notes
        -----
        Only μ1² matters, so a decreasing activation, with E[zσ(z)] < 0, gets the absolute value. μ* is the root mean
        square of σ(z) − μ0 − μ1 z, which stays precise when the activation is almost linear.

        Raises
        ------
        ConvergenceError
            If the Gaussian averages do not settle, or do not exist because the activation grows too fast.
        """
        function, points = vectorized("activation", activation), real("kinks", kinks).ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            mu_1, mu_star = _activation_moments(function, points)
        return cls(mu_1, mu_star, name)

    @classmethod
    def from_function(cls, function: Callable[..., object], name: str = "") -> Kernel:
        """Return the kernel whose value is k(t) at correlation t in [-1, 1].

        Parameters
        ----------
        function : callable
            k, analytic near zero; it need not take arrays.
        name : str

        Notes
        -----
        k'(0) is the slope of a Chebyshev interpolant around zero. Where k'(0) is tiny compared with k(1), the error
        is relative to k(1).
        """
        k = vectorized("function", function)
        at_zero, at_one = (float(value) for value in k(np.array([0.0, 1.0])))
        scale = abs(at_zero) + abs(at_one)
        slope = _slope_at_zero(k, scale)
        rest = at_one - at_zero - slope
        rounding = ABSOLUTE_SLOPE_TOLERANCE * scale
        if slope < -rounding or rest < -rounding:
            raise InputError(
                "function must be a positive-definite dot-product kernel, with k'(0) and k(1) - k(0) - k'(0) not "
                f"negative; got {slope:g} and {rest:g}."
            )
        rest = rest if rest > SQUARE_NOISE * scale else 0.0
        return cls(np.sqrt(max(slope, 0.0)), np.sqrt(rest), name)

    @classmethod
    def from_name(cls, name: str) -> Kernel:
        """Return the kernel of a name such as ``relu``, ``gaussian:1.5``, ``polynomial:3,0.5`` or ``ntk-relu:3``.

        The families are those of ``families.FAMILIES``, and networks, named by ``nngp-`` or ``ntk-`` and the
        activation, whose parameter is the depth.
        """
        label, colon, text = name.strip().partition(":") if isinstance(name, str) else (name, "", "")
        one_of("kernel", label, [*FAMILIES, *NETWORK_FAMILIES])
        texts = text.split(",") if colon else []
        if label in FAMILIES:
            squares = FAMILIES[label].squares(*read_parameters(FAMILIES[label], texts))
            return cls(np.sqrt(squares[0]), np.sqrt(squares[1]), name.strip())
        if len(texts) != 1:
            raise InputError(f"The kernel {label} takes the depth, for example {label}:3; got {name!r}.")
        kind, activation = label.split("-")
        return cls.network(int(read_number("depth", texts[0], whole=True)), activation, kind)

    @classmethod
    def network(
        cls,
        depth: int = 3,
        activation: str | Callable[..., object] = "relu",
        kind: str = "nngp",
        *,
        weight_variance: float | None = None,
        bias_variance: float = 0.0,
        derivative: Callable[..., object] | None = None,
        kinks: Sequence[float] = (0.0,),
    ) -> Kernel:
        """Return the kernel of a wide network; see :func:`~genlaws.rules_facts.kernels.deep.network_kernel`."""
        found = network_kernel(
            depth,
            activation,
            kind,
            weight_variance=weight_variance,
            bias_variance=bias_variance,
            derivative=derivative,
            kinks=kinks,
        )
        return cls(np.sqrt(found.mu_1_squared), np.sqrt(found.mu_star_squared), found.name)


def _read_only(array: ArrayLike) -> float | Array:
    """Return a float, or a read-only copy of an array."""
    copy = np.array(array, dtype=np.float64)
    if not copy.ndim:
        return float(copy)
    copy.flags.writeable = False
    return copy


def read_parameters(family: Family, texts: list[str]) -> list[float]:
    """Read the parameters that follow the name of a family; a wrong count is left to the family to report."""
    whole = [parameter.whole for parameter in family.parameters]
    names = [parameter.name for parameter in family.parameters]
    if len(texts) > len(names):
        return [0.0] * len(texts)
    return [read_number(*item) for item in zip(names, texts, whole, strict=False)]


def read_number(name: str, text: str, whole: bool) -> float:
    """Return the number written in a text."""
    try:
        return int(text) if whole else float(text)
    except ValueError:
        raise InputError(f"{name} must be a {'whole ' if whole else ''}number; got {text!r}.") from None


def _activation_moments(activation: Callable[[Array], Array], kinks: Array) -> tuple[float, float]:
    """Return (abs(E[zσ]), root mean square of σ − μ0 − μ1 z)."""
    inside = kinks[np.abs(kinks) < AVERAGE_REACH]
    z, weight, values = _adaptive_rule(
        activation, np.unique(np.append(np.arange(-AVERAGE_REACH, AVERAGE_REACH + 1.0), inside))
    )
    mean_square = weight @ values**2
    for tail in (np.arange(-TAIL_REACH, 1.0 - AVERAGE_REACH), np.arange(AVERAGE_REACH, TAIL_REACH + 1.0)):
        far, far_weight = gaussian_rule(tail)
        if not far_weight @ activation(far) ** 2 <= TAIL_TOLERANCE * mean_square < np.inf:
            raise ConvergenceError("activation must grow more slowly: its Gaussian average depends on |z| > 14.")
    mu_0, mu_1 = weight @ values, weight @ (z * values)
    mu_star = np.sqrt(weight @ (values - mu_0 - mu_1 * z) ** 2)
    negligible = LINEAR_TOLERANCE * np.sqrt(mean_square)
    first, rest = (float(value) if value > negligible else 0.0 for value in (abs(mu_1), mu_star))
    return first, rest


def _adaptive_rule(activation: Callable[[Array], Array], edges: Array) -> tuple[Array, Array, Array]:
    """Nodes, weights and values, on panels halved until σ, zσ and σ² average alike over a panel and its halves."""
    panels = np.stack([edges[:-1], edges[1:]], axis=-1)
    whole = _sample(activation, panels)
    size = np.sqrt(np.sum(whole[1] * whole[2] ** 2))
    done = []
    for _ in range(MAX_HALVINGS):
        middle = panels.mean(axis=-1)
        panels = np.stack([panels[:, 0], middle, middle, panels[:, 1]], axis=-1).reshape(-1, 2)
        halves = _sample(activation, panels)
        change = _averages(halves).reshape(3, -1, 2).sum(axis=-1) - _averages(whole)
        size = max(size, np.sqrt(np.max(_averages(halves)[2])))
        unsettled = np.repeat((np.abs(change) > PANEL_TOLERANCE * np.array([[size], [size], [size**2]])).any(axis=0), 2)
        done.append(halves[:, ~unsettled])
        if not unsettled.any():
            z, weight, values = np.concatenate(done, axis=1).reshape(3, -1)
            return z, weight, values
        panels, whole = panels[unsettled], halves[:, unsettled]
        if len(panels) > MAX_PANELS:
            break
    raise ConvergenceError(
        "The Gaussian averages of the activation did not settle. Name its kinks, and check that it is not random."
    )


def _sample(activation: Callable[[Array], Array], panels: Array) -> Array:
    z, weight = gaussian_rule(panels)
    return np.stack([z, weight, activation(z)])


def _averages(sample: Array) -> Array:
    z, weight, values = sample
    return np.stack([np.sum(weight * part, axis=-1) for part in (values, z * values, values**2)])


def _slope_at_zero(k: Callable[[Array], Array], scale: float) -> float:
    """Return k'(0), from the widest interval on which two Chebyshev interpolants agree, else from the best."""
    best, best_change = 0.0, np.inf
    for half_width in HALF_WIDTHS:
        coarse, fine = (_interpolated_slope(k, half_width, degree) for degree in INTERPOLATION_DEGREES)
        change = abs(fine - coarse)
        if change < best_change:
            best, best_change = fine, change
        if change <= SLOPE_TOLERANCE * abs(fine):
            return fine
    if best_change > ABSOLUTE_SLOPE_TOLERANCE * scale:
        raise ConvergenceError("The slope of function at zero did not settle; k must be smooth around zero.", best)
    return best if abs(best) > SQUARE_NOISE * scale else 0.0


def _interpolated_slope(k: Callable[[Array], Array], half_width: float, degree: int) -> float:
    points = chebyshev.chebpts1(degree + 1)
    coefficients = chebyshev.chebfit(points, k(half_width * points), degree)
    # Coefficients of rounding size would only add their noise to the slope.
    coefficients[np.abs(coefficients) < COEFFICIENT_NOISE * np.max(np.abs(coefficients))] = 0.0
    return float(chebyshev.chebval(0.0, chebyshev.chebder(coefficients))) / half_width


def read_kernel(kernel: Kernel | str | None) -> Kernel:
    """Return a kernel from a Kernel, a name such as ``"relu"`` or ``"gaussian:0.5"``, or None for the linear model."""
    if kernel is None:
        return Kernel.linear()
    if isinstance(kernel, str):
        return Kernel.from_name(kernel)
    if not isinstance(kernel, Kernel):
        raise InputError(
            f"kernel must be a rules_facts.Kernel, a name such as 'relu' or 'gaussian:0.5', or None; got {kernel!r}."
        )
    return kernel
