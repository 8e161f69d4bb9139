"""Pictures to rows of numbers, layer by layer: image encoders and vision towers of transformers, and networks here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from genlaws.core.errors import InputError
from genlaws.models.untrained import untrained_copy
from genlaws.probes.encoders.pooling import pool_places
from genlaws.probes.encoders.stimuli import EmbeddingStimuli
from genlaws.probes.encoders.text import Rows, dtype_name, has_two_towers, joined, layer_name, pooled_output, to_rows
from genlaws.semanticity.networks.extractors import Prepared, ResNet

TRIAL_SIDE = 64  # of the picture with which layers are counted
SMALL_SIDE = 32  # of pictures for a residual network from a file, which is trained on small ones


class _PictureEncoder(ABC):
    """What encoders of pictures have in common: fields ``network``, ``source``, ``batch_size`` and ``weights``."""

    network: Any
    source: str
    batch_size: int

    @abstractmethod
    def _pass(self, pictures: Sequence[Image.Image]) -> dict[str, Rows]:
        """Return the rows of each layer."""

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """Names of the layers, from the first to the last."""
        return tuple(self._pass([Image.new("RGB", (TRIAL_SIDE, TRIAL_SIDE))]))

    def embed(self, stimuli: EmbeddingStimuli | Sequence[Image.Image]) -> dict[str, Rows]:
        """Return an array for each layer, one row for each picture."""
        return joined(self._pass(some) for some in _batches(stimuli, self.source, self.batch_size))

    def with_random_weights(self, seed: int = 0) -> Self:
        """Return the same architecture with weights as before any training; this one stays as it is."""
        fresh = untrained_copy(self.network, seed).eval()
        return replace(self, network=fresh, weights=f"random weights, seed={seed}")  # type: ignore[type-var]


@dataclass(frozen=True)
class ImageEncoder(_PictureEncoder):
    """A network of transformers from pictures to rows of numbers, one for each layer.

    Layers are ``embeddings``, ``layer 1`` and so on, each the mean (or another pooling) over patches, the class token
    included, or over the places of a map; ``first`` is the class token where there is one. Then follows ``output``,
    the last layer after its final normalization, or ``projection`` for a network with a tower for texts and one for
    images.

    Attributes
    ----------
    network, processor : object
        As transformers loads them; the network on its device, in evaluation mode.
    source : str
        What the network is called.
    pooling : {"mean", "last", "first", "max"}
    batch_size : int
        Pictures of one pass.
    weights : str
        ``trained``, or how they were made otherwise.
    """

    network: Any
    processor: Any
    source: str
    pooling: str = "mean"
    batch_size: int = 32
    weights: str = "trained"

    @property
    def name(self) -> str:
        """The source and the settings that change its numbers."""
        return f"image:{self.source} [{dtype_name(self.network)}, pooling={self.pooling}, {self.weights}]"

    @torch.inference_mode()
    def _pass(self, pictures: Sequence[Image.Image]) -> dict[str, Rows]:
        one = next(iter(self.network.parameters()))
        processed = self.processor(images=list(pictures), return_tensors="pt")["pixel_values"]
        pixels = processed.to(device=one.device, dtype=one.dtype)
        towers = has_two_towers(self.network)
        seen = (self.network.vision_model if towers else self.network)(pixel_values=pixels, output_hidden_states=True)
        found = {layer_name(depth): pool_places(state, self.pooling) for depth, state in enumerate(seen.hidden_states)}
        if towers:
            found["projection"] = pooled_output(self.network.get_image_features(pixel_values=pixels))
        else:
            found["output"] = pool_places(seen.last_hidden_state, self.pooling)
        return {layer: to_rows(rows) for layer, rows in found.items()}


@dataclass(frozen=True)
class ExtractorEncoder(_PictureEncoder):
    """A feature extractor of :mod:`genlaws.semanticity.networks.extractors` as an encoder of pictures.

    Its last layer is ``features``; a residual network for small images has its stages before it, each the mean over
    places.

    Attributes
    ----------
    network : Prepared
        On its device, in evaluation mode.
    source : str
    batch_size : int
    weights : str
    """

    network: Prepared
    source: str
    batch_size: int = 32
    weights: str = "trained"

    @property
    def name(self) -> str:
        """The source and the settings that change its numbers."""
        return f"image:{self.source} [{dtype_name(self.network)}, {self.weights}]"

    @torch.inference_mode()
    def _pass(self, pictures: Sequence[Image.Image]) -> dict[str, Rows]:
        side = self.network.image_size or SMALL_SIDE
        table = np.stack([np.asarray(one.convert("RGB").resize((side, side)), dtype=np.float32) for one in pictures])
        weight = next(iter(self.network.parameters()))
        images = torch.from_numpy(table).permute(0, 3, 1, 2).to(device=weight.device, dtype=weight.dtype) / 255.0
        inside = self.network.network
        stages = inside.stages if isinstance(inside, ResNet) else []
        found: dict[str, Rows] = {}

        def record(name: str) -> Any:
            """Return a hook that records the output of a stage."""

            def hook(module: object, given: object, output: Tensor) -> None:
                """Record the mean over places."""
                found[name] = to_rows(pool_places(output, "mean"))

            return hook

        with ExitStack() as stack:
            for stage in stages:
                stack.enter_context(inside.get_submodule(stage).register_forward_hook(record(stage)))
            features = self.network(images)
        return {**found, "features": to_rows(pool_places(features, "mean"))}


def _batches(
    stimuli: EmbeddingStimuli | Sequence[Image.Image], source: str, size: int
) -> Iterator[Sequence[Image.Image]]:
    """Yield pictures, so many at a time."""
    given: Any = stimuli.contents if isinstance(stimuli, EmbeddingStimuli) else stimuli
    if isinstance(given, str) or not len(given) or not all(isinstance(one, Image.Image) for one in given):
        raise InputError(f"stimuli must be PIL images for {source}; it was loaded as an image encoder.")
    for start in range(0, len(given), size):
        yield given[start : start + size]
