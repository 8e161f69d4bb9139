"""``genlaws semanticity measure``: how finely a representation distinguishes things."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws import semanticity
from genlaws.cli.numbers import read_item_counts
from genlaws.cli.output import DEFAULT_OUTPUT, Output, as_json
from genlaws.core.errors import InputError
from genlaws.core.estimate import INTERVAL_MEANING
from genlaws.core.tables import Table, read_csv, read_lines, read_table
from genlaws.semanticity.measurement.metrics import tree_distances

if TYPE_CHECKING:
    from genlaws.core.estimate import Estimate
    from genlaws.semanticity.measurement.result import Measurement

TREE_SUFFIXES = (".nwk", ".newick", ".tree", ".tre")
HTML_SUFFIXES = (".html", ".htm")

Embeddings = Annotated[
    Path,
    Parameter(
        help="One row per stimulus (.npy, .npz, .csv, .tsv or .parquet, also with names of columns and rows), or a "
        "matrix of similarities."
    ),
]
Positions = Annotated[
    Path,
    Parameter(
        help="True places, one row per stimulus, in a file of the same kinds; a matrix of distances with --metric "
        "precomputed; with --metric tree a tree in Newick format (.nwk) or columns of group labels, coarse to fine."
    ),
]
Metric = Annotated[str, Parameter(help="circle, euclidean, cosine, precomputed or tree.")]
Labels = Annotated[Path | None, Parameter(help="Names of the tree's leaves in the order of the stimuli, one per line.")]
Items = Annotated[str | None, Parameter(help="Numbers of items; if left out, those of 2,3,5,10 that the set allows.")]
Similarities = Annotated[str, Parameter(help="cosine, relu-dot, dot, gaussian, threshold or precomputed.")]
Memory = Annotated[float, Parameter(help="Largest set to measure whole, in GiB of memory; larger ones go in batches.")]


def measure(
    embeddings: Embeddings,
    /,
    *,
    positions: Positions,
    metric: Metric,
    period: Annotated[
        float | None,
        Parameter(
            help="Length of the circle, such as 6.283185307179586 for radians; default: 1, which no place may exceed."
        ),
    ] = None,
    labels: Labels = None,
    similarity: Similarities = "cosine",
    center: Annotated[bool, Parameter(help="Subtract the mean over all stimuli from the embeddings first.")] = False,
    bandwidth: Annotated[float | None, Parameter(help="Of the gaussian similarity; default: median distance.")] = None,
    threshold: Annotated[float | None, Parameter(help="Of the threshold similarity; default: the best one.")] = None,
    items: Items = None,
    ties: Annotated[str, Parameter(help="split or drop sets whose nearest items are equally near.")] = "split",
    tie_tolerance: Annotated[float | None, Parameter(help="Distances closer than this are equal.")] = None,
    intervals: bool = True,
    fronts: bool = True,
    memory: Memory = 1.0,
    batch_size: Annotated[int, Parameter(help="Stimuli of a batch.")] = 500,
    batches: Annotated[int, Parameter(help="Most batches.")] = 40,
    precision: Annotated[float | None, Parameter(help="Stop once both intervals are this narrow.")] = None,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Measure generalization, identification, resolution and the collapse over items of a representation.

    With --out a page (report.html) or a folder is written; a folder holds the page, the numbers and the tables.
    """
    table = read_table("embeddings", embeddings)
    truth, names = _truth(positions, metric, labels, len(table.values))
    measured = semanticity.measure(
        table.values,
        **truth,
        period=period,
        similarity=similarity,
        center=center,
        bandwidth=bandwidth,
        threshold=threshold,
        items=None if items is None else tuple(read_item_counts(items)),
        ties=ties,
        tie_tolerance=tie_tolerance,
        intervals=intervals,
        fronts=fronts,
        memory=memory * 2.0**30,
        batch_size=batch_size,
        batch_count=batches,
        precision=precision,
        seed=output.seed,
    )
    messages = (table.names_message(embeddings.name), names, measured.message)
    measured = replace(measured, message=" ".join(one for one in messages if one))
    answer = as_json(summary(measured) | {"seed": output.seed})
    written = _write(measured, answer, embeddings.name, output.out)
    _show(measured, answer, written, output.json)


