"""The rules-and-facts view: its lines are near the library's numbers, its runs agree with the theory."""

import numpy as np
import pytest

from genlaws import rules_facts
from genlaws.web.views.rules_facts import VIEW, TheorySettings
from genlaws.web.views.rules_facts_theory import LearnerOnTask, all_runs, curves, runs_by_samples

# The page's search for the best regularization is coarser than the library's, by no more than the captions say.
RULE_TOLERANCE, FACT_TOLERANCE, ROUNDING = 1e-3, 1e-2, 1e-9
# Runs are in 200 dimensions; their correction to the limit is below this.
FINITE_SIZE = 0.005
PANELS = ("errors-by-samples", "trade-off", "errors-by-angle")
KERNELS = TheorySettings.model_fields["kernel"].annotation.__args__


def answer(**settings):
    return VIEW.answer(TheorySettings(**settings))


def number(found, name):
    return next(one.value for one in found.numbers if one.name == name)


@pytest.mark.parametrize(("fact_fraction", "angle"), [(0.3, 1.1), (0.56, 0.05), (0.53, 1.57)])
def test_lines_at_the_best_regularization_are_as_accurate_as_their_captions_say(fact_fraction, angle):
    found = curves(LearnerOnTask("hinge", 30.0, fact_fraction, np.sin(angle), np.cos(angle)))
    for errors, sample_ratio, angles in (
        (found.by_samples, found.by_samples.axis, np.full(len(found.by_samples.axis), angle)),
        (found.by_angle, np.full(len(found.by_angle.axis), 30.0), found.by_angle.axis),
    ):
        kernel = rules_facts.Kernel.from_angle(angles)
        wanted = rules_facts.solve("hinge", sample_ratio=sample_ratio, fact_fraction=fact_fraction, kernel=kernel)
        too_high = errors.generalization - wanted.generalization_error
        assert (too_high > -ROUNDING).all()
        assert (too_high < RULE_TOLERANCE).all()
        assert errors.memorization == pytest.approx(wanted.memorization_error, abs=FACT_TOLERANCE)


def test_captions_say_which_lines_are_less_accurate_than_the_marks():
    reported = f"at most {RULE_TOLERANCE:g} too high, memorization errors within {FACT_TOLERANCE:g}"
    assert [reported in panel.caption for panel in answer(loss="hinge").panels] == [True, False, True]
    for settings in ({}, {"loss": "hinge", "regularization": "chosen"}, {"loss": "hinge", "fact_fraction": 1.0}):
        assert not [panel for panel in answer(**settings).panels if reported in panel.caption]


@pytest.mark.parametrize("settings", [{}, {"loss": "hinge", "sample_ratio": 32.56, "kernel_angle": 1.57}], ids=str)
def test_marks_lie_on_their_lines(settings):
    samples, path, angles = answer(**settings).panels
    for panel in (samples, angles):
        curves_of = {one.name: one for one in panel.curves}
        for line, mark in (
            ("generalization error ε_gen", "generalization error here"),
            ("memorization error ε_mem", "memorization error here"),
        ):
            (at,), (y,) = curves_of[mark].x, curves_of[mark].y
            assert curves_of[line].y[curves_of[line].x.index(at)] == y
            assert curves_of[line].x == sorted(set(curves_of[line].x))
    line, mark = path.curves[0], path.curves[-1]
    assert (mark.x[0], mark.y[0]) in set(zip(line.x, line.y, strict=True))


def test_trade_off_of_a_nearly_linear_kernel_is_drawn_around_its_best_regularization():
    line = answer(loss="hinge", sample_ratio=32.56, kernel_angle=1.57).panels[1].curves[0]
    assert sum(0.01 < fact < 0.43 for fact in line.y) >= 5  # between keeping every fact and keeping few


def test_without_a_rule_the_lines_have_infinite_regularization_as_the_numbers():
    found = answer(loss="hinge", fact_fraction=1.0)
    assert number(found, "regularization λ") == "inf"
    line = next(one for one in found.panels[0].curves if one.name == "memorization error ε_mem")
    wanted = rules_facts.solve(
        "hinge",
        sample_ratio=line.x,
        fact_fraction=1.0,
        kernel=rules_facts.Kernel.from_angle(1.0),
        regularization=float("inf"),
    )
    assert line.y == pytest.approx(wanted.memorization_error)


