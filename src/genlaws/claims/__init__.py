"""The claims of the four papers, each with a check that can be run and the verdict it gives."""

from genlaws.claims.claim import VERDICTS, Claim, Finding
from genlaws.claims.ledger import all_claims, get_claim, run_claim

__all__ = ["VERDICTS", "Claim", "Finding", "all_claims", "get_claim", "run_claim"]
