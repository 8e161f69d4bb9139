"""Numbers of the residual-stream paper that checks use, and checks of its sizes and counts of data.

Numbers are read off its figures, or stated in its text. Some claims need the paper's own model and are not tested.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from genlaws.claims.claim import UNTESTED, Finding, corrected_if, holds_if
from genlaws.core.arguments import Array

UNITS, SITES = 4096, 64
MEAN_ROTATIONS = 10.74  # mean over units, Fig. 2B
ROTATION_RANGE = (1.5, 16.5)  # Fig. 2C

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
# Rows of WikiText-2 (train, validation and test) and of WikiText-103, and the share of rows with 100 to 500 characters.
WIKITEXT_2, WIKITEXT_103, LENGTH_FILTER_SHARE = (36_718, 3_760, 4_358), 1_801_350, 0.16
SEQUENCES = 100_000  # that the autoencoder is said to be trained and tested on
AUTOENCODER_SIZES = (4096, 1755, 752, 322, 138, 59, 25, 10, 4, 2)
PARAMETER_MILLIONS = 17.6


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


def check_sizes(quick: bool, claimed: tuple[int, ...] = AUTOENCODER_SIZES) -> Finding:
    r"""Compute the sizes with integers only, :math:`4096\,(2/4096)^{i/9} = 2^{(108-11i)/9}`, and from the library."""
    from genlaws.residual_stream.dynamics.compression import Autoencoder, layer_sizes  # noqa: PLC0415 - torch

    exact = tuple(_ninth_root(2 ** (108 - 11 * i)) for i in range(10))
    library = layer_sizes(4096, 10, 2)
    counted = sum(one.numel() for one in Autoencoder(library, 0).parameters()) / 1e6
    by_hand = (_parameter_count(exact) + _parameter_count(exact[::-1])) / 1e6
    good = claimed == exact == library and abs(counted - by_hand) < 1e-9 and abs(by_hand - PARAMETER_MILLIONS) < 0.05
    return holds_if(
        good,
        {
            "sizes": ", ".join(map(str, exact)),
            "factor": (2 / 4096) ** (1 / 9),
            "million_parameters": by_hand,
            "million_parameters_of_the_library": counted,
        },
        f"Ten layers with one factor are {', '.join(map(str, exact))}; encoder and decoder have {by_hand:.1f} million "
        "parameters.",
    )


def _ninth_root(power: int) -> int:
    """Return the largest whole number whose ninth power is not above."""
    root = 1
    while (root + 1) ** 9 <= power:
        root += 1
    return root


def _parameter_count(sizes: tuple[int, ...]) -> int:
    """Return the parameters of linear maps with offsets, all but the last followed by a LayerNorm."""
    maps = sum(a * b + b for a, b in pairwise(sizes))
    return maps + 2 * sum(sizes[1:-1])


def check_sequences(quick: bool, rows: tuple[int, ...] = WIKITEXT_2, sequences: int = SEQUENCES) -> Finding:
    """Compare the sequences that the autoencoder needs with all there are, before any are left out."""
    long_enough, other = LENGTH_FILTER_SHARE * sum(rows), LENGTH_FILTER_SHARE * WIKITEXT_103
    return corrected_if(
        long_enough >= sequences,
        other >= sequences,
        {
            "sequences_needed": sequences,
            "rows_of_wikitext_2": sum(rows),
            "rows_of_wikitext_2_of_100_to_500_characters": long_enough,
            "rows_of_wikitext_103": other,
        },
        f"WikiText-2 has {sum(rows)} rows in all, about {long_enough:.0f} of them between 100 and 500 characters: "
        f"{sequences} sequences must come from elsewhere. WikiText-103 would have about {other:.0f}.",
    )


def check_llama(quick: bool) -> Finding:
    """Explain why the paper's model is not read."""
    return _untested(
        "Llama 3.1 8B, 16 GB of weights, and Gemma 2",
        "The weights are not available here, and no data of Gemma 2 are shown. With them, genlaws residual-stream "
        "analyze reads the model; the other claims here are about the paper's reasoning, its printed numbers, and "
        "small models.",
    )


def check_shuffled_tokens(quick: bool) -> Finding:
    """Explain why there is nothing to compare with."""
    return _untested(
        "a result in the paper",
        "The paper describes texts with shuffled tokens and shows no result with them. The library reads such texts as "
        "one of its surrogates.",
    )


def check_teleports(quick: bool) -> Finding:
    """Explain why teleports of the paper's model are not run."""
    return _untested(
        "Llama 3.1 8B, and a return that is given as a number",
        "The paper gives no number for how near teleported states come, which tokens it replaces, or over how many "
        "prompts; the sentence that begins with an example breaks off. The 8B model is not available here.",
    )


def _untested(needed: str, why: str) -> Finding:
    return Finding(UNTESTED, {"needed": needed}, why)
