"""``genlaws semanticity``: how finely a representation distinguishes things, and what that costs."""

from __future__ import annotations

from cyclopts import App

app = App(
    name="semanticity",
    help="How finely a representation distinguishes things, and what that costs.",
    help_format="plaintext",
)
app.command(
    "genlaws.cli.semanticity.front:front",
    name="front",
    help="Give the chance to pick the nearest item (generalization) and the original of a copy (identification).",
)
app.command(
    "genlaws.cli.semanticity.measure:fit_choices",
    name="fit-choices",
    help="Estimate resolution, background and shape of the similarity from recorded choices.",
)
app.command(
    "genlaws.cli.semanticity.measure:measure",
    name="measure",
    help="Measure generalization, identification and resolution of embeddings.",
)
app.command(
    "genlaws.cli.semanticity.probe:probe",
    name="probe",
    help="Probe a language or vision model: its resolution, its p_S and p_I, its collapse over items.",
)
