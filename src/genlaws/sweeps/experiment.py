"""Experiments: a settings model, and a function from the settings and seed of one cell to its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from genlaws.core.errors import InputError
from genlaws.core.imports import load_named

CellResult = Mapping[str, Any]
"""Numbers, truth values, text and numpy arrays under their names."""


# Types of settings.
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]


class Settings(BaseModel):
    """The settings of a computation, checked and immutable; unknown names raise an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


SettingsType = TypeVar("SettingsType", bound=Settings)
MAX_VALUE_CHARACTERS = 200  # of a rejected value in an error message


def checked(kind: type[SettingsType], given: Mapping[str, Any], owner: str) -> SettingsType:
    """Return settings of a kind from plain values, or raise an error that names the wrong one."""
    try:
        return kind(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "the combination"
        allowed = ", ".join(kind.model_fields)
        given_text = repr(first["input"])
        shown = given_text if len(given_text) <= MAX_VALUE_CHARACTERS else f"{given_text[:MAX_VALUE_CHARACTERS]}…"
        raise InputError(
            f"settings of {owner}: {name} is not accepted: {first['msg'].lower()}; got {shown}. "
            f"The settings are {allowed}."
        ) from None


def writable(text: str) -> str:
    """Return text that every file can hold: a lone surrogate becomes its escape."""
    return text.encode(errors="backslashreplace").decode()


@dataclass(frozen=True)
class Procedure:
    """How one cell is computed.

    Attributes
    ----------
    settings : type of Settings
    run : callable
        ``run(settings, seed)`` returns the result of one cell. It depends on nothing else.
    run_batch : callable, optional
        ``run_batch(settings, seeds)`` returns the results of several cells at once, for experiments that run
        faster in a stack. A batch is committed as a whole, so a resumed sweep has the same batches.
    batch_size : int, or callable
        Cells in one call of `run_batch`; ``batch_size(settings)`` where it depends on the settings of a sweep.
    dtype, device : str
        What the numbers were computed with; recorded with each cell.
    """

    settings: type[Settings]
    run: Callable[[Any, int], CellResult] | None = None
    run_batch: Callable[[Sequence[Any], Sequence[int]], Sequence[CellResult]] | None = None
    batch_size: int | Callable[[Any], int] = 1
    dtype: str = "float64"
    device: str = "cpu"

    def __post_init__(self) -> None:
        if (self.run is None) == (self.run_batch is None):
            raise TypeError("A procedure has either run or run_batch.")

    def cells_together(self, settings: Settings) -> int:
        """Return how many cells of a sweep with these settings make one task."""
        return max(1, self.batch_size(settings) if callable(self.batch_size) else self.batch_size)

    def compute(self, settings: Sequence[Settings], seeds: Sequence[int]) -> list[CellResult]:
        """Return the results of the cells of one task."""
        if self.run_batch is not None:
            results = list(self.run_batch(settings, seeds))
            if len(results) != len(settings):
                raise ValueError(f"run_batch returned {len(results)} results for {len(settings)} cells.")
            return results
        assert self.run is not None
        return [self.run(one, seed) for one, seed in zip(settings, seeds, strict=True)]


@dataclass(frozen=True)
class Experiment:
    """An experiment as it is listed; its code is loaded when first needed.

    Attributes
    ----------
    name : str
        Such as ``rules-facts.optimal-map``.
    title : str
    citation : str
        The paper and place it belongs to.
    cost : str
        Computing time of one cell, as text.
    procedure : str or Procedure
        ``module:NAME`` of the :class:`Procedure`; workers on other machines import it by that name.
    schema : int
        Raised whenever the meaning of the result changes; old cells are then not reused.
    figure : str
        The figure that draws it, if any.
    """

    name: str
    title: str
    citation: str
    cost: str
    procedure: str | Procedure
    schema: int = 1
    figure: str = ""

    def load(self) -> Procedure:
        """Return the procedure."""
        return load_procedure(self.procedure)


def load_procedure(procedure: str | Procedure) -> Procedure:
    """Return a procedure, imported if it is given by name."""
    if isinstance(procedure, Procedure):
        return procedure
    loaded: Procedure = load_named(procedure)
    return loaded
