"""A mean of the embeddings that hides what they tell apart: it is said, and can be taken off."""

import re

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity.measurement import sets
from genlaws.semanticity.measurement.measure import measure

QUICK = {"items": (2,), "intervals": False, "fronts": False}


def shifted(n=60, seed=0, shift=3.0):
    """Return places on a circle and embeddings of them with a large mean."""
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    angle = 2 * np.pi * x
    return x, np.stack([np.cos(angle), np.sin(angle), np.full(n, shift)], axis=1) + 0.1 * rng.standard_normal((n, 3))


@pytest.mark.parametrize("name", ["cosine", "relu-dot"])
@pytest.mark.parametrize("options", [{}, {"memory": 176 * 30**2 / 2**30, "batch_size": 30}])
def test_a_large_mean_that_hides_what_is_told_apart_is_said(name, options):
    x, z = shifted()
    raw = measure(z, positions=x, metric="circle", similarity=name, **QUICK, **options)
    assert raw.exact == (not options)
    found = re.search(
        r"makes up (\d+) % of the embeddings' squared length. Without it generalization is (0\.\d{3}) instead of "
        r"(0\.\d{3}): measure again with center=True \(--center\)",
        raw.message,
    )
    share, then, now = (float(one) for one in found.groups())
    assert 70 < share < 95
    by_hand = measure(z - z.mean(axis=0), positions=x, metric="circle", similarity=name, **QUICK, **options)
    centered = measure(z, positions=x, metric="circle", similarity=name, center=True, **QUICK, **options)
    assert centered.generalization.value == pytest.approx(by_hand.generalization.value, abs=1e-9)
    assert "was subtracted" in centered.message
    assert "mean over stimuli" not in by_hand.message
    assert by_hand.generalization.value > raw.generalization.value + 0.1
    if raw.exact:
        assert (now, then) == (round(raw.generalization.value, 3), round(centered.generalization.value, 3))


def test_a_mean_that_hides_nothing_is_not_said():
    x, z = shifted(shift=0.0)
    assert "mean over stimuli" not in measure(z, positions=x, metric="circle", **QUICK).message
    # Distances between embeddings do not know their mean.
    x, z = shifted()
    gaussian = [
        measure(z, positions=x, metric="circle", similarity="gaussian", center=one, **QUICK) for one in (False, True)
    ]
    assert gaussian[0].generalization.value == pytest.approx(gaussian[1].generalization.value)
    assert "mean over stimuli" not in gaussian[0].message
    # A large mean of noise hides noise.
    rng = np.random.default_rng(0)
    for n in (6, 12, 30) * 5:
        noise = measure(np.abs(rng.standard_normal((n, 8))), positions=rng.random(n), metric="circle", **QUICK)
        assert "mean over stimuli" not in noise.message


def test_a_large_set_is_centered_in_part_to_see_what_it_changes(monkeypatch):
    x, z = shifted(90)
    monkeypatch.setattr(sets, "MAX_CENTERED", 40)
    found = measure(z, positions=x, metric="circle", **QUICK)
    then = float(re.search(r"generalization is (0\.\d+) instead", found.message)[1])
    whole = measure(z, positions=x, metric="circle", center=True, **QUICK).generalization.value
    assert then == pytest.approx(whole, abs=0.03)


def test_a_matrix_has_no_mean_to_take_off():
    with pytest.raises(InputError, match="center belongs to embeddings"):
        measure(np.eye(5), similarity="precomputed", positions=np.arange(5.0), metric="euclidean", center=True)
