"""A sweep in its own process that is killed near the second checkpoint of its first stack."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
from sweep_trials import wait_until

from genlaws.sweeps.tasks import CHECKPOINTS_FOLDER

EVERY = 15  # updates between two checkpoints here
DRIVER = f"""
import sys, time
from genlaws.sweeps import stacking
from genlaws.ensembles import checkpoint
from genlaws.cli import run
stacking.CHECKPOINT_EVERY = {EVERY}
save, saved = checkpoint.save, []
def save_and_wait(*given):
    save(*given)
    saved.append(1)
    if len(saved) == 2:
        time.sleep(600)
checkpoint.save = save_and_wait
sys.exit(run(sys.argv[1:]))
"""


def kill_sweep(name: str, folder: Path, settings: dict[str, object], repeats: int) -> None:
    """Start ``genlaws sweep run`` and kill it when its first stack has been saved twice."""
    options = [f"--set={field}={str(value).lower()}" for field, value in settings.items()]
    arguments = ["sweep", "run", name, "--folder", str(folder), "--repeats", str(repeats), *options]
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def saved_twice() -> bool:
        """Return whether the driver waits at the second checkpoint, or has ended before it."""
        half = list((folder / CHECKPOINTS_FOLDER).glob("*/stack-0.npz"))
        return driver.poll() is not None or (bool(half) and _made_in(half[0]) == 2 * EVERY)

    try:
        wait_until(saved_twice, "a checkpoint")
    finally:
        driver.send_signal(signal.SIGKILL)
        assert driver.wait(60) == -signal.SIGKILL


def _made_in(file: Path) -> int:
    with np.load(file) as saved:
        return int(saved["made"])
