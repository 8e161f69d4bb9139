"""Streams whose statistics are known on paper: rotation, linear map, random walk, constant start, one text."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.models.stream import Site, Stream
from genlaws.residual_stream.measures.correlations import UnitReducer, unit_correlations
from genlaws.residual_stream.measures.paths import PathReducer, angle_between, path_measures, unit_means
from genlaws.residual_stream.measures.writes import writes

EXACT = 1e-12
ANGLE, GROWTH = 0.3, 1.25


def whitened(texts, units, seed=0):
    """Return states with mean zero and covariance exactly one."""
    raw = np.random.default_rng(seed).standard_normal((texts, units))
    q, _ = np.linalg.qr(raw - raw.mean(axis=0))
    return q * np.sqrt(texts - 1)


def iterated(first, matrix, sites):
    """Return the stream of h -> A h."""
    states = [first]
    for _ in range(sites - 1):
        states.append(states[-1] @ matrix.T)
    return Stream.from_states(np.stack(states, axis=1))


@pytest.fixture(scope="module")
def spiral():
    """Every plane turns by the same angle and grows by the same factor."""
    turn = np.array([[np.cos(ANGLE), -np.sin(ANGLE)], [np.sin(ANGLE), np.cos(ANGLE)]])
    return iterated(whitened(40, 6), GROWTH * np.kron(np.eye(3), turn), 7)


@pytest.fixture(scope="module")
def walk():
    """A random walk from zero: the state at site l is a sum of l + 1 steps."""
    steps = np.random.default_rng(5).standard_normal((400, 16, 300))
    return Stream.from_states(np.cumsum(steps, axis=1))


def test_a_spiral_has_its_angle_and_its_growth(spiral):
    found = path_measures(spiral)
    step = np.sqrt(1 + GROWTH**2 - 2 * GROWTH * np.cos(ANGLE))
    assert found.angular_speed.value == pytest.approx(ANGLE, abs=EXACT)
    assert found.curvature.value == pytest.approx(ANGLE, abs=EXACT)
    assert found.cosine.value == pytest.approx(np.cos(ANGLE), abs=EXACT)
    assert found.relative_speed.value == pytest.approx(step, abs=EXACT)
    assert found.norm.value[1:] / found.norm.value[:-1] == pytest.approx(GROWTH, abs=EXACT)
    assert found.speed.value == pytest.approx(step * found.norm.value[:-1], abs=1e-11)
    assert found.angular_speed.high - found.angular_speed.low == pytest.approx(0, abs=EXACT)
    path = step * (GROWTH**6 - 1) / (GROWTH - 1)
    whole = np.abs((GROWTH * np.exp(1j * ANGLE)) ** 6 - 1)
    assert found.straightness.value == pytest.approx(whole / path, abs=EXACT)
    assert found.message == ""


def test_a_spiral_correlates_by_the_cosine(spiral):
    # Whitened first states: every unit has the same variance, and mixes with its partner alone.
    assert unit_correlations(spiral).r == pytest.approx(np.cos(ANGLE), abs=EXACT)


def test_writes_of_a_spiral_have_the_angle_of_the_triangle(spiral):
    found = writes(spiral)
    step = np.sqrt(1 + GROWTH**2 - 2 * GROWTH * np.cos(ANGLE))
    cosine = (GROWTH * np.cos(ANGLE) - 1) / step
    assert found.cosine.value == pytest.approx(cosine, abs=EXACT)
    assert found.share_along.value == pytest.approx(cosine**2, abs=EXACT)
    assert found.by_place["mlp"].relative_size.value == pytest.approx(step, abs=EXACT)
    assert found.contrast.relative_size.value == pytest.approx(0, abs=EXACT)
    # Raw sizes grow: three attention writes against three MLP writes, each 1.25 times the one before.
    assert found.contrast.size.value < 0
    assert found.contrast.size.high < 0
    assert found.places == ("attention", "mlp") * 3
    assert found.to_frame().shape == (24, 6)


def test_small_angles_keep_their_digits():
    u, v = np.array([1.0, 0.0]), np.array([np.cos(1e-9), np.sin(1e-9)])
    assert angle_between(u, v) == pytest.approx(1e-9, rel=1e-9)
    assert angle_between(u, -3 * v) == pytest.approx(np.pi - 1e-9, rel=1e-15)
    assert np.isnan(angle_between(u, np.zeros(2)))


def test_a_diagonal_map_multiplies_means_by_its_eigenvalues():
    eigenvalues = np.array([2.0, -1.0, 0.5, 1.5])
    first = whitened(30, 4) + np.array([1.0, 2.0, 3.0, -4.0])
    stream = iterated(first, np.diag(eigenvalues), 5)
    found = unit_means(stream)
    expected = np.array([1.0, 2.0, 3.0, -4.0]) * eigenvalues ** np.arange(5)[:, None]
    assert found.mean == pytest.approx(expected, abs=1e-11)
    assert found.order.tolist() == [3, 2, 1, 0]
    assert (np.diff(found.ordered[-1]) > 0).all()
    table = found.to_frame()
    assert table[table["unit"] == 3]["rank"].unique().tolist() == [0]
    correlations = unit_correlations(stream)
    assert correlations.r == pytest.approx(np.tile(np.sign(eigenvalues), (4, 1)), abs=EXACT)
    assert correlations.low == pytest.approx(correlations.r, abs=1e-9)


def test_a_random_walk_has_the_correlations_of_its_length(walk):
    found = unit_correlations(walk)
    length = np.arange(1, 16)
    expected = np.sqrt(length / (length + 1))
    error = (1 - expected**2) / np.sqrt(400 * 300)  # of the mean over independent units
    bias = -expected * (1 - expected**2) / (2 * 400)
    assert (np.abs(found.mean.value - expected - bias) < 4 * error).all()
    assert ((found.mean.low < expected) & (expected < found.mean.high)).mean() > 0.8


def test_a_random_walk_bends_at_right_angles_and_is_as_straight_as_its_root(walk):
    found = path_measures(walk)
    length = np.arange(1, 16)
    assert found.cosine.value == pytest.approx(np.sqrt(length / (length + 1)), abs=0.005)
    assert found.curvature.value == pytest.approx(np.pi / 2, abs=0.02)
    assert found.speed.value == pytest.approx(np.sqrt(300), rel=0.01)
    assert found.straightness.value == pytest.approx(1 / np.sqrt(15), rel=0.01)
    assert found.to_frame()["measure"].nunique() == 6
    along = writes(walk).share_along
    assert along.value == pytest.approx(1 / 300, rel=0.25)  # a direction at random


def test_a_constant_start_is_named_and_has_no_correlation():
    states = np.cumsum(np.random.default_rng(2).standard_normal((30, 4, 5)), axis=1)
    states[:, 0] = 0.1 * np.arange(1, 6)
    for kind in (np.float64, np.float32):
        found = unit_correlations(Stream.from_states(states.astype(kind)))
        assert np.isnan(found.r[0]).all()
        assert np.isnan(found.low[0]).all()
        assert np.isnan(found.mean.value[0])
        assert np.isfinite(found.r[1:]).all()
        assert np.isfinite(found.low[1:]).all()
        assert "0.attention (5 of 5 units)" in found.message
        assert "same token" in found.message
    states[:, 2, 3] = 7.0
    found = unit_correlations(Stream.from_states(states))
    assert np.isnan(found.r[1:, 3]).all()
    assert np.isfinite(found.mean.value[1:]).all()  # over the other units
    assert "1.attention (1 of 5 units)" in found.message
    assert found.constant.sum() == 6
    share = found.histogram(4, per="step").shares
    assert np.isnan(share[0]).all()
    assert share[1:].sum(axis=1) == pytest.approx(1)


def test_one_text_has_values_and_a_sentence_instead_of_intervals():
    stream = Stream.from_states(np.random.default_rng(3).standard_normal((1, 4, 5)))
    found = path_measures(stream)
    assert np.isfinite(found.cosine.value).all()
    assert np.isnan(found.cosine.low).all()
    assert np.isnan(found.straightness.low)
    assert found.straightness.count == 1
    assert found.message == "There is one text only, so the values have no intervals."
    assert str(found.norm[0]).endswith("(n = 1)")
    means = unit_means(stream)
    assert (means.mean == stream.states[0]).all()
    assert np.isnan(means.low).all()
    assert "one text" in means.message
    correlations = unit_correlations(stream)
    assert np.isnan(correlations.r).all()
    assert "at least 3 texts" in correlations.message
    assert "one text" in writes(stream).message


def test_two_texts_have_no_correlation():
    found = unit_correlations(Stream.from_states(np.random.default_rng(3).standard_normal((2, 4, 5))))
    assert np.isnan(found.r).all()
    assert "at least 3 texts" in found.message


def test_states_and_steps_of_zero_have_no_angle():
    states = np.random.default_rng(4).standard_normal((6, 4, 3))
    states[:, 0] = 0.0
    states[2, 2] = states[2, 1]
    found = path_measures(Stream.from_states(states))
    assert np.isnan(found.cosine.value[0])
    assert np.isnan(found.relative_speed.value[0])
    assert np.isfinite(found.speed.value).all()
    assert np.isfinite(found.cosine.value[1:]).all()
    assert np.isfinite(found.curvature.value).all()  # over the other five texts
    assert "cosine has no value at 0.attention" in found.message
    still = path_measures(Stream.from_states(np.ones((3, 4, 2))))
    assert np.isnan(still.straightness.value)
    assert still.cosine.value == pytest.approx(1)


def test_parallel_blocks_have_writes_without_a_contrast():
    sites = [Site(0, "block"), Site(1, "block"), Site(2, "end")]
    found = writes(Stream.from_states(np.random.default_rng(6).standard_normal((9, 3, 4)), sites))
    assert found.contrast is None
    assert set(found.by_place) == {"block"}


def test_the_histogram_counts_each_correlation_once(walk):
    found = unit_correlations(walk)
    per_unit = found.histogram(10)
    expected = np.histogram(found.r[:, 7], bins=per_unit.edges)[0] / 15
    assert per_unit.shares[7] == pytest.approx(expected)
    assert per_unit.shares.shape == (300, 10)
    right = found.histogram(5, low=0.9, per="step")
    assert right.shares.sum(axis=1) == pytest.approx((found.r >= 0.9).mean(axis=1))
    assert len(right.to_frame()) == 75
    assert len(found.to_frame()) == 15 * 300
    exact = unit_correlations(iterated(whitened(9, 2), np.diag([1.0, -1.0]), 3)).histogram(4)
    assert exact.shares[0].tolist() == [0, 0, 0, 1]
    assert exact.shares[1].tolist() == [1, 0, 0, 0]
    with pytest.raises(InputError, match="per must be one of unit, step"):
        found.histogram(per="layer")


def test_correlations_in_a_random_basis_are_as_high_and_narrower():
    # Units of unequal variance v plus a step of variance s: r = sqrt(v/(v + s)); after a rotation every axis has the
    # mean variance. With these v and s the means are .885 and .943, so that high r says nothing of a privileged basis.
    step, units, texts = 0.1246, 200, 2000
    spread = np.exp(1.2 * np.random.default_rng(7).standard_normal(units))
    variance = spread / spread.mean()
    generator = np.random.default_rng(8)
    first = whitened(texts, units) * np.sqrt(variance)
    states = np.stack([first, first + np.sqrt(step) * generator.standard_normal(first.shape)], axis=1)
    rotation, _ = np.linalg.qr(generator.standard_normal((units, units)))
    own, turned = (
        unit_correlations(Stream.from_states(states)),
        unit_correlations(Stream.from_states(states @ rotation)),
    )
    assert own.mean.value[0] == pytest.approx(np.sqrt(variance / (variance + step)).mean(), abs=0.005)
    assert turned.mean.value[0] == pytest.approx(np.sqrt(1 / (1 + step)), abs=0.005)
    assert own.mean.value[0] == pytest.approx(0.885, abs=0.02)
    assert turned.r.std() < 0.3 * own.r.std()


def test_sums_are_taken_as_they_are_and_texts_go_to_the_reducer(spiral):
    sums, scalars = UnitReducer().update(spiral).result(), PathReducer().update(spiral).result()
    assert (unit_correlations(sums).r == unit_correlations(spiral).r).all()
    assert (path_measures(scalars).norm.value == path_measures(spiral).norm.value).all()
    for call in (lambda: unit_means(sums, texts=[0]), lambda: path_measures(scalars, texts=[0])):
        with pytest.raises(InputError, match="give them to its update"):
            call()
