"""Measure an encoder layer by layer: generalization, identification and resolution, compared with controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from genlaws.core.arguments import one_of
from genlaws.core.errors import InputError
from genlaws.core.estimate import interval_columns
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Summary, question, text_table
from genlaws.core.running import Running, checked_running
from genlaws.probes.encoders.stimuli import EmbeddingStimuli
from genlaws.probes.parameters import (
    CONTROLS,
    PERMUTED,
    UNTRAINED,
    Center,
    Control,
    Fronts,
    Intervals,
    Items,
    RowSimilarity,
    Seed,
    Ties,
)
from genlaws.semanticity.measurement.measure import measure
from genlaws.semanticity.measurement.result import Measurement, or_none

AS_LOADED = "as loaded"


@runtime_checkable
class Encoder(Protocol):
    """What turns stimuli into rows of numbers."""

    @property
    def name(self) -> str:
        """The source and the settings that change its numbers."""

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the layers, from the first to the last."""

    def embed(self, stimuli: EmbeddingStimuli) -> Mapping[str, NDArray[Any]]:
        """Return an array for each layer, one row for each stimulus."""


@dataclass(frozen=True, eq=False, repr=False)
class LayerMeasurements(Result):
    """One measurement for each layer of an encoder, and the same for its controls.

    Attributes
    ----------
    encoder, stimuli, unit : str
        What was measured, on what, and the unit of resolutions.
    layers : tuple of str
    measurements : tuple of Measurement
        In the order of the layers.
    controls : dict
        From ``permuted`` and ``random weights``, where requested, to measurements in the order of the layers.
        ``permuted`` gives the rows to the wrong stimuli: generalization must be one half up to chance, while
        identification, which does not use true distances, stays the same. ``random weights`` is the same architecture
        before any training.
    """

    derived = ("best",)
    drawn_by = "genlaws.figures.semanticity.measurement:encoder_pictures"
    page_by = "genlaws.report.measurement:encoder_page"

    encoder: str
    stimuli: str
    unit: str
    layers: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    controls: dict[str, tuple[Measurement, ...]]

    @property
    def best(self) -> str:
        """The layer with the largest generalization; read `message` before using it."""
        values = [one.generalization.value for one in self.measurements]
        return self.layers[int(np.argmax(values))]

    @property
    def message(self) -> str:
        """What a reader must know about the best layer, and whether the permuted control is at chance."""
        chosen = self.measurements[self.layers.index(self.best)].generalization
        sentences = [f"{self.best} generalizes best, {chosen}."]
        if len(self.layers) > 1:
            others = [one for name, one in zip(self.layers, self.measurements, strict=True) if name != self.best]
            near = sum(one.generalization.high >= chosen.low for one in others)
            sentences.append(
                f"It is the largest of {len(self.layers)} layers on the same stimuli, so the choice biases it upward; "
                f"layers whose intervals overlap its own: {near}. Choose a layer on some stimuli and report it on "
                "others."
            )
        for name, found in self.controls.items():
            values = [one.generalization.value for one in found]
            sentences.append(f"Control {name}: generalization from {min(values):.4f} to {max(values):.4f}.")
        return " ".join(sentences)

    def to_frame(self) -> DataFrame:
        """Return one row per layer, and further ones per control, with the 95 % intervals of values."""
        parts = {AS_LOADED: self.measurements, **self.controls}
        return frame_of(
            [
                {"layer": layer, "condition": condition, **_columns(one)}
                for condition, found in parts.items()
                for layer, one in zip(self.layers, found, strict=True)
            ]
        )

    def tables(self) -> dict[str, DataFrame]:
        """Return the table of the layers."""
        return {"layers": self.to_frame()}

    def summary(self) -> Summary:
        """Return both tests and the resolution of every layer, and what to know about the best of them."""
        unit = f" ({self.unit})" if self.unit else ""
        cells = [("layer", "generalization p_S", "identification p_I", f"resolution{unit}")]
        for layer, one in zip(self.layers, self.measurements, strict=True):
            resolution = or_none(one.fit.resolution.value, str(one.fit.resolution))
            cells.append((layer, str(one.generalization), str(one.identification), resolution))
        return Summary(table=text_table(cells), sentences=("", self.message))


