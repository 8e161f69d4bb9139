"""The table of equations names functions, tests and claims that exist, and leaves out no equation of the ledger."""

import ast
import tomllib
from importlib import import_module

import pytest

from genlaws.claims import all_claims
from genlaws.claims.claim import PAPERS
from project_paths import ROOT

ROWS = [
    {"paper": paper, **row}
    for paper, rows in tomllib.loads((ROOT / "docs" / "equations.toml").read_text(encoding="utf-8")).items()
    for row in rows
]
KINDS = {"theorem", "equation"}


def found(name):
    """Return the object of a dotted name: the longest beginning that is a module, then its attributes."""
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            thing = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            thing = getattr(thing, part)
        return thing
    raise ModuleNotFoundError(name)


def names_of_tests(file):
    """Return the names of the test functions of a file, without running it."""
    return {
        node.name
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def missing_tests(names):
    """Return the tests that do not exist."""
    return [name for name in names if name.partition("::")[2] not in names_of_tests(name.partition("::")[0])]


def test_every_function_can_be_imported():
    for name in {name for row in ROWS for name in row["functions"]}:
        assert callable(found(name)), name


@pytest.mark.parametrize("paper", PAPERS)
def test_every_test_exists(paper):
    assert missing_tests({name for row in ROWS if row["paper"] == paper for name in row["tests"]}) == []


def test_a_name_that_does_not_exist_is_found():
    assert missing_tests(["tests/test_equations_table.py::test_nothing"]) == [
        "tests/test_equations_table.py::test_nothing"
    ]
    with pytest.raises(AttributeError):
        found("genlaws.semanticity.nothing")


def test_every_theorem_and_equation_of_the_ledger_is_in_the_table():
    told = {claim for row in ROWS for claim in row.get("claims", [])}
    assert told <= {claim.id for claim in all_claims()}
    assert [claim.id for claim in all_claims() if claim.kind in KINDS and claim.id not in told] == []


def test_a_claim_stands_in_the_table_of_its_paper():
    assert all(claim.startswith(f"{row['paper']}.") for row in ROWS for claim in row.get("claims", []))


def test_every_row_says_where_what_and_by_which_test():
    assert all(row["where"] and row["statement"].endswith(".") and row["functions"] and row["tests"] for row in ROWS)
    places = [(row["paper"], row["where"]) for row in ROWS]
    assert len(set(places)) == len(places)
