"""Results: what they record, how they are written and read back, and how they are printed."""

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from genlaws.core.arguments import Array, Elementwise
from genlaws.core.estimate import Estimate
from genlaws.core.parameters import Parameter, parameters_of
from genlaws.core.plain import UNWRITTEN, from_plain, to_plain
from genlaws.core.result import MAX_RECORDED_NUMBERS, QUESTIONS, Call, Result, Row, Summary, question, recorded
from genlaws.rules_facts import Kernel, solve


@dataclass(frozen=True)
class Part:
    place: int
    share: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Found(Result):
    value: Elementwise
    error: Estimate
    parts: tuple[Part, ...]
    names: dict[str, int]
    flags: NDArray[np.bool_]
    curve: Array | None = None

    def summary(self) -> Summary:
        return Summary([Row("value", str(self.value), "a <number>")], ["That is all."], ["Few samples."])


def example(**changes: Any) -> Found:
    return Found(
        **{
            "value": np.array([1.0, np.inf]),
            "error": Estimate(0.5, 0.4, math.inf, 7),
            "parts": (Part(1, 0.5), Part(2, None)),
            "names": {"a": 1},
            "flags": np.array([True, False]),
            "curve": np.array([[1.0, np.nan]]),
        }
        | changes
    )


@pytest.mark.parametrize(
    "changes",
    [{}, {"value": 3.0}, {"value": "text"}, {"value": -math.inf}, {"curve": None}, {"parts": ()}],
    ids=str,
)
def test_a_result_comes_back_from_json(changes):
    found = example(**changes)
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    again = Found.from_dict(document)
    assert again.to_dict() == document
    assert type(again.value) is type(found.value)
    assert again.error == found.error
    assert again.parts == found.parts
    assert again.flags.dtype == bool
    np.testing.assert_array_equal(again.curve, found.curve)


def test_numbers_that_are_not_finite_are_texts():
    plain = example().to_dict()
    assert plain["value"] == [1.0, "inf"]
    assert plain["curve"] == [[1.0, "nan"]]
    assert plain["error"]["high"] == "inf"


def test_what_cannot_be_written_is_refused():
    with pytest.raises(TypeError, match="A object cannot be written"):
        to_plain({"x": object()})


@pytest.mark.parametrize(
    ("kind", "plain", "value"),
    [
        (tuple[int, str], [1, "a"], (1, "a")),
        (list[float], [1, "inf"], [1.0, math.inf]),
        (dict[str, float], {"a": "-inf"}, {"a": -math.inf}),
        (float | tuple[float, ...], [1.0], (1.0,)),
        (str | None, None, None),
        (Any, {"a": [1]}, {"a": [1]}),
    ],
)
def test_values_come_back_by_their_type(kind, plain, value):
    assert from_plain(kind, plain) == value


def test_a_summary_is_what_is_printed():
    found = example(value=2)
    assert repr(found) == str(found) == "value  2  a <number>\nThat is all.\nFew samples."
    assert found._repr_html_() == "<pre>value  2  a &lt;number&gt;\nThat is all.\nFew samples.</pre>"


def test_a_question_records_its_call_with_the_defaults():
    found = solve("hinge", sample_ratio=[1.0, 2.0], fact_fraction=0.2, kernel=Kernel.from_angle(0.5))
    assert found.call.function == "rules_facts.solve"
    assert found.call.arguments["sample_ratio"] == [1.0, 2.0]
    assert found.call.arguments["regularization"] == "optimal"
    assert found.call.arguments["kernel"]["kernel_angle"] == pytest.approx(0.5)
    assert QUESTIONS["rules_facts.solve"] is solve


def test_large_arrays_are_recorded_by_their_fingerprint():
    @question
    def ask(values: NDArray[np.float64]) -> Found:
        return example()

    QUESTIONS.pop("core.ask", None)
    numbers = np.arange(MAX_RECORDED_NUMBERS + 1.0)
    one, same, other = (ask(values).call.arguments["values"] for values in (numbers, numbers.copy(), numbers + 1.0))
    assert one == same != other
    assert one["shape"] == [len(numbers)]


