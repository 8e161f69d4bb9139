"""The registry of figures. Listing them loads no numerical library."""

from __future__ import annotations

from genlaws.core.arguments import one_of
from genlaws.figures.figure import Figure
from genlaws.figures.relations import entries as relations
from genlaws.figures.rules_facts import entries as rules_facts
from genlaws.figures.semanticity import entries as semanticity

FIGURES: dict[str, Figure] = {
    figure.id: figure for figure in (*rules_facts.FIGURES, *semanticity.FIGURES, *relations.FIGURES)
}


def figure_ids() -> list[str]:
    """Return the identifiers in the order of the papers."""
    return list(FIGURES)


def get_figure(figure_id: str) -> Figure:
    """Return the figure of an identifier such as ``rules-facts.3``."""
    return FIGURES[one_of("figure", figure_id, FIGURES)]
