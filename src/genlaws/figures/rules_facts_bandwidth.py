"""The table of figures 5 and 15: errors by bandwidth of the Gaussian kernel, in the theory and on labelled data."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from genlaws.experiments.computing import compute_cells
from genlaws.experiments.rules_facts_runs import Loss
from genlaws.figures.progress import Progress
from genlaws.figures.recipe import Points, Ratio
from genlaws.figures.rules_facts_redraws import (
    Redraws,
    RedrawSettings,
    mean_columns,
    redraw_sweep,
    task_columns,
)
from genlaws.figures.rules_facts_tables import errors_table, regularisation_path
from genlaws.numerics.arguments import Array
from genlaws.numerics.intervals import Estimate
from genlaws.rules_facts import Kernel, optimal_angle, parameter_for_angle
from genlaws.rules_facts.finite_size import Preference, preferred_parameters
from genlaws.rules_facts.kernel_families import FAMILIES

REGULARISATIONS: dict[str, float | str] = {"zero": 0.0, "optimal": "optimal"}
# At the optimal regularisation the best angle of the hinge loss may be that of the linear model, which no bandwidth
# reaches; the search for it ends this close to it.
LARGEST_ANGLE = np.pi / 2 - 1e-3
BETWEEN = ("value", "low", "high")


class BandwidthSettings(RedrawSettings):
    """Bandwidths of the Gaussian kernel; of `curves` of them the whole path of regularisations is drawn."""

    parameters: tuple[Ratio, ...] = Field(default=tuple(np.geomspace(0.05, 50.0, 15).tolist()), min_length=3)
    curves: Annotated[int, Field(ge=2, le=9)] = 5
    path_points: Points = 300
    theory_points: Points = 80

    @model_validator(mode="after")
    def _parameters_ascend(self) -> Self:
        if not (np.diff(self.parameters) > 0.0).all():
            raise ValueError("parameters must be ascending")
        return self


class HingeBandwidthSettings(BandwidthSettings):
    """The same with the hinge loss, without an intercept, as in the theory."""

    loss: Loss = "hinge"


def bandwidth_data(settings: BandwidthSettings, progress: Progress) -> pd.DataFrame:
    """Return theory and measurement by bandwidth and regularisation.

    ``role`` says where a row is drawn: on a ``path`` along the regularisation (of the theory, the paths shown alone),
    on a ``curve`` along the bandwidth, or as the ``preferred`` bandwidth. At the regularisation ``optimal`` a redraw
    has the value that is best on the other redraws.
    """
    runs = Redraws.of(compute_cells(redraw_sweep(settings, family="gaussian"), progress, "redraws"))
    found = preferred_parameters(runs.parameter, runs.generalisation_error)
    theory = _theory_preferred(settings)
    best = [float(theory["parameter"].iloc[0]), found.preferred_at_zero.value]
    tables = [
        *(_theory_rows(settings, "path", "all", np.array([one])) for one in _shown(settings, best)),
        *(_theory_rows(settings, "curve", choice, _fine(settings)) for choice in REGULARISATIONS),
        theory,
        *(
            runs.path_table(place, series="measured", role="path", regularisation_choice="all", parameter=one)
            for place, one in enumerate(settings.parameters)
        ),
        *_measured_curves(runs, found),
        _measured_preferred(runs, found),
    ]
    sizes = task_columns(settings, runs.sample_count)
    return pd.concat(tables, ignore_index=True).assign(loss=settings.loss, **sizes)


def _shown(settings: BandwidthSettings, best: list[float]) -> list[float]:
    """Return bandwidths spread over the range, and those nearest to the best ones."""
    grid = np.array(settings.parameters)
    spread = np.linspace(0, len(grid) - 1, settings.curves).round().astype(int).tolist()
    near = [nearest(grid, one) for one in best]
    return [float(one) for one in grid[sorted({*spread, *near})]]


def nearest(grid: Array, parameter: float) -> int:
    """Return the place of the nearest value, by ratio."""
    return int(np.argmin(np.abs(np.log(grid / parameter))))


def _fine(settings: BandwidthSettings) -> Array:
    ends = settings.parameters[0], settings.parameters[-1]
    return np.unique(np.append(np.geomspace(*ends, settings.theory_points), settings.parameters))


def _theory_rows(settings: BandwidthSettings, role: str, choice: str, parameters: Array) -> pd.DataFrame:
    """Return errors of Gaussian inputs: along the regularisation of one bandwidth, or along bandwidths."""
    squares = FAMILIES["gaussian"].squares(parameters)
    path = regularisation_path(settings.path_points) if choice == "all" else REGULARISATIONS[choice]
    table = errors_table(
        settings.loss,
        sample_ratio=settings.sample_ratio,
        fact_fraction=settings.fact_fraction,
        regularisation=path,
        kernel=Kernel(np.sqrt(squares[0]), np.sqrt(squares[1])),
        parameter=parameters,
    )
    unused = ["loss", "sample_ratio", "fact_fraction"]
    return table.drop(columns=unused).assign(series="theory", role=role, regularisation_choice=choice)


def _theory_preferred(settings: BandwidthSettings) -> pd.DataFrame:
    """Return the bandwidths of least error, how far apart they are, and what that costs without regularisation."""
    tables = []
    for choice, regularisation in REGULARISATIONS.items():
        angle = optimal_angle(
            settings.loss,
            fact_fraction=settings.fact_fraction,
            sample_ratio=settings.sample_ratio,
            regularisation=regularisation,
        )
        parameter = np.atleast_1d(parameter_for_angle("gaussian", min(float(angle), LARGEST_ANGLE)))
        tables.append(_theory_rows(settings, "preferred", choice, parameter))
    table = pd.concat(tables, ignore_index=True)
    ends = settings.parameters[0], settings.parameters[-1]
    at_zero = _theory_rows(settings, "preferred", "zero", table["parameter"].to_numpy())["generalisation_error"]
    return table.assign(
        log_ratio=float(np.log(table["parameter"].iloc[0] / table["parameter"].iloc[1])),
        price=float(at_zero.iloc[1] - at_zero.iloc[0]),
        at_edge=~table["parameter"].between(*ends),
    )


def _measured_curves(runs: Redraws, found: Preference) -> list[pd.DataFrame]:
    """Return the mean error along bandwidths at the smallest and at the best regularisation."""
    mean = runs.generalisation_error.mean(axis=0)
    chosen = {"zero": (found.error_at_zero, 0), "optimal": (found.error_at_best, mean.argmin(axis=1))}
    return [
        pd.DataFrame(
            {
                "series": "measured",
                "role": "curve",
                "regularisation_choice": choice,
                "parameter": runs.parameter,
                "regularisation": runs.regularisation[place],
                **mean_columns("generalisation_error", errors),
                "converged": runs.converged.all(axis=1),
            }
        )
        for choice, (errors, place) in chosen.items()
    ]


def _measured_preferred(runs: Redraws, found: Preference) -> pd.DataFrame:
    """Return the preferred bandwidths with intervals; the error is read off the mean curve."""
    rows = []
    for choice, estimate, errors in (
        ("zero", found.preferred_at_zero, found.error_at_zero),
        ("optimal", found.preferred_at_best, found.error_at_best),
    ):
        mean = errors.mean(axis=0)
        rows.append(
            {
                "series": "measured",
                "role": "preferred",
                "regularisation_choice": choice,
                **_ends("parameter", estimate),
                "generalisation_error": float(np.interp(np.log(estimate.value), np.log(runs.parameter), mean)),
                "converged": bool(runs.converged.all()),
                **_ends("log_ratio", found.log_ratio),
                **_ends("price", found.price),
                "at_edge": int(mean.argmin()) in (0, len(mean) - 1),
            }
        )
    return pd.DataFrame(rows)


def _ends(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def bandwidth_summary(frame: pd.DataFrame, settings: BandwidthSettings) -> pd.DataFrame:
    """Return the preferred bandwidths, the logarithm of their ratio, and what the wrong one costs at λ → 0."""
    sizes = ["redraws", "sample_count", "test_count", "rule_pool", "fact_pool"]
    rows = []
    for quantity, choice, name in (
        ("preferred parameter, no regularisation", "zero", "parameter"),
        ("preferred parameter, best regularisation", "optimal", "parameter"),
        ("logarithm of their ratio", "zero", "log_ratio"),
        ("error of the second less that of the first, no regularisation", "zero", "price"),
    ):
        measured, theory = (preferred(frame, series, choice) for series in ("measured", "theory"))
        values = {key: measured[part] for key, part in zip(BETWEEN, (name, f"{name}_low", f"{name}_high"), strict=True)}
        edges = {"measured_at_edge": bool(measured["at_edge"]), "theory_at_edge": bool(theory["at_edge"])}
        rows.append({"quantity": quantity, **values, "theory": theory[name], **edges, **measured[sizes]})
    return pd.DataFrame(rows)


def preferred(frame: pd.DataFrame, series: str, choice: str) -> pd.Series:
    """Return the row of a preferred bandwidth."""
    here = (frame["series"] == series) & (frame["role"] == "preferred") & (frame["regularisation_choice"] == choice)
    return frame[here].iloc[0]
