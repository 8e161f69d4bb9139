"""Fit Luce choice to recorded choices, compare shapes, and count the trials needed to distinguish two of them.

A chooser who prefers one answer looks blurred to a fit that knows only distances. So each answer gets an offset, each
place in the list may get an effect, and a share of the answers may be lapses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from genlaws.core.arguments import Array, Whole, one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, wilson_interval
from genlaws.core.result import question
from genlaws.semanticity.choices.model import (
    BACKGROUND,
    EXPONENT,
    LAPSE,
    SCALARS,
    ChoiceLikelihood,
    ChoiceModel,
    background_of,
    choice_log_probabilities,
    to_model,
    to_point,
    trial_log_likelihoods,
)
from genlaws.semanticity.choices.result import ChoiceFit, PowerAnalysis, ShapeComparison
from genlaws.semanticity.choices.search import (
    MIN_IMPROVEMENT,
    THRESHOLD_BACKGROUND,
    BetterPointError,
    Optimum,
    Search,
    interval_ends,
)
from genlaws.semanticity.choices.trials import Trials
from genlaws.semanticity.parameters import (
    FIT,
    NONE,
    FittedBackground,
    FittedExponent,
    FittedIntervals,
    FittedLapse,
    FittedResolution,
    FittedShapes,
    FittedTemperature,
    Folds,
    Level,
    Offsets,
    PositionEffects,
    Power,
    Seed,
    ShapeName,
    TwoShapes,
)
from genlaws.semanticity.theory.similarity import SHAPES

MAX_RESIDUAL = 1e-3  # standard errors; a maximum this close is as good as reached
MAX_RESTARTS = 5
DEFAULT_EXPONENT = 2.0
CHOICE_TOLERANCE = 1e-10  # log-likelihood per trial; two models closer than this predict the same choices


@question
def fit_choices(
    trials: Trials,
    *,
    shape: FittedShapes = tuple(SHAPES),
    resolution: FittedResolution = FIT,
    background: FittedBackground = FIT,
    exponent: FittedExponent = DEFAULT_EXPONENT,
    temperature: FittedTemperature = 1.0,
    lapse: FittedLapse = FIT,
    offsets: Offsets = FIT,
    position_effects: PositionEffects = None,
    intervals: FittedIntervals = "scalars",
    folds: Folds = 5,
    distinguish: TwoShapes = None,
    seed: Seed = 0,
) -> ChoiceFit:
    r"""Estimate resolution, background and shape of the similarity from recorded choices.

    Luce choice is fitted by maximum likelihood, with profile-likelihood intervals.

    .. math:: P(k) = (1-\lambda)\,\operatorname{softmax}_k\Big(\frac{\log g(d_k)}{T} + \text{offset} +
        \text{effect}\Big) + \frac{\lambda}{n}

    Each parameter is either fitted, with ``"fit"``, or fixed at the number given. A trial with scores counts with
    :math:`\sum_k \text{score}_k \log P(k)`, that is, as one choice; trials without an answer are counted and left out.

    Parameters
    ----------
    trials : Trials
    shape : str or several
        ``constant``, ``linear``, ``exponential``, ``gaussian``, ``power-law``, or ``all``. Several are compared by how
        well they predict choices they were not fitted to, and the best is fitted.
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
        ``none`` is the same as None.
    position_effects : "fit", sequence or None
        One per place in the list, the first being 0. ``none`` is the same as None.
    intervals : "scalars", "all", "none" or list of names
        For which fitted parameters to compute intervals; the scalars are all but offsets and effects.
    folds : int, at least 2
        Parts of the trials, each predicted from the others, to compare shapes. The score needs no correction for the
        number of parameters.
    distinguish : two names of shapes, or None
        The true one and another: how many such trials would distinguish them, by
        :func:`~genlaws.semanticity.trials_to_distinguish`.
    seed : int
        Of the split into folds.

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

    The standard error of a comparison takes the trials as independent. A difference of two standard errors is a strong
    hint, not a test: the fits of different folds share most of their trials. A temperature to be fitted is fixed at 1
    for the shapes that have no use for one, where several are compared.
    """
    pair = tuple(distinguish or ())
    if distinguish is not None and len(pair) != 2:
        raise InputError(
            f"distinguish must name two shapes, the true one and another; got {', '.join(pair) or 'none'}."
        )
    options: dict[str, Any] = {"resolution": resolution, "background": background, "exponent": exponent}
    options |= {"temperature": temperature, "lapse": lapse, "offsets": offsets, "position_effects": position_effects}
    names = tuple(shape)
    if not names:
        raise InputError("shape must name at least one shape; got none.")
    if exponent != DEFAULT_EXPONENT and "power-law" not in (*names, *pair):
        raise InputError(f"exponent belongs to the power-law shape alone; got {exponent!r} with {', '.join(names)}.")
    comparison = _compare(trials, names, folds, seed, options) if len(names) > 1 else None
    chosen = options if comparison is None else _options_for(comparison.best, options)
    found = _fit_shape(trials, names[0] if comparison is None else comparison.best, chosen, intervals)
    analysis = trials_to_distinguish(trials, truth=pair[0], alternative=pair[1], **options) if pair else None
    return replace(found, comparison=comparison, power_analysis=analysis, unused_columns=trials.unused_columns)


@question
def trials_to_distinguish(
    trials: Trials,
    *,
    truth: str | ChoiceModel,
    alternative: ShapeName,
    power: Power = 0.9,
    level: Level = 0.05,
    resolution: FittedResolution = FIT,
    background: FittedBackground = FIT,
    exponent: FittedExponent = DEFAULT_EXPONENT,
    temperature: FittedTemperature = 1.0,
    lapse: FittedLapse = FIT,
    offsets: Offsets = FIT,
    position_effects: PositionEffects = None,
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
        Probability of deciding for the truth, and at most for it if neither is closer.
    resolution, background, exponent, temperature, lapse, offsets, position_effects
        As for :func:`~genlaws.semanticity.fit_choices`.

    Notes
    -----
    This is the test of :math:`\delta = 0` between two models neither of which contains the other. Where one does (a
    power law with fitted exponent comes close to an exponential), :math:`\delta` is near zero and the count is large.
    """
    options: dict[str, Any] = {"resolution": resolution, "background": background, "exponent": exponent}
    options |= {"temperature": temperature, "lapse": lapse, "offsets": offsets, "position_effects": position_effects}
    if isinstance(truth, str):
        truth = _fit_shape(trials, one_of("truth", truth, SHAPES), _options_for(truth, options)).model
    log_p = choice_log_probabilities(trials, truth)
    p = np.exp(log_p)
    design = replace(trials, chosen=np.full_like(trials.chosen, -1), scores=p)
    imitation = _fit_shape(design, alternative, _options_for(alternative, options)).model
    # As a difference of logarithms, since a probability may be too small for a float.
    ratio = np.subtract(log_p, choice_log_probabilities(trials, imitation), out=np.zeros_like(p), where=p > 0)
    mean = float((p * ratio).sum(axis=1).mean())
    deviation = float(np.sqrt(max((p * ratio**2).sum(axis=1).mean() - mean**2, 0.0)))
    reach = float(stats.norm.ppf(1.0 - level) + stats.norm.ppf(power))
    count = float(np.ceil((reach * deviation / mean) ** 2)) if mean > CHOICE_TOLERANCE else np.inf
    return PowerAnalysis(truth, imitation, count, power, level, mean, deviation)


