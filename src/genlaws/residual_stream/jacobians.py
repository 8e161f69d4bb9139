"""How small disturbances of one token's state are stretched between two sites: products with the Jacobian.

The Jacobian is that of the state of one token at a later site in its own state at an earlier one, the states of all
other tokens at the earlier site held at what they are. In a decoder the other tokens do not see the last one and stay
as they are all the way. In an encoder they answer, and what comes back through them is part of the derivative.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel

from genlaws.numerics.arguments import Array, one_of, real, whole_number
from genlaws.numerics.errors import InputError
from genlaws.residual_stream.interventions import OneToken, TokenTexts, site_number, texts_of
from genlaws.residual_stream.stream import Site

METHODS = ("forward", "difference")


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
        From the state at the one to the state at the other, which comes later.
    directions : array (directions, units)
        The identity gives the transposed Jacobian.
    method : {"forward", "difference"}
        Exact, by forward differentiation; or central differences.
    batch_size : int
        Directions of one pass.
    """
    one_of("method", method, METHODS)
    texts = texts_of(tokens)
    if len(texts) != 1:
        raise InputError(f"tokens must be those of one text; got {len(texts)} texts.")
    between = Between(OneToken(model, *texts[0]), site, to, method, whole_number("batch_size", batch_size, at_least=1))
    given = real("directions", directions)
    if given.ndim != 2 or given.shape[1] != between.width:
        raise InputError(f"directions must have the shape (directions, {between.width}); got {given.shape}.")
    return between.push(given)


class Between:
    """The map from one token's state at a site to that at a later one, near what they are.

    Parameters
    ----------
    token : OneToken
    site, to : Site or str
    method : {"forward", "difference"}
    batch_size : int
        Directions of one pass.
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
        with sdpa_kernel(SDPBackend.MATH):  # the other kernels know no forward differentiation
            found = [product(one.to(self.token.device, self.kind)).double().cpu().numpy() for one in given]
        return np.concatenate(found)

    def _pushed(self, directions: Tensor) -> Tensor:
        """Differentiate forward, or take differences where that was asked for or is not known."""
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
                f"Central differences were taken, for the model knows no forward differentiation ({str(error)[:80]}); "
                f"with twice the step they differ by {apart:.1g}."
            )
            return found
        return torch.zeros_like(directions) if tangent is None else tangent

    def _difference(self, directions: Tensor, wider: float = 1.0) -> Tensor:
        """Return central differences, with a step that balances rounding and curvature."""
        lengths = torch.linalg.vector_norm(directions, dim=1, keepdim=True).clamp(min=torch.finfo(self.kind).tiny)
        # Many models take norms in single precision whatever their own, so their rounding is never finer than that.
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
