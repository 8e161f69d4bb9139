"""Runs of the report on resolution: choices drawn by Luce's rule, networks trained, digits measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits  # type: ignore[import-untyped]

from genlaws.numerics.arguments import Array, Whole
from genlaws.semanticity import measure
from genlaws.semanticity.measurement import Measurement

AT_ONCE = 2_000_000  # random places held together


@dataclass(frozen=True)
class Choices:
    """How often choices drawn by Luce's rule were right.

    Attributes
    ----------
    generalisation, identification : float
        Shares of right choices.
    trials : int
        Of each test.
    """

    generalisation: float
    identification: float
    trials: int


def draw_choices(shape: str, ball_mass: float, item_count: int, trials: int, rng: np.random.Generator) -> Choices:
    """Draw places on a circle of length 1, let Luce's rule choose, and count the right choices in both tests.

    Parameters
    ----------
    shape : {"constant", "linear"}
        Of the similarity, which ends at a distance of half the ball mass.
    """
    right = np.zeros(2)
    rows = max(1, AT_ONCE // item_count)
    for start in range(0, trials, rows):
        count = min(rows, trials - start)
        for test in range(2):
            places = rng.random((count, item_count))
            # In the second test the probe is a copy of the first item.
            apart = np.abs(places - (places[:, :1] if test else rng.random((count, 1))))
            distance = np.minimum(apart, 1.0 - apart)
            chosen = _chosen(shape, distance / (0.5 * ball_mass), rng)
            right[test] += (chosen == distance.argmin(axis=1)).sum()
    return Choices(float(right[0] / trials), float(right[1] / trials), trials)


def _chosen(shape: str, scaled: Array, rng: np.random.Generator) -> Array:
    """Return the item each trial chooses: in proportion to its similarity, or any where all are zero."""
    similarity = (scaled <= 1.0).astype(float) if shape == "constant" else np.maximum(0.0, 1.0 - scaled)
    similarity[similarity.sum(axis=1) == 0.0] = 1.0
    reached = similarity.cumsum(axis=1)
    point = rng.random((len(scaled), 1)) * reached[:, -1:]
    chosen: Array = (reached <= point).sum(axis=1)
    return chosen


@dataclass(frozen=True)
class NetworkPath:
    """ReLU networks along their training.

    Attributes
    ----------
    steps : array of shape (logs,)
    generalisation, identification : arrays of shape (networks, logs)
    distance : array of shape (networks,)
        Mean size of the distance from the front of linear decay after each network's peak.
    """

    steps: Whole
    generalisation: Array
    identification: Array
    distance: Array


def train_networks(networks: int, steps: int, logs: int, seed: int) -> NetworkPath:
    """Train the paper's ReLU networks on a circle; needs torch."""
    from genlaws.semanticity.relu_network import train_relu_networks  # noqa: PLC0415
    from genlaws.semanticity.relu_runs import linear_front  # noqa: PLC0415

    first = 1000 * seed
    runs = train_relu_networks(seeds=range(first, first + networks), steps=steps, log_every=max(1, steps // logs))
    apart, after = np.abs(runs.distance_to(linear_front())), runs.after_peak()
    distance = np.array([one[late].mean() for one, late in zip(apart, after, strict=True)])
    return NetworkPath(runs.steps, runs.generalisation, runs.identification, distance)


@dataclass(frozen=True)
class Digits:
    """Handwritten digits, seen through some of their principal components.

    Attributes
    ----------
    components : tuple of int
    by_pixels, by_class : tuple of Measurement
        Nearer means nearer in pixels, or the same digit; one for each number of components.
    """

    components: tuple[int, ...]
    by_pixels: tuple[Measurement, ...]
    by_class: tuple[Measurement, ...]


def measure_digits(count: int, components: tuple[int, ...], share: float, seed: int) -> Digits:
    """Measure digits by a Gaussian similarity in their leading components.

    Parameters
    ----------
    count : int
        Random digits of scikit-learn's.
    components : tuple of int
        How many are kept; 64 are all.
    share : float
        Bandwidth over the median distance of two digits in these components.
    """
    pixels, classes = load_digits(return_X_y=True)
    chosen = np.random.default_rng(seed).permutation(len(pixels))[:count]
    pixels, names = pixels[chosen], classes[chosen].astype(str)[:, None]
    centred = pixels - pixels.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    by_pixels, by_class = [], []
    for kept in components:
        seen = centred @ axes[:kept].T
        bandwidth = share * float(np.median(pdist(seen)))
        whole = kept == max(components)
        compare = partial(measure, seen, similarity="gaussian", bandwidth=bandwidth, seed=seed)
        by_pixels.append(compare(positions=pixels, metric="euclidean", fronts=whole, items=(2,)))
        by_class.append(compare(positions=names, metric="tree", ties="drop", fronts=False, items=(2,)))
    return Digits(components, tuple(by_pixels), tuple(by_class))
