"""Results of an analysis of a residual stream: every measure and verdict, as tables and as JSON-ready values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from genlaws.core.estimate import Estimate
from genlaws.core.frames import DataFrame, frame_of, stack_frames
from genlaws.models.stream import Site
from genlaws.residual_stream.dynamics.jpca import RotationFit
from genlaws.residual_stream.dynamics.linear import Modes
from genlaws.residual_stream.dynamics.portraits import Portraits, Rotations
from genlaws.residual_stream.measures.correlations import UnitCorrelations, unit_table
from genlaws.residual_stream.measures.dimensions import ExplainedVariance, ParticipationRatios
from genlaws.residual_stream.measures.information import Information
from genlaws.residual_stream.measures.paths import PathMeasures, UnitMeans
from genlaws.residual_stream.measures.projected_paths import Paths
from genlaws.residual_stream.measures.writes import Writes
from genlaws.residual_stream.surrogates.comparison import SurrogateTest

if TYPE_CHECKING:
    from genlaws.residual_stream.dynamics.compression import Compression
    from genlaws.residual_stream.dynamics.lyapunov import Lyapunov
    from genlaws.residual_stream.dynamics.perturbation import Perturbation
    from genlaws.residual_stream.dynamics.teleports import Teleport

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
class Analysis:
    """All measures of a residual stream; None or empty where one was not requested or not possible.

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
    """

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
    means: UnitMeans | None = None
    paths: PathMeasures | None = None
    acceleration: Acceleration | None = None
    writes: Writes | None = None
    correlations: UnitCorrelations | None = None
    correlation_test: SurrogateTest | None = None
    information: Mapping[str, Information] = field(default_factory=dict)
    participation: ParticipationRatios | None = None
    participation_normalized: ParticipationRatios | None = None
    explained_pooled: ExplainedVariance | None = None
    explained_site: ExplainedVariance | None = None
    explained_normalized: ExplainedVariance | None = None
    projected: Paths | None = None
    path_test: SurrogateTest | None = None
    portraits: Portraits | None = None
    rotations: Rotations | None = None
    rotation_test: SurrogateTest | None = None
    modes: Modes | None = None
    rotation_fit: RotationFit | None = None
    dynamics_test: SurrogateTest | None = None
    compression: Compression | None = None
    compression_normalized: Compression | None = None
    perturbation: Perturbation | None = None
    teleports: tuple[Teleport, ...] = ()
    lyapunov: tuple[Lyapunov, ...] = ()
    references: Mapping[str, Analysis] = field(default_factory=dict)
    claims: tuple[StreamClaim, ...] = ()

    @property
    def site_names(self) -> tuple[str, ...]:
        """Names of the sites."""
        return tuple(site.name for site in self.sites)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: claims, curves and estimates; arrays over units are in the tables instead.

        A number that is not finite is None. A test against surrogates is that of the mean over its entries.
        """
        found: dict[str, Any] = to_json_value(self)
        return found

    def tables(self) -> dict[str, DataFrame]:
        """Return the tables that the pictures are drawn from, by name; the column ``stream`` names their stream.

        Rows of references follow those of the model.
        """
        parts: dict[str, list[DataFrame]] = {}
        for name, one in {MODEL_STREAM: self, **self.references}.items():
            for kind, tables in _stream_tables(one).items():
                if name == MODEL_STREAM or kind not in UNIT_TABLES:
                    own = parts.setdefault(kind, [])
                    own += [_with_first_columns(table, {"stream": name}) for table in tables]
        claims = {"claims": frame_of([vars(one) for one in self.claims])} if self.claims else {}
        return claims | {kind: stack_frames(tables) for kind, tables in parts.items() if tables}


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
        _with_first_columns(part.to_frame(), {"from": part.site, "keep_rest": part.keep_rest}) for part in one.teleports
    ]
    return found


def _unit_frame(measured: Information) -> DataFrame:
    """Return the information of each unit and step."""
    columns = unit_table(measured.sites[:-1], {"information": measured.values, "error": measured.errors})
    columns["unit"] = np.tile(measured.units, len(measured.sites) - 1)
    return frame_of(columns)


def to_json_value(value: Any) -> Any:
    """Return what JSON can hold of a value."""
    if is_dataclass(value):
        return _fields_as_dict(value)
    if isinstance(value, Mapping):
        return {name: to_json_value(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_json_value(part) for part in value]
    if isinstance(value, complex):
        return [to_json_value(value.real), to_json_value(value.imag)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _fields_as_dict(value: Any) -> Any:
    """Return what JSON can hold of a dataclass: its fields, or a short form."""
    if isinstance(value, SurrogateTest):
        return _test_as_dict(value)
    if isinstance(value, Site):
        return value.name
    return {
        name: to_json_value(part)
        for name, part in vars(value).items()
        if not (isinstance(part, np.ndarray) and part.ndim > 1)
    }


def _test_as_dict(test: SurrogateTest) -> dict[str, Any]:
    """Return the test of the mean over entries."""
    whole = test if test.observed.size == 1 else test.of_mean()
    names = ("mean", "standard_deviation", "z_score", "p_value")
    against = {
        kind: {name: to_json_value(float(getattr(one, name).ravel()[0])) for name in names} | {"draws": len(one.draws)}
        for kind, one in whole.against.items()
    }
    return {"observed": to_json_value(float(whole.observed.ravel()[0])), "against": against}
