"""Command lines that ask for the report."""

COMMANDS = {
    "report.whole_report": [
        "report --sections none --data embeddings.csv relation:matrix.csv --quick --seed 2",
        "report --sections residual-stream --quick",
    ],
}

# Questions without a command.
EXAMPLES = {}
