"""The view on rules and facts: what a learner generalizes and what it remembers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from genlaws.render import Curve, Panel
from genlaws.rules_facts import Kernel, interpolation_threshold, optimal_angle
from genlaws.web.view import Answer, Number, View, ViewSettings, choice, log_slider, rounded, slider
from genlaws.web.views.rules_facts_theory import (
    KERNEL_ANGLE_RANGE,
    RUN_DIMENSION,
    SAMPLE_RATIOS,
    Curves,
    ErrorCurves,
    LearnerOnTask,
    LearnerRuns,
    NearRuns,
    bayes_curve,
    bayes_error,
    curves,
    runs_by_angle,
    runs_by_regularization,
    runs_by_samples,
    solved_here,
)

ERROR_COLORS = {"generalization": "green", "memorization": "purple"}
ERROR_SYMBOLS = {"generalization": "ε_gen", "memorization": "ε_mem"}
BAYES_COLOR = "ink"
LOSS_CURVE_COLORS = {"square": "blue", "hinge": "vermillion"}
LEARNERS = {"square": "ridge regression", "hinge": "support vector machine"}
ERROR_LABEL = "error (share of wrong answers)"
CHANCE_ERROR = 0.5
AXIS_STEP = 0.05
SEARCH_NOTE = (
    "Marks are exact; the lines take the best λ from a coarser search: generalization errors at most 0.001 too high, "
    "memorization errors within 0.01, but where two λ are equally good for the rule the line may show either."
)


def samples_panel(learner: LearnerOnTask, found: Curves, here: ErrorCurves) -> Panel:
    """Return both errors against the number of samples."""
    samples, least = bayes_curve(learner.fact_fraction)
    near = runs_by_samples(learner)
    return Panel(
        "errors-by-samples",
        "How the errors change with the number of samples",
        "samples per dimension α",
        ERROR_LABEL,
        (
            *_pair(found.by_samples.through(here, learner.sample_ratio)),
            Curve("Bayes-optimal generalization error", "theory", samples.tolist(), least.tolist(), BAYES_COLOR),
            *_theory_of_runs(near, lambda one: one.by_samples),
            *_runs(near, lambda run: run.sample_ratio),
            *_marks(here, learner.sample_ratio),
        ),
        x_log=True,
        x_range=SAMPLE_RATIOS,
        y_range=(-0.01, 0.51),
        caption="Generalization error: share of new inputs on which the learner breaks the rule. Memorization error: "
        f"share of the training facts that it gets wrong. No learner generalizes better than the Bayes-optimal one. "
        f"{_runs_sentence(near)}{_accuracy_note(learner)}",
    )


def tradeoff_panel(learner: LearnerOnTask, found: Curves, here: ErrorCurves) -> Panel:
    """Return the memorization against the generalization error as the regularization runs from none to infinite."""
    near, path = runs_by_regularization(learner), found.by_regularization.through(here, float(here.regularization[0]))
    color = LOSS_CURVE_COLORS[learner.loss]
    least = bayes_error(learner.sample_ratio, learner.fact_fraction)
    strengths = [f"λ = {one:.3g}" for one in path.regularization]
    rule, fact = path.generalization.tolist(), path.memorization.tolist()
    place = f"λ = {here.regularization[0]:.3g}"
    return Panel(
        "trade-off",
        "Rules against facts as the regularization changes",
        "generalization error ε_gen",
        "memorization error ε_mem",
        (
            Curve("from no to infinite regularization", "theory", rule, fact, color, notes=strengths),
            Curve("Bayes-optimal generalization error", "chance", [least, least], [0.0, CHANCE_ERROR], BAYES_COLOR),
            *(() if near is None else _runs_of_path(near, color)),
            Curve("here", "mark", here.generalization.tolist(), here.memorization.tolist(), color, notes=[place]),
        ),
        x_range=_around(least, float(np.nanmax(path.generalization))),
        y_range=(-0.01, 0.51),
        caption="Each point of the line is one λ, from none (most facts memorized) to infinite. The "
        f"best corner is lower left; the dotted line is the smallest possible generalization error. "
        f"{_runs_sentence(near)}"
        + (
            ""
            if near is None
            else f" Their generalization errors are known to about ±{_half_width(near):.2f}, which is not drawn."
        ),
    )


def _runs_of_path(near: NearRuns, color: str) -> list[Curve]:
    """Return the runs along the regularization, and the theory for them where their settings are not the sliders'."""
    runs = near.runs
    notes = [
        f"λ = {run.regularization:g}; generalization error {run.generalization[1]} to {run.generalization[2]}"
        for run in runs
    ]
    rule = [run.generalization[0] for run in runs]
    value, low, high = ([run.memorization[at] for run in runs] for at in range(3))
    points = Curve(f"runs at {near.name}", "run", rule, value, color, low, high, notes)
    if near.exact:
        return [points]
    path = curves(near.learner).by_regularization
    return [
        Curve(f"theory at {near.name}", "theory", path.generalization.tolist(), path.memorization.tolist(), "gray"),
        points,
    ]


