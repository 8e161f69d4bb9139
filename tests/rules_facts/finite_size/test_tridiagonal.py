"""The orthogonal reduction: put together again it is the matrix, and shifted systems are solved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlaws.core.errors import ConvergenceError
from genlaws.rules_facts.finite_size.ridge import Tridiagonal

# Backward errors of orthogonal transformations of up to 60 dimensions, relative to the largest eigenvalue.
ROUNDING = 1e-13


def symmetric(count, rank, seed):
    factor = np.random.default_rng(seed).normal(size=(count, rank))
    return factor @ factor.T


def dense(reduced):
    return np.diag(reduced.diagonal) + np.diag(reduced.off_diagonal, 1) + np.diag(reduced.off_diagonal, -1)


@given(count=st.integers(1, 30), rank=st.integers(1, 40), seed=st.integers(0, 10_000))
def test_the_parts_make_up_the_matrix(count, rank, seed):
    matrix = symmetric(count, rank, seed)
    reduced = Tridiagonal.of(matrix)
    rotation = reduced.rotate_back(np.eye(count))
    scale = np.abs(matrix).max() * count
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(count), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(rotation @ dense(reduced) @ rotation.T, matrix, rtol=0, atol=ROUNDING * scale)
    np.testing.assert_allclose(reduced.rotate(np.eye(count)), rotation.T, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(reduced.eigenvalues(), np.linalg.eigvalsh(matrix), rtol=0, atol=ROUNDING * scale)


@given(count=st.integers(1, 25), seed=st.integers(0, 10_000), powers=st.lists(st.integers(-3, 3), min_size=1))
def test_shifted_systems_are_solved(count, seed, powers):
    matrix, right = symmetric(count, count // 2 + 1, seed), np.random.default_rng(seed + 1).normal(size=count)
    shifts = 10.0 ** np.array(powers)
    reduced = Tridiagonal.of(matrix)
    found = reduced.rotate_back(reduced.solve_shifted(reduced.rotate(right[:, None])[:, 0], shifts))
    assert found.shape == (count, len(shifts))
    for column, shift in zip(found.T, shifts, strict=True):
        residual = matrix @ column + shift * column - right
        assert np.abs(residual).max() <= ROUNDING * (np.abs(matrix).max() * count + shift) * np.abs(column).max()


def test_the_matrix_given_is_not_changed_and_may_be_read_only():
    matrix = symmetric(12, 12, 0)
    before = matrix.copy()
    matrix.flags.writeable = False
    Tridiagonal.of(matrix).solve_shifted(np.ones(12), np.ones(2))
    np.testing.assert_array_equal(matrix, before)


def test_the_upper_triangle_is_read():
    upper = np.triu(symmetric(8, 8, 1))
    full = upper + np.triu(upper, 1).T
    np.testing.assert_array_equal(Tridiagonal.of(upper).diagonal, Tridiagonal.of(full).diagonal)


@pytest.mark.parametrize(
    "layout", [np.ascontiguousarray, np.asfortranarray, lambda m: np.kron(m, np.ones((2, 2)))[::2, ::2]]
)
def test_any_memory_layout_gives_the_same(layout):
    matrix = symmetric(9, 9, 2)
    reduced = Tridiagonal.of(layout(matrix))
    np.testing.assert_allclose(reduced.eigenvalues(), np.linalg.eigvalsh(matrix), rtol=1e-12)


@pytest.mark.parametrize("count", [2, 5])
def test_a_singular_system_is_an_error_and_not_a_number(count):
    reduced = Tridiagonal.of(np.zeros((count, count)))
    with pytest.raises(ConvergenceError, match="dgtsv stopped with info = 1"):
        reduced.solve_shifted(np.ones(count), np.zeros(1))
