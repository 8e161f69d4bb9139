"""What the page shows of a measured set: its point compared with the fronts of the set, its profile, and many items."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.estimate import INTERVAL_MEANING
from genlaws.core.panel import curve_of_estimates
from genlaws.render import Curve, Panel
from genlaws.render.copied_commands import READ_TABLE, table_code, with_new_file
from genlaws.semanticity.measurement.empirical_front import EmpiricalFront
from genlaws.semanticity.measurement.result import Measurement
from genlaws.web.view import Answer, Number

# The same colors as in the view of this paper: of a shape, and of either test.
SHAPE_COLORS = {
    "constant": "blue",
    "linear": "vermillion",
    "exponential": "green",
    "gaussian": "purple",
    "power-law": "orange",
}
GENERALIZATION_COLOR, IDENTIFICATION_COLOR, MEASURED_COLOR = "green", "purple", "ink"
SIMILARITY_CURVE_POINTS = 200
MAX_FRONT_POINTS = 200  # of a front
ON_FRONT_TOLERANCE = 0.005  # a smaller distance from the front is not visible


@dataclass(frozen=True)
class Sent:
    """What was uploaded, for the code that computes the same.

    Attributes
    ----------
    kind : {"embeddings", "distances"}
    file : str
        A name such as ``embeddings.npy``, not the one it was sent under.
    positions : str or None
    metric, similarity : str
    """

    kind: str
    file: str
    positions: str | None
    metric: str
    similarity: str


def answer_of(measured: Measurement, sent: Sent) -> Answer:
    """Return pictures, numbers and sentences for a measurement."""
    return Answer(
        panels=(_front_panel(measured), _profile_panel(measured), _items_panel(measured)),
        numbers=(
            Number("items", f"{measured.stimulus_count:,}", f"rows of the file. {INTERVAL_MEANING}"),
            *(Number(row.label, row.value, row.meaning) for row in measured.summary().rows),
        ),
        sentence=_sentence(measured, sent),
        python=_python(sent),
        command=_command(sent),
    )


def _front_panel(measured: Measurement) -> Panel:
    curves = [Curve("chance", "chance", [0.5, 1.0], [0.5, 0.5], "gray")]
    fronts = [one for one in (measured.constant_front, measured.front) if one is not None]
    if len(fronts) == 2 and _front_name(fronts[0]) == _front_name(fronts[1]):
        fronts = fronts[:1]
    curves += [_front_curve(one) for one in fronts]
    both = measured.generalization
    ends = ([both.low], [both.high]) if math.isfinite(both.low + both.high) else (None, None)
    note = [f"p_I {measured.identification}, p_S {both}"]
    place = (measured.identification.value,), (both.value,)
    curves.append(Curve("your set", "mark", *place, MEASURED_COLOR, ends[0], ends[1], note))
    return Panel(
        name="measured-front",
        title="Your set and the fronts of its items, two items at a time",
        x_label="identification p_I",
        y_label="generalization p_S",
        curves=tuple(curves),
        caption="A line is what a similarity of one shape would give on the same items, from fine (right) to coarse "
        "resolution (left). The front of the fit has its background Δ and its amplitude A: a similarity is A times "
        "the sum of shape and background; the similarity of a copy is 1. The diamond is your set. A front is no bound "
        "on every system: a point may lie above it.",
    )


def _front_curve(front: EmpiricalFront) -> Curve:
    selected = np.unique(np.linspace(0, front.resolution.size - 1, MAX_FRONT_POINTS).astype(int))
    notes = [f"resolution ε {one:.4g}" for one in front.resolution[selected]]
    x, y = front.identification[selected].tolist(), front.generalization[selected].tolist()
    return Curve(_front_name(front), "theory", x, y, SHAPE_COLORS.get(front.shape, "green"), notes=notes)


def _front_name(front: EmpiricalFront) -> str:
    background = f", Δ = {front.background:.2g}" if front.background > 0 else ""
    amplitude = f", A = {front.amplitude:.2g}" if front.copies_stand_out else ""
    return f"{front.shape} front{background}{amplitude}"


def _profile_panel(measured: Measurement) -> Panel:
    profile, fit = measured.profile, measured.fit
    low, high = np.maximum(profile.similarity - profile.spread, 0.0), profile.similarity + profile.spread
    x, y, bottom, top = (one.tolist() for one in (profile.distance, profile.similarity, low, high))
    notes = [f"{int(count):,} pairs" for count in profile.pair_count]
    curves = [Curve("pairs of items", "run", x, y, MEASURED_COLOR, bottom, top, notes)]
    if math.isfinite(fit.resolution.value) and profile.upper.size:
        d = np.linspace(0.0, float(profile.upper.max()), SIMILARITY_CURVE_POINTS)
        fitted: Array = fit.amplitude * fit.similarity()(d)
        name = f"{fit.shape} shape, ε = {fit.resolution.value:.3g}"
        curves.append(Curve(name, "theory", d.tolist(), fitted.tolist(), SHAPE_COLORS.get(fit.shape, "green")))
    return Panel(
        name="measured-profile",
        title="How similarity falls with true distance",
        x_label="true distance d",
        y_label="similarity, own copy = 1",
        curves=tuple(curves),
        caption="Points are means over pairs of items at about the same distance; a bar is the spread of these pairs, "
        "not the interval of the mean. The line is the shape that fits best.",
    )


def _items_panel(measured: Measurement) -> Panel:
    items = measured.items
    n = items.item_count.astype(np.float64)
    tests = (("generalization", "p_S", GENERALIZATION_COLOR), ("identification", "p_I", IDENTIFICATION_COLOR))
    curves = [
        curve_of_estimates(f"{test} {symbol}", n.tolist(), getattr(items, test), color) for test, symbol, color in tests
    ]
    span = np.geomspace(float(n.min()), max(float(n.max()), 3.0), SIMILARITY_CURVE_POINTS // 4)
    curves.append(Curve("chance 1/n", "chance", span.tolist(), (1.0 / span).tolist(), "gray"))
    constant = items.collapse_constant
    if math.isfinite(constant):
        law = np.where(constant < span, constant / span, np.nan).tolist()
        curves.append(Curve(f"{constant:.3g}/n", "paper", span.tolist(), law, IDENTIFICATION_COLOR))
    return Panel(
        name="measured-items",
        title="More items at once",
        x_label="number of items n",
        y_label="probability of the right item",
        curves=tuple(curves),
        x_log=True,
        y_log=True,
        caption="Both tests with more items to choose from, with 95 % intervals. Identification tends to a constant "
        "over n, the dashed line, from below.",
    )


def _sentence(measured: Measurement, sent: Sent) -> str:
    parts = [
        f"Of two items your set picks the truly nearer one with probability {measured.generalization.value:.3f} and "
        f"recognizes a copy with {measured.identification.value:.3f}."
    ]
    away = measured.distance_to_front
    if math.isfinite(away):
        place = "on" if abs(away) < ON_FRONT_TOLERANCE else f"{abs(away):.3f} {'above' if away > 0 else 'below'}"
        parts.append(f"It lies {place} the front of the {measured.fit.shape} similarity on these items.")
    if sent.positions is None:
        parts.append(
            "No true places were sent, so the distances between the items in the file count as true distances."
        )
    return " ".join([*parts, measured.message])


def _python(sent: Sent) -> str:
    imports = ["import numpy as np"] if sent.kind == "distances" else []
    lines = [*imports, "from genlaws import semanticity", READ_TABLE, "", *_table(sent)]
    truth = f'positions=table, metric="{sent.metric}"'
    if sent.positions is not None:
        options = ", rows=len(table)" + ", words=True" * (sent.metric == "tree")
        lines.append(f"positions = {table_code('positions', sent.positions, options)}")
        truth = f'positions=positions, metric="{sent.metric}"'
    elif sent.kind == "distances":
        truth = "distances=table"
    what, similarity = ("alike", "precomputed") if sent.kind == "distances" else ("table", sent.similarity)
    lines += [f'measured = semanticity.measure({what}, {truth}, similarity="{similarity}")', "print(measured)"]
    return "\n".join(lines)


def _table(sent: Sent) -> list[str]:
    """Return lines that read the file and, from distances, make similarities."""
    lines = [f"table = {table_code(sent.kind, sent.file)}"]
    if sent.kind == "distances":
        lines.append("width = np.median(table[np.triu_indices(len(table), 1)])")
        lines.append("alike = np.exp(-0.5 * (table / width) ** 2)")
    return lines


def _command(sent: Sent) -> str:
    truth, metric = (sent.file, sent.metric) if sent.positions is None else (sent.positions, sent.metric)
    if sent.kind == "embeddings":
        given = f"--positions {truth} --metric {metric} --similarity {sent.similarity}"
        return f"genlaws semanticity measure {sent.file} {given}"
    metric = "precomputed" if sent.positions is None else metric
    program = "; ".join(["import sys, numpy as np", READ_TABLE, *_table(sent), "np.save(sys.argv[1], alike)"])
    given = f"--positions {truth} --metric {metric} --similarity precomputed"
    return with_new_file("similarities.npy", program, f'genlaws semanticity measure "$file" {given}')
