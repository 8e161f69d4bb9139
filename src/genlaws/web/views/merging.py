"""When two representations of one class merge: the laws, simulated pairs, trained networks, and one pair's path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from genlaws.core.arguments import Array
from genlaws.relations import (
    collision_probability,
    collision_rate_ratio,
    decoder_pull,
    gain_shrink_time,
    pair_path,
    separation_shrink_time,
    sign_collision_probability,
)
from genlaws.render import Curve, Panel
from genlaws.web.view import bundled_rows

RATE_RATIOS = (1e-4, 1e4)
LAW_POINTS, MERGING_PATH_POINTS = 65, 80
UPDATE_COLORS = {"flow": "blue", "sign": "purple"}
UPDATE_OPTIMIZERS = {"flow": "sgd", "sign": "adam"}
UPDATE_OPTIMIZER_NAMES = {"flow": "SGD", "sign": "Adam"}
SLOPE_TOLERANCE = 1e-7  # relative, of the ratio at which every second pair merges
MAX_SCALE_FACTOR = 2.0  # networks whose embedding width differs from the slider's by a larger factor are not shown


@dataclass(frozen=True)
class MergingPair:
    """Two representations and their decoder.

    Attributes
    ----------
    update : str
        ``flow`` or ``sign``.
    encoder_rate, decoder_rate : float
    encoder_scale, decoder_scale : float
        Widths at the start, of half the separation and of the decoder's entries.
    dimension, outputs, cluster : int
    gain, separation : float
        Gain of the decoder and half the separation of the representations where the path begins.
    """

    update: str
    encoder_rate: float
    decoder_rate: float
    encoder_scale: float
    decoder_scale: float
    dimension: int
    outputs: int
    cluster: int
    gain: float
    separation: float

    @property
    def ratio(self) -> float:
        """Encoder rate over decoder rate."""
        return self.encoder_rate / self.decoder_rate

    @property
    def unit_ratio(self) -> float:
        """Ratio of the rates that is equivalent to 1 at widths of 1."""
        narrow = self.encoder_scale / self.decoder_scale
        return narrow**2 if self.update == "flow" else narrow

    @property
    def has_law(self) -> bool:
        """Whether the chance to merge is known: not for sign updates in several dimensions."""
        return self.update == "flow" or self.dimension == 1

    @property
    def merging_ratio(self) -> float:
        """Ratio of the rates from which on the pair of the path merges."""
        start = self.separation / self.gain
        return float(decoder_pull(self.cluster)) * start**2 if self.update == "flow" else start

    @property
    def merges(self) -> bool:
        """Whether the pair of the path merges."""
        return self.ratio >= self.merging_ratio


def probability(pair: MergingPair) -> float:
    """Return the chance that a random pair merges; NaN where there is no law."""
    if not pair.has_law:
        return float("nan")
    if pair.update == "flow":
        return float(_flow(pair, np.array(pair.ratio)))
    return _sign_chance(pair.ratio / pair.unit_ratio, pair.outputs)


@lru_cache(maxsize=2048)
def _sign_chance(slope: float, outputs: int) -> float:
    """Return the chance under sign updates on a line; an integral that takes some milliseconds for several outputs."""
    return float(sign_collision_probability(slope, 1.0, outputs=outputs))


def critical_ratio(pair: MergingPair) -> float:
    """Return the ratio of the rates at which every second pair merges; NaN where there is none."""
    if not pair.has_law or (pair.update == "flow" and pair.outputs < pair.dimension):
        return float("nan")
    if pair.update == "flow":
        return float(collision_rate_ratio(0.5, pair.encoder_scale, pair.decoder_scale, **_shape(pair)))
    return _half_slope(pair.outputs) * pair.unit_ratio


@cache
def _half_slope(outputs: int) -> float:
    """Return the ratio of the rates at which every second pair merges under sign updates, at widths of 1."""
    slope, chance = _sign_law(outputs)
    near = float(np.interp(0.5, chance, np.log(slope)))
    found = brentq(
        lambda log: _sign_chance(float(np.exp(log)), outputs) - 0.5, near - 0.5, near + 0.5, xtol=SLOPE_TOLERANCE
    )
    return float(np.exp(found))


def merging_panel(pair: MergingPair) -> Panel:
    """Return the chance to merge against the ratio of the rates."""
    grid = np.geomspace(*RATE_RATIOS, LAW_POINTS)
    x = grid.tolist()
    scales = (pair.encoder_scale, pair.decoder_scale)
    chance = probability(pair)
    curves = [
        Curve("gradient flow", "theory", x, _flow(pair, grid).tolist(), UPDATE_COLORS["flow"]),
        *_sign_curve(pair),
        Curve("the paper's Eq. 12", "paper", x, collision_probability(grid, 1.0, *scales).tolist(), "orange"),
        *_simulated(pair, grid),
        *_networks(pair),
        Curve("here", "mark", [pair.ratio], [chance], UPDATE_COLORS[pair.update]),
    ]
    return Panel(
        "merging-by-rates",
        "How often two representations of one class merge",
        "encoder rate over decoder rate",
        "share of pairs that merge",
        tuple(curves),
        x_log=True,
        x_range=RATE_RATIOS,
        y_range=(-0.02, 1.02),
        caption="Merging means that what is learned about one element holds for the other. The laws are exact for a "
        "linear decoder; points of the same color are simulated pairs. Trained networks (green: share of 50 that "
        "generalize, modulo 3) have hidden layers and many elements, so no law bounds them.",
    )


def path_panel(pair: MergingPair) -> Panel:
    """Return how the separation and the decoder's gain of one pair move."""
    time, gain, separation = merging_course(pair)
    shrinks, size, color = ("separation", pair.separation, "vermillion") if pair.merges else ("gain", pair.gain, "sky")
    outcome = "They merge" if pair.merges else "They stay apart, and the decoder gives up the direction between them"
    return Panel(
        "pair-path",
        "How one pair moves",
        "time (steps of gradient descent)",
        "size",
        (
            Curve("half the separation c", "theory", time.tolist(), separation.tolist(), "vermillion"),
            Curve("gain of the decoder a", "theory", time.tolist(), gain.tolist(), "sky"),
            Curve(f"half of the {shrinks} is left", "mark", [_half_time(pair)], [0.5 * size], color),
        ),
        x_log=True,
        caption=f"One pair on a line from the start chosen with the sliders. {outcome}: for this start the border lies "
        f"at an encoder rate {pair.merging_ratio:.3g} times the decoder's.",
    )


