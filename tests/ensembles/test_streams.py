"""Random numbers of a stack: uniform, unrelated, and a function of seed, step and place alone."""

import numpy as np
import pytest
import torch
from scipy import stats

from genlaws.ensembles import streams

UNLIKELY = 1e-4  # p-value below which a test fails; the seeds are fixed, so it fails always or never
LARGEST_Z = 4.0  # standard errors of a correlation that should be zero
CPU = "cpu"


def keys(seeds, purpose=0):
    return streams.keys_of(list(seeds), CPU, purpose)


def steps(*numbers):
    return torch.tensor(numbers, dtype=torch.int64)


def correlation_z(first, second):
    """Return the correlation of two sets of numbers in standard errors."""
    first, second = np.ravel(first), np.ravel(second)
    return np.corrcoef(first, second)[0, 1] * np.sqrt(first.size)


@pytest.mark.parametrize(
    ("networks", "count", "number"), [(1, 20_000, 1), (20_000, 1, 1), (1, 1, 20_000), (20, 50, 20)]
)
def test_uniform_along_every_axis(networks, count, number):
    u = streams.uniforms(keys(range(networks)), torch.arange(number), count)
    assert u.shape == (number, networks, count)
    assert u.dtype == torch.float64
    assert 0.0 <= u.min() <= u.max() < 1.0
    assert stats.kstest(u.numpy().ravel(), "uniform").pvalue > UNLIKELY


@pytest.mark.parametrize("scale", [2**8, 2**20, 2**40])
def test_low_bits_are_uniform_too(scale):
    u = streams.uniforms(keys(range(10)), torch.arange(10), 2000).numpy().ravel() * scale
    assert stats.kstest(u - np.floor(u), "uniform").pvalue > UNLIKELY


def test_pairs_of_neighbors_fill_the_square():
    u = streams.uniforms(keys([5]), torch.arange(100), 200).numpy()
    for first, second in ((u[..., :-1], u[..., 1:]), (u[:-1], u[1:])):
        table = np.histogram2d(first.ravel(), second.ravel(), bins=16, range=[[0, 1], [0, 1]])[0]
        assert stats.chisquare(table.ravel()).pvalue > UNLIKELY


@pytest.mark.parametrize("apart", [1, 2, 64, 2**32, 2**63])
def test_neighboring_seeds_are_unrelated(apart):
    seeds = range(100)
    first, second = (streams.uniforms(keys([s + d for s in seeds]), torch.arange(20), 20).numpy() for d in (0, apart))
    assert abs(correlation_z(first, second)) < LARGEST_Z
    assert np.unique(first).size == first.size
    assert (first != second).all()


def test_steps_places_and_purposes_are_unrelated():
    u = streams.uniforms(keys(range(100)), torch.arange(40), 40).numpy()
    other = streams.uniforms(keys(range(100), purpose=1), torch.arange(40), 40).numpy()
    off = ~np.eye(40, dtype=bool)
    by_step, by_place = u.transpose(1, 0, 2)[:, off], u.transpose(1, 2, 0)[:, off]
    shifted = [(u[1:], u[:-1]), (u[:, :, 1:], u[:, :, :-1]), (u[:, 1:], u[:, :-1]), (u, other), (by_step, by_place)]
    for first, second in shifted:
        assert abs(correlation_z(first, second)) < LARGEST_Z
    assert np.unique(np.concatenate([u.ravel(), other.ravel()])).size == 2 * u.size


def test_a_network_s_numbers_depend_on_nothing_but_its_seed_the_step_and_the_place():
    whole = streams.uniforms(keys(range(50)), torch.arange(64), 30)
    alone = streams.uniforms(keys([17]), steps(5, 63), 11)
    assert torch.equal(alone[:, 0], whole[[5, 63], 17, :11])
    reversed_order = streams.uniforms(keys(reversed(range(50))), torch.arange(64), 30)
    assert torch.equal(reversed_order.flip(1), whole)


def test_numbers_stay_what_they_are():
    """A change of the hash would change every stored result."""
    u = streams.uniforms(keys([0, 1]), steps(0, 10**12), 2)
    bits = (u * 2.0**53).to(torch.int64)
    assert bits.tolist() == REFERENCE


