"""A small residual network trained on handwritten digits in a second or two: a stream anyone can make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.datasets import load_digits  # type: ignore[import-untyped]
from torch import Tensor, nn

from genlaws.core.arguments import whole_number
from genlaws.core.estimate import Estimate, wilson_interval
from genlaws.models.stream import Site, Stream

PIXELS, CLASSES, MAX_BRIGHTNESS = 64, 10, 16.0
TRAINING_DIGITS = 1200  # of 1,797 digits; the stream is recorded on the others
DIGIT_BATCH_SIZE = 100
DIGIT_LEARNING_RATE = 2e-3


@dataclass(frozen=True)
class DigitStream:
    """The stream of digits that the network was not trained on.

    Attributes
    ----------
    stream, untrained : Stream
        After training, and of the same network before training; one site before each block and one at the end.
    accuracy : Estimate
        Share of these digits that are classified correctly.
    """

    stream: Stream
    untrained: Stream
    accuracy: Estimate


class _Block(nn.Module):
    """Adds to the state the output of two layers applied to the normalized state."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, state: Tensor) -> Tensor:
        """Return the next state."""
        written: Tensor = self.outer(torch.relu(self.inner(self.norm(state))))
        return state + written


class _Network(nn.Module):
    """Embeds a digit, passes it through the blocks, and reads the last state."""

    def __init__(self, blocks: int, width: int) -> None:
        super().__init__()
        self.embed = nn.Linear(PIXELS, width)
        self.blocks = nn.ModuleList(_Block(width) for _ in range(blocks))
        self.norm, self.read = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def states(self, digits: Tensor) -> list[Tensor]:
        """Return the state before each block and after the last."""
        found = [self.embed(digits)]
        for block in self.blocks:
            found.append(block(found[-1]))
        return found

    def forward(self, digits: Tensor) -> Tensor:
        """Return a score for each class."""
        scores: Tensor = self.read(self.norm(self.states(digits)[-1]))
        return scores


def digit_stream(*, blocks: int = 12, width: int = 64, epochs: int = 12, seed: int = 0) -> DigitStream:
    """Train a residual network on scikit-learn's digits and record the stream of the test digits.

    Parameters
    ----------
    blocks : int >= 2
        There is one site more than blocks.
    width : int >= 2
        Units of the stream.
    epochs : int >= 1
    seed : int
        Seed of the weights and of the order of the digits; torch's global generator is not changed.
    """
    whole_number("blocks", blocks, at_least=2)
    whole_number("width", width, at_least=2)
    whole_number("epochs", epochs, at_least=1)
    number = whole_number("seed", seed)
    loaded = load_digits()
    order = np.random.default_rng(number).permutation(len(loaded.target))
    digits = torch.tensor(loaded.data[order] / MAX_BRIGHTNESS, dtype=torch.float32)
    names = torch.tensor(loaded.target[order])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(number)
        network = _Network(blocks, width)
        before = _recorded(network, digits[TRAINING_DIGITS:])
        _train(network, digits[:TRAINING_DIGITS], names[:TRAINING_DIGITS], epochs)
    with torch.inference_mode():
        right = int((network(digits[TRAINING_DIGITS:]).argmax(dim=1) == names[TRAINING_DIGITS:]).sum())
    accuracy = wilson_interval(right, len(names) - TRAINING_DIGITS)
    return DigitStream(_recorded(network, digits[TRAINING_DIGITS:]), before, accuracy)


def _train(network: nn.Module, digits: Tensor, names: Tensor, epochs: int) -> None:
    optimizer = torch.optim.Adam(network.parameters(), lr=DIGIT_LEARNING_RATE)
    for _ in range(epochs):
        for rows in torch.split(torch.randperm(len(names)), DIGIT_BATCH_SIZE):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(digits[rows]), names[rows]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()


def _recorded(network: _Network, digits: Tensor) -> Stream:
    with torch.inference_mode():
        states = torch.stack(network.states(digits), dim=1).double().numpy()
    count = states.shape[1] - 1
    return Stream(states, (*(Site(layer, "block") for layer in range(count)), Site(count, "end")))
