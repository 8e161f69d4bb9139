"""The figure on images: paired numbers, whatever the threshold's unit, and nothing before training."""

import numpy as np
import pytest

from genlaws.figures import draw_figures
from genlaws.semanticity.networks.convolutional import fine_tune

WEIGHTS = (0.0, 1.0)


def drawn(folder, **settings):
    given = {"similarity_weights": WEIGHTS, "repeats": 2, "most_stimuli": 60, **settings}
    (found,) = draw_figures("semanticity.convolutional", settings=given).figures
    return found.table, found.numbers


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return drawn(tmp_path_factory.mktemp("trained"), epochs=1)


def test_the_numbers_are_means_over_networks_and_changes_are_paired(trained):
    frame, summary = trained
    found = fine_tune("small", data="digits", similarity_weight=WEIGHTS, seeds=(0, 1), epochs=1, most_stimuli=60)
    for name in ("peak_generalization", "mean_identification", "accuracy"):
        row = summary[(summary["quantity"] == name) & (summary["similarity_weight"] == 1)].iloc[0]
        mean, change = found.estimate(name, 1.0), found.estimate(name, 1.0, compared_with=0.0)
        assert (row["mean"], row["mean_low"], row["mean_high"]) == pytest.approx((mean.value, mean.low, mean.high))
        assert (row["change"], row["change_low"]) == pytest.approx((change.value, change.low))
    assert not summary.isna().to_numpy().any()
    tree = frame[frame["series"] == "tree"]
    assert tree["generalization"].max() == pytest.approx(found.tree_tests.peak_generalization)


def test_curves_run_from_chance_to_chance(trained):
    frame, _ = trained
    for _, curve in frame[frame["series"] == "curve"].groupby("similarity_weight"):
        assert curve["identification"].tolist() == sorted(curve["identification"], reverse=True)
        assert curve["generalization"].iloc[[0, -1]].tolist() == pytest.approx([0.5, 0.5])
        assert (curve["generalization_low"] <= curve["generalization"] + 1e-12).all()


def test_before_training_the_weight_changes_nothing(tmp_path):
    _, summary = drawn(tmp_path, epochs=0)
    assert np.abs(summary[["change", "change_low", "change_high"]].to_numpy()).max() == 0.0
