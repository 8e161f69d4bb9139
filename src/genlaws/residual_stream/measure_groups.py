"""Groups of measures as the fields of an analysis: of a recorded stream, and of a model whose state is changed.

Torch is loaded by the groups that need it, compression and perturbation, when they run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from genlaws.core.arguments import Array, Whole
from genlaws.core.estimate import Estimate
from genlaws.core.running import Running, checked_running
from genlaws.models.stream import Site, Stream
from genlaws.models.texts import Tokens
from genlaws.residual_stream import dynamics
from genlaws.residual_stream.dynamics.jpca import fit_rotation
from genlaws.residual_stream.dynamics.linear import dynamic_modes
from genlaws.residual_stream.dynamics.portraits import MIN_PORTRAIT_SITES, portraits, rotations
from genlaws.residual_stream.measures.correlations import unit_correlations
from genlaws.residual_stream.measures.curves import bootstrap_means
from genlaws.residual_stream.measures.dimensions import explained_variance, participation_ratios
from genlaws.residual_stream.measures.estimators import MIN_INFORMATION_TEXTS
from genlaws.residual_stream.measures.information import mutual_information
from genlaws.residual_stream.measures.paths import PathScalars, path_measures, path_scalars_of, unit_means
from genlaws.residual_stream.measures.projected_paths import paths, pooled_axes
from genlaws.residual_stream.measures.samples import mean_path
from genlaws.residual_stream.measures.writes import writes
from genlaws.residual_stream.parameters import PATH_SURROGATES, Names
from genlaws.residual_stream.results import Acceleration
from genlaws.residual_stream.surrogates.comparison import SurrogateTest, against_surrogates

if TYPE_CHECKING:
    from torch import nn

PLANE_AXES = 2  # of the paper's plane
BASIS_ROTATION_DRAWS = 5  # each rotates all states; their means over units hardly differ
MAX_MAP_COMPONENTS = 6  # of a linear map, and at most one for this many steps of the mean path:
STEPS_PER_COMPONENT = 4
PAPER_SIZE_RATIO = (2.0 / 4096.0) ** (1.0 / 9.0)  # of the sizes of successive layers of the autoencoder
COMPRESSION_RESTARTS = 3
MIN_COMPRESSION_TEXTS = 4
PERTURBED_LAYERS = 5  # from the first to the last, as in the paper
PERTURBED_TEXTS, LYAPUNOV_TEXTS = 8, 2
LYAPUNOV_EXPONENTS = 4  # leading Lyapunov exponents
GRID_SIDE_POINTS = 10  # points along a side
TELEPORT_STEPS = 12
TELEPORT_PROMPT = "I'm sorry, Dave. I'm afraid I can't do that."


@dataclass(frozen=True)
class RecordedStream:
    """A stream, the text of each of its rows, and how to measure it.

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


Found = tuple[dict[str, Any], list[str]]  # fields of an analysis, and messages about them


def measure_paths(given: RecordedStream) -> Found:
    """Return means of the units, how the stream moves, and what is written to it."""
    scalars = path_scalars_of(given.stream, given.texts)
    found: dict[str, Any] = {
        "means": unit_means(given.stream, texts=given.texts),
        "paths": path_measures(scalars, seed=given.seed),
        "acceleration": measure_acceleration(scalars, seed=given.seed),
        "writes": writes(scalars, seed=given.seed),
    }
    return found, [found["paths"].message]


def measure_acceleration(scalars: PathScalars, *, seed: int = 0) -> Acceleration:
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


def measure_correlations(given: RecordedStream) -> Found:
    """Return r of every unit and step, and its mean over units in random axes."""
    found: dict[str, Any] = {"correlations": unit_correlations(given.stream, texts=given.texts)}
    values = found["correlations"].mean.value
    if "basis rotation" in given.surrogates and np.isfinite(values).any():

        def mean_r(stream: Stream) -> Array:
            """Return the mean over units of r at each step."""
            return unit_correlations(stream, texts=given.texts).mean.value

        options: dict[str, Any] = {"draws": BASIS_ROTATION_DRAWS, "seed": given.seed}
        options["labels"] = found["correlations"].mean.labels
        names = ("basis rotation",)
        found["correlation_test"] = against_surrogates(given.stream, mean_r, surrogates=names, **options)
    return found, [found["correlations"].message]


