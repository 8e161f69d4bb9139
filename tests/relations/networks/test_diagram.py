"""The phase diagram in Python: what is counted and advised, which networks are trained, and what is rejected."""

import math
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import pytest

from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.core.running import Running
from genlaws.relations import PhaseDiagram, named_relation, phase_diagram
from genlaws.relations.networks.diagram import _advice_on
from genlaws.relations.networks.runs import networks_together
from genlaws.sweeps import Store
from genlaws.sweeps.computing import ComputedCell
from phase_diagrams import AT_THE_EDGE, RATES, diagram_of_counts

TINY = {"grid": 2, "seeds": 2, "steps": 40, "width": 4, "depth": 1}


def outcome(train_step, test_step, phase):
    found = {"train_step": train_step, "test_step": test_step, "phase": phase, "final_test_accuracy": 0.75}
    return ComputedCell(None, found)


def test_the_outcomes_are_counted_at_their_rates(monkeypatch):
    """The decoder rate changes faster than the encoder rate, the repeats fastest."""
    outcomes = [
        *(outcome(10, 20, "generalization"), outcome(10, 50, "grokking")),
        *(outcome(10, -1, "memorization"), outcome(-1, -1, "confusion")),
        *(outcome(10, 30, "generalization"), outcome(10, 30, "generalization")),
        *(outcome(-1, -1, "confusion"), outcome(-1, -1, "confusion")),
    ]
    monkeypatch.setattr(Running, "cells", lambda *_, **__: outcomes)
    found = phase_diagram("mod3", **TINY)
    assert isinstance(found, PhaseDiagram)
    frame = found.to_frame()
    assert frame["relation"].unique().tolist() == ["modulo 3"]
    assert frame["decoder_rate"].tolist() == pytest.approx([1e-4, 1e-1, 1e-4, 1e-1])
    assert frame["encoder_rate"].tolist() == pytest.approx([1e-4, 1e-4, 1e-1, 1e-1])
    assert frame["generalization"].tolist() == [1, 0, 2, 0]
    assert frame["grokking"].tolist() == [1, 0, 0, 0]
    assert frame["memorization"].tolist() == [0, 1, 0, 0]
    assert frame["confusion"].tolist() == [0, 1, 0, 2]
    assert frame["late"].tolist() == [1, 1, 0, 0], "five times as long is late, three times is not"
    assert frame["median_train_step"].tolist() == pytest.approx([10.0, 10.0, 10.0, math.nan], nan_ok=True)
    assert frame["median_delay"].tolist() == pytest.approx([25.0, math.nan, 20.0, math.nan], nan_ok=True)
    assert (found.network_count, found.confused_count) == (8, 3)
    assert found.fractions["generalization"].value == 3 / 8
    with pytest.raises(FrozenInstanceError):
        found.steps = 1


def test_a_folder_and_processes_change_nothing(tmp_path):
    given = {**TINY, "steps": 300, "batch_size": 5, "seed": 7}
    here = phase_diagram(named_relation("mod3", 6), **given)
    for jobs in (1, 2):
        there = phase_diagram(
            named_relation("mod3", 6), **given, running=Running(jobs=jobs, folder=tmp_path / str(jobs))
        )
        assert there.to_dict() == here.to_dict()
    with Store(tmp_path / "1" / "relations.network") as store:
        assert store.counts().done == here.network_count == 8
    assert here.to_frame()["mean_test_accuracy"].nunique() > 1


def test_networks_beyond_one_stack_are_trained():
    assert networks_together("cpu", 6, 4) < 18
    found, again = (phase_diagram(named_relation("mod3", 6), **{**TINY, "grid": 3}) for _ in range(2))
    assert found.network_count == 18
    assert found.to_frame()["mean_test_accuracy"].nunique() > 2
    assert found.to_frame().equals(again.to_frame())


