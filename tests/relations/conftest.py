"""Every relation of a class written out, and what a training set leaves of them: nothing here counts cleverly.

The classes of the library serve as labels alone; their members are listed from the definitions.
"""

from functools import lru_cache
from itertools import permutations, product
from types import SimpleNamespace

import numpy as np
import pytest

from genlaws.relations.inference.hypotheses import CompleteBipartite, Entrywise, Equivalence, TotalOrder
from genlaws.relations.structure.training_set import TrainingSet


def _orders(n, reflexive):
    rank = np.argsort(np.array(list(permutations(range(n)))), axis=1)
    first, second = rank[:, :, None], rank[:, None]
    return first <= second if reflexive else first < second


def _partitions(n, class_count, prior):
    """Return one table for each coloring, or for each partition into exactly `class_count` classes."""
    colors = np.array(list(product(range(class_count), repeat=n)))
    tables = colors[:, :, None] == colors[:, None]
    if prior == "elements":
        return tables
    used = np.array([len(set(row)) for row in colors.tolist()])
    return np.unique(tables[used == class_count], axis=0)


def _entrywise(n, pair_rule, diagonal):
    tables = np.array(list(product([False, True], repeat=n * n))).reshape(-1, n, n)
    off = ~np.eye(n, dtype=bool)
    mirror = np.swapaxes(tables, 1, 2)
    wrong = {
        "free": np.zeros_like(tables),
        "symmetric": tables != mirror,
        "antisymmetric": tables & mirror,
        "tournament": tables == mirror,
    }[pair_rule]
    own = tables.diagonal(axis1=1, axis2=2)
    keeps = {"free": np.ones_like(own), "ones": own, "zeros": ~own}[diagonal]
    return tables[~(wrong & off).any(axis=(1, 2)) & keeps.all(axis=1)]


@lru_cache(maxsize=64)
def all_tables(hypotheses, n):
    """Return every equally likely member of a class, shape (count, n, n), and the number of its relation."""
    if isinstance(hypotheses, TotalOrder):
        tables = _orders(n, hypotheses.reflexive)
    elif isinstance(hypotheses, Equivalence):
        tables = _partitions(n, hypotheses.class_count, hypotheses.prior)
    elif isinstance(hypotheses, CompleteBipartite):
        tables = ~_partitions(n, 2, hypotheses.prior)
    else:
        tables = _entrywise(n, hypotheses.pair_rule, hypotheses.diagonal)
    relation = np.unique(tables.reshape(len(tables), -1), axis=0, return_inverse=True)[1]
    return tables, relation.ravel()


def law(hypotheses, training_set):
    """Return the tables that agree with a training set, and what they say."""
    tables, relation = all_tables(hypotheses, training_set.element_count)
    first, second = training_set.pairs.T
    fits = (tables[:, first, second] == training_set.values).all(axis=1)
    share = np.bincount(relation[fits]) / fits.sum()
    share = share[share > 0]
    probability = tables[fits].mean(axis=0)
    return SimpleNamespace(
        tables=tables[fits],
        relation=relation[fits],
        probability=probability,
        accuracy=np.maximum(probability, 1 - probability).mean(),
        bits_left=-(share * np.log2(share)).sum(),
    )


def training_set(hypotheses, n, rng, most=1.0):
    """Return a random share, up to `most`, of the entries of a random member of the class."""
    tables, _ = all_tables(hypotheses, n)
    table = tables[rng.integers(len(tables))]
    count = int(rng.integers(0, round(most * n * n) + 1))
    pairs = np.column_stack(np.divmod(rng.permutation(n * n)[:count], n))
    return TrainingSet(n, pairs, table[pairs[:, 0], pairs[:, 1]])


def share_z(drawn, probability):
    """Return the z-scores of shares of draws against probabilities; infinite where a certain entry was missed."""
    drawn = np.asarray(drawn, dtype=float)
    gap = np.abs(drawn.mean(axis=0) - probability)
    error = np.sqrt(probability * (1 - probability) / len(drawn))
    return np.divide(gap, error, out=np.where(gap > 0, np.inf, 0.0), where=error > 0)


CLASSES = {
    "strict order": TotalOrder(),
    "reflexive order": TotalOrder(reflexive=True),
    **{f"{k} classes of elements": Equivalence(k) for k in (1, 2, 3, 4, 5)},
    **{f"{k} classes, relations": Equivalence(k, "relations") for k in (1, 2, 3, 4, 5)},
    "bipartite elements": CompleteBipartite(),
    "bipartite relations": CompleteBipartite("relations"),
}
ENTRYWISE = {
    f"{rule} pairs, {diagonal} diagonal": Entrywise(rule, diagonal)
    for rule in ("free", "symmetric", "antisymmetric", "tournament")
    for diagonal in ("free", "ones", "zeros")
}


@pytest.fixture(scope="session")
def brute():
    """Return the enumeration above, for tests to call."""
    return SimpleNamespace(all_tables=all_tables, law=law, training_set=training_set, share_z=share_z)


@pytest.fixture(params=CLASSES.values(), ids=CLASSES.keys())
def entangled_class(request):
    """Each class in which entries tell of others."""
    return request.param


@pytest.fixture(params=ENTRYWISE.values(), ids=ENTRYWISE.keys())
def entrywise_class(request):
    """Each class in which entries tell of their mirror image alone."""
    return request.param
