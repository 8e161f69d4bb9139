"""The ``genlaws`` command: one group per system, and commands for sweeps, figures, claims, the report and the explorer.

Exit code 0 on success, 1 when the computation failed or a verdict differs from the bundled record, 2 when the input
was wrong. With ``--json`` standard output holds exactly one JSON object; everything else goes to standard
error. Modules that need numpy are imported when their command runs, so that ``genlaws --help`` is fast.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from traceback import walk_tb

from genlaws.core.errors import ConvergenceError, InputError, StoppedError
from genlaws.core.imports import EXTRAS, how_to_install

EXIT_FAILED, EXIT_WRONG_INPUT, EXIT_INTERRUPTED = 1, 2, 130
LONG_WORDS = re.compile(r"(\S{80})\S{160,}")  # of an error message, longer than any path in use
# Packages that load a trained model: they need both torch and transformers.
MODEL_PACKAGES = ("genlaws.models", "genlaws.probes", "genlaws.cli.semanticity.probe", "genlaws.cli.residual_stream")


ABOUT = "Exact laws of generalizing versus remembering: theory, simulation, measurement of your own model."
# The location and the help text of each command, which is imported when it runs.
COMMANDS = {
    "rules-facts": ("rules_facts:app", "Data that is part rule and part fact."),
    "semanticity": ("semanticity:app", "How finely a representation distinguishes things, and what that costs."),
    "relations": ("relations:app", "How many examples a relation needs, and when representations merge."),
    "residual-stream": (
        "residual_stream:app",
        "A transformer's layers as time: how its states move, compared with surrogates.",
    ),
    "sweep": ("sweep:app", "Run an experiment over many settings; finished cells are stored."),
    "figure": ("figure:figure", "Draw figures of the papers, with their data."),
    "claims": ("claims:app", "What the papers claim, and what was found here."),
    "report": ("report:report", "One page: the laws compared with new runs, and your own data."),
    "explore": ("explore:explore", "Serve a page with sliders for every law."),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal need not know Greek letters
    if tokens in ([], ["--help"], ["-h"]):
        print(help_text())
        return 0
    from cyclopts import CycloptsError

    from genlaws.cli.commands import app, show_whole_help

    code = 0
    try:
        show_whole_help(tokens)
        app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except (CycloptsError, InputError) as error:
        code = _print_error(str(error), EXIT_WRONG_INPUT)
    except ConvergenceError as error:
        code = _print_error(str(error), EXIT_FAILED)
    except ImportError as error:
        missing = error.__cause__ or error  # a command is imported by its path; the cause names the missing library
        code = _print_error(install_hint(missing if isinstance(missing, ModuleNotFoundError) else error), EXIT_FAILED)
    except BrokenPipeError:
        # The reader of standard output has closed it; prevent another error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = EXIT_FAILED
    except OSError as error:
        code = _print_error(f"{error.strerror}: {error.filename}" if error.filename else str(error), EXIT_FAILED)
    except (KeyboardInterrupt, StoppedError) as stopped:
        code = _print_error(str(stopped) or "Stopped.", EXIT_INTERRUPTED)
    return code


def help_text() -> str:
    """Return what ``genlaws --help`` prints; the help of a command is made from its signature."""
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:<{width}}{about}" for name, (_, about) in sorted(COMMANDS.items())]
    options = {"--help": "Print this text, or after a command its options.", "--version": "Print the version."}
    listed = [f"  {name:<{width}}{about}" for name, about in options.items()]
    return "\n".join(["Usage: genlaws COMMAND", "", ABOUT, "", "Commands:", *lines, "", "Options:", *listed])


def install_hint(error: ImportError) -> str:
    """Return how to install a missing optional library; any other missing module is a bug and is raised."""
    library = (error.name or "").partition(".")[0]
    if library not in EXTRAS:
        raise error
    importing = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    loads = library == "torch" and any(name.startswith(MODEL_PACKAGES) for name in importing)
    extra = "models" if loads else EXTRAS[library]
    return how_to_install(library, extra)


def _print_error(sentence: str, code: int) -> int:
    shortened = LONG_WORDS.sub(r"\1...", sentence)
    print(f"genlaws: {shortened}", file=sys.stderr)
    return code
