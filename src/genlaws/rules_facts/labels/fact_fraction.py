r"""The fact fraction, estimated from predictions of samples that were left out of the training.

Left-out outputs f of a learner and the labels y agree, in the theory, with probability

.. math:: P(y f > 0 \mid |f|) = \tfrac12\bigl[1 + (1-\varepsilon)\,\mathrm{erf}(a |f|/\sqrt2)\bigr].

A fact agrees with any prediction by chance, however large the output is: agreement saturates at 1 − ε/2. The two
unknowns, ε and the steepness a, are fitted by maximum likelihood. The interval of ε is where the profile likelihood is
within 1.92 of its maximum.

The formula is the joint law of output and label in the state equations of :cite:t:`farne2026`. On other data it is a
model: a label that no learner of this kind can explain counts as a fact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate

# Half the 95 % quantile of χ² with one degree of freedom.
PROFILE_DROP = 1.9207
# Shares of facts on the grid before the search, and the tolerance of the search: far below any interval.
SHARE_GRID_POINTS = 41
SHARE_TOLERANCE = 1e-4
# Steepnesses on the grid before the search, for outputs of root mean square one: from no agreement to a jump.
STEEPNESS_GRID = np.geomspace(1e-3, 1e4, 25)
MIN_SAMPLES = 20  # in total, and of the rule


def estimate_fact_fraction(left_out_outputs: ArrayLike, labels: ArrayLike) -> Estimate:
    """Estimate the share of facts among the labels, with its interval.

    Parameters
    ----------
    left_out_outputs : array_like, (n,)
        Outputs for samples the learner was not trained on, such as the leave-one-out predictions of ridge regression.
    labels : array_like of ±1, (n,)

    Returns
    -------
    Estimate
        In [0, 1].

    Notes
    -----
    It assumes that facts have inputs like the others. If their inputs differ, as digits of other classes do, outputs
    on them are small and the estimate is too low: 0 to 0.04 for a share of 0.2 in six draws of digits.
    """
    try:
        outputs, y = np.asarray(left_out_outputs, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("left_out_outputs and labels must be lists of real numbers.") from None
    if outputs.ndim != 1 or outputs.shape != y.shape or outputs.size < MIN_SAMPLES:
        raise InputError(
            f"left_out_outputs and labels must be lists of equal length, {MIN_SAMPLES} or more; "
            f"got shapes {outputs.shape} and {y.shape}."
        )
    if not np.isfinite(outputs).all() or not np.isin(y, (-1.0, 1.0)).all():
        raise InputError("left_out_outputs must be finite and labels +1 or -1.")
    scale = float(np.abs(outputs).max())
    if scale == 0.0:
        raise InputError("left_out_outputs must not all be zero.")
    size = np.abs(outputs) / scale
    profile = _Profile.of(size / np.sqrt(np.mean(size**2)), np.sign(outputs) * y)
    shares = np.linspace(0.0, 1.0, SHARE_GRID_POINTS)
    heights = np.array([profile(share) for share in shares])
    value, height = _maximize_profile(profile, shares, heights)
    cut = height - PROFILE_DROP
    inside = np.append(shares[heights >= cut], value)
    low, high = float(inside.min()), float(inside.max())
    if low > 0.0:
        low = _find_crossing(profile, cut, float(shares[shares < low][-1]), low)
    if high < 1.0:
        high = _find_crossing(profile, cut, high, float(shares[shares > high][0]))
    return Estimate(value, low, high, outputs.size)


@dataclass(frozen=True)
class _Profile:
    """Log-likelihood of a share of facts at its best steepness.

    ``agree`` is +1 where output and label agree, −1 where they do not and 0 where the output is zero; ``leans`` are
    agree × erf(a size/√2) at each of the steepnesses, as rows.
    """

    size: Array
    agree: Array
    leans: Array

    @classmethod
    def of(cls, size: Array, agree: Array) -> _Profile:
        return cls(size, agree, agree * special.erf(STEEPNESS_GRID[:, None] * size / np.sqrt(2.0)))

    def __call__(self, share: float) -> float:
        costs = self._cost(share, self.leans)
        best = int(costs.argmin())
        ends = (best - 1 if best else 0), min(best + 1, len(STEEPNESS_GRID) - 1)
        low, high = (float(np.log(STEEPNESS_GRID[end])) for end in ends)

        def cost(log_steepness: float) -> float:
            lean = self.agree * special.erf(np.exp(log_steepness) * self.size / np.sqrt(2.0))
            return float(self._cost(share, lean))

        found = optimize.minimize_scalar(cost, bounds=(low, high), method="bounded")
        return -min(float(found.fun), float(costs[best]))

    @staticmethod
    def _cost(share: float, leans: Array) -> Array:
        # Without facts, a label against a saturated output has likelihood zero.
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log1p((1.0 - share) * leans).sum(axis=-1))


def _maximize_profile(profile: _Profile, shares: Array, heights: Array) -> tuple[float, float]:
    """Return the maximum of the profile and its height."""
    top = int(heights.argmax())
    around = (float(shares[max(top - 1, 0)]), float(shares[min(top + 1, len(shares) - 1)]))
    found = optimize.minimize_scalar(
        lambda share: -profile(share), bounds=around, method="bounded", options={"xatol": SHARE_TOLERANCE}
    )
    if -found.fun > heights[top]:
        return float(found.x), -float(found.fun)
    return float(shares[top]), float(heights[top])


def _find_crossing(profile: _Profile, cut: float, low: float, high: float) -> float:
    """Return the share between two others at which the profile passes a height."""
    return float(optimize.brentq(lambda share: profile(share) - cut, low, high, xtol=SHARE_TOLERANCE))
