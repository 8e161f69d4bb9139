r"""The losses a learner can be trained with, and how a user adds one.

A loss is a convex function of the margin :math:`u = y f(x)`. The theory needs two things from it: its proximal map

.. math:: \mathrm{prox}(u, V) = \arg\min_z \Bigl[\frac{(z-u)^2}{2V} + \ell(z)\Bigr]

and what remains of it when the regularization vanishes (``Loss.limit``).

Quadrature must be cut at the kinks of the proximal map; :func:`find_kinks` finds them. A corner or a jump of curvature
of the loss at z, where it pulls with force p, is a kink of the proximal map at :math:`u = z - Vp`, for every response
V. So it is enough to find the kinks at V = 1. There the slope of the map jumps by the same amount on every scale,
while the change of slope of a smooth piece vanishes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from scipy.special import expit, log_expit

from genlaws.core.arguments import Array, one_of, positive, scalar
from genlaws.core.errors import InputError
from genlaws.core.numerics.elementwise import find_roots

# Margins searched at V = 1, and the spacing at which the search starts.
SEARCH_REACH, SEARCH_SPACING = 40.0, 0.02
# Smaller jumps of the slope are left to the check of the solution with a finer quadrature rule.
MIN_SLOPE_JUMP = 1e-4
ZOOM_FACTOR, ZOOM_COUNT = 16, 4
# Tangents are taken at this distance from a kink, in units of the final spacing.
TANGENT_DISTANCE = 32.0
# Least ratio of a jump to the jump one zoom earlier.
MIN_RETAINED_JUMP = 0.6
Proximal = Callable[[Array, Array], Array]
Breakpoints = Callable[[Array], list[Array]]
Limit = Literal["label", "margin", "direction", "unknown"]
ClosedForm = Literal["", "square", "hinge"]

# Margins between which the zero of a user's proximal map is looked for, at response 1.
MAX_SLOPE = 1e6
PROXIMAL_HINT = "Give argmin over z of (z - margin)²/(2 response) + loss(z)."
SLOPE_HINT = "It is minus the slope of the loss at margin zero, which must fall there."
PROXIMAL_TOLERANCE = 1e-6
MAX_PROXIMAL_STEPS = 100
NEWTON_TOLERANCE = 1e-8


def find_kinks(proximal: Proximal) -> Array:
    """Return the kinks as rows (z, p): the value of the map, and the pull there."""
    count = round(2.0 * SEARCH_REACH / SEARCH_SPACING) + 1
    grid = np.linspace(-SEARCH_REACH, SEARCH_REACH, count)
    places, jumps = grid[1:-1], _jumps(proximal, grid[None, :])[0]
    seen = jumps > MIN_SLOPE_JUMP
    places, jumps = places[seen], jumps[seen]
    spacing = SEARCH_SPACING
    for _ in range(ZOOM_COUNT):
        if not places.size:
            break
        around = places[:, None] + spacing * np.linspace(-1.5, 1.5, 3 * ZOOM_FACTOR + 1)
        closer = _jumps(proximal, around)
        at = np.argmax(closer, axis=1)
        sharpest = closer[np.arange(places.size), at]
        sharp = sharpest > MIN_RETAINED_JUMP * jumps
        places, jumps = around[np.arange(places.size), at + 1][sharp], sharpest[sharp]
        spacing /= ZOOM_FACTOR
    places = places[np.diff(places, prepend=-np.inf) > 4.0 * spacing]
    if places.size:
        places = _where_tangents_meet(proximal, places, TANGENT_DISTANCE * spacing)
    landing = proximal(places, np.ones_like(places))
    return np.stack([landing, landing - places], axis=1)


def _where_tangents_meet(proximal: Proximal, places: Array, aside: float) -> Array:
    """Return where the lines through two points on either side of each kink meet; exact for straight pieces."""
    ones = np.ones_like(places)
    far_left, left, right, far_right = (proximal(places + step * aside, ones) for step in (-2.0, -1.0, 1.0, 2.0))
    slope_left, slope_right = (left - far_left) / aside, (far_right - right) / aside
    gap = (right - slope_right * aside) - (left + slope_left * aside)
    return places + np.clip(gap / (slope_left - slope_right), -aside, aside)


def _jumps(proximal: Proximal, margins: Array) -> Array:
    """Return by how much the slope changes at each inner point of each row, over two neighboring intervals."""
    values = np.asarray(proximal(margins.ravel(), np.ones(margins.size)), dtype=np.float64).reshape(margins.shape)
    slope = np.diff(values, axis=1) / np.diff(margins, axis=1)
    change = np.abs(np.diff(slope, axis=1))
    # A kink between two grid points splits its jump over both; their sum is the whole jump.
    neighbor = np.zeros_like(change)
    neighbor[:, :-1] = change[:, 1:]
    return change + neighbor


@dataclass(frozen=True)
class Loss:
    r"""A convex loss of the margin.

    Parameters
    ----------
    name : str
        For messages and figures.
    proximal : callable
        ``proximal(u, V)``, elementwise on arrays that broadcast together.
    slope : float, optional
        :math:`s = -\ell'(0)`, the pull at margin zero. Found from the proximal map when not given:
        :math:`\mathrm{prox}(u_0, V) = 0` exactly at :math:`u_0 = -sV`.
    limit : {"label", "margin", "direction", "unknown"}
        What the learner does as λ → 0 when it can fit every label: fits the labels exactly (margin = 1, as the
        square loss does), brings every margin to 1 or more (as the hinge does), or grows without bound along the
        largest-margin direction (as the logistic loss does). With "unknown", λ = 0 raises an error.
    value : callable, optional
        The loss itself; the theory does not need it.
    closed_form : {"", "square", "hinge"}
        Which exact solution replaces quadrature; the library sets it for its own square and hinge loss.
    breakpoints : callable, optional
        ``breakpoints(V)`` lists the margins at which ``proximal(·, V)`` has a kink; quadrature is cut there.
        Found from the proximal map when not given.
    """

    name: str
    proximal: Proximal
    slope: float = field(default=float("nan"))
    limit: Limit = "unknown"
    value: Callable[[Array], Array] | None = None
    breakpoints: Breakpoints | None = None
    closed_form: ClosedForm = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"name must be a non-empty text for messages and figures; got {self.name!r}.")
        if not callable(self.proximal):
            raise InputError(f"proximal must be a function; got {self.proximal!r}.")
        for part in ("breakpoints", "value"):
            if getattr(self, part) is not None and not callable(getattr(self, part)):
                raise InputError(f"{part} must be a function; got {getattr(self, part)!r}.")
        one_of("limit", self.limit, get_args(Limit))
        one_of("closed_form", self.closed_form, get_args(ClosedForm))
        _check_proximal(self.name, self.proximal)
        if isinstance(self.slope, float) and np.isnan(self.slope):
            object.__setattr__(self, "slope", _slope_at_zero(self.name, self.proximal))
        object.__setattr__(self, "slope", float(scalar("slope", positive("slope", self.slope, SLOPE_HINT))))
        if self.breakpoints is None:
            kinks = find_kinks(self.proximal)
            object.__setattr__(self, "breakpoints", lambda V: [z - V * pull for z, pull in kinks])


def _check_proximal(name: str, proximal: Proximal) -> None:
    """Raise if it cannot be a proximal map: wrong shape, not rising, rising faster than its argument."""
    u, V = (part.ravel() for part in np.meshgrid(np.linspace(-6.0, 6.0, 49), [0.25, 1.0, 4.0]))
    try:
        with np.errstate(all="ignore"):
            z = np.asarray(proximal(u, V), dtype=np.float64)
            shape_fits = z.shape == u.shape
    except Exception as error:
        raise InputError(f"proximal of '{name}' must take two arrays; it raised {error!r}. {PROXIMAL_HINT}") from None
    if not shape_fits or not np.isfinite(z).all():
        raise InputError(f"proximal of '{name}' must return one finite number per margin. {PROXIMAL_HINT}")
    pull = (z - u) / V
    # The pull -ℓ'(z) falls with z and is the same at every response; at a corner of the loss it takes several values.
    falls = np.all(np.diff(pull[np.lexsort((-pull, np.round(z, 9)))]) <= PROXIMAL_TOLERANCE)
    rise = np.diff(z.reshape(3, -1)) / np.diff(u.reshape(3, -1))
    if not (falls and np.all(rise >= -PROXIMAL_TOLERANCE) and np.all(rise <= 1.0 + PROXIMAL_TOLERANCE)):
        raise InputError(
            f"proximal of '{name}' is not the proximal map of a convex loss of the margin. {PROXIMAL_HINT}"
        )


def _slope_at_zero(name: str, proximal: Proximal) -> float:
    """Return s from the zero of the proximal map at response 1."""

    def at(u: Array) -> Array:
        return np.asarray(proximal(u, np.ones_like(u)), dtype=np.float64)

    low, high = np.array([-MAX_SLOPE]), np.array([MAX_SLOPE])
    if not at(low) < 0.0 < at(high):
        raise InputError(f"proximal of '{name}' must rise through zero. {PROXIMAL_HINT}")
    slope = -float(find_roots(at, low, high)[0])
    if slope <= 0.0:
        raise InputError(f"proximal of '{name}' must push a margin of zero upward: the loss must fall there.")
    return slope


def square_loss() -> Loss:
    r"""Return :math:`\ell(u) = (1-u)^2/2`, that is ridge regression on the labels."""
    return Loss(
        "square",
        proximal=lambda u, V: u + V * (1.0 - u) / (1.0 + V),
        slope=1.0,
        limit="label",
        value=lambda u: 0.5 * (1.0 - u) ** 2,
        breakpoints=lambda V: [],
        closed_form="square",
    )


def hinge_loss() -> Loss:
    r"""Return :math:`\ell(u) = \max(0, 1-u)`, that is the support vector machine with C = 1/λ."""
    return Loss(
        "hinge",
        proximal=lambda u, V: u + np.clip(1.0 - u, 0.0, V),
        slope=1.0,
        limit="margin",
        value=lambda u: np.maximum(0.0, 1.0 - u),
        breakpoints=lambda V: [1.0 - V, np.ones_like(V)],
        closed_form="hinge",
    )


def squared_hinge_loss() -> Loss:
    r"""Return :math:`\ell(u) = \max(0, 1-u)^2/2`."""
    return Loss(
        "squared_hinge",
        proximal=lambda u, V: u + V * np.maximum(1.0 - u, 0.0) / (1.0 + V),
        slope=1.0,
        limit="margin",
        value=lambda u: 0.5 * np.maximum(0.0, 1.0 - u) ** 2,
        breakpoints=lambda V: [np.ones_like(V)],
    )


def huber_loss(width: float = 0.5) -> Loss:
    r"""Return the Huber loss of the residual r = 1 - u: :math:`r^2/2` up to the width w, then :math:`w(|r| - w/2)`."""
    width = float(scalar("width", positive("width", width)))
    return Loss(
        "huber",
        proximal=lambda u, V: u + V * np.clip((1.0 - u) / (1.0 + V), -width, width),
        slope=min(1.0, width),
        limit="label",
        value=lambda u: np.where(
            np.abs(1.0 - u) <= width, 0.5 * (1.0 - u) ** 2, width * (np.abs(1.0 - u) - 0.5 * width)
        ),
        breakpoints=lambda V: [1.0 - width * (1.0 + V), 1.0 + width * (1.0 + V)],
    )


def logistic_loss() -> Loss:
    r"""Return :math:`\ell(u) = \log(1 + e^{-u})`."""
    # The pull falls by e² from one cut to the next; at a large response the corner of the map lies among the last.
    cuts = (-30.0, -10.0, -5.0, -2.0, *np.arange(0.0, 42.0, 2.0))
    return Loss(
        "logistic",
        proximal=_logistic_proximal,
        slope=0.5,
        limit="direction",
        value=lambda u: -log_expit(u),
        breakpoints=lambda V: [cut - V * expit(-cut) for cut in cuts],
    )


def _logistic_proximal(u: Array, V: Array) -> Array:
    """Solve z = u + V/(1 + eᶻ) by Newton's method inside the bracket [u, u + V]."""
    u, V = np.broadcast_arrays(u, V)
    low, high = u.copy(), u + V
    z = np.clip(_logistic_guess(u, V), low, high)
    for _ in range(MAX_PROXIMAL_STEPS):
        pull = expit(-z)
        gap = z - u - V * pull
        low, high = np.where(gap <= 0.0, z, low), np.where(gap >= 0.0, z, high)
        step = gap / (1.0 + V * pull * (1.0 - pull))
        inside = (z - step >= low) & (z - step <= high)
        new = np.where(inside, z - step, 0.5 * (low + high))
        moved = np.abs(new - z)
        z = new
        # Quadratic convergence: after a step this small the next would be below rounding.
        if (moved <= NEWTON_TOLERANCE * np.maximum(1.0, np.abs(z))).all():
            break
    return z


