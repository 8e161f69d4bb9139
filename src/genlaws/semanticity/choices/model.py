r"""The likelihood of recorded choices under Luce's rule, with its gradient and expected information.

A trial shows :math:`n` options at distances :math:`d_k` from a probe. The model is Luce's choice with three
nuisances: a preference for some answers, a preference for some places in the list, and lapses.

.. math:: P(k) = (1-\lambda)\,\frac{e^{u_k}}{\sum_l e^{u_l}} + \frac{\lambda}{n}, \qquad
    u_k = \frac{\log g(d_k)}{T} + \text{offset}_{\text{answer }k} + \text{effect}_{\text{place }k}

Only ratios of similarities matter, so all shapes share one form,
:math:`h = (1-\varphi)\,s(d/\varepsilon) + \varphi`, where :math:`\varphi` is :math:`\Delta` for the constant similarity
and :math:`\Delta/(1+\Delta)` for the others. It runs from 0, no background, to 1, where all options look alike. The
search works in the coordinates :math:`(\log\varepsilon, \varphi, \log a, \log T, \lambda)`, followed by the offsets
and the effects of the places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from genlaws.core.arguments import Array, Mask, Whole, fraction, non_negative, one_of, positive, scalar
from genlaws.core.errors import InputError
from genlaws.semanticity.choices.trials import Trials
from genlaws.semanticity.theory.similarity import SHAPES, Similarity, similarity

SCALARS = ("resolution", "background", "exponent", "temperature", "lapse")
RESOLUTION, BACKGROUND, EXPONENT, TEMPERATURE, LAPSE = range(len(SCALARS))
# Logarithms of similarities and probabilities are cut here where they only scale a derivative, to keep it finite.
MAX_LOG_DEPTH = 150.0
INFINITE_LOG = 1e200  # stands for an infinite logarithm that may be multiplied by zero
RESOLUTION_TOLERANCE = 1e-12  # a distance that equals the resolution lies inside it, also after exp(log(resolution))


@dataclass(frozen=True)
class ChoiceModel:
    r"""Luce choice with given parameters.

    Attributes
    ----------
    shape : str
        ``constant``, ``linear``, ``exponential``, ``gaussian`` or ``power-law``.
    resolution : float > 0
        :math:`\varepsilon`, in units of the distance.
    background : float, zero or positive
        :math:`\Delta`; at most 1 for the constant shape.
    exponent : float > 0
        :math:`a` of the power law; the other shapes do not use it.
    temperature : float > 0
        :math:`T`. Below 1 the choice is sharper than the similarity.
    lapse : float in [0, 1]
        :math:`\lambda`, share of answers given at random among the options shown.
    offsets : mapping of str to float
        Preference for each answer, in units of :math:`u`; empty for none.
    position_effects : tuple of float
        Preference for the first place in the list, the second, and so on; empty for none.

    Notes
    -----
    Where the similarity of every option is zero (constant or linear shape, no background), it says nothing, and the
    choice is made by offsets and places alone: 1/n without them. This is the limit of a background that vanishes.
    """

    shape: str
    resolution: float
    background: float = 0.0
    exponent: float = 2.0
    temperature: float = 1.0
    lapse: float = 0.0
    offsets: Mapping[str, float] = field(default_factory=dict)
    position_effects: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        one_of("shape", self.shape, SHAPES)
        scalar("resolution", positive("resolution", self.resolution))
        scalar("background", non_negative("background", self.background, infinite=True))
        if self.shape == "constant":
            fraction("background", self.background, "The constant similarity is 1 inside the resolution.")
        scalar("exponent", positive("exponent", self.exponent))
        scalar("temperature", positive("temperature", self.temperature))
        scalar("lapse", fraction("lapse", self.lapse))

    @property
    def similarity(self) -> Similarity:
        """The similarity the choices are made by."""
        exponent = self.exponent if self.shape == "power-law" else None
        return similarity(self.shape, self.resolution, background=self.background, exponent=exponent)


class Evaluation(NamedTuple):
    """Log-likelihood at a point, its gradient, and the expected information matrix."""

    value: float
    gradient: Array
    information: Array


class ChoiceLikelihood:
    r"""Log-likelihood of the trials that have an answer, as a function of the coordinates of the search.

    .. math:: \ell = \sum_t \sum_k w_{tk} \log P_t(k)

    with :math:`w` one at the choice, or the recorded scores. The information is
    :math:`\sum_{tk} \partial P\,\partial P^{\mathsf T}/P`, its expectation if the model is right.
    """

    def __init__(self, trials: Trials, shape: str) -> None:
        self.shape = one_of("shape", shape, SHAPES)
        part = trials.take(trials.parsed)
        self.trials, self.names = part, trials.option_names
        # Options come first and trials last: sums over the few options of many trials are much faster that way.
        self.present, self.distances = part.present.T.copy(), part.distances.T.copy()
        self.chance = self.present / part.option_counts
        self.answers = part.answers.T.copy()
        self.answered = np.nonzero(self.answers)
        self.weights = self.answers[self.answered]
        self.offset_count = max(len(self.names) - 1, 0)
        self.place_count = len(self.distances) - 1
        self.size = len(SCALARS) + self.offset_count + self.place_count
        # Number 0 stands for the answer or the place that the others are compared with, or for no option.
        self.answer, self.place = np.maximum(part.options, 0).T.copy(), np.maximum(part.places - 1, 0).T.copy()
        parts = [_indicators(self.answer, self.offset_count), _indicators(self.place, self.place_count)]
        self.design = np.concatenate(parts) * self.present

    def value(self, point: Array) -> float:
        """Return the log-likelihood; minus infinity if a choice is impossible."""
        return float(self.weights @ self._forward(point).log_p[self.answered])

    def log_probabilities(self, point: Array) -> Array:
        """Return log P of every option, array (trials, options), minus infinity where there is none."""
        return self._forward(point).log_p.T

    def evaluate(self, point: Array, free: Whole) -> Evaluation:
        """Return value, gradient and information for the coordinates numbered `free`."""
        at = self._forward(point)
        slopes = self._log_slopes(at, point, free)
        flat = (len(free), self.answers.size)
        gradient: Array = slopes.reshape(flat) @ self.answers.ravel()
        scaled = (slopes * np.sqrt(at.p)).reshape(flat)
        return Evaluation(float(self.weights @ at.log_p[self.answered]), gradient, scaled @ scaled.T)

    def _forward(self, point: Array) -> _Forward:
        """Return the quantities of the model from the distances to the probabilities."""
        phi, beta, lapse = point[BACKGROUND], np.exp(-point[TEMPERATURE]), point[LAPSE]
        x = self.distances * np.exp(-point[RESOLUTION])
        log_s, elasticity = log_profile(self.shape, x, float(np.exp(point[EXPONENT])))
        split = len(SCALARS) + self.offset_count
        preference = (
            np.append(0.0, point[len(SCALARS) : split])[self.answer] + np.append(0.0, point[split:])[self.place]
        )
        preference = np.where(self.present, preference, -np.inf)
        with np.errstate(divide="ignore"):
            s = np.exp(log_s)
            log_h = log_s if phi == 0 else np.log((1.0 - phi) * s + phi)
            blind = np.isneginf((log_h + preference).max(axis=0))
            if blind.any():
                log_h = np.where(blind, 0.0, log_h)
            u = beta * log_h + preference
            top = u.max(axis=0)
            softmax = np.exp(u - top)
            total = softmax.sum(axis=0)
            softmax /= total
            log_total = top + np.log(total)
            if lapse == 0:
                p, log_p = softmax, u - log_total
            else:
                p = (1.0 - lapse) * softmax + lapse * self.chance
                log_p = np.log(p)
        return _Forward(x, s, elasticity, log_h, preference - log_total, blind, softmax, p, log_p)

    def _utility_slopes(self, at: _Forward, point: Array, free: Whole) -> tuple[Array, Array]:
        """Return the derivatives of u with respect to the free coordinates, and the same times the softmax.

        For the background the second is written out: at zero similarity the first is infinite and the second is not.
        """
        phi, beta = point[BACKGROUND], np.exp(-point[TEMPERATURE])
        slopes = np.zeros((len(free), *at.x.shape))
        rows = {int(number): row for row, number in enumerate(free)}
        inverse_h = np.exp(np.minimum(-at.log_h, MAX_LOG_DEPTH))
        of_shape = 1.0 if phi == 0 else (1.0 - phi) * at.s * inverse_h  # share of h that is not background
        if RESOLUTION in rows:
            slopes[rows[RESOLUTION]] = beta * of_shape * at.elasticity
        if BACKGROUND in rows:
            slopes[rows[BACKGROUND]] = beta * (1.0 - at.s) * inverse_h
        if EXPONENT in rows and self.shape == "power-law":
            slopes[rows[EXPONENT]] = -beta * of_shape * np.exp(point[EXPONENT]) * np.log1p(at.x)
        if TEMPERATURE in rows:
            slopes[rows[TEMPERATURE]] = np.where(np.isneginf(at.log_h), 0.0, -beta * at.log_h)
        linear = free >= len(SCALARS)
        slopes[linear] = self.design[free[linear] - len(SCALARS)]
        slopes *= self.present
        weighted = slopes * at.softmax
        if BACKGROUND in rows:
            power = (beta - 1.0) * np.maximum(at.log_h, -INFINITE_LOG) + at.log_preference
            softmax_over_h = np.exp(np.minimum(power, MAX_LOG_DEPTH))
            weighted[rows[BACKGROUND]] = beta * (1.0 - at.s) * softmax_over_h
        if at.blind.any():  # the similarity is zero for all options, so no parameter of it matters
            silent = ~linear[:, None, None] & at.blind
            slopes, weighted = np.where(silent, 0.0, slopes), np.where(silent, 0.0, weighted)
        return slopes, weighted

    def _log_slopes(self, at: _Forward, point: Array, free: Whole) -> Array:
        """Return the derivatives of log P, array (free coordinates, options, trials)."""
        slopes, weighted = self._utility_slopes(at, point, free)
        mean, lapse = weighted.sum(axis=1, keepdims=True), point[LAPSE]
        inverse: Array = np.exp(np.minimum(-at.log_p, MAX_LOG_DEPTH)) * self.present
        if lapse == 0:
            log_slopes: Array = (slopes - mean) * self.present
        else:
            log_slopes = (1.0 - lapse) * (weighted - at.softmax * mean) * inverse
        log_slopes[free == LAPSE] = (self.chance - at.softmax) * inverse
        return log_slopes


class _Forward(NamedTuple):
    """From distances to probabilities: x = d/ε, s, its elasticity, log h, log of e^preference/Σe^u, and so on."""

    x: Array
    s: Array
    elasticity: Array
    log_h: Array
    log_preference: Array
    blind: Mask
    softmax: Array
    p: Array
    log_p: Array


def log_profile(shape: str, x: Array, exponent: float = 2.0) -> tuple[Array, Array]:
    r"""Return :math:`\log s(x)` and its elasticity :math:`-x\,\mathrm d\log s/\mathrm dx`.

    The elasticity is the slope of :math:`\log s(d/\varepsilon)` against :math:`\log\varepsilon`.

    Parameters
    ----------
    shape : str
    x : array, zero or positive
        Scaled distances.
    exponent : float > 0
        Of the power law.
    """
    if shape == "exponential":
        return -x, x
    if shape == "gaussian":
        return -0.5 * x**2, x**2
    if shape == "power-law":
        return -exponent * np.log1p(x), exponent * x / (1.0 + x)
    if shape == "constant":
        return np.where(x <= 1.0 + RESOLUTION_TOLERANCE, 0.0, -np.inf), np.zeros_like(x)
    with np.errstate(divide="ignore"):
        log_s = np.log(SHAPES[shape].profile(x))
    return log_s, np.divide(x, 1.0 - x, out=np.zeros_like(x), where=x < 1.0)


def to_point(likelihood: ChoiceLikelihood, model: ChoiceModel) -> Array:
    """Return the coordinates of a model; only differences to the first answer and the first place count."""
    share = model.background if model.shape == "constant" else _share(model.background)
    offsets = [model.offsets.get(name, np.nan) if model.offsets else 0.0 for name in likelihood.names]
    if np.isnan(offsets).any():
        missing = [name for name in likelihood.names if name not in model.offsets]
        raise InputError(f"offsets must name every answer option or none; {', '.join(missing)} is missing.")
    effects = list(model.position_effects) or [0.0] * (likelihood.place_count + 1)
    if len(effects) <= likelihood.place_count:
        raise InputError(
            f"position_effects must have a number for each of the {likelihood.place_count + 1} places in the list, "
            f"or none at all; got {len(effects)}."
        )
    places = np.array(effects[1 : likelihood.place_count + 1]) - effects[0]
    scalars = [np.log(model.resolution), share, np.log(model.exponent), np.log(model.temperature), model.lapse]
    return np.concatenate([scalars, np.array(offsets[1:]) - np.array(offsets[:1]), places])


def to_model(likelihood: ChoiceLikelihood, point: Array) -> ChoiceModel:
    """Return the model at these coordinates; the first answer and the first place have effect 0."""
    phi = float(point[BACKGROUND])
    split = len(SCALARS) + likelihood.offset_count
    offsets = np.append(0.0, point[len(SCALARS) : split])
    return ChoiceModel(
        likelihood.shape,
        resolution=float(np.exp(point[RESOLUTION])),
        background=background_of(likelihood.shape, phi),
        exponent=float(np.exp(point[EXPONENT])),
        temperature=float(np.exp(point[TEMPERATURE])),
        lapse=float(point[LAPSE]),
        offsets=dict(zip(likelihood.names, offsets.tolist(), strict=False)),
        position_effects=(0.0, *point[split:].tolist()),
    )


def background_of(shape: str, share: float) -> float:
    """Return the background that makes up this share of the similarity at distance zero."""
    if shape == "constant":
        return share
    return share / (1.0 - share) if share < 1.0 else np.inf


def _share(background: float) -> float:
    return 1.0 if np.isinf(background) else background / (1.0 + background)


def _indicators(index: Whole, count: int) -> Array:
    return np.asarray((index == np.arange(1, count + 1)[:, None, None]).astype(np.float64))


def choice_probabilities(trials: Trials, model: ChoiceModel) -> Array:
    """Return the probability of each option of each trial, 0 where there is no option."""
    return np.exp(choice_log_probabilities(trials, model))


def choice_log_probabilities(trials: Trials, model: ChoiceModel) -> Array:
    """Return the log-probability of each option of each trial, minus infinity where there is no option."""
    likelihood = ChoiceLikelihood(replace(trials, chosen=np.zeros_like(trials.chosen)), model.shape)
    return likelihood.log_probabilities(to_point(likelihood, model))


def trial_log_likelihoods(trials: Trials, model: ChoiceModel) -> Array:
    """Return the log-likelihood of each trial that has an answer, in their order."""
    likelihood = ChoiceLikelihood(trials, model.shape)
    log_p = likelihood.log_probabilities(to_point(likelihood, model)).T[likelihood.answered]
    sums: Array = np.zeros(likelihood.distances.shape[1])
    np.add.at(sums, likelihood.answered[1], likelihood.weights * log_p)
    return sums


def log_likelihood(trials: Trials, model: ChoiceModel) -> float:
    """Return the log-likelihood of the trials that have an answer; minus infinity if a choice is impossible."""
    return float(trial_log_likelihoods(trials, model).sum())


def simulate_choices(trials: Trials, model: ChoiceModel, seed: int | np.random.Generator = 0) -> Trials:
    """Return the same trials with choices drawn from the model, without scores.

    Parameters
    ----------
    trials : Trials
        Their distances, names and places are used; their answers are not.
    model : ChoiceModel
    seed : int or Generator
    """
    cumulative = np.cumsum(choice_probabilities(trials, model), axis=1)
    uniform = np.random.default_rng(seed).random((trials.trial_count, 1)) * cumulative[:, -1:]
    chosen = (uniform >= cumulative).sum(axis=1)
    return replace(trials, chosen=chosen, scores=np.zeros_like(trials.scores))
