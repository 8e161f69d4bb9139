"""Means of the units, and norms, speeds and angles of the paths, along the layers, with intervals.

Every function takes a `Stream`, or what its reducer returned where the states of all texts are too many to keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, Whole
from genlaws.numerics.intervals import Estimate
from genlaws.residual_stream.curves import ONE_TEXT, Curve, curve_of, jackknife_interval
from genlaws.residual_stream.path_scalars import PathScalars, path_scalars_of
from genlaws.residual_stream.stream import Site, Stream
from genlaws.residual_stream.unit_sums import UnitSums, unit_sums_of, unit_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class UnitMeans:
    """Mean activation of every unit at every site.

    Attributes
    ----------
    mean, low, high : array (sites, units)
        Over the texts, with 95 % intervals.
    order : array of int (units,)
        Units by their mean at the last site, the lowest first.
    sites : tuple of Site
    count : int
        Number of texts.
    message : str
    """

    mean: Array
    low: Array
    high: Array
    order: Whole
    sites: tuple[Site, ...]
    count: int
    message: str

    @property
    def ordered(self) -> Array:
        """Means with the units in that order, (sites, units)."""
        return self.mean[:, self.order]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per site and unit; `rank` is the place of the unit in the order."""
        import pandas as pd  # noqa: PLC0415

        table = unit_table(self.sites, {"mean": self.mean, "low": self.low, "high": self.high})
        table["rank"] = np.tile(np.argsort(self.order), len(self.sites))
        return pd.DataFrame(table)


def unit_means(source: Stream | UnitSums, *, texts: ArrayLike | None = None) -> UnitMeans:
    r"""Return :math:`\bar h_l^u = \frac1B\sum_b h_{l,b}^u` and the order of the units by the last of them.

    Parameters
    ----------
    source : Stream or UnitSums
    texts : whole numbers (rows,), optional
        Number of the text of each row of a Stream; without it every row is a text of its own.
    """
    sums = unit_sums_of(source, texts)
    mean, rows = sums.mean, sums.counts.sum()
    rest = (rows - sums.counts)[:, None, None]
    left_out = (rows * mean - sums.counts[:, None, None] * sums.means) / np.where(rest > 0, rest, np.nan)
    low, high = jackknife_interval(mean, left_out)
    order = np.argsort(mean[-1], kind="stable")
    message = ONE_TEXT if sums.text_count == 1 else ""
    return UnitMeans(mean, low, high, order, sums.sites, sums.text_count, message)


@dataclass(frozen=True)
class PathMeasures:
    """How the stream moves, averaged over the texts.

    Attributes
    ----------
    norm, cosine, speed, relative_speed, angular_speed, curvature : Curve
        As in :class:`~genlaws.residual_stream.path_scalars.PathScalars`.
    straightness : Estimate
    message : str
    """

    norm: Curve
    cosine: Curve
    speed: Curve
    relative_speed: Curve
    angular_speed: Curve
    curvature: Curve
    straightness: Estimate
    message: str

    @property
    def curves(self) -> tuple[Curve, ...]:
        """All curves."""
        return self.norm, self.cosine, self.speed, self.relative_speed, self.angular_speed, self.curvature

    def to_frame(self) -> pd.DataFrame:
        """Return one row per measure and site; a step has the name of the site it starts from."""
        import pandas as pd  # noqa: PLC0415

        return pd.concat([curve.to_frame() for curve in self.curves], ignore_index=True)


def path_measures(source: Stream | PathScalars, *, texts: ArrayLike | None = None, seed: int = 0) -> PathMeasures:
    """Return norms, cosines, speeds and angles along the layers, with bootstrap intervals over the texts.

    Parameters
    ----------
    source : Stream or PathScalars
    texts : whole numbers (rows,), optional
        As for `unit_means`.
    seed : int
    """
    scalars = path_scalars_of(source, texts)
    names = tuple(site.name for site in scalars.sites)
    labels = {"norm": names, "curvature": names[1:-1]}
    measures = ("norm", "cosine", "speed", "relative_speed", "angular_speed", "curvature")
    curves = {
        name: curve_of(name, labels.get(name, names[:-1]), getattr(scalars, name), scalars.texts, seed=seed)
        for name in measures
    }
    straightness = curve_of("straightness", ("path",), scalars.straightness, scalars.texts, seed=seed)
    message = " ".join(dict.fromkeys(curve.message for curve in (*curves.values(), straightness) if curve.message))
    return PathMeasures(**curves, straightness=straightness[0], message=message)
