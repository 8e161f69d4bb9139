"""The state of a stack of networks, and one update of all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from genlaws.ensembles.architecture import Architecture, Workspace
from genlaws.ensembles.batches import Batches
from genlaws.ensembles.optimizers import Optimizer, PartRates, Portion
from genlaws.ensembles.result import NEVER, Live

# A replacement of the optimizer's `update`: optimizer, part, rates, count of updates.
FusedUpdate = Callable[[Any, Portion, PartRates, Tensor], None]


class Stack:
    """Networks that are trained together.

    Parameters
    ----------
    architecture, optimizer, batches
    rows : tensor of shape (networks, size)
        The parameters; changed in place by `update`.
    rates : list of PartRates
        One for each trained part.
    """

    def __init__(
        self, architecture: Architecture, optimizer: Optimizer, batches: Batches, rows: Tensor, rates: list[PartRates]
    ) -> None:
        self.architecture, self.optimizer = architecture, optimizer
        self.batches, self.rates = batches, rates
        self.rows = rows
        self.moments = [torch.zeros_like(rows) for _ in optimizer.moments]
        self.number = torch.arange(len(rows), device=rows.device)
        self.loss = torch.full((len(rows),), torch.nan, dtype=rows.dtype, device=rows.device)
        self.failed = torch.full((len(rows),), NEVER, dtype=torch.int64, device=rows.device)
        # Counted on the device as well, so that a captured graph does not need the host.
        self.step = torch.zeros((), dtype=torch.int64, device=rows.device)
        self.made = 0
        self.space = Workspace()
        self._share_memory()

    def _share_memory(self) -> None:
        """Create the views and the memory that depend on the number of networks."""
        layout = self.architecture.layout
        self.gradient = torch.zeros_like(self.rows)
        self.spare = torch.empty_like(self.rows)
        self.values = layout.views(self.rows)
        self.gradients = layout.views(self.gradient)
        self.space.clear()

    def __len__(self) -> int:
        return len(self.rows)

    def update(self) -> None:
        """Make one update of every network, without the host, so it can be captured in a graph."""
        batch = self.batches.at(self.step)
        self.loss.copy_(self.architecture.loss_and_gradient(self.values, batch, self.gradients, self.space))
        self.optimize()

    def optimize(self, kernel: FusedUpdate | None = None) -> None:
        """Count one update and let the optimizer make it, or a kernel in the optimizer's place."""
        self.step.add_(1)
        count = self.step.to(torch.float64)
        for rates in self.rates:
            own = rates.columns
            moments = [one[:, own] for one in self.moments]
            part = Portion(self.rows[:, own], self.gradient[:, own], moments, self.spare[:, own])
            if kernel is None:
                self.optimizer.update(part, rates, count)
            else:
                kernel(self.optimizer, part, rates, count)

    def mark_broken(self) -> None:
        """Mark the networks with parameters that are not finite, without the host."""
        broken = ~self.rows.isfinite().all(1)
        self.failed = torch.where(broken & (self.failed == NEVER), self.step, self.failed)

    def live(self) -> Live:
        """Return the networks as they are now, for measuring."""
        return Live(self.values, self.number, self.loss, self.made)

    def keep(self, chosen: Tensor) -> None:
        """Keep the networks at these places in the stack and drop the others."""
        self.rows = self.rows[chosen].clone()
        self.moments = [one[chosen].clone() for one in self.moments]
        self.number, self.failed, self.loss = self.number[chosen], self.failed[chosen], self.loss[chosen].clone()
        self.rates = [one.select(chosen) for one in self.rates]
        self.batches = self.batches.select(chosen)
        self._share_memory()

    def go_to(self, made: int) -> None:
        """Set the count of updates, when a run resumes from a checkpoint."""
        self.made = made
        self.step.fill_(made)
