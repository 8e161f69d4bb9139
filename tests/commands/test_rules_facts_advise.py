"""``genlaws rules-facts advise``: the answer in words, as JSON and as a picture, both ways, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genlaws.commands.rules_facts_advise_words import explain
from genlaws.numerics.intervals import Estimate
from genlaws.rules_facts import advise, draw_labelled, load_labelled

TASK = ("--rule-classes", "3", "8", "--fact-fraction", "0.2", "--sample-count", "100")
CHOICES = ("theory_memory", "theory_rule", "found_memory", "found_rule")
ANGLE_ACCURACY = 0.02


def ask(genlaws, *arguments):
    answer = genlaws("rules-facts", "advise", *arguments, "--json")
    assert answer.code == 0, answer.err
    assert answer.err == ""
    return answer.json


@pytest.fixture(scope="module")
def drawn():
    return draw_labelled(load_labelled("digits"), ("3", "8"), fact_fraction=0.2, sample_count=100, test_count=2, seed=4)


def test_json_is_the_advice_of_the_library(genlaws, drawn):
    answer = ask(genlaws, "digits", *TASK, "--seed", "4")
    expected = advise(drawn.inputs, drawn.labels, is_fact=drawn.is_fact, seed=4)
    arrays = ("parameter", "kernel_angle", "mu_1", "mu_star", "predicted_at_zero", "predicted_at_best")
    grids = (
        "regularisation",
        "generalisation_error",
        "generalisation_low",
        "generalisation_high",
        "memorisation_error",
    )
    for name in (*arrays, *grids):
        assert np.array(answer[name]) == pytest.approx(getattr(expected, name)), name
    for name in CHOICES:
        choice, found = answer[name], getattr(expected, name)
        assert choice["parameter"] == found.parameter
        assert choice["generalisation_error"] == found.generalisation_error.value
        assert choice["generalisation_error_interval"] == [
            found.generalisation_error.low,
            found.generalisation_error.high,
        ]
    price = expected.price_of_memory
    assert (answer["price_of_memory"], *answer["price_of_memory_interval"]) == (price.value, price.low, price.high)
    assert answer["data"] == "digits, class 3 against class 8"
    assert (answer["sample_count"], answer["dimension"], answer["seed"]) == (100, 64, 4)
    assert (answer["rule_count"], answer["memory_count"]) == (80, 20)
    assert answer["sample_ratio"] == 100 / 64
    assert answer["fact_fraction"] == 0.2
    assert answer["fact_fraction_interval"] == [None, None]
    assert answer["fact_fraction_source"] == "counted"
    assert answer["theory_memory"]["kernel_angle"] == pytest.approx(
        np.arcsin(0.8 * np.sqrt(2 / np.pi)), abs=ANGLE_ACCURACY
    )


def test_the_text_answers_first(genlaws):
    answer = genlaws("rules-facts", "advise", *TASK)
    assert answer.code == 0
    assert "kernels" in answer.err
    lines = answer.out.splitlines()
    assert lines[0].startswith("To remember every label, take gaussian:")
    assert lines[1].startswith("For the rule alone, take gaussian:")
    assert lines[2].startswith("Memory costs ")
    assert "than chance explains" in lines[2]
    head = lines.index("") + 1
    assert lines[head].split()[:4] == ["choice", "kernel", "λ", "angle"]
    table = lines[head : head + 5]
    # Columns are aligned: that of the angle begins in the same place in every row.
    place = table[0].index("angle")
    assert all(row[place - 2 : place].isspace() and row[place].isdigit() for row in table[1:])
    assert [row.split("  ")[0] for row in table[1:]] == [
        "theory, for memory",
        "theory, for the rule",
        "best found, for memory",
        "best found, for the rule",
    ]
    text = answer.out
    assert "samples n                100; rule error from 80, memory error from 20 facts" in text
    assert "share of facts ε         0.2 (the facts are known)" in text
    assert "for Gaussian inputs and a linear rule" in text
    assert "optimistic" in text


def test_the_text_says_where_the_theory_does_worse(drawn):
    advice = advise(drawn.inputs, drawn.labels, is_fact=drawn.is_fact, parameters=[0.5])
    equal, worse = Estimate(0.0, -0.1, 0.1), Estimate(0.07, 0.03, 0.11)
    assert "rather take" not in explain(replace(advice, price_of_theory=equal, price_of_memory=equal))
    text = explain(replace(advice, price_of_theory=worse, price_of_memory=worse))
    assert "worse than what cross-validation chooses, by 0.070 ± 0.040: rather take gaussian:" in text
    assert "Memory costs 0.070 ± 0.040 of rule error, more than chance explains." in text
    gained = Estimate(-0.07, -0.11, -0.03)
    assert "remembering helps" in explain(replace(advice, price_of_memory=gained))


def test_without_facts_of_its_own_their_share_is_estimated(genlaws):
    arguments = ("--rule-classes", "3", "8", "--sample-count", "150", "--parameters", "0.5,2")
    answer = ask(genlaws, *arguments)
    assert answer["fact_fraction_source"] == "estimated"
    low, high = answer["fact_fraction_interval"]
    assert low <= answer["fact_fraction"] <= high < 0.2
    assert answer["rule_count"] == 150
    text = genlaws("rules-facts", "advise", *arguments).out
    assert "estimated from how sure" in text
    assert "counts as a fact, whatever it is" in text


def test_all_samples_are_taken_if_no_number_is_given(genlaws, tmp_path: Path):
    rng = np.random.default_rng(0)
    names = np.repeat(["ant", "bee", "cow"], [30, 20, 50])
    inputs = rng.normal(size=(100, 5)) + 4.0 * (names == "ant")[:, None]
    np.savez(tmp_path / "beasts.npz", X=inputs, y=names)
    file = tmp_path / "beasts.npz"
    one = ask(genlaws, file, "--rule-classes", "ant", "bee", "--parameters", "1")
    # Balanced, but for one; and one of each class stays outside.
    assert one["sample_count"] == 39
    facts = ("--fact-fraction", "0.25", "--fact-classes", "cow")
    other = ask(genlaws, file, "--rule-classes", "ant", "bee", *facts, "--parameters", "1")
    assert (other["rule_count"], other["memory_count"]) == (39, 13)


def test_a_table_and_the_hinge_loss(genlaws, tmp_path: Path):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    table["label"] = np.where(table["a"] > 0, "up", "down")
    table.to_csv(tmp_path / "table.csv", index=False)
    options = ("--rule-classes", "up", "down", "--loss", "hinge", "--parameters", "0.5:2:2:log", "--folds", "3")
    answer = ask(genlaws, tmp_path / "table.csv", *options, "--sample-ratio", "12", "--normalise")
    assert (answer["loss"], answer["sample_count"], answer["folds"], answer["normalise"]) == ("hinge", 36, 3, True)
    text = genlaws("rules-facts", "advise", tmp_path / "table.csv", *options, "--sample-ratio", "12")
    assert "rad; the nearest tried is" in text.out


def test_out_writes_answer_table_and_picture(genlaws, tmp_path: Path):
    folder = tmp_path / "new"
    answer = ask(genlaws, *TASK, "--out", folder)
    assert sorted(file.name for file in folder.iterdir()) == [
        f"advise.{kind}" for kind in ("csv", "json", "pdf", "png", "txt")
    ]
    assert json.loads((folder / "advise.json").read_text(encoding="utf-8")) == answer
    table = pd.read_csv(folder / "advise.csv")
    kinds = {f"{kind}_{which}" for kind in ("measured", "theory") for which in ("zero", "best", "path")}
    assert set(table["series"]) == kinds | set(CHOICES)
    measured = table[table["series"] == "measured_zero"]
    assert measured["parameter"].to_numpy() == pytest.approx(answer["parameter"])
    assert measured["generalisation_error"].to_numpy() == pytest.approx(
        [row[0] for row in answer["generalisation_error"]]
    )
    best = table[table["series"] == "measured_best"]
    assert (best["generalisation_error"].to_numpy() <= measured["generalisation_error"].to_numpy()).all()
    theory = table[table["series"] == "theory_zero"]
    at = np.interp(np.log(answer["parameter"]), np.log(theory["parameter"]), theory["generalisation_error"])
    assert at == pytest.approx(answer["predicted_at_zero"], abs=1e-3)
    paths = table[table["series"] == "measured_path"]
    chosen = {answer[name]["parameter"] for name in CHOICES}
    assert set(paths["parameter"]) == chosen == set(table.loc[table["series"] == "theory_path", "parameter"])
    assert (paths["memorisation_low"] <= paths["memorisation_error"]).all()
    assert "for Gaussian inputs and a linear rule" in (folder / "advise.txt").read_text(encoding="utf-8")
    assert (folder / "advise.pdf").read_bytes().startswith(b"%PDF-")
    assert (folder / "advise.png").stat().st_size > 5000
    again = genlaws("rules-facts", "advise", *TASK, "--out", folder)
    assert f"Written to {folder / 'advise.png'}" in again.out


@pytest.fixture
def files(tmp_path: Path):
    rng = np.random.default_rng(0)
    inputs, classes = rng.normal(size=(80, 4)), np.arange(80) % 2
    holes = inputs.copy()
    holes[7, 2] = np.nan
    for name, x, y in (("nan", holes, classes), ("constant", np.ones((80, 4)), classes), ("one", inputs, 0 * classes)):
        np.savez(tmp_path / f"{name}.npz", X=x, y=y)
    (tmp_path / "file").write_text("not a folder")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--rule-classes", "3", "12"), "digits has no class '12'"),
        (("--rule-classes", "3"), "--rule-classes"),
        (("--rule-classes", "3", "3"), "rule_classes must be two different classes"),
        ((), "--rule-classes"),
        (("nan.npz", "--rule-classes", "0", "1"), "1 of 80 samples hold NaN"),
        (("constant.npz", "--rule-classes", "0", "1"), "At least one feature must vary"),
        (("one.npz", "--rule-classes", "0", "1"), "The rule needs two classes"),
        (("gone.npz", "--rule-classes", "0", "1"), "There is no file or folder"),
        (("file", "--rule-classes", "0", "1"), "a file ending in .npz or .csv"),
        ((*TASK[:5], "--sample-count", "5000"), "The largest sample_count possible is"),
        ((*TASK[:5], "--sample-count", "10"), "sample_count must be at least 20; got 10"),
        ((*TASK, "--sample-ratio", "2"), "either sample_count or sample_ratio"),
        (("--rule-classes", "3", "8", "--fact-fraction", "1.5"), "fact_fraction must lie in [0, 1]; got 1.5"),
        (("--rule-classes", "3", "8", "--fact-fraction", "1"), "fact_fraction must be below 1"),
        (("--rule-classes", "3", "8", "--fact-classes", "1"), "fact_classes must come with fact_fraction"),
        ((*TASK, "--fact-classes", "3"), "fact_classes must leave out the classes of the rule"),
        ((*TASK, "--parameters", "1,two"), "parameters must be a number; got '1,two'"),
        ((*TASK, "--parameters", "0,1"), "parameters must lie in (0, inf); got 0"),
        ((*TASK, "--loss", "logistic"), "loss must be one of square, hinge"),
        ((*TASK, "--family", "relu"), "family must be one of gaussian, exponential, geometric, quadratic"),
        ((*TASK, "--family", "geometric"), "needs inputs of squared length d; use normalise"),
        ((*TASK, "--folds", "1"), "folds must be a whole number, at least 2"),
        ((*TASK, "--seed", "-1"), "seed must be a whole number"),
    ],
)
def test_wrong_input_is_answered_in_one_line(genlaws, files: Path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(files)
    answer = genlaws("rules-facts", "advise", *arguments, "--out", files / "none")
    assert answer.code == 2
    assert complaint in answer.err
    assert len(answer.err.splitlines()) == 1
    assert answer.out == ""
    assert not (files / "none").exists()


def test_a_file_in_place_of_the_folder_is_refused_at_once(genlaws, files: Path):
    answer = genlaws("rules-facts", "advise", *TASK, "--out", files / "file")
    assert answer.code == 2
    assert "out must be a folder" in answer.err
    assert (files / "file").read_text() == "not a folder"
