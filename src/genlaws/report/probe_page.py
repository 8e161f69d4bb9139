"""One page on a probed model, in one file that needs no network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from matplotlib.figure import Figure

from genlaws import __version__
from genlaws.figures import semanticity_probe as pictures
from genlaws.figures import semanticity_probe_layers as layer_pictures
from genlaws.figures import semanticity_probe_likings as likings
from genlaws.numerics.errors import InputError
from genlaws.report.page import data_table, escaped, folded, number_table, paragraphs, picture, whole_page
from genlaws.report.probe_examples import examples, settings, unread
from genlaws.report.probe_numbers import by_items, headline, percent, said, tables
from genlaws.semanticity.probes.layer_results import LayerTests
from genlaws.semanticity.probes.probe import ProbeResult, compare_templates

Drawing = tuple[Callable[[], Figure], str]


def probe_page(
    results: Sequence[ProbeResult],
    title: str,
    *,
    layers: Sequence[LayerTests] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Return the HTML of a page on a probe: the numbers and what they mean, pictures, tables, examples.

    What a model or a server said is quoted as text; nothing of it acts on the page.

    Parameters
    ----------
    results : sequence of ProbeResult
        One for each template, of the same model and task. The best comes first.
    title : str
        Such as the name of the model and the task.
    layers : sequence of LayerTests, optional
        Both tests in every layer, each shown under the template of its name.
    notes : sequence of str
        Said below the heading.
    """
    ordered = _ordered(results)
    by_template = _by_template(layers or (), ordered)
    first = ordered[0]
    about = f"{len(ordered)} templates" if len(ordered) > 1 else f"template {first.plan.template.name}"
    each = " each" if len(ordered) > 1 else ""
    parts = [
        f'<p class="soft">Model <code>{escaped(first.model)}</code>; task {escaped(first.plan.task)}, '
        f"{escaped(about)}, {len(first.plan.trials):,} trials{each}, scored by {escaped(first.mode)}. "
        f"genlaws {escaped(__version__)}.</p>",
        paragraphs(
            [*notes, *(f"{one.plan.template.name}: {one.rates.failure}" for one in ordered if one.rates.failed)]
        ),
    ]
    if len(ordered) > 1:
        parts.append(_comparison(ordered))
    for number, one in enumerate(ordered, start=1):
        parts.append(_section(one, number, by_template.get(one.plan.template.name), alone=len(ordered) == 1))
    parts += ["<h2>How to read this</h2>", _explanation()]
    return whole_page(f"Probe of {title}", parts)


def _ordered(results: Sequence[ProbeResult]) -> list[ProbeResult]:
    """Return the probes with the best template first."""
    if not results:
        raise InputError("results must hold at least one probe; got none.")
    named = {one.plan.template.name: one for one in results}
    if len(named) < len(results):
        names = ", ".join(one.plan.template.name for one in results)
        raise InputError(f"results must be of different templates, each under a name of its own; got {names}.")
    return [named[name] for name in compare_templates(results)]


def _by_template(layers: Sequence[LayerTests], results: Sequence[ProbeResult]) -> dict[str, LayerTests]:
    known = [one.plan.template.name for one in results]
    strange = next((one.template for one in layers if one.template not in known), None)
    if strange is not None:
        raise InputError(f"layers must be of the templates of results, {', '.join(known)}; got {strange}.")
    return {one.template: one for one in layers}


def _comparison(ordered: Sequence[ProbeResult]) -> str:
    above = compare_templates(ordered)
    best = ordered[0].plan.template.name
    sentence = (
        f"{best} is the furthest above chance of {len(ordered)} templates asked the same trials. It was chosen with "
        "these very answers, which is not in its intervals: its numbers are a little too good. A probe of it with "
        "another seed is free of that."
    )
    rows = [
        (
            one.plan.template.name,
            said(above[one.plan.template.name]),
            said(one.resolution.resolution, one.resolution.unit) if one.resolution.determined else "not determined",
            said(one.collapse.constant),
            percent(one.rates.unparsed),
        )
        for one in ordered
    ]
    columns = ("template", "above chance", "resolution ε", "1/n constant c", "unread replies")
    links = ", ".join(
        f'<a href="#template-{number}">{escaped(one.plan.template.name)}</a>'
        for number, one in enumerate(ordered, start=1)
    )
    caption = "Both tests for each template, with 95 % intervals; grey: chance, 1/n."
    return (
        f"<h2>Templates compared</h2>{paragraphs([sentence])}"
        f"{data_table('Templates, the best first', columns, rows)}<p>Details: {links}.</p>"
        f'<div class="pictures">{picture(partial(likings.draw_templates, ordered), caption, "templates")}</div>'
    )


