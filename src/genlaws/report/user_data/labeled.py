"""The user's labeled data: which kernel and penalty to use, and what remembering every label costs."""

from __future__ import annotations

import json
import shlex

import numpy as np

from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.render import Curve, Panel
from genlaws.report.section import Section
from genlaws.report.sections.rules_facts import RULES_FACTS_LAW, left_out_curve
from genlaws.report.user_data.data import UserData
from genlaws.rules_facts import Advice, advise, draw_labeled
from genlaws.rules_facts.labels.data import LabeledData

MAX_REPORT_SAMPLES = 600
MIN_CLASS_SAMPLES = 20  # of the smaller class
NESTED_NOTE = "on samples that took no part in the choice"
TEST_COUNT = 2  # cross-validation replaces a test set
LABELED_CODE = """from genlaws import rules_facts

data = rules_facts.load_labeled({name})
drawn = {{"fact_fraction": 0.0, "sample_count": {count}, "test_count": {test}, "seed": {seed}}}
draw = rules_facts.draw_labeled(data, {pair!r}, **drawn)
advice = rules_facts.advise(draw.inputs, draw.labels, seed={seed})
print(advice.fact_fraction)
print(advice.price_of_memory)"""


def labeled_section(data: UserData, content: LabeledData, name: str, seed: int) -> Section:
    """Apply cross-validation and the theory to the two largest classes of labeled data."""
    first, second = _rule(data, content)
    held = content.class_counts
    count = min(MAX_REPORT_SAMPLES, 2 * (min(held[first], held[second]) - 1))
    draw = draw_labeled(
        content, (first, second), fact_fraction=0.0, sample_count=count, test_count=TEST_COUNT, seed=seed
    )
    advice = advise(draw.inputs, draw.labels, seed=seed)
    pair = f"{content.title(first)} against {content.title(second)}"
    return Section(
        name=name,
        title=f"Yours: {data.name}",
        question="Which kernel should your data have, and what does remembering cost?",
        law=RULES_FACTS_LAW,
        panels=(_panel(advice, name, pair),),
        numbers=_numbers(advice),
        findings=(data.message, f"The rule is {pair}, the two largest classes, {count} samples.", _finding(advice)),
        implications=(
            f"To remember, take a Gaussian kernel with γ = {advice.found_memory.parameter:.3g} and λ = "
            f"{advice.found_memory.regularization:.2g}; for the rule alone γ = {advice.found_rule.parameter:.3g} and "
            f"λ = {advice.found_rule.regularization:.2g}. Cross-validation chose them.",
            _format_theory_verdict(advice),
        ),
        python=LABELED_CODE.format(
            name=json.dumps(data.name), pair=(first, second), count=count, test=TEST_COUNT, seed=seed
        ),
        command=shlex.join(["genlaws", "rules-facts", "advise", data.name, "--rule-classes", str(first), str(second)])
        + f" --sample-count {count} --seed {seed}",
    )


def _rule(data: UserData, content: LabeledData) -> tuple[int | str, int | str]:
    """Return the two largest classes."""
    largest = sorted(content.class_counts.items(), key=lambda one: -one[1])[:2]
    if len(largest) < 2 or largest[1][1] < MIN_CLASS_SAMPLES:
        raise InputError(
            f"{data.name} must have two classes of at least {MIN_CLASS_SAMPLES} samples each; got "
            f"{', '.join(f'{count} of {one}' for one, count in largest)}."
        )
    return largest[0][0], largest[1][0]


def _panel(advice: Advice, name: str, pair: str) -> Panel:
    best = advice.generalization_error.argmin(axis=1)
    curves = []
    if advice.theory_fits:
        curves = [
            Curve("theory, best λ", "theory", advice.parameter.tolist(), advice.predicted_at_best.tolist(), "blue"),
            Curve("theory, λ → 0", "theory", advice.parameter.tolist(), advice.predicted_at_zero.tolist(), "orange"),
        ]
    for label, column, color in (("best λ", best, "blue"), ("least λ", np.zeros_like(best), "orange")):
        curves.append(left_out_curve(f"left-out samples, {label}", advice, column, color))
    return Panel(
        f"{name}-kernels",
        f"Kernels tried on {pair}",
        "parameter γ of the Gaussian kernel",
        "generalization error",
        tuple(curves),
        x_log=True,
        caption="Points: ridge regression on left-out samples, corrected for the estimated share of facts, not below "
        "zero, 95 % intervals. "
        + ("Lines: theory." if advice.theory_fits else "The theory is not drawn: it does not describe these data."),
    )


def _numbers(advice: Advice) -> tuple[tuple[str, str, str], ...]:
    return (
        ("share of facts ε", str(advice.fact_fraction), "labels that kernels of this family cannot explain, estimated"),
        (
            "samples per dimension",
            f"{advice.sample_ratio:.3g}",
            f"{advice.effective_sample_ratio:.3g} per effective one",
        ),
        ("generalization error, chosen for the rule", advice.found_rule.generalization_error_text, NESTED_NOTE),
        ("generalization error, chosen for memory", advice.found_memory.generalization_error_text, NESTED_NOTE),
        (
            "memorization error, chosen for memory",
            f"{advice.found_memory.memorization_error:.3f}",
            f"on {advice.memory_samples_text}",
        ),
        ("generalization error, theory's kernel", advice.theory_rule.generalization_error_text, "on left-out samples"),
        ("price of memory", str(advice.price_of_memory), "by how much remembering raises the generalization error"),
    )


def _format_theory_verdict(advice: Advice) -> str:
    theory = "The theory, for Gaussian inputs and a linear rule,"
    if advice.theory_fits:
        return f"{theory} agrees with your data within the intervals."
    return f"{theory} does not describe your data: {'; '.join(advice.theory_misfits)}."


def _finding(advice: Advice) -> str:
    price: Estimate = advice.price_of_memory
    meaning = "more than chance explains" if price.low > 0 else "no more than chance explains"
    return (
        f"Remembering costs {price.value:.3f} [{price.low:.3f}, {price.high:.3f}] of generalization error, {meaning}."
    )
