"""A language model asked about years: how often it is right with n items, and how it answers between two anchors."""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from genlaws.experiments.settings import Settings
from genlaws.figures.progress import Progress
from genlaws.numerics.errors import InputError
from genlaws.semanticity.probes import DOMAINS, ReplyStore, SimulatedModel, domain_of
from genlaws.semanticity.probes.plan import Plan, plan_probe
from genlaws.semanticity.probes.probe import ProbeResult, run_probe

SIMULATED = "simulated"  # a chooser whose resolution is known, in place of a model
PLANTED_SHARE = 0.1  # of the domain, its resolution


class ModelSettings(Settings):
    """Settings of figures that ask a language model.

    Attributes
    ----------
    model : str
        As ``genlaws semanticity probe`` takes it, or ``simulated``.
    task : str
        A domain of places in words.
    templates : tuple of str
        Words to ask in.
    device, dtype : str
        Where and how exactly the network computes.
    answers : str
        File in which answers are kept and looked up; none if empty.
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


def load_model(settings: ModelSettings) -> Any:
    """Return the model a figure asks; a simulated one is told its trials later."""
    if settings.model == SIMULATED:
        domain = domain_of(settings.task)
        return SimulatedModel(domain, PLANTED_SHARE * domain.span, background=0.02, lapse=0.02, seed=settings.seed)
    from genlaws.semanticity.probes.transformers_model import TransformersModel  # noqa: PLC0415, needs torch

    return TransformersModel.load(
        settings.model, device=settings.device, dtype=settings.dtype, batch_size=settings.batch_size
    )


def years_data(settings: YearsSettings, progress: Progress) -> pd.DataFrame:
    """Return rates, two-anchor answers and fitted numbers of each template, told apart by the column ``what``."""
    results = _asked(settings, progress)
    return pd.concat([_rows(one) for one in results], ignore_index=True)


def _asked(settings: YearsSettings, progress: Progress) -> list[ProbeResult]:
    if settings.task not in DOMAINS:
        raise InputError(f"task must be one of {', '.join(DOMAINS)}; got {settings.task!r}.")
    plans = [
        plan_probe(settings.task, settings.item_counts, settings.trials, template=name, seed=settings.seed)
        for name in settings.templates
    ]
    model = load_model(settings)
    progress.start(sum(len(plan.trials) for plan in plans), "answers")
    results = []
    with ExitStack() as stack:
        store = stack.enter_context(ReplyStore(settings.answers)) if settings.answers else None
        for plan in plans:
            _tell(model, plan)
            results.append(
                run_probe(
                    model,
                    plan,
                    store=store,
                    batch_size=settings.batch_size,
                    replicates=settings.replicates,
                    advance=progress.advance,
                )
            )
    return results


def _tell(model: Any, plan: Plan) -> None:
    if isinstance(model, SimulatedModel):
        model.register(plan.trials, plan.prompts())


def _rows(result: ProbeResult) -> pd.DataFrame:
    """Return one table with the rows of rates, anchors, fitted curves and parameters."""
    parts = [_rate_rows(result)]
    if result.curve is not None:
        parts.append(_anchor_rows(result))
    parts.append(_fit_rows(result))
    table = pd.concat(parts, ignore_index=True)
    table.insert(0, "template", result.plan.template.name)
    return table


def _rate_rows(result: ProbeResult) -> pd.DataFrame:
    rows = [
        {"what": one.kind, "item_count": one.item_count, "value": one.best.value, "low": one.best.low}
        | {"high": one.best.high, "accuracy": one.accuracy.value, "first": one.first.value, "trials": one.asked}
        for one in result.rates.rates
        if one.kind != "resolution"
    ]
    return pd.DataFrame(rows)


def _anchor_rows(result: ProbeResult) -> pd.DataFrame:
    if result.curve is None:
        return pd.DataFrame()
    fit = result.resolution
    rows = [
        {"what": "anchors", "half_separation": one.half_separation, "shift": one.shift}
        | {"value": one.probability.value, "low": one.probability.low, "high": one.probability.high}
        | {"fitted": float(fit.upper_probability(one.half_separation, [one.shift])[0]) if fit.determined else math.nan}
        | {"trials": one.upper.count}
        for one in result.curve.points
    ]
    return pd.DataFrame(rows)


def _fit_rows(result: ProbeResult) -> pd.DataFrame:
    """Return resolution, background and lapse, the numbers of the collapse, and the excess over chance."""
    fit, fall = result.resolution, result.collapse
    named = {
        "resolution": fit.resolution,
        "background": fit.background,
        "lapse": fit.lapse,
        "excess": fit.excess,
        "collapse_constant": fall.constant,
        "collapse_limit": fall.limit,
        "collapse_exponent": fall.exponent,
    }
    rows = [{"what": name, "value": one.value, "low": one.low, "high": one.high} for name, one in named.items()]
    table = pd.DataFrame(rows)
    table["determined"] = fit.determined
    table["shape"] = "" if fit.fit is None else fit.fit.shape
    table["best_law"] = fall.best
    return table
