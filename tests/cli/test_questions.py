"""Every question: its result comes back from JSON, and its command gives the same result as the call in Python."""

import inspect
import json
from dataclasses import is_dataclass
from importlib import import_module
from importlib.util import find_spec
from pkgutil import walk_packages

import numpy as np
import pytest

from documented import documented_parameters
from genlaws.cli.commands import app
from genlaws.core.parameters import parameters_of
from genlaws.core.plain import parts_of
from genlaws.core.result import PICTURE_KINDS, QUESTIONS, Result
from golden.inputs import working_folder, write_sweep

PACKAGES = (
    "rules_facts",
    "semanticity",
    "relations",
    "residual_stream",
    "probes",
    "sweeps",
    "claims",
    "figures",
    "report",
)
for package in PACKAGES:  # importing a module registers its questions
    for module in walk_packages(import_module(f"genlaws.{package}").__path__, f"genlaws.{package}."):
        import_module(module.name)
SYSTEMS = [import_module(f"cli.calls.{package}") for package in PACKAGES]
CALLS = {name: [tuple(line.split()) for line in lines] for one in SYSTEMS for name, lines in one.COMMANDS.items()}
EXAMPLES = {name: example for one in SYSTEMS for name, example in one.EXAMPLES.items()}
# Data that belong together and are read in this order, as in numpy.polyfit.
DATA_BY_PLACE = {
    ("inputs", "labels"),
    ("gram", "products"),
    ("sample_ratio", "generalization_error"),
    ("parameters", "errors"),
    ("dimensions", "means", "standard_errors"),
    ("model", "tokenizer", "texts"),
    ("model", "tokenizer", "stimuli"),
    ("stream", "stimuli"),
    ("stream", "statistic"),
    ("item_counts", "successes", "trial_counts"),
}
HAS_MODELS = find_spec("transformers") is not None
EVERY_CALL = [(name, call) for name, calls in CALLS.items() for call in calls]


@pytest.fixture(autouse=True, scope="module")
def _files_of_the_calls():
    with working_folder(with_model=HAS_MODELS) as folder:
        write_sweep(folder)
        yield


def answer_in_python(name: str, call: tuple[str, ...]) -> Result:
    """Return what the question answers with the values of a command."""
    if "model" in call and not HAS_MODELS:
        pytest.skip("needs the package transformers")
    command, bound, _ = app.parse_args(call, exit_on_error=False, print_error=False)
    return command.answer(**command.arguments(bound.arguments))


def assert_same(again: object, found: object) -> None:
    """Compare part by part: results have no equality of their own, and NaN equals nothing."""
    if is_dataclass(found):
        assert type(again) is type(found)
        assert_same(tuple(parts_of(again).values()), tuple(parts_of(found).values()))
    elif isinstance(found, dict):
        assert list(again) == list(found)
        assert_same(tuple(again.values()), tuple(found.values()))
    elif isinstance(found, tuple):
        for one, other in zip(again, found, strict=True):
            assert_same(one, other)
    else:
        np.testing.assert_array_equal(again, found)


def test_every_question_has_a_call():
    assert CALLS.keys() | EXAMPLES.keys() == QUESTIONS.keys()
    assert CALLS.keys() & EXAMPLES.keys() == set()


@pytest.mark.parametrize(("name", "call"), EVERY_CALL, ids=[" ".join(call) for _, call in EVERY_CALL])
def test_a_command_gives_the_result_of_its_question(genlaws, name, call):
    expected = answer_in_python(name, call)
    printed = genlaws(*call, "--json")
    assert printed.code == 0, printed.err
    files = [str(path) for path in expected.save(expected.default_out)] if expected.default_out else []
    assert printed.json == {"result": json.loads(json.dumps(expected.to_dict())), "files": files}
    assert genlaws(*call).out == "\n".join([str(expected), *(f"Written to {file}" for file in files), ""])


LABELS = {"positions"}  # may be words
INTERVAL = {"value", "low", "high", "count", "level"}
INTERVAL_ENDS = ("low", "high", "interval", "_low", "_high", "_interval")


def loose_intervals(part: object, path: str = "") -> list[str]:
    """Return where a document has the end of an interval that is not one of an estimate, nor a column of a table."""
    if isinstance(part, dict):
        single = [key for key, one in part.items() if one is not None and not isinstance(one, list)]
        ends = [] if part.keys() == INTERVAL else [f"{path}/{key}" for key in single if key.endswith(INTERVAL_ENDS)]
        return [*ends, *(place for key, one in part.items() for place in loose_intervals(one, f"{path}/{key}"))]
    return [place for one in part for place in loose_intervals(one, path)] if isinstance(part, list) else []


def check_result(name: str, found: Result) -> None:
    """A result records its call, comes back from JSON, is a table, and prints a short summary."""
    assert found.call.function == name
    document = found.to_dict()
    assert loose_intervals({key: part for key, part in document.items() if key != "inputs"}) == []
    again = type(found).from_dict(json.loads(json.dumps(document, allow_nan=False)))
    assert again.to_dict() == document
    assert_same(again, found)
    assert len(found.to_frame()) > 0
    assert 0 < len(str(found)) < 5000


@pytest.mark.parametrize(("name", "call"), EVERY_CALL, ids=[" ".join(call) for _, call in EVERY_CALL])
def test_the_result_of_a_command_comes_back_and_is_a_table(name, call):
    check_result(name, answer_in_python(name, call))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_result_of_a_question_comes_back_and_is_a_table(name):
    found = EXAMPLES[name]()
    check_result(name, found)
    assert EXAMPLES[name]().to_dict() == found.to_dict()  # the same seed, the same result


@pytest.mark.parametrize("name", CALLS)
def test_a_result_is_saved_with_its_tables_pictures_and_page(name, tmp_path):
    found = answer_in_python(name, CALLS[name][0])
    files = {path.name for path in found.save(tmp_path / "out")}
    pictures = found.pictures()
    assert files >= {"result.json", "report.html", *(f"{one}.csv" for one in found.tables())}
    assert files >= {f"{one}.{kind}" for one in pictures for kind in PICTURE_KINDS}
    assert bool(pictures) == bool(found.plot())
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count("<img") + page.count("<svg") >= len(pictures)
    assert [path.name for path in found.save(tmp_path / "one.html")] == ["one.html"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_signature_reads_like_the_others(name):
    parameters = list(inspect.signature(QUESTIONS[name]).parameters.values())
    by_place = [one.name for one in parameters if one.kind != one.KEYWORD_ONLY]
    assert len(by_place) <= 1 or tuple(by_place) in DATA_BY_PLACE
    assert sorted(documented_parameters(QUESTIONS[name])) == sorted(one.name for one in parameters)


@pytest.mark.parametrize("name", QUESTIONS)
def test_checked_parameters_refuse_what_is_no_number(name):
    for parameter, described in parameters_of(QUESTIONS[name]).items():
        if described.check is not None and parameter not in LABELS:
            nothing = [] if described.optional else [None]
            for wrong in ("text", float("nan"), -1.0, [[1.0], [1.0, 2.0]], 1j, *nothing):
                with pytest.raises(ValueError, match=f"^{parameter} must"):
                    described.checked(parameter, wrong)
