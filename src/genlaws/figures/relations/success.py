"""How often networks generalize against the ratio of their learning rates: by the laws, and with other optimizers."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from genlaws.core.arguments import Array
from genlaws.core.running import Running
from genlaws.figures.recipe import Recipe
from genlaws.figures.relations import cells
from genlaws.figures.rules_facts.tables import RUN_POINT_STYLE, draw_bars, interval_of
from genlaws.relations import collision_probability, collision_rate_ratio, sign_collision_probability
from genlaws.relations.networks.runs import log_every
from genlaws.render import style

Ratios = Annotated[tuple[cells.Rate, ...], Field(min_length=2, max_length=60)]
Variant = tuple[str, Annotated[int, Field(ge=1)] | None, cells.Scale]
DIMENSION = 2  # of the embeddings
FIRST_SCALE = 1.0 / np.sqrt(3.0 * 2 * DIMENSION)  # width of torch's uniform start with both embeddings as inputs
# Read from the paper's Figure 6: factor on the initial values, then ratio and share of what look like 50 networks.
PAPER_SHARES = {
    1.0: ((30.0, 0.46), (10.0, 0.36), (5.0, 0.14), (1.0, 0.02), (10 ** (-1 / 3), 0.0)),
    0.5: ((30.0, 0.72), (10.0, 0.60), (5.0, 0.44), (1.0, 0.14), (10 ** (-1 / 3), 0.02), (10 ** (-2 / 3), 0.0)),
}
RATE_RATIO_LABEL = r"encoder rate over decoder rate $\eta_{\mathrm{enc}}/\eta_{\mathrm{dec}}$"
PAPER_RATIO_LABEL = r"the paper's $x=\sqrt{\eta_{\mathrm{enc}}/(2\,\eta_{\mathrm{dec}})}$"
SUCCESS_LABEL = "share of networks that generalize"
OPTIMIZER_LABELS = {"adam": "Adam", "adamw": "AdamW", "sgd": "gradient descent"}
OPTIMIZER_MARKERS = {"adam": "o", "adamw": "s", "sgd": "^"}
SCALE_COLORS = (style.VERMILLION, style.BLUE, style.GREEN, style.PURPLE)
VARIANT_COLORS = (
    *(style.BLUE, style.SKY_BLUE, style.PURPLE, style.GREEN),
    *(style.VERMILLION, style.ORANGE, style.BLACK),
)
LAW_DASHES: dict[str, Any] = {"eq12": "-", "sign_law": (0, (4, 1.5)), "first_layer": ":"}
LAW_NAMES = {
    "eq12": "Eq. 12, gradient flow on a line",
    "sign_law": "the same with sign updates",
    "first_layer": "first layer, exact in two dimensions",
}
LAW_WIDTH, LAW_POINTS = 1.0, 200
RATE_RATIO_AXIS_FACTOR = 1.6  # by which the axis exceeds the ratios
RATE_RATIO_SHIFT_FACTOR = 1.06  # between points at the same ratio
NO_THRESHOLD_TEXTS = {1.0: "all do at every ratio", 0.0: "none does at any ratio"}
PAPER_MARK: dict[str, Any] = {**RUN_POINT_STYLE, "marker": "D", "markersize": 3.4}


class RatioSettings(cells.NetworkFigureSettings):
    """Networks of one relation at several ratios of the rates, at one decoder rate for each optimizer."""

    relation: str = "mod3"
    adam_rate: cells.Rate = 1e-2
    sgd_rate: cells.Rate = 1.0
    train_fraction: cells.Fraction = 0.75
    target: cells.Fraction = 0.9
    width: cells.Width = 20
    steps: cells.Steps = 4000


class SuccessSettings(RatioSettings):
    """Ratios of the rates at one decoder rate, and factors on the initial embeddings.

    The defaults are a reduced size for a CPU. The paper's figure has 50 networks at each point; its steps and
    rates are not stated.
    """

    ratios: Ratios = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
    scales: Annotated[tuple[cells.Rate, ...], Field(min_length=1, max_length=4)] = (1.0, 0.5)
    optimizers: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)] = ("adam", "sgd")


class ControlSettings(RatioSettings):
    """The same with other optimizers and batches.

    `variants` holds the optimizer, the batch size (none: all entries) and the weight decay of both parts.
    """

    ratios: Ratios = (10.0, 1.0, 0.3, 0.1, 0.03, 0.01)
    variants: Annotated[tuple[Variant, ...], Field(min_length=1, max_length=7)] = (
        ("adam", None, 0.0),
        ("adam", 128, 0.0),
        ("adam", 32, 0.0),
        ("adamw", None, 1.0),
        ("sgd", None, 0.0),
        ("sgd", 32, 0.0),
    )
    repeats: cells.Repeats = 8


def success_data(settings: SuccessSettings, running: Running) -> pd.DataFrame:
    """Return the share of networks that generalize by optimizer, scale and ratio, with three laws."""
    rows, outputs = [], first_layer_outputs(settings)
    for optimizer in settings.optimizers:
        rate = settings.sgd_rate if optimizer == "sgd" else settings.adam_rate
        axes = {"embedding_scale": settings.scales, "encoder_rate": tuple(rate * one for one in settings.ratios)}
        table = cells.networks(settings, _base(settings, optimizer, rate), axes, running)
        for place, group in cells.grouped(table, list(axes)):
            ratio, scale = place["encoder_rate"] / rate, place["embedding_scale"]
            rows.append(
                {
                    "optimizer": optimizer,
                    **place,
                    "decoder_rate": rate,
                    "ratio": ratio,
                    **cells.share_columns("success", group["test_accuracy"] > settings.target),
                    **cells.share_columns("reached", group["test_step"] >= 0),
                    **cells.share_columns("memorized", group["phase"] == "memorization"),
                    "mean_test_accuracy": group["test_accuracy"].mean(),
                    "networks": len(group),
                    **{name: float(one) for name, one in laws(ratio, scale, outputs).items()},
                }
            )
    return pd.DataFrame(rows)


def laws(ratio: ArrayLike, scale: float, outputs: int) -> dict[str, Array]:
    r"""Return the chance that two repons of one class merge, by three laws.

    ``eq12`` and ``sign_law`` are those of a line with one output as the paper draws Eq. 12,

    .. math:: \tfrac2\pi\arctan\frac{x}{s}, \quad x = \sqrt{\tfrac{\eta_{enc}}{2\eta_{dec}}}, \qquad
        \tfrac2\pi\arctan\frac{2x^2}{s},

    with decoder entries of width 1 and the factor :math:`s` as the width of *half the separation*; :math:`s = 1` is the
    black line of its Figure 6. Embeddings drawn with that width, as the networks' are, have half separations of
    width :math:`s/\sqrt2`: read this way, Eq. 12 moves to ratios 2 times and the sign law to ratios :math:`\sqrt2`
    times smaller.

    ``first_layer`` is the exact law in two dimensions for what the networks start with: each embedding (not half the
    separation) has width :math:`s`, and the linear map is the decoder's first layer as torch starts it. An element
    occurs as the first and as the second argument, so both halves of the layer hold it, one above the other: their sum
    :math:`W_L^TW_L + W_R^TW_R` is what gradient flow ties to the embeddings. The law is for normal weights; torch's are
    uniform with the same width.

    Parameters
    ----------
    ratio : array_like > 0
        Encoder rate over decoder rate.
    scale : float > 0
        Factor on the initial embeddings.
    outputs : int
        Rows of both halves together: :func:`first_layer_outputs`.

    References
    ----------
    :cite:p:`baek2024`, Eq. 12 and Figure 6; the other two laws are ours.
    """
    return {
        "eq12": collision_probability(ratio, 1.0, scale, 1.0, encoder_scale_of="half-separation"),
        "sign_law": sign_collision_probability(ratio, 1.0, scale, 1.0, encoder_scale_of="half-separation"),
        "first_layer": collision_probability(
            ratio, 1.0, scale, FIRST_SCALE, encoder_scale_of="repon", dimension=DIMENSION, outputs=outputs
        ),
    }


def first_layer_outputs(settings: SuccessSettings) -> int:
    """Return how many outputs of the first layer see an element: as first and as second argument."""
    return 2 * (settings.width if settings.depth else 1)


def control_data(settings: ControlSettings, running: Running) -> pd.DataFrame:
    """Return the share of networks that generalize by variant and ratio."""
    rows = []
    for optimizer, batch_size, decay in settings.variants:
        rate = settings.sgd_rate if optimizer == "sgd" else settings.adam_rate
        axes = {"encoder_rate": tuple(rate * one for one in settings.ratios)}
        base = {"batch_size": batch_size, "encoder_decay": decay, "decoder_decay": decay}
        table = cells.networks(settings, _base(settings, optimizer, rate) | base, axes, running)
        for place, group in cells.grouped(table, ["encoder_rate"]):
            rows.append(
                {
                    "optimizer": optimizer,
                    "batch_size": 0 if batch_size is None else batch_size,
                    "weight_decay": decay,
                    "ratio": place["encoder_rate"] / rate,
                    **cells.share_columns("success", group["test_accuracy"] > settings.target),
                    **cells.share_columns("memorized", group["phase"] == "memorization"),
                    "mean_test_accuracy": group["test_accuracy"].mean(),
                    "networks": len(group),
                }
            )
    return pd.DataFrame(rows)


def success_summary(frame: pd.DataFrame, settings: SuccessSettings) -> pd.DataFrame:
    """Return the ratio at which half of the networks generalize, for each optimizer and scale, and by each law.

    ``above_eq12`` and ``below_eq12`` count the ratios at which the whole interval lies above or below Eq. 12, which
    the paper calls an upper bound.
    """
    table = _thresholds(frame, ["optimizer", "embedding_scale"])
    scales, counts = table["embedding_scale"].to_numpy(), []
    for _, group in cells.grouped(frame, ["optimizer", "embedding_scale"]):
        beyond = (group["success_low"] > group["eq12"], group["success_high"] < group["eq12"])
        counts.append([int(one.sum()) for one in beyond])
    above, below = zip(*counts, strict=True)
    outputs = first_layer_outputs(settings)
    return table.assign(
        eq12_half_ratio=collision_rate_ratio(0.5, scales),
        sign_law_half_ratio=scales,
        first_layer_half_ratio=collision_rate_ratio(
            0.5, scales, FIRST_SCALE, encoder_scale_of="repon", dimension=DIMENSION, outputs=outputs
        ),
        above_eq12=above,
        below_eq12=below,
        ratios=len(settings.ratios),
    )


def control_summary(frame: pd.DataFrame, settings: ControlSettings) -> pd.DataFrame:
    """Return the ratio at which half of the networks generalize, for each variant."""
    return _thresholds(frame, ["optimizer", "batch_size", "weight_decay"])


def _thresholds(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    rows = [
        place
        | cells.threshold_columns("half_ratio", group, "ratio")
        | {
            "networks": int(group["networks"].sum()),
            "success": float(np.average(group["success"], weights=group["networks"])),
        }
        for place, group in cells.grouped(frame, by)
    ]
    return pd.DataFrame(rows)


def _base(settings: RatioSettings, optimizer: str, rate: float) -> dict[str, object]:
    """Return settings of the experiment that the figure does not have by the same name."""
    at = {"log_every": log_every(settings.steps), "stop_at": settings.target}
    return {"optimizer": optimizer, "decoder_rate": rate, **at}


def draw_success(frame: pd.DataFrame, settings: SuccessSettings) -> Figure:
    """Draw a panel for each optimizer: shares with intervals, the three laws, and the paper's own shares."""
    columns = len(settings.optimizers)
    figure = style.new_figure(style.PAGE if columns > 1 else style.COLUMN, 3.5 if columns > 1 else 3.9)
    panels = figure.subplots(1, columns, sharey=True, squeeze=False)[0]
    shifts = _shifts(len(settings.scales))
    for axes, optimizer in zip(panels, settings.optimizers, strict=True):
        table = frame[frame["optimizer"] == optimizer]
        read = [ratio for scale in settings.scales for ratio, _ in PAPER_SHARES.get(scale, ())]
        low, high = _share_axis(axes, [*settings.ratios, *read])
        grid = np.geomspace(low, high, LAW_POINTS)
        for scale, color, shift in zip(settings.scales, SCALE_COLORS, shifts, strict=False):
            for name, chance in laws(grid, scale, first_layer_outputs(settings)).items():
                axes.plot(grid, chance, color=color, linestyle=LAW_DASHES[name], linewidth=LAW_WIDTH, zorder=1)
            _draw_shares(axes, table[table["embedding_scale"] == scale], color, "o", shift)
            _draw_paper(axes, scale, color)
        _paper_axis(axes)
        rate = settings.sgd_rate if optimizer == "sgd" else settings.adam_rate
        axes.set_title(f"{OPTIMIZER_LABELS.get(optimizer, optimizer)}, decoder rate {rate:g}")
    panels[0].set_ylabel(SUCCESS_LABEL)
    handles = _success_handles(settings)
    figure.legend(handles=handles, loc="outside lower center", ncols=3 if columns > 1 else 1, columnspacing=2.0)
    return figure


