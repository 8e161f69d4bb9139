"""Fine-tuning on classes and their distances: the loss, the stack against a plain loop, and what is measured."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from genlaws.core.errors import InputError
from genlaws.ensembles import Checkpoint
from genlaws.semanticity.networks import convolutional
from genlaws.semanticity.networks.convolutional import QUANTITIES, distance_mismatch, fine_tune
from genlaws.semanticity.networks.extractors import SmallNetwork
from genlaws.semanticity.networks.images import LabeledImages, clustered_distances

ROUNDING = 2e-5  # single precision after some ten updates in another order of operations
CLASSES = 4


def made_images(count=60, size=8, seed=0, channels=1):
    """Bars at one of four heights, with noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % CLASSES
    x = 0.2 * rng.random((count, channels, size, size))
    for row, one in zip(x, y, strict=True):
        row[:, 2 * one : 2 * one + 2] += 0.8
    return x.astype(np.float32), y


@pytest.fixture(scope="module")
def images():
    return LabeledImages.of(*made_images(), *made_images(40, seed=1))


@pytest.fixture(scope="module")
def tuned(images):
    return fine_tune("small", data=images, similarity_weight=(0.0, 0.4), seeds=(3, 5), epochs=3, batch_size=16)


# --- the loss -------------------------------------------------------------------------------------------------------


def mismatch_by_hand(z, distances):
    apart = [np.linalg.norm(z[i] - z[j]) for i in range(len(z)) for j in range(i + 1, len(z))]
    wanted = [distances[i, j] for i in range(len(z)) for j in range(i + 1, len(z))]
    apart, wanted = np.array(apart) / np.max(apart), np.array(wanted) / np.max(wanted)
    return np.mean((apart - wanted) ** 2)


def test_the_mismatch_is_the_mean_over_pairs_each_scaled_by_its_largest():
    rng = np.random.default_rng(4)
    z, c = rng.normal(size=(7, 3)), np.array([0, 1, 1, 2, 0, 2, 2])
    between = np.array([[0, 1.0, 4.0], [1.0, 0, 4.0], [4.0, 4.0, 0]])[np.ix_(c, c)]
    found = distance_mismatch(torch.from_numpy(z), torch.from_numpy(between))
    assert float(found) == pytest.approx(mismatch_by_hand(z, between), rel=1e-12)
    # Neither unit matters.
    assert float(distance_mismatch(torch.from_numpy(5.0 * z), torch.from_numpy(0.1 * between))) == pytest.approx(
        float(found), rel=1e-12
    )


def test_features_that_match_the_tree_have_no_mismatch():
    z = torch.tensor([[0.0], [0.0], [3.0], [5.0]], dtype=torch.float64)
    assert float(distance_mismatch(z, torch.cdist(z, z))) == pytest.approx(0.0, abs=1e-30)


def test_a_batch_of_one_class_or_of_equal_features_has_a_finite_loss_and_gradient():
    one_class, alike = torch.zeros(4, 4), torch.ones(4, 2, requires_grad=True)
    other = torch.rand(4, 2, requires_grad=True)
    for z, between in ((other, one_class), (alike, 1.0 - torch.eye(4))):
        found = distance_mismatch(z, between)
        (gradient,) = torch.autograd.grad(found, z)
        assert torch.isfinite(found)
        assert torch.isfinite(gradient).all()


# --- training -------------------------------------------------------------------------------------------------------


