"""The integral for any similarity and space: against products of quadratures, closed forms, enumeration, simulation."""

import itertools
from math import comb

import mpmath
import numpy as np
import pytest

from genlaws.numerics.errors import InputError
from genlaws.semanticity import (
    circle,
    from_distances,
    generalisation_of_many,
    hypercube,
    identification_of_many,
    luce,
    power_law,
    probabilities,
    segment,
    similarity,
    sphere,
    torus,
    tree,
    user_shape,
)
from genlaws.semanticity.luce import probabilities_from_density, probabilities_from_masses

# The integral and the product of quadratures are both good to a few units of the twelfth digit.
QUADRATURE = 1e-12
# On the segment, probes are averaged by a rule of finitely many panels.
OVER_PROBES = 1e-10
# Rounding of sums of a few hundred terms.
ROUNDING = 1e-12
# Standard errors allowed to a simulation.
SIGMAS = 5.0
MANY = 10**6


def stairs(x):
    return np.where(x <= 0.4, 1.0, np.where(x <= 0.8, 0.6, np.where(x <= 1.5, 0.1, 0.0)))


SHAPES = {
    "constant": similarity("constant", 0.2, background=0.03),
    "linear": similarity("linear", 0.2),
    "exponential": similarity("exponential", 0.2),
    "gaussian": similarity("gaussian", 0.2, background=1e-3),
    "power-law": similarity("power-law", 0.2, exponent=3.0),
    "user": similarity(lambda x: 1 / (1 + x**2), 0.2),
    "cut": similarity("exponential", 0.2, cut=0.25),
    "stairs": similarity(user_shape(stairs, (0.4, 0.8, 1.5)), 0.2),
}
SMOOTH_INSIDE = ("linear", "exponential", "gaussian", "power-law", "user", "cut")

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
    generalisation = outside**n / n
    for r, mass in zip(d, m, strict=True):
        own = float(g(r))
        rest = mean_reciprocals(
            own, g(beyond(r, panels, density, order)[0]), beyond(r, panels, density, order)[1], n - 1
        )
        chances = (comb(n, k) * k * outside ** (n - k) * own * rest[k - 1] for k in range(1, n + 1))
        generalisation += mass * sum(chances)
    return generalisation, identification


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
    assert found.generalisation == pytest.approx(expected[0], rel=COARSE[n])
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
    assert probabilities(sphere(2), g).generalisation == pytest.approx(expected, rel=1e-10)


def seen_from(place):
    return lambda d: np.where(d < place, 2.0, 1.0)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("shape", SMOOTH_INSIDE)
def test_each_probe_of_the_segment(shape, n):
    g = SHAPES[shape].at_resolution(0.6) if shape != "cut" else similarity("exponential", 0.6, cut=0.7)
    for _, measure in segment().probes(())[:: 9 if n == 5 else 5]:
        (place,) = measure.bends
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
        # Towards both ends of a piece the steps shrink: there the view has weak singularities.
        steps = 0.5 * (high - low) * 4.0 ** -np.arange(4)
        for left, right in itertools.pairwise(np.unique([low, high, *(low + steps), *(high - steps)])):
            places, weights = line(left, right, 6, None)
            for place, weight in zip(places, weights, strict=True):
                panels = panels_to([(0.0, place, None), (place, 1 - place, None)], g.support)
                total += 2 * weight * np.array(product_reference(panels, seen_from(place), g, n, 12))
    found = probabilities(segment(), g, n)
    assert found.generalisation == pytest.approx(total[0], rel=1e-7)
    assert found.identification == pytest.approx(total[1], rel=1e-7)


@pytest.mark.parametrize(
    ("resolution", "background", "n"),
    [(1e-4, 1e-3, 2), (0.01, 1e-10, 3), (0.03, 1e-3, 50), (0.2, 1e-3, 2), (0.2, 1e-12, 2)],
)
@pytest.mark.parametrize("shape", ["linear", "exponential", "gaussian", "power-law"])
def test_more_probes_change_nothing(shape, resolution, background, n, monkeypatch):
    g = similarity(shape, resolution, background=background)
    usual = probabilities(segment(), g, n)
    monkeypatch.setattr("genlaws.semanticity.spaces.PROBE_NODES", 16)
    finer = probabilities(segment(), g, n)
    assert usual.generalisation == pytest.approx(finer.generalisation, rel=OVER_PROBES)
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
        assert found[0][0] - 0.5 == pytest.approx(on_circle.generalisation - 0.5, rel=0.01)
        assert found[1][0] == pytest.approx(on_circle.identification, abs=10 * resolution)


