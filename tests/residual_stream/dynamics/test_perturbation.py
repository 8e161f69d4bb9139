"""Disturbances and teleports: exact in linear streams, harmless to the model, and sane in real ones."""

from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="needs the package transformers")

from genlaws.core.errors import InputError
from genlaws.models.capture import capture_texts
from genlaws.models.interventions import OneToken
from genlaws.models.recorder import captured
from genlaws.models.texts import Tokens, tokenize
from genlaws.residual_stream.dynamics.perturbation import perturb
from genlaws.residual_stream.dynamics.teleports import square_grid, teleport
from genlaws.residual_stream.measures.projected_paths import PooledAxes, pooled_axes
from linear_streams import LinearStream, hook_count, random_matrices
from small_families import FAMILIES

WIDTH = 6
TEXTS = [[1, 2, 3], [4, 5], [6, 0, 1, 2]]
FLOAT32 = 2e-5  # rounding of states of about 10, between a cached and a plain pass


@pytest.fixture(scope="module")
def matrices():
    return random_matrices(6, WIDTH, seed=1)


@pytest.fixture(scope="module")
def linear(matrices):
    return LinearStream(matrices)


@pytest.fixture(scope="module")
def llama():
    return FAMILIES["llama"].build().double()


@pytest.fixture(scope="module")
def plane():
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((WIDTH, 2)))[0]
    return PooledAxes(np.full(WIDTH, 0.3), axes, np.ones(2))


def products(matrices, start):
    """Return the maps from a site to itself and to each later site."""
    maps = [np.eye(WIDTH)]
    for matrix in matrices[start:]:
        maps.append((np.eye(WIDTH) + matrix.numpy()) @ maps[-1])
    return np.stack(maps)


def norms(maps, changes):
    return np.linalg.norm(np.einsum("mij,dj->dmi", maps, changes), axis=2)


def test_noise_follows_the_linear_map(linear, matrices, plane):
    found = perturb(linear, TEXTS[:1], sites=["1.mlp"], size=0.2, draws=3, seed=4, plane=plane)
    token = OneToken(linear, np.array(TEXTS[0]), 2)
    control = token.control()
    drawn = np.random.default_rng([4, 0, 3]).standard_normal((3, WIDTH))
    changes = 0.2 * np.linalg.norm(control[3]) * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    expected = norms(products(matrices, 3), changes)
    assert found.sites == ("1.mlp",)
    assert found.distance[0].labels == ("1.mlp", "2.attention", "2.mlp", "end")
    np.testing.assert_allclose(found.distance[0].value, expected.mean(axis=0), rtol=1e-10)
    local = np.linalg.norm(control[3:], axis=1)
    np.testing.assert_allclose(found.relative[0].value, (expected / local).mean(axis=0), rtol=1e-10)
    assert found.relative[0].value[0] == pytest.approx(0.2)
    along = products(matrices, 3) @ changes.T
    inside = np.linalg.norm(np.einsum("uk,mud->mdk", plane.axes, along), axis=2).mean(axis=1)
    np.testing.assert_allclose(found.in_plane[0].value, inside, rtol=1e-10)
    slopes = [np.polyfit(np.arange(4), np.log(row), 1)[0] for row in expected]
    assert found.rate.value[0] == pytest.approx(np.mean(slopes))
    assert "one text only" in found.message


def test_a_contracting_stream_has_the_known_rate():
    shrink = LinearStream([-0.25 * torch.eye(WIDTH, dtype=torch.float64)] * 6)
    found = perturb(shrink, TEXTS, draws=2, seed=0)
    assert len(found.sites) == 6
    np.testing.assert_allclose(found.rate.value, np.log(0.75))
    np.testing.assert_allclose(found.rate.high - found.rate.low, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.relative_rate.value, 0.0, atol=1e-12)  # the states shrink as well
    assert found.in_plane == ()
    frame = found.to_frame()
    assert set(frame.columns) == {"measure", "site", "value", "low", "high", "disturbed"}
    assert len(frame) == 2 * sum(range(2, 8)) + 4 * 6


