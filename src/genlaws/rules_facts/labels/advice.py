r"""Which kernel and which regularization should these data have?

The data answer, by cross-validation. Beside them stands the theory, which needs three numbers: the share of facts ε,
and the effective :math:`(\mu_1, \mu_\star)` of the kernel on the data
(:mod:`~genlaws.rules_facts.finite_size.gram`). By the theory, ridge regression that must remember every fact
generalizes best at the angle :math:`\theta_{opt} = \arcsin\bigl((1-\varepsilon)\sqrt{2/\pi}\bigr)`; the hinge loss
has its own angle, which also depends on the samples per effective dimension. How well do the theory's choices do on
these data, and do its errors agree with the measured ones?

Put to theory and data the question which kernel and regularization to use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, fraction, one_of, real, scalar, whole_number, within
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.rules_facts.finite_size.gram import gram_numbers, inner_products
from genlaws.rules_facts.finite_size.learned_path import LOSSES
from genlaws.rules_facts.kernels.families import FAMILIES
from genlaws.rules_facts.kernels.kernel import Kernel
from genlaws.rules_facts.labels.fact_fraction import estimate_fact_fraction
from genlaws.rules_facts.labels.kernel_trials import (
    RANGES,
    Choose,
    Flags,
    KernelTrial,
    Place,
    RuleErrors,
    Tried,
    wrong_signs,
)
from genlaws.rules_facts.labels.result import ALL, CONTRADICTED, FACTS, Advice, Choice
from genlaws.rules_facts.theory.optimal import optimal_angle, optimal_regularization
from genlaws.rules_facts.theory.problem import SHARE_HINT, Solution
from genlaws.rules_facts.theory.solve import solve

# Regularizations tried, in units of the mean diagonal of the Gram matrix.
REGULARIZATION_RANGE, REGULARIZATION_COUNT = (1e-6, 1e3), 28
# Parameters at which the angle is measured, to find the one that has the angle the theory wants.
ANGLE_POINTS = 33
# Facts count as remembered when at most this share of them is wrong.
REMEMBERED = 0.01
GIVEN, COUNTED, ESTIMATED = "given", "counted", "estimated"
# Kernels tried unless others are named, and the fewest samples, and samples of the rule, that can answer.
PARAMETER_COUNT = 9
FEWEST = 20
# A parameter that differs from the theory's by less than this share is the same.
SAME = 1e-6


@dataclass(frozen=True)
class Facts:
    """What is known about the facts among n samples.

    Attributes
    ----------
    flags : array of bool, (n,), or None
        Which samples are facts, if that is known.
    share : Estimate
    source : {"given", "counted", "estimated"}
        How the share was found.
    exceptions : array of bool, (n,)
        The samples on which memory is measured.
    measured_on : {"facts", "contradicted", "all"}
        Which samples these are.
    """

    flags: Flags | None
    share: Estimate
    source: str
    exceptions: Flags
    measured_on: str


@dataclass(frozen=True)
class Question:
    """A training set, and what is known about its facts."""

    trial: KernelTrial
    facts: Facts

    @cached_property
    def sample_ratio(self) -> float:
        """Samples per effective dimension, which does not depend on the kernel."""
        products = self.trial.products
        return gram_numbers(products.products, products).effective_sample_ratio

    @cached_property
    def angles(self) -> tuple[float, float]:
        """The angles the theory prefers for perfect memory and for the rule alone."""
        given = {"fact_fraction": self.facts.share.value, "sample_ratio": self.sample_ratio}
        memory = optimal_angle(self.trial.loss, **given, regularization=0.0)
        rule = optimal_angle(self.trial.loss, **given, regularization="optimal")
        return float(memory), float(rule)

    def theory_parameters(self) -> tuple[float, float]:
        """Return the parameters whose measured angles are nearest to these, within the range of the family."""
        grid = np.geomspace(*self.trial.parameter_range, ANGLE_POINTS)
        measured = self.trial.angles(grid)
        order = np.argsort(measured)
        memory, rule = np.exp(np.interp(self.angles, measured[order], np.log(grid[order])))
        return float(memory), float(rule)

    def relative_regularizations(self, parameter: float) -> Array:
        """Return those to try, with the one the theory prefers for the rule at this parameter among them."""
        gram = self.trial.gram(parameter)
        best = optimal_regularization(
            self.trial.loss,
            sample_ratio=self.sample_ratio,
            fact_fraction=self.facts.share.value,
            kernel=gram_numbers(gram, self.trial.products).kernel,
        )
        relative = float(np.clip(best / float(np.diagonal(gram).mean()), *REGULARIZATION_RANGE))
        return np.unique(np.append(_regularization_grid(), relative))

    def predict(self, tried: list[Tried], regularization: float | str, share: float = 1.0) -> Solution:
        """Return the theory's errors at each kernel, for a learner trained on a share of the samples."""
        kernels = [one.numbers.kernel for one in tried]
        return solve(
            self.trial.loss,
            sample_ratio=share * self.sample_ratio,
            fact_fraction=self.facts.share.value,
            kernel=Kernel([float(one.mu_1) for one in kernels], [float(one.mu_star) for one in kernels]),
            regularization=regularization,
        )

    def answer(self, parameters: Array, tried: list[Tried], wanted: tuple[float, float], dimension: int) -> Advice:
        """Put cross-validation and theory side by side."""
        counted, seed, share = self._count(tried), self.trial.seed, self.trial.trained_share
        remembered = np.array([one.forgotten[self.facts.exceptions].mean(axis=0) for one in tried])
        remembers = _least_where(remembered <= max(REMEMBERED, float(remembered.min())))
        at_best = self.predict(tried, "optimal")
        ways: dict[str, Choose] = {"found_memory": remembers, "found_rule": _least}
        ways |= {name: _always(place) for name, place in self._places(parameters, tried, wanted, at_best).items()}
        choices = {name: self._choice(parameters, tried, counted, way) for name, way in ways.items()}
        low, high = counted.interval()
        return Advice(
            loss=self.trial.loss,
            family=self.trial.family,
            sample_count=len(self.trial.labels),
            dimension=dimension,
            effective_dimension=tried[0].numbers.effective_dimension,
            fact_fraction=self.facts.share,
            fact_fraction_source=self.facts.source,
            rule_count=counted.wrong.shape[1],
            memory_count=int(self.facts.exceptions.sum()),
            memory_samples=self.facts.measured_on,
            parameter=parameters,
            kernel_angle=_measured("kernel_angle", tried),
            mu_1=_measured("mu_1", tried),
            mu_star=_measured("mu_star", tried),
            regularization=np.stack([one.regularization for one in tried]),
            generalization_error=counted.against_rule,
            generalization_low=low,
            generalization_high=high,
            generalization_clipped=counted.clipped,
            memorization_error=remembered,
            trained_share=share,
            predicted_at_zero=np.asarray(self.predict(tried, 0.0, share).generalization_error),
            predicted_at_best=np.asarray(self.predict(tried, "optimal", share).generalization_error),
            wanted_angle_memory=self.angles[0],
            wanted_angle_rule=self.angles[1],
            **choices,
            price_of_memory=counted.excess(remembers, _least, seed),
            price_of_theory=counted.excess(ways["theory_rule"], _least, seed),
            price_of_theory_memory=counted.excess(ways["theory_memory"], remembers, seed),
        )

    def _count(self, tried: list[Tried]) -> RuleErrors:
        """Return the errors on samples of the rule if these are known, else on all."""
        wrong = np.stack([wrong_signs(one.left_out, self.trial.labels) for one in tried])
        if self.facts.flags is None:
            return RuleErrors(wrong, self.facts.share)
        return RuleErrors(wrong[:, ~self.facts.flags], Estimate(0.0))

    def _places(
        self, parameters: Array, tried: list[Tried], wanted: tuple[float, float], at_best: Solution
    ) -> dict[str, Place]:
        """Return the kernels and regularizations that the theory chose, as rows and columns."""
        memory, rule = (int(np.argmin(np.abs(parameters - one))) for one in wanted)
        lam = tried[rule].regularization
        best = float(np.clip(np.ravel(at_best.regularization)[rule], lam[0], lam[-1]))
        return {"theory_memory": (memory, 0), "theory_rule": (rule, int(np.argmin(np.abs(np.log(lam / best)))))}

    def _choice(self, parameters: Array, tried: list[Tried], counted: RuleErrors, way: Choose) -> Choice:
        """Return the kernel and regularization that a way to choose takes, with its errors."""
        row, column = place = way(counted.against_labels)
        chosen, nested = tried[row], counted.nested(way, self.trial.seed)
        regularization = float(chosen.regularization[column])
        left_out = self.predict([chosen], regularization, self.trial.trained_share)
        fitted = self.predict([chosen], regularization)
        return Choice(
            parameter=float(parameters[row]),
            regularization=regularization,
            kernel_angle=float(chosen.numbers.kernel.kernel_angle),
            generalization_error=counted.estimate(place),
            nested_generalization_error=nested.estimate(),
            generalization_error_clipped=bool(counted.clipped[place]),
            nested_generalization_error_clipped=bool(nested.clipped[0, 0]),
            memorization_error=float(chosen.forgotten[self.facts.exceptions, column].mean()),
            predicted_generalization_error=float(left_out.generalization_error[0]),
            predicted_memorization_error=float(fitted.memorization_error[0]),
        )


