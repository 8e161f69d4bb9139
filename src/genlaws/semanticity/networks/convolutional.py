r"""Fine-tune feature extractors on classes and on distances between classes, and test them on held-out images.

The loss of a network is a mean of two,

.. math:: (1-w)\,\mathrm{CE} + w\,\Big\langle\Big(\frac{|z_i-z_j|}{\max_{kl}|z_k-z_l|} -
    \frac{D_{c_ic_j}}{\max_{kl}D_{c_kc_l}}\Big)^2\Big\rangle_{i<j},

cross-entropy of a linear layer on the features :math:`z`, and the mismatch over all pairs of a batch between distances
of features and distances :math:`D` of classes :math:`c`, each divided by its largest in the batch. The result holds the
accuracy and both tests of each network.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional

from genlaws.core.arguments import Array, Mask, Whole, fraction, one_of, positive, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, mean_estimate
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.plain import UNWRITTEN
from genlaws.core.result import Result, Summary, question, text_table
from genlaws.core.running import Running
from genlaws.ensembles import Checkpoint, Minibatches, Modules, TrainedStack, train
from genlaws.ensembles.training import read_device
from genlaws.semanticity.networks.extractors import EXTRACTOR_NAMES, build_extractor, feature_width, load_extractor
from genlaws.semanticity.networks.image_tests import ImageTests, image_tests, no_tests, tree_tests
from genlaws.semanticity.networks.images import LabeledImages, class_distances, load_images
from genlaws.semanticity.networks.relu import checked_seeds

IMAGE_CHUNK = 512  # images whose features are computed at once
QUANTITIES = (
    "accuracy",
    "nearest_mean_accuracy",
    "peak_generalization",
    "peak_identification",
    "mean_generalization",
    "mean_identification",
)
FROZEN, HEAD, EXTRACTOR = "frozen", "head", "extractor"


@dataclass(frozen=True, eq=False, repr=False)
class FineTuned(Result):
    """Networks fine-tuned on classes and on their distances.

    Attributes
    ----------
    similarity_weight, seed : arrays of shape (networks,)
    accuracy : array of shape (networks,)
        Share of held-out images that the output layer puts into their class. With a similarity weight of 1 that layer
        is never trained.
    nearest_mean_accuracy : array of shape (networks,)
        Share of held-out images whose features are nearest to the mean features of their class in training.
    tests : tuple of ImageTests
        Generalization and identification of held-out images for every threshold, one for each network.
    tree_tests : ImageTests
        The same for features whose distances are those of the classes.
    stimuli : whole numbers of shape (stimuli,)
        Which of the held-out images the tests are made on.
    class_names : tuple of str
    distances : array of shape (classes, classes)
    failed : truth values of shape (networks,)
        Whether a network's weights became infinite or not a number; all its numbers are NaN.
    device, dtype, path : str
        What was computed with.
    features : array of shape (networks, stimuli, width)
        Of those images; not in JSON.
    training : TrainedStack
        Not in JSON.
    architecture : Modules
        Not in JSON.
    """

    similarity_weight: Array
    seed: Whole
    accuracy: Array
    nearest_mean_accuracy: Array
    tests: tuple[ImageTests, ...]
    tree_tests: ImageTests
    stimuli: Whole
    class_names: tuple[str, ...]
    distances: Array
    failed: Mask
    device: str
    dtype: str
    path: str
    features: Array = field(default_factory=lambda: np.empty((0, 0, 0)), metadata=UNWRITTEN)
    training: TrainedStack | None = field(default=None, metadata=UNWRITTEN)
    architecture: Modules | None = field(default=None, metadata=UNWRITTEN)

    def __len__(self) -> int:
        return len(self.seed)

    def values(self, quantity: str) -> Array:
        """Return one of the quantities, (networks,): accuracies, peak or mean of a test."""
        name = one_of("quantity", quantity, QUANTITIES)
        if name.endswith("accuracy"):
            return np.asarray(getattr(self, name))
        return np.array([getattr(one, name) for one in self.tests])

    def estimate(self, quantity: str, similarity_weight: float, *, compared_with: float | None = None) -> Estimate:
        """Return the mean over seeds with its 95 % interval.

        Parameters
        ----------
        quantity : str
            See :meth:`values`.
        similarity_weight : float
            One of those that were trained.
        compared_with : float, optional
            Another of them. The mean difference from it is returned, over seeds that start alike and see the same
            batches.
        """
        found = self._by_seed(quantity, similarity_weight)
        if compared_with is not None:
            found = found - self._by_seed(quantity, compared_with)
        return mean_estimate(found)

    def extractor(self, network: int) -> nn.Module:
        """Return a trained extractor as a module of its own."""
        if self.training is None or self.architecture is None:
            raise InputError("network must be of a training in this process; a result from JSON holds none.")
        place = whole_number("network", network, at_most=len(self) - 1)
        module = copy.deepcopy(self.architecture.module).cpu()
        own = {name: one[place].cpu() for name, one in self.training.values.items()}
        module.load_state_dict(own, strict=False)
        part = module.get_submodule("extractor")
        return part.eval()

    def summary(self) -> Summary:
        """Return the accuracy and the peak of generalization for each similarity weight."""
        shown = ("accuracy", "peak_generalization", "peak_identification")
        table = [("similarity weight", "accuracy", "peak p_S", "p_I there")] + [
            (f"{weight:g}", *(str(self.estimate(name, weight)) for name in shown))
            for weight in np.unique(self.similarity_weight).tolist()
        ]
        failed = [f"{self.failed.sum()} of {len(self)} networks became infinite."] if self.failed.any() else []
        return Summary(table=text_table(table), warnings=failed)

    def to_frame(self) -> DataFrame:
        """Return one row per network."""
        table = {"similarity_weight": self.similarity_weight, "seed": self.seed}
        return frame_of({**table, **{name: self.values(name) for name in QUANTITIES}, "failed": self.failed})

    def _by_seed(self, quantity: str, similarity_weight: float) -> Array:
        chosen = np.flatnonzero(self.similarity_weight == similarity_weight)
        if not chosen.size:
            trained = ", ".join(f"{one:g}" for one in np.unique(self.similarity_weight))
            raise InputError(f"similarity_weight must be one of {trained}; got {similarity_weight!r}.")
        return self.values(quantity)[chosen[np.argsort(self.seed[chosen])]]


def _measured(
    architecture: Modules,
    training: TrainedStack,
    images: LabeledImages,
    distances: Array,
    *,
    similarity_weight: Array,
    seeds: list[int],
    most_stimuli: int,
) -> FineTuned:
    """Return the accuracies of trained networks on held-out images and both tests on some of them.

    Parameters
    ----------
    architecture, training : of networks that give features and scores of classes
    images : LabeledImages
    distances : array of shape (classes, classes)
    similarity_weight, seeds : of each network
    most_stimuli : int
    """
    architecture.module.eval()
    shown = images.held_out_classes
    stimuli = _stimuli(len(shown), whole_number("most_stimuli", most_stimuli, at_least=3))
    accuracy, nearest, tests, features = [], [], [], []
    for place, failed in enumerate(training.failed):
        z, scores = _outputs(architecture, training, place, images.held_out_images)
        trained, _ = _outputs(architecture, training, place, images.images)
        sound = not failed and bool(np.isfinite(z).all() and np.isfinite(trained).all())
        accuracy.append(float((scores.argmax(1) == shown).mean()) if sound else np.nan)
        nearest.append(_nearest_mean(z, shown, trained, images.classes) if sound else np.nan)
        tests.append(image_tests(z[stimuli], shown[stimuli], distances) if sound else no_tests(len(stimuli)))
        features.append(z[stimuli] if sound else np.full_like(z[stimuli], np.nan))
    return FineTuned(
        similarity_weight,
        np.array(seeds, dtype=np.int64),
        np.array(accuracy),
        np.array(nearest),
        tuple(tests),
        tree_tests(shown[stimuli], distances),
        stimuli,
        images.class_names,
        distances,
        np.isnan(accuracy),
        training.computed.device,
        training.computed.dtype,
        training.computed.path,
        np.stack(features),
        training,
        architecture,
    )


def _stimuli(count: int, most: int) -> Whole:
    """Return which held-out images are tested: all, or some that are always the same."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False)).astype(np.int64)


