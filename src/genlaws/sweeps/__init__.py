"""Resumable computations: experiments, sweeps over their settings, and the folder that stores every cell.

An experiment is a settings model and a function from one cell's settings and seed to numbers and arrays. A sweep runs
it over axes and repeats, on one core, several processes or a cluster, with the same result bit for bit. Finished cells
are stored: a sweep that was killed resumes where it stopped.
"""

from genlaws.core.locks import StoreBusyError
from genlaws.sweeps.engines import DaskCluster, Engine, InProcess
from genlaws.sweeps.experiment import Experiment, Procedure, Settings
from genlaws.sweeps.grid import Axis, Cell, Sweep, make_sweep, read_axis
from genlaws.sweeps.processes import Processes
from genlaws.sweeps.registry import EXPERIMENTS, experiment_names, get_experiment
from genlaws.sweeps.runner import SweepReport, compute_sweep, run_sweep
from genlaws.sweeps.store import Store, SweepCounts
from genlaws.sweeps.tasks import SweepStoppedError

__all__ = [
    "EXPERIMENTS",
    "Axis",
    "Cell",
    "DaskCluster",
    "Engine",
    "Experiment",
    "InProcess",
    "Procedure",
    "Processes",
    "Settings",
    "Store",
    "StoreBusyError",
    "Sweep",
    "SweepCounts",
    "SweepReport",
    "SweepStoppedError",
    "compute_sweep",
    "experiment_names",
    "get_experiment",
    "make_sweep",
    "read_axis",
    "run_sweep",
]
