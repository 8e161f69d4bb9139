"""Names that a user reads and types: packages and modules are imported when they are first asked for."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import genlaws
from genlaws.core.imports import loaded_on_access
from project_paths import ROOT

README = ROOT / "README.md"
PACKAGES = sorted(file.parent.name for file in Path(genlaws.__file__).parent.glob("*/__init__.py"))
SYSTEMS = ("semanticity", "rules_facts", "relations", "residual_stream", "models", "probes.stream")


def in_a_new_process(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def names_in_the_table() -> list[str]:
    """Return the names of the Python column of the table from a question to a call."""
    section = README.read_text().split("## From a question to a call")[1].split("\n## ")[0]
    column = [row.split("|")[2] for row in section.splitlines() if row.startswith("| ")][1:]
    return [name for cell in column for name in re.findall(r"`([^`]+)`", cell)]


def test_every_name_of_the_readme_can_be_called_after_the_import_it_implies():
    names = names_in_the_table()
    assert len(names) >= 20
    assert all(name.count(".") for name in names)
    # Names inside modules come first, so that nothing else has imported their module.
    ordered = sorted(names, key=lambda name: -name.count("."))
    bases = sorted({name.split(".")[0] for name in ordered})
    lines = [f"from genlaws import {', '.join(bases)}", *(f"assert callable({name}), {name!r}" for name in ordered)]
    in_a_new_process("\n".join(lines))


def test_importing_the_package_imports_nothing_else():
    code = "import sys; before = set(sys.modules); import genlaws; print(*(set(sys.modules) - before))"
    assert in_a_new_process(code).split() == ["genlaws"]


def test_packages_are_imported_when_asked_for():
    code = (
        "import sys, json, genlaws\n"
        "before = [name for name in sys.modules if name.startswith('genlaws.')]\n"
        "value = genlaws.rules_facts.large_sample_bayes_error(sample_ratio=10.0, fact_fraction=0.2)\n"
        "print(json.dumps([before, float(value), 'genlaws.relations' in sys.modules]))"
    )
    before, value, others = json.loads(in_a_new_process(code))
    assert before == []
    assert 0 < value < 0.5
    assert not others


def test_every_package_but_the_commands_is_listed_and_there():
    assert set(genlaws.PACKAGES) == set(PACKAGES) - {"cli"}
    assert {*genlaws.PACKAGES, "__version__"} <= set(dir(genlaws))
    for name in ("core", "figures", "models", "render", "web"):  # the quick ones
        assert getattr(genlaws, name).__name__ == f"genlaws.{name}"


@pytest.mark.parametrize("system", SYSTEMS)
def test_modules_of_a_system_are_listed_and_wrong_names_are_refused(system):
    package = import_module(f"genlaws.{system}")
    listed = {
        "semanticity": "networks",
        "rules_facts": "finite_size",
        "models": "capture",
        "probes.stream": "semanticity",
    }
    assert listed.get(system, "__name__") in dir(package)
    with pytest.raises(AttributeError, match=f"module 'genlaws.{system}' has no attribute 'nothing'"):
        _ = package.nothing


def test_names_that_are_there_already_stay_listed():
    _, listed = loaded_on_access("genlaws.relations")
    assert {"bound_curve", "networks", "structure"} <= set(listed())
