"""Runs of the report on relations: the exact bound, networks that learn, and representations that merge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.intervals import Estimate
from genlaws.relations import (
    BoundCurve,
    ReponSystem,
    bound_curve,
    class_collision_probability,
    collision_probability,
    named_relation,
    sign_collision_probability,
    simulate_repons,
)

RATES = 1e-2  # of embeddings and decoder of the networks
REPON_TOLERANCE, REPON_STEPS = 1e-7, 1000


@dataclass(frozen=True)
class Networks:
    """Networks trained on shares of a relation.

    Attributes
    ----------
    name : str
        How they answer.
    train_fraction : array of shape (shares,)
    accuracy : array of shape (networks, shares)
        On the whole table in the end.
    """

    name: str
    train_fraction: Array
    accuracy: Array


@dataclass(frozen=True)
class RelationRun:
    """One relation: the exact bound, and networks if there are any.

    Attributes
    ----------
    title : str
    bound : BoundCurve
    networks : tuple of Networks
    """

    title: str
    bound: BoundCurve
    networks: tuple[Networks, ...]


@dataclass(frozen=True)
class RelationSizes:
    """How much is run on a relation."""

    elements: int
    bound_shares: tuple[float, ...]
    bound_repeats: int
    network_shares: tuple[float, ...]
    networks: int
    steps: int


# What each relation is called, and the decoder that has its symmetry built in.
RELATIONS = {"mod3": ("equal modulo 3", "squared_difference"), "less-than": ("less than", "difference")}


def run_relation(
    name: str, sizes: RelationSizes, seed: int, *, with_networks: bool, advance: Callable[[int], object]
) -> RelationRun:
    """Compute the bound on a named relation, and train two kinds of networks on shares of it."""
    title, symmetric = RELATIONS[name]
    relation = named_relation(name, sizes.elements)
    bound = bound_curve(relation, sizes.bound_shares, repeats=sizes.bound_repeats, seed=seed)
    advance(1)
    networks = []
    if with_networks:
        for words, mode, depth in (("two hidden layers", "concatenate", 2), ("symmetry built in", symmetric, 0)):
            networks.append(_train(words, name, sizes, seed, mode=mode, depth=depth))
            advance(1)
    return RelationRun(title, bound, tuple(networks))


def _train(words: str, name: str, sizes: RelationSizes, seed: int, *, mode: str, depth: int) -> Networks:
    """Train networks of one kind on every share; needs torch."""
    from genlaws.relations.relation_network import learn_relation  # noqa: PLC0415

    shares = np.array(sizes.network_shares)
    first, count = 1000 * seed, sizes.networks * len(shares)
    runs = learn_relation(
        named_relation(name, sizes.elements),
        train_fraction=np.tile(shares, sizes.networks),
        seeds=range(first, first + count),
        depth=depth,
        width=30,
        mode=mode,
        encoder_rate=RATES,
        decoder_rate=RATES,
        steps=sizes.steps,
        log_at=(sizes.steps,),
    )
    return Networks(words, shares, runs.final("table_accuracy").reshape(sizes.networks, len(shares)))


@dataclass(frozen=True)
class Merging:
    """How often representations merged at each ratio of the rates.

    Attributes
    ----------
    name, colour : str
    rate_ratio : tuple of float
    found : tuple of Estimate
    law : callable
        The theory, a function of the ratio.
    """

    name: str
    colour: str
    rate_ratio: tuple[float, ...]
    found: tuple[Estimate, ...]
    law: Callable[[Array], Array]


def _pair(dimension: int, outputs: int) -> Callable[[Array], Array]:
    return lambda ratio: collision_probability(
        ratio, 1.0, encoder_scale_of="repon", dimension=dimension, outputs=outputs
    )


KINDS: tuple[tuple[str, str, Callable[[Array], Array], ReponSystem], ...] = (
    ("two, one dimension", "blue", _pair(1, 1), ReponSystem(1.0, 1.0)),
    ("two, two dimensions", "orange", _pair(2, 2), ReponSystem(1.0, 1.0, dimension=2, outputs=2)),
    (
        "a class of five",
        "green",
        lambda ratio: class_collision_probability(ratio, 1.0, class_size=5),
        ReponSystem(1.0, 1.0, class_sizes=(5,)),
    ),
    (
        "two, sign updates",
        "ink",
        lambda ratio: sign_collision_probability(ratio, 1.0, encoder_scale_of="repon"),
        ReponSystem(1.0, 1.0, update="sign"),
    ),
)


def run_merging(
    ratios: tuple[float, ...], draws: int, seed: int, advance: Callable[[int], object]
) -> tuple[Merging, ...]:
    """Draw representations and decoders at random, follow them until they rest, and count what merged."""
    runs = []
    for number, (name, colour, law, system) in enumerate(KINDS):
        rng = np.random.default_rng([seed, 3, number])
        found = []
        for ratio in ratios:
            # The time scale is free: the faster of the two rates is 1.
            rated = replace(system, encoder_rate=min(1.0, ratio), decoder_rate=min(1.0, 1.0 / ratio))
            run = simulate_repons(rated, draws, rng, tolerance=REPON_TOLERANCE, most_steps=REPON_STEPS)
            found.append(run.collision)
        runs.append(Merging(name, colour, ratios, tuple(found), law))
        advance(1)
    return tuple(runs)
