"""States of a language model in every layer, at the places of a trial, and the read-out of each layer.

Layer 0 is the embeddings and layer l is the residual stream after block l. transformers gives the last one after the
final norm; here it is taken before that norm, as all the others are.

The read-out of a layer puts its state at the last token of the prompt through the final norm and the unembedding, as if
the blocks after it did nothing (logit lens). It is the probability of the *first* token of each option, relative to the
other options; an option of several tokens is judged by its first.

To locate the places in a prompt, its text is put together from its pieces again and the pieces are counted. A search
would fail, because the year 1066 may also be part of a name or of another number.
"""

from __future__ import annotations

import dataclasses
import string
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.running import Running, checked_running
from genlaws.models.language import NOT_NUMBERS, TransformersModel
from genlaws.models.passes import longest_first, padded
from genlaws.models.untrained import untrained_copy
from genlaws.probes.domains import Domain
from genlaws.probes.layers.results import PlaceStates
from genlaws.probes.parameters import TOKEN_POOLINGS
from genlaws.probes.templates import Template, prompt_of
from genlaws.probes.trials import ProbeTrial

Span = tuple[int, int]
FINAL_NORMS = (
    "model.norm",  # Llama, Mistral, Qwen, SmolLM
    "transformer.ln_f",  # GPT-2
    "gpt_neox.final_layer_norm",  # Pythia
)

READ_OUT_TOLERANCE = 0.02  # of the largest logit: the read-out of the last layer is the model's own answer up to this


@dataclass(frozen=True)
class PlaceSpans:
    """A text and the positions of the places in it.

    Attributes
    ----------
    text : str
    items : tuple of (int, int)
        First character of each item's place and the one after its last, in the order in which the items are shown.
    probe : (int, int)
        The same of the place of the probe.
    """

    text: str
    items: tuple[Span, ...]
    probe: Span

    @property
    def spans(self) -> tuple[Span, ...]:
        """Those of the items, then that of the probe."""
        return (*self.items, self.probe)

    def inside(self, whole: str) -> PlaceSpans:
        """Return the same places in a longer text, such as a chat, that holds this one.

        A chat template may strip blanks around the message of the user. Where the longer text holds this one more than
        once, the last is meant: what comes before it is an example or an instruction.
        """
        held = self.text if self.text in whole else self.text.strip()
        at = whole.rfind(held)
        if at < 0:
            raise InputError("The chat template changes the text of the prompt, so its places cannot be found in it.")
        step = at - self.text.index(held)
        moved = [(first + step, end + step) for first, end in self.spans]
        return PlaceSpans(whole, tuple(moved[:-1]), moved[-1])


def place_spans(trial: ProbeTrial, domain: Domain, template: Template) -> PlaceSpans:
    """Return the text of a trial, the same as that of its prompt, and the positions of its places.

    Where a line names its place twice, the last one counts: a model that reads forwards knows more there.
    """
    text, spans = "", []
    for item, place in zip(trial.items, trial.places, strict=True):
        line, span = _written(template.fact, item, domain.write(place))
        spans.append((len(text) + span[0], len(text) + span[1]))
        text += line + template.between
    question = template.identification if trial.kind == "identification" else template.similarity
    line, span = _written(question, "", domain.write(trial.probe))
    probe = (len(text) + span[0], len(text) + span[1])
    return PlaceSpans(text + line, tuple(spans), probe)


def _written(pattern: str, item: str, place: str) -> tuple[str, Span]:
    """Return one line and the position of its place."""
    text, span = "", (0, 0)
    for literal, field, _, _ in string.Formatter().parse(pattern):
        text += literal
        if field == "place":
            span = (len(text), len(text) + len(place))
        text += {"item": item, "place": place}.get(field or "", "")
    return text, span


def tokens_of(span: Span, offsets: Sequence[Span]) -> list[int]:
    """Return which tokens hold a character of a span.

    Parameters
    ----------
    span : (int, int)
    offsets : sequence of (int, int)
        First character of each token and the one after its last; a token of no characters is special.
    """
    found = [token for token, (first, end) in enumerate(offsets) if first < span[1] and end > span[0] and first < end]
    if not found:
        raise InputError(f"The tokenizer gives no token for the characters {span[0]} to {span[1]} of a prompt.")
    return found


