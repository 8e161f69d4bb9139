"""The laws of walks against other routes and against walks that are drawn."""

import numpy as np
import pytest

from genlaws.claims.residual_stream.data import SPEEDS, in_order
from genlaws.claims.residual_stream.units import rotations_written_out
from genlaws.core.errors import InputError
from genlaws.models.stream import Stream
from genlaws.models.texts import ENDS, example_texts
from genlaws.residual_stream.dynamics.portraits import rotations
from genlaws.residual_stream.measure_groups import plane_share
from genlaws.residual_stream.measures.correlations import unit_correlations
from genlaws.residual_stream.measures.samples import mean_path
from genlaws.residual_stream.surrogates import walks as walks_module
from genlaws.residual_stream.surrogates.comparison import against_surrogates
from genlaws.residual_stream.surrogates.walk_comparison import compare_with_walk, path_shares_of, walk_like
from genlaws.residual_stream.surrogates.walks import Walk, draw_walk, expected_rotation_angles, geometric_walk

LARGEST_Z = 4.0
SECOND_ORDER = 3.0  # times (components / units)^2: what the first order in 1/units leaves of a share


def z_score(drawn, exact):
    drawn = np.asarray(drawn)
    return (drawn.mean() - exact) / (drawn.std(ddof=1) / np.sqrt(drawn.size))


def test_covariance_is_that_of_sums_of_steps():
    walk = geometric_walk(7, growth=3.0, start=0.7, persistence=-0.4, shared=0.25)
    sizes, expected = walk.own_steps, np.zeros((7, 7))
    for i in range(7):
        for j in range(7):
            expected[i, j] = 0.7**2 + sum(
                sizes[k] * sizes[m] * (-0.4) ** abs(k - m) for k in range(i) for m in range(j)
            )
    np.testing.assert_allclose(walk.own_covariance, expected, rtol=1e-12)
    assert walk.shared_covariance[0].tolist() == [0.0] * 7
    np.testing.assert_allclose(walk.step_size, 3.0 ** (np.arange(6) / 5))


def test_without_persistence_r_is_a_ratio_of_deviations():
    walk = geometric_walk(20, start=2.0, shared=0.0)
    variance = 4.0 + np.arange(20)
    np.testing.assert_allclose(walk.correlation, np.sqrt(variance[:-1] / variance[1:]))
    np.testing.assert_allclose(walk.cosine, walk.correlation)
    np.testing.assert_allclose(walk.size**2, variance)


def test_equal_steps_have_the_spectrum_of_a_chain():
    walk, sites = geometric_walk(40, shared=1.0), 40
    k = np.arange(1, sites)
    np.testing.assert_allclose(walk.path_spectrum, 1 / (4 * np.sin(k * np.pi / (2 * sites)) ** 2), rtol=1e-9)
    long = geometric_walk(600, shared=1.0)
    assert long.participation_ratio == pytest.approx(2.5, abs=1e-4)
    assert long.path_shares()[1] == pytest.approx(6 / np.pi**2 * 1.25, abs=1e-4)


def test_a_walk_that_shares_nothing_has_the_mean_path_of_its_own_parts():
    own, shared = (geometric_walk(12, growth=4.0, persistence=0.3, shared=part) for part in (0.0, 0.5))
    np.testing.assert_allclose(own.path_shares(), shared.path_shares())
    np.testing.assert_allclose(own.rotations, shared.rotations)
    assert np.isnan(Walk(own.own_steps, own.shared_steps).correlation[0])  # texts do not differ at first


@pytest.mark.parametrize("persistence", [0.0, -0.5, 0.7])
def test_correlation_cosine_and_size_of_drawn_walks(persistence):
    walk = geometric_walk(10, growth=5.0, start=1.5, persistence=persistence, shared=0.4)
    texts, units = 300, 300
    stream = draw_walk(walk, texts, units, seed=3)
    r = unit_correlations(stream).r
    low_by = walk.correlation * (1 - walk.correlation**2) / (2 * texts)  # of a sample's r, to first order
    assert max(abs(z_score(r[at], walk.correlation[at] - low_by[at])) for at in range(9)) < LARGEST_Z
    by_unit = (stream.states**2).mean(axis=0)
    assert max(abs(z_score(by_unit[at], walk.size[at] ** 2)) for at in range(10)) < LARGEST_Z
    found = compare_with_walk(stream)
    # Of so many units a cosine is within some hundredths; the mean path's part is drawn once.
    np.testing.assert_allclose(found.cosine.value, walk.cosine, atol=0.05)


