"""What an analysis of a residual stream answers with: every measure and verdict, also those that need a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlaws.core.arguments import Array
from genlaws.core.estimate import INTERVAL_MEANING, Estimate, interval_columns
from genlaws.core.frames import DataFrame, frame_of, stack_frames
from genlaws.core.plain import UNWRITTEN
from genlaws.core.result import Result, Row, Summary, text_table
from genlaws.models.stream import Site
from genlaws.residual_stream.dynamics.jpca import RotationFit
from genlaws.residual_stream.dynamics.linear import Modes
from genlaws.residual_stream.dynamics.portraits import Portraits, Rotations, spread_of
from genlaws.residual_stream.measures.correlations import UnitCorrelations, unit_table
from genlaws.residual_stream.measures.curves import SiteCurve, no_numbers
from genlaws.residual_stream.measures.dimensions import ExplainedVariance, ParticipationRatios
from genlaws.residual_stream.measures.information import Information
from genlaws.residual_stream.measures.paths import PathMeasures, UnitMeans
from genlaws.residual_stream.measures.projected_paths import Paths
from genlaws.residual_stream.measures.writes import Writes
from genlaws.residual_stream.surrogates.comparison import SurrogateTest

HOLDS = "holds"
ALSO_HOLDS_FOR_SURROGATE = "also holds for the surrogate"
DOES_NOT_HOLD = "does not hold"
UNDECIDED = "undecided"
NOT_TESTED = "not tested here"
STREAM_VERDICTS = (HOLDS, ALSO_HOLDS_FOR_SURROGATE, DOES_NOT_HOLD, UNDECIDED, NOT_TESTED)
MODEL_STREAM = "model"
TABLE_FIELDS = (
    *("means", "paths", "writes", "correlations", "correlation_test", "projected", "path_test", "portraits"),
    *("rotations", "rotation_test", "modes", "rotation_fit", "dynamics_test", "perturbation"),
)

UNIT_TABLES = {"means", "correlations", "correlation_histogram", "portraits"}  # a row for each unit: only of the model


@dataclass(frozen=True)
class StreamClaim:
    """One claim of the paper with what was found here.

    Attributes
    ----------
    name : str
        ``continuity``, ``acceleration``, ``information``, ``rotations``, ``low-dimensional path`` or
        ``self-correction``.
    statement : str
        What the paper claims, in our words.
    observed : str
        The number with its interval.
    surrogate : str
        The same number for the surrogates that matter.
    verdict : str
        ``holds``, ``also holds for the surrogate``, ``does not hold``, ``undecided`` or
        ``not tested here``.
    why : str
        One sentence or two.
    """

    name: str
    statement: str
    observed: str
    surrogate: str
    verdict: str
    why: str


@dataclass(frozen=True)
class Acceleration:
    """Speed in the last third of the steps divided by that in the first third, text by text.

    Attributes
    ----------
    speed : Estimate
        Of the lengths of the steps.
    relative_speed : Estimate
        Of the lengths of the steps in units of the state they start from.
    """

    speed: Estimate
    relative_speed: Estimate


@dataclass(frozen=True)
class Training:
    """How a training went.

    Attributes
    ----------
    training_losses, validation_losses : tuple of float
        After each epoch; the training loss is the mean over the epoch.
    best_epoch : int
        Counted from 1; its weights are used.
    stopped_early : bool
        Whether training stopped because the validation loss no longer fell.
    """

    training_losses: tuple[float, ...]
    validation_losses: tuple[float, ...]
    best_epoch: int
    stopped_early: bool


@dataclass(frozen=True)
class Compression:
    """Reconstruction of a stream by an autoencoder; every value is of test texts, which neither trained nor stopped it.

    Attributes
    ----------
    sizes : tuple of int
        Of the encoder's layers.
    sites : tuple of str
    path : tuple of SiteCurve
        Mean coordinate in the bottleneck at every site, one curve for each of its units.
    step_length : SiteCurve
        Mean distance in the bottleneck between a site and the next. The bottleneck has no unit of its own: only ratios
        of its lengths mean something.
    explained : SiteCurve
        Share of the variance at every site, about the mean state of the site, that the autoencoder reconstructs; below
        zero where the mean would be the better reconstruction.
    components_explained : SiteCurve
        The same for as many principal components as the bottleneck is wide, found in the same training texts: what a
        linear autoencoder reaches.
    explained_pooled, components_explained_pooled : Estimate
        Of all sites together, about their common mean.
    training : Training
        Losses per epoch of the best training, in units of the mean variance of a unit over the training texts
        and all sites.
    normalized : bool
        Whether each state was divided by its root mean square.
    training_texts, validation_texts, test_texts : int
    message : str
        Where there is no value and why, and whether the network fell short of principal components.
    """

    sizes: tuple[int, ...]
    sites: tuple[str, ...]
    path: tuple[SiteCurve, ...]
    step_length: SiteCurve
    explained: SiteCurve
    components_explained: SiteCurve
    explained_pooled: Estimate
    components_explained_pooled: Estimate
    training: Training
    normalized: bool
    training_texts: int
    validation_texts: int
    test_texts: int
    message: str = ""

    @property
    def epochs(self) -> int:
        """Epochs that were run."""
        return len(self.training.training_losses)

    def to_frame(self) -> DataFrame:
        """Return one row for each measure and site."""
        curves = (*self.path, self.step_length, self.explained, self.components_explained)
        return stack_frames([curve.to_frame() for curve in curves])


@dataclass(frozen=True)
class Perturbation:
    """How disturbances at some sites evolve, with intervals over texts.

    Attributes
    ----------
    kind : {"noise", "swap"}
    size : float or None
        Length of the disturbance relative to the state; None for a whole swap.
    sites : tuple of str
        Where the state was disturbed. The next four attributes have one curve for each.
    distance : tuple of SiteCurve
        Distance from the undisturbed state at this site and all later ones.
    relative : tuple of SiteCurve
        The same in units of the length of the undisturbed state of each text at each site.
    in_plane, out_of_plane : tuple of SiteCurve
        The part of the distance in the given plane, and orthogonal to it; empty without a plane.
    rate, relative_rate : SiteCurve
        Slope of the logarithm of the distance, and of the relative distance, per step; below zero the disturbance
        shrinks. NaN where no site follows, or where nothing was disturbed.
    divergence, top_change : SiteCurve
        Distance of the distribution of the next word from the undisturbed one in nats, and by how much the probability
        of the word that was most likely changes; NaN for a model without a head.
    draws, text_count : int
    message : str
        What the numbers are based on.
    """

    kind: str
    size: float | None
    sites: tuple[str, ...]
    distance: tuple[SiteCurve, ...]
    relative: tuple[SiteCurve, ...]
    in_plane: tuple[SiteCurve, ...]
    out_of_plane: tuple[SiteCurve, ...]
    rate: SiteCurve
    relative_rate: SiteCurve
    divergence: SiteCurve
    top_change: SiteCurve
    draws: int
    text_count: int
    message: str

    def to_frame(self) -> DataFrame:
        """Return one row for each measure, disturbed site and site where it is measured."""
        many = (self.distance, self.relative, self.in_plane, self.out_of_plane)
        tables = [
            curve.to_frame().assign(disturbed=site)
            for curves in many
            for site, curve in zip(self.sites, curves, strict=bool(curves))
        ]
        once = (self.rate, self.relative_rate, self.divergence, self.top_change)
        tables += [curve.to_frame().assign(disturbed=list(self.sites)) for curve in once]
        return stack_frames(tables)


@dataclass(frozen=True)
class Teleport:
    """Paths from the points of a grid, and the path of the text itself.

    Attributes
    ----------
    site : str
        Where the state was replaced.
    later : tuple of str
        This site and those after it at which the state is recorded.
    keep_rest : bool
        Whether what lies outside the plane was left unchanged.
    control : array (all sites, axes)
        Coordinates of the undisturbed text at every site of the model.
    control_sites : tuple of str
    control_norm : array (later,)
        Length of the undisturbed state.
    divergence, top_change : array (points,)
        Distance of the distribution of the next word from the undisturbed one, in nats, and by how much the probability
        of the word that was most likely changes; NaN for a model without a head.
    steps_requested, steps : int
        Over how many sites the movement was to be followed, and was followed.
    message : str
        What the numbers are based on.
    coordinates : array (points, later, axes)
        Coordinates of the teleported states.
    in_plane, out_of_plane : array (points, later)
        Distance from the undisturbed state of the same site, in the plane and orthogonal to it.
    """

    site: str
    later: tuple[str, ...]
    keep_rest: bool
    control: Array
    control_sites: tuple[str, ...]
    control_norm: Array
    divergence: Array
    top_change: Array
    steps_requested: int
    steps: int
    message: str
    coordinates: Array = field(default_factory=no_numbers, kw_only=True, metadata=UNWRITTEN)
    in_plane: Array = field(default_factory=no_numbers, kw_only=True, metadata=UNWRITTEN)
    out_of_plane: Array = field(default_factory=no_numbers, kw_only=True, metadata=UNWRITTEN)

    @property
    def distance(self) -> Array:
        """Distance from the undisturbed state, (points, later)."""
        return np.hypot(self.in_plane, self.out_of_plane)

    @property
    def movement(self) -> Array:
        """Where each point of the grid went in `steps` sites, (points, axes): the arrows of the paper."""
        return np.asarray(self.coordinates[:, -1] - self.coordinates[:, 0])

    @property
    def returned(self) -> Array:
        """Distance in the plane after the last step as a share of the first, (points,); below 1 it came nearer.

        NaN for a point where the state already was.
        """
        first, last = self.in_plane[:, 0], self.in_plane[:, -1]
        return np.divide(last, first, out=np.full_like(last, np.nan), where=first > 0)

    @property
    def returned_relative(self) -> Array:
        """The same with distances in units of the undisturbed state's length, which grows from site to site."""
        return self.returned * float(self.control_norm[0] / self.control_norm[-1])

    def to_frame(self) -> DataFrame:
        """Return one row for each point of the grid and site."""
        points, later, axes = self.coordinates.shape
        flat = self.coordinates.reshape(-1, axes)
        columns = {
            "point": np.repeat(np.arange(points), later),
            "site": np.tile(np.array(self.later, dtype=object), points),
            **{f"coordinate_{one + 1}": flat[:, one] for one in range(axes)},
            "in_plane": self.in_plane.ravel(),
            "out_of_plane": self.out_of_plane.ravel(),
            "relative_distance": (self.distance / self.control_norm).ravel(),
        }
        return frame_of(columns)


