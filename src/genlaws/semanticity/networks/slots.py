r"""Networks with one map per feature (slots) or one shared map: how far a compositional code exceeds a single front.

Networks learn from random triples, a probe and two items, which item is nearer. Both tests are computed exactly over
all triples of a set of stimuli, and compared with what one radial similarity reaches at the same identification.

Both kinds of network hold a vector :math:`w_{s,v}` for each value v of each feature s.

- *Slots*: features are compared within their slot, :math:`g_s = \mathrm{ReLU}(w_{s,x_s}\cdot w_{s,y_s}) + 10^{-10}`,
  and the similarity of two stimuli is the largest :math:`g_s`, their mean or their product.
- *Shared*: a stimulus is one vector, :math:`h_x = \sum_s w_{s,x_s}`, and
  :math:`g = \mathrm{ReLU}(h_x\cdot h_y) + 10^{-10}`.

With one feature both are the ReLU network of :cite:p:`nurisso2026`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from genlaws.core.arguments import Array, Mask, Whole, non_negative, one_of, positive, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_standard_error
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.running import Running
from genlaws.ensembles import Checkpoint, Differentiated, FreshDraws, Live, TrainedStack, streams, train
from genlaws.ensembles.architecture import Layout, ParameterArray, Tensors, Workspace
from genlaws.ensembles.batches import ExampleDraw
from genlaws.ensembles.perceptron import sum_by_entry, sum_by_pair
from genlaws.semanticity.networks.relu import MAX_INITIAL_WEIGHT, SIMILARITY_FLOOR, TRAINING_PATHS, checked_seeds
from genlaws.semanticity.networks.rings import (
    TRUTHS,
    LevelPairs,
    circle_generalization,
    draw_stimuli,
    level_pairs,
    steps_apart,
)

COMBINATIONS = ("max", "mean", "product")
DIGIT_BITS = 40  # of the 53 of a random number that become features; the rest makes them uniform
NETWORK_KINDS = ("slots", "shared")
DEFAULT_LOG_COUNT = 24  # measurements, if their steps are not given
FIRST_LOG_STEP = 10
SLOT_DTYPES = {"float32": torch.float32, "float64": torch.float64}


def combine_dots(dots: Tensor, combine: str) -> tuple[Tensor, Tensor]:
    """Return the logarithm of the similarity of each pair and its derivative with respect to each dot product.

    Parameters
    ----------
    dots : tensor of shape (..., slots)
    combine : {"max", "mean", "product"}
    """
    g = dots.relu() + SIMILARITY_FLOOR
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
        Logarithms of similarities; the derivative is for `nearer`; for `farther` it is the opposite.
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
    """

    def __init__(self, slots: int, ring_size: int, width: int) -> None:
        self.slots, self.ring_size, self.width = slots, ring_size, width
        maps = ParameterArray("maps", (slots, ring_size, width), "maps", "uniform", 0.0, MAX_INITIAL_WEIGHT)
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


def draw_triples(slots: int, ring_size: int, truth: str, rows: int) -> ExampleDraw:
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
        """Return generalization and identification, (networks,)."""
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
        return {"generalization": per_probe.sum(1) / judged.sum(1), "identification": identification}


