"""No command crashes, hangs, prints a traceback or takes nonsense for an answer, whatever it is given."""

from zlib import crc32

import pytest

from contracts.command_fuzz import BASES, CALLS, Case, all_cases, base_words, failures, run_cases
from integer_options import commands

CASES = all_cases()
SAMPLE = sorted(CASES, key=lambda case: crc32(repr(case.words).encode()))[:250]

# Options that nothing would come of, or that contradict each other, and what the message says.
USELESS = {
    "relations learn mod3 --entities all": "entities 'all' is for a knowledge-graph file",
    "relations learn matrix.npy --entities all": "entities 'all' is for a knowledge-graph file",
    "relations learn mod3 --entities word": "entities must be one of used, all",
    "relations bound --train known.csv --class generic --names empty.csv": "names must be a file with the name",
    "semanticity measure embeddings.npy --positions places.npy --metric euclidean --period 3": "period belongs to",
    "semanticity measure embeddings.npy --positions leaves.nwk --metric tree --period 3": "period belongs to",
    "semanticity fit-choices choices.csv --shape exponential --exponent 3": "exponent belongs to the power-law shape",
    "rules-facts kernel --kernel relu --degree 3": "degree belongs to the polynomial family",
    "sweep run relations.bound --folder new --set elements=4 --set elements=5": "--set gives elements twice",
    "sweep run relations.bound --folder new --set elements=4 --axis elements=5,6": "with --axis or with --set",
    "figure rules-facts.3 --set angle_points=2 --set angle_points=3": "set gives angle_points twice",
}


def outcomes_that_fail(cases):
    return [
        (str(case), problem, outcome.err[-300:])
        for case, outcome in run_cases(cases)
        for problem in failures(case, outcome)
    ]


def test_every_command_has_a_call():
    assert {" ".join(path) for path, _ in commands()} == set(BASES)
    assert len(CASES) > 5000


def test_every_call_is_answered():
    calls = [Case(name, "", "call", "", (*base_words(name), "--json")) for name in CALLS]
    assert [(str(case), outcome.err) for case, outcome in run_cases(calls) if outcome.code != 0] == []


def test_useless_options_are_refused():
    cases = [Case(call, "", "call", "", tuple(call.split())) for call in USELESS]
    answers = {case.command: (outcome.code, outcome.err) for case, outcome in run_cases(cases)}
    assert {call: answer for call, answer in answers.items() if answer[0] != 2 or USELESS[call] not in answer[1]} == {}


@pytest.mark.parametrize("cases", [SAMPLE, pytest.param(CASES, marks=pytest.mark.long)], ids=["sample", "all"])
def test_bad_values_are_answered_or_refused(cases):
    assert outcomes_that_fail(cases) == []
