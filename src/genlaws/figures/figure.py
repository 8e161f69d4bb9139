"""One figure: its identifier, title and caption. The code that computes it is loaded when first needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genlaws.core.errors import InputError
from genlaws.core.imports import load_named
from genlaws.core.running import Running, checked_running

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from genlaws.figures.recipe import Recipe
    from genlaws.sweeps.experiment import Settings


@dataclass(frozen=True)
class Figure:
    """A figure of a paper.

    Attributes
    ----------
    id : str
        Such as ``rules-facts.3``: the system, and the number in the paper.
    title, caption : str
        A few words, and one sentence.
    citation : str
    recipe : str
        ``module:NAME`` of the :class:`~genlaws.figures.recipe.Recipe`.
    """

    id: str
    title: str
    citation: str
    caption: str
    recipe: str

    def load(self) -> Recipe[Any]:
        """Return the recipe; this loads pandas, scipy and matplotlib."""
        loaded: Recipe[Any] = load_named(self.recipe)
        return loaded

    def settings(self, given: Settings | Mapping[str, Any] | None = None) -> Settings:
        """Return checked settings; what is not given has the value of the printed figure."""
        wanted: type[Settings] = self.load().settings
        if given is None:
            return wanted()
        if isinstance(given, wanted):
            return given
        if not isinstance(given, Mapping):
            raise InputError(f"settings of {self.id} must be a {wanted.__name__} or a mapping; got {given!r}.")
        from genlaws.sweeps.experiment import checked  # noqa: PLC0415 - loads pydantic

        return checked(wanted, given, self.id)

    def data(
        self, settings: Settings | Mapping[str, Any] | None = None, *, running: Running | None = None
    ) -> pd.DataFrame:
        """Return the long table behind the figure; see :func:`~genlaws.figures.draw_figures` for `running`."""
        return self.load().data(self.settings(settings), checked_running(running, "jobs", "folder"))

    def summary(self, frame: pd.DataFrame, settings: Settings | Mapping[str, Any] | None = None) -> pd.DataFrame | None:
        """Return the numbers quoted with the figure, where it has any."""
        summarize = self.load().summary
        return summarize(frame, self.settings(settings)) if summarize else None

    def draw(self, frame: pd.DataFrame, settings: Settings | Mapping[str, Any] | None = None) -> Picture:
        """Return the picture of a table."""
        from genlaws.render.style import house_style  # noqa: PLC0415

        with house_style():
            picture = self.load().draw(frame, self.settings(settings))
            # Fix the layout once: the labels of curves were placed for it, and every format uses it.
            picture.draw_without_rendering()
            picture.set_layout_engine("none")
        return picture
