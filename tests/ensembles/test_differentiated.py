"""Networks differentiated by torch: any losses of a stack, and any module."""

import pytest
import torch
from torch import nn

from genlaws.ensembles import Differentiated, Layout, Minibatches, Modules, ParameterArray, Perceptron, WholeSet, train
from genlaws.ensembles.architecture import Workspace

SEEDS = [1, 2, 3]
SAME = {"rtol": 1e-12, "atol": 1e-12}  # two orders of the same operations in double precision


def examples(networks=3, rows=12):
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(networks, rows, 4, dtype=torch.float64, generator=generator)
    return {"input": inputs, "target": inputs.sum(2, keepdim=True).sin()}


def squares(call, batch):
    return (call(batch["input"]) - batch["target"]).square().mean()


class Normalized(nn.Module):
    """Batch normalization, a parameter that is never used, and buffers of whole numbers and truth values."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 5, bias=False)
        self.norm = nn.BatchNorm1d(5)
        self.last = nn.Linear(5, 1)
        self.unused = nn.Parameter(torch.ones(3))
        self.register_buffer("order", torch.tensor([2, 0, 1, 3]))
        self.register_buffer("hidden", torch.tensor([False, False, True, False]))

    def forward(self, inputs):
        shuffled = inputs[:, self.order].masked_fill(self.hidden, 0.0)
        return self.last(torch.tanh(self.norm(self.first(shuffled))))


def normalized(seed=0):
    torch.manual_seed(seed)
    return Normalized().double()


def gradients(architecture, rows, batch):
    written = torch.full_like(rows, torch.nan)
    losses = architecture.loss_and_gradient(
        architecture.layout.views(rows), batch, architecture.layout.views(written), Workspace()
    )
    return losses, written


def test_the_same_as_by_hand():
    by_hand = Perceptron((4, 5, 1), loss="squared")

    def losses(values, batch):
        hidden = torch.tanh(batch["input"] @ values["weight_1"] + values["bias_1"][:, None])
        outputs = hidden @ values["weight_2"] + values["bias_2"][:, None]
        return (outputs - batch["target"]).square().mean((1, 2))

    rows = by_hand.layout.start(SEEDS)
    first, second = (gradients(one, rows, examples()) for one in (by_hand, Differentiated(by_hand.layout, losses)))
    torch.testing.assert_close(first, second, **SAME)


def test_seeds_give_different_networks_and_each_can_be_drawn_again():
    network = Differentiated(
        Layout([ParameterArray("in", (4, 3)), ParameterArray("out", (3, 1))]),
        lambda values, batch: (
            (torch.tanh(batch["input"] @ values["in"]) @ values["out"] - batch["target"]).square().mean((1, 2))
        ),
    )
    seeds = range(32)
    found = train(network, WholeSet(examples(1)), seeds=seeds, steps=5, learning_rate=0.01)
    assert len(torch.unique(found.rows, dim=0)) == len(seeds)
    again = train(network, WholeSet(examples(1)), seeds=seeds[7:8], steps=5, learning_rate=0.01)
    torch.testing.assert_close(found.rows[7:8], again.rows)


def test_parameters_that_no_loss_depends_on_have_gradient_0():
    layout = Layout([ParameterArray("used", (2,), start="normal"), ParameterArray("unused", (2,), start="normal")])
    network = Differentiated(layout, lambda values, _: values["used"].square().sum(1))
    rows = layout.start(SEEDS)
    _, gradient = gradients(network, rows, {})
    assert torch.equal(gradient[:, :2], 2.0 * rows[:, :2])
    assert not gradient[:, 2:].any()
    assert not rows.requires_grad


@pytest.mark.parametrize("reduced", [torch.sum, torch.mean, lambda losses: losses[:, None]])
def test_losses_must_be_one_for_each_network(reduced):
    layout = Layout([ParameterArray("w", (2,), start="normal")])
    network = Differentiated(layout, lambda values, _: reduced(values["w"].square().sum(1)))
    with pytest.raises(ValueError, match="losses must return one loss for each of 3 networks; got shape"):
        train(network, WholeSet(examples()), seeds=SEEDS, steps=1)


def test_gradients_are_computed_where_they_are_turned_off():
    layout = Layout([ParameterArray("w", (2,), start="normal")])
    network = Differentiated(layout, lambda values, _: values["w"].square().sum(1))
    modules = Modules(nn.Linear(4, 1).double(), squares)
    with torch.no_grad():
        assert gradients(network, layout.start(SEEDS), {})[1].isfinite().all()
        assert gradients(modules, modules.rows([nn.Linear(4, 1)] * 3), examples())[1].isfinite().all()


def test_modules_as_plain_torch_has_them():
    """Parameters, running averages and the count of batches, with the very modules torch would train."""
    architecture = Modules(normalized(), squares)
    start = architecture.rows([normalized(seed) for seed in SEEDS])
    batches = Minibatches(examples(), 5, SEEDS, "random")
    found = train(
        architecture, batches, seeds=SEEDS, steps=15, start=start, learning_rate=0.01, dtype=torch.float64
    ).values
    for place, seed in enumerate(SEEDS):
        module = normalized(seed)
        optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
        for step in range(15):
            batches.prepare(step)
            batch = {name: one[place] for name, one in batches.at(torch.tensor(step)).items()}
            optimizer.zero_grad()
            squares(module, batch).backward()
            optimizer.step()
        for name, one in module.state_dict().items():
            torch.testing.assert_close(found[name][place], one.double(), rtol=1e-9, atol=1e-9)
        assert module.norm.num_batches_tracked == 15


def test_the_module_itself_is_never_changed():
    module = normalized()
    before = {name: one.clone() for name, one in module.state_dict().items()}
    architecture = Modules(module, squares)
    train(architecture, WholeSet(examples()), seeds=SEEDS, steps=3, start=architecture.rows([module] * 3))
    assert all(torch.equal(one, before[name]) for name, one in module.state_dict().items())
    assert all(one.grad is None for one in module.parameters())


@pytest.mark.parametrize("training", [True, False])
def test_applying_a_network_changes_nothing(training):
    modules = [normalized(seed).train(training) for seed in SEEDS]
    architecture = Modules(modules[0], squares)
    rows = architecture.rows(modules)
    before = rows.clone()
    inputs = examples()["input"][0]
    for place, module in enumerate(modules):
        found = architecture.call(architecture.layout.views(rows), place, inputs)
        torch.testing.assert_close(found, module(inputs).detach(), **SAME)
    assert torch.equal(rows, before)


def test_rows_hold_what_the_modules_hold():
    modules = [normalized(seed) for seed in SEEDS]
    architecture = Modules(modules[0], squares, part_of=lambda name: name.split(".")[0])
    assert architecture.layout.parts == ("unused", "first", "norm", "last", "buffers")
    assert architecture.layout.trained_parts == ("unused", "first", "norm", "last")
    values = architecture.layout.views(architecture.rows(modules))
    for place, module in enumerate(modules):
        for name, one in module.state_dict().items():
            assert torch.equal(values[name][place], one.double())


@pytest.mark.parametrize("other", [nn.Linear(4, 2), nn.Linear(4, 1, bias=False), nn.Linear(1, 1)])
def test_modules_of_another_kind_are_refused(other):
    architecture = Modules(nn.Linear(4, 1), squares)
    with pytest.raises(ValueError, match="All modules must be of one kind; number 1 has other parameters or shapes"):
        architecture.rows([nn.Linear(4, 1), other])


def test_modules_take_shared_examples():
    architecture = Modules(normalized(), squares)
    rows = architecture.rows([normalized(seed) for seed in SEEDS])
    shared = {name: one[:1] for name, one in examples().items()}
    own = {name: one.repeat(3, 1, 1) for name, one in shared.items()}
    first, second = (gradients(architecture, rows.clone(), batch) for batch in (shared, own))
    columns = slice(0, architecture.layout.columns["buffers"].start)
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1][:, columns], second[1][:, columns])


def test_given_initial_values_must_be_given():
    architecture = Modules(normalized(), squares)
    with pytest.raises(ValueError, match="are not drawn; give them to train as start"):
        train(architecture, WholeSet(examples()), seeds=SEEDS, steps=1)
