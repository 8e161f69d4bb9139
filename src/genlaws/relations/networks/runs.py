"""Runs of relation networks: accuracies along the training, and views of embeddings.

The views are groups of elements, a plane to draw them in, and how far classes have merged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Mask, Whole, fraction, one_of, scalar
from genlaws.core.errors import InputError
from genlaws.core.estimate import CONFIDENCE, Estimate
from genlaws.core.frames import DataFrame, frame_of
from genlaws.relations.inference.equivalences import class_numbers
from genlaws.relations.structure.properties import properties
from genlaws.relations.structure.relation import Relation

CLASS, SIDE, POSITION, DEGREE = "class", "side", "position", "degree"
PLANE_DIMENSIONS = 2
NEVER = -1  # step of a target that was not reached
ACCURACIES = ("train_accuracy", "test_accuracy", "table_accuracy", "balanced_accuracy")
MEASURED = (*ACCURACIES, "loss", "invariant_drift")
MIN_LOGS, MAX_LOG_INTERVAL = 500, 100  # measurements in a training; steps between two
WEIGHT_DRAWS = 100_000  # of the weights behind an interval; its ends are then exact to about 0.003
MAX_NUMBERS_AT_ONCE = 4_000_000  # in memory
STACK_SIZE, GPU_STACK_SIZE = 16, 2048  # networks trained together; measured in benchmarks/README.md
MAX_GPU_ACTIVATIONS = 2_000_000_000  # of one layer when networks answer for whole tables; 8 GB


def networks_together(device: str, element_count: int, width: int) -> int:
    """Return how many networks to train together; on a GPU as many as fit with the answers for whole tables."""
    if not device.startswith("cuda"):
        return STACK_SIZE
    return max(1, min(GPU_STACK_SIZE, MAX_GPU_ACTIVATIONS // (element_count**2 * width)))


def log_every(steps: int) -> int:
    """Return after how many steps to measure again: a small part of the training, and of the delay of grokking."""
    return max(1, min(MAX_LOG_INTERVAL, steps // MIN_LOGS))


def mean_accuracy(accuracies: ArrayLike) -> Estimate:
    r"""Return the mean accuracy of networks with a 95 % interval, which always lies within [0, 1].

    .. math:: \mathrm{low} = Q_{0.025}\Big(\sum_{i=1}^n w_i x_i + w_0 \cdot 0\Big), \qquad
        \mathrm{high} = Q_{0.975}\Big(\sum_{i=1}^n w_i x_i + w_0 \cdot 1\Big)

    where the weights :math:`w_0, \ldots, w_n` are uniform on the simplex: as if one more network had been trained, with
    the worst or the best accuracy there is. Accuracies that are not finite are left out; fewer than two of them have
    no interval.

    Notes
    -----
    Networks often either generalize, with an accuracy of 1, or do not. If the few that were trained all did, Student's
    interval has no width. With 2 to 30 networks of seven simulated laws this interval contained the mean in at least
    95 % of the cases, Student's in 17 to 98 %.

    References
    ----------
    Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable",
    Mathematical Methods of Statistics 14 (2005). That it contains the mean often enough is a conjecture for which no
    counterexample is known.
    """
    given = np.asarray(accuracies, dtype=np.float64).ravel()
    x = fraction("accuracies", given[np.isfinite(given)])
    if x.size < 2:
        return Estimate(float(x[0]) if x.size else math.nan, count=x.size)
    generator, low, high = np.random.default_rng(0), [], []
    for start in range(0, WEIGHT_DRAWS, rows := max(1, MAX_NUMBERS_AT_ONCE // x.size)):
        weights = generator.standard_exponential((min(rows, WEIGHT_DRAWS - start), x.size + 1))
        weights /= weights.sum(axis=1, keepdims=True)
        low.append(weights[:, 1:] @ x)
        high.append(low[-1] + weights[:, 0])
    tail = 0.5 * (1.0 - CONFIDENCE)
    ends = np.quantile(np.concatenate(low), tail), np.quantile(np.concatenate(high), 1.0 - tail)
    return Estimate(float(x.mean()), max(0.0, float(ends[0])), min(1.0, float(ends[1])), x.size)


@dataclass(frozen=True)
class RelationRuns:
    """Trained relation networks.

    Attributes
    ----------
    relation : Relation
    steps : int array of shape (logs,)
        Updates made before each measurement.
    train_accuracy, test_accuracy, table_accuracy : arrays of shape (networks, logs)
        Share of right answers on training entries, on test entries, and on the whole table. Answers count as right if
        they agree with the relation, also where a training label was noise; NaN where there are no such entries.
    balanced_accuracy : array of shape (networks, logs)
        On test entries, the mean of the accuracies on pairs that are related and on pairs that are not.
    loss : array of shape (networks, logs)
        Of the previous update.
    invariant_drift : array of shape (networks, logs)
        How far the matrix that gradient flow conserves has moved, relative to its two parts at the start.
    embeddings : array of shape (networks, logs, elements, dimension)
        Has no logs unless `keep_embeddings` was set.
    final_embeddings : array of shape (networks, elements, dimension)
    training_mask : mask of shape (networks, elements, elements)
        The training entries.
    majority_accuracy : float
        Of always giving the majority answer.
    failed : mask of shape (networks,)
    device, dtype, path : str
    """

    relation: Relation
    steps: Whole
    train_accuracy: Array
    test_accuracy: Array
    table_accuracy: Array
    balanced_accuracy: Array
    loss: Array
    invariant_drift: Array
    embeddings: Array
    final_embeddings: Array
    training_mask: Mask
    majority_accuracy: float
    failed: Mask
    device: str
    dtype: str
    path: str

    def __len__(self) -> int:
        return len(self.train_accuracy)

    def steps_to(self, accuracy: str, target: float = 0.9) -> Whole:
        """Return the first logged step at which an accuracy exceeds a target, -1 where it never does, (networks,).

        Parameters
        ----------
        accuracy : {"train_accuracy", "test_accuracy", "table_accuracy", "balanced_accuracy"}
        target : float in [0, 1]
        """
        level = float(scalar("target", fraction("target", target)))
        above = np.nan_to_num(getattr(self, one_of("accuracy", accuracy, ACCURACIES)), nan=-1.0) > level
        reached: Whole = np.where(above.any(axis=1), self.steps[np.argmax(above, axis=1)], NEVER)
        return reached

    def final(self, measured: str) -> Array:
        """Return an accuracy, the loss or the drift when each network was last measured, (networks,).

        That is at the end, or when it stopped or diverged.
        """
        course: Array = getattr(self, one_of("measured", measured, MEASURED))
        there = np.isfinite(self.table_accuracy)
        last = there.shape[1] - 1 - np.argmax(there[:, ::-1], axis=1)
        found: Array = course[np.arange(len(self)), last]
        return found

    def to_frame(self) -> DataFrame:
        """Return one row for each network and log."""
        networks, logs = self.train_accuracy.shape
        columns = {name: getattr(self, name).ravel() for name in MEASURED}
        places = {"network": np.repeat(np.arange(networks), logs), "step": np.tile(self.steps, networks)}
        return frame_of({**places, **columns})


@dataclass(frozen=True, eq=False)
class ElementGroups:
    """Groups of elements, for the color of each element in a plot.

    Attributes
    ----------
    kind : {"class", "side", "position", "degree"}
        Class of an equivalence; side of a complete bipartite relation; in an order, how many elements come before;
        otherwise the number of elements related to this one, in either direction.
    value : int array of shape (elements,)
        Classes and sides are counted from 0.
    """

    kind: str
    value: Whole

    @property
    def separate(self) -> bool:
        """Whether the values are names of groups rather than amounts."""
        return self.kind in {CLASS, SIDE}

    @property
    def count(self) -> int:
        """Number of different values."""
        return len(np.unique(self.value))


def element_groups(relation: Relation) -> ElementGroups:
    """Return the groups that distinguish the elements of a relation best: classes, positions or degrees."""
    has = properties(relation)
    if has.equivalence:
        return ElementGroups(CLASS, class_numbers(relation.matrix))
    if has.complete_bipartite:
        return ElementGroups(SIDE, class_numbers(~relation.matrix))
    first, second = relation.pairs[relation.pairs[:, 0] != relation.pairs[:, 1]].T
    before = np.bincount(second, minlength=relation.element_count)
    if has.partial_order or has.strict_partial_order:
        return ElementGroups(POSITION, before.astype(np.int64))
    met = np.unique(np.concatenate([np.stack([first, second]), np.stack([second, first])], axis=1), axis=1)
    return ElementGroups(DEGREE, np.bincount(met[0], minlength=relation.element_count).astype(np.int64))


def principal_plane(embeddings: ArrayLike) -> Array:
    r"""Return two coordinates for every embedding, along the same directions at all times.

    Two dimensions are returned unchanged, and one dimension gets a second coordinate 0. More are projected onto the two
    leading principal axes of the last time, about its mean; an axis points to where its largest component is positive.

    Parameters
    ----------
    embeddings : array of shape (times, elements, dimension)

    Returns
    -------
    array of shape (times, elements, 2)
    """
    given = np.asarray(embeddings, dtype=np.float64)
    if given.ndim != 3 or not given.size:
        raise InputError(f"embeddings must have the shape (times, elements, dimension); got {given.shape}.")
    if given.shape[2] <= PLANE_DIMENSIONS:
        return np.pad(given, ((0, 0), (0, 0), (0, PLANE_DIMENSIONS - given.shape[2])))
    if not np.isfinite(given[-1]).all():
        raise InputError("embeddings must be finite at the last time; the plane is that of the last time.")
    center = given[-1].mean(axis=0)
    _, _, right = np.linalg.svd(given[-1] - center, full_matrices=True)
    axes = right[:PLANE_DIMENSIONS]
    largest = np.take_along_axis(axes, np.argmax(np.abs(axes), axis=1)[:, None], axis=1)
    return np.asarray((given - center) @ (axes * np.sign(largest)).T)


def class_spread(embeddings: ArrayLike, classes: ArrayLike) -> Array:
    r"""Return the spread inside classes over the distance between classes.

    .. math:: \sqrt{\frac{\tfrac1n \sum_i |x_i - m_{c(i)}|^2}{\tfrac{2}{k(k-1)} \sum_{a<b} |m_a - m_b|^2}}

    Symbols: :math:`m_a` is the mean of class a, k the number of classes. It is 0 if every class has merged.

    Parameters
    ----------
    embeddings : array of shape (..., elements, dimension)
    classes : int array of shape (elements,)

    Returns
    -------
    array of the leading shape
        NaN if there is only one class.
    """
    given, number = np.asarray(embeddings, dtype=np.float64), np.asarray(classes)
    if given.ndim < 2 or number.shape != given.shape[-2:-1]:
        raise InputError(
            f"classes must hold one number for each element; got {number.shape} for embeddings {given.shape}."
        )
    number = np.unique(number, return_inverse=True)[1]
    count = int(number.max()) + 1
    means = np.stack([given[..., number == one, :].mean(axis=-2) for one in range(count)], axis=-2)
    inside = ((given - means[..., number, :]) ** 2).sum(axis=-1).mean(axis=-1)
    first, second = np.triu_indices(count, 1)
    if not len(first):
        return np.full(inside.shape, np.nan)
    between = ((means[..., first, :] - means[..., second, :]) ** 2).sum(axis=-1).mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(inside / between))
