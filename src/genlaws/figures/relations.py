"""The figures of the theory of relations.

Only names and sentences are here; the tables and pictures are in the modules ``relations_*`` beside this one.
"""

from __future__ import annotations

from genlaws.figures.record import Figure

PAPER = "Baek, Liu and Tegmark (2024), arXiv:2402.05916"

FIGURES = (
    Figure(
        id="relations.2",
        title="The best accuracy on a relation",
        citation=f"{PAPER}, Figure 2",
        caption="Accuracy over all pairs of the best learner who knows the class of the relation, against the share of "
        "pairs it has seen: exact (blue, mean over random training sets with its interval), by the paper's procedure "
        "(orange, which uses class labels the learner cannot know), by Eq. 5 with the paper's description length "
        "(dotted, no bound: it crosses the exact curve), and of always giving the commoner answer (grey).",
        recipe="genlaws.figures.relations_bound:BOUND",
    ),
    Figure(
        id="relations.table2",
        title="Bits that describe a relation",
        citation=f"{PAPER}, Table II",
        caption="Description length of relations of n elements by the paper's formulas (open circles), by the exact "
        "number of relations in the class (dots) and of one example by log2(n!/|Aut|) (diamonds); the difference is "
        "the formula minus the number in the class, and the number of transitive relations is not known beyond n = 18.",
        recipe="genlaws.figures.relations_table:TABLE",
    ),
    Figure(
        id="relations.4",
        title="Which pairs of representations merge",
        citation=f"{PAPER}, Figure 4",
        caption="Decoder gain against half the separation of two representations of one class under gradient flow: "
        "starts in the green sector merge (generalisation), the others stay apart (memorisation); lines are the exact "
        "hyperbolae with their direction, thick lines are at rest, and the dashed boundary is where the conserved "
        "number is zero.",
        recipe="genlaws.figures.relations_repons:PLANE",
    ),
    Figure(
        id="relations.collisions",
        title="How likely representations merge",
        citation=f"{PAPER}, Theorem 3, in any dimension, for whole classes and for sign updates",
        caption="Probability that two representations (left) or all m of a class (right) merge against the ratio of "
        "the rates, by the exact laws (lines) and simulated (points with 95 % intervals), for dimension d, outputs k, "
        "gradient flow unless said; each representation and each decoder entry starts with width 1.",
        recipe="genlaws.figures.relations_collisions:COLLISIONS",
    ),
    Figure(
        id="relations.asking",
        title="What asking well is worth",
        citation=f"{PAPER}, Section II, with pairs chosen by what their answers are worth",
        caption="Best accuracy (top) and bits left (bottom) against the number of pairs asked for, when each question "
        "is the pair worth most bits and when it is a pair at random; the grey line loses one bit with each answer, "
        "which no way of asking can beat on average.",
        recipe="genlaws.figures.relations_bound:ASKING",
    ),
)