def test_a_whole_swap_puts_the_other_text_in_place(linear):
    found = perturb(linear, TEXTS[:2], kind="swap", sites=["0.attention", "2.mlp"], draws=1, seed=0)
    states = [OneToken(linear, np.array(text), len(text) - 1).control() for text in TEXTS[:2]]
    apart = np.linalg.norm(states[1] - states[0], axis=1)
    np.testing.assert_allclose(found.distance[0].value, apart, rtol=1e-10)
    np.testing.assert_allclose(found.distance[1].value, apart[5:], rtol=1e-10)
    # Linear and without other tokens: the output is the other text's.
    logs = [linear.head(torch.from_numpy(one[-1])).log_softmax(-1).detach().numpy() for one in states]
    both = [float((np.exp(one) * (one - two)).sum()) for one, two in (logs, logs[::-1])]
    np.testing.assert_allclose(found.divergence.value, np.mean(both), rtol=1e-10)
    top = [np.exp(two[one.argmax()]) - np.exp(one.max()) for one, two in (logs, logs[::-1])]
    np.testing.assert_allclose(found.top_change.value, np.mean(top), rtol=1e-10)
    part = perturb(linear, TEXTS[:2], kind="swap", size=0.1, sites=["0.attention"], draws=1, seed=0)
    assert part.relative[0].value[0] == pytest.approx(0.1)


@pytest.mark.parametrize("kind", ["noise", "swap"])
def test_nothing_comes_of_nothing(llama, kind):
    found = perturb(llama, TEXTS, kind=kind, size=0.0, sites=["attention"], draws=2, seed=0)
    assert max(float(curve.value.max()) for curve in found.distance) == 0.0
    assert found.divergence.value.max() == 0.0
    assert np.isnan(found.rate.value).all()


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2", "neox", "olmo2", "modernbert", "bert", "distilbert"])
def test_a_changed_state_is_the_one_that_all_later_parts_read(name):
    model = FAMILIES[name].build()
    ids, place = np.array([1, 7, 12, 9, 2]), 3
    token = OneToken(model, ids, place)
    with captured(model, positions=[[place]]) as recorder, torch.no_grad():
        answer = model(torch.from_numpy(ids)[None])
    control = recorder.take()[0]
    np.testing.assert_allclose(token.control(), control, atol=FLOAT32)
    random = np.random.default_rng(3)
    for site in range(len(token.sites)):
        change = random.standard_normal((1, control.shape[1]))
        found = token.changed(site, np.concatenate([change, 0 * change]))
        np.testing.assert_allclose(found.control, control, atol=FLOAT32)
        np.testing.assert_allclose(found.differences[0, 0], change[0], atol=FLOAT32)
        np.testing.assert_allclose(found.differences[1], 0.0, atol=FLOAT32)
        if site + 1 < len(token.sites):
            assert np.abs(found.differences[0, 1] - change[0]).max() > 0.01  # the write answers the change
    if found.scores is not None:
        expected = answer.logits[0, place].double().log_softmax(-1).numpy()
        np.testing.assert_allclose(found.scores[0], expected, atol=1e-4)
    assert hook_count(model) == 0


def test_teleports_follow_the_linear_map(linear, matrices, plane):
    grid = square_grid(-2, 2, 3)
    assert grid.tolist()[:4] == [[-2, -2], [-2, 0], [-2, 2], [0, -2]]
    token = OneToken(linear, np.array(TEXTS[0]), 2)
    control, maps = token.control(), products(matrices, 2)
    unchanged = teleport(linear, TEXTS[0], plane, grid, "1.attention", keep_rest=True, steps=3, batch_size=4)
    lost = teleport(linear, TEXTS[0], plane, grid, "1.attention", steps=3)
    rest = control[2] - plane.center - plane.axes @ (plane.axes.T @ (control[2] - plane.center))
    for found, outside in ((unchanged, rest), (lost, 0.0)):
        starts = plane.center + grid @ plane.axes.T + outside
        paths = np.einsum("mij,pj->pmi", maps[:4], starts)
        np.testing.assert_allclose(found.coordinates, (paths - plane.center) @ plane.axes, atol=1e-10)
        np.testing.assert_allclose(found.distance, np.linalg.norm(paths - control[2:6], axis=2), rtol=1e-9)
        np.testing.assert_allclose(found.coordinates[:, 0], grid, atol=1e-10)
        np.testing.assert_allclose(found.movement, found.coordinates[:, 3] - grid, atol=1e-10)
        assert found.message == ""
    np.testing.assert_allclose(unchanged.out_of_plane[:, 0], 0.0, atol=1e-10)
    np.testing.assert_allclose(lost.out_of_plane[:, 0], np.linalg.norm(rest), rtol=1e-9)
    assert len(unchanged.to_frame()) == 9 * 4


