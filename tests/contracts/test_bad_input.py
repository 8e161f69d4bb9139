"""Wrong input gets one clear sentence that names the argument."""

import inspect
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genlaws import rules_facts
from genlaws.core.errors import InputError
from genlaws.rules_facts import Kernel, Loss, bayes_optimal, solve

EXAMPLES = 40
LONGEST_MESSAGE = 400
MOST_SENTENCES = 2

# --- what is wrong for each kind of argument -------------------------------------------------------------------------

not_numbers = st.one_of(
    st.text(max_size=4),
    st.booleans(),
    st.complex_numbers(),
    st.sampled_from([{}, set(), b"1", object(), math.nan, 10**400, [[0.5], [0.5, 0.5]], ["0.5"], [True], [None]]),
    st.lists(st.floats(0.1, 0.9), max_size=3).map(lambda values: [*values, math.nan]),
)
negative = st.one_of(st.floats(max_value=-sys.float_info.min), st.integers(max_value=-1), st.just(-math.inf))


def or_in_an_array(wrong):
    """Return the wrong numbers themselves, or one of them among good ones."""
    return st.one_of(wrong, wrong.map(lambda value: [0.5, value]), wrong.map(lambda value: np.array([[value, 0.5]])))


not_positive = not_numbers | or_in_an_array(negative | st.sampled_from([0, 0.0, -0.0, math.inf]))
not_a_fraction = not_numbers | or_in_an_array(negative | st.floats(min_value=1, exclude_min=True) | st.integers(2))
not_whole = not_numbers.filter(lambda value: not isinstance(value, int) or isinstance(value, bool))
not_none = st.none()
wrong_words = st.one_of(
    st.text(max_size=6), st.none(), st.integers(), st.lists(st.integers()), st.just({}), st.floats()
)
not_callable = st.one_of(st.integers(), st.text(max_size=3), st.just([]), st.just({}), st.floats())
not_text = st.one_of(st.integers(), st.none(), st.just([]), st.just(b"a"), st.floats())
wrong_kernel_names = st.sampled_from(
    [
        "",
        "gauss",
        "Relu",
        "relu:3",
        "gaussian",
        "gaussian:",
        "gaussian:x",
        "gaussian:-1",
        "gaussian:nan",
        "gaussian:inf",
        "polynomial:2.5",
        "polynomial:2,1,1",
        "polynomial:0",
        "geometric:1",
        "quadratic:3",
        "nngp-relu",
        "nngp-relu:0",
        "nngp-relu:1.5",
        "ntk-sign:2",
        "ntk-tanh:2",
        ":",
        "relu relu",
    ]
)


def except_for(strategy, allowed):
    return strategy.filter(lambda value: not (isinstance(value, str) and value.strip().replace("-", "_") in allowed))


wrong_loss = except_for(wrong_words, {"square", "hinge", "logistic", "squared_hinge", "huber"})
wrong_kernel = st.one_of(
    wrong_kernel_names, st.integers(), st.floats(), st.just([Kernel(1, 1)]), st.just({}), st.booleans()
)


# --- every public function, a call that works, and what is wrong for each argument -----------------------------------


@dataclass(frozen=True)
class Call:
    """A public function, arguments with which it works, and wrong values for each parameter."""

    function: Callable
    valid: dict
    wrong: dict


task = {"sample_ratio": 2.0, "fact_fraction": 0.3}
wrong_task = {"sample_ratio": not_positive | not_none, "fact_fraction": not_a_fraction | not_none}
wrong_width = {"width_ratio": not_positive}
wrong_regularization = except_for(not_numbers, {"optimal"}) | not_none | or_in_an_array(negative)

