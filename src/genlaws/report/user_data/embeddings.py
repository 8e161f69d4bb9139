"""The user's embeddings or distances: both tests, and their point compared with the fronts of the set."""

from __future__ import annotations

import shlex

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError
from genlaws.core.panel import curve_of_estimates
from genlaws.render import Curve, Panel
from genlaws.render.copied_commands import READ_TABLE, table_code, with_new_file
from genlaws.report.section import Section
from genlaws.report.sections.semanticity import GENERALIZATION_LABEL, IDENTIFICATION_LABEL, SEMANTICITY_LAW, front_line
from genlaws.report.user_data.data import UserData
from genlaws.semanticity import measure
from genlaws.semanticity.measurement.result import Measurement

MIN_STIMULI = 5
# Of the median distance: the width of a Gaussian similarity for a matrix of distances.
BANDWIDTH_SHARE = 0.25
MAX_MEMORY = 0.25  # GiB; larger sets are measured in batches
BATCH_COUNT = 10


def embeddings_section(data: UserData, content: Array, name: str, seed: int) -> Section:
    """Measure embeddings, or a matrix of distances, and compare them with the fronts."""
    if len(content) < MIN_STIMULI:
        raise InputError(f"{data.name} must hold at least {MIN_STIMULI} stimuli to be measured; got {len(content)}.")
    measured, note = _measured(data, content, seed)
    return Section(
        name=name,
        title=f"Yours: {data.name}",
        question="How finely does your representation distinguish things?",
        law=SEMANTICITY_LAW,
        panels=(*_front_panel(measured, name), _items_panel(measured, name)),
        numbers=tuple((row.label, row.value, row.meaning) for row in measured.summary().rows),
        findings=(data.message, note, _finding(measured), measured.message),
        implications=_implications(measured),
        python=_python(data, seed),
        command=_command(data, seed),
    )


def _python(data: UserData, seed: int) -> str:
    """Return lines that give the same measurement."""
    given = "table" if data.kind == "embeddings" else "alike"
    similarity, truth = _names(data)
    imports = ["import numpy as np", ""] if data.kind == "distances" else []
    lines = [*imports, "from genlaws import semanticity", READ_TABLE, "", *_table(data)]
    places = "table"
    if data.positions is not None:
        places = "positions"
        lines.append(f"positions = {table_code('positions', data.positions_name, ', rows=len(table)')}")
    named = f"distances={places}" if truth == "precomputed" else f'positions={places}, metric="{truth}"'
    how = f'similarity="{similarity}", memory={MAX_MEMORY:g}, batch_count={BATCH_COUNT}, seed={seed}'
    return "\n".join([*lines, f"measured = semanticity.measure({given}, {named}, {how})", "print(measured)"])


def _command(data: UserData, seed: int) -> str:
    similarity, truth = _names(data)
    file = shlex.quote(data.name) if data.kind == "embeddings" else '"$file"'
    command = (
        f"genlaws semanticity measure {file} --positions {shlex.quote(data.positions_name or data.name)} "
        f"--metric {truth} --similarity {similarity} --memory {MAX_MEMORY:g} "
        f"--batch-count {BATCH_COUNT} --seed {seed}"
    )
    if data.kind == "embeddings":
        return command
    program = "; ".join(["import sys, numpy as np", READ_TABLE, *_table(data), "np.save(sys.argv[1], alike)"])
    return with_new_file("similarities.npy", program, command)


def _names(data: UserData) -> tuple[str, str]:
    """Return how the similarity and the metric of a measurement are called."""
    by_matrix = data.kind == "distances" if data.positions is None else is_distance_matrix(data.positions)
    return "cosine" if data.kind == "embeddings" else "precomputed", "precomputed" if by_matrix else "euclidean"


def _table(data: UserData) -> list[str]:
    """Return lines that read the file and, from distances, make similarities."""
    lines = [f"table = {table_code(data.kind, data.name)}"]
    if data.kind == "distances":
        lines.append(f"width = {BANDWIDTH_SHARE:g} * np.median(table[table > 0])")
        lines.append("alike = np.exp(-0.5 * (table / width) ** 2)")
    return lines


def _measured(data: UserData, content: Array, seed: int) -> tuple[Measurement, str]:
    """Return the measurement, and a sentence on what was compared."""
    truth, note = _truth(data, content)
    common = {"memory": MAX_MEMORY, "batch_count": BATCH_COUNT, "seed": seed}
    if data.kind == "distances":
        apart = np.asarray(content, dtype=np.float64)
        width = BANDWIDTH_SHARE * float(np.median(apart[apart > 0]))
        alike = np.exp(-0.5 * (apart / width) ** 2)
        note += f" Similarity is Gaussian in the given distances, with a width of {BANDWIDTH_SHARE:g} of their median."
        return measure(alike, similarity="precomputed", **truth, **common), note  # type: ignore[arg-type]
    return measure(content, similarity="cosine", **truth, **common), f"{note} Similarity is the cosine."  # type: ignore[arg-type]


