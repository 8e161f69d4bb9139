"""From states to both tests: planted geometries with closed forms, constant states, and a plain loop."""

import math

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.core.estimate import wilson_interval
from genlaws.probes.layers.results import PlaceStates, StateComparison, right_nearest, state_distances
from genlaws.probes.layers.tests import judge_states
from genlaws.semanticity.theory.many_items import generalization_of_many, identification_of_many
from genlaws.semanticity.theory.tradeoff import generalization_probability, identification_probability

TRIALS = 4000
FIVE_SIGMA = 5.0  # of 41 thresholds and two tests, none should lie beyond
PLAIN = StateComparison("euclidean", center=False)


def states_of(items, probes, right, options=None):
    """Return states of one layer; the read-out is of no importance unless given."""
    trials, count, _ = items.shape
    reported = np.full((trials, count), 1.0 / count) if options is None else options
    return PlaceStates(
        ("embeddings",),
        items[None].astype(np.float32),
        probes[None].astype(np.float32),
        right,
        reported[None],
        np.ones(trials, dtype=bool),
    )


def planted(embed, away, count, trials=TRIALS, seed=0):
    """Return both tests with places uniform on [0, 1], what `embed` makes of them, and the nearest by `away`."""
    generator = np.random.default_rng(seed)
    places, requested = generator.random((trials, count)), generator.random(trials)
    nearest = away(places, requested[:, None]).argmin(axis=1)
    copied, right = generator.random((trials, count)), generator.integers(count, size=trials)
    copies = copied[np.arange(trials), right]
    return [
        states_of(embed(places), embed(requested), nearest),
        states_of(embed(copied), embed(copies), right),
    ]


def on_circle(place):
    return np.stack([np.cos(2 * np.pi * place), np.sin(2 * np.pi * place)], axis=-1)


def around(one, other):
    apart = np.abs(one - other)
    return np.minimum(apart, 1.0 - apart)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_numbers_on_a_circle_give_the_closed_forms(count, similarity):
    found = judge_states(planted(on_circle, around, count), StateComparison(similarity, center=False), replicates=20)[0]
    b = found.ball_mass
    assert b[0] == 0.0
    assert b[1:] == pytest.approx(np.arange(1, 41) / 40, abs=1e-3)
    bound = FIVE_SIGMA * 0.5 / math.sqrt(TRIALS)
    assert found.generalization == pytest.approx(generalization_of_many(b, count), abs=bound)
    assert found.identification == pytest.approx(identification_of_many(b, count), abs=bound)
    assert found.identification[0] == 1.0  # a copy is at distance 0
    assert found.nearest_generalization.value > 0.999
    assert found.nearest_identification.value == 1.0
    assert found.best_generalization.value == pytest.approx(generalization_of_many(b, count).max(), abs=bound)
    assert found.best_identification.value == pytest.approx(1.0, abs=0.02)


def test_numbers_on_a_segment_give_the_closed_forms_with_the_variance_of_the_ball_mass():
    trials = 20_000
    groups = planted(lambda place: place[..., None], lambda one, other: np.abs(one - other), 2, trials)
    found = judge_states(groups, PLAIN, replicates=20)[0]
    half = found.threshold <= 0.5
    epsilon = found.threshold[half]
    mean, variance = 2 * epsilon - epsilon**2, 2 / 3 * epsilon**3 - epsilon**4
    bound = FIVE_SIGMA * 0.35 / math.sqrt(trials)  # half of the trials, at least, have neither 0 nor 1
    assert half.sum() > 25
    assert found.ball_mass[half] == pytest.approx(mean, abs=bound)
    assert found.generalization[half] == pytest.approx(generalization_probability(mean, variance), abs=bound)
    assert found.identification[half] == pytest.approx(identification_probability(mean), abs=bound)
    # The variance is seen: without it the curve would lie higher by more than the noise.
    assert (generalization_probability(mean) - found.generalization[half]).max() > bound


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("how", [{"center": False}, {}, {"by_role": True}, {"standardize": True}])
@pytest.mark.parametrize("count", [2, 5])
def test_constant_states_are_at_chance_exactly(similarity, how, count):
    same = np.random.default_rng(3).normal(size=16) * 100.0
    right = np.arange(10) % count
    group = states_of(np.tile(same, (10, count, 1)), np.tile(same, (10, 1)), right)
    found = judge_states([group, group], StateComparison(similarity, **how), replicates=20)[0]
    for values in (found.generalization, found.identification):
        assert values == pytest.approx(np.full(41, 1.0 / count), abs=1e-12)
    for name in ("best_generalization", "identification_there", "nearest_generalization", "nearest_identification"):
        assert getattr(found, name).value == pytest.approx(1.0 / count, abs=1e-12)


