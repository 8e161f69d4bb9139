"""The rules-and-facts view: its numbers are the library's, its runs agree with the theory, its words can be run."""

import contextlib
import io
import shlex

import numpy as np
import pytest

from genlaws import rules_facts
from genlaws.commands import run
from genlaws.explorer.rules_facts import VIEW, Settings
from genlaws.explorer.rules_facts_runs import all_runs, runs_by_samples
from genlaws.explorer.rules_facts_theory import Learner, curves

# The page's search for the best regularisation is coarser than the library's: the rule error is flat at its minimum,
# the fact error is not.
RULE_TOLERANCE, FACT_TOLERANCE = 3e-5, 2e-3
# Runs are in 200 dimensions; their correction to the limit is below this.
FINITE_SIZE = 0.005
PANELS = ("errors-by-samples", "trade-off", "errors-by-angle")
KERNELS = Settings.model_fields["kernel"].annotation.__args__


def answer(**settings):
    return VIEW.answer(Settings(**settings))


def number(found, name):
    return next(one.value for one in found.numbers if one.name == name)


def kernel_of(settings):
    names = {"gaussian": "gaussian:1", "exponential": "exponential:1", "geometric": "geometric:0.5"}
    names["polynomial"] = "polynomial:3,1"
    if settings.get("kernel", "angle") == "angle":
        return rules_facts.Kernel.from_angle(settings.get("kernel_angle", 1.0))
    return rules_facts.Kernel.from_name(names.get(settings["kernel"], settings["kernel"]))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"loss": "hinge"},
        {"loss": "hinge", "sample_ratio": 60.0, "fact_fraction": 0.39, "kernel_angle": 1.4},
        {"width": "finite"},
        {"loss": "hinge", "width": "finite", "sample_ratio": 0.9, "fact_fraction": 0.75, "kernel_angle": 0.91},
        {"regularisation": "chosen", "strength": 0.3, "kernel": "relu"},
        {"loss": "hinge", "regularisation": "chosen", "strength": 0.01, "width": "finite", "width_ratio": 0.5},
    ],
)
def test_numbers_are_the_librarys(settings):
    found = answer(**settings)
    chosen = settings.get("regularisation") == "chosen"
    wanted = rules_facts.solve(
        settings.get("loss", "square"),
        sample_ratio=settings.get("sample_ratio", 4.0),
        fact_fraction=settings.get("fact_fraction", 0.2),
        kernel=kernel_of(settings),
        regularisation=settings["strength"] if chosen else "optimal",
        width_ratio=settings.get("width_ratio", 2.0) if settings.get("width") == "finite" else None,
    )
    assert float(number(found, "rule error")) == pytest.approx(wanted.generalisation_error, abs=RULE_TOLERANCE + 5e-5)
    assert float(number(found, "fact error")) == pytest.approx(wanted.memorisation_error, abs=FACT_TOLERANCE + 5e-4)
    least = rules_facts.bayes_optimal(
        sample_ratio=settings.get("sample_ratio", 4.0), fact_fraction=settings.get("fact_fraction", 0.2)
    )
    assert float(number(found, "Bayes-optimal rule error")) == pytest.approx(least.generalisation_error, abs=5.1e-5)


def test_search_for_the_best_regularisation_agrees_along_both_axes():
    found = curves(Learner("hinge", 5.0, 0.3, np.sin(1.1), np.cos(1.1)))
    for errors, sample_ratio, angle in (
        (found.by_samples, found.by_samples.axis, np.full(len(found.by_samples.axis), 1.1)),
        (found.by_angle, np.full(len(found.by_angle.axis), 5.0), found.by_angle.axis),
    ):
        kernel = rules_facts.Kernel.from_angle(angle)
        wanted = rules_facts.solve("hinge", sample_ratio=sample_ratio, fact_fraction=0.3, kernel=kernel)
        assert errors.rule == pytest.approx(wanted.generalisation_error, abs=RULE_TOLERANCE)
        assert errors.fact == pytest.approx(wanted.memorisation_error, abs=FACT_TOLERANCE)


def ends():
    for name, field in Settings.model_fields.items():
        limits = [getattr(part, end) for part in field.metadata for end in ("ge", "le") if hasattr(part, end)]
        values = limits or list(field.annotation.__args__)
        yield from ((name, value) for value in values)


