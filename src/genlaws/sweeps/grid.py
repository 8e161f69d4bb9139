"""The cells of a sweep: axes over settings times repeats, each cell with its key and its seed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from genlaws.core.arguments import whole_number
from genlaws.core.errors import InputError
from genlaws.core.seeds import canonical, run_key, run_seed
from genlaws.sweeps.experiment import Experiment, Settings, checked, writable

AXIS_SYNTAX = "Write field=start:stop:count, field=start:stop:count:log, or field=value,value,…"
MAX_AXIS_VALUES = 1_000_000
MAX_CELLS = 10_000_000


@dataclass(frozen=True)
class Axis:
    """The values one field of the settings takes."""

    field: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if len(self.values) == 0:
            raise InputError(f"The axis {self.field} must have at least one value.")
        plain = tuple(value.item() if isinstance(value, np.generic) else value for value in self.values)
        object.__setattr__(self, "values", plain)


@dataclass(frozen=True)
class Cell:
    """One computation of a sweep.

    Attributes
    ----------
    key : str
        Hash of the experiment's name, the schema number, the settings in canonical JSON and the repeat.
    settings : Settings
    repeat : int
    seed : int
        Follows from the key and the sweep's seed, so it does not depend on the other cells.
    """

    key: str
    settings: Settings
    repeat: int
    seed: int


@dataclass(frozen=True)
class Sweep:
    """An experiment over axes and repeats.

    Attributes
    ----------
    experiment : Experiment
    settings : Settings
        Shared by all cells; fields on an axis are overridden.
    axes : tuple of Axis
    repeats : int
    seed : int
    """

    experiment: Experiment
    settings: Settings
    axes: tuple[Axis, ...] = ()
    repeats: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("repeats", self.repeats, at_least=1)
        whole_number("seed", self.seed)
        kind = type(self.settings)
        fields = [axis.field for axis in self.axes]
        for field in fields:
            if field not in kind.model_fields:
                allowed = ", ".join(kind.model_fields)
                raise InputError(f"There is no setting {field!r} to run an axis over; the settings are {allowed}.")
            if fields.count(field) > 1:
                raise InputError(f"The axis {field} is given twice.")
        if self.total > MAX_CELLS:
            raise InputError(
                f"axes and repeats must give at most {MAX_CELLS:,} cells; got {self.total:.3g}. Each is stored."
            )
        _check_text(self.settings.model_dump(mode="json"), self.experiment.name)
        for axis in self.axes:
            self._check_values(axis)

    def _check_values(self, axis: Axis) -> None:
        """Raise if a value is not allowed or occurs twice: equal values would be the same cell."""
        seen = set()
        for value in axis.values:
            stored = self._stored(axis.field, value)
            _check_text({axis.field: stored}, self.experiment.name)
            text = canonical(stored)
            if text in seen:
                raise InputError(f"The axis {axis.field} has the value {text} twice; give each value once.")
            seen.add(text)

    def _settings_at(self, values: Mapping[str, Any]) -> Settings:
        """Return the settings of the cells with these values of the axes."""
        return checked(type(self.settings), {**self.settings.model_dump(), **values}, self.experiment.name)

    def _stored(self, field: str, value: Any) -> Any:
        """Return the value of an axis as the settings hold it, as a JSON value."""
        return self._settings_at({field: value}).model_dump(mode="json")[field]

    @property
    def total(self) -> int:
        """Number of cells."""
        return math.prod(len(axis.values) for axis in self.axes) * self.repeats

    @property
    def fixed(self) -> dict[str, Any]:
        """The settings that no axis runs over, as plain values."""
        on_axes = {axis.field for axis in self.axes}
        return {name: value for name, value in self.settings.model_dump(mode="json").items() if name not in on_axes}

    def call_parts(self) -> dict[str, Any]:
        """Return what a call records of the sweep."""
        return {"experiment": self.experiment.name, "settings": self.fixed, "axes": dict(self.axes_document())} | {
            "repeats": self.repeats,
            "seed": self.seed,
        }

    def axes_document(self) -> list[list[Any]]:
        """Return field and values of each axis, the values as the settings hold them, as JSON values."""
        return [[axis.field, [self._stored(axis.field, value) for value in axis.values]] for axis in self.axes]

    def cells(self) -> Iterator[Cell]:
        """Yield every cell, the last axis running fastest and the repeats inside, without storing them."""
        fields = [axis.field for axis in self.axes]
        for values in product(*(axis.values for axis in self.axes)):
            settings = self._settings_at(dict(zip(fields, values, strict=True)))
            document = settings.model_dump(mode="json")
            for repeat in range(self.repeats):
                key = run_key(self.experiment.name, self.experiment.schema, document, repeat)
                yield Cell(key, settings, repeat, run_seed(key, self.seed))


def _check_text(document: Mapping[str, Any], owner: str) -> None:
    """Raise if a text cannot be stored in the index of a folder."""
    for name, value in document.items():
        text = canonical(value)
        if writable(text) != text:
            raise InputError(
                f"settings of {owner}: {name} must be valid Unicode text; got {value!r}, which holds a lone "
                "surrogate. Give it in UTF-8."
            )


def read_axis(text: str) -> Axis:
    """Return the axis of a text such as ``sample_ratio=0.1:100:30:log`` or ``loss=square,hinge``.

    A list in brackets, ``rule_classes=[3, 8]``, is one value of a field that takes several numbers or strings.
    """
    field, equals, values = text.partition("=")
    if not equals or not field or not values:
        raise InputError(f"An axis must name a field and its values; got {text!r}. {AXIS_SYNTAX}")
    if values.strip().startswith("["):
        return Axis(field, (_parse_list(text, values),))
    if re.match(r"\s*[-+.\d][^:,]*:", values):  # a name such as ntk-relu:3 is no range
        return Axis(field, _parse_range(text, values))
    return Axis(field, tuple(_parse_value(part.strip()) for part in values.split(",")))


def _parse_range(text: str, values: str) -> tuple[float, ...]:
    first, *rest = values.split(":")
    logarithmic = rest[2:] == ["log"]
    try:
        last, number = rest[:-1] if logarithmic else rest
        start, stop, count = float(first), float(last), int(number)
    except ValueError:
        raise InputError(f"The axis {text!r} is not understood. {AXIS_SYNTAX}") from None
    if not (1 <= count <= MAX_AXIS_VALUES and math.isfinite(start) and math.isfinite(stop)):
        raise InputError(f"The axis {text!r} must have finite ends and 1 to {MAX_AXIS_VALUES:,} values.")
    if logarithmic and not (start > 0 and stop > 0):
        raise InputError(f"The ends of the logarithmic axis {text!r} must be positive.")
    points = np.geomspace(start, stop, count) if logarithmic else np.linspace(start, stop, count)
    return tuple(int(value) if float(value).is_integer() else float(value) for value in points)


def _parse_list(text: str, values: str) -> tuple[Any, ...]:
    try:
        found = json.loads(values)
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, list):
        raise InputError(f'The list in {text!r} is not understood; write field=[1, 2] or field=["a", "b"].')
    return tuple(found)


def _parse_value(text: str) -> Any:
    """Return a number or truth value if the text is one, else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def make_sweep(
    experiment: Experiment,
    settings: Mapping[str, Any] | None = None,
    axes: Sequence[Axis] = (),
    repeats: int = 1,
    seed: int = 0,
) -> Sweep:
    """Return a sweep with checked settings; missing ones take the experiment's defaults."""
    first = {axis.field: axis.values[0] for axis in axes}  # a field without a default may be on an axis
    kind = experiment.load().settings
    known = {name: value for name, value in first.items() if name in kind.model_fields}
    base = checked(kind, {**known, **(settings or {})}, experiment.name)
    return Sweep(experiment, base, tuple(axes), repeats, seed)
