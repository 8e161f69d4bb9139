"""The share of facts estimated from left-out outputs: the likelihood, its interval, and real learners."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erf

from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size import gram_matrix, ridge_path
from genlaws.rules_facts.labels.fact_fraction import PROFILE_DROP, SHARE_TOLERANCE, estimate_fact_fraction
from genlaws.rules_facts.labels.task import draw_gaussian

# Half a step of the dense grid below, and the accuracy of the search.
STEP = 0.002
RESOLUTION = STEP + 2 * SHARE_TOLERANCE
# Intervals are of 95 %. Of 150 draws 90 % are three standard errors less, of 60 draws 85 % three and a half.
COVERED_OF_THE_MODEL, COVERED_OF_LEARNERS = 0.90, 0.85


def from_the_model(count, share, steepness, seed):
    """Draw outputs and labels that follow the formula exactly."""
    rng = np.random.default_rng(seed)
    outputs = rng.normal(size=count)
    agree = 0.5 * (1 + (1 - share) * erf(steepness * np.abs(outputs) / np.sqrt(2)))
    return outputs, np.sign(outputs) * np.where(rng.random(count) < agree, 1.0, -1.0)


def dense_profile(outputs, labels):
    """Return a grid of shares and the log-likelihood at the best of 400 steepnesses."""
    shares = np.arange(0, 1 + STEP / 2, STEP)
    steepness = np.geomspace(1e-3, 1e4, 400) / np.sqrt(np.mean(outputs**2))
    leans = np.sign(outputs) * labels * erf(steepness[:, None] * np.abs(outputs) / np.sqrt(2))
    with np.errstate(divide="ignore"):
        return shares, np.array([np.log1p((1 - share) * leans).sum(axis=1).max() for share in shares])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("steepness", [0.7, 5.0])
def test_value_and_interval_are_those_of_the_likelihood(share, steepness):
    outputs, labels = from_the_model(300, share, steepness, seed=4)
    found = estimate_fact_fraction(outputs, labels)
    shares, heights = dense_profile(outputs, labels)
    inside = shares[heights >= heights.max() - PROFILE_DROP]
    # A flat top has no sharp place: there the height counts.
    assert np.interp(found.value, shares, heights) >= heights.max() - 0.01
    assert found.low == pytest.approx(inside[0], abs=RESOLUTION + 0.01 * (inside[-1] - inside[0]))
    assert found.high == pytest.approx(inside[-1], abs=RESOLUTION + 0.01 * (inside[-1] - inside[0]))
    assert found.low <= found.value <= found.high
    assert found.count == 300


@pytest.mark.parametrize(("share", "count", "widest"), [(0.0, 150, 0.15), (0.3, 150, 0.6), (0.8, 900, 0.75)])
def test_the_interval_covers_the_share_of_the_model(share, count, widest):
    found = [estimate_fact_fraction(*from_the_model(count, share, 2.0, seed)) for seed in range(150)]
    assert np.mean([one.low <= share <= one.high for one in found]) >= COVERED_OF_THE_MODEL
    # And it is informative: not all of [0, 1].
    assert np.mean([one.high - one.low for one in found]) < widest


def test_the_interval_covers_the_share_of_facts_a_learner_saw():
    share, covered, values = 0.2, [], []
    for seed in range(60):
        draw = draw_gaussian(150, 5.0, share, seed=seed)
        path = ridge_path(gram_matrix("erf", draw.inputs), draw.labels, [0.5], leave_one_out=True)
        found = estimate_fact_fraction(path.leave_one_out[:, 0], draw.labels)
        covered.append(found.low <= share <= found.high)
        values.append(found.value)
    assert np.mean(covered) >= COVERED_OF_LEARNERS
    assert abs(np.mean(values) - share) < 4 * np.std(values) / np.sqrt(60)
    assert np.std(values) < 0.1


def test_perfect_agreement_means_no_facts():
    outputs = np.random.default_rng(0).normal(size=200)
    found = estimate_fact_fraction(outputs, np.sign(outputs))
    assert found.value == found.low == 0
    # All of 200 labels that agree with a sure learner: (1 − ε/2)^200 = e^(−1.92).
    assert found.high == pytest.approx(2 * (1 - np.exp(-PROFILE_DROP / 200)), abs=2 * SHARE_TOLERANCE)


@pytest.mark.parametrize("wrong", [1, 20])
def test_labels_against_a_sure_learner_are_half_of_the_facts(wrong):
    outputs = np.ones(200)
    outputs[:100] = -1
    labels = outputs.copy()
    labels[50 : 50 + wrong] *= -1
    found = estimate_fact_fraction(outputs, labels)
    # Outputs of one size do not separate a shallow learner from facts: any share up to twice the wrong ones fits.
    assert found.low == 0
    assert found.value <= 2 * wrong / 200 + SHARE_TOLERANCE
    assert found.high >= 2 * wrong / 200


def test_labels_that_never_agree_are_all_facts():
    outputs = np.random.default_rng(0).normal(size=100)
    found = estimate_fact_fraction(outputs, -np.sign(outputs))
    assert found.value == 1
    assert found.high == 1


@given(
    seed=st.integers(0, 100),
    share=st.floats(0, 1),
    unit=st.floats(1e-300, 1e300),
    flip=st.sampled_from([-1.0, 1.0]),
)
def test_units_signs_and_order_do_not_matter(seed, share, unit, flip):
    outputs, labels = from_the_model(60, share, 2.0, seed)
    order = np.random.default_rng(seed).permutation(60)
    found = estimate_fact_fraction(outputs, labels)
    other = estimate_fact_fraction(flip * unit * outputs[order], flip * labels[order])
    ends = np.array([found.low, found.high]), np.array([other.low, other.high])
    np.testing.assert_allclose(*ends, rtol=0, atol=10 * SHARE_TOLERANCE)


def test_outputs_of_zero_say_nothing():
    outputs, labels = from_the_model(100, 0.3, 2.0, seed=1)
    found = estimate_fact_fraction(outputs, labels)
    padded = estimate_fact_fraction(np.append(outputs, np.zeros(50)), np.append(labels, np.ones(50)))
    assert padded.count == 150
    assert (padded.low, padded.high) == pytest.approx((found.low, found.high), abs=10 * SHARE_TOLERANCE)


@pytest.mark.parametrize(
    ("outputs", "labels", "sentence"),
    [
        (np.ones(19), np.ones(19), "lists of equal length, 20 or more; got shapes"),
        (np.ones(30), np.ones(29), "lists of equal length"),
        (np.ones((30, 1)), np.ones((30, 1)), "lists of equal length"),
        (np.append(np.ones(30), np.nan), np.ones(31), "must be finite"),
        (np.ones(30), np.zeros(30), r"labels \+1 or -1"),
        (np.ones(30), np.full(30, np.nan), r"labels \+1 or -1"),
        (np.zeros(30), np.ones(30), "must not all be zero"),
    ],
)
def test_bad_input_is_refused(outputs, labels, sentence):
    with pytest.raises(InputError, match=sentence):
        estimate_fact_fraction(outputs, labels)
