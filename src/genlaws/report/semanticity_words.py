"""What the report says about resolution whatever the runs find: the law, and what it means for the reader."""

from __future__ import annotations

from genlaws.report.mathml import brackets, formula, inline, number, over, side_by_side, sign, symbol

_P_S, _P_I, _B = symbol("p", "S"), symbol("p", "I"), symbol("b")
LAW = (
    "<p>Two items and a probe are shown; an item is chosen in proportion to its similarity with the probe (Luce's "
    f"rule). Generalisation {inline(_P_S)} is the probability of the item nearest to a new probe, identification "
    f"{inline(_P_I)} that of the item the probe is a copy of. If everything within the resolution looks alike, and the "
    f"ball around a probe holds the share {inline(_B)} of the space,</p>"
    + side_by_side(
        formula(
            _P_S,
            sign("="),
            over(number("1"), number("2")),
            sign("+"),
            _B,
            brackets(number("1"), sign("−"), _B),
        ),
        formula(_P_I, sign("="), number("1"), sign("−"), over(_B, number("2"))),
    )
    + "<p>A coarser resolution always costs identification; generalisation is best in the middle. Of many items n, "
    "identification falls as 1/(nb). The curve belongs to one shape of similarity and to Luce's rule; it is no bound "
    "on every system.</p>"
)
YOURS = (
    "Embeddings that generalise best do not identify best. Measure both on stimuli whose true distances you know "
    "before you sharpen or smooth a representation.",
    "If your model must pick one of n things, its hits fall as c/n once n exceeds the number of things it sees as "
    "alike; a finer resolution, not a larger model, moves that point.",
    "A representation above the front of its fitted shape has another shape of similarity, not a broken law.",
)
PYTHON = """import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits

from genlaws import semanticity

pixels = load_digits().data  # or embeddings of your own, with their true places as positions
pixels = pixels[np.random.default_rng({seed}).permutation(len(pixels))[:{count}]]
seen = {{"similarity": "gaussian", "bandwidth": {share:g} * np.median(pdist(pixels)), "items": (2,), "seed": {seed}}}
measured = semanticity.measure(pixels, positions=pixels, metric="euclidean", **seen)
print(measured)  # generalisation, identification, resolution, each with its interval"""
COMMAND = """genlaws semanticity front --space circle --similarity linear --ball-mass 0.5
# for embeddings of your own: genlaws semanticity measure embeddings.npy --positions places.npy --metric euclidean"""
