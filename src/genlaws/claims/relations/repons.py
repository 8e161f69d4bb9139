"""Checks of the dynamics of the relations paper: its gradients, Theorems 1 and 2, Eqs. 6 to 11 and Fig. 4."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import integrate

from genlaws.claims.claim import Finding, corrected_if, graded, holds_if, number_id
from genlaws.core.arguments import Array
from genlaws.relations import matrix_invariant, modulo, pair_invariant, pair_limit, pair_path, separation_limit

ETA_X, ETA_A = 0.7, 0.4  # rates of the repons and of the decoder
RATES = {"encoder_rate": ETA_X, "decoder_rate": ETA_A}
GRADIENT_STEP = 1e-5  # of a central difference
DIFFERENCE_TOLERANCE = 1e-7  # what its error may be
REST_TOLERANCE = 1e-4
CLASS_COUNT = 3
FLOW_TOLERANCE = 1e-6  # relative, of a numerical integration


class ReponPair(NamedTuple):
    """Two repons, their decoder and the target."""

    decoder: Array
    bias: Array
    first: Array
    second: Array
    target: Array


def loss(pair: ReponPair) -> float:
    """Return Eq. 6."""
    misses = (pair.decoder @ one + pair.bias - pair.target for one in (pair.first, pair.second))
    return 0.5 * float(sum(miss @ miss for miss in misses))


def gradient(pair: ReponPair, name: str) -> Array:
    """Return the derivative of Eq. 6 with respect to one part, by central differences."""
    value: Array = getattr(pair, name)
    slope = np.empty_like(value)
    for place in np.ndindex(value.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = value.copy()
            moved[place] += sign * GRADIENT_STEP
            ends.append(loss(pair._replace(**{name: moved})))
        slope[place] = (ends[0] - ends[1]) / (2.0 * GRADIENT_STEP)
    return slope


def draw_pair(seed: int, dimension: int = 3) -> ReponPair:
    """Return standard normal parts."""
    rng = np.random.default_rng(seed)
    shapes = ((dimension, dimension), dimension, dimension, dimension, dimension)
    return ReponPair(*(rng.standard_normal(shape) for shape in shapes))


def check_eq_8(quick: bool) -> Finding:
    """Differentiate Eq. 6 numerically where the bias is at its best value, and compare with Eq. 8."""
    worst = 0.0
    for seed in range(3 if quick else 30):
        pair = _with_fitted_bias(draw_pair(seed))
        r = 0.5 * (pair.first - pair.second)
        decoder = gradient(pair, "decoder") - 2.0 * np.outer(pair.decoder @ r, r)
        moves = 0.5 * (gradient(pair, "first") - gradient(pair, "second"))
        worst = max(worst, np.abs(decoder).max(), np.abs(moves - pair.decoder.T @ pair.decoder @ r).max())
    return holds_if(
        worst < DIFFERENCE_TOLERANCE,
        {"largest_difference": worst, "allowed": DIFFERENCE_TOLERANCE},
        "Eq. 8 is the gradient of Eq. 6 with the bias at its best value.",
    )


def _with_fitted_bias(pair: ReponPair) -> ReponPair:
    """Return the pair with the bias at its best value."""
    return pair._replace(bias=pair.target - pair.decoder @ (pair.first + pair.second) / 2.0)


def check_bias_equation(quick: bool) -> Finding:
    """Differentiate Eq. 6 with respect to the bias and compare with Eq. C1."""
    pair = draw_pair(3)
    found, both = gradient(pair, "bias"), pair.decoder @ (pair.first + pair.second)
    printed = np.abs(found - (both + pair.bias - pair.target)).max()
    right = np.abs(found - (both + 2.0 * (pair.bias - pair.target))).max()
    return corrected_if(
        printed < DIFFERENCE_TOLERANCE,
        right < DIFFERENCE_TOLERANCE,
        {"difference_from_printed_form": printed, "difference_from_form_with_factor_2": right},
        "db/dt = -η_A (A(x1 + x2) + 2(b - y)); the solution that the paper uses next needs the 2.",
    )


def check_center(quick: bool) -> Finding:
    """Start with x1 + x2 = 0 and a bias of zero, and see whether the center stays where it was."""

    def velocity(_: float, state: Array) -> list[float]:
        """Return the whole flow of Eq. 7 in one dimension."""
        a, b, x1, x2 = state
        miss = a * x1 + b - 1.0, a * x2 + b - 1.0
        moves = [miss[0] * x1 + miss[1] * x2, miss[0] + miss[1], miss[0] * a, miss[1] * a]
        return [-rate * move for rate, move in zip((ETA_A, ETA_A, ETA_X, ETA_X), moves, strict=True)]

    end = integrate.solve_ivp(velocity, (0.0, 50.0), [0.8, 0.0, 0.5, -0.5], rtol=1e-9, atol=1e-11).y[:, -1]
    pair = _with_fitted_bias(draw_pair(4))  # any center, the bias at its best value
    r = 0.5 * (pair.first - pair.second)
    exact = np.abs(gradient(pair, "decoder") - 2.0 * np.outer(pair.decoder @ r, r)).max()
    return corrected_if(
        abs(0.5 * (end[2] + end[3])) < REST_TOLERANCE,
        exact < DIFFERENCE_TOLERANCE,
        {"final_center": 0.5 * (end[2] + end[3]), "difference_from_eq_8_with_best_bias": exact},
        "The center moves while the bias is not at its best value, so it cannot be chosen to be zero. Eq. 8 holds for "
        "any center if the bias always is, as when it learns much faster than the rest.",
    )


def _integrate_flow(
    decoder: Array, half: Array, until: float, rates: tuple[float, float] = (ETA_X, ETA_A)
) -> tuple[Array, Array]:
    """Integrate Eq. 8 from a start."""
    shape = decoder.shape

    def velocity(_: float, state: Array) -> Array:
        """Return Eq. 8."""
        a, r = state[: decoder.size].reshape(shape), state[decoder.size :]
        return np.concatenate([(-2.0 * rates[1] * np.outer(a @ r, r)).ravel(), -rates[0] * a.T @ a @ r])

    start = np.concatenate([decoder.ravel(), half])
    end = integrate.solve_ivp(velocity, (0.0, until), start, method="LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    return end[: decoder.size].reshape(shape), end[decoder.size :]


def check_theorem_1(quick: bool) -> Finding:
    """Count inputs that a decoder without error must give the same answer, and whether rows distinguish classes."""
    table, classes = modulo(12, CLASS_COUNT).matrix, np.arange(12) % CLASS_COUNT
    same_answer = len({(one, one) for one in classes})  # (E_c, E_c) must be answered with 1 for every class c
    rows_equal = (table[:, None, :] == table[None, :, :]).all(axis=2)
    wrong = int((rows_equal != (classes[:, None] == classes)).sum())
    return corrected_if(
        same_answer <= 1,
        wrong == 0,
        {
            "classes": CLASS_COUNT,
            "inputs_with_answer_1": same_answer,
            "pairs_classified_wrongly": wrong,
        },
        "No injective decoder is without error on two classes: (E, E) has the answer 1 for every E. What is needed is "
        "a decoder that distinguishes two embeddings by their answers with all partners; then classes are points.",
    )


def check_theorem_2(quick: bool) -> Finding:
    """Integrate Eq. 8 in three dimensions until it comes to rest, from many starts."""
    starts, merged, worst, moving = 12 if quick else 100, 0, 0.0, 0.0
    for seed in range(starts):
        pair = draw_pair(seed)
        half = pair.first * (0.2 if seed % 2 else 1.0)
        _, middle = _integrate_flow(pair.decoder, half, 5e4)
        _, end = _integrate_flow(pair.decoder, half, 1e5)
        limit = separation_limit(pair.decoder, half, **RATES)
        merged += bool(np.linalg.norm(limit) == 0.0)
        worst = max(worst, float(np.linalg.norm(end - limit)))
        moving = max(moving, float(np.linalg.norm(end - middle)))
    return holds_if(
        moving < REST_TOLERANCE and worst < REST_TOLERANCE and 0 < merged < starts,
        {
            "starts": starts,
            "starts_that_merge": merged,
            "starts_still_moving": moving,
            "distance_from_the_limit": worst,
        },
        "Every separation comes to rest, at zero or at the length that the conserved matrix gives.",
    )


def check_eq_9(quick: bool) -> Finding:
    """Follow Eq. 8 from a generic start and from a singular vector of the decoder, and watch the direction."""
    pair, cosines, drift = draw_pair(0), {}, 0.0
    vector = np.linalg.svd(pair.decoder)[2][1]
    for name, half in (("generic start", pair.first), ("singular vector", vector)):
        decoder, end = _integrate_flow(pair.decoder, half, 2.0)
        cosines[name] = float(end @ half / np.linalg.norm(end) / np.linalg.norm(half))
        change = matrix_invariant(decoder, end, **RATES) - matrix_invariant(pair.decoder, half, **RATES)
        drift = max(drift, float(np.abs(change).max()))
    return corrected_if(
        1.0 - cosines["generic start"] < FLOW_TOLERANCE,
        1.0 - cosines["singular vector"] < FLOW_TOLERANCE and drift < FLOW_TOLERANCE,
        {number_id(f"cosine_{name}"): one for name, one in cosines.items()} | {"drift_of_the_matrix": drift},
        "The form solves Eq. 8 only if r0 is a singular vector of A0. In general AᵀA/(2η_A) - rrᵀ/η_x is conserved, "
        "and two repons merge exactly if it has no negative eigenvalue.",
    )


def _integrate_path(a0: float, c0: float, until: float) -> Array:
    """Return gain and separation of Eq. 10 at many times, by integration."""

    def velocity(_: float, state: Array) -> list[float]:
        """Return Eq. 10."""
        return [-2.0 * ETA_A * state[1] ** 2 * state[0], -ETA_X * state[0] ** 2 * state[1]]

    times = np.linspace(0.0, until, 60)
    found = integrate.solve_ivp(velocity, (0.0, until), [a0, c0], t_eval=times, method="LSODA", rtol=1e-11, atol=1e-13)
    return np.asarray(found.y)


def check_eq_11(quick: bool) -> Finding:
    """Integrate Eq. 10 and watch C of Eq. 11; compare the end with the fixed points and the path with the library."""
    drift, path_gap, end_gap = 0.0, 0.0, 0.0
    for a0, c0 in ((1.0, 0.5), (-0.6, 1.2), (0.9, -0.3), (0.3, 0.8)):
        a, c = _integrate_path(a0, c0, 60.0)
        conserved = a**2 / (2.0 * ETA_A) - c**2 / ETA_X
        drift = max(drift, float(np.ptp(conserved)))
        path = pair_path(a0, c0, np.linspace(0.0, 60.0, 60), **RATES)
        path_gap = max(path_gap, np.abs(path.decoder_gain - a).max(), np.abs(path.half_separation - c).max())
        constant = float(pair_invariant(a0, c0, **RATES))
        ends = (np.sqrt(2.0 * ETA_A * constant), 0.0) if constant > 0.0 else (0.0, np.sqrt(-ETA_X * constant))
        end_gap = max(end_gap, abs(abs(a[-1]) - ends[0]), abs(abs(c[-1]) - ends[1]))
    return holds_if(
        drift < FLOW_TOLERANCE and end_gap < REST_TOLERANCE and path_gap < FLOW_TOLERANCE,
        {"drift_of_c": drift, "distance_from_the_fixed_points": end_gap, "path_against_the_library": path_gap},
        "C is conserved and decides: the separation vanishes for C > 0, the decoder's gain for C < 0.",
    )


def check_fig_4(quick: bool) -> Finding:
    """Draw starts in the plane of gain and separation, integrate each and compare with the sector it is in."""
    rng, starts = np.random.default_rng(2), 40 if quick else 400
    drawn = rng.standard_normal((starts, 2))
    drawn = drawn[np.abs(drawn[:, 0] ** 2 / (2.0 * ETA_A) - drawn[:, 1] ** 2 / ETA_X) > 0.1]
    merges = np.array([abs(_integrate_path(a, c, 200.0)[1, -1]) < REST_TOLERANCE for a, c in drawn])
    green = np.abs(drawn[:, 1] / drawn[:, 0]) < np.sqrt(ETA_X / (2.0 * ETA_A))
    stated = pair_limit(*drawn.T, **RATES).merges
    return holds_if(
        (merges == green).all() and (merges == stated).all(),
        {
            "starts": len(drawn),
            "starts_in_the_wrong_sector": int((merges != green).sum()),
            "starts_that_merge_in_sector": int(merges.sum()),
        },
        "Exactly the starts in the sector |c| < √(η_x/2η_A) |a| merge.",
    )


def check_oscillator(quick: bool) -> Finding:
    """Compare the conserved quantity with the energy of an oscillator: sign of its terms, and turning points."""
    form = np.linalg.eigvalsh(np.diag([1.0 / (2.0 * ETA_A), -1.0 / ETA_X]))
    a, c = _integrate_path(0.6, 0.9, 100.0)
    turns = sum(int((np.diff(np.sign(one[np.abs(one) > FLOW_TOLERANCE])) != 0).sum()) for one in (a, c))
    falls = all(bool((np.diff(np.abs(one)) <= FLOW_TOLERANCE).all()) for one in (a, c))
    return corrected_if(
        (form > 0).all() or turns > 0,
        falls,
        {
            "terms_of_positive_sign": int((form > 0).sum()),
            "terms_of_negative_sign": int((form < 0).sum()),
            "direction_changes": turns,
        },
        "The two terms have opposite signs: hyperbolae, not the ellipses of an oscillator. Nothing oscillates; gain "
        "and separation both fall until one is gone.",
    )


def check_two_limits(quick: bool) -> Finding:
    """Hold the decoder, then the repons, and see what vanishes in one and in three dimensions."""
    pair = draw_pair(1)
    _, half = _integrate_flow(pair.decoder, pair.first, 1e5, (ETA_X, 0.0))
    wide, _ = _integrate_flow(pair.decoder, pair.first, 200.0, (0.0, ETA_A))
    narrow, _ = _integrate_flow(np.array([[0.8]]), np.array([1.1]), 200.0, (0.0, ETA_A))
    numbers = {
        "separation_with_decoder_held": np.linalg.norm(half),
        "decoder_with_repons_held_one_dimension": np.linalg.norm(narrow),
        "decoder_with_repons_held_three_dimensions": np.linalg.norm(wide),
        "decoder_along_the_separation": np.linalg.norm(wide @ pair.first),
    }
    small = {name: float(one) < REST_TOLERANCE for name, one in numbers.items()}
    held, one_dimension, three, along = small.values()
    return graded(
        held and one_dimension and three,
        held and one_dimension and along,
        numbers,
        "The separation vanishes with the decoder held, the decoder with the repons held.",
        "The separation vanishes with the decoder held. With the repons held the decoder vanishes in one dimension; in "
        "more it only gives up the direction of r and keeps the others.",
    )


def check_repulsion(quick: bool) -> Finding:
    """Follow the separation of pairs that do not merge and look for a repelling force."""
    growth, memorized = -np.inf, 0
    for seed in range(8 if quick else 60):
        rng = np.random.default_rng(seed)
        _, c = _integrate_path(0.4 * rng.standard_normal(), 1.0 + rng.random(), 100.0)
        memorized += bool(abs(c[-1]) > 0.1)
        growth = max(growth, float(np.diff(np.abs(c)).max()))
    return corrected_if(
        growth > FLOW_TOLERANCE,
        memorized > 0,
        {"pairs_that_stay_apart": memorized, "largest_growth_of_a_separation": growth},
        "The force between repons of one class never repels. A pair stays apart because the decoder gives up the "
        "direction between them before they meet.",
    )
