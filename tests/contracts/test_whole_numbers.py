"""A number with a fractional part is an error where a whole one is required: in settings, on the page, in Python."""

from typing import get_args

import numpy as np
import pytest

from genlaws import relations, residual_stream, rules_facts, semanticity
from genlaws.core import estimate
from genlaws.core.errors import InputError
from genlaws.figures import FIGURES, get_figure
from genlaws.probes import fit_collapse, plan_probe
from genlaws.sweeps import EXPERIMENTS, Processes, get_experiment, make_sweep
from genlaws.sweeps.experiment import checked
from genlaws.web.http_errors import HttpError
from genlaws.web.registry import all_views
from genlaws.web.view import read_settings

CIRCLE, NEAR = semanticity.circle(), semanticity.Similarity("exponential", 0.2)
WALK = residual_stream.Stream.from_states(np.random.default_rng(0).standard_normal((12, 5, 6)).cumsum(axis=1))


def kinds_in(hint):
    """Return a type and all types inside it."""
    return {hint}.union(*(kinds_in(one) for one in get_args(hint)))


def integer_fields():
    """Return the settings of every experiment and figure that hold whole numbers."""
    kinds = {name: one.load().settings for name, one in EXPERIMENTS.items()}
    kinds |= {name: type(get_figure(name).settings({})) for name in FIGURES}
    return [
        (kind, name, kinds_in(field.annotation))
        for kind in kinds.values()
        for name, field in kind.model_fields.items()
        if int in kinds_in(field.annotation)
    ]


def test_settings_of_figures_and_sweeps_refuse_fractions():
    fields = integer_fields()
    assert len(fields) > 100
    for kind, name, _ in fields:
        for value in (2.6, "6.5", [2.6, 3.5]):
            with pytest.raises(InputError, match=name):
                checked(kind, {name: value}, "these")


def test_sliders_refuse_fractions():
    found = 0
    for view in all_views():
        for name, field in view.settings.model_fields.items():
            if field.annotation is int:
                found += 1
                with pytest.raises(HttpError, match=name):
                    read_settings(view, f"{name}=2.6")
    assert found > 5


@pytest.mark.parametrize(
    "call",
    [
        lambda count: semanticity.front(CIRCLE, similarity=NEAR, item_count=count),
        lambda count: semanticity.even_set(CIRCLE, count),
        semanticity.sphere,
        lambda count: semanticity.finite_identification(1, set_size=count, item_count=2),
        lambda count: fit_collapse([2, 3, 4], [50, 40, 30], [100, 100, 100], from_items=count),
        lambda count: plan_probe("years", trial_count=count),
        lambda count: rules_facts.draw_gaussian(dimension=count, sample_ratio=2, fact_fraction=0.1),
        lambda count: rules_facts.state_evolution(sample_ratio=2, fact_fraction=0.1, iterations=count),
        lambda count: rules_facts.parameter_for_angle("polynomial", 0.7, degree=count),
        lambda count: relations.modulo(6, count),
        relations.Equivalence,
        lambda count: relations.RelationClass("symmetric", element_count=count),
        lambda count: relations.RelationClass("equivalence", element_count=6, class_count=count),
        lambda count: relations.bound_curve(relations.less_than(4), train_fraction=0.1, repeats=count),
        lambda count: relations.advise_relation("mod3", width=count),
        lambda count: relations.simulate_repons(relations.ReponSystem(1.0, 1.0), count),
        lambda count: residual_stream.analyze_stream(WALK, measures=["rotations"], surrogates=[], jobs=count),
        lambda count: residual_stream.analyze_stream(WALK, measures=["rotations"], draws=count),
        lambda count: residual_stream.dynamic_modes(WALK, components=count),
        residual_stream.TokenSample,
        lambda count: estimate.bootstrap_mean([1.0, 2.0], replicates=count),
        lambda count: estimate.wilson_interval(1, count),
        lambda count: make_sweep(get_experiment("relations.bound"), {}, [], count, 0),
        Processes,
    ],
)
def test_counts_in_python_refuse_fractions(call):
    for count in (2.6, 6.5):
        with pytest.raises(InputError, match=f"must be a whole number.*; got {count}"):
            call(count)
