"""The integral for any similarity and space: against products of quadratures, closed forms, enumeration, simulation."""

import itertools
from math import comb

import mpmath
import numpy as np
import pytest

from genlaws.semanticity import (
    circle,
    generalization_of_many,
    hypercube,
    identification_of_many,
    segment,
    similarity,
    sphere,
    torus,
    tree,
    user_shape,
)
from genlaws.semanticity.theory.exact import probabilities
from genlaws.semanticity.theory.luce import probabilities_from_density
from luce_cases import ALL_SPACES, BLOCK_SHAPE, MANY, ROUNDING, SHAPES, SMOOTH_INSIDE, stairs

# The integral and the product of quadratures are both good to a few units of the twelfth digit.
QUADRATURE = 1e-12
# On the segment, probes are averaged by a rule of finitely many panels.
OVER_PROBES = 1e-10
# Standard errors allowed to a simulation.
SIGMAS = 5.0


# --- products of quadratures: no integral over t ----------------------------------------------------------------------


def line(low, high, order, square):
    """Return Gauss nodes and weights; `square` is the start of a square-root singularity, or nothing."""
    x, w = np.polynomial.legendre.leggauss(order)
    if square is None:
        return 0.5 * (low + high) + 0.5 * (high - low) * x, 0.5 * (high - low) * w
    start, end = np.sqrt(low - square), np.sqrt(high - square)
    y = 0.5 * (start + end) + 0.5 * (end - start) * x
    return square + y**2, 0.5 * (end - start) * w * 2 * y


def beyond(r, panels, density, order):
    """Return nodes of distance and of mass beyond r."""
    parts = [line(max(low, r), high, order, square) for low, high, square in panels if high > r]
    d = np.concatenate([part[0] for part in parts])
    return d, np.concatenate([part[1] for part in parts]) * density(d)


def mean_reciprocals(first, offers, masses, most):
    """Return the mean of 1/(first + sum of k offers) for k = 0 … most, by the full product of the rule with itself."""
    sums, weights, answer = np.array([first]), np.ones(1), []
    for _ in range(most + 1):
        answer.append(weights @ (1 / sums))
        sums, weights = np.add.outer(sums, offers).ravel(), np.multiply.outer(weights, masses).ravel()
    return np.array(answer)


def product_reference(panels, density, g, n, order):
    """Return both probabilities; the panels end where the similarity or the space does."""
    d, m = beyond(0.0, panels, density, order)
    outside = 1 - m.sum()
    named = mean_reciprocals(float(g(0.0)), g(d), m, n - 1) * float(g(0.0))
    identification = sum(comb(n - 1, k) * outside ** (n - 1 - k) * named[k] for k in range(n))
    generalization = outside**n / n
    for r, mass in zip(d, m, strict=True):
        own = float(g(r))
        rest = mean_reciprocals(
            own, g(beyond(r, panels, density, order)[0]), beyond(r, panels, density, order)[1], n - 1
        )
        chances = (comb(n, k) * k * outside ** (n - k) * own * rest[k - 1] for k in range(1, n + 1))
        generalization += mass * sum(chances)
    return generalization, identification


DENSITIES = {
    "circle": (circle(), lambda d: np.full(d.shape, 2.0), [(0.0, 0.5, None)]),
    "sphere": (sphere(2), lambda d: 0.5 * np.sin(d), [(0.0, np.pi, None)]),
    "torus": (
        torus(2),
        lambda d: 2 * np.pi * d - 8 * d * np.arccos(0.5 / np.maximum(d, 0.5)),
        [(0.0, 0.5, None), (0.5, 0.5**0.5, 0.5)],
    ),
}
ORDERS = {2: 60, 3: 40, 5: 13}
# A rule of thirteen nodes gives the fivefold product to this many digits.
COARSE = {2: QUADRATURE, 3: QUADRATURE, 5: 3e-9}


def panels_to(panels, end):
    return [(low, min(high, end), square) for low, high, square in panels if low < end]


