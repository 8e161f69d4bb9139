r"""The learners of the theory as scikit-learn classifiers.

They minimize :math:`\sum_i \ell(y_i, f(x_i)) + \tfrac\lambda2\|w\|^2` without an intercept, with the two classes of any
labels as −1 and +1. Import them from this module; the rest of the library works without scikit-learn.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlaws.core.arguments import Array, non_negative, one_of, positive, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size.features import FeatureLayer, read_activation
from genlaws.rules_facts.finite_size.gram import blocks, inner_products, read_inputs
from genlaws.rules_facts.finite_size.hinge import GAP_TOLERANCE, MAX_ITERATIONS, hinge_path
from genlaws.rules_facts.finite_size.input_kernel import KernelLike, read_input_kernel
from genlaws.rules_facts.finite_size.ridge import ridge_solution, ridge_weights
from genlaws.rules_facts.parameters import TRAINABLE_LOSSES

try:
    from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]
    from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
    from sklearn.utils import check_random_state  # type: ignore[import-untyped]
    from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
    from sklearn.utils.validation import check_is_fitted, validate_data  # type: ignore[import-untyped]
except ImportError as error:
    message = "The classifiers need scikit-learn 1.6 or newer; install it with pip install 'scikit-learn>=1.6'."
    raise ImportError(message, name="sklearn") from error

# Numbers in a block of inputs (32 MB), in training on features and in prediction.
BLOCK_ENTRIES = 2**22

_Prediction = tuple[Callable[[Array], Array], int]


class _BinaryClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What the classifiers share: two classes as signs, and outputs computed block by block."""

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the output f for each row of X, (m,); above zero means the second of ``classes_``."""
        check_is_fitted(self)
        inputs = validate_data(self, X, dtype=np.float64, reset=False)
        block_outputs, length = self._prediction()
        out = np.empty(len(inputs))
        for rows in blocks(len(inputs), _block_size(length)):
            out[rows] = block_outputs(inputs[rows])
        return out

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each row of X, (m,)."""
        outputs = self.decision_function(X)
        return np.asarray(self.classes_[(outputs > 0.0).astype(np.int64)])

    @abstractmethod
    def _prediction(self) -> _Prediction:
        """Return the function that gives the outputs of a block, and the numbers it needs for each row."""

    def _training_set(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """Return the inputs and the classes as signs; store the classes."""
        inputs, classes = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(classes)
        self.classes_, codes = np.unique(classes, return_inverse=True)
        count = len(self.classes_)
        if count != 2:
            given = "1 class" if count == 1 else f"{count} classes"
            raise InputError(f"Only binary classification is supported. y must have two classes; got {given}.")
        return inputs, np.where(codes == 1, 1.0, -1.0)

    def _fit_machine(self, gram: Array, signs: Array, lam: float, *, tolerance: float, iteration_cap: int) -> Array:
        """Return the coefficients of a support vector machine; store its diagnostics; warn if it did not converge."""
        path = hinge_path(gram, signs, lam, tolerance=tolerance, iteration_cap=iteration_cap)
        self.duality_gap_ = float(path.duality_gap[0])
        self.n_iter_ = int(path.iterations[0])
        self.interior_steps_ = int(path.interior_steps[0])
        if not path.converged[0]:
            warnings.warn(
                f"The relative duality gap is {self.duality_gap_:.1e}, above the tolerance {tolerance:g}. "
                "A larger regularization is easier to solve; a larger tolerance accepts this solution.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return path.coefficients[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class _KernelClassifier(_BinaryClassifier):
    """A function of kernels with the training inputs, or of weights where the kernel is linear."""

    kernel: KernelLike
    normalize: bool

    @property
    def _is_linear(self) -> bool:
        return self.kernel is None or (isinstance(self.kernel, str) and self.kernel.strip() == "linear")

    def _store(self, inputs: Array, coefficients: Array) -> None:
        """Store the attributes that prediction needs."""
        if self._is_linear:
            self.coef_ = inputs.T @ coefficients / inputs.shape[1]
        else:
            self.X_fit_, self.dual_coef_ = inputs, coefficients

    def _prediction(self) -> _Prediction:
        if self._is_linear:
            return lambda rows: read_inputs("X", rows, self.normalize) @ self.coef_, len(self.coef_)
        chosen = read_input_kernel(self.kernel)

        def outputs(rows: Array) -> Array:
            products = inner_products(read_inputs("X", rows, self.normalize), self.X_fit_)
            return np.asarray(products.gram(chosen) @ self.dual_coef_)

        return outputs, len(self.X_fit_)


class KernelRidgeClassifier(_KernelClassifier):
    r"""Ridge regression on ±1 labels with a kernel of the theory.

    .. math:: (K + \lambda I)\,a = y, \qquad f(x) = \sum_i a_i K(x, x_i)

    Parameters
    ----------
    kernel : str, Kernel, callable or None
        As in :func:`~genlaws.rules_facts.finite_size.read_input_kernel`. ``"linear"`` is the linear model, solved for
        its d weights where there are more samples than features.
    regularization : float, not negative
        λ; zero is the limit λ → 0⁺.
    normalize : bool
        Scale every input to squared length d first.

    Attributes
    ----------
    classes_ : array, (2,)
    X_fit_, dual_coef_ : array, (n, d) and (n,)
        Training inputs (scaled, if `normalize`) and a.
    coef_ : array, (d,)
        For the linear kernel, in place of these two: the weights of the inputs (scaled, if `normalize`).
    """

    def __init__(
        self, kernel: KernelLike = "gaussian:1.0", regularization: float = 1.0, normalize: bool = False
    ) -> None:
        self.kernel = kernel
        self.regularization = regularization
        self.normalize = normalize

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on inputs X, (n, d), and classes y, (n,)."""
        lam = float(scalar("regularization", non_negative("regularization", self.regularization)))
        inputs, signs = self._training_set(X, y)
        inputs = read_inputs("X", inputs, self.normalize)
        n, d = inputs.shape
        if self._is_linear and d < n:
            pairs = ((inputs[rows] / np.sqrt(d), signs[rows]) for rows in blocks(n, _block_size(d)))
            self.coef_ = ridge_weights(pairs, d, lam) / np.sqrt(d)
        else:
            self._store(inputs, ridge_solution(inner_products(inputs).gram(self.kernel), signs, lam))
        return self


class KernelSvmClassifier(_KernelClassifier):
    r"""Support vector machine without intercept, with a kernel of the theory.

    .. math:: \min_{0 \le a_i \le 1/\lambda} \tfrac12 \sum_{ij} a_i a_j y_i y_j K(x_i, x_j) - \sum_i a_i,
        \qquad f(x) = \sum_i y_i a_i K(x, x_i)

    Parameters
    ----------
    kernel, normalize
        As for :class:`KernelRidgeClassifier`.
    regularization : float, positive
        λ; the C of other software is 1/λ.
    tolerance : float, positive
        Relative duality gap at which the machine is trained.
    iteration_cap : int, at least 1
        Iterations of the splitting method, after which the interior-point method takes over.

    Attributes
    ----------
    classes_ : array, (2,)
    support_ : array of int, (s,)
        Which training samples have a coefficient that is not zero.
    X_fit_, dual_coef_, coef_
        As for :class:`KernelRidgeClassifier`, of those samples.
    duality_gap_ : float
        A bound on the relative excess of the objective over the least possible. Above the tolerance, a
        ``sklearn.exceptions.ConvergenceWarning`` is issued.
    n_iter_, interior_steps_ : int
        Iterations of the splitting method and steps of the interior-point method.
    """

    def __init__(
        self,
        kernel: KernelLike = "gaussian:1.0",
        regularization: float = 1.0,
        normalize: bool = False,
        tolerance: float = GAP_TOLERANCE,
        iteration_cap: int = MAX_ITERATIONS,
    ) -> None:
        self.kernel = kernel
        self.regularization = regularization
        self.normalize = normalize
        self.tolerance = tolerance
        self.iteration_cap = iteration_cap

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on inputs X, (n, d), and classes y, (n,)."""
        lam = float(scalar("regularization", positive("regularization", self.regularization)))
        inputs, signs = self._training_set(X, y)
        inputs = read_inputs("X", inputs, self.normalize)
        gram = inner_products(inputs).gram(self.kernel)
        found = self._fit_machine(gram, signs, lam, tolerance=self.tolerance, iteration_cap=self.iteration_cap)
        self.support_ = np.flatnonzero(found)
        self._store(inputs[self.support_], found[self.support_])
        return self


class RandomFeaturesClassifier(_BinaryClassifier):
    r"""Ridge regression or a support vector machine on random features.

    .. math:: f(x) = w \cdot \sigma(F x/\sqrt d)/\sqrt p, \qquad F_{ij} \sim N(0, 1)

    Parameters
    ----------
    activation : str or callable
        σ: a function of one number, or a name such as ``"relu"``, ``"erf"`` or ``"polynomial:3,0.5"``.
    width : int, at least 1
        p. With the square loss and fewer features than samples, no matrix of samples by samples is built.
    loss : {"square", "hinge"}
    regularization : float
        λ, positive; for the square loss also zero, the limit λ → 0⁺.
    random_state : int, RandomState or None
        Seed of the random weights.

    Attributes
    ----------
    classes_ : array, (2,)
    random_weights_ : array, (width, d)
        F.
    coef_ : array, (width,)
        w.
    duality_gap_, n_iter_, interior_steps_
        As for :class:`KernelSvmClassifier`; for the hinge loss only.
    """

    def __init__(
        self,
        activation: str | Callable[..., object] = "relu",
        width: int = 500,
        loss: str = "square",
        regularization: float = 1.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.activation = activation
        self.width = width
        self.loss = loss
        self.regularization = regularization
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on inputs X, (n, d), and classes y, (n,)."""
        square = one_of("loss", self.loss, TRAINABLE_LOSSES) == "square"
        check = non_negative if square else positive
        lam = float(scalar("regularization", check("regularization", self.regularization)))
        width = whole_number("width", self.width, at_least=1)
        inputs, signs = self._training_set(X, y)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        layer = FeatureLayer.draw(self.activation, width, inputs.shape[1], seed)
        self.random_weights_ = layer.weights
        if square and width < len(inputs):
            pairs = ((layer(inputs[rows]), signs[rows]) for rows in blocks(len(inputs), _block_size(width)))
            self.coef_ = ridge_weights(pairs, width, lam)
            return self
        features = layer(inputs)
        gram = features @ features.T
        if square:
            found = ridge_solution(gram, signs, lam)
        else:
            found = self._fit_machine(gram, signs, lam, tolerance=GAP_TOLERANCE, iteration_cap=MAX_ITERATIONS)
        self.coef_ = features.T @ found
        return self

    def _prediction(self) -> _Prediction:
        layer = FeatureLayer(self.random_weights_, *read_activation(self.activation))
        return lambda rows: layer(rows) @ self.coef_, len(self.coef_)


def _block_size(length: int) -> int:
    """Return how many rows of this length are held in memory at once."""
    return max(1, BLOCK_ENTRIES // length)
