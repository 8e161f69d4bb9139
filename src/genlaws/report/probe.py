"""The page on a probed model: its numbers, pictures, tables and example trials, in one file that needs no network.

Text that a model wrote is quoted and never trusted.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO

from matplotlib.figure import Figure

from genlaws import __version__
from genlaws.core.estimate import NO_VALUE, format_estimate, format_percent
from genlaws.figures.semanticity import layers as layer_pictures
from genlaws.figures.semanticity import probe as pictures
from genlaws.probes.collapse import CONSTANT_LAW, INVERSE_LAW, ITEMS_LAW, POWER_LAW, PREDICTED_LAW, Law
from genlaws.probes.layers.results import ESTIMATES, LayerTests
from genlaws.probes.plan import Example
from genlaws.probes.probe import ProbeResult, TemplateResult
from genlaws.probes.rates import TEST_LABELS, Rates, TrialRates
from genlaws.probes.vision.pictures import picture_of
from genlaws.probes.vision.scenes import VisionTrial
from genlaws.render.html import data_table, escaped, folded, number_table, paragraphs, picture, quoted, whole_page

PICTURE_PIXELS = 360  # side of a picture of a prompt, scaled down
TRIAL_QUESTIONS = {
    "similarity": "Generalization: which is nearest?",
    "identification": "Identification: which is exactly there?",
    "resolution": "Two anchors: which is nearer?",
}
KIND_LABELS = {"similarity": "generalization", "identification": "identification", "resolution": "two anchors"}
LAW_LABELS = {
    INVERSE_LAW: "c/n",
    POWER_LAW: "power law a·n^(−γ)",
    CONSTANT_LAW: "no collapse",
    ITEMS_LAW: "law of n items",
    PREDICTED_LAW: "similarity: the fitted resolution",
}
Drawing = tuple[Callable[[], Figure], str]


def examples(result: TemplateResult) -> str:
    """Return the first trial of each kind with its prompt and reply."""
    return "".join(map(_example, result.examples))


def unread(result: TemplateResult) -> str:
    """Return the first replies that could not be read; empty if all could."""
    if not result.unread:
        return ""
    rates = result.rates
    count = round(rates.unparsed.value * (result.trial_count - rates.failed))
    caption = f"The first {len(result.unread)} of {count:,} replies that name no item, or several."
    shown = "".join(map(_example, result.unread))
    return f'<h3>Replies that could not be read</h3><p class="soft">{escaped(caption)}</p>{shown}'


def _example(one: Example) -> str:
    heading = f"{TRIAL_QUESTIONS.get(one.kind, one.kind)} Right: {one.right}."
    parts = [f"<p><strong>{escaped(heading)}</strong></p>"]
    if one.trial is not None:
        parts.append(_picture(one.trial))
    parts += [quoted(one.prompt), '<p class="soft">Answered:</p>', quoted(one.answer or "(nothing)")]
    return f'<div class="example">{"".join(parts)}</div>'


def _picture(trial: VisionTrial) -> str:
    """Return the picture of a trial inside the page."""
    stream = BytesIO()
    picture_of(trial).resize((PICTURE_PIXELS, PICTURE_PIXELS)).save(stream, format="PNG", optimize=True)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    described = f"The picture that was shown: {', '.join(trial.options)}"
    size = f'width="{PICTURE_PIXELS}" height="{PICTURE_PIXELS}"'
    return f'<img class="shown" {size} alt="{escaped(described)}" src="data:image/png;base64,{data}">'


def settings(result: ProbeResult, one: TemplateResult) -> str:
    """Return the model, the task and the template."""
    modes = {
        "probability": "the probabilities of all answers are compared; nothing is sampled",
        "text": "the reply is read strictly: exactly one item must be named",
    }
    asking = "" if one.asking is None else f"; {one.asking}"
    rows = [
        ("model", result.model, "with every setting that changes an answer, such as temperature and seed"),
        ("task", result.task, f"distances in {result.unit}" if result.unit else ""),
        ("mode", result.mode, modes[result.mode]),
        ("trials", f"{one.trial_count:,}", f"drawn with seed {result.seed}{asking}"),
        ("template", one.template, ""),
    ]
    for name, value in one.wording.items():
        if name != "name" and value not in ("", False):
            shown = repr(value) if isinstance(value, str) else "yes"
            rows.append((f"template, {name.replace('_', ' ')}", shown, ""))
    return number_table(rows, wrapped=True)


def tables(result: TemplateResult) -> str:
    """Return the tables of one probe, except that of both tests by number of items."""
    parts = [_replies_table(result.rates.rates), _places_table(result.rates.rates)]
    if result.collapse.laws:
        parts += [_laws_table(result.collapse.laws), paragraphs([result.collapse.message], "soft")]
    if result.resolution.comparison is not None:
        parts.append(_shapes_table(result))
    preferences = _preferences(result)
    if preferences:
        caption = "Fitted preferences, as natural logarithms relative to the first; 0 is none"
        parts.append(data_table(caption, ("for", "value"), preferences))
    if result.rates.errors:
        rows = [(f"{number:,}", why) for why, number in result.rates.errors.items()]
        parts.append(data_table("Why trials failed", ("trials", "reason"), rows))
    return "".join([*parts, *_folded_tables(result)])


def _folded_tables(result: TemplateResult) -> list[str]:
    """Return the numbers behind the pictures, folded."""
    parts = []
    unit = f" ({result.resolution.unit})" if result.resolution.unit else ""
    if result.curve is not None and result.curve.points:
        turned = []
        for one in result.curve.points:
            place = (f"{one.half_separation:g}", f"{one.shift:g}")
            counts = (str(one.upper.count), str(one.unparsed), str(one.failed))
            turned.append((*place, format_percent(one.upper), format_estimate(one.probability), *counts))
        heads = (f"D{unit}", f"δ{unit}", "upper named", "mean probability", "answers", "unread", "failed")
        caption = "The two-anchor test: items at c ± D, the query at c + δ"
        parts.append(folded(caption, data_table(caption, heads, turned)))
    near = []
    for part in result.distances.points:
        group = (str(part.item_count), f"{part.nearest:.4g} to {part.farthest:.4g}")
        answers = (format_percent(part.accuracy), format_estimate(part.probability), str(part.accuracy.count))
        near.append((*group, *answers))
    if near:
        caption = "Right answers by distance of the right item"
        columns = ("items", f"distance{unit}", "right", "mean probability", "replies")
        parts.append(folded(caption, data_table(caption, columns, near)))
    return parts


def by_items(rates: TrialRates) -> str:
    """Return the table of both tests by number of items."""
    note = "mean probability of the right answer" if rates.mode == "probability" else "share of right answers"
    caption = f"Both tests by number of items: {note}, 95 % interval"
    return data_table(caption, ("items n", *TEST_LABELS.values(), "chance"), rates.both_tests())


def _replies_table(rates: Sequence[Rates]) -> str:
    columns = ("test", "items", "trials", "failed", "unread", "right", "right if read")
    rows = []
    for one in rates:
        shares = (format_percent(share) for share in (one.unparsed, one.accuracy, one.accuracy_if_parsed))
        rows.append(
            (KIND_LABELS.get(one.kind, one.kind), str(one.item_count), f"{one.sent:,}", str(one.failed), *shares)
        )
    return data_table("Answers, as text or by probability: shares of the replies with 95 % intervals", columns, rows)


def _places_table(rates: Sequence[Rates]) -> str:
    rows = []
    for one in rates:
        places = (format_percent(one.first), format_percent(one.last), f"{100 * one.chance:.1f} %")
        rows.append((KIND_LABELS.get(one.kind, one.kind), str(one.item_count), *places))
    columns = ("test", "items", "first item named", "last item named", "without a preference")
    return data_table("Places: how often the first and the last item are named", columns, rows)


def _laws_table(laws: dict[str, Law]) -> str:
    least = min(law.aic for law in laws.values())
    rows = []
    for law in sorted(laws.values(), key=lambda law: law.aic):
        values = [f"{name.replace('gamma', 'γ')} = {format_estimate(one)}" for name, one in law.parameters.items()]
        misfit = (f"{law.aic - least:.2f}", f"{law.deviance:.2f} on {law.degrees}")
        p_value = NO_VALUE if math.isnan(law.p_value) else f"{law.p_value:.2g}"
        rows.append((LAW_LABELS.get(law.name, law.name), ", ".join(values) or NO_VALUE, *misfit, p_value))
    columns = ("law", "parameters", "AIC above least", "deviance on degrees", "p of a fit this bad")
    return data_table("Laws for the identification of n items, the best first", columns, rows)


def _shapes_table(result: TemplateResult) -> str:
    comparison = result.resolution.comparison
    assert comparison is not None
    columns = (comparison.log_likelihood_per_trial, comparison.difference, comparison.standard_error)
    rows = [
        (shape, f"{value:.4f}", f"{gap:.4f} ± {error:.4f}" if math.isfinite(error) and gap else NO_VALUE)
        for shape, value, gap, error in zip(comparison.shapes, *(one.tolist() for one in columns), strict=True)
    ]
    caption = "Shapes of the similarity: log-likelihood per trial of answers not used in the fit, the best first"
    return data_table(caption, ("shape", "log-likelihood", "against the best (± standard error)"), rows)


def _preferences(result: TemplateResult) -> list[tuple[str, str]]:
    fit = result.resolution
    places = {f"place {place}": value for place, value in enumerate(fit.position_effects, start=2)}
    return [(name, format_estimate(value)) for name, value in [*fit.offsets.items(), *places.items()]]


def probe_page(result: ProbeResult) -> str:
    """Return the HTML of a page on a probe: the numbers and what they mean, pictures, tables, examples.

    The best template comes first. Text from a model or a server is quoted and cannot act on the page.
    """
    ordered = result.ordered
    first = ordered[0]
    about = f"{len(ordered)} templates" if len(ordered) > 1 else f"template {first.template}"
    each = " each" if len(ordered) > 1 else ""
    parts = [
        f'<p class="soft">Model <code>{escaped(result.model)}</code>; task {escaped(result.task)}, '
        f"{escaped(about)}, {first.trial_count:,} trials{each}, scored by {escaped(result.mode)}. "
        f"genlaws {escaped(__version__)}.</p>",
        paragraphs(f"{one.template}: {one.rates.failure}" for one in ordered if one.rates.failed),
    ]
    if len(ordered) > 1:
        parts.append(_comparison(ordered))
    parts += [_section(result, one, number) for number, one in enumerate(ordered, start=1)]
    parts += ["<h2>How to read this</h2>", _explanation()]
    model = result.model.partition(" [")[0].rpartition("/")[2]
    return whole_page(f"Probe of {model}: {result.task}", parts)


def _comparison(ordered: Sequence[TemplateResult]) -> str:
    best = ordered[0].template
    sentence = (
        f"{best} is the furthest above chance of {len(ordered)} templates with the same trials. It was chosen with "
        "these answers, which its intervals do not account for: its numbers are slightly too good. A probe with "
        "another seed does not have this bias."
    )
    rows = []
    for one in ordered:
        fit, unread_share = one.resolution, format_percent(one.rates.unparsed)
        resolution = format_estimate(fit.resolution, fit.unit) if fit.determined else "not determined"
        above, constant = format_estimate(one.above_chance), format_estimate(one.collapse.constant)
        rows.append((one.template, above, resolution, constant, unread_share))
    columns = ("template", "above chance", "resolution ε", "1/n constant c", "unread replies")
    links = ", ".join(
        f'<a href="#template-{number}">{escaped(one.template)}</a>' for number, one in enumerate(ordered, start=1)
    )
    caption = "Both tests for each template, with 95 % intervals; gray: chance, 1/n."
    return (
        f"<h2>Templates compared</h2>{paragraphs([sentence])}"
        f"{data_table('Templates, the best first', columns, rows)}<p>Details: {links}.</p>"
        f'<div class="pictures">{picture(partial(pictures.draw_templates, ordered), caption, "templates")}</div>'
    )


def _section(result: ProbeResult, one: TemplateResult, number: int) -> str:
    heading = "Numbers" if len(result.templates) == 1 else f"Template {one.template}"
    drawn = [(partial(draw, one), _caption(name, one)) for name, draw in pictures.template_drawings(one).items()]
    return "\n".join(
        [
            f'<section><h2 id="template-{number}">{escaped(heading)}</h2>',
            number_table([(row.label, row.value, row.meaning) for row in one.rows()]),
            paragraphs([one.resolution.message] if not one.resolution.determined else []),
            by_items(one.rates),
            "<h3>Pictures</h3>",
            _drawn(drawn, f"picture-{number}"),
            "" if one.layers is None else _layers(one.layers, number),
            "<h3>Tables</h3>",
            tables(one),
            "<h3>Example trials and replies</h3>",
            examples(one),
            unread(one),
            "<h3>Model, task and template</h3>",
            settings(result, one),
            "</section>",
        ]
    )


def _drawn(chosen: Sequence[Drawing], name: str) -> str:
    """Return pictures side by side."""
    shown = (picture(draw, caption, f"{name}-{place}") for place, (draw, caption) in enumerate(chosen, start=1))
    return f'<div class="pictures">{"".join(shown)}</div>'


def _layers(found: LayerTests, number: int) -> str:
    """Return both tests in every layer."""
    chosen: list[Drawing] = [
        (
            partial(layer_pictures.draw_layer_tradeoff, found.curves_frame(), found.item_count),
            "Generalization against identification in the states of each layer, over all thresholds of likeness. "
            "Black: the constant similarity on a homogeneous space, which is no bound on every system. Gray: probes "
            "exchanged between trials, which leaves only chance.",
        ),
        (
            partial(layer_pictures.draw_layer_profile, found.to_frame()),
            "Both tests by layer, with 95 % intervals: within the threshold that is best on the other half of the "
            "trials, and in the read-out of the layer, the probability of the right answer if the model ended there.",
        ),
    ]
    shown = [name for name in ESTIMATES if name != "identification_there"]
    rows = [(one.name, *(format_estimate(getattr(one, name)) for name in shown)) for one in found.layers]
    columns = ("layer", "best p_S", "best p_I", "nearest p_S", "nearest p_I", "read-out p_S", "read-out p_I")
    caption = f"Both tests in every layer, {found.item_count} items, {found.trial_count:,} trials of each"
    return (
        f"<h3>Layer by layer</h3>{_drawn(chosen, f'layers-{number}')}"
        f"{folded(caption, data_table(caption, columns, rows))}"
    )


def _caption(name: str, result: TemplateResult) -> str:
    """Return what a picture of a template shows."""
    note = "line: the fitted choice" if result.resolution.determined else "no line, as no resolution is determined"
    captions = {
        "anchors": "Two items at c ± D, the query at c + δ: how often the upper one is named. Points with 95 % "
        f"intervals; {note}; gray: chance, dotted: the places of the two items.",
        "items": "Both tests with more items at once, with 95 % intervals; the laws are fitted to identification, and "
        "drawn thinner below the number of items where the fit starts.",
        "distances": "Right answers in the tests of nearness by distance of the right item, for each number of items, "
        "with 95 % intervals; gray: chance.",
        "preferences": "Preference for each answer whatever the items are, with 95 % intervals: what the fit removes "
        "before it estimates a resolution.",
    }
    return captions[name]


def _explanation() -> str:
    return paragraphs(
        (
            "A trial has n items at known places and queries one place. Generalization, p_S, is about the item nearest "
            "to a place without an item; identification, p_I, about the item exactly there. Chance is 1/n. With "
            "probabilities, p is the mean probability of the right answer among the items; with text replies, the "
            "share of right answers, and a reply that names no item or several is wrong.",
            "The resolution ε is fitted to the tests of nearness: an item is named in proportion to its similarity "
            "with the query (Luce's rule), which falls with distance on the scale ε to a background Δ, and a "
            "share λ of the answers are guesses. It is not determined if the answers do not follow distances beyond "
            "chance, or allow any scale; then no number is given, which does not mean that the scale is zero.",
            "A system of finite resolution identifies one of many items with probability c/n. A c of 1 is guessing. "
            "For few items the fall is slower than 1/n, and c from c/n is too small; the law of n items includes it.",
            "Answers also follow preferences: for the first item of a list, or for certain words. Items are in random "
            "order, so preferences make answers worse, not better; where they were fitted, the resolution does not "
            "contain them.",
            "In the layers an item counts as similar to the query when the states of the model at the two places "
            "lie within a threshold, as in the theory. The answers of the model may differ from it; the read-out "
            "shows in which layer they arise.",
            "Intervals are 95 %: Wilson's for shares, the bootstrap over trials for mean probabilities and for the "
            "resolution in that mode, the profile likelihood elsewhere. They apply to these trials and this template. "
            "They do not cover other templates, other items or another version of the model.",
        )
    )
