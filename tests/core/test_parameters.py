"""Parameters of questions: names that may be chosen, and what is said of a wrong one."""

import pytest

from genlaws.core.errors import InputError
from genlaws.core.parameters import Parameter

WALKS = Parameter("Which surrogates.", choices=("random walk", "step signs", "layer shuffle"), listed=True)
TIES = Parameter("What to do with ties.", choices=("split", "drop"))


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ("random-walk", ("random walk",)),
        ("random walk, step-signs", ("random walk", "step signs")),
        (("step signs",), ("step signs",)),
        (["step-signs", "step signs"], ("step signs",)),
        ("all", ("random walk", "step signs", "layer shuffle")),
        ("none", ()),
        ((), ()),
    ],
)
def test_names_are_chosen_with_commas_or_as_a_list(given, chosen):
    assert WALKS.checked("surrogates", given) == chosen


@pytest.mark.parametrize("wrong", ["walk", "", "random-walk,,step-signs", 3, None, [None], {"step signs": 1}])
def test_unknown_names_are_refused_with_those_known(wrong):
    with pytest.raises(InputError, match="^surrogates must be one of random-walk, step-signs, layer-shuffle; got"):
        WALKS.checked("surrogates", wrong)


def test_one_name_is_chosen():
    assert TIES.checked("ties", "drop") == "drop"
    for wrong in ("split,drop", "all", 1, None, ("split",)):
        with pytest.raises(InputError, match="^ties must be one of split, drop; got"):
            TIES.checked("ties", wrong)


def test_the_help_lists_the_choices():
    assert TIES.help == "What to do with ties. One of split, drop."
    assert WALKS.help == "Which surrogates. With commas: random-walk, step-signs, layer-shuffle; or all, or none."
