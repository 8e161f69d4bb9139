"""A picture as numbers: what is refused, what becomes JSON, what becomes a table."""

import csv
import io
import json
import math
import re

import pytest

from genlaws.core.errors import InputError
from genlaws.render import COLORS, KINDS, Curve, Panel
from genlaws.render.scripts import content_hash, panel_script, panel_style, plotly_script


def a_panel(*curves: Curve) -> Panel:
    return Panel("errors", "Errors", "samples α", "error ε", curves, x_log=True, x_range=(0.1, 10))


def test_json_is_plain_and_has_gaps_where_numbers_are_not_finite():
    curve = Curve("ridge", "run", [1.0, 2.0], [0.5, math.nan], low=[0.4, 0.1], high=[0.6, math.inf])
    document = json.loads(json.dumps(a_panel(curve).to_json(), allow_nan=False))
    assert document["x"] == {"label": "samples α", "log": True, "range": [0.1, 10.0]}
    assert document["y"]["range"] is None
    assert document["curves"][0]["y"] == [0.5, None]
    assert document["curves"][0]["high"] == [0.6, None]
    assert document["curves"][0]["notes"] is None


def test_table_has_one_row_per_point():
    theory = Curve("theory, exact", "theory", [1.0, 2.0], [0.25, math.nan])
    run = Curve("run", "run", [1.0], [0.3], low=[0.2], high=[0.4])
    rows = list(csv.DictReader(io.StringIO(a_panel(theory, run).to_csv())))
    assert [row["curve"] for row in rows] == ["theory, exact", "theory, exact", "run"]
    assert [row["y"] for row in rows] == ["0.25", "", "0.3"]
    assert [row["high"] for row in rows] == ["", "", "0.4"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "line"},
        {"color": "red"},
        {"y": [1.0, 2.0]},
        {"low": [0.0]},
        {"low": [0.0], "high": [1.0, 2.0]},
        {"notes": ["a", "b"]},
    ],
)
def test_a_wrong_curve_is_refused(wrong):
    with pytest.raises(InputError):
        Curve(**{"name": "one", "kind": "theory", "x": [1.0], "y": [1.0]} | wrong)


@pytest.mark.parametrize("name", ["", "Front", "two words", "a_b", "-a", "../a"])
def test_a_name_that_is_no_file_name_is_refused(name):
    with pytest.raises(InputError, match="name of a panel"):
        Panel(name, "t", "x", "y", ())


def test_the_script_knows_every_kind_and_color():
    script = panel_script()
    for color in COLORS:
        assert script.count(f'{color}: "#') == 2, f"{color} must have a light and a dark form"
    for kind in KINDS:
        assert f'"{kind}"' in script or f"{kind}:" in script


def test_scripts_and_style_are_there_and_fetch_nothing():
    assert len(plotly_script()) > 1_000_000
    for text in (panel_script(), panel_style()):
        addresses = set(re.findall(r"https?://[^\s\"')]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, which no browser fetches


def test_a_hash_is_that_of_the_policy():
    # the value that browsers name for an empty inline style
    assert content_hash("") == "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