# Data of the smallest size that each function takes, and things that are none.
DRAWN = rules_facts.draw_gaussian(8, 5.0, 0.2, test_count=2)
LABELED = rules_facts.load_labeled((np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 3))
training = {"inputs": DRAWN.inputs, "labels": DRAWN.labels}
wrong_inputs = not_numbers | not_none | st.sampled_from([DRAWN.inputs[0], DRAWN.inputs[:3], DRAWN.inputs * math.inf])
wrong_labels = not_numbers | not_none | st.sampled_from([DRAWN.labels[:3], 2 * DRAWN.labels, DRAWN.labels[:, None]])
wrong_flags = not_numbers | st.sampled_from([DRAWN.is_fact[:3], DRAWN.labels, [True] * 40, [[True], [True, False]]])
wrong_seed = not_whole | not_none | st.integers(max_value=-1)
wrong_counts = not_whole | st.integers(max_value=0)
wrong_class = not_none | st.sampled_from([0, "0", [0], [0, 1, 2], [0, 0], (0, 7), (0, "cat"), (0, 1.5), (0, None)])
# A flag is read as true or false, and everything is one of them.
FLAG = None

KERNEL_PARTS = ("kernel", "name", "rate", "degree", "offset", "ratio", "angle", "depth", "kind")

CALLS = {
    "advise": Call(
        rules_facts.advise,
        {**training, "is_fact": DRAWN.is_fact, "parameters": [1.0]},
        {
            "inputs": wrong_inputs,
            "labels": wrong_labels,
            "is_fact": wrong_flags,
            "fact_fraction": not_a_fraction | st.just(1.0),
            "loss": except_for(wrong_words, {"square", "hinge"}) | st.just("logistic"),
            "family": except_for(wrong_words, {"gaussian"}) | st.sampled_from(["relu", "polynomial"]),
            "parameters": not_positive | st.sampled_from([[], 1.0, [[1.0]]]),
            "normalize": wrong_words,
            "folds": not_whole | not_none | st.integers(max_value=1),
            "seed": wrong_seed,
            "name": FLAG,
            "running": not_callable,
        },
    ),
    "draw_gaussian": Call(
        rules_facts.draw_gaussian,
        {"dimension": 3, **task, "test_count": 2, "seed": 0},
        {
            "dimension": wrong_counts | not_none,
            **wrong_task,
            "test_count": wrong_counts | not_none,
            "seed": wrong_seed,
        },
    ),
    "draw_labeled": Call(
        rules_facts.draw_labeled,
        {"data": LABELED, "rule_classes": (0, 1), "fact_fraction": 0.3, "sample_count": 10},
        {
            "data": wrong_words,
            "rule_classes": wrong_class,
            "fact_fraction": not_a_fraction | not_none,
            "sample_count": wrong_counts | st.just(10_000),
            "sample_ratio": not_positive,
            "fact_classes": st.sampled_from([0, [0, 2], 7, [7], "cat", 1.5, [None]]),
            "test_count": wrong_counts | st.just(1),
            "scale": FLAG,
            "seed": wrong_seed,
        },
    ),
    "load_labeled": Call(
        rules_facts.load_labeled,
        {"source": LABELED},
        {"source": wrong_words | st.sampled_from([(), ([1.0], [1], [1]), "no.npz", b"digits", "."])},
    ),
    "estimate_fact_fraction": Call(
        rules_facts.estimate_fact_fraction,
        {"left_out_outputs": DRAWN.inputs[:, 0], "labels": DRAWN.labels},
        {
            "left_out_outputs": not_numbers | not_none | st.sampled_from([DRAWN.labels[:3], 0.0 * DRAWN.labels]),
            "labels": wrong_labels,
        },
    ),
    "fit_decay": Call(
        rules_facts.fit_decay,
        {"sample_ratio": [2.0, 4.0], "generalization_error": [0.2, 0.1], "replicates": 20, "seed": 0},
        {
            "sample_ratio": not_positive | not_none | st.sampled_from([[2.0], [2.0, 2.0], [[2.0], [4.0]]]),
            "generalization_error": not_numbers
            | not_none
            | st.sampled_from([[0.2], [0.0, 0.0], [[math.nan], [0.1]], [math.inf, 1.0]]),
            "standard_error": not_positive | st.sampled_from([0.1, [0.1], [[0.1], [0.1]]]),
            "replicates": not_whole | not_none | st.integers(max_value=19),
            "seed": wrong_seed,
        },
    ),
    "message_passing": Call(
        rules_facts.message_passing,
        {
            **training,
            "fact_fraction": 0.2,
            "iterations": 3,
            "tolerance": 1e-3,
            "damping": 0.1,
            "teacher": DRAWN.teacher,
        },
        {
            "inputs": not_numbers | not_none | st.sampled_from([DRAWN.inputs[0], DRAWN.inputs * math.inf]),
            "labels": wrong_labels,
            "fact_fraction": not_a_fraction | st.just([0.2]),
            "iterations": wrong_counts | not_none,
            "tolerance": not_positive | not_none | st.just([1e-3]),
            "damping": not_a_fraction | not_none | st.sampled_from([1.0, [0.1]]),
            "teacher": not_numbers | st.sampled_from([DRAWN.teacher[:3], 0.0 * DRAWN.teacher]),
        },
    ),
    "state_evolution": Call(
        rules_facts.state_evolution,
        {**task, "iterations": 3},
        {**wrong_task, "iterations": not_whole | not_none | st.integers(max_value=-1)},
    ),
    "solve": Call(
        solve,
        {"loss": "hinge", **task, "kernel": "relu", "regularization": 0.1, "width_ratio": 1.5},
        {
            "loss": wrong_loss,
            **wrong_task,
            "kernel": wrong_kernel,
            "regularization": wrong_regularization,
            **wrong_width,
        },
    ),
    "bayes_optimal": Call(bayes_optimal, task, wrong_task),
    "infinite_regularization": Call(
        rules_facts.infinite_regularization,
        {**task, "kernel": None, "width_ratio": None},
        {**wrong_task, "kernel": wrong_kernel, **wrong_width},
    ),
    "interpolation_threshold": Call(
        rules_facts.interpolation_threshold,
        {"loss": "hinge", "fact_fraction": 0.3, "kernel": None, "width_ratio": 2.0},
        {
            "loss": wrong_loss,
            "fact_fraction": not_a_fraction | not_none,
            "kernel": wrong_kernel,
            "width_ratio": not_positive,
        },
    ),
    "threshold": Call(
        rules_facts.threshold,
        {"loss": "hinge", "fact_fraction": 0.3, "kernel": None, "width_ratio": 2.0},
        {
            "loss": wrong_loss,
            "fact_fraction": not_a_fraction | not_none,
            "kernel": wrong_kernel,
            "width_ratio": not_positive,
        },
    ),
    "describe_kernel": Call(
        rules_facts.describe_kernel,
        {"kernel": "relu", "family": "gaussian", "degree": None},
        {
            "kernel": wrong_kernel | not_none,
            "family": except_for(
                wrong_words, {"gaussian", "exponential", "geometric", "quadratic", "polynomial"}
            ).filter(lambda value: value is not None),
            "degree": not_whole | st.integers(max_value=0),
        },
    ),
    "large_sample_bayes_error": Call(rules_facts.large_sample_bayes_error, task, wrong_task),
    "large_sample_error": Call(rules_facts.large_sample_error, task, wrong_task),
    "optimal_angle": Call(
        rules_facts.optimal_angle,
        {"loss": "hinge", **task, "regularization": 0.0},
        {
            "loss": wrong_loss,
            **wrong_task,
            "regularization": except_for(not_numbers, {"optimal"})
            | not_none
            | or_in_an_array(negative | st.floats(min_value=1e-9)),
        },
    ),
    "optimal_regularization": Call(
        rules_facts.optimal_regularization,
        {"loss": "square", **task, "kernel": None, "width_ratio": None},
        {"loss": wrong_loss, **wrong_task, "kernel": wrong_kernel, **wrong_width},
    ),
    "parameter_for_angle": Call(
        rules_facts.parameter_for_angle,
        {"family": "polynomial", "angle": 0.5, "degree": 3},
        {
            "family": except_for(wrong_words, {"polynomial"}) | st.sampled_from(["relu", "linear", "nngp-relu"]),
            "angle": not_numbers | not_none | or_in_an_array(negative | st.sampled_from([0.0, 1.6, math.inf])),
            "degree": st.one_of(not_whole, st.none(), st.integers(max_value=1), st.just(2.5), st.just([3])),
        },
    ),
    "huber_loss": Call(
        rules_facts.huber_loss, {"width": 0.5}, {"width": not_positive | not_none | st.sampled_from([[0.5], [1, 2]])}
    ),
    "Loss": Call(
        Loss,
        {
            "name": "mine",
            "proximal": lambda u, V: u + V,
            "slope": 1.0,
            "limit": "margin",
            "value": None,
            "breakpoints": lambda V: [],
            "closed_form": "",
        },
        {
            "name": not_text,
            "proximal": not_callable | not_none,
            # NaN asks for the slope to be found.
            "slope": (not_positive | not_none | st.just([1.0])).filter(
                lambda value: not (isinstance(value, float) and math.isnan(value))
            ),
            "limit": except_for(wrong_words, {"label", "margin", "direction", "unknown"}),
            "value": not_callable,
            "breakpoints": not_callable,
            "closed_form": except_for(wrong_words, {"", "square", "hinge"}),
        },
    ),
    "Kernel": Call(
        Kernel,
        {"mu_1": 1.0, "mu_star": 0.5, "name": "mine"},
        {
            "mu_1": not_numbers | not_none | or_in_an_array(negative | st.just(math.inf)),
            "mu_star": not_numbers | not_none | or_in_an_array(negative | st.just(math.inf)),
            "name": not_text,
        },
    ),
    "Kernel.from_angle": Call(
        Kernel.from_angle,
        {"angle": 0.7},
        {"angle": not_numbers | not_none | or_in_an_array(negative | st.sampled_from([0.0, 1.6, math.inf]))},
    ),
    "Kernel.from_name": Call(Kernel.from_name, {"name": "relu"}, {"name": wrong_kernel_names | not_text}),
    "Kernel.from_function": Call(
        Kernel.from_function, {"function": np.exp, "name": "e"}, {"function": not_callable | not_none, "name": not_text}
    ),
    "Kernel.from_activation": Call(
        Kernel.from_activation,
        {"activation": np.tanh, "kinks": (), "name": "t"},
        {"activation": not_callable | not_none, "kinks": not_numbers | not_none, "name": not_text},
    ),
    "Kernel.network": Call(
        Kernel.network,
        {"depth": 2, "activation": np.tanh, "kind": "nngp", "weight_variance": 1.0, "bias_variance": 0.0},
        {
            "depth": st.one_of(not_whole, st.none(), st.integers(max_value=0), st.just(1.5), st.just([2])),
            "activation": except_for(not_callable | not_none, {"relu", "erf", "sign"}),
            "kind": except_for(wrong_words, {"nngp", "ntk"}),
            "weight_variance": not_positive | st.just([1.0]),
            "bias_variance": not_numbers | not_none | or_in_an_array(negative | st.just(math.inf)),
            "derivative": not_callable,
            "kinks": not_numbers | not_none,
        },
    ),
}
CASES = [(name, one) for name, call in CALLS.items() for one, wrong in call.wrong.items() if wrong is not FLAG]
# These hold results; nobody calls them. (A draw checks what it holds; that is tested separately.)
RESULTS = {
    "Threshold",
    "KernelDescription",
    "Advice",
    "DecayFit",
    "Draw",
    "Solution",
    "BayesSolution",
    "Errors",
    "LOSSES",
}


