"""Checks of the relations of the relations paper and of their symmetries: laws, relabellings, automorphisms."""

from __future__ import annotations

import math
from itertools import permutations
from time import perf_counter

import numpy as np

from genlaws.claims.claim import Finding
from genlaws.claims.verdict_rules import holds_if
from genlaws.relations import (
    Relation,
    complete_bipartite,
    count_automorphisms,
    description_length_exact,
    less_than,
    modulo,
    properties,
)

N = 30  # elements of the paper
EXACT = 1e-9
LONGEST = 60.0  # seconds that still count as seconds
# What Section II says of each relation.
STATED = {
    "modulo 3": (modulo(N, 3), ("symmetric", "reflexive", "transitive")),
    "modulo 5": (modulo(N, 5), ("symmetric", "reflexive", "transitive")),
    "greater-than": (less_than(N), ("antisymmetric", "transitive")),
    "bipartite": (complete_bipartite(15, 15), ("symmetric",)),
}


def check_stated_properties(quick: bool) -> Finding:
    """Test the laws that Section II names on the tables of Table I."""
    failed = [
        f"{name} is not {law}" for name, (relation, laws) in STATED.items() for law in laws
        if not getattr(properties(relation), law)
    ]  # fmt: skip
    sides = STATED["bipartite"][0].matrix
    two_steps = (sides.astype(int) @ sides.astype(int) > 0) & sides
    order = STATED["greater-than"][0].matrix
    numbers = {
        "laws tested": sum(len(laws) for _, laws in STATED.values()) + 1,
        "laws broken": ", ".join(failed) or "none",
        "pairs of two steps that hold, bipartite": int(two_steps.sum()),
        "the relation called greater-than holds for 0 and 1": str(bool(order[0, 1])),
    }
    return holds_if(
        not failed and not two_steps.any(),
        numbers,
        "All laws hold. What the paper calls greater-than is x < y by its own Table I.",
    )


def check_orbit_formula(quick: bool) -> Finding:
    """Relabel random relations in every way and count the different tables."""
    rng, n, draws = np.random.default_rng(0), 4 if quick else 5, 30 if quick else 200
    orders = [np.array(one) for one in permutations(range(n))]
    relations = [Relation.from_matrix(rng.random((n, n)) < share) for share in rng.uniform(0.1, 0.9, draws)]
    relations += [modulo(n, 2), less_than(n), complete_bipartite(2, n - 2)]
    worst = 0.0
    for relation in relations:
        table = relation.matrix
        copies = len({table[np.ix_(order, order)].tobytes() for order in orders})
        worst = max(worst, abs(math.log2(copies) - description_length_exact(relation)))
    numbers = {"relations": len(relations), "largest difference in bits": worst}
    return holds_if(worst < EXACT, numbers, "log2(n!/|Aut|) is the logarithm of the number of different relabellings.")


def check_bipartite_automorphisms(quick: bool) -> Finding:
    """Count automorphisms of complete bipartite relations, and the constant of the paper's approximation."""
    sizes = [(1, 3), (2, 3), (2, 2)] + ([] if quick else [(3, 3), (2, 4)])
    off = 0
    for a, c in sizes:
        table = complete_bipartite(a, c).matrix
        orders = (np.array(one) for one in permutations(range(a + c)))
        found = sum(bool((table[np.ix_(one, one)] == table).all()) for one in orders)
        off += found != math.factorial(a) * math.factorial(c) * (2 if a == c else 1)
    share = {n: math.log2(math.comb(n, n // 3)) / n for n in (30, 3000)}
    limit = math.log2(3) - 2 / 3
    numbers = {"sizes that differ": off, **{f"bits for each of {n}": one for n, one in share.items()}, "limit": limit}
    return holds_if(
        off == 0 and abs(share[3000] - limit) < 0.01,
        numbers,
        "a! c! for unequal sides, as said, and twice that for equal ones; log2 C(n, a) is 0.92 n for sides of one and "
        "two thirds, so the row n is right up to a factor.",
    )


def check_large_graphs(quick: bool) -> Finding:
    """Count the automorphisms of a large sparse relation and take the time."""
    size, rng = 50_000 if quick else 1_000_000, np.random.default_rng(0)
    children = np.arange(1, size)
    parents = (rng.random(size - 1) * children).astype(np.int64)
    relation, start = Relation(size, np.column_stack([parents, children])), perf_counter()
    bits = count_automorphisms(relation).count.bit_length()
    seconds = perf_counter() - start
    numbers = {"elements": size, "bits of the number of automorphisms": bits, "seconds": seconds, "allowed": LONGEST}
    return holds_if(seconds < LONGEST, numbers, "A random tree of that size takes seconds, here without SAUCY.")
