"""Plan a probe: its trials, templates and item counts, and the prompts, tokens, time and money it will take.

No prompt is sent here, except by :func:`timed_workload`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary, question
from genlaws.models.interface import MODES, ProbeModel, Prompt, cache_name
from genlaws.probes.asking import ask
from genlaws.probes.domains import Domain, domain_of
from genlaws.probes.parameters import (
    PICTURE_TASKS,
    TASK,
    Anchors,
    HalfSeparations,
    Items,
    MaxTokens,
    Mode,
    PictureFolder,
    Price,
    Seed,
    Shifts,
    Task,
    TemplateChoice,
    TemplateSource,
    Trials,
)
from genlaws.probes.simulated import SimulatedModel
from genlaws.probes.store import ReplyStore
from genlaws.probes.templates import Template, VisionTemplate, prompt_of, template_of, vision_template_of
from genlaws.probes.trials import MAX_TRIALS, TRIAL_KINDS, ProbeTrial, draw_resolution_trials, draw_trials
from genlaws.probes.vision.scenes import VisionTrial, draw_vision_resolution_trials, draw_vision_trials

PICTURE_UNITS = {"shapes": "pixels", "colors": "degrees", "squares": "pixels"}
DEFAULT_ITEM_COUNTS = (2, 4, 8, 16)
PICTURE_ITEM_COUNTS = {"shapes": (2, 3, 4), "colors": (4, 6, 8, 10, 12), "squares": (4, 6, 8, 10, 12)}
# Half separations and shifts of the two-anchor test, as shares of the domain; for years 2, 5, 20 … and 5, 10, 20 ….
HALF_SEPARATION_SHARES = (0.0025, 0.00625, 0.025, 0.0625, 0.125, 0.25)
SHIFT_SHARES = (0.00625, 0.0125, 0.025, 0.05, 0.1, 0.2, 0.3)
PICTURE_HALF_SEPARATIONS = {"shapes": (200.0, 300.0), "colors": (10.0, 30.0, 60.0, 90.0), "squares": (100.0, 200.0)}
PICTURE_SHIFTS = {
    "shapes": (15.0, 30.0, 60.0, 120.0),
    "colors": (3.0, 5.0, 10.0, 20.0, 40.0),
    "squares": (15.0, 30.0, 60.0, 120.0),
}
LETTERS_PER_TOKEN = 4.0  # of English text, where the model's own tokens are not known
TIMED_PROMPTS = 4  # sent to measure how long one takes
MILLION = 1e6
MINUTE_SECONDS, HOUR_SECONDS = 60.0, 3600.0
MAX_SHOWN_PROMPTS = 3


@dataclass(frozen=True)
class Example:
    """One trial with its prompt and its answer.

    Attributes
    ----------
    kind, prompt : str
    chat : bool
        Whether the prompt is the message of a chat.
    options : tuple of str
    right : str
    answer : str
        The text, or the option with the largest probability and that probability, or why there is no answer; empty if
        the prompt was not sent.
    trial : VisionTrial or None
        What the picture shows, where there is one.
    """

    kind: str
    prompt: str
    chat: bool
    options: tuple[str, ...]
    right: str
    answer: str = ""
    trial: VisionTrial | None = None


@dataclass(frozen=True)
class Plan:
    """The trials of a probe and the template for them.

    Attributes
    ----------
    task : str
        A domain, ``table:FILE``, or one of the tasks with pictures.
    domain : Domain or None
        None for pictures.
    template : Template or VisionTemplate
    trials : tuple of trials
    item_counts : tuple of int
    seed : int
    """

    task: str
    domain: Domain | None
    template: Template | VisionTemplate
    trials: tuple[ProbeTrial | VisionTrial, ...]
    item_counts: tuple[int, ...]
    seed: int

    @property
    def pictures(self) -> bool:
        """Whether pictures are shown."""
        return self.domain is None

    @property
    def unit(self) -> str:
        """Of distances; empty where they have none."""
        return PICTURE_UNITS[self.task] if self.domain is None else self.domain.unit

    def prompts(self, numbers: Sequence[int] | None = None, *, drawn: bool = True) -> list[Prompt]:
        """Return the prompts of the trials with these numbers, or of all.

        Drawing a picture takes a few hundredths of a second; without ``drawn`` its number stands in its place, which is
        enough to count prompts and words.
        """
        chosen = range(len(self.trials)) if numbers is None else numbers
        return [self._prompt(self.trials[number], b"" if drawn else str(number).encode()) for number in chosen]

    def example(self, number: int, prompt: Prompt, answer: str = "") -> Example:
        """Return the trial of a number with its prompt and answer."""
        trial = self.trials[number]
        shown = trial if isinstance(trial, VisionTrial) else None
        return Example(trial.kind, prompt.text, prompt.chat, trial.items, trial.items[trial.right], answer, shown)

    def save_pictures(self, folder: str | os.PathLike[str]) -> None:
        """Write the pictures of the trials, and a table of what they show."""
        if not self.pictures:
            raise InputError(f"picture_folder needs a task with pictures; got {self.task}.")
        from genlaws.probes.vision.pictures import save_pictures  # noqa: PLC0415, needs Pillow

        save_pictures([trial for trial in self.trials if isinstance(trial, VisionTrial)], folder)

    def _prompt(self, trial: ProbeTrial | VisionTrial, instead: bytes) -> Prompt:
        if isinstance(trial, VisionTrial):
            from genlaws.probes.vision.pictures import vision_prompt  # noqa: PLC0415, needs Pillow

            words = self.template if isinstance(self.template, VisionTemplate) else "chat"
            return vision_prompt(trial, words, picture=instead or None)
        if self.domain is None or not isinstance(self.template, Template):
            raise InputError("A trial in text needs a domain and a template for text.")
        return prompt_of(trial, self.domain, self.template)


def plan_probe(
    task: str,
    item_counts: Sequence[int] | None = None,
    trial_count: int = 200,
    *,
    template: TemplateSource | None = None,
    kinds: Sequence[str] = TRIAL_KINDS,
    anchors: bool = True,
    half_separations: ArrayLike | None = None,
    shifts: ArrayLike | None = None,
    seed: int = 0,
) -> Plan:
    """Return the trials of a probe.

    The trials of one kind and number of items depend on the seed alone, not on the other trials and not on the
    template: templates are compared on the same trials, and a probe that is widened later finds its answers again.

    Parameters
    ----------
    item_counts, trial_count
        The `items` and `trials` of :func:`~genlaws.probes.probe.probe_model`.
    kinds : sequence of {"similarity", "identification"}
    task, template, anchors, half_separations, shifts, seed
        As there, with one template.
    """
    number = whole_number("trial_count", trial_count, at_least=1, at_most=MAX_TRIALS, hint="Each is a prompt.")
    whole_number("seed", seed)
    chosen = [one_of("kinds", kind, TRIAL_KINDS) for kind in kinds]
    domain = None if task in PICTURE_TASKS else domain_of(TASK.checked("task", task))
    words = _words(task, domain, template)
    counts = _counts(task, domain, item_counts)
    free = domain is None or not domain.own_places
    pairs = _anchor_pairs(task, domain, anchors and free, half_separations, shifts)
    trials: list[ProbeTrial | VisionTrial] = []
    for kind, count in product(chosen, counts):
        stream = np.random.default_rng([seed, TRIAL_KINDS.index(kind), count])
        if domain is None:
            trials += draw_vision_trials(PICTURE_TASKS[task], kind, count, number, stream)
        else:
            trials += draw_trials(domain, kind, count, number, seed=stream)
    if pairs is not None:
        each = -(-number // len(pairs[1]))
        stream = np.random.default_rng([seed, len(TRIAL_KINDS), 2])
        if domain is None:
            trials += draw_vision_resolution_trials(PICTURE_TASKS[task], *pairs, each, stream)
        else:
            trials += draw_resolution_trials(domain, *pairs, each, seed=stream)
    return Plan(task, domain, words, tuple(trials), counts, seed)


def plans_of(template: TemplateChoice, task: str, items: Items, trials: int, **rest: Any) -> list[Plan]:
    """Return the plan of the same trials for each of several templates; the rest is as in `plan_probe`."""
    named = template.split(",") if isinstance(template, str) else template
    every: list[Any] = list(named) if isinstance(named, list | tuple) else [named]
    sources = [one.strip() if isinstance(one, str) else one for one in every]
    plans = [plan_probe(task, items, trials, template=one, **rest) for one in sources]
    found = [plan.template.name for plan in plans]
    if len(set(found)) < len(found):
        raise InputError(f"template must name different templates; got {', '.join(found)}.")
    return plans


def _words(task: str, domain: Domain | None, template: TemplateSource | None) -> Template | VisionTemplate:
    """Return the given template, or the default one."""
    if domain is None and not isinstance(template, Template):
        return vision_template_of(PICTURE_TASKS[task], "chat" if template is None else template)
    if domain is not None and not isinstance(template, VisionTemplate):
        return template_of(domain, "list" if template is None else template)
    raise InputError("template must be one for text if the task is in text, and one for pictures otherwise.")


def _counts(task: str, domain: Domain | None, given: Sequence[int] | None) -> tuple[int, ...]:
    """Return the given numbers of items, or the default ones of the task."""
    if given is None and domain is None:
        return PICTURE_ITEM_COUNTS[task]
    if given is None and domain is not None:
        return tuple(n for n in DEFAULT_ITEM_COUNTS if n < min(len(domain.carriers), len(domain.places)))
    counts = tuple(sorted({whole_number("item_counts", count, at_least=2) for count in given or ()}))
    if not counts:
        raise InputError("item_counts must name at least one number of items; got none.")
    return counts


def _anchor_pairs(
    task: str, domain: Domain | None, wanted: bool, half_separations: ArrayLike | None, shifts: ArrayLike | None
) -> tuple[Array, Array] | None:
    """Return half separations and shifts of the two-anchor test; none where it is left out."""
    if not wanted:
        if half_separations is not None or shifts is not None:
            raise InputError(f"half_separations and shifts belong to the two-anchor test, which {task} does not have.")
        return None
    if domain is None:
        halves, away = np.array(PICTURE_HALF_SEPARATIONS[task]), np.array(PICTURE_SHIFTS[task])
    else:
        halves, away = _snapped(domain, HALF_SEPARATION_SHARES), _snapped(domain, SHIFT_SHARES)
    both = np.concatenate([-away[::-1], away])
    return (
        halves if half_separations is None else np.atleast_1d(np.asarray(half_separations, dtype=np.float64)),
        both if shifts is None else np.atleast_1d(np.asarray(shifts, dtype=np.float64)),
    )


def _snapped(domain: Domain, shares: Sequence[float]) -> Array:
    """Return shares of the domain as whole numbers of its steps, at least one."""
    step = float(np.diff(domain.places).min())
    steps = np.maximum(np.round(np.array(shares) * (domain.span + step) / step), 1.0)
    return np.unique(steps) * step


@runtime_checkable
class CountsTokens(Protocol):
    """A model that knows the tokens of a prompt, as one on this machine does."""

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """Return the tokens of a prompt up to where the answer begins."""


@dataclass(frozen=True)
class Workload:
    """The amount of work that is left.

    Attributes
    ----------
    different : int
        Different prompts of the probe.
    found : int
        Of these, those that are answered already.
    tokens_read, tokens_written : float
        By the model, for the prompts that are left; written tokens are those of the options, or of the longest words.
    counted : bool
        Whether tokens were counted with the model's own tokenizer; otherwise four letters count as one token.
    pictures : int
        Shown with them; not in the tokens.
    cost : float or None
        Of these tokens at the given prices; pictures are not included.
    seconds : float
        Estimated from a few prompts, or NaN.
    """

    different: int
    found: int
    tokens_read: float
    tokens_written: float
    counted: bool
    pictures: int
    cost: float | None = None
    seconds: float = math.nan

    @property
    def left(self) -> int:
        """Different prompts still to be sent."""
        return self.different - self.found

    def described(self) -> str:
        """Return the work in one sentence."""
        about = "" if self.counted else "about "
        parts = [f"{self.different:,} prompts"]
        parts += [f"{self.found:,} answered already"] if self.found else []
        parts += [f"{about}{self.tokens_read:,.0f} tokens to read, at most {self.tokens_written:,.0f} to write"]
        parts += [f"{self.pictures:,} pictures, which are not in the tokens"] if self.pictures else []
        parts += [f"about {_duration(self.seconds)}"] if math.isfinite(self.seconds) else []
        parts += [f"about {self.cost:,.2f} at the given price"] if self.cost is not None else []
        return "; ".join(parts) + "."


def _duration(seconds: float) -> str:
    if seconds < MINUTE_SECONDS:
        return f"{max(seconds, 1):.0f} s"
    if seconds < HOUR_SECONDS:
        return f"{seconds / MINUTE_SECONDS:.0f} min"
    return f"{seconds / HOUR_SECONDS:.1f} h"


def workload_of(
    model: ProbeModel,
    prompts: Sequence[Prompt],
    mode: str,
    *,
    store: ReplyStore | None = None,
    longest_reply: int = 16,
    price: ArrayLike | None = None,
) -> Workload:
    """Return how much work is left; no prompt is sent.

    Parameters
    ----------
    model : ProbeModel
    prompts : sequence of Prompt
    mode : {"probability", "text"}
    store : ReplyStore, optional
    longest_reply : int
        Most tokens of a reply in text mode.
    price : (float, float), optional
        Of a million tokens read and written.
    """
    one_of("mode", mode, MODES)
    left = _left(model, prompts, mode, store)
    different = len(set(prompts))
    written = longest_reply * len(left)
    if mode == "probability":
        written = round(sum(len(option) for prompt in left for option in prompt.options) / LETTERS_PER_TOKEN)
    read = float(sum(_tokens(model, prompt) for prompt in left))
    return Workload(
        different=different,
        found=different - len(left),
        tokens_read=read,
        tokens_written=float(written),
        counted=isinstance(model, CountsTokens),
        pictures=sum(len(prompt.images) for prompt in left),
        cost=None if price is None else float(np.dot(price, [read, written])) / MILLION,
    )


def timed_workload(
    model: ProbeModel,
    prompts: Sequence[Prompt],
    mode: str,
    *,
    store: ReplyStore | None = None,
    longest_reply: int = 16,
    price: ArrayLike | None = None,
) -> Workload:
    """Return how much work is left with the time it may take, measured on a few prompts of all lengths.

    Their answers go into the store, where there is one.
    """
    options: dict[str, Any] = {"store": store, "longest_reply": longest_reply, "price": price}
    before = workload_of(model, prompts, mode, **options)
    left = _left(model, prompts, mode, store)
    if len(left) <= TIMED_PROMPTS:
        return before
    left.sort(key=lambda prompt: len(prompt.text))
    some = [left[int(place)] for place in np.linspace(0, len(left) - 1, TIMED_PROMPTS + 2)[1:-1]]
    ask(model, some[:1], mode, store=store)  # the first pass of a network also sets it up
    start = time.monotonic()
    ask(model, some[1:], mode, store=store)
    per_token = (time.monotonic() - start) / sum(_tokens(model, prompt) for prompt in some[1:])
    after = workload_of(model, prompts, mode, **options)
    return replace(after, seconds=per_token * after.tokens_read)


def _left(model: ProbeModel, prompts: Sequence[Prompt], mode: str, store: ReplyStore | None) -> list[Prompt]:
    """Return the different prompts that have no answer in the store."""
    name = cache_name(model)
    return [one for one in dict.fromkeys(prompts) if store is None or store.find(name, mode, one) is None]


def _tokens(model: ProbeModel, prompt: Prompt) -> float:
    if isinstance(model, CountsTokens):
        return float(len(model.prompt_tokens(prompt)))
    return max((len(prompt.system) + len(prompt.text)) / LETTERS_PER_TOKEN, 1.0)


@dataclass(frozen=True)
class TemplatePreview:
    """A few prompts of one template, and the work.

    Attributes
    ----------
    template : str
    prompts : tuple of Example
        The first trial of each kind, and more of the first kind.
    workload : Workload
    """

    template: str
    prompts: tuple[Example, ...]
    workload: Workload


@dataclass(frozen=True, eq=False, repr=False)
class ProbePreview(Result):
    """What a probe would send.

    Attributes
    ----------
    templates : tuple of TemplatePreview
    """

    templates: tuple[TemplatePreview, ...]

    def summary(self) -> Summary:
        """Return the prompts, and the work for each template."""
        lines = []
        for one in self.templates:
            for shown in one.prompts:
                lines += [f"--- {one.template}, {shown.kind}{' (as a chat)' if shown.chat else ''}", shown.prompt]
                lines += [f"    answers: {', '.join(shown.options)}; right: {shown.right}", ""]
        rows = [Row(one.template, one.workload.described()) for one in self.templates]
        return Summary(rows, ("Nothing was sent to a model.",), headline=lines[:-1])

    def to_frame(self) -> DataFrame:
        """Return the work, one row for each template."""
        return frame_of([{"template": one.template, **asdict(one.workload)} for one in self.templates])

    def tables(self) -> dict[str, DataFrame]:
        """Return the work and the prompts."""
        names = ("kind", "chat", "prompt", "right")
        rows = [
            {"template": one.template} | {name: getattr(shown, name) for name in names}
            for one in self.templates
            for shown in one.prompts
        ]
        return {"workload": self.to_frame(), "prompts": frame_of(rows)}


@question
def preview_probe(
    task: Task = "years",
    *,
    items: Items = None,
    trials: Trials = 200,
    template: TemplateChoice = None,
    mode: Mode = None,
    anchors: Anchors = True,
    half_separations: HalfSeparations = None,
    shifts: Shifts = None,
    max_tokens: MaxTokens = 16,
    price: Price = None,
    picture_folder: PictureFolder = None,
    seed: Seed = 0,
) -> ProbePreview:
    """Show a few prompts of a probe and how much work it is; nothing is sent to a model.

    Parameters
    ----------
    task, items, trials, template, anchors, half_separations, shifts, picture_folder, seed
        As in :func:`~genlaws.probes.probe.probe_model`.
    mode : {"probability", "text"}, optional
    max_tokens : int
        Most tokens of a text reply.
    price : (float, float), optional
        Of a million tokens that are read and written.
    """
    counter = SimulatedModel(None, 1.0)  # counts characters; no prompt is sent
    chosen = {"anchors": anchors, "half_separations": half_separations, "shifts": shifts, "seed": seed}
    found = []
    plans = plans_of(template, task, items, trials, **chosen)
    if picture_folder is not None:
        plans[0].save_pictures(picture_folder)
    for plan in plans:
        prompts = plan.prompts(drawn=False)
        work = workload_of(counter, prompts, mode or "probability", longest_reply=max_tokens, price=price)
        shown = tuple(plan.example(number, prompts[number]) for number in _shown_trials(plan))
        found.append(TemplatePreview(plan.template.name, shown, work))
    return ProbePreview(tuple(found))


def _shown_trials(plan: Plan) -> list[int]:
    """Return the first trial of each kind, and more of the first kind to make three."""
    kinds = [trial.kind for trial in plan.trials]
    firsts = [kinds.index(kind) for kind in dict.fromkeys(kinds)]
    others = [number for number in range(len(kinds)) if number not in firsts]
    return (firsts + others)[:MAX_SHOWN_PROMPTS]
