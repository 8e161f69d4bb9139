"""The tables and pictures of merging representations."""

import numpy as np
import pydantic
import pytest

from genlaws.core.running import Running
from genlaws.figures.figure import Figure
from genlaws.figures.relations.repons import (
    APART_COLOR,
    COLLISION_CURVES,
    COLLISION_FIGURE,
    MERGE_COLOR,
    PLANE,
    CollisionFigureSettings,
    PairPlaneSettings,
)
from genlaws.relations import collision_probability, pair_invariant
from genlaws.render.style import house_style

SIGMAS = 5.0


def table(recipe, settings):
    return recipe.data(settings, Running())


@pytest.mark.parametrize(
    "options",
    [{}, {"encoder_rate": 0.1, "encoder_scale": 0.3, "cluster": 5.0}, {"encoder_rate": 100.0, "decoder_scale": 2.0}],
)
def test_flow_lines_keep_the_invariant_and_end_on_their_axis(options):
    settings = PairPlaneSettings(**options)
    frame = table(PLANE, settings)
    flow = frame[frame["series"] == "flow"]
    rates = {name: getattr(settings, name) for name in ("encoder_rate", "decoder_rate", "cluster")}
    size = float(np.abs(flow["invariant"]).max())
    again = pair_invariant(flow["decoder_gain"], flow["half_separation"], **rates)
    np.testing.assert_allclose(again, flow["invariant"], atol=1e-11 * size)
    assert np.isfinite(flow["time"]).all()
    for _, line in flow.groupby("line"):
        gone = "half_separation" if line["merges"].iloc[0] else "decoder_gain"
        assert abs(line[gone].iloc[-1]) == pytest.approx(1e-3 * abs(line[gone].iloc[0]), rel=1e-6)
        width, height = 2.5 * settings.decoder_scale, 2.5 * settings.encoder_scale
        start = max(abs(line["decoder_gain"].iloc[0]) / width, abs(line["half_separation"].iloc[0]) / height)
        assert start == pytest.approx(1.0)
        assert (np.diff(line["time"]) > 0).all()
    assert set(flow["merges"]) == {True, False}
    boundary = frame[frame["series"] == "boundary"]
    on = pair_invariant(boundary["decoder_gain"], boundary["half_separation"], **rates)
    np.testing.assert_allclose(on, 0.0, atol=1e-12 * size)


def test_flow_lines_fill_all_quadrants_alike():
    frame = table(PLANE, PairPlaneSettings())
    starts = frame[frame["series"] == "flow"].groupby("line").first()
    quadrant = list(zip(np.sign(starts["decoder_gain"]), np.sign(starts["half_separation"]), strict=True))
    assert len(set(quadrant)) == 4
    assert all(quadrant.count(one) == len(quadrant) // 4 for one in quadrant)


def test_the_summary_is_the_law():
    settings = PairPlaneSettings(encoder_rate=0.3, encoder_scale=2.0, cluster=3.0)
    summary = PLANE.summary(table(PLANE, settings), settings)
    law = collision_probability(0.3, 1.0, 2.0, 1.0, cluster=3.0)
    assert summary["collision_probability"].iloc[0] == pytest.approx(float(law))
    assert summary["boundary_slope"].iloc[0] == pytest.approx(np.sqrt(0.3 / 3.0))


@pytest.mark.parametrize("options", [{}, {"encoder_rate": 1e-4}, {"encoder_rate": 1e4, "cluster": 7.0}])
def test_the_plane_is_drawn(options):
    record = Figure("relations.4", "Plane", "a paper", "A plane.", "genlaws.figures.relations.repons:PLANE")
    settings = record.settings(options)
    picture = record.draw(record.data(settings), settings)
    (axes,) = picture.axes
    assert axes.get_xlabel().startswith("decoder gain")
    assert axes.get_ylabel().startswith("half the separation")
    colors = {line.get_color() for line in axes.get_lines()}
    assert {MERGE_COLOR, APART_COLOR} <= colors
    words = [text.get_text() for text in picture.legends[0].get_texts()]
    assert words[:2] == ["merge: generalization", "stay apart: memorization"]
    assert "of starts merge" in axes.get_title()


@pytest.fixture(scope="module")
def collisions():
    settings = CollisionFigureSettings(draws=100, simulated_ratios=(0.3, 10.0), points=9)
    return settings, table(COLLISION_FIGURE, settings)


def test_simulated_points_meet_their_laws(collisions):
    _, frame = collisions
    for curve in COLLISION_CURVES:
        here = frame[frame["curve"] == curve.name]
        law, points = here[here["series"] == "law"], here[here["series"] == "simulation"]
        assert len(law) == 9
        assert (np.diff(law["collision_probability"]) >= 0).all()
        expected = curve.case.probability(points["rate_ratio"].to_numpy())
        error = np.sqrt(np.maximum(expected * (1 - expected), 1e-3) / 100)
        assert (np.abs(points["collision_probability"] - expected) <= SIGMAS * error).all()
        assert (points["low"] <= points["collision_probability"]).all()
        assert (points["high"] >= points["collision_probability"]).all()


def test_collisions_are_drawn(collisions):
    settings, frame = collisions
    with house_style():
        picture = COLLISION_FIGURE.draw(frame, settings)
        picture.draw_without_rendering()
    left, right = picture.axes
    assert left.get_xlabel() == right.get_xlabel()
    assert [len(axes.get_legend().get_texts()) for axes in (left, right)] == [4, 4]


def test_wrong_settings_are_refused():
    for options in ({"encoder_rate": 0.0}, {"cluster": 0.5}, {"lines_per_axis": 0}, {"unknown": 1}):
        with pytest.raises(pydantic.ValidationError):
            PairPlaneSettings(**options)
    with pytest.raises(pydantic.ValidationError):
        CollisionFigureSettings(draws=1)
