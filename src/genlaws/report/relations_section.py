"""The report on relations: the exact bound beside networks, and when representations merge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.figures.progress import Progress
from genlaws.numerics.intervals import Estimate, from_replicates, from_standard_error
from genlaws.panels import Curve, Panel
from genlaws.relations import data_needed, description_length_exact
from genlaws.relations.bound_curve import paper_accuracy
from genlaws.relations.induction_gap import crossing
from genlaws.report.agreement import Agreement, agreement
from genlaws.report.installed import WITHOUT_TORCH, has_torch
from genlaws.report.relations_runs import (
    RELATIONS,
    Merging,
    Networks,
    RelationRun,
    RelationSizes,
    run_merging,
    run_relation,
)
from genlaws.report.relations_words import COMMAND, LAW, PYTHON, YOURS
from genlaws.report.section import Section

NETWORK_COLOURS = ("vermillion", "green")
TARGET = 0.9
REPLICATES = 200  # of the bootstrap over networks
FEWEST = 5  # expected merged or unmerged draws below which a normal law does not describe their number


@dataclass(frozen=True)
class Sizes:
    """How much is run."""

    relation: RelationSizes
    ratios: tuple[float, ...]
    draws: int


FULL = Sizes(
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
QUICK = Sizes(
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


def relations_section(progress: Progress, seed: int, *, quick: bool = False) -> Section:
    """Compute the bound on two relations, train networks beside it, and let representations merge."""
    sizes, torch = QUICK if quick else FULL, has_torch()
    progress.start(len(RELATIONS) * (3 if torch else 1) + 4, "relations")
    runs = [
        run_relation(name, sizes.relation, seed, with_networks=torch, advance=progress.advance) for name in RELATIONS
    ]
    merging = run_merging(sizes.ratios, sizes.draws, seed, progress.advance)
    compared = _compared(merging)
    needed = [_needed(one, seed) for one in runs]
    panels = [_bound_panel(name, one) for name, one in zip(RELATIONS, runs, strict=True)]
    ran = {"elements": sizes.relation.elements, "repeats": sizes.relation.bound_repeats, "seed": seed}
    return Section(
        name="relations",
        title="Relations",
        question="How many examples does a structure need?",
        law=LAW,
        panels=(*panels, _merging_panel(merging)),
        numbers=(*_bound_numbers(runs, needed), _merging_number(compared, merging)),
        findings=(
            *_bound_findings(runs),
            _network_finding(runs, needed) if torch else WITHOUT_TORCH,
            compared.sentence("shares of merged draws"),
        ),
        yours=YOURS,
        python=PYTHON.format(target=TARGET, **ran),
        command=COMMAND.format(target=TARGET, **ran),
    )


def _bound_panel(name: str, run: RelationRun) -> Panel:
    points, known = run.bound.points, run.bound.hypotheses
    x = [one.train_fraction for one in points]
    line = np.linspace(0.0, 1.0, 81)
    formula_5 = paper_accuracy(run.bound.relation.element_count, known, line)
    curves = [
        Curve(
            "best possible, exact",
            "theory",
            x,
            [one.accuracy.value for one in points],
            "ink",
            *_ends([one.accuracy for one in points]),
        ),
        Curve("Eq. 5 of the paper", "paper", line.tolist(), formula_5.tolist(), "orange"),
    ]
    for one, colour in zip(run.networks, NETWORK_COLOURS, strict=False):
        found = _across(one)
        shares, values = one.train_fraction.tolist(), [value.value for value in found]
        curves.append(Curve(f"networks, {one.name}", "run", shares, values, colour, *_ends(found)))
    majority = run.bound.relation.majority_accuracy
    curves.append(Curve("the commoner answer", "chance", [0.0, 1.0], [majority, majority], "grey"))
    count = run.bound.relation.element_count
    trained = (
        f" Points: networks trained for this report, {len(run.networks[0].accuracy)} at each share, 95 % intervals."
        if run.networks
        else ""
    )
    return Panel(
        f"relations-{name}",
        f"{run.title.capitalize()}, {count} elements",
        "share of all entries shown",
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
        curves.append(Curve(f"{one.name}, theory", "theory", line.tolist(), one.law(line).tolist(), one.colour))
        values = [found.value for found in one.found]
        ends = _ends(list(one.found))
        curves.append(Curve(f"{one.name}, simulated", "run", list(one.rate_ratio), values, one.colour, *ends))
    return Panel(
        "relations-merging",
        "Do representations merge?",
        "rate of representations over rate of decoder",
        "probability of merging",
        tuple(curves),
        x_log=True,
        y_range=(-0.02, 1.02),
        caption=f"Lines: theory. Points: share of {merging[0].found[0].count:,} random starts that merged when "
        "followed until they rest, with Wilson's 95 % intervals.",
    )


def _ends(found: list[Estimate]) -> tuple[list[float], list[float]]:
    return [one.low for one in found], [one.high for one in found]


def _across(networks: Networks) -> list[Estimate]:
    """Return the mean accuracy over networks at each share, with Student's interval."""
    count = len(networks.accuracy)
    errors = networks.accuracy.std(axis=0, ddof=1) / np.sqrt(count)
    return [
        from_standard_error(float(mean), float(error), count)
        for mean, error in zip(networks.accuracy.mean(axis=0), errors, strict=True)
    ]


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
    best = data_needed(run.bound.relation, TARGET, repeats=run.bound.repeats, seed=seed)
    return Needed(best.train_fraction, tuple((one.name, _network_share(one, seed)) for one in run.networks))


