"""How many claims of each paper have which verdict in the kept run."""

from __future__ import annotations

from collections import Counter

from genlaws.claims.claim import PAPERS, Claim
from genlaws.claims.ledger import all_claims
from genlaws.claims.records import kept_records

NOT_RUN = "not run"


def kept_verdict(claim: Claim) -> str:
    """Return the verdict of the kept run of a claim, or that there is none."""
    record = kept_records().get(claim.id)
    return NOT_RUN if record is None else record.verdict


def verdict_counts() -> dict[str, dict[str, int]]:
    """Return the numbers of claims by paper and verdict."""
    found = Counter((claim.paper, kept_verdict(claim)) for claim in all_claims())
    return {paper: {verdict: count for (one, verdict), count in found.items() if one == paper} for paper in PAPERS}
