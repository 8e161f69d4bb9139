"""Exact laws of generalizing versus remembering.

Each system has a package of its own: :mod:`genlaws.semanticity`, :mod:`genlaws.rules_facts`, :mod:`genlaws.relations`
and :mod:`genlaws.residual_stream`. Importing :mod:`genlaws` imports none of them: each is imported on first access, as
in ``genlaws.rules_facts.solve``.
"""

TYPE_CHECKING = False  # type checkers take it for true; importing typing would take longer than all the rest

if TYPE_CHECKING:
    from genlaws import claims as claims
    from genlaws import core as core
    from genlaws import ensembles as ensembles
    from genlaws import figures as figures
    from genlaws import models as models
    from genlaws import probes as probes
    from genlaws import relations as relations
    from genlaws import render as render
    from genlaws import report as report
    from genlaws import residual_stream as residual_stream
    from genlaws import rules_facts as rules_facts
    from genlaws import semanticity as semanticity
    from genlaws import sweeps as sweeps
    from genlaws import web as web

    __version__: str

PACKAGES = (
    *("claims", "core", "ensembles", "figures", "models", "probes", "relations", "render", "report"),
    *("residual_stream", "rules_facts", "semanticity", "sweeps", "web"),
)


def __getattr__(name: str) -> object:
    """Import a package, or read the installed version, on first access; both are slow at import."""
    if name in PACKAGES:
        from importlib import import_module  # noqa: PLC0415

        return import_module(f"genlaws.{name}")
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

        try:
            return version("genlaws")
        except PackageNotFoundError:
            return "from source"  # a checkout on the path, not installed
    raise AttributeError(f"module 'genlaws' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that are there, and the packages that would be imported."""
    return sorted({*globals(), *PACKAGES, "__version__"})
