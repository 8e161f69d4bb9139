"""Try kernels of one family on one training set: their measured numbers, what they generalise, what they remember."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError
from genlaws.rules_facts.finite_size.gram import Products
from genlaws.rules_facts.finite_size.gram_numbers import GramNumbers, gram_numbers
from genlaws.rules_facts.finite_size.hinge_path import hinge_path
from genlaws.rules_facts.finite_size.left_out import left_out_outputs
from genlaws.rules_facts.finite_size.ridge_path import ridge_path

# Parameters tried, for each family that has one to adjust.
RANGES: dict[str, tuple[float, float]] = {
    "gaussian": (0.05, 50.0),
    "exponential": (0.05, 50.0),
    "geometric": (0.02, 0.98),
    "quadratic": (0.05, 1.55),
}
# The angle of a kernel is an average over pairs; this many inputs, evenly spaced, give enough of them.
ANGLE_SAMPLES = 800
# The square of an entry, summed over a matrix, must stay within double precision.
LARGEST_ENTRY = 1e120
# Duality gap of the hinge loss: signs of outputs no longer change.
GAP = 1e-5


@dataclass(frozen=True)
class Tried:
    """One kernel at L regularisations.

    Attributes
    ----------
    numbers : GramNumbers
    regularisation : array, (L,)
    left_out : array, (n, L)
        Outputs for samples not trained on.
    forgotten : array, (n, L)
        Whether the learner trained on everything gives a sample another label than it had; an output of zero counts
        half.
    """

    numbers: GramNumbers
    regularisation: Array
    left_out: Array
    forgotten: Array


@dataclass(frozen=True)
class KernelTrial:
    """A training set on which kernels are tried.

    Attributes
    ----------
    products : Products
        Of the inputs with themselves.
    labels : array of ±1, (n,)
    loss, family : str
    folds, seed : int
        Of the cross-validation of the hinge loss.
    """

    products: Products
    labels: Array
    loss: str
    family: str
    folds: int
    seed: int

    @property
    def parameter_range(self) -> tuple[float, float]:
        """The parameters worth trying on these inputs; the exponential kernel of long inputs would overflow."""
        low, high = RANGES[self.family]
        longest = float(self.products.left.max())
        return (low, max(high / longest, 2.0 * low)) if self.family == "exponential" and longest > 1.0 else (low, high)

    @property
    def trained_share(self) -> float:
        """Share of the samples that a left-out learner is trained on; ridge regression leaves out a single one."""
        return 1.0 if self.loss == "square" else 1.0 - 1.0 / self.folds

    def gram(self, parameter: float) -> Array:
        """Return the Gram matrix at a parameter of the family."""
        name = f"{self.family}:{float(parameter)!r}"
        gram = self.products.gram(name)
        if float(np.abs(gram).max()) > LARGEST_ENTRY:
            raise InputError(
                f"parameters must be smaller: the squares of {self.family}:{parameter:g} overflow at inputs this long. "
                "Or scale every input to the same length with normalise."
            )
        return gram

    def angles(self, parameters: Array) -> Array:
        """Return the measured kernel angle at each parameter, from some of the inputs."""
        count = len(self.labels)
        some = np.linspace(0, count - 1, min(count, ANGLE_SAMPLES)).astype(np.int64)
        products = self.products
        part = Products(products.products[np.ix_(some, some)], products.left[some], products.right[some], True)
        names = (f"{self.family}:{float(parameter)!r}" for parameter in parameters)
        return np.array([float(gram_numbers(part.gram(name), part).kernel.kernel_angle) for name in names])

    def evaluate(self, parameter: float, relative_regularisation: Array) -> Tried:
        """Train at one parameter and every regularisation, with samples left out and with all of them.

        Regularisations are given in units of the mean diagonal of the Gram matrix, which for some families grows by
        orders of magnitude with the parameter.
        """
        gram = self.gram(parameter)
        lam = relative_regularisation * float(np.diagonal(gram).mean())
        if self.loss == "square":
            ridge = ridge_path(gram, self.labels, lam, leave_one_out=True)
            assert ridge.leave_one_out is not None
            left_out, fitted = ridge.leave_one_out, ridge.fitted
        else:
            left_out = left_out_outputs(
                gram, self.labels, self.loss, lam, folds=self.folds, tolerance=GAP, seed=self.seed
            )
            fitted = hinge_path(gram, self.labels, lam, tolerance=GAP).fitted
        return Tried(gram_numbers(gram, self.products), lam, left_out, wrong_signs(fitted, self.labels))


def wrong_signs(outputs: Array, labels: Array) -> Array:
    """Return 1 where an output has the wrong sign, 0 where it has the right one, and a half where it is zero."""
    margins = outputs * labels[:, None]
    return np.asarray((margins < 0.0) + 0.5 * (margins == 0.0))
