"""Every option that takes a whole number, of every command, refuses a number with a fractional part."""

import pytest

from integer_options import commands, integer_options

OPTIONS = integer_options()
COMMANDS = dict(commands())


def needed_by(path):
    """Return words for what a command must be given; they are not looked at, since the fraction comes first."""
    words = []
    for argument in COMMANDS[path].assemble_argument_collection():
        if argument.required and argument.name != "*":
            values = ["1"] * max(1, argument.token_count()[0])
            words += [argument.name, *values] if argument.name.startswith("--") else values
    return words


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=[" ".join((*path, option)) for path, option in OPTIONS])
def test_every_option_for_a_whole_number_refuses_fractions(genlaws, path, option):
    name = option.lstrip("-").replace("-", "_")
    for value in ("2.6", "6.5", "-0.5", "1e-3"):
        answer = genlaws(*path, *needed_by(path), option, value)
        assert answer.code == 2
        assert answer.err == f"genlaws: {name} must be a whole number; got {value!r}.\n"
        assert answer.out == ""


def test_options_are_found_in_every_group():
    assert len(OPTIONS) > 60
    groups = {path[0] for path, _ in OPTIONS}
    assert groups == {path[0] for path in COMMANDS}


def test_whole_numbers_may_be_written_with_a_point(genlaws):
    given = ("relations", "bound", "mod3", "--elements", "6", "--train-fraction", "0.1", "--json")
    assert genlaws(*given, "--repeats", "6.0").json == genlaws(*given, "--repeats", "6").json
    beyond = genlaws(*given, "--repeats", "1.0e400")
    assert beyond.code == 2
    assert "must be a whole number" in beyond.err
    assert "unable to convert" in genlaws(*given, "--repeats", "many").err
