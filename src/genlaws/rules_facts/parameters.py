"""The parameters of the questions about rules and facts, each described once."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, fraction, non_negative, positive, whole_number, within
from genlaws.core.parameters import Parameter, one
from genlaws.rules_facts.kernels.kernel import Kernel
from genlaws.rules_facts.theory.losses import LOSSES, Loss

TRAINABLE_LOSSES = ("square", "hinge")  # of learners of finite size
MAX_RATIO = 1e12  # squares and cubes of the ratios must stay within double precision


def _ratio(name: str, value: ArrayLike, hint: str = "") -> Array:
    positive(name, value, hint)
    return within(name, value, 1.0 / MAX_RATIO, MAX_RATIO, hint=hint)


SAMPLE_RATIO = Parameter(
    "Training samples per input dimension.",
    symbol="α",
    label="samples per dimension",
    check=_ratio,
    hint="It is the number of training samples divided by the input dimension.",
    several=True,
)
FACT_FRACTION = Parameter(
    "Share of random labels, from 0 to 1.",
    symbol="ε",
    label="share of facts",
    check=fraction,
    hint="It is the share of random labels, not a percentage.",
    several=True,
)
WIDTH_RATIO = Parameter(
    "Random features per input dimension; a kernel if left out.",
    symbol="κ",
    label="features per dimension",
    check=_ratio,
    hint="It is the number of random features divided by the input dimension; leave it out for a kernel.",
    several=True,
)
REGULARIZATION = Parameter(
    "A number (0 and inf are the exact limits) or optimal.",
    symbol="λ",
    label="regularization",
    check=partial(non_negative, infinite=True),
    hint="Use 0 for the limit of perfect fitting and 'optimal' for the best generalization.",
    words=("optimal",),
    several=True,
)

SampleRatio = Annotated[ArrayLike, SAMPLE_RATIO]
FactFraction = Annotated[ArrayLike, FACT_FRACTION]
WidthRatio = Annotated[ArrayLike | None, WIDTH_RATIO]
Regularization = Annotated[ArrayLike | str, REGULARIZATION]
LossChoice = Annotated[str | Loss, Parameter(f"One of {', '.join(LOSSES)}.")]
KernelChoice = Annotated[
    Kernel | str | None, Parameter("A name with its parameter, such as relu or gaussian:0.5.", several=True)
]
TrainableLoss = Annotated[str, Parameter("Loss of the learner.", choices=TRAINABLE_LOSSES)]
KernelFamily = Annotated[str, Parameter("gaussian, exponential, geometric or quadratic.")]
KernelParameters = Annotated[
    ArrayLike | None, Parameter("Kernel parameters to try; the theory's are added.", listed=True)
]
Normalize = Annotated[bool, Parameter("Scale every input to the same length.")]
Folds = Annotated[int, Parameter("Parts of the cross-validation for the hinge loss.")]
Seed = Annotated[int | np.random.Generator, Parameter("Seed of whatever is random; recorded with the result.")]
GivenFactFraction = Annotated[float | None, FACT_FRACTION]
StandardErrors = Annotated[ArrayLike | None, Parameter("Standard errors, one for each number.", listed=True)]
Replicates = Annotated[
    int, Parameter("Resamples of the bootstrap.", check=partial(whole_number, at_least=20), hint="At least 20.")
]
Iterations = Annotated[int, Parameter("Rounds at most.", check=whole_number)]
Tolerance = Annotated[float, Parameter("Relative change at which it stops.", check=one(positive))]
Damping = Annotated[
    float,
    Parameter("Share of the old state in the new one.", check=one(partial(within, low=0.0, high=1.0, open_high=True))),
]
Teacher = Annotated[ArrayLike | None, Parameter("The weights of the rule, where they are known.")]
Strengths = Annotated[ArrayLike, Parameter("Regularizations, one for each learner.", symbol="λ", listed=True)]
