"""Random numbers from a seed a person gave."""

from __future__ import annotations

import numpy as np

from genlaws.numerics.arguments import whole_number


def generator_of(seed: int | np.random.Generator) -> np.random.Generator:
    """Return a generator: the one given, or a new one from a whole number that is not negative."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(whole_number("seed", seed))
