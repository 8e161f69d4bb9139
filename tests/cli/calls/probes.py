"""Command lines that ask each question on models, and questions without a command."""

import numpy as np

from genlaws.models.stream import Stream
from genlaws.probes.encoders.stimuli import word_stimuli
from genlaws.probes.stream.semanticity import measure_stream

WALK = Stream.from_states(np.random.default_rng(3).standard_normal((20, 3, 8)).cumsum(axis=1))

COMMANDS = {
    "probes.stream_semanticity": [
        "residual-stream semanticity model --count 16 --controls permuted",
        "residual-stream semanticity model --task table:items.csv --count 12 --position mean --similarity relu-dot"
        " --no-center --seed 1 --no-fronts",
    ],
}

# Questions without a command.
EXAMPLES = {
    "probes.measure_stream": lambda: measure_stream(WALK, word_stimuli("years", count=20), center=False),
}
