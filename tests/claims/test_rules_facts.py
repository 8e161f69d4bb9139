"""Claims of the Rules-and-Facts paper: quick checks give the recorded verdicts, and other ones for planted numbers."""

import csv
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from genlaws import rules_facts as raf
from genlaws.claims import Finding, get_claim, run_claim
from genlaws.claims.claim import FAILS, HOLDS, LIMITED, UNTESTED
from genlaws.claims.records import bundled_records, read_claims
from genlaws.claims.rules_facts import angles as angle
from genlaws.claims.rules_facts import data
from genlaws.claims.rules_facts import kernels as kernel
from genlaws.claims.rules_facts import kernels as width
from genlaws.claims.rules_facts import limits as limit
from genlaws.claims.rules_facts import runs as run
from genlaws.claims.rules_facts import states as state
from genlaws.claims.rules_facts import tradeoffs as trade
from genlaws.core.estimate import Estimate
from genlaws.rules_facts.finite_size import quadratic_match, read_input_kernel
from project_paths import ROOT

CLAIMS = read_claims("rules-facts")
WITH_IMAGES = {"rules-facts.fig-5-images", "rules-facts.fig-15-images"}


@pytest.fixture(autouse=True)
def _without_images(monkeypatch):
    monkeypatch.delenv("GENLAWS_DATA", raising=False)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_the_quick_verdict_is_the_recorded_one(claim):
    finding = run_claim(claim, quick=True)
    assert isinstance(finding, Finding)
    assert finding.sentence.endswith(".")
    assert all(isinstance(one, str) or np.isfinite(one) for one in finding.numbers.values())
    expected = UNTESTED if claim.id in WITH_IMAGES else bundled_records()[claim.id].verdict
    assert finding.verdict == expected


def bent(function, field, change):
    """Return a function whose result has one field changed."""

    def wrong(*args, **kwargs):
        found = function(*args, **kwargs)
        return replace(found, **{field: change(getattr(found, field))})

    return wrong


def scaled(function, factor):
    """Return a function whose number is off by a factor."""
    return lambda *args, **kwargs: factor * np.asarray(function(*args, **kwargs))


def with_arguments(function, **fixed):
    """Return a function that ignores some of its arguments."""
    return lambda *args, **kwargs: function(*args, **(kwargs | fixed))


def too_long(error):
    return 1.01 * error


def of_hinge(loss, **task):
    return raf.solve("hinge", **task)


def weakly_scaled(loss="square", *, regularization, **task):
    """Solve with a regularization that does not scale with the kernel."""
    lam = regularization if isinstance(regularization, str) else np.asarray(regularization) ** 0.9
    return raf.solve(loss, regularization=lam, **task)


def without_facts(loss, *, sample_ratio, **task):
    return raf.solve(loss, sample_ratio=sample_ratio, fact_fraction=0.0, regularization=0.0)


def narrow(loss, *, width_ratio=None, **task):
    """Solve with random features far narrower than requested."""
    return raf.solve(loss, width_ratio=None if width_ratio is None else np.asarray(width_ratio) / 1e5, **task)


def in_one_dimension(dimension, *args, **kwargs):
    return raf.draw_gaussian(50, *args, **kwargs)


def facts_that_follow_the_rule(*args, **kwargs):
    draw = raf.draw_gaussian(*args, **kwargs)
    return replace(draw, labels=np.where(draw.inputs @ draw.teacher >= 0.0, 1.0, -1.0))


def slow_bayes(*, sample_ratio, **task):
    found = raf.bayes_optimal(sample_ratio=sample_ratio, **task)
    return replace(found, generalization_error=found.generalization_error * np.asarray(sample_ratio) ** 0.5)


def other_errors(error):
    return SimpleNamespace(generalization_error=np.array([error]))


