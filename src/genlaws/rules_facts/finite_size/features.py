r"""A layer of random features of finite width.

.. math:: \phi(x) = \sigma(F x/\sqrt d)/\sqrt p, \qquad F_{ij} \sim N(0, 1), \qquad K(x, x') = \phi(x) \cdot \phi(x')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, whole_number
from genlaws.core.errors import InputError
from genlaws.core.seeds import generator_of
from genlaws.rules_facts.finite_size.gram import blocks
from genlaws.rules_facts.kernels.deep import vectorized
from genlaws.rules_facts.kernels.families import FAMILIES
from genlaws.rules_facts.kernels.kernel import read_parameters

INPUTS_PER_BLOCK = 1024  # whose features are computed at once


@dataclass(frozen=True)
class FeatureLayer:
    """Random features of an activation.

    Attributes
    ----------
    weights : array, (width, d)
    activation : callable
        σ, vectorized.
    name : str
    """

    weights: Array
    activation: Callable[[Array], Array]
    name: str

    @classmethod
    def draw(
        cls,
        activation: str | Callable[..., object],
        width: int,
        dimension: int,
        seed: int | np.random.Generator = 0,
    ) -> FeatureLayer:
        """Draw the weights.

        Parameters
        ----------
        activation : str or callable
            A function of one number, or a name of the theory such as ``"erf"``, ``"relu"`` or ``"polynomial:3,0.5"``.
        width : int
            p, the number of features.
        dimension : int
            d, the number of inputs.
        seed : int or Generator
        """
        shape = (whole_number("width", width, at_least=1), whole_number("dimension", dimension, at_least=1))
        function, name = read_activation(activation)
        return cls(generator_of(seed).standard_normal(shape), function, name)

    def __call__(self, inputs: Array) -> Array:
        """Return the features of each input, (n, width)."""
        width, dimension = self.weights.shape
        if inputs.ndim != 2 or inputs.shape[1] != dimension:
            raise InputError(f"inputs must have {dimension} features; got shape {inputs.shape}.")
        out = np.empty((len(inputs), width))
        for rows in blocks(len(inputs), INPUTS_PER_BLOCK):
            out[rows] = self.activation(inputs[rows] @ self.weights.T / np.sqrt(dimension))
        out /= np.sqrt(width)
        return out


def read_activation(activation: str | Callable[..., object]) -> tuple[Callable[[Array], Array], str]:
    """Return a vectorized activation and its name."""
    if not isinstance(activation, str):
        return vectorized("activation", activation), getattr(activation, "__name__", "activation")
    name = activation.strip()
    label, colon, text = name.partition(":")
    known = {one: family for one, family in FAMILIES.items() if family.activation is not None}
    if label not in known:
        raise InputError(f"activation must be a function or one of {', '.join(known)}; got {activation!r}.")
    family = known[label]
    sigma = family.activation
    assert sigma is not None
    parameters = family.check(*read_parameters(family, text.split(",") if colon else []))
    return lambda z: np.asarray(sigma(z, *parameters)), name