@dataclass(frozen=True)
class Lyapunov:
    """Finite-time Lyapunov exponents between two sites, per step from site to site.

    Attributes
    ----------
    site, to : str
    steps : int
        Sites from the one to the other.
    singular_values : array (texts, values)
        Of the Jacobian, largest first: all of them, or the leading ones.
    exponents : SiteCurve
        Their logarithms divided by the number of steps, with intervals over texts.
    relative_exponents : SiteCurve
        The same for disturbances in units of the length of the state, which grows from site to site.
    typical : SiteCurve
        Mean logarithm of the growth of a random direction, per step; two points, absolute and relative.
    non_normality : array (texts,)
        Share of the Jacobian's size that is not in its eigenvalues: 0 for a normal matrix; NaN unless it is whole.
    residual : float
        Largest relative change of a singular value in the last round; 0 where the Jacobian is whole.
    converged : bool
    message : str
    eigenvalues : complex array (texts, units), or nothing
        Of the whole Jacobian.
    """

    site: str
    to: str
    steps: int
    singular_values: Array
    exponents: SiteCurve
    relative_exponents: SiteCurve
    typical: SiteCurve
    non_normality: Array
    residual: float
    converged: bool
    message: str
    eigenvalues: NDArray[np.complex128] | None = field(default=None, metadata=UNWRITTEN)

    def to_frame(self) -> DataFrame:
        """Return one row for each exponent; the site column has its rank."""
        tables = [curve.to_frame() for curve in (self.exponents, self.relative_exponents, self.typical)]
        return stack_frames(tables).rename(columns={"site": "rank"})


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Result):
    """All measures of a residual stream; None or empty where one was not requested or not possible.

    Its JSON has curves and single numbers. Values of each unit or text are in its tables.

    Attributes
    ----------
    model : str
        Name of the model.
    text_count, row_count : int
        Number of texts, and of tokens whose states were read.
    sites : tuple of Site
    identity : str
        How a state follows from the one before.
    identity_error : float
        Largest relative deviation from that.
    messages : tuple of str
        Limits of the numbers, to read first.
    seed : int
    measures, surrogates : tuple of str
        What was requested.
    means : UnitMeans
    paths : PathMeasures
    acceleration : Acceleration
    writes : Writes
    correlations : UnitCorrelations
    correlation_test : SurrogateTest
        Mean r over units of each step, in random axes.
    information : mapping from estimator to Information
    participation, participation_normalized : ParticipationRatios
        Of states as they are, and divided by their root mean square.
    explained_pooled, explained_site, explained_normalized : ExplainedVariance
        Along axes of all sites pooled, along axes of each site found in other texts, and pooled with every state
        divided by its root mean square.
    projected : Paths
        Along the first two pooled axes.
    path_test : SurrogateTest
        Share of the mean path's variance along its first two axes.
    portraits : Portraits
    rotations : Rotations
    rotation_test : SurrogateTest
        Rotations of each unit, clockwise positive as the paper prints them.
    modes : Modes
    rotation_fit : RotationFit
    dynamics_test : SurrogateTest
        Share of the mean path's steps that one rotation explains.
    compression, compression_normalized : Compression
        Of states as they are, and divided by their root mean square.
    perturbation : Perturbation
        Noise at sites of some layers.
    teleports : tuple of Teleport
        As in the paper, and with the rest of the state unchanged.
    lyapunov : tuple of Lyapunov
    references : mapping from name to Analysis
        The same measures of the streams of ``random weights`` and ``shuffled tokens``, without claims.
    claims : tuple of StreamClaim
    curves : mapping from name to SiteCurve
        Means over the units: ``correlation``, and for each estimator ``information`` and, with the texts of the next
        site permuted, ``shuffled information``.
    tests : mapping from name to SurrogateTest
        Of the mean over the entries: ``correlation``, ``path``, ``rotation`` and ``dynamics``.
    """

    drawn_by = "genlaws.figures.residual_stream.entries:stream_pictures"
    page_by = "genlaws.report.residual_stream:residual_stream_page"

    model: str
    text_count: int
    row_count: int
    sites: tuple[Site, ...]
    identity: str
    identity_error: float
    messages: tuple[str, ...]
    seed: int
    measures: tuple[str, ...]
    surrogates: tuple[str, ...]
    means: UnitMeans | None = field(default=None, metadata=UNWRITTEN)
    paths: PathMeasures | None = None
    acceleration: Acceleration | None = None
    writes: Writes | None = None
    correlations: UnitCorrelations | None = field(default=None, metadata=UNWRITTEN)
    correlation_test: SurrogateTest | None = field(default=None, metadata=UNWRITTEN)
    information: Mapping[str, Information] = field(default_factory=dict, metadata=UNWRITTEN)
    participation: ParticipationRatios | None = None
    participation_normalized: ParticipationRatios | None = None
    explained_pooled: ExplainedVariance | None = None
    explained_site: ExplainedVariance | None = None
    explained_normalized: ExplainedVariance | None = None
    projected: Paths | None = field(default=None, metadata=UNWRITTEN)
    path_test: SurrogateTest | None = field(default=None, metadata=UNWRITTEN)
    portraits: Portraits | None = field(default=None, metadata=UNWRITTEN)
    rotations: Rotations | None = None
    rotation_test: SurrogateTest | None = field(default=None, metadata=UNWRITTEN)
    modes: Modes | None = None
    rotation_fit: RotationFit | None = None
    dynamics_test: SurrogateTest | None = field(default=None, metadata=UNWRITTEN)
    compression: Compression | None = None
    compression_normalized: Compression | None = None
    perturbation: Perturbation | None = None
    teleports: tuple[Teleport, ...] = ()
    lyapunov: tuple[Lyapunov, ...] = ()
    references: Mapping[str, Analysis] = field(default_factory=dict)
    claims: tuple[StreamClaim, ...] = ()
    curves: Mapping[str, SiteCurve] = field(default_factory=dict)
    tests: Mapping[str, SurrogateTest] = field(default_factory=dict)

    @property
    def site_names(self) -> tuple[str, ...]:
        """Names of the sites."""
        return tuple(site.name for site in self.sites)

    @property
    def text_message(self) -> str:
        """How many texts and tokens were read."""
        texts = f"{self.text_count:,} text{'s' if self.text_count != 1 else ''}"
        if self.row_count == self.text_count:
            return f"one token of {'each of ' if self.text_count != 1 else ''}{texts}"
        return f"{self.row_count:,} tokens of {texts}"

    def summary(self) -> Summary:
        """Return the verdict on each claim with what was observed, why, and the main numbers."""
        identity = f"; {self.identity} (relative error {self.identity_error:.1g})" if self.identity else ""
        headline = [f"{self.model or 'stream'}: {self.text_message}, {len(self.sites)} sites{identity}"]
        cells = [(claim.name, claim.verdict, claim.observed) for claim in self.claims]
        why = [f"{claim.name}: {claim.why}" for claim in self.claims]
        return Summary(
            rows=[Row(name, text) for name, text in _main_numbers(self).items()],
            sentences=[INTERVAL_MEANING, *why],
            warnings=[f"Note: {message}" for message in self.messages],
            table=text_table([("claim", "verdict", "observed"), *cells]) if cells else "",
            headline=headline,
        )

    def to_frame(self) -> DataFrame:
        """Return one row per step from site to site: what writes, and the means of what was measured of each step."""
        pairs = zip(self.sites[:-1], self.sites[1:], strict=True)
        rows: list[dict[str, Any]] = [{"from": one.name, "to": after.name, "place": one.place} for one, after in pairs]
        for name, curve in self.step_curves().items():
            for row, estimate in zip(rows, curve, strict=True):
                row.update(interval_columns(name.replace(" ", "_"), estimate))
        return frame_of(rows)

    def step_curves(self) -> dict[str, SiteCurve]:
        """Return the curves that have a point for each step."""
        paths = self.paths
        names = () if paths is None else ("cosine", "speed", "relative_speed")
        return {name: getattr(paths, name) for name in names} | dict(self.curves)

    def tables(self) -> dict[str, DataFrame]:
        """Return the steps and the tables that the pictures are drawn from; the column ``stream`` names their stream.

        Rows of references follow those of the model.
        """
        parts: dict[str, list[DataFrame]] = {}
        for name, one in {MODEL_STREAM: self, **self.references}.items():
            for kind, tables in _stream_tables(one).items():
                if name == MODEL_STREAM or kind not in UNIT_TABLES:
                    own = parts.setdefault(kind, [])
                    own += [_with_first_columns(table, {"stream": name}) for table in tables]
        claims = {"claims": frame_of([vars(one) for one in self.claims])} if self.claims else {}
        steps = {"steps": self.to_frame()}
        return steps | claims | {kind: stack_frames(tables) for kind, tables in parts.items() if tables}


