"""The report on semanticity: fronts compared with drawn choices and networks, the fall with many items, and digits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits  # type: ignore[import-untyped]

from genlaws.core.arguments import Array, Whole
from genlaws.core.estimate import Estimate, mean_estimate, mean_estimates, wilson_interval
from genlaws.core.panel import curve_of_estimates
from genlaws.core.running import Running
from genlaws.render import Curve, Panel
from genlaws.render.html import brackets, formula, inline, number, over, side_by_side, sign, symbol
from genlaws.report.ledger import Agreement, agreement
from genlaws.report.section import WITHOUT_TORCH, Section, has_torch
from genlaws.semanticity import generalization_of_many, identification_of_many, measure
from genlaws.semanticity.measurement.empirical_front import EmpiricalFront
from genlaws.semanticity.measurement.result import Measurement
from genlaws.semanticity.networks.relu_runs import linear_front
from genlaws.semanticity.theory.tradeoff import generalization_probability, identification_probability, linear_on_circle

_P_S, _P_I, _B = symbol("p", "S"), symbol("p", "I"), symbol("b")
SEMANTICITY_LAW = (
    "<p>Two items and a probe are shown; an item is chosen in proportion to its similarity with the probe (Luce's "
    f"rule). Generalization {inline(_P_S)} is the probability of the item nearest to a new probe, identification "
    f"{inline(_P_I)} that of the item the probe is a copy of. If everything within the resolution looks alike, and the "
    f"ball around a probe holds the share {inline(_B)} of the space,</p>"
    + side_by_side(
        formula(
            _P_S,
            sign("="),
            over(number("1"), number("2")),
            sign("+"),
            _B,
            brackets(number("1"), sign("−"), _B),
        ),
        formula(_P_I, sign("="), number("1"), sign("−"), over(_B, number("2"))),
    )
    + "<p>A coarser resolution always costs identification; generalization is best in the middle. With many items n, "
    "identification falls as 1/(nb). The curve belongs to one shape of similarity and to Luce's rule; it is no bound "
    "on every system.</p>"
)
SEMANTICITY_IMPLICATIONS = (
    "Embeddings that generalize best do not identify best. Measure both on stimuli whose true distances you know "
    "before you sharpen or smooth a representation.",
    "If your model must pick one of n things, its hits fall as c/n once n exceeds the number of things it sees as "
    "alike; only a finer resolution, not a larger model, moves that point.",
    "A representation above the front of its fitted shape has another shape of similarity, not a broken law.",
)
SEMANTICITY_CODE = """import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits

from genlaws import semanticity

pixels = load_digits().data  # or embeddings of your own, with their true places as positions
pixels = pixels[np.random.default_rng({seed}).permutation(len(pixels))[:{count}]]
seen = {{"similarity": "gaussian", "bandwidth": {share:g} * np.median(pdist(pixels)), "items": (2,), "seed": {seed}}}
measured = semanticity.measure(pixels, positions=pixels, metric="euclidean", **seen)
print(measured)  # generalization, identification, resolution, each with its interval"""
SEMANTICITY_COMMANDS = """genlaws semanticity front --space circle --similarity linear --ball-mass 0.5
# for embeddings of your own: genlaws semanticity measure embeddings.npy --positions places.npy --metric euclidean"""
MAX_PLACES = 2_000_000  # drawn at once
IDENTIFICATION_LABEL, GENERALIZATION_LABEL = "identification p_I (probability)", "generalization p_S (probability)"
SIMULATED_SHAPE_COLORS = {"constant": "blue", "linear": "vermillion"}
BALL_MASSES = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85)
CROWDED_BALL_MASS = 0.1  # ball mass of the picture with many items
DIGIT_BANDWIDTH = 0.25  # of the similarity of digits, over their median distance
LINEAR_PEAK = 0.80985  # generalization of linear decay on the circle at its best resolution


@dataclass(frozen=True)
class Choices:
    """How often choices drawn by Luce's rule were right.

    Attributes
    ----------
    generalization, identification : float
        Shares of right choices.
    trials : int
        Of each test.
    """

    generalization: float
    identification: float
    trials: int


