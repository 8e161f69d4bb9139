"""Read the residual stream of a model while it runs, with hooks that are removed again, and check its identity.

Nothing of the model is moved, changed or copied. At every site the states of the chosen tokens are read; between two
sites what is written is read as well. Every pass checks that each state follows from the one before and the writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from genlaws.core.arguments import Whole
from genlaws.core.errors import InputError
from genlaws.models.architecture import TransformerArchitecture, architecture_of, chosen_sites
from genlaws.models.stream import Positions, Site, places_of

MAX_ROUNDINGS = 4  # units of rounding of the model's numbers; a sum of three numbers makes at most two
States = NDArray[np.float32]


@contextmanager
def captured(
    model: nn.Module,
    *,
    sites: Sequence[Site | str] | None = None,
    layers: Sequence[int] | None = None,
    positions: Positions = "all",
    numbers: Sequence[int] | None = None,
) -> Iterator[Recorder]:
    """Read the residual stream of every pass of a model inside the ``with``.

    Parameters
    ----------
    model : torch.nn.Module
        A decoder or encoder of transformers, on any device and of any precision. Call this very object.
    sites : sequence of Site or str, optional
        Sites, their names such as ``3.mlp``, or places such as ``attention``; all of them if not given.
    layers : sequence of int, optional
        Blocks whose sites are recorded; the end has the number of blocks as its layer.
    positions : {"last", "all", "sample"}, int, TokenSample, or sequence
        Tokens, counted from the first that the attention mask admits.
    numbers : sequence of int, optional
        Numbers of the texts of a pass in error messages.

    Raises
    ------
    InputError
        From here, if the architecture is unknown or dropout is active; from the pass, if states are not finite or the
        residual identity fails.
    """
    architecture = architecture_of(model)
    recorder = Recorder(architecture, chosen_sites(architecture.sites, sites, layers), positions, numbers)
    refuse_dropout(model)
    handles: list[Any] = []
    try:
        recorder.attach(model, handles)
        yield recorder
    finally:
        for handle in handles:
            handle.remove()


def refuse_dropout(model: nn.Module) -> None:
    """Refuse a model that drops states at random, in which the stream differs from pass to pass."""
    active = any(isinstance(part, nn.Dropout) and part.training and part.p > 0 for part in model.modules())
    settings = vars(model.config) if model.training and hasattr(model, "config") else {}
    rates = [value for name, value in settings.items() if "drop" in name and isinstance(value, float)]
    if active or any(rate > 0 for rate in rates):
        raise InputError("model must not drop states at random; it is training with dropout. Call its eval() first.")


class Recorder:
    """States of the passes since they were last taken.

    Attributes
    ----------
    sites : tuple of Site
        The ones that are recorded.
    identity : str
        What is checked, such as ``next = this + write``.
    identity_error : float
        Largest distance from it so far, over all sites and tokens, in units of the longer of the two states.
    """

    def __init__(
        self,
        architecture: TransformerArchitecture,
        sites: tuple[Site, ...],
        positions: Positions,
        numbers: Sequence[int] | None = None,
    ) -> None:
        self.architecture = architecture
        self.sites = sites
        self.identity = architecture.identity
        self.identity_error = 0.0
        self._positions = positions
        self._numbers = numbers
        self._passes: list[Tensor] = []
        self._texts: list[Whole] = []
        self._seen = 0
        self._clear(-1)

    def attach(self, model: nn.Module, handles: list[Any]) -> None:
        """Set the hooks; each is put into `handles` as soon as it is set."""
        handles.append(model.register_forward_pre_hook(self._begins, with_kwargs=True))
        for place, step in enumerate(self.architecture.steps):
            handles.append(step.reader.register_forward_pre_hook(partial(self._reads, place), with_kwargs=True))
            handles.extend(writer.register_forward_hook(self._writes) for writer in step.writers)
            if step.norm is not None:
                handles.append(step.norm.register_forward_pre_hook(self._sums))
                handles.append(step.norm.register_forward_hook(self._norms))
        handles.append(self.architecture.last.register_forward_hook(self._ends))

    def text_numbers(self) -> Whole:
        """Return the text of each row that `take` would return, counted over its passes."""
        return np.concatenate(self._texts) if self._texts else np.empty(0, dtype=np.int64)

    def take(self) -> States:
        """Return the states (rows, sites, units) in float32 and forget them."""
        passes = [one.float().cpu().numpy() for one in self._finished()]
        return passes[0] if len(passes) == 1 else np.concatenate(passes)

    def take_tensor(self) -> Tensor:
        """Return the states (rows, sites, units) where they are and as precise as they are, and forget them."""
        passes = self._finished()
        return passes[0] if len(passes) == 1 else torch.cat(passes)

    def _finished(self) -> list[Tensor]:
        """Return the passes and start again."""
        passes, self._passes, self._texts, self._seen = self._passes, [], [], 0
        if not passes:
            reached = "no pass of the model was seen; call the model that was given"
            if self._next >= 0:
                reached = f"a pass never reached the site {self.architecture.sites[self._next].name}"
            raise InputError(f"There are no states to take: {reached}.")
        return passes

    def _clear(self, following: int) -> None:
        """Forget an unfinished pass."""
        self._next = following
        self._states = torch.empty(0)
        self._written: list[Tensor] = []
        self._before = self._length = torch.empty(0)
        self._normed: Tensor | None = None
        self._errors: list[Tensor] = []
        self._finite: list[Tensor] = []

    def _begins(self, model: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Find which tokens of this pass are read."""
        tokens = next((one for one in (*given, *named.values()) if isinstance(one, Tensor) and one.ndim >= 2), None)
        if tokens is None:
            raise InputError("The model must be given its tokens as a tensor (texts, tokens).")
        shape = tuple(tokens.shape[:2])
        mask = named.get("attention_mask")
        if mask is None and len(given) > 1 and isinstance(given[1], Tensor):
            mask = given[1]
        firsts, lengths = _spans(mask, shape)
        places = places_of(self._positions, lengths)
        counts = [len(one) for one in places]
        if not sum(counts):
            raise InputError("positions must choose at least one token of a pass; they choose none.")
        self._text = np.repeat(np.arange(shape[0]), counts)
        columns = np.concatenate(places) + np.repeat(firsts, counts)
        self._rows = torch.from_numpy(self._text * shape[1] + columns)
        self._shape = shape
        self._clear(0)

    def _reads(self, place: int, module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Read the state at a site from what a module is given."""
        self._state(place, given[0] if given else named["hidden_states"])

    def _ends(self, module: nn.Module, given: Any, found: Any) -> None:
        """Read the state after the last block, and check the pass."""
        self._state(len(self.architecture.steps), found)
        self._judge()
        self._passes.append(self._states)
        self._texts.append(self._text + self._seen)
        self._seen += self._shape[0]
        self._clear(-1)

    def _writes(self, module: nn.Module, given: Any, found: Any) -> None:
        """Read what is added to the state."""
        self._written.append(self._picked(found))

    def _sums(self, module: nn.Module, given: tuple[Any, ...]) -> None:
        """Read the sum that a post-norm is given and compare it with its parts."""
        total = self._picked(given)
        self._errors.append(_distance(total, self._before, self._written, _length(total), self._length))
        self._written = []

    def _norms(self, module: nn.Module, given: Any, found: Any) -> None:
        """Read what a post-norm gives, which must be the next state."""
        self._normed = self._picked(found)

    def _state(self, place: int, given: Any) -> None:
        """Record a state, and compare it with what the last one and the writes give."""
        site = self.architecture.sites[place]
        if place != self._next:
            due = "no site" if self._next < 0 else self.architecture.sites[self._next].name
            raise InputError(
                f"The pass came to the site {site.name} when {due} was due; call the model that was given."
            )
        state = self._picked(given)
        length = _length(state)
        if place:
            self._compare(state, length)
        self._before, self._length, self._next = state, length, place + 1
        self._finite.append(length.isfinite().all())
        if not place:
            self._states = state.new_empty((len(state), len(self.sites), state.shape[-1]))
        if site in self.sites:
            self._states[:, self.sites.index(site)] = state

    def _compare(self, state: Tensor, length: Tensor) -> None:
        """Note how far a state is from what the one before and the writes give."""
        if self._normed is None:
            self._errors.append(_distance(state, self._before, self._written, length, self._length))
        else:
            apart = _distance(state, self._normed, [], length, length)
            self._errors[-1] = torch.maximum(self._errors[-1].to(apart.device), apart)
        self._written, self._normed = [], None

    def _picked(self, given: Any) -> Tensor:
        """Return the chosen tokens' rows of a module's input or output, as a copy."""
        state: Tensor = given[0] if isinstance(given, tuple | list) else given
        if self._next < 0:
            raise InputError("A block was run on its own; inside captured, call the model that was given.")
        if tuple(state.shape[:-1]) != self._shape:
            shape = tuple(state.shape)
            raise InputError(f"A block works on states of shape {shape}, not on {self._shape} tokens one by one.")
        return state.detach().flatten(0, 1).index_select(0, self._rows.to(state.device))

    def _judge(self) -> None:
        """Refuse a pass with states that are not finite, or in which the identity fails."""
        finite = torch.stack([one.cpu() for one in self._finite]).tolist()
        sites = self.architecture.sites
        if not all(finite):
            first = sites[finite.index(False)].name
            raise InputError(
                f"The activations are not finite numbers from the site {first} on{self._format_texts()}. Half "
                f"precision may be too narrow for this model (try float32 or bfloat16), or its weights are not finite."
            )
        errors = torch.stack([one.cpu() for one in self._errors])
        worst = int(errors.argmax())
        error, tolerance = float(errors[worst]), MAX_ROUNDINGS * torch.finfo(self._before.dtype).eps
        if not error <= tolerance:
            kind = str(self._before.dtype).removeprefix("torch.")
            raise InputError(
                f"The residual identity {self.identity} fails after the site {sites[worst].name}: relative error "
                f"{error:.2g}, at most {tolerance:.2g} in {kind}. The model changes what its blocks add, perhaps by a "
                f"factor, so its stream cannot be read as a sum of writes."
            )
        self.identity_error = max(self.identity_error, error)

    def _format_texts(self) -> str:
        """Return the texts of the pass, as far as they are known."""
        if self._numbers is None:
            return ""
        return f" (a batch with the texts {', '.join(map(str, self._numbers[:8]))})"


def _spans(mask: Tensor | None, shape: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Return where the tokens of each text begin, and how many they are."""
    if mask is None:
        return [0] * shape[0], [shape[1]] * shape[0]
    if tuple(mask.shape) != shape:
        raise InputError(
            f"attention_mask must have the shape of the tokens, {shape}; got {tuple(mask.shape)}. Texts are read "
            f"whole, without a cache."
        )
    real = mask.bool().cpu().numpy()
    firsts, lengths = real.argmax(axis=1), real.sum(axis=1)
    for number, row in enumerate(real):
        if not lengths[number] or not row[firsts[number] :][: lengths[number]].all():
            raise InputError(
                f"attention_mask must admit one unbroken run of tokens in each text; text {number} has none."
            )
    return firsts.tolist(), lengths.tolist()


def _length(state: Tensor) -> Tensor:
    """Return the length of each row; it is finite if and only if the row is."""
    kind = torch.float64 if state.dtype == torch.float64 else torch.float32
    length: Tensor = torch.linalg.vector_norm(state, dim=-1, dtype=kind)
    return length


def _distance(state: Tensor, before: Tensor, written: Sequence[Tensor], now: Tensor, last: Tensor) -> Tensor:
    """Return the largest distance of a state from the sum of its parts, in units of the longer of two lengths."""
    apart = state.to(now.dtype, copy=True)
    for part in (before, *written):
        apart -= part.to(state.device)
    longer = torch.maximum(now, last.to(now.device)).clamp(min=torch.finfo(now.dtype).tiny)
    return (_length(apart) / longer).amax()
