r"""Solve the state equations for a list of points, whatever the loss, the width and the regularization.

Each point is sorted into one of five cases and solved there:

========================  ==================================================================================
no linear part (μ1 = 0)   nothing of the rule can be learned
λ = ∞                     the pull is constant: explicit
λ = 0, labels fitted      the loss becomes a constraint (``Loss.limit``), in units where the ridge is one
λ = 0, too many labels    the ordinary equations with ridge zero
0 < λ < ∞                 the ordinary equations
========================  ==================================================================================

The square loss is solved in closed form. Any other loss starts from the square-loss solution. Where Newton's method
fails from there, the solution is followed from strong regularization, which is slower.

At :math:`\lambda\to\infty` every loss pulls with the constant force s, minus the loss's slope at margin zero, and
the state equations are explicit: :math:`K = \ell`, :math:`\hat m = \alpha s\delta\sqrt{2/\pi}`,
:math:`\hat q = \alpha s^2`. From there the ridge is lowered step by step; each solution, extrapolated, is the guess
for the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfc

from genlaws.core.arguments import Array, Mask, Whole
from genlaws.core.numerics.gaussian import SQRT_2, SQRT_2_OVER_PI
from genlaws.core.numerics.newton import ACCEPTABLE_RESIDUAL
from genlaws.rules_facts.theory import square_loss
from genlaws.rules_facts.theory.channels import Channel, HingeChannel
from genlaws.rules_facts.theory.losses import Loss
from genlaws.rules_facts.theory.proximal import ProximalChannel
from genlaws.rules_facts.theory.random_features import Learner, learner_side
from genlaws.rules_facts.theory.state_equations import StateSolution, Task, check_with_finer_rule, solve_state_equations
from genlaws.rules_facts.theory.threshold import ThresholdPoints, solve_threshold

# The ridge at which a path starts, relative to the pull of all samples; the expansion is good to about 1 % there.
START_RIDGE = 100.0
# For λ = 0 the path ends at this ridge and the last solution is the guess for the limit.
MIN_RIDGE = 1e-10
# Numbers of steps along the ridge, tried in turn on the unsolved points.
FOLLOWING_STEPS = (12, 40, 160)
# A sample ratio this close to the threshold, relatively, counts as at the threshold.
THRESHOLD_TOLERANCE = 1e-12
THRESHOLD_OFFSET = 1e-10
# The limit λ → 0 is taken in units where the ridge is one.
UNIT_RIDGE = 1.0

MESSAGES = (
    "not solved: the residual is too large",
    "closed form",
    "Newton's method converged",
    "converged after following the solution from strong regularization",
    "limit of infinite regularization",
    "limit of zero regularization: every label is fitted",
    "at the interpolation threshold: the overlaps diverge",
    "no linear part: the rule cannot be learned",
)
FAILED, CLOSED_FORM, NEWTON, FOLLOWED, INFINITE_RIDGE, FITTED, THRESHOLD, NO_RULE = range(len(MESSAGES))


def strong_ridge_guess(task: Task, learner: Learner, slope: float) -> tuple[Array, Array]:
    """Return (τ, K) to leading order in a strong ridge; `slope` is s, minus the loss's slope at margin zero."""
    alpha, delta = task
    side = learner_side(learner, learner.ridge)
    m_hat, q_hat = alpha * slope * delta * SQRT_2_OVER_PI, alpha * slope**2
    return np.sqrt(side.rule_noise * m_hat**2 + side.noise_gain * q_hat), learner.ridge


