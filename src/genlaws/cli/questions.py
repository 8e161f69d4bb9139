"""A command made from a question: its options are the parameters of the question, its answer is the result.

What the command line writes differently from Python is declared as an *adapter*: a function whose options stand in
place of some parameters, such as a file in place of an array, and are described in its docstring. Parameters that may
have several values are written as a grid, ``2,4,10`` or ``0.1:100:30:log``; the answer is then over all combinations.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import cyclopts
import numpy as np

from genlaws.cli.numbers import read_numbers
from genlaws.cli.output import Json, ProgressBar, print_json
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.core.files import check_folder
from genlaws.core.parameters import NO_CHOICES, Parameter, parameters_of
from genlaws.core.result import PAGE_SUFFIXES, Result
from genlaws.core.running import Running

GRID_HELP = "Several as 2,4,10 or 0.1:100:30:log."
COMBINATIONS = "Where several numbers are given the answer is a table over all combinations."
OUT_HELP = "Folder to write the result to, or one page (.html)."
Jobs = Annotated[int, cyclopts.Parameter(help="Processes on this machine.")]
Adapter = Callable[..., dict[str, Any]]
DOCUMENTED_PARAMETER = re.compile(r"^(\w+) : .*\n((?: {4}.*\n?)+)", re.MULTILINE)  # name and description
Display = Callable[..., AbstractContextManager[Running]]
RUNNING = "running"  # the parameter that shows progress; the command fills it


def fills(*parameters: str) -> Callable[[Adapter], Adapter]:
    """Declare which parameters of a question an adapter gives the values of."""

    def declare(adapter: Adapter) -> Adapter:
        adapter.fills = parameters  # type: ignore[attr-defined]
        return adapter

    return declare


def command_of(
    question: Callable[..., Result],
    *adapters: Adapter,
    about: str = "",
    resumes: bool = False,
    parallel: bool = False,
    display: Display = ProgressBar,
) -> Callable[..., None]:
    """Return the command of a question.

    Parameters
    ----------
    question : callable
        Made with :func:`~genlaws.core.result.question`, or one that chooses between such questions.
    adapters : callables
        Made with `fills`. An option that both the question and an adapter have goes to both, and ``out`` to an adapter
        that finds earlier work there.
    about : str
        More sentences for the help of the command.
    resumes : bool
        Whether the question uses the jobs and the folder of its `Running`: the command gets ``--jobs``, and with
        ``--out`` finished parts are stored in its folder ``cells``.
    parallel : bool
        Whether it uses the jobs alone.
    display : callable
        Makes what shows the progress and gives the `Running`.
    """
    filled = {name for adapter in adapters for name in adapter.fills}  # type: ignore[attr-defined]
    described, parameters = parameters_of(question), _parameters(question)
    saved, has_jobs = _default_out(question), resumes or parallel
    own = {name: one for name, one in parameters.items() if name not in {*filled, RUNNING}}
    options = {name: one for adapter in adapters for name, one in _options_of(adapter).items()}
    options |= {name: _option(one, described.get(name)) for name, one in own.items()}

    def arguments(given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the question for the options given; those left out have their default."""
        every = {name: one.default for name, one in options.items()} | dict(given)
        values = {name: _value(name, every[name], described.get(name)) for name in own}
        for name in own.keys() & described.keys():  # before an adapter loads a model
            described[name].checked(name, values[name])
        for adapter in adapters:
            values |= _call(adapter, every)
        return combined({name: values[name] for name in parameters if name in values}, described)

    def command(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments
        json, out, jobs = given.pop("json", False), given.get("out"), given.pop("jobs", 1) if has_jobs else 1
        check_out(out or saved)
        values = arguments(given)
        with ExitStack() as stack:
            cells = out / "cells" if resumes and out is not None and not _is_page(out) else None
            if RUNNING in parameters:
                values[RUNNING] = stack.enter_context(display(quiet=json, jobs=jobs, folder=cells))
            try:
                found = question(**values)
            except KeyboardInterrupt as stopped:
                raise KeyboardInterrupt(_stopped(resumes, cells, str(stopped))) from None
        show(found, json=json, out=out)

    shared = _shared(has_jobs, saved)
    own_options = [one for name, one in options.items() if name not in {one.name for one in shared}]
    signature = inspect.Signature(sorted([*_keyword_only(own_options), *shared], key=lambda one: one.kind))
    command.__name__ = question.__name__
    command.__doc__ = _help(question, about, any(one.several for one in described.values()))
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    command.answer, command.arguments = question, arguments  # type: ignore[attr-defined]
    return command


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function, eval_str=True).parameters)


