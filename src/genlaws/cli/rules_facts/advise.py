"""``genlaws rules-facts advise``: which kernel and regularization to use for labeled data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from genlaws.cli.numbers import read_numbers
from genlaws.cli.output import DEFAULT_OUTPUT, Output, ProgressBar, aligned, as_json, table
from genlaws.core.arguments import fraction
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.figures.drawing import check_folder
from genlaws.figures.rules_facts.advice import write_advice
from genlaws.rules_facts import advise as find_advice
from genlaws.rules_facts import draw_labeled, load_labeled
from genlaws.rules_facts.labels.data import largest_sample_count, pools_of
from genlaws.rules_facts.labels.fact_fraction import MIN_SAMPLES
from genlaws.rules_facts.labels.result import Choice
from genlaws.rules_facts.theory.problem import SHARE_HINT

if TYPE_CHECKING:
    from genlaws.rules_facts import Advice, Draw

# An angle this close to the theory's counts as reached, in radians.
ANGLE_TOLERANCE = 0.02
# A wider interval of the share of facts carries little information.
MAX_SHARE_INTERVAL = 0.3
CHOICE_LABELS = {
    "found_memory": "best found, for memory",
    "found_rule": "best found, for the rule",
    "theory_memory": "theory, for memory",
    "theory_rule": "theory, for the rule",
}
TABLE_HEADER = ("choice", "kernel", "λ", "angle", "generalization error, left out", "memorization error")
SHARE_SOURCES = {
    "given": "given",
    "counted": "the facts are known",
    "estimated": "estimated from the confidence and accuracy of left-out predictions",
}
CHOICE_NOTE = (
    "'Best found' is what cross-validation chooses. Generalization errors, and the cost of memory, are\n"
    "measured on samples that took no part in the choice."
)
THEORY_SUBJECT = "The theory, for Gaussian inputs and a linear rule,"
THEORY_AGREES = (
    f"{THEORY_SUBJECT} agrees with these data at its own choices: its errors lie within\n"
    "the measured intervals, and the choices are worse than the best found by no more than chance explains."
)
PREDICTION_OUTSIDE = "At another choice its errors lie outside the measured intervals, and are not shown."
THEORY_DISAGREES = f"{THEORY_SUBJECT} does not describe these data, so its errors are not shown:"
CLIPPED_NOTE = (
    "Clipped: fewer labels are contradicted than the share of facts explains, so the generalization error comes out\n"
    "below zero and is set to 0. The share of facts may be smaller than assumed."
)
SHARE_NOTE = "Every label that kernels of this family cannot explain counts as a fact and is included in ε."
# Default limit of samples; a thousand take seconds with the square loss, half a minute with the hinge loss.
MAX_SAMPLES = 1000
# Cross-validation replaces a test set; a draw needs one sample of each class.
TEST_COUNT = 2
PREDICTED_PREFIX = "predicted_"  # of the names of predictions

Data = Annotated[
    str, Parameter(help="digits, a file (.npz or .csv), or the folder of CIFAR-10's batches.", show_default=True)
]
RuleClasses = Annotated[
    tuple[str, str], Parameter(help="The two classes of the rule, by value or name.", negative="", show_default=False)
]
Share = Annotated[
    float | None,
    Parameter(help="Make this share of the samples facts: coin-flip labels on other classes. If left out, estimate."),
]
FactClasses = Annotated[
    tuple[str, ...],
    Parameter(help="Classes whose samples become facts; all others if left out.", consume_multiple=True, negative=""),
]
Losses = Annotated[str, Parameter(help="square or hinge.")]
Families = Annotated[str, Parameter(help="gaussian, exponential, geometric or quadratic.")]
Parameters = Annotated[
    str | None, Parameter(help="Kernel parameters to try, as 0.1,1,10 or 0.05:50:9:log; the theory's are added.")
]
Count = Annotated[int | None, Parameter(help=f"Samples; as many as there are, up to {MAX_SAMPLES:,}, if left out.")]
Ratio = Annotated[float | None, Parameter(help="Samples per dimension, instead of --sample-count.")]
Normalize = Annotated[bool, Parameter(negative="", help="Scale every input to the same length.")]
Folds = Annotated[int, Parameter(help="Parts of the cross-validation for the hinge loss.")]


def explain(advice: Advice) -> str:
    """Return the printed answer."""
    cautions = [CHOICE_NOTE]
    if any(getattr(advice, name).nested_generalization_error_clipped for name in CHOICE_LABELS):
        cautions.append(CLIPPED_NOTE)
    if advice.fact_fraction_source == "estimated":
        cautions.append(SHARE_NOTE)
        if advice.fact_fraction.high - advice.fact_fraction.low > MAX_SHARE_INTERVAL:
            cautions.append(
                "Its interval is wide here: the theory's choices, which follow from it, rest on weak evidence."
            )
    parts = [
        _format_headline(advice),
        _format_theory_verdict(advice),
        _format_table(advice),
        aligned(_numbers(advice)),
        "\n".join(cautions),
    ]
    return "\n\n".join(parts)


def _format_headline(advice: Advice) -> str:
    price = advice.price_of_memory
    return "\n".join(
        [
            f"To remember, take {_format_choice(advice, advice.found_memory)} on {advice.memory_samples_text}.",
            f"For the rule alone, take {_format_choice(advice, advice.found_rule)}.",
            f"Memory costs {_format_interval(price)} of generalization error, {_format_price(price)}.",
        ]
    )


def _format_choice(advice: Advice, choice: Choice) -> str:
    return (
        f"{_format_kernel(advice, choice.parameter)} with {_format_regularization(advice, choice)}: generalization "
        f"error {choice.generalization_error_text}, memorization error {choice.memorization_error:.3f}"
    )


def _format_theory_verdict(advice: Advice) -> str:
    """Return whether the theory describes these data, and where not."""
    if advice.theory_fits:
        outside = any(not advice.predictions_fit(getattr(advice, name)) for name in CHOICE_LABELS)
        return "\n".join([THEORY_AGREES, *([PREDICTION_OUTSIDE] if outside else []), *_format_missed_angles(advice)])
    return "\n".join([THEORY_DISAGREES, *(f"- {one}" for one in advice.theory_misfits), *_format_missed_angles(advice)])


def _format_price(price: Estimate) -> str:
    if price.low > 0.0:
        return "more than chance explains"
    if price.high < 0.0:
        return "negative, so remembering helps"
    return "no more than chance explains"


def _format_missed_angles(advice: Advice) -> list[str]:
    """Return where the family does not reach the angle the theory prefers."""
    wanted = {
        "memory": (advice.theory_memory, advice.wanted_angle_memory),
        "the rule": (advice.theory_rule, advice.wanted_angle_rule),
    }
    return [
        f"For {what} the theory prefers an angle of {angle:.2f} rad; the nearest tried is {choice.kernel_angle:.2f}."
        for what, (choice, angle) in wanted.items()
        if abs(choice.kernel_angle - angle) > ANGLE_TOLERANCE
    ]


def _format_table(advice: Advice) -> str:
    rows: list[Sequence[str]] = [(*TABLE_HEADER, *_predictions(advice))]
    for name, title in CHOICE_LABELS.items():
        choice: Choice = getattr(advice, name)
        rows.append(
            (
                title,
                _format_kernel(advice, choice.parameter),
                f"{choice.regularization:.3g}",
                f"{choice.kernel_angle:.3f}",
                choice.generalization_error_text,
                f"{choice.memorization_error:.3f}",
                *(
                    f"{getattr(choice, field):.3f}" if advice.predictions_fit(choice) else "outside"
                    for field in _predictions(advice).values()
                ),
            )
        )
    return table(rows)


def _predictions(advice: Advice) -> dict[str, str]:
    """Return the columns of the theory: none if it does not fit, and memorization only if it is measured on facts."""
    if not advice.theory_fits:
        return {}
    rule, memory = "predicted_generalization_error", "predicted_memorization_error"
    return {"theory: generalization": rule} | ({"memorization": memory} if advice.memory_samples == "facts" else {})


def _numbers(advice: Advice) -> dict[str, str]:
    counts = f"generalization error from {advice.rule_count}, memorization error from {advice.memory_samples_text}"
    first, last = (_format_kernel(advice, advice.parameter[end]) for end in (0, -1))
    effective = f"per effective dimension {advice.effective_sample_ratio:.3g}"
    rows = {
        "samples n": f"{advice.sample_count}; {counts}",
        "dimension d": f"{advice.dimension}, effective {advice.effective_dimension:.1f}",
        "samples per dimension α": f"{advice.sample_ratio:.3g}, {effective}",
        "share of facts ε": f"{_format_interval(advice.fact_fraction)} ({SHARE_SOURCES[advice.fact_fraction_source]})",
        "kernels tried": f"{len(advice.parameter)}, from {first} to {last}",
    }
    chosen = {getattr(advice, name).parameter for name in CHOICE_LABELS}
    for row, parameter in enumerate(advice.parameter):
        if parameter in chosen:
            rows[_format_kernel(advice, parameter)] = (
                f"μ1 {advice.mu_1[row]:.4f}, μ* {advice.mu_star[row]:.4f}, angle {advice.kernel_angle[row]:.3f} rad"
            )
    return rows


def _format_kernel(advice: Advice, parameter: float) -> str:
    return f"{advice.family}:{parameter:.4g}"


def _format_regularization(advice: Advice, choice: Choice) -> str:
    """Return the regularization as text; the smallest one tried stands for the limit 0."""
    smallest = advice.regularization[advice.parameter == choice.parameter][0, 0]
    return "λ → 0" if choice.regularization <= smallest else f"λ = {choice.regularization:.3g}"


def _format_interval(estimate: Estimate) -> str:
    return str(replace(estimate, count=0))


def advise(
    data: Data = "digits",
    /,
    *,
    rule_classes: RuleClasses,
    fact_fraction: Share = None,
    fact_classes: FactClasses = (),
    loss: Losses = "square",
    family: Families = "gaussian",
    parameters: Parameters = None,
    sample_count: Count = None,
    sample_ratio: Ratio = None,
    normalize: Normalize = False,
    folds: Folds = 5,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Recommend a kernel and a regularization for labeled data: by cross-validation and by theory.

    With --fact-fraction the two classes are the rule and samples of other classes, with coin-flip labels, the facts.
    Without it the labels of the two classes are taken as they are, and the share of facts among them is estimated.
    With --out the answer, its picture and their table are written.
    """
    check_folder("out", output.out)
    tried = None if parameters is None else np.atleast_1d(read_numbers("parameters", parameters))
    draw = _draw(
        data,
        rule_classes,
        share=fact_fraction,
        facts=fact_classes,
        size=(sample_count, sample_ratio),
        seed=output.seed,
    )
    with ProgressBar(quiet=output.json) as bar:

        def progress(done: int, total: int) -> None:
            """Move the bar, which begins with the first kernel: then it is known how many there are."""
            if done == 1:
                bar.start(total, "kernels")
            bar.advance()

        advice = find_advice(
            draw.inputs,
            draw.labels,
            is_fact=None if fact_fraction is None else draw.is_fact,
            loss=loss,
            family=family,
            parameters=tried,
            normalize=normalize,
            folds=folds,
            seed=output.seed,
            progress=progress,
        )
    answer = {"data": draw.name, **summary(advice), "normalize": normalize, "folds": folds, "seed": output.seed}
    document = json.dumps(as_json(answer), indent=2)
    written = [] if output.out is None else _write(advice, draw.name, document, output.out, answer)
    if output.json:
        print(document)
        return
    print(explain(advice))
    for path in written:
        print(f"Written to {path}")