@question
def measure_layers(
    encoder: Encoder,
    *,
    stimuli: EmbeddingStimuli,
    similarity: RowSimilarity = "cosine",
    center: Center = True,
    layers: tuple[str, ...] | None = None,
    control: Control = None,
    items: Items = None,
    ties: Ties = "split",
    intervals: Intervals = True,
    fronts: Fronts = True,
    seed: Seed = 0,
    running: Running | None = None,
) -> LayerMeasurements:
    """Measure each layer of an encoder against the true distances of the stimuli.

    Parameters
    ----------
    encoder : Encoder
        As :func:`~genlaws.probes.encoders.load.load_encoder` gives it, or anything with a ``name``, ``layers``
        and ``embed``.
    stimuli : EmbeddingStimuli
    similarity : str or callable
        As :func:`~genlaws.semanticity.measurement.measure.measure` takes it.
    center : bool
        Whether the mean over the stimuli is subtracted in each layer first. Rows of networks often share a large common
        part, which makes all cosines close to 1 and both tests close to one half; without it the cosine sees what
        differs. The mean is that of these stimuli.
    layers : tuple of str, optional
        Those to measure; all if not given.
    control : {"permuted", "random weights"}, several of them, "none", optional
        What to measure for comparison; permuted, and random weights where the encoder is a network, if not given.
        Controls have no fronts.
    items, ties, intervals, fronts
        As :func:`~genlaws.semanticity.measurement.measure.measure` takes them.
    seed : int
        Of the permutation, the random weights, and the bootstrap.
    running : Running, optional
        Its steps are the layers that are measured, those of the controls included.

    Notes
    -----
    A resolution means little where the fitted shape explains little of the profile; the table has a column for that.
    """
    names = _chosen(encoder, layers)
    wanted = (CONTROLS if hasattr(encoder, "with_random_weights") else CONTROLS[:1]) if control is None else control
    fresh = _untrained(encoder, seed) if UNTRAINED in wanted else None
    rows = _rows(encoder, stimuli, names, center)
    common: dict[str, Any] = {"similarity": similarity, "items": items, "ties": ties, "intervals": intervals}
    common |= {"fronts": fronts, "seed": seed}
    shown = checked_running(running)
    shown.start((1 + len(set(wanted))) * len(names), f"layers, {stimuli.name}")

    def measured(layers: list[NDArray[Any]], settings: dict[str, Any]) -> tuple[Measurement, ...]:
        found = []
        for one in layers:
            found.append(measure(one, **stimuli.truth, **settings))
            shown.advance()
        return tuple(found)

    found = measured(rows, common)
    controls: dict[str, tuple[Measurement, ...]] = {}
    without_fronts = {**common, "fronts": False}
    if PERMUTED in wanted:
        order = np.random.default_rng([seed, len(stimuli)]).permutation(len(stimuli))
        controls[PERMUTED] = measured([one[order] for one in rows], without_fronts)
    if fresh is not None:
        controls[UNTRAINED] = measured(_rows(fresh, stimuli, names, center), without_fronts)
    return LayerMeasurements(encoder.name, stimuli.name, stimuli.unit, names, found, controls)


def _chosen(encoder: Encoder, layers: tuple[str, ...] | None) -> tuple[str, ...]:
    if layers is None:
        return encoder.layers
    if not layers:
        raise InputError("layers must name at least one layer.")
    return tuple(one_of("layers", layer, encoder.layers) for layer in layers)


def _untrained(encoder: Encoder, seed: int) -> Encoder:
    """Return the same architecture before any training."""
    make = getattr(encoder, "with_random_weights", None)
    if make is None:
        raise InputError(f"control: {encoder.name} is not a network and has no weights to draw anew; use permuted.")
    fresh: Encoder = make(seed)
    return fresh


def _rows(encoder: Encoder, stimuli: EmbeddingStimuli, layers: tuple[str, ...], center: bool) -> list[NDArray[Any]]:
    """Return the rows of the layers, without the mean over stimuli if it is to be subtracted."""
    found = encoder.embed(stimuli)
    rows = [np.asarray(found[layer]) for layer in layers]
    return [one - one.mean(axis=0, dtype=np.float64).astype(one.dtype) for one in rows] if center else rows


def _columns(one: Measurement) -> dict[str, float | str]:
    """Return the row of a measurement in a table."""
    return {
        **interval_columns("generalization", one.generalization),
        **interval_columns("identification", one.identification),
        **interval_columns("resolution", one.fit.resolution),
        **interval_columns("background", one.fit.background),
        "shape": one.fit.shape,
        "explained": one.fit.explained,
        "distance_to_front": one.distance_to_front,
        "distance_to_constant_front": one.distance_to_constant_front,
    }
