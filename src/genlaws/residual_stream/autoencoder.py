"""The compressing autoencoder: sizes that shrink by one factor from layer to layer, and its training."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from genlaws.numerics.arguments import whole_number
from genlaws.numerics.errors import ConvergenceError

LEARNING_RATE = 1e-3
ROUNDING = 1e-9  # relative; a power that is whole but for rounding is not floored to the number below


def layer_sizes(width: int, layers: int = 10, bottleneck: int = 2) -> tuple[int, ...]:
    r"""Return the sizes of the encoder's layers; the decoder has the same in the opposite order.

    .. math:: d_i = \lfloor D r^i \rfloor, \qquad r = (d/D)^{1/(k-1)}, \qquad i = 0, \dots, k-1

    Symbols: :math:`D` is ``width``, :math:`k` is ``layers`` and :math:`d` is ``bottleneck``.

    Parameters
    ----------
    width : int
        Number of units of a state.
    layers : int >= 2
        The states and the bottleneck are counted, so there are ``layers - 1`` maps.
    bottleneck : int in [1, width]
    """
    width = whole_number("width", width, at_least=1)
    layers = whole_number("layers", layers, at_least=2)
    bottleneck = whole_number("bottleneck", bottleneck, at_least=1, at_most=width)
    ratio = (bottleneck / width) ** (1.0 / (layers - 1))
    inner = (math.floor(width * ratio**layer * (1.0 + ROUNDING)) for layer in range(1, layers - 1))
    return (width, *inner, bottleneck)


class Autoencoder(nn.Module):
    """Encoder and decoder; every map but the last of either is followed by LayerNorm and ReLU.

    Parameters
    ----------
    sizes : tuple of int
        From `layer_sizes`.
    seed : int
        Of the first weights, which are those that torch gives a linear map.
    """

    def __init__(self, sizes: tuple[int, ...], seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.encoder = _maps(sizes, generator)
        self.decoder = _maps(sizes[::-1], generator)

    def forward(self, states: Tensor) -> Tensor:
        """Return what is left of states (rows, units) after the bottleneck."""
        rebuilt: Tensor = self.decoder(self.encoder(states))
        return rebuilt


def _maps(sizes: tuple[int, ...], generator: torch.Generator) -> nn.Sequential:
    """Return linear maps between successive sizes; their weights are drawn from the generator alone."""
    parts: list[nn.Module] = []
    for place, (wide, narrow) in enumerate(pairwise(sizes)):
        linear = nn.utils.skip_init(nn.Linear, wide, narrow)  # type: ignore[no-untyped-call]
        bound = 1.0 / math.sqrt(wide)
        for weights in (linear.weight, linear.bias):
            nn.init.uniform_(weights, -bound, bound, generator=generator)
        parts += [linear] if place == len(sizes) - 2 else [linear, nn.LayerNorm(narrow), nn.ReLU()]
    return nn.Sequential(*parts)


@dataclass(frozen=True)
class Training:
    """How a training went.

    Attributes
    ----------
    training_losses, validation_losses : tuple of float
        After each epoch; the former is the mean during it.
    best_epoch : int
        Counted from 1; its weights are kept.
    stopped_early : bool
        Whether the loss of the held-out texts had not fallen for as long as the patience lasts.
    """

    training_losses: tuple[float, ...]
    validation_losses: tuple[float, ...]
    best_epoch: int
    stopped_early: bool


def train(
    network: Autoencoder,
    batches: Callable[[], list[Callable[[], Tensor]]],
    held_out: Callable[[], list[Callable[[], Tensor]]],
    *,
    epochs: int,
    patience: int,
    advance: Callable[[int], object] | None = None,
) -> Training:
    """Train an autoencoder by Adam on the mean squared error, and leave it with its best weights.

    Parameters
    ----------
    network : Autoencoder
    batches : function
        Returns the batches of one epoch in their order, each as a function that reads its states (rows, units).
    held_out : function
        Returns batches of the texts that decide when to stop.
    epochs : int
        The most that are run.
    patience : int
        Epochs without a smaller loss of the held-out texts, after which training stops.
    advance : callable, optional
        Called with 1 after each epoch.
    """
    steps = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    best: dict[str, Tensor] = {}
    found: tuple[list[float], list[float]] = ([], [])
    best_epoch, lowest = 0, math.inf
    for epoch in range(1, epochs + 1):
        network.train()
        found[0].append(_mean_loss(network, batches(), steps))
        network.eval()
        with torch.no_grad():
            found[1].append(_mean_loss(network, held_out(), None))
        if found[1][-1] < lowest:
            best_epoch, lowest = epoch, found[1][-1]
            best = {name: weights.detach().clone() for name, weights in network.state_dict().items()}
        if advance is not None:
            advance(1)
        if epoch - best_epoch >= patience:
            break
    if not best:
        raise ConvergenceError("The autoencoder's loss was not a finite number in any epoch.", found)
    network.load_state_dict(best)
    return Training(tuple(found[0]), tuple(found[1]), best_epoch, len(found[0]) - best_epoch >= patience)


def _mean_loss(network: Autoencoder, batches: list[Callable[[], Tensor]], steps: torch.optim.Optimizer | None) -> float:
    """Return the mean squared error over batches, taking a step after each if there is an optimiser."""
    total, count = 0.0, 0
    for read in batches:
        states = read()
        loss = torch.nn.functional.mse_loss(network(states), states)
        if steps is not None:
            steps.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            steps.step()
        total, count = total + float(loss.detach()) * len(states), count + len(states)
    return total / count
