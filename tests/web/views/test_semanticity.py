"""The view on semanticity: numbers of the library, every end of every slider, lines and commands that run."""

import contextlib
import io
import json
import math
import shlex
import time
from typing import get_args

import numpy as np
import pytest

from genlaws.cli.commands import app
from genlaws.semanticity import front, linear_on_circle, similarity, space
from genlaws.semanticity.theory.exact import probabilities
from genlaws.semanticity.theory.fixed_rule import ACCURACY
from genlaws.web.views.semanticity import (
    VIEW,
    FrontQuery,
    FrontSettings,
    answer,
    language_model,
    point_of,
    query_of,
    relu_networks,
    simulated_choices,
)

SPACES = get_args(FrontSettings.model_fields["space"].annotation)
SHAPES = get_args(FrontSettings.model_fields["similarity"].annotation)
SIZES = {"sphere_dimension": "sphere", "torus_dimension": "torus", "hypercube_dimension": "hypercube"}
SIZES |= {"branching": "tree", "depth": "tree"}
# Numbers are shown with four digits after the point, or four in all.
SHOWN = 0.51e-4
# Simulated choices have intervals that hold the truth 95 times of 100; four standard errors are seldom left.
STANDARD_ERRORS = 4.0
SLOWEST = 0.5  # seconds of process time; some 10 ms on a quiet core, 50 on the segment
RUN = [
    {},
    {"space": "sphere", "sphere_dimension": 3, "similarity": "gaussian", "background": 0.05, "item_count": 5},
    {"space": "torus", "similarity": "exponential", "background": 0.01, "resolution": 0.1},
    {"space": "hypercube", "hypercube_dimension": 6, "similarity": "power-law", "exponent": 3.0, "background": 0.1},
    {"space": "tree", "branching": 3, "depth": 3, "similarity": "constant", "item_count": 4},
    {"similarity": "power-law", "exponent": 1.0, "item_count": 3},
]


def numbers_of(found):
    """Return the numbers of an answer by name."""
    return {one.name: one.value for one in found.numbers}


def ends(shapes):
    """Return settings at each end of each slider, for every space and some similarities."""
    fields = VIEW.settings.model_json_schema()["properties"]
    for name, schema in fields.items():
        for value in (schema.get("minimum"), schema.get("maximum")):
            if value is None:
                continue
            for chosen in [SIZES[name]] if name in SIZES else SPACES:
                for shape in ["power-law"] if name == "exponent" else shapes:
                    yield {"space": chosen, "similarity": shape, name: value}


@pytest.mark.parametrize("shapes", [("linear",), pytest.param(SHAPES, marks=pytest.mark.long)], ids=len)
def test_every_end_of_every_slider_answers(shapes):
    also = [{"space": chosen, "similarity": shape} for chosen in SPACES for shape in SHAPES]
    for given in [*also, *ends(shapes)]:
        found = answer(FrontSettings(**given))
        assert [panel.name for panel in found.panels] == [
            *("semanticity-front", "semanticity-resolution", "semanticity-items")
        ]
        text = json.dumps(found.to_json())
        assert "NaN" not in text
        assert found.sentence.endswith(".")
        for curve in (curve for panel in found.panels for curve in panel.curves):
            assert all(math.isfinite(y) and 0.0 <= y <= 1.0 for y in curve.y), (given, curve.name)


def test_what_is_too_steep_is_said_instead_of_computed():
    found = answer(FrontSettings(similarity="gaussian", resolution=0.01))
    assert "too far" in found.sentence
    assert "Generalization p_S" not in numbers_of(found)
    assert all(curve.kind != "mark" for panel in found.panels for curve in panel.curves)
    assert "Generalization p_S" in numbers_of(
        answer(FrontSettings(similarity="gaussian", resolution=0.01, background=0.01))
    )