def test_what_a_call_says_of_an_object_is_its_own_parts_before_its_text():
    @dataclass(frozen=True)
    class Named:
        def __str__(self) -> str:
            return "text"

    class Parted(Named):
        def call_parts(self) -> dict[str, object]:
            return {"sizes": (1, 2)}

    assert recorded(Named()) == "text"
    assert recorded(Parted()) == {"sizes": [1, 2]}


def test_a_table_has_the_inputs_first():
    found = solve(sample_ratio=[1.0, 2.0], fact_fraction=0.2, kernel=Kernel.from_angle([0.5, 0.7]), regularization=0.1)
    table = found.to_frame()
    assert list(table)[:4] == ["loss", "sample_ratio", "fact_fraction", "kernel_angle"]
    assert table["sample_ratio"].tolist() == [1.0, 2.0]
    assert table["generalization_error"].tolist() == found.generalization_error.tolist()


def test_a_result_is_saved_as_a_whole(tmp_path):
    found = solve(sample_ratio=[1.0, 2.0], fact_fraction=0.2, regularization=0.0)
    document, table, page = found.save(tmp_path / "new" / "folder")
    assert "rules_facts.solve" in page.read_text()
    assert found.save(tmp_path / "pages" / "one.html") == [tmp_path / "pages" / "one.html"]
    assert [path.name for path in (tmp_path / "pages").iterdir()] == ["one.html"]
    assert json.loads(document.read_text()) == found.to_dict()
    pd.testing.assert_frame_equal(pd.read_csv(table), found.to_frame(), check_dtype=False)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ValueError, match="out must be a folder"):
        found.save(blocked)


def test_parameters_are_described_once():
    described = parameters_of(solve)
    assert described["sample_ratio"].symbol == "α"
    assert isinstance(described["kernel"], Parameter)
    assert described["fact_fraction"].checked("fact_fraction", 0.5) == 0.5
    with pytest.raises(ValueError, match="not a percentage"):
        described["fact_fraction"].checked("fact_fraction", 50)


@dataclass(frozen=True, eq=False, repr=False)
class Plain(Result):
    derived = ("twice",)
    share: float
    error: Estimate
    curve: Array
    names: tuple[str, ...]
    missing: float | None = None
    runs: Array | None = field(default=None, kw_only=True, metadata=UNWRITTEN)

    @property
    def twice(self) -> float:
        return 2 * self.share


def test_a_result_without_a_summary_of_its_own_shows_its_parts():
    found = Plain(0.25, Estimate(0.5, 0.4, 0.6, 7), np.array([[1.0, 2.0], [3.0, np.nan]]), ("a", "b"), runs=np.ones(3))
    assert str(found).splitlines() == [
        "share  0.25",
        "error  0.50 ± 0.10 (95 %, n = 7)",
        "curve  2 × 2 numbers from 1 to 3",
        "names  2 of them",
        "twice  0.5",
    ]


def test_raw_parts_are_not_written():
    found = Plain(0.25, Estimate(0.5), np.ones(2), (), runs=np.ones(3))
    assert "runs" not in found.to_dict()
    assert Plain.from_dict(found.to_dict()).runs is None


def test_a_page_is_escaped_and_whole():
    page = example(value=2).page()
    assert "a &lt;number&gt;" in page
    assert "Few samples." in page
    assert "<script" not in page


def test_a_result_without_a_question_has_no_inputs():
    assert example().call is None
    assert example().to_dict()["question"] == ""
    assert Found.from_dict(example().to_dict()).call is None
    assert Call("a.b", {}).function == "a.b"


def test_meanings_are_below_each_other_but_for_those_of_long_values():
    rows = [
        Row("a", "0.5", "small"),
        Row("long name", "0.25"),
        Row("b", "12.5 to 13", "large"),
        Row("c", "x" * 41, "long"),
    ]
    assert str(Summary(rows)).split("\n") == [
        "a          0.5         small",
        "long name  0.25",
        "b          12.5 to 13  large",
        f"c          {'x' * 41}  long",
    ]
