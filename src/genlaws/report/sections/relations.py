"""The report on relations: the exact bound compared with networks, and simulated merging compared with its law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.estimate import Estimate, from_replicates, mean_estimates
from genlaws.core.running import Running
from genlaws.relations import (
    BoundCurve,
    MergingCase,
    Relation,
    bound_curve,
    data_needed,
    description_length_exact,
    named_relation,
    networks,
    simulate_repons,
)
from genlaws.relations.inference.bound_curve import crossing, paper_accuracy
from genlaws.relations.inference.hypotheses import hypotheses_of
from genlaws.relations.inference.paper import TARGET_ACCURACY
from genlaws.render import Curve, Panel
from genlaws.render.html import brackets, formula, inline, number, over, power, root, sign, symbol, together
from genlaws.report.ledger import Agreement, agreement
from genlaws.report.section import WITHOUT_TORCH, Section, has_torch

_P_IJ, _B = symbol("P", "ij"), symbol("b")
_ETA_X, _ETA_A = symbol("η", "x"), symbol("η", "A")
RELATIONS_LAW = (
    "<p>A relation between n elements is one of n!/|Aut| copies that differ in the naming of the elements; "
    "distinguishing them takes "
    + inline(_B, sign("="), symbol("log", "2"), brackets(over(symbol("n!"), symbol("|Aut|"))))
    + " bits. Of all relations of its class that agree with the training entries, let "
    + inline(_P_IJ)
    + " be the share in which i and j are related. Averaged over them, no learner is right more often than</p>"
    + formula(
        symbol("f"),
        sign("="),
        over(number("1"), power(symbol("n"), number("2"))),
        f"<munder>{sign('∑')}{together(symbol('i'), symbol('j'))}</munder>",
        symbol("max"),
        brackets(_P_IJ, sign(","), number("1"), sign("−"), _P_IJ),
    )
    + "<p>For orders, which are alike up to the names of their elements, this bounds every learner that knows only the "
    "class. For other classes a learner can do better on a single relation, above all where one answer is far more "
    "common than the other.</p>"
    "<p>Two representations of one class, read by a linear decoder, either merge, so that what is learned about "
    "one holds for the other, or stay apart and are memorized. In one dimension, from normal starts of equal widths, "
    "they merge with probability</p>"
    + formula(
        symbol("p"),
        sign("="),
        over(number("2"), symbol("π")),
        symbol("arctan"),
        root(over(_ETA_X, _ETA_A)),
    )
    + "<p>so the ratio of the learning rates of representations and decoder decides between understanding and "
    "memorizing.</p>"
)
RELATIONS_IMPLICATIONS = (
    "Before collecting more pairs of an order or an equivalence, compute what your pairs already determine. "
    "Training cannot exceed the bound; below the bound the model, not the data, limits the accuracy.",
    "In full-size runs a decoder with the relation's symmetry built in needed half the entries of a general one, or "
    "fewer; one with the wrong symmetry cannot learn it.",
    "If a model memorizes, raise the learning rate of its embeddings above that of the decoder, or start with "
    "smaller embeddings. The law is exact for a linear decoder and no bound on a deep one.",
)
RELATIONS_CODE = """from genlaws import relations

for name in ("mod3", "less-than"):
    relation = relations.named_relation(name, {elements})
    print(relations.description_length_exact(relation))  # bits
    print(relations.data_needed(relation, target_accuracy={target:g}, repeats={repeats}, seed={seed}).train_fraction)"""
RELATIONS_COMMANDS = """genlaws relations describe mod3 --elements {elements}
genlaws relations data-needed mod3 --elements {elements} --target-accuracy {target:g} --repeats {repeats} --seed {seed}
# for a relation of your own: genlaws relations data-needed edges.csv"""
NETWORK_LEARNING_RATE = 1e-2  # of embeddings and decoder of the networks
REPON_TOLERANCE, REPON_STEPS = 1e-7, 1000
NETWORK_COLORS = ("vermillion", "green")
BOOTSTRAP_DRAWS = 200  # of the bootstrap over networks
MIN_EXPECTED_DRAWS = 5  # below, a normal law does not describe the number of merged draws


@dataclass(frozen=True)
class Networks:
    """Networks trained on fractions of a relation.

    Attributes
    ----------
    name : str
        The kind of network.
    train_fraction : array of shape (shares,)
    accuracy : array of shape (networks, shares)
        On the whole table at the end.
    """

    name: str
    train_fraction: Array
    accuracy: Array


