"""How likely a whole class collapses: published numbers, an independent quadrature, many random matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from genlaws.core.errors import InputError
from genlaws.relations import class_collision_probability, collision_probability
from genlaws.relations.repons.probability import largest_root_probability

SIGMAS = 5.0
PRINTED = 0.0051  # two digits are known
KNOWN = {1.0: (0.50, 0.29, 0.015), 10.0: (0.80, 0.70, 0.37), 100.0: (0.94, 0.90, 0.77)}


@pytest.mark.parametrize("ratio", KNOWN)
def test_known_values_on_a_line(ratio):
    found = [float(class_collision_probability(ratio, 1.0, class_size=m)) for m in (2, 3, 10)]
    np.testing.assert_allclose(found, KNOWN[ratio], atol=PRINTED)
    written = [1.0 - stats.f.cdf((m - 1) / ratio, 1, m - 1) for m in (2, 3, 10)]
    np.testing.assert_allclose(found, written, rtol=1e-10)


def test_a_million_classes_on_a_line():
    rng = np.random.default_rng(4)
    x, a = rng.standard_normal((5, 1_000_000)), rng.standard_normal((2, 1_000_000))
    law = float(class_collision_probability(3.0, 1.0, class_size=5, outputs=2))
    share = np.mean((a**2).sum(axis=0) >= x.var(axis=0) * 5 / 3.0)
    assert abs(share - law) <= SIGMAS * np.sqrt(law * (1 - law) / 1e6)


def test_a_million_classes_in_the_plane():
    rng = np.random.default_rng(5)
    x, a = rng.standard_normal((2, 4, 1_000_000)), rng.standard_normal((2, 3, 1_000_000))
    x -= x.mean(axis=1, keepdims=True)
    m00, m11, m01 = ((a[i] * a[j]).sum(axis=0) - (x[i] * x[j]).sum(axis=0) / 2.0 for i, j in ((0, 0), (1, 1), (0, 1)))
    share = np.mean((m00 >= 0) & (m11 >= 0) & (m00 * m11 >= m01**2))
    law = float(class_collision_probability(2.0, 1.0, class_size=4, dimension=2, outputs=3))
    assert abs(share - law) <= SIGMAS * np.sqrt(law * (1 - law) / 1e6)


@pytest.mark.parametrize(
    ("dimension", "outputs", "size", "ratio"), [(3, 4, 10, 6.0), (3, 3, 3, 2.0), (4, 6, 3, 1.5), (6, 30, 30, 2.5)]
)
def test_random_matrices(dimension, outputs, size, ratio):
    rng = np.random.default_rng([6, dimension, size])
    draws = 20_000
    a, x = rng.standard_normal((draws, outputs, dimension)), rng.standard_normal((draws, size, dimension))
    x -= x.mean(axis=1, keepdims=True)
    lowest = np.linalg.eigvalsh(np.swapaxes(a, 1, 2) @ a - np.swapaxes(x, 1, 2) @ x / ratio)[:, 0]
    law = float(class_collision_probability(ratio, 1.0, class_size=size, dimension=dimension, outputs=outputs))
    assert abs(np.mean(lowest >= 0) - law) <= SIGMAS * np.sqrt(law * (1 - law) / draws)


@pytest.mark.parametrize(("first", "second", "odds"), [(2, 2, 0.5), (3, 2, 4.0), (5, 9, 0.8)])
def test_two_roots_against_a_double_integral(first, second, odds):
    top = odds / (1.0 + odds)
    power, other = 0.5 * (first - 3), 0.5 * (second - 3)

    def density(x, y):
        return (x * y) ** power * ((1 - x) * (1 - y)) ** other * (y - x)

    # x = sin²u removes the singular ends.
    def smooth(u, v):
        x, y = np.sin(u) ** 2, np.sin(v) ** 2
        return density(x, y) * np.sin(2 * u) * np.sin(2 * v)

    def below(limit):
        end = np.arcsin(np.sqrt(limit))
        return integrate.dblquad(smooth, 0, end, 0, lambda v: v, epsabs=1e-11, epsrel=1e-11)[0]

    assert largest_root_probability(odds, 2, first, second) == pytest.approx(below(top) / below(1.0), rel=1e-8)


def test_three_roots_by_a_rule_exact_for_polynomials():
    # With 6 and 6 degrees of freedom the joint density of three roots is a polynomial of degree below 24.
    nodes, weights = np.polynomial.legendre.leggauss(12)
    nodes, weights = (nodes + 1) / 2, weights / 2

    def density(x, y, z):
        return x * y * z * (1 - x) * (1 - y) * (1 - z) * (y - x) * (z - x) * (z - y)

    def ordered(top):
        z, y, x = np.meshgrid(nodes, nodes, nodes, indexing="ij")
        share = np.einsum("i,j,k->ijk", weights, weights, weights)
        z = top * z
        y = z * y
        return float((density(y * x, y, z) * share * top * z * y).sum())

    for odds in (0.3, 1.0, 5.0):
        expected = ordered(odds / (1.0 + odds)) / ordered(1.0)
        assert largest_root_probability(odds, 3, 6, 6) == pytest.approx(expected, rel=1e-11)


@given(st.integers(2, 6), st.integers(0, 6), st.integers(3, 12), st.floats(0.05, 50.0))
def test_monotone_in_everything(dimension, more, size, ratio):
    common = {"class_size": size, "dimension": dimension, "outputs": dimension + more}
    p = float(class_collision_probability(ratio, 1.0, **common))
    assert 0.0 <= p <= 1.0
    assert float(class_collision_probability(1.2 * ratio, 1.0, **common)) >= p - 1e-12
    assert float(class_collision_probability(ratio, 1.0, **{**common, "class_size": size + 1})) <= p + 1e-12
    assert float(class_collision_probability(ratio, 1.0, **{**common, "outputs": dimension + more + 1})) >= p - 1e-12
    assert float(class_collision_probability(3 * ratio, 3.0, 2.0, 2.0, **common)) == pytest.approx(p, abs=1e-12)
    pair = collision_probability(ratio, 1.0, encoder_scale_of="repon", dimension=dimension, outputs=dimension + more)
    assert p <= float(pair) + 1e-12


def test_limits_shapes_and_many_roots():
    assert float(class_collision_probability(1.0, 1.0, class_size=1, dimension=3)) == 1.0
    assert float(class_collision_probability(1e9, 1.0, class_size=5, dimension=3, outputs=2)) == 0.0
    grid = class_collision_probability([[1e-200], [1e200]], [1.0, 2.0], class_size=4, dimension=2, outputs=2)
    np.testing.assert_allclose(grid, [[0.0, 0.0], [1.0, 1.0]], atol=1e-12)
    # Even and odd numbers of roots lie on one smooth line, also where there are many.
    found = [largest_root_probability(1.2, p, 4 * p, 20 * p) for p in (19, 20, 21)]
    assert found[1] == pytest.approx(np.sqrt(found[0] * found[2]), rel=0.02)
    assert largest_root_probability(1e12, 60, 60, 60) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"class_size": 0}, "class_size must be a whole number, at least 1"),
        ({"class_size": 3, "dimension": 0}, "dimension must be a whole number"),
        ({"class_size": 100, "dimension": 99, "outputs": 100}, "must be at most 60"),
        ({"class_size": 3, "dimension": 2, "outputs": 10**6}, "too large for the exact law"),
        ({"class_size": 3, "decoder_scale": 0.0}, "decoder_scale must be positive"),
    ],
)
def test_wrong_input_is_refused(options, complaint):
    with pytest.raises(InputError) as caught:
        class_collision_probability(1.0, 1.0, **options)
    assert complaint in str(caught.value)
