"""Advice: the theory's choice in closed form, on Gaussian data as good as the best found, honest where facts hide."""

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

from counted_steps import CountedSteps
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.rules_facts import (
    Advice,
    Kernel,
    advise,
    draw_gaussian,
    draw_labeled,
    load_labeled,
    optimal_angle,
    solve,
)
from genlaws.rules_facts.finite_size import gram_matrix

ROOT = np.sqrt(2 / np.pi)
# Angles are found between 33 parameters on some of the pairs; at the end the angle is measured on all.
ANGLE_ACCURACY = 0.01
# Standard errors that a mean may be away, and the finite-size term of an error in units of 1/d.
DEVIATIONS, FINITE_SIZE = 4.0, 1.5
DRAWS, DIMENSION, RATIO, FACTS = 8, 100, 3.0, 0.2
CHOICES = ("theory_memory", "theory_rule", "found_memory", "found_rule")


def gaussian(seed, facts=FACTS, dimension=DIMENSION, ratio=RATIO):
    return draw_gaussian(dimension, ratio, facts, test_count=1, seed=seed)


def ask(draw, known=True, **options):
    return advise(draw.inputs, draw.labels, is_fact=draw.is_fact if known else None, **options)


def pooled(estimates):
    """Return the mean of estimates and its standard error, of independent samples each."""
    value = np.mean([one.value for one in estimates])
    return value, np.sqrt(sum(((one.high - one.low) / 3.92) ** 2 for one in estimates)) / len(estimates)


@pytest.fixture(scope="module")
def several():
    return [ask(gaussian(seed)) for seed in range(DRAWS)]


def test_the_choice_is_the_closed_form(several):
    for advice in several:
        rho = (1 - advice.fact_fraction.value) * ROOT
        assert advice.wanted_angle_memory == advice.wanted_angle_rule == pytest.approx(np.arcsin(rho))
        assert advice.theory_memory.kernel_angle == pytest.approx(np.arcsin(rho), abs=ANGLE_ACCURACY)
        row = int(np.flatnonzero(advice.parameter == advice.theory_rule.parameter)[0])
        best = advice.mu_1[row] ** 2 * (1 - rho**2) / rho**2 - advice.mu_star[row] ** 2
        smallest = advice.regularization[row, 0]
        assert advice.theory_rule.regularization == pytest.approx(max(best, smallest), rel=1e-6)
        assert advice.theory_memory.regularization == smallest


def test_on_gaussian_data_the_theory_is_as_good_as_the_best_found(several):
    price, error = pooled([advice.price_of_theory for advice in several])
    assert price < DEVIATIONS * error
    assert error < 0.01
    # A kernel far from the theory's is worse, by more than that.
    memorizer = np.mean([advice.generalization_error[-1, 0] for advice in several])
    chosen = np.mean([advice.theory_memory.generalization_error.value for advice in several])
    assert memorizer > chosen + DEVIATIONS * error + 0.01


def test_on_gaussian_data_the_levels_match(several):
    for name in ("theory_memory", "theory_rule"):
        choices = [getattr(advice, name) for advice in several]
        value, error = pooled([choice.generalization_error for choice in choices])
        predicted = np.mean([choice.predicted_generalization_error for choice in choices])
        assert abs(value - predicted) < DEVIATIONS * error + FINITE_SIZE / DIMENSION
    assert all(advice.theory_memory.memorization_error == 0.0 for advice in several)
    assert all(advice.effective_dimension == pytest.approx(DIMENSION, rel=0.05) for advice in several)


def test_what_comes_back(several):
    advice = several[0]
    assert isinstance(advice, Advice)
    kernels, path = advice.regularization.shape
    assert (np.diff(advice.parameter) > 0).all()
    assert (np.diff(advice.regularization, axis=1) > 0).all()
    for name in ("error", "low", "high", "clipped"):
        assert getattr(advice, f"generalization_{name}").shape == (kernels, path)
    assert advice.memorization_error.shape == (kernels, path)
    for name in ("parameter", "kernel_angle", "mu_1", "mu_star", "predicted_at_zero", "predicted_at_best"):
        assert getattr(advice, name).shape == (kernels,)
    assert (advice.generalization_low <= advice.generalization_error).all()
    assert (advice.generalization_error <= advice.generalization_high).all()
    assert advice.fact_fraction_source == "counted"
    assert advice.rule_count + advice.memory_count == advice.sample_count == 300
    assert advice.sample_ratio == RATIO
    assert advice.effective_sample_ratio == pytest.approx(RATIO, rel=0.05)
    table = advice.to_frame()
    assert len(table) == kernels * path
    assert table["generalization_error"].to_numpy() == pytest.approx(advice.generalization_error.ravel())
    for name in CHOICES:
        choice = getattr(advice, name)
        row = int(np.flatnonzero(advice.parameter == choice.parameter)[0])
        column = int(np.flatnonzero(advice.regularization[row] == choice.regularization)[0])
        assert choice.generalization_error.value == pytest.approx(advice.generalization_error[row, column])
        assert choice.memorization_error == pytest.approx(advice.memorization_error[row, column])
        if name.startswith("theory"):
            assert choice.nested_generalization_error == choice.generalization_error
        assert not choice.nested_generalization_error_clipped
    assert advice.memory_samples == "facts"
    assert advice.trained_share == 1.0
    price = advice.found_memory.nested_generalization_error.value - advice.found_rule.nested_generalization_error.value
    assert advice.price_of_memory.value == pytest.approx(price)
    assert advice.found_rule.generalization_error.value == advice.generalization_error.min()
    assert advice.found_memory.memorization_error <= 0.01


