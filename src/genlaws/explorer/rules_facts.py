"""What a learner generalises and what it remembers, while the sliders move."""

from __future__ import annotations

import math
from typing import Literal

from genlaws.explorer.controls import ViewSettings, choice, slider
from genlaws.explorer.rules_facts_panels import LEARNERS, angle_panel, samples_panel, tradeoff_panel
from genlaws.explorer.rules_facts_theory import ANGLES, SAMPLE_RATIOS, Learner, bayes_error, curves, solved_here
from genlaws.explorer.view import Answer, Number, View
from genlaws.rules_facts import Kernel, interpolation_threshold, optimal_angle

# Sliders move in steps; what is finer than this many digits is not.
DIGITS = 4


class Settings(ViewSettings):
    """Every parameter of the theory."""

    loss: Literal["square", "hinge"] = choice(
        "square", "loss", about="Square: ridge regression. Hinge: a support vector machine."
    )
    sample_ratio: float = slider(
        4.0,
        *SAMPLE_RATIOS,
        "samples per dimension α",
        step=0.02,
        log=True,
        about="Training samples per input dimension.",
    )
    fact_fraction: float = slider(
        0.2, 0.0, 1.0, "share of facts ε", step=0.01, about="Share of the labels that are coin flips to be memorised."
    )
    kernel: Literal["angle", "linear", "sign", "erf", "relu", "gaussian", "exponential", "geometric", "polynomial"] = (
        choice("angle", "kernel", about="By its angle, which is all that matters here, or by name.")
    )
    kernel_angle: float = slider(
        1.0,
        *ANGLES,
        "kernel angle θ (rad)",
        step=0.01,
        about="From a pure memoriser (0) to the linear model (π/2).",
        when={"kernel": "angle"},
    )
    gaussian_rate: float = slider(
        1.0,
        0.05,
        10.0,
        "inverse squared width γ",
        step=0.02,
        log=True,
        about="Of the Gaussian kernel exp(−γ(1−t)): the larger, the narrower.",
        when={"kernel": "gaussian"},
    )
    exponential_rate: float = slider(
        1.0, 0.05, 10.0, "rate γ", step=0.02, log=True, about="Of the kernel exp(γt).", when={"kernel": "exponential"}
    )
    geometric_ratio: float = slider(
        0.5, 0.02, 0.98, "ratio γ", step=0.01, about="Of the kernel 1/(1 − γt).", when={"kernel": "geometric"}
    )
    polynomial_degree: int = slider(
        3, 2, 8, "degree r", step=1.0, about="Of the kernel (c + t)^r.", when={"kernel": "polynomial"}
    )
    polynomial_offset: float = slider(
        1.0,
        0.01,
        10.0,
        "constant c",
        step=0.02,
        log=True,
        about="Added to t in the kernel (c + t)^r; the larger, the more linear.",
        when={"kernel": "polynomial"},
    )
    regularisation: Literal["optimal", "chosen"] = choice(
        "optimal", "regularisation", about="The one that serves the rule best, or one of your choice."
    )
    strength: float = slider(
        0.1,
        1e-4,
        1e3,
        "regularisation λ",
        step=0.05,
        log=True,
        about="Weight of the penalty on the size of the learner.",
        when={"regularisation": "chosen"},
    )
    width: Literal["infinite", "finite"] = choice(
        "infinite", "width", about="A kernel is a layer of infinitely many random features."
    )
    width_ratio: float = slider(
        2.0,
        0.1,
        20.0,
        "random features per dimension κ",
        step=0.02,
        log=True,
        about="Number of random features per input dimension.",
        when={"width": "finite"},
    )


