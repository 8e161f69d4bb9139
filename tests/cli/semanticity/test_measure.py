"""The command answers what the library answers, writes its page and tables, and refuses wrong input in one sentence."""

import json

import numpy as np
import pandas as pd
import pytest

from genlaws import semanticity
from genlaws.core.estimate import INTERVAL_MEANING

N = 40
FAST = ["--items", "2,3", "--no-fronts"]


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(5)
    places = rng.random(N)
    angle = 2 * np.pi * places
    embeddings = np.stack([np.cos(angle), np.sin(angle), np.full(N, 0.5)], axis=1)
    np.save(tmp_path / "embeddings.npy", embeddings)
    np.save(tmp_path / "places.npy", places)
    return tmp_path, embeddings, places


def test_json_is_the_librarys_answer(genlaws, files):
    folder, embeddings, places = files
    result = genlaws(
        "semanticity", "measure", folder / "embeddings.npy", "--positions", folder / "places.npy",
        "--metric", "circle", "--items", "2,3,5", "--json",
    )  # fmt: skip
    assert result.code == 0
    answer = result.json["result"]
    measured = semanticity.measure(embeddings, positions=places, metric="circle", items=(2, 3, 5))
    expected = measured.to_dict()
    assert {name: answer[name] for name in answer if name != "inputs"} == {
        name: expected[name] for name in expected if name != "inputs"
    }
    assert answer["items"]["item_count"] == [2, 3, 5]
    assert answer["inputs"]["name"] == "embeddings.npy"
    assert 0.5 < answer["generalization"]["value"] < 1.0


def test_text_names_the_numbers_and_their_meaning(genlaws, files):
    folder, _, _ = files
    result = genlaws(
        "semanticity", "measure", folder / "embeddings.npy", "--positions", folder / "places.npy", "--metric", "circle"
    )
    assert result.code == 0
    for words in (
        "generalization p_S",
        "identification p_I",
        "resolution",
        "background",
        "distance to the front",
        "items",
        INTERVAL_MEANING,
    ):
        assert words in result.out


def test_noise_gets_no_resolution_in_text_json_and_page(genlaws, files):
    folder, _, _ = files
    np.save(folder / "noise.npy", np.random.default_rng(1).standard_normal((N, 8)))
    base = ["semanticity", "measure", folder / "noise.npy", "--positions", folder / "places.npy", "--metric", "circle"]
    answer = genlaws(*base, "--items", "2", "--json").json["result"]
    assert answer["fit"]["resolution"]["value"] == answer["fit"]["explained"] == answer["ball_mass"] == "nan"
    assert answer["front"] is None
    assert "of 99 random relabelings of the stimuli fit as well" in answer["fit"]["why_none"]
    text = genlaws(*base, "--items", "2", "--out", folder / "page.html").out
    assert f"No resolution: {answer['fit']['why_none']}." in text
    assert "nan" not in text
    assert answer["fit"]["why_none"] in (folder / "page.html").read_text(encoding="utf-8")


def test_raw_cosines_are_warned_of_and_can_be_centered(genlaws, files):
    folder, embeddings, places = files
    np.save(folder / "raised.npy", embeddings + np.array([0.0, 0.0, 4.0]))
    base = ["semanticity", "measure", folder / "raised.npy", "--positions", folder / "places.npy", "--metric", "circle"]
    raw = genlaws(*base, *FAST, "--json").json["result"]
    centered = genlaws(*base, *FAST, "--center", "--json").json["result"]
    expected = semanticity.measure(embeddings, positions=places, metric="circle", center=True, fronts=False)
    assert centered["generalization"]["value"] == pytest.approx(expected.generalization.value, abs=1e-9)
    without, here = (one["generalization"]["value"] for one in (centered, raw))
    said = f"Without it generalization is {without:.3f} instead of {here:.3f}"
    assert said in raw["message"]
    text = genlaws(*base, *FAST, "--out", folder / "page.html").out
    assert said in " ".join(text.split())
    assert said in (folder / "page.html").read_text(encoding="utf-8")


