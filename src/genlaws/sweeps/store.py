"""The store of a sweep: a folder with an SQLite index of all cells and one file for the arrays of each finished cell.

A finished cell is committed in one transaction. Its file of arrays is moved into place before, in one step, so it is
either complete or missing. The index is in write-ahead mode: other processes can read while a sweep writes, and a
killed driver loses no committed cell.
"""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy

from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.locks import FolderLock
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.seeds import NAMES_IN_SEEDS, canonical
from genlaws.sweeps.grid import Axis, Cell, Sweep, make_sweep
from genlaws.sweeps.index import INDEX_FILE, make_index, open_index, transaction, unreadable
from genlaws.sweeps.parameters import Folder, Tracebacks
from genlaws.sweeps.registry import get_experiment
from genlaws.sweeps.tasks import CellOutcome, split_result

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

ARRAYS_FOLDER = "arrays"
MAX_FAILURES_SHOWN = 5  # in a summary
STORE_READ_ERRORS = (OSError, EOFError, BadZipFile, RuntimeError, ValueError)  # what a missing or damaged file raises


def write_arrays(folder: Path, key: str, arrays: Mapping[str, np.ndarray]) -> str | None:
    """Write the arrays of a cell and return the name of the file, or None if there are no arrays."""
    if not arrays:
        return None
    name = f"{key[:2]}/{key}.npz"
    path = folder / ARRAYS_FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{key}.part")  # there is one writer; a part left by a killed one is overwritten
    try:
        part.write_bytes(_to_npz(arrays))
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return name


def read_arrays(folder: Path, file: str | None) -> dict[str, np.ndarray]:
    """Return the arrays of a file by their names."""
    if file is None:
        return {}
    path = folder / ARRAYS_FOLDER / file
    try:
        with ZipFile(path) as archive:
            return {entry.removesuffix(".npy"): _read_npz_entry(archive, entry) for entry in archive.namelist()}
    except STORE_READ_ERRORS as error:
        raise InputError(
            f"The arrays of a finished cell cannot be read from {str(path)!r}: {str(error) or type(error).__name__}. "
            "Run the same sweep again to recompute the cell."
        ) from None


def are_readable(folder: Path, file: str | None) -> bool:
    """Return whether the arrays of a cell are present and intact, by their checksums."""
    if file is None:
        return True
    try:
        with ZipFile(folder / ARRAYS_FOLDER / file) as archive:
            return archive.testzip() is None
    except STORE_READ_ERRORS:
        return False


def _to_npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the arrays as the bytes of an npz file; numpy's own writer reserves some names."""
    stream = BytesIO()
    with ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                npy.write_array(entry, array, allow_pickle=False)
    return stream.getvalue()


def _read_npz_entry(archive: ZipFile, entry: str) -> np.ndarray:
    with archive.open(entry) as stream:
        array: np.ndarray = npy.read_array(stream, allow_pickle=False)
        return array


@dataclass(frozen=True)
class SweepCounts:
    """Progress of a sweep.

    Attributes
    ----------
    total : int
        Cells of the sweep when it was last started.
    done, failed : int
    damaged : int
        Finished cells whose file of arrays is missing or cannot be read. They do not count as done; the next run
        computes them again.
    running : bool
        Whether a driver is running.
    started, latest : str
        When the sweep was last started, and when the latest cell was committed (UTC).
    seconds : float
        Computing time of all cells together.
    rate : float
        Cells committed per second since the start; NaN if there are none.
    message : str
    """

    total: int
    done: int
    failed: int
    damaged: int
    running: bool
    started: str
    latest: str
    seconds: float
    rate: float
    message: str

    @property
    def state(self) -> str:
        """What the sweep is doing, or how its latest run ended."""
        if self.running:
            return "running"
        if self.message == "running":
            return "stopped (killed)"
        return self.message or "not begun"


