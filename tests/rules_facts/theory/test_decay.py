"""Exponents of power laws: known ones come back with honest intervals, and so do those of the theory."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.rules_facts import DecayFit, bayes_optimal, fit_decay, solve

RATIOS = np.array([2.0, 4.0, 8.0, 16.0, 32.0])


def runs_of(exponent, scatter, seed, runs=8):
    rng = np.random.default_rng(seed)
    return 0.4 * RATIOS[:, None] ** -exponent * (1.0 + scatter * rng.standard_normal((len(RATIOS), runs)))


@pytest.mark.parametrize("exponent", [0.5, 1.0])
def test_an_exact_power_law_comes_back(exponent):
    found = fit_decay(RATIOS, 0.4 * RATIOS**-exponent)
    assert isinstance(found, DecayFit)
    assert found.exponent.value == pytest.approx(exponent, abs=1e-12)
    assert found.prefactor.value == pytest.approx(0.4)
    assert np.isnan(found.exponent.low)
    assert np.isnan(found.misfit)
    np.testing.assert_allclose(found.local_exponent, exponent)
    assert str(found) == f"exponent   {exponent:g}  for sample ratios from 2 to 32\nprefactor  0.4"


def test_intervals_of_runs_cover_as_often_as_they_say():
    covered = [
        fit.exponent.low <= 0.7 <= fit.exponent.high
        for fit in (fit_decay(RATIOS, runs_of(0.7, 0.1, seed), replicates=400) for seed in range(200))
    ]
    # A bootstrap of eight runs is a little narrow: 95 % would be 190 of 200, with a standard deviation of 3.
    assert 168 <= sum(covered) <= 199


def test_intervals_of_standard_errors_cover_as_often_as_they_say():
    rng = np.random.default_rng(5)
    truth, relative = 0.3 * RATIOS**-0.8, np.array([0.01, 0.02, 0.03, 0.05, 0.08])
    found = [
        fit_decay(RATIOS, truth * (1.0 + relative * rng.standard_normal(5)), standard_error=relative * truth)
        for _ in range(400)
    ]
    assert 360 <= sum(fit.exponent.low <= 0.8 <= fit.exponent.high for fit in found) <= 396
    assert 360 <= sum(fit.prefactor.low <= 0.3 <= fit.prefactor.high for fit in found) <= 396
    assert np.mean([fit.misfit for fit in found]) == pytest.approx(1.0, abs=0.2)


def test_precise_points_count_more():
    bent = 0.4 * RATIOS**-0.5 * np.array([1.0, 1.0, 1.0, 1.0, 1.5])
    loose = fit_decay(RATIOS, bent, standard_error=bent * np.array([0.01, 0.01, 0.01, 0.01, 1.0]))
    assert loose.exponent.value == pytest.approx(0.5, abs=1e-3)
    assert fit_decay(RATIOS, bent).exponent.value < 0.45


def test_a_bend_shows_in_the_misfit():
    bend = (1.0 + 0.1 * (RATIOS > 4.0))[:, None]
    straight = [fit_decay(RATIOS, runs_of(0.5, 0.02, seed)).misfit for seed in range(40)]
    bent = [fit_decay(RATIOS, runs_of(0.5, 0.02, seed) * bend).misfit for seed in range(40)]
    # With eight runs the scatter is itself uncertain: the mean of chi-square over 3 is 7/5 of what it would be.
    assert 1.0 < np.mean(straight) < 2.0
    assert min(bent) > 5.0


def test_order_and_missing_runs_do_not_matter():
    table = runs_of(0.6, 0.1, 3)
    first, turned = fit_decay(RATIOS, table), fit_decay(RATIOS[::-1], table[::-1])
    assert turned.exponent.value == pytest.approx(first.exponent.value)
    assert turned.sample_ratio.tolist() == RATIOS.tolist()
    padded = np.concatenate([table, np.full((5, 2), np.nan)], axis=1)
    assert fit_decay(RATIOS, padded).exponent == first.exponent


def test_the_theory_decays_as_it_is_known_to():
    many = np.geomspace(1e3, 1e5, 9)
    task = {"sample_ratio": many, "fact_fraction": 0.2}
    assert fit_decay(many, solve("square", **task).generalization_error).exponent.value == pytest.approx(0.5, abs=1e-3)
    assert fit_decay(many, bayes_optimal(**task).generalization_error).exponent.value == pytest.approx(1.0, abs=1e-3)
    # Over few samples neither has reached its law, which is why networks are compared with curves over their own range.
    task["sample_ratio"] = RATIOS
    assert 0.45 < fit_decay(RATIOS, solve("square", **task).generalization_error).exponent.value < 0.49
    assert 0.7 < fit_decay(RATIOS, bayes_optimal(**task).generalization_error).exponent.value < 0.85


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"generalization_error": [0.1, 0.2, 0.3]}, "generalization_error must have 5 rows"),
        ({"generalization_error": 0.0 * RATIOS}, "generalization_error must be positive"),
        ({"generalization_error": np.full((5, 3), np.nan)}, "generalization_error must be finite, with 2 or more runs"),
        ({"sample_ratio": [2.0, 2.0, 4.0, 8.0, 16.0]}, "all different"),
        ({"sample_ratio": [2.0]}, "at least two"),
        ({"standard_error": [0.1]}, "standard_error must hold 5"),
        ({"generalization_error": np.ones((5, 2)), "standard_error": RATIOS}, "standard_error must be left out"),
        ({"replicates": 3}, "replicates must be"),
    ],
)
def test_wrong_input_is_refused(arguments, complaint):
    valid = {"sample_ratio": RATIOS, "generalization_error": 0.4 / RATIOS}
    with pytest.raises(InputError, match=complaint):
        fit_decay(**valid | arguments)
