"""Command lines that ask each question on sweeps; the folder of a sweep is among the files of the calls."""

from genlaws.sweeps import Axis, compute_sweep, get_experiment, make_sweep

COMMANDS = {
    "sweeps.list_experiments": [
        "sweep list",
        "sweep list relations.network",
    ],
    "sweeps.run_sweep": [
        "sweep run --resume --folder swept",
        "sweep run relations.bound --folder swept --axis relation=mod3,nothing --set elements=6 --jobs 2",
    ],
    "sweeps.sweep_status": [
        "sweep status swept",
        "sweep status swept --traceback",
    ],
    "sweeps.export_sweep": [
        "sweep export swept",
        "sweep export swept --to parquet --file table.parquet",
    ],
}

# Questions without a command.
EXAMPLES = {
    "sweeps.compute_sweep": lambda: compute_sweep(
        make_sweep(get_experiment("relations.bound"), {"elements": 6}, [Axis("train_fraction", (0.1, 0.5))], repeats=2)
    ),
}
