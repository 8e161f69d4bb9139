"""The parameters of the questions about semanticity, each described once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole, non_negative, positive, real, whole_number
from genlaws.core.errors import InputError
from genlaws.core.parameters import Parameter, one
from genlaws.semanticity.measurement.metrics import METRICS
from genlaws.semanticity.measurement.stimuli import SIMILARITIES, Compare
from genlaws.semanticity.theory.finite_sets import TIES
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