def summary(measured: Measurement) -> dict[str, Any]:
    """Return the measurement as plain names and numbers."""
    items, fit = measured.items, measured.fit
    answer: dict[str, Any] = {
        **_estimate("generalization", measured.generalization),
        **_estimate("identification", measured.identification),
        "shape": fit.shape,
        **_estimate("resolution", fit.resolution),
        **_estimate("background", fit.background),
        "amplitude": fit.amplitude,
        "why_no_resolution": fit.why_none or None,
        "explained": fit.explained,
        "ball_mass": measured.ball_mass,
        "ball_mass_variance": measured.ball_mass_variance,
        "collapse_constant": items.collapse_constant,
        "fitted_collapse_constant": items.fitted_constant,
        "distance_to_front": measured.distance_to_front,
        "distance_to_constant_front": measured.distance_to_constant_front,
        "items": {name: getattr(items, name) for name in ITEM_COLUMNS},
        "profile": vars(measured.profile),
    }
    for name, front in (("front", measured.front), ("constant_front", measured.constant_front)):
        answer[name] = None if front is None else {column: getattr(front, column) for column in FRONT_COLUMNS}
    if measured.threshold_curve is not None:
        curve = measured.threshold_curve
        answer["best_threshold"] = float(curve.threshold[curve.best])
        answer["best_threshold_generalization"] = float(curve.generalization[curve.best])
    names = (
        "similarity",
        "ties",
        "tied_fraction",
        "zero_fraction",
        "stimulus_count",
        "exact",
        "batch_count",
        "batch_size",
    )
    return answer | {name: getattr(measured, name) for name in (*names, "message")}


ITEM_COLUMNS = ("item_count", "generalization", "generalization_error", "identification", "identification_error")
FRONT_COLUMNS = ("shape", "amplitude", "background", "resolution", "generalization", "identification")


def _estimate(name: str, estimate: Estimate) -> dict[str, float | list[float]]:
    return {name: estimate.value, f"{name}_interval": [estimate.low, estimate.high]}


def _truth(path: Path, metric: str, labels: Path | None, rows: int) -> tuple[dict[str, Any], str]:
    """Return the positions or distances in a file, according to the metric, and what was read as names."""
    if path.suffix.lower() in TREE_SUFFIXES:
        if metric != "tree":
            raise InputError(f"metric must be tree for a tree file; got {metric!r}.")

        leaves, names = (None, "") if labels is None else _leaves(labels, rows)
        return {"distances": tree_distances("".join(read_lines("positions", path)).strip(), leaves)}, names
    if labels is not None:
        raise InputError("labels name the leaves of a tree file; with positions in a table they must be left out.")
    places = read_table("positions", path, words=metric == "tree", rows=rows)
    return {"positions": places.values, "metric": metric}, places.names_message(path.name)


def _leaves(path: Path, rows: int) -> tuple[list[str], str]:
    """Return the names of a file, one in each line, without a line or column of other names, and what these were."""
    import numpy as np

    lines = "".join(read_lines("labels", path)).strip().splitlines()
    if lines and lines[0].startswith(","):
        table = read_csv("labels", lines, words=True)
    else:  # a name may hold a comma
        header = int(len(lines) == rows + 1)
        names = [line.strip() for line in lines]
        table = Table(np.array(names[header:])[:, None], tuple(names[:header]), separator=",")
    return table.values[:, 0].tolist(), table.names_message(path.name)


def _write(measured: Measurement, answer: dict[str, Any], title: str, out: Path | None) -> list[Path]:
    """Write the page, or a folder with page, numbers and tables, and return what was written."""
    import json

    if out is None:
        return []
    from genlaws.report import measurement_page

    folder = out.parent if out.suffix.lower() in HTML_SUFFIXES else out
    folder.mkdir(parents=True, exist_ok=True)
    page = out if folder != out else out / "report.html"
    page.write_text(measurement_page(measured, title), encoding="utf-8")
    if folder != out:
        return [page]
    tables = {"items": measured.to_frame(), "profile": measured.profile.to_frame()}
    tables |= {"front": measured.front.to_frame()} if measured.front is not None else {}
    tables |= {"thresholds": measured.threshold_curve.to_frame()} if measured.threshold_curve is not None else {}
    for name, table in tables.items():
        table.to_csv(out / f"{name}.csv", index=False)
    (out / "measure.json").write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
    return [page, out / "measure.json", *(out / f"{name}.csv" for name in tables)]


def _show(measured: Measurement, answer: dict[str, Any], written: list[Path], json_wanted: bool) -> None:
    import json

    if json_wanted:
        print(json.dumps(answer | {"files": [str(path) for path in written]}, indent=2))
        return
    from genlaws.report.measurement import measurement_headline

    rows = measurement_headline(measured)
    name_width = max(len(name) for name, _, _ in rows)
    value_width = max(len(value) for _, value, _ in rows)
    for name, value, meaning in rows:
        print(f"{name:<{name_width}}  {value:<{value_width}}  {meaning}")
    print()
    print("items  generalization  identification")
    items = measured.items
    for n, s, i in zip(items.item_count, items.generalization, items.identification, strict=True):
        print(f"{n:>5}  {s:>14.4f}  {i:>14.4f}")
    print()
    print(INTERVAL_MEANING)
    print(measured.message)
    for path in written:
        print(f"Written to {path}")
