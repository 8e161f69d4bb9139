r"""Exact measures of random walks: correlations, lengths, components and rotations.

A Gaussian walk has sites :math:`l = 0, \dots, L - 1`. A unit of a text starts at :math:`h_0` and makes the steps
:math:`s_l`, each the sum of a part that all texts share and a part of the text's own. Units are alike and independent.

.. math:: h_l = h_0 + \sum_{k<l} s_k, \qquad \langle s_k s_m\rangle = v_k v_m\,\varphi^{\lvert k - m\rvert}

Symbols: :math:`v_k` is the size of a step, :math:`\varphi` the ``persistence``: 0 for a plain walk, near 1 for one that
keeps its direction. All results here are exact for these walks, unless a docstring names a limit of many units or
texts. The steps may be those of a measured stream: the walk is then the surrogate to compare the stream with.

The paper's count of rotations adds the angles from each tangent of the curve (activation, gradient) to the next. For a
Gaussian path two successive tangents :math:`u, v` are four jointly Gaussian numbers, and the mean angle from one to the
other is an integral over two angles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, fraction, non_negative, positive, real, scalar, whole_number, within
from genlaws.core.errors import InputError
from genlaws.core.seeds import generator_of
from genlaws.models.stream import Stream
from genlaws.residual_stream.dynamics.portraits import MIN_PORTRAIT_SITES

# Points of the two integrals; more change a count of rotations by less than 1e-5.
LINE_DIRECTIONS, QUADRATURE_NODES = 32, 12
MAX_SHARE_COMPONENTS = 10  # for which shares of few units are given


def expected_rotation_angles(step_covariance: ArrayLike) -> Array:
    r"""Return the mean angle, counterclockwise positive, by which the tangent of a unit's portrait rotates at each
    site.

    Take a line through the origin in a direction :math:`m`, with normal :math:`n`. On average over the directions, the
    shorter way from :math:`u` to :math:`v` crosses it with a probability equal to the angle between them over
    :math:`\pi`; it does so counterclockwise where the crossing lies on the side of :math:`m` and :math:`n\cdot v` is
    positive. With :math:`a = n\cdot u` and :math:`b = n\cdot v` the crossing lies along :math:`b\,u - a\,v`, whose part
    along :math:`m` is Gaussian with mean :math:`\mu` and variance :math:`\sigma^2` given :math:`a < 0 < b`. The length
    of :math:`(a, b)` can be integrated out, and what is left is

    .. math:: \langle\Delta\theta\rangle = \frac1\pi \int_0^\pi d\theta_m \int_{\pi/2}^{\pi/2 + \beta} d\omega\,
        \frac{\mu}{\sqrt{\mu^2 + \sigma^2}}, \qquad a = \sigma_a\cos\omega,\; b = \sigma_b\cos(\omega - \beta),\;
        \cos\beta = \operatorname{corr}(a, b)

    `step_covariance` (array (steps, steps)): of one unit's steps from site to site; at least two.

    Returns
    -------
    array (steps - 1,)
        One for each site but the first and the last. Their sum over 2π is the mean of
        :func:`genlaws.residual_stream.dynamics.portraits.tangent_rotations`.
    """
    steps = real("step_covariance", step_covariance)
    if steps.ndim != 2 or steps.shape[0] != steps.shape[1] or steps.shape[0] < 2:
        raise InputError(f"step_covariance must be a square array of at least two steps; got {steps.shape}.")
    if not (np.diagonal(steps) > 0).all():
        raise InputError("step_covariance must have positive variances: a portrait without movement has no tangent.")
    angle = (np.arange(LINE_DIRECTIONS) + 0.5) * np.pi / LINE_DIRECTIONS
    along = np.stack([np.cos(angle), np.sin(angle)])
    across = np.stack([-np.sin(angle), np.cos(angle)])
    inside = _rotated_moments(_tangent_moments(steps), along, across)
    return np.asarray(_signed_crossings(*inside).mean(axis=1))


def _tangent_moments(steps: Array) -> tuple[Array, Array, Array]:
    r"""Return :math:`\langle uu^\top\rangle, \langle uv^\top\rangle, \langle vv^\top\rangle`, each (sites, 2, 2).

    A tangent is (the step, the change of the gradient): gradients are half the sum of the steps on both sides, at the
    ends the one adjacent step.
    """
    count = steps.shape[0]
    gradients = np.zeros((count + 1, count))
    inner = np.arange(1, count)
    gradients[inner, inner - 1] = gradients[inner, inner] = 0.5
    gradients[0, 0] = gradients[-1, -1] = 1.0
    change = np.diff(gradients, axis=0)
    both = np.stack([np.eye(count), change])  # (x or y, tangent, step)
    moments = np.einsum("xik,kl,yjl->ijxy", both, steps, both, optimize=True)
    tangent = np.arange(count)
    own = moments[tangent, tangent]
    return own[:-1], moments[tangent[:-1], tangent[1:]], own[1:]


def _rotated_moments(moments: tuple[Array, Array, Array], along: Array, across: Array) -> tuple[Array, ...]:
    """Return moments of (a, b), of the parts along the line with (a, b), and of these parts; (sites, directions)."""
    uu, uv, vv = moments

    def form(matrix: Array, left: Array, right: Array) -> Array:
        """Return the quadratic form in every direction."""
        return np.asarray(np.einsum("xd,bxy,yd->bd", left, matrix, right, optimize=True))

    own = (form(uu, across, across), form(uv, across, across), form(vv, across, across))
    mixed = (form(uu, along, across), form(uv, along, across), form(uv.mT, along, across), form(vv, along, across))
    rest = (form(uu, along, along), form(uv, along, along), form(vv, along, along))
    return (*own, *mixed, *rest)


def _signed_crossings(  # noqa: PLR0917 - ten moments of two vectors
    aa: Array, ab: Array, bb: Array, ua: Array, ub: Array, va: Array, vb: Array, uu: Array, uv: Array, vv: Array
) -> Array:
    r"""Return the inner integral, (sites, directions); u and v are the parts along the line."""
    determinant = aa * bb - ab**2
    beta = np.arctan2(np.sqrt(np.maximum(determinant, 0.0)), ab)
    to_u = (ua * bb - ub * ab) / determinant, (ub * aa - ua * ab) / determinant  # regression of u on (a, b)
    to_v = (va * bb - vb * ab) / determinant, (vb * aa - va * ab) / determinant
    left = (
        uu - to_u[0] * ua - to_u[1] * ub,
        uv - to_u[0] * va - to_u[1] * vb,
        vv - to_v[0] * va - to_v[1] * vb,
    )
    points, weights = np.polynomial.legendre.leggauss(QUADRATURE_NODES)
    total = np.zeros_like(aa)
    for point, weight in zip(points.tolist(), weights.tolist(), strict=True):
        turned = 0.5 * beta * (1.0 + point)
        a, b = -np.sqrt(aa) * np.sin(turned), np.sqrt(bb) * np.sin(beta - turned)
        mean = b * (to_u[0] * a + to_u[1] * b) - a * (to_v[0] * a + to_v[1] * b)
        variance = b**2 * left[0] - 2.0 * a * b * left[1] + a**2 * left[2]
        total += weight * mean / np.sqrt(mean**2 + np.maximum(variance, 0.0))
    return np.asarray(0.5 * beta * total)


@dataclass(frozen=True)
class Walk:
    """A random walk through the sites of a network; sizes are root mean squares of one unit.

    Attributes
    ----------
    own_steps, shared_steps : array (sites - 1,)
        Sizes of the text's own part and of the shared part of each step.
    own_start, shared_start : float
        The same of the first state.
    persistence : float
        Correlation of a step with the next.
    """

    own_steps: Array
    shared_steps: Array
    own_start: float = 0.0
    shared_start: float = 0.0
    persistence: float = 0.0

    def __post_init__(self) -> None:
        own, shared = (
            non_negative(name, getattr(self, name)).reshape(-1).copy() for name in ("own_steps", "shared_steps")
        )
        if own.shape != shared.shape or own.size < MIN_PORTRAIT_SITES - 1:
            raise InputError(
                f"own_steps and shared_steps must each have one size for every step, "
                f"at least {MIN_PORTRAIT_SITES - 1}; got {own.size} and {shared.size}."
            )
        if not ((own > 0) | (shared > 0)).all():
            raise InputError("own_steps and shared_steps must not both be zero at a step: a walk always moves.")
        object.__setattr__(self, "own_steps", own)
        object.__setattr__(self, "shared_steps", shared)
        for name in ("own_start", "shared_start"):
            object.__setattr__(self, name, float(scalar(name, non_negative(name, getattr(self, name)))))
        phi = scalar("persistence", within("persistence", self.persistence, -1.0, 1.0, open_low=True, open_high=True))
        object.__setattr__(self, "persistence", float(phi))

    @property
    def site_count(self) -> int:
        """Number of sites."""
        return self.own_steps.size + 1

    @property
    def step_size(self) -> Array:
        """Root mean square of a unit's step, (steps,)."""
        return np.hypot(self.own_steps, self.shared_steps)

    @cached_property
    def own_covariance(self) -> Array:
        r"""Covariance over texts of a unit at two sites, (sites, sites).

        .. math:: C_{ij} = \langle h_0^2\rangle + \sum_{k<i}\sum_{m<j}\langle s_k s_m\rangle
        """
        return self.own_start**2 + _site_covariance(_step_covariance(self.own_steps, self.persistence))

    @cached_property
    def shared_covariance(self) -> Array:
        """The same of the part that texts share, over units: second moments of the mean path."""
        return self.shared_start**2 + _site_covariance(_step_covariance(self.shared_steps, self.persistence))

    @property
    def correlation(self) -> Array:
        r"""Pearson's r over many texts of a unit with itself one site later, (steps,).

        .. math:: r_l = \frac{C_{l,l+1}}{\sqrt{C_{l,l}\,C_{l+1,l+1}}} \quad\text{of the texts' own covariance}\;C

        Without persistence :math:`C_{l,l+1} = C_{l,l}` and r is the ratio of the deviations at the two sites: it is
        high wherever steps are small against what has accumulated. NaN where texts do not differ.
        """
        return _neighbor_correlations(self.own_covariance)

    @property
    def cosine(self) -> Array:
        """Cosine between a state and the next, (steps,), of many units: like r, but from all second moments."""
        return _neighbor_correlations(self.own_covariance + self.shared_covariance)

    @property
    def size(self) -> Array:
        """Root mean square of a unit's state at every site, (sites,); times the root of the unit count, the length."""
        return np.sqrt(np.diagonal(self.own_covariance) + np.diagonal(self.shared_covariance))

    @cached_property
    def path_spectrum(self) -> Array:
        r"""Variances of the mean path along its principal components, (sites - 1,), the largest first.

        They are the eigenvalues of :math:`H C H`, the covariance of the sites about the mean over sites. For equal
        steps without persistence that is :math:`1/(4\sin^2(k\pi/2L))`: components are cosines of depth, and the first
        few hold nearly all. Where texts share nothing, the mean path is what is left of their own parts.
        """
        moving = self.shared_covariance if (self.shared_steps > 0).all() else self.own_covariance
        centered = moving - moving.mean(axis=0)
        centered -= centered.mean(axis=1, keepdims=True)
        return np.asarray(np.maximum(np.linalg.eigvalsh(centered)[:0:-1], 0.0))

    @property
    def participation_ratio(self) -> float:
        r"""Number of dimensions of the mean path, :math:`(\sum\lambda)^2/\sum\lambda^2`; 5/2 for a long plain walk."""
        return float(self.path_spectrum.sum() ** 2 / (self.path_spectrum**2).sum())

    def path_shares(self, units: int | None = None) -> Array:
        r"""Return the share of the mean path's variance along the first 1, 2, ... components, at most ten.

        .. math:: S_k = \frac{\Lambda_k}{\Lambda} + \frac1n\Big[\sum_{i\le k<j}
            \frac{\lambda_i\lambda_j}{\Lambda(\lambda_i-\lambda_j)}
            + 2\frac{\Lambda_k}{\Lambda}\frac{\sum_i\lambda_i^2}{\Lambda^2}
            - 2\frac{\sum_{i\le k}\lambda_i^2}{\Lambda^2}\Big]

        Symbols: :math:`\lambda_i` is the spectrum, :math:`\Lambda` its sum and :math:`\Lambda_k` that of the first k,
        :math:`n` the number of units. The first term is the limit of infinitely many units; the rest corrects the mean
        for few units to first order, with Lawley's (1956) correction of sample eigenvalues. The sum is never above 1.

        `units`: infinitely many if not given.
        """
        spectrum, first = self.path_spectrum, min(MAX_SHARE_COMPONENTS, self.site_count - 1)
        share, squares = spectrum / spectrum.sum(), (spectrum / spectrum.sum()) ** 2
        shares = np.cumsum(share)[:first]
        if units is None:
            return np.asarray(shares)
        count = whole_number("units", units, at_least=2)
        gained = np.zeros(first)
        for k in range(1, min(first, spectrum.size - 1) + 1):
            ahead, rest = share[:k, None], share[None, k:]
            gained[k - 1] = (ahead * rest / (ahead - rest)).sum()
        bent = 2.0 * shares * squares.sum() - 2.0 * np.cumsum(squares)[:first]
        return np.asarray(np.minimum(shares + (gained + bent) / count, 1.0))

    def path_share_deviations(self, units: int) -> Array:
        r"""Return the standard deviation of these shares from one walk to another, to first order in 1/units.

        .. math:: \sqrt{\tfrac{2}{n\Lambda^2}\big[(1-S_k)^2\textstyle\sum_{i\le k}\lambda_i^2
            + S_k^2\sum_{j>k}\lambda_j^2\big]}
        """
        count = whole_number("units", units, at_least=2)
        share = self.path_spectrum / self.path_spectrum.sum()
        first = min(MAX_SHARE_COMPONENTS, self.site_count - 1)
        inside, shares = np.cumsum(share**2)[:first], np.cumsum(share)[:first]
        outside = (share**2).sum() - inside
        variance = 2.0 / count * ((1.0 - shares) ** 2 * inside + shares**2 * np.maximum(outside, 0.0))
        return np.asarray(np.sqrt(variance))

    @cached_property
    def rotations(self) -> Array:
        """Clockwise rotations of a unit's portrait up to each site but the ends, (sites - 2,), by the paper's count.

        The last is the mean of that count; see `expected_rotation_angles`.
        """
        moving = self.shared_steps if (self.shared_steps > 0).all() else self.own_steps
        covariance = _step_covariance(moving / np.sqrt((moving**2).mean()), self.persistence)
        return np.asarray(-np.cumsum(expected_rotation_angles(covariance)) / (2.0 * np.pi))


