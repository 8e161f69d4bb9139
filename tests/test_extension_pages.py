"""The examples of the pages on extending the library run from first to last and print what the pages show."""

import contextlib
import io
import re
import sys

import pytest

from project_paths import ROOT

FOLDER = ROOT / "docs" / "how-to"
PAGES = sorted(file.stem for file in FOLDER.glob("add-a*.md"))
BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.S)
MODULE = re.compile(r"# (\w+)\.py\n")
NUMBER = re.compile(r"-?\d+\.?\d*")
LIKENESS = 1e-3  # what rounding on another machine may change in the digits shown


def blocks(page):
    return BLOCK.findall((FOLDER / f"{page}.md").read_text(encoding="utf-8"))


def run_blocks(page, folder):
    """Run a page's programs one after the other; one that begins with the name of a file becomes that file."""
    names, printed = {"__name__": "example"}, io.StringIO()
    for kind, text in blocks(page):
        module = MODULE.match(text)
        if kind == "python" and module:
            (folder / f"{module[1]}.py").write_text(text, encoding="utf-8")
        elif kind == "python":
            with contextlib.redirect_stdout(printed):
                exec(compile(text, page, "exec"), names)
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES)
def test_the_page_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    printed = run_blocks(page, tmp_path)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
    shown = "".join(text for kind, text in blocks(page) if kind == "text")
    assert NUMBER.sub("", printed).split() == NUMBER.sub("", shown).split()
    assert [float(one) for one in NUMBER.findall(printed)] == pytest.approx(
        [float(one) for one in NUMBER.findall(shown)], abs=LIKENESS
    )


def test_every_page_has_an_example_and_shows_what_it_prints():
    assert len(PAGES) == 5
    assert all({kind for kind, _ in blocks(page)} == {"python", "text"} for page in PAGES)
