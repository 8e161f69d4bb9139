r"""The verdict on each claim of the paper, from the numbers of an analysis.

One rule serves all claims. A claim is a number on one side of a limit; surrogates give the same number without the
structure that the claim is about.

- *not tested here*: the number was not measured, or has no interval;
- *undecided*: its interval contains the limit;
- *does not hold*: its interval lies on the other side;
- *also holds for the surrogate*: a surrogate is on the claim's side of the limit as well, and the interval
  of the number is not wholly beyond the surrogate's;
- *holds*: otherwise.

References
----------
:cite:p:`fernando2025`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.estimate import Estimate, from_replicates
from genlaws.residual_stream.measure_groups import PLANE_AXES, third_of
from genlaws.residual_stream.measures.curves import SiteCurve, finite_mean
from genlaws.residual_stream.measures.dimensions import ExplainedVariance
from genlaws.residual_stream.results import (
    ALSO_HOLDS_FOR_SURROGATE,
    DOES_NOT_HOLD,
    HOLDS,
    NOT_TESTED,
    UNDECIDED,
    Analysis,
    StreamClaim,
)
from genlaws.residual_stream.surrogates.comparison import (
    SURROGATE_SIGNIFICANCE_LEVEL,
    SurrogateComparison,
    SurrogateTest,
)

WALK_SURROGATES = ("random walk", "step signs")  # surrogates of a path that goes nowhere in particular
NO_SURROGATES = "none requested"
STRONG_CORRELATION = 0.8  # correlation
MAJORITY_SHARE = 0.5  # of the variance of the mean path
CARRIED_ALONG = "carried along"
NO_INTERVAL = "One text has no interval."


def verdict_of(observed: Estimate, surrogates: Mapping[str, Estimate], limit: float) -> tuple[str, str]:
    """Return the verdict on a claim that a number lies above a limit, and the name of the surrogate it rests on.

    Parameters
    ----------
    observed : Estimate
    surrogates : mapping from name to Estimate
        Those without a value are left out; one without an interval counts as a point.
    limit : float
    """
    if math.isnan(observed.value) or not math.isfinite(observed.low + observed.high):
        return NOT_TESTED, ""
    if observed.high <= limit:
        return DOES_NOT_HOLD, ""
    if observed.low <= limit:
        return UNDECIDED, ""
    for name, one in surrogates.items():
        low, high = (one.value if math.isnan(end) else end for end in (one.low, one.high))
        if low > limit and not observed.low > high:
            return ALSO_HOLDS_FOR_SURROGATE, name
    return HOLDS, ""


def mean_over_steps(curve: SiteCurve) -> Estimate:
    """Return the mean over the points that have a value; its interval is the mean of theirs, which is a little wide."""
    known = np.isfinite(curve.value)
    if not known.any():
        return Estimate(math.nan)
    value, low, high = (float(np.mean(one[known])) for one in (curve.value, curve.low, curve.high))
    return Estimate(value, low, high, curve.count)


def change_over(value: Array, low: Array, high: Array, pairs: list[tuple[int, int]], count: int) -> Estimate:
    """Return the mean change over pairs of steps, errors added as if independent."""
    change = float(np.mean([value[late] - value[early] for early, late in pairs]))
    half = 0.5 * (high - low)
    width = math.sqrt(sum(float(half[one]) ** 2 for pair in pairs for one in pair)) / len(pairs)
    return Estimate(change, change - width, change + width, count)


def walks_of(test: SurrogateTest | None) -> dict[str, SurrogateComparison]:
    """Return the comparisons of the mean over entries with walks."""
    if test is None:
        return {}
    return {name: one for name, one in test.of_mean().against.items() if name in WALK_SURROGATES}


def above_surrogate(one: SurrogateComparison, apart: float = 0.0, sign: float = 1.0) -> bool:
    """Return whether the value exceeds the surrogate's by more than `apart`, significant at half the usual level."""
    return bool(sign * (one.observed - one.mean) > apart and one.p_value <= 0.5 * SURROGATE_SIGNIFICANCE_LEVEL)


