"""``genlaws relations learn``: train networks on a relation and report their accuracies and phases.

With ``--out`` it writes the curves, the embeddings and a page that plays the training.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
from cyclopts import Parameter

from genlaws.cli.output import DEFAULT_OUTPUT, Output, ProgressBar, aligned, as_json, paragraph
from genlaws.cli.relations.source import (
    BatchSize,
    Depth,
    Elements,
    Entities,
    Optimizer,
    RelationName,
    Source,
    read_relation,
)
from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import ConvergenceError
from genlaws.core.estimate import Estimate
from genlaws.core.files import made_folder, write_together
from genlaws.figures.drawing import save_picture
from genlaws.figures.relations.learned import draw_courses, draw_places
from genlaws.relations import networks
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.hypotheses import average_meaning, hypotheses_of
from genlaws.relations.inference.paper import TARGET_ACCURACY
from genlaws.relations.networks.embeddings import element_groups, principal_plane
from genlaws.relations.networks.phases import PHASES, classify_phases
from genlaws.relations.networks.runs import ACCURACIES, MAX_TRAINING_STEPS, mean_accuracy
from genlaws.relations.structure.training_set import training_set_of
from genlaws.render.style import house_style
from genlaws.report import embedding_movie

if TYPE_CHECKING:
    from genlaws.core.arguments import Array, Whole
    from genlaws.relations.inference.posterior import Posterior
    from genlaws.relations.networks.runs import RelationRuns
    from genlaws.relations.structure.relation import Relation

MAX_BOUND_ELEMENTS = 100  # beyond, the best accuracy takes longer than the networks
MAX_BOUND_SETS = 20  # that the best accuracy is averaged over
MAX_FRAMES = 100
MAX_DOTS = 60_000  # of all frames together, so that a page stays below two megabytes
MAX_LEARNED_NETWORKS = 10_000
EVEN_LOG_COUNT = 200  # measurements evenly spaced, to see when an accuracy is reached
LOG_TIME_LOG_COUNT = 100  # measurements evenly spaced in log time

Share = Annotated[float, Parameter(help="Share of the table in the training set.")]
Seeds = Annotated[int, Parameter(help="Number of networks, each with its own entries and initial values.")]
Mode = Annotated[str, Parameter(help="What the decoder sees: concatenate, difference or squared_difference.")]
Activation = Annotated[str, Parameter(help="tanh, relu, sigmoid or identity.")]
Noise = Annotated[float, Parameter(help="Share of the training labels that are flipped.")]
Device = Annotated[str, Parameter(help="Where to compute, such as cpu or cuda.")]
Factor = Annotated[float, Parameter(help="Factor on the initial values.")]
Rate = Annotated[float, Parameter(help="Learning rate.")]
Decay = Annotated[float, Parameter(help="Weight decay.")]


@Parameter(name="*")
@dataclass(frozen=True)
class TrainingOptions:
    """The arguments of `learn_relation` that are options of the command."""

    train_fraction: Share = 0.75
    dimension: Annotated[int, Parameter(help="Dimension of the embeddings.")] = 2
    depth: Depth = 3
    width: Annotated[int, Parameter(help="Units in each hidden layer.")] = 50
    mode: Mode = "concatenate"
    activation: Activation = "tanh"
    encoder_rate: Rate = 1e-3
    decoder_rate: Rate = 1e-3
    encoder_decay: Decay = 0.0
    decoder_decay: Decay = 0.0
    embedding_scale: Factor = 1.0
    decoder_scale: Factor = 1.0
    label_noise: Noise = 0.0
    optimizer: Optimizer = "adam"
    batch_size: BatchSize = None
    steps: Annotated[int, Parameter(help="Updates of each network.")] = 10_000
    device: Device = "cpu"


DEFAULT_TRAINING = TrainingOptions()


def summary(known: Relation, runs: RelationRuns, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return all results under the names of the library."""
    train, test = runs.steps_to("train_accuracy", TARGET_ACCURACY), runs.steps_to("test_accuracy", TARGET_ACCURACY)
    phases = [PHASES[place] for place in classify_phases(train, test)]
    answer: dict[str, Any] = {
        "relation": known.label,
        "element_count": known.element_count,
        "entry_count": known.pair_count,
        "training_count": int(runs.training_mask[0].sum()),
    }
    for name in ACCURACIES:
        answer |= _estimate(name, runs.final(name))
    answer |= {
        "majority_accuracy": runs.majority_accuracy,
        "train_step": _steps(train),
        "test_step": _steps(test),
        "phase": phases,
        "phase_counts": {name: phases.count(name) for name in PHASES if name in phases},
        "failed": int(runs.failed.sum()),
        "invariant_drift": _drift(runs) if chosen["optimizer"] == "sgd" else None,
        **best_accuracy(known, runs, chosen["seed"]),
        "settings": chosen,
        "computed_on": runs.device,
    }
    return answer


