"""Shares of networks and the laws: formulas by another route, thresholds and bands recovered from made-up tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from genlaws.core.estimate import wilson_interval
from genlaws.core.running import Running
from genlaws.figures.relations import depth as relations_depth
from genlaws.figures.relations import success as relations_success
from genlaws.figures.relations.depth import DepthSettings, depth_data, depth_summary, draw_depth
from genlaws.figures.relations.success import (
    LAW_NAMES,
    PAPER_SHARES,
    ControlSettings,
    SuccessSettings,
    control_data,
    control_summary,
    draw_controls,
    draw_success,
    first_layer_outputs,
    laws,
    success_data,
    success_summary,
)

RATIOS = np.array([0.001, 0.03, 0.4, 1.0, 7.0, 300.0])
TOLERANCE = 1e-12
# The law is for normal weights, torch's are uniform: their narrower Gram matrix moves the chance by up to this.
UNIFORM_START = 0.02
DRAWS = 20_000


def made_up(truths, **about):
    """Return a row of a table with the share of true ones and its interval."""
    found = wilson_interval(int(np.sum(truths)), len(truths))
    shares = {"success": found.value, "success_low": found.low, "success_high": found.high}
    return {**about, **shares, "networks": len(truths)}


def rising(ratios, middle, count, **about):
    """Return rows whose shares follow a logistic curve in the logarithm of the ratio, one half at `middle`."""
    shares = 1.0 / (1.0 + (middle / np.asarray(ratios)) ** 2)
    return [
        made_up(np.arange(count) < round(count * share), ratio=ratio, **about)
        for ratio, share in zip(ratios, shares, strict=True)
    ]


@pytest.mark.parametrize("scale", [1.0, 0.5, 3.0])
def test_laws_are_the_formulas_of_another_route(scale):
    found = laws(RATIOS, scale, 40)
    x = np.sqrt(RATIOS / 2.0)
    assert tuple(found) == tuple(LAW_NAMES)
    # The paper's black line at scale 1: half separations have the width of the factor, decoder entries width 1.
    np.testing.assert_allclose(found["eq12"], 2 / np.pi * np.arctan(x / scale), rtol=TOLERANCE)
    np.testing.assert_allclose(found["sign_law"], 2 / np.pi * np.arctan(RATIOS / scale), rtol=TOLERANCE)
    # Half separations of embeddings of width s have variance s²/2; uniform weights on ±1/2 have variance 1/12.
    odds = (1 / 12) / (scale**2 / 2) * RATIOS / 2
    np.testing.assert_allclose(found["first_layer"], stats.f.cdf(odds * 39 / 2, 2, 39), rtol=1e-9)


def test_law_of_the_first_layer_counts_starts_that_merge():
    # Two embeddings merge exactly if rᵀ(W_LᵀW_L + W_RᵀW_R)⁻¹r ≤ η_enc/(2 η_dec), with weights as torch starts them.
    rng, width, ratio, scale = np.random.default_rng(3), 20, 0.2, 0.7
    weights = rng.uniform(-0.5, 0.5, (DRAWS, 2, width, 2))
    gram = np.einsum("nawi,nawj->nij", weights, weights)
    first, second = scale * rng.standard_normal((2, DRAWS, 2))
    half = (first - second) / 2
    needed = np.einsum("ni,ni->n", half, np.linalg.solve(gram, half[..., None])[..., 0])
    share = np.mean(needed <= ratio / 2)
    expected = float(laws(ratio, scale, 2 * width)["first_layer"])
    assert 0.3 < expected < 0.7
    assert abs(share - expected) < 4 * np.sqrt(0.25 / DRAWS) + UNIFORM_START


def test_both_arguments_see_an_element():
    assert first_layer_outputs(SuccessSettings(width=30)) == 60
    assert first_layer_outputs(SuccessSettings(width=30, depth=0)) == 2


def test_paper_s_shares_are_of_fifty_networks_and_below_its_law():
    for scale, points in PAPER_SHARES.items():
        ratios, shares = np.array(points).T
        np.testing.assert_allclose(shares * 50, np.round(shares * 50), atol=1e-9)
        assert (np.diff(ratios) < 0).all()
        assert (shares < laws(ratios, scale, 100)["eq12"]).all()


def test_shares_and_laws_of_a_table_are_those_of_its_networks(monkeypatch):
    settings = SuccessSettings(ratios=(10.0, 0.1), scales=(1.0, 0.5), optimizers=("sgd",), repeats=3, width=7)
    accuracy = {(10.0, 1.0): [1.0, 0.95, 0.9], (10.0, 0.5): [1.0, 1.0, 0.91]}

    def networks(settings, base, axes, progress):
        rows = []
        for scale in axes["embedding_scale"]:
            for rate in axes["encoder_rate"]:
                found = accuracy.get((rate / base["decoder_rate"], scale), [0.5] * settings.repeats)
                rows += [
                    {"embedding_scale": scale, "encoder_rate": rate, "test_accuracy": one}
                    | {"test_step": 3 if one > 0.9 else -1, "phase": "grokking" if one > 0.9 else "memorization"}
                    for one in found
                ]
        return pd.DataFrame(rows)

    monkeypatch.setattr(relations_success.cells, "networks", networks)
    frame = success_data(settings, Running())
    assert frame["ratio"].tolist() == pytest.approx([10.0, 0.1, 10.0, 0.1])
    # An accuracy of the target itself is not above it.
    assert frame["success"].tolist() == frame["reached"].tolist() == pytest.approx([2 / 3, 0.0, 1.0, 0.0])
    assert frame["memorized"].tolist() == pytest.approx([1 / 3, 1.0, 0.0, 1.0])
    two_of_three = wilson_interval(2, 3)
    assert (frame["success_low"][0], frame["success_high"][0]) == (two_of_three.low, two_of_three.high)
    for _, row in frame.iterrows():
        for name, one in laws(row["ratio"], row["embedding_scale"], 14).items():
            assert row[name] == pytest.approx(float(one), rel=TOLERANCE)


def test_success_summary_finds_the_ratio_and_those_of_the_laws():
    settings = SuccessSettings(ratios=tuple(np.geomspace(0.01, 100.0, 13)), scales=(1.0, 0.5), optimizers=("adam",))
    rows = [
        row | {name: float(one) for name, one in laws(row["ratio"], scale, 40).items()}
        for scale, middle in ((1.0, 3.0), (0.5, 0.2))
        for row in rising(settings.ratios, middle, 200, optimizer="adam", embedding_scale=scale)
    ]
    table = success_summary(pd.DataFrame(rows), settings)
    assert table["half_ratio"].tolist() == pytest.approx([3.0, 0.2], rel=0.05)
    assert (table["half_ratio_low"] < [3.0, 0.2]).all()
    assert (table["half_ratio_high"] > [3.0, 0.2]).all()
    for _, row in table.iterrows():
        for name in LAW_NAMES:
            at_half = laws(row[f"{name}_half_ratio"], row["embedding_scale"], first_layer_outputs(settings))[name]
            assert float(at_half) == pytest.approx(0.5)
    # Steeper than Eq. 12: below it at small ratios, above it at large ones.
    assert (table["above_eq12"] > 0).all()
    assert (table["below_eq12"] > 0).all()
    assert (table["above_eq12"] + table["below_eq12"] <= table["ratios"]).all()


def test_controls_find_thresholds_and_say_where_there_is_none():
    ratios, variants = (10.0, 1.0, 0.3, 0.1, 0.03), (("adam", None, 0.0), ("adam", 32, 0.0), ("sgd", None, 0.5))
    settings = ControlSettings(ratios=ratios, variants=variants)
    middles = {0: 0.2, 32: 1e-9}
    rows = []
    for optimizer, batch, decay in variants:
        middle = 1e9 if optimizer == "sgd" else middles[batch or 0]
        rows += rising(ratios, middle, 40, optimizer=optimizer, batch_size=batch or 0, weight_decay=decay)
    frame = pd.DataFrame(rows)
    table = control_summary(frame, settings)
    assert table["half_ratio"][0] == pytest.approx(0.2, rel=0.1)
    assert table["half_ratio"][1:].isna().all()
    assert table["success"].tolist()[1:] == [1.0, 0.0]
    picture = draw_controls(frame, settings)
    right = picture.axes[1]
    assert [text.get_text() for text in right.texts] == ["all do at every ratio", "none does at any ratio"]
    assert [label.get_text() for label in right.get_yticklabels()] == [
        "Adam\nall entries",
        "Adam\nbatches of 32",
        "gradient descent\nall entries, decay 0.5",
    ]


def test_a_threshold_beyond_the_axis_is_an_arrow():
    # Few networks, and almost as many succeed at one ratio as at the other: where half of them do is not known.
    settings = ControlSettings(ratios=(1.0, 0.1), variants=(("adam", None, 0.0),))
    about = {"optimizer": "adam", "batch_size": 0, "weight_decay": 0.0}
    rows = [made_up(np.arange(10) < 3, ratio=1.0, **about), made_up(np.arange(10) < 2, ratio=0.1, **about)]
    right = draw_controls(pd.DataFrame(rows), settings).axes[1]
    marks = {line.get_marker() for line in right.get_lines()}
    assert ">" in marks
    assert not marks & {"<", "o"}
    assert not right.texts
    same = draw_controls(pd.DataFrame([rows[0], rows[0] | {"ratio": 0.1}]), settings).axes[1]
    assert [text.get_text() for text in same.texts] == ["the share does not change"]


def test_success_picture_has_points_laws_and_the_paper_s_shares():
    settings = SuccessSettings(ratios=(10.0, 1.0, 0.1), scales=(1.0, 0.3), optimizers=("adam",))
    rows = [
        row
        for scale in settings.scales
        for row in rising(settings.ratios, 1.0, 20, optimizer="adam", embedding_scale=scale)
    ]
    axes = draw_success(pd.DataFrame(rows), settings).axes[0]
    marks = [line.get_marker() for line in axes.get_lines()]
    assert marks.count("o") == 2
    assert marks.count("D") == 1  # the paper has no factor 0.3
    paper = next(line for line in axes.get_lines() if line.get_marker() == "D")
    assert list(zip(*paper.get_data(), strict=True)) == list(PAPER_SHARES[1.0])
    assert axes.get_xlim()[1] > 30.0


def test_control_table_names_batches_and_decay(monkeypatch):
    seen = []

    def networks(settings, base, axes, progress):
        seen.append((base["batch_size"], base["encoder_decay"], base["decoder_decay"], base["decoder_rate"]))
        about = {"test_accuracy": 0.95, "phase": "generalization"}
        rates = [rate for rate in axes["encoder_rate"] for _ in range(settings.repeats)]
        return pd.DataFrame([{"encoder_rate": rate, **about} for rate in rates])

    monkeypatch.setattr(relations_success.cells, "networks", networks)
    settings = ControlSettings(ratios=(1.0, 0.1), variants=(("adamw", None, 2.0), ("sgd", 16, 0.0)), repeats=2)
    frame = control_data(settings, Running())
    assert seen == [(None, 2.0, 2.0, settings.adam_rate), (16, 0.0, 0.0, settings.sgd_rate)]
    assert frame["batch_size"].tolist() == [0, 0, 16, 16]
    assert frame["success"].tolist() == [1.0] * 4
    assert frame["networks"].tolist() == [2] * 4


def depth_rows(width, counts, of=40):
    """Return rows of one width in which so many of the networks at each depth generalize."""
    accuracies = ("train_accuracy", "test_accuracy")
    about = {f"{name}{end}": 0.8 for name in accuracies for end in ("", "_low", "_high")}
    about |= {"test_accuracy_worst": 0.5, "test_accuracy_best": 1.0, "majority_accuracy": 2 / 3}
    return [made_up(np.arange(of) < count, width=width, depth=depth, **about) for depth, count in counts.items()]


def test_depth_band_is_where_more_than_half_surely_generalize():
    counts = {
        10: {0: 0, 2: 20, 3: 38, 5: 35, 8: 40, 10: 30, 15: 21, 20: 0},  # 30 of 40: low end .60; 21 of 40: .38
        20: {0: 40, 2: 10, 3: 40, 5: 40, 8: 5, 10: 30, 15: 0, 20: 0},
        30: dict.fromkeys((0, 2, 3, 5, 8, 10, 15, 20), 22),
        50: dict.fromkeys((0, 2, 3, 5, 8, 10, 15, 20), 40),
    }
    rows = [row for width, one in counts.items() for row in depth_rows(width, one)]
    settings = DepthSettings(widths=tuple(counts), depths=(0, 2, 3, 5, 8, 10, 15, 20))
    table = depth_summary(pd.DataFrame(rows).sample(frac=1.0, random_state=0), settings).set_index("width")
    assert table.loc[10, ["band_low", "band_high", "paper_band"]].tolist() == [3, 10, "contained"]
    assert table.loc[10, ["inside", "open", "outside", "best_depth"]].tolist() == [4, 2, 2, 8]
    assert table.loc[20, ["band_low", "band_high", "paper_band"]].tolist() == [3, 5, "contradicted"]
    assert table.loc[30, "paper_band"] == "open"
    assert table.loc[30, ["band_low", "band_high"]].isna().all()
    assert table.loc[50, ["band_low", "band_high", "paper_band"]].tolist() == [0, 20, "contained"]
    picture = draw_depth(pd.DataFrame(rows), settings)
    crosses = [sum(line.get_marker() == "x" for line in axes.get_lines()) for axes in picture.axes[:4]]
    assert crosses == [2, 0, 0, 0]  # the paper's networks have width 10


def test_depths_without_the_paper_s_say_nothing_about_its_band():
    rows = depth_rows(10, {0: 40, 1: 40, 15: 40})
    settings = DepthSettings(depths=(0, 1, 15))
    assert depth_summary(pd.DataFrame(rows), settings)["paper_band"].tolist() == ["open"]
    # Its deepest network is drawn all the same.
    assert draw_depth(pd.DataFrame(rows), settings).axes[0].get_xlim()[1] > 20


def test_depth_table_counts_networks_of_each_width_and_depth(monkeypatch):
    def networks(settings, base, axes, progress):
        return pd.DataFrame(
            {
                "width": width,
                "depth": depth,
                "train_accuracy": [0.9, 1.0],
                "test_accuracy": [0.2 + 0.1 * depth, 0.95],
                "majority_accuracy": 2 / 3,
            }
            for width in axes["width"]
            for depth in axes["depth"]
        ).explode(["train_accuracy", "test_accuracy"])

    monkeypatch.setattr(relations_depth.cells, "networks", networks)
    settings = DepthSettings(widths=(10, 20), depths=(0, 8), repeats=2)
    frame = depth_data(settings, Running())
    assert frame[["width", "depth"]].to_numpy().tolist() == [[10, 0], [10, 8], [20, 0], [20, 8]]
    assert frame["success"].tolist() == [0.5, 1.0, 0.5, 1.0]
    assert frame["fitted"].tolist() == [0.5] * 4
    assert frame["test_accuracy"].tolist() == pytest.approx([0.575, 0.975, 0.575, 0.975])
    assert frame["test_accuracy_worst"].tolist() == pytest.approx([0.2, 0.95, 0.2, 0.95])
