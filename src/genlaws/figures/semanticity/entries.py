"""The figures of the semanticity theory.

This module holds titles and captions; the other modules of this folder compute the tables and draw the pictures.
"""

from __future__ import annotations

from genlaws.core.papers import SEMANTICITY_PAPER
from genlaws.figures.figure import Figure

FIGURES = (
    Figure(
        id="semanticity.front",
        title="Generalization against identification",
        citation=f"{SEMANTICITY_PAPER}, Theorems 1 and 2 and Proposition 1",
        caption="Probability of choosing the item nearest to a new probe against that of naming the original of a "
        "copied one, as the resolution runs from fine (right) to coarse (lower left), for several similarities on the "
        "circle and for the segment, with the peak of each front as a dot and a gray line where both are equal; a "
        "front belongs to its similarity and to Luce's choice rule and is no bound on every system, as the linear "
        "similarity above the constant one shows.",
        recipe="genlaws.figures.semanticity.front:FRONT",
    ),
    Figure(
        id="semanticity.items",
        title="The two tests with many items",
        citation=f"{SEMANTICITY_PAPER}, Theorem 3",
        caption="Generalization (left) and identification (right) against the number of items to choose from, with "
        "the constant similarity in a homogeneous space, for several ball masses; thin gray lines are the law 1/(nb) "
        "to which both collapse.",
        recipe="genlaws.figures.semanticity.front:ITEMS",
    ),
    Figure(
        id="semanticity.resolution",
        title="The best resolution for many items",
        citation=f"{SEMANTICITY_PAPER}, Theorem 3",
        caption="Ball mass that generalizes best times the number of items (left) and the generalization it gives "
        "(right) against the number of items, with the constant similarity in a homogeneous space, for several "
        "backgrounds; thin gray lines are the limits of many items without background.",
        recipe="genlaws.figures.semanticity.front:RESOLUTION_FIGURE",
    ),
    Figure(
        id="semanticity.relu-network",
        title="ReLU networks over the front",
        citation=f"{SEMANTICITY_PAPER}, experiments with ReLU networks",
        caption="Networks that learn to say which of two items is nearer, to reconstruct stimuli, or both: "
        "means of both tests along training with dots at some steps (left), the same where the fronts peak with single "
        "networks as thin lines (middle), and the distance from the front of linear decay against the step (right, "
        "means with 95 % bands over networks), where solid lines are distances from the front of the circle or segment "
        "and dashed ones from that of its equally spaced stimuli, of which probe and items are different and triples "
        "with a tie are left out, as in the tests of the networks.",
        recipe="genlaws.figures.semanticity.relu:RELU_TRAINING",
    ),
    Figure(
        id="semanticity.relu-profile",
        title="The resolution that ReLU networks learn",
        citation=f"{SEMANTICITY_PAPER}, experiments with ReLU networks",
        caption="Similarity of two stimuli against their distance, relative to that of equal stimuli, at several steps "
        "of training on a circle (left) and a segment (right), and below it the resolution of the linear decay that "
        "fits it best and the first distance at which it is below 1 %, once every network has one, against "
        "the step (means with 95 % bands over networks), with the resolution at which linear decay generalizes "
        "best in the space (gray).",
        recipe="genlaws.figures.semanticity.relu_profiles:PROFILE",
    ),
    Figure(
        id="semanticity.relu-sizes",
        title="ReLU networks of several widths, trained with several items",
        citation=f"{SEMANTICITY_PAPER}, experiments with ReLU networks and Theorem 3",
        caption="Networks on a circle of several hidden widths (top) and trained with several items (bottom): largest "
        "generalization and final identification with two items, mean distance from the fronts of linear decay after "
        "the peak (means with 95 % intervals over networks), and identification with many items after training, which "
        "falls as the inverse of their number times the mean similarity of two stimuli relative to a copy (gray).",
        recipe="genlaws.figures.semanticity.relu_profiles:NETWORK_SIZES",
    ),
    Figure(
        id="semanticity.slots",
        title="Slots against one shared map",
        citation=f"{SEMANTICITY_PAPER}, experiments with compositional stimuli",
        caption="Networks that learn from triples which of two items is nearer, with a map for each feature, whose "
        "similarities are combined by their maximum or product, or with one map of as many hidden units for all "
        "features, and with the mean or the smallest of the features' distances as truth: course of training over the "
        "front of the linear similarity on the circle (top, means over networks, the dot is the end) and, where "
        "generalization is largest, its excess over what the constant or linear similarity of the true distance "
        "reaches at any resolution on the same stimuli at the same identification (bottom, means with 95 % intervals "
        "over networks), ties left out.",
        recipe="genlaws.figures.semanticity.slots:SLOTS",
    ),
    Figure(
        id="semanticity.convolutional",
        title="Images fine-tuned on the distances of their classes",
        citation=f"{SEMANTICITY_PAPER}, experiments with a convolutional network",
        caption="Generalization against identification of held-out images as the threshold between features runs from "
        "fine (right) to coarse (left), for networks trained with several weights of the distances between classes, "
        "with 95 % bands over networks, and for features that match the tree of the classes exactly (dotted) and a "
        "gray line where both are equal; and against the weight the peak of generalization with the identification "
        "there, both tests averaged over thresholds from zero to the largest distance, and the share of images nearest "
        "to the mean of their class.",
        recipe="genlaws.figures.semanticity.convolutional:CONVOLUTIONAL_FIGURE",
    ),
    Figure(
        id="semanticity.years",
        title="A language model probed about years",
        citation=f"{SEMANTICITY_PAPER}, experiments with language models",
        caption="Probability that a language model gives to the person born closest to a year (left) and to the one "
        "born in it (right) against the number of people in the prompt, for several templates, with "
        "95 % intervals over trials; gray is guessing, and the dashed curve is the law of n items with the ball mass "
        "that fits the identification of the best template.",
        recipe="genlaws.figures.semanticity.years:YEARS",
    ),
    Figure(
        id="semanticity.anchors",
        title="How a language model answers between two years",
        citation=f"{SEMANTICITY_PAPER}, experiments with language models",
        caption="Probability that a language model gives to the later of two people born at the middle ± D when the "
        "prompt requests the one born closest to the middle + δ, for several half separations D (columns) and "
        "templates (rows), with 95 % intervals over trials; a line is the fitted similarity, drawn where the answers "
        "determine one.",
        recipe="genlaws.figures.semanticity.years:ANCHORS",
    ),
    Figure(
        id="semanticity.layers",
        title="Generalization against identification in the layers of a language model",
        citation=f"{SEMANTICITY_PAPER}, an open question of its experiments with language models",
        caption="Both tests in every layer of a language model, from its residual stream at the items and at the "
        "question of the prompt: generalization against identification as the threshold between states runs from fine "
        "to coarse, one curve for each layer (left, with Theorem 1); how often the nearest state is that of the right "
        "item (middle); and the probability of the right answer when the last state of a layer is read out (right), "
        "with 95 % bands over trials and the same network with random weights in gray.",
        recipe="genlaws.figures.semanticity.layers:LAYERS",
    ),
)
