"""``genlaws sweep``: run an experiment over many settings, show its progress and status, and export its results.

Progress is a bar in a terminal and an occasional line elsewhere.
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any, Self

from cyclopts import App, Parameter
from rich.progress import TaskID, TextColumn

from genlaws.cli import install_hint
from genlaws.cli.output import Json, aligned, bar_on_stderr, print_json
from genlaws.core.errors import InputError
from genlaws.core.running import Running
from genlaws.sweeps import (
    EXPERIMENTS,
    Axis,
    DaskCluster,
    InProcess,
    Processes,
    Store,
    get_experiment,
    make_sweep,
    read_axis,
    run_sweep,
)
from genlaws.sweeps.tables import export as write

if TYPE_CHECKING:
    from genlaws.sweeps import Engine, Experiment, Sweep, SweepCounts, SweepReport

LINE_INTERVAL_SECONDS = 5.0  # between two lines where there is no terminal
app = App(
    name="sweep",
    help="Run an experiment over many settings; finished cells are stored even if it is stopped.",
    help_format="plaintext",
)

Folder = Annotated[Path, Parameter(help="Folder of the sweep.")]
Name = Annotated[str | None, Parameter(help="Experiment; genlaws sweep list shows them. Left out with --resume.")]
AxisText = Annotated[
    list[str],
    Parameter(name="--axis", help="field=start:stop:count[:log] or field=a,b,c; may be given several times."),
]
SetText = Annotated[list[str], Parameter(name="--set", help="field=value for all cells; may be given several times.")]
Repeats = Annotated[int, Parameter(help="Runs of each setting, each with its own seed.")]
Jobs = Annotated[int, Parameter(help="Processes on this machine; 1 computes in the current process.")]
Scheduler = Annotated[
    str | None,
    Parameter(help="A dask scheduler such as tcp://10.0.0.1:8786, or local for one started here."),
]
Resume = Annotated[bool, Parameter(negative="", help="Continue the sweep in the folder, as it was started.")]
Retries = Annotated[int, Parameter(help="How often a cell that failed is tried again.")]
StopAfter = Annotated[int, Parameter(help="Stop when this many cells in a row fail in the same way.")]
Seed = Annotated[int, Parameter(help="Seed of the whole sweep.")]
Kind = Annotated[str, Parameter(name="--to", help="csv, parquet or netcdf.")]
Traceback = Annotated[bool, Parameter(negative="", help="Print the traceback of each cell that failed, too.")]
OutFile = Annotated[Path | None, Parameter(help="File to write; in the folder of the sweep if left out.")]
MAX_FAILURES_PRINTED = 5  # --json has all


def watch(*, quiet: bool) -> SweepBar | SweepLines:
    """Return a progress display on standard error: a bar in a terminal, else lines."""
    if sys.stderr.isatty() and not quiet:
        return SweepBar()
    return SweepLines(quiet=quiet)


class _Counting:
    """Counts cells; subclasses display them."""

    def __init__(self) -> None:
        self.total = self.done = self.failed = self.computed = 0
        self.label, self.begun = "", time.monotonic()

    @property
    def rate(self) -> float:
        """Cells computed in a second."""
        spent = time.monotonic() - self.begun
        return self.computed / spent if spent > 0 else 0.0

    @property
    def failures(self) -> str:
        """The number of failures for the end of a line; nothing if there are none."""
        return f", failures: {self.failed}" if self.failed else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.show()

    def start(self, total: int | None, label: str) -> None:
        """Begin."""
        self.total, self.label, self.begun = total or 0, label, time.monotonic()

    def skip(self, n: int) -> None:
        """Count cells that were done before."""
        self.done += n
        self.show_if_due()

    def advance(self, n: int = 1) -> None:
        """Count cells just committed."""
        self.done += n
        self.computed += n
        self.show_if_due()

    def fail(self, n: int, error: str) -> None:
        """Count failures; a cell that is tried again may fail again."""
        self.failed += n
        self.show_if_due()

    def show_if_due(self) -> None:
        """Show the counts after a change, unless they were shown just before."""
        self.show()

    def show(self) -> None:
        """Show the counts."""
        raise NotImplementedError


class SweepBar(_Counting):
    """A bar with the rate, the time left and the failures."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = bar_on_stderr(TextColumn("{task.fields[status]}"))
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._bar.stop()

    def start(self, total: int | None, label: str) -> None:
        """Draw the bar."""
        super().start(total, label)
        self._task = self._bar.add_task(label, total=total, status="")

    def show(self) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bar.update(self._task, completed=self.done, status=f"{self.rate:.3g} cells/s{self.failures}")


