r"""The ReLU network of the paper, many at once: a similarity that learns its own resolution.

Stimuli are one-hot vectors :math:`x_i`, the network is :math:`f(x) = \mathrm{ReLU}(W^\top W x)`, so that
:math:`f(x_p)_i = \mathrm{ReLU}(w_i \cdot w_p)` is the similarity it sees between stimulus i and probe p.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from genlaws.core.arguments import Array, non_negative, one_of, positive, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.core.result import question
from genlaws.core.running import Running
from genlaws.ensembles import Adam, Checkpoint, FreshDraws, Layout, Live, ParameterArray, TrainedStack, streams, train
from genlaws.ensembles.architecture import Tensors, Workspace
from genlaws.ensembles.optimizers import Optimizer
from genlaws.ensembles.perceptron import sum_by_pair
from genlaws.semanticity.networks.relu_runs import ReluRuns
from genlaws.semanticity.parameters import GivenStimuli
from genlaws.semanticity.theory.finite_sets import stimulus_distances
from genlaws.semanticity.theory.ties import GRID_STEP, round_distances

SIMILARITY_FLOOR = 1e-10  # added to every similarity, so that a choice among nothing is a coin flip
SIMILARITY_WEIGHT = 0.1  # of the paper
MAX_INITIAL_WEIGHT = 2.0  # weights start uniform on [0, 2]
GOALS = ("similarity", "reconstruction", "both")
TRAINING_PATHS = ("auto", "eager", "graph")
TRIPLES_AT_ONCE = 1 << 18  # of all networks together; a few such arrays stay in a processor's cache
MAX_DISTANCES = 200  # points of a profile; where more occur, neighbors share one


class ReluNetwork:
    r"""The architecture :math:`g_{ip} = \mathrm{ReLU}(w_i \cdot w_p) + 10^{-10}`, differentiated by hand.

    .. math:: L = -a\,\Big\langle \log \frac{g_{rp}}{\sum_k g_{kp}} \Big\rangle + c\,\big\langle
        (\mathrm{ReLU}(w_i \cdot w_j) - \delta_{ij})^2 \big\rangle_{ij}

    A batch holds ``items``, (networks, rows, items), ``probe`` and ``right``, (networks, rows): whole numbers, the
    last being the place of the right answer among the items; and ``weight``, (networks, rows), 0 for a tie.

    Parameters
    ----------
    stimuli, hidden : int
        l and m: W has the shape (m, l).
    similarity_weight, reconstruction_weight : float
        a and c. The mean of the second term is over all pairs of stimuli, nothing is sampled.
    """

    def __init__(self, stimuli: int, hidden: int, similarity_weight: float, reconstruction_weight: float) -> None:
        self.stimuli, self.hidden = stimuli, hidden
        self.similarity_weight, self.reconstruction_weight = similarity_weight, reconstruction_weight
        self.layout = Layout(
            [ParameterArray("weights", (hidden, stimuli), "weights", "uniform", 0.0, MAX_INITIAL_WEIGHT)]
        )

    def products(self, values: Tensors) -> Tensor:
        """Return w_i·w_j, (networks, stimuli, stimuli)."""
        weights = values["weights"]
        return weights.transpose(1, 2) @ weights

    def similarity(self, values: Tensors) -> Tensor:
        """Return the similarity of every two stimuli, (networks, stimuli, stimuli)."""
        return self.products(values).relu_().add_(SIMILARITY_FLOOR)

    def loss_and_gradient(self, values: Tensors, batch: Tensors, gradient: Tensors, space: Workspace) -> Tensor:
        """Write the gradient and return the losses; see `Architecture`."""
        products = self.products(values)
        losses = torch.zeros(len(products), dtype=products.dtype, device=products.device)
        by_product = torch.zeros_like(products)
        if self.similarity_weight:
            by_product = self._choices(products, batch, losses)
        if self.reconstruction_weight:
            error = products.relu()
            error.diagonal(dim1=1, dim2=2).sub_(1.0)
            scale = self.reconstruction_weight / self.stimuli**2
            losses += scale * error.square().sum((1, 2))
            by_product.add_(error.mul_(products > 0), alpha=2.0 * scale)
        both_ways = by_product + by_product.transpose(1, 2)
        torch.bmm(values["weights"], both_ways, out=gradient["weights"])
        return losses

    def _choices(self, products: Tensor, batch: Tensors, losses: Tensor) -> Tensor:
        """Add the loss of the choices and return its derivative with respect to the products."""
        items, probe, right = batch["items"], batch["probe"], batch["right"].unsqueeze(2)
        networks, rows, count = items.shape
        column = probe.unsqueeze(2).expand_as(items).reshape(networks, rows * count)
        row = items.reshape(networks, rows * count)
        seen = products.flatten(1).gather(1, row * self.stimuli + column).view_as(items)
        g = seen.relu().add_(SIMILARITY_FLOOR)
        total, chosen = g.sum(2), g.gather(2, right).squeeze(2)
        weight = batch["weight"].to(g.dtype)
        share = self.similarity_weight * weight / weight.sum(1, keepdim=True).clamp(min=1.0)
        losses += (share * (total.log() - chosen.log())).sum(1)
        by_g = total.reciprocal().unsqueeze(2).expand_as(g).clone()
        by_g.scatter_add_(2, right, -chosen.reciprocal().unsqueeze(2))
        by_g.mul_(share.unsqueeze(2)).mul_(seen > 0)
        return sum_by_pair(by_g.reshape(networks, rows * count), row, column, self.stimuli)


@question
def train_relu_networks(
    stimuli: GivenStimuli = "circle",
    *,
    goal: str = "similarity",
    stimulus_count: int = 50,
    hidden: int = 10,
    item_count: int = 2,
    seeds: Sequence[int] = tuple(range(10)),
    steps: int = 7500,
    batch_size: int = 128,
    learning_rate: float | Sequence[float] = 7e-3,
    similarity_weight: float = SIMILARITY_WEIGHT,
    reconstruction_weight: float = 1.0,
    initial_scale: float | Sequence[float] = 1.0,
    log_every: int = 15,
    optimizer: Optimizer | None = None,
    device: str = "cpu",
    path: str = "auto",
    checkpoint: Checkpoint | None = None,
    running: Running | None = None,
) -> ReluRuns:
    """Train ReLU networks to judge which item is nearer, to reconstruct, or both, and measure them along the way.

    With the defaults this is the paper's setting: 50 stimuli on a circle, hidden width 10, Adam at 7e-3, batches of
    128 fresh trials, 7,500 steps, ten seeds.

    Parameters
    ----------
    stimuli : {"circle", "segment"} or array_like of shape (stimuli, stimuli)
        Equally spaced stimuli, or the distances between any.
    goal : {"similarity", "reconstruction", "both"}
    stimulus_count : int from 3
        On the circle or the segment.
    hidden : int from 1
        Rows of W.
    item_count : int from 2
        Items of a training trial.
    seeds : sequence of int
        One network each.
    steps, batch_size, log_every : int
    learning_rate, initial_scale : float, or one for each network
    similarity_weight, reconstruction_weight : float
        Of the two terms of the loss, where the goal has them.
    optimizer : Optimizer, optional
        Adam if left out.
    device : str
    path : {"auto", "eager", "graph"}
        How the updates are made, as in :func:`genlaws.ensembles.train`.
    checkpoint : Checkpoint, optional
    running : Running, optional

    Returns
    -------
    ReluRuns

    References
    ----------
    :cite:p:`nurisso2026`, the experiment with ReLU networks.

    Notes
    -----
    The paper samples its scores; these are exact, over all triples without a tie. The reconstruction term is the mean
    over all stimuli rather than over a random batch of them.
    """
    d = stimulus_distances(stimuli, stimulus_count)
    network = _network(len(d), hidden, goal, similarity_weight, reconstruction_weight)
    items = whole_number("item_count", item_count, at_least=2, at_most=len(d) - 1)
    numbers = checked_seeds(seeds)
    updates = whole_number("steps", steps, at_least=1)
    rows = whole_number("batch_size", batch_size, at_least=1)
    every = whole_number("log_every", log_every, at_least=1)
    place = _checked_device(device, one_of("path", path, TRAINING_PATHS))
    tests, profile = StackedTests(d, place), ProfileMeans(d, place)

    def measure(live: Live) -> Tensors:
        """Return both tests and the profile of every network."""
        g = network.similarity(live.values)
        generalization, identification = tests(g)
        return {"generalization": generalization, "identification": identification, "profile": profile(g)}

    trained = train(
        network,
        FreshDraws(partial(draw_relu_trials, torch.as_tensor(d, device=place), items, rows), numbers, place),
        seeds=numbers,
        steps=updates,
        optimizer=optimizer or Adam(),
        learning_rate=_per_network("learning_rate", positive("learning_rate", learning_rate), len(numbers)),
        initial_scale=_per_network("initial_scale", non_negative("initial_scale", initial_scale), len(numbers)),
        log_at=sorted({*range(0, updates + 1, every), updates}),
        measure=measure,
        device=place,
        path=path,
        checkpoint=checkpoint,
        running=running,
    )
    similarity = network.similarity(trained.values).cpu().numpy()
    return _runs(d, profile, trained, similarity.astype(np.float64))


def _network(stimuli: int, hidden: int, goal: str, similarity: float, reconstruction: float) -> ReluNetwork:
    """Return the architecture; a term that the goal does not have weighs nothing."""
    one_of("goal", goal, GOALS)
    a = float(scalar("similarity_weight", non_negative("similarity_weight", similarity)))
    c = float(scalar("reconstruction_weight", non_negative("reconstruction_weight", reconstruction)))
    return ReluNetwork(
        stimuli,
        whole_number("hidden", hidden, at_least=1),
        0.0 if goal == "reconstruction" else a,
        0.0 if goal == "similarity" else c,
    )


def _runs(distances: Array, profile: ProfileMeans, trained: TrainedStack, similarity: Array) -> ReluRuns:
    measured, computed = trained.measured, trained.computed
    return ReluRuns(
        distances=distances,
        steps=trained.steps,
        generalization=measured["generalization"],
        identification=measured["identification"],
        profile_distance=profile.distance,
        profile_count=profile.count,
        profile=measured["profile"].astype(np.float64),
        similarity=similarity,
        failed=trained.failed,
        device=computed.device,
        dtype=computed.dtype,
        path=computed.path,
    )


def checked_seeds(seeds: Sequence[int]) -> list[int]:
    """Return the seeds of networks as whole numbers."""
    if isinstance(seeds, str) or not isinstance(seeds, Sequence | np.ndarray) or not len(seeds):
        raise InputError(f"seeds must be a list of whole numbers, one for each network; got {seeds!r}.")
    return [whole_number("seeds", one) for one in seeds]


def _per_network(name: str, values: Array, count: int) -> float | list[float]:
    """Return a number, or one for each network."""
    if values.ndim and values.shape != (count,):
        raise InputError(f"{name} must be one number or {count}, one for each seed; got shape {values.shape}.")
    return values.tolist() if values.ndim else float(values)


def _checked_device(device: str, path: str) -> torch.device:
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError):
        raise InputError(f"device must be a name such as cpu or cuda; got {device!r}.") from None
    if place.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device must be one that is here; got {device!r}, and no graphics card is available.")
    if path == "graph" and place.type != "cuda":
        raise InputError(f"path must be auto or eager on {device!r}; got 'graph', which needs a graphics card.")
    return place


def draw_relu_trials(distances: Tensor, items: int, rows: int, keys: Tensor, steps: Tensor) -> Tensors:
    """Return random trials, items and probe drawn independently, as in the paper, for `FreshDraws`.

    Trials whose two nearest items are equally far count for nothing.
    """
    count = len(distances)
    drawn = streams.whole_numbers(keys, steps, rows * (items + 1), count)
    drawn = drawn.view(*drawn.shape[:2], rows, items + 1)
    chosen, probe = drawn[..., :items], drawn[..., items]
    apart = distances[probe.unsqueeze(-1), chosen]
    two, place = apart.topk(2, dim=-1, largest=False)
    untied = (two[..., 0] < two[..., 1]).to(torch.float32)
    return {"items": chosen, "probe": probe, "right": place[..., 0], "weight": untied}


class StackedTests:
    """Generalization and identification with two items, exact: every triple of different stimuli counts.

    Triples whose two items are equally far from the probe are left out; every probe counts alike.

    Parameters
    ----------
    distances : array of shape (stimuli, stimuli)
    device : torch.device
    """

    def __init__(self, distances: Array, device: torch.device | str = "cpu") -> None:
        count = len(distances)
        probe, near, far = untied_triples(distances)
        self._near = torch.as_tensor(probe * count + near, device=device)
        self._far = torch.as_tensor(probe * count + far, device=device)
        if not len(probe):
            raise InputError("distances must leave an item nearer than another to some probe; all triples are tied.")
        per_probe = np.bincount(probe, minlength=count)
        share = 1.0 / (per_probe[probe] * np.count_nonzero(per_probe))
        self._share = torch.as_tensor(share, dtype=torch.float64, device=device)
        self._others = ~torch.eye(count, dtype=torch.bool, device=device)

    def __call__(self, similarity: Tensor) -> tuple[Tensor, Tensor]:
        """Return generalization and identification, both (networks,) in double precision.

        `similarity` (tensor of shape (networks, probes, items)): positive; the diagonal is the similarity with a copy.
        """
        flat = similarity.flatten(1)
        chunk = max(1, TRIPLES_AT_ONCE // max(1, len(self._near)))
        generalization = torch.cat([self._generalization(part) for part in torch.split(flat, chunk)])
        own = similarity.diagonal(dim1=1, dim2=2).unsqueeze(2)
        named = own / (own + similarity)
        identification = named[:, self._others].mean(1, dtype=torch.float64)
        return generalization, identification

    def _generalization(self, flat: Tensor) -> Tensor:
        near, far = flat.index_select(1, self._near), flat.index_select(1, self._far)
        return (near / near.add(far)).to(torch.float64) @ self._share


def untied_triples(distances: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return probe, nearer and farther item of every triple of different stimuli without a tie."""
    d = np.asarray(distances, dtype=np.float64)
    probe, near, far = np.nonzero(d[:, :, None] < d[:, None, :])
    different = (near != probe) & (far != probe)
    return probe[different], near[different], far[different]