def test_folder_holds_page_numbers_and_tables(genlaws, files):
    folder, _, _ = files
    out = folder / "answer"
    result = genlaws(
        "semanticity", "measure", folder / "embeddings.npy", "--positions", folder / "places.npy",
        "--metric", "circle", "--similarity", "threshold", "--items", "2,3", "--out", out, "--json",
    )  # fmt: skip
    answer = result.json["result"]
    names = {path.name for path in out.iterdir()}
    tables = {f"{name}.csv" for name in ("constant-front", "front", "items", "profile", "thresholds")}
    pictures = {f"{name}.{kind}" for name in ("front", "items", "profile", "thresholds") for kind in ("png", "pdf")}
    assert names == {"result.json", "report.html", *tables, *pictures}
    assert json.loads((out / "result.json").read_text()) == answer
    curve = pd.read_csv(out / "thresholds.csv").set_index("threshold")["generalization"]
    assert curve.idxmax() == pytest.approx(answer["best_threshold"])
    assert curve.max() == pytest.approx(answer["generalization"]["value"])
    assert pd.read_csv(out / "items.csv")["item_count"].tolist() == [2, 3]


def test_page_alone(genlaws, files):
    folder, _, _ = files
    page = folder / "deep" / "report.html"
    result = genlaws(
        "semanticity", "measure", folder / "embeddings.npy", "--positions", folder / "places.npy",
        "--metric", "circle", *FAST, "--out", page,
    )  # fmt: skip
    assert result.code == 0
    assert str(page) in result.out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [path.name for path in page.parent.iterdir()] == ["report.html"]


def test_tree_file_and_label_columns_agree(genlaws, files):
    folder, embeddings, _ = files
    # Two branches of two leaves pairs: distances 2 within a pair, 4 across.
    np.save(folder / "four.npy", embeddings[:4])
    (folder / "tree.nwk").write_text("((a:1,b:1):1,(c:1,d:1):1);")
    (folder / "names.txt").write_text("a\nb\nc\nd\n")
    (folder / "groups.csv").write_text("x,a\nx,b\ny,c\ny,d\n")
    base = ["semanticity", "measure", folder / "four.npy", "--metric", "tree", *FAST, "--no-intervals", "--json"]
    tree = genlaws(*base, "--positions", folder / "tree.nwk", "--labels", folder / "names.txt").json["result"]
    table = genlaws(*base, "--positions", folder / "groups.csv").json["result"]
    assert tree["generalization"] == table["generalization"]
    assert tree["tied_fraction"] == table["tied_fraction"] > 0


@pytest.mark.parametrize("places", [{}, {"index": False}, {"index": False, "header": False}, "places.npy"])
@pytest.mark.parametrize("rows", [{}, {"index": False}])
@pytest.mark.parametrize("names", [None, list("abc")])
def test_names_in_a_csv_file_are_no_stimuli(genlaws, files, names, rows, places):
    folder, embeddings, truth = files
    pd.DataFrame(embeddings, columns=names).to_csv(folder / "e.csv", **rows)
    given = folder / "places.npy"
    if isinstance(places, dict):
        given = folder / "p.csv"
        pd.DataFrame(truth, columns=None if names is None else ["place"]).to_csv(given, **places)
    command = ("semanticity", "measure", folder / "e.csv", "--positions", given, "--metric", "circle")
    answer = genlaws(*command, *FAST, "--json").json["result"]
    expected = semanticity.measure(embeddings, positions=truth, metric="circle", items=(2,), fronts=False)
    assert answer["stimulus_count"] == N
    assert answer["generalization"]["value"] == pytest.approx(expected.generalization.value, abs=1e-12)
    assert ("of e.csv" in answer["message"]) == rows.get("header", True)
    assert ("of p.csv" in answer["message"]) == (isinstance(places, dict) and places.get("header", True))


