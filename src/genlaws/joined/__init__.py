"""Where two systems meet: questions that neither of them answers alone.

The systems never import one another. This is the only place below figures and reports where two of them stand in one
file; nothing of a system is changed or repeated here.
"""

from typing import TYPE_CHECKING

from genlaws.numerics.submodules import loaded_on_access

if TYPE_CHECKING:
    from genlaws.joined import stream_semanticity as stream_semanticity

__getattr__, __dir__ = loaded_on_access(__name__, ("stream_semanticity",))
