"""``genlaws relations phases``: what becomes of networks that learn a relation, by both learning rates."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.commands.output import DEFAULT_OUTPUT, Output, as_json
from genlaws.commands.relations_phases_words import explain, summarised, told_cost
from genlaws.commands.relations_source import Elements, RelationName, Source, read_relation
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from genlaws.experiments import Sweep
    from genlaws.experiments.computing import ComputedCell
    from genlaws.figures.relations_phases import PhaseSettings
    from genlaws.relations.relation import Relation

LARGEST = 500  # elements; every network answers for all pairs of them at every measurement
TARGET = 0.9  # the paper's, Table IV
FIGURE, NAME = "relations.5", "phases"

Grid = Annotated[
    int, Parameter(help="Values of each learning rate, evenly spaced in their logarithm; the paper has 10.")
]
Seeds = Annotated[int, Parameter(help="Networks at each pair of rates.")]
Rates = Annotated[
    str | None,
    Parameter(help="Lowest and highest as 1e-4:1e-1. If left out, what suits the optimiser.", show_default=False),
]
Steps = Annotated[int, Parameter(help="Updates; the paper has 100,000. Grokking is a delay of a hundredth of them.")]
Width = Annotated[int, Parameter(help="Units of each hidden layer; the paper has 50.")]
Depth = Annotated[int, Parameter(help="Hidden layers of the decoder.")]
Share = Annotated[float, Parameter(help="Share of all entries that are shown.")]
Scale = Annotated[float, Parameter(help="Factor on the initial embeddings.")]
Optimiser = Annotated[str, Parameter(help="adam, adamw or sgd.")]
Batch = Annotated[int | None, Parameter(help="Entries in a step; all that are shown if left out.")]
Patience = Annotated[float, Parameter(help="A network is late if it generalises after this many times its fitting.")]
Device = Annotated[str, Parameter(help="cpu or cuda.")]
Jobs = Annotated[int, Parameter(help="Processes of this machine.")]


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
    optimiser: Optimiser = "adam",
    batch_size: Batch = None,
    patience: Patience = 4.0,
    device: Device = "cpu",
    jobs: Jobs = 1,
    elements: Elements = None,
    relation: RelationName = None,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Train networks at every pair of learning rates and say which generalise, grok, memorise or stay confused.

    The defaults are a reduced size that takes a few minutes: 6 × 6 rates, 3 networks each, 10,000 steps, layers of 20
    units. With --out every finished network is kept in DIR/cells: killed or stopped, the same command goes on and
    ends with the same table, DIR/phases.csv, and its picture.
    """
    from genlaws.commands.relations_phases_cost import estimate_cost

    known = _checked_relation(read_relation(source, elements, relation))
    folder = _checked_folder(output.out)
    settings = _settings(
        known.label,
        optimiser,
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
        print(told_cost(cost, folder), file=sys.stderr, flush=True)
    frame = _computed(sweep, settings, folder, engine, quiet=output.json)
    answer = summarised(known, frame, settings, _target(known)) | {"estimate": vars(cost), "seed": output.seed}
    paths = {} if folder is None else _written(folder, frame, settings, answer)
    _show(answer, paths, output)


def _checked_relation(found: Relation) -> Relation:
    if found.element_count > LARGEST:
        raise InputError(
            f"Networks are trained on relations of at most {LARGEST} elements here; {found.label} has "
            f"{found.element_count:,}. Take a part of it."
        )
    return found


def _checked_folder(folder: Path | None) -> Path | None:
    if folder is not None and folder.exists() and not folder.is_dir():
        raise InputError(f"out must be a folder; got {str(folder)!r}, which is a file.")
    return folder


def _settings(label: str, optimiser: str, rates: dict[str, str | None], **chosen: Any) -> PhaseSettings:
    """Return the settings of the plane, checked; rates that are not given are those of the figure."""
    from genlaws.experiments.settings import checked
    from genlaws.figures.relations_phases import PhaseSettings
    from genlaws.numerics.arguments import one_of, whole_number

    one_of("optimiser", optimiser, ("adam", "adamw", "sgd"))
    whole_number("seeds", chosen["repeats"], at_least=2, hint="Shares of phases need several networks.")
    kind = "sgd" if optimiser == "sgd" else "adam"
    for part, text in rates.items():
        if text is not None:
            chosen[f"{kind}_{part}_rates"] = _range(f"{part}_rates", text)
    return checked(PhaseSettings, {"relations": (label,), "optimisers": (optimiser,), **chosen}, "relations phases")


def _range(name: str, text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        raise InputError(f"{name} must be the lowest and the highest rate, such as 1e-4:1e-1; got {text!r}.") from None
    if not 0.0 < low < high < float("inf"):
        raise InputError(f"{name} must be two positive rates, the lower one first; got {text!r}.")
    return low, high


def _engine(jobs: int) -> Any:
    from genlaws.experiments import Processes

    return None if jobs == 1 else Processes(jobs)


def _target(relation: Relation) -> float:
    """Return the accuracy to reach: the paper's, or half of what is left beyond the commoner answer."""
    return TARGET if relation.majority_accuracy < TARGET else 0.5 * (1.0 + relation.majority_accuracy)


def _sweep(relation: Relation, settings: PhaseSettings, batch_size: int | None) -> Sweep:
    """Return the sweep; all that may vary is on an axis, so that one folder can keep several planes."""
    import numpy as np

    from genlaws.experiments import Axis, get_experiment, make_sweep
    from genlaws.figures.relations_phases import shared
    from genlaws.numerics.arguments import whole_number
    from genlaws.relations.relation_text import relation_to_text

    if batch_size is not None:
        whole_number("batch_size", batch_size, at_least=1)
    (optimiser,) = settings.optimisers
    kind = "sgd" if optimiser == "sgd" else "adam"
    base = {
        **shared(settings),
        **{name: _target(relation) for name in ("target", "stop_at")},
        "relation": relation.label,
        "matrix": relation_to_text(relation),
        "optimiser": optimiser,
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
    from genlaws.commands.sweep_progress import watch
    from genlaws.experiments.computing import compute_cells, computing
    from genlaws.figures.relations_phases import PLANE, counted

    try:
        with computing(engine, None if folder is None else folder / "cells"), watch(quiet=quiet) as progress:
            cells = compute_cells(sweep, progress, "networks")
    except KeyboardInterrupt:
        kept = "What is done is kept; the same command goes on." if folder else "Nothing is kept without --out."
        raise KeyboardInterrupt(f"Stopped. {kept}") from None
    return counted(_table(cells, PLANE), PLANE, settings.patience)


def _table(cells: list[ComputedCell], fields: list[str]) -> pd.DataFrame:
    """Return one row for each network, as the figures have it."""
    import pandas as pd

    from genlaws.figures.relations_cells import FINAL, NUMBERS

    return pd.DataFrame(
        [
            {
                **{name: getattr(cell.settings, name) for name in fields},
                **{name: cell.result[name] for name in NUMBERS},
                **{name: cell.result[f"final_{name}"] for name in FINAL},
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

    from genlaws.figures import FIGURES
    from genlaws.figures.relations_phases_picture import draw_phases
    from genlaws.figures.style import house_style
    from genlaws.figures.writing import made_folder, save_picture, write_together

    def write(work: Path) -> dict[str, Path]:
        """Write every file."""
        paths = {kind: work / f"{NAME}.{kind}" for kind in ("csv", "json", "png", "pdf")}
        frame.to_csv(paths["csv"], index=False)
        paths["json"].write_text(json.dumps(as_json(answer), indent=2) + "\n", encoding="utf-8")
        with house_style():
            picture = draw_phases(frame, settings)
        for kind in ("png", "pdf"):
            save_picture(picture, paths[kind], kind, f"Phases of {answer['relation']}", FIGURES[FIGURE].caption)
        return paths

    return write_together(made_folder("out", folder), NAME, write)