@pytest.mark.parametrize("options", [{}, {"index": False}, {"index": False, "header": False}])
def test_names_above_labels_are_no_labels(genlaws, files, options):
    folder, embeddings, _ = files
    np.save(folder / "four.npy", embeddings[:4])
    (folder / "tree.nwk").write_text("((a:1,b:1):1,(c:1,d:1):1);")
    pd.DataFrame({"species": list("abcd")}).to_csv(folder / "names.csv", **options)
    pd.DataFrame([["x", "a"], ["x", "b"], ["y", "c"], ["y", "d"]], columns=["g", "s"]).to_csv(
        folder / "g.csv", **options
    )
    base = ["semanticity", "measure", folder / "four.npy", "--metric", "tree", *FAST, "--no-intervals", "--json"]
    tree = genlaws(*base, "--positions", folder / "tree.nwk", "--labels", folder / "names.csv").json["result"]
    table = genlaws(*base, "--positions", folder / "g.csv").json["result"]
    expected = semanticity.measure(
        embeddings[:4], positions=[["x", "a"], ["x", "b"], ["y", "c"], ["y", "d"]], metric="tree", intervals=False
    )
    for answer, file in ((tree, "names.csv"), (table, "g.csv")):
        assert answer["generalization"]["value"] == expected.generalization.value
        assert (f"of {file}" in answer["message"]) == options.get("header", True)


def test_radians_need_their_period(genlaws, files):
    folder, embeddings, places = files
    np.save(folder / "angles.npy", 2 * np.pi * places)
    base = ["semanticity", "measure", folder / "embeddings.npy", "--positions", folder / "angles.npy", *FAST]
    refused = genlaws(*base, "--metric", "circle")
    assert refused.code == 2
    assert "must lie within one period, which is 1 if it is not given; got places from" in refused.err
    found = genlaws(*base, "--metric", "circle", "--period", str(2 * np.pi), "--json").json["result"]
    expected = semanticity.measure(embeddings, positions=places, metric="circle", items=(2,), fronts=False)
    assert found["generalization"]["value"] == pytest.approx(expected.generalization.value, abs=1e-9)
    # A period that is given says how far to go round.
    wound = semanticity.measure(embeddings, positions=places + np.arange(N), metric="circle", period=1.0, items=(2,))
    assert wound.generalization.value == pytest.approx(expected.generalization.value, abs=1e-9)


def test_large_sets_are_measured_in_batches(genlaws, files):
    folder, _, _ = files
    result = genlaws(
        "semanticity", "measure", folder / "embeddings.npy", "--positions", folder / "places.npy",
        "--metric", "circle", *FAST, "--memory", "1e-4", "--batch-size", "10", "--batch-count", "4", "--json",
    )  # fmt: skip
    answer = result.json["result"]
    assert answer["exact"] is False
    assert answer["batch_count"] == 4
    assert answer["batch_size"] == 10


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"--metric": "taxi"}, "metric must be one of circle"),
        ({"--similarity": "warm"}, "similarity must be one of"),
        ({"--items": "2,2.5"}, "items must be whole numbers"),
        ({"--items": "1"}, "items must be whole numbers"),
        ({"--items": "40"}, "39 others"),
        ({"--ties": "win"}, "ties must be one of"),
        ({"--positions": "missing.npy"}, "missing.npy"),
        ({"--positions": "short.npy"}, "one true place for each stimulus"),
        ({"--threshold": "1"}, "threshold belongs"),
        ({"--bandwidth": "1"}, "bandwidth belongs"),
        ({"--labels": "places.npy"}, "labels name the leaves"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(genlaws, files, change, complaint):
    folder, _, places = files
    np.save(folder / "short.npy", places[:-1])
    options = {"--positions": "places.npy", "--metric": "circle"} | change
    named = {"--positions", "--labels"}
    arguments = [part for key, value in options.items() for part in (key, folder / value if key in named else value)]
    result = genlaws("semanticity", "measure", folder / "embeddings.npy", *arguments)
    assert result.code == 2
    assert result.out == ""
    assert complaint in result.err
    assert result.err.count("\n") == 1