def _network_share(networks: Networks, seed: int) -> Estimate:
    """Return where the mean over networks reaches the target, with the bootstrap interval over networks."""
    rng = np.random.default_rng([seed, 4])
    count = len(networks.accuracy)

    def reached(rows: np.ndarray) -> float:
        """Return where the mean of some rows reaches the target."""
        return crossing(networks.train_fraction, networks.accuracy[rows].mean(axis=0), TARGET)

    draws = [reached(rng.integers(count, size=count)) for _ in range(REPLICATES)]
    return from_replicates(reached(np.arange(count)), draws, count)


def _bound_numbers(runs: list[RelationRun], needed: list[Needed]) -> tuple[tuple[str, str, str], ...]:
    rows = []
    for run, share in zip(runs, needed, strict=True):
        relation = run.bound.relation
        bits = description_length_exact(relation)
        rows.append((f"bits, {run.title}", f"{bits:.2f}", f"description length of {relation.element_count} elements"))
        rows.append(
            (
                f"share needed, {run.title}, best learner",
                str(share.bound),
                f"of the entries, for an accuracy of {TARGET:g}",
            )
        )
        rows += [
            (f"share needed, {run.title}, {name}", _share_words(found), "the mean of the networks")
            for name, found in share.networks
        ]
    return tuple(rows)


def _share_words(found: Estimate) -> str:
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
                f"Eq. 5 is no bound for {run.title}: with {worst.train_fraction:g} of the entries shown the best "
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
            else f"more than were tried with {name}"
            for name, found in share.networks
        ]
        parts.append(f"for {run.title}, {' and '.join(times)}")
    return (
        f"To be right on {TARGET:g} of the table, the networks trained here need, next to the best learner, "
        f"{'; '.join(parts)}."
    )


def _compared(merging: tuple[Merging, ...]) -> Agreement:
    """Return how the shares of merged draws agree with the laws."""
    z = []
    for one in merging:
        law = one.law(np.array(one.rate_ratio))
        count = np.array([found.count for found in one.found])
        share = np.array([found.value for found in one.found])
        counted = count * np.minimum(law, 1.0 - law) >= FEWEST
        z += ((share - law) / np.sqrt(law * (1.0 - law) / count))[counted].tolist()
    return agreement(z)


def _merging_number(compared: Agreement, merging: tuple[Merging, ...]) -> tuple[str, str, str]:
    meaning = f"shares of {merging[0].found[0].count:,} draws that merged, beside their laws"
    return "largest z, merging", f"{compared.largest:.2f} of {compared.count}", meaning
