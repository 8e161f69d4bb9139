"""One call from a model and texts to every measure of its residual stream, with surrogates and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from genlaws import models
from genlaws.core.errors import InputError
from genlaws.core.result import question
from genlaws.core.running import Running, checked_running
from genlaws.models.stream import Stream
from genlaws.models.texts import Tokens, tokenize
from genlaws.residual_stream.measure_groups import (
    TELEPORT_PROMPT,
    Disturbed,
    RecordedStream,
    measure_compression,
    measure_perturbation,
    measured,
    perturbation_work,
)
from genlaws.residual_stream.measures.reducers import text_numbers
from genlaws.residual_stream.parameters import (
    DEFAULT_MEASURES,
    MEASURES,
    SURROGATE_NAMES,
    BatchSize,
    Draws,
    InformationEstimators,
    MaxTokens,
    Measures,
    Names,
    Position,
    Seed,
    StreamName,
    Strip,
    Surrogates,
    TextNumbers,
    Threads,
)
from genlaws.residual_stream.results import Analysis, compact_fields
from genlaws.residual_stream.surrogates.kinds import SUPPLIED_SURROGATES
from genlaws.residual_stream.verdicts import claims_of

if TYPE_CHECKING:
    from torch import nn

    from genlaws.models.capture import Capture

REFERENCE_MEASURES = ("paths", "correlations", "dimensions", "rotations")
MODEL_LABEL = "the model"


@question
def analyze(
    model: Any,
    tokenizer: Callable[..., Any],
    texts: Sequence[str],
    *,
    name: StreamName = "",
    note: str = "",
    measures: Measures = DEFAULT_MEASURES,
    surrogates: Surrogates = SURROGATE_NAMES,
    position: Position = "last",
    strip: Strip = True,
    batch_size: BatchSize = 8,
    max_tokens: MaxTokens = None,
    estimators: InformationEstimators = ("copula",),
    draws: Draws = 200,
    seed: Seed = 0,
    jobs: Threads = 1,
    running: Running | None = None,
) -> Analysis:
    """Measure the residual stream of a model on texts, and judge the claims of "Transformer Dynamics".

    Parameters
    ----------
    model : torch.nn.Module
        A decoder or encoder from the transformers library, on its device; it is not modified.
    tokenizer : object
        From the transformers library.
    texts : sequence of str
        Texts that are not empty. Some measures need several texts; the messages report what could not be measured.
    name : str
        What the model is called in the result.
    note : str
        What to know of the texts, such as how they were chosen; the first of the messages.
    measures : names
        Of ``paths``, ``correlations``, ``information``, ``dimensions``, ``rotations``, ``dynamics``, ``compression``
        and ``perturbation``; all but ``compression``, which trains networks, if not given.
    surrogates : names
        Of ``random walk``, ``step signs``, ``phase-randomized``, ``layer shuffle``, ``basis rotation``,
        ``random weights`` and ``shuffled tokens``; all if not given.
    position : {"last", "all", "sample"}, int, Sample, or sequence
        Which tokens of each text are read. The perturbation always disturbs the last token.
    strip : bool
        Whether to remove white space at the end of each text; otherwise the last token of many texts is a line break.
    batch_size : int
        Texts per pass.
    max_tokens : int, optional
        Maximum number of tokens of a text; longer texts are truncated, and a message reports it.
    estimators : names
        Of mutual information: ``copula``, ``neighbors``, ``binned``, ``kernel``.
    draws : int >= 2
        Surrogates of each kind.
    seed : int
        Seed of all random numbers.
    jobs : int
        Threads for the mutual information.
    running : Running, optional
        Progress and cancellation only: the threads are those of `jobs`.

    Raises
    ------
    InputError
        Where the architecture is unknown, activations are not finite numbers, or an argument is wrong.
    """
    _check_measures(measures)
    shown = checked_running(running)
    limits: dict[str, Any] = {"max_tokens": max_tokens, "context": models.capture.context_length(model, tokenizer)}
    tokens = tokenize(tokenizer, texts, strip=strip, **limits)
    reading: dict[str, Any] = {"batch_size": batch_size, "position": position, "running": shown.part()}
    read_models, captures = _record_streams((model, tokenizer), tokens, surrogates, shown, seed=seed, **reading)
    whole = captures[MODEL_LABEL]
    found = analyze_stream(
        whole.stream,
        texts=whole.text_numbers,
        name=name,
        measures=measures,
        surrogates=surrogates,
        supplied={label: one.stream for label, one in captures.items() if label != MODEL_LABEL},
        estimators=estimators,
        draws=draws,
        seed=seed,
        jobs=jobs,
        running=shown,
    )
    messages = (*(one for one in [note] if one), *whole.messages, *found.messages)
    found = replace(found, identity=whole.identity, identity_error=whole.identity_error, messages=messages)
    if "perturbation" in measures:
        prompt = tokenize(tokenizer, [TELEPORT_PROMPT], **limits)
        given = {
            label: Disturbed(one, tokens, prompt, captures[label].stream, seed) for label, one in read_models.items()
        }
        found = _add_perturbation(found, given, shown)
    return replace(found, claims=claims_of(found))


def _record_streams(
    loaded: tuple[nn.Module, Any],
    tokens: Tokens,
    surrogates: Names,
    shown: Running,
    *,
    seed: int,
    **reading: Any,
) -> tuple[dict[str, nn.Module], dict[str, Capture]]:
    """Return the model and one with random weights, and the requested streams of both and of shuffled tokens."""
    model, tokenizer = loaded

    def record(one: nn.Module, read: Tokens, label: str) -> Capture:
        """Record a stream and report how many texts are done."""
        shown.start(len(read.ids), f"states, {label}")
        return models.capture.capture_texts(one, tokenizer, read, **reading)

    read_models, captures = {MODEL_LABEL: model}, {MODEL_LABEL: record(model, tokens, MODEL_LABEL)}
    random, shuffled = SUPPLIED_SURROGATES
    if random in surrogates:
        read_models[random] = models.untrained.random_weights(model, seed)
        captures[random] = record(read_models[random], tokens, random)
    if shuffled in surrogates:
        captures[shuffled] = record(model, tokens.shuffled(seed), shuffled)
    return read_models, captures


@question
def analyze_stream(
    stream: Stream,
    *,
    texts: TextNumbers = None,
    name: StreamName = "",
    measures: Measures = DEFAULT_MEASURES,
    surrogates: Surrogates = SURROGATE_NAMES,
    supplied: Mapping[str, Stream] | None = None,
    estimators: InformationEstimators = ("copula",),
    draws: Draws = 200,
    seed: Seed = 0,
    jobs: Threads = 1,
    running: Running | None = None,
) -> Analysis:
    """Measure a recorded stream, without the perturbation, which needs the model itself.

    Parameters
    ----------
    stream : Stream
    texts : whole numbers (rows,), optional
        Number of the text of each row, where a text has several.
    supplied : mapping from name to Stream, optional
        Streams of ``random weights`` or ``shuffled tokens``; without them these surrogates are left out.
    name, measures, surrogates, estimators, draws, seed, jobs, running
        As in `analyze`.
    """
    _check_measures(measures)
    others = dict(supplied or {})
    numbers = text_numbers(texts, stream.text_count)
    shown = checked_running(running)
    own = tuple(one for one in surrogates if one not in SUPPLIED_SURROGATES)
    given = RecordedStream(stream, numbers, own, others, tuple(estimators), draws, seed, jobs)
    references = {
        label: _measure_reference(label, replace(given, stream=one, surrogates=(), supplied={}), measures, shown)
        for label, one in others.items()
    }
    fields, messages = measured(given, measures, shown, MODEL_LABEL)
    if "compression" in measures:
        more, notes = measure_compression(given, running=shown)
        fields, messages = fields | more, messages + notes
    found = Analysis(
        **_description(given, name, tuple(measures), tuple(surrogates)),
        messages=tuple(dict.fromkeys(one for one in messages if one)),
        references=references,
        **fields,
        **compact_fields(fields),
    )
    return replace(found, claims=claims_of(found))


def _check_measures(measures: Names) -> None:
    if not measures:
        raise InputError(f"measures must name at least one of {', '.join(MEASURES)}; got none.")


def _description(
    given: RecordedStream, name: str, measures: tuple[str, ...], surrogates: tuple[str, ...]
) -> dict[str, Any]:
    """Return the fields that describe an analysis."""
    return {
        "model": name,
        "text_count": given.text_count,
        "row_count": given.stream.text_count,
        "sites": given.stream.sites,
        "identity": "",
        "identity_error": float("nan"),
        "seed": given.seed,
        "measures": measures,
        "surrogates": surrogates,
    }


def _measure_reference(label: str, given: RecordedStream, measures: Names, shown: Running) -> Analysis:
    """Return the quick measures of a reference stream."""
    quick = tuple(name for name in REFERENCE_MEASURES if name in measures)
    fields, messages = measured(given, quick, shown, label)
    description = _description(given, label, quick, ())
    return Analysis(**description, messages=tuple(dict.fromkeys(messages)), **fields, **compact_fields(fields))


def _add_perturbation(found: Analysis, given: Mapping[str, Disturbed], shown: Running) -> Analysis:
    """Add the perturbation of the model, and of the one with random weights, to an analysis."""
    references = dict(found.references)
    for label, one in given.items():
        own = label == MODEL_LABEL
        shown.start(perturbation_work(one, exponents=own), f"perturbation, {label}")
        fields, notes = measure_perturbation(one, exponents=own, running=shown)
        if own:
            found = replace(found, **fields, messages=(*found.messages, *notes))
        else:
            references[label] = replace(references[label], **fields)
    return replace(found, references=references)
