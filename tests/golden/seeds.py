"""The keys and seeds that follow from names and settings, and other random streams that a name is part of.

A cell of a sweep gets its key from the name of its experiment, a schema number, all its settings and the repeat, and
its seed from the key. If a name that is hashed changes, every number computed from that seed changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from golden.store import Case

# One axis for each experiment, over a field that is worded where there is one.
AXES = {
    "rules-facts.samples": "learner=square,hinge,bayes",
    "rules-facts.angles": "loss=square,hinge",
    "rules-facts.gaussian-runs": "kernel=relu,gaussian:0.5",
    "rules-facts.labeled-runs": "normalize=true,false",
    "rules-facts.message-passing": "fact_fraction=0.1,0.3",
    "rules-facts.two-layer": "optimizer=adam,adamw,sgd",
    "semanticity.relu-network": "goal=similarity,reconstruction,both",
    "semanticity.slot-network": "combine=max,mean",
    "semanticity.convolutional": "similarity_weight=0.1,0.5",
    "relations.bound": "relation=mod3,less-than,bipartite-15-15",
    "relations.curve": "relation=mod3,less-than",
    "relations.collisions": "update=flow,sign",
    "relations.network": "optimizer=adam,sgd",
}
SEEDS = (0, 5)
SIX = 6


def cases() -> Mapping[str, Case]:
    """Return the cells of every experiment, and the other streams."""
    from genlaws.sweeps import EXPERIMENTS

    cells = {f"cells/{name}": Case("closed", partial(_cells, name)) for name in EXPERIMENTS}
    exact = {f"streams/{name}": Case("exact", make) for name, make in EXACT_STREAMS.items()}
    rounded = {f"streams/{name}": Case("solved", make) for name, make in STREAMS.items()}
    return cells | exact | rounded | {"streams/compression": Case("trained", _compression)}


def _cells(name: str) -> dict[str, object]:
    """Return keys and seeds of the default settings and of a small sweep."""
    from genlaws.sweeps import get_experiment, make_sweep, read_axis

    experiment, axis = get_experiment(name), read_axis(AXES[name])
    sweeps = {
        "default": [make_sweep(experiment, {}, (), 2, seed) for seed in SEEDS],
        "axis": [make_sweep(experiment, {}, (axis,), 1, seed) for seed in SEEDS],
    }
    return {
        "schema": experiment.schema,
        "settings": make_sweep(experiment).settings.model_dump(mode="json"),
        "axis": AXES[name],
        "cells": {
            which: [[[cell.key, str(cell.seed), cell.repeat] for cell in sweep.cells()] for sweep in made]
            for which, made in sweeps.items()
        },
    }


def _generators() -> dict[str, object]:
    """Return the first numbers of a seed, alone and through the helper of the library."""
    from genlaws.core.seeds import generator_of

    return {str(seed): _whole(generator_of(seed)) for seed in SEEDS}


def _whole(generator: np.random.Generator) -> list[int]:
    return generator.integers(1_000_000_000, size=SIX).tolist()


def _halfway() -> dict[str, object]:
    """Return the folder of unfinished work."""
    from genlaws.sweeps.tasks import folder_for

    return {"folder": folder_for(Path("sweep"), ["a" * 32, "b" * 32]).as_posix()}


def _surrogates() -> dict[str, object]:
    """Return the draws of every surrogate: its name is part of its seed."""
    from genlaws.residual_stream import against_surrogates
    from genlaws.residual_stream.surrogates.comparison import SURROGATES

    return {
        name: _numbers(
            against_surrogates(_stream(), _first_units, surrogates=(name,), draws=2, seed=3).against[name].draws
        )
        for name in SURROGATES
    }


def _permuted_points() -> dict[str, object]:
    """Return the permuted points of the paper's control."""
    from genlaws.residual_stream.surrogates.comparison import against_permuted_points

    found = against_permuted_points(_stream(), draws=2, seed=3).against
    return {name: _numbers(one.draws) for name, one in found.items()}


def _turned_axes() -> dict[str, object]:
    """Return correlations on random axes: the word "axes" is part of their seed."""
    from genlaws.residual_stream.surrogates.walk_comparison import compare_with_walk

    found = compare_with_walk(_stream(), seed=3)
    return {"correlation_random_axes": _numbers(found.correlation_random_axes.value)}


def _compression() -> dict[str, object]:
    """Return a short training on the stream: the word "compression" is part of the seed of its parts."""
    from genlaws.residual_stream.dynamics.compression import compress

    found = compress(_stream(), layers=2, bottleneck=2, epochs=2, batch_size=4, seed=3)
    counts = [found.training_texts, found.validation_texts, found.test_texts]
    return {"texts": counts, "training_losses": list(found.training.training_losses)}


def _first_units(stream: object) -> np.ndarray:
    """Return the last state of the first text."""
    return stream.states[0, -1, :3]  # type: ignore[attr-defined]


