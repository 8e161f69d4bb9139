"""``genlaws figure``: draw figures of the papers, each with the table it was drawn from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.cli.output import DEFAULT_OUTPUT, Output, ProgressBar, aligned, print_json
from genlaws.core.errors import InputError
from genlaws.core.running import Running
from genlaws.figures import FIGURES, draw_figure, get_figure
from genlaws.figures.bundled import bundled_ids, bundled_table

if TYPE_CHECKING:
    from genlaws.figures import Figure

DEFAULT_FOLDER = Path("out/figures")


def figure(
    *ids: Annotated[str, Parameter(help="Figures such as rules-facts.3; without any, all are listed.")],
    set: Annotated[tuple[str, ...], Parameter(name="--set", help="Change a setting: --set fact_fraction=0.1")] = (),
    jobs: Annotated[int, Parameter(help="Processes for the figures that are computed cell by cell.")] = 1,
    keep: Annotated[
        Path | None, Parameter(help="Folder that stores every cell, so that a stopped figure resumes where it was.")
    ] = None,
    bundled: Annotated[
        bool, Parameter(negative="", help="Draw the full-size table that comes with the package instead of computing.")
    ] = False,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Draw figures: a CSV table, a PDF and a PNG each, in the folder of --out (out/figures)."""
    if not ids:
        _list_figures({one: FIGURES[one] for one in FIGURES if not bundled or one in bundled_ids()}, output)
        return
    changes = dict(_read_change(text) for text in set)
    # Every name and setting is checked before the first figure is computed.
    if bundled and changes:
        raise InputError("--bundled draws a table with the settings it was computed with; leave out --set.")
    prepared = [(one, get_figure(one).settings(bundled_table(one).settings if bundled else changes)) for one in ids]
    folder = output.out or DEFAULT_FOLDER
    drawn = []
    with ProgressBar(quiet=output.json) as shown:
        for figure_id, settings in prepared:
            given = None if bundled else settings
            running = Running(shown.progress, jobs=jobs, folder=None if keep is None else keep / figure_id)
            drawn.append(draw_figure(figure_id, folder, settings=given, running=running, bundled=bundled))
    if output.json:
        answer = [{"id": one.id, "files": {kind: str(path) for kind, path in one.paths.items()}} for one in drawn]
        print_json({"figures": answer, "seed": output.seed})
        return
    for one in drawn:
        print(f"{one.id}  {one.caption}")
        for path in one.paths.values():
            print(f"  {path}")


def _list_figures(figures: Mapping[str, Figure], output: Output) -> None:
    if output.json:
        listed = [{"id": one.id, "title": one.title, "citation": one.citation} for one in figures.values()]
        print_json({"figures": listed})
    else:
        print(aligned({one: figure.title for one, figure in figures.items()}))


def _read_change(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"set must have the form field=value; got {text!r}.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