def test_a_teleport_to_where_it_is_returns_the_control(llama):
    states = capture_texts(llama, None, Tokens((np.arange(3, 9), np.arange(20, 31)), (0, 0), (0, 0)), position="all")
    axes = pooled_axes(states.stream, components=2)
    site = states.sites[2]
    first = teleport(llama, range(3, 9), axes, [[0.0, 0.0]], site, keep_rest=True)
    again = teleport(llama, range(3, 9), axes, first.control[[2]], site, keep_rest=True)
    assert again.distance.max() < 1e-12 < first.distance.min()
    np.testing.assert_allclose(again.coordinates[0], again.control[2:], atol=1e-12)
    assert again.divergence[0] < 1e-12
    assert np.abs(again.top_change[0]) < 1e-12
    gone = teleport(llama, range(3, 9), axes, first.control[[2]], site)
    assert gone.in_plane[0, 0] < 1e-12 < gone.out_of_plane[0, 0]


def test_steps_that_do_not_exist_are_said(linear, plane):
    found = teleport(linear, TEXTS[0], plane, [[0.0, 0.0]], "2.attention", steps=12)
    assert (found.steps_requested, found.steps) == (12, 2)
    assert "only 2 sites follow 2.attention" in found.message
    assert found.later == ("2.attention", "2.mlp", "end")


def test_the_model_is_left_as_it_was(llama, plane):
    weights = {name: one.clone() for name, one in llama.state_dict().items()}
    random = torch.get_rng_state()
    perturb(llama, TEXTS, sites=["0.mlp"], draws=1, seed=0)
    with pytest.raises(InputError, match="not finite"):
        OneToken(llama, np.array([1, 2]), 1).changed(2, np.full((1, 32), np.inf))
    assert hook_count(llama) == 0
    assert all(torch.equal(one, weights[name]) for name, one in llama.state_dict().items())
    assert all(one.grad is None for one in llama.parameters())
    assert torch.equal(torch.get_rng_state(), random)
    assert not llama.training


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda model, plane: perturb(model, TEXTS, kind="push", seed=0), "kind must be one of noise, swap"),
        (lambda model, plane: perturb(model, TEXTS, size=-1.0, seed=0), "size must be zero or positive"),
        (lambda model, plane: perturb(model, TEXTS, sites=["9.mlp"], seed=0), "sites must be among"),
        (lambda model, plane: perturb(model, [1, 2], kind="swap", seed=0), "at least two texts"),
        (lambda model, plane: perturb(model, [], seed=0), "tokens must be"),
        (lambda model, plane: teleport(model, TEXTS, plane, [[0, 0]], "0.mlp"), "one text; got 3"),
        (lambda model, plane: teleport(model, [1], plane, [[0, 0, 0]], "0.mlp"), "grid must have the shape"),
        (lambda model, plane: teleport(model, [1], plane, [[0, 0]], "8.mlp"), "site must be one of"),
        (
            lambda model, plane: teleport(model, [1], replace(plane, axes=2 * plane.axes), [[0, 0]], "end"),
            "orthonormal",
        ),
    ],
)
def test_wrong_arguments_are_named(linear, plane, call, complaint):
    with pytest.raises(InputError, match=complaint):
        call(linear, plane)


def test_what_is_missing_or_coarse_is_said(matrices):
    headless = LinearStream(matrices, head=False)
    found = perturb(headless, TEXTS, sites=["0.mlp"], size=1e-15, draws=1, seed=0)
    assert "no head" in found.message
    assert "close to the rounding of float64" in found.message
    assert np.isnan(found.divergence.value).all()


def test_stories_on_wikitext(stories, wikitext):
    network, tokenizer = stories
    tokens = tokenize(tokenizer, wikitext[:6], strip=True, max_tokens=40)
    axes = pooled_axes(capture_texts(network, tokenizer, tokens).stream, components=2)
    small = perturb(network, tokens, size=0.01, draws=2, seed=0, plane=axes, sites=["attention"])
    large = perturb(network, tokens, size=0.5, draws=2, seed=0, sites=["attention"])
    assert len(small.sites) == 5
    for curve in small.relative:
        assert curve.value[0] == pytest.approx(0.01, rel=1e-3)
        assert (curve.low <= curve.value).all()
    assert (small.divergence.value < large.divergence.value).all()
    one = Tokens(tokens.ids[:1], tokens.heads[:1], tokens.tails[:1])
    moved = teleport(network, one, axes, square_grid(-5, 5, 4), "2.attention")
    assert moved.steps == 6
    assert (moved.divergence > 0).all()
