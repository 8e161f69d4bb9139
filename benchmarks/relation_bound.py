"""How long does the exact Bayes bound of one training set take, and how does that compare with sampling?

python benchmarks/relation_bound.py
"""

from __future__ import annotations

import time

import numpy as np
from one_thread import require_one_thread

from genlaws.relations import draw_training_set, hypotheses_of, named_relation, posterior

RELATIONS = ("mod3", "mod5", "less-than", "bipartite-15-15")
FRACTIONS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0)
TRAINING_SETS = 40
SAMPLED_SETS = 3
TARGET_SECONDS = 0.5  # for the slowest training set of 30 elements


def seconds(relation, fraction, seed, method):
    training_set = draw_training_set(relation, fraction, seed)
    hypotheses = hypotheses_of(relation)
    start = time.perf_counter()
    law = posterior(training_set, hypotheses, method=method, truth=relation, seed=seed)
    return time.perf_counter() - start, law


def main():
    print(
        f"{'relation':<18}{'fraction':>9}{'median ms':>11}{'slowest ms':>12}{'chain / exact':>15}{'error of chain':>16}"
    )
    slowest = 0.0
    for name in RELATIONS:
        relation = named_relation(name)
        for fraction in FRACTIONS:
            exact = [seconds(relation, fraction, seed, "exact") for seed in range(TRAINING_SETS)]
            times = np.array([spent for spent, _ in exact])
            slowest = max(slowest, times.max())
            sampled = [seconds(relation, fraction, seed, "chain") for seed in range(SAMPLED_SETS)]
            ratio = np.median([chain[0] / alone[0] for chain, alone in zip(sampled, exact, strict=False)])
            errors = [abs(chain[1].accuracy - alone[1].accuracy) for chain, alone in zip(sampled, exact, strict=False)]
            print(
                f"{relation.label:<18}{fraction:>9.3g}{1e3 * np.median(times):>11.2f}{1e3 * times.max():>12.1f}"
                f"{ratio:>15.3g}{max(errors):>16.1e}"
            )
    verdict = "within" if slowest <= TARGET_SECONDS else "above"
    print(f"slowest training set of 30 elements: {slowest:.2f} s, {verdict} the {TARGET_SECONDS} s target")


if __name__ == "__main__":
    require_one_thread()
    main()
