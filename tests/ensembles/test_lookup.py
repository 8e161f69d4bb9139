"""Rows of tables and the sums back into them, against loops."""

import pytest
import torch

from genlaws.ensembles.architecture import Workspace
from genlaws.ensembles.perceptron import look_up, sum_by_entry, sum_by_pair

SAME = {"rtol": 1e-12, "atol": 1e-12}
DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="There is no CUDA device.")),
]
on_every_device = pytest.mark.parametrize("device", DEVICES)
shared_or_own = pytest.mark.parametrize("indices", [1, 4], ids=["shared", "own"])


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


def indices_below(limit, *shape):
    return torch.randint(limit, shape, generator=torch.Generator().manual_seed(limit))


@on_every_device
@shared_or_own
def test_look_up(device, indices):
    table, index = numbers(4, 6, 3).to(device), indices_below(6, indices, 11).to(device)
    found = look_up(table, index)
    assert found.shape == (4, 11, 3)
    for network in range(4):
        for row in range(11):
            assert torch.equal(found[network, row], table[network, index[network % indices, row]])


@on_every_device
@shared_or_own
@pytest.mark.parametrize("space", [None, Workspace()], ids=["new", "cached"])
def test_sum_by_entry(device, indices, space):
    values, index = numbers(4, 50, 3).to(device), indices_below(7, indices, 50).to(device)
    index[:, 0] = 6
    index[index == 2] = 3  # an entry that no row belongs to
    expected = torch.zeros(4, 8, 3, dtype=torch.float64)
    for network in range(4):
        for row in range(50):
            expected[network, index[network % indices, row]] += values[network, row].cpu()
    for _ in range(2):
        found = sum_by_entry(values, index, 8, space)
        torch.testing.assert_close(found.cpu(), expected, **SAME)
    assert not found[:, [2, 7]].any()


@on_every_device
def test_sum_by_entry_of_strided_values(device):
    values, index = numbers(4, 50, 6).to(device), indices_below(7, 4, 50).to(device)
    whole = sum_by_entry(values, index, 7)
    torch.testing.assert_close(sum_by_entry(values[..., 3:], index, 7), whole[..., 3:], **SAME)


@on_every_device
def test_sum_by_pair(device):
    values = numbers(4, 60).to(device)
    row, column = indices_below(5, 4, 60).to(device), indices_below(5, 4, 60).flip(1).to(device)
    expected = torch.zeros(4, 5, 5, dtype=torch.float64)
    for network in range(4):
        for place in range(60):
            expected[network, row[network, place], column[network, place]] += values[network, place].cpu()
    torch.testing.assert_close(sum_by_pair(values, row, column, 5).cpu(), expected, **SAME)


@on_every_device
def test_sums_are_the_gradients_of_looking_up(device):
    table = numbers(4, 6, 3).to(device).requires_grad_(True)
    index, factor = indices_below(6, 4, 11).to(device), numbers(4, 11, 3).to(device)
    (found,) = torch.autograd.grad((look_up(table, index) * factor).sum(), table)
    torch.testing.assert_close(sum_by_entry(factor, index, 6), found, **SAME)


@on_every_device
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_are_the_same_bits_every_time(device, dtype):
    values, index = numbers(4, 5000, 3).to(device, dtype), indices_below(3, 4, 5000).to(device)
    first, second = (sum_by_entry(values, index, 3) for _ in range(2))
    assert first.dtype == dtype
    assert torch.equal(first, second)
    pairs = [sum_by_pair(values[..., 0], index, index.flip(1), 3) for _ in range(2)]
    assert torch.equal(*pairs)


def test_what_is_kept_belongs_to_one_tensor():
    space, made = Workspace(), []

    def make(source):
        made.append(source)
        return source + 1

    first, second = torch.zeros(2), torch.zeros(2)
    assert space.cached("a", first, make) is space.cached("a", first, make)
    space.cached("a", second, make)
    space.cached("b", second, make)
    assert len(made) == 3
    space.clear()
    space.cached("a", second, make)
    assert len(made) == 4


def test_memory_is_used_again_unless_its_shape_changes():
    space, like = Workspace(), torch.zeros(1)
    first = space.empty("z", (2, 3), like)
    assert space.empty("z", (2, 3), like) is first
    assert space.empty("z", (3, 3), like).shape == (3, 3)
    assert space.empty("z", (3, 3), like.double()).dtype == torch.float64
