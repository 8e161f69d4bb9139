"""Every public name of the library, its kind, the command that does the same, and what it returns."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from cells import code, function_link, keep_bare_name, table
from cyclopts import App
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from genlaws.cli.commands import app
from genlaws.core.estimate import Estimate
from genlaws.core.plain import types_of
from genlaws.core.result import QUESTIONS, Result

PACKAGES = (
    "semanticity",
    "rules_facts",
    "rules_facts.finite_size",
    "relations",
    "residual_stream",
    "probes",
    "ensembles",
    "sweeps",
    "figures",
    "claims",
    "report",
)
NEEDS_TRITON = "genlaws.ensembles.fused."
NUMBERS = (float, int, bool, str, bytes, np.ndarray, np.generic, Estimate, type(None))
KINDS = QUESTION, FORMULA, CONSTRUCTOR, RESULT, CONSTANT = "question", "formula", "constructor", "result", "constant"


@dataclass(frozen=True)
class PublicName:
    """One public name.

    Attributes
    ----------
    package : str
        Below ``genlaws``.
    name : str
        In the package.
    kind : str
        A question answers with a result, a formula maps numbers and arrays to numbers and arrays, a constructor makes
        an object, and a class is its own constructor unless it is a result or a part of results.
    place : str
        Where it is defined, with all packages.
    command : tuple of str
        Commands that answer the question.
    returns : str
        The class of the result, or of the object made.
    """

    package: str
    name: str
    kind: str
    place: str
    command: tuple[str, ...]
    returns: str


def public_names() -> list[PublicName]:
    """Return the public names of every package, and questions that a package does not list itself."""
    for package in PACKAGES:
        module = import_module(f"genlaws.{package}")
        for one in walk_packages(module.__path__, f"{module.__name__}."):
            if not one.name.startswith(NEEDS_TRITON):
                import_module(one.name)  # registers its questions
    commands = commands_by_result()
    listed = [_described(*one, commands) for one in listed_names()]
    known = {one.place for one in listed}
    others = [
        _described(_package_of(value), value.__name__, value, commands)
        for value in QUESTIONS.values()
        if place_of(value) not in known
    ]
    return listed + sorted(others, key=lambda one: (one.package, one.name))


def listed_names() -> list[tuple[str, str, Any]]:
    """Return package, name and value of every name that a package lists in ``__all__``."""
    packages = {package: import_module(f"genlaws.{package}") for package in PACKAGES}
    return [(name, one, getattr(package, one)) for name, package in packages.items() for one in sorted(package.__all__)]


def _described(package: str, name: str, value: Any, commands: dict[str, tuple[str, ...]]) -> PublicName:
    kind = kind_of(value)
    returns = value.__name__ if inspect.isclass(value) else ""
    if kind in (QUESTION, CONSTRUCTOR) and not inspect.isclass(value):
        returns = ", ".join(getattr(one, "__name__", str(one)) for one in parts_of_type(returned_type(value)))
    command = commands.get(returns, ()) if kind == QUESTION else ()
    return PublicName(package, name, kind, place_of(value), command, returns)


def kind_of(value: Any) -> str:
    """Return the kind of a public name, read from what it is and from what it returns."""
    if not callable(value):
        return CONSTANT
    if inspect.isclass(value):
        return RESULT if value in result_classes() else CONSTRUCTOR
    if value in QUESTIONS.values():
        return QUESTION
    return FORMULA if is_numeric(returned_type(value)) else CONSTRUCTOR


@cache
def result_classes() -> frozenset[type]:
    """Return the classes of results, and those of their parts that no public function takes."""
    results = [Result, *_subclasses(Result)]
    found = list(results)
    for kind in found:
        inside = {one for name in written_fields(kind) for one in classes_in(types_of(kind)[name])}
        found += [one for one in inside if is_dataclass(one) and one not in (Estimate, *found)]
    return frozenset(results) | frozenset(found) - taken_classes()


def _subclasses(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield from (one, *_subclasses(one))


def written_fields(kind: type) -> list[str]:
    """Return the names of the fields that JSON holds."""
    return [one.name for one in fields(kind) if one.metadata.get("written", True)]


def taken_classes() -> frozenset[type]:
    """Return the classes of what public functions take."""
    values = {id(value): value for _, _, value in listed_names()}.values()
    functions = [inspect.unwrap(one) for one in (*values, *QUESTIONS.values()) if inspect.isfunction(one)]
    names = [(one, name) for one in functions for name in one.__annotations__ if name != "return"]
    return frozenset(kind for one, name in names for kind in classes_in(annotated_type(one, name)))


def classes_in(kind: Any) -> set[type]:
    """Return the classes that a type is made of."""
    inside = {one for part in get_args(kind) for one in classes_in(part)}
    return inside | {kind} if inspect.isclass(kind) else inside


def returned_type(function: Any) -> Any:
    """Return the annotated type of what a function returns; its name where it is imported for type checkers only."""
    return annotated_type(inspect.unwrap(function), "return")


def annotated_type(function: Any, name: str) -> Any:
    """Return the type of a parameter or of what is returned; its text where it is imported for type checkers only."""
    written = function.__annotations__.get(name, Any)
    try:
        return eval(written, function.__globals__) if isinstance(written, str) else written
    except NameError:
        return written


def parts_of_type(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the type itself."""
    union = get_origin(kind) in (Union, type(int | str))
    return tuple(part for one in get_args(kind) for part in parts_of_type(one)) if union else (kind,)