def by_hand(apart, right, threshold):
    """Return the probability of the right item in each trial, by a loop."""
    reported = []
    for row, answer in zip(apart, right, strict=True):
        within = [place for place, away in enumerate(row) if away <= threshold]
        reported.append((1 / len(within) if answer in within else 0.0) if within else 1 / len(row))
    return reported


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_everything_equals_a_plain_loop(similarity):
    generator = np.random.default_rng(4)
    groups = [
        states_of(
            generator.normal(size=(trials, 3, 5)),
            generator.normal(size=(trials, 5)),
            generator.integers(3, size=trials),
            generator.dirichlet(np.ones(3), size=trials),
        )
        for trials in (11, 9)
    ]
    found = judge_states(groups, StateComparison(similarity), replicates=20)[0]
    rows = [np.concatenate([one.items[0].reshape(-1, 5), one.probes[0]]) for one in groups]
    middle = np.concatenate(rows).astype(float).mean(axis=0)
    apart, pairs = [], []
    for one in groups:
        lines = []
        for items, probe, right in zip(one.items[0], one.probes[0], one.right, strict=True):
            x, p = items.astype(float) - middle, probe.astype(float) - middle
            if similarity == "euclidean":
                line = [math.dist(item, p) for item in x]
            else:
                line = [1 - item @ p / math.sqrt(item @ item) / math.sqrt(p @ p) for item in x]
            lines.append(line)
            pairs += [away for place, away in enumerate(line) if one is groups[0] or place != right]
        apart.append(lines)
    slack = 1e-7  # distances are rounded to a billionth
    for place, threshold in enumerate(found.threshold):
        assert found.ball_mass[place] == np.mean(np.array(pairs) <= threshold + slack)
        for one, lines, curve in zip(groups, apart, (found.generalization, found.identification), strict=True):
            assert curve[place] == pytest.approx(np.mean(by_hand(lines, one.right, threshold + slack)), abs=1e-12)
    hits = [np.argmin(lines, axis=1) == one.right for one, lines in zip(groups, apart, strict=True)]
    assert found.nearest_generalization == wilson_interval(int(hits[0].sum()), 11)
    assert found.nearest_identification == wilson_interval(int(hits[1].sum()), 9)
    read = np.mean([row[right] for row, right in zip(groups[0].options[0], groups[0].right, strict=True)])
    assert found.read_generalization.value == pytest.approx(read)
    check_halves(found, groups, apart, slack)


def check_halves(found, groups, apart, slack):
    """Compare the best points with a choice of the threshold on one half and a judgment on the other."""
    reported = [
        np.array([by_hand(lines, one.right, threshold + slack) for threshold in found.threshold]).T
        for one, lines in zip(groups, apart, strict=True)
    ]

    def crossed(chosen_on, judged):
        """Return the mean over trials at thresholds chosen on the trials of the other parity."""
        best = [max(range(41), key=lambda place: chosen_on[half::2, place].mean()) for half in (0, 1)]
        return np.mean([judged[trial, best[1 - trial % 2]] for trial in range(len(judged))])

    assert found.best_generalization.value == pytest.approx(crossed(reported[0], reported[0]))
    assert found.identification_there.value == pytest.approx(crossed(reported[0], reported[1]))
    assert found.best_identification.value == pytest.approx(crossed(reported[1], reported[1]))


