"""Checks of the path in few dimensions, and of teleports in its plane."""

from __future__ import annotations

import numpy as np

from genlaws.claims.claim import Finding, corrected_if, graded, holds_if
from genlaws.claims.residual_stream.data import COMPRESSED_STEPS, SITES, SPEEDS, in_order
from genlaws.claims.residual_stream.units import rotating_cloud, share_along, walk
from genlaws.core.arguments import Array
from genlaws.models.stream import Stream
from genlaws.residual_stream.measures.dimensions import explained_variance

COMPONENT_COUNT = 10
FLAT_TOLERANCE = 0.05  # largest change of a share that counts as none
LOW_DIMENSIONAL_SHARE = 0.5  # share of a path's variance along two components that makes it low-dimensional
BEST_LAYERS, WORST_LAYERS = (7, 15, 23), (0,)  # where teleports come back, and where they do not


def check_low_dimensional(quick: bool, shares: tuple[float, float] | None = None) -> Finding:
    """Take two principal components of the path of random walks, with equal steps and with the paper's speeds."""
    units = 1024 if quick else 8192
    paths = [walk(speeds, units) for speeds in (np.ones(SITES - 1), in_order(SPEEDS))]
    equal, paper = shares or tuple(share_along(one, one, 2) for one in paths)
    exact = 6 / np.pi**2 * (1 + 1 / 4)  # of a long walk in many dimensions: its components are cosines
    return graded(
        max(equal, paper) < LOW_DIMENSIONAL_SHARE,
        min(equal, paper) >= LOW_DIMENSIONAL_SHARE,
        {
            "random_walk_share_along_two_components": equal,
            "random_walk_closed_form": exact,
            "walk_with_paper_speeds": paper,
            "bound": LOW_DIMENSIONAL_SHARE,
        },
        "Random walks have no low-dimensional path, so that one is a finding.",
        f"Two components show a smooth curved path, but they explain {equal:.2f} of a random walk's path as well "
        f"({paper:.2f} with the paper's speeds), whose components are cosines of depth. What exceeds that is the "
        "finding, and the paper gives no such number.",
    )


def check_fewer_later(quick: bool, growth: float = 3.3) -> Finding:
    """Give every layer the same spectrum, let the states grow, and measure what pooled components explain."""
    states = rotating_cloud(growth, texts=120 if quick else 600)
    flat = states.reshape(-1, states.shape[-1])
    first, last = (share_along(states[:, site], flat, COMPONENT_COUNT) for site in (0, -1))
    own = explained_variance(Stream.from_states(states), components=[COMPONENT_COUNT]).share[:, 0]
    spread = float(own.max() - own.min())
    return corrected_if(
        abs(last - first) < FLAT_TOLERANCE,
        spread < 1e-6,
        {
            "pooled_components_first_layer": first,
            "pooled_components_last_layer": last,
            "own_components_first_layer": own[0],
            "own_components_last_layer": own[-1],
        },
        "Components of all layers together follow the layers with the longest states: with the same spectrum "
        f"everywhere they explain {first:.2f} at first and {last:.2f} at last, each layer's own {own[0]:.2f} "
        "throughout. Whether later layers need fewer must be judged by each layer's own components.",
    )


