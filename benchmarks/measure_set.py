"""How much faster than a plain loop over probes is the exact measurement, and how much memory does it take?

python benchmarks/measure_set.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

import numpy as np
from one_thread import require_one_thread

from genlaws import semanticity
from genlaws.semanticity.measurement.pairs import pair_generalization
from genlaws.semanticity.theory.finite_sets import sort_others

STIMULI, LARGE_STIMULI = 1000, 2000
REPEATS = 5
TARGET_RATIO = 10
TARGET_BYTES = 2**30
TOLERANCE = 1e-12


def noisy_circle(count, seed=0):
    """Return embeddings near a circle in three dimensions, and the places on it."""
    rng = np.random.default_rng(seed)
    places = rng.random(count)
    angle = 2 * np.pi * places
    ring = np.stack([np.cos(angle), np.sin(angle), np.ones(count)], axis=1)
    return ring + 0.1 * rng.standard_normal(ring.shape), places


def similarity_and_distance(embeddings, places):
    apart = np.abs(places[:, None] - places)
    return half_cosine(embeddings, embeddings), np.minimum(apart, 1.0 - apart)


def plain_masked(similarity, distance):
    """For each probe divide for all pairs, and average over those in which the first is nearer."""
    total_s = total_i = 0.0
    for probe in range(len(similarity)):
        others = np.arange(len(similarity)) != probe
        g, d = similarity[probe, others], distance[probe, others]
        chosen = g[:, None] / (g[:, None] + g)
        total_s += chosen[d[:, None] < d].mean()
        total_i += (similarity[probe, probe] / (similarity[probe, probe] + g)).mean()
    return total_s / len(similarity), total_i / len(similarity)


def plain_sorted(similarity, distance):
    """The same with each row sorted by distance first, so that the upper triangle is used."""
    total_s = total_i = 0.0
    count = len(similarity) - 1
    for probe in range(len(similarity)):
        g = similarity[probe, np.argsort(distance[probe])[1:]]
        chosen = g[:, None] / (g[:, None] + g)
        total_s += np.triu(chosen, 1).sum() / (0.5 * count * (count - 1))
        total_i += (similarity[probe, probe] / (similarity[probe, probe] + g)).mean()
    return total_s / len(similarity), total_i / len(similarity)


def exact_pairs(similarity, distance):
    own = np.diagonal(similarity).copy()
    others = sort_others(similarity, distance, own)
    identified = others.own[:, None] / (others.own[:, None] + others.similarity)
    return float(pair_generalization(others).mean()), float(identified.mean())


def half_cosine(one, other):
    """Return a similarity that is positive everywhere, so that the plain loops need not check for zeros."""
    one, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one, other))
    return 0.5 + 0.5 * (one @ other.T)


def whole_call(embeddings, places, **options):
    found = semanticity.measure(embeddings, positions=places, metric="circle", similarity=half_cosine, **options)
    return found.generalization.value, found.identification.value


def timed(call):
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def peak_memory(count):
    """Return the memory that measuring `count` stimuli adds to a fresh process, in bytes."""
    program = (
        "import resource, sys; sys.path.insert(0, 'benchmarks'); import measure_set as m; import numpy\n"
        "small = m.noisy_circle(50); m.whole_call(*small)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"m.whole_call(*m.noisy_circle({count}))\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)"
    )
    return int(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)


def main():
    require_one_thread()
    embeddings, places = noisy_circle(STIMULI)
    matrices = similarity_and_distance(embeddings, places)
    quick = {"items": (2,), "intervals": False, "fronts": False}
    calls = {
        "plain loop, masked": lambda: plain_masked(*matrices),
        "plain loop, sorted": lambda: plain_sorted(*matrices),
        "genlaws, exact pairs": lambda: exact_pairs(*matrices),
        "genlaws, measure with two items": lambda: whole_call(embeddings, places, **quick),
        "genlaws, measure with all defaults": lambda: whole_call(embeddings, places),
    }
    times = {name: [] for name in calls}
    answers = {}
    for _ in range(REPEATS):
        for name, call in calls.items():
            seconds, answers[name] = timed(call)
            times[name].append(seconds)
    reference = answers["plain loop, masked"]
    base = {name: median(times[name]) for name in ("plain loop, masked", "plain loop, sorted")}
    print(f"{STIMULI} stimuli, medians of {REPEATS} alternating repeats, one thread")
    print(f"{'':36}{'seconds':>9}{'to masked':>11}{'to sorted':>11}{'difference':>12}")
    for name in calls:
        seconds = median(times[name])
        apart = max(abs(a - b) for a, b in zip(answers[name], reference, strict=True))
        masked, ordered = (value / seconds for value in base.values())
        print(f"{name:36}{seconds:9.3f}{masked:11.1f}{ordered:11.1f}{apart:12.1e}")
        assert apart < TOLERANCE
    ratio = min(base.values()) / median(times["genlaws, exact pairs"])
    verdict = "reached" if ratio >= TARGET_RATIO else "NOT reached"
    print(f"exact pairs: {ratio:.1f}x the faster plain loop (target {TARGET_RATIO}x: {verdict})")
    used = peak_memory(LARGE_STIMULI)
    verdict = "reached" if used < TARGET_BYTES else "NOT reached"
    size = f"{used / 2**20:.0f} MiB, {used / LARGE_STIMULI**2:.0f} bytes a pair"
    print(f"measure with all defaults, {LARGE_STIMULI} stimuli: {size} (target 1 GiB: {verdict})")
    fifty = noisy_circle(50)
    for name, options in (("two items, no intervals, no fronts", quick), ("all defaults", {})):
        seconds = median(timed(lambda options=options: whole_call(*fifty, **options))[0] for _ in range(REPEATS))
        print(f"50 stimuli, {name}: {1e3 * seconds:.1f} ms")


if __name__ == "__main__":
    main()
