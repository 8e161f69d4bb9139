"""One random walk drawn at the place the sliders point to, as points beside the exact curves."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from genlaws.explorer.residual_stream_kept import Points
from genlaws.numerics.arguments import Array
from genlaws.residual_stream.beside_walk import NORMAL, path_shares_of, turn_curve
from genlaws.residual_stream.stream import Stream
from genlaws.residual_stream.walks import Walk, walked

TEXTS, OWN_UNITS = 48, 16  # a correlation of 48 texts is too low by less than .01 r (1 - r^2)
MOST_TURNED = 256  # units whose turns are counted
SEED = 20


@lru_cache(maxsize=4)
def _noise(sites: int, units: int) -> tuple[Array, Array]:
    generator = np.random.default_rng(SEED)
    return generator.standard_normal((TEXTS, sites, OWN_UNITS)), generator.standard_normal((1, sites, units))


def drawn_points(walk: Walk, units: int) -> dict[str, Points]:
    """Return what one walk shows: the same random numbers at every place of the sliders."""
    noise_own, noise_shared = _noise(walk.site_count, units)
    own = walked(noise_own, walk.own_start, walk.own_steps, walk.persistence)
    moving = walk.shared_steps if (walk.shared_steps > 0).all() else walk.own_steps
    path = walked(noise_shared, 0.0, moving, walk.persistence)
    turned = turn_curve(Stream.from_states(path[:, :, :MOST_TURNED]))
    shares = path_shares_of(path[0])
    sites = np.arange(walk.site_count, dtype=np.float64)
    none = np.full(shares.size, np.nan)
    return {
        "correlation": _correlations(own, sites[:-1] + 0.5),
        "size": _sizes(own, path if (walk.shared_steps > 0).all() else 0.0 * path, sites),
        "shares": Points(np.arange(1.0, shares.size + 1.0), shares, none, none),
        "turns": Points(sites[1:-1], turned.value, turned.low, turned.high),
    }


def _correlations(own: Array, at: Array) -> Points:
    """Return r over texts, its mean over units, and the interval of that mean."""
    centred = own - own.mean(axis=0)
    squares = (centred**2).sum(axis=0)
    products = (centred[:, :-1] * centred[:, 1:]).sum(axis=0)
    r = products / np.sqrt(squares[:-1] * squares[1:])
    return Points(at, *_with_ends(r.mean(axis=1), r.std(axis=1, ddof=1) / np.sqrt(r.shape[1])))


def _sizes(own: Array, path: Array, at: Array) -> Points:
    """Return root mean squares of both parts together."""
    parts = [np.moveaxis(one**2, 1, 0).reshape(one.shape[1], -1) for one in (own, path)]
    square = sum(one.mean(axis=1) for one in parts)
    error = np.sqrt(sum(one.var(axis=1, ddof=1) / one.shape[1] for one in parts))
    size = np.sqrt(square)
    return Points(at, *_with_ends(size, 0.5 * error / size))


def _with_ends(value: Array, error: Array) -> tuple[Array, Array, Array]:
    return value, value - NORMAL * error, value + NORMAL * error
