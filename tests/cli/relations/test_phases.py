"""``genlaws relations phases``: shares, boundary and advice; a killed run that goes on; and what is refused."""

from __future__ import annotations

import json
import math
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genlaws.core.estimate import Estimate
from genlaws.core.running import Running
from genlaws.relations import named_relation, phase_diagram
from genlaws.relations.networks.diagram import _format_ratio
from genlaws.relations.networks.phases import side_of
from genlaws.sweeps import Store
from phase_diagrams import AT_THE_EDGE, RATES, diagram_of_counts

TINY = ("--grid", "2", "--seeds", "2", "--steps", "40", "--width", "4", "--depth", "1")
# Three stacks, the last of them not full; one stack takes about half a second.
BROKEN = ("--elements", "9", "--grid", "3", "--seeds", "4", "--steps", "700", "--width", "4", "--depth", "1")
TOTAL = 36
LIMIT = 120.0  # seconds on a busy machine
FILES = ("boundaries.csv", "cells", "phases.csv", "phases.pdf", "phases.png", "report.html", "result.json")


def ask(genlaws, *arguments):
    answer = genlaws("relations", "phases", *arguments, "--json")
    assert answer.code == 0, answer.err
    assert answer.err == ""
    return answer.json["result"]


def done_in(folder: Path) -> int:
    place = folder / "cells" / "relations.network"
    if not (place / "sweep.sqlite").is_file():
        return 0
    with Store(place) as store:
        return store.counts().done


def finished_in(folder: Path) -> dict[str, str]:
    """Return when each network was finished, by its key."""
    with closing(sqlite3.connect(folder / "cells" / "relations.network" / "sweep.sqlite")) as index:
        return dict(index.execute("SELECT key, finished FROM cells"))


def killed(folder: Path) -> int:
    """Start the command as a process of its own, kill it once a stack is done, and return how many networks are."""
    command = [sys.executable, "-m", "genlaws", "relations", "phases", "mod3", *BROKEN, "--out", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + LIMIT
    try:
        while process.poll() is None and done_in(folder) == 0 and time.monotonic() < until:
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait(LIMIT) == -signal.SIGKILL
    return done_in(folder)


def test_a_killed_run_goes_on_and_ends_with_the_same_table(genlaws, tmp_path: Path):
    before = killed(tmp_path / "broken")
    assert 0 < before < TOTAL
    assert not (tmp_path / "broken" / "phases.csv").exists()
    stored = finished_in(tmp_path / "broken")
    resumed = ask(genlaws, "mod3", *BROKEN, "--out", tmp_path / "broken")
    after = finished_in(tmp_path / "broken")
    assert len(after) == TOTAL
    assert stored.items() <= after.items(), "finished networks should not be trained again"
    unbroken = ask(genlaws, "mod3", *BROKEN, "--out", tmp_path / "unbroken")
    tables = [(tmp_path / name / "phases.csv").read_bytes() for name in ("broken", "unbroken")]
    assert tables[0] == tables[1]
    assert resumed == unbroken


def test_the_answer_in_words_and_its_files(genlaws, tmp_path: Path):
    answer = genlaws("relations", "phases", "mod3", *TINY, "--elements", "6", "--out", tmp_path)
    assert answer.code == 0, answer.err
    assert "modulo 3: networks" in answer.err
    assert "8/8" in answer.err
    lines = answer.out.splitlines()
    assert [line.split("  ")[0] for line in lines[2:7]] == [
        "generalization",
        "grokking",
        "memorization",
        "confusion",
        "late",
    ]
    assert "modulo 3, 6 elements: 8 networks, 2 × 2 rates, 40 steps." in lines
    assert any(line.startswith("Confused: ") for line in lines)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(FILES)
    table = pd.read_csv(tmp_path / "phases.csv")
    assert len(table) == 4
    phases = ["generalization", "grokking", "memorization", "confusion"]
    assert (table[phases].sum(axis=1) == table["count"]).all()
    assert (table["count"] == 2).all()
    assert set(table["decoder_rate"]) == {1e-4, 1e-1}
    assert pd.read_csv(tmp_path / "boundaries.csv")["criterion"].tolist() == ["memorization", "late"]
    assert (tmp_path / "phases.pdf").read_bytes().startswith(b"%PDF-")
    assert (tmp_path / "phases.png").stat().st_size > 5000
    again = genlaws("relations", "phases", "mod3", *TINY, "--elements", "6", "--out", tmp_path)
    assert again.out == answer.out


def test_a_page_alone_stores_no_networks(genlaws, tmp_path: Path):
    answer = genlaws("relations", "phases", "mod3", *TINY, "--elements", "6", "--out", tmp_path / "page.html")
    assert answer.code == 0, answer.err
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("out", "message"), [("out", "Finished parts are stored; run the same"), ("page.html", "Nothing is stored without")]
)
def test_an_interrupted_run_tells_what_is_stored(genlaws, tmp_path: Path, monkeypatch, out, message):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Running, "cells", interrupted)
    answer = genlaws("relations", "phases", "mod3", *TINY, "--elements", "6", "--out", tmp_path / out)
    assert answer.code == 130
    assert message in answer.err


