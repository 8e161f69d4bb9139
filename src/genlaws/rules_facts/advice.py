r"""Which kernel and which regularisation should these data have?

The data answer, by cross-validation. Beside them stands the theory, which needs three numbers: the share of facts ε,
and the effective :math:`(\mu_1, \mu_\star)` of the kernel on the data
(:mod:`~genlaws.rules_facts.finite_size.gram_numbers`). By the theory, ridge regression that must remember every fact
generalises best at the angle :math:`\theta_{opt} = \arcsin\bigl((1-\varepsilon)\sqrt{2/\pi}\bigr)`; the hinge loss
has its own angle, which also depends on the samples per effective dimension. How well do the theory's choices do on
these data, and do its errors agree with the measured ones?
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, one_of, real, whole_number, within
from genlaws.numerics.errors import InputError
from genlaws.rules_facts.advice_question import Question, find_facts
from genlaws.rules_facts.advice_result import Advice
from genlaws.rules_facts.finite_size.gram import inner_products
from genlaws.rules_facts.finite_size.learned_path import LOSSES
from genlaws.rules_facts.kernel_families import FAMILIES
from genlaws.rules_facts.kernel_trial import RANGES, KernelTrial
from genlaws.rules_facts.rule_errors import Flags

# Kernels tried unless others are named, and the fewest samples, and samples of the rule, that can answer.
PARAMETER_COUNT = 9
FEWEST = 20
# A parameter that differs from the theory's by less than this share is the same.
SAME = 1e-6


def advise(
    inputs: ArrayLike,
    labels: ArrayLike,
    *,
    is_fact: ArrayLike | None = None,
    fact_fraction: float | None = None,
    loss: str = "square",
    family: str = "gaussian",
    parameters: ArrayLike | None = None,
    normalise: bool = False,
    folds: int = 5,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Advice:
    """Say which kernel and regularisation to use, by cross-validation, and whether the theory describes these data.

    Parameters
    ----------
    inputs : array_like, (n, d)
        Standardised, as :func:`~genlaws.rules_facts.task.draw_labelled` does.
    labels : array_like of ±1, (n,)
    is_fact : array_like of bool, (n,), optional
        Which labels are facts, where that is known.
    fact_fraction : float, optional
        Their share; taken from `is_fact`, else estimated from left-out predictions.
    loss : {"square", "hinge"}
    family : str
        A family of kernels with one parameter: gaussian, exponential, geometric or quadratic.
    parameters : array_like, optional
        Those to try; the theory's choices are added.
    normalise : bool
        Scale every input to squared length d first; the geometric family needs it.
    folds : int
        Parts of the cross-validation for the hinge loss. Ridge regression leaves out one sample at a time.
    seed : int
        Deals the samples into parts.
    progress : callable, optional
        Called with (kernels done, kernels in all).

    Returns
    -------
    Advice
    """
    x, y, flags = _read(inputs, labels, is_fact)
    one_of("loss", loss, LOSSES)
    one_of("family", family, RANGES)
    if not isinstance(normalise, bool | np.bool_):
        raise InputError(f"normalise must be true or false; got {normalise!r}.")
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function of two numbers; got {progress!r}.")
    given = None if parameters is None else _checked(family, parameters)
    trial = KernelTrial(
        inner_products(x, normalise=bool(normalise)),
        y,
        loss,
        family,
        whole_number("folds", folds, at_least=2),
        whole_number("seed", seed),
    )
    question = Question(trial, find_facts(trial, flags, fact_fraction))
    wanted = question.theory_parameters()
    tried = _joined(np.geomspace(*trial.parameter_range, PARAMETER_COUNT) if given is None else given, wanted)
    lam = question.relative_regularisations(wanted[1])
    results = []
    for parameter in tried:
        results.append(trial.evaluate(float(parameter), lam))
        if progress is not None:
            progress(len(results), len(tried))
    return question.answer(tried, results, wanted, x.shape[1])


def _joined(tried: Array, wanted: tuple[float, float]) -> Array:
    """Return the parameters to try, ascending, with the theory's in place of those next to them."""
    away = np.abs(np.log(tried[:, None] / np.array(wanted))).min(axis=1) > SAME
    return np.unique(np.concatenate([tried[away], wanted]))


def _checked(family: str, parameters: ArrayLike) -> Array:
    allowed = FAMILIES[family].parameters[0]
    ends = {"open_low": allowed.open_low, "open_high": allowed.open_high}
    given = within("parameters", parameters, allowed.low, allowed.high, **ends, hint=f"Each is {allowed.description}.")
    if given.ndim != 1 or not given.size:
        raise InputError(f"parameters must be a list of at least one number; got shape {given.shape}.")
    return given


def _read(inputs: ArrayLike, labels: ArrayLike, is_fact: ArrayLike | None) -> tuple[Array, Array, Flags | None]:
    x, y = real("inputs", inputs), real("labels", labels)
    if x.ndim != 2 or y.shape != (len(x),) or len(y) < FEWEST:
        raise InputError(
            f"inputs and labels must be a matrix and as many labels as it has rows, {FEWEST} or more; "
            f"got shapes {x.shape} and {y.shape}."
        )
    if not np.isfinite(x).all():
        raise InputError("inputs must be finite.")
    if not np.isin(y, (-1.0, 1.0)).all() or abs(y.sum()) == len(y):
        raise InputError("labels must be +1 and -1, and both must occur.")
    if is_fact is None:
        return x, y, None
    try:
        flags = np.asarray(is_fact)
    except ValueError:  # rows of different length
        flags = np.empty(0)
    if flags.dtype != bool or flags.shape != y.shape or np.count_nonzero(~flags) < FEWEST:
        raise InputError(f"is_fact must be true or false for each sample, and false for {FEWEST} or more.")
    return x, y, flags
