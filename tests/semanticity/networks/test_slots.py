"""Slot networks: the gradient by hand, the stack against single networks, and both tests against the exact theory."""

import numpy as np
import pytest
import torch

from genlaws.core.errors import InputError
from genlaws.ensembles import Checkpoint, Differentiated, streams
from genlaws.ensembles.architecture import Workspace
from genlaws.semanticity.measurement.pairs import pair_generalization
from genlaws.semanticity.measurement.tests import identification_of_two
from genlaws.semanticity.networks.rings import distance_of_steps, draw_stimuli, steps_apart
from genlaws.semanticity.networks.slots import SIMILARITY_FLOOR, draw_triples, feature_network, train_slot_networks
from genlaws.semanticity.theory.finite_sets import sort_others

ROUNDING = 1e-12  # double precision, sums of a few hundred terms
CUT = 1e-8  # relative: next to the floor a similarity is one part in 1e10 of the others
SINGLE = 2e-6  # single precision, sums of a few hundred terms
LEARNED = 1e-9  # thirty steps of Adam in double precision
KINDS = [("slots", "max"), ("slots", "mean"), ("slots", "product"), ("shared", "max")]
SMALL = {"slots": 3, "ring_size": 5, "width": 4, "steps": 30, "batch_size": 16, "stimulus_count": 20}


def signed_values(network, count):
    """Vectors of both signs, so that some dot products are cut off."""
    rows = torch.from_numpy(np.random.default_rng(0).normal(size=(count, network.layout.size)))
    return network.layout.views(rows)


def batch_of(slots, ring_size, seeds, step=3, rows=16, truth="mean"):
    keys = streams.keys_of(list(seeds), purpose=1)
    drawn = draw_triples(slots, ring_size, truth, rows)(keys, torch.tensor([step]))
    return {name: one[0] for name, one in drawn.items()}


def empty_gradient(network, count):
    return network.layout.views(torch.full((count, network.layout.size), torch.nan, dtype=torch.float64))


def plain_log_similarity(kind, combine, maps, first, second):
    """Compare two batches of one network, (rows, slots), by one-hot vectors and loops."""
    slots, size, _ = maps.shape
    ones = [torch.nn.functional.one_hot(part, size).to(maps.dtype) for part in (first, second)]
    if kind == "shared":
        w = maps.reshape(slots * size, -1).T
        one, other = (part.flatten(1) @ w.T for part in ones)
        return (torch.relu((one * other).sum(1)) + SIMILARITY_FLOOR).log()
    by_slot = []
    for s in range(slots):
        one, other = (part[:, s] @ maps[s] for part in ones)
        by_slot.append(torch.relu((one * other).sum(1)) + SIMILARITY_FLOOR)
    g = torch.stack(by_slot)
    return {"max": g.amax(0), "mean": g.mean(0), "product": g.prod(0)}[combine].log()


def plain_loss(kind, combine, maps, batch):
    """Return the mean over the triples that count of -log P(nearer), for one network."""
    nearer, farther = (
        plain_log_similarity(kind, combine, maps, batch["probe"], batch[name]) for name in ("nearer", "farther")
    )
    losses = -torch.log_softmax(torch.stack([nearer, farther]), 0)[0]
    return losses[batch["weight"] > 0].mean()


@pytest.mark.parametrize(("kind", "combine"), KINDS)
def test_gradient_by_hand_is_that_of_torch(kind, combine):
    network = feature_network(kind, 3, 5, 4, combine)
    values, batch = signed_values(network, 6), batch_of(3, 5, range(6))
    by_hand, by_torch = empty_gradient(network, 6), empty_gradient(network, 6)
    found = network.loss_and_gradient(values, batch, by_hand, Workspace())
    expected = Differentiated(network.layout, network.losses).loss_and_gradient(values, batch, by_torch, Workspace())
    torch.testing.assert_close(found, expected, rtol=ROUNDING, atol=ROUNDING)
    scale = by_torch["maps"].abs().max()
    assert ((by_hand["maps"] - by_torch["maps"]).abs().max() < ROUNDING * scale).item()
    assert scale > 0


