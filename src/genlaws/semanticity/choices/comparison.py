"""Compare similarity shapes on recorded choices, and count the trials needed to distinguish two shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from genlaws.core.arguments import Array, one_of, scalar, whole_number, within
from genlaws.core.errors import InputError
from genlaws.semanticity.choices.fit import FIT, fit_choices, same_as_temperature
from genlaws.semanticity.choices.model import ChoiceModel, choice_log_probabilities, trial_log_likelihoods
from genlaws.semanticity.choices.trials import Trials
from genlaws.semanticity.theory.similarity import SHAPES

if TYPE_CHECKING:
    import pandas as pd

CHOICE_TOLERANCE = 1e-10  # log-likelihood per trial; two models closer than this predict the same choices


@dataclass(frozen=True)
class ShapeComparison:
    """Cross-validated log-likelihood of several shapes, the best first.

    Attributes
    ----------
    shapes : tuple of str
    log_likelihood_per_trial : array
        Mean over trials that the fit had not seen; minus infinity if one of them was impossible.
    difference : array
        The same minus that of the best; zero or negative.
    standard_error : array
        Of the difference, from its scatter over trials; NaN where the difference is infinite.
    trial_count, fold_count, seed : int
    """

    shapes: tuple[str, ...]
    log_likelihood_per_trial: Array
    difference: Array
    standard_error: Array
    trial_count: int
    fold_count: int
    seed: int

    @property
    def best(self) -> str:
        """The shape that predicts unseen choices best."""
        return self.shapes[0]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per shape, the best first."""
        import pandas as pd  # noqa: PLC0415

        columns = ("log_likelihood_per_trial", "difference", "standard_error")
        return pd.DataFrame({"shape": self.shapes, **{name: getattr(self, name) for name in columns}})

    def __str__(self) -> str:
        if len(self.shapes) == 1:
            return f"{self.best} alone was tried ({self.trial_count} trials)"
        ahead, error = -self.difference[1], self.standard_error[1]
        return (
            f"{self.best} predicts best, ahead of {self.shapes[1]} by {ahead:.4f} ± {error:.4f} per trial "
            f"({self.trial_count} trials, {self.fold_count} folds)"
        )


def compare_shapes(
    trials: Trials,
    shapes: Sequence[str] = tuple(SHAPES),
    *,
    folds: int = 5,
    seed: int = 0,
    **options: Any,
) -> ShapeComparison:
    """Compare shapes by how well they predict choices they were not fitted to.

    The trials that have an answer are split into folds; each fold is predicted by a fit to the others. The score needs
    no correction for the number of parameters.

    Parameters
    ----------
    trials : Trials
    shapes : list of str
    folds : int, at least 2
    seed : int
        Of the split into folds.
    **options
        As for :func:`~genlaws.semanticity.choices.fit.fit_choices`. A temperature to be fitted is fixed at 1 for the
        shapes that have no use for one, where this changes nothing.

    Notes
    -----
    The standard error takes the trials as independent. A difference of two standard errors is a strong hint, not a
    test: the fits of different folds share most of their trials.
    """
    names = [one_of("shapes", shape, SHAPES) for shape in shapes]
    if not names:
        raise InputError("shapes must name at least one shape; got none.")
    answered = trials.take(trials.parsed)
    count = whole_number("folds", folds, at_least=2, at_most=max(answered.trial_count, 2))
    fold = np.random.default_rng(seed).permutation(np.arange(answered.trial_count) % count)
    scores = np.empty((len(names), answered.trial_count))
    for row, shape in zip(scores, names, strict=True):
        chosen = options_for(shape, options)
        for number in range(count):
            fit = fit_choices(answered.take(fold != number), shape, intervals="none", **chosen)
            row[fold == number] = trial_log_likelihoods(answered.take(fold == number), fit.model)
    means = scores.mean(axis=1)
    order = np.argsort(-means, kind="stable")
    with np.errstate(invalid="ignore"):
        apart = scores[order] - scores[order[0]]
        error = apart.std(axis=1, ddof=1) / np.sqrt(answered.trial_count)
    return ShapeComparison(
        shapes=tuple(names[i] for i in order),
        log_likelihood_per_trial=means[order],
        difference=np.where(means[order] == means[order[0]], 0.0, apart.mean(axis=1)),
        standard_error=error,
        trial_count=answered.trial_count,
        fold_count=count,
        seed=seed,
    )


