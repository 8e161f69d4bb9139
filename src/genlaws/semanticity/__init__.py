"""Semanticity: a finite resolution trades generalisation against identification.

Theory of :cite:p:`nurisso2026` for any similarity, space and number of items, measurement of a representation, and fits
of recorded choices.
"""

from typing import TYPE_CHECKING

from genlaws.numerics.submodules import loaded_on_access
from genlaws.semanticity.choice_comparison import (
    PowerAnalysis,
    ShapeComparison,
    compare_shapes,
    trials_to_distinguish,
)
from genlaws.semanticity.choice_fit import ChoiceFit
from genlaws.semanticity.choice_model import ChoiceModel, simulate_choices
from genlaws.semanticity.choice_tables import read_trials
from genlaws.semanticity.choice_trials import Trials
from genlaws.semanticity.choices import fit_choices
from genlaws.semanticity.front import (
    Front,
    FrontPoint,
    best_resolution,
    finite_set_probabilities,
    front,
    probabilities,
)
from genlaws.semanticity.many_items import (
    best_ball_mass,
    best_generalisation,
    collapse_constant,
    generalisation_of_many,
    identification_of_many,
)
from genlaws.semanticity.many_items_finite import finite_generalisation, finite_identification
from genlaws.semanticity.measure import measure
from genlaws.semanticity.measurement import Measurement
from genlaws.semanticity.quick_front import FrontCurve, front_curve, point_on_curve
from genlaws.semanticity.quick_peak import WholeCurve, best_on_curve, whole_curve
from genlaws.semanticity.similarity import Shape, Similarity, power_law, similarity, user_shape
from genlaws.semanticity.spaces import (
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
from genlaws.semanticity.tradeoff import (
    exponential_on_circle,
    generalisation_probability,
    homogeneous_front,
    identification_probability,
    linear_on_circle,
)

if TYPE_CHECKING:
    from genlaws.semanticity import probes as probes
    from genlaws.semanticity import relu_network as relu_network
    from genlaws.semanticity import slot_network as slot_network

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
    "best_generalisation",
    "best_on_curve",
    "best_resolution",
    "circle",
    "collapse_constant",
    "compare_shapes",
    "exponential_on_circle",
    "finite_generalisation",
    "finite_identification",
    "finite_set_probabilities",
    "fit_choices",
    "from_distances",
    "front",
    "front_curve",
    "generalisation_of_many",
    "generalisation_probability",
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

__getattr__, __dir__ = loaded_on_access(__name__, ("probes", "relu_network", "slot_network"))
