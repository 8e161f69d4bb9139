"""``genlaws claims``: list and show what the papers claim and what was found, and check claims again."""

from __future__ import annotations

import json as json_module
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from genlaws.claims import VERDICTS, all_claims, get_claim
from genlaws.claims.claim import PAPERS, UNTESTED, number_label
from genlaws.claims.records import NOT_RUN, as_document, bundled_records, missing_libraries, record_claim
from genlaws.cli.output import Json, ProgressBar, aligned, as_json, print_json, table
from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.core.imports import EXTRAS

if TYPE_CHECKING:
    from genlaws.claims import Claim
    from genlaws.claims.records import Record

ALL_CLAIMS = "all"
MAX_JOBS = 256
app = App(
    name="claims",
    help="What the papers claim, what was found, and the checks.",
    help_format="plaintext",
)

RECORDS_FILE = "claims.json"
Paper = Annotated[str | None, Parameter(help="semanticity, rules-facts, relations or residual-stream.")]
Verdict = Annotated[
    str | None,
    Parameter(help="holds, 'holds within limits', corrected, 'not reproduced' or 'not testable here'."),
]
Id = Annotated[str, Parameter(help="Such as semanticity.theorem-1; genlaws claims list names them all.")]
Ids = Annotated[str, Parameter(help="Claims, papers, or all.")]
Size = Annotated[
    bool, Parameter(name="--quick", negative="--full", help="Take seconds for each claim, or up to two minutes.")
]
Jobs = Annotated[int, Parameter(help="Processes that check claims in parallel.")]
Out = Annotated[Path | None, Parameter(help="Folder to write the records to, as claims.json.")]


def choose_claims(names: Sequence[str]) -> tuple[list[Claim], dict[str, str]]:
    """Return the claims that the names select, each once, and those skipped with the library they need.

    A claim selected by its own name is never skipped: if its library is missing, that is an error.
    """
    chosen: dict[str, Claim] = {}
    skipped: dict[str, str] = {}
    for name in names:
        group = [one for one in all_claims() if name in {ALL_CLAIMS, one.paper}]
        if name not in {ALL_CLAIMS, *PAPERS}:
            one = get_claim(name)
            _require(one, missing_libraries(one))
            group = [one]
        for one in group:
            missing = missing_libraries(one)
            if missing:
                skipped[one.id] = missing[0]
            else:
                chosen[one.id] = one
    return list(chosen.values()), skipped


def _require(claim: Claim, missing: tuple[str, ...]) -> None:
    if not missing:
        return
    if missing[0] in EXTRAS:
        raise ModuleNotFoundError(f"{claim.id} needs {missing[0]}", name=missing[0])
    raise InputError(f"{claim.id} needs the package {missing[0]}, which is not installed.")


def record_claims(ids: Sequence[str], *, quick: bool, jobs: int, quiet: bool) -> tuple[list[Record], dict[str, str]]:
    """Check claims and return their records in the order given, and the errors of those that failed."""
    whole_number("jobs", jobs, at_least=1, at_most=MAX_JOBS)
    records: dict[str, Record] = {}
    broken: dict[str, str] = {}
    with ProgressBar(quiet=quiet) as bar:
        bar.start(len(ids), "claims")
        here = ((name, checked(name, quick)) for name in ids)
        answers = here if jobs == 1 else _checked_in_processes(ids, quick, jobs)
        for name, answer in answers:
            if isinstance(answer, str):
                broken[name] = answer
            else:
                records[name] = answer
            bar.advance()
    return [records[name] for name in ids if name in records], broken


def checked(name: str, quick: bool) -> Record | str:
    """Return the record of a claim, or the sentence of the error that stopped its check."""
    try:
        return record_claim(name, quick=quick)
    except (Exception, SystemExit) as error:  # one failing check must not stop the others; it is reported at the end
        return f"{type(error).__name__}: {error}"


