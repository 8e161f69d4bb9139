"""What a figure is made of: settings, a table computed from them, and a picture drawn from the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

from pydantic import Field

from genlaws.core.running import Running
from genlaws.sweeps.experiment import Settings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

Ratio = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
# Where a curve along ε or an optimal angle is wanted, both a rule and facts must be present.
InnerShare = Annotated[float, Field(gt=0, lt=1)]
# More than this in one direction shows nothing on paper.
Points = Annotated[int, Field(ge=2, le=2000)]


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Recipe(Generic[S]):
    """How to make one figure.

    Attributes
    ----------
    settings : type of Settings
        Its defaults are the figure as printed.
    data : callable
        ``data(settings, running)`` returns the long table, one row per solved point.
    draw : callable
        ``draw(frame, settings)`` returns the picture, from the table alone.
    summary : callable or None
        ``summary(frame, settings)`` returns the numbers quoted with the figure.
    """

    settings: type[S]
    data: Callable[[S, Running], pd.DataFrame]
    draw: Callable[[pd.DataFrame, S], Picture]
    summary: Callable[[pd.DataFrame, S], pd.DataFrame] | None = None
