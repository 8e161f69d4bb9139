"""A language model probed about years: how often it is right with n items, and how it answers between two anchors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from pydantic import Field

from genlaws.core.estimate import Estimate
from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import Recipe
from genlaws.probes import ReplyStore, SimulatedModel, domain_of
from genlaws.probes.plan import plan_probe
from genlaws.probes.probe import TemplateResult, run_probe
from genlaws.render import style
from genlaws.sweeps.experiment import Settings

SIMULATED = "simulated"  # a chooser whose resolution is known, in place of a model
PLANTED_SHARE = 0.1  # its resolution, as a share of the domain
TEMPLATE_COLORS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY_BLUE)
TEMPLATE_MARKERS = ("o", "s", "^", "D", "v", "P")
TEST_TITLES = {"similarity": "generalization $p_S^n$", "identification": "identification $p_I^n$"}
TEMPLATE_SHIFT_FACTOR = 1.03  # between the points of the templates
FIT_NAMES = ("resolution", "background", "lapse", "excess", "collapse_constant", "collapse_limit", "collapse_exponent")


class ModelSettings(Settings):
    """Settings of figures that probe a language model.

    Attributes
    ----------
    model : str
        As ``genlaws semanticity probe`` takes it, or ``simulated``.
    task : str
        A domain of places with names.
    templates : tuple of str
        Names of the prompt templates.
    device, dtype : str
        Device and number type of the network.
    answers : str
        File in which answers are cached; none if empty.
    """

    model: str = "smollm2"
    task: Literal["years", "numbers", "dates", "temperatures", "letters"] = "years"
    templates: tuple[str, ...] = Field(default=("list", "sentences", "chat"), min_length=1)
    device: str = "cpu"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    batch_size: int = Field(default=16, ge=1)
    seed: int = Field(default=0, ge=0)
    answers: str = ""


class YearsSettings(ModelSettings):
    """Settings of both figures of answers.

    Attributes
    ----------
    item_counts : tuple of int
    trials : int
        Of each kind and number of items, and for each half separation.
    replicates : int
        Of the bootstrap of the resolution.
    """

    item_counts: tuple[int, ...] = Field(default=(2, 4, 8, 16), min_length=1)
    trials: int = Field(default=60, ge=1, le=10_000)
    replicates: int = Field(default=100, ge=20)


def load_figure_model(settings: ModelSettings) -> Any:
    """Return the model of a figure; the trials of a simulated one are registered later."""
    if settings.model == SIMULATED:
        domain = domain_of(settings.task)
        return SimulatedModel(domain, PLANTED_SHARE * domain.span, background=0.02, lapse=0.02, seed=settings.seed)
    from genlaws.models.language import TransformersModel  # noqa: PLC0415, needs torch

    return TransformersModel.load(
        settings.model, device=settings.device, dtype=settings.dtype, batch_size=settings.batch_size
    )


def years_data(settings: YearsSettings, running: Running) -> pd.DataFrame:
    """Return rates, two-anchor answers and fitted numbers of each template, distinguished by the column ``what``."""
    results = _run_probes(settings, running)
    return pd.concat([_result_rows(one) for one in results], ignore_index=True)


def _run_probes(settings: YearsSettings, running: Running) -> list[TemplateResult]:
    plans = [
        plan_probe(settings.task, settings.item_counts, settings.trials, template=name, seed=settings.seed)
        for name in settings.templates
    ]
    model = load_figure_model(settings)
    running.start(sum(len(plan.trials) for plan in plans), "answers")
    results = []
    with ExitStack() as stack:
        store = stack.enter_context(ReplyStore(settings.answers)) if settings.answers else None
        for plan in plans:
            if isinstance(model, SimulatedModel):
                model.register(plan.trials, plan.prompts())
            given = settings.model_dump(include={"batch_size", "replicates"})
            results.append(run_probe(model, plan, store=store, running=running.part(), **given))
    return results


def _result_rows(result: TemplateResult) -> pd.DataFrame:
    """Return one table with the rows of rates, anchors, fitted curves and parameters."""
    parts = [_rate_rows(result), _anchor_rows(result), _fit_rows(result)]
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    table.insert(0, "template", result.template)
    return table


def _rate_rows(result: TemplateResult) -> pd.DataFrame:
    rows = [
        {"what": one.kind, "item_count": one.item_count, **_columns(one.best)}
        | {"accuracy": one.accuracy.value, "first": one.first.value, "trials": one.sent}
        for one in result.rates.rates
        if one.kind != "resolution"
    ]
    return pd.DataFrame(rows)


def _anchor_rows(result: TemplateResult) -> pd.DataFrame:
    fit = result.resolution
    rows = [
        {"what": "anchors", "half_separation": one.half_separation, "shift": one.shift, **_columns(one.probability)}
        | {"fitted": float(fit.upper_probability(one.half_separation, [one.shift])[0]) if fit.determined else math.nan}
        | {"trials": one.upper.count}
        for one in (result.curve.points if result.curve is not None else ())
    ]
    return pd.DataFrame(rows)


def _fit_rows(result: TemplateResult) -> pd.DataFrame:
    """Return resolution, background and lapse, the numbers of the collapse, and the excess over chance."""
    fit, fall = result.resolution, result.collapse
    found = (fit.resolution, fit.background, fit.lapse, fit.excess, fall.constant, fall.limit, fall.exponent)
    named = dict(zip(FIT_NAMES, found, strict=True))
    table = pd.DataFrame([{"what": name, **_columns(one)} for name, one in named.items()])
    return table.assign(determined=fit.determined, shape=fit.shape, best_law=fall.best)


def _columns(found: Estimate) -> dict[str, float]:
    return {"value": found.value, "low": found.low, "high": found.high}


def draw_items(frame: pd.DataFrame, settings: YearsSettings) -> Figure:
    """Draw both tests against the number of items, one color for each template."""
    figure = style.new_figure(style.PAGE, 2.9)
    panels = figure.subplots(1, 2, sharey=True)
    templates = list(dict.fromkeys(frame["template"]))
    for axes, (kind, title) in zip(panels, TEST_TITLES.items(), strict=True):
        part = frame[frame["what"] == kind]
        counts = sorted(set(part["item_count"].astype(int)))
        lines = [_draw_template(axes, part, name, templates.index(name), len(templates)) for name in templates]
        _item_axis(axes, counts)
        (chance,) = axes.plot(counts, 1.0 / np.array(counts), color=style.LIGHT_GRAY, linewidth=0.8, zorder=0)
        axes.set(title=title, xlabel="items $n$")
        if kind == "identification":
            _draw_collapse(axes, frame, templates, counts)
        direct_labels(axes, [*lines, chance], [*templates, "chance $1/n$"])
    panels[0].set_ylabel("probability of the right answer")
    return figure


def _draw_template(axes: Axes, part: pd.DataFrame, name: str, number: int, of: int):  # type: ignore[no-untyped-def]
    """Draw the points of one template with their intervals, slightly shifted from the others."""
    own = part[part["template"] == name].sort_values("item_count")
    x = own["item_count"].to_numpy(float) * TEMPLATE_SHIFT_FACTOR ** (number - 0.5 * (of - 1))
    color = TEMPLATE_COLORS[number % len(TEMPLATE_COLORS)]
    axes.vlines(x, own["low"], own["high"], color=color, linewidth=0.9)
    marker = TEMPLATE_MARKERS[number % len(TEMPLATE_MARKERS)]
    (line,) = axes.plot(x, own["value"], color=color, marker=marker, markersize=3.0, linewidth=0.9, alpha=0.9)
    return line


def _item_axis(axes: Axes, counts: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    style.set_ticks(axes.xaxis, counts)
    style.set_ticks(axes.yaxis, [tick for tick in (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01) if tick >= 0.5 / counts[-1]])


def _draw_collapse(axes: Axes, frame: pd.DataFrame, templates: Sequence[str], counts: Sequence[int]) -> None:
    """Draw the law of n items of the template that identifies best."""
    limits = frame[frame["what"] == "collapse_limit"].set_index("template")["value"]
    best = str(limits.idxmax())
    ball = 1.0 / float(limits[best])
    n = np.geomspace(counts[0], counts[-1], 100)
    color = TEMPLATE_COLORS[templates.index(best) % len(TEMPLATE_COLORS)]
    axes.plot(n, (1.0 - (1.0 - ball) ** n) / (n * ball), color=color, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)


def draw_anchors(frame: pd.DataFrame, settings: YearsSettings) -> Figure:
    """Draw the answer between two anchors, a row for each template and a panel for each half separation."""
    part = frame[frame["what"] == "anchors"]
    templates = list(dict.fromkeys(part["template"]))
    halves = sorted(set(part["half_separation"]))
    figure = style.new_figure(style.PAGE, 0.55 + 1.15 * len(templates))
    grid = figure.subplots(len(templates), len(halves), sharex=True, sharey=True, squeeze=False)
    unit = domain_of(settings.task).unit
    for row, name in zip(grid, templates, strict=True):
        for axes, half in zip(row, halves, strict=True):
            own = part[(part["template"] == name) & (part["half_separation"] == half)].sort_values("shift")
            _draw_panel(axes, own, TEMPLATE_COLORS[templates.index(name) % len(TEMPLATE_COLORS)])
        row[0].set_ylabel(name)
    for axes, half in zip(grid[0], halves, strict=True):
        axes.set_title(f"$D$ = {half:g}")
    figure.supxlabel(f"question at the middle + δ{f' ({unit})' if unit else ''}; anchors at ± $D$", fontsize=7.5)
    figure.supylabel("probability of the upper anchor", fontsize=7.5)
    return figure


def _draw_panel(axes: Axes, own: pd.DataFrame, color: str) -> None:
    axes.axhline(0.5, color=style.LIGHT_GRAY, linewidth=0.6, zorder=0)
    axes.axvline(0.0, color=style.LIGHT_GRAY, linewidth=0.6, zorder=0)
    axes.vlines(own["shift"], own["low"], own["high"], color=color, linewidth=0.8)
    axes.plot(own["shift"], own["value"], color=color, linestyle="none", marker="o", markersize=2.2)
    if own["fitted"].notna().any():
        axes.plot(own["shift"], own["fitted"], color=style.DARK_GRAY, linewidth=0.8)
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0.0, 0.5, 1.0])
    axes.xaxis.set_major_locator(FixedLocator([float(own["shift"].min()), 0.0, float(own["shift"].max())]))


def years_summary(frame: pd.DataFrame, settings: YearsSettings) -> pd.DataFrame:
    """Return the fitted numbers of each template with their intervals."""
    part = frame[frame["what"].isin(FIT_NAMES)]
    columns = ["template", "what", "value", "low", "high", "determined", "shape", "best_law"]
    return part[columns].reset_index(drop=True)


YEARS = Recipe(YearsSettings, years_data, draw_items, years_summary)
ANCHORS = Recipe(YearsSettings, years_data, draw_anchors, years_summary)
