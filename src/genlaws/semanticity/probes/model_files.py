"""Load a language model and its tokenizer with transformers, and say in one sentence why that fails."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from genlaws.numerics.arguments import one_of
from genlaws.numerics.errors import InputError

Source = str | os.PathLike[str]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
KINDS = "a Hugging Face id, a folder, or a .gguf file"


def load_language_model(source: Source, device: str, dtype: str, local_files_only: bool) -> tuple[Any, Any, str]:
    """Return a causal language model that is not training, its tokenizer, and what it is called.

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
    if not isinstance(source, str | os.PathLike) or not os.fspath(source):
        raise InputError(f"source must be {KINDS}; got {source!r}.")
    kind = DTYPES[one_of("dtype", dtype, DTYPES)]
    place = _device(device)
    name, where, options = _where(os.fspath(source))
    transformers = import_module("transformers")
    options |= {"local_files_only": bool(local_files_only)}
    with _quiet(transformers):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(where, **options)
            network, told = transformers.AutoModelForCausalLM.from_pretrained(
                where, dtype=kind, output_loading_info=True, **options
            )
        except Exception as error:  # whatever a library raises over files it cannot read
            raise InputError(_why(name, error, local_files_only)) from None
    missing = sorted(told["missing_keys"])
    if missing:
        raise InputError(f"source: {name} is no language model; it holds no weights for {missing[0]}.")
    return network.to(place).eval(), tokenizer, name


def _device(device: str) -> torch.device:
    """Return a device that is there."""
    try:
        place = torch.device(device)
        torch.empty(0, device=place)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError):
        raise InputError(f"device must be one that torch has here, such as cpu or cuda; got {device!r}.") from None
    return place


def _where(source: str) -> tuple[str, str, dict[str, Any]]:
    """Return what a source is called, what transformers is to load, and how."""
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
        raise InputError(f"source must be {KINDS}; got the file {source!r}.")
    return source, source, {}


def _why(name: str, error: Exception, local_files_only: bool) -> str:
    """Return the sentence for a model that could not be loaded."""
    if isinstance(error, OSError) and not Path(name).exists():
        hint = " Nothing is downloaded unless local_files_only is false." if local_files_only else ""
        return f"source: there is no model {name!r}; give {KINDS}.{hint}"
    reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
    return f"source: transformers could not load {name!r}: {reason}."


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Keep transformers from writing bars and notes while a model is loaded.

    Its bar over the tensors of a GGUF file knows no switch, so standard error is set aside meanwhile.
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
