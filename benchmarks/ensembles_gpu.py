"""Stacks of networks on a graphics card: do the paths agree, can a run be repeated, and how many steps in a second?

Needs numpy, torch with CUDA, and Triton for the fused path; nothing else of the project's dependencies:

    PYTHONPATH=src python benchmarks/ensembles_gpu.py [--tune] [--out table.csv]

The network is the default relation network: embeddings of 30 elements in 2 dimensions, a decoder 4-50-50-50-1 with
tanh, 675 of the 900 pairs, logistic loss, Adam. One step of one network takes 21 million floating-point operations.
"""

import argparse
import csv
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import torch
from plain_networks import ELEMENTS, HIDDEN, PAIRS, plain_relation_steps, relation_examples

from genlaws.ensembles import Adam, Checkpoint, PairPerceptron, WholeSet, train
from genlaws.ensembles.architecture import Workspace, per_network
from genlaws.ensembles.execution import Eager, Fused, Graph
from genlaws.ensembles.optimizers import rates_of
from genlaws.ensembles.stack import Stack

OPERATIONS = 2 * 3 * PAIRS * (4 * 50 + 2 * 50 * 50 + 50)
SIZES = (132, 528, 1056, 2112, 4224)


def make_stack(networks: int, device: str) -> Stack:
    network = PairPerceptron(ELEMENTS, 2, HIDDEN)
    rows = network.layout.start(range(networks)).to(device, torch.float32)
    parts = network.layout.parts
    rates = rates_of(
        network.layout, per_network(1e-3, "rate", parts, networks), per_network(0.0, "decay", parts, networks), rows
    )
    batches = WholeSet(relation_examples(networks)).to(torch.device(device), torch.float32)
    return Stack(network, Adam(), batches, rows, rates)


def steps_per_second(stack: Stack, way: Eager | Graph, seconds: float = 2.0) -> float:
    """Return network-steps in a second, the median of five intervals."""
    way.advance(stack, stack.made + 10)
    torch.cuda.synchronize()
    start = time.perf_counter()
    way.advance(stack, stack.made + 10)
    torch.cuda.synchronize()
    steps = max(10, int(10 * seconds / 5 / (time.perf_counter() - start)))
    found = []
    for _ in range(5):
        start = time.perf_counter()
        way.advance(stack, stack.made + steps)
        torch.cuda.synchronize()
        found.append(len(stack) * steps / (time.perf_counter() - start))
    return float(np.median(found))


def check_paths() -> None:
    """Compare the paths with double precision after 100 steps, and a resumed run with an unbroken one."""
    networks, steps = 64, 100
    network, examples = PairPerceptron(ELEMENTS, 2, HIDDEN), relation_examples(64)
    settings = {"seeds": range(networks), "steps": steps, "device": "cuda", "log_at": [50, 100]}
    exact = train(network, WholeSet(examples), **settings, dtype=torch.float64, path="eager").rows
    start = network.layout.start(range(networks)).to("cuda")
    moved = (exact - start).norm()
    for path in ("eager", "graph", "fused"):
        found = train(network, WholeSet(examples), **settings, path=path)
        again = train(network, WholeSet(examples), **settings, path=path)
        same = bool((found.rows == again.rows).all())
        away = float((found.rows.double() - exact).norm() / moved)
        resumed = resume(network, examples, settings, path)
        print(
            f"{path:6s} distance from double precision after {steps} steps, by the distance moved: {away:.1e}; "
            f"repeated bit for bit: {same}; resumed bit for bit: {bool((found.rows == resumed).all())}"
        )


def resume(network, examples, settings, path) -> torch.Tensor:
    """Return the rows of a run that was stopped after 50 steps and went on from its checkpoint."""

    class StoppedError(Exception):
        pass

    def stop(live):
        if live.step == 100:
            raise StoppedError
        return {"loss": live.loss}

    checkpoint = Checkpoint(Path(tempfile.gettempdir()) / "genlaws-benchmark.npz", every=50)
    checkpoint.remove()
    with suppress(StoppedError):
        train(network, WholeSet(examples), **settings, path=path, checkpoint=checkpoint, measure=stop)
    assert checkpoint.path.exists()
    return train(network, WholeSet(examples), **settings, path=path, checkpoint=checkpoint).rows