def _checked_in_processes(ids: Sequence[str], quick: bool, jobs: int) -> Iterator[tuple[str, Record | str]]:
    """Yield outcomes as they come from new processes, which share no state with this one."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    with ProcessPoolExecutor(min(jobs, max(1, len(ids))), mp_context=get_context("spawn")) as pool:
        submitted = {pool.submit(checked, name, quick): name for name in ids}
        for one in as_completed(submitted):
            try:
                yield submitted[one], one.result()
            except BrokenProcessPool:  # killed, for example when memory runs out; all unfinished checks fail
                yield submitted[one], "WorkerDied: a process that checks claims was killed; use fewer --jobs."


@app.command(name="list")
def list_claims(*, paper: Paper = None, verdict: Verdict = None, json: Json = False) -> None:
    """List the claims with the verdict and the date of the bundled run."""
    if paper is not None:
        one_of("paper", paper, PAPERS)
    if verdict is not None:
        one_of("verdict", verdict, VERDICTS)
    bundled = bundled_records()
    rows = [_row(one, bundled.get(one.id)) for one in all_claims() if paper in {None, one.paper}]
    rows = [row for row in rows if verdict in {None, row["verdict"]}]
    if json:
        print_json({"claims": rows})
        return
    if not rows:
        print("No claim of this paper has this verdict.")
        return
    print(table([[row["id"], row["verdict"], f"{row['date']:<10}", row["statement"]] for row in rows]))
    print(_format_counts([row["verdict"] for row in rows]))


def _row(claim: Claim, record: Record | None) -> dict[str, str]:
    found = (NOT_RUN, "", "") if record is None else (record.verdict, record.date, record.size)
    return {"id": claim.id, **dict(zip(("verdict", "date", "size"), found, strict=True)), "statement": claim.statement}


def _format_counts(verdicts: list[str]) -> str:
    shares = ", ".join(f"{count} {verdict}" for verdict, count in Counter(verdicts).most_common())
    return f"{len(verdicts)} claims: {shares}."


@app.command
def show(claim: Id, /, *, json: Json = False) -> None:
    """Show a claim: what the paper says and where, how it is checked, and what the bundled run found."""
    from dataclasses import asdict

    one = get_claim(claim)
    record = bundled_records().get(claim)
    if json:
        print_json({**asdict(one), "paper": one.paper, "record": None if record is None else asdict(record)})
        return
    about = {
        "statement": one.statement,
        "where": one.where,
        "kind": one.kind,
        "checked by": one.route,
        "check": one.check.replace(":", "."),
        "evidence": one.command,
        "again": f"genlaws claims run {one.id}",
    }
    print(one.id if record is None else f"{one.id}: {record.verdict}")
    print(aligned({name: text for name, text in about.items() if text}))
    print("There is no bundled run of it." if record is None else _format_record(record))


def _format_record(record: Record) -> str:
    numbers = {
        f"  {number_label(name)}": value if isinstance(value, str) else f"{value:.6g}"
        for name, value in record.numbers.items()
    }
    when = f"{record.size} run of {record.date}, {record.seconds:.1f} s"
    return "\n".join([record.sentence, *([aligned(numbers)] if numbers else []), when])


@app.command
def run(*ids: Ids, quick: Size = True, jobs: Jobs = 1, json: Json = False, out: Out = None) -> None:
    """Check claims now; exit with code 1 if a verdict differs from the bundled one or a check fails."""
    if not ids:
        raise InputError("Name a claim, a paper or all; genlaws claims list names the claims.")
    chosen, skipped = choose_claims(ids)
    records, broken = record_claims([one.id for one in chosen], quick=quick, jobs=jobs, quiet=json)
    bundled = bundled_records()
    other = {
        one.id: (one, bundled[one.id])
        for one in records
        if one.id in bundled and bundled[one.id].verdict != one.verdict
    }
    changed = {name: both for name, both in other.items() if both[0].verdict != UNTESTED}
    missing = {name: before for name, (_, before) in other.items() if name not in changed}
    document = as_document(records) | {"skipped": skipped, "failed": broken, "changed": list(changed)}
    document["not_checked"] = list(missing)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / RECORDS_FILE).write_text(json_module.dumps(as_json(document), indent=2) + "\n", encoding="utf-8")
    if json:
        print_json(document)
    else:
        _print_records(records, skipped)
        for name, (_, before) in changed.items():
            print(f"{name} was recorded as: {before.verdict}.")
        for name, before in missing.items():
            print(f"{name} could not be checked here; it was recorded as: {before.verdict}.")
        if out is not None:
            print(f"Written to {out / RECORDS_FILE}")
    _raise_problems(len(records) - len(missing), broken, [*skipped, *missing], changed)


def _raise_problems(
    done: int, broken: dict[str, str], left_out: list[str], changed: dict[str, tuple[Record, Record]]
) -> None:
    """Raise an error for checks that failed, verdicts that differ, or if nothing was checked."""
    problems = []
    if broken:
        name, reason = next(iter(broken.items()))
        problems.append(f"{len(broken)} of {done + len(broken)} checks stopped with an error; {name}: {reason}")
    if changed:
        named = ", ".join(
            f"{name} ({now.verdict} in this {now.size} run, {before.verdict} in the bundled {before.size} run)"
            for name, (now, before) in changed.items()
        )
        problems.append(f"{len(changed)} of {done} verdicts differ from the bundled ones: {named}")
    if left_out and not done and not broken:
        problems.append(f"Nothing was checked, because a library or data is missing here: {', '.join(left_out)}")
    if problems:
        raise ConvergenceError(". ".join(problems), broken)


def _print_records(records: list[Record], skipped: dict[str, str]) -> None:
    """Print one claim in full, or several as a table."""
    if len(records) == 1:
        print(f"{records[0].id}: {records[0].verdict}")
        print(_format_record(records[0]))
    elif records:
        print(table([[one.id, one.verdict, f"{one.seconds:6.1f} s", one.sentence] for one in records]))
        print(_format_counts([one.verdict for one in records]))
    for name, library in skipped.items():
        print(f"{name} was not run: it needs {library}, which is not installed.")
