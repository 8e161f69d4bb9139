"""Domains of places on a line: years, numbers, days, temperatures, latitudes, letters, or a table of the user's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError
from genlaws.core.tables import WORD_SEPARATORS, TextTable, is_finite, wrong_cell

# No name is part of another, in upper or lower case, so that an answer names only one person.
_PEOPLE = (
    "Aaron Abigail Adrian Agnes Albert Alfred Alma Amelia Amos Anders Angus Anton Arthur Astrid Audrey Aurora Barbara "
    "Beatrice Benjamin Bernard Bertha Boris Brenda Bruno Calvin Camilla Caroline Caspar Cecilia Charles Chloe Claude "
    "Clement Conrad Cora Curtis Cyril Daniel Daphne Deborah Dennis Diana Dirk Dorothy Duncan Edgar Edith Eleanor "
    "Elias Elsa Emily Enoch Esther Eugene Evelyn Felix Fiona Florence Francis Frederick Gabriel Gareth Georg Gilbert "
    "Gloria Gordon Grace Gregory Greta Gustav Hannah Harold Hector Helen Henry Hilda Hugo Humphrey Ida Ingrid Irene "
    "Isaac Isabel Ivan Jacob James Janet Jasper Jeremy Jerome Jessica Joachim Joseph Judith Julius Karen Keith "
    "Kenneth Klaus Laura Leonard Lewis Lilian Linus Lucas Luther Lydia Magnus Malcolm Marcus Margaret Martha Matthew "
    "Maurice Melissa Michael Miriam Monica Nathan Neil Nicholas Nigel Norman Olga Oliver Oscar Oswald Otto Owen "
    "Patrick Paula Percy Philip Phoebe Quentin Rachel Ralph Raymond Rebecca Richard Robert Roger Rosalind Rufus Ruth "
    "Samuel Sarah Sebastian Selma Sheila Silas Simon Sophia Stephen Sylvia Teresa Theodore Thomas Timothy Tobias "
    "Ursula Valerie Vera Victor Vincent Virginia Walter Wendy Wilfred Willem Winston Xavier Yvonne Zachary Zoe "
)
# Degrees north; no value occurs twice.
_CITIES = (
    "Reykjavik 64.1 Helsinki 60.2 Stockholm 59.3 Copenhagen 55.7 Moscow 55.8 Dublin 53.3 Berlin 52.5 Warsaw 52.2 "
    "London 51.5 Brussels 50.8 Prague 50.1 Paris 48.9 Vienna 48.2 Budapest 47.5 Zurich 47.4 Ottawa 45.4 Milan 45.5 "
    "Belgrade 44.8 Bucharest 44.4 Toronto 43.7 Sofia 42.7 Rome 41.9 Istanbul 41.0 Naples 40.9 Madrid 40.4 Beijing "
    "39.9 Lisbon 38.7 Athens 38.0 Seoul 37.6 Tunis 36.8 Algiers 36.7 Tokyo 35.7 Kabul 34.5 Baghdad 33.3 Damascus 33.5 "
    "Casablanca 33.6 Shanghai 31.2 Cairo 30.0 Delhi 28.6 Kathmandu 27.7 Riyadh 24.7 Dhaka 23.8 Havana 23.1 Mumbai "
    "19.1 Dakar 14.7 Manila 14.6 Bangkok 13.8 Bamako 12.6 Caracas 10.5 Accra 5.6 Bogota 4.7 Nairobi -1.3 Quito -0.2 "
    "Jakarta -6.2 Luanda -8.8 Lima -12.0 Lusaka -15.4 Harare -17.8 Pretoria -25.7 Perth -31.9 Santiago -33.4 Sydney "
    "-33.9 Melbourne -37.8 Wellington -41.3 "
)

PEOPLE = tuple(_PEOPLE.split())
LATITUDES = dict(zip(_CITIES.split()[::2], map(float, _CITIES.split()[1::2]), strict=True))
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
    day = FIRST_DAY + timedelta(days=round(value))
    return f"{day:%B} {day.day}"


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
    lines = [(line, row) for line, row in TextTable(file.name, file, WORD_SEPARATORS).rows() if any(row)]
    if len(lines) < 4 or any(len(row) != 2 for _, row in lines):
        raise InputError(f"{file.name} must have a header, two columns (item, value) and at least three rows.")
    places: dict[str, float] = {}
    for line, (item, text) in lines[1:]:
        if not is_finite(text):
            raise wrong_cell(file.name, line, 2, text, "a number in the second column of every row")
        if not item:
            raise InputError(f"{file.name}, line {line}: the item must have a name; got {item!r}.")
        value = float(text)
        if item in places or value in places.values():
            raise InputError(
                f"{file.name}, line {line}: every item and every value may occur once; got {item!r}, {text!r}."
            )
        places[item] = value
    values = np.sort(np.array(list(places.values())))
    return Domain(file.stem, lines[0][1][1], values, _in_full, tuple(places), places)
