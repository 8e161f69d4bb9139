"""One thread per process, the same random examples on every machine, and no display."""

import os

from hypothesis import settings

# Set before numpy is loaded: the tests run in several processes, and more threads only get in each other's way.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["MPLBACKEND"] = "Agg"

settings.register_profile("genlaws", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("genlaws")
