"""What :func:`genlaws.rules_facts.advise` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.intervals import Estimate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Choice:
    """A kernel and a regularisation, what the theory predicts for them and what cross-validation found.

    Attributes
    ----------
    parameter, regularisation, kernel_angle : float
    generalisation_error : Estimate
        Cross-validated, against the rule. Where the facts are not known it is corrected for their share, not below
        zero, and its interval includes that of the share.
    memorisation_error : float
        Of the learner trained on all samples, on the facts; where they are not known, on the samples whose label the
        left-out learner contradicts.
    predicted_generalisation_error, predicted_memorisation_error : float
        For Gaussian inputs with as many samples per dimension as these data have per effective dimension.
    """

    parameter: float
    regularisation: float
    kernel_angle: float
    generalisation_error: Estimate
    memorisation_error: float
    predicted_generalisation_error: float
    predicted_memorisation_error: float


@dataclass(frozen=True)
class Advice:
    """What the theory prefers for these data, and what cross-validation says about it.

    Attributes
    ----------
    loss, family : str
    sample_count, dimension : int
    effective_dimension : float
        Participation ratio of the inputs.
    fact_fraction : Estimate
        Without an interval where it was given or counted.
    fact_fraction_source : {"given", "counted", "estimated"}
    rule_count, memory_count : int
        Samples on which the generalisation and the memorisation error were counted.
    parameter, kernel_angle, mu_1, mu_star : array, (G,)
        The kernels tried, ascending in the parameter, and their measured numbers.
    regularisation : array, (G, L)
        Ascending along each row; the same multiples of the mean diagonal of the Gram matrix for every kernel.
    generalisation_error, memorisation_error : array, (G, L)
        As in :class:`~genlaws.rules_facts.advice_result.Choice`.
    generalisation_low, generalisation_high : array, (G, L)
        Ends of the interval.
    predicted_at_zero, predicted_at_best : array, (G,)
        The theory's generalisation error at λ → 0 and at the best λ.
    wanted_angle_memory, wanted_angle_rule : float
        The angles the theory prefers; a choice has another angle where the family does not reach them.
    theory_memory, theory_rule : Choice
        The theory's choice for perfect memory, and for the rule alone.
    found_memory, found_rule : Choice
        The best that cross-validation found among kernels that remember, and among all; optimistic, as it is the best
        of many.
    price_of_memory : Estimate
        How much more often the best learner that remembers breaks the rule than the best of all. Each is chosen on some
        samples and counted on others, so that this is not optimistic.
    price_of_theory : Estimate
        The same for `theory_rule` in place of the best learner that remembers.
    """

    loss: str
    family: str
    sample_count: int
    dimension: int
    effective_dimension: float
    fact_fraction: Estimate
    fact_fraction_source: str
    rule_count: int
    memory_count: int
    parameter: Array
    kernel_angle: Array
    mu_1: Array
    mu_star: Array
    regularisation: Array
    generalisation_error: Array
    generalisation_low: Array
    generalisation_high: Array
    memorisation_error: Array
    predicted_at_zero: Array
    predicted_at_best: Array
    wanted_angle_memory: float
    wanted_angle_rule: float
    theory_memory: Choice
    theory_rule: Choice
    found_memory: Choice
    found_rule: Choice
    price_of_memory: Estimate
    price_of_theory: Estimate

    @property
    def sample_ratio(self) -> float:
        """Samples per dimension."""
        return self.sample_count / self.dimension

    @property
    def effective_sample_ratio(self) -> float:
        """Samples per effective dimension, with which the theory is asked."""
        return self.sample_count / self.effective_dimension

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each kernel and regularisation."""
        import pandas as pd  # noqa: PLC0415

        of_kernel = ("parameter", "kernel_angle", "mu_1", "mu_star")
        of_both = (
            "regularisation",
            "generalisation_error",
            "generalisation_low",
            "generalisation_high",
            "memorisation_error",
        )
        length = self.regularisation.shape[1]
        columns = {name: np.repeat(getattr(self, name), length) for name in of_kernel}
        return pd.DataFrame(columns | {name: getattr(self, name).ravel() for name in of_both})
