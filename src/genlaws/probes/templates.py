"""Templates that turn a trial into text, or into the question about a picture, built in or read from a JSON file.

Every part can be changed; the wording matters for small models.
"""

from __future__ import annotations

import json
import os
import string
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from genlaws.core.arguments import one_of
from genlaws.core.errors import InputError
from genlaws.models.interface import Prompt
from genlaws.probes.domains import Domain
from genlaws.probes.trials import ProbeTrial
from genlaws.probes.vision.scenes import TASKS

REQUIRED_FIELDS = {"fact": {"item", "place"}, "similarity": {"place"}, "identification": {"place"}}
TemplateType = TypeVar("TemplateType")


def template_named(
    template: str | os.PathLike[str], known: Mapping[str, TemplateType], kind: type[TemplateType]
) -> TemplateType:
    """Return a template by its name, or read one from a JSON file.

    Parameters
    ----------
    template : str or path
        A name, or a file; its name without the ending is the template's, unless the file gives another.
    known : mapping of str to templates
        Those that have a name.
    kind : type
        A dataclass with a field ``name`` and fields of text; the file holds those without a default and may hold the
        rest.
    """
    name = os.fspath(template)
    if name in known:
        return known[name]
    if not Path(name).is_file():
        raise InputError(f"template must be one of {', '.join(known)}, or a JSON file; got {name!r}.")
    return _read(Path(name), kind)


def _read(path: Path, kind: type[TemplateType]) -> TemplateType:
    try:
        given: Any = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} must be JSON: {error}.") from None
    parts: Any = kind
    names = [field.name for field in fields(parts)]
    needed = [field.name for field in fields(parts) if field.default is MISSING and field.name != "name"]
    if not isinstance(given, dict) or not set(needed) <= set(given) <= set(names):
        must = f"{', '.join(needed[:-1])} and {needed[-1]}"
        raise InputError(f"{path.name} must hold {must}, and may hold the rest of {sorted(names)}.")
    return kind(**{"name": path.stem, **given})


def check_kinds(template: object) -> None:
    """Refuse a template with a field that is not text, or true or false where that is the default."""
    parts: Any = template
    for field in fields(parts):
        wanted = bool if isinstance(field.default, bool) else str
        value = getattr(template, field.name)
        if not isinstance(value, wanted):
            kind = "true or false" if wanted is bool else "text"
            raise InputError(f"{field.name} of a template must be {kind}; got {value!r}.")


@dataclass(frozen=True)
class Template:
    """The text of a probe.

    Attributes
    ----------
    name : str
    fact : str
        One line for each item, with ``{item}`` and ``{place}``.
    similarity, identification : str
        The questions, with ``{place}``; in a plain text they end where the answer begins.
    between : str
        Between the lines.
    system : str
        System message of a chat.
    chat : bool
        Whether the model's chat template is used.
    answer_prefix : str
        Between question and answer.
    """

    name: str
    fact: str
    similarity: str
    identification: str
    between: str = "\n"
    system: str = ""
    chat: bool = False
    answer_prefix: str = " "

    def __post_init__(self) -> None:
        check_kinds(self)
        for part, holds in REQUIRED_FIELDS.items():
            if fields_in(getattr(self, part)) != holds:
                needed = " and ".join(f"{{{one}}}" for one in sorted(holds))
                raise InputError(f"{part} of the template {self.name} must hold {needed}; got {getattr(self, part)!r}.")


def fields_in(text: str) -> set[str]:
    """Return the names in braces; none where the braces do not match or hold more than a name."""
    try:
        parts = [part for part in string.Formatter().parse(text) if part[1] is not None]
    except (ValueError, TypeError):
        return set()
    return set() if any(form or conversion for _, _, form, conversion in parts) else {str(part[1]) for part in parts}


ONLY_NAME = "Answer with the name only."


