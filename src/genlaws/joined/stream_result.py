"""What the residual stream of a network tells apart, site by site and write by write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from genlaws.joined.write_changes import LEVEL, TESTS, Change, TotalChange, WriteChange
from genlaws.residual_stream.stream import Site
from genlaws.semanticity.measurement import Measurement
from genlaws.semanticity.probes.layer_measurements import AS_LOADED, LayerMeasurements

if TYPE_CHECKING:
    import pandas as pd

NAMED = 3  # of the largest changes in the summary
PERMUTED, UNTRAINED = "permuted", "random weights"


@dataclass(frozen=True)
class StreamCondition:
    """One network, or one control, at every site and for every write.

    Attributes
    ----------
    measurements : tuple of Measurement
        In the order of the sites.
    writes : tuple of WriteChange
        In the order of the network; Holm's procedure is over all of them and both tests.
    totals : tuple of TotalChange
        Of the writes of each kind together.
    """

    measurements: tuple[Measurement, ...]
    writes: tuple[WriteChange, ...]
    totals: tuple[TotalChange, ...]


@dataclass(frozen=True)
class StreamSemanticity:
    """Generalisation, identification and resolution at every site of a residual stream, and what each write changes.

    Attributes
    ----------
    model, stimuli, unit : str
        What was measured, on what, and the unit of resolutions.
    position, similarity : str
    centre : bool
        Whether the mean over stimuli was taken off at each site.
    sites : tuple of Site
        Those that were measured; a site whose states are the same for all stimuli is left out.
    conditions : dict of StreamCondition
        ``as loaded``, and the controls: ``permuted`` gives the states to the wrong stimuli, so that its generalisation
        is one half but for chance, while identification, which knows of no true distance, is what it was;
        ``random weights`` is the same architecture before any training.
    identity : str
        What holds between a state and the next.
    identity_error : float
        Largest relative distance from it; NaN for a stream that was given.
    messages : tuple of str
        What to know before anything is concluded.
    """

    model: str
    stimuli: str
    unit: str
    position: str
    similarity: str
    centre: bool
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
    def writes(self) -> tuple[WriteChange, ...]:
        """Of the network as loaded."""
        return self.conditions[AS_LOADED].writes

    @property
    def totals(self) -> tuple[TotalChange, ...]:
        """Of the network as loaded."""
        return self.conditions[AS_LOADED].totals

    def to_frame(self) -> pd.DataFrame:
        """Return one row per site and condition, with 95 % intervals over stimuli."""
        names = tuple(site.name for site in self.sites)
        parts = {name: one.measurements for name, one in self.conditions.items()}
        found = parts.pop(AS_LOADED)
        table = LayerMeasurements(self.model, self.stimuli, self.unit, names, found, parts).to_frame()
        table = table.rename(columns={"layer": "site"})
        for place, (name, values) in enumerate(
            {"sublayer": range(len(names)), "layer": [one.layer for one in self.sites]}.items()
        ):
            table.insert(1 + place, name, list(values) * len(self.conditions))
        return table

    def writes_frame(self) -> pd.DataFrame:
        """Return one row per write and condition: both changes with paired 95 % intervals, p-values and Holm's."""
        rows = [
            {"write": one.site.name, "kind": one.site.place, "layer": one.site.layer, "after": one.after.name}
            | {"condition": condition, **_columns(one)}
            for condition, found in self.conditions.items()
            for one in found.writes
        ]
        return _Table(rows).to_frame()

    def totals_frame(self) -> pd.DataFrame:
        """Return one row per kind of write and condition: the sum of the changes of all such writes."""
        rows = [
            {"kind": one.kind, "write_count": one.write_count, "condition": condition, **_columns(one)}
            for condition, found in self.conditions.items()
            for one in found.totals
        ]
        return _Table(rows).to_frame()

    def __str__(self) -> str:
        count = self.measurements[0].stimulus_count
        token = {"last": "last token, ", "mean": "mean over tokens, "}.get(self.position, "")
        centred = ", mean over stimuli taken off" if self.centre else ""
        lines = [f"{self.model} on {count} {self.stimuli} ({token}{self.similarity}{centred})"]
        best = int(np.argmax([one.generalisation.value for one in self.measurements]))
        for place, why in {0: "first", best: "largest generalisation", len(self.sites) - 1: "last"}.items():
            one = self.measurements[place]
            lines.append(f"{self.sites[place].name} ({why}): p_S {one.generalisation}, p_I {one.identification}")
        lines += [self._largest(test, symbol) for test, symbol in zip(TESTS, ("p_S", "p_I"), strict=True)]
        lines += [
            f"All {one.write_count} {one.kind} writes together: p_S {_signed(one.generalisation)}, "
            f"p_I {_signed(one.identification)}"
            for one in self.totals
        ]
        return "\n".join([*lines, *self._cautions()])

    def _largest(self, test: str, symbol: str) -> str:
        """Return the largest changes of one test."""
        ordered = sorted(self.writes, key=lambda one: -abs(getattr(one, test).estimate.value))
        told = ", ".join(f"{one.site.name} {_signed(getattr(one, test))}" for one in ordered[:NAMED])
        clear = sum(getattr(one, test).direction != "unclear" for one in self.writes)
        return f"Largest changes of {symbol}: {told}; {clear} of {len(self.writes)} writes change it clearly"

    def _cautions(self) -> list[str]:
        """Return what must be known of the tests, the choice of the largest, and the controls."""
        tests = len(TESTS) * len(self.writes)
        lines = [
            f"Clearly: after Holm's procedure over {tests} tests at {100 * LEVEL:g} %. Intervals are of one change "
            "each, over stimuli; the largest of many are too large by the choice."
        ]
        for name, one in self.conditions.items():
            if name != AS_LOADED:
                values = [measured.generalisation.value for measured in one.measurements]
                clear = sum(write.generalisation.direction != "unclear" for write in one.writes)
                lines.append(
                    f"Control {name}: p_S from {min(values):.3f} to {max(values):.3f}; {clear} of {len(one.writes)} "
                    "writes change it clearly"
                )
        return [*lines, *self.messages]


@dataclass(frozen=True)
class _Table:
    """Rows of a table."""

    rows: list[dict[str, Any]]

    def to_frame(self) -> pd.DataFrame:
        """Return them as a table."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(self.rows)


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
