"""The door: a planted system gives the theory's numbers, what must not matter does not, and wrong input is named."""

import numpy as np
import pytest

from genlaws.semanticity import circle, similarity
from genlaws.semanticity.measurement import pairs
from genlaws.semanticity.measurement.measure import measure
from genlaws.semanticity.theory import finite_sets
from genlaws.semanticity.theory.exact import probabilities
from genlaws.semanticity.theory.stimulus_sets import stimulus_set

# Sums of up to a million terms, each good to a few units of the last digit.
ROUNDING = 1e-12
# An embedding turned in its space is the same to a few units of the last digit; so are its products.
TURNED = 1e-12
# Blocks change the order of sums alone.
BLOCKS = 1e-13
# The next term of a finite set of N points is below four units of 1/N² for the similarities below.
SECOND_ORDER = 4.0
# Standard errors allowed to a random set.
SIGMAS = 5.0
QUICK = {"items": (2,), "intervals": False, "fronts": False}


def around(x, y=None):
    apart = np.abs(np.subtract.outer(x, x if y is None else y))
    return np.minimum(apart, 1 - apart)


def even(n):
    return np.arange(n) / n


def measure_planted(x, planted, **options):
    return measure(planted(around(x)), similarity="precomputed", positions=x, metric="circle", **options)


def finite_set(theory, n):
    """Return both probabilities on n even points of a circle from those of the circle, to first order in 1/n."""
    s, i = theory.generalization, theory.identification
    return s + ((3 * n - 2) * s - 2 * n * i - n / 2 + 1) / ((n - 1) * (n - 2)), i + (i - 0.5) / (n - 1)


def embeddings(n, seed=0, dimension=6):
    """Return places on a circle and noisy embeddings of them."""
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    ring = np.stack([np.cos(2 * np.pi * x), np.sin(2 * np.pi * x)], axis=1) @ rng.normal(size=(2, dimension))
    return x, ring + 0.3 * rng.normal(size=(n, dimension))


def values(measured):
    """Return the numbers of a measurement that are not random draws."""
    items, profile = measured.items, measured.profile
    return np.concatenate(
        [
            [measured.generalization.value, measured.generalization.low, measured.identification.value],
            [measured.identification.low, measured.fit.resolution.value, measured.fit.background.value],
            [measured.fit.amplitude, measured.fit.explained, measured.ball_mass, measured.ball_mass_variance],
            [items.collapse_constant, measured.distance_to_constant_front, measured.zero_fraction],
            measured.to_frame().generalization,
            measured.to_frame().identification,
            profile.similarity,
            profile.distance,
        ]
    )


# --- the theory -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["constant", "linear", "exponential"])
def test_a_thousand_points_of_a_circle_give_the_theory(name):
    n = 1000
    # Where a similarity ends, its end lies half-way between two distances of the set.
    planted = similarity(name, 200.5 / n, background=0.05 if name == "exponential" else 0.0)
    measured = measure_planted(even(n), planted, **QUICK)
    theory = probabilities(circle(), planted)
    allowed = ROUNDING if name == "constant" else SECOND_ORDER / n**2
    assert measured.generalization.value == pytest.approx(finite_set(theory, n)[0], abs=allowed)
    assert measured.identification.value == pytest.approx(finite_set(theory, n)[1], abs=allowed)
    # The correction is needed: without it the set is ten times farther from the circle.
    assert abs(measured.identification.value - theory.identification) > 10 * SECOND_ORDER / n**2
    assert measured.exact
    assert measured.fit.shape == name
    assert measured.fit.resolution.value == pytest.approx(0.2005, rel=3e-3)


@pytest.mark.parametrize("planted", [similarity("exponential", 0.1, background=0.05), similarity("gaussian", 0.15)])
def test_what_the_correction_leaves_falls_with_the_square_of_the_size(planted):
    theory = probabilities(circle(), planted)
    sizes = np.array([250, 500, 1000, 2000])
    left = []
    for n in sizes.tolist():
        # On even points every probe sees the same, so a few probes do for the largest set.
        if n < 2000:
            measured = measure_planted(even(n), planted, **QUICK)
            both = measured.generalization.value, measured.identification.value
        else:
            both = from_one_probe(n, planted)
        left.append(np.subtract(both, finite_set(theory, n)))
    scaled = np.array(left) * sizes[:, None] ** 2
    assert np.abs(scaled).max() < SECOND_ORDER
    # The scaled remainder is the same for all sizes, up to the next order.
    np.testing.assert_allclose(scaled[:-1], scaled[1:], rtol=0.1, atol=1e-3)


