"""``genlaws relations phases``: whether networks generalize, grok, memorize or stay confused at each pair of rates.

The command estimates its cost from a short timing, trains the networks, and reports the share of each phase, the
boundaries between phases and one sentence of advice.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.cli.output import DEFAULT_OUTPUT, Output, aligned, as_json
from genlaws.cli.relations.source import Elements, RelationName, Source, read_relation
from genlaws.cli.sweep import watch
from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import wilson_interval
from genlaws.figures import FIGURES
from genlaws.figures.drawing import made_folder, save_picture, write_together
from genlaws.figures.relations.cells import FINAL_ACCURACIES, RESULT_COLUMNS
from genlaws.figures.relations.phases import PLANE_COLUMNS, PhaseSettings, counted, draw_phases, shared
from genlaws.figures.relations.phases import boundaries as fitted
from genlaws.figures.style import house_style
from genlaws.relations.networks.phases import PHASES, slope_message
from genlaws.relations.structure.relation import relation_to_text
from genlaws.sweeps import Axis, Processes, Store, get_experiment, make_sweep
from genlaws.sweeps.computing import compute_cells, computing
from genlaws.sweeps.experiment import checked

if TYPE_CHECKING:
    import pandas as pd

    from genlaws.core.estimate import Estimate
    from genlaws.relations.structure.relation import Relation
    from genlaws.sweeps import Sweep
    from genlaws.sweeps.computing import ComputedCell
    from genlaws.sweeps.grid import Cell

FEW_STEPS, MANY_STEPS = 20, 120  # steps; the difference leaves out what happens once
MAX_TIMING_SECONDS = 2.0  # beyond, the few steps suffice
REPORTED_SETTINGS = ("depth", "width", "steps", "train_fraction", "embedding_scale", "patience", "device")
RATE_PARTS = ("decoder", "encoder")
INTERVAL_SUFFIXES = ("", "_low", "_high")
EDGE_TOLERANCE = 1e-6  # relative; a ratio this close to the smallest or largest one tried lies at it
MAX_SLOPE_INTERVAL = 1.0  # widest interval that shows whether a slope is 1
MAX_ELEMENTS = 500  # every network answers for all pairs of them at every measurement
TARGET_ACCURACY = 0.9  # the paper's, Table IV
FIGURE_ID, COMMAND_NAME = "relations.5", "phases"

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
Depth = Annotated[int, Parameter(help="Hidden layers of the decoder.")]
Share = Annotated[float, Parameter(help="Share of all entries in the training set.")]
Scale = Annotated[float, Parameter(help="Factor on the initial embeddings.")]
Optimizer = Annotated[str, Parameter(help="adam, adamw or sgd.")]
Batch = Annotated[int | None, Parameter(help="Entries in a step; the whole training set if left out.")]
Patience = Annotated[float, Parameter(help="A network is late if it generalizes after this many times its fitting.")]
Device = Annotated[str, Parameter(help="cpu or cuda.")]
Jobs = Annotated[int, Parameter(help="Processes of this machine.")]


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
    """Return the cost of the cells of a sweep that the folder does not hold yet."""
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
    """Train one stack for a moment and return what a step takes, measurements included."""

    def spent(steps: int) -> float:
        """Return the seconds of a training without an early end."""
        settings = [cell.settings.model_copy(update={"steps": steps, "stop_at": None}) for cell in cells]
        begun = time.perf_counter()
        sweep.experiment.load().compute(settings, [cell.seed for cell in cells])
        return time.perf_counter() - begun

    spent(1)  # loads what is loaded once
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


def summarize(relation: Relation, frame: pd.DataFrame, settings: PhaseSettings, target: float) -> dict[str, Any]:
    """Return the answer as plain names and numbers."""
    total = int(frame["count"].sum())
    shares = {name: wilson_interval(int(frame[name].sum()), total) for name in (*PHASES, "late")}
    decoder, encoder = ([float(frame[f"{part}_rate"].agg(end)) for end in ("min", "max")] for part in RATE_PARTS)
    ratios = decoder[0] / encoder[1], decoder[1] / encoder[0]
    boundaries = {row["criterion"]: _boundary(row, ratios) for row in fitted(frame).to_dict("records")}
    confused = int(frame["confusion"].sum())
    answer: dict[str, Any] = {
        "relation": relation.label,
        "element_count": relation.element_count,
        "majority_accuracy": relation.majority_accuracy,
        "target": target,
        "networks": total,
        "shares": {name: _share_entry(one) for name, one in shares.items()},
        "confused": confused,
        "boundaries": boundaries,
        "boundaries_not_seen": {
            name: _not_seen(int(frame[name].sum()), total - confused) for name, one in boundaries.items() if one is None
        },
        "optimizer": settings.optimizers[0],
        **{name: getattr(settings, name) for name in REPORTED_SETTINGS},
        "decoder_rates": decoder,
        "encoder_rates": encoder,
        "ratios_tried": list(ratios),
        "grid": settings.grid,
        "seeds": settings.repeats,
    }
    return answer | {"advice": _advice(answer)}


def _share_entry(one: Estimate) -> dict[str, float]:
    return {"share": one.value, "low": one.low, "high": one.high}


def _boundary(row: Mapping[Any, Any], tried: tuple[float, float]) -> dict[str, Any] | None:
    """Return slope and critical ratio of a boundary with their intervals; none if no line could be fitted."""
    slope = row.get("slope")
    if slope is None or math.isnan(slope):
        return None
    names = ("slope", "critical_ratio")
    found = {part: row[part] for name in names for part in (name, f"{name}_low", f"{name}_high")}
    return found | {
        "slope_message": slope_message(*(found[f"slope{end}"] for end in INTERVAL_SUFFIXES)),
        "critical_ratio_within_tried": all(
            _side(found[f"critical_ratio{end}"], tried) == 0 for end in INTERVAL_SUFFIXES
        ),
        "width_decades": row["width_decades"],
        "agrees_with_slope_1": bool(row["slope_may_be_1"]),
    }


def _not_seen(failed: int, fitted: int) -> str:
    """Return why no line could be fitted."""
    if fitted == 0:
        return "no network fitted its training set"
    if failed in (0, fitted):
        return "all networks that fitted are on one side"
    return "too few rates, or the share is the same at all of them"


def _side(ratio: float, tried: tuple[float, float]) -> int:
    """Return -1 for a ratio below those tried, 1 for one above them, else 0."""
    smallest, largest = tried
    return int(ratio > largest * (1.0 + EDGE_TOLERANCE)) - int(ratio < smallest * (1.0 - EDGE_TOLERANCE))


def _advice(answer: dict[str, Any]) -> str:
    """Return one sentence on which rates to take."""
    shares, boundary = answer["shares"], answer["boundaries"]["memorization"]
    if answer["confused"] == answer["networks"]:
        return "No network fitted its training set: train longer, with higher rates or a wider decoder."
    if shares["generalization"]["share"] + shares["grokking"]["share"] == 0.0:
        return "No network generalized at these rates: train on more entries, or raise the encoder rate."
    tried: tuple[float, float] = tuple(answer["ratios_tried"])
    if boundary is not None:
        return _advice_on(boundary, tried)
    if shares["memorization"]["share"] > 0.0:
        return "Memorizing does not depend on the rates tried; try more networks or other rates."
    return _advice_on_late(answer["boundaries"]["late"], tried)


def _advice_on_late(late: Mapping[str, Any] | None, tried: tuple[float, float]) -> str:
    """Return the sentence where no network memorized."""
    if late is None or not (late["slope"] > 0.0 and late["critical_ratio_low"] > 0.0):
        return "No network that fitted memorized: the ratio of the rates may be anything that was tried."
    if _side(late["critical_ratio"], tried) < 0:
        return f"No network memorized, but most were late at every ratio tried, also at {_format_smallest(tried)}."
    return f"No network memorized; for early generalization keep the decoder rate {_format_limit(late, tried)}."


def _advice_on(boundary: Mapping[str, Any], tried: tuple[float, float]) -> str:
    """Return the sentence where some networks memorized and others did not; it names no ratio beyond those tried."""
    any_slope = boundary["slope_message"] and boundary["agrees_with_slope_1"]
    if not any_slope and not boundary["slope"] > 0.0:
        return "Memorizing does not depend on the ratio of the rates here; take rates from the table."
    if any_slope or not (boundary["critical_ratio_low"] > 0.0 and math.isfinite(boundary["critical_ratio_high"])):
        return "Networks memorize at some rates, but the boundary is not determined: try more networks or more rates."
    if side := _side(boundary["critical_ratio"], tried):
        if side < 0:
            return (
                f"Most networks memorize at every ratio tried, also at {_format_smallest(tried)}: try smaller ratios."
            )
        return (
            f"Most networks do not memorize at any ratio tried, up to a decoder rate of {tried[1]:.2g} times the "
            "encoder rate: take one of these."
        )
    beyond = (
        f"about {boundary['critical_ratio']:.2g} times on, every other network memorizes{_format_exception(boundary)}."
    )
    if _side(boundary["critical_ratio_low"], tried) < 0:
        return f"Keep the decoder rate {_format_limit(boundary, tried)}, and try smaller ones. From {beyond}"
    return f"Keep the decoder rate {_format_limit(boundary, tried)}; from {beyond}"


def _format_limit(boundary: Mapping[str, Any], tried: tuple[float, float]) -> str:
    """Return below which ratio to keep: the lower end of the interval, or the smallest ratio that was tried."""
    low = boundary["critical_ratio_low"]
    if _side(low, tried) < 0:
        return f"at {_format_smallest(tried)} (the limit may lie at or below it)"
    return f"below {low:.2g} times the encoder rate"


def _format_smallest(tried: tuple[float, float]) -> str:
    return f"{tried[0]:.2g} times the encoder rate, the smallest ratio tried"


def _format_exception(boundary: Mapping[str, Any]) -> str:
    """Return a note where the ratio alone does not decide."""
    if boundary["agrees_with_slope_1"]:
        return ""
    if boundary["slope_message"]:
        return "; but the fitted boundary is vertical, so the decoder rate decides more than the ratio"
    slope = _slope_number(boundary["slope"], ".2g")
    return f"; but the boundary's slope is {slope}, so the ratio alone does not decide"


def _slope_number(slope: float, form: str) -> str:
    """Return a slope as text; the fit tries directions half a degree apart, so that tiny numbers are zero."""
    return f"{round(slope, 3) + 0.0:{form}}" if math.isfinite(slope) else "no limit"


def explain(answer: dict[str, Any]) -> str:
    """Return the answer for a person."""
    total, shares = answer["networks"], answer["shares"]
    lines = {
        name: f"{one['share']:.3f} [{one['low']:.3f}, {one['high']:.3f}]  ({round(one['share'] * total)} of {total})"
        for name, one in shares.items()
    }
    for name, found in answer["boundaries"].items():
        what = "memorizing" if name == "memorization" else "being late"
        if found is None:
            lines[f"boundary of {what}"] = f"not seen: {answer['boundaries_not_seen'][name]}"
            continue
        lines[f"boundary of {what}"] = _format_slope(found)
        lines[f"critical ratio of {what}"] = _format_ratio(found, tuple(answer["ratios_tried"]))
    header = (
        f"{answer['relation']}, {answer['element_count']} elements: {total} networks, {answer['grid']} × "
        f"{answer['grid']} rates, {answer['steps']:,} steps"
    )
    return "\n".join([answer["advice"], "", header, aligned(lines), *_notes(answer)])


def _format_slope_verdict(found: dict[str, Any]) -> str:
    if not found["agrees_with_slope_1"]:
        falling = found["slope_low"] <= 1.0 <= found["slope_high"]
        return "but it falls with the ratio of the rates" if falling else "does not agree with 1"
    wide = not found["slope_high"] - found["slope_low"] <= MAX_SLOPE_INTERVAL
    return "too wide to tell whether the ratio decides" if wide else "agrees with 1: the ratio decides"


def _format_slope(found: dict[str, Any]) -> str:
    """Return the slope with its interval, or why it could not be determined."""
    if found["slope_message"]:
        return f"slope could not be determined: {found['slope_message']}"
    slope, low, high = (_slope_number(found[f"slope{end}"], ".3g") for end in INTERVAL_SUFFIXES)
    return f"slope {slope} [{low}, {high}], {_format_slope_verdict(found)}"


def _format_ratio(found: dict[str, Any], tried: tuple[float, float]) -> str:
    """Return the critical ratio with its interval; where these lie beyond the ratios tried, that they do."""
    value = found["critical_ratio"]
    if value == 0.0 or not math.isfinite(value):
        return "could not be determined: it does not become more frequent with the ratio"
    if side := _side(value, tried):
        name = "smallest" if side < 0 else "largest"
        return f"{_format_within_tried(value, tried)}, the {name} decoder over encoder rate tried"
    low, high = (_format_within_tried(found[f"critical_ratio{end}"], tried) for end in INTERVAL_SUFFIXES[1:])
    beyond = "" if found["critical_ratio_within_tried"] else f"; tried were {tried[0]:.3g} to {tried[1]:.3g}"
    return f"{value:.3g} [{low}, {high}], decoder over encoder rate{beyond}"


def _format_within_tried(ratio: float, tried: tuple[float, float]) -> str:
    """Return a ratio as text, or that it lies beyond the smallest or largest one tried."""
    side = _side(ratio, tried)
    return {-1: f"below {tried[0]:.3g}", 0: f"{ratio:.3g}", 1: f"above {tried[1]:.3g}"}[side]


def _notes(answer: dict[str, Any]) -> list[str]:
    """Return notes that explain the numbers."""
    notes = [
        f"Confused: {answer['confused']} of {answer['networks']} fitted nothing and count for no boundary.",
        f"Late: generalized after more than {answer['patience']:g} times the steps it took to fit, or never.",
    ]
    if answer["majority_accuracy"] >= 0.9:
        notes.append(
            f"The majority answer alone is right on {answer['majority_accuracy']:.3f} of the entries, so fitting and "
            f"generalizing mean an accuracy above {answer['target']:.3f} instead of 0.9."
        )
    return notes


def phases(
    source: Source,
    /,
    *,
    grid: Grid = 6,
    seeds: Seeds = 3,
    decoder_rates: Rates = None,
    encoder_rates: Rates = None,
    steps: Steps = 10_000,
    width: Width = 20,
    depth: Depth = 3,
    train_fraction: Share = 0.75,
    embedding_scale: Scale = 1.0,
    optimizer: Optimizer = "adam",
    batch_size: Batch = None,
    patience: Patience = 4.0,
    device: Device = "cpu",
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
    known = _checked_relation(read_relation(source, elements, relation))
    folder = _checked_folder(output.out)
    settings = _settings(
        known.label,
        optimizer,
        {"decoder": decoder_rates, "encoder": encoder_rates},
        grid=grid,
        repeats=seeds,
        steps=steps,
        width=width,
        depth=depth,
        train_fraction=train_fraction,
        embedding_scale=embedding_scale,
        patience=patience,
        device=device,
        seed=output.seed,
    )
    sweep = _sweep(known, settings, batch_size)
    engine = _engine(jobs)
    cost = estimate_cost(sweep, folder, jobs)
    if not output.json:
        print(format_cost(cost, folder), file=sys.stderr, flush=True)
    frame = _computed(sweep, settings, folder, engine, quiet=output.json)
    answer = summarize(known, frame, settings, _target(known)) | {"estimate": vars(cost), "seed": output.seed}
    paths = {} if folder is None else _written(folder, frame, settings, answer)
    _show(answer, paths, output)


def _checked_relation(found: Relation) -> Relation:
    if found.element_count > MAX_ELEMENTS:
        raise InputError(
            f"Networks are trained on relations of at most {MAX_ELEMENTS} elements here; {found.label} has "
            f"{found.element_count:,}. Take a part of it."
        )
    return found


def _checked_folder(folder: Path | None) -> Path | None:
    if folder is not None and folder.exists() and not folder.is_dir():
        raise InputError(f"out must be a folder; got {str(folder)!r}, which is a file.")
    return folder


def _settings(label: str, optimizer: str, rates: dict[str, str | None], **chosen: Any) -> PhaseSettings:
    """Return the settings of the plane, checked; rates that are not given are those of the figure."""
    one_of("optimizer", optimizer, ("adam", "adamw", "sgd"))
    whole_number("seeds", chosen["repeats"], at_least=2, hint="Shares of phases need several networks.")
    kind = "sgd" if optimizer == "sgd" else "adam"
    for part, text in rates.items():
        if text is not None:
            chosen[f"{kind}_{part}_rates"] = _range(f"{part}_rates", text)
    return checked(PhaseSettings, {"relations": (label,), "optimizers": (optimizer,), **chosen}, "relations phases")


def _range(name: str, text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        raise InputError(f"{name} must be the lowest and the highest rate, such as 1e-4:1e-1; got {text!r}.") from None
    if not 0.0 < low < high < float("inf"):
        raise InputError(f"{name} must be two positive rates, the lower one first; got {text!r}.")
    return low, high


def _engine(jobs: int) -> Any:
    return None if jobs == 1 else Processes(jobs)


def _target(relation: Relation) -> float:
    """Return the accuracy to reach: the paper's, or half of what is left beyond the majority answer."""
    return TARGET_ACCURACY if relation.majority_accuracy < TARGET_ACCURACY else 0.5 * (1.0 + relation.majority_accuracy)


