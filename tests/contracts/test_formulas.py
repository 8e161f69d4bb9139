"""Every formula of every system: a number for numbers, broadcasting for arrays, a clear error for anything else."""

import inspect
import sys
from dataclasses import dataclass, field, replace
from importlib import import_module

import numpy as np
import pytest

from documented import documented_parameters
from genlaws import relations, rules_facts
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from project_paths import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
from public_names import FORMULA, public_names


@dataclass(frozen=True)
class Example:
    """A call of a formula.

    Attributes
    ----------
    numbers : dict
        Two values of each parameter that broadcasts.
    fixed : dict
        The value of every other parameter.
    """

    numbers: dict = field(default_factory=dict)
    fixed: dict = field(default_factory=dict)


MASS, ITEMS, BACKGROUND = (0.2, 0.5), (2, 5), (0.0, 0.1)
RATES = {"encoder_rate": (1e-3, 1e-2), "decoder_rate": (1e-2, 3e-2)}
SCALES = {"encoder_scale": (1.0, 0.5), "decoder_scale": (1.0, 2.0)}
TASK = {"sample_ratio": (2.0, 5.0), "fact_fraction": (0.1, 0.3)}
PAIR = {"decoder_gain": (1.0, 2.0), "half_separation": (1.5, 3.0), **RATES, "cluster": (1, 3)}
MOD3 = relations.modulo(6, 3)
SEEN = relations.draw_training_set(MOD3, 0.3, seed=0)
DECODER, POSITIONS = np.array([[1.0, 0.5], [0.2, 2.0]]), np.array([[0.3, 0.1], [-0.4, 0.6], [0.2, 0.2]])
MATRIX_PAIR = Example(
    fixed={"decoder": DECODER, "half_separation": POSITIONS[0], "encoder_rate": 1e-3, "decoder_rate": 1e-2}
)
DRAWN = rules_facts.draw_gaussian(8, 5.0, 0.2, test_count=2)
GRAM = rules_facts.finite_size.gram_matrix("relu", DRAWN.inputs)

EXAMPLES = {
    "semanticity.identification_probability": Example({"ball_mass": MASS, "background": BACKGROUND}),
    "semanticity.generalization_probability": Example(
        {"ball_mass": MASS, "ball_mass_variance": (0.0, 0.01), "background": BACKGROUND}
    ),
    "semanticity.homogeneous_front": Example({"identification": (0.6, 0.9)}),
    "semanticity.linear_on_circle": Example({"ball_mass": MASS}),
    "semanticity.exponential_on_circle": Example({"resolution": (0.1, 0.4)}),
    "semanticity.identification_of_many": Example({"ball_mass": MASS, "item_count": ITEMS, "background": BACKGROUND}),
    "semanticity.generalization_of_many": Example({"ball_mass": MASS, "item_count": ITEMS, "background": BACKGROUND}),
    "semanticity.collapse_constant": Example({"ball_mass": MASS, "background": BACKGROUND}),
    "semanticity.best_ball_mass": Example({"item_count": ITEMS, "background": BACKGROUND}),
    "semanticity.best_generalization": Example({"item_count": ITEMS, "background": BACKGROUND}),
    "semanticity.finite_identification": Example(
        {"neighbor_count": (2, 6), "background": BACKGROUND}, {"set_size": 20, "item_count": 3}
    ),
    "semanticity.finite_generalization": Example(
        {"neighbor_count": (2, 6), "background": BACKGROUND}, {"set_size": 20, "item_count": 3}
    ),
    "rules_facts.interpolation_threshold": Example({"fact_fraction": (0.1, 0.3), "width_ratio": (1.0, 3.0)}),
    "rules_facts.large_sample_bayes_error": Example(TASK),
    "rules_facts.large_sample_error": Example(TASK),
    "rules_facts.optimal_angle": Example(TASK),
    "rules_facts.optimal_regularization": Example(TASK),
    "rules_facts.infinite_regularization": Example(TASK),
    "rules_facts.parameter_for_angle": Example({"angle": (0.4, 0.8)}, {"family": "gaussian"}),
    "rules_facts.estimate_fact_fraction": Example(
        fixed={"left_out_outputs": DRAWN.inputs[:, 0], "labels": DRAWN.labels}
    ),
    "rules_facts.finite_size.gram_matrix": Example(fixed={"kernel": "relu", "inputs": DRAWN.inputs}),
    "rules_facts.finite_size.left_out_outputs": Example(
        fixed={"gram": GRAM, "labels": DRAWN.labels, "loss": "square", "regularization": [0.1, 1.0]}
    ),
    "relations.inferable_fraction": Example({"sample_count": (10.0, 40.0), "description_length": (20.0, 90.0)}),
    "relations.accuracy_formula": Example(
        {
            "train_fraction": (0.1, 0.3),
            "element_count": (10, 30),
            "description_length": (20.0, 90.0),
            "guess_accuracy": (0.3, 0.5),
        }
    ),
    "relations.critical_fraction": Example(
        {"target_accuracy": (0.8, 0.9), "element_count": (10, 30), "description_length": (20.0, 90.0)}
    ),
    "relations.paper_bound": Example(fixed={"relation": MOD3, "training_set": SEEN}),
    "relations.description_length_exact": Example(fixed={"relation": MOD3}),
    "relations.description_length_table": Example(fixed={"relation": MOD3}),
    "relations.description_length_count": Example(fixed={"relation": MOD3}),
    "relations.decoder_pull": Example({"cluster": (1, 3)}),
    "relations.pair_invariant": Example(PAIR),
    "relations.separation_shrink_time": Example(PAIR | {"factor": (0.5, 0.9)}),
    "relations.gain_shrink_time": Example(PAIR | {"factor": (0.5, 0.9)}),
    "relations.pair_path": Example(PAIR | {"time": (0.5, 20.0)}),
    "relations.pair_limit": Example(PAIR),
    "relations.separation_path": replace(MATRIX_PAIR, fixed=MATRIX_PAIR.fixed | {"time": [0.0, 5.0]}),
    "relations.two_repon_path": Example(
        fixed={
            "decoder_gain": 1.0,
            "positions": (0.4, -0.2),
            "time": [0.0, 5.0],
            "encoder_rate": 0.1,
            "decoder_rate": 1,
        }
    ),
    "relations.separation_limit": MATRIX_PAIR,
    "relations.separation_merges": MATRIX_PAIR,
    "relations.matrix_invariant": MATRIX_PAIR,
    "relations.class_invariant": Example(
        fixed={"decoder": DECODER, "positions": POSITIONS, "encoder_rate": 1e-3, "decoder_rate": 1e-2}
    ),
    "relations.class_limit": Example(
        fixed={"decoder": DECODER, "positions": POSITIONS, "encoder_rate": 1e-3, "decoder_rate": 1e-2}
    ),
    "relations.collision_probability": Example(RATES | SCALES | {"cluster": (1, 3)}),
    "relations.collision_rate_ratio": Example({"probability": (0.2, 0.6)} | SCALES | {"cluster": (1, 3)}),
    "relations.sign_collision_probability": Example(RATES | SCALES),
    "relations.class_collision_probability": Example(RATES | SCALES, {"class_size": 3}),
}

