"""Checkpoints of an unfinished training: the state that the next update needs, and the measurements so far."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from genlaws.core.errors import InputError
from genlaws.ensembles.result import Log
from genlaws.ensembles.stack import Stack

MEASURED_PREFIX = "measured."


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a training is saved.

    Attributes
    ----------
    file : path
        Written under another name first and then moved, so it is complete or absent.
    every : int
        Updates between two savings.
    """

    file: str | os.PathLike[str]
    every: int = 1000

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InputError(f"every must be at least 1; got {self.every}.")
        if self.every != int(self.every):
            raise InputError(f"every must be a whole number; got {self.every}.")

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.file)

    def remove(self) -> None:
        """Delete the file, when the training is done."""
        self.path.unlink(missing_ok=True)


@dataclass
class PartialResult:
    """The part of the result that is already known."""

    log: Log
    rows: torch.Tensor
    updates: np.ndarray
    finished_at: np.ndarray
    failed_at: np.ndarray


def training_fingerprint(**settings: Any) -> str:
    """Return a digest of everything that a training depends on."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=_to_json).encode()).hexdigest()


def describe_architecture(architecture: Any) -> dict[str, Any]:
    """Return the kind of an architecture and its settings, in which two of the same layout may differ."""
    found: dict[str, Any] = {"kind": type(architecture).__qualname__}
    for name, value in vars(architecture).items():
        parts = value if isinstance(value, tuple) else (value,)
        if all(isinstance(one, (bool, int, float, str)) for one in parts):
            found[name] = repr(value)
        elif isinstance(value, torch.nn.Module):
            found[name] = str(value)
        elif hasattr(value, "layout"):
            found[name] = describe_architecture(value)
        elif callable(value):
            found[name] = getattr(value, "__qualname__", type(value).__qualname__)
    return found


def _to_json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return repr(value)


def save(checkpoint: Checkpoint, fingerprint: str, stack: Stack, progress: PartialResult, expected_logs: int) -> None:
    """Write the state of a training."""
    progress.log.collect(expected_logs)
    arrays: dict[str, Any] = {
        "fingerprint": np.array(fingerprint),
        "made": np.array(stack.made),
        "stack_rows": stack.rows.cpu().numpy(),
        "number": stack.number.cpu().numpy(),
        "loss": stack.loss.cpu().numpy(),
        "failed": stack.failed.cpu().numpy(),
        "rows": progress.rows.cpu().numpy(),
        "log_steps": np.array(progress.log.steps, dtype=np.int64),
        "updates": progress.updates,
        "finished_at": progress.finished_at,
        "failed_at": progress.failed_at,
        **{f"moment.{place}": one.cpu().numpy() for place, one in enumerate(stack.moments)},
        **{MEASURED_PREFIX + name: values for name, values in progress.log.arrays.items()},
    }
    path = checkpoint.path
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.half")
    try:
        with temporary.open("wb") as file:
            np.savez(file, **arrays)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load(checkpoint: Checkpoint, fingerprint: str, stack: Stack, progress: PartialResult) -> bool:
    """Restore a saved state of a stack; return whether there was one.

    Raises
    ------
    ValueError
        If the file belongs to another training, or cannot be read.
    """
    if not checkpoint.path.exists():
        return False
    saved = _read_arrays(checkpoint.path)
    if str(saved["fingerprint"]) != fingerprint:
        raise InputError(
            f"The checkpoint {checkpoint.path} belongs to another training: settings, seeds or data differ. "
            "Delete it or name another file."
        )
    number = torch.as_tensor(saved["number"], device=stack.rows.device)
    if len(number) < len(stack):
        stack.keep(number)
    stack.rows.copy_(torch.as_tensor(saved["stack_rows"]))
    stack.loss.copy_(torch.as_tensor(saved["loss"]))
    stack.failed.copy_(torch.as_tensor(saved["failed"]))
    for place, one in enumerate(stack.moments):
        one.copy_(torch.as_tensor(saved[f"moment.{place}"]))
    stack.go_to(int(saved["made"]))
    progress.log.steps = saved["log_steps"].tolist()
    progress.log.arrays = {
        name.removeprefix(MEASURED_PREFIX): values for name, values in saved.items() if name.startswith(MEASURED_PREFIX)
    }
    progress.rows.copy_(torch.as_tensor(saved["rows"]))
    progress.updates[:] = saved["updates"]
    progress.finished_at[:] = saved["finished_at"]
    progress.failed_at[:] = saved["failed_at"]
    return True


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return all arrays of a file; raise an error if it cannot be read."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
            found = {name: saved[name] for name in saved.files}
    except (ValueError, EOFError, KeyError, AttributeError, TypeError, zlib.error, zipfile.BadZipFile) as error:
        raise InputError(f"The checkpoint {path} cannot be read; delete it to start again.") from error
    if "fingerprint" not in found:
        raise InputError(f"The file {path} is not a checkpoint; name another file.")
    return found
