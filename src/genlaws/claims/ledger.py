"""All claims of the four papers, and how one is checked."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from genlaws.claims.claim import Claim, Finding
from genlaws.core.errors import InputError

# Each module holds CLAIMS, a tuple of Claim in the order of its paper.
ENTRY_MODULES = (
    "genlaws.claims.semanticity.entries",
    "genlaws.claims.rules_facts.entries",
    "genlaws.claims.relations.entries",
    "genlaws.claims.residual_stream.entries",
)


@cache
def all_claims() -> tuple[Claim, ...]:
    """Return every claim, paper by paper."""
    return tuple(claim for name in ENTRY_MODULES for claim in import_module(name).CLAIMS)


def get_claim(claim_id: str) -> Claim:
    """Return a claim by its id."""
    for claim in all_claims():
        if claim.id == claim_id:
            return claim
    raise InputError(f"There is no claim {claim_id!r}; genlaws claims list names them all.")


def run_claim(claim: Claim, *, quick: bool = True) -> Finding:
    """Check a claim and return what was found.

    Parameters
    ----------
    claim : Claim
    quick : bool
        Whether to take seconds rather than minutes, with fewer draws and points.
    """
    module, _, name = claim.check.partition(":")
    found = getattr(import_module(module), name)(quick)
    if not isinstance(found, Finding):
        raise TypeError(f"{claim.check} must return a Finding; got {type(found).__name__}.")
    return found
