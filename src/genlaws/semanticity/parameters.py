"""The parameters of the questions about semanticity, each described once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole, non_negative, positive, real, whole_number
from genlaws.core.parameters import Parameter
from genlaws.semanticity.theory.finite_sets import TIES
from genlaws.semanticity.theory.similarity import SHAPES, Shape


def _counts(name: str, value: ArrayLike, hint: str = "", *, at_least: int) -> Whole:
    real(name, value, hint)
    given = np.asarray(value)
    return np.array([whole_number(name, one, at_least=at_least, hint=hint) for one in given.flat]).reshape(given.shape)


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
