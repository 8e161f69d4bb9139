"""``genlaws sweep``: run an experiment over many settings, watch it, and take its results away."""

from __future__ import annotations

import shlex
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from genlaws.commands.output import aligned, as_json
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from genlaws.experiments import Engine, Experiment, Sweep, SweepCounts, SweepReport

app = App(
    name="sweep",
    help="Run an experiment over many settings; what is done is kept, whatever happens.",
    help_format="plaintext",
)

Json = Annotated[bool, Parameter(negative="", help="Print one JSON object and nothing else.")]
Folder = Annotated[Path, Parameter(help="Folder of the sweep.")]
Name = Annotated[str | None, Parameter(help="Experiment; genlaws sweep list shows them. Left out with --resume.")]
AxisText = Annotated[
    list[str],
    Parameter(name="--axis", help="field=start:stop:count[:log] or field=a,b,c; may be given several times."),
]
SetText = Annotated[list[str], Parameter(name="--set", help="field=value for all cells; may be given several times.")]
Repeats = Annotated[int, Parameter(help="Runs of each setting, each with its own seed.")]
Jobs = Annotated[int, Parameter(help="Processes of this machine; 1 computes in this one.")]
Scheduler = Annotated[
    str | None,
    Parameter(help="A dask scheduler such as tcp://10.0.0.1:8786, or local for one started here."),
]
Resume = Annotated[bool, Parameter(negative="", help="Go on with the sweep the folder holds, as it was started.")]
Retries = Annotated[int, Parameter(help="How often a cell that failed is tried again.")]
StopAfter = Annotated[int, Parameter(help="Stop when this many cells in a row fail in the same way.")]
Seed = Annotated[int, Parameter(help="Seed of the whole sweep.")]
Kind = Annotated[str, Parameter(name="--to", help="csv, parquet or netcdf.")]
Traceback = Annotated[bool, Parameter(negative="", help="Print the traceback of each cell that failed, too.")]
OutFile = Annotated[Path | None, Parameter(help="File to write; beside the store if left out.")]
MOST_FAILURES_SHOWN = 5  # that are printed; --json has all


@app.command(name="list")
def list_experiments(*, json: Json = False) -> None:
    """List the experiments, with the paper they belong to, what a cell costs, and their settings."""
    from genlaws.experiments import EXPERIMENTS

    rows = [_listed(experiment) for experiment in EXPERIMENTS.values()]
    if json:
        _print_json({"experiments": rows})
        return
    for row in rows:
        known = row["settings"] or {}
        settings = row["needs"] or ", ".join(f"{name}={value}" for name, value in known.items())
        lines = {"paper": row["citation"], "figure": row["figure"] or "none", "one cell": row["cost"]}
        print(f"{row['name']}: {row['title']}")
        print(aligned({f"  {name}": value for name, value in {**lines, "settings": settings}.items()}))


def _listed(experiment: Experiment) -> dict[str, Any]:
    """Return what the list shows of an experiment; no settings where a library that it needs is missing."""
    from genlaws.commands import how_to_install

    settings, needs = None, None
    try:
        fields = experiment.load().settings.model_fields
        settings = {name: _default(field.default) for name, field in fields.items()}
    except ModuleNotFoundError as error:
        needs = how_to_install(error)
    return {
        "name": experiment.name,
        "title": experiment.title,
        "citation": experiment.citation,
        "figure": experiment.figure,
        "cost": experiment.cost,
        "settings": settings,
        "needs": needs,
    }


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
    """Compute every cell that the folder does not hold yet. Killed or stopped, the same command goes on.

    Results do not depend on --jobs or --scheduler.
    """
    from genlaws.commands.sweep_progress import watch
    from genlaws.experiments import run_sweep

    sweep = _resumed(name, out, axis, set_) if resume else _asked_for(name, axis, set_, repeats, seed)
    engine = _engine(jobs, scheduler)
    try:
        with watch(quiet=json) as progress:
            report = run_sweep(sweep, out, engine=engine, progress=progress, retries=retries, stop_after=stop_after)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Stopped. What is done is kept; the same command goes on.") from None
    if json:
        _print_json({**vars(report), "folder": str(out)})
    else:
        print(_told(report, out))


