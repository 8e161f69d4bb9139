"""A command that needs an optional library says which, and how to get it."""

import json
import re
import subprocess
import sys
import tomllib

import pytest

from genlaws.core.imports import EXTRAS
from genlaws.sweeps import EXPERIMENTS
from project_paths import ROOT

WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {library!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
from genlaws.cli import run
sys.exit(run({arguments!r}))
"""


def run_without(library, *arguments):
    code = WITHOUT.format(library=library, arguments=list(arguments))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("figure", "semanticity.slots"),
        ("figure", "semanticity.convolutional"),
        ("figure", "rules-facts.two-layer"),
        ("sweep", "run", "semanticity.slot-network"),
        ("relations", "learn", "mod3"),
        ("relations", "phases", "mod3"),
        ("relations", "advise", "mod3", "--quick"),
    ],
    ids=" ".join,
)
def test_networks_without_torch(arguments, tmp_path):
    place = "--folder" if arguments[0] == "sweep" else "--out"
    found = run_without("torch", *arguments, place, str(tmp_path / "out"))
    assert found.returncode == 1
    assert found.stderr.strip().endswith(
        "genlaws: This needs torch, which is not installed. Install it with: pip install 'genlaws[networks]'"
    )
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("library", "arguments"),
    [
        ("transformers", ("semanticity", "probe", "gpt2")),
        ("torch", ("semanticity", "probe", "gpt2")),
        ("torch", ("semanticity", "probe", "gpt2", "--mode", "embedding")),
        ("torch", ("residual-stream", "analyze", "gpt2", "--texts", __file__)),
        ("torch", ("residual-stream", "semanticity", "gpt2")),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_trained_model_needs_the_extra_that_brings_torch_and_transformers(library, arguments):
    found = run_without(library, *arguments)
    assert found.returncode == 1
    assert found.stderr.strip().endswith(
        f"This needs {library}, which is not installed. Install it with: pip install 'genlaws[models]'"
    )


def test_a_model_behind_a_server_needs_httpx_alone():
    arguments = ("semanticity", "probe", "small", "--server", "http://127.0.0.1:9", "--trials", "1", "--items", "2")
    found = run_without("httpx", *arguments)
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == (
        "genlaws: This needs httpx, which is not installed. Install it with: pip install 'genlaws[servers]'\n"
    )
    found = run_without("torch", *arguments, "--retries", "0")
    assert "No server listens at the address." in found.stderr


def test_every_extra_brings_what_it_is_named_for():
    file = ROOT / "pyproject.toml"
    extras = tomllib.loads(file.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    brought = {
        extra: {re.split("[^a-z-]", one)[0].replace("-", "_") for one in libraries}
        for extra, libraries in extras.items()
        if extra != "dev"
    }
    assert {library for libraries in brought.values() for library in libraries} == set(EXTRAS)
    assert all(library in brought[extra] for library, extra in EXTRAS.items())
    assert {"torch", "transformers", "httpx"} <= brought["models"]


def test_the_experiments_are_listed_without_torch():
    found = run_without("torch", "sweep", "list")
    assert found.returncode == 0, found.stderr
    assert all(f"\n{name} " in f"\n{found.stdout}" for name in EXPERIMENTS)
    how = "This needs torch, which is not installed. Install it with: pip install 'genlaws[networks]'"
    assert f"settings  {how}" in run_without("torch", "sweep", "list", "relations.network").stdout
    answer = json.loads(run_without("torch", "sweep", "list", "--json").stdout)
    listed = {one["name"]: one for one in answer["result"]["experiments"]}
    assert listed["relations.bound"]["settings"]["relation"] == "mod3"
    assert listed["relations.bound"]["needs"] is None
    assert (listed["relations.network"]["settings"], listed["relations.network"]["needs"]) == (None, how)


@pytest.mark.parametrize(
    ("library", "arguments", "extra", "later"),
    [
        ("plotly", ("report", "--quick"), "page", "plotly"),
        ("plotly", ("explore",), "page", "scipy"),
        ("starlette", ("explore",), "page", "scipy"),
        ("transformers", ("report", "--model", "minilm"), "models", "transformers"),
    ],
)
def test_pages_say_what_is_missing_before_any_work(library, arguments, extra, later):
    """No time is measured: no bar is shown, and what would be loaded first is hidden as well and not imported."""
    code = WITHOUT.format(library=library, arguments=list(arguments)).replace(
        f"== {library!r}:", f"in {[library, later]!r}:"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert found.returncode == 1
    assert found.stderr == (
        f"genlaws: This needs {library}, which is not installed. Install it with: pip install 'genlaws[{extra}]'\n"
    )


def test_theory_needs_no_torch(tmp_path):
    found = run_without("torch", "rules-facts", "bayes", "--sample-ratio", "2", "--fact-fraction", "0.2")
    assert found.returncode == 0, found.stderr


def test_a_bundled_table_is_drawn_without_torch(tmp_path):
    found = run_without("torch", "figure", "relations.7", "--bundled", "--out", str(tmp_path / "out"))
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "out" / "relations.7.png").stat().st_size > 10_000


def test_other_missing_modules_are_bugs():
    found = run_without("matplotlib", "figure", "semanticity.front")
    assert "ModuleNotFoundError" in found.stderr