def from_one_probe(n, planted):
    distance = around(even(n)[:1], even(n))
    g = planted(distance)
    others = finite_sets.sort_others(g, distance, g[:, 0].copy(), np.array([0]), 1e-12)
    sums = pairs.pair_sums(others)
    named = others.own[:, None] / (others.own[:, None] + others.similarity)
    return sums.right.sum() / sums.trials.sum(), named.mean()


def test_random_points_are_unbiased():
    planted = similarity("exponential", 0.1, background=0.05)
    theory = probabilities(circle(), planted)
    measured = measure_planted(np.random.default_rng(7).random(1000), planted, items=(2,), fronts=False)
    for estimate, expected in (
        (measured.generalization, theory.generalization),
        (measured.identification, theory.identification),
    ):
        error = (estimate.high - estimate.low) / 2 / 1.96
        assert 0 < error < 1e-3
        assert abs(estimate.value - expected) < SIGMAS * error


def test_the_set_itself_agrees_with_the_exact_engine_of_the_theory():
    x = np.random.default_rng(3).random(30)
    planted = similarity("linear", 0.17, background=0.02)
    measured = measure_planted(x, planted, items=(2, 3, 5, 10, 29), intervals=False)
    s, i = stimulus_set(around(x)).probabilities(planted, (2, 3, 5, 10, 29))
    np.testing.assert_allclose(measured.to_frame().generalization, s, atol=ROUNDING)
    np.testing.assert_allclose(measured.to_frame().identification, i, atol=ROUNDING)
    assert measured.generalization.value == pytest.approx(s[0], abs=ROUNDING)


# --- what must not matter ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cosine", "relu-dot", "gaussian", "threshold"])
def test_turning_the_embeddings_changes_nothing(kind):
    x, z = embeddings(40)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    one, other = (measure(rows, positions=x, metric="circle", similarity=kind, items=(2, 5)) for rows in (z, z @ turn))
    np.testing.assert_allclose(values(one), values(other), rtol=TURNED, atol=TURNED)


def test_scaling_the_embeddings_changes_no_cosine():
    x, z = embeddings(40)
    scale = np.random.default_rng(2).uniform(0.1, 10, (40, 1))
    one, other = (measure(rows, positions=x, metric="circle", items=(2, 5)) for rows in (z, z * scale))
    np.testing.assert_allclose(values(one), values(other), rtol=TURNED, atol=TURNED)
    # A dot product does change when single stimuli are scaled.
    dots = [measure(rows, positions=x, metric="circle", similarity="relu-dot", **QUICK) for rows in (z, z * scale)]
    assert abs(dots[0].identification.value - dots[1].identification.value) > 1e-3


def test_the_order_of_the_stimuli_does_not_matter():
    x, z = embeddings(40)
    order = np.random.default_rng(3).permutation(40)
    one = measure(z, positions=x, metric="circle", items=(2, 5))
    other = measure(z[order], positions=x[order], metric="circle", items=(2, 5))
    np.testing.assert_allclose(values(one), values(other), rtol=TURNED, atol=TURNED)
    assert one.distance_to_front == pytest.approx(other.distance_to_front, abs=TURNED)


def test_permuted_distances_give_chance():
    x, z = embeddings(300)
    shuffled = np.random.default_rng(4).permutation(x)
    measured = measure(z, positions=shuffled, metric="circle", items=(2, 3, 5, 10), fronts=False)
    table = measured.to_frame()
    error = (table.generalization_high - table.generalization) / 1.968  # 299 degrees of freedom
    assert (error > 0).all()
    assert (np.abs(table.generalization - 1 / table.item_count) < SIGMAS * error).all()
    # The true order is far from chance, so the test above can fail.
    there = measure(z, positions=x, metric="circle", **QUICK)
    assert there.generalization.value - 0.5 > 10 * SIGMAS * error[0]


@pytest.mark.parametrize("ties", ["split", "drop"])
def test_block_sizes_do_not_matter(ties, monkeypatch):
    x = np.concatenate([even(24), np.random.default_rng(5).random(19)])
    planted = similarity("linear", 0.2)
    results = []
    for block in (1, 7 * 13, 1 << 18, 1 << 40):
        for module in (finite_sets, pairs):
            monkeypatch.setattr(module, "BLOCK_SIZE", block)
        measured = measure_planted(x, planted, items=(2, 3), ties=ties, intervals=False)
        results.append([*values(measured), measured.distance_to_front])
    for other in results[1:]:
        np.testing.assert_allclose(results[0], other, rtol=BLOCKS, atol=BLOCKS)


def test_the_seed_decides_intervals_and_nothing_else():
    x, z = embeddings(40)
    one, again, other = (measure(z, positions=x, metric="circle", seed=seed) for seed in (0, 0, 1))
    assert one.fit.resolution == again.fit.resolution
    assert one.fit.resolution.low != other.fit.resolution.low
    np.testing.assert_allclose(values(one), values(other), rtol=ROUNDING)


