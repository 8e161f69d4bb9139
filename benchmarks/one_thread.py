"""Time on one thread: the variables must be set before numpy is loaded, so the program is started again with them."""

from __future__ import annotations

import os
import sys

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def require_one_thread():
    if any(os.environ.get(name) != "1" for name in VARIABLES):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **dict.fromkeys(VARIABLES, "1")})
