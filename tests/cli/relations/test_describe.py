"""``genlaws relations describe``: names, matrices, files of edges, and what it says about wrong input."""

import json
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from genlaws.cli.relations.source import read_relation
from genlaws.core.errors import InputError
from project_paths import DATA


def data_file(name: str) -> Path:
    path = DATA / "kg" / name
    if not path.is_file():
        pytest.skip(f"needs kg/{name} in {DATA}, or in the folder GENLAWS_DATA names")
    return path


@pytest.fixture
def facts(tmp_path):
    path = tmp_path / "people.tsv"
    path.write_text("ann\tknows\tbob\nbob\tknows\tcid\nann\tlikes\tbob\nbob\tlikes\tann\n", encoding="utf-8")
    return path


def test_a_named_relation(genlaws):
    answer = genlaws("relations", "describe", "mod3", "--json")
    assert answer.code == 0
    found = answer.json["result"]
    assert found["description_length_exact"] == pytest.approx(39.7509, abs=1e-4)
    assert found["description_length_table"] == pytest.approx(47.5489, abs=1e-4)
    assert found["description_length_count"] == pytest.approx(44.9639, abs=1e-4)
    assert found["automorphisms"] == str(3628800**3 * 6)
    assert found["automorphisms_method"] == "closed form"
    assert found["majority_accuracy"] == pytest.approx(2 / 3)
    assert (found["element_count"], found["pairs_holding"], found["relation_class"]["name"]) == (30, 300, "equivalence")
    assert (found["relation_class"]["element_count"], found["relation_class"]["class_count"]) == (30, 3)
    assert found["properties"]["equivalence"] is True
    assert found["properties"]["total_order"] is False
    assert found["properties"]["class_sizes"] == [10, 10, 10]
    assert found["critical_fraction"] == pytest.approx(0.1004, abs=1e-4)


def test_the_text_gives_the_number_first(genlaws):
    lines = genlaws("relations", "describe", "less-than", "--elements", "10").out.splitlines()
    assert lines[0] == "description length     21.79 bits, exact: log2 of n!/automorphisms"
    assert lines[1] == "by the paper's table   18.79 bits, as total order"
    assert "automorphisms          1 (closed form)" in lines
    assert any(line.startswith("Someone who knows less-than") for line in lines)


def test_nothing_to_learn(genlaws, tmp_path):
    np.save(tmp_path / "all.npy", np.ones((5, 5), dtype=int))
    out = genlaws("relations", "describe", tmp_path / "all.npy").out
    assert out.startswith("description length     0.00 bits")
    assert "the same for every naming of its elements" in out


@pytest.mark.parametrize("kind", [".npy", ".csv"])
def test_a_matrix_file(genlaws, tmp_path, kind):
    table = np.array(nx.to_numpy_array(nx.petersen_graph()), dtype=int)
    path = tmp_path / f"petersen{kind}"
    if kind == ".npy":
        np.save(path, table)
    else:
        np.savetxt(path, table, fmt="%d", delimiter=",")
    for method in ("auto", "igraph", "networkx", "search"):
        found = genlaws("relations", "describe", path, "--method", method, "--json").json["result"]
        assert found["automorphisms"] == "120"
        assert found["automorphisms_method"] == ("igraph" if method == "auto" else method)
        assert found["relation"] == "petersen"


@pytest.mark.parametrize(
    ("text", "name", "pairs"),
    [
        ("0,1\n1,0\n", "complete bipartite", 2),
        ("0.0,1.0\n0.0,0.0\n", "total order", 1),
        ("head,tail\n0,1\n1,2\n", "rooted tree", 2),
        ("a,1\n1,b\n", "rooted tree", 2),
        ("0,1\n1,0\n0,2\n", "incomplete bipartite", 3),
    ],
)
def test_two_by_two(genlaws, tmp_path, text, name, pairs):
    path = tmp_path / "two.csv"
    path.write_text(text, encoding="utf-8")
    found = genlaws("relations", "describe", path, "--json").json["result"]
    assert (found["relation_class"]["name"], found["pairs_holding"]) == (name, pairs)


def test_edges_and_one_relation_of_a_file(genlaws, tmp_path, facts):
    edges = tmp_path / "edges.csv"
    edges.write_text("from,to\nann,bob\nbob,cid\n", encoding="utf-8")
    plain = genlaws("relations", "describe", edges, "--json").json["result"]
    named = genlaws("relations", "describe", facts, "--relation", "knows", "--json").json["result"]
    assert plain["properties"] == named["properties"]
    assert named["relation"] == "knows"
    used = genlaws("relations", "describe", facts, "--relation", "likes", "--json").json["result"]
    whole = genlaws("relations", "describe", facts, "--relation", "likes", "--entities", "all", "--json").json["result"]
    assert (used["element_count"], whole["element_count"]) == (2, 3)


def test_a_file_without_a_name_is_summed_up(genlaws, facts):
    answer = genlaws("relations", "describe", facts)
    assert answer.out.splitlines()[0].split() == ["relation", "pairs", "elements", "bits", "majority", "class"]
    assert answer.out.splitlines()[1].split()[:3] == ["knows", "2", "3"]
    found = genlaws("relations", "describe", facts, "--json").json["result"]
    assert [one["relation"] for one in found["relations"]] == ["knows", "likes"]
    assert [one["description_length_exact"] for one in found["relations"]] == [pytest.approx(np.log2(6)), 0.0]


def test_the_result_is_written(genlaws, tmp_path, facts):
    out = tmp_path / "out"
    assert genlaws("relations", "describe", "mod5", "--out", out).code == 0
    assert json.loads((out / "result.json").read_text())["relation_class"]["name"] == "equivalence"
    assert pd.read_csv(out / "result.csv")["element_count"].tolist() == [30]
    assert genlaws("relations", "describe", facts, "--out", out).code == 0
    assert pd.read_csv(out / "result.csv")["relation"].tolist() == ["knows", "likes"]


