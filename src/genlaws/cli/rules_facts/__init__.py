"""``genlaws rules-facts``: what a learner generalizes and remembers when data is part rule and part fact."""

from __future__ import annotations

from cyclopts import App

app = App(name="rules-facts", help="Data that is part rule and part fact.", help_format="plaintext")
_COMMANDS = {
    "advise:advise": "Recommend a kernel and a regularization for your labeled data.",
    "theory:solve": "Predict the generalization and memorization error of a learner.",
    "theory:bayes": "Give the least generalization error any learner can reach.",
    "theory:threshold": "Give the largest sample ratio at which every label can be fitted.",
    "theory:kernel": "Give mu_1, mu_star and the angle of a kernel, or the parameter of a family with a given angle.",
}
for place, about in _COMMANDS.items():
    app.command(f"genlaws.cli.rules_facts.{place}", name=place.split(":")[1], help=about)