@pytest.mark.parametrize(("name", "n"), [(name, n) for name in DENSITIES for n in ORDERS if (name, n) != ("torus", 5)])
@pytest.mark.parametrize("shape", SMOOTH_INSIDE)
def test_integrals_are_products_of_quadratures(name, shape, n):
    where, density, panels = DENSITIES[name]
    g = SHAPES[shape].at_resolution(0.7 * where.reach)
    if shape == "cut":
        g = similarity("exponential", 0.7 * where.reach, cut=0.8 * where.reach)
    expected = product_reference(panels_to(panels, g.support), density, g, n, ORDERS[n])
    found = probabilities(where, g, n)
    assert found.generalization == pytest.approx(expected[0], rel=COARSE[n])
    assert found.identification == pytest.approx(expected[1], rel=COARSE[n])


@pytest.mark.parametrize("shape", ["linear", "exponential", "cut"])
def test_the_same_by_a_double_quadrature_of_mpmath(shape):
    # Sphere, two items, fine resolution; the rule of mpmath chooses its own nodes and stands singular ends.
    g = SHAPES[shape].at_resolution(0.5)
    end = min(g.support, np.pi)
    nodes = [0.0, *np.linspace(0.4, 0.9, 3).tolist(), end] if end > 1 else [0.0, end]

    def chance(r, s):
        return float(g(r)) / (float(g(r)) + float(g(s)))

    def inner(r):
        if r >= end:
            return 0.0
        return mpmath.fp.quad(lambda s: chance(r, s) * np.sin(s) / 2, [r, 0.5 * (r + end), end], maxdegree=5)

    both_inside = 2 * mpmath.fp.quad(lambda r: np.sin(r) / 2 * inner(r), nodes, maxdegree=5)
    b = 0.5 * (1 - np.cos(end))
    expected = both_inside + 2 * b * (1 - b) + 0.5 * (1 - b) ** 2
    assert probabilities(sphere(2), g).generalization == pytest.approx(expected, rel=1e-10)


def seen_from(place):
    return lambda d: np.where(d < place, 2.0, 1.0)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("shape", SMOOTH_INSIDE)
def test_each_probe_of_the_segment(shape, n):
    g = SHAPES[shape].at_resolution(0.6) if shape != "cut" else similarity("exponential", 0.6, cut=0.7)
    for _, measure in segment().probes(())[:: 9 if n == 5 else 5]:
        (place,) = measure.kinks
        panels = panels_to([(0.0, place, None), (place, 1 - place, None)], g.support)
        order = {2: 40, 3: 24, 5: 8}[n]
        expected = product_reference(panels, seen_from(place), g, n, order)
        found = probabilities_from_density(measure, g, (n,))
        tolerance = 1e-7 if n == 5 else QUADRATURE
        assert found[0][0] == pytest.approx(expected[0], rel=tolerance)
        assert found[1][0] == pytest.approx(expected[1], rel=tolerance)


@pytest.mark.parametrize(
    ("shape", "resolution", "n"), [("linear", 0.2, 3), ("linear", 0.9, 2), ("exponential", 0.2, 2), ("cut", 0.9, 3)]
)
def test_the_average_over_the_segment(shape, resolution, n):
    g = SHAPES[shape].at_resolution(resolution)
    edges = {0.0, 0.5, *(end for end in (g.support, 1 - g.support) if 0 < end < 0.5)}
    total = np.zeros(2)
    for low, high in itertools.pairwise(sorted(edges)):
        # Toward both ends of a piece the steps shrink: there the view has weak singularities.
        steps = 0.5 * (high - low) * 4.0 ** -np.arange(4)
        for left, right in itertools.pairwise(np.unique([low, high, *(low + steps), *(high - steps)])):
            places, weights = line(left, right, 6, None)
            for place, weight in zip(places, weights, strict=True):
                panels = panels_to([(0.0, place, None), (place, 1 - place, None)], g.support)
                total += 2 * weight * np.array(product_reference(panels, seen_from(place), g, n, 12))
    found = probabilities(segment(), g, n)
    assert found.generalization == pytest.approx(total[0], rel=1e-7)
    assert found.identification == pytest.approx(total[1], rel=1e-7)


