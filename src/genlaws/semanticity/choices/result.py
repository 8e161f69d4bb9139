"""What fits of recorded choices answer: parameters with intervals, a comparison of shapes, a number of trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array
from genlaws.core.estimate import Estimate
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.plain import parts_of
from genlaws.core.result import Result, Row, Summary
from genlaws.semanticity.choices.model import SCALARS, ChoiceModel, choice_probabilities
from genlaws.semanticity.choices.trials import Trials

MAX_TIED_ERRORS = 2.0  # standard errors; a shape this close to the best is indistinguishable from it


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
    trial_count, fold_count : int
    """

    shapes: tuple[str, ...]
    log_likelihood_per_trial: Array
    difference: Array
    standard_error: Array
    trial_count: int
    fold_count: int

    @property
    def best(self) -> str:
        """The shape that predicts unseen choices best."""
        return self.shapes[0]

    @property
    def tied(self) -> tuple[str, ...]:
        """Shapes indistinguishable from the best."""
        found = zip(self.shapes, self.difference.tolist(), self.standard_error.tolist(), strict=True)
        return tuple(shape for shape, apart, error in found if shape != self.best and -apart <= MAX_TIED_ERRORS * error)

    def to_frame(self) -> DataFrame:
        """Return one row per shape, the best first."""
        columns = ("log_likelihood_per_trial", "difference", "standard_error")
        return frame_of({"shape": self.shapes, **{name: getattr(self, name) for name in columns}})


@dataclass(frozen=True, eq=False, repr=False)
class PowerAnalysis(Result):
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

    def to_frame(self) -> DataFrame:
        """Return one row."""
        return frame_of([parts_of(self) | {"truth": self.truth.shape, "alternative": self.alternative.shape}])

    def line(self) -> str:
        """Return the number of trials in a sentence."""
        pair = f"{self.truth.shape} from {self.alternative.shape}"
        if np.isinf(self.trial_count):
            return f"No number of trials distinguishes {pair} in this design: both predict the same choices."
        chance = f"probability {100 * self.power:.3g} % (level {100 * self.level:.3g} %)"
        return f"{self.trial_count:.0f} trials distinguish {pair} with {chance}."

    def summary(self) -> Summary:
        """Return the number of trials in a sentence."""
        return Summary(sentences=[self.line()])