def test_on_gaussian_data_nothing_contradicts_the_theory(several):
    # By chance one in ten is contradicted.
    assert sum(advice.theory_fits for advice in several) >= DRAWS - 2
    advice = several[0]
    assert advice.theory_fits
    assert advice.predictions_fit(advice.theory_rule)
    # Measured far from what is predicted, on the rule or on the facts, it is.
    for change in ({"nested_generalization_error": Estimate(0.5, 0.45, 0.55)}, {"memorization_error": 0.5}):
        other = dataclasses.replace(advice, theory_rule=dataclasses.replace(advice.theory_rule, **change))
        assert len(other.theory_misfits) == 1
        assert not other.predictions_fit(other.theory_memory)
    # Where memory is not that of facts, it is not compared.
    assert dataclasses.replace(other, memory_samples="contradicted").theory_fits


def test_predictions_are_those_of_the_theory(several):
    advice = several[1]
    for parameter, at_zero, at_best, angle in zip(
        advice.parameter, advice.predicted_at_zero, advice.predicted_at_best, advice.kernel_angle, strict=True
    ):
        if angle < 0.01:
            continue
        task = {"sample_ratio": advice.effective_sample_ratio, "fact_fraction": advice.fact_fraction.value}
        kernel = Kernel.from_angle(float(angle))
        assert at_zero == pytest.approx(solve("square", **task, kernel=kernel, regularization=0.0).generalization_error)
        assert at_best == pytest.approx(solve("square", **task, kernel=kernel).generalization_error), parameter


def test_hidden_facts_are_estimated():
    covered, corrected, known = [], [], []
    for seed in range(4):
        draw = gaussian(seed, ratio=5.0)
        advice = ask(draw, known=False, parameters=[1.0])
        assert advice.fact_fraction_source == "estimated"
        assert advice.rule_count == advice.sample_count == 500
        covered.append(advice.fact_fraction.low <= draw.fact_fraction <= advice.fact_fraction.high)
        given = ask(draw, known=False, fact_fraction=draw.fact_fraction, parameters=[1.0])
        assert given.fact_fraction_source == "given"
        assert given.memory_samples == advice.memory_samples == "contradicted"
        corrected.append(given.theory_memory.generalization_error)
        known.append(ask(draw, parameters=[1.0]).theory_memory.generalization_error)
    assert sum(covered) >= 3
    # At the true share, what is left after the correction is the error on the samples of the rule.
    value, error = pooled(corrected)
    assert abs(value - pooled(known)[0]) < DEVIATIONS * error
    assert all(one.low < one.value < one.high for one in corrected)


def test_labels_without_a_rule_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="labels must follow a rule; the estimated fact fraction"):
        advise(rng.normal(size=(100, 50)), rng.choice([-1.0, 1.0], 100))


def test_the_hinge_has_its_own_angle():
    advice = ask(gaussian(0, dimension=60), loss="hinge", parameters=[0.3, 3.0])
    task = {"sample_ratio": advice.effective_sample_ratio, "fact_fraction": advice.fact_fraction.value}
    assert advice.wanted_angle_memory == pytest.approx(optimal_angle("hinge", **task))
    assert advice.wanted_angle_rule == pytest.approx(optimal_angle("hinge", **task, regularization="optimal"))
    assert advice.theory_memory.kernel_angle == pytest.approx(advice.wanted_angle_memory, abs=ANGLE_ACCURACY)
    assert advice.theory_memory.memorization_error == 0.0
    assert len(advice.parameter) == 4
    # Four fifths of the samples train a left-out learner.
    row = int(np.flatnonzero(advice.parameter == advice.theory_rule.parameter)[0])
    kernel = Kernel(advice.mu_1[row], advice.mu_star[row])
    task["sample_ratio"] *= 0.8
    left_out = solve("hinge", **task, kernel=kernel, regularization=advice.theory_rule.regularization)
    assert advice.theory_rule.predicted_generalization_error == pytest.approx(left_out.generalization_error)
    assert advice.predicted_at_best[row] == pytest.approx(solve("hinge", **task, kernel=kernel).generalization_error)
    again = ask(gaussian(0, dimension=60), loss="hinge", parameters=[0.3, 3.0])
    other = ask(gaussian(0, dimension=60), loss="hinge", parameters=[0.3, 3.0], seed=1)
    assert (again.generalization_error == advice.generalization_error).all()
    assert (other.generalization_error != advice.generalization_error).any()


