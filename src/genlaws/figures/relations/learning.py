"""Learning curves of relation networks: compared with the exact bound, at several sizes, and with wrong labels."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator
from numpy.typing import ArrayLike
from pydantic import Field

from genlaws.core.estimate import Estimate, interval_columns
from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import Recipe
from genlaws.figures.relations import cells
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.bound_curve import induction_gap
from genlaws.relations.inference.hypotheses import hypotheses_of
from genlaws.relations.structure.description_length import description_length_exact
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.training_set import draw_order, training_set_of
from genlaws.render import style

# Mode, hidden layers, units, dimension of the embeddings.
Architecture = tuple[str, Annotated[int, Field(ge=0, le=100)], Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
Shares = Annotated[tuple[cells.Fraction, ...], Field(min_length=2, max_length=60)]
BOUND_MODE = "bound"
NORMAL_QUANTILE = 1.959963984540054  # standard deviations from the mean to the ends of a normal 95 % interval
ARCHITECTURE = ["mode", "depth", "width", "dimension"]
MODE_COLORS = {
    "concatenate": style.BLUE,
    "difference": style.VERMILLION,
    "squared_difference": style.GREEN,
    BOUND_MODE: style.BAYES_COLOR,
}
MODE_NAMES = {"concatenate": "both", "difference": "difference", "squared_difference": "squared difference"}
# By rank of the number of hidden layers, so that the fewest look the same in every panel.
LINE_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
LINE_STYLES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
NETWORK_POINT_STYLE: dict[str, Any] = {"markersize": 3.0, "markeredgewidth": 0.7, "markerfacecolor": "white"}
INTERVAL_LINE_WIDTH = 0.7  # width of an interval's line
TRAIN_FRACTION_LABEL = "training fraction $p$"
LEARNING_AXIS_FACTOR = 1.15  # factor by which an axis of shares exceeds its points
SIZE_SHIFT_FACTOR = 1.02  # factor between the first and the middle of the points of one number of entries
GUIDE_LABELS = {"majority": "majority\nanswer", BOUND_MODE: "exact\nbound", "bits": "$b/n^2$"}
MAX_TICKED_PANELS = 2  # relations side by side with room for all ticks and labels
MIN_RANGE = 0.05  # of the axis of shifts, if all are nearly zero
NOT_REACHED_FACTOR = 1.25  # position of a target not reached, in units of the largest finite shift
NOT_REACHED_TEXT = "not reached"


class LearningSettings(cells.NetworkFigureSettings):
    """Networks trained with one rate for both parts."""

    learning_rate: cells.Rate = 1e-2
    target: cells.Fraction = 0.9
    repeats: cells.Repeats = 5
    steps: cells.Steps = 2000


class LearningCurveSettings(LearningSettings):
    """Architectures against train fractions; the defaults are a reduced size for a CPU."""

    relations: Annotated[tuple[str, ...], Field(min_length=1, max_length=3)] = ("mod3", "less-than")
    architectures: Annotated[tuple[Architecture, ...], Field(min_length=1, max_length=8)] = (
        ("concatenate", 3, 50, 2),
        ("concatenate", 1, 50, 2),
        ("difference", 2, 50, 2),
        ("difference", 0, 1, 2),
        ("squared_difference", 2, 50, 2),
        ("squared_difference", 0, 1, 2),
    )
    train_fractions: Shares = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
    bound_repeats: Annotated[int, Field(ge=2, le=1000)] = 20


class RelationSizeSettings(LearningSettings):
    """Relations of several sizes, with the same numbers of training entries per element."""

    relation: str = "mod3"
    sizes: Annotated[tuple[Annotated[int, Field(ge=4, le=1000)], ...], Field(min_length=2, max_length=6)] = (30, 60)
    entries_per_element: Annotated[tuple[cells.Rate, ...], Field(min_length=2, max_length=40)] = (
        2.0,
        4.0,
        6.0,
        8.0,
        12.0,
    )
    width: cells.Width = 20


class NoiseSettings(LearningSettings):
    """A share of the training labels flipped."""

    relation: str = "mod3"
    noises: Annotated[tuple[Annotated[float, Field(ge=0, le=0.5)], ...], Field(min_length=1, max_length=8)] = (
        *(0.0, 0.05, 0.1, 0.2),
    )
    train_fractions: Shares = (0.1, 0.2, 0.3, 0.5, 0.75)
    width: cells.Width = 20


def curve_data(settings: LearningCurveSettings, running: Running) -> pd.DataFrame:
    """Return one row for each network and for each training set of the bound: its accuracy on the whole table."""
    tables = []
    for mode, depth, width, dimension in settings.architectures:
        base = _base(settings) | {"mode": mode, "depth": depth, "width": width, "dimension": dimension}
        axes = {"relation": settings.relations, "train_fraction": settings.train_fractions}
        table = cells.networks(settings, base, axes, running)
        tables.append(table[["relation", *ARCHITECTURE, "train_fraction", "table_accuracy", "test_accuracy"]])
    for name in settings.relations:
        tables.append(_bound_rows(name, settings))
    found = pd.concat(tables, ignore_index=True)
    return found.assign(run=found.groupby(["relation", *ARCHITECTURE, "train_fraction"], sort=False).cumcount())


def _bound_rows(name: str, settings: LearningCurveSettings) -> pd.DataFrame:
    """Return the best accuracy along growing random training sets."""
    relation = named_relation(name)
    rows = []
    for repeat in range(settings.bound_repeats):
        generator = np.random.default_rng([settings.seed, repeat])
        order = draw_order(relation.element_count, generator)
        for share in settings.train_fractions:
            seen = training_set_of(relation, order[: round(share * relation.pair_count)])
            law = posterior(seen, hypotheses_of(relation), truth=relation, seed=generator)
            numbers = {"table_accuracy": law.accuracy, "test_accuracy": law.unseen_accuracy}
            rows.append({"relation": name, "mode": BOUND_MODE, "train_fraction": share, **numbers})
    return pd.DataFrame(rows).assign(depth=0, width=0, dimension=0)


def curve_summary(frame: pd.DataFrame, settings: LearningCurveSettings) -> pd.DataFrame:
    """Return the induction gap of each architecture: area, and how many more entries it needs for the target."""
    rows = []
    for place, all_of_it in cells.grouped(frame, ["relation"]):
        best = _matrix(all_of_it[all_of_it["mode"] == BOUND_MODE])
        learners = all_of_it[all_of_it["mode"] != BOUND_MODE]
        for architecture, group in cells.grouped(learners, ARCHITECTURE):
            gap = induction_gap(
                sorted(set(group["train_fraction"])),
                accuracies=_matrix(group),
                bound=best,
                target_accuracy=settings.target,
                seed=settings.seed,
            )
            row: dict[str, Any] = {**place, **architecture}
            for part in ("area", "network_fraction", "bound_fraction", "shift", "ratio"):
                row |= interval_columns(part, getattr(gap, part))
            rows.append(row | {"target_accuracy": gap.target_accuracy, "networks": gap.network_count})
    return pd.DataFrame(rows)


def _matrix(table: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return accuracies with a row for each run and a column for each train fraction."""
    return table.pivot_table(index="run", columns="train_fraction", values="table_accuracy").to_numpy()


