"""Every claim of the four papers has a check that can be loaded, and a bundled record that belongs to it."""

import inspect
import json
import tomllib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from genlaws.claims import VERDICTS, Claim, Finding, all_claims, get_claim, run_claim
from genlaws.claims.claim import NUMBER_ID_PATTERN, PAPERS, number_id, number_label
from genlaws.claims.records import Record, bundled_records, parse_claims, read_records, write_records
from genlaws.core.errors import InputError
from golden.store import read

THEOREM = "semanticity.theorem-1"


def checks_without_function(claims):
    """Return the claims whose check cannot be loaded or does not take the one argument `quick`."""
    broken = []
    for claim in claims:
        module, _, name = claim.check.partition(":")
        try:
            function = getattr(import_module(module), name)
            inspect.signature(function).bind(True)
        except (ImportError, AttributeError, TypeError, ValueError):
            broken.append(claim.id)
    return broken


def test_every_claim_has_a_check():
    assert checks_without_function(all_claims()) == []


@pytest.mark.parametrize(
    "check",
    ["", "genlaws.claims.semanticity.trials:nothing", "genlaws.claims.nowhere:check", "genlaws.claims.records:Record"],
)
def test_a_claim_without_a_check_is_found(check):
    assert checks_without_function([replace(get_claim(THEOREM), check=check)]) == [THEOREM]


def test_ids_differ_and_belong_to_a_paper():
    ids = [claim.id for claim in all_claims()]
    assert len(set(ids)) == len(ids)
    assert {claim.paper for claim in all_claims()} <= set(PAPERS)


def test_claims_say_something_and_where():
    assert [claim.id for claim in all_claims() if not (claim.statement.endswith(".") and claim.where)] == []


def test_commands_begin_with_genlaws():
    wrong = [claim.id for claim in all_claims() if claim.command and not claim.command.startswith("genlaws ")]
    assert wrong == []


def test_bundled_records_belong_to_claims():
    assert set(bundled_records()) <= {claim.id for claim in all_claims()}


def test_every_claim_of_a_recorded_paper_has_a_record():
    recorded = bundled_records()
    papers = {one.partition(".")[0] for one in recorded}
    assert [claim.id for claim in all_claims() if claim.paper in papers and claim.id not in recorded] == []


def test_only_untestable_claims_have_no_route():
    recorded = bundled_records()
    untested = {one for one, record in recorded.items() if record.verdict == "not testable here"}
    assert untested == {claim.id for claim in all_claims() if claim.route == "none" and claim.id in recorded}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [({"id": "theorem-1"}, "PAPER.NAME"), ({"id": "poetry.line-1"}, "PAPER.NAME"), ({"kind": "guess"}, "kind must be")],
)
def test_a_wrong_claim_is_refused(changes, complaint):
    with pytest.raises(InputError, match=complaint):
        replace(get_claim(THEOREM), **changes)


ENTRY = """
[eq-8]
kind = "equation"
statement = "Two repons move toward each other."
where = "Eq. 8"
route = "exact"
check = "repons:check_eq_8"
"""


def test_an_entry_is_a_claim_with_its_check_in_the_folder_of_the_paper():
    (claim,) = parse_claims("residual-stream", ENTRY + 'command = "genlaws"\nneeds = ["torch", "gguf"]\n')
    assert claim == Claim(
        id="residual-stream.eq-8",
        kind="equation",
        statement="Two repons move toward each other.",
        where="Eq. 8",
        route="exact",
        check="genlaws.claims.residual_stream.repons:check_eq_8",
        command="genlaws",
        needs=("torch", "gguf"),
    )
    assert parse_claims("relations", ENTRY)[0].needs == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (ENTRY.replace("route = ", "# "), "eq-8: A claim must be .* keys kind, statement, where, route, check"),
        (ENTRY + 'figure = "5"', "eq-8: A claim must be .* may have command and needs; got kind, .*, check, figure"),
        ('kind = "theorem"' + ENTRY, "kind: A claim must be a table .*; got 'theorem'"),
        (ENTRY.replace("equation", "guess"), "eq-8: relations.eq-8: kind must be one of"),
        (ENTRY.replace("exact", "by heart"), "eq-8: relations.eq-8: .* route one of"),
        (ENTRY.replace("eq-8]", "Eq_8]"), "Eq_8: id of a claim must be PAPER.NAME"),
        (ENTRY.replace('"Eq. 8"', "8"), "eq-8: Every key must be a string, except needs"),
        (ENTRY + 'needs = "torch"', "eq-8: Every key must be a string, except needs"),
        (ENTRY + ENTRY, r"\('eq-8',\) twice \(at line 9"),
        (ENTRY.replace('"Eq. 8"', '"Eq. 8'), r"\(at line 5"),
    ],
)
def test_a_wrong_file_of_claims_is_refused(text, complaint):
    with pytest.raises(InputError, match=rf"^claims/relations/claims\.toml.* {complaint}"):
        parse_claims("relations", text)


