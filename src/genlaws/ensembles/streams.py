r"""Random numbers that depend only on a seed, a step and a place.

A network's draws must not depend on its neighbors in the stack, on the device, or on where a run was interrupted. So
there is no generator with a state: the number at place :math:`i` of step :math:`t` is a hash of
:math:`(\text{seed}, t, i)`, computed for all networks at once. The hash is the finalizer of SplitMix64
:cite:p:`steele2014`, applied once to seed and step and once more to the place.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Odd constants of SplitMix64, as signed 64-bit numbers; products wrap around as intended.
SPLITMIX_INCREMENT = 0x9E3779B97F4A7C15 - (1 << 64)
SPLITMIX_FACTOR_1 = 0xBF58476D1CE4E5B9 - (1 << 64)
SPLITMIX_FACTOR_2 = 0x94D049BB133111EB - (1 << 64)
FRACTION_BITS = 53


def keys_of(seeds: list[int], device: torch.device | str = "cpu", purpose: int = 0) -> Tensor:
    """Return one key for each network, (networks,); numbers for different purposes are unrelated."""
    wrapped = [_signed(int(seed)) for seed in seeds]
    raw = torch.tensor(wrapped, dtype=torch.int64, device=device)
    return _mix(_mix(raw + SPLITMIX_INCREMENT) + _signed((purpose + 1) * SPLITMIX_INCREMENT))


def uniforms(keys: Tensor, steps: Tensor, count: int) -> Tensor:
    """Return numbers on [0, 1) of shape (steps, networks, count), in double precision.

    Parameters
    ----------
    keys : integer tensor of shape (networks,)
        From `keys_of`.
    steps : integer tensor of shape (steps,)
    count : int
        Numbers for each network and step.
    """
    places = torch.arange(1, count + 1, dtype=torch.int64, device=keys.device) * SPLITMIX_INCREMENT
    at_step = _mix(keys[None, :] + (steps[:, None] + 1) * SPLITMIX_INCREMENT)
    bits = _mix(at_step[:, :, None] + places)
    return _logical_shift(bits, 64 - FRACTION_BITS).to(torch.float64) * 2.0**-FRACTION_BITS


def whole_numbers(keys: Tensor, steps: Tensor, count: int, below: int | Tensor) -> Tensor:
    """Return whole numbers from 0 to below - 1, (steps, networks, count); `below` may differ between networks."""
    limit = below.to(torch.float64)[None, :, None] if isinstance(below, Tensor) else below
    return (uniforms(keys, steps, count) * limit).to(torch.int64)


def normals(keys: Tensor, steps: Tensor, count: int) -> Tensor:
    """Return standard normal numbers, (steps, networks, count), in double precision (Box and Muller)."""
    half = (count + 1) // 2
    u = uniforms(keys, steps, 2 * half)
    radius = (-2.0 * torch.log1p(-u[..., :half])).sqrt()
    angle = 2.0 * math.pi * u[..., half:]
    return torch.cat([radius * angle.cos(), radius * angle.sin()], dim=-1)[..., :count]


def permutations(keys: Tensor, rounds: Tensor, allowed: Tensor) -> Tensor:
    """Return one order of the rows for each network, those that are not allowed last; (networks, rows).

    Parameters
    ----------
    keys, rounds : integer tensors of shape (networks,)
        A network gets a new order in each round.
    allowed : truth values of shape (networks, rows)
    """
    places = torch.arange(1, allowed.shape[1] + 1, dtype=torch.int64, device=keys.device) * SPLITMIX_INCREMENT
    rank = _logical_shift(_mix(_mix(keys + (rounds + 1) * SPLITMIX_INCREMENT)[:, None] + places), 1)
    return torch.where(allowed, rank, torch.iinfo(torch.int64).max).argsort(dim=1, stable=True)


def _mix(x: Tensor) -> Tensor:
    """Return the finalizer of SplitMix64: every bit of the result depends on every bit of x."""
    x = (x ^ _logical_shift(x, 30)) * SPLITMIX_FACTOR_1
    x = (x ^ _logical_shift(x, 27)) * SPLITMIX_FACTOR_2
    return x ^ _logical_shift(x, 31)


def _logical_shift(x: Tensor, by: int) -> Tensor:
    """Shift right and fill with zeros; torch's own shift keeps the sign."""
    return (x >> by) & ((1 << (64 - by)) - 1)


def _signed(number: int) -> int:
    """Return a number modulo 2^64 as the signed number with the same bits."""
    low = number & ((1 << 64) - 1)
    return low - (1 << 64) if low >> 63 else low