def options_for(shape: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a fit, with the temperature at 1 where this shape cannot distinguish it from the others."""
    given = {"resolution": FIT, "background": FIT, "exponent": 2.0, **options}
    redundant = options.get("temperature") == FIT and same_as_temperature(shape, given)
    return {**options, "temperature": 1.0} if redundant else dict(options)


@dataclass(frozen=True)
class PowerAnalysis:
    """How many trials it takes to distinguish one shape from another.

    Attributes
    ----------
    truth, alternative : ChoiceModel
        The chooser, and the model of the other shape that mimics it best.
    trial_count : float
        Trials needed; infinite if both predict the same choices.
    power : float
        Probability of deciding for the truth.
    level : float
        Probability, at most, of deciding for it if neither is closer.
    difference, deviation : float
        Mean and standard deviation over trials of log P(choice; truth) - log P(choice; alternative).
    """

    truth: ChoiceModel
    alternative: ChoiceModel
    trial_count: float
    power: float
    level: float
    difference: float
    deviation: float

    def __str__(self) -> str:
        pair = f"{self.truth.shape} from {self.alternative.shape}"
        if np.isinf(self.trial_count):
            return f"no number of trials distinguishes {pair} in this design: both predict the same choices"
        chance = f"probability {100 * self.power:.3g} % (level {100 * self.level:.3g} %)"
        return f"{self.trial_count:.0f} trials distinguish {pair} with {chance}"


def trials_to_distinguish(
    trials: Trials,
    truth: str | ChoiceModel,
    alternative: str,
    *,
    power: float = 0.9,
    level: float = 0.05,
    **options: Any,
) -> PowerAnalysis:
    r"""Return how many trials like these distinguish a chooser of one shape from the best imitation by another.

    The other shape is fitted to the exact choice probabilities of the truth, which finds the imitation with the least
    Kullback-Leibler divergence. Let :math:`\delta` and :math:`\sigma` be mean and standard deviation of the
    log-likelihood ratio of one trial. The mean over trials exceeds :math:`z_{1-\text{level}}` standard errors with the
    wanted power if there are at least

    .. math:: N = \Big(\frac{(z_{1-\text{level}} + z_{\text{power}})\,\sigma}{\delta}\Big)^2

    trials.

    Parameters
    ----------
    trials : Trials
        The design; its distances, names and places are used. Its answers are used if `truth` is the name of a shape.
    truth : str or ChoiceModel
        A shape, fitted to the trials first, or a model.
    alternative : str
        The other shape.
    power, level : float in (0, 1)
    **options
        As for :func:`~genlaws.semanticity.choices.fit.fit_choices`.

    Notes
    -----
    This is the test of :math:`\delta = 0` between two models neither of which contains the other. Where one does (a
    power law with fitted exponent comes close to an exponential), :math:`\delta` is near zero and the count is large.
    """
    aim = float(scalar("power", within("power", power, 0.0, 1.0, open_low=True, open_high=True)))
    risk = float(scalar("level", within("level", level, 0.0, 1.0, open_low=True, open_high=True)))
    one_of("alternative", alternative, SHAPES)
    if isinstance(truth, str):
        truth = fit_choices(trials, truth, intervals="none", **options_for(truth, options)).model
    log_p = choice_log_probabilities(trials, truth)
    p = np.exp(log_p)
    design = replace(trials, chosen=np.full_like(trials.chosen, -1), scores=p)
    imitation = fit_choices(design, alternative, intervals="none", **options_for(alternative, options)).model
    # As a difference of logarithms, since a probability may be too small for a float.
    ratio = np.subtract(log_p, choice_log_probabilities(trials, imitation), out=np.zeros_like(p), where=p > 0)
    mean = float((p * ratio).sum(axis=1).mean())
    deviation = float(np.sqrt(max((p * ratio**2).sum(axis=1).mean() - mean**2, 0.0)))
    reach = float(stats.norm.ppf(1.0 - risk) + stats.norm.ppf(aim))
    count = float(np.ceil((reach * deviation / mean) ** 2)) if mean > CHOICE_TOLERANCE else np.inf
    return PowerAnalysis(truth, imitation, count, aim, risk, mean, deviation)
