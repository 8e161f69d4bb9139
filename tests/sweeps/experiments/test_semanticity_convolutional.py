"""Cells of the experiment on images: paired by network, whatever shares their stack."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity.networks.convolutional import fine_tune
from genlaws.sweeps import Axis, compute_sweep, get_experiment, make_sweep, run_sweep
from genlaws.sweeps.experiments.semanticity import IDENTIFICATION_GRID, ConvolutionalSettings, convolutional_runs

EXPERIMENT = get_experiment("semanticity.convolutional")
ROUNDING = 2e-3  # one trial in some hundred thousand moves when features change in their last digits


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    x = rng.random((60, 8, 8)) + 0.3 * y[:, None, None]
    file = tmp_path_factory.mktemp("images") / "made.npz"
    np.savez(file, images=x, labels=y)
    return str(file)


@pytest.fixture(scope="module")
def few(archive):
    return {"data": archive, "epochs": 2, "batch_size": 10}


def test_a_cell_is_the_network_of_its_number_and_not_of_its_seed(few):
    one = ConvolutionalSettings(**few, similarity_weight=0.25, network=4)
    first, again = convolutional_runs([one, one], [1, 2])
    assert first["peak_generalization"] == again["peak_generalization"]
    expected = fine_tune(
        "small", data=few["data"], similarity_weight=0.25, seeds=(4,), epochs=2, batch_size=10, most_stimuli=600
    )
    for name in ("accuracy", "peak_generalization", "mean_identification"):
        assert first[name] == expected.values(name)[0]
    assert first["generalization"].tolist() == expected.tests[0].generalization_at(IDENTIFICATION_GRID).tolist()
    assert (first["device"], first["dtype"], first["path"]) == ("cpu", "float32", "eager")


def test_cells_do_not_depend_on_which_others_are_trained_with_them(few):
    cells = [
        ConvolutionalSettings(**few, similarity_weight=weight, network=network)
        for weight, network in ((1.0, 0), (0.0, 1), (0.5, 0), (0.0, 0))
    ]
    together = convolutional_runs(cells, range(4))
    for cell, found in zip(cells, together, strict=True):
        (alone,) = convolutional_runs([cell], [9])
        assert found["peak_generalization"] == pytest.approx(alone["peak_generalization"], abs=ROUNDING)
    assert together[3]["peak_generalization"] != together[1]["peak_generalization"]


def test_a_kept_sweep_is_the_sweep_itself(few, tmp_path):
    axes = [Axis("network", (0, 1)), Axis("similarity_weight", (0.0, 1.0))]
    sweep = make_sweep(EXPERIMENT, few, axes)
    report = run_sweep(sweep, folder=tmp_path / "sweep")
    assert (report.computed, report.failed) == (4, 0)
    frame = compute_sweep(sweep).to_frame()
    assert len(frame) == 4
    assert frame["failed"].sum() == 0
    assert frame["peak_generalization"].between(0.5, 1.0).all()


def test_a_tree_given_as_text_changes_the_truth(few):
    trees = ("((0,1),2);", "((0:1,2:1):5,1:9);")
    one, other = convolutional_runs([ConvolutionalSettings(**few, tree=tree) for tree in trees], [0, 0])
    assert one["peak_generalization"] != other["peak_generalization"]
    for found in (one, other):
        assert found["peak_generalization"] < found["tree_peak_generalization"] == found["tree_generalization"].max()


@pytest.mark.parametrize(
    "settings",
    [
        {"similarity_weight": 1.2},
        {"network": -1},
        {"epochs": -1},
        {"batch_size": 1},
        {"learning_rate": 0.0},
        {"most_stimuli": 2},
        {"image_size": 1},
        {"weight": 0.5},
    ],
)
def test_wrong_settings_are_refused_before_anything_runs(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))} is not accepted"):
        make_sweep(EXPERIMENT, settings)


def test_what_only_training_can_refuse_is_refused_in_a_sentence(few):
    with pytest.raises(InputError, match="device must be"):
        convolutional_runs([ConvolutionalSettings(**few, device="abacus")], [0])
    with pytest.raises(InputError, match="there is no such file or folder"):
        convolutional_runs([ConvolutionalSettings(data="nowhere")], [0])