def merging_course(pair: MergingPair) -> tuple[Array, Array, Array]:
    r"""Return times, gain and half the separation of one pair on a line.

    Gradient flow is exact (:func:`~genlaws.relations.pair_path`). Under sign updates each shrinks at its full rate
    until the first of them vanishes; then there is no gradient left:
    :math:`a = a_0 - \eta_A t`, :math:`c = c_0 - \eta_x t`.
    """
    if pair.update == "sign":
        end = min(pair.separation / pair.encoder_rate, pair.gain / pair.decoder_rate)
        time = end * np.geomspace(1e-2, 1e1, MERGING_PATH_POINTS)
        moved = np.minimum(time, end)
        gain, separation = pair.gain - pair.decoder_rate * moved, pair.separation - pair.encoder_rate * moved
        return time, np.maximum(gain, 0.0), np.maximum(separation, 0.0)
    pull = pair.encoder_rate * pair.gain**2 + float(decoder_pull(pair.cluster)) * pair.decoder_rate * pair.separation**2
    time = np.geomspace(1e-2, 1e3, MERGING_PATH_POINTS) / pull
    found = pair_path(pair.gain, pair.separation, time, **_rates(pair))
    return time, found.decoder_gain, found.half_separation


def _rates(pair: MergingPair) -> dict[str, float]:
    return {"encoder_rate": pair.encoder_rate, "decoder_rate": pair.decoder_rate, "cluster": pair.cluster}


