"""One page on an encoder measured layer by layer, in one file that needs no network."""

from __future__ import annotations

from functools import partial

from genlaws import __version__
from genlaws.figures import semanticity_measure as pictures
from genlaws.figures.semanticity_encoder import draw_encoder
from genlaws.report.measurement_page import headline
from genlaws.report.page import data_table, escaped, number_table, paragraphs, picture, whole_page
from genlaws.semanticity.measurement import or_none
from genlaws.semanticity.probes.layer_measurements import LayerMeasurements

READING = (
    "A probe is compared with two stimuli, and one is chosen in proportion to the similarity of their rows. "
    "Generalisation asks for the one truly nearer, identification for the one the probe is a copy of; chance is one "
    "half. Every triple of different stimuli counts once.",
    "Permuted rows belong to the wrong stimuli: their generalisation is what chance gives. Random weights are the same "
    "architecture before training: what they reach, the input gives for nothing.",
    "The layer with the largest generalisation was chosen with the same stimuli, so its value is too high by the "
    "choice.",
)


def encoder_page(found: LayerMeasurements, title: str) -> str:
    """Return the HTML of a page on an encoder: its best layer, all layers, and the controls.

    Parameters
    ----------
    found : LayerMeasurements
    title : str
        Such as the name of the encoder and the stimuli.
    """
    best = found.measurements[found.layers.index(found.best)]
    rows = [
        (
            *(layer, str(one.generalisation), str(one.identification)),
            or_none(one.fit.resolution.value, f"{one.fit.resolution} {found.unit}".rstrip()),
            *(one.fit.shape, or_none(one.fit.explained, f"{100 * one.fit.explained:.0f} %")),
        )
        for layer, one in zip(found.layers, found.measurements, strict=True)
    ]
    columns = ("layer", "generalisation p_S", "identification p_I", "resolution", "shape", "explained by it")
    drawn = [
        picture(partial(draw_encoder, found), "Both tests in every layer, with 95 % bands; controls grey.", "layers"),
        picture(
            partial(pictures.draw_profile, best),
            f"Similarity against true distance in {found.best}: means (points), spread (grey), fit.",
            "profile",
        ),
        picture(
            partial(pictures.draw_own_front, best),
            f"{found.best} beside what a similarity of each shape would give on these stimuli.",
            "front",
        ),
    ]
    parts = [
        f'<p class="soft">Encoder <code>{escaped(found.encoder)}</code>; {best.stimulus_count:,} stimuli: '
        f"{escaped(found.stimuli)}. genlaws {escaped(__version__)}.</p>",
        paragraphs([found.message]),
        f"<h2>The layer that generalises best: {escaped(found.best)}</h2>",
        number_table(headline(best)),
        "<h2>Pictures</h2>",
        f'<div class="pictures">{"".join(drawn)}</div>',
        "<h2>Every layer</h2>",
        data_table("Two items, 95 % intervals over stimuli.", columns, rows),
        *(_control(found, name) for name in found.controls),
        "<h2>How to read this</h2>",
        paragraphs(READING),
    ]
    return whole_page(f"Semanticity of {title}, layer by layer", parts)


def _control(found: LayerMeasurements, name: str) -> str:
    rows = [
        (layer, str(one.generalisation), str(one.identification))
        for layer, one in zip(found.layers, found.controls[name], strict=True)
    ]
    return data_table(f"Control: {name}.", ("layer", "generalisation p_S", "identification p_I"), rows)
