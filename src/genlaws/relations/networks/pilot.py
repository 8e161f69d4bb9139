"""Pilots: small sets of networks trained at several training fractions and ratios of learning rates."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.estimate import Estimate, bootstrap_mean, wilson_interval
from genlaws.core.running import Running
from genlaws.relations.networks.runs import RelationRuns
from genlaws.relations.structure.relation import Relation

LOG_COUNT = 50  # measurements in a training
MAX_FULL_BATCH, PILOT_BATCH_SIZE = 2048, 1024  # entries; larger training sets are learned in batches


@dataclass(frozen=True)
class Pilot:
    """How many networks a pilot trains, and of which kind.

    Attributes
    ----------
    train_fractions : increasing floats in (0, 1)
        Tried with equal learning rates.
    ratios : increasing positive floats
        Of decoder over encoder rate, tried at the advised training fraction.
    networks, ratio_networks : int >= 2
        At each training fraction, and at each ratio.
    bound_repeats : int >= 2
        Random training sets behind the exact bound.
    steps, width, depth, dimension : int
    optimizer : {"adam", "adamw", "sgd"}
    decoder_rate : float > 0
        Held fixed.
    """

    train_fractions: tuple[float, ...]
    ratios: tuple[float, ...]
    networks: int
    ratio_networks: int
    bound_repeats: int
    steps: int
    width: int
    depth: int
    dimension: int
    optimizer: str
    decoder_rate: float

    @property
    def network_count(self) -> int:
        """Networks of both parts together."""
        return len(self.train_fractions) * self.networks + len(self.ratios) * self.ratio_networks


@dataclass(frozen=True)
class PilotPoint:
    """Networks at one training fraction, or at one ratio of the rates.

    Attributes
    ----------
    value : float
        The training fraction or the ratio.
    success : Estimate
        Share of networks that reached the target on test and on training entries; Wilson's interval.
    accuracy : Estimate
        Final mean: on the whole table, or balanced over test entries; bootstrap interval.
    median_steps : float
        To the target, of the networks that reached it; NaN if none did.
    succeeded : tuple of bool
    accuracies : array of shape (networks,)
    """

    value: float
    success: Estimate
    accuracy: Estimate
    median_steps: float
    succeeded: tuple[bool, ...]
    accuracies: Array = field(repr=False)


@dataclass(frozen=True)
class Goal:
    """The target accuracy on test entries; balanced where the majority answer alone would reach it."""

    target: float
    balanced: bool

    @property
    def unseen(self) -> str:
        """The accuracy that defines success."""
        return "balanced_accuracy" if self.balanced else "test_accuracy"

    @property
    def whole(self) -> str:
        """The accuracy that is compared with the best learner."""
        return "balanced_accuracy" if self.balanced else "table_accuracy"


@dataclass(frozen=True)
class PilotTrials:
    """Trains the networks of a pilot on one relation; `running` gets the number of finished networks."""

    relation: Relation
    goal: Goal
    pilot: Pilot
    seed: int
    running: Running

    def fractions(self) -> list[PilotPoint]:
        """Return the networks at each training fraction, with equal rates, trained to the end."""
        tried = enumerate(self.pilot.train_fractions)
        runs = [self._point(share, (0, place), self.pilot.networks, share, 1.0) for place, share in tried]
        return [point for point in runs if point is not None]

    def ratios(self, train_fraction: float) -> list[PilotPoint]:
        """Return the networks at each ratio of the rates; they stop when they generalize."""
        tried, networks = enumerate(self.pilot.ratios), self.pilot.ratio_networks
        runs = [self._point(ratio, (1, place), networks, train_fraction, ratio) for place, ratio in tried]
        return [point for point in runs if point is not None]

    def _point(
        self, value: float, part: tuple[int, int], networks: int, train_fraction: float, ratio: float
    ) -> PilotPoint | None:
        """Return the networks of one training fraction and ratio; None if there are no entries to test them on."""
        if round(train_fraction * self.relation.pair_count) < 1:
            self.running.advance(networks)
            return None
        whole_course = part[0] == 0 or self.goal.balanced
        runs = self._train(part, networks, train_fraction, ratio, stop_at=None if whole_course else self.goal.target)
        self.running.advance(networks)
        fitted, unseen = (runs.steps_to(name, self.goal.target) for name in ("train_accuracy", self.goal.unseen))
        final = runs.final(self.goal.whole)
        known = np.isfinite(final) | runs.failed  # a relation of few pairs may leave no test entries
        if not known.any():
            return None
        reached = ((fitted >= 0) & (unseen >= 0))[known]
        steps = np.maximum(fitted, unseen)[known][reached]
        accuracies = np.nan_to_num(final[known])
        return PilotPoint(
            value,
            wilson_interval(int(reached.sum()), reached.size),
            bootstrap_mean(accuracies),
            float(np.median(steps)) if steps.size else math.nan,
            tuple(reached.tolist()),
            accuracies,
        )

    def _train(
        self, part: tuple[int, int], networks: int, train_fraction: float, ratio: float, *, stop_at: float | None
    ) -> RelationRuns:
        from genlaws.relations.networks.network import train_networks  # noqa: PLC0415 - needs torch

        pilot, training_count = self.pilot, train_fraction * self.relation.pair_count
        every = max(1, pilot.steps // LOG_COUNT)
        seeds = np.random.SeedSequence((self.seed, *part)).generate_state(networks)
        return train_networks(
            self.relation,
            train_fraction=train_fraction,
            seeds=[int(one) for one in seeds],
            dimension=pilot.dimension,
            depth=pilot.depth,
            width=pilot.width,
            encoder_rate=pilot.decoder_rate / ratio,
            decoder_rate=pilot.decoder_rate,
            optimizer=pilot.optimizer,
            batch_size=None if training_count <= MAX_FULL_BATCH else PILOT_BATCH_SIZE,
            steps=pilot.steps,
            log_at=range(0, pilot.steps + 1, every),
            stop_at=stop_at,
        )
