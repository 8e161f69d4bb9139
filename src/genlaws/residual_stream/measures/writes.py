"""What attention and MLP add to the stream: how much, and in which direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.estimate import Estimate
from genlaws.core.frames import DataFrame, stack_frames
from genlaws.core.result import Result, question
from genlaws.models.stream import Stream
from genlaws.residual_stream.measures.curves import SiteCurve, curve_of, finite_mean, mean_curve
from genlaws.residual_stream.measures.paths import PathScalars, path_scalars_of
from genlaws.residual_stream.parameters import (
    Seed,
    TextNumbers,
)

WRITE_MEASURES = ("size", "relative_size", "cosine", "share_along")


@dataclass(frozen=True)
class WriteMeasures:
    """Sizes and directions of writes, averaged over layers and texts.

    Attributes
    ----------
    size, relative_size, cosine, share_along : Estimate
        As in `Writes`.
    """

    size: Estimate
    relative_size: Estimate
    cosine: Estimate
    share_along: Estimate


@dataclass(frozen=True, eq=False, repr=False)
class Writes(Result):
    r"""Writes :math:`s_l` to the stream :math:`h_l`, step by step and by the part that writes.

    Attributes
    ----------
    size : SiteCurve
        :math:`\lVert s_l\rVert`.
    relative_size : SiteCurve
        :math:`\lVert s_l\rVert/\lVert h_l\rVert`.
    cosine : SiteCurve
        Of the angle between the write and the stream it is added to; negative where it shortens the stream.
    share_along : SiteCurve
        Squared cosine: the share of the write along the stream, 1/units for a random direction.
    places : tuple of str
        What writes at each step: ``attention``, ``mlp`` or ``block``.
    by_place : mapping from place to WriteMeasures
        Means over the steps of each kind.
    contrast : WriteMeasures or None
        Attention minus MLP, text by text; None where a stream does not have both.
    message : str
    """

    size: SiteCurve
    relative_size: SiteCurve
    cosine: SiteCurve
    share_along: SiteCurve
    places: tuple[str, ...]
    by_place: Mapping[str, WriteMeasures]
    contrast: WriteMeasures | None
    message: str

    def to_frame(self) -> DataFrame:
        """Return one row per measure and step."""
        curves = (self.size, self.relative_size, self.cosine, self.share_along)
        table = stack_frames([curve.to_frame() for curve in curves])
        table.insert(1, "place", self.places * len(curves))
        return table


@question
def writes(source: Stream | PathScalars, *, texts: TextNumbers = None, seed: Seed = 0) -> Writes:
    """Compare the writes of attention and MLP, with bootstrap intervals over the texts.

    Parameters
    ----------
    source : Stream or PathScalars
    texts : whole numbers (rows,), optional
        Number of the text of each row of a Stream; without it every row is a text of its own.
    seed : int
    """
    scalars = path_scalars_of(source, texts)
    places = tuple(site.place for site in scalars.sites[:-1])
    labels = tuple(site.name for site in scalars.sites[:-1])
    cosine = scalars.write_cosine
    values = dict(zip(WRITE_MEASURES, (scalars.speed, scalars.relative_speed, cosine, cosine**2), strict=True))
    curves: dict[str, Any] = {
        name: curve_of(f"write {name}", labels, value, scalars.texts, seed=seed) for name, value in values.items()
    }
    steps = {place: [one == place for one in places] for place in places}
    by_row = {
        place: {name: finite_mean(value[:, own]) for name, value in values.items()} for place, own in steps.items()
    }

    def estimates(rows: Mapping[str, Array]) -> WriteMeasures:
        """Return the means of numbers per row with their intervals."""
        columns = np.stack([rows[name] for name in WRITE_MEASURES], axis=1)
        return WriteMeasures(*mean_curve("writes", WRITE_MEASURES, columns, scalars.texts, seed=seed))

    contrast = None
    if {"attention", "mlp"} <= set(places):
        contrast = estimates({name: by_row["attention"][name] - by_row["mlp"][name] for name in WRITE_MEASURES})
    message = " ".join(dict.fromkeys(curve.message for curve in curves.values() if curve.message))
    by_place = {place: estimates(rows) for place, rows in by_row.items()}
    return Writes(**curves, places=places, by_place=by_place, contrast=contrast, message=message)
