"""Put to theory and data the question which kernel and regularisation to use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genlaws.numerics.arguments import Array, fraction, scalar
from genlaws.numerics.errors import InputError
from genlaws.numerics.intervals import Estimate
from genlaws.rules_facts.advice_result import ALL, CONTRADICTED, FACTS, Advice, Choice
from genlaws.rules_facts.fact_share import estimate_fact_fraction
from genlaws.rules_facts.finite_size.gram_numbers import gram_numbers
from genlaws.rules_facts.kernel_trial import KernelTrial, Tried, wrong_signs
from genlaws.rules_facts.kernels import Kernel
from genlaws.rules_facts.optimal import optimal_angle, optimal_regularisation
from genlaws.rules_facts.problem import SHARE_HINT
from genlaws.rules_facts.rule_errors import Choose, Flags, Place, RuleErrors
from genlaws.rules_facts.solution import Solution
from genlaws.rules_facts.solve import solve

# Regularisations tried, in units of the mean diagonal of the Gram matrix.
REGULARISATION_RANGE, REGULARISATION_COUNT = (1e-6, 1e3), 28
# Parameters at which the angle is measured, to find the one that has the angle the theory wants.
ANGLE_POINTS = 33
# Facts count as remembered when at most this share of them is wrong.
REMEMBERED = 0.01
GIVEN, COUNTED, ESTIMATED = "given", "counted", "estimated"


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
        memory = optimal_angle(self.trial.loss, **given, regularisation=0.0)
        rule = optimal_angle(self.trial.loss, **given, regularisation="optimal")
        return float(memory), float(rule)

    def theory_parameters(self) -> tuple[float, float]:
        """Return the parameters whose measured angles are nearest to these, within the range of the family."""
        grid = np.geomspace(*self.trial.parameter_range, ANGLE_POINTS)
        measured = self.trial.angles(grid)
        order = np.argsort(measured)
        memory, rule = np.exp(np.interp(self.angles, measured[order], np.log(grid[order])))
        return float(memory), float(rule)

    def relative_regularisations(self, parameter: float) -> Array:
        """Return those to try, with the one the theory prefers for the rule at this parameter among them."""
        gram = self.trial.gram(parameter)
        best = optimal_regularisation(
            self.trial.loss,
            sample_ratio=self.sample_ratio,
            fact_fraction=self.facts.share.value,
            kernel=gram_numbers(gram, self.trial.products).kernel,
        )
        relative = float(np.clip(best / float(np.diagonal(gram).mean()), *REGULARISATION_RANGE))
        return np.unique(np.append(_regularisation_grid(), relative))

    def predict(self, tried: list[Tried], regularisation: float | str, share: float = 1.0) -> Solution:
        """Return the theory's errors at each kernel, for a learner trained on a share of the samples."""
        kernels = [one.numbers.kernel for one in tried]
        return solve(
            self.trial.loss,
            sample_ratio=share * self.sample_ratio,
            fact_fraction=self.facts.share.value,
            kernel=Kernel([float(one.mu_1) for one in kernels], [float(one.mu_star) for one in kernels]),
            regularisation=regularisation,
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
            regularisation=np.stack([one.regularisation for one in tried]),
            generalisation_error=counted.against_rule,
            generalisation_low=low,
            generalisation_high=high,
            generalisation_clipped=counted.clipped,
            memorisation_error=remembered,
            trained_share=share,
            predicted_at_zero=np.asarray(self.predict(tried, 0.0, share).generalisation_error),
            predicted_at_best=np.asarray(self.predict(tried, "optimal", share).generalisation_error),
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
        """Return the kernels and regularisations that the theory chose, as rows and columns."""
        memory, rule = (int(np.argmin(np.abs(parameters - one))) for one in wanted)
        lam = tried[rule].regularisation
        best = float(np.clip(np.ravel(at_best.regularisation)[rule], lam[0], lam[-1]))
        return {"theory_memory": (memory, 0), "theory_rule": (rule, int(np.argmin(np.abs(np.log(lam / best)))))}

    def _choice(self, parameters: Array, tried: list[Tried], counted: RuleErrors, way: Choose) -> Choice:
        """Return the kernel and regularisation that a way to choose takes, with its errors."""
        row, column = place = way(counted.against_labels)
        chosen, nested = tried[row], counted.nested(way, self.trial.seed)
        regularisation = float(chosen.regularisation[column])
        left_out = self.predict([chosen], regularisation, self.trial.trained_share)
        fitted = self.predict([chosen], regularisation)
        return Choice(
            parameter=float(parameters[row]),
            regularisation=regularisation,
            kernel_angle=float(chosen.numbers.kernel.kernel_angle),
            generalisation_error=counted.estimate(place),
            nested_generalisation_error=nested.estimate(),
            generalisation_error_clipped=bool(counted.clipped[place]),
            nested_generalisation_error_clipped=bool(nested.clipped[0, 0]),
            memorisation_error=float(chosen.forgotten[self.facts.exceptions, column].mean()),
            predicted_generalisation_error=float(left_out.generalisation_error[0]),
            predicted_memorisation_error=float(fitted.memorisation_error[0]),
        )


def _measured(name: str, tried: list[Tried]) -> Array:
    return np.array([getattr(one.numbers.kernel, name) for one in tried])


def _least(errors: Array) -> Place:
    """Return the place of the least error; among equals the smallest kernel parameter and regularisation."""
    row, column = np.unravel_index(int(np.argmin(errors)), errors.shape)
    return int(row), int(column)


def _always(place: Place) -> Choose:
    """Return the function that gives this place whatever the errors are."""
    return lambda _: place


def _least_where(allowed: Flags) -> Choose:
    """Return the function that gives the place of the least error among those allowed."""
    return lambda errors: _least(np.where(allowed, errors, np.inf))


def _regularisation_grid() -> Array:
    return np.geomspace(*REGULARISATION_RANGE, REGULARISATION_COUNT)


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
    outputs = trial.evaluate(float(middle), _regularisation_grid()).left_out
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
