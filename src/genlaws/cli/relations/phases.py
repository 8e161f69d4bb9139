"""``genlaws relations phases``: whether networks generalize, grok, memorize or stay confused at each pair of rates.

The command estimates its cost from a short timing, trains the networks, and reports the share of each phase, the
boundaries between phases and one sentence of advice.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.cli.output import DEFAULT_OUTPUT, Output, aligned, as_json
from genlaws.cli.relations.source import BatchSize, Depth, Elements, Optimizer, RelationName, Source, read_relation
from genlaws.cli.sweep import SweepDisplay
from genlaws.core.errors import InputError
from genlaws.core.estimate import interval_columns
from genlaws.core.files import check_folder, made_folder, write_together
from genlaws.core.running import Running
from genlaws.figures import FIGURES
from genlaws.figures.drawing import save_picture
from genlaws.figures.relations.phases import draw_phases
from genlaws.relations import phase_diagram
from genlaws.relations.inference.paper import TARGET_ACCURACY
from genlaws.relations.networks.diagram import EXPERIMENT, format_slope, side_of
from genlaws.render.style import house_style
from genlaws.sweeps import Axis, Store, get_experiment, make_sweep
from genlaws.sweeps.computing import compute_cells

if TYPE_CHECKING:
    from genlaws.core.estimate import Estimate
    from genlaws.relations.networks.diagram import PhaseDiagram, PhasePlan
    from genlaws.relations.networks.phases import Boundary
    from genlaws.sweeps import Sweep
    from genlaws.sweeps.grid import Cell

FEW_STEPS, MANY_STEPS = 20, 120  # steps; their difference excludes the time of one-time work
MAX_TIMING_SECONDS = 2.0  # beyond, the few steps suffice
REPORTED_SETTINGS = (
    "optimizer",
    "depth",
    "width",
    "steps",
    "train_fraction",
    "embedding_scale",
    "patience",
    "device",
)
MAX_SLOPE_INTERVAL = 1.0  # widest interval that shows whether a slope is 1
FIGURE_ID, PHASES_COMMAND = "relations.5", "phases"

Grid = Annotated[
    int, Parameter(help="Values of each learning rate, evenly spaced in their logarithm; the paper has 10.")
]
Seeds = Annotated[int, Parameter(help="Networks at each pair of rates.")]
Rates = Annotated[
    str | None,
    Parameter(help="Lowest and highest as 1e-4:1e-1. If left out, what suits the optimizer.", show_default=False),
]
Steps = Annotated[int, Parameter(help="Updates; the paper has 100,000. Grokking is a delay of a hundredth of them.")]
Width = Annotated[int, Parameter(help="Units of each hidden layer; the paper has 50.")]
Share = Annotated[float, Parameter(help="Share of all entries in the training set.")]
Scale = Annotated[float, Parameter(help="Factor on the initial embeddings.")]
Patience = Annotated[
    float, Parameter(help="A network is late if it generalizes after this many times the steps it took to fit.")
]
Device = Annotated[str, Parameter(help="cpu or cuda.")]
Jobs = Annotated[int, Parameter(help="Processes on this machine.")]


@Parameter(name="*")
@dataclass(frozen=True)
class DiagramOptions:
    """The arguments of `phase_diagram` that are options of the command."""

    grid: Grid = 6
    seeds: Seeds = 3
    decoder_rates: Rates = None
    encoder_rates: Rates = None
    steps: Steps = 10_000
    width: Width = 20
    depth: Depth = 3
    train_fraction: Share = 0.75
    embedding_scale: Scale = 1.0
    optimizer: Optimizer = "adam"
    batch_size: BatchSize = None
    patience: Patience = 4.0
    device: Device = "cpu"


DEFAULT_DIAGRAM = DiagramOptions()


@dataclass(frozen=True)
class Cost:
    """What is left to compute.

    Attributes
    ----------
    networks, networks_done : int
        To train, and stored by earlier runs.
    network_steps : int
        Updates of single networks, at most: a network leaves when it generalizes.
    seconds_per_step : float
        Of one stack of networks; 0 if nothing is left.
    minutes : float
        At most, with the requested processes.
    """

    networks: int
    networks_done: int
    network_steps: int
    seconds_per_step: float
    minutes: float


def estimate_cost(sweep: Sweep, folder: Path | None, jobs: int) -> Cost:
    """Return the cost of the cells of a sweep that are not in the folder yet."""
    missing = _missing(sweep, folder)
    if not missing:
        return Cost(0, sweep.total, 0, 0.0, 0.0)
    together = min(len(missing), sweep.experiment.load().cells_together(sweep.settings))
    steps: int = missing[0].settings.steps  # type: ignore[attr-defined]
    seconds = _seconds_per_step(sweep, missing[:together])
    rounds = math.ceil(math.ceil(len(missing) / together) / jobs)
    return Cost(
        len(missing), sweep.total - len(missing), len(missing) * steps, seconds, rounds * steps * seconds / 60.0
    )


def _missing(sweep: Sweep, folder: Path | None) -> list[Cell]:
    cells = list(sweep.cells())
    place = None if folder is None else folder / "cells" / sweep.experiment.name
    if place is None or not (place / "sweep.sqlite").is_file():
        return cells
    with Store(place) as store:
        return [cell for cell in cells if not store.is_done(cell.key)]


def _seconds_per_step(sweep: Sweep, cells: list[Cell]) -> float:
    """Train one stack for a moment and return the seconds of a step, measurements included."""

    def spent(steps: int) -> float:
        """Return the seconds of a training that does not stop early."""
        settings = [cell.settings.model_copy(update={"steps": steps, "stop_at": None}) for cell in cells]
        begun = time.perf_counter()
        sweep.experiment.load().compute(settings, [cell.seed for cell in cells])
        return time.perf_counter() - begun

    spent(1)  # one-time work, such as imports
    few = spent(FEW_STEPS)
    if few > MAX_TIMING_SECONDS:
        return few / FEW_STEPS
    return max(spent(MANY_STEPS) - few, 0.0) / (MANY_STEPS - FEW_STEPS)


def format_cost(cost: Cost, folder: Path | None) -> str:
    """Return the sentence before the computation."""
    done = f", {cost.networks_done:,} done before" if cost.networks_done else ""
    where = "nothing is stored without --out" if folder is None else f"stored in {folder / 'cells'}"
    if not cost.networks:
        return f"Nothing left to train: {cost.networks_done:,} networks done before."
    return (
        f"{cost.networks:,} networks to train{done}: at most {cost.network_steps:.3g} network-steps, "
        f"{_minutes(cost.minutes)} on this machine; less where networks generalize early; {where}."
    )


def _minutes(minutes: float) -> str:
    return f"{60 * minutes:.0f} seconds" if minutes < 2 else f"{minutes:.0f} minutes"


def diagram_answer(diagram: PhaseDiagram) -> dict[str, Any]:
    """Return the phase diagram as plain names and numbers."""
    plan, found = diagram.plan, diagram.boundaries
    return {
        "relation": plan.relation.label,
        "element_count": plan.relation.element_count,
        "majority_accuracy": plan.relation.majority_accuracy,
        "target": plan.target,
        "networks": diagram.network_count,
        "shares": {
            name: {"share": one.value, "low": one.low, "high": one.high} for name, one in diagram.shares.items()
        },
        "confused": diagram.confused_count,
        "boundaries": {
            name: None if one is None else _boundary(one, diagram.ratios_tried) for name, one in found.items()
        },
        "boundaries_not_seen": {name: diagram.why_no_boundary(name) for name, one in found.items() if one is None},
        **{name: getattr(plan, name) for name in REPORTED_SETTINGS},
        "decoder_rates": list(plan.decoder_rates),
        "encoder_rates": list(plan.encoder_rates),
        "ratios_tried": list(diagram.ratios_tried),
        "grid": plan.grid,
        "seeds": plan.seeds,
        "advice": diagram.advice,
    }


def _boundary(found: Boundary, tried: tuple[float, float]) -> dict[str, Any]:
    """Return slope and critical ratio of a boundary with their intervals."""
    ratio = found.critical_ratio
    return {
        **interval_columns("slope", found.slope),
        **interval_columns("critical_ratio", ratio),
        "slope_message": found.slope_message,
        "critical_ratio_within_tried": all(side_of(one, tried) == 0 for one in (ratio.value, ratio.low, ratio.high)),
        "width_decades": found.width,
        "agrees_with_slope_1": found.agrees_with_unit_slope,
    }


def explain(diagram: PhaseDiagram) -> str:
    """Return the phase diagram for a person."""
    plan, total = diagram.plan, diagram.network_count
    lines = {
        name: f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]  ({round(one.value * total)} of {total})"
        for name, one in diagram.shares.items()
    }
    for name, found in diagram.boundaries.items():
        what = "memorizing" if name == "memorization" else "being late"
        if found is None:
            lines[f"boundary of {what}"] = f"not seen: {diagram.why_no_boundary(name)}"
            continue
        lines[f"boundary of {what}"] = _format_boundary(found)
        lines[f"critical ratio of {what}"] = _format_ratio(found.critical_ratio, diagram.ratios_tried)
    header = (
        f"{plan.relation.label}, {plan.relation.element_count} elements: {total} networks, {plan.grid} × "
        f"{plan.grid} rates, {plan.steps:,} steps"
    )
    return "\n".join([diagram.advice, "", header, aligned(lines), *_notes(diagram)])


def _format_slope_verdict(found: Boundary) -> str:
    if not found.agrees_with_unit_slope:
        falling = found.slope.low <= 1.0 <= found.slope.high
        return "but it falls with the ratio of the rates" if falling else "does not agree with 1"
    wide = not found.slope.high - found.slope.low <= MAX_SLOPE_INTERVAL
    return "too wide to tell whether the ratio decides" if wide else "agrees with 1: the ratio decides"


def _format_boundary(found: Boundary) -> str:
    """Return the slope with its interval, or why it could not be determined."""
    if found.slope_message:
        return f"slope could not be determined: {found.slope_message}"
    slope, low, high = (format_slope(one, ".3g") for one in (found.slope.value, found.slope.low, found.slope.high))
    return f"slope {slope} [{low}, {high}], {_format_slope_verdict(found)}"


def _format_ratio(ratio: Estimate, tried: tuple[float, float]) -> str:
    """Return the critical ratio with its interval, and whether they lie beyond the ratios tried."""
    if ratio.value == 0.0 or not math.isfinite(ratio.value):
        return "could not be determined: it does not become more frequent with the ratio"
    if side := side_of(ratio.value, tried):
        name = "smallest" if side < 0 else "largest"
        return f"{_format_within_tried(ratio.value, tried)}, the {name} decoder over encoder rate tried"
    low, high = (_format_within_tried(one, tried) for one in (ratio.low, ratio.high))
    within = side_of(ratio.low, tried) == side_of(ratio.high, tried) == 0
    beyond = "" if within else f"; tried were {tried[0]:.3g} to {tried[1]:.3g}"
    return f"{ratio.value:.3g} [{low}, {high}], decoder over encoder rate{beyond}"


def _format_within_tried(ratio: float, tried: tuple[float, float]) -> str:
    """Return a ratio as text, or that it lies beyond the smallest or largest one tried."""
    side = side_of(ratio, tried)
    return {-1: f"below {tried[0]:.3g}", 0: f"{ratio:.3g}", 1: f"above {tried[1]:.3g}"}[side]


def _notes(diagram: PhaseDiagram) -> list[str]:
    """Return notes that explain the numbers."""
    plan, majority = diagram.plan, diagram.plan.relation.majority_accuracy
    notes = [
        f"Confused: {diagram.confused_count} of {diagram.network_count} fitted nothing and count for no boundary.",
        f"Late: generalized after more than {plan.patience:g} times the steps it took to fit, or never.",
    ]
    if plan.target > TARGET_ACCURACY:
        notes.append(
            f"The majority answer alone is right on {majority:.3f} of the entries, so fitting and generalizing mean an "
            f"accuracy above {plan.target:.3f} instead of {TARGET_ACCURACY:g}."
        )
    return notes


def phases(
    source: Source,
    /,
    *,
    options: DiagramOptions = DEFAULT_DIAGRAM,
    jobs: Jobs = 1,
    elements: Elements = None,
    relation: RelationName = None,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Train networks at every pair of learning rates and report which generalize, grok, memorize or stay confused.

    The defaults are a reduced size that takes a few minutes: 6 × 6 rates, 3 networks each, 10,000 steps, layers of 20
    units. With --out every finished network is stored in DIR/cells: after a stop the same command continues and
    produces the same table, DIR/phases.csv, and its picture.
    """
    known, folder = read_relation(source, elements, relation), output.out
    check_folder("out", folder)
    training = _Training(folder, quiet=output.json)
    running = Running(jobs=jobs)
    rates = {name: _rates(name, getattr(options, name)) for name in ("decoder_rates", "encoder_rates")}
    diagram = phase_diagram(known, **(vars(options) | rates), seed=output.seed, train=training, running=running)
    answer = diagram_answer(diagram) | {"estimate": vars(training.cost), "seed": output.seed}
    paths = {} if folder is None else _written(folder, diagram, answer)
    _show(diagram, answer, paths, output)


