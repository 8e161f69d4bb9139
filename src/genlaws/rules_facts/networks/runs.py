"""The result of training two-layer networks on rules and facts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, Mask, Whole
from genlaws.core.estimate import bootstrap_mean
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Summary, text_table

ERRORS = ("generalization_error", "memorization_error")
MEASURED_COLUMNS = (
    "generalization_error",
    "generalization_error_standard_error",
    "choice_error",
    "memorization_error",
    "rule_sample_error",
    "training_loss",
    "alignment",
    "direction_error",
)


@dataclass(frozen=True, eq=False, repr=False)
class TwoLayerRuns(Result):
    r"""Networks along their training; arrays are (networks, logs) unless stated otherwise.

    Attributes
    ----------
    steps : int array, (logs,)
        Updates made before each measurement.
    generalization_error, generalization_error_standard_error : arrays
        Share of fresh inputs on which the sign of the output breaks the rule, and its standard error.
    choice_error : array
        The same on other fresh inputs, by which a time to stop is chosen.
    memorization_error : array
        Share of the facts whose label is not reproduced; NaN where a draw has no fact.
    rule_sample_error : array
        The same for the training samples that follow the rule; NaN where there are none.
    training_loss : array
        Mean loss over the training set, without weight decay.
    alignment : array
        :math:`|W w^*|^2/(|W|^2 |w^*|^2)`: 1/d on average for random units, 1 if all are parallel to the rule.
    direction_error : array
        Generalization error of the linear map :math:`\sum_j a_j w_j \cdot x`, exactly: the angle to the rule over π.
    seeds : int array, (networks,)
    learning_rate, weight_decay : arrays, (networks,)
    failed : array of bool, (networks,)
        Whether the weights became infinite or not a number.
    device, dtype, path : str
        What the numbers were computed with.
    """

    steps: Whole
    generalization_error: Array
    generalization_error_standard_error: Array
    choice_error: Array
    memorization_error: Array
    rule_sample_error: Array
    training_loss: Array
    alignment: Array
    direction_error: Array
    seeds: Whole
    learning_rate: Array
    weight_decay: Array
    failed: Mask
    device: str = "cpu"
    dtype: str = "float32"
    path: str = "eager"

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def best_log(self) -> Whole:
        """The log of least `choice_error`, the best time to stop for the rule; (networks,), -1 if none."""
        known = np.isfinite(self.choice_error)
        place = np.where(known, self.choice_error, np.inf).argmin(axis=1)
        return np.where(known.any(axis=1), place, -1)

    @property
    def memorized_log(self) -> Whole:
        """The first log from which on every fact is reproduced, (networks,); -1 if the last log misses one."""
        memorized = np.logical_and.accumulate((self.memorization_error == 0.0)[:, ::-1], axis=1)[:, ::-1]
        return np.where(memorized.any(axis=1), memorized.argmax(axis=1), -1)

    def at(self, name: str, log: Whole) -> Array:
        """Return one measured number of each network at a log of its own, (networks,); NaN where the log is -1."""
        values = np.asarray(getattr(self, name))[np.arange(len(self)), log]
        return np.where(np.asarray(log) >= 0, values, np.nan)

    def summary(self) -> Summary:
        """Return both errors at the end, at the best time to stop, and when every fact is reproduced."""
        last = np.full(len(self), len(self.steps) - 1)
        moments = {"at the end": last, "at the best time for the rule": self.best_log, "memorized": self.memorized_log}
        header = ("", "networks", "generalization error", "memorization error")
        rows = [header] + [
            (label, str((log >= 0).sum()), *(str(bootstrap_mean(self.at(name, log))) for name in ERRORS))
            for label, log in moments.items()
        ]
        failed = [f"{self.failed.sum()} of {len(self)} networks became infinite."] if self.failed.any() else []
        return Summary(table=text_table(rows), warnings=failed)

    def to_frame(self) -> DataFrame:
        """Return one row for each network and log."""
        networks, logs = self.generalization_error.shape
        about = {name: np.repeat(getattr(self, name), logs) for name in ("seeds", "learning_rate", "weight_decay")}
        measured = {name: getattr(self, name).ravel() for name in MEASURED_COLUMNS}
        return frame_of({"network": np.repeat(np.arange(networks), logs), **about}).assign(
            step=np.tile(self.steps, networks), **measured
        )
