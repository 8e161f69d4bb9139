"""The measures that train a network on the states, or run the model with its state changed, as fields of an analysis.

Torch is reached when a function runs, not when this module is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from genlaws.residual_stream.projected_paths import pooled_axes
from genlaws.residual_stream.stream import Site, Stream
from genlaws.residual_stream.stream_measures import AXES, Found, Recorded
from genlaws.residual_stream.texts import Tokens

if TYPE_CHECKING:
    from torch import nn

PAPER_RATIO = (2.0 / 4096.0) ** (1.0 / 9.0)  # of the sizes of successive layers of the autoencoder
RESTARTS = 3
FEWEST_TO_COMPRESS = 4
DISTURBED_LAYERS = 5  # from the first to the last, as in the paper
DISTURBED_TEXTS, LYAPUNOV_TEXTS = 8, 2
DIRECTIONS = 4  # leading Lyapunov exponents
GRID = 10  # points along a side
TELEPORT_STEPS = 12
PROMPT = "I'm sorry, Dave. I'm afraid I can't do that."

Advance = Callable[[int], object]


def encoder_layers(units: int) -> int:
    """Return how many layers an encoder has whose sizes shrink by the paper's factor, 0.43, to two units."""
    return max(2, 1 + round(math.log(AXES / units) / math.log(PAPER_RATIO))) if units > AXES else 2


def measure_compression(given: Recorded, *, device: str = "cpu", advance: Advance | None = None) -> Found:
    """Return what an autoencoder with two units in its middle keeps of the states, as they are and normalised."""
    if given.text_count < FEWEST_TO_COMPRESS:
        return {}, [f"Compression needs at least {FEWEST_TO_COMPRESS} texts; there are {given.text_count}."]
    from genlaws.residual_stream.compression import compress  # noqa: PLC0415 - torch

    options: dict[str, Any] = {
        "layers": encoder_layers(given.stream.unit_count),
        "bottleneck": min(AXES, given.stream.unit_count),
        "restarts": RESTARTS,
        "seed": given.seed,
        "texts": given.texts,
        "device": device,
    }
    found = {}
    for name, normalise in (("compression", False), ("compression_normalised", True)):
        found[name] = compress(given.stream, normalise=normalise, **options)
        if advance is not None:
            advance(1)
    return found, [one.message for one in found.values()]


@dataclass(frozen=True)
class Disturbed:
    """A model whose state is to be changed, and on which texts.

    Attributes
    ----------
    model : torch.nn.Module
    tokens : Tokens
    prompt : Tokens
        Of the one text that is teleported.
    stream : Stream
        Of the same model, whose principal plane is used.
    seed : int
    """

    model: nn.Module
    tokens: Tokens
    prompt: Tokens
    stream: Stream
    seed: int

    @property
    def sites(self) -> list[Site]:
        """Sites before the attention, or the block, of a few layers from the first to the last."""
        firsts = [site for site in self.stream.sites if site.place in ("attention", "block")]
        chosen = np.unique(np.linspace(0, len(firsts) - 1, DISTURBED_LAYERS).round().astype(int))
        return [firsts[one] for one in chosen]


def measure_perturbation(given: Disturbed, *, exponents: bool = True, advance: Advance | None = None) -> Found:
    """Return how disturbances at a few layers go on, teleports from the same layers, and Lyapunov exponents.

    Parameters
    ----------
    given : Disturbed
    exponents : bool
        Whether to find the Lyapunov exponents too, which takes the longest.
    advance : callable, optional
        Called with 1 after each text, teleport and spectrum; see `perturbation_work`.
    """
    from genlaws.residual_stream.lyapunov import lyapunov  # noqa: PLC0415 - torch
    from genlaws.residual_stream.perturbation import perturb  # noqa: PLC0415 - torch
    from genlaws.residual_stream.teleports import square_grid, teleport  # noqa: PLC0415 - torch

    plane = pooled_axes(given.stream, min(AXES, given.stream.unit_count))
    some = _first(given.tokens, DISTURBED_TEXTS)
    disturbed = perturb(given.model, some, sites=given.sites, plane=plane, seed=given.seed, advance=advance)
    reach = float(np.median(np.abs(plane.coordinates(given.stream)).max(axis=(0, 2))))
    grid = square_grid(-reach, reach, GRID)
    teleports = []
    for keep_rest in (False, True):
        for site in given.sites:
            options: dict[str, Any] = {"keep_rest": keep_rest, "steps": TELEPORT_STEPS}
            teleports.append(teleport(given.model, given.prompt, plane, grid, site, **options))
            if advance is not None:
                advance(1)
    found: dict[str, Any] = {"perturbation": disturbed, "teleports": tuple(teleports)}
    if exponents:
        few = _first(given.tokens, LYAPUNOV_TEXTS)
        starts = lyapunov_sites(given.sites)
        options = {"directions": DIRECTIONS, "seed": given.seed, "advance": advance}
        found["lyapunov"] = tuple(lyapunov(given.model, few, site, **options) for site in starts)
    spectra = found.get("lyapunov", ())
    said = dict.fromkeys([disturbed.message, *(one.message for one in spectra)])
    return found, [one for one in said if one]


def lyapunov_sites(sites: Sequence[Site]) -> list[Site]:
    """Return the first of some sites and the one in their middle."""
    return [sites[one] for one in sorted({0, len(sites) // 2})]


def perturbation_work(given: Disturbed, *, exponents: bool = True) -> int:
    """Return how many times `measure_perturbation` tells that it went on."""
    texts = min(DISTURBED_TEXTS, len(given.tokens.ids))
    few = min(LYAPUNOV_TEXTS, len(given.tokens.ids)) * len(lyapunov_sites(given.sites))
    return texts + 2 * len(given.sites) + (few if exponents else 0)


def _first(tokens: Tokens, count: int) -> Tokens:
    """Return the first so many texts."""
    return Tokens(tokens.ids[:count], tokens.heads[:count], tokens.tails[:count])
