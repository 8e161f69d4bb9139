"""Networks that learn a relation: training, phases, embeddings, and advice from a pilot."""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access

if TYPE_CHECKING:
    from genlaws.relations.networks import network as network

__getattr__, __dir__ = loaded_on_access(__name__)
