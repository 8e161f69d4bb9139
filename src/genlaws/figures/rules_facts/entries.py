"""The figures of the rules-and-facts paper: of theory alone, and compared with learners of finite size.

This module holds titles and captions; the other modules of this folder compute the tables and draw the pictures.
"""

from __future__ import annotations

from genlaws.core.papers import RULES_FACTS_PAPER
from genlaws.figures.figure import Figure


def _figure(number: int, title: str, caption: str, recipe: str) -> Figure:
    return Figure(
        id=f"rules-facts.{number}",
        title=title,
        citation=f"{RULES_FACTS_PAPER}, Fig. {number}",
        caption=caption,
        recipe=f"genlaws.figures.rules_facts.{recipe}",
    )


FIGURES = (
    _figure(
        1,
        "Memorization against generalization, by kernel",
        "Memorization error against generalization error as the regularization runs from zero (triangle) to infinity "
        "(square), for the linear model and the erf and ReLU kernels; circles are means over runs of finite size, with "
        "95 % intervals.",
        "tradeoff:KERNELS",
    ),
    _figure(
        2,
        "Memorization against generalization, by width",
        "Trade-off of random features of finite width, with erf units and the square loss (left) and ReLU units and "
        "the hinge loss (right); wide layers approach the kernel, and narrow ones cannot fit every label; circles are "
        "means over runs of finite size, with 95 % intervals.",
        "tradeoff:WIDTHS",
    ),
    _figure(
        3,
        "Errors against the kernel angle",
        "Generalization error at vanishing and at optimal regularization, less that of ridge regression at its best "
        "angle, and memorization error at optimal regularization, against the kernel angle; dashed lines mark the "
        "best angle of interpolating ridge regression, crosses the best point of each hinge curve, and circles the "
        "linear model itself.",
        "kernels:ANGLES",
    ),
    _figure(
        4,
        "Trade-off at the best kernel angle",
        "Memorization error against generalization error at the best kernel angle of each loss, and at a smaller and "
        "a larger one.",
        "tradeoff:BEST_ANGLE",
    ),
    _figure(
        5,
        "Bandwidth of ridge regression, theory and labeled data",
        "Trade-off of ridge regression with Gaussian kernels for several bandwidth parameters, in the theory and on "
        "labeled data whose squared distances have been divided by their median (top), and generalization error, less "
        "its lowest value, against the parameter at the best and at vanishing regularization (bottom), where diamonds "
        "mark the best parameter (in the theory every smaller one is as good at the best regularization) and intervals "
        "are over redraws, which share samples because they come from one finite pool.",
        "bandwidth:SQUARE",
    ),
    _figure(
        6,
        "Decay of the generalization error with samples",
        "Generalization error at optimal regularization of ridge regression, of the support vector machine and of "
        "the Bayes-optimal learner against the samples per dimension, with the leading laws of the first and the "
        "last as thin lines.",
        "rates:ERROR_DECAY",
    ),
    _figure(
        7,
        "Least possible generalization error",
        "Bayes-optimal generalization error over the samples per dimension and the fact fraction.",
        "maps:BAYES",
    ),
    _figure(
        8,
        "The perceptron at vanishing regularization",
        "Errors of the linear model as the regularization vanishes, with the square loss (top) and the hinge loss "
        "(bottom), and the interpolation threshold of both against the fact fraction; vertical lines mark the "
        "thresholds.",
        "perceptron:RIDGELESS",
    ),
    _figure(
        9,
        "Exponent of the support vector machine",
        "Generalization error of the support vector machine at optimal regularization times the root of the samples "
        "per dimension (left), and the local exponent of its decay (right), for several kernels.",
        "rates:DECAY_EXPONENT",
    ),
    _figure(
        10,
        "Kernel families and the best angle",
        "Linear and non-linear coefficients of common kernels, with the ray of the best angle of ridge regression "
        "(left), and the parameter at which each family lies on that ray, against the fact fraction (right).",
        "kernels:KERNEL_FAMILIES",
    ),
    _figure(
        11,
        "Trade-off across kernel angles",
        "Memorization error against generalization error for kernel angles from nearly pure memorizers to nearly "
        "linear, the best angle of ridge regression drawn in black.",
        "tradeoff:ALL_ANGLES",
    ),
    _figure(
        12,
        "Errors against the kernel angle, more facts",
        "As figure 3, at a second fact fraction: the curves have the same shape and the best angle moves toward the "
        "memorizer.",
        "kernels:ANGLES_MORE_FACTS",
    ),
    _figure(
        13,
        "Theory and runs of finite size, two kernels with equal numbers",
        "Trade-off of the spherical Gaussian kernel at the bandwidth that generalizes best as the regularization "
        "vanishes, one for each loss, and of the quadratic kernel with the same two coefficients, as means over runs "
        "of finite size with 95 % intervals on the one curve that the theory has for both.",
        "agreement:AGREEMENT",
    ),
    _figure(
        14,
        "Kernels that the theory cannot distinguish, on labeled data",
        "Trade-off of quadratic kernels of several angles on labeled data (left), of the Gaussian kernel and of the "
        "quadratic kernel with the same two coefficients (middle), and the difference of these two on the same redraws "
        "along the regularization (right), with intervals over redraws point by point; inputs have equal length.",
        "matched:MATCHED",
    ),
    _figure(
        15,
        "Bandwidth of the support vector machine, theory and labeled data",
        "As figure 5, for the hinge loss, whose theory has a best parameter at the best regularization too; the "
        "machines have no intercept, as in the theory and unlike those of the paper.",
        "bandwidth:HINGE",
    ),
    _figure(
        16,
        "Linear model over samples and facts",
        "Generalization error of the linear model at optimal regularization over the samples per dimension and the "
        "fact fraction, for the square and the hinge loss.",
        "maps:LINEAR_MAP",
    ),
    Figure(
        id="rules-facts.finite-size",
        title="Runs extrapolated to infinite dimension against the theory",
        citation=f"{RULES_FACTS_PAPER}, Appendix D.3; the extrapolation is beyond the paper",
        caption="Errors of learners run in several dimensions and extrapolated with a correction in 1/d, with their "
        "standard errors, against the theory (left), and their z-scores against normal quantiles (right), for kernels "
        "and random features of finite width, both losses and several tasks, each with draws of its own.",
        recipe="genlaws.figures.rules_facts.agreement:LIMIT",
    ),
    Figure(
        id="rules-facts.message-passing",
        title="Message passing reaches the least possible generalization error",
        citation=f"{RULES_FACTS_PAPER}, Section 2.1; the runs are beyond the paper",
        caption="Overlap of message passing with the rule after each iteration on its state evolution (left), and its "
        "final generalization error on the Bayes-optimal curve, with the two losses at their best "
        "regularization (right).",
        recipe="genlaws.figures.rules_facts.message_passing:MESSAGE_PASSING",
    ),
    Figure(
        id="rules-facts.two-layer",
        title="Trained features: the rate of the rule and the memory of facts",
        citation=f"{RULES_FACTS_PAPER}, open question of Section 3.5; the runs are beyond the paper",
        caption="Generalization error of two-layer networks with trained features against the samples per dimension, "
        "at the end of training and at the best time to stop, with the Bayes-optimal learner and kernels at their best "
        "regularization, and exponents fitted over the same sample ratios (left), and the memorization error of the "
        "networks at the same two moments (right); points are means over runs with 95 % intervals.",
        recipe="genlaws.figures.rules_facts.two_layer:TWO_LAYER_FIGURE",
    ),
)
