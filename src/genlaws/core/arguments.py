"""Check one argument and return it as a float array, or raise an error that states what is wrong with it.

Every public function passes its arguments through these checks first, so an error has the same form
everywhere: the parameter, what is allowed, what was given, and a hint where one helps.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlaws.core.errors import InputError

MAX_NAMES_LISTED, MAX_COMPARED_CHARACTERS = 20, 100  # in the message on a name that is not allowed
Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Whole = NDArray[np.int64]
Elementwise = Annotated[Any, np.ndarray]
"""A number or text where all arguments were single ones, and an array of their common shape otherwise."""
MAX_COUNT = 10**12  # of things that are counted but not stored; far larger numbers do not fit into arrays
FLOAT_BYTES = 8  # of double precision
FALLBACK_MEMORY_BYTES = 2**40  # where the operating system does not report its memory


def real(name: str, value: ArrayLike, hint: str = "") -> Array:
    """Return `value` as a float array; refuse text, booleans, complex numbers, ragged lists and NaN."""
    try:
        given = np.asarray(value)
    except ValueError:
        raise InputError(
            _format_error(name, "must be a number or a rectangular array of numbers", value, hint)
        ) from None
    if given.dtype.kind not in "iuf":
        raise InputError(_format_error(name, "must be a real number or an array of real numbers", value, hint))
    array = given.astype(np.float64)
    if np.isnan(array).any():
        raise InputError(_format_error(name, "must not contain NaN", value, hint))
    return array


def within(
    name: str,
    value: ArrayLike,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    open_high: bool = False,
    hint: str = "",
) -> Array:
    """Return `value` as a float array inside the interval from `low` to `high`."""
    array = real(name, value, hint)
    too_low = array <= low if open_low else array < low
    too_high = array >= high if open_high else array > high
    left, right = "(" if open_low else "[", ")" if open_high else "]"
    return _none_outside(name, array, too_low | too_high, f"must lie in {left}{low:g}, {high:g}{right}", hint)


def fraction(name: str, value: ArrayLike, hint: str = "") -> Array:
    """Return `value` as a float array in [0, 1]."""
    return within(name, value, 0.0, 1.0, hint=hint)


def positive(name: str, value: ArrayLike, hint: str = "") -> Array:
    """Return `value` as a float array of finite numbers above zero."""
    array = real(name, value, hint)
    return _none_outside(name, array, ~((array > 0) & np.isfinite(array)), "must be positive and finite", hint)


def non_negative(name: str, value: ArrayLike, *, infinite: bool = False, hint: str = "") -> Array:
    """Return `value` as a float array of numbers that are not negative, finite unless `infinite` is true."""
    array = real(name, value, hint)
    outside = array < 0 if infinite else ~((array >= 0) & np.isfinite(array))
    allowed = "must be zero, positive or infinite" if infinite else "must be zero or positive, and finite"
    return _none_outside(name, array, outside, allowed, hint)


def _none_outside(name: str, array: Array, outside: Mask, allowed: str, hint: str) -> Array:
    """Return `array`, or raise an error that states the first number that is not allowed."""
    if outside.any():
        raise InputError(_format_error(name, allowed, array[outside].flat[0], hint))
    return array


def scalar(name: str, array: Array) -> Array:
    """Return `array` if it is a single number."""
    if array.ndim:
        raise InputError(_format_error(name, "must be a single number", array.tolist(), ""))
    return array


def whole_number(name: str, value: object, *, at_least: int = 0, at_most: int | None = None, hint: str = "") -> int:
    """Return `value` as an int between `at_least` and `at_most`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < at_least or (at_most is not None and value > at_most):  # type: ignore[operator]
        allowed = f"must be a whole number, at least {at_least}"
        allowed += "" if at_most is None else f" and at most {at_most}"
        raise InputError(_format_error(name, allowed, value, hint))
    return int(value)  # type: ignore[call-overload, no-any-return]


def fits_memory(names: str, needed: int, hint: str) -> None:
    """Raise if arguments called `names` need more than this machine's memory: at least `needed` bytes."""
    available = _available_memory()
    if needed > available:
        gigabytes = f"{min(needed, 10**300) / 1e9:,.3g} GB"
        raise InputError(
            f"{names} must fit into memory; they need at least {gigabytes}, and this machine has "
            f"{available / 1e9:,.3g} GB. {hint}"
        )


def _available_memory() -> int:
    """Return the memory of this machine in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return FALLBACK_MEMORY_BYTES


def one_of(name: str, value: object, allowed: Iterable[str], hint: str = "") -> str:
    """Return `value` if it is one of the `allowed` strings."""
    choices = list(allowed)
    if not isinstance(value, str) or value not in choices:
        raise InputError(_format_error(name, f"must be one of {_format_names(choices, value)}", value, hint))
    return value


def _format_names(names: list[str], given: object) -> str:
    """Return all names, or, of many, those most like what was given."""
    if len(names) <= MAX_NAMES_LISTED:
        return ", ".join(names)
    near = get_close_matches(str(given)[:MAX_COMPARED_CHARACTERS], names, cutoff=0.0)
    return f"{len(names)} names, such as {', '.join(near)}"


def broadcast(**arrays: Array) -> tuple[Array, ...]:
    """Broadcast named arrays against each other, or raise an error with the shapes that do not fit."""
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {np.shape(array)}" for name, array in arrays.items())
        raise InputError(f"The arguments must have shapes that broadcast together; got {shapes}.") from None


def _format_error(name: str, allowed: str, given: object, hint: str) -> str:
    try:
        text = str(given) if isinstance(given, np.ndarray) else repr(given)  # without the word array and its type
        shown = f"{given:g}" if isinstance(given, float | np.floating) else " ".join(text.split())
    except ValueError:  # an integer of thousands of digits is not written out
        shown = f"a {type(given).__name__} too long to print"
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return f"{name} {allowed}; got {shown}." + (f" {hint}" if hint else "")
