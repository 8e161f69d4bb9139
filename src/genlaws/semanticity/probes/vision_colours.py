"""Colours that differ in hue alone, as screens show them.

OKLCH describes a colour by its lightness, its chroma and its hue, an angle; equal steps look about equally large. All
hues share one lightness and one chroma, so that nothing but the hue tells them apart.

An eye without the cones for green (deuteranopia, simulated) sees the circle folded into a line from yellow to blue: for
seven hues in ten there is another, 60 degrees away or more, that looks closer than 5 degrees do to other eyes. Without
those for red the fold is the same, but opposite sides differ in lightness. A red X turns dark yellow and still stands
out from black and white. None of this matters to a camera or a model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, Mask, Whole, broadcast, non_negative, real, within

# The lightness at which the chroma that every hue can have on a screen is largest, .1275; .125 keeps off the edge.
LIGHTNESS, CHROMA = 0.75, 0.125
FULL_CIRCLE = 360.0
HALVINGS = 50  # of the chroma where the screen cannot show it; far below one step of 255

# Published with OKLab: coordinates to roots of cone responses, cone responses to linear sRGB, and back.
_CONE_ROOTS_OF_LAB = np.array(
    [[1.0, 0.3963377774, 0.2158037573], [1.0, -0.1055613458, -0.0638541728], [1.0, -0.0894841775, -1.2914855480]]
)
_RGB_OF_CONES = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)
_CONES_OF_RGB = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB_OF_CONE_ROOTS = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
ROUNDING = 1e-6  # the published matrices have ten digits; pure red comes out at 1 + 3e-8


def srgb_of_oklch(lightness: ArrayLike, chroma: ArrayLike, hue: ArrayLike) -> Array:
    """Return sRGB values in [0, 1] of colours given in OKLCH.

    A colour outside what sRGB can show keeps its lightness and hue and gets the largest chroma that can be shown.

    Parameters
    ----------
    lightness : array in [0, 1]
    chroma : array, zero or positive
    hue : array
        Degrees.

    Returns
    -------
    array of the common shape with a last axis of red, green and blue
    """
    light, strong, angle = broadcast(
        lightness=within("lightness", lightness, 0.0, 1.0),
        chroma=non_negative("chroma", chroma),
        hue=real("hue", hue),
    )
    low, high = np.zeros_like(strong), strong.copy()
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        shown = _can_be_shown(_linear(light, middle, angle))
        low, high = np.where(shown, middle, low), np.where(shown, high, middle)
    kept = np.where(_can_be_shown(_linear(light, strong, angle)), strong, low)
    return _curve(np.clip(_linear(light, kept, angle), 0.0, 1.0))


def oklch_of_srgb(colour: ArrayLike) -> Array:
    """Return lightness, chroma and hue in [0, 360) degrees of sRGB values, an array in [0, 1] of shape (..., 3)."""
    shown = within("colour", colour, 0.0, 1.0)
    linear = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
    lab = np.cbrt(linear @ _CONES_OF_RGB.T) @ _LAB_OF_CONE_ROOTS.T
    a, b = lab[..., 1], lab[..., 2]
    return np.stack([lab[..., 0], np.hypot(a, b), np.degrees(np.arctan2(b, a)) % FULL_CIRCLE], axis=-1)


def colour_of_hue(hue: ArrayLike) -> Whole:
    """Return red, green and blue, 0 to 255, of a hue in degrees at the lightness and chroma all hues share.

    Rounding to whole numbers turns the hue by at most 0.7 degrees.
    """
    return np.rint(255.0 * srgb_of_oklch(LIGHTNESS, CHROMA, hue)).astype(np.int64)


def hue_distance(first: ArrayLike, second: ArrayLike) -> Array:
    """Return the angle between hues, 0 to 180 degrees."""
    one, other = broadcast(first=real("first", first), second=real("second", second))
    away = np.abs(one - other) % FULL_CIRCLE
    return np.minimum(away, FULL_CIRCLE - away)


def _linear(lightness: Array, chroma: Array, hue: Array) -> Array:
    angle = np.radians(hue)
    lab = np.stack([lightness, chroma * np.cos(angle), chroma * np.sin(angle)], axis=-1)
    linear: Array = (lab @ _CONE_ROOTS_OF_LAB.T) ** 3 @ _RGB_OF_CONES.T
    return linear


def _can_be_shown(linear: Array) -> Mask:
    return np.asarray(((linear >= -ROUNDING) & (linear <= 1.0 + ROUNDING)).all(axis=-1))


def _curve(linear: Array) -> Array:
    """Return sRGB values of linear ones; this is how screens store light."""
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055)
