r"""Slots against one shared map: how far a compositional code leaves the front of a single space.

Networks learn from triples, a probe and two items, which item is nearer; what they reach in both tests is computed
exactly over all triples of a set of stimuli, and laid beside what one radial similarity reaches at the same
identification.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from genlaws.ensembles import Checkpoint, Differentiated, FreshDraws, Training, train
from genlaws.numerics.arguments import Array, Whole, non_negative, one_of, positive, scalar, whole_number
from genlaws.numerics.errors import InputError
from genlaws.numerics.intervals import Estimate, from_standard_error
from genlaws.semanticity.feature_rings import TRUTHS, LevelPairs, circle_generalisation, draw_stimuli, level_pairs
from genlaws.semanticity.slot_architecture import COMBINATIONS, feature_network
from genlaws.semanticity.slot_trials import SetTests, draw_triples

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("slots", "shared")
LOGS = 24  # measurements, if it is not said when
FIRST_LOG = 10
PATHS = ("auto", "eager", "graph")
DTYPES = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True)
class SlotRuns:
    """Networks of one kind, measured along their training.

    Ties are left out: of the triples of training, and of those of the test sets.

    Attributes
    ----------
    kind, combine, truth : str
    slots, ring_size, width : int
    seeds : tuple of int
    steps : int array of shape (logs,)
    generalisation, identification : arrays of shape (networks, logs)
        Over all triples, or pairs, of different stimuli of the network's test set.
    above_circle : array of shape (networks, logs)
        Generalisation less that of the linear similarity on the circle at the same identification.
    above_set : array of shape (networks, logs)
        Generalisation less the most that the constant or the linear similarity of the true distance reaches, at any
        resolution, on the same test set at the same identification.
    stimulus_count : int
        Stimuli of each test set: all there are, or drawn at random for each seed.
    maps : array of shape (networks, slots, values, width)
        The vectors after training.
    failed : bool array of shape (networks,)
        Whether the vectors became infinite or not a number.
    device, dtype, path : str
        What was computed with.
    """

    kind: str
    combine: str
    truth: str
    slots: int
    ring_size: int
    width: int
    seeds: tuple[int, ...]
    steps: Whole
    generalisation: Array
    identification: Array
    above_circle: Array
    above_set: Array
    stimulus_count: int
    maps: Array
    failed: np.ndarray
    device: str
    dtype: str
    path: str

    @property
    def peak_generalisation(self) -> Array:
        """Largest generalisation of each network along its training, (networks,)."""
        return np.asarray(self.generalisation.max(axis=1))

    @property
    def excess_at_peak(self) -> Array:
        """`above_set` of each network where its generalisation is largest, (networks,)."""
        best = np.argmax(np.where(np.isnan(self.generalisation), -np.inf, self.generalisation), axis=1)
        return np.asarray(self.above_set[np.arange(len(best)), best])

    @property
    def largest_excess(self) -> Array:
        """Largest `above_set` of each network along its training, (networks,).

        An untrained network lies near guessing, where the front is near too; this may be such a point.
        """
        return np.asarray(self.above_set.max(axis=1))

    def mean(self, name: str) -> Estimate:
        """Return the mean over networks of a value such as ``excess_at_peak``, or of its last log, and the interval."""
        values = np.asarray(getattr(self, name), dtype=np.float64)
        last = values[:, -1] if values.ndim == 2 else values
        error = float(last.std(ddof=1) / np.sqrt(last.size)) if last.size > 1 else float("nan")
        return from_standard_error(float(last.mean()), error, last.size)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per network and log."""
        import pandas as pd  # noqa: PLC0415

        shape = self.generalisation.shape
        about = {name: getattr(self, name) for name in ("kind", "combine", "truth", "slots", "ring_size", "width")}
        measured = ("generalisation", "identification", "above_circle", "above_set")
        return pd.DataFrame(
            {
                "seed": np.broadcast_to(np.array(self.seeds)[:, None], shape).ravel(),
                "step": np.broadcast_to(self.steps, shape).ravel(),
                **{name: getattr(self, name).ravel() for name in measured},
            }
        ).assign(**about)


