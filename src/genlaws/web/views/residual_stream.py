"""The view on the residual stream: which motion of its states does a random walk also show?

Lines are the exact curves of a random walk. Points are either one walk drawn with the same settings, or a model: small
models measured on 120 generated sentences at the last token (``studies/explorer_runs_residual_stream.py``), and the
paper's model as far as its figures show, each compared with the walk that has its step sizes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

import numpy as np

from genlaws.claims.residual_stream.data import COSINES, MEAN_ROTATIONS, SPEEDS, UNITS, in_order
from genlaws.core.arguments import Array, one_of
from genlaws.core.estimate import Estimate
from genlaws.models.stream import Stream
from genlaws.models.texts import WRITE_EXAMPLES_CODE
from genlaws.render import Curve, Panel
from genlaws.render.copied_commands import with_new_file
from genlaws.render.walk_panels import neighbors_panel, rotations_panel, shares_panel, sizes_panel
from genlaws.residual_stream.surrogates.walk_comparison import NORMAL, path_shares_of, rotation_curve
from genlaws.residual_stream.surrogates.walks import Walk, geometric_walk, walked
from genlaws.web.view import Answer, Number, View, ViewSettings, bundled_rows, choice, slider

PAPER_MODEL = "paper"
SHOWN_MODELS = ("SmolLM2", "MiniLM", "stories260K", PAPER_MODEL)
MODEL_LABELS = {
    "SmolLM2": "SmolLM2-135M",
    "MiniLM": "all-MiniLM-L6-v2",
    "stories260K": "stories260K",
    PAPER_MODEL: "Llama 3.1 8B, read off the paper's figures",
}
COSINE_READING_ERROR = 0.02  # error of reading a cosine off the paper's figure
DRAWN_TEXTS, DRAWN_UNITS = 48, 16  # a correlation of 48 texts is too low by less than .01 r (1 - r^2)
MAX_ROTATION_UNITS = 256  # units whose rotations are counted
WALK_SEED = 20
PLANE_COMPONENTS = 2  # of the paper's plane
MEASURE_COLORS = {
    "correlation": "blue",
    "correlation_random_axes": "sky",
    "cosine": "orange",
    "size": "blue",
    "step_size": "orange",
    "shares": "blue",
    "rotations": "blue",
}
MEASURE_LABELS = {
    "correlation": "r over texts",
    "correlation_random_axes": "r, random axes",
    "cosine": "cosine",
    "size": "state",
    "step_size": "step",
    "shares": "share",
    "rotations": "rotations",
}
WITHOUT_MODEL = {"fit": "none"}
MIN_EXCESS_ROTATIONS = 1.2  # times the rotations of a walk, where no scatter is known
PACKAGED_MODELS = {"SmolLM2": "smollm2", "MiniLM": "minilm"}
MEASURED_TEXTS = 120  # read by the models
ANALYZE_COMMAND = (
    'genlaws residual-stream analyze {model} --texts "$file" --measures paths,correlations,dimensions,rotations '
    "--surrogates random-walk,step-signs,basis-rotation"
)
STEP_DIGITS = 8  # of step sizes in copied code, more than the page shows


@dataclass(frozen=True)
class MeasuredPoints:
    """Measured numbers: where, how much, and the ends of their intervals (NaN where there is none)."""

    x: Array
    value: Array
    low: Array
    high: Array

    def at(self, place: float) -> tuple[float, float, float]:
        """Return the value nearest to a place, with the ends of its interval."""
        nearest = int(np.abs(self.x - place).argmin())
        return float(self.value[nearest]), float(self.low[nearest]), float(self.high[nearest])


@dataclass(frozen=True)
class BundledStream:
    """A bundled model.

    Attributes
    ----------
    label : str
    walk : Walk
        With steps of the same sizes.
    units, texts : int
    persistence : float
        Mean cosine between a step and the next; NaN if not known.
    points : mapping from measure to MeasuredPoints
        Of ``correlation``, ``correlation_random_axes`` (in random axes), ``cosine``,
        ``size``, ``step_size``, ``shares`` and ``rotations``, those that are known.
    """

    label: str
    walk: Walk
    units: int
    texts: int
    persistence: float
    points: Mapping[str, MeasuredPoints]


def bundled_stream(model: str, persistence: float = 0.0) -> BundledStream:
    """Return a bundled model and the walk with its steps.

    Parameters
    ----------
    model : {"SmolLM2", "MiniLM", "stories260K", "paper"}
    persistence : float in (-1, 1)
        Of the walk.
    """
    found = _published() if one_of("model", model, SHOWN_MODELS) == PAPER_MODEL else _measured()[model]
    return replace(found, walk=replace(found.walk, persistence=persistence))


@cache
def _measured() -> dict[str, BundledStream]:
    columns: dict[str, dict[str, list[tuple[float, ...]]]] = defaultdict(lambda: defaultdict(list))
    for row in bundled_rows("residual_stream.csv"):
        ends = tuple(float(row[name]) if row[name] else math.nan for name in ("at", "value", "low", "high"))
        columns[row["model"]][row["measure"]].append(ends)
    return {
        name: _stream(name, {key: MeasuredPoints(*np.array(rows).T) for key, rows in one.items()})
        for name, one in columns.items()
    }


def _stream(name: str, given: dict[str, MeasuredPoints]) -> BundledStream:
    alone = {
        key: float(given.pop(key).value[0]) for key in ("units", "texts", "persistence", "own_start", "shared_start")
    }
    own, shared = (given.pop(key).value for key in ("own_steps", "shared_steps"))
    walk = Walk(own, shared, alone["own_start"], alone["shared_start"])
    for key in ("correlation", "correlation_random_axes", "cosine", "step_size"):  # a step stands between two sites
        given[key] = replace(given[key], x=given[key].x + 0.5)
    return BundledStream(
        MODEL_LABELS[name], walk, int(alone["units"]), int(alone["texts"]), alone["persistence"], given
    )


@cache
def _published() -> BundledStream:
    r"""Return the paper's model: its speeds, cosines and rotations.

    The first state has the length that the first cosine implies for a walk, :math:`c\,v_0/\sqrt{1-c^2}`; how a step is
    divided between all texts and each is not known.
    """
    speeds, cosines = in_order(SPEEDS) / math.sqrt(UNITS), in_order(COSINES)
    start = float(cosines[0] * speeds[0] / math.sqrt(1.0 - cosines[0] ** 2))
    walk = Walk(speeds, np.zeros_like(speeds), start)
    steps, none = np.arange(speeds.size, dtype=np.float64) + 0.5, np.full(speeds.size, np.nan)
    last = float(walk.site_count - 2)
    points = {
        "cosine": MeasuredPoints(
            steps, cosines, cosines - COSINE_READING_ERROR, np.minimum(cosines + COSINE_READING_ERROR, 1.0)
        ),
        "step_size": MeasuredPoints(steps, speeds, none, none),
        "rotations": MeasuredPoints(
            np.array([last]), np.array([MEAN_ROTATIONS]), np.array([math.nan]), np.array([math.nan])
        ),
    }
    return BundledStream(MODEL_LABELS[PAPER_MODEL], walk, UNITS, 1000, math.nan, points)


@lru_cache(maxsize=4)
def _noise(sites: int, units: int) -> tuple[Array, Array]:
    generator = np.random.default_rng(WALK_SEED)
    return generator.standard_normal((DRAWN_TEXTS, sites, DRAWN_UNITS)), generator.standard_normal((1, sites, units))


def drawn_points(walk: Walk, units: int) -> dict[str, MeasuredPoints]:
    """Return what one walk shows: the same random numbers at every place of the sliders."""
    noise_own, noise_shared = _noise(walk.site_count, units)
    own = walked(noise_own, walk.own_start, walk.own_steps, walk.persistence)
    moving = walk.shared_steps if (walk.shared_steps > 0).all() else walk.own_steps
    path = walked(noise_shared, 0.0, moving, walk.persistence)
    turned = rotation_curve(Stream.from_states(path[:, :, :MAX_ROTATION_UNITS]))
    shares = path_shares_of(path[0])
    sites = np.arange(walk.site_count, dtype=np.float64)
    none = np.full(shares.size, np.nan)
    return {
        "correlation": _correlations(own, sites[:-1] + 0.5),
        "size": _sizes(own, path if (walk.shared_steps > 0).all() else 0.0 * path, sites),
        "shares": MeasuredPoints(np.arange(1.0, shares.size + 1.0), shares, none, none),
        "rotations": MeasuredPoints(sites[1:-1], turned.value, turned.low, turned.high),
    }


def _correlations(own: Array, at: Array) -> MeasuredPoints:
    """Return r over texts, its mean over units, and the interval of that mean."""
    centered = own - own.mean(axis=0)
    squares = (centered**2).sum(axis=0)
    products = (centered[:, :-1] * centered[:, 1:]).sum(axis=0)
    r = products / np.sqrt(squares[:-1] * squares[1:])
    return MeasuredPoints(at, *_with_ends(r.mean(axis=1), r.std(axis=1, ddof=1) / np.sqrt(r.shape[1])))


def _sizes(own: Array, path: Array, at: Array) -> MeasuredPoints:
    """Return root mean squares of both parts together."""
    parts = [np.moveaxis(one**2, 1, 0).reshape(one.shape[1], -1) for one in (own, path)]
    square = sum(one.mean(axis=1) for one in parts)
    error = np.sqrt(sum(one.var(axis=1, ddof=1) / one.shape[1] for one in parts))
    size = np.sqrt(square)
    return MeasuredPoints(at, *_with_ends(size, 0.5 * error / size))


def _with_ends(value: Array, error: Array) -> tuple[Array, Array, Array]:
    return value, value - NORMAL * error, value + NORMAL * error


@dataclass(frozen=True)
class Shown:
    """What is drawn.

    Attributes
    ----------
    walk : Walk
    units : int
    points : mapping from measure to MeasuredPoints
    label : str
        Whose points they are.
    measures : tuple of str
        Of which the walk has lines.
    """

    walk: Walk
    units: int
    points: Mapping[str, MeasuredPoints]
    label: str
    measures: tuple[str, ...] = ("correlation", "cosine", "size", "step_size", "shares", "rotations")

    @property
    def middle(self) -> int:
        """The step in the middle."""
        return (self.walk.site_count - 1) // 2


def panels_of(shown: Shown) -> tuple[Panel, ...]:
    """Return correlation and cosine, sizes, shares and rotations."""
    walk = shown.walk
    sites = np.arange(walk.site_count, dtype=np.float64)
    steps, middle = sites[:-1] + 0.5, shown.middle
    first = "correlation" if "correlation" in shown.measures else "cosine"
    values = {"correlation": walk.correlation, "cosine": walk.cosine}
    mark = Curve(
        "walk, middle", "mark", (float(steps[middle]),), (float(values[first][middle]),), MEASURE_COLORS[first]
    )
    near = [*(_line(shown, name, steps, values[name]) for name in values), mark]
    sizes = [_line(shown, "size", sites, walk.size), _line(shown, "step_size", steps, walk.step_size)]
    rotations = [_line(shown, "rotations", sites[1:-1], walk.rotations)]
    return (
        neighbors_panel(_with_points(shown, near, ("correlation", "correlation_random_axes", "cosine"))),
        sizes_panel(_with_points(shown, sizes, ("size", "step_size"))),
        shares_panel(_with_points(shown, _shares(shown), ("shares",))),
        rotations_panel(_with_points(shown, rotations, ("rotations",))),
    )


def _line(shown: Shown, measure: str, x: Array, y: Array) -> Curve | None:
    if measure not in shown.measures:
        return None
    return Curve(f"walk: {MEASURE_LABELS[measure]}", "theory", x.tolist(), y.tolist(), MEASURE_COLORS[measure])


def _shares(shown: Shown) -> list[Curve | None]:
    """Return the line of the walk with the band of 95 % of walks, and the place of the plane."""
    value, half = shown.walk.path_shares(shown.units), NORMAL * shown.walk.path_share_deviations(shown.units)
    x = np.arange(1, value.size + 1).tolist()
    ends = {"low": (value - half).tolist(), "high": np.minimum(value + half, 1.0).tolist()}
    line = Curve("walk, and 95 % of walks", "theory", x, value.tolist(), MEASURE_COLORS["shares"], **ends)
    plane = float(value[PLANE_COMPONENTS - 1])
    return [line, Curve("walk, in a plane", "mark", (PLANE_COMPONENTS,), (plane,), MEASURE_COLORS["shares"])]


def _with_points(shown: Shown, lines: list[Curve | None], measures: tuple[str, ...]) -> list[Curve]:
    drawn = [line for line in lines if line is not None]
    for measure in measures:
        if measure in shown.points:
            several = len(measures) > 1
            name = f"{shown.label}: {MEASURE_LABELS[measure]}" if several else shown.label
            drawn.insert(
                len(drawn) - sum(one.kind == "mark" for one in drawn),
                _points(shown.points[measure], name, MEASURE_COLORS[measure]),
            )
    return drawn


def _points(points: MeasuredPoints, name: str, color: str) -> Curve:
    """Return points, with intervals where they have any."""
    ends = {} if np.isnan(points.low).all() else {"low": points.low.tolist(), "high": points.high.tolist()}
    return Curve(name, "run", points.x.tolist(), points.value.tolist(), color, **ends)


class WalkSettings(ViewSettings):
    """A walk with chosen steps, or with the steps of a model."""

    fit: Literal["SmolLM2", "MiniLM", "stories260K", "paper", "none"] = choice(
        "SmolLM2",
        "Steps taken from",
        about="A bundled model, compared with a walk whose steps have the same sizes; the paper's Llama 3.1 8B "
        "as read off its figures; or none, for a walk of your own.",
    )
    persistence: float = slider(
        0.0, -0.6, 0.9, "Persistence of steps φ", step=0.05, about="Correlation of a step with the next; 0 for a walk."
    )
    sites: int = slider(
        64, 8, 128, "Number of sites L", step=1, when=WITHOUT_MODEL, about="Places where the stream is read."
    )
    growth: float = slider(
        20.0, 0.1, 1000.0, "Growth of steps", log=True, step=0.1, when=WITHOUT_MODEL, about="Last step over the first."
    )
    start: float = slider(
        1.0,
        0.1,
        100.0,
        "Start, in first steps",
        log=True,
        step=0.1,
        when=WITHOUT_MODEL,
        about="Size of the first state.",
    )
    shared: float = slider(
        0.5,
        0.0,
        1.0,
        "Share of common drift",
        step=0.05,
        when=WITHOUT_MODEL,
        about="Part of each step that all texts share.",
    )
    units: int = slider(
        512,
        64,
        1024,
        "Number of units n",
        step=64,
        when=WITHOUT_MODEL,
        about="Dimensions of the stream; few make paths flatter.",
    )


def answer(settings: WalkSettings) -> Answer:
    """Return the walk's curves and the points of a model, or of a walk drawn with the same settings."""
    return _drawn(settings) if settings.fit == "none" else _fitted(settings)


