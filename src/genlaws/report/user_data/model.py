"""The user's model in the report: its residual stream compared with a walk, verdicts, and a probe of its sites."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError
from genlaws.core.panel import curve_of_estimates
from genlaws.core.running import Running
from genlaws.models.capture import capture_texts
from genlaws.models.texts import WRITE_EXAMPLES_CODE, example_texts
from genlaws.models.untrained import random_weights
from genlaws.probes.encoders.load import load_text_network
from genlaws.probes.encoders.stimuli import word_stimuli
from genlaws.probes.stream.semanticity import stream_semanticity
from genlaws.render import Curve, Panel
from genlaws.render.copied_commands import with_new_file
from genlaws.render.walk_panels import neighbors_panel, rotations_panel, shares_panel, sizes_panel
from genlaws.report.section import Section
from genlaws.report.sections.residual_stream import STREAM_LAW, beyond_walk, walk_shares
from genlaws.residual_stream.analysis import analyze_stream
from genlaws.residual_stream.measures.curves import SiteCurve
from genlaws.residual_stream.surrogates.walk_comparison import WalkComparison, compare_with_walk

if TYPE_CHECKING:
    from genlaws.models.stream import Stream
    from genlaws.probes.stream.result import StreamSemanticity
    from genlaws.residual_stream.results import Analysis

DEFAULT_TEXT_COUNT = 60  # if the user gives none
MIN_TEXTS = 4  # for intervals and split halves
MODEL_MEASURES = ("paths", "correlations", "dimensions", "rotations")
MODEL_SURROGATES = ("random walk", "step signs", "basis rotation", "random weights")
SURROGATE_DRAWS = 50
MAX_SMALL_WEIGHTS = 200_000_000  # a larger model is not read with random weights or probed with years
YEAR_COUNT = 60
PANEL_PREFIX = "own-"


def user_model_section(model: str, texts: tuple[str, ...] | None, running: Running, seed: int) -> Section:
    """Compare a model's residual stream with the walk of its steps, judge the claims, and probe it with years.

    Parameters
    ----------
    model : str
        A folder, a .gguf file, a Hugging Face id on this machine, ``smollm2`` or ``minilm``; nothing is downloaded.
    texts : tuple of str, optional
        At least four; generated sentences if not given.
    running : Running
    seed : int
    """
    read = example_texts(DEFAULT_TEXT_COUNT) if texts is None else texts
    if len(read) < MIN_TEXTS:
        raise InputError(f"texts must be at least {MIN_TEXTS}, so that numbers have intervals; got {len(read)}.")
    running.start(5, "own model")
    network, tokenizer, name, loading = load_text_model(model)
    running.advance()
    captured, small = _captured(network, tokenizer, read, seed), _weights(network) <= MAX_SMALL_WEIGHTS
    stream: Stream = captured["as it is"].stream
    compared = compare_with_walk(stream, seed=seed)
    running.advance()
    others = {"random weights": captured["random weights"].stream} if small else {}
    options: dict[str, Any] = {
        "measures": MODEL_MEASURES,
        "surrogates": MODEL_SURROGATES,
        "draws": SURROGATE_DRAWS,
        "seed": seed,
    }
    found = analyze_stream(stream, name=name, supplied=others, **options)
    running.advance()
    probed = _probed(network, tokenizer, name, seed) if small else None
    running.advance(2)
    notes = () if texts is not None else (f"Read with {len(read)} generated sentences; better give your own texts.",)
    return Section(
        name="own-model",
        title="Your model",
        question=f"What does the residual stream of {name} show beyond a random walk?",
        law=STREAM_LAW,
        panels=(*_panels(compared, name), *(() if probed is None else (_probe_panel(probed),))),
        numbers=(*_numbers(compared), *_verdicts(found), *_probe_numbers(probed)),
        findings=(*_findings(compared, found, name), *notes, *captured["as it is"].messages),
        implications=_implications(found, small),
        python=python_lines(loading, texts, seed),
        command=analyze_command(model, texts, seed),
    )


LANGUAGE_MODEL = """from genlaws.models.load import load_language_model