def measure_information(given: RecordedStream) -> Found:
    """Return mutual information between successive sites by every requested estimator."""
    rows = given.stream.text_count
    if rows < MIN_INFORMATION_TEXTS:
        return {}, [f"Mutual information needs at least {MIN_INFORMATION_TEXTS} texts; there are {rows}."]
    options: dict[str, Any] = {"seed": given.seed, "jobs": given.jobs}
    found = {name: mutual_information(given.stream, estimator=name, **options) for name in given.estimators}
    messages = [f"Mutual information ({name}), {one.message}" for name, one in found.items() if one.message]
    if rows > given.text_count:
        messages.append(
            f"Mutual information takes the {rows} tokens of {given.text_count} texts as independent, which they are "
            "not: its intervals are too narrow."
        )
    return {"information": found}, messages


def measure_dimensions(given: RecordedStream) -> Found:
    """Return the number of directions in which texts differ, and the share of the path that lies in a plane."""
    options: dict[str, Any] = {"texts": given.texts}
    stream = given.stream
    found: dict[str, Any] = {
        "participation": participation_ratios(stream, **options),
        "participation_normalized": participation_ratios(stream, normalize=True, **options),
        "explained_pooled": explained_variance(stream, basis="pooled", **options),
        "explained_site": explained_variance(stream, basis="site", held_out=True, **options),
        "explained_normalized": explained_variance(stream, basis="pooled", normalize=True, **options),
        "projected": paths(stream, components=min(PLANE_AXES, stream.unit_count)),
        "path_test": _path_test(given, plane_share, "share"),
    }
    return found, [found["participation"].message, found["explained_site"].message]


def plane_share(stream: Stream) -> float:
    """Return the share of the variance of a path, about its mean, along its first two principal components."""
    return float(pooled_axes(stream, components=min(PLANE_AXES, stream.unit_count)).share.sum())


def measure_rotations(given: RecordedStream) -> Found:
    """Return phase portraits and how often they rotate, with surrogates of the mean path."""
    if len(given.stream.sites) < MIN_PORTRAIT_SITES:
        return {}, [f"Rotations need at least {MIN_PORTRAIT_SITES} sites; there are {len(given.stream.sites)}."]
    path = mean_path(given.stream)
    found = {
        "portraits": portraits(path),
        "rotations": rotations(path),
        "rotation_test": _path_test(given, lambda stream: rotations(stream).as_printed),
    }
    return found, []


