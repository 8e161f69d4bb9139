"""The reader's own file in the report: measured, advised upon or described, by what it holds."""

from __future__ import annotations

from genlaws.figures.progress import Progress
from genlaws.relations import Relation
from genlaws.report.own_data import OwnData
from genlaws.report.own_embeddings import embeddings_section
from genlaws.report.own_labelled import labelled_section
from genlaws.report.own_relation import relation_section
from genlaws.report.section import Section
from genlaws.rules_facts.labelled_data import LabelledData

__all__ = ["OwnData", "own_data_section"]


def own_data_section(data: OwnData, progress: Progress, seed: int, place: int = 0) -> Section:
    """Return the section on a file of the reader.

    Parameters
    ----------
    data : OwnData
    progress : Progress
    seed : int
    place : int
        Among the files of the report, from 0; makes the names in the page differ.
    """
    name = f"own-{place + 1}"
    progress.start(1, data.name)
    if isinstance(data.content, LabelledData):
        section = labelled_section(data, data.content, name, seed)
    elif isinstance(data.content, Relation):
        section = relation_section(data, data.content, name, seed)
    else:
        section = embeddings_section(data, data.content, name, seed)
    progress.advance()
    return section