@dataclass(frozen=True, eq=False, repr=False)
class SlotRuns(Result):
    """Networks of one kind, measured along their training.

    Ties are left out: of the triples of training, and of those of the test sets.

    Attributes
    ----------
    kind, combine, truth : str
    slots, ring_size, width : int
    seeds : tuple of int
    steps : int array of shape (logs,)
    generalization, identification : arrays of shape (networks, logs)
        Over all triples, or pairs, of different stimuli of the network's test set.
    above_circle : array of shape (networks, logs)
        Generalization less that of the linear similarity on the circle at the same identification.
    above_set : array of shape (networks, logs)
        Generalization less the most that the constant or the linear similarity of the true distance reaches, at any
        resolution, on the same test set at the same identification.
    stimulus_count : int
        Stimuli of each test set: all there are, or drawn at random for each seed.
    maps : array of shape (networks, slots, values, width)
        The vectors after training.
    failed : bool array of shape (networks,)
        Whether the vectors became infinite or not a number.
    device, dtype, path : str
        What was computed with.
    """

    kind: str
    combine: str
    truth: str
    slots: int
    ring_size: int
    width: int
    seeds: tuple[int, ...]
    steps: Whole
    generalization: Array
    identification: Array
    above_circle: Array
    above_set: Array
    stimulus_count: int
    maps: Array
    failed: Mask
    device: str
    dtype: str
    path: str

    @property
    def peak_generalization(self) -> Array:
        """Largest generalization of each network along its training, (networks,)."""
        return np.asarray(self.generalization.max(axis=1))

    @property
    def excess_at_peak(self) -> Array:
        """`above_set` of each network where its generalization is largest, (networks,)."""
        best = np.argmax(np.where(np.isnan(self.generalization), -np.inf, self.generalization), axis=1)
        return np.asarray(self.above_set[np.arange(len(best)), best])

    @property
    def largest_excess(self) -> Array:
        """Largest `above_set` of each network along its training, (networks,).

        An untrained network lies near guessing, where the front is near too; this may be such a point.
        """
        return np.asarray(self.above_set.max(axis=1))

    def mean(self, name: str) -> Estimate:
        """Return the mean over networks of a value such as ``excess_at_peak``, or of its last log, and the interval."""
        values = np.asarray(getattr(self, name), dtype=np.float64)
        last = values[:, -1] if values.ndim == 2 else values
        error = float(last.std(ddof=1) / np.sqrt(last.size)) if last.size > 1 else float("nan")
        return from_standard_error(float(last.mean()), error, last.size)

    def summary(self) -> Summary:
        """Return both tests at the end, and how far the peak lies from the front."""
        rows = {
            "generalization p_S": ("generalization", "at the end"),
            "identification p_I": ("identification", "at the end"),
            "peak": ("peak_generalization", "largest generalization along the training"),
            "peak above the front": ("excess_at_peak", "of the constant or the linear similarity on the same stimuli"),
        }
        failed = [f"{self.failed.sum()} of {len(self.seeds)} networks became infinite."] if self.failed.any() else []
        return Summary([Row(label, str(self.mean(name)), about) for label, (name, about) in rows.items()], failed)

    def to_frame(self) -> DataFrame:
        """Return one row per network and log."""
        shape = self.generalization.shape
        about = {name: getattr(self, name) for name in ("kind", "combine", "truth", "slots", "ring_size", "width")}
        measured = ("generalization", "identification", "above_circle", "above_set")
        return frame_of(
            {
                "seed": np.broadcast_to(np.array(self.seeds)[:, None], shape).ravel(),
                "step": np.broadcast_to(self.steps, shape).ravel(),
                **{name: getattr(self, name).ravel() for name in measured},
            }
        ).assign(**about)


@question
def train_slot_networks(
    *,
    slots: int = 3,
    ring_size: int = 10,
    kind: str = "slots",
    combine: str = "max",
    truth: str = "mean",
    width: int = 10,
    seeds: Sequence[int] = tuple(range(10)),
    steps: int = 3000,
    batch_size: int = 128,
    learning_rate: float = 7e-3,
    reconstruction_weight: float = 0.0,
    log_at: Sequence[int] | None = None,
    stimulus_count: int = 150,
    device: str = "cpu",
    dtype: str = "float32",
    path: str = "auto",
    checkpoint: Checkpoint | None = None,
    running: Running | None = None,
) -> SlotRuns:
    r"""Train networks with a map for each feature, or with one for all, to choose the nearer of two items.

    .. math:: L = -\log\frac{g(x_1,p)}{g(x_1,p)+g(x_2,p)} + r\,\langle(\mathrm{ReLU}(W^TWp)-p)^2\rangle

    Symbols: :math:`x_1` is the item truly nearer to the probe p; r is ``reconstruction_weight``. Each step has fresh
    triples of stimuli drawn uniformly; those whose items are equally near, or one of which is the probe itself, are
    left out of the batch. Adam, from vectors uniform on [0, 2].

    Parameters
    ----------
    slots : int >= 1
        Features of a stimulus.
    ring_size : int >= 3
        Values of each feature, on a ring.
    kind : {"slots", "shared"}
        One map for each feature, or one for all; see :mod:`genlaws.semanticity.networks.slots`.
    combine : {"max", "mean", "product"}
        How the similarities of the slots make one. A shared map has nothing to combine.
    truth : {"mean", "min"}
        True distance: mean over the features of the distance on the ring, or the smallest of them.
    width : int >= 1
        Hidden units of each map. Slots have `slots` times as many in all.
    seeds : sequence of int
        One for each network: of its vectors, its triples and its test set.
    steps, batch_size : int
    learning_rate : float > 0
    reconstruction_weight : float >= 0
    log_at : sequence of int, optional
        Steps at which to measure; some 24, closer together in the beginning, if left out.
    stimulus_count : int >= 3
        Stimuli of a test set, unless there are fewer in all; the work grows with its cube.
    device : str
    dtype : {"float32", "float64"}
    path : {"auto", "eager", "graph"}
        How the updates are made, as in `genlaws.ensembles.train`.
    checkpoint : Checkpoint, optional
    running : Running, optional

    Returns
    -------
    SlotRuns

    References
    ----------
    :cite:p:`nurisso2026`, experiments with compositional stimuli; with one feature of 50 values and width 10 the ReLU
    network on the circle.

    Notes
    -----
    The paper weights the choice by 0.1 and the reconstruction by 1: ``reconstruction_weight`` 10, as Adam ignores a
    common factor.
    """
    network = feature_network(
        one_of("kind", kind, NETWORK_KINDS),
        whole_number("slots", slots, at_least=1),
        whole_number("ring_size", ring_size, at_least=3),
        whole_number("width", width, at_least=1),
        one_of("combine", combine, COMBINATIONS),
    )
    one_of("truth", truth, TRUTHS)
    rows = whole_number("batch_size", batch_size, at_least=1)
    numbers = checked_seeds(seeds)
    r = float(scalar("reconstruction_weight", non_negative("reconstruction_weight", reconstruction_weight)))
    rate = float(scalar("learning_rate", positive("learning_rate", learning_rate)))
    updates = whole_number("steps", steps)
    place = _checked_device(device, one_of("path", path, TRAINING_PATHS))
    wanted = whole_number("stimulus_count", stimulus_count, at_least=3)
    sets = np.stack([draw_stimuli(slots, ring_size, wanted, one) for one in numbers])
    tables = _tables(sets, ring_size, truth)
    training = train(
        Differentiated(network.layout, lambda values, batch: network.losses(values, batch, r)) if r else network,
        FreshDraws(draw_triples(slots, ring_size, truth, rows), numbers, place),
        seeds=numbers,
        steps=updates,
        learning_rate=rate,
        log_at=_log_steps(updates, log_at),
        measure=SetTests(network, sets, truth, place),
        device=place,
        dtype=SLOT_DTYPES[one_of("dtype", dtype, SLOT_DTYPES)],
        path=path,
        checkpoint=checkpoint,
        running=running,
    )
    about = {"kind": kind, "combine": combine, "truth": truth, "slots": slots, "ring_size": ring_size, "width": width}
    return _result(about, numbers, tables, sets.shape[1], training)