def train_slot_networks(
    *,
    slots: int = 3,
    ring_size: int = 10,
    kind: str = "slots",
    combine: str = "max",
    truth: str = "mean",
    width: int = 10,
    seeds: Sequence[int] = tuple(range(10)),
    steps: int = 3000,
    batch_size: int = 128,
    learning_rate: float = 7e-3,
    reconstruction_weight: float = 0.0,
    log_at: Sequence[int] | None = None,
    stimulus_count: int = 150,
    device: str = "cpu",
    dtype: str = "float32",
    path: str = "auto",
    checkpoint: Checkpoint | None = None,
) -> SlotRuns:
    r"""Train networks with a map for each feature, or with one for all, to tell which of two items is nearer.

    .. math:: L = -\log\frac{g(x_1,p)}{g(x_1,p)+g(x_2,p)} + r\,\langle(\mathrm{ReLU}(W^TWp)-p)^2\rangle

    Symbols: :math:`x_1` is the item truly nearer to the probe p; r is ``reconstruction_weight``. Each step has fresh
    triples of stimuli drawn uniformly; those whose items are equally near, or one of which is the probe itself, are
    left out of the batch. Adam, from vectors uniform on [0, 2].

    Parameters
    ----------
    slots : int >= 1
        Features of a stimulus.
    ring_size : int >= 3
        Values of each feature, on a ring.
    kind : {"slots", "shared"}
        One map for each feature, or one for all; see :mod:`genlaws.semanticity.slot_architecture`.
    combine : {"max", "mean", "product"}
        How the similarities of the slots make one. A shared map has nothing to combine.
    truth : {"mean", "min"}
        True distance: mean over the features of the distance on the ring, or the smallest of them.
    width : int >= 1
        Hidden units of each map. Slots have `slots` times as many in all.
    seeds : sequence of int
        One for each network: of its vectors, its triples and its test set.
    steps, batch_size : int
    learning_rate : float > 0
    reconstruction_weight : float >= 0
    log_at : sequence of int, optional
        Steps at which to measure; some 24, closer together in the beginning, if left out.
    stimulus_count : int >= 3
        Stimuli of a test set, unless there are fewer in all; the work grows with its cube.
    device : str
    dtype : {"float32", "float64"}
    path : {"auto", "eager", "graph"}
        How the updates are made, as in `genlaws.ensembles.train`.
    checkpoint : Checkpoint, optional

    Returns
    -------
    SlotRuns

    References
    ----------
    :cite:p:`nurisso2026`, experiments with compositional stimuli; with one feature of 50 values and width 10 the ReLU
    network on the circle.

    Notes
    -----
    The paper weights the choice by 0.1 and the reconstruction by 1: ``reconstruction_weight`` 10, as Adam does not see
    a common factor.
    """
    network = feature_network(
        one_of("kind", kind, KINDS),
        whole_number("slots", slots, at_least=1),
        whole_number("ring_size", ring_size, at_least=3),
        whole_number("width", width, at_least=1),
        one_of("combine", combine, COMBINATIONS),
    )
    one_of("truth", truth, TRUTHS)
    rows = whole_number("batch_size", batch_size, at_least=1)
    numbers = _checked_seeds(seeds)
    r = float(scalar("reconstruction_weight", non_negative("reconstruction_weight", reconstruction_weight)))
    rate = float(scalar("learning_rate", positive("learning_rate", learning_rate)))
    updates = whole_number("steps", steps)
    place = _checked_device(device, one_of("path", path, PATHS))
    wanted = whole_number("stimulus_count", stimulus_count, at_least=3)
    sets = np.stack([draw_stimuli(slots, ring_size, wanted, one) for one in numbers])
    tables = _tables(sets, ring_size, truth)
    training = train(
        Differentiated(network.layout, lambda values, batch: network.losses(values, batch, r)) if r else network,
        FreshDraws(draw_triples(slots, ring_size, truth, rows), numbers, place),
        seeds=numbers,
        steps=updates,
        learning_rate=rate,
        log_at=_log_steps(updates, log_at),
        measure=SetTests(network, sets, truth, place),
        device=place,
        dtype=DTYPES[one_of("dtype", dtype, DTYPES)],
        path=path,
        checkpoint=checkpoint,
    )
    about = {"kind": kind, "combine": combine, "truth": truth, "slots": slots, "ring_size": ring_size, "width": width}
    return _result(about, numbers, tables, sets.shape[1], training)


def _tables(sets: Whole, ring_size: int, truth: str) -> list[LevelPairs]:
    """Return the levels of distance of each set; where all sets are one, it is counted once."""
    if (sets == sets[0]).all():
        return [level_pairs(sets[0], ring_size, truth)] * len(sets)
    return [level_pairs(one, ring_size, truth) for one in sets]


def _result(
    about: dict[str, Any], seeds: list[int], tables: list[LevelPairs], stimulus_count: int, training: Training
) -> SlotRuns:
    """Lay the measurements beside the fronts."""
    nearer, named = (np.asarray(training.measured[name]) for name in ("generalisation", "identification"))
    at = np.where(np.isfinite(named), named, 0.5)
    best = np.stack([table.best_generalisation(row) for table, row in zip(tables, at, strict=True)])
    computed = training.computed
    return SlotRuns(
        **about,
        seeds=tuple(seeds),
        steps=training.steps,
        generalisation=nearer,
        identification=named,
        above_circle=nearer - circle_generalisation(at),
        above_set=nearer - best,
        stimulus_count=stimulus_count,
        maps=training.values["maps"].cpu().numpy().astype(np.float64),
        failed=training.failed,
        device=computed.device,
        dtype=computed.dtype,
        path=computed.path,
    )


def _checked_seeds(seeds: Sequence[int]) -> list[int]:
    if isinstance(seeds, str) or not isinstance(seeds, Sequence | np.ndarray) or not len(seeds):
        raise InputError(f"seeds must be a list of whole numbers, one for each network; got {seeds!r}.")
    return [whole_number("seeds", one) for one in seeds]


def _checked_device(device: str, path: str) -> torch.device:
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError):
        raise InputError(f"device must be a name such as cpu or cuda; got {device!r}.") from None
    if place.type not in {"cpu", "cuda"} or (place.type == "cuda" and not torch.cuda.is_available()):
        raise InputError(f"device must be one that torch finds here; got {device!r}. The processor is called cpu.")
    if path == "graph" and place.type == "cpu":
        raise InputError(f"path must be auto or eager on a processor; got {path!r}. A graph needs a CUDA device.")
    return place


def _log_steps(steps: int, log_at: Sequence[int] | None) -> list[int]:
    if log_at is None:
        later = np.geomspace(min(FIRST_LOG, max(steps, 1)), max(steps, 1), LOGS - 1)
        return sorted({0, *np.round(later).astype(int).tolist(), steps} & set(range(steps + 1)))
    if isinstance(log_at, str) or not isinstance(log_at, Sequence | np.ndarray) or not len(log_at):
        raise InputError(f"log_at must be a list of at least one step; got {log_at!r}.")
    return [whole_number("log_at", one, at_most=steps) for one in log_at]
