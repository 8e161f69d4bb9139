"""Check several claims, here or in processes side by side, with a bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from genlaws.commands.progress import ProgressBar
from genlaws.numerics.arguments import whole_number
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from genlaws.claims import Claim
    from genlaws.claims.records import Record

ALL = "all"
MOST_JOBS = 256


def choose_claims(names: Sequence[str]) -> tuple[list[Claim], dict[str, str]]:
    """Return the claims that claims, papers or all name, each once, and those left out with the library they need.

    A claim that was named itself is never left out: if its library is missing, that is an error.
    """
    from genlaws.claims import all_claims, get_claim
    from genlaws.claims.claim import PAPERS
    from genlaws.claims.records import missing_libraries

    chosen: dict[str, Claim] = {}
    skipped: dict[str, str] = {}
    for name in names:
        group = [one for one in all_claims() if name in {ALL, one.paper}]
        if name not in {ALL, *PAPERS}:
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
    from genlaws.commands import EXTRAS

    if not missing:
        return
    if missing[0] in EXTRAS:
        raise ModuleNotFoundError(f"{claim.id} needs {missing[0]}", name=missing[0])
    raise InputError(f"{claim.id} needs the package {missing[0]}, which is not installed.")


def record_claims(ids: Sequence[str], *, quick: bool, jobs: int, quiet: bool) -> tuple[list[Record], dict[str, str]]:
    """Check claims and return their records in the order given, and what stopped those that stopped."""
    whole_number("jobs", jobs, at_least=1, at_most=MOST_JOBS)
    records: dict[str, Record] = {}
    broken: dict[str, str] = {}
    with ProgressBar(quiet=quiet) as bar:
        bar.start(len(ids), "claims")
        answers = _here(ids, quick) if jobs == 1 else _in_processes(ids, quick, jobs)
        for name, answer in answers:
            if isinstance(answer, str):
                broken[name] = answer
            else:
                records[name] = answer
            bar.advance()
    return [records[name] for name in ids if name in records], broken


def checked(name: str, quick: bool) -> Record | str:
    """Return the record of a claim, or the sentence of the error that stopped its check."""
    from genlaws.claims.records import record_claim

    try:
        return record_claim(name, quick=quick)
    except (
        Exception,
        SystemExit,
    ) as error:  # one broken check must not take the others with it; it is named in the end
        return f"{type(error).__name__}: {error}"


def _here(ids: Sequence[str], quick: bool) -> Iterator[tuple[str, Record | str]]:
    for name in ids:
        yield name, checked(name, quick)


def _in_processes(ids: Sequence[str], quick: bool, jobs: int) -> Iterator[tuple[str, Record | str]]:
    """Yield answers as they come from fresh processes, which share no state with this one."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    with ProcessPoolExecutor(min(jobs, max(1, len(ids))), mp_context=get_context("spawn")) as pool:
        asked = {pool.submit(checked, name, quick): name for name in ids}
        for one in as_completed(asked):
            try:
                yield asked[one], one.result()
            except BrokenProcessPool:  # killed, as when memory runs out; it takes all that were not done with it
                yield asked[one], "WorkerDied: a process that checks claims was killed; use fewer --jobs."
