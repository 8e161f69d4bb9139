"""Measure the states of stimuli at every site of a residual stream, and the change that each write makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlaws.core.errors import InputError
from genlaws.core.estimate import INTERVAL_MEANING, Estimate, interval_columns
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.plain import UNWRITTEN
from genlaws.core.result import Result, Row, Summary
from genlaws.core.running import Running, checked_running
from genlaws.models.stream import Site, Stream
from genlaws.probes.encoders.stimuli import EmbeddingStimuli
from genlaws.probes.layers.embeddings import AS_LOADED
from genlaws.probes.parameters import PERMUTED, UNTRAINED
from genlaws.probes.stream.changes import (
    HOLM_LEVEL,
    TESTS,
    BothTests,
    Change,
    TotalChange,
    WriteChange,
    both_tests,
    total_changes,
    write_changes,
)
from genlaws.semanticity.measurement.measure import measure
from genlaws.semanticity.measurement.result import Measurement
from genlaws.semanticity.measurement.sets import Options, load_set
from genlaws.semanticity.measurement.stimuli import Compare, pair_up

MAX_NAMED_CHANGES = 3  # of the largest changes in the summary
STATE_ULPS = 8.0  # units in the last place of the largest number by which equal states may differ
Rows = NDArray[Any]


@dataclass(frozen=True)
class SiteTests:
    """Both tests of the states at one site, and the shape that fits their similarities.

    Attributes
    ----------
    generalization, identification : Estimate
        With two items.
    resolution, background : Estimate
        Of the fitted shape.
    shape : str
    explained : float
        Share of the profile that the shape explains; a resolution means little where it is small.
    distance_to_front, distance_to_constant_front : float
        Positive above the front of the shape, and of the constant similarity; NaN without fronts.
    """

    generalization: Estimate
    identification: Estimate
    resolution: Estimate
    background: Estimate
    shape: str
    explained: float
    distance_to_front: float
    distance_to_constant_front: float

    @classmethod
    def of(cls, found: Measurement) -> SiteTests:
        """Return the main numbers of a measurement."""
        return cls(
            generalization=found.generalization,
            identification=found.identification,
            resolution=found.fit.resolution,
            background=found.fit.background,
            shape=found.fit.shape,
            explained=found.fit.explained,
            distance_to_front=found.distance_to_front,
            distance_to_constant_front=found.distance_to_constant_front,
        )

    def columns(self) -> dict[str, float | str]:
        """Return the row of the site in a table."""
        columns: dict[str, float | str] = {}
        for name, value in vars(self).items():
            columns |= interval_columns(name, value) if isinstance(value, Estimate) else {name: value}
        return columns


@dataclass(frozen=True)
class StreamCondition:
    """One network, or one control, at every site and for every write.

    Attributes
    ----------
    tests : tuple of SiteTests
        In the order of the sites.
    writes : tuple of WriteChange
        In the order of the network; Holm's procedure is over all of them and both tests.
    totals : tuple of TotalChange
        Of the writes of each kind together.
    measurements : tuple of Measurement
        Everything that was measured, in the order of the sites; not in JSON.
    """

    tests: tuple[SiteTests, ...]
    writes: tuple[WriteChange, ...]
    totals: tuple[TotalChange, ...]
    measurements: tuple[Measurement, ...] = field(default=(), metadata=UNWRITTEN)


@dataclass(frozen=True, eq=False, repr=False)
class StreamSemanticity(Result):
    """Generalization, identification and resolution at every site of a residual stream, and what each write changes.

    Attributes
    ----------
    model, stimuli, unit : str
        What was measured, on what, and the unit of resolutions.
    stimulus_count : int
    position, similarity : str
    center : bool
        Whether the mean over stimuli was subtracted at each site.
    sites : tuple of Site
        Those that were measured; a site whose states are the same for all stimuli is left out.
    conditions : dict of StreamCondition
        ``as loaded``, and the controls: ``permuted`` gives the states to the wrong stimuli, so that its generalization
        is one half up to chance, while identification, which does not use true distances, stays the same;
        ``random weights`` is the same architecture before any training.
    identity : str
        What holds between a state and the next.
    identity_error : float
        Largest relative distance from it; NaN for a stream that was captured before.
    messages : tuple of str
        What to know before drawing conclusions.
    """

    drawn_by = "genlaws.figures.residual_stream.semanticity:stream_semanticity_pictures"

    model: str
    stimuli: str
    unit: str
    stimulus_count: int
    position: str
    similarity: str
    center: bool
    sites: tuple[Site, ...]
    conditions: dict[str, StreamCondition]
    identity: str
    identity_error: float
    messages: tuple[str, ...]

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Of the network as loaded, in the order of the sites."""
        return self.conditions[AS_LOADED].measurements

    @property
    def tests(self) -> tuple[SiteTests, ...]:
        """Of the network as loaded, in the order of the sites."""
        return self.conditions[AS_LOADED].tests

    @property
    def writes(self) -> tuple[WriteChange, ...]:
        """Of the network as loaded."""
        return self.conditions[AS_LOADED].writes

    @property
    def totals(self) -> tuple[TotalChange, ...]:
        """Of the network as loaded."""
        return self.conditions[AS_LOADED].totals

    def to_frame(self) -> DataFrame:
        """Return one row per site and condition, with 95 % intervals over stimuli."""
        rows = [
            {"site": site.name, "sublayer": number, "layer": site.layer, "condition": condition, **one.columns()}
            for condition, found in self.conditions.items()
            for number, (site, one) in enumerate(zip(self.sites, found.tests, strict=True))
        ]
        return frame_of(rows)

    def tables(self) -> dict[str, DataFrame]:
        """Return the sites; the changes of single writes and of all of a kind, with p-values and those of Holm."""
        writes = [
            {"write": one.site.name, "kind": one.site.place, "layer": one.site.layer, "after": one.after.name}
            | {"condition": condition, **_columns(one)}
            for condition, found in self.conditions.items()
            for one in found.writes
        ]
        totals = [
            {"kind": one.kind, "write_count": one.write_count, "condition": condition, **_columns(one)}
            for condition, found in self.conditions.items()
            for one in found.totals
        ]
        return {"sites": self.to_frame(), "writes": frame_of(writes), "totals": frame_of(totals)}

    def summary(self) -> Summary:
        """Return both tests at the main sites, the largest changes, and the controls."""
        token = {"last": "last token, ", "mean": "mean over tokens, "}.get(self.position, "")
        centered = ", mean over stimuli subtracted" if self.center else ""
        best = int(np.argmax([one.generalization.value for one in self.tests]))
        places = {0: "first", best: "largest generalization", len(self.sites) - 1: "last"}
        rows = [
            Row(
                f"{self.sites[place].name} ({why})",
                f"p_S {self.tests[place].generalization}, p_I {self.tests[place].identification}",
            )
            for place, why in places.items()
        ]
        rows += [
            Row(
                f"all {one.write_count} {one.kind} writes",
                f"p_S {_signed(one.generalization)}, p_I {_signed(one.identification)}",
            )
            for one in self.totals
        ]
        return Summary(
            rows=rows,
            sentences=[
                INTERVAL_MEANING,
                *(self._format_largest(test, symbol) for test, symbol in zip(TESTS, ("p_S", "p_I"), strict=True)),
                *self._format_caveats(),
            ],
            warnings=self.messages,
            headline=[f"{self.model} on {self.stimulus_count} {self.stimuli} ({token}{self.similarity}{centered})"],
        )

    def _format_largest(self, test: str, symbol: str) -> str:
        """Return the largest changes of one test."""
        ordered = sorted(self.writes, key=lambda one: -abs(getattr(one, test).estimate.value))
        named = ", ".join(f"{one.site.name} {_signed(getattr(one, test))}" for one in ordered[:MAX_NAMED_CHANGES])
        clear = sum(getattr(one, test).direction != "unclear" for one in self.writes)
        return f"Largest changes of {symbol}: {named}; {clear} of {len(self.writes)} writes change it clearly."

    def _format_caveats(self) -> list[str]:
        """Return sentences on the tests, the choice of the largest, and the controls."""
        tests = len(TESTS) * len(self.writes)
        lines = [
            f"Clearly: after Holm's procedure over {tests} tests at {100 * HOLM_LEVEL:g} %. Each "
            "interval is of one change, over stimuli; the choice biases the largest of many upward."
        ]
        for name, one in self.conditions.items():
            if name != AS_LOADED:
                values = [measured.generalization.value for measured in one.tests]
                clear = sum(write.generalization.direction != "unclear" for write in one.writes)
                lines.append(
                    f"Control {name}: p_S from {min(values):.3f} to {max(values):.3f}; {clear} of {len(one.writes)} "
                    "writes change it clearly."
                )
        return lines


