"""The files around the code agree with one another, and name no machine."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from project_paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))

# Folders that only a checkout without git needs to skip; git leaves them out by itself.
BUILT = {".git", ".venv", "out", "build", "dist", "_build", "__pycache__"}

# Written so that no pattern finds itself in this file.
MACHINE_PATTERNS = {
    "a home folder": r"(?<![\w.])/(?:roo[t]|home/[a-z]|User[s]/[A-Za-z])",
    "a folder of one machine": r"(?<![\w.])/wor[k]/|(?<![\w.])/op[t]/",
    "a local address": r"fil[e]://",
    "a package index": r"(?:extra-)?inde[x]-url|truste[d]-host|find-link[s]|/simpl[e]/",
}


def pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    found = {}
    for requirement in requirements:
        (pin,) = requirement.specifier
        assert pin.operator == "==", f"{requirement} is not an exact pin"
        found[canonicalize_name(requirement.name)] = Version(pin.version)
    assert len(found) == len(requirements), "a package is pinned twice"
    return found


def text_files() -> list[Path]:
    """Files that git tracks or would track; without git, all but the built ones."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, check=False, capture_output=True, text=True) if shutil.which("git") else None
    if listed is not None and listed.returncode == 0:
        files = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        files = [file for file in ROOT.rglob("*") if not BUILT & set(file.relative_to(ROOT).parts)]
    return [file for file in files if file.is_file() and b"\0" not in file.read_bytes()]


def machine_names(text: str) -> list[str]:
    return [what for what, pattern in MACHINE_PATTERNS.items() if re.search(pattern, text)]


def test_extras_exist():
    extras = {"networks", "models", "servers", "graphs", "cluster", "export", "page", "dev"}
    assert set(PROJECT["optional-dependencies"]) == extras


@pytest.mark.parametrize("group", ["core", "dev", "graphs", "cluster", "export", "page", "networks", "models"])
def test_constraints_pin_every_dependency_inside_its_range(group):
    wanted = PROJECT["dependencies"] if group == "core" else PROJECT["optional-dependencies"][group]
    pinned = pins()
    for requirement in map(Requirement, wanted):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} has no pin in constraints.txt"
        assert version in requirement.specifier


def test_constraints_do_not_pin_the_library_itself():
    assert "genlaws" not in pins()


def test_citation_gives_the_version_and_the_four_papers():
    assert CITATION["cff-version"] == "1.2.0"
    assert str(CITATION["version"]) == PROJECT["version"]
    numbers = {identifier["value"] for paper in CITATION["references"] for identifier in paper["identifiers"]}
    assert numbers == {"arXiv:2506.14797", "arXiv:2603.25579", "arXiv:2402.05916", "arXiv:2502.12131"}


def test_cited_papers_are_in_the_bibliography():
    bibliography = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    for paper in CITATION["references"]:
        assert paper["identifiers"][0]["value"].removeprefix("arXiv:") in bibliography


def test_changelog_has_a_section_for_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{PROJECT['version']}]" in changelog or "## [Unreleased]" in changelog


def test_readme_starts_with_the_two_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert 0 < readme.index("make run") < readme.index("make test") < readme.index("\n## ")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("run", "genlaws report --out"),
        ("figures", "genlaws figure rules-facts.1 rules-facts.3 semanticity.front relations.table2 relations.4 --out"),
        ("explore", "genlaws explore"),
        ("test", "-m pytest -n 2"),
        ("docs", "-m sphinx"),
        ("bench", "benchmarks/*.py"),
        ("clean", "rm -rf .venv"),
        ("help", "grep"),
    ],
)
def test_makefile_can_be_read(goal, expected):
    inherited = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "OUT", "REPORT", "JOBS", "FIGURES")
    environment = {name: value for name, value in os.environ.items() if name not in inherited}
    dry = subprocess.run(
        ["make", "-n", goal], cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=120
    )
    assert dry.returncode == 0, dry.stderr
    assert expected in dry.stdout


def test_ci_script_is_executable_and_can_be_read():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0


def test_hooks_are_local_and_need_no_network():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repository["repo"] for repository in hooks["repos"]] == ["local"]


@pytest.mark.parametrize(
    "text",
    ["see /" + "root/x", "'/" + "work/main'", "/" + "home/ann/x", "file" + "://x", "--extra-index" + "-url x"],
)
def test_machine_names_are_recognized(text):
    assert machine_names(text)


@pytest.mark.parametrize("text", ["docs/home/notes", "PYTHON=/usr/bin/python3", "../root/x", "the square root/x"])
def test_harmless_text_is_let_through(text):
    assert machine_names(text) == []


def test_no_file_names_a_machine():
    files = text_files()
    assert ROOT / "pyproject.toml" in files
    found = {str(file.relative_to(ROOT)): machine_names(file.read_text(encoding="utf-8")) for file in files}
    assert {name: what for name, what in found.items() if what} == {}
