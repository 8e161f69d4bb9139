"""A network as before training: fresh weights, the same shape, and the one given untouched."""

import copy

import pytest
import torch
from torch import nn

from genlaws.models.untrained import untrained_copy


def trained() -> nn.Module:
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).double()
    with torch.no_grad():
        for weights in network.parameters():
            weights.fill_(7.0)
    return network.eval()


def test_weights_are_drawn_anew_and_the_given_network_stays():
    network = trained()
    before = copy.deepcopy(network.state_dict())
    fresh = untrained_copy(network, 1)
    assert all(torch.equal(network.state_dict()[name], weights) for name, weights in before.items())
    assert not any((weights == 7.0).any() for weights in fresh.parameters())
    assert fresh[0].weight.dtype == torch.float64
    assert not fresh.training


def test_the_seed_decides_and_torch_goes_on_as_before():
    network = trained()
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    one, same, other = (untrained_copy(network, seed)[0].weight for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_weights_that_cannot_be_reset_are_refused():
    network = nn.Sequential(nn.Linear(2, 2), nn.ParameterList([torch.ones(2)]))
    with pytest.raises(ValueError, match=r"Sequential\.1 holds weights and has no reset_parameters"):
        untrained_copy(network, 0)
