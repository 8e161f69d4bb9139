"""Sums accumulated batch by batch are those of the whole array, in any split and order of merging."""

import copy
import tracemalloc

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.models.stream import Site, Stream
from genlaws.residual_stream.measures import reducers
from genlaws.residual_stream.measures.correlations import UnitReducer
from genlaws.residual_stream.measures.paths import SCALAR_FIELDS, PathReducer
from genlaws.residual_stream.measures.samples import SecondMomentReducer

KINDS = [UnitReducer, PathReducer, SecondMomentReducer]
TOLERANCE = 1e-10
TEXTS, SITES, UNITS = 47, 5, 6


@pytest.fixture(scope="module")
def states():
    # Means far from zero: sums of squares themselves would lose nine digits of the variance.
    generator = np.random.default_rng(0)
    return 3e4 + np.cumsum(generator.standard_normal((TEXTS, SITES, UNITS)), axis=1)


def numbers_of(result):
    names = [name for name in vars(result) if isinstance(getattr(result, name), np.ndarray)]
    return {name: getattr(result, name) for name in names}


def assert_same(one, two):
    first, second = numbers_of(one), numbers_of(two)
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_allclose(second[name], values, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 10**9])
def test_batches_give_what_the_whole_array_gives(kind, block, states, monkeypatch):
    monkeypatch.setattr(reducers, "NUMBERS_PER_BLOCK", block)
    streamed = kind()
    for first, last in ((0, 1), (1, 14), (14, 40), (40, TEXTS)):
        streamed.update(states[first:last])
    monkeypatch.undo()
    assert_same(kind().update(states).result(), streamed.result())


def test_unit_sums_are_those_of_numpy(states):
    sums = UnitReducer(groups=4).update(states).result()
    assert sums.counts.tolist() == [12, 12, 12, 11]  # dealt in turn
    np.testing.assert_allclose(sums.means[1], states[1::4].mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(sums.squares[1], states[1::4].var(axis=0) * 12, rtol=TOLERANCE)
    np.testing.assert_allclose(sums.variance, states.var(axis=0, ddof=1), rtol=TOLERANCE)
    deviations = states[2::4] - states[2::4].mean(axis=0)
    np.testing.assert_allclose(sums.products[2], (deviations[:, :-1] * deviations[:, 1:]).sum(axis=0), atol=1e-9)


def test_second_moments_are_those_of_numpy(states):
    moments = SecondMomentReducer().update(states).result()
    for half, site in ((0, 0), (1, 3)):
        expected = np.cov(states[half::2, site].T) * (moments.counts[half] - 1)
        np.testing.assert_allclose(moments.scatters[half, site], expected, rtol=1e-9, atol=1e-9)
    pooled = SecondMomentReducer(pooled=True).update(states).result()
    assert pooled.labels == ("all",)
    flat = states[::2].reshape(-1, UNITS)
    np.testing.assert_allclose(pooled.scatters[0, 0], np.cov(flat.T) * (len(flat) - 1), rtol=1e-9)
    normalized = SecondMomentReducer(normalize=True).update(states).result()
    directions = states[1::2, 2] / np.sqrt((states[1::2, 2] ** 2).mean(axis=1, keepdims=True))
    np.testing.assert_allclose(normalized.means[1, 2], directions.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_merging_is_associative_and_complete(kind, states):
    a, b, c = (kind().update(states[first:last]) for first, last in ((0, 20), (20, 40), (40, TEXTS)))
    left = copy.deepcopy(a).merge(copy.deepcopy(b)).merge(copy.deepcopy(c))
    right = copy.deepcopy(a).merge(copy.deepcopy(b).merge(copy.deepcopy(c)))
    assert left.text_count == right.text_count == TEXTS
    assert_same(left.result(), right.result())
    # Parts that begin at multiples of the number of groups deal their texts as one reducer would.
    assert_same(kind().update(states).result(), left.result())
    assert_same(left.result(), copy.deepcopy(left).merge(kind()).result())
    assert_same(left.result(), kind().merge(left).result())


def test_rows_of_a_text_stay_together(states):
    texts = np.arange(TEXTS) // 3
    sums = UnitReducer(groups=5).update(states[:30], texts[:30]).update(states[30:], texts[30:]).result()
    np.testing.assert_allclose(sums.means[2], states[texts % 5 == 2].mean(axis=0), rtol=1e-14)
    assert sums.text_count == 16
    other = PathReducer().update(states[:4], [0, 0, 1, 1])
    joined = PathReducer().update(states[:2], [0, 0]).merge(other).result()
    assert joined.texts.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_batches_are_named(kind, states):
    with pytest.raises(InputError, match="at least one text"):
        kind().result()
    reducer = kind().update(states)
    with pytest.raises(InputError, match="units must be the same"):
        reducer.update(states[..., :3])
    with pytest.raises(InputError, match=r"one for each of the 5"):
        reducer.update(states[:, :3])
    with pytest.raises(InputError, match="sites must be the same"):
        reducer.update(Stream.from_states(states, [Site(layer, "block") for layer in range(SITES)]))
    with pytest.raises(InputError, match="finite numbers; the first that are not are at the site 1.attention"):
        reducer.update(np.where(np.arange(SITES)[:, None] == 2, np.nan, states))
    with pytest.raises(InputError, match="texts must be one whole number"):
        reducer.update(states, [-1] * TEXTS)
    with pytest.raises(InputError, match="texts must be one whole number"):
        reducer.update(states, [0, 1])


def test_only_alike_second_moments_merge(states):
    with pytest.raises(InputError, match="agree on normalize and pooled"):
        SecondMomentReducer().update(states).merge(SecondMomentReducer(normalize=True).update(states))
    with pytest.raises(InputError, match="zero in all units"):
        SecondMomentReducer(normalize=True).update(np.zeros((1, 2, 3)))


@pytest.mark.parametrize("kind", [UnitReducer, SecondMomentReducer])
def test_memory_does_not_grow_with_the_texts(kind):
    batch = np.random.default_rng(1).standard_normal((50, 4, 40)).astype(np.float32)

    def peak(batches):
        """Return the most memory held while this many batches are taken in."""
        reducer = kind().update(batch)
        tracemalloc.start()
        for _ in range(batches):
            reducer.update(batch)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(2)
    assert peak(40) < 1.1 * peak(4)


def test_every_scalar_is_stored_for_every_text(states):
    result = PathReducer().update(states).result()
    widths = {"norm": SITES, "curvature": SITES - 2, "straightness": 1}
    for name in SCALAR_FIELDS:
        assert getattr(result, name).shape == (TEXTS, widths.get(name, SITES - 1)), name
