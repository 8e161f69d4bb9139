"""Surrogates keep what they promise, and the test against them is exact."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.models.stream import Stream
from genlaws.residual_stream.dynamics.portraits import rotations
from genlaws.residual_stream.measures.samples import mean_path
from genlaws.residual_stream.surrogates.comparison import against_surrogates, compare
from genlaws.residual_stream.surrogates.kinds import SURROGATES, random_axes

ROUNDING = 1e-10


def a_stream(texts=6, sites=20, units=15, seed=0, growth=1.1):
    """Return walks whose steps grow, with a part that all texts share."""
    generator = np.random.default_rng(seed)
    own, shared = generator.standard_normal((texts, sites, units)), 2 * generator.standard_normal((sites, units))
    return Stream.from_states(np.cumsum((own + shared) * growth ** np.arange(sites)[:, None], axis=1))


def surrogate(name, stream, seed=1):
    return SURROGATES[name](stream, np.random.default_rng(seed))


@pytest.mark.parametrize("name", SURROGATES)
@pytest.mark.parametrize("texts", [1, 6])
def test_a_surrogate_has_the_form_of_its_stream_and_another_path(name, texts):
    stream = a_stream(texts)
    other = surrogate(name, stream)
    assert other.states.shape == stream.states.shape
    assert other.sites == stream.sites
    assert np.abs(other.states - stream.states).max() > 0.1
    np.testing.assert_array_equal(other.states, surrogate(name, stream).states)


@pytest.mark.parametrize("name", sorted(set(SURROGATES) - {"basis rotation"}))
def test_the_mean_path_of_a_surrogate_is_a_surrogate_of_the_mean_path(name):
    stream = a_stream()
    one, other = mean_path(surrogate(name, stream)), surrogate(name, mean_path(stream))
    np.testing.assert_allclose(one.states, other.states, atol=ROUNDING)


def test_the_random_walk_keeps_first_states_and_velocities():
    stream = a_stream(texts=20, sites=12, units=4000)
    other = surrogate("random walk", stream)
    np.testing.assert_array_equal(other.states[:, 0], stream.states[:, 0])
    for one, same in ((stream, other), (mean_path(stream), mean_path(other))):
        sizes = [(path.steps() ** 2).mean(axis=(0, 2)) for path in (same, one)]
        np.testing.assert_allclose(sizes[0], sizes[1], rtol=5 * np.sqrt(2 / 4000))


def test_step_signs_keep_the_size_of_every_step():
    stream = a_stream()
    other = surrogate("step signs", stream)
    np.testing.assert_allclose(np.abs(other.steps()), np.abs(stream.steps()), atol=ROUNDING)
    ratio = np.sign(other.steps() * stream.steps())
    np.testing.assert_array_equal(ratio, np.broadcast_to(ratio[0], ratio.shape))
    assert set(np.unique(ratio)) == {-1.0, 1.0}


@pytest.mark.parametrize("sites", [20, 21])
def test_random_phases_keep_the_spectrum_and_the_mean(sites):
    stream = a_stream(sites=sites)
    power = [np.abs(np.fft.rfft(one.states, axis=1)) for one in (surrogate("phase-randomized", stream), stream)]
    np.testing.assert_allclose(power[0], power[1], atol=1e-8)
    np.testing.assert_allclose(
        surrogate("phase-randomized", stream).states.mean(axis=1), stream.states.mean(axis=1), atol=1e-8
    )
    steps = surrogate("phase-randomized steps", stream)
    power = [np.abs(np.fft.rfft(one.steps(), axis=1)) for one in (steps, stream)]
    np.testing.assert_allclose(power[0], power[1], atol=1e-8)
    np.testing.assert_allclose(steps.states[:, [0, -1]], stream.states[:, [0, -1]], atol=1e-8)


def test_the_layer_shuffle_moves_whole_states():
    stream = a_stream()
    other = surrogate("layer shuffle", stream)
    ranks = np.argsort(np.argsort(other.states[0, :, 0])), np.argsort(np.argsort(stream.states[0, :, 0]))
    order = [int(np.flatnonzero(ranks[1] == rank)[0]) for rank in ranks[0]]
    np.testing.assert_array_equal(other.states, stream.states[:, order])
    assert order != sorted(order)


@pytest.mark.parametrize("units", [15, 200])  # fewer and more than the 120 states
def test_a_rotation_of_the_basis_keeps_all_inner_products(units):
    stream = a_stream(units=units)
    rows = [one.states.reshape(-1, units) for one in (surrogate("basis rotation", stream), stream)]
    np.testing.assert_allclose(rows[0] @ rows[0].T, rows[1] @ rows[1].T, rtol=1e-9, atol=1e-7)


def test_random_axes_favor_no_direction():
    axes = np.stack([random_axes(3, 3, np.random.default_rng(seed)) for seed in range(4000)])
    np.testing.assert_allclose(axes.mean(axis=0), 0, atol=4 * np.sqrt(1 / 3 / 4000))
    np.testing.assert_allclose((axes**2).mean(axis=0), 1 / 3, atol=4 * np.sqrt(4 / 45 / 4000))
    assert abs(np.linalg.det(axes).mean()) < 4 / np.sqrt(4000)


def test_scores_and_ranks_by_hand():
    test = compare(np.asarray(5.0), np.array([1.0, 2.0, 3.0, 6.0]))
    assert test.mean == 3.0
    assert test.z_score == pytest.approx(2 / np.std([1, 2, 3, 6], ddof=1))
    # The five values have the mean 3.4; 1 and 6 lie farther from it than 5.
    assert test.p_value == pytest.approx(3 / 5)
    assert compare(np.asarray(9.0), np.array([1.0, 2.0, 3.0, 6.0])).p_value == pytest.approx(1 / 5)


def test_p_values_are_uniform_where_the_stream_is_one_more_draw():
    draws = np.random.default_rng(0).gamma(1.0, size=(20, 20_000))
    p = compare(draws[0], draws[1:]).p_value
    share = [(p <= level).mean() for level in (0.05, 0.25, 0.5)]
    np.testing.assert_allclose(share, [0.05, 0.25, 0.5], atol=4 * np.sqrt(0.25 / 20_000))


def test_a_surrogate_that_changes_nothing_has_no_z_score():
    test = against_surrogates(
        a_stream(), lambda one: np.linalg.norm(one.states), surrogates=["basis rotation"], draws=10, seed=0
    ).against["basis rotation"]
    assert np.isnan(test.z_score)
    assert test.p_value == 1.0
    constant = compare(np.asarray(2.0), np.ones(10))
    assert np.isinf(constant.z_score)
    assert constant.p_value == pytest.approx(1 / 11)
    assert np.isnan(compare(np.asarray(np.nan), np.ones(10)).p_value)


def test_rotations_of_a_walk_are_those_of_its_surrogates():
    stream = a_stream(texts=1, sites=64, units=400, growth=1.05)
    kinds = ["random walk", "step signs", "basis rotation"]
    test = against_surrogates(stream, lambda one: rotations(one).tangent_rotations, surrogates=kinds, draws=99, seed=0)
    for name in kinds:
        assert (test.against[name].p_value <= 0.05).mean() == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 400))
        assert abs(test.of_mean().against[name].z_score) < 4
    assert "(mean of 400)" in str(test)
    assert test.to_frame().shape == (1200, 8)


def test_rotations_of_persistent_units_stand_out():
    smooth = np.sin(0.5 * np.arange(64)[:, None] + np.arange(50.0))
    states = 20 * smooth + np.cumsum(np.random.default_rng(1).standard_normal((64, 50)), axis=0)
    test = against_surrogates(Stream.from_states(states[None]), lambda one: rotations(one).as_printed, draws=99, seed=0)
    walk = test.against["random walk"]
    assert walk.z_score.mean() < -2
    assert test.of_mean().against["random walk"].z_score < -15


def test_a_kind_does_not_depend_on_its_company():
    stream = a_stream()

    def height(one):
        return one.states.max()

    alone = against_surrogates(stream, height, surrogates=["layer shuffle", "random walk"], draws=5, seed=3)
    among = against_surrogates(stream, height, surrogates=["random walk"], draws=5, seed=3)
    np.testing.assert_array_equal(alone.against["random walk"].draws, among.against["random walk"].draws)
    other = against_surrogates(stream, height, surrogates=["random walk"], draws=5, seed=4)
    assert np.all(other.against["random walk"].draws != among.against["random walk"].draws)


def test_supplied_streams_are_compared_like_drawn_ones():
    stream, other = a_stream(), a_stream(seed=5)

    def two(one):
        return [one.states.mean(), one.states.std()]

    several = [a_stream(seed=seed) for seed in range(10, 20)]
    supplied = {"random weights": other, "shuffled tokens": several}
    test = against_surrogates(
        stream, two, surrogates=["step signs"], draws=5, seed=0, supplied=supplied, labels=["mean", "sd"]
    )
    single = test.against["random weights"]
    np.testing.assert_allclose(single.mean, two(other))
    assert np.isnan(single.z_score).all()
    np.testing.assert_array_equal(single.p_value, 1.0)
    assert np.isfinite(test.against["shuffled tokens"].z_score).all()
    table = test.to_frame()
    assert table["entry"].tolist() == ["mean", "sd"] * 3
    assert table["draws"].tolist() == [5, 5, 1, 1, 10, 10]
    assert "z = nan" in str(
        against_surrogates(stream, lambda one: one.states.max(), surrogates=[], seed=0, supplied=supplied)
    )


def test_wrong_arguments_are_named():
    stream = a_stream()

    def height(one):
        return one.states.max()

    wrong = [
        ({"surrogates": ["random weights"]}, "needs a model"),
        ({"surrogates": ["sleep"]}, "random walk, step signs"),
        ({"surrogates": "random walk"}, "surrogates must be a list"),
        ({"surrogates": []}, "at least one kind"),
        ({"supplied": {"random walk": stream}}, "name of a built-in"),
        ({"supplied": {"random weights": []}}, "at least one stream"),
        ({"draws": 1}, "draws must be a whole number, at least 2"),
        ({"labels": ["a", "b"]}, "the 1 entries"),
    ]
    for arguments, complaint in wrong:
        with pytest.raises(InputError, match=complaint):
            against_surrogates(stream, height, seed=0, **arguments)
    with pytest.raises(InputError, match="same shape for every stream"):
        against_surrogates(
            stream,
            lambda one: one.states[:, 0, 0],
            surrogates=[],
            seed=0,
            supplied={"random weights": a_stream(texts=2)},
        )