def follow_ridge(channel: Channel, task: Task, learner: Learner, slope: float, steps: int) -> StateSolution:
    """Return the solution at the learner's ridge, reached in the given number of equal steps of log ℓ."""
    strong = START_RIDGE * (1.0 + task.sample_ratio) * (1.0 + learner.nonlinear_share)
    goal = np.log(np.maximum(learner.ridge, MIN_RIDGE))
    path = np.linspace(np.maximum(np.log(strong), goal), goal, steps + 1)
    here = learner._replace(ridge=np.exp(path[0]))
    solution = solve_state_equations(channel, task, here, *strong_ridge_guess(task, here, slope))
    before = solution
    for log_ridge in path[1:]:
        here = learner._replace(ridge=np.exp(log_ridge))
        tau, rigidity = _extrapolate(before.tau, solution.tau), _extrapolate(before.rigidity, solution.rigidity)
        before = solution
        solution = solve_state_equations(channel, task, here, tau, np.maximum(rigidity, here.ridge))
        if not (solution.residual <= ACCEPTABLE_RESIDUAL).any():
            break  # every path is lost, as the residual shows
    return solution


def _extrapolate(before: Array, now: Array) -> Array:
    """Continue a positive sequence by one more equal step of its logarithm."""
    with np.errstate(all="ignore"):
        ahead = now * np.clip(now / before, 1e-2, 1e2)
    return np.where(np.isfinite(ahead) & (ahead > 0.0), ahead, now)


@dataclass(frozen=True)
class PointSolutions:
    """Errors, order parameters and the solver's report, one entry per point."""

    generalization_error: Array
    memorization_error: Array
    m: Array
    tau: Array
    response: Array
    rigidity: Array
    residual: Array
    iterations: Whole
    status: Whole

    @classmethod
    def unsolved(cls, count: int) -> PointSolutions:
        """Return `count` unsolved points."""
        gen, mem, m, tau, response, rigidity, residual = (np.full(count, np.nan) for _ in range(7))
        iterations, status = np.zeros(count, dtype=np.int64), np.full(count, FAILED, dtype=np.int64)
        return cls(gen, mem, m, tau, response, rigidity, residual, iterations, status)

    def put(self, where: Mask, **columns: Array | Whole | float) -> None:
        """Write the given columns at the points `where`."""
        for name, value in columns.items():
            getattr(self, name)[where] = value


def solve_points(loss: Loss, task: Task, learner: Learner, guess: tuple[Array, Array] | None = None) -> PointSolutions:
    """Solve every point; those that cannot be solved have status FAILED and NaN errors.

    Parameters
    ----------
    loss : Loss
    task, learner : one-dimensional arrays of one length
    guess : (τ, K), optional
        Where to start Newton's method at the points with 0 < λ < ∞.
    """
    points = PointSolutions.unsolved(task.sample_ratio.size)
    with np.errstate(all="ignore"):
        _solve_into(points, loss, task, learner, guess)
    lost = np.isnan(points.generalization_error) | np.isnan(points.memorization_error)
    points.put(lost, generalization_error=np.nan, memorization_error=np.nan, status=FAILED)
    points.put(lost & (points.residual <= ACCEPTABLE_RESIDUAL), residual=np.nan)
    return points


