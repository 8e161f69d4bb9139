"""Sets too large for memory: batches are unbiased, their spread is honest, and little is read at a time."""

import tracemalloc

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity import similarity
from genlaws.semanticity.measurement import pairs
from genlaws.semanticity.measurement.measure import BYTES_PER_PAIR, GIB, measure
from genlaws.semanticity.measurement.sets import MIN_BATCHES
from genlaws.semanticity.theory import finite_sets

# Standard errors allowed to a mean over batches or seeds.
SIGMAS = 5.0
ROUNDING = 1e-12
QUICK = {"items": (2,), "intervals": False, "fronts": False}


def room_for(count):
    return float(BYTES_PER_PAIR * count**2) / GIB


def around(x, y):
    apart = np.abs(np.subtract.outer(x, y))
    return np.minimum(apart, 1 - apart)


def stretched(x):
    """Return a place on a line whose stimuli are not all alike: half of it is stretched threefold."""
    return np.where(x < 0.5, x, 0.5 + 3 * (x - 0.5))


PLANTED = similarity("exponential", 0.2, background=0.05)


def compare(one, other):
    return PLANTED(np.abs(np.subtract.outer(one[:, 0], other[:, 0])))


def planted_set(n, seed=0):
    return stretched(np.random.default_rng(seed).random(n))[:, None]


def in_batches(z, **options):
    return measure(z, similarity=compare, positions=z[:, 0], metric="euclidean", **options)


def test_thirty_batches_give_the_whole():
    n = 3000
    x = np.arange(n) / n
    distance = around(x[:1], x)
    g = PLANTED(distance)
    # On even points of a circle one probe stands for all.
    others = finite_sets.sort_others(g, distance, g[:, 0].copy(), np.array([0]), 1e-12)
    sums = pairs.pair_sums(others)
    exact = (
        sums.right.sum() / sums.trials.sum(),
        (others.own[:, None] / (others.own[:, None] + others.similarity)).mean(),
    )
    found = measure(
        x[:, None],
        similarity=lambda one, other: PLANTED(around(one[:, 0], other[:, 0])),
        positions=x,
        metric="circle",
        memory=room_for(100),
        batch_size=100,
        **QUICK,
    )
    assert (found.exact, found.batch_count, found.batch_size, found.stimulus_count) == (False, 30, 100, 3000)
    assert "30 random batches of 100 stimuli out of 3,000" in found.message
    for estimate, expected in zip((found.generalization, found.identification), exact, strict=True):
        error = (estimate.high - estimate.low) / 2 / 2.045  # 29 degrees of freedom
        assert 0 < error < 1e-3
        assert abs(estimate.value - expected) < SIGMAS * error
    for test in ("generalization", "identification"):  # one meaning of ±: also in the curve over items
        first, same = getattr(found.items, test)[0], getattr(found, test)
        assert (first.low, first.high, first.count) == pytest.approx((same.low, same.high, same.count))
    assert found.fit.shape == "exponential"
    assert found.fit.resolution.value == pytest.approx(0.2, rel=0.01)


def test_batches_are_unbiased_and_their_intervals_cover():
    z = planted_set(600)
    whole = in_batches(z, **QUICK)
    assert whole.exact
    found = [
        in_batches(z, memory=room_for(50), batch_size=50, batch_count=4, seed=seed, **QUICK) for seed in range(100)
    ]
    for name in ("generalization", "identification"):
        expected = getattr(whole, name).value
        means = np.array([getattr(one, name).value for one in found])
        assert abs(means.mean() - expected) < SIGMAS * means.std() / np.sqrt(len(means))
        covered = np.mean([getattr(one, name).low <= expected <= getattr(one, name).high for one in found])
        # Of 100 intervals that hold with probability 0.95, at least 88 do so in all but four of a thousand experiments.
        # Four batches are a third of the set, which makes the intervals for this set a little too wide.
        assert covered >= 0.88


