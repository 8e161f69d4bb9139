"""``genlaws semanticity front``: both tests at some resolutions, or along a whole front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import Parameter

from genlaws import semanticity
from genlaws.cli.numbers import read_numbers
from genlaws.cli.output import DEFAULT_OUTPUT, Output, aligned, as_json, show
from genlaws.core.arguments import one_of, positive, real, within
from genlaws.core.errors import InputError
from genlaws.core.tables import read_matrix
from genlaws.semanticity.theory.spaces import resolution_of_ball

if TYPE_CHECKING:
    from genlaws.semanticity import Front, FrontPoint, Similarity
    from genlaws.semanticity.theory.exact import Items

POINT_COLUMNS = (
    "generalization",
    "identification",
    "resolution",
    "ball_mass",
    "ball_mass_variance",
    "item_count",
    "collapse_constant",
)
BEST_COLUMNS = ("resolution", "ball_mass", "generalization")
# Columns of a printed table; the JSON output has all.
TABLE_COLUMNS = (
    "background",
    "item_count",
    "resolution",
    "ball_mass",
    "generalization",
    "identification",
    "best_resolution",
    "best_ball_mass",
    "best_generalization",
)
SWEEP_COLUMNS = ("resolution", "ball_mass", "generalization", "identification")
BEST_TOLERANCE = 1e-6  # a generalization this close to the best counts as the best
ZERO_VARIANCE = 1e-15  # a variance below it is zero
NO_BOUND = "A front belongs to one similarity and to Luce's choice rule; it is no bound on every system."
DEFAULT_FOLDER = Path("out/semanticity")
MAX_ITEMS = 1_000_000  # beyond, identification equals the collapse constant over n

SpaceName = Annotated[
    str | None, Parameter(help="circle (if left out), segment, torus, sphere, hypercube or tree.", show_default=False)
]
Shape = Annotated[str, Parameter(help="constant, linear, exponential, gaussian or power-law.")]
Mass = Annotated[
    str | None, Parameter(help="Share of the space within one resolution; several as 0.1,0.5 or 0.1:1:10.")
]
Radius = Annotated[str | None, Parameter(help="Resolution, in units of the distance; instead of --ball-mass.")]
Floor = Annotated[str, Parameter(help="Similarity left at every distance.")]
Count = Annotated[str, Parameter(help="Items to choose from; several as 2,10 or 2:1000:9:log, rounded.")]
Cut = Annotated[float | None, Parameter(help="Distance beyond which only the background remains.")]
Exponent = Annotated[float | None, Parameter(help="Exponent of the power law; 2 if left out.")]
Dimension = Annotated[int | None, Parameter(help="Dimension of the torus, sphere or hypercube.")]
Branching = Annotated[int | None, Parameter(help="Children of each node of the tree.")]
Depth = Annotated[int | None, Parameter(help="Levels of the tree.")]
Matrix = Annotated[Path | None, Parameter(help="Distance matrix, .npy or .csv; instead of --space.")]
Weights = Annotated[Path | None, Parameter(help="One weight for each row of --distances, .npy or .csv.")]
SetSize = Annotated[int | None, Parameter(help="Draw the items from this many stimuli, none of them twice.")]
Ties = Annotated[str, Parameter(help="What to do with items equally near: split or drop.")]
Sweep = Annotated[bool, Parameter(negative="", help="Give the whole front, from fine to coarse, and draw it.")]


class Axes(NamedTuple):
    """What may take several values; the answer is over all combinations."""

    similarities: list[Similarity]
    item_counts: list[int]
    resolutions: list[float]


def front(
    *,
    space: SpaceName = None,
    similarity: Shape = "constant",
    ball_mass: Mass = None,
    resolution: Radius = None,
    background: Floor = "0",
    items: Count = "2",
    cut: Cut = None,
    exponent: Exponent = None,
    dimension: Dimension = None,
    branching: Branching = None,
    depth: Depth = None,
    distances: Matrix = None,
    weights: Weights = None,
    set_size: SetSize = None,
    ties: Ties = "split",
    sweep: Sweep = False,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Give the chance to pick the nearest item (generalization) and the original of a copy (identification).

    Give either --ball-mass or --resolution; with --sweep they mark points on the front and may be left out.
    Where several numbers are given the answer is a table over all combinations.
    """
    one_of("ties", ties, ("split", "drop"))
    _check_one_way(ball_mass, resolution, sweep)
    floors = _read_list("background", background)
    shapes = [_similarity(similarity, floor, cut, exponent) for floor in floors]
    counts = _read_counts(items)
    sizes = {"dimension": dimension, "branching": branching, "depth": depth}
    if distances is None:
        where = _named_items(space or "circle", sizes, weights, set_size, ties)
    else:
        where = _given_items(distances, {"space": space, **sizes}, weights, set_size)
    _check_even_set(where, shapes[0], resolution)
    axes = Axes(shapes, counts, _resolutions(where, ball_mass, resolution))
    options = FrontOptions(where.name, similarity, cut, exponent, set_size, ties)
    answer = _sweep if sweep else _points
    answer(options, where, axes, output)