@pytest.mark.parametrize("given", RUN[:5], ids=lambda one: one.get("space", "circle"))
def test_numbers_are_those_of_the_exact_functions(given):
    settings = FrontSettings(**given)
    sizes = {"sphere": {"dimension": settings.sphere_dimension}, "torus": {"dimension": settings.torus_dimension}}
    sizes |= {"hypercube": {"dimension": settings.hypercube_dimension}}
    sizes |= {"tree": {"branching": settings.branching, "depth": settings.depth}}
    where = space(settings.space, **sizes.get(settings.space, {}))
    exponent = settings.exponent if settings.similarity == "power-law" else None
    form = similarity(
        settings.similarity, settings.resolution * where.reach, background=settings.background, exponent=exponent
    )
    expected, best = (
        probabilities(where, form, settings.item_count),
        front(where, similarity=form, item_count=settings.item_count).peak,
    )
    shown = numbers_of(answer(settings))
    assert float(shown["Generalization p_S"]) == pytest.approx(expected.generalization, abs=SHOWN)
    assert float(shown["Identification p_I"]) == pytest.approx(expected.identification, abs=SHOWN)
    assert float(shown["Ball mass b"]) == pytest.approx(expected.ball_mass, rel=1e-3)
    assert float(shown["Collapse constant c"]) == pytest.approx(expected.collapse_constant, rel=1e-3)
    assert float(shown["Best generalization"]) == pytest.approx(best.generalization, abs=SHOWN)
    assert float(shown["Best resolution"]) == pytest.approx(best.resolution / where.reach, rel=2e-3)


def test_the_default_is_proposition_1_and_the_segment_is_exact_too():
    shown = numbers_of(answer(FrontSettings()))
    expected = [float(one) for one in linear_on_circle(0.3)]
    assert [float(shown["Generalization p_S"]), float(shown["Identification p_I"])] == pytest.approx(
        expected, abs=SHOWN
    )
    assert shown["Best generalization"] == "0.8098"
    shown = numbers_of(answer(FrontSettings(space="segment", resolution=0.6)))
    exact = probabilities(space("segment"), similarity("linear", 0.6))
    assert float(shown["Generalization p_S"]) == pytest.approx(exact.generalization, abs=SHOWN)
    assert float(shown["Collapse constant c"]) == pytest.approx(exact.collapse_constant, rel=1e-3)


@pytest.mark.parametrize(("given", "reach", "radius"), [({}, "0.5", "0.15"), ({"space": "sphere"}, "3.142", "0.9425")])
def test_resolutions_have_one_unit_which_is_named(given, reach, radius):
    found = answer(FrontSettings(**given, similarity="constant", background=0.1))
    share = "as a share of the largest distance"
    assert FrontSettings.model_fields["resolution"].title.endswith(share)
    assert found.panels[1].x_label.endswith(share)
    reported = {one.name: one for one in found.numbers}
    assert reported["Resolution ε"].value == "0.3"  # as on the slider
    assert reported["Resolution ε"].meaning == f"{share}, {reach}; as a distance it is {radius}"
    assert f"{share}, {reach}; as a distance" in reported["Best resolution"].meaning
    (at, _) = next(one.x for one in found.panels[1].curves if one.name == "best resolution")
    assert reported["Best resolution"].value == f"{at:.4g}"
    assert max(float(one.removeprefix("ε = ")) for one in found.panels[0].curves[0].notes) == 1.0


@pytest.mark.parametrize("space_name", ["circle", "tree"])
def test_lines_of_a_constant_similarity_reach_all_resolutions(space_name):
    for line in answer(FrontSettings(space=space_name, similarity="constant", resolution=10.0)).panels[1].curves[:2]:
        assert line.x[-1] >= 10.0
        assert line.y[-1] == pytest.approx(0.5)


def test_the_chosen_point_lies_on_its_curves():
    found = answer(FrontSettings(similarity="exponential", background=0.05, item_count=8, resolution=0.25))
    front, resolution, items = found.panels
    for panel in (resolution, items):
        curves = {curve.name: curve for curve in panel.curves}
        mark = next(curve for curve in panel.curves if curve.kind == "mark")
        for place, name in enumerate(("generalization p_S", "identification p_I")):
            there = np.interp(np.log(mark.x[place]), np.log(curves[name].x), curves[name].y)
            assert mark.y[place] == pytest.approx(there, abs=0.01)
    mark, theory = front.curves[-1], front.curves[0]
    order = np.argsort(theory.x)
    assert np.interp(mark.x[0], np.array(theory.x)[order], np.array(theory.y)[order]) == pytest.approx(
        mark.y[0], abs=0.01
    )


def test_every_setting_changes_the_answer():
    base = {"space": "tree", "similarity": "power-law", "background": 0.05, "item_count": 4}
    others = {"branching": 3, "depth": 5, "similarity": "linear", "exponent": 3.0, "resolution": 0.7}
    others |= {"background": 0.1, "item_count": 9, "space": "circle"}
    seen = {json.dumps(answer(FrontSettings(**base)).to_json())}
    seen |= {json.dumps(answer(FrontSettings(**base | {name: value})).to_json()) for name, value in others.items()}
    for name, chosen in SIZES.items():
        if chosen != "tree":
            seen |= {json.dumps(answer(FrontSettings(space=chosen, **{name: one})).to_json()) for one in (2, 3)}
    assert len(seen) == 1 + len(others) + 6