def _truth(data: UserData, content: Array) -> tuple[dict[str, object], str]:
    """Return what counts as the true distance, and a sentence about it."""
    given = data.positions
    if given is None:
        if data.kind == "distances":
            return {"distances": content}, "Nearer means nearer by the given distances themselves."
        note = "Without --positions nearer means nearer by the Euclidean distance of the embeddings themselves."
        return {"positions": content, "metric": "euclidean"}, note
    if len(given) != len(content):
        raise InputError(f"positions must have one row for each of the {len(content)} stimuli; got {len(given)}.")
    if is_distance_matrix(given):
        return {"distances": given}, "Nearer means nearer by the matrix of distances given as --positions."
    return {"positions": given, "metric": "euclidean"}, "Nearer means nearer by the Euclidean distance of --positions."


def is_distance_matrix(values: Array) -> bool:
    """Return whether a table is square and symmetric, with zeros on the diagonal and nothing below zero."""
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) < 3:
        return False
    near = 1e-6 * float(np.abs(values).max())
    return bool(
        (np.abs(np.diagonal(values)) <= near).all() and (values >= 0).all() and np.allclose(values, values.T, atol=near)
    )


def _front_panel(measured: Measurement, name: str) -> tuple[Panel, ...]:
    """Return the measured point with the fronts of its set; nothing for a set measured in batches."""
    if measured.front is None or measured.constant_front is None:
        return ()
    fitted = f"front of the fitted shape ({measured.front.shape}, its amplitude and background)"
    curves = [
        front_line(fitted, measured.front, "purple"),
        front_line("front of the constant shape, no background", measured.constant_front, "blue"),
    ]
    both = measured.generalization, measured.identification
    curves.append(Curve("yours", "mark", [both[1].value], [both[0].value], "vermillion", [both[0].low], [both[0].high]))
    curves.append(Curve("chance", "chance", [0.5, 1.0], [0.5, 0.5], "gray"))
    return (
        Panel(
            f"{name}-front",
            "Your representation and the fronts of its stimuli",
            IDENTIFICATION_LABEL,
            GENERALIZATION_LABEL,
            tuple(curves),
            caption="Lines: what a similarity of each shape would give on your stimuli at any resolution, fine on the "
            "right. A point above a line has another shape of similarity.",
        ),
    )


def _items_panel(measured: Measurement, name: str) -> Panel:
    items = measured.items
    curves = [
        curve_of_estimates(test, items.item_count.tolist(), getattr(items, test), color)
        for test, color in (("generalization", "green"), ("identification", "purple"))
    ]
    line = np.geomspace(2, max(10, int(items.item_count.max())), 25)
    limit = items.collapse_constant / line
    curves.append(Curve("c/n", "theory", line.tolist(), np.where(limit <= 1.0, limit, np.nan).tolist(), "ink"))
    return Panel(
        f"{name}-items",
        "More items at once",
        "number of items n",
        "probability of the right choice",
        tuple(curves),
        x_log=True,
        y_log=True,
        caption=f"Identification tends to c/n with c = {items.collapse_constant:.3g}, the similarity of a copy over "
        "the mean similarity. Bars are 95 % intervals.",
    )


def _finding(measured: Measurement) -> str:
    both = f"p_S = {measured.generalization}, p_I = {measured.identification}"
    if measured.front is None:
        return f"{both}."
    side = "above" if measured.distance_to_front >= 0 else "below"
    apart, shape = abs(measured.distance_to_front), measured.front.shape
    return f"{both}: {apart:.3f} {side} the front of the fitted {shape} shape on your set."


def _implications(measured: Measurement) -> tuple[str, ...]:
    """Return whether a finer or a coarser resolution would generalize better on this set."""
    front = measured.front
    if front is None:
        return ()
    best, here = float(front.generalization[front.peak]), measured.generalization.value
    finer = measured.identification.value > float(front.identification[front.peak])
    way = "coarser" if finer else "finer"
    if here >= best:
        return (
            f"Generalization {here:.3f} is not below the best of its front, {best:.3f}: no resolution improves it.",
        )
    return (
        f"The best resolution of its front generalizes {best:.3f} instead of {here:.3f}; yours would have to see "
        f"{way}, at p_I = {float(front.identification[front.peak]):.3f}.",
    )
