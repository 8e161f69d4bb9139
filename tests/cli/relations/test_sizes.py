"""A size far beyond any machine is refused in one sentence, by every option of the relations commands and in Python."""

import pytest

from genlaws.core import arguments
from genlaws.core.errors import InputError
from genlaws.relations import (
    Relation,
    ReponSystem,
    TotalOrder,
    TrainingSet,
    advise_relation,
    bound_curve,
    class_collision_probability,
    collision_probability,
    data_needed,
    learn_relation,
    less_than,
    posterior,
    query_curve,
    simulate_repons,
)
from genlaws.relations.networks.network import train_networks
from integer_options import integer_options

HUGE = 10**20
# What else a command needs to answer in moments, were the size small.
GIVEN = {
    "describe": {"": "mod3"},
    "bound": {"": "mod3", "--train-fraction": "0.1", "--repeats": "2"},
    "data-needed": {"": "mod3", "--repeats": "2"},
    "next-pair": {"": "mod3", "--curve": "", "--repeats": "2", "--queries": "2"},
    "learn": {"": "mod3", "--steps": "2"},
    "repons": {"--encoder-rate": "1", "--decoder-rate": "1", "--dimension": "2", "--outputs": "2", "--class-size": "3"},
    "advise": {"": "mod3", "--quick": ""},
    "phases": {"": "mod3", "--grid": "2", "--seeds": "2", "--steps": "2", "--width": "2", "--depth": "1"},
}
# A seed may be any number, and a batch holds at most all that is shown.
ANY_SIZE = ("--seed", "--batch-size")
SIZES = [(path[1], option) for path, option in integer_options() if path[0] == "relations" and option not in ANY_SIZE]


@pytest.mark.parametrize(("command", "option"), SIZES, ids=["".join(one) for one in SIZES])
def test_a_huge_size_is_refused_with_a_sentence(genlaws, command, option):
    given = {**GIVEN[command], option: str(HUGE)}
    answer = genlaws("relations", command, *(word for pair in given.items() for word in pair if word), "--json")
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("genlaws: ")
    assert len(answer.err.splitlines()) == 1
    assert str(HUGE) in answer.err


def test_sizes_are_found():
    assert len(SIZES) > 25
    assert {command for command, _ in SIZES} == set(GIVEN)


@pytest.mark.parametrize("size", [10**11, HUGE])
@pytest.mark.parametrize(
    "call",
    [
        lambda size: learn_relation("mod3", dimension=size),
        lambda size: learn_relation("mod3", width=size),
        lambda size: learn_relation("mod3", depth=size),
        lambda size: learn_relation("mod3", steps=size),
        lambda size: learn_relation("mod3", seeds=size),
        lambda size: train_networks("mod3", seeds=range(size)),
        lambda size: advise_relation("mod3", dimension=size),
        lambda size: advise_relation("mod3", width=size),
        lambda size: advise_relation("mod3", depth=size),
        lambda size: advise_relation("mod3", steps=size),
        lambda size: advise_relation("mod3", networks=size),
        lambda size: advise_relation("mod3", bound_repeats=size),
        lambda size: bound_curve(less_than(4), train_fraction=0.1, repeats=size),
        lambda size: data_needed(less_than(4), target_accuracy=0.9, repeats=size),
        lambda size: query_curve(less_than(4), repeats=size),
        lambda size: query_curve(less_than(4), queries=size, repeats=1),
        lambda size: posterior(TrainingSet(4, [], []), TotalOrder(), draws=size, method="chain"),
        lambda size: posterior(TrainingSet(4, [], []), TotalOrder()).draw(size),
        lambda size: Relation(size, []),
        lambda size: TrainingSet(size, [], []),
        lambda size: simulate_repons(ReponSystem(1.0, 1.0), size),
        lambda size: ReponSystem(1.0, 1.0, dimension=size, outputs=2),
        lambda size: ReponSystem(1.0, 1.0, class_sizes=(size,)),
        lambda size: class_collision_probability(1.0, 1.0, class_size=3, dimension=3, outputs=size),
        lambda size: collision_probability(1.0, 1.0, dimension=2, outputs=size * 100),
    ],
)
def test_python_refuses_it_too(call, size):
    with pytest.raises(InputError, match=r"must be a whole number|must fit into memory|must name|too large"):
        call(size)


def test_networks_that_would_not_fit_into_memory_are_refused(genlaws, monkeypatch):
    monkeypatch.setattr(arguments, "_available_memory", lambda: 10**9)
    answer = genlaws("relations", "learn", "mod3", "--width", "5000", "--steps", "1")
    assert answer.code == 2
    assert "they need at least 1.25 GB, and this machine has 1 GB" in answer.err
    assert genlaws("relations", "learn", "mod3", "--width", "50", "--steps", "1").code == 0
