"""Checks of the relations paper's own procedure for its upper bound, Appendix D."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from genlaws.claims.claim import Finding
from genlaws.claims.verdict_rules import corrected_if, graded
from genlaws.numerics.arguments import Mask
from genlaws.relations import (
    CompleteBipartite,
    Relation,
    TrainingSet,
    draw_training_set,
    named_relation,
    paper_bound,
    posterior,
)

N = 30
EXACT = 1e-9


def check_possible_classes(quick: bool) -> Finding:
    """Compare the paper's procedure for classes with the exact bound on the same training sets."""
    repeats = 10 if quick else 100
    relation, known = named_relation("bipartite-15-15"), CompleteBipartite()
    sets = [draw_training_set(relation, 0.02, seed) for seed in range(repeats)]
    paper = np.array([paper_bound(relation, one) for one in sets])
    exact = np.array([posterior(one, known).accuracy for one in sets])
    counted = np.array([_two_class_bound(one) for one in sets])
    numbers = {
        "paper's procedure, 0.02 of the entries": paper.mean(),
        "exact bound": exact.mean(),
        "exact bound by components of known pairs": counted.mean(),
        "procedure as printed, j = i allowed, nothing seen": _literal_bound(named_relation("mod3")),
    }
    return corrected_if(
        float(np.abs(paper - exact).max()) < 0.02,
        float(np.abs(counted - exact).max()) < EXACT,
        numbers,
        "The sets of possible classes use labels of partners that the learner cannot know. Exact for two classes: one "
        "half, and half the sum of squared shares of the components of known pairs.",
    )


def _two_class_bound(known: TrainingSet) -> float:
    """Return the bound for two classes from the connected components of the known pairs."""
    part = np.arange(known.element_count)
    for first, second in known.pairs:
        part[part == part[second]] = part[first]
    sizes = np.unique(part, return_counts=True)[1]
    return 0.5 + 0.5 * float((sizes**2).sum()) / known.element_count**2


def _literal_bound(relation: Relation) -> float:
    """Return the procedure's accuracy with nothing seen if an element counts as its own partner, as printed."""
    classes = np.arange(N) % 3
    possible: Mask = classes[:, None] == np.arange(3)  # R[i][i] = 1 settles the class of every element
    shared = possible.astype(float) @ possible.T
    return float(np.where(relation.matrix, shared, 1.0 - shared).mean())


def check_sampled_orders(quick: bool) -> Finding:
    """Compute how much a guess gains when it is scored on the orders it was found in."""
    gains = {draws: _gain(draws) for draws in (10, 1000)}
    numbers = {f"gain at even odds, {draws} orders": one for draws, one in gains.items()}
    numbers["0.4 over the root of 10"] = 0.4 / math.sqrt(10)
    return graded(
        max(gains.values()) < 1e-3,
        gains[1000] < 0.02,
        numbers,
        "Scoring a guess on its own draws gains nothing.",
        "With 1000 orders the bound is too high by up to 0.013; with the 10 that the appendix also names, by 0.123.",
    )


def _gain(draws: int) -> float:
    """Return the mean of max(p, 1 - p) - 1/2 over a binomial share of even odds."""
    counts = np.arange(draws + 1)
    law = stats.binom.pmf(counts, draws, 0.5)
    share = counts / draws
    return float(law @ np.maximum(share, 1.0 - share) - 0.5)
