"""Both tests inside a language model, layer by layer."""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access

if TYPE_CHECKING:
    from genlaws.probes.layers import states as states
    from genlaws.probes.layers import tests as tests

__getattr__, __dir__ = loaded_on_access(__name__)
