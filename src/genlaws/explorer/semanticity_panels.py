"""The three pictures of the view on semanticity."""

from __future__ import annotations

from collections.abc import Sequence

from genlaws.explorer.semanticity_runs import Run, language_model, relu_networks, simulated_choices
from genlaws.explorer.semanticity_theory import Asked, asked_point, constant_front, many_items, whole_front
from genlaws.panels import Curve, Panel
from genlaws.semanticity import FrontPoint

COLOURS = {
    "constant": "blue",
    "linear": "vermillion",
    "exponential": "green",
    "gaussian": "purple",
    "power-law": "orange",
}
GENERALISATION, IDENTIFICATION = "green", "purple"
SHARES = (0.004, 12.0)  # of the largest distance, that are shown
COARSEST_NETWORK = 3.0  # a profile that looks coarser is flat and has no resolution
LEAST_SHOWN = 5e-4  # probability, on a logarithmic axis
ITEMS = (1.7, 1100.0)
ROOM = 1.04


def front_panel(asked: Asked) -> Panel:
    """Return generalisation against identification, with the chosen point and runs."""
    found, here, n = whole_front(asked.without_resolution()), asked_point(asked), asked.item_count
    curve = found.curve
    floor = f", Δ = {asked.background:g}" if asked.background else ""
    curves = [
        Curve(
            f"{asked.similarity}{floor}, {asked.space}",
            "theory",
            curve.identification[:, 0].tolist(),
            curve.generalisation[:, 0].tolist(),
            COLOURS[asked.similarity],
            notes=[f"ε = {share:.3g}" for share in (curve.resolution / asked.where().reach).tolist()],
        )
    ]
    if asked.similarity != "constant" or asked.background or not asked.where().homogeneous:
        s, i = constant_front(n)
        curves.append(Curve("constant, homogeneous, Δ = 0", "paper", i.tolist(), s.tolist(), "blue"))
    curves.append(Curve("chance", "chance", [1 / n, 1 / n, 1.0], [1.0, 1 / n, 1 / n], "grey"))
    curves += [
        Curve(
            name, "run", *_columns(runs, "identification", "generalisation"), colour, notes=[one.note for one in runs]
        )
        for name, runs, colour in _runs(asked)
    ]
    if here is not None:
        curves.append(Curve("your resolution", "mark", [here.identification], [here.generalisation], "ink"))
    low = 1 / n - (ROOM - 1) * (1 - 1 / n)
    return Panel(
        "semanticity-front",
        "The front: generalisation against identification",
        "identification p_I (probability)",
        "generalisation p_S (probability)",
        tuple(curves),
        x_range=(low, 1.0 + (ROOM - 1)),
        y_range=(low, min(1.0, _highest(curves)) * ROOM),
        caption="Each point of a line is one resolution: fine on the right, coarse at the lower left. A front belongs "
        f"to its similarity, so points may lie above the dashed one. {_about_runs(asked)}",
    )


def resolution_panel(asked: Asked) -> Panel:
    """Return both tests against the resolution, with the best one."""
    found, here, n = whole_front(asked.without_resolution()), asked_point(asked), asked.item_count
    reach = asked.where().reach
    shares = (found.curve.resolution / reach).tolist()
    tests = [getattr(found.curve, name)[:, 0].tolist() for name in ("generalisation", "identification")]
    if shares[-1] < SHARES[1]:  # a constant similarity sees all alike beyond the largest distance
        shares, tests = [*shares, SHARES[1]], [[*one, one[-1]] for one in tests]
    curves = [
        Curve("generalisation p_S", "theory", shares, tests[0], GENERALISATION),
        Curve("identification p_I", "theory", shares, tests[1], IDENTIFICATION),
        Curve("chance", "chance", list(SHARES), [1 / n, 1 / n], "grey"),
    ]
    if found.best is not None:
        at = found.best.resolution / reach
        curves.append(Curve("best resolution", "paper", [at, at], [1 / n, found.best.generalisation], "ink"))
    for name, runs, networks in _runs(asked, linear_only=True):
        shown = [one for one in runs if SHARES[0] <= one.share <= COARSEST_NETWORK]
        colours = ("sky", "orange") if networks == "sky" else (GENERALISATION, IDENTIFICATION)
        for test, symbol, colour in zip(("generalisation", "identification"), ("p_S", "p_I"), colours, strict=True):
            y, low, high = _test(shown, test)
            x, notes = [one.share for one in shown], [one.note for one in shown]
            curves.append(Curve(f"{symbol}, {name}", "run", x, y, colour, low, high, notes))
    if here is not None:
        both = [here.generalisation, here.identification]
        curves.append(Curve("your resolution", "mark", [asked.share] * 2, both, "ink"))
    return Panel(
        "semanticity-resolution",
        "Both tests against the resolution",
        "resolution ε, as a share of the largest distance",
        "probability of the right choice",
        tuple(curves),
        x_log=True,
        x_range=SHARES,
        y_range=(0.0, ROOM),
        caption="A coarser resolution costs identification. Generalisation is best in between, or at the finest "
        f"resolution if there is no background and the similarity never ends. {_about_runs(asked, linear_only=True)}",
    )