def _drawn(settings: WalkSettings) -> Answer:
    """Return the user's walk, exact and drawn once."""
    given = {
        "growth": round(settings.growth, 4),
        "start": round(settings.start, 4),
        "persistence": round(settings.persistence, 4),
        "shared": round(settings.shared, 4),
    }
    walk = geometric_walk(settings.sites, **given)
    shown = Shown(walk, settings.units, drawn_points(walk, settings.units), "one walk drawn")
    middle, shares = shown.middle, walk.path_shares(settings.units)
    sentence = (
        f"A random walk has neighboring sites correlated by {walk.correlation[middle]:.2f} in the middle, "
        f"{shares[PLANE_COMPONENTS - 1]:.0%} of its mean path in a plane and {walk.rotations[-1]:.1f} rotations of "
        "each unit. A stream with these numbers shows no more than its step sizes."
    )
    options = ", ".join(f"{name}={value!r}" for name, value in given.items())
    lines = [f"walk = geometric_walk({settings.sites}, {options})"]
    python = _python("geometric_walk", lines, shown)
    return Answer(panels_of(shown), _numbers(shown, None), sentence, python, _command(python))


def _fitted(settings: WalkSettings) -> Answer:
    """Return a model compared with the walk that has its steps."""
    phi = round(settings.persistence, 4)
    bundled = bundled_stream(settings.fit, phi)
    measures = ("cosine", "size", "step_size", "shares", "rotations") if settings.fit == "paper" else Shown.measures
    shown = Shown(bundled.walk, bundled.units, bundled.points, bundled.label, measures)
    walk = bundled.walk
    lines = [_listed("own_steps", walk.own_steps), _listed("shared_steps", walk.shared_steps)]
    ends = f"{walk.own_start:.{STEP_DIGITS}g}, {walk.shared_start:.{STEP_DIGITS}g}"
    lines.append(f"walk = Walk(own_steps, shared_steps, {ends}, persistence={phi!r})")
    python = _python("Walk", lines, shown)
    command = _command(python, PACKAGED_MODELS.get(settings.fit))
    return Answer(panels_of(shown), _numbers(shown, bundled), _stream_sentence(bundled), python, command)