class SweepLines(_Counting):
    """A plain line on standard error every few seconds, and one at the end."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet = quiet
        self._latest = time.monotonic()

    def show_if_due(self) -> None:
        """Write a line if the previous one is some seconds old."""
        if time.monotonic() - self._latest >= LINE_INTERVAL_SECONDS:
            self.show()

    def show(self) -> None:
        """Write a line."""
        self._latest = time.monotonic()
        if self._quiet or not self.total:
            return
        remaining = self.total - self.done
        left = f", about {remaining / self.rate:.0f} s left" if self.rate and remaining > 0 else ""
        speed = f"{self.done}/{self.total} cells, {self.rate:.3g} cells/s"
        print(f"{self.label}: {speed}{left}{self.failures}", file=sys.stderr, flush=True)


@app.command(name="list")
def list_experiments(*, json: Json = False) -> None:
    """List the experiments, with the paper they belong to, what a cell costs, and their settings."""
    rows = [_experiment_row(experiment) for experiment in EXPERIMENTS.values()]
    if json:
        print_json({"experiments": rows})
        return
    for row in rows:
        known = row["settings"] or {}
        settings = row["needs"] or ", ".join(f"{name}={value}" for name, value in known.items())
        lines = {"paper": row["citation"], "figure": row["figure"] or "none", "one cell": row["cost"]}
        print(f"{row['name']}: {row['title']}")
        print(aligned({f"  {name}": value for name, value in {**lines, "settings": settings}.items()}))


def _experiment_row(experiment: Experiment) -> dict[str, Any]:
    """Return the row of an experiment; without settings if a library that it needs is missing."""
    settings, needs = None, None
    try:
        fields = experiment.load().settings.model_fields
        settings = {name: _default(field.default) for name, field in fields.items()}
    except ModuleNotFoundError as error:
        needs = install_hint(error)
    about = {name: getattr(experiment, name) for name in ("name", "title", "citation", "figure", "cost")}
    return {**about, "settings": settings, "needs": needs}


def _default(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


@app.command
def run(
    name: Name = None,
    /,
    *,
    out: Folder,
    axis: AxisText = [],  # noqa: B006 - read only
    set_: SetText = [],  # noqa: B006 - read only
    repeats: Repeats = 1,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    resume: Resume = False,
    retries: Retries = 1,
    stop_after: StopAfter = 10,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Compute every cell that is not in the folder yet. After a stop, the same command continues.

    Results do not depend on --jobs or --scheduler.
    """
    sweep = _resumed_sweep(name, out, axis, set_) if resume else _new_sweep(name, axis, set_, repeats, seed)
    engine = _engine(jobs, scheduler)
    try:
        with watch(quiet=json) as progress:
            running = Running(progress)
            report = run_sweep(sweep, out, engine=engine, running=running, retries=retries, stop_after=stop_after)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Stopped. Finished cells are stored; run the same command to continue.") from None
    if json:
        print_json({**vars(report), "folder": str(out)})
    else:
        print(_format_report(report, out))


def _new_sweep(name: str | None, axis: list[str], settings: list[str], repeats: int, seed: int) -> Sweep:
    if name is None:
        raise InputError(
            "Name an experiment (genlaws sweep list), or add --resume to continue the sweep in the folder."
        )
    chosen: dict[str, Any] = {}
    for text in settings:
        one = read_axis(text)
        if len(one.values) != 1:
            raise InputError(f"--set gives one value to a field; got {text!r}. Use --axis for several.")
        chosen[one.field] = one.values[0]
    return make_sweep(get_experiment(name), chosen, [read_axis(text) for text in axis], repeats, seed)


