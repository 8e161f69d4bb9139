"""Probe a model: run a plan, and estimate how often the model is right and how fine its resolution is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genlaws.core.arguments import one_of
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.core.running import Running, checked_running
from genlaws.models.interface import MODES, ProbeModel, Prompt, Reply
from genlaws.probes.asking import AskingReport, ask_and_report
from genlaws.probes.collapse import Collapse, collapse_of
from genlaws.probes.distances import DistanceCurve, distance_curve
from genlaws.probes.outcomes import DISTANCE_KINDS, RecordedTrials, recorded
from genlaws.probes.plan import Plan
from genlaws.probes.rates import TrialRates, above_chance, rates_of
from genlaws.probes.resolution import ResolutionCurve, ResolutionFit, fit_resolution, resolution_curve
from genlaws.probes.store import ReplyStore

SMOOTH_SHAPES = ("exponential", "gaussian", "power-law")  # shapes whose fits take seconds
MAX_EXAMPLES = 3


@dataclass(frozen=True)
class Example:
    """One trial with its prompt and its answer.

    Attributes
    ----------
    kind, prompt : str
    options : tuple of str
    right : str
    answer : str
        The text, or the option with the largest probability and that probability, or why there is no answer.
    """

    kind: str
    prompt: str
    options: tuple[str, ...]
    right: str
    answer: str


@dataclass(frozen=True)
class ProbeResult:
    """The result of a probe.

    Attributes
    ----------
    model : str
        The model and every setting that changes an answer.
    plan : Plan
    mode : {"probability", "text"}
    given : RecordedTrials
        All trials with their answers.
    asking : AskingReport
    rates : TrialRates
        Generalization and identification for each number of items.
    resolution : ResolutionFit
    collapse : Collapse
        Identification against the number of items.
    curve : ResolutionCurve or None
        The two-anchor test; None where it was left out, and for pictures.
    distances : DistanceCurve
        How the answers get worse with the distance of the right one.
    examples, unread : tuples of Example
        The first trial of each kind, and the first replies that could not be read.
    """

    model: str
    plan: Plan
    mode: str
    given: RecordedTrials
    asking: AskingReport
    rates: TrialRates
    resolution: ResolutionFit
    collapse: Collapse
    curve: ResolutionCurve | None
    distances: DistanceCurve
    examples: tuple[Example, ...]
    unread: tuple[Example, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return names and numbers alone, as for a JSON file."""
        fit = self.resolution
        return {
            "model": self.model,
            "task": self.plan.task,
            "template": self.plan.template.name,
            "mode": self.mode,
            "seed": self.plan.seed,
            "trials": len(self.plan.trials),
            "failed": self.rates.failed,
            "failures": [{"reason": reason, "trials": number} for reason, number in self.rates.errors.items()],
            "unparsed": _ends(self.rates.unparsed),
            "rates": self.rates.to_frame().to_dict("records"),
            "resolution": {
                "determined": fit.determined,
                "unit": fit.unit,
                "shape": "" if fit.fit is None else fit.fit.shape,
                "resolution": _ends(fit.resolution),
                "background": _ends(fit.background),
                "lapse": _ends(fit.lapse),
                "excess_over_chance": _ends(fit.excess),
                "offsets": {name: _ends(value) for name, value in fit.offsets.items()},
                "message": fit.message,
            },
            "collapse": {
                "constant": _ends(self.collapse.constant),
                "limit_of_the_law_of_n_items": _ends(self.collapse.limit),
                "exponent": _ends(self.collapse.exponent),
                "best_law": self.collapse.best,
                "laws": self.collapse.to_frame().to_dict("records"),
                "message": self.collapse.message,
            },
        }

    def __str__(self) -> str:
        return "\n".join([str(self.rates), str(self.resolution), str(self.collapse), str(self.asking)])


def _ends(value: Estimate) -> dict[str, float]:
    return {"value": value.value, "low": value.low, "high": value.high}