def test_one_batch_that_is_the_whole_is_exact():
    z = planted_set(60)
    options = {"items": (2, 3, 5), "fronts": False}
    whole = in_batches(z, **options)
    # Two batches of 30 together hold every stimulus once.
    halves = in_batches(z, memory=room_for(59), batch_size=59, **options)
    assert (whole.exact, halves.exact) == (True, False)
    assert (halves.batch_count, halves.batch_size) == (2, 30)
    assert whole.items.item_count.tolist() == halves.items.item_count.tolist() == [2, 3, 5]
    assert np.isfinite(halves.to_frame().generalization_low).all()
    np.testing.assert_allclose(halves.to_frame().generalization, whole.to_frame().generalization, atol=0.05)


def test_precision_stops_early():
    z = planted_set(2000)
    options = {"memory": room_for(50), "batch_size": 50, "batch_count": 40, **QUICK}
    rough, fine, all_of_them = (in_batches(z, precision=precision, **options) for precision in (0.1, 1e-9, None))
    assert rough.batch_count == MIN_BATCHES
    assert fine.batch_count == all_of_them.batch_count == 40
    middle = in_batches(z, precision=0.012, **options)
    assert MIN_BATCHES < middle.batch_count < 40
    for estimate in (middle.generalization, middle.identification):
        assert estimate.high - estimate.low <= 2 * 0.012


def test_the_seed_decides_the_batches():
    z = planted_set(400)
    one, again, other = (in_batches(z, memory=room_for(50), batch_size=50, seed=seed, **QUICK) for seed in (3, 3, 4))
    assert one.generalization == again.generalization
    assert one.generalization != other.generalization


def test_profile_items_ball_and_fronts_of_batches():
    z = planted_set(1000)
    found = in_batches(z, memory=room_for(100), batch_size=100)
    whole = in_batches(z)
    assert whole.exact
    assert found.fit.shape == whole.fit.shape == "exponential"
    assert found.fit.resolution.low <= 0.2 * 1.01
    assert found.fit.resolution.value == pytest.approx(0.2, rel=0.01)
    assert found.profile.pair_count.sum() == 10 * 100 * 99
    np.testing.assert_allclose(found.to_frame().identification, whole.to_frame().identification, atol=0.02)
    assert (found.to_frame().generalization_low < found.to_frame().generalization).all()
    assert found.items.probe_count == 1000
    assert found.ball_mass == pytest.approx(whole.ball_mass, rel=0.1)
    # Of the first batch alone.
    assert found.ball_mass_variance == pytest.approx(whole.ball_mass_variance, rel=0.5)
    assert abs(found.distance_to_front) < 2e-3
    assert found.items.collapse_constant == pytest.approx(whole.items.collapse_constant, rel=0.05)


def test_batches_of_a_threshold_share_threshold_and_curve():
    rng = np.random.default_rng(0)
    x = rng.random(600)
    z = np.stack([np.cos(2 * np.pi * x), np.sin(2 * np.pi * x)], axis=1) + 0.2 * rng.normal(size=(600, 2))
    options = {"similarity": "threshold", "positions": x, "metric": "circle", **QUICK}
    whole = measure(z, **options)
    found = measure(z, memory=room_for(100), batch_size=100, **options)
    curve = found.threshold_curve
    places = [whole.threshold_curve.at(threshold) for threshold in curve.threshold]
    np.testing.assert_allclose(curve.generalization, whole.threshold_curve.generalization[places], atol=0.02)
    np.testing.assert_allclose(curve.ball_mass, whole.threshold_curve.ball_mass[places], atol=0.02)
    # The threshold is chosen once, on the first batch, and nearly as good as the best of all.
    assert np.abs(curve.generalization - found.generalization.value).min() < ROUNDING
    assert found.generalization.value > whole.generalization.value - 0.02
    given = measure(z, memory=room_for(100), batch_size=100, threshold=0.5, **options)
    same = measure(z, threshold=0.5, **options)
    assert given.generalization.value == pytest.approx(same.generalization.value, abs=0.02)


