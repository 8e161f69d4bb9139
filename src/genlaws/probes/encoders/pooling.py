"""Pool the states of a text or a picture into one row of numbers, as named or as a sentence encoder does.

Folders of sentence-transformers list the steps after the last layer (pooling, dense layers, scaling) in
``modules.json``, each with a folder of its own.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from genlaws.core.errors import InputError

# Names in ``1_Pooling/config.json``, in the order in which several are joined.
POOLING_MODES = {
    "cls_token": "first",
    "max_tokens": "max",
    "mean_tokens": "mean",
    "mean_sqrt_len_tokens": "mean_sqrt_len",
    "weightedmean_tokens": "weightedmean",
    "lasttoken": "last",
}
MODE_ALIASES = {"cls": "first", "lasttoken": "last"}  # of newer folders, with pooling_mode: "cls"
NEWER_MODES = ("mean", "max", "mean_sqrt_len_tokens", "weightedmean", *MODE_ALIASES)
POOLING_FOLDER = "1_Pooling"


def pool_states(states: Tensor, mask: Tensor, how: str) -> Tensor:
    r"""Return one row for each text from the states of its tokens.

    .. math:: \bar h = \frac{\sum_t m_t h_t}{\sum_t m_t}

    for ``mean``, with :math:`m_t` 1 for a token and 0 for padding; padding never counts.

    Parameters
    ----------
    states : Tensor of shape (texts, tokens, width)
    mask : Tensor of shape (texts, tokens)
        1 for a token, 0 for padding.
    how : str
        ``mean``, ``last``, ``first``, ``max``; or, as some sentence encoders do, ``mean_sqrt_len`` (the sum over the
        root of the number of tokens) and ``weightedmean`` (later tokens weigh more, in proportion to their place).
    """
    given = states.float()
    there = mask.to(given.dtype).unsqueeze(-1)
    if how in {"first", "last"}:
        places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
        hidden = mask == 0
        at = places.masked_fill(hidden, mask.shape[1]).argmin(1) if how == "first" else (places * mask).argmax(1)
        return given[torch.arange(len(given), device=given.device), at]
    if how == "max":
        return given.masked_fill(there == 0, -torch.inf).amax(1)
    if how == "weightedmean":
        there = there * there.cumsum(1)
    total, weight = (given * there).sum(1), there.sum(1)
    return total / (weight.sqrt() if how == "mean_sqrt_len" else weight)


def pool_places(states: Tensor, how: str) -> Tensor:
    """Return one row for each picture from states of its patches, (N, patches, width), or maps, (N, width, y, x)."""
    if states.ndim == 2:
        return states.float()
    if states.ndim == 4:
        if how not in {"mean", "max"}:
            raise InputError(f"pooling must be mean or max for a network whose layers are maps; got {how!r}.")
        states = states.flatten(2).transpose(1, 2)
    return pool_states(states, torch.ones(states.shape[:2], dtype=torch.long, device=states.device), how)


@dataclass(frozen=True)
class SentenceHead:
    """The steps from the states of the last layer to the embedding of a sentence.

    Attributes
    ----------
    poolings : tuple of str
        As :func:`~genlaws.probes.encoders.pooling.pool_states` takes them; several are joined.
    dense : tuple of modules
        Layers applied after pooling.
    unit_length : bool
        Whether embeddings are scaled to length 1 at the end.
    """

    poolings: tuple[str, ...]
    dense: tuple[nn.Module, ...] = ()
    unit_length: bool = False

    @torch.inference_mode()
    def rows(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the embeddings, one row each, from states of shape (texts, tokens, width)."""
        found = torch.cat([pool_states(states, mask, how) for how in self.poolings], dim=1)
        for layer in self.dense:
            found = layer.to(found.device)(found)
        return nn.functional.normalize(found, dim=1) if self.unit_length else found

    def with_random_weights(self, seed: int) -> SentenceHead:
        """Return a copy whose dense layers have weights drawn anew."""
        layers = copy.deepcopy(self.dense)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for part in (part for layer in layers for part in layer.modules()):
                if isinstance(part, nn.Linear):
                    part.reset_parameters()
        return replace(self, dense=layers)


def sentence_head_of(folder: Path) -> SentenceHead | None:
    """Return the steps that a folder of sentence-transformers lists after its network; None if it lists no pooling."""
    if not (folder / POOLING_FOLDER / "config.json").is_file():
        return None
    listed = folder / "modules.json"
    steps: Any = _json(listed) if listed.is_file() else []
    parts = [(str(step.get("type", "")).rpartition(".")[2], str(step.get("path", ""))) for step in steps]
    unknown = [kind for kind, _ in parts if kind not in {"Transformer", "Pooling", "Dense", "Normalize"}]
    if unknown:
        raise InputError(f"source: {folder} has a step {unknown[0]} after its network, which is not known here.")
    return SentenceHead(
        _poolings(folder / POOLING_FOLDER / "config.json"),
        tuple(_dense(folder / path) for kind, path in parts if kind == "Dense"),
        any(kind == "Normalize" for kind, _ in parts),
    )


def _poolings(file: Path) -> tuple[str, ...]:
    config = _json(file)
    newer = config.get("pooling_mode")
    if newer is not None:
        names = [newer] if isinstance(newer, str) else list(newer)
        if not names or any(name not in NEWER_MODES for name in names):
            raise InputError(f"{file} must name a pooling among {', '.join(NEWER_MODES)}; got {newer!r}.")
        return tuple(MODE_ALIASES.get(name, name.removesuffix("_tokens")) for name in names)
    found = tuple(how for name, how in POOLING_MODES.items() if config.get(f"pooling_mode_{name}"))
    if not found:
        raise InputError(f"{file} must name a pooling among {', '.join(POOLING_MODES)}; it names none.")
    return found


def _dense(folder: Path) -> nn.Module:
    """Return a dense layer with its activation."""
    config = _json(folder / "config.json")
    activation = getattr(nn, str(config.get("activation_function", "Identity")).rpartition(".")[2], None)
    file = folder / "pytorch_model.bin"
    try:
        linear = nn.Linear(config["in_features"], config["out_features"], bias=bool(config.get("bias", True)))
        if (folder / "model.safetensors").is_file():
            from safetensors.torch import load_file  # noqa: PLC0415

            weights = load_file(folder / "model.safetensors")
        else:
            weights = torch.load(file, map_location="cpu", weights_only=True)
        linear.load_state_dict({name.removeprefix("linear."): one.float() for name, one in weights.items()})
    except (OSError, KeyError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split())[:160].rstrip(".")
        raise InputError(f"source: the dense layer in {folder} could not be read: {reason}.") from None
    if not (isinstance(activation, type) and issubclass(activation, nn.Module)):
        raise InputError(f"source: {folder} names an activation that torch does not have.")
    return nn.Sequential(linear, activation()).eval()


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} must be JSON: {' '.join(str(error).split()).rstrip('.')}.") from None
