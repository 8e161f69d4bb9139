"""Every architecture there is, small, with what it is trained on and the loss of one network in plain torch."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from plain import PlainPairs, PlainPerceptron, plain_loss
from torch import nn

from genlaws.ensembles import (
    Differentiated,
    FreshDraws,
    Layout,
    Minibatches,
    Modules,
    PairPerceptron,
    ParameterArray,
    Perceptron,
    WholeSet,
)
from genlaws.semanticity.networks.relu import SIMILARITY_FLOOR, ReluNetwork, draw_relu_trials
from genlaws.semanticity.networks.slots import SIMILARITY_FLOOR as SLOT_FLOOR
from genlaws.semanticity.networks.slots import SharedNetwork, SlotNetwork, draw_triples
from genlaws.semanticity.theory.finite_sets import stimulus_distances

ROWS = 24


@dataclass(frozen=True)
class Kind:
    """An architecture, its batches for given seeds, and the loss of plain torch for one network.

    `alone(values, place)` returns plain parameters by the layout's names, and a function from a batch of that network
    to its loss. `start(seeds, scale)` returns initial rows; `steps` is how many updates a large stack can afford.
    """

    name: str
    architecture: Any
    batches: Callable[[list[int]], Any]
    alone: Callable[[dict, int], tuple[dict[str, torch.Tensor], Callable]]
    start: Callable[..., torch.Tensor]
    steps: int = 25


def drawn(seeds, shape, low=None):
    """Return one array of random numbers for each seed, or whole numbers below `low`."""
    rngs = [np.random.default_rng(seed + 100) for seed in seeds]
    rows = [rng.standard_normal(shape) if low is None else rng.integers(0, low, shape) for rng in rngs]
    return torch.as_tensor(np.stack(rows))


def vectors(seeds, inputs=5, outputs=2, loss="squared"):
    target = drawn(seeds, (ROWS, outputs)) if loss == "squared" else drawn(seeds, (ROWS, outputs), 2).double()
    if loss == "hinge":
        target = 2.0 * target - 1.0
    weight = (drawn([seed + 7 for seed in seeds], (ROWS,)) < 0.8).double()
    return {"input": drawn([seed + 3 for seed in seeds], (ROWS, inputs)), "target": target, "weight": weight}


def pairs(seeds, elements=6):
    return {
        "first": drawn(seeds, (ROWS,), elements),
        "second": drawn([seed + 1 for seed in seeds], (ROWS,), elements),
        "target": drawn([seed + 2 for seed in seeds], (ROWS, 1), 2).double(),
    }


def weighted(losses, batch):
    """Return the mean over rows, by weight if there is one."""
    weight = batch.get("weight")
    return losses.mean() if weight is None else (losses * weight).sum() / weight.sum()


def perceptron_alone(network, values, place):
    module = PlainPerceptron(network, values, place)
    named = {}
    linears = [one for one in module.layers if isinstance(one, nn.Linear)]
    for layer, linear in enumerate(linears, start=1):
        named[f"weight_{layer}"] = linear.weight
        if network.bias:
            named[f"bias_{layer}"] = linear.bias
    return named, lambda batch: weighted(plain_loss(network.loss, module(batch["input"]), batch["target"]), batch)


def pairs_alone(network, values, place):
    module = PlainPairs(network, values, place)
    named = {"embedding": module.table.weight}
    linears = [one for one in module.decoder.layers if isinstance(one, nn.Linear)]
    for layer, linear in enumerate(linears, start=1):
        named |= {f"weight_{layer}": linear.weight, f"bias_{layer}": linear.bias}
    loss = network.decoder.loss
    return named, lambda batch: weighted(
        plain_loss(loss, module(batch["first"], batch["second"]), batch["target"]), batch
    )


def relu_alone(network, values, place):
    weights = nn.Parameter(values["weights"][place].clone())

    def loss(batch):
        products = weights.T @ weights
        g = torch.relu(products) + SIMILARITY_FLOOR
        seen = g[batch["items"], batch["probe"][:, None]]
        right = seen.gather(1, batch["right"][:, None]).squeeze(1)
        share = batch["weight"] / batch["weight"].sum()
        choice = -(share * torch.log(right / seen.sum(1))).sum()
        mistake = ((torch.relu(products) - torch.eye(network.stimuli)) ** 2).mean()
        return network.similarity_weight * choice + network.reconstruction_weight * mistake

    return {"weights": weights}, loss


class Convolution(nn.Module):
    """A network with convolution and batch normalization, for vectors of nine numbers."""

    def __init__(self):
        super().__init__()
        # Without a bias, which the normalization would undo: its gradient is nothing but rounding.
        self.convolution = nn.Conv2d(1, 2, 2, bias=False)
        self.norm = nn.BatchNorm2d(2)
        self.readout = nn.Linear(8, 2)

    def forward(self, images):
        return self.readout(torch.relu(self.norm(self.convolution(images.view(-1, 1, 3, 3)))).flatten(1))


def module_loss(call, batch):
    return ((call(batch["input"]) - batch["target"]) ** 2).mean()


def module_start(architecture, seeds, scale=1.0):
    """Return rows of modules that torch draws itself, one seed for each."""
    modules = []
    for seed in seeds:
        torch.manual_seed(seed)
        modules.append(Convolution().double())
    return scale * architecture.rows(modules)


def module_alone(architecture, values, place):
    module = Convolution().double()
    with torch.no_grad():
        for name, one in [*module.named_parameters(), *module.named_buffers()]:
            one.copy_(values[name][place])
    return dict(module.named_parameters()), partial(module_loss, module)


def quadratic(values, batch):
    """Return losses that are no perceptron's: a bilinear form, written for a stack."""
    form = torch.einsum("nri,nij,nrj->nr", batch["input"], values["form"], batch["input"])
    return ((form + values["shift"][:, None] - batch["target"][..., 0]) ** 2).mean(1)


