"""The report on rules and facts: both errors beside trained learners, and kernels for real digits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.figures.progress import Progress
from genlaws.numerics.intervals import Estimate
from genlaws.panels import Curve, Panel
from genlaws.report.agreement import Agreement, agreement
from genlaws.report.rules_facts_runs import (
    FACTS,
    KERNEL,
    REGULARISATION,
    DigitPair,
    Learned,
    train_learners,
    try_digits,
)
from genlaws.report.rules_facts_words import COMMAND, LAW, PYTHON, YOURS
from genlaws.report.section import Section
from genlaws.rules_facts import bayes_optimal, optimal_angle, solve

COLOURS = {"square": "blue", "hinge": "vermillion", "Bayes": "ink"}
NAMES = {"square": "ridge regression", "hinge": "support vector machine", "Bayes": "best possible"}
RUNS = {"square": "trained", "hinge": "trained", "Bayes": "message passing"}
PAIR_COLOURS = ("blue", "orange", "green", "purple")
# In d dimensions a mean error lies off its limit by c/d, however many runs there are. Over 42 settings the median c was
# 0.6 for the rule and 1.0 for the facts (docs/finite_size.md); twice the larger is allowed for.
SHIFT = 2.0
FEWEST_FACTS = 10  # expected wrong facts below which a normal law does not describe their number


@dataclass(frozen=True)
class Sizes:
    """How much is run."""

    ratios: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    dimension: int = 150
    runs: int = 10
    pairs: tuple[tuple[int, int], ...] = ((3, 8), (4, 9), (1, 7))
    samples: int = 200


QUICK = Sizes(ratios=(0.5, 2.0), dimension=60, runs=4, pairs=((3, 8),), samples=60)
DIGIT_FACTS = 0.3


def rules_facts_section(progress: Progress, seed: int, *, quick: bool = False) -> Section:
    """Train learners on rules and facts beside the theory, and try kernels on digits."""
    sizes = QUICK if quick else Sizes()
    progress.start(len(sizes.ratios) + len(sizes.pairs), "rules and facts")
    learned = train_learners(sizes.ratios, sizes.dimension, sizes.runs, seed, progress.advance)
    digits = try_digits(sizes.pairs, sizes.samples, DIGIT_FACTS, seed, progress.advance)
    compared = _compared(learned)
    ran = {"facts": FACTS, "digit_facts": DIGIT_FACTS, "samples": sizes.samples, "pair": sizes.pairs[0], "seed": seed}
    return Section(
        name="rules-facts",
        title="Rules and facts",
        question="Can a learner find the rule and still remember every exception?",
        law=LAW,
        panels=(_rule_panel(learned), _memory_panel(learned), _digits_panel(digits)),
        numbers=(*_theory_numbers(compared, learned), *_digit_numbers(digits)),
        findings=(*_findings(compared, learned), _digit_finding(digits)),
        yours=YOURS,
        python=PYTHON.format(**ran),
        command=COMMAND.format(**ran),
    )


def _theory(name: str, ratios: np.ndarray) -> dict[str, np.ndarray]:
    """Return both errors of a learner in the limit of many dimensions."""
    if name == "Bayes":
        return {"generalisation": bayes_optimal(sample_ratio=ratios, fact_fraction=FACTS).generalisation_error}
    found = solve(name, sample_ratio=ratios, fact_fraction=FACTS, kernel=KERNEL, regularisation=REGULARISATION)
    return {"generalisation": found.generalisation_error, "memorisation": found.memorisation_error}


def _error_curves(learned: dict[str, Learned], error: str) -> tuple[Curve, ...]:
    """Return theory and runs of every learner that has this error."""
    curves = []
    for name, one in learned.items():
        line = np.geomspace(one.sample_ratio[0], one.sample_ratio[-1], 41)
        law = _theory(name, line).get(error)
        if law is None:
            continue
        curves.append(Curve(f"{NAMES[name]}, theory", "theory", line.tolist(), law.tolist(), COLOURS[name]))
        curves.append(
            _points(f"{NAMES[name]}, {RUNS[name]}", one.sample_ratio.tolist(), one.mean(error), COLOURS[name])
        )
    return tuple(curves)


def _rule_panel(learned: dict[str, Learned]) -> Panel:
    one = learned["square"]
    return Panel(
        "rules-facts-rule",
        "Error on the rule",
        "samples per dimension α",
        "generalisation error ε_gen",
        _error_curves(learned, "generalisation"),
        x_log=True,
        y_log=True,
        caption=f"Lines: theory for infinitely many dimensions. Points: means of {len(one.generalisation)} learners "
        f"trained for this report in {one.dimension} dimensions, 95 % intervals. {_setting()} Below the "
        "dark line no learner can be.",
    )


def _memory_panel(learned: dict[str, Learned]) -> Panel:
    return Panel(
        "rules-facts-memory",
        "Error on the facts",
        "samples per dimension α",
        "memorisation error ε_mem",
        _error_curves(learned, "memorisation"),
        x_log=True,
        y_range=(-0.01, 0.5),
        caption="The same learners on the facts they were trained on: with more samples for the same number of "
        "weights, more facts are given up for the rule. One half is guessing.",
    )


def _setting() -> str:
    return f"ReLU kernel, λ = {REGULARISATION:g}, {100 * FACTS:.0f} % of the labels are facts."


def _digits_panel(digits: tuple[DigitPair, ...]) -> Panel:
    curves = []
    for one, colour in zip(digits, PAIR_COLOURS, strict=False):
        advice, best = one.advice, one.advice.generalisation_error.argmin(axis=1)
        rows = np.arange(len(best))
        found = [
            Estimate(*numbers)
            for numbers in zip(
                advice.generalisation_error[rows, best],
                advice.generalisation_low[rows, best],
                advice.generalisation_high[rows, best],
                strict=True,
            )
        ]
        name = f"{one.first} against {one.second}"
        if advice.theory_fits:
            line = advice.predicted_at_best.tolist()
            curves.append(Curve(f"{name}, theory", "theory", advice.parameter.tolist(), line, colour))
        curves.append(_points(f"{name}, left-out digits", advice.parameter.tolist(), found, colour))
    count = digits[0].advice.sample_count
    return Panel(
        "rules-facts-digits",
        "Kernels tried on pairs of digits",
        "parameter γ of the Gaussian kernel",
        "error on the rule at the best λ",
        tuple(curves),
        x_log=True,
        caption=f"{count} samples of scikit-learn's digits for each pair, {100 * DIGIT_FACTS:.0f} % of them other "
        "digits with coin-flip labels. Points: ridge regression on left-out samples with 95 % intervals, at the best "
        "of several λ and therefore a little too low. The theory, for Gaussian inputs and a linear rule, is drawn as a "
        "line where it agrees with the measured errors.",
    )


def _points(name: str, x: list[float], found: list[Estimate], colour: str) -> Curve:
    """Return estimates as points with intervals."""
    low, high = [one.low for one in found], [one.high for one in found]
    return Curve(name, "run", x, [one.value for one in found], colour, low, high)


def _compared(learned: dict[str, Learned]) -> dict[str, Agreement]:
    """Return how each error agrees with the theory, in standard errors that allow for a shift of finite size."""
    z: dict[str, list[float]] = {"generalisation": [], "memorisation": []}
    for name, one in learned.items():
        for error, law in _theory(name, one.sample_ratio).items():
            runs: np.ndarray = getattr(one, error)
            scatter = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
            allowed = np.hypot(scatter, SHIFT / one.dimension)
            expected = law * one.sample_ratio * one.dimension * FACTS * len(runs)
            counted = np.isfinite(allowed) & ((expected >= FEWEST_FACTS) | (error == "generalisation"))
            z[error] += ((runs.mean(axis=0) - law) / allowed)[counted].tolist()
    return {error: agreement(values) for error, values in z.items() if values}


def _findings(compared: dict[str, Agreement], learned: dict[str, Learned]) -> tuple[str, ...]:
    allowed = f"A shift of {SHIFT:g}/d is allowed for, since the theory is for infinitely many dimensions d."
    whats = {"generalisation": "mean errors on the rule", "memorisation": "mean errors on the facts"}
    sentences = [one.sentence(whats[error]) for error, one in compared.items()]
    last = {name: one.mean("generalisation")[-1] for name, one in learned.items()}
    ratio = learned["square"].sample_ratio[-1]
    gap = (
        f"With {ratio:g} samples per dimension ridge regression breaks the rule in {last['square'].value:.3f} of cases "
        f"(± {_half(last['square']):.3f}), the best possible learner in {last['Bayes'].value:.3f} "
        f"(± {_half(last['Bayes']):.3f})."
    )
    return (f"{sentences[0]} {allowed}", *sentences[1:], gap)


def _half(found: Estimate) -> float:
    return 0.5 * (found.high - found.low)


def _theory_numbers(compared: dict[str, Agreement], learned: dict[str, Learned]) -> tuple[tuple[str, str, str], ...]:
    one = learned["square"]
    angle = float(optimal_angle("square", sample_ratio=1.0, fact_fraction=FACTS))
    rows = [
        (
            f"largest z, {error}",
            f"{found.largest:.2f} of {found.count}",
            f"{len(one.generalisation)} runs, d = {one.dimension}",
        )
        for error, found in compared.items()
    ]
    rows.append(("best angle", f"{angle:.4f} rad", f"of the kernel, square loss, {100 * FACTS:.0f} % facts"))
    return tuple(rows)


def _digit_numbers(digits: tuple[DigitPair, ...]) -> tuple[tuple[str, str, str], ...]:
    meaning = "how much more often the best learner that keeps every fact breaks the rule"
    return tuple(
        (f"price of memory, {one.first} against {one.second}", str(one.advice.price_of_memory), meaning)
        for one in digits
    )


def _digit_finding(digits: tuple[DigitPair, ...]) -> str:
    costly = [one for one in digits if one.advice.price_of_memory.low > 0]
    worst = max(digits, key=lambda one: one.advice.found_memory.nested_generalisation_error.value)
    described = sum(one.advice.theory_fits for one in digits)
    opening = (
        "On none of the pairs of digits does remembering every fact cost more than chance explains"
        if not costly
        else f"Remembering every fact costs more than chance explains on {len(costly)} of {len(digits)} pairs of digits"
    )
    return (
        f"{opening}. With the kernel that cross-validation chooses for memory the error on the rule is at most "
        f"{worst.advice.found_memory.rule_error_text} ({worst.first} against {worst.second}). The theory, for Gaussian "
        f"inputs and a linear rule, agrees with the measured errors on {described} of {len(digits)} pairs."
    )
