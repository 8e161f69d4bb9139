"""One page on a measured representation, in one file that needs no network."""

from __future__ import annotations

import html
import io
from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from genlaws import __version__
from genlaws.figures import semanticity_measure as pictures
from genlaws.figures.style import house_style
from genlaws.semanticity.measurement import Measurement

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --line: #d0d0d0; --soft: #555555; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececec; --paper: #17181a; --line: #44474c; --soft: #b0b0b0; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.soft { color: var(--soft); } table { border-collapse: collapse; }
th, td { text-align: left; padding: .25rem 1.2rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: 1rem; }
figure { margin: 0; } figure svg { background: #ffffff; border-radius: 4px; width: 100%; height: auto; }
figcaption { font-size: .9rem; color: var(--soft); }
@media (max-width: 40rem) { .numbers tr { display: block; border-bottom: 1px solid var(--line); padding: .3rem 0; }
  .numbers th, .numbers td { display: block; border: 0; padding: 0; white-space: normal; } }
@media print { body { margin: 0; max-width: none; } figure { break-inside: avoid; } }
"""


def measurement_page(measured: Measurement, title: str) -> str:
    """Return the HTML of a page with the numbers, what they mean, and the pictures.

    Parameters
    ----------
    measured : Measurement
    title : str
        Such as the name of the file that was measured.
    """
    heading = f"Semanticity of {title}"
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{html.escape(heading)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{html.escape(heading)}</h1>",
        f'<p class="soft">{measured.stimulus_count:,} stimuli, {html.escape(measured.similarity)} similarity, '
        f"genlaws {html.escape(__version__)}. {html.escape(measured.message)}</p>",
        _table(headline(measured)),
        "<h2>Pictures</h2>",
        f'<div class="pictures">{"".join(_picture(*one, measured) for one in _pictures(measured))}</div>',
        "<h2>Number of items</h2>",
        _items(measured),
        "<h2>How to read this</h2>",
        _explanation(),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def headline(measured: Measurement) -> list[tuple[str, str, str]]:
    """Return name, value and meaning of the main numbers."""
    fit = measured.fit
    rows = [
        (
            "generalisation p_S",
            str(measured.generalisation),
            "probability of the truly nearer of two items; chance 0.5",
        ),
        ("identification p_I", str(measured.identification), "probability of the item the probe was copied from"),
        ("resolution ε", str(fit.resolution), f"of the {fit.shape} shape, in units of the true distance"),
        ("background Δ", str(fit.background), "similarity of far things, where near ones have 1 on top of it"),
        ("explained by the shape", f"{100 * fit.explained:.1f} %", "of the variance of similarity between distances"),
        ("ball mass ⟨b⟩", f"{measured.ball_mass:.4g}", "share of the others within the resolution of a probe"),
        ("Var b", f"{measured.ball_mass_variance:.3g}", "its variance over probes: how unevenly the stimuli lie"),
        ("1/n constant", f"{measured.items.collapse_constant:.4g}", "identification of n items tends to this over n"),
    ]
    if measured.front is not None:
        rows.append(
            ("distance to the front", f"{measured.distance_to_front:+.3f}", "above (+) or below (−) its own shape")
        )
    if measured.constant_front is not None:
        meaning = "above (+) or below (−) the constant similarity of Theorem 1"
        rows.append(("distance to the constant front", f"{measured.distance_to_constant_front:+.3f}", meaning))
    return rows


def _table(rows: list[tuple[str, str, str]]) -> str:
    cells = (
        f'<tr><th scope="row">{html.escape(name)}</th><td class="number">{html.escape(value)}</td>'
        f"<td>{html.escape(meaning)}</td></tr>"
        for name, value, meaning in rows
    )
    return f'<table class="numbers">{"".join(cells)}</table>'


def _items(measured: Measurement) -> str:
    head = "<tr><th>items</th><th>generalisation</th><th>identification</th></tr>"
    items = measured.items
    rows = zip(
        items.item_count,
        items.generalisation,
        items.generalisation_error,
        items.identification,
        items.identification_error,
        strict=True,
    )
    body = (
        f'<tr><td class="number">{n}</td><td class="number">{_with_error(s, se)}</td>'
        f'<td class="number">{_with_error(i, ie)}</td></tr>'
        for n, s, se, i, ie in rows
    )
    return f'<table>{head}{"".join(body)}</table><p class="soft">± is the standard error over stimuli.</p>'


def _with_error(value: float, error: float) -> str:
    return f"{value:.4f} ± {error:.4f}" if np.isfinite(error) else f"{value:.4f}"


def _pictures(measured: Measurement) -> list[tuple[Callable[[Measurement], Figure], str]]:
    chosen: list[tuple[Callable[[Measurement], Figure], str]] = [
        (
            pictures.draw_profile,
            "Similarity against true distance: mean of the pairs (points), their spread (grey), fit.",
        ),
        (
            pictures.draw_own_front,
            "The measured point beside what a similarity of each shape would give on these stimuli at any resolution.",
        ),
        (pictures.draw_items, "Both tests with more items at once; identification collapses as one over their number."),
    ]
    if measured.threshold_curve is not None:
        chosen.append(
            (pictures.draw_thresholds, "Things count as alike within a threshold: both tests at each of them.")
        )
    return chosen


def _picture(draw: Callable[[Measurement], Figure], caption: str, measured: Measurement) -> str:
    text = io.StringIO()
    with house_style():
        draw(measured).savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    label = html.escape(caption, quote=True)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    return f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>"


def _explanation() -> str:
    sentences = (
        "A probe is shown with items; an item is chosen in proportion to its similarity with the probe (Luce's rule). "
        "Generalisation asks for the item that is truly nearest to a new probe, identification for the one the probe "
        "is a copy of. Every set of different stimuli counts once; no decision is sampled.",
        "A finer resolution identifies better. Generalisation is best at a middle resolution, the peak of the front. A "
        "front belongs to one shape of similarity and to Luce's rule; it is no bound on every system, and a point may "
        "lie above it.",
        "Intervals are 95 %: the jackknife over stimuli for the two tests, the bootstrap over stimuli for resolution "
        "and background, the spread between batches for a set too large to use whole.",
    )
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)
