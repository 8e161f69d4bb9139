"""The user's relation: its bits, and how many of its pairs an accuracy needs."""

from __future__ import annotations

import json
import shlex

import numpy as np

from genlaws.relations import (
    DataNeeded,
    Relation,
    bound_curve,
    critical_fraction,
    data_needed,
    description_length_exact,
    properties,
)
from genlaws.relations.inference.paper import TARGET_ACCURACY
from genlaws.render import Curve, Panel
from genlaws.render.copied_commands import READ_TABLE, table_code
from genlaws.report.section import Section
from genlaws.report.sections.relations import RELATIONS_LAW
from genlaws.report.user_data.data import UserData

TRAIN_FRACTIONS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0)
TRAINING_SETS = 8
MAX_FOLLOWED_ELEMENTS = 40  # beyond, the bound may take minutes


def relation_section(data: UserData, relation: Relation, name: str, seed: int) -> Section:
    """Describe a relation, and follow the bound on it where that takes seconds."""
    bits = description_length_exact(relation)
    small = relation.element_count <= MAX_FOLLOWED_ELEMENTS
    needed = data_needed(relation, target_accuracy=TARGET_ACCURACY, repeats=TRAINING_SETS, seed=seed) if small else None
    eq_4 = float(critical_fraction(TARGET_ACCURACY, relation.element_count, bits)) if bits > 0 else 0.0
    return Section(
        name=name,
        title=f"Yours: {data.name}",
        question="How many examples does your relation need?",
        law=RELATIONS_LAW,
        panels=(_panel(relation, name, seed),) if small else (),
        numbers=_numbers(relation, bits, needed, eq_4),
        findings=(data.message, *_findings(relation, bits, needed)),
        implications=(
            "Query the pair whose answer is least certain, not a random one: see genlaws relations next-pair.",
            "How many pairs a network needs is measured by a pilot: see genlaws relations advise.",
        ),
        python=_python(data, small, seed),
        command=f"genlaws relations describe {shlex.quote(data.name)}\ngenlaws relations data-needed "
        f"{shlex.quote(data.name)} --target-accuracy {TARGET_ACCURACY:g} --repeats {TRAINING_SETS} --seed {seed}",
    )


def _python(data: UserData, small: bool, seed: int) -> str:
    if data.is_matrix:
        table = table_code("relation", data.name, ', names="none"')
        lines = ["from genlaws import relations", READ_TABLE, "", f"relation = relations.Relation.from_matrix({table})"]
    else:
        read = f"relation = relations.read_knowledge_graph({json.dumps(data.name)}).relation()"
        lines = ["from genlaws import relations", "", read]
    lines.append("print(relations.description_length_exact(relation))")
    if small:
        options = f"{TARGET_ACCURACY:g}, repeats={TRAINING_SETS}, seed={seed}"
        lines.append(f"print(relations.data_needed(relation, target_accuracy={options}).train_fraction)")
    return "\n".join(lines)


def _numbers(
    relation: Relation, bits: float, needed: DataNeeded | None, eq_4: float
) -> tuple[tuple[str, str, str], ...]:
    held = [name.replace("_", " ") for name in properties(relation).true_names()]
    rows = [
        ("description length", f"{bits:,.2f} bits", "log2 of n!/automorphisms"),
        ("elements", f"{relation.element_count:,}", f"{len(relation.pairs):,} of {relation.pair_count:,} pairs hold"),
        (
            "majority answer",
            f"{relation.majority_accuracy:.4f}",
            f"accuracy of always answering {relation.majority_answer}",
        ),
        ("properties", ", ".join(held) or "none", ""),
    ]
    if needed is not None:
        meaning = f"of all entries, for an accuracy of {TARGET_ACCURACY:g}"
        rows.append(("share needed", str(needed.train_fraction), meaning))
    rows.append(("share by Eq. 4", f"{eq_4:.3g}", "the paper's estimate, with the exact bits"))
    return tuple(rows)


def _findings(relation: Relation, bits: float, needed: DataNeeded | None) -> tuple[str, ...]:
    if bits == 0:
        return ("The relation is the same for every naming of its elements: only its class has to be learned.",)
    opening = (
        f"A learner that knows only the kind of this relation needs at least {bits:,.1f} yes-no answers for the rest."
    )
    if needed is None:
        return (
            opening,
            f"With {relation.element_count} elements the bound is not computed here (at most {MAX_FOLLOWED_ELEMENTS}); "
            "genlaws relations data-needed computes it, which may take minutes.",
        )
    share, count = needed.train_fraction, needed.sample_count
    exact = "computed exactly" if needed.exact else "partly by a Markov chain"
    return (
        opening,
        f"To be right on {TARGET_ACCURACY:g} of all entries takes {count.value:.0f} random ones "
        f"[{count.low:.0f}, {count.high:.0f}], a share of {share.value:.3f} ({exact}). {needed.meaning}",
    )


def _panel(relation: Relation, name: str, seed: int) -> Panel:
    curve = bound_curve(relation, train_fraction=TRAIN_FRACTIONS, repeats=TRAINING_SETS, seed=seed)
    value, low, high = ([getattr(one.accuracy, end) for one in curve.points] for end in ("value", "low", "high"))
    eq_5 = np.array([one.accuracy_formula for one in curve.points])
    curves = [
        Curve("average over its class", "theory", TRAIN_FRACTIONS, value, "ink", low, high),
        Curve("Eq. 5 of the paper", "paper", TRAIN_FRACTIONS, eq_5.tolist(), "orange"),
        Curve("majority answer", "chance", (0.0, 1.0), (relation.majority_accuracy,) * 2, "gray"),
    ]
    return Panel(
        f"{name}-bound",
        "Accuracy from part of your pairs",
        "training fraction",
        "accuracy on the whole table",
        tuple(curves),
        caption=f"Mean over {TRAINING_SETS} random training sets, with its 95 % interval, for the smallest class this "
        f"relation belongs to. {curve.meaning}",
    )