@dataclass(frozen=True)
class _Row:
    """One prompt: its tokens, those of each place, the last token before the answer, and how the options begin."""

    tokens: list[int]
    places: list[list[int]]
    last: int
    first: list[int]
    single: bool

    @property
    def ambiguous(self) -> bool:
        """Whether two options begin alike, so that their first tokens cannot distinguish them."""
        return len(set(self.first)) < len(self.first)


def layer_states(
    model: TransformersModel,
    trials: Sequence[ProbeTrial],
    domain: Domain,
    template: Template,
    *,
    pooling: str = "last",
    running: Running | None = None,
) -> PlaceStates:
    """Return the states at the places of trials with equally many items, and the read-out, in every layer.

    Prompts of similar length are read together, ``model.batch_size`` at a time. Only the states of the places are
    stored: layers × trials × (items + 1) × width numbers of 4 bytes.

    Parameters
    ----------
    model : TransformersModel
        With a fast tokenizer, which gives the positions of its tokens in the text.
    trials : sequence of ProbeTrial
    domain : Domain
    template : Template
    pooling : {"last", "mean"}
        The state of a place is that of its last token, or the mean over its tokens.
    running : Running, optional
        Its steps are the prompts.
    """
    one_of("pooling", pooling, TOKEN_POOLINGS)
    count = len(trials[0].items) if trials else 0
    if not count or any(len(trial.items) != count for trial in trials):
        raise InputError("trials must be at least one, all with the same number of items.")
    norm, unembed = _read_out_parts(model)
    rows = [_row(model, trial, domain, template, pooling) for trial in trials]
    _check_read_out(model, rows[0], norm, unembed)
    states, options = np.empty(0, dtype=np.float32), np.empty(0)
    shown = checked_running(running)
    shown.start(len(rows), f"prompts, {template.name}")
    for batch in longest_first({place: len(row.tokens) for place, row in enumerate(rows)}, model.batch_size):
        found, read = _read(model, [rows[place] for place in batch], norm, unembed)
        if not states.size:
            states = np.empty((found.shape[0], len(rows), *found.shape[2:]), dtype=np.float32)
            options = np.empty((read.shape[0], len(rows), count))
        states[:, batch], options[:, batch] = found.numpy(), read.numpy()
        shown.advance(len(batch))
    if not np.isfinite(states).all():
        raise InputError(NOT_NUMBERS)
    options[:, [row.ambiguous for row in rows]] = np.nan
    return PlaceStates(
        layer_names(len(states)),
        states[:, :, :-1],
        states[:, :, -1],
        np.array([trial.right for trial in trials]),
        options,
        np.array([row.single for row in rows]),
    )


def layer_names(count: int) -> tuple[str, ...]:
    """Return what the layers are called: embeddings, after block 1, and so on."""
    return ("embeddings", *(f"after block {block}" for block in range(1, count)))


def randomized(model: TransformersModel, seed: int = 0) -> TransformersModel:
    """Return a model of the same shape with fresh random weights, as before training; the one given stays as it is.

    What its layers show about the places comes from the tokens and the architecture, not from what was learned.
    """
    number = whole_number("seed", seed)
    given = model.network
    try:
        network = untrained_copy(given, number).eval()
    except Exception:  # whatever a network raises that is not made from its configuration
        raise InputError(f"{model.source} must be made from its configuration to be given random weights.") from None
    return dataclasses.replace(model, network=network, source=f"{model.source}, random weights {number}")


