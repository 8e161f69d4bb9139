"""Measure a set of stimuli: every triple of one that fits into memory, random batches of a larger one, each exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from genlaws.core.arguments import Array, Whole
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_standard_error
from genlaws.core.running import Running
from genlaws.semanticity.measurement.empirical_front import EmpiricalFront, constant_front, empirical_front
from genlaws.semanticity.measurement.pairs import ThresholdCurve, threshold_curve
from genlaws.semanticity.measurement.profile import (
    STIMULUS_BOOTSTRAP_REPLICATES,
    Bins,
    ProfileFit,
    ProfileSums,
    fit_profile,
    pool_sums,
    profile_sums,
    relabeled_fits,
)
from genlaws.semanticity.measurement.result import Measurement, ball_at, describe
from genlaws.semanticity.measurement.stimuli import Stimuli
from genlaws.semanticity.measurement.tests import ItemCurve, MeasuredSet, TwoItems, item_curve, two_items
from genlaws.semanticity.theory.finite_sets import Others

MEAN_SENSITIVE = ("cosine", "relu-dot")  # similarities that the mean of the embeddings changes
LARGE_MEAN_SHARE = 0.1  # share of the squared length; a smaller mean changes little
MAX_CENTERED = 400  # stimuli on which subtracting the mean is tried
THRESHOLD_POINTS = 512  # points of a threshold curve that are stored
CLEAR_GAIN, CLEAR_ERRORS = 0.02, 3.0  # of generalization, and in standard errors; less is not worth a sentence
MIN_BATCHES = 8  # before the precision is checked


@dataclass(frozen=True)
class Options:
    """Checked options of a measurement; see :func:`~genlaws.semanticity.measurement.measure.measure`."""

    name: str
    threshold: float | None
    items: tuple[int, ...]
    all_thresholds: bool
    ties: str
    tie_tolerance: float | None
    intervals: bool
    fronts: bool
    note: str = ""


def load_set(
    stimuli: Stimuli, options: Options, chosen: Whole | None = None
) -> tuple[MeasuredSet, ThresholdCurve | None]:
    """Return similarities and distances of the chosen stimuli; for the threshold similarity also its curve."""
    distance = stimuli.distances(chosen)
    if not distance.any():
        raise InputError("All true distances are zero; there is nothing to distinguish.")
    tolerance = stimuli.tie_tolerance(distance) if options.tie_tolerance is None else options.tie_tolerance
    values = stimuli.similarities(chosen)
    if not options.all_thresholds:
        return MeasuredSet(values, distance, options.ties, tolerance), None
    curve = threshold_curve(MeasuredSet(values, distance, options.ties, tolerance).others(), values, options.ties)
    radius = curve.threshold[curve.best] if options.threshold is None else options.threshold
    return MeasuredSet((values <= radius).astype(np.float64), distance, options.ties, tolerance), curve


def measure_whole(stimuli: Stimuli, options: Options, rng: np.random.Generator) -> Measurement:
    """Measure all stimuli at once."""
    whole, curve = load_set(stimuli, options)
    n = stimuli.count
    others = whole.others()
    pair = two_items(others, options.ties, errors=options.intervals)
    items = item_curve(whole, others, pair, options.items, rng, errors=options.intervals)
    sums = profile_sums(whole.similarity, whole.distance)
    fit = fit_of(whole, sums, rng, intervals=options.intervals)
    front, constant = fronts_of(whole, others, pair, fit, rng) if options.fronts else (None, None)
    own_zero = int((whole.own == 0).sum())
    ball_mass, variance = ball_at(whole.distance, fit.resolution.value)
    if curve is not None and curve.threshold.size > THRESHOLD_POINTS:
        curve = thinned(curve, curve.threshold[curve.best])
    found = Measurement(
        stimulus_count=n,
        similarity=options.name,
        generalization=from_standard_error(pair.generalization, pair.generalization_error, n),
        identification=from_standard_error(pair.identification, pair.identification_error, n),
        items=items,
        profile=sums.profile(),
        fit=fit,
        ball_mass=ball_mass,
        ball_mass_variance=variance,
        front=front,
        constant_front=constant,
        threshold_curve=curve,
        ties=options.ties,
        tied_fraction=pair.tied_fraction,
        zero_fraction=float((whole.similarity == 0).sum() - own_zero) / (n * (n - 1.0)),
        exact=True,
        batch_count=1,
        batch_size=n,
        message="",
    )
    centering = centering_sentence(stimuli, whole, options)
    return replace(found, message=describe(found, own_zero, options.note, centering=centering))


def fit_of(measured: MeasuredSet, sums: ProfileSums, rng: np.random.Generator, *, intervals: bool) -> ProfileFit:
    """Return the fit to a profile, which is that of a set or is pooled over batches of which the set is one."""
    good = relabeled_fits(measured.similarity, measured.distance, sums.bins)
    replicates = STIMULUS_BOOTSTRAP_REPLICATES if intervals else 0
    return fit_profile(sums, rng, replicates, as_good=good, tolerance=measured.tolerance)


def centering_sentence(stimuli: Stimuli, part: MeasuredSet, options: Options, chosen: Whole | None = None) -> str:
    """Return a sentence that the mean was subtracted, or on what that would clearly change; empty otherwise.

    The chosen stimuli, those of `part`, are measured in both ways; at most `MAX_CENTERED` of them, taken at random.
    """
    if stimuli.mean is not None:
        return "The mean over stimuli was subtracted from the embeddings."
    if options.name not in MEAN_SENSITIVE or stimuli.compare is None:
        return ""
    n = len(part.own)
    some = np.arange(n) if n <= MAX_CENTERED else np.random.default_rng(0).choice(n, MAX_CENTERED, replace=False)
    rows = stimuli.rows(some if chosen is None else chosen[some])
    with np.errstate(all="ignore"):  # of numbers near the ends of their range the share is NaN
        scaled = rows / np.linalg.norm(rows, axis=1, keepdims=True) if options.name == "cosine" else rows
        share = float((scaled.mean(axis=0) ** 2).sum() / (scaled**2).sum(axis=1).mean())
        centered = rows - rows.mean(axis=0)
    if not share >= LARGE_MEAN_SHARE or not centered.any(axis=1).all():
        return ""
    here = part.part(some)
    now = two_items(here.others(), options.ties, errors=False).generalization
    then = two_items(replace(here, similarity=stimuli.compare(centered, centered)).others(), options.ties)
    if not then.generalization - now > max(CLEAR_GAIN, CLEAR_ERRORS * then.generalization_error):
        return ""
    return (
        f"The mean over stimuli makes up {100 * share:.0f} % of the embeddings' squared length. Without it "
        f"generalization is {then.generalization:.3f} instead of {now:.3f}: measure again with center=True (--center), "
        "or subtract the mean of each column first."
    )


def fronts_of(
    stimuli: MeasuredSet, others: Others, pair: TwoItems, fit: ProfileFit, rng: np.random.Generator
) -> tuple[EmpiricalFront | None, EmpiricalFront | None]:
    """Return the front of the fit, with its amplitude and background, and that of the constant similarity alone."""
    if not np.isfinite(pair.generalization):
        return None, None
    constant = constant_front(stimuli, others, (pair.generalization, pair.identification))
    if not np.isfinite(fit.resolution.value):
        return None, constant
    return empirical_front(stimuli, fit.similarity(), rng, others, fit.amplitude), constant


def thinned(curve: ThresholdCurve, threshold: float) -> ThresholdCurve:
    """Return a threshold curve at fewer thresholds, one of them given."""
    grid = np.quantile(curve.threshold, np.linspace(0.0, 1.0, THRESHOLD_POINTS))
    return curve_at(curve, np.unique(np.append(grid, threshold)))


def curve_at(curve: ThresholdCurve, thresholds: Array) -> ThresholdCurve:
    """Return a threshold curve at other thresholds."""
    place = np.maximum(np.searchsorted(curve.threshold, thresholds, side="right") - 1, 0)
    values = (
        getattr(curve, name)[place] for name in ("generalization", "identification", "ball_mass", "ball_mass_variance")
    )
    return ThresholdCurve(thresholds, *values)


@dataclass(frozen=True)
class Batch:
    """What is stored of one batch."""

    pair: TwoItems
    items: ItemCurve
    profile: ProfileSums
    curve: ThresholdCurve | None
    zero_fraction: float
    own_zero: int


def measure_batches(
    stimuli: Stimuli,
    options: Options,
    rng: np.random.Generator,
    *,
    size: int,
    most: int,
    precision: float | None,
    running: Running,
) -> Measurement:
    """Measure disjoint random batches of `size` stimuli, at most `most` of them, and average.

    Each batch is a simple random sample without replacement, so the mean over its triples is an unbiased estimate of
    the mean over all triples. Memory is that of one batch. A threshold that is not given is the best of the first.
    """
    order = rng.permutation(stimuli.count)
    most = min(most, stimuli.count // size)
    running.start(most, "batches")
    first, curve = load_set(stimuli, options, np.sort(order[:size]))
    if curve is not None:
        # One threshold and one grid for all batches, or they could not be averaged.
        radius = float(curve.threshold[curve.best]) if options.threshold is None else options.threshold
        options = replace(options, threshold=radius)
        curve = thinned(curve, radius)
    done = [_measure_batch(first, curve, options, rng, None)]
    running.advance()
    while len(done) < most and not _precise(done, precision):
        chosen = np.sort(order[len(done) * size : (len(done) + 1) * size])
        batch, here = load_set(stimuli, options, chosen)
        if here is not None and curve is not None:
            here = curve_at(here, curve.threshold)
        done.append(_measure_batch(batch, here, options, rng, done[0].profile.bins))
        running.advance()
    running.advance(most - len(done))  # batches that were not needed
    return _average(done, stimuli, options, (first, np.sort(order[:size])), rng)


def _measure_batch(
    batch: MeasuredSet, curve: ThresholdCurve | None, options: Options, rng: np.random.Generator, bins: Bins | None
) -> Batch:
    n = len(batch.own)
    others = batch.others()
    pair = two_items(others, options.ties, errors=False)
    return Batch(
        pair,
        item_curve(batch, others, pair, options.items, rng, errors=False),
        profile_sums(batch.similarity, batch.distance, bins, by_stimulus=False),
        curve,
        float((batch.similarity == 0).sum() - (batch.own == 0).sum()) / (n * (n - 1.0)),
        int((batch.own == 0).sum()),
    )


def _precise(done: list[Batch], precision: float | None) -> bool:
    if precision is None or len(done) < MIN_BATCHES:
        return False
    both = (
        _over_batches([getattr(batch.pair, name) for batch in done]) for name in ("generalization", "identification")
    )
    return all(0.5 * (estimate.high - estimate.low) <= precision for estimate in both)


def _over_batches(values: list[float], size: int = 1) -> Estimate:
    """Return the mean over batches with the interval of their spread."""
    given = np.array(values)
    error = float(given.std(ddof=1) / np.sqrt(given.size)) if given.size > 1 else np.nan
    return from_standard_error(float(given.mean()), error, given.size * size, given.size - 1)


def _average(
    done: list[Batch],
    stimuli: Stimuli,
    options: Options,
    first_batch: tuple[MeasuredSet, Whole],
    rng: np.random.Generator,
) -> Measurement:
    first, chosen = first_batch
    size, count = len(first.own), len(done)
    sums = pool_sums([batch.profile for batch in done])
    fit = fit_of(first, sums, rng, intervals=options.intervals and count > 1)
    generalization = _over_batches([batch.pair.generalization for batch in done], size)
    identification = _over_batches([batch.pair.identification for batch in done], size)
    front, constant = fronts_of(first, first.others(), done[0].pair, fit, rng) if options.fronts else (None, None)
    mean_ball, variance = _ball(first.distance, fit.resolution.value)
    items = _mean_curve([batch.items for batch in done], size)
    found = Measurement(
        stimulus_count=stimuli.count,
        similarity=options.name,
        generalization=generalization,
        identification=identification,
        items=items,
        profile=sums.profile(),
        fit=fit,
        ball_mass=mean_ball,
        ball_mass_variance=variance,
        front=front,
        constant_front=constant,
        threshold_curve=_mean_thresholds([batch.curve for batch in done if batch.curve is not None]),
        ties=options.ties,
        tied_fraction=float(np.mean([batch.pair.tied_fraction for batch in done])),
        zero_fraction=float(np.mean([batch.zero_fraction for batch in done])),
        exact=False,
        batch_count=count,
        batch_size=size,
        message="",
    )
    opening = (
        f"Mean over {count} random batches of {size} stimuli out of {stimuli.count:,}; every triple of a batch counts."
    )
    centering = centering_sentence(stimuli, first, options, chosen)
    own_zero = sum(batch.own_zero for batch in done)
    return replace(found, message=describe(found, own_zero, options.note, opening=opening, centering=centering))


def _mean_curve(curves: list[ItemCurve], size: int) -> ItemCurve:
    def mean(estimates: list[tuple[Estimate, ...]]) -> tuple[Estimate, ...]:
        return tuple(_over_batches([one.value for one in column], size) for column in zip(*estimates, strict=True))

    return ItemCurve(
        curves[0].item_count,
        mean([curve.generalization for curve in curves]),
        mean([curve.identification for curve in curves]),
        sum(curve.probe_count for curve in curves),
        float(np.mean([curve.collapse_constant for curve in curves])),
        float(np.mean([curve.fitted_constant for curve in curves])),
    )


def _mean_thresholds(curves: list[ThresholdCurve]) -> ThresholdCurve | None:
    if not curves:
        return None
    names = ("generalization", "identification", "ball_mass", "ball_mass_variance")
    return ThresholdCurve(
        curves[0].threshold, *(np.mean([getattr(curve, name) for curve in curves], axis=0) for name in names)
    )


def _ball(distance: Array, resolution: float) -> tuple[float, float]:
    """Return mean and variance over probes of the mass within a resolution, free of the noise of a small batch."""
    if not np.isfinite(resolution):
        return float("nan"), float("nan")
    others = len(distance) - 1.0
    inside = (distance <= resolution).sum(axis=1) - 1.0
    mean = float(inside.mean() / others)
    square = float((inside * (inside - 1.0)).mean() / (others * (others - 1.0)))
    return mean, max(square - mean**2, 0.0)