def _shifts(count: int) -> NDArray[np.float64]:
    """Return the factors that keep bars at the same ratio apart."""
    return np.asarray(RATE_RATIO_SHIFT_FACTOR ** (np.arange(count) - 0.5 * (count - 1)), dtype=np.float64)


def _share_axis(axes: Axes, ratios: list[float]) -> tuple[float, float]:
    """Give a panel the ratio of the rates and the share of networks, and return the limits of the former."""
    low, high = min(ratios) / RATE_RATIO_AXIS_FACTOR, max(ratios) * RATE_RATIO_AXIS_FACTOR
    style.log_axis(axes, "x", low, high)
    axes.set_xlabel(RATE_RATIO_LABEL)
    axes.set_ylim(-0.03, 1.03)
    return low, high


def _paper_axis(axes: Axes) -> None:
    """Write the paper's variable along the top."""
    low, high = axes.get_xlim()
    top = axes.secondary_xaxis("top", functions=(_to_paper, _from_paper))
    wanted = [one * 10.0**power for power in range(-6, 7) for one in (1.0, 3.0)]
    ticks = [one for one in wanted if _to_paper(low) <= one <= _to_paper(high)]
    top.xaxis.set_major_locator(FixedLocator(ticks))
    top.xaxis.set_minor_locator(NullLocator())
    top.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.plain_power(value)))
    top.set_xlabel(PAPER_RATIO_LABEL, fontsize=style.SMALL_TYPE, color=style.DARK_GRAY)
    top.tick_params(labelsize=style.SMALL_TYPE, colors=style.DARK_GRAY, width=0.4, length=2.0)
    top.spines["top"].set(visible=True, linewidth=0.4, color=style.DARK_GRAY)