def check_compressed_layers(quick: bool, speeds: Array | None = None) -> Finding:
    """Compute how much of a plain squared error belongs to the last third of sublayers if states grow as published."""
    sizes = in_order(SPEEDS) if speeds is None else speeds
    squares = np.concatenate([[0.0], np.cumsum(sizes**2)])  # of lengths, for steps at right angles
    share = float(squares[-(SITES // 3) :].sum() / squares.sum())
    early = float(squares[: SITES // 3].sum() / squares.sum())
    return graded(
        share < LOW_DIMENSIONAL_SHARE,
        early < FLAT_TOLERANCE,
        {"squared_length_share_last_third": share, "squared_length_share_first_third": early},
        "All layers have the same weight in the autoencoder's loss.",
        "Late layers dominate its loss: with the paper's speeds and steps at right angles the last third of the "
        f"sublayers has {share:.2f} of all squared length, the first third {early:.4f}. States divided by their length "
        "would have equal weights.",
        otherwise="The last third weighs most, the first third is not negligible.",
    )


def check_compressed_steps(quick: bool, steps: tuple[float, float, float] = COMPRESSED_STEPS) -> Finding:
    """Compare three parts of the paper's figure of step lengths with what its text says."""
    first, middle, last = steps
    return corrected_if(
        first < middle < last,
        first > middle < last,
        {"first_12_steps": first, "middle": middle, "last": last},
        f"The lengths are U-shaped, by the paper's own figure: about {first:.3f} in the first dozen steps, "
        f"{middle:.3f} in the middle, up to {last:.2f} at the end.",
    )


def check_teleport_formula(quick: bool, columns: bool = False) -> Finding:
    """Put points of the plane through the printed formula and the right one, and project them back."""
    units = 12 if quick else 200
    generator = np.random.default_rng(0)
    cloud = generator.standard_normal((5 * units, units)) * np.arange(units, 0, -1)
    mean = cloud.mean(axis=0)
    v = np.linalg.svd(cloud - mean, full_matrices=False)[2].T  # columns are components, as in Z = X V[:, :2]
    z = generator.uniform(-15, 15, (100, 2))
    wrong = _projection_error(z, v[:, :2] if columns else v[:2], v, mean)
    right = _projection_error(z, v[:, :2], v, mean)
    missing = float(np.abs((_states_at(z, v[:, :2], mean) - mean) @ v[:, 2:]).max())
    return corrected_if(
        wrong < 1e-9,
        right < 1e-9,
        {
            "error_of_printed_form": wrong,
            "error_of_right_form": right,
            "largest_other_component": missing,
        },
        "x = z V[:, :2]^T + mu: V has components in its columns. V[:2] are two rows, and its transpose does not even "
        "fit z. A teleported state also has no component outside the plane, so a return is in part regrowth.",
    )


def _states_at(z: Array, axes: Array, mean: Array) -> Array:
    placed: Array = z @ axes.T + mean
    return placed


def _projection_error(z: Array, axes: Array, v: Array, mean: Array) -> float:
    """Return the largest error of points that are placed and projected back; infinite if the shapes do not fit."""
    if axes.shape != (len(mean), z.shape[1]):
        return np.inf
    return float(np.abs((_states_at(z, axes, mean) - mean) @ v[:, :2] - z).max())


def check_return_without_attractor(quick: bool, attraction: float = 0.0) -> Finding:
    """Disturb a stream whose writes do not depend on the state, and see whether it seems to come back.

    At every step the disturbed state moves toward the control by ``attraction`` times their distance.
    """
    units, start = 256 if quick else 4096, 14  # layer 7
    control = walk(in_order(SPEEDS), units) / np.sqrt(units)
    steps = np.diff(control, axis=0)
    state = control[start] + 15.0 * np.eye(units)[0]  # teleports go up to 15 away
    distance = [15.0]
    for site in range(start, SITES - 1):
        state = state + steps[site] + attraction * (control[site] - state)
        distance.append(float(np.linalg.norm(state - control[site + 1])))
    absolute = distance[-1] / distance[0]
    relative = absolute * float(np.linalg.norm(control[start]) / np.linalg.norm(control[-1]))
    return graded(
        absolute < LOW_DIMENSIONAL_SHARE,
        relative < LOW_DIMENSIONAL_SHARE,
        {"final_distance_over_distance_at_layer_7": absolute, "ratio_relative_to_state_length": relative},
        f"The distance itself falls, to {absolute:.3f} of what it was.",
        f"Relative to the growing state a disturbance falls to {relative:.2f} of what it was at layer 7 in a stream "
        "that does not react to it at all, with the paper's speeds. Coming back must be measured in absolute distance; "
        "the paper gives no number of either.",
        otherwise="The disturbance does not fall even relative to the state.",
    )


def check_lower_layers(
    quick: bool, best: tuple[int, ...] = BEST_LAYERS, worst: tuple[int, ...] = WORST_LAYERS
) -> Finding:
    """Compare the abstract's lower layers with the layers whose teleports section 3.4 says come back."""
    half = 16
    low = [one for one in best if one < half]
    against = [one for one in worst if one < half] + [one for one in best if one >= half]
    return graded(
        not against,
        len(low) > 0,
        {
            "layers_said_to_come_back": ", ".join(map(str, best)),
            "layers_said_not_to_come_back": ", ".join(map(str, worst)) or "none",
            "layers_of_lower_half_that_come_back": len(low),
            "layers_that_disagree": len(against),
        },
        "All layers said to come back are in the lower half.",
        f"By section 3.4 layers {', '.join(map(str, best))} come back and {', '.join(map(str, worst))} does not: the "
        "middle, not the lower layers of the abstract. No distances are given, and the 8B model is not available here.",
        otherwise="No layer said to come back is in the lower half.",
    )


def check_arrows(quick: bool, layers: int = 32, at: int = 31, arrow: int = 12) -> Finding:
    """Count the recorded sublayers after a layer's first."""
    after = 2 * layers - 1 - 2 * at
    last = (2 * layers - 1 - arrow) // 2
    return corrected_if(
        after >= arrow,
        after + 1 < arrow and last >= 0,
        {
            "layer": at,
            "recorded_sublayers_after_it": after,
            "recorded_sublayers_with_the_final_state": after + 1,
            "sublayers_of_an_arrow": arrow,
            "last_layer_with_enough_sublayers": last,
        },
        f"After layer {at}, the last and not the penultimate, there is {after} recorded sublayer; arrows over {arrow} "
        f"can be drawn up to layer {last}.",
    )


def check_recording(quick: bool, sites: int = 64, within: int = 32, cross: int = 31) -> Finding:
    """Count the places that the library records in a model of 32 blocks, its last state left out as in the paper."""
    stream = Stream.from_states(np.zeros((1, 65, 2)))
    read = stream.sites[:64]
    steps = [one.place for one in read[:-1]]  # a step is named after the place it starts from
    found = len(read), steps.count("attention"), steps.count("mlp")
    return holds_if(
        found == (sites, within, cross),
        {"sublayers": found[0], "within_a_layer": found[1], "across_layers": found[2]},
        f"32 layers read twice give {found[0]} sublayers, {found[1]} steps within a layer and {found[2]} across.",
    )
