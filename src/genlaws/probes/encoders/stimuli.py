"""Stimuli to embed, with their true places: words for places on a line, squares of one hue, a red X in a picture.

A network turns each stimulus into a row of numbers. The similarity of two rows is compared with the true distance of
the two stimuli.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PIL import Image

from genlaws.core.arguments import Array, Whole, whole_number
from genlaws.core.errors import InputError
from genlaws.core.result import fingerprint
from genlaws.core.seeds import generator_of
from genlaws.probes.domains import DOMAINS, Domain, domain_of
from genlaws.probes.templates import fields_in
from genlaws.probes.vision.pictures import WHITE, picture_of
from genlaws.probes.vision.scenes import (
    FULL_CIRCLE_DEGREES,
    MARK_HALF,
    MIN_GAP,
    PICTURE_SIDE,
    VisionTrial,
    color_of_hue,
)
from genlaws.semanticity.measurement.metrics import circle_length

DEFAULT_COUNT = 200
PICTURE_SIZE = 224  # pixels; the input of most image encoders
HUE_SQUARE = 600  # side of the colored square in a picture of 900
PHRASES = {
    "years": "the year {place}",
    "numbers": "the number {place}",
    "dates": "{place}",
    "temperatures": "{place} degrees Celsius",
    "letters": "the letter {place}",
}
OWN_PHRASE = "{item}"  # where items have places of their own
PICTURE_STIMULI = ("hues", "marks")


@dataclass(frozen=True)
class EmbeddingStimuli:
    """Things to embed, and where each of them truly is.

    Attributes
    ----------
    name : str
    kind : {"text", "image"}
    contents : tuple of str or of PIL images
    positions : array of shape (N,) or (N, 2)
        True places.
    metric : {"euclidean", "circle"}
        How places become distances, see :func:`~genlaws.semanticity.measurement.metrics.distances_between`.
    period : float
        For the circle only. Places that span more than 1 need a longer one.
    unit : str
        Of the distances.
    """

    name: str
    kind: str
    contents: tuple[str, ...] | tuple[Image.Image, ...]
    positions: Array
    metric: str = "euclidean"
    period: float = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        if len(self.contents) != len(self.positions):
            raise InputError(
                f"There must be one true place for each stimulus; got {len(self.contents)} and {len(self.positions)}."
            )
        if len(self.contents) < 4:
            raise InputError(f"stimuli must be at least four; got {len(self.contents)}.")
        if self.metric == "circle" and self.period == 1.0:
            circle_length(self.positions, None)
        wanted = {"text": str, "image": Image.Image}.get(self.kind)
        if wanted is None or not all(isinstance(one, wanted) for one in self.contents):
            raise InputError("stimuli must be all words (kind text) or all PIL images (kind image).")

    def __len__(self) -> int:
        return len(self.contents)

    def call_parts(self) -> dict[str, Any]:
        """Return what a call records of the stimuli."""
        return {"name": self.name, "count": len(self), "sha256": fingerprint(self.positions)}

    @property
    def truth(self) -> dict[str, Any]:
        """The places and how they become distances, as :func:`genlaws.semanticity.measure` takes them."""
        period = self.period if self.metric == "circle" else None
        return {"positions": self.positions, "metric": self.metric, "period": period}

    def without(self, contents: Collection[str]) -> EmbeddingStimuli:
        """Return the stimuli without some, such as those that a file of word vectors has no vectors for."""
        left = [place for place, one in enumerate(self.contents) if one not in contents]
        contents_left: Any = tuple(self.contents[place] for place in left)
        return replace(self, contents=contents_left, positions=self.positions[left])


def embedding_stimuli(
    name: str, *, count: int = DEFAULT_COUNT, phrase: str | None = None, size: int = PICTURE_SIZE, seed: int = 0
) -> EmbeddingStimuli:
    """Return stimuli by their name.

    Parameters
    ----------
    name : str
        A domain (years, numbers, dates, temperatures, latitudes, letters), ``table:FILE`` with two columns, item and
        value, or pictures: ``hues``, ``marks``.
    count : int
        Largest number of words.
    phrase : str, optional
        For words only.
    size, seed : int
        For pictures only.
    """
    if name not in PICTURE_STIMULI:
        if not (isinstance(name, str) and (name in DOMAINS or name.startswith("table:"))):
            known = ", ".join([*DOMAINS, *PICTURE_STIMULI])
            raise InputError(f"stimuli must be one of {known}, or table:FILE; got {name!r}.")
        return word_stimuli(name, phrase=phrase, count=count)
    if phrase is not None:
        raise InputError(f"phrase belongs to words; {name} are pictures.")
    return hue_stimuli(count, size=size) if name == "hues" else mark_stimuli(count, size=size, seed=seed)


def word_stimuli(domain: str | Domain, *, phrase: str | None = None, count: int = DEFAULT_COUNT) -> EmbeddingStimuli:
    """Return the places of a domain in words, each in the same phrase; the distance is that on the line.

    Parameters
    ----------
    domain : str or Domain
        A name, ``table:FILE``, or the domain itself.
    phrase : str, optional
        With ``{place}`` where the place is written; or ``{item}`` where items have places of their own (cities, a
        table), which tests what a network knows of the item. By default "the year {place}" and the like, or the item
        alone.
    count : int
        Largest number of stimuli; if there are more places, they are chosen evenly.
    """
    line = domain_of(domain) if isinstance(domain, str) else domain
    most = whole_number("count", count, at_least=4)
    named = sorted(line.own_places.items(), key=lambda pair: pair[1]) or [("", place) for place in line.places.tolist()]
    words = _checked(phrase or (OWN_PHRASE if line.own_places else PHRASES.get(line.name, "{place}")), line)
    chosen = [named[at] for at in _evenly(len(named), most).tolist()]
    contents = tuple(words.format(item=item, place=line.write(place)) for item, place in chosen)
    return EmbeddingStimuli(line.name, "text", contents, np.array([place for _, place in chosen]), unit=line.unit)


def hue_stimuli(count: int = DEFAULT_COUNT, *, size: int = PICTURE_SIZE) -> EmbeddingStimuli:
    """Return squares that differ in hue alone, evenly around the circle of hues; distances in degrees.

    Colors are rounded to whole numbers of red, green and blue, which shifts a hue by at most 0.7 degrees; with more
    than about 500 some squares would be the same.

    Parameters
    ----------
    count : int from 4 to 500
    size : int
        Side of the pictures in pixels.
    """
    number = whole_number("count", count, at_least=4, at_most=500)
    side = whole_number("size", size, at_least=8)
    hues = np.arange(number) * FULL_CIRCLE_DEGREES / number
    pictures = tuple(_square_of(color, side) for color in color_of_hue(hues).tolist())
    return EmbeddingStimuli("hues", "image", pictures, hues, "circle", FULL_CIRCLE_DEGREES, "degrees")


def mark_stimuli(
    count: int = DEFAULT_COUNT, *, size: int = PICTURE_SIZE, seed: int | np.random.Generator = 0
) -> EmbeddingStimuli:
    """Return pictures of a red X at random places, uniform over the picture; distances in pixels of 900.

    `size`: side of the pictures in pixels; distances stay those of a picture of 900 by 900.
    """
    number = whole_number("count", count, at_least=4)
    side = whole_number("size", size, at_least=8)
    edge = MARK_HALF["shapes"] + MIN_GAP
    places = generator_of(seed).uniform(edge, PICTURE_SIDE - edge, (number, 2))
    pictures = tuple(_mark_at(place, side) for place in places.tolist())
    return EmbeddingStimuli("marks", "image", pictures, places, unit="pixels")


def _evenly(available: int, most: int) -> Whole:
    """Return which of the available places are taken, the first and the last among them."""
    return np.rint(np.linspace(0, available - 1, min(most, available))).astype(np.int64)


def _checked(phrase: str, domain: Domain) -> str:
    """Return a phrase that differs from place to place."""
    allowed = {"place", "item"} if domain.own_places else {"place"}
    fields = fields_in(phrase)
    if not fields or not fields <= allowed:
        names = " or ".join(f"{{{name}}}" for name in sorted(allowed))
        raise InputError(f"phrase must hold {names} and nothing else in braces; got {phrase!r}.")
    return phrase


def _square_of(color: list[int], side: int) -> Image.Image:
    """Return a square of one color in the middle of a white picture."""
    picture = Image.new("RGB", (PICTURE_SIDE, PICTURE_SIDE), WHITE)
    low, high = (PICTURE_SIDE - HUE_SQUARE) // 2, (PICTURE_SIDE + HUE_SQUARE) // 2
    red, green, blue = color
    picture.paste((red, green, blue), (low, low, high, high))
    return picture.resize((side, side))


def _mark_at(place: Sequence[float], side: int) -> Image.Image:
    """Return the picture of a trial that shows nothing but its mark."""
    return picture_of(VisionTrial("similarity", "shapes", (), (), tuple(place), 0)).resize((side, side))