def _half_time(pair: MergingPair) -> float:
    """Return when half of what vanishes is left."""
    if pair.update == "sign":
        return 0.5 * min(pair.separation / pair.encoder_rate, pair.gain / pair.decoder_rate)
    shrink = separation_shrink_time if pair.merges else gain_shrink_time
    return float(shrink(pair.gain, pair.separation, 0.5, **_rates(pair)))


def _flow(pair: MergingPair, grid: Array) -> Array:
    return collision_probability(grid, 1.0, pair.encoder_scale, pair.decoder_scale, **_shape(pair))


def _shape(pair: MergingPair) -> dict[str, Any]:
    return {"dimension": pair.dimension, "outputs": pair.outputs, "cluster": pair.cluster}


def _sign_law(outputs: int) -> tuple[Array, Array]:
    """Return the law of sign updates on a line at widths of 1; bundled for several outputs, where it is an integral."""
    if outputs == 1:
        slope = np.geomspace(*RATE_RATIOS, LAW_POINTS)
        return slope, sign_collision_probability(slope, 1.0)
    rows = [row for row in bundled_rows("relations_sign.csv") if row["outputs"] == str(outputs)]
    slope, chance = (np.array([float(row[name]) for row in rows]) for name in ("slope", "probability"))
    return slope, chance


def _sign_curve(pair: MergingPair) -> list[Curve]:
    if pair.dimension > 1:
        return []
    slope, chance = _sign_law(pair.outputs)
    ratio = slope * pair.encoder_scale / pair.decoder_scale
    return [Curve("sign updates (as of Adam)", "theory", ratio.tolist(), chance.tolist(), UPDATE_COLORS["sign"])]


def _simulated(pair: MergingPair, grid: Array) -> list[Curve]:
    """Return the simulated pairs nearest to the sliders; other widths only shift them along the axis."""
    rows = [
        row
        for row in bundled_rows("relations_repons.csv")
        if row["update"] == pair.update and row["dimension"] == str(pair.dimension)
    ]
    outputs = min({int(row["outputs"]) for row in rows}, key=lambda count: (abs(count - pair.outputs), count))
    cluster = min({int(row["cluster"]) for row in rows}, key=lambda count: (abs(count - pair.cluster), count))
    rows = [row for row in rows if row["outputs"] == str(outputs) and row["cluster"] == str(cluster)]
    ratio, value, low, high = ([float(row[one]) for row in rows] for one in ("ratio", "value", "low", "high"))
    label = f"d = {pair.dimension}, {outputs} output{'s' if outputs > 1 else ''}"
    label += f", cluster of {cluster}" if pair.update == "flow" and pair.cluster > 1 else ""
    place = [one * pair.unit_ratio for one in ratio]
    points = Curve(f"simulated: {label}", "run", place, value, UPDATE_COLORS[pair.update], low, high)
    same = outputs == pair.outputs and (cluster == pair.cluster or pair.update == "sign")
    if same or pair.update == "sign":
        return [points]
    law = _flow(replace(pair, outputs=outputs, cluster=cluster), grid)
    return [Curve(f"gradient flow: {label}", "theory", grid.tolist(), law.tolist(), "gray"), points]


def _networks(pair: MergingPair) -> list[Curve]:
    """Return the share of trained networks that generalize, with embeddings of about the width on the sliders."""
    width = np.sqrt(2.0) * pair.encoder_scale  # of each representation
    rows = [row for row in bundled_rows("relations_networks.csv") if row["first"] == UPDATE_OPTIMIZERS[pair.update]]
    scale = min({float(row["second"]) for row in rows}, key=lambda one: abs(np.log(one / width)))
    if abs(np.log(scale / width)) > np.log(MAX_SCALE_FACTOR):
        return []
    rows = [row for row in rows if float(row["second"]) == scale]
    x, value, low, high = ([float(row[one]) for row in rows] for one in ("x", "value", "low", "high"))
    name = f"networks, {UPDATE_OPTIMIZER_NAMES[pair.update]}, embeddings of width {scale:g}"
    return [Curve(name, "run", x, value, "green", low, high)]
