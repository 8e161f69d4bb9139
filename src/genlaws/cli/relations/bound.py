"""``genlaws relations bound``: the best accuracy from some entries, averaged over the relations of a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from genlaws.cli.numbers import read_numbers
from genlaws.cli.output import DEFAULT_OUTPUT, Output, ProgressBar, aligned, paragraph, show
from genlaws.cli.relations.source import DEFAULT_QUERY, OptionalSource, QueryOptions, read_query
from genlaws.core.errors import InputError
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.bound_curve import bound_curve, paper_accuracy
from genlaws.relations.inference.hypotheses import Entrywise, average_meaning, bounds_this_relation
from genlaws.relations.structure.training_set import CERTAIN_ANSWERS

if TYPE_CHECKING:
    from genlaws.cli.relations.source import Query
    from genlaws.relations.inference.bound_curve import BoundCurve, BoundPoint
    from genlaws.relations.inference.hypotheses import Hypotheses
    from genlaws.relations.inference.posterior import Posterior
    from genlaws.relations.structure.training_set import TrainingSet

Fraction = Annotated[
    str | None,
    Parameter(help="Share of all entries that are known; several as 0.05,0.1 or 0:0.2:9.", show_default=False),
]
Repeats = Annotated[int, Parameter(help="Random training sets for each train fraction.")]


def bound(
    source: OptionalSource = None,
    /,
    *,
    train_fraction: Fraction = None,
    repeats: Repeats = 20,
    options: QueryOptions = DEFAULT_QUERY,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Give the best accuracy from some entries of a relation, averaged over all relations of its class.

    Whether that bounds a learner on this relation depends on the class, as the answer states. The entries are random
    training sets of a relation (--train-fraction) or the known entries of a file (--train).
    """
    query = read_query(source, options)
    if query.training_set is not None:
        if train_fraction is not None:
            raise InputError("--train-fraction draws training sets of a relation; --train has its own.")
        _one_training_set(query.training_set, query.hypotheses, options.method, output)
        return
    if train_fraction is None:
        raise InputError("Give --train-fraction, the share of all entries that are known, such as 0.1.")

    curve = _curve(query, train_fraction, repeats, options.method, output)
    several = len(curve.points) > 1
    rows = [_row(point) for point in curve.points]
    answer = {name: [row[name] for row in rows] for name in rows[0]} if several else rows[0]
    fixed = {
        "relation": curve.relation.label,
        "element_count": curve.relation.element_count,
        "class": str(curve.hypotheses),
        "majority_accuracy": curve.relation.majority_accuracy,
        "majority_answer": curve.relation.majority_answer,
        "bounds_this_relation": bounds_this_relation(curve.hypotheses),
        "meaning": curve.meaning,
        "repeats": repeats,
        "seed": output.seed,
    }
    show(
        "bound", {**answer, **fixed}, _format_table(curve) if several else _format_point(curve, curve.points[0]), output
    )


def _curve(query: Query, train_fraction: str, repeats: int, method: str, output: Output) -> BoundCurve:
    fractions = np.atleast_1d(read_numbers("train_fraction", train_fraction))
    assert query.relation is not None
    with ProgressBar(quiet=output.json) as progress:
        progress.start(len(fractions) * max(repeats, 1), f"{query.relation.label}: training sets")
        return bound_curve(
            query.relation,
            fractions,
            hypotheses=query.hypotheses,
            repeats=repeats,
            seed=output.seed,
            method=method,
            advance=progress.advance,
        )


def _row(point: BoundPoint) -> dict[str, Any]:
    return {
        "train_fraction": point.train_fraction,
        "accuracy": point.accuracy.value,
        "interval": [point.accuracy.low, point.accuracy.high],
        "accuracy_formula": point.accuracy_formula,
        "bits_left": point.bits_left.value,
        "bits_left_interval": [point.bits_left.low, point.bits_left.high],
        "unseen_accuracy": point.unseen_accuracy.value,
        "determined": point.determined.value,
        "exact_share": point.exact_share,
        "converged": point.converged,
    }


