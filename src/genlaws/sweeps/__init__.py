"""Resumable computations: experiments, sweeps over their settings, and the folder that stores every cell.

An experiment is a settings model and a function from one cell's settings and seed to numbers and arrays. A sweep runs
it over axes and repeats, on one core, several processes or a cluster, with the same result bit for bit. Finished cells
are stored: a sweep that was killed resumes where it stopped.
"""

from genlaws.core.locks import StoreBusyError
from genlaws.sweeps.engines import DaskCluster, Engine, InProcess, Processes
from genlaws.sweeps.experiment import Experiment, Procedure, Settings
from genlaws.sweeps.grid import Axis, Cell, Sweep, make_sweep, read_axis
from genlaws.sweeps.registry import EXPERIMENTS, ExperimentList, get_experiment, list_experiments
from genlaws.sweeps.runner import SweepReport, SweepTable, compute_sweep, run_sweep
from genlaws.sweeps.store import Store, SweepStatus, stored_sweep, sweep_status
from genlaws.sweeps.tables import SweepExport, export_sweep
from genlaws.sweeps.tasks import SweepStoppedError

__all__ = [
    "EXPERIMENTS",
    "Axis",
    "Cell",
    "DaskCluster",
    "Engine",
    "Experiment",
    "ExperimentList",
    "InProcess",
    "Procedure",
    "Processes",
    "Settings",
    "Store",
    "StoreBusyError",
    "Sweep",
    "SweepExport",
    "SweepReport",
    "SweepStatus",
    "SweepStoppedError",
    "SweepTable",
    "compute_sweep",
    "export_sweep",
    "get_experiment",
    "list_experiments",
    "make_sweep",
    "read_axis",
    "run_sweep",
    "stored_sweep",
    "sweep_status",
]