@dataclass(frozen=True)
class RelationRun:
    """One relation: the exact bound, and networks if there are any.

    Attributes
    ----------
    title : str
    relation : Relation
    bound : BoundCurve
    networks : tuple of Networks
    """

    title: str
    relation: Relation
    bound: BoundCurve
    networks: tuple[Networks, ...]


@dataclass(frozen=True)
class RelationSizes:
    """How much is run on a relation."""

    elements: int
    bound_shares: tuple[float, ...]
    bound_repeats: int
    network_shares: tuple[float, ...]
    networks: int
    steps: int


# What each relation is called, and the decoder that has its symmetry built in.
RELATIONS = {"mod3": ("equal modulo 3", "squared_difference"), "less-than": ("less than", "difference")}


def run_relation(name: str, sizes: RelationSizes, seed: int, *, with_networks: bool, running: Running) -> RelationRun:
    """Compute the bound on a named relation, and train two kinds of networks on shares of it."""
    title, symmetric = RELATIONS[name]
    relation = named_relation(name, sizes.elements)
    bound = bound_curve(relation, train_fraction=sizes.bound_shares, repeats=sizes.bound_repeats, seed=seed)
    running.advance()
    networks = []
    if with_networks:
        for label, mode, depth in (("two hidden layers", "concatenate", 2), ("symmetry built in", symmetric, 0)):
            networks.append(_train(label, name, sizes, seed, mode=mode, depth=depth))
            running.advance()
    return RelationRun(title, relation, bound, tuple(networks))


def _train(label: str, name: str, sizes: RelationSizes, seed: int, *, mode: str, depth: int) -> Networks:
    """Train networks of one kind on every share; needs torch."""
    shares = np.array(sizes.network_shares)
    first, count = 1000 * seed, sizes.networks * len(shares)
    runs = networks.network.train_networks(
        named_relation(name, sizes.elements),
        train_fraction=np.tile(shares, sizes.networks),
        seeds=range(first, first + count),
        depth=depth,
        width=30,
        mode=mode,
        encoder_rate=NETWORK_LEARNING_RATE,
        decoder_rate=NETWORK_LEARNING_RATE,
        steps=sizes.steps,
        log_at=(sizes.steps,),
    )
    return Networks(label, shares, runs.final("table_accuracy").reshape(sizes.networks, len(shares)))


@dataclass(frozen=True)
class Merging:
    """How often representations merged at each ratio of the rates.

    Attributes
    ----------
    name, color : str
    rate_ratio : tuple of float
    found : tuple of Estimate
    case : MergingCase
        What merges.
    """

    name: str
    color: str
    rate_ratio: tuple[float, ...]
    found: tuple[Estimate, ...]
    case: MergingCase


MERGING_CASES = (
    ("two, one dimension", "blue", MergingCase()),
    ("two, two dimensions", "orange", MergingCase(dimension=2, outputs=2)),
    ("a class of five", "green", MergingCase(class_size=5)),
    ("two, sign updates", "ink", MergingCase(update="sign")),
)


def run_merging(ratios: tuple[float, ...], draws: int, seed: int, running: Running) -> tuple[Merging, ...]:
    """Draw representations and decoders at random, follow them until they come to rest, and count the merged ones."""
    runs = []
    for place, (name, color, case) in enumerate(MERGING_CASES):
        rng = np.random.default_rng([seed, 3, place])
        found = []
        for ratio in ratios:
            system = case.system(ratio)
            run = simulate_repons(system, draws=draws, seed=rng, tolerance=REPON_TOLERANCE, most_steps=REPON_STEPS)
            found.append(run.collision)
        runs.append(Merging(name, color, ratios, tuple(found), case))
        running.advance()
    return tuple(runs)


@dataclass(frozen=True)
class RelationsSectionSizes:
    """How much is run."""

    relation: RelationSizes
    ratios: tuple[float, ...]
    draws: int


FULL_SIZES = RelationsSectionSizes(
    RelationSizes(
        elements=20,
        bound_shares=(0.0, 0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0),
        bound_repeats=20,
        network_shares=(0.05, 0.12, 0.2, 0.3, 0.4, 0.6, 0.8),
        networks=6,
        steps=800,
    ),
    ratios=(0.03, 0.3, 3.0, 30.0),
    draws=1000,
)
QUICK_RELATIONS_SIZES = RelationsSectionSizes(
    RelationSizes(
        elements=10,
        bound_shares=(0.0, 0.1, 0.3, 0.6, 1.0),
        bound_repeats=4,
        network_shares=(0.1, 0.3, 0.6),
        networks=2,
        steps=100,
    ),
    ratios=(0.3, 3.0),
    draws=200,
)


