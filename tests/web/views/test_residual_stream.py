"""The view on the residual stream compares a walk's laws with a model or a drawn walk, and its lines of code run."""

import math
import shlex
import time

import numpy as np
import pytest

from copied_lines import run_program
from genlaws.cli.commands import app
from genlaws.core.errors import InputError
from genlaws.models.texts import example_texts
from genlaws.residual_stream.surrogates.walks import geometric_walk
from genlaws.web.views.residual_stream import SHOWN_MODELS, VIEW, WalkSettings, bundled_stream

PANELS = ["neighbors", "sizes", "shares", "rotations"]
QUICK_ENOUGH = 0.030  # seconds of one core for an answer
FITS = [*SHOWN_MODELS, "none"]


def curves(answer, panel):
    return {one.name: one for one in next(one for one in answer.panels if one.name == panel).curves}


def numbers(answer):
    return {one.name: one.value for one in answer.numbers}


@pytest.fixture(scope="module")
def answers():
    return {fit: VIEW.answer(WalkSettings(fit=fit)) for fit in FITS}


@pytest.mark.parametrize("fit", FITS)
def test_every_fit_has_the_same_panels_with_a_line_and_points(answers, fit):
    answer = answers[fit]
    assert [one.name for one in answer.panels] == PANELS
    for panel in answer.panels:
        kinds = {one.kind for one in panel.curves}
        assert "theory" in kinds
        if (fit, panel.name) != ("paper", "shares"):  # the paper tells no share
            assert "run" in kinds
    assert answer.sentence.endswith(".")
    assert answer.to_json()["panels"][0]["curves"]


def test_a_drawn_walk_lies_on_the_lines(answers):
    answer = answers["none"]
    for panel, name, line in (
        ("rotations", "one walk drawn", "walk: rotations"),
        ("neighbors", "one walk drawn: r over texts", "walk: r over texts"),
        ("sizes", "one walk drawn: state", "walk: state"),
    ):
        points, exact = curves(answer, panel)[name], np.array(curves(answer, panel)[line].y)
        half = (np.array(points.high) - np.array(points.low)) / 2 / 1.96
        assert np.mean(np.abs(np.array(points.y) - exact) < 3.0 * half) > 0.9
    shares = curves(answer, "shares")
    band = shares["walk, and 95 % of walks"]
    inside = [low <= y <= high for low, y, high in zip(band.low, shares["one walk drawn"].y, band.high, strict=True)]
    assert np.mean(inside) > 0.8


def test_settings_reach_the_walk():
    given = {"sites": 20, "growth": 5.0, "start": 3.0, "shared": 0.2, "persistence": 0.3}
    answer = VIEW.answer(WalkSettings(fit="none", units=128, **given))
    walk = geometric_walk(given.pop("sites"), **given)
    found = numbers(answer)
    assert found["rotations R"].startswith(f"walk {walk.rotations[-1]:.2f}; drawn ")
    assert found["correlation r in the middle"].startswith(f"walk {walk.correlation[9]:.3f}; drawn ")
    np.testing.assert_allclose(curves(answer, "sizes")["walk: state"].y, walk.size)
    np.testing.assert_allclose(1.0 - np.array(curves(answer, "neighbors")["walk: cosine"].y), walk.cosine)


def test_persistence_changes_the_walk_of_a_model_and_not_the_model():
    plain, lasting = (VIEW.answer(WalkSettings(fit="SmolLM2", persistence=phi)) for phi in (0.0, 0.6))
    assert (
        curves(plain, "rotations")["walk: rotations"].y[-1]
        > curves(lasting, "rotations")["walk: rotations"].y[-1] + 2.0
    )
    assert curves(plain, "rotations")["SmolLM2-135M"].y == curves(lasting, "rotations")["SmolLM2-135M"].y


def test_bundled_models_are_what_the_documentation_says_of_them():
    small = bundled_stream("SmolLM2")
    assert (small.walk.site_count, small.units, small.texts) == (61, 576, 120)
    rotations, low, high = small.points["rotations"].at(59)
    assert low < rotations < high
    assert abs(rotations - small.walk.rotations[-1]) < 1.0  # a walk rotates about as often
    assert small.points["shares"].at(2)[1] > small.walk.path_shares(576)[1] + 0.1  # and is less flat
    own, turned = (1.0 - small.points[one].value.mean() for one in ("correlation", "correlation_random_axes"))
    walk = 1.0 - small.walk.correlation.mean()
    assert own > 1.4 * walk  # unequal units,
    assert turned == pytest.approx(walk, rel=0.1)  # for in random axes it is the walk's
    encoder = bundled_stream("MiniLM")
    assert encoder.persistence < -0.3  # norms take back what was written
    assert encoder.points["size"].value[-1] < 0.7 * encoder.walk.size[-1]
    for model in ("SmolLM2", "MiniLM", "stories260K"):
        stored = bundled_stream(model)
        for measure, size in (("size", stored.walk.size), ("step_size", stored.walk.step_size)):
            assert stored.points[measure].value.shape == size.shape
        np.testing.assert_allclose(stored.points["step_size"].value, stored.walk.step_size, rtol=1e-3)
    paper = bundled_stream("paper")
    assert paper.walk.cosine[0] == pytest.approx(0.52, abs=1e-9)
    assert math.isnan(paper.persistence)
    with pytest.raises(InputError, match="model must be one of"):
        bundled_stream("gpt")


def test_sentences_say_what_the_numbers_say(answers):
    assert "no sign of orbits" in answers["SmolLM2"].sentence
    assert "more than 95 % of walks show" in answers["SmolLM2"].sentence
    assert "10.7 times, a walk with its steps 10.6" in answers["paper"].sentence
    assert "10.9 rotations of each unit" in answers["none"].sentence
    assert "22.3 rotations of each unit" in VIEW.answer(WalkSettings(fit="none", sites=128)).sentence


def test_packaged_models_can_be_measured_again(answers, tmp_path):
    for fit in ("paper", "none", "stories260K"):
        assert len(answers[fit].command.splitlines()) == 1
    for fit, name in (("MiniLM", "minilm"), ("SmolLM2", "smollm2")):
        words = shlex.split(answers[fit].command.splitlines()[1])
        place = words.index("genlaws")
        texts = tmp_path / f"{fit}.txt"
        run_program(words[words.index("-c") + 1], str(texts))
        assert tuple(texts.read_text(encoding="utf-8").splitlines()) == example_texts(bundled_stream(fit).texts)
        command, bound, _ = app.parse_args(words[place + 1 :], exit_on_error=False, print_error=False)
        assert (command.__name__, bound.args, bound.arguments["texts"].name) == ("analyze", (name,), "$file")
        assert bound.arguments["measures"] == "paths,correlations,dimensions,rotations"


@pytest.mark.parametrize("fit", ["SmolLM2", "none"])
def test_an_answer_comes_while_a_slider_moves(fit):
    VIEW.answer(WalkSettings(fit=fit))
    begun = time.process_time()
    for at in range(10):
        VIEW.answer(WalkSettings(fit=fit, persistence=0.05 * at))
    assert (time.process_time() - begun) / 10 < QUICK_ENOUGH


def test_ends_of_the_sliders_have_answers():
    for fit in ("none", "paper"):
        for phi in (-0.6, 0.9):
            for shared in (0.0, 1.0):
                settings = WalkSettings(fit=fit, persistence=phi, shared=shared, sites=8, growth=1000.0, units=64)
                for panel in VIEW.answer(settings).panels:
                    assert any(math.isfinite(y) for one in panel.curves for y in one.y)