def test_processes_change_nothing(genlaws, tmp_path: Path):
    arguments = ("less-than", "--elements", "6", *TINY, "--decoder-rates", "1e-3:0.1", "--encoder-rates", "1e-3:1e-2")
    here = ask(genlaws, *arguments, "--out", tmp_path / "one")
    there = ask(genlaws, *arguments, "--jobs", "2", "--out", tmp_path / "two")
    assert (tmp_path / "one" / "phases.csv").read_bytes() == (tmp_path / "two" / "phases.csv").read_bytes()
    assert here == there
    assert (here["inputs"]["decoder_rates"], here["inputs"]["encoder_rates"]) == ([1e-3, 0.1], [1e-3, 1e-2])
    assert here["network_count"] == 8
    assert sum(one["value"] for name, one in here["fractions"].items() if name != "late") == pytest.approx(1.0)
    assert json.loads((tmp_path / "one" / "result.json").read_text(encoding="utf-8")) == here


def test_a_matrix_and_a_file_of_edges(genlaws, tmp_path: Path):
    table = named_relation("bipartite-4-4").matrix
    np.savetxt(tmp_path / "sides.csv", table.astype(int), fmt="%d", delimiter=",")
    from_matrix = ask(genlaws, tmp_path / "sides.csv", *TINY, "--optimizer", "sgd", "--batch-size", "5")
    assert (from_matrix["relation"], from_matrix["element_count"], from_matrix["optimizer"]) == ("sides", 8, "sgd")
    assert sorted(set(from_matrix["decoder_rate"])) == [0.1, 10.0]
    edges = "\n".join(f"a{i}\tknows\tb{j}" for i in range(3) for j in range(2))
    (tmp_path / "edges.tsv").write_text(edges + "\n", encoding="utf-8")
    from_edges = ask(genlaws, tmp_path / "edges.tsv", *TINY, "--out", tmp_path / "out")
    assert from_edges["element_count"] == 5
    assert (tmp_path / "out" / "phases.png").stat().st_size > 5000


def test_a_sparse_relation_has_a_target_beyond_the_majority_answer(genlaws):
    answer = genlaws("relations", "phases", "binary-tree", "--elements", "15", *TINY)
    majority = named_relation("binary-tree", 15).majority_accuracy
    assert majority > 0.9
    assert f"an accuracy above {0.5 * (1 + majority):.3f} instead of 0.9" in " ".join(answer.out.split())
    assert ask(genlaws, "mod3", "--elements", "6", *TINY)["target_accuracy"] == 0.9


def test_the_call_in_python_gives_the_numbers_of_the_command(genlaws, tmp_path: Path):
    options = ("--decoder-rates", "1e-3:0.1", "--encoder-rates", "1e-3:1e-2", "--seed", "5", "--batch-size", "9")
    size = ("--elements", "6", "--grid", "2", "--seeds", "2", "--steps", "300", "--width", "4", "--depth", "1")
    answer = ask(genlaws, "mod3", *size, *options, "--out", tmp_path)
    found = phase_diagram(
        named_relation("mod3", 6),
        grid=2,
        seeds=2,
        decoder_rates=(1e-3, 0.1),
        encoder_rates=(1e-3, 1e-2),
        steps=300,
        width=4,
        depth=1,
        batch_size=9,
        seed=5,
    )
    assert sum(one["value"] > 0.0 for one in answer["fractions"].values()) > 1, "the networks should differ"
    assert found.to_dict() == answer
    written = pd.read_csv(tmp_path / "phases.csv")
    pd.testing.assert_frame_equal(found.to_frame(), written, rtol=1e-14)


