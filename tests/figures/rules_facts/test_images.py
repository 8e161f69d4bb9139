"""Figures on labeled data: theory rows are solved, measured rows are those of redraws, differences are paired."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from counted_steps import CountedSteps
from genlaws.core.errors import InputError, StoppedError
from genlaws.core.running import Running
from genlaws.figures import draw_figures, get_figure
from genlaws.figures.rules_facts.bandwidth import BandwidthSettings
from genlaws.figures.rules_facts.matched import paired_difference
from genlaws.figures.rules_facts.redraws import Redraws, mean_path_columns
from genlaws.rules_facts import optimal_angle, parameter_for_angle, solve
from genlaws.rules_facts.finite_size import learn_path, preferred_parameters, quadratic_match
from genlaws.rules_facts.labels.loading import load_labeled
from genlaws.rules_facts.labels.task import draw_labeled
from genlaws.sweeps.experiments.rules_facts import LabeledRunSettings, labeled_run

# The same number computed twice, in another order of additions.
TOLERANCE = 1e-12
# An error that is solved twice, alone and in an array.
SOLVER_TOLERANCE = 1e-9
TASK = {"redraws": 3, "sample_ratio": 2.0, "regularization_count": 7}
BANDWIDTHS = (0.1, 0.5, 2.0, 8.0, 30.0)
SMALL = {
    "rules-facts.5": {**TASK, "parameters": BANDWIDTHS, "curves": 3, "theory_points": 6, "path_points": 12},
    "rules-facts.14": {**TASK, "angles": (0.4, 1.2)},
    "rules-facts.15": {**TASK, "parameters": BANDWIDTHS, "curves": 3, "theory_points": 6, "path_points": 12},
}
LOSSES = {"rules-facts.5": "square", "rules-facts.15": "hinge"}


def where(frame, **values):
    for name, value in values.items():
        frame = frame[frame[name] == value]
    assert len(frame)
    return frame


def runs_of(redraws=TASK["redraws"], **settings):
    """Return the generalization and memorization errors of every redraw, without the engine."""
    chosen = {"sample_ratio": TASK["sample_ratio"], "regularization_count": TASK["regularization_count"], **settings}
    results = [labeled_run(LabeledRunSettings(**chosen, redraw=redraw), seed=0) for redraw in range(redraws)]
    return tuple(
        np.array([result[f"{name}_error"] for result in results]) for name in ("generalization", "memorization")
    )


@pytest.fixture(scope="module", params=["rules-facts.5", "rules-facts.15"])
def bandwidth(request):
    return LOSSES[request.param], get_figure(request.param).data(SMALL[request.param])


@pytest.fixture(scope="module")
def matched():
    return get_figure("rules-facts.14").data(SMALL["rules-facts.14"])


def test_theory_rows_are_what_a_single_call_returns(bandwidth):
    loss, frame = bandwidth
    theory = where(frame, series="theory")
    assert theory["converged"].all()
    assert set(where(theory, role="curve")["parameter"]) >= set(BANDWIDTHS)
    for row in theory.iloc[::5].to_dict("records"):
        optimal = row["regularization_choice"] == "optimal"
        alone = solve(
            loss,
            sample_ratio=2.0,
            fact_fraction=0.2,
            kernel=f"gaussian:{row['parameter']!r}",
            regularization="optimal" if optimal else row["regularization"],
        )
        assert row["generalization_error"] == pytest.approx(alone.generalization_error, abs=SOLVER_TOLERANCE)
        if not optimal:  # where the least error is flat in λ, so that memory is not determined as well
            assert row["memorization_error"] == pytest.approx(alone.memorization_error, abs=SOLVER_TOLERANCE)


def test_theory_marks_the_bandwidths_of_the_best_angles(bandwidth):
    loss, frame = bandwidth
    theory = where(frame, series="theory")
    marks = where(theory, role="preferred").set_index("regularization_choice")
    for choice, regularization in (("zero", 0.0), ("optimal", "optimal")):
        angle = optimal_angle(loss, fact_fraction=0.2, sample_ratio=2.0, regularization=regularization)
        assert marks.loc[choice, "parameter"] == pytest.approx(float(parameter_for_angle("gaussian", angle)))
        curve = where(theory, role="curve", regularization_choice=choice)["generalization_error"]
        assert marks.loc[choice, "generalization_error"] <= curve.min() + SOLVER_TOLERANCE
    ratio = np.log(marks.loc["zero", "parameter"] / marks.loc["optimal", "parameter"])
    assert marks["log_ratio"].to_numpy() == pytest.approx(ratio)
    assert (ratio == pytest.approx(0.0)) if loss == "square" else ratio > 0.0


def test_measured_rows_are_means_of_redraws_with_student_intervals(bandwidth):
    loss, frame = bandwidth
    measured = where(frame, series="measured", role="path")
    for name, errors in zip(("generalization", "memorization"), runs_of(loss=loss, parameters=BANDWIDTHS), strict=True):
        mean, half = errors.mean(axis=0), stats.t.ppf(0.975, 2) * stats.sem(errors, axis=0)
        for place, parameter in enumerate(BANDWIDTHS):
            path = where(measured, parameter=parameter)
            assert path[f"{name}_error"].to_numpy() == pytest.approx(mean[place], abs=TOLERANCE)
            assert path[f"{name}_error_low"].to_numpy() == pytest.approx((mean - half)[place], abs=TOLERANCE)
            assert path[f"{name}_error_high"].to_numpy() == pytest.approx((mean + half)[place], abs=TOLERANCE)


def test_preferred_bandwidths_come_with_bootstrap_intervals(bandwidth):
    loss, frame = bandwidth
    found = preferred_parameters(BANDWIDTHS, runs_of(loss=loss, parameters=BANDWIDTHS)[0])
    marks = where(frame, series="measured", role="preferred").set_index("regularization_choice")
    for choice, estimate, errors in (
        ("zero", found.preferred_at_zero, found.error_at_zero),
        ("optimal", found.preferred_at_best, found.error_at_best),
    ):
        ends = marks.loc[choice, ["parameter", "parameter_low", "parameter_high"]].tolist()
        assert ends == pytest.approx([estimate.value, estimate.low, estimate.high])
        curve = where(frame, series="measured", role="curve", regularization_choice=choice)
        assert curve["generalization_error"].to_numpy() == pytest.approx(errors.mean(axis=0), abs=TOLERANCE)
        assert bool(marks.loc[choice, "at_edge"]) == (errors.mean(axis=0).argmin() in (0, len(BANDWIDTHS) - 1))
    assert marks["log_ratio"].to_numpy() == pytest.approx(found.log_ratio.value)


def test_sizes_are_those_of_the_draws(bandwidth, matched):
    draw = draw_labeled(load_labeled("digits"), (3, 8), fact_fraction=0.2, sample_ratio=2.0, seed=0)
    for frame in (bandwidth[1], matched):
        assert set(frame["sample_count"]) == {draw.sample_count}
        assert set(frame["test_count"]) == {len(draw.test_inputs)}
        assert set(frame["rule_pool"] + frame["fact_pool"]) == {len(load_labeled("digits").classes)}


def test_bandwidth_summary_repeats_the_marks(bandwidth):
    loss, frame = bandwidth
    figure_id = {loss: figure_id for figure_id, loss in LOSSES.items()}[loss]
    summary = get_figure(figure_id).summary(frame, SMALL[figure_id]).set_index("quantity")
    first, second, ratio, _ = (summary.loc[quantity] for quantity in summary.index)
    assert ratio["value"] == pytest.approx(np.log(first["value"] / second["value"]))
    assert ratio["low"] <= ratio["value"] <= ratio["high"]
    assert ratio["theory"] == pytest.approx(np.log(first["theory"] / second["theory"]))
    assert not summary.isna().to_numpy().any()


def test_a_minimum_at_the_end_of_the_range_is_said():
    # Far above the best bandwidth the error only rises.
    settings = {**SMALL["rules-facts.5"], "parameters": (10.0, 20.0, 40.0, 80.0), "redraws": 6, "sample_ratio": 4.0}
    figure = get_figure("rules-facts.5")
    frame = figure.data(settings)
    marks = where(frame, role="preferred").set_index(["series", "regularization_choice"])
    assert marks.loc[("measured", "zero"), "at_edge"]
    assert marks.loc[("theory", "zero"), "at_edge"]
    assert "at the end of the range" in figure.draw(frame, settings).legends[0].get_title().get_text()


def test_picture_says_what_was_measured_and_keeps_colors():
    figure = get_figure("rules-facts.5")
    frame = figure.data(SMALL["rules-facts.5"])
    picture = figure.draw(frame, SMALL["rules-facts.5"])
    note = picture.legends[0].get_title().get_text()
    assert "measured best" in note
    assert "3 redraws of 128 training and 246 test samples" in note
    assert "share samples" in note
    theory, measured = picture.axes[:2]
    drawn = [
        {line.get_color() for line in axes.get_lines() if line.get_linestyle() == "-" and line.get_linewidth() >= 1.0}
        for axes in (theory, measured)
    ]
    assert len(drawn[0]) >= 3
    assert drawn[0] == drawn[1]


def redraws(errors):
    shape = errors.shape[1:]
    return Redraws(np.ones(shape[0]), np.geomspace(0.1, 1.0, shape[1]), errors, 0.5 * errors, np.ones(shape, bool), 8)


def test_difference_is_taken_redraw_by_redraw():
    rng = np.random.default_rng(5)
    # What a redraw does to both kernels is twenty times as large as what it does to one of them.
    common, own = 0.2 * rng.standard_normal((12, 1, 4)), 0.01 * rng.standard_normal((2, 12, 1, 4))
    first, second = 0.3 + common + own[0], 0.25 + common + own[1]
    table = paired_difference(redraws(first), redraws(second))
    test = stats.ttest_rel(first[:, 0], second[:, 0])
    interval = test.confidence_interval(0.95)
    assert table["generalization_difference"].to_numpy() == pytest.approx((first - second).mean(axis=0)[0])
    assert table["generalization_difference_low"].to_numpy() == pytest.approx(interval.low)
    assert table["generalization_difference_high"].to_numpy() == pytest.approx(interval.high)
    assert table["memorization_difference_high"].to_numpy() == pytest.approx(0.5 * interval.high)
    unpaired = mean_path_columns("error", first[:, 0])
    width = table["generalization_difference_high"] - table["generalization_difference_low"]
    assert (width.to_numpy() < 0.2 * (unpaired["error_high"] - unpaired["error_low"])).all()


def test_matched_kernels_train_on_the_same_redraws(matched):
    lam = np.geomspace(1e-6, 1e3, 7)
    differences = []
    for seed in range(TASK["redraws"]):
        draw = draw_labeled(load_labeled("digits"), (3, 8), fact_fraction=0.2, sample_ratio=2.0, seed=seed)
        paths = [
            learn_path(draw, regularization=lam, kernel=kernel, normalize=True)
            for kernel in ("gaussian:1.6", quadratic_match("gaussian:1.6"))
        ]
        differences.append(paths[0].generalization_error - paths[1].generalization_error)
    table = where(matched, series="difference")
    assert table["regularization"].to_numpy() == pytest.approx(lam)
    assert table["generalization_difference"].to_numpy() == pytest.approx(np.mean(differences, axis=0), abs=TOLERANCE)
    half = stats.t.ppf(0.975, 2) * stats.sem(differences, axis=0)
    width = table["generalization_difference_high"] - table["generalization_difference"]
    assert width.to_numpy() == pytest.approx(half, abs=TOLERANCE)
    means = [where(matched, series=name)["generalization_error"].to_numpy() for name in ("gaussian", "matched")]
    assert table["generalization_difference"].to_numpy() == pytest.approx(means[0] - means[1], abs=TOLERANCE)


def test_quadratic_rows_are_those_of_their_angle(matched):
    errors, _ = runs_of(family="quadratic", parameters=(0.4, 1.2), normalize=True)
    for place, angle in enumerate((0.4, 1.2)):
        path = where(matched, series="quadratic", kernel_angle=angle)
        assert path["generalization_error"].to_numpy() == pytest.approx(errors[:, place].mean(axis=0), abs=TOLERANCE)


@pytest.mark.parametrize("figure_id", ["rules-facts.5", "rules-facts.14"])
def test_a_stopped_figure_goes_on_to_the_same_table(figure_id, tmp_path):
    whole = draw_figures(figure_id, settings=SMALL[figure_id]).to_dict()
    steps, cells = CountedSteps(most=2), tmp_path / "cells"
    steps.running.folder = cells
    with pytest.raises(StoppedError):
        draw_figures(figure_id, settings=SMALL[figure_id], running=steps.running)
    resumed = draw_figures(figure_id, settings=SMALL[figure_id], running=Running(folder=cells))
    assert resumed.to_dict() == whole


def test_processes_give_the_same_table(matched):
    there = get_figure("rules-facts.14").data(SMALL["rules-facts.14"], running=Running(jobs=2))
    pd.testing.assert_frame_equal(there, matched, check_exact=True)


def test_a_file_of_your_own_and_words_for_classes(tmp_path):
    rng = np.random.default_rng(3)
    classes = np.repeat(["cat", "dog", "car"], 60)
    inputs = rng.standard_normal((180, 20)) + 1.5 * (classes == "cat")[:, None]
    np.savez(tmp_path / "mine.npz", inputs=inputs, labels=classes)
    settings = {
        **SMALL["rules-facts.5"],
        "data": str(tmp_path / "mine.npz"),
        "rule_classes": ["cat", "dog"],
        "fact_classes": ["car"],
    }
    figure = get_figure("rules-facts.5")
    frame = figure.data(settings)
    assert set(frame["sample_count"]) == {40}
    assert figure.draw(frame, settings).axes[1].get_title() == "mine, cat against dog"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"parameters": (1.0, 0.5, 2.0)}, "ascending"),
        ({"parameters": (1.0, 2.0)}, "parameters"),
        ({"smallest_regularization": 10.0, "largest_regularization": 1.0}, "below largest_regularization"),
        ({"redraws": 1}, "redraws"),
    ],
)
def test_settings_that_make_no_figure_are_refused_before_anything_is_computed(settings, complaint):
    with pytest.raises(InputError, match=complaint):
        get_figure("rules-facts.5").settings(settings)


def test_defaults_are_fifteen_bandwidths_over_three_decades():
    settings = BandwidthSettings()
    assert len(settings.parameters) == 15
    assert settings.parameters[0] == pytest.approx(0.05)
    assert settings.parameters[-1] == pytest.approx(50.0)
    assert settings.redraws == 20
