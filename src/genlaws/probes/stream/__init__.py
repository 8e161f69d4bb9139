"""Semanticity along the residual stream: what each write of a transformer does to both tests.

The systems never import one another; this package uses two of them together.
"""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access

if TYPE_CHECKING:
    from genlaws.probes.stream import semanticity as semanticity

__getattr__, __dir__ = loaded_on_access(__name__)