def phases_of(failed, rates=(1e-3, 1e-2, 1e-1), networks=2):
    return diagram_of_counts(lambda decoder, encoder: {"memorization": failed(decoder, encoder)}, rates, networks)


def test_the_answer_holds_the_boundary():
    diagram = diagram_of_counts(lambda decoder, encoder: {"memorization": 2 * (decoder > 30 * encoder)}, RATES)
    found = diagram.boundaries["memorization"]
    assert found.agrees_with_unit_slope
    assert found.slope.low <= 1.0 <= found.slope.high
    ratio = found.critical_ratio
    assert 10.0 < ratio.value < 100.0
    assert ratio.low <= ratio.value <= ratio.high
    wide = found.slope.high - found.slope.low > 1.0
    said = "too wide to tell whether the ratio decides" if wide else "agrees with 1: the ratio decides"
    assert said in str(diagram)


@pytest.mark.parametrize("failed", AT_THE_EDGE.values(), ids=AT_THE_EDGE)
def test_no_ratio_beyond_those_tried_is_printed(failed):
    diagram = phases_of(failed)
    text = str(diagram)
    assert "inf" not in text
    assert "nan" not in text
    for number in re.findall(r"(?:below|about|at|above|than) ([0-9][0-9.e+-]*)[ ,\]]", text):
        assert 0.01 <= float(number) <= 100.0
    for name, found in diagram.boundaries.items():
        if found is None:
            assert diagram.missing_boundaries[name] == "too few rates, or the share is the same at all of them"
        else:
            ends = (found.critical_ratio.value, found.critical_ratio.low, found.critical_ratio.high)
            within = all(0.01 <= one <= 100.0 for one in ends)
            assert within == all(side_of(one, diagram.ratios_tried) == 0 for one in ends)
            assert bool(found.slope_message) == math.isinf(found.slope.value)


@pytest.mark.parametrize(
    ("ratio", "row"),
    [
        (Estimate(7.6e-6, 1e-9, 0.1), "less than 0.01, the smallest tried, decoder over encoder rate"),
        (Estimate(3e4, 10.0, 1e9), "more than 100, the largest tried, decoder over encoder rate"),
        (Estimate(2.0, 1e-9, 10.0), "2 [less than 0.01, 10]; tried were 0.01 to 100, decoder over encoder rate"),
    ],
)
def test_a_critical_ratio_beyond_those_tried_is_reported_to_be_there(ratio, row):
    assert row in _format_ratio(ratio, (0.01, 100.0))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("mod",), "There is no relation 'mod'"),
        (("gone.csv",), "There is no file 'gone.csv'"),
        (("mod3", "--elements", "501"), "at most 500 elements here; modulo 3 has 501"),
        (("mod3", "--grid", "1"), "grid must be a whole number, at least 2 and at most 100; got 1"),
        (("mod3", "--seeds", "1"), "seeds must be a whole number, at least 2 and at most 10000; got 1"),
        (("mod3", "--decoder-rates", "1e-2"), "decoder_rates must be the lowest and the highest rate"),
        (("mod3", "--encoder-rates", "1:0.1"), "encoder_rates must be two positive rates, the lower one first"),
        (("mod3", "--optimizer", "lion"), "optimizer must be one of adam, adamw, sgd"),
        (("mod3", "--batch-size", "0"), "batch_size must be a whole number, at least 1; got 0"),
        (("mod3", "--train-fraction", "1.5"), "train_fraction must lie in (0, 1); got 1.5"),
        (("mod3", "--steps", "0"), "steps must be a whole number, at least 1 and at most 100000000; got 0"),
        (("mod3", "--jobs", "0"), "jobs must be a whole number, at least 1"),
        (("mod3", "--seed", "-1"), "seed must be a whole number, at least 0; got -1"),
        (("mod3", "--device", "abacus"), "device must be one that torch can use here, such as cpu; got 'abacus'"),
    ],
)
def test_wrong_input_is_answered_in_one_line(genlaws, tmp_path: Path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    answer = genlaws("relations", "phases", *arguments, "--out", tmp_path / "none")
    assert answer.code == 2
    assert complaint in answer.err
    assert len(answer.err.splitlines()) == 1
    assert answer.out == ""
    assert not (tmp_path / "none").exists()


def test_a_file_in_place_of_the_folder_is_refused(genlaws, tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    answer = genlaws("relations", "phases", "mod3", *TINY, "--out", tmp_path / "file")
    assert answer.code == 2
    assert "out must be a folder" in answer.err
