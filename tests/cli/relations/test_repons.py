"""``genlaws relations repons``: the laws by their options, tables, simulation, the picture, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from genlaws.relations import merging_probability

RATES = ("--encoder-rate", "1e-3", "--decoder-rate", "1e-3")
EXACT = 1e-12


def ask(genlaws, *arguments):
    answer = genlaws("relations", "repons", *arguments, "--json")
    assert answer.code == 0, answer.err
    return answer.json["result"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), 2 / math.pi * math.atan(math.sqrt(1 / 2))),
        (("--cluster", "3"), 2 / math.pi * math.atan(math.sqrt(1 / 3))),
        (("--cluster", "inf"), 2 / math.pi * math.atan(1 / 2)),
        (("--encoder-scale-of", "repon"), 0.5),
        (("--encoder-scale", "2", "--decoder-scale", "4"), 2 / math.pi * math.atan(2 * math.sqrt(1 / 2))),
        (("--dimension", "2", "--outputs", "5"), 5 / 9),
        (("--dimension", "2"), 0.0),
        (("--class-size", "2"), 0.5),
        (("--class-size", "2", "--encoder-scale-of", "half-separation"), 2 / math.pi * math.atan(math.sqrt(1 / 2))),
        (("--class-size", "3"), 1 - math.sqrt(0.5)),
        (("--update", "sign"), 0.5),
        (("--update", "sign", "--encoder-scale-of", "repon"), 2 / math.pi * math.atan(math.sqrt(2))),
        (("--update", "sign", "--class-size", "2"), 2 / math.pi * math.atan(math.sqrt(2))),
    ],
)
def test_laws(genlaws, options, expected):
    answer = ask(genlaws, *RATES, *options)
    assert answer["collision_probability"] == pytest.approx(expected, abs=EXACT)
    assert answer["rate_ratio"] == 1.0
    assert answer["simulated"] is None


def test_the_answer_explains_itself(genlaws):
    answer = ask(genlaws, "--encoder-rate", "2e-3", "--decoder-rate", "1e-3", "--seed", "5")
    assert answer["law"] == "pair, Eq. 12"
    assert answer["conserved"].startswith("A^T A / (2 decoder_rate) - r r^T / encoder_rate")
    assert answer["condition"] == "They merge if half their separation starts below 1 times the decoder's gain."
    assert answer["boundary_slope"] == pytest.approx(1.0)
    assert answer["case"]["encoder_scale_of"] == "half-separation"
    assert answer["inputs"]["seed"] == 5
    sign = ask(genlaws, *RATES, "--update", "sign", "--outputs", "2")
    assert sign["conserved"] is None
    assert "vanishes before the largest gain" in sign["condition"]
    whole = ask(genlaws, *RATES, "--class-size", "4")
    assert whole["law"].startswith("class")
    assert whole["condition"] == "They merge if the conserved matrix has no negative eigenvalue."


def test_text_gives_the_number_first(genlaws):
    answer = genlaws("relations", "repons", *RATES)
    lines = answer.out.splitlines()
    assert lines[0].split() == ["collision", "probability", "0.391827"]
    assert "From random starts two representations of one class merge 39.2% of the time" in answer.out
    assert "starts below 0.707107 times the decoder's gain" in answer.out
    assert lines[-1] == "Exact for a linear decoder whose bias is at its best value; it is no bound on a network."
    blind = genlaws("relations", "repons", *RATES, "--dimension", "3", "--outputs", "2")
    assert "blind to a direction" in blind.out
    many = genlaws("relations", "repons", *RATES, "--cluster", "inf", "--outputs", "2")
    assert "infinitely many coincident ones" in many.out
    assert "all 4 representations of a class" in genlaws("relations", "repons", *RATES, "--class-size", "4").out


def test_several_rates_make_a_table(genlaws):
    rates = ("--encoder-rate", "1e-3:1e-1:3:log", "--decoder-rate", "1e-3,1e-2")
    answer = ask(genlaws, *rates)
    assert answer["encoder_rate"] == pytest.approx([1e-3, 1e-3, 1e-2, 1e-2, 1e-1, 1e-1])
    assert answer["decoder_rate"] == pytest.approx([1e-3, 1e-2] * 3)
    expected = [2 / math.pi * math.atan(math.sqrt(ratio / 2)) for ratio in answer["rate_ratio"]]
    assert answer["collision_probability"] == pytest.approx(expected)
    text = genlaws("relations", "repons", *rates)
    assert len(text.out.splitlines()) == 10
    assert "encoder_scale is the width of half the separation" in " ".join(text.out.split())
    assert "below boundary_slope times" in text.out


@pytest.mark.parametrize(
    "options",
    [(), ("--cluster", "4"), ("--dimension", "2", "--outputs", "4"), ("--class-size", "3"), ("--update", "sign")],
)
def test_simulation_agrees_with_the_law(genlaws, options):
    answer = ask(genlaws, *RATES, *options, "--simulate", "600", "--seed", "3")
    found, law = answer["simulated"], answer["collision_probability"]
    assert found["low"] < found["value"] < found["high"]
    assert abs(found["value"] - law) < 5 * math.sqrt(law * (1 - law) / 600)
    assert found["count"] == 600
    assert answer["unsettled_draws"] <= 6
    assert answer == ask(genlaws, *RATES, *options, "--simulate", "600", "--seed", "3")


def test_without_a_law_the_simulated_share_is_the_answer(genlaws):
    options = ("--update", "sign", "--dimension", "2", "--outputs", "2", "--simulate", "200")
    answer = ask(genlaws, *RATES, *options)
    assert answer["collision_probability"] == answer["simulated"]["value"]
    assert answer["law"] == "none: simulated"
    text = genlaws("relations", "repons", *RATES, *options).out
    assert (
        "There is no law for sign updates in more than one dimension: the probability is the simulated share." in text
    )
    assert "Exact" not in text
    table = genlaws("relations", "repons", "--encoder-rate", "1,2", "--decoder-rate", "1", *options).out
    assert "the probability is the simulated share" in table


def test_out_writes_answer_and_plane(genlaws, tmp_path: Path):
    pair = (*RATES, "--encoder-scale-of", "repon", "--cluster", "2")
    answer = ask(genlaws, *pair, "--out", tmp_path / "pair")
    names = {file.name for file in (tmp_path / "pair").iterdir()}
    assert names == {"result.json", "result.csv", "plane.png", "plane.pdf", "report.html"}
    table = (tmp_path / "pair" / "result.csv").read_text().splitlines()
    row = dict(zip(table[0].split(","), table[1].split(","), strict=True))
    assert float(row["collision_probability"]) == pytest.approx(answer["collision_probability"], rel=1e-9)
    ask(genlaws, *RATES, "--class-size", "3", "--out", tmp_path / "class")
    assert {file.name for file in (tmp_path / "class").iterdir()} == {"result.json", "result.csv", "report.html"}


def test_the_plane_has_the_probability_of_the_answer():
    given = {"encoder_rate": 1e-3, "decoder_rate": 1e-3, "encoder_scale_of": "repon", "cluster": 2}
    found = merging_probability(**given)
    title = found.plot().axes[0].get_title()
    assert f"{found.collision_probability:.3g} of starts merge" in title
    assert "one against 2" in title


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--encoder-rate", "0", "--decoder-rate", "1"), "encoder_rate must be positive"),
        (("--encoder-rate", "fast", "--decoder-rate", "1"), "encoder_rate must be a number; got 'fast'"),
        (("--encoder-rate", "1", "--decoder-rate", "nan"), "decoder_rate must not contain NaN"),
        (("--encoder-rate", "1"), "--decoder-rate"),
        ((*RATES, "--encoder-scale", "-1"), "encoder_scale must be positive"),
        ((*RATES, "--encoder-scale-of", "both"), "encoder_scale_of must be one of half-separation, repon"),
        ((*RATES, "--dimension", "0"), "dimension must be a whole number, at least 1"),
        ((*RATES, "--outputs", "0"), "outputs must be a whole number"),
        ((*RATES, "--cluster", "0.5"), "cluster must lie in [1, inf]"),
        ((*RATES, "--cluster", "nan"), "cluster must not contain NaN"),
        ((*RATES, "--update", "adam"), "update must be one of flow, sign"),
        ((*RATES, "--class-size", "1"), "class_size must be a whole number, at least 2"),
        ((*RATES, "--class-size", "3", "--cluster", "2"), "give only one of them"),
        ((*RATES, "--update", "sign", "--dimension", "2"), "simulate must be given, such as 2000"),
        ((*RATES, "--simulate", "0"), "simulate must be a whole number, at least 1"),
        ((*RATES, "--simulate", "10", "--cluster", "inf"), "cluster must be finite to be simulated"),
        ((*RATES, "--simulate", "1000000", "--dimension", "9", "--outputs", "9"), "Use fewer draws"),
        ((*RATES, "--simulate", "10", "--seed", "-1"), "seed must be a whole number"),
        (("--encoder-rate", "1:2:200", "--decoder-rate", "1:2:200"), "at most 10,000 combinations"),
    ],
)
def test_wrong_input_is_answered_in_one_sentence(genlaws, tmp_path: Path, arguments, complaint):
    answer = genlaws("relations", "repons", *arguments, "--out", tmp_path / "none")
    assert answer.code == 2
    assert complaint in answer.err
    assert len(answer.err.splitlines()) == 1
    assert answer.out == ""
    assert not (tmp_path / "none").exists()
