"""Command lines that ask each question on figures."""

COMMANDS = {
    "figures.list_figures": [
        "figure",
        "figure --bundled",
    ],
    "figures.draw_figures": [
        "figure rules-facts.4 rules-facts.10",
        "figure rules-facts.6 --set points=5",
        "figure relations.6 --bundled",
    ],
}

# Questions without a command.
EXAMPLES = {}