@pytest.mark.parametrize(
    ("resolution", "background", "n"),
    [(1e-4, 1e-3, 2), (0.01, 1e-10, 3), (0.03, 1e-3, 50), (0.2, 1e-3, 2), (0.2, 1e-12, 2)],
)
@pytest.mark.parametrize("shape", ["linear", "exponential", "gaussian", "power-law"])
def test_more_probes_change_nothing(shape, resolution, background, n, monkeypatch):
    g = similarity(shape, resolution, background=background)
    usual = probabilities(segment(), g, n)
    monkeypatch.setattr("genlaws.semanticity.theory.spaces.PROBE_NODES", 16)
    finer = probabilities(segment(), g, n)
    assert usual.generalization == pytest.approx(finer.generalization, rel=OVER_PROBES)
    assert usual.identification == pytest.approx(finer.identification, rel=OVER_PROBES)


@pytest.mark.parametrize("shape", ["linear", "exponential", "gaussian"])
@pytest.mark.parametrize("resolution", [1e-4, 1e-8])
def test_a_peak_much_narrower_than_the_space_is_not_missed(shape, resolution):
    # Far from the ends of the segment, and on the circle, a probe sees the same two sides.
    g = similarity(shape, resolution, background=1e-3)
    on_circle = probabilities(circle(), g)
    for _, measure in segment().probes(())[1::4]:
        found = probabilities_from_density(measure, g, (2,))
        # What lies beyond the nearer end has density 1, not 2, which the narrow peak does not see.
        assert found[0][0] - 0.5 == pytest.approx(on_circle.generalization - 0.5, rel=0.01)
        assert found[1][0] == pytest.approx(on_circle.identification, abs=10 * resolution)


# --- closed forms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("background", [0.0, 1e-12, 0.2])
@pytest.mark.parametrize("name", [name for name in ALL_SPACES if name != "segment"])
def test_the_integral_knows_the_closed_form_of_the_constant_similarity(name, background):
    where = ALL_SPACES[name]
    delta = background / (1 + background)
    for share in (1e-3, 0.3, 0.45, 0.55, 0.9):
        g = similarity(BLOCK_SHAPE, share * where.reach, background=background)
        b = where.ball(np.array(g.resolution))[0]
        for n in (1, 2, 5, MANY):
            found = probabilities(where, g, n)
            assert found.generalization == pytest.approx(float(generalization_of_many(b, n, delta)), rel=ROUNDING)
            assert found.identification == pytest.approx(float(identification_of_many(b, n, delta)), rel=ROUNDING)


@pytest.mark.parametrize("a", [0.01, 0.3, 1.0, 3.0, 50.0])
@pytest.mark.parametrize("b", [1e-6, 0.2, 0.9])
def test_powers_of_the_linear_similarity_on_the_circle(a, b):
    # Given the nearest, ratios of (1 - z)^a are those of uniform numbers: both inside, the nearer wins as a copy would.
    with mpmath.workdps(20):
        both = float(mpmath.quad(lambda v: 1 / (1 + v ** mpmath.mpf(a)), [0, 1e-6, 0.5, 0.9, 0.99, 1]))
    g = similarity(user_shape(lambda x: np.clip(1 - x, 0, None) ** a, (1.0,)), b / 2)
    found = probabilities(circle(), g)
    # At a = 50 a share of 2.5e-6 of the ball has similarities below 1e-280, which are not distinguished.
    tolerance = 7e-12 if a == 50 else ROUNDING
    assert found.generalization == pytest.approx(b**2 * both + 2 * b * (1 - b) + (1 - b) ** 2 / 2, abs=tolerance)
    assert found.identification == pytest.approx(1 - b + b * both, abs=ROUNDING)


@pytest.mark.parametrize("name", ["circle", "torus-2", "sphere-2", "sphere-50"])
def test_a_bend_without_a_name_costs_little_accuracy(name):
    where = ALL_SPACES[name]
    named, unnamed = (
        probabilities(where, similarity(user_shape(stairs, kinks), 0.45 * where.reach, background=0.01), 3)
        for kinks in ((0.4, 0.8, 1.5), ())
    )
    # Panels are halved around a jump until it falls between the last node of one and its end.
    assert unnamed.generalization == pytest.approx(named.generalization, rel=1e-6)
    assert unnamed.identification == pytest.approx(named.identification, rel=1e-6)


def test_a_sharp_but_smooth_step_above_a_background_is_seen():
    g = similarity(lambda x: 1 / (1 + np.exp(2000 * (x - 1))), 0.2, background=0.5)
    edges = [0.0, *np.linspace(0.197, 0.203, 9).tolist(), 0.5]
    panels = [(low, high, None) for low, high in itertools.pairwise(edges)]
    expected = product_reference(panels, lambda d: np.full(d.shape, 2.0), g, 2, 16)
    found = probabilities(circle(), g)
    assert found.generalization == pytest.approx(expected[0], rel=1e-11)
    assert found.identification == pytest.approx(expected[1], rel=1e-11)


