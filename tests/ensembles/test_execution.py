"""Execution paths: which is chosen, which raise errors, and that they agree on a CUDA device."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from genlaws.ensembles import (
    Adam,
    Checkpoint,
    FreshDraws,
    Minibatches,
    PairPerceptron,
    Perceptron,
    WholeSet,
    streams,
    train,
)
from genlaws.ensembles import execution as ways
from genlaws.ensembles.architecture import per_network
from genlaws.ensembles.fused import update
from genlaws.ensembles.optimizers import rates_of
from genlaws.ensembles.stack import Stack

PATHS_AGREE = 1e-3  # of the way moved, after a hundred updates in single precision; Adam amplifies small gradients
SEEDS = [1, 2, 3, 4]
NETWORK = PairPerceptron(9, 2, (12, 12))

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="There is no CUDA device.")


def pairs():
    generator = torch.Generator().manual_seed(0)
    first, second = torch.randint(9, (2, 4, 40), generator=generator)
    return {"first": first, "second": second, "target": (first > second).double().unsqueeze(2)}


def fresh(keys, steps):
    first, second = streams.whole_numbers(keys, steps, 80, 9).view(len(steps), len(keys), 2, 40).unbind(2)
    return {"first": first, "second": second, "target": (first > second).double().unsqueeze(3)}


BATCHES = {
    "whole": lambda: WholeSet(pairs()),
    "epochs": lambda: Minibatches(pairs(), 12, SEEDS),
    "random": lambda: Minibatches(pairs(), 12, SEEDS, "random"),
    "fresh": lambda: FreshDraws(fresh, SEEDS),
}


def stack_of(network, batches, dtype=torch.float32):
    rows = network.layout.start(SEEDS).to(dtype)
    rates = per_network(1e-3, "rate", network.layout.parts, len(rows))
    return Stack(network, Adam(), batches, rows, rates_of(network.layout, rates, rates, rows))


@pytest.mark.parametrize("path", ["graph", "fused"])
def test_paths_that_need_cuda_are_refused_on_a_processor(path):
    with pytest.raises(ValueError, match=f"The path '{path}' needs a CUDA device; this stack is on cpu"):
        train(NETWORK, BATCHES["whole"](), seeds=SEEDS, steps=1, path=path)


@pytest.mark.parametrize("path", ["auto", "eager"])
def test_a_processor_makes_one_call_after_the_other(path):
    assert train(NETWORK, BATCHES["whole"](), seeds=SEEDS, steps=1, path=path).computed.path == "eager"


@pytest.mark.skipif(torch.cuda.is_available(), reason="There is a CUDA device.")
def test_a_missing_device_is_named():
    with pytest.raises(ValueError, match="device must be one that torch can use here, such as cpu; got 'cuda'"):
        train(NETWORK, BATCHES["whole"](), seeds=SEEDS, steps=1, device="cuda")


def test_kernels_are_for_pairs_in_single_precision():
    inputs = {"input": torch.zeros(1, 3, 2), "target": torch.zeros(1, 3, 1)}
    assert not update.fused_fits(stack_of(Perceptron((2, 3, 1)), WholeSet(inputs)))
    assert not update.fused_fits(stack_of(NETWORK, BATCHES["whole"](), torch.float64))


def test_no_kernels_without_triton(monkeypatch):
    monkeypatch.setattr(update, "find_spec", lambda _: None)
    assert not update.fused_fits(stack_of(NETWORK, BATCHES["whole"]()))


def on_a_card(network, dtype=torch.float32):
    """Return a stack as the choice of a path sees it, with rows that claim to lie on a card."""
    rows = SimpleNamespace(is_cuda=True, dtype=dtype, device="cuda")
    return SimpleNamespace(architecture=network, rows=rows, optimizer=Adam())


@pytest.fixture
def triton_is_there(monkeypatch):
    """Let the kernels be found, and fit every network on pairs."""
    pairs_fit = ModuleType("genlaws.ensembles.fused.pairs")
    pairs_fit.fused_pairs_fit = lambda network: network.layout.size < 100_000
    monkeypatch.setitem(sys.modules, pairs_fit.__name__, pairs_fit)
    monkeypatch.setattr(update, "find_spec", lambda _: object())


@pytest.mark.parametrize(
    ("elements", "way"), [(2, ways.Fused), (30, ways.Fused), (64, ways.Fused), (65, ways.Graph), (300, ways.Graph)]
)
def test_the_fastest_path_on_a_card_depends_on_the_size_of_the_table(elements, way, triton_is_there):
    stack = on_a_card(PairPerceptron(elements, 2, (12, 12)))
    assert update.fused_fits(stack)
    assert update.fused_pays(stack) == (way is ways.Fused)
    assert type(ways.execution("auto", stack)) is way
    # Whoever names a path gets it.
    assert type(ways.execution("fused", stack)) is ways.Fused
    assert type(ways.execution("graph", stack)) is ways.Graph
    assert type(ways.execution("eager", stack)) is ways.Eager


@pytest.mark.parametrize(
    "stack",
    [
        on_a_card(Perceptron((2, 3, 1))),
        on_a_card(PairPerceptron(9, 2, (12,)), torch.float64),
        on_a_card(PairPerceptron(9, 2, (1000, 1000))),
    ],
    ids=["no pairs", "double", "large"],
)
def test_what_has_no_kernel_is_captured_on_a_card(stack, triton_is_there):
    assert type(ways.execution("auto", stack)) is ways.Graph
    with pytest.raises(ValueError, match="There is no fused kernel for this network"):
        ways.execution("fused", stack)


def test_without_triton_a_small_table_is_captured_too(monkeypatch):
    monkeypatch.setattr(update, "find_spec", lambda _: None)
    assert type(ways.execution("auto", on_a_card(NETWORK))) is ways.Graph


def test_only_networks_on_pairs_can_pay():
    assert not update.fused_pays(on_a_card(Perceptron((2, 3, 1))))


@pytest.mark.parametrize("path", ["", "Fused", "cuda"])
def test_an_unknown_path_is_refused_wherever_the_stack_lies(path):
    with pytest.raises(ValueError, match=f"path must be one of auto, eager, graph, fused; got '{path}'"):
        ways.execution(path, on_a_card(NETWORK))


@pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("stops", [(1, 2, 3), (10, 64, 65, 128, 130), (130,)], ids=str)
def test_updates_are_counted_whatever_the_stops(batches, stops):
    given = batches().to(torch.device("cpu"), torch.float32)
    stack, unbroken = stack_of(NETWORK, given), stack_of(NETWORK, given)
    way = ways.Eager()
    for stop in stops:
        way.advance(stack, stop)
        assert stack.made == int(stack.step) == stop
    way.advance(stack, stops[-1])
    for _ in range(stops[-1]):
        given.prepare(unbroken.made)
        unbroken.update()
        unbroken.made += 1
    assert torch.equal(stack.rows, unbroken.rows)


@needs_cuda
@pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("path", ["eager", "graph", "fused"])
def test_paths_agree_with_the_processor(batches, path):
    if path == "fused":
        pytest.importorskip("triton")
    settings = {"seeds": SEEDS, "steps": 130, "learning_rate": 1e-3, "log_at": [10, 130]}
    processor = train(NETWORK, batches(), **settings)
    first, second = (train(NETWORK, batches(), **settings, device="cuda", path=path) for _ in range(2))
    assert torch.equal(first.rows, second.rows)
    assert first.computed.path == path
    way = (processor.rows - NETWORK.layout.start(SEEDS)).norm()
    assert (first.rows.cpu() - processor.rows).norm() <= PATHS_AGREE * way


@needs_cuda
@pytest.mark.parametrize("path", ["eager", "graph", "fused"])
def test_networks_leave_on_every_path(path):
    if path == "fused":
        pytest.importorskip("triton")

    def measure(live):
        return {"loss": live.loss, "number": live.number}

    def finished(measured):
        return measured["number"] == 2

    settings = {"seeds": SEEDS, "steps": 60, "log_at": [20, 60], "measure": measure, "finished": finished}
    found = train(NETWORK, BATCHES["epochs"](), **settings, device="cuda", path=path)
    assert found.updates.tolist() == [60, 60, 20, 60]
    expected = train(NETWORK, BATCHES["epochs"](), **settings)
    way = (expected.rows - NETWORK.layout.start(SEEDS)).norm()
    assert (found.rows.cpu() - expected.rows).norm() <= PATHS_AGREE * way


@needs_cuda
@pytest.mark.parametrize("path", ["eager", "graph", "fused"])
def test_resumed_is_unbroken_on_every_path(tmp_path, path):
    if path == "fused":
        pytest.importorskip("triton")
    settings = {"seeds": SEEDS, "steps": 60, "log_at": [45], "device": "cuda", "path": path}
    checkpoint = Checkpoint(tmp_path / "training.npz", 20)

    def stop(live):
        raise KeyboardInterrupt

    unbroken = train(NETWORK, BATCHES["random"](), **settings)
    with pytest.raises(KeyboardInterrupt):
        train(NETWORK, BATCHES["random"](), **settings, measure=stop, checkpoint=checkpoint)
    assert checkpoint.path.exists()
    assert torch.equal(train(NETWORK, BATCHES["random"](), **settings, checkpoint=checkpoint).rows, unbroken.rows)


@needs_cuda
def test_a_network_without_a_kernel_is_refused_on_the_fused_path():
    inputs = {"input": torch.zeros(1, 3, 2), "target": torch.zeros(1, 3, 1)}
    with pytest.raises(ValueError, match="There is no fused kernel for this network, or no Triton here"):
        train(Perceptron((2, 3, 1)), WholeSet(inputs), seeds=SEEDS, steps=1, device="cuda", path="fused")