def _draw(
    source: str,
    rule: tuple[str, str],
    *,
    share: float | None,
    facts: tuple[str, ...],
    size: tuple[int | None, float | None],
    seed: int,
) -> Draw:
    """Return the task: made of rule and facts, or with the given labels if no share of facts is given."""
    if share is None and facts:
        raise InputError("fact_classes must come with fact_fraction; without it no sample is made a fact.")
    epsilon = float(fraction("fact_fraction", 0.0 if share is None else share, SHARE_HINT))
    if epsilon == 1.0:
        raise InputError("fact_fraction must be below 1: when every label is a fact there is no rule to learn.")
    data = load_labeled(source)
    chosen = list(facts) or None
    count, ratio = size
    if count is None and ratio is None:
        pools = pools_of(data, rule, chosen, epsilon)
        count = max(1, largest_sample_count(pools, epsilon, TEST_COUNT, MAX_SAMPLES))
    draw = draw_labeled(
        data,
        rule,
        fact_fraction=epsilon,
        sample_count=count,
        sample_ratio=ratio,
        fact_classes=chosen,
        test_count=TEST_COUNT,
        seed=seed,
    )
    if draw.sample_count < MIN_SAMPLES:
        raise InputError(
            f"sample_count must be at least {MIN_SAMPLES}; got {draw.sample_count} samples of {data.name}."
        )
    return draw


