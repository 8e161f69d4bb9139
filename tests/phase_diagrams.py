"""Phase diagrams made from counts, without training."""

import numpy as np

from genlaws.relations import PhaseDiagram
from genlaws.relations.networks.diagram import COLUMNS, diagram_of
from genlaws.relations.networks.phases import PHASES

RATES = (1e-4, 1e-3, 1e-2, 1e-1)
# How many of two networks memorize at a decoder and an encoder rate of 1e-3, 1e-2 or 1e-1.
AT_THE_EDGE = {
    "below": lambda decoder, encoder: 1 + (decoder > 0.09 * encoder),
    "vertical": lambda decoder, encoder: 2 * (decoder > 5e-3),
    "above": lambda decoder, encoder: int(decoder > 50 * encoder),
    "everywhere alike": lambda decoder, encoder: 1,
}
ABOUT = {
    "relation": "modulo 3",
    "element_count": 9,
    "majority_accuracy": 2 / 3,
    "target_accuracy": 0.9,
    "optimizer": "adam",
    "steps": 10_000,
    "patience": 4.0,
}


def diagram_of_counts(counts, rates=RATES, networks=2) -> PhaseDiagram:
    """Return the diagram of networks of which so many are in each phase at a decoder and an encoder rate."""
    rows = []
    for decoder in rates:
        for encoder in rates:
            found = dict.fromkeys(PHASES, 0) | counts(decoder, encoder)
            found["generalization"] += networks - sum(found.values())
            found |= {"decoder_rate": decoder, "encoder_rate": encoder}
            rows.append(found | {"late": found["memorization"], "count": networks})
    return diagram_of({name: np.array([row.get(name, np.nan) for row in rows]) for name in COLUMNS}, **ABOUT)
