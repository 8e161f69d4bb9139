"""The figures of the semanticity theory.

Only names and sentences are here; the tables and pictures are in the modules ``semanticity_*`` beside this one.
"""

from __future__ import annotations

from genlaws.figures.record import Figure

PAPER = "Nurisso et al. (2026), arXiv:2506.14797"

FIGURES = (
    Figure(
        id="semanticity.front",
        title="Generalisation against identification",
        citation=f"{PAPER}, Theorems 1 and 2 and Proposition 1",
        caption="Probability of choosing the item nearest to a new probe against that of naming the original of a "
        "copied one, as the resolution runs from fine (right) to coarse (lower left), for several similarities on the "
        "circle and for the segment, with the peak of each front as a dot and a grey line where both are equal; a "
        "front belongs to its similarity and to Luce's choice rule and is no bound on every system, as the linear "
        "similarity above the constant one shows.",
        recipe="genlaws.figures.semanticity_front:FRONT",
    ),
    Figure(
        id="semanticity.items",
        title="The two tests with many items",
        citation=f"{PAPER}, Theorem 3",
        caption="Generalisation (left) and identification (right) against the number of items to choose from, with "
        "the constant similarity in a homogeneous space, for several ball masses; thin grey lines are the law 1/(nb) "
        "to which both collapse.",
        recipe="genlaws.figures.semanticity_items:ITEMS",
    ),
    Figure(
        id="semanticity.resolution",
        title="The best resolution for many items",
        citation=f"{PAPER}, Theorem 3",
        caption="Ball mass that generalises best times the number of items (left) and the generalisation it gives "
        "(right) against the number of items, with the constant similarity in a homogeneous space, for several "
        "backgrounds; thin grey lines are the limits of many items without background.",
        recipe="genlaws.figures.semanticity_items:RESOLUTION",
    ),
)