def draw_choices(shape: str, ball_mass: float, item_count: int, trials: int, rng: np.random.Generator) -> Choices:
    """Draw places on a circle of length 1, let Luce's rule choose, and count the right choices in both tests.

    `shape` ({"constant", "linear"}): of the similarity, which ends at a distance of half the ball mass.
    """
    right = np.zeros(2)
    rows = max(1, MAX_PLACES // item_count)
    for start in range(0, trials, rows):
        count = min(rows, trials - start)
        for test in range(2):
            places = rng.random((count, item_count))
            # In the second test the probe is a copy of the first item.
            apart = np.abs(places - (places[:, :1] if test else rng.random((count, 1))))
            distance = np.minimum(apart, 1.0 - apart)
            chosen = _chosen(shape, distance / (0.5 * ball_mass), rng)
            right[test] += (chosen == distance.argmin(axis=1)).sum()
    return Choices(float(right[0] / trials), float(right[1] / trials), trials)


def _chosen(shape: str, scaled: Array, rng: np.random.Generator) -> Array:
    """Return the item each trial chooses: in proportion to its similarity, or any where all are zero."""
    similarity = (scaled <= 1.0).astype(float) if shape == "constant" else np.maximum(0.0, 1.0 - scaled)
    similarity[similarity.sum(axis=1) == 0.0] = 1.0
    reached = similarity.cumsum(axis=1)
    point = rng.random((len(scaled), 1)) * reached[:, -1:]
    return np.asarray((reached <= point).sum(axis=1))


@dataclass(frozen=True)
class NetworkPath:
    """ReLU networks along their training.

    Attributes
    ----------
    steps : array of shape (logs,)
    generalization, identification : arrays of shape (networks, logs)
    distance : array of shape (networks,)
        Mean size of the distance from the front of linear decay after each network's peak.
    """

    steps: Whole
    generalization: Array
    identification: Array
    distance: Array


def train_networks(networks: int, steps: int, logs: int, seed: int) -> NetworkPath:
    """Train the paper's ReLU networks on a circle; needs torch."""
    from genlaws.semanticity.networks.relu import train_relu_networks  # noqa: PLC0415 - torch

    first = 1000 * seed
    runs = train_relu_networks(seeds=range(first, first + networks), steps=steps, log_every=max(1, steps // logs))
    apart, after = np.abs(runs.distance_to(linear_front())), runs.after_peak()
    distance = np.array([one[late].mean() for one, late in zip(apart, after, strict=True)])
    return NetworkPath(runs.steps, runs.generalization, runs.identification, distance)


@dataclass(frozen=True)
class Digits:
    """Handwritten digits, seen through some of their principal components.

    Attributes
    ----------
    components : tuple of int
    by_pixels, by_class : tuple of Measurement
        Nearer means nearer in pixels, or the same digit; one for each number of components.
    """

    components: tuple[int, ...]
    by_pixels: tuple[Measurement, ...]
    by_class: tuple[Measurement, ...]

    @property
    def best(self) -> int:
        """Index of the number of components that generalizes best over classes."""
        return int(np.argmax([one.generalization.value for one in self.by_class]))


def measure_digits(count: int, components: tuple[int, ...], share: float, seed: int) -> Digits:
    """Measure digits by a Gaussian similarity in their leading components.

    Parameters
    ----------
    count : int
        Random digits of scikit-learn's.
    components : tuple of int
        How many are used; 64 are all.
    share : float
        Bandwidth over the median distance of two digits in these components.
    """
    pixels, classes = load_digits(return_X_y=True)
    chosen = np.random.default_rng(seed).permutation(len(pixels))[:count]
    pixels, names = pixels[chosen], classes[chosen].astype(str)[:, None]
    centered = pixels - pixels.mean(axis=0)
    axes = np.linalg.svd(centered, full_matrices=False)[2]
    by_pixels, by_class = [], []
    for count_used in components:
        seen = centered @ axes[:count_used].T
        bandwidth = share * float(np.median(pdist(seen)))
        whole = count_used == max(components)
        compare = partial(measure, seen, similarity="gaussian", bandwidth=bandwidth, seed=seed)
        by_pixels.append(compare(positions=pixels, metric="euclidean", fronts=whole, items=(2,)))
        by_class.append(compare(positions=names, metric="tree", ties="drop", fronts=False, items=(2,)))
    return Digits(components, tuple(by_pixels), tuple(by_class))


@dataclass(frozen=True)
class SemanticitySectionSizes:
    """How much is run."""

    trials: int = 40_000
    crowded_trials: int = 10_000
    item_counts: tuple[int, ...] = (2, 5, 10, 20, 50, 100, 200)
    networks: int = 8
    steps: int = 2000
    digits: int = 300


QUICK_SEMANTICITY_SIZES = SemanticitySectionSizes(
    trials=4000, crowded_trials=2000, item_counts=(2, 10, 50), networks=2, steps=400, digits=60
)


def semanticity_section(running: Running, seed: int, *, quick: bool = False) -> Section:
    """Run choices, networks and digits and compare them with the laws of resolution.

    `quick`: much smaller runs, for a quick check.
    """
    sizes = QUICK_SEMANTICITY_SIZES if quick else SemanticitySectionSizes()
    running.start(4, "semanticity")
    rng = np.random.default_rng([seed, 1])
    chosen = {
        shape: [draw_choices(shape, mass, 2, sizes.trials, rng) for mass in BALL_MASSES]
        for shape in SIMULATED_SHAPE_COLORS
    }
    running.advance()
    crowded = [draw_choices("constant", CROWDED_BALL_MASS, n, sizes.crowded_trials, rng) for n in sizes.item_counts]
    running.advance()
    networks = train_networks(sizes.networks, sizes.steps, 40, seed) if has_torch() else None
    running.advance()
    digits = measure_digits(sizes.digits, (1, 2, 4, 8, 16, 64), DIGIT_BANDWIDTH, seed)
    running.advance()
    both = _compared(chosen, crowded, sizes.item_counts)
    return Section(
        name="semanticity",
        title="Semanticity",
        question="How finely should things be distinguished?",
        law=SEMANTICITY_LAW,
        panels=(_front_panel(chosen, networks), _items_panel(crowded, sizes.item_counts), _digits_panel(digits)),
        numbers=(*_theory_numbers(both), *_network_numbers(networks), *_digit_numbers(digits)),
        findings=(
            both[0].sentence("shares of right choices between two items"),
            both[1].sentence("shares of right choices among many items"),
            _network_finding(networks),
            _digit_finding(digits),
        ),
        implications=SEMANTICITY_IMPLICATIONS,
        python=SEMANTICITY_CODE.format(count=sizes.digits, share=DIGIT_BANDWIDTH, seed=seed),
        command=SEMANTICITY_COMMANDS,
    )


def _theory(shape: str, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return generalization and identification on the circle."""
    if shape == "linear":
        return linear_on_circle(masses)
    return generalization_probability(masses), identification_probability(masses)


def _front_panel(chosen: dict[str, list[Choices]], networks: NetworkPath | None) -> Panel:
    line = np.linspace(0.0, 1.0, 81)
    curves = []
    for shape, color in SIMULATED_SHAPE_COLORS.items():
        p_s, p_i = _theory(shape, line)
        curves.append(Curve(f"{shape} similarity, theory", "theory", p_i.tolist(), p_s.tolist(), color))
        found = [_share(one.generalization, one.trials) for one in chosen[shape]]
        x = [one.identification for one in chosen[shape]]
        curves.append(curve_of_estimates(f"{shape} similarity, drawn choices", x, found, color))
    if networks is not None:
        # Early and late in training alike, so that points do not lie on one another.
        places = np.unique(np.geomspace(1, len(networks.steps), 14).round().astype(int) - 1)
        notes = [f"after {step:,} steps" for step in networks.steps[places]]
        x, found = (
            networks.identification[:, places].mean(axis=0).tolist(),
            mean_estimates(networks.generalization[:, places]),
        )
        curves.append(curve_of_estimates("ReLU networks in training", x, found, "green", notes))
    curves.append(Curve("p_S = p_I", "chance", [0.5, 0.85], [0.5, 0.85], "gray"))
    return Panel(
        "semanticity-front",
        "Generalization against identification on a circle",
        IDENTIFICATION_LABEL,
        GENERALIZATION_LABEL,
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
        ("generalization", "green", generalization_of_many(CROWDED_BALL_MASS, line)),
        ("identification", "purple", identification_of_many(CROWDED_BALL_MASS, line)),
    )
    curves = []
    for name, color, law in laws:
        curves.append(Curve(f"{name}, theory", "theory", line.tolist(), law.tolist(), color))
        found = [_share(getattr(one, name), one.trials) for one in crowded]
        curves.append(curve_of_estimates(f"{name}, drawn choices", list(counts), found, color))
    # The limit is drawn where it can be a probability.
    far = line[line * CROWDED_BALL_MASS >= 1.0]
    curves.append(Curve("1/(nb)", "paper", far.tolist(), (1.0 / (far * CROWDED_BALL_MASS)).tolist(), "ink"))
    return Panel(
        "semanticity-items",
        "Both tests with many items",
        "number of items n",
        "probability of the right choice",
        tuple(curves),
        x_log=True,
        y_log=True,
        caption=f"The ball around a probe holds {CROWDED_BALL_MASS:g} of the space. Once several items lie in it, both "
        "tests fall as one over the number of items.",
    )


def _digits_panel(digits: Digits) -> Panel:
    whole = digits.by_pixels[-1]
    curves = []
    if whole.front is not None:
        curves.append(front_line(f"front of these digits, {whole.front.shape} shape", whole.front, "purple"))
    if whole.constant_front is not None:
        curves.append(front_line("front of these digits, constant shape", whole.constant_front, "blue"))
    notes = [f"{one} principal components" for one in digits.components]
    for name, color, found in (
        ("nearer in pixels", "green", digits.by_pixels),
        ("the same digit", "orange", digits.by_class),
    ):
        x = [one.identification.value for one in found]
        curves.append(curve_of_estimates(name, x, [one.generalization for one in found], color, notes))
    return Panel(
        "semanticity-digits",
        "Handwritten digits on their own front",
        IDENTIFICATION_LABEL,
        GENERALIZATION_LABEL,
        tuple(curves),
        caption=f"{whole.stimulus_count} of scikit-learn's digits, seen through "
        f"{', '.join(map(str, digits.components[:-1]))} or all {digits.components[-1]} principal components "
        "(left to right), with a Gaussian similarity a quarter of the median distance wide. Right is the item nearer "
        "in pixels, or the item of the same class. The fronts are those of the pixel distances. Intervals: 95 %, "
        "jackknife over digits.",
    )


def front_line(name: str, front: EmpiricalFront, color: str) -> Curve:
    """Return the front of a set as a line."""
    return Curve(name, "theory", front.identification.tolist(), front.generalization.tolist(), color)


def _share(share: float, trials: int) -> Estimate:
    return wilson_interval(round(share * trials), trials)


def _compared(
    chosen: dict[str, list[Choices]], crowded: list[Choices], counts: tuple[int, ...]
) -> tuple[Agreement, Agreement]:
    """Return how drawn choices agree with the fronts, and with the laws of many items."""
    masses = np.array(BALL_MASSES)
    two = [_z(found, *_theory(shape, masses)) for shape, found in chosen.items()]
    n = np.array(counts)
    many = _z(crowded, generalization_of_many(CROWDED_BALL_MASS, n), identification_of_many(CROWDED_BALL_MASS, n))
    return agreement(np.concatenate(two)), agreement(many)


def _z(found: list[Choices], p_s: np.ndarray, p_i: np.ndarray) -> np.ndarray:
    """Return the distance of each share from its theory in standard errors."""
    law = np.concatenate([p_s, p_i])
    share = np.array([one.generalization for one in found] + [one.identification for one in found])
    error = np.sqrt(law * (1.0 - law) / found[0].trials)
    return np.asarray((share - law) / error)


def _theory_numbers(both: tuple[Agreement, Agreement]) -> tuple[tuple[str, str, str], ...]:
    meanings = ("drawn choices between two items, both shapes and tests", "drawn choices among many items, both tests")
    return tuple(
        (f"largest z, {name}", f"{one.largest:.2f} of {one.count}", meaning)
        for name, one, meaning in zip(("two items", "many items"), both, meanings, strict=True)
    )


def _network_numbers(networks: NetworkPath | None) -> tuple[tuple[str, str, str], ...]:
    if networks is None:
        return ()
    peak = mean_estimate(networks.generalization.max(axis=1))
    apart = mean_estimate(networks.distance)
    return (
        ("peak of the networks", str(peak), f"largest generalization in training; linear decay has {LINEAR_PEAK}"),
        ("distance from the front", str(apart), "mean size after the peak, over networks"),
    )


def _network_finding(networks: NetworkPath | None) -> str:
    if networks is None:
        return WITHOUT_TORCH
    peak = mean_estimate(networks.generalization.max(axis=1))
    ends = networks.generalization[:, -1].mean(), networks.identification[:, -1].mean()
    at_end = networks.generalization.argmax(axis=1) == len(networks.steps) - 1
    opening = f"{peak.count} networks trained on random trials reach p_S = {peak}"
    if at_end.any():
        return f"{opening}; still climbing when training stopped: {int(at_end.sum())} of {peak.count}."
    apart = mean_estimate(networks.distance)
    return (
        f"{opening}, where linear decay allows {LINEAR_PEAK}, and then trade it for identification, ending at "
        f"p_S = {ends[0]:.3f}, p_I = {ends[1]:.3f}, on average {apart.value:.4f} from its front."
    )


def _digit_numbers(digits: Digits) -> tuple[tuple[str, str, str], ...]:
    whole, used, largest = digits.by_pixels[-1], digits.components[digits.best], digits.by_class[digits.best]
    return (
        ("digits, nearer in pixels", str(whole.generalization), "generalization with all components"),
        ("digits, the same digit", str(largest.generalization), f"largest, with {used} components"),
        ("resolution of the digits", str(whole.fit.resolution), f"in pixel distance, {whole.fit.shape} shape"),
    )


def _digit_finding(digits: Digits) -> str:
    used, found = digits.components[digits.best], digits.by_class[digits.best].generalization
    first = digits.by_class[0].generalization
    named = np.array([one.identification.value for one in digits.by_class])
    rises = "rises with every step" if (np.diff(named) > 0).all() else "changes"
    return (
        f"Digits of the same class are distinguished from others most often with {used} of {digits.components[-1]} "
        f"components ({found.value:.3f}, interval {found.low:.3f} to {found.high:.3f}; one gives {first.value:.3f}), "
        f"while identification {rises} from {named[0]:.3f} with one component to {named[-1]:.3f} with all."
    )
