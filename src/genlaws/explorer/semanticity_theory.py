"""The curves behind the view on semanticity, each kept under the settings it depends on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.semanticity import (
    FrontCurve,
    FrontPoint,
    Similarity,
    front_curve,
    generalisation_of_many,
    identification_of_many,
    point_on_curve,
    similarity,
    space,
    whole_curve,
)
from genlaws.semanticity.quick_peak import WholeCurve
from genlaws.semanticity.spaces import DiscreteSpace, Space

KEPT = 256  # answers of each kind
# Nats by which a similarity may fall over the space, so that an answer takes milliseconds: where the distances have a
# density, and where there are few of them.
STEEPEST, STEEPEST_STEPS = 150.0, 600.0
MASSES = 81  # of the front for comparison
SIZE_NAMES = {"tree": ("branching", "depth")}
# The segment takes an average over probes, so that fewer numbers of items are computed there.
COUNTS = (2, 3, 4, 6, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300, 450, 670, 1000)
SEGMENT_COUNTS = (2, 3, 5, 8, 14, 25, 50, 100)


@dataclass(frozen=True)
class Asked:
    """What the view is asked about; `sizes` are the parameters of the space, `share` is ε over the largest distance."""

    space: str
    sizes: tuple[int, ...]
    similarity: str
    exponent: float | None
    share: float
    background: float
    item_count: int

    def named_sizes(self) -> dict[str, int]:
        """Return the parameters of the space under their names."""
        return dict(zip(SIZE_NAMES.get(self.space, ("dimension",)), self.sizes, strict=False))

    def where(self) -> Space:
        """Return the space."""
        return _space(self.space, self.sizes)

    def radius(self) -> float:
        """Return the resolution in units of the distance, to six digits."""
        return float(f"{self.share * self.where().reach:.6g}")

    def form(self) -> Similarity:
        """Return the similarity at the resolution."""
        return similarity(self.similarity, self.radius(), background=self.background, exponent=self.exponent)

    def too_steep(self) -> bool:
        """Return whether both tests cannot be computed fast: the similarity falls too far over the space."""
        form, where = self.form(), self.where()
        least = STEEPEST_STEPS if isinstance(where, DiscreteSpace) else STEEPEST
        return bool(np.isinf(form.support) and float(form(where.reach)) < np.exp(-least))

    def without_resolution(self) -> Asked:
        """Return the same at resolution 1, as a key for what does not depend on it."""
        return replace(self, share=1.0)

    def without_items(self) -> Asked:
        """Return the same for two items, as a key for what does not depend on their number."""
        return replace(self, item_count=2)


@lru_cache(maxsize=KEPT)
def _space(name: str, sizes: tuple[int, ...]) -> Space:
    return space(name, **dict(zip(SIZE_NAMES.get(name, ("dimension",)), sizes, strict=False)))


@lru_cache(maxsize=KEPT)
def asked_point(asked: Asked) -> FrontPoint | None:
    """Return both tests at the chosen resolution, or nothing where the similarity is too steep."""
    return None if asked.too_steep() else point_on_curve(asked.where(), asked.form(), asked.item_count)


@lru_cache(maxsize=KEPT)
def whole_front(asked: Asked) -> WholeCurve:
    """Return the front and its peak, which is that of `best_on_curve`."""
    return whole_curve(asked.where(), asked.form(), asked.item_count)


@lru_cache(maxsize=KEPT)
def many_items(asked: Asked) -> FrontCurve:
    """Return both tests at the chosen resolution for several numbers of items."""
    counts = SEGMENT_COUNTS if asked.space == "segment" else COUNTS
    return front_curve(asked.where(), asked.form(), asked.radius(), counts)


@lru_cache(maxsize=KEPT)
def constant_front(item_count: int) -> tuple[Array, Array]:
    """Return generalisation and identification of the constant similarity in a homogeneous space, no background."""
    b = np.unique(np.concatenate([np.geomspace(1e-2 / item_count, 1.0, MASSES // 2), np.linspace(0.0, 1.0, MASSES)]))
    return generalisation_of_many(b, item_count), identification_of_many(b, item_count)
