"""Verdict and numbers of the quick check of every claim."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from unittest import mock

from genlaws.claims.claim import Claim, number_label
from genlaws.claims.records import all_claims, make_record, run_claim
from golden.compact import numbers_in
from golden.store import Case

# What differs from run to run.
TIMES = {"seconds"}
# Longer than 0.3 s.
SLOW = {
    "semanticity.theorem-1",
    "semanticity.half-is-best",
    "semanticity.one-front-for-all",
    "semanticity.segment-below-circle",
    "rules-facts.task",
    "rules-facts.theory-at-finite-size",
    "rules-facts.only-two-numbers",
    "rules-facts.hinge-conjecture",
    "rules-facts.fig-3-table",
    "rules-facts.fig-3-hinge-forgets",
    "rules-facts.fig-11",
    "rules-facts.svm-drift",
    "rules-facts.message-passing",
    "relations.orbit-formula",
    "relations.large-graphs",
    "relations.eq-4-as-estimate",
    "relations.eq-5",
    "relations.fig-2",
    "relations.theorem-2",
    "relations.theorem-3-two-repons",
    "relations.fig-5-slope",
    "relations.fig-5-intercept",
    "relations.rule-of-thumb",
}


def cases() -> Mapping[str, Case]:
    """Return a case for each claim, by its id; those that need a library of an extra are not quick."""
    return {
        claim.id: Case(
            kind="trained" if "torch" in claim.needs else "solved",
            answer=partial(check, claim),
            quick=not claim.needs and claim.id not in SLOW,
        )
        for claim in all_claims()
    }


def check(claim: Claim) -> dict[str, object]:
    """Return what the quick check finds without data from elsewhere; the verdict as one word, so that it is frozen."""
    with mock.patch.dict(os.environ):
        os.environ.pop("GENLAWS_DATA", None)
        found = run_claim(claim, quick=True)
    record = make_record(claim, found, quick=True, seconds=0.0)
    return {
        "verdict": record.verdict.replace(" ", "-"),
        "sentence": record.sentence,
        "kind": claim.kind,
        "route": claim.route.replace(" ", "-"),
        "needs": list(claim.needs),
        "numbers": {name: labeled(name, value) for name, value in record.numbers.items() if name not in TIMES},
    }


def labeled(name: str, value: float | str) -> list[object]:
    """Return a number behind its label, which is prose; a text is followed by the numbers in it."""
    return [f"label: {number_label(name)}", value, *([numbers_in(value)] if isinstance(value, str) else [])]
