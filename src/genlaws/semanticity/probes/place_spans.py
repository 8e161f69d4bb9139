"""Where in a prompt the places of the items and the place asked for stand, in characters and then in tokens.

The text is put together from its pieces once more and the pieces are counted, so nothing is searched for: the year 1066
may also be part of a name or of another number.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

from genlaws.numerics.errors import InputError
from genlaws.semanticity.probes.domains import Domain
from genlaws.semanticity.probes.templates import Template
from genlaws.semanticity.probes.trials import ProbeTrial

Span = tuple[int, int]


@dataclass(frozen=True)
class PlaceSpans:
    """A text and where places stand in it.

    Attributes
    ----------
    text : str
    items : tuple of (int, int)
        First character of each item's place and the one after its last, in the order in which the items are shown.
    probe : (int, int)
        The same of the place asked for.
    """

    text: str
    items: tuple[Span, ...]
    probe: Span

    @property
    def spans(self) -> tuple[Span, ...]:
        """Those of the items, then that of the place asked for."""
        return (*self.items, self.probe)

    def inside(self, whole: str) -> PlaceSpans:
        """Return the same places in a longer text, such as a chat, that holds this one.

        A chat template may strip blanks around what the user says. Where the longer text holds this one more than
        once, the last is meant: what is said before it is an example or an instruction.
        """
        kept = self.text if self.text in whole else self.text.strip()
        at = whole.rfind(kept)
        if at < 0:
            raise InputError("The chat template changes the words of the prompt, so its places cannot be found in it.")
        step = at - self.text.index(kept)
        moved = [(first + step, end + step) for first, end in self.spans]
        return PlaceSpans(whole, tuple(moved[:-1]), moved[-1])


def place_spans(trial: ProbeTrial, domain: Domain, template: Template) -> PlaceSpans:
    """Return the text of a trial, the same as that of its prompt, and where its places stand.

    Where a line names its place twice, the last one counts: a model that reads forwards knows more there.
    """
    text, spans = "", []
    for item, place in zip(trial.items, trial.places, strict=True):
        line, span = _written(template.fact, item, domain.write(place))
        spans.append((len(text) + span[0], len(text) + span[1]))
        text += line + template.between
    asked = template.identification if trial.kind == "identification" else template.similarity
    line, span = _written(asked, "", domain.write(trial.probe))
    probe = (len(text) + span[0], len(text) + span[1])
    return PlaceSpans(text + line, tuple(spans), probe)


def _written(pattern: str, item: str, place: str) -> tuple[str, Span]:
    """Return one line and where its place stands."""
    text, span = "", (0, 0)
    for literal, field, _, _ in string.Formatter().parse(pattern):
        text += literal
        if field == "place":
            span = (len(text), len(text) + len(place))
        text += {"item": item, "place": place}.get(field or "", "")
    return text, span


def tokens_of(span: Span, offsets: Sequence[Span]) -> list[int]:
    """Return which tokens hold a character of a span.

    Parameters
    ----------
    span : (int, int)
    offsets : sequence of (int, int)
        First character of each token and the one after its last; a token of no characters is special.
    """
    found = [token for token, (first, end) in enumerate(offsets) if first < span[1] and end > span[0] and first < end]
    if not found:
        raise InputError(f"The tokenizer gives no token for the characters {span[0]} to {span[1]} of a prompt.")
    return found
