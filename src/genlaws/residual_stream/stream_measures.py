"""Each group of measures of a recorded stream, as the fields of an analysis; numpy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from genlaws.numerics.arguments import Array, Whole
from genlaws.numerics.intervals import Estimate
from genlaws.residual_stream.analysis_results import Acceleration
from genlaws.residual_stream.components import mean_path
from genlaws.residual_stream.correlations import unit_correlations
from genlaws.residual_stream.curves import bootstrap_means
from genlaws.residual_stream.dimensions import explained_variance, participation_ratios
from genlaws.residual_stream.information import mutual_information
from genlaws.residual_stream.information_estimators import FEWEST_TEXTS
from genlaws.residual_stream.jpca import fit_rotation
from genlaws.residual_stream.linear_dynamics import dynamic_modes
from genlaws.residual_stream.path_scalars import PathScalars, path_scalars_of
from genlaws.residual_stream.portraits import FEWEST_SITES, portraits, rotations
from genlaws.residual_stream.projected_paths import paths, pooled_axes
from genlaws.residual_stream.statistics import path_measures, unit_means
from genlaws.residual_stream.stream import Stream
from genlaws.residual_stream.surrogates import SurrogateTest, against_surrogates
from genlaws.residual_stream.writes import writes

AXES = 2  # of the paper's plane
TURNED_BASES = 5  # each turns all states; their means over units hardly differ
MOST_COMPONENTS = 6  # of a linear map, and at most one for this many steps of the mean path:
STEPS_PER_COMPONENT = 4
PATH_SURROGATES = ("random walk", "step signs", "phase-randomised", "layer shuffle", "basis rotation")


@dataclass(frozen=True)
class Recorded:
    """A stream, which text each of its rows is of, and how it is to be measured.

    Attributes
    ----------
    stream : Stream
    texts : array of int (rows,)
    surrogates : tuple of str
        Those that are made from the stream itself.
    supplied : mapping from name to Stream
        Of another model, or of other texts.
    estimators : tuple of str
    draws, seed, jobs : int
    """

    stream: Stream
    texts: Whole
    surrogates: tuple[str, ...] = ()
    supplied: Mapping[str, Stream] = field(default_factory=dict)
    estimators: tuple[str, ...] = ()
    draws: int = 200
    seed: int = 0
    jobs: int = 1

    @property
    def text_count(self) -> int:
        """Number of texts."""
        return int(np.unique(self.texts).size)


Found = tuple[dict[str, Any], list[str]]  # fields of an analysis, and what to say about them


def measure_paths(given: Recorded) -> Found:
    """Return means of the units, how the stream moves, and what is written to it."""
    scalars = path_scalars_of(given.stream, given.texts)
    found: dict[str, Any] = {
        "means": unit_means(given.stream, texts=given.texts),
        "paths": path_measures(scalars, seed=given.seed),
        "acceleration": acceleration(scalars, seed=given.seed),
        "writes": writes(scalars, seed=given.seed),
    }
    return found, [found["paths"].message]


def acceleration(scalars: PathScalars, *, seed: int = 0) -> Acceleration:
    r"""Return how much faster the stream is in the last third of the steps than in the first.

    .. math:: \exp\Big\langle \ln\frac{\bar v_{\rm last}}{\bar v_{\rm first}}\Big\rangle

    The mean is over texts; each third has as many writes of attention as of the MLP.
    """
    count = third_of(scalars.speed.shape[1])
    both = []
    for values in (scalars.speed, scalars.relative_speed):
        with np.errstate(divide="ignore", invalid="ignore"):
            both.append(np.log(values[:, -count:].mean(axis=1) / values[:, :count].mean(axis=1)))
    columns = np.stack(both, axis=1)
    ends = np.exp(np.stack(bootstrap_means(np.where(np.isfinite(columns), columns, np.nan), scalars.texts, seed=seed)))
    texts = int(np.unique(scalars.texts).size)
    speed, relative = (Estimate(float(value), float(low), float(high), texts) for value, low, high in ends.T)
    return Acceleration(speed, relative)


def third_of(steps: int) -> int:
    """Return about a third of the steps: an even number of them where there are four or more."""
    return 2 * max(1, round(steps / 6)) if steps >= 4 else 1


def measure_correlations(given: Recorded) -> Found:
    """Return r of every unit and step, and its mean over units in random axes."""
    found: dict[str, Any] = {"correlations": unit_correlations(given.stream, texts=given.texts)}
    values = found["correlations"].mean.value
    if "basis rotation" in given.surrogates and np.isfinite(values).any():

        def mean_r(stream: Stream) -> Array:
            """Return the mean over units of r at each step."""
            return unit_correlations(stream, texts=given.texts).mean.value

        labels = found["correlations"].mean.labels
        found["correlation_test"] = against_surrogates(
            given.stream, mean_r, ("basis rotation",), draws=TURNED_BASES, seed=given.seed, labels=labels
        )
    return found, [found["correlations"].message]


def measure_information(given: Recorded) -> Found:
    """Return mutual information between successive sites by every estimator that is asked for."""
    rows = given.stream.text_count
    if rows < FEWEST_TEXTS:
        return {}, [f"Mutual information needs at least {FEWEST_TEXTS} texts; there are {rows}."]
    options: dict[str, Any] = {"seed": given.seed, "jobs": given.jobs}
    found = {name: mutual_information(given.stream, name, **options) for name in given.estimators}
    said = [f"Mutual information ({name}), {one.message}" for name, one in found.items() if one.message]
    if rows > given.text_count:
        said.append(
            f"Mutual information takes the {rows} tokens of {given.text_count} texts as independent, which they are "
            "not: its intervals are too narrow."
        )
    return {"information": found}, said


def measure_dimensions(given: Recorded) -> Found:
    """Return in how many directions texts differ, and how much of the path lies in a plane."""
    options: dict[str, Any] = {"texts": given.texts}
    stream = given.stream
    found: dict[str, Any] = {
        "participation": participation_ratios(stream, **options),
        "participation_normalised": participation_ratios(stream, normalise=True, **options),
        "explained_pooled": explained_variance(stream, basis="pooled", **options),
        "explained_site": explained_variance(stream, basis="site", held_out=True, **options),
        "explained_normalised": explained_variance(stream, basis="pooled", normalise=True, **options),
        "projected": paths(stream, min(AXES, stream.unit_count)),
        "path_test": _path_test(given, plane_share, "share"),
    }
    return found, [found["participation"].message, found["explained_site"].message]


def plane_share(stream: Stream) -> float:
    """Return the share of the variance of a path, about its mean, along its first two principal components."""
    return float(pooled_axes(stream, min(AXES, stream.unit_count)).share.sum())


def measure_rotations(given: Recorded) -> Found:
    """Return phase portraits and how often they turn, beside surrogates of the mean path."""
    if len(given.stream.sites) < FEWEST_SITES:
        return {}, [f"Rotations need at least {FEWEST_SITES} sites; there are {len(given.stream.sites)}."]
    path = mean_path(given.stream)
    found = {
        "portraits": portraits(path),
        "rotations": rotations(path),
        "rotation_test": _path_test(given, lambda stream: rotations(stream).as_printed),
    }
    return found, []


def measure_dynamics(given: Recorded) -> Found:
    """Return the linear map and the rotation that come nearest to the steps, the latter beside surrogates."""
    steps = len(given.stream.sites) - 1
    count = min(MOST_COMPONENTS, steps // STEPS_PER_COMPONENT, given.stream.unit_count)
    if count < AXES:
        return {}, [f"A linear map needs at least {AXES * STEPS_PER_COMPONENT} steps; there are {steps}."]
    options: dict[str, Any] = {"components": count, "seed": given.seed}

    def explained(stream: Stream) -> float:
        """Return the share of the steps that a rotation explains."""
        return fit_rotation(stream, components=count, folds=0).skew_r_squared

    found = {
        "modes": dynamic_modes(given.stream, **options),
        "rotation_fit": fit_rotation(given.stream, **options),
        "dynamics_test": _path_test(given, explained, "explained"),
    }
    return found, []


def _path_test(given: Recorded, statistic: Any, *labels: str) -> SurrogateTest | None:
    """Set a statistic of the mean path beside surrogates of it; nothing if none is asked for."""
    names = [name for name in PATH_SURROGATES if name in given.surrogates]
    if not names and not given.supplied:
        return None
    supplied = {name: mean_path(stream) for name, stream in given.supplied.items()}
    path = mean_path(given.stream)
    options: dict[str, Any] = {"draws": given.draws, "seed": given.seed, "supplied": supplied, "labels": labels}
    return against_surrogates(path, statistic, names, **options)


STREAM_MEASURES = {
    "paths": measure_paths,
    "correlations": measure_correlations,
    "information": measure_information,
    "dimensions": measure_dimensions,
    "rotations": measure_rotations,
    "dynamics": measure_dynamics,
}


def measured(given: Recorded, measures: Sequence[str], begun: Any = None) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of an analysis for the measures that a recorded stream suffices for, and messages.

    Parameters
    ----------
    given : Recorded
    measures : names
        Others than the keys of ``STREAM_MEASURES`` are left out.
    begun : function of a name, optional
        Called after each measure.
    """
    fields: dict[str, Any] = {}
    messages: list[str] = []
    for name, measure in STREAM_MEASURES.items():
        if name not in measures:
            continue
        found, said = measure(given)
        fields |= found
        messages += [one for one in said if one]
        if begun is not None:
            begun(name)
    return fields, messages