@pytest.mark.parametrize("loss", ["square", "hinge"])
@pytest.mark.parametrize(("name", "value"), list(ends()))
def test_every_end_answers(loss, name, value):
    control = Settings.model_json_schema()["properties"][name]["control"]
    found = answer(**{"loss": loss, **control["when"], name: value})
    assert tuple(one.name for one in found.panels) == PANELS
    assert found.sentence
    assert np.isfinite(float(number(found, "rule error")))
    for panel in found.panels:
        theory = [one for one in panel.curves if one.kind == "theory"]
        assert all(np.isfinite(one.y).any() for one in theory)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_setting_of_a_kernel_changes_the_answer(kernel):
    when = {name: one["control"]["when"] for name, one in Settings.model_json_schema()["properties"].items()}
    named = [name for name, condition in when.items() if condition.get("kernel") == kernel]
    for name in ["sample_ratio", "fact_fraction", *named]:
        field = Settings.model_fields[name]
        low = next(part.ge for part in field.metadata if hasattr(part, "ge"))
        settings = {"kernel": kernel, "regularisation": "chosen"}
        assert answer(**settings).numbers != answer(**settings, **{name: low}).numbers


def test_runs_agree_with_the_theory():
    wanted = {}
    for loss in ("square", "hinge"):
        runs = [run for run in all_runs() if run.loss == loss and run.regularisation is not None]
        found = rules_facts.solve(
            loss,
            sample_ratio=[run.sample_ratio for run in runs],
            fact_fraction=[run.fact_fraction for run in runs],
            kernel=rules_facts.Kernel.from_angle([run.kernel_angle for run in runs]),
            regularisation=[run.regularisation for run in runs],
        )
        wanted[loss] = runs, found
    for runs, found in wanted.values():
        for name, theory in (("rule", found.generalisation_error), ("fact", found.memorisation_error)):
            value, low, high = np.array([getattr(run, name) for run in runs]).T
            half = 0.5 * (high - low)
            assert (np.abs(value - theory) < 1.5 * half + FINITE_SIZE).all()
            # Intervals of 95 %; settings share their draws, so that misses come together.
            assert ((theory >= low) & (theory <= high)).mean() > 0.85


def test_runs_are_shown_with_their_own_settings():
    exact = runs_by_samples(Learner("square", 4.0, 0.2, np.sin(0.7), np.cos(0.7), 0.1))
    assert exact.exact
    assert exact.name == "ε = 0.2, θ = 0.7, λ = 0.1"
    assert [run.sample_ratio for run in exact.runs] == [0.5, 1.0, 2.0, 4.0, 8.0]
    near = answer(fact_fraction=0.25, kernel_angle=0.75, regularisation="chosen", strength=0.12).panels[0]
    names = [one.name for one in near.curves]
    assert "theory at ε = 0.2, θ = 0.7, λ = 0.1" in names
    assert "rule error, runs at ε = 0.2, θ = 0.7, λ = 0.1" in names
    far = answer(fact_fraction=0.8)
    assert not [one for panel in far.panels for one in panel.curves if one.kind == "run"]
    assert "No runs" in far.panels[0].caption
    assert not [one for panel in answer(width="finite").panels for one in panel.curves if one.kind == "run"]


def test_theory_beside_runs_is_that_of_their_settings():
    near = answer(fact_fraction=0.25, kernel_angle=0.75, regularisation="chosen", strength=0.12).panels[0]
    line = next(one for one in near.curves if one.name.startswith("theory at"))
    half = (len(line.x) - 1) // 2
    kernel = rules_facts.Kernel.from_angle(0.7)
    wanted = rules_facts.solve(sample_ratio=line.x[:half], fact_fraction=0.2, kernel=kernel, regularisation=0.1)
    assert line.y[:half] == pytest.approx(wanted.generalisation_error)
    assert line.y[half + 1 :] == pytest.approx(wanted.memorisation_error)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"loss": "hinge", "kernel": "polynomial", "regularisation": "chosen"},
        {"kernel": "gaussian", "width": "finite", "regularisation": "chosen", "strength": 0.01234},
    ],
)
def test_words_can_be_run(settings, capsys):
    found = answer(**settings)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(found.python, {})
    rule, fact, strength, least = (float(one) for one in printed.getvalue().split())
    assert f"{rule:.4f}" == number(found, "rule error")
    assert f"{fact:.3f}" == number(found, "fact error")
    assert f"{strength:.3g}" == number(found, "regularisation λ")
    assert f"{least:.4f}" == number(found, "Bayes-optimal rule error")
    assert run(shlex.split(found.command)[1:]) == 0
    said = capsys.readouterr().out
    assert f"{rule:.6f}" in said
    assert f"{fact:.6f}" in said
