"""``genlaws relations``: how many examples a relation needs, and when representations merge."""

from __future__ import annotations

from cyclopts import App

app = App(
    name="relations",
    help="How many examples a relation needs, and when representations merge.",
    help_format="plaintext",
)
app.command(
    "genlaws.cli.relations.describe:describe",
    name="describe",
    help="How many bits describe a relation, and which laws it obeys.",
)
app.command(
    "genlaws.cli.relations.bound:bound",
    name="bound",
    help="The best accuracy from some entries, averaged over the relations of a class.",
)
app.command(
    "genlaws.cli.relations.data_needed:data_needed",
    name="data-needed",
    help="How many random entries an accuracy needs.",
)
app.command(
    "genlaws.cli.relations.next_pair:next_pair",
    name="next-pair",
    help="Which entry to query next.",
)
app.command(
    "genlaws.cli.relations.learn:learn",
    name="learn",
    help="Train networks on a relation; see whether they generalize.",
)
app.command(
    "genlaws.cli.relations.repons:repons",
    name="repons",
    help="Chance that two representations of one class merge.",
)
app.command(
    "genlaws.cli.relations.advise:advise",
    name="advise",
    help="How much data and which learning rates a network needs, from a pilot of about a minute.",
)
app.command(
    "genlaws.cli.relations.phases:phases",
    name="phases",
    help="What becomes of networks at each pair of learning rates. The defaults are a reduced size of a few minutes: "
    "6 × 6 rates, 3 networks each, 10,000 steps, layers of 20 units.",
)