def run_probe(
    model: ProbeModel,
    plan: Plan,
    mode: str = "probability",
    *,
    prompts: Sequence[Prompt] | None = None,
    store: ReplyStore | None = None,
    batch_size: int = 16,
    shapes: Sequence[str] = SMOOTH_SHAPES,
    replicates: int = 200,
    running: Running | None = None,
) -> ProbeResult:
    """Send the prompts of a plan to a model, and return what its answers show.

    Parameters
    ----------
    model : ProbeModel
    plan : Plan
    mode : {"probability", "text"}
        Compare the probabilities of the answers, or read the text.
    prompts : sequence of Prompt, optional
        Those of the plan, where they have been made already.
    store : ReplyStore, optional
        Where answers are stored and looked up.
    batch_size : int
        Prompts given to the model at once.
    shapes : sequence of str
        Similarities to compare; linear and constant ones take minutes.
    replicates : int
        Of the bootstrap of the resolution, in probability mode.
    running : Running, optional
        Its steps are the prompts with a reply.
    """
    one_of("mode", mode, MODES)
    sent = plan.prompts() if prompts is None else prompts
    if len(sent) != len(plan.trials):
        raise InputError(f"prompts must be one for each of the {len(plan.trials)} trials; got {len(sent)}.")
    shown = checked_running(running)
    shown.start(len(sent), f"{plan.task}, {plan.template.name}")
    replies, report = ask_and_report(model, sent, mode, store=store, batch_size=batch_size, running=shown.part())
    given = recorded(plan.trials, replies, mode)
    fit = fit_resolution(given, shapes, unit=plan.unit, offsets=plan.pictures, replicates=replicates, seed=plan.seed)
    identified = given.of_kinds(("identification",))
    counts = np.unique(identified.take(~identified.failed).item_counts).tolist()
    predicted = fit.identification(given, counts) if counts and fit.determined else None
    return ProbeResult(
        model=model.name,
        plan=plan,
        mode=mode,
        given=given,
        asking=report,
        rates=rates_of(given),
        resolution=fit,
        collapse=collapse_of(given, predicted=predicted),
        curve=None if plan.pictures or "resolution" not in given.kinds else resolution_curve(given),
        distances=_distances(given),
        examples=_first_examples(given, sent, replies),
        unread=_unread_examples(given, sent, replies),
    )


def compare_templates(results: Sequence[ProbeResult]) -> Mapping[str, Estimate]:
    """Return how far above chance the answers are, all trials together, for each template, the best first.

    The trials are the same for all. The interval of the best does not account for its choice among several.
    """
    above = {one.plan.template.name: above_chance(one.given) for one in results}
    # A template without any reply is neither good nor bad, and comes last.
    return dict(sorted(above.items(), key=lambda pair: -np.nan_to_num(pair[1].value, nan=-np.inf)))


def _distances(given: RecordedTrials) -> DistanceCurve:
    """Return the answers by distance; a curve without points where no test of nearness got a reply."""
    chosen = given.of_kinds(DISTANCE_KINDS)
    return DistanceCurve((), int(chosen.failed.sum())) if chosen.failed.all() else distance_curve(given)


def _first_examples(given: RecordedTrials, prompts: Sequence[Prompt], replies: Sequence[Reply]) -> tuple[Example, ...]:
    kinds = list(given.kinds)
    return tuple(_example(given, prompts, replies, kinds.index(kind)) for kind in dict.fromkeys(kinds))


def _unread_examples(given: RecordedTrials, prompts: Sequence[Prompt], replies: Sequence[Reply]) -> tuple[Example, ...]:
    numbers = np.flatnonzero(given.unparsed)[:MAX_EXAMPLES].tolist()
    return tuple(_example(given, prompts, replies, number) for number in numbers)


def _example(given: RecordedTrials, prompts: Sequence[Prompt], replies: Sequence[Reply], number: int) -> Example:
    trial, reply, scores = given.trials[number], replies[number], given.scores[number]
    if reply.error:
        answer = reply.error
    elif scores is not None:
        answer = f"{trial.items[int(given.chosen[number])]} ({scores.max():.3f})"
    else:
        answer = reply.text or ""
    return Example(trial.kind, prompts[number].text, trial.items, trial.items[trial.right], answer)