def summary(advice: Advice) -> dict[str, Any]:
    """Return the advice as plain names and numbers; an estimate is followed by its interval.

    What the theory predicts is left empty where it does not describe the data.
    """

    def plain(name: str, value: Any, fits: bool) -> dict[str, Any]:
        """Return a value, or the parts of it, under its name."""
        if isinstance(value, Estimate):
            return {name: value.value, f"{name}_interval": [value.low, value.high]}
        if name.startswith(PREDICTED_PREFIX) and not fits:
            return {name: None}
        if isinstance(value, Choice):
            inside = advice.predictions_fit(value)
            parts = [plain(one.name, getattr(value, one.name), inside) for one in fields(value)]
            return {name: {key: part for one in parts for key, part in one.items()}}
        return {name: value}

    answer: dict[str, Any] = {
        "sample_ratio": advice.sample_ratio,
        "effective_sample_ratio": advice.effective_sample_ratio,
        "theory_fits": advice.theory_fits,
        "theory_misfits": list(advice.theory_misfits),
    }
    for one in fields(advice):
        answer |= plain(one.name, getattr(advice, one.name), advice.theory_fits)
    return answer


def _write(advice: Advice, name: str, document: str, folder: Path, answer: dict[str, Any]) -> list[Path]:
    title = f"{name}: {advice.loss} loss, n = {advice.sample_count}, ε = {advice.fact_fraction.value:.2g}"
    settings = {key: value for key, value in answer.items() if isinstance(value, str | int | float)}
    return list(write_advice(advice, folder, title, document, settings).values())
