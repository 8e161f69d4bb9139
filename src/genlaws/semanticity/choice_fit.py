"""What :func:`genlaws.semanticity.choices.fit_choices` returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array
from genlaws.semanticity.choice_model import SCALARS, ChoiceModel, choice_probabilities
from genlaws.semanticity.choice_trials import Trials

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ChoiceFit:
    r"""The parameters under which the recorded choices are likeliest.

    Attributes
    ----------
    shape : str
    resolution, background, temperature, lapse : float
        :math:`\varepsilon`, :math:`\Delta`, :math:`T`, :math:`\lambda`, fitted or as they were fixed.
    exponent : float or None
        Of the power law; None for the other shapes.
    offsets : dict of str to float
        Liking for each answer option against the first in alphabetical order; empty if none were fitted or given.
    position_effects : tuple of float
        Liking for each place in the list against the first; empty if none were fitted or given.
    intervals : dict of str to (low, high)
        95 % profile-likelihood intervals. An end that the data leave open is 0 or infinite.
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
    unparsed_interval : (low, high)
        95 % Wilson interval of the share of trials without an answer.
    converged : bool
    residual : float
        Length of the gradient at the maximum, in standard errors.
    message : str
        What happened, in a sentence or two.
    """

    shape: str
    resolution: float
    background: float
    exponent: float | None
    temperature: float
    lapse: float
    offsets: dict[str, float]
    position_effects: tuple[float, ...]
    intervals: dict[str, tuple[float, float]]
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
    unparsed_interval: tuple[float, float]
    converged: bool
    residual: float
    message: str

    @property
    def model(self) -> ChoiceModel:
        """The fitted model, for example to simulate with."""
        exponent = 2.0 if self.exponent is None else self.exponent
        scalars = (self.resolution, self.background, exponent, self.temperature, self.lapse)
        return ChoiceModel(self.shape, *scalars, offsets=self.offsets, position_effects=self.position_effects)

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
        probabilities: Array = choice_probabilities(shown, self.model)[0]
        return probabilities

    def to_frame(self) -> pd.DataFrame:
        """Return one row per parameter: its value, the ends of its interval, and whether it was fitted."""
        import pandas as pd  # noqa: PLC0415

        values: dict[str, float | None] = {name: getattr(self, name) for name in SCALARS}
        values |= {f"offset[{name}]": value for name, value in self.offsets.items()}
        values |= {f"position[{i}]": value for i, value in enumerate(self.position_effects, start=1)}
        rows = [
            (name, value, *self.intervals.get(name, (np.nan, np.nan)), name in self.fitted)
            for name, value in values.items()
            if value is not None
        ]
        return pd.DataFrame(rows, columns=["parameter", "value", "low", "high", "fitted"])

    def __str__(self) -> str:
        low, high = self.intervals.get("resolution", (np.nan, np.nan))
        known = "" if np.isnan(low) else f"95 % interval {low:.4g} to {high:.4g}; "
        unread = f", {self.unparsed_count} more unparsed" if self.unparsed_count else ""
        if "resolution" in self.at_limit and np.isfinite(high):
            return f"resolution below {high:.4g} (95 % interval; {self.parsed_count} trials{unread})"
        return f"resolution {self.resolution:.4g} ({known}{self.parsed_count} trials{unread})"
