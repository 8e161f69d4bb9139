"""An experiment that returns how many threads its process may use."""

import os

from sweep_trials import Trial

from genlaws.sweeps import Procedure
from genlaws.sweeps.engines import THREAD_VARIABLES

THREADS = Procedure(Trial, lambda settings, seed: {name: os.environ.get(name, "") for name in THREAD_VARIABLES})
