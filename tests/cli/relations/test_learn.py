"""``genlaws relations learn``: right input, wrong input, files."""

import csv
import json
import re
from itertools import pairwise

import numpy as np
import pytest

from genlaws.relations import LearnedRelation, learn_relation, modulo, posterior
from genlaws.relations.inference.hypotheses import hypotheses_of
from genlaws.relations.networks import learned
from genlaws.relations.networks.network import train_networks
from genlaws.relations.networks.runs import mean_accuracy
from genlaws.relations.structure.training_set import training_set_of

QUICK = ("--width", "12", "--depth", "1", "--encoder-rate", "0.02", "--decoder-rate", "0.01", "--steps", "400")
SMALL = ("relations", "learn", "mod3", "--elements", "9", *QUICK)
FILES = {
    *("result.json", "report.html", "networks.csv", "curves.csv", "embeddings.csv"),
    *("curves.png", "curves.pdf", "embeddings.png", "embeddings.pdf"),
}


@pytest.fixture
def graph(tmp_path):
    """A file of edges with two relations; one of its names would be mathematics to a picture."""
    path = tmp_path / "family.tsv"
    people = ["ada", "bob", "cy $x^", "dee", "eve", "flo"]
    rows = [f"{a}\tparent\t{b}" for a, b in pairwise(people)]
    rows += [f"{people[0]}\tknows\t{b}" for b in people[1:]]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_numbers_are_the_librarys(genlaws):
    answer = genlaws(*SMALL, "--seeds", "3", "--seed", "5", "--json")
    assert answer.code == 0
    assert answer.err == ""
    found = answer.json["result"]
    settings = {"width": 12, "depth": 1, "encoder_rate": 0.02, "decoder_rate": 0.01, "steps": 400}
    runs = train_networks(modulo(9, 3), seeds=[5, 6, 7], **settings)
    for name in ("train_accuracy", "test_accuracy", "balanced_accuracy", "table_accuracy"):
        assert [one[name] for one in found["networks"]] == pytest.approx(runs.final(name).tolist())
        assert found[name] == pytest.approx(vars(mean_accuracy(runs.final(name))))
        assert found[name]["value"] == pytest.approx(runs.final(name).mean())
    assert found["majority_accuracy"] == pytest.approx(2 / 3)
    assert found["training_count"] == runs.training_mask[0].sum() == 61
    assert sum(found["phase_counts"].values()) == len(found["networks"]) == 3
    assert [one["seed"] for one in found["networks"]] == [5, 6, 7]
    assert found["inputs"]["seed"] == 5


def test_best_accuracy_is_that_of_the_same_entries(genlaws):
    found = genlaws(*SMALL, "--train-fraction", "0.2", "--seeds", "2", "--json").json["result"]
    found = found["class_average"]
    relation = modulo(9, 3)
    runs = train_networks(relation, seeds=[0, 1], train_fraction=0.2, steps=1, width=2)
    laws = [
        posterior(training_set_of(relation, np.flatnonzero(shown)), hypotheses_of(relation), truth=relation)
        for shown in runs.training_mask
    ]
    assert found["accuracy"]["value"] == pytest.approx(np.mean([law.accuracy for law in laws]))
    assert found["unseen_accuracy"]["value"] == pytest.approx(np.mean([law.unseen_accuracy for law in laws]))
    assert found["hypotheses"] == "equivalence with 3 classes"
    assert found["exact_count"] == found["set_count"] == 2
    assert found["accuracy"]["value"] < 1.0


def test_same_seed_gives_the_same_answer_and_another_another(genlaws):
    first, second = (genlaws(*SMALL, "--json").out for _ in range(2))
    assert first == second
    other = genlaws(*SMALL, "--json", "--seed", "1").json["result"]
    assert other["table_accuracy"] != json.loads(first)["result"]["table_accuracy"]


def test_text_says_first_the_numbers_then_what_they_mean(genlaws):
    text = genlaws(*SMALL, "--seeds", "2").out
    assert text.startswith("accuracy on other entries")
    assert "majority answer               0.6667 of the table" in text
    assert re.search(r"phase +\w+ [12] of 2", text)
    assert "2 networks were trained on 61 of the 81 entries of modulo 3, for 400 steps of adam." in text
    assert "No learner that knows only the class 'equivalence with 3 classes'" in " ".join(text.split())
    assert "drift" not in text


def test_gradient_descent_tells_the_drift_of_what_it_conserves(genlaws):
    drifts = []
    for rate, steps in (("0.1", "200"), ("0.05", "400")):
        arguments = ("--optimizer", "sgd", "--encoder-rate", rate, "--decoder-rate", rate, "--steps", steps)
        drifts.append(genlaws("relations", "learn", "mod3", "--elements", "9", *arguments, "--json").json["result"])
    drift = [one["networks"][0]["invariant_drift"] for one in drifts]
    assert 0.0 < drift[1] < 0.7 * drift[0] < 0.05
    assert "drift of the invariant" in genlaws(*SMALL, "--optimizer", "sgd").out