@pytest.mark.parametrize(("kind", "combine"), KINDS)
def test_stack_learns_what_torch_s_own_optimizer_learns_with_each_network(kind, combine):
    seeds = [3, 8]
    runs = train_slot_networks(kind=kind, combine=combine, seeds=seeds, dtype="float64", **SMALL)
    network = feature_network(kind, 3, 5, 4, combine)
    start = network.layout.views(network.layout.start(seeds))["maps"]
    assert (start >= 0).all()
    assert (start <= 2).all()
    for place, seed in enumerate(seeds):
        maps = torch.nn.Parameter(start[place].clone())
        adam = torch.optim.Adam([maps], lr=7e-3)
        for step in range(30):
            batch = {name: one[0] for name, one in batch_of(3, 5, [seed], step).items()}
            adam.zero_grad()
            plain_loss(kind, combine, maps, batch).backward()
            adam.step()
        np.testing.assert_allclose(runs.maps[place], maps.detach().numpy(), rtol=0, atol=LEARNED)


def test_network_does_not_depend_on_its_neighbors():
    many = train_slot_networks(seeds=range(4), dtype="float64", **SMALL)
    for place in (0, 3):
        alone = train_slot_networks(seeds=[place], dtype="float64", **SMALL)
        np.testing.assert_allclose(alone.maps[0], many.maps[place], rtol=0, atol=LEARNED)
        for name in ("generalization", "identification", "above_circle", "above_set"):
            np.testing.assert_allclose(getattr(alone, name)[0], getattr(many, name)[place], rtol=0, atol=LEARNED)