def is_numeric(kind: Any) -> bool:
    """Return whether values of a type are numbers, texts or arrays, or tuples of them."""
    parts = parts_of_type(kind)
    if len(parts) > 1:
        return all(map(is_numeric, parts))
    origin = get_origin(kind) or kind
    if origin is tuple:
        return all(is_numeric(part) for part in get_args(kind) if part is not ...)
    if not inspect.isclass(origin):
        return False
    if issubclass(origin, tuple):  # a named tuple
        return all(map(is_numeric, get_type_hints(origin).values()))
    return issubclass(origin, NUMBERS)


def place_of(value: Any) -> str:
    """Return where a name is defined."""
    return f"{value.__module__}.{value.__qualname__}" if callable(value) and hasattr(value, "__qualname__") else ""


def _package_of(function: Any) -> str:
    return function.__module__.removeprefix("genlaws.").rpartition(".")[0]


def commands_by_result() -> dict[str, tuple[str, ...]]:
    """Return the commands whose answer is a result, by the class of the result."""
    found: dict[str, tuple[str, ...]] = {}
    for words, function in commands_of(app):
        if hasattr(function, "answer"):
            for kind in parts_of_type(returned_type(function.answer)):
                found[kind.__name__] = (*found.get(kind.__name__, ()), " ".join(words))
    return found


def commands_of(group: App, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with its words."""
    for name in group:
        if name.startswith("-"):
            continue
        one = group[name]
        if one.default_command is not None:
            yield (*words, name), one.default_command
        yield from commands_of(one, (*words, name))


class NameTable(SphinxDirective):
    """The public names of the packages named, without constants."""

    required_arguments = 1
    optional_arguments = 5

    def run(self):
        rows = [one for one in public_names() if one.kind != CONSTANT and one.package.split(".")[0] in self.arguments]
        if not rows:
            raise self.error(f"There are no public names in {' '.join(self.arguments)}.")
        headings = ["name", "kind", "command", "returns"]
        return [table(headings, [self.row(one) for one in rows], [36, 12, 30, 22], "names")]

    def row(self, one: PublicName) -> list:
        shown = nodes.paragraph()
        shown += function_link(one.place, self.env.docname)
        shown[0][0] = code(f"{one.package}.{one.name}")
        commands = [code(f"genlaws {command}") for command in one.command]
        made = nodes.paragraph()
        made += commands
        return [shown, one.kind, made, code(one.returns) if one.returns else ""]


def setup(app):
    app.add_directive("name-table", NameTable)
    app.connect("missing-reference", keep_bare_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
