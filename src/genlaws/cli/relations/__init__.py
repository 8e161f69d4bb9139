"""``genlaws relations``: how many examples a relation needs, and when representations merge."""

from __future__ import annotations

from cyclopts import App

app = App(
    name="relations",
    help="How many examples a relation needs, and when representations merge.",
    help_format="plaintext",
)
_COMMANDS = {
    "theory:describe": "How many bits describe a relation, and which laws it obeys.",
    "theory:bound": "The best accuracy from some entries, averaged over the relations of a class.",
    "theory:data_needed": "How many random entries an accuracy needs.",
    "theory:next_pair": "Which entry to query next.",
    "networks:learn": "Train networks on a relation; see whether they generalize.",
    "theory:repons": "Chance that two representations of one class merge.",
    "networks:advise": "How much data and which learning rates a network needs, from a pilot of about a minute.",
    "networks:phases": "What becomes of networks at each pair of learning rates. The defaults are a reduced size of a "
    "few minutes: 6 × 6 rates, 3 networks each, 10,000 steps, layers of 20 units.",
}
for place, about in _COMMANDS.items():
    app.command(f"genlaws.cli.relations.{place}", name=place.split(":")[1].replace("_", "-"), help=about)