def check_isolation() -> None:
    """Let one network overflow; the others must not change."""
    network, examples = PairPerceptron(ELEMENTS, 2, HIDDEN), relation_examples(8)
    rate = np.full(8, 1e-3)
    alone = {
        path: train(network, WholeSet(examples), seeds=range(8), steps=60, learning_rate=rate, device="cuda", path=path)
        for path in ("graph", "fused")
    }
    rate[3] = 1e38
    for path, good in alone.items():
        bad = train(network, WholeSet(examples), seeds=range(8), steps=60, learning_rate=rate, device="cuda", path=path)
        others = np.arange(8) != 3
        same = bool((good.rows[others] == bad.rows[others]).all())
        print(f"{path:6s} one network failed: {bad.failed.tolist()}; the others unchanged bit for bit: {same}")


def check_memory() -> None:
    """Make many updates and compare the memory before and after."""
    stack, way = make_stack(8, "cuda"), Graph()
    way.advance(stack, 1000)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    start = time.perf_counter()
    way.advance(stack, 101_000)
    torch.cuda.synchronize()
    print(
        f"memory after 1,000 updates {before} bytes, after 101,000 {torch.cuda.memory_allocated()} bytes "
        f"({time.perf_counter() - start:.0f} s)"
    )


def check_relu() -> None:
    """Train the ReLU network of the semanticity paper on both kinds of device."""
    from genlaws.semanticity.networks.relu import train_relu_networks  # noqa: PLC0415

    for device, networks, steps in (("cpu", 10, 300), ("cuda", 10, 300), ("cuda", 1000, 3000)):
        train_relu_networks(seeds=range(networks), steps=5, log_every=5, device=device)
        start = time.perf_counter()
        runs = train_relu_networks(seeds=range(networks), steps=steps, log_every=50, device=device)
        seconds = time.perf_counter() - start
        print(
            f"ReLU network on {device}, {networks} networks, {steps} steps, {runs.path}: "
            f"{networks * steps / seconds:,.0f} network-steps/s; first ten end at p_S = "
            f"{runs.generalization[:10, -1].mean():.5f}, p_I = {runs.identification[:10, -1].mean():.5f}"
        )


def tune() -> None:
    """Time the kernel alone for some sizes of its tiles."""
    from genlaws.ensembles.fused.pairs import fused_loss_and_gradient  # noqa: PLC0415 only where Triton is

    stack = make_stack(1056, "cuda")
    network, batch = stack.architecture, stack.batches.at(stack.step)
    reference = torch.zeros_like(stack.rows).double()
    doubled = {name: one.double() if one.is_floating_point() else one for name, one in batch.items()}
    rows = stack.rows.double()
    layout = network.layout
    network.loss_and_gradient(layout.views(rows), doubled, layout.views(reference), Workspace())
    for tile in (32, 64, 128):
        for warps in (4, 8):
            call = partial(fused_loss_and_gradient, network, stack.rows, batch, stack.gradient, tile=tile, warps=warps)
            try:
                call()
            except Exception as error:
                print(f"tile {tile:3d} warps {warps}: {type(error).__name__}")
                continue
            error = float((stack.gradient.double() - reference).norm() / reference.norm())
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(50):
                call()
            torch.cuda.synchronize()
            rate = 50 * len(stack) / (time.perf_counter() - start)
            print(f"tile {tile:3d} warps {warps}: {rate:12,.0f} gradients/s, error {error:.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tune", action="store_true", help="also try other sizes of the kernel's tiles")
    parser.add_argument("--quick", action="store_true", help="leave out the ReLU network and the long run")
    parser.add_argument("--out")
    chosen = parser.parse_args()
    if not torch.cuda.is_available():
        print("There is no CUDA device here; benchmarks/ensembles.py measures processors.")
        return
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    check_paths()
    check_isolation()
    if chosen.tune:
        tune()
    table = [("plain torch, one network", 1, plain_relation_steps(300, "cuda"))]
    for size in SIZES:
        for way in (Eager(), Graph(), Fused()):
            table.append((way.name, size, steps_per_second(make_stack(size, "cuda"), way)))
    base = table[0][2]
    print(f"{'path':26s}{'stack':>6s}{'network-steps/s':>18s}{'ratio':>9s}{'TFLOP/s':>9s}")
    for name, size, rate in table:
        print(f"{name:26s}{size:6d}{rate:18,.0f}{rate / base:9.0f}{rate * OPERATIONS / 1e12:9.1f}")
    if chosen.out:
        with open(chosen.out, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["path", "stack", "network_steps_per_second"])
            writer.writerows([(name, size, round(rate)) for name, size, rate in table])
    if not chosen.quick:
        check_relu()
        check_memory()


if __name__ == "__main__":
    main()
