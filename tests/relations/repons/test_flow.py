"""Two repons whose bias learns: the whole flow conserves its matrix, and the target decides who merges."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations import (
    ReponSystem,
    collision_probability,
    evolve_repons,
    pair_path,
    simulate_repons,
    two_repon_path,
)

SIGMAS = 5.0
DRAWS = 2000
RATES = {"encoder_rate": 1.0, "decoder_rate": 1.0}
# Shares of 20,000 draws, each uncertain by 0.0035.
KNOWN = {0.0: 0.463, 1.0: 0.547, 3.0: 0.811}
KNOWN_ERROR = 0.0035


def learning_bias(target, **options):
    return ReponSystem(**RATES, targets=target, bias="trained", **options)


@pytest.mark.parametrize("target", KNOWN)
def test_the_target_decides(target):
    found = simulate_repons(learning_bias(target), draws=DRAWS, seed=1).collision.value
    error = np.hypot(KNOWN_ERROR, 0.5 / np.sqrt(DRAWS))
    assert abs(found - KNOWN[target]) <= SIGMAS * error


def test_it_bounds_nothing_and_a_fast_bias_restores_the_law():
    law = float(collision_probability(1.0, 1.0, encoder_scale_of="repon"))
    assert law == pytest.approx(0.5)
    assert KNOWN[0.0] < law - SIGMAS * KNOWN_ERROR
    assert KNOWN[3.0] > law + SIGMAS * KNOWN_ERROR
    fast = [simulate_repons(learning_bias(y, bias_rate=20.0), draws=600, seed=2) for y in (0.0, 3.0)]
    for run in fast:
        # What is left depends on the bias rate; 0.02 is allowed for it on top of the draws.
        assert abs(run.collision.value - law) <= 0.02 + SIGMAS * 0.5 / np.sqrt(600)


def test_paths_conserve_and_agree_with_the_simulator():
    times = np.array([0.0, 0.1, 1.0, 10.0])
    rng = np.random.default_rng(3)
    for gain, first, second, bias, target in rng.normal(size=(60, 5)):
        path = two_repon_path(
            gain, (first, second), times, encoder_rate=0.7, decoder_rate=1.3, target=target, bias=bias
        )
        np.testing.assert_allclose(path.invariant, path.invariant[0], atol=1e-10 * (1.0 + abs(path.invariant[0])))
        assert path.half_separation[0] == pytest.approx(0.5 * (first - second))
        assert path.center[0] == pytest.approx(0.5 * (first + second))


def test_the_end_of_a_path_is_that_of_the_simulator():
    system = ReponSystem(encoder_rate=0.7, decoder_rate=1.3, targets=0.8, bias="trained")
    run = evolve_repons(system, decoder=[[[1.2]]], positions=[[[0.5], [-0.9]]], bias=0.1, tolerance=1e-12)
    path = two_repon_path(
        1.2, (0.5, -0.9), [0.0, run.time[0]], encoder_rate=0.7, decoder_rate=1.3, target=0.8, bias=0.1
    )
    assert path.decoder_gain[-1] == pytest.approx(run.decoder[0, 0, 0], abs=1e-9)
    assert path.bias[-1] == pytest.approx(run.bias[0, 0], abs=1e-9)
    assert path.half_separation[-1] == pytest.approx(0.5 * np.ptp(run.positions[0]), abs=1e-9)
    assert run.merged[0, 0] == (path.reduced_invariant[-1] >= 0)


def test_with_the_center_at_rest_the_pair_moves_by_its_own_law():
    # A center at zero and a bias at its best value stay there; then the reduced law is exact.
    times = np.array([0.0, 0.5, 2.0])
    path = two_repon_path(0.9, (0.4, -0.4), times, encoder_rate=0.7, decoder_rate=1.3, target=2.0, bias=2.0)
    line = pair_path(0.9, 0.4, times, encoder_rate=0.7, decoder_rate=1.3)
    np.testing.assert_allclose(path.decoder_gain, line.decoder_gain, atol=1e-9)
    np.testing.assert_allclose(path.half_separation, line.half_separation, atol=1e-9)
    # A bias at its best value does not stay there if the center is elsewhere.
    off = two_repon_path(0.9, (1.4, 0.6), times, encoder_rate=0.7, decoder_rate=1.3, target=2.0, bias=2.0 - 0.9)
    residual = off.decoder_gain * off.center + off.bias - 2.0
    assert residual[0] == pytest.approx(0.0, abs=1e-15)
    assert abs(residual[1]) > 1e-2
    assert np.ptp(off.reduced_invariant) > 1e-2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"time": [1.0, 0.5]}, "time must be a rising list"),
        ({"time": [-1.0]}, "time must be zero or positive"),
        ({"encoder_rate": 0.0}, "encoder_rate must be positive"),
        ({"bias_rate": 0.0}, "bias_rate must be positive"),
        ({"decoder_gain": np.inf}, "must be finite numbers"),
        ({"target": np.inf}, "must be finite numbers"),
        ({"positions": (1.0, 2.0, 3.0)}, "two positions"),
    ],
)
def test_wrong_input_is_refused(options, complaint):
    arguments = {"decoder_gain": 1.0, "positions": (0.5, 1.0), "time": [1.0], **RATES, **options}
    with pytest.raises(InputError) as caught:
        two_repon_path(**arguments)
    assert complaint in str(caught.value)
    with pytest.raises(InputError, match="targets must have shape"):
        learning_bias([1.0, 2.0])
