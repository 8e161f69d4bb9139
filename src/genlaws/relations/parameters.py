"""The parameters of the questions about relations, each described once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import MAX_COUNT, Array, fraction, non_negative, positive, scalar, whole_number, within
from genlaws.core.errors import InputError
from genlaws.core.parameters import Parameter, one
from genlaws.relations.inference.bayes_bound import BOUND_METHODS
from genlaws.relations.inference.hypotheses import Hypotheses
from genlaws.relations.repons.forces import UPDATES
from genlaws.relations.repons.probability import SCALES
from genlaws.relations.structure.automorphisms import COUNT_METHODS
from genlaws.relations.structure.knowledge_graph import ENTITY_CHOICES

QUERY_STRATEGIES = ("best", "random")
MAX_QUERIES, MAX_QUERY_REPEATS = 1_000_000, 100_000  # of each run; of each strategy
MAX_SIMULATED_DRAWS = MAX_BOOTSTRAP_REPLICATES = 1_000_000
MAX_REPEATS = 100_000  # training sets, all held in memory


def _shares(name: str, value: ArrayLike, hint: str = "") -> Array:
    shares = np.atleast_1d(fraction(name, value, hint))
    if shares.ndim > 1:
        raise InputError(f"{name} must be one number or a list; got {shares.ndim} dimensions.")
    return shares


def _accuracy(name: str, value: ArrayLike, hint: str = "") -> Array:
    return scalar(name, within(name, value, 0.0, 1.0, open_low=True, hint=hint))


def _increasing(name: str, value: ArrayLike, hint: str = "", *, check: Callable[..., Array]) -> Array:
    """Return at least two increasing numbers above 0 that pass a check."""
    numbers = check(name, value, hint=hint)
    if numbers.ndim != 1 or len(numbers) < 2 or (np.diff(numbers) <= 0).any() or numbers[0] <= 0:
        raise InputError(f"{name} must be at least two increasing numbers above 0; got {numbers.tolist()}.")
    return numbers


def _rate_range(name: str, value: ArrayLike, hint: str = "") -> tuple[float, float]:
    rates = positive(name, value, hint)
    if rates.shape != (2,) or not rates[0] < rates[1]:
        raise InputError(f"{name} must be two positive rates, the lower one first; got {value!r}.")
    return float(rates[0]), float(rates[1])


def _count(about: str, at_most: int = MAX_COUNT, hint: str = "", *, at_least: int = 1, symbol: str = "") -> Parameter:
    """Return a parameter that is a whole number in a range."""
    check = partial(whole_number, at_least=at_least, at_most=at_most)
    return Parameter(about, symbol=symbol, check=check, hint=hint)


_strict_fraction = one(partial(within, low=0.0, high=1.0, open_low=True, open_high=True))
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
ENTITIES = Parameter(
    "Elements of a file's relation: the entities it has used, or all of the file.", choices=ENTITY_CHOICES
)
Entities = Annotated[str, ENTITIES]
KNOWN_CLASS = Parameter("What the learner knows; if left out, what the relation is.")
KnownClass = Annotated[Hypotheses | None, KNOWN_CLASS]
GivenClass = Annotated[Hypotheses, KNOWN_CLASS]
BoundMethod = Annotated[str, Parameter("How it is computed; chain is a Markov chain.", choices=BOUND_METHODS)]
Repeats = Annotated[int, Parameter("How often it is repeated, with other random entries.")]
Seed = Annotated[int, Parameter("Seed of the random draws.", check=whole_number)]
DrawnFraction = Annotated[float | None, Parameter("Share of a relation's entries that are known, drawn at random.")]
TieSeed = Annotated[
    int | np.random.Generator | None,
    Parameter("Seed of the choice among equally good entries; the first of them if left out."),
]
QueryStrategies = Annotated[Sequence[str], Parameter("How queries are chosen.", choices=QUERY_STRATEGIES, listed=True)]
Queries = Annotated[
    int | None,
    _count("How many queries; until all is known if left out.", MAX_QUERIES, "All answers are held in memory."),
]
QueryRepeats = Annotated[int, _count("Runs of each strategy.", MAX_QUERY_REPEATS, "Every run is held in memory.")]
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
ReponDimension = Annotated[int, _count("Dimension of the representations.", symbol="d")]
Outputs = Annotated[int, _count("Outputs of the decoder.", symbol="k")]
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
    int | None, _count("Size of a class whose representations all merge, instead of a pair.", at_least=2, symbol="m")
]
SimulatedDraws = Annotated[int | None, _count("Also follow this many random starts.", MAX_SIMULATED_DRAWS)]
RandomSeed = Annotated[int | np.random.Generator, Parameter("Seed of the random draws.")]
Draws = Annotated[int, _count("Random starts.")]
EncoderWidth = Annotated[float, Parameter("Width of each coordinate of each representation.", check=one(positive))]
DecoderWidth = Annotated[float, Parameter("Width of each entry of the decoder.", check=one(positive))]
FlowTolerance = Annotated[
    float,
    Parameter(
        "Error of one step, relative to the largest variable of the draw.",
        check=one(partial(within, low=1e-13, high=1e-3)),
    ),
]
MaxSteps = Annotated[int, _count("Steps at most.")]
StartDecoders = Annotated[ArrayLike, Parameter("Decoder of each draw at the start.")]
StartPositions = Annotated[ArrayLike, Parameter("Positions of the repons of each draw at the start.")]
StartBias = Annotated[ArrayLike, Parameter("Trained bias of each draw at the start.")]
Replicates = Annotated[int, _count("Resamples of the bootstrap.", MAX_BOOTSTRAP_REPLICATES)]
NetworkAccuracies = Annotated[ArrayLike, Parameter("Accuracies of networks, one row each.")]
BestAccuracies = Annotated[ArrayLike, Parameter("Best accuracies, one row for each training set.")]

# Training of networks
OPTIMIZERS = ("adam", "adamw", "sgd")
DECODER_INPUTS = ("concatenate", "difference", "squared_difference")
ACTIVATIONS = ("tanh", "relu", "sigmoid", "identity")
PRECISIONS = ("single", "double")
MAX_TRAINING_STEPS, MAX_WIDTH, MAX_DEPTH, MAX_DIMENSION = 100_000_000, 10_000, 100, 1_000
MAX_TRAINED_NETWORKS = 10_000
SIZE_HINT = "The upper limit is what memory and time allow."
STEPS = _count("Updates of each network.", MAX_TRAINING_STEPS, SIZE_HINT)
DECODER_RATE = Parameter("Learning rate of the decoder.", symbol="η_dec", check=one(positive))

TrainFraction = Annotated[
    float,
    Parameter("Share of all entries in the training set.", symbol="p", label="training fraction", check=one(fraction)),
]
LabelNoise = Annotated[float, Parameter("Share of the training labels that are flipped.", check=one(fraction))]
Networks = Annotated[
    int,
    _count(
        "Number of networks, each with its own entries and initial values.",
        MAX_TRAINED_NETWORKS,
        "It is the number of networks.",
    ),
]
Dimension = Annotated[int, _count("Numbers in each embedding.", MAX_DIMENSION, SIZE_HINT)]
Depth = Annotated[int, _count("Hidden layers of the decoder.", MAX_DEPTH, SIZE_HINT, at_least=0)]
Width = Annotated[int, _count("Units of each hidden layer.", MAX_WIDTH, SIZE_HINT)]
DecoderInput = Annotated[
    str, Parameter("What the decoder sees of the two embeddings, or of their difference.", choices=DECODER_INPUTS)
]
Activation = Annotated[str, Parameter("Nonlinearity of the hidden layers.", choices=ACTIVATIONS)]
EncoderRate = Annotated[float, Parameter("Learning rate of the embeddings.", symbol="η_enc", check=one(positive))]
DecoderRate = Annotated[float, DECODER_RATE]
EncoderDecay = Annotated[float, Parameter("Weight decay of the embeddings.", check=one(non_negative))]
DecoderDecay = Annotated[float, Parameter("Weight decay of the decoder.", check=one(non_negative))]
EmbeddingScale = Annotated[float, Parameter("Factor on the initial embeddings.", check=one(non_negative))]
DecoderScale = Annotated[float, Parameter("Factor on the initial decoder.", check=one(non_negative))]
Optimizer = Annotated[str, Parameter("Rule of the updates.", choices=OPTIMIZERS)]
BatchSize = Annotated[
    int | None,
    Parameter("Entries in a step; the whole training set if left out.", check=partial(whole_number, at_least=1)),
]
Steps = Annotated[int, STEPS]
StopAt = Annotated[
    float | None, Parameter("A network stops when both its accuracies exceed this.", check=one(fraction))
]
Precision = Annotated[str, Parameter("Of the numbers of a network.", choices=PRECISIONS)]
Device = Annotated[str, Parameter("Where to compute, such as cpu or cuda.")]


# The pilot of an advice
def _two_or_more(about: str, at_most: int) -> Parameter:
    return _count(about, at_most, "An interval needs two.", at_least=2)


ExceededAccuracy = Annotated[
    float,
    Parameter(
        "Accuracy to exceed, above 0 and below 1.",
        symbol="α",
        label="target accuracy",
        check=_strict_fraction,
        hint="A network succeeds when its accuracy exceeds the target.",
    ),
]
Quick = Annotated[bool, Parameter("Fewer and shorter trainings: an answer in seconds, less certain.")]
TriedFractions = Annotated[
    ArrayLike | None,
    Parameter(
        "Training fractions to try, with equal learning rates.", check=partial(_increasing, check=fraction), listed=True
    ),
]
TriedRatios = Annotated[
    ArrayLike | None,
    Parameter("Ratios of decoder to encoder rate to try.", check=partial(_increasing, check=positive), listed=True),
]
FractionNetworks = Annotated[
    int | None, _two_or_more("Networks at each training fraction; 6 (4 if quick) if left out.", MAX_TRAINED_NETWORKS)
]
RatioNetworks = Annotated[
    int | None, _two_or_more("Networks at each ratio; 8 (4 if quick) if left out.", MAX_TRAINED_NETWORKS)
]
BoundRepeats = Annotated[
    int | None,
    _two_or_more("Random training sets behind the exact bound; 10 (5 if quick) if left out.", MAX_REPEATS),
]
PilotSteps = Annotated[int | None, replace(STEPS, about="Updates of each network; 1,500 (800 if quick) if left out.")]
PilotRate = Annotated[
    float | None, replace(DECODER_RATE, about="Decoder rate, held fixed; 0.01 (1 with sgd) if left out.")
]

# Phase diagrams
Grid = Annotated[
    int, _count("Values of each learning rate, evenly spaced in their logarithm; the paper has 10.", 100, at_least=2)
]
SeedsAtRates = Annotated[int, _two_or_more("Networks at each pair of rates.", MAX_TRAINED_NETWORKS)]
RateRange = Annotated[
    tuple[float, float] | None,
    Parameter("Lowest and highest rate; if left out, what suits the optimizer.", check=_rate_range),
]
TestedTrainFraction = Annotated[
    float,
    Parameter(
        "Share of all entries in the training set; the others test.",
        symbol="p",
        label="training fraction",
        check=_strict_fraction,
    ),
]
Patience = Annotated[
    float,
    Parameter(
        "A network is late if it generalizes after this many times the steps it took to fit.",
        check=one(partial(within, low=1.0, high=np.inf, open_high=True)),
    ),
]
