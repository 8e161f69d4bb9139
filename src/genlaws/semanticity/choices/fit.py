"""Fit Luce choice to recorded choices: resolution, background and lapse rate, with biases as nuisance parameters.

A chooser who prefers one answer looks blurred to a fit that knows only distances. So each answer gets an offset, each
place in the list may get an effect, and a share of the answers may be lapses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole, one_of
from genlaws.core.errors import InputError
from genlaws.core.estimate import wilson_interval
from genlaws.semanticity.choices.model import (
    BACKGROUND,
    EXPONENT,
    LAPSE,
    SCALARS,
    ChoiceLikelihood,
    ChoiceModel,
    background_of,
    choice_probabilities,
    to_model,
    to_point,
)
from genlaws.semanticity.choices.search import (
    MIN_IMPROVEMENT,
    THRESHOLD_BACKGROUND,
    BetterPointError,
    Optimum,
    Search,
    interval_ends,
)
from genlaws.semanticity.choices.trials import Trials
from genlaws.semanticity.theory.similarity import SHAPES

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ChoiceFit", "fit_choices"]

FIT = "fit"
MAX_RESIDUAL = 1e-3  # standard errors; a maximum this close is as good as reached
MAX_RESTARTS = 5
INTERVALS = ("scalars", "all", "none")


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
        Preference for each answer option against the first in alphabetical order; empty if none were fitted or given.
    position_effects : tuple of float
        Preference for each place in the list against the first; empty if none were fitted or given.
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


def fit_choices(
    trials: Trials,
    shape: str = "exponential",
    *,
    resolution: float | str = FIT,
    background: float | str = FIT,
    exponent: float | str = 2.0,
    temperature: float | str = 1.0,
    lapse: float | str = FIT,
    offsets: Mapping[str, float] | str | None = FIT,
    position_effects: Sequence[float] | str | None = None,
    intervals: Sequence[str] | str = "scalars",
) -> ChoiceFit:
    r"""Fit Luce choice to recorded choices by maximum likelihood, with profile-likelihood intervals.

    .. math:: P(k) = (1-\lambda)\,\operatorname{softmax}_k\Big(\frac{\log g(d_k)}{T} + \text{offset} +
        \text{effect}\Big) + \frac{\lambda}{n}

    Each parameter is either fitted, with ``"fit"``, or fixed at the number given. A trial with scores counts with
    :math:`\sum_k \text{score}_k \log P(k)`, that is, as one choice; trials without an answer are counted and left out.

    Parameters
    ----------
    trials : Trials
    shape : str
        ``constant``, ``linear``, ``exponential``, ``gaussian`` or ``power-law``.
    resolution, background, lapse : float or "fit"
        :math:`\varepsilon`, :math:`\Delta`, :math:`\lambda`; 0 switches background or lapses off.
    exponent : float or "fit"
        Of the power law; the other shapes do not use it.
    temperature : float or "fit"
        :math:`T`. It is refused where other parameters do the same: for the constant shape only
        :math:`\Delta^{1/T}` matters; without background only :math:`\varepsilon T` (exponential),
        :math:`\varepsilon\sqrt T` (Gaussian), and :math:`a/T` (power law with fitted exponent).
    offsets : "fit", mapping or None
        One per answer option, the first in alphabetical order being 0; fitted where the trials name two or more.
    position_effects : "fit", sequence or None
        One per place in the list, the first being 0.
    intervals : "scalars", "all", "none" or list of names
        For which fitted parameters to compute intervals; the scalars are all but offsets and effects.

    Returns
    -------
    ChoiceFit

    Raises
    ------
    genlaws.core.errors.InputError
        If the trials cannot distinguish the requested parameters, or are fewer than the parameters.

    Notes
    -----
    The likelihood of the constant shape jumps where the resolution passes a recorded distance, so any resolution
    between two distances is as good as another: the middle is returned, and the interval is the region of likelihood
    ratios above 2.5 % (not the 15 % of the regular case), which covers 95 % for a jump. Without background and lapses a
    choice at zero similarity is impossible; the fitted resolution then includes every choice.
    """
    one_of("shape", shape, SHAPES)
    given: dict[str, float | str] = {
        "resolution": resolution,
        "background": background,
        "exponent": exponent if shape == "power-law" else 2.0,
        "temperature": temperature,
        "lapse": lapse,
    }
    likelihood = ChoiceLikelihood(trials, shape)
    free = _free_numbers(likelihood, given, offsets, position_effects)
    _refuse_too_few(trials, len(free))
    _refuse_unidentifiable(likelihood, given, _is_fitted(offsets) and _is_fitted(position_effects))
    search = Search(likelihood, free, _template(likelihood, given, offsets, position_effects))
    best, ends = _search_and_profile(search, _wanted(likelihood, free, intervals))
    return _result(trials, search, best, ends, (offsets is not None, position_effects is not None))


def parameter_names(likelihood: ChoiceLikelihood) -> list[str]:
    """Return the names of the coordinates in their order."""
    offsets = [f"offset[{name}]" for name in likelihood.names[1:]]
    return [*SCALARS, *offsets, *(f"position[{i}]" for i in range(2, likelihood.place_count + 2))]


def _free_numbers(
    likelihood: ChoiceLikelihood,
    given: Mapping[str, float | str],
    offsets: Mapping[str, float] | str | None,
    position_effects: Sequence[float] | str | None,
) -> Whole:
    for name, value in {**given, "offsets": offsets, "position_effects": position_effects}.items():
        if isinstance(value, str) and value != FIT:
            raise InputError(f"{name} must be 'fit' or given as numbers; got {value!r}.")
    fitted = [_is_fitted(value) for value in given.values()]
    fitted += [_is_fitted(offsets)] * likelihood.offset_count
    fitted += [_is_fitted(position_effects)] * likelihood.place_count
    return np.flatnonzero(fitted)


def _is_fitted(value: object) -> bool:
    return isinstance(value, str) and value == FIT


def _template(
    likelihood: ChoiceLikelihood,
    given: Mapping[str, float | str],
    offsets: Mapping[str, float] | str | None,
    position_effects: Sequence[float] | str | None,
) -> Array:
    """Return a point with the fixed values in their places; the model checks them."""
    start = {"resolution": 1.0, "background": 0.1, "exponent": 2.0, "temperature": 1.0, "lapse": 0.05}
    scalars = {name: start[name] if _is_fitted(value) else value for name, value in given.items()}
    preferences = {} if offsets is None or isinstance(offsets, str) else offsets
    effects = () if position_effects is None or isinstance(position_effects, str) else tuple(position_effects)
    model = ChoiceModel(likelihood.shape, **scalars, offsets=preferences, position_effects=effects)  # type: ignore[arg-type]
    return to_point(likelihood, model)


def _refuse_too_few(trials: Trials, parameter_count: int) -> None:
    parsed = trials.trial_count - trials.unparsed_count
    if parsed <= parameter_count:
        raise InputError(
            f"The trials with an answer must outnumber the parameters to fit; got {parsed} of {trials.trial_count} "
            f"trials with an answer and {parameter_count} parameters. Record more, or switch parameters off."
        )


def _refuse_unidentifiable(likelihood: ChoiceLikelihood, given: Mapping[str, float | str], both: bool) -> None:
    """Refuse parameters that do the same as others, whatever was recorded."""
    if _is_fitted(given["temperature"]):
        same = same_as_temperature(likelihood.shape, given)
        if same:
            raise InputError(f"temperature cannot be fitted here: {same}. Fix it, at 1 for example.")
    if both and likelihood.offset_count:
        present = likelihood.present
        pairs = set(zip(likelihood.answer[present].tolist(), likelihood.place[present].tolist(), strict=True))
        if len({answer for answer, _ in pairs}) == len(pairs) == len({place for _, place in pairs}):
            raise InputError(
                "offsets and position_effects cannot both be fitted: every answer option is always at the same place "
                "in the list, so a preference for the answer looks like a preference for the place. Fit one of them."
            )


def same_as_temperature(shape: str, given: Mapping[str, float | str]) -> str:
    """Return a phrase on the parameters that have the effect of the temperature; empty if none has."""
    background = given["background"]
    if shape == "constant" and (background == FIT or background in (0.0, 1.0)):
        return "for the constant shape only background^(1/temperature) matters"
    if background != 0 or given["resolution"] != FIT:
        return ""
    if shape == "exponential":
        return "without background only resolution × temperature matters for the exponential shape"
    if shape == "gaussian":
        return "without background only resolution × √temperature matters for the Gaussian shape"
    if shape == "power-law" and given["exponent"] == FIT:
        return "without background only exponent / temperature matters for the power law"
    return ""


def _wanted(likelihood: ChoiceLikelihood, free: Whole, intervals: Sequence[str] | str) -> dict[str, int]:
    """Return the names and numbers of the parameters whose intervals are requested."""
    names = parameter_names(likelihood)
    fitted = {names[number]: int(number) for number in free}
    if isinstance(intervals, str):
        which = one_of("intervals", intervals, INTERVALS, "Or give a list of names.")
        some = {"scalars": SCALARS, "all": tuple(fitted), "none": ()}[which]
        return {name: number for name, number in fitted.items() if name in some}
    return {one_of("intervals", name, fitted): fitted[name] for name in intervals}


def _search_and_profile(search: Search, wanted: dict[str, int]) -> tuple[Optimum, dict[str, tuple[float, float]]]:
    """Return the maximum and the intervals; a likelier point met on a profile becomes the maximum."""
    best = search.maximize()
    for _ in range(MAX_RESTARTS):
        if not np.isfinite(best.value):
            break
        try:
            ends = {name: interval_ends(search, best, number) for name, number in wanted.items()}
        except BetterPointError as better:
            best = search.resume(better.optimum)
        else:
            return best, {name: _natural(search.likelihood.shape, name, pair) for name, pair in ends.items()}
    return best, dict.fromkeys(wanted, (np.nan, np.nan))


def _natural(shape: str, name: str, ends: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of an interval as values of the parameter instead of the coordinate."""
    if name in ("resolution", "exponent", "temperature"):
        return float(np.exp(ends[0])), float(np.exp(ends[1]))
    if name == "background":
        low = ends[0] if ends[0] > THRESHOLD_BACKGROUND else 0.0
        return background_of(shape, low), background_of(shape, ends[1])
    return ends


