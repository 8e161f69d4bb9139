"""The two-anchor test: how the answer turns from the lower to the upper item as the question moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError
from genlaws.numerics.intervals import Estimate, bootstrap_mean, wilson_interval
from genlaws.semanticity.probes.outcomes import Recorded
from genlaws.semanticity.probes.trials import ProbeTrial

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 9  # places are told apart to this many decimals


@dataclass(frozen=True)
class AnchorPoint:
    """Answers to questions at c + δ about items at c ± D.

    Attributes
    ----------
    half_separation, shift : float
        D and δ, in units of the domain.
    upper : Estimate
        Share of the readable answers that name the item at c + D, with Wilson's interval.
    probability : Estimate
        Mean probability of that item, with its bootstrap interval; NaN in text mode.
    unparsed, failed : int
        Replies that could not be read, and trials without a reply; in neither share.
    """

    half_separation: float
    shift: float
    upper: Estimate
    probability: Estimate
    unparsed: int
    failed: int


@dataclass(frozen=True)
class ResolutionCurve:
    """The answers to the two-anchor test, by half separation and shift, both increasing."""

    points: tuple[AnchorPoint, ...]

    @property
    def half_separations(self) -> tuple[float, ...]:
        """The half separations D, increasing."""
        return tuple(dict.fromkeys(point.half_separation for point in self.points))

    def at(self, half_separation: float) -> tuple[AnchorPoint, ...]:
        """Return the points of one half separation, by shift."""
        return tuple(point for point in self.points if point.half_separation == half_separation)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per half separation and shift."""
        import pandas as pd  # noqa: PLC0415

        columns = ["half_separation", "shift", "upper", "upper_low", "upper_high", "answered"]
        columns += ["probability", "probability_low", "probability_high", "unparsed", "failed"]
        rows = [
            (
                *(point.half_separation, point.shift),
                *(point.upper.value, point.upper.low, point.upper.high, point.upper.count),
                *(point.probability.value, point.probability.low, point.probability.high),
                *(point.unparsed, point.failed),
            )
            for point in self.points
        ]
        return pd.DataFrame(rows, columns=columns)


def resolution_curve(given: Recorded) -> ResolutionCurve:
    """Return the share of answers that name the upper anchor, for each half separation and shift.

    A curve that is a step at shift 0 is sharp; it is flat where both anchors look alike: far from both, or both within
    the resolution.
    """
    kept = given.of_kinds(("resolution",))
    groups: dict[tuple[float, float], list[int]] = {}
    for number, trial in enumerate(kept.trials):
        if not isinstance(trial, ProbeTrial) or len(trial.places) != 2:
            raise InputError(f"A resolution trial must show two items at places; trial {number + 1} does not.")
        low, high = min(trial.places), max(trial.places)
        key = round(0.5 * (high - low), DIGITS), round(trial.probe - 0.5 * (high + low), DIGITS)
        groups.setdefault(key, []).append(number)
    return ResolutionCurve(tuple(_point(*key, kept.take(np.array(groups[key]))) for key in sorted(groups)))


def _point(half: float, shift: float, group: Recorded) -> AnchorPoint:
    upper = np.array([int(np.argmax(trial.places)) for trial in group.trials if isinstance(trial, ProbeTrial)])
    answered = ~(group.failed | group.unparsed)
    named = (group.chosen == upper)[answered]
    told: Array = np.array(
        [scores[place] for scores, place in zip(group.scores, upper, strict=True) if scores is not None],
        dtype=np.float64,
    )
    return AnchorPoint(
        half,
        shift,
        wilson_interval(int(named.sum()), named.size) if named.size else Estimate(math.nan),
        bootstrap_mean(told),
        int(group.unparsed.sum()),
        int(group.failed.sum()),
    )
