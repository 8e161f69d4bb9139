r"""Gram matrices of real inputs, computed in blocks of rows.

.. math:: K_{ij} = k(x_i, x_j'), \qquad p_{ij} = x_i \cdot x_j'/d

The products cost one matrix product and do not depend on the kernel: :func:`inner_products` computes them once for any
number of kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, whole_number
from genlaws.numerics.errors import InputError
from genlaws.rules_facts.finite_size.input_kernel import InputKernel, read_input_kernel
from genlaws.rules_facts.kernels import Kernel

# Rows at once: few enough that a block stays in the cache while the kernel's function passes over it.
BLOCK_SIZE = 256


@dataclass(frozen=True)
class Products:
    """Products and squared lengths of two sets of inputs, divided by the dimension.

    Attributes
    ----------
    products : array, (n, m)
    left, right : array, (n,) and (m,)
        Squared lengths.
    symmetric : bool
        Whether both sets are the same; the matrix is then exactly symmetric.
    """

    products: Array
    left: Array
    right: Array
    symmetric: bool

    def gram(
        self, kernel: str | Kernel | Callable[..., object] | InputKernel | None, *, block_size: int = BLOCK_SIZE
    ) -> Array:
        """Return the Gram matrix of a kernel. Its entries do not depend on `block_size`."""
        chosen = read_input_kernel(kernel)
        if not chosen.any_length and not self.of_unit_length:
            raise InputError(f"The kernel {chosen.name} needs inputs of squared length d; use normalise=True.")
        out = np.empty_like(self.products)
        for rows in blocks(len(out), block_size):
            with np.errstate(over="ignore", invalid="ignore"):
                out[rows] = chosen.function(self.products[rows], self.left[rows, None], self.right)
            if not np.isfinite(out[rows]).all():
                raise InputError(f"The kernel {chosen.name} overflows at inputs this long; scale them or normalise.")
        return out

    @property
    def of_unit_length(self) -> bool:
        """Whether all inputs have squared length d, up to rounding."""
        return bool(np.allclose(self.left, 1.0, atol=1e-9, rtol=0) and np.allclose(self.right, 1.0, atol=1e-9, rtol=0))


def inner_products(inputs: ArrayLike, others: ArrayLike | None = None, *, normalise: bool = False) -> Products:
    """Return the products of two sets of inputs, or of one set with itself.

    Parameters
    ----------
    inputs, others : array_like, (n, d) and (m, d)
    normalise : bool
        Scale every input to squared length d first, so that the product is a correlation. An input of length zero has
        no direction and is refused.
    """
    left = read_inputs("inputs", inputs, normalise)
    right = left if others is None else read_inputs("others", others, normalise)
    if left.shape[1] != right.shape[1]:
        raise InputError(f"inputs and others must have as many features; got {left.shape[1]} and {right.shape[1]}.")
    dimension = left.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        left_squares, right_squares = (np.einsum("id,id->i", x, x) / dimension for x in (left, right))
        products = left @ right.T
    # No product is larger than the squared lengths.
    if not (np.isfinite(left_squares).all() and np.isfinite(right_squares).all()):
        raise InputError("inputs must be smaller: their squared lengths overflow. Scale them or use normalise=True.")
    products /= dimension
    if others is None:
        # The two halves differ by rounding; with the mean and the lengths themselves the Gram matrix is symmetric.
        products = 0.5 * (products + products.T)
        np.fill_diagonal(products, left_squares)
    return Products(products, left_squares, right_squares, others is None)


def gram_matrix(
    kernel: str | Kernel | Callable[..., object] | InputKernel | None,
    inputs: ArrayLike,
    others: ArrayLike | None = None,
    *,
    normalise: bool = False,
    block_size: int = BLOCK_SIZE,
) -> Array:
    """Return the kernel of every input with every other, (n, m).

    Parameters
    ----------
    kernel : str, Kernel, callable or None
        As in :func:`~genlaws.rules_facts.finite_size.read_input_kernel`.
    inputs, others : array_like, (n, d) and (m, d)
        The second set is the first if not given; the matrix is then exactly symmetric.
    normalise : bool
        Scale every input to squared length d first.
    block_size : int
        Rows on which the kernel's function is evaluated at once; it changes the speed and nothing else.
    """
    chosen = read_input_kernel(kernel)
    products = inner_products(inputs, others, normalise=normalise)
    return products.gram(chosen, block_size=block_size)


def blocks(count: int, block_size: int) -> Iterator[slice]:
    """Yield slices that cover `count` rows."""
    size = whole_number("block_size", block_size, at_least=1)
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def read_inputs(name: str, inputs: ArrayLike, normalise: bool) -> Array:
    """Return the checked inputs, each scaled to squared length d if `normalise` is true."""
    array = np.asarray(inputs, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name} must be a matrix with a row per sample; got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite; {int((~np.isfinite(array).all(axis=1)).sum())} rows are not.")
    if not normalise:
        return array
    largest = np.abs(array).max(axis=1, keepdims=True)
    if (largest == 0.0).any():
        raise InputError(f"{name} must have a direction; {int((largest == 0.0).sum())} rows are zero.")
    # In units of its largest entry, the square of an input neither overflows nor vanishes.
    shape = array / largest
    length = np.sqrt(np.einsum("id,id->i", shape, shape))
    return np.asarray(shape * (np.sqrt(array.shape[1]) / length)[:, None])
