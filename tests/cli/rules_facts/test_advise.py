"""``genlaws rules-facts advise``: the answer in words, as JSON and as a picture, both ways, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from genlaws.core.estimate import Estimate
from genlaws.figures.rules_facts.advice import advice_table, draw_advice
from genlaws.rules_facts import advise, draw_gaussian, draw_labeled, load_labeled

TASK = ("--rule-classes", "3", "8", "--fact-fraction", "0.2", "--sample-count", "100")
CHOICES = ("theory_memory", "theory_rule", "found_memory", "found_rule")
ANGLE_ACCURACY = 0.02


def ask(genlaws, *arguments):
    answer = genlaws("rules-facts", "advise", *arguments, "--json")
    assert answer.code == 0, answer.err
    assert answer.err == ""
    return answer.json["result"]


@pytest.fixture(scope="module")
def drawn():
    return draw_labeled(load_labeled("digits"), ("3", "8"), fact_fraction=0.2, sample_count=100, test_count=2, seed=4)


def test_json_is_the_advice_of_the_library(genlaws, drawn):
    answer = ask(genlaws, "digits", *TASK, "--seed", "4")
    expected = advise(drawn.inputs, drawn.labels, is_fact=drawn.is_fact, seed=4)
    arrays = ("parameter", "kernel_angle", "mu_1", "mu_star")
    grids = (
        "regularization",
        "generalization_error",
        "generalization_low",
        "generalization_high",
        "memorization_error",
    )
    for name in (*arrays, *grids):
        assert np.array(answer[name]) == pytest.approx(getattr(expected, name)), name
    for name in CHOICES:
        choice, found = answer[name], getattr(expected, name)
        assert choice["parameter"] == found.parameter
        assert choice["generalization_error"] == vars(found.generalization_error)
        assert choice["nested_generalization_error"] == vars(found.nested_generalization_error)
        assert choice["nested_generalization_error_clipped"] is False
    assert answer["price_of_memory"] == vars(expected.price_of_memory)
    assert answer["inputs"]["name"] == "digits, class 3 against class 8"
    assert (answer["sample_count"], answer["dimension"], answer["inputs"]["seed"]) == (100, 64, 4)
    assert (answer["rule_count"], answer["memory_count"], answer["memory_samples"]) == (80, 20, "facts")
    assert answer["sample_ratio"] == 100 / 64
    assert answer["fact_fraction"] == {"value": 0.2, "low": "nan", "high": "nan", "count": 0, "level": 0.95}
    assert answer["fact_fraction_source"] == "counted"
    assert answer["theory_memory"]["kernel_angle"] == pytest.approx(
        np.arcsin(0.8 * np.sqrt(2 / np.pi)), abs=ANGLE_ACCURACY
    )


def test_the_text_answers_first(genlaws, drawn):
    answer = genlaws("rules-facts", "advise", *TASK, "--seed", "4")
    assert answer.code == 0
    assert "kernels" in answer.err
    lines = answer.out.splitlines()
    found = advise(drawn.inputs, drawn.labels, is_fact=drawn.is_fact, seed=4)
    memory, rule = found.found_memory, found.found_rule
    assert lines[0].startswith(f"To remember, take gaussian:{memory.parameter:.4g} with λ")
    assert lines[0].endswith(f"memorization error {memory.memorization_error:.3f} on 20 facts.")
    assert lines[1].startswith(f"For the rule alone, take gaussian:{rule.parameter:.4g} with λ")
    assert f"generalization error {rule.generalization_error_text}, memorization error" in lines[1]
    assert lines[2].startswith("Memory costs ")
    assert "than chance explains" in lines[2]
    head = next(place for place, line in enumerate(lines) if line.startswith("choice"))
    assert lines[head].split()[:4] == ["choice", "kernel", "λ", "angle"]
    table = lines[head : head + 5]
    # Columns are aligned: that of the angle begins in the same place in every row.
    place = table[0].index("angle")
    assert all(row[place - 2 : place].isspace() and row[place].isdigit() for row in table[1:])
    assert [row.split("  ")[0] for row in table[1:]] == [
        "best found, for memory",
        "best found, for the rule",
        "theory, for memory",
        "theory, for the rule",
    ]
    text = answer.out
    assert "samples n                100; generalization error from 80, memorization error from 20 facts" in text
    assert "share of facts ε         0.2 (the facts are known)" in text
    assert "for Gaussian inputs and a linear rule" in text
    assert "took no part in the choice" in text


@pytest.fixture(scope="module")
def gaussian():
    """Return advice on data that the theory is about, and that it describes."""
    draw = draw_gaussian(100, 3.0, 0.2, test_count=1, seed=0)
    return advise(draw.inputs, draw.labels, is_fact=draw.is_fact, parameters=[0.5])


def test_the_text_says_whether_the_theory_describes_the_data(gaussian):
    assert gaussian.theory_misfits == ()
    text = str(gaussian)
    assert "agrees with these data at its own choices" in text
    assert "theory: generalization  memorization" in text
    worse = Estimate(0.07, 0.03, 0.11)
    for name, what in (("price_of_theory", "the rule"), ("price_of_theory_memory", "memory")):
        text = str(replace(gaussian, **{name: worse}))
        assert "does not describe these data, so its errors are not shown" in text
        assert f"- its choice for {what} breaks the rule more often than cross-validation's, by 0.070 ± 0.040" in text
        assert "theory: generalization" not in text
    far = replace(gaussian.theory_memory, nested_generalization_error=Estimate(0.4, 0.35, 0.45))
    text = str(replace(gaussian, theory_memory=far))
    predicted = f"{far.predicted_generalization_error:.3f}"
    assert (
        f"- at its choice for memory it predicts a generalization error of {predicted}, measured 0.400 ± 0.050" in text
    )
    assert text.count(predicted) == 1


def test_no_prediction_is_shown_for_a_choice_where_it_lies_outside(gaussian):
    far = replace(gaussian.found_rule, nested_generalization_error=Estimate(0.4, 0.35, 0.45))
    advice = replace(gaussian, found_rule=far)
    row = next(line for line in str(advice).splitlines() if line.startswith("best found, for the rule"))
    assert row.split()[-2:] == ["outside", "outside"]
    assert "At another choice its errors lie outside the measured intervals" in str(advice)
    assert "At another choice" not in str(gaussian)


def test_the_price_of_memory_in_words(gaussian):
    words = {
        "no more than chance explains": Estimate(0.0, -0.1, 0.1),
        "more than chance explains": Estimate(0.07, 0.03, 0.11),
        "negative, so remembering helps": Estimate(-0.07, -0.11, -0.03),
    }
    for meaning, price in words.items():
        assert f"of generalization error, {meaning}." in str(replace(gaussian, price_of_memory=price))


def with_coin_flips(data, classes, share=0.2, seed=0):
    """Return two classes as they are stored, with a share of the labels replaced by coin flips."""
    rng, chosen = np.random.default_rng(seed), np.isin(data.target, classes)
    inputs, labels = data.data[chosen], data.target[chosen]
    return inputs, np.where(rng.random(len(labels)) < share, rng.choice(classes, len(labels)), labels)


def test_where_the_theory_fails_the_answer_is_that_of_cross_validation(genlaws, tmp_path: Path):
    inputs, labels = with_coin_flips(load_breast_cancer(), (0, 1))
    np.savez(tmp_path / "tumors.npz", X=inputs, y=labels)
    arguments = (tmp_path / "tumors.npz", "--rule-classes", "0", "1", "--sample-count", "250")
    answer = ask(genlaws, *arguments)
    found, theory = answer["found_rule"], answer["theory_rule"]
    assert found["nested_generalization_error"]["value"] < theory["nested_generalization_error"]["value"] - 0.1
    assert answer["theory_fits"] is False
    assert any("its choice for the rule breaks the rule more often" in one for one in answer["theory_misfits"])
    text = genlaws("rules-facts", "advise", *arguments).out
    assert f"For the rule alone, take gaussian:{found['parameter']:.4g} with λ = " in text
    assert "does not describe these data" in text
    assert "theory: generalization" not in text
    assert answer["memory_samples"] == "contradicted"
    counted = f"{answer['memory_count']} labels that left-out predictions contradict"
    assert f"on {counted}." in text.splitlines()[0]
    assert f"memorization error from {counted}" in text


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.1, "] (clipped at 0)"), (0.5, "generalization error 0 (clipped at 0, with its whole interval)")],
)
def test_a_clipped_error_is_called_so(drawn, share, words):
    rule = ~drawn.is_fact
    advice = advise(drawn.inputs[rule], drawn.labels[rule], fact_fraction=share, parameters=[0.5])
    assert advice.found_rule.nested_generalization_error.value == 0.0
    assert words in str(advice)
    assert "comes out\nbelow zero and is set to 0" in str(advice)
    assert advice.to_dict()["found_rule"]["nested_generalization_error_clipped"] is True
    assert (advice.generalization_error[advice.generalization_clipped] == 0.0).all()
    assert np.array(advice.to_dict()["generalization_clipped"]).any()
    # The share was given, not which labels are facts.
    assert advice.to_dict()["memory_samples"] == "contradicted"
    assert "that left-out predictions contradict" in str(advice)


def test_without_facts_of_its_own_their_share_is_estimated(genlaws):
    arguments = ("--rule-classes", "3", "8", "--sample-count", "150", "--parameters", "0.5,2")
    answer = ask(genlaws, *arguments)
    assert answer["fact_fraction_source"] == "estimated"
    share = answer["fact_fraction"]
    assert share["low"] <= share["value"] <= share["high"] < 0.2
    assert answer["rule_count"] == 150
    text = genlaws("rules-facts", "advise", *arguments).out
    assert "estimated from the confidence" in text
    assert "counts as a fact and is included in ε" in text


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
    answer = ask(genlaws, tmp_path / "table.csv", *options, "--sample-ratio", "12", "--normalize")
    assert (answer["loss"], answer["sample_count"]) == ("hinge", 36)
    assert (answer["inputs"]["folds"], answer["inputs"]["normalize"]) == (3, True)
    text = genlaws("rules-facts", "advise", tmp_path / "table.csv", *options, "--sample-ratio", "12")
    assert "rad; the nearest tried is" in text.out


def test_out_writes_answer_table_and_picture(genlaws, tmp_path: Path):
    folder = tmp_path / "new"
    answer = ask(genlaws, *TASK, "--out", folder)
    names = ["advice.csv", "advice.pdf", "advice.png", "advice.txt", "report.html", "result.csv", "result.json"]
    assert sorted(file.name for file in folder.iterdir()) == names
    assert json.loads((folder / "result.json").read_text(encoding="utf-8")) == answer
    table = pd.read_csv(folder / "advice.csv")
    # Digits are not Gaussian, and the theory that does not describe them is not drawn.
    assert set(table["series"]) == {"measured_zero", "measured_best", "measured_path", *CHOICES}
    measured = table[table["series"] == "measured_zero"]
    assert measured["parameter"].to_numpy() == pytest.approx(answer["parameter"])
    assert measured["generalization_error"].to_numpy() == pytest.approx(
        [row[0] for row in answer["generalization_error"]]
    )
    best = table[table["series"] == "measured_best"]
    assert (best["generalization_error"].to_numpy() <= measured["generalization_error"].to_numpy()).all()
    paths = table[table["series"] == "measured_path"]
    chosen = {answer[name]["parameter"] for name in CHOICES}
    assert set(paths["parameter"]) == chosen
    assert (paths["memorization_low"] <= paths["memorization_error"]).all()
    caption = (folder / "advice.txt").read_text(encoding="utf-8")
    assert "The memorization error is that on 20 facts." in caption
    assert f"is not drawn: it does not describe these data, because {answer['theory_misfits'][0]}" in caption
    assert (folder / "advice.pdf").read_bytes().startswith(b"%PDF-")
    assert (folder / "advice.png").stat().st_size > 5000
    again = genlaws("rules-facts", "advise", *TASK, "--out", folder)
    assert f"Written to {folder / 'advice.png'}" in again.out


def test_the_theory_is_drawn_where_it_describes_the_data(gaussian):
    table = advice_table(gaussian)
    theory = table[table["series"] == "theory_zero"]
    at = np.interp(np.log(gaussian.parameter), np.log(theory["parameter"]), theory["generalization_error"])
    assert at == pytest.approx(gaussian.predicted_at_zero, abs=1e-3)
    chosen = {getattr(gaussian, name).parameter for name in CHOICES}
    assert set(table.loc[table["series"] == "theory_path", "parameter"]) == chosen
    # Contradicted labels are not facts, so no theory of facts is compared with their memory.
    hidden = advice_table(replace(gaussian, memory_samples="contradicted"))
    assert set(table["series"]) - set(hidden["series"]) == {"theory_path"}
    assert draw_advice(hidden, "title", "gaussian", "contradicted").axes[1].get_ylabel().endswith("contradicted labels")


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
        (("file", "--rule-classes", "0", "1"), "a folder with CIFAR-10's batches"),
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
        ((*TASK, "--family", "geometric"), "needs inputs of squared length d; use normalize"),
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
