"""Table II of the paper: how many bits describe a relation, by its formulas and by exact counting."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from genlaws.core.errors import InputError
from genlaws.core.running import Running
from genlaws.figures.recipe import Recipe
from genlaws.relations.structure import families
from genlaws.relations.structure.classes import RelationClass, classify_relation
from genlaws.relations.structure.description_length import (
    description_length_count,
    description_length_exact,
    description_length_table,
)
from genlaws.relations.structure.relation import Relation
from genlaws.render import style
from genlaws.sweeps.experiment import Settings

Elements = Annotated[int, Field(ge=6, le=500)]
Classes = Annotated[int, Field(ge=2, le=6)]

NUMBER_COLUMNS = ("element_count", "class_count", "chain_length", "mean_depth")
TABLE_ROW_HEIGHT, HEADING_HEIGHT, LEGEND_HEIGHT = 0.21, 0.42, 0.62  # inches
MIN_VISIBLE_DIFFERENCE = 0.05  # bits; smaller differences vanish in the rounding of the table
# Where a column begins or, if it holds numbers, ends, as a share of the left panel; and its heading.
COLUMNS = {
    "class": (0.01, "class"),
    "example": (0.215, "example"),
    "formula": (0.425, "paper's formula"),
    "paper": (0.67, "paper,\nn = {n}"),
    "exact": (0.775, "number\nin class"),
    "difference": (0.89, "paper −\nnumber"),
    "one": (0.99, "example\nalone"),
}
PAPER_STYLE: dict[str, Any] = {"marker": "o", "markerfacecolor": "white", "color": style.VERMILLION, "markersize": 5.5}
COUNT_STYLE: dict[str, Any] = {"marker": "o", "color": style.BLUE, "markersize": 3.5}
EXAMPLE_STYLE: dict[str, Any] = {"marker": "D", "color": style.BLACK, "markersize": 2.8}

# For each class the paper's formula, as text and typeset, and the exact number of its relations.
FORMULAS = {
    "generic": ("n^2", r"$n^2$", "2^(n^2)"),
    "symmetric": ("n(n+1)/2", r"$n(n+1)/2$", "2^(n(n+1)/2)"),
    "antisymmetric": ("n(n-1)/2", r"$n(n-1)/2$", "2^n 3^(n(n-1)/2)"),
    "reflexive": ("n(n-1)", r"$n(n-1)$", "2^(n(n-1))"),
    "transitive": ("n^2/(<k>-1)!", r"$n^2/(\langle k\rangle-1)!$", "A006905(n)"),
    "equivalence": ("n log2 k", r"$n\,\log_2 k$", "S(n,k)"),
    "total order": ("n log2(n/e)", r"$n\,\log_2(n/e)$", "n!"),
    "complete bipartite": ("n", r"$n$", "2^(n-1)"),
    "incomplete bipartite": ("|S1||S2|", r"$|S_1||S_2|$", "2^(|S1||S2|)"),
    "rooted tree": ("n log2 <d>", r"$n\,\log_2\langle d\rangle$", "n^(n-1)"),
}


class TableSettings(Settings):
    """The paper's n = 30 elements."""

    element_count: Elements = 30
    class_counts: tuple[Classes, ...] = (3, 5)


class Line(NamedTuple):
    """A line of the table: a class, and a relation of it as an example where the row has one."""

    kind: RelationClass
    example: str = ""
    relation: Relation | None = None