def _solve_into(
    points: PointSolutions, loss: Loss, task: Task, learner: Learner, guess: tuple[Array, Array] | None
) -> None:
    """Sort the points into their cases and write their solutions; overflow gives NaN."""
    alpha, ridge, R = task.sample_ratio, learner.ridge, learner.nonlinear_share
    no_rule = np.isinf(R)
    infinite = np.isinf(ridge) & ~no_rule
    zero = (ridge == 0.0) & ~no_rule
    ordinary = ~(no_rule | infinite | zero)
    if no_rule.any():
        points.put(no_rule, generalization_error=0.5, memorization_error=0.0, m=0.0, tau=0.0, response=np.nan)
        points.put(no_rule, residual=0.0, status=NO_RULE)
    if infinite.any():
        _put_infinite_ridge(loss, task, learner, infinite, points)
    if zero.any():
        limit = solve_threshold(loss, 1.0 - task.rule_share, R, learner.inverse_width)
        at = zero & (np.abs(alpha / limit.sample_ratio - 1.0) <= THRESHOLD_TOLERANCE)
        fitted = zero & ~at & (alpha < limit.sample_ratio)
        _put_threshold(limit, at, points)
        if loss.limit == "label" and at.any():
            # The overlap of ridge regression is finite and continuous there, so it is taken just below.
            below = Task(task.sample_ratio[at] * (1.0 - THRESHOLD_OFFSET), task.rule_share[at])
            unit = learner.take(at)._replace(ridge=np.full(int(at.sum()), UNIT_RIDGE))
            points.put(at, m=_solve_square_loss(below, unit, fits_labels=True).m)
        _put_fitted(loss, task, learner, fitted, points)
        ordinary |= zero & ~at & ~fitted
    if ordinary.any():
        start = None if guess is None else (guess[0][ordinary], guess[1][ordinary])
        found, status = _solve_ordinary(loss, task.take(ordinary), learner.take(ordinary), start)
        _put_errors(points, ordinary, found, loss.slope)
        points.put(ordinary, m=found.m, tau=found.tau, response=found.response, rigidity=found.rigidity)
        points.put(ordinary, residual=found.residual, iterations=found.iterations, status=status)
        points.put(ordinary & (points.status == FAILED), generalization_error=np.nan, memorization_error=np.nan)


def _put_infinite_ridge(loss: Loss, task: Task, learner: Learner, where: Mask, points: PointSolutions) -> None:
    """Every sample pulls with the same force: the ratios of m, τ and V no longer depend on the ridge."""
    here, unit = task.take(where), learner.take(where)._replace(ridge=np.ones(int(where.sum())))
    tau, _ = strong_ridge_guess(here, unit, loss.slope)
    m = here.sample_ratio * loss.slope * here.rule_share * np.sqrt(2.0 / np.pi)
    zero = np.zeros_like(m)
    found = StateSolution(m, tau, 1.0 + unit.nonlinear_share, unit.ridge, zero, zero.astype(np.int64))
    _put_errors(points, where, found, loss.slope)
    points.put(where, m=0.0, tau=0.0, response=0.0, rigidity=np.inf, residual=0.0, status=INFINITE_RIDGE)


def _put_threshold(limit: ThresholdPoints, where: Mask, points: PointSolutions) -> None:
    """Write the limits at the threshold, where the spread diverges and, for margin losses, the overlap as well."""
    if where.any():
        gen = np.arctan2(1.0, limit.overlap_ratio[where]) / np.pi
        points.put(where, generalization_error=gen, memorization_error=0.0, m=np.inf, tau=np.inf, response=np.inf)
        points.put(where, residual=0.0, status=THRESHOLD)


def _put_fitted(loss: Loss, task: Task, learner: Learner, where: Mask, points: PointSolutions) -> None:
    """Solve λ → 0 where every label is fitted; V diverges as 1/λ and the facts are all remembered."""
    if not where.any():
        return
    here, unit = task.take(where), learner.take(where)
    unit = unit._replace(ridge=np.full(unit.ridge.shape, UNIT_RIDGE))
    if loss.limit == "label":
        found = _solve_square_loss(here, unit, fits_labels=True)
    else:
        found = _solve_margin_limit(here, unit)
    m, tau = found.m, found.tau
    solved = found.residual <= ACCEPTABLE_RESIDUAL
    gen = np.where(solved, np.arctan2(tau, m) / np.pi, np.nan)
    if loss.limit == "direction":
        m, tau = np.full_like(m, np.inf), np.full_like(tau, np.inf)
    points.put(where, generalization_error=gen, memorization_error=np.where(solved, 0.0, np.nan), m=m, tau=tau)
    points.put(where, response=np.inf, rigidity=found.rigidity, residual=found.residual, iterations=found.iterations)
    points.put(where, status=np.where(solved, FITTED, FAILED))