def _estimate(name: str, values: Array) -> dict[str, Any]:
    """Return the mean over networks with its interval where there are several, and the value of each."""
    found = mean_accuracy(values)
    return {name: found.value, f"{name}_interval": [found.low, found.high], f"{name}_each": values.tolist()}


def _steps(reached: Whole) -> list[int | None]:
    return [None if one < 0 else int(one) for one in reached.tolist()]


def _drift(runs: RelationRuns) -> float:
    """Return the largest drift of any network at its last measurement."""
    courses = (course[np.isfinite(course)] for course in runs.invariant_drift)
    return max((float(course[-1]) for course in courses if course.size), default=math.nan)


def best_accuracy(known: Relation, runs: RelationRuns, seed: int) -> dict[str, Any]:
    """Return the Bayes bound for the training entries of the networks, or the reason why there is none."""
    names = ("best_accuracy", "best_accuracy_interval", "best_unseen_accuracy", "best_unseen_accuracy_interval")
    none: dict[str, Any] = {**dict.fromkeys(names), "best_class": None, "best_meaning": None, "best_count": 0}
    if known.element_count > MAX_BOUND_ELEMENTS:
        return {**none, "best_message": f"It is not computed beyond {MAX_BOUND_ELEMENTS} elements."}
    hypotheses = hypotheses_of(known)
    try:
        laws = [
            posterior(training_set_of(known, np.flatnonzero(shown)), hypotheses, truth=known, seed=seed)
            for shown in runs.training_mask[:MAX_BOUND_SETS]
        ]
    except ConvergenceError as error:
        return {**none, "best_message": f"It could not be computed: {error}"}
    whole, unseen = (mean_accuracy([getattr(law, name) for law in laws]) for name in ("accuracy", "unseen_accuracy"))
    values = (whole.value, [whole.low, whole.high], unseen.value, [unseen.low, unseen.high])
    texts = {
        "best_class": str(hypotheses),
        "best_meaning": average_meaning(hypotheses),
        "best_count": len(laws),
        "best_message": _format_method(laws),
    }
    return {**dict(zip(names, values, strict=True)), **texts}


def _format_method(laws: list[Posterior]) -> str:
    if not all(law.converged for law in laws):
        return "A Markov chain behind it has NOT converged: do not trust the number."
    exact = sum(law.method == "exact" for law in laws)
    return (
        "It is exact." if exact == len(laws) else f"It is from a Markov chain for {len(laws) - exact} of {len(laws)}."
    )


def explain(answer: dict[str, Any]) -> str:
    """Return the answer for a person: first the numbers, then what they mean."""
    total = len(answer["phase"])
    rows = {
        "accuracy on other entries": _format_accuracy(answer, "test_accuracy", "none: every entry is a training entry"),
        "balanced over both answers": _format_accuracy(
            answer, "balanced_accuracy", "none: one of the answers is missing there"
        ),
        "accuracy on training entries": _format_accuracy(answer, "train_accuracy", "none"),
        "accuracy on the whole table": _format_accuracy(answer, "table_accuracy", "none"),
        "majority answer": f"{answer['majority_accuracy']:.4f} of the table",
        "class average, same entries": _format_class_average(answer),
        "steps to 90 % in training": _format_steps(answer["train_step"]),
        "steps to 90 % on others": _format_steps(answer["test_step"]),
        "phase": ", ".join(
            name if total == 1 else f"{name} {count} of {total}" for name, count in answer["phase_counts"].items()
        ),
    }
    if answer["invariant_drift"] is not None and math.isfinite(answer["invariant_drift"]):
        rows["drift of the invariant"] = f"{answer['invariant_drift']:.2e} of its size, at most"
    return "\n".join([aligned(rows), *_sentences(answer)])