def lines(settings: TableSettings) -> list[Line]:
    """Return the rows of Table II; those that depend on more than n with an example of the class."""
    n = settings.element_count
    uneven = n // 3
    examples = [
        ("divisibility", families.divisibility(n)),
        *((f"modulo {k}", families.modulo(n, k)) for k in settings.class_counts),
        ("less-than", families.less_than(n)),
        (f"sides {n // 2}, {n - n // 2}", families.complete_bipartite(n // 2, n - n // 2)),
        (f"sides {uneven}, {n - uneven}", families.complete_bipartite(uneven, n - uneven)),
        ("binary tree", families.binary_tree(n)),
    ]
    plain = [Line(RelationClass(name, n)) for name in ("generic", "symmetric", "antisymmetric", "reflexive")]
    known = [Line(classify_relation(relation), name, relation) for name, relation in examples]
    sides = (n // 2, n - n // 2)
    half = Line(
        RelationClass("incomplete bipartite", n, side_sizes=sides),
        f"sides {sides[0]}, {sides[1]}, random",
        families.incomplete_bipartite(*sides),
    )
    return [*plain, *known[:-1], half, known[-1]]


def table_data(settings: TableSettings, running: Running) -> pd.DataFrame:
    """Return one row per class or example, with the bits by formula, by counting the class and of the example."""
    wanted = lines(settings)
    running.start(len(wanted), "classes")
    rows = []
    for kind, example, relation in wanted:
        paper, count = description_length_table(kind), _count_bits(kind)
        formula, _, number = FORMULAS[kind.name]
        rows.append(
            {
                "class": kind.name,
                "example": example,
                **{name: getattr(kind, name) for name in NUMBER_COLUMNS},
                "paper_formula": formula,
                "paper_bits": paper,
                "exact_count": number,
                "exact_bits": count,
                "difference": paper - count,
                "example_bits": np.nan if relation is None else description_length_exact(relation),
            }
        )
        running.advance(1)
    frame = pd.DataFrame(rows)
    return frame.astype({"class_count": "Int64", "chain_length": float, "mean_depth": float})


def _count_bits(kind: RelationClass) -> float:
    """Return the bits by counting, NaN where the number of relations is not known."""
    try:
        return description_length_count(kind)
    except InputError:
        return float("nan")


def draw_table(frame: pd.DataFrame, settings: TableSettings) -> Figure:
    """Draw the table on the left and its numbers on a logarithmic axis on the right, line by line."""
    height = HEADING_HEIGHT + LEGEND_HEIGHT + TABLE_ROW_HEIGHT * len(frame)
    figure = style.new_figure(style.PAGE, height)
    figure.set_layout_engine("none")
    bottom, share = LEGEND_HEIGHT / height, TABLE_ROW_HEIGHT * len(frame) / height
    text_axes = figure.add_axes((0.005, bottom, 0.69, share))
    dots = figure.add_axes((0.715, bottom, 0.262, share))
    for axes in (text_axes, dots):
        axes.set_ylim(len(frame) - 0.5, -0.5)
        for place in range(0, len(frame), 2):
            axes.axhspan(place - 0.5, place + 0.5, color="#F3F3F3", linewidth=0, zorder=0)
    _write_table(text_axes, frame, settings.element_count)
    _draw_dots(dots, frame)
    handles = [
        Line2D([], [], linestyle="none", label="paper's formula", **PAPER_STYLE),
        Line2D([], [], linestyle="none", label="number of relations in the class", **COUNT_STYLE),
        Line2D([], [], linestyle="none", label=r"example alone, $\log_2(n!/|\mathrm{Aut}|)$", **EXAMPLE_STYLE),
    ]
    figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 0.0), ncols=3, handletextpad=0.3)
    return figure


def _write_table(axes: Axes, frame: pd.DataFrame, element_count: int) -> None:
    axes.set_xlim(0.0, 1.0)
    axes.axis("off")
    for name, (_, text) in COLUMNS.items():
        _write_cell(axes, name, -1.1, text.format(n=element_count), style.DARK_GRAY)
    above = ""
    for number, row in enumerate(frame.to_dict("records")):
        _write_cell(axes, "class", number, row["class"] if row["class"] != above else "")
        _write_cell(axes, "example", number, row["example"])
        _write_cell(axes, "formula", number, FORMULAS[row["class"]][1])
        _write_cell(axes, "paper", number, _format_bits(row["paper_bits"]))
        _write_cell(axes, "exact", number, _format_bits(row["exact_bits"], "unknown"))
        wrong = abs(row["difference"]) >= MIN_VISIBLE_DIFFERENCE
        _write_cell(axes, "difference", number, _signed(row["difference"]), style.VERMILLION if wrong else style.GRAY)
        _write_cell(axes, "one", number, _format_bits(row["example_bits"]))
        above = row["class"]


def _write_cell(axes: Axes, column: str, line: float, text: str, color: str = style.BLACK) -> None:
    side = "left" if column in {"class", "example", "formula"} else "right"
    axes.text(
        COLUMNS[column][0], line, text, ha=side, va="center", fontsize=style.SMALL_TYPE, color=style.text_color(color)
    )


def _format_bits(value: float, otherwise: str = "") -> str:
    return f"{value:.1f}" if np.isfinite(value) else otherwise


def _signed(value: float) -> str:
    if not np.isfinite(value):
        return ""
    return "0" if abs(value) < MIN_VISIBLE_DIFFERENCE else f"{value:+.1f}".replace("-", "−")


def _draw_dots(axes: Axes, frame: pd.DataFrame) -> None:
    numbers = np.arange(len(frame))
    paper, count, example = (frame[name].to_numpy() for name in ("paper_bits", "exact_bits", "example_bits"))
    both = np.stack([paper, np.where(np.isfinite(count), count, paper)])
    axes.plot(both, np.stack([numbers, numbers]), color=style.LIGHT_GRAY, linewidth=1.0, zorder=1)
    for values, marker in ((paper, PAPER_STYLE), (count, COUNT_STYLE), (example, EXAMPLE_STYLE)):
        axes.plot(values, numbers, linestyle="none", zorder=3, clip_on=False, **marker)
    everything = np.concatenate([paper, count[np.isfinite(count)], example[np.isfinite(example)]])
    positive = everything[everything > 0]
    style.log_axis(axes, "x", 0.8 * float(positive.min()), 1.25 * float(positive.max()))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("description length $b$ (bits)")


TABLE = Recipe(settings=TableSettings, data=table_data, draw=draw_table)
