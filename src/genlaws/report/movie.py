"""Embeddings along a training as one page with a slider over time, in one file that needs no network."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws import __version__
from genlaws.core.arguments import Array, Whole, whole_number
from genlaws.core.errors import InputError
from genlaws.figures.relations.learned import color_key, element_colors
from genlaws.relations import LearnedRelation
from genlaws.relations.networks.runs import ElementGroups, element_groups, principal_plane
from genlaws.render.html import static_text
from genlaws.render.pages import result_page, result_parts

PICTURE_WIDTH, PICTURE_HEIGHT, PICTURE_MARGIN = 640.0, 480.0, 26.0  # in units of the picture
MOVIE_DIGITS = 4
COLORED_BY = {
    "class": "class",
    "side": "side",
    "position": "the number of elements before each",
    "degree": "the number of elements related to each",
}
MAX_VISIBLE_NAMES = 60  # with more elements the names start hidden
FRAME_MILLISECONDS = 90  # between frames
MAX_FRAMES = 100
MAX_DOTS = 60_000  # of all frames together, so that a page stays below two megabytes
LABEL_OFFSET_X, LABEL_OFFSET_Y = 8.0, 5.0  # from the center of a dot to its name
LABEL_FLIP_SHARE = 0.8  # of the width; beyond, names are left of their dots


def embedding_movie(
    embeddings: ArrayLike,
    steps: Sequence[int],
    groups: ElementGroups,
    title: str,
    *,
    names: Sequence[str] = (),
    train_accuracy: ArrayLike | None = None,
    test_accuracy: ArrayLike | None = None,
    below: Sequence[str] = (),
) -> str:
    """Return the HTML of a page on which the embeddings of a training can be played.

    Embeddings of more than two dimensions are drawn along the two leading principal axes at the last time. Times with
    embeddings that are not finite are left out.

    Parameters
    ----------
    embeddings : array of shape (times, elements, dimension)
    steps : sequence of int
        Updates made before each time, increasing.
    groups : ElementGroups
        What the colors stand for.
    title : str
    names : sequence of str
        Of the elements; their numbers if left out.
    train_accuracy, test_accuracy : arrays of shape (times,), optional
    below : sequence of str
        More parts of the page, as HTML.
    """
    given = np.asarray(embeddings, dtype=np.float64)
    times = [whole_number("steps", one) for one in steps]
    if given.ndim != 3 or not given.size or len(given) != len(times):
        raise InputError(
            f"embeddings must have the shape (times, elements, dimension), one time for each of the {len(times)} "
            f"steps; got {given.shape}."
        )
    words = tuple(names) or tuple(str(number) for number in range(given.shape[1]))
    if not len(words) == len(groups.value) == given.shape[1]:
        raise InputError(
            f"names and groups must have one entry for each of the {given.shape[1]} elements; got {len(words)} and "
            f"{len(groups.value)}."
        )
    shares = [_shares(name, one, len(times)) for name, one in (("train", train_accuracy), ("test", test_accuracy))]
    sound = np.flatnonzero(np.isfinite(given).all(axis=(1, 2)))
    if not sound.size:
        raise InputError("embeddings must be finite at one time at least; this training failed at once.")
    film = {
        "steps": [times[place] for place in sound],
        "places": _to_picture(principal_plane(given[sound])),
        "train": [shares[0][place] for place in sound],
        "test": [shares[1][place] for place in sound],
        "pause": FRAME_MILLISECONDS,
        "turn": LABEL_FLIP_SHARE * PICTURE_WIDTH,
        "offset_x": LABEL_OFFSET_X,
        "offset_y": LABEL_OFFSET_Y,
    }
    return _page(film, groups, words, title, given.shape[2], below)


def learned_page(found: LearnedRelation) -> str:
    """Return the page of networks that learned a relation, on which the training of one of them is played.

    Without stored embeddings it is the page of any result.
    """
    runs, network = found.runs, found.shown_network
    if runs is None or network is None or not runs.embeddings.size:
        return result_page(found)
    frames = chosen_frames(runs.steps, found.element_count)
    return embedding_movie(
        runs.embeddings[network][frames],
        runs.steps[frames].tolist(),
        element_groups(runs.relation),
        f"{found.relation}: embeddings along the training of network {network}",
        names=runs.relation.names,
        train_accuracy=runs.train_accuracy[network][frames],
        test_accuracy=runs.test_accuracy[network][frames],
        below=result_parts(found),
    )


def chosen_frames(steps: Whole, element_count: int) -> Whole:
    """Return which measurements the page shows: the start, the end, and evenly in log time between them."""
    count = max(2, min(MAX_FRAMES, MAX_DOTS // element_count))
    wanted = np.geomspace(1.0, steps[-1] + 1.0, count)
    nearest = np.abs(np.log(steps[None] + 1.0) - np.log(wanted[:, None])).argmin(axis=1)
    return np.unique(nearest)


def _shares(name: str, given: ArrayLike | None, count: int) -> list[float | None]:
    """Return an accuracy at each time; nothing where it was not measured."""
    values = np.full(count, np.nan) if given is None else np.asarray(given, dtype=np.float64)
    if values.shape != (count,):
        raise InputError(f"{name}_accuracy must hold one number for each of the {count} times; got {values.shape}.")
    return [_rounded(one) if math.isfinite(one) else None for one in values.tolist()]


def _rounded(value: float) -> float:
    """Return a number with four digits."""
    return float(f"{value:.{MOVIE_DIGITS}g}")


def _to_picture(places: Array) -> list[list[float]]:
    """Return x and y of all elements in the units of the picture, one list for each time; y grows downward there."""
    low, high = places.min(axis=(0, 1)), places.max(axis=(0, 1))
    room = np.array([PICTURE_WIDTH, PICTURE_HEIGHT]) - 2.0 * PICTURE_MARGIN
    scale = float(np.min(room / np.maximum(high - low, 1e-12)))
    away = (places - 0.5 * (low + high)) * scale
    drawn = np.array([PICTURE_WIDTH, PICTURE_HEIGHT]) / 2.0 + away * np.array([1.0, -1.0])
    return [[_rounded(one) for one in frame] for frame in drawn.reshape(len(places), -1).tolist()]


def _page(  # noqa: PLR0917
    film: dict[str, Any],
    groups: ElementGroups,
    names: tuple[str, ...],
    title: str,
    dimension: int,
    below: Sequence[str],
) -> str:
    heading = html.escape(title)
    leading = f"the two leading principal axes of {dimension} dimensions in the end"
    axes = {1: "one dimension", 2: "both dimensions"}.get(dimension, leading)
    data = json.dumps(film, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    styles = static_text("document.css") + static_text("movie.css", "genlaws.report")
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{heading}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>\n{styles}</style></head><body><main>",
        f"<h1>{heading}</h1>",
        f'<p class="soft">{len(names)} elements, {axes}; colored by {COLORED_BY[groups.kind]}. '
        f"genlaws {html.escape(__version__)}.</p>",
        f'<section class="movie">{_picture(film, groups, names, title)}',
        _key(groups),
        _controls(film, nameless=len(names) > MAX_VISIBLE_NAMES),
        "</section>",
        *below,
        "</main>",
        f'<script type="application/json" id="film">{data}</script>',
        f"<script>\n{static_text('movie.js', 'genlaws.report')}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _picture(film: dict[str, Any], groups: ElementGroups, names: tuple[str, ...], title: str) -> str:
    """Return the last frame; without scripts the page still shows where the elements ended."""
    frame = film["places"][-1]
    hidden = ' class="nameless"' if len(names) > MAX_VISIBLE_NAMES else ""
    label = html.escape(f"Embeddings of {len(names)} elements: {title}", quote=True)
    colors = element_colors(groups)
    dots = (
        f'<circle r="6" cx="{x}" cy="{y}" fill="{color}"><title>{html.escape(name)}</title></circle>'
        for x, y, name, color in zip(frame[::2], frame[1::2], names, colors, strict=True)
    )
    words = (_name_label(x, y, name) for x, y, name in zip(frame[::2], frame[1::2], names, strict=True))
    view = f"0 0 {PICTURE_WIDTH:g} {PICTURE_HEIGHT:g}"
    inside = "".join((*dots, *words))
    return f'<svg id="picture"{hidden} viewBox="{view}" role="img" aria-label="{label}">{inside}</svg>'


def _name_label(x: float, y: float, name: str) -> str:
    """Return a name on the right of its dot, or on the left near the right edge."""
    turned = x > LABEL_FLIP_SHARE * PICTURE_WIDTH
    anchor, place = ("end", x - LABEL_OFFSET_X) if turned else ("start", x + LABEL_OFFSET_X)
    at = f'x="{_rounded(place)}" y="{_rounded(y - LABEL_OFFSET_Y)}" text-anchor="{anchor}"'
    return f"<text {at}>{html.escape(_short(name))}</text>"


def _short(name: str) -> str:
    return name if len(name) <= 18 else name[:17] + "…"


def _key(groups: ElementGroups) -> str:
    rows = (
        f'<li><span class="dot" style="background:{color}"></span>{html.escape(words)}</li>'
        for words, color in color_key(groups)
    )
    return f'<ul aria-label="What the colors mean">{"".join(rows)}</ul>'


def _controls(film: dict[str, Any], *, nameless: bool) -> str:
    last, checked = len(film["steps"]) - 1, "" if nameless else " checked"
    rows = [("step", "step", f"{film['steps'][-1]:,}")]
    for key, words in (("train", "accuracy on training entries"), ("test", "accuracy on the others")):
        share = film[key][-1]
        rows.append((key, words, "none" if share is None else f"{share:.3f}"))
    numbers = "".join(f'<div><dt>{words}</dt><dd id="{key}">{value}</dd></div>' for key, words, value in rows)
    return (
        '<div class="controls"><button id="play" type="button" aria-label="Play the training">Play</button>'
        f'<input id="time" type="range" min="0" max="{last}" step="1" value="{last}" aria-label="Time in the training" '
        f'aria-valuetext="step {film["steps"][-1]}">'
        f'<label><input id="names" type="checkbox"{checked}> names</label></div>'
        f"<dl>{numbers}</dl>"
    )