def measure_dynamics(given: RecordedStream) -> Found:
    """Return the linear map and the rotation nearest to the steps, the latter with surrogates."""
    steps = len(given.stream.sites) - 1
    count = min(MAX_MAP_COMPONENTS, steps // STEPS_PER_COMPONENT, given.stream.unit_count)
    if count < PLANE_AXES:
        return {}, [f"A linear map needs at least {PLANE_AXES * STEPS_PER_COMPONENT} steps; there are {steps}."]
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


def _path_test(given: RecordedStream, statistic: Any, *labels: str) -> SurrogateTest | None:
    """Compare a statistic of the mean path with the requested surrogates of it; None without any."""
    names = [name for name in PATH_SURROGATES if name in given.surrogates]
    if not names and not given.supplied:
        return None
    supplied = {name: mean_path(stream) for name, stream in given.supplied.items()}
    path = mean_path(given.stream)
    options: dict[str, Any] = {"draws": given.draws, "seed": given.seed, "supplied": supplied, "labels": labels}
    return against_surrogates(path, statistic, surrogates=names, **options)


MEASURE_GROUPS = {
    "paths": measure_paths,
    "correlations": measure_correlations,
    "information": measure_information,
    "dimensions": measure_dimensions,
    "rotations": measure_rotations,
    "dynamics": measure_dynamics,
}


def measured(given: RecordedStream, measures: Names, running: Running, label: str) -> Found:
    """Return the fields of an analysis for the measures that need only a recorded stream, and messages.

    `running` gets a step after each measure; names that are not keys of ``MEASURE_GROUPS`` are ignored.
    """
    chosen = [measure for name, measure in MEASURE_GROUPS.items() if name in measures]
    running.start(len(chosen), f"measures, {label}")
    fields: dict[str, Any] = {}
    messages: list[str] = []
    for measure in chosen:
        found, notes = measure(given)
        fields |= found
        messages += [one for one in notes if one]
        running.advance()
    return fields, messages


def encoder_layers(units: int) -> int:
    """Return the number of layers of an encoder whose sizes shrink by the paper's factor, 0.43, to two units."""
    return max(2, 1 + round(math.log(PLANE_AXES / units) / math.log(PAPER_SIZE_RATIO))) if units > PLANE_AXES else 2


def measure_compression(given: RecordedStream, *, device: str = "cpu", running: Running | None = None) -> Found:
    """Return how well an autoencoder with a bottleneck of two units reconstructs states, as they are and normalized."""
    if given.text_count < MIN_COMPRESSION_TEXTS:
        return {}, [f"Compression needs at least {MIN_COMPRESSION_TEXTS} texts; there are {given.text_count}."]

    options: dict[str, Any] = {
        "layers": encoder_layers(given.stream.unit_count),
        "bottleneck": min(PLANE_AXES, given.stream.unit_count),
        "restarts": COMPRESSION_RESTARTS,
        "seed": given.seed,
        "texts": given.texts,
        "device": device,
    }
    found, shown = {}, checked_running(running)
    shown.start(2, "compression")
    for name, normalize in (("compression", False), ("compression_normalized", True)):
        found[name] = dynamics.compression.compress(given.stream, normalize=normalize, **options)
        shown.advance()
    return found, [one.message for one in found.values()]


@dataclass(frozen=True)
class Disturbed:
    """A model whose state is disturbed, and the texts.

    Attributes
    ----------
    model : torch.nn.Module
    tokens : Tokens
    prompt : Tokens
        Of the one text that is teleported.
    stream : Stream
        Of the same model, whose principal plane is used.
    seed : int
    """

    model: nn.Module
    tokens: Tokens
    prompt: Tokens
    stream: Stream
    seed: int

    @property
    def sites(self) -> list[Site]:
        """Sites before the attention, or the block, of a few layers from the first to the last."""
        firsts = [site for site in self.stream.sites if site.place in ("attention", "block")]
        chosen = np.unique(np.linspace(0, len(firsts) - 1, PERTURBED_LAYERS).round().astype(int))
        return [firsts[one] for one in chosen]


def measure_perturbation(given: Disturbed, *, exponents: bool = True, running: Running) -> Found:
    """Return how disturbances at a few layers evolve, teleports from the same layers, and Lyapunov exponents.

    Parameters
    ----------
    given : Disturbed
    exponents : bool
        Whether to find the Lyapunov exponents too, which takes the longest.
    running : Running
        Gets a step after each text, teleport and spectrum, `perturbation_work` in all.
    """
    plane = pooled_axes(given.stream, components=min(PLANE_AXES, given.stream.unit_count))
    some = _first_texts(given.tokens, PERTURBED_TEXTS)
    disturbed = dynamics.perturbation.perturb(
        given.model, some, sites=given.sites, plane=plane, seed=given.seed, running=running.part()
    )
    reach = float(np.median(np.abs(plane.coordinates(given.stream)).max(axis=(0, 2))))
    grid = dynamics.teleports.square_grid(-reach, reach, GRID_SIDE_POINTS)
    teleports = []
    for keep_rest in (False, True):
        for site in given.sites:
            options: dict[str, Any] = {"keep_rest": keep_rest, "steps": TELEPORT_STEPS}
            teleports.append(dynamics.teleports.teleport(given.model, given.prompt, plane, grid, site, **options))
            running.advance()
    found: dict[str, Any] = {"perturbation": disturbed, "teleports": tuple(teleports)}
    if exponents:
        few = _first_texts(given.tokens, LYAPUNOV_TEXTS)
        starts = lyapunov_sites(given.sites)
        options = {"directions": LYAPUNOV_EXPONENTS, "seed": given.seed, "running": running.part()}
        found["lyapunov"] = tuple(dynamics.lyapunov.lyapunov(given.model, few, site, **options) for site in starts)
    spectra = found.get("lyapunov", ())
    notes = dict.fromkeys([disturbed.message, *(one.message for one in spectra)])
    return found, [one for one in notes if one]


def lyapunov_sites(sites: Sequence[Site]) -> list[Site]:
    """Return the first of some sites and the one in their middle."""
    return [sites[one] for one in sorted({0, len(sites) // 2})]


def perturbation_work(given: Disturbed, *, exponents: bool = True) -> int:
    """Return how many steps `measure_perturbation` reports."""
    texts = min(PERTURBED_TEXTS, len(given.tokens.ids))
    few = min(LYAPUNOV_TEXTS, len(given.tokens.ids)) * len(lyapunov_sites(given.sites))
    return texts + 2 * len(given.sites) + (few if exponents else 0)


def _first_texts(tokens: Tokens, count: int) -> Tokens:
    """Return the first so many texts."""
    return Tokens(tokens.ids[:count], tokens.heads[:count], tokens.tails[:count])