def angle_panel(learner: LearnerOnTask, found: Curves, here: ErrorCurves) -> Panel:
    """Return both errors against the kernel angle."""
    near, least = runs_by_angle(learner), bayes_error(learner.sample_ratio, learner.fact_fraction)
    return Panel(
        "errors-by-angle",
        "How the errors change with the kernel",
        "kernel angle θ (rad), from memorizer to linear",
        ERROR_LABEL,
        (
            *_pair(found.by_angle.through(here, learner.angle)),
            Curve("Bayes-optimal generalization error", "theory", [0.0, np.pi / 2], [least, least], BAYES_COLOR),
            *_theory_of_runs(near, lambda one: one.by_angle),
            *_runs(near, lambda run: run.kernel_angle),
            *_marks(here, learner.angle),
        ),
        x_range=(0.0, KERNEL_ANGLE_RANGE[1] + 0.01),
        y_range=(-0.01, 0.51),
        caption="The angle measures how much of a kernel is linear. At π/2 all of it is, and it can follow the rule; "
        f"at 0 none of it is, and it can only memorize. {_runs_sentence(near)}{_accuracy_note(learner)}",
    )


def _accuracy_note(learner: LearnerOnTask) -> str:
    """Return a sentence about the lines where they are less accurate than the marks."""
    return f" {SEARCH_NOTE}" if learner.searched else ""


def _half_width(near: NearRuns) -> float:
    """Return the mean half width of the intervals of the generalization error."""
    return float(np.mean([0.5 * (run.generalization[2] - run.generalization[1]) for run in near.runs]))


def _around(low: float, high: float) -> tuple[float, float]:
    """Return ends of an axis around two numbers, in steps, so that the axis does not move with a slider."""
    below, above = (low - 0.2 * AXIS_STEP) / AXIS_STEP, (high + 0.2 * AXIS_STEP) / AXIS_STEP
    return AXIS_STEP * np.floor(below), AXIS_STEP * np.ceil(above)


def _pair(errors: ErrorCurves) -> list[Curve]:
    axis = errors.axis.tolist()
    return [
        Curve(f"{name} error {ERROR_SYMBOLS[name]}", "theory", axis, getattr(errors, name).tolist(), color)
        for name, color in ERROR_COLORS.items()
    ]


def _marks(here: ErrorCurves, place: float) -> list[Curve]:
    return [
        Curve(f"{name} error here", "mark", [place], getattr(here, name).tolist(), color)
        for name, color in ERROR_COLORS.items()
    ]


def _theory_of_runs(near: NearRuns | None, part: Callable[[Curves], ErrorCurves]) -> tuple[Curve, ...]:
    """Return the theory at the settings of the runs, where they are not the sliders'."""
    if near is None or near.exact:
        return ()
    one = part(curves(near.learner))
    x, y = [*one.axis, np.nan, *one.axis], [*one.generalization, np.nan, *one.memorization]
    return (Curve(f"theory at {near.name}", "theory", x, y, "gray"),)


def _runs(near: NearRuns | None, axis: Callable[[LearnerRuns], float]) -> list[Curve]:
    if near is None:
        return []
    place, curves = [axis(run) for run in near.runs], []
    for name, color in ERROR_COLORS.items():
        value, low, high = ([getattr(run, name)[at] for run in near.runs] for at in range(3))
        curves.append(Curve(f"{name} error, runs at {near.name}", "run", place, value, color, low, high))
    return curves


def _runs_sentence(near: NearRuns | None) -> str:
    """Return a sentence about the points."""
    if near is None:
        return "No runs were made near these settings."
    same = "the same settings" if near.exact else f"{near.name}, with the theory for them in gray"
    learner = LEARNERS[near.learner.loss]
    draws = sorted({run.draws for run in near.runs})
    count = f"{draws[0]}" if len(draws) == 1 else f"{draws[0]} to {draws[-1]}"
    return f"Points: {learner} in {RUN_DIMENSION} dimensions, means of {count} draws with 95 % intervals, at {same}."


