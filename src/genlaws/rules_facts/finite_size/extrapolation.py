r"""Extrapolation of errors to infinite dimension, from runs at a few finite dimensions.

Means over runs in dimension d approach the theory with a correction in powers of 1/d,

.. math:: \bar\varepsilon(d) = \varepsilon_\infty + \frac{c}{d} + \dots .

The extrapolated value can be compared with the theory without allowing for the finite size of the runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, positive, real, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_standard_error
from genlaws.core.parameters import Parameter
from genlaws.core.result import Result, Row, Summary, question

Dimensions = Annotated[ArrayLike, Parameter("Dimensions of the runs.", symbol="d", check=positive, listed=True)]
Means = Annotated[ArrayLike, Parameter("Mean error of the runs in each dimension.", listed=True)]
StandardErrors = Annotated[ArrayLike, Parameter("Standard error of each mean.", listed=True)]
Order = Annotated[int, Parameter("Highest power of 1/d.", check=partial(whole_number, at_least=1))]
ZERO_HINT = "Runs with equal errors give no standard error; take more runs, or leave out errors that hardly ever occur."


@dataclass(frozen=True, eq=False, repr=False)
class Extrapolation(Result):
    r"""Limit of infinite dimension with its standard error.

    Attributes
    ----------
    value, error : float
        :math:`\varepsilon_\infty` and its standard error, which follows from those of the means alone.
    correction, correction_error : float
        c, the coefficient of 1/d, and its standard error.
    chi_square : float
        Sum of the squared residuals in units of the standard errors; near `freedom` where the form fits.
    freedom : int
        Number of dimensions minus number of coefficients.
    """

    value: float
    error: float
    correction: float
    correction_error: float
    chi_square: float
    freedom: int

    derived = ("limit",)

    @property
    def limit(self) -> Estimate:
        """The value with its 95 % interval."""
        return from_standard_error(self.value, self.error, 0, freedom=math.inf)

    def z_score(self, expected: float) -> float:
        """Return how many standard errors the value lies above an expected one."""
        return (self.value - expected) / self.error

    def summary(self) -> Summary:
        """Return the limit, the correction, and how well the form fits."""
        slope = from_standard_error(self.correction, self.correction_error, 0, freedom=math.inf)
        fit = f"χ² {self.chi_square:.3g} with {self.freedom} degrees of freedom"
        return Summary([Row("limit", str(self.limit)), Row("correction", f"({slope.brief})/d")], [f"{fit}."])


@question
def extrapolate(
    dimensions: Dimensions, means: Means, standard_errors: StandardErrors, *, order: Order = 1
) -> Extrapolation:
    r"""Fit means in several dimensions by a polynomial in 1/d and return its value at 1/d = 0.

    .. math:: \min_{c_0, \dots, c_k} \sum_d \Bigl(\frac{\bar\varepsilon(d) - \sum_j c_j d^{-j}}{s_d}\Bigr)^2,
              \qquad \varepsilon_\infty = c_0, \quad c = c_1

    Symbols: :math:`\bar\varepsilon(d)` is ``means``, :math:`s_d` ``standard_errors`` and k ``order``.

    Parameters
    ----------
    dimensions : array_like, (m,), positive
        At least ``order + 1`` different values.
    means : array_like, (m,)
        Independent of one another.
    standard_errors : array_like, (m,), positive
    order : int, at least 1
        Highest power of 1/d. Each additional power at least doubles the standard error of the limit.

    Notes
    -----
    A standard error estimated from the same few runs as the mean is correlated with it where the runs are skewed, as
    counts of rare errors are: low means then get too much weight. Errors that are smooth in d are better.
    """
    d, y, s = (np.ravel(one) for one in _read_means(dimensions, means, standard_errors))
    if len(np.unique(d)) < order + 1:
        raise InputError(
            f"dimensions must have at least {order + 1} different values for order {order}; got {len(np.unique(d))}."
        )
    scale = d.min()  # powers of scale/d lie in (0, 1], whatever the dimensions
    design = (scale / d[:, None]) ** np.arange(order + 1) / s[:, None]
    orthogonal, triangular = np.linalg.qr(design)
    inverse = np.linalg.inv(triangular)
    coefficients = inverse @ (orthogonal.T @ (y / s))
    errors = np.sqrt(np.square(inverse).sum(axis=1))
    residuals = y / s - design @ coefficients
    return Extrapolation(
        value=float(coefficients[0]),
        error=float(errors[0]),
        correction=float(scale * coefficients[1]),
        correction_error=float(scale * errors[1]),
        chi_square=float(residuals @ residuals),
        freedom=len(d) - order - 1,
    )


def _read_means(dimensions: ArrayLike, means: ArrayLike, standard_errors: ArrayLike) -> tuple[Array, Array, Array]:
    d = positive("dimensions", dimensions)
    y = real("means", means)
    if not np.isfinite(y).all():
        raise InputError("means must be finite.")
    s = positive("standard_errors", standard_errors, ZERO_HINT)
    if d.ndim != 1 or d.shape != y.shape or d.shape != s.shape:
        raise InputError(
            f"dimensions, means and standard_errors must be lists of equal length; got shapes {d.shape}, {y.shape} and "
            f"{s.shape}."
        )
    return d, y, s
