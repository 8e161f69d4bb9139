"""Probe a model: run a plan, and estimate how often the model is right and how fine its resolution is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from genlaws import models
from genlaws.core.arguments import one_of
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.core.estimate import Estimate, format_estimate
from genlaws.core.frames import DataFrame, stack_frames
from genlaws.core.plain import UNWRITTEN
from genlaws.core.result import Result, Row, Summary, question, text_table
from genlaws.core.running import Running, checked_running
from genlaws.models.interface import MODES, ProbeModel, Prompt, Reply, cache_name
from genlaws.probes import encoders
from genlaws.probes import layers as layer_modules
from genlaws.probes.asking import AskingReport, StreamingModel, ask_and_report
from genlaws.probes.collapse import Collapse, collapse_of
from genlaws.probes.layers.embeddings import Encoder
from genlaws.probes.layers.results import LayerTests
from genlaws.probes.outcomes import DISTANCE_KINDS, RecordedTrials, recorded
from genlaws.probes.parameters import (
    Anchors,
    BatchSize,
    HalfSeparations,
    Items,
    Layers,
    LayerTrials,
    MaxTokens,
    Mode,
    PictureFolder,
    Price,
    Seed,
    Shifts,
    Store,
    Task,
    TemplateChoice,
    Trials,
)
from genlaws.probes.plan import Example, Plan, plans_of, timed_workload
from genlaws.probes.rates import TEST_LABELS, DistanceCurve, TrialRates, above_chance, distance_curve, rates_of
from genlaws.probes.resolution import ResolutionCurve, ResolutionFit, fit_resolution, resolution_curve
from genlaws.probes.store import ReplyStore

SMOOTH_SHAPES = ("exponential", "gaussian", "power-law")  # shapes whose fits take seconds
MAX_EXAMPLES = 3
RETRY_NOTE = "The same command with the same --out repeats only these prompts."
REREADING_NOTE = (
    "This model cannot continue from a cached prompt, so the prompt is read again for each answer and each new word: "
    "the same numbers, in more time."
)


@dataclass(frozen=True)
class LocalModel:
    """A language or vision model on this machine; a probe loads it after its trials are planned.

    Attributes
    ----------
    source : str
        A Hugging Face id, a folder, a ``.gguf`` file, or the name of a package with a model.
    device : str
        As torch names it.
    dtype : {"float32", "bfloat16", "float16"}
    batch_size : int
        Prompts read together, at most.
    download : bool
        Whether an id may be downloaded.
    temperature : float
        Of text replies; 0 is greedy.
    max_tokens : int
        Most tokens of a text reply.
    seed : int
        Of replies at a temperature.
    """

    source: str
    device: str = "cpu"
    dtype: str = "float32"
    batch_size: int = 16
    download: bool = False
    temperature: float = 0.0
    max_tokens: int = 16
    seed: int = 0

    def load(self, pictures: bool = False) -> ProbeModel:
        """Return the loaded model, with its reader of pictures if they are wanted."""
        settings: dict[str, Any] = {
            "device": self.device,
            "dtype": self.dtype,
            "local_files_only": not self.download,
            "batch_size": self.batch_size,
            "max_new_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
        }
        if pictures:
            return models.vision.VisionModel.load(self.source, **settings)
        return models.language.TransformersModel.load(self.source, **settings)

    def encoder(self, kind: str, pooling: str) -> Encoder:
        """Return its encoder of texts or pictures; see :func:`~genlaws.probes.encoders.load.load_encoder`."""
        return encoders.load.load_encoder(
            self.source,
            kind=kind,
            device=self.device,
            dtype=self.dtype,
            local_files_only=not self.download,
            pooling=pooling,
            batch_size=self.batch_size,
        )


@dataclass(frozen=True)
class TemplateResult:
    """What the answers to one template show.

    Attributes
    ----------
    template : str
        Its name.
    wording : dict
        Its parts.
    trial_count : int
    above_chance : Estimate
        How far the answers are above guessing, all trials together.
    rates : TrialRates
        Generalization and identification for each number of items.
    resolution : ResolutionFit
    collapse : Collapse
        Identification against the number of items.
    curve : ResolutionCurve or None
        The two-anchor test; None where it was left out, and for pictures.
    distances : DistanceCurve
        How the answers get worse with the distance of the right one.
    examples, unread : tuples of Example
        The first trial of each kind, and the first replies that could not be read.
    layers : LayerTests or None
        Both tests in every layer, where requested.
    given : RecordedTrials or None
        All trials with their answers; not written.
    asking : AskingReport or None
        Counts of the prompts; not written.
    """

    template: str
    wording: dict[str, str | bool]
    trial_count: int
    above_chance: Estimate
    rates: TrialRates
    resolution: ResolutionFit
    collapse: Collapse
    curve: ResolutionCurve | None
    distances: DistanceCurve
    examples: tuple[Example, ...]
    unread: tuple[Example, ...]
    layers: LayerTests | None = None
    given: RecordedTrials | None = field(default=None, metadata=UNWRITTEN)
    asking: AskingReport | None = field(default=None, metadata=UNWRITTEN)

    def tables(self) -> dict[str, DataFrame]:
        """Return its tables by name, each with the template as the first column."""
        parts: dict[str, Any] = {"rates": self.rates, "resolution": self.resolution, "collapse": self.collapse}
        parts |= {"distances": self.distances, "trials": self.given, "anchors": self.curve, "layers": self.layers}
        tables = {name: part.to_frame() for name, part in parts.items() if part is not None}
        if self.layers is not None:
            tables["layer_curves"] = self.layers.curves_frame()
        for table in tables.values():
            table.insert(0, "template", self.template)
        return tables

    def rows(self) -> list[Row]:
        """Return the fitted numbers, and how often replies were lost or unread."""
        above = Row("above chance, all trials", format_estimate(self.above_chance), "likewise, over every test")
        return [*self.resolution.summary().rows, above, *self.collapse.summary().rows, *self.rates.rows()]


@dataclass(frozen=True, eq=False, repr=False)
class ProbeResult(Result):
    """The result of a probe.

    Attributes
    ----------
    model : str
        The model and every setting that changes an answer.
    task, unit : str
        What the questions are about, and the unit of its distances.
    mode : {"probability", "text"}
    seed : int
    templates : tuple of TemplateResult
        As they were given, all with the same trials.
    """

    drawn_by = "genlaws.figures.semanticity.probe:probe_pictures"
    page_by = "genlaws.report.probe:probe_page"

    model: str
    task: str
    unit: str
    mode: str
    seed: int
    templates: tuple[TemplateResult, ...]

    @property
    def ordered(self) -> tuple[TemplateResult, ...]:
        """The templates by how far their answers are above chance, the best first; one without any reply is last."""
        values = [np.nan_to_num(one.above_chance.value, nan=-np.inf) for one in self.templates]
        return tuple(self.templates[place] for place in np.argsort(-np.array(values), kind="stable"))

    def summary(self) -> Summary:
        """Return both tests by number of items, the fits, and what they can be trusted for."""
        several = len(self.templates) > 1
        cells = [("template", "items", *TEST_LABELS.values(), "chance")]
        cells += [(one.template, *row) for one in self.templates for row in one.rates.both_tests()]
        tables, rows, sentences, failures = [text_table(cells)], [], [], []
        for one in self.templates:
            label = f"{one.template}: " if several else ""
            rows += [Row(f"{label}{row.label}", row.value, "" if several else row.meaning) for row in one.rows()]
            tables += [str(one.layers)] if one.layers is not None else []
            found = (one.resolution.message, one.collapse.message, str(one.asking or ""))
            sentences += [f"{label}{sentence}" for sentence in found if sentence]
            failures += [f"Attention: {label}{one.rates.failure} {RETRY_NOTE}"] if one.rates.failure else []
        if several:
            sentences.append(
                f"{self.ordered[0].template} is the furthest above chance; its interval does not account for the "
                f"choice among {len(self.templates)} templates."
            )
        return Summary(rows, sentences, table="\n\n".join(tables), headline=failures)

    def to_frame(self) -> DataFrame:
        """Return the rates, one row for each template, kind of trial and number of items."""
        return self.tables()["rates"]

    def tables(self) -> dict[str, DataFrame]:
        """Return rates, fits, answers by distance, single trials, and what else was measured."""
        every = [one.tables() for one in self.templates]
        names = dict.fromkeys(name for one in every for name in one)
        return {name: stack_frames(one[name] for one in every if name in one) for name in names}


@question
def probe_model(
    model: ProbeModel | LocalModel | str,
    *,
    task: Task = "years",
    items: Items = None,
    trials: Trials = 200,
    template: TemplateChoice = None,
    mode: Mode = None,
    anchors: Anchors = True,
    half_separations: HalfSeparations = None,
    shifts: Shifts = None,
    layers: Layers = False,
    layer_trials: LayerTrials = 200,
    batch_size: BatchSize = 16,
    max_tokens: MaxTokens = 16,
    price: Price = None,
    store: Store = None,
    picture_folder: PictureFolder = None,
    seed: Seed = 0,
    running: Running | None = None,
) -> ProbeResult:
    """Ask a language or vision model which item is nearest to a place, and which one is exactly there.

    The trials of one kind and number of items depend on the seed alone: templates are compared on the same trials, and
    a probe that is widened later finds its answers in the store.

    Parameters
    ----------
    model : ProbeModel, LocalModel or str
        A text is the source of a `LocalModel`.
    task : str
        In text: years, numbers, dates, temperatures, latitudes, letters, or ``table:FILE``. In pictures: shapes,
        colors, squares (numbered).
    items : sequence of int, optional
        Numbers of items. If not given, 2, 4, 8 and 16 as far as the domain allows; fewer for pictures.
    trials : int
        Of each kind and number of items; about as many for each half separation of the two-anchor test.
    template : str, path, template or a sequence of them, optional
        Names or JSON files, several in one text with commas; ``list`` for text and ``chat`` for pictures if not given.
    mode : {"probability", "text"}, optional
        Compare the probabilities of the answers, or read the text; the text of a server if not given, otherwise
        probabilities.
    anchors : bool
        Whether to add the two-anchor test. Items with places of their own (cities, a table) do not allow it.
    half_separations, shifts : arrays, optional
        Of the two-anchor test; shares of the domain if not given.
    layers : bool
        Whether to measure each layer as well; for language models on this machine.
    layer_trials : int
        Of each kind, in the layers.
    batch_size : int
        Prompts given to the model at once.
    max_tokens : int
        Most tokens of a text reply, for the estimate of the work; the model has a limit of its own.
    price : (float, float), optional
        Of a million tokens read and written, for the estimate of the work.
    store : ReplyStore or path, optional
        Where answers are stored and looked up; the file is made if it is not there.
    picture_folder : path, optional
        Where the pictures of the prompts are written before they are sent.
    seed : int
    running : Running, optional
        Its steps are the prompts with a reply. The expected work is its first note.

    Raises
    ------
    ConvergenceError
        If no prompt was answered.
    """
    shown = checked_running(running)
    chosen = {"anchors": anchors, "half_separations": half_separations, "shifts": shifts, "seed": seed}
    plans = plans_of(template, task, items, trials, **chosen)
    pictures = plans[0].pictures
    source = model
    if isinstance(model, str):
        source = LocalModel(model, batch_size=batch_size, max_tokens=max_tokens, seed=seed)
    if layers and (pictures or not (isinstance(source, LocalModel) or hasattr(source, "network"))):
        raise InputError("layers must be left out: they are read from a language model on this machine.")
    if picture_folder is not None:
        plans[0].save_pictures(picture_folder)
    probed: Any = source.load(pictures) if isinstance(source, LocalModel) else source
    how = mode or ("text" if isinstance(probed, StreamingModel) else "probability")
    with ExitStack() as stack:
        opened = ReplyStore(store) if isinstance(store, str | os.PathLike) else store
        if opened is not None and opened is not store:
            stack.enter_context(opened)
        planned = [(plan, plan.prompts()) for plan in plans]
        for note in _stored_notes(opened, probed):
            shown.note(note)
        if not getattr(probed, "shared_prefix" if pictures else "reads_text_once", True):
            shown.note(REREADING_NOTE)
        for plan, given in planned:
            work = timed_workload(probed, given, how, store=opened, longest_reply=max_tokens, price=price)
            shown.note(f"{plan.template.name}: {work.described()}")
        results = [
            run_probe(probed, plan, how, prompts=given, store=opened, batch_size=batch_size, running=shown)
            for plan, given in planned
        ]
    if all(one.rates.failed == one.trial_count for one in results):
        raise ConvergenceError(f"No prompt was answered, so there is no result. {results[0].rates.failure}", results)
    for one in results:
        if one.rates.failure:
            shown.note(f"{one.template}: {one.rates.failure}")
    if layers:
        measured: dict[str, Any] = {"domain": task, "trial_count": layer_trials, "seed": seed, "running": shown}
        read = layer_modules.tests.layer_tests
        results = [
            replace(one, layers=read(probed, template=plan.template, **measured))  # type: ignore[arg-type]  # of words
            for one, plan in zip(results, plans, strict=True)
        ]
    return ProbeResult(probed.name, task, plans[0].unit, how, seed, tuple(results))


def _stored_notes(store: ReplyStore | None, model: ProbeModel) -> list[str]:
    """Return which stored answers are not used, and which cannot be checked."""
    if store is None:
        return []
    found = store.notes(cache_name(model), at_server=isinstance(model, StreamingModel))
    return [f"{store.path.name}: {sentence}" for sentence in found]


def run_probe(
    model: ProbeModel,
    plan: Plan,
    mode: str = "probability",
    *,
    prompts: Sequence[Prompt] | None = None,
    store: ReplyStore | None = None,
    batch_size: int = 16,
    shapes: Sequence[str] = SMOOTH_SHAPES,
    replicates: int = 200,
    running: Running | None = None,
) -> TemplateResult:
    """Send the prompts of a plan to a model, and return what its answers show.

    Parameters
    ----------
    model : ProbeModel
    plan : Plan
    prompts : sequence of Prompt, optional
        Those of the plan, where they have been made already.
    mode, store, batch_size, running
        As in `probe_model`.
    shapes : sequence of str
        Similarities to compare; linear and constant ones take minutes.
    replicates : int
        Of the bootstrap of the resolution, in probability mode.
    """
    one_of("mode", mode, MODES)
    sent = plan.prompts() if prompts is None else prompts
    if len(sent) != len(plan.trials):
        raise InputError(f"prompts must be one for each of the {len(plan.trials)} trials; got {len(sent)}.")
    shown = checked_running(running)
    shown.start(len(sent), f"{plan.task}, {plan.template.name}")
    replies, report = ask_and_report(model, sent, mode, store=store, batch_size=batch_size, running=shown.part())
    given = recorded(plan.trials, replies, mode)
    options: dict[str, Any] = {"offsets": plan.pictures, "replicates": replicates, "seed": plan.seed}
    fit = fit_resolution(given, shapes=shapes, unit=plan.unit, **options)
    identified = given.of_kinds(("identification",))
    counts = np.unique(identified.take(~identified.failed).item_counts).tolist()
    predicted = fit.identification(given, counts) if counts and fit.determined else None
    kinds = list(given.kinds)
    firsts = [kinds.index(kind) for kind in dict.fromkeys(kinds)]
    unread = np.flatnonzero(given.unparsed)[:MAX_EXAMPLES].tolist()
    return TemplateResult(
        template=plan.template.name,
        wording=asdict(plan.template),
        trial_count=len(plan.trials),
        above_chance=above_chance(given),
        rates=rates_of(given),
        resolution=fit,
        collapse=collapse_of(given, predicted=predicted),
        curve=None if plan.pictures or "resolution" not in given.kinds else resolution_curve(given),
        distances=_distances(given),
        examples=tuple(plan.example(number, sent[number], _answer(given, replies, number)) for number in firsts),
        unread=tuple(plan.example(number, sent[number], _answer(given, replies, number)) for number in unread),
        given=given,
        asking=report,
    )


def _distances(given: RecordedTrials) -> DistanceCurve:
    """Return the answers by distance; a curve without points where no test of nearness got a reply."""
    chosen = given.of_kinds(DISTANCE_KINDS)
    return DistanceCurve((), int(chosen.failed.sum())) if chosen.failed.all() else distance_curve(given)


def _answer(given: RecordedTrials, replies: Sequence[Reply], number: int) -> str:
    """Return the answer to a trial as text, or why there is none."""
    reply, scores = replies[number], given.scores[number]
    if reply.error:
        return reply.error
    if scores is not None:
        return f"{given.trials[number].items[int(given.chosen[number])]} ({scores.max():.3f})"
    return reply.text or ""