def _to_paper(ratio: Any) -> Any:
    return np.sqrt(np.maximum(ratio, 0.0) / 2.0)


def _from_paper(x: Any) -> Any:
    return 2.0 * np.square(x)


def _draw_shares(axes: Axes, table: pd.DataFrame, color: Any, marker: str, shift: float = 1.0) -> None:
    """Draw shares with Wilson's intervals; points on the edge are not clipped."""
    rows = table.sort_values("ratio")
    x = shift * rows["ratio"].to_numpy()
    draw_bars(axes, np.stack([x, x]), interval_of(rows, "success"), color)
    mark = {**RUN_POINT_STYLE, "markerfacecolor": color, "markeredgecolor": color, "marker": marker}
    axes.plot(x, rows["success"], clip_on=False, in_layout=False, **mark)


def _draw_paper(axes: Axes, scale: float, color: Any) -> None:
    """Draw what the paper measured with this factor, if it did."""
    points = PAPER_SHARES.get(scale)
    if points is not None:
        ratios, shares = zip(*points, strict=True)
        axes.plot(ratios, shares, markeredgecolor=color, clip_on=False, in_layout=False, **PAPER_MARK)


def _success_handles(settings: SuccessSettings) -> list[Line2D]:
    """Return the legend: laws in gray, then the colors of the scales, then the paper's points."""
    lines = [
        Line2D([], [], color=style.DARK_GRAY, linestyle=LAW_DASHES[name], linewidth=LAW_WIDTH, label=LAW_NAMES[name])
        for name in LAW_DASHES
    ]
    scales = [
        Line2D([], [], color=color, marker="o", markersize=3.2, linewidth=0.7, label=f"embeddings × {scale:g}")
        for scale, color in zip(settings.scales, SCALE_COLORS, strict=False)
    ]
    if not set(settings.scales) & set(PAPER_SHARES):
        return [*lines, *scales]
    return [*lines, *scales, Line2D([], [], label="read from the paper", markeredgecolor=style.DARK_GRAY, **PAPER_MARK)]


