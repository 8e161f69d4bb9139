"""Paths of the texts in the plane, or the few dimensions, in which the states of all sites vary most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, whole_number
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, question
from genlaws.models.stream import Site, Stream
from genlaws.residual_stream.measures.samples import Clouds, SecondMoments, root_mean_square_normalized
from genlaws.residual_stream.parameters import (
    ComponentCount,
    Normalize,
)


@dataclass(frozen=True, eq=False, repr=False)
class PooledAxes(Result):
    """Principal components of the states of all sites and texts about their common mean.

    Attributes
    ----------
    center : array (units,)
    axes : array (units, components)
        Orthonormal columns, the largest variance first; zero where the states span fewer dimensions.
    share : array (components,)
        Of the pooled variance along each.
    normalized : bool
        Whether states are divided by their root mean square first.
    """

    center: Array
    axes: Array
    share: Array
    normalized: bool = False

    @property
    def spanned(self) -> PooledAxes:
        """The same without the axes beyond what the states span."""
        spanned = self.axes.any(axis=0)
        return PooledAxes(self.center, self.axes[:, spanned], self.share[spanned], self.normalized)

    def to_frame(self) -> DataFrame:
        """Return one row per unit: its center, and its weight in each component."""
        weights = {f"component_{k + 1}": self.axes[:, k] for k in range(self.axes.shape[1])}
        return frame_of({"unit": np.arange(self.center.size), "center": self.center, **weights})

    def coordinates(self, stream: Stream) -> Array:
        """Return the states along the axes, (texts, sites, components)."""
        if self.center.size != stream.unit_count:
            raise InputError(f"axes must have the {stream.unit_count} units of the stream; got {self.center.size}.")
        found = np.empty((stream.text_count, len(stream.sites), self.axes.shape[1]))
        for site in range(len(stream.sites)):  # one at a time: in double precision all would be a second stream
            states = stream.states[:, site].astype(np.float64)
            states = root_mean_square_normalized(states) if self.normalized else states
            found[:, site] = (states - self.center) @ self.axes
        return found


NO_AXES = PooledAxes(np.empty(0), np.empty((0, 0)), np.empty(0))


@question
def pooled_axes(
    source: Stream | SecondMoments, *, components: ComponentCount = 2, normalize: Normalize = False
) -> PooledAxes:
    """Return the principal components of all sites pooled.

    Parameters
    ----------
    source : Stream or SecondMoments
    components : int >= 1
    normalize : bool
        Divide every state by its root mean square first.

    Notes
    -----
    The sign of an axis is arbitrary; here its element of largest magnitude is positive.
    """
    clouds = Clouds(source, normalize=normalize)
    count = whole_number("components", components, at_least=1, at_most=clouds.unit_count)
    pool = clouds.pooled()
    if not pool.varies(clouds.precision):
        raise InputError("states must differ for axes to exist; all of them are the same.")
    axes = pool.axes(count)
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[largest, np.arange(count)] < 0, -1.0, 1.0)
    share = np.diff(pool.along(axes, np.arange(1, count + 1)), prepend=0.0) / pool.total
    normalized = source.normalized if isinstance(source, SecondMoments) else normalize
    return PooledAxes(pool.mean, axes, share, normalized)


@dataclass(frozen=True, eq=False, repr=False)
class Paths(Result):
    """Coordinates of every text at every site.

    Attributes
    ----------
    coordinates : array (texts, sites, components)
    axes : PooledAxes
    sites : tuple of Site
    """

    coordinates: Array
    axes: PooledAxes
    sites: tuple[Site, ...]

    @property
    def mean(self) -> Array:
        """Mean path, (sites, components)."""
        return np.asarray(self.coordinates.mean(axis=0))

    def to_frame(self) -> DataFrame:
        """Return one row per text and site."""
        texts, sites, components = self.coordinates.shape
        names = [site.name for site in self.sites]
        columns = {"text": np.repeat(np.arange(texts), sites), "site": np.tile(np.array(names, dtype=object), texts)}
        flat = self.coordinates.reshape(-1, components)
        return frame_of({**columns, **{f"component_{k + 1}": flat[:, k] for k in range(components)}})


@question
def paths(
    stream: Stream, *, components: ComponentCount = 2, normalize: Normalize = False, axes: PooledAxes | None = None
) -> Paths:
    """Return the paths of the texts along pooled principal components.

    Parameters
    ----------
    stream : Stream
    components : int >= 1
    normalize : bool
        Divide every state by its root mean square first.
    axes : PooledAxes, optional
        Axes found elsewhere, such as in more texts; `components` and `normalize` are then theirs.
    """
    found = pooled_axes(stream, components=components, normalize=normalize) if axes is None else axes
    return Paths(found.coordinates(stream), found, stream.sites)