def _result(
    trials: Trials,
    search: Search,
    best: Optimum,
    ends: dict[str, tuple[float, float]],
    shown: tuple[bool, bool],
) -> ChoiceFit:
    likelihood, count = search.likelihood, len(search.box.free)
    model = to_model(likelihood, best.point)
    parsed = trials.trial_count - trials.unparsed_count
    unparsed = wilson_interval(trials.unparsed_count, trials.trial_count)
    most = float(likelihood.weights @ np.log(likelihood.weights))  # of any model: 0 for choices, by Gibbs for scores
    converged = bool(np.isfinite(best.value) and (best.residual < MAX_RESIDUAL or most - best.value < MIN_IMPROVEMENT))
    return ChoiceFit(
        shape=model.shape,
        resolution=model.resolution,
        background=model.background,
        exponent=model.exponent if model.shape == "power-law" else None,
        temperature=model.temperature,
        lapse=model.lapse,
        offsets=dict(model.offsets) if shown[0] else {},
        position_effects=model.position_effects if shown[1] else (),
        intervals=ends,
        at_limit=tuple(parameter_names(likelihood)[number] for number in search.at_limit),
        fitted=tuple(parameter_names(likelihood)[number] for number in search.box.free),
        log_likelihood=best.value,
        log_likelihood_per_trial=best.value / parsed,
        chance_log_likelihood=-float(np.log(likelihood.trials.option_counts).sum()),
        parameter_count=count,
        aic=2.0 * count - 2.0 * best.value,
        trial_count=trials.trial_count,
        parsed_count=parsed,
        unparsed_count=trials.unparsed_count,
        unparsed_interval=(unparsed.low, unparsed.high),
        converged=converged,
        residual=best.residual,
        message=_message(search, best, converged, ends),
    )


