"""Which libraries are installed, for the records of what a number was computed with."""

from __future__ import annotations

from collections.abc import Iterable


def installed_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of libraries; those that are not installed are left out."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  slow at import

    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
