"""What a parameter of a question is: described once, and read by checks, command options, sliders and labels.

Each system names its parameters in its own ``parameters`` module, because the same word means different things in
different systems. A question has them as the types of its signature, and gets its arguments checked::

    SampleRatio = Annotated[ArrayLike, Parameter("Training samples per input dimension.", symbol="α", ...)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from numbers import Real
from os import PathLike
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, one_of, scalar
from genlaws.core.errors import InputError

ALL_CHOICES, NO_CHOICES = "all", "none"
MAX_CHARACTERS_SHOWN = 100  # of a value that is refused


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    about : str
        What it is, in one sentence: the help of the option.
    symbol : str
        In the papers.
    label : str
        A few words for an axis or a slider.
    check : callable, optional
        Takes the name and the value, and returns the checked value or raises InputError.
    hint : str
        The sentence that ends an error message.
    words : tuple of str
        Texts that are allowed in place of numbers.
    choices : tuple of str
        The names that are allowed. Spaces and hyphens in them are the same.
    several : bool
        Whether several values may be given at once, with an answer for each.
    listed : bool
        Whether it is a list by itself, of numbers or of choices; several choices may be one text with commas, all of
        them ``all``, and none of them ``none``.
    optional : bool
        Whether None stands for no value; read from the type by `parameters_of`.
    kinds : str
        What it may be other than one of `words`; read from the type by `checks_of` where there is no `check`.
    """

    about: str
    symbol: str = ""
    label: str = ""
    check: Callable[..., Any] | None = None
    hint: str = ""
    words: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    several: bool = False
    listed: bool = False
    optional: bool = False
    kinds: str = "a number"

    def checked(self, name: str, value: Any) -> Any:
        """Return the checked value; InputError says what is allowed."""
        allowed = (value is None and self.optional) or (isinstance(value, str) and value in self.words)
        if allowed:
            return value
        if self.choices:
            return self._chosen(name, value)
        if self.check is None:
            return value
        if isinstance(value, str) and self.words:
            words = " or ".join(map(repr, self.words))
            raise InputError(f"{name} must be {self.kinds} or {words}; got {value!r}. {self.hint}".rstrip())
        return self.check(name, value, hint=self.hint)

    @property
    def help(self) -> str:
        """What it is and what may be chosen, for the help of an option."""
        if not self.choices:
            return self.about
        names = ", ".join(map(_hyphenated, self.choices))
        return f"{self.about} {f'With commas: {names}; or all, or none' if self.listed else f'One of {names}'}."

    def _chosen(self, name: str, value: Any) -> str | tuple[str, ...]:
        """Return the name chosen, or the names, as they are spelled in `choices`."""
        known = {_hyphenated(one): one for one in self.choices}
        if not self.listed:
            return known[one_of(name, _hyphenated(value), known, self.hint)]
        if value == ALL_CHOICES:
            return self.choices
        if value in (NO_CHOICES, (), []):
            return ()
        given = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
        hint = self.hint or "Put commas between several."
        return tuple(dict.fromkeys(known[one_of(name, _hyphenated(one), known, hint)] for one in given))


def _hyphenated(name: Any) -> Any:
    """Return a name as it is typed in a command: without spaces."""
    return name.strip().replace(" ", "-") if isinstance(name, str) else name


def one(check: Callable[..., Array]) -> Callable[..., float]:
    """Return the check of a single number."""

    def checked(name: str, value: Any, hint: str = "") -> float:
        return float(scalar(name, check(name, value, hint=hint)))

    return checked


def checks_of(question: Callable[..., Any]) -> Mapping[str, Callable[[str, Any], Any]]:
    """Return the check of every parameter of a question: its own, or that the value is of the annotated type."""
    described = parameters_of(question)
    kinds = {name: one.annotation for name, one in signature(question, eval_str=True).parameters.items()}
    checks = {name: partial(of_type, kind) for name, kind in kinds.items()}
    own = {
        name: one if one.check else replace(one, check=checks[name], kinds=_words_for(kinds[name], without=str))
        for name, one in described.items()
    }
    return checks | {name: one.checked for name, one in own.items()}