@dataclass(frozen=True)
class CellFailure:
    """A cell that failed.

    Attributes
    ----------
    settings : dict
    repeat : int
    error : str
    traceback : str or None
        Empty if none was stored; None if it was not requested.
    """

    settings: Mapping[str, Any]
    repeat: int
    error: str
    traceback: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SweepStatus(Result, SweepCounts):
    """Progress of a sweep, and the cells that failed.

    Attributes
    ----------
    folder, experiment : str
    axes : dict
        Values of each setting on an axis of the latest run.
    varied : tuple of str
        Settings that were on an axis of any run.
    repeats : int
    failures : tuple of CellFailure
    """

    derived = ("state",)

    folder: str
    experiment: str
    axes: Mapping[str, Any]
    varied: tuple[str, ...]
    repeats: int
    failures: tuple[CellFailure, ...]

    def summary(self) -> Summary:
        """Return how many cells are done, how long it took, and the first failures."""
        axes = ", ".join(f"{field} ({len(values)})" for field, values in self.axes.items()) or "none"
        repeats = "1 repeat" if self.repeats == 1 else f"{self.repeats} repeats"
        rows = [
            Row("cells done", f"{self.done} of {self.total}"),
            Row("failed", str(self.failed)),
            Row("state", self.state),
            Row("latest cell", f"{self.latest} UTC" if self.latest else "none yet"),
            Row("computing time", f"{self.seconds:.1f} s"),
        ]
        if self.damaged:
            problem = "file missing or damaged; the next run recomputes such cells"
            rows.append(Row("arrays lost", f"{self.damaged} ({problem})"))
        left = self.total - self.done
        if self.running and self.rate > 0 and left > 0:
            rows.append(Row("rate", f"{self.rate:.3g} cells a second, about {left / self.rate:.0f} s left"))
        first = self.failures[:MAX_FAILURES_SHOWN]
        rows += [Row("error", self._where(one)) for one in first]
        if len(self.failures) > len(first):
            rows.append(Row("more errors", f"{len(self.failures) - len(first)}; to_dict() has all"))
        if any(one.traceback is None for one in first):
            rows.append(Row("tracebacks", f"genlaws sweep status {shlex.quote(self.folder)} --traceback"))
        traced = [one for one in first if one.traceback is not None]
        traces = [f"{self._where(one)}\n{one.traceback or 'No traceback was stored.'}" for one in traced]
        headline = [f"{self.experiment}, axes {axes}, {repeats}"]
        return Summary(rows, headline=headline, table="\n".join(traces))

    def _where(self, failure: CellFailure) -> str:
        varying = {field: failure.settings[field] for field in self.varied}
        return f"{varying}, repeat {failure.repeat}: {failure.error}"

    def columns(self) -> dict[str, Any]:
        """Return the counts, each as a column with one element."""
        return {one.name: [getattr(self, one.name)] for one in fields(SweepCounts)}

    def tables(self) -> dict[str, DataFrame]:
        """Return the counts, and the cells that failed."""
        failed = [{**one.settings, "repeat": one.repeat, "error": one.error} for one in self.failures]
        return {"result": self.to_frame()} | ({"failures": frame_of(failed)} if failed else {})


@dataclass(frozen=True)
class StoredCell:
    """A finished cell."""

    key: str
    settings: Mapping[str, Any]
    repeat: int
    numbers: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]


