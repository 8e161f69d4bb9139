"""``genlaws relations``: how many examples a relation needs, and when representations merge."""

from __future__ import annotations

from cyclopts import App

app = App(
    name="relations",
    help="How many examples a relation needs, and when representations merge.",
    help_format="plaintext",
)
app.command(
    "genlaws.commands.relations_describe:describe",
    name="describe",
    help="How many bits describe a relation, and which laws it obeys.",
)
app.command(
    "genlaws.commands.relations_repons:repons",
    name="repons",
    help="Chance that two representations of one class merge.",
)
