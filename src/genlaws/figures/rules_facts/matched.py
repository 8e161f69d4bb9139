"""Figure 14: quadratic kernels on labeled data, and two kernels that the theory cannot distinguish."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import Ratio, Recipe
from genlaws.figures.rules_facts import redraws
from genlaws.figures.rules_facts.tables import ERROR_COLUMNS, Angle
from genlaws.render import style
from genlaws.rules_facts import Kernel
from genlaws.sweeps import Axis
from genlaws.sweeps.computing import compute_cells

MATCHED_FIGURE_HEIGHT = 3.1
PAIR_STYLES = {"gaussian": ("Gaussian", style.PURPLE), "matched": ("quadratic", style.GREEN)}
DIFFERENCES = {"generalization_error": "generalization_difference", "memorization_error": "memorization_difference"}
DIFFERENCE_COLORS = {"generalization_error": style.BLUE, "memorization_error": style.VERMILLION}


class MatchedSettings(redraws.RedrawSettings):
    """Angles of the quadratic kernels, and the bandwidth of the Gaussian one of the pair: near the theory's best."""

    angles: tuple[Angle, ...] = Field(default=(0.2, 0.45, 0.7, 1.0, 1.3), min_length=1, max_length=8)
    parameter: Ratio = 1.6


def matched_data(settings: MatchedSettings, running: Running) -> pd.DataFrame:
    """Return errors along the regularization: of quadratic kernels, of the pair, and the pair's paired difference.

    All inputs are scaled to squared length d, and every kernel trains on the same redraws. The difference is that of
    the Gaussian kernel less the quadratic one, redraw by redraw.
    """
    quadratic = redraws.Redraws.of(_compute_redraws(settings, running, "quadratic", settings.angles, (False,)))
    cells = _compute_redraws(settings, running, "gaussian", (settings.parameter,), (False, True))
    pair = {
        name: redraws.Redraws.of([cell for cell in cells if cell.settings.matched == matched])
        for name, matched in (("gaussian", False), ("matched", True))
    }
    angle = float(Kernel.from_name(f"gaussian:{settings.parameter!r}").kernel_angle)
    tables = [
        *(quadratic.path_table(k, series="quadratic", kernel_angle=one) for k, one in enumerate(settings.angles)),
        *(runs.path_table(0, series=name, kernel_angle=angle) for name, runs in pair.items()),
        paired_difference(pair["gaussian"], pair["matched"]).assign(series="difference", kernel_angle=angle),
    ]
    sizes = redraws.task_columns(settings, quadratic.sample_count)
    return pd.concat(tables, ignore_index=True).assign(loss=settings.loss, **sizes)


def _compute_redraws(
    settings: MatchedSettings,
    running: Running,
    family: str,
    parameters: tuple[float, ...],
    matched: tuple[bool, ...],
) -> list[Any]:
    """Compute kernels of one family; fields that differ between families are axes, so that one folder holds both."""
    axes = [Axis("family", (family,)), Axis("parameters", (parameters,)), Axis("matched", matched)]
    label = "redraws, quadratic kernels" if family == "quadratic" else "redraws, matched kernels"
    return compute_cells(redraws.redraw_sweep(settings, *axes, normalize=True), running, label)


def paired_difference(first: redraws.Redraws, second: redraws.Redraws) -> pd.DataFrame:
    """Return the mean difference of two kernels along the regularization, each redraw compared with itself."""
    columns = {"regularization": first.regularization}
    for error, name in DIFFERENCES.items():
        columns |= redraws.mean_path_columns(name, getattr(first, error)[:, 0] - getattr(second, error)[:, 0])
    return pd.DataFrame({**columns, "converged": first.converged[0] & second.converged[0]})