def _listed(name: str, values: Array) -> str:
    """Return a line that gives a name to the sizes of all steps."""
    if not values.any():
        return f"{name} = [0.0] * {values.size}"
    return f"{name} = [{', '.join(f'{one:.{STEP_DIGITS}g}' for one in values)}]"


def _python(maker: str, lines: Sequence[str], shown: Shown) -> str:
    """Return lines that make the walk only with public calls and print its numbers in the order of the page."""
    near = [f"walk.{name}[{shown.middle}]" for name in ("correlation", "cosine") if name in shown.measures]
    rest = [
        "walk.rotations[-1]",
        f"walk.path_shares({shown.units})[{PLANE_COMPONENTS - 1}]",
        "walk.participation_ratio",
    ]
    return (
        f"from genlaws.residual_stream.surrogates.walks import {maker}\n\n"
        + "".join(f"{line}\n" for line in lines)
        + f"print({', '.join([*near, *rest])})\n"
    )


def _command(python: str, model: str | None = None) -> str:
    """Return a command for the walk, and one that measures the model if it is a package."""
    walk = f'python -c "{"; ".join(line for line in python.splitlines() if line)}"'
    if model is None:
        return walk
    measured = with_new_file(
        "texts.txt", WRITE_EXAMPLES_CODE.format(count=MEASURED_TEXTS), ANALYZE_COMMAND.format(model=model)
    )
    return f"{walk}\n{measured}"


