r"""Description length of a relation in bits: exact, by the paper's table, and by counting its class.

A relation R of n elements has :math:`n!/|\mathrm{Aut}\,R|` labeled copies, by the orbit-stabilizer theorem. Naming
one of them takes :math:`\log_2` of that number, in bits.
"""

from __future__ import annotations

from math import comb, e, exp, factorial, lgamma, log, log2
from typing import Any

from genlaws.core.arguments import positive, scalar, whole_number, within
from genlaws.core.errors import InputError
from genlaws.relations.structure.automorphisms import AutomorphismCount, count_automorphisms
from genlaws.relations.structure.classes import RelationClass, classify_relation
from genlaws.relations.structure.relation import MAX_ELEMENTS, Relation

# With more elements, logarithms are subtracted instead of forming n!, with an error of about 1e-15 of log2 n!.
MAX_EXACT_ELEMENTS = 200_000

# Labeled partial orders of n elements, n = 0, 1, … 18: sequence A001035 of the OEIS.
# fmt: off
PARTIAL_ORDERS = (
    1, 1, 3, 19, 219, 4231, 130023, 6129859, 431723379, 44511042511, 6611065248783, 1396281677105899,
    414864951055853499, 171850728381587059351, 98484324257128207032183, 77567171020440688353049939,
    83480529785490157813844256579, 122152541250295322862941281269151, 241939392597201176602897820148085023,
)
# fmt: on

TABLE_CLASSES = (
    "generic",
    "symmetric",
    "antisymmetric",
    "reflexive",
    "transitive",
    "equivalence",
    "total order",
    "complete bipartite",
    "incomplete bipartite",
    "tree",
    "rooted tree",
)
COUNTED_CLASSES = (*TABLE_CLASSES, "tournament", "partial order", "labeled classes")
MAX_STIRLING_ELEMENTS = 5_000  # for exact Stirling numbers, which are summed term by term


def description_length_exact(
    relation: Relation, *, automorphisms: AutomorphismCount | int | None = None, method: str = "auto"
) -> float:
    r"""Bits that distinguish a relation from its relabeled copies.

    .. math:: b = \log_2 \frac{n!}{|\mathrm{Aut}\,R|}

    Parameters
    ----------
    relation : Relation
    automorphisms : AutomorphismCount or int, optional
        Their number, if it is already known.
    method : str
        How to count them otherwise, see :func:`~genlaws.relations.structure.automorphisms.count_automorphisms`.

    References
    ----------
    :cite:p:`baek2024`, section III.
    """
    n = relation.element_count
    count = int(count_automorphisms(relation, method) if automorphisms is None else automorphisms)
    if count < 1:
        raise InputError(f"automorphisms must be at least 1, the identity; got {count}.")
    if n > MAX_EXACT_ELEMENTS:
        return max(0.0, lgamma(n + 1.0) / log(2.0) - log2(count))
    copies, rest = divmod(factorial(n), count)
    if rest:
        raise InputError(
            f"automorphisms must divide {n}!, as the size of a group of permutations; the number does not."
        )
    return log2(copies)


