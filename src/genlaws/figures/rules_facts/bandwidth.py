"""Figures 5 and 15: errors by bandwidth of the Gaussian kernel, in the theory and on labeled data."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field, model_validator

from genlaws.core.arguments import Array
from genlaws.core.running import Running
from genlaws.figures.recipe import Points, Ratio, Recipe
from genlaws.figures.rules_facts import redraws, tables
from genlaws.render import style
from genlaws.rules_facts import Kernel, optimal_angle, parameter_for_angle
from genlaws.rules_facts.finite_size import Preference, preferred_parameters
from genlaws.rules_facts.kernels.families import FAMILIES
from genlaws.sweeps.computing import compute_cells
from genlaws.sweeps.experiments.rules_facts import Loss

# At the optimal regularization the best angle of the hinge loss may be that of the linear model, π/2, which no
# bandwidth reaches; the search ends just below it.
MAX_ANGLE = np.pi / 2 - 1e-3
FIELDS = ("value", "low", "high")
BANDWIDTH_FIGURE_HEIGHT = 4.95
PARAMETER_LABEL = r"bandwidth parameter $\gamma$"
EXCESS_LABEL = "generalization error,\nless the lowest"
PLAIN_WIDTH, HIGHLIGHT_WIDTH = 1.0, 2.4  # widths of a path and of the best one
THEORY_COLOR = style.BLACK
# Preferred parameters are drawn below the curves and the legend above, at these shares of the height of the curves.
MARK_LEVELS = {"measured": -0.1, "theory": -0.22}
BOTTOM_LEVEL, TOP_LEVEL = -0.32, 1.45


class BandwidthSettings(redraws.RedrawSettings):
    """Bandwidths of the Gaussian kernel; of `curves` of them the whole path of regularizations is drawn."""

    parameters: tuple[Ratio, ...] = Field(default=tuple(np.geomspace(0.05, 50.0, 15).tolist()), min_length=3)
    curves: Annotated[int, Field(ge=2, le=9)] = 5
    path_points: Points = 300
    theory_points: Points = 80

    @model_validator(mode="after")
    def _parameters_ascend(self) -> Self:
        if not (np.diff(self.parameters) > 0.0).all():
            raise ValueError("parameters must be ascending")
        return self


class HingeBandwidthSettings(BandwidthSettings):
    """The same with the hinge loss, without an intercept, as in the theory."""

    loss: Loss = "hinge"


def bandwidth_data(settings: BandwidthSettings, running: Running) -> pd.DataFrame:
    """Return theory and measurement by bandwidth and regularization.

    ``role`` is where a row is drawn: on a ``path`` along the regularization (of the theory, only the drawn paths),
    on a ``curve`` along the bandwidth, or as the ``preferred`` bandwidth. At the regularization ``optimal`` a redraw
    has the value that is best on the other redraws.
    """
    runs = redraws.Redraws.of(compute_cells(redraws.redraw_sweep(settings, family="gaussian"), running, "redraws"))
    found = preferred_parameters(runs.parameter, runs.generalization_error)
    theory = _theory_preferred(settings)
    best = [float(theory["parameter"].iloc[0]), found.preferred_at_zero.value]
    parts = [
        *(_theory_rows(settings, "path", "all", np.array([one])) for one in _drawn_parameters(settings, best)),
        *(_theory_rows(settings, "curve", choice, _fine_parameters(settings)) for choice in tables.REGULARIZATIONS),
        theory,
        *(
            runs.path_table(place, series="measured", role="path", regularization_choice="all", parameter=one)
            for place, one in enumerate(settings.parameters)
        ),
        *_measured_curves(runs, found),
        _measured_preferred(runs, found),
    ]
    sizes = redraws.task_columns(settings, runs.sample_count)
    return pd.concat(parts, ignore_index=True).assign(loss=settings.loss, **sizes)


def _drawn_parameters(settings: BandwidthSettings, best: list[float]) -> list[float]:
    """Return bandwidths spread over the range, and those nearest to the best ones."""
    grid = np.array(settings.parameters)
    spread = np.linspace(0, len(grid) - 1, settings.curves).round().astype(int).tolist()
    near = [nearest(grid, one) for one in best]
    return [float(one) for one in grid[sorted({*spread, *near})]]


def nearest(grid: Array, parameter: float) -> int:
    """Return the place of the nearest value, by ratio."""
    return int(np.argmin(np.abs(np.log(grid / parameter))))


def _fine_parameters(settings: BandwidthSettings) -> Array:
    ends = settings.parameters[0], settings.parameters[-1]
    return np.unique(np.append(np.geomspace(*ends, settings.theory_points), settings.parameters))


def _theory_rows(settings: BandwidthSettings, role: str, choice: str, parameters: Array) -> pd.DataFrame:
    """Return errors of Gaussian inputs: along the regularization of one bandwidth, or along bandwidths."""
    squares = FAMILIES["gaussian"].squares(parameters)
    kernel = Kernel(np.sqrt(squares[0]), np.sqrt(squares[1]))
    path = tables.regularization_path(settings.path_points) if choice == "all" else tables.REGULARIZATIONS[choice]
    table = tables.task_errors(settings, settings.loss, kernel, path, parameter=parameters)
    unused = ["loss", "sample_ratio", "fact_fraction"]
    return table.drop(columns=unused).assign(series="theory", role=role, regularization_choice=choice)


def _theory_preferred(settings: BandwidthSettings) -> pd.DataFrame:
    """Return the bandwidths of least error, the logarithm of their ratio, and its price without regularization."""
    parts = []
    for choice, regularization in tables.REGULARIZATIONS.items():
        angle = optimal_angle(
            settings.loss,
            fact_fraction=settings.fact_fraction,
            sample_ratio=settings.sample_ratio,
            regularization=regularization,
        )
        parameter = np.atleast_1d(parameter_for_angle("gaussian", min(float(angle), MAX_ANGLE)))
        parts.append(_theory_rows(settings, "preferred", choice, parameter))
    table = pd.concat(parts, ignore_index=True)
    ends = settings.parameters[0], settings.parameters[-1]
    at_zero = _theory_rows(settings, "preferred", "zero", table["parameter"].to_numpy())["generalization_error"]
    return table.assign(
        log_ratio=float(np.log(table["parameter"].iloc[0] / table["parameter"].iloc[1])),
        price=float(at_zero.iloc[1] - at_zero.iloc[0]),
        at_edge=~table["parameter"].between(*ends),
    )


def _measured_curves(runs: redraws.Redraws, found: Preference) -> list[pd.DataFrame]:
    """Return the mean error along bandwidths at the smallest and at the best regularization."""
    mean = runs.generalization_error.mean(axis=0)
    chosen = {"zero": (found.error_at_zero, 0), "optimal": (found.error_at_best, mean.argmin(axis=1))}
    return [
        pd.DataFrame(
            {
                "series": "measured",
                "role": "curve",
                "regularization_choice": choice,
                "parameter": runs.parameter,
                "regularization": runs.regularization[place],
                **redraws.mean_path_columns("generalization_error", errors),
                "converged": runs.converged.all(axis=1),
            }
        )
        for choice, (errors, place) in chosen.items()
    ]


def _measured_preferred(runs: redraws.Redraws, found: Preference) -> pd.DataFrame:
    """Return the preferred bandwidths with intervals; the error is read off the mean curve."""
    rows = []
    for choice, estimate, errors in (
        ("zero", found.preferred_at_zero, found.error_at_zero),
        ("optimal", found.preferred_at_best, found.error_at_best),
    ):
        mean = errors.mean(axis=0)
        rows.append(
            {
                "series": "measured",
                "role": "preferred",
                "regularization_choice": choice,
                **tables.interval_columns("parameter", estimate),
                "generalization_error": float(np.interp(np.log(estimate.value), np.log(runs.parameter), mean)),
                "converged": bool(runs.converged.all()),
                **tables.interval_columns("log_ratio", found.log_ratio),
                **tables.interval_columns("price", found.price),
                "at_edge": int(mean.argmin()) in (0, len(mean) - 1),
            }
        )
    return pd.DataFrame(rows)


def bandwidth_summary(frame: pd.DataFrame, settings: BandwidthSettings) -> pd.DataFrame:
    """Return the preferred bandwidths, the logarithm of their ratio, and the price of the wrong one at λ → 0."""
    sizes = ["redraws", "sample_count", "test_count", "rule_pool", "fact_pool"]
    rows = []
    for quantity, choice, name in (
        ("preferred parameter, no regularization", "zero", "parameter"),
        ("preferred parameter, best regularization", "optimal", "parameter"),
        ("logarithm of their ratio", "zero", "log_ratio"),
        ("error of the second less that of the first, no regularization", "zero", "price"),
    ):
        measured, theory = (preferred(frame, series, choice) for series in ("measured", "theory"))
        values = {key: measured[part] for key, part in zip(FIELDS, (name, f"{name}_low", f"{name}_high"), strict=True)}
        edges = {"measured_at_edge": bool(measured["at_edge"]), "theory_at_edge": bool(theory["at_edge"])}
        rows.append({"quantity": quantity, **values, "theory": theory[name], **edges, **measured[sizes]})
    return pd.DataFrame(rows)


def preferred(frame: pd.DataFrame, series: str, choice: str) -> pd.Series:
    """Return the row of a preferred bandwidth."""
    here = (frame["series"] == series) & (frame["role"] == "preferred") & (frame["regularization_choice"] == choice)
    return frame[here].iloc[0]


def draw_bandwidth(frame: pd.DataFrame, settings: BandwidthSettings) -> Figure:
    """Draw paths of the theory and of the data above, and errors against the bandwidth below."""
    figure = style.new_figure(style.PAGE, BANDWIDTH_FIGURE_HEIGHT)
    panels = figure.subplots(2, 2)
    colors = _parameter_colors(settings)
    labeled = _draw_paths(panels[0], frame, settings, colors)
    bar = figure.colorbar(colors, ax=list(panels[0]), pad=0.02, aspect=18)
    bar.set_label(PARAMETER_LABEL)
    bar.ax.yaxis.set_major_formatter(lambda value, _: style.plain_power(value))
    for axes, choice in zip(panels[1], ("optimal", "zero"), strict=True):
        _draw_curves(axes, frame[frame["regularization_choice"] == choice], settings)
    panels[1, 0].set_title(r"best $\lambda$ (measured: best on the other redraws)")
    smallest = style.plain_power(settings.smallest_regularization).strip("$")
    panels[1, 1].set_title(rf"$\lambda\to0$ (measured: $\lambda={smallest}$)")
    _draw_legend(figure, frame, settings)
    for axes, line, parameter in labeled:
        redraws.label_paths(axes, [line], [rf"$\gamma={parameter:.2g}$, best at $\lambda\to0$"])
    return figure


def _parameter_colors(settings: BandwidthSettings) -> ScalarMappable:
    """Return the colors of bandwidths, the same in every panel."""
    low, high = style.ORDERED_RANGE
    steps = ListedColormap(colormaps[style.ORDERED_MAP](np.linspace(low, high, 256)), "bandwidth")
    return ScalarMappable(LogNorm(settings.parameters[0], settings.parameters[-1]), steps)


def _draw_paths(
    panels: Any, frame: pd.DataFrame, settings: BandwidthSettings, colors: ScalarMappable
) -> list[tuple[Axes, Line2D, float]]:
    """Draw the paths and return the panel, the line and the bandwidth of the best one in each."""
    rows = frame[frame["role"] == "path"]
    drawn = rows.loc[rows["series"] == "theory", "parameter"].unique()
    labeled = []
    for axes, series in zip(panels, ("theory", "measured"), strict=True):
        here = rows[(rows["series"] == series) & rows["parameter"].isin(drawn)]
        best = drawn[nearest(drawn, float(preferred(frame, series, "zero")["parameter"]))]
        for parameter in drawn:
            path = here[here["parameter"] == parameter]
            width = HIGHLIGHT_WIDTH if parameter == best else PLAIN_WIDTH
            draw = redraws.draw_measured_path if series == "measured" else tables.draw_path
            line = draw(axes, path, colors.to_rgba(parameter), width)
            if parameter == best:
                labeled.append((axes, line, float(best)))
        redraws.error_axes(axes, here)
    where = rf"$\alpha={settings.sample_ratio:g}$, $\varepsilon={settings.fact_fraction:g}$"
    panels[0].set_title(f"theory, {settings.loss} loss, {where}")
    panels[1].set_title(redraws.data_title(settings))
    return labeled


def _draw_curves(axes: Axes, frame: pd.DataFrame, settings: BandwidthSettings) -> None:
    """Draw error against bandwidth, each curve less its lowest value, and the preferred bandwidths below."""
    color = style.LOSS_COLORS[settings.loss]
    lowest, parts = {}, {}
    for series in ("theory", "measured"):
        table = frame[(frame["series"] == series) & (frame["role"] == "curve")].sort_values("parameter")
        lowest[series] = float(table["generalization_error"].min())
        parts[series] = table.assign(excess=table["generalization_error"] - lowest[series])
    theory, measured = parts["theory"], parts["measured"]
    (line,) = axes.plot(theory["parameter"], theory["excess"], color=THEORY_COLOR)
    half = measured["generalization_error_high"] - measured["generalization_error"]
    points = axes.errorbar(
        measured["parameter"], measured["excess"], half, fmt="o", color=color, markersize=3, elinewidth=0.8
    )
    bottom = float((measured["excess"] - half).min())
    height = max(float((measured["excess"] + half).max()), float(theory["excess"].max())) - bottom
    _draw_preferred(axes, frame, {series: bottom + share * height for series, share in MARK_LEVELS.items()}, color)
    low, high = settings.parameters[0], settings.parameters[-1]
    style.log_axis(axes, "x", low / 1.25, high * 1.25)
    axes.set_ylim(bottom + BOTTOM_LEVEL * height, bottom + TOP_LEVEL * height)
    axes.set_xlabel(PARAMETER_LABEL)
    axes.set_ylabel(EXCESS_LABEL)
    axes.axhline(0.0, color=style.LIGHT_GRAY, linewidth=0.6, zorder=0)
    names = [f"theory, lowest {lowest['theory']:.3f}", f"measured, lowest {lowest['measured']:.3f}"]
    axes.legend([line, points], names, loc="upper left")


def _draw_preferred(axes: Axes, frame: pd.DataFrame, level: dict[str, float], color: str) -> None:
    rows = frame[frame["role"] == "preferred"]
    for series, row in zip(rows["series"], rows.to_dict("records"), strict=True):
        if series == "theory" and row["at_edge"]:
            continue
        measured = series == "measured"
        ends = [[row["parameter"] - row["parameter_low"]], [row["parameter_high"] - row["parameter"]]]
        axes.errorbar(
            [row["parameter"]],
            [level[series]],
            xerr=ends if measured else None,
            fmt="D",
            color=color if measured else THEORY_COLOR,
            markersize=3.5,
            elinewidth=1.0,
            capsize=2.0,
        )


def _draw_legend(figure: Figure, frame: pd.DataFrame, settings: BandwidthSettings) -> None:
    """Write the legend of the marks and a sentence on what was measured."""
    mark: dict[str, Any] = {"marker": "D", "markersize": 3.5, "linestyle": "none"}
    handles = [
        *style.path_end_handles((settings.smallest_regularization, settings.largest_regularization)),
        Line2D([], [], color=style.LOSS_COLORS[settings.loss], label="measured best, interval", **mark),
        Line2D([], [], color=THEORY_COLOR, label="theory's best", **mark),
    ]
    style.legend_below(figure, handles)
    figure.legends[0].set_title("\n".join((format_measured(frame), redraws.redraw_note(frame))))


def format_measured(frame: pd.DataFrame) -> str:
    """Return the sentence on the measured bandwidths and their ratio."""
    rows = {choice: preferred(frame, "measured", choice) for choice in ("zero", "optimal")}
    names = {"zero": r"$\lambda\to0$", "optimal": r"best $\lambda$"}
    edges = [names[choice] for choice, row in rows.items() if row["at_edge"]]
    edge = f"; at the end of the range: {' and '.join(edges)}" if edges else ""
    return (
        rf"measured best $\gamma$: {redraws.format_redraw_estimate(rows['zero'], 'parameter')} at $\lambda\to0$, "
        rf"{redraws.format_redraw_estimate(rows['optimal'], 'parameter')} at the best $\lambda$; "
        rf"logarithm of their ratio {redraws.format_redraw_estimate(rows['zero'], 'log_ratio')}{edge}"
    )


SQUARE = Recipe(BandwidthSettings, bandwidth_data, draw_bandwidth, bandwidth_summary)
HINGE = Recipe(HingeBandwidthSettings, bandwidth_data, draw_bandwidth, bandwidth_summary)