def _sweep(relation: Relation, settings: PhaseSettings, batch_size: int | None) -> Sweep:
    """Return the sweep; all that may vary is on an axis, so that one folder can store several planes."""
    import numpy as np

    if batch_size is not None:
        whole_number("batch_size", batch_size, at_least=1)
    (optimizer,) = settings.optimizers
    kind = "sgd" if optimizer == "sgd" else "adam"
    base = {
        **shared(settings),
        **{name: _target(relation) for name in ("target", "stop_at")},
        "relation": relation.label,
        "matrix": relation_to_text(relation),
        "optimizer": optimizer,
        "batch_size": batch_size,
        "embedding_scale": settings.embedding_scale,
    }
    device = {"device": base.pop("device")}
    axes = [Axis(name, (value,)) for name, value in base.items()]
    for part in ("encoder", "decoder"):
        low, high = getattr(settings, f"{kind}_{part}_rates")
        axes.append(Axis(f"{part}_rate", tuple(np.geomspace(low, high, settings.grid).tolist())))
    return make_sweep(get_experiment("relations.network"), device, axes, settings.repeats, settings.seed)


def _computed(sweep: Sweep, settings: PhaseSettings, folder: Path | None, engine: Any, *, quiet: bool) -> pd.DataFrame:
    """Return how many networks are in each phase at each pair of rates."""
    try:
        with computing(engine, None if folder is None else folder / "cells"), watch(quiet=quiet) as progress:
            cells = compute_cells(sweep, progress, "networks")
    except KeyboardInterrupt:
        stored = (
            "Finished networks are stored; run the same command to continue."
            if folder
            else "Nothing is stored without --out."
        )
        raise KeyboardInterrupt(f"Stopped. {stored}") from None
    return counted(_table(cells, PLANE_COLUMNS), PLANE_COLUMNS, settings.patience)


