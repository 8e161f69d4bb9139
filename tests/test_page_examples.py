"""The examples of the pages print what the pages show."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
EXAMPLE = re.compile(r"```python\n(.*?)```\n+```text\n(.*?)```", re.S)
NUMBER = re.compile(r"-?\d+\.?\d*")
# Errors are shares of wrong signs: on another machine rounding may turn a few of a thousand around. Networks trained
# there end as close to these.
LIKENESS = 0.005


def examples():
    for page in ("finite_size", "ensembles", "semanticity_networks", "probes"):
        for number, (code, shown) in enumerate(EXAMPLE.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))):
            yield pytest.param(code, shown, id=f"{page}-{number}")


@pytest.mark.parametrize(("code", "shown"), list(examples()))
def test_example_prints_what_the_page_shows(code, shown):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example", "exec"), {})
    words = [NUMBER.sub("", text).split() for text in (printed.getvalue(), shown)]
    assert words[0] == words[1]
    numbers = [[float(one) for one in NUMBER.findall(text)] for text in (printed.getvalue(), shown)]
    assert numbers[0] == pytest.approx(numbers[1], abs=LIKENESS)


def test_examples_are_found():
    assert len(list(examples())) == 6