class ProfileMeans:
    """The mean similarity at each distance that occurs, the distance 0 of a stimulus to itself among them.

    If more than `MAX_DISTANCES` occur, neighbors are put together, about equally many pairs in each.

    Parameters
    ----------
    distances : array of shape (stimuli, stimuli)
    device : torch.device

    Attributes
    ----------
    distance, count : arrays of shape (distances,)
        Mean distance and number of pairs of each.
    """

    def __init__(self, distances: Array, device: torch.device | str = "cpu") -> None:
        flat = distances.ravel()
        values, place = np.unique(round_distances(flat, GRID_STEP * float(flat.max())), return_inverse=True)
        if len(values) > MAX_DISTANCES:
            zeros = int((flat == 0).sum())
            rank = np.searchsorted(np.sort(place), place)
            place = np.where(flat == 0, 0, 1 + (rank - zeros) * (MAX_DISTANCES - 1) // (flat.size - zeros))
            _, place = np.unique(place, return_inverse=True)
        self.count = np.bincount(place).astype(np.float64)
        self.distance: Array = np.bincount(place, flat) / self.count
        member = np.zeros((flat.size, self.count.size), dtype=np.float32)
        member[np.arange(flat.size), place] = 1.0 / self.count[place]
        self._share = torch.as_tensor(member, device=device)

    def __call__(self, similarity: Tensor) -> Tensor:
        """Return the profile of each network, (networks, distances)."""
        return similarity.flatten(1) @ self._share
