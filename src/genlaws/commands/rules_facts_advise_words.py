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
    "found_memory": "best found, for memory",
    "found_rule": "best found, for the rule",
    "theory_memory": "theory, for memory",
    "theory_rule": "theory, for the rule",
}
HEADER = ("choice", "kernel", "λ", "angle", "rule error, left out", "memory error")
SOURCES = {
    "given": "given",
    "counted": "the facts are known",
    "estimated": "estimated from how sure and how right left-out predictions are",
}
CAUTION = (
    "'Best found' is what cross-validation chooses. Rule errors, and the cost of memory, are counted on samples that\n"
    "took no part in the choice."
)
THEORY = "The theory, for Gaussian inputs and a linear rule,"
AGREES = (
    f"{THEORY} agrees with these data at its own choices: its errors lie within\n"
    "the measured intervals, and the choices are worse than the best found by no more than chance explains."
)
OUTSIDE = "At another choice its errors lie outside the measured intervals, and are not shown."
DISAGREES = f"{THEORY} does not describe these data, so its errors are not shown:"
CLIPPED = (
    "Clipped: fewer labels are contradicted than the share of facts explains, so the rule error comes out below zero\n"
    "and is set to 0. The share of facts may be smaller than it is taken to be."
)
ABOUT_SHARE = (
    "A label that kernels of this family cannot explain counts as a fact, whatever it is: ε is about them, too."
)


def explain(advice: Advice) -> str:
    """Return the printed answer."""
    cautions = [CAUTION]
    if any(getattr(advice, name).nested_generalisation_error_clipped for name in CHOICES):
        cautions.append(CLIPPED)
    if advice.fact_fraction_source == "estimated":
        cautions.append(ABOUT_SHARE)
        if advice.fact_fraction.high - advice.fact_fraction.low > WIDE:
            cautions.append("Its interval is wide here: the theory's choices, which follow from it, rest on little.")
    parts = [_answer(advice), _verdict(advice), _table(advice), aligned(_numbers(advice)), "\n".join(cautions)]
    return "\n\n".join(parts)


def _answer(advice: Advice) -> str:
    memory, rule = advice.found_memory, advice.found_rule
    return "\n".join(
        [
            f"To remember, take {_name(advice, memory)} with {_ridge(advice, memory)}: rule error "
            f"{memory.rule_error_text}, memory error {memory.memorisation_error:.3f} on {advice.memory_samples_text}.",
            f"For the rule alone, take {_name(advice, rule)} with {_ridge(advice, rule)}: rule error "
            f"{rule.rule_error_text}, memory error {rule.memorisation_error:.3f}.",
            f"Memory costs {_plain(advice.price_of_memory)} of rule error, {_meaning(advice.price_of_memory)}.",
        ]
    )


def _verdict(advice: Advice) -> str:
    """Say whether the theory describes these data, and where not."""
    if advice.theory_fits:
        outside = any(not advice.predictions_fit(getattr(advice, name)) for name in CHOICES)
        return "\n".join([AGREES, *([OUTSIDE] if outside else []), *_unreached(advice)])
    return "\n".join([DISAGREES, *(f"- {one}" for one in advice.theory_misfits), *_unreached(advice)])


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
    rows: list[Sequence[str]] = [(*HEADER, *_predictions(advice))]
    for name, title in CHOICES.items():
        choice: Choice = getattr(advice, name)
        rows.append(
            (
                title,
                _name(advice, choice),
                f"{choice.regularisation:.3g}",
                f"{choice.kernel_angle:.3f}",
                choice.rule_error_text,
                f"{choice.memorisation_error:.3f}",
                *(
                    f"{getattr(choice, field):.3f}" if advice.predictions_fit(choice) else "outside"
                    for field in _predictions(advice).values()
                ),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _predictions(advice: Advice) -> dict[str, str]:
    """Return the columns of the theory: none where it does not fit, and memory only where it is that of facts."""
    if not advice.theory_fits:
        return {}
    rule, memory = "predicted_generalisation_error", "predicted_memorisation_error"
    return {"theory: rule": rule} | ({"memory": memory} if advice.memory_samples == "facts" else {})


def _numbers(advice: Advice) -> dict[str, str]:
    counts = f"rule error from {advice.rule_count}, memory error from {advice.memory_samples_text}"
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
