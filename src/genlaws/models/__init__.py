"""Transformers and other trained models: load them, read and change their states, score texts, ask a server."""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access

if TYPE_CHECKING:
    from genlaws.models import architecture as architecture
    from genlaws.models import capture as capture
    from genlaws.models import language as language
    from genlaws.models import load as load
    from genlaws.models import untrained as untrained
    from genlaws.models import vision as vision

__getattr__, __dir__ = loaded_on_access(__name__)
