"""How numbers become a verdict: three rules that most checks share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from genlaws.claims.claim import CORRECTED, FAILS, HOLDS, LIMITED, Finding

Numbers = Mapping[str, Any]  # of numbers and texts
UNLIKE = "The numbers do not bear the claim out."


def plain(numbers: Numbers) -> dict[str, float | str]:
    """Return numbers as Python's own, and in words where there is none, so that they can be written anywhere."""
    return {name: value if isinstance(value, str) else _written(float(value)) for name, value in numbers.items()}


def _written(value: float) -> float | str:
    if math.isnan(value):
        return "none"
    return value if math.isfinite(value) else "infinite" if value > 0 else "minus infinite"


def holds_if(true: bool, numbers: Numbers, sentence: str, otherwise: str = UNLIKE) -> Finding:
    """Return that a claim holds, or is not reproduced.

    Parameters
    ----------
    true : bool
        Whether the numbers bear it out.
    numbers : mapping
    sentence, otherwise : str
        What is found in either case.
    """
    return Finding(HOLDS if true else FAILS, plain(numbers), sentence if true else otherwise)


def corrected_if(paper: bool, right: bool, numbers: Numbers, sentence: str, otherwise: str = UNLIKE) -> Finding:
    """Return that a printed form is wrong and another one right.

    Parameters
    ----------
    paper, right : bool
        Whether the paper's form and the right one agree with the numbers.
    numbers : mapping
    sentence : str
        The right form.
    otherwise : str
        What is found if neither agrees.
    """
    if paper:
        return Finding(HOLDS, plain(numbers), "The paper's form agrees with the numbers.")
    return Finding(CORRECTED if right else FAILS, plain(numbers), sentence if right else otherwise)


def graded(
    everywhere: bool, within: bool, numbers: Numbers, sentence: str, limits: str, *, otherwise: str = UNLIKE
) -> Finding:
    """Return that a claim holds, holds within limits, or is not reproduced.

    Parameters
    ----------
    everywhere, within : bool
        Whether the numbers bear it out in all cases, and in those that the limits name.
    numbers : mapping
    sentence, limits, otherwise : str
        What is found in each case.
    """
    if everywhere:
        return Finding(HOLDS, plain(numbers), sentence)
    return Finding(LIMITED if within else FAILS, plain(numbers), limits if within else otherwise)
