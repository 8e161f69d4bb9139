"""ReLU networks: the gradient by hand, the paper's claims, and both tests against the exact theory."""

import numpy as np
import pytest
import torch

from genlaws.core.errors import InputError
from genlaws.ensembles import Checkpoint, Differentiated, streams
from genlaws.ensembles.architecture import Workspace
from genlaws.semanticity import measure
from genlaws.semanticity.networks.relu import (
    SIMILARITY_FLOOR,
    ProfileMeans,
    ReluNetwork,
    StackedTests,
    draw_relu_trials,
    train_relu_networks,
    untied_triples,
)
from genlaws.semanticity.networks.relu_runs import linear_front
from genlaws.semanticity.theory.finite_sets import sort_others, stimulus_distances, tuple_probabilities
from genlaws.semanticity.theory.similarity import similarity
from genlaws.semanticity.theory.stimulus_sets import stimulus_set

ROUNDING = 1e-12  # double precision, sums of some thousand terms
EXACT = 1e-9  # the quadrature behind the exact probabilities
LEARNED = 1e-4  # single precision after a hundred steps of Adam
STACKED = 1e-5  # single precision: a stack of another size sums in another order
WEIGHTS = {"similarity": (0.1, 0.0), "reconstruction": (0.0, 1.0), "both": (0.1, 1.0)}
SMALL = {"stimulus_count": 12, "hidden": 5, "steps": 40, "batch_size": 32, "log_every": 20}


def random_metric(count, seed=0):
    """Distances between places on a coarse grid, so that many are equal."""
    places = np.random.default_rng(seed).integers(0, 4, (count, 2))
    return np.abs(places[:, None] - places).sum(-1) + 1.0 - np.eye(count)


SETS = {
    "circle": stimulus_distances("circle", 11),
    "segment": stimulus_distances("segment", 9),
    "ties": random_metric(14),
}


def brute_force(g, d):
    """Return both tests by loops over triples and pairs; every probe with an untied triple counts alike."""
    chosen, named = [], []
    for p in range(len(d)):
        others = [i for i in range(len(d)) if i != p]
        pairs = [(i, j) for i in others for j in others if d[p, i] < d[p, j]]
        if pairs:
            chosen.append(np.mean([g[p, i] / (g[p, i] + g[p, j]) for i, j in pairs]))
        named += [g[p, p] / (g[p, p] + g[p, i]) for i in others]
    return np.mean(chosen), np.mean(named)


@pytest.mark.parametrize("name", SETS)
def test_stacked_tests_are_those_of_every_triple(name):
    d = SETS[name]
    g = np.random.default_rng(1).random((5, len(d), len(d))) + 0.01
    found = [part.numpy() for part in StackedTests(d)(torch.from_numpy(g))]
    np.testing.assert_allclose(found, np.transpose([brute_force(one, d) for one in g]), rtol=0, atol=ROUNDING)
    for place, one in enumerate(g):
        exact = tuple_probabilities(sort_others(one, d, np.diagonal(one).copy()), (2,), "drop")
        np.testing.assert_allclose(found[0][place], np.nanmean(exact[0]), rtol=0, atol=EXACT)
        np.testing.assert_allclose(found[1][place], exact[1].mean(), rtol=0, atol=EXACT)


