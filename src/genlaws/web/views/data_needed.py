"""How much data a relation needs: the exact bound computed beforehand, the paper's formulas, and trained networks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.estimate import Estimate
from genlaws.relations import (
    Entrywise,
    Relation,
    critical_fraction,
    description_length_exact,
    hypotheses_of,
    named_relation,
)
from genlaws.relations.inference.bound_curve import guess_accuracy, table_length
from genlaws.relations.inference.hypotheses import Hypotheses, average_meaning
from genlaws.relations.inference.paper import accuracy_formula
from genlaws.render import Curve, Panel
from genlaws.web.view import bundled_rows

BUNDLED_TRAINING_SETS = 20  # behind each point of the bundled bound
TRAIN_FRACTION_RANGE = (0.005, 1.0)
NETWORK_ELEMENTS = 30
WITH_NETWORKS = "Points: means of 20 trained networks."
WITHOUT_NETWORKS = "Networks were trained at 30 elements, for modulo 3 and less-than."
# Colors of the figures: the bound in ink, networks by the input of their decoder.
NETWORK_CURVES = {
    "concatenate 3x50": ("network, 3 hidden layers", "blue"),
    "difference 0x1": ("network given the difference, no hidden layer", "vermillion"),
    "squared_difference 0x1": ("network given the squared difference, no hidden layer", "green"),
}


@dataclass(frozen=True)
class BundledCurve:
    """Numbers computed with the library and bundled, at the positions of a slider."""

    place: Array
    value: Array
    low: Array
    high: Array

    def nearest(self, place: float) -> float:
        """Return the bundled position nearest to another."""
        return float(self.place[np.abs(np.log(self.place / place)).argmin()])

    def at(self, place: float) -> Estimate:
        """Return the number at a bundled position."""
        (index,) = np.flatnonzero(self.place == place)
        return Estimate(
            float(self.value[index]), float(self.low[index]), float(self.high[index]), BUNDLED_TRAINING_SETS
        )


@dataclass(frozen=True)
class Bound:
    """The exact bound against the training fraction, and the fraction needed against the target accuracy."""

    accuracy: BundledCurve
    needed: BundledCurve


@dataclass(frozen=True)
class Described:
    """A relation with its lengths in bits, what the learner knows, and Eq. 5."""

    relation: Relation
    known: Hypotheses
    exact_length: float
    paper_length: float
    guess: float

    @property
    def entrywise(self) -> bool:
        """Whether the bound is an average that is not informative about this relation."""
        return isinstance(self.known, Entrywise)

    def formula(self, train_fraction: Array, length: float) -> Array:
        """Return Eq. 5 with a description length."""
        return accuracy_formula(train_fraction, self.relation.element_count, length, self.guess)

    def fraction_formula(self, target: float, length: float) -> float:
        """Return Eq. 4 with a description length."""
        return float(critical_fraction(target, self.relation.element_count, length))


def library_name(relation: str, class_count: int, element_count: int) -> str:
    """Return the name under which the library knows a relation of the page."""
    if relation == "modulo":
        return f"mod{class_count}"
    if relation == "bipartite":
        return f"bipartite-{element_count - element_count // 2}-{element_count // 2}"
    return relation


@lru_cache(maxsize=512)
def described(name: str, element_count: int) -> Described:
    """Return what is known of a relation in closed form."""
    relation = named_relation(name, element_count)
    known = hypotheses_of(relation)
    return Described(
        relation,
        known,
        description_length_exact(relation),
        table_length(element_count, known),
        guess_accuracy(known),
    )


@cache
def _bundled_curves(file: str, place: str) -> dict[tuple[str, int], BundledCurve]:
    """Return one bundled table by relation and number of elements."""
    found: dict[tuple[str, int], list[list[float]]] = {}
    for row in bundled_rows(file):
        numbers = [float(row[name]) for name in (place, "value", "low", "high")]
        found.setdefault((row["relation"], int(row["elements"])), []).append(numbers)
    return {key: BundledCurve(*np.array(rows).T) for key, rows in found.items()}


def nearest_element_count(element_count: int) -> int:
    """Return the nearest number of elements for which the bound is bundled: a position of the slider."""
    counts = sorted({count for _, count in _bundled_curves("relations_bound.csv", "train_fraction")})
    return min(counts, key=lambda count: abs(count - element_count))


def bundled_bound(name: str, element_count: int) -> Bound:
    """Return the bundled bound of a relation of the page."""
    key = "bipartite" if name.startswith("bipartite") else name, element_count
    return Bound(
        _bundled_curves("relations_bound.csv", "train_fraction")[key],
        _bundled_curves("relations_needed.csv", "target_accuracy")[key],
    )


def data_panel(name: str, element_count: int, train_fraction: float, target: float) -> Panel:
    """Return the accuracy against the training fraction."""
    about, bound = described(name, element_count), bundled_bound(name, element_count)
    shares = np.geomspace(*TRAIN_FRACTION_RANGE, 60)
    x, chance = shares.tolist(), about.relation.majority_accuracy
    low, high = (np.clip(one, 0.0, 1.0).tolist() for one in (bound.accuracy.low, bound.accuracy.high))
    exact, paper = (about.formula(shares, one).tolist() for one in (about.exact_length, about.paper_length))
    networks = _networks(name, element_count)
    name_of_bound = "average over its class" if about.entrywise else "exact Bayes bound"
    place, value = bound.accuracy.place.tolist(), bound.accuracy.value.tolist()
    return Panel(
        "accuracy-by-data",
        "Accuracy on a relation from part of its pairs",
        "training fraction (share of all pairs)",
        "accuracy on all pairs",
        (
            Curve(name_of_bound, "theory", place, value, "ink", low, high),
            Curve("the paper's Eq. 5", "paper", x, paper, "orange"),
            Curve("Eq. 5 with the exact description length", "paper", x, exact, "sky"),
            Curve("majority answer", "chance", list(TRAIN_FRACTION_RANGE), [chance, chance], "gray"),
            *networks,
            Curve("here", "mark", [train_fraction], [bound.accuracy.at(train_fraction).value], "ink"),
            _reached(bound, target),
        ),
        x_log=True,
        x_range=TRAIN_FRACTION_RANGE,
        y_range=(0.4, 1.02),
        caption=f"Black: mean over {BUNDLED_TRAINING_SETS} random training sets with its 95 % interval. "
        f"{average_meaning(about.known)} The paper's Eq. 5 is no bound. "
        f"{WITH_NETWORKS if networks else WITHOUT_NETWORKS}",
    )


def _reached(bound: Bound, target: float) -> Curve:
    """Return the mark where the target is reached; the logarithmic axis has no zero."""
    needed = bound.needed.at(target)
    place = [max(needed.value, TRAIN_FRACTION_RANGE[0])]
    return Curve("target reached", "mark", place, [target], "purple", notes=[f"share needed {needed}"])


def _networks(name: str, element_count: int) -> list[Curve]:
    """Return the accuracy of trained networks, where there are any of this relation."""
    if element_count != NETWORK_ELEMENTS:
        return []
    curves = []
    for kind, (label, color) in NETWORK_CURVES.items():
        rows = [row for row in bundled_rows("relations_networks.csv") if row["first"] == name and row["second"] == kind]
        if rows:
            x, value, low, high = ([float(row[one]) for row in rows] for one in ("x", "value", "low", "high"))
            curves.append(Curve(label, "run", x, value, color, low, high))
    return curves
