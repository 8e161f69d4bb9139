"""The parameters of the questions about semanticity, each described once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole, fraction, non_negative, positive, real, whole_number, within
from genlaws.core.errors import InputError
from genlaws.core.parameters import Parameter, of_type, one
from genlaws.semanticity.measurement.metrics import METRICS
from genlaws.semanticity.measurement.stimuli import SIMILARITIES, Compare
from genlaws.semanticity.theory.finite_sets import NAMED_STIMULI, TIES
from genlaws.semanticity.theory.similarity import SHAPES, Shape


def _counts(name: str, value: ArrayLike, hint: str = "", *, at_least: int) -> Whole:
    real(name, value, hint)
    given = np.asarray(value)
    return np.array([whole_number(name, one, at_least=at_least, hint=hint) for one in given.flat]).reshape(given.shape)


def _several_counts(name: str, value: object, hint: str = "") -> tuple[int, ...]:
    given = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
    if not given:
        raise InputError(f"{name} must name at least one number of items.")
    return tuple(sorted({whole_number(name, count, at_least=2, hint=hint) for count in given}))


def _places(name: str, value: Any, hint: str = "") -> Any:
    """Return positions: numbers, or labels of groups in words."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.array(None)
    if array.ndim and (array.dtype.kind == "U" or all(isinstance(one, str | Real) for one in array.ravel().tolist())):
        return value
    return of_type(ArrayLike, name, value, hint)


BALL_MASS = Parameter(
    "Share of the space within one resolution.",
    symbol="b",
    label="ball mass",
    hint="It is a share of the space, not a radius.",
    several=True,
)
RESOLUTION = Parameter(
    "In units of the distance; instead of the ball mass.",
    symbol="ε",
    label="resolution",
    check=positive,
    several=True,
)
BACKGROUND = Parameter(
    "Similarity left at every distance.", symbol="Δ", label="background", check=non_negative, several=True
)
ITEM_COUNT = Parameter(
    "Items to choose from.", symbol="n", label="items", check=partial(_counts, at_least=2), several=True
)

SimilarityChoice = Annotated[str | Shape | Callable[[Array], Array], Parameter(f"One of {', '.join(SHAPES)}.")]
BallMass = Annotated[ArrayLike | None, BALL_MASS]
Resolution = Annotated[ArrayLike | None, RESOLUTION]
Background = Annotated[ArrayLike, BACKGROUND]
ItemCount = Annotated[ArrayLike, ITEM_COUNT]
Cut = Annotated[float | None, Parameter("Distance beyond which only the background remains.")]
Exponent = Annotated[float | None, Parameter("Exponent of the power law; 2 if left out.")]
Ties = Annotated[str, Parameter("What to do with items equally near.", choices=TIES)]

# Of a measurement.
METRIC = Parameter("How positions become distances.", choices=METRICS)
Metric = Annotated[str | None, METRIC]
Positions = Annotated[
    ArrayLike | None, Parameter("True places, one row for each stimulus; labels of groups for a tree.", check=_places)
]
Period = Annotated[
    float | None,
    Parameter("Length of the circle, such as 360 for degrees; 1 if left out.", check=one(positive)),
]
Comparison = Annotated[str | Compare, Parameter(f"How embeddings are compared: {', '.join(SIMILARITIES)}.")]
Center = Annotated[bool, Parameter("Subtract the mean over all stimuli from the embeddings first.")]
Bandwidth = Annotated[
    float | None, Parameter("Of the gaussian similarity; the median distance if left out.", check=one(positive))
]
Threshold = Annotated[
    float | None, Parameter("Of the threshold similarity; the best one if left out.", check=one(non_negative))
]
ItemCounts = Annotated[
    Iterable[int] | int | None,
    Parameter("Numbers of items; if left out, those of 2, 3, 5 and 10 that the set allows.", check=_several_counts),
]
TieTolerance = Annotated[
    float | None,
    Parameter("Distances closer than this are equal; what rounding can do if left out.", check=one(non_negative)),
]
Intervals = Annotated[bool, Parameter("Compute intervals.")]
Fronts = Annotated[bool, Parameter("Compute the fronts that the set allows.")]
Memory = Annotated[
    float,
    Parameter("Memory for what is measured at once, in GiB; a larger set is measured in batches.", check=one(positive)),
]
BatchSize = Annotated[int, Parameter("Stimuli of a batch, at most.", check=partial(whole_number, at_least=4))]
BatchCount = Annotated[int, Parameter("Number of batches, at most.", check=partial(whole_number, at_least=2))]
Precision = Annotated[
    float | None, Parameter("Stop drawing batches once both intervals are this narrow.", check=one(positive))
]
Seed = Annotated[int, Parameter("Seed of whatever is random.", check=whole_number)]

# Of a fit of recorded choices.
FIT, NONE = "fit", "none"
_OPEN_SHARE = one(partial(within, low=0.0, high=1.0, open_low=True, open_high=True))


def _fitted(about: str, check: Callable[..., Array]) -> Parameter:
    return Parameter(f"{about}: a number, or fit.", check=one(check), words=(FIT,))


FittedShapes = Annotated[
    str | Sequence[str],
    Parameter("Shape; several are compared by choices left out of the fit.", choices=tuple(SHAPES), listed=True),
]
FittedResolution = Annotated[float | str, _fitted("Distance over which similarity is lost", positive)]
FittedBackground = Annotated[
    float | str, _fitted("Similarity left at every distance", partial(non_negative, infinite=True))
]
FittedExponent = Annotated[float | str, _fitted("Of the power law", positive)]
FittedTemperature = Annotated[float | str, _fitted("Below 1 the choice is sharper than the similarity", positive)]
FittedLapse = Annotated[float | str, _fitted("Share of answers given at random", fraction)]
Offsets = Annotated[
    Mapping[str, float] | str | None, Parameter("Preference for each answer: fit, or none.", words=(FIT, NONE))
]
PositionEffects = Annotated[
    Sequence[float] | str | None, Parameter("Preference for each place in the list: fit, or none.", words=(FIT, NONE))
]
FittedIntervals = Annotated[
    str | Sequence[str], Parameter("Of which fitted parameters: scalars, all, none, or names with commas.")
]
Folds = Annotated[
    int,
    Parameter(
        "Parts of the trials, each predicted from the others, to compare shapes.",
        check=partial(whole_number, at_least=2),
    ),
]
TwoShapes = Annotated[
    str | Sequence[str] | None,
    Parameter(
        "Two shapes, the true one first: how many such trials would distinguish them.",
        choices=tuple(SHAPES),
        listed=True,
    ),
]
ShapeName = Annotated[str, Parameter("Shape of the similarity.", choices=tuple(SHAPES))]
Power = Annotated[float, Parameter("Probability of deciding for the truth.", check=_OPEN_SHARE)]
Level = Annotated[
    float, Parameter("Probability, at most, of deciding for the truth if neither is closer.", check=_OPEN_SHARE)
]
GivenStimuli = Annotated[
    ArrayLike, Parameter("Equally spaced stimuli by name, or the distances between any.", words=NAMED_STIMULI)
]