def test_one_slot_is_the_relu_network_however_it_is_combined():
    one = {**SMALL, "slots": 1, "ring_size": 12, "dtype": "float64", "seeds": [5]}
    plain = train_slot_networks(kind="shared", **one)
    for combine in ("max", "mean", "product"):
        slot = train_slot_networks(kind="slots", combine=combine, **one)
        np.testing.assert_allclose(slot.maps, plain.maps, rtol=0, atol=LEARNED)
    w = torch.from_numpy(plain.maps[0, 0]).T
    hidden = (w @ torch.eye(12, dtype=torch.float64)).T
    expected = torch.relu(hidden @ hidden.T) + SIMILARITY_FLOOR
    network = feature_network("slots", 1, 12, 4, "max")
    stimuli = torch.arange(12)[None, :, None]
    found = network.all_log_similarities(torch.from_numpy(plain.maps), stimuli).exp()[0]
    torch.testing.assert_close(found, expected, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("kind", ["slots", "shared"])
def test_reconstruction_is_added_to_the_loss(kind):
    network = feature_network(kind, 2, 4, 3, "max")
    values, batch = signed_values(network, 2), batch_of(2, 4, range(2))
    added = network.losses(values, batch, 1.0) - network.losses(values, batch, 0.0)
    for place in range(2):
        maps, probe = values["maps"][place], batch["probe"][place]
        target = torch.nn.functional.one_hot(probe, 4).to(torch.float64)
        if kind == "shared":
            w = maps.reshape(8, 3).T
            out = torch.relu(target.flatten(1) @ w.T @ w).view(-1, 2, 4)
        else:
            out = torch.stack([torch.relu(target[:, s] @ maps[s] @ maps[s].T) for s in range(2)], 1)
        assert added[place].item() == pytest.approx(((out - target) ** 2).mean().item(), rel=ROUNDING)
    runs = train_slot_networks(kind=kind, seeds=[0], **{**SMALL, "steps": 150}, reconstruction_weight=1e3)
    maps = torch.from_numpy(runs.maps)
    first = network_error(kind, train_slot_networks(kind=kind, seeds=[0], **{**SMALL, "steps": 0}).maps)
    assert network_error(kind, maps.numpy()) < 0.2 * first


def network_error(kind, maps):
    """Mean squared error of the reconstruction of all stimuli."""
    slots, size = maps.shape[1:3]
    network = feature_network(kind, slots, size, maps.shape[3], "max")
    stimuli = torch.from_numpy(draw_stimuli(slots, size, size**slots, 0))[None]
    target = torch.nn.functional.one_hot(stimuli, size)
    return float((network.reconstruction(torch.from_numpy(maps), stimuli) - target).square().mean())


@pytest.mark.parametrize(("kind", "combine"), KINDS)
@pytest.mark.parametrize(("truth", "slots"), [("mean", 3), ("min", 3), ("mean", 2)])
def test_both_tests_are_exact_over_all_triples(kind, combine, truth, slots):
    chosen = {**SMALL, "slots": slots, "stimulus_count": 25}
    runs = train_slot_networks(kind=kind, combine=combine, truth=truth, seeds=[1, 2], dtype="float64", **chosen)
    network = feature_network(kind, slots, 5, 4, combine)
    for place, seed in enumerate([1, 2]):
        stimuli = draw_stimuli(slots, 5, 25, seed)
        maps, index = torch.from_numpy(runs.maps[place : place + 1]), torch.from_numpy(stimuli)[None]
        g = network.all_log_similarities(maps, index).exp()[0].numpy()
        rows = torch.from_numpy(np.repeat(stimuli, 25, axis=0)), torch.from_numpy(np.tile(stimuli, (25, 1)))
        plain = plain_log_similarity(kind, combine, maps[0], *rows).exp().numpy().reshape(25, 25)
        np.testing.assert_allclose(g, plain, rtol=CUT)
        distance = steps_apart(stimuli[:, None], stimuli[None], 5, truth).astype(float)
        others = sort_others(g, distance, np.diagonal(g).copy())
        nearer = pair_generalization(others, "drop")
        assert runs.generalization[place, -1] == pytest.approx(np.nanmean(nearer), abs=1e-10)
        assert runs.identification[place, -1] == pytest.approx(identification_of_two(others).mean(), abs=1e-10)


def test_single_precision_measures_the_same():
    single, double = (train_slot_networks(seeds=[1], **{**SMALL, "steps": 0}, dtype=f"float{n}") for n in (32, 64))
    assert single.dtype == "float32"
    np.testing.assert_allclose(single.generalization, double.generalization, rtol=0, atol=SINGLE)
    np.testing.assert_allclose(single.identification, double.identification, rtol=0, atol=SINGLE)


@pytest.mark.parametrize("truth", ["mean", "min"])
def test_triples_are_what_they_are_called(truth):
    drawn = draw_triples(3, 5, truth, 500)(streams.keys_of([4, 5], purpose=1), torch.arange(8))
    probe, nearer, farther = (drawn[name].numpy() for name in ("probe", "nearer", "farther"))
    to_nearer, to_farther = steps_apart(probe, nearer, 5, truth), steps_apart(probe, farther, 5, truth)
    assert (to_nearer <= to_farther).all()
    copies = (probe == nearer).all(-1) | (probe == farther).all(-1)
    np.testing.assert_array_equal(drawn["weight"].numpy() > 0, (to_nearer < to_farther) & ~copies)
    assert copies.any()
    assert 0 < drawn["weight"].mean() < 1


@pytest.mark.parametrize(("slots", "ring_size"), [(3, 5), (9, 50), (2, 1000)])
def test_every_value_is_as_likely_in_every_slot(slots, ring_size):
    drawn = draw_triples(slots, ring_size, "mean", 4000)(streams.keys_of([1], purpose=1), torch.arange(10))
    probe = drawn["probe"].reshape(-1, slots).numpy()
    expected = len(probe) / ring_size
    for s in range(slots):
        counts = np.bincount(probe[:, s], minlength=ring_size)
        assert counts.size == ring_size
        surplus = ((counts - expected) ** 2 / expected).sum() - (ring_size - 1)
        assert abs(surplus) < 5 * np.sqrt(2 * (ring_size - 1))
    if slots > 1:
        # Features of one stimulus come from one random number and must not go together.
        assert abs(np.corrcoef(probe[:, 0], probe[:, 1])[0, 1]) < 5 / np.sqrt(len(probe))


def test_one_ring_of_fifty_climbs_to_the_front_and_slides_along_it():
    runs = train_slot_networks(slots=1, ring_size=50, seeds=range(3), steps=1500, log_at=[0, 500, 1500])
    assert runs.stimulus_count == 50
    np.testing.assert_allclose(runs.generalization[:, 0], 0.5, atol=0.01)
    assert (runs.generalization[:, 1] > 0.79).all()
    # The front of the linear similarity on the circle, as the paper finds; a run stays within about 0.01 of it.
    assert (np.abs(runs.above_circle[:, 1:]) < 0.015).all()
    assert (runs.identification[:, 2] > runs.identification[:, 1]).all()
    assert (runs.generalization[:, 2] < runs.generalization[:, 1]).all()


def test_products_of_slots_leave_the_front_of_one_space_and_their_largest_does_not():
    chosen = {"slots": 3, "ring_size": 8, "steps": 600, "seeds": range(4), "stimulus_count": 80}
    product, largest = (train_slot_networks(combine=combine, **chosen) for combine in ("product", "max"))
    assert product.mean("above_set").low > 0.1
    assert largest.mean("largest_excess").high < 0.0


def test_an_interrupted_training_goes_on_where_it_was(tmp_path):
    whole = train_slot_networks(seeds=[1, 2], **SMALL)
    file = tmp_path / "half.npz"
    stopped = {**SMALL, "steps": 30}

    class StopError(Exception):
        pass

    class Stopping(Checkpoint):
        def remove(self):
            raise StopError

    with pytest.raises(StopError):
        train_slot_networks(seeds=[1, 2], checkpoint=Stopping(file, 20), **stopped)
    assert file.exists()
    again = train_slot_networks(seeds=[1, 2], checkpoint=Checkpoint(file, 20), **stopped)
    assert again.maps.tolist() == whole.maps.tolist()
    assert again.generalization.tolist() == whole.generalization.tolist()
    assert not file.exists()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("kind", "combine"), KINDS)