@pytest.mark.parametrize("persistence", [0.0, 0.6])
def test_shares_of_drawn_walks(persistence):
    walk, units = geometric_walk(24, growth=8.0, persistence=persistence), 100
    drawn = np.array([path_shares_of(draw_walk(walk, 1, units, seed=seed).states[0]) for seed in range(500)])
    exact, deviation = walk.path_shares(units), walk.path_share_deviations(units)
    for k in (1, 2, 3, 5):
        mean, error = drawn[:, k - 1].mean(), drawn[:, k - 1].std(ddof=1) / np.sqrt(500)
        assert abs(mean - exact[k - 1]) < LARGEST_Z * error + SECOND_ORDER * (k / units) ** 2
        assert deviation[k - 1] == pytest.approx(drawn[:, k - 1].std(ddof=1), rel=0.2)
    assert exact[0] > walk.path_shares()[0]  # few units look flatter


@pytest.mark.parametrize(
    ("sites", "growth", "persistence"), [(3, 2.0, 0.3), (5, 0.3, 0.0), (20, 20.0, -0.5), (20, 1.0, 0.8)]
)
def test_rotations_of_drawn_walks(sites, growth, persistence):
    walk = geometric_walk(sites, growth=growth, persistence=persistence)
    drawn = -rotations_written_out(draw_walk(walk, 1, 30_000, seed=5).states[0])
    assert abs(z_score(drawn, walk.rotations[-1])) < LARGEST_Z
    assert walk.rotations.shape == (sites - 2,)


def test_rotations_at_every_site_are_those_counted():
    walk = geometric_walk(12, growth=6.0, persistence=0.2)
    found = compare_with_walk(draw_walk(walk, 2, 20_000, seed=1)).rotations
    half = (found.high - found.low) / 2
    assert (np.abs(found.value - walk.rotations) < LARGEST_Z / 1.96 * half).all()


def test_white_noise_and_the_papers_speeds_turn_as_known():
    steps = 63
    differences = 2 * np.eye(steps) - np.eye(steps, k=1) - np.eye(steps, k=-1)
    noise = -expected_rotation_angles(differences).sum() / (2 * np.pi)
    drawn = -rotations_written_out(np.random.default_rng(0).standard_normal((64, 20_000)))
    assert abs(z_score(drawn, noise)) < LARGEST_Z
    speeds = in_order(SPEEDS)
    assert Walk(speeds, speeds).rotations[-1] == pytest.approx(10.59, abs=0.02)  # the paper: 10.74
    assert geometric_walk(64).rotations[-1] == pytest.approx(10.95, abs=0.01)


def test_quadrature_has_converged(monkeypatch):
    walks = [geometric_walk(9, growth=30.0, persistence=phi) for phi in (-0.6, 0.0, 0.9)]
    counts = [walk.rotations.copy() for walk in walks]
    monkeypatch.setattr(walks_module, "LINE_DIRECTIONS", 200)
    monkeypatch.setattr(walks_module, "QUADRATURE_NODES", 40)
    again = [geometric_walk(9, growth=30.0, persistence=phi).rotations for phi in (-0.6, 0.0, 0.9)]
    np.testing.assert_allclose(counts, again, atol=1e-5)


def test_straight_paths_do_not_turn_and_angles_of_equal_tangents_vanish():
    sizes = np.ones(9)
    assert abs(Walk(sizes, sizes, persistence=0.999999).rotations[-1]) < 0.1
    assert Walk(sizes, sizes, persistence=0.9).rotations[-1] < Walk(sizes, sizes).rotations[-1]


def test_the_walk_like_a_stream_has_its_sizes_and_is_its_surrogate():
    stream = draw_walk(geometric_walk(16, growth=9.0, start=2.0, shared=0.3, persistence=0.5), 40, 200, seed=2)
    walk = walk_like(stream)
    squares = (stream.steps() ** 2).mean(axis=(0, 2))
    np.testing.assert_allclose(walk.step_size**2, squares, rtol=1e-12)
    assert walk.persistence == 0.0
    path = mean_path(stream)
    turned = against_surrogates(
        path, lambda one: rotations(one).as_printed.mean(), surrogates=("random walk",), draws=60, seed=0
    )
    flat = against_surrogates(path, plane_share, surrogates=("random walk",), draws=60, seed=0)
    assert abs(z_score(turned.against["random walk"].draws, walk.rotations[-1])) < LARGEST_Z
    assert abs(z_score(flat.against["random walk"].draws, walk.path_shares(200)[1])) < LARGEST_Z


