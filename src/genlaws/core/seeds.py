"""Random numbers from a seed a person gave, and the names that enter seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from genlaws.core.arguments import whole_number

# Some seeds are hashes of names. These names were spelled otherwise in version 0.1, and the hash keeps that spelling,
# so that the same call gives the same random numbers as before.
NAMES_IN_SEEDS = {
    "largest_regularization": "largest_regularisation",
    "normalize": "normalise",
    "optimizer": "optimiser",
    "phase-randomized": "phase-randomised",
    "phase-randomized steps": "phase-randomised steps",
    "regularization": "regularisation",
    "regularization_count": "regularisation_count",
    "regularizations": "regularisations",
    "rules-facts.labeled-runs": "rules-facts.labelled-runs",
    "smallest_regularization": "smallest_regularisation",
}


def generator_of(seed: int | np.random.Generator) -> np.random.Generator:
    """Return a generator: the one given, or a new one from a whole number that is not negative."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(whole_number("seed", seed))


def name_in_seed(name: str) -> str:
    """Return how a name is spelled where a seed is made from it."""
    return NAMES_IN_SEEDS.get(name, name)


def names_in_seed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with their names as they enter a seed."""
    return {name_in_seed(name): value for name, value in settings.items()}


def canonical(value: object) -> str:
    """Return canonical JSON: names sorted, no spaces, numbers in full."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def run_key(experiment: str, schema: int, settings: Mapping[str, Any], repeat: int) -> str:
    """Return the hash that names one run of an experiment: the name, the schema, all settings and the repeat."""
    identity = [name_in_seed(experiment), schema, names_in_seed(settings), repeat]
    return hashlib.sha256(canonical(identity).encode()).hexdigest()[:32]


def run_seed(key: str, seed: int) -> int:
    """Return the seed of the run with a key; it does not depend on other runs."""
    return int.from_bytes(hashlib.sha256(f"{key}:{seed}".encode()).digest()[:8], "big") >> 1
