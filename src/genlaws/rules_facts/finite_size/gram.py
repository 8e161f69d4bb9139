r"""Gram matrices of real inputs, and their effective :math:`(\mu_1, \mu_\star)` and dimension.

.. math:: K_{ij} = k(x_i, x_j'), \qquad p_{ij} = x_i \cdot x_j'/d

Gram matrices are computed in blocks of rows. The products do not depend on the kernel: :func:`inner_products` computes
them once for any number of kernels.

In high dimension a Gram matrix acts like :math:`\mu_0^2 11^\top + \mu_1^2 XX^\top/d + \mu_\star^2 I`. Real inputs add
terms :math:`g(x_i) + g(x_j)` of a single input each, such as its length; they move all outputs together and carry no
information about a rule. So both the Gram matrix and the products :math:`p_{ij} = x_i \cdot x_j/d` are centered: with
:math:`r_i` the mean of row i without its diagonal and :math:`\bar r` the mean of those,
:math:`\tilde K_{ij} = K_{ij} - r_i - r_j + \bar r`. The regression of the off-diagonal :math:`\tilde K` on
:math:`\tilde p` has the slope :math:`\mu_1^2`, and the remainder on the diagonal is

.. math:: \mu_\star^2 = \overline{\tilde K_{ii}} - \mu_1^2\,\overline{\tilde p_{ii}}.

For independent inputs the correlations :math:`c_{ij} = p_{ij}/\sqrt{p_{ii}p_{jj}}` have variance 1/d; real inputs act
as if they had :math:`d_{eff} = 1/\overline{c_{ij}^2}` dimensions, the participation ratio of their covariance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, whole_number
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.parameters import Parameter
from genlaws.core.plain import parts_of
from genlaws.core.result import Result, Row, Summary, question
from genlaws.rules_facts.finite_size.input_kernel import KernelLike, read_input_kernel
from genlaws.rules_facts.kernels.kernel import Kernel

# Few enough that a block stays in the cache while the kernel's function passes over it.
ROWS_PER_BLOCK = 256
# A μ² below this share of the mean diagonal is rounding.
MU_SQUARED_ROUNDING = 1e-12


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

    def gram(self, kernel: KernelLike, *, block_size: int = ROWS_PER_BLOCK) -> Array:
        """Return the Gram matrix of a kernel. Its entries do not depend on `block_size`."""
        chosen = read_input_kernel(kernel)
        if not chosen.any_length and not self.of_unit_length:
            raise InputError(f"The kernel {chosen.name} needs inputs of squared length d; use normalize=True.")
        out = np.empty_like(self.products)
        for rows in blocks(len(out), block_size):
            with np.errstate(over="ignore", invalid="ignore"):
                out[rows] = chosen.function(self.products[rows], self.left[rows, None], self.right)
            if not np.isfinite(out[rows]).all():
                raise InputError(f"The kernel {chosen.name} overflows at inputs this long; scale them or normalize.")
        return out

    @property
    def of_unit_length(self) -> bool:
        """Whether all inputs have squared length d, up to rounding."""
        return bool(np.allclose(self.left, 1.0, atol=1e-9, rtol=0) and np.allclose(self.right, 1.0, atol=1e-9, rtol=0))


def inner_products(inputs: ArrayLike, others: ArrayLike | None = None, *, normalize: bool = False) -> Products:
    """Return the products of two sets of inputs, or of one set with itself.

    Parameters
    ----------
    inputs, others : array_like, (n, d) and (m, d)
    normalize : bool
        Scale every input to squared length d first, so that the product is a correlation. An input of length zero has
        no direction and raises an error.
    """
    left = read_inputs("inputs", inputs, normalize)
    right = left if others is None else read_inputs("others", others, normalize)
    if left.shape[1] != right.shape[1]:
        raise InputError(f"inputs and others must have the same features; got {left.shape[1]} and {right.shape[1]}.")
    dimension = left.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        left_squares, right_squares = (np.einsum("id,id->i", x, x) / dimension for x in (left, right))
        products = left @ right.T
    # No product is larger than the squared lengths.
    if not (np.isfinite(left_squares).all() and np.isfinite(right_squares).all()):
        raise InputError("inputs must be smaller: their squared lengths overflow. Scale them or use normalize=True.")
    products /= dimension
    if others is None:
        # The two halves differ by rounding; with the mean and the lengths themselves the Gram matrix is symmetric.
        products = 0.5 * (products + products.T)
        np.fill_diagonal(products, left_squares)
    return Products(products, left_squares, right_squares, others is None)


def gram_matrix(
    kernel: KernelLike,
    inputs: ArrayLike,
    others: ArrayLike | None = None,
    *,
    normalize: bool = False,
    block_size: int = ROWS_PER_BLOCK,
) -> Array:
    """Return the kernel of every input with every other, (n, m).

    Parameters
    ----------
    kernel : str, Kernel, callable or None
        As in :func:`~genlaws.rules_facts.finite_size.read_input_kernel`.
    inputs, others : array_like, (n, d) and (m, d)
        Without `others` the inputs are paired with themselves, and the matrix is exactly symmetric.
    normalize : bool
        Scale every input to squared length d first.
    block_size : int
        Rows on which the kernel's function is evaluated at once; it changes the speed and nothing else.
    """
    chosen = read_input_kernel(kernel)
    products = inner_products(inputs, others, normalize=normalize)
    return products.gram(chosen, block_size=block_size)


def blocks(count: int, block_size: int) -> Iterator[slice]:
    """Yield slices that cover `count` rows."""
    size = whole_number("block_size", block_size, at_least=1)
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def read_inputs(name: str, inputs: ArrayLike, normalize: bool) -> Array:
    """Return the checked inputs, each scaled to squared length d if `normalize` is true."""
    array = np.asarray(inputs, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name} must be a matrix with a row per sample; got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite; {int((~np.isfinite(array).all(axis=1)).sum())} rows are not.")
    if not normalize:
        return array
    largest = np.abs(array).max(axis=1, keepdims=True)
    if (largest == 0.0).any():
        raise InputError(f"{name} must have a direction; {int((largest == 0.0).sum())} rows are zero.")
    # In units of its largest entry, the square of an input neither overflows nor vanishes.
    shape = array / largest
    length = np.sqrt(np.einsum("id,id->i", shape, shape))
    return np.asarray(shape * (np.sqrt(array.shape[1]) / length)[:, None])


@dataclass(frozen=True, eq=False, repr=False)
class GramNumbers(Result):
    """Effective numbers of a Gram matrix.

    Attributes
    ----------
    kernel : Kernel
        The effective μ1 and μ*, with its angle.
    mu_0_squared : float
        Mean of the off-diagonal entries.
    linear_share : float in [0, 1]
        Share of the variance of the off-diagonal entries that the regression explains; near one, the matrix has
        the form that the theory assumes.
    effective_dimension : float
        d_eff of the inputs; it does not depend on the kernel.
    sample_count : int
    """

    kernel: Kernel
    mu_0_squared: float
    linear_share: float
    effective_dimension: float
    sample_count: int

    derived = ("effective_sample_ratio",)

    def summary(self) -> Summary:
        """Return the effective numbers of the theory."""
        kernel = f"μ1 {float(self.kernel.mu_1):.4g}, μ* {float(self.kernel.mu_star):.4g}"
        rows = [
            Row("kernel", kernel, f"angle {float(self.kernel.kernel_angle):.4g} rad"),
            Row("linear share", f"{self.linear_share:.4g}", "near 1, the matrix has the form that the theory assumes"),
            Row("effective dimension", f"{self.effective_dimension:.4g}"),
            Row("effective sample ratio", f"{self.effective_sample_ratio:.4g}"),
        ]
        return Summary(rows)

    def to_frame(self) -> DataFrame:
        """Return one row."""
        parts = {name: part for name, part in parts_of(self).items() if name != "kernel"}
        return frame_of([{"mu_1": float(self.kernel.mu_1), "mu_star": float(self.kernel.mu_star)} | parts])

    @property
    def effective_sample_ratio(self) -> float:
        """Samples per effective dimension."""
        return self.sample_count / self.effective_dimension


GramMatrix = Annotated[Array, Parameter("Kernel of each input with each training input.")]
GivenProducts = Annotated[Products, Parameter("Products of the same inputs with themselves.")]


@question
def gram_numbers(gram: GramMatrix, products: GivenProducts) -> GramNumbers:
    """Measure the effective kernel of a Gram matrix and the effective dimension of its inputs.

    Parameters
    ----------
    gram : array, (n, n)
        Of at least three inputs.
    products : Products
        Of the same inputs with themselves.
    """
    n = len(gram)
    if not products.symmetric or gram.shape != products.products.shape or n < 3:
        raise InputError(f"gram and products must belong to the same three or more inputs; got shape {gram.shape}.")
    if not np.isfinite(gram).all():
        raise InputError("gram must be finite.")
    products_centered, gram_centered = _center(products.products), _center(gram)
    p_square, k_square = (_off_diagonal_mean(matrix, matrix) for matrix in (products_centered, gram_centered))
    if p_square <= MU_SQUARED_ROUNDING * float(products.left.mean()) ** 2:
        raise InputError("All inputs have the same products with one another; nothing distinguishes them.")
    covariance = _off_diagonal_mean(products_centered, gram_centered)
    slope = covariance / p_square
    diagonal = float(np.diagonal(gram_centered).mean())
    rest = diagonal - slope * float(np.diagonal(products_centered).mean())
    squares = [max(value, 0.0) if abs(value) > MU_SQUARED_ROUNDING * diagonal else 0.0 for value in (slope, rest)]
    length = np.sqrt(products.left)
    if (length == 0.0).any():
        raise InputError("Inputs must not be zero.")
    correlations = products.products / np.outer(length, length)
    return GramNumbers(
        kernel=Kernel(np.sqrt(squares[0]), np.sqrt(squares[1])),
        mu_0_squared=float(gram.sum() - np.trace(gram)) / (n * (n - 1)),
        linear_share=float(min(covariance**2 / (p_square * k_square), 1.0)) if k_square > 0.0 else 0.0,
        effective_dimension=float(1.0 / _off_diagonal_mean(correlations, correlations)),
        sample_count=n,
    )


def _center(matrix: Array) -> Array:
    """Subtract the mean of each row and column, the diagonal excluded."""
    rows = (matrix.sum(axis=1) - np.diagonal(matrix)) / (len(matrix) - 1)
    return np.asarray(matrix - rows[:, None] - rows + rows.mean())


def _off_diagonal_mean(left: Array, right: Array) -> float:
    """Return the mean product of the off-diagonal entries of two matrices."""
    n = len(left)
    on_diagonal = float(np.diagonal(left) @ np.diagonal(right))
    return float((np.einsum("ij,ij->", left, right) - on_diagonal) / (n * (n - 1)))