RULE, MEMORY = "generalization_error", "memorization_error"
RIGHT_TABLE = {2: angle.PRINTED_ERRORS[2], 10: (0.0853, 0.1208, 0.1008, 0.1196)}
WRONG_TABLE = {2: (0.25, 0.25, 0.25, 0.25), 10: (0.1, 0.1, 0.1, 0.1)}
HALVED_ERF = kernel.TABLE_1 | {"erf": (lambda t: 2 / np.pi * np.arcsin(t / 2), *kernel.TABLE_1["erf"][1:])}
WRONG_RELU = kernel.TABLE_1 | {"relu": (kernel.TABLE_1["relu"][0], 0.25, 0.2)}
FAST_AND_KEEPING = tuple((a, 1 / a, 0.01 / a, 0.0, 1 / a, 0.01 / a, 0.4) for a in (8.0, 16.0, 32.0, 64.0))
FORGETTING = tuple((*row[:3], 0.2, *row[4:]) for row in data.SLOW_READOUT)
PLANTED = [
    ("task", run, "draw_gaussian", in_one_dimension, FAILS),
    ("bayes-equations", state, "bayes_optimal", bent(raf.bayes_optimal, RULE, too_long), FAILS),
    ("bayes-unique", state, "_sign_changes", lambda *task: 3, FAILS),
    ("bayes-lower-bound", state, "bayes_optimal", bent(raf.bayes_optimal, RULE, too_long), FAILS),
    ("state-equations", state, "solve", bent(raf.solve, "self_overlap", too_long), FAILS),
    ("theory-at-finite-size", run, "solve", bent(raf.solve, RULE, lambda error: 1.3 * error), FAILS),
    ("order-parameters", run, "solve", bent(raf.solve, "teacher_overlap", lambda m: 1.2 * m), FAILS),
    ("memory-error", state, "solve", bent(raf.solve, MEMORY, too_long), FAILS),
    ("square-loss", state, "solve", bent(raf.solve, RULE, too_long), FAILS),
    ("kernel-numbers", kernel, "TABLE_1", HALVED_ERF, FAILS),
    ("table-1", kernel, "TABLE_1", WRONG_RELU, FAILS),
    ("only-two-numbers", run, "quadratic_match", lambda name: quadratic_match("gaussian:0.2"), FAILS),
    ("angle-invariance", state, "solve", weakly_scaled, FAILS),
    ("finite-width", width, "solve", bent(raf.solve, RULE, too_long), FAILS),
    ("kernel-limit", width, "solve", narrow, FAILS),
    ("square-threshold", limit, "interpolation_threshold", lambda *args, **task: 2.0, FAILS),
    ("hinge-threshold", limit, "interpolation_threshold", scaled(raf.interpolation_threshold, 1.01), FAILS),
    ("hinge-threshold-runs", limit, "interpolation_threshold", scaled(raf.interpolation_threshold, 1.6), FAILS),
    ("kernels-remember", limit, "solve", bent(raf.solve, MEMORY, lambda error: error + 0.01), FAILS),
    ("infinite-regularization", limit, "infinite_regularization", lambda **task: raf.Errors(0.3, 0.3), FAILS),
    ("eq-39", angle, "optimal_angle", scaled(raf.optimal_angle, 1.01), FAILS),
    ("eq-40", angle, "optimal_regularization", scaled(raf.optimal_regularization, 1.01), FAILS),
    ("both-at-once", angle, "solve", of_hinge, FAILS),
    ("eq-42", limit, "large_sample_error", scaled(raf.large_sample_error, 1.01), FAILS),
    ("bayes-decay", limit, "large_sample_bayes_error", scaled(raf.large_sample_bayes_error, 1.01), FAILS),
    ("hinge-conjecture", limit, "solve", without_facts, FAILS),
    ("hinge-without-facts", limit, "solve", with_arguments(raf.solve, fact_fraction=0.01), FAILS),
    ("fig-1-linear", trade, "solve", with_arguments(raf.solve, kernel="relu"), FAILS),
    ("fig-1-kernels", trade, "solve", with_arguments(raf.solve, kernel="linear"), FAILS),
    ("fig-2", trade, "solve", with_arguments(raf.solve, width_ratio=None), FAILS),
    ("fig-3-table", angle, "PRINTED_ERRORS", RIGHT_TABLE, HOLDS),
    ("fig-3-table", angle, "PRINTED_ERRORS", WRONG_TABLE, FAILS),
    ("fig-3-hinge", angle, "optimal_angle", lambda loss, **task: 0.69 if loss == "square" else np.full(2, 1.0), FAILS),
    ("fig-3-hinge-forgets", angle, "solve", with_arguments(raf.solve, regularization=0.0), FAILS),
    ("fig-4", trade, "optimal_angle", lambda *args, **task: 1.3, FAILS),
    ("fig-5-theory", kernel, "solve", of_hinge, FAILS),
    ("fig-6", limit, "DECAY_EXPONENTS", {"bayes": 0.5, "square": 0.5, "hinge": 0.5}, FAILS),
    ("fig-7", trade, "bayes_optimal", bent(raf.bayes_optimal, RULE, lambda error: 0.5 - error), FAILS),
    ("fig-8", limit, "solve", bent(raf.solve, MEMORY, lambda error: error + 0.01), FAILS),
    ("fig-10", kernel, "parameter_for_angle", scaled(raf.parameter_for_angle, 1.01), FAILS),
    ("fig-11", trade, "optimal_angle", scaled(raf.optimal_angle, 1.2), FAILS),
    ("fig-12", angle, "solve", of_hinge, FAILS),
    ("fig-14", run, "quadratic_match", read_input_kernel, FAILS),
    ("svm-drift", data, "learn_path", lambda *args, **how: other_errors(0.5), HOLDS),
    ("fig-16", trade, "solve", bent(raf.solve, RULE, lambda error: 0.5 - error), FAILS),
    ("message-passing", run, "bayes_optimal", bent(raf.bayes_optimal, RULE, lambda error: 1.3 * error), FAILS),
    ("bayes-forgets", run, "draw_gaussian", facts_that_follow_the_rule, FAILS),
    ("kernels-too-slow", limit, "bayes_optimal", slow_bayes, FAILS),
    ("two-layer", data, "SLOW_READOUT", FAST_AND_KEEPING, HOLDS),
    ("two-layer", data, "SLOW_READOUT", FORGETTING, FAILS),
]


