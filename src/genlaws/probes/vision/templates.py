"""Templates of the questions about a picture. Every part can be changed."""

from __future__ import annotations

import os
import string
from dataclasses import dataclass

from genlaws.core.arguments import one_of
from genlaws.core.errors import InputError
from genlaws.probes.templates import check_kinds, template_named
from genlaws.probes.vision.scenes import TASKS

ALLOWED_FIELDS = {"count", "options"}


@dataclass(frozen=True)
class VisionTemplate:
    """The text that goes with a picture.

    Attributes
    ----------
    name : str
    similarity, identification : str
        The questions. ``{count}`` is replaced by the number of items, ``{options}`` by the answers, with commas.
    system : str
        System message of a chat.
    answer_prefix : str
        Between question and answer.
    """

    name: str
    similarity: str
    identification: str
    system: str = ""
    answer_prefix: str = ""

    def __post_init__(self) -> None:
        check_kinds(self)
        for part in ("similarity", "identification"):
            try:
                held = {name for _, name, _, _ in string.Formatter().parse(getattr(self, part)) if name is not None}
            except ValueError:
                held = {"?"}
            if not held <= ALLOWED_FIELDS or not getattr(self, part):
                raise InputError(
                    f"{part} of the template {self.name} must be a question and may hold {{count}} and {{options}}; "
                    f"got {getattr(self, part)!r}."
                )


_SHAPES = "The picture shows {count} black shapes and a red X."
_COLORS = "The picture shows a target square and {count} squares with letters below them."
# How many squares there are would be a number that is also an answer.
_NUMBERS = "The picture shows squares, each with a number in its corner, and a red X."
_QUESTIONS = {
    "shapes": (
        f"{_SHAPES} Which shape is closest to the X, from centre to centre?",
        f"{_SHAPES} On which shape is the X?",
        "Answer with the name of the shape only",
    ),
    "colors": (
        f"{_COLORS} Which square has the hue closest to the hue of the target?",
        f"{_COLORS} Which square has the same hue as the target?",
        "Answer with the letter only",
    ),
    "numbers": (
        f"{_NUMBERS} Which square is closest to the X, from centre to centre?",
        f"{_NUMBERS} In which square is the X?",
        "Answer with the number only",
    ),
}
VISION_TEMPLATES: dict[str, dict[str, VisionTemplate]] = {
    task: {
        "chat": VisionTemplate("chat", f"{similarity} {only}.", f"{identification} {only}."),
        "options": VisionTemplate(
            "options", f"{similarity} {only}: {{options}}.", f"{identification} {only}: {{options}}."
        ),
    }
    for task, (similarity, identification, only) in _QUESTIONS.items()
}


def vision_template_of(task: str, template: str | os.PathLike[str] | VisionTemplate = "chat") -> VisionTemplate:
    """Return a template by its name, or read one from a JSON file with the fields of `VisionTemplate`."""
    if isinstance(template, VisionTemplate):
        return template
    return template_named(template, VISION_TEMPLATES[one_of("task", task, TASKS)], VisionTemplate)