def ends():
    for name, field in TheorySettings.model_fields.items():
        limits = [getattr(part, end) for part in field.metadata for end in ("ge", "le") if hasattr(part, end)]
        values = limits or list(field.annotation.__args__)
        yield from ((name, value) for value in values)


@pytest.mark.parametrize("loss", ["square", "hinge"])
@pytest.mark.parametrize(("name", "value"), list(ends()))
def test_every_end_answers(loss, name, value):
    control = TheorySettings.model_json_schema()["properties"][name]["control"]
    found = answer(**{"loss": loss, **control["when"], name: value})
    assert tuple(one.name for one in found.panels) == PANELS
    assert found.sentence
    assert np.isfinite(float(number(found, "generalization error")))
    for panel in found.panels:
        theory = [one for one in panel.curves if one.kind == "theory"]
        assert all(np.isfinite(one.y).any() for one in theory)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_setting_of_a_kernel_changes_the_answer(kernel):
    when = {name: one["control"]["when"] for name, one in TheorySettings.model_json_schema()["properties"].items()}
    named = [name for name, condition in when.items() if condition.get("kernel") == kernel]
    for name in ["sample_ratio", "fact_fraction", *named]:
        field = TheorySettings.model_fields[name]
        low = next(part.ge for part in field.metadata if hasattr(part, "ge"))
        settings = {"kernel": kernel, "regularization": "chosen"}
        assert answer(**settings).numbers != answer(**settings, **{name: low}).numbers


def test_runs_agree_with_the_theory():
    wanted = {}
    for loss in ("square", "hinge"):
        runs = [run for run in all_runs() if run.loss == loss and run.regularization is not None]
        found = rules_facts.solve(
            loss,
            sample_ratio=[run.sample_ratio for run in runs],
            fact_fraction=[run.fact_fraction for run in runs],
            kernel=rules_facts.Kernel.from_angle([run.kernel_angle for run in runs]),
            regularization=[run.regularization for run in runs],
        )
        wanted[loss] = runs, found
    for runs, found in wanted.values():
        for name, theory in (
            ("generalization", found.generalization_error),
            ("memorization", found.memorization_error),
        ):
            value, low, high = np.array([getattr(run, name) for run in runs]).T
            half = 0.5 * (high - low)
            assert (np.abs(value - theory) < 1.5 * half + FINITE_SIZE).all()
            # Intervals of 95 %; settings share their draws, so that misses come together.
            assert ((theory >= low) & (theory <= high)).mean() > 0.85


def test_runs_are_shown_with_their_own_settings():
    exact = runs_by_samples(LearnerOnTask("square", 4.0, 0.2, np.sin(0.7), np.cos(0.7), 0.1))
    assert exact.exact
    assert exact.name == "ε = 0.2, θ = 0.7, λ = 0.1"
    assert [run.sample_ratio for run in exact.runs] == [0.5, 1.0, 2.0, 4.0, 8.0]
    near = answer(fact_fraction=0.25, kernel_angle=0.75, regularization="chosen", strength=0.12).panels[0]
    names = [one.name for one in near.curves]
    assert "theory at ε = 0.2, θ = 0.7, λ = 0.1" in names
    assert "generalization error, runs at ε = 0.2, θ = 0.7, λ = 0.1" in names
    far = answer(fact_fraction=0.8)
    assert not [one for panel in far.panels for one in panel.curves if one.kind == "run"]
    assert "No runs" in far.panels[0].caption
    assert not [one for panel in answer(width="finite").panels for one in panel.curves if one.kind == "run"]


def test_theory_of_runs_is_that_of_their_settings():
    near = answer(fact_fraction=0.25, kernel_angle=0.75, regularization="chosen", strength=0.12).panels[0]
    line = next(one for one in near.curves if one.name.startswith("theory at"))
    half = (len(line.x) - 1) // 2
    kernel = rules_facts.Kernel.from_angle(0.7)
    wanted = rules_facts.solve(sample_ratio=line.x[:half], fact_fraction=0.2, kernel=kernel, regularization=0.1)
    assert line.y[:half] == pytest.approx(wanted.generalization_error)
    assert line.y[half + 1 :] == pytest.approx(wanted.memorization_error)
