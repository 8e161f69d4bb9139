"""Texts to rows of numbers, layer by layer: encoders, sentence encoders, decoders and text towers of transformers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from genlaws.core.errors import InputError
from genlaws.models.passes import PADDING, padded
from genlaws.models.untrained import untrained_copy
from genlaws.probes.encoders.pooling import SentenceHead, pool_states
from genlaws.probes.encoders.stimuli import EmbeddingStimuli

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class TextEncoder:
    """A network of transformers from texts to rows of numbers, one for each layer.

    Layers are ``embeddings``, ``layer 1`` and so on, each the mean (or another pooling) over all tokens, those that the
    tokenizer adds included. The last layer of a decoder comes after its final normalization. Then follows
    ``projection`` for a network with a tower for texts and one for images, or ``output`` for a sentence encoder: what
    its own pooling makes of the last layer.

    Attributes
    ----------
    network, tokenizer : object
        As transformers loads them; the network on its device, in evaluation mode.
    source : str
        What the network is called.
    pooling : {"mean", "last", "first", "max"}
    batch_size : int
        Texts of one pass.
    head : SentenceHead or None
    weights : str
        ``trained``, or how they were made otherwise.
    """

    network: Any
    tokenizer: Any
    source: str
    pooling: str = "mean"
    batch_size: int = 32
    head: SentenceHead | None = None
    weights: str = "trained"

    @property
    def name(self) -> str:
        """The source and the settings that change its numbers."""
        return f"text:{self.source} [{dtype_name(self.network)}, pooling={self.pooling}, {self.weights}]"

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """Names of the layers, from the first to the last."""
        return tuple(self._pass([self._tokens("a")]))

    def embed(self, stimuli: EmbeddingStimuli | Sequence[str]) -> dict[str, Rows]:
        """Return an array for each layer, one row for each text. Texts of similar length are read together."""
        given = stimuli.contents if isinstance(stimuli, EmbeddingStimuli) else stimuli
        if isinstance(given, str) or not len(given) or not all(isinstance(one, str) for one in given):
            raise InputError(f"stimuli must be a list of texts for {self.source}; it was loaded as a text encoder.")
        rows = [self._tokens(str(text)) for text in given]
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        starts = range(0, len(order), self.batch_size)
        found = joined(self._pass([rows[at] for at in order[start : start + self.batch_size]]) for start in starts)
        back = np.argsort(order)
        return {layer: values[back] for layer, values in found.items()}

    def with_random_weights(self, seed: int = 0) -> TextEncoder:
        """Return the same architecture with weights as before any training; this one stays as it is."""
        head = None if self.head is None else self.head.with_random_weights(seed)
        weights = f"random weights, seed={seed}"
        return replace(self, network=untrained_copy(self.network, seed).eval(), head=head, weights=weights)

    @property
    def _tower(self) -> Any:
        """The part that reads texts."""
        if has_two_towers(self.network):
            return self.network.text_model
        alone = not getattr(self.network.config, "is_encoder_decoder", False)
        return self.network if alone else self.network.get_encoder()

    def _tokens(self, text: str) -> list[int]:
        tokens: list[int] = list(self.tokenizer(text)["input_ids"])
        if not tokens:
            raise InputError(f"A text must have at least one token; {text!r} has none.")
        most = getattr(self._tower.config, "max_position_embeddings", None)
        if most is not None and len(tokens) > most:
            raise InputError(f"{self.source} reads at most {most} tokens; a text has {len(tokens)}.")
        return tokens

    @torch.inference_mode()
    def _pass(self, rows: Sequence[list[int]]) -> dict[str, Rows]:
        given, mask = self._padded(rows)
        tower = self._tower
        states = tower(**given, output_hidden_states=True).hidden_states
        found = {layer_name(depth): pool_states(state, mask, self.pooling) for depth, state in enumerate(states)}
        if tower is not self.network and has_two_towers(self.network):
            found["projection"] = pooled_output(self.network.get_text_features(**given))
        elif self.head is not None:
            found["output"] = self.head.rows(states[-1], mask)
        return {layer: to_rows(one) for layer, one in found.items()}

    def _padded(self, rows: Sequence[list[int]]) -> tuple[dict[str, Tensor], Tensor]:
        """Return what the network reads, and which tokens are real.

        Padding is on the right and masked. SigLIP is trained on texts of full length without a mask, and its features
        are those of the last place, padding or not.
        """
        full = str(self.network.config.model_type).startswith("siglip")
        width = self._tower.config.max_position_embeddings if full else None
        padding = getattr(self.tokenizer, "pad_token_id", None)
        place = next(iter(self.network.parameters())).device
        tokens, mask = padded(rows, place, width=width, filling=PADDING if padding is None else padding)
        return ({"input_ids": tokens} if full else {"input_ids": tokens, "attention_mask": mask}), mask


def joined(batches: Iterable[Mapping[str, Rows]]) -> dict[str, Rows]:
    """Return the rows of each layer of all batches."""
    found: dict[str, list[Rows]] = {}
    for batch in batches:
        for layer, rows in batch.items():
            found.setdefault(layer, []).append(rows)
    return {layer: np.concatenate(parts) for layer, parts in found.items()}


def has_two_towers(network: Any) -> bool:
    """Return whether a network has one tower for texts and one for images, as CLIP and SigLIP have."""
    parts = ("text_model", "vision_model", "get_text_features", "get_image_features")
    return all(hasattr(network, part) for part in parts)


def pooled_output(found: Any) -> Tensor:
    """Return the features of a tower; older versions of transformers return them directly."""
    return found if isinstance(found, Tensor) else found.pooler_output


def layer_name(depth: int) -> str:
    """Return the name of a layer; 0 stands for the embeddings."""
    return f"layer {depth}" if depth else "embeddings"


def to_rows(values: Tensor) -> Rows:
    """Return a tensor as a numpy array in single precision."""
    return values.float().cpu().numpy()


def dtype_name(network: Any) -> str:
    """Return the name of the dtype of a network."""
    return str(next(iter(network.parameters())).dtype).removeprefix("torch.")
