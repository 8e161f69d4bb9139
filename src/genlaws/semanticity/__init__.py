"""Semanticity: a finite resolution trades generalization against identification.

Theory of :cite:p:`nurisso2026` for any similarity, space and number of items, measurement of a representation, and fits
of recorded choices.
"""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access
from genlaws.semanticity.choices.fit import fit_choices, trials_to_distinguish
from genlaws.semanticity.choices.model import ChoiceModel, simulate_choices
from genlaws.semanticity.choices.result import ChoiceFit, PowerAnalysis, ShapeComparison
from genlaws.semanticity.choices.trials import Trials, read_trials
from genlaws.semanticity.measurement.measure import measure
from genlaws.semanticity.measurement.result import Measurement
from genlaws.semanticity.theory.exact import FrontPoint
from genlaws.semanticity.theory.front import Front, FrontPoints, front, front_points
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
from genlaws.semanticity.theory.stimulus_sets import EvenSet, StimulusSet, even_set, stimulus_set
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
    "EvenSet",
    "Front",
    "FrontPoint",
    "FrontPoints",
    "Measurement",
    "PowerAnalysis",
    "Shape",
    "ShapeComparison",
    "Similarity",
    "StimulusSet",
    "Trials",
    "best_ball_mass",
    "best_generalization",
    "circle",
    "collapse_constant",
    "even_set",
    "exponential_on_circle",
    "finite_generalization",
    "finite_identification",
    "fit_choices",
    "from_distances",
    "front",
    "front_points",
    "generalization_of_many",
    "generalization_probability",
    "homogeneous_front",
    "hypercube",
    "identification_of_many",
    "identification_probability",
    "linear_on_circle",
    "measure",
    "power_law",
    "read_trials",
    "segment",
    "similarity",
    "simulate_choices",
    "space",
    "sphere",
    "stimulus_set",
    "torus",
    "tree",
    "trials_to_distinguish",
    "user_shape",
]

__getattr__, __dir__ = loaded_on_access(__name__)
