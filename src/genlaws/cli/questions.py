"""A command made from a question: its options are the parameters of the question, its answer is the result.

What the command line writes differently from Python is declared as an *adapter*: a function whose options stand in
place of some parameters, such as a file in place of an array, and are described in its docstring. Parameters that may
have several values are written as a grid, ``2,4,10`` or ``0.1:100:30:log``; the answer is then over all combinations.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from json import dumps
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import cyclopts
import numpy as np

from genlaws.cli.numbers import read_numbers
from genlaws.cli.output import Json, ProgressBar
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.core.files import check_folder
from genlaws.core.parameters import NO_CHOICES, Parameter, parameters_of
from genlaws.core.result import Result, is_page
from genlaws.core.running import Running

GRID_HELP = "Several as 2,4,10 or 0.1:100:30:log."
COMBINATIONS = "Where several numbers are given the answer is a table over all combinations."
OUT_HELP = "Folder to write the result to, or one page (.html)."
JOBS_HELP = "Processes on this machine."
RUNNING = "running"  # the parameter that shows progress; the command fills it
DOCUMENTED = re.compile(r"^(\w+(?:, \w+)*) : .*\n((?: {4}.*\n?)+)", re.MULTILINE)  # parameters and their description
Adapter = Callable[..., dict[str, Any]]
Display = Callable[..., AbstractContextManager[Running]]


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
        Made with `fills`. An option that both the question and an adapter have goes to both. An adapter may also have
        ``out``, for earlier work in that folder.
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
    parameters, described = _parameters(question), parameters_of(question)
    filled = {RUNNING, *(name for adapter in adapters for name in adapter.fills)}  # type: ignore[attr-defined]
    own = [name for name in parameters if name not in filled]
    saved = _default_out(question)
    shared = _shared_options(saved, jobs=resumes or parallel)
    options = {name: one for adapter in adapters for name, one in _options_of(adapter).items() if name not in shared}
    options |= {name: _option(parameters[name], described.get(name)) for name in own}

    def arguments(given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the question for the options given; those left out have their default."""
        every = {name: one.default for name, one in options.items()} | dict(given)
        values = {}
        for name in own:
            values[name] = _value(name, every[name], described.get(name))
            if name in described:  # checked before an adapter loads a model
                described[name].checked(name, values[name])
        for adapter in adapters:
            values |= _call(adapter, every)
        return _combined({name: values[name] for name in parameters if name in values}, described)

    def command(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments
        json = given.get("json", False)
        out = given.get("out")
        jobs = given.get("jobs", 1) if "jobs" in shared else 1  # else an adapter may have such an option
        _check_out(out or saved)
        values = arguments(given)
        cells = out / "cells" if resumes and out is not None and not is_page(out) else None
        with ExitStack() as stack:
            if RUNNING in parameters:
                values[RUNNING] = stack.enter_context(display(quiet=json, jobs=jobs, folder=cells))
            try:
                found = question(**values)
            except KeyboardInterrupt as stopped:
                raise KeyboardInterrupt(_stopped(resumes, cells, str(stopped))) from None
        _show(found, json=json, out=out)

    signature = _signature(options | shared)
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
    bound.arguments = {name: given.get(name, one.default) for name, one in _parameters(adapter).items()}
    return adapter(*bound.args, **bound.kwargs)


def _signature(options: Mapping[str, inspect.Parameter]) -> inspect.Signature:
    """Return the signature with the options as keywords, but for those that an adapter takes by place."""
    by_place = [one for one in options.values() if one.kind == one.POSITIONAL_ONLY]
    keywords = [one.replace(kind=one.KEYWORD_ONLY) for one in options.values() if one.kind != one.POSITIONAL_ONLY]
    return inspect.Signature([*by_place, *keywords])


def _default_out(question: Callable[..., Result]) -> Path | None:
    """Return where results are saved without --out."""
    returned = inspect.signature(question, eval_str=True).return_annotation
    places = [kind.default_out for kind in (returned, *get_args(returned)) if hasattr(kind, "default_out")]
    return next((Path(place) for place in places if place), None)


def _shared_options(saved: Path | None, *, jobs: bool) -> dict[str, inspect.Parameter]:
    """Return the options that every command has, and that of one with jobs."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    out = inspect.Parameter("out", keyword, default=None, annotation=Path | None)
    shared = [
        inspect.Parameter("json", keyword, default=False, annotation=Json),
        _with_help(out, OUT_HELP if saved is None else f"{OUT_HELP} If left out, {saved}."),
    ]
    if jobs:
        shared.append(_with_help(inspect.Parameter("jobs", keyword, default=1, annotation=int), JOBS_HELP))
    return {one.name: one for one in shared}


def _help(question: Callable[..., Result], about: str, grids: bool) -> str:
    """Return the first sentence of the docstring, and what else there is to know."""
    sentence = (inspect.getdoc(question) or "").partition("\n\n")[0].replace("\n", " ")
    more = [about] * bool(about) + [COMBINATIONS] * grids
    return "\n\n".join([sentence, " ".join(more)]).strip()


def _options_of(adapter: Adapter) -> dict[str, inspect.Parameter]:
    """Return the options of an adapter, described in its docstring or as the parameters of a question are."""
    documented = {
        name: " ".join(text.split())
        for names, text in DOCUMENTED.findall(inspect.getdoc(adapter) or "")
        for name in names.split(", ")
    }
    described = parameters_of(adapter)
    return {
        name: _option(one, described[name]) if name in described else _with_help(one, documented.get(name, ""))
        for name, one in _parameters(adapter).items()
    }


def _option(parameter: inspect.Parameter, described: Parameter | None) -> inspect.Parameter:
    """Return the option of a parameter: text where several numbers may be given, else what the question takes."""
    if described is None:
        return parameter
    kind, default = _plain(parameter.annotation), parameter.default
    if np.random.Generator in get_args(kind):
        kind = int
    if described.several or described.listed or str in get_args(kind):
        kind = str | None if default is None else str
    if kind is str and isinstance(default, int | float):
        default = str(default)  # read as if it were typed
    if isinstance(default, tuple):
        default = ",".join(default).replace(" ", "-") or NO_CHOICES
    grid = (described.several or described.listed) and not described.choices
    about = f"{described.help} {GRID_HELP}" if grid else described.help
    return _with_help(parameter.replace(default=default, annotation=kind), about)


def _with_help(parameter: inspect.Parameter, about: str) -> inspect.Parameter:
    """Return an option with its help; a switch that is off, or a list, has no opposite.

    What the signature itself says to cyclopts takes precedence.
    """
    kind = _plain(parameter.annotation)
    ways: dict[str, Any] = {"help": about} if about else {}
    if parameter.default is False or get_origin(kind) is tuple:
        ways |= {"negative": "", "consume_multiple": True, "show_default": bool(parameter.default)}
    own = getattr(parameter.annotation, "__metadata__", ())
    return parameter.replace(annotation=Annotated[kind, cyclopts.Parameter(**ways), *own])


def _plain(kind: Any) -> Any:
    """Return a type without what is annotated."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _value(name: str, given: Any, described: Parameter | None) -> Any:
    """Return the value of an option: numbers where several may be given."""
    if described is None or described.choices or not isinstance(given, str) or given in described.words:
        return given
    if described.listed:
        return np.atleast_1d(read_numbers(name, given))
    number = described.several or (described.words and described.check is not None)
    return read_numbers(name, given) if number else given


def _combined(values: dict[str, Any], described: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return every combination of the values that may be several, numbers or kernels, as flat arrays."""
    grids = {
        name: value
        for name, value in values.items()
        if name in described and described[name].several and getattr(value, "shape", None)
    }
    places = np.indices([value.shape[0] for value in grids.values()])
    return values | {name: value[place.ravel()] for (name, value), place in zip(grids.items(), places, strict=True)}


def _check_out(out: Path | None) -> None:
    """Raise if results cannot be written there; a page needs no folder of its own."""
    if out is not None and is_page(out):
        check_folder("out", out.parent)
        if out.is_dir():
            raise InputError(f"out must be a page or a folder; got {str(out)!r}, a folder with the name of a page.")
    else:
        check_folder("out", out)


def _stopped(resumes: bool, cells: Path | None, message: str) -> str:
    """Return the message of a command that was interrupted; that of a question that stores its parts is its own."""
    if not resumes:
        return message or "Stopped."
    if cells is None:
        return "Stopped. Nothing is stored without a folder as --out."
    return "Stopped. Finished parts are stored; run the same command to continue."


def _show(result: Result, *, json: bool, out: Path | None) -> None:
    """Print the summary, or one JSON object, and save the result; a question without answer raises."""
    place = out or result.default_out
    files = result.save(place) if place else []
    if json:
        document = {"result": result.to_dict(), "files": [str(path) for path in files]}
        print(dumps(document, indent=2, allow_nan=False))
    else:
        print(result)
        for path in files:
            print(f"Written to {path}")
    if result.unanswered:
        raise ConvergenceError(result.unanswered, result)
