"""Whether the libraries that train networks are here, and what to say if they are not."""

from __future__ import annotations

from importlib.util import find_spec

WITHOUT_TORCH = "Not compared with networks: that needs torch, pip install 'genlaws[networks]'."


def has_torch() -> bool:
    """Return whether torch is installed; it is not loaded."""
    return find_spec("torch") is not None