def _compare(
    trials: Trials, names: Sequence[str], folds: int, seed: int, options: Mapping[str, Any]
) -> ShapeComparison:
    """Compare shapes: the trials with an answer are split into folds, each predicted by a fit to the others."""
    answered = trials.take(trials.parsed)
    count = whole_number("folds", folds, at_least=2, at_most=max(answered.trial_count, 2))
    fold = np.random.default_rng(seed).permutation(np.arange(answered.trial_count) % count)
    scores = np.empty((len(names), answered.trial_count))
    for row, shape in zip(scores, names, strict=True):
        chosen = _options_for(shape, options)
        for number in range(count):
            fit = _fit_shape(answered.take(fold != number), shape, chosen)
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
    )


def _options_for(shape: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a fit, with the temperature at 1 where this shape cannot distinguish it from the others."""
    redundant = options["temperature"] == FIT and same_as_temperature(shape, options)
    return {**options, "temperature": 1.0} if redundant else dict(options)


def _fit_shape(
    trials: Trials, shape: str, options: Mapping[str, Any], intervals: Sequence[str] | str = NONE
) -> ChoiceFit:
    """Return the fit of one shape."""
    given: dict[str, float | str] = {name: options[name] for name in SCALARS}
    given["exponent"] = options["exponent"] if shape == "power-law" else DEFAULT_EXPONENT
    offsets, position_effects = (
        None if _is_none(options[name]) else options[name] for name in ("offsets", "position_effects")
    )
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


def _is_none(value: object) -> bool:
    return value is None or (isinstance(value, str) and value == NONE)


def _is_fitted(value: object) -> bool:
    return isinstance(value, str) and value == FIT


def _template(
    likelihood: ChoiceLikelihood,
    given: Mapping[str, float | str],
    offsets: Mapping[str, float] | str | None,
    position_effects: Sequence[float] | str | None,
) -> Array:
    """Return a point with the fixed values in their places; the model checks them."""
    start = {"resolution": 1.0, "background": 0.1, "exponent": DEFAULT_EXPONENT, "temperature": 1.0, "lapse": 0.05}
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
    some: dict[str, Sequence[str]] = {"scalars": SCALARS, "all": tuple(fitted), NONE: ()}
    if isinstance(intervals, str) and intervals in some:
        return {name: number for name, number in fitted.items() if name in some[intervals]}
    wanted = intervals.split(",") if isinstance(intervals, str) else intervals
    return {one_of("intervals", name, fitted, "Or scalars, all or none."): fitted[name] for name in wanted}


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

    def estimate(name: str, value: float) -> Estimate:
        return Estimate(value, *ends.get(name, (np.nan, np.nan)), parsed)

    most = float(likelihood.weights @ np.log(likelihood.weights))  # of any model: 0 for choices, by Gibbs for scores
    converged = bool(np.isfinite(best.value) and (best.residual < MAX_RESIDUAL or most - best.value < MIN_IMPROVEMENT))
    return ChoiceFit(
        shape=model.shape,
        resolution=estimate("resolution", model.resolution),
        background=estimate("background", model.background),
        exponent=estimate("exponent", model.exponent) if model.shape == "power-law" else None,
        temperature=estimate("temperature", model.temperature),
        lapse=estimate("lapse", model.lapse),
        offsets={name: estimate(f"offset[{name}]", one) for name, one in model.offsets.items() if shown[0]},
        position_effects=tuple(
            estimate(f"position[{place}]", one) for place, one in enumerate(model.position_effects, start=1) if shown[1]
        ),
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
        unparsed_share=wilson_interval(trials.unparsed_count, trials.trial_count),
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
