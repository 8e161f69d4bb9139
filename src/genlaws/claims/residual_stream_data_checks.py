"""Checks of the autoencoder's sizes and of the counts of data, and what would need the paper's own model."""

from __future__ import annotations

from itertools import pairwise

from genlaws.claims.claim import UNTESTED, Finding
from genlaws.claims.residual_stream_published import KEPT_SHARE, SEQUENCES, WIKITEXT_2, WIKITEXT_103
from genlaws.claims.verdict_rules import corrected_if, holds_if

SIZES = (4096, 1755, 752, 322, 138, 59, 25, 10, 4, 2)
MILLIONS = 17.6  # parameters


def check_sizes(quick: bool, claimed: tuple[int, ...] = SIZES) -> Finding:
    r"""Take the sizes by whole numbers alone, :math:`4096\,(2/4096)^{i/9} = 2^{(108-11i)/9}`, and from the library."""
    from genlaws.residual_stream.autoencoder import Autoencoder, layer_sizes  # noqa: PLC0415 - torch

    exact = tuple(_ninth_root(2 ** (108 - 11 * i)) for i in range(10))
    library = layer_sizes(4096, 10, 2)
    counted = sum(one.numel() for one in Autoencoder(library, 0).parameters()) / 1e6
    by_hand = (_parameters(exact) + _parameters(exact[::-1])) / 1e6
    good = claimed == exact == library and abs(counted - by_hand) < 1e-9 and abs(by_hand - MILLIONS) < 0.05
    return holds_if(
        good,
        {
            "sizes": ", ".join(map(str, exact)),
            "factor": (2 / 4096) ** (1 / 9),
            "million parameters": by_hand,
            "million parameters of the library's": counted,
        },
        f"Ten layers with one factor go {', '.join(map(str, exact))}; encoder and decoder have {by_hand:.1f} million "
        "parameters.",
    )


def _ninth_root(power: int) -> int:
    """Return the largest whole number whose ninth power is not above."""
    root = 1
    while (root + 1) ** 9 <= power:
        root += 1
    return root


def _parameters(sizes: tuple[int, ...]) -> int:
    """Return the parameters of linear maps with offsets, all but the last followed by a LayerNorm."""
    maps = sum(a * b + b for a, b in pairwise(sizes))
    return maps + 2 * sum(sizes[1:-1])


def check_sequences(quick: bool, rows: tuple[int, ...] = WIKITEXT_2, sequences: int = SEQUENCES) -> Finding:
    """Compare the sequences that the autoencoder needs with all there are, before any are left out."""
    kept, other = KEPT_SHARE * sum(rows), KEPT_SHARE * WIKITEXT_103
    return corrected_if(
        kept >= sequences,
        other >= sequences,
        {
            "sequences needed": sequences,
            "rows of WikiText-2": sum(rows),
            "of 100 to 500 characters, about": kept,
            "of WikiText-103, about": other,
        },
        f"WikiText-2 has {sum(rows)} rows in all, about {kept:.0f} of them between 100 and 500 characters: "
        f"{sequences} sequences must come from elsewhere. WikiText-103 would have about {other:.0f}.",
    )


def check_llama(quick: bool) -> Finding:
    """Say why the paper's model is not read."""
    return _untested(
        "Llama 3.1 8B, 16 GB of weights, and Gemma 2",
        "The weights are not at hand, and no data of Gemma 2 are shown. Whoever has them runs genlaws "
        "residual-stream analyse; the other claims here are about the paper's reasoning, its printed numbers, and "
        "small models.",
    )


def check_shuffled_tokens(quick: bool) -> Finding:
    """Say why there is nothing to compare with."""
    return _untested(
        "a result in the paper",
        "The paper describes texts with shuffled tokens and shows no result with them. The library reads such texts as "
        "one of its surrogates.",
    )


def check_teleports(quick: bool) -> Finding:
    """Say why teleports of the paper's model are not made."""
    return _untested(
        "Llama 3.1 8B, and a return that is given as a number",
        "The paper gives no number for how near teleported states come, which tokens it replaces, or over how many "
        "prompts; the sentence that begins with an example ends there. The 8B model is not at hand.",
    )


def _untested(needed: str, why: str) -> Finding:
    return Finding(UNTESTED, {"needed": needed}, why)
