"""Options of ``genlaws semanticity probe``, in three groups, and the text it prints before and after the probe."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from genlaws.cli.output import Output, aligned
from genlaws.core.errors import InputError
from genlaws.probes.probe import compare_templates

if TYPE_CHECKING:
    from genlaws.probes.plan import Plan, Workload
    from genlaws.probes.probe import ProbeResult
    from genlaws.probes.rates import Rates

PROBE_GROUP, LOCAL_GROUP, SERVER_GROUP = (
    Group("Probe"),
    Group("A model on this machine"),
    Group("A model behind a server"),
)
# Of names stored before they contained a fingerprint.
PATH_NAME_PREFIXES = ("transformers:", "transformers, with pictures:")
MINUTE_SECONDS, HOUR_SECONDS = 60.0, 3600.0
RETRY_NOTE = "The same command with the same --out repeats only these prompts."
TEST_SYMBOLS = {"similarity": "p_S", "identification": "p_I"}


@Parameter(name="*", group=PROBE_GROUP)
@dataclass(frozen=True)
class ProbeSettings:
    """Task, trials and templates of the probe."""

    task: Annotated[
        str,
        Parameter(
            help="In words: years, numbers, dates, temperatures, latitudes, letters, or table:FILE (item, value). In "
            "pictures: shapes, colors, squares."
        ),
    ] = "years"

    items: str | None = None
    """Numbers of items, such as 2,4,8,16; if left out, those the task allows."""

    trials: int = 200
    """Trials of each kind and number of items, and for each half separation of the two-anchor test."""

    template: Annotated[
        str | None,
        Parameter(
            help="Templates: list, sentences, chat, deutsch (years), options (pictures), or a JSON file; several "
            "with commas are compared on the same trials."
        ),
    ] = None

    mode: Annotated[
        str | None,
        Parameter(
            help="probability compares the log-probabilities of all answers, text reads the reply, embedding measures "
            "the representation of single stimuli layer by layer; text for a server, otherwise probability."
        ),
    ] = None

    anchors: Annotated[bool, Parameter(help="Add the two-anchor resolution test.")] = True

    half_separations: str | None = None
    """Of the two-anchor test, such as 5,20,50, in units of the task."""

    shifts: str | None = None
    """Of the two-anchor test, such as -100:100:9, in units of the task; 0 is left out."""

    temperature: float = 0.0
    """Of text replies; 0 is greedy."""

    max_tokens: int = 16
    """Most tokens of a text reply."""


@Parameter(name="*", group=LOCAL_GROUP)
@dataclass(frozen=True)
class LocalModelOptions:
    """A model on this machine."""

    device: str = "cpu"
    """cpu, cuda, cuda:1 or mps."""

    dtype: str = "float32"
    """float32, bfloat16 or float16."""

    batch_size: int = 16
    """Prompts read together, at most."""

    download: Annotated[bool, Parameter(negative="", help="Let a Hugging Face id be downloaded.")] = False

    layers: Annotated[
        bool, Parameter(negative="", help="Also measure p_S and p_I in each layer, from states at the queried places.")
    ] = False

    layer_trials: int = 200
    """Trials of each kind for --layers."""

    pooling: str = "mean"
    """For --mode embedding: mean, last, first or max over the tokens."""

    phrase: str | None = None
    """For --mode embedding: how a place is written, such as 'the year {place}'."""

    center: Annotated[
        bool, Parameter(help="For --mode embedding: subtract the mean over the stimuli from each layer first.")
    ] = True


@Parameter(name="*", group=SERVER_GROUP)
@dataclass(frozen=True)
class RemoteModel:
    """A model behind a server."""

    server: str | None = None
    """Address of an OpenAI-compatible server, such as http://localhost:8000/v1; MODEL is its name there."""

    key_variable: str | None = "OPENAI_API_KEY"
    """Environment variable that holds the key; the key itself is never stored."""

    concurrency: int = 4
    """Number of simultaneous requests."""

    timeout: float = 60.0
    """Seconds a server may be silent."""

    retries: int = 4
    """How often each request is tried again, after a wait that doubles or that the server requests."""

    label: str = ""
    """Name of the server in stored replies; its address if left out."""

    price: str | None = None
    """READ,WRITTEN: price of a million tokens, for the estimate."""


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@dataclass(frozen=True)
class ProbeOptions:
    """All options of one call."""

    probe_settings: ProbeSettings
    local_model: LocalModelOptions
    remote: RemoteModel
    output: Output

    @property
    def mode(self) -> str:
        """How answers are read."""
        return self.probe_settings.mode or ("probability" if self.remote.server is None else "text")

    @property
    def price(self) -> tuple[float, float] | None:
        """Price of a million tokens, read and written."""
        if self.remote.price is None:
            return None
        both = [float(one) for one in self.remote.price.split(",") if _is_number(one)]
        if len(both) != 2 or min(both) < 0:
            raise InputError(
                f"price must be two numbers, READ,WRITTEN, for a million tokens; got {self.remote.price!r}."
            )
        return both[0], both[1]


DEFAULT_SETTINGS, DEFAULT_LOCAL, DEFAULT_REMOTE_MODEL = ProbeSettings(), LocalModelOptions(), RemoteModel()