def estimate_of(one: SurrogateComparison) -> Estimate:
    """Return the mean of a surrogate with the interval of its draws."""
    return from_replicates(float(one.mean), one.draws.ravel(), len(one.draws))


def minus(one: Estimate) -> Estimate:
    """Return a number with the other sign."""
    return replace(one, value=-one.value, low=-one.high, high=-one.low)


def listed(surrogates: Mapping[str, Estimate], before: str = "") -> str:
    """Return numbers, each after its name, separated by semicolons."""
    return "; ".join(f"{name} {before}{one}" for name, one in surrogates.items()) or NO_SURROGATES


def untested(name: str, statement: str, why: str) -> StreamClaim:
    """Return a claim that was not tested."""
    return StreamClaim(name, statement, "", "", NOT_TESTED, why)


def straddles(limit: float) -> str:
    """Return why an interval decides nothing."""
    return f"The interval contains {limit:g}: more texts would decide."


def claims_of(analysis: Analysis) -> tuple[StreamClaim, ...]:
    """Return the six claims of the paper with the verdict on each."""
    return (
        judge_continuity(analysis),
        judge_acceleration(analysis),
        judge_information(analysis),
        judge_rotations(analysis),
        judge_low_dimensional_path(analysis),
        judge_self_correction(analysis),
    )


def judge_continuity(analysis: Analysis) -> StreamClaim:
    """Return the verdict on r above 0.8: mean over units and steps, compared with random axes and random weights."""
    statement = (
        "Every unit is strongly correlated with itself one sublayer later (r above 0.8), though no axis is special."
    )
    found = analysis.correlations
    if found is None:
        return untested("continuity", statement, "Correlations were not requested.")
    observed = mean_over_steps(found.mean)
    surrogates = {
        name: mean_over_steps(one.correlations.mean)
        for name, one in analysis.references.items()
        if one.correlations is not None
    }
    if analysis.correlation_test is not None:
        drawn = analysis.correlation_test.against["basis rotation"].draws
        surrogates = {"basis rotation": Estimate(float(np.nanmean(drawn))), **surrogates}
    verdict, name = verdict_of(observed, surrogates, STRONG_CORRELATION)
    why = {
        HOLDS: "Neither random axes nor the other surrogates reach as high a correlation.",
        ALSO_HOLDS_FOR_SURROGATE: f"{_capitalized(name)}: r is above {STRONG_CORRELATION} too, as steps are small.",
        DOES_NOT_HOLD: f"The mean correlation is not above {STRONG_CORRELATION}.",
        UNDECIDED: straddles(STRONG_CORRELATION),
        NOT_TESTED: found.message or NO_INTERVAL,
    }[verdict]
    if not np.isnan(found.mean.value).all():
        lowest = int(np.nanargmin(found.mean.value))
        why += f" Lowest at {found.mean.labels[lowest]}: {found.mean.value[lowest]:.2f}."
    return StreamClaim("continuity", statement, f"mean r = {observed}", listed(surrogates), verdict, why)


def judge_acceleration(analysis: Analysis) -> StreamClaim:
    """Return the verdict on speed that rises: last third of the steps over the first, compared with random weights."""
    statement = "Activations accelerate along the layers, most in the last third."
    found = analysis.acceleration
    if found is None:
        return untested("acceleration", statement, "Paths were not requested.")
    others = {name: one.acceleration for name, one in analysis.references.items() if one.acceleration is not None}
    surrogates = {name: one.speed for name, one in others.items() if name == "random weights"}
    verdict, name = verdict_of(found.speed, surrogates, 1.0)
    relative = found.relative_speed
    grows = "rises too" if relative.low > 1 else "falls" if relative.high < 1 else "stays about the same"
    corrected = f"Relative to the length of the state the speed {grows}: {relative} times."
    why = {
        HOLDS: corrected,
        ALSO_HOLDS_FOR_SURROGATE: f"With {name} the stream speeds up no less. {corrected}",
        DOES_NOT_HOLD: f"The last third is no faster than the first. {corrected}",
        UNDECIDED: straddles(1.0),
        NOT_TESTED: NO_INTERVAL,
    }[verdict]
    shown = listed({one: two.speed for one, two in others.items()}, "× ")
    return StreamClaim("acceleration", statement, f"speed × {found.speed}", shown, verdict, why)