def size_data(settings: RelationSizeSettings, running: Running) -> pd.DataFrame:
    """Return accuracies and the share of networks that generalize by size and entries per element."""
    rows = []
    for size in settings.sizes:
        shares = {one / size: one for one in settings.entries_per_element if one < 0.95 * size}
        axes = {"elements": (size,), "train_fraction": tuple(shares)}
        rows += [
            place
            | {"entries_per_element": shares[place["train_fraction"]]}
            | cells.mean_accuracy_columns("table_accuracy", group["table_accuracy"])
            | cells.mean_accuracy_columns("test_accuracy", group["test_accuracy"])
            | cells.share_columns("success", group["test_accuracy"] > settings.target)
            | {"networks": len(group)}
            for place, group in cells.grouped(cells.networks(settings, _base(settings), axes, running), list(axes))
        ]
    return pd.DataFrame(rows)


def size_summary(frame: pd.DataFrame, settings: RelationSizeSettings) -> pd.DataFrame:
    """Return the critical number of entries, at which half of the networks generalize, for each size.

    Other columns are the bits that describe the relation per entry of its table, and the exponent of the critical
    share in the number of elements; -1 means as many entries per element at every size.
    """
    rows = []
    for place, group in cells.grouped(frame, ["elements"]):
        entries = cells.threshold_columns("critical_entries_per_element", group, "entries_per_element")
        shares = cells.threshold_columns("critical_fraction", group, "train_fraction")
        relation = named_relation(settings.relation, int(place["elements"]))
        bits = description_length_exact(relation)
        about = {"description_length": bits, "bits_per_entry": bits / relation.pair_count}
        rows.append(place | entries | shares | about | {"networks": int(group["networks"].sum())})
    table = pd.DataFrame(rows)
    return table.assign(**interval_columns("exponent", size_exponent(table)))


