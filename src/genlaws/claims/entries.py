"""A claim from a row of a list."""

from __future__ import annotations

from genlaws.claims.claim import Claim


def make_claim(paper: str, name: str, *row: str, needs: tuple[str, ...] = ()) -> Claim:
    """Return a claim from its paper and name, and its kind, what it says and where, route, check and command."""
    kind, says, where, route, check, command = row
    return Claim(f"{paper}.{name}", kind, says, where, route, check, command, needs)
