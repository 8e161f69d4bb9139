r"""Exact posterior over equivalences with k classes, and over the two sides of a complete bipartite relation.

"Same" entries join elements into components; "different" entries are the edges of a conflict graph between components.
An equivalence agrees with the training set if it is a proper coloring of that graph with k colors.

There are two priors. With ``elements`` each element's class is drawn at random from k; that is the paper's count
:math:`k^n`. With ``relations`` every equivalence with exactly k classes, none empty, is equally likely. If
:math:`P_q` is the number of proper colorings with q colors, the number of consistent partitions into exactly j
classes is :math:`a_j = \frac1{j!}\sum_i (-1)^{j-i}\binom ji P_i`, which also gives the entropy exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from genlaws.core.arguments import Array, Mask, Whole
from genlaws.core.errors import InputError
from genlaws.relations.inference import colorings
from genlaws.relations.structure.symmetry_reduction import Neighbors
from genlaws.relations.structure.training_set import CONTRADICTION_HINT, TrainingSet

PRIORS = ("elements", "relations")
# Largest estimated error from canceling counts of alternating sign for a count that is called exact; the measured error
# is a thousand times smaller.
MAX_CANCELLATION_ERROR = 1e-5
MAX_REJECTION_ROUNDS = 1000  # when drawing with every class in use


@dataclass(frozen=True, eq=False)
class Components:
    """Elements known to be in one class, and which such components are known to differ.

    Attributes
    ----------
    of_element : array of int, shape (n,)
    neighbors : list of frozenset of int
        The conflict graph between components.
    names : tuple of str
        Of the first element of each component.
    """

    of_element: Whole
    neighbors: Neighbors
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SameClass:
    """P(two elements are in one class), and the entropy of the partition in bits."""

    probability: Array
    bits_left: float


def known_components(training_set: TrainingSet, is_same: Mask) -> Components:
    """Return components and conflicts, or raise if no equivalence allows the entries.

    Parameters
    ----------
    training_set : TrainingSet
    is_same : array of bool
        For each pair of the training set whether it puts both elements in one class.
    """
    pairs, n = training_set.pairs, training_set.element_count
    same = pairs[is_same]
    links = coo_array((np.ones(len(same)), (same[:, 0], same[:, 1])), shape=(n, n))
    count, of_element = connected_components(links, directed=False)
    differ = pairs[~is_same]
    ends = of_element[differ]
    clash = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if len(clash):
        first, second = (training_set.names[element] for element in differ[clash[0]])
        if first == second:
            raise InputError(
                f"The training set contradicts itself: ({first}, {first}) separates {first} from itself. "
                f"{CONTRADICTION_HINT}"
            )
        raise InputError(
            f"The training set contradicts itself: ({first}, {second}) puts the two in different classes, "
            f"but other entries put them in one. {CONTRADICTION_HINT}"
        )
    near: list[set[int]] = [set() for _ in range(count)]
    for a, b in ends.tolist():
        near[a].add(b)
        near[b].add(a)
    names = tuple(training_set.names[first] for first in np.unique(of_element, return_index=True)[1])
    return Components(of_element.astype(np.int64), [frozenset(group) for group in near], names)


def class_numbers(table: Mask) -> Whole:
    """Return the number of the class of each element, from the table of an equivalence."""
    return np.unique(np.argmax(table, axis=1), return_inverse=True)[1].astype(np.int64)


def same_class_probability(components: Components, class_count: int, prior: str) -> SameClass | None:
    """Return the exact law of the partition, or None if the conflict graph is too complex to count."""
    two_sides = _two_sides(components) if class_count == 2 and prior == "elements" else None
    if two_sides is not None:
        return two_sides
    whole = colorings.coloring_law(components.neighbors, class_count)
    if whole is None:
        return None
    if not np.isfinite(whole.log_count):
        clash = ", ".join(
            components.names[part] for part in colorings.uncolorable_part(components.neighbors, class_count)
        )
        class_text = "1 class" if class_count == 1 else f"{class_count} classes"
        raise InputError(
            f"No equivalence with {class_text} agrees with the training set: {clash} would need more. "
            f"{CONTRADICTION_HINT}"
        )
    count_law = _every_relation if prior == "relations" else _every_coloring
    law = count_law(components.neighbors, whole)
    if law is None:
        return None
    within = law.probability[np.ix_(components.of_element, components.of_element)]
    return SameClass(within, law.bits_left)


def _two_sides(components: Components) -> SameClass | None:
    """Two classes by parity: connected elements are determined, all others have probability one half.

    Each connected part of the conflict graph has two colorings, so with c parts :math:`2^{c-1}` relations are left.
    Returns None where a cycle of odd length leaves no coloring; the general route then raises the error.
    """
    # Every component once on each side, and a conflict always leads across.
    count = len(components.neighbors)
    edges = [(one, other + count) for one, near in enumerate(components.neighbors) for other in near]
    rows, columns = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(2 * count, 2 * count))
    parts, label = connected_components(links, directed=False)
    if (label[:count] == label[count:]).any():
        return None
    side, opposite = label[components.of_element], label[components.of_element + count]
    same = np.where(side[:, None] == side, 1.0, np.where(side[:, None] == opposite, 0.0, 0.5))
    return SameClass(same, float(parts // 2 - 1))


def _every_coloring(neighbors: Neighbors, whole: colorings.ColoringLaw) -> SameClass | None:
    """Each element's class drawn from k: the law of colorings, and the entropy of the partition under it."""
    k, most = whole.colors, min(whole.colors, len(neighbors))
    log_counts = [_log_count(neighbors, colors) for colors in range(1, min(k, most + 1))] + [whole.log_count]
    shares, log_names, lost = [], [], 0.0
    for classes in range(1, most + 1):
        # Colorings that use exactly `classes` colors out of k, as a share of all.
        terms = special.comb(k, classes) * _signed_shares(log_counts, classes)
        shares.append(max(0.0, float(terms.sum())))
        log_names.append(special.gammaln(k + 1) - special.gammaln(k - classes + 1))
        lost += colorings.LOG_COUNT_ROUNDING * float(np.abs(terms).sum()) * log_names[-1]
    if lost > MAX_CANCELLATION_ERROR:
        return None
    mean_names = float(np.dot(shares, log_names)) / sum(shares)
    return SameClass(whole.same, max(0.0, float((whole.log_count - mean_names) / np.log(2.0))))


