r"""Simulate many interacting representations, thousands of draws at once.

Repons :math:`x_i` of several classes share one linear decoder. With the error :math:`e_i = Ax_i + b - y_i`, where
:math:`y_i` is the target of the class, gradient flow is

.. math:: \dot A = -\eta_A\sum_i w_i\, e_i x_i^T, \qquad \dot b = -\eta_b\sum_i w_i\, e_i, \qquad
    \dot x_i = -\eta_x\, A^T e_i

and conserves :math:`A^TA/\eta_A - \sum_i w_i x_ix_i^T/\eta_x` whatever the targets and the bias do. Symbols:
:math:`w_i` counts the coincident repons that move as one.

The flow is integrated with Dormand and Prince's pair of orders 5 and 4, each draw with its own step. The draws lie
along the last axis, so that every operation is one pass over contiguous memory; draws at rest are removed.

Under sign updates every number moves at its rate against the sign of its gradient. Between two changes of sign the path
is straight, so a long step is exact; near a change the step is halved until the loss falls by at least half of the
decrease predicted by the gradient. At a minimum the steps shrink with the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import (
    FLOAT_BYTES,
    Array,
    Mask,
    Whole,
    fits_memory,
    real,
)
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, interval_columns, wilson_interval
from genlaws.core.plain import UNWRITTEN
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.seeds import generator_of
from genlaws.relations import parameters
from genlaws.relations.repons.forces import Forces, ReponSystem

Velocity = Callable[[Array], Array]
Settled = Callable[[Whole, Array], Mask]

# Rows of the tableau below the first, which is zero; the last row gives the step of order 5.
STAGE_WEIGHTS = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
# The step of order 5 minus that of order 4.
ERROR_WEIGHTS = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
STEP_SAFETY, MIN_STEP_CHANGE, MAX_STEP_CHANGE = 0.9, 0.2, 5.0
MAX_ERROR_PER_STEP = 0.02
SIGN_REST_RATIO = 1e-6  # at rest: the predicted decrease of the loss, relative to the start
MIN_STEP_RATIO = 1e-12  # relative to the longest step; shorter ones are lost in rounding
SIGN_STEP_GROWTH, SIGN_STEP_SHRINKAGE, MIN_LOSS_DECREASE = 1.5, 0.5, 0.5
DEFAULT_TOLERANCE = 1e-10
SPEED_ROUNDING = 1e-13  # relative to the largest possible speed; slower motion is rounding
FLOW_REST_RATIO = 1e-12  # at rest: the decrease of the loss, relative to the start; the gradient has shrunk by 1e-6
DEFAULT_MAX_STEPS = 5_000
MAX_SIGN_STEP = 1e-3
MERGE_TOLERANCE = 1e-9  # relative to the terms of the conserved matrix at the start; a smaller spread is rounding


@dataclass(frozen=True)
class Integrated:
    """Where the draws ended.

    Attributes
    ----------
    state : array, shape (variables, draws)
    time : array, shape (draws,)
    settled : array of bool, shape (draws,)
        False where the number of steps ran out.
    steps : array of int, shape (draws,)
        Steps tried.
    """

    state: Array
    time: Array
    settled: Mask
    steps: Whole


def integrate_until_settled(
    velocity: Velocity, start: Array, settled: Settled, *, tolerance: float, most_steps: int
) -> Integrated:
    """Follow every draw until it has settled.

    Parameters
    ----------
    velocity : callable
        Rate of change of a state of shape (variables, draws).
    start : array, shape (variables, draws)
    settled : callable
        ``settled(draws, velocity)`` returns whether the draws with these numbers are at rest.
    tolerance : float
        Largest error of one step, relative to the largest variable of the draw at the start.
    most_steps : int
    """
    draws = start.shape[1]
    final, time = start.copy(), np.zeros(draws)
    done, tried = np.zeros(draws, dtype=bool), np.zeros(draws, dtype=np.int64)
    active = np.arange(draws)
    state, speed = start, velocity(start)
    scale = np.maximum(np.abs(start).max(axis=0), np.finfo(float).tiny)
    step = _first_step(scale, speed, tolerance)
    for _ in range(most_steps):
        rest = settled(active, speed)
        if rest.any():
            final[:, active[rest]] = state[:, rest]
            done[active[rest]] = True
            going = ~rest
            active, state, speed = active[going], state[:, going], speed[:, going]
            scale, step = scale[going], step[going]
        if not active.size:
            break
        moved, end_speed, error = _try_step(velocity, state, speed, step)
        # At most a share of the step itself: otherwise a draw at rest would fluctuate at the tolerance.
        allowed = np.minimum(tolerance * scale, MAX_ERROR_PER_STEP * step * np.abs(speed).max(axis=0))
        error = np.abs(error).max(axis=0) / np.maximum(allowed, np.finfo(float).tiny)
        good = error <= 1.0  # false where the step was so long that the state overflowed
        time[active] += np.where(good, step, 0.0)
        tried[active] += 1
        state, speed = np.where(good, moved, state), np.where(good, end_speed, speed)
        step = step * _change(error, good)
    final[:, active] = state
    return Integrated(final, time, done, tried)


def _try_step(velocity: Velocity, state: Array, speed: Array, step: Array) -> tuple[Array, Array, Array]:
    """Return the state after one step, the velocity there, and the estimated error."""
    with np.errstate(over="ignore", invalid="ignore"):
        slopes, moved = [speed], state
        for row in STAGE_WEIGHTS:
            moved = state + step * _combined(row, slopes)
            slopes.append(velocity(moved))
        return moved, slopes[-1], step * _combined(ERROR_WEIGHTS, slopes)


def _combined(weights: tuple[float, ...], slopes: list[Array]) -> Array:
    total = weights[0] * slopes[0]
    for weight, slope in zip(weights[1:], slopes[1:], strict=True):
        if weight:
            total = total + weight * slope
    return total


def _change(error: Array, good: Mask) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.clip(STEP_SAFETY * error**-0.2, MIN_STEP_CHANGE, MAX_STEP_CHANGE)
    change = np.where(np.isnan(change), MIN_STEP_CHANGE, change)
    return np.where(good, change, np.minimum(change, 1.0))


def _first_step(scale: Array, speed: Array, tolerance: float) -> Array:
    """Return a first step, careful where the draw moves fast."""
    fastest = np.abs(speed).max(axis=0)
    return np.asarray(tolerance**0.2 * scale / np.maximum(fastest, np.finfo(float).tiny * 1e10))


def descend_by_sign(forces: Forces, start: Array, *, longest_step: float, most_steps: int) -> Integrated:
    """Follow every draw until the predicted decrease of its loss is negligible.

    Parameters
    ----------
    forces : Forces
    start : array, shape (variables, draws)
    longest_step : float
        Relative to the time in which the largest variable of the draw would vanish.
    most_steps : int
    """
    draws = start.shape[1]
    rates, counts = forces.rates[:, None], forces.counts[:, None]
    final, time = start.copy(), np.zeros(draws)
    done, tried = np.zeros(draws, dtype=bool), np.zeros(draws, dtype=np.int64)
    active, state, loss = np.arange(draws), start, forces.loss(start)
    longest = longest_step * np.maximum((np.abs(start) / rates).max(axis=0), np.finfo(float).tiny)
    step, velocity = longest, forces.velocity(start)
    first = np.abs(velocity * counts).sum(axis=0)
    for _ in range(most_steps):
        predicted = np.abs(velocity * counts).sum(axis=0)
        rest = (predicted <= SIGN_REST_RATIO * first[active]) | (step <= MIN_STEP_RATIO * longest)
        if rest.any():
            final[:, active[rest]] = state[:, rest]
            done[active[rest]] = True
            going = ~rest
            active, state, loss, velocity = active[going], state[:, going], loss[going], velocity[:, going]
            longest, step, predicted = longest[going], step[going], predicted[going]
        if not active.size:
            break
        moved = state + step * rates * np.sign(velocity)
        new_loss = forces.loss(moved)
        good = new_loss <= loss - MIN_LOSS_DECREASE * step * predicted
        time[active] += np.where(good, step, 0.0)
        tried[active] += 1
        state, loss = np.where(good, moved, state), np.where(good, new_loss, loss)
        velocity = forces.velocity(state)
        step = np.where(good, np.minimum(SIGN_STEP_GROWTH * step, longest), SIGN_STEP_SHRINKAGE * step)
    final[:, active] = state
    return Integrated(final, time, done, tried)


def _left_out() -> Any:
    """Return the array of a run that was read from JSON, which does not hold it."""
    return np.empty(0)


@dataclass(frozen=True, eq=False, repr=False)
class ReponRun(Result):
    """What merged; not written to JSON are the arrays of all draws, which state where each ended.

    Attributes
    ----------
    collision : Estimate
        Share of draws in which every class merged, with Wilson's interval.
    collision_by_class : tuple of Estimate
        Share of draws in which each class merged.
    unsettled_draws : int
        Draws for which the steps ran out; their last state counts.
    largest_drift : float
        Largest `invariant_drift` of all draws.
    message : str
        How many draws came to rest.
    decoder : array, shape (draws, outputs, dimension)
    bias : array, shape (draws, outputs)
    positions : array, shape (draws, repons, dimension)
    merged : array of bool, shape (draws, classes)
        Whether every two repons of the class have merged.
    invariant_drift : array, shape (draws,)
        Largest change of the conserved matrix, relative to its terms at the start; sign updates do not conserve it.
    time : array, shape (draws,)
    settled : array of bool, shape (draws,)
        False where the steps ran out; `merged` then describes the last state.
    steps : array of int, shape (draws,)
    """

    collision: Estimate
    collision_by_class: tuple[Estimate, ...]
    unsettled_draws: int
    largest_drift: float
    message: str
    decoder: Array = field(default_factory=_left_out, metadata=UNWRITTEN)
    bias: Array = field(default_factory=_left_out, metadata=UNWRITTEN)
    positions: Array = field(default_factory=_left_out, metadata=UNWRITTEN)
    merged: Mask = field(default_factory=_left_out, metadata=UNWRITTEN)
    invariant_drift: Array = field(default_factory=_left_out, metadata=UNWRITTEN)
    time: Array = field(default_factory=_left_out, metadata=UNWRITTEN)
    settled: Mask = field(default_factory=_left_out, metadata=UNWRITTEN)
    steps: Whole = field(default_factory=_left_out, metadata=UNWRITTEN)

    def columns(self) -> dict[str, Any]:
        """Return the share of draws that merged, for each class."""
        rows = [interval_columns("collision", one) for one in self.collision_by_class]
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        return {"class": np.arange(len(rows)), **columns, "draws": np.full(len(rows), self.collision.count)}

    def summary(self) -> Summary:
        """Return the share of draws in which every class merged, and that of each class."""
        shares = self.collision_by_class
        rows = [Row(f"class {number} merged", str(share)) for number, share in enumerate(shares) if len(shares) > 1]
        return Summary([Row("every class merged", str(self.collision)), *rows], [self.message])


@question
def simulate_repons(
    system: ReponSystem,
    *,
    draws: parameters.Draws,
    seed: parameters.RandomSeed = 0,
    encoder_scale: parameters.EncoderWidth = 1.0,
    decoder_scale: parameters.DecoderWidth = 1.0,
    tolerance: parameters.FlowTolerance = DEFAULT_TOLERANCE,
    most_steps: parameters.MaxSteps = DEFAULT_MAX_STEPS,
) -> ReponRun:
    """Draw decoders and repons from normal distributions, follow them until they come to rest, and give who merged.

    Parameters
    ----------
    system : ReponSystem
    draws : int >= 1
    seed : int or Generator
    encoder_scale, decoder_scale : float > 0
        Width of each coordinate of each repon, and of each entry of the decoder. The bias starts at zero.
    tolerance, most_steps
        As in :func:`evolve_repons`.
    """
    variables = system.dimension * (system.outputs + system.repons)
    fits_memory(
        "draws and the variables of each", FLOAT_BYTES * draws * variables, "Take fewer draws or a smaller system."
    )
    generator = generator_of(seed)
    decoder = decoder_scale * generator.standard_normal((draws, system.outputs, system.dimension))
    positions = encoder_scale * generator.standard_normal((draws, system.repons, system.dimension))
    return evolve_repons(system, decoder=decoder, positions=positions, tolerance=tolerance, most_steps=most_steps)


@question
def evolve_repons(
    system: ReponSystem,
    *,
    decoder: parameters.StartDecoders,
    positions: parameters.StartPositions,
    bias: parameters.StartBias = 0.0,
    tolerance: parameters.FlowTolerance = DEFAULT_TOLERANCE,
    most_steps: parameters.MaxSteps = DEFAULT_MAX_STEPS,
) -> ReponRun:
    r"""Follow given starts until they come to rest, and give who merged.

    Parameters
    ----------
    system : ReponSystem
    decoder : array_like, shape (draws, outputs, dimension)
    positions : array_like, shape (draws, repons, dimension)
    bias : array_like, broadcast to (draws, outputs)
        Start of a trained bias; ignored otherwise.
    tolerance : float in [1e-13, 1e-3]
        Error of one step of the flow, relative to the largest variable of the draw.
    most_steps : int >= 1

    Notes
    -----
    A class counts as merged if at rest the decoder is nonzero along every direction in which it is spread: if
    :math:`A^TA/\eta_A - \sum_i w_i\delta_i\delta_i^T/\eta_x` has no negative eigenvalue, :math:`\delta_i` being the
    offsets from the mean of the class. At rest one of the two terms is zero in each direction, up to rounding. A draw
    on the boundary moves ever more slowly; it is at rest when the loss falls :math:`10^{12}` times slower than at the
    start. Sign updates are made in steps of at most a thousandth of the time in which the largest variable vanishes.
    """
    a, x, b = _starts(system, decoder, positions, bias)
    forces = Forces.of(system)
    start = forces.pack(a, b, x)
    if system.update == "sign":
        found = descend_by_sign(forces, start, longest_step=MAX_SIGN_STEP, most_steps=most_steps)
    else:
        found = _flow(forces, start, tolerance, most_steps)
    return _report(system, forces, start, found)


def _flow(forces: Forces, start: Array, tolerance: float, most_steps: int) -> Integrated:
    rates = forces.rates[:, None]

    def fall(velocity: Array) -> Array:
        """Return how fast the loss falls, each repon counted once."""
        return np.asarray((velocity**2 / rates).sum(axis=0))

    # At rest: far slower than at the start, or as slow as rounding makes it.
    first = fall(forces.velocity(start))
    rounding = (SPEED_ROUNDING * forces.fastest(start) * np.abs(start).max(axis=0)) ** 2 * (1.0 / rates).sum()
    slowest = np.maximum(FLOW_REST_RATIO * first, rounding)
    return integrate_until_settled(
        forces.velocity,
        start,
        lambda draws, velocity: fall(velocity) <= slowest[draws],
        tolerance=tolerance,
        most_steps=most_steps,
    )


def _starts(
    system: ReponSystem, decoder: ArrayLike, positions: ArrayLike, bias: ArrayLike
) -> tuple[Array, Array, Array]:
    a, x, b = real("decoder", decoder), real("positions", positions), real("bias", bias)
    for name, array, rows in (("decoder", a, system.outputs), ("positions", x, system.repons)):
        if array.ndim != 3 or array.shape[1:] != (rows, system.dimension) or not len(array):
            raise InputError(f"{name} must have shape (draws, {rows}, {system.dimension}); got {array.shape}.")
    if len(a) != len(x):
        raise InputError(f"decoder and positions must have the same number of draws; got {len(a)} and {len(x)}.")
    try:
        b = np.broadcast_to(b, (len(a), system.outputs))
    except ValueError:
        raise InputError(f"bias must broadcast to shape ({len(a)}, {system.outputs}); got {b.shape}.") from None
    if not all(np.isfinite(array).all() for array in (a, x, b)):
        raise InputError("decoder, positions and bias must be finite.")
    return a, x, b


def _report(system: ReponSystem, forces: Forces, start: Array, found: Integrated) -> ReponRun:
    before, after = forces.invariant(start), forces.invariant(found.state)
    size = np.maximum((before[0] + before[1]).max(axis=(1, 2)), np.finfo(float).tiny)
    drift = np.abs((after[0] - after[1]) - (before[0] - before[1])).max(axis=(1, 2)) / size
    decoder, bias, positions = forces.unpack(found.state)
    x = positions.transpose(2, 0, 1)
    parts = [_merged(system, after[0], x, part, size) for part in system.class_slices]
    merged, draws, late = np.stack(parts, axis=1), len(x), int((~found.settled).sum())
    moving = f"{late} of {draws} draws had not come to rest after {int(found.steps.max())} steps."
    return ReponRun(
        collision=wilson_interval(int(merged.all(axis=1).sum()), draws),
        collision_by_class=tuple(wilson_interval(int(column.sum()), draws) for column in merged.T),
        unsettled_draws=late,
        largest_drift=float(drift.max()),
        message=moving if late else f"All {draws} draws came to rest.",
        decoder=decoder.transpose(2, 0, 1),
        bias=bias.T,
        positions=x,
        merged=merged,
        invariant_drift=drift,
        time=found.time,
        settled=found.settled,
        steps=found.steps,
    )


def _merged(system: ReponSystem, gram: Array, positions: Array, part: slice, size: Array) -> Mask:
    """Return for each draw whether the decoder is nonzero along every direction in which the class is spread."""
    weights = system.weight_of_each[part]
    x = positions[:, part]
    offsets = x - np.einsum("n,bnd->bd", weights / weights.sum(), x)[:, None]
    spread = np.einsum("n,bnd,bne->bde", weights, offsets, offsets) / system.encoder_rate
    return np.asarray(np.linalg.eigvalsh(gram - spread)[:, 0] >= -MERGE_TOLERANCE * size)
