r"""The collapse of identification: does the chance of naming the right one of n items fall as c/n?

Four laws for the number of right answers among the trials with n items, each binomial: :math:`c/n`, a power
:math:`a\,n^{-\gamma}`, a constant, and the law of n items on a space with balls of mass b,
:math:`(1-(1-b)^n)/(nb)`, which tends to :math:`c/n` with :math:`c = 1/b`. Guessing is :math:`c = 1`. All are fitted by
maximum likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from genlaws.core.arguments import Array, non_negative, positive, whole_number, within
from genlaws.core.errors import InputError
from genlaws.core.estimate import CONFIDENCE, Estimate, format_estimate, wilson_interval
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary, question
from genlaws.probes.outcomes import RecordedTrials
from genlaws.semanticity.theory.many_items import identification_of_many, item_numbers

INVERSE_LAW, POWER_LAW, CONSTANT_LAW, ITEMS_LAW, PREDICTED_LAW = "c/n", "power", "constant", "n items", "similarity"
DEVIANCE = float(stats.chi2.ppf(CONFIDENCE, 1))
MAX_EXPONENT = 20.0  # exponents beyond are as good as infinite
MIN_BALL_MASS = 1e-6  # masses below are as good as zero
# From three times c items on, (1-b)^n is below exp(-3), and the law of n items within 5 % of its limit c/n.
LIMIT_FACTOR = 3.0
REJECTION_LEVEL = 0.05  # a law with a smaller p-value is rejected
# Added to the message where probabilities stand for choices.
WEIGHT_NOTE = "A probability counts as so many choices as the spread over trials allows."
MIN_SPREAD_TRIALS = 20  # with fewer the spread is too uncertain, and a probability counts as one choice
MAX_CHOICES_PER_TRIAL = 100.0  # that one probability may count as, where they hardly differ
MIN_ITEM_COUNTS = 3  # numbers of items needed to see a law


@dataclass(frozen=True)
class Law:
    """One law fitted to the right answers.

    Attributes
    ----------
    name : {"c/n", "power", "constant", "n items", "similarity"}
    parameters : dict of str to Estimate
        With 95 % profile-likelihood intervals; an end that the answers leave open is infinite.
    probabilities : array
        Of a right answer, for each number of items that was used.
    log_likelihood, aic : float
    deviance : float
        Twice the log-likelihood by which the law falls short of one through all points.
    degrees : int
        Numbers of items minus parameters.
    p_value : float
        Of a deviance at least this large if the law holds; NaN without degrees of freedom.
    """

    name: str
    parameters: dict[str, Estimate]
    probabilities: Array
    log_likelihood: float
    aic: float
    deviance: float
    degrees: int
    p_value: float

    def predict(self, item_counts: ArrayLike) -> Array:
        """Return the probability of a right answer among so many items; NaN for a law without parameters."""
        n = item_numbers("item_counts", item_counts)
        values = {name: one.value for name, one in self.parameters.items()}
        if self.name == INVERSE_LAW:
            return np.minimum(values["c"] / n, 1.0)
        if self.name == POWER_LAW:
            return np.minimum(values["a"] * n ** -values["gamma"], 1.0)
        if self.name == CONSTANT_LAW:
            return np.full(n.shape, values["p"])
        return identification_of_many(values["b"], n) if self.name == ITEMS_LAW else np.full(n.shape, np.nan)


class AnswerCounts:
    """Right answers among trials, and the likelihood of probabilities for them."""

    def __init__(self, n: Array, k: Array, total: Array) -> None:
        self.n, self.k, self.total = n, k, total
        self.highest = self.log_likelihood(k / total)

    def log_likelihood(self, p: Array) -> float:
        """Return the binomial log-likelihood without its constant; minus infinity for an impossible answer."""
        return float((special.xlogy(self.k, p) + special.xlog1py(self.total - self.k, -p)).sum())

    def best_scale(self, weights: Array) -> float:
        r"""Return the a for which :math:`p = a w` is likeliest, none of them above 1."""
        most = 1.0 / float(weights.max())
        misses = self.total - self.k

        def slope(scale: float) -> float:
            """Return the derivative of the log-likelihood with respect to log a, which falls."""
            p = np.minimum(scale * weights, 1.0)
            return float(self.k.sum() - (misses * np.divide(p, 1.0 - p, out=np.zeros_like(p), where=p < 1.0)).sum())

        top = most * (1.0 - 1e-12)
        if self.k.sum() == 0:
            return 0.0
        return most if slope(top) >= 0 else float(optimize.brentq(slope, 0.0, top, xtol=1e-14, rtol=1e-12))

    def law(self, name: str, parameters: dict[str, Estimate], p: Array) -> Law:
        """Return a law with its likelihood and how well it fits."""
        value, count = self.log_likelihood(p), len(parameters)
        deviance, degrees = max(2.0 * (self.highest - value), 0.0), self.n.size - count
        p_value = float(stats.chi2.sf(deviance, degrees)) if degrees > 0 else math.nan
        return Law(name, parameters, p, value, 2.0 * count - 2.0 * value, deviance, degrees, p_value)

    def estimate(self, best: float, profile: Callable[[float], float], low: float, high: float) -> Estimate:
        """Return the profile-likelihood interval of a parameter between two limits."""
        top = profile(best)

        def beyond(value: float) -> float:
            """Return how far the deviance exceeds its 95 % point."""
            return min(2.0 * (top - profile(value)), 1e9) - DEVIANCE

        ends = [
            limit if best == limit or beyond(limit) <= 0 else float(optimize.brentq(beyond, best, limit, xtol=1e-10))
            for limit in (low, high)
        ]
        return Estimate(best, ends[0], ends[1], round(float(self.total.sum())))


def _scaled(name: str, parameter: str, used: AnswerCounts, weights: Array) -> Law:
    best = used.best_scale(weights)
    limit = 1.0 / float(weights.max())
    value = used.estimate(best, lambda scale: used.log_likelihood(np.minimum(scale * weights, 1.0)), 0.0, limit)
    return used.law(name, {parameter: value}, np.minimum(best * weights, 1.0))


def fit_inverse_law(used: AnswerCounts) -> Law:
    """Fit c/n."""
    return _scaled(INVERSE_LAW, "c", used, 1.0 / used.n)


def fit_constant_law(used: AnswerCounts) -> Law:
    """Fit the same probability for every number of items."""
    return _scaled(CONSTANT_LAW, "p", used, np.ones_like(used.n))


def fit_items_law(used: AnswerCounts) -> Law:
    """Fit the mass of the ball of the law of n items."""

    def profile(logarithm: float) -> float:
        """Return the log-likelihood at a logarithm of the mass."""
        return used.log_likelihood(identification_of_many(min(math.exp(logarithm), 1.0), used.n))

    low = math.log(MIN_BALL_MASS)
    grid = np.linspace(low, 0.0, 60)
    near = int(np.argmax([profile(at) for at in grid]))
    bracket = (float(grid[max(near - 1, 0)]), float(grid[min(near + 1, grid.size - 1)]))
    found = float(optimize.minimize_scalar(lambda at: -profile(at), bounds=bracket, options={"xatol": 1e-9}).x)
    best = max((found, *bracket), key=profile)
    ends = used.estimate(best, profile, low, 0.0)
    least = 0.0 if ends.low == low else math.exp(ends.low)
    mass = Estimate(math.exp(best), least, math.exp(ends.high), ends.count)
    return used.law(ITEMS_LAW, {"b": mass}, identification_of_many(min(mass.value, 1.0), used.n))


def fit_power_law(used: AnswerCounts) -> Law:
    """Fit a power law; its likelihood is concave in the logarithm of a and the exponent together."""
    middle = float(np.exp(np.log(used.n).mean()))

    def curve(gamma: float) -> Array:
        """Return the likeliest probabilities for an exponent."""
        weights: Array = (used.n / middle) ** -gamma
        return np.minimum(used.best_scale(weights) * weights, 1.0)

    def profile(gamma: float) -> float:
        """Return the largest log-likelihood for an exponent."""
        return used.log_likelihood(curve(gamma))

    limits = (-MAX_EXPONENT, MAX_EXPONENT)
    gamma = float(optimize.minimize_scalar(lambda at: -profile(at), bounds=limits, options={"xatol": 1e-9}).x)
    found = used.estimate(gamma, profile, *limits)
    ends = (-math.inf if found.low == limits[0] else found.low, math.inf if found.high == limits[1] else found.high)
    p = curve(gamma)
    factor = Estimate(float(p[0] * used.n[0] ** gamma), count=found.count)
    return used.law(POWER_LAW, {"a": factor, "gamma": Estimate(gamma, *ends, found.count)}, p)


@dataclass(frozen=True)
class NestedTest:
    """Whether a law is worse than a wider one that contains it, by the ratio of their likelihoods.

    Attributes
    ----------
    restricted, wider : str
        Names of the laws.
    statistic : float
        Twice the difference of the log-likelihoods.
    degrees : int
    p_value : float
    """

    restricted: str
    wider: str
    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Collapse(Result):
    """Identification against the number of items, and the laws it may follow.

    Attributes
    ----------
    item_counts, successes, trial_counts : arrays
        The data; for a probe in probability mode, the choices that its probabilities are worth.
    shares : tuple of Estimate
        With Wilson's interval, for which successes are rounded.
    from_items : int
        The laws are fitted to this many items and more.
    laws : dict of str to Law
        All on the same trials, so that their AIC can be compared.
    tests : tuple of NestedTest
        c/n and the constant against the power law.
    constant : Estimate
        The constant c of c/n; NaN if nothing was answered.
    limit : Estimate
        The constant that the law of n items tends to, c = 1/b; valid even where n is too small for c/n to hold.
    exponent : Estimate
        The exponent of the power law; NaN where the answers do not determine it.
    best : str
        The law with the least AIC; empty if there is none.
    message : str
    """

    item_counts: Array
    successes: Array
    trial_counts: Array
    shares: tuple[Estimate, ...]
    from_items: int
    laws: dict[str, Law]
    tests: tuple[NestedTest, ...]
    constant: Estimate
    limit: Estimate
    exponent: Estimate
    best: str
    message: str

    def to_frame(self) -> DataFrame:
        """Return one row per law: AIC, deviance, degrees of freedom and p-value."""
        columns = ("log_likelihood", "aic", "deviance", "degrees", "p_value")
        rows = [{"law": law.name, **{name: getattr(law, name) for name in columns}} for law in self.laws.values()]
        return frame_of(rows, columns=["law", *columns])

    def summary(self) -> Summary:
        """Return the constant, the exponent and what they can be trusted for."""
        if not self.laws:
            return Summary(sentences=(self.message,))
        fitted = f"identification of n items falls as c/n, fitted from {self.from_items} items on; 1 is guessing"
        limit, exponent = format_estimate(self.limit), format_estimate(self.exponent)
        rows = [
            Row("1/n constant c", format_estimate(self.constant), fitted),
            Row("c by the law of n items", limit, "what n times identification tends to for many items"),
            Row("exponent", exponent, "of a power law instead of c/n; 1 for c/n, 0 for no collapse"),
        ]
        for test in self.tests:
            if test.restricted == INVERSE_LAW:
                meaning = "chance that a power law fits this much better if c/n holds; small is evidence against c/n"
                rows.append(Row("test of c/n", f"p = {test.p_value:.2g}", meaning))
        return Summary(rows, (self.message,))


@question
def collapse_of(
    given: RecordedTrials, *, predicted: ArrayLike | None = None, from_items: int | None = None
) -> Collapse:
    """Fit the laws to the identification trials of a probe; in probability mode to their mean probabilities.

    Parameters
    ----------
    given : RecordedTrials
    predicted : array or None
        What another fit predicts for each number of items, in increasing order, such as
        :meth:`~genlaws.probes.resolution.ResolutionFit.identification`.
    from_items : int or None
        As for `fit_collapse`.
    """
    replied = given.of_kinds(("identification",))
    replied = replied.take(~replied.failed)
    sizes = replied.item_counts
    counts = np.unique(sizes)
    if not counts.size:
        none = (Estimate(math.nan),) * 3
        return Collapse(*(np.empty(0),) * 3, (), 0, {}, (), *none, "", "No identification trial got a reply.")
    graded = replied.mode == "probability"
    hits = replied.probability if graded else replied.correct.astype(np.float64)
    groups = [hits[sizes == count] for count in counts]
    totals = [choices_worth(group) if graded else float(group.size) for group in groups]
    sums = [min(float(group.mean()), 1.0) * total for group, total in zip(groups, totals, strict=True)]
    found = fit_collapse(counts, sums, totals, predicted=predicted, from_items=from_items)
    return replace(found, message=f"{found.message} {WEIGHT_NOTE}") if graded else found


def choices_worth(probabilities: Array) -> float:
    r"""Return how many choices the probabilities of some trials are worth: their share varies as much as the mean does.

    .. math:: N_\text{eff} = \frac{\bar p\,(1-\bar p)}{s^2/N}

    Symbols: :math:`s^2` is the variance of the probabilities over the :math:`N` trials. It is at most
    :math:`\bar p\,(1-\bar p)`, so a probability is worth at least one choice, and exactly one if all are 0 or 1.

    Parameters
    ----------
    probabilities : array in [0, 1], one for each trial
    """
    trials = probabilities.size
    if trials < MIN_SPREAD_TRIALS:
        return float(trials)
    mean, variance = float(probabilities.mean()), float(probabilities.var())
    most = MAX_CHOICES_PER_TRIAL * trials
    if variance * MAX_CHOICES_PER_TRIAL <= mean * (1.0 - mean):
        return most
    return max(mean * (1.0 - mean) / variance, 1.0) * trials


@question
def fit_collapse(
    item_counts: ArrayLike,
    successes: ArrayLike,
    trial_counts: ArrayLike,
    *,
    predicted: ArrayLike | None = None,
    from_items: int | None = None,
) -> Collapse:
    r"""Fit c/n, a power law, a constant and the law of n items to right answers, by maximum likelihood.

    No law may exceed 1: the constant c is at most the least number of items used, and the power law at most 1 at both
    ends. Intervals are those of the profile likelihood.

    Parameters
    ----------
    item_counts : array of different whole numbers, at least 2
    successes : array
        Right answers; need not be whole, as with sums of probabilities; :func:`choices_worth` gives the number of
        trials that those are worth.
    trial_counts : array of positive numbers
    predicted : array or None
        Probabilities of another model for the `item_counts`, compared as a law without parameters.
    from_items : int or None
        Fit to this many items and more. None takes the smallest number that is at least three times the c of the law of
        n items and from which c/n is not rejected (p > 0.05), and the last three numbers if fewer would be left. The
        intervals do not account for this choice.
    """
    n, k, total = _checked(item_counts, successes, trial_counts)
    order = np.argsort(n)
    n, k, total = n[order], k[order], total[order]
    extra = None if predicted is None else _checked_prediction(predicted, n)[order]
    if from_items is None:
        start = _first_used(AnswerCounts(n, k, total))
    else:
        start = int(np.searchsorted(n, whole_number("from_items", from_items)))
    if start >= n.size:
        raise InputError(f"from_items must be at most the largest number of items, {n[-1]:g}; got {from_items}.")
    used = AnswerCounts(n[start:], k[start:], total[start:])
    fits = [fit_inverse_law(used), fit_constant_law(used), fit_items_law(used)]
    if used.n.size > 1 and used.k.sum() > 0:
        fits.append(fit_power_law(used))
    if extra is not None and np.isfinite(extra[start:]).all():
        fits.append(used.law(PREDICTED_LAW, {}, extra[start:]))
    laws = {law.name: law for law in fits}
    shares = tuple(wilson_interval(round(a), round(b)) for a, b in zip(k.tolist(), total.tolist(), strict=True))
    b = laws[ITEMS_LAW].parameters["b"]
    return Collapse(
        n,
        k,
        total,
        shares,
        int(used.n[0]),
        laws,
        _tests(laws),
        constant=laws[INVERSE_LAW].parameters["c"],
        limit=Estimate(1.0 / b.value, 1.0 / b.high, 1.0 / b.low if b.low > 0 else math.inf, b.count),
        exponent=laws[POWER_LAW].parameters["gamma"] if POWER_LAW in laws else Estimate(math.nan),
        best=min(laws, key=lambda name: laws[name].aic),
        message=_message(laws, used),
    )


def _checked(item_counts: ArrayLike, successes: ArrayLike, trial_counts: ArrayLike) -> tuple[Array, Array, Array]:
    n, k = item_numbers("item_counts", item_counts, 2), non_negative("successes", successes)
    total = positive("trial_counts", trial_counts)
    if not n.ndim == k.ndim == total.ndim == 1 or not n.size == k.size == total.size > 0:
        raise InputError("item_counts, successes and trial_counts must be lists of the same length, at least one.")
    if np.unique(n).size < n.size:
        raise InputError(f"item_counts must be different numbers; got {n.astype(int).tolist()}.")
    if (k > total).any():
        raise InputError(f"successes must be at most trial_counts; got {k[k > total][0]:g} of {total[k > total][0]:g}.")
    return n, k, total


def _checked_prediction(predicted: ArrayLike, n: Array) -> Array:
    p = np.asarray(predicted, dtype=np.float64)
    if p.shape != n.shape:
        raise InputError(f"predicted must have one probability for each of the {n.size} item_counts; got {p.size}.")
    within("predicted", p[np.isfinite(p)], 0.0, 1.0)
    return p


def _first_used(every: AnswerCounts) -> int:
    """Return the first place from which the law of n items is near its limit and c/n is not rejected."""
    far = LIMIT_FACTOR * fit_items_law(every).parameters["b"].value ** -1.0
    last = max(every.n.size - MIN_ITEM_COUNTS, 0)
    for start in range(last):
        part = AnswerCounts(every.n[start:], every.k[start:], every.total[start:])
        if part.n[0] >= far and fit_inverse_law(part).p_value > REJECTION_LEVEL:
            return start
    return last


def _tests(laws: dict[str, Law]) -> tuple[NestedTest, ...]:
    if POWER_LAW not in laws:
        return ()
    tests = []
    for name in (INVERSE_LAW, CONSTANT_LAW):
        statistic = max(2.0 * (laws[POWER_LAW].log_likelihood - laws[name].log_likelihood), 0.0)
        tests.append(NestedTest(name, POWER_LAW, statistic, 1, float(stats.chi2.sf(statistic, 1))))
    return tuple(tests)


def _message(laws: dict[str, Law], used: AnswerCounts) -> str:
    c = laws[INVERSE_LAW].parameters["c"]
    parts = []
    if used.n.size < MIN_ITEM_COUNTS:
        parts.append("At least three numbers of items are needed to see a law.")
    if used.n[0] < LIMIT_FACTOR / laws[ITEMS_LAW].parameters["b"].value:
        parts.append("The items are too few for the limit c/n, so its c comes out too small; see the law of n items.")
    if c.low <= 1.0 <= c.high:
        parts.append("c = 1 is guessing, and lies in the interval of c.")
    if c.high < 1.0:
        parts.append("c is below 1: worse than guessing, as when replies cannot be read.")
    if laws[INVERSE_LAW].p_value < REJECTION_LEVEL:
        parts.append(f"c/n does not describe these answers (p = {laws[INVERSE_LAW].p_value:.2g}).")
    if POWER_LAW in laws:
        gamma = laws[POWER_LAW].parameters["gamma"]
        inside = gamma.low <= 1.0 <= gamma.high
        parts.append(f"The interval of the exponent {'contains' if inside else 'does not contain'} 1.")
    best = min(laws, key=lambda name: laws[name].aic)
    return " ".join([*parts, f"Of {len(laws)} laws, {best} has the least AIC."])
