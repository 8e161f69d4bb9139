"""All claims of the four papers, read from the files that state them, and how one is checked."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from genlaws.claims.claim import PAPERS, Claim, Finding
from genlaws.core.errors import InputError
from genlaws.core.imports import load_named

CLAIMS_FILE = "claims.toml"  # in the folder of each paper
REQUIRED_KEYS = ("kind", "statement", "where", "route", "check")
OPTIONAL_KEYS = ("command", "needs")


@cache
def all_claims() -> tuple[Claim, ...]:
    """Return every claim, paper by paper."""
    return tuple(claim for paper in PAPERS for claim in read_claims(paper))


def read_claims(paper: str) -> tuple[Claim, ...]:
    """Return the claims of a paper, in its order."""
    file = files("genlaws.claims") / folder_of(paper) / CLAIMS_FILE
    return parse_claims(paper, file.read_text(encoding="utf-8"))


def folder_of(paper: str) -> str:
    """Return the folder that holds the claims of a paper and their checks."""
    return paper.replace("-", "_")


def parse_claims(paper: str, text: str) -> tuple[Claim, ...]:
    """Return the claims of a paper from the text of its ``claims.toml``.

    Parameters
    ----------
    paper : str
    text : str
        TOML with one table for each claim, under the name that follows the paper in its id. The keys are the fields of
        `Claim`; ``check`` is ``module:function`` in the folder of the paper.

    Raises
    ------
    InputError
        If an entry is wrong; the message names the file and the entry.
    """
    place = f"claims/{folder_of(paper)}/{CLAIMS_FILE}"
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # also for a duplicate name
        raise InputError(f"{place}: {error}.") from None
    claims = []
    for name, entry in entries.items():
        try:
            claims.append(_make_claim(paper, name, entry))
        except InputError as error:
            raise InputError(f"{place}, {name}: {error}") from None
    return tuple(claims)


def _make_claim(paper: str, name: str, entry: object) -> Claim:
    """Return the claim of one table of the file."""
    if not isinstance(entry, dict) or not {*REQUIRED_KEYS} <= entry.keys() <= {*REQUIRED_KEYS, *OPTIONAL_KEYS}:
        given = ", ".join(entry) if isinstance(entry, dict) else repr(entry)
        needed, possible = ", ".join(REQUIRED_KEYS), " and ".join(OPTIONAL_KEYS)
        raise InputError(f"A claim must be a table with the keys {needed}, and may have {possible}; got {given}.")
    needs = entry.get("needs", [])
    if not isinstance(needs, list) or not all(isinstance(one, str) for one in (entry | {"needs": ""}).values()):
        raise InputError("Every key must be a string, except needs, a list of names of libraries.")
    check = f"genlaws.claims.{folder_of(paper)}.{entry['check']}"
    return Claim(**(entry | {"id": f"{paper}.{name}", "check": check, "needs": tuple(needs)}))


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
    found = load_named(claim.check)(quick)
    if not isinstance(found, Finding):
        raise TypeError(f"{claim.check} must return a Finding; got {type(found).__name__}.")
    return found
