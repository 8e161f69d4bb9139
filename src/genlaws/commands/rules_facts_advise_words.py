"""Say the advice of ``genlaws rules-facts advise`` in words: the answer, the choices, what was measured, a caution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from genlaws.commands.output import aligned

if TYPE_CHECKING:
    from genlaws.numerics.intervals import Estimate
    from genlaws.rules_facts import Advice
    from genlaws.rules_facts.advice_result import Choice

# The theory's angle counts as reached when it is missed by less than this, in radians.
REACHED = 0.02
# An interval of the share of facts that is wider than this says hardly anything.
WIDE = 0.3
CHOICES = {
    "theory_memory": "theory, for memory",
    "theory_rule": "theory, for the rule",
    "found_memory": "best found, for memory",
    "found_rule": "best found, for the rule",
}
HEADER = ("choice", "kernel", "λ", "angle", "rule error, left out", "memory error", "theory: rule", "memory")
SOURCES = {
    "given": "given",
    "counted": "the facts are known",
    "estimated": "estimated from how sure and how right left-out predictions are",
}
CAUTION = (
    "The theory is for Gaussian inputs and a linear rule: it says which kernel to take; its levels need not match.\n"
    "'Best found' is the best of many, so its error is optimistic; the cost of memory compares the best that\n"
    "remembers with the best of all, on samples that took no part in the choice."
)
ABOUT_SHARE = (
    "A label that kernels of this family cannot explain counts as a fact, whatever it is: ε is about them, too."
)


def explain(advice: Advice) -> str:
    """Return the printed answer."""
    cautions = [CAUTION]
    if advice.fact_fraction_source == "estimated":
        cautions.append(ABOUT_SHARE)
        if advice.fact_fraction.high - advice.fact_fraction.low > WIDE:
            cautions.append("Its interval is wide here: the theory's choices, which follow from it, rest on little.")
    return "\n\n".join([_answer(advice), _table(advice), aligned(_numbers(advice)), "\n".join(cautions)])


def _answer(advice: Advice) -> str:
    memory, rule = advice.theory_memory, advice.theory_rule
    sentences = [
        f"To remember every label, take {_name(advice, memory)} with {_ridge(advice, memory)}: rule error "
        f"{_plain(memory.generalisation_error)} on left-out samples.",
        f"For the rule alone, take {_name(advice, rule)} with {_ridge(advice, rule)}: rule error "
        f"{_plain(rule.generalisation_error)}.",
        *_better(advice),
        f"Memory costs {_plain(advice.price_of_memory)} of rule error, {_meaning(advice.price_of_memory)}.",
    ]
    return "\n".join(sentences + _unreached(advice))


def _better(advice: Advice) -> list[str]:
    """Say so where the theory's choice for the rule is worse than what cross-validation chooses."""
    if not advice.price_of_theory.low > 0.0:
        return []
    found = advice.found_rule
    return [
        f"On these data that is worse than what cross-validation chooses, by {_plain(advice.price_of_theory)}: "
        f"rather take {_name(advice, found)} with {_ridge(advice, found)}."
    ]


def _meaning(price: Estimate) -> str:
    if price.low > 0.0:
        return "more than chance explains"
    if price.high < 0.0:
        return "less than nothing, so that remembering helps"
    return "no more than chance explains"


def _unreached(advice: Advice) -> list[str]:
    """Say where the family does not reach the angle the theory prefers."""
    wanted = {
        "memory": (advice.theory_memory, advice.wanted_angle_memory),
        "the rule": (advice.theory_rule, advice.wanted_angle_rule),
    }
    return [
        f"For {what} the theory prefers an angle of {angle:.2f} rad; the nearest tried is {choice.kernel_angle:.2f}."
        for what, (choice, angle) in wanted.items()
        if abs(choice.kernel_angle - angle) > REACHED
    ]


def _table(advice: Advice) -> str:
    rows: list[Sequence[str]] = [HEADER]
    for name, title in CHOICES.items():
        choice: Choice = getattr(advice, name)
        rows.append(
            (
                title,
                _name(advice, choice),
                f"{choice.regularisation:.3g}",
                f"{choice.kernel_angle:.3f}",
                _plain(choice.generalisation_error),
                f"{choice.memorisation_error:.3f}",
                f"{choice.predicted_generalisation_error:.3f}",
                f"{choice.predicted_memorisation_error:.3f}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _numbers(advice: Advice) -> dict[str, str]:
    known = advice.fact_fraction_source != "estimated"
    counted = "facts" if known else "samples that left-out predictions contradict"
    counts = f"rule error from {advice.rule_count}, memory error from {advice.memory_count} {counted}"
    first, last = f"{advice.family}:{advice.parameter[0]:.4g}", f"{advice.family}:{advice.parameter[-1]:.4g}"
    effective = f"per effective dimension {advice.effective_sample_ratio:.3g}"
    rows = {
        "samples n": f"{advice.sample_count}; {counts}",
        "dimension d": f"{advice.dimension}, effective {advice.effective_dimension:.1f}",
        "samples per dimension α": f"{advice.sample_ratio:.3g}, {effective}",
        "share of facts ε": f"{_plain(advice.fact_fraction)} ({SOURCES[advice.fact_fraction_source]})",
        "kernels tried": f"{len(advice.parameter)}, from {first} to {last}",
    }
    chosen = {getattr(advice, name).parameter for name in CHOICES}
    for row, parameter in enumerate(advice.parameter):
        if parameter in chosen:
            rows[f"{advice.family}:{parameter:.4g}"] = (
                f"μ1 {advice.mu_1[row]:.4f}, μ* {advice.mu_star[row]:.4f}, angle {advice.kernel_angle[row]:.3f} rad"
            )
    return rows


def _name(advice: Advice, choice: Choice) -> str:
    return f"{advice.family}:{choice.parameter:.4g}"


def _ridge(advice: Advice, choice: Choice) -> str:
    """Return the regularisation in words; the smallest that was tried stands for its limit."""
    smallest = advice.regularisation[advice.parameter == choice.parameter][0, 0]
    return "λ → 0" if choice.regularisation <= smallest else f"λ = {choice.regularisation:.3g}"


def _plain(estimate: Estimate) -> str:
    return str(replace(estimate, count=0))
