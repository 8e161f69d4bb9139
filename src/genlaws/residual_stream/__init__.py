"""Residual stream: a transformer's layers as time, with the controls that tell what its motion means.

Measures of :cite:p:`fernando2025` and others, each with intervals over texts and beside surrogates. What records or
disturbs a model needs torch and stands in ``capture``, ``compression``, ``perturbation``, ``teleports`` and
``lyapunov``; `analyse` calls it all.
"""

from typing import TYPE_CHECKING

from genlaws.numerics.submodules import loaded_on_access
from genlaws.residual_stream.analysis import MEASURES, SURROGATE_NAMES, USUAL_MEASURES, analyse, analyse_stream
from genlaws.residual_stream.analysis_results import Acceleration, Analysis, Claim
from genlaws.residual_stream.claims import claims_of
from genlaws.residual_stream.correlations import UnitCorrelations, unit_correlations
from genlaws.residual_stream.curves import Curve
from genlaws.residual_stream.dimensions import (
    ExplainedVariance,
    ParticipationRatios,
    explained_variance,
    participation_ratios,
)
from genlaws.residual_stream.information import Information, mutual_information
from genlaws.residual_stream.jpca import RotationFit, fit_rotation
from genlaws.residual_stream.linear_dynamics import Modes, dynamic_modes
from genlaws.residual_stream.portraits import Portraits, Rotations, portraits, rotations
from genlaws.residual_stream.positions import Sample
from genlaws.residual_stream.projected_paths import Paths, PooledAxes, paths, pooled_axes
from genlaws.residual_stream.statistics import PathMeasures, UnitMeans, path_measures, unit_means
from genlaws.residual_stream.stream import Site, Stream
from genlaws.residual_stream.surrogates import SurrogateTest, against_surrogates
from genlaws.residual_stream.texts import Tokens, tokenise
from genlaws.residual_stream.verdicts import verdict_of
from genlaws.residual_stream.writes import Writes, writes

if TYPE_CHECKING:
    from genlaws.residual_stream import capture as capture
    from genlaws.residual_stream import compression as compression
    from genlaws.residual_stream import lyapunov as lyapunov
    from genlaws.residual_stream import perturbation as perturbation
    from genlaws.residual_stream import teleports as teleports

__all__ = [
    "MEASURES",
    "SURROGATE_NAMES",
    "USUAL_MEASURES",
    "Acceleration",
    "Analysis",
    "Claim",
    "Curve",
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
    "Sample",
    "Site",
    "Stream",
    "SurrogateTest",
    "Tokens",
    "UnitCorrelations",
    "UnitMeans",
    "Writes",
    "against_surrogates",
    "analyse",
    "analyse_stream",
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
    "tokenise",
    "unit_correlations",
    "unit_means",
    "verdict_of",
    "writes",
]

__getattr__, __dir__ = loaded_on_access(__name__, ("capture", "compression", "lyapunov", "perturbation", "teleports"))
