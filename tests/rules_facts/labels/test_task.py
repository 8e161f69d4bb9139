"""Draws of the rules-and-facts task: content, reproducibility, and errors for bad data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from genlaws.core.errors import InputError
from genlaws.rules_facts.labels import task as input_scaling
from genlaws.rules_facts.labels.data import LabeledData
from genlaws.rules_facts.labels.task import Draw, draw_gaussian, draw_labeled

DEVIATIONS = 4.0  # standard errors an average may be away from its expectation
# The median of 200,000 drawn pairs has a rank within 0.11 % of the middle. Squared distances of Gaussian inputs in 40
# dimensions are spread by 22 % of their median and have a density of 1.8 there: four deviations are 0.25 %.
PAIR_NOISE = 0.0025


def arrays(draw):
    return (draw.inputs, draw.labels, draw.is_fact, draw.test_inputs, draw.test_labels)


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(arrays(one), arrays(other), strict=True))


def small(**changes):
    parts = {
        "inputs": np.arange(6.0).reshape(3, 2),
        "labels": np.array([1.0, -1.0, 1.0]),
        "is_fact": np.array([True, False, False]),
        "test_inputs": np.ones((2, 2)),
        "test_labels": np.array([1.0, -1.0]),
        "teacher": np.ones(2),
        "name": "small",
    }
    return Draw(**(parts | changes))


def labeled(*counts, dimension=5, seed=0, dtype=np.float64):
    """Return data with `counts[k]` samples of class k; the first feature numbers the samples."""
    total = sum(counts)
    inputs = 50 * np.random.default_rng(seed).normal(size=(total, dimension))
    inputs[:, 0] = np.arange(total)
    return LabeledData(inputs.astype(dtype), np.repeat(np.arange(len(counts)), counts), "made")


def rows_of(data, *arguments, **changes):
    """Return the numbers of the training and of the test samples, from a draw that leaves inputs as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "genlaws.rules_facts.labels.task.standardized", lambda *tables: [table.astype(float) for table in tables]
        )
        draw = draw_labeled(data, *arguments, **(changes | {"scale": False}))
    return draw, draw.inputs[:, 0].astype(int), draw.test_inputs[:, 0].astype(int)


def standard(rows, by):
    return (rows - by.mean(axis=0)) / by.std(axis=0)


# A draw


def test_a_draw_knows_its_sizes():
    draw = small()
    assert (draw.sample_count, draw.dimension, draw.sample_ratio) == (3, 2, 1.5)
    assert draw.fact_fraction == pytest.approx(1 / 3)
    assert repr(draw) == "Draw(name='small')"


def test_a_draw_cannot_be_changed_and_leaves_the_given_arrays_alone():
    inputs = np.zeros((3, 2))
    draw = small(inputs=inputs)
    with pytest.raises(ValueError, match="read-only"):
        draw.inputs[0, 0] = 1.0
    inputs[0, 0] = 1.0


def test_whole_numbers_become_floats():
    draw = small(inputs=[[1, 2], [3, 4], [5, 6]], labels=[1, -1, -1])
    assert draw.inputs.dtype == draw.labels.dtype == np.float64


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"labels": [1.0, 0.0, 1.0]}, "labels must be .1 or -1; got 0"),
        ({"test_labels": [1.0, 2.0]}, "test_labels must be .1 or -1; got 2"),
        ({"labels": [1.0, -1.0]}, r"labels must have the shape \(3,\); got \(2,\)"),
        ({"labels": [1.0, np.nan, 1.0]}, "labels must be finite|labels must not contain NaN"),
        ({"labels": ["cat", "dog", "cat"]}, "labels must be a real number"),
        ({"inputs": np.ones(3)}, r"inputs must be a table .*; got shape \(3,\)"),
        ({"inputs": np.ones((0, 2))}, "inputs must be a table of at least one row"),
        ({"test_inputs": np.ones((0, 2)), "test_labels": []}, "test_inputs must be a table of at least one row"),
        ({"inputs": [[1.0, np.inf], [1, 2], [1, 2]]}, "inputs must be finite; got 1 number"),
        ({"inputs": np.ones((3, 2), dtype=complex)}, "inputs must be a real number"),
        ({"test_inputs": np.ones((2, 3))}, "must have the same features; got 2 and 3"),
        ({"is_fact": [1, 0, 0]}, "is_fact must be true or false for each of the 3 inputs; got an array of type int"),
        ({"is_fact": [True, False]}, r"is_fact must be .* shape \(2,\)"),
        ({"teacher": np.ones(3)}, r"teacher must have the shape \(2,\); got \(3,\)"),
        ({"teacher": [np.nan, 1.0]}, "teacher must be finite"),
    ],
)
def test_a_draw_that_does_not_fit_is_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        small(**changes)