class PlainNetwork(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.extractor = SmallNetwork(channels)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        z = self.extractor(x)
        return z, self.head(z)


def plain_loop(images, seed, weight, epochs, batch_size, rate=1e-3):
    """Train one network with torch.optim on the batches of its seed; return it and its scores of held-out images."""
    truth = clustered_distances(images.images, images.classes)
    plan = convolutional._Plan(np.array([weight]), [seed], epochs, batch_size, rate, torch.device("cpu"))
    batches = convolutional._batches(images, truth, plan)
    torch.manual_seed(seed)
    network = PlainNetwork(images.images.shape[1], len(images.class_names)).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    for step in range(epochs * (len(images.images) // batch_size)):
        batches.prepare(step)
        batch = {name: one[0] for name, one in batches.at(torch.tensor(step)).items()}
        assert float(batch["weight"].min()) == 1.0
        z, scores = network(batch["images"])
        between = torch.from_numpy(truth)[batch["classes"]][:, batch["classes"]].float()
        loss = (1 - weight) * functional.cross_entropy(scores, batch["classes"])
        loss = loss + weight * distance_mismatch(z, between)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    network.eval()
    with torch.no_grad():
        return network, network(torch.from_numpy(images.held_out_images))[0].double().numpy()


def test_a_stack_is_a_plain_loop_with_the_same_seed_and_batches(images, tuned):
    for place in (0, 3):
        weight, seed = tuned.similarity_weight[place], int(tuned.seed[place])
        network, features = plain_loop(images, seed, weight, epochs=3, batch_size=16)
        np.testing.assert_allclose(tuned.features[place], features[tuned.stimuli], atol=ROUNDING)
        values = tuned.training.values
        for name, one in network.named_parameters():
            np.testing.assert_allclose(values[name][place].numpy(), one.detach().numpy(), atol=ROUNDING)


def test_running_averages_are_kept_for_each_network(images, tuned):
    values = tuned.training.values
    name = "extractor.layers.1.running_mean"
    network, _ = plain_loop(images, 5, 0.4, epochs=3, batch_size=16)
    own = network.state_dict()
    np.testing.assert_allclose(values[name][3].numpy(), own[name].numpy(), atol=ROUNDING)
    assert values[name].std(0).max() > 1e-3
    assert values["extractor.layers.1.num_batches_tracked"].tolist() == [9.0] * 4


def test_a_network_alone_is_the_same_as_in_a_stack(images, tuned):
    alone = fine_tune("small", data=images, similarity_weight=0.4, seeds=(5,), epochs=3, batch_size=16)
    np.testing.assert_allclose(alone.features[0], tuned.features[3], atol=ROUNDING)
    assert alone.accuracy[0] == tuned.accuracy[3]


def test_a_stopped_training_goes_on_from_its_checkpoint(images, tuned, tmp_path):
    class StoppedError(Exception):
        pass

    class Stops(Checkpoint):
        def remove(self):
            raise StoppedError

    file = tmp_path / "half.npz"
    given = {"similarity_weight": (0.0, 0.4), "seeds": (3, 5), "epochs": 3, "batch_size": 16}
    with pytest.raises(StoppedError):
        fine_tune("small", data=images, checkpoint=Stops(file, every=4), **given)
    assert file.exists()
    again = fine_tune("small", data=images, checkpoint=Checkpoint(file, every=4), **given)
    assert again.features.tolist() == tuned.features.tolist()
    assert not file.exists()
    with pytest.raises(StoppedError):
        fine_tune("small", data=images, checkpoint=Stops(file, every=4), **given)
    other = clustered_distances(images.images, images.classes) + 1.0 - np.eye(CLASSES)
    with pytest.raises(ValueError, match="belongs to another training"):
        fine_tune("small", data=images, distances=other, checkpoint=Checkpoint(file, every=4), **given)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("path", ["eager", "graph"])
def test_a_graphics_card_computes_the_same(images, tuned, path):
    given = {"similarity_weight": (0.0, 0.4), "seeds": (3, 5), "epochs": 3, "batch_size": 16}
    found = fine_tune("small", data=images, device="cuda", path=path, **given)
    assert found.path == path
    np.testing.assert_allclose(found.features, tuned.features, atol=ROUNDING)


def test_a_broken_network_leaves_the_others_alone(images, tuned, monkeypatch):
    networks = convolutional._networks

    def one_broken(*given):
        found = networks(*given)
        with torch.no_grad():
            found[0].head.weight[0, 0] = torch.nan
        return found

    monkeypatch.setattr(convolutional, "_networks", one_broken)
    found = fine_tune("small", data=images, similarity_weight=(0.0, 0.4), seeds=(3, 5), epochs=3, batch_size=16)
    assert found.failed.tolist() == [True, False, False, False]
    np.testing.assert_array_equal(found.features[1:], tuned.features[1:])
    assert np.isnan(found.features[0]).all()
    for name in QUANTITIES:
        assert np.isnan(found.values(name)[0])
        assert found.values(name)[1:].tolist() == tuned.values(name)[1:].tolist()
    assert found.estimate("accuracy", 0.0).count == 1


# --- a user's own module --------------------------------------------------------------------------------------------


class UsersNetwork(nn.Module):
    """Gives features with axes of places, drops some at random, and has a layer that is not to be trained."""

    def __init__(self):
        super().__init__()
        self.fixed = nn.Conv2d(1, 4, 3, stride=2).requires_grad_(False)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.norm(self.fixed(x)))


def test_a_users_module_is_never_changed(images):
    torch.manual_seed(0)
    mine = UsersNetwork().train()
    before, generator = copy.deepcopy(mine.state_dict()), torch.get_rng_state()
    found = fine_tune(mine, data=images, similarity_weight=0.5, seeds=(0, 1), epochs=2, batch_size=20)
    assert torch.equal(torch.get_rng_state(), generator)
    assert mine.training
    assert mine.drop.p == 0.5
    assert all(one.grad is None for one in mine.parameters())
    for name, one in mine.state_dict().items():
        assert torch.equal(one, before[name])
    values = found.training.values
    for place in (0, 1):
        assert torch.equal(values["extractor.fixed.weight"][place], before["fixed.weight"])
        assert not torch.equal(values["extractor.norm.weight"][place], before["norm.weight"])
    assert found.features.shape == (2, 40, 4 * 3 * 3)


def test_the_trained_extractor_gives_the_features_that_were_tested(images, tuned):
    network = tuned.extractor(2)
    with torch.no_grad():
        features = network(torch.from_numpy(images.held_out_images))
    np.testing.assert_allclose(features.numpy()[tuned.stimuli], tuned.features[2], atol=ROUNDING)
    assert not network.training


# --- what is measured -----------------------------------------------------------------------------------------------


def test_networks_of_a_seed_start_alike_whatever_the_weight(images):
    found = fine_tune("small", data=images, similarity_weight=(0.0, 1.0), seeds=(7, 8), epochs=0, batch_size=16)
    assert found.features[0].tolist() == found.features[2].tolist()
    assert found.features[0].tolist() != found.features[1].tolist()
    assert found.estimate("peak_generalization", 1.0, compared_with=0.0).value == 0.0


def test_the_easy_images_are_learned_and_the_distances_matched(images):
    found = fine_tune("small", data=images, similarity_weight=(0.0, 1.0), seeds=(0, 1), epochs=40, batch_size=20)
    frame = found.to_frame()
    assert frame["accuracy"][frame["similarity_weight"] == 0].min() == 1.0
    assert frame["nearest_mean_accuracy"].min() > 0.9
    gained = found.values("peak_generalization")
    assert gained[2:].min() > gained[:2].max()
    assert gained.max() <= found.tree_tests.peak_generalization
    said = str(found.estimate("peak_generalization", 1.0))
    assert "(95 %, n = 2)" in said


def test_no_more_stimuli_than_wanted_are_tested_and_always_the_same(images, tuned):
    some = fine_tune("small", data=images, similarity_weight=0.4, seeds=(5,), epochs=3, batch_size=16, most_stimuli=12)
    assert some.features.shape == (1, 12, 32)
    assert some.tests[0].stimulus_count == 12
    np.testing.assert_allclose(some.features[0], tuned.features[3][some.stimuli], atol=ROUNDING)
    assert some.accuracy[0] == tuned.accuracy[3]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"similarity_weight": 1.5}, "similarity_weight must lie in"),
        ({"similarity_weight": (0.5, 0.5)}, "similarity_weight must be one number or several different"),
        ({"similarity_weight": []}, "similarity_weight must be"),
        ({"seeds": ()}, "seeds must be"),
        ({"seeds": (1, 1)}, "seeds must differ"),
        ({"seeds": (0.5,)}, "seeds must be a whole number"),
        ({"epochs": -1}, "epochs must be"),
        ({"batch_size": 1}, "batch_size must be"),
        ({"batch_size": 61}, "at most 60"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"most_stimuli": 2}, "most_stimuli must be"),
        ({"device": "abacus"}, "device must be"),
        ({"device": None}, "device must be"),
        ({"distances": np.ones((2, 2)) - np.eye(2)}, "distances must be a matrix of shape"),
        ({"distances": np.zeros((4, 4))}, "distances must not all be zero"),
        ({"distances": np.ones((4, 4)) - np.eye(4), "tree": "(a,b);"}, "either distances or a tree"),
        ({"tree": "(0,1,2);"}, "leaves must be names of the tree"),
        ({"leaf_names": {"0": "a"}}, "leaf_names belong to a tree"),
        ({"extractor": 3}, "extractor must be"),
        ({"extractor": "large"}, "source must be"),
        ({"extractor": nn.Linear(3, 2)}, "extractor does not take images"),
        ({"extractor": nn.AdaptiveMaxPool2d(2, return_indices=True)}, "extractor must give one row"),
        ({"data": 5}, "data must be"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(images, given, said):
    with pytest.raises(InputError) as caught:
        fine_tune(**{"extractor": "small", "data": images, "epochs": 0, "batch_size": 16, **given})
    assert said in str(caught.value)


def test_what_was_not_trained_or_does_not_exist_cannot_be_asked_for(tuned):
    with pytest.raises(InputError, match="similarity_weight must be one of 0, 0.4"):
        tuned.estimate("accuracy", 0.3)
    with pytest.raises(InputError, match="quantity must be one of accuracy"):
        tuned.values("loss")
    with pytest.raises(InputError, match="network must be"):
        tuned.extractor(4)
