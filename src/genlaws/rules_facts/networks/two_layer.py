r"""Training of two-layer networks, which learn their features, on rules and facts.

A two-layer network

.. math:: f(x) = \frac{1}{\sqrt p}\sum_{j=1}^{p} a_j\,\sigma\!\left(\frac{w_j\cdot x}{\sqrt d}\right)

is trained in both layers. Kernel methods pay for remembering: their generalization error falls as
:math:`\alpha^{-1/2}`, that of the Bayes-optimal learner as :math:`\alpha^{-1}`. Many networks are trained at once, on
CPU or GPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, non_negative, one_of, positive, real, whole_number
from genlaws.core.errors import InputError
from genlaws.core.result import question
from genlaws.core.running import Running
from genlaws.ensembles import Checkpoint, Perceptron, TrainedStack, train
from genlaws.ensembles.optimizers import OPTIMIZERS
from genlaws.ensembles.perceptron import ACTIVATIONS
from genlaws.ensembles.training import read_device
from genlaws.rules_facts.networks.runs import MEASURED_COLUMNS, TwoLayerRuns
from genlaws.rules_facts.networks.task import Placement, StackedTask

NETWORK_LOSSES = {"square": "squared", "hinge": "hinge", "logistic": "logistic"}
TWO_LAYER_PATHS = ("auto", "eager", "graph")
DTYPES_BY_NAME = {"float32": torch.float32, "float64": torch.float64}
FIRST_LAYER, READOUT_LAYER = "first", "readout"
LOG_COUNT = 24


@question
def train_two_layer(
    *,
    dimension: int,
    sample_ratio: float,
    fact_fraction: float,
    width: int,
    seeds: Sequence[int],
    activation: str = "relu",
    loss: str = "logistic",
    bias: bool = False,
    optimizer: str = "adamw",
    learning_rate: ArrayLike = 0.01,
    feature_rate: ArrayLike = 1.0,
    weight_decay: ArrayLike = 0.0,
    feature_scale: ArrayLike = 1.0,
    readout_scale: ArrayLike = 1.0,
    batch_size: int | None = None,
    steps: int = 2000,
    log_at: Sequence[int] | None = None,
    test_count: int = 4000,
    device: str = "cpu",
    dtype: str = "float32",
    path: str = "auto",
    checkpoint: Checkpoint | None = None,
    running: Running | None = None,
) -> TwoLayerRuns:
    r"""Train two-layer networks on Gaussian rules and facts, each on a draw of its own.

    Parameters
    ----------
    dimension, sample_ratio, fact_fraction
        Of the task; see :func:`genlaws.rules_facts.draw_gaussian`.
    width : int, at least 1
        p, hidden units.
    seeds : sequence of int
        One for each network, of its draw and of its initial weights.
    activation : {"relu", "tanh", "sigmoid", "identity"}
    loss : {"logistic", "square", "hinge"}
        Mean over the samples of :math:`\log(1+e^{-yf})`, :math:`(f-y)^2` or :math:`\max(0, 1-yf)`.
    bias : bool
        Whether the units and the output have thresholds.
    optimizer : {"adamw", "adam", "sgd"}
    learning_rate : positive number, or one for each network
        η, of the weights :math:`w_{ji}` and :math:`a_j` of the formula above.
    feature_rate : number, or one for each network, not negative
        Factor on η for the first layer. With 0 it stays as it was drawn: random features.
    weight_decay : number, or one for each network, not negative
        λ: with "adamw" weights shrink by the factor :math:`1-\eta\lambda` at each step, with the others
        :math:`\tfrac{\lambda}{2}(|W|^2+|a|^2)` is added to the mean loss.
    feature_scale, readout_scale : number, or one for each network, not negative
        Standard deviation of the :math:`w_{ji}` and of the :math:`a_j` at the start, both uniform. A small
        `readout_scale` makes the features move more before the labels are fitted.
    batch_size : int or None
        Samples in each step, in a new order each epoch; by default all of them.
    steps : int, at least 1
    log_at : sequence of int, optional
        Steps after which to measure; by default 0 and about two dozen, evenly spaced in their logarithm.
    test_count : int, at least 1
        Fresh inputs for the generalization error; the same number of others serves to choose a time to stop.
    device : str
        As torch names it, ``cpu`` or ``cuda``.
    dtype : {"float32", "float64"}
    path : {"auto", "eager", "graph"}
        How to compute; as in ``genlaws.ensembles.train``.
    checkpoint : Checkpoint, optional
        Where an interrupted training is saved.
    running : Running, optional

    Notes
    -----
    A network is stored as W, on inputs divided by √d, and :math:`a/\sqrt p`; rates and decays of the latter are scaled
    so that η and λ have the meaning above (except for the 1e-8 in Adam's denominator). Fresh inputs are the same for
    all networks, each evaluated by the rule of its own draw. The measurements of a network depend on its seed and
    settings alone, up to rounding.

    References
    ----------
    :cite:p:`farne2026`, Section 3.5, as an open question.
    """
    given, p = _read_seeds(seeds), whole_number("width", width, at_least=1)
    rates = _Rates.read(
        len(given),
        learning_rate,
        feature_rate=feature_rate,
        weight_decay=weight_decay,
        feature_scale=feature_scale,
        readout_scale=readout_scale,
    )
    way = one_of("optimizer", optimizer, OPTIMIZERS)
    made = whole_number("steps", steps, at_least=1)
    sizes = (whole_number("dimension", dimension, at_least=1), p, 1)
    name, sigma = NETWORK_LOSSES[one_of("loss", loss, NETWORK_LOSSES)], one_of("activation", activation, ACTIVATIONS)
    network = Perceptron(sizes, sigma, name, bias=bool(bias), parts=(FIRST_LAYER, READOUT_LAYER))
    where = Placement(read_device(device), DTYPES_BY_NAME[one_of("dtype", dtype, DTYPES_BY_NAME)])
    task = StackedTask.draw(
        given, (dimension, sample_ratio, fact_fraction), whole_number("test_count", test_count, at_least=1), name, where
    )
    training = train(
        network,
        task.batches(batch_size),
        seeds=given,
        steps=made,
        optimizer=OPTIMIZERS[way],
        learning_rate=rates.learning_rates(way, p),
        weight_decay=rates.weight_decays(way, p),
        initial_scale=rates.initial_scales(dimension),
        log_at=_read_log_steps(log_at, made),
        measure=task.measurement(network),
        path=one_of("path", path, TWO_LAYER_PATHS),
        checkpoint=checkpoint,
        running=running,
        device=where.device,
        dtype=where.dtype,
    )
    return _as_runs(training, task, rates)


def _as_runs(training: TrainedStack, task: StackedTask, rates: _Rates) -> TwoLayerRuns:
    measured: dict[str, Any] = {
        name: training.measured[name].astype(np.float64) for name in MEASURED_COLUMNS if name in training.measured
    }
    error = measured["generalization_error"]
    return TwoLayerRuns(
        steps=training.steps,
        generalization_error_standard_error=np.sqrt(error * (1.0 - error) / task.test_count),
        **measured,
        seeds=np.array(task.seeds, dtype=np.int64),
        learning_rate=rates.learning_rate,
        weight_decay=rates.weight_decay,
        failed=training.failed,
        device=training.computed.device,
        dtype=training.computed.dtype,
        path=training.computed.path,
    )


@dataclass(frozen=True)
class _Rates:
    """Rates and scales of each network, in the units of the formula."""

    learning_rate: Array
    feature_rate: Array
    weight_decay: Array
    feature_scale: Array
    readout_scale: Array

    @classmethod
    def read(cls, count: int, learning_rate: ArrayLike, **others: ArrayLike) -> _Rates:
        """Return the checked arguments, one number for each network."""
        rate = _per_network("learning_rate", positive("learning_rate", learning_rate), count)
        return cls(rate, **{name: _per_network(name, non_negative(name, one), count) for name, one in others.items()})

    def initial_scales(self, dimension: int) -> dict[str, Array]:
        """Return the factors on the initial values of the parts."""
        # A layer of n inputs starts uniform within ±1/√n, with variance 1/(3n).
        return {
            FIRST_LAYER: math.sqrt(3 * dimension) * self.feature_scale,
            READOUT_LAYER: math.sqrt(3) * self.readout_scale,
        }

    def learning_rates(self, optimizer: str, width: int) -> dict[str, Array]:
        """Return the rates of the stored parts, which carry the factor one over the root of the width."""
        # A step of Adam has the size of the rate in any units; one of plain descent gets the factor twice.
        units = width if optimizer == "sgd" else math.sqrt(width)
        return {FIRST_LAYER: self.learning_rate * self.feature_rate, READOUT_LAYER: self.learning_rate / units}

    def weight_decays(self, optimizer: str, width: int) -> dict[str, Array]:
        """Return the decays of the stored parts."""
        units = math.sqrt(width) if optimizer == "adamw" else width
        return {FIRST_LAYER: self.weight_decay, READOUT_LAYER: self.weight_decay * units}


def _per_network(name: str, values: Array, count: int) -> Array:
    if values.shape not in {(), (count,)}:
        raise InputError(f"{name} must be one number or {count}, one for each network; got shape {values.shape}.")
    return np.broadcast_to(values, (count,)).copy()


def _read_seeds(seeds: Sequence[int]) -> list[int]:
    given = np.asarray(seeds)
    if given.ndim != 1 or not given.size:
        raise InputError(f"seeds must be a sequence of at least one whole number; got shape {given.shape}.")
    return [whole_number("seeds", one) for one in given.tolist()]


def _read_log_steps(log_at: Sequence[int] | None, steps: int) -> list[int]:
    if log_at is None:
        return sorted({0, *(int(one) for one in np.geomspace(1, steps, LOG_COUNT).round())})
    given = real("log_at", np.asarray(log_at))
    if given.ndim != 1 or not given.size:
        raise InputError(f"log_at must name at least one step; got shape {given.shape}.")
    return sorted({whole_number("log_at", one, at_most=steps) for one in np.asarray(log_at).tolist()})
