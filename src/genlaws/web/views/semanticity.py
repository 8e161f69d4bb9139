"""The view on semanticity: what a resolution gives in generalization and costs in identification.

The curves are cached under the settings they depend on. They are compared with bundled runs: simulated choices, ReLU
networks, and a language model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

import numpy as np

from genlaws.core.arguments import Array
from genlaws.figures.bundled import bundled_table
from genlaws.render import Curve, Panel
from genlaws.semanticity import (
    Front,
    FrontPoint,
    Similarity,
    front,
    generalization_of_many,
    identification_of_many,
    similarity,
    space,
)
from genlaws.semanticity.theory.fixed_rule import ACCURACY, fixed_rule
from genlaws.semanticity.theory.spaces import DiscreteSpace, Space
from genlaws.web.measurement import GENERALIZATION_COLOR, IDENTIFICATION_COLOR, SHAPE_COLORS
from genlaws.web.view import Answer, Number, View, ViewSettings, bundled_rows, choice, slider

CACHE_SIZE = 256  # entries of each cache
# Nats by which a similarity may fall over the space, so that an answer takes milliseconds: where the distances have a
# density, and where there are few of them.
MAX_FALL_NATS, MAX_FALL_NATS_DISCRETE = 150.0, 600.0
BALL_MASS_POINTS = 81  # of the front for comparison
SIZE_NAMES = {"tree": ("branching", "depth")}
# The segment takes an average over probes, so that fewer numbers of items are computed there.
ITEM_COUNTS = (2, 3, 4, 6, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300, 450, 670, 1000)
SEGMENT_ITEM_COUNTS = (2, 3, 5, 8, 14, 25, 50, 100)
TESTS = ("generalization", "identification")
SIMULATED_SIZES = {"sphere": (2,), "torus": (2,), "hypercube": (10,)}  # of the spaces in which choices were simulated
SIMULATED_EXPONENT = 2.0
BEST_TEMPLATE = "list"  # the template with which the model does best
RESOLUTION_RANGE = (0.004, 12.0)  # shares of the largest distance
MAX_NETWORK_RESOLUTION = 3.0  # a coarser profile is flat and has no resolution
MIN_PROBABILITY = 5e-4  # probability, on a logarithmic axis
ITEM_RANGE = (1.7, 1100.0)
PLANE_AXIS_FACTOR = 1.04
BEST_VIEW_TOLERANCE = 1e-5  # a generalization this close to the best counts as the best


@dataclass(frozen=True)
class FrontQuery:
    """A point of a front; `sizes` are the parameters of the space, `share` is ε over the largest distance."""

    space: str
    sizes: tuple[int, ...]
    similarity: str
    exponent: float | None
    share: float
    background: float
    item_count: int

    def named_sizes(self) -> dict[str, int]:
        """Return the parameters of the space under their names."""
        return dict(zip(SIZE_NAMES.get(self.space, ("dimension",)), self.sizes, strict=False))

    def where(self) -> Space:
        """Return the space."""
        return _space(self.space, self.sizes)

    def radius(self) -> float:
        """Return the resolution in units of the distance, to six digits."""
        return float(f"{self.share * self.where().reach:.6g}")

    def form(self) -> Similarity:
        """Return the similarity at the resolution."""
        return similarity(self.similarity, self.radius(), background=self.background, exponent=self.exponent)

    def too_steep(self) -> bool:
        """Return whether both tests cannot be computed fast: the similarity falls too far over the space."""
        form, where = self.form(), self.where()
        least = MAX_FALL_NATS_DISCRETE if isinstance(where, DiscreteSpace) else MAX_FALL_NATS
        return bool(np.isinf(form.support) and float(form(where.reach)) < np.exp(-least))

    def without_resolution(self) -> FrontQuery:
        """Return the same at resolution 1, as a key for what does not depend on it."""
        return replace(self, share=1.0)

    def without_items(self) -> FrontQuery:
        """Return the same for two items, as a key for what does not depend on their number."""
        return replace(self, item_count=2)


@lru_cache(maxsize=CACHE_SIZE)
def _space(name: str, sizes: tuple[int, ...]) -> Space:
    return space(name, **dict(zip(SIZE_NAMES.get(name, ("dimension",)), sizes, strict=False)))


@lru_cache(maxsize=CACHE_SIZE)
def point_of(query: FrontQuery) -> FrontPoint | None:
    """Return both tests at the chosen resolution, or nothing where the similarity is too steep."""
    if query.too_steep():
        return None
    return front(
        query.where(),
        similarity=query.form(),
        item_count=query.item_count,
        resolutions=query.radius(),
        tolerance=ACCURACY,
    ).point


@lru_cache(maxsize=CACHE_SIZE)
def whole_front(query: FrontQuery) -> Front:
    """Return the front and its peak."""
    return front(query.where(), similarity=query.form(), item_count=query.item_count, tolerance=ACCURACY)


@lru_cache(maxsize=CACHE_SIZE)
def many_items(query: FrontQuery) -> tuple[list[int], list[float], list[float]]:
    """Return numbers of items, with generalization and identification at the chosen resolution."""
    counts = SEGMENT_ITEM_COUNTS if query.space == "segment" else ITEM_COUNTS
    s, i = fixed_rule(query.where(), query.form(), query.radius(), counts)
    return list(counts), s[0].tolist(), i[0].tolist()


@lru_cache(maxsize=CACHE_SIZE)
def homogeneous_curve(item_count: int) -> tuple[Array, Array]:
    """Return generalization and identification of the constant similarity in a homogeneous space, no background."""
    b = np.unique(
        np.concatenate(
            [np.geomspace(1e-2 / item_count, 1.0, BALL_MASS_POINTS // 2), np.linspace(0.0, 1.0, BALL_MASS_POINTS)]
        )
    )
    return generalization_of_many(b, item_count), identification_of_many(b, item_count)


@dataclass(frozen=True)
class MeasuredPair:
    """One measured pair: each test with its interval, the resolution as a share of the largest distance, and a note."""

    share: float
    generalization: tuple[float, float, float]
    identification: tuple[float, float, float]
    note: str


def simulated_choices(query: FrontQuery) -> list[MeasuredPair]:
    """Return simulated choices with the same space, similarity, background and number of items, if there are any."""
    if query.sizes != SIMULATED_SIZES.get(query.space, ()) or query.exponent not in {None, SIMULATED_EXPONENT}:
        return []
    same = (query.space, query.similarity, query.background, query.item_count)
    return [
        _run(row, "20,000 simulated choices of each kind")
        for row in bundled_rows("semanticity.csv")
        if row["source"] == "choices"
        and (row["space"], row["similarity"], float(row["background"]), int(row["item_count"])) == same
    ]


def relu_networks(query: FrontQuery) -> list[MeasuredPair]:
    """Return the paper's networks along their training, if they learned this space and there are two items."""
    if query.item_count != 2:
        return []
    rows = (
        row for row in bundled_rows("semanticity.csv") if row["source"] == "networks" and row["space"] == query.space
    )
    return [_run(row, f"mean of 10 networks after {int(row['step']):,} steps") for row in rows]


