"""A model is probed from the command line, here or through a server, and wrong input gets one sentence."""

import json
import shutil

import pandas as pd
import pytest

import scripted_server as scripted
from genlaws.core.errors import StoppedError
from genlaws.models.language import TransformersModel
from scripted_server import ScriptedServer, status

FEW = ["--items", "2,3", "--trials", "10", "--shifts=-50,50", "--half-separations", "20,100"]


@pytest.fixture(scope="module")
def model(stories, tmp_path_factory):
    """Return stories260K as a folder that transformers loads."""
    folder = tmp_path_factory.mktemp("stories")
    for part in stories:
        part.save_pretrained(folder)
    return folder


@pytest.fixture
def probe(genlaws, model):
    def call(*options):
        return genlaws("semanticity", "probe", model, *([] if "--no-anchors" in options else FEW), *options)

    return call


def rates_of(found):
    return found.json["result"]["templates"][0]["rates"]["rates"]


def test_a_folder_of_results_is_written_and_no_prompt_is_repeated(probe, tmp_path):
    found = probe("--template", "list,sentences", "--out", tmp_path)
    assert found.code == 0, found.err
    assert "generalization p_S" in found.out
    assert "its interval does not account for the choice among 2 templates" in " ".join(found.out.split())
    assert "list: 60 prompts; " in found.err
    assert "tokens to read" in found.err
    names = {path.name for path in tmp_path.iterdir()}
    tables = {f"{name}.csv" for name in ("rates", "resolution", "collapse", "distances", "trials", "anchors")}
    pictures = {"templates", *(f"{name}-{number}" for name in ("anchors", "items", "distances") for number in (1, 2))}
    drawn = {f"{name}.{kind}" for name in pictures for kind in ("png", "pdf")}
    assert names == {"answers.jsonl", "report.html", "result.json", *tables, *drawn}
    answers, numbers = (tmp_path / "answers.jsonl").read_bytes(), json.loads((tmp_path / "result.json").read_text())
    assert len(answers.splitlines()) == 120
    assert [one["template"] for one in numbers["templates"]] == ["list", "sentences"]
    again = probe("--template", "list,sentences", "--out", tmp_path)
    assert "60 prompts; 60 answered already" in again.err
    assert (tmp_path / "answers.jsonl").read_bytes() == answers
    assert json.loads((tmp_path / "result.json").read_text()) == numbers
    rates = pd.read_csv(tmp_path / "rates.csv")
    assert set(rates["kind"]) == {"similarity", "identification", "resolution"}


def test_the_numbers_are_those_of_the_library(probe, model):
    from genlaws.core.plain import to_plain
    from genlaws.probes import plan_probe, probe_model, run_probe

    found = probe("--json", "--seed", "4").json["result"]
    plan = plan_probe("years", [2, 3], 10, half_separations=[20, 100], shifts=[-50, 50], seed=4)
    assert found["templates"] == [to_plain(run_probe(TransformersModel.load(model, seed=4), plan))]
    few = {"items": [2, 3], "trials": 10, "half_separations": [20, 100], "shifts": [-50, 50]}
    assert found["templates"] == probe_model(str(model), **few, seed=4).to_dict()["templates"]


def test_a_model_that_cannot_go_on_from_a_prompt_gives_the_same_numbers_and_says_so(probe, monkeypatch):
    few = ("--json", "--items", "2", "--trials", "3", "--no-anchors")
    usual = probe(*few)
    monkeypatch.setattr("genlaws.models.language.TransformersModel.reads_text_once", False)
    found = probe(*few)
    assert "the prompt is read again for each answer" in found.err
    assert "read again" not in usual.err
    for one, other in zip(rates_of(usual), rates_of(found), strict=True):
        assert one["accuracy"] == other["accuracy"]
        numbers = {name: one["probability"][name] for name in ("value", "low", "high")}
        assert {name: other["probability"][name] for name in numbers} == pytest.approx(numbers, rel=1e-3)


