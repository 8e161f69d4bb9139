"""Check the claims of the papers and write the records that are bundled with the library.

python studies/claims.py                    # every claim at full size; an hour or less on one core
python studies/claims.py semanticity        # one paper
python studies/claims.py --quick relations  # seconds for each claim; the records name the size
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from genlaws.claims import run_claims
from genlaws.claims.records import write_records
from genlaws.cli.output import ProgressBar

FOLDER = Path(__file__).resolve().parents[1] / "src" / "genlaws" / "claims" / "bundled_records"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["all"], help="claims, papers, or all")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    with ProgressBar() as running:
        found = run_claims(given.names or ["all"], quick=given.quick, running=running)
    for file in write_records(found.records, FOLDER):
        print(f"Written to {file}")
    for name, reason in {**found.skipped, **found.failed}.items():
        print(f"Not recorded: {name}, {reason}", file=sys.stderr)
    return 1 if found.failed else 0


if __name__ == "__main__":
    sys.exit(main())
