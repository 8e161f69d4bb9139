"""Exact laws of generalising versus remembering.

Four systems, each in a package of its own: :mod:`genlaws.rules_facts` now; semanticity, relations and
the residual stream follow. Importing :mod:`genlaws` imports none of them: import the one you need.
"""


def __getattr__(name: str) -> str:
    """Read the version from the installed package when it is asked for; the look-up is slow at import."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("genlaws")
    raise AttributeError(f"module 'genlaws' has no attribute {name!r}")
