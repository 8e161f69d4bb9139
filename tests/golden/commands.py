"""What every command answers with ``--json`` on fixed inputs, right and wrong, and which options it has."""

from __future__ import annotations

import io
import json
import logging
import math
import os
import re
import shlex
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

from golden.inputs import MODEL, working_folder
from golden.store import Case

# Keys whose values differ from run to run or from machine to machine; the steps of a solver and what rounding leaves.
VARYING = frozenset(
    {
        *("seconds", "date", "versions", "started", "latest", "traceback"),
        *("iterations", "residual", "seconds_per_step", "minutes"),
    }
)
LONG = 20  # numbers of a list that are all kept
SAMPLES = 8
WIDE = {"COLUMNS": "250", "LINES": "50"}

COMMANDS = (
    *("rules-facts advise", "rules-facts bayes", "rules-facts kernel", "rules-facts solve", "rules-facts threshold"),
    *("semanticity fit-choices", "semanticity front", "semanticity measure", "semanticity probe"),
    *("relations advise", "relations bound", "relations data-needed", "relations describe", "relations learn"),
    *("relations next-pair", "relations phases", "relations repons"),
    *("residual-stream analyze", "residual-stream semanticity"),
    *("sweep export", "sweep list", "sweep run", "sweep status"),
    *("claims list", "claims run", "claims show"),
    *("figure", "report", "explore"),
)
GROUPS = ("rules-facts", "semanticity", "relations", "residual-stream", "sweep", "claims")

# Where an optimum lies, and what changes with it in first order.
BEST = frozenset({"regularization", "teacher_overlap", "self_overlap", "response", "memorization_error"})
PEAK = frozenset({"best_resolution", "best_ball_mass", "ball_mass", "collapse_constant"})
FITTED = frozenset(
    {"resolution", "background", "lapse", "exponent", "temperature", "offsets", "intervals", "amplitude"}
)


@dataclass(frozen=True)
class Line:
    """A command line to freeze.

    Attributes
    ----------
    words : str
        What is typed after ``genlaws``; ``--json`` is added.
    kind, places, quick
        As of a case.
    before : tuple of str
        Command lines that are run first, in the same folder.
    varying : frozenset of str
        More keys that are left out of the answer.
    """

    words: str
    kind: str = "solved"
    places: frozenset[str] = frozenset()
    quick: bool = True
    before: tuple[str, ...] = ()
    varying: frozenset[str] = frozenset()


SWEEP = "sweep run relations.bound --folder sweep --axis relation=mod3,less-than --set elements=6 --repeats 2"
SPEED = frozenset({"rate"})  # cells in a second
FEW = "--items 2,3 --trials 6 --shifts=-50,50 --half-separations 20,100"