def test_a_wrong_verdict_is_refused():
    with pytest.raises(InputError, match="verdict must be one of holds"):
        Finding("true", {}, "It is true.")


@pytest.mark.parametrize("name", ["largest difference", "Eq_12", "2_items", "share,", "_share", ""])
def test_a_number_without_an_id_is_refused(name):
    with pytest.raises(InputError, match="id of a number must be words in snake_case"):
        Finding("holds", {name: 1.0}, "It agrees.")


def test_numbers_of_a_finding_are_plain():
    numbers = {"count": np.int64(2), "ratio": np.float64(0.5), "none": np.nan, "most": np.inf, "least": -np.inf}
    found = Finding("holds", {**numbers, "text": "all"}, "It agrees.").numbers
    assert found == {
        **{"count": 2.0, "ratio": 0.5, "none": "none"},
        **{"most": "infinite", "least": "minus infinite", "text": "all"},
    }
    assert [type(one) for one in found.values()] == [float, float, str, str, str, str]


def numbers_of_claims():
    """Return the ids of the numbers of each claim: those of its bundled record, and those of its quick check."""
    recorded = {f"{claim}, bundled": list(record.numbers) for claim, record in bundled_records().items()}
    return recorded | {f"{claim}, quick": list(one["numbers"]) for claim, one in read("claims")["answers"].items()}


@pytest.mark.parametrize(("claim", "names"), numbers_of_claims().items(), ids=numbers_of_claims())
def test_numbers_have_ids_and_labels_that_differ_within_a_claim(claim, names):
    assert [name for name in names if not NUMBER_ID_PATTERN.fullmatch(name)] == []
    labels = [number_label(name).strip() for name in names]
    assert all(labels)
    assert len(set(labels)) == len(names)


def test_every_label_belongs_to_a_number():
    labels = tomllib.loads((Path(inspect.getfile(get_claim)).parent / "labels.toml").read_text(encoding="utf-8"))
    used = {name for names in numbers_of_claims().values() for name in names}
    assert sorted(labels.keys() - used) == []
    assert [name for name, label in labels.items() if label == name.replace("_", " ")] == []


def test_a_label_is_what_the_table_holds_or_the_words_of_the_id():
    assert number_label("eq_12") == "Eq. 12"
    assert number_label("largest_difference") == "largest difference"
    assert number_id("share_at_0.9_less-than") == "share_at_0_9_less_than"


def test_an_unknown_claim_is_named():
    with pytest.raises(InputError, match=r"no claim 'semanticity.theorem-9'"):
        get_claim("semanticity.theorem-9")


def test_a_check_must_return_a_finding():
    with pytest.raises(TypeError, match="must return a Finding; got list"):
        run_claim(Claim("relations.x", "finding", "Says.", "there", "exact", "builtins:dir"))


def example(name="semanticity.theorem-1", verdict="holds"):
    return Record(name, verdict, {"z": 1.5}, "It agrees.", "quick", 0.1, "2026-01-01", {"python": "3"})


def test_files_are_one_for_each_paper_and_retain_what_they_hold(tmp_path):
    write_records([example(), example("relations.bound")], tmp_path)
    files = write_records([example("semanticity.theorem-2"), example(verdict="corrected")], tmp_path)
    assert [file.name for file in files] == ["semanticity.json"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["relations.json", "semanticity.json"]
    found = read_records(json.loads((tmp_path / "semanticity.json").read_text()))
    assert {one.id: one.verdict for one in found} == {THEOREM: "corrected", "semanticity.theorem-2": "holds"}


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({}, "list under 'claims'"),
        ({"claims": [{"id": "semanticity.theorem-1"}]}, "fields of"),
        ({"claims": [vars(example(verdict="true"))]}, "verdict of semanticity.theorem-1"),
    ],
)
def test_a_wrong_file_of_records_is_refused(document, complaint):
    with pytest.raises(InputError, match=complaint):
        read_records(document)


def test_records_hold_verdicts_and_sentences():
    for record in bundled_records().values():
        assert record.verdict in VERDICTS
        assert record.sentence
        assert record.size in {"quick", "full"}


def test_bundled_files_lie_where_they_are_looked_for():
    folder = Path(inspect.getfile(get_claim)).parent / "bundled_records"
    assert {file.stem for file in folder.glob("*.json")} == {one.partition(".")[0] for one in bundled_records()}