def geometric_walk(
    sites: int, *, growth: float = 1.0, start: float = 1.0, persistence: float = 0.0, shared: float = 0.5
) -> Walk:
    """Return the walk whose steps grow by a constant factor, the first of size 1.

    Parameters
    ----------
    sites : int >= 3
    growth : float > 0
        Size of the last step over that of the first.
    start : float >= 0
        Size of the first state, in first steps; it differs from text to text.
    persistence : float in (-1, 1)
    shared : float in [0, 1]
        Share of the square of every step that is the same in all texts.
    """
    steps = whole_number("sites", sites, at_least=MIN_PORTRAIT_SITES) - 1
    factor = float(scalar("growth", positive("growth", growth)))
    part = float(scalar("shared", fraction("shared", shared)))
    sizes = factor ** (np.arange(steps) / (steps - 1.0))
    return Walk(np.sqrt(1.0 - part) * sizes, np.sqrt(part) * sizes, start, 0.0, persistence)


def draw_walk(walk: Walk, texts: int, units: int, *, seed: int | np.random.Generator) -> Stream:
    """Return a stream that is such a walk.

    Parameters
    ----------
    walk : Walk
    texts, units : int >= 1
    seed : int or Generator
    """
    shape = (whole_number("texts", texts, at_least=1), walk.site_count, whole_number("units", units, at_least=1))
    generator = generator_of(seed)
    own, shared = generator.standard_normal(shape), generator.standard_normal((1, *shape[1:]))
    starts, sizes = (walk.own_start, walk.shared_start), (walk.own_steps, walk.shared_steps)
    parts = [
        walked(one, start, size, walk.persistence)
        for one, start, size in zip((own, shared), starts, sizes, strict=True)
    ]
    return Stream.from_states(parts[0] + parts[1])


