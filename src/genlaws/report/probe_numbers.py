"""The numbers of a probe in words and tables, as its page shows them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from genlaws.numerics.intervals import Estimate
from genlaws.report.page import data_table, folded, paragraphs
from genlaws.semanticity.probes.collapse import Collapse
from genlaws.semanticity.probes.collapse_laws import CONSTANT, INVERSE, ITEMS, POWER, PREDICTED, Law
from genlaws.semanticity.probes.probe import ProbeResult
from genlaws.semanticity.probes.rates import Rates

Row = tuple[str, str, str]
TESTS = {"similarity": "generalisation p_S", "identification": "identification p_I"}
KINDS = {"similarity": "generalisation", "identification": "identification", "resolution": "two anchors"}
LAWS = {
    INVERSE: "c/n",
    POWER: "power law a·n^(−γ)",
    CONSTANT: "no collapse",
    ITEMS: "law of n items",
    PREDICTED: "similarity: the fitted resolution",
}
NONE = "–"
NOTHING = 1e-6  # smaller numbers with smaller ends are zero to a reader
NARROW = 1e-5  # an interval this small, against its value, is below the digits that are shown


def said(given: Estimate, unit: str = "") -> str:
    """Return a value with its interval and unit; ends that the answers leave open are said to be infinite."""
    if not math.isfinite(given.value):
        return NONE
    ends = (given.low, given.high)
    if max(abs(given.value), *(abs(end) for end in ends)) < NOTHING:
        text = "0"
    elif any(math.isinf(end) for end in ends) and not any(math.isnan(end) for end in ends):
        low, high = (f"{end:.3g}".replace("inf", "∞").replace("-", "−") for end in ends)
        text = f"{given.value:.3g} [{low}, {high}]"
    elif 0.0 <= given.high - given.low < NARROW * abs(given.value):
        text = f"{given.value:.5g}"
    else:
        text = re.sub(r"-?\b0\.0+(?![0-9])", "0", str(replace(given, count=0)))
    return f"{text} {unit}".rstrip()


def percent(given: Estimate) -> str:
    """Return a share with its interval in per cent."""
    if not math.isfinite(given.value):
        return NONE
    value, low, high = (f"{100.0 * end:.1f}" for end in (given.value, given.low, given.high))
    return f"{value} %" if math.isnan(given.low + given.high) else f"{value} % [{low}, {high}]"


def headline(result: ProbeResult) -> list[Row]:
    """Return name, value and meaning of the main numbers of a probe."""
    return [*_resolution(result), *_rates(result), *_collapse(result.collapse), *_replies(result)]


def _resolution(result: ProbeResult) -> list[Row]:
    fit = result.resolution
    above = (
        "above chance",
        said(fit.excess),
        "probability of the right answer in the tests of nearness, minus 1/n; 0 is guessing",
    )
    if not fit.determined or fit.fit is None:
        return [("resolution ε", "not determined", fit.message), above]
    return [
        (
            "resolution ε",
            said(fit.resolution, fit.unit),
            f"scale of the {fit.fit.shape} similarity: closer things are hard to tell apart",
        ),
        ("background Δ", said(fit.background), "similarity of far things, where near ones have 1 on top of it"),
        ("lapses λ", said(fit.lapse), "share of the answers that are guesses, whatever was asked"),
        above,
    ]


def _rates(result: ProbeResult) -> list[Row]:
    """Say both tests with the fewest items; the others are in a table."""
    rows = []
    for kind, name in TESTS.items():
        meaning = "the nearest item" if kind == "similarity" else "the item that is exactly there"
        for one in result.rates.of(kind)[:1]:
            told = f"probability of {meaning} among {one.item_count}; chance {one.chance:.3g}"
            rows.append((f"{name} (n = {one.item_count})", said(one.best), told))
    return rows


def _collapse(fall: Collapse) -> list[Row]:
    if not fall.laws:
        return []
    tested = next((test for test in fall.tests if test.restricted == INVERSE), None)
    rows = [
        (
            "1/n constant c",
            said(fall.constant),
            f"identification of n items falls as c/n, fitted from {fall.from_items} items on; 1 is guessing",
        ),
        ("c by the law of n items", said(fall.limit), "what n times identification tends to for many items"),
        ("exponent", said(fall.exponent), "of a power law in its place; 1 for c/n, 0 for no collapse"),
    ]
    if tested is not None:
        meaning = "of so much better a power law if c/n holds; small speaks against c/n"
        rows.append(("test of c/n", f"p = {tested.p_value:.2g}", meaning))
    return rows


def _replies(result: ProbeResult) -> list[Row]:
    rates = result.rates
    meaning = "share of the replies that name no item, or several; they count as errors"
    if result.mode == "probability":
        meaning = "share of the trials whose probabilities are no numbers; they count as errors"
    rows = [
        ("unread replies", percent(rates.unparsed), meaning),
        ("failed", f"{rates.failed} of {len(result.plan.trials):,}", "trials without any reply; they are in no rate"),
    ]
    place = _position(result)
    return rows if place is None else [*rows, place]


def _position(result: ProbeResult) -> Row | None:
    """Say how often the first item is named in the test with the fewest items."""
    shown = [one for one in result.rates.rates if math.isfinite(one.first.value)]
    if not shown:
        return None
    one = min(shown, key=lambda rate: (rate.item_count, rate.kind != "similarity"))
    liking = "" if one.first.low <= one.chance <= one.first.high else ": a liking for a place"
    return (
        f"first item named (n = {one.item_count})",
        percent(one.first),
        f"share of the readable answers; {100 * one.chance:.3g} % without a liking for places{liking}",
    )


def tables(result: ProbeResult) -> str:
    """Return the tables of one probe, but for that of both tests by number of items."""
    parts = [_replies_table(result.rates.rates), _places_table(result.rates.rates)]
    if result.collapse.laws:
        parts += [_laws_table(result.collapse.laws), paragraphs([result.collapse.message], "soft")]
    if result.resolution.comparison is not None:
        parts.append(_shapes_table(result))
    likings = _likings(result)
    if likings:
        caption = "Likings that were fitted, as natural logarithms against the first; 0 is none"
        parts.append(data_table(caption, ("for", "value"), likings))
    if result.rates.errors:
        rows = [(f"{number:,}", why) for why, number in result.rates.errors.items()]
        parts.append(data_table("Why trials failed", ("trials", "reason"), rows))
    return "".join([*parts, *_folded_tables(result)])


def _folded_tables(result: ProbeResult) -> list[str]:
    """Return the numbers behind the pictures, folded."""
    parts = []
    unit = f" ({result.plan.unit})" if result.plan.unit else ""
    if result.curve is not None and result.curve.points:
        turned = [
            (
                *(f"{one.half_separation:g}", f"{one.shift:g}", percent(one.upper), said(one.probability)),
                *(f"{one.upper.count}", str(one.unparsed), str(one.failed)),
            )
            for one in result.curve.points
        ]
        heads = (f"D{unit}", f"δ{unit}", "upper named", "mean probability", "answers", "unread", "failed")
        caption = "The two-anchor test: items at c ± D, the question at c + δ"
        parts.append(folded(caption, data_table(caption, heads, turned)))
    near = [
        (
            *(str(one.item_count), f"{one.low:.4g} to {one.high:.4g}", percent(one.accuracy), said(one.probability)),
            str(one.accuracy.count),
        )
        for one in result.distances.points
    ]
    if near:
        caption = "Right answers by distance of the right item"
        columns = ("items", f"distance{unit}", "right", "mean probability", "replies")
        parts.append(folded(caption, data_table(caption, columns, near)))
    return parts


def by_items(result: ProbeResult) -> str:
    """Return the table of both tests by number of items."""
    counts = sorted({one.item_count for kind in TESTS for one in result.rates.of(kind)})
    found = {(one.kind, one.item_count): one for one in result.rates.rates}
    rows = []
    for count in counts:
        cells = [said(found[kind, count].best) if (kind, count) in found else NONE for kind in TESTS]
        rows.append((str(count), *cells, f"{1 / count:.3g}"))
    told = "mean probability of the right answer" if result.mode == "probability" else "share of right answers"
    caption = f"Both tests by number of items: {told}, 95 % interval"
    return data_table(caption, ("items n", *TESTS.values(), "chance"), rows)


def _replies_table(rates: Sequence[Rates]) -> str:
    columns = ("test", "items", "asked", "failed", "unread", "right", "right if read")
    rows = [
        (
            *(KINDS.get(one.kind, one.kind), str(one.item_count), f"{one.asked:,}", str(one.failed)),
            *(percent(share) for share in (one.unparsed, one.accuracy, one.accuracy_if_parsed)),
        )
        for one in rates
    ]
    return data_table("Answers, spoken or likeliest: shares of the replies with 95 % intervals", columns, rows)


def _places_table(rates: Sequence[Rates]) -> str:
    rows = [
        (
            KINDS.get(one.kind, one.kind),
            str(one.item_count),
            percent(one.first),
            percent(one.last),
            f"{100 * one.chance:.1f} %",
        )
        for one in rates
    ]
    columns = ("test", "items", "first item named", "last item named", "without a liking")
    return data_table("Places: how often the first and the last item shown are named", columns, rows)


def _laws_table(laws: dict[str, Law]) -> str:
    least = min(law.aic for law in laws.values())
    rows = [
        (
            LAWS.get(law.name, law.name),
            ", ".join(f"{name.replace('gamma', 'γ')} = {said(value)}" for name, value in law.parameters.items())
            or NONE,
            f"{law.aic - least:.2f}",
            f"{law.deviance:.2f} on {law.degrees}",
            NONE if math.isnan(law.p_value) else f"{law.p_value:.2g}",
        )
        for law in sorted(laws.values(), key=lambda law: law.aic)
    ]
    columns = ("law", "parameters", "AIC above least", "deviance on degrees", "p of so bad a fit")
    return data_table("Laws for the identification of n items, the best first", columns, rows)


def _shapes_table(result: ProbeResult) -> str:
    comparison = result.resolution.comparison
    assert comparison is not None
    rows = [
        (shape, f"{value:.4f}", f"{gap:.4f} ± {error:.4f}" if math.isfinite(error) and gap else NONE)
        for shape, value, gap, error in zip(
            comparison.shapes,
            comparison.log_likelihood_per_trial.tolist(),
            comparison.difference.tolist(),
            comparison.standard_error.tolist(),
            strict=True,
        )
    ]
    caption = "Shapes of the similarity: log-likelihood per trial of answers the fit had not seen, the best first"
    return data_table(caption, ("shape", "log-likelihood", "against the best (± standard error)"), rows)


def _likings(result: ProbeResult) -> list[tuple[str, str]]:
    fit = result.resolution
    rows = [(name, said(value)) for name, value in fit.offsets.items()]
    return rows + [(f"place {place}", said(value)) for place, value in enumerate(fit.position_effects, start=2)]
