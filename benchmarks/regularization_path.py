"""What does a whole regularization path cost, compared with one diagonalization and a loop over scikit-learn?

OMP_NUM_THREADS=2 python benchmarks/regularization_path.py   # two threads; one by default
"""

from __future__ import annotations

import os
import time
import warnings
from statistics import median

import numpy as np
from one_thread import require_one_thread
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from genlaws.rules_facts.finite_size import gram_matrix, hinge_path, ridge_path
from genlaws.rules_facts.labels.task import draw_gaussian

REPEATS = 3
COUNT = 50
KERNEL = "erf"
FACT_FRACTION, SAMPLE_RATIO = 0.3, 3.0
RIDGE_SAMPLES, HINGE_SAMPLES = 3000, 1500
# From almost no regularization to far beyond the best one.
PATH = np.geomspace(1e-4, 1e2, COUNT)


def training_set(count, seed=0):
    draw = draw_gaussian(round(count / SAMPLE_RATIO), SAMPLE_RATIO, FACT_FRACTION, test_count=1, seed=seed)
    return gram_matrix(KERNEL, draw.inputs, normalize=True), draw.labels


def ridge_loop(gram, labels):
    return np.stack([KernelRidge(alpha=lam, kernel="precomputed").fit(gram, labels).dual_coef_ for lam in PATH], axis=1)


def machine_loop(gram, labels):
    return [SVC(kernel="precomputed", C=1 / lam).fit(gram, labels).dual_coef_ for lam in PATH]


def timed(methods):
    """Return the median seconds of each method over alternating repeats, and what each returned last."""
    times, results = {name: [] for name in methods}, {}
    for _ in range(REPEATS):
        for name, method in methods.items():
            start = time.perf_counter()
            results[name] = method()
            times[name].append(time.perf_counter() - start)
    return {name: median(values) for name, values in times.items()}, results


def ridge():
    gram, labels = training_set(RIDGE_SAMPLES)
    seconds, results = timed(
        {
            "one numpy eigh": lambda: np.linalg.eigh(gram),
            f"path of {COUNT}": lambda: ridge_path(gram, labels, PATH),
            f"path of {COUNT} with leave-one-out": lambda: ridge_path(gram, labels, PATH, leave_one_out=True),
            f"KernelRidge, loop of {COUNT}": lambda: ridge_loop(gram, labels),
        }
    )
    eigh, path, left_out, loop = seconds.values()
    found, theirs = results[f"path of {COUNT}"].coefficients, results[f"KernelRidge, loop of {COUNT}"]
    print(f"square loss, n = {len(gram)}, kernel {KERNEL}")
    show(seconds, eigh)
    print(f"largest relative difference of the coefficients: {np.abs(found - theirs).max() / np.abs(theirs).max():.1e}")
    print(f"path / eigh {path / eigh:.2f}   loop / path {loop / path:.1f}   leave-one-out / eigh {left_out / eigh:.2f}")


def hinge():
    gram, labels = training_set(HINGE_SAMPLES)
    seconds, results = timed(
        {
            "one numpy eigh": lambda: np.linalg.eigh(gram),
            f"path of {COUNT}": lambda: hinge_path(gram, labels, PATH),
            f"SVC, loop of {COUNT}": lambda: machine_loop(gram, labels),
        }
    )
    eigh, path, loop = seconds.values()
    found = results[f"path of {COUNT}"]
    print(f"hinge loss, n = {len(gram)}, kernel {KERNEL}; SVC has an offset and its default tolerance")
    show(seconds, eigh)
    print(
        f"largest relative duality gap {found.duality_gap.max():.1e}, {found.iterations.mean():.0f} iterations on "
        f"average, {found.interior_steps.sum()} interior-point steps"
    )
    print(f"loop / path {loop / path:.1f}   path / eigh {path / eigh:.2f}")


def show(seconds, eigh):
    print(f"{'':36}{'seconds':>9}{'to eigh':>9}")
    for name, value in seconds.items():
        print(f"{name:36}{value:9.2f}{value / eigh:9.2f}")


def main():
    if "OMP_NUM_THREADS" not in os.environ:
        require_one_thread()
    warnings.simplefilter("error")
    threads = os.environ["OMP_NUM_THREADS"]
    print(f"{COUNT} regularizations from {PATH[0]:g} to {PATH[-1]:g}, median of {REPEATS} repeats, {threads} thread(s)")
    ridge()
    hinge()


if __name__ == "__main__":
    main()