def test_folder_holds_curves_embeddings_and_the_page(genlaws, tmp_path):
    answer = genlaws(*SMALL, "--seeds", "2", "--out", tmp_path / "run")
    assert answer.code == 0
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    with (tmp_path / "run" / "curves.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    found = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    last = [float(row["test_accuracy"]) for row in rows if row["step"] == "400"]
    assert last == pytest.approx([one["test_accuracy"] for one in found["networks"]])
    assert (tmp_path / "run" / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "run" / "embeddings.png").stat().st_size > 5000
    assert (tmp_path / "run" / "curves.pdf").read_bytes().startswith(b"%PDF")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "modulo 3: embeddings along the training of network 0" in page
    assert "2 networks were trained on 61 of the 81 entries" in page
    film = json.loads(re.search(r'id="film">(.*?)</script>', page)[1])
    assert film["steps"][0] == 0
    assert film["steps"][-1] == 400
    assert 40 < len(film["steps"]) <= 100
    with (tmp_path / "run" / "embeddings.csv").open(encoding="utf-8") as stream:
        assert [row["class"] for row in csv.DictReader(stream)] == list("012012012")


def test_without_stored_embeddings_the_page_plays_nothing(monkeypatch):
    monkeypatch.setattr(learned, "MAX_STORED_NUMBERS", 0)
    found = learn_relation("mod3", steps=5, width=4, depth=1)
    assert 'id="film"' not in found.page()
    assert set(found.tables()) == {"networks", "curves", "embeddings"}


def test_a_result_that_was_read_has_no_runs():
    found = learn_relation(modulo(6, 3), steps=5, width=4, depth=1, seeds=2)
    again = LearnedRelation.from_dict(json.loads(json.dumps(found.to_dict())))
    assert str(again) == str(found)
    assert set(again.tables()) == {"networks"}
    assert again.pictures() == {}
    assert "2 networks were trained" in again.page()


def test_relation_of_a_knowledge_graph(genlaws, graph, tmp_path):
    arguments = ("relations", "learn", graph, "--relation", "parent", *QUICK, "--dimension", "3")
    answer = genlaws(*arguments, "--out", tmp_path / "run")
    assert answer.code == 0
    assert "class 'irreflexive antisymmetric'" in answer.out
    assert "cy $x^" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    unnamed = genlaws("relations", "learn", graph, *QUICK)
    assert unnamed.code == 2
    assert "parent" in unnamed.err


def test_text_never_says_nan(genlaws, tmp_path):
    everything = genlaws(*SMALL, "--train-fraction", "1", "--out", tmp_path)
    assert everything.code == 0
    assert "none: every entry is a training entry" in everything.out
    noisy = genlaws(*SMALL, "--label-noise", "0.2", "--batch-size", "7").out
    assert "0.2 of the labels flipped" in noisy
    assert "with the right labels" in noisy
    rates = ("--activation", "relu", "--encoder-rate", "1e30", "--decoder-rate", "1e30", "--steps", "50")
    broken = genlaws("relations", "learn", "mod3", "--elements", "9", *rates, "--out", tmp_path / "broken")
    assert {path.name for path in (tmp_path / "broken").iterdir()} >= {"curves.png", "report.html"}
    assert not (tmp_path / "broken" / "embeddings.png").exists()
    assert "stopped at numbers that are not finite" in broken.out
    assert re.search(r"\bnan\b", everything.out + noisy + broken.out, re.IGNORECASE) is None


def test_a_sparse_relation_is_given_no_bound(genlaws, tmp_path):
    path = tmp_path / "sparse.tsv"
    path.write_text("a\tb\nb\ta\nc\td\ne\tf\ng\th\ni\tj\n", encoding="utf-8")
    arguments = ("relations", "learn", path, "--steps", "5", "--width", "4", "--depth", "1")
    text = " ".join(genlaws(*arguments).out.split())
    assert "It is not a bound for this relation" in text
    assert "No learner" not in text
    assert genlaws(*arguments, "--json").json["result"]["class_average"]["meaning"] in text


def test_a_large_relation_has_no_best_but_a_reason(genlaws):
    found = genlaws(
        "relations", "learn", "mod3", "--elements", "120", "--width", "4", "--depth", "1", "--steps", "3", "--json"
    ).json["result"]
    assert found["class_average"] is None
    assert found["no_class_average"] == "It is not computed beyond 100 elements."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing",), "There is no relation 'nothing'"),
        (("mod3", "--train-fraction", "75"), "train_fraction must lie in [0, 1]; got 75"),
        (("mod3", "--train-fraction", "0"), "must include at least one entry"),
        (("mod3", "--seeds", "0"), "seeds must be a whole number"),
        (("mod3", "--seed", "-1"), "seed must be a whole number"),
        (("mod3", "--steps", "0"), "steps must be a whole number"),
        (("mod3", "--width", "0"), "width must be a whole number"),
        (("mod3", "--mode", "sum"), "mode must be one of"),
        (("mod3", "--activation", "gelu"), "activation must be one of"),
        (("mod3", "--optimizer", "newton"), "optimizer must be one of"),
        (("mod3", "--encoder-rate", "0"), "encoder_rate must"),
        (("mod3", "--decoder-decay", "-1"), "decoder_decay must"),
        (("mod3", "--label-noise", "2"), "label_noise must lie in [0, 1]"),
        (("mod3", "--batch-size", "0"), "batch_size must be a whole number"),
        (("mod3", "--device", "abacus"), "device must be one that torch can use here"),
        (("mod3", "--relation", "parent"), "relation selects from a knowledge-graph file"),
    ],
)
def test_wrong_input_is_refused_with_a_sentence(genlaws, arguments, sentence):
    answer = genlaws("relations", "learn", *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert sentence in answer.err


def test_a_file_is_no_folder(genlaws, tmp_path):
    (tmp_path / "taken").write_text("")
    answer = genlaws(*SMALL, "--out", tmp_path / "taken")
    assert answer.code == 2
    assert "out must be a folder" in answer.err