def of_type(kind: Any, name: str, value: Any, hint: str = "") -> Any:
    """Return a value that is of an annotated type; InputError says what it must be."""
    if not is_of_type(kind, value):
        raise InputError(f"{name} must be {_words_for(kind)}; got {_shown(value)}. {hint}".rstrip())
    return value


def _shown(value: Any) -> str:
    """Return a value as a message shows it: of an array its shape and type."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    return repr(value)[:MAX_CHARACTERS_SHOWN]


def is_of_type(kind: Any, value: Any) -> bool:
    """Return whether a value is of an annotated type, or may be: of numbers only kind and shape are compared."""
    return any(_is_one(part, value) for part in members(kind))


def members(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union; all that numpy makes an array of is one of them, without texts.

    A parameter that also takes some texts names them as its words, or has a check of its own.
    """
    if get_origin(kind) is Annotated:
        return members(get_args(kind)[0])
    if kind == ArrayLike:
        return (np.ndarray,)
    if get_origin(kind) not in (Union, UnionType):
        return (kind,)
    parts, arrays = get_args(kind), get_args(ArrayLike)
    if set(arrays) <= set(parts):
        parts = (np.ndarray, *(part for part in parts if part not in arrays))
    return tuple(one for part in parts for one in members(part))


def _is_one(kind: Any, value: Any) -> bool:
    """Return whether a value is of a type that is no union."""
    base = get_origin(kind) or kind
    if base is Literal:
        return value in get_args(kind)
    if base in TYPES:
        return TYPES[base][1](value) and _holds(get_args(kind), value)
    if base is Any or not isinstance(base, type):
        return True
    return isinstance(value, base) and _holds(get_args(kind), value)


def _holds(kinds: tuple[Any, ...], value: Any) -> bool:
    """Return whether what a list or a dictionary holds is of its types; arrays are looked at where they are used."""
    if kinds and isinstance(value, Mapping):
        return all(is_of_type(kinds[0], key) and is_of_type(kinds[-1], part) for key, part in value.items())
    if not kinds or not isinstance(value, list | tuple):
        return True
    return all(any(is_of_type(kind, one) for kind in kinds if kind is not ...) for one in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.ndarray) and not isinstance(value, bool) and _is_numeric(value, single=True)


def _is_numeric(value: Any, *, single: bool = False) -> bool:
    """Return whether numpy makes an array of numbers or of truth values of it."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return False
    return array.dtype.kind in "biuf" and not (single and array.ndim)


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | Mapping)


def _words_for(kind: Any, without: Any = None) -> str:
    return " or ".join(dict.fromkeys(_word_for(part) for part in members(kind) if part is not without))


def _word_for(kind: Any) -> str:
    base = get_origin(kind) or kind
    if base is Literal:
        return " or ".join(map(repr, get_args(kind)))
    name = getattr(base, "__name__", str(base))
    return TYPES[base][0] if base in TYPES else f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


LISTS = (Sequence, Iterable, tuple, list)
# What values of a type are called in a message, and how they are recognized.
TYPES: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    NoneType: ("None", lambda value: value is None),
    bool: ("True or False", lambda value: isinstance(value, bool | np.bool_)),
    int: ("a whole number", _is_number),
    float: ("a number", _is_number),
    np.ndarray: ("numbers", _is_numeric),
    Callable: ("a function", callable),
    **dict.fromkeys(LISTS, ("a list", _is_list)),
    str: ("a text", lambda value: isinstance(value, str)),
    PathLike: ("a path", lambda value: isinstance(value, PathLike)),
}


def parameters_of(question: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Return the descriptions of the parameters of a question, by name."""
    found = {name: get_args(one.annotation) for name, one in signature(question, eval_str=True).parameters.items()}
    described = {name: [part for part in parts if isinstance(part, Parameter)] for name, parts in found.items()}
    return {
        name: replace(parts[0], optional=type(None) in get_args(found[name][0]))
        for name, parts in described.items()
        if parts
    }
