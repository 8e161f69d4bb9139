"""Encoders of words and pictures: load them, embed stimuli, layer by layer."""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access

if TYPE_CHECKING:
    from genlaws.probes.encoders import load as load
    from genlaws.probes.encoders import text as text

__getattr__, __dir__ = loaded_on_access(__name__)
