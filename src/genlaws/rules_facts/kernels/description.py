"""What the theory uses of a kernel, and the parameter of a family that has the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from genlaws.core.arguments import Elementwise
from genlaws.core.errors import InputError
from genlaws.core.parameters import Parameter
from genlaws.core.result import Result, Row, Summary, question
from genlaws.rules_facts.kernels.families import ADJUSTABLE, parameter_for_angle
from genlaws.rules_facts.kernels.kernel import read_kernel
from genlaws.rules_facts.parameters import KernelChoice

Family = Annotated[
    str | None, Parameter(f"Give the parameter at which this family has the angle: {', '.join(ADJUSTABLE)}.")
]
Degree = Annotated[int | None, Parameter("Degree of the polynomial family.")]


@dataclass(frozen=True, eq=False, repr=False)
class KernelDescription(Result):
    """The two numbers of a kernel, and its angle.

    Attributes
    ----------
    mu_1, mu_star : float or array
        Sizes of the linear and of the non-linear part.
    kernel_angle : float or array
        θ = arctan(μ1/μ*), in radians.
    parameter : float, array or None
        Of the requested family, at the same angle.
    """

    mu_1: Elementwise
    mu_star: Elementwise
    kernel_angle: Elementwise
    parameter: Elementwise = None

    def summary(self) -> Summary:
        """Return the numbers, or a table where there are several kernels."""
        if np.ndim(self.mu_1):
            return Summary(table=self.table("family"))
        names = ("mu_1", "mu_star", "kernel_angle", *(() if self.parameter is None else ("parameter",)))
        degrees = math.degrees(self.kernel_angle)
        meaning = f"The angle is {degrees:.2f}°: 90° is the linear model, 0° a pure memorizer."
        return Summary([Row(name, f"{getattr(self, name):.10g}") for name in names], [meaning])


@question
def describe_kernel(kernel: KernelChoice, *, family: Family = None, degree: Degree = None) -> KernelDescription:
    """Give mu_1, mu_star and the angle of a kernel, or the parameter of a family that has the same angle.

    Parameters
    ----------
    kernel : Kernel or str
    family : str, optional
        See :func:`~genlaws.rules_facts.parameter_for_angle`.
    degree : int, optional
        Of the polynomial family.
    """
    if kernel is None:
        raise InputError("kernel must be given: a Kernel, or a name such as relu or gaussian:0.5; got None.")
    if degree is not None and family is None:
        raise InputError(f"degree belongs to the polynomial family; got {degree!r} without a family.")
    found = read_kernel(kernel)
    angle = found.kernel_angle
    parameter = None if family is None else parameter_for_angle(family, angle, degree=degree)
    return KernelDescription(found.mu_1, found.mu_star, angle, parameter)