def test_unknown_class_counts_are_null(genlaws):
    assert genlaws("relations", "describe", "divisibility", "--json").json["result"]["description_length_count"] is None
    assert "unknown for so many elements" in genlaws("relations", "describe", "divisibility").out


@pytest.mark.parametrize(
    ("arguments", "content", "sentence"),
    [
        (["modx"], None, "There is no relation 'modx'; known are modK"),
        (
            ["mod3", "--elements", "0"],
            None,
            "element_count must be a whole number, at least 1 and at most 20000; got 0",
        ),
        (["mod5", "--elements", "3"], None, "A class would be empty"),
        (["mod3", "--relation", "x"], None, "relation selects from a knowledge-graph file; 'mod3' is"),
        (["mod3", "--method", "guess"], None, "method must be one of auto, closed-form"),
        (["binary-tree", "--method", "closed-form"], None, "is in no family with a closed form"),
        (["FOLDER/none.tsv"], None, "There is no file"),
        (["FOLDER/none.csv"], None, "There is no file"),
        (["FOLDER/none.npy"], None, "There is no file"),
        (["FOLDER/none"], None, "There is no file"),
        (["FOLDER/a.json"], "{}", "The file must end in .npy, .npz, .parquet, .csv, .tsv, .txt, .gz"),
        (["FOLDER/a.csv"], "0,1,0\n1,0,1\n", "A relation's matrix must be square; got shape (2, 3)"),
        (["FOLDER/a.csv"], "0,1,0\n1,0,1\n0,2,0\n", "must hold 0 and 1 only; got 2.0 in row 3, column 2"),
        (["FOLDER/a.csv"], "0,1,0\n1,0,x\n0,1,0\n", "must hold only numbers; the cell in row 2, column 3 is 'x'"),
        (["FOLDER/a.csv"], "0,1\n1,x\n", "0 and 1 only; got 'x' in row 2, column 2 of a.csv. If its lines are edges"),
        (
            ["FOLDER/a.csv"],
            "0,1\n1,2\n",
            "got '2' in row 2, column 2 of a.csv. If its lines are edges, put the line head",
        ),
        (["FOLDER/a.csv"], "0,O,1\n0,0,1\n0,0,0\n", "got 'O' in row 1, column 2"),
        (["FOLDER/a.csv"], "0,,1,1\n0,0,1,1\n0,0,0,1\n0,0,0,0\n", "got '' in row 1, column 2"),
        (["FOLDER/a.csv"], "", "it is empty"),
        (["FOLDER/a.tsv"], "a\tr\tb\nc\tr\n", "a.tsv, line 2 must hold head, relation and tail"),
        (["FOLDER/a.tsv", "--elements", "5"], "a\tr\tb\n", "a file has its own elements"),
        (["FOLDER/a.tsv", "--relation", "s"], "a\tr\tb\n", "There is no relation 's' in a.tsv; it has r"),
        (["FOLDER/a.tsv", "--relation", "r", "--entities", "few"], "a\tr\tb\n", "must be one of used, all"),
        ([], None, "SOURCE"),
    ],
)
def test_wrong_input_ends_with_code_two(genlaws, tmp_path, arguments, content, sentence):
    words = [word.replace("FOLDER", str(tmp_path)) for word in arguments]
    if content is not None:
        Path(words[0]).write_text(content, encoding="utf-8")
    answer = genlaws("relations", "describe", *words)
    assert answer.code == 2
    assert answer.out == ""
    assert sentence in answer.err


def test_a_matrix_has_no_relations_to_choose_from(genlaws, tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    answer = genlaws("relations", "describe", tmp_path / "a.npy", "--relation", "r")
    assert (answer.code, "a.npy is a matrix" in answer.err) == (2, True)


def test_one_relation_is_requested_where_one_is_needed(facts):
    assert read_relation("mod3", None, None).element_count == 30
    assert read_relation(str(facts), None, "knows").label == "knows"
    with pytest.raises(InputError, match="people.tsv has several relations; name one of knows, likes"):
        read_relation(str(facts), None, None)


def test_kinships(genlaws):
    found = genlaws("relations", "describe", data_file("kinships.tsv"), "--relation", "term6", "--json").json["result"]
    assert (found["element_count"], found["pairs_holding"]) == (90, 453)
    assert found["automorphisms"] == "61152952320"
    assert found["description_length_exact"] == pytest.approx(423.165, abs=0.01)
    summary = genlaws("relations", "describe", data_file("kinships.tsv"), "--json").json["result"]
    names = [one["relation"] for one in summary["relations"]]
    assert len(names) == 25
    assert names[:3] == ["term0", "term1", "term2"]


@pytest.mark.parametrize("missing", [False, True], ids=["igraph", "no igraph"])
def test_wordnet_hypernyms(genlaws, monkeypatch, missing):
    limit = sys.get_int_max_str_digits()
    if missing:
        monkeypatch.setitem(sys.modules, "igraph", None)
    path = data_file("wordnet3_noun_relations.tsv.gz")
    answer = genlaws("relations", "describe", path, "--relation", "hypernym")
    assert "automorphisms          5.14e37882 (reduction)" in answer.out
    found = genlaws("relations", "describe", path, "--relation", "hypernym", "--json").json["result"]
    assert found["description_length_exact"] == pytest.approx(970861.7623615873, rel=1e-12)
    assert len(found["automorphisms"]) == 37_883
    assert found["automorphisms"].startswith("5143901442310080696557649955603378")
    assert sys.get_int_max_str_digits() == limit
