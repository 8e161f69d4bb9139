"""The three pictures of the rules-and-facts view."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genlaws.explorer.rules_facts_runs import (
    DIMENSION,
    NearRuns,
    Run,
    runs_by_angle,
    runs_by_regularisation,
    runs_by_samples,
)
from genlaws.explorer.rules_facts_theory import (
    ANGLES,
    SAMPLE_RATIOS,
    Curves,
    Errors,
    Learner,
    bayes_curve,
    bayes_error,
    curves,
)
from genlaws.panels import Curve, Panel

RULE, FACT, BAYES = "green", "purple", "ink"
LOSS_COLOURS = {"square": "blue", "hinge": "vermillion"}
LEARNERS = {"square": "ridge regression", "hinge": "support vector machine"}
ERRORS = "error (share of wrong answers)"
GUESSING = 0.5
STEP = 0.05
SEARCHED = (
    "Marks are exact; the lines take the best λ from a coarser search: rule errors at most 0.001 too high, fact errors "
    "within 0.01, but where two λ serve the rule equally well the line may show either."
)


def samples_panel(learner: Learner, found: Curves, here: Errors) -> Panel:
    """Return both errors against the number of samples."""
    samples, least = bayes_curve(learner.fact_fraction)
    near = runs_by_samples(learner)
    return Panel(
        "errors-by-samples",
        "How the errors change with the number of samples",
        "samples per dimension α",
        ERRORS,
        (
            *_pair(found.by_samples.through(here, learner.sample_ratio)),
            Curve("Bayes-optimal rule error", "theory", samples.tolist(), least.tolist(), BAYES),
            *_theory_of_runs(near, lambda one: one.by_samples),
            *_runs(near, lambda run: run.sample_ratio),
            *_marks(here, learner.sample_ratio),
        ),
        x_log=True,
        x_range=SAMPLE_RATIOS,
        y_range=(-0.01, 0.51),
        caption="Rule error: share of new inputs on which the learner breaks the rule. Fact error: share of the facts "
        f"shown that it gets wrong. No learner has a rule error below the Bayes-optimal one. {_words(near)}"
        f"{_accuracy(learner)}",
    )


def tradeoff_panel(learner: Learner, found: Curves, here: Errors) -> Panel:
    """Return the fact error against the rule error as the regularisation runs from none to infinite."""
    near, path = runs_by_regularisation(learner), found.by_regularisation.through(here, float(here.regularisation[0]))
    colour = LOSS_COLOURS[learner.loss]
    least = bayes_error(learner.sample_ratio, learner.fact_fraction)
    strengths = [f"λ = {one:.3g}" for one in path.regularisation]
    rule, fact = path.rule.tolist(), path.fact.tolist()
    place = f"λ = {here.regularisation[0]:.3g}"
    return Panel(
        "trade-off",
        "Rules against facts as the regularisation changes",
        "rule error ε_gen",
        "fact error ε_mem",
        (
            Curve("from no to infinite regularisation", "theory", rule, fact, colour, notes=strengths),
            Curve("Bayes-optimal rule error", "chance", [least, least], [0.0, GUESSING], BAYES),
            *(() if near is None else _runs_of_path(near, colour)),
            Curve("here", "mark", here.rule.tolist(), here.fact.tolist(), colour, notes=[place]),
        ),
        x_range=_around(least, float(np.nanmax(path.rule))),
        y_range=(-0.01, 0.51),
        caption="Each place on the line is one strength of the penalty λ, from none (most facts kept) to infinite. "
        f"The best corner is lower left; the dotted line is the least rule error possible. {_words(near)}"
        + (
            ""
            if near is None
            else f" Their rule errors are known to about ±{_half_width(near):.2f}, which is not drawn."
        ),
    )


def _runs_of_path(near: NearRuns, colour: str) -> list[Curve]:
    """Return the runs along the regularisation, and the theory for them where their settings are not the sliders'."""
    runs = near.runs
    notes = [f"λ = {run.regularisation:g}; rule error {run.rule[1]} to {run.rule[2]}" for run in runs]
    rule = [run.rule[0] for run in runs]
    value, low, high = ([run.fact[at] for run in runs] for at in range(3))
    points = Curve(f"runs at {near.name}", "run", rule, value, colour, low, high, notes)
    if near.exact:
        return [points]
    path = curves(near.learner).by_regularisation
    return [Curve(f"theory at {near.name}", "theory", path.rule.tolist(), path.fact.tolist(), "grey"), points]