def _with_first_columns(table: DataFrame, columns: Mapping[str, str | bool]) -> DataFrame:
    """Put columns with one value each in front of a table."""
    for place, (name, value) in enumerate(columns.items()):
        table.insert(place, name, value)
    return table


def _stream_tables(one: Analysis) -> dict[str, list[DataFrame]]:
    """Return the tables of one stream; those under one name are to be concatenated."""
    found = {name: [getattr(one, name).to_frame()] for name in TABLE_FIELDS if getattr(one, name) is not None}
    if one.correlations is not None:
        found["correlation_histogram"] = [one.correlations.histogram(low=0.0).to_frame()]
        found["correlation_means"] = [one.correlations.mean.to_frame()]
    for kind, made in {
        "participation": (one.participation, one.participation_normalized),
        "compression": (one.compression, one.compression_normalized),
        "explained": (one.explained_pooled, one.explained_normalized, one.explained_site),
    }.items():
        found[kind] = [
            _with_first_columns(part.to_frame(), {"normalized": number == 1})
            for number, part in enumerate(made)
            if part is not None
        ]
    for name, measured in one.information.items():
        found[f"information_{name}"] = [measured.to_frame()]
        found[f"information_{name}_units"] = [_unit_frame(measured)]
    found["lyapunov"] = [
        _with_first_columns(part.to_frame(), {"from": part.site, "to": part.to}) for part in one.lyapunov
    ]
    found["teleports"] = [
        _with_first_columns(part.to_frame(), {"from": part.site, "keep_rest": part.keep_rest})
        for part in one.teleports
        if part.coordinates.size
    ]
    return found


