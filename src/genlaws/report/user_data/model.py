"""The reader's own model in the report: its residual stream beside a walk, verdicts, and what its sites tell apart."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genlaws.core.errors import InputError
from genlaws.figures.figure import Progress
from genlaws.models.capture import capture_texts
from genlaws.models.load import load_language_model
from genlaws.models.texts import WRITING, example_texts
from genlaws.models.untrained import random_weights
from genlaws.probes.encoders.load import load_encoder
from genlaws.probes.encoders.stimuli import word_stimuli
from genlaws.probes.encoders.text import TextEncoder
from genlaws.probes.stream.semanticity import stream_semanticity
from genlaws.render import Curve, Panel
from genlaws.render.copied_commands import with_new_file
from genlaws.render.walk_panels import neighbors_panel, shares_panel, sizes_panel, turns_panel
from genlaws.report.section import Section
from genlaws.report.sections.residual_stream import LAW, beyond_walk
from genlaws.residual_stream.analysis import analyze_stream
from genlaws.residual_stream.measures.curves import Curve as Measured
from genlaws.residual_stream.surrogates.walk_comparison import NORMAL, BesideWalk, beside_walk

if TYPE_CHECKING:
    from genlaws.models.stream import Stream
    from genlaws.probes.stream.result import StreamSemanticity
    from genlaws.residual_stream.results import Analysis

TEXTS = 60  # if the reader gives none
FEWEST_TEXTS = 4  # for intervals, and halves of texts
MEASURES = ("paths", "correlations", "dimensions", "rotations")
SURROGATES = ("random walk", "step signs", "basis rotation", "random weights")
DRAWS = 50
SMALL = 200_000_000  # weights up to which the model is also read with random weights and probed with years
YEARS = 60
BEFORE = "own-"


def own_model_section(model: str, texts: tuple[str, ...] | None, progress: Progress, seed: int) -> Section:
    """Measure a model's residual stream beside the walk with its steps, judge the claims, and probe it with years.

    Parameters
    ----------
    model : str
        A folder, a .gguf file, a Hugging Face id on this machine, ``smollm2`` or ``minilm``; nothing is downloaded.
    texts : tuple of str, optional
        At least four; sentences of our own if not given.
    progress : Progress
    seed : int
    """
    read = example_texts(TEXTS) if texts is None else texts
    if len(read) < FEWEST_TEXTS:
        raise InputError(f"texts must be at least {FEWEST_TEXTS}, so that numbers have intervals; got {len(read)}.")
    progress.start(5, "own model")
    network, tokenizer, name, loading = load_model(model)
    progress.advance()
    captured, small = _captured(network, tokenizer, read, seed), _weights(network) <= SMALL
    stream: Stream = captured["as it is"].stream
    beside = beside_walk(stream, seed=seed)
    progress.advance()
    others = {"random weights": captured["random weights"].stream} if small else {}
    options: dict[str, Any] = {"measures": MEASURES, "surrogates": SURROGATES, "draws": DRAWS, "seed": seed}
    found = analyze_stream(stream, name=name, supplied=others, **options)
    progress.advance()
    probed = _probed(network, tokenizer, name, seed) if small else None
    progress.advance(2)
    told = () if texts is not None else (f"Read with {len(read)} sentences of our own; give texts of yours for more.",)
    return Section(
        name="own-model",
        title="Your model",
        question=f"What does the residual stream of {name} show beyond a random walk?",
        law=LAW,
        panels=(*_panels(beside, name), *(() if probed is None else (_probe_panel(probed),))),
        numbers=(*_numbers(beside), *_verdicts(found), *_probe_numbers(probed)),
        findings=(*_findings(beside, found, name), *told, *captured["as it is"].messages),
        yours=_yours(found, small),
        python=python_lines(loading, texts, seed),
        command=analyze_command(model, texts, seed),
    )


LANGUAGE_MODEL = """from genlaws.models.load import load_language_model

network, tokenizer, _ = load_language_model({model!r}, "cpu", "float32", True)"""
ENCODER = """from genlaws.probes.encoders.load import load_encoder