# --- closed forms -----------------------------------------------------------------------------------------------------

ALL_SPACES = {
    "circle": circle(),
    "segment": segment(),
    "torus-2": torus(2),
    "torus-3": torus(3),
    "sphere-2": sphere(2),
    "sphere-50": sphere(50),
    "hypercube": hypercube(1000),
    "tree": tree(3, 30),
}
BLOCK_SHAPE = user_shape(lambda x: 1.0 * (x <= 1), (1.0,), "block")


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
            assert found.generalisation == pytest.approx(float(generalisation_of_many(b, n, delta)), rel=ROUNDING)
            assert found.identification == pytest.approx(float(identification_of_many(b, n, delta)), rel=ROUNDING)


@pytest.mark.parametrize("a", [0.01, 0.3, 1.0, 3.0, 50.0])
@pytest.mark.parametrize("b", [1e-6, 0.2, 0.9])
def test_powers_of_the_linear_similarity_on_the_circle(a, b):
    # Given the nearest, ratios of (1 - z)^a are those of uniform numbers: both inside, the nearer wins as a copy would.
    with mpmath.workdps(20):
        both = float(mpmath.quad(lambda v: 1 / (1 + v ** mpmath.mpf(a)), [0, 1e-6, 0.5, 0.9, 0.99, 1]))
    g = similarity(user_shape(lambda x: np.clip(1 - x, 0, None) ** a, (1.0,)), b / 2)
    found = probabilities(circle(), g)
    # At a = 50 a share of 2.5e-6 of the ball has similarities below 1e-280, which are not told apart.
    tolerance = 7e-12 if a == 50 else ROUNDING
    assert found.generalisation == pytest.approx(b**2 * both + 2 * b * (1 - b) + (1 - b) ** 2 / 2, abs=tolerance)
    assert found.identification == pytest.approx(1 - b + b * both, abs=ROUNDING)


@pytest.mark.parametrize("name", ["circle", "torus-2", "sphere-2", "sphere-50"])
def test_a_bend_without_a_name_costs_little_accuracy(name):
    where = ALL_SPACES[name]
    named, unnamed = (
        probabilities(where, similarity(user_shape(stairs, bends), 0.45 * where.reach, background=0.01), 3)
        for bends in ((0.4, 0.8, 1.5), ())
    )
    # Panels are halved around a jump until it falls between the last node of one and its end.
    assert unnamed.generalisation == pytest.approx(named.generalisation, rel=1e-6)
    assert unnamed.identification == pytest.approx(named.identification, rel=1e-6)


def test_a_sharp_but_smooth_step_above_a_background_is_seen():
    g = similarity(lambda x: 1 / (1 + np.exp(2000 * (x - 1))), 0.2, background=0.5)
    edges = [0.0, *np.linspace(0.197, 0.203, 9).tolist(), 0.5]
    panels = [(low, high, None) for low, high in itertools.pairwise(edges)]
    expected = product_reference(panels, lambda d: np.full(d.shape, 2.0), g, 2, 16)
    found = probabilities(circle(), g)
    assert found.generalisation == pytest.approx(expected[0], rel=1e-11)
    assert found.identification == pytest.approx(expected[1], rel=1e-11)


@pytest.mark.parametrize(("cut", "resolution"), [(0.1, 0.2), (0.2, 0.2), (0.3, 0.2), (1e-9, 0.2)])
def test_a_cut_of_the_constant_similarity_is_a_finer_resolution(cut, resolution):
    for where in (circle(), segment(), torus(2), hypercube(5)):
        found = probabilities(where, similarity("constant", resolution, background=0.1, cut=cut), 4)
        plain = probabilities(where, similarity("constant", min(cut, resolution), background=0.1), 4)
        assert found.generalisation == pytest.approx(plain.generalisation, rel=ROUNDING)
        assert found.identification == pytest.approx(plain.identification, rel=ROUNDING)


