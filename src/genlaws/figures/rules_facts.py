"""The figures of the rules-and-facts paper that theory alone can draw.

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
        "(square), for the linear model and the erf and ReLU kernels.",
        "tradeoff:KERNELS",
    ),
    _figure(
        2,
        "Remembering against generalising, by width",
        "Trade-off of random features of finite width, with erf units and the square loss (left) and ReLU units and "
        "the hinge loss (right); wide layers approach the kernel, and narrow ones cannot fit every label.",
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
        16,
        "Linear model over samples and facts",
        "Generalisation error of the linear model at optimal regularisation over the samples per dimension and the "
        "fact fraction, for the square and the hinge loss.",
        "maps:LINEAR",
    ),
)