def _format_accuracy(answer: dict[str, Any], name: str, otherwise: str) -> str:
    """Return an accuracy with its interval, or a text where it does not exist."""
    value, each = answer[name], [one for one in answer[f"{name}_each"] if math.isfinite(one)]
    if not each:
        return "none: every network failed" if answer["failed"] == len(answer["phase"]) else otherwise
    low, high = answer[f"{name}_interval"]
    return f"{value:.4f}" if len(each) == 1 else str(Estimate(value, low, high, len(each)))


def _format_class_average(answer: dict[str, Any]) -> str:
    if answer["best_accuracy"] is None:
        return "none"
    whole = f"{answer['best_accuracy']:.4f} of the table"
    unseen = answer["best_unseen_accuracy"]
    return whole if not math.isfinite(unseen) else f"{unseen:.4f} of the others, {whole}"


def _format_steps(steps: list[int | None]) -> str:
    """Return when an accuracy was reached: the step, or the middle and the ends of several."""
    reached = [one for one in steps if one is not None]
    if not reached:
        return "never"
    if len(steps) == 1:
        return f"{reached[0]:,}"
    middle = f"{round(float(np.median(reached))):,} [{min(reached):,} to {max(reached):,}]"
    missing = len(steps) - len(reached)
    return f"{middle}, {missing} of {len(steps)} never" if missing else middle


def _sentences(answer: dict[str, Any]) -> list[str]:
    chosen, total = answer["settings"], len(answer["phase"])
    who = "One network was" if total == 1 else f"{total} networks were"
    noise = f", {chosen['label_noise']:g} of the labels flipped" if chosen["label_noise"] else ""
    lines = [
        f"{who} trained on {answer['training_count']:,} of the {answer['entry_count']:,} entries of "
        f"{answer['relation']}{noise}, for {chosen['steps']:,} steps of {chosen['optimizer']}."
    ]
    if answer["best_accuracy"] is None:
        lines.append(f"The class average from the same entries is missing. {answer['best_message']}")
    else:
        right = ", with the right labels" if chosen["label_noise"] else ""
        lines.append(
            paragraph(
                f"The class average is the best mean accuracy over a class from the same entries{right}.",
                answer["best_meaning"],
                answer["best_message"],
            )
        )
    if answer["failed"]:
        lines.append(f"{answer['failed']} of {total} stopped at numbers that are not finite; try smaller rates.")
    return lines


def write_files(folder: Path, known: Relation, runs: RelationRuns, document: str) -> str:
    """Write all files together and return a sentence that lists them; the embeddings are those of one network."""
    sound = np.flatnonzero(~runs.failed)

    def write(work: Path) -> dict[str, Path]:
        """Write the files into a folder and return them by name."""
        (work / "learn.json").write_text(document + "\n", encoding="utf-8")
        runs.to_frame().to_csv(work / "curves.csv", index=False)
        _curves(work, known, runs)
        if sound.size:
            _embeddings(work, known, runs, int(sound[0]))
        return {path.name: path for path in sorted(work.iterdir())}

    paths = write_together(made_folder("out", folder), "learn", write)
    listed = ", ".join(paths)
    if not sound.size:
        return f"Written to {folder}: {listed}. There are no embeddings to show: every network failed."
    of = "" if len(runs) == 1 else f" The embeddings are those of network {int(sound[0])}."
    return f"Written to {folder}: {listed}.{of}"


def _curves(work: Path, known: Relation, runs: RelationRuns) -> None:
    caption = (
        "Accuracy on the training entries and on the others, and the loss, against the step; thin lines are single "
        "networks, thick ones their mean."
    )
    with house_style():
        picture = draw_courses(runs.to_frame(), runs.majority_accuracy)
        for kind in ("png", "pdf"):
            save_picture(picture, work / f"curves.{kind}", kind, f"Networks on {known.label}", caption)


