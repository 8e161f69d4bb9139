"""Measure a representation: its resolution, both tests, and how many items it can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import fits_memory, whole_number
from genlaws.core.errors import InputError
from genlaws.core.result import question
from genlaws.core.running import Running, checked_running
from genlaws.semanticity.measurement.result import Measurement
from genlaws.semanticity.measurement.sets import Options, measure_batches, measure_whole
from genlaws.semanticity.measurement.stimuli import embed, pair_up
from genlaws.semanticity.parameters import (
    Bandwidth,
    BatchCount,
    BatchSize,
    Center,
    Comparison,
    Fronts,
    Intervals,
    ItemCounts,
    Memory,
    Metric,
    Period,
    Positions,
    Precision,
    Seed,
    Threshold,
    Ties,
    TieTolerance,
)

# Peak memory of the exact measurement, in bytes for each ordered pair of stimuli (166 to 171 measured for thresholds,
# 140 to 162 for other similarities).
BYTES_PER_PAIR = 176
GIB = 2.0**30
MIN_STIMULUS_LIMIT = 9  # stimuli; half of them make a batch of four
DEFAULT_ITEM_COUNTS = (2, 3, 5, 10)


@question
def measure(
    representation: Any,
    *,
    inputs: Any = None,
    distances: ArrayLike | None = None,
    positions: Positions = None,
    metric: Metric = None,
    period: Period = None,
    similarity: Comparison = "cosine",
    center: Center = False,
    bandwidth: Bandwidth = None,
    threshold: Threshold = None,
    items: ItemCounts = None,
    ties: Ties = "split",
    tie_tolerance: TieTolerance = None,
    intervals: Intervals = True,
    fronts: Fronts = True,
    memory: Memory = 1.0,
    batch_size: BatchSize = 500,
    batch_count: BatchCount = 40,
    precision: Precision = None,
    seed: Seed = 0,
    name: str = "",
    note: str = "",
    running: Running | None = None,
) -> Measurement:
    r"""Measure generalization, identification, resolution and the collapse over items of a representation.

    Up to the size that fits into `memory` every triple of different stimuli counts and no decision is sampled. Larger
    sets are measured in random batches, each exactly; the mean over batches is unbiased and their spread gives the
    interval.

    Parameters
    ----------
    representation : array of embeddings, matrix of similarities, torch module or function
        One row per stimulus. An array that stays on disk (``numpy.load(..., mmap_mode="r")``) is read batch by batch. A
        matrix needs ``similarity="precomputed"``; a module or function needs `inputs`.
    inputs : any
        What the module is given, all stimuli at once; a mapping is passed to a torch module as keywords.
    distances : array_like of shape (N, N)
        True distances; or else:
    positions, metric, period :
        True places and how they become distances, see
        :func:`~genlaws.semanticity.measurement.metrics.distances_between`. The period of a circle is 1 if it is not
        given, and places that span more are refused.
    similarity : str or callable
        See :func:`~genlaws.semanticity.measurement.stimuli.comparison`; ``threshold`` for all thresholds at once.
    center : bool
        Subtract the mean over all stimuli from the embeddings before they are compared. Cosines and products of
        embeddings whose mean is large say little without it; the message states when it would clearly change
        generalization.
    bandwidth : float or None
        Of the Gaussian similarity.
    threshold : float or None
        Of the threshold similarity; the one with the largest generalization if not given.
    items : int, several of them, or None
        Numbers of items, each from 2 to N - 1, or to one less than a batch; 2, 3, 5 and 10 as far as they fit if not
        given.
    ties : {"split", "drop"}
        Among items equally near to the probe one is right at random, or such sets are left out.
    tie_tolerance : float or None
        Distances from a probe that differ by no more are equal. If not given, what rounding can do, as
        ``genlaws.semanticity.theory.ties.tie_tolerance`` finds it for a matrix.
    intervals, fronts : bool
        Leave either out to save time.
    memory : float
        GiB for what grows with the square of the set or batch; some 10 MiB come on top.
    batch_size, batch_count : int
        At most, of a set too large for `memory`; there are at least two batches.
    precision : float or None
        Stop drawing batches once both intervals are this narrow on either side.
    seed : int
        Of batches, bootstrap and subsamples.
    name : str
        Of the representation, for the title of its page.
    note : str
        What to know about the data, such as what was read as names; the message begins with it.
    running : Running, optional
        Its steps are the batches; a set that is measured whole is one step.

    Notes
    -----
    A finite set is not its space: the probe is not among the items, and no item comes twice. Drawing both from N
    evenly spaced points of a circle gives, ties split and the similarity nowhere zero,

    .. math:: p_I^N = p_I + \frac{p_I - \frac12}{N-1} + O(N^{-2}), \qquad
        p_S^N = p_S + \frac{(3N-2)\,p_S - 2N\,p_I - \frac N2 + 1}{(N-1)(N-2)} + O(N^{-2}),

    without any remainder for the constant similarity if its resolution is the mean of two neighboring distances. Over
    random points of a space both are unbiased.

    Intervals are for other stimuli of the same kind; with two items they are those of the jackknife over stimuli. Where
    values vary with pairs of stimuli more than with single ones they are too wide, by up to a factor of 1.4.

    References
    ----------
    :cite:p:`nurisso2026`, the two tests. Averages over finite sets, ties and intervals are not in the paper.
    """
    stimuli = pair_up(
        _rows(representation, inputs),
        similarity,
        distances=distances,
        positions=positions,
        metric=metric,
        period=period,
        bandwidth=bandwidth,
        center=center,
    )
    if threshold is not None and similarity != "threshold":
        raise InputError("threshold belongs to the threshold similarity alone.")
    limit = _largest_set(memory)
    exact = stimuli.count <= limit
    part = stimuli.count if exact else min(batch_size, limit, stimuli.count // 2)
    fits_memory(f"{part} stimuli measured at once", part**2 * BYTES_PER_PAIR, "Give less memory, in GiB.")
    wanted: tuple[int, ...] | None = items  # type: ignore[assignment]  # as its parameter returns it
    options = Options(
        name=similarity if isinstance(similarity, str) else getattr(similarity, "__name__", "user"),
        threshold=threshold,
        items=_item_counts(wanted, part),
        all_thresholds=similarity == "threshold",
        ties=ties,
        tie_tolerance=tie_tolerance,
        intervals=intervals,
        fronts=fronts,
        note=note,
    )
    rng = np.random.default_rng(seed)
    shown = checked_running(running)
    if not exact:
        return measure_batches(stimuli, options, rng, size=part, most=batch_count, precision=precision, running=shown)
    shown.start(1, "sets")
    found = measure_whole(stimuli, options, rng)
    shown.advance()
    return found


def _rows(representation: Any, inputs: Any) -> Any:
    if inputs is not None:
        if not callable(representation):
            raise InputError("inputs belong to a module or function; an array of embeddings needs none.")
        return embed(representation, inputs)
    if callable(representation) and not hasattr(representation, "shape"):
        raise InputError("A module or function needs inputs, the stimuli it is to embed.")
    return representation


def _largest_set(memory: float) -> int:
    """Return how many stimuli are measured whole."""
    count = int(np.sqrt(memory * GIB / BYTES_PER_PAIR))
    if count < MIN_STIMULUS_LIMIT:
        least = MIN_STIMULUS_LIMIT**2 * BYTES_PER_PAIR / GIB
        raise InputError(f"memory must be at least {least:.2g} GiB, for {MIN_STIMULUS_LIMIT} stimuli; got {memory:g}.")
    return count


def _item_counts(items: tuple[int, ...] | None, stimulus_count: int) -> tuple[int, ...]:
    if items is None:
        return tuple(n for n in DEFAULT_ITEM_COUNTS if n < stimulus_count)
    hint = f"A set of {stimulus_count} has a probe and {stimulus_count - 1} others."
    return tuple(whole_number("items", n, at_least=2, at_most=stimulus_count - 1, hint=hint) for n in items)