def size_exponent(table: pd.DataFrame) -> Estimate:
    """Return the exponent of the critical share in the number of elements, by weighted least squares of logarithms.

    The weight of a size comes from the width of its interval, normal in the logarithm. Sizes without a finite interval
    are left out; fewer than two give no exponent.
    """
    low, high = (np.log(table[f"critical_fraction{end}"].to_numpy()) for end in ("_low", "_high"))
    error = (high - low) / (2.0 * NORMAL_QUANTILE)
    known = np.isfinite(error) & (error > 0)
    if known.sum() < 2:
        return Estimate(math.nan, count=int(known.sum()))
    x, y = np.log(table["elements"].to_numpy()[known]), np.log(table["critical_fraction"].to_numpy()[known])
    weight = error[known] ** -2.0
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    spread = float((weight * x**2).sum())
    slope, half = float((weight * x * y).sum()) / spread, NORMAL_QUANTILE * spread**-0.5
    return Estimate(slope, slope - half, slope + half, int(known.sum()))


def noise_data(settings: NoiseSettings, running: Running) -> pd.DataFrame:
    """Return accuracies by noise and train fraction; on training entries they count the relation, not the noise."""
    axes = {"label_noise": settings.noises, "train_fraction": settings.train_fractions}
    rows = [
        place
        | cells.mean_accuracy_columns("train_accuracy", group["train_accuracy"])
        | cells.mean_accuracy_columns("test_accuracy", group["test_accuracy"])
        | cells.share_columns("success", group["test_accuracy"] > settings.target)
        | {"majority_accuracy": group["majority_accuracy"].iloc[0], "networks": len(group)}
        for place, group in cells.grouped(cells.networks(settings, _base(settings), axes, running), list(axes))
    ]
    return pd.DataFrame(rows)


def _base(settings: LearningSettings) -> dict[str, Any]:
    """Return one rate for both parts, and measurements only at the start and the end."""
    rate = settings.learning_rate
    return {"encoder_rate": rate, "decoder_rate": rate, "log_every": settings.steps}


class _Styles:
    """How each architecture is named and drawn."""

    def __init__(self, architectures: list[tuple[str, int, int, int]]) -> None:
        self.every = architectures
        self.ranks = sorted({one[1:] for one in architectures})
        hidden = [one for one in architectures if one[1]]
        self.widths = len({one[2] for one in hidden}) > 1
        self.dimensions = len({one[3] for one in architectures}) > 1

    def name(self, mode: str, depth: int, width: int, dimension: int) -> str:
        """Return a name such as: both, 3 layers."""
        layers = {0: "linear", 1: "1 layer"}.get(depth, f"{depth} layers")
        about = f" of {width}" if self.widths and depth else ""
        return f"{MODE_NAMES[mode]}, {layers}{about}" + (f", $d={dimension}$" if self.dimensions else "")

    def style(self, mode: str, depth: int, width: int, dimension: int) -> dict[str, Any]:
        """Return color by mode, marker and line by shape."""
        rank = self.ranks.index((depth, width, dimension))
        looks = {"color": MODE_COLORS[mode], "marker": LINE_MARKERS[rank % len(LINE_MARKERS)]}
        return {**NETWORK_POINT_STYLE, **looks, "linestyle": LINE_STYLES[rank % len(LINE_STYLES)]}


