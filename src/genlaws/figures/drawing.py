"""Write a figure: the table, the picture in each format, and the caption. Either all files appear or none change."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genlaws.figures.kept import kept_table
from genlaws.figures.progress import Progress
from genlaws.figures.record import Figure
from genlaws.figures.registry import get_figure
from genlaws.figures.writing import made_folder, save_picture, write_together
from genlaws.numerics.arguments import one_of
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from genlaws.experiments.settings import Settings


FORMATS = ("pdf", "png", "svg")


@dataclass(frozen=True)
class DrawnFigure:
    """What was written.

    Attributes
    ----------
    id, caption : str
    paths : dict
        File by kind: ``csv``, ``txt``, each format, and ``summary`` where the figure quotes numbers.
    """

    id: str
    caption: str
    paths: dict[str, Path] = field(default_factory=dict)


def draw_figure(
    figure_id: str,
    out_dir: str | os.PathLike[str],
    settings: Settings | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    formats: Sequence[str] = ("pdf", "png"),
    *,
    kept: bool = False,
) -> DrawnFigure:
    """Compute a figure and write ``<id>.csv``, ``<id>.txt`` (the caption) and a picture in each format.

    Parameters
    ----------
    figure_id : str
        One of :func:`~genlaws.figures.registry.figure_ids`.
    out_dir : path
        Made if it does not exist. Files of the same name are replaced, each in one step, once all have been made.
    settings : Settings or mapping, optional
        What differs from the printed figure.
    progress : Progress, optional
        Told how many steps there are and when each is done.
    formats : sequence of {"pdf", "png", "svg"}
    kept : bool
        Draw the table that comes with the library, computed at full size elsewhere; `settings` are then its own.

    Returns
    -------
    DrawnFigure
    """
    figure = get_figure(figure_id)
    formats = _checked_formats(formats)
    if kept and settings is not None:
        raise InputError("A kept table is drawn with the settings it was computed with; leave settings out.")
    table = kept_table(figure.id) if kept else None
    checked = figure.settings(settings if table is None else table.settings)
    folder = made_folder("out_dir", out_dir)

    def write(work: Path) -> dict[str, Path]:
        """Write every file of the figure."""
        frame = figure.data(checked, progress) if table is None else table.frame
        about = {} if table is None else table.about
        return _write_all(figure, checked, frame, work, formats=formats, about=about)

    return DrawnFigure(figure.id, figure.caption, write_together(folder, figure.id, write))


def _checked_formats(formats: Sequence[str]) -> tuple[str, ...]:
    if isinstance(formats, str):
        raise InputError(f"formats must be a list such as ['pdf', 'png']; got {formats!r}.")
    return tuple(dict.fromkeys(one_of("formats", name, FORMATS) for name in formats))


def _write_all(
    figure: Figure,
    settings: Settings,
    frame: pd.DataFrame,
    work: Path,
    *,
    formats: Sequence[str],
    about: Mapping[str, object],
) -> dict[str, Path]:
    made = {"csv": work / f"{figure.id}.csv"}
    frame.to_csv(made["csv"], index=False)
    summary = figure.summary(frame, settings)
    if summary is not None:
        made["summary"] = work / f"{figure.id}.summary.csv"
        summary.to_csv(made["summary"], index=False)
    made["txt"] = work / f"{figure.id}.txt"
    made["txt"].write_text(_caption_text(figure, settings, about), encoding="utf-8")
    picture = figure.draw(frame, settings)
    for name in formats:
        made[name] = work / f"{figure.id}.{name}"
        save_picture(picture, made[name], name, figure.title, figure.caption)
    return made


def _caption_text(figure: Figure, settings: Settings, about: Mapping[str, object]) -> str:
    lines = [f"{name} = {_plain(value)}" for name, value in settings.model_dump().items()]
    if about:
        versions = ", ".join(f"{name} {about[name]}" for name in ("torch", "numpy") if name in about)
        lines += ["", f"Computed on {about['device']} in {about['seconds']} s, {about['date']} ({versions})."]
    return "\n".join([figure.title, "", figure.caption, "", f"After {figure.citation}.", "", *lines, ""])


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_plain(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
