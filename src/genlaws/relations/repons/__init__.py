"""When do the representations of one class merge? One representation, seen as a particle, is a *repon*.

The modules:

- ``pair``: two repons on a line, exactly, at any time.
- ``matrix``: any dimension: the conserved matrix, the exact motion, where it ends.
- ``probability``: how likely random starts merge: gradient flow, sign updates.
- ``whole_class``: when a whole class collapses, and how likely.
- ``flow``: two repons with a bias that learns.
- ``ensemble``: simulation of many repons of several classes.
"""

from __future__ import annotations

from genlaws.relations.repons.ensemble import ReponRun, evolve_repons, simulate_repons
from genlaws.relations.repons.flow import TwoReponPath, simulate_two_repons, two_repon_path
from genlaws.relations.repons.forces import ReponSystem
from genlaws.relations.repons.matrix import (
    SeparationPath,
    matrix_invariant,
    separation_limit,
    separation_merges,
    separation_path,
)
from genlaws.relations.repons.pair import (
    PairState,
    decoder_pull,
    gain_shrink_time,
    pair_invariant,
    pair_limit,
    pair_path,
    separation_shrink_time,
)
from genlaws.relations.repons.probability import collision_probability, collision_rate_ratio, sign_collision_probability
from genlaws.relations.repons.whole_class import class_collision_probability, class_invariant, class_limit

__all__ = [
    "PairState",
    "ReponRun",
    "ReponSystem",
    "SeparationPath",
    "TwoReponPath",
    "class_collision_probability",
    "class_invariant",
    "class_limit",
    "collision_probability",
    "collision_rate_ratio",
    "decoder_pull",
    "evolve_repons",
    "gain_shrink_time",
    "matrix_invariant",
    "pair_invariant",
    "pair_limit",
    "pair_path",
    "separation_limit",
    "separation_merges",
    "separation_path",
    "separation_shrink_time",
    "sign_collision_probability",
    "simulate_repons",
    "simulate_two_repons",
    "two_repon_path",
]
