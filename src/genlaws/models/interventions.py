"""Change the state of one token at one site of a model, and read its states at the later sites.

A change is added to what is written just before the site (before the first site, to the state itself), so that
attention, MLP and the skip connection all work on the changed state. In a decoder the tokens before it do not
see it and are run once; in an encoder all tokens are run again, and all may change.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from genlaws.core.arguments import Array, Whole, whole_number
from genlaws.core.errors import InputError
from genlaws.models.architecture import TransformerArchitecture, architecture_of
from genlaws.models.recorder import captured, refuse_dropout
from genlaws.models.stream import Site
from genlaws.models.texts import Tokens

TokenTexts = Tokens | Sequence[int] | Sequence[Sequence[int]] | Sequence[Whole]
NO_HEAD = "The model has no head, so nothing is known of its output."
MIN_ROUNDINGS = 16  # size of a change in roundings of the model's numbers; a smaller one is largely lost


class Plane(Protocol):
    """A point and orthonormal axes, such as `PooledAxes`."""

    @property
    def center(self) -> Array:
        """Array (units,)."""

    @property
    def axes(self) -> Array:
        """Array (units, axes)."""


@dataclass(frozen=True)
class InterventionOutcome:
    """States of one token with and without changes.

    Attributes
    ----------
    control : array (sites, units)
        Without a change, at all sites.
    differences : array (changes, later sites, units)
        Changed less unchanged, from the changed site on.
    scores : array (1 + changes, words), or None
        Logarithms of the probabilities of words at this token, without a change first.
    """

    control: Array
    differences: Array
    scores: Array | None


class OneToken:
    """The last token of a text in a model.

    Parameters
    ----------
    model : torch.nn.Module
        Of transformers, on its device; nothing of it is changed.
    ids : array of int
        The tokens of the text.
    place : int
        Which of them is read.
    """

    def __init__(self, model: nn.Module, ids: Whole, place: int) -> None:
        refuse_dropout(model)
        self.model = model
        self.architecture = architecture_of(model)
        self.device = next(model.parameters()).device
        accepted = inspect.signature(model.forward).parameters
        self._no_cache = {"use_cache": False} if "use_cache" in accepted else {}
        both_ways = getattr(getattr(model, "config", None), "use_bidirectional_attention", False)
        decoder = self.architecture.kind != "post-norm" and {"past_key_values", "use_cache"} <= set(accepted)
        decoder &= not both_ways
        needed = ids[: place + 1] if decoder else ids
        self._ids = torch.from_numpy(np.asarray(needed, dtype=np.int64))[None].to(self.device)
        self._place, self._before = place, None
        if decoder and place:
            body = getattr(model, "base_model", model)
            with torch.no_grad():
                self._before = body(input_ids=self._ids[:, :place], use_cache=True).past_key_values
            self._ids, self._place = self._ids[:, place:], 0

    @property
    def sites(self) -> tuple[Site, ...]:
        """All sites of the model."""
        return self.architecture.sites

    def control(self) -> Array:
        """Return the states without a change, (sites, units)."""
        return self._pass(0, None)[0]

    def changed(self, site: int, changes: Array, batch_size: int = 32) -> InterventionOutcome:
        """Return what becomes of the token when changes (rows, units) are added at a site, one at a time.

        Every pass also runs the unchanged token, so that both are computed in the same way.
        """
        size = whole_number("batch_size", batch_size, at_least=1)
        found = [self._pass(site, changes[start : start + size]) for start in range(0, len(changes), size)]
        scores = None
        if found[0][2] is not None:
            scores = np.concatenate([found[0][2][:1], *(one[2][1:] for one in found if one[2] is not None)])
        return InterventionOutcome(found[0][0], np.concatenate([one[1] for one in found]), scores)

    def _pass(self, site: int, changes: Array | None) -> tuple[Array, Array, Array | None]:
        """Return control, differences and scores of one pass; without changes, the control alone."""
        rows, hooks = 1, cast(AbstractContextManager[None], nullcontext())
        if changes is not None:
            added = torch.from_numpy(np.concatenate([np.zeros_like(changes[:1]), changes]))
            rows, hooks = len(added), changed_site(self.architecture, site, added, self._place)
        with hooks, captured(self.model, positions=[[self._place]] * rows) as recorder, torch.no_grad():
            answer = self._call(self.model, rows)
        states = recorder.take_tensor().double().cpu().numpy()
        logits = getattr(answer, "logits", None)
        scores = None
        if isinstance(logits, Tensor):
            scores = logits[:, self._place].double().log_softmax(dim=-1).cpu().numpy()
        return states[0], states[1:, site:] - states[:1, site:], scores

    def following(self, site: int, changes: Tensor, to: int) -> Tensor:
        """Return the states at a later site, (rows, units), as a function of the changes that can be differentiated."""
        body = getattr(self.model, "base_model", self.model)
        changed = changed_site(self.architecture, site, changes, self._place)
        with changed, _recorded_site(self.architecture, to) as states:
            self._call(body, len(changes))
        if not states:
            raise InputError(f"A pass never reached the site {self.sites[to].name}.")
        return states[0][:, self._place]

    def _call(self, model: nn.Module, rows: int) -> Any:
        """Run the model on copies of the token, or of the text."""
        ids = self._ids.expand(rows, -1)
        if self._before is None:
            return model(input_ids=ids, **self._no_cache)
        past = copy.deepcopy(self._before)
        past.batch_repeat_interleave(rows)
        return model(input_ids=ids, past_key_values=past, use_cache=True)


@contextmanager
def changed_site(architecture: TransformerArchitecture, site: int, changes: Tensor, place: int) -> Iterator[None]:
    """Add changes (rows, units) to the state of one token at a site, in every pass inside the ``with``.

    Parameters
    ----------
    architecture : TransformerArchitecture
    site : int
        Its number among the sites.
    changes : torch.Tensor
    place : int
        Which token of a row.
    """

    def added(given: Any) -> Any:
        """Return states, or the first of several things, with the changes added."""
        if isinstance(given, tuple | list):
            return type(given)((added(given[0]), *given[1:]))
        column = torch.tensor([place], device=given.device)
        return torch.index_add(given, 1, column, changes.to(given.device, given.dtype)[:, None])

    def entering(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        """Change what the first block is given."""
        if given:
            return (added(given[0]), *given[1:]), named
        return given, {**named, "hidden_states": added(named["hidden_states"])}

    if site == 0:
        handle = architecture.steps[0].reader.register_forward_pre_hook(entering, with_kwargs=True)
    else:
        last = architecture.steps[site - 1]
        source = last.writers[-1] if last.norm is None else last.norm
        handle = source.register_forward_hook(lambda module, given, found: added(found))
    with handle:
        yield


@contextmanager
def _recorded_site(architecture: TransformerArchitecture, site: int) -> Iterator[list[Tensor]]:
    """Record the states of all tokens at a site, with whatever is needed to differentiate them."""
    states: list[Tensor] = []

    def entering(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Record the input of the reader of the site."""
        states.append(given[0] if given else named["hidden_states"])

    def leaving(module: nn.Module, given: Any, found: Any) -> None:
        """Record the output of the last block."""
        states.append(found[0] if isinstance(found, tuple | list) else found)

    if site < len(architecture.steps):
        handle = architecture.steps[site].reader.register_forward_pre_hook(entering, with_kwargs=True)
    else:
        handle = architecture.last.register_forward_hook(leaving)
    with handle:
        yield states


