"""What comes out of fine-tuning extractors of features: accuracy and both tests for each network."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from genlaws.ensembles import Modules, Training
from genlaws.numerics.arguments import Array, Mask, Whole, one_of, whole_number
from genlaws.numerics.errors import InputError
from genlaws.numerics.intervals import Estimate, from_standard_error
from genlaws.semanticity.image_tests import ImageTests, image_tests, no_tests, tree_tests
from genlaws.semanticity.labelled_images import LabelledImages

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 512  # images whose features are computed at once
QUANTITIES = (
    "accuracy",
    "nearest_mean_accuracy",
    "peak_generalisation",
    "peak_identification",
    "mean_generalisation",
    "mean_identification",
)


@dataclass(frozen=True)
class FineTuned:
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
        Generalisation and identification of held-out images for every threshold, one for each network.
    tree_tests : ImageTests
        The same for features whose distances are those of the classes.
    features : array of shape (networks, stimuli, width)
        Of the held-out images that the tests are made on.
    stimuli : whole numbers of shape (stimuli,)
        Which of the held-out images those are.
    class_names : tuple of str
    distances : array of shape (classes, classes)
    failed : truth values of shape (networks,)
        Whether a network's weights became infinite or not a number; all its numbers are NaN.
    training : Training
    """

    similarity_weight: Array
    seed: Whole
    accuracy: Array
    nearest_mean_accuracy: Array
    tests: tuple[ImageTests, ...]
    tree_tests: ImageTests
    features: Array
    stimuli: Whole
    class_names: tuple[str, ...]
    distances: Array
    failed: Mask
    training: Training
    architecture: Modules

    def __len__(self) -> int:
        return len(self.seed)

    def values(self, quantity: str) -> Array:
        """Return one of the quantities, (networks,): accuracies, peak or mean of a test."""
        name = one_of("quantity", quantity, QUANTITIES)
        if name.endswith("accuracy"):
            own: Array = getattr(self, name)
            return own
        return np.array([getattr(one, name) for one in self.tests])

    def estimate(self, quantity: str, similarity_weight: float, *, beside: float | None = None) -> Estimate:
        """Return the mean over seeds with its 95 % interval.

        Parameters
        ----------
        quantity : str
            See :meth:`values`.
        similarity_weight : float
            One of those that were trained.
        beside : float, optional
            Another of them: the mean difference from it, seed by seed, which start alike and see the same batches.
        """
        found = self._by_seed(quantity, similarity_weight)
        if beside is not None:
            found = found - self._by_seed(quantity, beside)
        finite = found[np.isfinite(found)]
        if finite.size < 2:
            return Estimate(float(finite.mean()) if finite.size else float("nan"), count=finite.size)
        return from_standard_error(float(finite.mean()), float(finite.std(ddof=1) / finite.size**0.5), finite.size)

    def extractor(self, network: int) -> nn.Module:
        """Return a trained extractor as a module of its own."""
        place = whole_number("network", network, at_most=len(self) - 1)
        module = copy.deepcopy(self.architecture.module).cpu()
        own = {name: one[place].cpu() for name, one in self.training.values.items()}
        module.load_state_dict(own, strict=False)
        part = module.get_submodule("extractor")
        return part.eval()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per network."""
        import pandas as pd  # noqa: PLC0415

        table = {"similarity_weight": self.similarity_weight, "seed": self.seed}
        return pd.DataFrame({**table, **{name: self.values(name) for name in QUANTITIES}, "failed": self.failed})

    def _by_seed(self, quantity: str, similarity_weight: float) -> Array:
        chosen = np.flatnonzero(self.similarity_weight == similarity_weight)
        if not chosen.size:
            trained = ", ".join(f"{one:g}" for one in np.unique(self.similarity_weight))
            raise InputError(f"similarity_weight must be one of {trained}; got {similarity_weight!r}.")
        return self.values(quantity)[chosen[np.argsort(self.seed[chosen])]]


def measure_networks(
    architecture: Modules,
    training: Training,
    images: LabelledImages,
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
    images : LabelledImages
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
        np.stack(features),
        stimuli,
        images.class_names,
        distances,
        np.isnan(accuracy),
        training,
        architecture,
    )


def _stimuli(count: int, most: int) -> Whole:
    """Return which held-out images are tested: all, or some that are always the same."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False)).astype(np.int64)


def _outputs(architecture: Modules, training: Training, place: int, images: NDArray[np.float32]) -> tuple[Array, Array]:
    """Return the features of images and the scores of their classes, with the running averages of training."""
    values = training.values
    found: list[tuple[Tensor, Tensor]] = []
    with torch.no_grad():
        for start in range(0, len(images), CHUNK):
            some = torch.from_numpy(images[start : start + CHUNK]).to(training.rows.device)
            features, scores = architecture.call(values, place, some)
            found.append((features.cpu().double(), scores.cpu().double()))
    z, rated = (torch.cat(part).numpy() for part in zip(*found, strict=True))
    return z, rated


def _nearest_mean(z: Array, shown: Whole, trained: Array, classes: Whole) -> float:
    """Return the share of images nearest to the mean of their own class in training."""
    means = np.stack([trained[classes == one].mean(axis=0) for one in range(classes.max() + 1)])
    apart = (means**2).sum(axis=1) - 2.0 * z @ means.T
    return float((apart.argmin(axis=1) == shown).mean())
