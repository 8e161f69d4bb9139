"""Checks of the relations paper's laws, automorphisms and description lengths, by counting small relations."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations, permutations
from time import perf_counter
from typing import Any

import numpy as np

from genlaws import relations
from genlaws.claims.claim import EXACT_TOLERANCE, Finding, corrected_if, holds_if
from genlaws.core.arguments import Mask

N = 30  # elements of the paper
MAX_SECONDS = 60.0  # that still count as a matter of seconds
# Laws that Section II names for each relation.
STATED_LAWS = {
    "modulo 3": (relations.modulo(N, 3), ("symmetric", "reflexive", "transitive")),
    "modulo 5": (relations.modulo(N, 5), ("symmetric", "reflexive", "transitive")),
    "greater-than": (relations.less_than(N), ("antisymmetric", "transitive")),
    "bipartite": (relations.complete_bipartite(15, 15), ("symmetric",)),
}
APPROXIMATION_TOLERANCE = 0.05  # relative: an approximation of a length may be off by this much
TEXT_DIVISOR = 2.0  # what n is divided by in the text, n log2(n/2)


def check_stated_properties(quick: bool) -> Finding:
    """Test the laws that Section II names on the tables of Table I."""
    failed = [
        f"{name} is not {law}" for name, (relation, laws) in STATED_LAWS.items() for law in laws
        if not getattr(relations.properties(relation), law)
    ]  # fmt: skip
    sides = STATED_LAWS["bipartite"][0].matrix
    two_steps = (sides.astype(int) @ sides.astype(int) > 0) & sides
    order = STATED_LAWS["greater-than"][0].matrix
    return holds_if(
        not failed and not two_steps.any(),
        {
            "laws_tested": sum(len(laws) for _, laws in STATED_LAWS.values()) + 1,
            "laws_broken": ", ".join(failed) or "none",
            "two_step_pairs_that_hold_bipartite": int(two_steps.sum()),
            "greater_than_holds_for_0_and_1": str(bool(order[0, 1])),
        },
        "All laws hold. What the paper calls greater-than is x < y by its own Table I.",
    )


def check_orbit_formula(quick: bool) -> Finding:
    """Relabel random relations in every way and count the different tables."""
    rng, n, draws = np.random.default_rng(0), 4 if quick else 5, 30 if quick else 200
    orders = [np.array(one) for one in permutations(range(n))]
    tested = [relations.Relation.from_matrix(rng.random((n, n)) < share) for share in rng.uniform(0.1, 0.9, draws)]
    tested += [relations.modulo(n, 2), relations.less_than(n), relations.complete_bipartite(2, n - 2)]
    worst = 0.0
    for relation in tested:
        table = relation.matrix
        copies = len({table[np.ix_(order, order)].tobytes() for order in orders})
        worst = max(worst, abs(math.log2(copies) - relations.description_length_exact(relation)))
    return holds_if(
        worst < EXACT_TOLERANCE,
        {"relations": len(tested), "largest_difference_in_bits": worst},
        "log2(n!/|Aut|) is the logarithm of the number of different relabelings.",
    )


def check_bipartite_automorphisms(quick: bool) -> Finding:
    """Count automorphisms of complete bipartite relations, and the constant of the paper's approximation."""
    sizes = [(1, 3), (2, 3), (2, 2)] + ([] if quick else [(3, 3), (2, 4)])
    off = 0
    for a, c in sizes:
        table = relations.complete_bipartite(a, c).matrix
        orders = (np.array(one) for one in permutations(range(a + c)))
        found = sum(bool((table[np.ix_(one, one)] == table).all()) for one in orders)
        off += found != math.factorial(a) * math.factorial(c) * (2 if a == c else 1)
    share = {n: math.log2(math.comb(n, n // 3)) / n for n in (30, 3000)}
    limit = math.log2(3) - 2 / 3
    return holds_if(
        off == 0 and abs(share[3000] - limit) < 0.01,
        {"sizes_that_differ": off, **{f"bits_for_each_of_{n}": one for n, one in share.items()}, "limit": limit},
        "a! c! for unequal sides, as claimed, and twice that for equal ones; log2 C(n, a) is 0.92 n for sides of one "
        "and two thirds, so the row n is right up to a factor.",
    )


def check_large_graphs(quick: bool) -> Finding:
    """Count the automorphisms of a large sparse relation and take the time."""
    size, rng = 50_000 if quick else 1_000_000, np.random.default_rng(0)
    children = np.arange(1, size)
    parents = (rng.random(size - 1) * children).astype(np.int64)
    relation, start = relations.Relation(size, np.column_stack([parents, children])), perf_counter()
    bits = relations.count_automorphisms(relation).count.bit_length()
    seconds = perf_counter() - start
    return holds_if(
        seconds < MAX_SECONDS,
        {
            "elements": size,
            "bits_of_the_number_of_automorphisms": bits,
            "seconds": seconds,
            "allowed": MAX_SECONDS,
        },
        "A random tree of that size takes seconds, here without SAUCY.",
    )


@cache
def all_tables(elements: int) -> Mask:
    """Return every relation of this number of elements, one table each."""
    numbers = np.arange(2**elements**2, dtype=np.int64)
    bits = (numbers[:, None] >> np.arange(elements**2)) & 1
    return bits.astype(bool).reshape(-1, elements, elements)


def _laws_obeyed(tables: Mask) -> dict[str, Mask]:
    """Return which tables obey each law, from their entries."""
    turned = tables.swapaxes(1, 2)
    n = tables.shape[1]
    apart = ~np.eye(n, dtype=bool)
    steps = (tables[:, :, :, None] & tables[:, None, :, :]).any(axis=2)
    diagonal = tables[:, range(n), range(n)]
    return {
        "symmetric": (tables == turned).all(axis=(1, 2)),
        "antisymmetric": ~(tables & turned & apart).any(axis=(1, 2)),
        "reflexive": diagonal.all(axis=1),
        "irreflexive": ~diagonal.any(axis=1),
        "transitive": (~steps | tables).all(axis=(1, 2)),
        "total": (tables | turned | ~apart).all(axis=(1, 2)),
    }


def _table_bits(name: str, elements: int, **more: Any) -> float:
    return float(relations.description_length_table(name, element_count=elements, **more))


def check_plain_classes(quick: bool) -> Finding:
    """Count generic, symmetric and reflexive relations and compare with Table II."""
    worst, counts = 0.0, {}
    for n in (2, 3) if quick else (2, 3, 4):
        laws = _laws_obeyed(all_tables(n))
        found = {"generic": len(all_tables(n))} | {one: int(laws[one].sum()) for one in ("symmetric", "reflexive")}
        for name, count in found.items():
            worst = max(worst, abs(math.log2(count) - _table_bits(name, n)))
            counts[f"{name}_{n}_elements"] = count
    return holds_if(worst < EXACT_TOLERANCE, {"largest_difference": worst, **counts}, "The three rows are exact.")


def check_antisymmetric(quick: bool) -> Finding:
    """Count antisymmetric relations."""
    sizes = (3,) if quick else (3, 4)
    counts = {n: int(_laws_obeyed(all_tables(n))["antisymmetric"].sum()) for n in sizes}
    paper = max(abs(math.log2(count) - _table_bits("antisymmetric", n)) for n, count in counts.items())
    right = max(abs(count - 2**n * 3 ** (n * (n - 1) // 2)) for n, count in counts.items())
    library = max(
        abs(relations.description_length_count("antisymmetric", element_count=n) - math.log2(counts[n])) for n in sizes
    )
    return corrected_if(
        paper < EXACT_TOLERANCE,
        right == 0 and library < EXACT_TOLERANCE,
        {
            **{f"antisymmetric_relations_of_{n}_elements": count for n, count in counts.items()},
            "bits_by_the_paper_30_elements": _table_bits("antisymmetric", N),
            "bits_by_counting": N + N * (N - 1) / 2 * math.log2(3),
        },
        "n + n(n-1)/2 · log2 3 bits; n(n-1)/2 counts tournaments, in which one of two elements always precedes.",
    )


def check_equivalence(quick: bool) -> Finding:
    """Count equivalences by their number of classes."""
    tables = all_tables(3 if quick else 4)
    n, laws = tables.shape[1], _laws_obeyed(tables)
    classes = np.array(
        [len(np.unique(one, axis=0)) for one in tables[laws["symmetric"] & laws["reflexive"] & laws["transitive"]]]
    )
    counts = {k: int((classes == k).sum()) for k in range(1, n + 1)}
    right = max(abs(counts[k] - _stirling(n, k)) for k in counts)
    bits = {k: (_table_bits("equivalence", N, class_count=k), math.log2(_stirling(N, k))) for k in (3, 5)}
    exact = {k: relations.description_length_exact(relations.modulo(N, k)) for k in bits}
    numbers = {f"bits_by_the_paper_{k}_classes": pair[0] for k, pair in bits.items()}
    numbers |= {f"bits_by_counting_{k}_classes": pair[1] for k, pair in bits.items()}
    numbers |= {f"bits_of_equal_size_{k}_classes": one for k, one in exact.items()}
    return corrected_if(
        all(abs(paper / count - 1.0) < APPROXIMATION_TOLERANCE for paper, count in bits.values()),
        right == 0,
        numbers,
        "log2 S(n, k) with Stirling's number of the second kind: the names of the classes do not matter. Classes of "
        "known, equal size take log2(n!/((n/k)!^k k!)).",
    )


def _stirling(n: int, k: int) -> int:
    signed: int = sum((-1) ** (k - j) * math.comb(k, j) * j**n for j in range(k + 1))
    return signed // math.factorial(k)


def check_total_order(quick: bool) -> Finding:
    """Count total orders, and compare Stirling's approximation as printed in Table II."""
    n = 3 if quick else 4
    laws = _laws_obeyed(all_tables(n))
    count = int((laws["antisymmetric"] & laws["transitive"] & laws["total"] & laws["irreflexive"]).sum())
    bits, short = math.log2(math.factorial(N)), _table_bits("total order", N)
    numbers = {
        f"orders_of_{n}_elements": count,
        "log2_factorial_30": bits,
        "n_log2_n_over_e": N * math.log2(N / math.e),
        "library_exact": relations.description_length_exact(relations.less_than(N)),
    }
    same = abs(float(numbers["library_exact"]) - bits) < EXACT_TOLERANCE
    return holds_if(
        count == math.factorial(n) and same and abs(short / bits - 1.0) < APPROXIMATION_TOLERANCE,
        numbers,
        "log2 n! is exact, and n log2(n/e) is 3.6 % short of it at 30 elements.",
    )


def check_total_order_in_text(quick: bool) -> Finding:
    """Compare n log2(n/2) of the text with log2 n!, bit by bit for each element."""
    gaps = {}
    for n in (N, 10**6):
        bits = math.lgamma(n + 1) / math.log(2)
        gaps[n] = (n * math.log2(n / TEXT_DIVISOR) - bits) / n, (n * math.log2(n / math.e) - bits) / n
    return corrected_if(
        abs(gaps[10**6][0]) < 0.01,
        abs(gaps[10**6][1]) < 0.01,
        {
            "n_log2_n_over_2": N * math.log2(N / TEXT_DIVISOR),
            "log2_factorial_30": math.lgamma(N + 1) / math.log(2),
            "excess_bits_per_element_n_over_2": gaps[10**6][0],
            "excess_bits_per_element_n_over_e": gaps[10**6][1],
        },
        "n log2(n/e), as in Table II. n log2(n/2) exceeds log2 n! by 0.44 bits for each element at any size.",
    )


def check_complete_bipartite(quick: bool) -> Finding:
    """Count complete bipartite relations, one side empty included."""
    n = 3 if quick else 4
    tables = all_tables(n)
    splits = {tuple((np.array(one)[:, None] != np.array(one)).ravel()) for one in np.ndindex(*(2,) * n)}
    count = sum(tuple(one.ravel()) in splits for one in tables)
    return corrected_if(
        abs(math.log2(count) - _table_bits("complete bipartite", n)) < EXACT_TOLERANCE,
        count == 2 ** (n - 1),
        {
            f"relations_of_{n}_elements": count,
            "bits_by_the_paper": _table_bits("complete bipartite", n),
            "bits_by_counting": math.log2(count),
            "bits_with_15_and_15_known": relations.description_length_exact(relations.complete_bipartite(15, 15)),
        },
        "n - 1 bits: exchanging the sides changes nothing. With known sides fewer, 26.2 for 15 and 15.",
    )


def check_incomplete_bipartite(quick: bool) -> Finding:
    """Count symmetric relations between two known sides of two elements each."""
    side = np.array([0, 0, 1, 1])
    across = side[:, None] != side
    tables = all_tables(4)
    count = int(((tables == tables.swapaxes(1, 2)) & (across | ~tables)).all(axis=(1, 2)).sum())
    paper = float(relations.description_length_table("incomplete bipartite", element_count=4, side_sizes=(2, 2)))
    return holds_if(
        abs(math.log2(count) - paper) < EXACT_TOLERANCE,
        {"relations": count, "bits": math.log2(count), "bits_by_the_paper": paper},
        "One bit for each pair across the sides.",
    )


def check_tree(quick: bool) -> Finding:
    """Count trees, and compare the paper's row with its largest value: a single path."""
    sizes = (3, 4) if quick else (3, 4, 5)
    counts = {n: _tree_count(n) for n in sizes}
    path = relations.tree([-1, *range(N - 1)])
    deepest, rooted = float(relations.description_length_table(path)), (N - 1) * math.log2(N)
    return corrected_if(
        deepest > (1.0 - APPROXIMATION_TOLERANCE) * (N - 2) * math.log2(N),
        all(count == n ** (n - 2) for n, count in counts.items()),
        {
            **{f"trees_of_{n}_elements": count for n, count in counts.items()},
            "bits_by_the_paper_path_of_30": deepest,
            "bits_by_counting_unrooted": (N - 2) * math.log2(N),
            "bits_by_counting_rooted": rooted,
        },
        "(n-2) log2 n bits, (n-1) log2 n with a root. No mean depth gives as much: the paper's row is smaller for "
        "every tree.",
    )


def _tree_count(n: int) -> int:
    """Return the number of labeled trees: sets of n - 1 edges that join all elements."""
    found = 0
    for edges in combinations(list(combinations(range(n), 2)), n - 1):
        joined = {0}
        for _ in range(n):
            joined |= {end for edge in edges if joined & set(edge) for end in edge}
        found += len(joined) == n
    return found


def check_transitive(quick: bool) -> Finding:
    """Count transitive relations, and put a total order into the paper's row."""
    n = 3 if quick else 4
    count = int(_laws_obeyed(all_tables(n))["transitive"].sum())
    order = float(relations.description_length_table("transitive", element_count=N, chain_length=float(N)))
    pairs = float(relations.description_length_table("transitive", element_count=n, chain_length=2.0))
    return holds_if(
        order > 0.5 * math.log2(math.factorial(N)) and pairs < 1.1 * math.log2(count),
        {
            f"transitive_relations_of_{n}_elements": count,
            "bits_by_counting": math.log2(count),
            "bits_by_the_paper_chains_of_two": pairs,
            "bits_by_the_paper_total_order_of_30": order,
            "bits_of_a_total_order": math.log2(math.factorial(N)),
        },
        "The row gives the size of the class.",
        "The row tends to zero for long chains, although a total order is transitive and needs log2 n! bits. There is "
        "no closed form; log2 of the count grows as n²/4.",
    )
