"""Residual stream: a transformer's layers as time, with the controls that show what its motion means.

Measures of :cite:p:`fernando2025` and others, each with intervals over texts and compared with surrogates. Measures
that train a network or change the state of a model need torch and are in ``dynamics``; `analyze` calls all of them.
"""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access
from genlaws.models.stream import Site, Stream, TokenSample
from genlaws.models.texts import Tokens, tokenize
from genlaws.residual_stream.analysis import analyze, analyze_stream
from genlaws.residual_stream.dynamics.jpca import RotationFit, fit_rotation
from genlaws.residual_stream.dynamics.linear import Modes, dynamic_modes
from genlaws.residual_stream.dynamics.portraits import Portraits, Rotations, portraits, rotations
from genlaws.residual_stream.measures.correlations import UnitCorrelations, unit_correlations
from genlaws.residual_stream.measures.curves import SiteCurve
from genlaws.residual_stream.measures.dimensions import (
    ExplainedVariance,
    ParticipationRatios,
    explained_variance,
    participation_ratios,
)
from genlaws.residual_stream.measures.information import Information, mutual_information
from genlaws.residual_stream.measures.paths import PathMeasures, UnitMeans, path_measures, unit_means
from genlaws.residual_stream.measures.projected_paths import Paths, PooledAxes, paths, pooled_axes
from genlaws.residual_stream.measures.writes import Writes, writes
from genlaws.residual_stream.parameters import DEFAULT_MEASURES, MEASURES, SURROGATE_NAMES
from genlaws.residual_stream.results import Acceleration, Analysis, StreamClaim
from genlaws.residual_stream.surrogates.comparison import SurrogateTest, against_surrogates
from genlaws.residual_stream.verdicts import claims_of, verdict_of

if TYPE_CHECKING:
    from genlaws.residual_stream import dynamics as dynamics

__all__ = [
    "DEFAULT_MEASURES",
    "MEASURES",
    "SURROGATE_NAMES",
    "Acceleration",
    "Analysis",
    "ExplainedVariance",
    "Information",
    "Modes",
    "ParticipationRatios",
    "PathMeasures",
    "Paths",
    "PooledAxes",
    "Portraits",
    "RotationFit",
    "Rotations",
    "Site",
    "SiteCurve",
    "Stream",
    "StreamClaim",
    "SurrogateTest",
    "TokenSample",
    "Tokens",
    "UnitCorrelations",
    "UnitMeans",
    "Writes",
    "against_surrogates",
    "analyze",
    "analyze_stream",
    "claims_of",
    "dynamic_modes",
    "explained_variance",
    "fit_rotation",
    "mutual_information",
    "participation_ratios",
    "path_measures",
    "paths",
    "pooled_axes",
    "portraits",
    "rotations",
    "tokenize",
    "unit_correlations",
    "unit_means",
    "verdict_of",
    "writes",
]

__getattr__, __dir__ = loaded_on_access(__name__)
