"""Answers of every view of the explorer: at its defaults, at each choice, and at settings drawn once and for all."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from functools import cache, partial
from urllib.parse import urlencode

from genlaws.core.errors import ConvergenceError, InputError
from genlaws.render import Curve, Panel
from genlaws.web.http_errors import HttpError
from genlaws.web.view import View, properties_of, read_settings
from genlaws.web.views import all_views
from golden.compact import compact_numbers, numbers_in
from golden.store import Case

DRAWN = 50  # settings of each view, beside the defaults and the choices
DIGITS = 4  # of a drawn number, so that it is the same on every machine
QUICK = 5
PLACES = frozenset({"x_place"})


@cache
def cases() -> Mapping[str, Case]:
    """Return the cases of all views by view and number; the controls and the refusals of a view are two cases more."""
    found = {}
    for view in all_views():
        found[f"{view.name}/controls"] = Case("closed", partial(controls, view))
        found[f"{view.name}/refusals"] = Case("closed", partial(refusals, view))
        queries = [{}, *each_choice(view), *drawn(view)]
        # The defaults and the first draws; every choice is asked for by compare.py.
        quick = {0, *range(len(queries) - DRAWN, len(queries) - DRAWN + QUICK - 1)}
        for place, query in enumerate(queries):
            found[f"{view.name}/{place:02d}"] = Case("solved", partial(answer, view, query), PLACES, place in quick)
    return found


def each_choice(view: View) -> list[dict[str, object]]:
    """Return each value of each choice, and each state of each switch, with the other settings at their defaults."""
    choices = {name: values_of(schema) for name, schema in properties_of(view.settings).items()}
    return [{name: value} for name, values in choices.items() for value in values]


def drawn(view: View) -> list[dict[str, object]]:
    """Return settings drawn over all controls; in turn, one slider has the choices with which it matters."""
    properties = properties_of(view.settings)
    sliders = [schema for schema in properties.values() if schema["control"]["kind"] == "slider"]
    source = random.Random(0)
    found = []
    for place in range(DRAWN):
        query = {name: draw(schema, source) for name, schema in properties.items()}
        found.append(query | sliders[place % len(sliders)]["control"]["when"])
    return found


def draw(schema: Mapping, source: random.Random) -> object:
    """Return one value of a control, as an address writes it."""
    if values := values_of(schema):
        return values[source.randrange(len(values))]
    low, high = schema["minimum"], schema["maximum"]
    share = source.random()
    if schema["type"] == "integer":
        return low + int(share * (high - low + 1))
    logarithmic = schema["control"]["log"]
    value = low * math.pow(high / low, share) if logarithmic else low + share * (high - low)
    return min(max(float(f"{value:.{DIGITS}g}"), low), high)


def values_of(schema: Mapping) -> Sequence[str]:
    """Return the values of a choice or a switch, and nothing for a slider."""
    if schema["type"] == "boolean":
        return ["true", "false"]
    return schema.get("enum", [])


def controls(view: View) -> dict[str, object]:
    """Return the settings of a view in the order of the page, with their range and how they are changed."""
    kept = ("type", "default", "minimum", "maximum", "enum", "control")
    properties = properties_of(view.settings)
    return {
        "order": list(properties),
        "settings": {name: {key: schema[key] for key in kept if key in schema} for name, schema in properties.items()},
    }


def refusals(view: View) -> list[object]:
    """Return how a view refuses numbers beyond their range, a choice that there is not, and an unknown setting."""
    found = []
    for name, schema in properties_of(view.settings).items():
        wrong = ["nowhere"] if "maximum" not in schema else [schema["minimum"] - 1, schema["maximum"] + 1, "nan"]
        found += [answer(view, {name: value}) for value in wrong]
    return [*found, answer(view, {"nowhere": 1})]


def answer(view: View, query: Mapping[str, object]) -> dict[str, object]:
    """Return the numbers and curves that a view answers to a query, or how it refuses."""
    try:
        settings = read_settings(view, urlencode(query))
        answered = view.answer(settings)
    except HttpError as error:
        return {"query": dict(query), "refused": "HttpError", "status": error.status, "setting": error.setting}
    except (InputError, ConvergenceError) as error:
        return {"query": dict(query), "refused": type(error).__name__}
    return {
        "settings": settings.model_dump(mode="json"),
        "numbers": [[f"label: {one.name}", f"value: {one.value}", numbers_in(one.value)] for one in answered.numbers],
        "panels": [panel_of(panel) for panel in answered.panels],
    }


def panel_of(panel: Panel) -> dict[str, object]:
    """Return a picture as its name, axes and curves."""
    drawn_panel = panel.to_json()
    return {
        "name": panel.name,
        "axes": [[drawn_panel[axis]["log"], drawn_panel[axis]["range"]] for axis in ("x", "y")],
        "curves": [curve_of(curve) for curve in panel.curves],
    }


def curve_of(curve: Curve) -> dict[str, object]:
    """Return a curve as its name, kind and length, and its values in compact form.

    A vertical line marks a place, such as that of an optimum.
    """
    across = "x_place" if len(curve.x) > 1 and len(set(curve.x)) == 1 else "x"
    values = {across: curve.x, "y": curve.y, "low": curve.low, "high": curve.high}
    return {
        "name": curve.name,
        "kind": curve.kind,
        "length": len(curve.x),
        **{key: compact_numbers([float(one) for one in held]) for key, held in values.items() if held is not None},
    }
