"""Command lines that ask each question on claims."""

COMMANDS = {
    "claims.list_claims": [
        "claims list --paper relations --verdict corrected",
        "claims list --paper residual-stream --verdict holds-within-limits",
    ],
    "claims.show_claim": [
        "claims show semanticity.theorem-1",
        "claims show relations.table-1",
    ],
    "claims.run_claims": [
        "claims run semanticity.peak-three-quarters",
        "claims run semanticity.not-monotone semanticity.peak-three-quarters",
    ],
}

# Questions without a command.
EXAMPLES = {}
