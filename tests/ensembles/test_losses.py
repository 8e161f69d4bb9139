"""Losses and their derivatives, against torch's own and against many digits."""

import mpmath
import numpy as np
import pytest
import torch
from plain import plain_loss

from genlaws.ensembles.losses import STACK_LOSSES, loss_and_derivative, row_shares

SAME = {"rtol": 1e-12, "atol": 1e-14}
every_loss = pytest.mark.parametrize("name", STACK_LOSSES)


def numbers(seed, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def targets(name, *shape):
    drawn = numbers(2, *shape)
    if name == "squared":
        return drawn
    return (drawn > 0).double() if name == "logistic" else torch.sign(drawn)


@every_loss
@pytest.mark.parametrize("shared", [False, True], ids=["own targets", "shared targets"])
@pytest.mark.parametrize("weights", [None, 1, 3], ids=["no weights", "shared weights", "own weights"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_loss_and_derivative(name, shared, weights, outputs):
    f = (3.0 * numbers(1, 3, 9, outputs)).requires_grad_(True)
    y = targets(name, 1 if shared else 3, 9, outputs)
    weight = None if weights is None else numbers(3, weights, 9).relu()
    found, derivative = loss_and_derivative(name, f.detach().clone(), y, weight)
    each = torch.stack([plain_loss(name, f[place], y[place % len(y)]) for place in range(3)])
    share = torch.ones(3, 9, dtype=torch.float64) if weight is None else weight.expand(3, 9)
    expected = (each * share).sum(1) / share.sum(1)
    torch.testing.assert_close(found, expected.detach(), **SAME)
    torch.testing.assert_close(derivative, torch.autograd.grad(expected.sum(), f)[0], **SAME)


@every_loss
def test_outputs_and_targets_stay_as_they_are(name):
    f, y = numbers(1, 3, 9, 2), targets(name, 3, 9, 2)
    before = f.clone(), y.clone()
    loss_and_derivative(name, f, y, None)
    assert torch.equal(f, before[0])
    assert torch.equal(y, before[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_the_logistic_loss_keeps_its_digits(dtype, y):
    """Well-fitted rows have losses of 1e-10 and less; a difference of large numbers would be 0."""
    f = torch.tensor([-80.0, -40.0, -21.0, -15.0, -1.0, 0.0, 0.5, 10.0, 19.0, 25.0, 70.0], dtype=dtype)
    found, derivative = loss_and_derivative("logistic", f[:, None, None], torch.full((1, 1, 1), y, dtype=dtype), None)
    with mpmath.workdps(50):
        sign = -1 if y else 1
        exact = [float(mpmath.log1p(mpmath.exp(sign * mpmath.mpf(one)))) for one in f.tolist()]
        slope = [float(sign / (1 + mpmath.exp(-sign * mpmath.mpf(one)))) for one in f.tolist()]
    precision = 4 * torch.finfo(dtype).eps
    np.testing.assert_allclose(found.numpy(), exact, rtol=precision)
    # The derivative is a difference from 1: absolute digits.
    np.testing.assert_allclose(derivative.flatten().numpy(), slope, rtol=precision, atol=precision)


def test_the_hinge_has_no_slope_at_its_corner_and_beyond():
    f = torch.tensor([1.0, 2.0, 0.5, -1.0]).view(1, 4, 1)
    _, derivative = loss_and_derivative("hinge", f, torch.ones(1, 4, 1), None)
    assert derivative.flatten().tolist() == [0.0, 0.0, -0.25, -0.25]


def test_shares_add_up_to_one_over_outputs():
    weight = numbers(0, 3, 9).relu()
    share = row_shares(numbers(1, 3, 9, 2), weight)
    torch.testing.assert_close(share.sum((1, 2)), torch.full((3,), 0.5, dtype=torch.float64), **SAME)
    assert row_shares(numbers(1, 3, 9, 2), None) == 1.0 / 18.0


def test_rows_of_weight_0_count_for_nothing():
    f, y = numbers(1, 2, 9, 1), targets("squared", 2, 9, 1)
    weight = torch.ones(2, 9, dtype=torch.float64)
    weight[:, 5:] = 0.0
    found, derivative = loss_and_derivative("squared", f, y, weight)
    short, short_derivative = loss_and_derivative("squared", f[:, :5], y[:, :5], None)
    torch.testing.assert_close(found, short, **SAME)
    torch.testing.assert_close(derivative[:, :5], short_derivative, **SAME)
    assert not derivative[:, 5:].any()


def test_unknown_loss():
    with pytest.raises(ValueError, match="loss must be one of squared, logistic, hinge; got 'cubic'"):
        loss_and_derivative("cubic", numbers(0, 1, 1, 1), numbers(1, 1, 1, 1), None)