def _logistic_guess(u: Array, V: Array) -> Array:
    """Return the solution of the dominant branch: the loss linear (z < -2), quadratic, or exponential (z > 2)."""
    middle = (u + 0.5 * V) / (1.0 + 0.25 * V)
    exponent = np.log(V) - u
    bounded = np.minimum(exponent, 1.0)
    lambert = np.where(
        exponent > 1.0, exponent - np.log(np.maximum(exponent, 1.0)), np.exp(bounded) / (1.0 + np.exp(bounded))
    )
    return np.where(middle < -2.0, u + V, np.where(middle > 2.0, u + lambert, middle))


LOSSES: dict[str, Callable[[], Loss]] = {
    "square": square_loss,
    "hinge": hinge_loss,
    "logistic": logistic_loss,
    "squared_hinge": squared_hinge_loss,
    "huber": huber_loss,
}


def get_loss(loss: str | Loss) -> Loss:
    """Return the loss of that name, or the loss itself if one was given."""
    if isinstance(loss, Loss):
        return loss
    name = loss.replace("-", "_") if isinstance(loss, str) else ""
    if name not in LOSSES:
        raise InputError(
            f"loss must be one of {', '.join(LOSSES)}, or a rules_facts.Loss; got {loss!r}. "
            "A loss of your own needs only its proximal map."
        )
    return LOSSES[name]()
