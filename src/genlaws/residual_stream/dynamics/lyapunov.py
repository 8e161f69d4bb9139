"""Finite-time Lyapunov exponents: how fast small disturbances of one token's state grow or shrink between two sites.

They come from products with the Jacobian, or from the whole Jacobian of a narrow model.
The Jacobian is the derivative of one token's state at a later site with respect to its own state at an earlier one,
with the states of all other tokens at the earlier site held fixed. In a decoder the other tokens do not see the last
one and do not change at any site. In an encoder they respond, and what comes back through them is part of the
derivative.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel

from genlaws.core.arguments import Array, one_of, real, whole_number
from genlaws.core.errors import InputError
from genlaws.core.running import Running, checked_running
from genlaws.models.interventions import OneToken, TokenTexts, only_text, site_number, texts_of
from genlaws.models.stream import Site
from genlaws.residual_stream.measures.curves import ONE_TEXT, SiteCurve, mean_curve
from genlaws.residual_stream.results import Lyapunov

JACOBIAN_METHODS = ("forward", "difference")
MAX_WHOLE_JACOBIAN_UNITS = 1024  # units of a state whose Jacobian is taken whole
SPARE_DIRECTIONS = 4  # beyond the requested ones, so that the last of these converge
RANDOM_DIRECTIONS = 64  # random directions through a whole Jacobian
MAX_ROUNDS = 12
CONVERGENCE_TOLERANCE = 1e-3  # relative change of the singular values in the last round


def jacobian_product(
    model: nn.Module,
    tokens: TokenTexts,
    site: Site | str,
    directions: ArrayLike,
    *,
    to: Site | str = "end",
    method: str = "forward",
    batch_size: int = 32,
) -> Array:
    """Return the Jacobian between two sites of one text's last token times directions, (directions, units).

    Parameters
    ----------
    model : torch.nn.Module
    tokens : sequence of int, or Tokens of one text
    site, to : Site or str
        From the state at ``site`` to the state at ``to``, which comes later.
    directions : array (directions, units)
        The identity gives the transposed Jacobian.
    method : {"forward", "difference"}
        Exact, by forward differentiation; or central differences.
    batch_size : int
        Directions per pass.
    """
    one_of("method", method, JACOBIAN_METHODS)
    token = OneToken(model, *only_text(tokens))
    between = Between(token, site, to, method, whole_number("batch_size", batch_size, at_least=1))
    given = real("directions", directions)
    if given.ndim != 2 or given.shape[1] != between.width:
        raise InputError(f"directions must have the shape (directions, {between.width}); got {given.shape}.")
    return between.push(given)


class Between:
    """The map from one token's state at a site to that at a later one, near the undisturbed states.

    Parameters
    ----------
    token : OneToken
    site, to : Site or str
    method : {"forward", "difference"}
    batch_size : int
        Directions per pass.
    """

    def __init__(self, token: OneToken, site: Site | str, to: Site | str, method: str, batch_size: int) -> None:
        self.token, self.method, self.batch_size = token, method, batch_size
        self.start, self.end = site_number(token.sites, site), site_number(token.sites, to, "to")
        if self.end <= self.start:
            raise InputError(
                f"to must come after site; got {token.sites[self.end].name} after {token.sites[self.start].name}."
            )
        control = token.control()
        self.width, self.message = control.shape[1], ""
        self.lengths = np.linalg.norm(control[[self.start, self.end]], axis=1)
        self.kind = next(token.model.parameters()).dtype

    def push(self, directions: Array) -> Array:
        """Return J v for each direction v, (directions, units)."""
        return self._each(self._pushed, directions)

    def pull(self, directions: Array) -> Array:
        """Return the transposed Jacobian times each direction."""
        return self._each(self._pulled, directions)

    def _each(self, product: Callable[[Tensor], Tensor], directions: Array) -> Array:
        size = self.batch_size
        given = [torch.from_numpy(directions[one : one + size]) for one in range(0, len(directions), size)]
        with sdpa_kernel(SDPBackend.MATH):  # the other kernels do not support forward differentiation
            found = [product(one.to(self.token.device, self.kind)).double().cpu().numpy() for one in given]
        return np.concatenate(found)

    def _pushed(self, directions: Tensor) -> Tensor:
        """Differentiate forward, or take differences where requested or where a part has no forward derivative."""
        if self.method == "difference":
            return self._difference(directions)
        try:
            with torch.no_grad(), forward_ad.dual_level():
                changes = _dual(directions)
                reached = self.token.following(self.start, changes, self.end)
                tangent: Tensor | None = forward_ad.unpack_dual(reached).tangent  # type: ignore[no-untyped-call]
        except NotImplementedError as error:
            self.method = "difference"
            found, again = self._difference(directions), self._difference(directions, wider=2.0)
            apart = float(torch.linalg.vector_norm(found - again) / torch.linalg.vector_norm(found))
            self.message = (
                f"Central differences were used: the model has no forward differentiation ({str(error)[:80]}); "
                f"with twice the step they differ by {apart:.1g}."
            )
            return found
        return torch.zeros_like(directions) if tangent is None else tangent

    def _difference(self, directions: Tensor, wider: float = 1.0) -> Tensor:
        """Return central differences, with a step that balances rounding and curvature."""
        lengths = torch.linalg.vector_norm(directions, dim=1, keepdim=True).clamp(min=torch.finfo(self.kind).tiny)
        # Many models compute norms in single precision whatever their own, so their rounding is never finer than that.
        rounding = max(torch.finfo(kind).eps for kind in (self.kind, torch.float32))
        step = wider * rounding ** (1 / 3) * float(self.lengths[0]) / lengths
        with torch.no_grad():
            ahead, behind = (
                self.token.following(self.start, sign * step * directions, self.end).double() for sign in (1, -1)
            )
        slope: Tensor = (ahead - behind) / (2 * step)
        return slope

    def _pulled(self, directions: Tensor) -> Tensor:
        """Differentiate backward, with respect to the change alone."""
        with torch.enable_grad():
            changes = torch.zeros_like(directions, requires_grad=True)
            reached = self.token.following(self.start, changes, self.end)
            (found,) = torch.autograd.grad(reached, changes, directions)
        return found


def _dual(directions: Tensor) -> Tensor:
    """Return zeros with these derivatives."""
    with warnings.catch_warnings():  # torch warns of its own use of torch.jit.script when the first one is made
        warnings.filterwarnings("ignore", "`torch.jit.script`", DeprecationWarning)
        made: Tensor = forward_ad.make_dual(torch.zeros_like(directions), directions)  # type: ignore[no-untyped-call]
    return made


def lyapunov(
    model: nn.Module,
    tokens: TokenTexts,
    site: Site | str,
    *,
    to: Site | str = "end",
    directions: int | None = 8,
    method: str = "forward",
    batch_size: int = 32,
    seed: int,
    running: Running | None = None,
) -> Lyapunov:
    r"""Return the finite-time Lyapunov exponents of the last token between two sites.

    .. math:: \lambda_i = \frac1T \ln \sigma_i(J), \qquad J = \frac{\partial h_{m}}{\partial h_{l}}, \qquad T = m - l

    Symbols: :math:`\sigma_i` are singular values, :math:`l` is ``site`` and :math:`m` is ``to``, counted in sites.

    Parameters
    ----------
    model : torch.nn.Module
        A decoder or encoder from the transformers library; it is not modified.
    tokens : Tokens, or list of texts that are lists of whole numbers
    site, to : Site or str
    directions : int, optional
        Number of leading singular values, found by products with the Jacobian and its transpose. Without it, or if
        there are no more units than that, the whole Jacobian is computed, for at most 1024 units, with its eigenvalues.
    method : {"forward", "difference"}
        How products with the Jacobian are computed. Where a part of the model does not support forward differentiation,
        central differences are used, and the message reports it.
    batch_size : int
        Directions per pass.
    seed : int
        Seed of the initial directions.
    running : Running, optional
        Its steps are the texts.
    """
    one_of("method", method, JACOBIAN_METHODS)
    wanted = None if directions is None else whole_number("directions", directions, at_least=1)
    size, seed = whole_number("batch_size", batch_size, at_least=1), whole_number("seed", seed)
    texts, shown = texts_of(tokens), checked_running(running)
    shown.start(len(texts), "Lyapunov exponents of texts")
    spectra: list[_Spectrum] = []
    for number, text in enumerate(texts):
        between = Between(OneToken(model, *text), site, to, method, size)
        spectra.append(_spectrum(between, wanted, np.random.default_rng([seed, number])))
        shown.advance()
    return _mean_spectrum(between, spectra)


@dataclass(frozen=True)
class _Spectrum:
    """Spectrum of one text."""

    values: Array
    typical: float
    growth: float  # logarithm of the ratio of the states' lengths
    eigenvalues: NDArray[np.complex128] | None
    residual: float
    message: str


def _spectrum(between: Between, wanted: int | None, random: np.random.Generator) -> _Spectrum:
    """Return the leading singular values, or all of them with the eigenvalues."""
    growth = float(np.log(between.lengths[1] / between.lengths[0]))
    if wanted is None or wanted >= between.width:
        if between.width > MAX_WHOLE_JACOBIAN_UNITS:
            raise InputError(
                f"directions must be given for a model of {between.width} units: the whole Jacobian is taken up to "
                f"{MAX_WHOLE_JACOBIAN_UNITS}."
            )
        jacobian = between.push(np.eye(between.width)).T
        values = _singular_values(jacobian)
        tries = random.standard_normal((between.width, RANDOM_DIRECTIONS))
        stretched = np.linalg.norm(jacobian @ tries, axis=0) / np.linalg.norm(tries, axis=0)
        eigenvalues = np.linalg.eigvals(jacobian).astype(np.complex128)
        return _Spectrum(values, _mean_log(stretched), growth, eigenvalues, 0.0, between.message)
    basis = _orthonormal(random.standard_normal((min(wanted + SPARE_DIRECTIONS, between.width), between.width)))
    pushed = between.push(basis)
    typical = _mean_log(np.linalg.norm(pushed, axis=1))
    values, residual = _singular_values(pushed)[:wanted], np.inf
    for _ in range(MAX_ROUNDS):
        pushed = between.push(_orthonormal(between.pull(pushed)))
        before, values = values, _singular_values(pushed)[:wanted]
        residual = float(np.max(np.abs(values - before) / np.maximum(values, np.finfo(float).tiny)))
        if residual < CONVERGENCE_TOLERANCE:
            break
    return _Spectrum(values, typical, growth, None, residual, between.message)


def _orthonormal(rows: Array) -> Array:
    """Return orthonormal rows that span the same directions."""
    return np.asarray(np.linalg.qr(rows.T)[0].T)


def _singular_values(matrix: Array) -> Array:
    return np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=np.float64)


def _mean_log(lengths: Array) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(lengths).mean())


def _mean_spectrum(between: Between, spectra: list[_Spectrum]) -> Lyapunov:
    """Return means over texts with their intervals."""
    steps = between.end - between.start
    values = np.stack([one.values for one in spectra])
    growth = np.array([one.growth for one in spectra])[:, None]
    typical = np.array([one.typical for one in spectra])[:, None]
    ranks = tuple(str(rank + 1) for rank in range(values.shape[1]))

    def curve(name: str, labels: tuple[str, ...], logarithms: Array) -> SiteCurve:
        """Return the means over texts, per step."""
        return mean_curve(name, labels, logarithms / steps, np.arange(len(spectra)))

    with np.errstate(divide="ignore"):
        logarithms = np.log(values)
    whole = [one.eigenvalues for one in spectra if one.eigenvalues is not None]
    missing, residual = np.full(len(spectra), np.nan), max(one.residual for one in spectra)
    sentences = dict.fromkeys(one.message for one in spectra if one.message)
    if len(spectra) == 1:
        sentences[ONE_TEXT] = None
    if residual >= CONVERGENCE_TOLERANCE:
        sentences[f"The last singular values still changed by {residual:.2g} in the last round."] = None
    return Lyapunov(
        site=between.token.sites[between.start].name,
        to=between.token.sites[between.end].name,
        steps=steps,
        singular_values=values,
        exponents=curve("exponent", ranks, logarithms),
        relative_exponents=curve("relative exponent", ranks, logarithms - growth),
        typical=curve("typical growth", ("any", "relative"), np.hstack([typical, typical - growth])),
        eigenvalues=np.stack(whole) if whole else None,
        non_normality=_non_normality(values, np.stack(whole)) if whole else missing,
        residual=residual,
        converged=residual < CONVERGENCE_TOLERANCE,
        message=" ".join(sentences),
    )


def _non_normality(values: Array, eigenvalues: NDArray[np.complex128]) -> Array:
    r"""Return Henrici's departure :math:`\sqrt{1 - \sum_i|\lambda_i|^2/\sum_i\sigma_i^2}` of each matrix."""
    share = (np.abs(eigenvalues) ** 2).sum(axis=1) / (values**2).sum(axis=1)
    return np.asarray(np.sqrt(np.clip(1.0 - share, 0.0, 1.0)))
