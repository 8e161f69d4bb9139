"""Images: how fine-tuning on the distances of classes changes generalization and identification."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import Recipe, Share
from genlaws.figures.rules_facts.tables import RUN_POINT_STYLE, Seed, draw_bars, interval_of, mean_columns
from genlaws.render import style
from genlaws.sweeps import Axis, get_experiment, make_sweep
from genlaws.sweeps.computing import ComputedCell, compute_cells
from genlaws.sweeps.experiment import Settings

TREE: dict[str, Any] = {
    "color": style.GRAY,
    "linewidth": 0.7,
    "linestyle": (0, (1, 1.2)),
    "marker": "o",
    "markersize": 2.0,
}
QUANTITY_STYLES = {
    "nearest_mean_accuracy": ("accuracy, nearest class mean", style.BLACK, "-"),
    "peak_identification": ("$p_I$ at the peak", style.BLUE, "-"),
    "mean_identification": (r"$p_I$, mean over $\varepsilon$", style.BLUE, (0, (3, 1.5))),
    "peak_generalization": ("$p_S$ at its peak", style.VERMILLION, "-"),
    "mean_generalization": (r"$p_S$, mean over $\varepsilon$", style.VERMILLION, (0, (3, 1.5))),
}
MEASURED_QUANTITIES = (*QUANTITY_STYLES, "accuracy")


class ConvolutionalFigureSettings(Settings):
    """Networks of each similarity weight from the same starts; see the experiment for the other settings."""

    extractor: str = "small"
    data: str = "digits"
    tree: str | None = None
    leaf_table: str | None = None
    similarity_weights: Annotated[tuple[Share, ...], Field(min_length=2, max_length=9)] = (0.0, 0.25, 0.5, 0.75, 1.0)
    repeats: Annotated[int, Field(ge=2, le=1000)] = 5
    epochs: Annotated[int, Field(ge=0, le=100_000)] = 30
    batch_size: Annotated[int, Field(ge=2, le=100_000)] = 64
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-3
    most_stimuli: Annotated[int, Field(ge=3, le=5000)] = 600
    device: str = "cpu"
    seed: Seed = 0


def convolutional_data(settings: ConvolutionalFigureSettings, running: Running) -> pd.DataFrame:
    """Return the curve of each similarity weight and of the tree, and single numbers by similarity weight."""
    base = settings.model_dump(exclude={"similarity_weights", "repeats", "seed"})
    networks = tuple(range(settings.seed, settings.seed + settings.repeats))
    axes = [Axis("network", networks), Axis("similarity_weight", settings.similarity_weights)]
    runs: dict[float, list[ComputedCell]] = {}
    sweep = make_sweep(get_experiment("semanticity.convolutional"), base, axes)
    for cell in compute_cells(sweep, running, "networks"):
        runs.setdefault(cell.settings.similarity_weight, []).append(cell)
    some = next(iter(runs.values()))[0].result
    about = {name: some[name] for name in ("stimulus_count", "tied_fraction")}
    tables = [_mean_curve(weight, cells) for weight, cells in runs.items()]
    tree = pd.DataFrame({name: some[f"tree_{name}"] for name in ("identification", "generalization")})
    tables += [tree.assign(series="tree"), _quantity_rows(runs)]
    return pd.concat(tables, ignore_index=True).assign(**about, run_count=settings.repeats)


def _mean_curve(weight: float, cells: list[ComputedCell]) -> pd.DataFrame:
    """Return the mean curve of a similarity weight; rows that no threshold of any network reaches are left out."""
    found = np.array([cell.result["generalization"] for cell in cells], dtype=np.float64)
    rows = [
        {"identification": at, **mean_columns("generalization", values)}
        for at, values in zip(cells[0].result["identification"], found.T, strict=True)
        if np.isfinite(values).all()
    ]
    return pd.DataFrame(rows).assign(series="curve", similarity_weight=weight)


def _quantity_rows(runs: dict[float, list[ComputedCell]]) -> pd.DataFrame:
    """Return means over networks, and their paired differences from the smallest similarity weight."""
    first = min(runs)
    rows: list[dict[str, Any]] = []
    for weight, cells in runs.items():
        for name in MEASURED_QUANTITIES:
            values, before = (np.array([cell.result[name] for cell in one]) for one in (cells, runs[first]))
            about = {"similarity_weight": weight, "quantity": name}
            rows.append({**about, **mean_columns("mean", values), **mean_columns("change", values - before)})
    return pd.DataFrame(rows).assign(series="numbers")


def convolutional_summary(frame: pd.DataFrame, settings: ConvolutionalFigureSettings) -> pd.DataFrame:
    """Return the numbers by similarity weight, with the change from the smallest one, seed by seed."""
    numbers = frame[frame["series"] == "numbers"]
    columns = ["quantity", "similarity_weight", "mean", "mean_low", "mean_high", "change", "change_low", "change_high"]
    return numbers[columns].sort_values(columns[:2]).reset_index(drop=True)


def draw_convolutional(frame: pd.DataFrame, settings: ConvolutionalFigureSettings) -> Figure:
    """Draw both tests over all thresholds (left) and single numbers against the similarity weight (right)."""
    figure = style.new_figure(style.PAGE, 3.2)
    left, right = figure.subplots(1, 2)
    lines = _draw_fronts(left, frame, settings)
    curves = _draw_numbers(right, frame[frame["series"] == "numbers"])
    count = int(frame["stimulus_count"].iloc[0])
    left.set_title(f"{count} held-out images, every threshold")
    right.set_title(f"means of {settings.repeats} networks with 95 % intervals")
    style.legend_below(figure, lines)
    direct_labels(right, curves, [label for label, _, _ in QUANTITY_STYLES.values()])
    return figure


def _draw_fronts(axes: Axes, frame: pd.DataFrame, settings: ConvolutionalFigureSettings) -> list[Line2D]:
    axes.plot([0.5, 1.0], [0.5, 1.0], color=style.LIGHT_GRAY, linewidth=0.6, zorder=0)
    lines = []
    weights = sorted(settings.similarity_weights)
    for weight, color in zip(weights, style.ordered_colors(len(weights)), strict=True):
        table = frame[(frame["series"] == "curve") & (frame["similarity_weight"] == weight)]
        lines += style.plot_with_band(axes, table, "identification", "generalization", color, label=f"$w={weight:g}$")
    tree = frame[frame["series"] == "tree"]
    lines += axes.plot(tree["identification"], tree["generalization"], label="features that match the tree", **TREE)
    top = max(float(tree["generalization"].max()), float(frame["generalization"].max()))
    axes.set(xlim=(0.49, 1.01), ylim=(0.49, top + 0.06 * (top - 0.5)), **style.PLANE_LABELS)
    return lines


def _draw_numbers(axes: Axes, frame: pd.DataFrame) -> list[Line2D]:
    lines = []
    for name, (_, color, dashes) in QUANTITY_STYLES.items():
        table = frame[frame["quantity"] == name].sort_values("similarity_weight")
        x = table["similarity_weight"].to_numpy()
        lines += axes.plot(x, table["mean"], color=color, linestyle=dashes, linewidth=1.0)
        draw_bars(axes, np.stack([x, x]), interval_of(table, "mean"), color)
        axes.plot(x, table["mean"], marker="o", markeredgecolor=color, **RUN_POINT_STYLE)
    drawn = frame[frame["quantity"].isin(list(QUANTITY_STYLES))]
    axes.set(xlim=(-0.04, 1.04), ylim=(min(0.5, float(drawn["mean_low"].min())) - 0.01, 1.02))
    axes.set(xlabel="similarity weight $w$", ylabel="probability; share of images")
    return lines


CONVOLUTIONAL_FIGURE = Recipe(
    ConvolutionalFigureSettings, convolutional_data, draw_convolutional, summary=convolutional_summary
)