@pytest.mark.parametrize("shape", ["linear", "exponential"])
def test_a_cut_exactly_at_a_bend_changes_nothing(shape):
    g = similarity(shape, 0.3, cut=0.3)
    beside = similarity(shape, 0.3, cut=np.nextafter(0.3, 1))
    found, other = (probabilities(circle(), form, 3).generalisation for form in (g, beside))
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
        for sample, law in ((right, found.generalisation), (named, found.identification)):
            assert abs(sample.mean() - law) < SIGMAS * sample.std() / np.sqrt(SAMPLES) + ROUNDING


# --- spaces of few distances ------------------------------------------------------------------------------------------


def tied_matrix():
    return np.array(
        [
            [0, 1, 1, 2, 0],
            [1, 0, 2, 1, 1],
            [1, 2, 0, 3, 1],
            [2, 1, 3, 0, 2],
            [0, 1, 1, 2, 0],
        ],
        dtype=float,
    )


def enumerated(d, w, g, n, ties):
    """Go through every probe and every list of n items drawn with replacement."""
    right, kept, named = np.zeros(len(d)), np.zeros(len(d)), np.zeros(len(d))
    for p, items in itertools.product(range(len(d)), itertools.product(range(len(d)), repeat=n)):
        chance = np.prod(w[list(items)])
        seen, similar = d[p, list(items)], g(d[p, list(items)])
        nearest = np.flatnonzero(seen == seen.min())
        luce_choice = similar / similar.sum() if similar.sum() > 0 else np.full(n, 1 / n)
        if ties == "split" or nearest.size == 1:
            right[p] += chance * luce_choice[nearest].mean()
            kept[p] += chance
    for p, items in itertools.product(range(len(d)), itertools.product(range(len(d)), repeat=n - 1)):
        rivals = g(d[p, list(items)]).sum()
        named[p] += np.prod(w[list(items)]) * g(0.0) / (g(0.0) + rivals)
    there = kept > 0
    return (right[there] / kept[there]) @ w[there] / w[there].sum(), named @ w


@pytest.mark.parametrize("ties", ["split", "drop"])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    "g",
    [
        similarity("exponential", 0.7),
        similarity("linear", 1.5),
        similarity("constant", 1.0, background=0.1),
        similarity("linear", 0.5, cut=0.2),
    ],
    ids=["exponential", "linear with zeros", "constant", "only itself"],
)
def test_a_matrix_with_weights_is_its_enumeration(g, n, ties):
    d, w = tied_matrix(), np.array([0.1, 0.3, 0.2, 0.15, 0.25])
    expected = enumerated(d, w, g, n, ties)
    found = probabilities(from_distances(d, w), g, n, ties)
    assert found.generalisation == pytest.approx(expected[0], rel=ROUNDING)
    assert found.identification == pytest.approx(expected[1], rel=ROUNDING)


def test_points_without_weight_change_nothing():
    d, w = tied_matrix(), np.array([0.4, 0.0, 0.35, 0.25, 0.0])
    there = w > 0
    g = similarity("exponential", 0.7)
    for ties in ("split", "drop"):
        found = probabilities(from_distances(d, w), g, 3, ties)
        expected = enumerated(d[np.ix_(there, there)], w[there], g, 3, ties)
        assert found.generalisation == pytest.approx(expected[0], rel=ROUNDING)
        assert found.identification == pytest.approx(expected[1], rel=ROUNDING)


def test_where_every_set_is_tied_nothing_is_left():
    where = from_distances(np.zeros((3, 3)))
    assert np.isnan(probabilities(where, similarity("linear", 1.0), 2, "drop").generalisation)
    assert probabilities(where, similarity("linear", 1.0), 2).generalisation == pytest.approx(0.5, rel=ROUNDING)