def test_a_stream_compared_with_its_walk_shows_where_it_leaves_it():
    stream = draw_walk(geometric_walk(14, shared=0.3, persistence=0.6), 60, 128, seed=4)
    found = compare_with_walk(stream)
    assert found.persistence == pytest.approx(0.6, abs=0.03)
    assert found.size.value[-1] > 1.5 * found.walk.size[-1]
    assert found.rotations.high[-1] < found.walk.rotations[-1]
    frame = found.to_frame()
    assert set(frame["measure"]) == {
        "correlation",
        "correlation_random_axes",
        "cosine",
        "size",
        "step_size",
        "shares",
        "rotations",
    }
    assert np.isfinite(frame["walk"]).all()


def test_unequal_units_lower_r_in_their_own_axes_and_not_in_random_ones():
    stream = draw_walk(geometric_walk(12, start=2.0, shared=0.2), 400, 200, seed=6)
    large = np.where(np.arange(200) < 8, 20.0, 1.0)  # a few units hold nearly all of the variance at first
    first, steps = stream.states[:, :1], np.diff(stream.states, axis=1)
    states = np.cumsum(np.concatenate([first * large, steps * 3.0], axis=1), axis=1)
    found = compare_with_walk(Stream.from_states(states))
    away, turned = (
        np.abs(one.value - found.walk.correlation).max() for one in (found.correlation, found.correlation_random_axes)
    )
    assert away > 0.1
    assert turned < 0.03


def test_one_text_has_a_path_and_no_intervals():
    found = compare_with_walk(draw_walk(geometric_walk(6), 1, 40, seed=0))
    assert np.isnan(found.shares.low).all()
    assert np.isfinite(found.shares.value).all()
    assert found.walk.own_steps.max() == 0.0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Walk(np.ones(3), np.ones(4)), "one size for every step"),
        (lambda: Walk(np.zeros(3), np.zeros(3)), "always moves"),
        (lambda: Walk(np.ones(3), np.ones(3), persistence=1.0), "persistence must lie in"),
        (lambda: Walk(-np.ones(3), np.ones(3)), "own_steps must be zero or positive"),
        (lambda: geometric_walk(2), "sites must be a whole number, at least 3"),
        (lambda: geometric_walk(5, shared=1.5), "shared must lie in"),
        (lambda: expected_rotation_angles(np.zeros((3, 3))), "positive variances"),
        (lambda: expected_rotation_angles(np.ones(3)), "square array"),
        (lambda: geometric_walk(5).path_shares(1), "units must be a whole number"),
        (lambda: example_texts(0), "count must be a whole number"),
    ],
)
def test_wrong_arguments_are_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_example_texts_differ_and_end_differently():
    texts = example_texts(180)
    assert len(set(texts)) == 180
    assert len({one.split()[-1] for one in texts[:60]}) == len(ENDS) == 60


def test_a_network_leaves_its_walk_when_it_is_trained():
    pytest.importorskip("torch", reason="needs the package torch")
    from genlaws.residual_stream.digit_network import digit_stream

    found = digit_stream(blocks=6, width=48, epochs=3, seed=1)
    before, after = compare_with_walk(found.untrained), compare_with_walk(found.stream)
    # Over the seeds 0 to 5: persistence rose by .12 to .24, the ratio of lengths was .96 to 1.07 before and 1.25 to
    # 1.36 after, and r was at most .019 from the walk's before and at least .088 after.
    assert after.persistence > before.persistence + 0.06
    assert before.size.value[-1] == pytest.approx(before.walk.size[-1], rel=0.12)
    assert after.size.value[-1] > 1.15 * after.walk.size[-1]
    np.testing.assert_allclose(before.correlation.value, before.walk.correlation, atol=0.03)
    assert (after.correlation.value > after.walk.correlation).all()
    assert found.accuracy.value > 0.8
    assert isinstance(found.stream, Stream)
    assert found.stream.sites[-1].name == "end"
    small, again = (digit_stream(blocks=2, width=8, epochs=1, seed=1).stream for _ in range(2))
    np.testing.assert_array_equal(again.states, small.states)