def test_stacked_tests_do_not_depend_on_how_many_triples_are_held_at_once(monkeypatch):
    d, g = SETS["circle"], torch.rand(7, 11, 11, dtype=torch.float64) + 0.1
    together = StackedTests(d)(g)
    monkeypatch.setattr("genlaws.semanticity.networks.relu.TRIPLES_AT_ONCE", 1)
    for one, other in zip(StackedTests(d)(g), together, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("resolution", [0.13, 0.31, 0.45])
def test_stacked_tests_agree_with_the_theory_of_finite_sets_and_with_measure(resolution):
    d, linear = stimulus_distances("circle", 15), similarity("linear", resolution)
    g = linear(d) + SIMILARITY_FLOOR
    found = [float(part) for part in StackedTests(d)(torch.from_numpy(g[None]))]
    theory = stimulus_set(d).probabilities(linear, (2,), "drop")
    np.testing.assert_allclose(found, np.ravel(theory), rtol=0, atol=1e-8)  # the floor
    measured = measure(g, distances=d, similarity="precomputed", ties="drop", intervals=False, fronts=False)
    np.testing.assert_allclose(found[0], measured.generalization.value, rtol=0, atol=EXACT)
    np.testing.assert_allclose(found[1], measured.identification.value, rtol=0, atol=EXACT)


def test_stimuli_without_an_answer_are_refused():
    with pytest.raises(InputError, match="all triples are tied"):
        StackedTests(1.0 - np.eye(4))


def test_untied_triples_are_all_of_them():
    for d in SETS.values():
        probe, near, far = untied_triples(d)
        assert (d[probe, near] < d[probe, far]).all()
        assert len({*zip(probe, near, far, strict=True)}) == len(probe)
        assert not ((probe == near) | (probe == far)).any()


def test_profile_is_the_mean_at_each_distance():
    d = SETS["segment"]
    g = np.random.default_rng(2).random((3, 9, 9))
    means = ProfileMeans(d)
    np.testing.assert_allclose(means.distance, np.arange(9) / 8, rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(means.count, [9, *range(16, 0, -2)])
    found = means(torch.from_numpy(g).float()).numpy()
    for place, apart in enumerate(means.distance):
        expected = g[:, np.isclose(d, apart)].mean(axis=1)
        np.testing.assert_allclose(found[:, place], expected, rtol=1e-5)


def test_profile_of_many_distances_puts_neighbors_together():
    places = np.random.default_rng(3).random((40, 3))
    d = np.linalg.norm(places[:, None] - places, axis=-1)
    means = ProfileMeans(d)
    assert len(means.distance) == 200
    assert means.count.sum() == 1600
    assert means.distance[0] == 0
    assert means.count[0] == 40
    assert (np.diff(means.distance) > 0).all()
    assert means.count[1:].max() <= 12
    np.testing.assert_allclose(means(torch.from_numpy(d[None]).float())[0].numpy(), means.distance, atol=1e-6)


def trials(count, items, networks, rows=24, stimuli="circle"):
    d = torch.from_numpy(stimulus_distances(stimuli, count))
    keys = streams.keys_of(list(range(networks)), purpose=1)
    drawn = draw_relu_trials(d, items, rows, keys, torch.tensor([5]))
    return {name: one[0] for name, one in drawn.items()}


def plain_losses(network, values, batch):
    """Return the losses as the formula has them, for autograd."""
    z = torch.relu(values["weights"].transpose(1, 2) @ values["weights"])
    losses = torch.zeros(len(z), dtype=z.dtype)
    if network.similarity_weight:
        at = torch.arange(len(z))[:, None, None]
        g = z[at, batch["items"], batch["probe"][..., None]] + SIMILARITY_FLOOR
        chosen = g.gather(2, batch["right"][..., None])[..., 0] / g.sum(2)
        weight = batch["weight"].to(z.dtype)
        losses = losses - network.similarity_weight * (weight * chosen.log()).sum(1) / weight.sum(1)
    if network.reconstruction_weight:
        error = z - torch.eye(network.stimuli, dtype=z.dtype)
        losses = losses + network.reconstruction_weight * error.square().mean((1, 2))
    return losses


@pytest.mark.parametrize("goal", WEIGHTS)
@pytest.mark.parametrize("items", [2, 3, 4])
def test_gradient_by_hand_is_that_of_autograd(goal, items):
    network = ReluNetwork(10, 4, *WEIGHTS[goal])
    rows = torch.from_numpy(np.random.default_rng(items).normal(size=(6, network.layout.size)))
    values, batch = network.layout.views(rows), trials(10, items, 6)
    assert (batch["weight"] == 0).any()
    by_hand, by_torch = (network.layout.views(torch.full_like(rows, torch.nan)) for _ in range(2))
    found = network.loss_and_gradient(values, batch, by_hand, Workspace())
    plain = Differentiated(network.layout, lambda values, batch: plain_losses(network, values, batch))
    expected = plain.loss_and_gradient(values, batch, by_torch, Workspace())
    torch.testing.assert_close(found, expected, rtol=ROUNDING, atol=ROUNDING)
    # Next to the floor a similarity is one part in 1e10 of the others, and so is the rounding of its derivative.
    torch.testing.assert_close(by_hand["weights"], by_torch["weights"], rtol=1e-8, atol=ROUNDING)
    assert by_torch["weights"].abs().max() > 0


def test_training_is_that_of_torch_s_own_adam():
    runs = train_relu_networks(**SMALL, seeds=[4], goal="both")
    network = ReluNetwork(12, 5, *WEIGHTS["both"])
    start = network.layout.start([4]).double()
    assert (start >= 0).all()
    assert (start <= 2).all()
    assert start.std() > 0.4
    weights = torch.nn.Parameter(network.layout.views(start)["weights"].clone())
    adam = torch.optim.Adam([weights], lr=7e-3)
    d, keys = torch.from_numpy(stimulus_distances("circle", 12)), streams.keys_of([4], purpose=1)
    for step in range(40):
        batch = {name: one[0] for name, one in draw_relu_trials(d, 2, 32, keys, torch.tensor([step])).items()}
        adam.zero_grad()
        plain_losses(network, {"weights": weights}, batch).sum().backward()
        adam.step()
    expected = torch.relu(weights.transpose(1, 2) @ weights).detach().numpy() + SIMILARITY_FLOOR
    np.testing.assert_allclose(runs.similarity, expected, rtol=LEARNED)


def test_network_does_not_depend_on_its_neighbors():
    many = train_relu_networks(**SMALL, seeds=range(4))
    for place in (0, 3):
        alone = train_relu_networks(**SMALL, seeds=[place])
        np.testing.assert_allclose(alone.generalization[0], many.generalization[place], rtol=0, atol=STACKED)
        np.testing.assert_allclose(alone.similarity[0], many.similarity[place], rtol=LEARNED)


@pytest.mark.parametrize("items", [2, 3])
def test_trials_are_uniform_and_their_answer_is_the_nearest(items):
    count, rows = 10, 20_000
    d = stimulus_distances("segment", count)
    keys = streams.keys_of([0], purpose=1)
    drawn = draw_relu_trials(torch.from_numpy(d), items, rows, keys, torch.tensor([0, 1]))
    assert drawn["items"].shape == (2, 1, rows, items)
    chosen, probe, right = (drawn[name][0, 0].numpy() for name in ("items", "probe", "right"))
    apart = d[probe[:, None], chosen]
    np.testing.assert_array_equal(apart[np.arange(rows), right], apart.min(axis=1))
    tied = (np.sort(apart, axis=1)[:, 0] == np.sort(apart, axis=1)[:, 1]).astype(float)
    np.testing.assert_array_equal(drawn["weight"][0, 0].numpy(), 1.0 - tied)
    for part in (probe, chosen):
        share = np.bincount(part.ravel(), minlength=count) / part.size
        assert np.abs(share - 0.1).max() < 4.5 * np.sqrt(0.09 / part.size)  # standard errors
    assert not torch.equal(drawn["items"][0], drawn["items"][1])


def test_measured_tests_are_those_of_the_similarity_in_the_end():
    runs = train_relu_networks("segment", **SMALL, seeds=[0, 1])
    assert runs.steps.tolist() == [0, 20, 40]
    for place in range(2):
        expected = brute_force(runs.similarity[place], runs.distances)
        found = runs.generalization[place, -1], runs.identification[place, -1]
        np.testing.assert_allclose(found, expected, rtol=0, atol=STACKED)
    assert runs.device == "cpu"
    assert runs.dtype == "float32"


def test_distances_of_a_circle_give_the_circle():
    angle = 2.0 * np.pi * np.arange(12) / 12
    arc = np.abs(np.angle(np.exp(1j * (angle[:, None] - angle))))
    assert len(np.unique(arc)) > 7  # rounding alone keeps some apart
    given = train_relu_networks(0.5 * (arc + arc.T), **SMALL, seeds=[2])
    named = train_relu_networks("circle", **SMALL, seeds=[2])
    np.testing.assert_array_equal(given.generalization, named.generalization)
    np.testing.assert_array_equal(given.similarity, named.similarity)
    np.testing.assert_allclose(given.profile_distance, 2.0 * np.pi * named.profile_distance, rtol=1e-9)


def test_a_rate_for_each_network():
    both = train_relu_networks(**SMALL, seeds=[1, 1], learning_rate=[7e-3, 1e-3], initial_scale=[1.0, 0.5])
    plain = train_relu_networks(**SMALL, seeds=[1])
    slow = train_relu_networks(**SMALL, seeds=[1], learning_rate=1e-3, initial_scale=0.5)
    np.testing.assert_allclose(both.similarity[0], plain.similarity[0], rtol=LEARNED)
    np.testing.assert_allclose(both.similarity[1], slow.similarity[0], rtol=LEARNED)
    assert np.abs(plain.similarity - slow.similarity).max() > 0.1


def test_a_training_goes_on_from_its_checkpoint_bit_for_bit(tmp_path, monkeypatch):
    file = Checkpoint(tmp_path / "half.npz", every=15)
    unbroken = train_relu_networks(**SMALL, seeds=[0, 1])
    original, calls = StackedTests.__call__, []

    def interrupted(self, g):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, g)

    monkeypatch.setattr(StackedTests, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_relu_networks(**SMALL, seeds=[0, 1], checkpoint=file)
    assert file.path.exists()
    resumed = train_relu_networks(**SMALL, seeds=[0, 1], checkpoint=file)
    assert len(calls) == 4  # only the last log was missing
    for name in ("generalization", "identification", "profile", "similarity"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(unbroken, name))
    assert not file.path.exists()


@pytest.fixture(scope="module")
def paper():
    """The paper's setting in full: ten seeds, 7,500 steps."""
    return {
        "circle": train_relu_networks(log_every=50),
        "segment": train_relu_networks("segment", log_every=50),
        "reconstruction": train_relu_networks(goal="reconstruction", log_every=150),
    }


def test_circle_climbs_to_the_front_and_slides_along_it(paper):
    runs = paper["circle"]
    assert np.abs(runs.generalization[:, 0] - 0.5).max() < 0.01
    assert runs.generalization.max(axis=1).min() >= 0.79
    peak = runs.generalization.argmax(axis=1)
    rows = np.arange(10)
    gap = runs.identification[rows, peak] - runs.generalization[rows, peak]
    assert abs(gap.mean()) < 0.01  # over seeds: a single peak is flat and may lie a little aside
    apart, after = np.abs(runs.distance_to(linear_front())), runs.after_reaching(0.79)
    assert apart[after].mean() <= 0.015
    assert apart[after].max() <= 0.03
    late = runs.identification[:, runs.steps >= 1000]
    assert (late[:, -1] - late[:, 0] > 0.04).all()


def test_start_does_not_guess_in_identification(paper):
    """The paper's picture starts near (.5, .5); weights uniform on [0, 2] start at an identification of .57."""
    first = paper["circle"].identification[:, 0]
    assert first.min() > 0.56
    assert first.max() < 0.58


def test_segment_lies_below_the_circle_for_every_seed(paper):
    assert (paper["segment"].generalization.max(axis=1) < paper["circle"].generalization.max(axis=1)).all()


def test_reconstruction_identifies_and_does_not_generalize(paper):
    runs = paper["reconstruction"]
    assert ((runs.identification[:, -1] >= 0.89) & (runs.identification[:, -1] <= 0.93)).all()
    assert np.abs(runs.generalization[:, -1] - 0.5).max() < 0.03


def test_resolution_is_learned_and_ends_in_a_cut(paper):
    for runs in (paper["circle"], paper["segment"]):
        resolution, cut = runs.resolution(), runs.cut()
        at = [int(np.argmin(np.abs(runs.steps - step))) for step in (600, 1500, 3000, 7500)]
        assert (np.diff(resolution[:, at], axis=1) < 0).all()
        assert np.isfinite(cut[:, at]).all()
        assert (cut[:, -1] < 0.25).all()
        assert (np.abs(cut[:, -1] - resolution[:, -1]) < 0.06).all()


def test_claims_hold_at_a_smaller_size():
    few = {"stimulus_count": 20, "seeds": range(4), "steps": 1000, "log_every": 50}
    circle, segment = train_relu_networks(**few), train_relu_networks("segment", **few)
    both = train_relu_networks(**few, goal="both")
    assert circle.generalization.max(axis=1).min() > 0.79
    assert segment.generalization.max(axis=1).mean() < circle.generalization.max(axis=1).mean()
    assert both.identification[:, -1].min() > 0.8
    assert both.generalization.max(axis=1).max() < circle.generalization.max(axis=1).min()


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"stimuli": "torus"}, "stimuli must be numbers or 'circle' or 'segment'"),
        ({"stimuli": [[0.0, 1.0], [1.0, 0.0]]}, "stimuli must be at least three"),
        ({"stimuli": np.zeros((4, 4))}, "stimuli must be at least three"),
        ({"stimuli": np.ones((4, 4))}, "distances must be zero on the diagonal"),
        ({"stimuli": 1.0 - np.eye(4)}, "all triples are tied"),
        ({"goal": "generalize"}, "goal must be one of"),
        ({"stimulus_count": 2}, "stimulus_count must be"),
        ({"hidden": 0}, "hidden must be"),
        ({"item_count": 1}, "item_count must be"),
        ({"item_count": 12}, "item_count must be"),
        ({"seeds": []}, "seeds must be"),
        ({"seeds": [0.5]}, "seeds must be"),
        ({"seeds": "12"}, "seeds must be"),
        ({"steps": 0}, "steps must be"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"learning_rate": [1e-3, 1e-3, 1e-3]}, "learning_rate must be one number or 2"),
        ({"initial_scale": -1.0}, "initial_scale must be zero or positive"),
        ({"similarity_weight": -0.1}, "similarity_weight must be"),
        ({"reconstruction_weight": np.inf}, "reconstruction_weight must be"),
        ({"reconstruction_weight": [1.0, 2.0]}, "reconstruction_weight must be a number"),
        ({"log_every": 0}, "log_every must be"),
        ({"device": "abacus"}, "device must be"),
        ({"path": "fused"}, "path must be one of"),
        ({"path": "graph"}, "needs a graphics card"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(wrong, complaint):
    with pytest.raises(InputError, match=complaint):
        train_relu_networks(**{**SMALL, "seeds": [0, 1], **wrong})
