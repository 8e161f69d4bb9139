"""How much a probe will ask, before it asks: prompts, tokens, time and money."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from genlaws.numerics.arguments import one_of
from genlaws.semanticity.probes.asking import ask
from genlaws.semanticity.probes.models import ProbeModel, Prompt, kept_name
from genlaws.semanticity.probes.store import MODES, ReplyStore

LETTERS_PER_TOKEN = 4.0  # of English text, where the model's own tokens are not known
TIMED = 4  # prompts asked to learn how long one takes
MILLION = 1e6


@runtime_checkable
class CountsTokens(Protocol):
    """A model that knows the tokens of a prompt, as one on this machine does."""

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """Return the tokens of a prompt up to where the answer begins."""


@dataclass(frozen=True)
class Workload:
    """What is left to ask.

    Attributes
    ----------
    different : int
        Different prompts of the probe.
    found : int
        Of these, those that are answered already.
    tokens_read, tokens_written : float
        By the model, for the prompts that are left; written tokens are those of the options, or of the longest words.
    counted : bool
        Whether tokens were counted with the model's own tokenizer; otherwise one is taken for four letters.
    pictures : int
        Shown with them; not in the tokens.
    seconds : float
        Estimated from a few prompts, or NaN.
    """

    different: int
    found: int
    tokens_read: float
    tokens_written: float
    counted: bool
    pictures: int
    seconds: float = float("nan")

    @property
    def left(self) -> int:
        """Different prompts still to be asked."""
        return self.different - self.found

    def cost(self, per_million_read: float, per_million_written: float) -> float:
        """Return what it costs at these prices for a million tokens; pictures are not in it."""
        return (self.tokens_read * per_million_read + self.tokens_written * per_million_written) / MILLION


def workload_of(
    model: ProbeModel,
    prompts: Sequence[Prompt],
    mode: str,
    *,
    store: ReplyStore | None = None,
    longest_reply: int = 16,
) -> Workload:
    """Return how much is left to ask; nothing is asked.

    Parameters
    ----------
    model : ProbeModel
    prompts : sequence of Prompt
    mode : {"probability", "text"}
    store : ReplyStore, optional
    longest_reply : int
        Most tokens of a reply in words.
    """
    one_of("mode", mode, MODES)
    different = list(dict.fromkeys(prompts))
    name = kept_name(model)
    left = [prompt for prompt in different if store is None or store.find(name, mode, prompt) is None]
    written = longest_reply * len(left)
    if mode == "probability":
        written = round(sum(len(option) for prompt in left for option in prompt.options) / LETTERS_PER_TOKEN)
    return Workload(
        different=len(different),
        found=len(different) - len(left),
        tokens_read=float(sum(_tokens(model, prompt) for prompt in left)),
        tokens_written=float(written),
        counted=isinstance(model, CountsTokens),
        pictures=sum(len(prompt.images) for prompt in left),
    )


def timed_workload(
    model: ProbeModel,
    prompts: Sequence[Prompt],
    mode: str,
    *,
    store: ReplyStore | None = None,
    longest_reply: int = 16,
) -> Workload:
    """Return how much is left to ask with the time it may take, from a few prompts that are asked now.

    They are of all lengths, and their answers are kept in the store, where there is one.
    """
    before = workload_of(model, prompts, mode, store=store, longest_reply=longest_reply)
    name = kept_name(model)
    left = [one for one in dict.fromkeys(prompts) if store is None or store.find(name, mode, one) is None]
    if len(left) <= TIMED:
        return before
    left.sort(key=lambda prompt: len(prompt.text))
    some = [left[int(place)] for place in np.linspace(0, len(left) - 1, TIMED + 2)[1:-1]]
    ask(model, some[:1], mode, store=store)  # the first pass of a network also sets it up
    start = time.monotonic()
    ask(model, some[1:], mode, store=store)
    per_token = (time.monotonic() - start) / sum(_tokens(model, prompt) for prompt in some[1:])
    after = workload_of(model, prompts, mode, store=store, longest_reply=longest_reply)
    return replace(after, seconds=per_token * after.tokens_read)


def _tokens(model: ProbeModel, prompt: Prompt) -> float:
    if isinstance(model, CountsTokens):
        return float(len(model.prompt_tokens(prompt)))
    return max((len(prompt.system) + len(prompt.text)) / LETTERS_PER_TOKEN, 1.0)
