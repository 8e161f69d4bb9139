"""A long training takes no more memory than a short one."""

import gc
import os
from pathlib import Path

import pytest
import torch

from genlaws.ensembles import FreshDraws, Minibatches, Perceptron, Sgd, WholeSet, streams, train

STATM = Path("/proc/self/statm")
NETWORKS, ROWS, WIDTH = 40, 30, 3
WARM_UP_STEPS = 1000  # after which all stored tensors have been allocated
MAX_GROWTH_BYTES = 3e6  # bytes; storing the inputs of 2,000 steps would take 29 MB

pytestmark = pytest.mark.skipif(not STATM.exists(), reason="The memory of a process is read from the files of Linux.")


def resident():
    """Return the memory of this process in bytes."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def examples():
    inputs = torch.randn(NETWORKS, 4 * ROWS, WIDTH, generator=torch.Generator().manual_seed(0))
    return {"input": inputs, "target": inputs.sum(2, keepdim=True)}


def fresh(keys, steps):
    inputs = streams.uniforms(keys, steps, WIDTH * ROWS).view(len(steps), len(keys), ROWS, WIDTH)
    return {"input": inputs, "target": inputs.sum(3, keepdim=True)}


BATCHES = {
    "fresh": lambda: FreshDraws(fresh, range(NETWORKS)),
    "epochs": lambda: Minibatches(examples(), ROWS, range(NETWORKS)),
    "random": lambda: Minibatches(examples(), ROWS, range(NETWORKS), "random"),
    "whole": lambda: WholeSet({name: one[:, :ROWS] for name, one in examples().items()}),
}


def growth(batches, steps, every):
    """Return the bytes that a training has taken between the step where it has settled and the end."""
    seen = []

    def measure(live):
        if live.step in {WARM_UP_STEPS, steps}:
            seen.append(resident())
        return {"loss": live.loss}

    logs = [0, *range(WARM_UP_STEPS, steps + 1, every)]  # at the start room is made for all logs
    settings = {"seeds": range(NETWORKS), "steps": steps, "log_at": logs, "measure": measure, "optimizer": Sgd(0.5)}
    train(Perceptron((WIDTH, 1), loss="squared"), batches(), **settings)
    first, last = seen
    return last - first


@pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("every", [2000, 10], ids=["no log", "a log every 10 steps"])
def test_no_growth(batches, every):
    assert growth(batches, 3000, every) <= MAX_GROWTH_BYTES


@pytest.mark.long
@pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("every", [99_000, 10], ids=["no log", "a log every 10 steps"])
def test_no_growth_over_many_steps(batches, every):
    """Nor by fragmentation from small stored tensors, which takes some thousand logs to show."""
    assert growth(batches, 100_000, every) <= MAX_GROWTH_BYTES
