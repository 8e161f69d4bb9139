"""Similarities and spaces on which the integral for any similarity is tried."""

import numpy as np

from genlaws.semanticity import circle, hypercube, segment, similarity, sphere, torus, tree, user_shape

MANY = 10**6
# Rounding of sums of a few hundred terms.
ROUNDING = 1e-12


def stairs(x):
    return np.where(x <= 0.4, 1.0, np.where(x <= 0.8, 0.6, np.where(x <= 1.5, 0.1, 0.0)))


SHAPES = {
    "constant": similarity("constant", 0.2, background=0.03),
    "linear": similarity("linear", 0.2),
    "exponential": similarity("exponential", 0.2),
    "gaussian": similarity("gaussian", 0.2, background=1e-3),
    "power-law": similarity("power-law", 0.2, exponent=3.0),
    "user": similarity(lambda x: 1 / (1 + x**2), 0.2),
    "cut": similarity("exponential", 0.2, cut=0.25),
    "stairs": similarity(user_shape(stairs, (0.4, 0.8, 1.5)), 0.2),
}
SMOOTH_INSIDE = ("linear", "exponential", "gaussian", "power-law", "user", "cut")
ALL_SPACES = {
    "circle": circle(),
    "segment": segment(),
    "torus-2": torus(2),
    "torus-3": torus(3),
    "sphere-2": sphere(2),
    "sphere-50": sphere(50),
    "hypercube": hypercube(1000),
    "tree": tree(3, 30),
}
BLOCK_SHAPE = user_shape(lambda x: 1.0 * (x <= 1), (1.0,), "block")