def _run(row: dict[str, str], note: str) -> MeasuredPair:
    generalization, identification = (
        (float(row[test]), float(row[f"{test}_low"]), float(row[f"{test}_high"])) for test in TESTS
    )
    return MeasuredPair(float(row["share"]), generalization, identification, note)


@cache
def language_model(test: str) -> tuple[tuple[int, float, float, float], ...]:
    """Return number of items, rate and interval of SmolLM2 probed with years, for generalization or identification."""
    kind = "similarity" if test == "generalization" else test
    frame = bundled_table("semanticity.years").frame
    rows = frame[(frame["template"] == BEST_TEMPLATE) & (frame["what"] == kind)]
    columns = (rows[name].tolist() for name in ("item_count", "value", "low", "high"))
    return tuple((int(n), float(value), float(low), float(high)) for n, value, low, high in zip(*columns, strict=True))


def front_panel(query: FrontQuery) -> Panel:
    """Return generalization against identification, with the chosen point and runs."""
    found, here, n = whole_front(query.without_resolution()), point_of(query), query.item_count
    floor = f", Δ = {query.background:g}" if query.background else ""
    name, color = f"{query.similarity}{floor}, {query.space}", SHAPE_COLORS[query.similarity]
    x, y = found.identification.tolist(), found.generalization.tolist()
    notes = [f"ε = {share:.3g}" for share in (found.resolution / query.where().reach).tolist()]
    curves = [Curve(name, "theory", x, y, color, notes=notes)]
    if query.similarity != "constant" or query.background or not query.where().homogeneous:
        s, i = homogeneous_curve(n)
        curves.append(Curve("constant, homogeneous, Δ = 0", "paper", i.tolist(), s.tolist(), "blue"))
    curves.append(Curve("chance", "chance", [1 / n, 1 / n, 1.0], [1.0, 1 / n, 1 / n], "gray"))
    curves += [
        Curve(name, "run", *_columns(runs, "identification", "generalization"), color, notes=[one.note for one in runs])
        for name, runs, color in _runs(query)
    ]
    if here is not None:
        curves.append(Curve("your resolution", "mark", [here.identification], [here.generalization], "ink"))
    low = 1 / n - (PLANE_AXIS_FACTOR - 1) * (1 - 1 / n)
    return Panel(
        "semanticity-front",
        "The front: generalization against identification",
        "identification p_I (probability)",
        "generalization p_S (probability)",
        tuple(curves),
        x_range=(low, 1.0 + (PLANE_AXIS_FACTOR - 1)),
        y_range=(low, min(1.0, _highest(curves)) * PLANE_AXIS_FACTOR),
        caption="Each point of a line is one resolution: fine on the right, coarse at the lower left. A front belongs "
        f"to its similarity, so points may lie above the dashed one. {_about_runs(query)}",
    )