def test_graphics_card_learns_the_same_and_repeats_itself(kind, combine):
    chosen = {**SMALL, "kind": kind, "combine": combine, "seeds": [1, 2], "dtype": "float64"}
    here = train_slot_networks(**chosen)
    there, again = (train_slot_networks(**chosen, device="cuda") for _ in "ab")
    np.testing.assert_allclose(there.maps, here.maps, rtol=0, atol=LEARNED)
    np.testing.assert_allclose(there.generalization, here.generalization, rtol=0, atol=LEARNED)
    assert there.maps.tolist() == again.maps.tolist()


def test_runs_as_a_table_and_as_means():
    runs = train_slot_networks(seeds=[1, 2, 3], log_at=[0, 10, 30], **SMALL)
    table = runs.to_frame()
    assert len(table) == 9
    assert table[table["seed"] == 2]["generalization"].tolist() == runs.generalization[1].tolist()
    assert set(table["kind"]) == {"slots"}
    last = runs.mean("generalization")
    assert last.value == pytest.approx(runs.generalization[:, -1].mean())
    assert last.low < last.value < last.high
    assert runs.peak_generalization.tolist() == runs.generalization.max(axis=1).tolist()
    assert runs.largest_excess.tolist() == runs.above_set.max(axis=1).tolist()
    best = runs.generalization.argmax(axis=1)
    assert runs.excess_at_peak.tolist() == runs.above_set[range(3), best].tolist()
    assert not runs.failed.any()
    assert distance_of_steps(5, 2, 10) == 0.25
    assert train_slot_networks(seeds=[1], **{**SMALL, "steps": 500}).steps[[0, -1]].tolist() == [0, 500]


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"slots": 0}, "slots must be"),
        ({"ring_size": 2}, "ring_size must be"),
        ({"kind": "both"}, "kind must be one of slots, shared"),
        ({"combine": "sum"}, "combine must be one of"),
        ({"truth": "max"}, "truth must be one of mean, min"),
        ({"width": 2.5}, "width must be"),
        ({"seeds": []}, "seeds must be"),
        ({"seeds": 3}, "seeds must be"),
        ({"seeds": [-1]}, "seeds must be"),
        ({"steps": -1}, "steps must be"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"learning_rate": [0.1, 0.2]}, "learning_rate must be a number"),
        ({"reconstruction_weight": -1.0}, "reconstruction_weight must be"),
        ({"log_at": [31]}, "log_at must be"),
        ({"log_at": []}, "log_at must be"),
        ({"slots": 1, "ring_size": 3}, "All items are equally far"),
        ({"stimulus_count": 2}, "stimulus_count must be"),
        ({"device": "abacus"}, "device must be"),
        ({"device": "meta"}, "device must be"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"path": "quick"}, "path must be one of"),
        ({"path": "graph"}, "path must be auto or eager"),
    ],
)
def test_wrong_arguments_are_named(wrong, complaint):
    with pytest.raises(InputError, match=complaint):
        train_slot_networks(**{**SMALL, "seeds": [0], **wrong})
