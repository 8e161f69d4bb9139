"""The result of :func:`genlaws.rules_facts.advise`, as numbers and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.estimate import Estimate, wilson_interval
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary, text_table
from genlaws.rules_facts.labels.kernel_trials import Flags

# An angle this close to the theory's counts as reached, in radians.
ANGLE_TOLERANCE = 0.02
# A wider interval of the share of facts carries little information.
MAX_SHARE_INTERVAL = 0.3
CHOICE_LABELS = {
    "found_memory": "best found, for memory",
    "found_rule": "best found, for the rule",
    "theory_memory": "theory, for memory",
    "theory_rule": "theory, for the rule",
}
TABLE_HEADER = ("choice", "kernel", "λ", "angle", "generalization error, left out", "memorization error")
SHARE_SOURCES = {
    "given": "given",
    "counted": "the facts are known",
    "estimated": "estimated from the confidence and accuracy of left-out predictions",
}
CHOICE_NOTE = (
    "'Best found' is what cross-validation chooses. Generalization errors, and the cost of memory, are\n"
    "measured on samples that took no part in the choice."
)
THEORY_SUBJECT = "The theory, for Gaussian inputs and a linear rule,"
THEORY_AGREES = (
    f"{THEORY_SUBJECT} agrees with these data at its own choices: its errors lie within\n"
    "the measured intervals, and the choices are worse than the best found by no more than chance explains."
)
PREDICTION_OUTSIDE = "At another choice its errors lie outside the measured intervals, and are not shown."
THEORY_DISAGREES = f"{THEORY_SUBJECT} does not describe these data, so its errors are not shown:"
CLIPPED_NOTE = (
    "Clipped: fewer labels are contradicted than the share of facts explains, so the generalization error comes out\n"
    "below zero and is set to 0. The share of facts may be smaller than assumed."
)
SHARE_NOTE = "Every label that kernels of this family cannot explain counts as a fact and is included in ε."
# The samples on which memory is measured: name, singular and plural.
FACTS, CONTRADICTED, ALL = "facts", "contradicted", "all"
MEMORY_SAMPLES = {
    FACTS: ("fact", "facts"),
    CONTRADICTED: ("label that left-out predictions contradict", "labels that left-out predictions contradict"),
    ALL: ("label", "labels, all of them"),
}


@dataclass(frozen=True)
class Choice:
    """A kernel and a regularization, with the errors predicted by the theory and measured by cross-validation.

    Attributes
    ----------
    parameter, regularization, kernel_angle : float
    generalization_error : Estimate
        Cross-validated, against the rule. Where the facts are not known it is corrected for their share, and its
        interval includes that of the share. For a choice of cross-validation it is the least of many, and
        therefore too low.
    nested_generalization_error : Estimate
        The same, by nested cross-validation: the choice is made again without the samples it is counted on, so that it
        is not too low. For the theory's choices, which do not use these errors, it is the same number.
    generalization_error_clipped, nested_generalization_error_clipped : bool
        Whether the error was below zero after the correction for the facts, and was set to zero. Then fewer labels are
        contradicted than the share of facts explains, and that share may be too high.
    memorization_error : float
        Of the learner trained on all samples, on the samples named by `memory_samples` of the advice.
    predicted_generalization_error, predicted_memorization_error : float
        For Gaussian inputs with as many samples per dimension as these data have per effective dimension: on the rule,
        of a left-out learner, and on facts, of one trained on all samples. Where :meth:`Advice.predictions_fit` is
        false they do not describe these data.
    """

    parameter: float
    regularization: float
    kernel_angle: float
    generalization_error: Estimate
    nested_generalization_error: Estimate
    generalization_error_clipped: bool
    nested_generalization_error_clipped: bool
    memorization_error: float
    predicted_generalization_error: float
    predicted_memorization_error: float

    @property
    def generalization_error_text(self) -> str:
        """The nested error with its interval, and whether it was clipped."""
        error = self.nested_generalization_error
        if not self.nested_generalization_error_clipped:
            return error.brief
        # An interval that was below zero as a whole has no width after clipping, which must not look certain.
        return f"{error.brief} (clipped at 0)" if error.high > 0.0 else "0 (clipped at 0, with its whole interval)"


@dataclass(frozen=True, eq=False, repr=False)
class Advice(Result):
    """The choices of cross-validation and of the theory for these data, and whether the theory describes them.

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
        Samples on which the generalization and the memorization error were counted.
    memory_samples : {"facts", "contradicted", "all"}
        Samples of the memorization error: the known facts; if these are not known, the samples whose label the left-out
        prediction contradicts, at the kernel with an angle of 45° and its best regularization; or all samples, if there
        are none of these. Contradicted labels are harder to remember than facts, of which half agree with the rule by
        chance, so the memorization error on them is not that of the theory.
    parameter, kernel_angle, mu_1, mu_star : array, (G,)
        The kernels tried, ascending in the parameter, and their measured numbers.
    regularization : array, (G, L)
        Ascending along each row; the same multiples of the mean diagonal of the Gram matrix for every kernel.
    generalization_error, memorization_error : array, (G, L)
        As in :class:`~genlaws.rules_facts.labels.result.Choice`.
    generalization_low, generalization_high : array, (G, L)
        Ends of the interval.
    generalization_clipped : array of bool, (G, L)
        Where the generalization error came out below zero and was set to zero.
    trained_share : float
        Share of the samples that a left-out learner is trained on: 1 for ridge regression, which leaves out a single
        one, and less for the hinge loss. The theory's generalization errors are for the same share.
    predicted_at_zero, predicted_at_best : array, (G,)
        The theory's generalization error at λ → 0 and at the best λ.
    wanted_angle_memory, wanted_angle_rule : float
        The angles the theory prefers; a choice has another angle where the family does not reach them.
    theory_memory, theory_rule : Choice
        The theory's choice for perfect memory, and for the rule alone.
    found_memory, found_rule : Choice
        The best that cross-validation found among kernels that remember, and among all. A kernel
        remembers if its memorization error is at most 0.01, or the least there is.
    price_of_memory : Estimate
        How much more often the best learner that remembers breaks the rule than the best of all. Each is chosen on some
        samples and counted on others, so that this is not optimistic.
    price_of_theory : Estimate
        How much more often `theory_rule` breaks the rule than the best of all, likewise.
    price_of_theory_memory : Estimate
        How much more often `theory_memory` breaks the rule than the best that remembers, likewise.
    """

    derived = ("sample_ratio", "effective_sample_ratio", "theory_fits", "theory_misfits")
    drawn_by = "genlaws.figures.rules_facts.advice:advice_pictures"

    loss: str
    family: str
    sample_count: int
    dimension: int
    effective_dimension: float
    fact_fraction: Estimate
    fact_fraction_source: str
    rule_count: int
    memory_count: int
    memory_samples: str
    parameter: Array
    kernel_angle: Array
    mu_1: Array
    mu_star: Array
    regularization: Array
    generalization_error: Array
    generalization_low: Array
    generalization_high: Array
    generalization_clipped: Flags
    memorization_error: Array
    trained_share: float
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
    price_of_theory_memory: Estimate

    @property
    def sample_ratio(self) -> float:
        """Samples per dimension."""
        return self.sample_count / self.dimension

    @property
    def effective_sample_ratio(self) -> float:
        """Samples per effective dimension, the sample ratio of the theory."""
        return self.sample_count / self.effective_dimension

    @property
    def memory_samples_text(self) -> str:
        """Number and kind of the samples on which memory is measured, as text."""
        one, several = MEMORY_SAMPLES[self.memory_samples]
        return f"{self.memory_count} {one if self.memory_count == 1 else several}"

    @property
    def theory_fits(self) -> bool:
        """Whether no measurement contradicts the theory at its own choices; see `theory_misfits`."""
        return not self.theory_misfits

    @property
    def theory_misfits(self) -> tuple[str, ...]:
        """Sentences on where the theory contradicts these data; empty if it does not.

        The theory contradicts the data if, at one of its own two choices, a predicted error lies outside the 95 %
        interval of the measured one (see `misfits_at`), or if that choice breaks the rule more often than the choice of
        cross-validation, by an interval above zero. Of 160 Gaussian draws of 300 or 400 samples in 100 to 400
        dimensions, the case the theory is about, 16 are contradicted; of 40 draws of 400 samples in 50 dimensions, too
        few for it, 27.
        """
        own = {
            "memory": (self.theory_memory, self.price_of_theory_memory),
            "the rule": (self.theory_rule, self.price_of_theory),
        }
        levels = [
            f"at its choice for {what} {misfit}"
            for what, (choice, _) in own.items()
            for misfit in self.misfits_at(choice)
        ]
        worse = [
            f"its choice for {what} breaks the rule more often than cross-validation's, by {price.brief}"
            for what, (_, price) in own.items()
            if price.low > 0.0
        ]
        return (*levels, *worse)

    def misfits_at(self, choice: Choice) -> list[str]:
        """Return sentences on the errors that the theory predicts outside the measured 95 % interval at a choice.

        The generalization error is compared with that of nested cross-validation; the memorization error only if it is
        measured on facts, since the theory is about these.
        """
        compared = [("generalization", choice.predicted_generalization_error, choice.nested_generalization_error)]
        if self.memory_samples == FACTS:
            forgotten = wilson_interval(round(choice.memorization_error * self.memory_count), self.memory_count)
            compared.append(("memorization", choice.predicted_memorization_error, forgotten))
        return [
            f"it predicts a {what} error of {predicted:.3f}, measured {measured.brief}"
            for what, predicted, measured in compared
            if not measured.low <= predicted <= measured.high
        ]

    def predictions_fit(self, choice: Choice) -> bool:
        """Return whether the errors that the theory predicts for a choice agree with these data."""
        return self.theory_fits and not self.misfits_at(choice)

    def summary(self) -> Summary:
        """Return what to take, how it compares with the theory, and what to be careful about."""
        return _summary_of(self)

    def files(self) -> dict[str, str | bytes]:
        """Return the content of every file; the picture comes with its table and its caption."""
        texts: dict[str, str] = import_module(self.drawn_by.partition(":")[0]).advice_files(self)
        return super().files() | texts

    def to_frame(self) -> DataFrame:
        """Return one row for each kernel and regularization."""
        of_kernel = ("parameter", "kernel_angle", "mu_1", "mu_star")
        of_both = (
            "regularization",
            "generalization_error",
            "generalization_low",
            "generalization_high",
            "generalization_clipped",
            "memorization_error",
        )
        length = self.regularization.shape[1]
        columns = {name: np.repeat(getattr(self, name), length) for name in of_kernel}
        return frame_of(columns | {name: getattr(self, name).ravel() for name in of_both})


def _summary_of(advice: Advice) -> Summary:
    """Return what to take, how it compares with the theory, and what to be careful about."""
    cautions = [CHOICE_NOTE]
    if any(getattr(advice, name).nested_generalization_error_clipped for name in CHOICE_LABELS):
        cautions.append(CLIPPED_NOTE)
    if advice.fact_fraction_source == "estimated":
        cautions.append(SHARE_NOTE)
        if advice.fact_fraction.high - advice.fact_fraction.low > MAX_SHARE_INTERVAL:
            cautions.append(
                "Its interval is wide here: the theory's choices, which follow from it, rest on weak evidence."
            )
    return Summary(
        headline=[*_format_headline(advice), "", *_format_theory_verdict(advice)],
        table=_format_table(advice),
        rows=[Row(name, value) for name, value in _numbers(advice).items()],
        sentences=cautions,
    )


def _format_headline(advice: Advice) -> list[str]:
    price = advice.price_of_memory
    return [
        f"To remember, take {_format_choice(advice, advice.found_memory)} on {advice.memory_samples_text}.",
        f"For the rule alone, take {_format_choice(advice, advice.found_rule)}.",
        f"Memory costs {price.brief} of generalization error, {_format_price(price)}.",
    ]


def _format_choice(advice: Advice, choice: Choice) -> str:
    return (
        f"{_format_kernel(advice, choice.parameter)} with {_format_regularization(advice, choice)}: generalization "
        f"error {choice.generalization_error_text}, memorization error {choice.memorization_error:.3f}"
    )


def _format_theory_verdict(advice: Advice) -> list[str]:
    """Return whether the theory describes these data, and where not."""
    if advice.theory_fits:
        outside = any(not advice.predictions_fit(getattr(advice, name)) for name in CHOICE_LABELS)
        return [THEORY_AGREES, *([PREDICTION_OUTSIDE] if outside else []), *_format_missed_angles(advice)]
    return [THEORY_DISAGREES, *(f"- {one}" for one in advice.theory_misfits), *_format_missed_angles(advice)]


def _format_price(price: Estimate) -> str:
    if price.low > 0.0:
        return "more than chance explains"
    if price.high < 0.0:
        return "negative, so remembering helps"
    return "no more than chance explains"


def _format_missed_angles(advice: Advice) -> list[str]:
    """Return where the family does not reach the angle the theory prefers."""
    wanted = {
        "memory": (advice.theory_memory, advice.wanted_angle_memory),
        "the rule": (advice.theory_rule, advice.wanted_angle_rule),
    }
    return [
        f"For {what} the theory prefers an angle of {angle:.2f} rad; the nearest tried is {choice.kernel_angle:.2f}."
        for what, (choice, angle) in wanted.items()
        if abs(choice.kernel_angle - angle) > ANGLE_TOLERANCE
    ]


def _format_table(advice: Advice) -> str:
    rows: list[Sequence[str]] = [(*TABLE_HEADER, *_predictions(advice))]
    for name, title in CHOICE_LABELS.items():
        choice: Choice = getattr(advice, name)
        rows.append(
            (
                title,
                _format_kernel(advice, choice.parameter),
                f"{choice.regularization:.3g}",
                f"{choice.kernel_angle:.3f}",
                choice.generalization_error_text,
                f"{choice.memorization_error:.3f}",
                *(
                    f"{getattr(choice, field):.3f}" if advice.predictions_fit(choice) else "outside"
                    for field in _predictions(advice).values()
                ),
            )
        )
    return text_table(rows)


def _predictions(advice: Advice) -> dict[str, str]:
    """Return the columns of the theory: none if it does not fit, and memorization only if it is measured on facts."""
    if not advice.theory_fits:
        return {}
    rule, memory = "predicted_generalization_error", "predicted_memorization_error"
    return {"theory: generalization": rule} | ({"memorization": memory} if advice.memory_samples == "facts" else {})


def _numbers(advice: Advice) -> dict[str, str]:
    counts = f"generalization error from {advice.rule_count}, memorization error from {advice.memory_samples_text}"
    first, last = (_format_kernel(advice, advice.parameter[end]) for end in (0, -1))
    effective = f"per effective dimension {advice.effective_sample_ratio:.3g}"
    rows = {
        "samples n": f"{advice.sample_count}; {counts}",
        "dimension d": f"{advice.dimension}, effective {advice.effective_dimension:.1f}",
        "samples per dimension α": f"{advice.sample_ratio:.3g}, {effective}",
        "share of facts ε": f"{advice.fact_fraction.brief} ({SHARE_SOURCES[advice.fact_fraction_source]})",
        "kernels tried": f"{len(advice.parameter)}, from {first} to {last}",
    }
    chosen = {getattr(advice, name).parameter for name in CHOICE_LABELS}
    for row, parameter in enumerate(advice.parameter):
        if parameter in chosen:
            rows[_format_kernel(advice, parameter)] = (
                f"μ1 {advice.mu_1[row]:.4f}, μ* {advice.mu_star[row]:.4f}, angle {advice.kernel_angle[row]:.3f} rad"
            )
    return rows


def _format_kernel(advice: Advice, parameter: float) -> str:
    return f"{advice.family}:{parameter:.4g}"


def _format_regularization(advice: Advice, choice: Choice) -> str:
    """Return the regularization as text; the smallest one tried stands for the limit 0."""
    smallest = advice.regularization[advice.parameter == choice.parameter][0, 0]
    return "λ → 0" if choice.regularization <= smallest else f"λ = {choice.regularization:.3g}"
