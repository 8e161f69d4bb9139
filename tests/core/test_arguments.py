"""Every check returns a float array or raises one sentence that names the parameter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlaws.core.arguments import broadcast, fraction, non_negative, one_of, positive, real, whole_number, within
from genlaws.core.errors import ConvergenceError, InputError

CHECKS = {
    "real": real,
    "within": lambda name, value: within(name, value, -1.0, 2.0),
    "fraction": fraction,
    "positive": positive,
    "non_negative": non_negative,
}
NOT_NUMBERS = [None, "0.5", ["0.5"], True, [True, False], 0.5 + 0j, [[0.1, 0.2], [0.3]], {}, object(), b"1", 10**400]
LONGEST_SHOWN = 80


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: repr(value)[:20])
def test_what_is_not_a_real_number_is_refused(check, value):
    with pytest.raises(InputError, match=r"^size must be .*; got .*\.$"):
        check("size", value)


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("value", [np.nan, [0.5, np.nan], np.array([[np.nan]])], ids=str)
def test_nan_is_refused(check, value):
    with pytest.raises(InputError, match=r"^size must .*NaN"):
        check("size", value)


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, np.uint64, int, float])
def test_numbers_of_every_kind_become_float64_in_their_shape(check, kind):
    for shape in ((), (3,), (2, 0), (2, 3)):
        array = check("size", np.ones(shape, dtype=kind))
        assert array.dtype == np.float64
        assert array.shape == shape
    assert check("size", [1, 1.0]).tolist() == [1.0, 1.0]


@given(st.floats(allow_nan=False), st.booleans(), st.booleans())
def test_an_interval_holds_what_it_says(value, open_low, open_high):
    low, high = -1.5, 2.0
    inside = (low < value < high) or (value == low and not open_low) or (value == high and not open_high)
    if inside:
        assert within("size", value, low, high, open_low=open_low, open_high=open_high) == value
        return
    interval = f"{'(' if open_low else '['}-1.5, 2{')' if open_high else ']'}"
    with pytest.raises(InputError) as error:
        within("size", [0.0, value], low, high, open_low=open_low, open_high=open_high, hint="In meters.")
    assert str(error.value) == f"size must lie in {interval}; got {value:g}. In meters."


@given(st.floats(allow_nan=False))
def test_signs(value):
    finite = np.isfinite(value)
    for check, allowed in (
        (positive, value > 0 and finite),
        (non_negative, value >= 0 and finite),
        (lambda name, each: non_negative(name, each, infinite=True), value >= 0),
    ):
        if allowed:
            assert check("size", value) == value
        else:
            with pytest.raises(InputError, match=r"^size must be .*; got "):
                check("size", value)


def test_the_first_wrong_element_is_shown():
    with pytest.raises(InputError, match=r"got 7\."):
        fraction("share", [[0.1, 0.2], [7.0, 8.0]])


def test_a_long_value_is_cut():
    with pytest.raises(InputError) as error:
        real("size", "x" * 1000)
    assert len(str(error.value)) < LONGEST_SHOWN + 80


def test_whole_numbers():
    assert whole_number("depth", 3) == 3
    found = whole_number("depth", np.int16(3), at_least=3)
    assert found == 3
    assert type(found) is int
    for wrong in (2, True, 3.0, "3", None, [3], np.float64(3)):
        with pytest.raises(InputError, match="^depth must be a whole number, at least 3; got "):
            whole_number("depth", wrong, at_least=3)


def test_words():
    assert one_of("kind", "a", ("a", "b")) == "a"
    for wrong in ("c", "", "A", None, 1, ["a"], np.array(["a", "b"])):
        with pytest.raises(InputError, match="^kind must be one of a, b; got "):
            one_of("kind", wrong, ("a", "b"))


def test_shapes_broadcast_or_are_named():
    one, two = broadcast(first=np.zeros((3, 1)), second=np.zeros(2))
    assert one.shape == two.shape == (3, 2)
    with pytest.raises(InputError) as error:
        broadcast(first=np.zeros(3), second=np.zeros(2))
    assert str(error.value) == ("The arguments must have shapes that broadcast together; got first (3,), second (2,).")


def test_the_errors_are_what_python_expects_them_to_be():
    assert issubclass(InputError, ValueError)
    assert issubclass(ConvergenceError, RuntimeError)
    assert ConvergenceError("stopped", {"x": 1}).last_state == {"x": 1}
    assert ConvergenceError("stopped").last_state is None