def draw_curves(frame: pd.DataFrame, settings: LearningCurveSettings) -> Figure:
    """Draw for each relation the learning curves (top), and how many more entries each architecture needs (bottom)."""
    summary = curve_summary(frame, settings)
    looks = _Styles([tuple(one) for one in summary[ARCHITECTURE].drop_duplicates().to_numpy().tolist()])
    names = list(dict.fromkeys(frame["relation"]))
    figure = style.new_figure(style.PAGE if len(names) > 1 else style.COLUMN, 3.55 + 0.16 * len(looks.every))
    ratios = [2.6, 0.35 + 0.16 * len(looks.every)]
    panels = figure.subplots(2, len(names), squeeze=False, height_ratios=ratios)
    for place, name in enumerate(names):
        _curve_panel(panels[0, place], frame[frame["relation"] == name], name, looks)
        _gap_panel(panels[1, place], summary[summary["relation"] == name], looks, _span(summary), named=place == 0)
    needed = f"share of entries needed beyond the bound's for accuracy {settings.target:g}"
    figure.supxlabel(needed, fontsize=panels[0, 0].xaxis.label.get_fontsize())
    panels[0, 0].set_ylabel("accuracy on the whole table")
    labels = dict(GUIDE_LABELS)
    if len(names) > MAX_TICKED_PANELS:
        gray = Line2D([], [], color=style.GRAY, linewidth=0.8, label=labels.pop("majority").replace("\n", " "))
        figure.legend(handles=[gray], loc="outside upper left")
        for axes in panels[0]:
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    for axes in panels[0]:
        lines = {line.get_gid(): line for line in axes.get_lines()}
        direct_labels(axes, [lines[gid] for gid in labels], list(labels.values()))
    return figure


def _span(summary: pd.DataFrame) -> tuple[float, float]:
    """Return the least finite shift or zero, and where shifts are drawn that are infinite."""
    ends = summary[["shift", "shift_low", "shift_high"]].to_numpy()
    finite = ends[np.isfinite(ends)]
    return min(0.0, float(finite.min(initial=0.0))), NOT_REACHED_FACTOR * max(float(finite.max(initial=0.0)), MIN_RANGE)


def _curve_panel(axes: Axes, table: pd.DataFrame, name: str, looks: _Styles) -> None:
    """Draw the networks, the bound above them, the majority answer, and the bits per entry."""
    lowest = 1.0
    for place, group in cells.grouped(table, ARCHITECTURE):
        rows = pd.DataFrame(
            [
                share | cells.mean_accuracy_columns("accuracy", runs["table_accuracy"])
                for share, runs in cells.grouped(group.sort_values("train_fraction"), ["train_fraction"])
            ]
        )
        shares = rows["train_fraction"].to_numpy()
        low, high = rows["accuracy_low"], rows["accuracy_high"]
        lowest = min(lowest, float(low.min()))
        if place["mode"] == BOUND_MODE:
            axes.fill_between(shares, low, high, color=MODE_COLORS[BOUND_MODE], alpha=0.2, linewidth=0, zorder=5)
            axes.plot(shares, rows["accuracy"], color=MODE_COLORS[BOUND_MODE], linewidth=1.6, zorder=6, gid=BOUND_MODE)
            continue
        about = looks.style(*place.values())
        _draw_bars(axes, shares, low, high, about["color"])
        axes.plot(shares, rows["accuracy"], linewidth=0.8, zorder=4, **about)
    relation = named_relation(name)
    axes.axhline(relation.majority_accuracy, color=style.GRAY, linewidth=0.8, zorder=0, gid="majority")
    bits = description_length_exact(relation)
    share = bits / relation.pair_count
    axes.axvline(share, color=style.DARK_GRAY, linewidth=0.7, linestyle=":", zorder=0, gid="bits")
    first, last = table["train_fraction"].min(), table["train_fraction"].max()
    style.log_axis(axes, "x", min(first, share) / LEARNING_AXIS_FACTOR, last * LEARNING_AXIS_FACTOR)
    axes.set_ylim(min(lowest, relation.majority_accuracy) - 0.03, 1.02)
    axes.set_title(f"{relation.label}\n$n={relation.element_count}$, $b={bits:.1f}$ bits")
    axes.set_xlabel(TRAIN_FRACTION_LABEL)


def _draw_bars(axes: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, color: Any) -> None:
    """Draw intervals as lines, which labels avoid."""
    axes.plot(np.stack([x, x]), np.stack([low, high]), color=color, linewidth=INTERVAL_LINE_WIDTH, zorder=3)


