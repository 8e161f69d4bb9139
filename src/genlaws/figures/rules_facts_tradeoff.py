"""Figures 1, 2, 4 and 11: what is remembered against what is generalised, with the regularisation as parameter."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from pydantic import Field

from genlaws.experiments.settings import Settings
from genlaws.figures import style
from genlaws.figures.labels import direct_labels
from genlaws.figures.progress import Progress
from genlaws.figures.recipe import InnerShare, Points, Ratio, Recipe
from genlaws.figures.rules_facts_tables import LOSSES, errors_table, regularisation_path
from genlaws.rules_facts import Kernel, optimal_angle

Angle = Annotated[float, Field(gt=0, le=np.pi / 2)]
HEIGHT = 3.0


class KernelsSettings(Settings):
    """At these values the hinge loss fits every label with the linear model and the square loss does not."""

    sample_ratio: Ratio = 2.0
    fact_fraction: InnerShare = 0.2
    kernels: tuple[str, ...] = ("linear", "erf", "relu")
    path_points: Points = 800


class WidthsSettings(Settings):
    """The kernel itself is drawn in addition to the widths."""

    sample_ratio: Ratio = 2.0
    fact_fraction: InnerShare = 0.2
    width_ratios: tuple[Ratio, ...] = (0.5, 1.0, 3.0, 10.0)
    path_points: Points = 400


class BestAngleSettings(Settings):
    """Angles on either side of the best one are the same for both losses."""

    sample_ratio: Ratio = 4.0
    fact_fraction: InnerShare = 0.2
    smaller_angle: Angle = 0.4
    larger_angle: Angle = 1.4
    path_points: Points = 800


class AllAnglesSettings(Settings):
    """Angles are evenly spaced between the two ends."""

    sample_ratio: Ratio = 4.0
    fact_fraction: InnerShare = 0.2
    smallest_angle: Angle = 0.1
    largest_angle: Angle = 1.55
    angle_points: Points = 31
    path_points: Points = 400


def kernels_data(settings: KernelsSettings, progress: Progress) -> pd.DataFrame:
    """Return the path of every kernel under both losses."""
    tables = []
    progress.start(len(LOSSES) * len(settings.kernels), "kernels")
    for loss in LOSSES:
        for name in settings.kernels:
            kernel = Kernel.from_name(name)
            tables.append(_path(settings, loss, kernel, kernel=name, kernel_angle=float(kernel.kernel_angle)))
            progress.advance(1)
    return pd.concat(tables, ignore_index=True)


def _path(
    settings: KernelsSettings | BestAngleSettings, loss: str, solved: Kernel, **columns: str | float
) -> pd.DataFrame:
    table = errors_table(
        loss,
        sample_ratio=settings.sample_ratio,
        fact_fraction=settings.fact_fraction,
        regularisation=regularisation_path(settings.path_points),
        kernel=solved,
    )
    for place, (name, value) in enumerate(columns.items(), start=1):
        table.insert(place, name, value)
    return table


def draw_kernels(frame: pd.DataFrame, settings: KernelsSettings) -> Figure:
    """Draw one panel per loss."""
    figure, panels = _panels(frame, settings)
    labelled = []
    for loss, axes in panels.items():
        here = frame[frame["loss"] == loss]
        lines = [
            _curve(axes, here[here["kernel"] == name], style.KERNEL_COLOURS.get(name.split(":")[0], style.BLUE))
            for name in settings.kernels
        ]
        labelled.append((axes, lines))
    style.legend_below(figure, style.path_end_handles())
    for axes, lines in labelled:
        direct_labels(axes, lines, [style.kernel_label(name) for name in settings.kernels])
    return figure


def _panels(frame: pd.DataFrame, settings: Settings) -> tuple[Figure, dict[str, Axes]]:
    """Two panels side by side, by loss, with one vertical axis; α and ε are in the titles."""
    figure = style.new_figure(style.PAGE, HEIGHT)
    left, right = figure.subplots(1, 2, sharey=True)
    values = settings.model_dump()
    where = rf"$\alpha={values['sample_ratio']:g}$, $\varepsilon={values['fact_fraction']:g}$"
    for loss, axes in zip(LOSSES, (left, right), strict=True):
        axes.set_title(f"{loss} loss, {where}")
        axes.set_xlabel(style.GENERALISATION)
        errors = frame.loc[frame["loss"] == loss, "generalisation_error"]
        margin = 0.06 * (errors.max() - errors.min())
        axes.set_xlim(errors.min() - margin, errors.max() + margin)
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    left.set_ylabel(style.MEMORISATION)
    right.tick_params(labelleft=True)
    left.set_ylim(0.0, 0.02 + frame["memorisation_error"].max())
    return figure, {"square": left, "hinge": right}


def _curve(axes: Axes, path: pd.DataFrame, colour: object, width: float = 1.4, markers: bool = True) -> Line2D:
    x, y = path["generalisation_error"].to_numpy(), path["memorisation_error"].to_numpy()
    (line,) = axes.plot(x, y, color=colour, linewidth=width)
    if markers:
        style.mark_path_ends(axes, x, y)
    return line


def widths_data(settings: WidthsSettings, progress: Progress) -> pd.DataFrame:
    """Return the path of every width, and of the kernel as width ``inf``, for the two pairs of units and loss."""
    pairs = {"square": "erf", "hinge": "relu"}
    path = regularisation_path(settings.path_points)
    tables = []
    progress.start(len(pairs) * (len(settings.width_ratios) + 1), "widths")
    for loss, name in pairs.items():
        for width in (*settings.width_ratios, np.inf):
            table = errors_table(
                loss,
                sample_ratio=settings.sample_ratio,
                fact_fraction=settings.fact_fraction,
                regularisation=path,
                kernel=name,
                **({"width_ratio": width} if np.isfinite(width) else {}),
            )
            if np.isinf(width):
                table.insert(3, "width_ratio", width)
            table.insert(1, "kernel", name)
            tables.append(table)
            progress.advance(1)
    return pd.concat(tables, ignore_index=True)


def draw_widths(frame: pd.DataFrame, settings: WidthsSettings) -> Figure:
    """Draw erf units with the square loss beside ReLU units with the hinge loss."""
    figure, panels = _panels(frame, settings)
    widths = (*settings.width_ratios, np.inf)
    labelled = []
    for loss, axes in panels.items():
        here = frame[frame["loss"] == loss]
        name = str(here["kernel"].iloc[0])
        axes.set_title(f"{style.kernel_label(name)} units, {axes.get_title()}")
        colours = style.shades(style.KERNEL_COLOURS[name], len(widths))
        lines = [_curve(axes, here[here["width_ratio"] == w], c) for w, c in zip(widths, colours, strict=True)]
        lines[-1].set_linewidth(2.2)
        labels = [f"{width:g}" for width in settings.width_ratios] + ["kernel"]
        labelled.append((axes, lines, labels))
    meaning = Line2D([], [], linestyle="none", label=r"number at a curve: width per dimension $\kappa$")
    style.legend_below(figure, [*style.path_end_handles(), meaning])
    for axes, lines, labels in labelled:
        direct_labels(axes, lines, labels)
    return figure


def best_angle_data(settings: BestAngleSettings, progress: Progress) -> pd.DataFrame:
    """Return the paths at the best angle of each loss and at two others.

    The best angle of the square loss is that of perfect memory, which is also as good as any at the optimal
    regularisation; that of the hinge loss has the least error at the optimal regularisation.
    """
    tables = []
    progress.start(3 * len(LOSSES), "angles")
    for loss in LOSSES:
        best = optimal_angle(
            loss,
            fact_fraction=settings.fact_fraction,
            sample_ratio=settings.sample_ratio,
            regularisation="optimal",
        )
        choices = {"smaller": settings.smaller_angle, "best": float(best), "larger": settings.larger_angle}
        for choice, angle in choices.items():
            tables.append(_path(settings, loss, Kernel.from_angle(angle), angle_choice=choice, kernel_angle=angle))
            progress.advance(1)
    return pd.concat(tables, ignore_index=True)


def draw_best_angle(frame: pd.DataFrame, settings: BestAngleSettings) -> Figure:
    """Draw three angles per loss; the best in the colour of the loss."""
    figure, panels = _panels(frame, settings)
    labelled = []
    for loss, axes in panels.items():
        here = frame[frame["loss"] == loss]
        lines, labels = [], []
        for choice in ("smaller", "best", "larger"):
            path = here[here["angle_choice"] == choice]
            angle = float(path["kernel_angle"].iloc[0])
            best = choice == "best"
            colour = style.LOSS_COLOURS[loss] if best else style.angle_colour(angle)
            lines.append(_curve(axes, path, colour, 2.0 if best else 1.3))
            labels.append(rf"{'best angle, ' if best else ''}$\theta={angle:.2f}$")
        labelled.append((axes, lines, labels))
    style.legend_below(figure, style.path_end_handles())
    for axes, lines, labels in labelled:
        direct_labels(axes, lines, labels)
    return figure


def all_angles_data(settings: AllAnglesSettings, progress: Progress) -> pd.DataFrame:
    """Return the paths of evenly spaced angles, and of the best angle of ridge regression."""
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    spaced = np.linspace(settings.smallest_angle, settings.largest_angle, settings.angle_points)
    angles = np.append(spaced, best)[:, None]
    progress.start(len(LOSSES), "losses")
    tables = []
    for loss in LOSSES:
        table = errors_table(
            loss,
            sample_ratio=settings.sample_ratio,
            fact_fraction=settings.fact_fraction,
            regularisation=regularisation_path(settings.path_points),
            kernel=Kernel.from_angle(angles),
            kernel_angle=angles,
        )
        tables.append(table)
        progress.advance(1)
    return pd.concat(tables, ignore_index=True)


def draw_all_angles(frame: pd.DataFrame, settings: AllAnglesSettings) -> Figure:
    """Draw every path in the colour of its angle, with a colour bar."""
    figure, panels = _panels(frame, settings)
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    scale = ScalarMappable(Normalize(0.0, np.pi / 2), style.angle_colours())
    for loss, axes in panels.items():
        here = frame[frame["loss"] == loss]
        for angle in here["kernel_angle"].unique():
            path = here[here["kernel_angle"] == angle]
            if not np.isclose(angle, best, rtol=1e-12):
                _curve(axes, path, style.angle_colour(angle), 0.8, markers=False)
        line = _curve(axes, here[np.isclose(here["kernel_angle"], best, rtol=1e-12)], style.BLACK, 1.6)
        line.set_dashes((4, 1.5))
    line.set_label(rf"best angle of ridge regression, $\theta_{{\mathrm{{opt}}}}={best:.3f}$")
    style.legend_below(figure, [*style.path_end_handles(), line])
    bar = figure.colorbar(scale, ax=list(panels.values()), pad=0.02, aspect=25)
    bar.set_label(style.ANGLE)
    bar.set_ticks([0.0, np.pi / 8, np.pi / 4, 3 * np.pi / 8, np.pi / 2], labels=style.ANGLE_TICKS)
    bar.ax.axhline(best, color=style.BLACK, linewidth=1.2, linestyle=(0, (4, 1.5)))
    return figure


KERNELS = Recipe(KernelsSettings, kernels_data, draw_kernels)
WIDTHS = Recipe(WidthsSettings, widths_data, draw_widths)
BEST_ANGLE = Recipe(BestAngleSettings, best_angle_data, draw_best_angle)
ALL_ANGLES = Recipe(AllAnglesSettings, all_angles_data, draw_all_angles)
