"""Which examples a network sees at each step, and that this is its own affair."""

from itertools import chain

import pytest
import torch

from genlaws.ensembles import FreshDraws, Minibatches, WholeSet, streams
from genlaws.ensembles.batches import MAX_STEP, STEPS_PER_BLOCK

NETWORKS, ROWS = 5, 17
SEEDS = [3, 1, 4, 15, 9]


def examples(*, shared=False, weight=None):
    """Return examples whose input names network and row."""
    number = torch.arange(NETWORKS * ROWS, dtype=torch.float64).view(NETWORKS, ROWS, 1)
    found = {"input": number[:1] if shared else number, "row": torch.arange(ROWS).expand(1, ROWS)}
    return found if weight is None else {**found, "weight": weight}


def uneven():
    """Return weights that leave each network another number of rows."""
    weight = torch.ones(NETWORKS, ROWS, dtype=torch.float64)
    for place, count in enumerate((17, 16, 8, 3, 1)):
        weight[place, torch.randperm(ROWS, generator=torch.Generator().manual_seed(place))[count:]] = 0.0
    return weight


def batch_at(batches, step):
    batches.prepare(step)
    return batches.at(torch.tensor(step))


def all_batches(batches, steps):
    """Return the batches of the first steps as training requests them."""
    found, ready = [], 0
    for step in range(steps):
        if step == ready:
            ready = batches.prepare(step)
            assert ready > step
        found.append(batches.at(torch.tensor(step)))
    return found


def seen_rows(batch, place):
    """Return the rows of a network that count."""
    return batch["row"][place][batch["weight"][place] > 0].tolist()