def _rates(name: str, text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        raise InputError(f"{name} must be the lowest and the highest rate, such as 1e-4:1e-1; got {text!r}.") from None
    return low, high


class _Training:
    """Trains the networks of a plan as a sweep, whose finished networks are stored, and remembers its cost."""

    cost: Cost

    def __init__(self, folder: Path | None, *, quiet: bool) -> None:
        self.folder, self.quiet = folder, quiet

    def __call__(self, plan: PhasePlan, running: Running) -> list[Mapping[str, Any]]:
        """Return the outcome of every network."""
        sweep = _sweep(plan)
        self.cost = estimate_cost(sweep, self.folder, running.jobs)
        if not self.quiet:
            print(format_cost(self.cost, self.folder), file=sys.stderr, flush=True)
        cells = None if self.folder is None else self.folder / "cells"
        try:
            with SweepDisplay(quiet=self.quiet, jobs=running.jobs, folder=cells) as shown:
                return [cell.result for cell in compute_cells(sweep, shown, "networks")]
        except KeyboardInterrupt:
            stored = (
                "Finished networks are stored; run the same command to continue."
                if self.folder
                else "Nothing is stored without --out."
            )
            raise KeyboardInterrupt(f"Stopped. {stored}") from None


def _sweep(plan: PhasePlan) -> Sweep:
    """Return the sweep; all that may vary is on an axis, so that one folder can store several planes."""
    alone = {name: (value,) for name, value in plan.shared.items() if name != "device"}
    axes = [Axis(name, values) for name, values in {**alone, **plan.rates}.items()]
    return make_sweep(get_experiment(EXPERIMENT), {"device": plan.device}, axes, plan.seeds, plan.seed)


def _show(diagram: PhaseDiagram, answer: dict[str, Any], paths: dict[str, Path], output: Output) -> None:
    """Print the answer, and where it was written."""
    if output.json:
        files = {kind: str(path) for kind, path in paths.items()}
        print(json.dumps(as_json(answer | {"files": files}), indent=2))
        return
    print(explain(diagram))
    if paths:
        print(f"Written to {', '.join(str(path) for path in paths.values())}")


def _written(folder: Path, diagram: PhaseDiagram, answer: dict[str, Any]) -> dict[str, Path]:
    """Write phases.csv, .json, .png and .pdf together, and return where they are."""
    frame = diagram.to_frame()

    def write(work: Path) -> dict[str, Path]:
        """Write every file."""
        paths = {kind: work / f"{PHASES_COMMAND}.{kind}" for kind in ("csv", "json", "png", "pdf")}
        frame.to_csv(paths["csv"], index=False)
        paths["json"].write_text(json.dumps(as_json(answer), indent=2) + "\n", encoding="utf-8")
        with house_style():
            picture = draw_phases(frame)
        for kind in ("png", "pdf"):
            save_picture(picture, paths[kind], kind, f"Phases of {answer['relation']}", FIGURES[FIGURE_ID].caption)
        return paths

    return write_together(made_folder("out", folder), PHASES_COMMAND, write)
