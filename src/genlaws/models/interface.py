"""What a model is to a probe: something that answers prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from genlaws.core.arguments import Array

MODES = ("probability", "text")


@dataclass(frozen=True)
class Prompt:
    """One question to a model.

    Attributes
    ----------
    text : str
        The prompt up to where the answer begins; as a chat, what the user says.
    options : tuple of str
        The answers among which probabilities are compared.
    system : str
        What a chat is told first; empty for none.
    chat : bool
        Whether the model's chat template is to be used.
    answer_prefix : str
        What stands between prompt and answer, such as a space; part of the answer's tokens.
    images : tuple of bytes
        Pictures shown with a chat, as PNG.
    """

    text: str
    options: tuple[str, ...]
    system: str = ""
    chat: bool = False
    answer_prefix: str = " "
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Attributes
    ----------
    text : str or None
        Its words, where they were asked for.
    log_probabilities : array of shape (options,), or None
        Of each option's tokens given the prompt, where they were asked for; not normalized over the options.
    error : str
        Why there is neither; empty otherwise.
    """

    text: str | None = None
    log_probabilities: Array | None = None
    error: str = ""


Keep = Callable[[int, Reply, int], None]


class ProbeModel(Protocol):
    """A model that can be probed.

    It may have an ``identity``, a text that changes with its weights and settings and not with the place of its files;
    answers are then kept under that instead of under the name.
    """

    @property
    def name(self) -> str:
        """What identifies the model and all its settings that change an answer."""

    def score(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return log-probabilities of the options of each prompt."""

    def reply(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the words each prompt is answered with."""


def kept_name(model: ProbeModel) -> str:
    """Return what the answers of a model are kept under: its identity, or its name where it has none."""
    return str(getattr(model, "identity", None) or model.name)