def _call(adapter: Adapter, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that an adapter gives for the options."""
    bound = inspect.signature(adapter).bind_partial()
    bound.arguments = {name: given[name] for name in _parameters(adapter)}
    return adapter(*bound.args, **bound.kwargs)


def _keyword_only(options: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return options as keywords, but for those that an adapter takes by place."""
    by_place = inspect.Parameter.POSITIONAL_ONLY
    return [one if one.kind == by_place else one.replace(kind=one.KEYWORD_ONLY) for one in options]


def _default_out(question: Callable[..., Result]) -> Path | None:
    """Return where results are saved without --out."""
    returned = inspect.signature(question, eval_str=True).return_annotation
    places = [kind.default_out for kind in (returned, *get_args(returned)) if hasattr(kind, "default_out")]
    return next((Path(place) for place in places if place), None)


def _shared(jobs: bool, saved: Path | None) -> list[inspect.Parameter]:
    """Return the options that every command has, and that of one with jobs."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    out = Annotated[Path | None, cyclopts.Parameter(help=OUT_HELP + f" If left out, {saved}." * (saved is not None))]
    shared = [
        inspect.Parameter("json", keyword, default=False, annotation=Json),
        inspect.Parameter("out", keyword, default=None, annotation=out),
    ]
    return shared + [inspect.Parameter("jobs", keyword, default=1, annotation=Jobs)] * jobs


def _help(question: Callable[..., Result], about: str, grids: bool) -> str:
    """Return the first sentence of the docstring, and what else there is to know."""
    sentence = (inspect.getdoc(question) or "").partition("\n\n")[0].replace("\n", " ")
    more = [about] * bool(about) + [COMBINATIONS] * grids
    return "\n\n".join([sentence, " ".join(more)]).strip()


def _options_of(adapter: Adapter) -> dict[str, inspect.Parameter]:
    """Return the options of an adapter, described in its docstring; a switch has no opposite."""
    described = dict(DOCUMENTED_PARAMETER.findall(inspect.getdoc(adapter) or ""))
    options = {}
    for name, parameter in _parameters(adapter).items():
        ways: dict[str, Any] = {"help": " ".join(described[name].split())} if name in described else {}
        if parameter.default is False or get_origin(parameter.annotation) is tuple:
            ways |= {"negative": "", "consume_multiple": True, "show_default": bool(parameter.default)}
        kind = parameter.annotation
        options[name] = parameter.replace(annotation=Annotated[kind, cyclopts.Parameter(**ways)])
    return options


def _option(parameter: inspect.Parameter, described: Parameter | None) -> inspect.Parameter:
    """Return the option of a parameter: text where several numbers may be given, else what the question takes."""
    if described is None:
        return parameter
    kind = parameter.annotation
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if np.random.Generator in get_args(plain):
        plain = int
    if described.several or described.listed or str in get_args(plain):
        plain = str | None if parameter.default is None else str
    default = parameter.default
    if plain is str and isinstance(default, int | float):
        default = str(default)  # read as if it were typed
    if isinstance(default, tuple):
        default = ",".join(default).replace(" ", "-") or NO_CHOICES
    grid = (described.several or described.listed) and not described.choices
    about = f"{described.help} {GRID_HELP}" if grid else described.help
    negative = "" if parameter.default is False else None
    kind = Annotated[plain, cyclopts.Parameter(help=about, negative=negative)]
    return parameter.replace(default=default, annotation=kind)


def _value(name: str, given: Any, described: Parameter | None) -> Any:
    """Return the value of an option: numbers where several may be given."""
    if described is None or described.choices or not isinstance(given, str) or given in described.words:
        return given
    if described.listed:
        return np.atleast_1d(read_numbers(name, given))
    number = described.several or (described.words and described.check is not None)
    return read_numbers(name, given) if number else given


def combined(values: dict[str, Any], described: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return every combination of the values that may be several, numbers or kernels, as flat arrays."""
    grids = {
        name: value
        for name, value in values.items()
        if name in described and described[name].several and getattr(value, "shape", None)
    }
    places = np.indices([value.shape[0] for value in grids.values()])
    return values | {name: value[place.ravel()] for (name, value), place in zip(grids.items(), places, strict=True)}


def check_out(out: Path | None) -> None:
    """Raise if results cannot be written there; a page needs no folder of its own."""
    if out is not None and _is_page(out):
        check_folder("out", out.parent)
        if out.is_dir():
            raise InputError(f"out must be a page or a folder; got {str(out)!r}, a folder with the name of a page.")
    else:
        check_folder("out", out)


def _is_page(out: Path) -> bool:
    return out.suffix.lower() in PAGE_SUFFIXES


def _stopped(resumes: bool, cells: Path | None, message: str) -> str:
    """Return the message of a command that was interrupted; that of a question that stores its parts is its own."""
    if not resumes:
        return message or "Stopped."
    if cells is None:
        return "Stopped. Nothing is stored without a folder as --out."
    return "Stopped. Finished parts are stored; run the same command to continue."


def show(result: Result, *, json: bool, out: Path | None) -> None:
    """Print the summary, or one JSON object, and save the result; a question without answer raises."""
    place = out or result.default_out
    files = result.save(place) if place else []
    if json:
        print_json({"result": result.to_dict(), "files": [str(path) for path in files]})
    else:
        print(result)
        for path in files:
            print(f"Written to {path}")
    if result.unanswered:
        raise ConvergenceError(result.unanswered, result)
