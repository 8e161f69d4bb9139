"""When do the representations of one class merge? One representation, seen as a particle, is a *repon*.

This module gathers the answers; each is computed in a module of its own:

- ``repon_pair``: two repons on a line, exactly, at any time.
- ``repon_matrix``: any dimension: the conserved matrix, the exact motion, where it ends.
- ``repon_probability``: how likely random starts merge: gradient flow, sign updates.
- ``repon_class``: when a whole class collapses, and how likely.
- ``repon_flow``: two repons with a bias that learns.
- ``repon_ensemble``: simulation of many repons of several classes.
"""

from __future__ import annotations

from genlaws.relations.repon_class import class_collision_probability, class_invariant, class_limit
from genlaws.relations.repon_ensemble import ReponRun, evolve_repons, simulate_repons
from genlaws.relations.repon_flow import TwoReponPath, simulate_two_repons, two_repon_path
from genlaws.relations.repon_forces import ReponSystem
from genlaws.relations.repon_matrix import (
    SeparationPath,
    matrix_invariant,
    separation_limit,
    separation_merges,
    separation_path,
)
from genlaws.relations.repon_pair import (
    PairState,
    decoder_pull,
    gain_shrink_time,
    pair_invariant,
    pair_limit,
    pair_path,
    separation_shrink_time,
)
from genlaws.relations.repon_probability import (
    collision_probability,
    collision_rate_ratio,
    sign_collision_probability,
)

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
