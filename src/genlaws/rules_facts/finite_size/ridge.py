r"""Kernel ridge regression at every regularization, from one factorization of the Gram matrix.

.. math:: (K + \lambda I)\,a = y, \qquad f(x) = \sum_i a_i K(x, x_i), \qquad f(x_i) = y_i - \lambda a_i

With :math:`G = (K + \lambda I)^{-1}` and the eigenvalues :math:`s_j` of K, the prediction at :math:`x_i` of the learner
that has not seen :math:`(x_i, y_i)`, and the number of directions it uses, are

.. math:: f_{-i}(x_i) = y_i - a_i / G_{ii}, \qquad d_{eff}(\lambda) = \sum_j \frac{s_j}{s_j + \lambda}.

The path needs only a tridiagonal form, after which every shifted system costs O(n). The leave-one-out predictions and
the limit λ → 0⁺ of a singular matrix need all eigenvectors.

.. math:: K = Q T Q^\top, \qquad (K + \lambda I)^{-1} b = Q\,(T + \lambda I)^{-1}\,Q^\top b

T is tridiagonal and Q a product of n − 2 Householder reflections that is never written out. The reduction takes
4n³/3 operations, about half of those for all eigenvectors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, eigvalsh_tridiagonal, lapack

from genlaws.core.arguments import Array, non_negative
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.rules_facts.finite_size.gram import blocks

# An eigenvalue below this share of the largest, times n, counts as zero: it is rounding of the factorization.
ZERO_EIGENVALUE_SHARE = 1e-15
# Below this share of the largest eigenvalue, λ is comparable with the rounding of a zero eigenvalue: their quotient,
# the relative error of a coefficient, exceeds one in a million. A singular matrix is then diagonalized.
NEGLIGIBLE_SHIFT_SHARE = 1e-9
# A matrix is rejected if an eigenvalue is more negative than this share of the largest, or if an entry differs from its
# mirror image by more than this share of the largest. Rounding, and kernels that are interpolated, stay far below.
MATRIX_TOLERANCE = 1e-6
ROWS_PER_COMPARISON = 256  # with their mirror image


@dataclass(frozen=True)
class Tridiagonal:
    """A symmetric matrix as Q T Qᵀ.

    Attributes
    ----------
    diagonal, off_diagonal : array, (n,) and (n - 1,)
        The entries of T.
    reflectors, factors : array, (n - 1, n - 1) and (n - 1,)
        The reflections, as LAPACK's ``dsytrd`` leaves them.
    """

    diagonal: Array
    off_diagonal: Array
    reflectors: Array
    factors: Array

    @classmethod
    def of(cls, matrix: Array) -> Tridiagonal:
        """Reduce a symmetric matrix; only its upper triangle is read."""
        n = len(matrix)
        if n == 1:
            return cls(matrix[0], np.empty(0), np.empty((0, 0)), np.empty(0))
        # The transpose of a symmetric matrix has the memory order LAPACK wants, without a copy.
        size = int(lapack.dsytrd_lwork(n, lower=1)[0])
        reduced, diagonal, off_diagonal, factors, info = lapack.dsytrd(matrix.T, lower=1, lwork=size)
        _expect_success("dsytrd", info)
        return cls(diagonal, off_diagonal, np.asfortranarray(reduced[1:, :-1]), factors)

    def rotate(self, vectors: Array) -> Array:
        """Return Qᵀ b for the columns b of `vectors`, (n, L)."""
        return self._reflect(vectors, "T")

    def rotate_back(self, vectors: Array) -> Array:
        """Return Q b for the columns b of `vectors`, (n, L)."""
        return self._reflect(vectors, "N")

    def solve_shifted(self, right: Array, shifts: Array) -> Array:
        """Return (T + λI)⁻¹ b for one b, (n,), and each shift λ, as columns, (n, L)."""
        if len(self.diagonal) == 1:
            return right[:, None] / (self.diagonal[:, None] + shifts)
        out = np.empty((len(self.diagonal), len(shifts)), order="F")
        for column, shift in enumerate(shifts):
            # With pivoting: rounding may leave an eigenvalue of a singular matrix below zero.
            *_, solution, info = lapack.dgtsv(self.off_diagonal, self.diagonal + shift, self.off_diagonal, right)
            _expect_success("dgtsv", info)
            out[:, column] = solution
        return out

    def eigenvalues(self) -> Array:
        """Return the eigenvalues in ascending order."""
        if len(self.diagonal) == 1:
            return self.diagonal.copy()
        return np.asarray(eigvalsh_tridiagonal(self.diagonal, self.off_diagonal))

    def _reflect(self, vectors: Array, transpose: str) -> Array:
        out = np.array(vectors, dtype=np.float64, order="F")
        if len(out) > 1:
            # The first coordinate is left alone by every reflection.
            below = np.asfortranarray(out[1:])
            size = int(lapack.dormqr("L", transpose, self.reflectors, self.factors, below, -1)[1][0])
            rotated, _, info = lapack.dormqr("L", transpose, self.reflectors, self.factors, below, size)
            _expect_success("dormqr", info)
            out[1:] = rotated
        return out


def _expect_success(routine: str, info: Any) -> None:
    if info != 0:
        raise ConvergenceError(f"LAPACK's {routine} stopped with info = {info}; the matrix is singular or not finite.")


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues, ascending and not negative, and eigenvectors (columns) of a Gram matrix."""

    eigenvalues: Array
    eigenvectors: Array

    @classmethod
    def of(cls, gram: Array) -> Spectrum:
        """Diagonalize a positive semi-definite matrix; eigenvalues of rounding size become zero."""
        values, vectors = eigh(gram, driver="evd", check_finite=False)
        return cls(without_rounding(values), vectors)


