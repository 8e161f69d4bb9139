r"""Kernels as functions of two inputs of any length.

The theory describes a kernel by :math:`k(t)` at correlation :math:`t` of two inputs of squared length d. Real inputs
have other lengths. With :math:`p = x \cdot x'/d`, :math:`a = |x|^2/d` and :math:`b = |x'|^2/d`, each family has a
natural form that is :math:`k(p)` where a = b = 1:

=============  ======================================================================
linear         :math:`p`
sign           :math:`\tfrac2\pi \arcsin(p/\sqrt{ab})`
erf            :math:`\tfrac2\pi \arcsin\bigl(2p/\sqrt{(1+2a)(1+2b)}\bigr)`
relu           :math:`\sqrt{ab}\;k(p/\sqrt{ab})`
gaussian       :math:`e^{-\gamma(a+b-2p)/2} = e^{-\gamma|x-x'|^2/(2d)}`
the others     :math:`k(p)`
=============  ======================================================================

Sign, erf and relu are the kernels of an infinitely wide layer at these inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, one_of
from genlaws.core.errors import InputError
from genlaws.rules_facts.kernels.deep import NETWORK_FAMILIES, network_kernel, vectorized
from genlaws.rules_facts.kernels.families import FAMILIES
from genlaws.rules_facts.kernels.kernel import Kernel, read_parameters

# The kernel of a network is interpolated between correlations evenly spaced in angle. Their number doubles from the
# first to the last until the error is below this share of k(1), which does not change eigenvalues or errors.
MIN_NODES, MAX_NODES = 257, 16385
INTERPOLATION_TOLERANCE = 1e-9


@dataclass(frozen=True)
class InputKernel:
    """A kernel as a function of two inputs.

    Attributes
    ----------
    name : str
    function : callable
        ``function(p, a, b)`` of the product and the two squared lengths, all divided by d; vectorized.
    any_length : bool
        Whether it is defined for inputs of any length; if not, inputs must be scaled to squared length d first.
    """

    name: str
    function: Callable[[Array, Array, Array], Array]
    any_length: bool = True


KernelLike = str | Kernel | Callable[..., object] | InputKernel | None


def read_input_kernel(kernel: KernelLike) -> InputKernel:
    """Return the kernel of a name, of its two numbers, or of a function k(t).

    Parameters
    ----------
    kernel : str, Kernel, callable, InputKernel or None
        A name such as ``"relu"``, ``"gaussian:0.5"`` or ``"ntk-relu:3"``; a :class:`~genlaws.rules_facts.Kernel` made
        from such a name, or from its two numbers, which then stands for the simplest kernel μ1² t + μ*² t²; a function
        k(t) of the correlation, for inputs of squared length d; None for the linear model.
    """
    if isinstance(kernel, InputKernel):
        return kernel
    if kernel is None:
        return _from_family("linear", ())
    if isinstance(kernel, str):
        return _from_name(kernel.strip())
    if isinstance(kernel, Kernel):
        return _from_numbers(kernel)
    if callable(kernel):
        return _from_correlation(getattr(kernel, "__name__", "function"), vectorized("kernel", kernel))
    raise InputError(f"kernel must be a name such as 'relu', a rules_facts.Kernel or a function k(t); got {kernel!r}.")


def quadratic_match(kernel: str) -> InputKernel:
    r"""Return the quadratic kernel that is equivalent to a named one in the theory.

    .. math:: k_2(t) = k(0) + \mu_1^2\, t + \mu_\star^2\, t^2

    It has the value of k at 0 and at 1 and its slope at 0.

    Parameters
    ----------
    kernel : str
        Name of a family, such as ``"gaussian:1.5"``.

    References
    ----------
    :cite:t:`farne2026`, Eq. 221.
    """
    numbers = Kernel.from_name(kernel)
    zero, one = np.zeros(1), np.ones(1)
    at_zero = float(read_input_kernel(kernel).function(zero, one, one)[0])
    mu_1_squared, mu_star_squared = float(numbers.mu_1) ** 2, float(numbers.mu_star) ** 2
    name = f"quadratic like {kernel}"
    return InputKernel(name, lambda p, a, b: at_zero + mu_1_squared * p + mu_star_squared * p**2)


def _from_name(name: str) -> InputKernel:
    label, colon, text = name.partition(":")
    one_of("kernel", label, [*FAMILIES, *NETWORK_FAMILIES])
    if label in NETWORK_FAMILIES:
        Kernel.from_name(name)  # raises the error message for a wrong depth
        kind, activation = label.split("-")
        return _from_correlation(name, _network_function(int(text), activation, kind))
    family = FAMILIES[label]
    parameters = family.check(*read_parameters(family, text.split(",") if colon else []))
    return _from_family(label, parameters, name)


def _from_family(label: str, parameters: tuple[Array, ...], name: str = "") -> InputKernel:
    k = FAMILIES[label].function
    special: dict[str, Callable[[Array, Array, Array], Array]] = {
        "sign": lambda p, a, b: k(_correlation(p, a, b)),
        "erf": lambda p, a, b: 2.0 / np.pi * np.arcsin(2.0 * p / np.sqrt((1.0 + 2.0 * a) * (1.0 + 2.0 * b))),
        "relu": lambda p, a, b: np.sqrt(a * b) * k(_correlation(p, a, b)),
        "gaussian": lambda p, a, b: np.exp(-parameters[0] * np.maximum(0.5 * (a + b) - p, 0.0)),
    }
    function = special.get(label, lambda p, a, b: k(p, *parameters))
    return InputKernel(name or label, function, any_length=label != "geometric")


def _from_numbers(kernel: Kernel) -> InputKernel:
    if kernel.shape:
        raise InputError(f"kernel must be a single kernel; got an array of shape {kernel.shape}.")
    if kernel.name.partition(":")[0] in (*FAMILIES, *NETWORK_FAMILIES):
        named = Kernel.from_name(kernel.name)
        if (named.mu_1, named.mu_star) == (kernel.mu_1, kernel.mu_star):
            return _from_name(kernel.name)
    mu_1_squared, mu_star_squared = float(kernel.mu_1) ** 2, float(kernel.mu_star) ** 2
    name = f"quadratic like {kernel.name}" if kernel.name else f"quadratic of angle {kernel.kernel_angle:.4g}"
    return InputKernel(name, lambda p, a, b: mu_1_squared * p + mu_star_squared * p**2)


def _from_correlation(name: str, k: Callable[[Array], Array]) -> InputKernel:
    return InputKernel(name, lambda p, a, b: k(np.clip(p, -1.0, 1.0)), any_length=False)


def _network_function(depth: int, activation: str, kind: str) -> Callable[[Array], Array]:
    """Return the kernel of a wide network, interpolated; the kink at t = ±1 is smooth in the angle.

    Of sign units in two or more layers it is not: k falls with the square root of the angle, and is computed exactly.
    """
    from scipy.interpolate import CubicSpline  # noqa: PLC0415

    exact = network_kernel(depth, activation, kind).function
    allowed = INTERPOLATION_TOLERANCE * float(exact(1.0))
    count = MIN_NODES
    while count <= MAX_NODES:
        angle = np.linspace(0.0, np.pi, count)
        spline = CubicSpline(angle, exact(np.cos(angle)))
        middle = 0.5 * (angle[1:] + angle[:-1])
        if np.abs(spline(middle) - exact(np.cos(middle))).max() <= allowed:
            return lambda t: np.asarray(spline(np.arccos(t)))
        count = 2 * count - 1
    return exact


def _correlation(p: Array, a: Array, b: Array) -> Array:
    """Return p/√(ab), and zero for an input of length zero."""
    a, b = (np.where(square > 0.0, square, 1.0) for square in (a, b))
    return np.clip(p / np.sqrt(a * b), -1.0, 1.0)
