"""Experiments on rules and facts: errors along the samples and along the kernel angles."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from genlaws.experiments.experiment import Procedure
from genlaws.experiments.settings import Settings
from genlaws.rules_facts import Kernel, bayes_optimal, optimal_angle, solve

Ratio = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Strength = Annotated[float, Field(ge=0)] | Literal["optimal"]
Points = Annotated[int, Field(ge=1, le=100_000)]


class SamplesSettings(Settings):
    """One learner over a range of sample ratios."""

    learner: Literal["square", "hinge", "bayes"] = "hinge"
    kernel: str = "linear"
    regularisation: Strength = "optimal"
    fact_fraction: Share = 0.2
    smallest_sample_ratio: Ratio = 0.1
    largest_sample_ratio: Ratio = 100.0
    points: Points = 81


def along_samples(settings: SamplesSettings, seed: int) -> dict[str, Any]:
    """Return the errors of one learner against the samples per dimension; nothing is random."""
    ratios = np.geomspace(settings.smallest_sample_ratio, settings.largest_sample_ratio, settings.points)
    if settings.learner == "bayes":
        best = bayes_optimal(sample_ratio=ratios, fact_fraction=settings.fact_fraction)
        return {
            "sample_ratio": ratios,
            "generalisation_error": best.generalisation_error,
            "converged": best.converged,
        }
    found = solve(
        settings.learner,
        sample_ratio=ratios,
        fact_fraction=settings.fact_fraction,
        kernel=settings.kernel,
        regularisation=settings.regularisation,
    )
    return {"sample_ratio": ratios, **_errors(found)}


class AnglesSettings(Settings):
    """One loss over the kernel angles, at one sample ratio."""

    loss: Literal["square", "hinge"] = "hinge"
    regularisation: Strength = "optimal"
    fact_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    sample_ratio: Ratio = 10.0
    smallest_angle: Annotated[float, Field(gt=0, lt=np.pi / 2)] = 0.02
    largest_angle: Annotated[float, Field(gt=0, lt=np.pi / 2)] = np.pi / 2 - 0.004
    points: Points = 240


def along_angles(settings: AnglesSettings, seed: int) -> dict[str, Any]:
    """Return the errors against the kernel angle; the best angle of ridge regression and π/2 are among the angles."""
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    spaced = np.linspace(settings.smallest_angle, settings.largest_angle, settings.points)
    angles = np.sort(np.append(spaced, [best, np.pi / 2]))
    found = solve(
        settings.loss,
        sample_ratio=settings.sample_ratio,
        fact_fraction=settings.fact_fraction,
        kernel=Kernel.from_angle(angles),
        regularisation=settings.regularisation,
    )
    return {"kernel_angle": angles, **_errors(found)}


def _errors(found: Any) -> dict[str, Any]:
    names = ("regularisation", "generalisation_error", "memorisation_error", "converged")
    return {name: np.asarray(getattr(found, name)) for name in names}


ALONG_SAMPLES = Procedure(SamplesSettings, along_samples)
ALONG_ANGLES = Procedure(AnglesSettings, along_angles)
