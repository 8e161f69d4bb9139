"""``genlaws semanticity fit-choices``: the library's numbers, its sentences, and its files."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genlaws.semanticity.choices.fit import fit_choices, trials_to_distinguish
from genlaws.semanticity.choices.model import ChoiceModel, simulate_choices
from genlaws.semanticity.choices.trials import Trials, read_trials
from project_paths import ROOT

NAMES = ("circle", "square", "star", "triangle")
COMMAND = ("semanticity", "fit-choices")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wide table of 150 trials of a planted chooser; every fifteenth answer is lost."""
    rng = np.random.default_rng(7)
    distances = np.round(np.exp(rng.uniform(0, 5, (150, 4))), 1)
    names = [rng.permutation(NAMES).tolist() for _ in range(150)]
    chooser = ChoiceModel("exponential", 20.0, 0.02, lapse=0.05, offsets={**dict.fromkeys(NAMES, 0.0), "triangle": 1.0})
    chosen = simulate_choices(Trials.from_lists(distances, options=names), chooser, rng).chosen
    file = tmp_path_factory.mktemp("choices") / "trials.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow([f"{kind}_{i}" for kind in ("distance", "option") for i in range(1, 5)] + ["chosen", "model"])
        for t, (row, shown, choice) in enumerate(zip(distances, names, chosen, strict=True)):
            writer.writerow([*row, *shown, "unparsed" if t % 15 == 0 else shown[choice], "small"])
    return file


def result_of(answer):
    """Return the result that a command printed, without how its trials were given."""
    assert answer.code == 0, answer.err
    return answer.json["result"]


def test_one_shape_gives_the_numbers_of_the_library(genlaws, table):
    answer = genlaws(*COMMAND, str(table), "--shape", "exponential", "--json")
    assert answer.err == ""
    found = result_of(answer)
    assert found == fit_choices(read_trials(table), shape="exponential").to_dict()
    assert (found["trial_count"], found["parsed_count"], found["unparsed_count"]) == (150, 140, 10)
    assert found["unused_columns"] == ["model"]
    assert found["comparison"] is None
    assert found["power_analysis"] is None


def test_all_shapes_are_compared_and_the_best_reported(genlaws, table, tmp_path):
    out = tmp_path / "deep" / "folder"
    found = result_of(genlaws(*COMMAND, str(table), "--folds", "2", "--seed", "3", "--json", "--out", str(out)))
    trials = read_trials(table)
    expected = fit_choices(trials, folds=2, seed=3)
    assert {**found, "inputs": {}} == {**expected.to_dict(), "inputs": {}}
    assert found["comparison"]["shapes"] == list(expected.comparison.shapes)
    assert found["shape"] == expected.comparison.best
    alone = fit_choices(trials, shape=expected.shape, intervals="none")
    assert found["resolution"]["value"] == alone.resolution.value
    assert json.loads((out / "result.json").read_text(encoding="utf-8")) == found
    parameters = pd.read_csv(out / "parameters.csv").set_index("parameter")
    assert parameters.loc["resolution", "value"] == pytest.approx(found["resolution"]["value"])
    assert pd.read_csv(out / "shapes.csv")["shape"].tolist() == list(expected.comparison.shapes)
    assert {"similarity.png", "shapes.pdf", "report.html"} <= {path.name for path in out.iterdir()}


def test_the_text_answers_first_and_hides_nothing(genlaws, table):
    answer = genlaws(*COMMAND, str(table), "--folds", "2", "--distinguish", "exponential,gaussian")
    assert answer.code == 0
    first, *rest = answer.out.splitlines()
    assert first.startswith("resolution ")
    assert "95 % interval" in first
    assert "140 trials, 10 more unparsed" in first
    text = "\n".join(rest)
    assert all(shape in text for shape in ("constant", "linear", "exponential", "gaussian", "power-law"))
    assert "10 of 150 answers could not be read (6.7 %, 95 % interval 3.7 %" in text
    assert "Columns not used: model." in text
    assert "offset[triangle]" in text
    assert "trials distinguish exponential from gaussian" in text
    assert "The maximum was found." in text


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("--offsets", "none"), {"offsets": None}),
        (("--lapse", "0"), {"lapse": 0.0}),
        (("--background", "0"), {"background": 0.0}),
        (("--resolution", "20"), {"resolution": 20.0}),
        (("--position-effects", "fit"), {"position_effects": "fit"}),
        (("--temperature", "fit"), {"temperature": "fit"}),
        (("--intervals", "all"), {"intervals": "all"}),
        (("--intervals", "lapse,offset[star]"), {"intervals": ("lapse", "offset[star]")}),
    ],
)
def test_every_part_can_be_switched(genlaws, table, arguments, options):
    found = result_of(genlaws(*COMMAND, str(table), "--shape", "gaussian", *arguments, "--json"))
    expected = fit_choices(read_trials(table), shape="gaussian", **options).to_dict()
    assert {**found, "inputs": {}} == {**expected, "inputs": {}}


@pytest.mark.parametrize("exponent", ["1.5", "fit"])
def test_the_exponent_of_the_power_law(genlaws, table, exponent):
    found = result_of(genlaws(*COMMAND, str(table), "--shape", "power-law", "--exponent", exponent, "--json"))
    wanted = exponent if exponent == "fit" else float(exponent)
    expected = fit_choices(read_trials(table), shape="power-law", exponent=wanted)
    assert found["exponent"]["value"] == expected.exponent.value


