"""Sign updates, thousands of draws at once: every number moves at its rate against the sign of its gradient.

Between two changes of sign the path is straight, so a long step is exact; near one the step is halved until the loss
falls by at least half of what the gradient promises. At a minimum the steps shrink with the gradient.
"""

from __future__ import annotations

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.relations.repon_forces import Forces
from genlaws.relations.repon_integrator import Integrated

REST = 1e-6  # the promised fall of the loss has shrunk by this much
SHORTEST = 1e-12  # of the longest step; shorter ones are lost in rounding
GROWTH, SHRINKAGE, KEPT_PROMISE = 1.5, 0.5, 0.5


def descend_by_sign(forces: Forces, start: Array, *, longest_step: float, most_steps: int) -> Integrated:
    """Follow every draw until the promised fall of its loss has all but gone.

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
        promised = np.abs(velocity * counts).sum(axis=0)
        rest = (promised <= REST * first[active]) | (step <= SHORTEST * longest)
        if rest.any():
            final[:, active[rest]] = state[:, rest]
            done[active[rest]] = True
            going = ~rest
            active, state, loss, velocity = active[going], state[:, going], loss[going], velocity[:, going]
            longest, step, promised = longest[going], step[going], promised[going]
        if not active.size:
            break
        moved = state + step * rates * np.sign(velocity)
        new_loss = forces.loss(moved)
        good = new_loss <= loss - KEPT_PROMISE * step * promised
        time[active] += np.where(good, step, 0.0)
        tried[active] += 1
        state, loss = np.where(good, moved, state), np.where(good, new_loss, loss)
        velocity = forces.velocity(state)
        step = np.where(good, np.minimum(GROWTH * step, longest), SHRINKAGE * step)
    final[:, active] = state
    return Integrated(final, time, done, tried)