def relations_section(running: Running, seed: int, *, quick: bool = False) -> Section:
    """Compute the bound on two relations, train networks, and simulate merging representations."""
    sizes, torch = QUICK_RELATIONS_SIZES if quick else FULL_SIZES, has_torch()
    running.start(len(RELATIONS) * (3 if torch else 1) + 4, "relations")
    runs = [run_relation(name, sizes.relation, seed, with_networks=torch, running=running) for name in RELATIONS]
    merging = run_merging(sizes.ratios, sizes.draws, seed, running)
    compared = _compared(merging)
    needed = [_needed(one, seed) for one in runs]
    panels = [_bound_panel(name, one) for name, one in zip(RELATIONS, runs, strict=True)]
    ran = {"elements": sizes.relation.elements, "repeats": sizes.relation.bound_repeats, "seed": seed}
    return Section(
        name="relations",
        title="Relations",
        question="How many examples does a structure need?",
        law=RELATIONS_LAW,
        panels=(*panels, _merging_panel(merging)),
        numbers=(*_bound_numbers(runs, needed), _merging_number(compared, merging)),
        findings=(
            *_bound_findings(runs),
            _network_finding(runs, needed) if torch else WITHOUT_TORCH,
            compared.sentence("shares of merged draws"),
        ),
        implications=RELATIONS_IMPLICATIONS,
        python=RELATIONS_CODE.format(target=TARGET_ACCURACY, **ran),
        command=RELATIONS_COMMANDS.format(target=TARGET_ACCURACY, **ran),
    )


def _bound_panel(name: str, run: RelationRun) -> Panel:
    points = run.bound.points
    x, exact = [one.train_fraction for one in points], [one.accuracy for one in points]
    line = np.linspace(0.0, 1.0, 81)
    formula_5 = paper_accuracy(run.bound.element_count, hypotheses_of(run.relation), line)
    curves = [
        Curve("best possible, exact", "theory", x, [one.value for one in exact], "ink", *_ends(exact)),
        Curve("Eq. 5 of the paper", "paper", line.tolist(), formula_5.tolist(), "orange"),
    ]
    for one, color in zip(run.networks, NETWORK_COLORS, strict=False):
        found = mean_estimates(one.accuracy)
        shares, values = one.train_fraction.tolist(), [value.value for value in found]
        curves.append(Curve(f"networks, {one.name}", "run", shares, values, color, *_ends(found)))
    majority = run.bound.majority_accuracy
    curves.append(Curve("majority answer", "chance", [0.0, 1.0], [majority, majority], "gray"))
    count = run.bound.element_count
    trained = (
        f" Points: networks trained for this report, {len(run.networks[0].accuracy)} at each share, 95 % intervals."
        if run.networks
        else ""
    )
    return Panel(
        f"relations-{name}",
        f"{run.title.capitalize()}, {count} elements",
        "training fraction",
        "accuracy on the whole table",
        tuple(curves),
        caption=f"Solid: mean of the exact bound over {run.bound.repeats} random training sets with its 95 % interval, "
        "averaged over the relations of its class. Dashed: the paper's estimate, which is no bound." + trained,
    )


def _merging_panel(merging: tuple[Merging, ...]) -> Panel:
    low, high = min(merging[0].rate_ratio), max(merging[0].rate_ratio)
    line = np.geomspace(low / 3.0, high * 3.0, 61)
    curves = []
    for one in merging:
        curves.append(
            Curve(f"{one.name}, theory", "theory", line.tolist(), one.case.probability(line).tolist(), one.color)
        )
        values = [found.value for found in one.found]
        ends = _ends(list(one.found))
        curves.append(Curve(f"{one.name}, simulated", "run", list(one.rate_ratio), values, one.color, *ends))
    return Panel(
        "relations-merging",
        "Do representations merge?",
        "rate of representations over rate of decoder",
        "probability of merging",
        tuple(curves),
        x_log=True,
        y_range=(-0.02, 1.02),
        caption=f"Lines: theory. Points: share of {merging[0].found[0].count:,} random starts that merged when "
        "followed until they came to rest, with Wilson's 95 % intervals.",
    )


def _ends(found: list[Estimate]) -> tuple[list[float], list[float]]:
    return [one.low for one in found], [one.high for one in found]


