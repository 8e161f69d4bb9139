"""Experiments on relations: the best accuracy on random training sets, and the merging of simulated repons."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from genlaws import relations
from genlaws.relations.structure.training_set import draw_order, training_set_of
from genlaws.sweeps.experiment import Positive, Procedure, Settings, Share


class BoundSettings(Settings):
    """A relation by name, its size, and the training fraction."""

    relation: str = "mod3"
    elements: Annotated[int, Field(ge=1, le=1000)] | None = None
    train_fraction: Share = 0.1
    prior: Literal["elements", "relations"] = "elements"
    with_paper_procedure: bool = False


def best_accuracy(settings: BoundSettings, seed: int) -> dict[str, Any]:
    """Return the Bayes bound of one random training set."""
    relation = relations.named_relation(settings.relation, settings.elements)
    generator = np.random.default_rng(seed)
    training_set = relations.draw_training_set(relation, settings.train_fraction, generator)
    law = relations.posterior(
        training_set, relations.hypotheses_of(relation, settings.prior), truth=relation, seed=generator
    )
    names = ("accuracy", "accuracy_error", "unseen_accuracy", "bits_left", "determined")
    result = {name: getattr(law, name) for name in names}
    result |= {"exact": law.method == "exact", "converged": law.converged}
    if settings.with_paper_procedure:
        result["paper_procedure"] = relations.paper_bound(relation, training_set, seed=generator)
    return result


class CurveSettings(Settings):
    """A relation by name, and the training fractions of one growing training set."""

    relation: str = "mod3"
    elements: Annotated[int, Field(ge=1, le=1000)] | None = None
    largest_fraction: Annotated[float, Field(gt=0, le=1)] = 0.3
    points: Annotated[int, Field(ge=2, le=2000)] = 31

    def fractions(self) -> NDArray[np.float64]:
        """Return training fractions, denser at small values where the bound rises."""
        return np.asarray(self.largest_fraction * np.linspace(0.0, 1.0, self.points) ** 1.5)


def along_fractions(settings: CurveSettings, seed: int) -> dict[str, Any]:
    """Return the Bayes bound and the paper's estimate along one random order of all entries."""
    relation = relations.named_relation(settings.relation, settings.elements)
    generator = np.random.default_rng(seed)
    order = draw_order(relation.element_count, generator)
    rows = []
    for share in settings.fractions():
        training_set = training_set_of(relation, order[: round(share * relation.pair_count)])
        law = relations.posterior(training_set, relations.hypotheses_of(relation), truth=relation, seed=generator)
        estimate = relations.paper_bound(relation, training_set, seed=generator)
        rows.append((law.accuracy, law.unseen_accuracy, law.bits_left, law.determined, law.method == "exact", estimate))
    names = ("accuracy", "unseen_accuracy", "bits_left", "determined", "exact", "paper_procedure")
    columns = dict(zip(names, np.array(rows, dtype=np.float64).T, strict=True))
    return {"train_fraction": settings.fractions(), **columns}


class CollisionSettings(Settings):
    """Repons of one class under gradient flow or sign updates."""

    encoder_rate: Positive = 1.0
    decoder_rate: Positive = 1.0
    encoder_scale: Positive = 1.0
    decoder_scale: Positive = 1.0
    dimension: Annotated[int, Field(ge=1, le=64)] = 1
    outputs: Annotated[int, Field(ge=1, le=4096)] = 1
    class_size: Annotated[int, Field(ge=2, le=1000)] = 2
    update: Literal["flow", "sign"] = "flow"
    draws: Annotated[int, Field(ge=1, le=1_000_000)] = 1000


def collisions(settings: CollisionSettings, seed: int) -> dict[str, Any]:
    """Return the fraction of random starts that merged."""
    shape = settings.model_dump(include={"encoder_rate", "decoder_rate", "dimension", "outputs", "update"})
    system = relations.ReponSystem(**shape, class_sizes=(settings.class_size,))
    scales = settings.model_dump(include={"encoder_scale", "decoder_scale"})
    share = relations.simulate_repons(system, draws=settings.draws, seed=seed, **scales).collision
    return {"share": share.value, "draws": share.count}


CURVE = Procedure(CurveSettings, along_fractions)
BEST_ACCURACY = Procedure(BoundSettings, best_accuracy)
COLLISIONS = Procedure(CollisionSettings, collisions)