LINES = {
    # rules-facts
    "rules-facts solve/square": Line("rules-facts solve --sample-ratio 2 --fact-fraction 0.2", places=BEST),
    "rules-facts solve/hinge": Line(
        "rules-facts solve --sample-ratio 1,4 --fact-fraction 0.1,0.5 --loss hinge --kernel relu --regularization 0.3"
    ),
    "rules-facts solve/features": Line(
        "rules-facts solve --sample-ratio 3 --fact-fraction 0.3 --kernel-angle 0.4,0.9 --regularization 0.1"
        " --width-ratio 2"
    ),
    "rules-facts solve/limit": Line(
        "rules-facts solve --sample-ratio 0.5 --fact-fraction 0.2 --mu-1 0.6 --mu-star 0.8 --regularization 0"
    ),
    "rules-facts solve/logistic": Line(
        "rules-facts solve --sample-ratio 2 --fact-fraction 0.2 --loss logistic --regularization 0.5"
    ),
    "rules-facts solve/wrong-loss": Line("rules-facts solve --sample-ratio 2 --fact-fraction 0.2 --loss cubic"),
    "rules-facts solve/wrong-share": Line("rules-facts solve --sample-ratio 2 --fact-fraction 1.2"),
    "rules-facts solve/no-ratio": Line("rules-facts solve --fact-fraction 0.2"),
    "rules-facts solve/two-kernels": Line(
        "rules-facts solve --sample-ratio 2 --fact-fraction 0.2 --kernel relu --kernel-angle 0.3"
    ),
    "rules-facts bayes/one": Line("rules-facts bayes --sample-ratio 2 --fact-fraction 0.2"),
    "rules-facts bayes/range": Line("rules-facts bayes --sample-ratio 0.1:100:4:log --fact-fraction 0,0.5 --out out"),
    "rules-facts bayes/out-in-the-way": Line(
        "rules-facts bayes --sample-ratio 2 --fact-fraction 0.2 --out texts.txt/out"
    ),
    "rules-facts bayes/wrong": Line("rules-facts bayes --sample-ratio -1 --fact-fraction 0.2"),
    "rules-facts threshold/hinge": Line("rules-facts threshold --fact-fraction 0.1,0.5,1"),
    "rules-facts threshold/features": Line(
        "rules-facts threshold --fact-fraction 0.2 --loss logistic --kernel relu --width-ratio 3"
    ),
    "rules-facts threshold/square": Line("rules-facts threshold --fact-fraction 0.2 --loss square"),
    "rules-facts threshold/wrong": Line("rules-facts threshold --fact-fraction 0.2 --loss huber --mu-1 0.3"),
    "rules-facts kernel/relu": Line("rules-facts kernel --kernel relu", "closed"),
    "rules-facts kernel/family": Line("rules-facts kernel --kernel-angle 0.7 --family gaussian"),
    "rules-facts kernel/polynomial": Line("rules-facts kernel --kernel-angle 0.7 --family polynomial --degree 3"),
    "rules-facts kernel/pair": Line("rules-facts kernel --mu-1 0.3 --mu-star 0.4 --out out", "closed"),
    "rules-facts kernel/wrong-name": Line("rules-facts kernel --kernel sine"),
    "rules-facts kernel/nothing": Line("rules-facts kernel"),
    "rules-facts advise/digits": Line(
        "rules-facts advise digits --rule-classes 3 8 --fact-fraction 0.2 --sample-count 60 --parameters 0.5,1,2",
        places=BEST,
    ),
    "rules-facts advise/estimated": Line(
        "rules-facts advise labeled.csv --rule-classes north south --parameters 0.5,2 --seed 3 --out out",
        places=BEST,
    ),
    "rules-facts advise/hinge": Line(
        "rules-facts advise labeled.npz --rule-classes 0 1 --fact-fraction 0.3 --fact-classes 2 --loss hinge"
        " --family exponential --parameters 1,3 --sample-count 40 --normalize --folds 3",
        places=BEST,
    ),
    "rules-facts advise/wrong-class": Line("rules-facts advise labeled.csv --rule-classes north east"),
    "rules-facts advise/no-file": Line("rules-facts advise gone.csv --rule-classes 0 1"),
    # semanticity
    "semanticity front/circle": Line("semanticity front --ball-mass 0.1,0.5 --items 2,5"),
    "semanticity front/sphere": Line(
        "semanticity front --space sphere --dimension 3 --similarity exponential --resolution 0.4 --background 0,0.1",
        places=PEAK,
    ),
    "semanticity front/tree": Line(
        "semanticity front --space tree --branching 2 --depth 3 --similarity linear --resolution 2.5 --items 3"
        " --ties drop"
    ),
    "semanticity front/distances": Line(
        "semanticity front --distances distances.csv --weights weights.csv --similarity gaussian --resolution 0.3"
    ),
    "semanticity front/set": Line("semanticity front --set-size 21 --ball-mass 0.25 --items 2,4 --out out"),
    "semanticity front/sweep": Line(
        "semanticity front --sweep --similarity power-law --exponent 3 --background 0.05 --out out",
        places=PEAK,
    ),
    "semanticity front/wrong-two": Line("semanticity front --ball-mass 0.1 --resolution 0.2"),
    "semanticity front/wrong-items": Line("semanticity front --ball-mass 0.1 --items 1"),
    "semanticity front/wrong-space": Line("semanticity front --ball-mass 0.1 --space donut"),
    "semanticity measure/circle": Line(
        "semanticity measure embeddings.npy --positions places.npy --metric circle --items 2,3", places=FITTED
    ),
    "semanticity measure/euclidean": Line(
        "semanticity measure embeddings.csv --positions places.csv --metric euclidean --similarity gaussian --center"
        " --items 2,5 --no-intervals --no-fronts --seed 2 --out out",
        places=FITTED,
    ),
    "semanticity measure/batches": Line(
        "semanticity measure embeddings.npy --positions places.npy --metric circle --items 2 --memory 2e-5"
        " --batch-size 12 --batch-count 3 --no-fronts",
        places=FITTED,
    ),
    "semanticity measure/tree": Line(
        "semanticity measure embeddings.npy --positions groups.csv --metric tree --similarity threshold --items 2,3"
        " --no-intervals --no-fronts",
        places=FITTED,
    ),
    "semanticity measure/wrong-rows": Line(
        "semanticity measure embeddings.npy --positions weights.csv --metric circle --period 9"
    ),
    "semanticity measure/wrong-metric": Line("semanticity measure embeddings.npy --positions places.npy --metric city"),
    "semanticity fit-choices/one": Line("semanticity fit-choices choices.csv --shape exponential", places=FITTED),
    "semanticity fit-choices/long": Line(
        "semanticity fit-choices choices_long.csv --shape power-law --exponent 1.5 --lapse 0"
        " --position-effects fit --out out",
        places=FITTED,
    ),
    "semanticity fit-choices/all": Line(
        "semanticity fit-choices choices.csv --shape all --folds 3 --distinguish exponential,gaussian --seed 1",
        places=FITTED,
        quick=False,
    ),
    "semanticity fit-choices/wrong-row": Line("semanticity fit-choices choices_wrong.csv"),
    "semanticity fit-choices/no-file": Line("semanticity fit-choices gone.csv"),
    "semanticity fit-choices/wrong-power": Line("semanticity fit-choices choices.csv --distinguish gaussian"),
    "semanticity probe/dry": Line("semanticity probe model --dry-run --task years --trials 5 --items 2,4 --seed 3"),
    "semanticity probe/dry-chat": Line(
        "semanticity probe model --dry-run --task table:items.csv --template chat --trials 4 --no-anchors"
    ),
    "semanticity probe/probability": Line(f"semanticity probe model {FEW} --seed 4 --out out", "trained"),
    "semanticity probe/text": Line(
        "semanticity probe model --task numbers --items 2 --trials 4 --no-anchors --mode text --temperature 0.7"
        " --max-tokens 3 --layers --layer-trials 6",
        "trained",
    ),
    "semanticity probe/embedding": Line(
        "semanticity probe model --mode embedding --task numbers --trials 30 --pooling last --no-center",
        "trained",
    ),
    "semanticity probe/wrong-task": Line("semanticity probe model --task year"),
    "semanticity probe/no-model": Line("semanticity probe ./gone --trials 5"),
    "semanticity probe/wrong-price": Line("semanticity probe model --price 3 --items 2 --trials 2 --no-anchors"),
    # relations
    "relations describe/mod3": Line("relations describe mod3 --elements 12", "closed"),
    "relations describe/matrix": Line("relations describe matrix.csv --method search --out out", "closed"),
    "relations describe/graph": Line("relations describe graph.tsv", "closed"),
    "relations describe/one-of-graph": Line("relations describe graph.tsv --relation knows --entities all", "closed"),
    "relations describe/wrong-name": Line("relations describe mod"),
    "relations describe/no-file": Line("relations describe gone.csv"),
    "relations bound/curve": Line("relations bound mod3 --elements 9 --train-fraction 0.1,0.3 --repeats 4"),
    "relations bound/one": Line(
        "relations bound less-than --elements 8 --train-fraction 0.25 --repeats 3 --class total-order --seed 2"
    ),
    "relations bound/known": Line(
        "relations bound --train known.csv --names names.txt --class equivalence-2 --prior relations --out out"
    ),
    "relations bound/chain": Line("relations bound mod3 --elements 9 --train-fraction 0.2 --repeats 2 --method chain"),
    "relations bound/wrong-class": Line("relations bound mod3 --train-fraction 0.1 --class circular"),
    "relations bound/nothing": Line("relations bound mod3"),
    "relations data-needed/mod3": Line("relations data-needed mod3 --elements 9 --repeats 4"),
    "relations data-needed/order": Line(
        "relations data-needed less-than --elements 7 --repeats 3 --target-accuracy 0.8 --seed 5 --out out"
    ),
    "relations data-needed/wrong": Line("relations data-needed mod3 --target-accuracy 1.5"),
    "relations next-pair/known": Line("relations next-pair --train known.csv --class equivalence-3"),
    "relations next-pair/share": Line("relations next-pair less-than --elements 6 --train-fraction 0.2 --seed 3"),
    "relations next-pair/curve": Line(
        "relations next-pair mod3 --elements 6 --curve --queries 4 --repeats 2 --out out"
    ),
    "relations next-pair/wrong": Line("relations next-pair --train known.csv"),
    "relations repons/flow": Line("relations repons --encoder-rate 1e-3,1e-2 --decoder-rate 1e-3 --dimension 2"),
    "relations repons/sign": Line(
        "relations repons --encoder-rate 1e-3 --decoder-rate 2e-3 --update sign --simulate 200 --seed 1"
    ),
    "relations repons/class": Line(
        "relations repons --encoder-rate 1e-2 --decoder-rate 1e-3 --class-size 4 --outputs 2 --encoder-scale 0.5"
    ),
    "relations repons/picture": Line("relations repons --encoder-rate 1e-2 --decoder-rate 1e-3 --out out", quick=False),
    "relations repons/wrong-update": Line("relations repons --encoder-rate 1 --decoder-rate 1 --update step"),
    "relations repons/no-law": Line("relations repons --encoder-rate 1 --decoder-rate 1 --update sign --dimension 2"),
    "relations learn/mod3": Line(
        "relations learn mod3 --elements 9 --steps 60 --width 8 --seeds 2 --seed 5", "trained"
    ),
    "relations learn/matrix": Line(
        "relations learn matrix.npy --steps 40 --width 6 --depth 1 --optimizer sgd --encoder-rate 0.1"
        " --decoder-rate 0.5 --label-noise 0.1 --batch-size 8 --mode difference --activation relu",
        "trained",
    ),
    "relations learn/folder": Line(
        "relations learn mod3 --elements 6 --steps 30 --width 4 --out out", "trained", quick=False
    ),
    "relations learn/wrong-mode": Line("relations learn mod3 --elements 6 --mode product --steps 5"),
    "relations learn/wrong-steps": Line("relations learn mod3 --steps 2.5"),
    "relations advise/mod3": Line(
        "relations advise mod3 --elements 6 --quick --width 6 --depth 1 --steps 40", "trained"
    ),
    "relations advise/sgd": Line(
        "relations advise bipartite-4-4 --quick --width 6 --depth 1 --steps 30 --optimizer sgd --target-accuracy 0.8"
        " --seed 2 --out out",
        "trained",
        quick=False,
    ),
    "relations advise/wrong": Line("relations advise mod3 --elements 6 --quick --target-accuracy 1"),
    "relations phases/mod3": Line(
        "relations phases mod3 --elements 6 --grid 2 --seeds 2 --steps 40 --width 6", "trained"
    ),
    "relations phases/rates": Line(
        "relations phases less-than --elements 6 --grid 2 --seeds 2 --steps 40 --width 6 --depth 1 --optimizer sgd"
        " --decoder-rates 1e-3:0.1 --encoder-rates 1e-3:1e-2 --out out",
        "trained",
        quick=False,
    ),
    "relations phases/wrong": Line("relations phases mod3 --grid 1"),
    # residual-stream
    "residual-stream analyze/paths": Line(
        "residual-stream analyze model --texts texts.txt --measures paths,correlations --surrogates"
        " random-walk,phase-randomized,basis-rotation --draws 10",
        "trained",
    ),
    "residual-stream analyze/all": Line(
        "residual-stream analyze model --texts texts.txt --at-most 8 --measures all --draws 4 --position -2"
        " --estimators copula,binned --seed 2 --out out",
        "trained",
        quick=False,
    ),
    "residual-stream analyze/wrong-measure": Line("residual-stream analyze model --texts texts.txt --measures speed"),
    "residual-stream analyze/no-texts": Line("residual-stream analyze model --texts gone.txt"),
    "residual-stream semanticity/years": Line(
        "residual-stream semanticity model --count 30 --controls permuted", "trained"
    ),
    "residual-stream semanticity/items": Line(
        "residual-stream semanticity model --task table:items.csv --count 20 --position mean --similarity relu-dot"
        " --no-center --seed 1 --out out",
        "trained",
        quick=False,
    ),
    "residual-stream semanticity/wrong-task": Line("residual-stream semanticity model --task hues"),
    "residual-stream semanticity/no-model": Line("residual-stream semanticity ./gone"),
    # sweep
    "sweep list/all": Line("sweep list"),
    "sweep run/bound": Line(SWEEP),
    "sweep run/again": Line(SWEEP, before=(SWEEP,)),
    "sweep run/resume": Line("sweep run --resume --folder sweep", before=(SWEEP,)),
    "sweep run/axis": Line(
        "sweep run rules-facts.samples --folder other --axis fact_fraction=0.1:0.3:3 --set points=4 --seed 3"
    ),
    "sweep run/wrong-name": Line("sweep run relations.bounds --folder sweep"),
    "sweep run/wrong-axis": Line("sweep run relations.bound --folder sweep --axis relations=mod3"),
    "sweep status/done": Line("sweep status sweep", before=(SWEEP,), varying=SPEED),
    "sweep status/failed": Line(
        "sweep status failed --traceback",
        before=("sweep run relations.bound --folder failed --axis relation=mod3,nothing --set elements=6",),
        varying=SPEED,
    ),
    "sweep status/no-folder": Line("sweep status gone"),
    "sweep export/csv": Line("sweep export sweep", before=(SWEEP,)),
    "sweep export/file": Line("sweep export sweep --to csv --file table.csv", before=(SWEEP,)),
    "sweep export/parquet": Line("sweep export sweep --to parquet", before=(SWEEP,), quick=False),
    "sweep export/grid": Line(
        "sweep export other --to netcdf",
        before=("sweep run rules-facts.samples --folder other --axis fact_fraction=0.1,0.3 --set points=4",),
        quick=False,
    ),
    "sweep export/wrong": Line("sweep export sweep --to xml", before=(SWEEP,)),
    # claims
    "claims list/all": Line("claims list"),
    "claims list/paper": Line("claims list --paper relations --verdict corrected"),
    "claims list/wrong": Line("claims list --verdict perhaps"),
    "claims show/theorem": Line("claims show semanticity.theorem-1"),
    "claims show/table": Line("claims show relations.table-1"),
    "claims show/wrong": Line("claims show relations.table-0"),
    "claims run/table": Line("claims run relations.table-1"),
    "claims run/two": Line("claims run semanticity.theorem-1 relations.order-in-text --out out"),
    "claims run/nothing": Line("claims run"),
    "claims run/wrong": Line("claims run relations.nothing"),
    # figure
    "figure/list": Line("figure"),
    "figure/list-kept": Line("figure --bundled"),
    "figure/kept": Line("figure relations.6 --bundled --out out"),
    "figure/drawn": Line("figure rules-facts.3 --set angle_points=12 --out out", quick=False),
    "figure/wrong-name": Line("figure rules-facts.300"),
    "figure/wrong-setting": Line("figure rules-facts.3 --set color=red"),
    "figure/kept-and-set": Line("figure relations.6 --bundled --set seed=1"),
    # report
    "report/quick": Line("report --quick --out out", "trained", quick=False),
    "report/own": Line(
        "report --quick --seed 2 --out out/page.html --data embeddings.csv labeled.csv relation:matrix.csv"
        " --positions places.csv --model model --texts texts.txt",
        "trained",
        quick=False,
    ),
    "report/wrong-data": Line("report --quick --out out --data gone.npy"),
    "report/texts-alone": Line("report --quick --out out --texts texts.txt"),
    # explore
    "explore/wrong-port": Line("explore --port 2.5 --no-browser"),
    "explore/wrong-option": Line("explore --prot 1"),
    # the command line itself
    "genlaws/wrong-group": Line("rule-facts solve"),
    "genlaws/wrong-option": Line("rules-facts solve --sample-ratio 2 --fact-fraction 0.2 --ridge 1"),
}


