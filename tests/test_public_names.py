"""Every public name has one kind, what answers is a question, and every command is made from one."""

import inspect
import re
import sys
from importlib import import_module
from pkgutil import walk_packages

import pytest

import genlaws
from genlaws.cli.commands import app
from genlaws.core.result import QUESTIONS, Result
from project_paths import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
from public_names import (
    CONSTANT,
    KINDS,
    NEEDS_TRITON,
    classes_in,
    commands_of,
    listed_names,
    parts_of_type,
    place_of,
    public_names,
    result_classes,
    returned_type,
)

NAMES = public_names()
COMMANDS = {" ".join(words): function for words, function in commands_of(app)}
# Commands that answer no question, with the reason.
NO_QUESTION = {"explore": "serves a page until it is stopped"}
# Packages whose names are described elsewhere.
NO_TABLE = {"render": "the parts of pictures, described with the pages"}


def test_every_name_has_one_kind():
    kinds: dict[str, set[str]] = {}
    for one in NAMES:
        kinds.setdefault(one.place or f"{one.package}.{one.name}", set()).add(one.kind)
    assert [place for place, found in kinds.items() if len(found) != 1 or not found <= set(KINDS)] == []


def returns_result(function) -> bool:
    """Return whether a function returns a result, also if it names it for type checkers only."""
    returned = returned_type(function)
    if isinstance(returned, str):
        returned_names = set(re.findall(r"\w+", returned))
        return any(one.__name__ in returned_names for one in result_classes() if issubclass(one, Result))
    return any(issubclass(one, Result) for one in classes_in(returned))


def test_what_returns_a_result_is_a_question():
    functions = {f"{package}.{name}": value for package, name, value in listed_names() if inspect.isfunction(value)}
    asked = set(QUESTIONS.values())
    wrong = {name for name, value in functions.items() if returns_result(value) and value not in asked}
    assert wrong == set()


def test_what_no_result_holds_is_found():
    def wrong() -> "list[Result] | None": ...

    def right() -> "float | None": ...

    assert returns_result(wrong)
    assert not returns_result(right)


def test_every_command_is_made_from_a_question():
    without = {name for name, function in COMMANDS.items() if not hasattr(function, "answer")}
    assert without == set(NO_QUESTION)


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - NO_QUESTION.keys()))
def test_a_command_names_its_results(name):
    answered = {kind for question in QUESTIONS.values() for kind in parts_of_type(returned_type(question))}
    assert set(parts_of_type(returned_type(COMMANDS[name].answer))) <= answered


def test_the_table_lists_every_public_name():
    text = (ROOT / "docs" / "public_names.md").read_text(encoding="utf-8")
    tables = {word for line in re.findall(r"\{name-table\} (.*)", text) for word in line.split()}
    shown = {one.place for one in NAMES if one.package.split(".")[0] in tables and one.kind != CONSTANT}
    missing = []
    for package in walk_packages(genlaws.__path__, "genlaws."):
        name = package.name.removeprefix("genlaws.")
        if package.ispkg and name not in NO_TABLE and not f"{package.name}.".startswith(NEEDS_TRITON):
            module = import_module(package.name)
            values = [getattr(module, one) for one in getattr(module, "__all__", ())]
            missing += [place_of(one) for one in values if callable(one) and place_of(one) not in shown]
    assert missing == []
