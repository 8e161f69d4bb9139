"""Command lines that ask each question on the residual stream, and questions without a command."""

import numpy as np

from genlaws import residual_stream
from genlaws.models.stream import Stream

WALK = Stream.from_states(np.random.default_rng(3).standard_normal((6, 11, 5)).cumsum(axis=1))
LONG_WALK = Stream.from_states(np.random.default_rng(4).standard_normal((12, 4, 5)).cumsum(axis=1))


def total_rotations(stream):
    """Return how often all units rotate."""
    return residual_stream.rotations(stream).as_printed


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
    "residual_stream.unit_means": lambda: residual_stream.unit_means(WALK),
    "residual_stream.path_measures": lambda: residual_stream.path_measures(WALK, texts=[0, 0, 1, 2, 3, 4], seed=1),
    "residual_stream.writes": lambda: residual_stream.writes(WALK),
    "residual_stream.unit_correlations": lambda: residual_stream.unit_correlations(WALK),
    "residual_stream.mutual_information": lambda: residual_stream.mutual_information(LONG_WALK, units=[0, 3]),
    "residual_stream.participation_ratios": lambda: residual_stream.participation_ratios(WALK, normalize=True),
    "residual_stream.explained_variance": lambda: residual_stream.explained_variance(
        WALK, components=[1, 3], held_out=True
    ),
    "residual_stream.pooled_axes": lambda: residual_stream.pooled_axes(WALK, components=3),
    "residual_stream.paths": lambda: residual_stream.paths(WALK),
    "residual_stream.portraits": lambda: residual_stream.portraits(WALK),
    "residual_stream.rotations": lambda: residual_stream.rotations(WALK),
    "residual_stream.dynamic_modes": lambda: residual_stream.dynamic_modes(WALK, components=3),
    "residual_stream.fit_rotation": lambda: residual_stream.fit_rotation(WALK, components=4, folds=2),
    "residual_stream.against_surrogates": lambda: residual_stream.against_surrogates(
        WALK, total_rotations, surrogates=["random walk", "layer shuffle"], draws=5, seed=2
    ),
}