def test_the_best_point_is_not_flattered_where_there_is_nothing_to_find():
    generator = np.random.default_rng(5)
    values, naive = [], []
    for _ in range(60):
        groups = [
            states_of(generator.normal(size=(40, 2, 3)), generator.normal(size=(40, 3)), generator.integers(2, size=40))
            for _ in range(2)
        ]
        found = judge_states(groups, StateComparison(), replicates=20)[0]
        values.append(found.best_generalization.value)
        naive.append(found.generalization.max())
    error = np.std(values) / math.sqrt(len(values))
    assert abs(np.mean(values) - 0.5) < 3.5 * error
    assert np.mean(naive) - 0.5 > 5 * error  # the largest of the curve is


def test_a_rogue_dimension_is_taken_off_with_the_mean_and_the_words_around_with_the_mean_of_each_role():
    groups = planted(on_circle, around, 4, trials=400)
    plain = judge_states(groups, StateComparison(), replicates=20)[0].nearest_generalization.value
    assert plain > 0.95
    rogue = np.array([[3.0, 0.0]])  # every state is moved
    moved = [states_of(one.items[0] + rogue, one.probes[0] + rogue, one.right) for one in groups]
    judged = [
        judge_states(moved, StateComparison(center=center), replicates=20)[0].nearest_generalization.value
        for center in (False, True)
    ]
    assert judged[0] < 0.8
    assert judged[1] == pytest.approx(plain, abs=0.01)
    role = np.array([6.0, 0.0])  # probes alone are moved
    apart = [states_of(one.items[0], one.probes[0] + role, one.right) for one in groups]
    one_mean, each = (
        judge_states(apart, StateComparison(by_role=by_role), replicates=20)[0].nearest_generalization.value
        for by_role in (False, True)
    )
    assert one_mean < 0.6
    assert each > 0.95


def test_a_loud_coordinate_is_quietened_by_standardizing():
    groups = planted(lambda place: np.concatenate([on_circle(place), np.zeros((*place.shape, 1))], -1), around, 4, 400)
    generator = np.random.default_rng(6)
    for one in groups:
        one.items[..., 2] = 50.0 * generator.normal(size=one.items.shape[:-1])
        one.probes[..., 2] = 50.0 * generator.normal(size=one.probes.shape[:-1])
    loud, even = (
        judge_states(groups, StateComparison(standardize=standardize), replicates=20)[0].nearest_generalization.value
        for standardize in (False, True)
    )
    assert loud < 0.45
    assert even > 0.65


@pytest.mark.parametrize(
    ("embed", "away", "count", "layout"),
    [
        (on_circle, around, 2, 1 / 2),
        (on_circle, around, 4, 3 / 10),  # a cell is half of two gaps, and its square is 3/40 on average
        (lambda place: place[..., None], lambda one, other: np.abs(one - other), 2, 7 / 12),
    ],
)
def test_exchanged_probes_leave_chance_and_the_layout_of_the_items(embed, away, count, layout):
    groups = planted(embed, away, count)
    order = np.roll(np.arange(TRIALS), 1)
    found = judge_states([one.exchanged(order) for one in groups], PLAIN, replicates=20)[0]
    bound = FIVE_SIGMA * 0.5 / math.sqrt(TRIALS)
    assert found.identification == pytest.approx(np.full(41, 1 / count), abs=bound)
    assert found.best_identification.value == pytest.approx(1 / count, abs=bound)
    assert found.nearest_identification.value == pytest.approx(1 / count, abs=bound)
    assert found.nearest_generalization.value == pytest.approx(layout, abs=bound)


def test_exchanged_probes_of_states_that_know_nothing_are_at_chance():
    generator = np.random.default_rng(9)
    groups = [
        states_of(
            generator.normal(size=(TRIALS, 4, 3)),
            generator.normal(size=(TRIALS, 3)),
            generator.integers(4, size=TRIALS),
        )
        for _ in range(2)
    ]
    order = np.roll(np.arange(TRIALS), 1)
    found = judge_states([one.exchanged(order) for one in groups], StateComparison(), replicates=20)[0]
    bound = FIVE_SIGMA * math.sqrt(0.25 * 0.75 / TRIALS)
    for values in (found.generalization, found.identification):
        assert values == pytest.approx(np.full(41, 0.25), abs=bound)
    for name in ("best_generalization", "best_identification", "nearest_generalization", "nearest_identification"):
        assert getattr(found, name).value == pytest.approx(0.25, abs=bound)


