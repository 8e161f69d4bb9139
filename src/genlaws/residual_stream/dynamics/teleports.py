"""Teleports: put the state of a text's last token elsewhere in a plane and measure whether it comes back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from genlaws.core.arguments import Array, real, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
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


@dataclass(frozen=True)
class Teleport:
    """Paths from the points of a grid, and the path of the text itself.

    Attributes
    ----------
    site : str
        Where the state was replaced.
    later : tuple of str
        This site and those after it at which the state is recorded.
    keep_rest : bool
        Whether what lies outside the plane was left unchanged.
    control : array (all sites, axes)
        Coordinates of the undisturbed text at every site of the model.
    control_sites : tuple of str
    coordinates : array (points, later, axes)
        Coordinates of the teleported states.
    in_plane, out_of_plane : array (points, later)
        Distance from the undisturbed state of the same site, in the plane and orthogonal to it.
    control_norm : array (later,)
        Length of the undisturbed state.
    divergence, top_change : array (points,)
        Distance of the distribution of the next word from the undisturbed one, in nats, and by how much the probability
        of the word that was most likely changes; NaN for a model without a head.
    steps_requested, steps : int
        Over how many sites the movement was to be followed, and was followed.
    message : str
        What the numbers are based on.
    """

    site: str
    later: tuple[str, ...]
    keep_rest: bool
    control: Array
    control_sites: tuple[str, ...]
    coordinates: Array
    in_plane: Array
    out_of_plane: Array
    control_norm: Array
    divergence: Array
    top_change: Array
    steps_requested: int
    steps: int
    message: str

    @property
    def distance(self) -> Array:
        """Distance from the undisturbed state, (points, later)."""
        return np.hypot(self.in_plane, self.out_of_plane)

    @property
    def movement(self) -> Array:
        """Where each point of the grid went in `steps` sites, (points, axes): the arrows of the paper."""
        return np.asarray(self.coordinates[:, -1] - self.coordinates[:, 0])

    @property
    def returned(self) -> Array:
        """Distance in the plane after the last step as a share of the first, (points,); below 1 it came nearer.

        NaN for a point where the state already was.
        """
        first, last = self.in_plane[:, 0], self.in_plane[:, -1]
        return np.divide(last, first, out=np.full_like(last, np.nan), where=first > 0)

    @property
    def returned_relative(self) -> Array:
        """The same with distances in units of the undisturbed state's length, which grows from site to site."""
        return self.returned * float(self.control_norm[0] / self.control_norm[-1])

    def to_frame(self) -> DataFrame:
        """Return one row for each point of the grid and site."""
        points, later, axes = self.coordinates.shape
        flat = self.coordinates.reshape(-1, axes)
        columns = {
            "point": np.repeat(np.arange(points), later),
            "site": np.tile(np.array(self.later, dtype=object), points),
            **{f"coordinate_{one + 1}": flat[:, one] for one in range(axes)},
            "in_plane": self.in_plane.ravel(),
            "out_of_plane": self.out_of_plane.ravel(),
            "relative_distance": (self.distance / self.control_norm).ravel(),
        }
        return frame_of(columns)


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