def _measured(name: str, tried: list[Tried]) -> Array:
    return np.array([getattr(one.numbers.kernel, name) for one in tried])


def _least(errors: Array) -> Place:
    """Return the place of the least error; among equals the smallest kernel parameter and regularization."""
    row, column = np.unravel_index(int(np.argmin(errors)), errors.shape)
    return int(row), int(column)


def _always(place: Place) -> Choose:
    """Return the function that gives this place whatever the errors are."""
    return lambda _: place


def _least_where(allowed: Flags) -> Choose:
    """Return the function that gives the place of the least error among those allowed."""
    return lambda errors: _least(np.where(allowed, errors, np.inf))


def _regularization_grid() -> Array:
    return np.geomspace(*REGULARIZATION_RANGE, REGULARIZATION_COUNT)


def find_facts(trial: KernelTrial, flags: Flags | None, fact_fraction: float | None) -> Facts:
    """Return the share of facts, given, counted or estimated, and the samples on which memory is measured."""
    share, source = None, ESTIMATED
    if fact_fraction is not None:
        value = float(scalar("fact_fraction", fraction("fact_fraction", fact_fraction, SHARE_HINT)))
        share, source = Estimate(value), GIVEN
    elif flags is not None:
        share, source = Estimate(float(flags.mean())), COUNTED
    if share is not None and not share.value < 1.0:
        raise InputError("fact_fraction must be below 1: when every label is a fact there is no rule to learn.")
    if share is not None and flags is not None:
        return Facts(flags, share, source, *_or_all(flags, FACTS))
    grid = np.geomspace(*trial.parameter_range, ANGLE_POINTS)
    middle = grid[int(np.argmin(np.abs(trial.angles(grid) - np.pi / 4)))]
    outputs = trial.evaluate(float(middle), _regularization_grid()).left_out
    best = outputs[:, int(np.argmin(wrong_signs(outputs, trial.labels).mean(axis=0)))]
    if share is None:
        share = estimate_fact_fraction(best, trial.labels)
        if not share.high < 1.0:
            raise InputError(
                f"labels must follow a rule; by the estimate {share} of their share they may be facts alone. "
                "Give more samples, or fact_fraction if it is known."
            )
    return Facts(flags, share, source, *_or_all(best * trial.labels < 0.0, CONTRADICTED))