# --- ties -------------------------------------------------------------------------------------------------------------


def test_ties_of_fifty_points_are_counted_and_split():
    planted = similarity("exponential", 0.1, background=0.05)
    split, drop = (measure_planted(even(50), planted, ties=ties, **QUICK) for ties in ("split", "drop"))
    # A probe has 49 others: one opposite, and 24 pairs equally far. 24 of 1,176 pairs are tied.
    assert split.tied_fraction == drop.tied_fraction == pytest.approx(24 / 1176, abs=ROUNDING)
    assert "2 % of triples" in split.message
    assert "at random" in split.message
    assert "left out" in drop.message
    # A dropped tie had one half.
    selected = 1 - split.tied_fraction
    assert split.generalization.value == pytest.approx(
        selected * drop.generalization.value + 0.5 * split.tied_fraction, abs=ROUNDING
    )
    assert split.identification == drop.identification


@pytest.mark.parametrize(
    ("places", "metric"),
    [
        (even(50).astype(np.float32), "circle"),
        (100 * even(50) + 2000, "euclidean"),
        ((0.1 * np.arange(50) + 2000).astype(np.float32), "euclidean"),
        ((0.1 * np.arange(50) + 2000).astype(np.float32).astype(np.float64), "euclidean"),
        (np.arange(50), "euclidean"),
    ],
)
def test_rounding_of_places_hides_no_ties(places, metric):
    g = similarity("exponential", 0.1)(around(even(50)))
    found = measure(g, similarity="precomputed", positions=places, metric=metric, **QUICK)
    # On a line, a probe at place k of 50 has min(k, 49 - k) pairs at equal distance.
    expected = 24 / 1176 if metric == "circle" else np.mean([min(k, 49 - k) for k in range(50)]) / 1176
    assert found.tied_fraction == pytest.approx(expected, abs=ROUNDING)
    if metric == "circle":
        rounded = around(places)
        rounded = np.minimum(rounded, rounded.T)
        matrix = measure(g, similarity="precomputed", distances=rounded, **QUICK)
        assert matrix.tied_fraction == pytest.approx(expected, abs=ROUNDING)


def test_a_tolerance_makes_near_distances_equal():
    x = even(50) + 1e-4 * np.random.default_rng(0).random(50)
    planted = similarity("exponential", 0.1)
    assert measure_planted(x, planted, **QUICK).tied_fraction == 0
    assert measure_planted(x, planted, tie_tolerance=1e-3, **QUICK).tied_fraction == pytest.approx(24 / 1176)
    everything = measure_planted(x, planted, tie_tolerance=1.0, **QUICK)
    assert everything.tied_fraction == 1
    assert everything.generalization.value == 0.5
    nothing = measure_planted(x, planted, tie_tolerance=1.0, ties="drop", **QUICK)
    assert np.isnan(nothing.generalization.value)


# --- sets at the edge -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 4, 5, 10, 11])
def test_small_sets_are_measured_with_the_items_they_have(n):
    x, z = embeddings(n)
    measured = measure(z, positions=x, metric="circle", similarity="gaussian")
    assert measured.items.item_count.tolist() == [count for count in (2, 3, 5, 10) if count < n]
    assert 0 < measured.generalization.value < 1
    # Without one of three stimuli no triple is left, so there is no jackknife.
    assert np.isnan(measured.generalization.low) == (n == 3)


def test_doubled_stimuli():
    z = embeddings(20)[1]
    places = np.repeat(even(20), 2)
    measured = measure(np.repeat(z, 2, axis=0), positions=places, metric="circle", similarity="gaussian")
    # The double at no distance is as similar as the copy, and the profile starts with it.
    assert measured.profile.distance[0] == 0
    assert measured.profile.similarity[0] == pytest.approx(1)
    assert np.isfinite([measured.fit.resolution.value, measured.distance_to_front]).all()


@pytest.mark.parametrize(("g", "named"), [(np.ones((30, 30)), 0.5), (np.zeros((30, 30)), 0.5), (np.eye(30), 1.0)])
def test_similarities_without_a_profile(g, named):
    x = np.random.default_rng(0).random(30)
    measured = measure(g, similarity="precomputed", positions=x, metric="circle")
    assert measured.generalization.value == 0.5
    assert measured.identification.value == named
    np.testing.assert_allclose(measured.to_frame().generalization, 1 / measured.items.item_count, atol=ROUNDING)
    expected = 1.0 if named == 1 else 1 / measured.items.item_count
    np.testing.assert_allclose(measured.to_frame().identification, expected, atol=ROUNDING)
    assert measured.items.collapse_constant == (np.inf if named == 1 else 1)
    assert np.isnan([measured.fit.resolution.value, measured.ball_mass, measured.distance_to_front]).all()
    assert np.isnan(measured.fit.explained)
    why = "the same at every distance" if g.any() else "no stimulus is similar to its own copy"
    assert why in measured.fit.why_none
    assert f"No resolution: {measured.fit.why_none}." in measured.message
    assert ("100 % of pairs have no similarity" in measured.message) == (not g.all())
    assert measured.line().endswith(f"no resolution: {measured.fit.why_none}")