def _named_items(
    name: str, sizes: dict[str, int | None], weights: Path | None, set_size: int | None, ties: str
) -> Items:
    """Return a space by name, or stimuli spread evenly over it."""
    if weights is not None:
        raise InputError("weights must come with --distances, one weight for each of its rows; got no --distances.")
    where = semanticity.space(name, **sizes)
    if set_size is None:
        return where
    if ties != "split":
        raise InputError("ties must be split with --set-size unless --distances says which stimuli are equally near.")
    return semanticity.even_set(where, set_size)


def _given_items(
    distances: Path, other: dict[str, str | int | None], weights: Path | None, set_size: int | None
) -> Items:
    """Return the space of a distance matrix, or its stimuli as a set; options of another space raise."""
    for option, value in other.items():
        if value is not None:
            raise InputError(f"distances define their own space; leave out --{option} or --distances.")
    matrix = read_matrix("distances", distances)
    if not matrix.any():
        raise InputError("distances must not all be zero; all stimuli would be the same.")
    if set_size is None:
        return semanticity.from_distances(matrix, None if weights is None else read_matrix("weights", weights).ravel())
    if weights is not None:
        raise InputError("weights must be left out with --set-size: all stimuli are drawn alike, at most once.")
    if set_size != len(matrix):
        raise InputError(f"set_size must be {len(matrix)}, the number of rows of distances; got {set_size}.")
    return semanticity.stimulus_set(matrix)


def _points(options: FrontOptions, where: Items, axes: Axes, output: Output) -> None:
    """Answer at each resolution, together with the best one for each background and number of items."""
    points: list[tuple[float, FrontPoint, FrontPoint | None]] = []
    for shape, count in product(axes.similarities, axes.item_counts):
        here = _points_at(where, shape, count, axes.resolutions, options.ties)
        best = semanticity.front(where, shape, count, ties=options.ties).peak
        points += [(shape.background, point, best) for point in here]
    answer = {**point_answer(points), **options.named(), "seed": output.seed}
    text = explain_point(options, answer) if len(points) == 1 else explain_table(options, answer)
    show("front", answer, text, output)


def _points_at(
    where: Items, shape: Similarity, count: int, resolutions: list[float], ties: str
) -> tuple[FrontPoint, ...]:
    """Return the points at some resolutions in the order given."""
    points = [
        semanticity.front(where, shape.at_resolution(radius), count, radius, ties=ties).point for radius in resolutions
    ]
    _check_judged(points)
    return tuple(points)


def _sweep(options: FrontOptions, where: Items, axes: Axes, output: Output) -> None:
    """Answer from fine to coarse and draw the front."""
    import json

    from genlaws.figures.semanticity.front import write_front

    if len(axes.similarities) > 1 or len(axes.item_counts) > 1:
        raise InputError("sweep must have one background and one number of items; got several of them.")
    shape, count = axes.similarities[0], axes.item_counts[0]
    marked = _points_at(where, shape, count, axes.resolutions, options.ties)
    found = semanticity.front(where, shape, count, ties=options.ties)
    _check_judged(found.points)
    named = {**options.named(), "background": shape.background, "item_count": count}
    files = write_front(found, marked, output.out or DEFAULT_FOLDER, options.title(shape.background, count), named)
    answer = {**sweep_answer(found, marked), **named, "files": {kind: str(path) for kind, path in files.items()}}
    if output.json:
        print(json.dumps(as_json({**answer, "seed": output.seed}), indent=2))
        return
    print(explain_sweep(found, marked))
    for path in files.values():
        print(f"  {path}")


def _check_one_way(ball_mass: str | None, resolution: str | None, sweep: bool) -> None:
    if ball_mass is not None and resolution is not None:
        raise InputError(
            "ball_mass and resolution determine each other; give only one of --ball-mass and --resolution."
        )
    if ball_mass is None and resolution is None and not sweep:
        raise InputError("ball_mass or resolution must be given, or --sweep for all of them; got none of the three.")


