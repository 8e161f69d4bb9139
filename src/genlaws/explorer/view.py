"""What a view of the explorer is: a question, settings with sliders, and an answer in pictures, numbers and words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from genlaws.explorer.controls import ViewSettings
from genlaws.panels import Panel


@dataclass(frozen=True)
class Number:
    """One number of an answer: what it is, its value as text, and what it means."""

    name: str
    value: str
    meaning: str = ""


@dataclass(frozen=True)
class Answer:
    """What a view shows for one choice of its settings.

    Attributes
    ----------
    panels : tuple of Panel
        The same names in the same order whatever the settings.
    numbers : tuple of Number
        At the place the sliders point to.
    sentence : str
        What it means, in one or two sentences.
    python : str
        Lines that compute the main numbers with the library; they run as they stand.
    command : str
        A command line that gives the same.
    """

    panels: tuple[Panel, ...]
    numbers: tuple[Number, ...]
    sentence: str
    python: str
    command: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "panels": [one.to_json() for one in self.panels],
            "numbers": [{"name": one.name, "value": one.value, "meaning": one.meaning} for one in self.numbers],
            "sentence": self.sentence,
            "python": self.python,
            "command": self.command,
        }


@dataclass(frozen=True)
class View:
    """One page of the explorer.

    Attributes
    ----------
    name : str
        In the address of the page, such as ``rules-facts``.
    title, question : str
    about : str
        Two or three sentences: the law, and what the reader can learn from it.
    settings : type
        A kind of `ViewSettings`; each field made with `slider`, `choice` or `switch`.
    answer : callable
        Takes the settings; some 30 ms for theory, up to 100 ms where the library has to search. Raises `InputError`
        where settings do not go together.
    """

    name: str
    title: str
    question: str
    about: str
    settings: type[ViewSettings]
    answer: Callable[[Any], Answer]
