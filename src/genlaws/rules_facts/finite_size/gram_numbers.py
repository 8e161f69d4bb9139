r"""What kernel a Gram matrix amounts to: the effective :math:`(\mu_1, \mu_\star)` and dimension of data and kernel.

In high dimension a Gram matrix acts like :math:`\mu_0^2 11^\top + \mu_1^2 XX^\top/d + \mu_\star^2 I`. Real inputs add
terms :math:`g(x_i) + g(x_j)` of a single input each, such as its length; they move all outputs together and tell
nothing about a rule. So both the Gram matrix and the products :math:`p_{ij} = x_i \cdot x_j/d` are centred: with
:math:`r_i` the mean of row i without its diagonal and :math:`\bar r` the mean of those,
:math:`\tilde K_{ij} = K_{ij} - r_i - r_j + \bar r`. The regression of the off-diagonal :math:`\tilde K` on
:math:`\tilde p` has the slope :math:`\mu_1^2`, and what is left on the diagonal is

.. math:: \mu_\star^2 = \overline{\tilde K_{ii}} - \mu_1^2\,\overline{\tilde p_{ii}}.

For independent inputs the correlations :math:`c_{ij} = p_{ij}/\sqrt{p_{ii}p_{jj}}` have variance 1/d; real inputs act
as if they had :math:`d_{eff} = 1/\overline{c_{ij}^2}` dimensions, the participation ratio of their covariance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError
from genlaws.rules_facts.finite_size.gram import Products
from genlaws.rules_facts.kernels import Kernel

# A μ² below this share of the mean diagonal is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class GramNumbers:
    """What a Gram matrix amounts to.

    Attributes
    ----------
    kernel : Kernel
        The effective μ1 and μ*, with its angle.
    mu_0_squared : float
        Mean of the off-diagonal entries.
    linear_share : float in [0, 1]
        Share of the variance of the off-diagonal entries that the regression explains; near one, the theory's picture
        of the matrix holds.
    effective_dimension : float
        d_eff of the inputs; it does not depend on the kernel.
    sample_count : int
    """

    kernel: Kernel
    mu_0_squared: float
    linear_share: float
    effective_dimension: float
    sample_count: int

    @property
    def effective_sample_ratio(self) -> float:
        """Samples per effective dimension."""
        return self.sample_count / self.effective_dimension


def gram_numbers(gram: Array, products: Products) -> GramNumbers:
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
    products_centred, gram_centred = _centred(products.products), _centred(gram)
    p_square, k_square = (_off_diagonal_mean(matrix, matrix) for matrix in (products_centred, gram_centred))
    if p_square <= ROUNDING * float(products.left.mean()) ** 2:
        raise InputError("All inputs have the same products with one another; nothing distinguishes them.")
    covariance = _off_diagonal_mean(products_centred, gram_centred)
    slope = covariance / p_square
    diagonal = float(np.diagonal(gram_centred).mean())
    rest = diagonal - slope * float(np.diagonal(products_centred).mean())
    squares = [max(value, 0.0) if abs(value) > ROUNDING * diagonal else 0.0 for value in (slope, rest)]
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


def _centred(matrix: Array) -> Array:
    """Take off each row and column its mean, the diagonal left aside."""
    rows = (matrix.sum(axis=1) - np.diagonal(matrix)) / (len(matrix) - 1)
    return np.asarray(matrix - rows[:, None] - rows + rows.mean())


def _off_diagonal_mean(left: Array, right: Array) -> float:
    """Return the mean product of the off-diagonal entries of two matrices."""
    n = len(left)
    on_diagonal = float(np.diagonal(left) @ np.diagonal(right))
    return float((np.einsum("ij,ij->", left, right) - on_diagonal) / (n * (n - 1)))
