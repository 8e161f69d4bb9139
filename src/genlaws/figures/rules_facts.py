"""The figures of the rules-and-facts paper: of theory alone, and beside learners of finite size.

Only names and sentences are here; the tables and pictures are in the modules ``rules_facts_*`` beside this one.
"""

from __future__ import annotations

from genlaws.figures.record import Figure

PAPER = "Farné, Boncoraglio and Zdeborová (2026), arXiv:2603.25579"


def _figure(number: int, title: str, caption: str, recipe: str) -> Figure:
    return Figure(
        id=f"rules-facts.{number}",
        title=title,
        citation=f"{PAPER}, Fig. {number}",
        caption=caption,
        recipe=f"genlaws.figures.rules_facts_{recipe}",
    )


FIGURES = (
    _figure(
        1,
        "Remembering against generalising, by kernel",
        "Memorisation error against generalisation error as the regularisation runs from zero (triangle) to infinity "
        "(square), for the linear model and the erf and ReLU kernels; circles are means over runs of finite size, with "
        "95 % intervals.",
        "tradeoff:KERNELS",
    ),
    _figure(
        2,
        "Remembering against generalising, by width",
        "Trade-off of random features of finite width, with erf units and the square loss (left) and ReLU units and "
        "the hinge loss (right); wide layers approach the kernel, and narrow ones cannot fit every label; circles are "
        "means over runs of finite size, with 95 % intervals.",
        "tradeoff:WIDTHS",
    ),
    _figure(
        3,
        "Errors against the kernel angle",
        "Generalisation error at vanishing and at optimal regularisation, less that of ridge regression at its best "
        "angle, and memorisation error at optimal regularisation, against the kernel angle; dashed lines mark the "
        "best angle of interpolating ridge regression, crosses the best point of each hinge curve, and circles the "
        "linear model itself.",
        "angle:ANGLES",
    ),
    _figure(
        4,
        "Trade-off at the best kernel angle",
        "Memorisation error against generalisation error at the best kernel angle of each loss, and at a smaller and "
        "a larger one.",
        "tradeoff:BEST_ANGLE",
    ),
    _figure(
        5,
        "Bandwidth of ridge regression, theory and labelled data",
        "Trade-off of ridge regression with Gaussian kernels for several bandwidth parameters, in the theory and on "
        "labelled data whose squared distances have been divided by their median (top), and generalisation error, less "
        "its lowest value, against the parameter at the best and at vanishing regularisation (bottom), where diamonds "
        "mark the best parameter (in the theory every smaller one is as good at the best regularisation) and intervals "
        "are over redraws, which share samples because they come from one finite pool.",
        "images:SQUARE",
    ),
    _figure(
        6,
        "Decay of the generalisation error with samples",
        "Generalisation error at optimal regularisation of ridge regression, of the support vector machine and of "
        "the Bayes-optimal learner against the samples per dimension, with the leading laws of the first and the "
        "last as thin lines.",
        "rates:DECAY",
    ),
    _figure(
        7,
        "Least possible generalisation error",
        "Bayes-optimal generalisation error over the samples per dimension and the fact fraction.",
        "maps:BAYES",
    ),
    _figure(
        8,
        "The perceptron at vanishing regularisation",
        "Errors of the linear model as the regularisation vanishes, with the square loss (top) and the hinge loss "
        "(bottom), and the interpolation threshold of both against the fact fraction; vertical lines mark the "
        "thresholds.",
        "perceptron:RIDGELESS",
    ),
    _figure(
        9,
        "Exponent of the support vector machine",
        "Generalisation error of the support vector machine at optimal regularisation times the root of the samples "
        "per dimension (left), and the local exponent of its decay (right), for several kernels.",
        "rates:EXPONENT",
    ),
    _figure(
        10,
        "Kernel families and the best angle",
        "Linear and non-linear coefficients of common kernels, with the ray of the best angle of ridge regression "
        "(left), and the parameter at which each family lies on that ray, against the fact fraction (right).",
        "kernels:FAMILIES",
    ),
    _figure(
        11,
        "Trade-off across kernel angles",
        "Memorisation error against generalisation error for kernel angles from nearly pure memorisers to nearly "
        "linear, the best angle of ridge regression drawn in black.",
        "tradeoff:ALL_ANGLES",
    ),
    _figure(
        12,
        "Errors against the kernel angle, more facts",
        "As figure 3, at a second fact fraction: the picture keeps its shape and the best angle moves towards the "
        "memoriser.",
        "angle:ANGLES_MORE_FACTS",
    ),
    _figure(
        13,
        "Theory and runs of finite size, two kernels with equal numbers",
        "Trade-off of the spherical Gaussian kernel at the bandwidth that generalises best as the regularisation "
        "vanishes, one for each loss, and of the quadratic kernel with the same two coefficients, as means over runs "
        "of finite size with 95 % intervals on the one curve that the theory has for both.",
        "agreement:AGREEMENT",
    ),
    _figure(
        14,
        "Kernels that theory cannot tell apart, on labelled data",
        "Trade-off of quadratic kernels of several angles on labelled data (left), of the Gaussian kernel and of the "
        "quadratic kernel with the same two coefficients (middle), and the difference of these two on the same redraws "
        "along the regularisation (right), with intervals over redraws point by point; inputs have equal length.",
        "matched:MATCHED",
    ),
    _figure(
        15,
        "Bandwidth of the support vector machine, theory and labelled data",
        "As figure 5, for the hinge loss, whose theory has a best parameter at the best regularisation too; the "
        "machines have no intercept, as in the theory and unlike those of the paper.",
        "images:HINGE",
    ),
    _figure(
        16,
        "Linear model over samples and facts",
        "Generalisation error of the linear model at optimal regularisation over the samples per dimension and the "
        "fact fraction, for the square and the hinge loss.",
        "maps:LINEAR",
    ),
    Figure(
        id="rules-facts.finite-size",
        title="Runs extrapolated to infinite dimension against the theory",
        citation=f"{PAPER}, Appendix D.3; the extrapolation is beyond the paper",
        caption="Errors of learners run in several dimensions and extrapolated with a correction in 1/d, with their "
        "standard errors, against the theory (left), and their z-scores against normal quantiles (right), for kernels "
        "and random features of finite width, both losses and several tasks, each with draws of its own.",
        recipe="genlaws.figures.rules_facts_zscores:LIMIT",
    ),
    Figure(
        id="rules-facts.message-passing",
        title="Message passing reaches the least possible rule error",
        citation=f"{PAPER}, Section 2.1; the runs are beyond the paper",
        caption="Overlap of message passing with the rule after each iteration on its state evolution (left), and its "
        "generalisation error in the end on the Bayes-optimal curve, beside the two losses at their best "
        "regularisation (right).",
        recipe="genlaws.figures.rules_facts_message_passing:MESSAGE_PASSING",
    ),
    Figure(
        id="rules-facts.two-layer",
        title="Trained features: the rate of the rule and the memory of facts",
        citation=f"{PAPER}, Section 3.5 asks; the runs are beyond the paper",
        caption="Rule error of two-layer networks with trained features against the samples per dimension, in the end "
        "of training and at the best time to stop, beside the Bayes-optimal learner and kernels at their best "
        "regularisation, with exponents fitted over the same sample ratios (left), and the share of facts that the "
        "networks do not reproduce at the same two moments (right); points are means over runs with 95 % intervals.",
        recipe="genlaws.figures.rules_facts_two_layer:TWO_LAYER",
    ),
)