def resolution_panel(query: FrontQuery) -> Panel:
    """Return both tests against the resolution, with the best one."""
    found, here, n = whole_front(query.without_resolution()), point_of(query), query.item_count
    reach = query.where().reach
    shares = (found.resolution / reach).tolist()
    tests = [getattr(found, name).tolist() for name in ("generalization", "identification")]
    if shares[-1] < RESOLUTION_RANGE[1]:  # a constant similarity sees all alike beyond the largest distance
        shares, tests = [*shares, RESOLUTION_RANGE[1]], [[*one, one[-1]] for one in tests]
    curves = [
        Curve("generalization p_S", "theory", shares, tests[0], GENERALIZATION_COLOR),
        Curve("identification p_I", "theory", shares, tests[1], IDENTIFICATION_COLOR),
        Curve("chance", "chance", list(RESOLUTION_RANGE), [1 / n, 1 / n], "gray"),
    ]
    if found.peak is not None:
        at = found.peak.resolution / reach
        curves.append(Curve("best resolution", "paper", [at, at], [1 / n, found.peak.generalization], "ink"))
    for name, runs, networks in _runs(query, linear_only=True):
        shown = [one for one in runs if RESOLUTION_RANGE[0] <= one.share <= MAX_NETWORK_RESOLUTION]
        colors = ("sky", "orange") if networks == "sky" else (GENERALIZATION_COLOR, IDENTIFICATION_COLOR)
        for test, symbol, color in zip(("generalization", "identification"), ("p_S", "p_I"), colors, strict=True):
            y, low, high = _test(shown, test)
            x, notes = [one.share for one in shown], [one.note for one in shown]
            curves.append(Curve(f"{symbol}, {name}", "run", x, y, color, low, high, notes))
    if here is not None:
        both = [here.generalization, here.identification]
        curves.append(Curve("your resolution", "mark", [query.share] * 2, both, "ink"))
    return Panel(
        "semanticity-resolution",
        "Both tests against the resolution",
        "resolution ε, as a share of the largest distance",
        "probability of the right choice",
        tuple(curves),
        x_log=True,
        x_range=RESOLUTION_RANGE,
        y_range=(0.0, PLANE_AXIS_FACTOR),
        caption="A coarser resolution costs identification. Generalization is best in between, or at the finest "
        f"resolution if there is no background and the similarity never ends. {_about_runs(query, linear_only=True)}",
    )


def items_panel(query: FrontQuery) -> Panel:
    """Return both tests against the number of items at the chosen resolution, the collapse, and a language model."""
    here = point_of(query)
    curves = [] if here is None else _theory_of_items(query, here)
    for test, symbol, color in (
        ("generalization", "p_S", GENERALIZATION_COLOR),
        ("identification", "p_I", IDENTIFICATION_COLOR),
    ):
        counts, value, low, high = (list(part) for part in zip(*language_model(test), strict=True))
        curves.append(Curve(f"{symbol}, SmolLM2 on years", "run", counts, value, color, low, high))
    if here is not None:
        both = [here.generalization, here.identification]
        curves.append(Curve("your number of items", "mark", [query.item_count] * 2, both, "ink"))
    return Panel(
        "semanticity-items",
        "Many items: the collapse",
        "number of items n",
        "probability of the right choice",
        tuple(curves),
        x_log=True,
        y_log=True,
        x_range=ITEM_RANGE,
        y_range=(MIN_PROBABILITY, 1.2),
        caption="With many items identification falls as c/n, whatever the similarity. The points are a language model "
        "that names who was born closest to a year or in it, from 400 prompts each; it has a similarity of its own, "
        "independent of the sliders.",
    )


