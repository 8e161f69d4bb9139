"""Networks from images to features: a small one and a residual one, trained from scratch; and any module of a user."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from genlaws.numerics.arguments import one_of, whole_number
from genlaws.numerics.errors import InputError

NETWORKS = ("small", "resnet")
RESNET_WIDTHS, RESNET_BLOCKS = (16, 32, 64), 3  # twenty layers with weights, the output layer counted


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
    """Two convolutions beside a way round them.

    Where the image shrinks, the way round takes every other pixel and fills new channels with zeros on both sides; it
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
        One for each channel; pixels as fractions have the mean taken off and are divided by the deviation.
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
        """Return what the network makes of scaled images; those in grey are given equal colours."""
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
    kind = one_of("extractor", name, NETWORKS)
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