@dataclass(frozen=True, eq=False, repr=False)
class ChoiceFit(Result):
    r"""The parameters under which the recorded choices are likeliest.

    Attributes
    ----------
    shape : str
    resolution, background, temperature, lapse : Estimate
        :math:`\varepsilon`, :math:`\Delta`, :math:`T`, :math:`\lambda`, fitted or as they were fixed. Intervals are
        those of the profile likelihood; an end that the data leave open is 0 or infinite.
    exponent : Estimate or None
        Of the power law; None for the other shapes.
    offsets : dict of str to Estimate
        Preference for each answer option against the first in alphabetical order; empty if none were fitted or given.
    position_effects : tuple of Estimate
        Preference for each place in the list against the first; empty if none were fitted or given.
    at_limit : tuple of str
        Fitted parameters that have no likeliest value, since the choices grow likelier all the way to a limit: to a
        resolution of 0 for a chooser who is always right. Their value is the farthest from the limit that is as likely,
        and their interval is open on that side.
    fitted : tuple of str
        Names of the fitted parameters: ``resolution``, …, ``offset[triangle]``, …, ``position[2]``, ….
    log_likelihood, log_likelihood_per_trial : float
        Over the trials that have an answer.
    chance_log_likelihood : float
        The same for a chooser who guesses.
    parameter_count : int
    aic : float
        Twice the parameter count minus twice the log-likelihood.
    trial_count, parsed_count, unparsed_count : int
        All trials, those with an answer, those without.
    unparsed_share : Estimate
        Share of trials without an answer, with Wilson's interval.
    converged : bool
    residual : float
        Length of the gradient at the maximum, in standard errors.
    message : str
        What happened, in a sentence or two.
    unused_columns : tuple of str
        Columns of the table that were not read.
    comparison : ShapeComparison or None
        How well several shapes predict choices they were not fitted to; the best of them is the one fitted.
    power_analysis : PowerAnalysis or None
        How many trials distinguish two shapes, if wanted.
    """

    drawn_by = "genlaws.figures.semanticity.measurement:choice_pictures"

    shape: str
    resolution: Estimate
    background: Estimate
    exponent: Estimate | None
    temperature: Estimate
    lapse: Estimate
    offsets: dict[str, Estimate]
    position_effects: tuple[Estimate, ...]
    at_limit: tuple[str, ...]
    fitted: tuple[str, ...]
    log_likelihood: float
    log_likelihood_per_trial: float
    chance_log_likelihood: float
    parameter_count: int
    aic: float
    trial_count: int
    parsed_count: int
    unparsed_count: int
    unparsed_share: Estimate
    converged: bool
    residual: float
    message: str
    unused_columns: tuple[str, ...] = ()
    comparison: ShapeComparison | None = None
    power_analysis: PowerAnalysis | None = None

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Every parameter by its name, such as ``resolution``, ``offset[triangle]`` or ``position[2]``."""
        found = {name: getattr(self, name) for name in SCALARS}
        found |= {f"offset[{name}]": one for name, one in self.offsets.items()}
        found |= {f"position[{place}]": one for place, one in enumerate(self.position_effects, start=1)}
        return {name: one for name, one in found.items() if one is not None}

    @property
    def model(self) -> ChoiceModel:
        """The fitted model, for example to simulate with."""
        return ChoiceModel(
            self.shape,
            self.resolution.value,
            self.background.value,
            2.0 if self.exponent is None else self.exponent.value,
            self.temperature.value,
            self.lapse.value,
            offsets={name: one.value for name, one in self.offsets.items()},
            position_effects=tuple(one.value for one in self.position_effects),
        )

    @property
    def unanswered(self) -> str:
        """Why the parameters are not those of a maximum; empty if they are."""
        return "" if self.converged else f"The {self.shape} shape could not be fitted. {self.message}"

    def predict(
        self,
        distances: ArrayLike,
        options: Sequence[str] | None = None,
        places: Sequence[int] | None = None,
    ) -> Array:
        """Return the probability of each option of one trial.

        Parameters
        ----------
        distances : list of two or more numbers
        options : list of str or None
            Names of the options; without them no offset applies.
        places : list of int or None
            Places in the list, from 1; the order given if left out.
        """
        shown = Trials.from_lists(
            [distances],
            options=None if options is None else [options],
            places=None if places is None else [places],
        )
        return np.asarray(choice_probabilities(shown, self.model)[0])

    def to_frame(self) -> DataFrame:
        """Return one row per parameter: its value, the ends of its interval, and whether it was fitted."""
        rows = [(name, one.value, one.low, one.high, name in self.fitted) for name, one in self.estimates.items()]
        return frame_of(rows, columns=["parameter", "value", "low", "high", "fitted"])

    def tables(self) -> dict[str, DataFrame]:
        """Return the parameters, and the comparison of the shapes."""
        shapes = {} if self.comparison is None else {"shapes": self.comparison.to_frame()}
        return {"parameters": self.to_frame(), **shapes}

    def line(self) -> str:
        """Return the resolution in one line."""
        low, high = self.resolution.low, self.resolution.high
        known = "" if np.isnan(low) else f"95 % interval {low:.4g} to {high:.4g}; "
        unread = f", {self.unparsed_count} more unparsed" if self.unparsed_count else ""
        if "resolution" in self.at_limit and np.isfinite(high):
            return f"resolution below {high:.4g} (95 % interval; {self.parsed_count} trials{unread})"
        return f"resolution {self.resolution.value:.4g} ({known}{self.parsed_count} trials{unread})"

    def summary(self) -> Summary:
        """Return the resolution, the shapes, the other parameters, and what could not be read."""
        gain = (self.log_likelihood - self.chance_log_likelihood) / self.parsed_count
        low, high = 100 * self.unparsed_share.low, 100 * self.unparsed_share.high
        sentences = [
            f"Log-likelihood {self.log_likelihood_per_trial:.4f} per trial, {gain:.4f} above guessing; "
            f"AIC {self.aic:.1f}."
        ]
        table = ""
        if self.comparison is not None:
            names = {"log_likelihood_per_trial": "predicted", "difference": "to best", "standard_error": "± s.e."}
            shapes = self.comparison.to_frame().rename(columns=names)
            table = shapes.to_string(index=False, float_format="{:.4f}".format)
            count = self.comparison.fold_count
            folds = f"Predicted: log-likelihood per trial of choices not used in the fit, {count} folds."
            tied = ", ".join(self.comparison.tied)
            sentences.append(f"{folds} Indistinguishable from the best: {tied}." if tied else folds)
        if self.power_analysis is not None:
            sentences.append(self.power_analysis.line())
        sentences.append(
            f"{self.unparsed_count} of {self.trial_count} answers could not be read "
            f"({100 * self.unparsed_share.value:.1f} %, 95 % interval {low:.1f} % to {high:.1f} %)."
        )
        if self.unused_columns:
            sentences.append(f"Columns not used: {', '.join(self.unused_columns)}.")
        warnings = [f"{self.message} Residual {self.residual:.1e}."]
        return Summary([Row("shape", self.shape), *self._rows()], sentences, warnings, table, [self.line()])

    def _rows(self) -> list[Row]:
        rows = []
        for name in self.fitted:
            one = self.estimates[name]
            value = "no best value" if name in self.at_limit else f"{one.value:.4g}"
            rows.append(Row(name, value, "" if np.isnan(one.low) else f"[{one.low:.4g}, {one.high:.4g}]"))
        return rows