@dataclass(frozen=True)
class Needed:
    """Share of all entries needed for the target accuracy.

    Attributes
    ----------
    bound : Estimate
        By the best learner.
    networks : tuple of (name, Estimate)
        By each kind of networks; infinite where their mean does not reach it.
    """

    bound: Estimate
    networks: tuple[tuple[str, Estimate], ...]


def _needed(run: RelationRun, seed: int) -> Needed:
    best = data_needed(run.relation, target_accuracy=TARGET_ACCURACY, repeats=run.bound.repeats, seed=seed)
    return Needed(best.train_fraction, tuple((one.name, _network_share(one, seed)) for one in run.networks))


def _network_share(networks: Networks, seed: int) -> Estimate:
    """Return where the mean over networks reaches the target, with the bootstrap interval over networks."""
    rng = np.random.default_rng([seed, 4])
    count = len(networks.accuracy)

    def reached(rows: np.ndarray) -> float:
        """Return where the mean of some rows reaches the target."""
        return crossing(networks.train_fraction, networks.accuracy[rows].mean(axis=0), TARGET_ACCURACY)

    draws = [reached(rng.integers(count, size=count)) for _ in range(BOOTSTRAP_DRAWS)]
    return from_replicates(reached(np.arange(count)), draws, count)


def _bound_numbers(runs: list[RelationRun], needed: list[Needed]) -> tuple[tuple[str, str, str], ...]:
    rows = []
    for run, share in zip(runs, needed, strict=True):
        relation = run.relation
        bits = description_length_exact(relation)
        rows.append((f"bits, {run.title}", f"{bits:.2f}", f"description length of {relation.element_count} elements"))
        rows.append(
            (
                f"share needed, {run.title}, best learner",
                str(share.bound),
                f"of the entries, for an accuracy of {TARGET_ACCURACY:g}",
            )
        )
        rows += [
            (f"share needed, {run.title}, {name}", _format_share(found), "the mean of the networks")
            for name, found in share.networks
        ]
    return tuple(rows)


def _format_share(found: Estimate) -> str:
    return str(found) if np.isfinite(found.value) else "not reached"


def _bound_findings(runs: list[RelationRun]) -> tuple[str, ...]:
    """Return where Eq. 5 fails to bound the best learner in this run."""
    sentences = []
    for run in runs:
        points = [one for one in run.bound.points if 0.0 < one.train_fraction < 1.0]
        below = [(one.accuracy.low - one.accuracy_formula, one) for one in points]
        gap, worst = max(below, key=lambda pair: pair[0])
        high = max(one.accuracy_formula - one.accuracy.value for one in points)
        if gap > 0:
            text = (
                f"Eq. 5 is no bound for {run.title}: with {worst.train_fraction:g} of the entries the best "
                f"learner is right on {worst.accuracy.value:.3f}, above its {worst.accuracy_formula:.3f}; elsewhere it "
                f"is up to {high:.3f} too high."
            )
        else:
            text = f"For {run.title} Eq. 5 is nowhere below the best learner's interval, and up to {high:.3f} above it."
        sentences.append(text)
    return tuple(sentences)


def _network_finding(runs: list[RelationRun], needed: list[Needed]) -> str:
    parts = []
    for run, share in zip(runs, needed, strict=True):
        times = [
            f"{found.value / share.bound.value:.1f} times as many entries with {name}"
            if np.isfinite(found.value)
            else f"more than the fractions tried with {name}"
            for name, found in share.networks
        ]
        parts.append(f"for {run.title}, {' and '.join(times)}")
    return (
        f"To be right on {TARGET_ACCURACY:g} of the table, the networks trained here need, compared with the best "
        f"learner, {'; '.join(parts)}."
    )


def _compared(merging: tuple[Merging, ...]) -> Agreement:
    """Return how the shares of merged draws agree with the laws."""
    z = []
    for one in merging:
        law = one.case.probability(one.rate_ratio)
        count = np.array([found.count for found in one.found])
        share = np.array([found.value for found in one.found])
        counted = count * np.minimum(law, 1.0 - law) >= MIN_EXPECTED_DRAWS
        z += ((share - law) / np.sqrt(law * (1.0 - law) / count))[counted].tolist()
    return agreement(z)


def _merging_number(compared: Agreement, merging: tuple[Merging, ...]) -> tuple[str, str, str]:
    meaning = f"shares of {merging[0].found[0].count:,} draws that merged, compared with their laws"
    return "largest z, merging", f"{compared.largest:.2f} of {compared.count}", meaning
