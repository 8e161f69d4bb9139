"""Spaces of stimuli: how far the stimuli are from one another, and with which weight.

Every space has total mass 1 and its own unit of distance, stated in its docstring.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from genlaws.core.arguments import Array, fraction, non_negative, one_of, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.core.result import fingerprint
from genlaws.semanticity.theory.radial import RadialDensity
from genlaws.semanticity.theory.ties import merge_ties

PROBE_NODES = 10  # of the Gauss-Legendre rule on each panel of probes
MIN_RADIUS = 1e-60  # in units of the largest distance; stands for no ball mass at all
PLACE_TOLERANCE = 1e-9  # relative; two cuts of the probes that are closer are one
MASS_TOLERANCE = 1e-9  # relative; ball masses of a discrete space that differ by less are the same


@dataclass(frozen=True)
class ContinuousSpace:
    """A space in which a random point has a density of distance from each probe.

    Attributes
    ----------
    name : str
    reach : float
        Largest distance.
    ball : callable
        ``ball(radius)`` gives the mean and the variance over probes of the mass within the radius.
    probes : callable
        ``probes(kinks)`` gives pairs of weight and density; the average over them is exact enough for a similarity
        with these kinks. One pair in a homogeneous space.
    homogeneous : bool
    sizes : dict of str to int
        Its parameters.
    """

    name: str
    reach: float
    ball: Callable[[Array], tuple[Array, Array]]
    probes: Callable[[Iterable[float]], list[tuple[float, RadialDensity]]]
    homogeneous: bool = True
    sizes: Mapping[str, int] = field(default_factory=dict, compare=False)

    def call_parts(self) -> dict[str, Any]:
        """Return what a recorded call says about this space."""
        return {"space": self.name, **self.sizes}


@dataclass(frozen=True)
class DiscreteSpace:
    """A space of finitely many places, or with finitely many distances.

    Attributes
    ----------
    name : str
    distance, mass : arrays of shape (probes, values)
        Each row sorted by distance; the masses of a row add up to 1. The probe's own place is among them.
    probe_mass : array of shape (probes,)
    sizes : dict of str to int
        Its parameters; none if it was made from distances.
    """

    name: str
    distance: Array
    mass: Array
    probe_mass: Array
    sizes: Mapping[str, int] = field(default_factory=dict, compare=False)

    def call_parts(self) -> dict[str, Any]:
        """Return what a recorded call says about this space."""
        return {"space": self.name, **(self.sizes or {"sha256": fingerprint(self.distance, self.mass)})}

    @property
    def reach(self) -> float:
        """Largest distance."""
        return float(self.distance.max())

    @property
    def steps(self) -> Array:
        """The distances at which a ball gains stimuli, sorted."""
        return np.unique(self.distance[self.distance > 0])

    @property
    def homogeneous(self) -> bool:
        """Whether all probes see the same distances; one row stands for all of them."""
        return len(self.distance) == 1

    def ball_masses(self, radius: Array) -> Array:
        """Return the mass within the radius of each probe, the probes along a new last axis."""
        r = np.asarray(radius, dtype=np.float64)
        total = np.concatenate([np.zeros((len(self.mass), 1)), np.cumsum(self.mass, axis=1)], axis=1)
        places = (np.searchsorted(row, r, side="right") for row in self.distance)
        sums: Array = np.stack([row[place] for row, place in zip(total, places, strict=True)], axis=-1)
        return np.minimum(sums, 1.0)

    def ball(self, radius: Array) -> tuple[Array, Array]:
        """Return the mean and the variance over probes of the mass within the radius."""
        b = self.ball_masses(radius)
        mean: Array = np.minimum(b @ self.probe_mass, 1.0)
        variance: Array = (b - mean[..., None]) ** 2 @ self.probe_mass
        return mean, variance


Space = ContinuousSpace | DiscreteSpace


def circle() -> ContinuousSpace:
    """Return the circle of length 1; distances are arcs, at most 1/2."""
    return _homogeneous("circle", 0.5, lambda d: np.full(d.shape, 2.0), lambda r: np.minimum(2.0 * r, 1.0))


def segment() -> ContinuousSpace:
    r"""Return the segment [0, 1] with uniform weight.

    A ball of radius :math:`\varepsilon` has mean mass :math:`2\varepsilon-\varepsilon^2` and variance
    :math:`\tfrac23\varepsilon^3-\varepsilon^4` up to one half, :math:`(2\varepsilon-1)+\tfrac23(1-\varepsilon^3)-
    (2\varepsilon-\varepsilon^2)^2` above.
    """

    def ball(radius: Array) -> tuple[Array, Array]:
        """Return the mean and the variance over probes of the mass within a radius."""
        r = np.minimum(np.asarray(radius, dtype=np.float64), 1.0)
        mean = 2.0 * r - r**2
        above = (2.0 * r - 1.0) + 2.0 / 3.0 * (1.0 - r**3) - mean**2
        return mean, np.maximum(np.where(r <= 0.5, 2.0 / 3.0 * r**3 - r**4, above), 0.0)

    def probes(kinks: Iterable[float]) -> list[tuple[float, RadialDensity]]:
        places, weights = _probe_rule([*kinks, *(1.0 - kink for kink in kinks)])
        return [(2.0 * w, _seen_from(p)) for p, w in zip(places.tolist(), weights.tolist(), strict=True)]

    return ContinuousSpace("segment", 1.0, ball, probes, homogeneous=False)


def torus(dimension: int = 2) -> ContinuousSpace:
    """Return the flat torus of side 1 in one, two or three dimensions with the Euclidean distance.

    Its largest distance is half the square root of the dimension.
    """
    whole_number("dimension", dimension, at_least=1, at_most=3, hint="Higher tori have no closed-form ball here.")
    if dimension == 1:
        return circle()
    reach = 0.5 * float(np.sqrt(dimension))
    if dimension == 2:
        return _homogeneous("torus", reach, _torus_2, _torus_2_mass, kinks=(0.5,), dimension=2)
    return _homogeneous("torus", reach, _torus_3, _torus_3_mass, kinks=(0.5, 0.5**0.5), dimension=3)


def sphere(dimension: int = 2) -> ContinuousSpace:
    r"""Return the unit sphere of the given dimension; distances are angles up to :math:`\pi`.

    The surface of a ball has dimension 2. The density of the angle is proportional to :math:`\sin^{k-1}\theta`.
    """
    k = whole_number("dimension", dimension, at_least=1)
    area = 1.0 / float(special.beta(0.5 * k, 0.5))

    def density(d: Array) -> Array:
        return np.asarray(area * np.sin(d) ** (k - 1))

    def mass(radius: Array) -> Array:
        theta = np.minimum(np.asarray(radius, dtype=np.float64), np.pi)
        cap = special.betainc(0.5 * k, 0.5 * k, np.sin(0.5 * theta) ** 2)
        return np.asarray(cap)

    # In many dimensions the mass lies within a few 1/√k of the equator.
    equator = tuple(0.5 * np.pi + step / np.sqrt(k) for step in (-9.0, 0.0, 9.0)) if k > 50 else ()
    return _homogeneous("sphere", float(np.pi), density, mass, equator, dimension=k)


def hypercube(dimension: int) -> DiscreteSpace:
    """Return the corners of the hypercube with the Hamming distance, all with the same weight."""
    k = whole_number("dimension", dimension, at_least=1, at_most=1000)
    mass = np.array([math.comb(k, differing) / 2**k for differing in range(k + 1)])
    return DiscreteSpace("hypercube", np.arange(k + 1.0)[None], mass[None], np.ones(1), {"dimension": k})


def tree(branching: int, depth: int) -> DiscreteSpace:
    """Return the leaves of a regular tree; the distance of two leaves is the number of edges between them.

    Parameters
    ----------
    branching : int
        Children of each inner node, at least 2.
    depth : int
        Edges from the root to a leaf.
    """
    k = whole_number("branching", branching, at_least=2, at_most=1_000_000)
    levels = np.arange(whole_number("depth", depth, at_least=1, at_most=1000) + 1.0)
    within = float(k) ** (levels - depth)
    sizes = {"branching": k, "depth": depth}
    return DiscreteSpace("tree", 2.0 * levels[None], np.diff(within, prepend=0.0)[None], np.ones(1), sizes)


def from_distances(distances: ArrayLike, weights: ArrayLike | None = None) -> DiscreteSpace:
    """Return the space of a distance matrix.

    Parameters
    ----------
    distances : array_like of shape (N, N)
    weights : array_like of shape (N,) or None
        Mass of each point, in any unit; the same for all if not given. Points without mass are left out.
    """
    d = check_distances(distances)
    w = np.ones(len(d)) if weights is None else non_negative("weights", weights)
    if w.shape != (len(d),) or not w.any():
        raise InputError(f"weights must be {len(d)} numbers, one for each row of distances, not all zero.")
    there = w > 0
    d, w = merge_ties(d[np.ix_(there, there)]), w[there] / w.max()
    w = w / w.sum()
    order = np.argsort(d, axis=1, kind="stable")
    return DiscreteSpace("matrix", np.take_along_axis(d, order, axis=1), w[order], w)


def check_distances(distances: ArrayLike) -> Array:
    """Return a distance matrix, or raise an error that states what is wrong with it."""
    d = non_negative("distances", distances)
    if d.ndim != 2 or d.shape[0] != d.shape[1] or len(d) < 2:
        raise InputError(f"distances must be a square matrix of at least two rows; got shape {d.shape}.")
    if not np.allclose(d, d.T, rtol=1e-9, atol=1e-12 * float(d.max(initial=0.0))):
        i, j = np.unravel_index(np.argmax(np.abs(d - d.T)), d.shape)
        raise InputError(
            f"distances must be symmetric; from row {i} to column {j} it is {d[i, j]:g}, back it is {d[j, i]:g}."
        )
    if np.diagonal(d).any():
        raise InputError("distances must be zero on the diagonal; a point lies at no distance from itself.")
    return d


CONTINUOUS_SPACES = ("circle", "segment", "torus", "sphere")
SPACES = (*CONTINUOUS_SPACES, "hypercube", "tree")


def space(name: str, *, dimension: int | None = None, branching: int | None = None, depth: int | None = None) -> Space:
    """Return a space by name; `dimension` belongs to torus, sphere and hypercube, the others to the tree."""
    one_of("space", name, SPACES)
    given = {"dimension": dimension, "branching": branching, "depth": depth}
    allowed = {
        "torus": {"dimension"},
        "sphere": {"dimension"},
        "hypercube": {"dimension"},
        "tree": {"branching", "depth"},
    }
    for parameter, value in given.items():
        if value is not None and parameter not in allowed.get(name, set()):
            raise InputError(f"{parameter} is no parameter of the {name}.")
    makers: dict[str, Callable[[], Space]] = {
        "circle": circle,
        "segment": segment,
        "torus": partial(torus, 2 if dimension is None else dimension),
        "sphere": partial(sphere, 2 if dimension is None else dimension),
        "hypercube": partial(hypercube, 10 if dimension is None else dimension),
        "tree": partial(tree, 2 if branching is None else branching, 8 if depth is None else depth),
    }
    return makers[name]()


def resolution_of_ball(where: Space, ball_mass: float) -> float:
    """Return the resolution whose mean ball mass is `ball_mass`; refuse one that a discrete space does not have."""
    b = float(scalar("ball_mass", fraction("ball_mass", ball_mass, "It is a share of the space, not a radius.")))
    if isinstance(where, ContinuousSpace):
        low, high = 0.0, where.reach
        while high > MIN_RADIUS * where.reach and low < (middle := 0.5 * (low + high)) < high:
            low, high = (middle, high) if float(where.ball(np.array(middle))[0]) < b else (low, middle)
        return high
    order = np.argsort(where.distance, axis=None)
    sums = np.minimum(np.cumsum((where.probe_mass[:, None] * where.mass).ravel()[order]), 1.0)
    radii, first = np.unique(where.distance.ravel()[order], return_index=True)
    masses = sums[np.append(first[1:], order.size) - 1]
    nearest = int(np.argmin(np.abs(masses - b)))
    if not math.isclose(masses[nearest], b, rel_tol=MASS_TOLERANCE):
        nearby = [f"{mass:.6g}" for mass in (masses[masses < b][-1:].tolist() + masses[masses > b][:1].tolist())]
        raise InputError(
            f"ball_mass must be one that the {where.name} has; got {b:g}. Next to it there are {' and '.join(nearby)}."
        )
    if radii[nearest] > 0:
        return float(radii[nearest])
    return 0.5 * float(radii[1]) if radii.size > 1 else 1.0


def _homogeneous(
    name: str,
    reach: float,
    density: Callable[[Array], Array],
    mass: Callable[[Array], Array],
    kinks: tuple[float, ...] = (),
    **sizes: int,
) -> ContinuousSpace:
    one = [(1.0, RadialDensity(density, reach, kinks))]

    def ball(radius: Array) -> tuple[Array, Array]:
        b = np.clip(mass(np.asarray(radius, dtype=np.float64)), 0.0, 1.0)
        return b, np.zeros(b.shape)

    return ContinuousSpace(name, reach, ball, lambda _: one, sizes=sizes)


def _probe_rule(cuts: list[float]) -> tuple[Array, Array]:
    """Return places in [0, 1/2] and weights adding up to one half, cut where a kink meets an end of the segment."""
    inner = np.unique([cut for cut in cuts if 0.0 < cut < 0.5])
    inner = inner[np.diff(inner, prepend=0.0) > PLACE_TOLERANCE * inner]
    edges = np.concatenate([[0.0], inner, [0.5]])
    x, w = np.polynomial.legendre.leggauss(PROBE_NODES)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + x)).ravel(), (half * w).ravel()


def _seen_from(place: float) -> RadialDensity:
    """Return the density of distance from a place of the segment: 2 up to the nearer end, 1 up to the farther."""
    return RadialDensity(lambda d: np.where(d < place, 2.0, 1.0), 1.0 - place, (place,))


def _torus_2(d: Array) -> Array:
    r"""Return :math:`2\pi r`, and :math:`2\pi r - 8 r\arccos(1/2r)` where the circle leaves the unit square."""
    outside = np.arccos(0.5 / np.maximum(d, 0.5))
    return 2.0 * np.pi * d - 8.0 * d * outside


def _torus_2_mass(radius: Array) -> Array:
    r = np.minimum(radius, 0.5**0.5)
    far = np.maximum(r, 0.5)
    segments = 4.0 * (far**2 * np.arccos(0.5 / far) - 0.5 * np.sqrt(np.maximum(far**2 - 0.25, 0.0)))
    return np.where(radius >= 0.5**0.5, 1.0, np.pi * r**2 - np.where(r > 0.5, segments, 0.0))


def _torus_3(d: Array) -> Array:
    r"""Return :math:`r^2\big[4\pi - 6\cdot2\pi(1-\cos\alpha) + 12 A\big]` with :math:`\cos\alpha = 1/2r`.

    The six caps of the sphere outside the unit cube overlap, from :math:`r = 1/\sqrt2` on, in twelve lenses of area
    :math:`A = 2\pi - 2\arccos(-\cot^2\alpha) - 4\cos\alpha\arccos(\cot\alpha)`.
    """
    cosine = 0.5 / np.maximum(d, 0.5)
    with np.errstate(divide="ignore"):
        cotangent = np.minimum(cosine / np.sqrt(1.0 - cosine**2), 1.0)
    lens: Array = 2.0 * np.pi - 2.0 * np.arccos(-(cotangent**2)) - 4.0 * cosine * np.arccos(cotangent)
    return d**2 * (4.0 * np.pi - 12.0 * np.pi * (1.0 - cosine) + 12.0 * lens)


_RULE_OF_40 = np.polynomial.legendre.leggauss(40)


def _torus_3_mass(radius: Array) -> Array:
    """Integrate the density; beyond the last kink in the square root of the distance from it, where it is smooth."""
    r = np.minimum(np.asarray(radius, dtype=np.float64), 0.75**0.5)
    u = np.clip(r, 0.5, 0.5**0.5) - 0.5
    near = 4.0 / 3.0 * np.pi * np.minimum(r, 0.5) ** 3 + np.pi * (u - u**2 - 8.0 / 3.0 * u**3)
    x, w = _RULE_OF_40
    root = np.sqrt(np.maximum(r - 0.5**0.5, 0.0))[..., None] * 0.5
    s = root * (1.0 + x)
    mass: Array = near + (_torus_3(0.5**0.5 + s**2) * 2.0 * s * root) @ w
    return mass