def test_layers_are_shown_and_written(probe, tmp_path):
    found = probe("--layers", "--layer-trials", "8", "--out", tmp_path)
    assert found.code == 0, found.err
    assert "after block 5" in found.out
    assert len(pd.read_csv(tmp_path / "layers.csv")) == 6
    assert set(pd.read_csv(tmp_path / "layer_curves.csv")["layer"]) == set(range(6))


def test_a_server_gives_the_words_of_the_model_behind_it(genlaws, stories, model, tmp_path):
    from openai_server import OpenAIServer

    with OpenAIServer(*stories) as server:
        options = ("--server", server.url, "--key-variable", "", "--price", "2,8", "--out", tmp_path / "there")
        there = genlaws("semanticity", "probe", "stories", *FEW, *options)
    here = genlaws("semanticity", "probe", model, *FEW, "--mode", "text", "--out", tmp_path / "here")
    assert there.code == here.code == 0, there.err
    assert "at the given price" in there.err
    columns = ["kind", "item_count", "right", "chosen", "unparsed"]
    tables = [pd.read_csv(tmp_path / name / "trials.csv")[columns] for name in ("here", "there")]
    pd.testing.assert_frame_equal(*tables)


def test_answers_go_with_the_weights_and_not_with_the_folder(genlaws, model, tmp_path):
    import safetensors.torch as safetensors

    folder, moved, out = tmp_path / "model", tmp_path / "moved", tmp_path / "out"
    shutil.copytree(model, folder)
    first = genlaws("semanticity", "probe", folder, *BRIEF, "--json", "--out", out)
    folder.rename(moved)
    found = genlaws("semanticity", "probe", moved, *BRIEF, "--json", "--out", out)
    assert "8 prompts; 8 answered already" in found.err
    assert rates_of(found) == rates_of(first)
    weights = safetensors.load_file(moved / "model.safetensors")
    last = "model.norm.weight"
    safetensors.save_file(weights | {last: -weights[last]}, moved / "model.safetensors", metadata={"format": "pt"})
    other = genlaws("semanticity", "probe", moved, *BRIEF, "--json", "--out", out)
    alone = genlaws("semanticity", "probe", moved, *BRIEF, "--json")
    said = "answers.jsonl: 8 answers are of another model, other weights or other settings. They are not used."
    assert said in other.err
    assert said not in found.err
    stored, requested, before = (
        [rate["probability"]["value"] for rate in rates_of(one)] for one in (other, alone, first)
    )
    assert stored == pytest.approx(requested, rel=1e-3)
    assert stored != pytest.approx(before, rel=1e-3)


def test_answers_of_older_versions_are_named_and_not_used(genlaws, model, tmp_path):
    from genlaws.models.interface import Reply
    from genlaws.probes.plan import plan_probe
    from genlaws.probes.store import ReplyStore

    old = f"transformers:{model} [float32, temperature=0, seed=0, tokens=16, stop=newline]"
    prompts = plan_probe("years", [2], 4, anchors=False).prompts()
    with ReplyStore(tmp_path / "answers.jsonl") as store:
        for prompt in prompts:
            store.add(old, "probability", prompt, Reply(log_probabilities=[0.0, -9.0]))
    found = genlaws("semanticity", "probe", model, *BRIEF, "--out", tmp_path)
    assert "answers.jsonl: 8 answers were stored under the path of their model by an older version." in found.err
    assert "none failed" in found.out
    assert len((tmp_path / "answers.jsonl").read_bytes().splitlines()) == 16


def test_answers_of_a_server_are_said_to_be_stored_by_its_name(at_server, tmp_path):
    with ScriptedServer() as server:
        first = at_server(server, "--out", tmp_path)
        again = at_server(server, "--out", tmp_path)
    said = "answers.jsonl: 8 answers are reused: the address of the server and the name of the model match."
    assert said not in first.err
    assert said in again.err


