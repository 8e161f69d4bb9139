"""Networks that learn similarities: ReLU networks, slots, and convolutional networks on images."""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access

if TYPE_CHECKING:
    from genlaws.semanticity.networks import convolutional as convolutional
    from genlaws.semanticity.networks import relu as relu
    from genlaws.semanticity.networks import slots as slots

__getattr__, __dir__ = loaded_on_access(__name__)
