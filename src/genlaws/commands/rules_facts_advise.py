"""``genlaws rules-facts advise``: which kernel and regularisation should these data have?"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.commands.numbers import read_numbers
from genlaws.commands.output import DEFAULT_OUTPUT, Output, as_json
from genlaws.commands.progress import ProgressBar
from genlaws.commands.rules_facts_advise_words import explain
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from genlaws.rules_facts import Advice, Draw
    from genlaws.rules_facts.labelled_data import LabelledData

# Samples taken where no number is given; a thousand take seconds with the square loss, half a minute with the hinge.
MOST_SAMPLES = 1000
# Cross-validation takes the place of a test set; a draw wants one sample of each class.
TEST_COUNT = 2
PREDICTED = "predicted_"  # how the names of what the theory predicts begin

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
Count = Annotated[int | None, Parameter(help=f"Samples; as many as there are, up to {MOST_SAMPLES:,}, if left out.")]
Ratio = Annotated[float | None, Parameter(help="Samples per dimension, instead of --sample-count.")]
Normalise = Annotated[bool, Parameter(negative="", help="Scale every input to the same length.")]
Folds = Annotated[int, Parameter(help="Parts of the cross-validation for the hinge loss.")]


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
    normalise: Normalise = False,
    folds: Folds = 5,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Say which kernel and regularisation to use for labelled data: by cross-validation, beside the theory's choice.

    With --fact-fraction the two classes are the rule and samples of other classes, with coin-flip labels, the facts.
    Without it the labels of the two classes are taken as they are, and the share of facts among them is estimated.
    With --out the answer, its picture and their table are written.
    """
    import json

    from genlaws.rules_facts import advise as ask

    if output.out is not None and output.out.exists() and not output.out.is_dir():
        raise InputError(f"out must be a folder; got {str(output.out)!r}, which is a file.")
    tried = None if parameters is None else _numbers(parameters)
    draw = _draw(
        data,
        rule_classes,
        share=fact_fraction,
        facts=fact_classes,
        size=(sample_count, sample_ratio),
        seed=output.seed,
    )
    with _Kernels(quiet=output.json) as progress:
        advice = ask(
            draw.inputs,
            draw.labels,
            is_fact=None if fact_fraction is None else draw.is_fact,
            loss=loss,
            family=family,
            parameters=tried,
            normalise=normalise,
            folds=folds,
            seed=output.seed,
            progress=progress,
        )
    answer = {"data": draw.name, **summary(advice), "normalise": normalise, "folds": folds, "seed": output.seed}
    document = json.dumps(as_json(answer), indent=2)
    written = [] if output.out is None else _write(advice, draw.name, document, output.out, answer)
    if output.json:
        print(document)
        return
    print(explain(advice))
    for path in written:
        print(f"Written to {path}")


class _Kernels:
    """Shows each finished kernel; the bar begins with the first, when it is known how many there are."""

    def __init__(self, *, quiet: bool) -> None:
        self._bar = ProgressBar(quiet=quiet)
        self._open = ExitStack()

    def __enter__(self) -> _Kernels:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def __call__(self, done: int, total: int) -> None:
        if done == 1:
            self._open.enter_context(self._bar)
            self._bar.start(total, "kernels")
        self._bar.advance()


def _numbers(text: str) -> Any:
    import numpy as np

    return np.atleast_1d(read_numbers("parameters", text))


def _draw(
    source: str,
    rule: tuple[str, str],
    *,
    share: float | None,
    facts: tuple[str, ...],
    size: tuple[int | None, float | None],
    seed: int,
) -> Draw:
    """Return the task: made of rule and facts, or with the labels as they are where no share of facts is given."""
    from genlaws.numerics.arguments import fraction
    from genlaws.rules_facts import draw_labelled, load_labelled
    from genlaws.rules_facts.advice import FEWEST
    from genlaws.rules_facts.problem import SHARE_HINT

    if share is None and facts:
        raise InputError("fact_classes must come with fact_fraction; without it no sample is made a fact.")
    epsilon = float(fraction("fact_fraction", 0.0 if share is None else share, SHARE_HINT))
    if epsilon == 1.0:
        raise InputError("fact_fraction must be below 1: when every label is a fact there is no rule to learn.")
    data = load_labelled(source)
    chosen = list(facts) or None
    count, ratio = size
    draw = draw_labelled(
        data,
        rule,
        fact_fraction=epsilon,
        sample_count=_largest(data, rule, chosen, epsilon) if count is None and ratio is None else count,
        sample_ratio=ratio,
        fact_classes=chosen,
        test_count=TEST_COUNT,
        seed=seed,
    )
    if draw.sample_count < FEWEST:
        raise InputError(f"sample_count must be at least {FEWEST}; got {draw.sample_count} samples of {data.name}.")
    return draw


def _largest(data: LabelledData, rule: tuple[str, str], facts: list[str] | None, epsilon: float) -> int:
    """Return how many samples there are, up to the most that are taken without being asked for."""
    from genlaws.rules_facts.labelled_choice import parts_of, pools_of

    held = pools_of(data, rule, facts, epsilon).counts
    kept = parts_of(TEST_COUNT, 0.0)

    def fits(count: int) -> bool:
        needed = zip(parts_of(count, epsilon), kept, held, strict=True)
        return all(part + test <= there for part, test, there in needed)

    return next((count for count in range(MOST_SAMPLES, 0, -1) if fits(count)), 1)


def summary(advice: Advice) -> dict[str, Any]:
    """Return the advice as plain names and numbers; an estimate has its interval beside it.

    What the theory predicts is left empty where it does not describe the data.
    """
    from genlaws.numerics.intervals import Estimate
    from genlaws.rules_facts.advice_result import Choice

    def plain(name: str, value: Any, fits: bool) -> dict[str, Any]:
        """Return a value, or what it is made of, under its name."""
        if isinstance(value, Estimate):
            return {name: value.value, f"{name}_interval": [value.low, value.high]}
        if name.startswith(PREDICTED) and not fits:
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
    from genlaws.figures.rules_facts_advice import write_advice

    title = f"{name}: {advice.loss} loss, n = {advice.sample_count}, ε = {advice.fact_fraction.value:.2g}"
    settings = {key: value for key, value in answer.items() if isinstance(value, str | int | float)}
    return list(write_advice(advice, folder, title, document, settings).values())
