"""The preferred kernel parameter of redraws: known minima, honest choice of the regularization, intervals."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size import preferred_parameters

GRID = np.geomspace(0.1, 10.0, 9)
# Standard errors that a mean may be away.
DEVIATIONS = 4.0


def valleys(at_zero, at_best, noise, redraws=20, seed=0):
    """Return errors with parabolic valleys at two parameters: without regularization, and at the second of three."""
    rng = np.random.default_rng(seed)
    first, second = (0.1 + 0.05 * np.log(GRID / bottom) ** 2 for bottom in (at_zero, at_best))
    curves = np.stack([first + 1.0, second, second + 2.0], axis=1)
    shared = rng.normal(size=(redraws, 1, 1))  # a hard redraw is hard for all
    return curves + noise * (shared + 0.2 * rng.normal(size=(redraws, *curves.shape)))


def test_without_noise_the_vertices_are_found():
    found = preferred_parameters(GRID, valleys(2.0, 0.5, 0.0))
    assert found.preferred_at_zero.value == pytest.approx(2.0, rel=1e-6)
    assert found.preferred_at_best.value == pytest.approx(0.5, rel=1e-6)
    assert found.log_ratio.value == pytest.approx(np.log(4.0), rel=1e-6)
    assert found.log_ratio.low == pytest.approx(found.log_ratio.high, rel=1e-6)
    assert found.preferred_at_zero.count == 20
    assert not found.at_edge
    # The nearest parameters tried are 1.78 and 0.56.
    near = 0.05 * (np.log(GRID[3] / 2.0) ** 2 - np.log(GRID[5] / 2.0) ** 2)
    assert found.price.value == pytest.approx(near, rel=1e-9)


def test_intervals_cover_the_truth():
    found = [preferred_parameters(GRID, valleys(2.0, 0.5, 0.02, seed=seed), replicates=200) for seed in range(40)]
    covered = np.mean([one.log_ratio.low <= np.log(4.0) <= one.log_ratio.high for one in found])
    # Percentile intervals of 20 redraws cover a little less than 95 %; three standard errors of 40 are 10 %.
    assert covered >= 0.8
    assert all(one.log_ratio.low > 0.0 for one in found)


def test_the_best_regularization_is_not_the_luckiest():
    rng = np.random.default_rng(1)
    noise = 0.3 + 0.02 * rng.normal(size=(50, len(GRID), 10))
    found = preferred_parameters(GRID, noise, replicates=20)
    error = 0.02 / np.sqrt(found.error_at_best.size)
    assert abs(found.error_at_best.mean() - 0.3) < DEVIATIONS * error
    assert noise.min(axis=2).mean() < 0.3 - 20 * error
    assert (found.error_at_zero == noise[:, :, 0]).all()


def test_an_edge_is_reported():
    assert preferred_parameters(GRID, valleys(0.05, 0.5, 0.0), replicates=20).at_edge
    assert preferred_parameters(GRID, valleys(2.0, 30.0, 0.0), replicates=20).at_edge


@pytest.mark.parametrize("level", [0.0, 0.1, 0.3])
def test_a_flat_curve_prefers_its_first_point(level):
    found = preferred_parameters(GRID, np.full((3, len(GRID), 2), level), replicates=20)
    assert found.preferred_at_zero.value == pytest.approx(GRID[0])
    assert found.log_ratio.value == 0.0


def test_the_vertex_stays_among_the_points():
    falling = np.linspace(0.5, 0.1, len(GRID))[None, :, None] * np.ones((4, 1, 2))
    found = preferred_parameters(GRID, falling, replicates=20)
    assert found.preferred_at_zero.value == pytest.approx(GRID[-1])
    assert found.at_edge


def test_a_seed_repeats():
    table = valleys(2.0, 0.5, 0.02)
    first, again, other = (preferred_parameters(GRID, table, replicates=50, seed=seed) for seed in (1, 1, 2))
    assert first.log_ratio == again.log_ratio
    assert first.log_ratio != other.log_ratio


@pytest.mark.parametrize(
    ("parameters", "shape", "replicates", "sentence"),
    [
        ([1.0, 2.0], (3, 2, 1), 20, "three or more ascending"),
        ([1.0, 3.0, 2.0], (3, 3, 1), 20, "three or more ascending"),
        ([-1.0, 1.0, 2.0], (3, 3, 1), 20, "parameters must be positive"),
        ([1.0, 2.0, 3.0], (1, 3, 1), 20, "two redraws or more"),
        ([1.0, 2.0, 3.0], (3, 4, 1), 20, r"of shape \(redraws, 3, regularizations\)"),
        ([1.0, 2.0, 3.0], (3, 3), 20, "errors must be finite"),
        ([1.0, 2.0, 3.0], (3, 3, 1), 5, "replicates must be a whole number"),
    ],
)
def test_bad_input_is_refused(parameters, shape, replicates, sentence):
    with pytest.raises(InputError, match=sentence):
        preferred_parameters(parameters, np.full(shape, 0.2), replicates=replicates)
    with pytest.raises(InputError, match="errors must be finite"):
        preferred_parameters([1.0, 2.0, 3.0], np.full((2, 3, 1), np.nan))
