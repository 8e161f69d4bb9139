"""Every option of the command line that takes a whole number, found in the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator

from cyclopts import App

from genlaws.cli.commands import app


def commands(group: App = app, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], App]]:
    """Yield the words that call each command, and the command."""
    if group.default_command is not None:
        yield path, group
    for name in group:
        if not name.startswith("-"):
            yield from commands(group[name], (*path, name))


def integer_options() -> list[tuple[tuple[str, ...], str]]:
    """Return the words of a command and an option of it, for each that takes a whole number."""
    return [
        (path, argument.name)
        for path, command in commands()
        for argument in command.assemble_argument_collection()
        if argument.name.startswith("--") and int in (argument.hint, *getattr(argument.hint, "__args__", ()))
    ]
