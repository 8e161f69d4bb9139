"""Intervals of 95 % hold the truth in about 95 of 100 samples, also from few texts and from several rows of a text."""

import numpy as np
import pytest

from genlaws.models.stream import Stream
from genlaws.residual_stream.measures.correlations import unit_correlations
from genlaws.residual_stream.measures.curves import bootstrap_means, jackknife_interval
from genlaws.residual_stream.measures.dimensions import explained_variance, participation_ratios
from genlaws.residual_stream.measures.paths import unit_means
from genlaws.residual_stream.measures.samples import Clouds

LEAST, MOST = 0.93, 0.975


def covers(low, high, truth):
    return ((low <= truth) & (truth <= high)).mean()


def correlated(generator, texts, units, r):
    first = generator.standard_normal((texts, units))
    second = r * first + np.sqrt(1 - r**2) * generator.standard_normal((texts, units))
    return np.stack([first, second], axis=1)


@pytest.mark.parametrize(("texts", "r"), [(60, 0.0), (60, 0.9), (210, 0.5)])
def test_unit_correlations_and_means(texts, r):
    stream = Stream.from_states(correlated(np.random.default_rng(texts), texts, 1000, r))
    found, means = unit_correlations(stream), unit_means(stream)
    assert LEAST <= covers(found.low, found.high, r) <= MOST
    assert LEAST <= covers(means.low, means.high, 0.0) <= MOST


def test_the_mean_correlation_of_dependent_units():
    # Units share a common part, so that the mean over units varies from sample to sample as one unit does.
    generator = np.random.default_rng(1)
    hits = []
    for _ in range(400):
        states = correlated(generator, 60, 5, 0.7) + 2 * correlated(generator, 60, 1, 0.7)
        mean = unit_correlations(Stream.from_states(states)).mean
        hits.append(mean.low[0] <= 0.7 <= mean.high[0])
    assert LEAST <= np.mean(hits) <= MOST


@pytest.mark.parametrize(("texts", "rows"), [(12, 1), (60, 1), (30, 4)])
def test_bootstrap_means_over_texts(texts, rows):
    # Rows of one text share half of their variance: as single texts they would be too sure of themselves.
    generator = np.random.default_rng(texts)
    values = np.repeat(generator.standard_normal((texts, 1000)), rows, axis=0)
    values += generator.standard_normal(values.shape)
    numbers = np.repeat(np.arange(texts), rows)
    value, low, high = bootstrap_means(values, numbers)
    assert value == pytest.approx(values.mean(axis=0))
    assert LEAST <= covers(low, high, 0.0) <= MOST
    if rows > 1:
        _, low, high = bootstrap_means(values, np.arange(texts * rows))
        assert covers(low, high, 0.0) < 0.85


def test_missing_values_are_left_out_of_the_bootstrap():
    generator = np.random.default_rng(3)
    values = generator.standard_normal((50, 4))
    values[10:, 1] = values[1:, 2] = values[:, 3] = np.nan
    value, low, high = bootstrap_means(values, np.arange(50))
    assert value[:3] == pytest.approx([values[:, 0].mean(), values[:10, 1].mean(), values[0, 2]])
    assert np.isnan(value[3])
    assert np.isnan(low[2:]).all()
    assert np.isnan(high[2:]).all()
    assert (low[:2] < value[:2]).all()
    assert high[1] - low[1] > high[0] - low[0]


def test_the_jackknife_of_a_mean_is_students_interval():
    values = np.random.default_rng(4).standard_normal(20)
    left_out = (values.sum() - values) / 19
    low, high = jackknife_interval(values.mean(), left_out)
    assert high - low == pytest.approx(2 * 2.093024 * values.std(ddof=1) / np.sqrt(20), rel=1e-6)


@pytest.fixture(scope="module")
def clouds():
    """Samples of 100 texts with a known spectrum, one at each of 500 sites."""
    spectrum = np.array([3.0, 2.0, 1.0, 1.0, 0.5, 0.5])
    states = np.random.default_rng(5).standard_normal((100, 500, 6)) * np.sqrt(spectrum)
    return Stream.from_states(states), spectrum


def test_participation_ratios(clouds):
    stream, spectrum = clouds
    curve = participation_ratios(stream).curve
    assert LEAST <= covers(curve.low, curve.high, spectrum.sum() ** 2 / (spectrum**2).sum()) <= MOST


def test_explained_variance_along_pooled_axes(clouds):
    stream, spectrum = clouds
    found = explained_variance(stream, components=[2], basis="pooled")  # 50,000 rows: the axes are as good as known
    assert LEAST <= covers(found.low, found.high, spectrum[:2].sum() / spectrum.sum()) <= MOST


def test_explained_variance_along_own_axes():
    # A gap in the spectrum keeps the error of the axes themselves, of second order, small.
    spectrum = np.array([20.0, 15.0, 1.0, 1.0, 1.0, 1.0])
    states = np.random.default_rng(6).standard_normal((100, 500, 6)) * np.sqrt(spectrum)
    found = explained_variance(Stream.from_states(states), components=[1, 2])
    assert LEAST <= covers(found.low[:, 1], found.high[:, 1], spectrum[:2].sum() / spectrum.sum()) <= MOST


def test_explained_variance_along_axes_of_the_other_half(clouds):
    # 400 texts: with 100, and eigenvalues as close as these, the intervals hold 92 of 100.
    spectrum = clouds[1]
    stream = Stream.from_states(np.random.default_rng(11).standard_normal((400, 500, 6)) * np.sqrt(spectrum))
    found = explained_variance(stream, components=[2], held_out=True)
    truth = []  # what the axes of either half explain of the true covariance
    for site in range(len(stream.sites)):
        axes = [half.axes(2) for half in Clouds(stream).halves(site)]
        truth.append(np.mean([(spectrum[:, None] * own**2).sum() / spectrum.sum() for own in axes]))
    assert LEAST <= covers(found.low[:, 0], found.high[:, 0], np.array(truth)) <= MOST
    assert max(truth) < spectrum[:2].sum() / spectrum.sum()


def test_intervals_know_rows_of_one_text(clouds):
    stream = Stream.from_states(np.repeat(clouds[0].states[:, :40], 3, axis=0))
    texts = np.repeat(np.arange(100), 3)
    once, thrice = clouds[0].states[:, :40], {"texts": texts}
    single = participation_ratios(Stream.from_states(once)).curve
    together, apart = participation_ratios(stream, **thrice).curve, participation_ratios(stream).curve
    width = single.high - single.low
    assert together.high - together.low == pytest.approx(width, rel=0.05)
    assert (apart.high - apart.low).mean() < 0.7 * width.mean()
    known = explained_variance(stream, components=[2], **thrice)
    plain = explained_variance(Stream.from_states(once), components=[2])
    assert known.high - known.low == pytest.approx(plain.high - plain.low, rel=1e-9)
