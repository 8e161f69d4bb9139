"""One network at a time in plain torch, as a careful user would write it: the baseline of the stacks."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import torch
from torch import nn

ELEMENTS, PAIRS, HIDDEN = 30, 675, (50, 50, 50)
STIMULI, WIDTH, BATCH, MIN_SIMILARITY = 50, 10, 128, 1e-10


def relation_examples(networks: int, seed: int = 0) -> dict[str, torch.Tensor]:
    """Return for each network its own 675 pairs of the relation "equal modulo 3"."""
    rng = np.random.default_rng(seed)
    chosen = np.stack([rng.permutation(ELEMENTS**2)[:PAIRS] for _ in range(networks)])
    first, second = chosen // ELEMENTS, chosen % ELEMENTS
    target = ((first - second) % 3 == 0).astype(np.float32)[..., None]
    return {"first": torch.as_tensor(first), "second": torch.as_tensor(second), "target": torch.as_tensor(target)}


def plain_relation_steps(steps: int, device: str = "cpu") -> float:
    """Return steps in a second of one relation network."""
    data = {name: one[0].to(device) for name, one in relation_examples(1).items()}
    table = nn.Embedding(ELEMENTS, 2, device=device)
    sizes = (4, *HIDDEN, 1)
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after, device=device), nn.Tanh()]
    decoder = nn.Sequential(*layers[:-1])
    optimizer = torch.optim.Adam([*table.parameters(), *decoder.parameters()], lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        outputs = decoder(torch.cat([table(data["first"]), table(data["second"])], dim=1))
        nn.functional.binary_cross_entropy_with_logits(outputs, data["target"]).backward()
        optimizer.step()

    return _rate(step, steps, device)


def plain_relu_steps(steps: int) -> float:
    """Return steps in a second of one ReLU network on one-hot triples, as the formula is written."""
    weights = nn.Parameter(2.0 * torch.rand(WIDTH, STIMULI))
    optimizer = torch.optim.Adam([weights], lr=7e-3)
    places = torch.arange(STIMULI)
    apart = (places[:, None] - places).abs()
    distance = torch.minimum(apart, STIMULI - apart)

    def step() -> None:
        one, other, probe = torch.randint(STIMULI, (3, BATCH))
        hidden = [weights @ nn.functional.one_hot(which, STIMULI).to(weights.dtype).T for which in (one, other, probe)]
        g_one, g_other = (torch.relu((item * hidden[2]).sum(0)) + MIN_SIMILARITY for item in hidden[:2])
        first_nearer = distance[one, probe] < distance[other, probe]
        right = torch.where(first_nearer, g_one, g_other)
        untied = distance[one, probe] != distance[other, probe]
        loss = -0.1 * torch.log(right / (g_one + g_other))[untied].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return _rate(step, steps)


def _rate(step, steps: int, device: str = "cpu") -> float:
    for _ in range(10):
        step()
    _wait(device)
    start = time.perf_counter()
    for _ in range(steps):
        step()
    _wait(device)
    return steps / (time.perf_counter() - start)


def _wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()
