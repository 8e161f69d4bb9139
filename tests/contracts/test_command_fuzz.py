"""No command crashes, hangs, prints a traceback or takes nonsense for an answer, whatever it is given."""

from zlib import crc32

import pytest

from contracts.command_fuzz import BASES, CALLS, Case, all_cases, base_words, failures, run_cases
from integer_options import commands

CASES = all_cases()
SAMPLE = sorted(CASES, key=lambda case: crc32(repr(case.words).encode()))[:250]


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


@pytest.mark.parametrize("cases", [SAMPLE, pytest.param(CASES, marks=pytest.mark.long)], ids=["sample", "all"])
def test_bad_values_are_answered_or_refused(cases):
    assert outcomes_that_fail(cases) == []
