"""What the four papers claim, each claim with a check that anyone can run and the verdict it gives."""

from genlaws.claims.claim import VERDICTS, Claim, Finding
from genlaws.claims.ledger import all_claims, get_claim, run_claim

__all__ = ["VERDICTS", "Claim", "Finding", "all_claims", "get_claim", "run_claim"]
