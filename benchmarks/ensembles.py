"""How many steps of small networks in a second, in stacks of several sizes, compared with one network in plain torch?

python benchmarks/ensembles.py

Two networks: the default relation network (30 embeddings in 2 dimensions, decoder 4-50-50-50-1, 675 pairs, full batch)
and the ReLU network of the semanticity paper (50 stimuli, hidden width 10, 128 fresh triples a step). Everything runs
on one thread; the plain loop and the stacks alternate, and ratios are medians over the rounds.
"""

from __future__ import annotations

import time
from functools import partial
from statistics import median

from one_thread import require_one_thread

require_one_thread()

import numpy as np  # noqa: E402
import torch  # noqa: E402
from ensembles_gpu import make_stack  # noqa: E402
from plain_networks import plain_relation_steps, plain_relu_steps  # noqa: E402

from genlaws.ensembles import Adam, FreshDraws  # noqa: E402
from genlaws.ensembles.architecture import per_network  # noqa: E402
from genlaws.ensembles.execution import Eager  # noqa: E402
from genlaws.ensembles.optimizers import rates_of  # noqa: E402
from genlaws.ensembles.stack import Stack  # noqa: E402
from genlaws.semanticity.networks.relu import SIMILARITY_WEIGHT, ReluNetwork, draw_relu_trials  # noqa: E402
from genlaws.semanticity.theory.finite_sets import stimulus_distances  # noqa: E402

ROUNDS = 7
RELATION_SIZES = (1, 2, 4, 8, 16, 32, 64)
RELU_SIZES = (1, 2, 5, 10, 20, 50, 100, 200)
TARGET_RATIOS = {"relation network": 1.5, "ReLU network": 20.0}


def relu_stack(networks: int) -> Stack:
    network = ReluNetwork(50, 10, SIMILARITY_WEIGHT, 0.0)
    layout = network.layout
    rows = layout.start(range(networks)).to(torch.float32)
    rates = rates_of(
        layout,
        per_network(7e-3, "rate", layout.parts, networks),
        per_network(0.0, "decay", layout.parts, networks),
        rows,
    )
    distances = torch.as_tensor(stimulus_distances("circle", 50))
    return Stack(
        network, Adam(), FreshDraws(partial(draw_relu_trials, distances, 2, 128), range(networks)), rows, rates
    )


def stack_rate(stack: Stack, steps: int) -> float:
    """Return network-steps in a second."""
    start = time.perf_counter()
    Eager().advance(stack, stack.made + steps)
    return len(stack) * steps / (time.perf_counter() - start)


def compare(name: str, plain, make, sizes: tuple[int, ...], work: int) -> None:
    """Print the rate of each stack and of the plain loop; every stack makes about `work` network-steps a round."""
    stacks = {size: make(size) for size in sizes}
    for stack in stacks.values():
        Eager().advance(stack, 3)
    plain(10)
    ratios: dict[int, list[float]] = {size: [] for size in sizes}
    rates: dict[int, list[float]] = {size: [] for size in sizes}
    base = []
    for _ in range(ROUNDS):
        base.append(plain(max(20, work // 4)))
        for size, stack in stacks.items():
            rates[size].append(stack_rate(stack, max(2, work // size)))
            ratios[size].append(rates[size][-1] / base[-1])
    print(f"{name}: plain torch, one network: {median(base):,.0f} steps/s")
    for size in sizes:
        spread = np.percentile(ratios[size], [0, 100])
        print(
            f"  stack of {size:4d}: {median(rates[size]):10,.0f} network-steps/s, "
            f"{median(ratios[size]):5.1f} times plain ({spread[0]:.1f} to {spread[1]:.1f})"
        )
    best = max(sizes, key=lambda size: median(ratios[size]))
    reached = median(ratios[best])
    print(f"  best: {best} networks, {reached:.1f}x; target {TARGET_RATIOS[name]:g}: {reached >= TARGET_RATIOS[name]}")


def main() -> None:
    torch.set_num_threads(1)
    compare("relation network", plain_relation_steps, partial(make_stack, device="cpu"), RELATION_SIZES, 200)
    compare("ReLU network", plain_relu_steps, relu_stack, RELU_SIZES, 2000)


if __name__ == "__main__":
    main()
