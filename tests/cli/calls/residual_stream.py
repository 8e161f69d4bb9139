"""Command lines that ask each question on the residual stream, and questions without a command."""

import numpy as np

from genlaws import residual_stream
from genlaws.models.stream import Stream

WALK = Stream.from_states(np.random.default_rng(3).standard_normal((6, 11, 5)).cumsum(axis=1))

COMMANDS = {
    "residual_stream.analyze": [
        "residual-stream analyze model --texts texts.txt --at-most 4 --measures paths --surrogates none",
        "residual-stream analyze model --texts texts.txt --measures paths,correlations,information,rotations"
        " --surrogates random-walk,basis-rotation,random-weights --estimators copula,binned --draws 5 --position -2",
        "residual-stream analyze model --texts texts.txt --measures all --draws 3 --seed 1 --jobs 2",
    ],
}

# Questions without a command.
EXAMPLES = {
    "residual_stream.analyze_stream": lambda: residual_stream.analyze_stream(
        WALK, texts=[0, 0, 1, 2, 3, 4], surrogates=["random walk", "step signs"], draws=5
    ),
}