def _resumed_sweep(name: str | None, folder: Path, axis: list[str], settings: list[str]) -> Sweep:
    if axis or settings:
        raise InputError("--resume takes the axes and settings from the folder; leave --axis and --set out.")
    with Store(folder) as store:
        about = store.about()
    if name not in (None, about["experiment"]):
        raise InputError(f"{str(folder)!r} holds a sweep of {about['experiment']}, not of {name}.")
    axes = [Axis(field, tuple(values)) for field, values in about["axes"]]
    return make_sweep(get_experiment(about["experiment"]), about["settings"], axes, about["repeats"], about["seed"])


def _engine(jobs: int, scheduler: str | None) -> Engine:
    if scheduler is not None:
        return DaskCluster(None if scheduler == "local" else scheduler, jobs)
    return InProcess() if jobs == 1 else Processes(jobs)


def _format_report(report: SweepReport, folder: Path) -> str:
    done = report.computed + report.reused
    lines = {
        "cells done": f"{done} of {report.total} ({report.computed} now, {report.reused} before)",
        "failed": str(report.failed),
        "folder": str(folder),
    }
    quoted = shlex.quote(str(folder))
    following = f"genlaws sweep export {quoted} --to csv" if done else f"genlaws sweep status {quoted}"
    return aligned(lines) + f"\nThe sweep {report.message}. Next: {following}"


@app.command
def status(folder: Folder, /, *, traceback: Traceback = False, json: Json = False) -> None:
    """Show the progress of a sweep, also while it runs in another shell."""
    with Store(folder) as store:
        about, counts = store.about(), store.counts()
        with store.snapshot():
            failures = [(*failure, trace) for failure, trace in zip(store.failures(), store.tracebacks(), strict=True)]
    if json:
        names = ("settings", "repeat", "error", "traceback")
        errors = [dict(zip(names, failure, strict=True)) for failure in failures]
        print_json({"experiment": about["experiment"], **vars(counts), "errors": errors})
        return
    print(_format_status(about, counts))
    for settings, repeat, error, trace in failures[:MAX_FAILURES_PRINTED]:
        varying = {field: settings[field] for field in about["fields"]}
        print(f"  failed: {varying}, repeat {repeat}: {error}")
        if traceback:
            print(indent(trace or "no traceback was stored\n", "    "), end="")
    if not traceback and any(trace for *_, trace in failures):
        print(f"With tracebacks: genlaws sweep status {shlex.quote(str(folder))} --traceback")


def _format_state(counts: SweepCounts) -> str:
    if counts.running:
        return "running"
    if counts.message == "running":
        return "stopped (killed)"
    return counts.message or "not begun"


def _format_status(about: dict[str, Any], counts: SweepCounts) -> str:
    left = max(0, counts.total - counts.done)
    lines = {
        "cells done": f"{counts.done} of {counts.total}",
        "failed": str(counts.failed),
        "state": _format_state(counts),
        "latest cell": f"{counts.latest} UTC" if counts.latest else "none yet",
        "computing time": f"{counts.seconds:.1f} s",
    }
    if counts.damaged:
        lines["arrays lost"] = f"{counts.damaged} (file missing or damaged; the next run recomputes such cells)"
    if counts.running and counts.rate > 0 and left:
        lines["rate"] = f"{counts.rate:.3g} cells a second, about {left / counts.rate:.0f} s left"
    axes = ", ".join(f"{field} ({len(values)})" for field, values in about["axes"]) or "none"
    repeats = "1 repeat" if about["repeats"] == 1 else f"{about['repeats']} repeats"
    return f"{about['experiment']}, axes {axes}, {repeats}\n" + aligned(lines)


@app.command
def export(folder: Folder, /, *, to: Kind = "csv", out: OutFile = None, json: Json = False) -> None:
    """Write the finished cells as a table (csv, parquet) or as a grid with its arrays (netcdf)."""
    with Store(folder) as store:
        path = write(store, to, out)
        done = store.counts().done
    if json:
        print_json({"file": str(path), "cells": done})
    else:
        print(f"{done} cells written to {path}")