class TheorySettings(ViewSettings):
    """Every parameter of the theory."""

    loss: Literal["square", "hinge"] = choice(
        "square", "loss", about="Square: ridge regression. Hinge: a support vector machine."
    )
    sample_ratio: float = log_slider(
        4.0, *SAMPLE_RATIOS, "samples per dimension α", about="Training samples per input dimension."
    )
    fact_fraction: float = slider(
        0.2, 0.0, 1.0, "share of facts ε", step=0.01, about="Share of the labels that are coin flips to be memorized."
    )
    kernel: Literal["angle", "linear", "sign", "erf", "relu", "gaussian", "exponential", "geometric", "polynomial"] = (
        choice("angle", "kernel", about="By its angle, which is all that matters here, or by name.")
    )
    kernel_angle: float = slider(
        1.0,
        *KERNEL_ANGLE_RANGE,
        "kernel angle θ (rad)",
        step=0.01,
        about="From a pure memorizer (0) to the linear model (π/2).",
        when={"kernel": "angle"},
    )
    gaussian_rate: float = log_slider(
        1.0,
        0.05,
        10.0,
        "inverse squared width γ",
        about="Of the Gaussian kernel exp(−γ(1−t)): the larger, the narrower.",
        when={"kernel": "gaussian"},
    )
    exponential_rate: float = log_slider(
        1.0, 0.05, 10.0, "rate γ", about="Of the kernel exp(γt).", when={"kernel": "exponential"}
    )
    geometric_ratio: float = slider(
        0.5, 0.02, 0.98, "ratio γ", step=0.01, about="Of the kernel 1/(1 − γt).", when={"kernel": "geometric"}
    )
    polynomial_degree: int = slider(
        3, 2, 8, "degree r", step=1.0, about="Of the kernel (c + t)^r.", when={"kernel": "polynomial"}
    )
    polynomial_offset: float = log_slider(
        1.0,
        0.01,
        10.0,
        "constant c",
        about="Added to t in the kernel (c + t)^r; the larger, the more linear.",
        when={"kernel": "polynomial"},
    )
    regularization: Literal["optimal", "chosen"] = choice(
        "optimal", "regularization", about="The one with the smallest generalization error, or one of your choice."
    )
    strength: float = slider(
        0.1,
        1e-4,
        1e3,
        "regularization λ",
        step=0.05,
        log=True,
        about="Weight of the penalty on the size of the learner.",
        when={"regularization": "chosen"},
    )
    width: Literal["infinite", "finite"] = choice(
        "infinite", "width", about="A kernel is a layer of infinitely many random features."
    )
    width_ratio: float = log_slider(
        2.0,
        0.1,
        20.0,
        "random features per dimension κ",
        about="Number of random features per input dimension.",
        when={"width": "finite"},
    )


def answer(settings: TheorySettings) -> Answer:
    """Return the errors of a learner, with what they depend on."""
    name, kernel = _kernel(settings)
    learner = LearnerOnTask(
        loss=settings.loss,
        sample_ratio=rounded(settings.sample_ratio),
        fact_fraction=rounded(settings.fact_fraction),
        mu_1=float(kernel.mu_1),
        mu_star=float(kernel.mu_star),
        regularization=None if settings.regularization == "optimal" else rounded(settings.strength),
        width_ratio=None if settings.width == "infinite" else rounded(settings.width_ratio),
    )
    shown = curves(learner), solved_here(learner)
    return Answer(
        panels=(samples_panel(learner, *shown), tradeoff_panel(learner, *shown), angle_panel(learner, *shown)),
        numbers=_numbers(learner, kernel),
        sentence=_sentence(learner),
        python=_python(learner, name),
        command=_command(learner, name),
    )


def _kernel(settings: TheorySettings) -> tuple[str, Kernel]:
    """Return how the kernel is named, by its angle or as a family with its parameters, and the kernel."""
    if settings.kernel == "angle":
        angle = rounded(settings.kernel_angle)
        return f"{angle:g}", Kernel.from_angle(angle)
    parameters = {
        "gaussian": [settings.gaussian_rate],
        "exponential": [settings.exponential_rate],
        "geometric": [settings.geometric_ratio],
        "polynomial": [float(settings.polynomial_degree), settings.polynomial_offset],
    }.get(settings.kernel, [])
    listed = ",".join(f"{rounded(one):g}" for one in parameters)
    name = f"{settings.kernel}:{listed}" if listed else settings.kernel
    return name, Kernel.from_name(name)


