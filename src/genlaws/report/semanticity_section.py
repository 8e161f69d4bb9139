"""The report on resolution: the front beside choices and networks, the fall with many items, and real digits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.figures.progress import Progress
from genlaws.numerics.intervals import Estimate, from_standard_error, wilson_interval
from genlaws.panels import Curve, Panel
from genlaws.report.agreement import Agreement, agreement
from genlaws.report.installed import WITHOUT_TORCH, has_torch
from genlaws.report.section import Section
from genlaws.report.semanticity_runs import (
    Choices,
    Digits,
    NetworkPath,
    draw_choices,
    measure_digits,
    train_networks,
)
from genlaws.report.semanticity_words import COMMAND, LAW, PYTHON, YOURS
from genlaws.semanticity import generalisation_of_many, identification_of_many
from genlaws.semanticity.tradeoff import (
    generalisation_probability,
    identification_probability,
    linear_on_circle,
)

IDENTIFICATION, GENERALISATION = "identification p_I (probability)", "generalisation p_S (probability)"
COLOURS = {"constant": "blue", "linear": "vermillion"}
BALL_MASSES = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85)
CROWDED_BALL = 0.1  # ball mass of the picture with many items
BANDWIDTH = 0.25  # of the similarity of digits, over their median distance
PEAK = 0.80985  # generalisation of linear decay on the circle at its best resolution


@dataclass(frozen=True)
class Sizes:
    """How much is run."""

    trials: int = 40_000
    crowded_trials: int = 10_000
    item_counts: tuple[int, ...] = (2, 5, 10, 20, 50, 100, 200)
    networks: int = 8
    steps: int = 2000
    digits: int = 300


QUICK = Sizes(trials=4000, crowded_trials=2000, item_counts=(2, 10, 50), networks=2, steps=400, digits=60)


def semanticity_section(progress: Progress, seed: int, *, quick: bool = False) -> Section:
    """Run choices, networks and digits beside the laws of resolution.

    Parameters
    ----------
    progress : Progress
    seed : int
    quick : bool
        Much smaller runs, to see that everything works.
    """
    sizes = QUICK if quick else Sizes()
    progress.start(4, "semanticity")
    rng = np.random.default_rng([seed, 1])
    chosen = {shape: [draw_choices(shape, mass, 2, sizes.trials, rng) for mass in BALL_MASSES] for shape in COLOURS}
    progress.advance()
    crowded = [draw_choices("constant", CROWDED_BALL, n, sizes.crowded_trials, rng) for n in sizes.item_counts]
    progress.advance()
    networks = train_networks(sizes.networks, sizes.steps, 40, seed) if has_torch() else None
    progress.advance()
    digits = measure_digits(sizes.digits, (1, 2, 4, 8, 16, 64), BANDWIDTH, seed)
    progress.advance()
    both = _compared(chosen, crowded, sizes.item_counts)
    return Section(
        name="semanticity",
        title="Semanticity",
        question="How finely should things be told apart?",
        law=LAW,
        panels=(_front_panel(chosen, networks), _items_panel(crowded, sizes.item_counts), _digits_panel(digits)),
        numbers=(*_theory_numbers(both), *_network_numbers(networks), *_digit_numbers(digits)),
        findings=(*_findings(both), _network_finding(networks), _digit_finding(digits)),
        yours=YOURS,
        python=PYTHON.format(count=sizes.digits, share=BANDWIDTH, seed=seed),
        command=COMMAND,
    )


def _theory(shape: str, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return generalisation and identification on the circle."""
    if shape == "linear":
        return linear_on_circle(masses)
    return generalisation_probability(masses), identification_probability(masses)


