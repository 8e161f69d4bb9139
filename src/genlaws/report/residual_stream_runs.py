"""What the report on the residual stream runs: walks drawn beside their laws, and streams beside walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from genlaws.numerics.errors import InputError
from genlaws.numerics.intervals import Estimate, from_standard_error
from genlaws.residual_stream.beside_walk import BesideWalk, beside_walk, path_shares_of
from genlaws.residual_stream.correlations import unit_correlations
from genlaws.residual_stream.example_texts import example_texts
from genlaws.residual_stream.portraits import rotations
from genlaws.residual_stream.walks import draw_walk, geometric_walk

PERSISTENCES = (0.0, 0.4)
GROWTH = 20.0
PLANE = 2  # components


@dataclass(frozen=True)
class Compared:
    """One number of a law beside runs.

    Attributes
    ----------
    name : str
    at : float
        Where on the picture's axis.
    theory : float
    run : Estimate
    z : float
        Distance in standard errors.
    """

    name: str
    at: float
    theory: float
    run: Estimate
    z: float


@dataclass(frozen=True)
class WalkRuns:
    """Walks drawn for this report: turns by persistence, correlations, and shares of the path."""

    turns: dict[float, tuple[Compared, ...]]
    correlation: tuple[Compared, ...]
    shares: tuple[Compared, ...]

    @property
    def all(self) -> tuple[Compared, ...]:
        """All comparisons."""
        return (*(one for part in self.turns.values() for one in part), *self.correlation, *self.shares)


def draw_walks(sites: tuple[int, ...], units: int, walks: int, seed: int) -> WalkRuns:
    """Return walks beside their exact laws.

    Parameters
    ----------
    sites : tuple of int
        For the turns.
    units : int
        Of each walk whose turns are counted.
    walks : int
        For the shares.
    seed : int
    """
    generator = np.random.default_rng([seed, 4])
    turns = {phi: tuple(_turns(count, phi, units, generator) for count in sites) for phi in PERSISTENCES}
    return WalkRuns(turns, _correlations(generator), _shares(walks, generator))


def _turns(sites: int, persistence: float, units: int, generator: np.random.Generator) -> Compared:
    walk = geometric_walk(sites, growth=GROWTH, persistence=persistence)
    turned = rotations(draw_walk(walk, 1, units, seed=generator)).as_printed
    return _compared(f"turns in {sites} sites, φ = {persistence:g}", sites, float(walk.turns[-1]), turned)


def _correlations(
    generator: np.random.Generator, sites: int = 32, texts: int = 400, units: int = 48
) -> tuple[Compared, ...]:
    r"""Return r at some steps; that of N texts is too low by r(1 - r²)/2N, which is put into the theory."""
    walk = geometric_walk(sites, growth=GROWTH, persistence=PERSISTENCES[1])
    found = unit_correlations(draw_walk(walk, texts, units, seed=generator)).r
    exact = walk.correlation - walk.correlation * (1.0 - walk.correlation**2) / (2.0 * texts)
    return tuple(_compared(f"r at step {at} of {sites - 1}", at, float(exact[at]), found[at]) for at in (1, 10, 28))


def _shares(walks: int, generator: np.random.Generator, sites: int = 32, units: int = 256) -> tuple[Compared, ...]:
    walk = geometric_walk(sites, growth=GROWTH)
    drawn = np.array([path_shares_of(draw_walk(walk, 1, units, seed=generator).states[0]) for _ in range(walks)])
    exact = walk.path_shares(units)
    return tuple(
        _compared(
            f"share along {k} component{'s' if k > 1 else ''}, {sites} sites", k, float(exact[k - 1]), drawn[:, k - 1]
        )
        for k in (1, PLANE, 4)
    )


def _compared(name: str, at: float, theory: float, drawn: np.ndarray) -> Compared:
    mean, error = float(drawn.mean()), float(drawn.std(ddof=1) / np.sqrt(drawn.size))
    return Compared(name, at, theory, from_standard_error(mean, error, drawn.size), (mean - theory) / error)


@dataclass(frozen=True)
class Streams:
    """Streams of networks beside the walks with their steps, by name, and why some are missing."""

    found: dict[str, BesideWalk]
    colours: dict[str, str]
    accuracy: Estimate | None
    missing: tuple[str, ...]


def run_streams(blocks: int, epochs: int, texts: int, seed: int, advance: Any) -> Streams:
    """Train a network on digits, and read a packaged encoder if it is installed.

    Parameters
    ----------
    blocks, epochs : int
        Of the network.
    texts : int
        For the encoder; it is left out if there are none.
    seed : int
    advance : callable
        Called after each of the two.
    """
    from genlaws.residual_stream.digit_network import digit_stream  # noqa: PLC0415 - torch

    digits = digit_stream(blocks=blocks, epochs=epochs, seed=seed)
    found = {"digits, untrained": beside_walk(digits.untrained), "digits, trained": beside_walk(digits.stream)}
    advance()
    missing: tuple[str, ...] = ()
    if texts:
        try:
            found["MiniLM"] = beside_walk(_encoder_stream(texts))
        except InputError as problem:
            missing = (f"Not compared with a language model: {problem}",)
    advance()
    colours = {"digits, untrained": "sky", "digits, trained": "blue", "MiniLM": "orange"}
    return Streams(found, colours, digits.accuracy, missing)


def _encoder_stream(texts: int) -> Any:
    from genlaws.residual_stream.capture import capture_texts  # noqa: PLC0415 - torch
    from genlaws.semanticity.probes.encoders import load_encoder  # noqa: PLC0415 - torch

    encoder: Any = load_encoder("minilm", kind="text")
    return capture_texts(encoder.network, encoder.tokenizer, list(example_texts(texts))).stream
