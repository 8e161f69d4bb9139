"""Commands, options, imports and names that the pages show exist."""

import ast
import importlib
import re
import shlex

import pytest
from cyclopts import MissingArgumentError

from genlaws.cli.commands import app
from project_paths import ROOT

PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
}
HISTORY = "docs/decisions.md"  # speaks of names that were given up
LINE = re.compile(r"^\$ genlaws (.*)", re.M)
MENTION = re.compile(r"`genlaws ([a-z][^`]*)`")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
PACKAGES = "semanticity|rules_facts|relations|residual_stream|probes|ensembles|sweeps|figures|claims|report"
NAME = re.compile(rf"`((?:genlaws|{PACKAGES})(?:\.(?!py\b|html\b|toml\b)\w+)+)[`(]")


def unreadable(words):
    """Return why the command line cannot be read, or None."""
    try:
        app.parse_args(shlex.split(words, comments=True), exit_on_error=False, print_error=False)
    except MissingArgumentError as error:
        return f"missing: {error}"
    except Exception as error:
        return f"wrong: {error}"
    return None


def found_in(pattern):
    return [(page, found) for page, text in PAGES.items() for found in pattern.findall(text)]


def test_command_lines_have_options_that_exist():
    lines = found_in(LINE)
    assert len(lines) > 100
    assert [(page, line, why) for page, line in lines if (why := unreadable(line))] == []


def test_commands_in_a_sentence_exist():
    mentions = found_in(MENTION)
    assert len(mentions) > 30
    wrong = [(page, words, why) for page, words in mentions if (why := unreadable(words.rstrip(" …")))]
    assert [one for one in wrong if not one[2].startswith("missing")] == []  # a sentence may name the command alone


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("sweep run relations.bound --folder rows", None),
        ("sweep run relations.bound", "missing"),
        ("figure --keep rows", "wrong"),
        ("semanticity choose", "wrong"),
        ("relations describe mod3 --elements many", "wrong"),
    ],
)
def test_what_cannot_be_read_is_found(words, why):
    assert (unreadable(words) or "None").startswith(str(why))


def imported(code):
    """Return the names of the library that a piece of code imports, as module and name."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "genlaws":
            yield from ((node.module, one.name) for one in node.names)


def missing(place):
    """Return whether no module or attribute has this name; a library that is not installed hides it."""
    parts = place.split(".")
    found = importlib.import_module(parts[0])
    for number, part in enumerate(parts[1:], start=2):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(parts[:number]))
            except ModuleNotFoundError as error:
                return str(error.name).startswith("genlaws")
        except ModuleNotFoundError:
            return False
    return False


def test_imports_of_the_snippets_exist():
    imports = {(page, f"{module}.{name}") for page, code in found_in(PYTHON) for module, name in imported(code)}
    assert len(imports) > 30
    assert sorted(one for one in imports if missing(one[1])) == []


def test_names_in_a_sentence_exist():
    names = {(page, f"genlaws.{name.removeprefix('genlaws.')}") for page, name in found_in(NAME) if page != HISTORY}
    assert len(names) > 30
    assert sorted(one for one in names if missing(one[1])) == []


@pytest.mark.parametrize(
    ("name", "wrong"), [("genlaws.relations.named_relation", False), ("genlaws.relations.no_such_name", True)]
)
def test_a_missing_name_is_found(name, wrong):
    assert missing(name) == wrong
