"""Figures 1, 2, 4 and 11: memorization error against generalization error along the regularization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import InnerShare, Points, Ratio, Recipe
from genlaws.figures.rules_facts import tables
from genlaws.render import style
from genlaws.rules_facts import Kernel, optimal_angle
from genlaws.sweeps.experiment import Settings

TRADEOFF_FIGURE_HEIGHT = 3.0


class KernelsSettings(tables.TaskSettings):
    """At these values the hinge loss fits every label with the linear model and the square loss does not."""

    kernels: tuple[str, ...] = ("linear", "erf", "relu")
    path_points: Points = 800


class WidthsSettings(tables.TaskSettings):
    """The kernel itself is drawn in addition to the widths; widths beyond the widest run are drawn without runs."""

    width_ratios: tuple[Ratio, ...] = (0.5, 1.0, 3.0, 10.0)
    widest_run: Ratio = 30.0
    path_points: Points = 400


class BestAngleSettings(Settings):
    """Angles on either side of the best one are the same for both losses."""

    sample_ratio: Ratio = 4.0
    fact_fraction: InnerShare = 0.2
    smaller_angle: tables.Angle = 0.4
    larger_angle: tables.Angle = 1.4
    path_points: Points = 800


class AllAnglesSettings(Settings):
    """Angles are evenly spaced between the two ends."""

    sample_ratio: Ratio = 4.0
    fact_fraction: InnerShare = 0.2
    smallest_angle: tables.Angle = 0.1
    largest_angle: tables.Angle = 1.55
    angle_points: Points = 31
    path_points: Points = 400


def kernels_data(settings: KernelsSettings, running: Running) -> pd.DataFrame:
    """Return the path of every kernel under both losses, with the means of the runs."""
    groups = tables.learner_groups(settings, tables.PAPER_LOSSES, settings.kernels)
    learners: list[tables.PathLearner] = []
    for loss in tables.PAPER_LOSSES:
        for name in settings.kernels:
            solved = Kernel.from_name(name)
            learners.append((loss, solved, {"about": {"kernel": name, "kernel_angle": solved.kernel_angle}}))
    return tables.paths_and_runs(settings, learners, groups, running, "kernels and runs")


def draw_kernels(frame: pd.DataFrame, settings: KernelsSettings) -> Figure:
    """Draw one panel per loss."""
    figure, panels = loss_panels(frame, settings)
    labeled = []
    for loss, axes in panels.items():
        here = frame[frame["loss"] == loss]
        colors = [style.KERNEL_COLORS.get(name.split(":")[0], style.BLUE) for name in settings.kernels]
        paths = [here[here["kernel"] == name] for name in settings.kernels]
        labeled.append((axes, _curves_with_points(axes, paths, colors)))
    style.legend_below(figure, tables.path_handles(settings))
    for axes, lines in labeled:
        direct_labels(axes, lines, [style.kernel_label(name) for name in settings.kernels])
    return figure


def loss_panels(frame: pd.DataFrame, settings: Settings) -> tuple[Figure, dict[str, Axes]]:
    """Return two panels side by side, by loss, with one vertical axis; α and ε are in the titles."""
    figure = style.new_figure(style.PAGE, TRADEOFF_FIGURE_HEIGHT)
    left, right = figure.subplots(1, 2, sharey=True)
    values = settings.model_dump()
    where = rf"$\alpha={values['sample_ratio']:g}$, $\varepsilon={values['fact_fraction']:g}$"
    for loss, axes in zip(tables.PAPER_LOSSES, (left, right), strict=True):
        axes.set_title(f"{loss} loss, {where}")
        axes.set_xlabel(style.GENERALIZATION_ERROR_LABEL)
        tables.pad_error_axis(axes, *_extent(frame[frame["loss"] == loss], "generalization_error"))
    left.set_ylabel(style.MEMORIZATION_ERROR_LABEL)
    right.tick_params(labelleft=True)
    left.set_ylim(0.0, 0.02 + _extent(frame, "memorization_error")[1])
    return figure, {"square": left, "hinge": right}


def _extent(frame: pd.DataFrame, name: str) -> tuple[float, float]:
    """Return the smallest and the largest value of the theory and of the intervals of the runs."""
    columns = (name, f"run_{name}", f"run_{name}_low", f"run_{name}_high")
    values = frame[[column for column in columns if column in frame]].to_numpy()
    return float(np.nanmin(values)), float(np.nanmax(values))


def _curves_with_points(axes: Axes, paths: Sequence[pd.DataFrame], colors: Sequence[Any]) -> list[Line2D]:
    lines = [tables.draw_path(axes, path, color) for path, color in zip(paths, colors, strict=True)]
    for path, color in zip(paths, colors, strict=True):
        tables.draw_points(axes, path, color)
    return lines


def widths_data(settings: WidthsSettings, running: Running) -> pd.DataFrame:
    """Return the path of every width, and of the kernel as width ``inf``, for the two pairs of units and loss."""
    pairs = {"square": "erf", "hinge": "relu"}
    widths = (*settings.width_ratios, np.inf)
    run = (*(one for one in settings.width_ratios if one <= settings.widest_run), None)
    groups = [one for loss, name in pairs.items() for one in tables.learner_groups(settings, (loss,), (name,), run)]
    learners: list[tables.PathLearner] = [
        (loss, name, {"about": {"kernel": name}, "width_ratio": width})
        for loss, name in pairs.items()
        for width in widths
    ]
    return tables.paths_and_runs(settings, learners, groups, running, "widths and runs")


def draw_widths(frame: pd.DataFrame, settings: WidthsSettings) -> Figure:
    """Draw erf units with the square loss (left) and ReLU units with the hinge loss (right)."""
    figure, panels = loss_panels(frame, settings)
    widths = (*settings.width_ratios, np.inf)
    labeled = []
    for loss, axes in panels.items():
        here = frame[frame["loss"] == loss]
        name = str(here["kernel"].iloc[0])
        axes.set_title(f"{style.kernel_label(name)} units, {axes.get_title()}")
        colors = style.shades(style.KERNEL_COLORS[name], len(widths))
        lines = _curves_with_points(axes, [here[here["width_ratio"] == width] for width in widths], colors)
        lines[-1].set_linewidth(2.2)
        labeled.append((axes, lines, [*(f"{width:g}" for width in settings.width_ratios), "kernel"]))
    meaning = Line2D([], [], linestyle="none", label=r"number at a curve: width per dimension $\kappa$")
    style.legend_below(figure, [*tables.path_handles(settings), meaning])
    for axes, lines, labels in labeled:
        direct_labels(axes, lines, labels)
    return figure


def best_angle_data(settings: BestAngleSettings, running: Running) -> pd.DataFrame:
    """Return the paths at the best angle of each loss and at two others.

    The best angle of the square loss is that of perfect memory, which is also as good as any at the optimal
    regularization; that of the hinge loss has the least error at the optimal regularization.
    """
    parts = []
    strengths = tables.regularization_path(settings.path_points)
    running.start(3 * len(tables.PAPER_LOSSES), "angles")
    for loss in tables.PAPER_LOSSES:
        best = optimal_angle(
            loss,
            fact_fraction=settings.fact_fraction,
            sample_ratio=settings.sample_ratio,
            regularization="optimal",
        )
        choices = {"smaller": settings.smaller_angle, "best": float(best), "larger": settings.larger_angle}
        for choice, angle in choices.items():
            about = {"angle_choice": choice, "kernel_angle": angle}
            parts.append(tables.task_errors(settings, loss, Kernel.from_angle(angle), strengths, about=about))
            running.advance(1)
    return pd.concat(parts, ignore_index=True)


def draw_best_angle(frame: pd.DataFrame, settings: BestAngleSettings) -> Figure:
    """Draw three angles per loss; the best in the color of the loss."""
    figure, panels = loss_panels(frame, settings)
    labeled = []
    for loss, axes in panels.items():
        here = frame[frame["loss"] == loss]
        lines, labels = [], []
        for choice in ("smaller", "best", "larger"):
            path = here[here["angle_choice"] == choice]
            angle = float(path["kernel_angle"].iloc[0])
            best = choice == "best"
            color = style.LOSS_COLORS[loss] if best else style.angle_color(angle)
            lines.append(tables.draw_path(axes, path, color, 2.0 if best else 1.3))
            labels.append(rf"{'best angle, ' if best else ''}$\theta={angle:.2f}$")
        labeled.append((axes, lines, labels))
    style.legend_below(figure, style.path_end_handles())
    for axes, lines, labels in labeled:
        direct_labels(axes, lines, labels)
    return figure


def all_angles_data(settings: AllAnglesSettings, running: Running) -> pd.DataFrame:
    """Return the paths of evenly spaced angles, and of the best angle of ridge regression."""
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    spaced = np.linspace(settings.smallest_angle, settings.largest_angle, settings.angle_points)
    angles = np.append(spaced, best)[:, None]
    kernels, strengths = Kernel.from_angle(angles), tables.regularization_path(settings.path_points)
    running.start(len(tables.PAPER_LOSSES), "losses")
    parts = []
    for loss in tables.PAPER_LOSSES:
        parts.append(tables.task_errors(settings, loss, kernels, strengths, kernel_angle=angles))
        running.advance(1)
    return pd.concat(parts, ignore_index=True)


def draw_all_angles(frame: pd.DataFrame, settings: AllAnglesSettings) -> Figure:
    """Draw every path in the color of its angle, with a color bar."""
    figure, panels = loss_panels(frame, settings)
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    scale = ScalarMappable(Normalize(0.0, np.pi / 2), style.angle_colors())
    for loss, axes in panels.items():
        here = frame[frame["loss"] == loss]
        for angle in here["kernel_angle"].unique():
            path = here[here["kernel_angle"] == angle]
            if not np.isclose(angle, best, rtol=1e-12):
                tables.draw_path(axes, path, style.angle_color(angle), 0.8, markers=False)
        line = tables.draw_path(axes, here[np.isclose(here["kernel_angle"], best, rtol=1e-12)], style.BLACK, 1.6)
        line.set_dashes((4, 1.5))
    line.set_label(rf"best angle of ridge regression, $\theta_{{\mathrm{{opt}}}}={best:.3f}$")
    style.legend_below(figure, [*style.path_end_handles(), line])
    bar = figure.colorbar(scale, ax=list(panels.values()), pad=0.02, aspect=25)
    bar.set_label(style.KERNEL_ANGLE_LABEL)
    bar.set_ticks([0.0, np.pi / 8, np.pi / 4, 3 * np.pi / 8, np.pi / 2], labels=style.ANGLE_TICKS)
    bar.ax.axhline(best, color=style.BLACK, linewidth=1.2, linestyle=(0, (4, 1.5)))
    return figure


KERNELS = Recipe(KernelsSettings, kernels_data, draw_kernels)
WIDTHS = Recipe(WidthsSettings, widths_data, draw_widths)
BEST_ANGLE = Recipe(BestAngleSettings, best_angle_data, draw_best_angle)
ALL_ANGLES = Recipe(AllAnglesSettings, all_angles_data, draw_all_angles)