def _gap_panel(axes: Axes, table: pd.DataFrame, looks: _Styles, span: tuple[float, float], *, named: bool) -> None:
    """Draw one row for each architecture: entries it needs beyond the bound's, with the interval."""
    left, edge = span
    for place, group in cells.grouped(table, ARCHITECTURE):
        row = looks.every.index(tuple(place.values()))
        _gap_row(axes, row, group.iloc[0], looks.style(*place.values()), edge)
    axes.axvline(0.0, color=MODE_COLORS[BOUND_MODE], linewidth=1.2, zorder=1)
    axes.set_xlim(left - 0.04 * edge, 1.04 * edge)
    axes.set_ylim(len(looks.every) - 0.4, -0.6)
    axes.set_yticks(range(len(looks.every)), [looks.name(*one) if named else "" for one in looks.every])
    axes.tick_params(axis="y", length=0, labelsize=style.SMALL_TYPE)
    for label, one in zip(axes.get_yticklabels(), looks.every, strict=True):
        label.set(color=style.text_color(MODE_COLORS[one[0]]))
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def _gap_row(axes: Axes, row: int, one: pd.Series, about: dict[str, Any], edge: float) -> None:
    """Draw a shift and its interval; an arrow to the edge is one that was not reached."""
    color = about["color"]
    note: dict[str, Any] = {"fontsize": style.SMALL_TYPE, "va": "center", "color": style.DARK_GRAY}
    if math.isnan(one["shift"]):
        axes.text(0.02 * edge, row, "bound not reached", **note)
        return
    low, high = float(one["shift_low"]), float(one["shift_high"])
    if math.isfinite(low):
        axes.hlines(row, low, min(high, edge), color=color, linewidth=INTERVAL_LINE_WIDTH)
    if math.isinf(high):
        axes.plot(edge, row, color=color, marker=">", markersize=3.5, clip_on=False)
    if math.isinf(one["shift"]):
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        axes.text(0.96 * edge, row, NOT_REACHED_TEXT, ha="right", bbox=behind, **note)
        return
    axes.plot(one["shift"], row, **{**about, "linestyle": "none"})


def draw_sizes(frame: pd.DataFrame, settings: RelationSizeSettings) -> Figure:
    """Draw the share that generalizes against entries per element (left), the critical share by size (right)."""
    summary = size_summary(frame, settings)
    sizes = [int(one) for one in dict.fromkeys(frame["elements"])]
    colors = dict(zip(sizes, style.shades(style.SKY_BLUE, len(sizes)), strict=True))
    shifts = np.geomspace(1.0 / SIZE_SHIFT_FACTOR, SIZE_SHIFT_FACTOR, len(sizes)).tolist()
    figure = style.new_figure(style.PAGE, 2.7)
    left, right = figure.subplots(1, 2)
    for place, size in enumerate(sizes):
        table = frame[frame["elements"] == size].sort_values("entries_per_element")
        x, looks = table["entries_per_element"] * shifts[place], {"color": colors[size], "marker": LINE_MARKERS[place]}
        _draw_bars(left, x, table["success_low"], table["success_high"], colors[size])
        left.plot(x, table["success"], label=f"$n={size}$", linewidth=0.8, **NETWORK_POINT_STYLE, **looks)
    entries = frame["entries_per_element"]
    style.log_axis(left, "x", entries.min() / LEARNING_AXIS_FACTOR, entries.max() * LEARNING_AXIS_FACTOR)
    left.axhline(0.5, color=style.GRAY, linewidth=0.6, zorder=0)
    left.set_ylim(-0.03, 1.03)
    left.legend(loc="upper left")
    left.set_xlabel("training entries per element $pn$")
    left.set_ylabel(f"share of networks with\naccuracy over {settings.target:g} on the others")
    left.set_title(f"{named_relation(settings.relation, sizes[0]).label}, {_layers(settings.depth, settings.width)}")
    _critical_panel(right, summary, colors)
    return figure


def _layers(depth: int, width: int) -> str:
    return "linear" if not depth else f"{depth} layer{'s' if depth > 1 else ''} of {width}"


