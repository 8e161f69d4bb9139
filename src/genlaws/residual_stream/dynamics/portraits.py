r"""Phase portraits of single units, and how often they rotate.

A unit's portrait is its mean activation over texts :math:`a_l` at each site :math:`l` against the gradient
:math:`\dot a_l` along the sites. Where the gradient is positive the activation grows, and where it is negative it
falls: in this plane every path that goes somewhere and comes back rotates clockwise, by construction. So a count of
rotations has to be compared with that of a random walk, which is about 11 rotations in 64 sites.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, real
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary, question
from genlaws.models.stream import Stream

MIN_PORTRAIT_SITES = 3  # two tangents, one change of angle
FULL_CIRCLE_RADIANS = 2.0 * np.pi  # radians


@dataclass(frozen=True, eq=False, repr=False)
class Portraits(Result):
    """Mean activation of every unit and its gradient.

    Attributes
    ----------
    activation, gradient : arrays of shape (sites, units)
        The gradient is in activation per site: central differences, one-sided at both ends.
    """

    activation: Array
    gradient: Array

    def to_frame(self) -> DataFrame:
        """Return one row per unit and site."""
        sites, units = self.activation.shape
        unit, site = np.divmod(np.arange(sites * units), sites)
        columns = {"activation": self.activation.T.ravel(), "gradient": self.gradient.T.ravel()}
        return frame_of({"unit": unit, "site": site, **columns})


@dataclass(frozen=True, eq=False, repr=False)
class Rotations(Result):
    """How often the portrait of each unit rotates, counterclockwise counted positive.

    Attributes
    ----------
    tangent_rotations : array of shape (units,)
        Rotations of the tangent, the paper's count with the standard sign: almost always negative.
    centered_winding : array of shape (units,)
        Rotations of the path about its own mean.
    site_count : int
    """

    tangent_rotations: Array
    centered_winding: Array
    site_count: int

    @property
    def as_printed(self) -> Array:
        """Rotations of the tangent with the sign of the paper, which counts clockwise positive."""
        return -self.tangent_rotations

    def to_frame(self) -> DataFrame:
        """Return one row per unit."""
        columns = {"tangent_rotations": self.tangent_rotations, "centered_winding": self.centered_winding}
        return frame_of({"unit": np.arange(self.tangent_rotations.size), **columns})

    def summary(self) -> Summary:
        """Return both counts, mean and standard deviation over units."""
        rows = [
            Row("rotations of the tangent", spread_of(self.tangent_rotations)),
            Row("winding about the mean", spread_of(self.centered_winding)),
        ]
        return Summary(rows, ["Negative is clockwise; compare with surrogates before calling it an orbit."])


def spread_of(counts: Array) -> str:
    """Return mean and standard deviation over units in words, because ± is half an interval everywhere else."""
    return f"{counts.mean():.2f}, standard deviation {counts.std():.2f} over {counts.size} units"


@question
def portraits(source: Stream | ArrayLike) -> Portraits:
    """Return the phase portrait of every unit.

    Parameters
    ----------
    source : Stream, or array of shape (sites, units)
        A stream is averaged over texts first; an array is taken as the mean activations.

    References
    ----------
    :cite:p:`fernando2025`, unit phase portraits.
    """
    if isinstance(source, Stream):
        activation: Array = source.states.mean(axis=0, dtype=np.float64)
    else:
        activation = real("mean activations", source)
    if activation.ndim != 2 or activation.shape[0] < MIN_PORTRAIT_SITES:
        raise InputError(
            f"mean activations must have the shape (sites, units) with at least {MIN_PORTRAIT_SITES} sites; got "
            f"{activation.shape}."
        )
    return Portraits(activation, np.gradient(activation, axis=0))


def total_rotations(angle: Array) -> Array:
    r"""Return how often an angle goes around along the first axis, each change taken the shorter way.

    .. math:: R = \frac{1}{2\pi} \sum_l \Delta\theta_l
              = \frac{\theta_{\rm last} - \theta_{\rm first}}{2\pi}
              - \sum_l \Big\lceil \frac{\theta_{l+1} - \theta_l}{2\pi} - \frac12 \Big\rceil

    with :math:`\Delta\theta_l` wrapped to :math:`(-\pi, \pi]`. The second form adds only whole rotations.
    """
    whole = np.ceil(np.diff(angle, axis=0) / FULL_CIRCLE_RADIANS - 0.5).sum(axis=0)
    return np.asarray((angle[-1] - angle[0]) / FULL_CIRCLE_RADIANS - whole)


def tangent_rotations(x: Array, y: Array) -> Array:
    r"""Return the rotations of the tangent of paths, the first axis along the path.

    .. math:: \theta_l = \operatorname{atan2}(y_{l+1} - y_l,\; x_{l+1} - x_l), \qquad
              R = \frac{1}{2\pi} \sum_l \Delta\theta_l

    With L points there are L - 1 tangents and L - 2 changes of angle, so the count is at most (L - 2)/2. Subtracting
    the first point, as the paper does, does not change the tangents. A path run backward has the opposite count, so the
    mean over all orders of its points is zero for every path.
    """
    return total_rotations(np.arctan2(np.diff(y, axis=0), np.diff(x, axis=0)))


def centered_winding(x: Array, y: Array) -> Array:
    """Return how often paths go around their mean point, the first axis along the path; the path is not closed."""
    return total_rotations(np.arctan2(y - y.mean(axis=0), x - x.mean(axis=0)))


@question
def rotations(source: Stream | ArrayLike) -> Rotations:
    """Return how often the phase portrait of each unit rotates.

    Parameters
    ----------
    source : Stream, or array of shape (sites, units)
        A stream is averaged over texts first; an array is taken as the mean activations.

    Notes
    -----
    The paper prints the tangent's rotations as positive numbers. With the usual sign, counterclockwise positive, they
    are negative: ``as_printed`` has the paper's sign. A unit that never moves has no rotations. A sinusoid of one
    period has one rotation; a quarter of it or more is lost when it starts at an extremum, because the gradient at the
    ends is one-sided.

    References
    ----------
    :cite:p:`fernando2025`, rotations of unit phase portraits.
    """
    drawn = portraits(source)
    x, y = drawn.activation, drawn.gradient
    return Rotations(tangent_rotations(x, y), centered_winding(x, y), x.shape[0])
