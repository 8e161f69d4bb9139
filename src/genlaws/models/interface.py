"""The interface of a model that answers prompts: prompts, replies, and what a probe needs of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from genlaws.core.arguments import Array

MODES = ("probability", "text")
NO_PLAIN_PICTURES = "Pictures need a chat; use a chat template."


@dataclass(frozen=True)
class Prompt:
    """One question to a model.

    Attributes
    ----------
    text : str
        The prompt up to where the answer begins; in a chat, the message of the user.
    options : tuple of str
        The answers among which probabilities are compared.
    system : str
        System message of a chat; empty for none.
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
    """The answer of a model, or why there is none.

    Attributes
    ----------
    text : str or None
        Its text, in text mode.
    log_probabilities : array of shape (options,), or None
        Of each option's tokens given the prompt, in probability mode; not normalized over the options.
    error : str
        Why there is neither; empty otherwise.
    """

    text: str | None = None
    log_probabilities: Array | None = None
    error: str = ""


Keep = Callable[[int, Reply, int], None]


@runtime_checkable
class ProbeModel(Protocol):
    """A model that can be probed.

    It may have an ``identity``, a text that changes with its weights and settings and not with the place of its files;
    answers are then cached under that instead of under the name.
    """

    @property
    def name(self) -> str:
        """What identifies the model and all its settings that change an answer."""

    def score(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return log-probabilities of the options of each prompt."""

    def reply(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the text that answers each prompt."""


def cache_name(model: ProbeModel) -> str:
    """Return the name under which the answers of a model are cached: its identity, or its name if it has none."""
    return str(getattr(model, "identity", None) or model.name)
