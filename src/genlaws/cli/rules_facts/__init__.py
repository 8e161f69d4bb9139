"""``genlaws rules-facts``: what a learner generalizes and remembers when data is part rule and part fact."""

from __future__ import annotations

from cyclopts import App

app = App(name="rules-facts", help="Data that is part rule and part fact.", help_format="plaintext")
app.command(
    "genlaws.cli.rules_facts.advise:advise",
    name="advise",
    help="Recommend a kernel and a regularization for your labeled data.",
)
app.command(
    "genlaws.cli.rules_facts.theory:solve",
    name="solve",
    help="Predict the generalization and memorization error of a learner.",
)
app.command(
    "genlaws.cli.rules_facts.theory:bayes",
    name="bayes",
    help="Give the least generalization error any learner can reach.",
)
app.command(
    "genlaws.cli.rules_facts.theory:threshold",
    name="threshold",
    help="Give the largest sample ratio at which every label can be fitted.",
)
app.command(
    "genlaws.cli.rules_facts.theory:kernel",
    name="kernel",
    help="Give mu_1, mu_star and the angle of a kernel, or the parameter of a family that has a wanted angle.",
)
