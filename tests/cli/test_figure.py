"""``genlaws figure``: lists, draws with settings, refuses wrong names before computing anything."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from genlaws.figures import FIGURES


def test_without_a_name_the_figures_are_listed(genlaws):
    answer = genlaws("figure")
    assert answer.code == 0
    assert [line.split()[0] for line in answer.out.splitlines()] == list(FIGURES)
    listed = genlaws("figure", "--json").json["result"]["figures"]
    assert [figure["id"] for figure in listed] == list(FIGURES)


def test_several_figures_are_drawn_into_the_folder(genlaws, tmp_path: Path):
    answer = genlaws("figure", "rules-facts.4", "rules-facts.10", "--out", str(tmp_path / "new"), "--json")
    assert answer.code == 0, answer.err
    sizes = {Path(file).name: Path(file).stat().st_size for file in answer.json["files"]}
    for figure in answer.json["result"]["figures"]:
        for kind in ("csv", "pdf", "png"):
            assert sizes[f"{figure['id']}.{kind}"] > 500
    assert len(pd.read_csv(tmp_path / "new" / "rules-facts.4.csv")) > 10


def test_a_setting_changes_the_figure(genlaws, tmp_path: Path):
    for name, share in (("a", "0.2"), ("b", "0.4")):
        answer = genlaws(
            "figure",
            "rules-facts.1",
            "--set",
            f"fact_fraction={share}",
            "--set",
            "repeats=0",
            "--out",
            str(tmp_path / name),
        )
        assert answer.code == 0, answer.err
    first, second = (pd.read_csv(tmp_path / name / "rules-facts.1.csv") for name in ("a", "b"))
    assert set(first.fact_fraction) == {0.2}
    assert set(second.fact_fraction) == {0.4}
    assert not first.generalization_error.equals(second.generalization_error)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("rules-facts.99",), "names, such as rules-facts."),
        (("rules-facts.1", "--set", "fact_fraction=2"), "fact_fraction is not accepted"),
        (("rules-facts.1", "--set", "fact_fracton=0.2"), "fact_fracton is not accepted"),
        (("rules-facts.1", "--set", "fact_fraction"), "set must have the form field=value"),
        (("rules-facts.1", "rules-facts.99"), "figures must be one of"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_written(genlaws, tmp_path: Path, arguments, sentence):
    answer = genlaws("figure", *arguments, "--out", str(tmp_path / "none"))
    assert answer.code == 2
    assert sentence in answer.err
    assert answer.out == ""
    assert not (tmp_path / "none").exists()


def test_json_is_alone_on_standard_output(genlaws, tmp_path: Path):
    answer = genlaws("figure", "rules-facts.10", "--out", str(tmp_path), "--json")
    assert json.loads(answer.out)["result"]["figures"][0]["id"] == "rules-facts.10"
    assert answer.err == ""


def test_stored_cells_are_used_again(genlaws, tmp_path: Path):
    small = ("figure", "rules-facts.16", "--set", "sample_points=5", "--out", tmp_path)
    arguments = (*small, "--set", "fact_points=3")
    first = genlaws(*arguments)
    assert first.code == 0, first.err
    before = (tmp_path / "rules-facts.16.csv").read_bytes()
    (cells,) = (tmp_path / "cells").iterdir()
    assert (cells / "rules-facts.samples" / "sweep.sqlite").is_file()
    assert genlaws(*arguments).code == 0
    assert (tmp_path / "rules-facts.16.csv").read_bytes() == before
    assert genlaws(*small, "--set", "fact_points=2").code == 0
    assert len(list((tmp_path / "cells").iterdir())) == 2
    refused = genlaws("figure", "rules-facts.16", "--jobs", "0", "--out", tmp_path)
    assert refused.code == 2
    assert "jobs must be a whole number" in refused.err


def test_without_a_folder_pictures_are_written_to_the_usual_one(genlaws, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = genlaws("figure", "rules-facts.10", "--json")
    assert str(Path("out/figures/rules-facts.10.png")) in answer.json["files"]
    assert genlaws("figure", "--json").json["files"] == []
    (tmp_path / "out" / "figures" / "rules-facts.10.png").rename(tmp_path / "kept.png")
    assert genlaws("figure", "rules-facts.10", "--out", tmp_path / "kept.png").code == 2