def test_every_public_function_and_argument_is_here():
    assert {name.split(".")[0] for name in CALLS} == set(rules_facts.__all__) - RESULTS
    constructors = {f"Kernel.{name}" for name in vars(Kernel) if isinstance(vars(Kernel)[name], classmethod)}
    assert {name for name in CALLS if "." in name} == constructors - {"Kernel.linear"}
    for call in CALLS.values():
        assert set(inspect.signature(call.function).parameters) == set(call.wrong)


@pytest.mark.parametrize("name", CALLS)
def test_the_valid_calls_are_valid(name):
    assert CALLS[name].function(**CALLS[name].valid) is not None


def check_message(error, names):
    message = str(error)
    assert any(re.search(rf"\b{name}\b", message) for name in names), message
    assert "\n" not in message
    assert len(message) <= LONGEST_MESSAGE
    assert message.endswith(".")
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z])", re.sub(r"'[^']*'", "''", message))
    assert len(sentences) <= MOST_SENTENCES, message


@pytest.mark.parametrize(("name", "parameter"), CASES, ids=["-".join(case) for case in CASES])
def test_wrong_values_are_refused(name, parameter):
    call = CALLS[name]

    @settings(max_examples=EXAMPLES)
    @given(call.wrong[parameter])
    def refused(value):
        with pytest.raises(InputError) as error:
            call.function(**call.valid | {parameter: value})
        # A kernel's name such as gaussian:-1 may be refused for the parameter in it, a loss for its own name, classes
        # for the one that the data lack.
        inside = {"kernel": KERNEL_PARTS, "name": KERNEL_PARTS, "proximal": ("mine",), "slope": ("mine",)}
        inside |= {"rule_classes": ("class",), "fact_classes": ("class",), "source": ("folder",)}
        check_message(error.value, [parameter, *inside.get(parameter, ())])

    refused()


