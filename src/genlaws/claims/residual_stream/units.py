"""Checks of units from one sublayer to the next: correlation, speed and mutual information.

They use synthetic streams: walks with given speeds, clouds that rotate and grow, units of unequal variance.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import spearmanr

from genlaws.claims.claim import Finding, corrected_if, graded, holds_if
from genlaws.claims.residual_stream.data import COSINES, INFORMATION, SPEEDS, by_write, in_order
from genlaws.core.arguments import Array
from genlaws.models.stream import Stream
from genlaws.residual_stream.measures.correlations import unit_correlations
from genlaws.residual_stream.measures.estimators import kernel_information

STRONG_CORRELATION = 0.8  # correlation that the paper calls strong
EARLY_TRANSITIONS = 8  # transitions in which the paper's information falls
KERNEL_COST_NATS = 0.035  # nats that kernels cost a Gaussian at 1,000 texts


def walk(speeds: Array, units: int, seed: int = 0) -> Array:
    """Return a Gaussian random walk from zero, sites first, whose steps have these sizes."""
    noise = np.random.default_rng(seed).standard_normal((len(speeds), units))
    return np.concatenate([np.zeros((1, units)), np.cumsum(np.asarray(speeds)[:, None] * noise, axis=0)])


def rotations_written_out(a: Array, slope: Array | None = None) -> Array:
    r"""Return the rotations of each unit as the paper defines them, without the library.

    .. math:: R = \frac{1}{2\pi} \sum_l \mathrm{wrap}(\theta_{l+1} - \theta_l), \qquad
        \theta_l = \mathrm{atan2}(\Delta y_l, \Delta x_l)

    Parameters
    ----------
    a : array, shape (sites, units)
    slope : array of the same shape, optional
        The gradient of ``a`` if not given.
    """
    y = np.gradient(a, axis=0) if slope is None else slope
    theta = np.arctan2(np.diff(y, axis=0), np.diff(a, axis=0))
    change = np.diff(theta, axis=0)
    wrapped = np.pi - np.mod(np.pi - change, 2 * np.pi)
    counts: Array = wrapped.sum(axis=0) / (2 * np.pi)
    return counts


def whitened(texts: int, units: int, seed: int = 0) -> Array:
    """Return states with mean zero and covariance exactly one."""
    raw = np.random.default_rng(seed).standard_normal((texts, units))
    q, _ = np.linalg.qr(raw - raw.mean(axis=0))
    states: Array = q * np.sqrt(texts - 1)
    return states


def rotating_cloud(growth: float, *, texts: int = 150, units: int = 100, sites: int = 64) -> Array:
    """Return states (texts, sites, units) with one spectrum everywhere, a rotating basis, lengths times e^growth."""
    generator = np.random.default_rng(1)
    skew = generator.standard_normal((units, units))
    values, vectors = np.linalg.eigh(1j * (skew - skew.T) / np.sqrt(2 * units))
    first = whitened(texts, units) * np.arange(1, units + 1.0) ** -0.425
    states = []
    for time in np.linspace(0, 1, sites):
        rotation = ((vectors * np.exp(-20j * values * time)) @ vectors.conj().T).real
        states.append(np.exp(growth * time) * first @ rotation.T)
    return np.stack(states, axis=1)


def share_along(states: Array, axes_of: Array, components: int) -> float:
    """Return the share of the variance of states along the first principal axes of other states."""
    _, _, axes = np.linalg.svd(axes_of - axes_of.mean(axis=0), full_matrices=False)
    centered = states - states.mean(axis=0)
    return float(np.sum((centered @ axes[:components].T) ** 2) / np.sum(centered**2))


def check_basis(quick: bool, step_profile: Array | None = None, step: float = 0.1246) -> Finding:
    """Correlate a state with itself plus a small step, in its own units and along random axes."""
    units, texts = 200, 600 if quick else 4000
    spread = np.exp(1.2 * np.random.default_rng(7).standard_normal(units))
    variance = spread / spread.mean()
    steps = np.full(units, step) if step_profile is None else step_profile
    generator = np.random.default_rng(8)
    first = whitened(texts, units) * np.sqrt(variance)
    states = np.stack([first, first + np.sqrt(steps) * generator.standard_normal(first.shape)], axis=1)
    rotation, _ = np.linalg.qr(generator.standard_normal((units, units)))
    own, turned = (unit_correlations(Stream.from_states(one)).r[0] for one in (states, states @ rotation))
    expected = float(np.sqrt(variance / (variance + steps)).mean())
    strong = own.mean() > STRONG_CORRELATION
    return graded(
        strong and own.mean() > turned.mean() + 0.01,
        strong,
        {
            "own_units_mean_r": own.mean(),
            "own_units_expected": expected,
            "random_axes_mean_r": turned.mean(),
            "own_units_deviation": own.std(),
            "random_axes_deviation": turned.std(),
        },
        f"Units correlate more than random axes do: {own.mean():.3f} against {turned.mean():.3f}.",
        f"A state plus a small step is as strongly correlated along random axes, {turned.mean():.3f}, as in its own "
        f"units, {own.mean():.3f}: strong correlation follows from small steps in any basis, not despite it.",
    )


def check_from_the_start(quick: bool, same_end: bool = True) -> Finding:
    """Correlate units over texts whose last token is the same, and over texts with different ones."""
    generator = np.random.default_rng(2)
    table = generator.standard_normal((50, 64))  # embeddings of 50 tokens
    texts = 100 if quick else 1000
    ends = [np.full(texts, 7) if same_end else generator.integers(50, size=texts), generator.integers(50, size=texts)]
    defined, values = [], []
    for one in ends:
        first = table[one]
        states = np.stack([first, first + 0.3 * generator.standard_normal(first.shape)], axis=1)
        r = unit_correlations(Stream.from_states(states)).r[0]
        defined.append(float(np.isfinite(r).mean()))
        values.append(float(np.nanmean(r)) if defined[-1] else math.nan)
    return graded(
        defined[0] == 1.0 and values[0] > STRONG_CORRELATION,
        defined[1] == 1.0 and values[1] > STRONG_CORRELATION,
        {
            "same_last_token_units_with_correlation": defined[0],
            "different_last_tokens_units_with_correlation": defined[1],
            "different_last_tokens_mean_r": values[1],
            "paper_cosine_of_the_first_transition": in_order(COSINES)[0],
        },
        "Units have a strong correlation from the first sublayer on.",
        "Only where texts end in different tokens. Lines of WikiText end with the same white space; unless it is "
        "stripped, the first state is one vector for all texts and no unit has a correlation there.",
    )


def check_within_and_cross(quick: bool, lists: tuple[str, str] = COSINES) -> Finding:
    """Compare the cosines of attention and MLP writes in the paper's figure, and follow each along the layers."""
    attention, mlp = by_write(lists)
    above = attention[: len(mlp)] > mlp
    rise = [float(spearmanr(np.arange(len(one)), one).statistic) for one in (attention, mlp)]
    squares = np.cumsum(in_order(SPEEDS) ** 2)
    of_walk = np.sqrt(squares[:-1] / squares[1:])  # lengths of a walk with the paper's speeds, from the second site on
    alike = float(spearmanr(of_walk, in_order(lists)[1:]).statistic)
    falls = float(max(attention.max() - attention[-1], mlp.max() - mlp[-1]))
    return graded(
        above.all() and min(rise) > 0 and falls < 0.02,
        above.mean() > 0.9 and min(rise) > 0,
        {
            "layers_with_attention_above_mlp": above.mean(),
            "attention_rank_correlation_with_depth": rise[0],
            "mlp_rank_correlation_with_depth": rise[1],
            "largest_fall_from_top_to_last": falls,
            "walk_with_paper_speeds_mean_cosine": of_walk.mean(),
            "paper_mean_cosine": in_order(lists).mean(),
            "rank_correlation_of_the_two": alike,
        },
        "Within-layer cosines lie above cross-layer ones in every layer, and both rise throughout.",
        f"Within-layer cosines lie above cross-layer ones in {above.sum()} of {len(mlp)} layers, not in "
        f"{' and '.join(map(str, np.flatnonzero(~above)))}; both rise with depth but fall by up to {falls:.2f} in the "
        "last layers. Read off the paper's figure of cosines.",
    )


