"""Streams made up for the checks: walks with given speeds, clouds that turn and grow, units of unequal variance."""

from __future__ import annotations

import numpy as np

from genlaws.numerics.arguments import Array


def walk(speeds: Array, units: int, seed: int = 0) -> Array:
    """Return a Gaussian random walk from zero, sites first, whose steps have these sizes."""
    noise = np.random.default_rng(seed).standard_normal((len(speeds), units))
    return np.concatenate([np.zeros((1, units)), np.cumsum(np.asarray(speeds)[:, None] * noise, axis=0)])


def turns_written_out(a: Array, slope: Array | None = None) -> Array:
    r"""Return the turns of each unit as the paper defines them, without the library.

    .. math:: R = \frac{1}{2\pi} \sum_l \mathrm{wrap}(\theta_{l+1} - \theta_l), \qquad
        \theta_l = \mathrm{atan2}(\Delta y_l, \Delta x_l)

    Parameters
    ----------
    a : array, shape (sites, units)
    slope : array of the same shape, optional
        The gradient of ``a`` if not given.
    """
    y = np.gradient(a, axis=0) if slope is None else slope
    theta = np.arctan2(np.diff(y, axis=0), np.diff(a, axis=0))
    change = np.diff(theta, axis=0)
    wrapped = np.pi - np.mod(np.pi - change, 2 * np.pi)
    turns: Array = wrapped.sum(axis=0) / (2 * np.pi)
    return turns


def whitened(texts: int, units: int, seed: int = 0) -> Array:
    """Return states with mean zero and covariance exactly one."""
    raw = np.random.default_rng(seed).standard_normal((texts, units))
    q, _ = np.linalg.qr(raw - raw.mean(axis=0))
    states: Array = q * np.sqrt(texts - 1)
    return states


def turning_cloud(growth: float, *, texts: int = 150, units: int = 100, sites: int = 64) -> Array:
    """Return states (texts, sites, units) with one spectrum everywhere, a turning basis, and lengths times e^growth."""
    generator = np.random.default_rng(1)
    skew = generator.standard_normal((units, units))
    values, vectors = np.linalg.eigh(1j * (skew - skew.T) / np.sqrt(2 * units))
    first = whitened(texts, units) * np.arange(1, units + 1.0) ** -0.425
    states = []
    for time in np.linspace(0, 1, sites):
        rotation = ((vectors * np.exp(-20j * values * time)) @ vectors.conj().T).real
        states.append(np.exp(growth * time) * first @ rotation.T)
    return np.stack(states, axis=1)


def share_along(states: Array, axes_of: Array, components: int) -> float:
    """Return the share of the variance of states along the first principal axes of other states."""
    _, _, axes = np.linalg.svd(axes_of - axes_of.mean(axis=0), full_matrices=False)
    centred = states - states.mean(axis=0)
    return float(np.sum((centred @ axes[:components].T) ** 2) / np.sum(centred**2))
