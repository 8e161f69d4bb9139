"""What an analysis of a residual stream found: every measure, and the verdict on each claim of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from genlaws.numerics.intervals import Estimate
from genlaws.residual_stream.correlations import UnitCorrelations
from genlaws.residual_stream.dimensions import ExplainedVariance, ParticipationRatios
from genlaws.residual_stream.information import Information
from genlaws.residual_stream.jpca import RotationFit
from genlaws.residual_stream.linear_dynamics import Modes
from genlaws.residual_stream.portraits import Portraits, Rotations
from genlaws.residual_stream.projected_paths import Paths
from genlaws.residual_stream.statistics import PathMeasures, UnitMeans
from genlaws.residual_stream.stream import Site
from genlaws.residual_stream.surrogates import SurrogateTest
from genlaws.residual_stream.writes import Writes

if TYPE_CHECKING:
    import pandas as pd

    from genlaws.residual_stream.compression import Compression
    from genlaws.residual_stream.lyapunov import Lyapunov
    from genlaws.residual_stream.perturbation import Perturbation
    from genlaws.residual_stream.teleports import Teleport

HOLDS = "holds"
SO_DOES_THE_SURROGATE = "holds, but so it does for the surrogate"
DOES_NOT_HOLD = "does not hold"
UNDECIDED = "undecided"
NOT_TESTED = "not tested here"
VERDICTS = (HOLDS, SO_DOES_THE_SURROGATE, DOES_NOT_HOLD, UNDECIDED, NOT_TESTED)


@dataclass(frozen=True)
class Claim:
    """One claim of the paper with what was found here.

    Attributes
    ----------
    name : str
        ``continuity``, ``acceleration``, ``information``, ``rotations``, ``low-dimensional path`` or
        ``self-correction``.
    says : str
        What the paper says, in our words.
    observed : str
        The number with its interval.
    surrogate : str
        The same number for the surrogates that matter.
    verdict : str
        ``holds``, ``holds, but so it does for the surrogate``, ``does not hold`` or ``not tested here``.
    why : str
        One sentence or two.
    """

    name: str
    says: str
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
    """All measures of a residual stream; what was not asked for, or could not be measured, is nothing.

    Attributes
    ----------
    model : str
        What the model is called.
    text_count, row_count : int
        Number of texts, and of tokens whose states were read.
    sites : tuple of Site
    identity : str
        How a state follows from the one before.
    identity_error : float
        Largest relative distance from that.
    messages : tuple of str
        What to know before anything is concluded.
    seed : int
    measures, surrogates : tuple of str
        What was asked for.
    means : UnitMeans
    paths : PathMeasures
    acceleration : Acceleration
    writes : Writes
    correlations : UnitCorrelations
    correlation_test : SurrogateTest
        Mean r over units of each step, in random axes.
    information : mapping from estimator to Information
    participation, participation_normalised : ParticipationRatios
        Of states as they are, and divided by their root mean square.
    explained_pooled, explained_site, explained_normalised : ExplainedVariance
        Along axes of all sites pooled, along axes of each site found in other texts, and pooled with every state
        divided by its root mean square.
    projected : Paths
        Along the first two pooled axes.
    path_test : SurrogateTest
        Share of the mean path's variance along its first two axes.
    portraits : Portraits
    rotations : Rotations
    rotation_test : SurrogateTest
        Turns of each unit, clockwise positive as the paper prints them.
    modes : Modes
    rotation_fit : RotationFit
    dynamics_test : SurrogateTest
        Share of the mean path's steps that one rotation explains.
    compression, compression_normalised : Compression
        Of states as they are, and divided by their root mean square.
    perturbation : Perturbation
        Noise at sites of some layers.
    teleports : tuple of Teleport
        As in the paper, and with the rest of the state kept.
    lyapunov : tuple of Lyapunov
    references : mapping from name to Analysis
        The same measures of the streams of ``random weights`` and ``shuffled tokens``, without claims.
    claims : tuple of Claim
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
    participation_normalised: ParticipationRatios | None = None
    explained_pooled: ExplainedVariance | None = None
    explained_site: ExplainedVariance | None = None
    explained_normalised: ExplainedVariance | None = None
    projected: Paths | None = None
    path_test: SurrogateTest | None = None
    portraits: Portraits | None = None
    rotations: Rotations | None = None
    rotation_test: SurrogateTest | None = None
    modes: Modes | None = None
    rotation_fit: RotationFit | None = None
    dynamics_test: SurrogateTest | None = None
    compression: Compression | None = None
    compression_normalised: Compression | None = None
    perturbation: Perturbation | None = None
    teleports: tuple[Teleport, ...] = ()
    lyapunov: tuple[Lyapunov, ...] = ()
    references: Mapping[str, Analysis] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()

    @property
    def site_names(self) -> tuple[str, ...]:
        """Names of the sites."""
        return tuple(site.name for site in self.sites)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: claims, curves and estimates; arrays over units are in the tables instead."""
        from genlaws.residual_stream.analysis_tables import as_dict  # noqa: PLC0415 - it needs this module

        return as_dict(self)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables that the pictures are drawn from, by name; the column ``stream`` says whose they are."""
        from genlaws.residual_stream.analysis_tables import tables_of  # noqa: PLC0415 - it needs this module

        return tables_of(self)
