"""How likely a pair merges: published numbers, a million draws of each law, special cases, symmetries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from genlaws.core.errors import InputError
from genlaws.relations import (
    class_collision_probability,
    collision_probability,
    collision_rate_ratio,
    sign_collision_probability,
)
from genlaws.relations.repons.probability import SCALES, _range_before_gain

DRAWS = 1_000_000
SIGMAS = 5.0
PRINTED = 5.1e-4  # three digits are known
SIGN_PRINTED = 6e-4  # of .0635 and .937

ratios = st.floats(1e-3, 1e3)


def close(share, law, draws=DRAWS):
    return abs(share - law) <= SIGMAS * np.sqrt(law * (1.0 - law) / draws) + 1e-12


@pytest.mark.parametrize(
    ("dimension", "outputs", "expected"), [(1, 1, 0.392), (2, 2, 0.184), (2, 5, 0.556), (2, 50, 1.000), (3, 3, 0.092)]
)
def test_known_values_by_dimension_and_outputs(dimension, outputs, expected):
    found = collision_probability(1.0, 1.0, dimension=dimension, outputs=outputs)
    assert float(found) == pytest.approx(expected, abs=PRINTED)


@pytest.mark.parametrize(("ratio", "sign", "flow"), [(0.1, 0.0635, 0.140), (10.0, 0.937, 0.732)])
def test_sign_updates_follow_the_ratio_and_flow_its_root(ratio, sign, flow):
    assert float(sign_collision_probability(ratio, 1.0)) == pytest.approx(sign, abs=SIGN_PRINTED)
    assert float(collision_probability(ratio, 1.0)) == pytest.approx(flow, abs=PRINTED)


def test_equation_12_and_13_written_out():
    eta_x, eta_a, s_x, s_a = 0.3, 0.7, 1.4, 0.9
    for n in (1, 2, 9):
        root = s_a / s_x * np.sqrt(eta_x / (4.0 / (1.0 + 1.0 / n) * eta_a))
        expected = 2.0 / np.pi * np.arctan(root)
        assert float(collision_probability(eta_x, eta_a, s_x, s_a, cluster=n)) == pytest.approx(expected, rel=1e-14)
    each = collision_probability(eta_x, eta_a, s_x, s_a, encoder_scale_of="repon")
    assert float(each) == pytest.approx(2.0 / np.pi * np.arctan(s_a / s_x * np.sqrt(eta_x / eta_a)), rel=1e-14)


@pytest.mark.parametrize("cluster", [1, 5])
@pytest.mark.parametrize("ratio", [0.05, 1.0, 30.0])
def test_a_million_pairs_on_a_line(ratio, cluster):
    rng = np.random.default_rng([1, cluster, int(100 * ratio)])
    gain, first, second = 0.8 * rng.standard_normal(DRAWS), *rng.standard_normal((2, DRAWS))
    half = 0.5 * (first - second)
    pull = 4.0 / (1.0 + 1.0 / cluster)
    law = float(collision_probability(ratio, 1.0, 1.0, 0.8, encoder_scale_of="repon", cluster=cluster))
    assert close(np.mean(gain**2 / pull >= half**2 / ratio), law)
    sign = float(sign_collision_probability(ratio, 1.0, 1.0, 0.8, encoder_scale_of="repon"))
    assert close(np.mean(np.abs(half) / ratio < np.abs(gain)), sign)


@pytest.mark.parametrize(("outputs", "ratio"), [(2, 1.0), (5, 0.5)])
def test_a_million_pairs_in_the_plane(outputs, ratio):
    rng = np.random.default_rng([2, outputs])
    a, b = rng.standard_normal((2, outputs, DRAWS))
    x, y = rng.standard_normal((2, DRAWS))
    aa, bb, ab = (a * a).sum(axis=0), (b * b).sum(axis=0), (a * b).sum(axis=0)
    # r^T (A^T A)^{-1} r by Cramer's rule
    form = (bb * x**2 - 2 * ab * x * y + aa * y**2) / (aa * bb - ab**2)
    law = float(collision_probability(ratio, 1.0, dimension=2, outputs=outputs))
    assert close(np.mean(form <= ratio / 2.0), law)


@pytest.mark.parametrize(("size", "outputs", "ratio"), [(2, 3, 0.7), (3, 1, 1.0), (6, 2, 0.4)])
def test_a_million_classes_under_sign_updates(size, outputs, ratio):
    rng = np.random.default_rng([3, size])
    x, a = rng.standard_normal((size, DRAWS)), rng.standard_normal((outputs, DRAWS))
    law = float(sign_collision_probability(ratio, 1.0, encoder_scale_of="repon", outputs=outputs, class_size=size))
    assert close(np.mean(np.ptp(x, axis=0) / (2.0 * ratio) < np.abs(a).max(axis=0)), law)


def test_the_sign_law_of_a_class_is_a_studentized_range():
    for size, ratio in ((3, 0.3), (5, 3.0)):
        law = sign_collision_probability(ratio, 1.0, encoder_scale_of="repon", class_size=size)
        assert float(law) == pytest.approx(stats.studentized_range.cdf(2.0 * ratio, size, 1), abs=1e-9)
    for slope in (1e-6, 0.1, 1.0, 50.0, 1e6):
        assert _range_before_gain(slope, 2, 1) == pytest.approx(2.0 / np.pi * np.arctan(slope), abs=1e-12)
    assert float(sign_collision_probability(1.0, 1.0, class_size=1)) == 1.0


@given(ratios, st.integers(1, 5), st.integers(0, 6), st.floats(0.1, 10.0), st.sampled_from([1, 3, np.inf]))
def test_laws_depend_on_ratios_alone_and_are_monotone(ratio, dimension, more, scale, cluster):
    outputs = dimension + more
    common = {"dimension": dimension, "outputs": outputs, "cluster": cluster}
    p = float(collision_probability(ratio, 1.0, **common))
    assert 0.0 < p <= 1.0
    assert float(collision_probability(ratio * scale, scale, **common)) == pytest.approx(p, rel=1e-12)
    assert float(collision_probability(ratio, 1.0, scale, scale, **common)) == pytest.approx(p, rel=1e-12)
    assert float(collision_probability(ratio, 1.0, scale, 1.0, **common)) == pytest.approx(
        float(collision_probability(ratio / scale**2, 1.0, **common)), rel=1e-10
    )
    assert float(collision_probability(1.1 * ratio, 1.0, **common)) >= p
    assert float(collision_probability(ratio, 1.0, **{**common, "outputs": outputs + 1})) >= p
    assert float(collision_probability(ratio, 1.0, encoder_scale_of="repon", **common)) >= p
    if cluster > 1:
        assert float(collision_probability(ratio, 1.0, dimension=dimension, outputs=outputs)) >= p


@given(st.floats(1e-9, 1 - 1e-9), st.integers(1, 4), st.integers(0, 4), st.sampled_from(SCALES))
def test_the_rate_ratio_is_put_back_into_the_law(probability, dimension, more, scale_of):
    common = {"encoder_scale_of": scale_of, "dimension": dimension, "outputs": dimension + more, "cluster": 2}
    ratio = collision_rate_ratio(probability, 0.7, 1.3, **common)
    assert float(collision_probability(ratio, 1.0, 0.7, 1.3, **common)) == pytest.approx(probability, rel=1e-9)


def test_limits_and_shapes():
    extreme = collision_rate_ratio([1e-300, 1.0 - 1e-16], dimension=2, outputs=9)
    assert (extreme[0], extreme[1]) > (0.0, 1.0)
    assert float(collision_probability(1.0, 1.0, dimension=3, outputs=2)) == 0.0
    grid = collision_probability(np.geomspace(0.1, 10, 4)[:, None], [1.0, 2.0, 3.0], dimension=2, outputs=4)
    assert grid.shape == (4, 3)
    assert collision_probability(1.0, 1.0, cluster=[1, 2, np.inf]).shape == (3,)
    for law in (collision_probability, sign_collision_probability):
        np.testing.assert_allclose(law([1e-300, 1e300], [1e300, 1e-300]), [0.0, 1.0], atol=1e-12)
    wide = collision_probability([1e-300, 1e300], [1e300, 1e-300], dimension=2, outputs=3)
    np.testing.assert_allclose(wide, [0.0, 1.0], atol=1e-12)
    # A pair is a class of two; one dimension more, one output more: the same degrees of freedom are left.
    pair = collision_probability(0.7, 1.0, encoder_scale_of="repon", dimension=3, outputs=6)
    assert float(class_collision_probability(0.7, 1.0, class_size=2, dimension=3, outputs=6)) == pytest.approx(pair)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: collision_probability(0.0, 1.0), "encoder_rate must be positive"),
        (lambda: collision_probability(1.0, np.inf), "decoder_rate must be positive and finite"),
        (lambda: collision_probability(1.0, 1.0, -1.0), "encoder_scale must be positive"),
        (lambda: collision_probability(1.0, 1.0, encoder_scale_of="both"), "must be one of half-separation, repon"),
        (lambda: collision_probability(1.0, 1.0, dimension=0), "dimension must be a whole number, at least 1"),
        (lambda: collision_probability(1.0, 1.0, outputs=1.5), "outputs must be a whole number"),
        (lambda: collision_probability([1.0, 2.0], 1.0, cluster=[1, 2, 3]), "broadcast together"),
        (lambda: sign_collision_probability(1.0, 1.0, class_size=0), "class_size must be a whole number"),
        (lambda: sign_collision_probability("1", 1.0), "encoder_rate must be a real number"),
        (lambda: collision_rate_ratio(1.0), "probability must lie in (0, 1)"),
        (lambda: collision_rate_ratio(0.5, dimension=3, outputs=2), "outputs must be a whole number, at least 3"),
    ],
)
def test_wrong_input_is_refused(call, complaint):
    with pytest.raises(InputError) as caught:
        call()
    assert complaint in str(caught.value)