@pytest.mark.parametrize("batch_size", [1, 4, 5, 17, 40])
@pytest.mark.parametrize("weight", [None, uneven()], ids=["all rows", "uneven"])
def test_every_example_once_in_each_epoch(batch_size, weight):
    found = all_batches(Minibatches(examples(weight=weight), batch_size, SEEDS), 60)
    allowed = torch.ones(NETWORKS, ROWS, dtype=bool) if weight is None else weight > 0
    for place in range(NETWORKS):
        own = allowed[place].nonzero().squeeze(1).tolist()
        length = -(-len(own) // batch_size)
        orders = []
        for first in range(0, 60 - length + 1, length):
            epoch = [seen_rows(batch, place) for batch in found[first : first + length]]
            sizes = [len(one) for one in epoch]
            assert sizes[:-1] == [batch_size] * (length - 1)
            assert sizes[-1] == len(own) - batch_size * (length - 1)
            orders.append(list(chain.from_iterable(epoch)))
            assert sorted(orders[-1]) == own
        assert len(own) < 5 or len({tuple(one) for one in orders}) == len(orders)


def test_rows_are_the_network_s_own():
    for batch in all_batches(Minibatches(examples(), 4, SEEDS), 12):
        first = torch.arange(NETWORKS)[:, None] * ROWS
        assert torch.equal(batch["input"].squeeze(2), (batch["row"] + first).double())


def test_weights_count_as_they_are():
    weight = uneven() * torch.linspace(0.5, 2.0, ROWS, dtype=torch.float64)
    for order in ("epochs", "random"):
        for batch in all_batches(Minibatches(examples(weight=weight), 4, SEEDS, order), 9):
            there = batch["weight"] > 0
            assert torch.equal(batch["weight"][there], torch.gather(weight, 1, batch["row"])[there])


@pytest.mark.parametrize("weight", [None, uneven()[2:3], uneven()], ids=["none", "shared", "own"])
def test_random_rows_are_allowed_rows_drawn_evenly(weight):
    steps = 2 * STEPS_PER_BLOCK + 10
    found = all_batches(Minibatches(examples(weight=weight), 6, SEEDS, "random"), steps)
    allowed = torch.ones(NETWORKS, ROWS, dtype=bool) if weight is None else (weight > 0).expand(NETWORKS, ROWS)
    rows = torch.stack([batch["row"] for batch in found])
    for place in range(NETWORKS):
        counts = torch.bincount(rows[:, place].flatten(), minlength=ROWS).double()
        assert not counts[~allowed[place]].any()
        mean = 6 * steps / allowed[place].sum()
        assert (counts[allowed[place]] - mean).abs().max() < 4.5 * mean.sqrt()
    assert weight is not None or "weight" not in found[0]


def fresh(keys, steps):
    """Draw numbers, a truth value for each, and a weight that all steps and networks share."""
    u = streams.uniforms(keys, steps, 6).view(len(steps), len(keys), 6, 1)
    return {"input": u, "large": u[..., 0] > 0.5, "weight": torch.ones(1, 1, 1).expand(len(steps), len(keys), 6)}


KINDS = {
    "epochs": lambda seeds, places: Minibatches({k: v[places] for k, v in own_examples().items()}, 4, seeds),
    "random": lambda seeds, places: Minibatches({k: v[places] for k, v in own_examples().items()}, 4, seeds, "random"),
    "fresh": lambda seeds, places: FreshDraws(fresh, seeds),
    "whole": lambda seeds, places: WholeSet({k: v[places] for k, v in own_examples().items()}),
}
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def own_examples():
    return {**examples(weight=uneven()), "row": torch.arange(ROWS).repeat(NETWORKS, 1)}


def equal(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@every_kind
@pytest.mark.parametrize("step", [0, 1, 5, STEPS_PER_BLOCK - 1, STEPS_PER_BLOCK, 3 * STEPS_PER_BLOCK + 7, 1000])
def test_prepared_from_any_step(make, step):
    everything = list(range(NETWORKS))
    from_start = all_batches(make(SEEDS, everything), step + 3)
    late = make(SEEDS, everything)
    for number in (step, step + 1, step + 2, step):
        assert equal(batch_at(late, number), from_start[number])
    assert equal(batch_at(late, 0), from_start[0])


@every_kind
def test_what_a_network_sees_does_not_depend_on_the_others(make):
    everything = make(SEEDS, list(range(NETWORKS)))
    places = torch.tensor([0, 2, 3])
    chosen, alone = everything.select(places), make([SEEDS[3]], [3])
    twice = chosen.select(torch.tensor([2]))
    for step in (0, 7, 70, 200):
        whole = batch_at(everything, step)
        assert equal(batch_at(chosen, step), {name: one[places] for name, one in whole.items()})
        for one in (alone, twice):
            assert equal(batch_at(one, step), {name: values[3:4] for name, values in whole.items()})


@every_kind
def test_no_network_left(make):
    empty = make(SEEDS, list(range(NETWORKS))).select(torch.tensor([], dtype=torch.int64))
    assert empty.networks == 0
    assert len(batch_at(empty, 3)["input"]) == 0


@every_kind
def test_types(make):
    batches = make(SEEDS, list(range(NETWORKS))).to(torch.device("cpu"), torch.float32)
    for batch in (batch_at(batches, 3), batch_at(batches.select(torch.tensor([0, 1])), 70)):
        assert batch["input"].dtype == batch["weight"].dtype == torch.float32
        assert "row" not in batch or batch["row"].dtype == torch.int64
        assert "large" not in batch or batch["large"].dtype == torch.bool


@pytest.mark.parametrize("kind", [torch.bool, torch.int64])
def test_weights_of_any_type_become_fractions(kind):
    for make in (WholeSet, lambda found: Minibatches(found, 4, SEEDS)):
        batches = make(examples(weight=uneven().to(kind))).to(torch.device("cpu"), torch.float64)
        assert batch_at(batches, 2)["weight"].dtype == torch.float64


def test_whole_sets_are_always_ready():
    batches = WholeSet(examples())
    assert batches.prepare(12345) == MAX_STEP
    assert batches.networks == NETWORKS
    assert WholeSet(examples(shared=True)).networks is None
    assert batches.at(torch.tensor(3))["input"] is batches.at(torch.tensor(9))["input"]


def test_shared_examples_are_chosen_by_each_network_s_seed():
    batch = batch_at(Minibatches(examples(shared=True), 8, SEEDS), 0)
    assert batch["input"].shape == (NETWORKS, 8, 1)
    assert torch.equal(batch["input"].squeeze(2), batch["row"].double())
    assert len({tuple(one) for one in batch["row"].tolist()}) == NETWORKS
    same = batch_at(Minibatches(examples(shared=True), 8, [7, 7]), 0)
    assert torch.equal(same["row"][0], same["row"][1])


def test_fresh_draws_change_with_step_and_seed():
    batches = FreshDraws(fresh, [1, 2, 1])
    numbers = torch.stack([batch["input"] for batch in all_batches(batches, 3 * STEPS_PER_BLOCK)])
    assert torch.equal(numbers[:, 0], numbers[:, 2])
    assert numbers[:, :2].unique().numel() == numbers[:, :2].numel()


@every_kind
def test_fingerprints_tell_data_apart(make):
    everything = list(range(NETWORKS))
    first = make(SEEDS, everything).fingerprint()
    assert make(SEEDS, everything).fingerprint() == first
    other = [0, 1, 2, 4, 3]
    assert make([SEEDS[place] for place in other], other).fingerprint() != first


def test_fingerprints_tell_settings_apart():
    marks = [
        Minibatches(examples(), size, seeds, order).fingerprint()
        for size, seeds, order in [
            (4, SEEDS, "epochs"),
            (5, SEEDS, "epochs"),
            (4, SEEDS, "random"),
            (4, range(5), "epochs"),
        ]
    ]
    assert len(set(marks)) == 4
    assert Minibatches(examples(), 4, torch.tensor(SEEDS).numpy()).fingerprint() == marks[0]


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({}, "There are no examples"),
        ({"input": torch.zeros(5)}, "must have the shape \\(networks or 1, rows, ...\\)"),
        ({"input": torch.zeros(5, 3, 1), "target": torch.zeros(5, 4, 1)}, "with the same rows; got"),
        ({"input": torch.zeros(5, 3, 1), "target": torch.zeros(4, 3, 1)}, "for the same number of networks, or shared"),
    ],
)
def test_wrong_shapes(found, sentence):
    with pytest.raises(ValueError, match=sentence):
        WholeSet(found)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1; got 0"),
        ({"batch_size": 2.6}, "batch_size must be a whole number; got 2.6"),
        ({"order": "any"}, "order must be epochs or random; got 'any'"),
        ({"seeds": [1, 2, 3]}, "Examples must be for 3 networks, one for each seed, or shared"),
        ({"examples": examples(weight=torch.zeros(1, ROWS))}, "at least one example with a weight above 0"),
        ({"examples": examples(weight=(torch.arange(5) > 0)[:, None] * torch.ones(5, ROWS))}, "Every network needs"),
    ],
)
def test_wrong_settings(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Minibatches(**{"examples": examples(), "batch_size": 4, "seeds": SEEDS, **settings})


@pytest.mark.parametrize("make", [WholeSet, lambda examples: Minibatches(examples, 2, [0, 1])], ids=["whole", "mini"])
@pytest.mark.parametrize(
    ("weight", "complaint"),
    [
        ([[1.0, 1.0], [0.0, 0.0]], "at least one example"),
        ([[1.0, 1.0], [1.0, -1.0]], "not negative"),
        ([[1.0, 1.0], [1.0, float("nan")]], "finite"),
    ],
)
def test_weights_are_checked(make, weight, complaint):
    examples = {"input": torch.zeros(2, 2, 1), "weight": torch.tensor(weight)}
    with pytest.raises(ValueError, match=complaint):
        make(examples)