def description_length_table(
    relation: Relation | RelationClass | str,
    *,
    element_count: int | None = None,
    class_count: int | None = None,
    side_sizes: tuple[int, ...] | None = None,
    chain_length: float | None = None,
    mean_depth: float | None = None,
) -> float:
    r"""Bits by the formulas of the paper's Table II, as printed.

    =====================  ==================================================
    generic                :math:`n^2`
    symmetric              :math:`n(n+1)/2`
    antisymmetric          :math:`n(n-1)/2`
    reflexive              :math:`n(n-1)`
    transitive             :math:`n^2/(\langle k\rangle-1)!`
    equivalence            :math:`n\log_2 k`
    total order            :math:`n\log_2(n/e)`
    complete bipartite     :math:`n`
    incomplete bipartite   :math:`|S_1||S_2|`
    tree, rooted tree      :math:`n\log_2\langle d\rangle`
    =====================  ==================================================

    Parameters
    ----------
    relation : Relation, RelationClass or str
        A relation is classified first; the name of a class needs its numbers.
    element_count : int
    class_count : int
        k, for an equivalence.
    side_sizes : two int
        For an incomplete bipartite relation.
    chain_length : float
        ⟨k⟩, at least 1, for a transitive relation.
    mean_depth : float
        ⟨d⟩, at least 1, for a tree.

    Notes
    -----
    The paper does not define its averages. Here ⟨k⟩ is the mean over the elements of the longest chain through them and
    ⟨d⟩ the mean depth with the root at depth 1; with the root at depth 0 a star would have a negative length. (⟨k⟩-1)!
    is Γ(⟨k⟩), and the printed "⟨k⟩ - 1!" is read that way. Several rows are rough or wrong: the antisymmetric one
    counts tournaments, the transitive one tends to zero for long chains, and the total order's is negative below n = 3.
    Compare :func:`description_length_count`.

    References
    ----------
    :cite:p:`baek2024`, Table II.
    """
    given = _given(
        relation,
        TABLE_CLASSES,
        element_count=element_count,
        class_count=class_count,
        side_sizes=side_sizes,
        chain_length=chain_length,
        mean_depth=mean_depth,
    )
    n = given.element_count
    if given.name == "transitive":
        k = _needed("chain_length", given.chain_length, given.name)
        # Γ overflows near 171; the length is zero long before.
        return n**2 * exp(-lgamma(k))
    if given.name in {"tree", "rooted tree"}:
        return n * log2(_needed("mean_depth", given.mean_depth, given.name))
    if given.name == "equivalence":
        return n * log2(_class_count(given))
    if given.name == "incomplete bipartite":
        first, second = _side_sizes(given)
        return float(first * second)
    return {
        "generic": float(n**2),
        "symmetric": n * (n + 1) / 2,
        "antisymmetric": n * (n - 1) / 2,
        "reflexive": float(n * (n - 1)),
        "total order": n * log2(n / e),
        "complete bipartite": float(n),
    }[given.name]


def description_length_count(
    relation: Relation | RelationClass | str,
    *,
    element_count: int | None = None,
    class_count: int | None = None,
    side_sizes: tuple[int, ...] | None = None,
) -> float:
    r"""Bits by counting: :math:`\log_2` of the exact number of relations in a class.

    =====================  ==========================================================
    generic                :math:`2^{n^2}`
    symmetric              :math:`2^{n(n+1)/2}`
    antisymmetric          :math:`2^n 3^{n(n-1)/2}`
    tournament             :math:`2^{n(n-1)/2}`
    reflexive              :math:`2^{n(n-1)}`
    transitive             sequence A006905 of the OEIS, known up to n = 18
    partial order          sequence A001035 of the OEIS, known up to n = 18
    equivalence            :math:`S(n,k)`, the Stirling number of the second kind
    labeled classes        :math:`k^n`
    total order            :math:`n!`
    complete bipartite     :math:`2^{n-1}` ways to split the elements in two
    incomplete bipartite   :math:`2^{|S_1||S_2|}` for known sides
    tree                   :math:`n^{n-2}`, without a root
    rooted tree            :math:`n^{n-1}`
    =====================  ==========================================================

    Parameters
    ----------
    relation : Relation, RelationClass or str
        A relation is classified first; the name of a class needs its numbers.
    element_count : int
    class_count : int
        k, for an equivalence and for labeled classes.
    side_sizes : two int
        For an incomplete bipartite relation.

    Notes
    -----
    The :math:`2^{n-1}` splits include the one with an empty side, the empty relation.

    References
    ----------
    :cite:p:`baek2024`, section III: :math:`b = \log_2 C`.
    """
    given = _given(
        relation, COUNTED_CLASSES, element_count=element_count, class_count=class_count, side_sizes=side_sizes
    )
    n, name = given.element_count, given.name
    if name in {"transitive", "partial order"}:
        return log2(_known_count(name, n))
    if name == "equivalence":
        return log2(_stirling(n, _class_count(given)))
    if name == "labeled classes":
        return n * log2(_class_count(given))
    if name == "incomplete bipartite":
        first, second = _side_sizes(given)
        return float(first * second)
    if name == "total order":
        return log2(factorial(n)) if n <= MAX_EXACT_ELEMENTS else lgamma(n + 1.0) / log(2.0)
    pairs = n * (n - 1) // 2
    return {
        "generic": float(n**2),
        "symmetric": float(n + pairs),
        "antisymmetric": n + pairs * log2(3),
        "tournament": float(pairs),
        "reflexive": float(2 * pairs),
        "complete bipartite": float(n - 1),
        "tree": max(0, n - 2) * log2(n),
        "rooted tree": (n - 1) * log2(n),
    }[name]


