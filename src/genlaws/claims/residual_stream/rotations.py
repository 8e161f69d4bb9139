"""Checks of the rotations of phase portraits: what random walks give, what the control gives, and the sign."""

from __future__ import annotations

import numpy as np

from genlaws.claims.claim import EXACT_TOLERANCE, MAX_Z_SCORE, Finding, corrected_if, graded, holds_if
from genlaws.claims.residual_stream.data import MEAN_ROTATIONS, ROTATION_RANGE, SITES, SPEEDS, UNITS, in_order
from genlaws.claims.residual_stream.units import rotations_written_out, walk
from genlaws.core.arguments import Array
from genlaws.residual_stream.dynamics.portraits import rotations

# Of the scatter of one unit: a mean that exceeds a walk's by less distinguishes hardly any unit from one of a walk.
MIN_UNIT_SCATTERS = 1.0
READING_ERROR = 0.5  # rotations, the error of reading Fig. 2C
ORBIT_PERIODS = 10.0  # periods of the planted orbit


def _unit_count(quick: bool) -> int:
    return UNITS if quick else 25 * UNITS


def check_orbits(quick: bool, claimed: float = MEAN_ROTATIONS) -> Finding:
    """Count the rotations of random walks with the paper's own speeds and compare with its mean."""
    made = walk(in_order(SPEEDS), _unit_count(quick))
    counts = -rotations_written_out(made)
    same = float(np.abs(rotations(made).as_printed - counts).max())
    plain = -rotations_written_out(walk(np.ones(SITES - 1), _unit_count(quick), seed=1))
    mean, scatter = float(counts.mean()), float(counts.std())
    beyond = (claimed - mean) / scatter
    return holds_if(
        beyond > MIN_UNIT_SCATTERS and same < EXACT_TOLERANCE,
        {
            "paper_mean_rotations": claimed,
            "walk_with_paper_speeds_mean": mean,
            "walk_with_paper_speeds_unit_deviation": scatter,
            "walk_with_equal_steps_mean": plain.mean(),
            "paper_beyond_the_walk_in_unit_deviations": beyond,
            "bound": MIN_UNIT_SCATTERS,
            "library_against_the_definition": same,
        },
        f"{claimed:.2f} rotations are {beyond:.1f} deviations of a unit beyond the {mean:.2f} of a random walk.",
        f"{claimed:.2f} rotations are no evidence of orbits: random walks with the paper's own speeds make {mean:.2f} "
        f"± {scatter:.2f} by the same count, walks with equal steps {plain.mean():.2f}. Llama itself was not run.",
    )


def check_rotation_range(quick: bool, claimed: tuple[float, float] = ROTATION_RANGE) -> Finding:
    """Compare the range of rotations over 4,096 units with that of as many random walks, drawn again and again."""
    draws = 4 if quick else 100
    made = [-rotations_written_out(walk(in_order(SPEEDS), UNITS, seed=seed)) for seed in range(draws)]
    lows, highs = np.array([one.min() for one in made]), np.array([one.max() for one in made])
    more = claimed[1] - float(highs.max())
    return holds_if(
        more > READING_ERROR,
        {
            "paper_fewest_rotations": claimed[0],
            "paper_most_rotations": claimed[1],
            "walks_fewest_rotations": lows.mean(),
            "walks_most_rotations": highs.mean(),
            "walks_most_rotations_of_all": highs.max(),
            "draws_of_4096_units": draws,
        },
        f"The unit with most rotations makes {more:.1f} more than any of as many random walks.",
        f"The largest number, {claimed[1]:.1f} rotations, is no more than that of as many walks, {highs.mean():.1f} on "
        f"average; the smallest, {claimed[0]:.1f}, is below the {lows.mean():.1f} of the walks. Orbits would "
        "rotate more.",
    )