def splitmix(x):
    """Return the finalizer of SplitMix64 in whole numbers of any size."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def by_hand(seed, step, place, purpose=0):
    golden = 0x9E3779B97F4A7C15
    key = splitmix((splitmix((seed + golden) % 2**64) + (purpose + 1) * golden) % 2**64)
    at_step = splitmix((key + (step + 1) * golden) % 2**64)
    return splitmix((at_step + (place + 1) * golden) % 2**64) >> 11


REFERENCE = [[[by_hand(seed, step, place) for place in range(2)] for seed in (0, 1)] for step in (0, 10**12)]


@pytest.mark.parametrize("seed", [-1, -(2**70), 2**63, 2**64 - 1, 2**100 + 3, np.int64(-5)])
def test_negative_and_long_seeds(seed):
    u = streams.uniforms(keys([seed], purpose=7), steps(3), 4)
    expected = [by_hand(int(seed), 3, place, 7) * 2.0**-53 for place in range(4)]
    assert u[0, 0].tolist() == expected


def test_normals():
    z = streams.normals(keys(range(20)), torch.arange(20), 51)
    assert z.shape == (20, 20, 51)
    assert stats.kstest(z.numpy().ravel(), "norm").pvalue > UNLIKELY
    first, second = z[..., :25].numpy(), z[..., 26:].numpy()  # the two numbers of one pair of Box and Muller
    assert abs(correlation_z(first, second)) < LARGEST_Z
    assert abs(correlation_z(first**2, second**2)) < LARGEST_Z
    assert torch.isfinite(z).all()


@pytest.mark.parametrize("below", [1, 2, 3, 7, 50, 1000])
def test_whole_numbers_are_uniform_below_a_limit(below):
    drawn = streams.whole_numbers(keys(range(10)), torch.arange(20), 100, below)
    counts = np.bincount(drawn.numpy().ravel(), minlength=below)
    assert counts.size == below
    assert below == 1 or stats.chisquare(counts).pvalue > UNLIKELY


def test_whole_numbers_with_a_limit_for_each_network():
    limits = torch.tensor([1, 2, 5, 1000])
    drawn = streams.whole_numbers(keys(range(4)), torch.arange(30), 50, limits)
    for place, limit in enumerate(limits.tolist()):
        alone = streams.whole_numbers(keys([place]), torch.arange(30), 50, np.int64(limit))
        assert torch.equal(drawn[:, place], alone[:, 0])
        assert set(drawn[:, place].unique().tolist()) <= set(range(limit))


@pytest.mark.parametrize("below", [3, 5, 6, 7, 1000, 10**6 + 3, 2**31 - 1, 2**52 + 1])
def test_the_largest_fraction_stays_below_the_limit(below, monkeypatch):
    largest = torch.full((1, 1, 1), 1.0 - 2.0**-53, dtype=torch.float64)
    monkeypatch.setattr(streams, "uniforms", lambda *_: largest)
    assert streams.whole_numbers(keys([0]), steps(0), 1, below).item() == below - 1


def test_permutations_hold_every_row_once_with_those_left_out_last():
    allowed = torch.rand(30, 40, generator=torch.Generator().manual_seed(0)) < 0.6
    allowed[0], allowed[1] = True, False
    order = streams.permutations(keys(range(30)), torch.arange(30), allowed)
    assert torch.equal(order.sort(1).values, torch.arange(40).expand(30, 40))
    for own, count, row in zip(allowed, allowed.sum(1).tolist(), order, strict=True):
        assert own[row[:count]].all()
        assert not own[row[count:]].any()


def test_every_order_of_four_rows_is_equally_likely():
    number = 24_000
    order = streams.permutations(keys([3]).expand(number), torch.arange(number), torch.ones(number, 4, dtype=bool))
    code = (order * torch.tensor([64, 16, 4, 1])).sum(1)
    counts = torch.unique(code, return_counts=True)[1].numpy()
    assert counts.size == 24
    assert stats.chisquare(counts).pvalue > UNLIKELY


def test_orders_of_a_network_do_not_depend_on_the_others():
    everyone = torch.ones(9, 25, dtype=bool)
    rounds = torch.arange(9) % 4
    order = streams.permutations(keys(range(9)), rounds, everyone)
    alone = streams.permutations(keys([6]), rounds[6:7], everyone[:1])
    assert torch.equal(order[6], alone[0])