def _front_panel(chosen: dict[str, list[Choices]], networks: NetworkPath | None) -> Panel:
    line = np.linspace(0.0, 1.0, 81)
    curves = []
    for shape, colour in COLOURS.items():
        p_s, p_i = _theory(shape, line)
        curves.append(Curve(f"{shape} similarity, theory", "theory", p_i.tolist(), p_s.tolist(), colour))
        found = [_share(one.generalisation, one.trials) for one in chosen[shape]]
        x = [one.identification for one in chosen[shape]]
        curves.append(_points(f"{shape} similarity, drawn choices", x, found, colour))
    if networks is not None:
        # Early and late in training alike, so that points do not lie on one another.
        places = np.unique(np.geomspace(1, len(networks.steps), 14).round().astype(int) - 1)
        notes = [f"after {step:,} steps" for step in networks.steps[places]]
        x = networks.identification[:, places].mean(axis=0).tolist()
        curves.append(
            _points("ReLU networks in training", x, _across(networks.generalisation[:, places]), "green", notes)
        )
    curves.append(Curve("p_S = p_I", "chance", [0.5, 0.85], [0.5, 0.85], "grey"))
    return Panel(
        "semanticity-front",
        "Generalisation against identification on a circle",
        IDENTIFICATION,
        GENERALISATION,
        tuple(curves),
        x_range=(0.49, 1.01),
        y_range=(0.48, 0.84),
        caption="Lines: theory at all resolutions, fine on the right. Points: shares of right choices drawn for this "
        "report, with 95 % intervals, and the mean of networks trained for it, which climb to the front of "
        "linear decay and slide along it. The peak lies where a front crosses the diagonal.",
    )


def _items_panel(crowded: list[Choices], counts: tuple[int, ...]) -> Panel:
    line = np.unique(np.geomspace(2, max(counts), 60).round())
    laws = (
        ("generalisation", "green", generalisation_of_many(CROWDED_BALL, line)),
        ("identification", "purple", identification_of_many(CROWDED_BALL, line)),
    )
    curves = []
    for name, colour, law in laws:
        curves.append(Curve(f"{name}, theory", "theory", line.tolist(), law.tolist(), colour))
        found = [_share(getattr(one, name), one.trials) for one in crowded]
        curves.append(_points(f"{name}, drawn choices", list(counts), found, colour))
    # The limit is drawn where it can be a probability.
    far = line[line * CROWDED_BALL >= 1.0]
    curves.append(Curve("1/(nb)", "paper", far.tolist(), (1.0 / (far * CROWDED_BALL)).tolist(), "ink"))
    return Panel(
        "semanticity-items",
        "Both tests with many items",
        "number of items n",
        "probability of the right choice",
        tuple(curves),
        x_log=True,
        y_log=True,
        caption=f"The ball around a probe holds {CROWDED_BALL:g} of the space. Once several items lie in it, both "
        "tests fall as one over the number of items.",
    )


def _digits_panel(digits: Digits) -> Panel:
    whole = digits.by_pixels[-1]
    curves = []
    if whole.front is not None:
        x, y = whole.front.identification.tolist(), whole.front.generalisation.tolist()
        curves.append(Curve(f"front of these digits, {whole.front.shape} shape", "theory", x, y, "purple"))
    if whole.constant_front is not None:
        x, y = whole.constant_front.identification.tolist(), whole.constant_front.generalisation.tolist()
        curves.append(Curve("front of these digits, constant shape", "theory", x, y, "blue"))
    notes = [f"{kept} principal components" for kept in digits.components]
    for name, colour, found in (
        ("nearer in pixels", "green", digits.by_pixels),
        ("the same digit", "orange", digits.by_class),
    ):
        x = [one.identification.value for one in found]
        curves.append(_points(name, x, [one.generalisation for one in found], colour, notes))
    return Panel(
        "semanticity-digits",
        "Handwritten digits on their own front",
        IDENTIFICATION,
        GENERALISATION,
        tuple(curves),
        caption=f"{whole.stimulus_count} of scikit-learn's digits, seen through "
        f"{', '.join(map(str, digits.components[:-1]))} or all {digits.components[-1]} principal components "
        "(left to right), with a Gaussian similarity a quarter of the median distance wide. Right is the item nearer "
        "in pixels, or the item of the same class. The fronts are those of the pixel distances. Intervals: 95 %, "
        "jackknife over digits.",
    )


def _points(
    name: str, x: list[float] | list[int], found: list[Estimate], colour: str, notes: list[str] | None = None
) -> Curve:
    """Return estimates as points with intervals."""
    low, high = [one.low for one in found], [one.high for one in found]
    return Curve(name, "run", x, [one.value for one in found], colour, low, high, notes)


def _share(share: float, trials: int) -> Estimate:
    return wilson_interval(round(share * trials), trials)


def _across(values: np.ndarray) -> list[Estimate]:
    """Return the mean over networks at each log, with Student's interval."""
    count = len(values)
    errors = values.std(axis=0, ddof=1) / np.sqrt(count)
    return [
        from_standard_error(float(mean), float(error), count)
        for mean, error in zip(values.mean(axis=0), errors, strict=True)
    ]