network, tokenizer, _ = load_language_model({model!r}, "cpu", "float32", True)"""
LOAD_ENCODER_CODE = """from genlaws.probes.encoders.load import load_encoder

encoder = load_encoder({model!r}, kind="text", local_files_only=True)
network, tokenizer = encoder.network, encoder.tokenizer"""
MODEL_CODE = """from genlaws.residual_stream.surrogates.walk_comparison import compare_with_walk
from genlaws.models.capture import capture_texts
from genlaws.models.texts import example_texts
{loading}
texts = {texts}
read = capture_texts(network, tokenizer, list(texts), strip=True)
print(compare_with_walk(read.stream, seed={seed}).to_frame().to_string())"""


def python_lines(loading: str, texts: tuple[str, ...] | None, seed: int) -> str:
    """Return lines that compare the model with its walk, on the same texts."""
    given = f"example_texts({DEFAULT_TEXT_COUNT})" if texts is None else repr(texts)
    return MODEL_CODE.format(loading=loading, texts=given, seed=seed)


def analyze_command(model: str, texts: tuple[str, ...] | None, seed: int) -> str:
    """Return a command that measures everything, on the same texts."""
    program = WRITE_EXAMPLES_CODE.format(count=DEFAULT_TEXT_COUNT)
    if texts is not None:
        program = (
            f"import pathlib, sys; pathlib.Path(sys.argv[1]).write_text({chr(10).join(texts)!r}, encoding='utf-8')"
        )
    command = f'genlaws residual-stream analyze {shlex.quote(model)} --texts "$file" --seed {seed}'
    return with_new_file("texts.txt", program, command)


def load_text_model(model: str) -> tuple[Any, Any, str, str]:
    """Return a transformer of text with its tokenizer, its name and the lines of Python that load it.

    It is a language model, or an encoder.

    `model`: as for `user_model_section`.
    """
    network, tokenizer, source, headed = load_text_network(model)
    loading = LANGUAGE_MODEL if headed else LOAD_ENCODER_CODE
    return network, tokenizer, Path(source).name, loading.format(model=model)


def _captured(network: Any, tokenizer: Any, texts: tuple[str, ...], seed: int) -> dict[str, Any]:
    """Return the stream of the model and, if it is small, of one with random weights."""
    models = {"as it is": network}
    if _weights(network) <= MAX_SMALL_WEIGHTS:
        models["random weights"] = random_weights(network, seed)
    return {name: capture_texts(one, tokenizer, list(texts), strip=True) for name, one in models.items()}


def _weights(network: Any) -> int:
    return sum(one.numel() for one in network.parameters())


def _probed(network: Any, tokenizer: Any, name: str, seed: int) -> StreamSemanticity:
    """Return generalization and identification of years at every site."""
    stimuli = word_stimuli("years", count=YEAR_COUNT)
    return stream_semanticity(network, tokenizer, stimuli, controls="none", seed=seed, name=name, fronts=False)


def _panels(compared: WalkComparison, name: str) -> tuple[Panel, ...]:
    """Return the four pictures of the model and its walk."""
    walk = compared.walk
    sites = [float(site) for site in range(walk.site_count)]
    steps = [site + 0.5 for site in sites[:-1]]
    band = walk_shares("walk, and 95 % of walks", compared, "blue")
    numbers = range(1, compared.shares.value.size + 1)

    def both(measured: SiteCurve, exact: Array, x: list[float], what: str, color: str) -> list[Curve]:
        """Return the line of the walk and the points of the model."""
        line = Curve(f"walk: {what}", "theory", x, exact.tolist(), color)
        return [line, curve_of_estimates(f"{name}: {what}", x, measured, color)]

    return (
        neighbors_panel(
            [
                *both(compared.correlation, walk.correlation, steps, "r over texts", "blue"),
                curve_of_estimates(f"{name}: r, random axes", steps, compared.correlation_random_axes, "sky"),
                *both(compared.cosine, walk.cosine, steps, "cosine", "orange"),
            ],
            before=PANEL_PREFIX,
        ),
        sizes_panel(
            both(compared.size, walk.size, sites, "state", "blue")
            + both(compared.step_size, walk.step_size, steps, "step", "orange"),
            before=PANEL_PREFIX,
        ),
        shares_panel([band, curve_of_estimates(name, numbers, compared.shares, "blue")], before=PANEL_PREFIX),
        rotations_panel(
            both(compared.rotations, walk.rotations, sites[1:-1], "rotations", "blue"), before=PANEL_PREFIX
        ),
    )


def _probe_panel(probed: StreamSemanticity) -> Panel:
    x = list(range(len(probed.sites)))
    curves = [
        curve_of_estimates(what, x, [getattr(one, what) for one in probed.tests], color)
        for what, color in (("generalization", "green"), ("identification", "purple"))
    ]
    curves.append(Curve("chance", "chance", [x[0], x[-1]], [0.5, 0.5], "gray"))
    return Panel(
        f"{PANEL_PREFIX}years",
        "Years at each site",
        "site",
        "probability of the right choice",
        tuple(curves),
        caption=f"{YEAR_COUNT} years in a phrase, last token, centered cosine: generalization picks the nearer year, "
        "identification the same year. 95 % intervals over years. Years share digits, so a little "
        "generalization comes without any training.",
    )


def _numbers(compared: WalkComparison) -> list[tuple[str, str, str]]:
    walk, middle = compared.walk, (compared.walk.site_count - 1) // 2
    correlation = f"walk {walk.correlation[middle]:.3f}, model {compared.correlation[middle]}"
    random_axes = str(compared.correlation_random_axes[middle])
    size = f"walk {walk.size[-1]:.3g}, model {compared.size[-1]}"
    rotations = f"walk {walk.rotations[-1]:.2f}, model {compared.rotations[-1]}"
    return [
        ("sites, units, texts", f"{walk.site_count}, {compared.units}, {compared.text_count}", "what was read"),
        ("r in the middle", correlation, "one site later"),
        ("the same in random axes", random_axes, "comparable with a walk, whose units are alike"),
        ("cosine in the middle", f"walk {walk.cosine[middle]:.3f}, model {compared.cosine[middle]}", "state and next"),
        ("size of the last state", size, "root mean square of a unit"),
        ("rotations", rotations, "of a unit in its phase portrait, clockwise"),
        ("persistence", f"{compared.persistence:+.2f}", "mean cosine between a step and the next; 0 for a walk"),
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
    first, last = probed.tests[0], probed.tests[-1]
    return [
        ("years: generalization p_S", f"{first.generalization} → {last.generalization}", "first to last site"),
        ("years: identification p_I", f"{first.identification} → {last.identification}", "first to last site"),
    ]


def _findings(compared: WalkComparison, found: Analysis, name: str) -> list[str]:
    sentences = [f"{name}: " + "; ".join(beyond_walk(compared)) + "."]
    judged = [f"{one.name}: {one.verdict}" for one in found.claims if one.observed]
    return [*sentences, "Claims of the paper on Llama 3.1 8B, judged for this model: " + "; ".join(judged) + "."]


def _implications(found: Analysis, small: bool) -> tuple[str, ...]:
    held = [one.name for one in found.claims if one.verdict == "holds"]
    own = (
        f"Specific to the model, beyond the requested surrogates: {', '.join(held)}."
        if held
        else "Nothing here differs from the surrogates: the motion follows from the step sizes."
    )
    large = () if small else ("The model is large: random weights and the probe with years were left out here.",)
    return (own, *large, "More texts narrow the intervals; the command below measures everything, with all surrogates.")