def _embeddings(work: Path, known: Relation, runs: RelationRuns, network: int) -> None:
    """Write the final embeddings of one network, and the page that shows how they moved there."""
    groups = element_groups(known)
    final = runs.final_embeddings[network]
    places = principal_plane(final[None])[0]
    axes = {f"embedding_{place + 1}": final[:, place] for place in range(final.shape[1])}
    about = {"element": known.names, groups.kind: groups.value}
    pd.DataFrame({**about, "x": places[:, 0], "y": places[:, 1], **axes}).to_csv(work / "embeddings.csv", index=False)
    test = float(runs.final("test_accuracy")[network])
    known_test = f", {test:.3f} on other entries" if np.isfinite(test) else ""
    title = f"{known.label} after {int(runs.steps[-1]):,} steps{known_test}"
    with house_style():
        picture = draw_places(places, groups, known.names, title, final.shape[1])
        save_picture(picture, work / "embeddings.png", "png", title, "Final embeddings of the elements.")
    frames = chosen_frames(runs.steps, known.element_count)
    page = embedding_movie(
        runs.embeddings[network][frames],
        runs.steps[frames].tolist(),
        groups,
        f"{known.label}: embeddings along the training",
        names=known.names,
        train_accuracy=runs.train_accuracy[network][frames],
        test_accuracy=runs.test_accuracy[network][frames],
    )
    (work / "embeddings.html").write_text(page, encoding="utf-8")


def chosen_frames(steps: Whole, element_count: int) -> Whole:
    """Return which measurements the page shows: the start, the end, and evenly in log time between them."""
    count = max(2, min(MAX_FRAMES, MAX_DOTS // element_count))
    wanted = np.geomspace(1.0, steps[-1] + 1.0, count)
    nearest = np.abs(np.log(steps[None] + 1.0) - np.log(wanted[:, None])).argmin(axis=1)
    return np.unique(nearest)


def learn(
    source: Source,
    /,
    *,
    seeds: Seeds = 1,
    options: TrainingOptions = DEFAULT_TRAINING,
    elements: Elements = None,
    relation: RelationName = None,
    entities: Entities = "used",
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Train networks on random entries of a relation and report whether they generalize, grok or memorize.

    With --out a folder is written: the curves (curves.png, .pdf, .csv), the final embeddings (embeddings.png), a
    page that plays the training (embeddings.html) and the numbers (learn.json).
    """
    chosen = vars(options)
    _check(chosen, seeds, output)
    known = read_relation(source, elements, relation, entities)
    runs = _train(known, chosen, seeds, output)
    answer = summary(known, runs, {**chosen, "seeds": seeds, "seed": output.seed})
    document, text = json.dumps(as_json(answer), indent=2), explain(answer)
    if output.out is not None:
        text += "\n" + write_files(output.out, known, runs, document)
    print(document if output.json else text)


def _check(chosen: dict[str, Any], seeds: int, output: Output) -> None:
    """Check the options before the training starts."""
    from genlaws.ensembles.perceptron import ACTIVATIONS

    whole_number("seed", output.seed)
    whole_number("seeds", seeds, at_least=1, at_most=MAX_LEARNED_NETWORKS, hint="It is the number of networks.")
    whole_number("steps", chosen["steps"], at_least=1, at_most=MAX_TRAINING_STEPS)
    one_of("activation", chosen["activation"], ACTIVATIONS)
    if output.out is not None:
        made_folder("out", output.out)


def _train(known: Relation, chosen: dict[str, Any], seeds: int, output: Output) -> RelationRuns:
    """Train the networks with a progress bar; embeddings are stored if a page is written."""
    steps = chosen["steps"]
    evenly = np.linspace(0, steps, EVEN_LOG_COUNT + 1).round().astype(int)
    in_log_time = np.geomspace(1, steps, LOG_TIME_LOG_COUNT).round().astype(int)
    with ProgressBar(quiet=output.json) as running:
        return networks.network.learn_relation(
            known,
            seeds=range(output.seed, output.seed + seeds),
            log_at=sorted({*evenly.tolist(), *in_log_time.tolist()}),
            keep_embeddings=output.out is not None,
            running=running,
            **chosen,
        )