@pytest.mark.parametrize(("cut", "resolution"), [(0.1, 0.2), (0.2, 0.2), (0.3, 0.2), (1e-9, 0.2)])
def test_a_cut_of_the_constant_similarity_is_a_finer_resolution(cut, resolution):
    for where in (circle(), segment(), torus(2), hypercube(5)):
        found = probabilities(where, similarity("constant", resolution, background=0.1, cut=cut), 4)
        plain = probabilities(where, similarity("constant", min(cut, resolution), background=0.1), 4)
        assert found.generalization == pytest.approx(plain.generalization, rel=ROUNDING)
        assert found.identification == pytest.approx(plain.identification, rel=ROUNDING)


@pytest.mark.parametrize("shape", ["linear", "exponential"])
def test_a_cut_exactly_at_a_bend_changes_nothing(shape):
    g = similarity(shape, 0.3, cut=0.3)
    nearby = similarity(shape, 0.3, cut=np.nextafter(0.3, 1))
    found, other = (probabilities(circle(), form, 3).generalization for form in (g, nearby))
    assert found == pytest.approx(other, rel=ROUNDING)


# --- simulation -------------------------------------------------------------------------------------------------------

SAMPLES = 20_000


def wrapped(gap):
    return np.minimum(np.abs(gap), 1 - np.abs(gap))


def on_sphere(shape, dimension, rng):
    points = rng.normal(size=(*shape, dimension + 1))
    return points / np.linalg.norm(points, axis=-1, keepdims=True)


def shared_digits(items, probe):
    return np.cumprod(items == probe, axis=-1).sum(axis=-1)


# Each takes items of shape (samples, n) and a probe of shape (samples, 1) to their distances.
SIMULATED = {
    "circle": (circle(), lambda s, rng: rng.random(s), lambda x, p: wrapped(x - p)),
    "segment": (segment(), lambda s, rng: rng.random(s), lambda x, p: np.abs(x - p)),
    "torus-2": (
        torus(2),
        lambda s, rng: rng.random((*s, 2)),
        lambda x, p: np.linalg.norm(wrapped(x - p), axis=-1),
    ),
    "torus-3": (
        torus(3),
        lambda s, rng: rng.random((*s, 3)),
        lambda x, p: np.linalg.norm(wrapped(x - p), axis=-1),
    ),
    "sphere-2": (
        sphere(2),
        lambda s, rng: on_sphere(s, 2, rng),
        lambda x, p: np.arccos(np.clip((x * p).sum(axis=-1), -1, 1)),
    ),
    "hypercube": (
        hypercube(8),
        lambda s, rng: rng.integers(0, 2, (*s, 8)),
        lambda x, p: (x != p).sum(axis=-1),
    ),
    "tree": (
        tree(3, 4),
        lambda s, rng: rng.integers(0, 3, (*s, 4)),
        lambda x, p: 2 * (4 - shared_digits(x, p)),
    ),
}


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("name", SIMULATED)
def test_every_shape_in_every_space_is_what_a_simulation_finds(name, n):
    where, draw, distance = SIMULATED[name]
    rng = np.random.default_rng(n)
    items, probe = draw((SAMPLES, n), rng), draw((SAMPLES, 1), rng)
    to_probe, to_first = distance(items, probe), distance(items, items[:, :1])
    for shape in SHAPES.values():
        g = shape.at_resolution(shape.resolution * 2 * where.reach)
        similar, to_copy = g(to_probe), g(to_first)
        total = similar.sum(axis=1)
        nearest = np.take_along_axis(similar, to_probe.argmin(axis=1)[:, None], axis=1)[:, 0]
        right = np.where(total > 0, nearest / np.where(total > 0, total, 1), 1 / n)
        named = to_copy[:, 0] / to_copy.sum(axis=1)
        found = probabilities(where, g, n)
        for sample, law in ((right, found.generalization), (named, found.identification)):
            assert abs(sample.mean() - law) < SIGMAS * sample.std() / np.sqrt(SAMPLES) + ROUNDING
