"""Pages on a measured representation and on an encoder measured layer by layer, each one file without network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from matplotlib.figure import Figure

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


def measurement_page(measured: Measurement, title: str) -> str:
    """Return the HTML of a page with the numbers, what they mean, and the pictures.

    Parameters
    ----------
    measured : Measurement
    title : str
        Such as the name of the file that was measured.
    """
    shown = (picture(partial(draw, measured), caption, draw.__name__) for draw, caption in _pictures(measured))
    parts = [
        f'<p class="soft">{measured.stimulus_count:,} stimuli, {escaped(measured.similarity)} similarity, '
        f"genlaws {escaped(__version__)}. {escaped(measured.message)}</p>",
        number_table(measurement_headline(measured)),
        "<h2>Pictures</h2>",
        f'<div class="pictures">{"".join(shown)}</div>',
        "<h2>Number of items</h2>",
        _items(measured),
        "<h2>How to read this</h2>",
        _explanation(),
    ]
    return whole_page(f"Semanticity of {title}", parts)


def measurement_headline(measured: Measurement) -> list[tuple[str, str, str]]:
    """Return name, value and meaning of the main numbers."""
    fit = measured.fit
    rows = [
        (
            "generalization p_S",
            str(measured.generalization),
            "probability of the truly nearer of two items; chance 0.5",
        ),
        ("identification p_I", str(measured.identification), "probability of the item the probe was copied from"),
        (
            "resolution ε",
            or_none(fit.resolution.value, str(fit.resolution)),
            fit.why_none or f"of the {fit.shape} shape, in units of the true distance",
        ),
        (
            "background Δ",
            or_none(fit.background.value, str(fit.background)),
            "similarity of distant things; near ones have 1 more",
        ),
        (
            "explained by the shape",
            or_none(fit.explained, f"{100 * fit.explained:.1f} %"),
            "of the variance of similarity between distances",
        ),
        (
            "ball mass ⟨b⟩",
            or_none(measured.ball_mass, f"{measured.ball_mass:.4g}"),
            "share of the others within the resolution of a probe",
        ),
        (
            "Var b",
            or_none(measured.ball_mass_variance, f"{measured.ball_mass_variance:.3g}"),
            "its variance over probes: how unevenly the stimuli lie",
        ),
        ("1/n constant", f"{measured.items.collapse_constant:.4g}", "identification of n items tends to this over n"),
    ]
    if measured.front is not None:
        meaning = "above (+) or below (−) the front of its own fit"
        rows.append(("distance to the front", f"{measured.distance_to_front:+.3f}", meaning))
    if measured.constant_front is not None:
        meaning = "above (+) or below (−) the constant similarity of Theorem 1"
        rows.append(("distance to the constant front", f"{measured.distance_to_constant_front:+.3f}", meaning))
    return rows


def _items(measured: Measurement) -> str:
    tests = (measured.item_estimates(test) for test in ("generalization", "identification"))
    rows = zip(measured.items.item_count, *tests, strict=True)
    cells = ((str(n), *(str(one).partition(" (")[0] for one in both)) for n, *both in rows)
    return data_table(
        f"Both tests by number of items. {INTERVAL_MEANING}", ("items", "generalization", "identification"), cells
    )


def _pictures(measured: Measurement) -> list[tuple[Callable[[Measurement], Figure], str]]:
    chosen: list[tuple[Callable[[Measurement], Figure], str]] = [
        (
            pictures.draw_profile,
            "Similarity against true distance: mean of the pairs (points), their spread (gray), fit.",
        ),
        (
            pictures.draw_empirical_front,
            "The measured point, and what a similarity of each shape would give on these stimuli at any resolution; "
            "the front of the fit has its amplitude A and background Δ.",
        ),
        (pictures.draw_items, "Both tests with more items at once; identification collapses as one over their number."),
    ]
    if measured.threshold_curve is not None:
        chosen.append(
            (pictures.draw_thresholds, "Things count as alike within a threshold: both tests at each threshold.")
        )
    return chosen


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
    rows = [
        (
            *(layer, str(one.generalization), str(one.identification)),
            or_none(one.fit.resolution.value, f"{one.fit.resolution} {found.unit}".rstrip()),
            *(one.fit.shape, or_none(one.fit.explained, f"{100 * one.fit.explained:.0f} %")),
        )
        for layer, one in zip(found.layers, found.measurements, strict=True)
    ]
    columns = ("layer", "generalization p_S", "identification p_I", "resolution", "shape", "explained by it")
    drawn = [
        picture(partial(draw_encoder, found), "Both tests in every layer, with 95 % bands; controls gray.", "layers"),
        picture(
            partial(pictures.draw_profile, best),
            f"Similarity against true distance in {found.best}: means (points), spread (gray), fit.",
            "profile",
        ),
        picture(
            partial(pictures.draw_empirical_front, best),
            f"{found.best} and what a similarity of each shape would give on these stimuli.",
            "front",
        ),
    ]
    parts = [
        f'<p class="soft">Encoder <code>{escaped(found.encoder)}</code>; {best.stimulus_count:,} stimuli: '
        f"{escaped(found.stimuli)}. genlaws {escaped(__version__)}.</p>",
        paragraphs([found.message]),
        f"<h2>The layer that generalizes best: {escaped(found.best)}</h2>",
        number_table(measurement_headline(best)),
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
