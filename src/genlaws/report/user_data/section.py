"""The section of the report on a file of the user, chosen by the kind of the file."""

from __future__ import annotations

from genlaws.core.running import Running
from genlaws.relations import Relation
from genlaws.report.section import Section
from genlaws.report.user_data.data import UserData
from genlaws.report.user_data.embeddings import embeddings_section
from genlaws.report.user_data.labeled import labeled_section
from genlaws.report.user_data.relation import relation_section
from genlaws.rules_facts.labels.data import LabeledData

__all__ = ["UserData", "user_data_section"]


def user_data_section(data: UserData, running: Running, seed: int, place: int = 0) -> Section:
    """Return the section on a file of the user.

    Parameters
    ----------
    data : UserData
    running : Running
    seed : int
    place : int
        Among the files of the report, from 0; makes the names in the page differ.
    """
    name = f"own-{place + 1}"
    running.start(1, data.name)
    if isinstance(data.content, LabeledData):
        section = labeled_section(data, data.content, name, seed)
    elif isinstance(data.content, Relation):
        section = relation_section(data, data.content, name, seed)
    else:
        section = embeddings_section(data, data.content, name, seed)
    running.advance()
    return section
