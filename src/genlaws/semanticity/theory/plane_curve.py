"""A curve in the plane of generalization and identification, and how far points lie from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array

BLOCK_SIZE = 1 << 20  # pairs of a point and a piece of a curve that are held together


@dataclass(frozen=True)
class PlaneCurve:
    """A curve in the plane of generalization and identification, by its points."""

    generalization: Array
    identification: Array

    def generalization_at(self, identification: ArrayLike) -> Array:
        """Return the generalization at an identification, interpolated; beyond an end, that of the end."""
        order = np.argsort(self.identification, kind="stable")
        at = np.asarray(identification, dtype=np.float64)
        return np.asarray(np.interp(at, self.identification[order], self.generalization[order]))

    def distance(self, generalization: ArrayLike, identification: ArrayLike) -> Array:
        """Return the distance of points from the curve; positive above it, negative below.

        Above means more generalization than the curve has at the same identification.
        """
        points = np.stack(np.broadcast_arrays(generalization, identification), axis=-1).astype(np.float64)
        flat, step = points.reshape(-1, 2), max(1, BLOCK_SIZE // len(self.generalization))
        pieces = [self._to_pieces(flat[start : start + step]).min(axis=1) for start in range(0, len(flat), step)]
        apart = np.concatenate([np.empty(0), *pieces]).reshape(points.shape[:-1])
        signed: Array = np.where(points[..., 0] >= self.generalization_at(points[..., 1]), apart, -apart)
        return signed

    def nearest_piece(self, generalization: float, identification: float) -> int:
        """Return the index of the piece, between a point of the curve and the next, nearest to a point of the plane."""
        return int(np.argmin(self._to_pieces(np.array([[generalization, identification]]))))

    def _to_pieces(self, points: Array) -> Array:
        """Return the distance of each point, (points, 2), from each piece of the curve, (points, pieces)."""
        x, y = self.generalization, self.identification
        step_x, step_y = np.diff(x), np.diff(y)
        from_x, from_y = points[:, :1] - x[:-1], points[:, 1:] - y[:-1]
        length = np.maximum(step_x**2 + step_y**2, 1e-300)
        along = np.clip((from_x * step_x + from_y * step_y) / length, 0.0, 1.0)
        apart: Array = np.hypot(from_x - along * step_x, from_y - along * step_y)
        return apart
