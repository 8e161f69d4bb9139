"""``genlaws semanticity``: how finely a representation tells things apart, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import App, Parameter

from genlaws.commands.numbers import read_numbers
from genlaws.commands.output import DEFAULT_OUTPUT, Output, show
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from genlaws.commands.semanticity_source import Source
    from genlaws.commands.semanticity_words import FrontQuestion
    from genlaws.semanticity import FrontPoint, Similarity

app = App(
    name="semanticity",
    help="How finely a representation tells things apart, and what that costs.",
    help_format="plaintext",
)
app.command(
    "genlaws.commands.semanticity_choices:fit_choices",
    name="fit-choices",
    help="Estimate resolution, background and shape of the similarity from recorded choices.",
)
app.command(
    "genlaws.commands.semanticity_measure:measure",
    name="measure",
    help="Measure generalisation, identification and resolution of embeddings.",
)
app.command(
    "genlaws.commands.semanticity_probe:probe",
    name="probe",
    help="Probe a language or vision model: its resolution, its p_S and p_I, its collapse over items.",
)

DEFAULT_FOLDER = Path("out/semanticity")
MOST_ITEMS = 1_000_000  # beyond, identification is the collapse constant over n for every purpose

SpaceName = Annotated[
    str | None, Parameter(help="circle (if left out), segment, torus, sphere, hypercube or tree.", show_default=False)
]
Shape = Annotated[str, Parameter(help="constant, linear, exponential, gaussian or power-law.")]
Mass = Annotated[
    str | None, Parameter(help="Share of the space within one resolution; several as 0.1,0.5 or 0.1:1:10.")
]
Radius = Annotated[str | None, Parameter(help="Resolution, in units of the distance; instead of --ball-mass.")]
Floor = Annotated[str, Parameter(help="Similarity that is left at every distance.")]
Count = Annotated[str, Parameter(help="Items to choose from; several as 2,10 or 2:1000:9:log, rounded.")]
Cut = Annotated[float | None, Parameter(help="Distance beyond which only the background is left.")]
Exponent = Annotated[float | None, Parameter(help="Exponent of the power law; 2 if left out.")]
Dimension = Annotated[int | None, Parameter(help="Dimension of the torus, sphere or hypercube.")]
Branching = Annotated[int | None, Parameter(help="Children of each node of the tree.")]
Depth = Annotated[int | None, Parameter(help="Levels of the tree.")]
Matrix = Annotated[Path | None, Parameter(help="Distance matrix, .npy or .csv; instead of --space.")]
Weights = Annotated[Path | None, Parameter(help="One weight for each row of --distances, .npy or .csv.")]
SetSize = Annotated[int | None, Parameter(help="Draw different items from this many stimuli, none of them twice.")]
Ties = Annotated[str, Parameter(help="What to do with items equally near: split or drop.")]
Sweep = Annotated[bool, Parameter(negative="", help="Give the whole front, from fine to coarse, and draw it.")]


class Axes(NamedTuple):
    """What may take several values; the answer is over all combinations."""

    similarities: list[Similarity]
    item_counts: list[int]
    resolutions: list[float]


@app.command
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
    """Give the chance to pick the nearest item (generalisation) and the original of a copy (identification).

    Give either --ball-mass or --resolution; with --sweep they mark points on the front and may be left out.
    Where several numbers are given the answer is a table over all combinations.
    """
    from genlaws.commands.semanticity_source import choose_source
    from genlaws.commands.semanticity_words import FrontQuestion
    from genlaws.numerics.arguments import one_of

    one_of("ties", ties, ("split", "drop"))
    _check_one_way(ball_mass, resolution, sweep)
    floors = _read_list("background", background)
    shapes = [_similarity(similarity, floor, cut, exponent) for floor in floors]
    counts = _read_counts(items)
    source = choose_source(
        space,
        dimension=dimension,
        branching=branching,
        depth=depth,
        distances=distances,
        weights=weights,
        set_size=set_size,
        ties=ties,
    )
    _check_even_set(source, shapes[0], resolution)
    axes = Axes(shapes, counts, _resolutions(source, ball_mass, resolution))
    question = FrontQuestion(source.name, similarity, cut, exponent, set_size, ties)
    answer = _sweep if sweep else _points
    answer(question, source, axes, output)


def _points(question: FrontQuestion, source: Source, axes: Axes, output: Output) -> None:
    """Answer at each resolution, together with the best one for each background and number of items."""
    from genlaws.commands.semanticity_words import explain_point, explain_table, point_answer

    points: list[tuple[float, FrontPoint, FrontPoint | None]] = []
    for shape, count in product(axes.similarities, axes.item_counts):
        here = [source.at(shape.at_resolution(radius), count) for radius in axes.resolutions]
        _check_judged(here)
        alike = shape.shape.name == "constant" and shape.background == 1.0
        best = None if alike else source.front(shape, count).peak
        points += [(shape.background, point, best) for point in here]
    answer = {**point_answer(points), **question.named(), "seed": output.seed}
    text = explain_point(question, answer) if len(points) == 1 else explain_table(question, answer)
    show("front", answer, text, output)


def _sweep(question: FrontQuestion, source: Source, axes: Axes, output: Output) -> None:
    """Answer from fine to coarse and draw the front."""
    import json

    from genlaws.commands.output import as_json
    from genlaws.commands.semanticity_words import explain_sweep, sweep_answer
    from genlaws.figures.semanticity_sweep import write_front

    if len(axes.similarities) > 1 or len(axes.item_counts) > 1:
        raise InputError("sweep must have one background and one number of items; got several of them.")
    shape, count = axes.similarities[0], axes.item_counts[0]
    marked = [source.at(shape.at_resolution(radius), count) for radius in axes.resolutions]
    found = source.front(shape, count)
    _check_judged(found.points)
    named = {**question.named(), "background": shape.background, "item_count": count}
    files = write_front(found, marked, output.out or DEFAULT_FOLDER, question.title(shape.background, count), named)
    answer = {**sweep_answer(found, marked), **named, "files": {kind: str(path) for kind, path in files.items()}}
    if output.json:
        print(json.dumps(as_json({**answer, "seed": output.seed}), indent=2))
        return
    print(explain_sweep(found, marked))
    for path in files.values():
        print(f"  {path}")


def _check_one_way(ball_mass: str | None, resolution: str | None, sweep: bool) -> None:
    if ball_mass is not None and resolution is not None:
        raise InputError("ball_mass and resolution say the same thing; give only one of --ball-mass and --resolution.")
    if ball_mass is None and resolution is None and not sweep:
        raise InputError("ball_mass or resolution must be given, or --sweep for all of them; got none of the three.")


def _check_judged(points: Sequence[FrontPoint]) -> None:
    import math

    if any(math.isnan(point.generalisation) for point in points):
        raise InputError(
            "ties must be split here: in every set of items several are nearest, so none is left to judge."
        )


def _check_even_set(source: Source, shape: Similarity, resolution: str | None) -> None:
    """Refuse what needs distances where there are none."""
    import math

    from genlaws.commands.semanticity_source import EvenSet

    if not isinstance(source, EvenSet):
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
    from genlaws import semanticity

    return semanticity.similarity(shape, 1.0, background=background, cut=cut, exponent=exponent)


def _resolutions(source: Source, ball_mass: str | None, resolution: str | None) -> list[float]:
    from genlaws.numerics.arguments import positive, real

    if ball_mass is not None:
        return [source.resolution_of(float(real("ball_mass", mass))) for mass in _read_list("ball_mass", ball_mass)]
    if resolution is None:
        return []
    return [float(positive("resolution", radius)) for radius in _read_list("resolution", resolution)]


def _read_counts(text: str) -> list[int]:
    """Return numbers of items; those of a range are rounded, and each is kept once."""
    numbers = _read_list("items", text)
    for number in numbers:
        if not 2 <= number <= MOST_ITEMS or (number % 1 and ":" not in text):
            raise InputError(f"items must be whole numbers from 2 to {MOST_ITEMS:,}; got {text!r}.")
    return list(dict.fromkeys(round(number) for number in numbers))


def _read_list(name: str, text: str) -> list[float]:
    import numpy as np

    return [float(number) for number in np.atleast_1d(read_numbers(name, text))]