def _theory_of_items(query: FrontQuery, here: FrontPoint) -> list[Curve]:
    n, s, i = many_items(query.without_items())
    law = [min(here.collapse_constant / one, 1.0) for one in n]
    return [
        Curve("generalization p_S", "theory", n, s, GENERALIZATION_COLOR),
        Curve("identification p_I", "theory", n, i, IDENTIFICATION_COLOR),
        Curve("collapse c/n", "paper", n, law, "ink"),
        Curve("chance 1/n", "chance", n, [1 / one for one in n], "gray"),
    ]


def _runs(query: FrontQuery, linear_only: bool = False) -> list[tuple[str, list[MeasuredPair], str]]:
    """Return sets of runs to compare with these settings; networks have a resolution only if taken as linear."""
    networks = relu_networks(query) if query.similarity == "linear" or not linear_only else []
    named = [("simulated choices", simulated_choices(query), "ink"), ("ReLU networks", networks, "sky")]
    return [(name, runs, color) for name, runs, color in named if runs]


def _about_runs(query: FrontQuery, linear_only: bool = False) -> str:
    names = [name for name, _, _ in _runs(query, linear_only)]
    notes = {
        "simulated choices": "Simulated choices have exactly these settings.",
        "ReLU networks": "The networks of the paper learned their own similarity on 50 places of this space; their "
        "resolution is that of the linear one closest to it.",
    }
    return " ".join(notes[name] for name in names) or "No runs were made with these settings."


def _columns(runs: Sequence[MeasuredPair], across: str, up: str) -> tuple[list[float], list[float]]:
    return _test(runs, across)[0], _test(runs, up)[0]


def _test(runs: Sequence[MeasuredPair], name: str) -> tuple[list[float], list[float], list[float]]:
    value, low, high = ([getattr(one, name)[part] for one in runs] for part in range(3))
    return value, low, high


def _highest(curves: Sequence[Curve]) -> float:
    """Return the largest height of the curves other than chance, with some room above."""
    return 1.03 * max(max(one.y) for one in curves if one.kind != "chance")


class FrontSettings(ViewSettings):
    """A space, a similarity and a number of items."""

    space: Literal["circle", "sphere", "torus", "segment", "hypercube", "tree"] = choice(
        "circle", "Space", about="Where the things live; a segment has ends, a tree and a hypercube have few distances."
    )
    sphere_dimension: int = slider(
        2, 1, 10, "Dimension of the sphere", step=1, when={"space": "sphere"}, about="The surface of a ball has two."
    )
    torus_dimension: int = slider(
        2, 1, 3, "Dimension of the torus", step=1, when={"space": "torus"}, about="A square or a cube without edges."
    )
    hypercube_dimension: int = slider(
        10,
        2,
        30,
        "Dimension of the hypercube",
        step=1,
        when={"space": "hypercube"},
        about="Number of yes-or-no features; the distance is the number of those that differ.",
    )
    branching: int = slider(
        2, 2, 6, "Children of each node", step=1, when={"space": "tree"}, about="How many kinds each kind splits into."
    )
    depth: int = slider(
        8, 2, 10, "Levels of the tree", step=1, when={"space": "tree"}, about="How often kinds are split into kinds."
    )
    similarity: Literal["constant", "linear", "exponential", "gaussian", "power-law"] = choice(
        "linear", "Shape of the similarity", about="How alike two things look, as a function of their distance."
    )
    exponent: float = slider(
        2.0,
        0.5,
        8.0,
        "Exponent of the power law",
        step=0.1,
        when={"similarity": "power-law"},
        about="The larger, the sooner the similarity ends.",
    )
    resolution: float = slider(
        0.3,
        0.01,
        10.0,
        "Resolution ε, as a share of the largest distance",
        log=True,
        step=0.02,
        about="Distance over which things look alike.",
    )
    background: float = slider(0.0, 0.0, 0.5, "Background Δ", step=0.005, about="Similarity left at every distance.")
    item_count: int = slider(2, 2, 100, "Number of items n", step=1, about="How many things there are to choose from.")


def answer(settings: FrontSettings) -> Answer:
    """Return the front of the space and the similarity, and what the chosen resolution gives."""
    query = query_of(settings)
    here, best = point_of(query), whole_front(query.without_resolution()).peak
    return Answer(
        (front_panel(query), resolution_panel(query), items_panel(query)),
        _numbers(query, here, best),
        _sentence(query, here, best),
        _python(query),
        _command(query),
    )


def query_of(settings: FrontSettings) -> FrontQuery:
    """Return the settings that matter, rounded to the steps of their sliders."""
    sizes = {
        "sphere": (settings.sphere_dimension,),
        "torus": (settings.torus_dimension,),
        "hypercube": (settings.hypercube_dimension,),
        "tree": (settings.branching, settings.depth),
    }
    exponent = round(settings.exponent, 3) if settings.similarity == "power-law" else None
    return FrontQuery(
        settings.space,
        sizes.get(settings.space, ()),
        settings.similarity,
        exponent,
        float(f"{settings.resolution:.4g}"),
        round(settings.background, 5),
        settings.item_count,
    )