def _signed(change: Change) -> str:
    """Return a change with its sign."""
    return f"{'+' if change.estimate.value > 0 else ''}{str(change.estimate).partition(' (n')[0]}"


def _columns(one: WriteChange | TotalChange) -> dict[str, Any]:
    """Return both changes as columns of a table."""
    columns: dict[str, Any] = {}
    for test in TESTS:
        change = getattr(one, test)
        columns |= {
            f"{test}_change": change.estimate.value,
            f"{test}_low": change.estimate.low,
            f"{test}_high": change.estimate.high,
            f"{test}_p": change.p_value,
            f"{test}_holm": change.adjusted,
            f"{test}_direction": change.direction,
        }
    return columns


@dataclass(frozen=True)
class MeasureSettings:
    """How the states at a site become similarities, and the options of the measurement.

    Attributes
    ----------
    similarity : str or callable
    center : bool
        Whether the mean over stimuli is subtracted.
    seed : int
    options : dict
        Of :func:`~genlaws.semanticity.measurement.measure.measure`.
    """

    similarity: str | Compare
    center: bool
    seed: int
    options: dict[str, Any]

    def rows(self, states: Rows) -> Rows:
        """Return the rows that are compared, of the states at one site."""
        if not self.center:
            return states
        mean = states.mean(axis=0, dtype=np.float64)
        return np.asarray(states - mean.astype(states.dtype))

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
        options = Options(
            name="",
            threshold=self.options.get("threshold"),
            items=(2,),
            all_thresholds=self.similarity == "threshold",
            ties=self.options.get("ties", "split"),
            tie_tolerance=self.options.get("tie_tolerance"),
            intervals=False,
            fronts=False,
        )
        return both_tests(load_set(given, options)[0])


