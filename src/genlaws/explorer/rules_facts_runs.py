"""Learners of finite size trained beforehand, and which of them lie near the settings of the page.

Ridge regression and support vector machines on Gaussian draws in 200 dimensions, on a coarse grid of settings
(``studies/explorer_runs_rules_facts.py``). Only the angle of a kernel and the regularisation in units of its size
matter, so that runs with one kernel serve for every other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from genlaws.explorer.kept_rows import kept_rows
from genlaws.explorer.rules_facts_theory import Learner

DIMENSION = 200
# Runs further than this from the sliders are not shown.
FARTHEST = {"sample_ratio": math.log(1.5), "fact_fraction": 0.11, "kernel_angle": 0.16, "regularisation": math.log(3.5)}


@dataclass(frozen=True)
class Run:
    """The mean errors of one learner over its draws, with intervals."""

    loss: str
    sample_ratio: float
    fact_fraction: float
    kernel_angle: float
    regularisation: float | None  # none where it was the best for the rule
    draws: int
    rule: tuple[float, float, float]
    fact: tuple[float, float, float]


@dataclass(frozen=True)
class NearRuns:
    """Runs along one setting; the others are `learner`'s, the nearest there are to the sliders'."""

    learner: Learner
    runs: tuple[Run, ...]
    exact: bool
    name: str


@cache
def all_runs() -> tuple[Run, ...]:
    """Return every kept run."""
    return tuple(_read(row) for row in kept_rows("rules_facts.csv"))


def runs_by_samples(learner: Learner) -> NearRuns | None:
    """Return the runs along the sample ratio, or nothing where none is near."""
    return _near(learner, ("fact_fraction", "kernel_angle", "regularisation"), lambda run: run.sample_ratio)


def runs_by_angle(learner: Learner) -> NearRuns | None:
    """Return the runs along the kernel angle, or nothing where none is near."""
    return _near(learner, ("sample_ratio", "fact_fraction", "regularisation"), lambda run: run.kernel_angle)


def runs_by_regularisation(learner: Learner) -> NearRuns | None:
    """Return the runs along the regularisation, or nothing where none is near."""
    fixed = replace(learner, regularisation=1.0)
    return _near(
        fixed, ("sample_ratio", "fact_fraction", "kernel_angle"), lambda run: run.regularisation or 0.0, free=True
    )


def _read(row: dict[str, str]) -> Run:
    def triple(name: str) -> tuple[float, float, float]:
        """Return a value and the ends of its interval."""
        return float(row[name]), float(row[f"{name}_low"]), float(row[f"{name}_high"])

    return Run(
        loss=row["loss"],
        sample_ratio=float(row["sample_ratio"]),
        fact_fraction=float(row["fact_fraction"]),
        kernel_angle=float(row["kernel_angle"]),
        regularisation=None if row["choice"] == "optimal" else float(row["regularisation"]),
        draws=int(row["draws"]),
        rule=triple("rule"),
        fact=triple("fact"),
    )


def _near(
    learner: Learner, held: tuple[str, ...], axis: Callable[[Run], float], *, free: bool = False
) -> NearRuns | None:
    """Return the runs at the kept values nearest to the sliders' for what is held."""
    if learner.width_ratio is not None:
        return None
    optimal = learner.regularisation is None
    found = [
        run for run in all_runs() if run.loss == learner.loss and (run.regularisation is None) == (optimal and not free)
    ]
    exact, words = True, []
    for name in held:
        if name == "regularisation" and optimal:
            words.append("λ best")
            continue
        wanted = _scaled(name, _setting(learner, name))
        nearest = min(
            sorted({_setting_of_run(run, name) for run in found}), key=lambda v: abs(_scaled(name, v) - wanted)
        )
        if abs(_scaled(name, nearest) - wanted) > FARTHEST[name]:
            return None
        exact &= abs(_scaled(name, nearest) - wanted) < 1e-3
        found = [run for run in found if _setting_of_run(run, name) == nearest]
        words.append(f"{_SYMBOLS[name]} = {nearest:g}")
    found.sort(key=axis)
    return NearRuns(_learner(found[0]), tuple(found), exact, ", ".join(words))


_SYMBOLS = {"sample_ratio": "α", "fact_fraction": "ε", "kernel_angle": "θ", "regularisation": "λ"}


def _setting(learner: Learner, name: str) -> float:
    given = {
        "sample_ratio": learner.sample_ratio,
        "fact_fraction": learner.fact_fraction,
        "kernel_angle": learner.angle,
        "regularisation": (learner.regularisation or 0.0) / learner.size,
    }
    return given[name]


def _setting_of_run(run: Run, name: str) -> float:
    return float(getattr(run, name))


def _scaled(name: str, value: float) -> float:
    """Return a setting on the scale on which nearness is judged."""
    return math.log(max(value, 1e-300)) if name in {"sample_ratio", "regularisation"} else value


def _learner(run: Run) -> Learner:
    """Return the learner of a run; the curve along a setting does not depend on that setting of it."""
    sine, cosine = float(np.sin(run.kernel_angle)), float(np.cos(run.kernel_angle))
    return Learner(run.loss, run.sample_ratio, run.fact_fraction, sine, cosine, run.regularisation)
