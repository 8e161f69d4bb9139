"""Experiments on rules and facts with learners of finite size: Gaussian draws, and draws from labelled data."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from genlaws.experiments.experiment import Procedure
from genlaws.experiments.rules_facts import Ratio, Share
from genlaws.experiments.settings import Settings
from genlaws.numerics.arguments import Array
from genlaws.rules_facts.bayes_optimal import bayes_optimal
from genlaws.rules_facts.finite_size import DrawProducts, gram_numbers, learn_path, path_errors, quadratic_match
from genlaws.rules_facts.image_task import LabelledData, load_labelled
from genlaws.rules_facts.message_passing import message_passing
from genlaws.rules_facts.task import Draw, draw_gaussian, draw_labelled

Strength = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PositiveStrength = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Loss = Literal["square", "hinge"]


class GaussianRunSettings(Settings):
    """One learner trained on one Gaussian draw, at a few regularisations."""

    loss: Loss = "square"
    kernel: str = "relu"
    width_ratio: Ratio | None = None
    dimension: Annotated[int, Field(ge=2, le=20_000)] = 200
    sample_ratio: Ratio = 2.0
    fact_fraction: Share = 0.2
    regularisations: Annotated[tuple[Strength, ...], Field(min_length=1)] = (0.1,)
    matched: bool = False
    test_count: Count = 2000

    @model_validator(mode="after")
    def _check_match(self) -> GaussianRunSettings:
        if self.matched and self.width_ratio is not None:
            raise ValueError("matched is for kernels; leave out width_ratio")
        return self


def gaussian_run(settings: GaussianRunSettings, seed: int) -> dict[str, Any]:
    """Return the errors of one learner on one draw.

    `kernel` names the activation when there is a width. A kernel sees inputs scaled to squared length d, as the theory
    assumes; `matched` puts the quadratic kernel of the same numbers in its place.
    """
    for_draw, for_features = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    draw = draw_gaussian(
        settings.dimension,
        settings.sample_ratio,
        settings.fact_fraction,
        test_count=settings.test_count,
        seed=for_draw,
    )
    if settings.width_ratio is not None:
        width = max(1, round(settings.width_ratio * settings.dimension))
        path = learn_path(
            draw,
            settings.loss,
            regularisation=settings.regularisations,
            activation=settings.kernel,
            width=width,
            seed=for_features,
        )
    else:
        kernel = quadratic_match(settings.kernel) if settings.matched else settings.kernel
        path = learn_path(draw, settings.loss, regularisation=settings.regularisations, kernel=kernel, normalise=True)
    return {
        "regularisation": path.regularisation,
        "generalisation_error": path.generalisation_error,
        "memorisation_error": path.memorisation_error,
        "largest_gap": float(path.duality_gap.max()),
        "converged": bool(path.converged.all()),
    }


class LabelledRunSettings(Settings):
    """One redraw of the task from labelled data, one loss, several kernels of one family, a range of regularisations.

    Cells that differ in nothing but the loss or the kernels train on the same draw, so that differences are paired.
    """

    data: str = "digits"
    rule_classes: tuple[int | str, int | str] = (3, 8)
    fact_classes: tuple[int | str, ...] | None = None
    sample_ratio: Ratio = 4.0
    fact_fraction: Share = 0.2
    loss: Loss = "square"
    family: str = "gaussian"
    parameters: Annotated[tuple[float, ...], Field(min_length=1)] = (0.1, 0.3, 1.0, 3.0, 10.0)
    matched: bool = False
    normalise: bool = False
    smallest_regularisation: PositiveStrength = 1e-6
    largest_regularisation: PositiveStrength = 1e3
    regularisation_count: Annotated[int, Field(ge=1, le=1000)] = 50
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    test_count: Count | None = None
    redraw: Annotated[int, Field(ge=0)] = 0


def labelled_run(settings: LabelledRunSettings, seed: int) -> dict[str, Any]:
    """Return errors, (kernels, regularisations), and the measured numbers of each kernel.

    The draw is that of `redraw`, not of the cell's seed, for the sake of paired differences.
    """
    draw = _labelled_draw(settings)
    products = DrawProducts.of(draw, normalise=settings.normalise)
    lam = np.geomspace(settings.smallest_regularisation, settings.largest_regularisation, settings.regularisation_count)
    rows: list[dict[str, Any]] = []
    for parameter in settings.parameters:
        name = f"{settings.family}:{parameter!r}"
        train, test = products.grams(quadratic_match(name) if settings.matched else name)
        path = path_errors(draw, train, test, settings.loss, lam, tolerance=settings.tolerance)
        measured = gram_numbers(train, products.train)
        rows.append(
            {
                "generalisation_error": path.generalisation_error,
                "memorisation_error": path.memorisation_error,
                "duality_gap": path.duality_gap,
                "mu_1": measured.kernel.mu_1,
                "mu_star": measured.kernel.mu_star,
            }
        )
    stacked: dict[str, Any] = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    return {
        "parameter": np.array(settings.parameters),
        "regularisation": lam,
        **stacked,
        "sample_count": draw.sample_count,
        "effective_dimension": measured.effective_dimension,
        "largest_gap": float(stacked["duality_gap"].max()),
    }


@lru_cache(maxsize=2)
def _loaded(source: str) -> LabelledData:
    return load_labelled(source)


def _labelled_draw(settings: LabelledRunSettings) -> Draw:
    return draw_labelled(
        _loaded(settings.data),
        settings.rule_classes,
        fact_fraction=settings.fact_fraction,
        sample_ratio=settings.sample_ratio,
        fact_classes=settings.fact_classes,
        test_count=settings.test_count,
        seed=settings.redraw,
    )


class MessagePassingSettings(Settings):
    """Message passing on one Gaussian draw."""

    dimension: Annotated[int, Field(ge=2, le=20_000)] = 1000
    sample_ratio: Ratio = 5.0
    fact_fraction: Share = 0.2
    iterations: Annotated[int, Field(ge=1, le=10_000)] = 100


def message_passing_run(settings: MessagePassingSettings, seed: int) -> dict[str, Any]:
    """Return the overlaps at each iteration, and the rule error in the end beside the least possible."""
    draw = draw_gaussian(settings.dimension, settings.sample_ratio, settings.fact_fraction, test_count=1, seed=seed)
    assert draw.teacher is not None
    found = message_passing(
        draw.inputs,
        draw.labels,
        settings.fact_fraction,
        iterations=settings.iterations,
        teacher=draw.teacher,
    )
    best = bayes_optimal(sample_ratio=settings.sample_ratio, fact_fraction=settings.fact_fraction)
    return {
        "teacher_overlap": _padded(found.teacher_overlap_history, settings.iterations + 1),
        "self_overlap": _padded(found.overlap_history, settings.iterations + 1),
        "rule_error": found.rule_error(draw.teacher),
        "bayes_error": best.generalisation_error,
        "iterations": found.iterations,
        "converged": found.converged,
    }


def _padded(history: Array, length: int) -> Array:
    """Return a history of a given length, its last value repeated: after convergence nothing moves."""
    return np.concatenate([history, np.full(max(0, length - len(history)), history[-1])])[:length]


GAUSSIAN_RUN = Procedure(GaussianRunSettings, gaussian_run)
LABELLED_RUN = Procedure(LabelledRunSettings, labelled_run)
MESSAGE_PASSING_RUN = Procedure(MessagePassingSettings, message_passing_run)
