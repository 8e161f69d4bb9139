"""The parameters of the questions about relations, each described once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import MAX_COUNT, Array, fraction, positive, scalar, whole_number, within
from genlaws.core.errors import InputError
from genlaws.core.parameters import Parameter, one
from genlaws.relations.inference.bayes_bound import BOUND_METHODS
from genlaws.relations.inference.hypotheses import Hypotheses
from genlaws.relations.repons.forces import UPDATES
from genlaws.relations.repons.probability import SCALES
from genlaws.relations.structure.automorphisms import COUNT_METHODS

QUERY_STRATEGIES = ("best", "random")
MAX_QUERIES, MAX_QUERY_REPEATS = 1_000_000, 100_000  # of each run; of each strategy
MAX_SIMULATED_DRAWS = MAX_BOOTSTRAP_REPLICATES = 1_000_000


def _shares(name: str, value: ArrayLike, hint: str = "") -> Array:
    shares = np.atleast_1d(fraction(name, value, hint))
    if shares.ndim > 1:
        raise InputError(f"{name} must be one number or a list; got {shares.ndim} dimensions.")
    return shares


def _accuracy(name: str, value: ArrayLike, hint: str = "") -> Array:
    return scalar(name, within(name, value, 0.0, 1.0, open_low=True, hint=hint))


TARGET_ACCURACY = Parameter(
    "Accuracy to reach on all entries, above 0 and at most 1.", symbol="α", label="target accuracy", check=_accuracy
)
TRAIN_FRACTIONS = Parameter(
    "Share of all entries that are known.",
    symbol="p",
    label="training fraction",
    check=_shares,
    hint="Shares, not percentages.",
    listed=True,
)

TrainFractions = Annotated[ArrayLike, TRAIN_FRACTIONS]
MaybeTrainFractions = Annotated[ArrayLike | None, TRAIN_FRACTIONS]
TargetAccuracy = Annotated[float, TARGET_ACCURACY]
CountMethod = Annotated[str, Parameter("How automorphisms are counted.", choices=COUNT_METHODS)]
ENTITIES = Parameter("Elements of a file's relation: the entities it has used, or all of the file.")
Entities = Annotated[str, ENTITIES]
KNOWN_CLASS = Parameter("What the learner knows; if left out, what the relation is.")
KnownClass = Annotated[Hypotheses | None, KNOWN_CLASS]
GivenClass = Annotated[Hypotheses, KNOWN_CLASS]
BoundMethod = Annotated[str, Parameter("How it is computed; chain is a Markov chain.", choices=BOUND_METHODS)]
Repeats = Annotated[int, Parameter("How often it is repeated, with other random entries.")]
Seed = Annotated[int, Parameter("Seed of the random draws.")]
DrawnFraction = Annotated[float | None, Parameter("Share of a relation's entries that are known, drawn at random.")]
TieSeed = Annotated[
    int | np.random.Generator | None,
    Parameter("Seed of the choice among equally good entries; the first of them if left out."),
]
QueryStrategies = Annotated[Sequence[str], Parameter("How queries are chosen.", choices=QUERY_STRATEGIES, listed=True)]
Queries = Annotated[
    int | None,
    Parameter(
        "How many queries; until all is known if left out.",
        check=partial(whole_number, at_least=1, at_most=MAX_QUERIES),
        hint="All answers are held in memory.",
    ),
]
QueryRepeats = Annotated[
    int,
    Parameter(
        "Runs of each strategy.",
        check=partial(whole_number, at_least=1, at_most=MAX_QUERY_REPEATS),
        hint="Every run is held in memory.",
    ),
]
EncoderRates = Annotated[
    ArrayLike,
    Parameter("Learning rate of the representations.", symbol="η_x", check=positive, several=True),
]
DecoderRates = Annotated[
    ArrayLike, Parameter("Learning rate of the decoder.", symbol="η_A", check=positive, several=True)
]
EncoderScales = Annotated[
    ArrayLike,
    Parameter("Width of the representations at the start, see encoder_scale_of.", check=positive, several=True),
]
DecoderScales = Annotated[
    ArrayLike,
    Parameter("Width of the decoder's entries at the start.", symbol="s_a", check=positive, several=True),
]
EncoderScaleOf = Annotated[
    str | None,
    Parameter(
        "What the encoder's scale is the width of; if left out, half-separation for a pair and repon for a class.",
        choices=SCALES,
    ),
]
_at_least_one = partial(whole_number, at_least=1, at_most=MAX_COUNT)
ReponDimension = Annotated[int, Parameter("Dimension of the representations.", symbol="d", check=_at_least_one)]
Outputs = Annotated[int, Parameter("Outputs of the decoder.", symbol="k", check=_at_least_one)]
ClusterSize = Annotated[
    float,
    Parameter(
        "Coincident representations opposite the single one; inf is allowed.",
        symbol="N",
        check=one(partial(within, low=1.0, high=np.inf)),
        hint="It counts coincident repons.",
    ),
]
ReponUpdate = Annotated[str, Parameter("Gradient flow, or sign updates as of Adam with small steps.", choices=UPDATES)]
ClassSize = Annotated[
    int | None,
    Parameter(
        "Size of a class whose representations all merge, instead of a pair.",
        symbol="m",
        check=partial(whole_number, at_least=2, at_most=MAX_COUNT),
    ),
]
SimulatedDraws = Annotated[
    int | None,
    Parameter(
        "Also follow this many random starts.", check=partial(whole_number, at_least=1, at_most=MAX_SIMULATED_DRAWS)
    ),
]
RandomSeed = Annotated[int | np.random.Generator, Parameter("Seed of the random draws.")]
Draws = Annotated[int, Parameter("Random starts.", check=_at_least_one)]
EncoderWidth = Annotated[float, Parameter("Width of each coordinate of each representation.", check=one(positive))]
DecoderWidth = Annotated[float, Parameter("Width of each entry of the decoder.", check=one(positive))]
FlowTolerance = Annotated[
    float,
    Parameter(
        "Error of one step, relative to the largest variable of the draw.",
        check=one(partial(within, low=1e-13, high=1e-3)),
    ),
]
MaxSteps = Annotated[int, Parameter("Steps at most.", check=_at_least_one)]
StartDecoders = Annotated[ArrayLike, Parameter("Decoder of each draw at the start.")]
StartPositions = Annotated[ArrayLike, Parameter("Positions of the repons of each draw at the start.")]
StartBias = Annotated[ArrayLike, Parameter("Trained bias of each draw at the start.")]
Replicates = Annotated[
    int,
    Parameter("Resamples of the bootstrap.", check=partial(whole_number, at_least=1, at_most=MAX_BOOTSTRAP_REPLICATES)),
]
NetworkAccuracies = Annotated[ArrayLike, Parameter("Accuracies of networks, one row each.")]
BestAccuracies = Annotated[ArrayLike, Parameter("Best accuracies, one row for each training set.")]
