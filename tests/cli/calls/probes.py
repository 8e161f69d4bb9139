"""Command lines that ask each question put to models, and calls of those without a command."""

import numpy as np

from genlaws.models.language import TransformersModel
from genlaws.models.stream import Stream
from genlaws.probes import SimulatedModel, collapse_of, fit_collapse, fit_resolution, plan_probe
from genlaws.probes.encoders.stimuli import word_stimuli
from genlaws.probes.layers.tests import layer_tests
from genlaws.probes.outcomes import recorded
from genlaws.probes.stream.semanticity import measure_stream

WALK = Stream.from_states(np.random.default_rng(3).standard_normal((20, 3, 8)).cumsum(axis=1))

COMMANDS = {
    "probes.stream_semanticity": [
        "residual-stream semanticity model --count 16 --controls permuted",
        "residual-stream semanticity model --task table:items.csv --count 12 --position mean --similarity relu-dot"
        " --no-center --seed 1 --no-fronts",
    ],
    "probes.probe_model": [
        "semanticity probe model --items 2 --trials 4 --no-anchors",
        "semanticity probe model --items 2,3 --trials 10 --shifts=-50,50 --half-separations 20,100 --seed 4"
        " --template list,sentences --price 2,8",
        "semanticity probe model --task numbers --items 2 --trials 4 --no-anchors --mode text --temperature 0.7"
        " --max-tokens 3 --layers --layer-trials 6",
    ],
    "probes.preview_probe": [
        "semanticity probe model --dry-run --task years --trials 5 --items 2,4 --seed 3 --template list,chat",
        "semanticity probe model --dry-run --task colors --trials 2 --price 1,2",
        "semanticity probe model --dry-run --task table:items.csv --trials 4 --no-anchors --server http://localhost:9",
    ],
    "probes.measure_layers": [
        "semanticity probe model --mode embedding --task numbers --trials 30 --pooling last --no-center",
        "semanticity probe model --mode embedding --task table:items.csv --trials 12 --phrase {item}",
    ],
}


def _answered():
    """Return trials with the answers of a simulated model."""
    plan = plan_probe("years", [2, 4], 40, half_separations=[50], shifts=[-20, 20], seed=1)
    model = SimulatedModel(plan.domain, 40.0, background=0.02, lapse=0.02)
    prompts = plan.prompts()
    model.register(plan.trials, prompts)
    return recorded(plan.trials, model.reply(prompts), "text")


def _layers():
    """Return both tests in the layers of the untrained model."""
    return layer_tests(TransformersModel.load("model"), domain="years", trial_count=8, replicates=20)


# Questions without a command.
EXAMPLES = {
    "probes.measure_stream": lambda: measure_stream(WALK, word_stimuli("years", count=20), center=False),
    "probes.fit_collapse": lambda: fit_collapse([2, 4, 8, 16], [70, 50, 26, 12], [80, 80, 80, 80]),
    "probes.collapse_of": lambda: collapse_of(_answered()),
    "probes.fit_resolution": lambda: fit_resolution(_answered(), shapes="exponential", unit="years"),
    "probes.layer_tests": _layers,
}
