"""An experiment that tells how many threads its process was given."""

import os

from sweep_trials import Trial

from genlaws.sweeps import Procedure
from genlaws.sweeps.processes import THREADS as NAMES

THREADS = Procedure(Trial, lambda settings, seed: {name: os.environ.get(name, "") for name in NAMES})