def _section(result: ProbeResult, number: int, layers: LayerTests | None, *, alone: bool) -> str:
    heading = "Numbers" if alone else f"Template {result.plan.template.name}"
    return "\n".join(
        [
            f'<section><h2 id="template-{number}">{escaped(heading)}</h2>',
            number_table(headline(result)),
            by_items(result),
            "<h3>Pictures</h3>",
            _drawn(_pictures(result), f"picture-{number}"),
            "" if layers is None else _layers(layers, number),
            "<h3>Tables</h3>",
            tables(result),
            "<h3>Trials as they were asked and answered</h3>",
            examples(result),
            unread(result),
            "<h3>What was asked of which model</h3>",
            settings(result),
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
            "Generalisation against identification in the states of each layer, over all thresholds of likeness. "
            "Black: the constant similarity on a homogeneous space, which is no bound on every system. Grey: probes "
            "exchanged between trials, which leaves chance alone.",
        ),
        (
            partial(layer_pictures.draw_layer_profile, found.to_frame()),
            "Both tests by layer, with 95 % intervals: within the threshold that is best on the other half of the "
            "trials, and in the read-out of the layer, the probability of the right answer if the model ended there.",
        ),
    ]
    rows = [
        (
            one.name,
            *(said(value) for value in (one.best_generalisation, one.best_identification)),
            *(said(value) for value in (one.nearest_generalisation, one.nearest_identification)),
            *(said(value) for value in (one.read_generalisation, one.read_identification)),
        )
        for one in found.layers
    ]
    columns = ("layer", "best p_S", "best p_I", "nearest p_S", "nearest p_I", "read-out p_S", "read-out p_I")
    caption = f"Both tests in every layer, {found.item_count} items, {found.trial_count:,} trials of each"
    return (
        f"<h3>Layer by layer</h3>{_drawn(chosen, f'layers-{number}')}"
        f"{folded(caption, data_table(caption, columns, rows))}"
    )


def _pictures(result: ProbeResult) -> list[Drawing]:
    chosen: list[Drawing] = []
    if result.curve is not None and result.curve.points:
        told = "line: the fitted choice" if result.resolution.determined else "no line, as no resolution is determined"
        chosen.append(
            (
                partial(pictures.draw_resolution_curve, result),
                "Two items at c ± D, the question at c + δ: how often the upper one is named. Points with 95 % "
                f"intervals; {told}; grey: chance, and dotted the places of the two items.",
            )
        )
    if any(result.rates.of(kind) for kind in pictures.KIND_NAMES):
        chosen.append(
            (
                partial(pictures.draw_items, result),
                "Both tests with more items at once, with 95 % intervals; the laws are fitted to identification, and "
                "drawn thinner below the number of items from which on they are fitted.",
            )
        )
    if result.distances.points:
        chosen.append(
            (
                partial(pictures.draw_distances, result),
                "Right answers in the tests of nearness by distance of the right item, for each number of items, with "
                "95 % intervals; grey: chance.",
            )
        )
    if result.resolution.offsets:
        chosen.append(
            (
                partial(likings.draw_options, result),
                "How much each answer is liked whatever is shown, with 95 % intervals: what the fit takes out before "
                "it speaks of a resolution.",
            )
        )
    return chosen


def _explanation() -> str:
    return paragraphs(
        (
            "A trial shows n items at known places and asks for one. Generalisation, p_S, asks for the nearest to a "
            "place where none is; identification, p_I, for the one that is exactly there. Guessing is right once in n "
            "times. With probabilities, p is the mean probability of the right answer among the items shown; with "
            "words, the share of right answers, and a reply that names no item or several is wrong.",
            "The resolution ε is fitted to the tests of nearness: an item is named in proportion to its similarity "
            "with what is asked for (Luce's rule), which falls with distance on the scale ε to a background Δ, and a "
            "share λ of the answers are guesses. It is not determined where the answers do not follow distances beyond "
            "chance, or allow any scale; then no number is given, which does not mean that the scale is zero.",
            "A system of finite resolution identifies one of many items with probability c/n. A c of 1 is guessing. "
            "With few items the fall is slower than 1/n, and c from c/n too small; the law of n items allows for that.",
            "Answers also follow likings: for the first item of a list, or for certain words. Items are shown in "
            "random order, so that these make answers worse and not better; where they were fitted, the resolution is "
            "free of them.",
            "In the layers an item counts as alike to what is asked for when the states of the model at the two places "
            "lie within a threshold, as in the theory. The answers of the model are another matter, and the read-out "
            "shows in which layer they arise.",
            "Intervals are 95 %: Wilson's for shares, the bootstrap over trials for mean probabilities and for the "
            "resolution in that mode, the profile likelihood elsewhere. They speak of these trials and this template. "
            "Other words, other items or another version of the model are not in them.",
        )
    )
