"""Every number that a view shows is the one that its lines to copy print; they run as they stand and write no file."""

import json
import random
import re
import shlex
from itertools import cycle, islice, product

import pytest

from copied_lines import numbers_of, printed_by, printed_by_command, random_settings
from genlaws.cli import run
from genlaws.web.views import relations, residual_stream, rules_facts, semanticity
from genlaws.web.views.rules_facts import TheorySettings

CHOICES = [TheorySettings.model_fields[name].annotation.__args__ for name in ("loss", "kernel", "width")]


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
        assert shown["generalization error"] == f"{rule:.4f}", settings
        assert shown["memorization error"] == f"{fact:.3f}", settings
        assert shown["regularization λ"] == f"{strength:.3g}", settings
        assert shown["Bayes-optimal generalization error"] == f"{least:.4f}", settings
        marks = {curve.name: curve for panel in found.panels for curve in panel.curves if curve.kind == "mark"}
        assert marks["generalization error here"].y == [rule]
        assert marks["memorization error here"].y == [fact]
        assert (marks["here"].x, marks["here"].y) == ([rule], [fact])


@pytest.mark.parametrize("settings", [{}, {"loss": "hinge", "kernel": "polynomial"}, {"width": "finite"}], ids=str)
def test_rules_facts_command_gives_the_same(settings, capsys):
    found = rules_facts.answer(TheorySettings(**settings))
    assert run([*shlex.split(found.command)[1:], "--json"]) == 0
    reported, shown = json.loads(capsys.readouterr().out)["result"], numbers_of(found)
    assert shown["generalization error"] == f"{reported['generalization_error']:.4f}"
    assert shown["memorization error"] == f"{reported['memorization_error']:.3f}"
    assert shown["regularization λ"] == f"{reported['regularization']:.3g}"


def test_semanticity_shows_the_numbers_of_its_lines(tmp_path):
    rng = random.Random(6)
    for place in range(60):
        chosen = ("circle", "sphere", "torus", "hypercube", "tree", "circle", "segment")[place % 7]
        settings = random_settings(semanticity.VIEW, rng, space=chosen, item_count=rng.choice((2, 5, 40)))
        found = semanticity.answer(settings)
        shown, reported = numbers_of(found), {one.name: one.meaning for one in found.numbers}
        *points, best = (
            dict(re.findall(r"(\w+)=([^,)]+)", line)) for line in printed_by(found.python, tmp_path).split("\n")[:-1]
        )
        assert len(points) == ("Generalization p_S" in shown)
        for one in points:
            assert shown["Generalization p_S"] == f"{float(one['generalization']):.4f}"
            assert shown["Identification p_I"] == f"{float(one['identification']):.4f}"
            assert shown["Ball mass b"] == f"{float(one['ball_mass']):.4g}"
            assert shown["Collapse constant c"] == f"{float(one['collapse_constant']):.4g}"
            assert reported["Resolution ε"].endswith(f"as a distance it is {float(one['resolution']):.4g}")
        if not best:
            assert shown["Best resolution"] == shown["Best generalization"] == "none"
            continue
        radius = float(best["resolution"])
        assert shown["Best resolution"] == f"{radius / semanticity.query_of(settings).where().reach:.4g}", settings
        assert reported["Best resolution"].endswith(f"as a distance it is {radius:.4g}"), settings
        assert shown["Best generalization"] == f"{float(best['generalization']):.4f}"


@pytest.mark.parametrize("fit", ["SmolLM2", "MiniLM", "stories260K", "paper", "none"])
def test_residual_stream_shows_the_numbers_of_its_lines(fit, tmp_path, tmp_path_factory):
    rng = random.Random(8)
    for _ in range(4):
        settings = random_settings(residual_stream.VIEW, rng, fit=fit)
        found = residual_stream.answer(settings)
        assert "genlaws.web" not in found.python  # public calls alone
        printed = printed_by(found.python, tmp_path)
        first = found.command.splitlines()[0]
        assert printed_by_command(first, tmp_path, tmp_path_factory.mktemp("new")) == printed
        names = ("correlation r in the middle", "cosine in the middle", "rotations R", "share in a plane")
        digits = dict(zip((*names, "dimensions of the path"), (3, 3, 2, None, 2), strict=True))
        shown = {name: value.partition(";")[0].removeprefix("walk ") for name, value in numbers_of(found).items()}
        walk = [(shown[name], some) for name, some in digits.items() if name in shown]
        assert len(walk) == len(printed.split()) == (4 if fit == "paper" else 5)
        for (text, some), number in zip(walk, printed.split(), strict=True):
            value = text.partition(" ")[0]
            places = len(value.partition(".")[2]) if some is None else some
            assert value == f"{float(number):.{places}f}", settings


ENTRYWISE = ("binary-tree", "divisibility")


@pytest.mark.parametrize("relation", ["modulo", "less-than", "bipartite", *ENTRYWISE])
def test_relations_shows_the_numbers_of_its_lines_about_data(relation, tmp_path, tmp_path_factory):
    rng = random.Random(9)
    settings = random_settings(
        relations.VIEW, rng, question=relations.DATA_QUESTION, relation=relation, element_count=11
    )
    found = relations.answer(settings)
    shown = numbers_of(found)
    bits, accuracy, needed = printed_by(found.python, tmp_path).splitlines()
    assert shown["description length"] == f"{float(bits):.2f} bits"
    assert shown["average over its class" if relation in ENTRYWISE else "best accuracy"] == accuracy
    assert shown["share needed for the target"] == needed
    if relation == "less-than":  # takes seconds, and its command is written as that of modulo
        return
    reported = printed_by_command(found.command, tmp_path, tmp_path_factory.mktemp("new"))
    assert accuracy in reported
    assert needed in reported


@pytest.mark.parametrize("update", ["flow", "sign"])
def test_relations_shows_the_numbers_of_its_lines_about_merging(update, tmp_path, tmp_path_factory):
    rng = random.Random(10)
    for _ in range(12):
        given = {"update": update, "dimension": rng.choice((1, 2)) if update == "flow" else 1}
        found = relations.answer(random_settings(relations.VIEW, rng, question=relations.MERGING_QUESTION, **given))
        shown = numbers_of(found)
        chance, merges, *critical = printed_by(found.python, tmp_path).splitlines()
        assert shown["collision probability"] == f"{float(chance):.4f}"
        assert shown["this pair"] == ("merges" if merges == "True" else "stays apart")
        if update == "flow":
            assert [shown["critical ratio of the rates"]] == ([f"{float(one):.4g}" for one in critical] or ["none"])
        reported = printed_by_command(found.command, tmp_path, tmp_path_factory.mktemp("new"))
        assert f"{float(chance):.6f}" in reported