def test_batches_with_ties_zeros_and_dropped_sets():
    z = np.repeat(np.arange(40.0), 5)[:, None]
    options = {"metric": "euclidean", "memory": room_for(20), "batch_size": 20, "items": (2, 3)}

    def step(one, other):
        return (np.abs(np.subtract.outer(one[:, 0], other[:, 0])) < 5).astype(float)

    for ties in ("split", "drop"):
        found = measure(z, similarity=step, positions=z[:, 0], ties=ties, **options)
        assert 0 < found.tied_fraction < 1
        assert 0 < found.zero_fraction < 1
        assert np.isfinite(found.to_frame().generalization).all()
        assert "of triples have two items equally near" in found.message
        assert "no similarity at all" in found.message
    # Only two distances: without ties nothing is left to judge, and nothing warns.
    far = measure(
        z,
        similarity=step,
        positions=(z[:, 0] > 19).astype(float),
        metric="euclidean",
        ties="drop",
        memory=room_for(20),
        batch_size=20,
        items=(2,),
        tie_tolerance=2.0,
    )
    assert np.isnan(far.generalization.value)
    assert np.isfinite(far.identification.value)


def test_an_array_on_disk_is_read_batch_by_batch(tmp_path):
    n, memory = 200_000, 1 / 32
    rng = np.random.default_rng(0)
    x = rng.random(n)
    z = np.concatenate([np.cos(2 * np.pi * x)[:, None], rng.normal(size=(n, 15))], axis=1).astype(np.float32)
    np.save(tmp_path / "embeddings.npy", z)
    del z
    on_disk = np.load(tmp_path / "embeddings.npy", mmap_mode="r")
    tracemalloc.start()
    found = measure(on_disk, positions=x, metric="circle", memory=memory, batch_count=4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The embeddings alone would take 12 MiB as they are and 24 MiB in double precision.
    assert peak < memory * GIB
    assert found.batch_size == int(np.sqrt(memory * GIB / BYTES_PER_PAIR))
    assert found.batch_count == 4
    assert 0.5 < found.generalization.value < 0.6


def test_a_matrix_on_disk_is_read_batch_by_batch(tmp_path):
    n = 1500
    z = planted_set(n)
    np.save(tmp_path / "similarities.npy", compare(z, z).astype(np.float32))
    np.save(tmp_path / "distances.npy", np.abs(np.subtract.outer(z[:, 0], z[:, 0])).astype(np.float32))
    g, d = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("similarities", "distances"))
    memory = room_for(100)
    tracemalloc.start()
    found = measure(g, similarity="precomputed", distances=d, memory=memory, batch_size=100, batch_count=5, **QUICK)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Besides pairs there are blocks of 2 MiB; one matrix alone would take 9 MiB as it is and 17 in double precision.
    assert peak < memory * GIB + 2**22 < n**2 * 4
    assert found.fit.resolution.value == pytest.approx(0.2, rel=0.02)


def test_bad_rows_are_found_in_the_batch_that_holds_them():
    z = planted_set(400)
    z[:, 0][np.random.default_rng(0).permutation(400)[:200]] = np.nan
    with pytest.raises(InputError, match="embeddings must be finite"):
        measure(
            z, similarity=compare, positions=np.arange(400.0), metric="euclidean", memory=room_for(50), batch_size=50
        )


def test_items_must_fit_into_a_batch():
    z = planted_set(400)
    with pytest.raises(InputError, match="at most 49"):
        in_batches(z, memory=room_for(50), batch_size=50, items=(2, 60))
    # Without a wish the items are those that fit.
    found = in_batches(z, memory=room_for(9), intervals=False, fronts=False)
    assert found.batch_size == 9
    assert found.items.item_count.tolist() == [2, 3, 5]