def _format_point(curve: BoundCurve, point: BoundPoint) -> str:
    rows = {
        _accuracy_name(curve.hypotheses): str(point.accuracy),
        "on unseen entries": str(point.unseen_accuracy),
        "the paper's Eq. 5": f"{point.accuracy_formula:.6f}",
        "bits left": str(point.bits_left),
        "entries decided": str(point.determined),
        "majority accuracy": f"{curve.relation.majority_accuracy:.6f}",
    }
    known = round(point.train_fraction * curve.relation.pair_count)
    seen = f"training on {known} of {curve.relation.pair_count} entries of {curve.relation.label}"
    return "\n".join(
        [
            aligned(rows),
            paragraph(curve.meaning),
            f"Mean over {_format_repeats(curve.repeats)}; {seen}.",
            _format_method(point),
        ]
    )


def _accuracy_name(hypotheses: Hypotheses) -> str:
    return "class average" if isinstance(hypotheses, Entrywise) else "best accuracy"


def _format_repeats(repeats: int) -> str:
    return f"{repeats} random training sets" if repeats > 1 else "one random training set"


def _format_method(point: BoundPoint) -> str:
    if point.exact_share == 1.0:
        return "Every probability was computed exactly."
    state = "whose starts agreed" if point.converged else "which has NOT converged for some: do not trust the number"
    return f"{1 - point.exact_share:.0%} of the training sets needed the Markov chain, {state}."


def _format_table(curve: BoundCurve) -> str:
    name = _accuracy_name(curve.hypotheses)
    lines = [f"{'train fraction':>14}  {name:>20}  {'Eq. 5':>8}  {'bits left':>16}  {'decided':>8}"]
    for point in curve.points:
        accuracy, bits = (str(value).partition(" (")[0] for value in (point.accuracy, point.bits_left))
        lines.append(
            f"{point.train_fraction:>14.4g}  {accuracy:>20}  {point.accuracy_formula:>8.4f}  {bits:>16}  "
            f"{point.determined.value:>8.4f}"
        )
    how = _format_method(min(curve.points, key=lambda point: (point.converged, point.exact_share)))
    lines.append(f"{curve.relation.label}, class '{curve.hypotheses}', {_format_repeats(curve.repeats)} a row. {how}")
    lines.append(paragraph(curve.meaning))
    return "\n".join(lines)


def _one_training_set(known: TrainingSet, hypotheses: Hypotheses, method: str, output: Output) -> None:
    law = posterior(known, hypotheses, method=method, seed=output.seed)
    answer = {
        "accuracy": law.accuracy,
        "interval": _interval(law.accuracy, law.accuracy_error),
        "accuracy_formula": float(paper_accuracy(known.element_count, hypotheses, known.train_fraction)),
        "bits_left": law.bits_left,
        "bits_left_interval": _interval(law.bits_left, law.bits_left_error),
        "unseen_accuracy": law.unseen_accuracy,
        "determined": law.determined,
        "train_fraction": known.train_fraction,
        "element_count": known.element_count,
        "class": str(hypotheses),
        "bounds_this_relation": False,
        "meaning": _training_set_meaning(known, hypotheses),
        "answers_taken_as_certain": True,
        "method": law.method,
        "converged": law.converged,
        "seed": output.seed,
    }
    show("bound", answer, _format_training_set(hypotheses, law, answer), output)


def _interval(value: float, error: float) -> list[float]:
    return [value - 1.96 * error, value + 1.96 * error]


def _format_training_set(hypotheses: Hypotheses, law: Posterior, answer: dict[str, Any]) -> str:
    error = f" ± {1.96 * law.accuracy_error:.6f}" if law.accuracy_error else ""
    rows = {
        _accuracy_name(hypotheses): f"{law.accuracy:.6f}{error}",
        "on unseen entries": f"{law.unseen_accuracy:.6f}",
        "the paper's Eq. 5": f"{answer['accuracy_formula']:.6f}",
        "bits left": f"{law.bits_left:.3f}" + (f" ± {1.96 * law.bits_left_error:.3f}" if law.bits_left_error else ""),
        "entries decided": f"{law.determined:.6f}",
    }
    return f"{aligned(rows)}\n{paragraph(answer['meaning'], law.message, CERTAIN_ANSWERS)}"


def _training_set_meaning(known: TrainingSet, hypotheses: Hypotheses) -> str:
    """Return what the accuracy from given entries means; the relation behind them is not known."""
    if isinstance(hypotheses, Entrywise):
        return average_meaning(hypotheses)
    return (
        f"No learner that knows the class '{hypotheses}' and these {len(known.pairs)} of "
        f"{known.element_count**2} entries does better on average over the relations of the class that agree with them."
    )