def cases() -> Mapping[str, Case]:
    """Return the answers of all command lines, and the options of every command."""
    answers = {name: Case(line.kind, partial(_answer, line), line.places, line.quick) for name, line in LINES.items()}
    helps = {f"help/{name}": Case("exact", partial(_options, name)) for name in COMMANDS}
    return answers | helps | {f"help/{name}": Case("exact", partial(_commands, name)) for name in GROUPS}


def _answer(line: Line) -> dict[str, object]:
    """Return exit code, JSON, the last line of a complaint, and the files written."""
    with working_folder(MODEL in shlex.split(line.words)) as folder:
        for words in line.before:
            _run([*shlex.split(words), "--json"])
        there = set(_files(folder))
        code, out, err = _run([*shlex.split(line.words), "--json"])
        found: dict[str, object] = {
            "exit": code,
            "json": _compact(json.loads(out), VARYING | line.varying) if out.strip() else None,
        }
        if code != 0:
            found["error"] = err.strip().splitlines()[-1] if err.strip() else ""
        if written := sorted(set(_files(folder)) - there):
            found["written"] = {name: _described(folder / name) for name in written}
        return _without_folder(found, folder)


def _run(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Run a command line in this process."""
    from genlaws.cli import run

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings(), patch.dict(os.environ, WIDE):
        warnings.simplefilter("ignore")
        before = logging.root.manager.disable
        logging.disable(logging.WARNING)
        try:
            code = run(arguments)
        finally:
            logging.disable(before)
    return code, out.getvalue(), err.getvalue()


def _options(command: str) -> list[str]:
    """Return every word of a command's help that begins with two dashes."""
    code, out, _ = _run([*command.split(), "--help"])
    assert code == 0
    return sorted(set(re.findall(r"--[a-z][a-z0-9-]*", out)))


def _commands(group: str) -> list[str]:
    """Return the commands of a group."""
    code, out, _ = _run([group, "--help"])
    assert code == 0
    return sorted(re.findall(r"^│ ([a-z][a-z-]*) ", out, flags=re.MULTILINE))


def _files(folder: Path) -> Iterable[str]:
    """Yield the files of a folder, less those of a database that is open."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return (name for name in found if not name.endswith(("-shm", "-wal")))


def _described(path: Path) -> object:
    """Return columns and rows of a table, the names of a document, and nothing of other files."""
    if path.suffix == ".csv":
        lines = path.read_text(encoding="utf-8").splitlines()
        return {"columns": lines[0].split(","), "rows": len(lines) - 1}
    if path.suffix == ".json":
        document = json.loads(path.read_text(encoding="utf-8"))
        return sorted(document) if isinstance(document, dict) else type(document).__name__
    return None


def _compact(value: object, varying: frozenset[str]) -> object:
    """Return an answer without what varies, long lists of numbers in brief, and long lists of rows as columns."""
    if isinstance(value, Mapping):
        return {name: _compact(inner, varying) for name, inner in value.items() if name not in varying}
    if not isinstance(value, list):
        return value
    if len(value) > LONG and all(isinstance(one, Mapping) and one.keys() == value[0].keys() for one in value):
        return {name: _compact([one[name] for one in value], varying) for name in value[0] if name not in varying}
    flat = _flat(value)
    if flat is not None and len(flat) > LONG:
        return _brief(value, flat)
    return [_compact(one, varying) for one in value]


def _flat(value: object) -> list[float | None] | None:
    """Return the numbers of a list, or of lists in it, in order; nothing if there is anything else."""
    if isinstance(value, list):
        parts = [_flat(one) for one in value]
        return None if any(one is None for one in parts) else [one for part in parts for one in part or []]
    if isinstance(value, bool | str | Mapping):
        return None
    return [value]  # type: ignore[list-item]


def _brief(value: list[object], flat: Sequence[float | None]) -> dict[str, object]:
    """Return count, sums, ends and a few of many numbers."""
    known = [one for one in flat if one is not None]
    shape, inner = [], value
    while isinstance(inner, list):
        shape.append(len(inner))
        inner = inner[0] if inner else None  # type: ignore[assignment]
    places = [round(place * (len(flat) - 1) / (SAMPLES - 1)) for place in range(SAMPLES)]
    return {
        "shape": shape,
        "count": len(flat),
        "missing": len(flat) - len(known),
        "sum": math.fsum(known),
        "squares": math.fsum(one * one for one in known),
        "least": min(known, default=None),
        "most": max(known, default=None),
        "samples": [flat[place] for place in places],
    }


def _without_folder(value: object, folder: Path) -> object:
    """Return an answer with the place of the folder taken out of its words."""
    if isinstance(value, Mapping):
        return {name: _without_folder(inner, folder) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_folder(one, folder) for one in value]
    return value.replace(str(folder), "{tmp}") if isinstance(value, str) else value
