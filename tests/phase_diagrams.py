"""Phase diagrams made from counts, without training."""

from dataclasses import replace

from genlaws.relations import PhaseDiagram, PhasePoint, named_relation, phase_diagram
from genlaws.relations.networks.diagram import PhasePlan, diagram_of
from genlaws.relations.networks.phases import PHASES

RATES = (1e-4, 1e-3, 1e-2, 1e-1)
# How many of two networks memorize at a decoder and an encoder rate of 1e-3, 1e-2 or 1e-1.
AT_THE_EDGE = {
    "below": lambda decoder, encoder: 1 + (decoder > 0.09 * encoder),
    "vertical": lambda decoder, encoder: 2 * (decoder > 5e-3),
    "above": lambda decoder, encoder: int(decoder > 50 * encoder),
    "everywhere alike": lambda decoder, encoder: 1,
}


def untrained_plan() -> PhasePlan:
    """Return the plan of a diagram whose networks are all confused."""
    confused = {"train_step": -1, "test_step": -1, "phase": "confusion", "final_test_accuracy": 0.5}
    relation = named_relation("mod3", 9)
    return phase_diagram(relation, grid=2, seeds=2, train=lambda plan, running: [confused] * 8).plan


def diagram_of_counts(counts, rates=RATES, networks=2) -> PhaseDiagram:
    """Return the diagram of networks of which so many are in each phase at a decoder and an encoder rate."""
    plan = replace(untrained_plan(), grid=len(rates), seeds=networks)
    points = []
    for decoder in rates:
        for encoder in rates:
            found = dict.fromkeys(PHASES, 0) | counts(decoder, encoder)
            found["generalization"] += networks - sum(found.values())
            points.append(PhasePoint(decoder, encoder, **found, late=found["memorization"], count=networks))
    return diagram_of(plan, points)
