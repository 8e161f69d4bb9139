"""Checks of the Rules-and-Facts theory against learners that were trained on draws of finite size."""

from __future__ import annotations

from typing import Any

import numpy as np

from genlaws.claims.claim import Finding, holds_if, number_id
from genlaws.claims.rules_facts.angles import FACT_FRACTION
from genlaws.core.arguments import Array
from genlaws.rules_facts import Draw, bayes_optimal, draw_gaussian, message_passing, solve
from genlaws.rules_facts.finite_size import DrawProducts, extrapolate, learn_path, quadratic_match

MAX_RUN_Z_SCORE = 3.5  # a true law passes 15 such comparisons in 99 of 100 cases
MATCHED_KERNEL = "gaussian:1.59"  # near the best angle of ridge regression at this fact fraction
LearnerCase = tuple[str, str, float | None, float]  # loss, kernel or activation, width ratio, regularization
LEARNERS: tuple[LearnerCase, ...] = (
    ("square", "erf", None, 0.1),
    ("hinge", "erf", None, 0.3),
    ("square", "erf", 2.0, 0.05),
)


def check_theory_against_runs(quick: bool) -> Finding:
    """Train learners in two dimensions, extrapolate both errors in 1/d and compare with the theory."""
    dimensions, runs = ((60, 150), 10) if quick else ((100, 200, 400), 40)
    scores: dict[str, float] = {}
    for loss, name, width, lam in LEARNERS:
        theory = solve(
            loss, sample_ratio=3.0, fact_fraction=FACT_FRACTION, kernel=name, regularization=lam, width_ratio=width
        )
        label = f"{loss}, {name}" + ("" if width is None else f", width {width:g}")
        found = np.array(
            [[_errors_of_trained((loss, name, width, lam), d, seed) for seed in range(runs)] for d in dimensions]
        )
        for place, error in enumerate(("generalization_error", "memorization_error")):
            means, spread = found[..., place].mean(axis=1), found[..., place].std(axis=1, ddof=1)
            limit = extrapolate(dimensions, means, np.maximum(spread, 1e-6) / np.sqrt(runs))
            score = (limit.value - getattr(theory, error)) / limit.error
            scores[number_id(f"z_of_{error}_{label}")] = float(score)
    return holds_if(
        max(abs(one) for one in scores.values()) < MAX_RUN_Z_SCORE,
        {"runs_in_each_dimension": runs, "dimensions": ", ".join(map(str, dimensions)), **scores},
        "Errors of trained learners, extrapolated to infinite dimension, agree with the theory within their scatter.",
    )


def _errors_of_trained(learner: LearnerCase, dimension: int, seed: int) -> tuple[float, float]:
    """Return both errors of one learner on one draw."""
    loss, name, width, lam = learner
    draw = draw_gaussian(dimension, 3.0, FACT_FRACTION, test_count=1500, seed=1000 * dimension + seed)
    how: dict[str, Any] = {"kernel": name, "normalize": True}
    if width is not None:
        how = {"activation": name, "width": round(width * dimension), "seed": seed}
    found = learn_path(draw, loss=loss, regularization=[lam], **how)
    return float(found.generalization_error[0]), float(found.memorization_error[0])


def _ridge_weights(draw: Draw, lam: float) -> Array:
    """Return the weights of linear ridge regression, from its normal equations."""
    d = draw.inputs.shape[1]
    x = draw.inputs / np.sqrt(d)
    return np.asarray(np.linalg.solve(x.T @ x + lam * np.eye(d), x.T @ draw.labels))


def check_order_parameters(quick: bool) -> Finding:
    """Measure m and q of Eq. 31 on trained weights of the linear model."""
    dimension, runs, lam = (300, 20, 0.5) if quick else (1000, 40, 0.5)
    theory = solve("square", sample_ratio=3.0, fact_fraction=FACT_FRACTION, regularization=lam)
    found = []
    for seed in range(runs):
        draw = draw_gaussian(dimension, 3.0, FACT_FRACTION, test_count=1, seed=seed)
        weights, teacher = _ridge_weights(draw, lam), np.asarray(draw.teacher)
        found.append((weights @ teacher / dimension, weights @ weights / dimension))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(runs)
    allowed = MAX_RUN_Z_SCORE * error + 2.0 / dimension  # and a correction of first order in 1/d
    want = np.array([theory.teacher_overlap, theory.self_overlap])
    numbers = {
        "teacher_overlap_measured": mean[0],
        "teacher_overlap_theory": want[0],
        "self_overlap_measured": mean[1],
        "self_overlap_theory": want[1],
    }
    return holds_if(
        (np.abs(mean - want) < allowed).all(),
        {**numbers, "teacher_overlap_allowed": allowed[0], "self_overlap_allowed": allowed[1]},
        "Overlap with the teacher and squared length of the trained weights are the order parameters m and q.",
    )