@dataclass(frozen=True)
class RidgePath:
    """Ridge regression of one training set at L regularizations.

    Attributes
    ----------
    regularization : array, (L,)
    coefficients : array, (n, L)
        The a of each regularization; f(x) = K(x, inputs) @ coefficients. Where λ is below 1e-9 of the largest
        eigenvalue, the part outside the range of K is left out: of size 1/λ, it would add to f nothing but rounding.
    fitted : array, (n, L)
        f on the training inputs.
    effective_dimension : array, (L,)
    leave_one_out : array, (n, L), or None
        Prediction at each training input without it, if `leave_one_out` was set.
    eigenvalues : array, (n,)
        Of the Gram matrix, ascending.
    """

    regularization: Array
    coefficients: Array
    fitted: Array
    effective_dimension: Array
    leave_one_out: Array | None
    eigenvalues: Array


def ridge_path(
    gram: Array,
    labels: ArrayLike,
    regularization: ArrayLike,
    *,
    leave_one_out: bool = False,
    spectrum: Spectrum | None = None,
) -> RidgePath:
    """Solve ridge regression at every regularization from one factorization.

    Parameters
    ----------
    gram : array, (n, n)
        Symmetric and positive semi-definite.
    labels : array_like, (n,)
    regularization : array_like, (L,), not negative
        λ; zero is the limit λ → 0⁺.
    leave_one_out : bool
        Also predict each training sample without itself; about twice the time.
    spectrum : Spectrum, optional
        Spectrum of `gram`, if it is already known.
    """
    shifts, y = read_path(gram, labels, regularization)
    if spectrum is None and not leave_one_out:
        reduced = Tridiagonal.of(gram)
        values = without_rounding(reduced.eigenvalues())
        if values[0] > 0.0 or shifts.min() > NEGLIGIBLE_SHIFT_SHARE * values[-1]:
            solved = reduced.solve_shifted(reduced.rotate(y[:, None])[:, 0], shifts)
            return _assemble_path(shifts, y, reduced.rotate_back(solved), values, None)
    known = Spectrum.of(gram) if spectrum is None else spectrum
    inverse = inverse_shifted(known.eigenvalues, shifts)
    rotated = (known.eigenvectors.T @ y)[:, None]
    coefficients = known.eigenvectors @ (inverse * rotated)
    left_out = _leave_one_out(known, y, coefficients, inverse, shifts) if leave_one_out else None
    path = _assemble_path(shifts, y, coefficients, known.eigenvalues, left_out)
    lost = shifts <= NEGLIGIBLE_SHIFT_SHARE * known.eigenvalues[-1]
    if lost.any():
        in_range = known.eigenvalues > 0.0
        basis, part = known.eigenvectors[:, in_range], (inverse[:, lost] * rotated)[in_range]
        path.coefficients[:, lost] = basis @ part
        path.fitted[:, lost] = basis @ (known.eigenvalues[in_range, None] * part)
    return path


def ridge_solution(matrix: Array, right: Array, regularization: float) -> Array:
    """Solve (K + λI) a = b for one λ and a checked K; a λ that may be below rounding is taken as a limit."""
    # The trace is not less than the largest eigenvalue.
    if regularization <= NEGLIGIBLE_SHIFT_SHARE * float(np.trace(matrix)):
        return ridge_path(matrix, right, regularization).coefficients[:, 0]
    shifted = matrix.copy()
    shifted[np.diag_indices_from(shifted)] += regularization
    try:
        factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:  # not positive definite: the path raises an error, or solves it if rounding is the cause
        return ridge_path(matrix, right, regularization).coefficients[:, 0]
    return np.asarray(cho_solve(factor, right, check_finite=False))


