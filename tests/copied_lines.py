"""Settings at random, and what lines to copy print when they are run as they stand, in a folder they must not touch."""

import contextlib
import io
import math
import shlex
import sys
from unittest import mock

from genlaws.cli import run


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


@contextlib.contextmanager
def untouched(folder):
    """Work in a folder, of which no file may be added, changed or taken away."""

    def held():
        """Return all files with what they hold."""
        return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    before = held()
    with contextlib.chdir(folder):
        yield
    assert held() == before


def printed_by(python, folder):
    """Return what lines of Python print in a folder."""
    printed = io.StringIO()
    with untouched(folder), contextlib.redirect_stdout(printed):
        exec(compile(python, "copied", "exec"), {})
    return printed.getvalue()


def printed_by_command(command, folder, new):
    """Return what commands print in a folder, one to a line; what a shell would do is done here, in less time.

    They are calls of genlaws or of Python, perhaps after Python has written a file into the folder `new`, as
    `genlaws.render.copied_commands.with_new_file` writes them.
    """
    printed = io.StringIO()
    with untouched(folder), contextlib.redirect_stdout(printed):
        for line in command.splitlines():
            words, made = shlex.split(line, comments=True), ""
            if words[:1] == ["file=$(mktemp"]:
                made = str(new / words[1].removeprefix("-d)/"))
                assert (words[2:5], words[6:8]) == (["&&", "python", "-c"], ["$file", "&&"])
                run_program(words[5], made)
                words = [made if word == "$file" else word for word in words[8:]]
            if words[:2] == ["python", "-c"]:
                run_program(*words[2:])
            elif words:
                assert words[0] == "genlaws"
                assert run(words[1:]) == 0
    return printed.getvalue()


def run_program(program, *arguments):
    """Run what ``python -c`` is given, with its arguments."""
    with mock.patch.object(sys, "argv", ["-c", *arguments]):
        exec(compile(program, "copied", "exec"), {})


def numbers_of(answer):
    """Return the numbers of an answer by name."""
    return {one.name: one.value for one in answer.numbers}
