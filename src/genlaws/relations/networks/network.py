r"""Networks that learn a relation from some of its entries, many at once.

Each element has an embedding :math:`E_i \in \mathbb R^d`; a decoder of hidden layers answers from
:math:`[E_i, E_j]`, from :math:`E_i - E_j`, or from its square whether i and j are related.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from genlaws.core.arguments import Array, Mask, fits_memory, fraction, non_negative, one_of, positive, whole_number
from genlaws.core.errors import InputError
from genlaws.core.running import Running, checked_running
from genlaws.ensembles import Checkpoint, Live, Minibatches, PairPerceptron, TrainedStack, WholeSet, train
from genlaws.ensembles.architecture import Tensors
from genlaws.ensembles.batches import Batches
from genlaws.ensembles.optimizers import OPTIMIZERS
from genlaws.ensembles.training import read_device
from genlaws.relations import parameters
from genlaws.relations.networks.runs import RelationRuns
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.relation import Relation

MAX_NETWORKS = 100_000
PRECISIONS = {"single": torch.float32, "double": torch.float64}
DEFAULT_LOG_COUNT = 200  # measurements in a training
# Bytes of one parameter: drawn in double precision, then stored with gradient and two moments in single precision.
PARAMETER_BYTES, ACTIVATION_BYTES = 24, 4


def train_networks(
    relation: str | Relation,
    *,
    train_fraction: ArrayLike = 0.75,
    seeds: Sequence[int] = (0,),
    dimension: int = 2,
    depth: int = 3,
    width: int = 50,
    mode: str = "concatenate",
    activation: str = "tanh",
    encoder_rate: ArrayLike = 1e-3,
    decoder_rate: ArrayLike = 1e-3,
    encoder_decay: ArrayLike = 0.0,
    decoder_decay: ArrayLike = 0.0,
    embedding_scale: ArrayLike = 1.0,
    decoder_scale: ArrayLike = 1.0,
    label_noise: ArrayLike = 0.0,
    optimizer: str = "adam",
    batch_size: int | None = None,
    steps: int = 10_000,
    log_at: Sequence[int] | None = None,
    stop_at: float | None = None,
    keep_embeddings: bool = False,
    precision: str = "single",
    device: str = "cpu",
    path: str = "auto",
    checkpoint: Checkpoint | None = None,
    running: Running | None = None,
) -> RelationRuns:
    """Train networks, which may differ in rates, scales and training sets, and measure them along the way.

    Parameters
    ----------
    relation, dimension, depth, width, mode, activation, optimizer, batch_size, steps, stop_at, precision :
        As in :func:`~genlaws.relations.networks.learned.learn_relation`.
    train_fraction, encoder_rate, decoder_rate, encoder_decay, decoder_decay : float, or one for each network
        Likewise, as are `embedding_scale`, `decoder_scale` and `label_noise`.
    seeds : sequence of int
        One network each: its entries, noise, initial values and batches.
    log_at : sequence of int, optional
        When to measure; by default 200 times, evenly spaced.
    keep_embeddings : bool
        Store the embeddings at every log.
    device, path, checkpoint, running :
        See ``genlaws.ensembles.train``.
    """
    known = named_relation(relation) if isinstance(relation, str) else relation
    one_of("mode", mode, parameters.DECODER_INPUTS)
    one_of("optimizer", optimizer, OPTIMIZERS)
    one_of("precision", precision, PRECISIONS)
    one_of("activation", activation, parameters.ACTIVATIONS)
    read_device(device)
    numbers = [whole_number("seeds", one) for one in islice(seeds, MAX_NETWORKS + 1)]
    if not 1 <= len(numbers) <= MAX_NETWORKS:
        raise InputError(
            f"seeds must name at least one network and at most {MAX_NETWORKS:,}; got {'more' if numbers else 'none'}."
        )
    count = len(numbers)
    hidden = _hidden_layers(known, dimension, depth, width, count, device)
    network = PairPerceptron(known.element_count, dimension, hidden, mode=mode, activation=activation)
    train_share = _each("train_fraction", fraction, train_fraction, count)
    drawn = _draw_tables(known, train_share, _each("label_noise", fraction, label_noise, count), numbers)
    rates = _by_part("rate", positive, (encoder_rate, decoder_rate), count)
    logs = _log_steps(whole_number("steps", steps, at_least=1, at_most=parameters.MAX_TRAINING_STEPS), log_at)
    scales = {
        "embedding": _each("embedding_scale", non_negative, embedding_scale, count),
        "decoder": _each("decoder_scale", non_negative, decoder_scale, count),
    }
    start = network.layout.start(numbers, scales)
    measure = _Measure(network, drawn, rates, start, keep_embeddings=keep_embeddings, device=device)
    level = None if stop_at is None else float(fraction("stop_at", stop_at))
    shown = checked_running(running)
    shown.start(steps, f"{known.label}: steps of {count} {'network' if count == 1 else 'networks'}")
    trained = train(
        network,
        _batches(drawn, batch_size, numbers),
        seeds=numbers,
        steps=steps,
        optimizer=OPTIMIZERS[optimizer],
        learning_rate=rates,
        weight_decay=_by_part("decay", non_negative, (encoder_decay, decoder_decay), count),
        start=start,
        log_at=logs,
        measure=measure,
        finished=None if level is None else lambda found: torch.minimum(found["train"], found["test"]) > level,
        device=device,
        dtype=PRECISIONS[precision],
        path=path,
        checkpoint=checkpoint,
        running=shown.part(),
    )
    return _runs_of(trained, known, drawn)


def _hidden_layers(  # noqa: PLR0917
    relation: Relation, dimension: int, depth: int, width: int, networks: int, device: str
) -> list[int]:
    """Return the widths of the hidden layers, or raise if such networks would not fit into memory."""
    size = whole_number("dimension", dimension, at_least=1, at_most=parameters.MAX_DIMENSION, hint=parameters.SIZE_HINT)
    units = whole_number("width", width, at_least=1, at_most=parameters.MAX_WIDTH, hint=parameters.SIZE_HINT)
    layers = whole_number("depth", depth, at_most=parameters.MAX_DEPTH, hint=parameters.SIZE_HINT)
    n, weights = relation.element_count, (2 * size * units + (layers - 1) * units**2) if layers else 2 * size
    needed = PARAMETER_BYTES * (n * size + weights)
    if device == "cpu":  # every measurement evaluates the whole table
        needed += ACTIVATION_BYTES * n**2 * (2 * size + layers * units)
    fits_memory(
        "dimension, width, depth and the numbers of networks and elements",
        needed * networks,
        "Take smaller or fewer networks, or fewer elements.",
    )
    return [units] * layers


def _runs_of(trained: TrainedStack, relation: Relation, drawn: _Tables) -> RelationRuns:
    """Return a trained stack as runs on a relation."""
    found, count, size = trained.measured, len(drawn.training_mask), relation.element_count
    table = trained.values["embedding"].cpu().numpy().astype(np.float64)
    return RelationRuns(
        relation=relation,
        steps=trained.steps,
        train_accuracy=found["train"],
        test_accuracy=found["test"],
        table_accuracy=found["table"],
        balanced_accuracy=found["balanced"],
        loss=found["loss"],
        invariant_drift=found["drift"],
        embeddings=found.get("embeddings", np.empty((count, 0, *table.shape[1:]))),
        final_embeddings=table,
        training_mask=drawn.training_mask.reshape(count, size, size),
        majority_accuracy=relation.majority_accuracy,
        failed=trained.failed,
        device=trained.computed.device,
        dtype=trained.computed.dtype,
        path=trained.computed.path,
    )


@dataclass(frozen=True)
class _Tables:
    """Training sets: masks and labels of shape (networks, entries), and the truth."""

    element_count: int
    truth: Mask
    training_mask: Mask
    labels: Mask


def _draw_tables(relation: Relation, train_fraction: Array, label_noise: Array, seeds: list[int]) -> _Tables:
    """Return the training entries of each network, drawn with its seed, and their labels."""
    truth = relation.matrix.flatten()
    training_mask, labels = np.zeros((len(seeds), truth.size), dtype=bool), np.tile(truth, (len(seeds), 1))
    for place, seed in enumerate(seeds):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
        number = round(float(train_fraction[place]) * truth.size)
        if number < 1:
            raise InputError(f"train_fraction must include at least one entry; got {train_fraction[place]:g}.")
        chosen = rng.permutation(truth.size)[:number]
        training_mask[place, chosen] = True
        labels[place, chosen[: round(float(label_noise[place]) * number)]] ^= True
    return _Tables(relation.element_count, truth, training_mask, labels)


def _batches(drawn: _Tables, batch_size: int | None, seeds: list[int]) -> Batches:
    """Return the training entries of every network, padded with rows of weight 0 to the same length."""
    most = int(drawn.training_mask.sum(axis=1).max())
    order = np.argsort(~drawn.training_mask, axis=1, kind="stable")[:, :most]
    examples = {
        "first": torch.as_tensor(order // drawn.element_count),
        "second": torch.as_tensor(order % drawn.element_count),
        "target": torch.as_tensor(np.take_along_axis(drawn.labels, order, axis=1)[..., None].astype(np.float64)),
    }
    weight = np.take_along_axis(drawn.training_mask, order, axis=1)
    if not weight.all():
        examples["weight"] = torch.as_tensor(weight.astype(np.float64))
    if batch_size is None:
        return WholeSet(examples)
    return Minibatches(examples, min(most, whole_number("batch_size", batch_size, at_least=1)), seeds)


class _Measure:
    """Accuracies, embeddings and the conserved matrix of the networks in a stack."""

    def __init__(
        self,
        network: PairPerceptron,
        drawn: _Tables,
        rates: dict[str, Array],
        start: Tensor,
        *,
        keep_embeddings: bool,
        device: str,
    ) -> None:
        self.network, self.keep_embeddings = network, keep_embeddings
        entries = torch.arange(drawn.truth.size, device=device)
        self.first, self.second = (entries // drawn.element_count)[None], (entries % drawn.element_count)[None]
        self.truth = torch.as_tensor(drawn.truth, device=device)
        self.training_mask = torch.as_tensor(drawn.training_mask, device=device)
        self.rates = {part: torch.as_tensor(one, device=device)[:, None, None] for part, one in rates.items()}
        everyone = torch.arange(len(start), device=device)
        decoder, encoder = self._conserved(network.layout.views(start.to(device)), everyone)
        self.start = decoder - encoder
        self.scale = torch.linalg.matrix_norm(decoder) + torch.linalg.matrix_norm(encoder)

    def __call__(self, live: Live) -> Tensors:
        """Return the measurements to log."""
        right = (self.network.outputs(live.values, self.first, self.second)[..., 0] > 0) == self.truth
        training_mask = self.training_mask[live.number]
        sides = [_share(right, ~training_mask & side) for side in (self.truth, ~self.truth)]
        found = {
            "train": _share(right, training_mask),
            "test": _share(right, ~training_mask),
            "table": right.to(torch.float64).mean(1),
            "balanced": torch.stack(sides).mean(0),
            "loss": live.loss,
            "drift": self._drift(live),
        }
        if self.keep_embeddings:
            found["embeddings"] = live.values["embedding"]
        return found

    def _conserved(self, values: Tensors, number: Tensor) -> tuple[Tensor, Tensor]:
        """Return both parts of the conserved matrix, divided by their rates."""
        decoder, encoder = conserved_parts(self.network.mode, values)
        return decoder / self.rates["decoder"][number], encoder / self.rates["embedding"][number]

    def _drift(self, live: Live) -> Tensor:
        """Return how far the conserved matrix has moved since the start."""
        decoder, encoder = self._conserved(live.values, live.number)
        drift: Tensor = torch.linalg.matrix_norm(decoder - encoder - self.start[live.number]) / self.scale[live.number]
        return drift


def conserved_parts(mode: str, values: Tensors) -> tuple[Tensor, Tensor]:
    r"""Return the two parts of what gradient flow conserves, (networks, d, d) in double precision.

    With the first linear map W of the decoder, :math:`\sum WW^\top/\eta_{dec} - E^\top E/\eta_{enc}`; of squared
    differences only the diagonal, with a factor 2 on the first part.
    """
    table, weight = values["embedding"].to(torch.float64), values["weight_1"].to(torch.float64)
    encoder = table.mT @ table
    if mode == "concatenate":
        left, right = weight.chunk(2, dim=1)
        return left @ left.mT + right @ right.mT, encoder
    if mode == "difference":
        return weight @ weight.mT, encoder
    diagonal = torch.diag_embed(weight.square().sum(2))
    return 2.0 * diagonal, torch.diag_embed(encoder.diagonal(dim1=1, dim2=2))


def _share(right: Tensor, chosen: Tensor) -> Tensor:
    """Return the share of right answers among chosen entries, (networks,); NaN where none is chosen."""
    share: Tensor = (right & chosen).sum(1).to(torch.float64) / chosen.sum(1).to(torch.float64)
    return share


def _each(name: str, check: Any, value: ArrayLike, count: int) -> Array:
    """Return one checked number for each network."""
    numbers: Array = check(name, value)
    if numbers.shape not in {(), (count,)}:
        raise InputError(
            f"{name} must be a number or {count} numbers, one for each network; got shape {numbers.shape}."
        )
    return np.broadcast_to(numbers, (count,)).copy()


def _by_part(name: str, check: Any, values: tuple[ArrayLike, ArrayLike], count: int) -> dict[str, Array]:
    """Return checked numbers of the embeddings and of the decoder, one for each network."""
    encoder, decoder = values
    return {
        "embedding": _each(f"encoder_{name}", check, encoder, count),
        "decoder": _each(f"decoder_{name}", check, decoder, count),
    }


def _log_steps(steps: int, log_at: Sequence[int] | None) -> list[int]:
    """Return the steps at which to measure, always including the first and the last."""
    if log_at is None:
        return sorted({0, *np.linspace(0, steps, DEFAULT_LOG_COUNT + 1).round().astype(int).tolist(), steps})
    return sorted({0, *(whole_number("log_at", one, at_most=steps) for one in log_at), steps})
