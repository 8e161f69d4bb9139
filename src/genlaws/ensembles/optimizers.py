r"""Gradient descent, Adam and AdamW on whole stacks, with separate rates for each network and part.

Each optimizer does on every row what torch.optim does on one network, in the same order of operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from genlaws.core.errors import InputError
from genlaws.ensembles.architecture import Layout


@dataclass(frozen=True)
class PartRates:
    """Learning rate and weight decay of one part; tensors of shape (networks, 1)."""

    columns: slice
    learning_rate: Tensor
    weight_decay: Tensor
    decays: bool

    def select(self, chosen: Tensor) -> PartRates:
        """Return the rates of some of the networks."""
        return PartRates(self.columns, self.learning_rate[chosen], self.weight_decay[chosen], self.decays)


def rates_of(
    layout: Layout, learning_rate: Mapping[str, np.ndarray], weight_decay: Mapping[str, np.ndarray], like: Tensor
) -> list[PartRates]:
    """Return the rates of each trained part, in the type and on the device of a tensor."""

    def column(numbers: np.ndarray) -> Tensor:
        """Return numbers as a column."""
        return torch.as_tensor(numbers, dtype=like.dtype, device=like.device)[:, None]

    return [
        PartRates(
            layout.columns[part],
            column(learning_rate[part]),
            column(weight_decay[part]),
            bool(np.any(weight_decay[part])),
        )
        for part in layout.trained_parts
    ]


@dataclass(frozen=True)
class Portion:
    """The numbers of one part of all networks; tensors of shape (networks, numbers).

    Attributes
    ----------
    rows, gradient : tensors
    moments : list of tensors
        State of the optimizer, one tensor per name in its `moments`.
    spare : tensor
        Work memory.
    """

    rows: Tensor
    gradient: Tensor
    moments: list[Tensor]
    spare: Tensor


@runtime_checkable
class Optimizer(Protocol):
    """Changes the rows of a stack, given their gradient."""

    @property
    def moments(self) -> tuple[str, ...]:
        """Names of the state tensors."""

    def update(self, part: Portion, rates: PartRates, step: Tensor) -> None:
        """Change the rows of one part in place.

        Parameters
        ----------
        part : Portion
        rates : PartRates
        step : double-precision tensor without axes
            Number of this update, counted from 1. A tensor, so that a captured graph can count.
        """


@dataclass(frozen=True)
class Sgd:
    r"""Gradient descent, :math:`\theta \leftarrow \theta - \eta\,(g + \lambda\theta)`, with momentum if wanted.

    Parameters
    ----------
    momentum : float in [0, 1)
        The velocity :math:`v \leftarrow \mu v + g` then takes the place of the gradient, as in torch.optim.
    """

    momentum: float = 0.0

    def __post_init__(self) -> None:
        _check_below_one(self)

    @property
    def moments(self) -> tuple[str, ...]:
        """Names of the state tensors."""
        return ("velocity",) if self.momentum else ()

    def update(self, part: Portion, rates: PartRates, step: Tensor) -> None:
        """Change the rows in place."""
        gradient = _with_decay(part, rates)
        if self.momentum:
            (velocity,) = part.moments
            gradient = velocity.mul_(self.momentum).add_(gradient)
        part.rows.sub_(torch.mul(gradient, rates.learning_rate, out=part.spare))


@dataclass(frozen=True)
class Adam:
    r"""Adam :cite:p:`kingma2015`; weight decay is added to the gradient.

    .. math:: \theta \leftarrow \theta - \frac{\eta}{1-\beta_1^t}\,
        \frac{m}{\sqrt{v}/\sqrt{1-\beta_2^t} + \epsilon}
    """

    first_decay: float = 0.9
    second_decay: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _check_below_one(self)

    @property
    def moments(self) -> tuple[str, ...]:
        """Names of the state tensors."""
        return ("first", "second")

    def update(self, part: Portion, rates: PartRates, step: Tensor) -> None:
        """Change the rows in place."""
        self._descend(part, _with_decay(part, rates), rates, step)

    def _descend(self, part: Portion, gradient: Tensor, rates: PartRates, step: Tensor) -> None:
        m, v = part.moments
        m.lerp_(gradient, 1.0 - self.first_decay)
        v.mul_(self.second_decay).addcmul_(gradient, gradient, value=1.0 - self.second_decay)
        first = (1.0 - self.first_decay**step).to(m.dtype)
        second = (1.0 - self.second_decay**step).sqrt().to(m.dtype)
        denominator = torch.sqrt(v, out=part.spare).div_(second).add_(self.epsilon)
        part.rows.sub_(torch.div(m, denominator, out=part.spare).mul_(rates.learning_rate / first))


@dataclass(frozen=True)
class AdamW(Adam):
    r"""Adam with decoupled weight decay :cite:p:`loshchilov2019`.

    First :math:`\theta \leftarrow (1-\eta\lambda)\theta`, then Adam's update without decay.
    """

    def update(self, part: Portion, rates: PartRates, step: Tensor) -> None:
        """Change the rows in place."""
        if rates.decays:
            part.rows.mul_(1.0 - rates.learning_rate * rates.weight_decay)
        self._descend(part, part.gradient, rates, step)


def _with_decay(part: Portion, rates: PartRates) -> Tensor:
    """Return the gradient, plus that of the weight decay where there is one."""
    if not rates.decays:
        return part.gradient
    return torch.addcmul(part.gradient, part.rows, rates.weight_decay, out=part.spare)


def _check_below_one(optimizer: Sgd | Adam) -> None:
    """Refuse settings outside [0, 1)."""
    for one in fields(optimizer):
        value = getattr(optimizer, one.name)
        if not 0.0 <= value < 1.0:
            raise InputError(f"{one.name} must lie in [0, 1); got {value}.")


OPTIMIZERS: dict[str, Optimizer] = {"adam": Adam(), "adamw": AdamW(), "sgd": Sgd()}
"""The usual optimizers by name."""
