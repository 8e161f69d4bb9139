"""``genlaws rules-facts solve``, ``bayes``, ``threshold`` and ``kernel``: the theory at one point or on a grid."""

from __future__ import annotations

from typing import Any

from genlaws import rules_facts
from genlaws.cli.numbers import read_numbers
from genlaws.cli.questions import command_of, fills
from genlaws.core.errors import InputError
from genlaws.rules_facts import Kernel


@fills("kernel")
def kernel_options(
    kernel: str | None = None, kernel_angle: str | None = None, mu_1: str | None = None, mu_star: str | None = None
) -> dict[str, Any]:
    """Return the kernel the options name, None if they name none; naming it in two ways is refused.

    Parameters
    ----------
    kernel : str, optional
        NAME[:parameter], such as relu or gaussian:0.5.
    kernel_angle : str, optional
        Kernel angle in radians, from 0 (memorizer) to π/2 (linear).
    mu_1 : str, optional
        Size of the linear part of the kernel; needs --mu-star.
    mu_star : str, optional
        Size of the non-linear part of the kernel; needs --mu-1.
    """
    ways = [way for way in (kernel, kernel_angle, mu_1 if mu_1 is not None else mu_star) if way is not None]
    if len(ways) > 1:
        raise InputError("kernel must be given in one way only: --kernel, or --kernel-angle, or --mu-1 with --mu-star.")
    if (mu_1 is None) != (mu_star is None):
        raise InputError("mu_1 and mu_star must be given together; got only one of --mu-1 and --mu-star.")
    chosen: Kernel | str | None = kernel
    if kernel_angle is not None:
        chosen = Kernel.from_angle(read_numbers("kernel_angle", kernel_angle))
    if mu_1 is not None and mu_star is not None:
        chosen = Kernel(read_numbers("mu_1", mu_1), read_numbers("mu_star", mu_star))
    return {"kernel": chosen}


solve = command_of(rules_facts.solve, kernel_options, about="The kernel is the linear model unless it is named.")
bayes = command_of(rules_facts.bayes_optimal)
threshold = command_of(rules_facts.threshold, kernel_options)
kernel = command_of(rules_facts.describe_kernel, kernel_options)
