"""Jacobians and Lyapunov exponents: known products of matrices, and three ways to the same derivative."""

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="needs the package transformers")

from genlaws.core.errors import InputError
from genlaws.models.interventions import OneToken
from genlaws.models.texts import tokenize
from genlaws.residual_stream.dynamics.lyapunov import jacobian_product, lyapunov
from linear_streams import LinearStream, hook_count, random_matrices
from small_families import FAMILIES

WIDTH = 12
IDS = [3, 14, 15, 9]
NORMS = 1e-5  # norms are taken in single precision by some models in double precision
SMALL = 1e-3  # a step between that rounding and the curvature
DIFFERENCES = 5e-3


@pytest.fixture(scope="module")
def matrices():
    return random_matrices(6, WIDTH, seed=2)


@pytest.fixture(scope="module")
def linear(matrices):
    return LinearStream(matrices)


@pytest.fixture(scope="module")
def known(matrices):
    """Return the product from the site 0.mlp to the site 2.attention."""
    product = np.eye(WIDTH)
    for matrix in matrices[1:4]:
        product = (np.eye(WIDTH) + matrix.numpy()) @ product
    return product


def test_exponents_are_logs_of_the_products_singular_values(linear, known):
    found = lyapunov(linear, [[1, 2], [3]], "0.mlp", to="2.attention", directions=None, seed=0)
    values = np.linalg.svd(known, compute_uv=False)
    assert found.steps == 3
    np.testing.assert_allclose(found.exponents.value, np.log(values) / 3, rtol=1e-9)
    np.testing.assert_allclose(found.exponents.high - found.exponents.low, 0.0, atol=1e-12)
    np.testing.assert_allclose(
        np.sort(np.abs(found.eigenvalues[0])), np.sort(np.abs(np.linalg.eigvals(known))), rtol=1e-8
    )
    share = (np.abs(np.linalg.eigvals(known)) ** 2).sum() / (values**2).sum()
    np.testing.assert_allclose(found.non_normality, np.sqrt(1 - share), rtol=1e-8)
    controls = [OneToken(linear, np.array(text), len(text) - 1).control() for text in ([1, 2], [3])]
    growth = [np.log(np.linalg.norm(one[4]) / np.linalg.norm(one[1])) for one in controls]
    np.testing.assert_allclose(
        found.relative_exponents.value, (np.log(values) - np.mean(growth)) / 3, rtol=1e-9, atol=1e-12
    )
    assert np.log(values[-1]) / 3 < found.typical.value[0] < np.log(values[0]) / 3
    assert len(found.to_frame()) == 2 * WIDTH + 2
    assert found.converged
    assert found.message == ""


def test_leading_values_by_products_alone(linear, known):
    found = lyapunov(linear, [1, 2], "0.mlp", to="2.attention", directions=3, seed=0, batch_size=2)
    np.testing.assert_allclose(found.singular_values[0], np.linalg.svd(known, compute_uv=False)[:3], rtol=1e-3)
    assert found.residual < 1e-3
    assert found.eigenvalues is None
    assert np.isnan(found.non_normality).all()
    assert "one text only" in found.message


def test_a_rotation_neither_grows_nor_is_non_normal():
    turn = torch.linalg.qr(random_matrices(1, WIDTH, seed=3)[0])[0]
    model = LinearStream([turn - torch.eye(WIDTH, dtype=torch.float64)] * 4)
    found = lyapunov(model, [1], "0.attention", directions=None, seed=0)
    np.testing.assert_allclose(found.exponents.value, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.typical.value, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.non_normality, 0.0, atol=1e-6)


@pytest.mark.parametrize("name", ["llama", "gemma2", "neox", "bert"])
@pytest.mark.parametrize("start", [0, 1])
def test_three_ways_to_the_same_derivative(name, start):
    model = FAMILIES[name].build().double()
    token = OneToken(model, np.array(IDS), len(IDS) - 1)
    site, width = token.sites[start], 32
    forward = jacobian_product(model, IDS, site, np.eye(width))
    difference = jacobian_product(model, IDS, site, np.eye(width), method="difference")
    size = np.abs(forward).max()
    np.testing.assert_allclose(difference, forward, atol=DIFFERENCES * size)
    changes = torch.zeros(width, width, dtype=torch.float64, requires_grad=True)
    reached = token.following(start, changes, len(token.sites) - 1)
    (backward,) = torch.autograd.grad(reached.diagonal().sum(), changes)
    np.testing.assert_allclose(backward.numpy(), forward.T, atol=NORMS * size)
    moved = token.changed(start, SMALL * np.eye(width)).differences[:, -1] / SMALL
    np.testing.assert_allclose(moved, forward, atol=DIFFERENCES * size)
    assert hook_count(model) == 0
    assert all(one.grad is None for one in model.parameters())


def test_leading_exponents_of_a_random_llama_are_those_of_its_whole_jacobian():
    model = FAMILIES["llama"].build().double()
    few = lyapunov(model, [IDS, IDS[::-1]], "1.attention", directions=4, seed=1)
    whole = lyapunov(model, [IDS, IDS[::-1]], "1.attention", directions=None, seed=1)
    np.testing.assert_allclose(few.exponents.value, whole.exponents.value[:4], atol=2e-3)
    assert few.exponents.count == 2


def test_differences_are_taken_and_said_where_there_is_no_forward_derivative(linear, known, monkeypatch):
    def refuses(*given):
        raise NotImplementedError("no formula")

    monkeypatch.setattr("genlaws.residual_stream.dynamics.lyapunov.forward_ad.make_dual", refuses)
    found = lyapunov(linear, [1, 2], "0.mlp", to="2.attention", directions=2, seed=0)
    np.testing.assert_allclose(found.singular_values[0], np.linalg.svd(known, compute_uv=False)[:2], rtol=1e-3)
    assert "Central differences were used" in found.message
    assert "no formula" in found.message
    assert hook_count(linear) == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"site": "2.mlp", "to": "1.mlp"}, "to must come after site"),
        ({"site": "end"}, "to must come after site"),
        ({"site": "7.mlp"}, "site must be one of"),
        ({"site": "0.mlp", "directions": 0}, "directions must be a whole number"),
        ({"site": "0.mlp", "method": "guess"}, "method must be one of"),
    ],
)
def test_wrong_arguments_are_named(linear, options, complaint):
    with pytest.raises(InputError, match=complaint):
        lyapunov(linear, [1, 2], **options, seed=0)


def test_wrong_directions_are_named(linear):
    with pytest.raises(InputError, match="directions must have the shape"):
        jacobian_product(linear, [1], "0.mlp", np.eye(3))


def test_a_wide_model_is_not_taken_whole(linear, monkeypatch):
    monkeypatch.setattr("genlaws.residual_stream.dynamics.lyapunov.MAX_WHOLE_JACOBIAN_UNITS", WIDTH - 1)
    with pytest.raises(InputError, match="directions must be given"):
        lyapunov(linear, [1], "0.mlp", directions=None, seed=0)


def test_stories(stories, wikitext):
    network, tokenizer = stories
    before = hook_count(network)  # transformers leaves its own where hidden states were once requested
    tokens = tokenize(tokenizer, wikitext[:2], strip=True, max_tokens=24)
    found = lyapunov(network, tokens, "0.attention", directions=None, seed=0)
    assert found.singular_values.shape == (2, 64)
    assert found.exponents.value[0] > found.typical.value[0] > found.exponents.value[-1]
    assert hook_count(network) == before