ARRAYS = {
    "solve": ("sample_ratio", "fact_fraction", "regularization", "width_ratio"),
    "bayes_optimal": ("sample_ratio", "fact_fraction"),
    "infinite_regularization": ("sample_ratio", "fact_fraction", "width_ratio"),
    "interpolation_threshold": ("fact_fraction", "width_ratio"),
    "large_sample_bayes_error": ("sample_ratio", "fact_fraction"),
    "large_sample_error": ("sample_ratio", "fact_fraction"),
    "optimal_angle": ("sample_ratio", "fact_fraction"),
    "optimal_regularization": ("sample_ratio", "fact_fraction", "width_ratio"),
    "Kernel": ("mu_1", "mu_star"),
}


@pytest.mark.parametrize("name", ARRAYS)
@given(data=st.data())
@settings(max_examples=20)
def test_shapes_that_do_not_fit_are_refused(name, data):
    first, second = data.draw(st.lists(st.sampled_from(ARRAYS[name]), min_size=2, max_size=2, unique=True))
    one, two = data.draw(st.sampled_from([((2,), (3,)), ((2, 3), (2,)), ((0,), (2,)), ((3, 1, 2), (4, 3))]))
    with pytest.raises(InputError) as error:
        CALLS[name].function(**CALLS[name].valid | {first: np.full(one, 0.5), second: np.full(two, 0.5)})
    check_message(error.value, [first])
    check_message(error.value, [second])


def test_kernels_that_do_not_fit_are_refused():
    kernel = Kernel.from_angle([0.3, 0.5, 0.7])
    for function in (solve, rules_facts.optimal_regularization, rules_facts.infinite_regularization):
        with pytest.raises(InputError, match=r"kernel \(3,\)"):
            function(sample_ratio=[1.0, 2.0], fact_fraction=0.2, kernel=kernel)
    with pytest.raises(InputError, match=r"kernel \(3,\)"):
        rules_facts.interpolation_threshold(fact_fraction=[0.1, 0.2], kernel=kernel)


def test_an_error_reads_well():
    with pytest.raises(InputError) as error:
        solve(sample_ratio=1.0, fact_fraction=1.5)
    assert str(error.value) == (
        "fact_fraction must lie in [0, 1]; got 1.5. It is the share of random labels, not a percentage."
    )
