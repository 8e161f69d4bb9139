"""Write a figure: its table, its picture in each format and its caption. Either all files appear or none change."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import genlaws
from genlaws.core.arguments import one_of
from genlaws.core.errors import InputError
from genlaws.core.files import made_folder, write_together
from genlaws.core.running import Running
from genlaws.figures.bundled import bundled_table
from genlaws.figures.figure import Figure
from genlaws.figures.registry import get_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from genlaws.sweeps.experiment import Settings

PNG_DPI = 300  # dots per inch of the PNG, as journals require
FORMATS = ("pdf", "png", "svg")


def save_picture(picture: Picture, path: Path, kind: str, title: str, caption: str) -> None:
    """Save a picture as pdf, png or svg. Without a date the same picture gives the same bytes."""
    from genlaws.render.style import house_style  # noqa: PLC0415

    maker = f"genlaws {genlaws.__version__}"
    metadata: dict[str, dict[str, Any]] = {
        "pdf": {"Title": title, "Subject": caption, "Creator": maker, "CreationDate": None},
        "png": {"Title": title, "Description": caption, "Software": maker},
        "svg": {"Title": title, "Description": caption, "Creator": maker, "Date": None},
    }
    with house_style():
        picture.savefig(path, format=kind, dpi=PNG_DPI, metadata=metadata[kind])


@dataclass(frozen=True)
class DrawnFigure:
    """The files that were written.

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
    formats: Sequence[str] = ("pdf", "png"),
    *,
    running: Running | None = None,
    bundled: bool = False,
) -> DrawnFigure:
    """Compute a figure and write ``<id>.csv``, ``<id>.txt`` (the caption) and a picture in each format.

    Parameters
    ----------
    figure_id : str
        One of :func:`~genlaws.figures.registry.figure_ids`.
    out_dir : path
        Created if it does not exist. Files of the same name are replaced, each in one step, once all have been written.
    settings : Settings or mapping, optional
        Values that differ from the printed figure.
    formats : sequence of {"pdf", "png", "svg"}
    running : Running, optional
        Figures that are computed cell by cell use its jobs and folder; the others need neither.
    bundled : bool
        Draw the full-size table that comes with the package, with the settings it was computed with.

    Returns
    -------
    DrawnFigure
    """
    figure = get_figure(figure_id)
    formats = _checked_formats(formats)
    if bundled and settings is not None:
        raise InputError("A bundled table is drawn with the settings it was computed with; leave settings out.")
    table = bundled_table(figure.id) if bundled else None
    checked = figure.settings(settings if table is None else table.settings)
    folder = made_folder("out_dir", out_dir)

    def write(work: Path) -> dict[str, Path]:
        """Write every file of the figure."""
        frame = figure.data(checked, running=running) if table is None else table.frame
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
    lines = [f"{name} = {_format_value(value)}" for name, value in settings.model_dump().items()]
    if about:
        versions = ", ".join(f"{name} {about[name]}" for name in ("torch", "numpy") if name in about)
        lines += ["", f"Computed on {about['device']} in {about['seconds']} s, {about['date']} ({versions})."]
    return "\n".join([figure.title, "", figure.caption, "", f"After {figure.citation}.", "", *lines, ""])


def _format_value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_format_value(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
