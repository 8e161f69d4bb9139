"""``genlaws rules-facts solve``, ``bayes``, ``threshold`` and ``kernel``: the theory at one point or on a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from genlaws import rules_facts
from genlaws.cli.numbers import read_numbers
from genlaws.cli.output import DEFAULT_OUTPUT, Output, aligned, show
from genlaws.core.errors import InputError
from genlaws.rules_facts import Kernel

Ratio = Annotated[str, Parameter(help="Training samples per input dimension; several as 2,4,10 or 0.1:100:30:log.")]
Share = Annotated[str, Parameter(help="Share of random labels, from 0 to 1.")]
Losses = Annotated[str, Parameter(help="square, hinge, logistic, squared_hinge or huber.")]
KernelName = Annotated[str | None, Parameter(name="--kernel", help="NAME[:parameter], such as relu or gaussian:0.5.")]
Angle = Annotated[str | None, Parameter(help="Kernel angle in radians, from 0 (memorizer) to π/2 (linear).")]
Mu = Annotated[str | None, Parameter(help="Size of the linear part of the kernel; needs --mu-star.")]
MuStar = Annotated[str | None, Parameter(help="Size of the non-linear part of the kernel; needs --mu-1.")]
Width = Annotated[str | None, Parameter(help="Random features per input dimension; a kernel if left out.")]
Ridge = Annotated[str, Parameter(help="NUMBER (0 and inf are the exact limits) or optimal.")]
# Columns left out of a printed table.
HIDDEN_COLUMNS = ("message", "iterations", "loss")


def solve(
    *,
    sample_ratio: Ratio,
    fact_fraction: Share,
    loss: Losses = "square",
    kernel: KernelName = None,
    kernel_angle: Angle = None,
    mu_1: Mu = None,
    mu_star: MuStar = None,
    regularization: Ridge = "optimal",
    width_ratio: Width = None,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Predict the generalization and memorization error of a learner.

    The kernel is the linear model unless --kernel, --kernel-angle or --mu-1 with --mu-star is given.
    Where several numbers are given the answer is a table over all combinations.
    """
    ridge = "optimal" if regularization == "optimal" else read_numbers("regularization", regularization)
    grid = _combine(
        sample_ratio=read_numbers("sample_ratio", sample_ratio),
        fact_fraction=read_numbers("fact_fraction", fact_fraction),
        kernel=choose_kernel(kernel, kernel_angle, mu_1, mu_star),
        regularization=ridge,
        width_ratio=None if width_ratio is None else read_numbers("width_ratio", width_ratio),
    )
    solution = rules_facts.solve(loss, **grid)
    _show_answer("solve", {"loss": loss, **_as_columns(grid), **vars(solution)}, output, _explain_solution)


def bayes(*, sample_ratio: Ratio, fact_fraction: Share, output: Output = DEFAULT_OUTPUT) -> None:
    """Give the least generalization error any learner can reach."""
    grid = _combine(
        sample_ratio=read_numbers("sample_ratio", sample_ratio),
        fact_fraction=read_numbers("fact_fraction", fact_fraction),
    )
    _show_answer("bayes", {**grid, **vars(rules_facts.bayes_optimal(**grid))}, output, _explain_bayes)