def check_acceleration(quick: bool, speeds: tuple[str, str] = SPEEDS, cosines: tuple[str, str] = COSINES) -> Finding:
    """Compare thirds of the paper's speeds, and of the angle by which the state turns at each step."""
    thirds = np.array([one.mean() for one in np.array_split(in_order(speeds), 3)])
    angles = np.array([one.mean() for one in np.array_split(np.arccos(in_order(cosines)), 3)])
    rises = np.diff(thirds)
    accelerates = bool(rises[0] > 0 and rises[1] > rises[0])
    return graded(
        accelerates and angles[2] > angles[0],
        accelerates,
        {f"speed_third_{k + 1}": one for k, one in enumerate(thirds)}
        | {f"step_angle_third_{k + 1}": one for k, one in enumerate(angles)},
        "The state speeds up, most in the last third, in length and in angle.",
        f"Steps grow {thirds[2] / thirds[0]:.1f} times from the first third to the last, most at the end, but the "
        f"state grows faster: it turns by {angles[0]:.2f} radians a step at first and {angles[2]:.2f} at last. By the "
        "paper's figures it accelerates in length and slows down in direction.",
    )


def check_cross_faster(quick: bool, speeds: tuple[str, str] = SPEEDS) -> Finding:
    """Compare the speeds of MLP and attention writes layer by layer in the paper's figure."""
    attention, mlp = by_write(speeds)
    faster = mlp > attention[: len(mlp)]
    ratio = float(mlp.mean() / attention[: len(mlp)].mean())
    return graded(
        faster.all(),
        faster.mean() > 0.9,
        {"layers_in_which_the_mlp_writes_more": faster.mean(), "mean_mlp_over_mean_attention": ratio},
        "Cross-layer steps are longer in every layer.",
        f"Cross-layer steps are longer in {faster.sum()} of {len(mlp)} layers, {ratio:.2f} times on average; read off "
        "the paper's figure, where the first dots overlap.",
    )


