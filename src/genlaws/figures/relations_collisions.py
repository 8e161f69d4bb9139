"""How likely representations merge, against the ratio of the rates: every law, with simulated points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from pydantic import Field

from genlaws.experiments.settings import Settings
from genlaws.figures import style
from genlaws.figures.progress import Progress
from genlaws.figures.recipe import Points, Ratio, Recipe
from genlaws.relations.repon_class import class_collision_probability
from genlaws.relations.repon_ensemble import simulate_repons
from genlaws.relations.repon_forces import ReponSystem
from genlaws.relations.repon_probability import collision_probability, sign_collision_probability

Draws = Annotated[int, Field(ge=10, le=1_000_000)]
Law = Callable[[NDArray[np.float64]], NDArray[np.float64]]

RATES = r"encoder rate over decoder rate $\eta_x/\eta_A$"
PAIR, CLASS = "pair", "class"
STEPS = 1000  # of the simulation; a draw so near the boundary that this is too few is taken as it stands


class CollisionSettings(Settings):
    """Simulated ratios and draws; the laws run over the whole axis, all widths are 1."""

    smallest_ratio: Ratio = 1e-3
    largest_ratio: Ratio = 1e3
    points: Points = 121
    simulated_ratios: tuple[Ratio, ...] = (0.03, 0.3, 3.0, 30.0)
    draws: Draws = 400
    seed: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True)
class _Curve:
    """One law, how it is simulated, and how it is drawn."""

    panel: str
    name: str
    label: str
    colour: str
    law: Law
    system: dict[str, Any]


def _pair(dimension: int, outputs: int) -> Law:
    return lambda ratio: collision_probability(
        ratio, 1.0, encoder_scale_of="repon", dimension=dimension, outputs=outputs
    )


def _class(size: int, dimension: int = 1, outputs: int = 1) -> Law:
    return lambda ratio: class_collision_probability(ratio, 1.0, class_size=size, dimension=dimension, outputs=outputs)


CURVES = (
    _Curve(PAIR, "pair, d=1, k=1", "$d=k=1$", style.BLUE, _pair(1, 1), {}),
    _Curve(PAIR, "pair, d=2, k=2", "$d=k=2$", style.ORANGE, _pair(2, 2), {"dimension": 2, "outputs": 2}),
    _Curve(PAIR, "pair, d=2, k=20", "$d=2$, $k=20$", style.PURPLE, _pair(2, 20), {"dimension": 2, "outputs": 20}),
    _Curve(
        PAIR,
        "pair, sign updates",
        "$d=k=1$, sign updates",
        style.BLACK,
        lambda ratio: sign_collision_probability(ratio, 1.0, encoder_scale_of="repon"),
        {"update": "sign"},
    ),
    _Curve(CLASS, "class of 2", "$m=2$, $d=k=1$", style.BLUE, _class(2), {}),
    _Curve(CLASS, "class of 3", "$m=3$, $d=k=1$", style.GREEN, _class(3), {"class_sizes": (3,)}),
    _Curve(CLASS, "class of 10", "$m=10$, $d=k=1$", style.VERMILLION, _class(10), {"class_sizes": (10,)}),
    _Curve(
        CLASS,
        "class of 10, d=2, k=5",
        "$m=10$, $d=2$, $k=5$",
        style.PURPLE,
        _class(10, 2, 5),
        {"class_sizes": (10,), "dimension": 2, "outputs": 5},
    ),
)


def collision_data(settings: CollisionSettings, progress: Progress) -> pd.DataFrame:
    """Return every law over the ratios, and the simulated shares with Wilson's intervals.

    ``series`` is "law" or "simulation"; the width of each repon and of the decoder's entries is 1.
    """
    ratios = np.geomspace(settings.smallest_ratio, settings.largest_ratio, settings.points)
    progress.start(len(CURVES), "laws")
    tables = []
    for number, curve in enumerate(CURVES):
        columns = {"panel": curve.panel, "curve": curve.name, "rate_ratio": ratios}
        tables.append(pd.DataFrame({"series": "law", **columns, "collision_probability": curve.law(ratios)}))
        rng = np.random.default_rng([settings.seed, number])
        rows = [_simulated(curve, ratio, settings.draws, rng) for ratio in settings.simulated_ratios]
        tables.append(pd.DataFrame(rows))
        progress.advance(1)
    return pd.concat(tables, ignore_index=True)


def draw_collisions(frame: pd.DataFrame, settings: CollisionSettings) -> Figure:
    """Draw a panel for pairs and one for classes: laws as lines, simulations as points with intervals."""
    figure = style.new_figure(style.PAGE, 3.0)
    panels = figure.subplots(1, 2, sharey=True)
    # The curves cross too often for a name beside each; each panel has one empty corner.
    for axes, panel in zip(panels, (PAIR, CLASS), strict=True):
        curves = [curve for curve in CURVES if curve.panel == panel]
        lines: list[Line2D] = []
        for curve in curves:
            here = frame[frame["curve"] == curve.name]
            law, points = here[here["series"] == "law"], here[here["series"] == "simulation"]
            lines += axes.plot(law["rate_ratio"], law["collision_probability"], color=curve.colour)
            value = points["collision_probability"]
            axes.errorbar(
                points["rate_ratio"],
                value,
                yerr=[value - points["low"], points["high"] - value],
                fmt="o",
                color=curve.colour,
                markersize=3.0,
                elinewidth=0.8,
            )
        style.log_axis(axes, "x", settings.smallest_ratio, settings.largest_ratio)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel(RATES)
        axes.set_ylabel("probability of merging $p$")
        axes.tick_params(labelleft=True)
        axes.set_title("two repons" if panel == PAIR else "all $m$ repons of a class")
        axes.legend(lines, [curve.label for curve in curves], loc="lower right" if panel == PAIR else "upper left")
    return figure


def _simulated(curve: _Curve, ratio: float, draws: int, rng: np.random.Generator) -> dict[str, Any]:
    # The time scale is free: the faster of the two rates is 1.
    system = ReponSystem(encoder_rate=min(1.0, ratio), decoder_rate=min(1.0, 1.0 / ratio), **curve.system)
    found = simulate_repons(system, draws, rng, tolerance=1e-7, most_steps=STEPS).collision
    return {
        "series": "simulation",
        "panel": curve.panel,
        "curve": curve.name,
        "rate_ratio": ratio,
        "collision_probability": found.value,
        "low": found.low,
        "high": found.high,
        "draws": found.count,
    }


COLLISIONS = Recipe(CollisionSettings, collision_data, draw_collisions)