def walked(noise: Array, start: float, sizes: Array, persistence: float) -> Array:
    r"""Return the walk made from independent normal numbers, sites along the second axis; the first is for the start.

    Steps in units of their size follow :math:`x_{l+1} = \varphi x_l + \sqrt{1-\varphi^2}\,g`.
    """
    steps = noise[:, 1:]
    if persistence:
        steps = steps.copy()
        rest = np.sqrt(1.0 - persistence**2)
        for site in range(1, steps.shape[1]):
            steps[:, site] = persistence * steps[:, site - 1] + rest * steps[:, site]
    path = np.empty(noise.shape)
    path[:, 0] = start * noise[:, 0]
    np.multiply(steps, sizes[:, None], out=path[:, 1:])
    return np.cumsum(path, axis=1, out=path)


def _step_covariance(sizes: Array, persistence: float) -> Array:
    apart = np.abs(np.subtract.outer(np.arange(sizes.size), np.arange(sizes.size)))
    return np.asarray(np.multiply.outer(sizes, sizes) * persistence**apart)


def _site_covariance(steps: ArrayLike) -> Array:
    """Return the covariance of sites from that of steps; the first site is zero."""
    return np.pad(np.cumsum(np.cumsum(steps, axis=0), axis=1), ((1, 0), (1, 0)))


def _neighbor_correlations(moments: Array) -> Array:
    """Return second moments of successive sites, each in units of their sizes; NaN where one has none."""
    size = np.sqrt(np.diagonal(moments))
    below = size[:-1] * size[1:]
    return np.asarray(np.divide(np.diagonal(moments, 1), below, out=np.full(below.shape, np.nan), where=below > 0))
