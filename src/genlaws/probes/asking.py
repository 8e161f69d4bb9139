"""Send prompts to a model, skip those answered before, store every answer as it comes, and report what happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.running import Running, checked_running
from genlaws.models.interface import MODES, Keep, ProbeModel, Prompt, Reply, cache_name
from genlaws.probes.store import ReplyStore, fault_of, key_of


@runtime_checkable
class StreamingModel(Protocol):
    """A model that hands over each reply as soon as it has it, as one that waits for a server does."""

    def stream(self, prompts: Sequence[Prompt], mode: str, keep: Keep) -> None:
        """Call `keep` once for every prompt with its place, the reply and the attempts made, in any order."""


@dataclass(frozen=True)
class AskingReport:
    """Counts of the prompts of one call.

    Attributes
    ----------
    prompts : int
        All that were given; equal ones are sent once.
    different : int
        How many different ones.
    found : int
        Different ones whose answers were already in the store.
    sent : int
        Different ones sent to the model now: those answered and those that failed.
    answered : int
        Sent and answered; in the store, where there is one.
    attempts : int
        Number of attempts for those, repetitions included.
    failures : tuple of (str, int)
        The reasons why prompts were not answered and how many each, the most frequent first.
    """

    prompts: int
    different: int
    found: int
    sent: int
    answered: int
    attempts: int
    failures: tuple[tuple[str, int], ...]

    @property
    def failed(self) -> int:
        """How many different prompts have no answer."""
        return sum(number for _, number in self.failures)

    def __str__(self) -> str:
        line = f"{self.different} different prompts: {self.found} found in the store, {self.answered} answered now"
        if not self.failures:
            return f"{line}, none failed."
        return "\n".join([f"{line}, {self.failed} failed:", *(f"  {number} × {why}" for why, number in self.failures)])


def ask(
    model: ProbeModel,
    prompts: Sequence[Prompt],
    mode: str,
    *,
    store: ReplyStore | None = None,
    batch_size: int = 16,
    running: Running | None = None,
) -> list[Reply]:
    """Return a reply for each prompt, in order; the model gets only the prompts that are not in the store.

    Every answer is stored before the next one is awaited, so an interrupted call continues where it stopped.
    A reply with an error is returned but not stored: the next call sends the prompt again.

    Parameters
    ----------
    model : ProbeModel
    prompts : sequence of Prompt
    mode : {"probability", "text"}
        Request log-probabilities of the options, or text.
    store : ReplyStore, optional
    batch_size : int
        Prompts given to the model at once. A model that streams gets all of them, and the store is written to disk
        after this many answers.
    running : Running, optional
        Its steps are the prompts with a reply. After a stop, replies under way are still stored.
    """
    return ask_and_report(model, prompts, mode, store=store, batch_size=batch_size, running=running)[0]


def ask_and_report(
    model: ProbeModel,
    prompts: Sequence[Prompt],
    mode: str,
    *,
    store: ReplyStore | None = None,
    batch_size: int = 16,
    running: Running | None = None,
) -> tuple[list[Reply], AskingReport]:
    """Return the replies as `ask` does, and a report on the prompts."""
    one_of("mode", mode, MODES)
    size = whole_number("batch_size", batch_size, at_least=1)
    asking = _Asking(model, prompts, mode, store, size, checked_running(running))
    try:
        asking.run()
    finally:
        if store is not None:
            store.sync()
    return [asking.replies[key] for key in asking.keys], asking.report()


@dataclass
class _Asking:
    """One call of `ask`: which prompts are open, and the replies so far under the key of their prompt."""

    model: ProbeModel
    prompts: Sequence[Prompt]
    mode: str
    store: ReplyStore | None
    size: int
    running: Running

    def __post_init__(self) -> None:
        self.name = cache_name(self.model)
        self.keys = [key_of(self.name, self.mode, prompt) for prompt in self.prompts]
        self.times = Counter(self.keys)
        self.different = dict(zip(self.keys, self.prompts, strict=True))
        self.replies: dict[str, Reply] = {}
        self.attempts = 0
        if self.store is not None:
            held = {key: self.store.find(self.name, self.mode, prompt) for key, prompt in self.different.items()}
            self.replies = {key: reply for key, reply in held.items() if reply is not None}
        self.found = len(self.replies)
        self.open = [key for key in self.different if key not in self.replies]

    def run(self) -> None:
        """Send the open prompts."""
        self.running.start(len(self.keys), "prompts")
        if self.found:
            self._report(sum(self.times[key] for key in self.replies))
        prompts = [self.different[key] for key in self.open]
        if prompts and isinstance(self.model, StreamingModel):
            self.model.stream(prompts, self.mode, self._keep)
        else:
            for start in range(0, len(prompts), self.size):
                self._ask_batch(start, prompts[start : start + self.size])
        if len(self.replies) < len(self.different):
            raise InputError(f"{self.name} gave {len(self.replies) - self.found} replies to {len(prompts)} prompts.")

    def _ask_batch(self, start: int, prompts: list[Prompt]) -> None:
        given = self.model.score(prompts) if self.mode == "probability" else self.model.reply(prompts)
        if len(given) != len(prompts):
            raise InputError(f"{self.name} gave {len(given)} replies to {len(prompts)} prompts.")
        try:
            for place, reply in enumerate(given, start=start):
                self._keep(place, reply, 1)
        except BaseException:  # interrupted or stopped: store what is answered first
            self.running = Running()
            for place, reply in enumerate(given, start=start):
                self._keep(place, reply, 1)
            raise

    def _keep(self, place: int, reply: Reply, attempts: int) -> None:
        """Record a reply, in the store first."""
        key = self.open[place]
        prompt = self.different[key]
        if key in self.replies:
            return
        fault = fault_of(reply, self.mode, prompt)
        if fault:
            reply = replace(reply, error=fault)
        elif self.store is not None:
            self.store.add(self.name, self.mode, prompt, reply, attempts=attempts)
        self.replies[key] = reply
        self.attempts += attempts
        if self.store is not None and (len(self.replies) - self.found) % self.size == 0:
            self.store.sync()
        self._report(self.times[key])

    def _report(self, prompts: int) -> None:
        """Report prompts that got a reply; after a stop nothing more is reported, so that open replies are stored."""
        running, self.running = self.running, Running()
        running.advance(prompts)
        self.running = running

    def report(self) -> AskingReport:
        """Return the counts of the prompts."""
        reasons = Counter(reply.error for reply in self.replies.values() if reply.error)
        sent = len(self.open)
        return AskingReport(
            prompts=len(self.keys),
            different=len(self.different),
            found=self.found,
            sent=sent,
            answered=sent - sum(reasons.values()),
            attempts=self.attempts,
            failures=tuple(reasons.most_common()),
        )
