"""What a parameter of a question is: described once, and read by checks, command options, sliders and labels.

Each system names its parameters in its own ``parameters`` module, because the same word means different things in
different systems. A question has them as the types of its signature::

    SampleRatio = Annotated[ArrayLike, Parameter("Training samples per input dimension.", symbol="α", ...)]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, get_args


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
    several : bool
        Whether several values may be given at once, with an answer for each.
    listed : bool
        Whether it is a list of numbers by itself.
    """

    about: str
    symbol: str = ""
    label: str = ""
    check: Callable[..., Any] | None = None
    hint: str = ""
    words: tuple[str, ...] = ()
    several: bool = False
    listed: bool = False

    def checked(self, name: str, value: Any) -> Any:
        """Return the checked value; InputError says what is allowed."""
        return value if self.check is None else self.check(name, value, hint=self.hint)


def parameters_of(question: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Return the descriptions of the parameters of a question, by name."""
    found = {name: one.annotation for name, one in signature(question, eval_str=True).parameters.items()}
    described = {name: [part for part in get_args(kind) if isinstance(part, Parameter)] for name, kind in found.items()}
    return {name: parts[0] for name, parts in described.items() if parts}
