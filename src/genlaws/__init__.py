"""Exact laws of generalising versus remembering.

Each system has a package of its own: :mod:`genlaws.rules_facts`, :mod:`genlaws.semanticity` and
:mod:`genlaws.relations`. Importing :mod:`genlaws` imports none of them: import the one you need.
"""


def __getattr__(name: str) -> str:
    """Read the version from the installed package when it is asked for; the look-up is slow at import."""
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

        try:
            return version("genlaws")
        except PackageNotFoundError:
            return "from source"  # a checkout on the path, not installed
    raise AttributeError(f"module 'genlaws' has no attribute {name!r}")
