"""How similar two things look at a given distance from each other.

A similarity is a shape, which starts at 1 and does not increase, stretched to a resolution. A background, the
same at every distance, may lie beyond it or under it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from genlaws.core.arguments import Array, non_negative, one_of, positive, scalar
from genlaws.core.errors import InputError

# Distances, in units of the resolution, at which a user's function is checked to be a similarity.
_TEST_DISTANCES = np.concatenate([[0.0], np.geomspace(1e-6, 1e6, 601)])
_KINK_OFFSET = 1e-9  # relative; how far from a kink both sides of it are checked
# A profile that reaches zero is not yet this small at this relative distance before its end; one that underflows is.
_END_OFFSET, _UNDERFLOW = 1e-6, 1e-190
RISE_TOLERANCE = 1e-12  # relative; a smaller rise is rounding


@dataclass(frozen=True)
class Shape:
    r"""A similarity as a function of the scaled distance :math:`x = d/\varepsilon`.

    Attributes
    ----------
    name : str
    profile : callable
        :math:`s(x)`, with :math:`s(0) = 1`, not increasing, not negative.
    kinks : tuple of float
        Scaled distances at which the profile jumps or has a corner; integrals are split there.
    area : callable or None
        :math:`\int_0^x s`, where it has a closed form.
    support : float
        Scaled distance beyond which the profile is zero.

    Notes
    -----
    The built-in shapes can be pickled, and stay equal to themselves when they are.
    """

    name: str
    profile: Callable[[Array], Array]
    kinks: tuple[float, ...] = ()
    area: Callable[[Array], Array] | None = None
    support: float = np.inf

    def __str__(self) -> str:
        parameters: dict[str, float] = getattr(self.profile, "keywords", {})
        return " ".join([self.name, *(f"with {name} {value:g}" for name, value in parameters.items())])


def _constant(x: Array) -> Array:
    return (x <= 1.0).astype(np.float64)


def _constant_area(x: Array) -> Array:
    return np.minimum(x, 1.0)


def _linear(x: Array) -> Array:
    return np.maximum(0.0, 1.0 - x)


def _linear_area(x: Array) -> Array:
    inside = np.minimum(x, 1.0)
    return inside - 0.5 * inside**2


def _exponential(x: Array) -> Array:
    return np.exp(-x)


def _exponential_area(x: Array) -> Array:
    return -np.expm1(-x)


def _gaussian(x: Array) -> Array:
    return np.exp(-0.5 * x**2)


def _gaussian_area(x: Array) -> Array:
    return np.asarray(np.sqrt(0.5 * np.pi) * special.erf(x / np.sqrt(2.0)))


def _power(x: Array, exponent: float) -> Array:
    return np.exp(-exponent * np.log1p(x))


def _power_area(x: Array, exponent: float) -> Array:
    logarithm, left = np.log1p(x), 1.0 - exponent
    return np.expm1(left * logarithm) / left if left else logarithm


CONSTANT = Shape("constant", _constant, (1.0,), _constant_area, 1.0)
LINEAR = Shape("linear", _linear, (1.0,), _linear_area, 1.0)
EXPONENTIAL = Shape("exponential", _exponential, (), _exponential_area)
GAUSSIAN = Shape("gaussian", _gaussian, (), _gaussian_area)


def power_law(exponent: float = 2.0) -> Shape:
    r"""Return the shape :math:`s(x) = (1 + x)^{-a}` with :math:`a` the `exponent`."""
    a = float(scalar("exponent", positive("exponent", exponent)))
    return Shape("power-law", partial(_power, exponent=a), (), partial(_power_area, exponent=a))


SHAPES: dict[str, Shape] = {shape.name: shape for shape in (CONSTANT, LINEAR, EXPONENTIAL, GAUSSIAN, power_law())}


def user_shape(profile: Callable[[Array], Array], kinks: tuple[float, ...] = (), name: str = "user") -> Shape:
    """Return a shape from a function of the scaled distance, after checking it at 602 distances and at its kinks.

    Parameters
    ----------
    profile : callable
        Takes an array of scaled distances and returns their similarities. It is divided by its value at 0.
    kinks : tuple of float > 0
        Where it jumps or has a corner. An integral over a kink that is not named takes longer and may lose accuracy.
    name : str
        Not that of a built-in shape.

    Notes
    -----
    Where the function is zero only because it underflows, it counts as positive up to the next kink.
    """
    if name in SHAPES:
        raise InputError(f"name of a user's similarity must not be that of a built-in one; got {name!r}.")
    places = np.sort(positive("kinks", list(kinks)).ravel()) if len(kinks) else np.empty(0)
    around = (places * (1.0 + step) for step in (-_KINK_OFFSET, 0.0, _KINK_OFFSET))
    at = np.unique(np.concatenate([_TEST_DISTANCES, *around]))

    def heights(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(profile(x), dtype=np.float64)

    seen = heights(at.copy())
    if seen.shape != at.shape or not np.isfinite(seen).all() or seen.min() < 0 or not seen[0] > 0:
        raise InputError(
            "A user's similarity must return one finite number, zero or positive, for each scaled distance, "
            "and a positive one at distance 0."
        )
    rises = np.diff(seen) > RISE_TOLERANCE * seen[0]
    if rises.any():
        where = at[1:][rises][0]
        raise InputError(f"A user's similarity must not increase with distance; it rises near {where:.3g} resolutions.")
    at_zero = float(seen[0])

    def scaled(x: Array) -> Array:
        return heights(x) / at_zero

    support = _support(scaled, at[seen > 0].max(), at[seen == 0].min(initial=np.inf))
    if scaled(np.array([(1.0 - _END_OFFSET) * min(support, at.max())]))[0] < _UNDERFLOW:
        support = float(places[places >= support].min(initial=np.inf))
    return Shape(name, scaled, tuple(places.tolist()), None, support)


def _support(profile: Callable[[Array], Array], low: float, high: float) -> float:
    """Return where a profile that is positive at `low` and zero at `high` becomes zero, by bisection."""
    while np.isfinite(high) and low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if profile(np.array([middle]))[0] > 0 else (low, middle)
    return float(high)


@dataclass(frozen=True)
class Similarity:
    r"""A shape stretched to a resolution, with or without a background and a cut.

    .. math:: g(d) = s(d/\varepsilon) + \Delta, \qquad
        g(d) = \begin{cases} 1 & d \le \varepsilon \\ \Delta & d > \varepsilon \end{cases} \quad\text{(constant)}

    Beyond the `cut` the shape counts as zero and only the background is left. The constant similarity takes its
    background instead of, not on top of, the 1 it has inside: that is how Theorem 2 is written.

    Attributes
    ----------
    shape : Shape
    resolution : float
        :math:`\varepsilon`, in units of the distance.
    background : float
        :math:`\Delta \ge 0`, in units of the similarity at distance zero without background.
    cut : float
        Distance; infinite if there is none.

    References
    ----------
    :cite:p:`nurisso2026`, Section 3, and Appendix for the linear and exponential shapes.
    """

    shape: Shape
    resolution: float
    background: float = 0.0
    cut: float = np.inf

    def __post_init__(self) -> None:
        resolution = positive("resolution", self.resolution)
        background = non_negative("background", self.background)
        no_cut = isinstance(self.cut, float) and self.cut == np.inf
        cut = np.array(np.inf) if no_cut else positive("cut", self.cut)
        if self.is_constant and (background > 1.0).any():
            raise InputError(f"background of the constant similarity must lie in [0, 1]; got {background:g}.")
        for name, value in (("resolution", resolution), ("background", background), ("cut", cut)):
            object.__setattr__(self, name, float(scalar(name, value)))

    def __call__(self, distance: ArrayLike) -> Array:
        """Return the similarity at each distance."""
        d = non_negative("distance", distance, infinite=True)
        with np.errstate(over="ignore"):
            s = self.shape.profile(d / self.resolution)
        s = np.where(d <= self.cut, s, 0.0)
        return np.maximum(s, self.background) if self.is_constant else s + self.background

    def call_parts(self) -> dict[str, Any]:
        """Return what a recorded call says about this similarity."""
        numbers = {"resolution": self.resolution, "background": self.background, "cut": self.cut}
        return {"similarity": str(self.shape), **numbers}

    @property
    def is_constant(self) -> bool:
        """Whether the shape is the constant one, for which there are closed forms."""
        return self.shape == CONSTANT

    @property
    def kinks(self) -> tuple[float, ...]:
        """Distances at which the similarity jumps or has a corner; beyond the cut there are none."""
        inside = {kink for kink in (self.resolution * x for x in self.shape.kinks) if kink < self.cut}
        return tuple(sorted(inside | {self.cut} - {np.inf}))

    @property
    def support(self) -> float:
        """Distance beyond which only the background is left."""
        return min(self.cut, self.resolution * self.shape.support)

    def at_resolution(self, resolution: float) -> Similarity:
        """Return the same similarity at another resolution."""
        return replace(self, resolution=resolution)


def similarity(
    shape: str | Shape | Callable[[Array], Array],
    resolution: float,
    *,
    background: float = 0.0,
    cut: float | None = None,
    exponent: float | None = None,
) -> Similarity:
    """Return a similarity from a name, a shape or a function of the scaled distance.

    Parameters
    ----------
    shape : str, Shape or callable
        ``constant``, ``linear``, ``exponential``, ``gaussian`` or ``power-law``; see :func:`user_shape` for callables.
    resolution : float > 0
    background : float, zero or positive
        For the constant similarity at most 1.
    cut : float > 0 or None
    exponent : float > 0 or None
        Of the power law alone; 2 if left out.
    """
    return Similarity(_find_shape(shape, exponent), resolution, background, np.inf if cut is None else cut)


def _find_shape(shape: str | Shape | Callable[[Array], Array], exponent: float | None) -> Shape:
    if isinstance(shape, Shape):
        form = shape
    elif callable(shape):
        form = user_shape(shape)
    else:
        form = SHAPES[one_of("similarity", shape, SHAPES)]
    if exponent is None:
        return form
    if form.name != "power-law":
        raise InputError(f"exponent belongs to the power-law similarity alone; got it with the {form.name} one.")
    return power_law(exponent)
