"""The help of every command: all that its docstring says, and a description of every option."""

import inspect

import pytest

from genlaws.cli.commands import app
from integer_options import commands

NAMES = [" ".join(words) for words, _ in commands() if words]


def plain(text: str) -> str:
    """Return words without the frames and line breaks of a terminal."""
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_the_whole_docstring(genlaws, name):
    command = app.parse_commands(name.split())[1][-1].default_command
    printed = genlaws(*name.split(), "--help")
    assert printed.code == 0
    for paragraph in inspect.getdoc(command).partition("\nParameters\n")[0].split("\n\n"):
        assert plain(paragraph) in plain(printed.out)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_described(name):
    arguments = app.parse_commands(name.split())[1][-1].assemble_argument_collection()
    assert [one.name for one in arguments if one.show and not one.parameter.help] == []
