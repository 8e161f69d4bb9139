"""``genlaws semanticity front --sweep``: the whole front as a table, in words and as a picture."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

EXACT = 1e-10  # a closed form against the library's integral
PRINTED = 6e-6  # five digits are known
LN2 = math.log(2.0)


def sweep(genlaws, *arguments):
    answer = genlaws("semanticity", "front", "--sweep", *arguments, "--json")
    assert answer.code == 0, answer.err
    assert answer.err == ""
    return answer.json


def test_sweep_writes_the_front_with_its_picture(genlaws, tmp_path: Path):
    document = sweep(genlaws, "--similarity", "linear", "--ball-mass", "0.5", "--out", str(tmp_path / "new"))
    answer = document["result"]
    points = pd.DataFrame(answer["points"])
    mass, height = points["ball_mass"].to_numpy(), points["generalization"].to_numpy()
    inside = mass < 1.0
    assert height[inside] == pytest.approx(0.5 + mass[inside] - (1.5 - LN2) * mass[inside] ** 2, abs=EXACT)
    assert answer["peak"]["generalization"] == pytest.approx(0.80985, abs=PRINTED)
    assert answer["peak"]["ball_mass"] == pytest.approx(0.61969, abs=PRINTED)
    assert [point["ball_mass"] for point in answer["marked"]] == [pytest.approx(0.5)]
    assert np.all(np.diff(points["resolution"]) > 0)
    assert np.all(np.diff(points["identification"]) < 0)
    files = {path.name: path for path in map(Path, document["files"])}
    assert set(files) == {"result.json", "result.csv", "front.pdf", "front.png", "report.html"}
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(files)
    assert json.loads(files["result.json"].read_text()) == answer
    table = pd.read_csv(files["result.csv"])
    assert table.loc[table["series"] == "front", "generalization"].to_numpy() == pytest.approx(height)
    assert set(table["series"]) == {"front", "peak", "marked"}
    assert files["front.pdf"].read_bytes().startswith(b"%PDF-")
    assert files["front.png"].stat().st_size > 5000


def test_sweep_prints_an_aligned_table_and_the_peak(genlaws, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = genlaws("semanticity", "front", "--sweep", "--items", "5", "--set-size", "31", "--ball-mass", "0.5")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0].split() == ["ball_mass", "generalization", "identification"]
    assert len({len(line) for line in lines[:32]}) == 1
    assert lines[32].startswith("The peak is generalization 0.6")
    assert lines[33].startswith("Marked: ")
    assert lines[-1].endswith("it is no bound on every system.")
    assert not list(tmp_path.iterdir())


def test_sweep_says_where_there_is_no_peak(genlaws, tmp_path: Path):
    arguments = ("--similarity", "power-law", "--out", str(tmp_path))
    assert sweep(genlaws, *arguments)["result"]["peak"] is None
    assert (
        "There is no peak: generalization and identification both grow"
        in genlaws("semanticity", "front", "--sweep", *arguments).out
    )
