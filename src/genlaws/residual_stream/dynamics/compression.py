"""Compression of the residual stream by an autoencoder: its path in the bottleneck, and how much it reconstructs.

The sizes of the autoencoder's layers shrink by one factor from layer to layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from genlaws.core.arguments import Array, Whole, whole_number, within
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.core.running import Running, checked_running
from genlaws.models.stream import Stream
from genlaws.residual_stream.measures.curves import mean_curve
from genlaws.residual_stream.measures.projected_paths import pooled_axes
from genlaws.residual_stream.measures.reducers import precision_of, text_numbers
from genlaws.residual_stream.measures.samples import explained_shares, root_mean_square_normalized
from genlaws.residual_stream.results import Compression, Training

COMPRESSION_LEARNING_RATE = 1e-3
POWER_ROUNDING = 1e-9  # relative; a power that is an integer up to rounding is not floored to the next one
STUCK_MESSAGE = "The autoencoder explains less than equally many principal components: training is stuck; try restarts."
MIN_COMPRESSION_TEXTS = 4  # two for training, one for validation, one for testing


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
    inner = (math.floor(width * ratio**layer * (1.0 + POWER_ROUNDING)) for layer in range(1, layers - 1))
    return (width, *inner, bottleneck)


class Autoencoder(nn.Module):
    """Encoder and decoder; every map but the last of either is followed by LayerNorm and ReLU.

    Parameters
    ----------
    sizes : tuple of int
        From `layer_sizes`.
    seed : int
        Seed of the initial weights, drawn as torch draws those of a linear map.
    """

    def __init__(self, sizes: tuple[int, ...], seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.encoder = _linear_maps(sizes, generator)
        self.decoder = _linear_maps(sizes[::-1], generator)

    def forward(self, states: Tensor) -> Tensor:
        """Return the reconstruction of states (rows, units)."""
        rebuilt: Tensor = self.decoder(self.encoder(states))
        return rebuilt


def _linear_maps(sizes: tuple[int, ...], generator: torch.Generator) -> nn.Sequential:
    """Return linear maps between successive sizes; their weights are drawn from the generator alone."""
    parts: list[nn.Module] = []
    for place, (wide, narrow) in enumerate(pairwise(sizes)):
        linear = nn.utils.skip_init(nn.Linear, wide, narrow)  # type: ignore[no-untyped-call]
        bound = 1.0 / math.sqrt(wide)
        for weights in (linear.weight, linear.bias):
            nn.init.uniform_(weights, -bound, bound, generator=generator)
        parts += [linear] if place == len(sizes) - 2 else [linear, nn.LayerNorm(narrow), nn.ReLU()]
    return nn.Sequential(*parts)


def train_autoencoder(
    network: Autoencoder,
    batches: Callable[[], list[Callable[[], Tensor]]],
    held_out: Callable[[], list[Callable[[], Tensor]]],
    *,
    epochs: int,
    patience: int,
    running: Running | None = None,
) -> Training:
    """Train an autoencoder by Adam on the mean squared error, and leave it with its best weights.

    Parameters
    ----------
    network : Autoencoder
    batches : function
        Returns the batches of one epoch in their order, each as a function that reads its states (rows, units).
    held_out : function
        Returns batches of the validation texts, which decide when to stop.
    epochs : int
        Maximum number of epochs.
    patience : int
        Training stops after this many epochs without a smaller validation loss.
    running : Running, optional
        Its steps are the epochs.
    """
    steps = torch.optim.Adam(network.parameters(), lr=COMPRESSION_LEARNING_RATE)
    best: dict[str, Tensor] = {}
    found: tuple[list[float], list[float]] = ([], [])
    best_epoch, lowest = 0, math.inf
    shown = checked_running(running)
    shown.start(epochs, "epochs")
    for epoch in range(1, epochs + 1):
        network.train()
        found[0].append(_mean_loss(network, batches(), steps))
        network.eval()
        with torch.no_grad():
            found[1].append(_mean_loss(network, held_out(), None))
        if found[1][-1] < lowest:
            best_epoch, lowest = epoch, found[1][-1]
            best = {name: weights.detach().clone() for name, weights in network.state_dict().items()}
        shown.advance()
        if epoch - best_epoch >= patience:
            shown.advance(epochs - epoch)
            break
    if not best:
        raise ConvergenceError("The autoencoder's loss was not a finite number in any epoch.", found)
    network.load_state_dict(best)
    return Training(tuple(found[0]), tuple(found[1]), best_epoch, len(found[0]) - best_epoch >= patience)


def _mean_loss(network: Autoencoder, batches: list[Callable[[], Tensor]], steps: torch.optim.Optimizer | None) -> float:
    """Return the mean squared error over batches, taking a step after each if there is an optimizer."""
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


def compress(
    stream: Stream,
    *,
    layers: int = 10,
    bottleneck: int = 2,
    normalize: bool = False,
    validation_share: float = 0.15,
    test_share: float = 0.15,
    epochs: int = 100,
    patience: int = 10,
    restarts: int = 1,
    batch_size: int = 4,
    seed: int,
    texts: ArrayLike | None = None,
    device: str = "cpu",
    running: Running | None = None,
) -> Compression:
    """Train a compressing autoencoder on the states of all sites together and measure what it reconstructs.

    Parameters
    ----------
    stream : Stream
        Of at least four texts.
    layers : int >= 2
        Layers of the encoder, states and bottleneck included.
    bottleneck : int >= 1
    normalize : bool
        Divide each state by its root mean square first. Without it late sites, where states are large, make up most of
        the loss, and what is explained early is small for that reason alone.
    validation_share, test_share : float in (0, 1)
        Shares of the texts that decide when to stop, and that everything is measured on; at least one text each.
    epochs, patience : int >= 1
    restarts : int >= 1
        Trainings from different initial weights, of which the one with the smallest loss of the validation texts is
        used. A network this narrow often gets stuck far from its best, even below principal components; the message
        reports it.
    batch_size : int >= 1
        Rows of the stream, with all their sites, per training step.
    seed : int
        Seed of the split, the initial weights and the order of the batches; no global random state is changed.
    texts : whole numbers (rows,), optional
        Number of the text of each row, where a text has several; a text is in one part only.
    device : str
        Device of the training, such as ``cuda``.
    running : Running, optional
        Its steps are the epochs of all trainings.

    Notes
    -----
    The paper judged by the texts that also stopped the training; here the two are apart. States are centered and
    divided by their pooled standard deviation, which changes no share of variance.

    References
    ----------
    :cite:p:`fernando2025`, section 2 and Figure 3.
    """
    sizes = layer_sizes(stream.unit_count, layers, bottleneck)
    epochs, patience = whole_number("epochs", epochs, at_least=1), whole_number("patience", patience, at_least=1)
    batch_size, seed = whole_number("batch_size", batch_size, at_least=1), whole_number("seed", seed)
    numbers = text_numbers(texts, stream.text_count)
    generator = np.random.default_rng([seed, *b"compression"])
    parts = _split_texts(numbers, validation_share, test_share, generator)
    reader = _Reader(stream, parts[0], normalize, device)
    held_out = reader.batches(parts[1], batch_size)
    networks, trainings, shown = [], [], checked_running(running)
    shown.start(epochs * whole_number("restarts", restarts, at_least=1), "epochs")
    for first in np.random.SeedSequence(seed).generate_state(restarts):
        networks.append(Autoencoder(sizes, int(first)).to(device))
        found = train_autoencoder(
            networks[-1],
            lambda: reader.batches(generator.permutation(parts[0]), batch_size),
            lambda: held_out,
            epochs=epochs,
            patience=patience,
            running=shown.part(),
        )
        trainings.append(found)
    best = int(np.argmin([min(one.validation_losses) for one in trainings]))
    about = {"training": trainings[best], "sizes": sizes, "normalized": normalize}
    return _evaluate(reader, networks[best].eval(), parts, numbers, **about)


class _Reader:
    """States of chosen rows, less the mean of the training texts and divided by their standard deviation."""

    def __init__(self, stream: Stream, rows: Whole, normalize: bool, device: str) -> None:
        self.stream, self.normalize, self.device = stream, normalize, device
        total, squares, count = np.zeros(stream.unit_count), 0.0, 0
        for row in rows:  # a row at a time: the states may lie in a file
            states = self.plain(row)
            total, squares, count = total + states.sum(axis=0), squares + float((states**2).sum()), count + len(states)
        self.mean = total / count
        variance = squares / count - float(self.mean @ self.mean)
        if not variance > precision_of(stream.states) * squares / count:
            raise InputError("states must differ for anything to be compressed; all of them are the same.")
        self.unit = float(np.sqrt(variance / stream.unit_count))

    def plain(self, rows: int | Whole) -> Array:
        """Return states as they are, or divided by their root mean square."""
        states = self.stream.states[rows].astype(np.float64)
        return root_mean_square_normalized(states) if self.normalize else states

    def states(self, rows: Whole) -> Array:
        """Return states (rows, sites, units)."""
        return (self.plain(rows) - self.mean) / self.unit

    def tensor(self, rows: Whole) -> Tensor:
        """Return states (rows times sites, units) on the device."""
        flat = self.states(rows).reshape(-1, self.stream.unit_count).astype(np.float32)
        return torch.from_numpy(flat).to(self.device)

    def batches(self, rows: Whole, size: int) -> list[Callable[[], Tensor]]:
        """Return functions that read successive batches of rows."""

        def read(start: int) -> Callable[[], Tensor]:
            """Return the function that reads the batch from this place on."""
            return lambda: self.tensor(rows[start : start + size])

        return [read(start) for start in range(0, len(rows), size)]


def _split_texts(
    numbers: Whole, validation_share: float, test_share: float, generator: np.random.Generator
) -> tuple[Whole, Whole, Whole]:
    """Return the rows for training, validation and test; all rows of a text are in the same part."""
    shares = [
        float(within(name, share, 0.0, 1.0, open_low=True, open_high=True))
        for name, share in (("validation_share", validation_share), ("test_share", test_share))
    ]
    texts = generator.permutation(np.unique(numbers))
    if texts.size < MIN_COMPRESSION_TEXTS:
        raise InputError(
            f"stream must have at least {MIN_COMPRESSION_TEXTS} texts to train, validate and test; got {texts.size}."
        )
    stop, judge = (max(1, round(share * texts.size)) for share in shares)
    if texts.size - stop - judge < 2:
        raise InputError(
            f"validation_share and test_share must leave at least two training texts; of {texts.size} they take {stop} "
            f"and {judge}."
        )
    parts = np.split(texts, [texts.size - stop - judge, texts.size - judge])
    training, validation, test = (np.flatnonzero(np.isin(numbers, part)) for part in parts)
    return training, validation, test


def _evaluate(
    reader: _Reader, network: Autoencoder, parts: tuple[Whole, Whole, Whole], numbers: Whole, **about: Any
) -> Compression:
    """Return path and explained variance of the test texts."""
    texts, width = numbers[parts[2]], about["sizes"][-1]
    counts = [int(np.unique(numbers[part]).size) for part in parts]
    labels = tuple(site.name for site in reader.stream.sites)
    states = reader.states(parts[2])
    with torch.no_grad():
        codes = network.encoder(reader.tensor(parts[2]))
        rebuilt = network.decoder(codes).cpu().numpy().astype(np.float64).reshape(states.shape)
    code = codes.cpu().numpy().astype(np.float64).reshape(*states.shape[:2], -1)
    fitted = pooled_axes(reader.stream.take(parts[0].tolist()), components=width, normalize=reader.normalize)
    center = (fitted.center - reader.mean) / reader.unit
    linear = center + (states - center) @ fitted.axes @ fitted.axes.T
    lengths = np.linalg.norm(np.diff(code, axis=1), axis=2)
    # What is left of a constant after its mean is subtracted in single precision is rounding, not variance.
    rounding = precision_of(reader.stream.states) * np.sqrt((reader.plain(parts[2]) ** 2).sum(axis=2).mean(axis=0))
    shares = [
        explained_shares(states, states - guess, texts, rounding / reader.unit, name=name, labels=labels)
        for name, guess in (("explained variance", rebuilt), ("explained variance of components", linear))
    ]
    stuck = STUCK_MESSAGE if shares[0][1].value < shares[1][1].value else ""
    return Compression(
        sites=labels,
        path=tuple(mean_curve(f"path {one + 1}", labels, code[:, :, one], texts) for one in range(width)),
        step_length=mean_curve("step length", labels[:-1], lengths, texts),
        explained=shares[0][0],
        components_explained=shares[1][0],
        explained_pooled=shares[0][1],
        components_explained_pooled=shares[1][1],
        training_texts=counts[0],
        validation_texts=counts[1],
        test_texts=counts[2],
        message=f"{shares[0][0].message} {stuck}".strip(),
        **about,
    )