# Gaussian inputs


@given(
    dimension=st.integers(1, 30),
    sample_ratio=st.floats(0.6, 5.0),
    fact_fraction=st.floats(0.0, 1.0),
    test_count=st.integers(1, 40),
    seed=st.integers(0, 2**70),
)
def test_gaussian_draw_has_the_sizes_asked_for(dimension, sample_ratio, fact_fraction, test_count, seed):
    draw = draw_gaussian(dimension, sample_ratio, fact_fraction, test_count=test_count, seed=seed)
    assert draw.inputs.shape == (round(sample_ratio * dimension), dimension)
    assert draw.test_inputs.shape == (test_count, dimension)
    followed = np.where(draw.inputs @ draw.teacher >= 0, 1.0, -1.0) == draw.labels
    assert followed[~draw.is_fact].all()
    assert np.array_equal(draw.test_labels, np.where(draw.test_inputs @ draw.teacher >= 0, 1.0, -1.0))
    assert same(draw, draw_gaussian(dimension, sample_ratio, fact_fraction, test_count=test_count, seed=seed))


@pytest.mark.parametrize("fact_fraction", [0.0, 0.2, 0.7, 1.0])
def test_gaussian_draw_has_the_moments_of_the_model(fact_fraction):
    n, d = 20_000, 20
    draw = draw_gaussian(d, n / d, fact_fraction, seed=3)
    numbers = draw.inputs.ravel()
    assert abs(numbers.mean()) < DEVIATIONS / np.sqrt(n * d)
    assert abs(numbers.var() - 1) < DEVIATIONS * np.sqrt(2 / (n * d))
    covariance = draw.inputs.T @ draw.inputs / n
    # The largest of d² products; 5.5 deviations are passed once in 10⁵ such tables.
    assert np.abs(covariance - np.eye(d)).max() < 5.5 * np.sqrt(2 / n)
    agreeing = np.mean(np.sign(draw.inputs @ draw.teacher) == draw.labels)
    agreement = 1 - fact_fraction / 2
    assert abs(agreeing - agreement) <= DEVIATIONS * np.sqrt(agreement * (1 - agreement) / n)
    assert abs(draw.fact_fraction - fact_fraction) <= DEVIATIONS * np.sqrt(fact_fraction * (1 - fact_fraction) / n)
    # A coin does not look at the rule.
    facts = draw.is_fact
    if facts.any():
        followed = np.mean(np.sign(draw.inputs[facts] @ draw.teacher) == draw.labels[facts])
        assert abs(followed - 0.5) <= DEVIATIONS * 0.5 / np.sqrt(facts.sum())


def test_teachers_are_gaussian():
    teachers = np.stack([draw_gaussian(50, 0.1, 0.0, test_count=1, seed=seed).teacher for seed in range(200)])
    assert abs(teachers.mean()) < DEVIATIONS / np.sqrt(teachers.size)
    assert abs(teachers.var() - 1) < DEVIATIONS * np.sqrt(2 / teachers.size)


def test_gaussian_training_set_does_not_depend_on_the_test_set():
    one, other = (draw_gaussian(30, 2.0, 0.4, test_count=count, seed=5) for count in (1, 500))
    assert all(np.array_equal(a, b) for a, b in zip(arrays(one)[:3], arrays(other)[:3], strict=True))
    assert np.array_equal(one.test_inputs, other.test_inputs[:1])


