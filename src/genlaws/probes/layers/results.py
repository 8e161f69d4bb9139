r"""Both tests in every layer of a language model: curves over thresholds, best points, nearest items, read-out.

A probe and the items are states of one layer. Items count as alike to the probe when they lie within a threshold of it,
and one of those within is chosen, each as likely as the others; if none is within, one of all:

.. math:: D_i = \frac{g_i}{\sum_k g_k}, \qquad g_i = 1 \text{ if } d(x_i, p) \le \varepsilon \text{ else } 0, \qquad
    D_i = \tfrac1n \text{ if every } g_k = 0

The mean of :math:`D` of the right item is :math:`p_S^n` in trials whose right item is the nearest one and :math:`p_I^n`
in trials whose right item is a copy of the probe (:cite:p:`nurisso2026`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from genlaws.core.arguments import Array, Mask, Whole, one_of
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, interval_columns
from genlaws.core.frames import DataFrame, frame_of, stack_frames
from genlaws.core.result import Result, Summary, text_table
from genlaws.probes.parameters import STATE_SIMILARITIES
from genlaws.semanticity.theory.many_items import generalization_of_many, identification_of_many
from genlaws.semanticity.theory.ties import GRID_STEP, round_distances

MIN_RELATIVE_LENGTH = 1e-6  # of the states' typical length: a state that small after centering is rounding of float32
THRESHOLD_QUANTILES = 40  # thresholds are this many quantiles, and the threshold 0
ESTIMATES = (
    "best_generalization",
    "identification_there",
    "best_identification",
    "nearest_generalization",
    "nearest_identification",
    "read_generalization",
    "read_identification",
)
LAYER_CURVE_COLUMNS = (
    "threshold",
    "ball_mass",
    "generalization",
    "generalization_low",
    "generalization_high",
    "identification",
    "identification_low",
    "identification_high",
)


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
        At the place of the probe.
    right : array of shape (trials,)
        Which item is right.
    options : array of shape (layers, trials, items)
        Read-out of each layer: probabilities of the options with the sum 1; NaN in a trial that cannot be judged.
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
        """Return the trials with the probes of other trials, and the read-out judged by their right answers.

        Identification is then at chance, 1/n. Generalization is at chance where states know nothing of the places, and
        above it where they do: an item that stands apart is the nearest to most probes, also in other trials. With
        states that are the places themselves this gives 7/12 for two items on a segment, 3/10 for four on a circle.
        """
        trials, count = len(self.right), self.items.shape[2]
        # The read-out is shifted by as many options as the right answer, and is judged as before.
        turn = (np.arange(count) + (self.right[order] - self.right)[:, None]) % count
        options = self.options[:, np.arange(trials)[:, None], turn]
        return PlaceStates(self.names, self.items, self.probes[:, order], self.right, options, self.single)


@dataclass(frozen=True)
class StateComparison:
    r"""How the states of a probe and of an item are compared.

    Attributes
    ----------
    similarity : {"cosine", "euclidean"}
        The distance is :math:`1 - \cos`, or Euclidean.
    center : bool
        Whether the mean state of the layer is subtracted first. Trained networks hold a few coordinates that are large
        and nearly the same for every token (rogue dimensions); with them all cosines are close to 1.
    by_role : bool
        Whether items and the probes of each test have means of their own. One mean for all leaves in what comes from
        the words around a place: "Born in 1066:" is one kind of line, "Born closest to 1066:" another, and in late
        layers the kind of line outweighs the year. Needs ``center``.
    standardize : bool
        Whether each coordinate is then divided by its standard deviation, so that none outweighs the others.
    """

    similarity: str = "cosine"
    center: bool = True
    by_role: bool = False
    standardize: bool = False

    def __post_init__(self) -> None:
        one_of("similarity", self.similarity, STATE_SIMILARITIES)
        for name in ("center", "by_role", "standardize"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be true or false; got {getattr(self, name)!r}.")
        if self.by_role and not self.center:
            raise InputError("by_role must be false where center is; it selects which means are subtracted.")


def state_distances(groups: Sequence[PlaceStates], layer: int, comparison: StateComparison) -> list[Array]:
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
    states = _centered(states, comparison)
    if comparison.standardize:
        spread = _pooled(states).std(axis=0)
        varies = spread > MIN_RELATIVE_LENGTH * size / np.sqrt(spread.size)
        states = [one * np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0) for one in states]
        size = float(np.sqrt(spread.size))
    apart = [_apart(one, comparison.similarity, MIN_RELATIVE_LENGTH * size) for one in states]
    step = GRID_STEP * (1.0 if comparison.similarity == "cosine" else size)
    return [round_distances(one, step) for one in apart]


def _pooled(states: Sequence[Array]) -> Array:
    """Return all states as rows."""
    return np.concatenate([one.reshape(-1, one.shape[-1]) for one in states])


def _centered(states: list[Array], comparison: StateComparison) -> list[Array]:
    """Return the states without their means."""
    if not comparison.center:
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
    return np.asarray(np.maximum(1.0 - cosines, 0.0))


def thresholds_of(apart: Array, steps: int = THRESHOLD_QUANTILES) -> Array:
    """Return 0 and quantiles of the distances of probes to items they do not copy: even steps of ball mass.

    The k-th of them holds a share k / steps of these pairs, or more where distances are equal.
    """
    return np.concatenate([[0.0], np.quantile(apart, np.arange(1, steps + 1) / steps, method="inverted_cdf")])


def others_of(apart: Array, right: Whole) -> Array:
    """Return the distances of each probe to all items but the right one, which is its copy in identification."""
    others = np.arange(apart.shape[1]) != right[:, None]
    return np.asarray(apart[others])


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
    return np.asarray(np.where(inside > 0, chosen, 1.0 / count))


def right_nearest(apart: Array, right: Whole) -> Array:
    """Return for each trial whether the right item is the nearest in representation; 1/k in a tie of k items."""
    nearest = apart == apart.min(axis=1, keepdims=True)
    return np.asarray(nearest[np.arange(len(apart)), right] / nearest.sum(axis=1))


@dataclass(frozen=True)
class LayerTest:
    """Both tests in one layer.

    Attributes
    ----------
    layer : int
        0 for the embeddings, l for the residual stream after block l.
    name : str
    threshold : array
        Distances within which an item counts as alike to the probe, increasing from 0.
    ball_mass : array
        Share of pairs within the threshold, of a probe and an item it does not copy, over both tests.
    generalization, identification : arrays
        :math:`p_S^n` and :math:`p_I^n` at each threshold; ``_low`` and ``_high`` are the ends of bootstrap intervals
        over trials, at fixed thresholds.
    best_generalization, identification_there : Estimate
        Both at the threshold that is best for generalization. It is chosen on one half of the trials and judged on the
        other, and the other way round, so that the choice does not bias the value; the interval is for the two
        thresholds chosen.
    best_identification : Estimate
        At the threshold that is best for identification, in the same way.
    best_ball_mass : float
        Ball mass at the threshold best for generalization, mean of the two halves.
    nearest_generalization, nearest_identification : Estimate
        Share of trials in which the item nearest in representation is right, a tie among k counted as 1/k, with
        Wilson's interval.
    read_generalization, read_identification : Estimate
        Mean probability of the right option in the read-out of the layer, with a bootstrap interval.
    """

    layer: int
    name: str
    threshold: Array
    ball_mass: Array
    generalization: Array
    generalization_low: Array
    generalization_high: Array
    identification: Array
    identification_low: Array
    identification_high: Array
    best_generalization: Estimate
    identification_there: Estimate
    best_identification: Estimate
    best_ball_mass: float
    nearest_generalization: Estimate
    nearest_identification: Estimate
    read_generalization: Estimate
    read_identification: Estimate


@dataclass(frozen=True, eq=False, repr=False)
class LayerTests(Result):
    """Both tests in every layer of a language model.

    Attributes
    ----------
    model, domain, template : str
        What they are called.
    item_count, trial_count : int
        Items of a trial; trials of each test.
    pooling : str
    comparison : StateComparison
    layers : tuple of LayerTest
    control : tuple of LayerTest
        The same with the probes exchanged between trials, and the read-out judged by the answers of others. It is at
        chance, 1/n, except for generalization in a layer that knows the places: there it is what the layout of the
        items gives without the probe, as an item that stands apart is the nearest to most probes.
    unread : (int, int)
        Trials of similarity and of identification without a read-out, because two options begin with the same token.
    single : float
        Share of trials whose options are one token each; in the others the read-out is of first tokens.
    """

    drawn_by = "genlaws.figures.semanticity.layers:layer_pictures"

    model: str
    domain: str
    template: str
    item_count: int
    trial_count: int
    pooling: str
    comparison: StateComparison
    layers: tuple[LayerTest, ...]
    control: tuple[LayerTest, ...]
    unread: tuple[int, int]
    single: float

    @property
    def chance(self) -> float:
        """One over the number of items."""
        return 1.0 / self.item_count

    def to_frame(self) -> DataFrame:
        """Return one row per layer; every estimate has its value, both ends, and a column ``control_``."""
        rows = []
        for one, control in zip(self.layers, self.control, strict=True):
            row: dict[str, str | float] = {"layer": one.layer, "name": one.name}
            for name in ESTIMATES:
                row |= interval_columns(name, getattr(one, name))
                row[f"control_{name}"] = getattr(control, name).value
            rows.append(row | {"best_ball_mass": one.best_ball_mass, "chance": self.chance})
        return frame_of(rows)

    def curves_frame(self) -> DataFrame:
        """Return one row per layer and threshold: both tests, and the closed forms of a homogeneous space.

        The closed forms are Theorem 3 at the ball mass of the row. They take a probe's copy to be at distance 0; in a
        text it is not, so identification may lie below.
        """
        parts = []
        for one, control in zip(self.layers, self.control, strict=True):
            part = frame_of(
                {"layer": one.layer, "name": one.name, **{name: getattr(one, name) for name in LAYER_CURVE_COLUMNS}}
            )
            part["homogeneous_generalization"] = generalization_of_many(one.ball_mass, self.item_count)
            part["homogeneous_identification"] = identification_of_many(one.ball_mass, self.item_count)
            part["control_generalization"] = control.generalization
            part["control_identification"] = control.identification
            parts.append(part)
        return stack_frames(parts)

    def tables(self) -> dict[str, DataFrame]:
        """Return the estimates of each layer, and its curves over thresholds."""
        return {"layers": self.to_frame(), "layer_curves": self.curves_frame()}

    def summary(self) -> Summary:
        """Return a table of the layers, and how states were compared."""
        how = [self.comparison.similarity, f"{self.pooling} token" if self.pooling == "last" else "mean of tokens"]
        how += ["centered by role" if self.comparison.by_role else "centered"] if self.comparison.center else []
        how += ["standardized"] if self.comparison.standardize else []
        first = (
            f"{self.model}: {self.domain}, {self.template}, {self.item_count} items, {self.trial_count} trials of each "
            f"test, chance {self.chance:.3g}; {', '.join(how)}"
        )
        heads = ("best p_S", "p_I there", "best p_I", "nearest p_S", "nearest p_I", "read-out p_S", "read-out p_I")
        values = {one.name: [getattr(one, name).value for name in ESTIMATES] for one in self.layers}
        values["exchanged, mean"] = [
            sum(getattr(one, name).value for one in self.control) / len(self.control) for name in ESTIMATES
        ]
        cells = [("layer", *heads), *((name, *(f"{one:.3f}" for one in row)) for name, row in values.items())]
        note = (
            f"read-out: first tokens of the options, the whole option in {self.single:.0%} of trials; left out because "
            f"two options begin alike: {self.unread[0]} and {self.unread[1]} trials"
        )
        return Summary(headline=(first,), table=text_table(cells), sentences=(note,))
