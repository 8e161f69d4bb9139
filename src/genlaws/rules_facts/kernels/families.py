r"""Named families of kernels: their functions, their coefficients in closed form, and the parameter for an angle.

A dot-product kernel :math:`K(x, x') = k(x \cdot x' / d)` enters the theory through two numbers,

.. math:: \mu_1^2 = k'(0), \qquad \mu_\star^2 = k(1) - k(0) - k'(0).

For a positive-definite kernel :math:`k(t)/k(1) = \sum_j p_j t^j` with :math:`p_j \ge 0` adding up to one. So
:math:`\mu_1^2` and :math:`\mu_\star^2` are, up to :math:`k(1)`, the probabilities of j = 1 and of j ≥ 2. The
distribution of j is Poisson for the exponential kernels and binomial for the polynomial ones: the incomplete gamma and
beta functions give :math:`\mu_\star^2` without the cancellation of the three-term difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import hermite_e
from numpy.typing import ArrayLike
from scipy import special

from genlaws.core.arguments import Array, one_of, real, whole_number, within
from genlaws.core.errors import InputError
from genlaws.core.numerics.elementwise import find_roots

# A correlation above one by at most this is rounding and counts as one.
CORRELATION_ROUNDING = 1e-12
# Search ranges of the parameters. Outside, no double-precision angle changes.
RATE_RANGE = (1e-40, 700.0)
OFFSET_RANGE = (1e-300, 1e40)
# Below this angle the ratio cos²θ of the geometric kernel rounds to one, which it must not reach.
MIN_GEOMETRIC_ANGLE = 1.5e-8


@dataclass(frozen=True)
class KernelParameter:
    """One parameter of a family: its name, its range and a value to show in examples."""

    name: str
    low: float
    high: float
    example: float
    description: str
    default: float | None = None
    open_low: bool = True
    open_high: bool = True
    whole: bool = False

    def check(self, value: ArrayLike) -> Array:
        """Return `value` as a float array inside the range, or raise an InputError."""
        if self.whole:
            value = whole_number(self.name, value, at_least=int(self.low))
        hint = f"It is {self.description}."
        return within(
            self.name, value, self.low, self.high, open_low=self.open_low, open_high=self.open_high, hint=hint
        )


@dataclass(frozen=True)
class Family:
    """A named family of kernels.

    Attributes
    ----------
    name : str
    formula, description : str
        For display: k(t) in one line, and a description of the family.
    parameters : tuple of KernelParameter
        In the order in which they follow the name, as in ``polynomial:3,0.5``.
    function : callable
        ``k(t, *parameters)``, vectorized and unchecked; :meth:`evaluate` checks first.
    closed_form : callable
        (μ1², μ*²) of the parameters, unchecked; :meth:`squares` checks first.
    activation : callable or None
        ``σ(z, *parameters)`` whose infinitely wide layer has this kernel, if one is known in closed form.
    """

    name: str
    formula: str
    description: str
    function: Callable[..., Array]
    closed_form: Callable[..., tuple[ArrayLike, ArrayLike]]
    parameters: tuple[KernelParameter, ...] = ()
    activation: Callable[..., Array] | None = None

    def evaluate(self, correlation: ArrayLike, *parameters: ArrayLike) -> Array:
        """Return k(t) at ``correlation`` in [-1, 1]; the arguments broadcast."""
        return self.function(check_correlation(correlation), *self.check(*parameters))

    def squares(self, *parameters: ArrayLike) -> tuple[Array, Array]:
        """Return (μ1², μ*²) in closed form; arrays of parameters broadcast."""
        with np.errstate(over="ignore", invalid="ignore"):
            mu_1_squared, mu_star_squared = np.broadcast_arrays(*self.closed_form(*self.check(*parameters)))
        if not (np.isfinite(mu_1_squared).all() and np.isfinite(mu_star_squared).all()):
            names = " and ".join(parameter.name for parameter in self.parameters)
            raise InputError(f"{names} must be smaller: the {self.name} kernel overflows double precision at t = 1.")
        return np.array(mu_1_squared, dtype=np.float64), np.array(mu_star_squared, dtype=np.float64)

    def check(self, *parameters: ArrayLike) -> tuple[Array, ...]:
        """Check the parameters one by one and fill in defaults."""
        required = sum(parameter.default is None for parameter in self.parameters)
        if not required <= len(parameters) <= len(self.parameters):
            count = f"{len(parameters)} parameter{'' if len(parameters) == 1 else 's'}" if parameters else "none"
            raise InputError(f"{self._expectation()}; got {count}.")
        defaults = [parameter.default for parameter in self.parameters[len(parameters) :]]
        given = [*parameters, *(default for default in defaults if default is not None)]
        return tuple(parameter.check(value) for parameter, value in zip(self.parameters, given, strict=True))

    def _expectation(self) -> str:
        if not self.parameters:
            return f"The kernel {self.name} takes no parameter"
        names = ", ".join(
            parameter.name + ("" if parameter.default is None else f" (default {parameter.default:g})")
            for parameter in self.parameters
        )
        shown = ",".join(f"{parameter.example:g}" for parameter in self.parameters)
        return f"The kernel {self.name} takes {names}, for example {self.name}:{shown}"


def check_correlation(correlation: ArrayLike) -> Array:
    """Return the correlation of two inputs, in [-1, 1]; an excess of rounding size is clipped."""
    slack = 1.0 + CORRELATION_ROUNDING
    array = real("correlation", correlation)
    if (np.abs(array) > slack).any():
        within("correlation", array, -1.0, 1.0, hint="It is x·x'/d for inputs of squared length d.")
    return np.clip(array, -1.0, 1.0)


def parameter_for_angle(family: str, angle: ArrayLike, *, degree: int | None = None) -> Array:
    r"""Parameter at which a family of kernels has a given kernel angle :math:`\theta = \arctan(\mu_1/\mu_\star)`.

    Closed form for ``quadratic`` (:math:`\theta` itself) and ``geometric`` (:math:`\gamma = \cos^2\theta`). For
    ``exponential``, ``gaussian`` and ``polynomial`` the angle is monotone: a bracketed root in its logarithm.

    Parameters
    ----------
    family : {'polynomial', 'exponential', 'gaussian', 'geometric', 'quadratic'}
    angle : array_like in (0, π/2)
        In radians. Only ``quadratic`` reaches π/2, the linear kernel, itself.
    degree : int at least 2, for the polynomial family alone
        The parameter is then the offset.

    Returns
    -------
    array of the shape of ``angle``

    Notes
    -----
    As :math:`\theta \to 0` the geometric ratio tends to one, and rounding limits the angle: it is recovered with a
    relative error of :math:`10^{-16}/\theta^2`.
    """
    one_of("family", family, FAMILIES)
    if family not in ADJUSTABLE:
        adjustable = ", ".join(ADJUSTABLE)
        raise InputError(f"family must have a parameter to adjust, one of {adjustable}; {family} has none.")
    if family == "polynomial":
        degree = whole_number("degree", degree, at_least=2, hint="The offset is found for a given degree.")
    elif degree is not None:
        raise InputError(f"degree must be left out for the {family} family; got {degree!r}.")
    lowest = _lowest_angle(family, degree)
    angle = within(
        "angle",
        angle,
        lowest,
        np.pi / 2,
        open_low=True,
        open_high=family != "quadratic",
        hint=f"This is the range that the {family} family reaches, in radians.",
    )
    if family == "quadratic":
        return angle[()]
    if family == "geometric":
        return np.square(np.cos(angle))
    return _solve_for_angle(angle, degree)


def _lowest_angle(family: str, degree: int | None) -> float:
    if family == "quadratic":
        return 0.0
    if family == "geometric":
        return MIN_GEOMETRIC_ANGLE
    end = RATE_RANGE[1] if degree is None else OFFSET_RANGE[0]
    return float(np.arctan(np.exp(0.5 * _log_tangent_squared(np.log(end), degree))))


def _solve_for_angle(angle: Array, degree: int | None) -> Array:
    target = 2.0 * (np.log(np.sin(angle)) - np.log(np.cos(angle)))
    low, high = np.log(RATE_RANGE if degree is None else OFFSET_RANGE)

    def mismatch(log_parameter: Array, wanted: Array) -> Array:
        return _log_tangent_squared(log_parameter, degree) - wanted

    bracket = (np.full_like(target, low), np.full_like(target, high))
    return np.asarray(np.exp(find_roots(mismatch, *bracket, target)), dtype=np.float64)[()]


def _log_tangent_squared(log_parameter: ArrayLike, degree: int | None) -> Array:
    """Log of μ1²/μ*² by the log rate if `degree` is None (exponential, Gaussian), else the log offset (polynomial)."""
    log_parameter = np.asarray(log_parameter, dtype=np.float64)
    parameter = np.exp(log_parameter)
    if degree is None:
        exactly_one = log_parameter - parameter
        two_or_more = special.gammainc(2.0, parameter)
    else:
        exactly_one = np.log(degree) + (degree - 1) * log_parameter - degree * np.log1p(parameter)
        two_or_more = special.betainc(2.0, degree - 1.0, 1.0 / (1.0 + parameter))
    return np.asarray(exactly_one - np.log(two_or_more))


def _polynomial_squares(degree: Array, offset: Array) -> tuple[ArrayLike, ArrayLike]:
    """Binomial probabilities of one, and of two or more, in `degree` trials of chance 1/(1 + offset), times k(1)."""
    mu_1_squared = degree * offset ** (degree - 1.0)
    if degree == 1:
        return mu_1_squared, np.zeros_like(mu_1_squared)
    return mu_1_squared, (1.0 + offset) ** degree * special.betainc(2.0, degree - 1.0, 1.0 / (1.0 + offset))


def _polynomial_activation(z: Array, degree: Array, offset: Array) -> Array:
    """Sum of Hermite polynomials whose squared coefficients are those of the kernel in powers of t."""
    order = np.arange(int(degree) + 1)
    squares = special.binom(degree, order) * offset ** (degree - order)
    return np.asarray(hermite_e.hermeval(z, np.sqrt(squares / special.factorial(order))))


def _exact_cosine(angle: Array) -> Array:
    """Cosine that is exactly zero at π/2, where double precision gives 6e-17."""
    return np.where(angle == np.pi / 2, 0.0, np.cos(angle))


_RATE = KernelParameter("rate", 0.0, np.inf, 1.5, "γ, the inverse squared width of the kernel on the sphere")
_EXPONENT = KernelParameter("rate", 0.0, 700.0, 1.5, "γ, the factor in the exponent", open_high=False)
_RATIO = KernelParameter("ratio", 0.0, 1.0, 0.5, "γ, the ratio of the geometric series")
_DEGREE = KernelParameter("degree", 1.0, 1000.0, 3.0, "r, the degree", open_low=False, open_high=False, whole=True)
_OFFSET = KernelParameter("offset", 0.0, np.inf, 0.5, "c, the constant that is added to t", default=1.0, open_low=False)
_ANGLE = KernelParameter("angle", 0.0, np.pi / 2, 1.0, "θ = arctan(μ1/μ*), in radians", open_high=False)

_ALL = (
    Family("linear", "t", "the linear model", lambda t: +t, lambda: (1.0, 0.0), activation=lambda z: +z),
    Family(
        "sign",
        "(2/π) asin t",
        "a wide layer of sign units",
        function=lambda t: 2.0 / np.pi * np.arcsin(t),
        closed_form=lambda: (2.0 / np.pi, 1.0 - 2.0 / np.pi),
        activation=np.sign,
    ),
    Family(
        "erf",
        "(2/π) asin(2t/3)",
        "a wide layer of erf(z) units, the argument not halved",
        function=lambda t: 2.0 / np.pi * np.arcsin(2.0 * t / 3.0),
        closed_form=lambda: (4.0 / (3.0 * np.pi), 2.0 / np.pi * (np.arcsin(2.0 / 3.0) - 2.0 / 3.0)),
        activation=special.erf,
    ),
    Family(
        "relu",
        "(√(1−t²) + t(π − acos t))/(2π)",
        "a wide layer of rectified linear units",
        function=lambda t: (np.sqrt((1.0 - t) * (1.0 + t)) + t * np.arccos(-t)) / (2.0 * np.pi),
        closed_form=lambda: (0.25, 0.25 - 0.5 / np.pi),
        activation=lambda z: np.maximum(z, 0.0),
    ),
    Family(
        "polynomial",
        "(c + t)^r",
        "all products of up to r inputs",
        function=lambda t, degree, offset: (offset + t) ** degree,
        closed_form=_polynomial_squares,
        parameters=(_DEGREE, _OFFSET),
        activation=_polynomial_activation,
    ),
    Family(
        "exponential",
        "e^(γt)",
        "products of any number of inputs",
        function=lambda t, rate: np.exp(rate * t),
        closed_form=lambda rate: (rate, np.exp(rate) * special.gammainc(2.0, rate)),
        parameters=(_EXPONENT,),
        activation=lambda z, rate: np.exp(np.sqrt(rate) * z - 0.5 * rate),
    ),
    Family(
        "gaussian",
        "e^(−γ(1−t))",
        "the Gaussian of the distance, on the sphere",
        function=lambda t, rate: np.exp(-rate * (1.0 - t)),
        closed_form=lambda rate: (rate * np.exp(-rate), special.gammainc(2.0, rate)),
        parameters=(_RATE,),
        activation=lambda z, rate: np.exp(np.sqrt(rate) * z - rate),
    ),
    Family(
        "geometric",
        "1/(1 − γt)",
        "every power of t, in geometric proportion",
        function=lambda t, ratio: 1.0 / (1.0 - ratio * t),
        closed_form=lambda ratio: (ratio, ratio**2 / (1.0 - ratio)),
        parameters=(_RATIO,),
    ),
    Family(
        "quadratic",
        "sin²θ t + cos²θ t²",
        "the simplest kernel of a given angle",
        function=lambda t, angle: np.sin(angle) ** 2 * t + _exact_cosine(angle) ** 2 * t**2,
        closed_form=lambda angle: (np.sin(angle) ** 2, _exact_cosine(angle) ** 2),
        parameters=(_ANGLE,),
        activation=lambda z, angle: np.sin(angle) * z + _exact_cosine(angle) * (z**2 - 1.0) / np.sqrt(2.0),
    ),
)

FAMILIES: dict[str, Family] = {family.name: family for family in _ALL}
ADJUSTABLE = tuple(family.name for family in _ALL if family.parameters)
