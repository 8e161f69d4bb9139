"""Rules and facts: part of the labels follow a rule, part are facts to memorise.

What will a learner of given kernel, loss and regularisation generalise, and what will it remember?
The theory is that of :cite:t:`farne2026`, in the limit of large dimension.
"""

from typing import TYPE_CHECKING

from genlaws.numerics.submodules import loaded_on_access
from genlaws.rules_facts.advice import advise
from genlaws.rules_facts.advice_result import Advice
from genlaws.rules_facts.bayes_optimal import BayesSolution, bayes_optimal
from genlaws.rules_facts.decay import DecayFit, fit_decay
from genlaws.rules_facts.fact_share import estimate_fact_fraction
from genlaws.rules_facts.image_task import load_labelled
from genlaws.rules_facts.kernel_families import parameter_for_angle
from genlaws.rules_facts.kernels import Kernel
from genlaws.rules_facts.limits import Errors, infinite_regularisation, large_sample_bayes_error, large_sample_error
from genlaws.rules_facts.losses import LOSSES, Loss, huber_loss
from genlaws.rules_facts.message_passing import message_passing, state_evolution
from genlaws.rules_facts.optimal import optimal_angle, optimal_regularisation
from genlaws.rules_facts.solution import Solution
from genlaws.rules_facts.solve import solve
from genlaws.rules_facts.task import Draw, draw_gaussian, draw_labelled
from genlaws.rules_facts.threshold import interpolation_threshold

if TYPE_CHECKING:
    from genlaws.rules_facts import finite_size as finite_size
    from genlaws.rules_facts import two_layer as two_layer

__all__ = [
    "LOSSES",
    "Advice",
    "BayesSolution",
    "DecayFit",
    "Draw",
    "Errors",
    "Kernel",
    "Loss",
    "Solution",
    "advise",
    "bayes_optimal",
    "draw_gaussian",
    "draw_labelled",
    "estimate_fact_fraction",
    "fit_decay",
    "huber_loss",
    "infinite_regularisation",
    "interpolation_threshold",
    "large_sample_bayes_error",
    "large_sample_error",
    "load_labelled",
    "message_passing",
    "optimal_angle",
    "optimal_regularisation",
    "parameter_for_angle",
    "solve",
    "state_evolution",
]

__getattr__, __dir__ = loaded_on_access(__name__, ("finite_size", "two_layer"))