def _numbers(shown: Shown, bundled: BundledStream | None) -> tuple[Number, ...]:
    """Return the numbers of the walk and of the points."""
    walk, middle = shown.walk, shown.middle
    value, half = _plane(walk, shown.units)
    plane = Estimate(value, value - half, value + half)
    r, cosine, rotations = f"{walk.correlation[middle]:.3f}", f"{walk.cosine[middle]:.3f}", f"{walk.rotations[-1]:.2f}"
    dimensions = f"{walk.participation_ratio:.2f}"
    step, last = middle + 0.5, walk.site_count - 2.0
    covers = "of the mean path; the walk's ± covers 95 % of walks, the other is a 95 % interval"
    alike = "comparable with a walk, whose units are alike"
    rows = [
        ("correlation r in the middle", r, "correlation", step, "of a unit, one site later"),
        ("the same in random axes", r, "correlation_random_axes", step, alike),
        ("cosine in the middle", cosine, "cosine", step, "between a state and the next"),
        ("rotations R", rotations, "rotations", last, "of a unit in its phase portrait, clockwise"),
        ("share in a plane", str(plane), "shares", float(PLANE_COMPONENTS), covers),
        ("dimensions of the path", dimensions, "", 0.0, "participation ratio; 2.5 for a long walk"),
    ]
    found = []
    for name, of_walk, measure, at, meaning in rows:
        known = shown.points.get(measure)
        if measure.startswith("correlation") and known is None:
            continue
        points = "" if known is None else f"; {_point_source(bundled)} {Estimate(*known.at(at))}"
        found.append(Number(name, f"walk {of_walk}{points}", meaning))
    if bundled is not None and not math.isnan(bundled.persistence):
        meaning = "mean cosine between a step and the next; set φ to it to see how much it explains"
        found.append(Number("persistence measured", f"{bundled.persistence:+.2f}", meaning))
    return tuple(found)


