"""``genlaws relations learn``, ``advise`` and ``phases``: networks that learn a relation."""

from __future__ import annotations

from typing import Any

from genlaws import relations
from genlaws.cli.questions import command_of, fills
from genlaws.cli.relations.source import one_relation
from genlaws.core.errors import InputError


@fills("decoder_rates", "encoder_rates")
def rate_options(decoder_rates: str | None = None, encoder_rates: str | None = None) -> dict[str, Any]:
    """Return the ends of the rates.

    Parameters
    ----------
    decoder_rates, encoder_rates : str, optional
        Lowest and highest as 1e-4:1e-1. If left out, what suits the optimizer.
    """
    given = {"decoder_rates": decoder_rates, "encoder_rates": encoder_rates}
    return {name: None if text is None else _read_ends(name, text) for name, text in given.items()}


def _read_ends(name: str, text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        raise InputError(f"{name} must be the lowest and the highest rate, such as 1e-4:1e-1; got {text!r}.") from None
    return low, high


learn = command_of(
    relations.learn_relation,
    one_relation,
    about="With --out a folder is written: the networks, their curves, the final embeddings of one of them, and a page "
    "that plays its training.",
)
advise = command_of(
    relations.advise_relation,
    one_relation,
    about="The number of entries for the best learner is exact; the number for the network and the ratio are measured "
    "by a pilot. It takes about a minute for 30 elements, seconds with --quick.",
)
phases = command_of(
    relations.phase_diagram,
    one_relation,
    rate_options,
    about="The defaults are a reduced size that takes a few minutes: 6 × 6 rates, 3 networks each, 10,000 steps, "
    "layers of 20 units. With --out every finished network is stored in DIR/cells: after a stop the same command "
    "continues, and gives the same tables.",
    resumes=True,
)
