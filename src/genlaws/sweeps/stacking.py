"""Stacks of networks: cells that differ only in fields allowed to vary within a stack are trained together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from genlaws.ensembles import Checkpoint
from genlaws.sweeps.experiment import CellResult, Settings
from genlaws.sweeps.tasks import checkpoint_folder

CHECKPOINT_EVERY = 5000  # updates; a stack of the usual size makes them in seconds to minutes

# Maps settings that can be stacked, their seeds and a checkpoint to a result for each.
TrainGroup = Callable[[Sequence[Any], Sequence[int], Checkpoint | None], Sequence[CellResult]]


def how_computed(runs: Any) -> dict[str, str]:
    """Return the device, the type of numbers and the path that networks were trained with."""
    return {name: getattr(runs, name) for name in ("device", "dtype", "path")}


def run_stacks(
    settings: Sequence[Settings], seeds: Sequence[int], per_network: Collection[str], train_group: TrainGroup
) -> list[CellResult]:
    """Return the results of cells; cells that can share a stack are trained together.

    Parameters
    ----------
    settings, seeds : sequences of the same length
    per_network : collection of str
        Fields that may differ within a stack, such as a learning rate.
    train_group : callable
        ``train_group(settings, seeds, checkpoint)`` returns a result for each. An interrupted training of
        this group resumes from the checkpoint; None if the sweep has no folder.
    """
    groups: dict[str, list[int]] = {}
    for place, one in enumerate(settings):
        groups.setdefault(one.model_dump_json(exclude=set(per_network)), []).append(place)
    folder = checkpoint_folder()
    results: dict[int, CellResult] = {}
    for number, places in enumerate(groups.values()):
        checkpoint = None if folder is None else Checkpoint(folder / f"stack-{number}.npz", CHECKPOINT_EVERY)
        found = train_group([settings[place] for place in places], [seeds[place] for place in places], checkpoint)
        results.update(zip(places, found, strict=True))
    return [results[place] for place in range(len(settings))]
