"""Generalization and identification along the residual stream: which writes increase either.

Two systems meet here. The residual stream of a transformer is read before and after every write of its attention and
its MLPs (:cite:p:`fernando2025`); at each of these sites the states of a set of stimuli are measured as a
representation (:cite:p:`nurisso2026`). Neither of the two papers studies what a single write does to either test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.parameters import Parameter
from genlaws.core.result import question
from genlaws.core.running import Running, checked_running
from genlaws.models.capture import Capture, capture_texts
from genlaws.models.stream import Stream
from genlaws.models.untrained import random_weights
from genlaws.probes.encoders.stimuli import EmbeddingStimuli
from genlaws.probes.layers.embeddings import AS_LOADED
from genlaws.probes.parameters import CONTROLS, PERMUTED, UNTRAINED
from genlaws.probes.stream.result import (
    MeasureSettings,
    Rows,
    StreamSemanticity,
    informative_sites,
    measure_conditions,
)
from genlaws.semanticity.measurement.stimuli import SIMILARITIES, Compare
from genlaws.semanticity.parameters import Bandwidth, Fronts, Intervals, Memory, Threshold, Ties, TieTolerance

POSITIONS = ("last", "mean")

TEXTS_PER_CAPTURE = 64  # whose tokens are in memory until their mean is taken
STATE_SIMILARITIES = tuple(name for name in SIMILARITIES if name != "precomputed")


def _state_similarity(name: str, value: Any, hint: str = "") -> str | Compare:
    """Return a function, or the name of a similarity of states."""
    return value if callable(value) else one_of(name, value, STATE_SIMILARITIES, hint)


StatePosition = Annotated[str, Parameter("State of the last token, or mean over the tokens.", choices=POSITIONS)]
StateSimilarity = Annotated[
    str | Compare, Parameter(f"One of {', '.join(STATE_SIMILARITIES)}.", check=_state_similarity)
]
Center = Annotated[bool, Parameter("Subtract the mean over stimuli at each site.")]
Controls = Annotated[str | Sequence[str], Parameter("Controls to compare with.", choices=CONTROLS, listed=True)]
Seed = Annotated[int, Parameter("Seed of the permutation, the random weights and the bootstrap.", check=whole_number)]
BatchSize = Annotated[int, Parameter("Texts read together, at most.", check=partial(whole_number, at_least=1))]


@question
def stream_semanticity(
    model: Any,
    tokenizer: Callable[..., Any],
    stimuli: EmbeddingStimuli,
    *,
    position: StatePosition = "last",
    similarity: StateSimilarity = "cosine",
    center: Center = True,
    controls: Controls = CONTROLS,
    bandwidth: Bandwidth = None,
    threshold: Threshold = None,
    ties: Ties = "split",
    tie_tolerance: TieTolerance = None,
    intervals: Intervals = True,
    fronts: Fronts = True,
    memory: Memory = 1.0,
    seed: Seed = 0,
    batch_size: BatchSize = 16,
    name: str = "",
    running: Running | None = None,
) -> StreamSemanticity:
    """Measure a set of stimuli at every site of a model's residual stream, and what each write changes.

    Parameters
    ----------
    model : torch.nn.Module
        A decoder or encoder of transformers, as :func:`~genlaws.models.capture.capture_texts` takes it.
    tokenizer : object
        Of transformers.
    stimuli : EmbeddingStimuli
        In words, such as :func:`~genlaws.probes.encoders.stimuli.word_stimuli` gives them.
    position : {"last", "mean"}
        The state of the last token of each text before any closing mark, or the mean over all its tokens but the marks.
    similarity : str or callable
        As :func:`~genlaws.semanticity.measurement.measure.measure` takes it, but for ``precomputed``.
    center : bool
        Whether the mean over the stimuli is subtracted at each site first. The stream holds a few units that are large
        and nearly the same for all texts; with them all cosines are close to 1 and both tests close to one half.
    controls : {"permuted", "random weights"}, both of them, or none
        See `StreamSemanticity <genlaws.probes.stream.result.StreamSemanticity>`; controls have no fronts.
    bandwidth, threshold, ties, tie_tolerance, intervals, fronts, memory :
        As :func:`~genlaws.semanticity.measurement.measure.measure` takes them.
    seed : int
        Of the permutation, the random weights and the bootstrap of resolutions.
    batch_size : int
        Texts of one pass.
    name : str, optional
        What the model is called; taken from its configuration if not given.
    running : Running, optional
        Its steps are first the texts that are read, then the sites that are measured.

    Notes
    -----
    Intervals are for other stimuli of the same kind, with the subtracted mean (and a chosen threshold or bandwidth)
    held fixed. They do not cover other phrases around the same places, other random weights or other permutations.
    In post-norm blocks (BERT and the like) a write comes with the LayerNorm after it, and the change is that of both.
    """
    if stimuli.kind != "text":
        raise InputError("stimuli must be words; a language model reads no pictures.")
    shown = checked_running(running)
    shown.start((1 + (UNTRAINED in controls)) * len(stimuli), f"states, {stimuli.name}")
    how = {"batch_size": batch_size, "running": shown.part()}
    read, messages = _read(model, tokenizer, stimuli, position, **how)
    untrained = None
    if UNTRAINED in controls:
        fresh = random_weights(model, seed)
        untrained = _read(fresh, tokenizer, stimuli, position, **how)[0].stream
    found = measure_stream(
        read.stream,
        stimuli,
        similarity=similarity,
        center=center,
        permuted=PERMUTED in controls,
        untrained=untrained,
        bandwidth=bandwidth,
        threshold=threshold,
        ties=ties,
        tie_tolerance=tie_tolerance,
        intervals=intervals,
        fronts=fronts,
        memory=memory,
        seed=seed,
        name=name or _name(model),
        running=shown,
    )
    return replace(
        found,
        position=position,
        identity=read.identity,
        identity_error=read.identity_error,
        messages=(*messages, *found.messages),
    )


@question
def measure_stream(
    stream: Stream,
    stimuli: EmbeddingStimuli,
    *,
    similarity: StateSimilarity = "cosine",
    center: Center = True,
    permuted: bool = True,
    untrained: Stream | None = None,
    bandwidth: Bandwidth = None,
    threshold: Threshold = None,
    ties: Ties = "split",
    tie_tolerance: TieTolerance = None,
    intervals: Intervals = True,
    fronts: Fronts = True,
    memory: Memory = 1.0,
    seed: Seed = 0,
    name: str = "stream",
    running: Running | None = None,
) -> StreamSemanticity:
    """Measure a stream that was captured already, one row of states for each stimulus.

    Parameters
    ----------
    stream : Stream
        With all sites from the first to the last that is wanted; a write is the step from each site to the next.
    stimuli : EmbeddingStimuli
        In the order of the rows.
    permuted : bool
        Whether the states are also given to the wrong stimuli.
    untrained : Stream, optional
        The same texts in the same architecture with random weights.
    name : str
        What the stream is called.
    similarity, center, bandwidth, threshold, ties, tie_tolerance, intervals, fronts, memory, seed, running :
        As in `stream_semanticity`.
    """
    streams = {AS_LOADED: stream} | ({} if untrained is None else {UNTRAINED: untrained})
    for one in streams.values():
        if one.text_count != len(stimuli) or one.sites != stream.sites:
            raise InputError(
                f"stream must have one row for each of the {len(stimuli)} stimuli, and the same sites with random "
                f"weights; got {one.text_count} rows and {len(one.sites)} sites."
            )
    measured, messages = informative_sites(streams, len(stimuli))
    options: dict[str, Any] = {"bandwidth": bandwidth, "threshold": threshold, "items": (2,), "memory": memory}
    options |= {"ties": ties, "tie_tolerance": tie_tolerance, "intervals": intervals, "fronts": fronts}
    how = MeasureSettings(similarity, bool(center), seed, options)
    return StreamSemanticity(
        model=name,
        stimuli=stimuli.name,
        unit=stimuli.unit,
        stimulus_count=len(stimuli),
        position="given",
        similarity=similarity if isinstance(similarity, str) else getattr(similarity, "__name__", "user"),
        center=how.center,
        sites=tuple(stream.sites[place] for place in measured),
        conditions=measure_conditions(streams, measured, stimuli, how, permuted=permuted, running=running),
        identity="",
        identity_error=float("nan"),
        messages=messages,
    )


def _name(model: Any) -> str:
    config = getattr(model, "config", None)
    return str(getattr(config, "name_or_path", "")) or type(model).__name__


def _read(
    model: Any, tokenizer: Any, stimuli: EmbeddingStimuli, position: str, **how: Any
) -> tuple[Capture, tuple[str, ...]]:
    """Return one state of each stimulus at every site, and what to know of them."""
    texts = [str(one) for one in stimuli.contents]
    if position == "last":
        found = capture_texts(model, tokenizer, texts, position="last", **how)
        return found, found.messages
    starts = np.linspace(0, len(texts), -(-len(texts) // TEXTS_PER_CAPTURE) + 1).astype(int)
    parts = [
        capture_texts(model, tokenizer, texts[first:end], position="all", **how)
        for first, end in pairwise(starts.tolist())
    ]
    states = np.concatenate([_means(one) for one in parts])
    messages = tuple(dict.fromkeys(message for one in parts for message in (*one.messages, *_lengths(parts))))
    error = max(one.identity_error for one in parts)
    return replace(parts[0], stream=Stream(states, parts[0].sites), identity_error=error), messages


def _lengths(parts: Sequence[Capture]) -> list[str]:
    """Return a message if texts have different numbers of tokens, which affects a mean over tokens."""
    counts = np.concatenate([np.unique(one.text_numbers, return_counts=True)[1] for one in parts])
    if counts.min() == counts.max():
        return []
    return [
        f"Texts have from {counts.min()} to {counts.max()} tokens: a state that is the same in all of them, such as "
        "the large one of the first token of a decoder, enters the mean with a weight that depends on the length."
    ]


def _means(found: Capture) -> Rows:
    """Return the mean over the tokens of each text, at every site."""
    firsts = np.flatnonzero(np.diff(found.text_numbers, prepend=-1))
    counts = np.diff(firsts, append=len(found.text_numbers))
    return np.add.reduceat(found.stream.states, firsts, axis=0) / counts[:, None, None].astype(np.float32)
