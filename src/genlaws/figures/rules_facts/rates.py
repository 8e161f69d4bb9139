"""Figures 6 and 9: how fast the generalization error falls with the number of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import InnerShare, Points, Ratio, Recipe
from genlaws.figures.rules_facts.tables import PAPER_LOSSES, errors_table, samples_table
from genlaws.render import style
from genlaws.rules_facts import large_sample_bayes_error, large_sample_error
from genlaws.sweeps import Axis, get_experiment, make_sweep
from genlaws.sweeps.computing import compute_cells
from genlaws.sweeps.experiment import Settings

FIT_DECADES = 2.0  # the exponent is fitted over the last two decades of samples
LEARNER_NAMES = {"square": "square loss", "hinge": "hinge loss", "bayes": "Bayes-optimal"}


class ErrorDecaySettings(Settings):
    """One kernel, at its optimal regularization."""

    fact_fraction: InnerShare = 0.2
    kernel: str = "relu"
    smallest_sample_ratio: Ratio = 0.1
    largest_sample_ratio: Ratio = 1e4
    points: Points = 121


class ExponentSettings(Settings):
    """Several kernels, to many more samples than a run could have."""

    fact_fraction: InnerShare = 0.2
    kernels: tuple[str, ...] = ("linear", "erf", "relu", "gaussian:1.5")
    smallest_sample_ratio: Ratio = 1.0
    largest_sample_ratio: Ratio = 1e6
    points: Points = 97


def decay_data(settings: ErrorDecaySettings, running: Running) -> pd.DataFrame:
    """Return the error of the three learners; ``leading_law`` is ``inf`` for the hinge loss, which has no known one."""
    ratios = np.geomspace(settings.smallest_sample_ratio, settings.largest_sample_ratio, settings.points)
    task: dict[str, Any] = {"sample_ratio": ratios, "fact_fraction": settings.fact_fraction}
    sweep = make_sweep(
        get_experiment("rules-facts.samples"), settings.model_dump(), [Axis("learner", (*PAPER_LOSSES, "bayes"))]
    )
    frame = samples_table(compute_cells(sweep, running, "learners"))
    laws = {"square": large_sample_error(**task), "bayes": large_sample_bayes_error(**task)}
    for learner, law in laws.items():
        frame.loc[frame["learner"] == learner, "leading_law"] = law
    columns = ["learner", "sample_ratio", "fact_fraction", "generalization_error", "leading_law", "converged"]
    frame["leading_law"] = frame["leading_law"].fillna(np.inf)
    return frame[columns]


def draw_decay(frame: pd.DataFrame, settings: ErrorDecaySettings) -> Figure:
    """Draw error against samples, both logarithmic, with the two slopes for the eye."""
    figure = style.new_figure(style.COLUMN, 2.9)
    axes = figure.subplots()
    colors = {**style.LOSS_COLORS, "bayes": style.BAYES_COLOR}
    lines = {}
    for learner, color in colors.items():
        curve = frame[frame["learner"] == learner]
        (lines[learner],) = axes.plot(curve["sample_ratio"], curve["generalization_error"], color=color)
        law = curve[np.isfinite(curve["leading_law"]) & (curve["leading_law"] < 0.5)]
        axes.plot(law["sample_ratio"], law["leading_law"], color=color, linewidth=0.6, linestyle=(0, (4, 2)))
    high = settings.largest_sample_ratio
    style.log_axis(axes, "x", settings.smallest_sample_ratio, high)
    style.log_axis(axes, "y", frame["generalization_error"].min() * 0.4, 0.7)
    guides = []
    for learner, power, shift in (("square", 0.5, 2.2), ("bayes", 1.0, 0.35)):
        end = frame.loc[frame["learner"] == learner, "generalization_error"].iloc[-1] * shift
        x = np.geomspace(high / 10**1.6, high / 10**0.2, 20)
        guides += axes.plot(x, end * (x / high) ** -power, color=style.GRAY, linewidth=0.8)
    axes.set_xlabel(style.SAMPLE_RATIO_LABEL)
    axes.set_ylabel(style.GENERALIZATION_ERROR_LABEL)
    axes.set_title(
        rf"{style.kernel_label(settings.kernel)} kernel, best $\lambda$, $\varepsilon={settings.fact_fraction:g}$"
    )
    names = [LEARNER_NAMES[learner] for learner in lines]
    direct_labels(axes, [*guides, *lines.values()], [r"$\alpha^{-1/2}$", r"$\alpha^{-1}$", *names])
    return figure


def exponent_data(settings: ExponentSettings, running: Running) -> pd.DataFrame:
    """Return the error of the support vector machine by kernel, and of ridge regression, with local exponents.

    ``local_exponent`` is the slope of log error in log samples, by central differences.
    """
    ratios = np.geomspace(settings.smallest_sample_ratio, settings.largest_sample_ratio, settings.points)
    learners = [("hinge", name) for name in settings.kernels] + [("square", "linear")]
    running.start(len(learners), "learners")
    tables = []
    for loss, name in learners:
        table = errors_table(
            loss,
            sample_ratio=ratios,
            fact_fraction=settings.fact_fraction,
            regularization="optimal",
            kernel=name,
            about={"kernel": name},
        )
        error = table["generalization_error"].to_numpy()
        table["scaled_error"] = error * np.sqrt(ratios)
        table["local_exponent"] = np.gradient(np.log(error), np.log(ratios))
        tables.append(table)
        running.advance(1)
    return pd.concat(tables, ignore_index=True)


def exponent_summary(frame: pd.DataFrame, settings: ExponentSettings) -> pd.DataFrame:
    """Return, by learner, the exponent fitted over the last decades and the prefactor of α^(-1/2) at the end."""
    rows = []
    start = settings.largest_sample_ratio / 10.0**FIT_DECADES
    for (loss, kernel), table in frame.groupby(["loss", "kernel"], sort=False):
        last = table[table["sample_ratio"] >= start * (1.0 - 1e-9)]
        slope = np.polyfit(np.log(last["sample_ratio"]), np.log(last["generalization_error"]), 1)[0]
        rows.append(
            {
                "loss": loss,
                "kernel": kernel,
                "fact_fraction": settings.fact_fraction,
                "fitted_from": float(last["sample_ratio"].iloc[0]),
                "fitted_to": float(last["sample_ratio"].iloc[-1]),
                "fitted_exponent": float(slope),
                "local_exponent_at_end": float(last["local_exponent"].iloc[-2]),
                "prefactor_at_end": float(last["scaled_error"].iloc[-1]),
            }
        )
    return pd.DataFrame(rows)


def draw_exponent(frame: pd.DataFrame, settings: ExponentSettings) -> Figure:
    """Draw the scaled error and the local exponent."""
    figure = style.new_figure(style.PAGE, 2.7)
    left, right = figure.subplots(1, 2)
    lines, labels = [], []
    for (loss, kernel), table in frame.groupby(["loss", "kernel"], sort=False):
        family = str(kernel).split(":")[0]
        color = style.LOSS_COLORS["square"] if loss == "square" else style.KERNEL_COLORS[family]
        dashes = "--" if loss == "square" else "-"
        lines += left.plot(table["sample_ratio"], table["scaled_error"], dashes, color=color)
        inner = table.iloc[1:-1]
        right.plot(inner["sample_ratio"], inner["local_exponent"], dashes, color=color)
        labels.append(f"{loss} loss, {style.kernel_label(family)}")
    for axes in (left, right):
        style.log_axis(axes, "x", settings.smallest_sample_ratio, settings.largest_sample_ratio)
        axes.set_xlabel(style.SAMPLE_RATIO_LABEL)
    left.set_ylabel(r"error times root $\alpha$,  $\varepsilon_{\mathrm{gen}}\sqrt{\alpha}$")
    right.set_ylabel(r"local exponent  d log $\varepsilon_{\mathrm{gen}}$ / d log $\alpha$")
    left.set_title(rf"best $\lambda$, $\varepsilon={settings.fact_fraction:g}$")
    right.set_title("slope in the doubly logarithmic plane")
    right.axhline(-0.5, color=style.GRAY, linewidth=0.6, zorder=0)
    right.legend(lines, labels, loc="upper right")
    return figure


ERROR_DECAY = Recipe(ErrorDecaySettings, decay_data, draw_decay)
DECAY_EXPONENT = Recipe(ExponentSettings, exponent_data, draw_exponent, exponent_summary)
