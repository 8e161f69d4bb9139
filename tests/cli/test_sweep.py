"""``genlaws sweep``: list, run, status and export, with right and wrong input."""

from __future__ import annotations

import csv
import json
import re
import socket
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from pydantic import Field

from genlaws.cli import sweep as sweep_progress
from genlaws.sweeps import EXPERIMENTS, Experiment, InProcess, Procedure, Settings, Store, engines


class Throw(Settings):
    height: Annotated[float, Field(gt=0)] = 1.0
    kind: str = "ball"
    tries: int = 2


def throw(settings: Throw, seed: int) -> dict[str, Any]:
    if settings.kind == "egg" or (settings.kind == "glass" and settings.height == 2):
        raise ValueError("it broke")
    path = settings.height * np.random.default_rng(seed).random(3)
    return {"reached": path.max(), "caught": path[0] > 0.5, "path": path}


THROW = Experiment("trial.throw", "How far it goes", "nobody (2026)", "nothing", Procedure(Throw, throw))
AXIS = ("--axis", "height=1:3:3")


@pytest.fixture(autouse=True)
def throwing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPERIMENTS, THROW.name, THROW)


def test_the_experiments_are_listed_with_what_they_need(genlaws):
    answer = genlaws("sweep", "list")
    assert answer.code == 0
    for name, experiment in EXPERIMENTS.items():
        assert re.search(rf"^{re.escape(name)} +{re.escape(experiment.title)}$", answer.out, re.MULTILINE)
    one = genlaws("sweep", "list", "trial.throw").out
    assert "trial.throw: How far it goes" in one
    assert re.search(r"^settings +height=1.0, kind=ball, tries=2$", one, re.MULTILINE)
    listed = genlaws("sweep", "list", "--json").json["result"]["experiments"]
    assert [one["name"] for one in listed] == list(EXPERIMENTS)
    assert listed[-1]["settings"] == {"height": 1.0, "kind": "ball", "tries": 2}
    assert all(one["title"] and one["citation"] and one["cost"] for one in listed)


def test_a_sweep_runs_and_says_what_it_did(genlaws, tmp_path: Path):
    run = ("sweep", "run", "trial.throw", "--folder", tmp_path / "a b", *AXIS, "--repeats", "2", "--set", "tries=3")
    answer = genlaws(*run)
    assert answer.code == 0, answer.err
    assert re.search(r"^cells done +6 of 6 \(6 now, 0 before\)$", answer.out, re.MULTILINE)
    assert re.search(r"^state +finished$", answer.out, re.MULTILINE)
    assert re.search(rf"^next +genlaws sweep export '{tmp_path / 'a b'}' --to csv$", answer.out, re.MULTILINE)
    assert re.search(r"^trial.throw: 6/6 cells, [\d.e+]+ cells/s$", answer.err, re.MULTILINE)
    again = genlaws(*run, "--json")
    assert again.err == ""
    found = again.json["result"]
    assert (found["total"], found["computed"], found["reused"], found["failed"]) == (6, 0, 6, 0)
    assert (found["experiment"], found["message"]) == ("trial.throw", "finished")
    assert found["folder"] == str(tmp_path / "a b")
    assert found["inputs"]["sweep"]["axes"] == {"height": [1.0, 2.0, 3.0]}
    with Store(tmp_path / "a b") as store:
        assert set(store.to_frame().tries) == {3}


def test_the_results_do_not_depend_on_the_number_of_processes(genlaws, tmp_path: Path):
    tables = []
    for jobs in ("1", "2"):
        where = tmp_path / jobs
        small = ("--axis", "encoder_rate=0.5,2", "--set", "draws=20", "--repeats", "2")
        answer = genlaws("sweep", "run", "relations.collisions", "--folder", where, *small, "--jobs", jobs, "--json")
        assert answer.code == 0, answer.err
        with Store(where) as store:
            tables.append(store.to_frame().to_csv())
    assert tables[0] == tables[1]


# Experiments whose own settings take long, and what is changed for a quick run.
SHORTER = {"relations.network": {"steps": 1000}}


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_experiment_computes_a_cell_of_its_own_settings(name):
    procedure = EXPERIMENTS[name].load()
    (result,) = procedure.compute([procedure.settings(**SHORTER.get(name, {}))], [1])
    assert result