def test_a_very_fine_gaussian_is_free_of_warnings():
    x, z = embeddings(30)
    for bandwidth in (1e-1, 1e-2, 1e-160, 1e160):
        measured = measure(z, positions=x, metric="circle", similarity="gaussian", bandwidth=bandwidth)
        assert 0.5 <= measured.identification.value <= 1
    assert measured.identification.value == pytest.approx(0.5)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("kind", ["cosine", "relu-dot"])
def test_very_large_and_very_small_embeddings(kind, scale):
    x, z = embeddings(30)
    one, other = (measure(rows, positions=x, metric="circle", similarity=kind, **QUICK) for rows in (z, z * scale))
    assert one.generalization.value == pytest.approx(other.generalization.value, abs=ROUNDING)


def test_number_types_and_shapes_of_embeddings():
    x, z = embeddings(30)
    whole = np.round(10 * z).astype(int)
    same = {"positions": x, "metric": "circle", **QUICK}
    reference = measure(whole.astype(float), **same).generalization.value
    for other in (whole, whole.astype(np.float16), whole.astype(np.int8), whole.reshape(30, 3, 2), whole.tolist()):
        # Numbers up to a hundred are exact in all these types.
        assert measure(other, **same).generalization.value == pytest.approx(reference, abs=ROUNDING)


def test_large_sets_take_the_promised_memory():
    import tracemalloc

    from genlaws.semanticity.measurement.measure import BYTES_PER_PAIR, GIB

    n = 1000
    x, z = embeddings(n, dimension=3)
    tracemalloc.start()
    # Thresholds take the most memory: their curve has as many points as there are pairs.
    measure(z, positions=x, metric="circle", similarity="threshold", items=(2,), memory=BYTES_PER_PAIR * n**2 / GIB)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 * BYTES_PER_PAIR < peak / n**2 < BYTES_PER_PAIR


@pytest.mark.long
def test_two_thousand_stimuli_fit_into_a_gibibyte():
    import subprocess
    import sys

    program = (
        "import resource, numpy as np\n"
        "from genlaws.semanticity.measurement.measure import measure\n"
        "z = np.random.default_rng(0).normal(size=(2000, 8))\n"
        "measure(z, positions=z[:, :2], metric='euclidean', items=(2, 1999))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(answer.stdout) * 1024 < 2**30


# --- results ----------------------------------------------------------------------------------------------------------


def test_parts_that_are_not_asked_for_are_left_out():
    x, z = embeddings(30)
    bare = measure(z, positions=x, metric="circle", **QUICK)
    assert bare.front is None
    assert bare.constant_front is None
    assert np.isnan([bare.distance_to_front, bare.distance_to_constant_front, bare.generalization.low]).all()
    assert np.isnan([bare.fit.resolution.low, bare.identification.high]).all()
    full = measure(z, positions=x, metric="circle")
    assert bare.generalization.value == full.generalization.value
    assert np.isfinite([full.distance_to_front, full.generalization.low, full.fit.resolution.low]).all()


def test_a_measurement_prints_and_tabulates():
    x, z = embeddings(30)
    measured = measure(z, positions=x, metric="circle", items=(2, 5))
    assert measured.line().startswith("generalization 0.")
    assert "±" in str(measured)
    frame = measured.to_frame()
    assert frame["item_count"].tolist() == [2, 5]
    assert frame["generalization"][0] == measured.generalization.value
    assert len(measured.profile.to_frame()) == len(measured.profile.distance)
    assert list(measured.front.to_frame()) == ["resolution", "generalization", "identification"]


def test_a_function_named_like_a_similarity_is_still_a_function():
    x, z = embeddings(30)

    def threshold(one, other):
        return np.maximum(one @ other.T, 0)

    mine = measure(z, positions=x, metric="circle", similarity=threshold, **QUICK)
    assert mine.similarity == "threshold"
    assert mine.threshold_curve is None
    theirs = measure(z, positions=x, metric="circle", similarity="relu-dot", **QUICK)
    assert mine.generalization.value == pytest.approx(theirs.generalization.value, abs=ROUNDING)
