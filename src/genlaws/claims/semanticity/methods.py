"""Checks of how the paper's experiments are scored: each way of scoring is applied to a known chooser."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from genlaws.claims.claim import Finding, corrected_if, number_id
from genlaws.claims.semanticity.trials import constant, luce, play
from genlaws.probes.outcomes import parse_answer
from genlaws.semanticity.choices.fit import fit_choices
from genlaws.semanticity.choices.model import ChoiceModel, simulate_choices
from genlaws.semanticity.choices.trials import Trials
from genlaws.semanticity.theory.spaces import circle

OPTION_NAMES = ("circle", "square", "star", "triangle")
YEAR_COUNT = 800  # from 800 to 1599
MAX_PEOPLE = 98


def check_answer_preferences(quick: bool, preference: float = 5.0) -> Finding:
    """Simulate a sharp chooser who prefers one answer, and fit it with and without preferences."""
    rng = np.random.default_rng(1)
    count, planted = (400 if quick else 4000), 8.0
    distances = np.round(rng.uniform(0, 100, (count, len(OPTION_NAMES))), 1)
    options = [rng.permutation(OPTION_NAMES).tolist() for _ in distances]
    offsets = dict.fromkeys(OPTION_NAMES, 0.0) | {"triangle": preference}
    chooser = ChoiceModel("exponential", resolution=planted, lapse=0.03, offsets=offsets)
    trials = simulate_choices(Trials.from_lists(distances.tolist(), options=options), chooser, seed=1)
    share = float(np.mean([shown[place] == "triangle" for shown, place in zip(options, trials.chosen, strict=True)]))
    blind, seeing = (fit_choices(trials, shape="exponential", offsets=how).resolution for how in (None, "fit"))
    wrong, right = not blind.low <= planted <= blind.high, seeing.low <= planted <= seeing.high
    return corrected_if(
        not wrong,
        right,
        {
            "planted_resolution": planted,
            "fitted_without_biases": blind.value,
            "fitted_with_biases": seeing.value,
            "lower_end": seeing.low,
            "upper_end": seeing.high,
            "answers_triangle": share,
        },
        f"A chooser with resolution {planted:g} who says triangle in {100 * share:.0f} % of trials is fitted as "
        f"{blind.value:.1f} by a fit of distances alone, and as {seeing.value:.1f} "
        f"[{seeing.low:.1f}, {seeing.high:.1f}] by one with an offset for each answer and a lapse rate: "
        "that is the right form.",
    )


def check_repeated_years(quick: bool, people: int = MAX_PEOPLE, years: int = YEAR_COUNT) -> Finding:
    """Compute how often two people share a year if years are drawn independently."""
    any_shared = 1.0 - float(np.exp(np.log1p(-np.arange(people) / years).sum()))
    own_shared = 1.0 - (1.0 - 1.0 / years) ** (people - 1)
    return corrected_if(
        own_shared <= 0.01,
        True,
        {"some_two_share_a_year": any_shared, "queried_year_has_two_right_answers": own_shared, "people": people},
        f"Of {people} people with independent years from {years}, some two share a year in {100 * any_shared:.1f} % of "
        f"trials, and the queried year belongs to another person as well in {100 * own_shared:.1f} %. The right form: "
        "years without repetition.",
    )


def check_names_in_names(quick: bool, options: tuple[str, str] = ("Alex", "Alexander")) -> Finding:
    """Read one reply by looking for names inside it, and by whole words."""
    reply = f"{options[1]} was born closest to that year."
    inside = [name for name in options if name in reply]
    found = parse_answer(reply, options)
    strict = "" if found is None else options[found]
    return corrected_if(
        len(inside) <= 1 or strict != options[1],
        True,
        {"reply": reply, "found_inside_it": " and ".join(inside), "found_as_words": strict},
        f"Looking for names inside the reply finds {' and '.join(inside)}; whole words find {strict or 'none'} alone, "
        "which is the right form, with names none of which is part of another.",
    )


def check_dropped_replies(quick: bool, refusals: float = 0.5) -> Finding:
    """Let a chooser stay silent where it is unsure, and score it with and without the silent trials."""
    rng = np.random.default_rng(0)
    count = 20_000 if quick else 1_000_000
    apart = np.abs(rng.random((count, 2)) - rng.random((count, 1)))
    p = luce(np.exp(-apart / 0.1) + 0.05)
    right = rng.random(count) < np.take_along_axis(p, apart.argmin(axis=1)[:, None], axis=1)[:, 0]
    silent = (np.abs(p[:, 0] - 0.5) < 0.2) & (rng.random(count) < refusals)
    dropped, counted = float(right[~silent].mean()), float((right & ~silent).mean())
    whole, error = float(right.mean()), float(0.5 / np.sqrt(count))
    return corrected_if(
        dropped - whole <= 2.0 * error,
        True,
        {
            "silent": silent.mean(),
            "right_if_silence_is_dropped": dropped,
            "right_if_silence_is_wrong": counted,
            "right_if_all_had_been_answered": whole,
        },
        f"A chooser who does not answer {100 * silent.mean():.0f} % of the trials, all of them hard, scores "
        f"{dropped:.3f} if these are dropped and {whole:.3f} had it answered. The right form: count them, and report "
        "their share.",
    )


def check_sampled_scores(quick: bool, temperature: float = 0.5) -> Finding:
    """Score a chooser by its probabilities, by those after a temperature, and by drawn decisions."""
    rng = np.random.default_rng(0)
    apart = np.abs(rng.random((20_000, 2)) - rng.random((20_000, 1)))
    g = np.exp(-apart / 0.1) + 0.05
    nearest = apart.argmin(axis=1)[:, None]
    exact, sharpened = (
        float(np.take_along_axis(luce(g ** (1.0 / one)), nearest, axis=1).mean()) for one in (1.0, temperature)
    )
    spread = float(np.sqrt(exact * (1.0 - exact) / 100))
    return corrected_if(
        abs(sharpened - exact) <= 0.01,
        True,
        {
            "exact": exact,
            number_id(f"after_temperature_{temperature}"): sharpened,
            "error_of_100_drawn_decisions": spread,
        },
        f"Scores taken after a temperature of {temperature} give {sharpened:.3f} where the chooser's own probabilities "
        f"give {exact:.3f}, and 100 drawn decisions are uncertain by {spread:.3f}. The right form: the probability "
        "itself, before temperature and top-k.",
    )


def check_threshold_units(quick: bool, resolutions: Mapping[str, float] | None = None) -> Finding:
    """Apply one threshold to arcs of a circle and to the chords of its picture in the plane."""
    rng = np.random.default_rng(0)
    angles = 2.0 * np.pi * rng.random((2000 if quick else 20_000, 2))
    turn = np.abs(angles[:, 0] - angles[:, 1])
    arc = np.minimum(turn, 2.0 * np.pi - turn) / (2.0 * np.pi)
    units = {"arc": arc, "chord": 2.0 * np.sin(np.pi * arc)}
    thresholds = {"arc": 0.25, "chord": 0.25} if resolutions is None else dict(resolutions)
    masses = {name: float((units[name] <= thresholds[name]).mean()) for name in units}
    same = abs(masses["arc"] - masses["chord"]) < 0.02
    return corrected_if(
        same,
        True,
        {f"ball_mass_as_{name}": one for name, one in masses.items()},
        f"One threshold of {thresholds['arc']:.3g} covers {masses['arc']:.2f} of the circle as an arc and "
        f"{masses['chord']:.2f} as a distance of features. The right form: compare curves at equal ball mass, or at "
        "equal identification.",
    )


def check_tie_term(quick: bool, squared: bool = False) -> Finding:
    """Write out the two-item sum with the term for no item inside as (1-b)/2, and compare with the test played."""
    b = 0.3
    q = 1.0 - b
    term = 0.5 * (q**2 if squared else q)
    written = 0.5 * b**2 + 2.0 * b * q + term
    played = play("circle", constant(b / 2), trials=40_000 if quick else 2_000_000)
    exact = 0.5 * b**2 + 2.0 * b * q + 0.5 * q**2
    mass = float(np.asarray(circle().ball(np.array(b / 2))[0]))
    apart = abs(played.generalization - written) / played.generalization_error
    return corrected_if(
        apart <= 4.0,
        True,
        {"without_the_square": written, "with_the_square": exact, "played": played.generalization, "ball_mass": mass},
        f"At ball mass {b} the sum gives {written:.3f} if the chance that no item is inside enters as 1-b, {exact:.3f} "
        f"if as (1-b)^2, and the test played gives {played.generalization:.3f}: both items must be outside.",
    )
