"""Generalization and memorization errors of a learner of finite size, at every regularization.

Errors are counted as in the theory: against the rule on fresh inputs, and on the facts of the training set against
the labels they were given. An output of exactly zero counts as half an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Mask, one_of
from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size.features import FeatureLayer
from genlaws.rules_facts.finite_size.gram import Products, inner_products
from genlaws.rules_facts.finite_size.hinge import GAP_TOLERANCE, HingePath, hinge_path
from genlaws.rules_facts.finite_size.input_kernel import KernelLike, read_input_kernel
from genlaws.rules_facts.finite_size.ridge import RidgePath, ridge_path
from genlaws.rules_facts.labels.task import Draw

if TYPE_CHECKING:
    import pandas as pd

TRAINABLE_LOSSES = ("square", "hinge")


@dataclass(frozen=True)
class LearnedPath:
    """Errors of one learner on one draw, at L regularizations.

    Attributes
    ----------
    regularization : array, (L,)
    generalization_error : array, (L,)
        Against the rule, on the test inputs.
    memorization_error : array, (L,)
        On the facts of the training set; NaN when it has none.
    training_error : array, (L,)
        On the whole training set against the labels it was given.
    leave_one_out_error : array, (L,)
        On each training sample, predicted without it; NaN unless `leave_one_out` was set (square loss).
    effective_dimension : array, (L,)
        Directions in use (square loss), or support vectors (hinge loss).
    duality_gap : array, (L,)
        Relative, for the hinge loss; zero for the square loss, which is solved directly.
    converged : array of bool, (L,)
    """

    regularization: Array
    generalization_error: Array
    memorization_error: Array
    training_error: Array
    leave_one_out_error: Array
    effective_dimension: Array
    duality_gap: Array
    converged: Mask

    def to_frame(self) -> pd.DataFrame:
        """Return one row per regularization."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame({f.name: getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True)
class DrawProducts:
    """Products of the training inputs with one another and with the test inputs, shared by any number of kernels."""

    train: Products
    test: Products

    @classmethod
    def of(cls, draw: Draw, *, normalize: bool = False) -> DrawProducts:
        """Compute the products of a draw; `normalize` scales every input to squared length d."""
        train = inner_products(draw.inputs, normalize=normalize)
        return cls(train, inner_products(draw.test_inputs, draw.inputs, normalize=normalize))

    def grams(self, kernel: KernelLike) -> tuple[Array, Array]:
        """Return the Gram matrices among the training inputs and of the test inputs with them."""
        chosen = read_input_kernel(kernel)
        return self.train.gram(chosen), self.test.gram(chosen)


def learn_path(
    draw: Draw,
    loss: str = "square",
    *,
    regularization: ArrayLike,
    kernel: KernelLike = None,
    activation: str | Callable[..., object] | None = None,
    width: int | None = None,
    normalize: bool = False,
    products: DrawProducts | None = None,
    leave_one_out: bool = False,
    tolerance: float = GAP_TOLERANCE,
    seed: int | np.random.Generator = 0,
) -> LearnedPath:
    """Train a learner on a draw at every regularization and count its errors.

    Parameters
    ----------
    draw : Draw
    loss : {"square", "hinge"}
    regularization : array_like, (L,)
        λ; zero is allowed for the square loss.
    kernel : str, Kernel, callable or None
        As in :func:`~genlaws.rules_facts.finite_size.read_input_kernel`; the linear model if not given.
    activation, width : str or callable, and int, optional
        Activation and number of random features, in place of a kernel.
    normalize : bool
        Scale every input to squared length d before a kernel is computed. Ignored by random features.
    products : DrawProducts, optional
        Products of this draw, to share them among kernels; they then determine `normalize`.
    leave_one_out : bool
        Also compute the leave-one-out error; for the square loss only.
    tolerance : float
        Relative duality gap of the hinge loss.
    seed : int or Generator
        Seed of the random features.

    Returns
    -------
    LearnedPath
    """
    one_of("loss", loss, TRAINABLE_LOSSES)
    if (activation is None) != (width is None) or (kernel is not None and width is not None):
        raise InputError("Give either a kernel, or an activation and a width for random features.")
    if leave_one_out and loss != "square":
        raise InputError("leave_one_out must be false for the hinge loss; use cross-validation instead.")
    if activation is not None and width is not None:
        layer = FeatureLayer.draw(activation, width, draw.dimension, seed)
        features = layer(draw.inputs)
        train, test = features @ features.T, layer(draw.test_inputs) @ features.T
    else:
        shared = products or DrawProducts.of(draw, normalize=normalize)
        train, test = shared.grams(kernel)
    return path_errors(draw, train, test, loss, regularization, leave_one_out=leave_one_out, tolerance=tolerance)


def path_errors(
    draw: Draw,
    train: Array,
    test: Array,
    loss: str,
    regularization: ArrayLike,
    *,
    leave_one_out: bool = False,
    tolerance: float = GAP_TOLERANCE,
) -> LearnedPath:
    """Train on a Gram matrix of your own, (n, n), and count errors with the test inputs' rows, (m, n)."""
    one_of("loss", loss, TRAINABLE_LOSSES)
    shape = (len(draw.test_inputs), len(draw.inputs))
    if test.shape != shape:
        raise InputError(
            f"test must have a row per test input and a column per training input, {shape}; got {test.shape}."
        )
    path: RidgePath | HingePath
    if loss == "square":
        path = ridge_path(train, draw.labels, regularization, leave_one_out=leave_one_out)
        dimension, left_out = path.effective_dimension, path.leave_one_out
        gap, converged = np.zeros(len(dimension)), np.ones(len(dimension), dtype=bool)
    else:
        path = hinge_path(train, draw.labels, regularization, tolerance=tolerance)
        dimension, left_out = path.support_count.astype(np.float64), None
        gap, converged = path.duality_gap, path.converged
    facts = draw.is_fact
    return LearnedPath(
        regularization=path.regularization,
        generalization_error=sign_error(test @ path.coefficients, draw.test_labels),
        memorization_error=sign_error(path.fitted[facts], draw.labels[facts]),
        training_error=sign_error(path.fitted, draw.labels),
        leave_one_out_error=np.full(len(gap), np.nan) if left_out is None else sign_error(left_out, draw.labels),
        effective_dimension=dimension,
        duality_gap=gap,
        converged=converged,
    )


def sign_error(outputs: Array, labels: Array) -> Array:
    """Return the share of wrong signs in each column, a zero counting half; NaN without any row."""
    if not len(labels):
        return np.full(outputs.shape[1], np.nan)
    return np.asarray(wrong_signs(outputs, labels).mean(axis=0))


def wrong_signs(outputs: Array, labels: Array) -> Array:
    """Return 1 where an output has the wrong sign, 0 where it has the right one, and a half where it is zero."""
    margins = outputs * labels[:, None]
    return np.asarray((margins < 0.0) + 0.5 * (margins == 0.0))
