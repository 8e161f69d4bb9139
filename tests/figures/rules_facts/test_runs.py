"""Figures with runs of finite size: the theory and the means of the runs agree."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from counted_steps import CountedSteps
from genlaws.core.errors import InputError
from genlaws.core.running import Running
from genlaws.figures import get_figure
from genlaws.figures.rules_facts.tables import ERROR_COLUMNS, averaged, has_intercept, mean_columns
from genlaws.rules_facts import Kernel, bayes_optimal, optimal_angle, solve
from genlaws.rules_facts.finite_size import DrawProducts, learn_path, quadratic_match
from genlaws.rules_facts.finite_size.extrapolation import extrapolate
from genlaws.rules_facts.labels.task import draw_gaussian
from genlaws.rules_facts.theory.message_passing import state_evolution
from genlaws.sweeps.computing import ComputedCell
from genlaws.sweeps.experiments.rules_facts import GaussianRunSettings

# An error that is solved exactly twice must agree to this.
TOLERANCE = 1e-10
# Means of runs lie within this many standard errors of the theory, on top of a correction of this size over d: runs of
# learners without an intercept or at weak regularization have corrections of 0.5 to 2 (the finite-size figure).
MAX_Z_SCORE, CORRECTION = 4.0, 3.0
# The quadratic kernel has a larger correction than the Gaussian one: on the same draws, 0.9/d more at two samples per
# dimension and 2.0/d more at four.
MATCH_CORRECTION = 2.0

SMALL = {"dimension": 60, "repeats": 6, "path_points": 5}
LIMITS = {
    "dimensions": (40, 80, 160),
    "repeats": 12,
    "tasks": ((1.0, 0.2, 0.1), (2.0, 0.4, 0.3)),
    "learners": (("linear", None), ("relu", None), ("erf", 2.0)),
}
PASSING = {"dimension": 150, "repeats": 8, "sample_ratios": (1.0, 3.0), "followed": (3.0,), "shown_iterations": 12}


def table(name, **settings):
    steps = CountedSteps()
    frame = get_figure(f"rules-facts.{name}").data(settings, running=steps.running)
    assert len(steps.totals) == 1
    steps.check_complete()
    return frame


def with_runs(frame):
    return frame[frame["run_count"].notna()]


def theory_of(row):
    """The theory of one row, solved alone."""
    width = row.get("width_ratio", np.inf)
    return solve(
        row["loss"],
        sample_ratio=row["sample_ratio"],
        fact_fraction=row["fact_fraction"],
        kernel=row["kernel"],
        regularization=row["regularization"],
        width_ratio=None if np.isinf(width) else width,
    )


@pytest.fixture(scope="module")
def kernels():
    return table(1, **SMALL)


@pytest.fixture(scope="module")
def widths():
    return table(2, **SMALL, width_ratios=(0.5, 3.0))


@pytest.fixture(scope="module")
def agreement():
    return table(13, **{**SMALL, "dimension": 100, "repeats": 10})


@pytest.fixture(scope="module")
def limits():
    return table("finite-size", **LIMITS)


@pytest.fixture(scope="module")
def passing():
    return table("message-passing", **PASSING)


def cells(values, **settings):
    """Cells of one learner whose errors are given, (repeats, regularizations)."""
    about = GaussianRunSettings(**settings)
    return [ComputedCell(about, {**dict.fromkeys(ERROR_COLUMNS, np.array(row)), "converged": True}) for row in values]


def test_means_and_intervals_are_student_s():
    values = np.array([0.1, 0.15, 0.11, 0.2])
    found = mean_columns("error", values)
    low, high = stats.t.interval(0.95, 3, loc=values.mean(), scale=stats.sem(values))
    assert list(found.values()) == pytest.approx([values.mean(), low, high, stats.sem(values)])
    assert list(found) == ["error", "error_low", "error_high", "error_standard_error"]


def test_a_run_without_facts_is_left_out_and_one_run_has_no_interval():
    assert mean_columns("x", np.array([0.1, np.nan, 0.3]))["x"] == pytest.approx(0.2)
    alone, none = mean_columns("x", np.array([0.1])), mean_columns("x", np.array([np.nan]))
    assert alone["x"] == pytest.approx(0.1)
    assert np.isnan([alone["x_low"], alone["x_high"], none["x"], none["x_low"]]).all()


def test_cells_are_averaged_by_learner_and_regularization():
    first = cells([[0.1, 0.2], [0.3, 0.6]], kernel="erf", regularizations=(0.5, 2.0))
    second = cells([[0.4]], kernel="erf", width_ratio=3.0, regularizations=(0.5,))
    found = averaged([first[0], *second, first[1]])
    assert found["width_ratio"].tolist() == [np.inf, np.inf, 3.0]
    assert found["regularization"].tolist() == [0.5, 2.0, 0.5]
    assert found["run_generalization_error"].tolist() == pytest.approx([0.2, 0.4, 0.4])
    assert found["run_count"].tolist() == [2, 2, 1]
    low, high = stats.t.interval(0.95, 1, loc=0.4, scale=0.2)
    assert found["run_memorization_error_low"][1] == pytest.approx(low)
    assert found["run_memorization_error_high"][1] == pytest.approx(high)


@pytest.mark.parametrize("name", ["kernels", "widths", "agreement"])
def test_runs_stand_beside_their_own_theory_and_agree_with_it(name, request):
    rows = with_runs(request.getfixturevalue(name))
    assert len(rows) >= 18
    size = 100 if name == "agreement" else 60
    for _, row in rows.iterrows():
        alone = theory_of(row)
        for error in ERROR_COLUMNS:
            assert row[error] == pytest.approx(getattr(alone, error), abs=TOLERANCE)
            allowed = MAX_Z_SCORE * row[f"run_{error}_standard_error"] + CORRECTION / size
            assert abs(row[f"run_{error}"] - row[error]) < allowed


def test_kernels_with_an_intercept_have_no_runs_at_strong_regularization(kernels):
    assert [has_intercept(name) for name in ("relu", "gaussian:1.5", "erf", "linear")] == [True, True, False, False]
    largest = with_runs(kernels).groupby("kernel")["regularization"].max()
    assert largest.to_dict() == {"linear": 3.0, "erf": 3.0, "relu": 0.3}


def test_without_repeats_there_is_theory_alone(kernels):
    for number in (1, 2, 13):
        figure = get_figure(f"rules-facts.{number}")
        settings = {"repeats": 0, "path_points": 5}
        frame = figure.data(settings)
        assert frame["run_count"].isna().all()
        assert len(frame) == 7 * len(
            frame.groupby([c for c in ("loss", "kernel", "width_ratio", "family") if c in frame])
        )
        assert figure.draw(frame, settings).axes
    assert set(frame.columns) <= {*kernels.columns, "family", "matched"}


def test_matched_kernels_agree_within_their_intervals(agreement):
    summary = get_figure("rules-facts.13").summary(agreement, None)
    assert summary.groupby("loss")["regularization"].apply(list).to_dict() == {
        "square": [0.01, 0.3, 0.6, 1.0, 2.0],
        "hinge": [0.01, 0.3, 0.6, 1.0],
    }
    for error in ("generalization", "memorization"):
        assert (summary[f"{error}_difference_low"] <= MATCH_CORRECTION / 100).all()
        assert (summary[f"{error}_difference_high"] >= -MATCH_CORRECTION / 100).all()
        parts = summary[f"{error}_Gaussian_less_theory"] - summary[f"{error}_quadratic_less_theory"]
        assert parts.tolist() == pytest.approx(summary[f"{error}_difference"].tolist(), abs=TOLERANCE)
    pair = agreement.groupby(["loss", "regularization"])["generalization_error"].nunique()
    assert (pair == 1).all()


def test_matched_kernels_draw_nearer_as_the_dimension_grows():
    name, found = "gaussian:1.5", {}
    for d, count in ((40, 40), (160, 10)):
        gaps = []
        for seed in range(count):
            draw = draw_gaussian(d, 2.0, 0.2, test_count=1000, seed=seed)
            products = DrawProducts.of(draw, normalize=True)
            paths = [
                learn_path(draw, regularization=(0.1,), kernel=k, products=products)
                for k in (name, quadratic_match(name))
            ]
            gaps.append(paths[1].generalization_error[0] - paths[0].generalization_error[0])
        found[d] = np.mean(gaps), stats.sem(gaps)
    assert found[40][0] > MAX_Z_SCORE * found[40][1]
    assert 0.0 < found[160][0] < 0.5 * found[40][0]


def test_welch_s_interval_of_the_difference(agreement):
    summary = get_figure("rules-facts.13").summary(agreement, None).iloc[0]
    rows = with_runs(agreement)
    rows = rows[(rows["loss"] == "square") & (rows["regularization"] == 0.01)]
    errors = rows["run_generalization_error_standard_error"].to_numpy()
    half = summary["generalization_difference_high"] - summary["generalization_difference"]
    freedom = np.square(errors).sum() ** 2 / (errors**4 / 9).sum()
    assert half == pytest.approx(stats.t.ppf(0.975, freedom) * np.hypot(*errors))


def test_bandwidths_are_those_of_the_best_angles(agreement):
    for loss in ("square", "hinge"):
        (name,) = agreement.loc[agreement["loss"] == loss, "kernel"].unique()
        best = optimal_angle(loss, fact_fraction=0.2, sample_ratio=3.0)
        assert float(Kernel.from_name(name).kernel_angle) == pytest.approx(best, abs=1e-3)


def test_limits_of_the_runs_are_those_of_the_theory(limits):
    compared = limits[limits["compared"]]
    assert len(limits) == 2 * 2 * 2 * 3
    assert len(compared) >= 16
    assert compared["z_score"].abs().max() < MAX_Z_SCORE
    # Twenty z-scores of deviation one have a deviation of 1 ± 0.16 as a sample.
    assert 0.5 < compared["z_score"].std() < 1.5


def test_limits_are_recomputed_from_the_columns(limits):
    sizes, repeats = np.array(LIMITS["dimensions"]), LIMITS["repeats"]
    for _, row in limits[limits["compared"]].iterrows():
        alone = theory_of(row)
        assert row["theory"] == pytest.approx(getattr(alone, f"{row['quantity']}_error"), abs=TOLERANCE)
        means = [row[f"mean_{d}"] for d in sizes]
        variance = np.mean([d * repeats * row[f"standard_error_{d}"] ** 2 for d in sizes])
        fit = extrapolate(sizes, means, np.sqrt(variance / (sizes * repeats)))
        assert row["limit"] == pytest.approx(fit.value)
        assert row["z_score"] == pytest.approx(fit.z_score(row["theory"]))


def test_errors_too_rare_are_not_compared(limits):
    rare = limits[~limits["compared"]]
    assert set(rare["quantity"]) == {"memorization"}
    wrong = rare["theory"] * rare["fact_fraction"] * rare["sample_ratio"] * 40 * 12
    assert (wrong < 10.0).all()
    assert rare["z_score"].isna().all()


def test_summary_of_the_z_scores(limits):
    both = get_figure("rules-facts.finite-size").summary(limits, LIMITS).set_index("quantity").loc["both"]
    z = limits["z_score"].dropna()
    assert both[["count", "largest_z", "deviation_z"]].tolist() == pytest.approx([len(z), z.abs().max(), z.std(ddof=0)])
    assert both["worst_kernel"] == limits.loc[z.abs().idxmax(), "kernel"]


def test_message_passing_stands_beside_its_state_evolution_and_the_bayes_curve(passing):
    steps = passing[passing["series"] == "iterations"]
    theory = state_evolution(sample_ratio=3.0, fact_fraction=0.2, iterations=12).overlap
    assert steps["teacher_overlap"].tolist() == pytest.approx(theory.tolist(), abs=TOLERANCE)
    bayes = passing[passing["learner"] == "bayes"]
    best = bayes_optimal(sample_ratio=bayes["sample_ratio"].to_numpy(), fact_fraction=0.2).generalization_error
    assert bayes["generalization_error"].tolist() == pytest.approx(best.tolist(), abs=TOLERANCE)
    runs = bayes[bayes["run_generalization_error"].notna()]
    assert runs["sample_ratio"].tolist() == [1.0, 3.0]
    for rows, name in ((steps.iloc[1:], "teacher_overlap"), (runs, "generalization_error")):
        allowed = MAX_Z_SCORE * rows[f"run_{name}_standard_error"] + CORRECTION / 150
        assert ((rows[f"run_{name}"] - rows[name]).abs() < allowed).all()
    learners = passing.loc[passing["series"] == "samples"].groupby("learner")["generalization_error"].min()
    assert learners["bayes"] < learners["hinge"] < learners["square"]


@pytest.mark.parametrize(
    ("number", "settings"),
    [
        (2, {"dimension": 20, "repeats": 2, "path_points": 3, "width_ratios": (2.0,)}),
        (13, {"dimension": 20, "repeats": 2, "path_points": 3}),
        ("finite-size", {**LIMITS, "dimensions": (20, 30, 40), "repeats": 2, "tasks": ((2.0, 0.4, 0.3),)}),
    ],
)
def test_one_folder_holds_all_runs_of_a_figure(number, settings, tmp_path):
    data = get_figure(f"rules-facts.{number}").data
    steps = CountedSteps()
    here = data(settings)
    stored = data(settings, running=Running(folder=tmp_path))
    again = data(settings, running=Running(steps, folder=tmp_path))
    pd.testing.assert_frame_equal(stored, here, check_exact=True)
    pd.testing.assert_frame_equal(again, here, check_exact=True)
    steps.check_complete()
    assert [folder.name for folder in tmp_path.iterdir()] == ["rules-facts.gaussian-runs"]


@pytest.mark.parametrize(
    ("name", "settings", "complaint"),
    [
        (1, {"run_regularizations": (0.0, 1.0)}, "run_regularizations"),
        (1, {"repeats": -1}, "repeats"),
        (2, {"dimension": 5}, "dimension"),
        ("finite-size", {"dimensions": (100, 200)}, "dimensions"),
        ("finite-size", {"repeats": 1}, "repeats"),
        ("message-passing", {"followed": (4.0,)}, "followed must be among sample_ratios"),
        ("message-passing", {"iterations": 10, "shown_iterations": 11}, "must not exceed iterations"),
    ],
)
def test_wrong_settings_are_refused(name, settings, complaint):
    with pytest.raises(InputError, match=complaint):
        get_figure(f"rules-facts.{name}").data(settings)
