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
from genlaws.numerics.errors import InputError
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
wrong_regularisation = except_for(not_numbers, {"optimal"}) | not_none | or_in_an_array(negative)

KERNEL_PARTS = ("kernel", "name", "rate", "degree", "offset", "ratio", "angle", "depth", "kind")

CALLS = {
    "solve": Call(
        solve,
        {"loss": "hinge", **task, "kernel": "relu", "regularisation": 0.1, "width_ratio": 1.5},
        {
            "loss": wrong_loss,
            **wrong_task,
            "kernel": wrong_kernel,
            "regularisation": wrong_regularisation,
            **wrong_width,
        },
    ),
    "bayes_optimal": Call(bayes_optimal, task, wrong_task),
    "infinite_regularisation": Call(
        rules_facts.infinite_regularisation,
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
    "large_sample_bayes_error": Call(rules_facts.large_sample_bayes_error, task, wrong_task),
    "large_sample_error": Call(rules_facts.large_sample_error, task, wrong_task),
    "optimal_angle": Call(
        rules_facts.optimal_angle,
        {"loss": "hinge", **task, "regularisation": 0.0},
        {
            "loss": wrong_loss,
            **wrong_task,
            "regularisation": except_for(not_numbers, {"optimal"})
            | not_none
            | or_in_an_array(negative | st.floats(min_value=1e-9)),
        },
    ),
    "optimal_regularisation": Call(
        rules_facts.optimal_regularisation,
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
CASES = [(name, parameter) for name, call in CALLS.items() for parameter in call.wrong]
# These hold results; nobody calls them.
RESULTS = {"Solution", "BayesSolution", "Errors", "LOSSES"}


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
        # A kernel's name such as gaussian:-1 may be refused for the parameter in it, a loss for its own name.
        inside = {"kernel": KERNEL_PARTS, "name": KERNEL_PARTS, "proximal": ("mine",), "slope": ("mine",)}
        check_message(error.value, [parameter, *inside.get(parameter, ())])

    refused()


ARRAYS = {
    "solve": ("sample_ratio", "fact_fraction", "regularisation", "width_ratio"),
    "bayes_optimal": ("sample_ratio", "fact_fraction"),
    "infinite_regularisation": ("sample_ratio", "fact_fraction", "width_ratio"),
    "interpolation_threshold": ("fact_fraction", "width_ratio"),
    "large_sample_bayes_error": ("sample_ratio", "fact_fraction"),
    "large_sample_error": ("sample_ratio", "fact_fraction"),
    "optimal_angle": ("sample_ratio", "fact_fraction"),
    "optimal_regularisation": ("sample_ratio", "fact_fraction", "width_ratio"),
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
    for function in (solve, rules_facts.optimal_regularisation, rules_facts.infinite_regularisation):
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
