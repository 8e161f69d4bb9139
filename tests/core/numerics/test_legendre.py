"""Integrals of polynomials from each node on are exact."""

import numpy as np
import pytest

from genlaws.core.numerics.gaussian import legendre_integrals

ROUNDING = 1e-13


@pytest.mark.parametrize("count", [1, 4, 8, 16])
def test_powers_are_integrated_from_every_node_to_the_end(count):
    x, w, to_coefficients, to_end = legendre_integrals(count)
    for power in range(count):
        expected = (1.0 - x ** (power + 1)) / (power + 1)
        assert to_end @ x**power == pytest.approx(expected, abs=ROUNDING)
        assert np.polynomial.legendre.legval(x, to_coefficients @ x**power) == pytest.approx(x**power, abs=ROUNDING)
    assert w.sum() == pytest.approx(2.0, abs=ROUNDING)
