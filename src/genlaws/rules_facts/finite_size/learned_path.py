"""Generalization and memorization errors of a learner of finite size, at every regularization.

Errors are counted as in the theory: against the rule on fresh inputs, and on the facts of the training set against
the labels they were given. An output of exactly zero counts as half an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from genlaws.core.arguments import Array, Mask, positive
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.parameters import Parameter, one
from genlaws.core.plain import parts_of
from genlaws.core.result import MAX_ROWS_SHOWN, Result, Summary, question
from genlaws.rules_facts.finite_size.features import FeatureLayer
from genlaws.rules_facts.finite_size.gram import GramMatrix, Products, inner_products
from genlaws.rules_facts.finite_size.hinge import GAP_TOLERANCE, HingePath, hinge_path
from genlaws.rules_facts.finite_size.input_kernel import KernelLike, read_input_kernel
from genlaws.rules_facts.finite_size.ridge import RidgePath, ridge_path
from genlaws.rules_facts.labels.task import Draw
from genlaws.rules_facts.parameters import Normalize, Seed, Strengths, TrainableLoss

LearnerKernel = Annotated[KernelLike, Parameter("A name such as relu or gaussian:0.5; the linear model if left out.")]
FeatureActivation = Annotated[str | Callable[..., object] | None, Parameter("Of random features, instead of a kernel.")]
FeatureCount = Annotated[int | None, Parameter("Number of random features, in place of a kernel.")]
LeaveOneOut = Annotated[bool, Parameter("Also predict each training sample without it; square loss only.")]
DualityGap = Annotated[float, Parameter("Relative duality gap of the hinge loss.", check=one(positive))]


@dataclass(frozen=True, eq=False, repr=False)
class LearnedPath(Result):
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

    def to_frame(self) -> DataFrame:
        """Return one row for each regularization."""
        return frame_of(parts_of(self))

    def summary(self) -> Summary:
        """Return the errors at every regularization, or at the only one."""
        failed = int((~self.converged).sum())
        caution = [f"{failed} of {self.converged.size} did not converge."] if failed else []
        text = self.to_frame().to_string(index=False, float_format="{:.6g}".format, max_rows=MAX_ROWS_SHOWN)
        return Summary(table=text, warnings=caution)


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


SharedProducts = Annotated[DrawProducts | None, Parameter("Products of the draw, shared among kernels.")]


@question
def learn_path(
    draw: Draw,
    *,
    loss: TrainableLoss = "square",
    regularization: Strengths,
    kernel: LearnerKernel = None,
    activation: FeatureActivation = None,
    width: FeatureCount = None,
    normalize: Normalize = False,
    products: SharedProducts = None,
    leave_one_out: LeaveOneOut = False,
    tolerance: DualityGap = GAP_TOLERANCE,
    seed: Seed = 0,
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
    """
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
    return path_errors(
        draw,
        train=train,
        test=test,
        loss=loss,
        regularization=regularization,
        leave_one_out=leave_one_out,
        tolerance=tolerance,
    )


@question
def path_errors(
    draw: Draw,
    *,
    train: GramMatrix,
    test: GramMatrix,
    loss: TrainableLoss = "square",
    regularization: Strengths,
    leave_one_out: LeaveOneOut = False,
    tolerance: DualityGap = GAP_TOLERANCE,
) -> LearnedPath:
    """Train on a Gram matrix of your own at every regularization and count the errors of the learner.

    Parameters
    ----------
    draw : Draw
    train : array, (n, n)
        Among the training inputs of the draw.
    test : array, (m, n)
        Of the test inputs with the training inputs.
    loss, regularization, leave_one_out, tolerance :
        As in :func:`learn_path`.
    """
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
