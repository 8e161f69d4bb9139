"""Things that lie on a line: years, numbers, days, temperatures, latitudes, letters, or a table of the user's own."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError
from genlaws.semanticity.probes.names import LATITUDES, PEOPLE

FIRST_DAY = date(2023, 1, 1)  # a year of 365 days


@dataclass(frozen=True)
class Domain:
    """Places on a line and how they are written.

    Attributes
    ----------
    name, unit : str
    places : array
        The places items and probes may have, increasing, each once.
    write : callable
        From a place to the words for it.
    carriers : tuple of str
        Who or what stands at a place: the answers a model gives. Drawn anew in every trial.
    own_places : dict
        Where carriers have a place of their own (cities, a table); empty where they are given one.
    """

    name: str
    unit: str
    places: Array
    write: Callable[[float], str]
    carriers: tuple[str, ...]
    own_places: dict[str, float]

    def __post_init__(self) -> None:
        if len(self.places) < 3 or (np.diff(self.places) <= 0).any():
            raise InputError(f"The places of {self.name} must be at least three increasing numbers.")
        clash = _part_of_another(self.carriers)
        if clash is not None:
            raise InputError(
                f"No item of {self.name} may be part of another's name; got {clash[0]!r} and {clash[1]!r}."
            )

    @property
    def span(self) -> float:
        """Distance between the first and the last place."""
        return float(self.places[-1] - self.places[0])


def _part_of_another(names: Sequence[str]) -> tuple[str, str] | None:
    """Return two names of which one is part of the other, whatever their case; none if there are none."""
    ordered = sorted(names, key=len)
    for place, short in enumerate(ordered):
        for longer in ordered[place + 1 :]:
            if short.casefold() in longer.casefold():
                return short, longer
    return None


def _whole(value: float) -> str:
    return str(round(value))


def _in_full(value: float) -> str:
    return np.format_float_positional(value, trim="-")


def _day(value: float) -> str:
    told = FIRST_DAY + timedelta(days=round(value))
    return f"{told:%B} {told.day}"


def _degrees(value: float) -> str:
    return f"{abs(value):.1f} degrees {'north' if value >= 0 else 'south'}"


def _letter(value: float) -> str:
    return chr(ord("A") + round(value))


def _given_places(name: str, unit: str, places: Array, write: Callable[[float], str]) -> Domain:
    return Domain(name, unit, places, write, PEOPLE, {})


DOMAINS: dict[str, Callable[[], Domain]] = {
    "years": lambda: _given_places("years", "years", np.arange(800.0, 1600.0), _whole),
    "numbers": lambda: _given_places("numbers", "", np.arange(1.0, 1000.0), _whole),
    "dates": lambda: _given_places("dates", "days", np.arange(0.0, 365.0), _day),
    "temperatures": lambda: _given_places("temperatures", "°C", np.arange(-20.0, 41.0), _whole),
    "latitudes": lambda: Domain(
        "latitudes", "degrees", np.arange(-45.0, 65.0, 0.5), _degrees, tuple(LATITUDES), LATITUDES
    ),
    "letters": lambda: _given_places("letters", "letters", np.arange(26.0), _letter),
}


def domain_of(name: str) -> Domain:
    """Return the domain of a name, or of a file: ``table:FILE`` with two columns, item and value."""
    if name.startswith("table:"):
        return read_table(name.removeprefix("table:"))
    if name not in DOMAINS:
        raise InputError(f"domain must be one of {', '.join(DOMAINS)}, or table:FILE; got {name!r}.")
    return DOMAINS[name]()


def read_table(path: str | os.PathLike[str]) -> Domain:
    """Return the domain of a CSV file with a header and two columns: the item and its value, each value once."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"There is no file {str(file)!r}.")
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream)
            lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{file.name} must be a table of text in UTF-8, separated by commas.") from None
    if len(lines) < 4 or any(len(row) != 2 for _, row in lines):
        raise InputError(f"{file.name} must have a header, two columns (item, value) and at least three rows.")
    places: dict[str, float] = {}
    for line, (item, text) in lines[1:]:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not np.isfinite(value):
            raise InputError(f"{file.name}, line {line}: the value must be a number; got {text.strip()!r}.")
        if not item.strip():
            raise InputError(f"{file.name}, line {line}: the item must have a name; got {item!r}.")
        if item.strip() in places or value in places.values():
            raise InputError(
                f"{file.name}, line {line}: every item and every value may occur once; got {item!r}, {text!r}."
            )
        places[item.strip()] = value
    values = np.sort(np.array(list(places.values())))
    return Domain(file.stem, lines[0][1][1].strip(), values, _in_full, tuple(places), places)
