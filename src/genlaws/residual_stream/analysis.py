"""One call from a model and texts to every measure of its residual stream, with surrogates and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from genlaws import models
from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.running import Running, checked_running
from genlaws.models.stream import Positions, Stream
from genlaws.models.texts import Tokens, tokenize
from genlaws.residual_stream.measure_groups import (
    PATH_SURROGATES,
    STREAM_MEASURES,
    TELEPORT_PROMPT,
    Disturbed,
    RecordedStream,
    measure_compression,
    measure_perturbation,
    measured,
    perturbation_work,
)
from genlaws.residual_stream.measures.estimators import ESTIMATORS
from genlaws.residual_stream.measures.reducers import text_numbers
from genlaws.residual_stream.results import Analysis
from genlaws.residual_stream.surrogates.kinds import SUPPLIED_SURROGATES
from genlaws.residual_stream.verdicts import claims_of

if TYPE_CHECKING:
    from torch import nn

    from genlaws.models.capture import Capture

MEASURES = (*STREAM_MEASURES, "compression", "perturbation")
DEFAULT_MEASURES = tuple(name for name in MEASURES if name != "compression")  # without the one that trains a network
SURROGATE_NAMES = (*PATH_SURROGATES, *SUPPLIED_SURROGATES)
REFERENCE_MEASURES = ("paths", "correlations", "dimensions", "rotations")
MODEL_LABEL = "the model"


def analyze(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[str],
    *,
    name: str = "",
    measures: Sequence[str] = DEFAULT_MEASURES,
    surrogates: Sequence[str] = SURROGATE_NAMES,
    position: Positions = "last",
    strip: bool = True,
    batch_size: int = 8,
    max_tokens: int | None = None,
    estimators: Sequence[str] = ("copula",),
    surrogate_draws: int = 200,
    seed: int = 0,
    jobs: int = 1,
    running: Running | None = None,
) -> Analysis:
    """Record the residual stream of texts, measure it, and compare each measure with surrogates.

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
    surrogate_draws : int >= 2
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
    chosen_measures, chosen_surrogates, chosen_estimators = _known_names(measures, surrogates, estimators)
    whole_number("surrogate_draws", surrogate_draws, at_least=2)

    shown = checked_running(running)
    limits: dict[str, Any] = {"max_tokens": max_tokens, "context": models.capture.context_length(model, tokenizer)}
    tokens = tokenize(tokenizer, texts, strip=strip, **limits)
    reading: dict[str, Any] = {"batch_size": batch_size, "position": position, "running": shown.part()}
    read_models, captures = _record_streams((model, tokenizer), tokens, chosen_surrogates, shown, seed=seed, **reading)
    whole = captures[MODEL_LABEL]
    found = analyze_stream(
        whole.stream,
        texts=whole.text_numbers,
        name=name,
        measures=chosen_measures,
        surrogates=chosen_surrogates,
        supplied={label: one.stream for label, one in captures.items() if label != MODEL_LABEL},
        estimators=chosen_estimators,
        draws=surrogate_draws,
        seed=seed,
        jobs=jobs,
        running=shown,
    )
    messages = (*whole.messages, *found.messages)
    found = replace(found, identity=whole.identity, identity_error=whole.identity_error, messages=messages)
    if "perturbation" in chosen_measures:
        prompt = tokenize(tokenizer, [TELEPORT_PROMPT], **limits)
        given = {
            label: Disturbed(one, tokens, prompt, captures[label].stream, seed) for label, one in read_models.items()
        }
        found = _add_perturbation(found, given, shown)
    return replace(found, claims=claims_of(found))


def _record_streams(
    loaded: tuple[nn.Module, Any],
    tokens: Tokens,
    surrogates: Sequence[str],
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


def analyze_stream(
    stream: Stream,
    *,
    texts: ArrayLike | None = None,
    name: str = "",
    measures: Sequence[str] = DEFAULT_MEASURES,
    surrogates: Sequence[str] = SURROGATE_NAMES,
    supplied: Mapping[str, Stream] | None = None,
    estimators: Sequence[str] = ("copula",),
    draws: int = 200,
    seed: int = 0,
    jobs: int = 1,
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
        As in `analyze`, where draws are called surrogate_draws.
    """
    chosen_measures, chosen_surrogates, chosen_estimators = _known_names(measures, surrogates, estimators)
    whole_number("jobs", jobs, at_least=1)
    others = dict(supplied or {})
    numbers = text_numbers(texts, stream.text_count)
    shown = checked_running(running)
    own = tuple(one for one in chosen_surrogates if one not in SUPPLIED_SURROGATES)
    given = RecordedStream(stream, numbers, own, others, chosen_estimators, draws, seed, jobs)
    references = {
        label: _measure_reference(label, replace(given, stream=one, surrogates=(), supplied={}), chosen_measures, shown)
        for label, one in others.items()
    }
    fields, messages = _measure_with_progress(given, chosen_measures, shown, MODEL_LABEL)
    if "compression" in chosen_measures:
        more, notes = measure_compression(given, running=shown)
        fields, messages = fields | more, messages + notes
    found = Analysis(
        **_description(given, name, chosen_measures, chosen_surrogates),
        messages=tuple(dict.fromkeys(one for one in messages if one)),
        references=references,
        **fields,
    )
    return replace(found, claims=claims_of(found))


def _known_names(*named: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return measures, surrogates and estimators, each name known and given once."""
    known = {"measures": MEASURES, "surrogates": SURROGATE_NAMES, "estimators": tuple(ESTIMATORS)}
    found = []
    for (label, allowed), given in zip(known.items(), named, strict=True):
        if isinstance(given, str):
            raise InputError(f"{label} must be a sequence of names; got the text {given!r}.")
        found.append(tuple(dict.fromkeys(one_of(label, one, allowed) for one in given)))
    if not found[0]:
        raise InputError(f"measures must name at least one of {', '.join(MEASURES)}; got none.")
    return tuple(found)


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


def _measure_with_progress(
    given: RecordedStream, measures: Sequence[str], shown: Running, label: str
) -> tuple[dict[str, Any], list[str]]:
    """Measure a stream and report each finished measure."""
    shown.start(sum(name in measures for name in STREAM_MEASURES), f"measures, {label}")
    return measured(given, measures, shown)


def _measure_reference(label: str, given: RecordedStream, measures: Sequence[str], shown: Running) -> Analysis:
    """Return the quick measures of a reference stream."""
    quick = tuple(name for name in REFERENCE_MEASURES if name in measures)
    fields, messages = _measure_with_progress(given, quick, shown, label)
    return Analysis(**_description(given, label, quick, ()), messages=tuple(dict.fromkeys(messages)), **fields)


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
