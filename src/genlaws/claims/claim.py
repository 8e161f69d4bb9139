"""Claims of the papers, findings of their checks, and three rules that turn numbers into a verdict."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from genlaws.core.errors import InputError

if TYPE_CHECKING:
    from numpy import bool_

    Truth = bool | bool_

TITLES = {
    "semanticity": "Semanticity",
    "rules-facts": "Rules and facts",
    "relations": "Relations",
    "residual-stream": "Residual stream",
}
PAPERS = tuple(TITLES)
CLAIM_KINDS = ("theorem", "equation", "table", "figure", "finding")
ROUTES = ("exact", "simulation", "real model", "bundled table", "none")
HOLDS, LIMITED, CORRECTED, FAILS, UNTESTED = (
    "holds",
    "holds within limits",
    "corrected",
    "not reproduced",
    "not testable here",
)
VERDICTS = (HOLDS, LIMITED, CORRECTED, FAILS, UNTESTED)
ID_PATTERN = re.compile(r"[a-z-]+\.[a-z0-9-]+")
NUMBER_ID_PATTERN = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
Numbers = Mapping[str, Any]  # of numbers and texts
NOT_SUPPORTED = "The numbers do not support the claim."
MAX_Z_SCORE = 4.0  # standard errors; a formula farther from its simulation is wrong
EXACT_TOLERANCE = 1e-9  # of numbers that two exact routes give, equal up to rounding


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes
    ----------
    verdict : str
        One of `VERDICTS`, computed from the numbers.
    numbers : mapping of str to float or str
        The evidence, such as measured and claimed values and the bound that decides between verdicts, by ids such as
        ``largest_difference``; `number_label` gives the words that a reader sees. Numbers become Python floats, or
        text where they are not finite.
    sentence : str
        What was found, in one or two sentences; for a corrected claim the right form.
    """

    verdict: str
    numbers: Numbers
    sentence: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"verdict must be one of {', '.join(VERDICTS)}; got {self.verdict!r}.")
        for name in self.numbers:
            if not NUMBER_ID_PATTERN.fullmatch(name):
                raise InputError(f"The id of a number must be words in snake_case; got {name!r}.")
        object.__setattr__(self, "numbers", {name: _plain(value) for name, value in self.numbers.items()})


@dataclass(frozen=True)
class Claim:
    """One theorem, equation, table, figure or finding of a paper.

    Attributes
    ----------
    id : str
        Paper and name, such as ``semanticity.theorem-1``.
    kind : {"theorem", "equation", "table", "figure", "finding"}
    statement : str
        What the paper claims, in our words.
    where : str
        In the paper.
    route : {"exact", "simulation", "real model", "bundled table", "none"}
        How it is checked here; none where it cannot be.
    check : str
        ``module:function`` of a function of one argument ``quick`` that returns a `Finding`; loaded when it is run.
    command : str
        A command of ``genlaws`` that shows the evidence; empty if there is none other than ``genlaws claims run``.
    needs : tuple of str
        Libraries of extras that the check loads, such as torch.
    """

    id: str
    kind: str
    statement: str
    where: str
    route: str
    check: str
    command: str = ""
    needs: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not ID_PATTERN.fullmatch(self.id) or self.paper not in PAPERS:
            raise InputError(f"id of a claim must be PAPER.NAME with one of {', '.join(PAPERS)}; got {self.id!r}.")
        if self.kind not in CLAIM_KINDS or self.route not in ROUTES:
            raise InputError(f"{self.id}: kind must be one of {CLAIM_KINDS} and route one of {ROUTES}.")

    @property
    def paper(self) -> str:
        """The paper it belongs to."""
        return self.id.partition(".")[0]


def number_id(text: str) -> str:
    """Return the id of a number from a text with names and values in it, such as ``largest_distance_less-than``."""
    return re.sub("[^a-z0-9]+", "_", text.lower()).strip("_")


def number_label(name: str) -> str:
    """Return what a reader sees instead of the id of a number: its entry in ``labels.toml``, or the words of the id."""
    return _number_labels().get(name, name.replace("_", " "))


@cache
def _number_labels() -> dict[str, str]:
    return tomllib.loads((files("genlaws.claims") / "labels.toml").read_text(encoding="utf-8"))


def _plain(value: Any) -> float | str:
    """Return a text as it is and a number as Python's, or as text where it is not finite, so any format can hold it."""
    if isinstance(value, str):
        return value
    number = float(value)
    if math.isnan(number):
        return "none"
    return number if math.isfinite(number) else "infinite" if number > 0 else "minus infinite"


def holds_if(true: Truth, numbers: Numbers, sentence: str, otherwise: str = NOT_SUPPORTED) -> Finding:
    """Return that a claim holds, or is not reproduced.

    Parameters
    ----------
    true : bool
        Whether the numbers support it.
    numbers : mapping
    sentence, otherwise : str
        What is found in either case.
    """
    return Finding(HOLDS if true else FAILS, numbers, sentence if true else otherwise)


def corrected_if(paper: Truth, right: Truth, numbers: Numbers, sentence: str) -> Finding:
    """Return that a printed form is wrong and another one right.

    Parameters
    ----------
    paper, right : bool
        Whether the paper's form and the right one agree with the numbers.
    numbers : mapping
    sentence : str
        The right form.
    """
    if paper:
        return Finding(HOLDS, numbers, "The paper's form agrees with the numbers.")
    return Finding(CORRECTED if right else FAILS, numbers, sentence if right else NOT_SUPPORTED)


def graded(
    everywhere: Truth, within: Truth, numbers: Numbers, sentence: str, limits: str, *, otherwise: str = NOT_SUPPORTED
) -> Finding:
    """Return that a claim holds, holds within limits, or is not reproduced.

    Parameters
    ----------
    everywhere, within : bool
        Whether the numbers support it in all cases, and in those that the limits name.
    numbers : mapping
    sentence, limits, otherwise : str
        What is found in each case.
    """
    if everywhere:
        return Finding(HOLDS, numbers, sentence)
    return Finding(LIMITED if within else FAILS, numbers, limits if within else otherwise)