def ridge_weights(pairs: Iterable[tuple[Array, Array]], width: int, regularization: float) -> Array:
    r"""Return the weights of features, :math:`(\Phi^\top\Phi + \lambda I)^{-1}\Phi^\top y`.

    Parameters
    ----------
    pairs : iterable of pairs of arrays, (b, width) and (b,)
        Features and labels of one batch of samples each.
    width : int
        The number of features; only a matrix of width × width is built.
    regularization : float, not negative
        λ; zero is the limit λ → 0⁺.
    """
    square, right = np.zeros((width, width)), np.zeros(width)
    for features, labels in pairs:
        square += features.T @ features
        right += features.T @ labels
    return ridge_solution(square, right, regularization)


def read_path(gram: Array, labels: ArrayLike, regularization: ArrayLike) -> tuple[Array, Array]:
    """Return the checked regularizations and labels."""
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not gram.size:
        raise InputError(f"gram must be a square matrix; got shape {gram.shape}.")
    y = np.asarray(labels, dtype=np.float64)
    if y.shape != (len(gram),):
        raise InputError(f"labels must be {len(gram)} numbers, one for each row of gram; got shape {y.shape}.")
    if not (np.isfinite(gram).all() and np.isfinite(y).all()):
        raise InputError("gram and labels must be finite.")
    if not _is_symmetric(gram):
        raise InputError("gram must be symmetric: the kernel of the training inputs with themselves.")
    shifts = np.atleast_1d(non_negative("regularization", regularization))
    if shifts.ndim != 1 or not shifts.size:
        raise InputError(f"regularization must be a list of at least one number; got shape {shifts.shape}.")
    return shifts, y


def _is_symmetric(gram: Array) -> bool:
    allowed = MATRIX_TOLERANCE * float(np.abs(gram).max())
    parts = blocks(len(gram), ROWS_PER_COMPARISON)
    return all(float(np.abs(gram[part] - gram[:, part].T).max()) <= allowed for part in parts)


def without_rounding(eigenvalues: Array) -> Array:
    """Return the eigenvalues of a Gram matrix with those of rounding size, also negative ones, as zero."""
    largest = max(abs(float(eigenvalues[0])), abs(float(eigenvalues[-1])))
    if eigenvalues[0] < -MATRIX_TOLERANCE * largest:
        raise InputError(
            "gram must be positive semi-definite, as every kernel's is; its eigenvalues lie between "
            f"{eigenvalues[0]:.3g} and {eigenvalues[-1]:.3g}."
        )
    floor = ZERO_EIGENVALUE_SHARE * len(eigenvalues) * largest
    return np.where(eigenvalues > floor, eigenvalues, 0.0)


def inverse_shifted(eigenvalues: Array, shifts: Array) -> Array:
    """Return 1/(s + λ), (n, L), and zero where both are zero."""
    total = eigenvalues[:, None] + shifts
    return np.divide(1.0, total, out=np.zeros_like(total), where=total > 0.0)


def _assemble_path(shifts: Array, y: Array, coefficients: Array, values: Array, left_out: Array | None) -> RidgePath:
    fitted = y[:, None] - shifts * coefficients
    dimension = (values[:, None] * inverse_shifted(values, shifts)).sum(axis=0)
    return RidgePath(shifts, coefficients, fitted, dimension, left_out, values)


def _leave_one_out(known: Spectrum, y: Array, coefficients: Array, inverse: Array, shifts: Array) -> Array:
    """Return y_i − a_i/G_ii; in the limit λ → 0⁺ of a singular matrix both are 1/λ times the part outside its range."""
    squares = known.eigenvectors**2
    diagonal = squares @ inverse
    out = y[:, None] - coefficients / np.where(diagonal > 0.0, diagonal, np.nan)
    null = known.eigenvalues == 0.0
    if null.any() and (shifts == 0.0).any():
        basis = known.eigenvectors[:, null]
        residual, leverage = basis @ (basis.T @ y), squares[:, null].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = np.where(leverage > np.sqrt(ZERO_EIGENVALUE_SHARE), y - residual / leverage, np.nan)
        out[:, shifts == 0.0] = np.where(np.isnan(limit)[:, None], out[:, shifts == 0.0], limit[:, None])
    return out
