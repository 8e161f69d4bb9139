"""The commands of the how-to pages do what the pages say, on this machine."""

import os
import re
import shlex
import socket
import subprocess
import sys
import time

import pandas as pd
import pytest

from project_paths import ROOT

PAGE = ROOT / "docs" / "how-to" / "run-on-a-cluster.md"
LIMIT = 120  # seconds; a cluster starts in a few


def commands(section):
    """Return the command lines of each block of a section of the page."""
    text = PAGE.read_text(encoding="utf-8")
    body = re.search(rf"^## {section}\n(.*?)(?=^## )", text, re.S | re.M).group(1)
    blocks = re.findall(r"```console\n(.*?)```", body, re.S)
    return [[line[2:] for line in block.splitlines() if line.startswith("$ ")] for block in blocks]


def words_of(line, out):
    """Return the words of a command, with this Python and a folder of the test's own."""
    words = shlex.split(line)
    program = {"genlaws": ["-m", "genlaws"], "dask": ["-m", "dask"]}[words[0]]
    rest = [str(out) if word == "bound" else word for word in words[1:]]
    return [sys.executable, *program, *rest]


def run(line, out):
    done = subprocess.run(
        words_of(line, out), check=False, capture_output=True, text=True, timeout=LIMIT, env=one_thread()
    )
    assert done.returncode == 0, done.stderr
    assert "24 of 24" in done.stdout
    export = subprocess.run(
        [sys.executable, "-m", "genlaws", "sweep", "export", str(out)], check=True, capture_output=True, timeout=LIMIT
    )
    assert export.returncode == 0
    return pd.read_csv(out / "sweep.csv")[["train_fraction", "repeat", "accuracy", "bits_left"]]


def one_thread():
    return {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    (line,) = commands("A laptop")[0]
    return run(line, tmp_path_factory.mktemp("processes") / "bound")


def test_a_cluster_started_with_the_sweep_gives_the_same_table(two_processes, tmp_path):
    (line,) = commands("A laptop")[1]
    pd.testing.assert_frame_equal(run(line, tmp_path / "bound"), two_processes, check_exact=True)


def test_a_cluster_that_stays_gives_the_same_table(two_processes, tmp_path):
    scheduler, worker, sweep = commands("A laptop")[2]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    started = []
    try:
        for line in (scheduler, worker):
            words = [*words_of(line.replace("8786", port), tmp_path), "--no-dashboard"]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            started.append(subprocess.Popen(words, **quiet, env=one_thread(), cwd=tmp_path))
            wait_for(port)
        pd.testing.assert_frame_equal(
            run(sweep.replace("8786", port), tmp_path / "bound"), two_processes, check_exact=True
        )
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(timeout=30)


def wait_for(port):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", int(port))) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("The scheduler did not start.")
