"""Semanticity: a finite resolution trades generalization against identification.

Theory of :cite:p:`nurisso2026` for any similarity, space and number of items, measurement of a representation, and fits
of recorded choices.
"""

from typing import TYPE_CHECKING

from genlaws.core.submodules import loaded_on_access
from genlaws.semanticity.choices.comparison import PowerAnalysis, ShapeComparison, compare_shapes, trials_to_distinguish
from genlaws.semanticity.choices.fit import ChoiceFit, fit_choices
from genlaws.semanticity.choices.model import ChoiceModel, simulate_choices
from genlaws.semanticity.choices.trials import Trials, read_trials
from genlaws.semanticity.measurement.measure import measure
from genlaws.semanticity.measurement.result import Measurement
from genlaws.semanticity.theory.curves import (
    FrontCurve,
    WholeCurve,
    best_on_curve,
    front_curve,
    point_on_curve,
    whole_curve,
)
from genlaws.semanticity.theory.front import (
    Front,
    FrontPoint,
    best_resolution,
    finite_set_probabilities,
    front,
    probabilities,
)
from genlaws.semanticity.theory.many_items import (
    best_ball_mass,
    best_generalization,
    collapse_constant,
    finite_generalization,
    finite_identification,
    generalization_of_many,
    identification_of_many,
)
from genlaws.semanticity.theory.similarity import Shape, Similarity, power_law, similarity, user_shape
from genlaws.semanticity.theory.spaces import (
    ContinuousSpace,
    DiscreteSpace,
    circle,
    from_distances,
    hypercube,
    segment,
    space,
    sphere,
    torus,
    tree,
)
from genlaws.semanticity.theory.tradeoff import (
    exponential_on_circle,
    generalization_probability,
    homogeneous_front,
    identification_probability,
    linear_on_circle,
)

if TYPE_CHECKING:
    from genlaws.semanticity import networks as networks

__all__ = [
    "ChoiceFit",
    "ChoiceModel",
    "ContinuousSpace",
    "DiscreteSpace",
    "Front",
    "FrontCurve",
    "FrontPoint",
    "Measurement",
    "PowerAnalysis",
    "Shape",
    "ShapeComparison",
    "Similarity",
    "Trials",
    "WholeCurve",
    "best_ball_mass",
    "best_generalization",
    "best_on_curve",
    "best_resolution",
    "circle",
    "collapse_constant",
    "compare_shapes",
    "exponential_on_circle",
    "finite_generalization",
    "finite_identification",
    "finite_set_probabilities",
    "fit_choices",
    "from_distances",
    "front",
    "front_curve",
    "generalization_of_many",
    "generalization_probability",
    "homogeneous_front",
    "hypercube",
    "identification_of_many",
    "identification_probability",
    "linear_on_circle",
    "measure",
    "point_on_curve",
    "power_law",
    "probabilities",
    "read_trials",
    "segment",
    "similarity",
    "simulate_choices",
    "space",
    "sphere",
    "torus",
    "tree",
    "trials_to_distinguish",
    "user_shape",
    "whole_curve",
]

__getattr__, __dir__ = loaded_on_access(__name__)
