"""Checks of the chance that representations merge: Theorem 3, Eqs. 12 and 13."""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate

from genlaws.claims.claim import MAX_Z_SCORE, Finding, corrected_if, graded, holds_if, number_id
from genlaws.core.arguments import Array, Mask
from genlaws.relations import ReponSystem, collision_probability, decoder_pull, simulate_repons

RATE_RATIOS = (0.1, 1.0, 10.0)  # encoder rate over decoder rate
FLOW_TOLERANCE = 1e-6
MAX_CHANCE_DIFFERENCE = 0.02  # of two probabilities; the sampling error is smaller
CLUSTER_COUNTS = (1, 3, 10)


def _eq_12_probability(ratio: float, scale: float = 1.0, pull: float = 2.0) -> float:
    """Return the arctangent of Eq. 12, or of Eq. 13 with another factor than 2."""
    return 2.0 / math.pi * math.atan(scale * math.sqrt(ratio / pull))


def _z_score(hits: Mask, chance: float) -> float:
    """Return how far a share of draws is from a chance, in standard errors."""
    return float((hits.mean() - chance) / math.sqrt(max(chance * (1.0 - chance), 1e-12) / hits.size))


def check_eq_12(quick: bool) -> Finding:
    """Draw gain and separation, see on which side of the invariant they are, and compare with Eq. 12."""
    rng, draws, scores = np.random.default_rng(0), 10**5 if quick else 10**7, {}
    library = 0.0
    for ratio in RATE_RATIOS:
        for width in (1.0, 0.5):
            a, c = rng.standard_normal(draws), width * rng.standard_normal(draws)
            law = _eq_12_probability(ratio, 1.0 / width)
            scores[ratio, width] = _z_score(a**2 / 2.0 - c**2 / ratio > 0.0, law)
            library = max(library, abs(float(collision_probability(ratio, 1.0, width)) - law))
    worst = max(abs(one) for one in scores.values())
    return holds_if(
        worst < MAX_Z_SCORE and library < FLOW_TOLERANCE,
        {"largest_z": worst, "library_against_eq_12": library, "chance_at_equal_rates": _eq_12_probability(1.0)},
        "Draws of gain and separation merge as often as Eq. 12 says.",
    )


def check_region(quick: bool) -> Finding:
    """Integrate over the region that is printed below Eq. 12, and over the right one."""
    rng, draws, ratio = np.random.default_rng(1), 10**5 if quick else 10**7, 1.0
    a, c = rng.standard_normal((2, draws))
    edge = math.sqrt(ratio / 2.0)
    printed = float(((c < edge) & (a < edge)).mean())
    right = np.abs(c / a) < edge
    return corrected_if(
        abs(printed - _eq_12_probability(ratio)) < MAX_CHANCE_DIFFERENCE,
        abs(_z_score(right, _eq_12_probability(ratio))) < MAX_Z_SCORE,
        {"printed_region": printed, "right_region": right.mean(), "eq_12": _eq_12_probability(ratio)},
        "The region is |c/a| < √(η_x/2η_A); the result of the integral is right.",
    )


def check_width_of_repons(quick: bool) -> Finding:
    """Draw both repons with one width, as a network does, and compare with Eq. 12 at that width."""
    rng, draws, ratio = np.random.default_rng(2), 10**5 if quick else 10**7, 1.0
    a, x1, x2 = rng.standard_normal((3, draws))
    merges = a**2 / 2.0 - (0.5 * (x1 - x2)) ** 2 / ratio > 0.0
    right = _eq_12_probability(ratio, pull=1.0)
    library = float(collision_probability(ratio, 1.0, encoder_scale_of="repon"))
    return corrected_if(
        abs(_z_score(merges, _eq_12_probability(ratio))) < MAX_Z_SCORE,
        abs(_z_score(merges, right)) < MAX_Z_SCORE and abs(library - right) < FLOW_TOLERANCE,
        {
            "drawn": merges.mean(),
            "eq_12_with_width_of_a_repon": _eq_12_probability(ratio),
            "eq_12_with_half_the_separation": right,
        },
        "σ_c is the width of half the separation, a root of two smaller than that of a repon: (2/π) arctan((σ_a/σ_x) "
        "√(η_x/η_A)) for repons of width σ_x, as in the paper's Fig. 6.",
    )


