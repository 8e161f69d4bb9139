"""Every question: its result comes back from JSON, and its command gives the same result as the call in Python."""

import inspect
import json
from dataclasses import is_dataclass

import numpy as np
import pytest

from genlaws import relations, rules_facts, semanticity  # noqa: F401 - registers its questions
from genlaws.cli import app
from genlaws.core.parameters import parameters_of
from genlaws.core.plain import parts_of
from genlaws.core.result import QUESTIONS, Result
from golden.inputs import working_folder

TASK = ("--sample-ratio", "10", "--fact-fraction", "0.2")
GRID = ("--sample-ratio", "2,10", "--fact-fraction", "0:0.4:3")
# Calls of each command that stands for a question, with one number and with several.
CALLS = {
    "rules_facts.solve": [
        ("rules-facts", "solve", *TASK),
        ("rules-facts", "solve", *TASK, "--loss", "hinge", "--kernel", "relu", "--regularization", "0"),
        ("rules-facts", "solve", *GRID, "--kernel-angle", "0.5,1.2", "--regularization", "0.1:1:2:log"),
        ("rules-facts", "solve", *GRID, "--mu-1", "0.5", "--mu-star", "0.3,0.4", "--width-ratio", "2,3"),
    ],
    "rules_facts.bayes_optimal": [("rules-facts", "bayes", *TASK), ("rules-facts", "bayes", *GRID)],
    "rules_facts.threshold": [
        ("rules-facts", "threshold", "--fact-fraction", "0.2"),
        ("rules-facts", "threshold", "--fact-fraction", "0,0.3", "--kernel", "erf", "--width-ratio", "2"),
    ],
    "rules_facts.describe_kernel": [
        ("rules-facts", "kernel", "--kernel", "relu"),
        ("rules-facts", "kernel", "--kernel-angle", "0.3,0.7", "--family", "gaussian"),
    ],
    "rules_facts.advise": [
        ("rules-facts", "advise", "--rule-classes", "3", "8", "--sample-count", "40", "--parameters", "0.5,2"),
    ],
    "relations.data_needed": [
        ("relations", "data-needed", "mod3", "--elements", "9", "--repeats", "3", "--seed", "5"),
        ("relations", "data-needed", "less-than", "--elements", "6", "--repeats", "2", "--class", "tournament"),
        ("relations", "data-needed", "bipartite-2-2", "--prior", "relations", "--target-accuracy", "1"),
    ],
    "relations.describe_relation": [
        ("relations", "describe", "mod3", "--method", "closed-form"),
        ("relations", "describe", "graph.tsv", "--relation", "knows", "--entities", "all"),
        ("relations", "describe", "matrix.csv", "--method", "search"),
    ],
    "relations.describe_graph": [("relations", "describe", "graph.tsv")],
    "relations.bound_curve": [
        ("relations", "bound", "mod3", "--elements", "6", "--train-fraction", "0.2", "--repeats", "3", "--seed", "5"),
        ("relations", "bound", "less-than", "--elements", "6", "--train-fraction", "0.1:0.3:3", "--method", "chain"),
    ],
    "relations.training_set_bound": [
        ("relations", "bound", "--train", "known.csv", "--names", "names.txt", "--class", "equivalence-2"),
        ("relations", "bound", "--train", "known.csv", "--class", "equivalence-2", "--method", "chain"),
    ],
    "semanticity.front_points": [
        ("semanticity", "front", "--ball-mass", "0.5"),
        ("semanticity", "front", "--similarity", "exponential", "--resolution", "0.1"),
        ("semanticity", "front", "--ball-mass", "0.1:0.5:3", "--items", "2,10", "--background", "0,0.05"),
        (
            "semanticity",
            "front",
            "--space",
            "sphere",
            "--similarity",
            "power-law",
            "--exponent",
            "3",
            "--resolution",
            "1",
        ),
        ("semanticity", "front", "--set-size", "21", "--ball-mass", "0.25,0.5"),
        ("semanticity", "front", "--distances", "distances.csv", "--weights", "weights.csv", "--resolution", "0.3"),
        ("semanticity", "front", "--distances", "distances.csv", "--set-size", "8", "--resolution", "0.3"),
    ],
    "semanticity.front": [
        ("semanticity", "front", "--sweep", "--similarity", "linear", "--ball-mass", "0.2,0.5", "--background", "0.1"),
        ("semanticity", "front", "--sweep", "--set-size", "21", "--items", "3"),
    ],
}
EVERY_CALL = [(name, call) for name, calls in CALLS.items() for call in calls]


@pytest.fixture(autouse=True, scope="module")
def _files_of_the_calls():
    with working_folder(with_model=False):
        yield


def answer_in_python(name: str, call: tuple[str, ...]) -> Result:
    """Return what the question answers with the values of a command."""
    command, bound, _ = app.parse_args(call, exit_on_error=False, print_error=False)
    found = command.answer(**command.arguments(bound.arguments))
    assert found.call.function == name
    return found


def assert_same(again: object, found: object) -> None:
    """Compare part by part: results have no equality of their own, and NaN equals nothing."""
    if is_dataclass(found):
        assert type(again) is type(found)
        assert_same(tuple(parts_of(again).values()), tuple(parts_of(found).values()))
    elif isinstance(found, tuple):
        for one, other in zip(again, found, strict=True):
            assert_same(one, other)
    else:
        np.testing.assert_array_equal(again, found)


def test_every_question_has_a_call():
    assert set(CALLS) == set(QUESTIONS)


@pytest.mark.parametrize(("name", "call"), EVERY_CALL, ids=[" ".join(call) for _, call in EVERY_CALL])
def test_a_command_gives_the_result_of_its_question(genlaws, name, call):
    printed = genlaws(*call, "--json")
    assert printed.code == 0, printed.err
    expected = answer_in_python(name, call)
    assert printed.json == {"result": json.loads(json.dumps(expected.to_dict())), "files": []}
    assert genlaws(*call).out == f"{expected}\n"


@pytest.mark.parametrize(("name", "call"), EVERY_CALL, ids=[" ".join(call) for _, call in EVERY_CALL])
def test_a_result_comes_back_and_is_a_table(name, call):
    found = answer_in_python(name, call)
    again = type(found).from_dict(found.to_dict())
    assert again.to_dict() == found.to_dict()
    assert_same(again, found)
    assert len(found.to_frame()) > 0
    assert 0 < len(str(found)) < 5000


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_signature_reads_like_the_others(name):
    parameters = list(inspect.signature(QUESTIONS[name]).parameters.values())
    by_place = [one.name for one in parameters if one.kind != one.KEYWORD_ONLY]
    assert len(by_place) <= 1 or by_place == ["inputs", "labels"]
    documented = inspect.getdoc(QUESTIONS[name]) or ""
    assert all(one.name in documented for one in parameters)


@pytest.mark.parametrize("name", QUESTIONS)
def test_checked_parameters_refuse_what_is_no_number(name):
    for parameter, described in parameters_of(QUESTIONS[name]).items():
        if described.check is not None:
            for wrong in ("text", float("nan"), -1.0, [[1.0], [1.0, 2.0]], None, 1j):
                with pytest.raises(ValueError, match=f"^{parameter} must"):
                    described.checked(parameter, wrong)
