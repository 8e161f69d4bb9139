"""``genlaws relations data-needed``: how many examples the best learner needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from genlaws.cli.output import DEFAULT_OUTPUT, Output, ProgressBar, aligned, paragraph, show
from genlaws.cli.relations.source import Elements, KnownClass, Prior, QueryOptions, RelationName, Source, read_query
from genlaws.relations.inference.data_needed import data_needed as needed
from genlaws.relations.inference.hypotheses import bounds_this_relation

if TYPE_CHECKING:
    from genlaws.relations.inference.data_needed import DataNeeded
    from genlaws.relations.structure.relation import Relation

Target = Annotated[float, Parameter(help="Accuracy to reach on all entries, above 0 and at most 1.")]
Repeats = Annotated[int, Parameter(help="Random orders in which the entries are added.")]


def data_needed(
    source: Source,
    /,
    *,
    target_accuracy: Target = 0.9,
    repeats: Repeats = 20,
    elements: Elements = None,
    relation: RelationName = None,
    known_class: KnownClass = None,
    prior: Prior = "elements",
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Give the share of random entries from which the best learner reaches an accuracy, and the paper's Eq. 4."""
    query = read_query(source, QueryOptions(None, None, elements, relation, known_class, prior))
    assert query.relation is not None
    with ProgressBar(quiet=output.json) as progress:
        progress.start(max(repeats, 1), f"{query.relation.label}: training sets")
        found = needed(
            query.relation,
            target_accuracy,
            hypotheses=query.hypotheses,
            repeats=repeats,
            seed=output.seed,
            advance=progress.advance,
        )
    answer = {
        "train_fraction": found.train_fraction.value,
        "interval": [found.train_fraction.low, found.train_fraction.high],
        "sample_count": found.sample_count.value,
        "typical_range": list(found.typical_range),
        "fraction_formula": found.fraction_formula,
        "fraction_formula_exact": found.fraction_formula_exact,
        "target_accuracy": found.target_accuracy,
        "majority_accuracy": found.majority_accuracy,
        "majority_answer": query.relation.majority_answer,
        "bounds_this_relation": bounds_this_relation(query.hypotheses),
        "meaning": found.meaning,
        "relation": query.relation.label,
        "element_count": query.relation.element_count,
        "class": str(query.hypotheses),
        "repeats": repeats,
        "exact": found.exact,
        "seed": output.seed,
    }
    show("data-needed", answer, _text(query.relation, found), output)


def _text(relation: Relation, found: DataNeeded) -> str:
    early, late = found.typical_range
    rows = {
        "share of all entries needed": str(found.train_fraction),
        "number of entries": f"{found.sample_count} of {relation.pair_count}",
        "most training sets": f"between {early:.4f} (one in ten has arrived) and {late:.4f} (nine in ten)",
        "the paper's Eq. 4": f"{found.fraction_formula:.4f} with the paper's description length, "
        f"{found.fraction_formula_exact:.4f} with the exact one",
    }
    how = "exactly" if found.exact else "by the Markov chain for some training sets"
    target = f"Random entries to be right on {found.target_accuracy:g} of all entries of {relation.label}"
    return f"{aligned(rows)}\n{paragraph(f'{target}, computed {how}.', found.meaning)}"
