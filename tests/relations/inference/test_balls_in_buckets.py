"""Balls in buckets: the paper's numbers, the ends of each range, and a simulation."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations.inference.paper import accuracy_formula, critical_fraction, inferable_fraction

# b and p_c at n = 30 and target .9, to the printed digits.
CRITICAL = [
    (47.55, 0.120),
    (39.75, 0.100),
    (69.66, 0.177),
    (53.34, 0.135),
    (107.71, 0.274),
    (30, 0.0755),
    (26.2, 0.0658),
]


@pytest.mark.parametrize(("bits", "expected"), CRITICAL)
def test_critical_fractions_at_thirty_elements(bits, expected):
    assert critical_fraction(0.9, 30, bits) == pytest.approx(expected, abs=6e-4)


def test_the_critical_fraction_solves_its_equation():
    alpha, b = np.linspace(0.01, 0.99, 9)[:, None], np.array([1.001, 1.5, 2, 40, 1e6])
    p = critical_fraction(alpha, 30, b)
    np.testing.assert_allclose(inferable_fraction(900 * p, b), np.broadcast_to(alpha, p.shape), rtol=1e-12)


def test_many_bits():
    b = 1e13
    assert critical_fraction(0.9, 10**6, b) == pytest.approx(-b * np.log(0.1) / 1e12, rel=1e-12)
    assert inferable_fraction(1.0, b) == pytest.approx(1 / b, rel=1e-12)
    assert inferable_fraction(5.0, np.inf) == 0.0
    assert critical_fraction(0.5, 30, np.inf) == np.inf


def test_ends():
    assert inferable_fraction(0, 40) == 0.0
    np.testing.assert_array_equal(critical_fraction([0.0, 1.0], 30, 40.0), [0.0, np.inf])
    np.testing.assert_array_equal(inferable_fraction([0, 1, 1, 0, 0], [1, 1, 0.5, 0.5, 0]), [0, 1, 1, 0, 1])
    np.testing.assert_array_equal(critical_fraction([0.0, 0.5, 1.0, 1.0], 30, [1, 1, 0.5, 0]), 0.0)
    # The limit of one bucket is reached without a jump.
    assert critical_fraction(0.9, 30, 1 + 1e-12) < 1e-3
    assert inferable_fraction(1.0, 1 + 1e-12) == pytest.approx(1.0)


def test_accuracy_adds_guesses():
    for guess in (1 / 3, 2 / 3):
        np.testing.assert_allclose(accuracy_formula([0.0, 1.0], 30, 47.55, guess), [2 / 3, 1.0], atol=1e-8)
    # Rows p = .01, .1 and .2 of modulo 3 as they stand in the notes on the theory.
    np.testing.assert_allclose(accuracy_formula([0.01, 0.1, 0.2], 30, 47.55, 1 / 3), [0.725, 0.951, 0.993], atol=6e-4)


def test_simulated_balls():
    rng = np.random.default_rng(4)
    thrown = rng.integers(0, 50, (4000, 80))
    filled = np.array([len(set(row)) for row in thrown.tolist()]) / 50
    error = filled.std() / np.sqrt(len(filled))
    assert abs(filled.mean() - inferable_fraction(80, 50)) < 5 * error


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: inferable_fraction(-1, 3), "sample_count must be zero or positive"),
        (lambda: inferable_fraction(1, -3), "description_length must be zero, positive or infinite; got -3"),
        (lambda: critical_fraction(90, 30, 40), r"target_accuracy must lie in \[0, 1\]; got 90. It is a share"),
        (lambda: critical_fraction(0.9, 0, 40), r"element_count must lie in \[1, inf\)"),
        (lambda: accuracy_formula(1.5, 30, 40, 0.5), r"train_fraction must lie in \[0, 1\]"),
        (lambda: accuracy_formula(0.5, 30, 40, 2), r"guess_accuracy must lie in \[0, 1\]"),
        (lambda: critical_fraction([0.1, 0.2], 30, [1, 2, 3]), "broadcast together"),
    ],
)
def test_wrong_input_is_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
