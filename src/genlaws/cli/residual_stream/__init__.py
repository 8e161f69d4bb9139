"""``genlaws residual-stream``: a transformer's layers as time, with controls."""

from __future__ import annotations

from cyclopts import App

app = App(
    name="residual-stream",
    help="A transformer's layers as time: how its states move, compared with surrogates.",
    help_format="plaintext",
)
app.command(
    "genlaws.cli.residual_stream.commands:analyze",
    name="analyze",
    help="Measure the residual stream of a model on texts, and judge the claims made about it.",
)
app.command(
    "genlaws.cli.residual_stream.commands:semanticity",
    name="semanticity",
    help="What each write of a transformer does to p_S and p_I.",
)
