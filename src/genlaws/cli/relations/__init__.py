"""``genlaws relations``: how many examples a relation needs, and when representations merge."""

from __future__ import annotations

from cyclopts import App

app = App(
    name="relations",
    help="How many examples a relation needs, and when representations merge.",
    help_format="plaintext",
)
_HELP = {
    "describe": "How many bits describe a relation, and which laws it obeys.",
    "bound": "The best accuracy from some entries, averaged over the relations of a class.",
    "data-needed": "How many random entries an accuracy needs.",
    "next-pair": "Which entry to query next.",
    "learn": "Train networks on a relation; see whether they generalize.",
    "repons": "Chance that two representations of one class merge.",
    "advise": "How much data and which learning rates a network needs, from a pilot of about a minute.",
    "phases": "What becomes of networks at each pair of learning rates. The defaults are a reduced size of a few "
    "minutes: 6 × 6 rates, 3 networks each, 10,000 steps, layers of 20 units.",
}
for command, text in _HELP.items():
    module = command.replace("-", "_")  # each command is in the module of its name, imported when it is used
    app.command(f"genlaws.cli.relations.{module}:{module}", name=command, help=text)
