"""Relations: how much data a structure needs, and when representations merge.

Theory of :cite:p:`baek2024`, exact where the paper samples: description lengths, the Bayes bound for any training set,
the data an accuracy needs, the next pair to query, and the dynamics of representations that attract each other.
"""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.bound_curve import (
    BoundCurve,
    BoundPoint,
    InductionGap,
    TrainingSetBound,
    bound_curve,
    induction_gap,
    training_set_bound,
)
from genlaws.relations.inference.data_needed import DataNeeded, data_needed
from genlaws.relations.inference.hypotheses import (
    CompleteBipartite,
    Entrywise,
    Equivalence,
    Hypotheses,
    TotalOrder,
    hypotheses_of,
    named_hypotheses,
)
from genlaws.relations.inference.next_pair import NextPair, QueryCurve, StrategyCurve, next_pair, query_curve
from genlaws.relations.inference.paper import accuracy_formula, critical_fraction, inferable_fraction, paper_bound
from genlaws.relations.inference.posterior import Posterior
from genlaws.relations.networks.advice import LearningAdvice, advise_relation
from genlaws.relations.networks.diagram import PhaseDiagram, phase_diagram
from genlaws.relations.networks.learned import LearnedRelation, learn_relation
from genlaws.relations.networks.pilot import Pilot, PilotPoint
from genlaws.relations.repons.ensemble import ReponRun, evolve_repons, simulate_repons
from genlaws.relations.repons.flow import TwoReponPath, two_repon_path
from genlaws.relations.repons.forces import ReponSystem
from genlaws.relations.repons.matrix import (
    SeparationPath,
    matrix_invariant,
    separation_limit,
    separation_merges,
    separation_path,
)
from genlaws.relations.repons.merging import MergingCase, MergingProbability, merging_probability
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
from genlaws.relations.structure.automorphisms import AutomorphismCount, count_automorphisms
from genlaws.relations.structure.classes import RelationClass, classify_relation
from genlaws.relations.structure.description import (
    GraphDescription,
    RelationDescription,
    describe_graph,
    describe_relation,
)
from genlaws.relations.structure.description_length import (
    description_length_count,
    description_length_exact,
    description_length_table,
)
from genlaws.relations.structure.families import (
    binary_tree,
    complete_bipartite,
    divisibility,
    equivalence,
    incomplete_bipartite,
    less_than,
    modulo,
    named_relation,
    partial_order,
    tree,
)
from genlaws.relations.structure.knowledge_graph import KnowledgeGraph, read_knowledge_graph
from genlaws.relations.structure.properties import RelationProperties, properties
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import TrainingSet, draw_training_set, read_training_set

if TYPE_CHECKING:
    from genlaws.relations import networks as networks

__all__ = [
    "AutomorphismCount",
    "BoundCurve",
    "BoundPoint",
    "CompleteBipartite",
    "DataNeeded",
    "Entrywise",
    "Equivalence",
    "GraphDescription",
    "Hypotheses",
    "InductionGap",
    "KnowledgeGraph",
    "LearnedRelation",
    "LearningAdvice",
    "MergingCase",
    "MergingProbability",
    "NextPair",
    "PairState",
    "PhaseDiagram",
    "Pilot",
    "PilotPoint",
    "Posterior",
    "QueryCurve",
    "Relation",
    "RelationClass",
    "RelationDescription",
    "RelationProperties",
    "ReponRun",
    "ReponSystem",
    "SeparationPath",
    "StrategyCurve",
    "TotalOrder",
    "TrainingSet",
    "TrainingSetBound",
    "TwoReponPath",
    "accuracy_formula",
    "advise_relation",
    "binary_tree",
    "bound_curve",
    "class_collision_probability",
    "class_invariant",
    "class_limit",
    "classify_relation",
    "collision_probability",
    "collision_rate_ratio",
    "complete_bipartite",
    "count_automorphisms",
    "critical_fraction",
    "data_needed",
    "decoder_pull",
    "describe_graph",
    "describe_relation",
    "description_length_count",
    "description_length_exact",
    "description_length_table",
    "divisibility",
    "draw_training_set",
    "equivalence",
    "evolve_repons",
    "gain_shrink_time",
    "hypotheses_of",
    "incomplete_bipartite",
    "induction_gap",
    "inferable_fraction",
    "learn_relation",
    "less_than",
    "matrix_invariant",
    "merging_probability",
    "modulo",
    "named_hypotheses",
    "named_relation",
    "next_pair",
    "pair_invariant",
    "pair_limit",
    "pair_path",
    "paper_bound",
    "partial_order",
    "phase_diagram",
    "posterior",
    "properties",
    "query_curve",
    "read_knowledge_graph",
    "read_training_set",
    "separation_limit",
    "separation_merges",
    "separation_path",
    "separation_shrink_time",
    "sign_collision_probability",
    "simulate_repons",
    "training_set_bound",
    "tree",
    "two_repon_path",
]

__getattr__, __dir__ = loaded_on_access(__name__)
