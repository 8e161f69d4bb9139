"""How well the runs of this report agree with the theory, in one sentence computed from their z-scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from genlaws.numerics.errors import InputError

NEAR = 1.96  # standard errors, which 95 % of right comparisons keep
UNLIKELY = 0.01  # chance of a largest z below which theory and runs are said to differ


@dataclass(frozen=True)
class Agreement:
    """Comparisons of runs with a theory.

    Attributes
    ----------
    count, near : int
        Comparisons, and those within 1.96 standard errors.
    largest : float
        Size of the largest z.
    chance : float
        Probability that the largest of so many independent z of a right theory is at least as large.
    """

    count: int
    near: int
    largest: float
    chance: float

    @property
    def agrees(self) -> bool:
        """Whether chance explains the largest z."""
        return self.chance >= UNLIKELY

    def sentence(self, what: str) -> str:
        """Return the finding; `what` names the things compared, in the plural."""
        opening = f"{self.near} of {self.count} {what} lie within 1.96 standard errors of the theory; the largest z is "
        chance = f"{100 * self.chance:.2g} %"
        if self.agrees:
            return f"{opening}{self.largest:.1f}, which chance alone exceeds in {chance} of reports. They agree."
        return f"{opening}{self.largest:.1f}, which chance alone exceeds in {chance} of reports only. They differ."


def agreement(z: ArrayLike) -> Agreement:
    """Return how well independent comparisons agree; those that are not finite are left out."""
    given = np.asarray(z, dtype=np.float64).ravel()
    size = np.abs(given[np.isfinite(given)])
    if not size.size:
        raise InputError("z must hold at least one finite number.")
    largest = float(size.max())
    tail = 2.0 * float(special.ndtr(-largest))
    chance = -float(np.expm1(size.size * np.log1p(-min(tail, 1.0 - 1e-16))))
    return Agreement(size.size, int((size <= NEAR).sum()), largest, chance)
