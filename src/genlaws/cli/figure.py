"""``genlaws figure``: draw figures of the papers, each with the table it was drawn from."""

from __future__ import annotations

import json
from typing import Annotated, Any

from cyclopts import Parameter

from genlaws.cli.questions import command_of, fills
from genlaws.core.errors import InputError
from genlaws.core.running import Running
from genlaws.figures import DrawnFigures, FigureList, draw_figures, list_figures
from genlaws.figures.drawing import Bundled, FigureNames, FigureSettings


@fills("figures", "settings")
def named_figures(
    figures: tuple[str, ...] = (),
    /,
    *,
    settings: Annotated[tuple[str, ...], Parameter(name="--set", consume_multiple=False)] = (),
) -> dict[str, Any]:
    """Return the names of figures, and the settings that differ from the printed figure.

    Parameters
    ----------
    figures : str, ...
        Figures such as rules-facts.3; without any, all are listed.
    settings : str, ...
        Change a setting: --set fact_fraction=0.1
    """
    changes = [_read_change(text) for text in settings]
    names = [name for name, _ in changes]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise InputError(f"set gives {twice} twice; give it one value.")
    return {"figures": figures, "settings": dict(changes) or None}


def _read_change(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"set must have the form field=value; got {text!r}.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def drawn_or_listed(
    figures: FigureNames = (),
    *,
    settings: FigureSettings = None,
    bundled: Bundled = False,
    running: Running | None = None,
) -> DrawnFigures | FigureList:
    """Draw figures of the papers: a table, a PDF and a PNG each."""
    if figures:
        return draw_figures(figures, settings=settings, bundled=bundled, running=running)
    if settings is not None:
        raise InputError("set changes a figure, such as genlaws figure rules-facts.3 --set angle_points=12; name one.")
    return list_figures(bundled=bundled)


figure = command_of(
    drawn_or_listed,
    named_figures,
    about="Without a name the figures are listed. Those that take longer are computed cell by cell and resume in the "
    "folder of --out.",
    resumes=True,
)
