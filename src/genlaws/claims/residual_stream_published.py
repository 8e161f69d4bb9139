"""Numbers of the residual-stream paper that checks are made with: read off its figures, or stated in its text."""

from __future__ import annotations

import numpy as np

from genlaws.numerics.arguments import Array

LAYERS, UNITS, SITES = 32, 4096, 64
ROTATIONS = 10.74  # mean over units, Fig. 2B
TURN_RANGE = (1.5, 16.5)  # Fig. 2C

# Read off the pictures to about .02, the first four speeds to .4; one list for the writes of attention (transitions
# 0, 2, ...) and one for those of the MLP (1, 3, ...).
COSINES = (
    """.52 .84 .85 .93 .89 .92 .93 .89 .93 .93 .94 .96 .92 .95 .95 .97 .95 .97 .99 .99 .99 .99 .98 .99 .99 .99 .96 .99
    .98 .98 .96 .94""",
    """.70 .82 .76 .81 .73 .75 .81 .82 .84 .84 .84 .84 .84 .84 .85 .86 .90 .92 .92 .95 .95 .96 .96 .97 .97 .97 .98 .97
    .97 .95 .87""",
)  # Fig. 1E
SPEEDS = (
    """.6 .6 .6 .7 1.0 1.4 1.6 2.1 2.1 2.2 2.1 1.9 2.8 2.4 2.5 2.1 3.2 3.1 2.2 1.7 2.4 2.8 3.4 3.0 3.9 3.7 7.8 7.2 8.7
    10.2 13.9 19.2""",
    """.6 .7 1.2 1.5 2.3 2.8 2.8 3.2 3.2 3.3 3.5 3.7 4.0 4.5 4.7 4.9 5.1 5.1 5.5 4.9 5.3 5.5 5.8 5.2 6.2 6.0 6.6 8.2
    9.4 13.4 24.2""",
)  # Fig. 1F
INFORMATION = (
    """4.38 1.44 1.06 1.02 .92 1.08 1.06 .98 1.02 1.03 1.11 1.23 .93 1.09 1.17 1.30 1.15 1.37 1.45 1.61 1.58 1.56 1.57
    1.57 1.47 1.54 1.28 1.47 1.48 1.44 1.42 1.57""",
    """2.68 1.27 1.17 .99 .78 .77 .80 .77 .77 .77 .77 .77 .74 .76 .78 .81 .89 .95 1.03 1.09 1.12 1.15 1.22 1.30 1.31
    1.35 1.38 1.37 1.36 1.34 1.16""",
)  # Fig. 1H, nats
# Lengths of steps in the plane of the autoencoder, Fig. 3C: the middle of .03 to .10 in the first dozen, of .01 to .02
# in the middle (bumps of .06 and .08 left out), and the last.
COMPRESSED_STEPS = (0.065, 0.015, 0.24)
# Rows of WikiText-2 (train, validation and test) and of WikiText-103, and the share of between 100 and 500 characters.
WIKITEXT_2, WIKITEXT_103, KEPT_SHARE = (36_718, 3_760, 4_358), 1_801_350, 0.16
SEQUENCES = 100_000  # that the autoencoder is said to be trained and tested on


def by_write(lists: tuple[str, str]) -> tuple[Array, Array]:
    """Return the numbers of attention and of MLP writes."""
    attention, mlp = (np.array([float(word) for word in one.split()]) for one in lists)
    return attention, mlp


def in_order(lists: tuple[str, str]) -> Array:
    """Return the 63 numbers in the order of the transitions."""
    attention, mlp = by_write(lists)
    joined = np.empty(attention.size + mlp.size)
    joined[0::2], joined[1::2] = attention, mlp
    return joined