@pytest.mark.parametrize("given", RUN, ids=lambda one: "-".join(map(str, one.values())) or "default")
def test_command_runs_and_gives_the_same_numbers(given):
    settings = FrontSettings(**given)
    found = answer(settings)
    shown = numbers_of(found)
    printed = io.StringIO()
    words = shlex.split(found.command)
    assert words[0] == "genlaws"
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        app([*words[1:], "--json"])
    reported = json.loads(printed.getvalue())["result"]
    assert reported["generalization"] == pytest.approx(float(shown["Generalization p_S"]), abs=SHOWN)
    assert reported["identification"] == pytest.approx(float(shown["Identification p_I"]), abs=SHOWN)
    assert reported["collapse_constant"] == pytest.approx(float(shown["Collapse constant c"]), rel=1e-3)
    if shown["Best resolution"] == "none":
        assert reported["best_resolution"] == "nan"
    else:
        reach = query_of(settings).where().reach
        assert reported["best_resolution"] == pytest.approx(float(shown["Best resolution"]) * reach, rel=2e-3)
        assert reported["best_generalization"] == pytest.approx(float(shown["Best generalization"]), abs=SHOWN)


# --- runs -------------------------------------------------------------------------------------------------------------


def test_simulated_choices_agree_with_the_theory():
    left, total = 0.0, 0
    for chosen in ("circle", "sphere", "torus", "segment", "hypercube"):
        sizes = {"sphere": (2,), "torus": (2,), "hypercube": (10,)}.get(chosen, ())
        for shape in SHAPES:
            for background in (0.0, 0.05):
                exponent = 2.0 if shape == "power-law" else None
                requested = FrontQuery(chosen, sizes, shape, exponent, 0.15, background, 10)
                run = next(one for one in simulated_choices(requested) if one.share == 0.15)
                here = point_of(requested)
                for name in ("generalization", "identification"):
                    value, low, high = getattr(run, name)
                    score = (value - getattr(here, name)) / ((high - low) / 3.92)
                    assert abs(score) < STANDARD_ERRORS, (requested, name)
                    left, total = left + score**2, total + 1
    assert total == 100
    assert 0.6 < left / total < 1.5  # the mean square of standard scores is 1


def test_runs_are_shown_only_where_they_belong():
    default = FrontQuery("circle", (), "linear", None, 0.3, 0.0, 2)
    assert len(simulated_choices(default)) == 4
    assert len(relu_networks(default)) == 8
    assert simulated_choices(FrontQuery("circle", (), "linear", None, 0.3, 0.01, 2)) == []
    assert simulated_choices(FrontQuery("sphere", (3,), "linear", None, 0.3, 0.0, 2)) == []
    assert simulated_choices(FrontQuery("circle", (), "power-law", 3.0, 0.3, 0.0, 2)) == []
    assert relu_networks(FrontQuery("circle", (), "linear", None, 0.3, 0.0, 3)) == []
    assert relu_networks(FrontQuery("sphere", (2,), "linear", None, 0.3, 0.0, 2)) == []
    assert "No runs" in answer(FrontSettings(background=0.01, item_count=3)).panels[0].caption


def test_networks_end_near_the_linear_front():
    last = relu_networks(FrontQuery("circle", (), "linear", None, 0.3, 0.0, 2))[-1]
    b = np.linspace(0.0, 1.0, 401)
    s, i = linear_on_circle(b)
    assert np.hypot(s - last.generalization[0], i - last.identification[0]).min() < 0.02


def test_the_language_model_falls_with_the_number_of_items():
    for test in ("generalization", "identification"):
        counts, value, low, high = np.array(language_model(test)).T
        assert counts.tolist() == [2, 4, 8, 16, 32, 64]
        assert (np.diff(value) < 0).all()
        assert ((low <= value) & (value <= high)).all()


def test_dragging_a_slider_takes_milliseconds():
    answer(FrontSettings(space="sphere"))
    start = time.process_time()
    for step in range(5):
        answer(FrontSettings(space="sphere", background=0.031 + 0.01 * step))
    assert (time.process_time() - start) / 5 < SLOWEST
    assert ACCURACY < SHOWN
