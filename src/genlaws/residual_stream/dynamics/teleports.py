"""Teleports: put the state of a text's last token elsewhere in a plane and measure whether it comes back."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from genlaws.core.arguments import Array, real, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.models.interventions import (
    NO_HEAD,
    OneToken,
    Plane,
    TokenTexts,
    only_text,
    output_change,
    plane_of,
    site_number,
)
from genlaws.models.stream import Site
from genlaws.residual_stream.results import Teleport


def square_grid(low: float, high: float, count: int = 10) -> Array:
    """Return the points of a square grid, (count squared, 2).

    Parameters
    ----------
    low, high : float
        The paper's are -15 and 15.
    count : int >= 1
        Points along a side.
    """
    first, last = (float(scalar(name, real(name, value))) for name, value in (("low", low), ("high", high)))
    side = np.linspace(first, last, whole_number("count", count, at_least=1))
    return np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)


def teleport(
    model: nn.Module,
    tokens: TokenTexts,
    plane: Plane,
    grid: ArrayLike,
    site: Site | str,
    *,
    keep_rest: bool = False,
    steps: int = 12,
    batch_size: int = 32,
) -> Teleport:
    r"""Put the last token's state at points of a plane, at one site, and follow it.

    .. math:: x = \mu + V z \quad\text{(the paper's)}, \qquad x = h + V\,(z - V^{\mathsf T}(h-\mu))
        \quad\text{(with the rest unchanged)}

    Symbols: :math:`\mu` and :math:`V` are the center and the axes of ``plane``, :math:`z` is a point of ``grid`` and
    :math:`h` the state as it was.

    Parameters
    ----------
    model : torch.nn.Module
        A decoder or encoder from the transformers library; it is not modified.
    tokens : sequence of int, or Tokens of one text
    plane : object with ``center`` and ``axes``
        Such as `pooled_axes` gives.
    grid : array (points, axes)
        Coordinates in the plane, such as `square_grid` gives.
    site : Site or str
        Such as ``7.attention``.
    keep_rest : bool
        Whether the state keeps what it has outside the plane. The paper's teleports lose it: a return then mixes the
        growth of what was lost with attraction toward the path.
    steps : int >= 1
        Sites over which the movement is followed, or as many as there are.
    batch_size : int
        Points per pass.

    References
    ----------
    :cite:p:`fernando2025`, section 3.4 and Figure 4D.
    """
    requested = whole_number("steps", steps, at_least=1)
    token = OneToken(model, *only_text(tokens))
    control = token.control()
    center, axes = plane_of(plane, control.shape[1])
    points = real("grid", grid)
    if points.ndim != 2 or points.shape[1] != axes.shape[1] or not len(points):
        raise InputError(f"grid must have the shape (points, {axes.shape[1]}); got {points.shape}.")
    place = site_number(token.sites, site)
    state = control[place]
    changes = (points - (state - center) @ axes) @ axes.T
    if not keep_rest:
        changes = changes - ((state - center) - (state - center) @ axes @ axes.T)
    found = token.changed(place, changes, batch_size)
    last = min(requested, len(token.sites) - 1 - place)
    differences = found.differences[:, : last + 1]
    along = differences @ axes
    nothing = np.full(len(points), np.nan)
    divergence, top_change = (nothing, nothing) if found.scores is None else output_change(found.scores)
    return Teleport(
        site=token.sites[place].name,
        later=tuple(one.name for one in token.sites[place : place + last + 1]),
        keep_rest=keep_rest,
        control=(control - center) @ axes,
        control_sites=tuple(one.name for one in token.sites),
        coordinates=(control[place : place + last + 1] - center) @ axes + along,
        in_plane=np.linalg.norm(along, axis=2),
        out_of_plane=np.linalg.norm(differences - along @ axes.T, axis=2),
        control_norm=np.linalg.norm(control[place : place + last + 1], axis=1),
        divergence=divergence,
        top_change=top_change,
        steps_requested=requested,
        steps=last,
        message=_teleport_message(token.sites[place].name, requested, last, found.scores is None),
    )


def _teleport_message(site: str, requested: int, found: int, headless: bool) -> str:
    """Return how far the movement could be followed, and what is missing."""
    sentences = []
    if found < requested:
        there = f"only {found} site follows" if found == 1 else f"only {found} sites follow"
        sentences.append(f"{requested} steps were requested, but {there} {site}: the movement is over {found}.")
    if headless:
        sentences.append(NO_HEAD)
    return " ".join(sentences)