def test_the_read_out_is_judged_by_the_answers_of_others_when_probes_are_exchanged():
    generator = np.random.default_rng(7)
    right, order = generator.integers(4, size=30), np.roll(np.arange(30), 1)
    group = states_of(np.zeros((30, 4, 2)), np.zeros((30, 2)), right, generator.dirichlet(np.ones(4), size=30))
    judged = group.exchanged(order).options[0][np.arange(30), right]
    assert judged == pytest.approx(group.options[0][np.arange(30), right[order]])


def test_ties_are_split_and_their_interval_covers_both_neighbors():
    apart = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    assert right_nearest(apart, np.array([1, 2, 0])) == pytest.approx([1 / 2, 1 / 3, 1.0])
    items = np.repeat(np.eye(3)[None, :2], 5, axis=0)
    items[:, 1] = items[:, 0]  # both items alike: half of five
    group = states_of(items, items[:, 0], np.zeros(5, dtype=int))
    found = judge_states([group, group], PLAIN, replicates=20)[0].nearest_generalization
    assert (found.value, found.count) == (0.5, 5)
    assert (found.low, found.high) == (wilson_interval(2, 5).low, wilson_interval(3, 5).high)


def test_trials_without_a_read_out_are_left_out():
    options = np.array([[0.9, 0.1], [np.nan, np.nan], [0.7, 0.3], [0.8, 0.2]])
    group = states_of(np.zeros((4, 2, 3)), np.zeros((4, 3)), np.zeros(4, dtype=int), options)
    found = judge_states([group, group], StateComparison(), replicates=20)[0].read_generalization
    assert found.value == pytest.approx(0.8)
    assert found.count == 3


def test_rounding_breaks_no_tie():
    generator = np.random.default_rng(8)
    probes, steps = generator.integers(-50, 50, size=(20, 7)), generator.integers(1, 50, size=(20, 7))
    items = np.stack([probes + steps, probes - steps], axis=1)  # equally far on both sides
    group = states_of(items, probes, np.zeros(20, dtype=int))
    apart = state_distances([group], 0, StateComparison("euclidean"))[0]
    assert (apart[:, 0] == apart[:, 1]).all()
    middle = np.concatenate([items.reshape(-1, 7), probes]).mean(axis=0)
    moved = np.linalg.norm((items - middle) - (probes - middle)[:, None], axis=2)
    assert (moved[:, 0] != moved[:, 1]).any()  # what is compared would differ


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"similarity": "dot"}, "similarity must be one of cosine, euclidean; got 'dot'"),
        ({"center": 1}, "center must be true or false; got 1"),
        ({"center": False, "by_role": True}, "by_role must be false where center is"),
    ],
)
def test_a_wrong_comparison_is_refused(given, sentence):
    with pytest.raises(InputError, match=sentence):
        StateComparison(**given)


def test_states_that_do_not_fit_are_refused():
    right = np.zeros(4, dtype=int)
    group = states_of(np.zeros((4, 2, 3)), np.zeros((4, 3)), right)
    with pytest.raises(InputError, match=r"probes must have the shape \(1, 4, 3\)"):
        states_of(np.zeros((4, 2, 3)), np.zeros((4, 2)), right)
    with pytest.raises(InputError, match="names must be as many as the layers, 1; got 2"):
        PlaceStates(("a", "b"), group.items, group.probes, right, group.options, group.single)
    three = states_of(np.zeros((4, 3, 3)), np.zeros((4, 3)), right)
    for groups in ([group], [group, three]):
        with pytest.raises(InputError, match="groups must be the states of two tests"):
            judge_states(groups, StateComparison())
    few = states_of(np.zeros((3, 2, 3)), np.zeros((3, 3)), right[:3])
    with pytest.raises(InputError, match="at least 4 trials"):
        judge_states([group, few], StateComparison())
    with pytest.raises(InputError, match="replicates must be a whole number, at least 20; got 5"):
        judge_states([group, group], StateComparison(), replicates=5)