def _critical_panel(axes: Axes, table: pd.DataFrame, colors: dict[int, Any]) -> None:
    """Draw the critical share of each size, the nearest line of slope -1, and the bits per entry."""
    sizes = table["elements"].to_numpy(dtype=float)
    values, low, high = (table[f"critical_fraction{end}"].to_numpy() for end in ("", "_low", "_high"))
    span = np.array([sizes.min() / LEARNING_AXIS_FACTOR, sizes.max() * LEARNING_AXIS_FACTOR])
    bits = axes.plot(sizes, table["bits_per_entry"], color=style.BLACK, linewidth=1.0)
    lines, labels = [*bits], ["description length $b/n^2$"]
    known = np.isfinite(values)
    if known.any():
        constant = float(np.exp(np.log(values * sizes)[known].mean()))
        lines += axes.plot(span, constant / span, color=style.GRAY, linewidth=1.0, linestyle=(0, (4, 1.5)))
        labels.append(rf"slope $-1$: ${constant:.1f}/n$")
    for place, size in enumerate(sizes.astype(int).tolist()):
        _draw_bars(axes, [size], low[[place]], high[[place]], colors[size])
        axes.plot(
            size, values[place], color=colors[size], marker=LINE_MARKERS[place], linestyle="none", **NETWORK_POINT_STYLE
        )
    shown = np.concatenate([table["bits_per_entry"], low[known], high[known]])
    style.log_axis(axes, "x", *span.tolist())
    style.log_axis(axes, "y", shown.min() / 1.5, shown.max() * 1.5)
    axes.xaxis.set_major_locator(FixedLocator(sizes.tolist()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("elements $n$")
    axes.set_ylabel("critical share of entries $p_c$")
    axes.set_title(_format_exponent(table))
    direct_labels(axes, lines, labels)


def _format_exponent(table: pd.DataFrame) -> str:
    value, low, high = (float(table[f"exponent{end}"].iloc[0]) for end in ("", "_low", "_high"))
    if math.isnan(value):
        return "half of the networks generalize"
    return rf"measured slope ${value:.2f}$ [${low:.2f}$, ${high:.2f}$]"


def draw_noise(frame: pd.DataFrame, settings: NoiseSettings) -> Figure:
    """Draw accuracy on test entries (left) and on training entries (right), by the share of wrong labels."""
    figure = style.new_figure(style.PAGE, 2.9)
    left, right = figure.subplots(1, 2, sharex=True)
    noises = sorted(set(frame["label_noise"]))
    handles = []
    for place, (noise, color) in enumerate(zip(noises, style.ordered_colors(len(noises)), strict=True)):
        table = frame[frame["label_noise"] == noise].sort_values("train_fraction")
        looks: dict[str, Any] = {**NETWORK_POINT_STYLE, "color": color, "marker": LINE_MARKERS[place], "linewidth": 0.8}
        for axes, name in ((left, "test_accuracy"), (right, "train_accuracy")):
            _draw_bars(axes, table["train_fraction"], table[f"{name}_low"], table[f"{name}_high"], color)
            axes.plot(table["train_fraction"], table[name], **looks)
        right.axhline(1.0 - noise, color=color, linewidth=0.8, linestyle=(0, (4, 2)), zorder=0)
        handles.append(Line2D([], [], label=f"{100 * noise:g} %", **looks))
    _finish_noise(left, right, frame)
    about = named_relation(settings.relation).label, _layers(settings.depth, settings.width)
    left.set_title(f"test entries; {', '.join(about)}")
    right.set_title("training entries; dashed: every label fitted")
    title = Line2D([], [], linestyle="none", label="training labels flipped:")
    style.legend_below(figure, [title, *handles])
    return figure


def _finish_noise(left: Axes, right: Axes, frame: pd.DataFrame) -> None:
    """Give both panels the same axes and the majority answer."""
    majority = float(frame["majority_accuracy"].iloc[0])
    lowest = frame[["test_accuracy_low", "train_accuracy_low"]].min().min()
    for axes in (left, right):
        line = axes.axhline(majority, color=style.GRAY, linewidth=0.8, zorder=0)
        axes.set_ylim(min(float(lowest), majority, 1.0 - frame["label_noise"].max()) - 0.03, 1.02)
        axes.set_xlim(0.0, min(1.0, 1.08 * frame["train_fraction"].max()))
        axes.set_xlabel(TRAIN_FRACTION_LABEL)
        axes.set_ylabel("accuracy against the relation")
        axes.yaxis.set_major_locator(MaxNLocator(6))
        if axes is left:
            direct_labels(axes, [line], ["majority answer"])


LEARNING_CURVES = Recipe(LearningCurveSettings, curve_data, draw_curves, curve_summary)
RELATION_SIZES = Recipe(RelationSizeSettings, size_data, draw_sizes, size_summary)
NOISE = Recipe(NoiseSettings, noise_data, draw_noise)