def draw_controls(frame: pd.DataFrame, settings: ControlSettings) -> Figure:
    """Draw the share of networks that generalize (left) and the ratio at which half of them do (right)."""
    figure = style.new_figure(style.PAGE, 3.1)
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    limits = _share_axis(left, list(settings.ratios))
    left.set_ylabel(SUCCESS_LABEL)
    left.axhline(0.5, color=style.LIGHT_GRAY, linewidth=0.6, zorder=0)
    names, colors = [], []
    table = control_summary(frame, settings)
    style.log_axis(right, "x", *limits)
    for place, (variant, color, shift) in enumerate(
        zip(settings.variants, VARIANT_COLORS, _shifts(len(settings.variants)), strict=False)
    ):
        rows = _variant_rows(frame, variant)
        marker = OPTIMIZER_MARKERS.get(variant[0], "o")
        left.plot(shift * rows["ratio"], rows["success"], color=color, linewidth=0.8, zorder=1)
        _draw_shares(left, rows, color, marker, shift)
        _draw_threshold(right, place, _variant_rows(table, variant).iloc[0], (color, marker))
        names.append(_variant_name(variant))
        colors.append(color)
    right.set_ylim(len(names) - 0.5, -0.5)
    right.set_yticks(range(len(names)), names)
    for label, color in zip(right.get_yticklabels(), colors, strict=True):
        label.set_color(style.text_color(color))
    right.set_xlabel(r"ratio $\eta_{\mathrm{enc}}/\eta_{\mathrm{dec}}$ at which half of them do")
    return figure