BRIEF = ["--items", "2", "--trials", "4", "--no-anchors"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), StoppedError("The computation was cancelled.")], ids=str)
def test_a_stopped_probe_keeps_its_answers_and_goes_on(genlaws, model, tmp_path, stop):
    score, calls = TransformersModel.score, []

    def stopped(self, prompts):
        calls.append(len(prompts))
        if len(calls) == 4:
            raise stop
        return score(self, prompts)

    call = ("semanticity", "probe", model, *BRIEF, "--batch-size", "2", "--out", tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransformersModel, "score", stopped)
        found = genlaws(*call)
    assert (found.code, found.out) == (130, "")
    assert found.err.strip().endswith(f"genlaws: {str(stop) or 'Stopped.'}")
    assert {path.name for path in tmp_path.iterdir()} == {"answers.jsonl"}
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == sum(calls[:3])
    again = genlaws(*call)
    assert again.code == 0, again.err
    assert f"8 prompts; {sum(calls[:3])} answered already" in again.err


@pytest.fixture
def at_server(genlaws):
    """Return a call that probes the words of a scripted server."""

    def call(server, *options):
        there = ("--server", server.url, "--key-variable", "", "--retries", "0")
        return genlaws("semanticity", "probe", "m", *BRIEF, *there, *options)

    return call


@pytest.mark.parametrize("way", ["nobody listens", "401", "too long"])
def test_a_probe_without_one_answer_fails_and_writes_no_result(at_server, genlaws, model, tmp_path, way):
    out = tmp_path / "out"
    if way == "too long":
        short = shutil.copytree(model, tmp_path / "short")
        config = json.loads((short / "config.json").read_text())
        (short / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 8}))
        found, why = genlaws("semanticity", "probe", short, *BRIEF, "--out", out), "reads at most 8 tokens"
    else:
        with ScriptedServer(usual=status(401, "bad key")) as server:
            why = "401 (unauthorized): bad key"
            found = at_server(server, "--out", out) if way == "401" else None
        if found is None:
            found, why = at_server(server, "--out", out), "No server listens at the address."
    assert found.code == 1
    assert not found.out
    last = found.err.strip().splitlines()[-1]
    assert last.startswith("genlaws: No prompt was answered, so there is no result. 8 of 8 trials got no answer")
    assert why in last
    assert {path.name for path in out.iterdir()} <= {"answers.jsonl"}


def test_trials_that_got_no_answer_are_said_first_and_repeated(at_server, tmp_path):
    def first_two_refused(handler, body):
        first = list(handler.server.requested)[:2]
        act = status(400, "prompt refused") if scripted.prompt_in(body) in first else scripted.answer
        act(handler, body)

    with ScriptedServer(usual=first_two_refused) as server:
        text = at_server(server, "--out", tmp_path)
        reported = at_server(server, "--out", tmp_path, "--json")
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        server.usual = scripted.answer
        again = at_server(server, "--out", tmp_path)
    why = "The server answered 400 (bad request): prompt refused."
    said = f"2 of 8 trials got no answer and are not counted in any number: 2 × {why}"
    assert reported.code == text.code == again.code == 0
    assert text.out.startswith(f"Attention: {said} The same command with the same --out repeats only these prompts.\n")
    assert said in reported.err
    assert said in page
    rates = reported.json["result"]["templates"][0]["rates"]
    assert rates["failed"] == 2
    assert rates["errors"] == {why: 2}
    assert "Attention" not in again.out
    assert "6 found in the store, 2 answered now, none failed" in again.out


def test_a_dry_run_shows_prompts_and_loads_nothing(genlaws):
    found = genlaws("semanticity", "probe", "no/such-model", "--dry-run", "--price", "1,2")
    assert found.code == 0
    assert found.out.count("---") == 3
    assert "Nothing was sent to a model." in found.out
    assert "at the given price" in found.out
    reported = genlaws("semanticity", "probe", "no/such-model", "--dry-run", "--json", "--task", "colors").json
    (one,) = reported["result"]["templates"]
    assert len(one["prompts"]) == 3
    assert one["workload"]["pictures"] == one["workload"]["different"]


