"""All commands: each is imported when it runs."""

from __future__ import annotations

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