NAMES = sorted(EXAMPLES)
BROADCASTING = [(name, parameter) for name in NAMES for parameter in EXAMPLES[name].numbers]
SIGNED = ("decoder_gain", "half_separation")
SYSTEMS = ("semanticity", "rules_facts", "relations")


def formula(name):
    package, _, last = name.rpartition(".")
    return getattr(import_module(f"genlaws.{package}"), last)


def parts(found):
    """Return the arrays of an answer: a formula may give several."""
    return found if isinstance(found, tuple) else (found,)


def values(example, place):
    return {name: pair[place] for name, pair in example.numbers.items()} | example.fixed


def test_every_formula_has_an_example():
    formulas = {
        f"{one.package}.{one.name}"
        for one in public_names()
        if one.kind == FORMULA and one.package.split(".")[0] in SYSTEMS
    }
    assert formulas == set(EXAMPLES)


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_names_every_parameter(name):
    assert inspect.getdoc(formula(name)).partition("\n\n")[0].endswith(".")
    assert sorted(documented_parameters(formula(name))) == sorted(inspect.signature(formula(name)).parameters)


@pytest.mark.parametrize("name", [name for name in NAMES if EXAMPLES[name].numbers])
def test_numbers_give_numbers(name):
    for one in parts(formula(name)(**values(EXAMPLES[name], 0))):
        assert np.ndim(one) == 0
        assert not np.isnan(float(one))


@pytest.mark.parametrize("name", [name for name in NAMES if EXAMPLES[name].numbers])
def test_arrays_give_each_element_its_answer(name):
    """All parameters vary along an axis of their own; a few elements are compared with calls for single numbers."""
    example, function = EXAMPLES[name], formula(name)
    axes = len(example.numbers)
    arrays = {
        parameter: np.array(pair).reshape([2 if axis == place else 1 for axis in range(axes)])
        for place, (parameter, pair) in enumerate(example.numbers.items())
    }
    together = parts(function(**arrays, **example.fixed))
    assert {one.shape for one in together} == {(2,) * axes}
    picks = [tuple(1 if axis == place else 0 for axis in range(axes)) for place in range(axes)]
    for pick in ((0,) * axes, (1,) * axes, *picks):
        alone = {parameter: pair[pick[place]] for place, (parameter, pair) in enumerate(example.numbers.items())}
        for many, one in zip(together, parts(function(**alone, **example.fixed)), strict=True):
            np.testing.assert_allclose(many[pick], one, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in NAMES if not EXAMPLES[name].numbers])
def test_other_formulas_give_finite_numbers(name):
    for one in parts(formula(name)(**EXAMPLES[name].fixed)):
        assert np.isfinite(np.asarray(one.value if isinstance(one, Estimate) else one, dtype=float)).all()


@pytest.mark.parametrize(("name", "parameter"), BROADCASTING, ids=[f"{name}:{one}" for name, one in BROADCASTING])
def test_what_is_no_number_is_refused_by_its_name(name, parameter):
    example = EXAMPLES[name]
    below = () if parameter in SIGNED else (-1.0, [-1.0])
    for wrong in ("text", True, 1j, {}, [[1.0], [1.0, 2.0]], float("nan"), [0.5, float("nan")], *below):
        with pytest.raises(InputError) as refused:
            formula(name)(**values(example, 0) | {parameter: wrong})
        assert str(refused.value).startswith(f"{parameter} must")
        assert str(refused.value).count("\n") == 0


@pytest.mark.parametrize("name", [name for name in NAMES if len(EXAMPLES[name].numbers) > 1])
def test_shapes_that_do_not_fit_are_refused(name):
    example = EXAMPLES[name]
    first, second = list(example.numbers)[:2]
    wrong = {first: [example.numbers[first][0]] * 2, second: [example.numbers[second][0]] * 3}
    with pytest.raises(InputError, match="broadcast"):
        formula(name)(**values(example, 0) | wrong)
