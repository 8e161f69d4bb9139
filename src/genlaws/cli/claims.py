"""``genlaws claims``: list and show what the papers claim and what was found, and check claims again."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import App, Parameter

from genlaws import claims
from genlaws.cli.questions import command_of, fills

app = App(
    name="claims",
    help="What the papers claim, what was found, and the checks.",
    help_format="plaintext",
)


@fills("claim")
def named_claim(claim: str, /) -> dict[str, Any]:
    """Return the claim named.

    Parameters
    ----------
    claim : str
        Such as semanticity.theorem-1; genlaws claims list names them all.
    """
    return {"claim": claim}


@fills("claims", "quick")
def named_claims(
    claims: tuple[str, ...] = (), /, *, quick: Annotated[bool, Parameter(negative="--full")] = True
) -> dict[str, Any]:
    """Return the claims named, and how large the checks are.

    Parameters
    ----------
    claims : str, ...
        Claims, papers, or all.
    quick : bool
        Take seconds for each claim, or up to two minutes.
    """
    return {"claims": claims, "quick": quick}


app.command(command_of(claims.list_claims), name="list")
app.command(command_of(claims.show_claim, named_claim), name="show")
app.command(
    command_of(
        claims.run_claims,
        named_claims,
        about="Exit with code 1 if a verdict differs from the bundled one, a check fails or nothing could be checked.",
        parallel=True,
    ),
    name="run",
)