def check_self_averaging(quick: bool) -> Finding:
    """Compare the scatter of the generalization error between draws in two dimensions."""
    small, large, runs = (50, 450, 60) if quick else (100, 900, 200)
    spread = {}
    for dimension in (small, large):
        errors = []
        for seed in range(runs):
            draw = draw_gaussian(dimension, 2.0, FACT_FRACTION, test_count=1, seed=seed)
            weights, teacher = _ridge_weights(draw, 0.5), np.asarray(draw.teacher)
            cosine = weights @ teacher / np.sqrt((weights @ weights) * (teacher @ teacher))
            errors.append(np.arccos(cosine) / np.pi)
        spread[dimension] = float(np.std(errors, ddof=1))
    ratio = spread[small] / spread[large]
    allowed = 3.0 / np.sqrt(runs)  # relative, three standard errors of a ratio of spreads
    return holds_if(
        abs(ratio / 3.0 - 1.0) < allowed,
        {f"spread_in_{d}_dimensions": one for d, one in spread.items()} | {"ratio": ratio, "expected_ratio": 3.0},
        "The generalization error of a single draw concentrates as the square root of one over the dimension.",
    )


def check_matched_kernels(quick: bool) -> Finding:
    """Train two kernels with equal numbers on the same Gaussian draws of growing dimension."""
    dimensions, runs = ((40, 80, 160), 12) if quick else ((50, 100, 200, 400), 40)
    means, errors = [], []
    for dimension in dimensions:
        draws = (draw_gaussian(dimension, 3.0, FACT_FRACTION, test_count=3000, seed=seed) for seed in range(runs))
        gaps = [matched_gap(draw, MATCHED_KERNEL, 0.01) for draw in draws]
        means.append(float(np.mean(gaps)))
        errors.append(float(np.std(gaps, ddof=1) / np.sqrt(runs)))
    limit = extrapolate(dimensions, means, errors, order=2)
    score = limit.value / limit.error
    numbers = {f"difference_in_{d}_dimensions": one for d, one in zip(dimensions, means, strict=True)}
    return holds_if(
        abs(score) < MAX_RUN_Z_SCORE and abs(means[-1]) < 0.6 * abs(means[0]),
        {**numbers, "z_of_the_difference_in_the_limit": score},
        "Two kernels with equal numbers differ in generalization error by an amount that vanishes as the dimension "
        "grows.",
    )


def matched_gap(draw: Draw, kernel: str, regularization: float) -> float:
    """Return how far the generalization errors of a kernel and of the quadratic one with its numbers are apart."""
    products = DrawProducts.of(draw, normalize=True)
    first, second = (
        learn_path(draw, loss="square", kernel=one, regularization=[regularization], products=products)
        for one in (kernel, quadratic_match(kernel))
    )
    return float(first.generalization_error[0] - second.generalization_error[0])


def check_message_passing(quick: bool) -> Finding:
    """Run the Bayes-optimal algorithm and compare its generalization error with the Bayes curve."""
    dimension, runs = (400, 8) if quick else (2000, 10)
    numbers: dict[str, float] = {"dimension": dimension, "runs": runs}
    fine = True
    for alpha in (2.0, 5.0):
        errors = []
        for seed in range(runs):
            draw = draw_gaussian(dimension, alpha, FACT_FRACTION, test_count=1, seed=seed)
            errors.append(
                message_passing(draw.inputs, draw.labels, fact_fraction=FACT_FRACTION).true_generalization_error(
                    np.asarray(draw.teacher)
                )
            )
        curve = float(bayes_optimal(sample_ratio=alpha, fact_fraction=FACT_FRACTION).generalization_error)
        mean, error = float(np.mean(errors)), float(np.std(errors, ddof=1) / np.sqrt(runs))
        numbers |= {number_id(f"measured_at_{alpha:g}"): mean, number_id(f"bayes_curve_at_{alpha:g}"): curve}
        fine &= abs(mean - curve) < MAX_RUN_Z_SCORE * error + 1.0 / dimension
    return holds_if(fine, numbers, "Message passing with the channel of rules and facts reaches the Bayes curve.")


def check_bayes_forgets(quick: bool) -> Finding:
    """Predict the labels of the training facts with the Bayes-optimal weights."""
    runs, dimension, alpha = 4 if quick else 20, 300, 8.0
    wrong = []
    for seed in range(runs):
        draw = draw_gaussian(dimension, alpha, FACT_FRACTION, test_count=1, seed=seed)
        weights = np.asarray(message_passing(draw.inputs, draw.labels, fact_fraction=FACT_FRACTION).weights)
        facts = draw.inputs[draw.is_fact] @ weights * draw.labels[draw.is_fact]
        wrong.append(float((facts < 0.0).mean()))
    return holds_if(
        float(np.mean(wrong)) > 0.3,
        {"memorization_error": np.mean(wrong), "samples_per_dimension": alpha, "chance": 0.5},
        "The best learner of the rule gives most facts the label of the rule or of chance: it does not remember them.",
    )