def _point_source(bundled: BundledStream | None) -> str:
    return "drawn" if bundled is None else "model"


def _plane(walk: Walk, units: int) -> tuple[float, float]:
    """Return the share of a walk's mean path in a plane, and how far 95 % of walks stray from it."""
    at = PLANE_COMPONENTS - 1
    return float(walk.path_shares(units)[at]), NORMAL * float(walk.path_share_deviations(units)[at])


def _stream_sentence(bundled: BundledStream) -> str:
    """Return what a walk with the model's steps also shows."""
    walk, name = bundled.walk, bundled.label.split(",")[0]
    sentences = [f"Units of {name} rotate {_rotations_sentence(bundled)}"]
    if "shares" in bundled.points:
        share, least, _ = bundled.points["shares"].at(PLANE_COMPONENTS)
        value, half = _plane(walk, bundled.units)
        flat = "more than 95 % of walks show" if least > value + half else "no more than walks show"
        sentences.append(f"A plane holds {share:.0%} of its mean path, of a walk's {value:.0%} ± {half:.0%}: {flat}.")
    if "correlation_random_axes" in bundled.points:
        own, turned = (bundled.points[one] for one in ("correlation", "correlation_random_axes"))
        lacking = (1.0 - float(one.mean()) for one in (own.value, turned.value, walk.correlation))
        sentences.append(
            "Its correlations are {:.3f} below 1 on average, {:.3f} in random axes, the walk's {:.3f}.".format(*lacking)
        )
    return " ".join(sentences)