def test_an_encoder_is_measured_layer_by_layer(genlaws, model, tmp_path):
    options = ("--mode", "embedding", "--trials", "30", "--pooling", "last", "--out", tmp_path)
    found = genlaws("semanticity", "probe", model, *options)
    assert found.code == 0, found.err
    assert "generalizes best" in found.out
    table = pd.read_csv(tmp_path / "layers.csv")
    assert set(table["condition"]) == {"as loaded", "permuted", "random weights"}
    page = (tmp_path / "report.html").read_text()
    assert "Control: random weights." in page
    assert "<script" not in page


def test_pictures_are_saved_before_they_are_shown(genlaws, tmp_path):
    brief = ("semanticity", "probe", "m", "--task", "shapes", "--trials", "1", "--items", "2", "--no-anchors")
    found = genlaws(*brief, "--save-pictures", "--dry-run", "--out", tmp_path)
    assert found.code == 0, found.err
    assert len(list((tmp_path / "pictures").glob("shapes_*.png"))) == 2
    assert "save_pictures needs --out, the folder for the pictures" in genlaws(*brief, "--save-pictures").err
    found = genlaws("semanticity", "probe", "m", "--server", "http://127.0.0.1:9", "--save-pictures", "--out", tmp_path)
    assert "picture_folder needs a task with pictures; got years" in found.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["no/such-model"], "there is no model 'no/such-model'"),
        (["MODEL", "--task", "shapes"], "has no vision support"),
        (["MODEL", "--task", "year"], "task must be one of years"),
        (["MODEL", "--task", "table:TABLE"], "every item and every value may occur once"),
        (["MODEL", "--task", "table:missing.csv"], "There is no file 'missing.csv'"),
        (["MODEL", "--items", "2,x"], "items"),
        (["MODEL", "--items", "2.5"], "items must be whole numbers"),
        (["MODEL", "--template", "list,list"], "template must name different templates"),
        (["MODEL", "--template", "haiku"], "template must be one of"),
        (["MODEL", "--template", "chat", "--trials", "1"], "has no chat template"),
        (["MODEL", "--mode", "guess"], "mode must be one of"),
        (
            ["m", "--server", "https://example.org/v1", "--key-variable", "NO_KEY"],
            "NO_KEY holds no key for example.org",
        ),
        (["m", "--server", "ftp://example.org"], "url must be like"),
        (["m", "--server", "http://127.0.0.1:9", "--layers"], "layers must be left out"),
        (["MODEL", "--task", "shapes", "--layers"], "layers must be left out"),
        (["MODEL", "--phrase", "the year {place}"], "phrase must be left out with prompts"),
        (["MODEL", "--pooling", "last"], "pooling must be left out with prompts"),
        (["MODEL", "--mode", "embedding", "--items", "2"], "items must be left out with mode embedding"),
        (["MODEL", "--mode", "embedding", "--layers"], "layers must be left out with mode embedding"),
        (["MODEL", "--mode", "embedding", "--dry-run"], "dry_run must be left out with mode embedding"),
        (["MODEL", "--price", "3"], "price must be two numbers, READ,WRITTEN"),
        (["m", "--server", "http://127.0.0.1:9", "--mode", "embedding"], "leave out --server"),
        (["MODEL", "--no-anchors", "--shifts", "1"], "belong to the two-anchor test"),
        (["MODEL", "--dtype", "int8"], "dtype must be one of"),
        (["MODEL", "--device", "abacus"], "device must be one that torch has here"),
        (["MODEL", "--mode", "embedding", "--task", "colors"], "is no image encoder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_input_gets_one_sentence(genlaws, model, tmp_path, options, words):
    table = tmp_path / "table.csv"
    table.write_text("item,value\na,1\nbb,2\nccc,2\n", encoding="utf-8")
    given = [one.replace("MODEL", str(model)).replace("TABLE", str(table)) for one in options]
    found = genlaws("semanticity", "probe", *given)
    assert found.code in {1, 2}
    assert words in found.err
    assert found.err.strip().splitlines()[-1].startswith("genlaws: ")
    assert "Traceback" not in found.err
    assert not found.out
