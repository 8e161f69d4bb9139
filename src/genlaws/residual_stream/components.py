"""Averages of a stream over texts, and what is left without them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from genlaws.numerics.errors import InputError
from genlaws.residual_stream.stream import Stream


def mean_path(stream: Stream) -> Stream:
    """Return the stream of one text whose states are the means over texts."""
    return Stream(stream.states.mean(axis=0, keepdims=True, dtype=np.float64), stream.sites)


def group_means(stream: Stream, groups: Sequence[Hashable]) -> Stream:
    """Return the stream of the mean states of groups of texts, in the order in which the groups first appear.

    Parameters
    ----------
    stream : Stream
    groups : sequence, one name for each text
    """
    names = list(groups)
    if len(names) != stream.text_count:
        raise InputError(f"groups must name one group for each of the {stream.text_count} texts; got {len(names)}.")
    members = [np.array([name == group for name in names]) for group in dict.fromkeys(names)]
    means = [stream.states[member].mean(axis=0, dtype=np.float64) for member in members]
    return Stream(np.stack(means), stream.sites)


def without_mean_path(stream: Stream) -> Stream:
    """Return the stream less its mean over texts at every site: what tells the texts apart, without common drift."""
    if stream.text_count < 2:
        raise InputError("stream must have at least two texts for its mean path to be taken out; got 1.")
    return Stream(stream.states - stream.states.mean(axis=0, dtype=np.float64), stream.sites)