def answer(settings: Settings) -> Answer:
    """Return the errors of a learner, with what they depend on."""
    name, kernel = _kernel(settings)
    learner = Learner(
        loss=settings.loss,
        sample_ratio=_rounded(settings.sample_ratio),
        fact_fraction=_rounded(settings.fact_fraction),
        mu_1=float(kernel.mu_1),
        mu_star=float(kernel.mu_star),
        regularisation=None if settings.regularisation == "optimal" else _rounded(settings.strength),
        width_ratio=None if settings.width == "infinite" else _rounded(settings.width_ratio),
    )
    shown = curves(learner), solved_here(learner)
    return Answer(
        panels=(samples_panel(learner, *shown), tradeoff_panel(learner, *shown), angle_panel(learner, *shown)),
        numbers=_numbers(learner, kernel),
        sentence=_sentence(learner),
        python=_python(learner, name),
        command=_command(learner, name),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _kernel(settings: Settings) -> tuple[str, Kernel]:
    """Return how the kernel is named, by its angle or as a family with its parameters, and the kernel."""
    if settings.kernel == "angle":
        angle = _rounded(settings.kernel_angle)
        return f"{angle:g}", Kernel.from_angle(angle)
    parameters = {
        "gaussian": [settings.gaussian_rate],
        "exponential": [settings.exponential_rate],
        "geometric": [settings.geometric_ratio],
        "polynomial": [float(settings.polynomial_degree), settings.polynomial_offset],
    }.get(settings.kernel, [])
    listed = ",".join(f"{_rounded(one):g}" for one in parameters)
    name = f"{settings.kernel}:{listed}" if listed else settings.kernel
    return name, Kernel.from_name(name)


def _numbers(learner: Learner, kernel: Kernel) -> tuple[Number, ...]:
    here = solved_here(learner)
    least = bayes_error(learner.sample_ratio, learner.fact_fraction)
    limit = float(
        interpolation_threshold(
            learner.loss, fact_fraction=learner.fact_fraction, kernel=kernel, width_ratio=learner.width_ratio
        )
    )
    best = [
        Number(
            "best angle without regularisation",
            f"{float(optimal_angle(fact_fraction=learner.fact_fraction)):.4f} rad",
            "of a kernel for ridge regression that keeps every fact; larger angles reach the same with the best λ",
        )
    ]
    how = "the best for the rule" if learner.regularisation is None else "as chosen"
    return (
        Number("rule error", f"{here.rule[0]:.4f}", "share of new inputs on which the rule is broken"),
        Number("fact error", f"{here.fact[0]:.3f}", "share of the facts shown that are given wrong"),
        Number("Bayes-optimal rule error", f"{least:.4f}", "no learner does better from these data"),
        Number("regularisation λ", f"{here.regularisation[0]:.3g}", how),
        Number("kernel angle θ", f"{learner.angle:.4f} rad", f"μ1 = {learner.mu_1:.4g}, μ* = {learner.mu_star:.4g}"),
        Number(
            "every label can be fitted up to α",
            "any number" if math.isinf(limit) else f"{limit:.4g}",
            "samples per dimension at which the learner runs out of room, unregularised",
        ),
        *(best if learner.loss == "square" and learner.width_ratio is None else []),
    )


def _sentence(learner: Learner) -> str:
    here = solved_here(learner)
    rule, fact = float(here.rule[0]), float(here.fact[0])
    least = bayes_error(learner.sample_ratio, learner.fact_fraction)
    if not math.isfinite(rule + fact):
        return "The equations have no finite solution here: labels can just not be fitted without regularisation."
    says = (
        f"On new inputs this {LEARNERS[learner.loss]} breaks the rule {rule:.1%} of the time (the best possible is "
        f"{least:.1%}), and of the facts it was shown it gets {fact:.1%} wrong."
    )
    if learner.fact_fraction == 1.0:
        return says + " Every label is a coin flip, so there is no rule to find."
    if fact < 5e-4:
        return says + " It keeps every fact and follows the rule at once."
    return says


def _python(learner: Learner, name: str) -> str:
    by_angle = name[0].isdigit()
    kernel = f"rules_facts.Kernel.from_angle({name})" if by_angle else repr(name)
    strength = '"optimal"' if learner.regularisation is None else f"{learner.regularisation:g}"
    width = "" if learner.width_ratio is None else f"    width_ratio={learner.width_ratio:g},\n"
    task = f"sample_ratio={learner.sample_ratio:g}, fact_fraction={learner.fact_fraction:g}"
    return (
        "from genlaws import rules_facts\n\n"
        "solution = rules_facts.solve(\n"
        f'    "{learner.loss}",\n'
        f"    {task.replace(', ', f',{chr(10)}    ')},\n"
        f"    kernel={kernel},\n"
        f"    regularisation={strength},\n"
        f"{width}"
        ")\n"
        "print(solution.generalisation_error, solution.memorisation_error, solution.regularisation)\n"
        f"print(rules_facts.bayes_optimal({task}).generalisation_error)\n"
    )


def _command(learner: Learner, name: str) -> str:
    kernel = f"--kernel-angle {name}" if name[0].isdigit() else f"--kernel {name}"
    strength = "optimal" if learner.regularisation is None else f"{learner.regularisation:g}"
    width = "" if learner.width_ratio is None else f" --width-ratio {learner.width_ratio:g}"
    return (
        f"genlaws rules-facts solve --loss {learner.loss} --sample-ratio {learner.sample_ratio:g} "
        f"--fact-fraction {learner.fact_fraction:g} {kernel} --regularisation {strength}{width}"
    )


VIEW = View(
    name="rules-facts",
    title="Rules and facts",
    question="What will a learner generalise, and what will it remember?",
    about="Part of the labels follow a rule; the rest are facts, coin flips that can only be memorised. In the limit "
    "of large dimension the theory gives both errors exactly, for kernel methods and wide layers of random features. A "
    "kernel enters by one angle: its linear part finds the rule, the rest keeps the facts, and the regularisation "
    "trades one for the other.",
    settings=Settings,
    answer=answer,
)
