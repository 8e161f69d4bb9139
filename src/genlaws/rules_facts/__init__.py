"""Rules and facts: part of the labels follow a rule, part are facts to memorize.

The theory predicts generalization and memorization of a learner of given kernel, loss and regularization,
in the limit of large dimension :cite:p:`farne2026`.
"""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access

if TYPE_CHECKING:
    from genlaws.rules_facts import finite_size as finite_size
    from genlaws.rules_facts import networks as networks
    from genlaws.rules_facts.kernels.description import KernelDescription, describe_kernel
    from genlaws.rules_facts.kernels.families import parameter_for_angle
    from genlaws.rules_facts.kernels.kernel import Kernel
    from genlaws.rules_facts.labels.advice import advise
    from genlaws.rules_facts.labels.fact_fraction import estimate_fact_fraction
    from genlaws.rules_facts.labels.loading import load_labeled
    from genlaws.rules_facts.labels.result import Advice
    from genlaws.rules_facts.labels.task import Draw, draw_gaussian, draw_labeled
    from genlaws.rules_facts.theory.bayes import BayesSolution, bayes_optimal
    from genlaws.rules_facts.theory.limits import (
        DecayFit,
        Errors,
        fit_decay,
        infinite_regularization,
        large_sample_bayes_error,
        large_sample_error,
    )
    from genlaws.rules_facts.theory.losses import LOSSES, Loss, huber_loss
    from genlaws.rules_facts.theory.message_passing import message_passing, state_evolution
    from genlaws.rules_facts.theory.optimal import optimal_angle, optimal_regularization
    from genlaws.rules_facts.theory.problem import Solution
    from genlaws.rules_facts.theory.solve import solve
    from genlaws.rules_facts.theory.threshold import Threshold, interpolation_threshold, threshold

__all__ = [
    "LOSSES",
    "Advice",
    "BayesSolution",
    "DecayFit",
    "Draw",
    "Errors",
    "Kernel",
    "KernelDescription",
    "Loss",
    "Solution",
    "Threshold",
    "advise",
    "bayes_optimal",
    "describe_kernel",
    "draw_gaussian",
    "draw_labeled",
    "estimate_fact_fraction",
    "fit_decay",
    "huber_loss",
    "infinite_regularization",
    "interpolation_threshold",
    "large_sample_bayes_error",
    "large_sample_error",
    "load_labeled",
    "message_passing",
    "optimal_angle",
    "optimal_regularization",
    "parameter_for_angle",
    "solve",
    "state_evolution",
    "threshold",
]

__getattr__, __dir__ = loaded_on_access(__name__)