def judge_information(analysis: Analysis) -> StreamClaim:
    r"""Return the verdict on information that falls in the first third of the steps while r rises.

    The surrogate is a Gaussian with the measured correlations, :math:`-\frac12\ln(1-r^2)` averaged over units: where
    it falls as well, there is no paradox. The first steps are compared with those after the first third, attention
    with attention and MLP with MLP.
    """
    statement = "Mutual information falls in the first layers while the correlation rises: an apparent paradox."
    found = next(iter(analysis.information.values()), None)
    if found is None or analysis.correlations is None:
        reason = next((one for one in analysis.messages if "Mutual information needs" in one), "")
        return untested("information", statement, reason or "Information and correlations were not both requested.")
    measured = np.array([one.value for one in found.means])
    ends = np.array([[one.low, one.high] for one in found.means])
    expected, curve = gaussian_information(analysis.correlations.r), analysis.correlations.mean
    pairs = compared_steps(measured, curve.value)
    if not pairs:
        return untested("information", statement, "There is no step at the beginning with a value to compare.")
    change = change_over(measured, ends[:, 0], ends[:, 1], pairs, analysis.text_count)
    rise = change_over(curve.value, curve.low, curve.high, pairs, analysis.text_count)
    gaussian = float(np.mean([expected[late] - expected[early] for early, late in pairs]))
    known = np.isfinite(measured) & np.isfinite(expected)
    apart = float(np.abs(measured - expected)[known].mean())
    verdict, why = _judge_paradox(change, rise, gaussian)
    if found.reasons[0]:
        why += f" At the first step: {found.reasons[0]}."
    observed = f"information changes by {change} nats, r by {rise}"
    surrogate = f"Gaussian with these r: {gaussian:+.3g} nats, and {apart:.2g} from the curve on average"
    return StreamClaim("information", statement, observed, surrogate, verdict, why)


def _judge_paradox(change: Estimate, rise: Estimate, gaussian: float) -> tuple[str, str]:
    """Return the verdict and the reason from how information and correlation change, and how a Gaussian's would."""
    if change.low > 0 or rise.high < 0:
        both = "rises" if change.low > 0 else "falls"
        return DOES_NOT_HOLD, f"Information {both} in the first layers, and r {'rises' if rise.value > 0 else 'falls'}."
    if not (change.high < 0 and rise.low > 0):
        return UNDECIDED, "The interval of one of the two changes contains zero, so it shows no direction."
    if gaussian < 0:
        return ALSO_HOLDS_FOR_SURROGATE, "A Gaussian with the same correlations loses information too: no paradox."
    return HOLDS, "A Gaussian with the same correlations would gain information: the states are not Gaussian there."


