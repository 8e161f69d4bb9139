"""Draw figures: each is a table, a picture of it and a caption."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from genlaws.core.arguments import one_of
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.parameters import Parameter
from genlaws.core.plain import parts_of
from genlaws.core.result import Result, Row, Summary, called_separately, question
from genlaws.core.running import Running, checked_running
from genlaws.figures.bundled import bundled_ids, bundled_table
from genlaws.figures.figure import Figure
from genlaws.figures.registry import FIGURES, get_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from genlaws.figures.bundled import BundledTable
    from genlaws.sweeps.experiment import Settings

FOLDER_DIGITS = 8  # of the fingerprint of settings in the name of a folder of cells


def _figure_names(name: str, value: Any, hint: str = "") -> tuple[str, ...]:
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not given:
        raise InputError(f"{name} must be a figure or several; got {value!r}. {hint}")
    return tuple(dict.fromkeys(one_of(name, one, FIGURES, hint) for one in given))


FigureNames = Annotated[
    str | Sequence[str],
    Parameter("Such as rules-facts.3.", check=_figure_names, hint="genlaws figure lists all of them."),
]
FigureSettings = Annotated[Mapping[str, Any] | None, Parameter("Values that differ from the printed figure.")]
Bundled = Annotated[bool, Parameter("Use the full-size tables that come with the package instead of computing them.")]


@dataclass(frozen=True)
class DrawnFigure:
    """One figure and the table it is drawn from.

    Attributes
    ----------
    id, title, caption, citation : str
    settings : dict
        All of them, with those of the printed figure.
    about : dict
        Of a bundled table: device, seconds, versions and date.
    columns : dict of str to array
        The table.
    """

    id: str
    title: str
    caption: str
    citation: str
    settings: dict[str, Any]
    about: dict[str, Any]
    columns: dict[str, NDArray[np.generic]]

    @property
    def table(self) -> DataFrame:
        """The long table, one row per solved point."""
        return frame_of(self.columns)

    @property
    def numbers(self) -> DataFrame | None:
        """The numbers quoted with the figure, where it has any."""
        return get_figure(self.id).summary(self.table, self.settings)

    def picture(self) -> Picture:
        """Return the matplotlib picture."""
        return get_figure(self.id).draw(self.table, self.settings)

    def text(self) -> str:
        """Return title, caption, source and settings."""
        lines = [f"{name} = {_format_value(value)}" for name, value in self.settings.items()]
        if self.about:
            versions = ", ".join(f"{name} {self.about[name]}" for name in ("torch", "numpy") if name in self.about)
            computed = f"{self.about['device']} in {self.about['seconds']} s, {self.about['date']} ({versions})"
            lines += ["", f"Computed on {computed}."]
        return "\n".join([self.title, "", self.caption, "", f"After {self.citation}.", "", *lines, ""])


@dataclass(frozen=True, eq=False, repr=False)
class DrawnFigures(Result):
    """Figures of the papers, each with its table."""

    default_out: ClassVar[str] = "out/figures"
    figures: tuple[DrawnFigure, ...]

    def to_frame(self) -> DataFrame:
        """Return one row for each figure."""
        rows = [parts_of(one) for one in self.figures]
        return frame_of([{name: row[name] for name in ("id", "title", "caption", "citation")} for row in rows])

    def tables(self) -> dict[str, DataFrame]:
        """Return the table of each figure, and the numbers quoted with it."""
        numbers = {f"{one.id}.summary": one.numbers for one in self.figures}
        quoted = {name: table for name, table in numbers.items() if table is not None}
        return {one.id: one.table for one in self.figures} | quoted

    def pictures(self) -> dict[str, Picture]:
        """Return the pictures by the names of the figures."""
        return {one.id: one.picture() for one in self.figures}

    def titles(self) -> dict[str, tuple[str, str]]:
        """Return title and caption of the pictures."""
        return {one.id: (one.title, one.caption) for one in self.figures}

    def files(self) -> dict[str, str | bytes]:
        """Return the content of every file, with a text for each figure: its caption, source and settings."""
        return super().files() | {f"{one.id}.txt": one.text() for one in self.figures}

    def summary(self) -> Summary:
        """Return the titles, and the caption of a single figure."""
        captions = [one.caption for one in self.figures] if len(self.figures) == 1 else []
        return Summary([Row(one.id, one.title) for one in self.figures], captions)


@dataclass(frozen=True)
class ListedFigure:
    """One figure of a list."""

    id: str
    title: str
    citation: str


@dataclass(frozen=True, eq=False, repr=False)
class FigureList(Result):
    """The figures of the papers."""

    figures: tuple[ListedFigure, ...]

    def to_frame(self) -> DataFrame:
        """Return one row for each figure."""
        return frame_of([parts_of(one) for one in self.figures])

    def summary(self) -> Summary:
        """Return the titles."""
        return Summary([Row(one.id, one.title) for one in self.figures])


@question
def list_figures(*, bundled: Bundled = False) -> FigureList:
    """List the figures of the papers.

    Parameters
    ----------
    bundled : bool
        Only those with a full-size table that comes with the package.
    """
    chosen = [one for name, one in FIGURES.items() if not bundled or name in bundled_ids()]
    return FigureList(tuple(ListedFigure(one.id, one.title, one.citation) for one in chosen))


@question
def draw_figures(
    figures: FigureNames,
    *,
    settings: FigureSettings = None,
    bundled: Bundled = False,
    running: Running | None = None,
) -> DrawnFigures:
    """Draw figures of the papers, each from a table.

    Parameters
    ----------
    figures : str or sequence of str
        Of :func:`~genlaws.figures.figure_ids`.
    settings : mapping, optional
        Values that differ from the printed figures.
    bundled : bool
        Draw the full-size tables that come with the package, with the settings they were computed with.
    running : Running, optional
        Figures that are computed cell by cell use its jobs and folder; the others need neither.
    """
    shown = checked_running(running, "jobs", "folder")
    if bundled and settings is not None:
        raise InputError("bundled tables have the settings they were computed with; leave settings (--set) out.")
    # Every setting is checked before the first figure is computed.
    tables = {name: bundled_table(name) if bundled else None for name in figures}
    given = {name: settings if table is None else table.settings for name, table in tables.items()}
    checked = {name: get_figure(name).settings(given[name]) for name in figures}
    return DrawnFigures(tuple(_drawn(get_figure(name), checked[name], tables[name], shown) for name in figures))


def _drawn(figure: Figure, settings: Settings, table: BundledTable | None, running: Running) -> DrawnFigure:
    """Return a figure with the bundled table, or with one that is computed."""
    plain = settings.model_dump(mode="json")
    if table is None:
        digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:FOLDER_DIGITS]
        frame = called_separately(figure.data, settings, running=running.within(f"{figure.id}-{digest}"))
    else:
        frame = table.frame
    columns = {str(name): frame[name].to_numpy() for name in frame}
    about = {} if table is None else table.about
    return DrawnFigure(figure.id, figure.title, figure.caption, figure.citation, plain, about, columns)


def _format_value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_format_value(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
