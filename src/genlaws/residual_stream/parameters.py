"""The parameters of the questions about the residual stream, each described once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from numpy.typing import ArrayLike

from genlaws.core.arguments import whole_number
from genlaws.core.parameters import Parameter
from genlaws.models.stream import Positions
from genlaws.residual_stream.measures.estimators import ESTIMATORS
from genlaws.residual_stream.surrogates.kinds import SUPPLIED_SURROGATES

STREAM_MEASURES = ("paths", "correlations", "information", "dimensions", "rotations", "dynamics")
MEASURES = (*STREAM_MEASURES, "compression", "perturbation")
DEFAULT_MEASURES = tuple(name for name in MEASURES if name != "compression")  # without the one that trains a network
PATH_SURROGATES = ("random walk", "step signs", "phase-randomized", "layer shuffle", "basis rotation")
SURROGATE_NAMES = (*PATH_SURROGATES, *SUPPLIED_SURROGATES)

at_least_one, at_least_two = (partial(whole_number, at_least=least) for least in (1, 2))

Names = str | Sequence[str]
Measures = Annotated[Names, Parameter("What is measured; compression trains networks.", choices=MEASURES, listed=True)]
Surrogates = Annotated[Names, Parameter("What is compared with.", choices=SURROGATE_NAMES, listed=True)]
InformationEstimators = Annotated[
    Names,
    Parameter("How mutual information is estimated; kernel is the paper's.", choices=tuple(ESTIMATORS), listed=True),
]
Draws = Annotated[int, Parameter("Surrogates of each kind.", check=at_least_two)]
Seed = Annotated[int, Parameter("Seed of everything random.", check=whole_number)]
Position = Annotated[
    Positions, Parameter("Tokens of each text: last, all, sample (one at random), or a number, such as -2.")
]
Strip = Annotated[bool, Parameter("Leave out white space at the end of each text.")]
MaxTokens = Annotated[
    int | None, Parameter("Most tokens of a text; longer ones are cut at the end.", check=at_least_one)
]
BatchSize = Annotated[int, Parameter("Texts read together.", check=at_least_one)]
Threads = Annotated[int, Parameter("Threads of the mutual information.", check=at_least_one)]
Shuffles = Annotated[int, Parameter("Permutations of the texts for the baseline.", check=at_least_one)]
InformationEstimator = Annotated[
    str, Parameter("How it is estimated; kernel is the paper's.", choices=tuple(ESTIMATORS))
]
BaselineChoice = Annotated[str, Parameter("What the information is compared with.", choices=("shuffle", "none"))]
Basis = Annotated[str, Parameter("Whose principal components.", choices=("site", "pooled"))]
ComponentCount = Annotated[int, Parameter("Principal components.", check=at_least_one)]
Folds = Annotated[int, Parameter("Parts of the texts for cross-validation; 0 leaves it out.", check=whole_number)]
Normalize = Annotated[bool, Parameter("Divide every state by its root mean square first.")]
TextNumbers = Annotated[ArrayLike | None, Parameter("Number of the text of each row, where a text has several.")]
StreamName = Annotated[str, Parameter("What the model is called in the answer.")]