def gaussian_information(r: Array) -> Array:
    r"""Return :math:`-\frac12\ln(1-r^2)` of r (steps, units), averaged over the units whose value is finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return finite_mean(-0.5 * np.log1p(-(r**2)))


def compared_steps(*curves: Array) -> list[tuple[int, int]]:
    """Return the first two steps with those after the first third, where every curve has a value at both."""
    count = third_of(curves[0].size)
    pairs = [(early, early + count) for early in range(min(2, count)) if early + count < curves[0].size]
    return [pair for pair in pairs if all(np.isfinite(curve[list(pair)]).all() for curve in curves)]


def judge_rotations(analysis: Analysis) -> StreamClaim:
    """Return the verdict on orbits: rotations of the units, and one rotation's fit to the mean path.

    It holds if units rotate more often than in every requested walk, by more than the scatter of one unit of a walk, or
    if one rotation explains more than half of the mean steps and more than it explains of every walk's steps. It does
    not hold if there are fewer rotations by more than that scatter; in between, a walk rotates about as often. Tests
    are at half the usual level, because there are two.
    """
    statement = "Units rotate about unstable orbits: 10.7 rotations in 64 sublayers, where shuffled points give none."
    if analysis.rotations is None:
        return untested("rotations", statement, _untested_reason(analysis, "Rotations"))
    observed = f"{analysis.rotations.as_printed.mean():.2f} rotations in {analysis.rotations.site_count} sites"
    walks, fits = walks_of(analysis.rotation_test), walks_of(analysis.dynamics_test)
    if analysis.rotation_test is None or not walks:
        return StreamClaim("rotations", statement, observed, NO_SURROGATES, NOT_TESTED, "No random walk was requested.")
    single = {name: float(analysis.rotation_test.against[name].standard_deviation.mean()) for name in walks}
    explained = float("nan") if analysis.dynamics_test is None else float(analysis.dynamics_test.observed)
    rotates_more = all(above_surrogate(one, single[name]) for name, one in walks.items())
    rotates_less = all(above_surrogate(one, single[name], -1.0) for name, one in walks.items())
    one_rotation = bool(fits) and explained > MAJORITY_SHARE and all(above_surrogate(one) for one in fits.values())
    if rotates_more or one_rotation:
        verdict, why = HOLDS, "Units rotate more often than a random walk's." if rotates_more else ""
    elif rotates_less:
        verdict, why = DOES_NOT_HOLD, "Units rotate less often than those of a random walk with the same steps."
    else:
        apart = max(abs(float(one.observed - one.mean)) / single[name] for name, one in walks.items())
        verdict = ALSO_HOLDS_FOR_SURROGATE
        why = f"A random walk rotates about as often, within {apart:.1f} standard deviations of one unit."
    if fits:
        shares = ", ".join(f"{name} {float(one.mean):.2f}" for name, one in fits.items())
        why += f" One rotation explains {explained:.2f} of the mean steps ({shares})."
    shown = "; ".join(
        f"{name} {one.mean:.2f}, standard deviation {one.standard_deviation:.2g}, z = {one.z_score:.1f}"
        for name, one in walks.items()
    )
    return StreamClaim("rotations", statement, observed, shown, verdict, why.strip())


def judge_low_dimensional_path(analysis: Analysis) -> StreamClaim:
    """Return the verdict on a path that lies in a plane: two components of the mean path, and of random walks."""
    statement = "The stream moves along a curved path of few dimensions."
    test = analysis.path_test
    if analysis.projected is None:
        return untested("low-dimensional path", statement, "Dimensions were not requested.")
    walks = walks_of(test)
    if test is None or not walks:
        why = "No random walk was requested."
        return StreamClaim(
            "low-dimensional path", statement, _describe_thirds(analysis), NO_SURROGATES, NOT_TESTED, why
        )
    share = float(test.observed)
    surrogates = {name: estimate_of(one) for name, one in walks.items()}
    verdict, name = verdict_of(Estimate(share, share, share), surrogates, MAJORITY_SHARE)
    why = {
        HOLDS: "Random walks with the same steps have less of their path in a plane.",
        ALSO_HOLDS_FOR_SURROGATE: f"Even a path of many dimensions looks flat: the {name} is no less flat.",
        DOES_NOT_HOLD: "Two components explain less than half of the mean path.",
    }[verdict]
    why += f" {_describe_thirds(analysis)}"
    if analysis.compression is not None:
        own, linear = analysis.compression.explained_pooled, analysis.compression.components_explained_pooled
        why += f" A two-unit autoencoder explains {own.value:.2f} of all variance, two components {linear.value:.2f}."
    observed = f"{share:.2f} of the mean path along {PLANE_AXES} components"
    return StreamClaim("low-dimensional path", statement, observed, listed(surrogates), verdict, why)


def judge_self_correction(analysis: Analysis) -> StreamClaim:
    """Return the verdict on disturbances that shrink relative to the state, compared with two surrogates.

    One is a disturbance that is only carried along: it keeps its length while the state grows as it does. To shrink
    faster than that, the disturbance itself must become shorter. The other is the model with random weights.
    """
    statement = "A disturbed or teleported state comes back to its path, best in lower and middle layers."
    found = analysis.perturbation
    if found is None:
        return untested("self-correction", statement, "Perturbation was not requested.")
    relative, own = mean_over_steps(found.relative_rate), mean_over_steps(found.rate)
    others = {CARRIED_ALONG: Estimate(relative.value - own.value)}
    others |= {
        name: mean_over_steps(one.perturbation.relative_rate)
        for name, one in analysis.references.items()
        if one.perturbation is not None
    }
    verdict, name = verdict_of(minus(relative), {one: minus(rate) for one, rate in others.items()}, 0.0)
    grows = "grows" if own.low > 0 else "shrinks" if own.high < 0 else "keeps its length"
    absolute = f"The disturbance itself {grows}: {own} per step."
    less = "that only keeps its length" if name == CARRIED_ALONG else f"in a model with {name}"
    why = {
        HOLDS: absolute,
        ALSO_HOLDS_FOR_SURROGATE: f"A disturbance {less} shrinks as fast relative to the growing state. {absolute}",
        DOES_NOT_HOLD: f"A disturbance grows as fast as the state, or faster. {absolute}",
        UNDECIDED: straddles(0.0),
        NOT_TESTED: NO_INTERVAL,
    }[verdict]
    why += _describe_teleports(analysis)
    observed = f"log of relative distance {relative} per step"
    return StreamClaim("self-correction", statement, observed, listed(others), verdict, why)


def _describe_thirds(analysis: Analysis) -> str:
    """Describe how the share along two components changes from the first to the last third of the sites.

    Whether later layers need fewer components is judged by axes of each site, found in other texts.
    """
    named = {
        "pooled axes": analysis.explained_pooled,
        "pooled axes of normalized states": analysis.explained_normalized,
        "axes of each site": analysis.explained_site,
    }
    ends = {name: _share_in_thirds(one) for name, one in named.items() if one is not None}
    parts = [f"{first.value:.2f} to {last.value:.2f} along {name}" for name, (first, last) in ends.items()]
    first, last = ends.get("axes of each site", (Estimate(math.nan), Estimate(math.nan)))
    if math.isnan(first.low + first.high + last.low + last.high):
        return ""
    needed = (
        "need fewer" if last.low > first.high else "need more" if last.high < first.low else "show no need for fewer"
    )
    return f"Variance over texts, first to last third: {', '.join(parts)}. Later layers {needed} components."


def _share_in_thirds(explained: ExplainedVariance) -> tuple[Estimate, Estimate]:
    """Return the mean share along two components in the first and in the last third of the sites."""
    curve = explained.curve(int(explained.components[explained.components <= PLANE_AXES][-1]))
    count = third_of(curve.value.size)
    first, last = (
        SiteCurve(curve.name, curve.labels[part], curve.estimates[part])
        for part in (slice(None, count), slice(-count, None))
    )
    return mean_over_steps(first), mean_over_steps(last)


def _describe_teleports(analysis: Analysis) -> str:
    """Describe which share of the teleported points came nearer to the path, in the model and with random weights."""
    named = {"": analysis, **{f" with {name}": one for name, one in analysis.references.items()}}
    parts = []
    for suffix, one in named.items():
        jumps = [jump.returned for jump in one.teleports if jump.keep_rest and jump.steps > 0]
        shares = [float((share[np.isfinite(share)] < 1.0).mean()) for share in jumps if np.isfinite(share).any()]
        if shares:
            parts.append(f"{float(np.mean(shares)):.0%}{suffix}")
    return f" Of teleported points {' and '.join(parts)} came nearer in the plane." if parts else ""


def _untested_reason(analysis: Analysis, measure: str) -> str:
    """Return the message of a measure that could not be taken."""
    message = next((one for one in analysis.messages if one.startswith(f"{measure} need")), "")
    return message or f"{measure} were not requested."


def _capitalized(name: str) -> str:
    return name[:1].upper() + name[1:]