def _compared(
    chosen: dict[str, list[Choices]], crowded: list[Choices], counts: tuple[int, ...]
) -> tuple[Agreement, Agreement]:
    """Return how drawn choices agree with the fronts, and with the laws of many items."""
    masses = np.array(BALL_MASSES)
    two = [_z(found, *_theory(shape, masses)) for shape, found in chosen.items()]
    n = np.array(counts)
    many = _z(crowded, generalisation_of_many(CROWDED_BALL, n), identification_of_many(CROWDED_BALL, n))
    return agreement(np.concatenate(two)), agreement(many)


def _z(found: list[Choices], p_s: np.ndarray, p_i: np.ndarray) -> np.ndarray:
    """Return the distance of each share from its theory in standard errors."""
    law = np.concatenate([p_s, p_i])
    share = np.array([one.generalisation for one in found] + [one.identification for one in found])
    error = np.sqrt(law * (1.0 - law) / found[0].trials)
    z: np.ndarray = (share - law) / error
    return z


def _findings(both: tuple[Agreement, Agreement]) -> tuple[str, ...]:
    return (
        both[0].sentence("shares of right choices between two items"),
        both[1].sentence("shares of right choices among many items"),
    )


def _theory_numbers(both: tuple[Agreement, Agreement]) -> tuple[tuple[str, str, str], ...]:
    meanings = ("drawn choices between two items, both shapes and tests", "drawn choices among many items, both tests")
    return tuple(
        (f"largest z, {name}", f"{one.largest:.2f} of {one.count}", meaning)
        for name, one, meaning in zip(("two items", "many items"), both, meanings, strict=True)
    )


def _network_numbers(networks: NetworkPath | None) -> tuple[tuple[str, str, str], ...]:
    if networks is None:
        return ()
    peak = _across(networks.generalisation.max(axis=1, keepdims=True))[0]
    apart = _across(networks.distance[:, None])[0]
    return (
        ("peak of the networks", str(peak), f"largest generalisation in training; linear decay has {PEAK}"),
        ("distance from the front", str(apart), "mean size after the peak, over networks"),
    )


def _network_finding(networks: NetworkPath | None) -> str:
    if networks is None:
        return WITHOUT_TORCH
    peak = _across(networks.generalisation.max(axis=1, keepdims=True))[0]
    ends = networks.generalisation[:, -1].mean(), networks.identification[:, -1].mean()
    at_end = networks.generalisation.argmax(axis=1) == len(networks.steps) - 1
    opening = f"{peak.count} networks trained on random trials reach p_S = {peak}"
    if at_end.any():
        return f"{opening}; still climbing when training stopped: {int(at_end.sum())} of {peak.count}."
    apart = _across(networks.distance[:, None])[0]
    return (
        f"{opening}, where linear decay allows {PEAK}, and then trade it for identification, ending at "
        f"p_S = {ends[0]:.3f}, p_I = {ends[1]:.3f}, on average {apart.value:.4f} from its front."
    )


def _digit_numbers(digits: Digits) -> tuple[tuple[str, str, str], ...]:
    best = max(range(len(digits.components)), key=lambda place: digits.by_class[place].generalisation.value)
    whole, kept = digits.by_pixels[-1], digits.components[best]
    return (
        ("digits, nearer in pixels", str(whole.generalisation), "generalisation with all components"),
        ("digits, the same digit", str(digits.by_class[best].generalisation), f"largest, with {kept} components"),
        ("resolution of the digits", str(whole.fit.resolution), f"in pixel distance, {whole.fit.shape} shape"),
    )


def _digit_finding(digits: Digits) -> str:
    best = max(range(len(digits.components)), key=lambda place: digits.by_class[place].generalisation.value)
    kept, found = digits.components[best], digits.by_class[best].generalisation
    first = digits.by_class[0].generalisation
    named = np.array([one.identification.value for one in digits.by_class])
    rises = "rises with every step" if (np.diff(named) > 0).all() else "changes"
    return (
        f"Digits of the same class are told from others most often with {kept} of {digits.components[-1]} components "
        f"({found.value:.3f}, interval {found.low:.3f} to {found.high:.3f}; one component gives {first.value:.3f}), "
        f"while identification {rises} from {named[0]:.3f} with one component to {named[-1]:.3f} with all."
    )
