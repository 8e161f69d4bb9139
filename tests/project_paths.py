"""Where the project and the data of the tests are; GENLAWS_DATA names another folder of data."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("GENLAWS_DATA", ROOT.parent / "shared" / "data"))
