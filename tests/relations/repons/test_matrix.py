"""The matrix law: what is conserved, when a pair or a class merges, where it ends, and the exact motion."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from genlaws.core.errors import InputError
from genlaws.relations import (
    class_invariant,
    class_limit,
    matrix_invariant,
    pair_path,
    separation_limit,
    separation_merges,
    separation_path,
)

INTEGRATED = 1e-9
SHAPES = [(1, 1), (2, 2), (3, 5), (3, 2), (4, 1), (5, 3)]  # dimension, outputs


def starts(dimension, outputs, count, seed=0):
    rng = np.random.default_rng([seed, dimension, outputs])
    return rng.normal(size=(count, outputs, dimension)), 0.6 * rng.normal(size=(count, dimension))


def integrated(decoder, separation, times, encoder_rate, decoder_rate, pull):
    """A stack of pairs as one system."""
    split = decoder.size

    def velocity(_, state):
        a, r = state[:split].reshape(decoder.shape), state[split:].reshape(separation.shape)
        ar = np.einsum("bkd,bd->bk", a, r)
        da = -pull * decoder_rate * ar[:, :, None] * r[:, None, :]
        return np.concatenate([da.ravel(), -encoder_rate * np.einsum("bkd,bk->bd", a, ar).ravel()])

    start = np.concatenate([decoder.ravel(), separation.ravel()])
    found = solve_ivp(velocity, (0, times[-1]), start, method="DOP853", t_eval=times, rtol=1e-12, atol=1e-14).y.T
    a = found[:, :split].reshape(-1, *decoder.shape)
    return a, found[:, split:].reshape(-1, *separation.shape)


@pytest.mark.parametrize(("dimension", "outputs"), SHAPES)
@pytest.mark.parametrize("cluster", [1, 4])
def test_motion_and_invariant_against_the_integrator(dimension, outputs, cluster):
    decoder, separation = starts(dimension, outputs, 40)
    times = np.array([0.0, 0.2, 1.0, 4.0])
    given_rates = {"encoder_rate": 0.8, "decoder_rate": 1.3}
    a, r = integrated(decoder, separation, times, 0.8, 1.3, 4.0 / (1.0 + 1.0 / cluster))
    path = separation_path(decoder, separation, times, **given_rates, cluster=cluster)
    np.testing.assert_allclose(path.half_separation, r.swapaxes(0, 1), atol=INTEGRATED)
    gram = np.swapaxes(a, -1, -2) @ a
    np.testing.assert_allclose(path.decoder_gram, gram.swapaxes(0, 1), atol=INTEGRATED)
    drift = matrix_invariant(a, r, **given_rates, cluster=cluster) - path.invariant
    np.testing.assert_allclose(drift, 0.0, atol=1e-10)


@pytest.mark.parametrize(("dimension", "outputs"), SHAPES)
def test_a_long_path_ends_at_the_limit(dimension, outputs):
    decoder, separation = starts(dimension, outputs, 200, seed=1)
    given_rates = {"encoder_rate": 0.8, "decoder_rate": 1.3}
    path = separation_path(decoder, separation, [1e7, 1e300, np.inf], **given_rates)
    end = separation_limit(decoder, separation, **given_rates)
    np.testing.assert_allclose(path.half_separation[:, 0], end, atol=1e-3)  # near the boundary it is a power law
    np.testing.assert_allclose(path.half_separation[:, 1:], np.stack([end, end], axis=1), atol=1e-12)
    merges = separation_merges(decoder, separation, **given_rates)
    np.testing.assert_array_equal(merges, np.abs(end).max(axis=-1) == 0.0)
    # At rest the decoder sees nothing of what is left.
    seen = np.einsum("bde,be->bd", path.decoder_gram[:, 2], end)
    np.testing.assert_allclose(seen, 0.0, atol=1e-12)
    if outputs < dimension:
        assert not merges.any()
    else:
        assert merges.any()
        inverse = np.linalg.inv(np.swapaxes(decoder, -1, -2) @ decoder)
        condition = np.einsum("bd,bde,be->b", separation, inverse, separation) <= 0.8 / (2 * 1.3)
        np.testing.assert_array_equal(merges, condition)


def test_one_dimension_is_the_pair():
    times = np.array([0.0, 0.5, 3.0, np.inf])
    given_rates = {"encoder_rate": 0.8, "decoder_rate": 1.3, "cluster": 2}
    for gain, separation in ((1.0, 0.2), (-0.4, 1.0), (1.0, -0.3)):
        line = pair_path(gain, separation, times, **given_rates)
        path = separation_path([[gain]], [separation], times, **given_rates)
        np.testing.assert_allclose(path.half_separation[:, 0], line.half_separation, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(path.decoder_gram[:, 0, 0], line.decoder_gain**2, rtol=1e-11, atol=1e-15)


def test_a_blind_decoder_and_a_separation_inside_its_rows():
    given_rates = {"encoder_rate": 1.0, "decoder_rate": 1.0}
    # The decoder sees one of two dimensions; a separation along it may merge, one across never does.
    decoder = np.array([[2.0, 0.0]])
    assert separation_merges(decoder, [0.5, 0.0], **given_rates)
    assert not separation_merges(decoder, [0.5, 1e-3], **given_rates)
    np.testing.assert_array_equal(separation_limit(decoder, [0.5, 0.0], **given_rates), [0.0, 0.0])
    # A rotation must not make rounding decide.
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert separation_merges(decoder @ turn.T, turn @ [0.5, 0.0], **given_rates)
    nothing = separation_path(np.zeros((2, 2)), [1.0, -2.0], [0.0, 5.0, np.inf], **given_rates)
    np.testing.assert_allclose(nothing.half_separation, np.tile([1.0, -2.0], (3, 1)), atol=1e-15)
    together = separation_path(np.eye(2), [0.0, 0.0], [0.0, 5.0, np.inf], **given_rates)
    np.testing.assert_array_equal(together.half_separation, 0.0)
    np.testing.assert_allclose(together.decoder_gram, np.tile(np.eye(2), (3, 1, 1)), atol=1e-15)


def test_rotations_and_stacks():
    decoder, separation = starts(3, 4, 12, seed=2)
    rng = np.random.default_rng(5)
    inner, outer = np.linalg.qr(rng.normal(size=(3, 3)))[0], np.linalg.qr(rng.normal(size=(4, 4)))[0]
    given_rates = {"encoder_rate": 0.8, "decoder_rate": 1.3}
    path = separation_path(decoder, separation, [0.7, 9.0], **given_rates)
    turned = separation_path(outer @ decoder @ inner.T, separation @ inner.T, [0.7, 9.0], **given_rates)
    np.testing.assert_allclose(turned.half_separation, path.half_separation @ inner.T, atol=1e-12)
    # One decoder against many separations, and a scalar time.
    many = separation_path(decoder[0], separation, 0.7, **given_rates)
    assert many.half_separation.shape == (12, 1, 3)
    one = separation_path(decoder[0], separation[4], [0.7], **given_rates)
    np.testing.assert_allclose(many.half_separation[4], one.half_separation, atol=1e-15)
    mirrored = separation_path(decoder, -separation, [0.7, 9.0], **given_rates)
    np.testing.assert_allclose(mirrored.half_separation, -path.half_separation, atol=1e-14)


def test_a_pair_is_a_class_of_two():
    decoder, separation = starts(3, 4, 20, seed=3)
    given_rates = {"encoder_rate": 0.8, "decoder_rate": 1.3}
    center = np.array([1.0, -2.0, 0.5])
    positions = np.stack([center + separation, center - separation], axis=1)
    pair = matrix_invariant(decoder, separation, **given_rates)
    np.testing.assert_allclose(class_invariant(decoder, positions, **given_rates), 2.0 * pair, atol=1e-12)
    end = separation_limit(decoder, separation, **given_rates)
    scatter = class_limit(decoder, positions, **given_rates)
    np.testing.assert_allclose(scatter, 2.0 * end[:, :, None] * end[:, None, :], atol=1e-11)


def test_a_class_keeps_as_many_directions_as_negative_eigenvalues():
    rng = np.random.default_rng(6)
    decoder, positions = rng.normal(size=(50, 2, 4)), rng.normal(size=(50, 6, 4))
    given_rates = {"encoder_rate": 1.0, "decoder_rate": 1.0}
    values = np.linalg.eigvalsh(class_invariant(decoder, positions, **given_rates))
    rank = np.linalg.matrix_rank(class_limit(decoder, positions, **given_rates), tol=1e-9)
    np.testing.assert_array_equal(rank, (values < 0).sum(axis=-1))
    assert set(rank) >= {2, 3}


BAD = {
    "decoder": (([1.0, 2.0], [1.0, 2.0], 0.0), "decoder must have one row per output and one column per dimension"),
    "columns": ((np.eye(3), [1.0, 2.0], 0.0), "here 2; got shape (3, 3)"),
    "vector": ((np.eye(2), 1.0, 0.0), "half_separation must be a vector"),
    "stack": ((np.zeros((3, 2, 2)), np.zeros((4, 2)), 0.0), "leading axes must broadcast"),
    "time": ((np.eye(2), [1.0, 2.0], -1.0), "time must be zero, positive or infinite"),
    "times": ((np.eye(2), [1.0, 2.0], [[1.0], [2.0]]), "time must be a number or a list"),
    "finite": ((np.eye(2), [1.0, np.inf], 0.0), "must be finite"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_input_is_refused(name):
    arguments, complaint = BAD[name]
    with pytest.raises(InputError) as caught:
        separation_path(*arguments, encoder_rate=1.0, decoder_rate=1.0)
    assert complaint in str(caught.value)


def test_more_wrong_input_is_refused():
    with pytest.raises(InputError, match="encoder_rate must be a single number"):
        separation_path(np.eye(2), [1.0, 2.0], 0.0, encoder_rate=[1.0, 2.0], decoder_rate=1.0)
    with pytest.raises(InputError, match="positions must have one row per repon"):
        class_invariant(np.eye(2), [1.0, 2.0], encoder_rate=1.0, decoder_rate=1.0)
