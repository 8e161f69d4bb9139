"""The result of measuring a representation, and the sentences that describe it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genlaws.core.estimate import Estimate, from_standard_error
from genlaws.semanticity.measurement.empirical_front import EmpiricalFront
from genlaws.semanticity.measurement.pairs import ThresholdCurve
from genlaws.semanticity.measurement.profile import Profile, ProfileFit
from genlaws.semanticity.measurement.tests import ItemCurve

if TYPE_CHECKING:
    import pandas as pd


MIN_EXPLAINED_SHARE = 0.5  # share below which a fitted resolution means little


@dataclass(frozen=True)
class Measurement:
    r"""The resolution of a representation, and its generalization and identification.

    Attributes
    ----------
    stimulus_count : int
    similarity : str
    generalization, identification : Estimate
        :math:`p_S` and :math:`p_I` with two items, over all triples of different stimuli; chance is one half.
    items : ItemCurve
        Both against the number of items, with the constant of the 1/n law.
    profile : Profile
        Similarity against true distance.
    fit : ProfileFit
        Shape, resolution and background of the profile.
    ball_mass, ball_mass_variance : float
        Share of the other stimuli within the resolution of a probe: mean and variance over probes.
    front, constant_front : EmpiricalFront
        What the fitted shape with its amplitude and background, and the constant similarity without a background,
        would give on this set.
    threshold_curve : ThresholdCurve or None
        For the threshold similarity alone.
    ties : str
        ``split`` or ``drop``.
    tied_fraction : float
        Share of triples whose two items are equally near to the probe.
    zero_fraction : float
        Share of pairs without any similarity.
    exact : bool
        Whether every triple was used; otherwise the values are means over `batch_count` random parts of the stimuli.
    batch_count, batch_size : int
    message : str
        What a reader must know in addition to the numbers.
    """

    stimulus_count: int
    similarity: str
    generalization: Estimate
    identification: Estimate
    items: ItemCurve
    profile: Profile
    fit: ProfileFit
    ball_mass: float
    ball_mass_variance: float
    front: EmpiricalFront | None
    constant_front: EmpiricalFront | None
    threshold_curve: ThresholdCurve | None
    ties: str
    tied_fraction: float
    zero_fraction: float
    exact: bool
    batch_count: int
    batch_size: int
    message: str

    @property
    def distance_to_front(self) -> float:
        """Distance of the measured point from the front of the fitted shape, positive above it; NaN without one."""
        return float("nan") if self.front is None else self.front.distance()

    @property
    def distance_to_constant_front(self) -> float:
        """Distance of the measured point from the front of the constant similarity, positive above it."""
        return float("nan") if self.constant_front is None else self.constant_front.distance()

    def item_estimates(self, test: str) -> tuple[Estimate, ...]:
        """Return a test at each number of items, with intervals as those of `generalization` and `identification`.

        Parameters
        ----------
        test : {"generalization", "identification"}
        """
        count = self.batch_count * self.batch_size
        freedom = count - 1 if self.exact else self.batch_count - 1
        values, errors = getattr(self.items, test), getattr(self.items, f"{test}_error")
        return tuple(
            from_standard_error(float(value), float(error), count, freedom)
            for value, error in zip(values, errors, strict=True)
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per number of items."""
        import pandas as pd  # noqa: PLC0415

        names = ("item_count", "generalization", "generalization_error", "identification", "identification_error")
        return pd.DataFrame({name: getattr(self.items, name) for name in names})

    def __str__(self) -> str:
        both = f"generalization {self.generalization}, identification {self.identification}"
        if self.fit.why_none:
            return f"{both}, no resolution: {self.fit.why_none}"
        return f"{both}, resolution {self.fit.resolution} ({self.fit.shape}), background {self.fit.background}"


def describe(
    *,
    stimulus_count: int,
    ties: str,
    tied_fraction: float,
    zero_fraction: float,
    own_zero: int,
    probe_count: int,
    fit: ProfileFit,
    opening: str = "",
    centering: str = "",
) -> str:
    """Return the sentences on ties, zeros, many items, and how well a shape fits."""
    parts = [one for one in (opening, centering) if one]
    if fit.why_none:
        parts.append(f"No resolution: {fit.why_none}.")
    elif fit.explained < MIN_EXPLAINED_SHARE:
        parts.append(f"The profile hardly falls with distance (a shape explains {100 * fit.explained:.0f} % of it).")
    if tied_fraction > 0:
        done = "one of the two is right at random" if ties == "split" else "they are left out"
        parts.append(f"{_percent(tied_fraction)} of triples have two items equally near to the probe: {done}.")
    if zero_fraction > 0:
        parts.append(f"{_percent(zero_fraction)} of pairs have no similarity at all.")
    if own_zero:
        parts.append(f"Stimuli not similar to their own copy: {own_zero}; the profile leaves them out as probes.")
    if probe_count < stimulus_count:
        parts.append(f"Curves over items average {probe_count} random probes of {stimulus_count}.")
    return " ".join(parts) if parts else "All triples of different stimuli, no ties."


def or_none(value: float, text: str) -> str:
    """Return the text of a number, or that there is none."""
    return text if np.isfinite(value) else "none"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def ball_at(distance: np.ndarray, resolution: float) -> tuple[float, float]:
    """Return mean and variance over probes of the share of other stimuli within a resolution; NaN if there is none."""
    if not np.isfinite(resolution):
        return float("nan"), float("nan")
    share = ((distance <= resolution).sum(axis=1) - 1.0) / (len(distance) - 1.0)
    return float(share.mean()), float(share.var())
