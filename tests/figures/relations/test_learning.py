"""Learning curves of relation networks: gaps, critical shares and needed shares of tables made by hand, and runs."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from genlaws.core.errors import InputError
from genlaws.core.estimate import wilson_interval
from genlaws.core.running import Running
from genlaws.figures import get_figure
from genlaws.figures.relations.graph import GraphSettings, graph_summary
from genlaws.figures.relations.learning import (
    BOUND_MODE,
    LearningCurveSettings,
    NoiseSettings,
    RelationSizeSettings,
    curve_data,
    curve_summary,
    noise_data,
    size_data,
    size_exponent,
    size_summary,
)
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.hypotheses import hypotheses_of
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.training_set import draw_order, training_set_of
from project_paths import DATA

KINSHIPS = DATA / "kg" / "kinships.tsv"
TOLERANCE = 1e-9
SHARES = (0.1, 0.2, 0.4, 0.8)
LINEAR = {"mode": "difference", "depth": 0, "width": 1, "dimension": 2}
DEEP = {"mode": "concatenate", "depth": 2, "width": 10, "dimension": 2}
SMALL = {"repeats": 2, "depth": 1, "width": 6, "steps": 40}


def curve(place, accuracies, runs=3, shares=SHARES):
    """Return rows of networks that all have one learning curve."""
    rows = [
        {"relation": "mod3", **place, "train_fraction": share, "table_accuracy": one, "test_accuracy": one, "run": run}
        for run in range(runs)
        for share, one in zip(shares, accuracies, strict=True)
    ]
    return pd.DataFrame(rows)


def curves_by_hand():
    bound = curve({"mode": BOUND_MODE, "depth": 0, "width": 0, "dimension": 0}, (0.6, 0.8, 1.0, 1.0))
    return pd.concat([curve(LINEAR, (0.5, 0.6, 0.8, 1.0)), curve(DEEP, (0.4, 0.5, 0.6, 0.7)), bound])


def sizes_by_hand(critical, sizes=(30, 60, 120), width=0.1):
    """Return critical shares with intervals of one width in the logarithm."""
    share = np.asarray(critical, dtype=float)
    ends = {"critical_fraction_low": share * np.exp(-width), "critical_fraction_high": share * np.exp(width)}
    return pd.DataFrame({"elements": sizes, "critical_fraction": share, **ends})


def graph_by_hand(needed, bits, pairs=(10, 20, 30, 40)):
    """Return relations whose balanced accuracy passes 0.75 at given shares, by straight lines through 0.5 and 1."""
    shares = np.array(SHARES)
    rows = []
    for name, (place, length, count) in enumerate(zip(needed, bits, pairs, strict=True)):
        for share, one in zip(shares, np.clip(0.75 + (shares - place) / 4, 0.5, 1.0), strict=True):
            about = {"relation": f"r{name}", "elements": 10, "pairs": count, "description_length": length}
            ends = {"balanced_accuracy_low": one - 0.025, "balanced_accuracy_high": min(1.0, one + 0.025)}
            rows.append({**about, "train_fraction": share, "balanced_accuracy": one, **ends})
    return pd.DataFrame(rows)


def test_gaps_of_curves_made_by_hand():
    settings = LearningCurveSettings(relations=("mod3",), train_fractions=SHARES, target=0.9)
    table = curve_summary(curves_by_hand(), settings).set_index("mode")
    # The bound passes 0.9 half-way from 0.2 to 0.4, the linear network half-way from 0.4 to 0.8, the deep one never.
    linear, deep = table.loc["difference"], table.loc["concatenate"]
    assert linear["bound_fraction"] == pytest.approx(0.3, abs=TOLERANCE)
    assert linear["shift"] == linear["shift_low"] == linear["shift_high"] == pytest.approx(0.3, abs=TOLERANCE)
    assert linear["ratio"] == pytest.approx(2.0, abs=TOLERANCE)
    assert linear["area"] == pytest.approx(0.1 * 0.15 + 0.2 * 0.2 + 0.4 * 0.1, abs=TOLERANCE)
    assert deep["shift"] == deep["network_fraction_low"] == math.inf
    assert (linear["networks"], linear["target_accuracy"]) == (3, 0.9)


def test_the_order_of_the_fractions_does_not_matter():
    settings = LearningCurveSettings(relations=("mod3",), train_fractions=SHARES[::-1])
    table = curves_by_hand()
    pd.testing.assert_frame_equal(
        curve_summary(table.sort_values("train_fraction", ascending=False, kind="stable"), settings),
        curve_summary(table, settings),
    )


@pytest.mark.parametrize("relations", [("mod3",), ("mod3", "less-than", "mod5")])
def test_picture_tells_what_was_not_reached(relations):
    frame = pd.concat([curves_by_hand().assign(relation=name) for name in relations])
    settings = LearningCurveSettings(relations=relations, train_fractions=SHARES)
    picture = get_figure("relations.3").draw(frame, settings)
    top, bottom = picture.axes[: len(relations)], picture.axes[len(relations) :]
    names = [label.get_text() for label in bottom[0].get_yticklabels()]
    assert names == ["difference, linear", "both, 2 layers"]
    for axes in bottom:
        assert [text.get_text() for text in axes.texts] == ["not reached"]
    for name, axes in zip(relations, top, strict=True):
        assert named_relation(name).label in axes.get_title()
        bits = next(line for line in axes.get_lines() if line.get_gid() == "bits").get_xdata()[0]
        assert bits == pytest.approx({"mod3": 39.75, "less-than": 107.71, "mod5": 53.34}[name] / 900, abs=1e-5)


def test_bound_is_that_of_the_posterior_and_networks_stay_below_it():
    settings = LearningCurveSettings(
        relations=("mod3",),
        architectures=(("squared_difference", 0, 1, 2),),
        train_fractions=(0.05, 0.3),
        repeats=2,
        bound_repeats=3,
        steps=200,
        seed=5,
    )
    frame = curve_data(settings, Running())
    assert frame.groupby("mode")["run"].max().to_dict() == {BOUND_MODE: 2, "squared_difference": 1}
    relation = named_relation("mod3")
    for repeat in range(settings.bound_repeats):
        order = draw_order(30, np.random.default_rng([settings.seed, repeat]))
        law = posterior(training_set_of(relation, order[:270]), hypotheses_of(relation))
        found = frame[(frame["mode"] == BOUND_MODE) & (frame["train_fraction"] == 0.3) & (frame["run"] == repeat)]
        assert found["table_accuracy"].item() == pytest.approx(law.accuracy, abs=TOLERANCE)
    means = frame.groupby(["mode", "train_fraction"])["table_accuracy"].mean()
    assert (means[BOUND_MODE] > means["squared_difference"]).all()


def test_sizes_show_the_same_entries_for_each_element():
    settings = RelationSizeSettings(**SMALL, sizes=(6, 12), entries_per_element=(2.0, 4.0, 9.0))
    frame = size_data(settings, Running())
    assert frame.groupby("elements")["entries_per_element"].apply(list).to_dict() == {6: [2, 4], 12: [2, 4, 9]}
    np.testing.assert_allclose(frame["train_fraction"] * frame["elements"], frame["entries_per_element"])
    for row in frame.itertuples():
        expected = wilson_interval(round(row.success * 2), 2)
        assert (row.success_low, row.success_high) == (expected.low, expected.high)


def test_critical_shares_and_their_exponent():
    entries = np.array([2.0, 4.0, 8.0, 16.0])
    right = np.array([0.0, 0.1, 0.9, 1.0])
    tables = [
        pd.DataFrame({"elements": n, "entries_per_element": entries, "train_fraction": entries / n, "success": right})
        for n in (30, 60, 120)
    ]
    summary = size_summary(pd.concat(tables).assign(networks=20), RelationSizeSettings(sizes=(30, 60, 120)))
    # Successes are symmetric about the middle of 4 and 8 in the logarithm.
    np.testing.assert_allclose(summary["critical_entries_per_element"], math.sqrt(32.0), rtol=1e-3)
    np.testing.assert_allclose(summary["critical_fraction"] * summary["elements"], math.sqrt(32.0), rtol=1e-3)
    assert summary["exponent"].iloc[0] == pytest.approx(-1.0, abs=1e-3)
    assert (summary["exponent_low"] < -1.0).all()
    assert (summary["exponent_high"] > -1.0).all()
    assert summary["description_length"].iloc[0] == pytest.approx(39.75, abs=0.005)
    np.testing.assert_allclose(summary["bits_per_entry"], summary["description_length"] / summary["elements"] ** 2)


def test_exponent_is_that_of_weighted_least_squares():
    table = sizes_by_hand([0.3, 0.2, 0.05])
    found = size_exponent(table)
    # All weigh alike: an ordinary regression, whose error follows from the width of the intervals.
    line = stats.linregress(np.log(table["elements"]), np.log(table["critical_fraction"]))
    assert found.value == pytest.approx(line.slope, abs=TOLERANCE)
    spread = np.sqrt(np.sum((np.log([30, 60, 120]) - np.log(60)) ** 2))
    assert found.high - found.value == pytest.approx(0.1 / spread, rel=1e-6)
    assert found.count == 3
    # A size that is hardly known hardly counts, and one without a threshold not at all.
    wide = pd.concat([sizes_by_hand([0.3, 0.15], (30, 60), 0.01), sizes_by_hand([0.9], (120,), 3.0)])
    assert size_exponent(wide).value == pytest.approx(-1.0, abs=1e-3)
    assert size_exponent(sizes_by_hand([0.3, 0.15, np.nan])).value == pytest.approx(-1.0, abs=TOLERANCE)
    assert math.isnan(size_exponent(sizes_by_hand([0.3, np.nan, np.nan])).value)


def test_sizes_without_a_threshold_are_drawn_all_the_same():
    settings = RelationSizeSettings(**SMALL, sizes=(9, 12), entries_per_element=(1.0, 2.0))
    frame = size_data(settings, Running()).assign(success=0.0, success_low=0.0, success_high=0.6)
    summary = size_summary(frame, settings)
    assert summary[["critical_fraction", "exponent", "exponent_low"]].isna().all(axis=None)
    left, right = get_figure("relations.sizes").draw(frame, settings).axes
    assert "slope" not in right.get_title()
    assert left.get_title() == "modulo 3, 1 layer of 6"


def test_fitted_noise_is_wrong_on_the_share_of_noise():
    settings = NoiseSettings(
        noises=(0.0, 0.25), train_fractions=(0.1, 0.2), repeats=2, steps=1500, depth=2, width=30, learning_rate=2e-2
    )
    frame = noise_data(settings, Running()).set_index(["label_noise", "train_fraction"])
    assert frame.loc[(0.0, 0.1), "train_accuracy"] == 1.0
    # 90 labels of which 22 are turned round: a network that fits them all is right on 68.
    assert frame.loc[(0.25, 0.1), "train_accuracy"] == pytest.approx(68 / 90, abs=TOLERANCE)
    np.testing.assert_allclose(frame["majority_accuracy"], 2 / 3)


def test_noise_has_a_dashed_line_for_each_share():
    settings = NoiseSettings(**SMALL, noises=(0.0, 0.1, 0.3), train_fractions=(0.3, 0.6))
    _, right = get_figure("relations.noise").draw(noise_data(settings, Running()), settings).axes
    dashed = {line.get_ydata()[0] for line in right.get_lines() if line.is_dashed()}
    assert dashed == {1.0, 0.9, 0.7}


def test_shares_a_graph_needs():
    needed, bits = (0.15, 0.3, 0.6, 2.0), (10.0, 20.0, 30.0, 40.0)
    table = graph_summary(graph_by_hand(needed, bits), GraphSettings())
    np.testing.assert_allclose(table["train_fraction_needed"], [0.15, 0.3, 0.6, math.inf])
    # The interval of the accuracy is 0.025 to each side, and a share of 1 is worth 0.25 of accuracy.
    np.testing.assert_allclose(table["train_fraction_needed_low"][1:3], [0.2, 0.5])
    np.testing.assert_allclose(table["train_fraction_needed_high"][:3], [0.25, 0.4, 0.7])
    np.testing.assert_allclose(table["bits_per_entry"], np.array(bits) / 100)
    assert (table["rank_correlation_with_description_length"] == 1.0).all()
    # What is never reached needs the most, so with it in the middle the order is 1, 2, 4, 3.
    swapped = graph_summary(graph_by_hand((0.15, 0.3, 2.0, 0.6), bits), GraphSettings())
    assert swapped["rank_correlation_with_description_length"].iloc[0] == pytest.approx(0.8)
    assert swapped["rank_correlation_with_description_length_low"].iloc[0] < 0.8


def test_graph_rows_may_come_in_any_order_and_lack_accuracies():
    frame = graph_by_hand((0.15, 0.3, 0.6, 0.7), (10.0, 20.0, 30.0, 40.0))
    mixed = frame.sort_values("train_fraction", ascending=False, kind="stable")
    pd.testing.assert_frame_equal(graph_summary(mixed, GraphSettings()), graph_summary(frame, GraphSettings()))
    balanced = [name for name in frame if name.startswith("balanced")]
    frame.loc[frame["relation"] == "r3", balanced] = np.nan
    table = graph_summary(frame, GraphSettings())
    assert table["train_fraction_needed"].isna().tolist() == [False, False, False, True]
    assert (table["rank_correlation_with_description_length"] == 1.0).all()


def test_graph_picture_names_relations_and_edges():
    frame = graph_by_hand((0.05, 0.3, 0.6, 2.0), (10.0, 20.0, 30.0, 40.0))
    axes = get_figure("relations.graph").draw(frame, GraphSettings()).axes[0]
    assert sorted(text.get_text() for text in axes.texts) == ["r0", "r1", "r2", "r3"]
    ticks = [label.get_text() for label in axes.get_yticklabels()]
    assert (ticks[0], ticks[-1]) == ("≤ 0.1", "not reached")
    # Fractions that every relation exceeds by far are left out.
    late = graph_by_hand((0.6, 0.65, 0.7, 2.0), (10.0, 20.0, 30.0, 40.0))
    axes = get_figure("relations.graph").draw(late, GraphSettings()).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0.4", "0.8", "not reached"]
    assert "4 relations of 10 entities" in axes.get_title()
    assert "with bits $1.00$" in axes.get_title()


def test_relations_on_one_spot_are_not_named_twice():
    frame = graph_by_hand((0.3, 0.3, 0.3, 0.6), (20.0, 20.0, 20.0, 40.0))
    axes = get_figure("relations.graph").draw(frame, GraphSettings()).axes[0]
    assert len(axes.texts) < 4
    assert "r3" in [text.get_text() for text in axes.texts]


def test_a_graph_needs_a_file_with_relations_enough(tmp_path):
    with pytest.raises(InputError, match="file must name a knowledge graph"):
        get_figure("relations.graph").data({})
    file = tmp_path / "few.tsv"
    file.write_text("a\tlikes\tb\nb\tlikes\tc\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"fewest_pairs must leave some relation .* the largest has 2"):
        get_figure("relations.graph").data({"file": str(file)})


@pytest.mark.skipif(not KINSHIPS.exists(), reason="The file of kinships is not on this machine.")
def test_kinships_have_their_pairs_and_bits():
    frame = get_figure("relations.graph").data(
        {"file": str(KINSHIPS), "fewest_pairs": 1200, "train_fractions": (0.05, 0.1), **SMALL, "steps": 5}
    )
    assert (frame["elements"] == 104).all()
    assert frame["relation"].unique().tolist() == ["term16"]
    assert (frame["pairs"] == 1256).all()
    assert frame["majority_accuracy"].iloc[0] == pytest.approx(1 - 1256 / 104**2)
    assert 0 < frame["description_length"].iloc[0] < math.log2(math.factorial(104))


@pytest.mark.parametrize(
    ("figure_id", "settings"),
    [
        ("relations.3", {"train_fractions": (0.1,)}),
        ("relations.3", {"architectures": ()}),
        ("relations.3", {"target": 1.5}),
        ("relations.sizes", {"sizes": (30,)}),
        ("relations.noise", {"noises": (0.7,)}),
        ("relations.graph", {"target": 0.4}),
    ],
)
def test_settings_are_checked(figure_id, settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        get_figure(figure_id).settings(settings)
