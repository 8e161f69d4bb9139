"""The documentation builds without a warning."""

import subprocess
import sys

from project_paths import ROOT

DOCS = ROOT / "docs"


def test_documentation_builds_without_warnings(tmp_path):
    html = tmp_path / "html"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-t", "nopictures", "-b", "html"]
    build = subprocess.run(
        [*command, "-d", str(tmp_path / "doctrees"), str(DOCS), str(html)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert build.returncode == 0, build.stdout + build.stderr
    assert (html / "index.html").is_file()
    api = (html / "api.html").read_text(encoding="utf-8")
    for name in ("genlaws.rules_facts.solve", "genlaws.core.errors.InputError"):
        assert f'id="{name}"' in api
