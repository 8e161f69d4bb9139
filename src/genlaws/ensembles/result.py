"""The result of training a stack, and the log of its measurements."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from genlaws.ensembles.architecture import Layout, Tensors

NEVER = -1


@dataclass(frozen=True)
class Live:
    """The networks that are in the stack when something is measured.

    Attributes
    ----------
    values : parameters by name, (networks, ...)
    number : integer tensor of shape (networks,)
        Which networks they are, counted from 0 as they were given.
    loss : tensor of shape (networks,)
        At the previous step; NaN at the start.
    step : int
        Updates made so far.
    """

    values: Tensors
    number: Tensor
    loss: Tensor
    step: int


@dataclass(frozen=True)
class Computed:
    """Device, type of numbers and software of a computation."""

    device: str
    dtype: str
    path: str
    threads: int
    torch: str


@dataclass(frozen=True)
class TrainedStack:
    """A trained stack.

    Attributes
    ----------
    rows : tensor of shape (networks, size)
        Parameters of each network when it left the stack.
    layout : Layout
    steps : int array of shape (logs,)
        Numbers of updates before each measurement.
    measured : arrays of shape (networks, logs, ...) by name
        NaN after a network has left.
    updates : int array of shape (networks,)
        How many updates each network has had.
    finished_at : int array of shape (networks,)
        The logged step at which its criterion was met, or -1.
    failed_at : int array of shape (networks,)
        The step at which its parameters were first found not to be finite, or -1.
    computed : Computed
        Device, type of numbers and way of computing.
    """

    rows: Tensor
    layout: Layout
    steps: np.ndarray
    measured: dict[str, np.ndarray]
    updates: np.ndarray
    finished_at: np.ndarray
    failed_at: np.ndarray
    computed: Computed

    @property
    def values(self) -> Tensors:
        """Parameters by name, (networks, ...)."""
        return self.layout.views(self.rows)

    @property
    def failed(self) -> np.ndarray:
        """Whether each network's parameters became infinite or not a number."""
        return np.asarray(self.failed_at != NEVER)

    @property
    def finished(self) -> np.ndarray:
        """Whether each network met its criterion."""
        return np.asarray(self.finished_at != NEVER)


@dataclass
class Log:
    """Measurements so far, on the device until they are collected."""

    count: int
    steps: list[int] = field(default_factory=list)
    _waiting: list[tuple[int, Tensor, Tensors]] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def add(self, step: int, number: Tensor, measured: Tensors) -> None:
        """Store the measurements of the networks `number` at a step, without a copy to the host."""
        self.steps.append(step)
        self._waiting.append(
            (len(self.steps) - 1, number, {name: one.detach().clone() for name, one in measured.items()})
        )

    def collect(self, expected: int) -> None:
        """Move the stored measurements into arrays with room for the expected number of logs."""
        for place, number, measured in self._waiting:
            rows = number.cpu().numpy()
            for name, values in measured.items():
                found = values.cpu().numpy()
                if name not in self.arrays:
                    kind = found.dtype if found.dtype.kind == "f" else np.dtype(np.float64)
                    self.arrays[name] = np.full((self.count, expected, *found.shape[1:]), np.nan, dtype=kind)
                self.arrays[name][rows, place] = found
        self._waiting.clear()


def describe_computing(rows: Tensor, path: str) -> Computed:
    """Return device, type of numbers and software for a stack."""
    device = torch.cuda.get_device_name(rows.device) if rows.is_cuda else str(rows.device)
    return Computed(device, str(rows.dtype).removeprefix("torch."), path, torch.get_num_threads(), torch.__version__)