@pytest.mark.parametrize(("name", "module", "part", "wrong", "verdict"), PLANTED, ids=[one[0] for one in PLANTED])
def test_planted_numbers_change_the_verdict(name, module, part, wrong, verdict, monkeypatch):
    claim = get_claim(f"rules-facts.{name}")
    monkeypatch.setattr(module, part, wrong)
    found = run_claim(claim, quick=True)
    assert found.verdict == verdict
    assert found.verdict != bundled_records()[claim.id].verdict


def test_every_claim_is_planted():
    assert {f"rules-facts.{one[0]}" for one in PLANTED} | WITH_IMAGES == {claim.id for claim in CLAIMS}


@pytest.mark.parametrize(
    ("log_ratio", "verdict"),
    [((1.0, 0.5, 1.5), HOLDS), ((0.5, -0.5, 1.5), LIMITED), ((-1.0, -1.5, -0.5), FAILS)],
)
@pytest.mark.parametrize("name", ["fig-5-images", "fig-15-images"])
def test_images_decide_by_the_ratio_of_bandwidths(name, log_ratio, verdict, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    classes = np.repeat([1, 3, 5], 1500)
    np.savez(tmp_path / data.IMAGES, x_train=rng.standard_normal((len(classes), 4)), y_train=classes)
    monkeypatch.setenv("GENLAWS_DATA", str(tmp_path))
    one = Estimate(2.0, 1.0, 3.0)
    found = SimpleNamespace(preferred_at_zero=one, preferred_at_best=one, log_ratio=Estimate(*log_ratio))
    monkeypatch.setattr(data, "preferred_parameters", lambda rates, errors: found)
    monkeypatch.setattr(data, "learn_path", lambda *args, **how: other_errors(0.4))
    assert run_claim(get_claim(f"rules-facts.{name}"), quick=True).verdict == verdict


def test_the_numbers_of_two_layer_networks_are_those_measured():
    columns = ["sample_ratio", "final_generalization_error", "final_half_interval", "final_memorization_error"]
    columns += ["best_generalization_error", "best_half_interval", "best_memorization_error"]
    with (ROOT / "studies" / "results" / "two_layer_h200.csv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["run"] == "study" and row["dimension"] == "100"]
    kind = {"width_ratio": "4.0", "loss": "logistic", "recipe": "slow readout, decay"}
    rows = [row for row in rows if all(row[name] == value for name, value in kind.items())]
    measured = [tuple(float(row[name]) for name in columns) for row in rows if float(row["sample_ratio"]) >= 8.0]
    assert tuple(measured) == data.SLOW_READOUT


RECIPES = {  # of the study, by the factor of the first layer and the weight decay
    ("300", "0.03"): "slow readout, decay",
    ("100", "0.03"): "fast features, decay",
    ("100", "0"): "fast features",
    ("10", "0"): "features ten times",
    ("1", "0"): "equal rates",
}
LAST_DIGIT = 5.1e-5  # half of the last digit the page shows, and a rounding


def test_the_page_on_two_layer_networks_shows_the_bundled_table():
    page = (ROOT / "docs" / "two_layer.md").read_text(encoding="utf-8")
    table = pd.read_csv(ROOT / "studies" / "results" / "two_layer_h200.csv")
    table = table[(table["run"] == "study") & (table["dimension"] == 100) & (table["sample_ratio"] >= 8.0)]
    table = table.set_index(["activation", "loss", "width_ratio", "recipe"]).sort_index()
    shown = page.partition("at the end of training:")[2].partition("*The kernel*")[0].strip().splitlines()[2:]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in shown]
    for network, factor, decay, per_dimension, facts, error, exponent in rows:
        runs = table.loc[(*network.split(", "), float(per_dimension), RECIPES[factor, decay])]
        alpha, rule, half = (
            runs[name] for name in ("sample_ratio", "final_generalization_error", "final_half_interval")
        )
        assert [float(one) for one in error.split(" ± ")] == pytest.approx(
            [rule.iloc[-1], half.iloc[-1]], abs=LAST_DIGIT
        )
        assert float(facts) == pytest.approx(runs["final_memorization_error"].iloc[-1], abs=LAST_DIGIT)
        if "±" in exponent:
            assert exponent == raf.fit_decay(alpha, rule, standard_error=half / data.STUDENT_T_7).exponent.brief
    # What decay does can be read only where networks with and without it are shown at the same width.
    widths = [{row[3] for row in rows if row[:3] == ["tanh, logistic", "100", decay]} for decay in ("0", "0.03")]
    assert widths[0] & widths[1] == {"0.5", "2", "4", "8"}
