"""Mutual information of a unit's states at successive sites, compared with shuffled texts.

Messages report what limits it: constant, nearly discrete or lumped states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from genlaws.core.arguments import Array, Mask, Whole
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_replicates, from_standard_error
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, question
from genlaws.core.seeds import generator_of
from genlaws.models.stream import Site, Stream
from genlaws.residual_stream.measures.curves import TEXT_BOOTSTRAP_REPLICATES
from genlaws.residual_stream.measures.estimators import (
    ESTIMATORS,
    FUNCTION_TOLERANCE,
    copula_shortfall,
    enough_texts,
    least_information,
    points_of,
    varies,
)
from genlaws.residual_stream.parameters import (
    BaselineChoice,
    InformationEstimator,
    Shuffles,
    Threads,
)

MAX_REPEATED_SHARE = 0.5  # share of texts that may repeat a value before a variable counts as nearly discrete
MIN_REPORTED_SHORTFALL_NATS = 0.1  # by which ranks may underestimate a strong dependence
MAX_ENTROPY_GAP_NATS = 0.5  # below a Gaussian's entropy; beyond it one bandwidth does not fit
DISCRETE_EFFECTS = {  # of a nearly discrete variable on each estimate
    "copula": "the copula gives a lower bound",
    "neighbors": "equal values are separated by noise of 1e-10",
    "binned": "equal values share a bin",
    "kernel": "KDE overestimates",
}


def nearly_discrete(values: Array) -> Mask:
    """Return which rows of (variables, texts) have so few values that more than half of the texts repeat one."""
    ordered = np.sort(values, axis=-1)
    distinct = 1 + np.count_nonzero(np.diff(ordered, axis=-1), axis=-1)
    return np.asarray(distinct < (1.0 - MAX_REPEATED_SHARE) * values.shape[-1])


def linear_functions(x: Array, y: Array) -> Mask:
    """Return in which rows of (units, texts) one variable is a linear function of the other, up to rounding."""
    a, b = (np.asarray(rows, dtype=np.float64) - rows.mean(axis=-1, keepdims=True, dtype=np.float64) for rows in (x, y))
    squares = (a**2).sum(axis=-1) * (b**2).sum(axis=-1)
    return np.asarray((squares > 0) & (squares - (a * b).sum(axis=-1) ** 2 < FUNCTION_TOLERANCE * squares))


def entropy_deficit(values: Array) -> Array:
    r"""Return how far the entropy of each row lies below that of a Gaussian with its variance, in nats.

    .. math:: J = \tfrac12\ln 2\pi e s^2 - \frac1{N-m}\sum_i \ln\Big[\frac{N+1}{m}(x_{(i+m)}-x_{(i)})\Big]
        - \ln m + \psi(m)

    Symbols: :math:`x_{(i)}` are the sorted values, :math:`s` their standard deviation, :math:`m` about
    :math:`\sqrt N / 2`. Near 0 for a bell-shaped variable, 0.18 for a uniform one, 2.3 for two lumps forty widths
    apart, infinite for repeated values.
    """
    count = values.shape[-1]
    m = max(1, round(0.5 * count**0.5))
    ordered = np.sort(values.astype(np.float64), axis=-1)
    with np.errstate(divide="ignore"):
        logs = np.log((count + 1) / m * (ordered[:, m:] - ordered[:, :-m])).mean(axis=-1)
        gaussian = 0.5 * np.log(2.0 * np.pi * math.e * values.var(axis=-1, dtype=np.float64))
    bias = np.log(m) - digamma(m)
    return np.asarray(gaussian - logs - bias)


def reason_of(estimator: str, names: tuple[str, str], states: tuple[Array, Array], values: Array) -> str:
    """Return a message about what limits the information of one transition, or an empty one.

    Parameters
    ----------
    estimator : str
    names : tuple of str
        Of the two sites.
    states : tuple of two arrays of shape (units, texts)
    values : array of shape (units,)
        The estimates.
    """
    parts = []
    for name, rows in zip(names, states, strict=True):
        moving = varies(rows)
        if not moving.all():
            parts.append(f"undefined for {_format_share(~moving)}: the state at {name} is the same in all texts")
        discrete = nearly_discrete(rows) & moving
        if discrete.any():
            parts.append(f"nearly discrete at {name} in {_format_share(discrete)}: {DISCRETE_EFFECTS[estimator]}")
        if estimator == "kernel" and (moving & ~discrete).any():
            lumped = np.zeros_like(moving)
            lumped[moving & ~discrete] = entropy_deficit(rows[moving & ~discrete]) > MAX_ENTROPY_GAP_NATS
            if lumped.any():
                parts.append(f"lumps or far outliers at {name} in {_format_share(lumped)}: one bandwidth does not fit")
    parts += _strength_messages(estimator, names, states, values)
    return "; ".join(parts)


def _strength_messages(
    estimator: str, names: tuple[str, str], states: tuple[Array, Array], values: Array
) -> Iterator[str]:
    """Yield a message about a dependence that is stronger than this number of texts can show."""
    count = states[0].shape[-1]
    infinite = np.isinf(values)
    copies = infinite & (linear_functions(*states) | (estimator == "kernel"))
    same_order = infinite & ~copies
    if copies.any():
        yield f"infinite for {_format_share(copies)}: {names[1]} is a linear function of {names[0]}"
    if same_order.any():
        continuous = not (same_order & (nearly_discrete(states[0]) | nearly_discrete(states[1]))).any()
        least = f", so the information is about {least_information(count):.1f} nats or more" if continuous else ""
        yield (
            f"no finite value for {_format_share(same_order)}, left out of the mean: all {count} texts have the same "
            f"or the opposite order at {names[0]} and {names[1]}{least}"
        )
    finite = np.isfinite(values)
    if estimator == "copula" and finite.any():
        low = float(copula_shortfall(values[finite], count).mean())
        if low > MIN_REPORTED_SHORTFALL_NATS:
            yield f"about {low:.1f} nats too low: ranks of {count} texts cannot resolve a dependence this strong"


def _format_share(chosen: Mask) -> str:
    """Return how many of the units are chosen, as text."""
    return "all units" if chosen.all() else f"{np.count_nonzero(chosen)} of {chosen.size} units"


@dataclass(frozen=True, eq=False, repr=False)
class Information(Result):
    """Mutual information between successive sites, in nats.

    Attributes
    ----------
    estimator : {"copula", "neighbors", "binned", "kernel"}
    sites : tuple of Site
        Of the stream; transition t leads from site t to site t + 1.
    units : array of int
        Numbers of the units that were measured.
    values : array of shape (transitions, units)
        NaN where a state is constant. Infinite where all texts have the same order at both sites (copula), or the next
        state is a linear function of this one (copula and kernel).
    errors : array of shape (transitions, units)
        Standard errors over texts.
    means : tuple of Estimate
        Mean over the units with a finite value, of each transition, with a bootstrap interval over texts.
    baseline_values : array of shape (shuffles, transitions, units)
        The same estimates with the texts of the next site permuted.
    baselines : tuple of Estimate
        Mean over units and shuffles, of each transition, with Student's interval over shuffles.
    reasons : tuple of str
        What limits the reading of each transition; empty where nothing does.
    """

    estimator: str
    sites: tuple[Site, ...]
    units: Whole
    values: Array
    errors: Array
    means: tuple[Estimate, ...]
    baseline_values: Array
    baselines: tuple[Estimate, ...]
    reasons: tuple[str, ...]

    @property
    def message(self) -> str:
        """What limits the information of some transitions; empty if nothing does."""
        places: dict[str, list[str]] = {}
        for t, reason in enumerate(self.reasons):
            places.setdefault(reason, []).append(str(t))
        places.pop("", None)
        named = [
            f"transition{'s' if len(found) > 1 else ''} {', '.join(found)}: {reason}"
            for reason, found in places.items()
        ]
        return ". ".join(named) + "." if named else ""

    def to_frame(self) -> DataFrame:
        """Return one row per transition: the mean over units, its interval, the baseline and its limits."""
        rows = [
            {
                "transition": t,
                "from": self.sites[t].name,
                "to": self.sites[t + 1].name,
                "write": self.sites[t].place,
                "information": mean.value,
                "low": mean.low,
                "high": mean.high,
                "baseline": baseline.value,
                "baseline_low": baseline.low,
                "baseline_high": baseline.high,
                "above_baseline": mean.value - baseline.value,
                "units": int(np.isfinite(self.values[t]).sum()),
                "reason": self.reasons[t],
            }
            for t, (mean, baseline) in enumerate(zip(self.means, self.baselines, strict=True))
        ]
        return frame_of(rows)


@question
def mutual_information(
    stream: Stream,
    *,
    estimator: InformationEstimator = "neighbors",
    baseline: BaselineChoice = "shuffle",
    shuffles: Shuffles = 4,
    units: Sequence[int] | Whole | None = None,
    seed: int | np.random.Generator = 0,
    jobs: Threads = 1,
) -> Information:
    r"""Estimate the mutual information of every unit between every site and the next.

    .. math:: I^u_l = \int p(h^u_l, h^u_{l+1}) \ln\frac{p(h^u_l, h^u_{l+1})}{p(h^u_l)\,p(h^u_{l+1})}

    Parameters
    ----------
    stream : Stream
        At least 10 texts; they are taken to be independent.
    estimator : {"neighbors", "copula", "binned", "kernel"}
        See :mod:`genlaws.residual_stream.measures.estimators`; "kernel" is the paper's.
    baseline : {"shuffle", "none"}
        Whether to estimate the same between each site and the next one of other texts.
    shuffles : int >= 1
        Permutations of the texts for the baseline, each one used for all transitions and units. Each costs as much as
        the estimate itself.
    units : sequence of int, optional
        Units to measure; all if not given.
    seed : int or Generator
        Of the permutations and of the bootstrap.
    jobs : int >= 1
        Threads. The numbers do not depend on it.

    Returns
    -------
    Information

    Notes
    -----
    Every estimator is a mean over texts of a pointwise information :math:`i_t`, and :math:`i_t - I` is the influence of
    a text on mutual information (changes of the densities inside the logarithm cancel to first order). The intervals
    resample texts in the mean over units of :math:`i_t`. Estimating again from resampled texts would be wrong: repeated
    texts have distance zero to each other and look like information. The intervals cover the scatter of texts, not the
    bias of the estimator; the baseline shows the part of the bias that exists without any dependence.

    References
    ----------
    :cite:p:`fernando2025`, Figures 1G and 1H, with the kernel estimator.
    """
    rounds = shuffles if baseline == "shuffle" else 0
    count = enough_texts(stream.text_count)
    chosen = _chosen_units(units, stream.unit_count)
    generator = generator_of(seed)
    orders = [np.arange(count)] + [generator.permutation(count) for _ in range(rounds)]
    transitions = len(stream.sites) - 1
    tasks = [(t, order) for order in orders for t in range(transitions)]
    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(lambda task: _one_transition(stream, estimator, chosen, *task), tasks))
    real, shuffled = found[:transitions], found[transitions:]
    values = np.stack([one.values for one in real])
    baseline_values = np.array([one.values for one in shuffled]).reshape(rounds, transitions, chosen.size)
    return Information(
        estimator=estimator,
        sites=stream.sites,
        units=chosen,
        values=values,
        errors=np.stack([one.errors for one in real]),
        means=_with_intervals(values, np.stack([one.text_means for one in real]), generator),
        baseline_values=baseline_values,
        baselines=tuple(_over_shuffles(baseline_values[:, t]) for t in range(transitions)),
        reasons=tuple(
            reason_of(
                estimator,
                (stream.sites[t].name, stream.sites[t + 1].name),
                _states_of_transition(stream, t, chosen),
                values[t],
            )
            for t in range(transitions)
        ),
    )


@dataclass(frozen=True)
class _Transition:
    """Estimates of one transition: of each unit, their standard errors, and the mean over units at each text."""

    values: Array
    errors: Array
    text_means: Array


def _one_transition(stream: Stream, estimator: str, units: Whole, transition: int, order: Whole) -> _Transition:
    """Estimate one transition with the texts of the next site in an order."""
    x, y = _states_of_transition(stream, transition, units)
    points = points_of(ESTIMATORS[estimator], x, y[:, order])
    values = points.mean(axis=1)
    usable = np.isfinite(values)
    errors = np.full(values.shape, np.nan)
    errors[usable] = points[usable].std(axis=1, ddof=1) / math.sqrt(order.size)
    text_means = points[usable].mean(axis=0) if usable.any() else np.full(order.size, np.nan)
    return _Transition(values, errors, text_means)


def _states_of_transition(stream: Stream, transition: int, units: Whole) -> tuple[Array, Array]:
    """Return the states before and after a transition, (units, texts) each."""
    x, y = (np.ascontiguousarray(stream.states[:, site, units].T) for site in (transition, transition + 1))
    return x, y


def _with_intervals(values: Array, text_means: Array, generator: np.random.Generator) -> tuple[Estimate, ...]:
    """Return the mean of each row of (transitions, texts), with its bootstrap interval over the same drawn texts."""
    count = text_means.shape[1]
    drawn = generator.multinomial(count, np.full(count, 1.0 / count), size=TEXT_BOOTSTRAP_REPLICATES) / count
    replicates = drawn @ text_means.T
    return tuple(
        from_replicates(float(row.mean()), replicates[:, t], count if np.isfinite(values[t]).any() else 0)
        for t, row in enumerate(text_means)
    )


def _over_shuffles(values: Array) -> Estimate:
    """Return the mean over units and shuffles of (shuffles, units), with Student's interval over shuffles."""
    finite = np.isfinite(values).all(axis=0)
    if not values.size or not finite.any():
        return Estimate(math.nan)
    means = values[:, finite].mean(axis=1)
    error = float(means.std(ddof=1)) / math.sqrt(means.size) if means.size > 1 else math.nan
    return from_standard_error(float(means.mean()), error, means.size)


def _chosen_units(units: Sequence[int] | Whole | None, unit_count: int) -> Whole:
    """Return the numbers of the units to measure."""
    if units is None:
        return np.arange(unit_count)
    chosen = np.asarray(units)
    if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "iu":
        raise InputError(f"units must be a list of whole numbers, at least one; got {units!r}.")
    if chosen.min() < 0 or chosen.max() >= unit_count:
        raise InputError(f"units must lie between 0 and {unit_count - 1}; got {chosen.min()} to {chosen.max()}.")
    return chosen.astype(np.int64)
