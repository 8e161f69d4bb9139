"""What a parameter of a question is: described once, and read by checks, command options, sliders and labels.

Each system names its parameters in its own ``parameters`` module, because the same word means different things in
different systems. A question has them as the types of its signature, and gets its arguments checked::

    SampleRatio = Annotated[ArrayLike, Parameter("Training samples per input dimension.", symbol="α", ...)]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, get_args

from genlaws.core.arguments import Array, one_of, scalar
from genlaws.core.errors import InputError

ALL_CHOICES, NO_CHOICES = "all", "none"


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
            raise InputError(f"{name} must be a number or {words}; got {value!r}. {self.hint}".rstrip())
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


def parameters_of(question: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Return the descriptions of the parameters of a question, by name."""
    found = {name: get_args(one.annotation) for name, one in signature(question, eval_str=True).parameters.items()}
    described = {name: [part for part in parts if isinstance(part, Parameter)] for name, parts in found.items()}
    return {
        name: replace(parts[0], optional=type(None) in get_args(found[name][0]))
        for name, parts in described.items()
        if parts
    }