def threshold(
    *,
    fact_fraction: Share,
    loss: Losses = "hinge",
    kernel: KernelName = None,
    kernel_angle: Angle = None,
    mu_1: Mu = None,
    mu_star: MuStar = None,
    width_ratio: Width = None,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Give the largest sample ratio at which every label can be fitted."""
    grid = _combine(
        fact_fraction=read_numbers("fact_fraction", fact_fraction),
        kernel=choose_kernel(kernel, kernel_angle, mu_1, mu_star),
        width_ratio=None if width_ratio is None else read_numbers("width_ratio", width_ratio),
    )
    found = rules_facts.interpolation_threshold(loss, **grid)
    message = np.where(np.isinf(found), "any number of labels can be fitted", "labels can be fitted up to this ratio")
    answer = {"loss": loss, **_as_columns(grid), "sample_ratio": found, "message": message}
    _show_answer("threshold", answer, output, _explain_threshold)


def kernel(
    *,
    kernel: KernelName = None,
    kernel_angle: Angle = None,
    mu_1: Mu = None,
    mu_star: MuStar = None,
    family: Annotated[
        str | None, Parameter(help="Give the parameter of this family that realizes --kernel-angle.")
    ] = None,
    degree: Annotated[int | None, Parameter(help="Degree of the polynomial family.")] = None,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Give mu_1, mu_star and the angle of a kernel, or the parameter of a family with a given angle."""
    if kernel is None and kernel_angle is None and mu_1 is None and mu_star is None:
        raise InputError(
            "kernel must be given as --kernel, --kernel-angle, or --mu-1 with --mu-star; got none of them."
        )
    chosen = choose_kernel(kernel, kernel_angle, mu_1, mu_star)
    answer = {"mu_1": chosen.mu_1, "mu_star": chosen.mu_star, "kernel_angle": chosen.kernel_angle}
    given: dict[str, Any] = {"kernel": kernel} if kernel is not None else {}
    if family is not None:
        given["family"] = family
        answer["parameter"] = rules_facts.parameter_for_angle(family, chosen.kernel_angle, degree=degree)
    _show_answer("kernel", {**given, **answer}, output, _explain_kernel)


def choose_kernel(name: str | None, angle: str | None, mu_1: str | None, mu_star: str | None) -> Kernel:
    """Return the kernel the options name; raise if it is given in two ways."""
    ways = [way for way in (name, angle, mu_1 if mu_1 is not None else mu_star) if way is not None]
    if len(ways) > 1:
        raise InputError("kernel must be given in one way only: --kernel, or --kernel-angle, or --mu-1 with --mu-star.")
    if (mu_1 is None) != (mu_star is None):
        raise InputError("mu_1 and mu_star must be given together; got only one of --mu-1 and --mu-star.")
    if name is not None:
        return Kernel.from_name(name)
    if angle is not None:
        return Kernel.from_angle(read_numbers("kernel_angle", angle))
    if mu_1 is not None and mu_star is not None:
        return Kernel(read_numbers("mu_1", mu_1), read_numbers("mu_star", mu_star))
    return Kernel.linear()


def _combine(**axes: Any) -> dict[str, Any]:
    """Return every combination of the axes, numbers or kernels, as flat arrays; without an axis, scalars."""
    long = {name: value for name, value in axes.items() if getattr(value, "shape", ())}
    places = np.indices([value.shape[0] for value in long.values()])
    return axes | {name: value[place.ravel()] for (name, value), place in zip(long.items(), places, strict=True)}


def _as_columns(grid: dict[str, Any]) -> dict[str, Any]:
    """Return the given values as columns, the kernel by its angle; the regularization is a column of the answer."""
    given = {name: value for name, value in grid.items() if value is not None and name != "regularization"}
    return {
        "kernel_angle" if name == "kernel" else name: getattr(value, "kernel_angle", value)
        for name, value in given.items()
    }


def _show_answer(
    command: str, answer: dict[str, Any], output: Output, explain: Callable[[dict[str, Any]], str]
) -> None:
    """Show a single answer as text and several as a table."""
    import pandas as pd

    document = {**answer, "seed": output.seed}
    if all(np.ndim(value) == 0 for value in answer.values()):
        text = explain(answer)
    else:
        table = pd.DataFrame({name: value for name, value in answer.items() if name not in HIDDEN_COLUMNS})
        text = table.to_string(index=False, float_format=lambda x: f"{x:.6g}")
    show(command, document, text, output)


def _explain_solution(answer: dict[str, Any]) -> str:
    numbers = aligned(
        {
            "generalization error": f"{answer['generalization_error']:.6f}",
            "memorization error": f"{answer['memorization_error']:.6f}",
            "regularization": f"{answer['regularization']:.6g}",
            "teacher overlap m": f"{answer['teacher_overlap']:.6g}",
            "self overlap q": f"{answer['self_overlap']:.6g}",
            "response V": f"{answer['response']:.6g}",
        }
    )
    return (
        f"{numbers}\n"
        f"On new inputs the learner breaks the rule {answer['generalization_error']:.1%} of the time; "
        f"it gets {answer['memorization_error']:.1%} of the training facts wrong.\n"
        f"{answer['message'].capitalize()}; residual {answer['residual']:.1e}."
    )


def _explain_bayes(answer: dict[str, Any]) -> str:
    numbers = aligned(
        {
            "generalization error": f"{answer['generalization_error']:.6f}",
            "teacher overlap q": f"{answer['teacher_overlap']:.6g}",
        }
    )
    return f"{numbers}\nNo learner does better with this many samples and facts; residual {answer['residual']:.1e}."


def _explain_threshold(answer: dict[str, Any]) -> str:
    if math.isinf(answer["sample_ratio"]):
        return "sample ratio  inf\nThis learner can fit any number of labels."
    return (
        f"sample ratio  {answer['sample_ratio']:.6f}\n"
        "Up to this many samples per dimension every label, rule or fact, can be fitted."
    )


def _explain_kernel(answer: dict[str, Any]) -> str:
    rows = {name: f"{answer[name]:.10g}" for name in ("mu_1", "mu_star", "kernel_angle")}
    if "parameter" in answer:
        rows["parameter"] = f"{answer['parameter']:.10g}"
    share = math.degrees(answer["kernel_angle"])
    return f"{aligned(rows)}\nThe angle is {share:.2f}°: 90° is the linear model, 0° a pure memorizer."