def _outputs(
    architecture: Modules, training: TrainedStack, place: int, images: NDArray[np.float32]
) -> tuple[Array, Array]:
    """Return the features of images and the scores of their classes, with the running averages of training."""
    values = training.values
    found: list[tuple[Tensor, Tensor]] = []
    with torch.no_grad():
        for start in range(0, len(images), IMAGE_CHUNK):
            some = torch.from_numpy(images[start : start + IMAGE_CHUNK]).to(training.rows.device)
            features, scores = architecture.call(values, place, some)
            found.append((features.cpu().double(), scores.cpu().double()))
    z, rated = (torch.cat(part).numpy() for part in zip(*found, strict=True))
    return z, rated


def _nearest_mean(z: Array, shown: Whole, trained: Array, classes: Whole) -> float:
    """Return the share of images nearest to the mean of their own class in training."""
    means = np.stack([trained[classes == one].mean(axis=0) for one in range(classes.max() + 1)])
    apart = (means**2).sum(axis=1) - 2.0 * z @ means.T
    return float((apart.argmin(axis=1) == shown).mean())


@question
def fine_tune(
    extractor: str | os.PathLike[str] | nn.Module,
    *,
    data: str | os.PathLike[str] | tuple[ArrayLike, ArrayLike] | LabeledImages,
    distances: ArrayLike | None = None,
    tree: str | os.PathLike[str] | None = None,
    leaf_names: Mapping[str, str] | None = None,
    similarity_weight: float | Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    seeds: Sequence[int] = (0,),
    epochs: int = 10,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    most_stimuli: int = 600,
    device: str = "cpu",
    path: str = "auto",
    checkpoint: Checkpoint | None = None,
    running: Running | None = None,
) -> FineTuned:
    r"""Fine-tune one network for each similarity weight and seed, and measure each on held-out images.

    Networks of one seed start alike and see the same batches, so the effect of the weight can be compared by seed.

    Parameters
    ----------
    extractor : {"small", "resnet"}, str, path or torch module
        Networks of these two names start from random weights of their seed. Any other name is given to
        :func:`~genlaws.semanticity.networks.extractors.load_extractor`. A module, from images (N, channels, height,
        width) to features, starts from the weights it has; it is never changed, parameters that need no gradient stay
        as they are, and its dropout is switched off. Its output layer is new for each seed.
    data : str, path, pair of arrays, or LabeledImages
        See :func:`~genlaws.semanticity.networks.images.load_images`.
    distances : array_like of shape (classes, classes), optional
        Between classes, in the order of their names; or else:
    tree, leaf_names : see :func:`~genlaws.semanticity.networks.images.distances_in_tree`
        If neither is given, the tree comes from clustering the means of the classes' training images.
    similarity_weight : float in [0, 1], or several
        :math:`w` of the loss.
    seeds : sequence of int
    epochs : int
        Every training image once in each, except some, chosen by the seed, that would not fill a batch.
    batch_size : int
    learning_rate : float
        Of Adam.
    most_stimuli : int
        Held-out images that the tests are made on, the same for all networks; all of them if there are no more.
        Accuracies rest on all held-out images.
    device, path, checkpoint, running :
        See ``genlaws.ensembles.train``.

    References
    ----------
    :cite:p:`nurisso2026`, convolutional network. The means over pairs and the tests over all triples are exact here.
    """
    images = load_images(data)
    truth = class_distances(
        images.images, images.classes, images.class_names, distances=distances, tree=tree, leaf_names=leaf_names
    )
    weights = np.atleast_1d(fraction("similarity_weight", similarity_weight))
    if weights.ndim > 1 or not weights.size or len(np.unique(weights)) < weights.size:
        raise InputError(f"similarity_weight must be one number or several different ones; got {similarity_weight!r}.")
    numbers = checked_seeds(seeds)
    if len(set(numbers)) < len(numbers):
        raise InputError(f"seeds must differ from each other; got {numbers}.")
    plan = _Plan(
        weights=np.repeat(weights, len(numbers)),
        seeds=numbers * len(weights),
        epochs=whole_number("epochs", epochs),
        batch_size=whole_number("batch_size", batch_size, at_least=2, at_most=len(images.images)),
        learning_rate=float(scalar("learning_rate", positive("learning_rate", learning_rate))),
        device=read_device(device),
    )
    stimuli = whole_number("most_stimuli", most_stimuli, at_least=3)
    networks = _networks(extractor, images, plan.seeds)
    architecture = Modules(networks[0].to(plan.device).train(), _loss, part_of=_part_of(networks[0]))
    batches = _batches(images, truth, plan)
    rates = {part: 0.0 if part == FROZEN else plan.learning_rate for part in architecture.layout.parts}
    training = train(
        architecture,
        batches,
        seeds=plan.seeds,
        steps=plan.epochs * (len(images.images) // plan.batch_size),
        learning_rate=rates,
        start=architecture.rows(networks),
        device=plan.device,
        path=path,
        checkpoint=checkpoint,
        running=running,
    )
    return _measured(
        architecture,
        training,
        images,
        truth,
        similarity_weight=plan.weights,
        seeds=plan.seeds,
        most_stimuli=stimuli,
    )


def distance_mismatch(features: Tensor, distances: Tensor) -> Tensor:
    """Return the mean squared mismatch of a batch, a tensor without axes.

    Parameters
    ----------
    features : tensor of shape (rows, width)
    distances : tensor of shape (rows, rows)
        Between the classes of the rows.

    Notes
    -----
    The gradient goes through the largest distance too. A batch of one class, or of features all alike, is not divided.
    """
    first, second = torch.triu_indices(len(features), len(features), 1, device=features.device)
    apart, wanted = functional.pdist(features), distances[first, second]
    smallest = torch.finfo(features.dtype).tiny
    scaled = apart / apart.max().clamp_min(smallest) - wanted / wanted.max().clamp_min(smallest)
    return scaled.square().mean()


class WithHead(nn.Module):
    """An extractor and a linear layer from its features to scores of the classes."""

    def __init__(self, extractor: nn.Module, width: int, class_count: int) -> None:
        super().__init__()
        self.extractor, self.head = extractor, nn.Linear(width, class_count)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return features and scores."""
        features = self.extractor(images).flatten(1)
        return features, self.head(features)


def _loss(call: Callable[..., Any], batch: dict[str, Tensor]) -> Tensor:
    """Return the loss of one network on its batch."""
    features, scores = call(batch["images"])
    w, classes = batch["similarity_weight"][0], batch["classes"]
    between = batch["distances"].index_select(1, classes)
    return (1.0 - w) * functional.cross_entropy(scores, classes) + w * distance_mismatch(features, between)


@dataclass(frozen=True)
class _Plan:
    """How to train; weights and seeds are those of each network."""

    weights: Array
    seeds: list[int]
    epochs: int
    batch_size: int
    learning_rate: float
    device: torch.device


def _networks(extractor: Any, images: LabeledImages, seeds: list[int]) -> list[nn.Module]:
    """Return the networks as they start: extractors from names by their seed, others as they are, heads by their seed.

    Torch's own generator is left as it was.
    """
    some = torch.from_numpy(images.images[:2])
    named = isinstance(extractor, str) and extractor in EXTRACTOR_NAMES
    given = None if named else _given(extractor)
    networks: list[nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        for seed in seeds:
            torch.manual_seed(seed)
            own = copy.deepcopy(given) if given is not None else build_extractor(extractor, some.shape[1])
            networks.append(WithHead(own, feature_width(own, some), len(images.class_names)))
    return networks


def _given(extractor: Any) -> nn.Module:
    """Return a copy of a user's module, or a loaded one, in single precision and without dropout."""
    if not isinstance(extractor, nn.Module):
        if not isinstance(extractor, str | os.PathLike):
            raise InputError(
                f"extractor must be {', '.join(EXTRACTOR_NAMES)}, a source of a trained network or a torch module; "
                f"got {type(extractor).__name__}."
            )
        extractor = load_extractor(extractor)
    own: nn.Module = copy.deepcopy(extractor).cpu().float()
    for part in own.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd):
            part.p = 0.0
    return own


def _part_of(network: nn.Module) -> Callable[[str], str]:
    """Return the function from a parameter's name to its part; those that need no gradient stay as they are."""
    still = {name for name, one in network.named_parameters() if not one.requires_grad}
    return lambda name: FROZEN if name in still else HEAD if name.startswith("head.") else EXTRACTOR


def _batches(images: LabeledImages, truth: Array, plan: _Plan) -> Minibatches:
    """Return minibatches of one size: a network leaves out, by its seed, what would not fill the last."""
    count = len(images.images)
    used = np.ones((len(plan.seeds), count))
    for row, seed in zip(used, plan.seeds, strict=True):
        row[np.random.default_rng(seed).permutation(count)[: count % plan.batch_size]] = 0.0
    examples = {
        "images": torch.from_numpy(images.images)[None],
        "classes": torch.from_numpy(images.classes)[None],
        "distances": torch.from_numpy(truth[images.classes])[None],
        "similarity_weight": torch.from_numpy(np.repeat(plan.weights[:, None], count, axis=1)),
        "weight": torch.from_numpy(used),
    }
    return Minibatches(examples, plan.batch_size, plan.seeds)