def _or_all(exceptions: Flags, name: str) -> tuple[Flags, str]:
    """Return the samples on which memory is measured and what they are called: all of them where there is none."""
    return (exceptions, name) if exceptions.any() else (np.ones_like(exceptions), ALL)


def advise(
    inputs: ArrayLike,
    labels: ArrayLike,
    *,
    is_fact: ArrayLike | None = None,
    fact_fraction: float | None = None,
    loss: str = "square",
    family: str = "gaussian",
    parameters: ArrayLike | None = None,
    normalize: bool = False,
    folds: int = 5,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Advice:
    """Say which kernel and regularization to use, by cross-validation, and whether the theory describes these data.

    Parameters
    ----------
    inputs : array_like, (n, d)
        Standardized, as :func:`~genlaws.rules_facts.labels.task.draw_labeled` does.
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
    normalize : bool
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
    if not isinstance(normalize, bool | np.bool_):
        raise InputError(f"normalize must be true or false; got {normalize!r}.")
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function of two numbers; got {progress!r}.")
    given = None if parameters is None else _checked(family, parameters)
    trial = KernelTrial(
        inner_products(x, normalize=bool(normalize)),
        y,
        loss,
        family,
        whole_number("folds", folds, at_least=2),
        whole_number("seed", seed),
    )
    question = Question(trial, find_facts(trial, flags, fact_fraction))
    wanted = question.theory_parameters()
    tried = _joined(np.geomspace(*trial.parameter_range, PARAMETER_COUNT) if given is None else given, wanted)
    lam = question.relative_regularizations(wanted[1])
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