def _given(relation: Relation | RelationClass | str, allowed: tuple[str, ...], **numbers: Any) -> RelationClass:
    """Return the class with its numbers, from a relation or from the arguments."""
    if isinstance(relation, Relation | RelationClass):
        if any(number is not None for number in numbers.values()):
            raise InputError("A relation has its own numbers; leave out element_count and the others.")
        return classify_relation(relation) if isinstance(relation, Relation) else relation
    if not isinstance(relation, str) or relation not in allowed:
        raise InputError(f"The class must be one of {', '.join(allowed)}; got {relation!r}.")
    if numbers["element_count"] is None:
        raise InputError(f"element_count must be given with the name of a class; got {relation!r} alone.")
    n = whole_number("element_count", numbers["element_count"], at_least=1, at_most=MAX_ELEMENTS)
    return RelationClass(relation, **{**numbers, "element_count": n})


def _needed(name: str, value: float | None, row: str) -> float:
    if value is None:
        raise InputError(f"{name} must be given for the class {row}.")
    within(name, scalar(name, positive(name, value)), 1.0, float("inf"))
    return float(value)


def _class_count(given: RelationClass) -> int:
    if given.class_count is None:
        raise InputError(f"class_count must be given for the class {given.name}.")
    return whole_number(
        "class_count", given.class_count, at_least=1, at_most=given.element_count, hint="A class must not be empty."
    )


def _side_sizes(given: RelationClass) -> tuple[int, int]:
    if given.side_sizes is None or len(given.side_sizes) != 2:
        raise InputError(f"side_sizes must be two numbers for the class {given.name}; got {given.side_sizes!r}.")
    first, second = (whole_number("side_sizes", size) for size in given.side_sizes)
    if first + second != given.element_count:
        raise InputError(f"side_sizes must add up to element_count {given.element_count}; got {first} and {second}.")
    return first, second


def _known_count(name: str, n: int) -> int:
    if n >= len(PARTIAL_ORDERS):
        raise InputError(
            f"The number of {name} relations is known up to {len(PARTIAL_ORDERS) - 1} elements; got {n} elements. "
            "Its logarithm grows as n²/4."
        )
    if name == "partial order":
        return PARTIAL_ORDERS[n]
    # s elements have no loop and are alone; the others form classes of mutually related elements.
    total = 0
    for k, orders in enumerate(PARTIAL_ORDERS[: n + 1]):
        total += orders * sum(comb(n, s) * _stirling(n - s, k - s) for s in range(k + 1))
    return total


def _stirling(n: int, k: int) -> int:
    """Return the number of partitions of n elements into k nonempty classes."""
    if n > MAX_STIRLING_ELEMENTS:
        raise InputError(f"Equivalences are counted up to {MAX_STIRLING_ELEMENTS:,} elements; got {n}.")
    total = 0
    for j in range(k + 1):
        ways = comb(k, j) * j**n
        total += ways if (k - j) % 2 == 0 else -ways
    return total // factorial(k)
