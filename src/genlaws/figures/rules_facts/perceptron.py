"""Figure 8: the linear model as the regularization vanishes, and how many labels it can fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import InnerShare, Points, Ratio, Recipe
from genlaws.figures.rules_facts.tables import PAPER_LOSSES, errors_table
from genlaws.render import style
from genlaws.rules_facts import interpolation_threshold
from genlaws.sweeps.experiment import Settings


class RidgelessSettings(Settings):
    """The threshold is drawn from ``smallest_fact_fraction`` to 1."""

    fact_fractions: tuple[InnerShare, ...] = (0.05, 0.2, 0.5, 0.8)
    smallest_sample_ratio: Ratio = 0.1
    largest_sample_ratio: Ratio = 20.0
    sample_points: Points = 240
    smallest_fact_fraction: InnerShare = 1e-4
    threshold_points: Points = 80


def ridgeless_data(settings: RidgelessSettings, running: Running) -> pd.DataFrame:
    """Return the errors along the samples, and those at the threshold along the fact fractions.

    ``series`` is ``samples`` or ``threshold``; in both ``threshold`` is the α up to which every label is fitted.
    """
    ratios = np.geomspace(settings.smallest_sample_ratio, settings.largest_sample_ratio, settings.sample_points)
    shares = np.array(settings.fact_fractions)[:, None]
    along = np.geomspace(settings.smallest_fact_fraction, 1.0, settings.threshold_points)
    running.start(2 * len(PAPER_LOSSES), "losses")
    tables = []
    for loss in PAPER_LOSSES:
        limit = np.asarray(interpolation_threshold(loss, fact_fraction=shares))
        tables.append(_solve_rows(loss, "samples", _with_threshold(ratios, limit), shares, limit))
        running.advance(1)
        limits = np.asarray(interpolation_threshold(loss, fact_fraction=along))
        tables.append(_solve_rows(loss, "threshold", limits, along, limits))
        running.advance(1)
    return pd.concat(tables, ignore_index=True)


def _with_threshold(ratios: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Return the sample ratios of each row with its threshold among them, so that the corner is sharp."""
    return np.sort(np.concatenate([np.broadcast_to(ratios, (limit.shape[0], ratios.size)), limit], axis=1), axis=1)


def _solve_rows(loss: str, series: str, ratios: np.ndarray, shares: np.ndarray, limit: np.ndarray) -> pd.DataFrame:
    about = {"series": series}
    return errors_table(
        loss, sample_ratio=ratios, fact_fraction=shares, regularization=0.0, about=about, threshold=limit
    )


def draw_ridgeless(frame: pd.DataFrame, settings: RidgelessSettings) -> Figure:
    """Draw both errors by loss, and the thresholds."""
    figure = style.new_figure(style.PAGE, 4.0)
    panels = figure.subplot_mosaic([["square gen", "square mem", "threshold"], ["hinge gen", "hinge mem", "threshold"]])
    samples = frame[frame["series"] == "samples"]
    names = [rf"$\varepsilon={share:g}$" for share in settings.fact_fractions]
    for loss in PAPER_LOSSES:
        here = samples[samples["loss"] == loss]
        for short, column, label in (
            ("gen", "generalization_error", style.GENERALIZATION_ERROR_LABEL),
            ("mem", "memorization_error", style.MEMORIZATION_ERROR_LABEL),
        ):
            axes = panels[f"{loss} {short}"]
            lines = _draw_curves(axes, here, column, settings)
            axes.set_ylim(-0.01, 0.52)
            axes.set_ylabel(label)
            axes.set_title(rf"{loss} loss, $\lambda\to0$")
            style.log_axis(axes, "x", settings.smallest_sample_ratio, settings.largest_sample_ratio)
            if loss == "hinge":
                axes.set_xlabel(style.SAMPLE_RATIO_LABEL)
            if (loss, short) == ("square", "mem"):
                axes.legend(lines, names, loc="upper left", bbox_to_anchor=(0.0, 0.95))
    threshold_lines, threshold_names = _draw_thresholds(panels["threshold"], frame[frame["series"] == "threshold"])
    direct_labels(panels["threshold"], threshold_lines, threshold_names)
    return figure


def _draw_curves(axes: Axes, here: pd.DataFrame, column: str, settings: RidgelessSettings) -> list[Line2D]:
    lines = []
    for share, color in zip(settings.fact_fractions, style.ordered_colors(len(settings.fact_fractions)), strict=True):
        curve = here[here["fact_fraction"] == share]
        lines += axes.plot(curve["sample_ratio"], curve[column], color=color)
        shared = here["threshold"].nunique() == 1
        axes.axvline(
            curve["threshold"].iloc[0], color=style.BLACK if shared else color, linewidth=0.7, linestyle=":", zorder=0
        )
    return lines


def _draw_thresholds(axes: Axes, frame: pd.DataFrame) -> tuple[list[Line2D], list[str]]:
    lines = []
    for loss in PAPER_LOSSES:
        curve = frame[frame["loss"] == loss]
        lines += axes.plot(curve["fact_fraction"], curve["threshold"], color=style.LOSS_COLORS[loss])
    smallest = curve.iloc[: max(2, len(curve) // 2)]
    law = smallest["threshold"].iloc[0] * (smallest["fact_fraction"] / smallest["fact_fraction"].iloc[0]) ** (-1 / 3)
    lines += axes.plot(smallest["fact_fraction"], 1.6 * law, color=style.GRAY, linewidth=0.8)
    style.log_axis(axes, "x", float(frame["fact_fraction"].min()), 1.0)
    style.log_axis(axes, "y", 0.5, 4.0 * float(frame["threshold"].max()))
    axes.set_xlabel(style.FACT_FRACTION_LABEL)
    axes.set_ylabel(r"interpolation threshold $\alpha_c$ (samples per dimension)")
    axes.set_title("largest load fitted exactly")
    return lines, ["square loss", "hinge loss", r"$\varepsilon^{-1/3}$"]


RIDGELESS = Recipe(RidgelessSettings, ridgeless_data, draw_ridgeless)
