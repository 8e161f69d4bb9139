"""The ``genlaws`` command: one group per system, and ``genlaws figure``.

Exit code 0 when the answer was given, 1 when the computation failed or a claim was found to have another verdict than
the kept one, 2 when the input was wrong. With ``--json`` there
is exactly one JSON object on standard output; everything else goes to standard error. The parts that need numpy are
imported when their command runs, so that ``genlaws --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from traceback import walk_tb

from cyclopts import App, CycloptsError

from genlaws.cli.numbers import refuse_fractions
from genlaws.core.errors import ConvergenceError, InputError

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130
# Libraries that are not always there, and the extra that brings each.
EXTRAS = {
    "torch": "networks",
    "transformers": "models",
    "accelerate": "models",
    "gguf": "models",
    "igraph": "graphs",
    "networkx": "graphs",
    "dask": "cluster",
    "distributed": "cluster",
    "xarray": "export",
    "pyarrow": "export",
    "plotly": "page",
    "starlette": "page",
    "uvicorn": "page",
    "python_multipart": "page",
}
# Parts that load a trained model: they need torch and transformers both.
LOAD_MODELS = ("genlaws.models", "genlaws.probes", "genlaws.cli.semanticity.probe", "genlaws.cli.residual_stream")


def _version() -> str:
    import genlaws

    return str(genlaws.__version__)


app = App(
    name="genlaws",
    help="Exact laws of generalizing versus remembering: theory, simulation, measurement of your own model.",
    version=_version,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # run() says that it stopped
    config=refuse_fractions,
)
app.command("genlaws.cli.rules_facts:app", name="rules-facts", help="Data that is part rule and part fact.")
app.command(
    "genlaws.cli.semanticity:app",
    name="semanticity",
    help="How finely a representation tells things apart, and what that costs.",
)
app.command(
    "genlaws.cli.relations:app",
    name="relations",
    help="How many examples a relation needs, and when representations merge.",
)
app.command(
    "genlaws.cli.residual_stream:app",
    name="residual-stream",
    help="A transformer's layers as time: how its states move, beside surrogates.",
)
app.command("genlaws.cli.sweep:app", name="sweep", help="Run an experiment over many settings; what is done is kept.")
app.command("genlaws.cli.figure:figure", name="figure", help="Draw figures of the papers, with their data.")
app.command("genlaws.cli.claims:app", name="claims", help="What the papers claim, and what was found here.")
app.command(
    "genlaws.cli.report:report", name="report", help="One page: the laws beside runs made now, and your own data."
)
app.command("genlaws.cli.explore:explore", name="explore", help="Serve a page with sliders for every law.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    code = 0
    try:
        app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except (CycloptsError, InputError) as error:
        code = _complain(str(error), WRONG_INPUT)
    except ConvergenceError as error:
        code = _complain(str(error), FAILED)
    except ImportError as error:
        missing = error.__cause__ or error  # a command is imported by its path, and what was missing is the cause
        code = _complain(how_to_install(missing if isinstance(missing, ModuleNotFoundError) else error), FAILED)
    except BrokenPipeError:
        # Whoever read standard output has gone; keep Python from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except OSError as error:
        code = _complain(f"{error.strerror}: {error.filename}" if error.filename else str(error), FAILED)
    except KeyboardInterrupt as stopped:
        code = _complain(str(stopped) or "Stopped.", INTERRUPTED)
    return code


def require_installed(*libraries: str) -> None:
    """Stop if an optional library is missing; nothing is imported, so that a command can say it before any work."""
    for library in libraries:
        if find_spec(library) is None:
            raise ModuleNotFoundError(f"No module named {library!r}", name=library)


def how_to_install(error: ImportError) -> str:
    """Return the sentence for an optional library that is missing; anything else missing is a bug and is raised."""
    library = (error.name or "").partition(".")[0]
    if library not in EXTRAS:
        raise error
    importing = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    loads = library == "torch" and any(name.startswith(LOAD_MODELS) for name in importing)
    extra = "models" if loads else EXTRAS[library]
    return f"This needs {library}, which is not installed. Install it with: pip install 'genlaws[{extra}]'"


def _complain(sentence: str, code: int) -> int:
    print(f"genlaws: {sentence}", file=sys.stderr)
    return code
