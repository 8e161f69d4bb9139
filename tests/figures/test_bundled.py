"""Tables that come with the library: those of a temporary folder, and every bundled one."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genlaws.cli import run
from genlaws.core.errors import InputError
from genlaws.figures import bundled, draw_figures, get_figure
from genlaws.figures.bundled import bundled_ids, bundled_table

SMALL = {"relations": ["mod3"], "grid": 2, "repeats": 2, "width": 5, "steps": 40, "device": "cuda"}
ABOUT = {"seconds": 12.5, "device": "Abacus 3000", "date": "2026-01-02", "torch": "9.9"}
COUNTS = ("generalization", "grokking", "memorization", "confusion")


def small_table():
    """Return a table of four points, with numbers that need all their digits."""
    rates = np.geomspace(1e-4, 0.1, 2).tolist()
    rows = []
    for place, (decoder, encoder) in enumerate((one, other) for one in rates for other in rates):
        counts = dict(zip(COUNTS, np.roll([2, 0, 0, 0], place).tolist(), strict=True))
        rows.append(
            {
                **{"relation": "mod3", "optimizer": "adam", "decoder_rate": decoder, "encoder_rate": encoder},
                **{**counts, "late": counts["memorization"], "count": 2},
                **{"median_train_step": 10.0, "median_delay": np.nan, "mean_test_accuracy": 1.0 / (3.0 + place)},
            }
        )
    return pd.DataFrame(rows)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of bundled tables with one in it."""
    place = tmp_path / "bundled"
    place.mkdir()
    small_table().to_csv(place / "relations.5.csv", index=False)
    (place / "relations.5.json").write_text(json.dumps({"settings": SMALL, **ABOUT}), encoding="utf-8")
    monkeypatch.setattr(bundled, "TABLE_FOLDER", place)
    return place


@pytest.fixture
def never_computed(monkeypatch):
    """Let a figure fail that computes its table."""

    def fail(*_):
        raise AssertionError("A bundled table was computed again.")

    monkeypatch.setattr("genlaws.figures.figure.Figure.data", fail)


def test_a_bundled_table_is_read_as_it_was_written(folder):
    found = bundled_table("relations.5")
    pd.testing.assert_frame_equal(found.frame, small_table(), check_exact=True)
    assert found.settings == SMALL
    assert found.about == ABOUT
    assert bundled_ids() == ["relations.5", "relations.delays"]  # drawn from the same table
    pd.testing.assert_frame_equal(bundled_table("relations.delays").frame, found.frame)


def test_exactly_that_table_is_drawn(folder, never_computed):
    found = draw_figures("relations.5", bundled=True)
    files = found.files()
    assert files["relations.5.csv"] == (folder / "relations.5.csv").read_text()
    assert len(files["relations.5.png"]) > 5000
    assert set(found.tables()["relations.5.summary"]["relation"]) == {"mod3"}
    text = files["relations.5.txt"].splitlines()
    assert "Computed on Abacus 3000 in 12.5 s, 2026-01-02 (torch 9.9)." in text
    assert "device = cuda" in text
    assert "steps = 40" in text
    assert "relations = mod3" in text


def test_the_command_draws_it(folder, tmp_path, capsys, never_computed):
    assert run(["figure", "relations.5", "--bundled", "--out", str(tmp_path / "out"), "--json"]) == 0
    files = {Path(file).name: Path(file) for file in json.loads(capsys.readouterr().out)["files"]}
    assert files.pop("relations.5.csv").read_bytes() == (folder / "relations.5.csv").read_bytes()
    own = {f"relations.5.{ending}" for ending in ("summary.csv", "txt", "pdf", "png")}
    assert set(files) == {"result.json", "report.html", *own}


@pytest.mark.parametrize("settings", [{"steps": 10}, {}])
def test_settings_and_a_bundled_table_exclude_each_other(folder, settings):
    with pytest.raises(InputError, match="leave settings"):
        draw_figures("relations.5", settings=settings, bundled=True)


@pytest.mark.parametrize(
    ("figure_id", "complaint"),
    [
        ("relations.8", "relations.8 has no bundled table; figures with one: relations.5"),
        ("relations.99", "figures must be one of"),
        ("../bundled/relations.5", "figures must be one of"),
    ],
)
def test_figures_without_a_bundled_table_are_rejected(folder, figure_id, complaint):
    with pytest.raises(InputError, match=complaint):
        draw_figures(figure_id, bundled=True)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("relations.5", "--set", "steps=10"), "leave settings (--set) out"),
        (("relations.8",), "relations.8 has no bundled table"),
        (("relations.5", "relations.8"), "relations.8 has no bundled table"),
        (("relations.99",), "figures must be one of"),
    ],
)
def test_the_command_refuses_before_it_draws(folder, tmp_path, capsys, arguments, complaint):
    assert run(["figure", *arguments, "--bundled", "--out", str(tmp_path / "out")]) == 2
    assert complaint in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("missing", ["relations.5.csv", "relations.5.json", None])
def test_half_a_table_or_no_folder_is_no_table(folder, tmp_path, monkeypatch, missing):
    if missing is None:
        monkeypatch.setattr(bundled, "TABLE_FOLDER", tmp_path / "nowhere")
    else:
        os.remove(folder / missing)
    assert bundled_ids() == []
    with pytest.raises(InputError, match="figures with one: none"):
        bundled_table("relations.5")


def test_settings_that_the_figure_no_longer_takes_are_refused(folder):
    (folder / "relations.5.json").write_text(json.dumps({"settings": {"grids": 3}, **ABOUT}), encoding="utf-8")
    with pytest.raises(InputError, match="grids is not accepted"):
        draw_figures("relations.5", bundled=True)


def drawing_tests():
    """Return the module that holds reduced settings of every figure."""
    file = Path(__file__).with_name("test_drawing.py")
    spec = importlib.util.spec_from_file_location("drawing_tests", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("figure_id", bundled_ids())
def test_every_table_that_comes_with_the_library_has_the_columns_of_its_figure(figure_id, tmp_path_factory):
    others, figure, table = drawing_tests(), get_figure(figure_id), bundled_table(figure_id)
    assert figure.settings(table.settings).model_dump(mode="json").items() >= table.settings.items()
    assert {"device", "date", "seconds"} <= set(table.about)
    now = figure.data(others.REDUCED[figure_id] | others.given_file(figure_id, tmp_path_factory))
    assert list(table.frame) == list(now)
    for name in now:
        assert pd.api.types.is_numeric_dtype(table.frame[name]) == pd.api.types.is_numeric_dtype(now[name]), name
    assert len(table.frame) > len(now)


@pytest.mark.parametrize("figure_id", bundled_ids())
def test_every_table_that_comes_with_the_library_is_drawn(figure_id, never_computed):
    found = draw_figures(figure_id, bundled=True)
    (drawn,) = found.figures
    pd.testing.assert_frame_equal(drawn.table, bundled_table(figure_id).frame)
    assert found.plot() is not None
    about = bundled_table(figure_id).about
    assert f"Computed on {about['device']} in {about['seconds']} s, {about['date']} (torch " in drawn.text()
    if get_figure(figure_id).load().summary:
        assert len(drawn.numbers)
