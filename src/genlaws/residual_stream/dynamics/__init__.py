"""The stream as a dynamical system: linear maps, rotations, perturbations, Lyapunov exponents, compression."""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access

if TYPE_CHECKING:
    from genlaws.residual_stream.dynamics import compression as compression
    from genlaws.residual_stream.dynamics import lyapunov as lyapunov
    from genlaws.residual_stream.dynamics import perturbation as perturbation
    from genlaws.residual_stream.dynamics import teleports as teleports

__getattr__, __dir__ = loaded_on_access(__name__)
