"""Dynamic modes and jPCA: linear streams give back their eigenvalues, random walks nothing beyond themselves."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.models.stream import Stream
from genlaws.residual_stream.dynamics.jpca import fit_rotation, skew_matrix
from genlaws.residual_stream.dynamics.linear import dynamic_modes
from genlaws.residual_stream.measures.projected_paths import pooled_axes
from genlaws.residual_stream.measures.samples import group_means, mean_path, without_mean_path
from genlaws.residual_stream.surrogates.comparison import against_surrogates

ROUNDING = 1e-9  # principal components come from squares
OMEGA = 0.7


def rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def stream_of(matrix, *, texts=5, sites=20, units=8, seed=0):
    """Return the stream of a linear map in a few hidden directions, away from the origin."""
    generator = np.random.default_rng(seed)
    hidden = np.empty((texts, sites, len(matrix)))
    hidden[:, 0] = generator.standard_normal((texts, len(matrix)))
    for site in range(1, sites):
        hidden[:, site] = hidden[:, site - 1] @ matrix.T
    axes = np.linalg.qr(generator.standard_normal((units, len(matrix))))[0]
    return Stream.from_states(hidden @ axes.T + generator.standard_normal(units)), axes


def random_walks(texts, units, seed, sites=64):
    return np.cumsum(np.random.default_rng(seed).standard_normal((texts, sites, units)), axis=1)


@pytest.mark.parametrize("texts", [1, 5])
def test_a_pure_rotation_is_found_exactly(texts):
    stream, axes = stream_of(rotation(OMEGA), texts=texts)
    modes = dynamic_modes(stream)
    np.testing.assert_allclose(modes.eigenvalues, [np.exp(1j * OMEGA), np.exp(-1j * OMEGA)], atol=ROUNDING)
    np.testing.assert_allclose(modes.moduli, 1.0, atol=ROUNDING)
    np.testing.assert_allclose(modes.angles, [OMEGA, -OMEGA], atol=ROUNDING)
    found = fit_rotation(stream)
    np.testing.assert_allclose(found.angles, [OMEGA], atol=ROUNDING)
    assert [found.skew_r_squared, found.free_r_squared] == pytest.approx([1.0, 1.0], abs=ROUNDING)
    plane = found.plane()
    np.testing.assert_allclose(plane.T @ plane, np.eye(2), atol=ROUNDING)
    np.testing.assert_allclose(plane @ plane.T, axes @ axes.T, atol=ROUNDING)
    for held_out in (modes.held_out, found.held_out):
        assert np.isnan(held_out.r_squared) if texts == 1 else held_out.skill == pytest.approx(1.0, abs=ROUNDING)


def test_the_path_turns_from_the_first_axis_of_the_plane_to_the_second():
    stream, _ = stream_of(rotation(OMEGA), texts=1)
    found = fit_rotation(stream, folds=0)
    x, y = ((stream.states[0] - found.components.center) @ found.plane()).T
    along = np.diff(x), np.diff(y)
    assert np.all(along[0][:-1] * along[1][1:] > along[1][:-1] * along[0][1:])


def test_two_rotations_come_fastest_first():
    both = np.zeros((4, 4))
    both[:2, :2], both[2:, 2:] = rotation(0.3), rotation(2.5)
    found = fit_rotation(stream_of(both)[0], components=4)
    np.testing.assert_allclose(found.angles, [2.5, 0.3], atol=ROUNDING)
    np.testing.assert_allclose(found.to_frame()["period"], 2 * np.pi / found.angles)
    assert found.skew_r_squared == pytest.approx(1.0, abs=ROUNDING)


def test_eigenvalues_of_a_linear_map_are_recovered():
    truth = np.zeros((4, 4))
    truth[:2, :2], truth[2, 2], truth[3, 3] = 0.95 * rotation(0.4), 1.05, 0.8
    truth[0, 3] = 0.5  # not normal: the modes are not orthogonal
    modes = dynamic_modes(stream_of(truth)[0], components=6)
    wanted = [1.05, 0.95 * np.exp(0.4j), 0.95 * np.exp(-0.4j), 0.8]
    np.testing.assert_allclose(modes.eigenvalues, wanted, atol=1e-7)
    assert modes.held_out.r_squared == pytest.approx(1.0, abs=ROUNDING)
    assert modes.held_out.persistence < 0.99
    assert fit_rotation(stream_of(truth)[0]).skew_r_squared < fit_rotation(stream_of(truth)[0]).free_r_squared - 0.1
    assert modes.to_frame()["modulus"].tolist() == pytest.approx([1.05, 0.95, 0.95, 0.8], abs=1e-7)
    assert "1 rotating pairs of modes" in str(modes)


def test_the_skew_matrix_is_the_least_squares_one():
    generator = np.random.default_rng(3)
    step, state = generator.standard_normal((2, 30, 4))
    pairs = [(i, j) for i in range(4) for j in range(i)]
    basis = np.zeros((len(pairs), 4, 4))
    for number, (i, j) in enumerate(pairs):
        basis[number, i, j], basis[number, j, i] = 1.0, -1.0
    columns = np.stack([(state @ one.T).ravel() for one in basis], axis=1)
    weights = np.linalg.lstsq(columns, step.ravel(), rcond=None)[0]
    np.testing.assert_allclose(skew_matrix(step, state), np.tensordot(weights, basis, 1), atol=1e-12)


def test_a_random_walk_is_predicted_no_better_than_by_staying():
    held_out = dynamic_modes(Stream.from_states(random_walks(60, 12, 0)), components=4).held_out
    assert held_out.persistence > 0.9
    assert -0.02 < held_out.skill < 0.005  # the map has 20 free numbers for 3,000 steps of 4


def skew_share(stream):
    return fit_rotation(stream, folds=0).skew_r_squared


def test_rotation_of_a_random_walk_is_that_of_its_surrogates():
    scores = []
    for seed in range(8):
        stream = Stream.from_states(random_walks(1, 100, seed))
        test = against_surrogates(stream, skew_share, surrogates=["random walk", "step signs"], draws=60, seed=seed)
        assert test.against["random walk"].mean > 0.4  # cosines turn about one another
        scores.append([float(one.z_score) for one in test.against.values()])
    # Means of eight scores of unit variance: three standard errors, and a tenth for the finite number of draws.
    assert np.abs(np.mean(scores, axis=0)).max() < 1.1 * 3 / np.sqrt(8)
    assert np.abs(scores).max() < 4


def test_a_planted_rotation_stands_out():
    states = random_walks(1, 100, 1)
    angle = OMEGA * np.arange(64)
    axes = np.linalg.qr(np.random.default_rng(2).standard_normal((100, 2)))[0]
    stream = Stream.from_states(states + 25 * np.column_stack([np.cos(angle), np.sin(angle)]) @ axes.T)
    test = against_surrogates(stream, skew_share, surrogates=["random walk", "step signs"], draws=99, seed=0)
    for one in test.against.values():
        assert one.z_score > 5
        assert one.p_value == pytest.approx(0.01)
    found = fit_rotation(stream)
    assert found.angles[0] == pytest.approx(OMEGA, abs=0.02)
    assert "A rotation explains" in str(found)


@pytest.mark.parametrize(("texts", "units"), [(30, 6), (1, 40)])
def test_components_are_those_of_the_singular_values(texts, units):
    stream = Stream.from_states(random_walks(texts, units, 4, sites=10))
    rows = stream.states.reshape(-1, units)
    _, s, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    found = pooled_axes(stream, components=3)
    assert found.share == pytest.approx(s[:3] ** 2 / (s**2).sum())
    np.testing.assert_allclose(np.abs(axes[:3] @ found.axes), np.eye(3), atol=1e-9)


def test_averages_of_texts():
    stream = Stream.from_states(random_walks(5, 3, 5, sites=4))
    means = group_means(stream, ["b", "a", "b", "a", "a"])
    np.testing.assert_allclose(means.states[0], stream.states[[0, 2]].mean(axis=0))
    np.testing.assert_allclose(mean_path(stream).states[0], stream.states.mean(axis=0))
    np.testing.assert_allclose(mean_path(without_mean_path(stream)).states, 0, atol=1e-12)


def test_what_cannot_be_fitted_is_named():
    stream = Stream.from_states(random_walks(2, 3, 6, sites=4))
    with pytest.raises(InputError, match="folds must be 0"):
        dynamic_modes(stream, folds=1)
    with pytest.raises(InputError, match="components must be a whole number, at least 2"):
        fit_rotation(stream, components=1)
    with pytest.raises(InputError, match="components must be a whole number, at least 1"):
        dynamic_modes(stream, components=0)
    with pytest.raises(InputError, match="components must be at most 1 for the 3 steps of this stream"):
        dynamic_modes(mean_path(stream))
    with pytest.raises(InputError, match="all of them are the same"):
        dynamic_modes(Stream.from_states(np.ones((2, 4, 3))))
    with pytest.raises(InputError, match="each of the 2 texts; got 1"):
        group_means(stream, ["a"])
    with pytest.raises(InputError, match="at least two texts"):
        without_mean_path(mean_path(stream))
