"""Input that cannot be measured is refused with a sentence, and what only looks wrong is not."""

import itertools

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity.measurement.measure import measure

QUICK = {"items": (2,), "intervals": False, "fronts": False}


def around(x, y=None):
    apart = np.abs(np.subtract.outer(x, x if y is None else y))
    return np.minimum(apart, 1 - apart)


def embeddings(n, seed=0, dimension=6):
    """Return places on a circle and noisy embeddings of them."""
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    ring = np.stack([np.cos(2 * np.pi * x), np.sin(2 * np.pi * x)], axis=1) @ rng.normal(size=(2, dimension))
    return x, ring + 0.3 * rng.normal(size=(n, dimension))


X, Z = embeddings(12)
D = around(X)
ON_CIRCLE = {"positions": X, "metric": "circle"}


def with_one(array, value):
    changed = np.array(array, dtype=float)
    changed[1, 0] = value
    return changed


WRONG = [
    (Z, {"similarity": "dot", **ON_CIRCLE}, "must not be negative"),
    (with_one(Z, np.nan), ON_CIRCLE, "embeddings must be finite"),
    (with_one(Z, np.inf), {"similarity": "gaussian", "bandwidth": 1.0, **ON_CIRCLE}, "embeddings must be finite"),
    (with_one(Z, np.nan), {"similarity": "gaussian", **ON_CIRCLE}, "embeddings"),
    (np.zeros((12, 3)), ON_CIRCLE, "length zero"),
    (np.ones((12, 3)), {"similarity": "gaussian", **ON_CIRCLE}, "give a bandwidth"),
    (Z[:10], ON_CIRCLE, "10 stimuli and 12 places"),
    (Z, {"distances": D[:10, :10]}, "12 stimuli and 10 places"),
    (Z, {"distances": D, **ON_CIRCLE}, "truth once"),
    (Z, {}, "truth once"),
    (Z, {"positions": X}, "metric must be one of"),
    (Z, {"positions": X, "metric": "sphere"}, "metric must be one of circle"),
    (Z, {"distances": D, "metric": "circle"}, "metric belongs to positions"),
    (Z, {"distances": D[:, :5]}, "distances must be a square matrix"),
    (Z, {"distances": D + np.eye(12)}, "zero on the diagonal"),
    (Z, {"distances": with_one(D, 9.0)}, "symmetric"),
    (Z, {"distances": -D}, "distances must be zero or positive"),
    (Z, {"distances": np.full((12, 12), "far")}, "distances must be numbers"),
    (Z, {"distances": [[0.0, 1.0], [1.0]]}, "distances must be numbers"),
    (Z, {"distances": np.zeros((12, 12))}, "All true distances are zero"),
    (Z, {"positions": np.zeros(12), "metric": "circle"}, "All true distances are zero"),
    (Z, {"items": (1,), **ON_CIRCLE}, "items must be a whole number"),
    (Z, {"items": (2, 12), **ON_CIRCLE}, "at most 11"),
    (Z, {"items": (2.5,), **ON_CIRCLE}, "items must be a whole number"),
    (Z, {"items": (), **ON_CIRCLE}, "items must name at least one"),
    (Z, {"items": ((2, 3), 4), **ON_CIRCLE}, "items must be a whole number"),
    (Z[:2], {"positions": X[:2], "metric": "circle"}, "at least three rows"),
    (Z[:, 0], ON_CIRCLE, "embeddings must be a table"),
    (Z[:, :0], ON_CIRCLE, "embeddings must be a table"),
    (Z > 0, ON_CIRCLE, "of type bool"),
    (Z + 1j, ON_CIRCLE, "of type complex"),
    (None, ON_CIRCLE, "embeddings must be a table"),
    ([[1.0, 2.0], [3.0]], ON_CIRCLE, "embeddings must be a table"),
    (np.full((12, 2), "a"), ON_CIRCLE, "embeddings must be a table of numbers"),
    (Z, {"bandwidth": 1.0, **ON_CIRCLE}, "bandwidth belongs to the gaussian"),
    (np.eye(12), {"bandwidth": 1.0, "similarity": "precomputed", **ON_CIRCLE}, "bandwidth belongs to the gaussian"),
    (Z, {"bandwidth": 0.0, "similarity": "gaussian", **ON_CIRCLE}, "bandwidth must be positive"),
    (Z, {"threshold": 1.0, **ON_CIRCLE}, "threshold belongs to the threshold"),
    (Z, {"threshold": -1.0, "similarity": "threshold", **ON_CIRCLE}, "threshold must be zero or positive"),
    (Z, {"similarity": "euclidean", **ON_CIRCLE}, "similarity must be one of cosine"),
    (Z, {"similarity": np.eye(12), **ON_CIRCLE}, "similarity must be a text or a function"),
    (Z, {"similarity": "precomputed", **ON_CIRCLE}, "must be square"),
    (-np.eye(12), {"similarity": "precomputed", **ON_CIRCLE}, "must not be negative"),
    (with_one(np.eye(12), np.nan), {"similarity": "precomputed", **ON_CIRCLE}, "must be finite"),
    (Z, {"similarity": lambda a, b: np.ones((3, 3)), **ON_CIRCLE}, "shape (3, 3)"),
    (Z, {"similarity": lambda a, b: "near", **ON_CIRCLE}, "square matrix of numbers"),
    (Z, {"similarity": lambda a, b: np.full((12, 12), np.nan), **ON_CIRCLE}, "must be finite"),
    (Z, {"inputs": Z, **ON_CIRCLE}, "inputs belong to a module"),
    (np.tanh, ON_CIRCLE, "needs inputs"),
    (lambda z: (z, z), {"inputs": Z, **ON_CIRCLE}, "got tuple"),
    (lambda z: {"hidden": z}, {"inputs": Z, **ON_CIRCLE}, "got dict"),
    (lambda z: None, {"inputs": Z, **ON_CIRCLE}, "got NoneType"),
    (Z, {"ties": "keep", **ON_CIRCLE}, "ties must be one of"),
    (Z, {"tie_tolerance": -1.0, **ON_CIRCLE}, "tie_tolerance must be zero or positive"),
    (Z, {"tie_tolerance": [0.1, 0.2], **ON_CIRCLE}, "tie_tolerance must be a single number"),
    (Z, {"period": 0.0, **ON_CIRCLE}, "period must be positive"),
    (Z, {**ON_CIRCLE, "positions": np.linspace(0, 6, len(Z))}, "places from 0 to 6. Give the period (2π for radians"),
    (Z, {"seed": -1, **ON_CIRCLE}, "seed must be a whole number"),
    (Z, {"memory": 0.0, **ON_CIRCLE}, "memory must be positive"),
    (Z, {"memory": 1e-6, **ON_CIRCLE}, "memory must be at least 1.3e-05 GiB, for 9 stimuli"),
    (Z, {"memory": "1 GiB", **ON_CIRCLE}, "memory must be a real number"),
    (Z, {"batch_size": 3, **ON_CIRCLE}, "batch_size must be a whole number"),
    (Z, {"batch_count": 1, **ON_CIRCLE}, "batch_count must be a whole number"),
    (Z, {"precision": 0.0, **ON_CIRCLE}, "precision must be positive"),
    (Z, {"positions": with_one(D, np.nan), "metric": "euclidean"}, "positions must not contain NaN"),
    (Z, {"positions": with_one(D, np.inf), "metric": "euclidean"}, "positions must be finite"),
    (Z, {"positions": D, "metric": "circle"}, "positions on a circle must be one number"),
    (Z, {"positions": 1e200 * D, "metric": "euclidean"}, "distances overflow"),
    (Z, {"positions": X, "metric": "cosine"}, "positions for the cosine metric"),
    (Z, {"positions": [["a"], ["b", "c"]], "metric": "tree"}, "positions must be"),
]


@pytest.mark.parametrize(("representation", "options", "said"), WRONG, ids=itertools.count())
def test_wrong_input_is_named(representation, options, said):
    with pytest.raises(InputError) as caught:
        measure(representation, **options)
    assert said in str(caught.value)


def test_orthogonal_embeddings_are_no_negative_products():
    # Products that are zero up to rounding are zero, of either sign.
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    assert (turn @ turn.T).min() < 0
    measured = measure(turn, similarity="dot", **ON_CIRCLE, **QUICK)
    assert measured.zero_fraction == 1
    assert measured.generalization.value == 0.5