def _every_relation(neighbors: Neighbors, whole: colorings.ColoringLaw) -> SameClass | None:
    """Every partition into exactly k classes equally likely: colorings that use all k, each partition k! times."""
    k, most = whole.colors, len(neighbors)
    if most < k:
        raise InputError(f"The training set leaves at most {most} classes, too few for {k} that are not empty.")
    if most == k:
        return SameClass(np.eye(k), 0.0)
    laws = [colorings.coloring_law(neighbors, colors) for colors in range(1, k)] + [whole]
    known = [law for law in laws if law is not None]  # fewer colors never take more work
    shares = _signed_shares([law.log_count for law in known], k)
    total = float(shares.sum())
    lost = colorings.LOG_COUNT_ROUNDING * float(np.abs(shares).sum())
    if lost > MAX_CANCELLATION_ERROR * total:
        return None
    same = sum(share * law.same for share, law in zip(shares, known, strict=True) if share) / total
    bits_left = (whole.log_count + np.log(total) - special.gammaln(k + 1)) / np.log(2.0)
    # With more parts than classes no class must be empty, so entries that k colors leave open stay open.
    settled = (whole.same == 0.0) | (whole.same == 1.0)
    return SameClass(np.where(settled, whole.same, np.clip(same, 0.0, 1.0)), max(0.0, float(bits_left)))


def _log_count(neighbors: Neighbors, colors: int) -> float:
    count = colorings.log_coloring_count(neighbors, colors)
    return -np.inf if count is None else count  # fewer colors never take more work, so it is not None


def _signed_shares(log_counts: list[float], classes: int) -> Array:
    r"""Return :math:`(-1)^{j-q} \binom jq P_q / P_k` for q up to j; they add up to those that use j colors."""
    colors = np.arange(1, classes + 1)
    shares = np.exp(np.array(log_counts[:classes]) - log_counts[-1])
    return np.asarray((-1.0) ** (classes - colors) * special.comb(classes, colors) * shares)


def draw_classes(
    components: Components, class_count: int, prior: str, draws: int, generator: np.random.Generator
) -> Whole:
    """Return classes drawn independently from the posterior, shape (draws, n)."""
    if prior == "relations" and class_count == len(components.neighbors):
        return np.repeat(components.of_element[None], draws, axis=0)
    accepted: list[Whole] = []
    for _ in range(MAX_REJECTION_ROUNDS):
        try:
            colors = colorings.draw_colorings(components.neighbors, class_count, draws, generator)
        except colorings.TooMuchWorkError:
            raise InputError("The training set is too complex for exact samples; use the Markov chain.") from None
        if prior == "relations":
            colors = colors[[len(np.unique(row)) == class_count for row in colors]]
        accepted.append(colors)
        if sum(map(len, accepted)) >= draws:
            return np.concatenate(accepted)[:draws][:, components.of_element]
    raise InputError(f"Hardly any coloring uses all {class_count} classes; none of the needed samples was found.")
