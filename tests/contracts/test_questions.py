"""Every question of every system refuses what its parameters cannot be, in one sentence that names the parameter."""

import inspect
import re
import sys

import pytest

from cli.test_questions import CALLS, EXAMPLES, HAS_MODELS, QUESTIONS
from genlaws.cli.commands import app
from genlaws.core.errors import InputError
from golden.inputs import working_folder, write_sweep

LONGEST_MESSAGE = 400
CALLED = {"representation": "embeddings"}  # parameters that messages call by what is in them
WRONG = {
    "an object": object(),
    "a complex number": 1j,
    "a dictionary": {1: object()},
    "ragged lists": [[1.0], [1.0, 2.0]],
}


@pytest.fixture(autouse=True, scope="module")
def _files_of_the_calls():
    with working_folder(with_model=HAS_MODELS) as folder:
        write_sweep(folder)
        yield


def arguments_of(name: str) -> dict:
    """Return the arguments with which the question is called in its first example."""
    function = inspect.unwrap(QUESTIONS[name])
    seen = {}

    def look(frame, event, _):
        if event == "call" and frame.f_code is function.__code__ and not seen:
            seen.update(frame.f_locals)

    sys.setprofile(look)
    try:
        if name in CALLS:
            command, bound, _ = app.parse_args(CALLS[name][0], exit_on_error=False, print_error=False)
            command.answer(**command.arguments(bound.arguments))
        else:
            EXAMPLES[name]()
    finally:
        sys.setprofile(None)
    return {one: seen[one] for one in inspect.signature(function).parameters}


def problem_of(name: str, given: dict, parameter: str, wrong: object) -> str:
    """Return what is wrong with the refusal of a value; empty if it is refused well."""
    parameters = inspect.signature(QUESTIONS[name]).parameters
    by_place = [one for one in given if parameters[one].kind != inspect.Parameter.KEYWORD_ONLY]
    values = given | {parameter: wrong}
    places = [values.pop(one) for one in by_place]
    try:
        QUESTIONS[name](*places, **values)
    except InputError as error:
        message = str(error)
        named = (
            re.search(rf"\b({parameter}|{CALLED.get(parameter)})\b", message)
            and message.endswith(".")
            and "\n" not in message
        )
        return "" if named and len(message) <= LONGEST_MESSAGE else f"message: {message}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "answered"


@pytest.mark.parametrize("name", QUESTIONS)
def test_wrong_values_are_refused(name):
    if name in CALLS and "model" in CALLS[name][0] and not HAS_MODELS:
        pytest.skip("needs the package transformers")
    given = arguments_of(name)
    problems = {
        (parameter, kind): problem
        for parameter in given
        for kind, wrong in WRONG.items()
        if (problem := problem_of(name, given, parameter, wrong))
    }
    assert problems == {}