def check_paradox(quick: bool, information: tuple[str, str] = INFORMATION) -> Finding:
    """Check whether information and correlation go together: for Gaussians, in the paper's curves, with few values."""
    pairs, texts = (4, 1000) if quick else (50, 1000)
    generator, worst = np.random.default_rng(0), 0.0
    for r in (0.8, 0.9, 0.95, 0.98):
        x, noise = generator.standard_normal((2, texts, pairs))
        kernel = kernel_information(x, r * x + math.sqrt(1 - r**2) * noise).mean()
        worst = max(worst, abs(float(kernel) + 0.5 * math.log(1 - r**2)))
    later = slice(EARLY_TRANSITIONS, None)
    gaussian = -0.5 * np.log(1 - in_order(COSINES) ** 2)
    together = float(spearmanr(gaussian[later], in_order(information)[later]).statistic)
    return corrected_if(
        together <= 0,
        worst < KERNEL_COST_NATS + 0.1 / math.sqrt(pairs) and together > 0.5,
        {
            "rank_correlation_from_transition_8": together,
            "largest_difference_from_gaussian_in_nats": worst,
            "paper_mean_information_from_transition_8": in_order(information)[later].mean(),
            "gaussian_with_paper_cosines": gaussian[later].mean(),
        },
        "There is no paradox: a Gaussian unit has -ln(1 - r^2)/2 nats, which rise with r, and so does the paper's own "
        f"curve from the eighth transition on (rank correlation {together:.2f}). Only the first points are high, where "
        "the input is nearly discrete.",
    )


def check_early_information(quick: bool, values: int = 2, noise: float = 0.05) -> Finding:
    """Estimate the information of nearly discrete units by kernels; no input can give more than its entropy."""
    generator, pairs = np.random.default_rng(1), 4 if quick else 40
    x = 2.0 * generator.integers(values, size=(1000, pairs))
    found = float(kernel_information(x, x + noise * generator.standard_normal(x.shape)).mean())
    entropy = math.log(values)
    printed = in_order(INFORMATION)
    least = math.exp(printed[0])
    return holds_if(
        found <= entropy + KERNEL_COST_NATS,
        {
            "entropy_of_the_input_nats": entropy,
            "noise_over_the_distance_of_values": noise / 2.0,
            "kernels": found,
            "paper_first_transition": printed[0],
            "values_that_an_input_needs_for_it": least,
            "paper_smallest": printed.min(),
        },
        f"Kernels give {found:.2f} nats, no more than the input's entropy of {entropy:.2f}.",
        f"The high first points come from the estimator: for an input of {values} values the kernels give {found:.2f} "
        f"nats where {entropy:.2f} is the maximum. The {printed[0]:.2f} nats of the first transition would "
        f"take {least:.0f} equally likely first tokens; lines of WikiText end with one.",
    )


def check_information_and_size(quick: bool, information: tuple[str, str] = INFORMATION) -> Finding:
    """Correlate information and speed in the paper's curves, in the first third of the layers and in the rest."""
    ranks = np.array(
        [
            [spearmanr(speed[part], nats[part]).statistic for part in (slice(0, 11), slice(11, None))]
            for speed, nats in zip(by_write(SPEEDS), by_write(information), strict=True)
        ]
    )
    first, rest = ranks.mean(axis=0)
    return graded(
        (ranks < 0).all(),
        first < 0,
        {
            "attention_first_third_rank_correlation": ranks[0, 0],
            "attention_rest_rank_correlation": ranks[0, 1],
            "mlp_first_third_rank_correlation": ranks[1, 0],
            "mlp_rest_rank_correlation": ranks[1, 1],
        },
        "Information falls wherever activations grow.",
        f"In the first third of the layers alone (mean rank correlation {first:.2f}); in the rest information does not "
        f"fall while activations keep growing ({rest:+.2f}). Read off the paper's figures.",
    )