def _row(model: TransformersModel, trial: ProbeTrial, domain: Domain, template: Template, pooling: str) -> _Row:
    """Return the tokens of a trial and where its places and its options are."""
    if not getattr(model.tokenizer, "is_fast", False):
        raise InputError(f"The tokenizer of {model.source} must be a fast one, which gives the positions of tokens.")
    prompt = prompt_of(trial, domain, template)
    spans = place_spans(trial, domain, template).inside(model.prompt_text(prompt))
    tokens, split = model.prompt_tokens(prompt), model.continuations(prompt)
    found = model.tokenizer(spans.text, add_special_tokens=not prompt.chat, return_offsets_mapping=True)
    offsets = found["offset_mapping"][: len(tokens)]
    if list(found["input_ids"][: len(tokens)]) != tokens:
        raise InputError(f"The tokenizer of {model.source} must give the same tokens with and without positions.")
    most = getattr(model.network.config, "max_position_embeddings", None)
    if most is not None and len(tokens) > most:
        raise InputError(f"{model.source} reads at most {most} tokens; a prompt has {len(tokens)}.")
    places = [tokens_of(span, offsets) for span in spans.spans]
    return _Row(
        tokens,
        [place[-1:] for place in places] if pooling == "last" else places,
        len(split.shared) - 1,
        [ending[0] for ending in split.endings],
        all(len(ending) == 1 for ending in split.endings),
    )


def _read_out_parts(model: TransformersModel) -> tuple[Any, Any]:
    """Return the final norm and the unembedding of a network."""
    unembed = model.network.get_output_embeddings() if hasattr(model.network, "get_output_embeddings") else None
    for path in FINAL_NORMS:
        found = model.network
        for name in path.split("."):
            found = getattr(found, name, None)
        if found is not None and unembed is not None:
            return found, unembed
    raise InputError(f"{model.source} must have its final norm at {', '.join(FINAL_NORMS)}, and an unembedding.")


@torch.inference_mode()
def _check_read_out(model: TransformersModel, row: _Row, norm: Any, unembed: Any) -> None:
    """Refuse a network that does more after its blocks than norm and unembedding, such as capping its logits."""
    tokens = torch.tensor([row.tokens[: row.last + 1]], device=model.network.device)
    with _before(norm) as seen:
        own = model.network(input_ids=tokens).logits[0, -1].float()
    read = unembed(norm(seen[0]))[0, -1].float()
    if float((own - read).abs().max()) > READ_OUT_TOLERANCE * float(own.abs().max()):
        raise InputError(
            f"The answers of {model.source} are not its final norm and unembedding alone; it has no read-out."
        )


@torch.inference_mode()
def _read(model: TransformersModel, rows: Sequence[_Row], norm: Any, unembed: Any) -> tuple[Tensor, Tensor]:
    """Read a batch; return states (layers, rows, places, width) and options (layers, rows, options)."""
    network = model.network
    tokens, mask = padded([row.tokens for row in rows], network.device)
    with _before(norm) as seen:
        found = network.base_model(input_ids=tokens, attention_mask=mask, use_cache=False, output_hidden_states=True)
    here = torch.arange(len(rows), device=network.device)
    last = torch.tensor([row.last for row in rows], device=network.device)
    first = torch.tensor([row.first for row in rows], device=network.device)
    places, weights = _places(rows, network.device)
    states, options = [], []
    for layer in (*found.hidden_states[:-1], seen[0]):
        states.append((layer[here[:, None, None], places].float() * weights).sum(2).cpu())
        logits = unembed(norm(layer[here, last]))
        options.append(logits.gather(1, first).double().softmax(-1).cpu())
    return torch.stack(states), torch.stack(options)


def _places(rows: Sequence[_Row], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return tokens of every place (rows, places, tokens) and their weights (rows, places, tokens, 1), summing to 1."""
    longest = max(len(place) for row in rows for place in row.places)
    places = [[place + place[:1] * (longest - len(place)) for place in row.places] for row in rows]
    weights = [
        [[1.0 / len(place)] * len(place) + [0.0] * (longest - len(place)) for place in row.places] for row in rows
    ]
    return torch.tensor(places, device=device), torch.tensor(weights, device=device)[..., None]


@contextmanager
def _before(norm: Any) -> Iterator[list[Tensor]]:
    """Collect what is given to the final norm: the state after the last block."""
    seen: list[Tensor] = []
    with norm.register_forward_pre_hook(lambda _, given: seen.append(given[0])):
        yield seen