def check_shuffle_control(quick: bool, gradient_anew: bool = False) -> Finding:
    """Apply the paper's control to a random walk and to true orbits, and once more with the gradient recomputed.

    A control is useful if it distinguishes the two, or at least gives a walk's own value for a walk.
    """
    sites = np.arange(SITES)[:, None]
    phase = np.linspace(0, 2 * np.pi, 64)
    orbit = np.sin(2 * np.pi * ORBIT_PERIODS * sites / (SITES - 1) + phase)
    walks = walk(in_order(SPEEDS), 64 if quick else 512)
    draws = 100 if quick else 1000
    of_orbit, of_walk = (_shuffled_rotations(one, draws, anew=gradient_anew) for one in (orbit, walks))
    anew = _shuffled_rotations(walks, draws, anew=True)
    own = float(-rotations_written_out(walks).mean())
    error = max(of_orbit.std() / np.sqrt(draws), of_walk.std() / np.sqrt(draws))
    nothing = max(abs(of_orbit.mean()), abs(of_walk.mean())) < MAX_Z_SCORE * error
    return corrected_if(
        not nothing,
        abs(anew.mean()) > own,
        {
            "shuffled_orbits_of_ten_periods": of_orbit.mean(),
            "shuffled_random_walks": of_walk.mean(),
            "deviation_of_one_order": of_walk.std(),
            "random_walks_as_they_are": own,
            "shuffled_random_walks_with_new_gradient": anew.mean(),
        },
        f"Points in random order make no rotations on average, orbits ({of_orbit.mean():+.2f}) and random "
        f"walks ({of_walk.mean():+.2f}) alike: an order and its reverse cancel. With the gradient recomputed after "
        f"shuffling the layers it is {anew.mean():.1f}, more than the walk's own {own:.1f}; a walk is the control.",
    )


def _shuffled_rotations(a: Array, draws: int, *, anew: bool) -> Array:
    """Return printed rotations (draws, units) with layers in random order, gradients permuted along or recomputed."""
    generator, slope = np.random.default_rng(3), np.gradient(a, axis=0)
    orders = (generator.permutation(len(a)) for _ in range(draws))
    return np.array([-rotations_written_out(a[one], None if anew else slope[one]) for one in orders])


def check_sign(quick: bool, sign: float = 1.0) -> Finding:
    """Put one period of a sinusoid, and random walks, into the printed definition."""
    sites = np.arange(SITES)[:, None]
    one = sign * rotations_written_out(np.sin(2 * np.pi * sites / (SITES - 1) + np.array([0.0, 0.8, 2.0])))
    walks = sign * rotations_written_out(walk(np.ones(SITES - 1), _unit_count(quick)))
    clockwise = float((walks < 0).mean())
    return corrected_if(
        one.min() > 0 and walks.mean() > 0,
        np.allclose(-one, 1.0, atol=0.01),
        {
            "rotations_of_one_sinusoid_period": one.mean(),
            "mean_rotations_of_random_walks": walks.mean(),
            "share_of_walks_that_turn_clockwise": clockwise,
        },
        "In the plane of a value and its gradient every path runs clockwise, so the printed R is negative: one period "
        f"of a sinusoid has {one.mean():.2f}. The positive numbers shown are of -R.",
    )


def check_spiral(quick: bool, path: Array | None = None) -> Finding:
    """Compare the radius of walks' portraits, from their starting point, in the last third with the first."""
    paper = walk(in_order(SPEEDS), _unit_count(quick) // 4) if path is None else path
    found, equal = (_widening(one) for one in (paper, walk(np.ones(SITES - 1), _unit_count(quick) // 4)))
    return graded(
        found < 1.0,
        equal > 1.0,
        {"paper_speeds_radius_ratio": found, "equal_steps_radius_ratio": equal},
        "A random walk does not spiral outward, so that portraits which do show more than growing steps.",
        f"Portraits widen, but random walks do as well: {found:.1f} times from the first third to the last with the "
        f"paper's speeds, {equal:.1f} times with equal steps. Any path that goes on widens.",
    )


def _widening(a: Array) -> float:
    slope, third = np.gradient(a, axis=0), SITES // 3
    radius = np.sqrt((a - a[0]) ** 2 + (slope - slope[0]) ** 2).mean(axis=1)
    return float(radius[-third:].mean() / radius[1 : third + 1].mean())
