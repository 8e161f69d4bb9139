"""Learners of finite size, trained on draws of the task and on a user's data, to compare with the theory."""

from genlaws.rules_facts.finite_size.extrapolation import Extrapolation, extrapolate
from genlaws.rules_facts.finite_size.features import FeatureLayer
from genlaws.rules_facts.finite_size.gram import GramNumbers, Products, gram_matrix, gram_numbers, inner_products
from genlaws.rules_facts.finite_size.hinge import HingePath, hinge_path
from genlaws.rules_facts.finite_size.input_kernel import InputKernel, quadratic_match, read_input_kernel
from genlaws.rules_facts.finite_size.learned_path import DrawProducts, LearnedPath, learn_path, path_errors
from genlaws.rules_facts.finite_size.left_out import left_out_outputs
from genlaws.rules_facts.finite_size.preference import Preference, preferred_parameters
from genlaws.rules_facts.finite_size.ridge import RidgePath, Spectrum, ridge_path

__all__ = [
    "DrawProducts",
    "Extrapolation",
    "FeatureLayer",
    "GramNumbers",
    "HingePath",
    "InputKernel",
    "LearnedPath",
    "Preference",
    "Products",
    "RidgePath",
    "Spectrum",
    "extrapolate",
    "gram_matrix",
    "gram_numbers",
    "hinge_path",
    "inner_products",
    "learn_path",
    "left_out_outputs",
    "path_errors",
    "preferred_parameters",
    "quadratic_match",
    "read_input_kernel",
    "ridge_path",
]