@pytest.mark.parametrize("resolution", [100.0, 400.0])
@pytest.mark.parametrize("shape", ["exponential", "gaussian", "power-law"])
def test_two_items_on_a_large_hypercube_are_a_double_sum(shape, resolution):
    where, g = hypercube(1000), similarity(shape, resolution)
    m, s = where.mass[0], g(where.distance[0])
    chance = np.maximum.outer(s, s) / np.add.outer(s, s)
    found = probabilities(where, g)
    assert found.generalisation == pytest.approx(m @ chance @ m, rel=ROUNDING)
    assert found.identification == pytest.approx(m @ (1 / (1 + s)), rel=ROUNDING)


@pytest.mark.parametrize("shape", ["linear", "exponential"])
def test_a_million_leaves_of_a_deep_tree(shape):
    where, g = tree(3, 30), similarity(shape, 12.0)
    with mpmath.workdps(25):
        m = [mpmath.mpf(3) ** (k - 30) - (mpmath.mpf(3) ** (k - 31) if k else 0) for k in range(31)]
        s = [mpmath.mpf(float(value)) for value in g(where.distance[0])]

        def integrand(x):
            t = mpmath.exp(x)
            y = [a * mpmath.exp(-t * b) for a, b in zip(m, s, strict=True)]
            tails = [mpmath.fsum(y[i:]) for i in range(len(y) + 1)]
            return t * mpmath.fsum(s[i] * (tails[i] ** MANY - tails[i + 1] ** MANY) for i in range(len(y)) if s[i])

        zero = mpmath.fsum(a for a, b in zip(m, s, strict=True) if not b)
        expected = mpmath.quad(integrand, np.linspace(-42, 9, 12).tolist(), maxdegree=4) + zero**MANY / MANY
    assert probabilities(where, g, MANY).generalisation == pytest.approx(float(expected), rel=1e-11)


def test_the_size_of_the_blocks_does_not_matter(monkeypatch):
    d = tied_matrix()
    g = similarity("exponential", 0.7, background=0.01)
    calls = [
        lambda: probabilities_from_masses(np.sort(d, axis=1), np.full(d.shape, 0.2), g, (2, 4), "split"),
        lambda: probabilities_from_masses(np.sort(d, axis=1), np.full(d.shape, 0.2), g, (2, 4), "drop"),
        lambda: probabilities_from_density(torus(2).probes(())[0][1], g, (2, 4)),
    ]
    whole = [call() for call in calls]
    monkeypatch.setattr(luce, "BLOCK", 1)
    for before, after in zip(whole, [call() for call in calls], strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-13)


# --- extremes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, MANY])
@pytest.mark.parametrize("name", [name for name in ALL_SPACES if name != "segment"])
def test_extreme_resolutions_give_probabilities(name, n):
    where = ALL_SPACES[name]
    shapes = ("linear", "exponential", "gaussian", "power-law", power_law(0.01), power_law(50.0), BLOCK_SHAPE)
    for shape, (resolution, background) in itertools.product(
        shapes, [(1e-9, 1e-12), (1e-5, 0.3), (1e-2, 1e-12), (10.0, 1e-12), (1e9, 0.3)]
    ):
        found = probabilities(where, similarity(shape, resolution * where.reach, background=background), n)
        assert (1 - 1e-9) / n <= found.generalisation <= 1
        assert (1 - 1e-9) / n <= found.identification <= 1
        assert np.isfinite(found.collapse_constant)


@pytest.mark.parametrize("name", ["circle", "segment", "torus-2", "sphere-2"])
def test_a_coarse_similarity_guesses_and_a_fine_linear_one_knows_copies_only(name):
    where = ALL_SPACES[name]
    for shape in ("linear", "exponential", "gaussian", "power-law"):
        coarse = probabilities(where, similarity(shape, 1e9 * where.reach), 7)
        assert coarse.generalisation == pytest.approx(1 / 7, rel=1e-8)
        assert coarse.identification == pytest.approx(1 / 7, rel=1e-8)
    fine = probabilities(where, similarity("linear", 1e-9 * where.reach), 7)
    assert fine.generalisation == pytest.approx(1 / 7, rel=1e-6)
    assert fine.identification == pytest.approx(1.0, rel=1e-6)


