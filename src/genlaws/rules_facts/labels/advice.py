r"""Advice on the kernel and the regularization for given data, from cross-validation and from the theory.

Cross-validation chooses. Its choices are compared with those of the theory, which needs three numbers: the share of
facts ε, and the effective :math:`(\mu_1, \mu_\star)` of the kernel on the data
(:mod:`~genlaws.rules_facts.finite_size.gram`). In the theory, ridge regression that must remember every fact
generalizes best at the angle :math:`\theta_{opt} = \arcsin\bigl((1-\varepsilon)\sqrt{2/\pi}\bigr)`; the hinge loss
has its own angle, which also depends on the samples per effective dimension. The advice includes the errors of the
theory's choices on these data, and whether the predicted errors agree with the measured ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, one_of, real, whole_number, within
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.core.result import question
from genlaws.core.running import Running, checked_running
from genlaws.rules_facts.finite_size.gram import gram_numbers, inner_products
from genlaws.rules_facts.finite_size.learned_path import wrong_signs
from genlaws.rules_facts.kernels.families import FAMILIES
from genlaws.rules_facts.kernels.kernel import Kernel
from genlaws.rules_facts.labels.fact_fraction import MIN_SAMPLES, estimate_fact_fraction
from genlaws.rules_facts.labels.kernel_trials import (
    PARAMETER_RANGES,
    Choose,
    EvaluatedKernel,
    Flags,
    GeneralizationErrors,
    GridPlace,
    KernelTrial,
)
from genlaws.rules_facts.labels.result import ALL, CONTRADICTED, FACTS, Advice, Choice
from genlaws.rules_facts.parameters import Folds, KernelFamily, KernelParameters, Normalize, Seed, TrainableLoss
from genlaws.rules_facts.theory.optimal import optimal_angle, optimal_regularization
from genlaws.rules_facts.theory.problem import Solution, read_fact_fraction
from genlaws.rules_facts.theory.solve import solve

# Regularizations tried, in units of the mean diagonal of the Gram matrix.
REGULARIZATION_RANGE, REGULARIZATION_COUNT = (1e-6, 1e3), 28
# Facts count as remembered when at most this share of them is wrong.
MAX_REMEMBERED_ERROR = 0.01
GIVEN, COUNTED, ESTIMATED = "given", "counted", "estimated"
# Kernels tried by default.
PARAMETER_COUNT = 9
# A parameter that differs from the theory's by less than this share counts as equal to it.
PARAMETER_TIE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Facts:
    """Known or estimated facts among n samples.

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
class Advisor:
    """A training set with the known or estimated facts, and the advice for it."""

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
        """Return the parameters whose measured angles are nearest to `angles`, within the range of the family."""
        grid, measured = self.trial.angle_grid
        order = np.argsort(measured)
        memory, rule = np.exp(np.interp(self.angles, measured[order], np.log(grid[order])))
        return float(memory), float(rule)

    def relative_regularizations(self, parameter: float) -> Array:
        """Return the grid to try, including the one that the theory prefers for the rule at this parameter."""
        gram = self.trial.gram(parameter)
        best = optimal_regularization(
            self.trial.loss,
            sample_ratio=self.sample_ratio,
            fact_fraction=self.facts.share.value,
            kernel=gram_numbers(gram, self.trial.products).kernel,
        )
        relative = float(np.clip(best / float(np.diagonal(gram).mean()), *REGULARIZATION_RANGE))
        return np.unique(np.append(_regularization_grid(), relative))

    def predict(self, tried: list[EvaluatedKernel], regularization: float | str, share: float = 1.0) -> Solution:
        """Return the theory's errors at each kernel, for a learner trained on a share of the samples."""
        return solve(
            self.trial.loss,
            sample_ratio=share * self.sample_ratio,
            fact_fraction=self.facts.share.value,
            kernel=Kernel(_kernel_numbers("mu_1", tried), _kernel_numbers("mu_star", tried)),
            regularization=regularization,
        )

    def advise(self, tried: list[EvaluatedKernel], wanted: tuple[float, float], dimension: int) -> Advice:
        """Return the choices of cross-validation and of the theory with their errors."""
        counted, seed, share = self._count(tried), self.trial.seed, self.trial.trained_share
        remembered = np.array([one.forgotten[self.facts.exceptions].mean(axis=0) for one in tried])
        remembers = _least_choice(remembered <= max(MAX_REMEMBERED_ERROR, float(remembered.min())))
        ways: dict[str, Choose] = {"found_memory": remembers, "found_rule": _place_of_least}
        ways |= {name: _fixed_choice(place) for name, place in self._places(tried, wanted).items()}
        choices: dict[str, Any] = {name: self._choice(tried, counted, way) for name, way in ways.items()}
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
            parameter=np.array([one.parameter for one in tried]),
            kernel_angle=_kernel_numbers("kernel_angle", tried),
            mu_1=_kernel_numbers("mu_1", tried),
            mu_star=_kernel_numbers("mu_star", tried),
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
            price_of_memory=counted.excess(remembers, _place_of_least, seed),
            price_of_theory=counted.excess(ways["theory_rule"], _place_of_least, seed),
            price_of_theory_memory=counted.excess(ways["theory_memory"], remembers, seed),
        )

    def _count(self, tried: list[EvaluatedKernel]) -> GeneralizationErrors:
        """Return the errors on the samples that follow the rule if these are known, else on all samples."""
        wrong = np.stack([wrong_signs(one.left_out, self.trial.labels) for one in tried])
        if self.facts.flags is None:
            return GeneralizationErrors(wrong, self.facts.share)
        return GeneralizationErrors(wrong[:, ~self.facts.flags], Estimate(0.0))

    def _places(self, tried: list[EvaluatedKernel], wanted: tuple[float, float]) -> dict[str, GridPlace]:
        """Return the kernels and regularizations that the theory chose, as rows and columns."""
        memory, rule = (int(np.argmin([abs(one.parameter - value) for one in tried])) for value in wanted)
        lam = tried[rule].regularization
        best = float(np.clip(self.predict(tried, "optimal").regularization[rule], lam[0], lam[-1]))
        return {"theory_memory": (memory, 0), "theory_rule": (rule, int(np.argmin(np.abs(np.log(lam / best)))))}

    def _choice(self, tried: list[EvaluatedKernel], counted: GeneralizationErrors, way: Choose) -> Choice:
        """Return the kernel and regularization that a selection rule picks, with their errors."""
        row, column = place = way(counted.against_labels)
        chosen, nested = tried[row], counted.nested(way, self.trial.seed)
        regularization = float(chosen.regularization[column])
        left_out = self.predict([chosen], regularization, self.trial.trained_share)
        fitted = self.predict([chosen], regularization)
        return Choice(
            parameter=chosen.parameter,
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


def _kernel_numbers(name: str, tried: list[EvaluatedKernel]) -> Array:
    return np.array([getattr(one.numbers.kernel, name) for one in tried])


def _place_of_least(errors: Array) -> GridPlace:
    """Return the place of the least error; of equal ones, the smallest kernel parameter and regularization."""
    row, column = np.unravel_index(int(np.argmin(errors)), errors.shape)
    return int(row), int(column)


def _fixed_choice(place: GridPlace) -> Choose:
    """Return the function that gives this place whatever the errors are."""
    return lambda _: place


def _least_choice(allowed: Flags) -> Choose:
    """Return the function that gives the place of the least error among those allowed."""
    return lambda errors: _place_of_least(np.where(allowed, errors, np.inf))


def _regularization_grid() -> Array:
    return np.geomspace(*REGULARIZATION_RANGE, REGULARIZATION_COUNT)


def find_facts(trial: KernelTrial, flags: Flags | None, fact_fraction: float | None) -> Facts:
    """Return the share of facts, given, counted or estimated, and the samples on which memory is measured."""
    share, source = None, ESTIMATED
    if fact_fraction is not None:
        share, source = Estimate(read_fact_fraction(fact_fraction)), GIVEN
    elif flags is not None:
        share, source = Estimate(float(flags.mean())), COUNTED
    if share is not None and not share.value < 1.0:
        raise InputError("fact_fraction must be below 1: when every label is a fact there is no rule to learn.")
    if share is not None and flags is not None:
        return Facts(flags, share, source, *_exceptions_or_all(flags, FACTS))
    grid, measured = trial.angle_grid
    middle = grid[int(np.argmin(np.abs(measured - np.pi / 4)))]
    outputs = trial.evaluate(float(middle), _regularization_grid()).left_out
    best = outputs[:, int(np.argmin(wrong_signs(outputs, trial.labels).mean(axis=0)))]
    if share is None:
        share = estimate_fact_fraction(best, trial.labels)
        if not share.high < 1.0:
            raise InputError(
                f"labels must follow a rule; the estimated fact fraction {share} allows that all labels are facts. "
                "Give more samples, or fact_fraction if it is known."
            )
    return Facts(flags, share, source, *_exceptions_or_all(best * trial.labels < 0.0, CONTRADICTED))


def _exceptions_or_all(exceptions: Flags, name: str) -> tuple[Flags, str]:
    """Return the samples on which memory is measured and their name; all samples if there are no exceptions."""
    return (exceptions, name) if exceptions.any() else (np.ones_like(exceptions), ALL)


@question
def advise(
    inputs: ArrayLike,
    labels: ArrayLike,
    *,
    is_fact: ArrayLike | None = None,
    fact_fraction: float | None = None,
    loss: TrainableLoss = "square",
    family: KernelFamily = "gaussian",
    parameters: KernelParameters = None,
    normalize: Normalize = False,
    folds: Folds = 5,
    seed: Seed = 0,
    name: str = "data",
    running: Running | None = None,
) -> Advice:
    """Recommend a kernel and a regularization by cross-validation, and check whether the theory describes the data.

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
        Parameters to try; the theory's choices are added.
    normalize : bool
        Scale every input to squared length d first; the geometric family needs it.
    folds : int
        Parts of the cross-validation for the hinge loss. Ridge regression leaves out one sample at a time.
    seed : int
        Assigns the samples to folds.
    name : str
        What the data are called.
    running : Running, optional
        Its steps are the kernels.
    """
    x, y, flags = _read_samples(inputs, labels, is_fact)
    one_of("family", family, PARAMETER_RANGES)
    shown = checked_running(running)
    given = None if parameters is None else _check_parameters(family, parameters)
    trial = KernelTrial(
        inner_products(x, normalize=bool(normalize)),
        y,
        loss,
        family,
        whole_number("folds", folds, at_least=2),
        whole_number("seed", seed),
    )
    advisor = Advisor(trial, find_facts(trial, flags, fact_fraction))
    wanted = advisor.theory_parameters()
    tried = _merge_parameters(np.geomspace(*trial.parameter_range, PARAMETER_COUNT) if given is None else given, wanted)
    lam = advisor.relative_regularizations(wanted[1])
    results = []
    shown.start(len(tried), "kernels")
    for parameter in tried:
        results.append(trial.evaluate(float(parameter), lam))
        shown.advance()
    return advisor.advise(results, wanted, x.shape[1])


def _merge_parameters(tried: Array, wanted: tuple[float, float]) -> Array:
    """Return the parameters to try, ascending; the theory's replace those that are nearly equal to them."""
    away = np.abs(np.log(tried[:, None] / np.array(wanted))).min(axis=1) > PARAMETER_TIE_TOLERANCE
    return np.unique(np.concatenate([tried[away], wanted]))


def _check_parameters(family: str, parameters: ArrayLike) -> Array:
    allowed = FAMILIES[family].parameters[0]
    ends = {"open_low": allowed.open_low, "open_high": allowed.open_high}
    given = within("parameters", parameters, allowed.low, allowed.high, **ends, hint=f"Each is {allowed.description}.")
    if given.ndim != 1 or not given.size:
        raise InputError(f"parameters must be a list of at least one number; got shape {given.shape}.")
    return given


def _read_samples(inputs: ArrayLike, labels: ArrayLike, is_fact: ArrayLike | None) -> tuple[Array, Array, Flags | None]:
    x, y = real("inputs", inputs), real("labels", labels)
    if x.ndim != 2 or y.shape != (len(x),) or len(y) < MIN_SAMPLES:
        raise InputError(
            f"inputs must be a matrix with {MIN_SAMPLES} or more rows, and labels must have one entry per row; "
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
    if flags.dtype != bool or flags.shape != y.shape or np.count_nonzero(~flags) < MIN_SAMPLES:
        raise InputError(f"is_fact must be true or false for each sample, and false for {MIN_SAMPLES} or more.")
    return x, y, flags
