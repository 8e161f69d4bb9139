"""The view on the residual stream: which motion of its states would a random walk show too?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from genlaws.explorer.controls import ViewSettings, choice, slider
from genlaws.explorer.residual_stream_drawn import drawn_points
from genlaws.explorer.residual_stream_kept import KeptStream, kept_stream
from genlaws.explorer.residual_stream_panels import COMPONENTS, Shown, panels_of
from genlaws.explorer.view import Answer, Number, View
from genlaws.numerics.arguments import Array
from genlaws.numerics.intervals import Estimate
from genlaws.panels.copied_commands import with_new_file
from genlaws.residual_stream.beside_walk import NORMAL
from genlaws.residual_stream.example_texts import WRITING
from genlaws.residual_stream.walks import Walk, geometric_walk

FREE = {"fit": "none"}
UNUSUAL = 1.2  # times the turns of a walk that are called more, where no scatter is known
PACKAGED = {"SmolLM2": "smollm2", "MiniLM": "minilm"}
KEPT_TEXTS = 120  # with which the models were measured
ANALYSED = (
    'genlaws residual-stream analyse {model} --texts "$file" --measures paths,correlations,dimensions,rotations '
    "--surrogates random-walk,step-signs,basis-rotation"
)
STEP_DIGITS = 8  # of the sizes of steps in lines to copy: more than the page shows of what follows from them


class WalkSettings(ViewSettings):
    """A walk of one's own, or one with the steps of a model."""

    fit: Literal["SmolLM2", "MiniLM", "stories260K", "paper", "none"] = choice(
        "SmolLM2",
        "Steps taken from",
        about="A model measured before, whose points are shown beside a walk with steps of the same sizes; the paper's "
        "Llama 3.1 8B as far as its figures tell; or none, for a walk of your own.",
    )
    persistence: float = slider(
        0.0, -0.6, 0.9, "Persistence of steps φ", step=0.05, about="Correlation of a step with the next; 0 for a walk."
    )
    sites: int = slider(64, 8, 128, "Number of sites L", step=1, when=FREE, about="Places where the stream is read.")
    growth: float = slider(
        20.0, 0.1, 1000.0, "Growth of steps", log=True, step=0.1, when=FREE, about="Last step over the first."
    )
    start: float = slider(
        1.0, 0.1, 100.0, "Start, in first steps", log=True, step=0.1, when=FREE, about="Size of the first state."
    )
    shared: float = slider(
        0.5, 0.0, 1.0, "Share of common drift", step=0.05, when=FREE, about="Part of each step that all texts share."
    )
    units: int = slider(
        512,
        64,
        1024,
        "Number of units n",
        step=64,
        when=FREE,
        about="Dimensions of the stream; few make paths flatter.",
    )


def answer(settings: WalkSettings) -> Answer:
    """Return the walk's curves beside the points of a model, or of a walk drawn with the same settings."""
    return _drawn(settings) if settings.fit == "none" else _fitted(settings)


def _drawn(settings: WalkSettings) -> Answer:
    """Return a walk of the reader's own, exact and drawn once."""
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
        f"A random walk alone has neighbouring sites correlated by {walk.correlation[middle]:.2f} in the middle, "
        f"{shares[COMPONENTS - 1]:.0%} of its mean path in a plane and {walk.turns[-1]:.1f} turns of each unit. "
        "A stream that shows as much shows no more than its step sizes."
    )
    options = ", ".join(f"{name}={value!r}" for name, value in given.items())
    lines = [f"walk = geometric_walk({settings.sites}, {options})"]
    python = _python("geometric_walk", lines, shown)
    return Answer(panels_of(shown), _numbers(shown, None), sentence, python, _command(python))


def _fitted(settings: WalkSettings) -> Answer:
    """Return a model beside the walk with its steps."""
    phi = round(settings.persistence, 4)
    kept = kept_stream(settings.fit, phi)
    measures = ("cosine", "size", "step_size", "shares", "turns") if settings.fit == "paper" else Shown.measures
    shown = Shown(kept.walk, kept.units, kept.points, kept.label, measures)
    walk = kept.walk
    lines = [_listed("own_steps", walk.own_steps), _listed("shared_steps", walk.shared_steps)]
    ends = f"{walk.own_start:.{STEP_DIGITS}g}, {walk.shared_start:.{STEP_DIGITS}g}"
    lines.append(f"walk = Walk(own_steps, shared_steps, {ends}, persistence={phi!r})")
    python = _python("Walk", lines, shown)
    command = _command(python, PACKAGED.get(settings.fit))
    return Answer(panels_of(shown), _numbers(shown, kept), _verdict(kept), python, command)


def _listed(name: str, values: Array) -> str:
    """Return a line that gives a name to the sizes of all steps."""
    if not values.any():
        return f"{name} = [0.0] * {values.size}"
    return f"{name} = [{', '.join(f'{one:.{STEP_DIGITS}g}' for one in values)}]"


def _python(maker: str, lines: Sequence[str], shown: Shown) -> str:
    """Return lines that make the walk with public calls alone and print its numbers in the order of the page."""
    near = [f"walk.{name}[{shown.middle}]" for name in ("correlation", "cosine") if name in shown.measures]
    rest = ["walk.turns[-1]", f"walk.path_shares({shown.units})[{COMPONENTS - 1}]", "walk.participation_ratio"]
    return (
        f"from genlaws.residual_stream.walks import {maker}\n\n"
        + "".join(f"{line}\n" for line in lines)
        + f"print({', '.join([*near, *rest])})\n"
    )


