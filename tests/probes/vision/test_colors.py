"""Colors of equal lightness and chroma: against published values, there and back, and as a screen rounds them."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.probes.vision.scenes import CHROMA, LIGHTNESS, color_of_hue, hue_distance, oklch_of_srgb, srgb_of_oklch

HUES = np.arange(0.0, 360.0, 0.05)
# Deuteranopia and protanopia in linear sRGB: Machado, Oliveira and Fernandes (2009), severity 1.
NO_GREEN = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
NO_RED = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]


@pytest.mark.parametrize(
    ("color", "oklch"),  # as in the CSS color specification
    [
        ((1.0, 0.0, 0.0), (0.62796, 0.25768, 29.234)),
        ((0.0, 1.0, 0.0), (0.86644, 0.29483, 142.495)),
        ((0.0, 0.0, 1.0), (0.45201, 0.31321, 264.052)),
        ((1.0, 1.0, 0.0), (0.96798, 0.21101, 109.769)),
    ],
)
def test_pure_colors_are_where_they_were_published(color, oklch):
    assert oklch_of_srgb(color) == pytest.approx(oklch, abs=1e-3)
    assert srgb_of_oklch(*oklch_of_srgb(color)) == pytest.approx(color, abs=1e-4)


def test_there_and_back():
    given = np.stack(np.broadcast_arrays(LIGHTNESS, CHROMA, HUES), axis=-1)
    back = oklch_of_srgb(srgb_of_oklch(LIGHTNESS, CHROMA, HUES))
    assert np.abs(back - given)[:, :2].max() < 1e-6
    assert hue_distance(back[:, 2], HUES).max() < 1e-4


def test_every_hue_can_be_shown_at_the_common_chroma_but_not_at_a_larger_one():
    assert oklch_of_srgb(srgb_of_oklch(LIGHTNESS, CHROMA, HUES))[:, 1].min() == pytest.approx(CHROMA, abs=1e-6)
    assert oklch_of_srgb(srgb_of_oklch(LIGHTNESS, 0.129, HUES))[:, 1].min() < 0.128
    for other in (LIGHTNESS - 0.01, LIGHTNESS + 0.02):
        assert oklch_of_srgb(srgb_of_oklch(other, 0.1275, HUES))[:, 1].min() < 0.1265


def test_a_color_out_of_reach_keeps_lightness_and_hue():
    hues = np.arange(0.0, 360.0, 7.0)
    shown = srgb_of_oklch(0.6, 0.5, hues)
    back = oklch_of_srgb(shown)
    assert back[:, 0] == pytest.approx(0.6, abs=1e-5)
    assert hue_distance(back[:, 2], hues).max() < 1e-3
    assert (back[:, 1] < 0.35).all()
    # It lies on the edge: some part is all there or not there at all.
    assert np.minimum(shown.min(axis=1), 1 - shown.max(axis=1)) == pytest.approx(0.0, abs=1e-4)


def test_rounding_to_whole_numbers_turns_a_hue_by_less_than_the_docstring_says():
    back = oklch_of_srgb(color_of_hue(HUES) / 255)
    turned = hue_distance(back[:, 2], HUES).max()
    assert 0.5 < turned <= 0.7
    assert np.abs(back[:, 0] - LIGHTNESS).max() < 0.002
    assert np.abs(back[:, 1] - CHROMA).max() < 0.002


def test_angles_go_round():
    assert hue_distance([350.0, 10.0, 0.0, 90.0], [10.0, 350.0, 180.0, 90.0 + 720.0]).tolist() == [20, 20, 180, 0]


def _as_seen(colors, matrix):
    shown = np.asarray(colors) / 255
    linear = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4) @ np.transpose(matrix)
    linear = linear.clip(0, 1)
    seen = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    lightness, chroma, hue = np.moveaxis(oklch_of_srgb(seen), -1, 0)
    angle = np.radians(hue)
    return np.stack([lightness, chroma * np.cos(angle), chroma * np.sin(angle)], axis=-1)


@pytest.mark.parametrize(("matrix", "alike", "lightness"), [(NO_GREEN, 0.72, 0.025), (NO_RED, 0.0, 0.105)])
def test_what_a_color_blind_eye_sees(matrix, alike, lightness):
    hues = np.arange(360.0)
    seen = _as_seen(color_of_hue(hues), matrix)
    step = np.linalg.norm(np.diff(_as_seen(color_of_hue([0.0, 5.0]), np.eye(3)), axis=0))
    apart = np.linalg.norm(seen[:, None] - seen, axis=2)
    far = np.where(hue_distance(hues[:, None], hues) >= 60, apart, np.inf)
    assert (far.min(axis=1) < step).mean() == pytest.approx(alike, abs=0.02)
    assert np.ptp(seen[:, 0]) == pytest.approx(lightness, abs=0.003)
    assert np.ptp(seen[:, 1]) < 0.1 * np.ptp(seen[:, 2])  # a line from yellow to blue
    mark, black, white = _as_seen([[230, 0, 0], [0, 0, 0], [255, 255, 255]], matrix)
    assert mark[0] - black[0] > 0.4
    assert white[0] - mark[0] > 0.35


def test_bad_colors_are_refused():
    with pytest.raises(InputError, match=r"^lightness must lie in \[0, 1\]; got 75"):
        srgb_of_oklch(75, 0.1, 0.0)
    with pytest.raises(InputError, match="^chroma must be zero or positive"):
        srgb_of_oklch(0.5, -0.1, 0.0)
    with pytest.raises(InputError, match="^color must lie in"):
        oklch_of_srgb([255, 0, 0])
