"""``genlaws sweep``: run an experiment over many settings, show its status, and export its results.

Progress is a bar in a terminal and an occasional line elsewhere.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.progress import TaskID, TextColumn

from genlaws.cli.output import bar_on_stderr
from genlaws.cli.questions import command_of, fills
from genlaws.core.errors import InputError
from genlaws.core.running import Running
from genlaws.sweeps import (
    DaskCluster,
    InProcess,
    Processes,
    Sweep,
    export_sweep,
    get_experiment,
    list_experiments,
    make_sweep,
    read_axis,
    run_sweep,
    stored_sweep,
    sweep_status,
)

ABOUT_RUNS = "Results do not depend on --jobs or --scheduler. After a stop, the same command continues."
LINE_INTERVAL_SECONDS = 5.0  # between two lines where there is no terminal


class SweepDisplay:
    """Counts cells on standard error: a bar in a terminal, else a line every few seconds and one at the end.

    A context manager that gives the `Running` of what it shows.

    Parameters
    ----------
    quiet : bool
        Show nothing: for ``--json``.
    jobs, folder :
        Of the `Running`.
    """

    def __init__(self, *, quiet: bool = False, jobs: int = 1, folder: Path | None = None) -> None:
        self.total = self.done = self.failed = self.computed = 0
        self.label, self.quiet = "", quiet
        self.begun = self.latest = time.monotonic()
        self.bar = bar_on_stderr(TextColumn("{task.fields[status]}")) if sys.stderr.isatty() and not quiet else None
        self.task: TaskID | None = None
        self.running = Running(self, jobs=jobs, folder=folder)

    def __enter__(self) -> Running:
        return self.running

    def __exit__(self, *error: object) -> None:
        self.show()
        if self.bar is not None:
            self.bar.stop()

    def start(self, total: int | None, label: str) -> None:
        """Begin."""
        self.total, self.label, self.begun = total or 0, label, time.monotonic()
        if self.bar is not None:
            self.bar.start()
            self.task = self.bar.add_task(label, total=total, status="")

    def skip(self, n: int) -> None:
        """Count cells that were done before."""
        self.done += n
        self.show_if_due()

    def advance(self, n: int = 1) -> None:
        """Count cells just committed."""
        self.computed += n
        self.skip(n)

    def fail(self, n: int, error: str) -> None:
        """Count failures; a cell that is tried again may fail again."""
        self.failed += n
        self.show_if_due()

    def show_if_due(self) -> None:
        """Move the bar, or write a line if the previous one is some seconds old."""
        if self.bar is not None or time.monotonic() - self.latest >= LINE_INTERVAL_SECONDS:
            self.show()

    def show(self) -> None:
        """Show how many cells are done, how fast, and how many failed."""
        self.latest = time.monotonic()
        rate = self.computed / max(self.latest - self.begun, 1e-9)
        failures = f", failures: {self.failed}" if self.failed else ""
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=self.done, status=f"{rate:.3g} cells/s{failures}")
        elif self.total and not self.quiet:
            remaining = self.total - self.done
            left = f", about {remaining / rate:.0f} s left" if rate and remaining > 0 else ""
            speed = f"{self.done}/{self.total} cells, {rate:.3g} cells/s"
            print(f"{self.label}: {speed}{left}{failures}", file=sys.stderr, flush=True)


@fills("sweep")
def sweep_options(
    name: str | None = None,
    /,
    *,
    folder: str,
    axis: Annotated[tuple[str, ...], Parameter(consume_multiple=False)] = (),
    settings: Annotated[tuple[str, ...], Parameter(name="--set", consume_multiple=False)] = (),
    repeats: int | None = None,
    seed: int | None = None,
    resume: bool = False,
) -> dict[str, Any]:
    """Return the sweep of an experiment, or with --resume that of the folder.

    Parameters
    ----------
    name : str, optional
        Experiment; genlaws sweep list shows them. Left out with --resume.
    axis : str, ...
        field=start:stop:count[:log] or field=a,b,c; may be given several times.
    settings : str, ...
        field=value for all cells; may be given several times.
    repeats : int, optional
        Runs of each setting, each with its own seed; 1 if left out.
    seed : int, optional
        Seed of the whole sweep; 0 if left out.
    resume : bool
        Continue the sweep in the folder, as it was started.
    """
    if resume:
        if axis or settings or repeats is not None or seed is not None:
            raise InputError(
                "--resume takes the axes and settings from the folder; leave --axis, --set, --repeats and --seed out."
            )
        return {"sweep": _resumed_sweep(name, folder)}
    if name is None:
        raise InputError(
            "Name an experiment (genlaws sweep list), or add --resume to continue the sweep in the folder."
        )
    chosen: dict[str, Any] = {}
    for text in settings:
        one = read_axis(text)
        if len(one.values) != 1:
            raise InputError(f"--set gives one value to a field; got {text!r}. Use --axis for several.")
        if one.field in chosen:
            raise InputError(f"--set gives {one.field} twice; give it one value.")
        chosen[one.field] = one.values[0]
    axes = [read_axis(text) for text in axis]
    if twice := next((one.field for one in axes if one.field in chosen), ""):
        raise InputError(f"{twice} must be given with --axis or with --set, not with both.")
    return {"sweep": make_sweep(get_experiment(name), chosen, axes, 1 if repeats is None else repeats, seed or 0)}


def _resumed_sweep(name: str | None, folder: str) -> Sweep:
    sweep = stored_sweep(folder)
    if name not in (None, sweep.experiment.name):
        raise InputError(f"{folder!r} holds a sweep of {sweep.experiment.name}, not of {name}.")
    return sweep


@fills("engine")
def engine_options(*, jobs: int = 1, scheduler: str | None = None) -> dict[str, Any]:
    """Return where the cells are computed.

    Parameters
    ----------
    jobs : int
        Processes on this machine.
    scheduler : str, optional
        A dask scheduler such as tcp://10.0.0.1:8786, or local for one started here.
    """
    if scheduler is not None:
        return {"engine": DaskCluster(None if scheduler == "local" else scheduler, jobs)}
    return {"engine": InProcess() if jobs == 1 else Processes(jobs)}


@fills("folder")
def stored_folder(folder: str, /) -> dict[str, Any]:
    """Return the folder of a sweep, which is given by place.

    Parameters
    ----------
    folder : str
        Folder of the sweep.
    """
    return {"folder": folder}


@fills("name")
def chosen_experiment(name: str | None = None, /) -> dict[str, Any]:
    """Return the name of an experiment, which is given by place.

    Parameters
    ----------
    name : str, optional
        Experiment to describe with its settings; all if left out.
    """
    return {"name": name}


app = App(
    name="sweep",
    help="Run an experiment over many settings; finished cells are stored even if it is stopped.",
    help_format="plaintext",
)
app.command(command_of(list_experiments, chosen_experiment), name="list")
app.command(command_of(run_sweep, sweep_options, engine_options, about=ABOUT_RUNS, display=SweepDisplay), name="run")
app.command(command_of(sweep_status, stored_folder), name="status")
app.command(command_of(export_sweep, stored_folder), name="export")