def _check_judged(points: Sequence[FrontPoint]) -> None:
    if any(math.isnan(point.generalization) for point in points):
        raise InputError("ties must be split here: every set has several nearest items, so none would remain.")


def _check_even_set(where: Items, shape: Similarity, resolution: str | None) -> None:
    """Raise if an option needs distances and there are none."""
    if not isinstance(where, semanticity.EvenSet):
        return
    if shape.shape.name != "constant" or math.isfinite(shape.cut):
        raise InputError(
            f"set_size needs the constant similarity without a cut; got {shape.shape.name}. "
            "For another similarity give the distances of the stimuli with --distances."
        )
    if resolution is not None:
        raise InputError("resolution needs distances; with --set-size alone give --ball-mass, or add --distances.")


def _similarity(shape: str, background: float, cut: float | None, exponent: float | None) -> Similarity:
    """Return the similarity at resolution 1; each point sets its own."""
    return semanticity.similarity(shape, 1.0, background=background, cut=cut, exponent=exponent)


def _resolutions(where: Items, ball_mass: str | None, resolution: str | None) -> list[float]:
    if ball_mass is not None:
        return [_resolution_of(where, float(real("ball_mass", mass))) for mass in _read_list("ball_mass", ball_mass)]
    if resolution is None:
        return []
    return [float(positive("resolution", radius)) for radius in _read_list("resolution", resolution)]


def _resolution_of(where: Items, ball_mass: float) -> float:
    if isinstance(where, semanticity.EvenSet | semanticity.StimulusSet):
        return where.resolution_of(ball_mass)
    within("ball_mass", ball_mass, 0.0, 1.0, open_low=True, hint="It is a share of the space, not a radius.")
    return resolution_of_ball(where, ball_mass)


def _read_counts(text: str) -> list[int]:
    """Return numbers of items; those of a range are rounded, and duplicates are removed."""
    numbers = _read_list("items", text)
    for number in numbers:
        if not 2 <= number <= MAX_ITEMS or (number % 1 and ":" not in text):
            raise InputError(f"items must be whole numbers from 2 to {MAX_ITEMS:,}; got {text!r}.")
    return list(dict.fromkeys(round(number) for number in numbers))


def _read_list(name: str, text: str) -> list[float]:
    import numpy as np

    return [float(number) for number in np.atleast_1d(read_numbers(name, text))]


@dataclass(frozen=True)
class FrontOptions:
    """The options, apart from the numbers that may vary."""

    space: str
    similarity: str
    cut: float | None
    exponent: float | None
    set_size: int | None
    ties: str

    def named(self) -> dict[str, Any]:
        """Return the options under their names."""
        return dict(vars(self))

    def title(self, background: float, item_count: int) -> str:
        """Return two lines for the title of a picture."""
        floor = f", background {background:g}" if background else ""
        return f"{self.similarity} similarity{floor}\n{item_count} items {self.place()}"

    def place(self) -> str:
        """Return where the items come from, as text."""
        if self.set_size is not None:
            return f"from {self.set_size} stimuli, none twice"
        return "from the given places" if self.space == "matrix" else f"on the {self.space}"


def point_answer(points: Sequence[tuple[float, FrontPoint, FrontPoint | None]]) -> dict[str, Any]:
    """Return the columns of points, given with their background and the best point; scalars where there is one."""
    columns: dict[str, list[Any]] = {name: [getattr(point, name) for _, point, _ in points] for name in POINT_COLUMNS}
    columns["background"] = [background for background, _, _ in points]
    for name in BEST_COLUMNS:
        columns[f"best_{name}"] = [None if best is None else getattr(best, name) for _, _, best in points]
    if len(points) == 1:
        return {name: values[0] for name, values in columns.items()}
    return dict(columns)


def sweep_answer(found: Front, marked: Sequence[FrontPoint]) -> dict[str, Any]:
    """Return the columns of a front, its peak, and the points to mark."""
    columns = {name: [getattr(point, name) for point in found.points] for name in POINT_COLUMNS}
    peak = found.peak
    best = {f"best_{name}": None if peak is None else getattr(peak, name) for name in BEST_COLUMNS}
    return {
        **columns,
        "peak": None if peak is None else dict(vars(peak)),
        **best,
        "marked": [dict(vars(point)) for point in marked],
        "message": found.message,
    }