def test_more_samples_and_more_facts_are_added_to_those_there_are():
    base = draw_gaussian(30, 2.0, 0.4, seed=5)
    more = draw_gaussian(30, 4.0, 0.4, seed=5)
    assert all(np.array_equal(a, b[:60]) for a, b in zip(arrays(base)[:3], arrays(more)[:3], strict=True))
    facts = draw_gaussian(30, 2.0, 0.6, seed=5)
    assert np.array_equal(base.inputs, facts.inputs)
    assert (facts.is_fact | ~base.is_fact).all()
    assert np.array_equal(base.labels[base.is_fact], facts.labels[base.is_fact])


def test_a_generator_moves_on_and_can_be_put_back():
    rng = np.random.default_rng(0)
    first, second = (draw_gaussian(10, 2.0, 0.3, seed=rng) for _ in range(2))
    assert not np.array_equal(first.inputs, second.inputs)
    assert same(first, draw_gaussian(10, 2.0, 0.3, seed=np.random.default_rng(0)))
    # Streams that were jumped ahead share a seed and differ in state alone.
    jumped = np.random.Generator(np.random.PCG64(0).jumped())
    assert not np.array_equal(first.inputs, draw_gaussian(10, 2.0, 0.3, seed=jumped).inputs)
    assert not np.array_equal(first.inputs, draw_gaussian(10, 2.0, 0.3, seed=1).inputs)