def quadratic_alone(architecture, values, place):
    form, shift = (nn.Parameter(values[name][place].clone()) for name in ("form", "shift"))

    def loss(batch):
        found = torch.einsum("ri,ij,rj->r", batch["input"], form, batch["input"])
        return ((found + shift - batch["target"][..., 0]) ** 2).mean()

    return {"form": form, "shift": shift}, loss


def slot_similarity(network, maps, probe, item):
    """Return the similarity of pairs of stimuli, (rows,), slot by slot."""
    slots = range(network.slots)
    if isinstance(network, SharedNetwork):
        one, other = (sum(maps[slot, stimuli[:, slot]] for slot in slots) for stimuli in (probe, item))
        return torch.relu((one * other).sum(1)) + SLOT_FLOOR
    g = [torch.relu((maps[s, probe[:, s]] * maps[s, item[:, s]]).sum(1)) + SLOT_FLOOR for s in slots]
    if network.combine == "max":
        return torch.stack(g).amax(0)
    return torch.stack(g).mean(0) if network.combine == "mean" else torch.stack(g).prod(0)


def slots_alone(network, values, place):
    maps = nn.Parameter(values["maps"][place].clone())

    def loss(batch):
        nearer, farther = (slot_similarity(network, maps, batch["probe"], batch[one]) for one in ("nearer", "farther"))
        return -(batch["weight"] * torch.log(nearer / (nearer + farther))).sum() / batch["weight"].sum()

    return {"maps": maps}, loss


def triples(seeds, truth="mean"):
    return FreshDraws(draw_triples(3, 7, truth, ROWS), seeds)


def trials(seeds, items):
    d = torch.as_tensor(stimulus_distances("circle", 9))
    return FreshDraws(partial(draw_relu_trials, d, items, ROWS), seeds)


def images(seeds):
    batch = vectors(seeds, inputs=9)
    return WholeSet({"input": batch["input"], "target": batch["target"]})


def kind(name, architecture, batches, alone, start=None, steps=25):
    drawn_start = architecture.layout.start if start is None else partial(start, architecture)
    return Kind(name, architecture, batches, partial(alone, architecture), drawn_start, steps)


def all_kinds():
    """Return every kind, in the order of the tests."""
    torch.manual_seed(0)
    form = [ParameterArray("form", (5, 5), "form", "normal", high=0.2), ParameterArray("shift", (), "shift", "normal")]
    deep = Perceptron((5, 7, 6, 2), loss="squared")
    parted = Perceptron((5, 4, 2), "relu", "logistic", bias=False, parts=("first", "second"))
    linear = Perceptron((5, 1), loss="hinge")
    modules = Modules(Convolution().double(), module_loss)
    found = [
        kind("perceptron", deep, lambda s: WholeSet(vectors(s)), perceptron_alone),
        kind("perceptron in parts", parted, lambda s: WholeSet(vectors(s, loss="logistic")), perceptron_alone),
        kind("linear map", linear, lambda s: WholeSet(vectors(s, outputs=1, loss="hinge")), perceptron_alone),
        kind("minibatches", deep, lambda s: Minibatches(vectors(s), 7, s), perceptron_alone),
        kind("random batches", deep, lambda s: Minibatches(vectors(s), 7, s, "random"), perceptron_alone),
        kind("any loss", Differentiated(Layout(form), quadratic), lambda s: WholeSet(vectors(s)), quadratic_alone),
        kind("module", modules, images, module_alone, module_start, steps=4),
        kind("ReLU network", ReluNetwork(9, 4, 0.1, 1.0), partial(trials, items=2), relu_alone),
        kind("ReLU network, 3 items", ReluNetwork(9, 4, 0.1, 0.0), partial(trials, items=3), relu_alone),
        kind("shared network", SharedNetwork(3, 7, 4), triples, slots_alone),
    ]
    for combine in ("max", "mean", "product"):
        found.append(kind(f"slots, {combine}", SlotNetwork(3, 7, 4, combine), triples, slots_alone))
    for mode in ("concatenate", "difference", "squared_difference"):
        network = PairPerceptron(6, 2, (7, 7), mode=mode)
        found.append(kind(f"pairs, {mode}", network, lambda s: WholeSet(pairs(s)), pairs_alone))
    shallow = PairPerceptron(6, 2, (), loss="squared", activation="identity")
    found.append(kind("pairs, linear", shallow, lambda s: Minibatches(pairs(s), 5, s), pairs_alone))
    return found


KINDS = all_kinds()
