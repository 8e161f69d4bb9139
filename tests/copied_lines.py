"""Settings at random, and what the lines to copy print when they are run as they stand in an empty folder."""

import contextlib
import io
import math


def random_settings(view, rng, **fixed):
    """Return settings of a view, each drawn over its whole range, as a reader could type them."""
    drawn = {}
    for name, schema in view.settings.model_json_schema()["properties"].items():
        if "enum" in schema:
            drawn[name] = rng.choice(schema["enum"])
            continue
        low, high = schema["minimum"], schema["maximum"]
        if schema["type"] == "integer":
            drawn[name] = rng.randint(low, high)
            continue
        log = schema["control"]["log"]
        value = 10 ** rng.uniform(math.log10(low), math.log10(high)) if log else rng.uniform(low, high)
        drawn[name] = min(max(float(f"{value:.4g}"), low), high)
    return view.settings(**{**drawn, **fixed})


def printed_by(python, folder):
    """Return the words that lines of Python print in an empty folder, which they must leave empty."""
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(python, "copied", "exec"), {})
    assert list(folder.iterdir()) == []
    return printed.getvalue()


def numbers_of(answer):
    """Return the numbers of an answer by name."""
    return {one.name: one.value for one in answer.numbers}
