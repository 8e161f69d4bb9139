"""The integral for any similarity where it is hard: extreme resolutions, numbers of items and dimensions."""

import itertools

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity import circle, hypercube, power_law, segment, similarity, sphere, torus, user_shape
from genlaws.semanticity.theory.exact import probabilities
from luce_cases import ALL_SPACES, BLOCK_SHAPE, MANY, ROUNDING, SHAPES


@pytest.mark.parametrize("n", [2, 5, MANY])
@pytest.mark.parametrize("name", [name for name in ALL_SPACES if name != "segment"])
def test_extreme_resolutions_give_probabilities(name, n):
    where = ALL_SPACES[name]
    shapes = ("linear", "exponential", "gaussian", "power-law", power_law(0.01), power_law(50.0), BLOCK_SHAPE)
    for shape, (resolution, background) in itertools.product(
        shapes, [(1e-9, 1e-12), (1e-5, 0.3), (1e-2, 1e-12), (10.0, 1e-12), (1e9, 0.3)]
    ):
        found = probabilities(where, similarity(shape, resolution * where.reach, background=background), n)
        assert (1 - 1e-9) / n <= found.generalization <= 1
        assert (1 - 1e-9) / n <= found.identification <= 1
        assert np.isfinite(found.collapse_constant)


@pytest.mark.parametrize("name", ["circle", "segment", "torus-2", "sphere-2"])
def test_a_coarse_similarity_guesses_and_a_fine_linear_one_knows_copies_only(name):
    where = ALL_SPACES[name]
    for shape in ("linear", "exponential", "gaussian", "power-law"):
        coarse = probabilities(where, similarity(shape, 1e9 * where.reach), 7)
        assert coarse.generalization == pytest.approx(1 / 7, rel=1e-8)
        assert coarse.identification == pytest.approx(1 / 7, rel=1e-8)
    fine = probabilities(where, similarity("linear", 1e-9 * where.reach), 7)
    assert fine.generalization == pytest.approx(1 / 7, rel=1e-6)
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
    assert 0.5 - ROUNDING <= fine.generalization <= 1


def test_a_similarity_that_falls_too_steeply_is_refused_unless_its_end_is_named():
    def steep(x):
        return np.clip(1 - x, 0, None) ** 50

    with pytest.raises(InputError, match="resolution must be coarser"):
        probabilities(circle(), similarity(steep, 0.2))
    assert probabilities(circle(), similarity(user_shape(steep, (1.0,)), 0.2)).generalization > 0.5


@pytest.mark.parametrize("n", [2, 30, 1000])
def test_a_cut_ball_of_vanishing_similarity_still_wins_against_nothing(n):
    # Beyond 40 resolutions the similarity underflows, but up to the cut it is not nothing.
    where, g = torus(3), similarity("gaussian", 5e-8, cut=1e-3)
    b = float(where.ball(np.array(1e-3))[0])
    # Two items inside are too rare to matter: (n b)² is below 2e-11.
    expected = n * b + (1 - n * b) / n
    assert probabilities(where, g, n).generalization == pytest.approx(expected, abs=2 * (n * b) ** 2 + ROUNDING)


@pytest.mark.parametrize("a", [10, 31, 40, 47])
def test_steep_ends_lose_no_mass(a):
    g = similarity(user_shape(lambda x: np.clip(1 - x, 0, None) ** a, (1.0,)), 0.1)
    # Identification is E[1/(1 + v^a)] inside, and without background both inside are as good as a copy.
    found = probabilities(circle(), g)
    both = (found.identification - 0.8) / 0.2
    assert found.generalization == pytest.approx(0.2**2 * both + 2 * 0.2 * 0.8 + 0.8**2 / 2, abs=1e-11)


def test_far_items_that_are_never_the_nearest_may_be_faint():
    found = probabilities(circle(), similarity("exponential", 1e-4), MANY)
    cut = probabilities(circle(), similarity("exponential", 1e-4, cut=0.01), MANY)
    assert found.generalization == pytest.approx(cut.generalization, rel=1e-9)
    assert found.identification == pytest.approx(cut.identification, rel=1e-9)


@pytest.mark.parametrize("dimension", [1000, 10**5, 10**6])
def test_a_sphere_of_very_many_dimensions(dimension):
    # All other points are nearly orthogonal: angle π/2 with spread 1/√k.
    found = probabilities(sphere(dimension), similarity("exponential", 1.0))
    assert found.identification == pytest.approx(1 / (1 + np.exp(-np.pi / 2)), abs=1 / dimension)
    # Two angles differ by √2/√k times a normal number, whose mean absolute value is √(2/π).
    tilt = 0.5 + 0.25 * np.sqrt(2 / dimension) * np.sqrt(2 / np.pi)
    assert found.generalization == pytest.approx(tilt, abs=1 / dimension)


def test_one_item_is_always_right():
    for where in ALL_SPACES.values():
        found = probabilities(where, similarity("linear", 0.3 * where.reach), 1)
        assert found.generalization == pytest.approx(1.0, abs=ROUNDING)
        assert found.identification == pytest.approx(1.0, abs=ROUNDING)