def _stream() -> object:
    from genlaws.models.stream import Site, Stream

    sites = (*(Site(layer, place) for layer in range(3) for place in ("attention", "mlp")), Site(3, "end"))
    return Stream(np.random.default_rng(1).standard_normal((5, len(sites), 4)).cumsum(axis=1), sites)


def _numbers(values: np.ndarray) -> list[float]:
    return [float(value) for value in np.ravel(values)]


def _simulated() -> dict[str, object]:
    """Return words of the simulated model: the prompt as Python writes it is part of its seed."""
    from genlaws.probes.plan import plan_probe
    from genlaws.probes.simulated import SimulatedModel

    plan = plan_probe("years", (2, 4), 3, anchors=False, seed=4)
    model = SimulatedModel(plan.domain, 50.0, lapse=0.3, unparsed_rate=0.2, seed=7)
    prompts = model.prompts_of(plan.trials, plan.template)
    return {
        "name": model.name,
        "items": [list(trial.items) for trial in plan.trials],
        "replies": [reply.text for reply in model.reply(prompts)],
    }


def _kept_answers() -> dict[str, object]:
    """Return the keys under which answers of a model are kept."""
    from genlaws.models.interface import Prompt
    from genlaws.probes.store import key_of

    prompts = {
        "words": Prompt("1900, 1950 or 1980?", ("1900", "1950")),
        "chat": Prompt("Which?", ("a", "b"), system="Be brief.", chat=True, answer_prefix="", images=(b"picture",)),
    }
    return {
        name: {mode: key_of("simulated", mode, prompt) for mode in ("probability", "text")}
        for name, prompt in prompts.items()
    }


def _probe_trials() -> dict[str, object]:
    """Return trials of the probes in words: the number of each kind of trial is part of its seed."""
    from genlaws.probes.plan import plan_probe

    plans = {task: plan_probe(task, (2, 3), 2, seed=3) for task in ("years", "letters")}
    return {
        task: [[trial.kind, [str(item) for item in trial.items], trial.right] for trial in plan.trials]
        for task, plan in plans.items()
    }


def _text_draws() -> dict[str, object]:
    """Return random numbers bound to the tokens of a text and its pictures."""
    from genlaws.models.passes import draws_for

    return {"words": _whole(draws_for(2, [1, 2, 3])), "pictures": _whole(draws_for(2, [1, 2, 3], [b"one", b"two"]))}


def _ensemble_keys() -> dict[str, object]:
    """Return the counter-based streams of ensembles of networks."""
    import torch

    from genlaws.ensembles import streams

    steps = torch.arange(2)
    found = {}
    for purpose in (0, 1):
        keys = streams.keys_of([0, 5], purpose=purpose)
        whole = streams.whole_numbers(keys, steps, 3, 1_000_000)
        found[str(purpose)] = {"keys": [str(one) for one in keys.tolist()], "whole": whole.tolist()}
    allowed = torch.tensor([[True, True, False, True, True]] * 2)
    return found | {"permutations": streams.permutations(streams.keys_of([0, 5]), steps, allowed).tolist()}


def _ensemble_starts() -> dict[str, object]:
    """Return initial values of a network: the place of a part among the parts is in its seed."""
    from genlaws.ensembles.perceptron import PairPerceptron

    layout = PairPerceptron(4, 2, (3,), mode="concatenate", activation="tanh").layout
    rows = layout.start([0, 5]).numpy()
    parameters = [[one.name, one.part, list(one.shape)] for one in layout.parameters]
    return {"parts": list(layout.parts), "parameters": parameters, "start": [_numbers(row[:SIX]) for row in rows]}


def _rules_facts_draws() -> dict[str, object]:
    """Return draws of rules and facts."""
    from genlaws.rules_facts import draw_gaussian

    draw = draw_gaussian(dimension=3, sample_ratio=2.0, fact_fraction=0.5, test_count=2, seed=1)
    return {
        "inputs": _numbers(draw.inputs[:2]),
        "labels": [int(one) for one in draw.labels],
        "is_fact": [bool(one) for one in draw.is_fact],
        "test_inputs": _numbers(draw.test_inputs),
    }


EXACT_STREAMS: dict[str, Callable[[], object]] = {
    "generators": _generators,
    "halfway": _halfway,
    "simulated_model": _simulated,
    "kept_answers": _kept_answers,
    "probe_trials": _probe_trials,
    "text_draws": _text_draws,
    "ensemble_keys": _ensemble_keys,
}
# With numbers that are rounded on the way.
STREAMS: dict[str, Callable[[], object]] = {
    "surrogates": _surrogates,
    "permuted_points": _permuted_points,
    "turned_axes": _turned_axes,
    "ensemble_starts": _ensemble_starts,
    "rules_facts_draws": _rules_facts_draws,
}
