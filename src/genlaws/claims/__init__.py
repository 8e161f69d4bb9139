"""The claims of the four papers, each with a check that can be run and the verdict it gives."""

from genlaws.claims.claim import VERDICTS, Claim, Finding
from genlaws.claims.questions import (
    ClaimCheck,
    ClaimChecks,
    ClaimDetails,
    ClaimList,
    ListedClaim,
    list_claims,
    run_claims,
    show_claim,
)
from genlaws.claims.records import Record, all_claims, get_claim, run_claim

__all__ = [
    "VERDICTS",
    "Claim",
    "ClaimCheck",
    "ClaimChecks",
    "ClaimDetails",
    "ClaimList",
    "Finding",
    "ListedClaim",
    "Record",
    "all_claims",
    "get_claim",
    "list_claims",
    "run_claim",
    "run_claims",
    "show_claim",
]
