"""Questions about the claims: which there are, what was found about one, and whether checks still find the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from typing import Annotated, Any, ClassVar

from genlaws.claims.claim import PAPERS, UNTESTED, VERDICTS, Claim, number_label
from genlaws.claims.records import (
    NOT_RUN,
    Record,
    all_claims,
    bundled_records,
    get_claim,
    missing_libraries,
    record_claim,
)
from genlaws.core.arguments import one_of
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.imports import EXTRAS
from genlaws.core.parameters import Parameter
from genlaws.core.plain import UNWRITTEN, parts_of
from genlaws.core.result import Result, Row, Summary, called_separately, question, text_table
from genlaws.core.running import Running, checked_running

ALL_CLAIMS = "all"
HINT = "genlaws claims list names the claims."


def _claim_name(name: str, value: object, hint: str = "") -> str:
    return one_of(name, value, [claim.id for claim in all_claims()], hint)


def _claim_names(name: str, value: Any, hint: str = "") -> tuple[str, ...]:
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not given:
        raise InputError(f"{name} must be a claim, a paper or all, or several of them; got {value!r}. {hint}")
    known = [ALL_CLAIMS, *PAPERS, *(claim.id for claim in all_claims())]
    return tuple(one_of(name, one, known, hint) for one in given)


Paper = Annotated[str | None, Parameter("Paper.", choices=PAPERS)]
Verdict = Annotated[str | None, Parameter("Verdict of the bundled run.", choices=VERDICTS)]
ClaimName = Annotated[str, Parameter("Such as semanticity.theorem-1.", check=_claim_name, hint=HINT)]
ClaimNames = Annotated[str | Sequence[str], Parameter("Claims, papers, or all.", check=_claim_names, hint=HINT)]
Quick = Annotated[bool, Parameter("Take seconds for each claim rather than up to two minutes.")]


@dataclass(frozen=True)
class ListedClaim:
    """One claim of a list; more in :class:`~genlaws.claims.Claim`.

    Attributes
    ----------
    id, paper, kind, statement, where : str
    verdict, sentence, date, size : str
        Of the bundled run; if there is none, the verdict is "not run" and the others are empty.
    """

    id: str
    paper: str
    kind: str
    statement: str
    where: str
    verdict: str
    sentence: str
    date: str
    size: str


@dataclass(frozen=True, eq=False, repr=False)
class ClaimList(Result):
    """Claims with the verdicts of the bundled runs."""

    claims: tuple[ListedClaim, ...]

    def to_frame(self) -> DataFrame:
        """Return one row for each claim."""
        return frame_of([parts_of(one) for one in self.claims])

    def summary(self) -> Summary:
        """Return a line for each claim, and the number of each verdict."""
        if not self.claims:
            return Summary(sentences=["No claim of this paper has this verdict."])
        rows = [[one.id, one.verdict, f"{one.date:<10}", one.statement] for one in self.claims]
        return Summary(table=text_table(rows), sentences=[_format_counts(one.verdict for one in self.claims)])


@dataclass(frozen=True, eq=False, repr=False)
class ClaimDetails(Result):
    """What a paper says, how it is checked, and what the bundled run found; more in :class:`~genlaws.claims.Claim`.

    Attributes
    ----------
    id, paper, kind, statement, where, route, check, command : str
    needs : tuple of str
    record : Record or None
        What the bundled run found; None if there is none.
    """

    id: str
    paper: str
    kind: str
    statement: str
    where: str
    route: str
    check: str
    command: str
    needs: tuple[str, ...]
    record: Record | None

    def to_frame(self) -> DataFrame:
        """Return the numbers that were found, or one row without any."""
        return _number_frame({self.id: {} if self.record is None else self.record.numbers})

    def summary(self) -> Summary:
        """Return the claim, the check and the finding."""
        about = {
            "statement": self.statement,
            "where": self.where,
            "kind": self.kind,
            "checked by": self.route,
            "check": self.check.replace(":", "."),
            "evidence": self.command,
            "again": f"genlaws claims run {self.id}",
        }
        rows = [Row(name, text) for name, text in about.items() if text]
        found = self.record
        if found is None:
            return Summary(headline=[self.id], rows=rows, sentences=["There is no bundled run of it."])
        when = f"{found.size} run of {found.date}, {found.seconds:.1f} s"
        rows += _number_rows(found.numbers)
        return Summary(headline=[f"{self.id}: {found.verdict}"], rows=rows, sentences=[found.sentence, when])


@dataclass(frozen=True)
class ClaimCheck:
    """What a check found.

    Attributes
    ----------
    id, verdict : str
    bundled_verdict : str
        Of the bundled run.
    numbers : dict of str to float or str
        The evidence, by ids.
    sentence : str
    """

    id: str
    verdict: str
    bundled_verdict: str
    numbers: dict[str, float | str]
    sentence: str


@dataclass(frozen=True, eq=False, repr=False)
class ClaimChecks(Result):
    """What checks found, compared with the bundled runs.

    Attributes
    ----------
    claims : tuple of ClaimCheck
        In the order given.
    skipped : dict of str to str
        Claims that were left out, with the library that is not installed.
    failed : dict of str to str
        Claims whose check stopped with an error, with the error.
    records : tuple of Record
        The same as `claims` with times and versions, as the library bundles them.
    """

    derived: ClassVar[tuple[str, ...]] = ("changed", "not_checked")
    claims: tuple[ClaimCheck, ...]
    skipped: dict[str, str]
    failed: dict[str, str]
    records: tuple[Record, ...] = field(default=(), metadata=UNWRITTEN)

    @property
    def changed(self) -> tuple[str, ...]:
        """Claims with another verdict than in the bundled run."""
        return tuple(one.id for one in self._other() if one.verdict != UNTESTED)

    @property
    def not_checked(self) -> tuple[str, ...]:
        """Claims with a verdict in the bundled run that could not be checked here."""
        return tuple(one.id for one in self._other() if one.verdict == UNTESTED)

    def _other(self) -> list[ClaimCheck]:
        return [one for one in self.claims if one.bundled_verdict not in {NOT_RUN, one.verdict}]

    @property
    def unanswered(self) -> str:
        """Checks that failed, verdicts that differ, or that nothing was checked."""
        done, changed, problems = len(self.claims) - len(self.not_checked), self.changed, []
        if self.failed:
            name, reason = next(iter(self.failed.items()))
            count = len(self.failed)
            problems.append(f"{count} of {done + count} checks stopped with an error; {name}: {reason}")
        if changed:
            named = [
                f"{one.id} ({one.verdict} here, {one.bundled_verdict} in the bundled run)"
                for one in self.claims
                if one.id in changed
            ]
            problems.append(f"{len(changed)} of {done} verdicts differ from the bundled ones: {', '.join(named)}")
        left_out = [*self.skipped, *self.not_checked]
        if left_out and not done and not self.failed:
            problems.append(f"Nothing was checked, because a library or data is missing here: {', '.join(left_out)}")
        return ". ".join(problems)

    def to_frame(self) -> DataFrame:
        """Return one row for each claim, without its numbers."""
        rows = [{name: part for name, part in parts_of(one).items() if name != "numbers"} for one in self.claims]
        return frame_of(rows)

    def tables(self) -> dict[str, DataFrame]:
        """Return the findings, and their numbers."""
        return {"result": self.to_frame(), "numbers": _number_frame({one.id: one.numbers for one in self.claims})}

    def summary(self) -> Summary:
        """Return one claim in full or several as a table, and what differs from the bundled runs."""
        recorded = {one.id: one.bundled_verdict for one in self.claims}
        warnings = [
            *(
                f"{name} was not run: it needs {library}, which is not installed."
                for name, library in self.skipped.items()
            ),
            *(f"{name} was recorded as: {recorded[name]}." for name in self.changed),
            *(f"{name} could not be checked here; it was recorded as: {recorded[name]}." for name in self.not_checked),
        ]
        if len(self.claims) == 1:
            one = self.claims[0]
            return Summary(_number_rows(one.numbers), [one.sentence], warnings, headline=[f"{one.id}: {one.verdict}"])
        rows = [[one.id, one.verdict, one.sentence] for one in self.claims]
        counts = [_format_counts(one.verdict for one in self.claims)]
        return Summary(table=text_table(rows) if rows else "", sentences=counts, warnings=warnings)


def _format_counts(verdicts: Iterable[str]) -> str:
    counts = Counter(verdicts)
    shares = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    return f"{counts.total()} claims{f': {shares}' if shares else ''}."


def _number_rows(numbers: dict[str, float | str]) -> list[Row]:
    texts = {name: value if isinstance(value, str) else f"{value:.6g}" for name, value in numbers.items()}
    return [Row(number_label(name), text) for name, text in texts.items()]


def _number_frame(numbers: dict[str, dict[str, float | str]]) -> DataFrame:
    rows = [(claim, name, value) for claim, found in numbers.items() for name, value in (found or {"": ""}).items()]
    return frame_of(rows, ["claim", "number", "value"])


@question
def list_claims(*, paper: Paper = None, verdict: Verdict = None) -> ClaimList:
    """List the claims with the verdict and the date of the bundled run.

    Parameters
    ----------
    paper : {"semanticity", "rules-facts", "relations", "residual-stream"}, optional
    verdict : str, optional
        One of `VERDICTS`.
    """
    bundled = bundled_records()
    rows = [_listed(one, bundled.get(one.id)) for one in all_claims() if paper in {None, one.paper}]
    return ClaimList(tuple(row for row in rows if verdict in {None, row.verdict}))


def _listed(claim: Claim, record: Record | None) -> ListedClaim:
    found = (NOT_RUN, "", "", "") if record is None else (record.verdict, record.sentence, record.date, record.size)
    return ListedClaim(claim.id, claim.paper, claim.kind, claim.statement, claim.where, *found)


@question
def show_claim(claim: ClaimName) -> ClaimDetails:
    """Show a claim: what the paper says and where, how it is checked, and what the bundled run found.

    Parameters
    ----------
    claim : str
        Such as ``semanticity.theorem-1``.
    """
    one = get_claim(claim)
    return ClaimDetails(**asdict(one), paper=one.paper, record=bundled_records().get(claim))


@question
def run_claims(claims: ClaimNames, *, quick: Quick = True, running: Running | None = None) -> ClaimChecks:
    """Check claims now and compare the verdicts with the bundled ones.

    Parameters
    ----------
    claims : str or sequence of str
        Claims, papers, or all. A claim whose library is missing is left out, unless it is selected by its own name:
        then that is an error.
    quick : bool
        Whether to take seconds for each claim rather than up to two minutes, with fewer draws and points.
    running : Running, optional
        Its jobs are used.
    """
    shown = checked_running(running, "jobs")
    chosen, skipped = choose_claims(claims)
    names = [one.id for one in chosen]
    shown.start(len(names), "claims")
    here = ((name, called_separately(checked, name, quick)) for name in names)
    found: dict[str, Record | str] = {}
    for name, answer in here if shown.jobs == 1 else _checked_in_processes(names, quick, shown.jobs):
        found[name] = answer
        shown.advance()
    failed = {name: error for name, error in found.items() if isinstance(error, str)}
    records = [one for one in map(found.get, names) if isinstance(one, Record)]
    bundled = bundled_records()
    before = {one.id: bundled[one.id].verdict if one.id in bundled else NOT_RUN for one in records}
    checks = [ClaimCheck(one.id, one.verdict, before[one.id], one.numbers, one.sentence) for one in records]
    return ClaimChecks(tuple(checks), skipped, failed, tuple(records))


def choose_claims(names: Sequence[str]) -> tuple[list[Claim], dict[str, str]]:
    """Return the claims that the names select, each once, and those skipped with the library they need."""
    chosen: dict[str, Claim] = {}
    skipped: dict[str, str] = {}
    for name in names:
        for one in all_claims():
            missing = missing_libraries(one) if name in {ALL_CLAIMS, one.paper, one.id} else ()
            if missing and name == one.id:
                _raise_missing(one, missing[0])
            elif missing:
                skipped[one.id] = missing[0]
            elif name in {ALL_CLAIMS, one.paper, one.id}:
                chosen[one.id] = one
    return list(chosen.values()), skipped


def _raise_missing(claim: Claim, library: str) -> None:
    if library in EXTRAS:
        raise ModuleNotFoundError(f"{claim.id} needs {library}", name=library)
    raise InputError(f"{claim.id} needs the package {library}, which is not installed.")


def checked(name: str, quick: bool) -> Record | str:
    """Return the record of a claim, or the sentence of the error that stopped its check."""
    try:
        return record_claim(name, quick=quick)
    except (Exception, SystemExit) as error:  # one failing check must not stop the others; it is reported at the end
        return f"{type(error).__name__}: {error}"


def _checked_in_processes(names: Sequence[str], quick: bool, jobs: int) -> Iterator[tuple[str, Record | str]]:
    """Yield outcomes as they come from new processes, which share no state with this one."""
    with ProcessPoolExecutor(min(jobs, max(1, len(names))), mp_context=get_context("spawn")) as pool:
        submitted = {pool.submit(checked, name, quick): name for name in names}
        for one in as_completed(submitted):
            try:
                yield submitted[one], one.result()
            except BrokenProcessPool:  # killed, for example when memory runs out; all unfinished checks fail
                yield submitted[one], "WorkerDied: a process that checks claims was killed; use fewer jobs."
