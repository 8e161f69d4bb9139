"""Small models measured beforehand, and the paper's model as far as its figures tell, each with the walk of its steps.

Written by ``studies/explorer_runs_residual_stream.py``: 120 sentences made in code, last token.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from genlaws.claims.residual_stream_published import COSINES, ROTATIONS, SPEEDS, UNITS, in_order
from genlaws.explorer.kept_rows import kept_rows
from genlaws.numerics.arguments import Array, one_of
from genlaws.residual_stream.walks import Walk

PAPER = "paper"
MODELS = ("SmolLM2", "MiniLM", "stories260K", PAPER)
LABELS = {
    "SmolLM2": "SmolLM2-135M",
    "MiniLM": "all-MiniLM-L6-v2",
    "stories260K": "stories260K",
    PAPER: "Llama 3.1 8B, read off the paper's figures",
}
READING = 0.02  # error of reading a cosine off the paper's figure


@dataclass(frozen=True)
class Points:
    """Measured numbers: where, how much, and the ends of their intervals (NaN where there is none)."""

    x: Array
    value: Array
    low: Array
    high: Array

    def at(self, place: float) -> tuple[float, float, float]:
        """Return the value nearest to a place, with the ends of its interval."""
        nearest = int(np.abs(self.x - place).argmin())
        return float(self.value[nearest]), float(self.low[nearest]), float(self.high[nearest])


@dataclass(frozen=True)
class KeptStream:
    """A model measured before.

    Attributes
    ----------
    label : str
    walk : Walk
        With steps of the same sizes.
    units, texts : int
    persistence : float
        Mean cosine between a step and the next; NaN if not known.
    points : mapping from measure to Points
        Of ``correlation``, ``correlation_turned`` (in random axes), ``cosine``,
        ``size``, ``step_size``, ``shares`` and ``turns``, those that are known.
    """

    label: str
    walk: Walk
    units: int
    texts: int
    persistence: float
    points: Mapping[str, Points]


def kept_stream(model: str, persistence: float = 0.0) -> KeptStream:
    """Return a model measured before, beside the walk with its steps.

    Parameters
    ----------
    model : {"SmolLM2", "MiniLM", "stories260K", "paper"}
    persistence : float in (-1, 1)
        Of the walk.
    """
    found = _published() if one_of("model", model, MODELS) == PAPER else _measured()[model]
    return replace(found, walk=replace(found.walk, persistence=persistence))


@cache
def _measured() -> dict[str, KeptStream]:
    columns: dict[str, dict[str, list[tuple[float, ...]]]] = defaultdict(lambda: defaultdict(list))
    for row in kept_rows("residual_stream.csv"):
        ends = tuple(float(row[name]) if row[name] else math.nan for name in ("at", "value", "low", "high"))
        columns[row["model"]][row["measure"]].append(ends)
    return {
        name: _stream(name, {key: Points(*np.array(rows).T) for key, rows in one.items()})
        for name, one in columns.items()
    }


def _stream(name: str, given: dict[str, Points]) -> KeptStream:
    alone = {
        key: float(given.pop(key).value[0]) for key in ("units", "texts", "persistence", "own_start", "shared_start")
    }
    own, shared = (given.pop(key).value for key in ("own_steps", "shared_steps"))
    walk = Walk(own, shared, alone["own_start"], alone["shared_start"])
    for key in ("correlation", "correlation_turned", "cosine", "step_size"):  # a step stands between two sites
        given[key] = replace(given[key], x=given[key].x + 0.5)
    return KeptStream(LABELS[name], walk, int(alone["units"]), int(alone["texts"]), alone["persistence"], given)


@cache
def _published() -> KeptStream:
    r"""Return the paper's model: its speeds, its cosines, its turns.

    The first state has the length that the first cosine implies for a walk, :math:`c\,v_0/\sqrt{1-c^2}`; how a step is
    divided between all texts and each is not told.
    """
    speeds, cosines = in_order(SPEEDS) / math.sqrt(UNITS), in_order(COSINES)
    start = float(cosines[0] * speeds[0] / math.sqrt(1.0 - cosines[0] ** 2))
    walk = Walk(speeds, np.zeros_like(speeds), start)
    steps, none = np.arange(speeds.size, dtype=np.float64) + 0.5, np.full(speeds.size, np.nan)
    last = float(walk.site_count - 2)
    points = {
        "cosine": Points(steps, cosines, cosines - READING, np.minimum(cosines + READING, 1.0)),
        "step_size": Points(steps, speeds, none, none),
        "turns": Points(np.array([last]), np.array([ROTATIONS]), np.array([math.nan]), np.array([math.nan])),
    }
    return KeptStream(LABELS[PAPER], walk, UNITS, 1000, math.nan, points)
