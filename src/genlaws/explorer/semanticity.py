"""The view on semanticity: what a resolution gives in generalisation and costs in identification."""

from __future__ import annotations

from typing import Literal

from genlaws.explorer.controls import ViewSettings, choice, slider
from genlaws.explorer.semanticity_panels import front_panel, items_panel, resolution_panel
from genlaws.explorer.semanticity_theory import Asked, asked_point, whole_front
from genlaws.explorer.view import Answer, Number, View
from genlaws.semanticity import FrontPoint

AS_GOOD = 1e-5  # a generalisation this close to the best one is the best one for a reader


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
        about="Large: it ends soon.",
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
    background: float = slider(
        0.0, 0.0, 0.5, "Background Δ", step=0.005, about="Similarity that is left at every distance."
    )
    item_count: int = slider(2, 2, 100, "Number of items n", step=1, about="How many things there are to choose from.")


def answer(settings: FrontSettings) -> Answer:
    """Return the front of the space and the similarity, and what the chosen resolution gives."""
    asked = asked_of(settings)
    here, best = asked_point(asked), whole_front(asked.without_resolution()).best
    return Answer(
        (front_panel(asked), resolution_panel(asked), items_panel(asked)),
        _numbers(asked, here, best),
        _sentence(asked, here, best),
        _python(asked),
        _command(asked),
    )


def asked_of(settings: FrontSettings) -> Asked:
    """Return the settings that matter, rounded to the steps of their sliders."""
    sizes = {
        "sphere": (settings.sphere_dimension,),
        "torus": (settings.torus_dimension,),
        "hypercube": (settings.hypercube_dimension,),
        "tree": (settings.branching, settings.depth),
    }
    exponent = round(settings.exponent, 3) if settings.similarity == "power-law" else None
    return Asked(
        settings.space,
        sizes.get(settings.space, ()),
        settings.similarity,
        exponent,
        float(f"{settings.resolution:.4g}"),
        round(settings.background, 5),
        settings.item_count,
    )


def _numbers(asked: Asked, here: FrontPoint | None, best: FrontPoint | None) -> tuple[Number, ...]:
    n, reach = asked.item_count, asked.where().reach
    known = () if here is None else _numbers_here(here)
    best_unit = (
        "none if it keeps growing as the resolution gets finer or coarser"
        if best is None
        else _as_distance(best.resolution, reach)
    )
    return (
        *known,
        Number("Chance", f"{1 / n:.4f}", f"guessing among {n} items"),
        Number("Resolution ε", f"{asked.share:.4g}", _as_distance(asked.radius(), reach)),
        Number(
            "Best resolution",
            "none" if best is None else f"{best.resolution / reach:.4g}",
            f"where generalisation is largest; {best_unit}",
        ),
        Number(
            "Best generalisation",
            "none" if best is None else f"{best.generalisation:.4f}",
            f"with {n} items in this space and with this similarity",
        ),
    )


def _as_distance(radius: float, reach: float) -> str:
    """Say in which unit a resolution is shown, and what it is in that of the similarity."""
    return f"as a share of the largest distance, {reach:.4g}; as a distance it is {radius:.4g}"


def _numbers_here(here: FrontPoint) -> tuple[Number, ...]:
    return (
        Number("Generalisation p_S", f"{here.generalisation:.4f}", "how often the nearest item is chosen"),
        Number("Identification p_I", f"{here.identification:.4f}", "how often the original of a copy is chosen"),
        Number("Ball mass b", f"{here.ball_mass:.4g}", "share of the space within one resolution of a probe"),
        Number("Collapse constant c", f"{here.collapse_constant:.4g}", "identification tends to c/n for many items n"),
    )


def _sentence(asked: Asked, here: FrontPoint | None, best: FrontPoint | None) -> str:
    if here is None:
        return (
            "Without a background this similarity falls too far over the space to be computed at so fine a resolution; "
            "both probabilities tend to 1 there. Give it a background, or choose a coarser resolution."
        )
    first = (
        f"With {asked.item_count} items on the {asked.space} the one nearest to a new probe is chosen "
        f"{here.generalisation:.1%} of the time, the original of a copied probe {here.identification:.1%}. "
    )
    if best is None:
        return first + "Generalisation has no peak here, so there is nothing to trade."
    if best.generalisation - here.generalisation < AS_GOOD:
        return first + "No other resolution generalises better."
    if here.resolution < best.resolution:
        return first + "This is finer than the best resolution: coarser generalises better, but identifies worse."
    return first + "This is coarser than the best resolution: finer, up to the best, does both better."


def _python(asked: Asked) -> str:
    sizes = "".join(f", {name}={value}" for name, value in asked.named_sizes().items())
    floor = f", background={asked.background!r}" if asked.background else ""
    power = "" if asked.exponent is None else f", exponent={asked.exponent!r}"
    n = asked.item_count
    point = "" if asked.too_steep() else f"print(semanticity.point_on_curve(space, similarity, {n}))\n"
    return (
        "from genlaws import semanticity\n\n"
        f'space = semanticity.space("{asked.space}"{sizes})\n'
        f'similarity = semanticity.similarity("{asked.similarity}", {asked.radius()!r}{floor}{power})\n'
        f"{point}"
        f"print(semanticity.best_on_curve(space, similarity, {n}))\n"
    )


def _command(asked: Asked) -> str:
    sizes = "".join(f" --{name} {value}" for name, value in asked.named_sizes().items())
    floor = f" --background {asked.background!r}" if asked.background else ""
    power = "" if asked.exponent is None else f" --exponent {asked.exponent!r}"
    return (
        f"genlaws semanticity front --space {asked.space}{sizes} --similarity {asked.similarity}{power} "
        f"--resolution {asked.radius()!r}{floor} --items {asked.item_count}"
    )


VIEW = View(
    name="semanticity",
    title="Semanticity",
    question="How finely should a representation tell things apart?",
    about="A representation that sees two things as alike cannot tell them apart; one that tells everything apart does "
    "not know what is near to what. Between the two lies a resolution. The front shows what each resolution gives in "
    "generalisation, choosing the item nearest to a new probe, and costs in identification, naming the original of a "
    "copy. It belongs to one similarity and to Luce's choice rule, and is no bound on every system.",
    settings=FrontSettings,
    answer=answer,
)
