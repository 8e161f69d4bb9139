"""``genlaws relations learn``: train networks on a relation, and say what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.commands.output import DEFAULT_OUTPUT, Output, as_json
from genlaws.commands.progress import ProgressBar
from genlaws.commands.relations_source import Elements, Entities, RelationName, Source, read_relation

if TYPE_CHECKING:
    from genlaws.relations.relation import Relation
    from genlaws.relations.relation_runs import RelationRuns

MOST_SEEDS = 10_000
EVEN_LOGS, LOG_LOGS = 200, 100  # measurements: evenly, for when something is reached, and evenly in log time

Share = Annotated[float, Parameter(help="Share of the table that is shown.")]
Seeds = Annotated[int, Parameter(help="Number of networks, each with entries and initial values of its own.")]
Mode = Annotated[str, Parameter(help="What the decoder sees: concatenate, difference or squared_difference.")]
Activation = Annotated[str, Parameter(help="tanh, relu, sigmoid or identity.")]
Optimiser = Annotated[str, Parameter(help="adam, adamw or sgd.")]
Noise = Annotated[float, Parameter(help="Share of the shown labels that are turned round.")]
BatchSize = Annotated[int | None, Parameter(help="Entries in a step; all that are shown if left out.")]
Device = Annotated[str, Parameter(help="Where to compute, such as cpu or cuda.")]
Factor = Annotated[float, Parameter(help="Factor on the initial values.")]
Rate = Annotated[float, Parameter(help="Learning rate.")]
Decay = Annotated[float, Parameter(help="Weight decay.")]


def learn(
    source: Source,
    /,
    *,
    train_fraction: Share = 0.75,
    seeds: Seeds = 1,
    dimension: Annotated[int, Parameter(help="Of the embeddings.")] = 2,
    depth: Annotated[int, Parameter(help="Hidden layers of the decoder.")] = 3,
    width: Annotated[int, Parameter(help="Units in each of them.")] = 50,
    mode: Mode = "concatenate",
    activation: Activation = "tanh",
    encoder_rate: Rate = 1e-3,
    decoder_rate: Rate = 1e-3,
    encoder_decay: Decay = 0.0,
    decoder_decay: Decay = 0.0,
    embedding_scale: Factor = 1.0,
    decoder_scale: Factor = 1.0,
    label_noise: Noise = 0.0,
    optimiser: Optimiser = "adam",
    batch_size: BatchSize = None,
    steps: Annotated[int, Parameter(help="Updates of each network.")] = 10_000,
    device: Device = "cpu",
    elements: Elements = None,
    relation: RelationName = None,
    entities: Entities = "used",
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Train networks on random entries of a relation and say whether they generalise, grok or memorise.

    With --out a folder is written: the curves (curves.png, .pdf, .csv), where the elements ended (embeddings.png), a
    page that plays the training (embeddings.html) and the numbers (learn.json).
    """
    chosen = {
        "train_fraction": train_fraction,
        "dimension": dimension,
        "depth": depth,
        "width": width,
        "mode": mode,
        "activation": activation,
        "encoder_rate": encoder_rate,
        "decoder_rate": decoder_rate,
        "encoder_decay": encoder_decay,
        "decoder_decay": decoder_decay,
        "embedding_scale": embedding_scale,
        "decoder_scale": decoder_scale,
        "label_noise": label_noise,
        "optimiser": optimiser,
        "batch_size": batch_size,
        "steps": steps,
        "device": device,
    }
    _check(chosen, seeds, output)
    known = read_relation(source, elements, relation, entities)
    runs = _train(known, chosen, seeds, output)
    _answer(known, runs, {**chosen, "seeds": seeds, "seed": output.seed}, output)


def _check(chosen: dict[str, Any], seeds: int, output: Output) -> None:
    """Refuse what the library would refuse later or not in a sentence."""
    from genlaws.ensembles.activations import ACTIVATIONS
    from genlaws.figures.writing import made_folder
    from genlaws.numerics.arguments import one_of, whole_number
    from genlaws.relations.relation_runs import MOST_STEPS

    whole_number("seed", output.seed)
    whole_number("seeds", seeds, at_least=1, at_most=MOST_SEEDS, hint="It is the number of networks.")
    whole_number("steps", chosen["steps"], at_least=1, at_most=MOST_STEPS)
    one_of("activation", chosen["activation"], ACTIVATIONS)
    if output.out is not None:
        made_folder("out", output.out)


def _train(known: Relation, chosen: dict[str, Any], seeds: int, output: Output) -> RelationRuns:
    """Train the networks beside a progress bar; embeddings are kept where a page is wanted."""
    import numpy as np

    from genlaws.relations.relation_network import learn_relation

    steps = chosen["steps"]
    evenly = np.linspace(0, steps, EVEN_LOGS + 1).round().astype(int)
    in_log_time = np.geomspace(1, steps, LOG_LOGS).round().astype(int)
    with ProgressBar(quiet=output.json) as progress:
        progress.start(steps, f"{known.label}: steps of {seeds} {'network' if seeds == 1 else 'networks'}")
        return learn_relation(
            known,
            seeds=range(output.seed, output.seed + seeds),
            log_at=sorted({*evenly.tolist(), *in_log_time.tolist()}),
            keep_embeddings=output.out is not None,
            advance=progress.advance,
            **chosen,
        )


def _answer(known: Relation, runs: RelationRuns, chosen: dict[str, Any], output: Output) -> None:
    """Say what became of the networks, and write it down where asked."""
    import json

    from genlaws.commands.relations_learn_files import write_files
    from genlaws.commands.relations_learn_words import explain, summary

    answer = summary(known, runs, chosen)
    document = json.dumps(as_json(answer), indent=2)
    text = explain(answer)
    written = "" if output.out is None else write_files(output.out, known, runs, document)
    if output.json:
        print(document)
    else:
        print(text)
        if written:
            print(written)
