"""What slot networks are trained and tested on: triples of stimuli, drawn afresh, and all triples of a set."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from genlaws.ensembles import Live, streams
from genlaws.ensembles.batches import Draw
from genlaws.ensembles.layout import Tensors
from genlaws.numerics.arguments import Whole
from genlaws.semanticity.feature_rings import steps_apart
from genlaws.semanticity.slot_architecture import SharedNetwork, SlotNetwork

DIGIT_BITS = 40  # of the 53 of a random number that become features; the rest keeps them uniform


def draw_triples(slots: int, ring_size: int, truth: str, rows: int) -> Draw:
    """Return the function that draws triples: probe, nearer and farther item, and weight 0 for those left out.

    One random number gives several features, the first digits of its expansion to the base of the ring's size.
    """
    digits = min(slots, max(1, int(DIGIT_BITS / np.log2(ring_size))))
    groups = -(-slots // digits)

    def apart(first: Tensor, second: Tensor) -> Tensor:
        """Return how many steps lie between stimuli, summed over features or the least."""
        difference = (first - second).abs_()
        steps = torch.minimum(difference, ring_size - difference)
        return steps.sum(-1) if truth == "mean" else steps.amin(-1)

    def draw(keys: Tensor, steps: Tensor) -> Tensors:
        """Draw the triples of some steps for all networks."""
        rest = streams.uniforms(keys, steps, 3 * rows * groups).view(len(steps), len(keys), 3, rows, groups)
        values = torch.empty(*rest.shape[:-1], slots, dtype=torch.int32, device=rest.device)
        for digit in range(digits):
            rest = rest * ring_size
            here = values[..., digit::digits]
            here.copy_(rest[..., : here.shape[-1]])
            rest = rest.frac_()
        probe, one, other = values.unbind(2)
        to_one, to_other = apart(probe, one), apart(probe, other)
        swapped = (to_other < to_one).unsqueeze(-1)
        nearer, farther = torch.where(swapped, other, one), torch.where(swapped, one, other)
        fair = (to_one != to_other) & (nearer != probe).any(-1) & (farther != probe).any(-1)
        drawn = {"probe": probe, "nearer": nearer, "farther": farther}
        return {**{name: one.to(torch.int64) for name, one in drawn.items()}, "weight": fair.to(torch.float32)}

    return draw


class SetTests:
    """Both tests with two items over all triples of each network's own set of stimuli; ties are left out.

    Parameters
    ----------
    network : SlotNetwork or SharedNetwork
    sets : int array of shape (networks, stimuli, slots)
    truth : {"mean", "min"}
    device : torch.device
    """

    def __init__(self, network: SlotNetwork | SharedNetwork, sets: Whole, truth: str, device: torch.device) -> None:
        self.network = network
        distance = np.stack([steps_apart(one[:, None], one[None], network.ring_size, truth) for one in sets])
        count = distance.shape[1]
        distance[:, np.arange(count), np.arange(count)] = -1
        order = np.argsort(distance, axis=2, kind="stable")[:, :, 1:]
        self.stimuli, self.order = (torch.as_tensor(one, device=device) for one in (sets, order))
        self.distance = torch.as_tensor(np.take_along_axis(distance, order, axis=2), device=device)
        farther = [(self.distance[:, :, i, None] < self.distance[:, :, i + 1 :]).sum(2) for i in range(count - 2)]
        self.pairs = torch.stack(farther).sum(0)

    def __call__(self, live: Live) -> Tensors:
        """Return generalisation and identification, (networks,)."""
        own = live.number
        log_g = self.network.all_log_similarities(live.values["maps"], self.stimuli[own])
        copy = log_g.diagonal(dim1=1, dim2=2).unsqueeze(2)
        items, distance, pairs = log_g.gather(2, self.order[own]), self.distance[own], self.pairs[own]
        identification = torch.sigmoid(copy - items).mean((1, 2), dtype=torch.float64)
        right = torch.zeros_like(pairs, dtype=torch.float64)
        for i in range(items.shape[2] - 1):
            chosen = torch.sigmoid(items[:, :, i, None] - items[:, :, i + 1 :])
            right += chosen.mul_(distance[:, :, i, None] < distance[:, :, i + 1 :]).sum(2)
        judged = pairs > 0
        per_probe = torch.where(judged, right / pairs.clamp(min=1), 0.0)
        return {"generalisation": per_probe.sum(1) / judged.sum(1), "identification": identification}
