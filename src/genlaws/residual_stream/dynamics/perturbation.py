"""Disturb the state of a text's last token and measure whether the disturbance grows or shrinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import nn

from genlaws.core.arguments import Array, non_negative, one_of, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.core.running import Running, checked_running
from genlaws.models.architecture import architecture_of, chosen_sites
from genlaws.models.interventions import (
    NO_HEAD,
    OneToken,
    Plane,
    TokenTexts,
    output_change,
    plane_of,
    rounding_message,
    texts_of,
)
from genlaws.models.stream import Site
from genlaws.residual_stream.measures.curves import ONE_TEXT, SiteCurve, mean_curve
from genlaws.residual_stream.results import Perturbation

PERTURBATION_KINDS = ("noise", "swap")
DEFAULT_NOISE_SIZE = 0.1  # of noise, relative to the state
SITE_MEASURES = ("distance", "relative distance", "distance in the plane", "distance out of the plane")
TEXT_MEASURES = ("rate", "relative rate", "divergence", "top change")


def perturb(
    model: nn.Module,
    tokens: TokenTexts,
    *,
    kind: str = "noise",
    size: float | None = None,
    sites: Sequence[Site | str] | None = None,
    layers: Sequence[int] | None = None,
    draws: int = 4,
    plane: Plane | None = None,
    batch_size: int = 32,
    seed: int,
    running: Running | None = None,
) -> Perturbation:
    r"""Disturb the last token's state at sites, one at a time, and measure the distance at all later sites.

    .. math:: d_m = \lVert h'_m - h_m \rVert

    Parameters
    ----------
    model : torch.nn.Module
        A decoder or encoder from the transformers library; it is not modified.
    tokens : Tokens, or list of texts that are lists of whole numbers
        The last token of each, before any closing mark, is disturbed.
    kind : {"noise", "swap"}
        In a random direction; or toward the state that another text has at the same site.
    size : float >= 0, optional
        Length of the disturbance relative to that of the state. Without it 0.1 for noise; a swap then replaces the
        whole state by that of the other text.
    sites, layers : optional
        Where, as in `captured`; all sites before the end if not given.
    draws : int >= 1
        Directions, or other texts, for each text and site.
    plane : object with ``center`` and ``axes``, optional
        Such as `pooled_axes` gives.
    batch_size : int
        Disturbances per pass.
    seed : int
    running : Running, optional
        Its steps are the texts.
    """
    one_of("kind", kind, PERTURBATION_KINDS)
    length = DEFAULT_NOISE_SIZE if size is None and kind == "noise" else size
    length = None if length is None else float(scalar("size", non_negative("size", length)))
    draws, seed = whole_number("draws", draws, at_least=1), whole_number("seed", seed)
    texts, shown = texts_of(tokens), checked_running(running)
    if kind == "swap" and len(texts) < 2:
        raise InputError("tokens must be those of at least two texts for their states to be swapped; got one.")
    known = architecture_of(model).sites
    before_end = [one for one in known if one.place != "end"]
    chosen = chosen_sites(known, before_end if sites is None else sites, layers)
    places = [known.index(one) for one in chosen]
    controls = [OneToken(model, *text).control() for text in texts] if kind == "swap" else []
    measured = [_Measures(len(known), place) for place in places]
    shown.start(len(texts), "disturbed texts")
    for number, text in enumerate(texts):
        token = OneToken(model, *text)
        here = controls[number] if controls else token.control()
        axes = None if plane is None else plane_of(plane, here.shape[1])[1]
        for place, measures in zip(places, measured, strict=True):
            random = np.random.default_rng([seed, number, place])
            if kind == "noise":
                away = random.standard_normal((draws, here.shape[1]))
            else:
                others = random.integers(0, len(texts) - 1, draws)
                away = np.stack([controls[one + (one >= number)][place] for one in others]) - here[place]
            changes = away if length is None else _with_length(away, length * float(np.linalg.norm(here[place])))
            found = token.changed(place, changes, batch_size)
            measures.add(found.differences, found.control, axes, found.scores)
        shown.advance()
    about = {"kind": kind, "size": length, "draws": draws, "text_count": len(texts)}
    return _mean_perturbation(
        chosen, known, measured, "" if length is None else rounding_message(model, length), **about
    )


def _with_length(directions: Array, length: float) -> Array:
    """Return directions (draws, units) with a given length; one of length zero is unchanged."""
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    unit = np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > 0)
    return np.asarray(length * unit)


class _Measures:
    """Measures of each text for disturbances at one site; means over draws.

    Attributes
    ----------
    along : list of arrays (4, later sites)
        For each text: distance, relative distance, and its parts in the plane and orthogonal to it.
    once : list of arrays (4,)
        For each text: the two rates, divergence and change of the first word's probability.
    """

    def __init__(self, site_count: int, place: int) -> None:
        self.place, self.steps = place, np.arange(site_count - place)
        self.along: list[Array] = []
        self.once: list[Array] = []

    def add(self, differences: Array, control: Array, axes: Array | None, scores: Array | None) -> None:
        """Add the differences (draws, later sites, units) of one text."""
        distance = np.linalg.norm(differences, axis=2)
        relative = distance / np.linalg.norm(control[self.place :], axis=1)
        parts = [np.full_like(distance, np.nan)] * 2
        if axes is not None:
            coordinates = differences @ axes
            across = differences - coordinates @ axes.T
            parts = [np.linalg.norm(one, axis=2) for one in (coordinates, across)]
        self.along.append(np.stack([one.mean(axis=0) for one in (distance, relative, *parts)]))
        change = (np.nan, np.nan) if scores is None else [one.mean() for one in output_change(scores)]
        self.once.append(np.array([self._slope(distance), self._slope(relative), *change]))

    def _slope(self, distance: Array) -> float:
        """Return the least-squares slope of the logarithm over later sites, mean over draws that moved the state."""
        steps = self.steps - self.steps.mean()
        moved = distance[(distance > 0).all(axis=1)]
        if not steps.any() or not len(moved):
            return float("nan")
        return float((np.log(moved) @ steps / (steps @ steps)).mean())


def _mean_perturbation(
    chosen: Sequence[Site], known: Sequence[Site], measured: Sequence[_Measures], rounding: str, **about: Any
) -> Perturbation:
    """Return means over texts with their intervals."""
    texts = about["text_count"]

    def curve(name: str, labels: Sequence[Site], values: Array) -> SiteCurve:
        """Return the means over texts of values (texts, labels)."""
        return mean_curve(name, [one.name for one in labels], values, np.arange(texts))

    along = [
        tuple(curve(name, known[one.place :], np.stack(one.along)[:, row]) for one in measured)
        for row, name in enumerate(SITE_MEASURES)
    ]
    values = np.stack([np.stack(one.once) for one in measured], axis=1)
    once = [curve(name, chosen, values[:, :, row]) for row, name in enumerate(TEXT_MEASURES)]
    planeless, headless = bool(np.isnan(along[2][0].value).any()), bool(np.isnan(once[2].value).any())
    sentences = [rounding, ONE_TEXT if texts == 1 else "", NO_HEAD if headless else ""]
    return Perturbation(
        sites=tuple(one.name for one in chosen),
        distance=along[0],
        relative=along[1],
        in_plane=() if planeless else along[2],
        out_of_plane=() if planeless else along[3],
        rate=once[0],
        relative_rate=once[1],
        divergence=once[2],
        top_change=once[3],
        message=" ".join(one for one in sentences if one),
        **about,
    )
