"""Both tests with two items, and the profile, of a whole stack of similarity matrices, on the stack's device."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError
from genlaws.semanticity.theory.ties import GRID_STEP, round_distances

TRIPLES_AT_ONCE = 1 << 18  # of all networks together; a few such arrays stay in a processor's cache
MAX_DISTANCES = 200  # points of a profile; where more occur, neighbors share one


class StackedTests:
    """Generalization and identification with two items, exact: every triple of different stimuli counts.

    Triples whose two items are equally far from the probe are left out; every probe counts alike.

    Parameters
    ----------
    distances : array of shape (stimuli, stimuli)
    device : torch.device
    """

    def __init__(self, distances: Array, device: torch.device | str = "cpu") -> None:
        count = len(distances)
        probe, near, far = untied_triples(distances)
        self._near = torch.as_tensor(probe * count + near, device=device)
        self._far = torch.as_tensor(probe * count + far, device=device)
        if not len(probe):
            raise InputError("distances must leave an item nearer than another to some probe; all triples are tied.")
        per_probe = np.bincount(probe, minlength=count)
        share = 1.0 / (per_probe[probe] * np.count_nonzero(per_probe))
        self._share = torch.as_tensor(share, dtype=torch.float64, device=device)
        self._others = ~torch.eye(count, dtype=torch.bool, device=device)

    def __call__(self, similarity: Tensor) -> tuple[Tensor, Tensor]:
        """Return generalization and identification, both (networks,) in double precision.

        Parameters
        ----------
        similarity : tensor of shape (networks, probes, items)
            Positive; the diagonal is the similarity with a copy.
        """
        flat = similarity.flatten(1)
        chunk = max(1, TRIPLES_AT_ONCE // max(1, len(self._near)))
        generalization = torch.cat([self._generalization(part) for part in torch.split(flat, chunk)])
        own = similarity.diagonal(dim1=1, dim2=2).unsqueeze(2)
        named = own / (own + similarity)
        identification = named[:, self._others].mean(1, dtype=torch.float64)
        return generalization, identification

    def _generalization(self, flat: Tensor) -> Tensor:
        near, far = flat.index_select(1, self._near), flat.index_select(1, self._far)
        return (near / near.add(far)).to(torch.float64) @ self._share


def untied_triples(distances: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return probe, nearer and farther item of every triple of different stimuli without a tie."""
    d = np.asarray(distances, dtype=np.float64)
    probe, near, far = np.nonzero(d[:, :, None] < d[:, None, :])
    different = (near != probe) & (far != probe)
    return probe[different], near[different], far[different]


class ProfileMeans:
    """The mean similarity at each distance that occurs, the distance 0 of a stimulus to itself among them.

    If more than `MAX_DISTANCES` occur, neighbors are put together, about equally many pairs in each.

    Parameters
    ----------
    distances : array of shape (stimuli, stimuli)
    device : torch.device

    Attributes
    ----------
    distance, count : arrays of shape (distances,)
        Mean distance and number of pairs of each.
    """

    def __init__(self, distances: Array, device: torch.device | str = "cpu") -> None:
        flat = distances.ravel()
        values, place = np.unique(round_distances(flat, GRID_STEP * float(flat.max())), return_inverse=True)
        if len(values) > MAX_DISTANCES:
            zeros = int((flat == 0).sum())
            rank = np.searchsorted(np.sort(place), place)
            place = np.where(flat == 0, 0, 1 + (rank - zeros) * (MAX_DISTANCES - 1) // (flat.size - zeros))
            _, place = np.unique(place, return_inverse=True)
        self.count = np.bincount(place).astype(np.float64)
        self.distance: Array = np.bincount(place, flat) / self.count
        member = np.zeros((flat.size, self.count.size), dtype=np.float32)
        member[np.arange(flat.size), place] = 1.0 / self.count[place]
        self._share = torch.as_tensor(member, device=device)

    def __call__(self, similarity: Tensor) -> Tensor:
        """Return the profile of each network, (networks, distances)."""
        return similarity.flatten(1) @ self._share