def _message(search: Search, best: Optimum, converged: bool, ends: dict[str, tuple[float, float]]) -> str:
    """Return what happened, and what the numbers cannot be trusted for."""
    if not np.isfinite(best.value):
        return (
            "A recorded choice has probability zero under every setting tried, since its similarity is zero; fit a "
            "background or a lapse rate."
        )
    names, point, box = parameter_names(search.likelihood), best.point, search.box
    short = f"The search stopped {best.residual:.1e} standard errors short."
    parts = [] if search.at_limit else ["The maximum was found."]
    parts = parts if converged else [short]
    if BACKGROUND in search.at_limit:
        parts.append(
            "There is no best resolution or background, only upper limits: the choices become likelier as both go to 0 "
            "together and the similarity becomes a threshold. The constant shape is this limit."
        )
    for i in search.at_limit if BACKGROUND not in search.at_limit else ():
        side, limit = ("a lower", "infinity") if i == EXPONENT else ("an upper", "0")
        parts.append(
            f"There is no best {names[i]}, only {side} limit: the choices become likelier all the way to {names[i]} "
            f"{limit}, as those of a chooser who is always right, or right but for lapses."
        )
    extreme = [i for i in box.free if i not in (BACKGROUND, LAPSE) and (point[i] in (box.low[i], box.high[i]))]
    if extreme:
        parts.append(f"{', '.join(names[i] for i in extreme)} ran to the limit of the search.")
    if any(i >= len(SCALARS) for i in extreme):
        parts.append("An answer or place that is never, or always, chosen has no finite effect.")
    if any(np.isnan(low) for low, _ in ends.values()):
        parts.append("No intervals are given, because each search for them found a likelier point.")
    if search.edges.size and point[BACKGROUND] == 0 and point[LAPSE] == 0:
        parts.append("Without background and lapses the resolution must cover every choice, so single ones decide it.")
    parts += _format_undetermined(search, best)
    if search.likelihood.trials.scores.any():
        parts.append("Trials with scores count as one choice each.")
    return " ".join(parts)


def _format_undetermined(search: Search, best: Optimum) -> list[str]:
    """Return sentences on the parameters that the trials do not determine, or cannot distinguish, at the maximum."""
    names = parameter_names(search.likelihood)
    silent, alike = search.undetermined(best)
    parts = []
    if silent:
        parts.append(f"These trials say nothing about {', '.join(names[number] for number in silent)}.")
    if alike:
        parts.append(f"These trials cannot distinguish {', '.join(names[number] for number in alike)}.")
    return parts
