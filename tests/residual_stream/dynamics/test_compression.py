"""The compressing autoencoder: its sizes, a curved surface that it finds and principal components do not."""

import numpy as np
import pytest
import torch

from counted_steps import CountedSteps
from genlaws.core.errors import InputError
from genlaws.models.stream import Stream
from genlaws.residual_stream.dynamics.compression import Autoencoder, compress, layer_sizes, train_autoencoder

SITES, UNITS = 6, 20


def curved_stream(texts, seed=0):
    """Return states on a two-dimensional surface that is bent in 20 dimensions, drifting from site to site."""
    random = np.random.default_rng(seed)
    angle = random.uniform(-1, 1, (texts, 1)) + np.linspace(0, 4, SITES)
    height = random.uniform(-1, 1, (texts, SITES))
    bent = np.stack([np.cos(angle), np.sin(angle), height], axis=-1)
    mixing = np.linalg.qr(random.standard_normal((UNITS, UNITS)))[0][:3]
    return Stream.from_states(bent @ mixing + 3.0)


@pytest.fixture(scope="module")
def curved():
    return curved_stream(240)


@pytest.fixture(scope="module")
def compressed(curved):
    return compress(curved, layers=4, epochs=30, seed=1, batch_size=2)


def test_sizes_shrink_by_one_factor():
    assert layer_sizes(4096, 10, 2) == (4096, 1755, 752, 322, 138, 59, 25, 10, 4, 2)
    assert layer_sizes(64, 4, 1) == (64, 16, 4, 1)  # whole powers are not floored away
    assert layer_sizes(20, 2, 20) == (20, 20)
    for wrong in ((20, 1, 2), (20, 3, 0), (20, 3, 21)):
        with pytest.raises(InputError, match="layers must|bottleneck must"):
            layer_sizes(*wrong)


def test_the_papers_network_has_its_number_of_weights():
    paper = Autoencoder(layer_sizes(4096), seed=0)
    count = sum(part.weight.numel() for part in paper.modules() if isinstance(part, torch.nn.Linear))
    assert round(count / 1e6, 1) == 17.6
    network = Autoencoder(layer_sizes(40, 4), seed=0)
    kinds = [type(part).__name__ for part in network.encoder]
    assert kinds == ["Linear", "LayerNorm", "ReLU"] * 2 + ["Linear"]
    assert [type(part).__name__ for part in network.decoder] == kinds


def test_it_finds_a_curved_surface_that_components_do_not(compressed):
    assert compressed.explained_pooled.low > 0.9
    assert compressed.components_explained_pooled.high < 0.85
    assert (compressed.explained.value > 0.9).all()
    assert (compressed.explained.value > compressed.components_explained.value).all()
    assert (compressed.explained.low <= compressed.explained.value).all()
    assert (compressed.training_texts, compressed.validation_texts, compressed.test_texts) == (168, 36, 36)
    assert compressed.sizes == (20, 9, 4, 2)
    assert compressed.epochs <= 30
    assert len(compressed.path) == 2
    steps = np.diff([curve.value for curve in compressed.path], axis=1)
    assert (np.linalg.norm(steps, axis=0) <= compressed.step_length.value + 1e-9).all()
    frame = compressed.to_frame()
    assert len(frame) == 2 * SITES + (SITES - 1) + 2 * SITES


def test_components_are_those_of_the_training_texts_judged_on_others(curved):
    found = compress(curved, layers=2, epochs=1, seed=3, bottleneck=3)
    # The surface lies in three dimensions, so three components miss nothing.
    np.testing.assert_allclose(found.components_explained.value, 1.0, atol=1e-9)
    assert found.components_explained_pooled.value == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_answer(curved):
    before, steps = torch.get_rng_state(), CountedSteps()
    first, second, other = (
        compress(curved, layers=3, epochs=3, seed=seed, batch_size=16, running=steps.running) for seed in (5, 5, 6)
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert steps.reported == [[1] * 3] * 3
    assert first.training == second.training
    assert np.array_equal(first.explained.value, second.explained.value)
    assert first.training != other.training


def test_of_several_trainings_the_best_is_used(curved):
    alone, best = (compress(curved, layers=4, epochs=4, seed=2, batch_size=8, restarts=one) for one in (1, 3))
    assert min(best.training.validation_losses) < min(alone.training.validation_losses)
    assert "principal components" in alone.message


def test_training_stops_when_the_held_out_texts_gain_nothing(curved):
    torch.manual_seed(0)
    rows = torch.from_numpy(curved.states[:8].reshape(-1, UNITS)).float()
    network = Autoencoder(layer_sizes(UNITS, 3), seed=0)
    noise = torch.randn(16, UNITS) * torch.linspace(1, 9, 3)[:, None, None]
    calls = iter(noise)  # each epoch is judged by larger states, so the first stays the best
    found = train_autoencoder(network, lambda: [lambda: rows], lambda: [lambda: next(calls)], epochs=50, patience=2)
    assert found.best_epoch == 1
    assert found.stopped_early
    assert len(found.training_losses) == 3
    once = Autoencoder(layer_sizes(UNITS, 3), seed=0)
    train_autoencoder(once, lambda: [lambda: rows], lambda: [lambda: rows], epochs=1, patience=2)
    assert all(torch.equal(one, two) for one, two in zip(network.parameters(), once.parameters(), strict=True))


def test_normalized_states_weigh_all_sites_alike(curved):
    grown = Stream(curved.states * np.exp(np.arange(SITES))[:, None], curved.sites)
    plain, normal = (compress(grown, layers=2, epochs=1, seed=0, normalize=one) for one in (False, True))
    alike = compress(curved, layers=2, epochs=1, seed=0, normalize=True)
    np.testing.assert_allclose(normal.components_explained.value, alike.components_explained.value)
    assert plain.components_explained.value[0] < normal.components_explained.value[0]


def test_a_constant_site_is_named(curved):
    states = curved.states.astype(np.float32)
    states[:, 0] = 0.1
    found = compress(Stream(states, curved.sites), layers=2, epochs=1, seed=0)
    assert np.isnan(found.explained.value[0])
    assert np.isfinite(found.explained.value[1:]).all()
    assert "do not vary at 0.attention" in found.message


def test_rows_of_a_text_stay_together(curved):
    texts = np.arange(240) // 24
    found = compress(curved, layers=2, epochs=1, seed=0, texts=texts)
    assert (found.training_texts, found.validation_texts, found.test_texts) == (6, 2, 2)
    assert found.explained.count == 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"bottleneck": 21}, "bottleneck must"),
        ({"validation_share": 0.0}, "validation_share must lie in"),
        ({"validation_share": 0.6, "test_share": 0.4}, "leave at least two training texts"),
        ({"epochs": 0}, "epochs must"),
        ({"texts": [0, 0, 1, 1, 2, 2]}, "at least 4 texts"),
    ],
)
def test_wrong_arguments_are_named(curved, options, complaint):
    with pytest.raises(InputError, match=complaint):
        compress(curved.take(range(6)), **options, seed=0)


def test_states_that_are_all_the_same_are_refused():
    with pytest.raises(InputError, match="states must differ"):
        compress(Stream.from_states(np.full((6, 3, 4), 0.3)), seed=0)