def _solve_margin_limit(task: Task, learner: Learner) -> StateSolution:
    """Solve for the largest margin, first from ridge regression, then from weaker and weaker hinge solutions."""
    hard = HingeChannel(hard=True)
    seed = _solve_square_loss(task, learner, fits_labels=False)
    found = solve_state_equations(hard, task, learner, seed.tau, seed.rigidity)
    for steps in FOLLOWING_STEPS:
        rest = ~(found.residual <= ACCEPTABLE_RESIDUAL)
        if not rest.any():
            break
        weak = learner.take(rest)._replace(ridge=np.full(int(rest.sum()), MIN_RIDGE))
        soft = follow_ridge(HingeChannel(), task.take(rest), weak, 1.0, steps)
        again = solve_state_equations(hard, task.take(rest), learner.take(rest), soft.tau, soft.rigidity / MIN_RIDGE)
        found.put(rest, again)
    return found


def _solve_ordinary(
    loss: Loss, task: Task, learner: Learner, guess: tuple[Array, Array] | None
) -> tuple[StateSolution, Whole]:
    """Solve the state equations as they stand, with 0 ≤ λ < ∞; return the solutions and their status."""
    if loss.closed_form == "square":
        found = _solve_square_loss(task, learner, fits_labels=False)
        return found, np.where(found.residual <= ACCEPTABLE_RESIDUAL, CLOSED_FORM, FAILED)
    channel: Channel = HingeChannel() if loss.closed_form == "hinge" else ProximalChannel(loss)
    if guess is None:
        seed = _solve_square_loss(task, learner, fits_labels=False)
        guess = seed.tau, seed.rigidity
    found = solve_state_equations(channel, task, learner, *guess)
    status: Whole = np.where(found.residual <= ACCEPTABLE_RESIDUAL, NEWTON, FAILED)
    for steps in FOLLOWING_STEPS:
        rest = status == FAILED
        if not rest.any():
            break
        left, wanted = task.take(rest), learner.take(rest)
        again = follow_ridge(channel, left, wanted, loss.slope, steps)
        if (wanted.ridge < MIN_RIDGE).any():
            again = solve_state_equations(channel, left, wanted, again.tau, again.rigidity)
        found.put(rest, again)
        status[rest] = np.where(again.residual <= ACCEPTABLE_RESIDUAL, FOLLOWED, FAILED)
    if isinstance(channel, ProximalChannel):
        # Quadrature can be consistent with itself and wrong: a finer rule must find the same solution.
        check = check_with_finer_rule(channel, task, learner, found)
        found = found._replace(residual=np.maximum(found.residual, check))
        status[~(found.residual <= ACCEPTABLE_RESIDUAL)] = FAILED
    return found, status


def _solve_square_loss(task: Task, learner: Learner, *, fits_labels: bool) -> StateSolution:
    alpha, epsilon = task.sample_ratio, 1.0 - task.rule_share
    if learner.inverse_width.any():
        found = square_loss.solve_square_features(alpha, epsilon, learner, fits_labels=fits_labels)
    else:
        found = square_loss.solve_square(alpha, epsilon, learner)
        limit = np.full(alpha.shape, fits_labels) | (learner.ridge == 0.0)
        if limit.any():
            at_zero = square_loss.solve_square_limit(alpha, epsilon, learner)
            found = square_loss.SquareSolution(
                *(np.where(limit, one, other) for one, other in zip(at_zero, found, strict=True))
            )
    return StateSolution(*found, np.zeros(alpha.shape, dtype=np.int64))


def _put_errors(points: PointSolutions, where: Mask, found: StateSolution, slope: float) -> None:
    r"""Write :math:`\mathrm{atan2}(\tau, m)/\pi` and :math:`\tfrac12\mathrm{erfc}(sV/\sqrt{2q})`."""
    root_q = np.hypot(found.m, found.tau)
    points.put(where, generalization_error=np.arctan2(found.tau, found.m) / np.pi)
    points.put(where, memorization_error=0.5 * erfc(slope * found.response / (SQRT_2 * root_q)))
