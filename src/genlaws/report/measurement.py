"""Pages on a measured representation and on an encoder measured layer by layer, each one file without network."""

from __future__ import annotations

from functools import partial

from genlaws import __version__
from genlaws.core.estimate import INTERVAL_MEANING
from genlaws.figures.semanticity import measurement as pictures
from genlaws.figures.semanticity.measurement import draw_encoder
from genlaws.probes.layers.embeddings import LayerMeasurements
from genlaws.render.html import data_table, escaped, number_table, paragraphs, picture, whole_page
from genlaws.semanticity.measurement.result import Measurement, or_none

ENCODER_NOTES = (
    "A probe is compared with two stimuli, and one is chosen in proportion to the similarity of their rows. "
    "Generalization asks for the one truly nearer, identification for the one the probe is a copy of; chance is one "
    "half. Every triple of different stimuli counts once.",
    "Permuted rows belong to the wrong stimuli: their generalization is at chance. Random weights are the same "
    "architecture before training: what they reach comes from the input only.",
    "The layer with the largest generalization was chosen with the same stimuli, so its value is biased "
    "upward by the choice.",
)


CAPTIONS = {
    "profile": "Similarity against true distance: mean of the pairs (points), their spread (gray), fit.",
    "front": "The measured point, and what a similarity of each shape would give on these stimuli at any resolution; "
    "the front of the fit has its amplitude A and background Δ.",
    "items": "Both tests with more items at once; identification collapses as one over their number.",
    "thresholds": "Things count as alike within a threshold: both tests at each threshold.",
}


def measurement_page(measured: Measurement) -> str:
    """Return the HTML of a page with the numbers, what they mean, and the pictures."""
    given = {} if measured.call is None else measured.call.arguments
    shown = (picture(one, CAPTIONS[name], name) for name, one in measured.pictures().items())
    parts = [
        f'<p class="soft">{measured.stimulus_count:,} stimuli, {escaped(measured.similarity)} similarity, '
        f"genlaws {escaped(__version__)}. {escaped(measured.message)}</p>",
        summary_table(measured),
        "<h2>Pictures</h2>",
        f'<div class="pictures">{"".join(shown)}</div>',
        "<h2>How to read this</h2>",
        _explanation(),
    ]
    return whole_page(f"Semanticity of {given.get('name') or 'a representation'}", parts)


def summary_table(measured: Measurement) -> str:
    """Return the main numbers as a table."""
    return number_table([(row.label, row.value, row.meaning) for row in measured.summary().rows])


def _explanation() -> str:
    sentences = (
        "A probe is shown with items; an item is chosen in proportion to its similarity with the probe (Luce's rule). "
        "Generalization asks for the item that is truly nearest to a new probe, identification for the one the probe "
        "is a copy of. Every set of different stimuli counts once; no decision is sampled.",
        "A finer resolution identifies better. Generalization is best at a middle resolution, the peak of the front. A "
        "front belongs to one shape of similarity and to Luce's rule; it is no bound on every system, and a point may "
        "lie above it.",
        f"{INTERVAL_MEANING} It comes from the jackknife over stimuli for the two tests, from the bootstrap over "
        "stimuli for resolution and background, from the spread between batches for a set too large to measure whole.",
    )
    return paragraphs(sentences)


def encoder_page(found: LayerMeasurements) -> str:
    """Return the HTML of a page on an encoder: its best layer, all layers, and the controls."""
    best = found.measurements[found.layers.index(found.best)]
    rows = []
    for layer, one in zip(found.layers, found.measurements, strict=True):
        fit = one.fit
        resolution = or_none(fit.resolution.value, f"{fit.resolution} {found.unit}".rstrip())
        explained = or_none(fit.explained, f"{100 * fit.explained:.0f} %")
        rows.append((layer, str(one.generalization), str(one.identification), resolution, fit.shape, explained))
    columns = ("layer", "generalization p_S", "identification p_I", "resolution", "shape", "explained by it")
    profile = f"Similarity against true distance in {found.best}: means (points), spread (gray), fit."
    front = f"{found.best} and what a similarity of each shape would give on these stimuli."
    drawn = [
        picture(partial(draw_encoder, found), "Both tests in every layer, with 95 % bands; controls gray.", "layers"),
        picture(partial(pictures.draw_profile, best), profile, "profile"),
        picture(partial(pictures.draw_empirical_front, best), front, "front"),
    ]
    parts = [
        f'<p class="soft">Encoder <code>{escaped(found.encoder)}</code>; {best.stimulus_count:,} stimuli: '
        f"{escaped(found.stimuli)}. genlaws {escaped(__version__)}.</p>",
        paragraphs([found.message]),
        f"<h2>The layer that generalizes best: {escaped(found.best)}</h2>",
        summary_table(best),
        "<h2>Pictures</h2>",
        f'<div class="pictures">{"".join(drawn)}</div>',
        "<h2>Every layer</h2>",
        data_table("Two items, 95 % intervals over stimuli.", columns, rows),
        *(_control(found, name) for name in found.controls),
        "<h2>How to read this</h2>",
        paragraphs(ENCODER_NOTES),
    ]
    name = found.encoder.partition(" [")[0].rpartition("/")[2]
    return whole_page(f"Semanticity of {name}: {found.stimuli}, layer by layer", parts)


def _control(found: LayerMeasurements, name: str) -> str:
    rows = [
        (layer, str(one.generalization), str(one.identification))
        for layer, one in zip(found.layers, found.controls[name], strict=True)
    ]
    return data_table(f"Control: {name}.", ("layer", "generalization p_S", "identification p_I"), rows)
