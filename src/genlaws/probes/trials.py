"""Trials of a probe: items at places, the place of the probe, and how far each item is from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, one_of, positive, real, whole_number
from genlaws.core.errors import InputError
from genlaws.core.seeds import generator_of
from genlaws.probes.domains import Domain
from genlaws.semanticity.theory.ties import GRID_STEP

TRIAL_KINDS = ("similarity", "identification")
MAX_TRIAL_ITEMS = 100
MAX_TRIALS = 100_000  # of one kind and number of items; each is a prompt
MAX_ITEM_DRAWS = 1000  # of items without a tie before the domain counts as too small


@dataclass(frozen=True)
class ProbeTrial:
    """One question.

    Attributes
    ----------
    kind : {"similarity", "identification", "resolution"}
    items : tuple of str
        In the order in which they are shown.
    places : tuple of float
        Of the items.
    probe : float
        The place that the question is about.
    right : int
        Which item is right: the nearest, or the one at that place.
    """

    kind: str
    items: tuple[str, ...]
    places: tuple[float, ...]
    probe: float
    right: int

    @property
    def distances(self) -> tuple[float, ...]:
        """From the items to the probe."""
        return tuple(abs(place - self.probe) for place in self.places)


def draw_trials(
    domain: Domain,
    kind: str,
    item_count: int,
    trial_count: int,
    *,
    seed: int | np.random.Generator = 0,
) -> list[ProbeTrial]:
    """Return random trials: items at different places in random order, and the place of the probe.

    Parameters
    ----------
    domain : Domain
    kind : {"similarity", "identification"}
        The probe is at a place without an item and with a single nearest item; or at the place of a random item.
    item_count : int from 2 to 100
    trial_count : int
    seed : int or Generator
    """
    one_of("kind", kind, TRIAL_KINDS)
    count = whole_number("item_count", item_count, at_least=2, at_most=MAX_TRIAL_ITEMS)
    # The probe of a similarity trial is at a place without an item.
    most = min(len(domain.carriers), len(domain.places) - (kind == "similarity"))
    if count > most:
        raise InputError(f"item_count must be at most {most} for {kind} in {domain.name}; got {count}.")
    generator = generator_of(seed)
    number = whole_number("trial_count", trial_count, at_least=1, at_most=MAX_TRIALS)
    return [_draw(domain, kind, count, generator) for _ in range(number)]


def _draw(domain: Domain, kind: str, count: int, generator: np.random.Generator) -> ProbeTrial:
    for _ in range(MAX_ITEM_DRAWS):
        chosen = generator.permutation(len(domain.carriers))[:count]
        items = tuple(domain.carriers[one] for one in chosen)
        if domain.own_places:
            places = np.array([domain.own_places[item] for item in items])
        else:
            places = generator.choice(domain.places, size=count, replace=False)
        if len(set(places.tolist())) < count:
            continue  # two cities on one latitude
        if kind == "identification":
            right = int(generator.integers(count))
            return ProbeTrial(kind, items, tuple(places.tolist()), float(places[right]), right)
        probe = float(generator.choice(np.setdiff1d(domain.places, places)))
        away = np.abs(places - probe)
        nearest = np.flatnonzero(np.isclose(away, away.min(), rtol=0.0, atol=GRID_STEP * domain.span))
        if len(nearest) == 1:
            return ProbeTrial(kind, items, tuple(places.tolist()), probe, int(nearest[0]))
    raise InputError(f"{domain.name} has too few places for {count} items with one nearest; use fewer items.")


def draw_resolution_trials(
    domain: Domain,
    half_separations: ArrayLike,
    shifts: ArrayLike,
    trial_count: int,
    *,
    seed: int | np.random.Generator = 0,
) -> list[ProbeTrial]:
    """Return trials with two items at c ± D and the probe at c + δ, for every D and δ.

    Centers c are random such that all three places are in the domain; items are in random order. A shift of 0 is a
    tie and is left out.

    Parameters
    ----------
    domain : Domain
        One whose items are given their places, such as years.
    half_separations, shifts : arrays
        D > 0 and δ, in units of the domain.
    trial_count : int
        For each pair of them.
    """
    if domain.own_places:
        raise InputError(f"The items of {domain.name} have places of their own; the two-anchor test cannot place them.")
    pairs = anchor_pairs(half_separations, shifts)
    number = whole_number("trial_count", trial_count, at_least=1, at_most=MAX_TRIALS)
    generator = generator_of(seed)
    return [_anchored(domain, half, shift, generator) for half, shift in pairs for _ in range(number)]


def anchor_pairs(half_separations: ArrayLike, shifts: ArrayLike) -> list[tuple[float, float]]:
    """Return every half separation with every shift that is not 0; refuse shifts that are all 0."""
    halves = np.atleast_1d(positive("half_separations", half_separations)).ravel().tolist()
    away = np.atleast_1d(real("shifts", shifts)).ravel().tolist()
    pairs = [(half, shift) for half in halves for shift in away if shift != 0]
    if not pairs:
        raise InputError("shifts must hold a number other than 0; a probe in the middle has no nearest item.")
    return pairs


def _anchored(domain: Domain, half: float, shift: float, generator: np.random.Generator) -> ProbeTrial:
    reach = max(half, abs(shift))
    low, high = domain.places[0], domain.places[-1]
    centers = domain.places[(domain.places - reach >= low) & (domain.places + reach <= high)]
    for step in (-half, half, shift):  # a place in between would be written as another
        centers = centers[np.isclose(centers + step, _nearest_place(domain, centers + step), rtol=0.0, atol=1e-9)]
    if not len(centers):
        raise InputError(
            f"half_separations and shifts must lead from a place of {domain.name} to others; got {half:g}, {shift:g}."
        )
    center = float(generator.choice(centers))
    ends = [center - half, center + half]
    order: Sequence[int] = generator.permutation(2).tolist()
    chosen = generator.permutation(len(domain.carriers))[:2]
    places = tuple(ends[one] for one in order)
    probe = center + shift
    right = int(np.argmin([abs(place - probe) for place in places]))
    return ProbeTrial("resolution", tuple(domain.carriers[one] for one in chosen), places, probe, right)


def _nearest_place(domain: Domain, wanted: Array) -> Array:
    after = np.clip(np.searchsorted(domain.places, wanted), 1, len(domain.places) - 1)
    low, high = domain.places[after - 1], domain.places[after]
    return np.where(wanted - low < high - wanted, low, high)
