"""The simulator: it follows an independent integrator, conserves what it must, and meets every law."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from genlaws.core.errors import InputError
from genlaws.relations import (
    ReponSystem,
    class_collision_probability,
    class_limit,
    collision_probability,
    evolve_repons,
    separation_limit,
    sign_collision_probability,
    simulate_repons,
)
from genlaws.relations.repons.forces import Forces

SIGMAS = 5.0
DRAWS = 1500
DRIFT = 1e-10
EQUAL = {"encoder_rate": 1.0, "decoder_rate": 1.0}


def agrees(run, law):
    share = run.collision
    return abs(share.value - law) <= SIGMAS * np.sqrt(law * (1 - law) / share.count)


MANY = ReponSystem(
    encoder_rate=0.7,
    decoder_rate=1.2,
    dimension=2,
    outputs=3,
    class_sizes=(2, 3),
    targets=[[1.0, 0.0, -1.0], [0.0, 2.0, 0.5]],
    weights=[1.0, 2.0, 1.0, 1.0, 3.0],
    bias="trained",
    bias_rate=0.4,
)


@pytest.mark.parametrize("bias", ["trained", "none", "instant"])
def test_velocity_is_minus_the_gradient_of_the_loss(bias):
    system = ReponSystem(**{**vars_of(MANY), "bias": bias, "bias_rate": 0.4 if bias == "trained" else None})
    forces = Forces.of(system)
    rng = np.random.default_rng(0)
    state = rng.normal(size=(forces.rates.size, 4))
    step = 1e-6
    slope = np.empty_like(state)
    for row in range(len(state)):
        moved = np.zeros_like(state)
        moved[row] = step
        slope[row] = (forces.loss(state + moved) - forces.loss(state - moved)) / (2 * step)
    expected = -forces.rates[:, None] * slope / forces.counts[:, None]
    np.testing.assert_allclose(forces.velocity(state), expected, rtol=1e-6, atol=1e-7)


def vars_of(system):
    names = ("encoder_rate", "decoder_rate", "dimension", "outputs", "class_sizes", "targets", "weights", "bias")
    return {name: getattr(system, name) for name in names}


def test_draws_end_where_an_independent_integrator_ends():
    rng = np.random.default_rng(1)
    decoder, positions = rng.normal(size=(6, 3, 2)), rng.normal(size=(6, 5, 2))
    run = evolve_repons(MANY, decoder=decoder, positions=positions, bias=0.3, tolerance=1e-12)
    assert run.settled.all()
    assert run.message == "All 6 draws came to rest."
    weights, targets = np.array([1.0, 2.0, 1.0, 1.0, 3.0]), np.array(MANY.targets)[[0, 0, 1, 1, 1]]

    def velocity(_, state):
        a, b, x = state[:6].reshape(3, 2), state[6:9], state[9:].reshape(5, 2)
        error = x @ a.T + b - targets
        pulled = weights[:, None] * error
        return np.concatenate([(-1.2 * pulled.T @ x).ravel(), -0.4 * pulled.sum(axis=0), (-0.7 * error @ a).ravel()])

    for draw in range(6):
        start = np.concatenate([decoder[draw].ravel(), np.full(3, 0.3), positions[draw].ravel()])
        found = solve_ivp(velocity, (0, run.time[draw]), start, method="LSODA", rtol=1e-11, atol=1e-13).y[:, -1]
        np.testing.assert_allclose(run.decoder[draw].ravel(), found[:6], atol=1e-8)
        np.testing.assert_allclose(run.bias[draw], found[6:9], atol=1e-8)
        np.testing.assert_allclose(run.positions[draw].ravel(), found[9:], atol=1e-8)


@pytest.mark.parametrize("bias", ["trained", "none", "instant"])
def test_the_matrix_is_conserved_whatever_the_targets(bias):
    system = ReponSystem(**{**vars_of(MANY), "bias": bias})
    run = simulate_repons(system, draws=100, seed=2)
    assert run.invariant_drift.max() < DRIFT
    assert run.merged.shape == (100, 2)
    each = [share.value for share in run.collision_by_class]
    assert run.collision.value <= min(each)


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        ({"dimension": 1, "outputs": 1}, 1),
        ({"dimension": 1, "outputs": 2}, 4),
        ({"dimension": 2, "outputs": 3}, 1),
        ({"dimension": 3, "outputs": 2}, 1),
    ],
)
def test_pairs_meet_the_law_and_their_predicted_ends(options, weights):
    system = ReponSystem(encoder_rate=0.6, decoder_rate=1.0, **options, weights=(1.0, weights))
    rng = np.random.default_rng(3)
    decoder = rng.normal(size=(DRAWS, options["outputs"], options["dimension"]))
    positions = rng.normal(size=(DRAWS, 2, options["dimension"]))
    run = evolve_repons(system, decoder=decoder, positions=positions)
    law = collision_probability(0.6, 1.0, encoder_scale_of="repon", **options, cluster=weights)
    assert agrees(run, float(law))
    assert run.invariant_drift.max() < DRIFT
    half = 0.5 * (positions[:, 0] - positions[:, 1])
    end = separation_limit(decoder, half, encoder_rate=0.6, decoder_rate=1.0, cluster=weights)
    found = 0.5 * (run.positions[:, 0] - run.positions[:, 1])
    far = np.linalg.norm(end, axis=1) > 0.05  # near the boundary the last steps are too slow to wait for
    np.testing.assert_allclose(found[far], end[far], atol=1e-4)
    np.testing.assert_array_equal(run.merged[:, 0], (np.abs(end) == 0.0).all(axis=1))


def test_a_class_meets_its_law_and_its_predicted_scatter():
    system = ReponSystem(encoder_rate=1.0, decoder_rate=0.4, dimension=2, outputs=3, class_sizes=(4,))
    rng = np.random.default_rng(4)
    decoder, positions = rng.normal(size=(600, 3, 2)), rng.normal(size=(600, 4, 2))
    run = evolve_repons(system, decoder=decoder, positions=positions, tolerance=1e-8, most_steps=2000)
    law = class_collision_probability(1.0, 0.4, class_size=4, dimension=2, outputs=3)
    assert agrees(run, float(law))
    offsets = run.positions - run.positions.mean(axis=1, keepdims=True)
    scatter = np.swapaxes(offsets, 1, 2) @ offsets
    end = class_limit(decoder, positions, encoder_rate=1.0, decoder_rate=0.4)
    rest = run.settled & (np.linalg.eigvalsh(end)[:, -1] > 0.01)
    assert rest.sum() > 150
    np.testing.assert_allclose(scatter[rest], end[rest], atol=2e-3)


@pytest.mark.parametrize(("size", "outputs", "weights"), [(2, 1, 1.0), (2, 1, (1.0, 5.0)), (2, 3, 1.0), (5, 1, 1.0)])
def test_sign_updates_meet_their_law(size, outputs, weights):
    system = ReponSystem(
        encoder_rate=0.8, decoder_rate=1.0, outputs=outputs, class_sizes=(size,), weights=weights, update="sign"
    )
    run = simulate_repons(system, draws=4000, seed=5)
    law = sign_collision_probability(0.8, 1.0, encoder_scale_of="repon", outputs=outputs, class_size=size)
    assert agrees(run, float(law))
    assert run.settled.all()


def test_sign_updates_merge_exactly_the_predicted_draws():
    system = ReponSystem(encoder_rate=0.5, decoder_rate=1.0, update="sign")
    rng = np.random.default_rng(6)
    decoder, positions = rng.normal(size=(3000, 1, 1)), rng.normal(size=(3000, 2, 1))
    run = evolve_repons(system, decoder=decoder, positions=positions)
    lead = np.abs(decoder[:, 0, 0]) - np.abs(positions[:, 0, 0] - positions[:, 1, 0]) / (2 * 0.5)
    clear = np.abs(lead) > 0.02  # a few of the longest steps
    np.testing.assert_array_equal(run.merged[clear, 0], lead[clear] > 0)


def test_the_same_seed_gives_the_same_run_and_scales_cancel():
    first, second = (
        simulate_repons(MANY, draws=20, seed=7),
        simulate_repons(MANY, draws=20, seed=np.random.default_rng(7)),
    )
    np.testing.assert_array_equal(first.positions, second.positions)
    pair = ReponSystem(**EQUAL)
    small = simulate_repons(pair, draws=200, seed=8, encoder_scale=1e-3, decoder_scale=1e-3)
    large = simulate_repons(pair, draws=200, seed=8, encoder_scale=1e3, decoder_scale=1e3)
    np.testing.assert_array_equal(small.merged, large.merged)
    np.testing.assert_allclose(small.positions * 1e6, large.positions, rtol=1e-5, atol=1e-2)


def test_rest_is_left_alone_and_lack_of_steps_is_said():
    pair = ReponSystem(**EQUAL)
    run = evolve_repons(pair, decoder=[[[1.0]], [[0.0]]], positions=[[[2.0], [2.0]], [[1.0], [-1.0]]])
    np.testing.assert_array_equal(run.steps, 0)
    np.testing.assert_array_equal(run.merged[:, 0], [True, False])
    short = simulate_repons(pair, draws=50, seed=9, most_steps=3)
    assert not short.settled.any()
    assert short.message == "50 of 50 draws had not come to rest after 3 steps."


STARTS = {"decoder": np.ones((2, 1, 1)), "positions": np.ones((2, 2, 1))}


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: ReponSystem(0.0, 1.0), "encoder_rate must be positive"),
        (lambda: ReponSystem(1.0, 1.0, dimension=0), "dimension must be a whole number"),
        (lambda: ReponSystem(1.0, 1.0, class_sizes=()), "class_sizes must list the repons of each class"),
        (lambda: ReponSystem(1.0, 1.0, class_sizes=3), "class_sizes must list"),
        (lambda: ReponSystem(1.0, 1.0, class_sizes=(2, 0)), "class_sizes must be a whole number, at least 1"),
        (lambda: ReponSystem(1.0, 1.0, targets=[1.0, 2.0]), "targets must have shape (1, 1)"),
        (lambda: ReponSystem(1.0, 1.0, targets=np.inf), "targets must be finite"),
        (lambda: ReponSystem(1.0, 1.0, weights=[1.0, 2.0, 3.0]), "weights must have shape (2,)"),
        (lambda: ReponSystem(1.0, 1.0, weights=0.0), "weights must be positive"),
        (lambda: ReponSystem(1.0, 1.0, bias="fast"), "bias must be one of instant, trained, none"),
        (lambda: ReponSystem(1.0, 1.0, bias_rate=1.0), "bias_rate needs bias 'trained'"),
        (lambda: ReponSystem(1.0, 1.0, bias="trained", bias_rate=0.0), "bias_rate must be positive"),
        (lambda: ReponSystem(1.0, 1.0, update="adam"), "update must be one of flow, sign"),
        (lambda: simulate_repons(ReponSystem(**EQUAL), draws=0), "draws must be a whole number, at least 1"),
        (lambda: simulate_repons(ReponSystem(**EQUAL), draws=5, seed=-1), "seed must be a whole number"),
        (lambda: simulate_repons(ReponSystem(**EQUAL), draws=5, encoder_scale=0.0), "encoder_scale must be positive"),
        (
            lambda: evolve_repons(ReponSystem(**EQUAL), **STARTS | {"decoder": STARTS["positions"]}),
            "decoder must have shape (draws, 1, 1)",
        ),
        (
            lambda: evolve_repons(ReponSystem(**EQUAL), **STARTS | {"decoder": np.ones((1, 1, 1))}),
            "same number of draws; got 1 and 2",
        ),
        (lambda: evolve_repons(ReponSystem(**EQUAL), **STARTS, bias=[1.0, 2.0]), "bias must broadcast to shape (2, 1)"),
        (
            lambda: evolve_repons(ReponSystem(**EQUAL), **STARTS | {"decoder": np.full((2, 1, 1), np.inf)}),
            "must be finite",
        ),
        (lambda: evolve_repons(ReponSystem(**EQUAL), **STARTS, tolerance=1.0), "tolerance must lie in"),
        (lambda: evolve_repons(ReponSystem(**EQUAL), **STARTS, most_steps=0), "most_steps must be a whole number"),
    ],
)
def test_wrong_input_is_refused(call, complaint):
    with pytest.raises(InputError) as caught:
        call()
    assert complaint in str(caught.value)