def _tables(sets: Whole, ring_size: int, truth: str) -> list[LevelPairs]:
    """Return the levels of distance of each set; if all sets are the same, it is counted once."""
    if (sets == sets[0]).all():
        return [level_pairs(sets[0], ring_size, truth)] * len(sets)
    return [level_pairs(one, ring_size, truth) for one in sets]


def _result(
    about: dict[str, Any], seeds: list[int], tables: list[LevelPairs], stimulus_count: int, training: TrainedStack
) -> SlotRuns:
    """Return the runs, with their measurements compared with the fronts."""
    nearer, named = (np.asarray(training.measured[name]) for name in ("generalization", "identification"))
    at = np.where(np.isfinite(named), named, 0.5)
    best = np.stack([table.best_generalization(row) for table, row in zip(tables, at, strict=True)])
    computed = training.computed
    return SlotRuns(
        **about,
        seeds=tuple(seeds),
        steps=training.steps,
        generalization=nearer,
        identification=named,
        above_circle=nearer - circle_generalization(at),
        above_set=nearer - best,
        stimulus_count=stimulus_count,
        maps=training.values["maps"].cpu().numpy().astype(np.float64),
        failed=training.failed,
        device=computed.device,
        dtype=computed.dtype,
        path=computed.path,
    )


def _checked_device(device: str, path: str) -> torch.device:
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError):
        raise InputError(f"device must be a name such as cpu or cuda; got {device!r}.") from None
    if place.type not in {"cpu", "cuda"} or (place.type == "cuda" and not torch.cuda.is_available()):
        raise InputError(f"device must be one that torch finds here; got {device!r}. The processor is called cpu.")
    if path == "graph" and place.type == "cpu":
        raise InputError(f"path must be auto or eager on a processor; got {path!r}. A graph needs a CUDA device.")
    return place


def _log_steps(steps: int, log_at: Sequence[int] | None) -> list[int]:
    if log_at is None:
        later = np.geomspace(min(FIRST_LOG_STEP, max(steps, 1)), max(steps, 1), DEFAULT_LOG_COUNT - 1)
        return sorted({0, *np.round(later).astype(int).tolist(), steps} & set(range(steps + 1)))
    if isinstance(log_at, str) or not isinstance(log_at, Sequence | np.ndarray) or not len(log_at):
        raise InputError(f"log_at must be a list of at least one step; got {log_at!r}.")
    return [whole_number("log_at", one, at_most=steps) for one in log_at]