def _command(python: str, model: str | None = None) -> str:
    """Return a command for the walk, and one that measures the model where it comes as a package."""
    walk = f'python -c "{"; ".join(line for line in python.splitlines() if line)}"'
    if model is None:
        return walk
    measured = with_new_file("texts.txt", WRITING.format(count=KEPT_TEXTS), ANALYSED.format(model=model))
    return f"{walk}\n{measured}"


def _numbers(shown: Shown, kept: KeptStream | None) -> tuple[Number, ...]:
    """Return the numbers of the walk, and of the points beside them."""
    walk, middle = shown.walk, shown.middle
    value, half = _plane(walk, shown.units)
    plane = Estimate(value, value - half, value + half)
    rows = [
        (
            "correlation r in the middle",
            f"{walk.correlation[middle]:.3f}",
            "correlation",
            middle + 0.5,
            "of a unit, one site later",
        ),
        (
            "the same in random axes",
            f"{walk.correlation[middle]:.3f}",
            "correlation_turned",
            middle + 0.5,
            "what compares with a walk, whose units are alike",
        ),
        ("cosine in the middle", f"{walk.cosine[middle]:.3f}", "cosine", middle + 0.5, "between a state and the next"),
        ("turns R", f"{walk.turns[-1]:.2f}", "turns", walk.site_count - 2.0, "of a unit's portrait, clockwise"),
        (
            "share in a plane",
            str(plane),
            "shares",
            float(COMPONENTS),
            "of the mean path; the walk's ± covers 95 % of walks, the other is a 95 % interval",
        ),
        (
            "dimensions of the path",
            f"{walk.participation_ratio:.2f}",
            "",
            0.0,
            "participation ratio; 2.5 for a long walk",
        ),
    ]
    found = []
    for name, of_walk, measure, at, meaning in rows:
        known = shown.points.get(measure)
        if measure.startswith("correlation") and known is None:
            continue
        beside = "" if known is None else f"; {_owner(kept)} {Estimate(*known.at(at))}"
        found.append(Number(name, f"walk {of_walk}{beside}", meaning))
    if kept is not None and not math.isnan(kept.persistence):
        meaning = "mean cosine between a step and the next; set φ to it to see how much it explains"
        found.append(Number("persistence measured", f"{kept.persistence:+.2f}", meaning))
    return tuple(found)


def _owner(kept: KeptStream | None) -> str:
    return "drawn" if kept is None else "model"


def _plane(walk: Walk, units: int) -> tuple[float, float]:
    """Return the share of a walk's mean path in a plane, and how far 95 % of walks stray from it."""
    at = COMPONENTS - 1
    return float(walk.path_shares(units)[at]), NORMAL * float(walk.path_share_deviations(units)[at])


def _verdict(kept: KeptStream) -> str:
    """Say what of the model a walk with its steps shows too."""
    walk, name = kept.walk, kept.label.split(",")[0]
    sentences = [f"{name} turns {_turning(kept)}"]
    if "shares" in kept.points:
        share, least, _ = kept.points["shares"].at(COMPONENTS)
        value, half = _plane(walk, kept.units)
        flat = "more than 95 % of walks show" if least > value + half else "no more than walks show"
        sentences.append(f"A plane holds {share:.0%} of its mean path, of a walk's {value:.0%} ± {half:.0%}: {flat}.")
    if "correlation_turned" in kept.points:
        own, turned = (kept.points[one] for one in ("correlation", "correlation_turned"))
        lacking = (1.0 - float(one.mean()) for one in (own.value, turned.value, walk.correlation))
        sentences.append(
            "Of 1 its correlations lack {:.3f} on average, {:.3f} in random axes, the walk's {:.3f}.".format(*lacking)
        )
    return " ".join(sentences)


def _turning(kept: KeptStream) -> str:
    """Say how often units turn, in the model and in the walk, and how far that is apart."""
    turns, low, high = kept.points["turns"].at(kept.walk.site_count - 2.0)
    expected = float(kept.walk.turns[-1])
    told = f"{turns:.1f} times, a walk with its steps {expected:.1f}"
    scatter = (high - low) / (2 * NORMAL) * math.sqrt(kept.units)  # of one unit
    if math.isnan(scatter):
        return f"{told}: no sign of orbits." if turns < UNUSUAL * expected else f"{told}: more than a walk."
    apart = (turns - expected) / scatter
    read = "no sign of orbits" if apart < 1.0 else "more than a walk"
    return f"{told}, which is {abs(apart):.1f} of the scatter of one unit apart: {read}."


VIEW = View(
    name="residual-stream",
    title="Residual stream",
    question="Which motion of a residual stream would a random walk show too?",
    about="Read layer after layer, the states of a transformer trace a path: neighbouring sites are correlated, steps "
    "grow, units turn, the path looks flat. A random walk with steps of the same sizes shows all of this as well, and "
    "its curves are exact. What the points of a model show beyond the lines is the model's own.",
    settings=WalkSettings,
    answer=answer,
)