def test_a_temperature_requested_with_all_shapes_spares_those_that_have_none(genlaws, table):
    options = ("--temperature", "fit", "--background", "0", "--folds", "2")
    found = result_of(genlaws(*COMMAND, str(table), *options, "--json"))
    assert set(found["comparison"]["shapes"]) == {"constant", "linear", "exponential", "gaussian", "power-law"}


def test_the_power_analysis_is_that_of_the_library(genlaws, table):
    options = ("--shape", "linear", "--distinguish", "exponential,gaussian")
    found = result_of(genlaws(*COMMAND, str(table), *options, "--json"))["power_analysis"]
    expected = trials_to_distinguish(read_trials(table), truth="exponential", alternative="gaussian")
    assert found["trial_count"] == expected.trial_count
    assert found["truth"]["shape"] == "exponential"
    assert found["alternative"]["resolution"] == expected.alternative.resolution


def test_positions_on_a_circle_need_their_period(genlaws, tmp_path):
    file = tmp_path / "hues.csv"
    rng = np.random.default_rng(0)
    rows = [
        f"{int(p)},{int(a)},{int(b)},{int(c)}"
        for p, a, b, c in zip(*rng.integers(0, 360, (3, 40)), rng.integers(1, 3, 40), strict=True)
    ]
    file.write_text("probe,item_1,item_2,chosen\n" + "\n".join(rows) + "\n", encoding="utf-8")
    arguments = (*COMMAND, str(file), "--shape", "gaussian", "--lapse", "0", "--json", "--metric", "circle")
    answer = genlaws(*arguments, "--period", "360")
    trials = read_trials(file, metric="circle", period=360.0)
    assert result_of(answer)["log_likelihood"] == fit_choices(trials, shape="gaussian", lapse=0.0).log_likelihood
    assert trials.distances.max() <= 180
    assert genlaws(*arguments).code == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--shape", "cubic"), "shape must be one of"),
        (("--exponent", "two"), "exponent must be a number; got 'two'"),
        (("--distinguish", "exponential"), "distinguish must name two shapes"),
        (("--distinguish", "exponential,cubic"), "distinguish must be one of"),
        (("--folds", "1"), "folds must be a whole number"),
        (("--shape", "constant", "--temperature", "fit"), "temperature cannot be fitted here"),
        (("--metric", "circle"), "'circle' needs one"),
    ],
)
def test_wrong_options_are_one_sentence(genlaws, table, arguments, sentence):
    answer = genlaws(*COMMAND, str(table), *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert sentence in answer.err
    assert len(answer.err.splitlines()) == 1


def test_a_bad_row_is_named(genlaws, table, tmp_path):
    lines = table.read_text(encoding="utf-8").splitlines()
    lines[41] = lines[41].replace(lines[41].split(",")[1], "near", 1)
    file = tmp_path / "bad.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    answer = genlaws(*COMMAND, str(file), "--json")
    assert answer.code == 2
    assert answer.out == ""
    assert "Line 42, column distance_2" in answer.err
    assert "'near'" in answer.err


def test_a_missing_file_is_said_to_be_missing(genlaws, tmp_path):
    answer = genlaws(*COMMAND, str(tmp_path / "nothing.csv"))
    assert answer.code == 2
    assert "nothing.csv" in answer.err


def test_a_fit_that_fails_is_exit_code_1(genlaws, tmp_path, monkeypatch):
    file = tmp_path / "few.csv"
    file.write_text("distance_1,distance_2,chosen\n" + "1,9,1\n3,4,2\n" * 10, encoding="utf-8")
    monkeypatch.setattr("genlaws.semanticity.choices.fit.MAX_RESIDUAL", -1.0)
    answer = genlaws(*COMMAND, str(file), "--shape", "exponential", "--json")
    assert answer.code == 1
    assert answer.json["result"]["converged"] is False
    assert "could not be fitted" in answer.err


def test_the_help_explains_the_columns(genlaws):
    answer = genlaws(*COMMAND, "--help")
    assert answer.code == 0
    plain = " ".join(answer.out.replace("│", " ").split())
    assert "one row per option: trial, distance (or probe and item)" in plain
    assert "unparsed" in plain


def test_the_example_of_the_documentation_is_true(genlaws, tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "choices.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"```(python|text|console)\n(.*?)```", page, flags=re.DOTALL))
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks["python"], "choices.md", "exec"), {})
    assert capsys.readouterr().out == blocks["text"]
    command, _, printed = blocks["console"].partition("\n")
    answer = genlaws(*command.removeprefix("$ genlaws ").split())
    # The residual is rounding, which another machine may round otherwise.
    assert re.sub("Residual .*", "", answer.out) == re.sub("Residual .*", "", printed)


def test_a_chooser_who_is_always_right_gets_the_limit(genlaws, tmp_path):
    shown = np.random.default_rng(0).uniform(1, 100, (30, 3)).round(1)
    file = tmp_path / "perfect.csv"
    rows = [",".join(map(str, [*row, row.argmin() + 1])) for row in shown]
    file.write_text("distance_1,distance_2,distance_3,chosen\n" + "\n".join(rows) + "\n", encoding="utf-8")
    answer = genlaws(*COMMAND, str(file), "--shape", "exponential")
    assert answer.code == 0
    high = fit_choices(read_trials(file), shape="exponential").resolution.high
    assert answer.out.startswith(f"resolution below {high:.4g} (95 % interval; 30 trials)\n")
    assert f"resolution  no best value  [0, {high:.4g}]" in answer.out
    assert "There is no best resolution, only an upper limit" in answer.out
