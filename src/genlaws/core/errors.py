"""The ways a call can fail: the input was wrong, or the computation did not finish or was stopped."""

from __future__ import annotations

from typing import Any


class InputError(ValueError):
    """An argument lies outside what the formula allows.

    The message states what was wrong, what is allowed, what was given and, where it helps, what to do.
    On the command line it becomes exit code 2.
    """


class ConvergenceError(RuntimeError):
    """A solver stopped before its residual was small enough.

    Attributes
    ----------
    last_state : object
        The result as it stood when the solver stopped, for inspection by the caller.
    """

    def __init__(self, message: str, last_state: Any = None) -> None:
        super().__init__(message)
        self.last_state = last_state


class StoppedError(Exception):
    """A long computation was cancelled by its caller; see :class:`~genlaws.core.running.Running`."""