encoder = load_encoder({model!r}, kind="text", local_files_only=True)
network, tokenizer = encoder.network, encoder.tokenizer"""
PYTHON = """from genlaws.residual_stream.surrogates.walk_comparison import beside_walk
from genlaws.models.capture import capture_texts
from genlaws.models.texts import example_texts
{loading}
texts = {texts}
read = capture_texts(network, tokenizer, list(texts), strip=True)
print(beside_walk(read.stream, seed={seed}).to_frame().to_string())"""


def python_lines(loading: str, texts: tuple[str, ...] | None, seed: int) -> str:
    """Return lines that measure the model beside its walk, on the same texts."""
    given = f"example_texts({TEXTS})" if texts is None else repr(texts)
    return PYTHON.format(loading=loading, texts=given, seed=seed)


def analyze_command(model: str, texts: tuple[str, ...] | None, seed: int) -> str:
    """Return a command that measures everything, on the same texts."""
    program = WRITING.format(count=TEXTS)
    if texts is not None:
        program = (
            f"import pathlib, sys; pathlib.Path(sys.argv[1]).write_text({chr(10).join(texts)!r}, encoding='utf-8')"
        )
    command = f'genlaws residual-stream analyze {shlex.quote(model)} --texts "$file" --seed {seed}'
    return with_new_file("texts.txt", program, command)


def load_model(model: str) -> tuple[Any, Any, str, str]:
    """Return a transformer of text with its tokenizer, its name and the lines of Python that load it.

    It is a language model, or an encoder.

    Parameters
    ----------
    model : str
        As for `own_model_section`.
    """
    try:
        network, tokenizer, source = load_language_model(model, "cpu", "float32", True)
        loading = LANGUAGE_MODEL
    except InputError:  # no language model: an encoder, or nothing, of which the second sentence is the better
        loading = ENCODER
        found = load_encoder(model, kind="text", local_files_only=True)
        if not isinstance(found, TextEncoder):
            raise InputError(
                f"model must be a transformer of text, which has a residual stream; {model} is none."
            ) from None
        network, tokenizer, source = found.network, found.tokenizer, found.source
    return network, tokenizer, Path(source).name, loading.format(model=model)


def _captured(network: Any, tokenizer: Any, texts: tuple[str, ...], seed: int) -> dict[str, Any]:
    """Return the stream of the model and, if it is small, of one with random weights."""
    models = {"as it is": network}
    if _weights(network) <= SMALL:
        models["random weights"] = random_weights(network, seed)
    return {name: capture_texts(one, tokenizer, list(texts), strip=True) for name, one in models.items()}


def _weights(network: Any) -> int:
    return sum(one.numel() for one in network.parameters())


def _probed(network: Any, tokenizer: Any, name: str, seed: int) -> StreamSemanticity:
    """Return generalization and identification of years at every site."""
    stimuli = word_stimuli("years", count=YEARS)
    return stream_semanticity(network, tokenizer, stimuli, controls=None, seed=seed, name=name, fronts=())


def _panels(beside: BesideWalk, name: str) -> tuple[Panel, ...]:
    """Return the four pictures of the model beside its walk."""
    walk = beside.walk
    sites = np.arange(walk.site_count, dtype=np.float64)
    steps = sites[:-1] + 0.5
    value, half = walk.path_shares(beside.units), NORMAL * walk.path_share_deviations(beside.units)
    numbers = np.arange(1, value.size + 1)
    ends = {"low": (value - half).tolist(), "high": np.minimum(value + half, 1.0).tolist()}
    band = Curve("walk, and 95 % of walks", "theory", numbers.tolist(), value.tolist(), "blue", **ends)

    def both(measured: Measured, exact: np.ndarray, x: np.ndarray, what: str, color: str) -> list[Curve]:
        """Return the line of the walk and the points of the model."""
        line = Curve(f"walk: {what}", "theory", x.tolist(), exact.tolist(), color)
        return [line, _points(f"{name}: {what}", x, measured, color)]

    return (
        neighbors_panel(
            [
                *both(beside.correlation, walk.correlation, steps, "r over texts", "blue"),
                _points(f"{name}: r, random axes", steps, beside.correlation_turned, "sky"),
                *both(beside.cosine, walk.cosine, steps, "cosine", "orange"),
            ],
            before=BEFORE,
        ),
        sizes_panel(
            both(beside.size, walk.size, sites, "state", "blue")
            + both(beside.step_size, walk.step_size, steps, "step", "orange"),
            before=BEFORE,
        ),
        shares_panel([band, _points(name, numbers, beside.shares, "blue")], before=BEFORE),
        turns_panel(both(beside.turns, walk.turns, sites[1:-1], "turns", "blue"), before=BEFORE),
    )


def _points(name: str, x: np.ndarray, found: Measured, color: str) -> Curve:
    value, low, high = (one.tolist() for one in (found.value, found.low, found.high))
    return Curve(name, "run", x[: len(value)].tolist(), value, color, low, high)


def _probe_panel(probed: StreamSemanticity) -> Panel:
    x = list(range(len(probed.sites)))
    curves = []
    for what, color in (("generalization", "green"), ("identification", "purple")):
        found = [getattr(one, what) for one in probed.measurements]
        low, high = [one.low for one in found], [one.high for one in found]
        curves.append(Curve(what, "run", x, [one.value for one in found], color, low, high))
    curves.append(Curve("chance", "chance", [x[0], x[-1]], [0.5, 0.5], "gray"))
    return Panel(
        f"{BEFORE}years",
        "What the sites know of years",
        "site",
        "probability of the right choice",
        tuple(curves),
        caption=f"{YEARS} years in a phrase, last token, centered cosine: generalization picks the nearer year, "
        "identification the very same. 95 % intervals over years. Years share digits, so a little "
        "generalization comes without any training.",
    )


def _numbers(beside: BesideWalk) -> list[tuple[str, str, str]]:
    walk, middle = beside.walk, (beside.walk.site_count - 1) // 2
    return [
        ("sites, units, texts", f"{walk.site_count}, {beside.units}, {beside.text_count}", "what was read"),
        (
            "r in the middle",
            f"walk {walk.correlation[middle]:.3f}, model {beside.correlation[middle]}",
            "one site later",
        ),
        (
            "the same in random axes",
            str(beside.correlation_turned[middle]),
            "what compares with a walk: its units are alike",
        ),
        ("cosine in the middle", f"walk {walk.cosine[middle]:.3f}, model {beside.cosine[middle]}", "state and next"),
        ("size of the last state", f"walk {walk.size[-1]:.3g}, model {beside.size[-1]}", "root mean square of a unit"),
        ("turns", f"walk {walk.turns[-1]:.2f}, model {beside.turns[-1]}", "of a unit's portrait, clockwise"),
        ("persistence", f"{beside.persistence:+.2f}", "mean cosine between a step and the next; 0 for a walk"),
    ]


def _verdicts(found: Analysis) -> list[tuple[str, str, str]]:
    return [
        (f"claim: {one.name}", one.verdict, f"{one.observed}. {one.why}".strip(". ") + ".")
        for one in found.claims
        if one.observed
    ]


def _probe_numbers(probed: StreamSemanticity | None) -> list[tuple[str, str, str]]:
    if probed is None:
        return []
    first, last = probed.measurements[0], probed.measurements[-1]
    return [
        ("years: generalization p_S", f"{first.generalization} → {last.generalization}", "first to last site"),
        ("years: identification p_I", f"{first.identification} → {last.identification}", "first to last site"),
    ]


def _findings(beside: BesideWalk, found: Analysis, name: str) -> list[str]:
    sentences = [f"{name}: " + "; ".join(beyond_walk(beside)) + "."]
    judged = [f"{one.name}: {one.verdict}" for one in found.claims if one.observed]
    return [*sentences, "Claims of the paper on Llama 3.1 8B, judged for this model: " + "; ".join(judged) + "."]


def _yours(found: Analysis, small: bool) -> tuple[str, ...]:
    held = [one.name for one in found.claims if one.verdict == "holds"]
    own = (
        f"What is the model's own, beyond the surrogates asked for: {', '.join(held)}."
        if held
        else "Nothing here stands out from the surrogates: its motion is that of its step sizes."
    )
    large = () if small else ("The model is large: random weights and the probe with years were left out here.",)
    return (own, *large, "More texts narrow the intervals; the command below measures everything, with all surrogates.")