def _variant_rows(frame: pd.DataFrame, variant: tuple[str, int | None, float]) -> pd.DataFrame:
    optimizer, batch_size, decay = variant
    chosen = (frame["optimizer"] == optimizer) & (frame["batch_size"] == (batch_size or 0))
    return frame[chosen & np.isclose(frame["weight_decay"], decay)]


def _variant_name(variant: tuple[str, int | None, float]) -> str:
    optimizer, batch_size, decay = variant
    batch = "all entries" if batch_size is None else f"batches of {batch_size}"
    return f"{OPTIMIZER_LABELS.get(optimizer, optimizer)}\n{batch}" + (f", decay {decay:g}" if decay else "")


def _draw_threshold(axes: Axes, place: int, row: pd.Series, look: tuple[str, str]) -> None:
    """Draw where half of the networks generalize; a text where all or none do, an arrow where it is off the axis."""
    (color, marker), limits, value = look, axes.get_xlim(), float(row["half_ratio"])
    if np.isnan(value):
        text = NO_THRESHOLD_TEXTS.get(float(row["success"]), "the share does not change")
        middle = float(np.sqrt(limits[0] * limits[1]))
        about: dict[str, Any] = {"fontsize": style.SMALL_TYPE, "color": style.text_color(color)}
        axes.text(middle, place, text, ha="center", va="center", **about)
        return
    ends = np.clip([row["half_ratio_low"], row["half_ratio_high"]], *limits)
    axes.plot(ends, [place, place], color=color, linewidth=1.0, zorder=2)
    beyond = (row["half_ratio_low"] < limits[0], row["half_ratio_high"] > limits[1])
    for end, hidden, arrow in zip(limits, beyond, "<>", strict=True):
        if hidden:
            axes.plot(end, place, marker=arrow, color=color, markersize=3.5, clip_on=False, in_layout=False)
    if limits[0] <= value <= limits[1]:
        axes.plot(value, place, marker=marker, color=color, markersize=4.0, zorder=4)


SUCCESS = Recipe(SuccessSettings, success_data, draw_success, success_summary)
SUCCESS_CONTROLS = Recipe(ControlSettings, control_data, draw_controls, control_summary)
