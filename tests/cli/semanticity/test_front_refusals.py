"""``genlaws semanticity front``: wrong input is answered with one sentence and exit code 2, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genlaws.cli import run

MASS = ("--ball-mass", "0.5")


@pytest.fixture
def matrix(tmp_path: Path):
    """Seven points of a ring of nine places."""
    places = np.array([0, 1, 2, 4, 5, 7, 8])
    steps = np.abs(places[:, None] - places)
    np.save(tmp_path / "distances.npy", np.minimum(steps, 9 - steps) / 9.0)
    return str(tmp_path / "distances.npy")


WRONG = [
    (("--ball-mass", "1.5"), "ball_mass must lie in (0, 1]; got 1.5. It is a share of the space, not a radius."),
    (("--ball-mass", "0"), "ball_mass must lie in (0, 1]"),
    (("--ball-mass", "nan"), "ball_mass must not contain NaN"),
    (("--ball-mass", "half"), "ball_mass must be a number; got 'half'"),
    (("--resolution", "-0.1"), "resolution must be positive and finite; got -0.1."),
    (("--resolution", "inf"), "resolution must be positive and finite"),
    ((*MASS, "--resolution", "0.1"), "ball_mass and resolution determine each other; give only one of them"),
    ((), "ball_mass or resolution must be given"),
    ((*MASS, "--space", "square"), "space must be one of circle, segment, torus"),
    ((*MASS, "--similarity", "cubic"), "similarity must be one of constant, linear"),
    ((*MASS, "--background", "-0.1"), "background must be zero or positive"),
    ((*MASS, "--background", "1.5"), "background of the constant similarity must lie in [0, 1]"),
    ((*MASS, "--items", "1"), "items must be whole numbers from 2 to 1,000,000; got '1'."),
    ((*MASS, "--items", "2.5"), "items must be whole numbers"),
    ((*MASS, "--items", "inf"), "items must be whole numbers"),
    ((*MASS, "--dimension", "2"), "dimension is no parameter of the circle"),
    ((*MASS, "--space", "hypercube", "--depth", "2"), "depth is no parameter of the hypercube"),
    ((*MASS, "--space", "hypercube", "--dimension", "10"), "0.376953 and 0.623047"),
    ((*MASS, "--exponent", "2"), "exponent belongs to the power-law"),
    ((*MASS, "--cut", "0"), "cut must be positive"),
    ((*MASS, "--ties", "lose"), "ties must be one of split, drop"),
    ((*MASS, "--weights", "w.npy"), "weights must come with --distances"),
    ((*MASS, "--set-size", "50"), "The nearest possible are 0.48979592 (24 of them) and 0.51020408 (25)."),
    ((*MASS, "--set-size", "2"), "set_size must be a whole number, at least 3 and at most 1000000"),
    ((*MASS, "--set-size", "51", "--items", "51"), "item_count must be a whole number, at least 2 and at most 50"),
    ((*MASS, "--set-size", "51", "--similarity", "linear"), "needs the constant similarity without a cut; got linear."),
    ((*MASS, "--set-size", "51", "--space", "segment"), "set_size needs a homogeneous space"),
    ((*MASS, "--set-size", "51", "--ties", "drop"), "ties must be split"),
    (("--resolution", "0.1", "--set-size", "51"), "resolution needs the distances of the stimuli"),
    (("--ball-mass", "1.5", "--set-size", "51"), "ball_mass must lie in [0, 1]"),
    (("--sweep", "--items", "2,3"), "sweep must have one background and one number of items"),
    (("--sweep", *MASS, "--resolution", "1"), "give only one of"),
    (("--space", "circle", "--similarity", "gaussian", "--resolution", "1e-9"), "a background or a cut"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG)
def test_wrong_input_gives_one_sentence_and_exit_code_two(genlaws, arguments, sentence, tmp_path: Path):
    refused(genlaws("semanticity", "front", *arguments, "--json", "--out", str(tmp_path / "none")), sentence)
    assert not (tmp_path / "none").exists()


def refused(answer, sentence):
    assert answer.code == 2, answer.out
    assert answer.out == ""
    assert answer.err.startswith("genlaws: ")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("none.npy", None, "There is no file"),
        ("matrix.txt", "0", "must be a file ending in .npy, .npz, .csv, .tsv or .parquet; got 'matrix.txt'"),
        ("oblong.csv", "0,1\n1,0\n2,2\n", "distances must be a square matrix of at least two rows; got shape (3, 2)."),
        ("ragged.csv", "0,1\n1\n", "distances must hold only numbers; row 2 has 1 cells, the first has 2"),
        ("words.csv", "0,1\n1,b\n", "distances must hold only numbers; the cell in row 2, column 2 is 'b'"),
        ("empty.csv", "", "distances must hold at least one number"),
        ("skew.csv", "0,1\n2,0\n", "distances must be symmetric"),
        ("self.csv", "1,1\n1,1\n", "distances must be zero on the diagonal"),
        ("zero.csv", "0,0\n0,0\n", "distances must not all be zero"),
        ("minus.csv", "0,-1\n-1,0\n", "distances must be zero or positive"),
        ("nan.csv", "0,nan\nnan,0\n", "only numbers; the cell in row 1, column 2 is 'nan', which is not finite."),
        ("broken.npy", "0,1", "distances must be a .npy file of numpy; this file is something else under that name."),
        ("empty.npy", "", "distances must hold at least one number; the file is empty."),
    ],
)
def test_a_wrong_file_gives_one_sentence_and_exit_code_two(genlaws, tmp_path: Path, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_text(content)
    refused(genlaws("semanticity", "front", "--distances", str(tmp_path / name), "--resolution", "1"), sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--space", "circle"), "leave out --space or --distances"),
        (("--dimension", "2"), "leave out --dimension or --distances"),
        (("--set-size", "8"), "set_size must be 7"),
        (("--set-size", "7", "--items", "7"), "item_count must be a whole number, at least 2 and at most 6"),
    ],
)
def test_options_that_do_not_go_with_distances(genlaws, matrix, arguments, sentence):
    refused(genlaws("semanticity", "front", "--distances", matrix, "--resolution", "0.2", *arguments), sentence)


def test_weights_must_fit_the_distances(genlaws, matrix, tmp_path: Path):
    np.save(tmp_path / "w.npy", np.ones(3))
    arguments = ("--distances", matrix, "--weights", str(tmp_path / "w.npy"), "--resolution", "0.2")
    refused(genlaws("semanticity", "front", *arguments), "weights must be 7 numbers")
    refused(genlaws("semanticity", "front", *arguments, "--set-size", "7"), "weights must be left out with --set-size")


@pytest.mark.parametrize("requested", [("--resolution", "2"), ("--sweep",)])
def test_if_all_items_are_tied_none_can_be_dropped(genlaws, tmp_path: Path, requested):
    np.save(tmp_path / "alike.npy", 1.0 - np.eye(5))
    arguments = (
        "--distances",
        str(tmp_path / "alike.npy"),
        "--set-size",
        "5",
        *requested,
        "--out",
        str(tmp_path / "none"),
    )
    refused(genlaws("semanticity", "front", *arguments, "--ties", "drop"), "ties must be split here")
    assert not (tmp_path / "none").exists()


def test_a_ball_mass_that_stimuli_do_not_have(genlaws, matrix):
    arguments = ("--distances", matrix, "--set-size", "7", "--ball-mass", "0.5")
    refused(genlaws("semanticity", "front", *arguments), "The nearest is ")


def test_sweep_into_a_file_is_refused(genlaws, tmp_path: Path):
    (tmp_path / "taken").write_text("")
    refused(genlaws("semanticity", "front", "--sweep", "--out", str(tmp_path / "taken")), "out must be a folder")


NUMBER = st.one_of(st.floats(allow_nan=True, allow_infinity=True).map(repr), st.text(min_size=1, max_size=8))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(option=st.sampled_from(["--ball-mass", "--background", "--items", "--cut", "--set-size"]), text=NUMBER)
def test_any_text_in_any_option_is_answered_or_refused(option, text, capsys):
    options = {"--ball-mass": "0.5", "--background": "0.1", option: text}
    code = run(["semanticity", "front", *(part for pair in options.items() for part in pair), "--json"])
    captured = capsys.readouterr()
    assert code in (0, 1, 2)
    assert "Traceback" not in captured.err
    if code == 0:
        document = json.loads(captured.out)
        assert np.all(np.asarray(document["result"]["identification"], dtype=float) <= 1.0 + 1e-10)
    else:
        assert captured.out == ""
        assert captured.err.startswith("genlaws: ")