def explain_point(options: FrontOptions, answer: dict[str, Any]) -> str:
    """Return one answer: the numbers, what they mean, and their limits."""
    mass = f"{answer['ball_mass']:.6g}"
    if answer["ball_mass_variance"] > ZERO_VARIANCE:
        mass += f" on average, variance over probes {answer['ball_mass_variance']:.3g}"
    rows = {
        "generalization": f"{answer['generalization']:.6f}",
        "identification": f"{answer['identification']:.6f}",
        "resolution": _format_number(answer["resolution"]),
        "ball mass": mass,
        "collapse constant": _format_collapse(answer["collapse_constant"], options.set_size),
        "best resolution": _format_best(answer),
    }
    count = answer["item_count"]
    rows = {name: value for name, value in rows.items() if value}
    return (
        f"{aligned(rows)}\n"
        f"With {count} items {options.place()}, the one nearest to a new probe is chosen "
        f"{answer['generalization']:.1%} of the time, the original of a copied probe {answer['identification']:.1%}.\n"
        f"{_format_side(answer)}\n"
        f"{NO_BOUND}"
    )


def explain_table(options: FrontOptions, answer: dict[str, Any]) -> str:
    """Return several answers as an aligned table."""
    import pandas as pd

    table = pd.DataFrame({name: answer[name] for name in TABLE_COLUMNS}).astype(float).astype({"item_count": int})
    table = table.dropna(axis="columns", how="all")
    meant = f"The similarity is {options.similarity}; the items are drawn {options.place()}."
    return f"{_aligned_table(table)}\n{meant}\n{NO_BOUND}"


def explain_sweep(found: Front, marked: Sequence[FrontPoint]) -> str:
    """Return a front as an aligned table with its peak in words."""
    table = found.to_frame()[list(SWEEP_COLUMNS)].dropna(axis="columns", how="all")
    lines = [_aligned_table(table), _format_peak(found)]
    for point in marked:
        best = {f"best_{name}": None if found.peak is None else getattr(found.peak, name) for name in BEST_COLUMNS}
        lines.append(
            f"Marked: generalization {point.generalization:.6f} and identification {point.identification:.6f} at "
            f"{_format_place(point)}. {_format_side({**vars(point), **best})}"
        )
    return "\n".join([*lines, NO_BOUND])


def _aligned_table(table: Any) -> str:
    return str(table.to_string(index=False, float_format=lambda x: f"{x:.6g}"))


def _format_peak(found: Front) -> str:
    peak = found.peak
    if peak is None:
        if found.points[0].generalization > found.points[-1].generalization:
            return "There is no peak: generalization and identification both grow down to the finest resolution here."
        return "There is no peak inside these resolutions."
    crossing = " The front crosses the diagonal there." if abs(peak.diagonal_gap) < BEST_TOLERANCE else ""
    return (
        f"The peak is generalization {peak.generalization:.6f} at {_format_place(peak)}, "
        f"where identification is {peak.identification:.6f}.{crossing}"
    )


def _format_place(point: FrontPoint) -> str:
    mass = f"ball mass {point.ball_mass:.6g}"
    return mass if math.isnan(point.resolution) else f"resolution {point.resolution:.6g} ({mass})"


def _format_number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def _format_collapse(constant: float, set_size: int | None) -> str:
    number = f"{constant:.6g}"
    return f"{number} (with many items n, identification tends to {number}/n)" if set_size is None else number


def _format_best(answer: dict[str, Any]) -> str:
    if answer["best_generalization"] is None:
        return "none"
    mass = f"ball mass {answer['best_ball_mass']:.6g}"
    radius = _format_number(answer["best_resolution"])
    return f"{radius or mass}, generalization {answer['best_generalization']:.6f}" + (f" ({mass})" if radius else "")


def _format_side(answer: dict[str, Any]) -> str:
    """Return on which side of the peak a point lies."""
    if answer["best_generalization"] is None:
        return "Generalization has no peak here, so no resolution is best."
    if answer["best_generalization"] - answer["generalization"] < BEST_TOLERANCE:
        return "No other resolution generalizes better."
    key = "ball_mass" if math.isnan(answer["resolution"]) else "resolution"
    if answer[key] < answer[f"best_{key}"]:
        return "This is finer than the best resolution: a coarser one generalizes better but identifies worse."
    return "This is coarser than the best resolution: a finer one, up to the best, improves both."
