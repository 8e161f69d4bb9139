"""Claims of the four papers, and records of their checks: what was found, when, with which versions, in what time."""

from __future__ import annotations

import json
import platform
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from genlaws.claims.claim import PAPERS, VERDICTS, Claim, Finding
from genlaws.core.errors import InputError
from genlaws.core.imports import installed_versions, load_named

CLAIMS_FILE = "claims.toml"  # in the folder of each paper
REQUIRED_KEYS = ("kind", "statement", "where", "route", "check")
OPTIONAL_KEYS = ("command", "needs")
RECORDS_FOLDER = files("genlaws.claims") / "bundled_records"
LIBRARIES = ("genlaws", "numpy", "scipy", "torch", "transformers")
SIGNIFICANT_DIGITS = 6  # of a number in a record; more would differ from machine to machine
NOT_RUN = "not run"


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


@dataclass(frozen=True)
class Record:
    """One check of one claim.

    Attributes
    ----------
    id, verdict, sentence : str
    numbers : dict of str to float or str
    size : {"quick", "full"}
    seconds : float
    date : str
        Year, month and day.
    versions : dict of str to str
        Of Python and of the libraries that are installed.
    """

    id: str
    verdict: str
    numbers: dict[str, float | str]
    sentence: str
    size: str
    seconds: float
    date: str
    versions: dict[str, str]


def missing_libraries(claim: Claim) -> tuple[str, ...]:
    """Return the libraries that a check needs and that are not installed."""
    return tuple(name for name in claim.needs if find_spec(name) is None)


def record_claim(claim_id: str, *, quick: bool = True) -> Record:
    """Check a claim and return what was found, with the time it took and what it was computed with."""
    claim = get_claim(claim_id)
    started = time.perf_counter()
    finding = run_claim(claim, quick=quick)
    return make_record(claim, finding, quick=quick, seconds=time.perf_counter() - started)


def make_record(claim: Claim, finding: Finding, *, quick: bool, seconds: float) -> Record:
    """Return the record of a finding made today."""
    numbers = {name: _rounded(value) for name, value in finding.numbers.items()}
    size, today = "quick" if quick else "full", datetime.now(UTC).date().isoformat()
    return Record(
        claim.id, finding.verdict, numbers, finding.sentence, size, round(seconds, 2), today, dict(_versions())
    )


def _rounded(value: float | str) -> float | str:
    """Return a number rounded to its first digits, or the text as it is."""
    return value if isinstance(value, str) else float(f"{float(value):.{SIGNIFICANT_DIGITS}g}")


@cache
def _versions() -> Mapping[str, str]:
    return {"python": platform.python_version()} | installed_versions(LIBRARIES)


@cache
def bundled_records() -> Mapping[str, Record]:
    """Return the records bundled with the library, by the id of their claim."""
    found: dict[str, Record] = {}
    for paper in PAPERS:
        file = RECORDS_FOLDER / f"{paper}.json"
        if file.is_file():
            found |= {one.id: one for one in read_records(json.loads(file.read_text(encoding="utf-8")))}
    return MappingProxyType(found)


def read_records(document: Mapping[str, object]) -> tuple[Record, ...]:
    """Return the records of a document; raise if it is malformed."""
    rows = document.get("claims")
    if not isinstance(rows, list):
        raise InputError("A file of records must hold a list under 'claims'.")
    try:
        records = tuple(Record(**row) for row in rows)
    except TypeError as error:
        raise InputError(f"A record must have the fields of genlaws.claims.records.Record; {error}.") from None
    wrong = [one.id for one in records if one.verdict not in VERDICTS]
    if wrong:
        raise InputError(f"The verdict of {wrong[0]} must be one of {', '.join(VERDICTS)}.")
    return records


def as_document(records: Iterable[Record]) -> dict[str, object]:
    """Return records as the document of a JSON file."""
    return {"claims": [asdict(one) for one in records]}


def write_records(records: Iterable[Record], folder: Path) -> list[Path]:
    """Write one file per paper, leaving the records of other claims in it; return the files."""
    fresh = {one.id: one for one in records}
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for paper in sorted({one.partition(".")[0] for one in fresh}):
        file = folder / f"{paper}.json"
        old = read_records(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else ()
        both = {one.id: one for one in old} | {name: one for name, one in fresh.items() if name.startswith(f"{paper}.")}
        text = json.dumps(as_document(both.values()), indent=1, ensure_ascii=False)
        file.write_text(text + "\n", encoding="utf-8")
        written.append(file)
    return written


def bundled_verdict(claim: Claim) -> str:
    """Return the verdict of the bundled run of a claim, or `NOT_RUN`."""
    record = bundled_records().get(claim.id)
    return NOT_RUN if record is None else record.verdict


def verdict_counts() -> dict[str, dict[str, int]]:
    """Return the numbers of claims by paper and verdict."""
    found = Counter((claim.paper, bundled_verdict(claim)) for claim in all_claims())
    return {paper: {verdict: count for (one, verdict), count in found.items() if one == paper} for paper in PAPERS}
