r"""Views of embeddings: groups of elements, a plane to draw them in, and how far classes have merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole
from genlaws.core.errors import InputError
from genlaws.relations.inference.equivalences import class_numbers
from genlaws.relations.structure.properties import properties
from genlaws.relations.structure.relation import Relation

CLASS, SIDE, POSITION, DEGREE = "class", "side", "position", "degree"
PLANE_DIMENSIONS = 2


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