def test_identification_collapses_like_one_over_n_for_every_shape():
    for name in ("circle", "torus-2", "sphere-2"):
        where = ALL_SPACES[name]
        for shape in SHAPES.values():
            found = probabilities(where, shape.at_resolution(shape.resolution * where.reach), MANY)
            # The next term is of relative order (second moment over squared mean)/n.
            assert MANY * found.identification == pytest.approx(found.collapse_constant, rel=1e-4)


@pytest.mark.parametrize("shape", ["exponential", "gaussian", lambda x: np.exp(-x), lambda x: np.exp(-x * x)])
@pytest.mark.parametrize("where", [circle(), sphere(2), segment(), hypercube(20)], ids=lambda where: where.name)
def test_a_similarity_too_small_for_a_computer_is_refused(where, shape):
    with pytest.raises(InputError, match="resolution must be coarser than .* Or give a background or a cut"):
        probabilities(where, similarity(shape, 1e-4 * where.reach))
    fine = probabilities(where, similarity(shape, 1e-4 * where.reach, background=1e-12))
    assert 0.5 - ROUNDING <= fine.generalisation <= 1


def test_a_similarity_that_falls_too_steeply_is_refused_unless_its_end_is_named():
    def steep(x):
        return np.clip(1 - x, 0, None) ** 50

    with pytest.raises(InputError, match="resolution must be coarser"):
        probabilities(circle(), similarity(steep, 0.2))
    assert probabilities(circle(), similarity(user_shape(steep, (1.0,)), 0.2)).generalisation > 0.5


@pytest.mark.parametrize("n", [2, 30, 1000])
def test_a_cut_ball_of_vanishing_similarity_still_wins_against_nothing(n):
    # Beyond 40 resolutions the similarity underflows, but up to the cut it is not nothing.
    where, g = torus(3), similarity("gaussian", 5e-8, cut=1e-3)
    b = float(where.ball(np.array(1e-3))[0])
    # Two items inside are too rare to matter: (n b)² is below 2e-11.
    expected = n * b + (1 - n * b) / n
    assert probabilities(where, g, n).generalisation == pytest.approx(expected, abs=2 * (n * b) ** 2 + ROUNDING)


@pytest.mark.parametrize("a", [10, 31, 40, 47])
def test_steep_ends_lose_no_mass(a):
    g = similarity(user_shape(lambda x: np.clip(1 - x, 0, None) ** a, (1.0,)), 0.1)
    # Identification is E[1/(1 + v^a)] inside, and without background both inside are as good as a copy.
    found = probabilities(circle(), g)
    both = (found.identification - 0.8) / 0.2
    assert found.generalisation == pytest.approx(0.2**2 * both + 2 * 0.2 * 0.8 + 0.8**2 / 2, abs=1e-11)


def test_far_items_that_are_never_the_nearest_may_be_faint():
    found = probabilities(circle(), similarity("exponential", 1e-4), MANY)
    cut = probabilities(circle(), similarity("exponential", 1e-4, cut=0.01), MANY)
    assert found.generalisation == pytest.approx(cut.generalisation, rel=1e-9)
    assert found.identification == pytest.approx(cut.identification, rel=1e-9)


@pytest.mark.parametrize("dimension", [1000, 10**5, 10**6])
def test_a_sphere_of_very_many_dimensions(dimension):
    # All other points are nearly orthogonal: angle π/2 with spread 1/√k.
    found = probabilities(sphere(dimension), similarity("exponential", 1.0))
    assert found.identification == pytest.approx(1 / (1 + np.exp(-np.pi / 2)), abs=1 / dimension)
    # Two angles differ by √2/√k times a normal number, whose mean absolute value is √(2/π).
    tilt = 0.5 + 0.25 * np.sqrt(2 / dimension) * np.sqrt(2 / np.pi)
    assert found.generalisation == pytest.approx(tilt, abs=1 / dimension)


def test_one_item_is_always_right():
    for where in ALL_SPACES.values():
        found = probabilities(where, similarity("linear", 0.3 * where.reach), 1)
        assert found.generalisation == pytest.approx(1.0, abs=ROUNDING)
        assert found.identification == pytest.approx(1.0, abs=ROUNDING)