def test_the_same_call_gives_the_same_advice(several):
    again = ask(gaussian(0))
    for field in dataclasses.fields(Advice):
        one, two = getattr(several[0], field.name), getattr(again, field.name)
        assert np.array_equal(one, two) if isinstance(one, np.ndarray) else str(one) == str(two), field.name


def test_without_facts():
    advice = ask(gaussian(0, facts=0.0), parameters=[1.0])
    assert advice.fact_fraction.value == 0.0
    assert advice.wanted_angle_memory == pytest.approx(np.arcsin(ROOT))
    # Nothing is a fact, so memory is that of all labels.
    assert advice.memory_count == advice.sample_count
    assert advice.memory_samples == "all"
    assert advice.memory_samples_text == "300 labels, all of them"
    single = dataclasses.replace(advice, memory_samples="contradicted", memory_count=1)
    assert single.memory_samples_text == "1 label that left-out predictions contradict"
    assert advice.theory_memory.memorization_error == 0.0


@pytest.mark.parametrize("family", ["quadratic", "geometric", "exponential"])
def test_other_families(family):
    advice = ask(gaussian(0), family=family, normalize=True, parameters=[0.3, 0.9])
    angle = advice.wanted_angle_memory
    assert advice.theory_memory.kernel_angle == pytest.approx(angle, abs=ANGLE_ACCURACY)
    if family == "quadratic":
        assert advice.theory_memory.parameter == pytest.approx(angle, abs=0.03)
    if family == "geometric":
        assert advice.theory_memory.parameter == pytest.approx(np.cos(angle) ** 2, abs=0.03)
        with pytest.raises(InputError, match="needs inputs of squared length d"):
            ask(gaussian(0), family=family)


def test_the_theorys_parameter_replaces_the_one_next_to_it():
    first = ask(gaussian(0), parameters=[0.5])
    wanted = first.theory_memory.parameter
    again = ask(gaussian(0), parameters=[0.5, wanted * (1 + 1e-9)])
    assert again.parameter.tolist() == first.parameter.tolist() == sorted([0.5, wanted])


def test_units_of_the_data_do_not_matter_to_the_exponential_of_long_inputs():
    data = load_labeled("digits")
    draw = draw_labeled(data, (3, 8), fact_fraction=0.2, sample_count=150, test_count=2)
    advice = ask(draw, family="exponential")
    assert np.isfinite(advice.generalization_error).all()
    assert advice.theory_memory.kernel_angle == pytest.approx(advice.wanted_angle_memory, abs=0.02)


def test_progress_is_reported():
    steps = CountedSteps()
    advice = ask(gaussian(0, dimension=20), parameters=[0.5, 1.0], running=steps.running)
    assert steps.totals == [len(advice.parameter)]
    steps.check_complete()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"inputs": np.ones((40, 8))}, "nothing distinguishes them"),
        ({"inputs": np.full((40, 8), np.nan)}, "inputs must not contain NaN"),
        ({"inputs": np.ones((10, 8)), "labels": np.ones(10)}, "20 or more"),
        ({"labels": np.ones(40)}, "both must occur"),
        ({"is_fact": np.ones(40, dtype=bool)}, "false for 20 or more"),
        ({"is_fact": None, "fact_fraction": 1.0}, "fact_fraction must be below 1"),
        ({"loss": "hinge", "folds": 30}, "folds must not exceed"),
    ],
)
def test_bad_input_is_refused(change, sentence):
    draw = draw_gaussian(8, 5.0, 0.2, test_count=1)
    valid = {"inputs": draw.inputs, "labels": draw.labels, "is_fact": draw.is_fact, "parameters": [1.0]}
    with pytest.raises(InputError, match=sentence):
        advise(**valid | change)


def test_the_choice_for_the_rule_is_as_good_as_a_library_default_where_the_theory_is_not():
    rng, data = np.random.default_rng(0), load_breast_cancer()
    truth, order = 2.0 * data.target - 1.0, rng.permutation(len(data.target))
    training, held_out = order[:300], order[300:]
    labels = np.where(rng.random(300) < FACTS, rng.choice([-1.0, 1.0], 300), truth[training])
    scaled = (data.data - data.data[training].mean(axis=0)) / data.data[training].std(axis=0)
    advice = advise(scaled[training], labels)

    def error(choice):
        kernel = f"gaussian:{choice.parameter!r}"
        ridge = gram_matrix(kernel, scaled[training]) + choice.regularization * np.eye(300)
        outputs = gram_matrix(kernel, scaled[held_out], scaled[training]) @ np.linalg.solve(ridge, labels)
        return np.mean(np.sign(outputs) != truth[held_out])

    default = np.mean(SVC().fit(scaled[training], labels).predict(scaled[held_out]) != truth[held_out])
    found, memory, theory = (error(getattr(advice, name)) for name in ("found_rule", "found_memory", "theory_rule"))
    assert found < default + 0.02
    assert memory < theory - 0.1
    assert theory > default + 0.1
    assert not advice.theory_fits
    # What is promised for the choice holds on samples that were not there.
    assert (
        advice.found_rule.nested_generalization_error.low <= found <= advice.found_rule.nested_generalization_error.high
    )
