"""Cells of finite-size runs: the same from the same seed, on the draw they say, with settings that are checked."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.rules_facts import bayes_optimal
from genlaws.rules_facts.finite_size import learn_path
from genlaws.rules_facts.labels.task import draw_gaussian
from genlaws.sweeps import Axis, compute_sweep, get_experiment, make_sweep
from genlaws.sweeps.experiments.rules_facts import (
    GaussianRunSettings,
    LabeledRunSettings,
    MessagePassingSettings,
    gaussian_run,
    labeled_run,
    message_passing_run,
)

ERRORS = ("generalization_error", "memorization_error")
SMALL = {"dimension": 30, "test_count": 300, "regularizations": (0.1, 1.0)}
FEW = {"sample_ratio": 2.0, "parameters": (0.3, 3.0), "regularization_count": 4, "smallest_regularization": 1e-3}


def gaussian(seed=1, **settings):
    return gaussian_run(GaussianRunSettings(**{**SMALL, **settings}), seed)


@pytest.fixture(scope="module")
def labeled():
    """Redraw 0 under both losses, and redraw 1 under one."""
    kinds = {"square": ("square", 0), "hinge": ("hinge", 0), "other": ("square", 1)}
    return {
        name: labeled_run(LabeledRunSettings(**FEW, loss=loss, redraw=redraw), seed=17)
        for name, (loss, redraw) in kinds.items()
    }


@pytest.mark.parametrize("settings", [{}, {"loss": "hinge"}, {"width_ratio": 2.0}, {"kernel": "erf", "matched": True}])
def test_a_cell_follows_from_its_seed(settings):
    first, again, other = gaussian(5, **settings), gaussian(5, **settings), gaussian(6, **settings)
    for name in ERRORS:
        assert first[name].tolist() == again[name].tolist()
    assert first["generalization_error"].tolist() != other["generalization_error"].tolist()
    assert first["converged"]
    assert first["regularization"].tolist() == [0.1, 1.0]


@pytest.mark.parametrize("loss", ["square", "hinge"])
def test_a_cell_is_the_learner_on_the_draw_of_its_seed(loss):
    for_draw, for_features = (np.random.default_rng(child) for child in np.random.SeedSequence(9).spawn(2))
    draw = draw_gaussian(30, 3.0, 0.4, test_count=300, seed=for_draw)
    expected = learn_path(draw, loss=loss, regularization=(0.1, 1.0), activation="relu", width=15, seed=for_features)
    found = gaussian(9, loss=loss, kernel="relu", width_ratio=0.5, sample_ratio=3.0, fact_fraction=0.4)
    for name in ERRORS:
        assert found[name].tolist() == getattr(expected, name).tolist()
    alone = learn_path(draw, loss=loss, regularization=(0.1, 1.0), kernel="erf", normalize=True)
    found = gaussian(9, loss=loss, kernel="erf", sample_ratio=3.0, fact_fraction=0.4)
    assert found["generalization_error"].tolist() == alone.generalization_error.tolist()


def test_the_match_of_a_quadratic_kernel_is_itself():
    for loss in ("square", "hinge"):
        plain, matched = (gaussian(3, loss=loss, kernel="quadratic:0.7", matched=one) for one in (False, True))
        np.testing.assert_allclose(plain["generalization_error"], matched["generalization_error"], rtol=0, atol=1e-12)


def test_repeats_of_a_sweep_have_draws_of_their_own():
    experiment = get_experiment("rules-facts.message-passing")
    sweep = make_sweep(experiment, {"dimension": 20, "iterations": 5}, [Axis("sample_ratio", (2.0, 3.0))], repeats=3)
    first, again = compute_sweep(sweep).to_frame(), compute_sweep(sweep).to_frame()
    assert first["generalization_error"].nunique() == 6
    assert first["generalization_error"].tolist() == again["generalization_error"].tolist()


def test_labeled_runs_of_one_redraw_share_their_draw_whatever_the_loss(labeled):
    square, hinge, other = labeled["square"], labeled["hinge"], labeled["other"]
    for name in ("mu_1", "mu_star", "parameter", "regularization"):
        assert square[name].tolist() == hinge[name].tolist()
    assert square["effective_dimension"] == hinge["effective_dimension"]
    assert square["sample_count"] == hinge["sample_count"] == other["sample_count"]
    assert square["mu_1"].tolist() != other["mu_1"].tolist()
    assert square["generalization_error"].tolist() != hinge["generalization_error"].tolist()


def test_labeled_runs_follow_from_the_redraw_and_not_from_the_seed(labeled):
    again = labeled_run(LabeledRunSettings(**FEW, loss="square", redraw=0), seed=18)
    for name in ERRORS:
        assert again[name].tolist() == labeled["square"][name].tolist()
    assert again["generalization_error"].shape == (2, 4)


def test_labeled_runs_of_one_redraw_share_their_draw_whatever_the_kernels(labeled):
    fewer = labeled_run(LabeledRunSettings(**{**FEW, "parameters": (3.0,)}, loss="square", redraw=0), seed=1)
    for name in ERRORS:
        assert fewer[name][0].tolist() == labeled["square"][name][1].tolist()


def test_message_passing_keeps_its_last_value_after_it_has_settled():
    settings = MessagePassingSettings(dimension=60, sample_ratio=3.0, iterations=150)
    found = message_passing_run(settings, 4)
    assert found["converged"]
    assert found["iterations"] < 150
    for name in ("teacher_overlap", "self_overlap"):
        history = found[name]
        assert history.shape == (151,)
        assert history[0] == 0.0
        assert (history[found["iterations"] :] == history[-1]).all()
    best = bayes_optimal(sample_ratio=3.0, fact_fraction=0.2).generalization_error
    assert found["bayes_error"] == pytest.approx(best)
    # A run scatters around the curve by about 0.2/√d.
    assert abs(found["generalization_error"] - best) < 4 * 0.2 / np.sqrt(60)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("gaussian-runs", {"loss": "logistic"}),
        ("gaussian-runs", {"dimension": 1}),
        ("gaussian-runs", {"sample_ratio": 0.0}),
        ("gaussian-runs", {"fact_fraction": 1.2}),
        ("gaussian-runs", {"regularizations": (0.1, -1.0)}),
        ("gaussian-runs", {"width_ratio": 0.0}),
        ("gaussian-runs", {"test_count": 0}),
        ("gaussian-runs", {"regularization": 0.1}),
        ("gaussian-runs", {"regularizations": ()}),
        ("labeled-runs", {"parameters": ()}),
        ("labeled-runs", {"rule_classes": (3,)}),
        ("labeled-runs", {"redraw": -1}),
        ("labeled-runs", {"smallest_regularization": 0.0}),
        ("labeled-runs", {"tolerance": 1.0}),
        ("message-passing", {"iterations": 0}),
        ("message-passing", {"dimension": 2.5}),
    ],
)
def test_wrong_settings_are_refused_before_anything_runs(name, settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}.* is not accepted"):
        make_sweep(get_experiment(f"rules-facts.{name}"), settings)


def test_random_features_have_no_match():
    with pytest.raises(InputError, match="the combination is not accepted.*matched is for kernels"):
        make_sweep(get_experiment("rules-facts.gaussian-runs"), {"matched": True, "width_ratio": 2.0})


def test_what_only_the_learner_can_refuse_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="regularization must be positive"):
        gaussian(loss="hinge", regularizations=(0.0,))
    with pytest.raises(InputError, match="kernel must be one of"):
        gaussian(kernel="cubic")
    with pytest.raises(InputError, match="activation must be"):
        gaussian(kernel="geometric:0.5", width_ratio=1.0)