def _numbers(learner: LearnerOnTask, kernel: Kernel) -> tuple[Number, ...]:
    here = solved_here(learner)
    least = bayes_error(learner.sample_ratio, learner.fact_fraction)
    limit = float(
        interpolation_threshold(
            learner.loss, fact_fraction=learner.fact_fraction, kernel=kernel, width_ratio=learner.width_ratio
        )
    )
    best = [
        Number(
            "best angle without regularization",
            f"{float(optimal_angle(fact_fraction=learner.fact_fraction)):.4f} rad",
            "of a kernel for ridge regression that memorizes every fact; larger angles reach the same with the best λ",
        )
    ]
    how = "the best for generalization" if learner.regularization is None else "as chosen"
    return (
        Number(
            "generalization error", f"{here.generalization[0]:.4f}", "share of new inputs on which the rule is broken"
        ),
        Number("memorization error", f"{here.memorization[0]:.3f}", "share of the training facts answered wrong"),
        Number("Bayes-optimal generalization error", f"{least:.4f}", "no learner does better from these data"),
        Number("regularization λ", f"{here.regularization[0]:.3g}", how),
        Number("kernel angle θ", f"{learner.angle:.4f} rad", f"μ1 = {learner.mu_1:.4g}, μ* = {learner.mu_star:.4g}"),
        Number(
            "every label can be fitted up to α",
            "any number" if math.isinf(limit) else f"{limit:.4g}",
            "samples per dimension at which the unregularized learner reaches its capacity",
        ),
        *(best if learner.loss == "square" and learner.width_ratio is None else []),
    )


def _sentence(learner: LearnerOnTask) -> str:
    here = solved_here(learner)
    rule, fact = float(here.generalization[0]), float(here.memorization[0])
    least = bayes_error(learner.sample_ratio, learner.fact_fraction)
    if not math.isfinite(rule + fact):
        return "The equations have no finite solution here: labels can just not be fitted without regularization."
    sentence = (
        f"On new inputs this {LEARNERS[learner.loss]} breaks the rule {rule:.1%} of the time (the best possible is "
        f"{least:.1%}), and it gets {fact:.1%} of the training facts wrong."
    )
    if learner.fact_fraction == 1.0:
        return sentence + " Every label is a coin flip, so there is no rule to find."
    if fact < 5e-4:
        return sentence + " It memorizes every fact and still follows the rule."
    return sentence


def _python(learner: LearnerOnTask, name: str) -> str:
    by_angle = name[0].isdigit()
    kernel = f"rules_facts.Kernel.from_angle({name})" if by_angle else repr(name)
    strength = '"optimal"' if learner.regularization is None else f"{learner.regularization:g}"
    width = "" if learner.width_ratio is None else f"    width_ratio={learner.width_ratio:g},\n"
    task = f"sample_ratio={learner.sample_ratio:g}, fact_fraction={learner.fact_fraction:g}"
    return (
        "from genlaws import rules_facts\n\n"
        "solution = rules_facts.solve(\n"
        f'    "{learner.loss}",\n'
        f"    {task.replace(', ', f',{chr(10)}    ')},\n"
        f"    kernel={kernel},\n"
        f"    regularization={strength},\n"
        f"{width}"
        ")\n"
        "print(solution.generalization_error, solution.memorization_error, solution.regularization)\n"
        f"print(rules_facts.bayes_optimal({task}).generalization_error)\n"
    )


def _command(learner: LearnerOnTask, name: str) -> str:
    kernel = f"--kernel-angle {name}" if name[0].isdigit() else f"--kernel {name}"
    strength = "optimal" if learner.regularization is None else f"{learner.regularization:g}"
    width = "" if learner.width_ratio is None else f" --width-ratio {learner.width_ratio:g}"
    return (
        f"genlaws rules-facts solve --loss {learner.loss} --sample-ratio {learner.sample_ratio:g} "
        f"--fact-fraction {learner.fact_fraction:g} {kernel} --regularization {strength}{width}"
    )


VIEW = View(
    name="rules-facts",
    title="Rules and facts",
    question="What will a learner generalize, and what will it remember?",
    about="Part of the labels follow a rule; the rest are facts, coin flips that can only be memorized. In the limit "
    "of large dimension the theory gives both errors exactly, for kernel methods and wide layers of random features. A "
    "kernel enters by one angle: its linear part finds the rule, the rest memorizes the facts, and the regularization "
    "trades one for the other.",
    settings=TheorySettings,
    answer=answer,
)