class Store:
    """The folder of one sweep; a context manager.

    Parameters
    ----------
    folder : path
        Folder of an existing store; :meth:`create` makes one.
    write : bool
        Lock the folder for writing. A second writer raises an error.
    """

    def __init__(self, folder: str | os.PathLike[str], *, write: bool = False) -> None:
        self.folder = Path(folder).absolute()
        if not (self.folder / INDEX_FILE).is_file():
            raise InputError(f"There is no sweep in {str(folder)!r}.")
        self._lock = FolderLock(self.folder) if write else None
        self._environments: dict[str, int] = {}
        try:
            self._index = open_index(self.folder, write=write)
        except BaseException:
            self._release()
            raise

    @classmethod
    def create(cls, folder: str | os.PathLike[str], sweep: Sweep) -> Store:
        """Return the store of a sweep, open for writing: a new one, or the one already there if it fits."""
        path = Path(folder)
        if path.exists() and not path.is_dir():
            raise InputError(f"out must be a folder; {str(path)!r} is a file.")
        path.mkdir(parents=True, exist_ok=True)
        if not (path / INDEX_FILE).exists():
            _create_index(path, sweep)
        store = cls(path, write=True)
        try:
            store._adopt(sweep)
        except BaseException:
            store.close()
            raise
        return store

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        self.close()
        if isinstance(error, sqlite3.Error):
            raise unreadable(self.folder, error) from error

    def close(self) -> None:
        """Close the index and release the folder."""
        self._index.close()
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    # Metadata.

    def about(self) -> dict[str, Any]:
        """Return the metadata of the sweep: experiment, schema, settings, axes, repeats, seed, total.

        ``axes`` are those of the latest run; ``fields`` are all that ever were on an axis of this folder; ``several``
        is true if the folder may hold cells that do not belong to the latest run.
        """
        facts = {name: json.loads(value) for name, value in self._index.execute("SELECT name, value FROM about")}
        if "experiment" not in facts:
            raise InputError(f"The index {str(self.folder / INDEX_FILE)!r} does not state which sweep it belongs to.")
        return facts

    def _adopt(self, sweep: Sweep) -> None:
        """Check that the sweep is compatible with the folder, and record it."""
        known, now = self.about(), _metadata(sweep)
        _check_fits(known, now, self.folder)
        now["fields"] = list(dict.fromkeys([*known["fields"], *now["fields"]]))
        now["several"] = known["several"] or any(known[name] != now[name] for name in ("axes", "settings", "repeats"))
        self.note(**now)

    def note(self, **facts: Any) -> None:
        """Write metadata of the sweep, each value under its name."""
        with transaction(self._index):
            rows = [(name, canonical(value)) for name, value in facts.items()]
            self._index.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", rows)

    # Writing cells.

    def is_done(self, key: str) -> bool:
        """Return whether a cell is finished and its arrays can be read."""
        row = self._index.execute("SELECT arrays FROM cells WHERE key = ? AND status = 'done'", (key,)).fetchone()
        return row is not None and are_readable(self.folder, row[0])

    def attempts(self, key: str) -> int:
        """Return how often a cell has failed."""
        row = self._index.execute("SELECT attempts FROM cells WHERE key = ? AND status = 'failed'", (key,)).fetchone()
        return 0 if row is None else int(row[0])

    def commit(self, cells: Sequence[Cell], outcomes: Sequence[CellOutcome]) -> None:
        """Write the outcomes of one task, all or none; arrays first, so that no row points to a missing file."""
        prepared = [split_result(outcome.result) for outcome in outcomes]
        files = [write_arrays(self.folder, cell.key, arrays) for cell, (_, arrays) in zip(cells, prepared, strict=True)]
        try:
            with transaction(self._index):
                for cell, outcome, (numbers, _), file in zip(cells, outcomes, prepared, files, strict=True):
                    self._write_row(cell, outcome, numbers, file)
        except BaseException:
            self._environments.clear()  # one of them may just have been rolled back
            raise

    def _write_row(self, cell: Cell, outcome: CellOutcome, numbers: Mapping[str, Any], file: str | None) -> None:
        failed = outcome.error is not None
        attempts = self.attempts(cell.key) + 1 if failed else self.attempts(cell.key)
        row = (
            cell.key,
            canonical(cell.settings.model_dump(mode="json")),
            cell.repeat,
            cell.seed,
            "failed" if failed else "done",
            None if failed else json.dumps(numbers),
            file,
            outcome.error,
            attempts,
            outcome.seconds,
            self._environment(outcome.environment),
            outcome.finished,
        )
        self._index.execute(f"INSERT OR REPLACE INTO cells VALUES ({','.join('?' * len(row))})", row)
        self._index.execute("DELETE FROM tracebacks WHERE key = ?", (cell.key,))
        if outcome.trace:
            self._index.execute("INSERT INTO tracebacks VALUES (?, ?)", (cell.key, outcome.trace))

    def _environment(self, document: Mapping[str, Any]) -> int:
        text = canonical(dict(document))
        if text not in self._environments:
            self._index.execute("INSERT OR IGNORE INTO environments (document) VALUES (?)", (text,))
            row = self._index.execute("SELECT id FROM environments WHERE document = ?", (text,)).fetchone()
            self._environments[text] = int(row[0])
        return self._environments[text]

    # Reading.

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one consistent state inside, even while a driver writes."""
        self._index.execute("BEGIN")
        try:
            yield
        finally:
            self._index.execute("COMMIT")

    def counts(self) -> SweepCounts:
        """Return the progress of the sweep, also while another process writes."""
        about = self.about()
        by_status = self._by_status(about)
        seconds, latest = self._index.execute("SELECT SUM(seconds), MAX(finished) FROM cells").fetchone()
        started = about.get("started", "")
        return SweepCounts(
            total=about.get("total", 0),
            done=by_status["done"],
            failed=by_status["failed"],
            damaged=by_status["damaged"],
            running=FolderLock.is_held(self.folder),
            started=started,
            latest=latest or "",
            seconds=seconds or 0.0,
            rate=self._rate(started),
            message=about.get("message", ""),
        )

    def _by_status(self, about: Mapping[str, Any]) -> Counter[str]:
        """Return how many cells of the latest sweep have each status; ``damaged`` if their arrays cannot be read."""
        allowed: dict[str, set[str]] = {}  # by setting; empty if all cells belong to the latest sweep
        if about["several"]:
            allowed |= {name: {canonical(about["settings"][name])} for name in about["fields"]}
            allowed |= {name: {canonical(value) for value in values} for name, values in about["axes"]}
        counts: Counter[str] = Counter()
        query = "SELECT status, arrays, settings FROM cells WHERE repeat < ?"
        for status, file, settings in self._index.execute(query, (about["repeats"],)):
            document = json.loads(settings) if allowed else {}
            if all(canonical(document[name]) in values for name, values in allowed.items()):
                counts[status if are_readable(self.folder, file) else "damaged"] += 1
        return counts

    def _rate(self, started: str) -> float:
        query = "SELECT COUNT(*), (JULIANDAY(MAX(finished)) - JULIANDAY(?)) * 86400 FROM cells WHERE finished >= ?"
        count, seconds = self._index.execute(query, (started, started)).fetchone()
        return count / seconds if count and seconds and seconds > 0 else float("nan")

    def failures(self) -> list[tuple[dict[str, Any], int, str]]:
        """Return settings, repeat and error of every cell that failed."""
        query = "SELECT settings, repeat, error FROM cells WHERE status = 'failed' ORDER BY settings, repeat"
        return [(json.loads(settings), repeat, error) for settings, repeat, error in self._index.execute(query)]

    def tracebacks(self) -> list[str]:
        """Return the traceback of every cell that failed, in the order of :meth:`failures`.

        It is empty if there is none: the worker process died, or the folder has no stored tracebacks.
        """
        if not self._index.execute("SELECT 1 FROM sqlite_master WHERE name = 'tracebacks'").fetchone():
            return [""] * len(self.failures())
        query = (
            "SELECT IFNULL(traceback, '') FROM cells LEFT JOIN tracebacks USING (key) WHERE status = 'failed' "
            "ORDER BY settings, repeat"
        )
        return [traceback for (traceback,) in self._index.execute(query)]

    def cells(self) -> Iterator[StoredCell]:
        """Yield every finished cell with its arrays, one at a time, in the order of settings and repeat."""
        for cell, file in self._finished_cells():
            yield replace(cell, arrays=read_arrays(self.folder, file))

    def cells_without_arrays(self) -> Iterator[StoredCell]:
        """Yield every finished cell with only its numbers, in the same order."""
        for cell, _ in self._finished_cells():
            yield cell

    def _finished_cells(self) -> Iterator[tuple[StoredCell, str | None]]:
        columns = "key, settings, repeat, numbers, arrays"
        query = f"SELECT {columns} FROM cells WHERE status = 'done' ORDER BY settings, repeat"
        for key, settings, repeat, numbers, file in self._index.execute(query):
            yield StoredCell(key, json.loads(settings), repeat, json.loads(numbers), {}), file

    def to_frame(self, *, provenance: bool = False) -> pd.DataFrame:
        """Return one row for each finished cell: settings, repeat, and the numbers of its result.

        With ``provenance=True`` also the seed, the duration, and the software and machine it was computed with.
        """
        from genlaws.sweeps.tables import frame_of  # noqa: PLC0415

        return frame_of(self, provenance=provenance)

    def to_xarray(self) -> xr.Dataset:
        """Return numbers and arrays over the axes of the sweep and the repeats; missing cells are NaN."""
        from genlaws.sweeps.tables import dataset_of  # noqa: PLC0415

        return dataset_of(self)

    def provenance(self) -> Iterator[tuple[str, int, float, str, dict[str, Any]]]:
        """Yield key, seed, seconds, time and environment of every finished cell, in the order of :meth:`cells`."""
        query = (
            "SELECT key, seed, seconds, finished, document FROM cells LEFT JOIN environments ON environment = id "
            "WHERE status = 'done' ORDER BY settings, repeat"
        )
        for key, seed, seconds, finished, document in self._index.execute(query):
            yield key, seed, seconds, finished, json.loads(document)


def _create_index(folder: Path, sweep: Sweep) -> None:
    """Create the index of a sweep, unless another driver has just done so."""
    lock = FolderLock(folder)
    try:
        if not (folder / INDEX_FILE).exists():
            make_index(folder, [(name, canonical(value)) for name, value in _metadata(sweep).items()])
    finally:
        lock.release()


def _metadata(sweep: Sweep) -> dict[str, Any]:
    """Return the metadata of a sweep."""
    return {
        "experiment": sweep.experiment.name,
        "schema": sweep.experiment.schema,
        "seed": sweep.seed,
        "settings": sweep.settings.model_dump(mode="json"),
        "axes": sweep.axes_document(),
        "fields": [axis.field for axis in sweep.axes],
        "repeats": sweep.repeats,
        "total": sweep.total,
        "several": False,
    }


def _check_fits(known: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    """Raise if a sweep differs from the stored one in more than axis values and the number of repeats."""
    before, after = known["settings"], now["settings"]
    former = {known.get("experiment"), *before} & set(NAMES_IN_SEEDS.values())
    if old := sorted(former - set(after)):
        raise InputError(
            f"{str(folder)!r} was made by genlaws 0.1, where some names were spelled differently ({', '.join(old)}). "
            "Its table can still be exported; to continue the sweep, use another folder."
        )
    for name in ("experiment", "schema", "seed"):
        if known.get(name) != now[name]:
            raise InputError(
                f"{str(folder)!r} holds a sweep with {name} {known.get(name)!r}, and this one has {now[name]!r}; use "
                "another folder."
            )
    on_axes = {*known["fields"], *now["fields"]}
    differing = [name for name in {**after, **before} if name not in on_axes and _differ(before, after, name)]
    if differing:
        changes = ", ".join(f"{name} ({before.get(name)!r} there, {after.get(name)!r} now)" for name in differing)
        raise InputError(f"{str(folder)!r} holds a sweep with other settings: {changes}; use another folder.")


def _differ(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> bool:
    """Return whether a setting has changed; NaN equals NaN."""
    return (name in before) != (name in after) or canonical(before.get(name)) != canonical(after.get(name))


def stored_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Return the sweep of a folder as it was last started, to continue it."""
    with Store(folder) as store:
        about = store.about()
    axes = [Axis(field, tuple(values)) for field, values in about["axes"]]
    return make_sweep(get_experiment(about["experiment"]), about["settings"], axes, about["repeats"], about["seed"])


@question
def sweep_status(folder: Folder, *, traceback: Tracebacks = False) -> SweepStatus:
    """Give the progress of a sweep, also while it runs in another process.

    Parameters
    ----------
    folder : path
    traceback : bool
        Give the traceback of each cell that failed, too.
    """
    with Store(folder) as store, store.snapshot():
        about, counts, failures = store.about(), store.counts(), store.failures()
        traces = store.tracebacks() if traceback else [None] * len(failures)
    return SweepStatus(
        **vars(counts),
        folder=str(folder),
        experiment=about["experiment"],
        axes=dict(about["axes"]),
        varied=tuple(about["fields"]),
        repeats=about["repeats"],
        failures=tuple(CellFailure(*failure, trace) for failure, trace in zip(failures, traces, strict=True)),
    )
