"""One page on a residual stream: the verdict on each claim of the paper, and every picture with surrogates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import partial

from genlaws import __version__
from genlaws.core.estimate import Estimate
from genlaws.figures.residual_stream.entries import StreamPicture, pictures_of
from genlaws.render.html import data_table, escaped, folded, number_table, paragraphs, picture, whole_page
from genlaws.residual_stream.results import Analysis, StreamClaim

NO_VALUE = "–"
MAX_MESSAGE_CHARACTERS, SUMMARY_CHARACTERS = 500, 160  # of a message printed whole, and of the summary of a longer one
SECTIONS = {
    "Units and steps": ("1", "What single units do along the layers, and how the stream moves."),
    "Rotations": ("2", "Whether the stream rotates, and whether a random walk does."),
    "Through a bottleneck": ("3", "The stream in a few units of an autoencoder."),
    "Dimensions and disturbances": ("4", "In how many directions texts differ, and whether disturbed states return."),
}
SECTION_NUMBERS = {
    "dynamics": "2",
    "participation": "4",
    "teleports_rest_kept": "4",
    "perturbation": "4",
    "lyapunov": "4",
}
STEP_NAMES = {"speed": "step length", "relative_speed": "step / state", "correlation": "correlation r"}
COLUMN_STYLE = "columns:2 21rem;column-gap:1.2rem;margin-top:1.2rem"
UNBROKEN_STYLE = "break-inside:avoid;margin:0 0 1.4rem"


def residual_stream_page(analysis: Analysis) -> str:
    """Return the HTML of a page on an analysis, in one file that needs no network."""
    shown, known = pictures_of(analysis), list(analysis.tables())
    parts = [
        f'<p class="soft">Model <code>{escaped(analysis.model or NO_VALUE)}</code>, {analysis.text_message}, '
        f"{len(analysis.sites)} sites. genlaws {escaped(__version__)}.</p>",
        "<h2>Claims of the paper, for this model</h2>",
        _claims(analysis.claims),
    ]
    if analysis.messages:
        parts += ["<h2>Limits of this analysis</h2>", _messages(analysis.messages)]
    for heading, (number, sentence) in SECTIONS.items():
        chosen = [one for one in shown if SECTION_NUMBERS.get(one.name, one.figure[:1]) == number]
        if chosen:
            parts += [f"<h2>{escaped(heading)}</h2>", paragraphs([sentence], "soft"), _drawn(analysis, chosen, known)]
    parts += [
        "<h2>Numbers by step</h2>",
        _steps(analysis),
        "<h2>How it was recorded</h2>",
        number_table(_recorded(analysis), wrapped=True),
        "<h2>How to read this</h2>",
        _explanation(),
    ]
    return whole_page(f"Residual stream of {analysis.model or 'a network'}", parts)


def _claims(claims: Sequence[StreamClaim]) -> str:
    """Return the table of verdicts; every cell has a label, so that its parts can be stacked."""
    if not claims:
        return paragraphs(["No claim was judged in this analysis."])
    rows = "".join(
        f'<tr><th scope="row" style="white-space:normal;min-width:10rem">{escaped(one.name)}<br>'
        f"<em>{escaped(one.verdict)}</em></th>"
        f'<td style="min-width:19rem">'
        f"{_labeled('the paper says', one.statement)}{_labeled('observed here', one.observed)}</td>"
        f"<td>{_labeled('surrogates', one.surrogate)}{_labeled('why', one.why)}</td></tr>"
        for one in claims
    )
    return f'<table class="numbers" aria-label="Verdict on each claim">{rows}</table>'


def _labeled(what: str, text: str) -> str:
    return f'<div><span class="soft">{escaped(what)}:</span> {escaped(text)}</div>'


def _messages(messages: Sequence[str]) -> str:
    """Return the messages; a very long one is folded behind its summary."""
    return "".join(
        paragraphs([one])
        if len(one) <= MAX_MESSAGE_CHARACTERS
        else folded(f"{one[:SUMMARY_CHARACTERS].rstrip()} …", paragraphs([one]))
        for one in messages
    )


def _drawn(analysis: Analysis, chosen: Sequence[StreamPicture], known: Sequence[str]) -> str:
    """Return pictures, side by side where they fit; `known` are the names of the tables."""
    wide: list[str] = []
    narrow: list[str] = []
    for one in chosen:
        html = picture(partial(one.draw, analysis), _caption(one, known), one.name.replace("_", "-"))
        if one.wide:
            wide.append(_across(html, one))
        else:
            narrow.append(html.replace("<figure>", f'<figure style="{UNBROKEN_STYLE}">', 1))
    rest = f'<div style="{COLUMN_STYLE}">{"".join(narrow)}</div>' if narrow else ""
    return "".join(wide) + rest


def _across(html: str, one: StreamPicture) -> str:
    """Return a picture over the whole width of the page; on a narrow page the picture scrolls, but not its caption."""
    label = escaped(f"Picture: {one.name.replace('_', ' ')}")
    opening = f'<figure style="max-width:none"><div class="scroll" tabindex="0" role="region" aria-label="{label}">'
    drawn, written = html.split("<figcaption>", 1)
    drawn = drawn.replace("<figure><svg", f'{opening}<svg style="min-width:40rem"', 1)
    return f"{drawn}</div><figcaption>{written}"


def _caption(one: StreamPicture, known: Sequence[str]) -> str:
    """Return the caption with the figure of the paper and the names of the tables."""
    figure = f"Figure {one.figure} of the paper: " if one.figure else ""
    files = [name for name in known if any(fnmatchcase(name, table) for table in one.tables)]
    drawn_from = f" Drawn from {', '.join(f'{name}.csv' for name in files)}." if files else ""
    return f"{figure}{one.caption}{drawn_from}"


def _steps(analysis: Analysis) -> str:
    """Return the means of every step, folded away."""
    columns = {STEP_NAMES.get(name, name): _cells(curve) for name, curve in analysis.step_curves().items()}
    if not columns:
        return paragraphs(["Nothing was measured step by step."])
    pairs = zip(analysis.sites, analysis.sites[1:], strict=False)
    names = [(one.name, following.name, one.place) for one, following in pairs]
    rows = [(*name, *cells) for name, cells in zip(names, zip(*columns.values(), strict=True), strict=True)]
    caption = f"Means over the texts with 95 % intervals, {len(rows)} steps"
    return folded(caption, data_table(caption, ("from", "to", "what writes", *columns), rows))


def _cells(estimates: Iterable[Estimate]) -> list[str]:
    return [_with_ends(one) for one in estimates]


def _with_ends(one: Estimate) -> str:
    """Return a number with the ends of its interval."""
    if math.isnan(one.value):
        return NO_VALUE
    if math.isnan(one.low + one.high):
        return f"{one.value:.3g}"
    return f"{one.value:.3g} [{one.low:.3g}, {one.high:.3g}]"


def _recorded(analysis: Analysis) -> list[tuple[str, str, str]]:
    """Return name, value and meaning of how the stream was recorded."""
    error, given = analysis.identity_error, {} if analysis.call is None else analysis.call.arguments
    independent = "intervals rest on the texts, which are independent; tokens of one text are not"
    sites = f"{len(analysis.sites)}, from {analysis.sites[0].name} to {analysis.sites[-1].name}"
    checked = f"largest relative distance from {analysis.identity or 'next = this + write'}, checked at every site"
    position = [("tokens", str(given["position"]), "those of each text that were read")] if "position" in given else []
    return [
        ("model", analysis.model or NO_VALUE, "unchanged"),
        *position,
        ("read", analysis.text_message, independent),
        ("sites", sites, "where the stream was read, before any norm; layers are counted from 0"),
        ("residual identity", NO_VALUE if math.isnan(error) else f"{error:.1e}", checked),
        ("measured", ", ".join(analysis.measures) or NO_VALUE, "the requested measures"),
        ("surrogates", ", ".join(analysis.surrogates) or NO_VALUE, "what it is compared with"),
        ("seed", str(analysis.seed), "of everything random: surrogates, intervals, splits"),
    ]


def _explanation() -> str:
    return paragraphs(
        (
            "The residual stream of a transformer is the state that each attention and each MLP reads and adds to. "
            "Here the layers are taken as time, after Transformer Dynamics (arXiv 2502.12131). A site is a place "
            "between two writes; on the axes a layer is one unit long, attention writes in its first half and the MLP "
            "in its second. A unit is one coordinate of the stream.",
            "Random weights: the same network before any training, with the same texts. Shuffled tokens: the same "
            "network, the tokens of each text in random order. What they also show comes from the architecture "
            "or from the words alone.",
            "Random walk: steps of the measured lengths in random directions. Step signs: each unit's own steps with "
            "random signs. Phase-randomized: the same spectrum along the layers. Layer shuffle: the sites in random "
            "order, gradients recomputed. Basis rotation: the same states in random axes.",
            "A claim holds if the whole interval of its number lies beyond the limit. It also holds for the surrogate "
            "if a surrogate reaches the limit and the number does not lie wholly beyond the surrogate. It is not "
            "tested if the number was not measured or its interval contains the limit.",
            "Intervals are 95 % over the texts. They cover other texts of the same kind, but not another kind of "
            "text, another position or another model.",
        )
    )
