"""Output of every command: the options ``--json``, ``--seed`` and ``--out``, a progress bar, and printed answers."""

from __future__ import annotations

import json as json_module
import math
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from genlaws.core.errors import InputError
from genlaws.core.running import Running

if TYPE_CHECKING:
    import pandas as pd

Json = Annotated[bool, Parameter(negative="", help="Print one JSON object and nothing else.")]


def bar_on_stderr(*columns: TextColumn, quiet: bool = False) -> Progress:
    """Return a bar on standard error with more columns at its end; a quiet one shows nothing."""
    usual = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*usual, *columns, console=Console(stderr=True), disable=quiet)


class ProgressBar:
    """A progress bar on standard error; a context manager that gives the `Running` of what it shows.

    Nothing is shown before `start`.

    Parameters
    ----------
    quiet : bool
        Show nothing: for ``--json``.
    jobs, folder :
        Of the `Running`.
    """

    def __init__(self, *, quiet: bool = False, jobs: int = 1, folder: Path | None = None) -> None:
        self._progress = bar_on_stderr(quiet=quiet)
        self._task: TaskID | None = None
        self._running = Running(self, jobs=jobs, folder=folder)

    def __enter__(self) -> Running:
        return self._running

    def __exit__(self, *error: object) -> None:
        if self._task is not None:
            self._progress.live.transient = isinstance(error[1], InputError)  # no bar above the reason for a refusal
            self._progress.stop()

    def start(self, total: int | None, label: str) -> None:
        """Begin a new line of the bar; without a total it only shows activity."""
        self._progress.start()
        self._task = self._progress.add_task(label, total=total)

    def advance(self, n: int = 1) -> None:
        """Move the current line on."""
        if self._task is not None:
            self._progress.advance(self._task, n)

    def note(self, sentence: str) -> None:
        """Print a sentence, also where no bar is shown."""
        print(sentence, file=sys.stderr)


@Parameter(name="*")
@dataclass(frozen=True)
class Output:
    """Options of every command."""

    json: Annotated[bool, Parameter(negative="")] = False
    """Print one JSON object and nothing else."""

    seed: int = 0
    """Seed of whatever is random in this command; recorded with the result."""

    out: Path | None = None
    """Folder to write the result to."""


DEFAULT_OUTPUT = Output()
LINE_CHARACTERS = 115  # of a printed line


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    print(json_module.dumps(as_json(document), indent=2))


def show(command: str, answer: Mapping[str, Any], text: str, output: Output, frame: pd.DataFrame | None = None) -> None:
    """Print the answer as text or as JSON, and write it to the requested folder.

    Parameters
    ----------
    command : str
        Name of the files in the folder, ``<command>.json`` and ``<command>.csv``.
    answer : mapping
        Numbers, strings or lists of them, under the names of the library.
    text : str
        The answer for a person: first the number, then what it means.
    frame : DataFrame, optional
        Written to the CSV file instead of the answer.
    """
    document = json_module.dumps(as_json(answer), indent=2)
    if output.out is not None:
        write_folder(output.out, command, answer, document, frame)
    if output.json:
        print(document)
    else:
        print(text)
        if output.out is not None:
            print(f"Written to {output.out / command}.json and .csv")


def as_json(value: Any) -> Any:
    """Return plain JSON values; a number that is not finite becomes null."""
    if isinstance(value, Mapping):
        return {key: as_json(part) for key, part in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_folder(
    folder: Path, command: str, answer: Mapping[str, Any], document: str, frame: pd.DataFrame | None
) -> None:
    """Write the answer as JSON, and a CSV table: the given one, or the answer with one row per element."""
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{command}.json").write_text(document + "\n", encoding="utf-8")
    if frame is None:
        columns = {key: _column(value) for key, value in answer.items()}
        length = max(len(column) for column in columns.values())
        frame = pd.DataFrame({key: column * length if len(column) == 1 else column for key, column in columns.items()})
    frame.to_csv(folder / f"{command}.csv", index=False)


def _column(value: Any) -> list[Any]:
    """Return a value as the rows of a table column; one number, Python's or numpy's of any kind, is one row."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return plain if isinstance(plain, list) else [plain]


def aligned(rows: Mapping[str, str]) -> str:
    """Return `rows` as two aligned columns, name and value."""
    width = max(len(name) for name in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows.items())


def paragraph(*sentences: str) -> str:
    """Return sentences in lines that fit a terminal."""
    return textwrap.fill(" ".join(sentences), LINE_CHARACTERS)