def _unit_frame(measured: Information) -> DataFrame:
    """Return the information of each unit and step."""
    columns = unit_table(measured.sites[:-1], {"information": measured.values, "error": measured.errors})
    columns["unit"] = np.tile(measured.units, len(measured.sites) - 1)
    return frame_of(columns)


def compact_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the means over units among the fields of an analysis: curves, and tests against surrogates."""
    curves: dict[str, SiteCurve] = {}
    if fields.get("correlations") is not None:
        curves["correlation"] = fields["correlations"].mean
    for name, found in fields.get("information", {}).items():
        labels = tuple(site.name for site in found.sites[:-1])
        curves[f"information {name}"] = SiteCurve(f"information {name}", labels, found.means, found.message)
        curves[f"shuffled information {name}"] = SiteCurve(f"shuffled information {name}", labels, found.baselines)
    given = {name: fields.get(f"{name}_test") for name in ("correlation", "path", "rotation", "dynamics")}
    return {"curves": curves, "tests": {name: test.of_mean() for name, test in given.items() if test is not None}}


def _main_numbers(analysis: Analysis) -> dict[str, str]:
    """Return the main numbers of what was measured."""
    rows: dict[str, str] = {}
    if analysis.paths is not None:
        paths = analysis.paths
        rows |= {
            "length of the state": str(paths.norm),
            "length of a step": str(paths.speed),
            "cosine of successive states": str(paths.cosine),
            "straightness of the path": str(paths.straightness),
        }
    if analysis.writes is not None:
        for place, one in analysis.writes.by_place.items():
            rows[f"write of {place}, relative"] = str(one.relative_size)
    for name, curve in analysis.curves.items():
        if not name.startswith("shuffled"):
            unit = " r" if name == "correlation" else ", nats"
            rows[f"{name}{unit}"] = str(curve)
    return rows | _shape_rows(analysis) | _disturbance_rows(analysis)


def _shape_rows(analysis: Analysis) -> dict[str, str]:
    """Return in how many dimensions the texts differ, and how the mean path rotates."""
    rows: dict[str, str] = {}
    if analysis.participation is not None:
        rows["participation ratio"] = str(analysis.participation.curve)
    for name, compressed in (
        ("autoencoder, explained", analysis.compression),
        ("the same, normalized", analysis.compression_normalized),
    ):
        if compressed is not None:
            rows[name] = f"{compressed.explained_pooled}; components {compressed.components_explained_pooled}"
    if analysis.rotations is not None:
        rows["rotations of a unit"] = spread_of(analysis.rotations.as_printed)
        rows["winding about its mean"] = spread_of(-analysis.rotations.centered_winding)
    if analysis.modes is not None:
        held = analysis.modes.held_out
        rows["linear map, texts left out"] = f"share of the step predicted {held.skill:.3f}, R² {held.r_squared:.4f}"
    return rows


def _disturbance_rows(analysis: Analysis) -> dict[str, str]:
    """Return how disturbances grow or shrink."""
    rows: dict[str, str] = {}
    found = analysis.perturbation
    if found is not None:
        for site, curve in zip(found.sites, found.relative, strict=True):
            first, last = curve[0].value, curve[-1].value
            factor = f"{last / first:.3g}" if first > 0 else "nothing"
            rows[f"disturbed at {site}"] = f"relative distance × {factor} until the end"
    for spectrum in analysis.lyapunov:
        rows[f"exponents {spectrum.site} to {spectrum.to}"] = (
            f"leading {spectrum.exponents[0]}, typical {spectrum.typical[0]} per step"
        )
    return rows