@pytest.mark.parametrize(
    ("phase", "advice"),
    [
        (lambda ratio: "confusion", "No network fitted its training set"),
        (lambda ratio: "memorization", "No network generalized at these rates"),
        (lambda ratio: "grokking", "No network that fitted memorized"),
        (lambda ratio: "memorization" if ratio > 30 else "generalization", "Keep the decoder rate below"),
    ],
)
def test_the_advice_follows_from_the_phases(phase, advice):
    found = diagram_of_counts(lambda decoder, encoder: {phase(decoder / encoder): 2}, RATES)
    assert found.advice.startswith(advice)
    assert found.network_count == 32
    assert sum(one.value for name, one in found.fractions.items() if name != "late") == 1.0


@pytest.mark.parametrize(
    ("where", "advice"),
    [
        ("below", "at 0.01 times the encoder rate, the smallest"),
        ("vertical", "the fitted boundary is vertical"),
        ("above", "below 24 times the encoder rate; from about 1e+02"),
        ("everywhere alike", "Memorizing does not depend on the rates tried"),
    ],
)
def test_no_advice_names_a_ratio_beyond_those_tried(where, advice):
    failed = AT_THE_EDGE[where]
    found = diagram_of_counts(lambda *rates: {"memorization": failed(*rates)}, (1e-3, 1e-2, 1e-1))
    assert advice in found.advice
    assert found.ratios_tried == pytest.approx((0.01, 100.0))


@pytest.mark.parametrize(
    ("ratio", "advice"),
    [
        (Estimate(7.6e-6, 1e-9, 0.1), "even at 0.01 times the encoder rate, the smallest ratio tried"),
        (Estimate(3e4, 10.0, 1e9), "up to a decoder rate of 1e+02 times the encoder rate"),
    ],
)
def test_a_boundary_beyond_the_rates_tried_is_reported_to_be_there(ratio, advice):
    found = diagram_of_counts(lambda decoder, encoder: {"memorization": 2 * (decoder > 3 * encoder)}, (1e-3, 1e-1))
    at = replace(found.boundaries["memorization"], slope=Estimate(1.0, 0.5, 2.0), critical_ratio=ratio)
    assert advice in _advice_on(at, (0.01, 100.0))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"relation": "mod"}, "There is no relation 'mod'"),
        ({"relation": named_relation("mod3", 501)}, "at most 500 elements here; modulo 3 has 501"),
        ({"grid": 1}, "grid must be a whole number, at least 2"),
        ({"seeds": 1}, "seeds must be a whole number, at least 2"),
        ({"decoder_rates": (1e-1, 1e-2)}, "decoder_rates must be two positive rates, the lower one first"),
        ({"encoder_rates": (1e-3, 1e-2, 1e-1)}, "encoder_rates must be two positive rates, the lower one first"),
        ({"encoder_rates": (0.0, 1e-2)}, "encoder_rates must be positive and finite; got 0"),
        ({"steps": 1.5}, "steps must be a whole number"),
        ({"width": 0}, "width must be a whole number, at least 1"),
        ({"depth": -1}, "depth must be a whole number, at least 0"),
        ({"train_fraction": 1.0}, "train_fraction must lie in (0, 1)"),
        ({"embedding_scale": -1.0}, "embedding_scale must be zero or positive"),
        ({"optimizer": "lion"}, "optimizer must be one of adam, adamw, sgd"),
        ({"batch_size": 0}, "batch_size must be a whole number, at least 1"),
        ({"patience": math.inf}, "patience must lie in [1, inf)"),
        ({"device": "abacus"}, "device must be one that torch can use here"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_wrong_input_is_rejected(arguments, complaint):
    given = {"relation": named_relation("mod3", 6), **TINY, **arguments}
    with pytest.raises(InputError, match=re.escape(complaint)):
        phase_diagram(given.pop("relation"), **given)


def test_the_name_is_there_without_torch():
    script = "import sys, genlaws\ngenlaws.relations.phase_diagram\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