def load_text(load: Workload, price: tuple[float, float] | None) -> str:
    """Return the workload as a sentence."""
    parts = [f"{load.different:,} prompts"]
    if load.found:
        parts.append(f"{load.found:,} answered already")
    about = "" if load.counted else "about "
    parts.append(f"{about}{load.tokens_read:,.0f} tokens to read, at most {load.tokens_written:,.0f} to write")
    if load.pictures:
        parts.append(f"{load.pictures:,} pictures, which are not in the tokens")
    if math.isfinite(load.seconds):
        parts.append(f"about {duration(load.seconds)}")
    if price is not None:
        parts.append(f"about {load.cost(*price):,.2f} at the given price")
    return "; ".join(parts) + "."


def stored_text(counts: Mapping[str, int], name: str, *, at_server: bool) -> list[str]:
    """Return the sentences about answers in a file that are not used, or that may be of another model."""
    mine = counts.get(name, 0)
    by_path = sum(count for stored, count in counts.items() if stored.startswith(PATH_NAME_PREFIXES))
    others = sum(counts.values()) - mine - by_path
    sentences = []
    if by_path:
        sentences.append(
            f"{by_path:,} answers were stored under the path of their model by an older version. They are not used, "
            "since the weights may have changed."
        )
    if others and not mine:
        sentences.append(
            f"{others:,} answers are of another model, other weights or other settings. They are not used."
        )
    if mine and at_server:
        sentences.append(
            f"{mine:,} answers are reused: the address of the server and the name of the model match. Whether the "
            "model there is still the same cannot be checked from here; if it changed, use another --out or --label."
        )
    return sentences


def duration(seconds: float) -> str:
    """Return seconds as text, with two digits."""
    if seconds < MINUTE_SECONDS:
        return f"{max(seconds, 1):.0f} s"
    if seconds < HOUR_SECONDS:
        return f"{seconds / MINUTE_SECONDS:.0f} min"
    return f"{seconds / HOUR_SECONDS:.1f} h"


def plan_text(
    shown: Sequence[Mapping[str, Any]],
    plans: Sequence[Plan],
    loads: Sequence[Workload],
    price: tuple[float, float] | None,
) -> str:
    """Return a few prompts, and the workload."""
    lines: list[str] = []
    for one in shown:
        lines += [f"--- {one['template']}, {one['kind']}{' (as a chat)' if one['chat'] else ''}", one["prompt"]]
        lines += [f"    answers: {', '.join(one['options'])}; right: {one['right']}", ""]
    width = max(len(plan.template.name) for plan in plans)
    for plan, load in zip(plans, loads, strict=True):
        lines.append(f"{plan.template.name:<{width}}  {load_text(load, price)}")
    return "\n".join([*lines, "Nothing was sent to a model."])


def result_text(results: Sequence[ProbeResult], layers: Sequence[Any]) -> str:
    """Return the numbers of a probe: first the results, then their uncertainty."""
    parts = [_format_result(one, len(results) > 1) for one in results]
    if len(results) > 1:
        above = compare_templates(results)
        best = next(iter(above))
        parts.append(
            "Above chance on average, all trials together:\n"
            + aligned({name: str(value) for name, value in above.items()})
            + f"\n{best} does best; its interval does not account for the choice among {len(results)} templates."
        )
    parts += [str(one) for one in layers]
    return "\n\n".join(parts)


def _format_result(result: ProbeResult, several: bool) -> str:
    lines = [f"Template {result.plan.template.name}"] if several else []
    if result.rates.failure:
        lines += [f"Attention: {result.rates.failure} {RETRY_NOTE}", ""]
    lines += [_rates_table(result), ""]
    fit, fall = result.resolution, result.collapse
    rows = {"resolution": f"{fit.resolution} {fit.unit}".rstrip() if fit.determined else "not determined"}
    if fit.determined and fit.fit is not None:
        rows |= {"shape": fit.fit.shape, "background": str(fit.background), "lapse": str(fit.lapse)}
    if fall.laws:
        rows |= {"1/n constant": str(fall.constant), "by the law of n items": str(fall.limit)}
    rows |= {"unread replies": str(result.rates.unparsed)}
    lines.append(aligned(rows))
    lines += [sentence for sentence in (fit.message, fall.message) if sentence]
    lines.append(str(result.asking))
    return "\n".join(lines)


def _rates_table(result: ProbeResult) -> str:
    by_count: dict[int, dict[str, Rates]] = {}
    for one in result.rates.rates:
        if one.kind in TEST_SYMBOLS:
            by_count.setdefault(one.item_count, {})[one.kind] = one
    width = 28
    lines = [f"{'items':>5}  {'generalization p_S':<{width}}{'identification p_I':<{width}}chance"]
    for count, rates in sorted(by_count.items()):
        cells = [_format_rate(rates.get(kind)) for kind in TEST_SYMBOLS]
        lines.append(f"{count:>5}  {cells[0]:<{width}}{cells[1]:<{width}}{1 / count:.3f}")
    return "\n".join(lines)


def _format_rate(rates: Rates | None) -> str:
    return "" if rates is None else str(rates.best)
