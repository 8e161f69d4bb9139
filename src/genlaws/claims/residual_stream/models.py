"""Checks of the claims on a real model that is small: the encoder all-MiniLM-L6-v2, read on the example texts.

These end with different words, so the last token is not the same in all of them. A post-norm
encoder of six blocks is no Llama: what holds in it need not hold there, and what does not is not general.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from genlaws.claims.claim import FAILS, HOLDS, LIMITED, Finding
from genlaws.models.texts import example_texts
from genlaws.probes.encoders.load import load_encoder
from genlaws.probes.encoders.text import TextEncoder
from genlaws.residual_stream import results as analyzed
from genlaws.residual_stream.analysis import analyze

if TYPE_CHECKING:
    from genlaws.residual_stream.results import StreamClaim

ENCODER_NAME = "all-MiniLM-L6-v2"


def check_continuity(quick: bool, judged: StreamClaim | None = None) -> Finding:
    """Take the mean correlation of units from one site to the next and compare with random axes and random weights."""
    return _finding_on_encoder("continuity", quick, judged)


def check_acceleration(quick: bool, judged: StreamClaim | None = None) -> Finding:
    """Compare the speed of the last third of the steps with the first, here and with random weights."""
    return _finding_on_encoder("acceleration", quick, judged)


def check_rotations(quick: bool, judged: StreamClaim | None = None) -> Finding:
    """Compare the rotations of units with those of random walks with the same steps, which trace no orbits."""
    return _finding_on_encoder("rotations", quick, judged, like_surrogate=FAILS)


def _finding_on_encoder(name: str, quick: bool, judged: StreamClaim | None, like_surrogate: str = LIMITED) -> Finding:
    found = _encoder_verdicts(quick)[name] if judged is None else judged
    verdicts = {analyzed.HOLDS: HOLDS, analyzed.ALSO_HOLDS_FOR_SURROGATE: like_surrogate}
    return Finding(
        verdicts.get(found.verdict, FAILS),  # an undecided claim is not supported
        {"measured": found.observed, "surrogate": found.surrogate, "verdict_on_this_model": found.verdict},
        f"In {ENCODER_NAME}, a post-norm encoder of six blocks, on the example texts: {found.observed}. {found.why}",
    )


@cache
def _encoder_verdicts(quick: bool) -> dict[str, StreamClaim]:
    """Return the library's verdicts on the encoder, by the names of the claims."""
    encoder = load_encoder("minilm", kind="text")
    if not isinstance(encoder, TextEncoder):
        raise TypeError("The packaged encoder must be one of texts.")
    found = analyze(
        encoder.network,
        encoder.tokenizer,
        list(example_texts()),
        measures=("paths", "correlations", "rotations"),
        surrogates=("random walk", "step signs", "basis rotation", "random weights"),
        draws=20 if quick else 200,
    )
    return {one.name: one for one in found.claims}
