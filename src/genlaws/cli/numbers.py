"""Read numbers from the command line: one, several, or a range."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, get_args

from cyclopts import UNSET

from genlaws.core.errors import InputError

if TYPE_CHECKING:
    from cyclopts import App, ArgumentCollection

    from genlaws.core.arguments import Array

NUMBER_FORMATS = "Write a number, several as 2,4,10, or a range as start:stop:count or start:stop:count:log."
MAX_RANGE_POINTS = 1_000_000
MAX_ITEMS = 1_000_000  # beyond, identification equals the collapse constant over n
MAY_BE_EMPTY = ("--key-variable", "--label")  # options to which no text says that there is none


def read_numbers(name: str, text: str) -> float | Array:
    """Return one number, or an array where several or a range were given.

    Examples: ``10``; ``2,4,10``; ``0:1:5`` (five points from 0 to 1); ``0.1:100:4:log``; ``inf``.
    """
    import numpy as np

    if ":" in text:
        return _read_range(name, text)
    values = [_read_one(name, part, text) for part in text.split(",")]
    return values[0] if len(values) == 1 else np.array(values)


def read_item_counts(text: str) -> list[int]:
    """Return numbers of items; those of a range are rounded, and duplicates are removed."""
    import numpy as np

    numbers = np.atleast_1d(read_numbers("items", text)).tolist()
    for number in numbers:
        if not 2 <= number <= MAX_ITEMS or (number % 1 and ":" not in text):
            raise InputError(f"items must be whole numbers from 2 to {MAX_ITEMS:,}; got {text!r}.")
    return list(dict.fromkeys(round(number) for number in numbers))


def _read_one(name: str, part: str, text: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise InputError(f"{name} must be a number; got {text!r}. {NUMBER_FORMATS}") from None


def _read_range(name: str, text: str) -> Array:
    import numpy as np

    parts = text.split(":")
    logarithmic = len(parts) == 4 and parts[3] == "log"
    if len(parts) != 3 and not logarithmic:
        raise InputError(f"{name} must be a number or a range; got {text!r}. {NUMBER_FORMATS}")
    start, stop = _read_one(name, parts[0], text), _read_one(name, parts[1], text)
    if not (parts[2].isdigit() and 1 <= int(parts[2]) <= MAX_RANGE_POINTS):
        raise InputError(
            f"The count of the range {name} must be a whole number from 1 to {MAX_RANGE_POINTS:,}; got {text!r}."
        )
    if not (math.isfinite(start) and math.isfinite(stop)):
        raise InputError(f"The ends of the range {name} must be finite; got {text!r}.")
    if logarithmic and not (start > 0 and stop > 0):
        raise InputError(f"The ends of the logarithmic range {name} must be positive; got {text!r}.")
    return (np.geomspace if logarithmic else np.linspace)(start, stop, int(parts[2]))


def check_values(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Refuse an empty value, bytes that are not text, and, for a whole number, a fraction or more than 64 bits.

    Cyclopts would round a fraction, 2.6 to 3 and 6.5 to 6. It calls this function, the configuration of the app, with
    the typed text before conversion. 6.0 is allowed; text that is not a number is left to cyclopts.
    """
    for argument in arguments:
        name = argument.name.lstrip("-").replace("-", "_")
        for token in argument.tokens:
            if takes_whole_number(argument.hint) and (allowed := _whole_number_problem(token.value)):
                raise InputError(f"{name} must be {allowed}; got {token.value!r}.")
            if token.value != token.value.encode(errors="ignore").decode():
                raise InputError(f"{name} must be text in UTF-8; got {token.value!r}.")
            typed = token.implicit_value is UNSET  # and not implied by a switch such as --no-center
            if typed and not token.value.strip() and argument.name not in MAY_BE_EMPTY:
                raise InputError(f"{name} must not be empty; got {token.value!r}.")


def takes_whole_number(hint: Any) -> bool:
    """Return whether an option of this type takes only whole numbers: int, optional int, or several."""
    kinds = {hint, *get_args(hint), *(one for part in get_args(hint) for one in get_args(part))}
    return int in kinds and not kinds & {float, str}


def _whole_number_problem(text: str) -> str:
    """Return what a typed number must be and is not; empty if it fits, or is no number."""
    try:
        number = float(text)
    except ValueError:
        return ""
    if not number.is_integer():
        return "a whole number"
    return "" if abs(number) < 2**63 else "a whole number of at most 18 digits"
