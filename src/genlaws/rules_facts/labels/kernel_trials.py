r"""Kernels of one family tried on one training set: their measured numbers, generalization and memorization errors.

The generalization error is counted on left-out samples. Known facts are excluded. Unknown facts stay among the labels,
and a fact agrees with any prediction half of the time:

.. math:: e_{label} = (1-\varepsilon)\,e_{rule} + \varepsilon/2.

Solved for :math:`e_{rule}`, this estimates the generalization error for a given ε; the intervals include the
uncertainty of the count and of ε.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from genlaws.core.arguments import Array, Whole
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, wilson_interval
from genlaws.core.seeds import generator_of
from genlaws.rules_facts.finite_size.gram import GramNumbers, Products, gram_numbers
from genlaws.rules_facts.finite_size.hinge import hinge_path
from genlaws.rules_facts.finite_size.learned_path import wrong_signs
from genlaws.rules_facts.finite_size.left_out import left_out_outputs
from genlaws.rules_facts.finite_size.ridge import ridge_path

# Parameters tried, for each family that has one to adjust.
PARAMETER_RANGES: dict[str, tuple[float, float]] = {
    "gaussian": (0.05, 50.0),
    "exponential": (0.05, 50.0),
    "geometric": (0.02, 0.98),
    "quadratic": (0.05, 1.55),
}
# Parameters at which the angle is measured, to find the one with a wanted angle.
PARAMETER_GRID_POINTS = 33
# The angle of a kernel is an average over pairs; this many inputs, evenly spaced, give enough pairs.
MAX_ANGLE_SAMPLES = 800
# The square of an entry, summed over a matrix, must stay within double precision.
MAX_GRAM_ENTRY = 1e120
# Duality gap of the hinge loss, below which signs of outputs no longer change.
TRIAL_GAP_TOLERANCE = 1e-5
# Folds of the nested cross-validation: a choice is never evaluated on the samples it was made on.
NESTED_FOLDS = 5
NORMAL_QUANTILE = 1.959964  # of 97.5 %
Flags = NDArray[np.bool_]
GridPlace = tuple[int, int]
# Returns a kernel and a regularization, given the errors (G, L) of some of the samples.
Choose = Callable[[Array], GridPlace]


@dataclass(frozen=True)
class EvaluatedKernel:
    """One kernel at L regularizations.

    Attributes
    ----------
    parameter : float
    numbers : GramNumbers
    regularization : array, (L,)
    left_out : array, (n, L)
        Outputs for samples not trained on.
    forgotten : array, (n, L)
        Whether the learner trained on everything gives a sample a label other than its own; an output of zero
        counts half.
    """

    parameter: float
    numbers: GramNumbers
    regularization: Array
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
        """The parameters to try on these inputs; the exponential kernel of long inputs would overflow."""
        low, high = PARAMETER_RANGES[self.family]
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
        if float(np.abs(gram).max()) > MAX_GRAM_ENTRY:
            raise InputError(
                f"parameters must be smaller: the squares of {self.family}:{parameter:g} overflow at inputs this long. "
                "Or scale every input to the same length with normalize."
            )
        return gram

    def angles(self, parameters: Array) -> Array:
        """Return the measured kernel angle at each parameter, from some of the inputs."""
        count = len(self.labels)
        some = np.linspace(0, count - 1, min(count, MAX_ANGLE_SAMPLES)).astype(np.int64)
        products = self.products
        part = Products(products.products[np.ix_(some, some)], products.left[some], products.right[some], True)
        names = (f"{self.family}:{float(parameter)!r}" for parameter in parameters)
        return np.array([float(gram_numbers(part.gram(name), part).kernel.kernel_angle) for name in names])

    @cached_property
    def angle_grid(self) -> tuple[Array, Array]:
        """Parameters over the whole range, and the measured kernel angle at each."""
        grid = np.geomspace(*self.parameter_range, PARAMETER_GRID_POINTS)
        return grid, self.angles(grid)

    def evaluate(self, parameter: float, relative_regularization: Array) -> EvaluatedKernel:
        """Train at one parameter and every regularization, with samples left out and with all of them.

        Regularizations are given in units of the mean diagonal of the Gram matrix, which for some families grows by
        orders of magnitude with the parameter.
        """
        gram = self.gram(parameter)
        lam = relative_regularization * float(np.diagonal(gram).mean())
        if self.loss == "square":
            ridge = ridge_path(gram, self.labels, lam, leave_one_out=True)
            assert ridge.leave_one_out is not None
            left_out, fitted = ridge.leave_one_out, ridge.fitted
        else:
            left_out = left_out_outputs(
                gram, self.labels, self.loss, lam, folds=self.folds, tolerance=TRIAL_GAP_TOLERANCE, seed=self.seed
            )
            fitted = hinge_path(gram, self.labels, lam, tolerance=TRIAL_GAP_TOLERANCE).fitted
        numbers, forgotten = gram_numbers(gram, self.products), wrong_signs(fitted, self.labels)
        return EvaluatedKernel(parameter, numbers, lam, left_out, forgotten)


@dataclass(frozen=True)
class GeneralizationErrors:
    """Wrong predictions of G kernels at L regularizations.

    Attributes
    ----------
    wrong : array, (G, n, L)
        One where the sign of a left-out output differs from the label, a half where it is zero. Known facts are
        excluded.
    share : Estimate
        Of facts among the samples; zero if they are known.
    """

    wrong: Array
    share: Estimate

    @property
    def against_labels(self) -> Array:
        """Share of wrong predictions, (G, L)."""
        return np.asarray(self.wrong.mean(axis=1))

    @property
    def against_rule(self) -> Array:
        """Generalization error, (G, L); clipped where it comes out below zero."""
        return _clip_error(self._unclipped)

    @property
    def clipped(self) -> Flags:
        """Where the generalization error is set to zero: fewer labels are contradicted than the facts explain."""
        return np.asarray(self._unclipped < 0.0)

    @property
    def _unclipped(self) -> Array:
        return _without_facts(self.against_labels, self.share.value)

    def interval(self) -> tuple[Array, Array]:
        """Return the ends of the 95 % interval of each generalization error."""
        counts = np.rint(self.wrong.sum(axis=1)).astype(np.int64)
        seen, place = np.unique(counts, return_inverse=True)
        found = [wilson_interval(int(count), self.wrong.shape[1]) for count in seen]
        ends = [np.array([one.low for one in found]), np.array([one.high for one in found])]
        low, high = (end[place.reshape(counts.shape)] for end in ends)
        return (
            _clip_error(np.min([_without_facts(low, share) for share in self._shares], axis=0)),
            _clip_error(np.max([_without_facts(high, share) for share in self._shares], axis=0)),
        )

    def estimate(self, place: GridPlace = (0, 0)) -> Estimate:
        """Return the generalization error of one kernel at one regularization."""
        row, column = place
        one = GeneralizationErrors(self.wrong[row : row + 1, :, column : column + 1], self.share)
        low, high = one.interval()
        return Estimate(float(one.against_rule[0, 0]), float(low[0, 0]), float(high[0, 0]), self.wrong.shape[1])

    def nested(self, choose: Choose, seed: int) -> GeneralizationErrors:
        """Return the wrong predictions of the choices in nested cross-validation, as those of one kernel.

        Parameters
        ----------
        choose : callable
            Chooses by the errors of four fifths of the samples; the choice is evaluated on the other fifth, so
            that the least of many errors is not biased low.
        seed : int
            Assigns the samples to fifths.
        """
        count = self.wrong.shape[1]
        part: Whole = generator_of(seed).permutation(count) % NESTED_FOLDS
        chosen = np.empty(count)
        for number in range(NESTED_FOLDS):
            here = part == number
            row, column = choose(self.wrong[:, ~here].mean(axis=1))
            chosen[here] = self.wrong[row, here, column]
        return GeneralizationErrors(chosen[None, :, None], self.share)

    def excess(self, first: Choose, second: Choose, seed: int) -> Estimate:
        """Return how much more often one choice breaks the rule than another, sample by sample; see `nested`."""
        one, other = (self.nested(choose, seed).wrong[0, :, 0] for choose in (first, second))
        difference = one - other
        low, high = _paired_interval(difference)
        factors = [1.0 / (1.0 - share) for share in self._shares]
        return Estimate(
            float(difference.mean()) / (1.0 - self.share.value),
            min(low * factor for factor in factors),
            max(high * factor for factor in factors),
            difference.size,
        )

    @property
    def _shares(self) -> list[float]:
        ends = (self.share.value, self.share.low, self.share.high)
        return [share for share in ends if np.isfinite(share)]


def _without_facts(error: Array, share: float) -> Array:
    return np.asarray((error - 0.5 * share) / (1.0 - share))


def _clip_error(error: Array) -> Array:
    return np.clip(error, 0.0, 1.0)


def _paired_interval(difference: Array) -> tuple[float, float]:
    """Return Agresti and Min's interval of a difference of two shares of the same samples.

    It is the usual one after adding two samples, half a sample for each pair of outcomes. It has a width even where
    the two choices never differ.
    """
    count = difference.size + 2
    total = float(difference.sum())
    error = np.sqrt(float(difference @ difference) + 1.0 - total**2 / count) / count
    return total / count - NORMAL_QUANTILE * error, total / count + NORMAL_QUANTILE * error
