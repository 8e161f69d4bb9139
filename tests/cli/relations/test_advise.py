"""``genlaws relations advise``: the answer in words and as JSON, for relations of any source, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genlaws.relations import data_needed, named_relation

RATIOS = (0.3, 3.0)
TRIED = ("--train-fractions", "0.2,0.8", "--ratios", "0.3,3", "--networks", "2", "--ratio-networks", "2")
SMALL = ("--quick", *TRIED, "--bound-repeats", "3", "--width", "12", "--depth", "1", "--steps", "300")


def ask(genlaws, *arguments):
    answer = genlaws("relations", "advise", *arguments, "--json")
    assert answer.code == 0, answer.err
    assert answer.err == ""
    return answer.json["result"]


def test_json_holds_the_whole_advice(genlaws, tmp_path: Path):
    answer = ask(genlaws, "bipartite-8-8", *SMALL, "--out", tmp_path)
    exact = data_needed(named_relation("bipartite-8-8"), target_accuracy=0.9, repeats=3).train_fraction
    assert answer["best_fraction"] == vars(exact)
    assert answer["gap_ratio"]["value"] == pytest.approx(answer["network_fraction"]["value"] / exact.value)
    assert answer["suggested_ratio"] in RATIOS
    assert answer["advised_entries"] == round(answer["advised_fraction"] * 256)
    assert [row["value"] for row in answer["ratios"]] == list(RATIOS)
    shares = [row["success"] for row in answer["fractions"]]
    assert all(0 <= one["low"] <= one["value"] <= one["high"] <= 1 for one in shares)
    assert answer["network_count"] == 8
    assert answer["pilot"]["steps"] == 300
    assert answer["learned"] is True
    assert answer["boundary_seen"] is False  # two networks at two ratios cannot show it
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8")) == answer
    table = pd.read_csv(tmp_path / "result.csv")
    assert table["tried"].tolist() == ["train_fraction"] * 2 + ["ratio"] * 2


def test_the_text_gives_the_answer_first(genlaws):
    answer = genlaws("relations", "advise", "bipartite-8-8", *SMALL)
    assert answer.code == 0, answer.err
    assert "networks of the pilot" in answer.err
    lines = answer.out.splitlines()
    assert lines[0].startswith("Train on at least ")
    assert "of 256" in lines[0]
    assert lines[1].startswith("Take a decoder rate of ")
    assert "the best learner needs" in answer.out
    assert "a guide, not a bound" in answer.out
    assert "From 8 networks. Held fixed: 1 hidden layers of 12" in answer.out
    assert "<- suggested" in answer.out
    assert max(map(len, lines)) <= 130


def test_a_matrix_that_is_not_learned(genlaws, tmp_path: Path):
    np.save(tmp_path / "noise.npy", (np.random.default_rng(0).random((9, 9)) < 0.5).astype(int))
    answer = genlaws("relations", "advise", tmp_path / "noise.npy", *SMALL[:-1], "40")
    assert answer.out.startswith("No network of the pilot learned noise: none of 8 reached 0.9")
    assert "not seen: no network generalized" in answer.out
    reported = ask(genlaws, tmp_path / "noise.npy", *SMALL[:-1], "40")
    assert reported["learned"] is False
    assert reported["suggested_ratio"] is None
    assert reported["network_fraction"]["value"] == "inf"


def test_a_sparse_relation_of_a_knowledge_graph(genlaws, tmp_path: Path):
    lines = [f"e{i}\tparent\te{2 * i + 1}\ne{i}\tparent\te{2 * i + 2}" for i in range(7)]
    (tmp_path / "graph.tsv").write_text("\n".join([*lines, "e0\tlikes\te1"]) + "\n", encoding="utf-8")
    requested = (tmp_path / "graph.tsv", "--relation", "parent", *SMALL[:-1], "40")
    reported = ask(genlaws, *requested)
    assert reported["balanced"] is True
    assert reported["best_fraction"] is None
    answer = genlaws("relations", "advise", *requested)
    assert "target accuracy" in answer.out
    assert "balanced over entries outside the training set" in answer.out
    assert "the accuracy here is the balanced one" in " ".join(answer.out.split())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("mod",), "There is no relation 'mod'"),
        (("mod3", "--elements", "501"), "at most 500 elements; modulo 3 has 501"),
        (("mod3", "--target-accuracy", "90"), "target_accuracy must lie in"),
        (("mod3", "--target-accuracy", "1"), "target_accuracy must lie in (0, 1); got 1. A network succeeds when"),
        (("mod3", "--steps", "0"), "steps must be a whole number, at least 1 and at most 100000000; got 0"),
        (("mod3", "--dimension", "0"), "dimension must be a whole number, at least 1 and at most 1000; got 0"),
        (("mod3", "--optimizer", "lion"), "optimizer must be one of adam, adamw, sgd"),
        (("mod3", "--decoder-rate", "0"), "decoder_rate must be positive"),
        (("mod3", "--relation", "likes"), "relation selects from a knowledge-graph file"),
        (("gone.tsv",), "There is no file"),
        (("ones.npy",), "only 0 of one kind"),
    ],
)
def test_wrong_input_is_answered_in_one_line(genlaws, tmp_path: Path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    np.save("ones.npy", np.ones((4, 4)))
    answer = genlaws("relations", "advise", *arguments, "--out", tmp_path / "none", "--json")
    assert answer.code == 2
    assert complaint in answer.err
    assert len(answer.err.splitlines()) == 1
    assert answer.out == ""
    assert not (tmp_path / "none").exists()


def test_a_file_in_place_of_the_folder_is_refused(genlaws, tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    answer = genlaws("relations", "advise", "mod3", *SMALL, "--out", tmp_path / "file")
    assert answer.code == 2
    assert "out must be a folder" in answer.err
