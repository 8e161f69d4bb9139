"""Activations and their derivatives, against torch's own and against many digits."""

import mpmath
import numpy as np
import pytest
import torch
from plain import ACTIVATIONS as PLAIN

from genlaws.ensembles import Perceptron
from genlaws.ensembles.perceptron import ACTIVATIONS, activate, back_through

STATED = 2e-7  # of tanh in single precision, in the docstring of `activate`
every_activation = pytest.mark.parametrize("name", ACTIVATIONS)


def grid(dtype):
    """Return numbers of every size, on both sides of 0."""
    sizes = torch.cat([torch.logspace(-12, 2, 20_000), torch.linspace(0.0, 12.0, 60_000), torch.tensor([1e30])])
    return torch.cat([-sizes.flip(0), sizes]).to(dtype)


@every_activation
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_same_as_torch_and_in_place(name, dtype):
    z = grid(dtype)
    expected = PLAIN[name]()(z.clone())
    found = activate(name, z)
    assert found is z
    tolerance = STATED if dtype == torch.float32 else 1e-15
    torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)


def test_tanh_in_single_precision_is_as_close_as_stated():
    z = grid(torch.float32)
    exact = np.tanh(z.numpy().astype(np.float64))
    worst = np.abs(activate("tanh", z.clone()).numpy().astype(np.float64) - exact).max()
    assert worst <= STATED
    with mpmath.workdps(30):
        for one in z[::5000].tolist():
            assert abs(activate("tanh", torch.tensor([one])).item() - mpmath.tanh(one)) <= STATED


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tanh_at_the_ends(dtype):
    z = torch.tensor([-np.inf, np.inf, np.nan, 0.0, 100.0, -100.0], dtype=dtype)
    assert np.array_equal(activate("tanh", z).numpy(), [-1.0, 1.0, np.nan, 0.0, 1.0, -1.0], equal_nan=True)
    assert activate("tanh", grid(dtype)).abs().max() <= 1.0


@every_activation
def test_derivatives_from_the_activation(name):
    z = torch.linspace(-4.0, 4.0, 2000, dtype=torch.float64, requires_grad=True)
    upstream = torch.linspace(1.0, 2.0, 2000, dtype=torch.float64)
    h = PLAIN[name]()(z)
    (expected,) = torch.autograd.grad((h * upstream).sum(), z)
    given = upstream.clone()
    found = back_through(name, h.detach(), given)
    assert found is given
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-15)


def test_relu_has_no_slope_at_0():
    assert back_through("relu", torch.tensor([0.0, 1.0]), torch.ones(2)).tolist() == [0.0, 1.0]


def test_unknown_activation():
    with pytest.raises(ValueError, match="activation must be one of tanh, relu, sigmoid, identity; got 'gelu'"):
        activate("gelu", torch.zeros(1))
    with pytest.raises(ValueError, match="activation must be one of tanh, relu, sigmoid, identity; got 'gelu'"):
        Perceptron((2, 3, 1), "gelu")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"sizes": (3,)}, "sizes must be at least two whole numbers above 0; got \\(3,\\)"),
        ({"sizes": (3, 0, 1)}, "sizes must be at least two whole numbers above 0"),
        ({"sizes": (3, 1), "loss": "cubic"}, "loss must be one of squared, logistic, hinge; got 'cubic'"),
        ({"sizes": (3, 2, 1), "parts": ["one"]}, "parts must name 2 layers; got 1"),
    ],
)
def test_wrong_perceptrons(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Perceptron(**settings)