def _rotations_sentence(bundled: BundledStream) -> str:
    """Return how often units rotate in the model and in the walk, and how far apart that is."""
    rotations, low, high = bundled.points["rotations"].at(bundled.walk.site_count - 2.0)
    expected = float(bundled.walk.rotations[-1])
    counts = f"{rotations:.1f} times, a walk with its steps {expected:.1f}"
    scatter = (high - low) / (2 * NORMAL) * math.sqrt(bundled.units)  # of one unit
    if math.isnan(scatter):
        return (
            f"{counts}: no sign of orbits."
            if rotations < MIN_EXCESS_ROTATIONS * expected
            else f"{counts}: more than a walk."
        )
    apart = (rotations - expected) / scatter
    read = "no sign of orbits" if apart < 1.0 else "more than a walk"
    return f"{counts}, a difference of {abs(apart):.1f} times the scatter of one unit: {read}."


VIEW = View(
    name="residual-stream",
    title="Residual stream",
    question="Which motion of a residual stream does a random walk also show?",
    about="Read layer after layer, the states of a transformer trace a path: neighboring sites are correlated, steps "
    "grow, units rotate, the path looks flat. A random walk with steps of the same sizes also shows all of this, and "
    "its curves are exact. Only what the points of a model show beyond the lines is specific to the model.",
    settings=WalkSettings,
    answer=answer,
)
