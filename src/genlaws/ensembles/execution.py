"""Execution paths for many updates: eager calls, a captured CUDA graph, or the fused kernel of an architecture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch

from genlaws.core.errors import InputError
from genlaws.ensembles.fused.update import fused_fits, fused_pays, fused_update
from genlaws.ensembles.stack import Stack

EXECUTION_PATHS = ("auto", "eager", "graph", "fused")
WARM_UP_UPDATES = 3  # before a capture: libraries initialize in the first ones


class Execution(ABC):
    """Makes updates of a stack."""

    name: str

    def advance(self, stack: Stack, until: int) -> None:
        """Make updates until `until` have been made in total, and prepare batches in between."""
        while stack.made < until:
            ready = stack.batches.prepare(stack.made)
            count = min(ready, until) - stack.made
            self._make(stack, count)
            stack.made += count

    @abstractmethod
    def _make(self, stack: Stack, count: int) -> None:
        """Make `count` updates."""


class Eager(Execution):
    """One call after the other; the reference for the other paths."""

    name = "eager"

    def _make(self, stack: Stack, count: int) -> None:
        for _ in range(count):
            stack.update()


class Graph(Execution):
    """One captured CUDA graph, replayed; captured again when the stack has changed its size.

    Parameters
    ----------
    update : callable
        The captured function: one update of a stack.
    """

    name = "graph"

    def __init__(self, update: Callable[[Stack], None] = Stack.update) -> None:
        self._update = update
        self._graph: torch.cuda.CUDAGraph | None = None
        self._rows: torch.Tensor | None = None

    def _make(self, stack: Stack, count: int) -> None:
        if self._graph is None or self._rows is not stack.rows:
            self._capture(stack)
        assert self._graph is not None
        for _ in range(count):
            self._graph.replay()

    def _capture(self, stack: Stack) -> None:
        """Record one update; the updates made to warm up are undone."""
        self._graph = None
        state = [stack.rows, *stack.moments, stack.loss, stack.step]
        before = [one.clone() for one in state]
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP_UPDATES):
                self._update(stack)
        torch.cuda.current_stream().wait_stream(side)
        for one, old in zip(state, before, strict=True):
            one.copy_(old)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._update(stack)
        self._graph, self._rows = graph, stack.rows


class Fused(Graph):
    """A captured graph of Triton kernels that do loss, gradient and optimizer in a few launches."""

    name = "fused"

    def __init__(self) -> None:
        super().__init__(fused_update)


def execution(path: str, stack: Stack) -> Execution:
    """Return the execution path of that name, or the fastest one for the stack on its device."""
    if path not in EXECUTION_PATHS:
        raise InputError(f"path must be one of {', '.join(EXECUTION_PATHS)}; got {path!r}.")
    if path == "eager" or (path == "auto" and not stack.rows.is_cuda):
        return Eager()
    if not stack.rows.is_cuda:
        raise InputError(f"The path {path!r} needs a CUDA device; this stack is on {stack.rows.device}.")
    if path == "graph" or (path == "auto" and not (fused_fits(stack) and fused_pays(stack))):
        return Graph()
    if not fused_fits(stack):
        raise InputError("There is no fused kernel for this network, or no Triton here; use the path 'graph'.")
    return Fused()