def check_only_the_ratio(quick: bool) -> Finding:
    """Draw decoders and separations of several dimensions and outputs at one ratio of the rates."""
    rng, draws, ratio = np.random.default_rng(3), 20000 if quick else 10**6, 1.0
    shares, scores = {}, {}
    for dimension, outputs in ((1, 1), (2, 2), (2, 5), (2, 50), (3, 3)):
        decoder = rng.standard_normal((draws if outputs < 50 else draws // 10, outputs, dimension))
        merges = _pairs_that_merge(decoder, rng.standard_normal((len(decoder), dimension)), ratio)
        law = float(collision_probability(ratio, 1.0, dimension=dimension, outputs=outputs))
        shares[f"share_{dimension}_dimensions_{outputs}_outputs"] = merges.mean()
        scores[dimension, outputs] = abs(_z_score(merges, law)), abs(merges.mean() - _eq_12_probability(ratio))
    return graded(
        max(one[1] for one in scores.values()) < MAX_CHANCE_DIFFERENCE,
        scores[1, 1][1] < MAX_CHANCE_DIFFERENCE and max(one[0] for one in scores.values()) < MAX_Z_SCORE,
        {
            **shares,
            "eq_12": _eq_12_probability(ratio),
            "largest_z_of_the_law_of_f": max(one[0] for one in scores.values()),
        },
        "The chance is the same for all dimensions and outputs.",
        "For one dimension and one output. In general the chance is a distribution function of F with d and k - d + 1 "
        "degrees of freedom and runs from 0.09 to 1 at equal rates.",
    )


def _pairs_that_merge(decoder: Array, half: Array, ratio: float) -> Mask:
    """Return whether the conserved matrix has no negative eigenvalue, pair by pair."""
    gram = np.einsum("nki,nkj->nij", decoder, decoder) / 2.0
    lowest = np.linalg.eigvalsh(gram - half[:, :, None] * half[:, None, :] / ratio)[:, 0]
    return np.asarray(lowest >= 0.0)


def check_target(quick: bool) -> Finding:
    """Follow the whole flow, with a bias that learns from zero, for several targets."""
    draws = 500 if quick else 20000
    law = float(collision_probability(1.0, 1.0, encoder_scale_of="repon"))
    shares = {}
    for target in (0.0, 1.0, 3.0):
        run = simulate_repons(ReponSystem(1.0, 1.0, targets=target, bias="trained"), draws=draws)
        shares[target] = float(np.mean(run.merged))
    error = 0.5 / math.sqrt(draws)
    numbers = {number_id(f"share_that_merges_target_{target:g}"): one for target, one in shares.items()}
    return holds_if(
        max(shares.values()) < law + 3.0 * error,
        {**numbers, "eq_12": law, "standard_error": error},
        "No target lets more pairs merge than Eq. 12.",
        "Eq. 12 is no upper bound even for its own two repons: with a bias that learns from zero the chance depends on "
        "the target, 0.81 for a target of 3 where Eq. 12 has 0.5.",
    )


def check_eq_13(quick: bool) -> Finding:
    """Integrate one repon against N that move as one, and watch the invariant with the factor of Eq. 13."""
    drift, wrong, library = 0.0, math.inf, 0.0
    for count in CLUSTER_COUNTS:
        pull = 4.0 / (1.0 + 1.0 / count)
        a, x, c = _cluster_path(count)
        drift = max(drift, float(np.ptp(a**2 / (pull * 0.4) - (0.5 * (x - c)) ** 2 / 0.7)))
        library = max(library, abs(float(decoder_pull(count)) - pull))
        library = max(
            library, abs(float(collision_probability(1.0, 1.0, cluster=count)) - _eq_12_probability(1.0, pull=pull))
        )
        if count > 1:
            wrong = min(wrong, float(np.ptp(a**2 / (2.0 * 0.4) - (0.5 * (x - c)) ** 2 / 0.7)))
    return holds_if(
        drift < FLOW_TOLERANCE < wrong and library < FLOW_TOLERANCE,
        {"drift_with_general_factor": drift, "least_drift_with_factor_2": wrong, "library": library},
        "4/(1 + 1/N) is the factor that is conserved; 2 for N = 1.",
    )


def _cluster_path(count: int) -> Array:
    """Return gain, lone repon and cluster over time, the bias at its best value, rates 0.7 and 0.4."""

    def velocity(_: float, state: Array) -> list[float]:
        """Return the flow; the cluster pulls the decoder N times but each of its repons moves for itself."""
        a, x, c = state
        center = (x + count * c) / (1 + count)
        lone, other = x - center, c - center
        return [-0.4 * a * (lone**2 + count * other**2), -0.7 * a * a * lone, -0.7 * a * a * other]

    times = np.linspace(0.0, 20.0, 50)
    found = integrate.solve_ivp(
        velocity, (0.0, 20.0), [0.9, 1.0, -0.6], t_eval=times, method="LSODA", rtol=1e-11, atol=1e-13
    )
    return np.asarray(found.y)


def check_slope_of_eq_12(quick: bool) -> Finding:
    """Follow a level line of Eq. 12 in the plane of the logarithms of both rates."""
    decoder = np.logspace(-5.0, -2.0, 7)
    level = 0.3
    ratio = 2.0 * math.tan(level * math.pi / 2.0) ** 2
    encoder = ratio * decoder
    same = np.ptp(np.asarray(collision_probability(encoder, decoder)))
    slope = float(np.polyfit(np.log(decoder), np.log(encoder), 1)[0])
    turned = np.ptp(np.asarray(collision_probability(1.0 / decoder, decoder)))
    return corrected_if(
        turned < FLOW_TOLERANCE,
        same < FLOW_TOLERANCE and abs(slope - 1.0) < FLOW_TOLERANCE,
        {"slope_of_the_level_line": slope, "spread_along_level_line": same, "spread_along_slope_minus_1": turned},
        "Slope +1, as the caption says: η_enc in proportion to η_dec. It looks like -1 because the axis of η_enc is "
        "drawn upside down.",
    )
