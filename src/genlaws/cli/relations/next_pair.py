"""``genlaws relations next-pair``: which entry to query next, and what a good choice is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.cli.output import DEFAULT_OUTPUT, Output, ProgressBar, aligned, paragraph, show
from genlaws.cli.relations.source import DEFAULT_QUERY, OptionalSource, QueryOptions, read_query
from genlaws.core.errors import InputError
from genlaws.relations.inference.bound_curve import MAJORITY_TOLERANCE
from genlaws.relations.inference.next_pair import STRATEGIES, query_curve
from genlaws.relations.inference.next_pair import next_pair as find_next_pair
from genlaws.relations.structure.training_set import draw_training_set

if TYPE_CHECKING:
    from genlaws.cli.relations.source import Query
    from genlaws.relations.inference.next_pair import NextPair, QueryCurve

Fraction = Annotated[float | None, Parameter(help="Share of a relation's entries known at random.", show_default=False)]
Curve = Annotated[
    bool, Parameter(negative="", help="Query entries one after another, and compare the best choice with a random one.")
]
Queries = Annotated[int | None, Parameter(help="With --curve: how many; until all is known if left out.")]
Repeats = Annotated[int, Parameter(help="With --curve: runs of each kind.")]


def next_pair(
    source: OptionalSource = None,
    /,
    *,
    train_fraction: Fraction = None,
    curve: Curve = False,
    queries: Queries = None,
    repeats: Repeats = 5,
    options: QueryOptions = DEFAULT_QUERY,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Give the entry whose answer is worth most bits, for the known entries of a file or of a relation.

    Every answer is taken as certain; answers that contradict each other or the class are refused.

    With --curve a relation answers one query after another, always correctly, and the best choice is compared with a
    random one.
    """
    query = read_query(source, options)
    if curve:
        _compare(query, queries, repeats, output)
        return

    if query.training_set is None:
        if train_fraction is None:
            raise InputError("Give --train-fraction, the share of entries that are known; 0 for none.")
        assert query.relation is not None
        known = draw_training_set(query.relation, train_fraction, output.seed)
    elif train_fraction is not None:
        raise InputError("--train-fraction draws training sets of a relation; --train has its own.")
    else:
        known = query.training_set
    best = find_next_pair(known, query.hypotheses, method=options.method)
    answer: dict[str, Any] = {
        "pair": None if best.names is None else list(best.names),
        **{name: getattr(best, name) for name in ("bits", "probability", "ties", "random_bits", "bits_left")},
        "train_fraction": known.train_fraction,
        "class": str(query.hypotheses),
        "method": best.method,
        "answers_taken_as_certain": True,
        "message": best.message,
        "seed": output.seed,
    }
    show("next-pair", answer, _text(query, best), output)


def _text(query: Query, best: NextPair) -> str:
    if best.names is None:
        return paragraph(best.message)
    first, second = best.names
    rows = {
        "query": f"({first}, {second})",
        "worth": f"{best.bits:.4f} bits; an unseen entry at random {best.random_bits:.4f}",
        "chance of a 1": f"{best.probability:.4f}",
        "equally good": f"{best.ties} {'entry' if best.ties == 1 else 'entries'}",
        "bits left": f"{best.bits_left:.3f}",
    }
    known = f"The learner knows the class '{query.hypotheses}'."
    return f"{aligned(rows)}\n{paragraph(known, best.message)}"


def _compare(query: Query, queries: int | None, repeats: int, output: Output) -> None:
    if query.relation is None:
        raise InputError("--curve needs a relation that gives the answers; --train has only some of them.")
    curves: dict[str, QueryCurve] = {}
    with ProgressBar(quiet=output.json) as running:
        for strategy in STRATEGIES:
            curves[strategy] = query_curve(
                query.relation,
                strategy,
                queries=queries,
                hypotheses=query.hypotheses,
                repeats=repeats,
                seed=output.seed,
                running=running,
            )
    width = max(curve.accuracy.shape[1] for curve in curves.values())
    answer: dict[str, Any] = {"queries": list(range(width))}
    for strategy, curve in curves.items():
        for name, values in (("accuracy", curve.accuracy), ("bits_left", curve.bits_left)):
            mean = values.mean(axis=0).tolist()
            answer[f"{name}_{strategy}"] = mean + mean[-1:] * (width - len(mean))
    fixed = {f"queries_to_certainty_{strategy}": curve.queries_to_certainty.value for strategy, curve in curves.items()}
    names = {
        "relation": query.relation.label,
        "class": str(query.hypotheses),
        "majority_accuracy": query.relation.majority_accuracy,
        "majority_answer": query.relation.majority_answer,
        "answers_taken_as_certain": True,
        "repeats": repeats,
    }
    show("next-pair", {**answer, **fixed, **names, "seed": output.seed}, _compared(query, curves), output)


def _compared(query: Query, curves: dict[str, QueryCurve]) -> str:
    assert query.relation is not None
    best, random = curves["best"], curves["random"]
    width = min(best.accuracy.shape[1], random.accuracy.shape[1])
    lines = [f"{'queries':>9}  {'best: accuracy':>14}  {'bits left':>9}  {'random: accuracy':>16}  {'bits left':>9}"]
    for row in sorted({round(share * (width - 1) / 10) for share in range(11)}):
        lines.append(
            f"{row:>9}  {best.accuracy[:, row].mean():>14.4f}  {best.bits_left[:, row].mean():>9.2f}  "
            f"{random.accuracy[:, row].mean():>16.4f}  {random.bits_left[:, row].mean():>9.2f}"
        )
    lines.append(
        f"Queries until all is certain: best {best.queries_to_certainty}, random {random.queries_to_certainty}. "
        f"{query.relation.label}, class '{query.hypotheses}',\n{best.bits_left[0, 0]:.2f} bits at the start: no "
        "strategy needs fewer on average over the class."
    )
    majority = query.relation.majority_accuracy
    if best.accuracy[0, 0] < majority - MAJORITY_TOLERANCE:
        lines.append(
            "The accuracies are averages over the class. "
            f"Always answering {query.relation.majority_answer} is right on {majority:.6g} of this relation."
        )
    return "\n".join(lines)