@pytest.mark.long
@pytest.mark.parametrize("name", list(SHORTER))
def test_long_experiments_compute_a_cell_of_their_own_settings(name):
    procedure = EXPERIMENTS[name].load()
    (result,) = procedure.compute([procedure.settings()], [1])
    assert result


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("trial.nothing",), "experiment must be one of "),
        ((), "Name an experiment (genlaws sweep list), or add --resume"),
        (
            ("trial.throw", "--axis", "height"),
            "An axis must name a field and its values; got 'height'. Write field=start",
        ),
        (("trial.throw", "--axis", "height=1:2"), "The axis 'height=1:2' is not understood"),
        (
            ("trial.throw", "--axis", "width=1,2"),
            "There is no setting 'width' to run an axis over; the settings are height",
        ),
        (("trial.throw", "--axis", "height=1,-1"), "height is not accepted: input should be greater than 0; got -1"),
        (("trial.throw", "--axis", "height=1,x"), "height is not accepted: input should be a valid number"),
        (("trial.throw", "--axis", "height=1,1"), "The axis height has the value 1.0 twice"),
        (("trial.throw", "--axis", "height=1", "--axis", "height=2"), "The axis height is given twice"),
        (("trial.throw", "--set", "height=0"), "height is not accepted: input should be greater than 0"),
        (("trial.throw", "--set", "width=1"), "width is not accepted: extra inputs are not permitted"),
        (("trial.throw", "--set", "height=1,2"), "--set gives one value to a field; got 'height=1,2'. Use --axis"),
        (("trial.throw", "--set", "height=1:2:3"), "--set gives one value to a field"),
        (("trial.throw", "--repeats", "0"), "repeats must be a whole number, at least 1"),
        (("trial.throw", "--retries", "-1"), "retries must be a whole number, at least 0"),
        (("trial.throw", "--stop-after", "0"), "stop_after must be a whole number, at least 1"),
        (("trial.throw", "--seed", "-1"), "seed must be a whole number"),
        (("trial.throw", "--jobs", "0"), "jobs must be a whole number, at least 1"),
        (("trial.throw", "--resume", "--set", "tries=3"), "--resume takes the axes and settings from the folder"),
        (("--resume", "--repeats", "2"), "--resume takes the axes and settings from the folder"),
        (("--resume", "--seed", "0"), "--resume takes the axes and settings from the folder"),
        (("--resume",), "There is no sweep in"),
        (("trial.throw", "--resume"), "There is no sweep in"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_written(genlaws, tmp_path: Path, arguments, sentence):
    answer = genlaws("sweep", "run", *arguments, "--folder", tmp_path / "none")
    assert answer.code == 2
    assert sentence in answer.err
    assert answer.err.startswith("genlaws: ")
    assert answer.out == ""
    assert not (tmp_path / "none").exists()


def test_a_place_that_is_no_folder_of_a_sweep_is_refused(genlaws, tmp_path: Path):
    (tmp_path / "file").touch()
    for command in (
        ("status", tmp_path),
        ("export", tmp_path),
        ("status", tmp_path / "file"),
        ("run", "--resume", "--folder", tmp_path),
    ):
        answer = genlaws("sweep", *command)
        assert answer.code == 2
        assert "There is no sweep in" in answer.err
    answer = genlaws("sweep", "run", "trial.throw", "--folder", tmp_path / "file")
    assert (answer.code, "is a file" in answer.err) == (2, True)


def test_a_sweep_that_does_not_fit_its_folder_is_refused(genlaws, tmp_path: Path):
    assert genlaws("sweep", "run", "trial.throw", "--folder", tmp_path, *AXIS).code == 0
    answer = genlaws("sweep", "run", "trial.throw", "--folder", tmp_path, *AXIS, "--set", "kind=stone")
    assert answer.code == 2
    assert "holds a sweep with other settings: kind ('ball' there, 'stone' now); use another folder" in answer.err
    answer = genlaws("sweep", "run", "relations.bound", "--folder", tmp_path, "--resume")
    assert (answer.code, "holds a sweep of trial.throw, not of relations.bound" in answer.err) == (2, True)


def test_resume_takes_everything_from_the_folder(genlaws, tmp_path: Path, monkeypatch):
    whole = ("--axis", "height=1:3:3", "--axis", "kind=ball,stone", "--repeats", "2", "--seed", "4", "--set", "tries=7")
    assert genlaws("sweep", "run", "trial.throw", "--folder", tmp_path / "whole", *whole).code == 0

    def interrupted(self, tasks):
        for number, one in enumerate(InProcess.results(InProcess(), tasks)):
            if number == 5:
                raise KeyboardInterrupt
            yield one

    class Stops(InProcess):
        results = interrupted

    with monkeypatch.context() as patch:
        patch.setattr("genlaws.cli.sweep.InProcess", Stops)
        stopped = genlaws("sweep", "run", "trial.throw", "--folder", tmp_path / "s", *whole)
    assert stopped.code == 130
    assert stopped.err.endswith("genlaws: Stopped. Finished cells are stored; run the same sweep again to continue.\n")
    status = genlaws("sweep", "status", tmp_path / "s")
    assert re.search(r"cells done +5 of 12", status.out)
    assert re.search(r"state +stopped", status.out)
    answer = genlaws("sweep", "run", "--folder", tmp_path / "s", "--resume")
    assert "12 of 12 (7 now, 5 before)" in answer.out
    tables = []
    for name in ("s", "whole"):
        with Store(tmp_path / name) as store:
            tables.append(store.to_frame().to_csv())
    assert tables[0] == tables[1]


def test_failures_are_reported_and_too_many_stop_the_sweep(genlaws, tmp_path: Path):
    answer = genlaws("sweep", "run", "trial.throw", "--folder", tmp_path / "some", *AXIS, "--set", "kind=glass")
    assert answer.code == 0
    assert re.search(r"failed +1$", answer.out, re.MULTILINE)
    assert "finished, cells failed: 1" in answer.out
    assert "2/3 cells" in answer.err
    assert "failures: 2" in answer.err
    status = genlaws("sweep", "status", tmp_path / "some")
    assert re.search(r"^error +\{'height': 2.0\}, repeat 0: ValueError: it broke$", status.out, re.MULTILINE)
    document = genlaws("sweep", "status", tmp_path / "some", "--traceback", "--json").json["result"]
    assert (document["done"], document["failed"], document["total"], document["running"]) == (2, 1, 3, False)
    assert document["failures"][0]["error"] == "ValueError: it broke"
    without = genlaws("sweep", "status", tmp_path / "some", "--json").json["result"]
    assert without["failures"] == [document["failures"][0] | {"traceback": None}]
    reported = genlaws("sweep", "status", tmp_path / "some", "--traceback").out
    for lines in (document["failures"][0]["traceback"], reported):
        assert "in throw" in lines
        assert 'raise ValueError("it broke")' in lines
    assert "Traceback" not in status.out
    again = f"genlaws sweep status {tmp_path / 'some'} --traceback"
    assert re.search(rf"^tracebacks +{re.escape(again)}$", status.out, re.MULTILINE)

    answer = genlaws("sweep", "run", "trial.throw", "--folder", tmp_path / "none", "--set", "kind=egg")
    assert answer.code == 1
    assert "genlaws: Every cell of trial.throw failed; genlaws sweep status shows the errors." in answer.err

    many = ("--axis", "height=1:9:9", "--set", "kind=egg", "--stop-after", "4")
    answer = genlaws("sweep", "run", "trial.throw", "--folder", tmp_path / "many", *many)
    assert answer.code == 1
    assert (
        "genlaws: 4 cells in a row failed with the same error, so the sweep was stopped: ValueError: it broke"
        in answer.err
    )
    status = genlaws("sweep", "status", tmp_path / "many")
    assert re.search(r"state +4 cells in a row failed", status.out)


def test_cells_whose_arrays_are_gone_are_reported_and_computed_again(genlaws, tmp_path: Path):
    run = ("sweep", "run", "trial.throw", "--folder", tmp_path, *AXIS)
    assert genlaws(*run).code == 0
    assert "arrays lost" not in genlaws("sweep", "status", tmp_path).out
    next((tmp_path / "arrays").rglob("*.npz")).unlink()
    status = genlaws("sweep", "status", tmp_path).out
    assert re.search(r"^cells done +2 of 3$", status, re.MULTILINE)
    assert re.search(
        r"^arrays lost +1 \(file missing or damaged; the next run recomputes such cells\)$", status, re.MULTILINE
    )
    document = genlaws("sweep", "status", tmp_path, "--json").json["result"]
    assert (document["done"], document["damaged"]) == (2, 1)
    assert "Run the same sweep again" in genlaws("sweep", "export", tmp_path, "--to", "netcdf").err
    assert genlaws("sweep", "run", "--resume", "--folder", tmp_path, "--json").json["result"]["computed"] == 1
    assert genlaws("sweep", "export", tmp_path, "--to", "netcdf").code == 0


def test_a_scheduler_nobody_runs_is_reported_in_good_time(genlaws, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(engines, "CONNECT_TIMEOUT_SECONDS", 1)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = time.monotonic()
    answer = genlaws("sweep", "run", "trial.throw", "--folder", tmp_path, "--scheduler", f"tcp://127.0.0.1:{port}")
    assert answer.code == 2
    assert f"There is no dask scheduler at 'tcp://127.0.0.1:{port}'" in answer.err
    assert time.monotonic() - start < 15
    assert re.search(r"state +not begun", genlaws("sweep", "status", tmp_path).out)


def test_every_format_holds_what_the_store_holds(genlaws, tmp_path: Path):
    assert genlaws("sweep", "run", "trial.throw", "--folder", tmp_path, *AXIS, "--repeats", "2").code == 0
    with Store(tmp_path) as store:
        frame, grid = store.to_frame(), store.to_xarray()
    answer = genlaws("sweep", "export", tmp_path)
    assert (answer.code, answer.out) == (0, f"cells  6\nfile   {tmp_path / 'sweep.csv'}\n")
    with (tmp_path / "sweep.csv").open() as stream:
        assert [float(row["reached"]) for row in csv.DictReader(stream)] == frame.reached.tolist()
    file = tmp_path / "new" / "t.parquet"
    document = genlaws("sweep", "export", tmp_path, "--to", "parquet", "--file", file, "--json").json["result"]
    assert (document["file"], document["cells"]) == (str(file), 6)
    assert pd.read_parquet(file)[frame.columns].equals(frame)
    assert genlaws("sweep", "export", tmp_path, "--to", "netcdf").code == 0
    assert xr.load_dataset(tmp_path / "sweep.nc", engine="scipy").equals(grid)
    answer = genlaws("sweep", "export", tmp_path, "--to", "xlsx")
    assert (answer.code, "to must be one of csv, parquet, netcdf; got 'xlsx'" in answer.err) == (2, True)


def test_lines_come_now_and_then_and_end_with_the_whole(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(sweep_progress.time, "monotonic", lambda: clock[0])
    lines = sweep_progress.SweepDisplay()
    with lines:
        lines.start(100, "trial")
        lines.skip(10)
        for _ in range(20):
            clock[0] += 1.0
            lines.advance(4)
        lines.fail(1, "it broke")
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "trial: 30/100 cells, 4 cells/s, about 18 s left"
    assert said[-1] == "trial: 90/100 cells, 4 cells/s, about 2 s left, failures: 1"
    assert len(said) == 5


def test_a_terminal_shows_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    bar = sweep_progress.SweepDisplay()
    with bar:
        bar.start(4, "trial")
        bar.skip(1)
        bar.advance(2)
        bar.fail(1, "it broke")
    said = re.sub(r"\x1b\[[\d;?]*\w", "", capsys.readouterr().err)
    assert re.search(r"trial .* 3/4 .* cells/s, failures: 1", said)
    assert sweep_progress.SweepDisplay(quiet=True).bar is None


def test_the_json_of_a_run_is_alone_on_standard_output(genlaws, tmp_path: Path):
    answer = genlaws("sweep", "run", "trial.throw", "--folder", tmp_path, *AXIS, "--json")
    assert json.loads(answer.out)["result"]["computed"] == 3
    assert answer.err == ""
