r"""Two networks on stimuli of several features: one map for each feature, or one for all of them.

Both hold a vector :math:`w_{s,v}` for each value v of each feature s.

- *Slots*: features are compared within their slot, :math:`g_s = \mathrm{ReLU}(w_{s,x_s}\cdot w_{s,y_s}) + 10^{-10}`,
  and the similarity of two stimuli is the largest :math:`g_s`, their mean or their product.
- *Shared*: a stimulus is one vector, :math:`h_x = \sum_s w_{s,x_s}`, and
  :math:`g = \mathrm{ReLU}(h_x\cdot h_y) + 10^{-10}`.

With one feature both are the ReLU network of :cite:p:`nurisso2026`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor
from torch.nn import functional

from genlaws.ensembles.architecture import Workspace
from genlaws.ensembles.layout import Layout, Parameter, Tensors
from genlaws.ensembles.lookup import sum_by_entry, sum_by_pair

COMBINATIONS = ("max", "mean", "product")
FLOOR = 1e-10
LARGEST_START = 2.0  # vectors start uniform between 0 and this


def combine_dots(dots: Tensor, combine: str) -> tuple[Tensor, Tensor]:
    """Return the logarithm of the similarity of each pair and its derivative by each dot product.

    Parameters
    ----------
    dots : tensor of shape (..., slots)
    combine : {"max", "mean", "product"}
    """
    g = dots.relu() + FLOOR
    alive = (dots > 0).to(dots.dtype)
    if combine == "product":
        return g.log().sum(-1), alive / g
    if combine == "mean":
        mean = g.mean(-1, keepdim=True)
        return mean.log().squeeze(-1), alive / (dots.shape[-1] * mean)
    largest, slot = g.max(-1, keepdim=True)
    chosen = torch.zeros_like(dots).scatter_(-1, slot, 1.0)
    return largest.log().squeeze(-1), chosen * alive / largest


def choice_loss(nearer: Tensor, farther: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    r"""Return the mean of :math:`-\log P(\text{nearer})` by Luce's rule, (networks,), and its derivative.

    Parameters
    ----------
    nearer, farther : tensors of shape (networks, rows)
        Logarithms of similarities; the derivative is that by `nearer`, and by `farther` it is the opposite.
    weight : tensor of shape (networks, rows)
        0 for the triples that are left out.
    """
    share = weight.to(nearer.dtype)
    share = share / share.sum(1, keepdim=True).clamp(min=1.0)
    behind = farther - nearer
    return -(functional.logsigmoid(-behind) * share).sum(1), -torch.sigmoid(behind) * share


class FeatureNetwork(ABC):
    """What both networks have in common: the vectors, (slots, values, width), and the loss on triples.

    A batch holds ``probe``, ``nearer`` and ``farther``, whole numbers of shape (networks, rows, slots), and ``weight``.

    Parameters
    ----------
    slots, ring_size, width : int
    """

    def __init__(self, slots: int, ring_size: int, width: int) -> None:
        self.slots, self.ring_size, self.width = slots, ring_size, width
        maps = Parameter("maps", (slots, ring_size, width), "maps", "uniform", 0.0, LARGEST_START)
        self.layout = Layout([maps])

    @abstractmethod
    def log_similarity(self, maps: Tensor, probe: Tensor, item: Tensor) -> Tensor:
        """Return log g of pairs, (networks, rows)."""

    @abstractmethod
    def all_log_similarities(self, maps: Tensor, stimuli: Tensor) -> Tensor:
        """Return log g between all stimuli of a set, (networks, stimuli, stimuli), from (networks, stimuli, slots)."""

    @abstractmethod
    def reconstruction(self, maps: Tensor, stimuli: Tensor) -> Tensor:
        """Return ReLU(WᵀWx), (networks, rows, slots, values)."""

    def losses(self, values: Tensors, batch: Tensors, reconstruction_weight: float = 0.0) -> Tensor:
        """Return the loss of each network, (networks,), for torch to differentiate."""
        maps = values["maps"]
        nearer, farther = (self.log_similarity(maps, batch["probe"], batch[name]) for name in ("nearer", "farther"))
        total = choice_loss(nearer, farther, batch["weight"])[0]
        if reconstruction_weight:
            target = functional.one_hot(batch["probe"], self.ring_size).to(maps.dtype)
            error = self.reconstruction(maps, batch["probe"]) - target
            total = total + reconstruction_weight * error.square().mean((1, 2, 3))
        return total


class SlotNetwork(FeatureNetwork):
    """One map for each feature; differentiated by hand through the dot products within each slot.

    Parameters
    ----------
    slots, ring_size, width : int
    combine : {"max", "mean", "product"}
    """

    def __init__(self, slots: int, ring_size: int, width: int, combine: str = "max") -> None:
        super().__init__(slots, ring_size, width)
        self.combine = combine

    def log_similarity(self, maps: Tensor, probe: Tensor, item: Tensor) -> Tensor:
        """Return log g of pairs, (networks, rows)."""
        return combine_dots(self._dots(maps @ maps.mT, self._places(probe, item)), self.combine)[0]

    def all_log_similarities(self, maps: Tensor, stimuli: Tensor) -> Tensor:
        """Return log g between all stimuli of a set, (networks, stimuli, stimuli)."""
        networks, count, slots = stimuli.shape
        by_slot = stimuli.mT
        gram = maps @ maps.mT
        rows = gram.gather(2, by_slot.unsqueeze(3).expand(networks, slots, count, self.ring_size))
        dots = rows.gather(3, by_slot.unsqueeze(2).expand(networks, slots, count, count))
        return combine_dots(dots.permute(0, 2, 3, 1), self.combine)[0]

    def reconstruction(self, maps: Tensor, stimuli: Tensor) -> Tensor:
        """Return ReLU(WᵀWx) of each slot, (networks, rows, slots, values)."""
        networks, rows, slots = stimuli.shape
        index = stimuli.mT.unsqueeze(3).expand(networks, slots, rows, self.ring_size)
        return (maps @ maps.mT).gather(2, index).relu().transpose(1, 2)

    def loss_and_gradient(self, values: Tensors, batch: Tensors, gradient: Tensors, space: Workspace) -> Tensor:
        """Write the gradient and return the losses; see `Architecture`.

        The vectors enter through :math:`K_s = W_s^T W_s` alone, so :math:`dW_s = W_s (dK_s + dK_s^T)`.
        """
        maps = values["maps"]
        gram = torch.matmul(maps, maps.mT, out=space.empty("gram", (*maps.shape[:3], self.ring_size), maps))
        rows = batch["probe"].shape[1]
        probe, items = batch["probe"].repeat(1, 2, 1), torch.cat([batch["nearer"], batch["farther"]], 1)
        log_g, by_dot = combine_dots(self._dots(gram, self._places(probe, items)), self.combine)
        losses, by_nearer = choice_loss(log_g[:, :rows], log_g[:, rows:], batch["weight"])
        by_dot.mul_(torch.cat([by_nearer, -by_nearer], 1).unsqueeze(2))
        numbers, first, second = (one.mT.flatten(0, 1) for one in (by_dot, probe, items))
        by_gram = sum_by_pair(numbers, first, second, self.ring_size).view_as(gram)
        torch.matmul(by_gram + by_gram.mT, maps, out=gradient["maps"])
        return losses

    def _places(self, probe: Tensor, item: Tensor) -> Tensor:
        """Return where the pairs of values lie among the dot products, (networks, rows, slots)."""
        slot = torch.arange(self.slots, device=probe.device)
        return (slot * self.ring_size + probe) * self.ring_size + item

    def _dots(self, gram: Tensor, places: Tensor) -> Tensor:
        return gram.flatten(1).gather(1, places.flatten(1)).view(places.shape)


class SharedNetwork(FeatureNetwork):
    """One map for all features, a single space in which the vectors of the features add up."""

    def log_similarity(self, maps: Tensor, probe: Tensor, item: Tensor) -> Tensor:
        """Return log g of pairs, (networks, rows)."""
        dots = (self._embedded(maps, probe) * self._embedded(maps, item)).sum(2, keepdim=True)
        return combine_dots(dots, "max")[0]

    def all_log_similarities(self, maps: Tensor, stimuli: Tensor) -> Tensor:
        """Return log g between all stimuli of a set, (networks, stimuli, stimuli)."""
        h = self._embedded(maps, stimuli)
        return combine_dots((h @ h.mT).unsqueeze(3), "max")[0]

    def reconstruction(self, maps: Tensor, stimuli: Tensor) -> Tensor:
        """Return ReLU(WᵀWx), (networks, rows, slots, values)."""
        flat = self._embedded(maps, stimuli) @ maps.flatten(1, 2).mT
        return flat.relu().view(*stimuli.shape, self.ring_size)

    def loss_and_gradient(self, values: Tensors, batch: Tensors, gradient: Tensors, space: Workspace) -> Tensor:
        """Write the gradient and return the losses; see `Architecture`."""
        maps = values["maps"]
        stimuli = torch.cat([batch["probe"], batch["nearer"], batch["farther"]], 1)
        h = self._embedded(maps, stimuli).view(len(maps), 3, -1, self.width)
        probe, items = h[:, :1], h[:, 1:]
        log_g, by_dot = combine_dots((probe * items).sum(3, keepdim=True), "max")
        losses, by_nearer = choice_loss(log_g[:, 0], log_g[:, 1], batch["weight"])
        by_dot.mul_(torch.stack([by_nearer, -by_nearer], 1).unsqueeze(3))
        by_stimulus = torch.cat([(by_dot * items).sum(1, keepdim=True), by_dot * probe], 1).flatten(1, 2)
        repeated = by_stimulus.unsqueeze(2).expand(-1, -1, self.slots, -1).flatten(1, 2)
        summed = sum_by_entry(repeated, self._entries(stimuli).flatten(1), self.slots * self.ring_size)
        gradient["maps"].copy_(summed.view_as(maps))
        return losses

    def _entries(self, stimuli: Tensor) -> Tensor:
        """Return which vectors of a network belong to each stimulus, (networks, rows, slots)."""
        return stimuli + self.ring_size * torch.arange(self.slots, device=stimuli.device)

    def _embedded(self, maps: Tensor, stimuli: Tensor) -> Tensor:
        """Return the sum of the vectors of each stimulus, (networks, rows, width)."""
        networks, rows, slots = stimuli.shape
        first = torch.arange(networks, device=stimuli.device) * (slots * self.ring_size)
        entries = (self._entries(stimuli) + first[:, None, None]).reshape(networks * rows, slots)
        return functional.embedding_bag(entries, maps.reshape(-1, self.width), mode="sum").view(networks, rows, -1)


def feature_network(kind: str, slots: int, ring_size: int, width: int, combine: str) -> SlotNetwork | SharedNetwork:
    """Return the architecture of a kind, slots or shared."""
    if kind == "shared":
        return SharedNetwork(slots, ring_size, width)
    return SlotNetwork(slots, ring_size, width, combine)