def _asked_for(name: str | None, axis: list[str], settings: list[str], repeats: int, seed: int) -> Sweep:
    from genlaws.experiments import get_experiment, make_sweep, read_axis

    if name is None:
        raise InputError("Name an experiment (genlaws sweep list), or add --resume to go on with the folder.")
    chosen: dict[str, Any] = {}
    for text in settings:
        one = read_axis(text)
        if len(one.values) != 1:
            raise InputError(f"--set gives one value to a field; got {text!r}. Use --axis for several.")
        chosen[one.field] = one.values[0]
    return make_sweep(get_experiment(name), chosen, [read_axis(text) for text in axis], repeats, seed)


def _resumed(name: str | None, folder: Path, axis: list[str], settings: list[str]) -> Sweep:
    from genlaws.experiments import Axis, Store, get_experiment, make_sweep

    if axis or settings:
        raise InputError("--resume takes the axes and settings from the folder; leave --axis and --set out.")
    with Store(folder) as store:
        about = store.about()
    if name not in (None, about["experiment"]):
        raise InputError(f"{str(folder)!r} holds a sweep of {about['experiment']}, not of {name}.")
    axes = [Axis(field, tuple(values)) for field, values in about["axes"]]
    return make_sweep(get_experiment(about["experiment"]), about["settings"], axes, about["repeats"], about["seed"])


def _engine(jobs: int, scheduler: str | None) -> Engine:
    from genlaws.experiments import DaskCluster, InProcess, Processes

    if scheduler is not None:
        return DaskCluster(None if scheduler == "local" else scheduler, jobs)
    return InProcess() if jobs == 1 else Processes(jobs)


def _told(report: SweepReport, folder: Path) -> str:
    done = report.computed + report.kept
    lines = {
        "cells done": f"{done} of {report.total} ({report.computed} now, {report.kept} before)",
        "failed": str(report.failed),
        "folder": str(folder),
    }
    quoted = shlex.quote(str(folder))
    following = f"genlaws sweep export {quoted} --to csv" if done else f"genlaws sweep status {quoted}"
    return aligned(lines) + f"\nThe sweep {report.message}. Next: {following}"


@app.command
def status(folder: Folder, /, *, traceback: Traceback = False, json: Json = False) -> None:
    """Say how far a sweep is; also while it runs, from another shell."""
    from genlaws.experiments import Store

    with Store(folder) as store:
        about, counts = store.about(), store.counts()
        with store.snapshot():
            failures = [(*failure, trace) for failure, trace in zip(store.failures(), store.tracebacks(), strict=True)]
    if json:
        names = ("settings", "repeat", "error", "traceback")
        errors = [dict(zip(names, failure, strict=True)) for failure in failures]
        _print_json({"experiment": about["experiment"], **vars(counts), "errors": errors})
        return
    print(_status_text(about, counts))
    for settings, repeat, error, trace in failures[:MOST_FAILURES_SHOWN]:
        varying = {field: settings[field] for field in about["fields"]}
        print(f"  failed: {varying}, repeat {repeat}: {error}")
        if traceback:
            print(indent(trace or "no traceback was kept\n", "    "), end="")
    if not traceback and any(trace for *_, trace in failures):
        print(f"With tracebacks: genlaws sweep status {shlex.quote(str(folder))} --traceback")


def _state(counts: SweepCounts) -> str:
    if counts.running:
        return "running"
    if counts.message == "running":
        return "stopped (killed)"
    return counts.message or "not begun"


def _status_text(about: dict[str, Any], counts: SweepCounts) -> str:
    left = max(0, counts.total - counts.done)
    lines = {
        "cells done": f"{counts.done} of {counts.total}",
        "failed": str(counts.failed),
        "state": _state(counts),
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
    from genlaws.experiments import Store
    from genlaws.experiments.tables import export as write

    with Store(folder) as store:
        path = write(store, to, out)
        done = store.counts().done
    if json:
        _print_json({"file": str(path), "cells": done})
    else:
        print(f"{done} cells written to {path}")


def _print_json(answer: dict[str, Any]) -> None:
    import json

    print(json.dumps(as_json(answer), indent=2))