def measure_conditions(
    streams: dict[str, Stream],
    measured: Sequence[int],
    stimuli: EmbeddingStimuli,
    how: MeasureSettings,
    *,
    permuted: bool,
    running: Running | None = None,
) -> dict[str, StreamCondition]:
    """Return the measurements of each stream, and those with the states given to the wrong stimuli.

    Parameters
    ----------
    streams : dict of Stream
        ``as loaded``, and ``random weights`` if it is a control; one row for each stimulus, the same sites.
    measured : sequence of int
        The sites that are measured, in order.
    stimuli : EmbeddingStimuli
    how : MeasureSettings
    permuted : bool
        Whether that control is wanted.
    running : Running, optional
        Its steps are the sites in all streams.
    """
    rows = {name: [how.rows(one.states[:, place]) for place in measured] for name, one in streams.items()}
    if permuted:
        order = np.random.default_rng([how.seed, len(stimuli)]).permutation(len(stimuli))
        rows[PERMUTED] = [one[order] for one in rows[AS_LOADED]]
    sites = [streams[AS_LOADED].sites[place] for place in measured]
    steps = [at for at in range(len(measured) - 1) if measured[at + 1] == measured[at] + 1]
    found: dict[str, StreamCondition] = {}
    shown = checked_running(running)
    shown.start(len(rows) * len(measured), "sites")
    for name in (one for one in (AS_LOADED, PERMUTED, UNTRAINED) if one in rows):
        measurements, tests = [], []
        for site, one in zip(sites, rows[name], strict=True):
            try:
                measurements.append(how.measurement(one, stimuli, fronts=name == AS_LOADED))
            except InputError as error:
                raise InputError(f"At the site {site.name}: {error}") from None
            tests.append(how.tests(one, stimuli))
            shown.advance()
        changes = write_changes(sites, tests, steps), total_changes(sites, tests, steps)
        found[name] = StreamCondition(tuple(map(SiteTests.of, measurements)), *changes, tuple(measurements))
    return found


def informative_sites(streams: dict[str, Stream], stimulus_count: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the sites at which states differ between stimuli in every stream, and messages on the others."""
    some = next(iter(streams.values()))
    differ = [all(_differ(one.states[:, place]) for one in streams.values()) for place in range(len(some.sites))]
    found = tuple(place for place, differs in enumerate(differ) if differs)
    if len(found) < 2:
        raise InputError(
            "stimuli must differ in the states that are read; at all sites, or all but one, these are the same for "
            "all. Put the place at the end of the phrase, or take position mean."
        )
    messages = []
    if len(found) < len(differ):
        names = ", ".join(site.name for site, differs in zip(some.sites, differ, strict=True) if not differs)
        messages.append(f"All stimuli have the same state at {names}, which is left out.")
    kinds = len(np.unique(some.states[:, found[0]], axis=0))
    if kinds < stimulus_count:
        messages.append(
            f"At {some.sites[found[0]].name} the {stimulus_count} stimuli have {kinds} different states: there the "
            "token that is read is the same for several stimuli."
        )
    return found, tuple(messages)


def _differ(states: Rows) -> bool:
    """Return whether the states of one site differ by more than rounding."""
    grain = STATE_ULPS * float(np.finfo(states.dtype).eps) * float(np.abs(states).max())
    return bool((np.ptp(states, axis=0) > grain).any())