def items_panel(asked: Asked) -> Panel:
    """Return both tests against the number of items at the chosen resolution, the collapse, and a language model."""
    here = asked_point(asked)
    curves = [] if here is None else _theory_of_items(asked, here)
    for test, symbol, colour in (("generalisation", "p_S", GENERALISATION), ("identification", "p_I", IDENTIFICATION)):
        counts, value, low, high = (list(part) for part in zip(*language_model(test), strict=True))
        curves.append(Curve(f"{symbol}, SmolLM2 on years", "run", counts, value, colour, low, high))
    if here is not None:
        both = [here.generalisation, here.identification]
        curves.append(Curve("your number of items", "mark", [asked.item_count] * 2, both, "ink"))
    return Panel(
        "semanticity-items",
        "Many items: the collapse",
        "number of items n",
        "probability of the right choice",
        tuple(curves),
        x_log=True,
        y_log=True,
        x_range=ITEMS,
        y_range=(LEAST_SHOWN, 1.2),
        caption="With many items identification falls as c/n, whatever the similarity. The points are a language model "
        "asked who was born closest to or in a year, with 400 questions each; it has a similarity of its own, "
        "independent of the sliders.",
    )


def _theory_of_items(asked: Asked, here: FrontPoint) -> list[Curve]:
    found = many_items(asked.without_items())
    n = found.item_count.tolist()
    law = [min(here.collapse_constant / one, 1.0) for one in n]
    return [
        Curve("generalisation p_S", "theory", n, found.generalisation[0].tolist(), GENERALISATION),
        Curve("identification p_I", "theory", n, found.identification[0].tolist(), IDENTIFICATION),
        Curve("collapse c/n", "paper", n, law, "ink"),
        Curve("chance 1/n", "chance", n, [1 / one for one in n], "grey"),
    ]


def _runs(asked: Asked, linear_only: bool = False) -> list[tuple[str, list[Run], str]]:
    """Return sets of runs that may stand beside these settings; networks have a resolution only if taken as linear."""
    networks = relu_networks(asked) if asked.similarity == "linear" or not linear_only else []
    named = [("simulated choices", simulated_choices(asked), "ink"), ("ReLU networks", networks, "sky")]
    return [(name, runs, colour) for name, runs, colour in named if runs]


def _about_runs(asked: Asked, linear_only: bool = False) -> str:
    names = [name for name, _, _ in _runs(asked, linear_only)]
    words = {
        "simulated choices": "Simulated choices have exactly these settings.",
        "ReLU networks": "The networks of the paper learned their own similarity on 50 places of this space; their "
        "resolution is that of the linear one closest to it.",
    }
    return " ".join(words[name] for name in names) or "No runs were made with these settings."


def _columns(runs: Sequence[Run], across: str, up: str) -> tuple[list[float], list[float]]:
    return _test(runs, across)[0], _test(runs, up)[0]


def _test(runs: Sequence[Run], name: str) -> tuple[list[float], list[float], list[float]]:
    value, low, high = ([getattr(one, name)[part] for one in runs] for part in range(3))
    return value, low, high


def _highest(curves: Sequence[Curve]) -> float:
    """Return the largest height of what is not chance, with some room above."""
    return 1.03 * max(max(one.y) for one in curves if one.kind != "chance")
