"""Every number that a view shows is the one that its lines to copy print; they run as they stand and write no file."""

import json
import random
import shlex
from itertools import cycle, islice, product

import pytest

from copied_lines import numbers_of, printed_by, random_settings
from genlaws.commands import run
from genlaws.explorer import rules_facts
from genlaws.explorer.rules_facts import Settings

CHOICES = [Settings.model_fields[name].annotation.__args__ for name in ("loss", "kernel", "width")]


def rules_facts_settings(count):
    """Return settings over all combinations of loss, kernel and width."""
    rng = random.Random(2)
    for loss, kernel, width in islice(cycle(product(*CHOICES)), count):
        yield random_settings(rules_facts.VIEW, rng, loss=loss, kernel=kernel, width=width)


def test_rules_facts_shows_the_numbers_of_solve(tmp_path):
    for settings in rules_facts_settings(60):
        found = rules_facts.answer(settings)
        rule, fact, strength, least = (float(one) for one in printed_by(found.python, tmp_path).split())
        shown = numbers_of(found)
        assert shown["rule error"] == f"{rule:.4f}", settings
        assert shown["fact error"] == f"{fact:.3f}", settings
        assert shown["regularisation λ"] == f"{strength:.3g}", settings
        assert shown["Bayes-optimal rule error"] == f"{least:.4f}", settings
        marks = {curve.name: curve for panel in found.panels for curve in panel.curves if curve.kind == "mark"}
        assert marks["rule error here"].y == [rule]
        assert marks["fact error here"].y == [fact]
        assert (marks["here"].x, marks["here"].y) == ([rule], [fact])


@pytest.mark.parametrize("settings", [{}, {"loss": "hinge", "kernel": "polynomial"}, {"width": "finite"}], ids=str)
def test_rules_facts_command_gives_the_same(settings, capsys):
    found = rules_facts.answer(Settings(**settings))
    assert run([*shlex.split(found.command)[1:], "--json"]) == 0
    told, shown = json.loads(capsys.readouterr().out), numbers_of(found)
    assert shown["rule error"] == f"{told['generalisation_error']:.4f}"
    assert shown["fact error"] == f"{told['memorisation_error']:.3f}"
    assert shown["regularisation λ"] == f"{told['regularisation']:.3g}"
