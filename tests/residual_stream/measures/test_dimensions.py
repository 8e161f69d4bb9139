"""Participation ratio and explained variance of clouds with a known spectrum, whole and streamed."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.models.stream import Stream
from genlaws.residual_stream.measures.dimensions import explained_variance, participation_ratios
from genlaws.residual_stream.measures.projected_paths import paths, pooled_axes
from genlaws.residual_stream.measures.samples import SecondMomentReducer

SPECTRUM = np.array([4.0, 2.0, 1.0, 0.5, 0.5])


def whitened(texts, units, seed=0):
    raw = np.random.default_rng(seed).standard_normal((texts, units))
    q, _ = np.linalg.qr(raw - raw.mean(axis=0))
    return q * np.sqrt(texts - 1)


@pytest.fixture(scope="module")
def growing():
    """A diagonal map: the variances at site l are the spectrum to the power l."""
    first = whitened(60, 5)
    return Stream.from_states(np.stack([first * SPECTRUM ** (0.5 * site) for site in range(4)], axis=1))


@pytest.fixture(scope="module")
def turning():
    """One spectrum at all 64 sites, norms growing by e^3.3, and a basis that turns slowly."""
    units, sites, turn = 100, 64, 20.0
    generator = np.random.default_rng(1)
    spectrum = np.arange(1, units + 1.0) ** -0.85
    skew = generator.standard_normal((units, units))
    values, vectors = np.linalg.eigh(1j * (skew - skew.T) / np.sqrt(2 * units))
    first = whitened(150, units) * np.sqrt(spectrum)
    states = []
    for time in np.linspace(0, 1, sites):
        rotation = ((vectors * np.exp(-1j * values * turn * time)) @ vectors.conj().T).real
        states.append(np.exp(3.3 * time) * first @ rotation.T)
    return Stream.from_states(np.stack(states, axis=1)), spectrum[:10].sum() / spectrum.sum()


def test_a_diagonal_map_has_the_dimensions_of_its_spectrum(growing):
    powers = SPECTRUM ** np.arange(4)[:, None]
    ratio = participation_ratios(growing)
    assert ratio.plain == pytest.approx(powers.sum(axis=1) ** 2 / (powers**2).sum(axis=1), rel=1e-10)
    found = explained_variance(growing, components=[1, 3, 5])
    expected = np.cumsum(powers, axis=1)[:, [0, 2, 4]] / powers.sum(axis=1, keepdims=True)
    assert found.share == pytest.approx(expected, abs=1e-10)
    assert found.low[:, 2] == pytest.approx(1)
    assert found.high[:, 2] == pytest.approx(1)
    assert ((found.low[:, :2] < expected[:, :2]) & (found.high[:, :2] > expected[:, :2])).all()
    assert found.message == ratio.message == ""
    assert found.curve(3).value == pytest.approx(expected[:, 1])
    assert found.to_frame().shape == (12, 6)
    assert ratio.to_frame().shape == (4, 6)


def test_pooled_components_seem_to_gain_where_the_stream_is_long(turning):
    stream, per_site = turning
    own = explained_variance(stream, components=[10])
    pooled = explained_variance(stream, components=[10], basis="pooled")
    assert per_site == pytest.approx(0.47, abs=0.01)
    assert own.share == pytest.approx(per_site, abs=1e-9)
    assert pooled.share[0, 0] == pytest.approx(0.10, abs=0.005)
    assert pooled.share[-1, 0] == pytest.approx(0.32, abs=0.01)
    # Divided by their root mean square the sites count alike, and the gain is gone.
    level = explained_variance(stream, components=[10], basis="pooled", normalize=True).share[:, 0]
    assert abs(level[-1] - level[0]) < 0.05
    ratios = participation_ratios(stream).curve.value
    assert ratios == pytest.approx(ratios[0], rel=1e-9)


@pytest.mark.parametrize("basis", ["site", "pooled"])
@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
def test_sums_give_the_values_of_the_states(turning, basis, held_out, normalize):
    stream = Stream.from_states(turning[0].states[:, ::16, :30] + 5.0)
    reducer = SecondMomentReducer(normalize=normalize)
    for first in range(0, stream.text_count, 37):
        reducer.update(stream.take(np.arange(first, min(first + 37, stream.text_count))))
    sums = reducer.result()
    given = {"basis": basis, "held_out": held_out, "normalize": normalize}
    whole, streamed = explained_variance(stream, **given), explained_variance(sums, **given)
    assert streamed.share == pytest.approx(whole.share, abs=1e-10)
    assert np.isnan(streamed.low).all()
    assert "no intervals" in streamed.message
    assert np.isfinite(whole.low).all()
    ratio, same = participation_ratios(stream, normalize=normalize), participation_ratios(sums)
    assert same.curve.value == pytest.approx(ratio.curve.value, rel=1e-10)
    assert same.plain == pytest.approx(ratio.plain, rel=1e-10)


def test_few_texts_look_flat_unless_halves_are_compared():
    # 40 texts of isotropic noise in 60 dimensions: the truth is a ratio of 60 and a share of 10/60.
    states = np.random.default_rng(3).standard_normal((40, 30, 60))
    stream = Stream.from_states(states)
    ratio = participation_ratios(stream)
    assert ratio.plain.mean() == pytest.approx(1 / (1 / 60 + 1 / 40), rel=0.05)
    assert ratio.curve.value.mean() == pytest.approx(60, rel=0.1)
    assert explained_variance(stream, components=[10]).share.mean() > 0.45
    assert explained_variance(stream, components=[10], held_out=True).share.mean() == pytest.approx(1 / 6, abs=0.02)


def test_fewer_texts_than_units_take_the_other_product():
    states = np.random.default_rng(4).standard_normal((12, 2, 30))
    found = explained_variance(Stream.from_states(states), components=[3, 11, 30])
    values = np.linalg.svd(states[:, 1] - states[:, 1].mean(axis=0), compute_uv=False) ** 2
    assert found.share[1] == pytest.approx(np.cumsum(values)[[2, 10, 11]] / values.sum(), abs=1e-10)
    assert "12 texts span fewer than 30 dimensions" in found.message
    ratio = participation_ratios(Stream.from_states(states))
    assert ratio.plain[1] == pytest.approx(values.sum() ** 2 / (values**2).sum())


def test_both_ways_to_the_overlap_of_halves_agree():
    rows = np.random.default_rng(5).standard_normal((200, 2, 3))
    many, few = participation_ratios(Stream.from_states(rows)), participation_ratios(Stream.from_states(rows[:10]))
    for texts, found in ((200, many), (10, few)):
        a, b = (np.cov(rows[half:texts:2, 0].T) for half in range(2))
        assert found.curve.value[0] == pytest.approx(np.trace(a) * np.trace(b) / np.trace(a @ b))


def test_what_does_not_vary_is_named(growing):
    states = growing.states.astype(np.float32)
    states[:, 0] = 0.3
    stream = Stream.from_states(states)
    ratios, explained = participation_ratios(stream), explained_variance(stream)
    for curve, message in ((ratios.curve, ratios.message), (explained.curve(1), explained.message)):
        assert np.isnan(curve.value[0])
        assert np.isfinite(curve.value[1:]).all()
        assert "do not vary over the texts at 0.attention" in message
    one = Stream.from_states(states[:1])
    assert np.isnan(participation_ratios(one).curve.value).all()
    assert "one text only" in participation_ratios(one).message
    assert np.isnan(explained_variance(one, held_out=True).share).all()
    two = participation_ratios(growing.take([0, 1]))
    assert np.isnan(two.curve.value).all()
    assert two.plain == pytest.approx(1)
    assert "at least 4 texts" in two.message


def test_paths_are_pooled_principal_components(turning):
    stream = turning[0]
    found = paths(stream, components=3)
    flat = stream.states.reshape(-1, stream.unit_count)
    values = np.linalg.svd(flat - flat.mean(axis=0), compute_uv=False) ** 2
    assert found.axes.share == pytest.approx(values[:3] / values.sum(), abs=1e-10)
    assert found.axes.axes.T @ found.axes.axes == pytest.approx(np.eye(3), abs=1e-12)
    assert found.coordinates.reshape(-1, 3).std(axis=0) ** 2 * len(flat) == pytest.approx(values[:3], rel=1e-10)
    assert found.mean == pytest.approx(found.coordinates.mean(axis=0))
    sums = SecondMomentReducer(pooled=True).update(stream).result()
    again = paths(stream, axes=pooled_axes(sums, components=3))
    assert again.coordinates == pytest.approx(found.coordinates, abs=1e-8)
    assert found.to_frame().shape == (150 * 64, 5)


def test_paths_of_normalized_states_have_normalized_coordinates(growing):
    found = paths(growing, components=5, normalize=True)
    squares = (found.coordinates + found.axes.center @ found.axes.axes) ** 2
    assert squares.mean(axis=-1) == pytest.approx(1)


def test_wrong_arguments_are_named(growing):
    with pytest.raises(InputError, match="components must be a whole number, at least 1 and at most 5"):
        explained_variance(growing, components=[6])
    with pytest.raises(InputError, match="components must name at least one"):
        explained_variance(growing, components=[])
    with pytest.raises(InputError, match="basis must be one of site, pooled"):
        explained_variance(growing, basis="layer")
    with pytest.raises(InputError, match="components must be one of"):
        explained_variance(growing, components=[2]).curve(3)
    sums = SecondMomentReducer().update(growing).result()
    with pytest.raises(InputError, match="normalize must be given to the reducer"):
        participation_ratios(sums, normalize=True)
    with pytest.raises(InputError, match="give them to its update"):
        participation_ratios(sums, texts=[0])
    with pytest.raises(InputError, match="all of them are the same"):
        pooled_axes(Stream.from_states(np.ones((4, 3, 2))))
    with pytest.raises(InputError, match="axes must have the 5 units"):
        paths(growing, axes=pooled_axes(Stream.from_states(np.eye(4).reshape(2, 2, 4))))