def texts_of(tokens: TokenTexts) -> list[tuple[Whole, int]]:
    """Return the tokens of each text and which of them is the last before any closing mark."""
    if isinstance(tokens, Tokens):
        return [(ids, end - 1) for ids, end in zip(tokens.ids, tokens.ends, strict=True)]
    given: list[Any] = list(tokens)
    rows = [given] if given and np.ndim(given[0]) == 0 else given
    arrays = [np.asarray(row) for row in rows]
    if not arrays or any(row.ndim != 1 or row.size == 0 or row.dtype.kind not in "iu" for row in arrays):
        raise InputError("tokens must be those of one text, or a list of texts: whole numbers, none of them empty.")
    return [(row.astype(np.int64), row.size - 1) for row in arrays]


def only_text(tokens: TokenTexts) -> tuple[Whole, int]:
    """Return the tokens of one text and which of them is the last; refuse several texts."""
    texts = texts_of(tokens)
    if len(texts) != 1:
        raise InputError(f"tokens must be those of one text; got {len(texts)} texts.")
    return texts[0]


def site_number(sites: Sequence[Site], site: Site | str, name: str = "site") -> int:
    """Return the index of a site, given as such or by its name, among those of the model."""
    wanted = site.name if isinstance(site, Site) else site
    names = [one.name for one in sites]
    if wanted not in names:
        raise InputError(f"{name} must be one of {names[0]} to {names[-1]}, such as {names[-2]}; got {wanted!r}.")
    return names.index(wanted)


def plane_of(plane: Plane, units: int) -> tuple[Array, Array]:
    """Return center and axes, checked to be orthonormal and as long as a state."""
    center, axes = np.asarray(plane.center, dtype=np.float64), np.asarray(plane.axes, dtype=np.float64)
    if center.shape != (units,) or axes.ndim != 2 or axes.shape[0] != units:
        raise InputError(
            f"plane must have a center of {units} units and axes of as many; got {center.shape} and {axes.shape}."
        )
    if not np.allclose(axes.T @ axes, np.eye(axes.shape[1]), atol=1e-6):
        raise InputError("plane must have orthonormal axes; the ones given are not.")
    if getattr(plane, "normalized", False):
        raise InputError("plane must belong to states as they are; this one belongs to states divided by their size.")
    return center, axes


def rounding_message(model: nn.Module, size: float) -> str:
    """Return a message if a change of this size, relative to the state, is lost in rounding; empty otherwise."""
    kind = next(model.parameters()).dtype
    if size == 0 or size >= MIN_ROUNDINGS * torch.finfo(kind).eps:
        return ""
    return f"A change of relative size {size:.2g} is close to the rounding of {str(kind).removeprefix('torch.')}."


def output_change(scores: Array) -> tuple[Array, Array]:
    r"""Return how far the distribution of words moves, and how the probability of the likeliest word changes.

    .. math:: D(p\,\|\,p') = \sum_w p_w \ln\frac{p_w}{p'_w}

    Parameters
    ----------
    scores : array (1 + changes, words)
        Logarithms of probabilities, without a change first.
    """
    first = scores[0]
    apart = first - scores[1:]
    divergence = np.where(np.isfinite(first), np.exp(first) * apart, 0.0).sum(axis=1)
    top = int(first.argmax())
    return np.maximum(divergence, 0.0), np.exp(scores[1:, top]) - np.exp(first[top])
