"""All commands: each is imported when it runs."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from cyclopts import App

from genlaws.cli import ABOUT, COMMANDS
from genlaws.cli.numbers import check_values


def _version() -> str:
    import genlaws

    return str(genlaws.__version__)


app = App(
    name="genlaws",
    help=ABOUT,
    version=_version,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # run() reports that it stopped
    config=check_values,
)
for command, (place, about) in COMMANDS.items():
    app.command(f"genlaws.cli.{place}", name=command, help=about)


def show_whole_help(tokens: Sequence[str]) -> None:
    """Let the help of a command be its whole docstring; in the list of commands it is one sentence."""
    words = [token for token in tokens if token not in app.help_flags]
    if len(words) < len(tokens):
        command = app.parse_commands(words)[1][-1]
        if command.default_command is not None:
            command.help = inspect.getdoc(command.default_command)
