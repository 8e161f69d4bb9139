"""Experiments on rules and facts: theory along sample ratios and kernel angles, and learners of finite size.

Learners of finite size are trained on Gaussian draws and on draws from labeled data.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from genlaws.core.arguments import Array
from genlaws.rules_facts import Kernel, optimal_angle, solve
from genlaws.rules_facts.finite_size import DrawProducts, gram_numbers, learn_path, path_errors, quadratic_match
from genlaws.rules_facts.labels.loading import load_labeled
from genlaws.rules_facts.labels.task import draw_gaussian, draw_labeled
from genlaws.rules_facts.theory.bayes import bayes_optimal
from genlaws.rules_facts.theory.message_passing import message_passing
from genlaws.sweeps.experiment import NonNegative, Positive, Procedure, Settings, Share

Strength = Annotated[float, Field(ge=0)] | Literal["optimal"]
Points = Annotated[int, Field(ge=1, le=100_000)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Loss = Literal["square", "hinge"]


class SamplesSettings(Settings):
    """One learner over a range of sample ratios."""

    learner: Literal["square", "hinge", "bayes"] = "hinge"
    kernel: str = "linear"
    regularization: Strength = "optimal"
    fact_fraction: Share = 0.2
    smallest_sample_ratio: Positive = 0.1
    largest_sample_ratio: Positive = 100.0
    points: Points = 81


def along_samples(settings: SamplesSettings, seed: int) -> dict[str, Any]:
    """Return the errors of one learner against the samples per dimension; nothing is random."""
    ratios = np.geomspace(settings.smallest_sample_ratio, settings.largest_sample_ratio, settings.points)
    task: dict[str, Any] = {"sample_ratio": ratios, "fact_fraction": settings.fact_fraction}
    if settings.learner == "bayes":
        return {"sample_ratio": ratios, **_errors(bayes_optimal(**task))}
    found = solve(settings.learner, **task, kernel=settings.kernel, regularization=settings.regularization)
    return {"sample_ratio": ratios, **_errors(found)}


class AnglesSettings(Settings):
    """One loss over the kernel angles, at one sample ratio."""

    loss: Loss = "hinge"
    regularization: Strength = "optimal"
    fact_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    sample_ratio: Positive = 10.0
    smallest_angle: Annotated[float, Field(gt=0, lt=np.pi / 2)] = 0.02
    largest_angle: Annotated[float, Field(gt=0, lt=np.pi / 2)] = np.pi / 2 - 0.004
    points: Points = 240


def along_angles(settings: AnglesSettings, seed: int) -> dict[str, Any]:
    """Return the errors against the kernel angle, including the best angle of ridge regression and π/2."""
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    spaced = np.linspace(settings.smallest_angle, settings.largest_angle, settings.points)
    angles = np.sort(np.append(spaced, [best, np.pi / 2]))
    found = solve(
        settings.loss,
        sample_ratio=settings.sample_ratio,
        fact_fraction=settings.fact_fraction,
        kernel=Kernel.from_angle(angles),
        regularization=settings.regularization,
    )
    return {"kernel_angle": angles, **_errors(found)}


def _errors(found: Any) -> dict[str, Any]:
    """Return the columns of a solution; the Bayes-optimal one has no regularization and no memorization error."""
    names = ("regularization", "generalization_error", "memorization_error", "converged")
    return {name: np.asarray(getattr(found, name)) for name in names if hasattr(found, name)}


ALONG_SAMPLES = Procedure(SamplesSettings, along_samples)
ALONG_ANGLES = Procedure(AnglesSettings, along_angles)


class GaussianRunSettings(Settings):
    """One learner trained on one Gaussian draw, at a few regularizations."""

    loss: Loss = "square"
    kernel: str = "relu"
    width_ratio: Positive | None = None
    dimension: Annotated[int, Field(ge=2, le=20_000)] = 200
    sample_ratio: Positive = 2.0
    fact_fraction: Share = 0.2
    regularizations: Annotated[tuple[NonNegative, ...], Field(min_length=1)] = (0.1,)
    matched: bool = False
    test_count: Count = 2000

    @model_validator(mode="after")
    def _check_match(self) -> GaussianRunSettings:
        if self.matched and self.width_ratio is not None:
            raise ValueError("matched is for kernels; leave out width_ratio")
        return self


def gaussian_run(settings: GaussianRunSettings, seed: int) -> dict[str, Any]:
    """Return the errors of one learner on one draw.

    `kernel` names the activation if a width is given. A kernel gets inputs scaled to squared length d, as the theory
    assumes; `matched` replaces it by the quadratic kernel with the same coefficients.
    """
    for_draw, for_features = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    draw = draw_gaussian(
        settings.dimension,
        settings.sample_ratio,
        settings.fact_fraction,
        test_count=settings.test_count,
        seed=for_draw,
    )
    learner: dict[str, Any]
    if settings.width_ratio is not None:
        width = max(1, round(settings.width_ratio * settings.dimension))
        learner = {"activation": settings.kernel, "width": width, "seed": for_features}
    else:
        kernel = quadratic_match(settings.kernel) if settings.matched else settings.kernel
        learner = {"kernel": kernel, "normalize": True}
    path = learn_path(draw, loss=settings.loss, regularization=settings.regularizations, **learner)
    return {
        "regularization": path.regularization,
        "generalization_error": path.generalization_error,
        "memorization_error": path.memorization_error,
        "largest_gap": float(path.duality_gap.max()),
        "converged": bool(path.converged.all()),
    }


class LabeledRunSettings(Settings):
    """One redraw of the task from labeled data, one loss, several kernels of one family, a range of regularizations.

    Cells that differ only in the loss or the kernels train on the same draw, so that differences are paired.
    """

    data: str = "digits"
    rule_classes: tuple[int | str, int | str] = (3, 8)
    fact_classes: tuple[int | str, ...] | None = None
    sample_ratio: Positive = 4.0
    fact_fraction: Share = 0.2
    loss: Loss = "square"
    family: str = "gaussian"
    parameters: Annotated[tuple[float, ...], Field(min_length=1)] = (0.1, 0.3, 1.0, 3.0, 10.0)
    matched: bool = False
    normalize: bool = False
    smallest_regularization: Positive = 1e-6
    largest_regularization: Positive = 1e3
    regularization_count: Annotated[int, Field(ge=1, le=1000)] = 50
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    test_count: Count | None = None
    redraw: Annotated[int, Field(ge=0)] = 0


def labeled_run(settings: LabeledRunSettings, seed: int) -> dict[str, Any]:
    """Return errors of shape (kernels, regularizations), and the measured coefficients of each kernel.

    The draw depends on `redraw`, not on the cell's seed, so that differences are paired.
    """
    draw = draw_labeled(
        _load_data(settings.data),
        settings.rule_classes,
        fact_fraction=settings.fact_fraction,
        sample_ratio=settings.sample_ratio,
        fact_classes=settings.fact_classes,
        test_count=settings.test_count,
        seed=settings.redraw,
    )
    products = DrawProducts.of(draw, normalize=settings.normalize)
    lam = np.geomspace(settings.smallest_regularization, settings.largest_regularization, settings.regularization_count)
    rows: list[dict[str, Any]] = []
    for parameter in settings.parameters:
        name = f"{settings.family}:{parameter!r}"
        train, test = products.grams(quadratic_match(name) if settings.matched else name)
        path = path_errors(
            draw, train=train, test=test, loss=settings.loss, regularization=lam, tolerance=settings.tolerance
        )
        measured = gram_numbers(train, products.train)
        errors = {name: getattr(path, name) for name in ("generalization_error", "memorization_error", "duality_gap")}
        rows.append({**errors, "mu_1": measured.kernel.mu_1, "mu_star": measured.kernel.mu_star})
    stacked: dict[str, Any] = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    return {
        "parameter": np.array(settings.parameters),
        "regularization": lam,
        **stacked,
        "sample_count": draw.sample_count,
        "effective_dimension": measured.effective_dimension,
        "largest_gap": float(stacked["duality_gap"].max()),
    }


_load_data = lru_cache(maxsize=2)(load_labeled)


class MessagePassingSettings(Settings):
    """Message passing on one Gaussian draw."""

    dimension: Annotated[int, Field(ge=2, le=20_000)] = 1000
    sample_ratio: Positive = 5.0
    fact_fraction: Share = 0.2
    iterations: Annotated[int, Field(ge=1, le=10_000)] = 100


def message_passing_run(settings: MessagePassingSettings, seed: int) -> dict[str, Any]:
    """Return the overlaps at each iteration, and the final generalization error with its lower bound."""
    draw = draw_gaussian(settings.dimension, settings.sample_ratio, settings.fact_fraction, test_count=1, seed=seed)
    assert draw.teacher is not None
    found = message_passing(
        draw.inputs,
        draw.labels,
        fact_fraction=settings.fact_fraction,
        iterations=settings.iterations,
        teacher=draw.teacher,
    )
    best = bayes_optimal(sample_ratio=settings.sample_ratio, fact_fraction=settings.fact_fraction)
    return {
        "teacher_overlap": _padded(found.teacher_overlap_history, settings.iterations + 1),
        "self_overlap": _padded(found.overlap_history, settings.iterations + 1),
        "generalization_error": found.true_generalization_error(draw.teacher),
        "bayes_error": best.generalization_error,
        "iterations": found.iterations,
        "converged": found.converged,
    }


def _padded(history: Array, length: int) -> Array:
    """Return a history of a given length, with its last value repeated after convergence."""
    return np.concatenate([history, np.full(max(0, length - len(history)), history[-1])])[:length]


GAUSSIAN_RUN = Procedure(GaussianRunSettings, gaussian_run)
LABELED_RUN = Procedure(LabeledRunSettings, labeled_run)
MESSAGE_PASSING_RUN = Procedure(MessagePassingSettings, message_passing_run)
