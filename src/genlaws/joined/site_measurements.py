"""Measure the states of stimuli at every site of a residual stream, and compare neighbouring sites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlaws.joined.stream_result import PERMUTED, UNTRAINED, StreamCondition
from genlaws.joined.write_changes import BothTests, both_tests, total_changes, write_changes
from genlaws.numerics.errors import InputError
from genlaws.residual_stream.stream import Stream
from genlaws.semanticity.measure import measure
from genlaws.semanticity.measurement import Measurement
from genlaws.semanticity.probes.embedding_stimuli import EmbeddingStimuli
from genlaws.semanticity.probes.layer_measurements import AS_LOADED
from genlaws.semanticity.stimuli import Compare, pair_up
from genlaws.semanticity.whole_set import Options, load_set

SAME = 8.0  # units in the last place of the largest number by which equal states may differ
Advance = Callable[[int], object]
Rows = NDArray[Any]


@dataclass(frozen=True)
class HowMeasured:
    """How the states at a site become similarities, and what is asked of them.

    Attributes
    ----------
    similarity : str or callable
    centre : bool
        Whether the mean over stimuli is taken off.
    seed : int
    options : dict
        Of :func:`~genlaws.semanticity.measure.measure`.
    """

    similarity: str | Compare
    centre: bool
    seed: int
    options: dict[str, Any]

    def rows(self, states: Rows) -> Rows:
        """Return the rows that are compared, of the states at one site."""
        if not self.centre:
            return states
        mean = states.mean(axis=0, dtype=np.float64)
        centred: Rows = states - mean.astype(states.dtype)
        return centred

    def measurement(self, rows: Rows, stimuli: EmbeddingStimuli, *, fronts: bool) -> Measurement:
        """Return the measurement of one site."""
        given = {**self.options} if fronts else {**self.options, "fronts": False}
        found = measure(rows, **stimuli.truth, similarity=self.similarity, seed=self.seed, **given)
        if not found.exact:
            raise InputError(
                f"stimuli must be few enough to be measured whole; {len(stimuli)} do not fit into memory. Give fewer, "
                "or more memory."
            )
        return found

    def tests(self, rows: Rows, stimuli: EmbeddingStimuli) -> BothTests:
        """Return both tests of one site, also without each stimulus, on the set that the measurement is of."""
        truth = stimuli.truth
        given = pair_up(rows, self.similarity, distances=None, bandwidth=self.options.get("bandwidth"), **truth)
        asked = Options(
            name="",
            threshold=self.options.get("threshold"),
            items=(2,),
            all_thresholds=self.similarity == "threshold",
            ties=self.options.get("ties", "split"),
            tie_tolerance=self.options.get("tie_tolerance"),
            intervals=False,
            fronts=False,
        )
        return both_tests(load_set(given, asked)[0])


def measure_conditions(
    streams: dict[str, Stream],
    kept: Sequence[int],
    stimuli: EmbeddingStimuli,
    how: HowMeasured,
    *,
    permuted: bool,
    advance: Advance | None = None,
) -> dict[str, StreamCondition]:
    """Return what is found in each stream, and with the states given to the wrong stimuli.

    Parameters
    ----------
    streams : dict of Stream
        ``as loaded``, and ``random weights`` if it is a control; one row for each stimulus, the same sites.
    kept : sequence of int
        The sites that are measured, in order.
    stimuli : EmbeddingStimuli
    how : HowMeasured
    permuted : bool
        Whether that control is wanted.
    advance : callable, optional
        Called with 1 after each site.
    """
    rows = {name: [how.rows(one.states[:, place]) for place in kept] for name, one in streams.items()}
    if permuted:
        order = np.random.default_rng([how.seed, len(stimuli)]).permutation(len(stimuli))
        rows[PERMUTED] = [one[order] for one in rows[AS_LOADED]]
    sites = [streams[AS_LOADED].sites[place] for place in kept]
    steps = [at for at in range(len(kept) - 1) if kept[at + 1] == kept[at] + 1]
    found: dict[str, StreamCondition] = {}
    for name in (one for one in (AS_LOADED, PERMUTED, UNTRAINED) if one in rows):
        measurements, tests = [], []
        for site, one in zip(sites, rows[name], strict=True):
            try:
                measurements.append(how.measurement(one, stimuli, fronts=name == AS_LOADED))
            except InputError as error:
                raise InputError(f"At the site {site.name}: {error}") from None
            tests.append(how.tests(one, stimuli))
            if advance is not None:
                advance(1)
        changes = write_changes(sites, tests, steps), total_changes(sites, tests, steps)
        found[name] = StreamCondition(tuple(measurements), *changes)
    return found


def telling_sites(streams: dict[str, Stream], stimulus_count: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the sites at which states differ from stimulus to stimulus in every stream, and what to say of others."""
    some = next(iter(streams.values()))
    differ = [all(_differ(one.states[:, place]) for one in streams.values()) for place in range(len(some.sites))]
    kept = tuple(place for place, differs in enumerate(differ) if differs)
    if len(kept) < 2:
        raise InputError(
            "stimuli must differ in the states that are read; at all sites but at most one these are the same for all. "
            "Put the place at the end of the phrase, or take position mean."
        )
    messages = []
    if len(kept) < len(differ):
        names = ", ".join(site.name for site, differs in zip(some.sites, differ, strict=True) if not differs)
        messages.append(f"All stimuli have the same state at {names}, where nothing is told apart; it is left out.")
    kinds = len(np.unique(some.states[:, kept[0]], axis=0))
    if kinds < stimulus_count:
        messages.append(
            f"At {some.sites[kept[0]].name} the {stimulus_count} stimuli have {kinds} different states: there the "
            "token that is read is the same for several stimuli."
        )
    return kept, tuple(messages)


def _differ(states: Rows) -> bool:
    """Say whether the states of one site differ by more than rounding."""
    grain = SAME * float(np.finfo(states.dtype).eps) * float(np.abs(states).max())
    return bool((np.ptp(states, axis=0) > grain).any())
