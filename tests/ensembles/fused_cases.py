"""Run the Triton kernels in Triton's interpreter and print how far they are from double precision, as JSON.

A program of its own, because the interpreter has to be chosen before Triton is loaded.
"""

import json
import sys
from itertools import product

import torch

from genlaws.ensembles import Adam, AdamW, PairPerceptron, Sgd, WholeSet
from genlaws.ensembles.architecture import Workspace
from genlaws.ensembles.fused.adam import fused_adam
from genlaws.ensembles.fused.pairs import fused_loss_and_gradient, fused_pairs_fit
from genlaws.ensembles.fused.update import fused_fits, fused_update
from genlaws.ensembles.optimizers import PartRates, Portion
from genlaws.ensembles.stack import Stack

MODES = ("concatenate", "difference")
HIDDEN = ((33,), (20, 20), (50, 50, 50))
LOSSES = ("logistic", "squared", "hinge")
PAIRS = 150  # more than a tile, and no multiple of it


def examples(network, networks, pairs, *, shared, weighted):
    count = 1 if shared else networks
    first, second = torch.randint(network.elements, (2, count, pairs))
    target = torch.randint(2, (count, pairs, 1)).float()
    batch = {"first": first, "second": second, "target": target}
    if network.decoder.loss == "hinge":
        batch["target"] = 2.0 * target - 1.0
    if weighted:
        batch["weight"] = (torch.rand(networks, pairs) < 0.8) * torch.rand(networks, pairs)
    return batch


def errors(network, *, scale=1.0, networks=2, pairs=PAIRS, shared=False, weighted=False):
    """Return the largest relative errors of losses, and of the gradient by each parameter."""
    torch.manual_seed(0)
    rows = network.layout.start(list(range(networks)), scale).float()
    batch = examples(network, networks, pairs, shared=shared, weighted=weighted)
    gradient = torch.full_like(rows, torch.nan)
    losses = fused_loss_and_gradient(network, rows, batch, gradient)
    exact = torch.zeros_like(rows, dtype=torch.float64)
    double = {name: one.double() if one.is_floating_point() else one for name, one in batch.items()}
    views = network.layout.views
    right = network.loss_and_gradient(views(rows.double()), double, views(exact), Workspace())
    found = {"loss": ((losses - right) / right).abs().max().item()}
    for name, place in network.layout.places.items():
        found[name] = ((gradient - exact)[:, place].norm() / exact[:, place].norm()).item()
    return found


def pair_errors():
    found = {}
    for mode, hidden, loss, weighted in product(MODES, HIDDEN, LOSSES, (False, True)):
        network = PairPerceptron(30, 2, hidden, mode=mode, loss=loss)
        name = f"{mode}, {len(hidden)} layers, {loss}, {'own pairs with weights' if weighted else 'shared pairs'}"
        found[name] = errors(network, shared=not weighted, weighted=weighted)
    found["as large as allowed"] = errors(PairPerceptron(128, 7, (63, 63, 63)), pairs=300)
    found["as wide as allowed"] = errors(PairPerceptron(128, 15, (63,), mode="difference"), pairs=129)
    found["as small as possible"] = errors(PairPerceptron(1, 1, (1,)), pairs=1)
    found["one tile"] = errors(PairPerceptron(5, 2, (6, 6)), pairs=128)
    return found


def scale_errors():
    """Return the errors of networks whose numbers are small or large."""
    small = PairPerceptron(12, 2, (20, 20))
    return {
        "small decoder": errors(small, scale={"embedding": 1.0, "decoder": 0.01}),
        "small embedding": errors(small, scale={"embedding": 1e-4, "decoder": 1.0}),
        "large embedding": errors(small, scale={"embedding": 1e6, "decoder": 1e-3}),
    }


def adam_errors(optimizer):
    """Return the largest differences from torch in rows, moments and outside the part, after three updates."""
    torch.manual_seed(0)
    networks, numbers, before = 3, 1500, 7
    own = slice(before, before + numbers)
    full = [torch.randn(networks, numbers + 2 * before) for _ in range(4)]
    full[3].abs_()
    rates = torch.tensor([[1e-3], [2e-3], [3e-3]]), torch.tensor([[0.1], [0.2], [0.0]])

    def updated(update, kind):
        state = [one.clone().to(kind) for one in full]
        part = Portion(*(one[:, own] for one in state[:2]), [one[:, own] for one in state[2:]], torch.empty(0))
        part = Portion(part.rows, part.gradient, part.moments, torch.empty_like(part.rows))
        for step in range(1, 4):
            given = PartRates(own, *(one.to(kind) for one in rates), True)
            update(part, given, torch.tensor(float(step), dtype=torch.float64))
        return state

    exact = updated(optimizer.update, torch.float64)
    found = updated(lambda *given: fused_adam(optimizer, *given), torch.float32)
    inside = [(one - other)[:, own].abs().max().item() for one, other in zip(found, exact, strict=True)]
    outside = [
        (one != other)[:, [*range(before), *range(-before, 0)]].sum().item()
        for one, other in zip(found, full, strict=True)
    ]
    return {"inside": max(inside), "outside": sum(outside)}


def update_errors(optimizer):
    """Return how far three fused updates of a stack lie from three of its own, relative to the way."""
    network = PairPerceptron(12, 2, (20, 20))
    torch.manual_seed(0)
    batch = examples(network, 3, PAIRS, shared=False, weighted=True)
    start = network.layout.start([1, 2, 3]).float()
    columns = [torch.full((3, 1), value) for value in (1e-2, 0.1)]
    ends = []
    for update in (Stack.update, fused_update):
        rates = [PartRates(one, *columns, True) for one in network.layout.columns.values()]
        stack = Stack(network, optimizer, WholeSet(batch), start.clone(), rates)
        for _ in range(3):
            update(stack)
        ends.append((stack.rows, stack.loss, int(stack.step)))
    (rows, loss, step), (other, other_loss, other_step) = ends
    return {
        "rows": ((rows - other).norm() / (rows - start).norm()).item(),
        "loss": (loss - other_loss).abs().max().item(),
        "steps": [step, other_step],
        "fits": fused_fits(stack),
    }


def fits():
    return {
        name: fused_pairs_fit(PairPerceptron(*given, **settings))
        for name, given, settings in [
            ("all at the limit", (128, 7, (63, 63, 63)), {}),
            ("15 inputs", (5, 15, (9,)), {"mode": "difference"}),
            ("relu", (5, 2, (9,)), {"activation": "relu"}),
            ("no hidden layer", (5, 2, ()), {}),
            ("four hidden layers", (5, 2, (9, 9, 9, 9)), {}),
            ("unequal layers", (5, 2, (9, 8)), {}),
            ("64 units", (5, 2, (64,)), {}),
            ("two outputs", (5, 2, (9,), 2), {}),
            ("16 inputs", (5, 16, (9,)), {"mode": "difference"}),
            ("16 inputs of a pair", (5, 8, (9,)), {}),
            ("129 elements", (129, 2, (9,)), {}),
            ("squares", (5, 2, (9,)), {"mode": "squared_difference"}),
        ]
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    json.dump(
        {
            "pairs": pair_errors(),
            "scales": scale_errors(),
            "adam": {str(one): adam_errors(one) for one in (Adam(), AdamW(0.8, 0.99, 1e-6))},
            "updates": {str(one): update_errors(one) for one in (Adam(), AdamW(), Sgd(), Sgd(0.9))},
            "fits": fits(),
        },
        sys.stdout,
    )
