"""The figures of the theory of relations.

This module holds titles and captions; the other modules of this folder compute the tables and draw the pictures.
"""

from __future__ import annotations

from genlaws.core.papers import RELATIONS_PAPER
from genlaws.figures.figure import Figure

FIGURES = (
    Figure(
        id="relations.2",
        title="The best accuracy on a relation",
        citation=f"{RELATIONS_PAPER}, Figure 2",
        caption="Best accuracy over all pairs, averaged over the relations of a class, against the training "
        "fraction: exact (blue, mean over random training sets with its interval), by the paper's procedure "
        "(orange, which uses class labels the learner cannot know), by Eq. 5 with the paper's description length "
        "(dotted, no bound: it crosses the exact curve), and of always giving the majority answer (gray).",
        recipe="genlaws.figures.relations.bound:BOUND",
    ),
    Figure(
        id="relations.table2",
        title="Bits that describe a relation",
        citation=f"{RELATIONS_PAPER}, Table II",
        caption="Description length of relations of n elements by the paper's formulas (open circles), by the exact "
        "number of relations in the class (dots) and of one example by log2(n!/|Aut|) (diamonds); the difference is "
        "the formula minus the number in the class, and the number of transitive relations is not known beyond n = 18.",
        recipe="genlaws.figures.relations.table:TABLE",
    ),
    Figure(
        id="relations.4",
        title="Which pairs of representations merge",
        citation=f"{RELATIONS_PAPER}, Figure 4",
        caption="Decoder gain against half the separation of two representations of one class under gradient flow: "
        "starts in the green sector merge (generalization), the others stay apart (memorization); lines are the exact "
        "hyperbolae with their direction, thick lines are at rest, and the dashed boundary is where the conserved "
        "number is zero.",
        recipe="genlaws.figures.relations.repons:PLANE",
    ),
    Figure(
        id="relations.collisions",
        title="How likely representations merge",
        citation=f"{RELATIONS_PAPER}, Theorem 3, in any dimension, for whole classes and for sign updates",
        caption="Probability that two representations (left) or all m of a class (right) merge against the ratio of "
        "the rates, by the exact laws (lines) and simulated (points with 95 % intervals), for dimension d, outputs k, "
        "gradient flow unless stated; each representation and each decoder entry starts with width 1.",
        recipe="genlaws.figures.relations.repons:COLLISION_FIGURE",
    ),
    Figure(
        id="relations.queries",
        title="How much well-chosen queries gain",
        citation=f"{RELATIONS_PAPER}, Section II, with pairs chosen by the information of their answers",
        caption="Best accuracy (top) and bits left (bottom) against the number of queried pairs, when each query is "
        "the pair worth most bits and when it is a pair at random; the gray line loses one bit with each answer, which "
        "no strategy can beat on average.",
        recipe="genlaws.figures.relations.bound:QUERIES",
    ),
    Figure(
        id="relations.3",
        title="Networks behind the best learner",
        citation=f"{RELATIONS_PAPER}, Figure 3",
        caption="Accuracy on the whole table against the training fraction, of networks that answer from both "
        "embeddings, their difference or its square with a given number of hidden layers (means with 95 % intervals), "
        "below the exact bound (black), with the description length over the number of entries (dotted); below, the "
        "induction gap: how much more of the table each needs for an accuracy than the best learner does.",
        recipe="genlaws.figures.relations.learning:LEARNING_CURVES",
    ),
    Figure(
        id="relations.5",
        title="Phases of networks at each pair of learning rates",
        citation=f"{RELATIONS_PAPER}, Table IV and Figure 5",
        caption="Shares of networks that generalize, grok, memorize or stay confused, by decoder and encoder learning "
        "rate; the fitted boundaries of memorizing and of being late, with the slope and its 95 % interval, and a "
        "line of slope 1.",
        recipe="genlaws.figures.relations.phases:PHASE_DIAGRAM",
    ),
    Figure(
        id="relations.delays",
        title="Grokking delay at each pair of learning rates",
        citation=f"{RELATIONS_PAPER}, Section III, of the networks of Figure 5",
        caption="Median number of steps from fitting the training entries to generalizing, over the networks that do "
        "both, by decoder and encoder learning rate; hatched where none does, with the fitted boundary of memorizing.",
        recipe="genlaws.figures.relations.phases:DELAYS",
    ),
    Figure(
        id="relations.6",
        title="How often networks generalize against the ratio of their rates",
        citation=f"{RELATIONS_PAPER}, Eq. 12 and Figure 6",
        caption="Share of networks that generalize against the encoder rate in units of the decoder rate (along the "
        "top the paper's x), for factors s on standard normal embeddings (dots with 95 % intervals), with Eq. 12 as "
        "the paper draws it, (2/π) arctan(x/s), where s is the width of half the separation and the decoder's entries "
        "have width 1 (solid; with s as the width of each embedding it would lie at half the ratio), the same law for "
        "sign updates (dashed), and the exact law in two dimensions for embeddings of width s and the first layer the "
        "networks start with (dotted); diamonds are read from the paper's Figure 6, whose optimizer is not stated.",
        recipe="genlaws.figures.relations.success:SUCCESS",
    ),
    Figure(
        id="relations.7",
        title="Between too shallow and too deep",
        citation=f"{RELATIONS_PAPER}, Figure 7",
        caption="Accuracy on training and test entries (means with 95 % intervals, thin lines from "
        "the worst to the best network), and the share of networks that generalize (Wilson's 95 % intervals), against "
        "the number of hidden layers, with the single networks of the paper's Figure 7 (crosses) and the band it "
        "shades (gray); green bars span the depths at which the whole interval of the share lies above one half.",
        recipe="genlaws.figures.relations.depth:DEPTH",
    ),
    Figure(
        id="relations.8",
        title="Weight decay and memorizing",
        citation=f"{RELATIONS_PAPER}, Figure 8",
        caption="Shares of networks in each phase by decoder rate and decoder weight decay at one encoder rate, with "
        "the decoder rate beyond which half of the networks memorize (dots) or are late (diamonds) and its 95 % "
        "interval.",
        recipe="genlaws.figures.relations.phases:WEIGHT_DECAY",
    ),
    Figure(
        id="relations.controls",
        title="Other optimizers and batches",
        citation=f"{RELATIONS_PAPER}, Section III, with optimizers and batches the paper does not vary",
        caption="Share of networks that generalize against the encoder rate in units of the decoder rate for several "
        "optimizers, batch sizes and weight decays (95 % intervals), and the ratio at which half of the networks do, "
        "by a logistic fit with its 95 % interval (arrows: it is beyond the axis).",
        recipe="genlaws.figures.relations.success:SUCCESS_CONTROLS",
    ),
    Figure(
        id="relations.sizes",
        title="The critical share of entries at several sizes",
        citation=f"{RELATIONS_PAPER}, Section II, at sizes the paper does not vary",
        caption="Share of networks that generalize against the training entries per element, for relations of "
        "several sizes (95 % intervals); right, the share at which half of the networks do against the "
        "size, with a line of slope -1 and the description length over the number of entries.",
        recipe="genlaws.figures.relations.learning:RELATION_SIZES",
    ),
    Figure(
        id="relations.noise",
        title="Learning a relation from labels that are partly wrong",
        citation=f"{RELATIONS_PAPER}, Section II, with noise the paper does not consider",
        caption="Accuracy on test entries (left) and on training entries, counted against the relation (right), by the "
        "training fraction and the share of flipped labels (95 % intervals); a network that fits every wrong label is "
        "right on the dashed lines.",
        recipe="genlaws.figures.relations.learning:NOISE",
    ),
    Figure(
        id="relations.graph",
        title="Relations of a knowledge graph and the bits that describe them",
        citation=f"{RELATIONS_PAPER}, Section II.B, on a knowledge graph of your own",
        caption="Share of entries a network must see to reach a balanced accuracy on the others, against the exact "
        "description length of the relation (colors: pairs in the relation; bars: where the interval of the accuracy "
        "crosses; arrows: not reached), with rank correlations and their 95 % intervals.",
        recipe="genlaws.figures.relations.graph:GRAPH",
    ),
    Figure(
        id="relations.embeddings",
        title="Representations that merge and representations that do not",
        citation=f"{RELATIONS_PAPER}, Section III",
        caption="Embeddings of the elements along the training at two ratios of the learning rates, colored by class: "
        "from small initial embeddings, classes merge where the network generalizes and stay scattered where it "
        "memorizes.",
        recipe="genlaws.figures.relations.embeddings:EMBEDDINGS",
    ),
)
