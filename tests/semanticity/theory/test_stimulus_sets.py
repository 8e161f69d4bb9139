"""Stimuli by name or by their distances."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity.theory.finite_sets import stimulus_distances


def test_circle_and_segment_are_equally_spaced():
    on_circle, on_segment = stimulus_distances("circle", 8), stimulus_distances("segment", 5)
    np.testing.assert_array_equal(on_circle[0], np.array([0, 1, 2, 3, 4, 3, 2, 1]) / 8)
    np.testing.assert_array_equal(on_segment[1], [0.25, 0.0, 0.25, 0.5, 0.75])
    for d in (on_circle, on_segment):
        np.testing.assert_array_equal(d, d.T)
        assert not np.diagonal(d).any()
    assert stimulus_distances("circle").shape == (50, 50)


def test_distances_lose_what_rounding_adds_and_nothing_else():
    exact = np.abs(np.arange(6)[:, None] - np.arange(6)) * 0.1
    noisy = exact * (1.0 + 1e-15 * np.triu(np.random.default_rng(0).normal(size=(6, 6))))
    noisy = 0.5 * (noisy + noisy.T)
    assert len(np.unique(noisy)) > 6
    found = stimulus_distances(noisy, 99)
    assert len(np.unique(found)) == 6
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12)
    close = np.array([[0.0, 1.0, 1.0 + 1e-9], [1.0, 0.0, 2.0], [1.0 + 1e-9, 2.0, 0.0]])
    assert stimulus_distances(close)[0, 1] < stimulus_distances(close)[0, 2]


@pytest.mark.parametrize(
    ("stimuli", "count", "complaint"),
    [
        ("sphere", 50, "stimuli must be one of circle, segment"),
        ("circle", 2, "stimulus_count must be a whole number, at least 3"),
        ("segment", 5.5, "stimulus_count must be"),
        ([[0.0, 1.0], [2.0, 0.0]], 50, "symmetric"),
        ([[0.0, 1.0], [1.0, 0.0]], 50, "at least three"),
        (np.zeros((3, 3)), 50, "at least three"),
        ([[0.0, np.nan], [np.nan, 0.0]], 50, "NaN"),
    ],
)
def test_wrong_stimuli_are_refused(stimuli, count, complaint):
    with pytest.raises(InputError, match=complaint):
        stimulus_distances(stimuli, count)
