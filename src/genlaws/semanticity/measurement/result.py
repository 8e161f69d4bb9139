"""The result of measuring a representation, and the sentences that describe it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.core.estimate import INTERVAL_MEANING, Estimate, interval_columns
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary
from genlaws.semanticity.measurement.empirical_front import EmpiricalFront
from genlaws.semanticity.measurement.pairs import ThresholdCurve
from genlaws.semanticity.measurement.profile import Profile, ProfileFit
from genlaws.semanticity.measurement.tests import ItemCurve

MIN_EXPLAINED_SHARE = 0.5  # share below which a fitted resolution means little


@dataclass(frozen=True, eq=False, repr=False)
class Measurement(Result):
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
        For the threshold similarity alone; at most 513 thresholds, the one used among them.
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

    derived = ("distance_to_front", "distance_to_constant_front", "best_threshold")
    drawn_by = "genlaws.figures.semanticity.measurement:measurement_pictures"
    page_by = "genlaws.report.measurement:measurement_page"

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

    @property
    def best_threshold(self) -> float:
        """The threshold with the largest generalization; NaN for another similarity."""
        curve = self.threshold_curve
        return float("nan") if curve is None else float(curve.threshold[curve.best])

    def to_frame(self) -> DataFrame:
        """Return one row per number of items."""
        items = self.items
        rows = []
        for count, p_s, p_i in zip(items.item_count.tolist(), items.generalization, items.identification, strict=True):
            both = interval_columns("generalization", p_s) | interval_columns("identification", p_i)
            rows.append({"item_count": count, **both})
        return frame_of(rows)

    def tables(self) -> dict[str, DataFrame]:
        """Return the tests by number of items, the profile, and the front and the thresholds if there are any."""
        found = {"items": self.to_frame(), "profile": self.profile.to_frame()}
        curves = {"front": self.front, "constant-front": self.constant_front, "thresholds": self.threshold_curve}
        return found | {name: curve.to_frame() for name, curve in curves.items() if curve is not None}

    def line(self) -> str:
        """Return both tests, resolution and background in one line."""
        both = f"generalization {self.generalization}, identification {self.identification}"
        if self.fit.why_none:
            return f"{both}, no resolution: {self.fit.why_none}"
        return f"{both}, resolution {self.fit.resolution} ({self.fit.shape}), background {self.fit.background}"

    def summary(self) -> Summary:
        """Return the main numbers and their meaning, and what to be careful about."""
        fit, items = self.fit, self.items
        shape_meaning = fit.why_none or f"of the {fit.shape} shape, in units of the true distance"
        explained = or_none(fit.explained, f"{100 * fit.explained:.1f} %")
        ball_mass = or_none(self.ball_mass, f"{self.ball_mass:.4g}")
        variance = or_none(self.ball_mass_variance, f"{self.ball_mass_variance:.3g}")
        constant = f"{items.collapse_constant:.4g}"
        nearer = "probability of the truly nearer of two items; chance 0.5"
        background = or_none(fit.background.value, str(fit.background))
        rows = [
            ("generalization p_S", str(self.generalization), nearer),
            ("identification p_I", str(self.identification), "probability of the item the probe was copied from"),
            ("resolution ε", or_none(fit.resolution.value, str(fit.resolution)), shape_meaning),
            ("background Δ", background, "similarity of distant things; near ones have 1 more"),
            ("explained by the shape", explained, "of the variance of similarity between distances"),
            ("ball mass ⟨b⟩", ball_mass, "share of the others within the resolution of a probe"),
            ("Var b", variance, "its variance over probes: how unevenly the stimuli lie"),
            ("1/n constant", constant, "identification of n items tends to this over n"),
        ]
        for name, away, front in (
            ("front", self.distance_to_front, "front of its own fit"),
            ("constant front", self.distance_to_constant_front, "constant similarity of Theorem 1"),
        ):
            if np.isfinite(away):
                rows.append((f"distance to the {name}", f"{away:+.3f}", f"above (+) or below (−) the {front}"))
        several = zip(items.item_count.tolist(), items.generalization, items.identification, strict=True)
        rows += [(f"{n} items", f"p_S {_short(s)}, p_I {_short(i)}", "") for n, s, i in several if n > 2]
        return Summary([Row(*row) for row in rows], [INTERVAL_MEANING], [self.message])


def _short(found: Estimate) -> str:
    """Return an estimate without its count."""
    return str(found).partition(" (")[0]


def describe(found: Measurement, own_zero: int, note: str, *, opening: str = "", centering: str = "") -> str:
    """Return the sentences on ties, zeros, many items, and how well a shape fits."""
    parts = [one for one in (opening, centering) if one]
    if found.fit.why_none:
        parts.append(f"No resolution: {found.fit.why_none}.")
    elif found.fit.explained < MIN_EXPLAINED_SHARE:
        explained = f"a shape explains {100 * found.fit.explained:.0f} % of it"
        parts.append(f"The profile hardly falls with distance ({explained}).")
    if found.tied_fraction > 0:
        done = "one of the two is right at random" if found.ties == "split" else "they are left out"
        parts.append(f"{_percent(found.tied_fraction)} of triples have two items equally near to the probe: {done}.")
    if found.zero_fraction > 0:
        parts.append(f"{_percent(found.zero_fraction)} of pairs have no similarity at all.")
    if own_zero:
        parts.append(f"Stimuli not similar to their own copy: {own_zero}; the profile leaves them out as probes.")
    probes, stimuli = found.items.probe_count, found.batch_size * found.batch_count
    if probes < stimuli:
        parts.append(f"Curves over items average {probes} random probes of {stimuli}.")
    return " ".join([note] * bool(note) + (parts or ["All triples of different stimuli, no ties."]))


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
