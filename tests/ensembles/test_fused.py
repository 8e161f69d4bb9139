"""The Triton kernels in Triton's interpreter, without a graphics card; `fused_cases.py` is the program that is run."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EACH = 5e-6  # relative error of the gradient by one parameter; products of halves have 22 digits
SCALED = 1e-4  # the same where activations are small: tanh is exact to 1e-7 whatever its size
LOSS = 5e-7  # relative, a sum of some hundred numbers of single precision
STEP = 1e-6  # of numbers of order 1 after three updates in single precision
WAY = 1e-4  # of the way of three updates: Adam divides small gradients by their own size
PROGRAM = Path(__file__).with_name("fused_cases.py")

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed.")


@pytest.fixture(scope="module")
def found():
    """Return what the program found."""
    settings = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, PROGRAM], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_loss_and_gradient_of_every_kind(found):
    cases = found["pairs"]
    assert len(cases) == 2 * 3 * 3 * 2 + 4
    for name, errors in cases.items():
        for quantity, error in errors.items():
            assert error <= (LOSS if quantity == "loss" else EACH), f"{name}: {quantity} is wrong by {error}"


@pytest.mark.parametrize("case", ["small decoder", "small embedding", "large embedding"])
def test_small_and_large_numbers(found, case):
    assert all(error <= SCALED for error in found["scales"][case].values())


def test_adam_in_one_launch(found):
    assert len(found["adam"]) == 2
    for errors in found["adam"].values():
        assert errors["inside"] <= STEP
        assert errors["outside"] == 0


def test_updates_of_a_stack(found):
    assert len(found["updates"]) == 4
    for errors in found["updates"].values():
        assert errors["rows"] <= WAY
        assert errors["loss"] <= STEP
        assert errors["steps"] == [3, 3]
        assert errors["fits"]


def test_networks_that_do_not_fit_are_refused(found):
    fitting = [name for name, fits in found["fits"].items() if fits]
    assert fitting == ["all at the limit", "15 inputs"]
    assert len(found["fits"]) == 12