@pytest.mark.parametrize(
    ("arguments", "changes", "sentence"),
    [
        ((0, 1.0, 0.1), {}, "dimension must be a whole number, at least 1"),
        ((2.5, 1.0, 0.1), {}, "dimension must be a whole number"),
        ((10, -1.0, 0.1), {}, "sample_ratio must be positive"),
        ((10, 0.01, 0.1), {}, "sample_ratio must give at least one sample; got 0.01, which is 0.1 samples"),
        ((10, [1.0, 2.0], 0.1), {}, "sample_ratio must be a single number"),
        ((10, 1.0, 1.5), {}, "fact_fraction must lie in .0, 1.; got 1.5. It is the share"),
        ((10, 1.0, [0.1, 0.2]), {}, "fact_fraction must be a single number"),
        ((10, 1.0, 0.1), {"test_count": 0}, "test_count must be a whole number, at least 1"),
        ((10, 1.0, 0.1), {"seed": -1}, "seed must be a whole number, at least 0"),
        ((10**7, 1e12, 0.1), {}, "do not fit into memory"),
    ],
)
def test_gaussian_draw_refuses_what_makes_no_sense(arguments, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        draw_gaussian(*arguments, **changes)


# Labeled data


@given(
    counts=st.tuples(st.integers(12, 30), st.integers(12, 30), st.integers(8, 20), st.integers(8, 20)),
    sample_count=st.integers(1, 16),
    test_count=st.integers(2, 8),
    fact_fraction=st.floats(0.0, 1.0),
    seed=st.integers(0, 1000),
)
def test_labeled_draw_is_balanced_exact_and_disjoint(counts, sample_count, test_count, fact_fraction, seed):
    data = labeled(*counts)
    sizes = {"fact_fraction": fact_fraction, "sample_count": sample_count, "test_count": test_count}
    draw, rows, test_rows = rows_of(data, (1, 0), **sizes, seed=seed)
    assert np.unique([*rows, *test_rows]).size == sample_count + test_count
    facts = round(fact_fraction * sample_count)
    assert draw.is_fact.sum() == facts
    assert (data.classes[rows[draw.is_fact]] >= 2).all()
    for label, one, more in ((1.0, 1, 1), (-1.0, 0, 0)):
        trained = data.classes[rows[~draw.is_fact & (draw.labels == label)]]
        tested = data.classes[test_rows[draw.test_labels == label]]
        assert trained.tolist() == [one] * ((sample_count - facts + more) // 2)
        assert tested.tolist() == [one] * ((test_count + more) // 2)


def test_facts_carry_coins_and_come_in_any_order():
    draw = draw_labeled(labeled(10, 10, 3000), (0, 1), fact_fraction=0.995, sample_count=2000, test_count=2)
    coins = draw.labels[draw.is_fact]
    assert abs(coins.mean()) < DEVIATIONS / np.sqrt(coins.size)
    # The ten samples of the rule lie among the facts, not at one end.
    assert 200 < np.median(np.flatnonzero(~draw.is_fact)) < 1800


def test_features_are_standardized_over_the_training_inputs_alone():
    data, sizes = labeled(20, 20, 20), {"fact_fraction": 0.25, "sample_count": 24, "test_count": 10, "seed": 4}
    _, rows, test_rows = rows_of(data, (0, 1), **sizes)
    draw = draw_labeled(data, (0, 1), **sizes, scale=False)
    trained = data.inputs[rows]
    assert draw.inputs == pytest.approx(standard(trained, trained), abs=1e-12)
    assert draw.test_inputs == pytest.approx(standard(data.inputs[test_rows], trained), abs=1e-12)


def test_training_does_not_depend_on_the_test_nor_the_choice_of_test_samples_on_training():
    data = labeled(40, 40, 40)
    base = draw_labeled(data, (0, 1), fact_fraction=0.3, sample_count=30, test_count=6, seed=2)
    other = draw_labeled(data, (0, 1), fact_fraction=0.3, sample_count=30, test_count=30, seed=2)
    assert all(np.array_equal(a, b) for a, b in zip(arrays(base)[:3], arrays(other)[:3], strict=True))
    tested = [rows_of(data, (0, 1), fact_fraction=0.3, sample_count=n, test_count=6, seed=2)[2] for n in (10, 30)]
    assert np.array_equal(*tested)
    again = draw_labeled(data, (0, 1), fact_fraction=0.3, sample_count=30, test_count=6, seed=2)
    assert same(base, again)
    moved = draw_labeled(data, (0, 1), fact_fraction=0.3, sample_count=30, test_count=6, seed=3)
    assert not np.array_equal(base.inputs, moved.inputs)
    rng = np.random.default_rng(2)
    assert same(base, draw_labeled(data, (0, 1), fact_fraction=0.3, sample_count=30, test_count=6, seed=rng))
    assert not same(base, draw_labeled(data, (0, 1), fact_fraction=0.3, sample_count=30, test_count=6, seed=rng))


def squared_distances(inputs):
    return pdist(inputs, "sqeuclidean")


def test_the_median_squared_distance_becomes_that_of_gaussian_inputs():
    data = labeled(60, 60, 60, dimension=7)
    scaled, plain = (
        draw_labeled(data, (0, 1), fact_fraction=0.2, sample_count=90, scale=scale) for scale in (True, False)
    )
    assert np.median(squared_distances(scaled.inputs)) == pytest.approx(14.0, rel=1e-12)
    factor = scaled.inputs[0, 0] / plain.inputs[0, 0]
    assert factor > 0
    assert scaled.inputs == pytest.approx(factor * plain.inputs)
    assert scaled.test_inputs == pytest.approx(factor * plain.test_inputs)


def test_many_inputs_are_scaled_by_drawn_pairs():
    inputs = np.random.default_rng(0).normal(size=(input_scaling.MAX_ALL_PAIRS_INPUTS + 1, 40))
    drawn = input_scaling.median_squared_distance(inputs)
    assert drawn == input_scaling.median_squared_distance(inputs)
    assert drawn == pytest.approx(np.median(squared_distances(inputs)), rel=PAIR_NOISE)
    assert drawn == pytest.approx(input_scaling.median_squared_distance(inputs[:-1]), rel=PAIR_NOISE)


def test_constant_features_become_zero_also_where_the_test_inputs_vary():
    data, sizes = labeled(20, 20, 20), {"fact_fraction": 0.25, "sample_count": 24, "test_count": 10}
    _, rows, _ = rows_of(data, (0, 1), **sizes)
    inputs = np.array(data.inputs)
    inputs[rows, 3] = 0.1  # the mean of many tenths is not a tenth
    draw = draw_labeled(LabeledData(inputs, data.classes), (0, 1), **sizes)
    assert not draw.inputs[:, 3].any()
    assert not draw.test_inputs[:, 3].any()
    assert draw.dimension == 5
    assert np.median(squared_distances(draw.inputs)) == pytest.approx(10.0)


@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1e200, 1e305])
def test_the_unit_of_a_feature_does_not_matter(unit):
    data = labeled(20, 20, 20)
    inputs = np.array(data.inputs)
    inputs[:, 2] *= unit
    one, other = (
        draw_labeled(LabeledData(table, data.classes), (0, 1), fact_fraction=0.3, sample_count=20)
        for table in (data.inputs, inputs)
    )
    assert one.inputs == pytest.approx(other.inputs, rel=1e-9)


def test_pixels_of_one_byte_do_not_overflow():
    data = labeled(20, 20, 20, dtype=np.uint8)
    draw = draw_labeled(data, (0, 1), fact_fraction=0.3, sample_count=20, scale=False)
    _, rows, _ = rows_of(data, (0, 1), fact_fraction=0.3, sample_count=20)
    trained = data.inputs[rows].astype(float)
    assert draw.inputs == pytest.approx(standard(trained, trained), abs=1e-12)


def test_sizes_left_out_are_chosen():
    by_dimension = draw_labeled(labeled(100, 90, 50, dimension=30), (0, 1), fact_fraction=0.2)
    assert (by_dimension.sample_count, by_dimension.is_fact.sum(), by_dimension.test_labels.size) == (30, 6, 156)
    # With more features than samples a fifth of the smaller class, 18, and as many of the larger are held out.
    by_data = draw_labeled(labeled(100, 90, 50, dimension=300), (0, 1), fact_fraction=0.0)
    assert (by_data.sample_count, by_data.test_labels.size) == (145, 36)
    many = draw_labeled(labeled(3000, 3000, dimension=3), (0, 1), fact_fraction=0.0)
    assert (many.sample_count, many.test_labels.size) == (3, 1000)
    by_ratio = draw_labeled(labeled(100, 90, 50, dimension=30), (0, 1), fact_fraction=0.2, sample_ratio=2.5)
    assert (by_ratio.sample_count, by_ratio.sample_ratio) == (75, 2.5)


def test_facts_alone_are_tested_on_the_rule():
    draw, rows, test_rows = rows_of(labeled(10, 10, 30), (0, 1), fact_fraction=1.0, sample_count=30, test_count=20)
    assert draw.fact_fraction == 1.0
    assert sorted(rows) == list(range(20, 50))
    assert sorted(test_rows) == list(range(20))


def test_no_facts_need_no_third_class():
    draw = draw_labeled(labeled(20, 20), (1, 0), fact_fraction=0.0, sample_count=10)
    assert (draw.fact_fraction, draw.teacher, draw.name) == (0.0, None, "made, class 1 against class 0")


@pytest.mark.parametrize("fact_classes", [3, [3], (3, "3"), "3"])
def test_facts_can_be_of_chosen_classes(fact_classes):
    sizes = {"fact_fraction": 0.5, "sample_count": 20}
    draw, rows, _ = rows_of(labeled(20, 20, 20, 20), (0, 1), fact_classes=fact_classes, **sizes)
    assert (rows[draw.is_fact] >= 60).all()


def test_classes_can_be_named():
    made = labeled(20, 20, 20)
    data = LabeledData(made.inputs, made.classes, "pets", ("cat", "dog", "car"))
    draw, rows, _ = rows_of(data, ("dog", "cat"), fact_classes=["car"], fact_fraction=0.5, sample_count=20)
    assert draw.name == "pets, class 1 (dog) against class 0 (cat)"
    assert (data.classes[rows[~draw.is_fact & (draw.labels == 1)]] == 1).all()
    words = LabeledData(made.inputs, np.array(["cat", "dog", "car"])[made.classes])
    assert same(draw, rows_of(words, ("dog", "cat"), fact_fraction=0.5, sample_count=20)[0])


def test_the_largest_sample_count_named_is_the_largest():
    # 8 samples of each class of the rule are left next to 4 for testing, and 16 of the rule go with 8 facts.
    data, sizes = labeled(10, 10, 30), {"fact_fraction": 0.34, "test_count": 4}
    assert draw_labeled(data, (0, 1), **sizes, sample_count=24).sample_count == 24
    with pytest.raises(InputError, match="The largest sample_count possible is 24. Fewer test samples leave more"):
        draw_labeled(data, (0, 1), **sizes, sample_count=25)


THREE = (20, 20, 20)


@pytest.mark.parametrize(
    ("counts", "rule", "changes", "sentence"),
    [
        ((20,), (0, 1), {}, "The rule needs two classes; made holds only class 0"),
        (THREE, (0, 0), {}, r"rule_classes must be two different classes; got \(0, 0\)"),
        (THREE, (0, "0"), {}, "rule_classes must be two different classes"),
        (THREE, (0, 7), {}, "made has no class 7; its classes are 0, 1, 2"),
        (THREE, (0, True), {}, "made has no class True"),
        (THREE, "01", {}, "rule_classes must be a pair of classes; got '01'"),
        (THREE, (0, 1, 2), {}, "rule_classes must be a pair of classes"),
        ((20, 20), (0, 1), {}, "fact_fraction must be 0 where no class is left for the facts; got 0.3"),
        (THREE, (0, 1), {"fact_classes": []}, "where no class is left for the facts"),
        (THREE, (0, 1), {"fact_classes": [1, 2]}, "fact_classes must leave out the classes of the rule"),
        (THREE, (0, 1), {"fact_classes": [9]}, "made has no class 9"),
        (THREE, (0, 1), {"sample_count": 5, "sample_ratio": 1.0}, "either sample_count or sample_ratio"),
        (THREE, (0, 1), {"sample_count": 0}, "sample_count must be a whole number, at least 1"),
        (THREE, (0, 1), {"test_count": 1}, "test_count must be a whole number, at least 2"),
        (THREE, (0, 1), {"sample_ratio": 0.01}, "sample_ratio must give at least one sample"),
        (THREE, (0, 1), {"fact_fraction": 30}, "fact_fraction must lie in .0, 1.; got 30"),
        (
            THREE,
            (0, 1),
            {"sample_count": 100, "test_count": 10},
            "sample_count = 100 at fact_fraction = 0.3 with 10 test samples needs 40 of class 0, 40 of class 1, 30 of "
            "the facts; made has 20 of class 0, 20 of class 1, 20 of the facts. The largest sample_count possible is 4",
        ),
        (THREE, (0, 1), {"test_count": 40}, "The largest sample_count possible is 0. Fewer test samples"),
        (THREE, (0, 1), {"sample_count": 1}, "all 5 are constant over the 1 drawn"),
    ],
)
def test_labeled_draw_refuses_what_the_data_do_not_hold(counts, rule, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        draw_labeled(labeled(*counts), rule, **({"fact_fraction": 0.3} | changes))


def test_inputs_without_a_difference_are_refused():
    classes = np.repeat([0, 1], 10)
    with pytest.raises(InputError, match="At least one feature must vary over the training inputs; all 3 are constant"):
        draw_labeled(LabeledData(np.full((20, 3), 0.1), classes), (0, 1), fact_fraction=0.0, sample_count=10)
    one_differs = np.zeros((20, 3))
    one_differs[classes == 0] = np.eye(10, 3)
    with pytest.raises(InputError, match="More than half of the pairs of training inputs are equal"):
        draw_labeled(LabeledData(one_differs, classes), (0, 1), fact_fraction=0.0, sample_count=18)
    plain = draw_labeled(LabeledData(one_differs, classes), (0, 1), fact_fraction=0.0, sample_count=18, scale=False)
    assert np.isfinite(plain.inputs).all()


def test_data_of_another_kind_are_refused():
    with pytest.raises(InputError, match="data must be LabeledData, as load_labeled returns it; got ndarray"):
        draw_labeled(np.ones((3, 3)), (0, 1), fact_fraction=0.0)
