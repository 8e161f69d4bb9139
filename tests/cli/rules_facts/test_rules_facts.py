"""``genlaws rules-facts``: right input gives the library's numbers, wrong input one sentence and exit code 2."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genlaws import rules_facts
from genlaws.cli import run

SOLUTION_KEYS = {
    "generalization_error",
    "memorization_error",
    "teacher_overlap",
    "self_overlap",
    "response",
    "converged",
    "residual",
    "iterations",
    "regularization",
}
TASK = ("--sample-ratio", "10", "--fact-fraction", "0.2")


def test_solve_prints_the_same_numbers_as_the_library(genlaws):
    answer = genlaws("rules-facts", "solve", "--loss", "hinge", *TASK, "--kernel-angle", "0.69", "--json")
    expected = rules_facts.solve(
        "hinge", sample_ratio=10.0, fact_fraction=0.2, kernel=rules_facts.Kernel.from_angle(0.69)
    )
    assert answer.code == 0
    assert answer.json == {"result": expected.to_dict(), "files": []}
    assert set(answer.json["result"]) >= SOLUTION_KEYS
    assert answer.err == ""


@pytest.mark.parametrize(
    ("options", "kernel"),
    [
        ((), rules_facts.Kernel.linear()),
        (("--kernel", "relu"), rules_facts.Kernel.from_name("relu")),
        (("--kernel", "gaussian:0.5"), rules_facts.Kernel.from_name("gaussian:0.5")),
        (("--kernel", "ntk-relu:3"), rules_facts.Kernel.network(3, "relu", "ntk")),
        (("--kernel-angle", "0.4"), rules_facts.Kernel.from_angle(0.4)),
        (("--mu-1", "0.3", "--mu-star", "0.8"), rules_facts.Kernel(0.3, 0.8)),
    ],
)
def test_every_way_to_name_a_kernel(genlaws, options, kernel):
    answer = genlaws("rules-facts", "solve", *TASK, *options, "--regularization", "0.1", "--json")
    expected = rules_facts.solve("square", sample_ratio=10, fact_fraction=0.2, kernel=kernel, regularization=0.1)
    assert answer.code == 0
    assert answer.json["result"]["generalization_error"] == expected.generalization_error


def test_several_values_give_a_table_over_all_combinations(genlaws, tmp_path: Path):
    out = tmp_path / "deep" / "folder"
    arguments = ["rules-facts", "solve", "--sample-ratio", "2,10", "--fact-fraction", "0.1:0.3:3", "--kernel-angle"]
    arguments += ["0.5,1.2", "--regularization", "0.01:1:2:log", "--width-ratio", "3", "--json", "--out", str(out)]
    answer = genlaws(*arguments)
    assert answer.code == 0
    assert len(answer.json["result"]["generalization_error"]) == 2 * 3 * 2 * 2
    table = pd.read_csv(out / "result.csv")
    row = table.iloc[17]
    expected = rules_facts.solve(
        sample_ratio=row.sample_ratio,
        fact_fraction=row.fact_fraction,
        kernel=rules_facts.Kernel.from_angle(row.kernel_angle),
        regularization=row.regularization,
        width_ratio=row.width_ratio,
    )
    assert row.generalization_error == pytest.approx(expected.generalization_error, rel=1e-12)
    assert json.loads((out / "result.json").read_text()) == answer.json["result"]
    assert answer.json["files"] == [str(out / name) for name in ("result.json", "result.csv", "report.html")]


def test_text_answers_first_and_then_explains(genlaws):
    answer = genlaws("rules-facts", "solve", *TASK, "--kernel", "relu", "--regularization", "0")
    assert answer.code == 0
    assert answer.out.splitlines()[0].split() == ["generalization", "error", "0.121260"]
    assert "breaks the rule 12.1% of the time" in answer.out


def test_infinite_numbers_are_texts_in_json(genlaws):
    answer = genlaws("rules-facts", "solve", *TASK, "--kernel", "relu", "--regularization", "0", "--json")
    assert answer.json["result"]["response"] == "inf"
    assert "Infinity" not in answer.out
    assert "NaN" not in answer.out


def test_bayes(genlaws):
    answer = genlaws("rules-facts", "bayes", *TASK, "--json")
    assert answer.json["result"]["generalization_error"] == pytest.approx(0.0853, abs=5e-5)
    assert "No learner does better" in genlaws("rules-facts", "bayes", *TASK).out


def test_threshold(genlaws):
    def threshold(*options):
        return genlaws("rules-facts", "threshold", "--fact-fraction", *options, "--json").json["result"]["sample_ratio"]

    assert threshold("0.2") == pytest.approx(2.9923, abs=5e-5)
    assert threshold("0.2", "--loss", "square") == 1.0
    assert threshold("0.2", "--kernel", "relu") == "inf"
    assert threshold("1", "--kernel", "erf", "--width-ratio", "2") == pytest.approx(4.0)
    assert (
        "any number of labels" in genlaws("rules-facts", "threshold", "--fact-fraction", "0.2", "--kernel", "relu").out
    )


def test_kernel(genlaws):
    answer = genlaws("rules-facts", "kernel", "--kernel", "relu", "--json").json["result"]
    assert answer["mu_1"] == pytest.approx(0.5)
    assert answer["mu_star"] == pytest.approx(math.sqrt(0.25 - 1 / (2 * math.pi)))
    assert answer["kernel_angle"] == pytest.approx(math.atan2(answer["mu_1"], answer["mu_star"]))
    found = genlaws("rules-facts", "kernel", "--kernel-angle", "0.7", "--family", "gaussian", "--json").json["result"]
    again = genlaws("rules-facts", "kernel", "--kernel", f"gaussian:{found['parameter']!r}", "--json").json["result"]
    assert again["kernel_angle"] == pytest.approx(0.7, rel=1e-12)


KERNELS = {
    "default": (),
    "linear": ("--kernel", "linear"),
    "relu": ("--kernel", "relu"),
    "angles": ("--kernel-angle", "0.3,0.7"),
    "sizes": ("--mu-1", "0.5,0.6", "--mu-star", "0.4"),
}
SHARES = ("0.2", "0,0.3")
WIDTHS = ((), ("--width-ratio", "3"))
# Every command, with one number and with several, on linear and on other kernels.
COMMANDS = [
    *(
        ("solve", "--sample-ratio", "2", "--fact-fraction", share, "--regularization", ridge, *kernel)
        for share, ridge, kernel in itertools.product(SHARES, ("0.1", "0,inf"), KERNELS.values())
    ),
    *(("bayes", "--sample-ratio", ratio, "--fact-fraction", share) for ratio in ("2", "1,2") for share in SHARES),
    *(
        ("threshold", "--fact-fraction", share, *kernel, *width)
        for share, kernel, width in itertools.product(SHARES, KERNELS.values(), WIDTHS)
    ),
    *(
        ("kernel", *kernel, *family)
        for kernel, family in itertools.product(list(KERNELS.values())[1:], ((), ("--family", "quadratic")))
    ),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_every_answer_is_written_as_it_is_printed(genlaws, tmp_path: Path, arguments):
    printed = genlaws("rules-facts", *arguments, "--json", "--out", tmp_path)
    assert printed.code == 0, printed.err
    result = printed.json["result"]
    assert json.loads((tmp_path / "result.json").read_text()) == result
    table = pd.read_csv(tmp_path / "result.csv")
    for name in set(result) & set(table):
        rows = result[name] if isinstance(result[name], list) else [result[name]] * len(table)
        numbers = [float(one) if one in ("inf", "nan") else one for one in rows]
        assert table[name].tolist() == numbers, name
    assert set(result) - set(table) <= {"schema", "question", "inputs", "parameter"}


WRONG = [
    (("solve", "--sample-ratio", "10", "--fact-fraction", "1.5"), "fact_fraction must lie in [0, 1]; got 1.5."),
    (("solve", "--sample-ratio", "-1", "--fact-fraction", "0.5"), "sample_ratio must be positive"),
    (("solve", "--sample-ratio", "0", "--fact-fraction", "0.5"), "sample_ratio must be positive"),
    (("solve", "--sample-ratio", "nan", "--fact-fraction", "0.5"), "sample_ratio must not contain NaN"),
    (("solve", "--sample-ratio", "ten", "--fact-fraction", "0.5"), "sample_ratio must be a number; got 'ten'"),
    (("solve", "--sample-ratio", "1:2", "--fact-fraction", "0.5"), "sample_ratio must be a number or a range"),
    (("solve", "--sample-ratio", "1:2:0", "--fact-fraction", "0.5"), "whole number from 1"),
    (("solve", "--sample-ratio", "0:2:5:log", "--fact-fraction", "0.5"), "must be positive; got '0:2:5:log'"),
    (("solve", *TASK, "--loss", "hings"), "loss must be one of square, hinge"),
    (("solve", *TASK, "--regularization", "-1"), "regularization must be zero, positive or infinite; got -1."),
    (("solve", *TASK, "--regularization", "best"), "regularization must be a number"),
    (("solve", *TASK, "--width-ratio", "0"), "width_ratio must be positive"),
    (("solve", *TASK, "--kernel", "rele"), "kernel must be one of linear"),
    (("solve", *TASK, "--kernel", "gaussian"), "gaussian:1.5"),
    (("solve", *TASK, "--kernel-angle", "2"), "angle must lie in"),
    (("solve", *TASK, "--kernel-angle", "0.5", "--kernel", "relu"), "kernel must be given in one way only"),
    (("solve", *TASK, "--mu-1", "0.5"), "mu_1 and mu_star must be given together"),
    (("solve", *TASK, "--seed", "1"), "--seed"),
    (("solve", *TASK, "--no-such-option", "1"), "--no-such-option"),
    (("solve", "--sample-ratio", "10"), "fact-fraction"),
    (("bayes", "--sample-ratio", "10", "--fact-fraction", "-0.1"), "fact_fraction must lie in [0, 1]"),
    (("threshold", "--fact-fraction", "2"), "fact_fraction must lie in [0, 1]"),
    (("threshold", "--fact-fraction", "0.2", "--loss", "no"), "loss must be one of"),
    (("kernel",), "kernel must be given"),
    (("kernel", "--kernel-angle", "0.5", "--family", "relu"), "relu"),
    (("slove",), "slove"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG)
def test_wrong_input_gives_one_sentence_and_exit_code_two(genlaws, arguments, sentence):
    answer = genlaws("rules-facts", *arguments, "--json")
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("genlaws: ")
    assert sentence in answer.err
    assert "Traceback" not in answer.err
    assert answer.err.count("\n") == 1


NUMBER = st.one_of(st.floats(allow_nan=True, allow_infinity=True).map(repr), st.text(min_size=1, max_size=8))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    option=st.sampled_from(
        ["--sample-ratio", "--fact-fraction", "--kernel-angle", "--width-ratio", "--regularization"]
    ),
    text=NUMBER,
)
def test_any_text_in_any_option_is_answered_or_refused(option, text, capsys):
    options = {"--sample-ratio": "2", "--fact-fraction": "0.3", "--regularization": "0.1", "--kernel-angle": "0.7"}
    options[option] = text
    code = run(["rules-facts", "solve", *(part for pair in options.items() for part in pair), "--json"])
    captured = capsys.readouterr()
    assert code in (0, 1, 2)
    assert "Traceback" not in captured.err
    if code == 0:
        document = json.loads(captured.out)
        assert np.all(np.asarray(document["result"]["generalization_error"], dtype=float) <= 0.5)
    else:
        assert captured.out == ""
        assert captured.err.startswith("genlaws: ")


def test_a_point_that_cannot_be_solved_is_exit_code_one(genlaws):
    arguments = ("--sample-ratio", "2000", "--fact-fraction", "0", "--regularization", "1e-25")
    answer = genlaws("rules-facts", "solve", "--loss", "hinge", *arguments, "--json")
    assert answer.code == 1
    assert answer.out == ""
    assert "not solved: residual" in answer.err


def test_an_unwritable_folder_is_exit_code_one(genlaws, tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    answer = genlaws("rules-facts", "bayes", *TASK, "--out", str(blocked / "folder"))
    assert answer.code == 1
    assert "file" in answer.err


def test_the_installed_command_starts_without_heavy_parts():
    program = (
        "import sys; from genlaws.cli import run; code = run(['--help']); "
        "print(code, [m for m in ('numpy', 'scipy', 'pandas', 'matplotlib', 'pydantic') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "0 []"


def test_the_installed_command_pipes_json_and_closes_quietly():
    command = Path(sys.executable).with_name("genlaws")
    arguments = [str(command), "rules-facts", "bayes", *TASK, "--json"]
    answer = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout)["result"]["converged"] is True
    assert answer.stderr == ""
