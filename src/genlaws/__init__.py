"""Exact laws of generalising versus remembering.

Each system has a package of its own: :mod:`genlaws.semanticity`, :mod:`genlaws.rules_facts`, :mod:`genlaws.relations`
and :mod:`genlaws.residual_stream`. Importing :mod:`genlaws` imports none of them: each is imported when it is first
asked for, as in ``genlaws.rules_facts.solve``.
"""

TYPE_CHECKING = False  # type checkers take it for true; importing typing would take longer than all the rest

if TYPE_CHECKING:
    from genlaws import claims as claims
    from genlaws import ensembles as ensembles
    from genlaws import experiments as experiments
    from genlaws import explorer as explorer
    from genlaws import figures as figures
    from genlaws import joined as joined
    from genlaws import numerics as numerics
    from genlaws import panels as panels
    from genlaws import relations as relations
    from genlaws import report as report
    from genlaws import residual_stream as residual_stream
    from genlaws import rules_facts as rules_facts
    from genlaws import semanticity as semanticity

    __version__: str

PACKAGES = (
    *("claims", "ensembles", "experiments", "explorer", "figures", "joined", "numerics", "panels", "relations"),
    *("report", "residual_stream", "rules_facts", "semanticity"),
)


def __getattr__(name: str) -> object:
    """Import a package, or read the installed version, when it is asked for; both are slow at import."""
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