def _templates(
    fact: str, similarity: str, identification: str, questions: tuple[str, str], listed: tuple[str, str, str]
) -> dict[str, Template]:
    """Return a chat, sentences and a list; the first three are sentences, the next two the questions of a chat."""
    return {
        "chat": Template(
            "chat",
            fact,
            f"{questions[0]} {ONLY_NAME}",
            f"{questions[1]} {ONLY_NAME}",
            chat=True,
            answer_prefix="",
        ),
        "sentences": Template("sentences", fact, similarity, identification),
        "list": Template("list", *listed),
    }


TEMPLATES: dict[str, dict[str, Template]] = {
    "years": {
        **_templates(
            "{item} was born in {place}.",
            "The person who was born closest to the year {place} is",
            "The person who was born in the year {place} is",
            ("Who was born closest to the year {place}?", "Who was born in the year {place}?"),
            ("Born in {place}: {item}", "Born closest to {place}:", "Born in {place}:"),
        ),
        "deutsch": Template(
            "deutsch",
            "{item} wurde im Jahr {place} geboren.",
            "Dem Jahr {place} am nächsten geboren wurde",
            "Im Jahr {place} geboren wurde",
        ),
    },
    "numbers": _templates(
        "{item} has the number {place}.",
        "The person whose number is closest to {place} is",
        "The person who has the number {place} is",
        ("Whose number is closest to {place}?", "Who has the number {place}?"),
        ("Number {place}: {item}", "Number closest to {place}:", "Number {place}:"),
    ),
    # The year is named, since in a calendar of birthdays December is near January.
    "dates": _templates(
        "{item} arrived on {place}, 2023.",
        "The person who arrived closest to {place}, 2023 is",
        "The person who arrived on {place}, 2023 is",
        ("Who arrived closest to {place}, 2023?", "Who arrived on {place}, 2023?"),
        ("Arrived on {place}, 2023: {item}", "Arrived closest to {place}, 2023:", "Arrived on {place}, 2023:"),
    ),
    "temperatures": _templates(
        "{item} measured {place} °C.",
        "The person whose measurement was closest to {place} °C is",
        "The person who measured {place} °C is",
        ("Whose measurement was closest to {place} °C?", "Who measured {place} °C?"),
        ("Measured {place} °C: {item}", "Measured closest to {place} °C:", "Measured {place} °C:"),
    ),
    "latitudes": _templates(
        "{item} lies at {place}.",
        "The city whose latitude is closest to {place} is",
        "The city that lies at {place} is",
        ("Which of these cities has the latitude closest to {place}?", "Which of these cities lies at {place}?"),
        ("At {place}: {item}", "Closest to {place}:", "At {place}:"),
    ),
    "letters": _templates(
        "{item} has the letter {place}.",
        "The person whose letter is closest to {place} in the alphabet is",
        "The person who has the letter {place} is",
        ("Whose letter is closest to {place} in the alphabet?", "Who has the letter {place}?"),
        ("Letter {place}: {item}", "Letter closest to {place}:", "Letter {place}:"),
    ),
    "": _templates(
        "The value of {item} is {place}.",
        "The one whose value is closest to {place} is",
        "The one whose value is {place} is",
        ("Whose value is closest to {place}?", "Whose value is {place}?"),
        ("{place}: {item}", "Closest to {place}:", "{place}:"),
    ),
}


def template_of(domain: Domain, template: str | os.PathLike[str] | Template = "list") -> Template:
    """Return a template by its name, or read one from a JSON file with the fields of `Template`."""
    if isinstance(template, Template):
        return template
    return template_named(template, TEMPLATES.get(domain.name, TEMPLATES[""]), Template)


def prompt_of(trial: ProbeTrial, domain: Domain, template: Template) -> Prompt:
    """Return the prompt of a trial."""
    question = template.identification if trial.kind == "identification" else template.similarity
    facts = [
        template.fact.format(item=item, place=domain.write(place))
        for item, place in zip(trial.items, trial.places, strict=True)
    ]
    text = template.between.join([*facts, question.format(place=domain.write(trial.probe))])
    return Prompt(text, trial.items, template.system, template.chat, template.answer_prefix)


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
