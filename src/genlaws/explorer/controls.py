"""How a setting of a view is changed on the page: with a slider, a list or a box; the schema of its kind says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class ViewSettings(BaseModel):
    """The numbers behind a view. Unknown names are refused; nothing changes after checking."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def slider(
    default: float,
    low: float,
    high: float,
    label: str,
    *,
    step: float | None = None,
    log: bool = False,
    about: str = "",
    when: Mapping[str, str] | None = None,
) -> Any:
    """Return a number between two ends, changed with a slider.

    Parameters
    ----------
    default, low, high : float
        The ends belong to it.
    label : str
        In words, with the symbol after.
    step : float, optional
        In the units of the number, or in decades for a logarithmic slider; a hundredth of the way if left out.
    log : bool
        Whether the slider moves in decades.
    about : str
        One sentence for a reader who does not know the word.
    when : mapping, optional
        Names and values of choices with which alone it matters; the page hides it otherwise.
    """
    control: dict[str, Any] = {"kind": "slider", "step": step, "log": log, "when": dict(when or {})}
    return Field(
        default=default,
        ge=low,
        le=high,
        allow_inf_nan=False,
        title=label,
        description=about or label,
        json_schema_extra={"control": control},
    )


def choice(default: str, label: str, *, about: str = "", when: Mapping[str, str] | None = None) -> Any:
    """Return one of the values that the annotation names, changed with a list."""
    control: dict[str, Any] = {"kind": "choice", "when": dict(when or {})}
    return Field(default=default, title=label, description=about or label, json_schema_extra={"control": control})


def switch(default: bool, label: str, *, about: str = "", when: Mapping[str, str] | None = None) -> Any:
    """Return yes or no, changed with a box to tick."""
    control: dict[str, Any] = {"kind": "switch", "when": dict(when or {})}
    return Field(default=default, title=label, description=about or label, json_schema_extra={"control": control})