def matched_summary(frame: pd.DataFrame, settings: MatchedSettings) -> pd.DataFrame:
    """Return the difference without regularization, where the Gaussian kernel is best, and where it is largest.

    ``share_apart`` is the share of all regularizations whose own interval leaves out zero.
    """
    table = frame[frame["series"] == "difference"].reset_index(drop=True)
    gaussian = frame.loc[frame["series"] == "gaussian", "generalization_error"].to_numpy()
    rows = []
    for name in DIFFERENCES.values():
        value, low, high = (table[f"{name}{end}"] for end in ("", "_low", "_high"))
        places = {
            "no regularization": 0,
            "best of the Gaussian kernel": int(gaussian.argmin()),
            "largest difference": int(value.abs().argmax()),
        }
        apart = float(((low > 0.0) | (high < 0.0)).mean())
        for place, at in places.items():
            numbers = {"value": value[at], "low": low[at], "high": high[at], "share_apart": apart}
            rows.append({"quantity": name, "at": place, "regularization": table["regularization"][at], **numbers})
    return pd.DataFrame(rows).assign(**table[["redraws", "sample_count", "test_count"]].iloc[0])


def draw_matched(frame: pd.DataFrame, settings: MatchedSettings) -> Figure:
    """Draw quadratic kernels, the pair, and the difference of the pair."""
    figure = style.new_figure(style.PAGE, MATCHED_FIGURE_HEIGHT)
    left, middle, right = figure.subplots(1, 3)
    rows = frame[frame["series"] == "quadratic"]
    lines = [
        redraws.draw_measured_path(left, rows[rows["kernel_angle"] == angle], style.angle_color(angle))
        for angle in settings.angles
    ]
    left.set_title(f"quadratic kernels,\n{redraws.data_title(settings)}")
    redraws.error_axes(left, rows)
    pair = frame[frame["series"].isin(PAIR_STYLES)]
    both = [
        redraws.draw_measured_path(middle, pair[pair["series"] == name], color)
        for name, (_, color) in PAIR_STYLES.items()
    ]
    middle.set_title(
        f"Gaussian kernel, $\\gamma={settings.parameter:g}$,\nand quadratic with its $\\mu_1$, $\\mu_\\star$"
    )
    redraws.error_axes(middle, pair)
    middle.set_ylabel("")
    changes = _draw_difference(right, frame[frame["series"] == "difference"])
    ends = (settings.smallest_regularization, settings.largest_regularization)
    style.legend_below(figure, style.path_end_handles(ends))
    figure.legends[0].set_title("\n".join((_format_difference(frame), redraws.redraw_note(frame))))
    redraws.label_paths(left, lines, [rf"$\theta={angle:g}$" for angle in settings.angles])
    redraws.label_paths(middle, both, [name for name, _ in PAIR_STYLES.values()])
    direct_labels(right, changes, ["generalization", "memorization"])
    return figure


def _format_difference(frame: pd.DataFrame) -> str:
    """Return the sentence on the difference at the two ends of the measured paths."""
    table = frame[frame["series"] == "difference"]
    name = DIFFERENCES["generalization_error"]
    lam = [style.plain_power(table["regularization"].iloc[at]).strip("$") for at in (0, -1)]
    ends = [rf"{redraws.format_redraw_estimate(table.iloc[at], name)} at $\lambda={lam[at]}$" for at in (0, -1)]
    return f"generalization error, Gaussian less quadratic: {ends[0]}, {ends[1]}"


def _draw_difference(axes: Axes, table: pd.DataFrame) -> list[Line2D]:
    """Draw both differences along the regularization; the theory predicts zero."""
    lam = table["regularization"].to_numpy()
    lines = []
    for error in ERROR_COLUMNS:
        name, color = DIFFERENCES[error], DIFFERENCE_COLORS[error]
        axes.fill_between(
            lam, table[f"{name}_low"], table[f"{name}_high"], color=color, alpha=style.BAND_ALPHA, linewidth=0
        )
        lines += axes.plot(lam, table[name], color=color)
    axes.axhline(0.0, color=style.GRAY, linewidth=0.6, zorder=0)
    style.log_axis(axes, "x", lam[0], lam[-1])
    axes.set_xlabel(r"regularization $\lambda$")
    axes.set_ylabel("error, Gaussian less quadratic")
    axes.set_title("paired difference\n(theory: none)")
    return lines


MATCHED = Recipe(MatchedSettings, matched_data, draw_matched, matched_summary)
