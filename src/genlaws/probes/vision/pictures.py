"""Draw the picture of a trial, make its prompt, and save pictures with a table of what they show.

Nothing is read from files: shapes are polygons, colors are computed, and letters are drawn in the font that Pillow
carries. The same trial gives the same bytes, with the same version of Pillow.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError
from genlaws.models.interface import Prompt
from genlaws.probes.templates import VisionTemplate, vision_template_of
from genlaws.probes.vision.scenes import MARK_HALF, PICTURE_SIDE, SHAPE_RADIUS, SQUARE_SIDE, VisionTrial, color_of_hue

WHITE, BLACK, RED = (255, 255, 255), (0, 0, 0), (230, 0, 0)
SUPERSAMPLING = 3  # pictures are drawn this many times larger and then averaged, which makes slanted edges smooth
STROKE_WIDTH = {"shapes": 11.0, "numbers": 8.0}  # width of the lines of the X
FRAME_WIDTH = 4.0  # width of the frame of a numbered square
FONT_SIZE = 44.0
NUMBER_INSET = 9.0  # of a number from the corner of its square
INNER_RADIUS = 0.382  # of a five-pointed star whose edges lie on straight lines
TARGET_CENTER, TARGET_SIDE = (450.0, 120.0), 170.0
COLUMNS, COLUMN_WIDTH, FIRST_ROW, SWATCH_ROW_HEIGHT, SWATCH_SIDE = 4, 205.0, 350.0, 200.0, 130.0
LETTER_BELOW = 28.0  # middle of a letter below the edge of its square
TABLE_FILE = "pictures.csv"


def picture_of(trial: VisionTrial) -> Image.Image:
    """Return the picture of a trial, 900 by 900 pixels on white."""
    image = Image.new("RGB", (PICTURE_SIDE * SUPERSAMPLING, PICTURE_SIDE * SUPERSAMPLING), WHITE)
    _DRAW_TASK[trial.task](ImageDraw.Draw(image), trial)
    return image.reduce(SUPERSAMPLING)


def png_of(trial: VisionTrial) -> bytes:
    """Return the picture of a trial as the bytes of a PNG file, without a date or any other text in it."""
    stream = BytesIO()
    picture_of(trial).save(stream, format="PNG", compress_level=6)
    return stream.getvalue()


def vision_prompt(
    trial: VisionTrial, template: str | os.PathLike[str] | VisionTemplate = "chat", *, picture: bytes | None = None
) -> Prompt:
    """Return a trial as a picture and a question about it.

    Parameters
    ----------
    trial : VisionTrial
    template : str, path or VisionTemplate
        A name, a JSON file, or the template itself.
    picture : bytes, optional
        To show in place of one that is drawn.

    Notes
    -----
    The two ways to reach a model take it as follows, with the picture before the question and ``encoded`` for
    ``base64.b64encode(prompt.images[0]).decode()``:

    - a processor of transformers, in ``apply_chat_template``: ``{"role": "user", "content": [{"type": "image",
      "base64": encoded}, {"type": "text", "text": prompt.text}]}``; an opened picture goes under ``"image"`` instead;
    - a server: ``{"role": "user", "content": [{"type": "image_url", "image_url": {"url":
      f"data:image/png;base64,{encoded}"}}, {"type": "text", "text": prompt.text}]}``, which recent processors of
      transformers take as well.
    """
    words = vision_template_of(trial.task, template)
    question = words.identification if trial.kind == "identification" else words.similarity
    text = question.format(count=len(trial.options), options=", ".join(trial.options))
    shown = (png_of(trial) if picture is None else picture,)
    return Prompt(text, trial.options, words.system, chat=True, answer_prefix=words.answer_prefix, images=shown)


def save_pictures(trials: Sequence[VisionTrial], folder: str | os.PathLike[str]) -> Path:
    """Write the pictures of trials and a table of what they show; return the path of the table.

    The table, ``pictures.csv``, has a row for each item of each picture: the file, the trial, the item, its place, its
    distance to the probe, whether it is right, and the place of the probe.
    """
    if not trials:
        raise InputError("trials must hold at least one trial; got none.")
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError(f"folder must be a folder; got the file {str(target)!r}.")
    target.mkdir(parents=True, exist_ok=True)
    digits = len(str(len(trials)))
    with (target / TABLE_FILE).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(
            ["file", "task", "kind", "option", "x", "y", "hue", "distance", "right", "probe_x", "probe_y", "probe_hue"]
        )
        for number, trial in enumerate(trials, start=1):
            file = f"{trial.task}_{trial.kind}_{number:0{digits}d}.png"
            (target / file).write_bytes(png_of(trial))
            writer.writerows([file, *row] for row in _rows(trial))
    return target / TABLE_FILE


def _rows(trial: VisionTrial) -> list[list[object]]:
    """Return what a picture shows, one row for each item."""

    def columns(place: tuple[float, ...]) -> list[object]:
        """Return x, y and hue of a place, empty where it has none."""
        return ["", "", place[0]] if trial.task == "colors" else [*place, ""]

    return [
        [trial.task, trial.kind, option, *columns(place), away, int(at == trial.right), *columns(trial.probe)]
        for at, (option, place, away) in enumerate(zip(trial.options, trial.places, trial.distances, strict=True))
    ]


def _draw_shapes(canvas: ImageDraw.ImageDraw, trial: VisionTrial) -> None:
    for name, (x, y) in zip(trial.options, trial.places, strict=True):
        if name == "circle":
            canvas.ellipse(_box(x, y, SHAPE_RADIUS), fill=BLACK)
        else:
            corners = SUPERSAMPLING * (np.array([x, y]) + SHAPE_RADIUS * _CORNERS[name])
            canvas.polygon([(float(a), float(b)) for a, b in corners], fill=BLACK)
    _draw_mark(canvas, trial)


def _draw_numbers(canvas: ImageDraw.ImageDraw, trial: VisionTrial) -> None:
    half = SQUARE_SIDE / 2
    for name, (x, y) in zip(trial.options, trial.places, strict=True):
        canvas.rectangle(_box(x, y, half), outline=BLACK, width=round(FRAME_WIDTH * SUPERSAMPLING))
        corner = (SUPERSAMPLING * (x - half + NUMBER_INSET), SUPERSAMPLING * (y - half + NUMBER_INSET))
        canvas.text(corner, name, fill=BLACK, font=_font(), anchor="lt")
    _draw_mark(canvas, trial)


def _draw_colors(canvas: ImageDraw.ImageDraw, trial: VisionTrial) -> None:
    _draw_swatch(canvas, TARGET_CENTER, TARGET_SIDE, trial.probe[0], "target")
    count = len(trial.options)
    for at, (name, (hue,)) in enumerate(zip(trial.options, trial.places, strict=True)):
        row, column = divmod(at, COLUMNS)
        in_row = min(COLUMNS, count - row * COLUMNS)
        x = PICTURE_SIDE / 2 + (column - (in_row - 1) / 2) * COLUMN_WIDTH
        _draw_swatch(canvas, (x, FIRST_ROW + row * SWATCH_ROW_HEIGHT), SWATCH_SIDE, hue, name)


def _draw_swatch(canvas: ImageDraw.ImageDraw, center: tuple[float, float], side: float, hue: float, label: str) -> None:
    x, y = center
    red, green, blue = color_of_hue(hue).tolist()
    canvas.rectangle(_box(x, y, side / 2), fill=(red, green, blue))
    below = (SUPERSAMPLING * x, SUPERSAMPLING * (y + side / 2 + LETTER_BELOW))
    canvas.text(below, label, fill=BLACK, font=_font(), anchor="mm")


def _draw_mark(canvas: ImageDraw.ImageDraw, trial: VisionTrial) -> None:
    x, y = trial.probe
    left, top, right, bottom = _box(x, y, MARK_HALF[trial.task])
    width = round(STROKE_WIDTH[trial.task] * SUPERSAMPLING)
    canvas.line((left, top, right, bottom), fill=RED, width=width)
    canvas.line((left, bottom, right, top), fill=RED, width=width)


def _box(x: float, y: float, half: float) -> tuple[float, float, float, float]:
    scale = SUPERSAMPLING
    return scale * (x - half), scale * (y - half), scale * (x + half) - 1, scale * (y + half) - 1


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(FONT_SIZE * SUPERSAMPLING)


def _regular(corner_count: int, first: float, inner: float = 1.0) -> Array:
    """Return corners on a circle of radius 1, every second one further in; the first at an angle in degrees."""
    angles = np.radians(first + np.arange(corner_count) * 360.0 / corner_count)
    radii = np.where(np.arange(corner_count) % 2, inner, 1.0)
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)


_CORNERS = {"square": _regular(4, 45.0), "triangle": _regular(3, -90.0), "star": _regular(10, -90.0, INNER_RADIUS)}
_DRAW_TASK: dict[str, Callable[[ImageDraw.ImageDraw, VisionTrial], None]] = {
    "shapes": _draw_shapes,
    "colors": _draw_colors,
    "numbers": _draw_numbers,
}
