"""What the API answers, as kinds of which the OpenAPI document is made."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Body(BaseModel):
    """An object with these fields and no others."""

    model_config = ConfigDict(extra="forbid")


class ErrorBody(Body):
    """Why a request was refused."""

    error: str = Field(description="What was wrong, what is allowed, what was given.")


class WrongInput(ErrorBody):
    """What was wrong with a setting or a file."""

    setting: str | None = Field(description="The setting that was wrong; null where it is none or not one alone.")


class AxisBody(Body):
    """An axis of a picture."""

    label: str
    log: bool
    range: list[float] | None = Field(description="In the units of the axis; fitted to the curves if null.")


class CurveBody(Body):
    """A curve or a set of points; a null is a gap."""

    name: str
    kind: Literal["theory", "run", "chance", "paper", "mark"]
    colour: str
    x: list[float | None]
    y: list[float | None]
    low: list[float | None] | None
    high: list[float | None] | None
    notes: list[str] | None


class PanelBody(Body):
    """A picture as numbers."""

    name: str
    title: str
    x: AxisBody
    y: AxisBody
    caption: str
    curves: list[CurveBody]


class NumberBody(Body):
    """A number as text, and what it means."""

    name: str
    value: str
    meaning: str


class MeasuredBody(Body):
    """What the measurement of a set says."""

    panels: list[PanelBody]
    numbers: list[NumberBody]
    sentence: str
    python: str = Field(description="Lines that compute the same with the library.")
    command: str = Field(description="A command line that gives the same.")


class AnswerBody(MeasuredBody):
    """What a view says for its settings."""

    settings: dict[str, Any] = Field(description="All settings as they were used.")


class ViewBody(Body):
    """A view in words, with the schema of its settings."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)

    name: str
    title: str
    question: str
    about: str
    settings: dict[str, Any] = Field(alias="schema", description="JSON schema; each setting says how it is changed.")


class ViewsBody(Body):
    """All views."""

    version: str
    views: list[ViewBody]


class ClaimBody(Body):
    """A claim of a paper with the verdict of its kept run."""

    id: str
    paper: str
    kind: str
    says: str
    where: str
    verdict: str
    sentence: str
    date: str


class ClaimsBody(Body):
    """All claims, and how many have each verdict."""

    counts: dict[str, int]
    papers: dict[str, dict[str, int]]
    claims: list[ClaimBody]


BODIES = (ViewsBody, AnswerBody, MeasuredBody, ClaimsBody, ErrorBody, WrongInput)
