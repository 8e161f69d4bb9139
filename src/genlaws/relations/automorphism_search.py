r"""Count the automorphisms of a coloured graph by fixing elements one by one.

By the orbit-stabiliser theorem the number of automorphisms is the product of the numbers of places to which each fixed
element can be moved by automorphisms that keep the elements fixed before it:

.. math:: |\mathrm{Aut}\,G| = \prod_i |\mathrm{orbit}_i(v_i)|

Elements are fixed until the colours around them tell all elements apart. Whether one can be moved to another place is
decided by a search; a permutation counts only after it has been applied to every edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from genlaws.numerics.arguments import Whole
from genlaws.relations.symmetry_reduction import ColouredGraph, scrambled

Codes = NDArray[np.uint64]

FIXED = 0x6C8E9CF570932BD5  # marks the code of a fixed element
OUTWARD, INWARD = np.uint64(0xA0761D6478BD642F), np.uint64(0xE7037ED1A0B428DB)
MOST_WORK = 400_000_000  # edges looked at; some twenty seconds
MOST_LEVELS = 500  # elements to fix; each takes a step of recursion, and more would take too long anyway
OVERHEAD = 2_000  # edges that could be looked at in the time one colouring takes to start


class SearchTooLong(Exception):  # noqa: N818
    """The search would look at more edges than it may."""


@dataclass(frozen=True)
class _Level:
    """Codes before an element is fixed, their sums on the way, and the elements of one code; the first gets fixed."""

    codes: Codes
    sums: list[int]
    rivals: list[int]


@dataclass
class _Search:
    graph: ColouredGraph
    edge_codes: Whole = field(init=False)
    kept: list[int] = field(default_factory=list)
    work: int = 0

    def __post_init__(self) -> None:
        self.edge_codes = np.sort(self.graph.edges[:, 0] * self.graph.size + self.graph.edges[:, 1])

    def settled(self, codes: Codes, wanted: list[int] | None = None) -> tuple[Codes, list[int]]:
        """Return the codes refined by the codes around each element until no more elements are told apart.

        Also returns the sum of the codes after each round; where they leave the `wanted` sums no automorphism can lead
        there, and the refinement stops.
        """
        heads, tails = self.graph.edges.T
        count, sums = len(np.unique(codes)), [int(codes.sum())]
        while wanted is None or sums == wanted[: len(sums)]:
            self.work += len(heads) + OVERHEAD
            if self.work > MOST_WORK:
                raise SearchTooLong
            finer = codes * OUTWARD
            np.add.at(finer, heads, scrambled(codes[tails] ^ OUTWARD))
            np.add.at(finer, tails, scrambled(codes[heads] ^ INWARD))
            finer = scrambled(finer)
            found = len(np.unique(finer))
            if found <= count:
                break
            codes, count = finer, found
            sums.append(int(codes.sum()))
        return codes, sums

    def fixed(self, codes: Codes, element: int, depth: int, wanted: list[int] | None = None) -> tuple[Codes, list[int]]:
        """Return the settled codes after this element has been given one of its own, another at each depth."""
        marked = codes.copy()
        marked[element] = scrambled(marked[element : element + 1] ^ scrambled(np.array([FIXED + depth])))[0]
        return self.settled(marked, wanted)

    def levels(self) -> list[_Level]:
        """Return the elements to fix, in their order; at the last level all codes differ and there is none."""
        codes, sums = self.settled(scrambled(self.graph.colours))
        found: list[_Level] = []
        while True:
            rivals = _smallest_cell(codes)
            found.append(_Level(codes, sums, rivals))
            if not rivals:
                return found
            if len(found) > MOST_LEVELS:
                raise SearchTooLong
            codes, sums = self.fixed(codes, rivals[0], len(found))

    def keeps_all(self, image: Whole) -> bool:
        """Return whether a permutation keeps the colours, the elements fixed so far, and every edge."""
        self.work += len(self.graph.edges)
        moved = image[self.graph.edges]
        return (
            np.array_equal(self.graph.colours[image], self.graph.colours)
            and image[self.kept].tolist() == self.kept
            and np.array_equal(np.sort(moved[:, 0] * self.graph.size + moved[:, 1]), self.edge_codes)
        )

    def moves(self, levels: list[_Level], depth: int, codes: Codes, place: int) -> Whole | None:
        """Return a permutation that carries the codes of this level to `codes` and its element to `place`.

        An automorphism carries codes to equal codes, so where all differ there is one candidate, and it is checked.
        """
        after = levels[depth + 1]
        there, sums = self.fixed(codes, place, depth + 1, after.sums)
        if sums != after.sums or not np.array_equal(np.sort(there), np.sort(after.codes)):
            return None
        if not after.rivals:
            image = np.empty(self.graph.size, dtype=np.int64)
            image[np.argsort(after.codes)] = np.argsort(there)
            return image if self.keeps_all(image) else None
        for candidate in np.flatnonzero(there == after.codes[after.rivals[0]]).tolist():
            found = self.moves(levels, depth + 1, there, candidate)
            if found is not None:
                return found
        return None


def search_automorphisms(graph: ColouredGraph) -> int:
    """Return the exact number of automorphisms, or raise :class:`SearchTooLong`."""
    search = _Search(graph)
    levels = search.levels()
    generators: list[Whole] = []
    count = 1
    for depth in reversed(range(len(levels) - 1)):
        level = levels[depth]
        search.kept = [earlier.rivals[0] for earlier in levels[:depth]]
        orbits = _Orbits(graph.size)
        for generator in generators:
            orbits.join(generator)
        settled = {orbits.of(level.rivals[0])}
        for place in level.rivals[1:]:
            if orbits.of(place) in settled:
                continue
            found = search.moves(levels, depth, level.codes, place)
            if found is None:
                settled.add(orbits.of(place))
            else:
                generators.append(found)
                orbits.join(found)
                settled = {orbits.of(place) for place in settled}
        home = orbits.of(level.rivals[0])
        count *= sum(orbits.of(place) == home for place in level.rivals)
    return count


class _Orbits:
    """Which elements the automorphisms found so far move onto one another."""

    def __init__(self, size: int) -> None:
        self._above = list(range(size))

    def of(self, element: int) -> int:
        """Return the representative of an element's orbit."""
        above = self._above
        while above[element] != element:
            above[element] = above[above[element]]
            element = above[element]
        return element

    def join(self, permutation: Whole) -> None:
        for element, image in _moved(permutation):
            self._above[self.of(element)] = self.of(image)


def _moved(permutation: Whole) -> Iterator[tuple[int, int]]:
    places = np.flatnonzero(permutation != np.arange(len(permutation)))
    return zip(places.tolist(), permutation[places].tolist(), strict=True)


def _smallest_cell(codes: Codes) -> list[int]:
    """Return the elements of the rarest code that more than one element has; none if all codes differ."""
    values, counts = np.unique(codes, return_counts=True)
    shared = counts > 1
    if not shared.any():
        return []
    rarest = values[shared][np.argmin(counts[shared])]
    return np.flatnonzero(codes == rarest).tolist()
