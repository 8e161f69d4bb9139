"""What the tests of figures share: the settings in `reduced_settings`, which the pages use, too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
