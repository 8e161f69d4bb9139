r"""From states of items and probes to both tests: choices within a threshold, and the nearest in representation.

A probe and the items are states of one layer. Items count as alike to the probe when they lie within a threshold of it,
and one of those within is chosen, each as likely as the others; if none is within, one of all:

.. math:: D_i = \frac{g_i}{\sum_k g_k}, \qquad g_i = 1 \text{ if } d(x_i, p) \le \varepsilon \text{ else } 0, \qquad
    D_i = \tfrac1n \text{ if every } g_k = 0

The mean of :math:`D` of the right item is :math:`p_S^n` in trials that ask for the nearest item and :math:`p_I^n` in
trials that ask for one exactly there (:cite:p:`nurisso2026`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from genlaws.numerics.arguments import Array, Mask, Whole, one_of
from genlaws.numerics.errors import InputError

SIMILARITIES = ("cosine", "euclidean")
NO_LENGTH = 1e-6  # of the states' typical length: a state that small after centring is rounding of float32
TIED = 1e-9  # of that length, or of a cosine: distances are rounded to it, so that rounding breaks no tie
MASS_STEPS = 40  # thresholds are this many quantiles, and the threshold 0


@dataclass(frozen=True)
class PlaceStates:
    """States of one test in every layer.

    Attributes
    ----------
    names : tuple of str
        Of the layers.
    items : array of shape (layers, trials, items, width)
        At the places of the items.
    probes : array of shape (layers, trials, width)
        At the place asked for.
    right : array of shape (trials,)
        Which item is right.
    options : array of shape (layers, trials, items)
        What each layer reads out: probabilities of the options, one in sum; NaN in a trial that cannot be judged.
    single : array of shape (trials,)
        Whether every option is one token, so that the read-out is of the whole option.
    """

    names: tuple[str, ...]
    items: NDArray[np.float32]
    probes: NDArray[np.float32]
    right: Whole
    options: Array
    single: Mask

    def __post_init__(self) -> None:
        layers, trials, count, width = self.items.shape
        shapes = {
            "probes": (self.probes.shape, (layers, trials, width)),
            "right": (self.right.shape, (trials,)),
            "options": (self.options.shape, (layers, trials, count)),
            "single": (self.single.shape, (trials,)),
        }
        for name, (given, wanted) in shapes.items():
            if given != wanted:
                raise InputError(f"{name} must have the shape {wanted}, as the items have it; got {given}.")
        if len(self.names) != layers:
            raise InputError(f"names must be as many as the layers, {layers}; got {len(self.names)}.")

    def exchanged(self, order: Whole) -> PlaceStates:
        """Return the trials with the probes of others, and the read-out judged by the right answers of others.

        Identification is then at chance, 1/n. Generalisation is at chance where states know nothing of the places, and
        above it where they do: an item that stands apart is the nearest to most probes, also to those of others. With
        states that are the places themselves this gives 7/12 for two items on a segment, 3/10 for four on a circle.
        """
        trials, count = len(self.right), self.items.shape[2]
        # What is read out turns by as many options as the right answer does, and is judged as before.
        turn = (np.arange(count) + (self.right[order] - self.right)[:, None]) % count
        options = self.options[:, np.arange(trials)[:, None], turn]
        return PlaceStates(self.names, self.items, self.probes[:, order], self.right, options, self.single)


@dataclass(frozen=True)
class Comparison:
    r"""How the states of a probe and of an item are compared.

    Attributes
    ----------
    similarity : {"cosine", "euclidean"}
        The distance is :math:`1 - \cos`, or Euclidean.
    centre : bool
        Whether the mean state of the layer is taken off first. Trained networks hold a few coordinates that are large
        and nearly the same for every token (rogue dimensions); with them all cosines are close to 1 and tell little.
    by_role : bool
        Whether the mean is taken of items and of probes apart, and of the probes of each test apart. One mean for all
        leaves in what comes from the words around a place: "Born in 1066:" is one kind of line, "Born closest to
        1066:" another, and in late layers the kind of line outweighs the year. Needs ``centre``.
    standardise : bool
        Whether each coordinate is then divided by its standard deviation, so that none outweighs the others.
    """

    similarity: str = "cosine"
    centre: bool = True
    by_role: bool = False
    standardise: bool = False

    def __post_init__(self) -> None:
        one_of("similarity", self.similarity, SIMILARITIES)
        for name in ("centre", "by_role", "standardise"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be true or false; got {getattr(self, name)!r}.")
        if self.by_role and not self.centre:
            raise InputError("by_role must be false where centre is; it says which means are taken off.")


def state_distances(groups: Sequence[PlaceStates], layer: int, comparison: Comparison) -> list[Array]:
    """Return how far each probe is from its items in one layer, for each group of trials.

    Means and standard deviations are over all places of all groups.

    Returns
    -------
    list of arrays of shape (trials, items)
        Rounded to a billionth, of 1 or of a typical state's length, so that equal states are at equal distances.
    """
    # Items and then the probe of each trial: (trials, items + 1, width).
    states = [
        np.concatenate([one.items[layer], one.probes[layer][:, None]], axis=1).astype(np.float64) for one in groups
    ]
    size = float(np.sqrt((_pooled(states) ** 2).sum(axis=1).mean()))
    states = _centred(states, comparison)
    if comparison.standardise:
        spread = _pooled(states).std(axis=0)
        varies = spread > NO_LENGTH * size / np.sqrt(spread.size)
        states = [one * np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0) for one in states]
        size = float(np.sqrt(spread.size))
    apart = [_apart(one, comparison.similarity, NO_LENGTH * size) for one in states]
    grain = TIED * (1.0 if comparison.similarity == "cosine" else size)
    return [np.round(one / grain) * grain if grain > 0 else one for one in apart]


def _pooled(states: Sequence[Array]) -> Array:
    """Return all states as rows."""
    return np.concatenate([one.reshape(-1, one.shape[-1]) for one in states])


def _centred(states: list[Array], comparison: Comparison) -> list[Array]:
    """Return the states without their means."""
    if not comparison.centre:
        return states
    if not comparison.by_role:
        middle = _pooled(states).mean(axis=0)
        return [one - middle for one in states]
    items = _pooled([one[:, :-1] for one in states]).mean(axis=0)
    return [np.concatenate([one[:, :-1] - items, one[:, -1:] - one[:, -1:].mean(axis=0)], axis=1) for one in states]


def _apart(states: Array, similarity: str, smallest: float) -> Array:
    """Return the distances of the last state of each trial to the others; a state of no length has cosine 0."""
    items, probes = states[:, :-1], states[:, -1]
    if similarity == "euclidean":
        return np.asarray(np.linalg.norm(items - probes[:, None], axis=2))
    lengths = np.linalg.norm(states, axis=2)
    units = np.where(lengths > smallest, 1.0 / np.where(lengths > smallest, lengths, 1.0), 0.0)
    cosines = np.einsum("tnw,tw->tn", items, probes) * units[:, :-1] * units[:, -1:]
    apart: Array = np.maximum(1.0 - cosines, 0.0)
    return apart


def thresholds_of(apart: Array, steps: int = MASS_STEPS) -> Array:
    """Return 0 and the quantiles of distances of probes to items they are no copy of, so that the axis is ball mass.

    The k-th of them holds a share k / steps of these pairs, or more where distances are equal.
    """
    return np.concatenate([[0.0], np.quantile(apart, np.arange(1, steps + 1) / steps, method="inverted_cdf")])


def others_of(apart: Array, right: Whole) -> Array:
    """Return the distances of each probe to all items but the right one, which is its copy in identification."""
    keep = np.arange(apart.shape[1]) != right[:, None]
    found: Array = apart[keep]
    return found


def right_within(apart: Array, right: Whole, thresholds: Array) -> Array:
    """Return the probability of the right item, for each trial and threshold: Luce's rule, similarity 1 within, else 0.

    Parameters
    ----------
    apart : array of shape (trials, items)
    right : array of shape (trials,)
    thresholds : array of shape (thresholds,)

    Returns
    -------
    array of shape (trials, thresholds)
    """
    trials, count = apart.shape
    within = apart[:, :, None] <= thresholds
    inside = within.sum(axis=1)
    chosen = within[np.arange(trials), right] / np.maximum(inside, 1)
    told: Array = np.where(inside > 0, chosen, 1.0 / count)
    return told


def right_nearest(apart: Array, right: Whole) -> Array:
    """Return for each trial whether the right item is the nearest in representation; one over k where k are."""
    nearest = apart == apart.min(axis=1, keepdims=True)
    share: Array = nearest[np.arange(len(apart)), right] / nearest.sum(axis=1)
    return share
