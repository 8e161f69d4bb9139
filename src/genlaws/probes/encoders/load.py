"""Load an encoder of texts or pictures: a network of transformers, word vectors, or a feature extractor."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.models.language import TransformersModel
from genlaws.models.load import (
    DTYPES,
    ModelSource,
    device_of,
    files_of,
    load_language_model,
    loading,
    loading_quietly,
)
from genlaws.probes.encoders.image import ExtractorEncoder, ImageEncoder
from genlaws.probes.encoders.pooling import sentence_head_of
from genlaws.probes.encoders.text import TextEncoder, has_two_towers
from genlaws.probes.encoders.word_vectors import VECTOR_FORMATS, WordVectors, holds_word_vectors
from genlaws.probes.parameters import ROW_POOLINGS
from genlaws.semanticity.networks.extractors import load_extractor

ENCODER_KINDS = ("auto", "text", "image", "vectors")
ENCODER_SOURCES = f"a Hugging Face id, a folder, a .gguf file, {VECTOR_FORMATS}, or a loaded TransformersModel"
ENCODER_BATCH_SIZE = 32
INPUT_KINDS = {"input_ids": "text", "pixel_values": "image"}
UNUSED_PART = "pooler"  # a part that encoders often come without, and that is not used here

AnyEncoder = TextEncoder | ImageEncoder | ExtractorEncoder | WordVectors


def load_encoder(
    source: ModelSource | TransformersModel,
    *,
    kind: str = "auto",
    device: str = "cpu",
    dtype: str = "float32",
    local_files_only: bool = True,
    pooling: str = "mean",
    batch_size: int = ENCODER_BATCH_SIZE,
) -> AnyEncoder:
    """Return an encoder: it has a ``name``, ``layers``, and embeds stimuli with ``embed``.

    Parameters
    ----------
    source : str, path or TransformersModel
        A Hugging Face id, folder or short name (encoders and decoders of text, sentence encoders, CLIP and SigLIP, ViT,
        ConvNeXt, ResNet and the like), a ``.gguf`` file, a language model that is loaded already, a file of word
        vectors (``.txt``, ``.vec``, ``.gz``, or ``.npz`` with words and vectors), ``efficientnet-lite0``,
        ``torchvision:NAME``, or an ``.npz`` file with the weights of a residual network for small images.
    kind : {"auto", "text", "image", "vectors"}
        What to embed with it. Must be given for a network with a tower for texts and one for images.
    device : str
        As torch names it.
    dtype : {"float32", "bfloat16", "float16"}
    local_files_only : bool
        Whether only what is on this machine is used; if not, an id may be downloaded.
    pooling : {"mean", "last", "first", "max"}
        How the states of tokens or patches become one row. The ``output`` of a sentence encoder has its own pooling.
    batch_size : int
        Texts or pictures of one pass; bounds the memory.
    """
    wanted = one_of("kind", kind, ENCODER_KINDS)
    one_of("pooling", pooling, ROW_POOLINGS)
    one_of("dtype", dtype, DTYPES)
    size = whole_number("batch_size", batch_size, at_least=1)
    if isinstance(source, TransformersModel):
        _check_kind(source.source, wanted, "text")
        return TextEncoder(source.network.base_model, source.tokenizer, source.source, pooling, size)
    if not isinstance(source, str | os.PathLike) or not os.fspath(source):
        raise InputError(f"source must be {ENCODER_SOURCES}; got {source!r}.")
    options: dict[str, Any] = {
        "device": device,
        "dtype": dtype,
        "local_files_only": local_files_only,
        "batch_size": size,
    }
    name = os.fspath(source)
    if wanted == "vectors" or (wanted == "auto" and holds_word_vectors(name)):
        return WordVectors(Path(name).expanduser())
    if name == "efficientnet-lite0" or name.startswith("torchvision:") or name.lower().endswith(".npz"):
        return _extractor(name, wanted, **options)
    if "gguf_file" in files_of(name)[2]:
        _check_kind(name, wanted, "text")
        network, tokenizer, called = load_language_model(name, device, dtype, local_files_only)
        return TextEncoder(network.base_model, tokenizer, called, pooling, size)
    return _from_transformers(name, wanted, pooling=pooling, **options)


def load_text_encoder(source: str, **options: Any) -> TextEncoder:
    """Return an encoder of texts that is a transformer; `options` are those of `load_encoder`."""
    found = load_encoder(source, kind="text", **options)
    assert isinstance(found, TextEncoder)  # everything else is refused
    return found


def load_text_network(
    source: str, *, device: str = "cpu", dtype: str = "float32", local_files_only: bool = True
) -> tuple[Any, Any, str, bool]:
    """Return a transformer of text, its tokenizer, its name, and whether it has the head of a language model.

    Parameters are those of `load_encoder`.
    """
    with suppress(InputError):  # not a language model: perhaps an encoder, whose error message is better
        return *load_language_model(source, device, dtype, local_files_only), True
    found = load_text_encoder(source, device=device, dtype=dtype, local_files_only=local_files_only)
    return found.network, found.tokenizer, found.source, False


def _check_kind(name: str, wanted: str, found: str) -> None:
    """Refuse a source of another kind than the requested one."""
    if wanted not in {"auto", found}:
        kind = "a text encoder" if found == "text" else "an image encoder"
        raise InputError(f"source: {name} is no {wanted} encoder; it is {kind}.")


def _extractor(
    name: str, wanted: str, *, device: str, dtype: str, local_files_only: bool, batch_size: int
) -> ExtractorEncoder:
    _check_kind(name, wanted, "image")
    if name.startswith("torchvision:") and local_files_only:
        raise InputError(
            f"source: torchvision may download {name}; nothing is downloaded unless local_files_only is false."
        )
    network: Any = load_extractor(name)
    return ExtractorEncoder(network.to(device=device_of(device), dtype=DTYPES[dtype]), name, batch_size)


def _from_transformers(
    source: str, wanted: str, *, device: str, dtype: str, local_files_only: bool, pooling: str, batch_size: int
) -> TextEncoder | ImageEncoder:
    place = device_of(device)
    name, where, _ = files_of(source)
    transformers = import_module("transformers")
    options = {"local_files_only": bool(local_files_only)}
    with loading(transformers, name, local_files_only):
        network, report = transformers.AutoModel.from_pretrained(
            where, dtype=DTYPES[dtype], output_loading_info=True, **options
        )
    kind = _kind_of(network, name, wanted)
    missing = sorted(key for key in report["missing_keys"] if UNUSED_PART not in key.split("."))
    if missing:
        raise InputError(f"source: {name} is not a complete encoder; it has no weights for {missing[0]}.")
    with loading_quietly(transformers):
        tools = _tools(transformers, where, name, kind, options)
    network = network.to(place).eval()
    if kind == "image":
        return ImageEncoder(network, tools, name, pooling, batch_size)
    head = None if has_two_towers(network) else sentence_head_of(Path(where))
    return TextEncoder(network, tools, name, pooling, batch_size, head)


def _kind_of(network: Any, name: str, wanted: str) -> str:
    """Return what a network embeds: text or image."""
    if has_two_towers(network):
        if wanted == "auto":
            raise InputError(f"kind must be text or image for {name}, which has a tower for each; got 'auto'.")
        return wanted
    found = INPUT_KINDS.get(str(network.main_input_name))
    if found is None:
        raise InputError(
            f"source: {name} is neither a text encoder nor an image encoder; it reads {network.main_input_name}."
        )
    _check_kind(name, wanted, found)
    return found


def _tools(transformers: Any, where: str, name: str, kind: str, options: dict[str, bool]) -> Any:
    """Return the tokenizer, or the image processor."""
    loader, called = (
        (transformers.AutoTokenizer, "tokenizer")
        if kind == "text"
        else (transformers.AutoImageProcessor, "image processor")
    )
    try:
        return loader.from_pretrained(where, **options)
    except Exception as error:  # whatever a library raises over files it cannot read
        reason = " ".join(str(error).split())[:160].rstrip(".")
        raise InputError(f"source: {name} comes without a usable {called}: {reason}.") from None
