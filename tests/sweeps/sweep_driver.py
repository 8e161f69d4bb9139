"""The command line as its own process, with the experiments for tests, and a line of progress after every cell."""

import sys

import sweep_trials

from genlaws.cli import run
from genlaws.cli import sweep as sweep_progress
from genlaws.sweeps import EXPERIMENTS

for experiment in (sweep_trials.TRIAL, sweep_trials.BATCH, sweep_trials.ODDITY):
    EXPERIMENTS[experiment.name] = experiment
sweep_progress.LINE_INTERVAL_SECONDS = 0.0

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
