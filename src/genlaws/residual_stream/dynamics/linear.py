r"""One linear map for all steps of the stream (dynamic modes), and how well it predicts texts it has not seen.

The map :math:`h_{l+1} = A h_l + b` is fitted on the principal components of the states. Because a stream changes little
from site to site, most of the variance of the next state is predicted by the current one: only what the map predicts
beyond that persistence, on texts not used to fit it, counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from genlaws.core.arguments import Array, whole_number
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.plain import UNWRITTEN
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.seeds import generator_of
from genlaws.models.stream import Stream
from genlaws.residual_stream.measures.projected_paths import NO_AXES, PooledAxes, pooled_axes
from genlaws.residual_stream.parameters import (
    ComponentCount,
    Folds,
    Seed,
)

Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class AffineMap:
    """The next state as a matrix times the current one plus an offset.

    Attributes
    ----------
    matrix : array of shape (components, components)
    offset : array of shape (components,)
    """

    matrix: Array
    offset: Array

    def __call__(self, before: Array) -> Array:
        """Apply the map to rows of states."""
        return before @ self.matrix.T + self.offset


@dataclass(frozen=True)
class Prediction:
    r"""How well the next state is predicted from the current one.

    Attributes
    ----------
    r_squared, persistence : float
        Share of the variance of the next state that is predicted: by the map, and by not moving, :math:`h_{l+1} = h_l`.
    skill : float
        Share of the squared step that the map predicts; zero or negative where it is no better than not moving.
    """

    r_squared: float
    persistence: float
    skill: float


NO_PREDICTION = Prediction(math.nan, math.nan, math.nan)


@dataclass(frozen=True, eq=False, repr=False)
class Modes(Result):
    """The dynamic modes of a stream.

    Attributes
    ----------
    components : PooledAxes
        What the states were projected on.
    map : AffineMap
    real, imaginary : array
        Parts of the eigenvalues of the matrix, largest modulus first; a pair with an angle is a rotation.
    fitted, held_out : Prediction
        On the texts of the fit, and on texts that were left out; NaN without cross-validation.
    """

    map: AffineMap
    real: Array
    imaginary: Array
    fitted: Prediction
    held_out: Prediction
    components: PooledAxes = field(default=NO_AXES, metadata=UNWRITTEN)

    @property
    def eigenvalues(self) -> Complex:
        """Eigenvalues of the matrix."""
        return self.real + 1j * self.imaginary

    @property
    def moduli(self) -> Array:
        """Growth of each mode from one site to the next."""
        return np.abs(self.eigenvalues)

    @property
    def angles(self) -> Array:
        """Rotation of each mode from one site to the next, in radians."""
        return np.angle(self.eigenvalues)

    def to_frame(self) -> DataFrame:
        """Return one row per mode."""
        parts = {"real": self.eigenvalues.real, "imaginary": self.eigenvalues.imag}
        return frame_of({**parts, "modulus": self.moduli, "angle": self.angles})

    def summary(self) -> Summary:
        """Return how good the fit is and its modes."""
        pairs = int((self.imaginary > 0).sum())
        rows = [Row("fit", _format_prediction(self.fitted)), Row("held out", _format_prediction(self.held_out))]
        return Summary(rows, headline=[f"{self.real.size} components, {pairs} rotating pairs of modes"])


def _format_prediction(prediction: Prediction) -> str:
    if math.isnan(prediction.r_squared):
        return "not requested, or nothing to predict"
    return (
        f"R² = {prediction.r_squared:.4f}, persistence {prediction.persistence:.4f}, share of the step predicted "
        f"{prediction.skill:.3f}"
    )


@question
def dynamic_modes(stream: Stream, *, components: ComponentCount = 6, folds: Folds = 5, seed: Seed = 0) -> Modes:
    """Fit one affine map from each site to the next on the principal components.

    Parameters
    ----------
    stream : Stream
        Texts, or group means of them.
    components : int >= 1
        Fewer are used where the states span fewer.
    folds : int, 0 or at least 2
        Parts into which the texts are divided for cross-validation; 0 leaves it out. With fewer texts than folds each
        text is a part; one text alone cannot be left out, and then the held-out numbers are NaN.
    seed : int
        For the division of the texts.
    """
    axes, before, after = steps_to_fit(stream, components)
    fitted = least_squares_map(before, after)
    eigenvalues = np.linalg.eigvals(fitted.matrix).astype(np.complex128)
    ordered = eigenvalues[np.lexsort((-eigenvalues.imag, -np.abs(eigenvalues).round(12)))]
    known = judge([(fitted, before, after, after.mean(axis=0))])
    held_out = cross_validate(stream, least_squares_map, components=components, folds=folds, seed=seed)
    return Modes(fitted, ordered.real, ordered.imag, known, held_out, components=axes)


def steps_to_fit(stream: Stream, components: int) -> tuple[PooledAxes, Array, Array]:
    """Return the principal components, rows of states along them and one site later; refuse too few rows to fit."""
    axes = pooled_axes(stream, components=min(components, stream.unit_count)).spanned
    before, after = steps_along(axes, stream)
    steps, count = before.shape
    if steps <= count + 1:
        raise InputError(
            f"components must be at most {steps - 2} for the {steps} steps of this stream, or any map fits them; got "
            f"{count}."
        )
    return axes, before, after


def steps_along(components: PooledAxes, stream: Stream) -> tuple[Array, Array]:
    """Return rows of states along the components, and the states one site later."""
    along = components.coordinates(stream)
    k = along.shape[2]
    return along[:, :-1].reshape(-1, k), along[:, 1:].reshape(-1, k)


def least_squares_map(before: Array, after: Array) -> AffineMap:
    """Return the map with the least squared error over rows of states."""
    middle_before, middle_after = before.mean(axis=0), after.mean(axis=0)
    transposed = np.linalg.lstsq(before - middle_before, after - middle_after, rcond=None)[0]
    return AffineMap(transposed.T, middle_after - middle_before @ transposed)


def judge(parts: list[tuple[AffineMap, Array, Array, Array]]) -> Prediction:
    """Return how well maps predict rows; each part is a map, the states before and after, and the mean it knew."""
    wrong = sum(float(((after - found(before)) ** 2).sum()) for found, before, after, _ in parts)
    moved = sum(float(((after - before) ** 2).sum()) for _, before, after, _ in parts)
    spread = sum(float(((after - middle) ** 2).sum()) for _, _, after, middle in parts)
    if moved == 0 or spread == 0:
        return NO_PREDICTION
    return Prediction(1.0 - wrong / spread, 1.0 - moved / spread, 1.0 - wrong / moved)


def cross_validate(
    stream: Stream, fit: Callable[[Array, Array], AffineMap], *, components: int, folds: int, seed: int
) -> Prediction:
    """Return how well a fit predicts texts left out of it; components and map are found without them.

    Parameters
    ----------
    stream : Stream
    fit : function
        From states before and after, as rows, to a map.
    components : int >= 1
    folds : int, 0 or at least 2
    seed : int
    """
    folds = whole_number("folds", folds)
    if folds == 1:
        raise InputError("folds must be 0, for no cross-validation, or at least 2; got 1.")
    texts = stream.text_count
    if folds == 0 or texts < 2:
        return NO_PREDICTION
    order = generator_of(seed).permutation(texts)
    parts = []
    for left_out in np.array_split(order, min(folds, texts)):
        rest = stream.take(np.setdiff1d(order, left_out).tolist())
        axes = pooled_axes(rest, components=min(components, stream.unit_count)).spanned
        before, after = steps_along(axes, rest)
        parts.append((fit(before, after), *steps_along(axes, stream.take(left_out.tolist())), after.mean(axis=0)))
    return judge(parts)
