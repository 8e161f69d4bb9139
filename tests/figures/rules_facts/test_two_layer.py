"""The figure of trained features: means and exponents of the runs, and the curves of the theory."""

import numpy as np
import pytest

from genlaws.figures import get_figure
from genlaws.rules_facts import Kernel, bayes_optimal, fit_decay, optimal_angle, solve
from genlaws.sweeps import Axis, compute_sweep, get_experiment, make_sweep

RATIOS = (2.0, 4.0, 8.0)
RATES = ((0.01, 1.0, 0.0), (0.003, 100.0, 0.03))
SETTINGS = {"dimension": 12, "repeats": 3, "sample_ratios": RATIOS, "steps": 60, "test_count": 300, "points": 5}


@pytest.fixture(scope="module")
def frame():
    return get_figure("rules-facts.two-layer").data(SETTINGS)


def test_points_are_means_of_the_runs(frame):
    learning_rate, feature_rate, weight_decay = RATES[1]
    base = {"dimension": 12, "steps": 60, "test_count": 300}
    axes = [
        Axis("learning_rate", (learning_rate,)),
        Axis("feature_rate", (feature_rate,)),
        Axis("weight_decay", (weight_decay,)),
        Axis("sample_ratio", RATIOS),
    ]
    results = compute_sweep(make_sweep(get_experiment("rules-facts.two-layer"), base, axes, 3)).to_frame()
    for moment in ("final", "best"):
        rows = frame[(frame["moment"] == moment) & (frame["feature_rate"] == feature_rate)]
        assert rows["sample_ratio"].tolist() == list(RATIOS)
        errors = results[f"{moment}_generalization_error"].to_numpy().reshape(3, 3)
        np.testing.assert_allclose(rows["generalization_error"], errors.mean(axis=1))
        facts = results[f"{moment}_memorization_error"].to_numpy().reshape(3, 3)
        np.testing.assert_allclose(rows["memorization_error"], facts.mean(axis=1))
        found = fit_decay(RATIOS, errors)
        assert rows["exponent"].unique() == pytest.approx([found.exponent.value])
        assert rows["exponent_low"].unique() == pytest.approx([found.exponent.low])


def test_curves_are_those_of_the_theory(frame):
    task = {"sample_ratio": np.array(RATIOS), "fact_fraction": 0.2}
    kernel = Kernel.from_angle(optimal_angle("hinge", **task, regularization="optimal"))
    expected = {
        "bayes": bayes_optimal(**task).generalization_error,
        "ridge": solve("square", **task).generalization_error,
        "hinge": solve("hinge", **task, kernel=kernel).generalization_error,
    }
    for learner, errors in expected.items():
        rows = frame[frame["learner"] == learner]
        at_runs = rows[rows["sample_ratio"].isin(RATIOS)]
        np.testing.assert_allclose(at_runs["generalization_error"], errors, rtol=1e-5)
        assert rows["exponent"].unique() == pytest.approx([fit_decay(RATIOS, errors).exponent.value], rel=1e-4)


def test_the_summary_quotes_exponents_and_errors(frame):
    figure = get_figure("rules-facts.two-layer")
    summary = figure.summary(frame, SETTINGS)
    assert summary["learner"].tolist() == ["bayes", "ridge", "hinge", *["network"] * 4]
    assert (summary["sample_ratio"] == max(RATIOS)).all()
    assert summary["exponent"].notna().all()
    networks = summary[summary["learner"] == "network"]
    assert networks["exponent_low"].notna().all()
    assert (networks["exponent_low"] <= networks["exponent"]).all()


def test_the_legend_names_every_choice_of_rates_and_moment(frame):
    picture = get_figure("rules-facts.two-layer").draw(frame, SETTINGS)
    texts = [text.get_text() for legend in picture.legends for text in legend.get_texts()]
    assert len(texts) == 4
    assert texts[0].startswith("equal rates, at the end: ")
    assert texts[3].startswith("first layer 100× faster, decay 0.03, best stop: ")
