"""What a claim of a paper is, and what a check of it finds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from genlaws.numerics.errors import InputError

TITLES = {
    "semanticity": "Semanticity",
    "rules-facts": "Rules and facts",
    "relations": "Relations",
    "residual-stream": "Residual stream",
}
PAPERS = tuple(TITLES)
KINDS = ("theorem", "equation", "table", "figure", "finding")
ROUTES = ("exact", "simulation", "real model", "kept table", "none")
HOLDS, LIMITED, CORRECTED, FAILS, UNTESTED = (
    "holds",
    "holds within limits",
    "corrected",
    "not reproduced",
    "not testable here",
)
VERDICTS = (HOLDS, LIMITED, CORRECTED, FAILS, UNTESTED)
ID = re.compile(r"[a-z-]+\.[a-z0-9-]+")


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes
    ----------
    verdict : str
        One of `VERDICTS`, computed from the numbers.
    numbers : mapping of str to float or str
        The evidence, such as measured and claimed values and the bound that decides between verdicts.
    sentence : str
        What was found, in one or two sentences; for a corrected claim the right form.
    """

    verdict: str
    numbers: Mapping[str, float | str]
    sentence: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"verdict must be one of {', '.join(VERDICTS)}; got {self.verdict!r}.")


@dataclass(frozen=True)
class Claim:
    """One theorem, equation, table, figure or finding of a paper.

    Attributes
    ----------
    id : str
        Paper and name, such as ``semanticity.theorem-1``.
    kind : {"theorem", "equation", "table", "figure", "finding"}
    says : str
        What the paper says, in our words.
    where : str
        In the paper.
    route : {"exact", "simulation", "real model", "kept table", "none"}
        How it is checked here; none where it cannot be.
    check : str
        ``module:function`` of a function of one argument ``quick`` that returns a `Finding`; loaded when it is run.
    command : str
        A command of ``genlaws`` that shows the evidence; empty if there is none beside ``genlaws claims run``.
    needs : tuple of str
        Libraries of extras that the check loads, such as torch.
    """

    id: str
    kind: str
    says: str
    where: str
    route: str
    check: str
    command: str = ""
    needs: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not ID.fullmatch(self.id) or self.paper not in PAPERS:
            raise InputError(f"id of a claim must be PAPER.NAME with one of {', '.join(PAPERS)}; got {self.id!r}.")
        if self.kind not in KINDS or self.route not in ROUTES:
            raise InputError(f"{self.id}: kind must be one of {KINDS} and route one of {ROUTES}.")

    @property
    def paper(self) -> str:
        """The paper it belongs to."""
        return self.id.partition(".")[0]
