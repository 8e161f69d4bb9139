"""Message passing at finite size: each iteration against state evolution, the final error against the Bayes curve."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from pydantic import Field, model_validator

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import InnerShare, Points, Ratio, Recipe
from genlaws.figures.rules_facts import tables
from genlaws.render import style
from genlaws.rules_facts import bayes_optimal, solve
from genlaws.rules_facts.theory.message_passing import state_evolution
from genlaws.sweeps import Axis, get_experiment, make_sweep
from genlaws.sweeps.computing import ComputedCell, compute_cells
from genlaws.sweeps.experiment import Settings

CURVE_NAMES = {"bayes": "Bayes-optimal", "square": "square loss", "hinge": "hinge loss"}
CURVE_RANGE_FACTOR = 1.4  # by which the curves exceed the sample ratios of the runs


class MessagePassingFigureSettings(Settings):
    """Runs at every sample ratio; those followed step by step are among them."""

    fact_fraction: InnerShare = 0.2
    sample_ratios: Annotated[tuple[Ratio, ...], Field(min_length=2, max_length=30)] = (
        0.5,
        1.0,
        2.0,
        3.5,
        5.0,
        7.0,
        10.0,
    )
    followed: Annotated[tuple[Ratio, ...], Field(min_length=1, max_length=5)] = (2.0, 5.0, 10.0)
    dimension: tables.Dimension = 500
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 20
    iterations: Annotated[int, Field(ge=1, le=10_000)] = 200
    shown_iterations: Annotated[int, Field(ge=1, le=200)] = 12
    kernel: str = "relu"
    points: Points = 61
    seed: tables.Seed = 0

    @model_validator(mode="after")
    def _check_followed(self) -> MessagePassingFigureSettings:
        if not set(self.followed) <= set(self.sample_ratios):
            raise ValueError("followed must be among sample_ratios")
        if self.shown_iterations > self.iterations:
            raise ValueError("shown_iterations must not exceed iterations")
        return self


def message_passing_data(settings: MessagePassingFigureSettings, running: Running) -> pd.DataFrame:
    """Return overlaps by iteration and generalization errors by sample ratio, of the theory and of the runs."""
    base = {"fact_fraction": settings.fact_fraction, "iterations": settings.iterations, "dimension": settings.dimension}
    sweep = make_sweep(
        get_experiment("rules-facts.message-passing"),
        base,
        [Axis("sample_ratio", settings.sample_ratios)],
        settings.repeats,
        settings.seed,
    )
    runs: dict[float, list[ComputedCell]] = {}
    for cell in compute_cells(sweep, running, "runs"):
        runs.setdefault(cell.settings.sample_ratio, []).append(cell)
    parts = [_iterations(ratio, runs[ratio], settings) for ratio in settings.followed]
    frame = pd.concat([*parts, _samples(runs, settings)], ignore_index=True)
    return frame.assign(fact_fraction=settings.fact_fraction, run_count=settings.repeats)


def _iterations(ratio: float, cells: list[ComputedCell], settings: MessagePassingFigureSettings) -> pd.DataFrame:
    """Return the overlap with the teacher after each iteration."""
    steps = settings.shown_iterations
    theory = state_evolution(sample_ratio=ratio, fact_fraction=settings.fact_fraction, iterations=steps).overlap
    overlaps = np.array([cell.result["teacher_overlap"] for cell in cells])
    rows = [
        {"iteration": t, "teacher_overlap": theory[t], **tables.mean_columns("run_teacher_overlap", overlaps[:, t])}
        for t in range(steps + 1)
    ]
    return pd.DataFrame(rows).assign(series="iterations", sample_ratio=ratio)


def _samples(runs: dict[float, list[ComputedCell]], settings: MessagePassingFigureSettings) -> pd.DataFrame:
    """Return the curves of the theory, and on that of the Bayes-optimal learner the errors of the runs."""
    low, high = min(settings.sample_ratios) / CURVE_RANGE_FACTOR, max(settings.sample_ratios) * CURVE_RANGE_FACTOR
    ratios = np.union1d(np.geomspace(low, high, settings.points), settings.sample_ratios)
    task: dict[str, Any] = {"sample_ratio": ratios, "fact_fraction": settings.fact_fraction}
    solved: dict[str, Any] = {"bayes": bayes_optimal(**task)}
    solved |= {loss: solve(loss, **task, kernel=settings.kernel) for loss in tables.PAPER_LOSSES}
    curves = [
        pd.DataFrame({"learner": name, "sample_ratio": ratios, "generalization_error": found.generalization_error})
        for name, found in solved.items()
    ]
    rows: list[dict[str, Any]] = []
    for ratio, cells in runs.items():
        errors = np.array([cell.result["generalization_error"] for cell in cells])
        settled = float(np.mean([cell.result["converged"] for cell in cells]))
        about = {"learner": "bayes", "sample_ratio": ratio, "settled_share": settled}
        rows.append({**about, **tables.mean_columns("run_generalization_error", errors)})
    joined = pd.concat(curves, ignore_index=True).merge(pd.DataFrame(rows), how="left", on=["learner", "sample_ratio"])
    return joined.assign(series="samples")


def draw_message_passing(frame: pd.DataFrame, settings: MessagePassingFigureSettings) -> Figure:
    """Draw the overlap against the iteration (left) and the error against the samples (right)."""
    figure = style.new_figure(style.PAGE, 3.0)
    left, right = figure.subplots(1, 2)
    lines = _draw_iterations(left, frame[frame["series"] == "iterations"], settings)
    curves = _draw_samples(right, frame[frame["series"] == "samples"], settings)
    where = rf"$\varepsilon={settings.fact_fraction:g}$"
    left.set_title(f"message passing, {where}")
    right.set_title(rf"{where}; losses: {style.kernel_label(settings.kernel)} kernel, best $\lambda$")
    runs = rf"runs, $d={settings.dimension}$, means of {settings.repeats} with 95 % intervals"
    theory = Line2D([], [], color=style.DARK_GRAY, label="limit of large dimension")
    style.legend_below(
        figure,
        [theory, Line2D([], [], label=runs, marker="o", markeredgecolor=style.DARK_GRAY, **tables.RUN_POINT_STYLE)],
    )
    direct_labels(left, lines, [rf"$\alpha={ratio:g}$" for ratio in settings.followed])
    direct_labels(right, curves, list(CURVE_NAMES.values()))
    return figure


def _draw_iterations(axes: Axes, frame: pd.DataFrame, settings: MessagePassingFigureSettings) -> list[Line2D]:
    lines = []
    for ratio, color in zip(settings.followed, style.ordered_colors(len(settings.followed)), strict=True):
        table = frame[frame["sample_ratio"] == ratio]
        lines += axes.plot(table["iteration"], table["teacher_overlap"], color=color)
        _points(axes, table, "iteration", "teacher_overlap", color)
    axes.set_xlim(-0.4, settings.shown_iterations + 0.4)
    axes.set_ylim(0.0, 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_xlabel("iteration")
    axes.set_ylabel(r"overlap with the rule $\hat w\cdot w^*/d$")
    return lines


def _draw_samples(axes: Axes, frame: pd.DataFrame, settings: MessagePassingFigureSettings) -> list[Line2D]:
    lines = []
    for learner in CURVE_NAMES:
        table = frame[frame["learner"] == learner]
        color = style.BAYES_COLOR if learner == "bayes" else style.LOSS_COLORS[learner]
        width = 1.3 if learner == "bayes" else 0.95
        lines += axes.plot(table["sample_ratio"], table["generalization_error"], color=color, linewidth=width)
    best = frame[frame["run_generalization_error"].notna()]
    _points(axes, best, "sample_ratio", "generalization_error", style.BAYES_COLOR)
    style.log_axis(axes, "x", frame["sample_ratio"].min(), frame["sample_ratio"].max())
    style.log_axis(axes, "y", 0.85 * frame["generalization_error"].min(), 0.5)
    axes.set_xlabel(style.SAMPLE_RATIO_LABEL)
    axes.set_ylabel(style.GENERALIZATION_ERROR_LABEL)
    return lines


def _points(axes: Axes, table: pd.DataFrame, across: str, name: str, color: Any) -> None:
    """Draw the means of the runs with their intervals."""
    x = table[across].to_numpy()
    tables.draw_bars(axes, np.stack([x, x]), tables.interval_of(table, f"run_{name}"), color)
    axes.plot(
        x,
        table[f"run_{name}"],
        markeredgecolor=color,
        marker="o",
        clip_on=False,
        in_layout=False,
        **tables.RUN_POINT_STYLE,
    )


MESSAGE_PASSING = Recipe(MessagePassingFigureSettings, message_passing_data, draw_message_passing)