def _numbers(query: FrontQuery, here: FrontPoint | None, best: FrontPoint | None) -> tuple[Number, ...]:
    n, reach = query.item_count, query.where().reach
    known = () if here is None else _numbers_here(here)
    best_unit = (
        "none if it keeps growing as the resolution gets finer or coarser"
        if best is None
        else _as_distance(best.resolution, reach)
    )
    return (
        *known,
        Number("Chance", f"{1 / n:.4f}", f"guessing among {n} items"),
        Number("Resolution ε", f"{query.share:.4g}", _as_distance(query.radius(), reach)),
        Number(
            "Best resolution",
            "none" if best is None else f"{best.resolution / reach:.4g}",
            f"where generalization is largest; {best_unit}",
        ),
        Number(
            "Best generalization",
            "none" if best is None else f"{best.generalization:.4f}",
            f"with {n} items in this space and with this similarity",
        ),
    )


def _as_distance(radius: float, reach: float) -> str:
    """Return a resolution with its unit, and as a distance."""
    return f"as a share of the largest distance, {reach:.4g}; as a distance it is {radius:.4g}"


def _numbers_here(here: FrontPoint) -> tuple[Number, ...]:
    return (
        Number("Generalization p_S", f"{here.generalization:.4f}", "how often the nearest item is chosen"),
        Number("Identification p_I", f"{here.identification:.4f}", "how often the original of a copy is chosen"),
        Number("Ball mass b", f"{here.ball_mass:.4g}", "share of the space within one resolution of a probe"),
        Number("Collapse constant c", f"{here.collapse_constant:.4g}", "identification tends to c/n for many items n"),
    )


def _sentence(query: FrontQuery, here: FrontPoint | None, best: FrontPoint | None) -> str:
    if here is None:
        return (
            "Without a background this similarity falls too far over the space to be computed at this fine resolution; "
            "both probabilities tend to 1 there. Give it a background, or choose a coarser resolution."
        )
    first = (
        f"With {query.item_count} items on the {query.space} the one nearest to a new probe is chosen "
        f"{here.generalization:.1%} of the time, the original of a copied probe {here.identification:.1%}. "
    )
    if best is None:
        return first + "Generalization has no peak here, so there is nothing to trade."
    if best.generalization - here.generalization < BEST_VIEW_TOLERANCE:
        return first + "No other resolution generalizes better."
    if here.resolution < best.resolution:
        return first + "This is finer than the best resolution: a coarser one generalizes better, but identifies worse."
    return first + "This is coarser than the best resolution: a finer one, up to the best, improves both."


def _python(query: FrontQuery) -> str:
    sizes = "".join(f", {name}={value}" for name, value in query.named_sizes().items())
    floor = f", background={query.background!r}" if query.background else ""
    power = "" if query.exponent is None else f", exponent={query.exponent!r}"
    n = query.item_count
    # A similarity too steep at the chosen resolution still has a front.
    point, radius = ("", 1.0) if query.too_steep() else ("print(found.point)\n", query.radius())
    return (
        "from genlaws import semanticity\n\n"
        f'space = semanticity.space("{query.space}"{sizes})\n'
        f'similarity = semanticity.similarity("{query.similarity}", {radius!r}{floor}{power})\n'
        f"found = semanticity.front(space, similarity=similarity, item_count={n}, tolerance={ACCURACY})\n"
        f"{point}print(found.peak)\n"
    )


def _command(query: FrontQuery) -> str:
    sizes = "".join(f" --{name} {value}" for name, value in query.named_sizes().items())
    floor = f" --background {query.background!r}" if query.background else ""
    power = "" if query.exponent is None else f" --exponent {query.exponent!r}"
    return (
        f"genlaws semanticity front --space {query.space}{sizes} --similarity {query.similarity}{power} "
        f"--resolution {query.radius()!r}{floor} --items {query.item_count}"
    )


VIEW = View(
    name="semanticity",
    title="Semanticity",
    question="How finely should a representation distinguish things?",
    about="A representation that sees two things as alike cannot tell them apart; one that distinguishes everything "
    "does not represent which things are near. The resolution lies between the two. The front shows what each "
    "resolution gives in generalization, choosing the item nearest to a new probe, and costs in identification, naming "
    "the original of a copy. It belongs to one similarity and to Luce's choice rule, and is no bound on every system.",
    settings=FrontSettings,
    answer=answer,
)