def _table(cells: list[ComputedCell], fields: list[str]) -> pd.DataFrame:
    """Return one row for each network, as the figures have it."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                **{name: getattr(cell.settings, name) for name in fields},
                **{name: cell.result[name] for name in RESULT_COLUMNS},
                **{name: cell.result[f"final_{name}"] for name in FINAL_ACCURACIES},
            }
            for cell in cells
        ]
    )


def _show(answer: dict[str, Any], paths: dict[str, Path], output: Output) -> None:
    """Print the answer, and where it was written."""
    import json

    if output.json:
        files = {kind: str(path) for kind, path in paths.items()}
        print(json.dumps(as_json(answer | {"files": files}), indent=2))
        return
    print(explain(answer))
    if paths:
        print(f"Written to {', '.join(str(path) for path in paths.values())}")


def _written(folder: Path, frame: pd.DataFrame, settings: PhaseSettings, answer: dict[str, Any]) -> dict[str, Path]:
    """Write phases.csv, .json, .png and .pdf together, and return where they are."""
    import json

    def write(work: Path) -> dict[str, Path]:
        """Write every file."""
        paths = {kind: work / f"{COMMAND_NAME}.{kind}" for kind in ("csv", "json", "png", "pdf")}
        frame.to_csv(paths["csv"], index=False)
        paths["json"].write_text(json.dumps(as_json(answer), indent=2) + "\n", encoding="utf-8")
        with house_style():
            picture = draw_phases(frame, settings)
        for kind in ("png", "pdf"):
            save_picture(picture, paths[kind], kind, f"Phases of {answer['relation']}", FIGURES[FIGURE_ID].caption)
        return paths

    return write_together(made_folder("out", folder), COMMAND_NAME, write)
