r"""Message passing, the learner that reaches the least possible generalization error.

Generalized approximate message passing finds the mean of the posterior over rules and, for each training label, the
probability that it is a fact. On Gaussian inputs of large dimension its error is that of
:func:`genlaws.rules_facts.bayes_optimal`, and :func:`state_evolution` predicts it iteration by iteration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, expit, log_ndtr, ndtr

from genlaws.core.arguments import Array, Whole, real, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_standard_error
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.numerics.gaussian import SQRT_2, SQRT_2_OVER_PI
from genlaws.core.result import Result, Row, Summary, question
from genlaws.rules_facts import parameters
from genlaws.rules_facts.theory.bayes import channel_integral
from genlaws.rules_facts.theory.problem import read_fact_fraction

INITIAL_FACT_FRACTION = 0.5  # of a fact fraction that is to be learned
BISECTION_STEPS = 40  # of the interval it lies in
MAX_OVERLAP = 100.0  # fixed points have 1 at most; an iteration this far out has diverged
MAX_SETTLING_CHANGE = 0.1  # relative change of the weights above which more iterations will not help
SQUARED_LENGTH_RANGE = 1e-290, 1e290  # squared lengths of inputs; outside, digits are lost
SETTLED_MESSAGE = "The weights have settled."
UNSETTLED_MESSAGE = "The weights still change by {1:.1g} of their length after {0} iterations; allow more."
DIVERGED_MESSAGE = (
    "After {0} iterations the weights swing or grow instead of settling. Message passing needs inputs with nearly"
    " independent entries of mean zero: center and whiten them, or try damping=0.9."
)
LEARNED_MESSAGE = " The fact fraction was learned: {2:.3g}, standard error {3:.1g}."


@dataclass(frozen=True, eq=False, repr=False)
class MessagePassing(Result):
    r"""The learned rule. Histories have an entry for the start and one per iteration.

    Attributes
    ----------
    weights : array, shape (d,)
        ŵ, mean of the posterior over rules, whose prior has unit variance.
    weight_variance : float
        v, posterior variance of each weight.
    fact_probability : array, shape (n,)
        Posterior probability that the label of each training sample is a fact.
    fact_fraction, fact_fraction_error : float
        ε as given, with error 0, or as learned, with its standard error (infinite if nothing was learned).
    overlap_history, teacher_overlap_history, fact_fraction_history : array, shape (iterations + 1,)
        :math:`q_t = |\hat w|^2/d` and :math:`m_t = \hat w\cdot w^*/d`, which is NaN without a teacher and near
        :math:`q_t` at the true ε, both 0 at t = 0; and ε.
    residual : float
        Length of the last undamped change of the weights, relative to theirs.
    converged, iterations, message : bool, int, str
    """

    weights: Array
    weight_variance: float
    fact_probability: Array
    fact_fraction: float
    fact_fraction_error: float
    overlap_history: Array
    teacher_overlap_history: Array
    fact_fraction_history: Array
    converged: bool
    residual: float
    iterations: int
    message: str

    derived = ("generalization_error",)

    def summary(self) -> Summary:
        """Return the expected error, the share of facts and how the iteration ended."""
        learned = Estimate(self.fact_fraction) if self.fact_fraction_error == 0.0 else self._learned_share()
        rows = [
            Row("generalization error", f"{self.generalization_error:.6g}", "expected, against the rule"),
            Row("share of facts", str(learned), "as given" if self.fact_fraction_error == 0.0 else "learned"),
            Row("likely facts", f"{(self.fact_probability > 0.5).sum()} of {self.fact_probability.size} labels"),
        ]
        return Summary(rows, [self.message])

    def _learned_share(self) -> Estimate:
        found = from_standard_error(self.fact_fraction, self.fact_fraction_error, 0, math.inf)
        return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))

    def to_frame(self) -> DataFrame:
        """Return one row for each training sample: the probability that its label is a fact."""
        return frame_of({"sample": np.arange(self.fact_probability.size), "fact_probability": self.fact_probability})

    @property
    def generalization_error(self) -> float:
        r"""Expected generalization error :math:`\arccos(\sqrt q)/\pi`, the angle to a rule of the posterior over π.

        From :math:`\tan^2 = v/q`: at a fixed point :math:`q = 1 - v`, as no sign depends on the length of w.
        """
        return float(np.arctan2(np.sqrt(self.weight_variance), np.sqrt(self.overlap_history[-1])) / np.pi)

    def true_generalization_error(self, teacher: ArrayLike) -> float:
        """Return the share of fresh inputs, of any isotropic distribution, on which the prediction breaks a known rule.

        It is the angle between the weights and `teacher`, over π, and 1/2 where the weights are zero.
        """
        rule = _read_teacher(teacher, self.weights.size)
        unit = rule / np.linalg.norm(rule)
        along, across = self.weights @ unit, np.linalg.norm(self.weights - (self.weights @ unit) * unit)
        return float(np.arctan2(across, along) / np.pi) if self.weights.any() else 0.5

    def predict(self, inputs: ArrayLike) -> Array:
        """Return the more probable rule label, ±1, of inputs of shape (..., d); +1 where neither is."""
        given, d = real("inputs", inputs), self.weights.size
        if given.shape[-1:] != (d,) or not np.isfinite(given).all():
            raise InputError(f"inputs must be finite and have {d} columns, as in training; got shape {given.shape}.")
        return np.where(given @ self.weights >= 0.0, 1.0, -1.0)


@dataclass(frozen=True, eq=False, repr=False)
class StateEvolution(Result):
    """Message passing in large dimension, along its iterations; entry 0 is the start without information.

    Attributes
    ----------
    iteration : int array, shape (iterations + 1,)
    overlap : array of the same shape
        q_t, the overlap of the weights with themselves and with the teacher.
    generalization_error : array of the same shape
    """

    iteration: Whole

    overlap: Array
    generalization_error: Array

    def summary(self) -> Summary:
        """Return the error and the overlap after every iteration."""
        return Summary(table=self.table("sample_ratio", "fact_fraction", "iterations"))


@question
def message_passing(
    inputs: ArrayLike,
    labels: ArrayLike,
    *,
    fact_fraction: parameters.GivenFactFraction,
    iterations: parameters.Iterations = 500,
    tolerance: parameters.Tolerance = 1e-6,
    damping: parameters.Damping = 0.0,
    teacher: parameters.Teacher = None,
) -> MessagePassing:
    r"""Learn the rule behind labels of which a share are facts, as well as any learner can.

    From :math:`\hat w = 0, v = 1, g = 0`, with :math:`a_i = x_i/|x_i|` and g from
    :func:`~genlaws.rules_facts.theory.message_passing.channel`, an iteration is

    .. math::
        \omega_i = a_i\cdot\hat w - v\,g_i^{\text{old}}, \quad g_i = g(y_i, \omega_i, v), \quad
        \Lambda = -\tfrac1d \sum_i \partial_\omega g_i, \quad
        \hat w \leftarrow \frac{\Lambda \hat w + \sum_i g_i a_i}{1+\Lambda}, \quad v \leftarrow \frac1{1+\Lambda}.

    ω is the field of a sample as the others predict it, so its fact probability does not count its label twice.

    Parameters
    ----------
    inputs : array_like, shape (n, d)
        Entries nearly independent, of mean zero and equal size. Rows may have any length: no sign depends on it.
    labels : array_like of ±1, shape (n,)
    fact_fraction : float in [0, 1] or None
        ε. With None it is learned: after each iteration it becomes the ε of largest likelihood at the fields ω, the
        fixed point of expectation-maximization.
    iterations : int >= 1
    tolerance : float > 0
        Relative change of the weights at which the iteration stops.
    damping : float in [0, 1)
        Share of the old state in the new one. Fixed points stay; the path no longer follows `state_evolution`.
    teacher : array_like, shape (d,), optional
        w*, if known; used for the history of its overlap alone.

    Notes
    -----
    Rows have unit length, so one variance serves all weights and fields; one for each entry needs the squares of all
    inputs and moved the generalization error by about 1e-4 at d = 100. The generalization error of a run scatters
    around the Bayes curve by about :math:`0.2\,d^{-1/2}`; its mean is off by O(1/d). Correlated entries, or a
    common mean, make the iteration diverge or settle on a wrong answer. Signs do not depend on the length of w. Where
    the rule is nearly known, ŵ finds its length slowly, in 1/v iterations, long after its direction. A learned ε
    needs a rule that can be found: its standard error, from the curvature of the likelihood at given fields, is 0.05
    at ε = 0.2, d = 300, n = 2d, but 0.2 at n = d/2.

    References
    ----------
    :cite:t:`farne2026`, Eqs. 16-18, for the error reached; :cite:t:`barbier2019` for the algorithm.
    """
    rows, factors = _read_samples(inputs, labels)
    rule = np.full(rows.shape[1], np.nan) if teacher is None else _read_teacher(teacher, rows.shape[1])
    given = None if fact_fraction is None else read_fact_fraction(fact_fraction)
    if given is None and len(rows) < 2:
        raise InputError("fact_fraction can be learned from two samples or more; got one. Give its value.")
    most = whole_number("iterations", iterations, at_least=1)
    state = _State(np.zeros(rows.shape[1]), 1.0, np.zeros(len(rows)), np.zeros(len(rows)))
    epsilon, error = (INITIAL_FACT_FRACTION, np.inf) if given is None else (given, 0.0)
    history, residual, sound = [(0.0, state.overlap(rule), epsilon)], np.inf, True
    while sound and residual > tolerance and len(history) <= most:
        new, change = state.advance(rows, factors, epsilon, damping)
        sound = new.is_sound()
        if sound:
            state, residual = new, change
            epsilon, error = state.likeliest_share() if given is None else (given, 0.0)
            history.append((state.overlap(state.weights), state.overlap(rule), epsilon))
    count, converged = len(history) - 1, sound and residual <= tolerance
    unsettled = UNSETTLED_MESSAGE if sound and residual < MAX_SETTLING_CHANGE else DIVERGED_MESSAGE
    message = SETTLED_MESSAGE if converged else unsettled
    message = (message + (LEARNED_MESSAGE if given is None else "")).format(count, residual, epsilon, error)
    q, m, shares = np.array(history).T
    _, _, facts = channel(state.margin, state.variance, epsilon)
    return MessagePassing(
        state.weights, state.variance, facts, epsilon, error, q, m, shares, converged, residual, count, message
    )


@question
def state_evolution(
    *, sample_ratio: parameters.SampleRatio, fact_fraction: parameters.FactFraction, iterations: parameters.Iterations
) -> StateEvolution:
    r"""Overlap and error of message passing after each iteration, in the limit of large dimension.

    .. math:: q_{t+1} = \frac{\hat q(q_t)}{1 + \hat q(q_t)}, \qquad q_0 = 0, \qquad
              \hat q(q) = \frac{4(1-\varepsilon)^2\alpha}{(2\pi)^{3/2}\sqrt{1-q}}\,I(q),

    with the integral I of :func:`genlaws.rules_facts.bayes_optimal`, whose error is the limit of many iterations.

    Parameters
    ----------
    sample_ratio : float, positive
    fact_fraction : float in [0, 1]
    iterations : int >= 0

    References
    ----------
    :cite:t:`farne2026`, Eqs. 16-18, iterated.
    """
    alpha = scalar("sample_ratio", parameters.SAMPLE_RATIO.checked("sample_ratio", sample_ratio))
    epsilon = np.array([read_fact_fraction(fact_fraction)])
    logits = np.full(whole_number("iterations", iterations) + 1, -np.inf)
    prefactor = 4.0 * (1.0 - epsilon) ** 2 * alpha / (2.0 * np.pi) ** 1.5
    for t in range(logits.size - 1 if epsilon < 1.0 else 0):
        # The logit of q is log q̂, so log √(1-q) is minus half of log(1 + q̂).
        drive = np.log(prefactor * channel_integral(logits[t : t + 1], epsilon))
        logits[t + 1] = drive.item() + 0.5 * np.logaddexp(0.0, logits[t])
    return StateEvolution(np.arange(logits.size), expit(logits), np.arctan(np.exp(-0.5 * logits)) / np.pi)


def channel(margin: Array, variance: float, fact_fraction: float) -> tuple[Array, Array, Array]:
    r"""Return the pull g of a label on its field, times the label; the slope of g; the probability of a fact.

    .. math:: g = \partial_\omega \log Z, \qquad Z = (1-\varepsilon)\,\Phi(u) + \tfrac{\varepsilon}{2}, \qquad
              u = y\omega/\sqrt V, \qquad P(\text{fact}) = \tfrac{\varepsilon}{2}/Z

    The margin is yω. :math:`r = y g\sqrt V` is the ratio φ/Φ at u times the probability of the rule, neither of which
    underflows where Z does, and the slope is :math:`-r(r+u)/V`.
    """
    u = margin / np.sqrt(variance)
    with np.errstate(divide="ignore"):
        rule_logit = log_ndtr(u) + np.log(2.0 * (1.0 - fact_fraction)) - np.log(fact_fraction)
    r = SQRT_2_OVER_PI / erfcx(-u / SQRT_2) * expit(rule_logit)
    return r / np.sqrt(variance), -r * (r + u) / variance, expit(-rule_logit)


@dataclass(frozen=True)
class _State:
    """Weights, their variance, the pulls y g that made them, and the margins yω that follow from them."""

    weights: Array
    variance: float
    pull: Array
    margin: Array

    def advance(self, rows: Array, factors: Array, epsilon: float, damping: float) -> tuple[_State, float]:
        """Return the next state and the relative change of the weights before damping."""
        with np.errstate(all="ignore"):  # a state that overflowed is not sound
            pull, slope, _ = channel(self.margin, self.variance, epsilon)
            stiffness = -slope.sum() / self.weights.size
            weights = (stiffness * self.weights + rows.T @ (factors * pull)) / (1.0 + stiffness)
            change = np.linalg.norm(weights - self.weights)
            longest = max(np.linalg.norm(weights), np.linalg.norm(self.weights))
            weights = (1.0 - damping) * weights + damping * self.weights
            variance = float((1.0 - damping) / (1.0 + stiffness) + damping * self.variance)
            pull = (1.0 - damping) * pull + damping * self.pull
            margin = factors * (rows @ weights) - variance * pull
        return _State(weights, variance, pull, margin), float(change / longest) if longest > 0.0 else 0.0

    def overlap(self, other: Array) -> float:
        return float(self.weights @ other) / self.weights.size

    def is_sound(self) -> bool:
        finite = bool(np.isfinite(self.weights).all() and np.isfinite(self.margin).all())
        return finite and 0.0 < self.variance < np.inf and self.overlap(self.weights) <= MAX_OVERLAP

    def likeliest_share(self) -> tuple[float, float]:
        """Return the ε of largest Σ log Z, one sample short of 1 at most, and its standard error."""
        followed = ndtr(self.margin / np.sqrt(self.variance))

        def score(epsilon: float) -> Array:
            return np.asarray((0.5 - followed) / ((1.0 - epsilon) * followed + 0.5 * epsilon))

        low, high = 0.0, 1.0 - 1.0 / followed.size
        for _ in range(BISECTION_STEPS):  # Σ log Z is concave in ε
            middle = 0.5 * (low + high)
            low, high = (middle, high) if score(middle).sum() > 0.0 else (low, middle)
        with np.errstate(divide="ignore"):
            return low, float(1.0 / np.sqrt(np.sum(score(low) ** 2)))


def _read_teacher(teacher: ArrayLike, dimension: int) -> Array:
    rule = real("teacher", teacher)
    if rule.shape != (dimension,) or not np.isfinite(rule).all() or not rule.any():
        raise InputError(f"teacher must be {dimension} finite numbers, not all zero; got shape {rule.shape}.")
    return rule


def _read_samples(inputs: ArrayLike, labels: ArrayLike) -> tuple[Array, Array]:
    """Return the inputs, and the factors that give each row unit length and the sign of its label."""
    rows, y = real("inputs", inputs), real("labels", labels)
    if rows.ndim != 2 or not rows.size:
        raise InputError(f"inputs must have one row per sample and one column per dimension; got shape {rows.shape}.")
    if y.shape != (len(rows),):
        raise InputError(f"labels must have one entry per row of inputs, {len(rows)} in all; got shape {y.shape}.")
    if (wrong := np.abs(y) != 1.0).any():
        raise InputError(f"labels must be +1 or -1; got {y[wrong][0]:g}. Turn labels 0 and 1 into -1 and +1.")
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
    if (outside := (squares < SQUARED_LENGTH_RANGE[0]) | ~(squares <= SQUARED_LENGTH_RANGE[1])).any():
        got = f"row {np.argmax(outside)} of squared length {squares[outside][0]:g}"
        raise InputError(f"inputs must have rows of finite length above zero; got {got}. Leave out rows of zeros.")
    return rows, y / np.sqrt(squares)