def angle_panel(learner: Learner, found: Curves, here: Errors) -> Panel:
    """Return both errors against the kernel angle."""
    near, least = runs_by_angle(learner), bayes_error(learner.sample_ratio, learner.fact_fraction)
    return Panel(
        "errors-by-angle",
        "How the errors change with the kernel",
        "kernel angle θ (rad), from memoriser to linear",
        ERRORS,
        (
            *_pair(found.by_angle.through(here, learner.angle)),
            Curve("Bayes-optimal rule error", "theory", [0.0, np.pi / 2], [least, least], BAYES),
            *_theory_of_runs(near, lambda one: one.by_angle),
            *_runs(near, lambda run: run.kernel_angle),
            *_marks(here, learner.angle),
        ),
        x_range=(0.0, ANGLES[1] + 0.01),
        y_range=(-0.01, 0.51),
        caption="The angle says how much of a kernel is linear: at π/2 all of it, which can follow the rule; at 0 "
        f"nothing, and it can only memorise. {_words(near)}{_accuracy(learner)}",
    )


def _accuracy(learner: Learner) -> str:
    """Return a sentence about the lines where they are less accurate than the marks."""
    return f" {SEARCHED}" if learner.searched else ""


def _half_width(near: NearRuns) -> float:
    """Return the mean half width of the intervals of the rule error."""
    return float(np.mean([0.5 * (run.rule[2] - run.rule[1]) for run in near.runs]))


def _around(low: float, high: float) -> tuple[float, float]:
    """Return ends of an axis around two numbers, in steps, so that the axis stands still while a slider moves."""
    return STEP * np.floor((low - 0.2 * STEP) / STEP), STEP * np.ceil((high + 0.2 * STEP) / STEP)


def _pair(errors: Errors) -> tuple[Curve, Curve]:
    return (
        Curve("rule error ε_gen", "theory", errors.axis.tolist(), errors.rule.tolist(), RULE),
        Curve("fact error ε_mem", "theory", errors.axis.tolist(), errors.fact.tolist(), FACT),
    )


def _marks(here: Errors, place: float) -> tuple[Curve, Curve]:
    return (
        Curve("rule error here", "mark", [place], here.rule.tolist(), RULE),
        Curve("fact error here", "mark", [place], here.fact.tolist(), FACT),
    )


def _theory_of_runs(near: NearRuns | None, part: Callable[[Curves], Errors]) -> tuple[Curve, ...]:
    """Return the theory at the settings of the runs, where they are not the sliders'."""
    if near is None or near.exact:
        return ()
    one = part(curves(near.learner))
    gap = [np.nan]
    return (
        Curve(f"theory at {near.name}", "theory", [*one.axis, *gap, *one.axis], [*one.rule, *gap, *one.fact], "grey"),
    )


def _runs(near: NearRuns | None, axis: Callable[[Run], float]) -> tuple[Curve, ...]:
    if near is None:
        return ()
    place = [axis(run) for run in near.runs]

    def points(name: str, colour: str, values: list[tuple[float, float, float]]) -> Curve:
        """Return one error of all runs with its interval."""
        columns = [[one[at] for one in values] for at in range(3)]
        return Curve(f"{name}, runs at {near.name}", "run", place, columns[0], colour, columns[1], columns[2])

    return (
        points("rule error", RULE, [run.rule for run in near.runs]),
        points("fact error", FACT, [run.fact for run in near.runs]),
    )


def _words(near: NearRuns | None) -> str:
    """Return a sentence about the points."""
    if near is None:
        return "No runs were made near these settings."
    same = "the same settings" if near.exact else f"{near.name}, with the theory for them in grey"
    learner = LEARNERS[near.learner.loss]
    draws = sorted({run.draws for run in near.runs})
    count = f"{draws[0]}" if len(draws) == 1 else f"{draws[0]} to {draws[-1]}"
    return f"Points: {learner} in {DIMENSION} dimensions, means of {count} draws with 95 % intervals, at {same}."
